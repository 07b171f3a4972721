from .construct import (
    FILE as FILE,
    Construct as Construct,
)
from .reference import (
    page_of as page_of,
)
from .settings import (
    PROVIDER_FIELDS as PROVIDER_FIELDS,
    SETTINGS as SETTINGS,
    Setting as Setting,
    place_of_setting as place_of_setting,
)
from .signature import (
    NAME_SLOTS as NAME_SLOTS,
    STRING_SLOTS as STRING_SLOTS,
    Item as Item,
    Labels as Labels,
    Maybe as Maybe,
    Slot as Slot,
    Statement as Statement,
    Word as Word,
)
from .statements import (
    read_statements as read_statements,
)
from .table import (
    CONSTRUCTS as CONSTRUCTS,
    constructs_in as constructs_in,
    places_of as places_of,
)
