from .comparing import (
    benjamini_hochberg as benjamini_hochberg,
    fixed_sequence as fixed_sequence,
    holm as holm,
    rank_by as rank_by,
)
from .corpus_metrics import (
    SummedMetric as SummedMetric,
    corpus_metric as corpus_metric,
    matthews as matthews,
)
from .design import (
    detectable_difference as detectable_difference,
    paired_variance as paired_variance,
    power_of as power_of,
)
from .found import (
    StatisticResult as StatisticResult,
)
from .quantiles import (
    CONFIDENCE as CONFIDENCE,
    t_quantile as t_quantile,
    two_sided as two_sided,
    z_quantile as z_quantile,
)
from .ratings import (
    Floats as Floats,
    Ints as Ints,
)
from .user_functions import (
    NoFigure as NoFigure,
    UserFunction as UserFunction,
    admit_python as admit_python,
    python_refused as python_refused,
)
