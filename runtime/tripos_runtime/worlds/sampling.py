"""The items of a plan that are gone through: some of each scenario, of every kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tripos_compiler.plan import Ask, Converse, Plan, Scenario, digest
from tripos_runtime.datasets import SourceRow
from tripos_runtime.worlds.seen_requests import Place
from tripos_runtime.worlds.world import TrialWorld

MOST_SAMPLES = 2
"""The most samples of a row that are gone through: more are told the same."""
MOST_REQUESTS = 600
"""The approximate number of requests in a scenario, but of `FEWEST` items in any case."""
FEWEST = 4


def limit_of(scenario: Scenario, limit: int) -> int:
    """Return how many items of a scenario are gone through: fewer where an item takes many requests, as in
    conversations."""
    requests = 0
    for step in (step for treatment in scenario.treatments for step in treatment.steps):
        if isinstance(step, Ask | Converse):
            requests += min(step.samples, MOST_SAMPLES) * (step.limit if isinstance(step, Converse) else 1)
    return max(FEWEST, min(limit, MOST_REQUESTS // max(1, requests)))


def sampled(world: TrialWorld, limit: int) -> Mapping[str, frozenset[Place] | None]:
    """Return the items of every scenario that are gone through, by its name; `None`: those that are made, of which no
    more are made than that."""
    return {scenario.name: _of(world, scenario, limit_of(scenario, limit)) for scenario in world.plan.scenarios}


def _of(world: TrialWorld, scenario: Scenario, limit: int) -> frozenset[Place] | None:
    rows = scenario.rows
    if rows is None:
        cells = {case.item_id: case.item_id for case in world.picked(scenario, None)}
        return frozenset(_spread(dict.fromkeys(cells, ""), limit))
    if any(each.name == rows.dataset for each in world.plan.made):
        return None
    asked = {case.origin: case for case in world.picked(scenario, None) if case.origin is not None}
    kinds: dict[Place, str] = {
        place: f"{case.context} {_kind(world.plan, rows.dataset, case.fields)}" for place, case in asked.items()
    }
    chosen = set(_spread(kinds, limit))
    if rows.where is not None:  # of those that are not asked about some, which may be in another world
        others: dict[Place, str] = {
            row.origin: _kind(world.plan, rows.dataset, row.values)
            for row in _rows(world, rows.dataset)
            if row.origin not in asked
        }
        chosen.update(_spread(others, max(1, limit // 2)))
    return frozenset(chosen)


def _rows(world: TrialWorld, dataset: str) -> tuple[SourceRow, ...]:
    return world.rows.rows[dataset]


def _kind(plan: Plan, dataset: str, values: Mapping[str, object]) -> str:
    """Return what kind of a row it is: what it says where it can say little."""
    few = [each for each in plan.dataset(dataset).fields if each.type.kind in ("choice", "bool", "optional")]
    said = [values[each.name] if each.type.kind != "optional" else values[each.name] is None for each in few]
    return repr(said)


def _spread(kinds: Mapping[Place, str], limit: int) -> list[Place]:
    """Return that many places, of as many kinds as there are, drawn by their digests."""
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in sorted(kinds, key=lambda place: digest(["worlds", place])):
        by_kind[kinds[place]].append(place)
    found: list[Place] = []
    waiting = [by_kind[kind] for kind in sorted(by_kind, key=lambda kind: digest(["worlds", kind]))]
    while waiting and len(found) < limit:
        found += [each.pop(0) for each in waiting[: limit - len(found)]]
        waiting = [each for each in waiting if each]
    return found
