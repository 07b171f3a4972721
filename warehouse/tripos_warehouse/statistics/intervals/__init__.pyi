from .bounded_values import (
    FEW_OF_A_CLASS as FEW_OF_A_CLASS,
    ROUNDING as ROUNDING,
    bounded as bounded,
    clopper_pearson as clopper_pearson,
    of_classes as of_classes,
    of_shares as of_shares,
    wilson as wilson,
)
from .cells import (
    ALIKE_IN_A_CELL as ALIKE_IN_A_CELL,
    ONE_CLUSTER_IN_A_CELL as ONE_CLUSTER_IN_A_CELL,
    ONE_IN_A_CELL as ONE_IN_A_CELL,
    ONE_ITEM as ONE_ITEM,
    mean_of_cells as mean_of_cells,
)
from .facets import (
    generalized as generalized,
)
from .leaf_cells import (
    CellMeans as CellMeans,
    cell_means as cell_means,
)
from .log_scale import (
    Factor as Factor,
    deviation_interval as deviation_interval,
    product_interval as product_interval,
)
from .means import (
    ALIKE as ALIKE,
    ONE_CLUSTER as ONE_CLUSTER,
    mean as mean,
    with_t as with_t,
)
from .medians import (
    weighted_medians as weighted_medians,
)
from .one_sided import (
    negated as negated,
    p_of_above as p_of_above,
    upper_bound as upper_bound,
)
from .resampling import (
    bootstrap as bootstrap,
    bootstrap_mean as bootstrap_mean,
    jackknife as jackknife,
)
from .sign_flips import (
    flipped_p as flipped_p,
    with_test as with_test,
)
