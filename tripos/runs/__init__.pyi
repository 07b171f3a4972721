from .aggregates import (
    admit_aggregates as admit_aggregates,
)
from .asked_with import (
    settings_asked as settings_asked,
)
from .batch_records import (
    BatchesUnderWay as BatchesUnderWay,
    BatchUnderWay as BatchUnderWay,
    RecordedBatches as RecordedBatches,
)
from .interrupts import (
    TO_WORKER as TO_WORKER,
    end_evaluations_on as end_evaluations_on,
    heard as heard,
)
from .media import (
    stored_media as stored_media,
)
from .recordings import (
    PREFIX as PREFIX,
    Recording as Recording,
    find_recording as find_recording,
    open_recording as open_recording,
)
from .rows import (
    find_store as find_store,
    open_others as open_others,
    run_row as run_row,
    step_rows as step_rows,
)
from .settling import (
    RunSettler as RunSettler,
)
