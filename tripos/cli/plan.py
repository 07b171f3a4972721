"""`tripos plan`: the contexts, items and model calls of a benchmark, their prompts, and the size of a sufficient study.

No call is made. Numbers of calls are exact, or a range if they depend on replies.
"""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import orjson

from tripos.cli.benchmarks import run_each
from tripos.cli.context import Context, Outcome, Styled
from tripos.cli.tables import printed_lines
from tripos.releases.frozen import withheld_note
from tripos.runs.compilation import CompiledSpec
from tripos.runs.early_stopping import EarlyStoppingForecast
from tripos.runs.planning import (
    DesignPlan,
    DesignQuestion,
    RunPlan,
    design_run,
    expected_labels,
    learned_components,
    plan_run,
    preview_run,
)
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config
from tripos.settings.load import ChosenSettings
from tripos.settings.options import JSON, LIMIT, ONLY, SEED, AnnotateParameters, PlanParameters
from tripos.terminal import escape_controls, is_colored, message, show_message, table_width, terminal_width
from tripos_compiler.diagnostics.i18n import localized, titles_language
from tripos_compiler.diagnostics.text_format import usd, wrap
from tripos_compiler.errors import TriposError
from tripos_compiler.language.contexts import left_out_arm_values, steps_sharing_replies
from tripos_compiler.language.sequential_stopping import (
    DECIDABLE_OPERATORS,
    SequentialFigure,
    SequentialMean,
    sequential_figure,
)
from tripos_compiler.plan import Expectation, Plan, Scenario, Score, Walk
from tripos_runtime.datasets.cases import PlannedStepCalls
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import TOOL
from tripos_warehouse.measures.study_design import MeasureComponents
from tripos_warehouse.statistics.power import detectable_difference, least_shown_mean, least_shown_share
from tripos_warehouse.statistics.variance import CORRELATION
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.render import to_text
from tripos_warehouse.tables.text import fits, fold
from tripos_warehouse.tables.values import decimals_of

if TYPE_CHECKING:
    from tripos.runs.planning import RunPreview
    from tripos_runtime.datasets.cases import Case
    from tripos_runtime.forecast.prompts import PromptPreview
    from tripos_runtime.models.base import Message


INDENT = "    "
BULLET = "  - "
MOST_NAMED = 5
"""The maximum number of items without a prompt that are named."""


# Prompts
def prompt_lines(preview: RunPreview) -> Iterator[str]:
    """Yield the lines of prompts, item by item, then the items and scenarios without a prompt."""
    prompts, width = preview.prompts, terminal_width()
    for (scenario, item, context), group in groupby(prompts, key=_item):
        yield from wrap(f"{scenario}  {escape_controls(item)}  {context}".rstrip(), width)
        for prompt in group:
            yield ""
            yield from wrap(_head(prompt), width)
            for line in _about(prompt):
                folded = wrap(line, width - len(BULLET))
                yield from (f"{' ' * len(BULLET) if at else BULLET}{part}" for at, part in enumerate(folded))
            for message_ in prompt.messages:
                yield f"  {message_.role}:"
                content = _readable(message_)
                lines = [part for line in content.split("\n") for part in fold(line, width - len(INDENT))]
                yield from (f"{INDENT}{line}".rstrip() for line in lines)
        yield ""
    if any("⟨" in message_.content for prompt in prompts for message_ in prompt.messages):
        yield from wrap(localized("Parts in ⟨⟩ are not known before models reply."), width)
    for reasons in _missing_prompts(preview):
        yield from wrap(localized(reasons), width)


def _missing_prompts(preview: RunPreview) -> Iterator[str]:
    """Yield a sentence for each item and scenario without a prompt, with the reason."""
    for scenario, group in groupby(preview.unasked, key=lambda case: case.scenario.name):
        items = [_label(case_) for case_ in group]
        names = ", ".join(
            [*(f"`{escape_controls(item)}`" for item in items[:MOST_NAMED]), *["…"][: len(items) > MOST_NAMED]]
        )
        count = len(items)
        yield (
            f"Nothing is sent for {count:,} of the items of `{scenario}`: the `when` of each step that asks is false, "
            f"or a part of what it asks has no value: {names}"
        )
    if preview.without:
        names = ", ".join(f"`{name}`" for name in preview.without)
        yield f"No prompt of {names}: the rows are yet to be made, or no item is selected."


def _label(case: Case) -> str:
    return " ".join([case.item_id, *case.context.values()])


def _item(prompt: PromptPreview) -> tuple[str, str, str]:
    context = ", ".join(f"{axis} {value}" for axis, value in prompt.context.items())
    return prompt.scenario, prompt.item_id, context


def _head(prompt: PromptPreview) -> str:
    """Return the heading of a prompt: step, role and treatments, and whether the call is certain."""
    arms = f", {prompt.arms}" if prompt.arms else ""
    perhaps = "" if prompt.certain else localized(", if a reply asks for it")
    element = "" if prompt.element is None else f"[{prompt.element}]"
    turn = "" if prompt.turn is None else localized(f", turn {prompt.turn}")
    return f"`{prompt.step}{element}` → {prompt.role}{arms}{turn}{perhaps}"


def _about(prompt: PromptPreview) -> Iterator[str]:
    """Yield sentences on what is sent besides the messages, and on the secrets in them."""
    texts = [f"{name} {_value(value)}" for name, value in prompt.settings.items()]
    if texts:
        yield localized(f"settings: {', '.join(texts)}")
    if prompt.samples > 1:
        seeded = localized("; each has a seed of its own, one more than the last") if "seed" in prompt.settings else ""
        yield localized(f"replies: {prompt.samples}") + seeded
    if prompt.schema is not None:
        yield localized("the reply is held to a JSON Schema by a model that can be")
    if prompt.secrets:
        yield localized(f"shows what is secret: {', '.join(f'`{secret}`' for secret in prompt.secrets)}")


def _value(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else _json(value)


def _json(value: object, option: int = 0) -> str:
    return orjson.dumps(value, option=option).decode()


def _readable(message: Message) -> str:
    """Return the content of a message. The description of a tool is laid out over several lines."""
    if message.role != TOOL:
        return message.content
    return _json(orjson.loads(message.content), orjson.OPT_INDENT_2)


def _to_data(prompt: PromptPreview) -> dict[str, object]:
    return {
        "scenario": prompt.scenario,
        "item_id": prompt.item_id,
        "context": dict(prompt.context),
        "step": prompt.step,
        "element": prompt.element,
        "turn": prompt.turn,
        "role": prompt.role,
        "arms": prompt.arms,
        "certain": prompt.certain,
        "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
        "settings": dict(prompt.settings),
        "schema": prompt.schema,
        "samples": prompt.samples,
        "secrets": list(prompt.secrets),
    }


# The table of counts
def walk_lines(plan: Plan, planned: Sequence[PlannedStepCalls]) -> Iterator[str]:
    """Yield a line for each tree walk, which makes one call at every inner node that it visits."""
    walks = {(dataset.name, step.name) for dataset in plan.made for step in dataset.steps if isinstance(step, Walk)}
    for calls in planned:
        if (calls.place, calls.step) in walks and calls.least != calls.most:
            yield (
                f"`{calls.place}.{calls.step}` asks {calls.role} at every node it visits: {calls.least:,} calls where"
                f" nothing is chosen at the first, {calls.calls:,} with one path for each row,"
                f" {calls.most:,} with every branch at every attempt."
            )


RANGE_SEPARATOR = ".."
"""The separator between the least and the greatest number of calls."""
MOST_COLUMNS = 3
"""The maximum number of roles with a column each. With more roles, each has a line."""


def main(context: Context) -> Outcome:
    """Return the plan as a table of counts, or as JSON. Several benchmarks are printed one after another."""
    options = context.options
    if len(options.paths) > 1:
        if options.json:
            raise TriposError("R0202", f"`{JSON}` prints one plan, and several paths are given", "give one of them")
        return run_each(context, lambda spec, request, chosen: _plan_compiled(context, spec, request, chosen))
    return _plan_compiled(context, context.compiled(options.paths[0]), context.request, context.settings)


def _plan_compiled(context: Context, spec: CompiledSpec, request: RunRequest, chosen: ChosenSettings) -> Outcome:
    options, config, plan = context.options, chosen.config, spec.plan
    question = design_question(options)
    if options.table:
        from tripos_warehouse.report.result_tables import empty_table, find_tables
        from tripos_warehouse.tables.data import to_json

        declared = find_tables(plan, options.table)
        language = None if context.form == "json" else titles_language()
        tables = [empty_table(plan, table, language) for table in declared]
        return Outcome(lambda: to_json(tables), [to_text(tables, table_width()).rstrip("\n")])
    if context.form == "json" and question is None and not options.prompts:
        return Outcome(plan.to_json)
    if options.prompts:
        if question is not None:
            raise TriposError(
                "R0202",
                f"`{PlanParameters.prompts}` shows no design",
                f"leave out `{PlanParameters.detect}` and `{PlanParameters.spend}`",
            )
        preview = preview_run(spec, request, config, options.prompts)
        if context.form == "json":
            for reasons in _missing_prompts(preview):
                show_message(reasons, stderr=True)
        return Outcome(lambda: list(map(_to_data, preview.prompts)), prompt_lines(preview))
    run_plan = plan_run(spec, request, config, context.warn)
    if question is not None:
        design = design_run(run_plan, config, question)
        pilot = options.pilot or PILOT
        return Outcome(design.to_json, design_lines(design, spec.path, pilot, terminal_width()))
    return Outcome(run_plan.to_json, _run_plan_lines(spec, run_plan, config))


def _run_plan_lines(spec: CompiledSpec, run_plan: RunPlan, config: Config) -> Iterator[str]:
    plan, width = spec.plan, terminal_width()
    items, models, slots = dict(run_plan.items), dict(run_plan.roles), dict(run_plan.slots)
    learned, more = learned_lines(run_plan, config, width)
    gates = expectation_lines(plan, run_plan.independent, width, clustered=bool(run_plan.clusterings))
    detected = learned
    if not learned and run_plan.detection is not None:
        detected = wrap(" ".join(map(localized, run_plan.detection.sentences)), width)
    clusters = [line for clustering in run_plan.clusterings for line in wrap(localized(clustering.sentence), width)]
    remarks = [*clusters, *detected, *gates, *more]
    yield from plan_lines(plan, run_plan.selection, items, models, slots, run_plan.steps, remarks)
    for symbol in spec.compilation.index.symbols.values():
        if symbol.kind == "scenario" and symbol.changes is not None:
            differs = message(f"`{symbol.name}` is like `{symbol.changes.base}`, except: {symbol.changes.shown}")
            yield from wrap(differs, width)
    for path in sorted(spec.folders.access.outside if spec.folders.access is not None else ()):
        yield message(f"reads a file outside of the benchmark: {path}")
    if text := withheld_note(run_plan.source, run_plan.selection):
        yield message(text)
    if run_plan.forecast is not None and run_plan.prepared is not None:
        from tripos.cli.forecast_text import forecast_lines

        budget = run_plan.prepared.budget
        yield from ("", *forecast_lines(run_plan.forecast, plan, width, budget, run_plan.batches))
    if run_plan.settling is not None:
        yield from ("", *early_stopping_lines(run_plan.settling, width))


@dataclass(frozen=True)
class PlanLine:
    """A line of the table: its label, its counts, and the steps whose calls it counts."""

    label: str
    contexts: int | str = ""
    items: int | str = ""
    steps: tuple[PlannedStepCalls, ...] | None = None
    total: bool = False


def plan_lines(
    whole: Plan,
    selection: Selection,
    items: dict[str, int],
    models: dict[str, int],
    slots: dict[str, int],
    planned: Sequence[PlannedStepCalls],
    detected: Sequence[str] = (),
) -> list[str]:
    """Return contexts, items and calls by data set, scenario and arm, then what is detectable and what is revealed.
    `detected` are the lines on clusters, detectable differences and further labels."""
    from rich.console import Console
    from rich.text import Text

    plan = selection.under(whole)
    colored = is_colored(sys.stdout)
    console = Console(width=terminal_width(), highlight=False, markup=False, force_terminal=colored)

    def say(line: str, style: str | None = None) -> None:
        console.print(escape_controls(line), style=style)

    with console.capture() as shown:
        benchmark = plan.benchmark
        title = whole.title_of("benchmark", benchmark.name, titles_language()) or benchmark.title
        say(localized(f"{title} {benchmark.version}   plan {whole.digest[:12]}"), style="bold")
        for release in plan.extends:
            say(localized(f"extends {release.name} {release.version}, {release.digest[:12]}"))
        roles = [role.name for role in plan.roles if any(calls.role == role.name for calls in planned)]
        lines = list(_lines(plan, planned, items, slots))
        table = _columns_by_role(lines, roles) if len(roles) <= MOST_COLUMNS else _lines_by_role(lines, roles)
        for row in printed_lines(*table, totals=frozenset([len(table[0].cells) - 1])):
            console.print(Text.from_ansi(row), soft_wrap=True)
        filled = ", ".join(localized(f"{models.get(role, 1)} for {role}") for role in roles)
        say(localized(f"Calls for this many models: {filled}. A reply that cannot be read is asked for a second time."))
        spans = (_span(line.steps, role) for line in lines for role in roles)
        if (span := next((each for each in spans if RANGE_SEPARATOR in each), None)) is not None:
            least, _, most = span.partition(RANGE_SEPARATOR)
            say(localized(f"`{span}`: at least {least} and at most {most}, depending on the replies."))
        if (text := left_out_arm_values(plan, selection.only)) is not None:
            say(localized(f"Left out by `{ONLY}`: {text}."))
        for line in walk_lines(plan, planned):
            say(localized(line))
        for scenario in plan.scenarios:
            for shared in steps_sharing_replies(plan, scenario) if scenario.name in items else ():
                say(f"{scenario.name}{localized(': ')}{localized(shared.shown)}.")
        for line in detected:
            say(line)
        if plan.reveals:
            many = "secrets are" if len(plan.reveals) > 1 else "secret is"
            say(localized(f"{len(plan.reveals)} {many} shown by `reveal`:"))
            for reveal in plan.reveals:
                say(f"  {reveal.scenario}, {reveal.step}: {reveal.shown}")
        declared = [plugin.name for plugin in plan.plugins if plugin.purity == "declared"]
        if declared:
            say(localized(f"Taken to read no secret, since the spec says `pure`: {', '.join(declared)}."))
    return [Styled(line.rstrip()) for line in shown.get().splitlines()]  # rich pads lines with blanks


def _lines(
    plan: Plan, planned: Sequence[PlannedStepCalls], items: dict[str, int], slots: dict[str, int]
) -> Iterator[PlanLine]:
    for dataset in plan.made:
        step_calls = tuple(calls for calls in planned if calls.place == dataset.name)
        if dataset.name in slots:
            yield PlanLine(localized(f"data set {dataset.name}"), "", f"≤ {slots[dataset.name]:,}", step_calls)
    scenarios = [scenario for scenario in plan.scenarios if scenario.name in items]
    for scenario in scenarios:
        step_calls = tuple(calls for calls in planned if calls.place == scenario.name)
        numbers = (scenario.cells, items[scenario.name])
        groups = _by_arms(step_calls, scenario)
        if len(groups) == 1:
            yield PlanLine(scenario.name, *numbers, step_calls)
            continue
        yield PlanLine(scenario.name, *numbers)
        for label, steps in groups.items():
            yield PlanLine(f"  {label}", steps=tuple(steps))
    cells = sum(scenario.cells for scenario in scenarios)
    yield PlanLine(localized("total"), cells, sum(items.values()), tuple(planned), total=True)


def _columns_by_role(lines: Sequence[PlanLine], roles: Sequence[str]) -> list[Column]:
    """Return one column for each role. A heading takes two lines if that saves width; numbers are never broken."""
    spans = {role: tuple("" if line.steps is None else _span(line.steps, role) for line in lines) for role in roles}
    wide, narrow = (
        [*_counts(lines), *(Column(f"{role}{gap}calls", cells, right=True) for role, cells in spans.items())]
        for gap in (" ", "\n")
    )
    return wide if fits(Table(tuple(wide)), terminal_width()) else narrow


def _lines_by_role(lines: Sequence[PlanLine], roles: Sequence[str]) -> list[Column]:
    """Return one line for each role, for tables whose columns would not fit."""
    plan_lines: list[PlanLine] = []
    calls: list[tuple[str, str]] = []
    for line in lines:
        own = [role for role in roles if any(step.role == role for step in line.steps or ())] or [""]
        plan_lines += [line, *(PlanLine("") for _ in own[1:])]
        calls += [(role, _span(line.steps, role)) for role in own]
    by_role = Column("role", tuple(role for role, _ in calls))
    return [*_counts(plan_lines), by_role, Column("calls", tuple(span for _, span in calls), right=True)]


def _counts(lines: Sequence[PlanLine]) -> list[Column]:
    return [
        Column("scenario", tuple(line.label for line in lines)),
        Column("contexts", tuple(line.contexts for line in lines), "count"),
        Column("items", tuple(line.items for line in lines), "count"),
    ]


def _span(steps: Sequence[PlannedStepCalls] | None, role: str) -> str:
    """Return the calls of a role as a number, or as a range from the least to the greatest."""
    step_calls = [step for step in steps or () if step.role == role]
    least, most = sum(calls.least for calls in step_calls), sum(calls.most for calls in step_calls)
    if not role:
        return ""
    return f"{most:,}" if least == most else f"{least:,}{RANGE_SEPARATOR}{most:,}"


def _by_arms(steps: Sequence[PlannedStepCalls], scenario: Scenario) -> dict[str, list[PlannedStepCalls]]:
    """Return the steps, grouped by a description of the arms that share them; steps of all arms first."""
    every = localized("in every arm")
    groups: dict[str, list[PlannedStepCalls]] = {every: []} if scenario.arms else {}
    for step in steps:
        if len(step.arms) in (0, len(scenario.treatments)):
            label = every if scenario.arms else ""
        else:
            label = "; ".join(_arm_restrictions(step, scenario))
        groups.setdefault(label, []).append(step)
    return {label: group for label, group in groups.items() if group} or {"": []}


def _arm_restrictions(step: PlannedStepCalls, scenario: Scenario) -> Iterator[str]:
    """Yield each arm that a step is restricted to, with its values."""
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in step.arms)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            yield f"{arm} {', '.join(values)}"


SHOWN = 7
PILOT = 20


# Designs for --detect and --spend
def design_question(options: Namespace) -> DesignQuestion | None:
    """Return the question of `--detect` or `--spend`, or None without these options. Raises `TriposError` R0202 if they
    are inconsistent."""
    from tripos_runtime.scheduling.budget import read_amounts

    if options.detect is None and options.spend is None:
        return None
    if options.detect is not None and options.spend is not None:
        raise TriposError(
            "R0202", f"`{PlanParameters.detect}` and `{PlanParameters.spend}` exclude each other", "give one of them"
        )
    if options.detect is not None:
        return DesignQuestion(detect=options.detect, measure=options.measure, label_price=options.label_price)
    ((unit, amount),) = read_amounts([options.spend]).items()
    if unit == "tokens":
        raise TriposError("R0401", f"`{options.spend}` is no sum to plan with", "write it as `5usd` or `1000calls`")
    if unit != "USD" and options.label_price is not None:
        raise TriposError(
            "R0202", "a label costs money, and no calls", f"write the amount as `{PlanParameters.spend} 20usd`"
        )
    return DesignQuestion(spend=float(amount), unit=unit, measure=options.measure, label_price=options.label_price)


def design_lines(plan: DesignPlan, path: str, pilot: int, width: int) -> list[str]:
    """Return the lines of designs, wrapped to `width` columns."""
    lines = wrap(localized(_title(plan)), width)
    if plan.designs:
        lines += ["", *_table(plan), ""]
    for note in _notes(plan, path, pilot):
        lines += wrap(localized(note), width)
    return lines


def _title(plan: DesignPlan) -> str:
    name, question = plan.measure.name, plan.question
    if question.detect is not None:
        return f"To detect a difference of {question.detect:g} in `{name}` between two models (80 % power, level 5 %):"
    assert question.spend is not None
    amount = f"{usd(question.spend)} USD" if plan.unit == "USD" else f"{question.spend:,.0f} calls"
    return f"The least difference in `{name}` between two models that {amount} detect (80 % power, level 5 %):"


def _table(plan: DesignPlan) -> list[str]:
    labelled_designs = plan.designs[:SHOWN]
    designs = [design.design for design in labelled_designs]
    optional = {
        "repeats": any(design.levers.repeats > 1 for design in designs),
        "labels": any(design.labels for design in designs),
        "asked": any(design.levers.batch for design in designs),
    }
    detects = [design.detects if math.isfinite(design.detects) else None for design in designs]
    columns = (
        Column("design", tuple(localized(design.label) for design in labelled_designs)),
        Column("items", tuple(design.items for design in designs), "count"),
        Column("samples", tuple(design.levers.samples for design in designs), "count"),
        Column("judges", tuple(len(design.judges) or None for design in labelled_designs), "count"),
        Column("repeats", tuple(design.levers.repeats for design in designs), "count"),
        Column("labels", tuple(design.labels or None for design in designs), "count"),
        Column("asked", tuple(localized("in batches" if design.levers.batch else "live") for design in designs)),
        Column(plan.unit, tuple(design.cost for design in designs), "money" if plan.unit == "USD" else "count"),
        Column("detects", tuple(detects), "number", decimals=decimals_of(detects)),
    )
    return list(printed_lines(*(column for column in columns if optional.get(column.key, True))))


def _notes(plan: DesignPlan, path: str, pilot: int) -> Iterator[str]:
    best = plan.designs[0] if plan.designs else None
    for clustering in plan.clusterings:
        yield f"{clustering.sentence}; a design counts clusters."
    if best is None:
        yield "No design costs as little as that."
    elif not best.design.reaches:
        yield f"No design detects that with the {best.design.items:,} items that there are."
        if plan.beyond is not None:
            yield f"The cheapest that does needs {plan.beyond:,} items."
    if best is not None and plan.learned is not None and len(best.judges) < len(plan.designs[1].judges):
        yield f"The best design has these judges alone, taken to be as good as others: {', '.join(best.judges)}."
        if plan.parts.panel:
            yield (
                f"Judges differ by {math.sqrt(plan.parts.panel):.2g} (standard deviation) in the difference that they"
                " see: the figure of a smaller panel speaks of these judges."
            )
    yield from _learned(plan, path, pilot)
    yield from _labels(plan)
    if plan.unit == "calls":
        yield "Costs are counted in calls, since no price is known, or nothing costs anything."
    yield "Costs are of two models, all asked again; replies that the store has cost nothing."


def _labels(plan: DesignPlan) -> Iterator[str]:
    if plan.labels is not None:
        yield (
            f"People graded {plan.labels.items:,} items in the store: an item's difference as they see it has a"
            f" variance of {plan.labels.parts.people:.3g}, and a covariance of {plan.labels.parts.items:.3g} with that"
            " of judges."
        )
        yield "A label is a person's grade of both replies to an item. A design with labels speaks of people."
        if not plan.measure.corrected:
            yield "A design without speaks of its judges."
    elif plan.no_labels is not None:
        command = f"tripos annotate {AnnotateParameters.sample} 20"
        yield f"No design has labels: {plan.no_labels}. `{command}` hands out a random part."


def _learned(plan: DesignPlan, path: str, pilot: int) -> Iterator[str]:
    learned, parts = plan.learned, plan.parts
    if learned is None:
        yield (
            f"The worst case is taken, with a correlation of 0.5 between two models on an item: {plan.unknown}."
            " Only the number of items is chosen."
        )
        cost = f"{usd(pilot * plan.per_item)} USD" if plan.unit == "USD" else f"{pilot * plan.per_item:,.0f} calls"
        yield f"A pilot says more: `tripos run {path} {LIMIT} {pilot} {SEED} 1` with two models takes {cost}."
        return
    samples, judges, repeats = parts.observed
    total = parts.variance(samples, judges, repeats)
    shares = {
        "items": parts.items,
        "samples": parts.samples / samples,
        "judges on an item": parts.judges / judges,
        "judges on a reply": parts.gradings / samples / judges,
        "repeats": parts.repeats / samples / judges / repeats,
    }
    shares_text = ", ".join(
        f"{100 * part / total:.0f} % {name}" for name, part in shares.items() if part >= 0.005 * total
    )
    yield (
        f"From {learned.items:,} items in the store, with scores of {', '.join(learned.models)}: an item's difference"
        f" has a variance of {total:.3g}, of which {shares_text}."
    )
    if plan.alternatives:
        yield f"The store has no scores of or by {', '.join(plan.alternatives)}: they are taken to vary alike."
    if parts.models > 1:
        yield f"Scores of two models on an item correlate by {parts.correlation(samples, judges, repeats):.2f}."
    else:
        yield "Scores of two models on an item are taken to correlate by 0.5."
    unknown = [name for name in ("samples", "judges") if name not in parts.separated]
    if "judges" in unknown and not learned.judges:
        unknown.remove("judges")
    for name in unknown:
        yield (
            f"The store has no item with several {name}, so nothing says what more would bring: they stay as they were."
        )


# What earlier runs in the store show
def learned_lines(run_plan: RunPlan, config: Config, width: int = 80) -> tuple[list[str], list[str]]:
    """Return the lines on the difference that a test detects, estimated from earlier runs in the store, and the lines
    on the benefit of more labels. Both are empty if the store has no usable scores."""
    models = () if run_plan.prepared is None else run_plan.prepared.binding.models[run_plan.prepared.binding.compared]
    estimates = learned_components(run_plan.plan, config.store, models=models)
    learned = estimates.components
    text = _detects(run_plan, learned) if isinstance(learned, MeasureComponents) else None
    more = [
        line
        for expected_label in expected_labels(run_plan.plan, config.store)
        for line in wrap(localized(expected_label.sentence), width)
    ]
    return [] if text is None else wrap(text, width), more


def _detects(run_plan: RunPlan, learned: MeasureComponents) -> str | None:
    """Return the sentences on the first headline, or None if the plan has fewer than two items for it."""
    detection = run_plan.detection
    if detection is None or detection.items < 2:
        return None
    if detection.design is not None and detection.design.mean.single:
        return " ".join(map(localized, detection.unevenness))
    parts = learned.planned(1.0)
    samples, judges, repeats = parts.observed
    variance = parts.variance(samples, judges, repeats)
    least = detection.least(variance, parts.learned_from)
    text = (
        f"{detection.items:,} items: a test detects a difference of {least:.2g} in `{learned.measure.name}` between two"
        " models on the same items (80 % power)."
    )
    source = (
        f"So says the store: an item's difference has a variance of {variance:.2g} there, from"
        f" {learned.items:,} items of {', '.join(learned.models)}."
    )
    if parts.models > 1:
        correlation = f"Two models correlate by {parts.correlation(samples, judges, repeats):.2f} on an item."
    else:
        correlation = "Two models are taken to correlate by 0.5 on an item, since the store has one."
    return " ".join(map(localized, (text, source, correlation, *detection.unevenness)))


def early_stopping_lines(forecast: EarlyStoppingForecast, width: int) -> list[str]:
    """Return the lines on what early stopping saves, wrapped to `width` columns.

    >>> print("\\n".join(early_stopping_lines(EarlyStoppingForecast(400, unknown="there is no store yet"), 80)))
    Until settled: nothing is known of what it saves: there is no store yet.
    """
    return [line for sentence in _early_stopping_sentences(forecast) for line in wrap(localized(sentence), width)]


def _early_stopping_sentences(saving: EarlyStoppingForecast) -> Iterator[str]:
    if saving.unknown is not None:
        yield f"Until settled: nothing is known of what it saves: {localized(saving.unknown)}."
        return
    low, high, mean = round(saving.items[0]), round(saving.items[-1]), round(saving.share * saving.of)
    many = len(saving.items)
    yield f"Until settled: a model is asked for {mean:,} of {saving.of:,} items ({low:,} to {high:,} in {many} orders)."
    if saving.calls is not None and saving.calls.expected:
        every, some = round(saving.calls.expected), round(saving.calls.expected * saving.share)
        if saving.cost_usd is not None and saving.cost_usd.expected:
            paid = usd(saving.cost_usd.expected * saving.share)
            yield f"That is about {some:,} of {every:,} calls, for {paid} of {usd(saving.cost_usd.expected)} USD."
        else:
            yield f"That is about {some:,} of {every:,} calls."
    yield f"It is what scores in the store show, of {', '.join(saving.models)}."
    if saving.others:
        yield f"The store has no scores of {', '.join(saving.others)}."
    if saving.scored < saving.of:
        yield f"Of {saving.scored:,} items there are scores: the others are drawn from them."
    if saving.unsettled:
        yield f"In {saving.unsettled:,} of {many} orders something is not settled before the last item."


WHOLE_INTERVAL_ENDS = {("lower", 1), ("upper", -1)}
"""Ends of an interval, each with the side of the bound on which the whole interval lies if that end does."""


# Expectations about the ends of intervals
def expectation_lines(plan: Plan, items: Mapping[str, int], width: int = 80, *, clustered: bool = False) -> list[str]:
    """Return a line for each expectation that a whole interval lies on one side of a bound: the true value from which
    it holds with a power of 80 %.

    `items` are the independent items of each scenario; `clustered` says that some of them are clusters. Only figures
    that are sums of means over the items of one scenario are covered.
    """
    texts = (
        _expectation_sentence(plan, expectation, items, "clusters" if clustered else "items")
        for expectation in plan.expectations
    )
    return [line for each in texts if each is not None for line in wrap(localized(each), width)]


def _expectation_sentence(plan: Plan, expectation: Expectation, items: Mapping[str, int], counted: str) -> str | None:
    """Return the sentence for an expectation, or None if it is not covered."""
    side = DECIDABLE_OPERATORS.get(expectation.operator)
    if side is None or (expectation.end, side) not in WHOLE_INTERVAL_ENDS:
        return None
    figure = sequential_figure(plan, expectation)
    count = None if isinstance(figure, str) else _items_of(plan, figure, items)
    if count is None or count < 2 or isinstance(figure, str):
        return None
    text = f"`{expectation.shown}` with {count:,} {counted}"
    value, why = _shown_from(figure, expectation, side, count)
    if value is None:
        return f"{text}: never shown, {why}."
    if side > 0:
        return f"{text}: shown from a true value of {value:.3g} on ({why})."
    return f"{text}: shown up to a true value of {value:.3g} ({why})."


def _items_of(plan: Plan, figure: SequentialFigure, items: Mapping[str, int]) -> int | None:
    """Return the number of items of a figure, or None if they belong to several scenarios or form cells."""
    scenarios = {scenario.name for mean in figure.means for scenario in mean.scored.scenarios}
    named = {*figure.by, *(name for mean in figure.means for name in (*mean.over, *dict(mean.fixed)))}
    if len(scenarios) != 1 or named - {arm.name for arm in plan.arms}:
        return None
    return items.get(scenarios.pop())


POWER = "80 % power"
WORST = "80 % power, worst case"
NEVER = "whatever the value (80 % power, worst case)"


def _shown_from(figure: SequentialFigure, expectation: Expectation, side: int, items: int) -> tuple[float | None, str]:
    """Return the true value from which a figure is shown to lie on a `side` of the bound, with the method; or None,
    with the reason."""
    if len(figure.means) > 1:
        error = detectable_difference(items, _variance(figure.means)).value
        assert error is not None
        value = expectation.value + side * error
        low, high = figure.ends
        return (value, WORST) if low <= value <= high else (None, NEVER)
    mean, low, high = figure.means[0], *figure.means[0].ends
    number = (expectation.value - figure.constant) / mean.factor
    upward = side * mean.factor > 0
    if not low < high or not low <= number <= high:
        return None, NEVER
    if not upward:  # reverse the scale
        number = low + high - number
    if _is_share(mean):
        estimate = least_shown_share(number, items, beyond=expectation.operator in ("<", ">"))
    else:
        estimate = least_shown_mean(number, items, (low, high))
    reached = estimate.low if estimate.value is None else estimate.value
    assert reached is not None
    shown = figure.constant + mean.factor * (reached if upward else low + high - reached)
    if estimate.value is None:
        return None, f"at best that end is {shown:.3g}"
    return shown, POWER if _is_share(mean) else WORST


def _variance(means: Sequence[SequentialMean]) -> float:
    """Return the maximum variance of an item's contribution to a sum of means that correlate as two models are assumed
    to."""
    reaches = [mean.factor * (mean.ends[1] - mean.ends[0]) / 2 for mean in means]
    alone, together = math.fsum(reach**2 for reach in reaches), math.fsum(reaches) ** 2
    return (1 - CORRELATION) * alone + CORRELATION * together


def _is_share(mean: SequentialMean) -> bool:
    """Return true if a mean is a proportion: of binary scores, without cells."""
    return mean.ends == (0, 1) and not mean.over and all(isinstance(s, Score) and s.truth for s in mean.scored.steps)
