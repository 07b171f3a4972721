from .call_counts import (
    CountedCases as CountedCases,
    count_calls as count_calls,
    count_embeddings_once as count_embeddings_once,
    embedding_pools as embedding_pools,
)
from .fingerprints import (
    StepFingerprints as StepFingerprints,
)
from .folding import (
    FALSE as FALSE,
    TRUE as TRUE,
    fold_arms as fold_arms,
    fold_required_texts as fold_required_texts,
    fold_settings as fold_settings,
    fold_texts as fold_texts,
    map_expression as map_expression,
    map_loop as map_loop,
    map_part as map_part,
)
from .step_conditions import (
    is_evaluable as is_evaluable,
    may_be_undefined as may_be_undefined,
)
from .step_uses import (
    CALLING as CALLING,
    judged_names as judged_names,
    names_used as names_used,
    roles_called as roles_called,
    step_expressions as step_expressions,
    template_expressions as template_expressions,
    with_dependencies as with_dependencies,
)
