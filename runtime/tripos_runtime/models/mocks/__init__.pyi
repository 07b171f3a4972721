from .baseline import (
    ANSWERS as ANSWERS,
    CONSTANT as CONSTANT,
    MAJORITY as MAJORITY,
    is_baseline as is_baseline,
    open_baseline as open_baseline,
)
from .mock import (
    CHARACTERS as CHARACTERS,
    likelihoods as likelihoods,
    open_mock as open_mock,
    token_probabilities as token_probabilities,
)
from .mock_tools import (
    calls_made as calls_made,
)
from .mock_values import (
    ANY_JSON as ANY_JSON,
    draw as draw,
    value_of as value_of,
)
from .replay import (
    ASSISTANT as ASSISTANT,
    ReplayModel as ReplayModel,
    request_key as request_key,
)
