"""What a report says of figures that a trivial baseline reaches."""

from __future__ import annotations

from tripos_compiler.plan import Plan
from tripos_warehouse import dimensions
from tripos_warehouse.baselines import Matched, matched
from tripos_warehouse.grid import decimals_of
from tripos_warehouse.measures import MeasureTable
from tripos_warehouse.wrapping import wrapped


def baseline_lines(plan: Plan, table: MeasureTable, width: int) -> list[str]:
    """A line for each model that is no better than a baseline: where, and which."""
    decimals = decimals_of([row.value for row in table.rows])
    lines: list[str] = []
    for model in dict.fromkeys(each.model for each in matched(table)):
        told = [_told(plan, table, each, decimals) for each in matched(table) if each.model == model]
        lines.append(wrapped(f"no better than a baseline: {model}, {'; '.join(told)}", width))
    return lines


def _told(plan: Plan, table: MeasureTable, each: Matched, decimals: int) -> str:
    cell = [dimensions.label(plan, name, value) for name, value in zip(table.measure.by, each.by, strict=True)]
    where = f"{', '.join(cell)}: " if cell else ""
    return f"{where}{each.value:.{decimals}f} to {each.baseline_value:.{decimals}f} of {each.baseline}"
