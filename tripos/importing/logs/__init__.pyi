from .entries import (
    Log as Log,
)
from .formats import (
    find_logs as find_logs,
    open_logs as open_logs,
    source_of as source_of,
)
from .gathering import (
    GatheredLog as GatheredLog,
    Gathering as Gathering,
)
from .item_table import (
    replacing as replacing,
)
from .recording import (
    LogRecorder as LogRecorder,
    LogRun as LogRun,
)
from .spec_text import (
    LogSpec as LogSpec,
    identifier as identifier,
    spec_of as spec_of,
)
