from .checks import (
    Finding as Finding,
    Status as Status,
    lines_of as lines_of,
    verdict as verdict,
)
from .machine import (
    failed_check as failed_check,
    machine_checks as machine_checks,
    project_checks as project_checks,
    sandbox_check as sandbox_check,
    store_checks as store_checks,
)
from .models import (
    model_checks as model_checks,
    role_table as role_table,
)
