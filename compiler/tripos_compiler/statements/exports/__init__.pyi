from .exports import (
    lower_exports as lower_exports,
)
from .subsets import (
    lower_subsets as lower_subsets,
)
