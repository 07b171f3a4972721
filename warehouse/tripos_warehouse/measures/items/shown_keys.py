"""The places at which the right option of a question stood, of the items of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from tripos_compiler.language import Fault, Unavailable, evaluate, subexpressions
from tripos_compiler.plan import Call, Expr, Plan, Scenario, Score
from tripos_warehouse import sql
from tripos_warehouse.measures.confusion import UNEVEN
from tripos_warehouse.query import Connection

PLACES = ("shuffled_place", "key_place")
"""The functions that `options` finds the place of the right option with."""
LEAST_EXPECTED = 5
"""At fewer items for each place an uneven draw says nothing."""
MOST_ITEMS = 20_000
"""The items of a scenario that are looked at."""


def unbalanced_keys(connection: Connection, plan: Plan, schema: str) -> Iterator[str]:
    """Yield a sentence for each scenario whose `options` have the right one at some place far too often."""
    for scenario in plan.scenarios:
        places = _places(scenario)
        if not places or scenario.rows is None:
            continue
        rows = connection.execute(
            f"select any_value(fields) from {schema}.items where scenario = {sql.text(scenario.name)}"
            f" group by item_id order by item_id limit {MOST_ITEMS}"
        ).fetchall()
        every = [{scenario.rows.alias: orjson.loads(fields)} for (fields,) in rows if fields]
        told = (_unbalanced(scenario.name, _counted(place, every)) for place in places)
        if (first := next((each for each in told if each is not None), None)) is not None:
            yield first


def _places(scenario: Scenario) -> list[Call]:
    """Return the places of right options that the scores of a scenario ask for."""
    found: dict[str, Call] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            if isinstance(step, Score):
                found |= {each.model_dump_json(): each for each in _outermost(step.value)}
    return list(found.values())


def _outermost(expr: Expr) -> list[Call]:
    """Return the places in an expression that stand in no other place: a shuffled place is made of one."""
    found = [each for each in subexpressions(expr) if isinstance(each, Call) and each.function in PLACES]
    inner = {id(part) for each in found for part in subexpressions(each) if part is not each}
    return [each for each in found if id(each) not in inner]


def _counted(place: Call, rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[int, int]]:
    """Return how often the right option stands at a place of so many. What needs more than the row is left out."""
    counts: Counter[tuple[int, int]] = Counter()
    for names in rows:
        try:
            counts[evaluate(place, names), len(evaluate(place.args[1], names))] += 1
        except (Unavailable, Fault, LookupError):
            continue
    return counts


def _unbalanced(scenario: str, counts: Counter[tuple[int, int]]) -> str | None:
    """Return a sentence where the places of the most frequent number of options are no even draw."""
    sizes: Counter[int] = Counter()
    for (_, options), many in counts.items():
        sizes[options] += many
    if not sizes:
        return None
    options, items = sizes.most_common(1)[0]
    even = items / max(options, 1)
    if options < 2 or even < LEAST_EXPECTED:
        return None
    from scipy.special import chdtrc

    own = [counts[place, options] for place in range(options)]
    if float(chdtrc(options - 1, sum((each - even) ** 2 / even for each in own))) >= UNEVEN:
        return None
    at = max(range(options), key=lambda place: own[place])
    return (
        f"`{scenario}`: option {at + 1} is right in {own[at] / items:.0%} of {items:,} items, and 1 of {options} would"
        f" be {1 / options:.0%}: shuffle the options"
    )
