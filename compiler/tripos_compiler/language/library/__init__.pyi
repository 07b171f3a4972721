from .additions import (
    added_functions as added_functions,
    shown_instead as shown_instead,
    with_functions as with_functions,
    with_revealed as with_revealed,
)
from .functions.arithmetic import (
    rounded as rounded,
)
from .functions.dialogues import (
    transcript as transcript,
)
from .functions.layout import (
    json as json,
)
from .functions.likeness import (
    BY_LENGTH as BY_LENGTH,
    SATURATION as SATURATION,
    bleu_tokenizer as bleu_tokenizer,
    grams_of as grams_of,
)
from .functions.texts import (
    VERSION as VERSION,
    is_unspaced as is_unspaced,
    separated as separated,
    terms_of as terms_of,
    words as words,
)
from .functions.trees import (
    BETWEEN as BETWEEN,
    leaves as leaves,
)
from .media import (
    OPEN as OPEN,
    FindMedium as FindMedium,
    Medium as Medium,
    MediumKind as MediumKind,
    UnfitMedium as UnfitMedium,
    joined_media as joined_media,
    media_in as media_in,
    split_media as split_media,
    unmarked as unmarked,
    without_media as without_media,
)
from .partiality import (
    LARGEST as LARGEST,
    PAST as PAST,
    Known as Known,
    Undefined as Undefined,
    Unread as Unread,
    Wrong as Wrong,
    in_bounds as in_bounds,
)
from .signature import (
    Function as Function,
    Parameter as Parameter,
    define as define,
)
from .table import (
    FUNCTIONS as FUNCTIONS,
    GROUPS as GROUPS,
    READER as READER,
    RETRIEVING as RETRIEVING,
    raised_version as raised_version,
    version_of as version_of,
)
from .tool_descriptions import (
    NoTools as NoTools,
    json_schema as json_schema,
    read_allowed_calls as read_allowed_calls,
    read_tools as read_tools,
)
from .totality import (
    Lack as Lack,
    arguments_of as arguments_of,
    find_lacks as find_lacks,
    lack_of as lack_of,
    unguarded_lacks as unguarded_lacks,
)
from .types import (
    MEDIA as MEDIA,
    Dialogue as Dialogue,
    Path as Path,
    Tree as Tree,
    Turn as Turn,
    are_equal as are_equal,
    element_type as element_type,
    fits as fits,
    holds_json as holds_json,
    holds_media as holds_media,
    is_of_paths as is_of_paths,
    join as join,
    notated_type as notated_type,
    ordered as ordered,
    type_notation as type_notation,
    without_optional as without_optional,
)
