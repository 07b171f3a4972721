"""`tripos plan`: the contexts, items and model calls of a benchmark, before any is made, and what they would take."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tripos.api import CompiledSpec, choices_of, plan_run, preview_run
from tripos.cli.inputs import compile_given, warning_printer
from tripos.cli.runs.benchmarks import each_of
from tripos.cli.runs.prompts import show_prompts
from tripos.releases.frozen import withheld_note
from tripos.settings import ChosenSettings, chosen_settings
from tripos.ui import (
    GOOD,
    USAGE,
    Failure,
    columns_of,
    harmless,
    is_colored,
    show_json,
    show_message,
    show_text,
    table_lines,
    terminal_width,
)
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics import localized, reader_language, wrap
from tripos_compiler.language import left_out_arm_values, steps_sharing_replies
from tripos_compiler.plan import Plan, Scenario, Walk
from tripos_runtime.datasets import DataFolders, Planned, Selection
from tripos_warehouse.formats import TextColumn


def walk_lines(plan: Plan, planned: Sequence[Planned]) -> Iterator[str]:
    """Yield a line for every walk: a call is made at every inner node that it visits."""
    walks = {(made.name, step.name) for made in plan.made for step in made.steps if isinstance(step, Walk)}
    for each in planned:
        if (each.place, each.step) in walks and each.least != each.most:
            yield (
                f"`{each.place}.{each.step}` asks {each.role} at every node it visits: {each.least:,} calls where"
                f" nothing is chosen at the first, {each.calls:,} with one path for each row,"
                f" {each.most:,} with every branch at every attempt."
            )


PARTED = ".."
"""Stands between the least and the most."""
MOST_COLUMNS = 3
"""So many roles have a column each; with more, each has a line."""


def main(options: Namespace) -> int:
    """Print the plan as a table of counts, or itself as JSON; of several benchmarks one after another."""
    chosen = chosen_settings(options)
    if len(options.paths) > 1:
        if options.json:
            raise Failure("R0202", "`--json` prints one plan, and several paths are given", "give one of them")
        return each_of(options, chosen, _plan_compiled)
    options.path = options.paths[0]
    return _plan_compiled(options, chosen, *compile_given(options, chosen.config))


def _plan_compiled(options: Namespace, chosen: ChosenSettings, compilation: Compilation, folders: DataFolders) -> int:
    config, plan = chosen.config, compilation.plan
    if plan is None:
        return USAGE
    from tripos.cli.runs.design_text import show_designs, wanted_of
    from tripos.cli.runs.gate_text import gate_lines
    from tripos.cli.runs.learned_text import learned_lines, settling_lines

    wanted = wanted_of(options)
    if options.json and wanted is None and not options.prompts:
        show_json(plan.to_json())
        return GOOD
    spec = CompiledSpec(options.path, compilation, plan, folders)
    if options.prompts:
        if wanted is not None:
            raise Failure("R0202", "`--prompts` shows no design", "leave out `--detect` and `--spend`")
        show_prompts(preview_run(spec, choices_of(options), config, options.prompts), as_json=options.json)
        return GOOD
    found = plan_run(spec, choices_of(options), config, warning_printer(options, config))
    if wanted is not None:
        return show_designs(found, wanted, config, options)
    items, models, slots = dict(found.items), dict(found.roles), dict(found.slots)
    learned, more = learned_lines(found, config, terminal_width())
    gates = gate_lines(plan, found.independent, terminal_width(), clustered=bool(found.clusterings))
    detected = learned
    if not learned and found.detection is not None:
        detected = wrap(" ".join(map(localized, found.detection.sentences)), terminal_width())
    clusters = [line for each in found.clusterings for line in wrap(localized(each.sentence), terminal_width())]
    show_plan(plan, found.selection, items, models, slots, found.steps, [*clusters, *detected, *gates, *more])
    for path in sorted(folders.access.outside if folders.access is not None else ()):
        show_message(f"reads a file outside of the benchmark: {path}")
    if told := withheld_note(found.source, found.selection):
        show_message(told)
    if found.forecast is not None and found.prepared is not None:
        from tripos.cli.runs.forecast_text import lines_of

        show_text()
        show_text("\n".join(lines_of(found.forecast, plan, terminal_width(), found.prepared.budget, found.batches)))
    if found.settling is not None:
        show_text()
        show_text("\n".join(settling_lines(found.settling, terminal_width())))
    return GOOD


@dataclass(frozen=True)
class PlanLine:
    """A line of the table: what it is about, its counts, and the steps whose calls stand in it."""

    label: str
    contexts: str = ""
    items: str = ""
    steps: tuple[Planned, ...] | None = None
    total: bool = False


def show_plan(
    whole: Plan,
    selection: Selection,
    items: dict[str, int],
    models: dict[str, int],
    slots: dict[str, int],
    planned: Sequence[Planned],
    detected: Sequence[str] = (),
) -> None:
    """Print contexts, items and call by data set, scenario and arm, what is detected, and what is revealed. `detected`
    are the lines on what items are clustered by, what is detected and what more labels would bring."""
    from rich.console import Console
    from rich.text import Text

    plan = selection.under(whole)
    colored = is_colored(sys.stdout)
    console = Console(width=terminal_width(), highlight=False, markup=False, force_terminal=colored)

    def say(line: str, style: str | None = None) -> None:
        console.print(harmless(line), style=style)

    with console.capture() as shown:
        benchmark = plan.benchmark
        title = whole.title_of("benchmark", benchmark.name, reader_language()) or benchmark.title
        say(localized(f"{title} {benchmark.version}   plan {whole.digest[:12]}"), style="bold")
        for release in plan.extends:
            say(localized(f"extends {release.name} {release.version}, {release.digest[:12]}"))
        roles = [role.name for role in plan.roles if any(each.role == role.name for each in planned)]
        lines = list(_lines(plan, planned, items, slots))
        table = _wide(lines, roles) if len(roles) <= MOST_COLUMNS else _long(lines, roles)
        for line in table_lines(table, sums=True):
            console.print(Text.from_ansi(line), soft_wrap=True)
        filled = ", ".join(localized(f"{models.get(role, 1)} for {role}") for role in roles)
        say(localized(f"Calls for this many models: {filled}. A reply that cannot be read is asked for once more."))
        spans = (_span(line.steps, role) for line in lines for role in roles)
        if (span := next((each for each in spans if PARTED in each), None)) is not None:
            least, _, most = span.partition(PARTED)
            say(localized(f"`{span}`: at least {least} and at most {most}, as the replies will have it."))
        if (told := left_out_arm_values(plan, selection.only)) is not None:
            say(localized(f"Left out by `--only`: {told}."))
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
        declared = [each.name for each in plan.plugins if each.purity == "declared"]
        if declared:
            say(localized(f"Taken to read no secret, since the spec says `pure`: {', '.join(declared)}."))
    # rich fills lines and cells with blanks up to their end.
    show_text("\n".join(line.rstrip() for line in shown.get().splitlines()), styled=True)


def _lines(plan: Plan, planned: Sequence[Planned], items: dict[str, int], slots: dict[str, int]) -> Iterator[PlanLine]:
    for made in plan.made:
        own = tuple(each for each in planned if each.place == made.name)
        if made.name in slots:
            yield PlanLine(localized(f"data set {made.name}"), "", f"≤ {slots[made.name]:,}", own)
    shown = [scenario for scenario in plan.scenarios if scenario.name in items]
    for scenario in shown:
        own = tuple(each for each in planned if each.place == scenario.name)
        numbers = (f"{scenario.cells:,}", f"{items[scenario.name]:,}")
        groups = _by_arms(own, scenario)
        if len(groups) == 1:
            yield PlanLine(scenario.name, *numbers, own)
            continue
        yield PlanLine(scenario.name, *numbers)
        for label, steps in groups.items():
            yield PlanLine(f"  {label}", steps=tuple(steps))
    cells = sum(scenario.cells for scenario in shown)
    yield PlanLine(localized("total"), f"{cells:,}", f"{sum(items.values()):,}", tuple(planned), total=True)


def _wide(lines: Sequence[PlanLine], roles: Sequence[str]) -> list[TextColumn]:
    """Return a column a role. Headings have two lines where that makes room; numbers are never broken."""
    rows = [
        (
            line.label,
            line.contexts,
            line.items,
            *(_span(line.steps, role) if line.steps is not None else "" for role in roles),
        )
        for line in lines
    ]
    heads = ["scenario", "contexts", "items", *(f"{role} calls" for role in roles)]
    needed = sum(max(map(len, cells)) for cells in zip(heads, *rows, strict=True)) + 2 * (len(heads) - 1)
    if needed > terminal_width():
        heads = [*heads[:3], *(f"{role}\ncalls" for role in roles)]
    return columns_of(heads, rows, left=("scenario",))


def _long(lines: Sequence[PlanLine], roles: Sequence[str]) -> list[TextColumn]:
    """Return a line a role, where a column each would not fit."""
    rows = []
    for line in lines:
        own = [role for role in roles if any(each.role == role for each in line.steps or ())]
        first = own[0] if own else ""
        rows.append((line.label, line.contexts, line.items, first, _span(line.steps, first)))
        rows += [("", "", "", role, _span(line.steps, role)) for role in own[1:]]
    return columns_of(("scenario", "contexts", "items", "role", "calls"), rows, left=("scenario", "role"))


def _span(steps: Sequence[Planned] | None, role: str) -> str:
    """Return the calls of a role, as a number or from the least to the most."""
    own = [each for each in steps or () if each.role == role]
    least, most = sum(each.least for each in own), sum(each.most for each in own)
    if not role:
        return ""
    return f"{most:,}" if least == most else f"{least:,}{PARTED}{most:,}"


def _by_arms(steps: Sequence[Planned], scenario: Scenario) -> dict[str, list[Planned]]:
    """Return the steps by the arms that share them, in words; those of every arm first."""
    every = localized("in every arm")
    groups: dict[str, list[Planned]] = {every: []} if scenario.arms else {}
    for each in steps:
        if len(each.arms) in (0, len(scenario.treatments)):
            label = every if scenario.arms else ""
        else:
            label = "; ".join(_telling(each, scenario))
        groups.setdefault(label, []).append(each)
    return {label: own for label, own in groups.items() if own} or {"": []}


def _telling(step: Planned, scenario: Scenario) -> Iterator[str]:
    """Yield the arms that a step is tied to, each with its values."""
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in step.arms)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            yield f"{arm} {', '.join(values)}"
