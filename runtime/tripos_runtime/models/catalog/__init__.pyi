from .catalog import (
    allows as allows,
    entry_of as entry_of,
    near_model as near_model,
)
from .errors import (
    CallPlace as CallPlace,
    answer_error as answer_error,
    model_error as model_error,
)
from .media_tokens import (
    audio_extra_usd as audio_extra_usd,
    audio_factor as audio_factor,
    tokens_of as tokens_of,
    uncounted as uncounted,
)
from .packages import (
    missing_import as missing_import,
    require_packages as require_packages,
)
from .prices import (
    batch_price as batch_price,
    price_of as price_of,
    tariff as tariff,
)
from .providers import (
    FOREIGN as FOREIGN,
    KEYED as KEYED,
    PARTICULAR as PARTICULAR,
    PROVIDERS as PROVIDERS,
    Provider as Provider,
    key_names as key_names,
    provider_named as provider_named,
)
from .routes import (
    COMPLETION as COMPLETION,
    LOOPBACK as LOOPBACK,
    OPENAI_COMPLETION as OPENAI_COMPLETION,
    check_address as check_address,
    completion_name as completion_name,
    endpoint_of as endpoint_of,
    is_here as is_here,
    path_of as path_of,
)
from .variables import (
    every_variable as every_variable,
    give_variables as give_variables,
    given_variables as given_variables,
    gives as gives,
    variable as variable,
    variables_of as variables_of,
)
