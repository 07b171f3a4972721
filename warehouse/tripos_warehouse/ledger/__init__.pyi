from .batch_records import (
    StoredBatches as StoredBatches,
)
from .committed import (
    Committed as Committed,
)
from .draws import (
    Draws as Draws,
)
from .given_scores import (
    ElementShown as ElementShown,
    GivenScore as GivenScore,
    KeptCounts as KeptCounts,
    OtherShown as OtherShown,
    ScoreChanges as ScoreChanges,
    alone as alone,
    any_given as any_given,
    difference as difference,
    imported_score as imported_score,
    is_given as is_given,
    keep as keep,
    rows_of as rows_of,
)
from .index_cache import (
    INDEX_CACHE_SUFFIX as INDEX_CACHE_SUFFIX,
    SHELF as SHELF,
    UNUSED_S as UNUSED_S,
    StoredIndexes as StoredIndexes,
)
from .ledger import (
    RunLedger as RunLedger,
)
from .lookup import (
    RowLookup as RowLookup,
)
from .opening import (
    open_ledger as open_ledger,
)
from .other_stores import (
    OtherStores as OtherStores,
)
from .run_cache import (
    RUN_CACHE_SUFFIX as RUN_CACHE_SUFFIX,
    said_of as said_of,
)
