from .files import (
    check_origins as check_origins,
)
from .generated import (
    made_calls as made_calls,
    may_shrink as may_shrink,
)
from .ordering import (
    lower_datasets as lower_datasets,
    lower_scenario_dataset as lower_scenario_dataset,
)
