from .exports import (
    lower_exports as lower_exports,
)
