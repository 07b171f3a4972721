"""The history of a measure as text for a terminal: a table for each line, with what broke it between its rows."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.diagnostics import localized, wrap
from tripos_warehouse.formats import NOTHING, TextColumn, decimals_of, grid_parts
from tripos_warehouse.measures import STOPPED_EARLY, TOO_FAR_APART
from tripos_warehouse.report.history.lines import HistoryLine, HistoryPoint, LineBreak, MeasureHistory


def render_history(history: MeasureHistory, width: int = 80) -> list[str]:
    """Return the lines of a text of at most `width` cells, where the figures have room."""
    runs = {point.run.run_id for line in history.lines for point in line.points}
    title = f": {history.title}" if history.title else ""
    lines = wrap(f"{history.measure} ({history.benchmark}){title}", width)
    count, breaks = len(runs), history.breaks
    told = f"{count:,} {'run' if count == 1 else 'runs'}, {breaks:,} {'break' if breaks == 1 else 'breaks'}"
    lines += wrap(localized(told), width)
    for each in history.lines:
        by = [f"{name} {value}" for name, value in zip(history.dimensions, each.by, strict=False)]
        lines += ["", *wrap(", ".join([each.model, *by]), width), *_table(each, width)]
    if any(point.run.stopped_early for line in history.lines for point in line.points):
        lines += ["", *wrap(localized(STOPPED_EARLY), width), *wrap(localized(TOO_FAR_APART), width)]
    if history.unread:
        lines.append("")
    for unread in history.unread:
        lines += wrap(localized(f"without {unread.run.run_id}: {unread.reason}"), width)
    return lines


def _table(line: HistoryLine, width: int) -> Iterator[str]:
    rows = [point.row for point in line.points]
    decimals = decimals_of([value for row in rows for value in (row.value, row.interval_low, row.interval_high)])
    columns = {
        "date": tuple(f"{point.run.started_at:%Y-%m-%d}" for point in line.points),
        "version": tuple(_version(point) for point in line.points),
        "run": tuple(point.run.run_id for point in line.points),
        "value": tuple(_figure(row.value, decimals) for row in rows),
        "95 %": tuple(
            NOTHING
            if row.interval_low is None or row.interval_high is None
            else f"{_figure(row.interval_low, decimals)} – {_figure(row.interval_high, decimals)}"
            for row in rows
        ),
        "items": tuple(f"{row.items:,}" for row in rows),
    }
    right = ("value", "95 %", "items")
    made = [TextColumn(localized(name), texts, name in right, fold=False) for name, texts in columns.items()]
    head, body = grid_parts(made, width)
    if not head:  # a block of lines for each row
        yield from body
        for point in line.points:
            yield from _causes(point.causes, width)
        return
    rule, *told = body
    yield from (*head, rule)
    for point, text in zip(line.points, told, strict=True):
        yield from _causes(point.causes, width)
        yield text
        if not point.run.ended:
            yield from _indented(f"the run is {point.run.status}: it is no part of the line", width)
        elif point.row.value is None and point.row.reason:
            yield from _indented(point.row.reason, width)


def _causes(causes: tuple[LineBreak, ...], width: int) -> Iterator[str]:
    """Yield what broke a line, under a mark of it."""
    if not causes:
        return
    yield f"-- {localized('another meaning from here on:')}"
    for cause in causes:
        first, *rest = wrap(localized(cause.text), width - 5)
        yield from (f"   {first}", *(f"     {part}" for part in rest))


def _indented(text: str, width: int) -> Iterator[str]:
    yield from (f"  {part}" for part in wrap(localized(text), width - 2))


def _version(point: HistoryPoint) -> str:
    release = point.run.release
    return point.run.version if release is None else f"{point.run.version} ({release[:8]})"


def _figure(value: float | None, decimals: int) -> str:
    return NOTHING if value is None else f"{value:.{decimals}f}"
