from .files import (
    check_origins as check_origins,
)
from .generated import (
    generation_calls as generation_calls,
    may_have_fewer_rows as may_have_fewer_rows,
)
from .ordering import (
    lower_datasets as lower_datasets,
    lower_scenario_dataset as lower_scenario_dataset,
)
