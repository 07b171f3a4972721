"""The division of a sample between scenarios and models that makes the error of a mean least, from earlier grades.

With N replies in a part and a standard deviation σ there, parts have shares as N σ (Neyman 1934, "On the two different
aspects of the representative method", section V). What varies is what people and judges differ by, as far as judges are
followed: the residual of people's grades by the judges' (Angelopoulos, Duchi and Zrnic 2023, PPI++, section 6).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from statistics import fmean, pvariance, variance
from types import MappingProxyType
from typing import TypeVar

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.store import HUMAN

Part = tuple[str, str]
"""A scenario and a model."""
Spreads = Mapping[Part, float]
NO_SPREADS: Spreads = MappingProxyType({})
T = TypeVar("T")
FEWEST = 5
"""With fewer labels the spread of a part is that of all."""


def spreads(connection: Connection, plan: Plan, role: str) -> dict[Part, float]:
    """Return how much grades vary in each part; where people graded nothing yet, how much those of judges do."""
    scorers = [scorer.name for scorer in plan.scorers if scorer.role == role]
    rows = connection.execute(
        f"""select scenario, model, metric, sample_id,
          avg(value) filter (starts_with(evaluator, {sql.text(HUMAN)})),
          avg(value) filter (not starts_with(evaluator, {sql.text(HUMAN)}))
        from {sql.name(plan.benchmark.name)}.scores
        where scorer in {sql.texts(scorers)} and evaluator is not null and value is not null
        group by all order by all"""
    ).fetchall()
    labelled: dict[str, list[tuple[Part, float, float]]] = defaultdict(list)
    judged: dict[str, list[tuple[Part, float]]] = defaultdict(list)
    for scenario, model, metric, _, people, judge in rows:
        if judge is not None:
            judged[metric].append(((scenario, model), judge))
            if people is not None:
                labelled[metric].append(((scenario, model), people, judge))
    residuals = {metric: list(_residuals(those)) for metric, those in labelled.items()}
    values = residuals if any(len(each) >= FEWEST for each in residuals.values()) else judged
    return _by_part(values)


def _residuals(rows: Sequence[tuple[Part, float, float]]) -> Iterator[tuple[Part, float]]:
    """Yield people's grades less what follows from the judges', with a slope that is not below 0."""
    people, judges = [row[1] for row in rows], [row[2] for row in rows]
    of_people, of_judges = fmean(people), fmean(judges)
    below = pvariance(judges, of_judges) * len(rows)
    above = sum((y - of_people) * (f - of_judges) for _, y, f in rows)
    slope = max(above / below, 0.0) if below > 0 else 0.0
    for part, y, f in rows:
        yield part, y - slope * f


def _by_part(values: Mapping[str, Sequence[tuple[Part, float]]]) -> dict[Part, float]:
    """Return the standard deviation in each part, over metrics in the mean square.

    >>> few = [(("a", "m"), float(n % 2)) for n in range(6)] + [(("b", "m"), 4.0 * (n % 2)) for n in range(6)]
    >>> {part: round(spread, 3) for part, spread in _by_part({"MARK": few}).items()}
    {('a', 'm'): 0.548, ('b', 'm'): 2.191}
    """
    squares: dict[Part, list[float]] = defaultdict(list)
    for rows in values.values():
        own: dict[Part, list[float]] = defaultdict(list)
        for part, value in rows:
            own[part].append(value)
        within = [variance(each) for each in own.values() if len(each) >= FEWEST]
        pooled = fmean(within) if within else variance([value for _, value in rows]) if len(rows) > 1 else 0.0
        for part, each in own.items():
            squares[part].append(variance(each) if len(each) >= FEWEST else pooled)
    found = {part: math.sqrt(fmean(each)) for part, each in squares.items()}
    # A part where all graded alike so far may have others: it counts as a tenth of what varies most.
    least = max(found.values(), default=0.0) / 10
    return {part: max(spread, least) or 1.0 for part, spread in found.items()}


def by_shares(queues: Mapping[Part, Sequence[T]], shares: Mapping[Part, float]) -> Iterator[T]:
    """Yield what is in queues so that those taken at any time go by the shares, as Webster's method has it; so a
    larger number of them contains the smaller.

    >>> "".join(by_shares({("x", "m"): "aaaa", ("y", "m"): "bbbb"}, {("x", "m"): 3.0, ("y", "m"): 1.0}))
    'aabaabbb'
    """
    taken = dict.fromkeys(queues, 0)
    while left := [key for key in queues if taken[key] < len(queues[key])]:
        key = max(left, key=lambda each: shares[each] / (taken[each] + 0.5))
        yield queues[key][taken[key]]
        taken[key] += 1


def in_proportion(
    queue: Sequence[T], parts: Sequence[str], units: Sequence[Hashable], starts: Mapping[str, float]
) -> list[T]:
    """Return a queue in an order in which any number from its front has the parts in their proportions.

    The j-th unit of a part of N, from 0, is put at (j + u) / N, where u, the part's start, is drawn between 0 and 1. So
    whatever is in a random order before has the same chance to come among the first n (systematic sampling: Madow and
    Madow 1944, "On the theory of systematic sampling"), and a larger number contains the smaller. What is of one unit
    stays together, in the part of its first.

    >>> "".join(in_proportion("aaaaaabbb", list("aaaaaabbb"), range(9), {"a": 0.5, "b": 0.4}))
    'abaabaaba'
    """
    first: dict[Hashable, tuple[str, int]] = {}
    sizes: dict[str, int] = defaultdict(int)
    for part, unit in zip(parts, units, strict=True):
        if unit not in first:
            first[unit] = part, sizes[part]
            sizes[part] += 1

    def place(at: int) -> float:
        part, number = first[units[at]]
        return (number + starts[part]) / sizes[part]

    return [queue[at] for at in sorted(range(len(queue)), key=place)]
