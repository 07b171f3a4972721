from .batch_calls import (
    BatchCaller as BatchCaller,
    BatchCalls as BatchCalls,
)
from .level import (
    Pauses as Pauses,
)
from .queue import (
    BatchQueue as BatchQueue,
)
from .records import (
    COLLECTED as COLLECTED,
    DROPPED as DROPPED,
    INTENDED as INTENDED,
    SUBMITTED as SUBMITTED,
    BatchBook as BatchBook,
    BatchLog as BatchLog,
    BatchRecord as BatchRecord,
)
