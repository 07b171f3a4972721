from .programs import (
    ProgramRunner as ProgramRunner,
)
from .runner import (
    CodeRunner as CodeRunner,
)
