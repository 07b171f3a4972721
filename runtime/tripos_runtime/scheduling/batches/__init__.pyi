from .batch_calls import (
    BatchCaller as BatchCaller,
    BatchCalls as BatchCalls,
)
from .level import (
    Pauses as Pauses,
)
from .live_calls import (
    LiveCaller as LiveCaller,
    beside_batches as beside_batches,
)
from .queue import (
    BatchQueue as BatchQueue,
)
from .records import (
    COLLECTED as COLLECTED,
    DROPPED as DROPPED,
    EXPIRY as EXPIRY,
    INTENDED as INTENDED,
    SUBMITTED as SUBMITTED,
    UNANSWERED as UNANSWERED,
    BatchBook as BatchBook,
    BatchLog as BatchLog,
    BatchRecord as BatchRecord,
    OpenBatch as OpenBatch,
)
