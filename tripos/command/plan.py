"""`tripos plan`: the contexts, items and model calls of a benchmark, before any is made."""

from __future__ import annotations

import shutil
from argparse import Namespace
from pathlib import Path

from tripos.command.check import compile_given
from tripos.command.choices import chosen_binding, chosen_cases, has_models
from tripos.config import load_config
from tripos.failure import GOOD, USAGE
from tripos_compiler.plan import Plan
from tripos_runtime.cases import CaseSource, planned_calls


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
        models = {role: len(names) for role, names in binding.models.items()}
    source = CaseSource(plan, folders, tuple(each.path for each in compilation.sources))
    show_plan(plan, source.counts(chosen_cases(options, plan)), models)
    return GOOD


def show_plan(plan: Plan, items: dict[str, int], models: dict[str, int]) -> None:
    """Prints contexts, items and calls by scenario."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=shutil.get_terminal_size((80, 24)).columns, highlight=False)
    benchmark = plan.benchmark
    console.print(f"[bold]{benchmark.title}[/] {benchmark.version}   plan {plan.digest[:12]}", markup=True)
    calls = planned_calls(plan, items, models)
    roles = [role.name for role in plan.roles if any(role.name in by_role for by_role in calls.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("scenario", overflow="fold")
    table.add_column("contexts", justify="right")
    table.add_column("items", justify="right")
    for role in roles:
        table.add_column(f"{role} calls", justify="right")
    totals = dict.fromkeys(roles, 0)
    shown = [scenario for scenario in plan.scenarios if scenario.name in calls]
    for scenario in shown:
        by_role = calls[scenario.name]
        for role in roles:
            totals[role] += by_role.get(role, 0)
        numbers = [f"{by_role.get(role, 0):,}" for role in roles]
        table.add_row(scenario.name, f"{scenario.cells:,}", f"{items[scenario.name]:,}", *numbers)
    cells = sum(scenario.cells for scenario in shown)
    table.add_section()
    table.add_row(
        "total", f"{cells:,}", f"{sum(items.values()):,}", *(f"{total:,}" for total in totals.values()), style="bold"
    )
    console.print(table)
    filled = ", ".join(f"{models.get(role, 1)} for {role}" for role in roles)
    console.print(f"Calls for this many models: {filled}. A reply that cannot be read is asked for once more.")
