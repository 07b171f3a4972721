"""Reports, headlines, histories and judges as text for a terminal: readable at 80 columns, with labels of any script.

The headline is the end of a run in a few lines: the measures that stand for the benchmark, with the figures of the
report, and what a reader must know about them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from tripos_compiler.diagnostics.i18n import localized, reader_language
from tripos_compiler.diagnostics.text_format import percent, usd, wrap
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.expectations import (
    BelowBaseline,
    CheckedExpectation,
    ExpectationOutcome,
    below_baseline,
    expectation_measure,
    is_baseline,
)
from tripos_warehouse.measures.figure_sql import graders_of, sql_of
from tripos_warehouse.measures.judges import CascadeUse, JudgedMetric, JudgeReport, ScorerThreshold
from tripos_warehouse.measures.measure_rows import EXAGGERATED_DIFFERENCES, STOPPED_EARLY, MeasureRow, MeasureTable
from tripos_warehouse.report.history import HistoryLine, HistoryPoint, LineBreak, MeasureHistory
from tripos_warehouse.report.leaderboard import headlines
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.report.run_report import yield_lines
from tripos_warehouse.report.tables import (
    ALL,
    counts_of,
    coverage,
    is_pooled,
    number_range,
    side_by_side,
    with_interval,
)
from tripos_warehouse.statistics.result import Estimate
from tripos_warehouse.tables.text import GAP, NULL_TEXT, TextColumn, decimals_of, grid, grid_parts, wrapped
from tripos_warehouse.views.dimensions import dimension_heading, dimension_label

if TYPE_CHECKING:
    from tripos_warehouse.report.run_report import Report


MOCKED = "mock models took part: no expectation fails this run"


def expectation_status(gate: CheckedExpectation) -> str:
    """Return whether an expectation holds, and on how many of its scores."""
    n, total = gate.scores
    if not total:
        return localized("held" if gate.held else "did not hold")
    some = f"{n:,} of {total:,} scores"
    return localized(f"held on {some}" if gate.held else f"did not hold on {some}")


def partial_lines(gates: Sequence[CheckedExpectation]) -> list[str]:
    """Return a line for each expectation with missing scores, with the first figure that has too few."""
    lines = []
    for gate in gates:
        n, total = gate.scores
        if n < total:
            few = next((too_few(gate, outcome) for outcome in gate.outcomes if not outcome.covered), None)
            line = f"{expectation_status(gate)}{localized(': ')}{gate.expectation.shown}"
            lines.append(line if few is None else f"{line} ({localized(few)})")
    return lines


def too_few(gate: CheckedExpectation, outcome: ExpectationOutcome) -> str:
    """Return that a figure has fewer scores than the expectation asks for."""
    row = outcome.scored_row
    return f"{row.n:,} of {row.total:,} scores, below {percent(gate.expectation.least_coverage)}"


def why_undecided(outcome: ExpectationOutcome) -> str:
    """Return why a figure has no value, or no interval to compare."""
    return f"{'no value' if outcome.row.value is None else 'no interval'}: {outcome.row.reason}"


def baseline_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return a line for each model that is not better than a baseline: where, and which."""
    decimals = decimals_of([row.value for row in table.rows])
    lines: list[str] = []
    for model in dict.fromkeys(each.model for each in below_baseline(table)):
        told = [_expectation_line(plan, table, each, decimals) for each in below_baseline(table) if each.model == model]
        lines.append(wrapped(localized(f"not clear of a baseline: {model}, {'; '.join(told)}"), width))
    return lines


def _expectation_line(plan: Plan, table: MeasureTable, each: BelowBaseline, decimals: int) -> str:
    cell = [
        dimension_label(plan, name, value, reader_language())
        for name, value in zip(table.measure.by, each.by, strict=True)
    ]
    where = f"{', '.join(cell)}: " if cell else ""
    low, high = (None if end is None else f"{end:.{decimals}f}" for end in (each.low, each.high))
    own = f"{each.value:.{decimals}f}" + (f" ({low} – {high})" if low is not None and high is not None else "")
    told = localized(f"{own} to {each.baseline_value:.{decimals}f} of {each.baseline}")
    return f"{where}{told}"


STYLES = {True: "green", False: "red"}


def expectation_lines(
    plan: Plan, gates: Sequence[CheckedExpectation], width: int, table_width: int
) -> Iterator[tuple[str, str]]:
    """Yield lines of at most `width` cells, each with its style: how many expectations hold, then a line and a table
    for each."""
    failed = sum(not gate.held for gate in gates)
    count = f"{len(gates) - failed} held" + (f", {failed} did not" if failed else "")
    yield localized(f"expectations: {count}"), "bold"
    for gate in gates:
        words = f"{expectation_status(gate)}{localized(': ')}{gate.expectation.shown}"
        first, *more = wrap(words, width - 2)
        for line in (first, *(f"  {each}" for each in more)):
            yield line, STYLES[gate.held]
        for line in grid(_columns(plan, gate), table_width - 2):
            yield f"  {line}", ""
        for told in dict.fromkeys(why_undecided(outcome) for outcome in gate.outcomes if outcome.margin is None):
            for line in wrap(localized(told), width - 2):
                yield f"  {line}", ""


def _columns(plan: Plan, gate: CheckedExpectation) -> list[TextColumn]:
    outcomes, language = gate.outcomes, reader_language()
    rows = [outcome.row for outcome in outcomes]
    return [
        TextColumn(localized("model"), tuple(row.model for row in rows), whole=True),
        *(
            TextColumn(
                dimension_heading(plan, name, language),
                tuple(dimension_label(plan, name, row.by[place], language) for row in rows),
            )
            for place, name in enumerate(gate.expectation.by)
        ),
        TextColumn(
            localized("value" if gate.expectation.difference is None else "difference"),
            tuple("—" if row.value is None else f"{row.value:.4g}" for row in rows),
            right=True,
        ),
        TextColumn(
            localized("95 % interval"),
            tuple(
                "—" if row.interval_low is None else f"{row.interval_low:.4g} – {row.interval_high:.4g}" for row in rows
            ),
            right=True,
        ),
        TextColumn("", tuple(_outcome_text(gate, outcome) for outcome in outcomes)),
    ]


def _outcome_text(gate: CheckedExpectation, outcome: ExpectationOutcome) -> str:
    if outcome.margin is None:
        return localized("undefined" if outcome.row.value is None else "no interval")
    if not outcome.covered:
        return localized(too_few(gate, outcome))
    told = localized(f"{'held by' if outcome.held else 'off by'} {abs(outcome.margin):.3g}")
    end = gate.expectation.end
    return told if end is None else f"{localized('lower end' if end == 'lower' else 'upper end')} {told}"


NO_SCORES = "no scores"
LONGEST_ERROR = 240
REPORT_IT = "please report it with the spec; the other measures do not rest on it"
OF_JUDGE = "the interval speaks of the judge, and not of people"
MOST_GAPS = 3
"""The most reasons printed for undefined scores, and for calls that were not made; `--json` has all."""


def render_report(
    report: Report, width: int = 80, sql: bool = False, where: str = "", table_width: int | None = None
) -> Text:
    """Return the report, to be printed with `console.print(…, soft_wrap=True)` or read as `.plain`.

    Lines take at most `width` cells, and those of tables `table_width`, if given. `sql` adds the SQL of every measure,
    which is never wrapped. `where` is the option that the commands at the end need to find the store.
    """
    text, table_width = Text(), table_width or width
    for line in _header(report, width):
        text.append(line + "\n")
    for line in _gaps(report, width):
        text.append(line + "\n", style="yellow")
    if report.uses_stand_in_models:
        text.append("\n" + wrapped(localized(STAND_IN_NOTE), width) + "\n", style="yellow")
    for remark in report.remarks:
        text.append(wrapped(localized("note") + localized(": ") + localized(remark.text), width) + "\n", style="yellow")
    alone = [table for table in report.measures if has_one_evaluator(table)]
    for table in report.measures:
        if table in alone:
            continue
        text.append(f"\n{shown_title(report.plan, table)}\n", style="bold")
        lines = measure_lines(report.plan, table, report.run.models, comparable_measures(report, table), table_width)
        if (why := report.not_computed.get(table.measure.name)) is not None:
            lines = [wrapped(localized(NO_SCORES) + localized(": ") + localized(why), width)]
        text.append("\n".join([*lines, *reason_lines(report.plan, table, width)]) + "\n")
        for line in baseline_lines(report.plan, table, width):
            text.append(line + "\n", style="yellow")
        if table.measure.corrected and table.rows:
            told = shown_title(report.plan, table.judge_table) + localized(" of the judge alone") + localized(": ")
            text.append("\n" + wrapped(told + localized(OF_JUDGE), width) + "\n", style="bold")
            lines = measure_lines(report.plan, table.judge_table, report.run.models, (), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, table.judge_table, width)]) + "\n")
        if (own := report.by_people.get(table.measure.name)) is not None:
            told = f"{shown_title(report.plan, own)}{localized(', of people: ')}{', '.join(report.apart)}"
            text.append("\n" + wrapped(told, width) + "\n", style="bold")
            lines = measure_lines(report.plan, own, report.run.models, tuple(report.by_people.values()), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, own, width)]) + "\n")
    if alone:
        told = f"Of several evaluators, and here is one: {', '.join(table.measure.name for table in alone)}."
        text.append("\n" + wrapped(localized(told), width) + "\n")
    for told in filter(None, (" ".join(map(localized, each.sentences)) for each in report.design_advice)):
        text.append("\n" + wrapped(told, width) + "\n")
    if report.made:
        text.append(f"\n{localized('made data sets')}\n", style="bold")
        text.append("\n".join(yield_lines(report.plan, report.made, width, table_width)) + "\n")
    if report.expectations:
        text.append("\n")
        for line, style in expectation_lines(report.plan, report.expectations, width, table_width):
            text.append(line + "\n", style=style)
        if report.mocked and not report.held:
            text.append(wrapped(localized(MOCKED), width) + "\n", style="yellow")
    for line in _footer(report, sql, where):
        text.append(line + "\n", style="dim")
    return text


def comparable_measures(report: Report, table: MeasureTable) -> list[MeasureTable]:
    """Return the measures that may be the mean of a table's cells: a measure without people is no mean of cells with
    them."""
    own = graders_of(table.measure)
    return [each for each in report.measures if not report.apart or graders_of(each.measure) == own]


def has_one_evaluator(table: MeasureTable) -> bool:
    """Return true if a measure would put evaluators side by side, and there is only one."""
    by = table.measure.by
    if "evaluator" in by:
        place = by.index("evaluator")
        return len({row.by[place] for row in table.rows}) == 1
    return "pair" in by and not table.rows and table.error is None


def _header(report: Report, width: int) -> list[str]:
    run, benchmark = report.run, report.plan.benchmark
    called = report.plan.title_of("benchmark", benchmark.name, reader_language()) or benchmark.title
    title = f"{run.benchmark} {run.version}" + (f" · {called}" if called else "")
    lines = [wrapped(title, width)]
    told = {
        "run": f"{run.run_id}  {run.started_at:%Y-%m-%d %H:%M} UTC  {_ending(run.status)}",
        run.compared_role: ", ".join(run.identities.get(name, name) for name in run.models),
        **{
            role: ", ".join(run.identities.get(name, name) for name in models)
            for role, models in run.evaluators.items()
            if models
        },
        **({"people": _people(report.people, report.apart)} if report.people else {}),
        **({"headline": ", ".join(benchmark.headline)} if benchmark.headline else {}),
        **({"items": run.partial} if run.partial else {}),
        "plan": run.plan_digest[:12],
        "cost": report.cost_shown,
        "samples": _statuses(report.samples),
        "scores": _statuses(report.scores),
        **({"comparisons": _statuses(report.comparisons)} if report.comparisons else {}),
    }
    roles = (run.compared_role, *run.evaluators)
    shown = {name: name if name in roles else localized(name) for name in told}
    room = max(map(cell_len, shown.values()))
    for name, value in told.items():
        indent = " " * (room + len(GAP))
        begin = shown[name] + indent[cell_len(shown[name]) :]
        lines.append((begin + wrapped(value, width - len(indent)).replace("\n", "\n" + indent)).rstrip())
    return lines


def _gaps(report: Report, width: int) -> list[str]:
    """Return what is undefined and what was not asked: the most frequent reasons of each."""
    lines: list[str] = []
    for kind in dict.fromkeys(gap.kind for gap in report.gaps):
        own = [gap for gap in report.gaps if gap.kind == kind]
        begin = f"! {localized(kind)}{localized(': ')}"
        lines += [wrapped(begin + localized(gap.shown), width) for gap in own[:MOST_GAPS]]
        if len(own) > MOST_GAPS:
            left = sum(gap.count for gap in own[MOST_GAPS:])
            more = f"{left:,} more, for {len(own) - MOST_GAPS:,} other reasons"
            lines.append(wrapped(begin + localized(more), width))
    return lines


def _ending(status: str) -> str:
    """Return how a run ended, and whether something is missing for that reason."""
    return localized(status if status == "finished" else f"{status}, so not all that was planned is here")


def _people(counts: Mapping[str, int], separate_people: Sequence[str]) -> str:
    told = ", ".join(
        f"{name} ({localized(f'{count:,} score' if count == 1 else f'{count:,} scores')})"
        for name, count in counts.items()
    )
    return told + localized("; shown apart") if separate_people else told


def _statuses(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    if not total:
        return localized("none")
    parts = [f"{count:,} {localized(status)} ({percent(count / total)})" for status, count in counts.items()]
    return f"{total:,}: {', '.join(parts)}"


def title_of(table: MeasureTable) -> str:
    by = ", ".join(table.measure.by)
    named = f"{table.measure.name} by {by}" if by else table.measure.name
    named += ", corrected by people" if table.measure.corrected else ""
    named += f", across {' * '.join(table.measure.random)} as sample" if table.measure.random else ""
    return f"{named} (lower is better)" if table.measure.lower_is_better else named


def shown_title(plan: Plan, table: MeasureTable) -> str:
    """Return the title of a measure in the reader's language, with its name; or only its name if it has no title."""
    language = reader_language()
    title = plan.title_of("measure", table.measure.name, language)
    named = f"{title} ({table.measure.name})" if title is not None else table.measure.name
    if table.measure.by:
        by = [name if language == "en" else dimension_heading(plan, name, language) for name in table.measure.by]
        named += localized(" by ") + ", ".join(by)
    named += localized(", corrected by people") if table.measure.corrected else ""
    if table.measure.random:
        named += localized(f", across {' * '.join(table.measure.random)} as sample")
    return named + localized(" (lower is better)") if table.measure.lower_is_better else named


def measure_lines(
    plan: Plan, table: MeasureTable, models: Sequence[str], others: Sequence[MeasureTable], width: int
) -> list[str]:
    """Return the table of a measure: models side by side if there is room, otherwise one below the other."""
    if table.error is not None:
        return [
            wrapped(localized(f"no values: {shorten(table.error, LONGEST_ERROR, placeholder=' …')}"), width),
            localized(REPORT_IT),
        ]
    if not table.rows:
        return [localized(NO_SCORES)]
    shown = [model for model in models if any(row.model == model for row in table.rows)]
    shown += sorted({row.model for row in table.rows} - set(shown))
    lines = side_by_side(plan, table, shown, others, width)
    if lines is not None:
        return lines
    if is_pooled(plan, table.measure.figure):
        rows = tuple(replace(row, model=ALL) for row in table.rows if row.model == shown[0])
        table, shown = replace(table, rows=rows), [ALL]
    return grid(columns_below(plan, table, shown), width)


def columns_below(plan: Plan, table: MeasureTable, models: Sequence[str]) -> list[TextColumn]:
    """Return the columns of a table with one row per model and value of the dimensions; without dimensions the best
    value first."""
    rows = sorted(table.rows, key=lambda row: models.index(row.model))
    if table.measure.by:
        order = list(dict.fromkeys(row.by for row in table.rows))
        rows.sort(key=lambda row: order.index(row.by))
    else:
        sign = 1.0 if table.measure.lower_is_better else -1.0
        rows.sort(key=lambda row: sign * row.value if row.value is not None else float("inf"))
    keys = [row.by for row in rows]
    repeated = [index > 0 and keys[index - 1] == key for index, key in enumerate(keys)]
    columns = [
        replace(label, cells=tuple("" if again else cell for again, cell in zip(repeated, label.cells, strict=True)))
        for label in _labels(plan, table, keys)
    ]
    if len(models) > 1 or not table.measure.by:
        columns.append(TextColumn(localized("model"), tuple(row.model for row in rows), whole=True))
    figure = figure_of(rows)
    if table.measure.by and len(models) > 1:
        columns.append(TextColumn(localized("value"), tuple(with_interval(row, figure) for row in rows), right=True))
        return columns + counts_of([[row] for row in rows])
    intervals = (
        NULL_TEXT if row.interval_low is None else f"{figure(row.interval_low)} – {figure(row.interval_high)}"
        for row in rows
    )
    columns.append(TextColumn(localized("value"), tuple(figure(row.value) for row in rows), right=True))
    columns.append(TextColumn(localized("95 % interval"), tuple(intervals), right=True))
    return columns + counts_of([[row] for row in rows])


def reason_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return why values or their intervals are missing: one line per reason. A figure of all models counts once."""
    once = is_pooled(plan, table.measure.figure)
    rows = [row for row in table.rows if not once or row.model == table.rows[0].model]
    found: dict[str, int] = {}
    for row in rows:
        if row.reason is not None:
            what = "value" if row.value is None else "interval"
            told = f"no {what}: {row.reason}"
            found[told] = found.get(told, 0) + 1
    lines = (f"{told} ({count} cells)" if count > 1 else told for told, count in found.items())
    return [wrapped(localized(line), width) for line in lines]


def _labels(plan: Plan, table: MeasureTable, keys: Sequence[tuple[Any, ...]]) -> list[TextColumn]:
    language = reader_language()
    return [
        TextColumn(
            dimension_heading(plan, name, language),
            tuple(dimension_label(plan, name, key[index], language) for key in keys),
        )
        for index, name in enumerate(table.measure.by)
    ]


def figure_of(rows: Sequence[MeasureRow]) -> Callable[[float | None], str]:
    """Return a function that prints a value of the table, with the decimals that all its values need."""
    decimals = decimals_of([row.value for row in rows])
    return lambda value: NULL_TEXT if value is None else f"{value:.{decimals}f}"


def _footer(report: Report, sql: bool, where: str) -> list[str]:
    gates = [
        (f"expect {gate.expectation.shown}", expectation_measure(gate.expectation)) for gate in report.expectations
    ]
    said = [*((table.measure.name, table.measure) for table in report.measures), *gates]
    lines = sql_lines(report.plan, said) if sql else []
    schema = report.run.benchmark
    command = f"tripos sql {where}".rstrip()
    made = [each.dataset for each in report.made if each.made < each.attempts]
    judged = any(scorer.gives is None for scorer in report.plan.scorers)
    return [
        *lines,
        "",
        localized("Ask more:"),
        f'  {command} "{further_query(report)}"',
        *(
            [f'  {command} "select value, metric, reason from {schema}.rationales order by 1 limit 5"']
            if judged
            else []
        ),
        *([f'  {command} "from {schema}.slots where attempts > 1 limit 5"'] if made else []),
    ]


def sql_lines(plan: Plan, measures: Sequence[tuple[str, Measure]]) -> list[str]:
    """Return the SQL of measures under their names."""
    lines: list[str] = []
    for name, measure in measures:
        query = sql_of(plan, measure).strip()
        lines += ["", localized(f"SQL of {name}:"), *(f"  {line}" for line in query.splitlines())]
    return lines


def further_query(report: Report) -> str:
    """Return a query to begin with, none of whose rows mixes different kinds of scores."""
    if report.comparisons and not report.scores:
        columns = "first_model, second_model, step, evaluator, avg(value)"
        return f"select {columns} from {report.run.benchmark}.comparisons group by all"
    return f"from {report.run.benchmark}.means()"


MOST_LINES = 20
LEAST_TABLE = 16
"""Notes are dropped before the first lines of the table."""
VALUED = ("ok", "scored", "not_applicable")
"""Statuses of results that have a value, or need none."""
FEW = 5
"""With more models, a sentence about them has one line."""
MOST_NAMED = 3
"""The most expectations, and groups of models, that are named."""

NARROW_HEADING = 14
"""The width in cells at which the heading of a measure wraps."""
TableLines = tuple[list[str], list[str]]
"""The lines of a table, and what is left out of it."""
Block = tuple[list[str], str]
"""Lines, and their style."""


def render_headline(report: Report, width: int = 80, table_width: int | None = None, sql: bool = False) -> Text:
    """Return the headline of a report in at most 20 lines of `width` cells, in tables `table_width`; with `sql`, the
    SQL of the measures follows.

    If there are more models, measures or notes, the last line says how many are left out.
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
    """Return the measures that stand for the benchmark; the first one if none has one value per model."""
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
    """Return the lines of the tables, at most `room`, and what is left out of them."""
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
    """Return the table of a measure as in the report, without the last rows if they do not fit."""
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
            *measure_lines(report.plan, some, models, comparable_measures(report, table), width),
        ]
        lines = [part for line in (*lines, *reason_lines(report.plan, some, width)) for part in line.split("\n")]
        if len(lines) <= room or count <= 1:
            return lines, _left_out(len(places) - count, "value" if table.measure.by else "model")
        count -= 1


def _ranked(table: MeasureTable, models: Sequence[str]) -> MeasureTable:
    """Return a table with its best models first, so that the last ones are left out; unchanged if it has dimensions."""
    if table.measure.by:
        return table
    sign = 1.0 if table.measure.lower_is_better else -1.0
    last = float("inf")
    rows = sorted(table.rows, key=lambda row: models.index(row.model) if row.model in models else len(models))
    return replace(table, rows=tuple(sorted(rows, key=lambda row: last if row.value is None else sign * row.value)))


def _required(report: Report, tables: Sequence[MeasureTable], width: int) -> Iterator[Block]:
    """Yield the blocks that always follow the figures."""
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
    failed += [f"expect {gate.expectation.shown}" for gate in report.expectations if gate.failed]
    if failed:
        yield (
            wrapped(localized(f"no values of {_first_names(failed)}: the database refused the SQL"), width).split("\n"),
            "red",
        )
    if report.expectations:
        wrong = [gate.expectation.shown for gate in report.expectations if not gate.held]
        count = f"{len(report.expectations) - len(wrong)} held" + (f", {len(wrong)} did not" if wrong else "")
        told = localized(f"expectations: {count}") + (localized(": ") + _first_names(wrong) if wrong else "")
        lines = wrapped(told, width).split("\n")
        for line in partial_lines(report.expectations)[:MOST_NAMED]:
            lines += wrapped(line, width).split("\n")
        if wrong and report.mocked:
            lines += wrapped(localized(MOCKED), width).split("\n")
        yield lines, STYLES[not wrong or report.mocked]
    if report.uses_stand_in_models:
        yield wrapped(localized(STAND_IN_NOTE), width).split("\n"), "yellow"


def _notes(report: Report, width: int) -> Iterator[Block]:
    """Yield the blocks that follow if there is room, the most important first."""
    for gap in report.gaps:
        yield wrapped(localized(gap.kind) + localized(": ") + localized(gap.shown), width).split("\n"), "yellow"
    for remark in report.remarks:
        if remark.kind == "unread":
            continue
        yield wrapped(localized("note") + localized(": ") + localized(remark.text), width).split("\n"), "yellow"


def baseline_sentence(report: Report, tables: Sequence[MeasureTable], longest: int) -> str | None:
    """Return which models are not better than a baseline, and in which measures; None if there are none. If the
    sentence exceeds `longest` characters, it gives only their number."""
    found = {table.measure.name: below_baseline(table) for table in report.measures}
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
    parts = [f"{_every(models, compared)} in {_first_names(measures)}" for models, measures in groups.items()]
    parts += _left_out(others, "measure")
    told = localized(f"not clear of a baseline: {'; '.join(parts)}")
    if cell_len(told) <= longest:
        return told
    below = {each.model for matches in found.values() for each in matches}
    some = f"{len(below)} of {len(compared)} models in {len(names)} of {len(found)} measures"
    return localized(f"not clear of a baseline: {some}")


def _every(models: Sequence[str], compared: Sequence[str]) -> str:
    return "every model" if len(compared) > 1 and set(models) >= set(compared) else _first_names(models)


def _first_names(names: Sequence[str]) -> str:
    """Return the first names and the number of others.

    >>> _first_names(["a", "b", "c", "d", "e"]), _first_names(["a"])
    ('a, b, c and 2 more', 'a')
    """
    left = len(names) - MOST_NAMED
    return ", ".join(names) if left <= 0 else f"{', '.join(names[:MOST_NAMED])} and {left} more"


def _measures_below(tables: Sequence[MeasureTable], width: int, room: int) -> TableLines:
    """Return a table with a line for each measure of one model, in at most `room` lines: the first measures that
    fit."""
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
            return NULL_TEXT
        return f"{figure(row.interval_low)} – {figure(row.interval_high)}"

    pairs = list(zip(rows, figures, strict=True))
    values = tuple(NULL_TEXT if row is None else figure(row.value) for row, figure in pairs)
    there = [[row] if row is not None else [] for row in rows]
    return [
        TextColumn(localized("measure"), tuple(map(_name, tables))),
        TextColumn(localized("value"), values, right=True),
        TextColumn(localized("95 % interval"), tuple(interval(*pair) for pair in pairs), right=True),
        *counts_of(there),
    ]


def _matrix(tables: Sequence[MeasureTable], models: Sequence[str], width: int, room: int) -> TableLines:
    """Return a table of several measures of several models, in at most `room` lines. Models are side by side if they
    fit, otherwise as many measures as fit; the best models by the first measure come first."""
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
            cells[model].append(with_interval(found[model], figure) if model in found else NULL_TEXT)
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
        cells = tuple(with_interval(found[model], figure) if model in found else NULL_TEXT for model in models)
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
    """Return a name of several words on several narrow lines, for the heading of a column.

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


def render_history(history: MeasureHistory, width: int = 80) -> list[str]:
    """Return the lines of a history as text, at most `width` cells wide if the figures have room."""
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
        lines += ["", *wrap(localized(STOPPED_EARLY), width), *wrap(localized(EXAGGERATED_DIFFERENCES), width)]
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
            NULL_TEXT
            if row.interval_low is None or row.interval_high is None
            else f"{_figure(row.interval_low, decimals)} – {_figure(row.interval_high, decimals)}"
            for row in rows
        ),
        "items": tuple(f"{row.items:,}" for row in rows),
    }
    right = ("value", "95 %", "items")
    made = [TextColumn(localized(name), texts, name in right, fold=False) for name, texts in columns.items()]
    head, body = grid_parts(made, width)
    if not head:  # one block of lines per row
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
    """Yield what broke a line, under a mark."""
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
    return NULL_TEXT if value is None else f"{value:.{decimals}f}"


def render_judges(report: JudgeReport, plan: Plan, width: int, table_width: int) -> list[str]:
    """Return the report on the judges of a run as lines, one part per metric."""
    lines: list[str] = []
    for metric in report.metrics:
        label = dimension_label(plan, "metric", metric.metric, reader_language())
        title = label if metric.metric == metric.scorer else f"{label} ({metric.scorer})"
        lines += [*([""] if lines else []), title, *_raters(metric, table_width)]
        for part in (_panel, _stability, _noise, _calibration, _curves, _prevalences, _drifts):
            found = list(part(metric, table_width))
            lines += ["", *found] if found else []
    for use in report.cascades:
        lines += ["", *_cascade(use, width)]
    for each in report.thresholds:
        lines += ["", *_threshold(each, width)]
    if not report.metrics:
        lines.append(wrapped(localized("no judge and no person scored a reply of this run"), width))
    elif not report.people:
        told = "nobody graded these replies: `tripos annotate` asks people, by whom judges are calibrated"
        lines += ["", wrapped(localized(told), width)]
    return lines


def _raters(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.rater,
            f"{each.n:,}",
            f"{each.mean:.2f}",
            NULL_TEXT if each.deviation is None else f"{each.deviation:.2f}",
            NULL_TEXT if each.lowest is None else percent(each.lowest),
            NULL_TEXT if each.highest is None else percent(each.highest),
            _interval(each.severity, signed=True),
        )
        for each in metric.raters
    ]
    return _judge_table(("rater", "scores", "mean", "SD", "lowest", "highest", "severity"), rows, width)


def _panel(metric: JudgedMetric, width: int) -> Iterator[str]:
    """Yield how dependable panels of judges like these are, and the components of the variance of a score."""
    study = metric.panel
    if study is None:
        return
    if study.reason is not None:
        yield wrapped(localized(f"nothing is known of panels of judges like these: {study.reason}"), width)
        return
    whole = sum(study.components.values())
    if whole > 0:
        replies, judges, rest = (percent(each / whole) for each in study.components.values())
        yield wrapped(
            localized(f"of the variance of a score: replies {replies}, judges {judges}, the rest {rest}"), width
        )
    rows = [(f"{each.judges}", _interval(each.relative), _interval(each.absolute)) for each in study.designs]
    yield from _judge_table(("judges", "order of replies (G)", "scores themselves (D)"), rows, width)
    why = next((each.reason for each in (study.designs[0].relative, study.designs[0].absolute) if each.reason), None)
    if why is not None:
        yield wrapped(localized(f"an interval is missing: {why}"), width)


def _stability(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge,
            f"{each.stable.n:,}",
            _interval(each.stable, share=True),
            _interval(each.flips, share=True),
            NULL_TEXT if each.spread is None else f"{each.spread:.2f}",
        )
        for judge, each in metric.stability.items()
    ]
    return _judge_table(("asked again", "replies", "always the same", "two differ", "SD"), rows, width) if rows else []


def _noise(metric: JudgedMetric, width: int) -> Iterator[str]:
    if metric.noise is not None and metric.noise.share.value is not None:
        share = _interval(metric.noise.share, share=True)
        yield wrapped(localized(f"of the disagreement of judges, chance within a judge: {share}"), width)


def _calibration(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge,
            f"{each.n:,}",
            _interval(each.bias, signed=True),
            _interval(each.slope),
            *(
                NULL_TEXT if value is None else f"{value:.2f}"
                for value in (each.miscalibration, each.discrimination, each.uncertainty)
            ),
        )
        for judge, each in metric.calibrations.items()
    ]
    headings = ("beside people", "replies", "bias", "slope", "miscalibrated", "tells", "of")
    return _judge_table(headings, rows, width) if rows else []


def _curves(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge if place == 0 else "",
            f"{each.low:.4g}" if each.low == each.high else f"{each.low:.4g}–{each.high:.4g}",
            f"{each.graded.n:,}",
            _interval(each.graded),
        )
        for judge, found in metric.calibrations.items()
        for place, each in enumerate(found.bins)
    ]
    return _judge_table(("judge", "says", "replies", "people say"), rows, width) if rows else []


def _prevalences(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.judge,
            each.model,
            _interval(each.share.apparent, share=True),
            _interval(each.share.sensitivity, share=True),
            _interval(each.share.specificity, share=True),
            _interval(each.share.result, share=True),
        )
        for each in metric.prevalences
    ]
    return (
        _judge_table(("judge", "model", "judged", "sensitivity", "specificity", "corrected"), rows, width)
        if rows
        else []
    )


def _drifts(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.before,
            each.after,
            f"{each.drift.difference.n:,}",
            _interval(each.drift.difference, signed=True),
            _interval(each.drift.changed, share=True),
        )
        for each in metric.drifts
    ]
    return _judge_table(("before", "after", "replies", "difference", "changed"), rows, width) if rows else []


def _cascade(use: CascadeUse, width: int) -> Iterator[str]:
    share = _interval(use.escalated, share=True)
    told = f"{use.scorer}, unsure below {use.unsure_below:g}: {share} of {use.escalated.n:,} replies were escalated"
    yield wrapped(localized(told), width)
    known = use.cost_usd is not None and use.saved_usd is not None
    money = f"; {usd(use.cost_usd or 0.0)} USD paid, {usd(use.saved_usd or 0.0)} USD saved" if known else ""
    calls = f"calls of stronger judges: {use.calls:,} made, {use.saved_calls:,} saved{money}"
    yield wrapped(localized(calls), width)


def _threshold(threshold: ScorerThreshold, width: int) -> Iterator[str]:
    learned = threshold.learned
    if learned.threshold is None:
        yield wrapped(localized(f"{threshold.scorer}: no threshold is learned: {learned.reason}"), width)
        return
    below, level = _rounded_down(learned.threshold), percent(threshold.level)
    told = f"{threshold.scorer}: `unsure below {below}` agrees with people in {level} or more"
    yield wrapped(localized(told), width)
    last = next(each for each in learned.tested if each.threshold == learned.threshold)
    share, least = percent(last.agreed / last.n), percent(last.least)
    yield wrapped(localized(f"of {last.n:,} graded items that are as sure {share} agree, {least} at the least"), width)
    yield wrapped(localized(f"it saves the stronger judge {percent(learned.trusted)} of the replies"), width)


def _rounded_down(threshold: float) -> str:
    """Return a threshold rounded down to four digits: a reply that is exactly as confident must not be below it.

    >>> _rounded_down(2 / 3), _rounded_down(0.8), _rounded_down(1.0)
    ('0.6666', '0.8', '1')
    """
    return f"{math.floor(threshold * 10_000 + 1e-9) / 10_000:g}"


TEXTS = ("rater", "asked again", "beside people", "judge", "model", "before", "after")
"""The headings of columns that hold names."""


def _judge_table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    columns = [
        TextColumn(localized(heading), tuple(cells), right=heading not in TEXTS)
        for heading, cells in zip(headings, zip(*rows, strict=True), strict=True)
    ]
    return grid(columns, width)


def _interval(result: Estimate, *, signed: bool = False, share: bool = False) -> str:
    """Return a value with its interval; a share in percent."""
    if result.value is None:
        return NULL_TEXT

    def told(value: float) -> str:
        return percent(value) if share else f"{value:{'+' if signed else ''}.2f}"

    if result.low is None or result.high is None:
        return told(result.value)
    return f"{told(result.value)} [{told(result.low)}, {told(result.high)}]"
