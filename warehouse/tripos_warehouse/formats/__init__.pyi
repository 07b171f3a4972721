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
    Interval as Interval,
    PaperColumn as PaperColumn,
    PaperEstimate as PaperEstimate,
    PaperTable as PaperTable,
    answer_table as answer_table,
)
from .python_values import (
    values_of as values_of,
)
from .text_table import (
    GAP as GAP,
    NOTHING as NOTHING,
    UNBOUNDED as UNBOUNDED,
    TextColumn as TextColumn,
    decimals_of as decimals_of,
    fold as fold,
    grid as grid,
    grid_parts as grid_parts,
    pad as pad,
    render_columns as render_columns,
    render_table as render_table,
    wrapped as wrapped,
)
from .writers import (
    WRITERS as WRITERS,
)
