from .names import (
    SIZE as SIZE,
    Halves as Halves,
    halves as halves,
    pack as pack,
    pack_column as pack_column,
)
from .row_index import (
    AGAIN as AGAIN,
    FAILED as FAILED,
    RESULTS as RESULTS,
    RowIndex as RowIndex,
    has_all as has_all,
    has_failed as has_failed,
    is_failed as is_failed,
    rows_by_id as rows_by_id,
    rows_by_part as rows_by_part,
)
