from .runner import (
    CodeRunner as CodeRunner,
)
