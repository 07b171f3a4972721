from .plans import (
    changes as changes,
    renamed_from as renamed_from,
)
from .steps import (
    WEIGHTS as WEIGHTS,
    Change as Change,
    Weight as Weight,
    reply_changes as reply_changes,
)
from .versions import (
    comparable as comparable,
    numbers as numbers,
    order as order,
)
