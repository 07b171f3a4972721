from .copied_views import (
    copied_scores as copied_scores,
)
from .lost_rows import (
    rows_beside as rows_beside,
    with_doubles as with_doubles,
)
from .part_keys import (
    has_doubles as has_doubles,
)
from .part_values import (
    VALUED as VALUED,
    kept_values as kept_values,
    stored_values as stored_values,
)
from .score_sums import (
    all_sums as all_sums,
    analysis_of as analysis_of,
    kept_sums as kept_sums,
    sums_of as sums_of,
    sums_with as sums_with,
)
from .stale_files import (
    stale_files as stale_files,
)
from .table_queries import (
    key_of as key_of,
    listed_view as listed_view,
    runs_view as runs_view,
    select_rows as select_rows,
    source_of as source_of,
    with_runs as with_runs,
)
