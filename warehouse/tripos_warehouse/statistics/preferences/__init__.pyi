from .orders import (
    both_orders as both_orders,
    flip_rate as flip_rate,
    position_bias as position_bias,
)
from .severity import (
    NOBODY_ELSE as NOBODY_ELSE,
    GivenGrade as GivenGrade,
    fondness as fondness,
    judge_severity as judge_severity,
    self_preference as self_preference,
    self_preference_in_grades as self_preference_in_grades,
)
from .strengths import (
    Strengths as Strengths,
    bradley_terry as bradley_terry,
)
from .verdicts import (
    Preference as Preference,
    win_rate as win_rate,
)
