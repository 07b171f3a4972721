from .programs import (
    RUNNERS as RUNNERS,
    ProgramRunner as ProgramRunner,
)
from .runner import (
    CodeRunner as CodeRunner,
)
from .sandbox import (
    no_sandbox_hint as no_sandbox_hint,
    sandbox_fault as sandbox_fault,
)
