"""The formats that tables are written in, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tripos_warehouse.formats.html import to_html
from tripos_warehouse.formats.latex import to_latex
from tripos_warehouse.formats.markdown import to_markdown
from tripos_warehouse.formats.paper_table import Interval, PaperTable

WRITERS: Mapping[str, Callable[[Sequence[PaperTable], Interval], str]] = {
    "md": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
