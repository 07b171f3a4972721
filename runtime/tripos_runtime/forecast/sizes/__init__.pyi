from .placeholders import (
    NamedPlaceholders as NamedPlaceholders,
    SizedPlaceholders as SizedPlaceholders,
    models_of as models_of,
    whole as whole,
)
from .sizes import (
    NO_SIZE as NO_SIZE,
    CountedPrompts as CountedPrompts,
    Known as Known,
    Saying as Saying,
    Size as Size,
    is_waiting as is_waiting,
)
