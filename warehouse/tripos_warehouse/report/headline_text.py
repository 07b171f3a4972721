"""The end of a run as text: the measures that stand for the benchmark, and what a reader must know of them, in a few
lines. The figures are those of the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from tripos_compiler.diagnostics import localized, usd
from tripos_warehouse.formats import GAP, NOTHING, TextColumn, grid, wrapped
from tripos_warehouse.measures import MeasureRow, MeasureTable, is_baseline, matched
from tripos_warehouse.report.boards import headlines
from tripos_warehouse.report.expectation_text import MOCKED, partial_lines
from tripos_warehouse.report.pivot_table import counts_of, coverage, number_range, with_interval
from tripos_warehouse.report.remarks import CAUTION
from tripos_warehouse.report.report_text import (
    STYLES,
    columns_below,
    figure_of,
    measure_lines,
    of_same,
    reason_lines,
    shown_title,
    sql_lines,
)

if TYPE_CHECKING:
    from tripos_warehouse.report.run_report import Report

MOST_LINES = 20
LEAST_TABLE = 16
"""Notes give way to the first lines of the table."""
VALUED = ("ok", "scored", "not_applicable")
"""Statuses of what has its value, or needs none."""
FEW = 5
"""With more models than these, a sentence about them has one line."""
MOST_NAMED = 3
"""So many expectations, and so many groups of models, are named."""

NARROW_HEADING = 14
"""The cells after which the name of a measure goes on in the next line of its heading."""
TableLines = tuple[list[str], list[str]]
"""The lines of a table, and what is left out of it."""
Block = tuple[list[str], str]
"""Lines, and their style."""


def render_headline(report: Report, width: int = 80, table_width: int | None = None, sql: bool = False) -> Text:
    """Return the headline of a report in at most 20 lines of `width` cells, and of `table_width` in tables; with `sql`
    the SQL of the measures below it.

    Where there are more models, measures or notes than that, the last line says how many are left out.
    """
    width, table_width = max(width, 1), table_width or width
    tables = headline_tables(report)
    first = wrapped(_title(report), width).split("\n"), "bold"
    must, notes = list(_required(report, tables, width)), list(_notes(report, width))
    room = MOST_LINES - 2 - sum(len(lines) for lines, _ in (first, *must))
    wanted = room - sum(len(lines) for lines, _ in notes)
    shown, rest = _shown(report, tables, table_width, max(wanted, min(room, LEAST_TABLE)))
    kept: list[Block] = []
    for note in notes:
        if sum(len(lines) for lines, _ in (*kept, note)) <= room - len(shown):
            kept.append(note)
    left = len(notes) - len(kept)
    told = [*rest, *_left_out(left, "note")]
    last = ([localized("in the report: ") + ", ".join(told)] if told else []), "dim"
    text = Text()
    for lines, style in (first, ([""], ""), (shown, ""), last, *must, *kept):
        text.append("".join(f"{line}\n" for line in lines), style=style)
    if sql:
        said = [(table.measure.name, table.measure) for table in tables]
        text.append("\n".join([*sql_lines(report.plan, said), ""]), style="dim")
    return text


def headline_tables(report: Report) -> list[MeasureTable]:
    """Return the measures that stand for the benchmark; the first one where none comes to one value for each model."""
    wanted = {measure.name for measure in headlines(report.plan)}
    order = [measure.name for measure in headlines(report.plan)]
    found = sorted(
        (table for table in report.measures if table.measure.name in wanted),
        key=lambda table: order.index(table.measure.name),
    )
    with_values = [table for table in found if table.rows or table.error is not None]
    return with_values or found or [table for table in report.measures if table.rows][:1] or list(report.measures[:1])


def _title(report: Report) -> str:
    run = report.run
    ended = "" if run.ended else f"{localized(', ')}{localized(run.status)}"
    counts = [localized(f"{sum(report.samples.values()):,} replies")]
    if report.scores:
        counts.append(localized(f"{sum(report.scores.values()):,} scores"))
    if report.comparisons:
        counts.append(localized(f"{sum(report.comparisons.values()):,} comparisons"))
    every = (report.samples, report.scores, report.comparisons)
    bad = sum(count for each in every for status, count in each.items() if status not in VALUED)
    cost = localized("cost unknown") if run.cost_usd is None else f"{usd(run.cost_usd)} USD"
    told = [*counts, *([localized(f"{bad:,} without a value")] if bad else []), cost]
    return f"{run.benchmark} {run.version}{ended}{localized(': ')}{localized(', ').join(told)}"


def _shown(report: Report, tables: Sequence[MeasureTable], width: int, room: int) -> tuple[list[str], list[str]]:
    """Return the lines of the tables, no more than `room`, and what is left out of them."""
    if not tables:
        return [localized("no measures")], []
    models = [model for model in report.run.models if any(row.model == model for each in tables for row in each.rows)]
    if len(tables) == 1:
        return _one_measure(report, tables[0], models, width, room)
    if len(models) <= 1:
        return _measures_below(tables, width, room)
    return _matrix(tables, models, width, room)


def _one_measure(
    report: Report, table: MeasureTable, models: Sequence[str], width: int, room: int
) -> tuple[list[str], list[str]]:
    """Return the table of a measure as the report prints it, without the last rows where they have no room."""
    if not table.measure.by and table.rows and not _fits(columns_below(report.plan, table, models), width):
        return _matrix([table], models, width, room)
    ranked = _ranked(table, models)
    places = list(dict.fromkeys(row.by if table.measure.by else row.model for row in ranked.rows))
    count = len(places)
    while True:
        kept = set(places[:count])
        rows = tuple(row for row in ranked.rows if (row.by if table.measure.by else row.model) in kept)
        some = replace(table, rows=rows)
        lines = [
            shown_title(report.plan, table),
            *measure_lines(report.plan, some, models, of_same(report, table), width),
        ]
        lines = [part for line in (*lines, *reason_lines(report.plan, some, width)) for part in line.split("\n")]
        if len(lines) <= room or count <= 1:
            return lines, _left_out(len(places) - count, "value" if table.measure.by else "model")
        count -= 1


def _ranked(table: MeasureTable, models: Sequence[str]) -> MeasureTable:
    """Return a table with its best models first, so that those that are left out are the others; as it is, where it
    goes by anything."""
    if table.measure.by:
        return table
    sign = 1.0 if table.measure.lower_is_better else -1.0
    last = float("inf")
    rows = sorted(table.rows, key=lambda row: models.index(row.model) if row.model in models else len(models))
    return replace(table, rows=tuple(sorted(rows, key=lambda row: last if row.value is None else sign * row.value)))


def _required(report: Report, tables: Sequence[MeasureTable], width: int) -> Iterator[Block]:
    """Yield what always stands below the figures."""
    longest = width if len(report.run.models) > FEW else 2 * width
    if (told := baseline_sentence(report, tables, longest)) is not None:
        yield wrapped(told, width).split("\n"), "yellow"
    unread = [remark.text for remark in report.remarks if remark.kind == "unread"]
    for told in unread[:MOST_NAMED]:
        yield wrapped(localized(told), width).split("\n"), "yellow"
    if len(unread) > MOST_NAMED:
        told = f"{len(unread) - MOST_NAMED:,} more with unread replies are in the report"
        yield wrapped(localized(told), width).split("\n"), "yellow"
    failed = [table.measure.name for table in report.measures if table.error is not None]
    failed += [f"expect {gate.expectation.shown}" for gate in report.gates if gate.failed]
    if failed:
        yield (
            wrapped(localized(f"no values of {_some(failed)}: the database refused the SQL"), width).split("\n"),
            "red",
        )
    if report.gates:
        wrong = [gate.expectation.shown for gate in report.gates if not gate.held]
        count = f"{len(report.gates) - len(wrong)} held" + (f", {len(wrong)} did not" if wrong else "")
        told = localized(f"expectations: {count}") + (localized(": ") + _some(wrong) if wrong else "")
        lines = wrapped(told, width).split("\n")
        for line in partial_lines(report.gates)[:MOST_NAMED]:
            lines += wrapped(line, width).split("\n")
        if wrong and report.mocked:
            lines += wrapped(localized(MOCKED), width).split("\n")
        yield lines, STYLES[not wrong or report.mocked]
    if report.only_proves_the_pipeline:
        yield wrapped(localized(CAUTION), width).split("\n"), "yellow"


def _notes(report: Report, width: int) -> Iterator[Block]:
    """Yield what stands there as long as it has room, the most important first."""
    for gap in report.gaps:
        yield wrapped(localized(gap.kind) + localized(": ") + localized(gap.shown), width).split("\n"), "yellow"
    for remark in report.remarks:
        if remark.kind == "unread":
            continue
        yield wrapped(localized("note") + localized(": ") + localized(remark.text), width).split("\n"), "yellow"


def baseline_sentence(report: Report, tables: Sequence[MeasureTable], longest: int) -> str | None:
    """Return which models do not clear a baseline, and in which measures; None where there is none. It has no
    more than `longest` characters, or says only how many they are."""
    found = {table.measure.name: matched(table) for table in report.measures}
    groups: dict[tuple[str, ...], list[str]] = {}
    for table in tables:
        models = tuple(dict.fromkeys(each.model for each in found[table.measure.name]))
        if models:
            groups.setdefault(models, []).append(table.measure.name)
    names = [name for name, matches in found.items() if matches]
    if not names:
        return None
    compared = [model for model in report.run.models if not is_baseline(model)]
    others = len(names) - sum(map(len, groups.values()))
    parts = [f"{_every(models, compared)} in {_some(measures)}" for models, measures in groups.items()]
    parts += _left_out(others, "measure")
    told = localized(f"not clear of a baseline: {'; '.join(parts)}")
    if cell_len(told) <= longest:
        return told
    below = {each.model for matches in found.values() for each in matches}
    some = f"{len(below)} of {len(compared)} models in {len(names)} of {len(found)} measures"
    return localized(f"not clear of a baseline: {some}")


def _every(models: Sequence[str], compared: Sequence[str]) -> str:
    return "every model" if len(compared) > 1 and set(models) >= set(compared) else _some(models)


def _some(names: Sequence[str]) -> str:
    """Return the first names and how many more there are.

    >>> _some(["a", "b", "c", "d", "e"]), _some(["a"])
    ('a, b, c and 2 more', 'a')
    """
    left = len(names) - MOST_NAMED
    return ", ".join(names) if left <= 0 else f"{', '.join(names[:MOST_NAMED])} and {left} more"


def _measures_below(tables: Sequence[MeasureTable], width: int, room: int) -> TableLines:
    """Return a table with a line for each measure of one model, in no more than `room` lines: the
    first measures that have room."""
    count = len(tables)
    while True:
        lines = grid(_of_one_model(tables[:count]), width)
        if len(lines) <= room or count == 1:
            return lines, _left_out(len(tables) - count, "measure")
        count -= 1


def _of_one_model(tables: Sequence[MeasureTable]) -> list[TextColumn]:
    rows = [row for table in tables for row in table.rows[:1] or [None]]
    figures = [figure_of([row]) if row is not None else str for row in rows]

    def interval(row: MeasureRow | None, figure: Callable[[float | None], str]) -> str:
        if row is None or row.interval_low is None:
            return NOTHING
        return f"{figure(row.interval_low)} – {figure(row.interval_high)}"

    pairs = list(zip(rows, figures, strict=True))
    values = tuple(NOTHING if row is None else figure(row.value) for row, figure in pairs)
    there = [[row] if row is not None else [] for row in rows]
    return [
        TextColumn(localized("measure"), tuple(map(_name, tables))),
        TextColumn(localized("value"), values, right=True),
        TextColumn(localized("95 % interval"), tuple(interval(*pair) for pair in pairs), right=True),
        *counts_of(there),
    ]


def _matrix(tables: Sequence[MeasureTable], models: Sequence[str], width: int, room: int) -> TableLines:
    """Return a table of several measures of several models, in no more than `room` lines. Models stand beside each
    other where they fit, and else measures do, as many as fit; the models of which the first measure is best come
    first."""
    rows = [row for table in tables for row in table.rows]
    for counts, told in (True, []), (False, [_counted(rows)]):
        columns = _models_beside(tables, models, counts)
        if _fits(columns, width) and len(lines := [*grid(columns, width), *told]) <= room:
            return lines, []
    ordered = _best_first(tables[0], models)
    shown = len(tables)
    while shown > 1:
        columns = _measures_beside(tables[:shown], ordered)
        if _fits(columns, width):
            break
        shown -= 1
    rows = [row for table in tables[:shown] for row in table.rows]
    count = len(ordered)
    while True:
        lines = [*grid(_measures_beside(tables[:shown], ordered[:count]), width), _counted(rows)]
        if len(lines) <= room or count == 1:
            return lines, [*_left_out(len(ordered) - count, "model"), *_left_out(len(tables) - shown, "measure")]
        count -= 1


def _counted(rows: Sequence[MeasureRow]) -> str:
    return localized(f"n {number_range([row.n for row in rows])}, coverage {coverage(rows)}")


def _models_beside(tables: Sequence[MeasureTable], models: Sequence[str], counts: bool) -> list[TextColumn]:
    cells: dict[str, list[str]] = {model: [] for model in models}
    for table in tables:
        found = {row.model: row for row in table.rows}
        figure = figure_of(table.rows)
        for model in models:
            cells[model].append(with_interval(found[model], figure) if model in found else NOTHING)
    return [
        TextColumn(localized("measure"), tuple(map(_name, tables))),
        *(TextColumn(model, tuple(texts), right=True) for model, texts in cells.items()),
        *(counts_of([table.rows for table in tables])[1:] if counts else []),
    ]


def _measures_beside(tables: Sequence[MeasureTable], models: Sequence[str]) -> list[TextColumn]:
    columns = [TextColumn(localized("model"), tuple(models))]
    for table in tables:
        found = {row.model: row for row in table.rows}
        figure = figure_of(table.rows)
        cells = tuple(with_interval(found[model], figure) if model in found else NOTHING for model in models)
        columns.append(TextColumn(_folded(_name(table)), cells, right=True))
    return columns


def _best_first(table: MeasureTable, models: Sequence[str]) -> list[str]:
    sign = 1.0 if table.measure.lower_is_better else -1.0
    values = {row.model: sign * row.value for row in table.rows if row.value is not None}
    return sorted(models, key=lambda model: values.get(model, float("inf")))


def _fits(columns: Sequence[TextColumn], width: int) -> bool:
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1) <= width


def _name(table: MeasureTable) -> str:
    return table.measure.name + (localized(" (lower is better)") if table.measure.lower_is_better else "")


def _folded(name: str) -> str:
    """Return a name of several words in lines that are not wide, for the heading of a column.

    >>> _folded("solution_correctness.f1").split("\\n"), _folded("overall")
    (['solution_', 'correctness.f1'], 'overall')
    """
    lines = [""]
    for part in re.findall(r"[^._ ]*[._ ]?", name):
        if lines[-1] and len(lines[-1]) + len(part) > NARROW_HEADING:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _left_out(count: int, noun: str) -> list[str]:
    return [localized(f"{count:,} more {noun}" if count == 1 else f"{count:,} more {noun}s")] if count else []
