from .estimates import (
    Estimate as Estimate,
    EstimateSpan as EstimateSpan,
)
from .generation import (
    data_maker as data_maker,
)
from .lines import (
    Forecast as Forecast,
    ForecastLine as ForecastLine,
)
from .prior_results import (
    NothingKept as NothingKept,
)
from .prompts import (
    PromptPreview as PromptPreview,
    preview_prompts as preview_prompts,
    stand_ins as stand_ins,
)
from .reasons import (
    NO_HISTORY as NO_HISTORY,
    Earlier as Earlier,
    History as History,
    Place as Place,
    Usage as Usage,
)
from .run_forecast import (
    forecast as forecast,
)
from .tables import (
    BatchForecast as BatchForecast,
    LevelBatches as LevelBatches,
    batch_forecast as batch_forecast,
    planned as planned,
)
