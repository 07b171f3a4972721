"""A measure as a pivot table with models, or pairs of evaluators, side by side, in any width."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from tripos_compiler.diagnostics.i18n import localized, reader_language
from tripos_compiler.diagnostics.text_format import percent
from tripos_compiler.language.aggregates import declared_aggregate, is_of_all_models
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measured, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.tables.text import GAP, NULL_TEXT, TextColumn, decimals_of, grid
from tripos_warehouse.views.dimensions import dimension_heading, dimension_label


def with_interval(row: MeasureRow, figure: Callable[[float | None], str]) -> str:
    """Return `value ±half` if the interval is symmetric, in the decimals that `figure` prints, otherwise the value with
    its bounds: `3.00 (2.00–3.00)`; without an interval the value alone."""
    value, low, high = row.value, row.interval_low, row.interval_high
    if row.half_width is None or value is None:
        return figure(value)
    # An interval of `t` is symmetric until an end of the scale cuts it.
    if row.method != "t" and low is not None and high is not None and figure(value - low) != figure(high - value):
        return f"{figure(value)} ({figure(low)}–{figure(high)})"
    return f"{figure(value)} ±{figure(row.half_width)}"


LABEL_ROOM = 16
"""The width below which a label would be cut, in cells."""
PAIR = "pair"
ALL = "all models"

Cells = Mapping[str, MeasureRow]
"""The values of a line, by heading."""


@dataclass(frozen=True)
class PivotLine:
    """A line of the table: its labels, and the values by heading. `keyed` if it is a cell of the measure, and not a
    mean of cells."""

    labels: tuple[str, ...]
    cells: Cells
    is_cell: bool = True


def is_pooled(plan: Plan, figure: Figure) -> bool:
    """Return true if a figure is the same for every compared model, since it pools all their replies."""
    match figure:
        case Aggregate(of=Measured() | Formula() as cells):
            return is_pooled(plan, cells)
        case Aggregate():
            return is_of_all_models(figure)
        case Measured(measure=name):
            return any(each.name == name and is_pooled(plan, each.figure) for each in plan.measures)
        case Formula(values=values):
            return all(is_pooled(plan, value) for value in values)
    return True


def pivoted(
    plan: Plan,
    table: MeasureTable,
    models: Sequence[str],
    others: Sequence[MeasureTable],
    language: str | None = None,
) -> tuple[tuple[str, ...], list[str], list[PivotLine]] | None:
    """Return the dimensions of the lines, the models or pairs side by side, and the lines; None if there is nothing to
    put side by side. Their means follow the cells, if one of `others` is such a mean. Values have their names in
    `language`, or in the first language of the benchmark."""
    pooled = is_pooled(plan, table.measure.figure)
    rest = tuple(dim for dim in table.measure.by if dim != PAIR) if pooled else table.measure.by
    if not rest or (pooled and PAIR not in table.measure.by) or (not pooled and len(models) < 2):
        return None
    heads = [str(value) for value in _order(table, PAIR)] if pooled else list(models)
    means = [each for each in others if _is_mean(each, table)]
    return rest, heads, list(_lines(plan, table, rest, means, models[0] if pooled else None, language))


def side_by_side(
    plan: Plan, table: MeasureTable, models: Sequence[str], others: Sequence[MeasureTable], width: int
) -> list[str] | None:
    """Return the lines of the table, at most `width` cells wide; None if there is nothing to put side by side, or no
    room. Their means follow the cells, if one of `others` is such a mean.

    If the table does not fit, it drops in this order: the columns of counts, which become a note; the names of columns,
    which become letters; the intervals.
    """
    language = reader_language()
    found = pivoted(plan, table, models, others, language)
    if found is None:
        return None
    rest, heads, lines = found
    rows = [row for line in lines for row in line.cells.values()]
    decimals = decimals_of([row.value for row in rows])
    titles = [dimension_heading(plan, each, language) for each in rest]
    letters = [_letter(place) for place in range(len(heads))]
    legend = [f"{letter}  {head}" for letter, head in zip(letters, heads, strict=True)]
    counted = [line for line in lines if line.is_cell]
    behind = _all(counted)
    told = f"items {number_range([row.items for row in behind])}, n {number_range([row.n for row in behind])}"
    told = localized(f"{told}, coverage {coverage(behind)}")
    widest = max((row.half_width for row in rows if row.half_width is not None), default=None)
    without = [] if widest is None else [localized(f"95 % intervals: at most ±{widest:.{decimals}f}")]
    for names, counts, intervals, notes in (
        (heads, True, True, []),
        (heads, False, True, [told]),
        (letters, False, True, [*legend, told]),
        (letters, False, False, [*legend, told, *without]),
    ):
        columns = [
            *_labels(titles, lines),
            *_values(names, heads, lines, decimals, intervals),
            *(counts_of([list(line.cells.values()) for line in lines]) if counts else []),
        ]
        needed = [column.width if column.right else min(column.width, LABEL_ROOM) for column in columns]
        if sum(needed) + len(GAP) * (len(needed) - 1) <= width:
            return [*grid(columns, width), *notes]
    return None


class HasCoverage(Protocol):
    """A row of a measure or of a board."""

    @property
    def coverage(self) -> float | None:
        """The share of the scores behind its value."""


def coverage(rows: Sequence[HasCoverage]) -> str:
    """Return the share of the scores behind values; for several, the lowest and the highest."""
    shares = [row.coverage for row in rows if row.coverage is not None]
    ends = dict.fromkeys(percent(share) for share in (min(shares), max(shares))) if shares else [NULL_TEXT]
    return "–".join(ends).replace("%–", "–")


def _is_mean(other: MeasureTable, table: MeasureTable) -> bool:
    """Return true if a measure is the plain mean of this one's cells, over its last dimensions except that of pairs."""
    figure = other.measure.figure
    if (other.measure.corrected, other.measure.random) != (table.measure.corrected, table.measure.random):
        return False
    if not isinstance(figure, Aggregate) or isinstance(table.measure.figure, Constant):
        return False
    if not declared_aggregate(figure.function).is_mean_of_scores:
        return False
    if figure.of != table.measure.figure.model_copy(update={"by": table.measure.by}):
        return False
    own = tuple(dim for dim in table.measure.by if dim != PAIR)
    kept = tuple(dim for dim in other.measure.by if dim != PAIR)
    return (
        len(kept) < len(own) and own[: len(kept)] == kept and (PAIR in table.measure.by) == (PAIR in other.measure.by)
    )


def _lines(
    plan: Plan,
    table: MeasureTable,
    rest: tuple[str, ...],
    means: Sequence[MeasureTable],
    only: str | None,
    language: str | None,
) -> Iterator[PivotLine]:
    """Yield the lines, each mean after the cells that it averages."""
    found = _by_key(table, rest, only)
    tables = [_by_key(each, tuple(d for d in each.measure.by if d != PAIR), only) for each in means]
    keys = list(found)
    before: tuple[Any, ...] = ()
    for place, key in enumerate(keys):
        labels = [dimension_label(plan, dim, value, language) for dim, value in zip(rest, key, strict=True)]
        same = next((i for i, (one, other) in enumerate(zip(before, key, strict=False)) if one != other), 0)
        yield PivotLine(tuple("" if i < same else label for i, label in enumerate(labels)), found[key])
        before = key
        following = keys[place + 1] if place + 1 < len(keys) else None
        for values in sorted(tables, key=lambda each: -len(next(iter(each), ()))):
            length = len(next(iter(values), ()))
            ends = following is None or following[:length] != key[:length]
            if ends and key[:length] in values:
                told = ["" for _ in rest]
                told[length] = localized("mean", language or "en")
                yield PivotLine(tuple(told), values[key[:length]], is_cell=False)


def _by_key(
    table: MeasureTable, rest: tuple[str, ...], only: str | None
) -> dict[tuple[Any, ...], dict[str, MeasureRow]]:
    """Return the rows by their dimensions except that of pairs, and then by heading."""
    by = table.measure.by
    found: dict[tuple[Any, ...], dict[str, MeasureRow]] = {}
    for row in table.rows:
        if only is None or row.model == only:
            named = dict(zip(by, row.by, strict=True))
            key = tuple(named[dim] for dim in rest)
            found.setdefault(key, {})[row.model if only is None else str(named[PAIR])] = row
    return found


def _order(table: MeasureTable, dim: str) -> list[Any]:
    place = table.measure.by.index(dim)
    return sorted({row.by[place] for row in table.rows}, key=str)


def _all(lines: Sequence[PivotLine]) -> list[MeasureRow]:
    return [row for line in lines for row in line.cells.values()]


def _labels(titles: Sequence[str], lines: Sequence[PivotLine]) -> list[TextColumn]:
    return [TextColumn(title, tuple(line.labels[place] for line in lines)) for place, title in enumerate(titles)]


def _values(
    names: Sequence[str], heads: Sequence[str], lines: Sequence[PivotLine], decimals: int, intervals: bool
) -> list[TextColumn]:
    def figure(value: float | None) -> str:
        return NULL_TEXT if value is None else f"{value:.{decimals}f}"

    def cell(row: MeasureRow | None) -> str:
        if row is None:
            return NULL_TEXT
        return with_interval(row, figure) if intervals else figure(row.value)

    return [
        TextColumn(name, tuple(cell(line.cells.get(head)) for line in lines), right=True)
        for name, head in zip(names, heads, strict=True)
    ]


def counts_of(rows: Sequence[Sequence[MeasureRow]]) -> list[TextColumn]:
    """Return the columns of items, scores and coverage, for the values of each line."""
    return [
        TextColumn(localized("items"), tuple(number_range([row.items for row in each]) for each in rows), right=True),
        TextColumn("n", tuple(number_range([row.n for row in each]) for each in rows), right=True),
        TextColumn(localized("coverage"), tuple(coverage(each) for each in rows), right=True),
    ]


def number_range(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest of some numbers, or the single value if all are equal.

    >>> number_range([3, 1200]), number_range([3, 3]), number_range([])
    ('3–1,200', '3', '—')
    """
    if not numbers:
        return NULL_TEXT
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _letter(place: int) -> str:
    """Return the letter of a column whose name has no room: A to Z, then AA.

    >>> _letter(0), _letter(25), _letter(26)
    ('A', 'Z', 'AA')
    """
    return chr(ord("A") + place) if place < 26 else _letter(place // 26 - 1) + _letter(place % 26)
