from .call_counts import (
    Cases as Cases,
    count_calls as count_calls,
    embedded_once as embedded_once,
    pools as pools,
)
from .fingerprints import (
    Prints as Prints,
)
from .folding import (
    FALSE as FALSE,
    TRUE as TRUE,
    fold as fold,
    fold_all as fold_all,
    fold_texts as fold_texts,
    mapped as mapped,
)
from .step_conditions import (
    may_be_undefined as may_be_undefined,
)
from .step_uses import (
    CALLING as CALLING,
    depends as depends,
    exprs_of as exprs_of,
    roles as roles,
    template_exprs as template_exprs,
    uses_of as uses_of,
)
