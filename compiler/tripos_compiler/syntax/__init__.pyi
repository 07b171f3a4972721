from .automaton import (
    Token as Token,
)
from .deceptive import (
    warn_of_deception as warn_of_deception,
)
from .lexer import (
    CLOSERS as CLOSERS,
    OPENERS as OPENERS,
    raw_tokens as raw_tokens,
)
from .parser import (
    parse as parse,
    parse_hole as parse_hole,
)
from .pieces import (
    ParseMemory as ParseMemory,
    split_pieces as split_pieces,
)
from .recovery import (
    OPERATORS as OPERATORS,
)
from .tree_builder import (
    read_text as read_text,
)
