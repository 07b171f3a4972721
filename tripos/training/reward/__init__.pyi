from .audit import (
    WARNING as WARNING,
)
from .pairing import (
    FORMAT as FORMAT,
    KEPT_OUT as KEPT_OUT,
    kept_out_of as kept_out_of,
    prompt_of as prompt_of,
    replies_of as replies_of,
    write_pairs as write_pairs,
)
from .pairs import (
    read_pairs as read_pairs,
    without as without,
)
from .recipe import (
    RewardRecipe as RewardRecipe,
)
from .train import (
    AuditSize as AuditSize,
    train_reward as train_reward,
)
