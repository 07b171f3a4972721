from .attempts import (
    Attempts as Attempts,
)
from .author import (
    MadeCall as MadeCall,
    MadeReply as MadeReply,
    NotAsked as NotAsked,
)
from .data import (
    DataMaker as DataMaker,
    Unlisted as Unlisted,
)
from .maker import (
    Maker as Maker,
)
from .outcomes import (
    origin_columns as origin_columns,
    place_of as place_of,
)
