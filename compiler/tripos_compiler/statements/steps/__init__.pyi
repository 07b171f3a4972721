from .asks import (
    lower_ask as lower_ask,
)
from .conversations import (
    lower_converse as lower_converse,
)
from .options import (
    lower_shown_options as lower_shown_options,
)
from .retrieval import (
    lower_retrieve as lower_retrieve,
)
from .steps import (
    NOT_A_SIDE as NOT_A_SIDE,
    NOT_JUDGED as NOT_JUDGED,
    SIDES as SIDES,
    Judging as Judging,
    Steps as Steps,
    length_in as length_in,
    warn_undefined as warn_undefined,
)
