from .allocation import (
    lower_allocation as lower_allocation,
)
from .comparisons import (
    lower_compare as lower_compare,
)
from .functions import (
    lower_aggregates as lower_aggregates,
    lower_functions as lower_functions,
)
from .grades import (
    check_baselines as check_baselines,
    computed_score as computed_score,
    depends_on_reply as depends_on_reply,
    lower_column as lower_column,
    lower_grade as lower_grade,
    lower_score as lower_score,
)
from .scorers import (
    lower_early_scorers as lower_early_scorers,
    lower_scorers as lower_scorers,
)
