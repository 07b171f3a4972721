"""`tripos plan`: the contexts, items and model calls of a benchmark, before any is made."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tripos.command.check import compile_given
from tripos.command.choices import chosen_binding, chosen_cases, has_models, warn_of_kin
from tripos.config import load_config
from tripos.failure import GOOD, USAGE
from tripos_compiler.plan import Plan, Scenario
from tripos_runtime.cases import CaseSource, Planned, planned_steps


def main(options: Namespace) -> int:
    """Prints the plan as a table of counts, or itself as JSON."""
    config = load_config(Path.cwd())
    compilation, folders = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    if options.json:
        print(plan.to_json(), end="")
        return GOOD
    models = {role.name: 1 for role in plan.roles}
    if has_models(options, config):
        binding = chosen_binding(options, config, plan)
        warn_of_kin(plan, binding, options, config)
        models = {role: len(names) for role, names in binding.models.items()}
    source = CaseSource(plan, folders, tuple(each.path for each in compilation.sources))
    show_plan(plan, source.counts(chosen_cases(options, plan)), models)
    return GOOD


def show_plan(plan: Plan, items: dict[str, int], models: dict[str, int]) -> None:
    """Prints contexts, items and calls by data set, scenario and arm, and what is revealed."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=shutil.get_terminal_size((80, 24)).columns, highlight=False, markup=False)
    benchmark = plan.benchmark
    console.print(f"{benchmark.title} {benchmark.version}   plan {plan.digest[:12]}", style="bold")
    planned = planned_steps(plan, items, models)
    roles = [role.name for role in plan.roles if any(each.role == role.name for each in planned)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("scenario", overflow="fold")
    table.add_column("contexts", justify="right")
    table.add_column("items", justify="right")
    for role in roles:
        table.add_column(f"{role} calls", justify="right")
    rows = {made.name: made.rows for made in plan.made}
    for name, count in rows.items():
        own = [each for each in planned if each.place == name]
        table.add_row(f"data set {name}", "", _up_to(count, certain=False), *_cells(own, roles))
    shown = [scenario for scenario in plan.scenarios if scenario.name in items]
    for scenario in shown:
        own = [each for each in planned if each.place == scenario.name]
        numbers = (f"{scenario.cells:,}", f"{items[scenario.name]:,}")
        groups = _by_arms(own, scenario)
        if len(groups) == 1:
            table.add_row(scenario.name, *numbers, *_cells(own, roles))
            continue
        table.add_row(scenario.name, *numbers, *("" for _ in roles))
        for label, steps in groups.items():
            table.add_row(f"  {label}", "", "", *_cells(steps, roles))
    cells = sum(scenario.cells for scenario in shown)
    table.add_section()
    table.add_row("total", f"{cells:,}", f"{sum(items.values()):,}", *_cells(planned, roles), style="bold")
    console.print(table)
    filled = ", ".join(f"{models.get(role, 1)} for {role}" for role in roles)
    console.print(f"Calls for this many models: {filled}. A reply that cannot be read is asked for once more.")
    if any(each.least != each.most for each in planned):
        console.print("`2..9`: at least 2 and at most 9, as the replies will have it.")
    if plan.reveals:
        console.print(f"{len(plan.reveals)} secret{'s are' if len(plan.reveals) > 1 else ' is'} shown by `reveal`:")
        for reveal in plan.reveals:
            console.print(f"  {reveal.scenario}, {reveal.step}: {reveal.text}")


def _cells(steps: Sequence[Planned], roles: Sequence[str]) -> list[str]:
    """The calls of each role, as a number or a span."""
    found: list[str] = []
    for role in roles:
        own = [each for each in steps if each.role == role]
        least, most = sum(each.least for each in own), sum(each.most for each in own)
        found.append(f"{most:,}" if least == most else f"{least:,}..{most:,}")
    return found


def _up_to(count: int, *, certain: bool) -> str:
    return f"{count:,}" if certain else f"≤ {count:,}"


def _by_arms(steps: Sequence[Planned], scenario: Scenario) -> dict[str, list[Planned]]:
    """The steps by the arms that share them, in words."""
    groups: dict[str, list[Planned]] = {}
    every = len(scenario.treatments)
    for each in steps:
        if len(each.arms) in (0, every):
            label = "in every arm" if scenario.arms else ""
        else:
            values = {arm: list(dict.fromkeys(one[arm] for one in each.arms)) for arm in scenario.arms}
            telling = {
                arm: named
                for arm, named in values.items()
                if len(named) < len({treatment.arms[arm] for treatment in scenario.treatments})
            }
            label = "; ".join(f"{arm} {', '.join(named)}" for arm, named in telling.items())
        groups.setdefault(label, []).append(each)
    return groups
