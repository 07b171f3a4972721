"""Draws the items of a subset: so many of every stratum, as even as can be over what it is spread over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import Scenario, Subset, digest

Drawn = Mapping[str, frozenset[str]]
"""The items that were drawn, by scenario."""


@dataclass(frozen=True)
class Entry:
    """An item that may be drawn: its scenario, its name there, and what it has in each dimension of the subset."""

    scenario: str
    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


def entry(
    subset: Subset, scenario: Scenario, name: str, context: Mapping[str, str], fields: Mapping[str, Any]
) -> Entry:
    """An item with what it has in the dimensions of a subset: its scenario, axes, and fields of its row."""
    values: dict[str, Any] = {}
    for dim in (*subset.per, *subset.spread):
        alias, dot, name_of_field = dim.partition(".")
        if dim == "scenario":
            values[dim] = scenario.name
        elif not dot:
            values[dim] = context.get(dim)
        elif scenario.rows is not None and scenario.rows.alias == alias:
            values[dim] = fields.get(name_of_field)
    return Entry(scenario.name, name, values)


def draw(subset: Subset, entries: Iterable[Entry]) -> Drawn:
    """The items of a subset; the same seed draws the same, in whatever order they come.

    One after another is taken of the combination of `spread` that was taken least; of several such, where each of its
    parts was taken least; of several still, as the seed has it. A stratum with fewer items than are taken gives all.

    >>> subset = Subset(name="some", take=2, per=("scenario",), spread=("stage",), seed=1)
    >>> rows = [Entry("quiz", f"{stage}{n}", {"scenario": "quiz", "stage": stage}) for stage in "ab" for n in range(9)]
    >>> sorted(name[0] for name in draw(subset, rows)["quiz"])
    ['a', 'b']
    """
    strata: dict[str, list[Entry]] = {}
    for each in entries:
        strata.setdefault(digest([each.values.get(dim) for dim in subset.per]), []).append(each)
    found: dict[str, set[str]] = {}
    for name, stratum in strata.items():
        for each in _spread(subset, name, stratum):
            found.setdefault(each.scenario, set()).add(each.name)
    return {scenario: frozenset(names) for scenario, names in found.items()}


def _spread(subset: Subset, stratum: str, entries: Iterable[Entry]) -> Iterable[Entry]:
    """The items that are taken of one stratum."""
    cells: dict[tuple[Any, ...], list[Entry]] = {}
    for each in entries:
        cells.setdefault(tuple(each.values.get(dim) for dim in subset.spread), []).append(each)
    for own in cells.values():  # the first of the draw last, to be taken by `pop`
        own.sort(key=lambda each: digest([subset.seed, each.scenario, each.name]), reverse=True)
    order = {cell: digest([subset.seed, stratum, list(cell)]) for cell in cells}
    taken: Counter[tuple[Any, ...]] = Counter()
    parts: Counter[tuple[int, Any]] = Counter()
    for _ in range(subset.take):
        if not cells:
            return
        cell = min(cells, key=lambda each: (taken[each], sum(parts[part] for part in enumerate(each)), order[each]))
        yield cells[cell].pop()
        taken[cell] += 1
        parts.update(enumerate(cell))
        if not cells[cell]:
            del cells[cell]
