"""Lowers `subset`: a stratified sample, and warns where a stratum is known to hold too few items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

from tripos_compiler.constructs import Statement
from tripos_compiler.language import count_cells
from tripos_compiler.plan import Axis, Scenario, Subset
from tripos_compiler.resolve import Program
from tripos_compiler.source import Number
from tripos_compiler.statements.measures import Parted, check_own_line, read_dimensions

MOST_STRATA = 10_000
"""Strata of a scenario are counted one by one up to so many."""


def lower_subsets(program: Program) -> None:
    """Every `subset`."""
    for statement in program.of("subset"):
        subset = _subset(program, statement)
        if subset is not None and subset.name not in program.subsets:
            program.subsets[subset.name] = subset


def _subset(program: Program, statement: Statement) -> Subset | None:
    name = statement.name().text
    take, spread, seed = (statement.one_of(word) for word in ("take", "spread", "subset_seed"))
    if take is None:
        lacking = statement.block.span if statement.block is not None else None
        message = f"subset `{name}` does not say how many items it takes"
        help_ = "write `take 10 per scenario`"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    count = take.syntax("count")
    assert isinstance(count, Number)
    if count.value < 1:
        program.diagnostics.error("E0301", "a subset takes one item at least", count.span, help="write `take 10`")
        return None
    per = _dimensions(program, take)
    over = _dimensions(program, spread) if spread is not None else ()
    if per is None or over is None:
        return None
    both = [dim for dim in over if dim in per]
    if both and spread is not None:
        message = f"`{both[0]}` parts the strata already, so nothing in one can be spread over it"
        place = spread.many("dims")[over.index(both[0])].span
        program.diagnostics.error("E0202", message, place, help="leave it out here")
        return None
    written = seed.syntax("count") if seed is not None else None
    number = int(written.value) if isinstance(written, Number) else 0
    _warn_of_small_strata(program, take, int(count.value), per)
    held = statement.one_of("withheld") is not None
    release = program.release_of(statement.span)
    scenarios = program.scenarios_in.get(release.name, ()) if release is not None else ()
    return Subset(
        name=name, take=int(count.value), per=per, spread=over, seed=number, withheld=held, scenarios=scenarios
    )


def _dimensions(program: Program, statement: Statement) -> tuple[str, ...] | None:
    if not check_own_line(program, statement.many("dims"), ("take", "spread", "seed", "withheld")):
        return None
    if len(program.scenarios) < len(program.declared.get("scenario", {})):
        return None  # a scenario that was reported may have what is named
    parted = Parted("this benchmark", tuple(program.scenarios.values()), frozenset({"scenario"}), arms=False)
    return read_dimensions(program, statement.many("dims"), [parted])


def _warn_of_small_strata(program: Program, statement: Statement, take: int, per: tuple[str, ...]) -> None:
    """Warn once, of the smallest stratum that is known to hold fewer items than are taken of it."""
    if "scenario" not in per:
        return  # strata go across scenarios, and their items are counted by scenario
    small = [
        (most, scenario, cell)
        for scenario in program.scenarios.values()
        for cell, most in _strata(program, scenario, per)
        if 0 < most < take
    ]
    if not small:
        return
    most, scenario, cell = min(small, key=lambda found: found[0])
    where = "".join(f", {axis} {value}," for axis, value in cell.items()).replace(",,", ",")
    items = "1 item" if most == 1 else f"{most} items"
    message = f"scenario `{scenario.name}`{where} has {items} at most, fewer than {take}"
    others = len(small) - 1
    notes = [f"{others} more {'strata are' if others > 1 else 'stratum is'} too small"] if others else []
    help_ = "take fewer, or go by fewer dimensions"
    program.diagnostics.warning("W0620", message, statement.head, help=help_, notes=notes)


def _strata(program: Program, scenario: Scenario, per: tuple[str, ...]) -> Iterator[tuple[Mapping[str, str], int]]:
    """Yield the strata of a scenario with the number of items that each holds at most. The rows of a file are known in
    their sum only, so every stratum may hold all of them."""
    axes = [program.axes[name] for name in scenario.axes]
    parting = [axis for axis in axes if axis.name in per]
    each = _items_of_a_cell(program, scenario)
    if math.prod(len(axis.values) for axis in parting) > MOST_STRATA:
        return
    for values in product(*(axis.values for axis in parting)):
        cell = {axis.name: value.name for axis, value in zip(parting, values, strict=True)}
        cells = count_cells([_only(axis, cell) for axis in axes])
        if cells:
            yield cell, scenario.row_count if each is None else cells * each


def _only(axis: Axis, cell: Mapping[str, str]) -> Axis:
    """Return the axis with the value that it has in the cell, where it has one there."""
    kept = tuple(value for value in axis.values if cell.get(axis.name, value.name) == value.name)
    return axis.model_copy(update={"values": kept})


def _items_of_a_cell(program: Program, scenario: Scenario) -> int | None:
    """Return how many items every cell of a scenario has; None where that is not known."""
    if scenario.rows is None:
        return 1
    made = program.made.get(scenario.rows.dataset)
    if made is None or made.source is not None or made.axes != scenario.axes:
        return None
    return made.count
