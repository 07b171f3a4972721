from .local import (
    WEIGHTS as WEIGHTS,
    LocalModel as LocalModel,
    find_weights as find_weights,
    untaken_here as untaken_here,
)
from .weights import (
    template_of as template_of,
    weights_digest as weights_digest,
)
