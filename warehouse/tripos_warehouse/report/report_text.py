"""A report as text for a terminal: readable at 80 columns, with labels of any script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from tripos_compiler.diagnostics import localized, percent, reader_language, wrap
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.formats import GAP, NOTHING, TextColumn, decimals_of, grid, wrapped
from tripos_warehouse.measures import (
    CheckedExpectation,
    ExpectationOutcome,
    Matched,
    MeasureRow,
    MeasureTable,
    as_measure,
    matched,
)
from tripos_warehouse.measures.sql import graders_of, sql_of
from tripos_warehouse.report.acceptance import acceptance_lines
from tripos_warehouse.report.expectation_text import MOCKED, standing, too_few, why_undecided
from tripos_warehouse.report.pivot_table import ALL, beside, counts_of, is_pooled, with_interval
from tripos_warehouse.report.remarks import CAUTION
from tripos_warehouse.views import dimension_heading, dimension_label

if TYPE_CHECKING:
    from tripos_warehouse.report.run_report import Report


def baseline_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return a line for each model that does not clear a baseline: where, and which."""
    decimals = decimals_of([row.value for row in table.rows])
    lines: list[str] = []
    for model in dict.fromkeys(each.model for each in matched(table)):
        told = [_expectation_line(plan, table, each, decimals) for each in matched(table) if each.model == model]
        lines.append(wrapped(localized(f"not clear of a baseline: {model}, {'; '.join(told)}"), width))
    return lines


def _expectation_line(plan: Plan, table: MeasureTable, each: Matched, decimals: int) -> str:
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
    """Yield lines of at most `width` cells, each with its style: how many held, then a line and a table an
    expectation."""
    failed = sum(not gate.held for gate in gates)
    count = f"{len(gates) - failed} held" + (f", {failed} did not" if failed else "")
    yield localized(f"expectations: {count}"), "bold"
    for gate in gates:
        words = f"{standing(gate)}{localized(': ')}{gate.expectation.shown}"
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
"""So many reasons are told of what is undefined, and of what was not asked; `--json` has all."""


def render_report(
    report: Report, width: int = 80, sql: bool = False, where: str = "", table_width: int | None = None
) -> Text:
    """Return the report, to be printed with `console.print(…, soft_wrap=True)` or read as `.plain`.

    Lines take at most `width` cells, and those of tables `table_width` where it is given, but for the SQL of every
    measure, which `sql` adds and which is never broken.
    `where` is the option that the commands at the end need to find the store.
    """
    text, table_width = Text(), table_width or width
    for line in _header(report, width):
        text.append(line + "\n")
    for line in _gaps(report, width):
        text.append(line + "\n", style="yellow")
    if report.only_proves_the_pipeline:
        text.append("\n" + wrapped(localized(CAUTION), width) + "\n", style="yellow")
    for remark in report.remarks:
        text.append(wrapped(localized("note") + localized(": ") + localized(remark.text), width) + "\n", style="yellow")
    alone = [table for table in report.measures if is_alone(table)]
    for table in report.measures:
        if table in alone:
            continue
        text.append(f"\n{shown_title(report.plan, table)}\n", style="bold")
        lines = measure_lines(report.plan, table, report.run.models, of_same(report, table), table_width)
        if (why := report.unworked.get(table.measure.name)) is not None:
            lines = [wrapped(localized(NO_SCORES) + localized(": ") + localized(why), width)]
        text.append("\n".join([*lines, *reason_lines(report.plan, table, width)]) + "\n")
        for line in baseline_lines(report.plan, table, width):
            text.append(line + "\n", style="yellow")
        if table.measure.corrected and table.rows:
            told = shown_title(report.plan, table.of_judge) + localized(" of the judge alone") + localized(": ")
            text.append("\n" + wrapped(told + localized(OF_JUDGE), width) + "\n", style="bold")
            lines = measure_lines(report.plan, table.of_judge, report.run.models, (), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, table.of_judge, width)]) + "\n")
        if (own := report.by_people.get(table.measure.name)) is not None:
            told = f"{shown_title(report.plan, own)}{localized(', of people: ')}{', '.join(report.apart)}"
            text.append("\n" + wrapped(told, width) + "\n", style="bold")
            lines = measure_lines(report.plan, own, report.run.models, tuple(report.by_people.values()), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, own, width)]) + "\n")
    if alone:
        told = f"Of several evaluators, and here is one: {', '.join(table.measure.name for table in alone)}."
        text.append("\n" + wrapped(localized(told), width) + "\n")
    for told in filter(None, (" ".join(map(localized, each.sentences)) for each in report.sharpening)):
        text.append("\n" + wrapped(told, width) + "\n")
    if report.made:
        text.append(f"\n{localized('made data sets')}\n", style="bold")
        text.append("\n".join(acceptance_lines(report.plan, report.made, width, table_width)) + "\n")
    if report.gates:
        text.append("\n")
        for line, style in expectation_lines(report.plan, report.gates, width, table_width):
            text.append(line + "\n", style=style)
        if report.mocked and not report.held:
            text.append(wrapped(localized(MOCKED), width) + "\n", style="yellow")
    for line in _footer(report, sql, where):
        text.append(line + "\n", style="dim")
    return text


def of_same(report: Report, table: MeasureTable) -> list[MeasureTable]:
    """Return the measures that may be the mean of what a table shows: one without people is none of cells with them."""
    own = graders_of(table.measure)
    return [each for each in report.measures if not report.apart or graders_of(each.measure) == own]


def is_alone(table: MeasureTable) -> bool:
    """Return true if a measure would set evaluators side by side, and there is one."""
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
    """Return how a run ended, and whether something is missing here for that."""
    return localized(status if status == "finished" else f"{status}, so not all that was planned is here")


def _people(counts: Mapping[str, int], apart: Sequence[str]) -> str:
    told = ", ".join(
        f"{name} ({localized(f'{count:,} score' if count == 1 else f'{count:,} scores')})"
        for name, count in counts.items()
    )
    return told + localized("; shown apart") if apart else told


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
    """Return the title of a measure in the reader's language, with its name; its name alone where it has none."""
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
    """Return the table of a measure: models beside each other where there is room, and else below each other."""
    if table.error is not None:
        return [
            wrapped(localized(f"no values: {shorten(table.error, LONGEST_ERROR, placeholder=' …')}"), width),
            localized(REPORT_IT),
        ]
    if not table.rows:
        return [localized(NO_SCORES)]
    shown = [model for model in models if any(row.model == model for row in table.rows)]
    shown += sorted({row.model for row in table.rows} - set(shown))
    lines = beside(plan, table, shown, others, width)
    if lines is not None:
        return lines
    if is_pooled(plan, table.measure.figure):
        rows = tuple(replace(row, model=ALL) for row in table.rows if row.model == shown[0])
        table, shown = replace(table, rows=rows), [ALL]
    return grid(columns_below(plan, table, shown), width)


def columns_below(plan: Plan, table: MeasureTable, models: Sequence[str]) -> list[TextColumn]:
    """Return a row for each value of the dimensions and model; without dimensions the best value first."""
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
        NOTHING if row.interval_low is None else f"{figure(row.interval_low)} – {figure(row.interval_high)}"
        for row in rows
    )
    columns.append(TextColumn(localized("value"), tuple(figure(row.value) for row in rows), right=True))
    columns.append(TextColumn(localized("95 % interval"), tuple(intervals), right=True))
    return columns + counts_of([[row] for row in rows])


def reason_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return why values, or their intervals, are not there: a line a reason. A figure of all models counts once."""
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
    """Return how to print a value of the table: all with the decimals that its values need."""
    decimals = decimals_of([row.value for row in rows])
    return lambda value: NOTHING if value is None else f"{value:.{decimals}f}"


def _footer(report: Report, sql: bool, where: str) -> list[str]:
    gates = [(f"expect {gate.expectation.shown}", as_measure(gate.expectation)) for gate in report.gates]
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


def sql_lines(plan: Plan, said: Sequence[tuple[str, Measure]]) -> list[str]:
    """Return the SQL of measures under their names."""
    lines: list[str] = []
    for name, measure in said:
        query = sql_of(plan, measure).strip()
        lines += ["", localized(f"SQL of {name}:"), *(f"  {line}" for line in query.splitlines())]
    return lines


def further_query(report: Report) -> str:
    """Return a query to begin with, of which no row mixes what is unlike."""
    if report.comparisons and not report.scores:
        columns = "first_model, second_model, step, evaluator, avg(value)"
        return f"select {columns} from {report.run.benchmark}.comparisons group by all"
    return f"from {report.run.benchmark}.means()"
