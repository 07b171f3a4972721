"""What of the made data sets a run needs: slots are chosen before anything is written into them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import Axis, Expr, Made, Plan, Scenario, digest
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.names import paths_in
from tripos_runtime.making.slots import Slot, SlotSource, looked_into
from tripos_runtime.runnable import data_of

if TYPE_CHECKING:
    from tripos_runtime.cases import Selection

Wanted = dict[str, set[int] | None]
"""The places of the slots that are wanted of each data set; `None`: all."""


def wanted_slots(source: SlotSource, selection: Selection) -> tuple[Wanted, dict[str, frozenset[int]]]:
    """What is wanted of every made data set that a run needs, each after those that it is made from; and the places
    that each scenario runs over, where those are not all."""
    plan = source.plan
    wanted: Wanted = {}
    chosen: dict[str, frozenset[int]] = {}
    for scenario in selection.chosen(plan):
        for name in sorted(data_of(scenario) & source.by_name.keys()):
            wanted[name] = None
    for scenario in selection.chosen(plan):
        if scenario.rows is None or scenario.rows.dataset not in source.by_name:
            continue
        name = scenario.rows.dataset
        if selection.limit is None and not selection.only and selection.drawn is None:
            wanted[name] = None
            continue
        places = frozenset(slot.place for slot in chosen_slots(source, scenario, selection))
        chosen[scenario.name] = places
        _add(wanted, name, places)
    return _with_sources(source, wanted), chosen


def chosen_slots(source: SlotSource, scenario: Scenario, selection: Selection) -> Iterator[Slot]:
    """The slots that a scenario runs over. A condition on what is yet to be written is taken to hold."""
    assert scenario.rows is not None
    made = source.by_name[scenario.rows.dataset]
    every = (
        slot
        for slot in source.slots(made)
        if selection.holds(scenario.name, slot.key) and _allowed(source, scenario, made, slot, selection)
    )
    if selection.limit is None:
        return every
    if selection.seed is None:
        return islice(every, selection.limit)
    drawn = heapq.nsmallest(selection.limit, every, key=lambda slot: digest([selection.seed, scenario.name, slot.key]))
    return iter(sorted(drawn, key=lambda slot: slot.place))


def known_slots(source: SlotSource, scenario: Scenario) -> Iterator[tuple[Slot, Mapping[str, Any]]]:
    """Every slot of a scenario with what is known of its row before it is made."""
    assert scenario.rows is not None
    made = source.by_name[scenario.rows.dataset]
    for slot in source.slots(made):
        known = known_of(source, made, slot)
        if _fits(source, scenario, known):
            yield slot, known


def _allowed(source: SlotSource, scenario: Scenario, made: Made, slot: Slot, selection: Selection) -> bool:
    known = known_of(source, made, slot)
    if not all(known.get(axis, values[0]) in values for axis, values in selection.only.items()):
        return False
    return _fits(source, scenario, known)


def _fits(source: SlotSource, scenario: Scenario, known: Mapping[str, Any]) -> bool:
    """Whether what is known of a row is as the scenario wants it. What is yet to be written is taken to be."""
    rows = scenario.rows
    if rows is None or rows.where is None or not _is_known(rows.where, rows.alias, known, source.axes):
        return True
    first = {axis: source.axes[axis].values[0].name for axis in scenario.axes}
    try:
        return bool(evaluate(rows.where, {**first, **known, rows.alias: known, **source.names}))
    except Unavailable:
        return False


def known_of(source: SlotSource, made: Made, slot: Slot) -> dict[str, Any]:
    """The fields of a row that are known before it is made: its axes, and what it takes from rows that are read."""
    if slot.above is not None:
        upstream = source.upstream(made)
        assert upstream is not None
        above = source.slot_at(source.by_name[upstream], slot.above)
        return {**known_of(source, source.by_name[upstream], above), **slot.cell}
    taken = slot.source if isinstance(slot.source, Mapping) else {}
    return {**taken, **slot.cell}


def _is_known(where: Expr, alias: str, known: Mapping[str, Any], axes: Mapping[str, Axis]) -> bool:
    """Whether a condition can be told from what is known of a row before it is made."""
    for path in paths_in(where):
        if path[0] == alias:
            if len(path) == 1 or path[1] not in known:
                return False
        elif path[0] not in known and path[0] not in axes:
            return False
    return True


def _with_sources(source: SlotSource, wanted: Wanted) -> Wanted:
    """What is wanted with what that is made from, in an order in which it can be made."""
    found: Wanted = {}

    def visit(name: str, places: set[int] | None) -> None:
        made = source.by_name[name]
        for other in sorted(looked_into(made) & source.by_name.keys()):
            visit(other, None)
        upstream = source.upstream(made)
        if upstream is not None:
            needed: set[int] | None = None
            if places is not None:
                needed = {slot.above for slot in source.slots(made) if slot.place in places and slot.above is not None}
            visit(upstream, needed)
        _add(found, name, places)

    for name in sorted(wanted):
        visit(name, wanted[name])
    # One that is needed whole by one and in part by another was met twice: sources first all the same.
    order = [made.name for made in _sorted(source.plan, source)]
    return {name: found[name] for name in order if name in found}


def _sorted(plan: Plan, source: SlotSource) -> list[Made]:
    done: dict[str, Made] = {}

    def visit(made: Made) -> None:
        if made.name in done:
            return
        upstream = source.upstream(made)
        for other in sorted(looked_into(made) & source.by_name.keys()):
            visit(source.by_name[other])
        if upstream is not None:
            visit(source.by_name[upstream])
        done[made.name] = made

    for each in plan.made:
        visit(each)
    return list(done.values())


def _add(wanted: Wanted, name: str, places: set[int] | frozenset[int] | None) -> None:
    before = wanted.get(name, set())
    wanted[name] = None if places is None or before is None else before | places
