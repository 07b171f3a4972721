from .declarations import (
    RESERVED_AXES as RESERVED_AXES,
    lower_arms as lower_arms,
    lower_axes as lower_axes,
    lower_benchmark as lower_benchmark,
    lower_metrics as lower_metrics,
    lower_roles as lower_roles,
)
from .titles import (
    lower_titles as lower_titles,
    plain_title as plain_title,
)
from .tools import (
    lower_tools as lower_tools,
)
from .trees import (
    APPROVED as APPROVED,
    DRAFT as DRAFT,
    branches_of as branches_of,
    lower_trees as lower_trees,
)
