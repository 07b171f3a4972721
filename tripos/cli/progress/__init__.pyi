from .display import (
    shown_progress as shown_progress,
)
from .events import (
    Events as Events,
)
from .summary import (
    Ended as Ended,
    summary_data as summary_data,
    summary_lines as summary_lines,
    taken_text as taken_text,
    wrapped as wrapped,
)
