from .data_sources import (
    DataFetcher as DataFetcher,
    is_pinned as is_pinned,
)
from .hub import (
    list_hub_files as list_hub_files,
)
from .locations import (
    ZIP as ZIP,
    fetch_release as fetch_release,
    find_release as find_release,
    is_release as is_release,
    pack as pack,
    push as push,
)
from .reach import (
    TYPED as TYPED,
    Reach as Reach,
    reach_of as reach_of,
)
