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
from .litellm_providers import (
    LITELLM as LITELLM,
    LitellmProvider as LitellmProvider,
)
from .media_tokens import (
    audio_extra_usd as audio_extra_usd,
    audio_factor as audio_factor,
    tokens_of as tokens_of,
    uncounted as uncounted,
)
from .packages import (
    distribution_of as distribution_of,
    missing_import as missing_import,
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
from .readiness import (
    handed_over as handed_over,
    needs_of as needs_of,
    require_chat as require_chat,
    require_ready as require_ready,
    require_sign_in as require_sign_in,
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
