from .assign import (
    Assignment as Assignment,
    AssignmentDesk as AssignmentDesk,
    AssignmentOptions as AssignmentOptions,
    ExpectedGain as ExpectedGain,
    expected_gains as expected_gains,
)
from .batch import (
    Answers as Answers,
    Batch as Batch,
    copy_batches as copy_batches,
    get_batch as get_batch,
)
from .carried_scores import (
    carry_scores as carry_scores,
    carry_to_other_runs as carry_to_other_runs,
)
from .grades_file import (
    GradesFile as GradesFile,
    read_grades as read_grades,
)
from .grading_page import (
    GradingPage as GradingPage,
)
from .ingest import (
    GradeError as GradeError,
    IngestedGrades as IngestedGrades,
    check as check,
)
from .replies import (
    chosen_role as chosen_role,
)
from .sheet import (
    read_sheet as read_sheet,
    sheet_bytes as sheet_bytes,
)
