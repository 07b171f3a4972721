"""Reports, headlines, histories and judges as text for a terminal: readable at 80 columns, with labels of any script.

The headline is the end of a run in a few lines: the measures that represent the benchmark, with the figures of the
report, and what a reader must know about them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from tripos_compiler.diagnostics.i18n import chosen_language, localized, titles_language
from tripos_compiler.diagnostics.text_format import counted, percent, usd, wrap
from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.confusion import ReliabilityTable
from tripos_warehouse.measures.expectations import (
    BelowBaseline,
    CheckedExpectation,
    ExpectationOutcome,
    below_baseline,
    expectation_measure,
    is_baseline,
)
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.items import SHOWN, AnalysedItem, item_counts
from tripos_warehouse.measures.measure_rows import EXAGGERATED_DIFFERENCES, STOPPED_EARLY, MeasureTable
from tripos_warehouse.report.comparison import TITLES, notes_of
from tripos_warehouse.report.leaderboard import headlines
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.report.tables import (
    JUDGE_INTERVAL,
    NO_SCORES,
    best_first,
    comparable_measures,
    confusion_table,
    expectation_table,
    has_one_evaluator,
    history_table,
    item_table,
    judge_tables,
    measure_caption,
    measures_table,
    models_of,
    models_table,
    pivot_table,
    reliability_table,
    rows_table,
    section_table,
    too_few,
    yield_table,
)
from tripos_warehouse.tables.text import GAP, counts_note, fits, fitted, table_lines, without_counts, wrapped
from tripos_warehouse.tables.values import decimals_of, estimate_text
from tripos_warehouse.views.dimensions import dimension_label

if TYPE_CHECKING:
    from tripos_warehouse.measures.confusion import FigureTable
    from tripos_warehouse.measures.judges import CascadeUse, JudgedMetric, JudgeReport, ScorerThreshold
    from tripos_warehouse.report.comparison import Comparison
    from tripos_warehouse.report.history import MeasureHistory
    from tripos_warehouse.report.run_report import GenerationYield, Report
    from tripos_warehouse.views.runs import RunRecord


MOCKED = "mock models took part: no expectation fails this run"
"""The note on expectations that do not hold for mock models."""


def expectation_status(gate: CheckedExpectation) -> str:
    """Return whether an expectation holds, and on how many of its scores."""
    n, total = gate.scores
    if not total:
        return localized("held" if gate.held else "did not hold")
    scores = f"{n:,} of {total:,} scores"
    return localized(f"held on {scores}" if gate.held else f"did not hold on {scores}")


def partial_lines(gates: Sequence[CheckedExpectation]) -> list[str]:
    """Return a line for each expectation with missing scores, with the first figure that has too few."""
    lines = []
    for gate in gates:
        n, total = gate.scores
        if n < total:
            few = next((too_few(gate.expectation, outcome) for outcome in gate.outcomes if not outcome.covered), None)
            line = f"{expectation_status(gate)}{localized(': ')}{gate.expectation.shown}"
            lines.append(line if few is None else f"{line} ({localized(few)})")
    return lines


def why_undecided(outcome: ExpectationOutcome) -> str:
    """Return why a figure has no value, or no interval to compare."""
    return f"{'no value' if outcome.row.value is None else 'no interval'}: {outcome.row.reason}"


def baseline_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return a line for each model that is not better than a baseline, with the cells and the baselines."""
    decimals = decimals_of([row.value for row in table.rows])
    lines: list[str] = []
    below = below_baseline(table)
    for model in dict.fromkeys(baseline.row.model for baseline in below):
        texts = [_baseline_text(plan, table, baseline, decimals) for baseline in below if baseline.row.model == model]
        lines.append(wrapped(localized(f"not clear of a baseline: {model}, {'; '.join(texts)}"), width))
    return lines


def _baseline_text(plan: Plan, table: MeasureTable, below: BelowBaseline, decimals: int) -> str:
    """Return a value that is not better than a baseline, with that of the baseline and the cell of both."""
    row, language = below.row, titles_language()
    cell = [dimension_label(plan, name, value, language) for name, value in zip(table.measure.by, row.by, strict=True)]
    where = f"{', '.join(cell)}: " if cell else ""
    value = estimate_text(row, f"{{:.{decimals}f}}".format)
    text = localized(f"{value} to {below.baseline_value:.{decimals}f} of {below.baseline}")
    return f"{where}{text}"


STYLES = {True: "green", False: "red"}
"""The style of a line, by whether an expectation holds."""


def expectation_lines(
    plan: Plan, gates: Sequence[CheckedExpectation], width: int, table_width: int
) -> Iterator[tuple[str, str]]:
    """Yield lines of at most `width` cells, those of tables of at most `table_width`, each with its style: how many
    expectations hold, then a line and a table for each."""
    failed = sum(not gate.held for gate in gates)
    count = f"{len(gates) - failed} held" + (f", {failed} did not" if failed else "")
    yield localized(f"expectations: {count}"), "bold"
    for gate in gates:
        words = f"{expectation_status(gate)}{localized(': ')}{gate.expectation.shown}"
        first, *more = wrap(words, width - 2)
        for line in (first, *(f"  {continued}" for continued in more)):
            yield line, STYLES[gate.held]
        for line in table_lines(expectation_table(plan, gate, titles_language()), table_width - 2):
            yield f"  {line}", ""
        for reason in dict.fromkeys(why_undecided(outcome) for outcome in gate.outcomes if outcome.margin is None):
            for line in wrap(localized(reason), width - 2):
                yield f"  {line}", ""


LONGEST_ERROR = 240
"""The most characters shown of an error of the database."""
REPORT_IT = "please report it with the spec; the other measures do not rest on it"
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
    for table in report.measures:
        if has_one_evaluator(table):
            continue
        text.append(f"\n{measure_caption(report.plan, table)}\n", style="bold")
        lines = measure_lines(report.plan, table, report.run.models, comparable_measures(report, table), table_width)
        if (why := report.not_computed.get(table.measure.name)) is not None:
            lines = [wrapped(localized(NO_SCORES) + localized(": ") + localized(why), width)]
        text.append("\n".join([*lines, *reason_lines(report.plan, table, width)]) + "\n")
        for line in baseline_lines(report.plan, table, width):
            text.append(line + "\n", style="yellow")
        if table.measure.corrected and table.rows:
            title = measure_caption(report.plan, table.judge_table) + localized(" of the judge alone") + localized(": ")
            text.append("\n" + wrapped(title + localized(JUDGE_INTERVAL), width) + "\n", style="bold")
            lines = measure_lines(report.plan, table.judge_table, report.run.models, (), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, table.judge_table, width)]) + "\n")
        if (people := report.by_people.get(table.measure.name)) is not None:
            title = f"{measure_caption(report.plan, people)}{localized(', of people: ')}{', '.join(report.apart)}"
            text.append("\n" + wrapped(title, width) + "\n", style="bold")
            lines = measure_lines(report.plan, people, report.run.models, tuple(report.by_people.values()), table_width)
            text.append("\n".join([*lines, *reason_lines(report.plan, people, width)]) + "\n")
    if (sentence := one_evaluator_sentence(report)) is not None:
        text.append("\n" + wrapped(localized(sentence), width) + "\n")
    for advice in filter(None, (" ".join(map(localized, design.sentences)) for design in report.design_advice)):
        text.append("\n" + wrapped(advice, width) + "\n")
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


MOST_EVALUATED = 8
"""The most models, or evaluators, that the sentences at the beginning name."""


def opening_sentences(run: RunRecord, plan: Plan, evaluators: Sequence[str]) -> tuple[str, str]:
    """Return what was asked of whom, and who graded. `evaluators` are those of the report of the run."""

    def listed(names: Sequence[str]) -> str:
        return ", ".join([*names[:MOST_EVALUATED], *(["…"] if len(names) > MOST_EVALUATED else [])])

    size = f"{counted(run.items, 'item')} in {counted(len(plan.scenarios), 'scenario')}"
    asked = f"{size} {'was' if run.items == 1 else 'were'} asked of {listed(run.models)}."
    if not evaluators:
        return asked, "Scored by the rules of the benchmark: nobody graded."
    return asked, f"Graded by {listed(evaluators)}."


def one_evaluator_sentence(report: Report) -> str | None:
    """Return which measures need several evaluators and have one, so that they are left out; None without any."""
    names = [table.measure.name for table in report.measures if has_one_evaluator(table)]
    return f"Of several evaluators, and here is one: {', '.join(names)}." if names else None


def header_title(report: Report) -> str:
    """Return the title of a report: the benchmark with its version and its title."""
    benchmark = report.plan.benchmark
    name_of_benchmark = report.plan.title_of("benchmark", benchmark.name, titles_language()) or benchmark.title
    return f"{report.run.benchmark} {report.run.version}" + (f" · {name_of_benchmark}" if name_of_benchmark else "")


def header_facts(report: Report) -> dict[str, str]:
    """Return the facts about a run by their names: its time and status, models, evaluators, cost and statuses."""
    run, benchmark = report.run, report.plan.benchmark
    facts = {
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
    return {name if name in roles else localized(name): value for name, value in facts.items()}


def _header(report: Report, width: int) -> list[str]:
    """Return the title of a report, and a line for each fact about the run."""
    lines, facts = [wrapped(header_title(report), width)], header_facts(report)
    widest = max(map(cell_len, facts))
    for name, value in facts.items():
        indent = " " * (widest + len(GAP))
        begin = name + indent[cell_len(name) :]
        lines.append((begin + wrapped(value, width - len(indent)).replace("\n", "\n" + indent)).rstrip())
    return lines


def _gaps(report: Report, width: int) -> list[str]:
    """Return the lines of undefined scores and of calls that were not made: the most frequent reasons of each."""
    lines: list[str] = []
    for kind in dict.fromkeys(gap.kind for gap in report.gaps):
        gaps = [gap for gap in report.gaps if gap.kind == kind]
        begin = f"! {localized(kind)}{localized(': ')}"
        lines += [wrapped(begin + localized(gap.shown), width) for gap in gaps[:MOST_GAPS]]
        if len(gaps) > MOST_GAPS:
            left = sum(gap.count for gap in gaps[MOST_GAPS:])
            more = f"{left:,} more, for {len(gaps) - MOST_GAPS:,} other reasons"
            lines.append(wrapped(begin + localized(more), width))
    return lines


def _ending(status: str) -> str:
    """Return the status of a run, and that something is missing unless the run is finished."""
    return localized(status if status == "finished" else f"{status}, so not all that was planned is here")


def _people(counts: Mapping[str, int], separate_people: Sequence[str]) -> str:
    """Return the people who graded, with their numbers of scores."""
    text = ", ".join(
        f"{name} ({localized(f'{count:,} score' if count == 1 else f'{count:,} scores')})"
        for name, count in counts.items()
    )
    return text + localized("; shown apart") if separate_people else text


def _statuses(counts: Mapping[str, int]) -> str:
    """Return the number of results, and the number and the share of each status."""
    total = sum(counts.values())
    if not total:
        return localized("none")
    parts = [f"{count:,} {localized(status)} ({percent(count / total)})" for status, count in counts.items()]
    return f"{total:,}: {', '.join(parts)}"


def measure_lines(
    plan: Plan, table: MeasureTable, models: Sequence[str], others: Sequence[MeasureTable], width: int
) -> list[str]:
    """Return the table of a measure: models side by side if there is room, otherwise one below the other. Measures in
    `others` that are means of its cells are included in it."""
    if table.error is not None:
        return [
            wrapped(localized(f"no values: {shorten(table.error, LONGEST_ERROR, placeholder=' …')}"), width),
            localized(REPORT_IT),
        ]
    if not table.rows:
        return [localized(NO_SCORES)]
    texts, language = models_of(table, models), titles_language()
    pivot = pivot_table(plan, table, texts, others, language=language)
    if pivot is not None and (lines := fitted(pivot, width)) is not None:
        return lines.lines()
    return table_lines(rows_table(plan, table, texts, language=language), width)


def reason_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """Return why values or their intervals are missing: one line per reason. A figure of all models counts once."""
    pooled = is_pooled(table.measure.figure, measures_of(plan))
    rows = [row for row in table.rows if not pooled or row.model == table.rows[0].model]
    counts: dict[str, int] = {}
    for row in rows:
        if row.reason is not None:
            what = "value" if row.value is None else "interval"
            text = f"no {what}: {row.reason}"
            counts[text] = counts.get(text, 0) + 1
    lines = (f"{text} ({count} cells)" if count > 1 else text for text, count in counts.items())
    return [wrapped(localized(line), width) for line in lines]


def _footer(report: Report, sql: bool, where: str) -> list[str]:
    """Return the lines below a report: the SQL of its figures, if `sql`, and commands that show more."""
    gates = [
        (f"expect {gate.expectation.shown}", expectation_measure(gate.expectation)) for gate in report.expectations
    ]
    figures = [*((table.measure.name, table.measure) for table in report.measures), *gates]
    lines = sql_lines(report.plan, figures) if sql else []
    schema = report.run.benchmark
    command = f"tripos sql {where}".rstrip()
    has_rejected = any(yield_.made < yield_.attempts for yield_ in report.made)
    judged = any(scorer.gives_reasons for scorer in report.plan.scorers)
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
        *([f'  {command} "from {schema}.slots where attempts > 1 limit 5"'] if has_rejected else []),
    ]


def sql_lines(plan: Plan, measures: Sequence[tuple[str, Measure]]) -> list[str]:
    """Return the SQL of measures under their names."""
    lines: list[str] = []
    for name, measure in measures:
        query = sql_of(plan, measure).strip()
        lines += ["", localized(f"SQL of {name}:"), *(f"  {line}" for line in query.splitlines())]
    return lines


def further_query(report: Report) -> str:
    """Return a first query for a reader, none of whose rows mixes different kinds of scores."""
    if report.comparisons and not report.scores:
        columns = "first_model, second_model, step, evaluator, avg(value)"
        return f"select {columns} from {report.run.benchmark}.comparisons group by all"
    return f"from {report.run.benchmark}.means()"


MOST_LINES = 20
"""The most lines of a headline."""
LEAST_TABLE = 16
"""The number of lines that the table gets before notes get any."""
VALUED = ("ok", "scored", "not_applicable")
"""Statuses of results that have a value, or need none."""
FEW = 5
"""With more models, a sentence about them has one line."""
MOST_NAMED = 3
"""The most expectations, and groups of models, that are named."""

TableLines = tuple[list[str], list[str]]
"""The lines of a table, and texts such as "2 more models" for what is left out of it."""
Block = tuple[list[str], str]
"""Lines that are shown together, and their style."""


def render_headline(report: Report, width: int = 80, table_width: int | None = None, sql: bool = False) -> Text:
    """Return the headline of a report in at most 20 lines of `width` cells, in tables `table_width`; with `sql`, the
    SQL of the measures follows.

    If there are more models, measures or notes, the last line says how many are left out.
    """
    width, table_width = max(width, 1), table_width or width
    tables = headline_tables(report)
    title = wrapped(_title(report), width).split("\n"), "bold"
    required, notes = list(_required(report, tables, width)), list(_notes(report, width))
    room = MOST_LINES - 2 - sum(len(lines) for lines, _ in (title, *required))
    without_notes = room - sum(len(lines) for lines, _ in notes)
    shown_lines, left_out = _shown(report, tables, table_width, max(without_notes, min(room, LEAST_TABLE)))
    shown_notes: list[Block] = []
    for note in notes:
        if sum(len(lines) for lines, _ in (*shown_notes, note)) <= room - len(shown_lines):
            shown_notes.append(note)
    left_out = [*left_out, *_left_out(len(notes) - len(shown_notes), "note")]
    last = ([localized("in the report: ") + ", ".join(left_out)] if left_out else []), "dim"
    text = Text()
    for lines, style in (title, ([""], ""), (shown_lines, ""), last, *required, *shown_notes):
        text.append("".join(f"{line}\n" for line in lines), style=style)
    if sql:
        figures = [(table.measure.name, table.measure) for table in tables]
        text.append("\n".join([*sql_lines(report.plan, figures), ""]), style="dim")
    return text


def headline_tables(report: Report) -> list[MeasureTable]:
    """Return the measures that represent the benchmark, those with values if there are any; otherwise the first one
    with rows, or the first one."""
    order = [measure.name for measure in headlines(report.plan)]
    tables = sorted(
        (table for table in report.measures if table.measure.name in order),
        key=lambda table: order.index(table.measure.name),
    )
    with_values = [table for table in tables if table.rows or table.error is not None]
    return with_values or tables or [table for table in report.measures if table.rows][:1] or list(report.measures[:1])


def _title(report: Report) -> str:
    """Return the first line of a headline: the benchmark, the numbers of results, and the cost."""
    run = report.run
    ended = "" if run.ended else f"{localized(', ')}{localized(run.status)}"
    counts = [localized(f"{sum(report.samples.values()):,} replies") + _without_value(report.samples)]
    if report.scores:
        counts.append(localized(f"{sum(report.scores.values()):,} scores") + _without_value(report.scores))
    if report.comparisons:
        compared = localized(f"{sum(report.comparisons.values()):,} comparisons")
        counts.append(compared + _without_value(report.comparisons))
    texts = [*counts, localized("cost unknown") if run.cost_usd is None else f"{usd(run.cost_usd)} USD"]
    return f"{run.benchmark} {run.version}{ended}{localized(': ')}{localized(', ').join(texts)}"


def _without_value(statuses: Mapping[str, int]) -> str:
    """Return the number of results without a value, by their statuses, in parentheses; empty if all have one."""
    count = sum(number for status, number in statuses.items() if status not in VALUED)
    return f" ({localized(f'{count:,} without a value')})" if count else ""


def _shown(report: Report, tables: Sequence[MeasureTable], width: int, room: int) -> TableLines:
    """Return the lines of the tables of a headline, at most `room`."""
    if not tables:
        return [localized("no measures")], []
    models = [model for model in report.run.models if any(row.model == model for table in tables for row in table.rows)]
    if len(tables) == 1:
        return _one_measure(report, tables[0], models, width, room)
    if len(models) <= 1:
        return _measures_below(tables, width, room)
    return _matrix(tables, models, width, room)


def _one_measure(report: Report, table: MeasureTable, models: Sequence[str], width: int, room: int) -> TableLines:
    """Return the table of a measure as in the report, without the last rows if they do not fit."""
    if not table.measure.by and table.rows and not fits(rows_table(report.plan, table, models), width):
        return _matrix([table], models, width, room)
    ranked = _ranked(table, models)
    places = list(dict.fromkeys(row.by if table.measure.by else row.model for row in ranked.rows))
    count = len(places)
    while True:
        shown = set(places[:count])
        rows = tuple(row for row in ranked.rows if (row.by if table.measure.by else row.model) in shown)
        measure_table = replace(table, rows=rows)
        lines = [
            measure_caption(report.plan, table),
            *measure_lines(report.plan, measure_table, models, comparable_measures(report, table), width),
        ]
        lines = [
            part for line in (*lines, *reason_lines(report.plan, measure_table, width)) for part in line.split("\n")
        ]
        if len(lines) <= room or count <= 1:
            return lines, _left_out(len(places) - count, "value" if table.measure.by else "model")
        count -= 1


def _ranked(table: MeasureTable, models: Sequence[str]) -> MeasureTable:
    """Return a table with its best models first, so that the last ones are left out; unchanged if it has dimensions."""
    if table.measure.by:
        return table
    rows = sorted(table.rows, key=lambda row: models.index(row.model) if row.model in models else len(models))
    return replace(table, rows=tuple(best_first(rows, lower_is_better=table.lower_is_better)))


def _required(report: Report, tables: Sequence[MeasureTable], width: int) -> Iterator[Block]:
    """Yield the blocks that always follow the figures."""
    longest = width if len(report.run.models) > FEW else 2 * width
    if (text := baseline_sentence(report, tables, longest)) is not None:
        yield wrapped(text, width).split("\n"), "yellow"
    unread = [remark.text for remark in report.remarks if remark.kind == "unread"]
    for text in unread[:MOST_NAMED]:
        yield wrapped(localized(text), width).split("\n"), "yellow"
    if len(unread) > MOST_NAMED:
        text = f"{len(unread) - MOST_NAMED:,} more with unread replies are in the report"
        yield wrapped(localized(text), width).split("\n"), "yellow"
    failed = [table.measure.name for table in report.measures if table.error is not None]
    failed += [f"expect {gate.expectation.shown}" for gate in report.expectations if gate.failed]
    if failed:
        yield (
            wrapped(localized(f"no values of {_first_names(failed)}: the database refused the SQL"), width).split("\n"),
            "red",
        )
    if report.expectations:
        not_held = [gate.expectation.shown for gate in report.expectations if not gate.held]
        count = f"{len(report.expectations) - len(not_held)} held" + (f", {len(not_held)} did not" if not_held else "")
        text = localized(f"expectations: {count}") + (localized(": ") + _first_names(not_held) if not_held else "")
        lines = wrapped(text, width).split("\n")
        for line in partial_lines(report.expectations)[:MOST_NAMED]:
            lines += wrapped(line, width).split("\n")
        if not_held and report.mocked:
            lines += wrapped(localized(MOCKED), width).split("\n")
        yield lines, STYLES[not not_held or report.mocked]
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
    by_measure = {table.measure.name: below_baseline(table) for table in report.measures}
    groups: dict[tuple[str, ...], list[str]] = {}
    for table in tables:
        models = tuple(dict.fromkeys(below.row.model for below in by_measure[table.measure.name]))
        if models:
            groups.setdefault(models, []).append(table.measure.name)
    names = [name for name, below_ in by_measure.items() if below_]
    if not names:
        return None
    compared = [model for model in report.run.models if not is_baseline(model)]
    others = len(names) - sum(map(len, groups.values()))
    parts = [f"{_model_names(models, compared)} in {_first_names(measures)}" for models, measures in groups.items()]
    parts += _left_out(others, "measure")
    text = localized(f"not clear of a baseline: {'; '.join(parts)}")
    if cell_len(text) <= longest:
        return text
    models_below = {below.row.model for of_measure in by_measure.values() for below in of_measure}
    counts = f"{len(models_below)} of {len(compared)} models in {len(names)} of {len(by_measure)} measures"
    return localized(f"not clear of a baseline: {counts}")


def _model_names(models: Sequence[str], compared: Sequence[str]) -> str:
    """Return the names of models, or "every model" if they are all that are compared."""
    return "every model" if len(compared) > 1 and set(models) >= set(compared) else _first_names(models)


def _first_names(names: Sequence[str]) -> str:
    """Return the first names and the number of others.

    >>> _first_names(["a", "b", "c", "d", "e"]), _first_names(["a"])
    ('a, b, c and 2 more', 'a')
    """
    others = len(names) - MOST_NAMED
    return ", ".join(names) if others <= 0 else f"{', '.join(names[:MOST_NAMED])} and {others} more"


def _measures_below(tables: Sequence[MeasureTable], width: int, room: int) -> TableLines:
    """Return a table with a line for each measure of one model, in at most `room` lines: the first measures that
    fit."""
    count = len(tables)
    while True:
        models = [next((row.model for table in tables for row in table.rows), "")]
        lines = table_lines(measures_table(tables[:count], models), width)
        if len(lines) <= room or count == 1:
            return lines, _left_out(len(tables) - count, "measure")
        count -= 1


def _matrix(tables: Sequence[MeasureTable], models: Sequence[str], width: int, room: int) -> TableLines:
    """Return a table of several measures of several models, in at most `room` lines. Models are side by side if they
    fit, otherwise as many measures as fit; the best models by the first measure come first."""
    full = measures_table(tables, models)
    for table in (full, without_counts(full)):
        if fits(table, width):
            lines = [*table_lines(table, width), *([] if table is full else [counts_note(full)])]
            if len(lines) <= room:
                return lines, []
    ordered = _best_first(tables[0], models)
    shown = len(tables)
    while shown > 1 and not any(fits(models_table(tables[:shown], ordered), width, form) for form in ("ci", "pm")):
        shown -= 1
    counted = counts_note(measures_table(tables[:shown], models))
    count = len(ordered)
    while True:
        lines = [*table_lines(models_table(tables[:shown], ordered[:count]), width), counted]
        if len(lines) <= room or count == 1:
            return lines, [*_left_out(len(ordered) - count, "model"), *_left_out(len(tables) - shown, "measure")]
        count -= 1


def _best_first(table: MeasureTable, models: Sequence[str]) -> list[str]:
    """Return models from the best value to the worst; those without a value are last."""
    sign = 1.0 if table.lower_is_better else -1.0
    values = {row.model: sign * row.value for row in table.rows if row.value is not None}
    return sorted(models, key=lambda model: values.get(model, float("inf")))


def _left_out(count: int, noun: str) -> list[str]:
    """Return the text "2 more models" for a number of things that are not shown; empty for none."""
    return [localized(f"{count:,} more {noun}" if count == 1 else f"{count:,} more {noun}s")] if count else []


def render_history(history: MeasureHistory, width: int = 80) -> list[str]:
    """Return the lines of a history as text, at most `width` cells wide if the figures have room."""
    runs = {point.run.run_id for line in history.lines for point in line.points}
    text = history.plan.title_of("measure", history.measure, titles_language())
    title = f": {text}" if text else ""
    lines = wrap(f"{history.measure} ({history.benchmark}){title}", width)
    count, breaks = len(runs), history.breaks
    text = f"{count:,} {'run' if count == 1 else 'runs'}, {breaks:,} {'break' if breaks == 1 else 'breaks'}"
    lines += wrap(localized(text), width)
    for history_line in history.lines:
        by = [f"{name} {value}" for name, value in zip(history.dimensions, history_line.by, strict=False)]
        lines += [
            "",
            *wrap(", ".join([history_line.model, *by]), width),
            *table_lines(history_table(history_line), width),
        ]
    if any(point.run.stopped_early for line in history.lines for point in line.points):
        lines += ["", *wrap(localized(STOPPED_EARLY), width), *wrap(localized(EXAGGERATED_DIFFERENCES), width)]
    if history.unread:
        lines.append("")
    for unread in history.unread:
        lines += wrap(localized(f"without {unread.run.run_id}: {unread.reason}"), width)
    return lines


def render_judges(report: JudgeReport, plan: Plan, width: int, table_width: int) -> list[str]:
    """Return the report on the judges of a run as lines, one part per metric."""
    lines: list[str] = []
    for metric in report.metrics:
        label = dimension_label(plan, "metric", metric.metric, titles_language())
        title = label if metric.metric == metric.scorer else f"{label} ({metric.scorer})"
        tables = judge_tables(metric)
        lines += [*([""] if lines else []), title]
        for name in JUDGE_PARTS:
            part = [*_before(metric, name, table_width)]
            part += table_lines(tables[name], table_width) if name in tables else []
            part += [*_after(metric, name, table_width)]
            lines += [*([""] if part and name != "raters" else []), *part]
    for use in report.cascades:
        lines += ["", *_cascade(use, width)]
    for threshold in report.thresholds:
        lines += ["", *_threshold(threshold, width)]
    if not report.metrics:
        text = "no judge and no person scored a reply of this run"
        if plan.scorers:
            text = "no score is that of a judge or a person alone: `judgements` has the verdicts behind computed scores"
        lines.append(wrapped(localized(text), width))
    elif not report.people:
        text = "nobody graded these replies: `tripos annotate` asks people, by whom judges are calibrated"
        lines += ["", wrapped(localized(text), width)]
    return lines


JUDGE_PARTS = ("raters", "panel", "stability", "noise", "calibration", "curves", "prevalences", "drifts")
"""The parts about the judges of a metric, in their order."""


def _before(metric: JudgedMetric, part: str, width: int) -> Iterator[str]:
    """Yield the sentences above the table of a part: for a panel the components of the variance of a score, for noise
    the share of the disagreement of judges that is chance."""
    if part == "noise" and metric.noise is not None and metric.noise.share.value is not None:
        share = estimate_text(metric.noise.share, percent)
        yield wrapped(localized(f"of the disagreement of judges, chance within a judge: {share}"), width)
    study = metric.panel
    if part != "panel" or study is None:
        return
    if study.reason is not None:
        yield wrapped(localized(f"nothing is known of panels of judges like these: {study.reason}"), width)
        return
    total = sum(study.components.values())
    if total > 0:
        replies, judges, rest = (percent(component / total) for component in study.components.values())
        text = f"of the variance of a score: replies {replies}, judges {judges}, the rest {rest}"
        yield wrapped(localized(text), width)


def _after(metric: JudgedMetric, part: str, width: int) -> Iterator[str]:
    """Yield why values of a part are missing: shares at the ends of a scale, intervals of panels, calibrations."""
    if part == "raters" and any(rater.lowest is None or rater.highest is None for rater in metric.raters):
        yield wrapped(localized("no share at the ends of a scale: the scores of a rater have none"), width)
    if part == "calibration":
        reasons = (calibration.reason for calibration in metric.calibrations.values())
        for reason in dict.fromkeys(filter(None, reasons)):
            yield wrapped(localized(reason), width)
    if part == "panel" and metric.panel is not None and metric.panel.reason is None:
        first = metric.panel.designs[0]
        why = next((estimate.reason for estimate in (first.relative, first.absolute) if estimate.reason), None)
        if why is not None:
            yield wrapped(localized(f"an interval is missing: {why}"), width)


def _cascade(use: CascadeUse, width: int) -> Iterator[str]:
    """Yield the sentences about the calls of a cascade."""
    share = estimate_text(use.escalated, percent)
    text = f"{use.scorer}, unsure below {use.unsure_below:g}: {share} of {use.escalated.n:,} replies were escalated"
    yield wrapped(localized(text), width)
    known = use.cost_usd is not None and use.saved_usd is not None
    money = f"; {usd(use.cost_usd or 0.0)} USD paid, {usd(use.saved_usd or 0.0)} USD saved" if known else ""
    calls = f"calls of stronger judges: {use.calls:,} made, {use.saved_calls:,} saved{money}"
    yield wrapped(localized(calls), width)


def _threshold(threshold: ScorerThreshold, width: int) -> Iterator[str]:
    """Yield the sentences about a learned threshold."""
    learned = threshold.learned
    if learned.threshold is None:
        yield wrapped(localized(f"{threshold.scorer}: no threshold could be learned, since {learned.reason}"), width)
        return
    below, level = _rounded_down(learned.threshold), percent(threshold.level)
    text = f"{threshold.scorer}: `unsure below {below}` agrees with people in {level} or more"
    yield wrapped(localized(text), width)
    chosen = next(tested for tested in learned.tested if tested.threshold == learned.threshold)
    share, least = percent(chosen.agreed / chosen.n), percent(chosen.least)
    items = f"of {chosen.n:,} graded items that are as sure {share} agree, {least} at the least"
    yield wrapped(localized(items), width)
    yield wrapped(localized(f"it saves the stronger judge {percent(learned.trusted)} of the replies"), width)


def _rounded_down(threshold: float) -> str:
    """Return a threshold rounded down to four digits: a reply that is exactly as confident must not be below it.

    >>> _rounded_down(2 / 3), _rounded_down(0.8), _rounded_down(1.0)
    ('0.6666', '0.8', '1')
    """
    return f"{math.floor(threshold * 10_000 + 1e-9) / 10_000:g}"


def render_comparison(comparison: Comparison, width: int = 80) -> list[str]:
    """Return the lines of a comparison: a table and the verdicts of every section, and what it leaves out."""
    lines: list[str] = []
    for section in comparison.sections:
        if section.rows:
            table = section_table(section, comparison.tests, titles_language())
            *columns, column = table.columns
            lines += ["", localized(TITLES[section.kind])]
            lines += table_lines(replace(table, columns=tuple(columns)), width)
            for name, verdict in zip(columns[0].cells, column.cells, strict=True):
                lines.append(f"  {name}{localized(': ')}{localized(str(verdict))}")
    lines += ["", *map(localized, notes_of(comparison))]
    return lines


MOST_VALUES = 8
"""The most values of an axis by which the printed report has yields; its JSON has all of them."""


def yield_lines(plan: Plan, yields: Sequence[GenerationYield], width: int, width_of_table: int) -> list[str]:
    """Return a table of yields, by axes of few values, and below it a line for each data set with rejected attempts."""
    long_axes = {axis.name for axis in plan.axes if len(axis.values) > MOST_VALUES}
    yields = [yielded for yielded in yields if yielded.by not in long_axes]
    texts = [
        _yield_line(yielded)
        for yielded in yields
        if yielded.by is None and (yielded.reasons or yielded.made < yielded.slots)
    ]
    lines = table_lines(yield_table(plan, yields, titles_language()), width_of_table)
    return [*lines, *(wrapped(line, width) for line in texts)]


def _yield_line(yielded: GenerationYield) -> str:
    """Return why attempts were rejected, and the number of slots given up.

    >>> from tripos_warehouse.report.run_report import GenerationYield
    >>> _yield_line(GenerationYield("item", None, None, 4, 3, 6, {"verify": 2, "too_near": 1}))
    'item: 1 given up; rejected: verify 2, too_near 1'
    """
    given_up = yielded.slots - yielded.made
    parts = [localized(f"{given_up:,} given up")] if given_up > 0 else []
    if yielded.reasons:
        parts.append(
            localized("rejected")
            + localized(": ")
            + ", ".join(f"{reason} {count:,}" for reason, count in yielded.reasons.items())
        )
    return f"{yielded.dataset}: {'; '.join(parts)}"


def figure_tables_text(tables: Sequence[FigureTable], width: int) -> str:
    """Return the tables behind figures as text, `width` cells wide."""
    return "\n".join("".join(f"{line}\n" for line in _figure_table_lines(table, width)) for table in tables)


def _figure_table_lines(table: FigureTable, width: int) -> Iterator[str]:
    """Yield the lines of one table behind a figure."""
    if isinstance(table, ReliabilityTable):
        text = f"{table.measure}, {table.model}: probabilities, and the share that came true"
        yield wrapped(localized(text), width)
        yield from table_lines(reliability_table(table), width) if table.bins else [localized("nothing has a value")]
        return
    text = f"{table.measure}, {table.model}: what is right (rows), and what was said (columns)"
    yield wrapped(localized(text), width)
    if not table.counts:
        yield localized(f"{len(table.classes):,} classes are too many for a table")
        return
    yield from table_lines(confusion_table(table), width)
    if table.uneven:
        yield wrapped(localized(table.uneven), width)


def items_text(items: Sequence[AnalysedItem], plan: Plan, width: int) -> str:
    """Return the items as text, `width` cells wide: a summary of each metric, and its first items as a table. Metrics
    have their names, or titles in a language that the reader chose."""
    language = chosen_language()
    blocks = []
    for metric in dict.fromkeys(item.metric for item in items):
        analysed_items = [item for item in items if item.metric == metric]
        title = metric if language is None else dimension_label(plan, "metric", metric, language)
        lines = _item_lines(title, item_counts(items, metric), analysed_items, plan.benchmark.name, width)
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _item_lines(
    title: str, counts: Mapping[str, Any], items: Sequence[AnalysedItem], benchmark: str, width: int
) -> Iterator[str]:
    """Yield the lines of the items of one metric, with this title and these numbers of items."""
    text = localized(f"{title}: {counted(len(items), 'item')}")
    parts = {
        "solved by every model": counts["every_model"],
        "by no model": counts["no_model"],
        "judges split": counts["split"],
        "against the rest": counts["wrong_key"],
        "nearly another": counts["near"],
    }
    yield wrapped("; ".join([text, *(f"{localized(name)} {count:,}" for name, count in parts.items() if count)]), width)
    first = items[:SHOWN]
    yield from table_lines(item_table(first), width)
    if len(items) > len(first):
        yield localized(f"{len(items) - len(first):,} more: from {benchmark}.item_analysis()")
