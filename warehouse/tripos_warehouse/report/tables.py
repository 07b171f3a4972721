"""Every result of a run as tables: measures, boards, comparisons, judges, histories, expectations and items.

The same tables are rendered for the terminal, for papers and as data (`tables.render`). With a `language` they have the
titles of that language; otherwise names as in the spec, and values in the first language of the benchmark. A person at
a terminal reads the language of messages; files have the language that the reader chose, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tripos_compiler.diagnostics.i18n import chosen_language, localized, localized_in_file, titles_language
from tripos_compiler.diagnostics.text_format import percent
from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Aggregate, Constant, Expectation, Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.figure_sql import graders_of
from tripos_warehouse.measures.measure_rows import ROW_COLUMNS, MeasureRow, MeasureTable
from tripos_warehouse.measures.query import PAIR
from tripos_warehouse.report.remarks import STAND_IN_NOTE, unread_remarks
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import Cell, Column, Table, number_of
from tripos_warehouse.tables.text import without_counts
from tripos_warehouse.tables.values import Range, count_range, decimals_of, range_text, share_range
from tripos_warehouse.views.dimensions import dimension_heading, dimension_label

if TYPE_CHECKING:
    from tripos_warehouse.measures.confusion import ConfusionTable, ReliabilityTable
    from tripos_warehouse.measures.expectations import CheckedExpectation, ExpectationOutcome
    from tripos_warehouse.measures.items import AnalysedItem
    from tripos_warehouse.measures.judges import JudgedMetric
    from tripos_warehouse.report.comparison import Comparison, Section
    from tripos_warehouse.report.history import HistoryLine, HistoryPoint
    from tripos_warehouse.report.leaderboard import Board, BoardEntry
    from tripos_warehouse.report.run_report import GenerationYield, Report

ALL_MODELS = "all models"
"""The name of the model of a figure of all models."""
NO_SCORES = "no scores"
JUDGE_INTERVAL = "the interval speaks of the judge, and not of people"
BestValue = tuple[str, tuple[Any, ...], str]
"""A measure, a cell of it, and a model whose value stands out there as the best."""
COUNT_COLUMNS = tuple(row_column for row_column in ROW_COLUMNS if row_column.is_count)
"""The columns of a row that tables show after its value."""


# Measures
def report_tables(report: Report, best: Collection[BestValue] = ()) -> list[Table]:
    """Return a table for each measure that a report shows, after it the figures of the judge alone if people correct
    it, and the values by people who are kept separate. The values in `best` stand out."""
    tables = []
    for table in report.measures:
        if has_one_evaluator(table):
            continue
        name = f"{report.run.benchmark}-{table.measure.name}"
        caption = measure_caption(report.plan, table, in_file=True)
        tables.append(_report_table(report, table, best, comparable_measures(report, table), name, caption))
        if table.measure.corrected and table.rows:
            words = "".join(map(localized_in_file, (" of the judge alone", ": ", JUDGE_INTERVAL)))
            caption = f"{measure_caption(report.plan, table.judge_table, in_file=True)}{words}"
            tables.append(_report_table(report, table.judge_table, (), (), f"{name}-judge", caption))
        if (people := report.by_people.get(table.measure.name)) is not None:
            caption = measure_caption(report.plan, people, in_file=True)
            caption += f"{localized_in_file(', of people: ')}{', '.join(report.apart)}"
            measure_tables = tuple(report.by_people.values())
            tables.append(_report_table(report, people, (), measure_tables, f"{name}-people", caption))
    return tables


def _report_table(
    report: Report,
    table: MeasureTable,
    best: Collection[BestValue],
    others: Sequence[MeasureTable],
    name: str,
    caption: str,
) -> Table:
    """Return the table of a measure with its notes, or with the reason why there are no values."""
    if table.error is not None:
        return Table((), name, caption, (f"No values: {table.error}",))
    if not table.rows:
        why = report.not_computed.get(table.measure.name)
        return Table((), name, caption, (f"{NO_SCORES}: {why}" if why else NO_SCORES,))
    models = models_of(table, report.run.models)
    chosen = {(cell, model) for named, cell, model in best if named == table.measure.name}
    plan, language = report.plan, chosen_language()
    shown = pivot_table(plan, table, models, others, best=chosen, language=language)
    shown = rows_table(plan, table, models, best=chosen, language=language) if shown is None else without_counts(shown)
    notes = (*reading_notes(table.rows), *_unread(table), *warnings_of(report))
    return replace(shown, name=name, caption=caption, notes=notes)


def _unread(table: MeasureTable) -> Iterable[str]:
    """Yield notes on what values of a headline measure would be if unreadable replies counted as wrong."""
    for remark in unread_remarks([table]):
        yield f"{remark.text}."


def warnings_of(report: Report) -> Iterable[str]:
    """Yield notes on why figures do not cover everything that the benchmark plans, and that stand-in models took
    part."""
    if not report.run.ended:
        yield f"The run is {report.run.status}, so not all that was planned is here."
    for remark in report.remarks:
        if remark.kind == "selection":
            yield f"{remark.text[:1].upper()}{remark.text[1:]}."
        elif remark.kind == "settled":
            yield f"{remark.text}."
    if report.uses_stand_in_models:
        yield STAND_IN_NOTE


def reading_notes(rows: Sequence[MeasureRow]) -> Iterable[str]:
    """Yield notes on the numbers of scores and items behind values, and on why some values, or intervals of values, are
    missing."""
    yield f"{counts_of(rows)}."
    reasons = dict.fromkeys((row.value is None, row.reason) for row in rows if row.reason)
    for without_value, reason in sorted(reasons, key=lambda each: not each[0]):
        yield f"No value: {reason}." if without_value else f"No interval: {reason}."


COUNTS = "n = {n} scores of {items} items; coverage {coverage}"


def counts_of(rows: Sequence[MeasureRow], form: str = COUNTS) -> str:
    """Return the numbers of scores and items behind values, in the wording of `form`."""
    coverage = share_range([row.coverage for row in rows])
    return form.format(
        n=count_range([row.n for row in rows]), items=count_range([row.items for row in rows]), coverage=coverage
    )


def measure_caption(plan: Plan, table: MeasureTable, *, in_file: bool = False) -> str:
    """Return the caption of a measure: its title with its name, its dimensions and how it is taken, in the reader's
    language. In a file, which others read too, the caption is English without a title unless the reader chose a
    language."""
    chosen, language = chosen_language(), titles_language()
    words = "en" if in_file and chosen is None else None
    title = plan.title_of("measure", table.measure.name, language) if words is None else None
    caption = f"{title} ({table.measure.name})" if title is not None else table.measure.name
    if table.measure.by:
        names_only = chosen is None and (in_file or language == "en")
        by = [name if names_only else dimension_heading(plan, name, language) for name in table.measure.by]
        caption += localized(" by ", words) + ", ".join(by)
    caption += localized(", corrected by people", words) if table.measure.corrected else ""
    if table.measure.random:
        caption += localized(f", across {' * '.join(table.measure.random)} as sample", words)
    return caption + localized(" (lower is better)", words) if table.lower_is_better else caption


def models_of(table: MeasureTable, order: Sequence[str]) -> list[str]:
    """Return the models of a table: those in `order` first, then the others by name."""
    models = [model for model in order if any(row.model == model for row in table.rows)]
    return models + sorted({row.model for row in table.rows} - set(models))


def comparable_measures(report: Report, table: MeasureTable) -> list[MeasureTable]:
    """Return the measures that may be the mean of a table's cells: a measure without scores by people is not the mean
    of cells with them."""
    graders = graders_of(table.measure)
    return [other for other in report.measures if not report.apart or graders_of(other.measure) == graders]


def has_one_evaluator(table: MeasureTable) -> bool:
    """Return true if a measure has a value for each evaluator or each pair of them, and there is only one evaluator."""
    by = table.measure.by
    if "evaluator" in by:
        place = by.index("evaluator")
        return len({row.by[place] for row in table.rows}) == 1
    return PAIR in by and not table.rows and table.error is None


def rows_table(
    plan: Plan,
    table: MeasureTable,
    models: Sequence[str],
    *,
    best: Collection[tuple[tuple[Any, ...], str]] = (),
    language: str | None = None,
) -> Table:
    """Return a table with one row per model and value of the dimensions; without dimensions the best value comes
    first. A figure of all models has one row per value."""
    measure = table.measure
    rows: list[MeasureRow] = [row for row in table.rows if row.model in models]
    pooled = is_pooled(measure.figure, measures_of(plan))
    if pooled:
        rows, models = [replace(row, model=ALL_MODELS) for row in rows if row.model == models[0]], [ALL_MODELS]
    rows.sort(key=lambda row: models.index(row.model))
    if measure.by:
        order = list(dict.fromkeys(row.by for row in table.rows))
        rows.sort(key=lambda row: order.index(row.by))
    else:
        rows = best_first(rows, lower_is_better=table.lower_is_better)
    columns = label_columns(plan, measure.by, [row.by for row in rows], language)
    if len(models) > 1 or not measure.by:
        columns.append(Column("model", tuple(row.model for row in rows), shrinks="last"))
    emphasis = {place: 1 for place, row in enumerate(rows) if (row.by, row.model) in best}
    return Table((*columns, value_column(rows, emphasis=emphasis), *count_columns([[row] for row in rows])))


def best_first(rows: Sequence[MeasureRow], *, lower_is_better: bool) -> list[MeasureRow]:
    """Return rows from the best value to the worst; those without a value are last."""
    sign = 1.0 if lower_is_better else -1.0
    return sorted(rows, key=lambda row: float("inf") if row.value is None else sign * row.value)


def label_columns(
    plan: Plan, names: Sequence[str], cells: Sequence[Sequence[Any]], language: str | None
) -> list[Column]:
    """Return the columns of dimensions, for rows with these values of them."""
    return [
        Column(
            name,
            tuple(dimension_label(plan, name, cell[place], language) for cell in cells),
            **_heading(plan, name, language),
            hides_repeats=True,
        )
        for place, name in enumerate(names)
    ]


def _heading(plan: Plan, name: str, language: str | None) -> dict[str, Any]:
    """Return the heading of the column of a dimension, as arguments of `Column`."""
    heading = name.replace("_", " ") if language is None else dimension_heading(plan, name, language)
    return {"heading": heading, "is_name": True}


def value_column(
    cells: Sequence[Estimate | None], key: str = "value", *, emphasis: Mapping[int, int] | None = None
) -> Column:
    """Return a column of estimates with the decimals that they need."""
    decimals = decimals_of([None if cell is None else cell.value for cell in cells])
    return Column(key, tuple(cells), "number", decimals=decimals, emphasis=emphasis or {})


def count_columns(rows: Sequence[Sequence[MeasureRow]]) -> list[Column]:
    """Return the columns of counts. `rows` has the values of each line."""
    return [
        Column(
            count_column.key,
            tuple(_number_or_range([count_column.of(row) for row in line]) for line in rows),
            count_column.kind,
            is_count=True,
        )
        for count_column in COUNT_COLUMNS
    ]


def _number_or_range(numbers: Sequence[Any]) -> Cell:
    """Return the number of a line, or the range of different ones; None if there is no number."""
    ends = Range.of(numbers)
    return None if ends is None else ends.low if ends.low == ends.high else ends


# Models side by side
@dataclass(frozen=True)
class PivotLine:
    """A line of a pivot table: its labels, and the values by the heading of their column. `is_cell` is true for a cell
    of the measure, and false for a mean of cells."""

    labels: tuple[str, ...]
    cells: Mapping[str, MeasureRow]
    is_cell: bool = True


def pivot_table(
    plan: Plan,
    table: MeasureTable,
    models: Sequence[str],
    others: Sequence[MeasureTable],
    *,
    best: Collection[tuple[tuple[Any, ...], str]] = (),
    language: str | None = None,
) -> Table | None:
    """Return a table with models, or pairs of evaluators, side by side; None if there is nothing to put side by side.
    If a measure in `others` is the mean of some cells, its value follows these cells."""
    pooled = is_pooled(table.measure.figure, measures_of(plan))
    rest = tuple(dim for dim in table.measure.by if dim != PAIR) if pooled else table.measure.by
    if not rest or (pooled and PAIR not in table.measure.by) or (not pooled and len(models) < 2):
        return None
    heads = [str(value) for value in _order(table, PAIR)] if pooled else list(models)
    means = [other for other in others if _is_mean(other, table)]
    lines = list(_lines(plan, table, rest, means, models[0] if pooled else None, language))
    decimals = decimals_of([row.value for line in lines for row in line.cells.values()])
    labels = [
        Column(
            name,
            tuple(line.labels[place] for line in lines),
            **_heading(plan, name, language),
            hides_repeats=True,
        )
        for place, name in enumerate(rest)
    ]
    values = [
        Column(
            head,
            tuple(line.cells.get(head) for line in lines),
            "number",
            heading=head,
            is_name=True,
            decimals=decimals,
            emphasis={
                place: 1
                for place, line in enumerate(lines)
                if line.is_cell and (row := line.cells.get(head)) is not None and (row.by, row.model) in best
            },
        )
        for head in heads
    ]
    counts = count_columns([list(line.cells.values()) for line in lines])
    totals = frozenset(place for place, line in enumerate(lines) if not line.is_cell)
    return Table((*labels, *values, *counts), totals=totals)


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
    dimensions = tuple(dim for dim in table.measure.by if dim != PAIR)
    others = tuple(dim for dim in other.measure.by if dim != PAIR)
    return (
        len(others) < len(dimensions)
        and dimensions[: len(others)] == others
        and (PAIR in table.measure.by) == (PAIR in other.measure.by)
    )


def _lines(
    plan: Plan,
    table: MeasureTable,
    rest: tuple[str, ...],
    means: Sequence[MeasureTable],
    only: str | None,
    language: str | None,
) -> Iterator[PivotLine]:
    """Yield the lines of a pivot table, each mean after the cells that it averages. `rest` are the dimensions of the
    lines, and `only` is the model whose rows are taken for a figure of all models."""
    cells = _by_key(table, rest, only)
    tables = [
        _by_key(measure_table, tuple(d for d in measure_table.measure.by if d != PAIR), only) for measure_table in means
    ]
    keys = list(cells)
    for place, key in enumerate(keys):
        labels = tuple(dimension_label(plan, dim, value, language) for dim, value in zip(rest, key, strict=True))
        yield PivotLine(labels, cells[key])
        following = keys[place + 1] if place + 1 < len(keys) else None
        for values in sorted(tables, key=lambda values: -len(next(iter(values), ()))):
            length = len(next(iter(values), ()))
            is_last = following is None or following[:length] != key[:length]
            if is_last and key[:length] in values:
                empty = [""] * (len(rest) - length - 1)
                mean = (*labels[:length], localized("mean", language or "en"), *empty)
                yield PivotLine(mean, values[key[:length]], is_cell=False)


def _by_key(
    table: MeasureTable, rest: tuple[str, ...], only: str | None
) -> dict[tuple[Any, ...], dict[str, MeasureRow]]:
    """Return the rows of a table by the dimensions `rest`, and then by the heading of their column: the model, or for
    the rows of `only` one model the pair of evaluators."""
    by = table.measure.by
    rows: dict[tuple[Any, ...], dict[str, MeasureRow]] = {}
    for row in table.rows:
        if only is None or row.model == only:
            named = dict(zip(by, row.by, strict=True))
            key = tuple(named[dim] for dim in rest)
            rows.setdefault(key, {})[row.model if only is None else str(named[PAIR])] = row
    return rows


def _order(table: MeasureTable, dim: str) -> list[Any]:
    """Return the values of a dimension in a table, in the order of their texts."""
    place = table.measure.by.index(dim)
    return sorted({row.by[place] for row in table.rows}, key=str)


# Headlines
def measures_table(tables: Sequence[MeasureTable], models: Sequence[str]) -> Table:
    """Return a table with a line for each measure without dimensions, and a column for each model; for a single model,
    a column of values."""
    rows = [{row.model: row for row in table.rows} for table in tables]
    decimals = tuple(decimals_of([row.value for row in by_model.values()]) for by_model in rows)
    several = len(models) > 1
    values = [
        Column(
            model if several else "value",
            tuple(by_model.get(model) for by_model in rows),
            "number",
            heading=model if several else None,
            is_name=several,
            decimals=decimals,
        )
        for model in models
    ]
    counts = count_columns([list(by_model.values()) for by_model in rows])
    return Table((Column("measure", tuple(measure_title(table) for table in tables)), *values, *counts))


def models_table(tables: Sequence[MeasureTable], models: Sequence[str]) -> Table:
    """Return a table with a line for each model, and a column for each measure without dimensions."""
    columns = [Column("model", tuple(models))]
    for table in tables:
        rows = {row.model: row for row in table.rows}
        column = value_column([rows.get(model) for model in models], table.measure.name)
        decimals = decimals_of([row.value for row in table.rows])
        title = measure_title(table)
        columns.append(replace(column, heading=title, is_name=True, breaks_heading=True, decimals=decimals))
    return Table(tuple(columns))


def measure_title(table: MeasureTable) -> str:
    """Return the name of a measure, and whether lower values are better, in the reader's language."""
    return table.measure.name + (localized(" (lower is better)") if table.lower_is_better else "")


# Boards
def board_table(board: Board, notes: Sequence[str] = (), published: Sequence[tuple[str, float]] = ()) -> Table:
    """Return a board, with `published` figures of other sources below its models. The first value stands out if the
    model shares a letter with no other model."""
    from tripos_warehouse.report.leaderboard import is_short

    others = "".join(entry.letters for entry in board.entries[1:])
    is_distinct = bool(others) and not set(board.entries[0].letters) & set(others)
    empty: list[None] = [None] * len(published)
    values = [*board.entries, *(Estimate(value, "a published figure") for _, value in published)]
    coverage = [None if entry.total == 0 else entry.n / entry.total for entry in board.entries]
    is_partial = any(map(is_short, board.entries))
    columns = (
        Column("rank", (*map(rank_text, board.entries), *empty)),
        Column("model", (*(entry.model for entry in board.entries), *(model for model, _ in published)), max_width=32),
        Column(
            "value",
            tuple(values),
            "number",
            decimals=value_decimals(board.measure),
            emphasis={0: 1} if is_distinct else {},
        ),
        Column("items", (*(entry.items for entry in board.entries), *empty), "count"),
        Column("n", (*(entry.n for entry in board.entries), *empty), "count"),
        *([Column("coverage", (*coverage, *empty), "share")] if is_partial else []),
        Column("group", (*(entry.letters for entry in board.entries), *["published" for _ in empty])),
    )
    direction = " (lower is better)" if board.lower_is_better else ""
    caption = f"{board.benchmark} {board.version}: {board.named}{localized_in_file(direction)}"
    return Table(columns, f"{board.benchmark}-{board.measure.name}", caption, tuple(notes))


def value_decimals(measure: Measure) -> int:
    """Return the decimals of the values of a board: three on a scale of length 1 or less, otherwise two."""
    return 3 if measure.low is not None and measure.high is not None and measure.high - measure.low <= 1 else 2


def rank_text(entry: BoardEntry) -> str:
    """Return the rank of an entry of a board; `=` if it is shared."""
    return f"{entry.rank}{'=' if entry.tied else ''}"


def people_board_table(board: Board) -> Table:
    """Return a table of the values by people whose scores are not part of a board."""
    rows = board.by_people
    columns = (
        Column("model", tuple(row.model for row in rows), max_width=32),
        value_column(rows),
        *count_columns([[row] for row in rows]),
    )
    words = localized_in_file(", of people: ") if chosen_language() else " of people: "
    caption = f"{board.benchmark} {board.version}: {board.named}{words}{', '.join(board.people)}"
    return Table(columns, f"{board.benchmark}-{board.measure.name}-people", caption, tuple(reading_notes(rows)))


# Comparisons
def comparison_tables(comparison: Comparison, caption: str, a: str, b: str) -> list[Table]:
    """Return a table for each section of a comparison of the sides called `a` and `b`."""
    from tripos_warehouse.report.comparison import TITLES, notes_of

    notes = (f"A: {a}.", f"B: {b}.", *notes_of(comparison))
    return [
        replace(
            _with_words(section_table(section, comparison.tests, chosen_language()), "verdict"),
            name=f"comparison-{section.kind}",
            caption=f"{caption}: {localized_in_file(TITLES[section.kind])}",
            notes=notes,
        )
        for section in comparison.sections
        if section.rows
    ]


def _with_words(table: Table, key: str) -> Table:
    """Return a table for a file in which the texts of a column are in the language that the reader chose."""
    columns = (
        replace(column, cells=tuple(localized_in_file(str(cell)) for cell in column.cells))
        if column.key == key
        else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def section_table(section: Section, tests: int, language: str | None = None) -> Table:
    """Return a table of the rows of a section of a comparison with their verdicts; each is one of `tests` tests. With a
    `language` it has the titles of that language, else those of the first of the benchmark."""
    from tripos_warehouse.report.comparison import verdicts

    rows = section.rows
    decimals = decimals_of([value for row in rows for value in (row.a, row.b)])
    differences = [row.difference for row in rows]
    return Table((
        Column(section.kind, tuple(row.shown(language) for row in rows)),
        Column("a", tuple(row.a for row in rows), "number", heading="A", decimals=decimals),
        Column("b", tuple(row.b for row in rows), "number", heading="B", decimals=decimals),
        Column("difference", tuple(differences), "number", heading="B − A", decimals=decimals, signed=True),
        Column("p", tuple(row.p for row in rows), "p"),
        Column("q", tuple(row.q for row in rows), "p"),
        Column("pairs", tuple(difference.n for difference in differences), "count", is_count=True),
        Column("items", tuple(difference.clusters for difference in differences), "count", is_count=True),
        Column("verdict", tuple(verdicts(section, tests, decimals))),
    ))  # fmt: skip


# Expectations, generated data sets, histories
def expectation_table(plan: Plan, gate: CheckedExpectation, language: str | None = None) -> Table:
    """Return a table of the outcomes of an expectation: each figure, and its distance from the expected number."""
    rows = [outcome.row for outcome in gate.outcomes]
    ends = [end for row in rows for end in (row.value, row.low, row.high)]
    key = "value" if gate.expectation.difference is None else "difference"
    return Table((
        Column("model", tuple(row.model for row in rows), shrinks="last"),
        *label_columns(plan, gate.expectation.by, [row.by for row in rows], language),
        Column(key, tuple(rows), "number", decimals=decimals_of(ends) + 1),
        Column("outcome", tuple(map(_outcome_text, [gate.expectation] * len(rows), gate.outcomes)), heading=""),
    ))  # fmt: skip


def _outcome_text(expectation: Expectation, outcome: ExpectationOutcome) -> str:
    """Return the outcome of an expectation in words."""
    if outcome.margin is None:
        return localized("undefined" if outcome.row.value is None else "no interval")
    if not outcome.covered:
        return localized(too_few(expectation, outcome))
    margin = localized(f"{'held by' if outcome.held else 'off by'} {abs(outcome.margin):.3g}")
    end = expectation.end
    return margin if end is None else f"{localized('lower end' if end == 'lower' else 'upper end')} {margin}"


def too_few(expectation: Expectation, outcome: ExpectationOutcome) -> str:
    """Return the text that a figure has fewer scores than the expectation asks for."""
    row = outcome.scored_row
    return f"{row.n:,} of {row.total:,} scores, below {percent(expectation.least_coverage)}"


def yield_table(plan: Plan, yields: Sequence[GenerationYield], language: str | None = None) -> Table:
    """Return a table of the yields of generated data sets: in total, then by the axes of their contexts."""

    def context(yielded: GenerationYield) -> str:
        if yielded.by is None:
            return "all"
        heading = dimension_heading(plan, yielded.by, language or "en")
        return f"{heading} {dimension_label(plan, yielded.by, yielded.value, language)}"

    return Table((
        Column("dataset", tuple(yielded.dataset for yielded in yields), heading="data set", hides_repeats=True),
        Column("context", tuple(map(context, yields)), heading=""),
        Column("slots", tuple(yielded.slots for yielded in yields), "count"),
        Column("made", tuple(yielded.made for yielded in yields), "count"),
        Column("attempts", tuple(yielded.attempts for yielded in yields), "count"),
        Column("accepted", tuple(yielded.rate for yielded in yields), "share"),
    ))  # fmt: skip


def history_table(line: HistoryLine) -> Table:
    """Return a table of the values of a model over the runs, with sentences between them if the meaning of a value
    changes."""
    rows = [point.row for point in line.points]
    ends = [end for row in rows for end in (row.value, row.low, row.high)]
    separators: dict[int, tuple[str, ...]] = {}
    for place, point in enumerate(line.points):
        separators[place] = (*separators.get(place, ()), *_causes(point))
        separators[place + 1] = tuple(_remarks(point))
    columns = (
        Column("date", tuple(f"{point.run.started_at:%Y-%m-%d}" for point in line.points), wraps=False),
        Column("version", tuple(map(_version, line.points)), wraps=False),
        Column("run", tuple(point.run.run_id for point in line.points), wraps=False),
        Column("value", tuple(rows), "number", decimals=decimals_of(ends)),
        Column("items", tuple(row.items for row in rows), "count"),
    )
    return Table(columns, separators={place: sentences for place, sentences in separators.items() if sentences})


def _causes(point: HistoryPoint) -> Iterator[str]:
    """Yield the sentences above a value that does not mean the same as the one before."""
    if point.causes:
        yield "another meaning from here on:"
        yield from (cause.text for cause in point.causes)


def _remarks(point: HistoryPoint) -> Iterator[str]:
    """Yield the sentences below a value."""
    if not point.run.ended:
        yield f"the run is {point.run.status}: it is no part of the line"
    elif point.row.value is None and point.row.reason:
        yield point.row.reason


def _version(point: HistoryPoint) -> str:
    release = point.run.release
    return point.run.version if release is None else f"{point.run.version} ({release[:8]})"


# Judges
def judge_tables(metric: JudgedMetric) -> dict[str, Table]:
    """Return the tables about the judges of a metric, by subject; those without rows are left out."""
    tables = {
        "raters": _raters(metric),
        "panel": _panel(metric),
        "stability": _stability(metric),
        "calibration": _calibration(metric),
        "curves": _curves(metric),
        "prevalences": _prevalences(metric),
        "drifts": _drifts(metric),
    }
    return {name: replace(table, name=name) for name, table in tables.items() if table.height}


def _raters(metric: JudgedMetric) -> Table:
    raters = metric.raters
    return Table((
        Column("rater", tuple(rater.rater for rater in raters)),
        Column("scores", tuple(rater.n for rater in raters), "count"),
        Column("mean", tuple(rater.mean for rater in raters), "number", decimals=2),
        Column("SD", tuple(rater.deviation for rater in raters), "number", decimals=2),
        Column("lowest", tuple(rater.lowest for rater in raters), "share"),
        Column("highest", tuple(rater.highest for rater in raters), "share"),
        Column("severity", tuple(rater.severity for rater in raters), "number", decimals=2, signed=True),
    ))  # fmt: skip


def _panel(metric: JudgedMetric) -> Table:
    """Return how dependable panels of several sizes are."""
    designs = metric.panel.designs if metric.panel is not None and metric.panel.reason is None else ()
    order, scores = "order of replies (G)", "scores themselves (D)"
    return Table((
        Column("judges", tuple(design.judges for design in designs), "count"),
        Column("relative", tuple(design.relative for design in designs), "number", heading=order, decimals=2),
        Column("absolute", tuple(design.absolute for design in designs), "number", heading=scores, decimals=2),
    ))  # fmt: skip


def _stability(metric: JudgedMetric) -> Table:
    stability = metric.stability.values()
    return Table((
        Column("judge", tuple(metric.stability), heading="asked again"),
        Column("replies", tuple(judge.stable.n for judge in stability), "count"),
        Column("stable", tuple(judge.stable for judge in stability), "share", heading="always the same"),
        Column("flips", tuple(judge.flips for judge in stability), "share", heading="two differ"),
        Column("SD", tuple(judge.spread for judge in stability), "number", decimals=2),
    ))  # fmt: skip


def _calibration(metric: JudgedMetric) -> Table:
    calibrations = metric.calibrations.values()
    return Table((
        Column("judge", tuple(metric.calibrations), heading="beside people"),
        Column("replies", tuple(calibration.n for calibration in calibrations), "count"),
        Column("bias", tuple(calibration.bias for calibration in calibrations), "number", decimals=2, signed=True),
        Column("slope", tuple(calibration.slope for calibration in calibrations), "number", decimals=2),
        Column("miscalibrated", tuple(judged.miscalibration for judged in calibrations), "number", decimals=2),
        Column("tells", tuple(calibration.discrimination for calibration in calibrations), "number", decimals=2),
        Column("of", tuple(calibration.uncertainty for calibration in calibrations), "number", decimals=2),
    ))  # fmt: skip


def _curves(metric: JudgedMetric) -> Table:
    bins = [(judge, bin_) for judge, calibration in metric.calibrations.items() for bin_ in calibration.bins]
    texts = [_range_of(bin_.low, bin_.high) for _, bin_ in bins]
    return Table((
        Column("judge", tuple(judge for judge, _ in bins), hides_repeats=True),
        Column("says", tuple(texts), right=True),
        Column("replies", tuple(bin_.graded.n for _, bin_ in bins), "count"),
        Column("graded", tuple(bin_.graded for _, bin_ in bins), "number", heading="people say", decimals=2),
    ))  # fmt: skip


def _range_of(low: float, high: float) -> str:
    """Return the range of a bin as text, with at most four significant digits."""
    return range_text(Range(low, high), "{:.4g}".format)


def _prevalences(metric: JudgedMetric) -> Table:
    prevalences = metric.prevalences
    return Table((
        Column("judge", tuple(prevalence.judge for prevalence in prevalences)),
        Column("model", tuple(prevalence.model for prevalence in prevalences)),
        Column("judged", tuple(prevalence.share.apparent for prevalence in prevalences), "share"),
        Column("sensitivity", tuple(prevalence.share.sensitivity for prevalence in prevalences), "share"),
        Column("specificity", tuple(prevalence.share.specificity for prevalence in prevalences), "share"),
        Column("corrected", tuple(prevalence.share.result for prevalence in prevalences), "share"),
    ))  # fmt: skip


def _drifts(metric: JudgedMetric) -> Table:
    drifts = metric.drifts
    return Table((
        Column("before", tuple(drift.before for drift in drifts)),
        Column("after", tuple(drift.after for drift in drifts)),
        Column("replies", tuple(drift.drift.difference.n for drift in drifts), "count"),
        Column("difference", tuple(drift.drift.difference for drift in drifts), "number", decimals=2, signed=True),
        Column("changed", tuple(drift.drift.changed for drift in drifts), "share"),
    ))  # fmt: skip


# Behind figures
MISSING = "no value"
"""The heading of the replies without a class."""


def confusion_table(confusion: ConfusionTable) -> Table:
    """Return a confusion matrix: a row per right class, a column per class that a model gave, and sums."""
    counts = [list(line) for line in confusion.counts]
    if not any(line[-1] for line in counts):
        counts = [line[:-1] for line in counts]
    names = [*confusion.classes, localized(MISSING)][: len(counts[0]) if counts else 0]
    rows = [*counts, [sum(column) for column in zip(*counts, strict=True)]]
    columns = [
        Column(name, tuple(row[place] for row in rows), "count", heading=name, is_name=True)
        for place, name in enumerate(names)
    ]
    right = Column("right", (*confusion.classes, localized("all")), heading="")
    return Table((right, *columns, Column("all", tuple(map(sum, rows)), "count")), totals=frozenset([len(counts)]))


def reliability_table(reliability: ReliabilityTable) -> Table:
    """Return a reliability diagram as a table: for each bin the mean probability, and the share that came true."""
    return Table((
        Column("bin", tuple(_range_of(low, high) for low, high, *_ in reliability.bins)),
        Column("n", tuple(n for _, _, n, _, _ in reliability.bins), "count"),
        Column("mean", tuple(mean for *_, mean, _ in reliability.bins), "number", decimals=3),
        Column("true", tuple(share for *_, share in reliability.bins), "number", decimals=3),
    ))  # fmt: skip


def item_table(items: Sequence[AnalysedItem]) -> Table:
    """Return a table of the statistics of items. A column without values is left out."""
    correlation = [Estimate(item.discrimination, "too few models", item.low, item.high) for item in items]
    columns = (
        Column("scenario", tuple(item.scenario for item in items)),
        Column("item", tuple(item.shown_id for item in items), shrinks="last"),
        Column("text", tuple(item.text or None for item in items), wraps=False),
        Column("share", tuple(item.share for item in items), "number", decimals=2),
        Column("discrimination", tuple(correlation), "number", heading="tells apart", decimals=2),
        Column("apart", tuple(item.apart for item in items), "number", heading="judges", decimals=2),
        Column("remarks", tuple(", ".join(item.remarks) or None for item in items), heading="look at"),
    )
    several = len({item.scenario for item in items}) > 1
    return Table(
        tuple(
            column
            for column in columns
            if (column.key != "scenario" or several)
            and (column.key in ("item", "share") or any(map(_has_content, column.cells)))
        )
    )


def _has_content(cell: Cell) -> bool:
    return isinstance(cell, str) or number_of(cell) is not None
