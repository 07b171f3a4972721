"""Every format of a table, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.tables.data import to_csv, to_json
from tripos_warehouse.tables.markup import to_html, to_latex, to_markdown
from tripos_warehouse.tables.model import Table
from tripos_warehouse.tables.text import TEXT_MARKS, lay_out, wrapped
from tripos_warehouse.tables.values import Interval


@dataclass(frozen=True)
class RenderOptions:
    """How tables are rendered: the notation of intervals in Markdown, LaTeX and HTML, and the width of text in cells of
    a terminal."""

    interval: Interval = "ci"
    width: int = 80


def to_text(tables: Sequence[Table], width: int) -> str:
    """Return tables as text for a terminal, in the user's language: captions, rows and notes.

    >>> from tripos_warehouse.tables.model import Column
    >>> print(to_text([Table((Column("model", ("a",)), Column("n", (12,), "count")), "t", "Scores")], 40))
    Scores
    model   n
    ─────  ──
    a      12
    <BLANKLINE>
    """
    blocks = []
    for table in tables:
        lines = [wrapped(localized(table.caption), width)] if table.caption else []
        lines += lay_out(table, width, marks=True).lines() if table.columns else []
        lines += [wrapped(localized(note), width) for note in table.reading_notes("none", TEXT_MARKS) if note]
        blocks.append("".join(f"{line}\n" for line in lines))
    return "\n".join(blocks)


RENDERERS: Mapping[str, Callable[[Sequence[Table], RenderOptions], str]] = {
    "text": lambda tables, options: to_text(tables, options.width),
    "md": lambda tables, options: to_markdown(tables, options.interval),
    "latex": lambda tables, options: to_latex(tables, options.interval),
    "html": lambda tables, options: to_html(tables, options.interval),
    "csv": lambda tables, options: to_csv(tables),
    "json": lambda tables, options: to_json(tables),
}
