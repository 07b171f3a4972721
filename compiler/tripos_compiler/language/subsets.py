"""Draws subsets from the whole of a benchmark: evenly, and the same items whoever draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tripos_compiler.language.contexts import allowed_cells, count_cells
from tripos_compiler.plan import Plan, Scenario, Subset, digest
from tripos_compiler.source import dataclass

Drawn = frozenset[tuple[str, str]]
"""The items that were drawn: scenarios with the names of items there."""

MOST_CELLS = 100_000
"""Contexts of a scenario with more are not listed: any hundred of so many are spread well enough by chance."""

SPARE = 256
"""So many items of a cell more than it can give are kept before those that it will not are forgotten."""

Place = Mapping[str, Any]
Parts = tuple[str | None, ...]


@dataclass(frozen=True)
class PlacedItem:
    """An item and where it belongs. `name` is the `item_id` of a row that is read, and the key of the slot of one that
    is made, which is drawn before it is written; `place` has its values of the dimensions that subsets go by."""

    scenario: str
    name: str
    place: Place


def place_item(scenario: Scenario, name: str, context: Mapping[str, Any], fields: Mapping[str, Any]) -> PlacedItem:
    """Return an item of a scenario, placed by its axes and, under the alias of its rows, by its fields.

    >>> from tripos_compiler.plan import Rows
    >>> of = Scenario.model_construct(name="sums", rows=Rows(dataset="item", alias="q"))
    >>> place_item(of, "1f", {"level": "easy"}, {"kind": "part"}).place
    {'scenario': 'sums', 'level': 'easy', 'q.kind': 'part'}
    """
    alias = scenario.rows.alias if scenario.rows is not None else ""
    of_rows = {f"{alias}.{name}": value for name, value in fields.items()} if alias else {}
    return PlacedItem(scenario.name, name, {"scenario": scenario.name, **context, **of_rows})


def subset_places(plan: Plan, subset: Subset) -> list[Place]:
    """Return every place where an item of a subset may lie; none where it goes by what only the items say."""
    axes = {axis.name: axis for axis in plan.axes}
    if not {*subset.per, *subset.spread} <= {"scenario", *axes}:
        return []
    found: list[Place] = []
    for scenario in plan.scenarios:
        if subset.scenarios and scenario.name not in subset.scenarios:
            continue
        own = [axes[name] for name in scenario.axes]
        if count_cells(own) <= MOST_CELLS:
            found += [{"scenario": scenario.name, **cell} for cell in allowed_cells(own)]
    return found


def draw_subset(subset: Subset, items: Iterable[PlacedItem], everywhere: Iterable[Place] = ()) -> Drawn:
    """Return the items of a subset, drawn from `items`, which are all of the benchmark's. `everywhere` are its
    `subset_places`.

    In each stratum the cells of `spread` take turns, each giving the item whose seeded digest is the smallest, until
    `take` are drawn or all are. The first to have their turn are chosen so that each value of `spread` comes about
    equally often; then it is the seed that decides.

    >>> items = [PlacedItem("s", name, {"scenario": "s", "level": name[0]}) for name in ("a1", "a2", "a3", "b1")]
    >>> few = Subset(name="few", take=2, per=("scenario",), spread=("level",), seed=0)
    >>> sorted(name[0] for _, name in draw_subset(few, items))
    ['a', 'b']
    """
    drawing = _Drawing(subset)
    for item in items:
        drawing.add(item)
    return drawing.drawn(everywhere)


def draw_subsets(plan: Plan, items: Iterable[PlacedItem]) -> dict[str, Drawn]:
    """Return the items of every subset of a plan, by its name, in one pass over all items of the benchmark."""
    drawings = [_Drawing(subset) for subset in plan.subsets]
    for item in items:
        for drawing in drawings:
            drawing.add(item)
    return {each.subset.name: each.drawn(subset_places(plan, each.subset)) for each in drawings}


class _Drawing:
    """A draw under way: of each cell no more is kept than it can give, however many items there are."""

    def __init__(self, subset: Subset) -> None:
        self.subset = subset
        self._strata: dict[str, dict[Parts, dict[tuple[str, str], str]]] = {}

    def add(self, item: PlacedItem) -> None:
        """Take an item into account."""
        if self.subset.scenarios and item.scenario not in self.subset.scenarios:
            return
        key, take = (item.scenario, item.name), self.subset.take
        cells_of = self._strata.setdefault(_stratum(self.subset, item.place), {})
        cell = cells_of.setdefault(_parts(self.subset, item.place), {})
        cell[key] = digest([self.subset.seed, *key])
        if len(cell) > 2 * take + SPARE:
            first = sorted(cell, key=cell.__getitem__)[:take]
            cells_of[_parts(self.subset, item.place)] = {name: cell[name] for name in first}

    def drawn(self, everywhere: Iterable[Place]) -> Drawn:
        """Return what is drawn of the items so far."""
        subset = self.subset
        known: dict[str, set[Parts]] = {}
        for place in everywhere:
            known.setdefault(_stratum(subset, place), set()).add(_parts(subset, place))
        drawn: set[tuple[str, str]] = set()
        for stratum, by_cell in self._strata.items():
            order = _turns(subset, stratum, known.get(stratum, set()), by_cell)
            queues = [sorted(by_cell[cell], key=by_cell[cell].__getitem__) for cell in order]
            turns = [key for turn in range(subset.take) for queue in queues for key in queue[turn : turn + 1]]
            drawn.update(turns[: subset.take])
        return frozenset(drawn)


def _turns(subset: Subset, stratum: str, known: set[Parts], there: Iterable[Parts]) -> list[Parts]:
    """Return the cells that are there, in the order of their turns. Where an axis is a field of the rows and not of the
    context, no item lies in a cell that the contexts know, and the cells of the items are balanced instead."""
    own = set(there)
    balanced = _balanced(subset, stratum, own if known and known.isdisjoint(own) else known)
    first = {cell: turn for turn, cell in enumerate(balanced)}
    return sorted(own, key=lambda cell: (first.get(cell, subset.take), _chance(subset, stratum, cell)))


def _balanced(subset: Subset, stratum: str, known: set[Parts]) -> list[Parts]:
    """Return the cells that have the first turns: one after another that whose parts were taken least, and of several
    the one that the seed puts first."""
    waiting = sorted(known, key=lambda cell: _chance(subset, stratum, cell))
    taken: Counter[tuple[int, str | None]] = Counter()
    order: list[Parts] = []
    while waiting and len(order) < subset.take:
        best = min(range(len(waiting)), key=lambda at: sum(taken[part] for part in enumerate(waiting[at])))
        cell = waiting.pop(best)
        order.append(cell)
        taken.update(enumerate(cell))
    return order


def _chance(subset: Subset, stratum: str, cell: Parts) -> str:
    return digest([subset.seed, stratum, list(cell)])


def _stratum(subset: Subset, place: Place) -> str:
    return digest([_value(place, name) for name in subset.per])


def _parts(subset: Subset, place: Place) -> Parts:
    return tuple(_value(place, name) for name in subset.spread)


def _value(place: Place, name: str) -> str | None:
    value = place.get(name)
    return None if value is None else str(value)
