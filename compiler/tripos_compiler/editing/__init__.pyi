from .formatter import (
    Unparsable as Unparsable,
    format_text as format_text,
)
from .highlighting import (
    CONSTANTS as CONSTANTS,
    NAME as NAME,
    RECORD as RECORD,
    WORD_OPERATORS as WORD_OPERATORS,
    TriposLexer as TriposLexer,
)
