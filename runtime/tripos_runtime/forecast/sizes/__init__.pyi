from .prompt_sizes import (
    PromptSizes as PromptSizes,
)
from .sizes import (
    NO_SIZE as NO_SIZE,
    Known as Known,
    Outline as Outline,
    Size as Size,
    is_waiting as is_waiting,
    sum_of as sum_of,
)
from .talk_sizes import (
    models_of as models_of,
)
