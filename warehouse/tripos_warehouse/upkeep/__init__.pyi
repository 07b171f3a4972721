from .checking import (
    check_store as check_store,
)
from .compaction import (
    BIG_BYTES as BIG_BYTES,
    MANY_COMMITS as MANY_COMMITS,
    compact as compact,
    compact_if_needed as compact_if_needed,
)
from .documents import (
    ANNOTATIONS as ANNOTATIONS,
    keep_document as keep_document,
    list_documents as list_documents,
    read_document as read_document,
)
from .housekeeping import (
    collect as collect,
)
from .media import (
    MediaKeeper as MediaKeeper,
)
from .merging import (
    Merged as Merged,
    merge_stores as merge_stores,
)
from .mirroring import (
    MirroredTable as MirroredTable,
    mirror_delta as mirror_delta,
    mirror_iceberg as mirror_iceberg,
)
