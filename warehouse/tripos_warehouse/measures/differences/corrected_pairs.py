"""How a measure that people correct differs between models: a corrected figure itself, with a λ of its own.

A difference of two models is people's difference on the replies that they graded, and the judge's beyond that. How well
a judge's difference follows that of people is another matter than how well its grades do: what an item does to both
models cancels out. So λ is found for the difference (`corrected_figure`), and not for either model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.corrected import ThreeFigures, three_figures
from tripos_warehouse.measures.sql import sql_of
from tripos_warehouse.query import Connection, run_query
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import ALIKE, ROUNDING, with_test
from tripos_warehouse.statistics.validity import Pulled

Cell = tuple[Any, ...]
Threes = dict[tuple[Cell, str], ThreeFigures]


def three_by_cell(connection: Connection, plan: Plan, measure: Measure) -> Threes:
    """Return the three figures of each cell and model of a corrected measure that has them. Raises `StoreError` where
    the SQL fails."""
    found: Threes = {}
    for each in run_query(connection, sql_of(plan, measure)).to_pylist():
        three, _ = three_figures(each)
        if three is not None:
            found[tuple(each[name] for name in measure.by), str(each["model"])] = three
    return found


def corrected_difference(
    first: Sequence[ThreeFigures], second: Sequence[ThreeFigures], ends: tuple[float, float] | None
) -> tuple[StatisticResult, float]:
    """Return how far the mean of `second` is above that of `first`, with a test against 0, and λ.

    `n` are the graded replies of the side with fewer of them, and the interval has the degrees of freedom of the side
    with fewer graded items.
    """
    names = {
        name: place for place, name in enumerate(sorted({name for each in (*first, *second) for name in each.names}))
    }
    parts = [(each, -1 / len(first)) for each in first] + [(each, 1 / len(second)) for each in second]
    graded = np.zeros(len(names), dtype=bool)
    sums = [np.zeros(len(names)) for _ in range(3)]
    values = [0.0, 0.0, 0.0]
    for three, share in parts:
        at = np.array([names[name] for name in three.names], dtype=np.intp)
        graded[at] |= three.graded
        for kind, figure in enumerate((three.judge, three.on_graded, three.people)):
            sums[kind][at] += share * figure.pulls
            values[kind] += share * figure.value
    counts = [sum(each.n for each in side) for side in (first, second)]
    every = [each for each, _ in parts]
    judge, on_graded, people = map(Pulled, values, sums)
    whole = ThreeFigures(
        judge,
        on_graded,
        people,
        graded,
        tuple(names),
        n=min(counts),
        df=min(min(each.df, each.items - 1) for each in every),
        units=min(each.units for each in every),
    )
    found, power = whole.corrected(ends, null=0.0)
    shows_none = found.standard_error is not None and found.standard_error <= ROUNDING
    if found.reason == ALIKE or shows_none:
        # All graded items agree: turned round at random they would with this chance (Fisher 1935).
        differs = abs(found.value or 0.0) > ROUNDING
        found = with_test(found, min(1.0, 2.0 ** (1 - whole.items)) if differs else 1.0)
    return found, power
