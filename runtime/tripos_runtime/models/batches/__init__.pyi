from .anthropic_batches import (
    AnthropicBatches as AnthropicBatches,
)
from .base import (
    LOST as LOST,
    NO_BATCHES as NO_BATCHES,
    UNDONE as UNDONE,
    BatchedModel as BatchedModel,
    BatchLine as BatchLine,
    BatchService as BatchService,
    BatchState as BatchState,
    Outcome as Outcome,
)
from .openai_batches import (
    OpenaiBatches as OpenaiBatches,
)
from .opening import (
    asked_live as asked_live,
    batch_limits as batch_limits,
    open_batches as open_batches,
    takes_batches as takes_batches,
)
