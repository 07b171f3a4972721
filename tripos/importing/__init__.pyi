from .data import (
    DATABASES as DATABASES,
    ProposedDataset as ProposedDataset,
    ProposedField as ProposedField,
    files_of_hub as files_of_hub,
    json_lines as json_lines,
    propose as propose,
    rows_of_database as rows_of_database,
    rows_of_files as rows_of_files,
)
from .logs import (
    GatheredLog as GatheredLog,
    Gathering as Gathering,
    LogRecorder as LogRecorder,
    LogRun as LogRun,
    LogSpec as LogSpec,
    find_logs as find_logs,
    identifier as identifier,
    open_logs as open_logs,
    replacing as replacing,
    source_of as source_of,
    spec_of as spec_of,
)
from .outlines import (
    DraftedTree as DraftedTree,
    read_draft as read_draft,
    read_outline as read_outline,
)
from .recording import (
    record as record,
    role_flags as role_flags,
)
from .records import (
    SHEET_MARK as SHEET_MARK,
    FileRows as FileRows,
    read_fixed as read_fixed,
    read_mapping as read_mapping,
    read_table as read_table,
)
from .row_errors import (
    RowError as RowError,
    UnfitValue as UnfitValue,
    settle as settle,
)
from .scales import (
    gradable as gradable,
)
from .scores import (
    ScoreImport as ScoreImport,
    read_scores as read_scores,
    replies_of as replies_of,
)
from .trees import (
    approve as approve,
    check_suffix as check_suffix,
    sound as sound,
    tree_text as tree_text,
)
