from .plans import (
    changes as changes,
    renamed_from as renamed_from,
)
from .steps import (
    WEIGHTS as WEIGHTS,
    Change as Change,
    reply_changes as reply_changes,
)
from .versions import (
    check_version as check_version,
    comparable as comparable,
    least_version as least_version,
    numbers as numbers,
    order as order,
)
