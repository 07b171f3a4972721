from .copied_views import (
    copied_scores as copied_scores,
)
from .lost_rows import (
    is_none_of as is_none_of,
    lost_name as lost_name,
    with_doubles as with_doubles,
    without_lost as without_lost,
)
from .score_sums import (
    PartSums as PartSums,
    all_sums as all_sums,
    kept_sums as kept_sums,
    stale_sums as stale_sums,
    sums_of as sums_of,
    sums_with as sums_with,
)
