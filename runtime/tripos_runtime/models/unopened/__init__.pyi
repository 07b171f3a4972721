from .identity import (
    identity_of as identity_of,
)
from .likelihoods import (
    gives_likelihoods as gives_likelihoods,
    gives_token_probabilities as gives_token_probabilities,
    has_template as has_template,
)
from .naming import (
    check_name as check_name,
)
from .refused_settings import (
    Refuses as Refuses,
    nothing as nothing,
    refusing as refusing,
)
from .sight import (
    takes_medium as takes_medium,
)
from .tools import (
    takes_tools as takes_tools,
)
