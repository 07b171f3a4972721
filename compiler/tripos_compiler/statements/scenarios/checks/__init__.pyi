from .contamination import (
    check_kept_out as check_kept_out,
    check_learned as check_learned,
)
from .protocol import (
    check_protocol as check_protocol,
)
from .unused import (
    check_unused_axes as check_unused_axes,
    check_unused_declarations as check_unused_declarations,
    check_unused_steps as check_unused_steps,
)
