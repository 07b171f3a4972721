from .judge_report import (
    JudgedMetric as JudgedMetric,
    JudgeReport as JudgeReport,
    report_judges as report_judges,
)
from .judge_scores import (
    repeated_scorers as repeated_scorers,
    repeated_verdicts as repeated_verdicts,
)
from .judge_text import (
    render_judges as render_judges,
)
