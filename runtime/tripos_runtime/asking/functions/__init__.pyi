from .calling import (
    Loaded as Loaded,
)
from .external import (
    ExternalScorer as ExternalScorer,
    Suspended as Suspended,
    suspending as suspending,
)
from .opening import (
    open_scorers as open_scorers,
)
from .plugins import (
    NO_RELEASES as NO_RELEASES,
    PluginError as PluginError,
    load_plugins as load_plugins,
)
from .pool import (
    ScorerPool as ScorerPool,
)
from .process import (
    environment as environment,
)
from .protocol import (
    NO_SANDBOX as NO_SANDBOX,
    NO_SCORE as NO_SCORE,
    NONSENSE as NONSENSE,
    NOT_ALLOWED as NOT_ALLOWED,
    Broken as Broken,
    Failed as Failed,
    Outcome as Outcome,
    ScorerRequest as ScorerRequest,
    Value as Value,
    plain as plain,
)
from .settings import (
    NO_PROGRAMS as NO_PROGRAMS,
    AllowedPrograms as AllowedPrograms,
    ProgramLimits as ProgramLimits,
    program_name as program_name,
)
from .tools import (
    stand_in as stand_in,
)
