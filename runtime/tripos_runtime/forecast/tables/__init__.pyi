from .batch_levels import (
    BatchForecast as BatchForecast,
    LevelBatches as LevelBatches,
    batch_forecast as batch_forecast,
)
from .call_table import (
    alike as alike,
    arms_of as arms_of,
    planned as planned,
    times as times,
)
