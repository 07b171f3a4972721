from .cells import (
    BY_CHANCE as BY_CHANCE,
)
from .derivatives import (
    CUT_OFF as CUT_OFF,
    ROOT_OF_ZERO as ROOT_OF_ZERO,
)
from .figures import (
    graders_of as graders_of,
    pairs_sql as pairs_sql,
    sql_of as sql_of,
)
from .parts import (
    NODES as NODES,
    Cut as Cut,
    Query as Query,
    has_apart as has_apart,
    path_of as path_of,
    query_in as query_in,
    rows_sql as rows_sql,
    weight_sql as weight_sql,
    weights_of as weights_of,
)
from .scales import (
    CORRELATED as CORRELATED,
    JACKKNIFED as JACKKNIFED,
)
from .score_rows import (
    keys_of_scores as keys_of_scores,
    scores_sql as scores_sql,
)
from .unread import (
    COMPARED as COMPARED,
    End as End,
    worst_value as worst_value,
)
