"""Draws a subset: the same items whoever draws it, and never fewer of them from a part of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Scenario, Subset, digest


@dataclass(frozen=True)
class Placed:
    """An item and where it belongs: `place` has its values of the dimensions that subsets go by."""

    scenario: str
    item_id: str
    place: Mapping[str, Any]


def placed(scenario: Scenario, item_id: str, context: Mapping[str, Any], fields: Mapping[str, Any]) -> Placed:
    """An item of a scenario, placed by its axes and, under the alias of its rows, by its fields.

    >>> from tripos_compiler.plan import Rows
    >>> of = Scenario.model_construct(name="sums", rows=Rows(dataset="item", alias="q"))
    >>> placed(of, "1f", {"level": "easy"}, {"kind": "part"}).place
    {'scenario': 'sums', 'level': 'easy', 'q.kind': 'part'}
    """
    alias = scenario.rows.alias if scenario.rows is not None else ""
    of_rows = {f"{alias}.{name}": value for name, value in fields.items()} if alias else {}
    return Placed(scenario.name, item_id, {"scenario": scenario.name, **context, **of_rows})


def draw(subset: Subset, items: Iterable[Placed]) -> frozenset[tuple[str, str]]:
    """The items of a subset, as pairs of scenario and `item_id`.

    In each stratum the cells of `spread` take turns, in an order that the seed decides, each giving the item whose
    seeded digest is the smallest, until `take` are drawn or all are. Neither order asks what else there is, so whoever
    draws from some of the items draws all those of them that are drawn from the whole: fewer items only move the
    others forward. An item of the subset is therefore known as one wherever it is looked at.

    >>> items = [Placed("s", name, {"scenario": "s", "level": name[0]}) for name in ("a1", "a2", "a3", "b1")]
    >>> few = Subset(name="few", take=2, per=("scenario",), spread=("level",), seed=0)
    >>> sorted(item_id[0] for _, item_id in draw(few, items))
    ['a', 'b']
    """
    strata: dict[str, dict[str, dict[tuple[str, str], str]]] = {}
    for item in items:
        stratum = digest([_value(item, name) for name in subset.per])
        cell = digest([subset.seed, stratum, [_value(item, name) for name in subset.spread]])
        key = (item.scenario, item.item_id)
        strata.setdefault(stratum, {}).setdefault(cell, {})[key] = digest([subset.seed, *key])
    drawn: set[tuple[str, str]] = set()
    for cells in strata.values():
        queues = [sorted(cells[cell], key=lambda key, of=cells[cell]: of[key]) for cell in sorted(cells)]  # type: ignore[misc]
        turns = [key for turn in range(subset.take) for queue in queues for key in queue[turn : turn + 1]]
        drawn.update(turns[: subset.take])
    return frozenset(drawn)


def _value(item: Placed, name: str) -> str | None:
    value = item.place.get(name)
    return None if value is None else str(value)
