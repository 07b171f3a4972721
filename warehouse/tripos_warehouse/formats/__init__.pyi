from .html import (
    to_html as to_html,
)
from .latex import (
    PREAMBLE as PREAMBLE,
    latex_text as latex_text,
    to_latex as to_latex,
)
from .markdown import (
    markdown_text as markdown_text,
    to_markdown as to_markdown,
)
from .paper_table import (
    Cell as Cell,
    Estimate as Estimate,
    Interval as Interval,
    PaperColumn as PaperColumn,
    PaperTable as PaperTable,
    answer_table as answer_table,
)
from .writers import (
    WRITERS as WRITERS,
)
