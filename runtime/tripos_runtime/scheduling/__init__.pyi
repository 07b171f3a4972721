from .budget import (
    Budget as Budget,
    BudgetError as BudgetError,
    OutOfBudget as OutOfBudget,
    check_bounds as check_bounds,
    check_prices as check_prices,
    read_amounts as read_amounts,
)
from .calling import (
    Called as Called,
    Caller as Caller,
    open_callers as open_callers,
    snapshot as snapshot,
)
from .costs import (
    Cost as Cost,
    Debit as Debit,
)
from .endpoint_state import (
    Snapshot as Snapshot,
)
from .errors import (
    Halted as Halted,
    Stopped as Stopped,
)
from .limits import (
    Limits as Limits,
    most_at_once as most_at_once,
)
from .times import (
    Sleep as Sleep,
)
