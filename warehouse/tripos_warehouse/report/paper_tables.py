"""Reports, boards and comparisons as tables for papers, pages and notebooks, and which values they print in bold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.differences import ModelSide, jackknife_model_differences, mean_of
from tripos_warehouse.measures.measure_rows import UNFOLLOWED, MeasureRow, MeasureTable, followed_difference, text_of
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.comparison import TITLES, Comparison, Section, higher_is_better_scores, notes_of, verdicts
from tripos_warehouse.report.leaderboard import LEAST_ITEMS, LEVEL, Board, BoardEntry, items_by_model
from tripos_warehouse.report.remarks import STAND_IN_NOTE, unread_remarks
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import ALL, PivotLine, coverage, is_pooled, pivoted
from tripos_warehouse.report.text import NO_SCORES, OF_JUDGE, comparable_measures, has_one_evaluator, title_of
from tripos_warehouse.statistics.multiple_tests import holm
from tripos_warehouse.statistics.result import Estimate
from tripos_warehouse.tables.model import Cell, PaperColumn, PaperEstimate, PaperTable
from tripos_warehouse.tables.text import decimals_of
from tripos_warehouse.views.benchmark_views import clusters_of, count_clusters
from tripos_warehouse.views.dimensions import dimension_label
from tripos_warehouse.views.runs import RunRecord

BestValue = tuple[str, tuple[Any, ...], str]
"""The name of a measure, a cell of it, and the best model there."""


def report_tables(report: Report, best: Collection[BestValue] = ()) -> list[PaperTable]:
    """Return a table for each measure that a report shows, and one for people who are kept separate."""
    tables = []
    for table in report.measures:
        if has_one_evaluator(table):
            continue
        name, caption = f"{report.run.benchmark}-{table.measure.name}", title_of(table)
        tables.append(_measure(report, table, best, comparable_measures(report, table), name, caption))
        if table.measure.corrected and table.rows:
            told = f"{title_of(table.judge_table)} of the judge alone: {OF_JUDGE}"
            tables.append(_measure(report, table.judge_table, (), (), f"{name}-judge", told))
        if (own := report.by_people.get(table.measure.name)) is not None:
            told = f"{title_of(own)}, of people: {', '.join(report.apart)}"
            tables.append(_measure(report, own, (), tuple(report.by_people.values()), f"{name}-people", told))
    return tables


def _measure(
    report: Report,
    table: MeasureTable,
    best: Collection[BestValue],
    others: Sequence[MeasureTable],
    name: str,
    caption: str,
) -> PaperTable:
    plan, measure = report.plan, table.measure
    if table.error is not None:
        return PaperTable(name, caption, (), (f"No values: {table.error}",))
    if not table.rows:
        why = report.not_computed.get(measure.name)
        return PaperTable(name, caption, (), (f"{NO_SCORES}: {why}" if why else NO_SCORES,))
    models = [model for model in report.run.models if any(row.model == model for row in table.rows)]
    models += sorted({row.model for row in table.rows} - set(models))
    chosen = {(cell, model) for named, cell, model in best if named == measure.name}
    found = pivoted(plan, table, models, others)
    if found is None:
        columns, rows = _below(plan, table, models, chosen)
    else:
        columns, rows = _side_by_side(*found, chosen)
    caution = (STAND_IN_NOTE,) if report.uses_stand_in_models else ()
    notes = (*_notes(rows), *_unread(table), *_parts_of_it(report), *caution)
    return PaperTable(name, caption, tuple(columns), notes)


def _unread(table: MeasureTable) -> Iterable[str]:
    """Yield what values of a headline measure would be if unreadable replies counted as wrong."""
    for remark in unread_remarks([table]):
        yield f"{remark.text}."


def _parts_of_it(report: Report) -> Iterable[str]:
    """Yield why figures do not cover everything that the benchmark plans."""
    if not report.run.ended:
        yield f"The run is {report.run.status}, so not all that was planned is here."
    for remark in report.remarks:
        if remark.kind == "selection":
            yield f"{remark.text[:1].upper()}{remark.text[1:]}."
        elif remark.kind == "settled":
            yield f"{remark.text}."


def estimate(row: MeasureRow | None, best: bool = False) -> PaperEstimate:
    """Return the value of a row with its interval."""
    if row is None:
        return PaperEstimate(None)
    return PaperEstimate(row.value, row.interval_low, row.interval_high, best)


def _side_by_side(
    rest: Sequence[str], heads: Sequence[str], lines: Sequence[PivotLine], best: Collection[tuple[object, str]]
) -> tuple[list[PaperColumn], list[MeasureRow]]:
    """Return the columns of a table with models, or pairs, side by side."""
    rows = [row for line in lines for row in line.cells.values()]
    decimals = decimals_of([row.value for row in rows])

    def cell(line: PivotLine, head: str) -> PaperEstimate:
        row = line.cells.get(head)
        return estimate(row, row is not None and line.is_cell and (row.by, row.model) in best)

    columns = [
        PaperColumn(title.replace("_", " "), tuple(line.labels[place] for line in lines))
        for place, title in enumerate(rest)
    ]
    columns += [PaperColumn(head, tuple(cell(line, head) for line in lines), decimals) for head in heads]
    return columns, [row for line in lines if line.is_cell for row in line.cells.values()]


def _below(
    plan: Plan, table: MeasureTable, models: Sequence[str], best: Collection[tuple[object, str]]
) -> tuple[list[PaperColumn], list[MeasureRow]]:
    """Return the columns of a table with one row per model and value of the dimensions; without dimensions the best
    value comes first."""
    pooled = is_pooled(plan, table.measure.figure)
    rows = [row for row in table.rows if not pooled or row.model == models[0]]
    if not table.measure.by:
        sign = 1.0 if table.measure.lower_is_better else -1.0
        rows.sort(key=lambda row: (row.value is None, sign * (row.value or 0.0)))
    columns = [
        PaperColumn(name.replace("_", " "), tuple(dimension_label(plan, name, row.by[place]) for row in rows))
        for place, name in enumerate(table.measure.by)
    ]
    if len(models) > 1 or not table.measure.by:
        columns.append(PaperColumn("model", tuple(ALL if pooled else row.model for row in rows)))
    values = tuple(estimate(row, (row.by, row.model) in best) for row in rows)
    columns.append(PaperColumn("value", values, decimals_of([row.value for row in rows])))
    columns.append(PaperColumn("items", tuple(row.items for row in rows)))
    columns.append(PaperColumn("n", tuple(row.n for row in rows)))
    return columns, rows


def _notes(rows: Sequence[MeasureRow]) -> Iterable[str]:
    """Yield the scores and items behind values, and why some values are missing."""
    yield f"{counts_of(rows)}."
    missing = [row for row in rows if row.value is None and row.reason]
    for reason in dict.fromkeys(row.reason for row in missing):
        yield f"No value: {reason}."


COUNTS = "n = {n} scores of {items} items; coverage {coverage}"


def counts_of(rows: Sequence[MeasureRow | BoardEntry], form: str = COUNTS) -> str:
    """Return the numbers of scores and items behind values, in the wording of `form`."""
    n, items = _range([row.n for row in rows]), _range([row.items for row in rows])
    return form.format(n=n, items=items, coverage=coverage(rows))


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def board_table(board: Board, notes: Sequence[str] = (), published: Sequence[tuple[str, float]] = ()) -> PaperTable:
    """Return a board, with `published` figures of other sources below its models. The first value is bold if the model
    shares a letter with no other model."""
    others = "".join(each.letters for each in board.entries[1:])
    told_apart = bool(others) and not set(board.entries[0].letters) & set(others)
    more = len(published)
    values = [
        PaperEstimate(each.value, each.low, each.high, told_apart and place == 0)
        for place, each in enumerate(board.entries)
    ] + [PaperEstimate(value) for _, value in published]
    ranks: list[Cell] = [f"{each.rank}{'=' if each.tied else ''}" for each in board.entries]
    narrow = board.measure.low is not None and board.measure.high is not None
    places = 3 if narrow and (board.measure.high or 0.0) - (board.measure.low or 0.0) <= 1 else 2
    columns = (
        PaperColumn("rank", (*ranks, *[None] * more)),
        PaperColumn("model", (*(each.model for each in board.entries), *(model for model, _ in published))),
        PaperColumn("value", tuple(values), places),
        PaperColumn("items", (*(each.items for each in board.entries), *[None] * more)),
        PaperColumn("n", (*(each.n for each in board.entries), *[None] * more)),
        PaperColumn("group", (*(each.letters for each in board.entries), *["published"] * more)),
    )
    turned = " (lower is better)" if board.measure.lower_is_better else ""
    caption = f"{board.benchmark} {board.version}: {board.measure.name}{turned}"
    return PaperTable(f"{board.benchmark}-{board.measure.name}", caption, columns, tuple(notes))


def board_of_people(board: Board) -> PaperTable:
    """Return the values by people who are not part of a board."""
    rows = board.by_people
    columns = (
        PaperColumn("model", tuple(row.model for row in rows)),
        PaperColumn("value", tuple(map(estimate, rows)), decimals_of([row.value for row in rows])),
        PaperColumn("items", tuple(row.items for row in rows)),
        PaperColumn("n", tuple(row.n for row in rows)),
    )
    caption = f"{board.benchmark} {board.version}: {board.measure.name} of people: {', '.join(board.people)}"
    return PaperTable(f"{board.benchmark}-{board.measure.name}-people", caption, columns, tuple(_notes(rows)))


def comparison_tables(comparison: Comparison, caption: str, a: str, b: str) -> list[PaperTable]:
    """Return a table for each section of a comparison of the sides called `a` and `b`."""
    notes = (f"A: {a}.", f"B: {b}.", *notes_of(comparison))
    tests = comparison.tests
    return [_section(section, tests, caption, notes) for section in comparison.sections if section.rows]


def _section(section: Section, tests: int, caption: str, notes: Sequence[str]) -> PaperTable:
    rows = section.rows
    decimals = decimals_of([value for row in rows for value in (row.a, row.b)])
    differences = [row.difference for row in rows]
    columns = (
        PaperColumn(section.kind, tuple(f"{row.name} ({row.of})" if row.of else row.name for row in rows)),
        PaperColumn("A", tuple(row.a for row in rows), decimals),
        PaperColumn("B", tuple(row.b for row in rows), decimals),
        PaperColumn(
            "B − A",
            tuple(
                None if each.value is None else PaperEstimate(each.value, each.low, each.high) for each in differences
            ),
            decimals,
        ),
        PaperColumn("p", tuple(_p(row.p) for row in rows)),
        PaperColumn("q", tuple(_p(row.q) for row in rows)),
        PaperColumn("pairs", tuple(each.n for each in differences)),
        PaperColumn("items", tuple(each.clusters for each in differences)),
        PaperColumn("verdict", tuple(verdicts(section, tests, decimals))),
    )
    return PaperTable(f"comparison-{section.kind}", f"{caption}: {TITLES[section.kind]}", columns, tuple(notes))


def _p(value: float | None) -> str | None:
    return None if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def best_values(connection: Connection, report: Report) -> frozenset[BestValue]:
    """Return the best value of every cell that differs significantly from those of all other models there, at 5 % after
    Holm over the pairs and cells of its measure. Two models are compared over the items that all have, as in
    `leaderboard`. A measure without a direction has none."""
    return frozenset(
        (table.measure.name, cell, model)
        for table in report.measures
        if len({row.model for row in table.rows}) > 1 and _has_direction(report.plan, table.measure)
        for cell, model in _best(connection, report.plan, report.run, table)
    )


def _has_direction(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure says whether a higher value is better."""
    if is_pooled(plan, measure.figure):
        return False
    if measure.directed or measure.corrected or measure.name in plan.benchmark.headline:
        return True
    mean = mean_of(measure)
    return mean is not None and set(mean.values) <= higher_is_better_scores(plan)


def _best(connection: Connection, plan: Plan, run: RunRecord, table: MeasureTable) -> list[tuple[tuple[Any, ...], str]]:
    measure = table.measure
    of_model = items_by_model(connection, plan, measure)
    models = tuple(dict.fromkeys(row.model for row in table.rows if row.model in of_model))
    if len(models) < 2:
        return []
    shared = frozenset.intersection(*(of_model[model] for model in models))
    if count_clusters(shared, clusters_of(connection, plan)) < LEAST_ITEMS:
        return []
    half = ModelSide(connection, plan.benchmark.name, models)
    differences = jackknife_model_differences(half, plan, measure, sorted(shared))
    tested = [_as_followed(run, table, *key, found) for key, found in differences.items()]
    corrected = holm([each.p if (each.clusters or 0) >= LEAST_ITEMS else None for each in tested])
    apart = {
        (cell, frozenset((first, second)))
        for (cell, first, second), p in zip(differences, corrected, strict=True)
        if p is not None and p < LEVEL
    }
    cells: dict[tuple[Any, ...], list[MeasureRow]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(row)
    found = []
    for cell, rows in cells.items():
        sign = -1.0 if measure.lower_is_better else 1.0
        there = [row for row in rows if row.value is not None]
        if len(there) < 2:
            continue
        best = max(there, key=lambda row: sign * (row.value or 0.0))
        if all((cell, frozenset((best.model, row.model))) in apart for row in there if row is not best):
            found.append((cell, best.model))
    return found


def _as_followed(
    run: RunRecord, table: MeasureTable, cell: tuple[Any, ...], first: str, second: str, found: Estimate
) -> Estimate:
    """Return a difference as reported by a run that looked at its models after every item: from its confidence
    sequence, if that belongs to the values in the table; otherwise without a test if a model did not see all items."""
    values = {row.model: row.value for row in table.rows if row.by == cell}
    one, two = values.get(first), values.get(second)
    by = dict(zip(table.measure.by, map(text_of, cell), strict=True))
    if one is not None and two is not None:
        sequence = followed_difference(run, table.measure.name, first, second, by, one - two)
        if sequence is not None:
            return sequence
    return Estimate.undefined(UNFOLLOWED) if run.stopped_models & {first, second} else found
