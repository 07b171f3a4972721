from .bounded_values import (
    FEW_OF_A_CLASS as FEW_OF_A_CLASS,
    ROUNDING as ROUNDING,
    bounded as bounded,
    clopper_pearson as clopper_pearson,
    of_classes as of_classes,
    wilson as wilson,
)
from .cells import (
    ALIKE as ALIKE,
    ONE_CLUSTER_IN_A_CELL as ONE_CLUSTER_IN_A_CELL,
    ONE_IN_A_CELL as ONE_IN_A_CELL,
    ONE_ITEM as ONE_ITEM,
    mean_of_cells as mean_of_cells,
)
from .deviations import (
    deviation_interval as deviation_interval,
)
from .means import (
    ONE_CLUSTER as ONE_CLUSTER,
    mean as mean,
    with_t as with_t,
)
from .medians import (
    weighted_medians as weighted_medians,
)
from .products import (
    Factor as Factor,
    product_interval as product_interval,
)
from .resampling import (
    bootstrap as bootstrap,
    bootstrap_mean as bootstrap_mean,
    jackknife as jackknife,
)
