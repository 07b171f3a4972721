"""How often a comparison says something false: its bounds, and its tables as one family.

    python tests/bench/comparisons.py [REPETITIONS]

The first table has how often a true difference lies beyond its one-sided bound of 5 %, by Student's t and as
`upper_bound` has it. The second has simulated comparisons of 2 measures, 6 metrics and 4 scenarios over 40 items: any
false "better", and how often a figure that differs is found, for four ways of correcting p-values. The third has what
rows say of margins and bounds, of two sides that are as far apart as the margin. Each line ends with its Monte-Carlo
error, in percent.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tripos_warehouse.report.comparison import HEADLINE_SHARE, LEVEL, ComparedRow, Section, corrected
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean_of_cells, upper_bound
from tripos_warehouse.statistics.multiple_tests import fixed_sequence, holm

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


def alike(low: float, apart: float) -> Draw:
    """Return a draw of two models that solve an item together or not, of shares `low` and `low` + `apart`."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        first = rng.random(n)
        second = np.where(rng.random(n) < 0.5, first, rng.random(n))
        return (first < low + apart) * 1.0 - (second < low)

    return draw


SHAPES: list[tuple[str, int, float, Draw]] = [
    ("1 in 10 differs, to one side", 30, 0.1, lambda rng, n: (rng.random(n) < 0.1) * 1.0),
    ("right or wrong, .9 and 1", 60, 0.1, alike(0.9, 0.1)),
    ("right or wrong, .95 and 1", 60, 0.05, alike(0.95, 0.05)),
    ("right or wrong, .9 and 1", 200, 0.1, alike(0.9, 0.1)),
    ("right or wrong, .8 and .85", 60, 0.05, alike(0.8, 0.05)),
    ("marks of 1 to 10", 30, 0.1, lambda rng, n: 0.1 + np.rint(rng.normal(0, 1.2, n)) / 9),
    ("1 in 10 falls from best to worst", 60, 0.1, lambda rng, n: falls(rng, n, 0.1)),
    ("1 in 50 falls from best to worst", 60, 0.02, lambda rng, n: falls(rng, n, 0.02)),
]


def falls(rng: np.random.Generator, n: int, share: float) -> Floats:
    """Return the differences of marks that hardly differ, but for some that fall."""
    return np.where(rng.random(n) < share, 1.0, np.rint(rng.normal(0, 1.2, n)) / 30)


def bounds(rng: np.random.Generator, repetitions: int) -> None:
    """Print how often truths lie beyond their bounds."""
    for name, n, true, draw in SHAPES:
        beyond = np.zeros(2)
        for _ in range(repetitions):
            values = draw(rng, n)
            error = float(values.std(ddof=1)) / math.sqrt(n)
            found = Estimate(float(values.mean()), standard_error=error, df=n - 1)
            farthest = float(np.abs(values).max())
            told = [upper_bound(found, LEVEL, end=1.0), upper_bound(found, LEVEL, farthest=farthest, end=1.0)]
            beyond += [each is not None and each < true - 1e-12 for each in told]
        print(line(f"{n} items, {name}", beyond, repetitions))


def row(name: str, values: Floats) -> ComparedRow:
    """Return a row of the differences of items."""
    found = mean_of_cells(values, np.arange(len(values)), ends=(-1, 1))
    far = float(np.abs(values).max())
    return ComparedRow(name, "", 0.0, 0.0, found, None, True, 1.0, figure=values.tobytes(), farthest=far)


def tables(metrics: Floats, scenarios: Floats) -> list[Section]:
    """Return the three tables of a comparison."""
    over_all = (row("overall", metrics.mean(0)), row("solved", scenarios.mean(0)))
    rows = [row(f"{place}", each) for place, each in enumerate((*metrics, *scenarios))]
    return [
        Section("measure", over_all),
        Section("metric", tuple(rows[: len(metrics)])),
        Section("scenario", tuple(rows[len(metrics) :])),
    ]


def drawn(rng: np.random.Generator, effects: Floats, n: int) -> list[Section]:
    """Return tables of sides that differ in metrics by effects, in standard deviations, on marks with a share of each
    item."""
    metrics = rng.normal(size=(6, n)) + effects[:, None] + rng.normal(size=n) / 2
    scenarios = rng.normal(size=(4, n)) + effects.mean() + rng.normal(size=n) / 2
    return tables(np.clip(metrics / 9, -1, 1), np.clip(scenarios / 9, -1, 1))


def families(rng: np.random.Generator, repetitions: int) -> None:
    """Print how often something is said to be better, by four ways of correction."""
    print("table by table; Holm over all; headline first, others after it; headline first with most of the level")
    for name, effects, place in (
        ("no difference: any", np.zeros(6), None),
        ("all metrics by 0.3: the headline", np.full(6, 0.3), 0),
        ("one metric by 1: it", np.array([1.0, 0, 0, 0, 0, 0]), 2),
    ):
        found = np.zeros(4)
        for _ in range(repetitions):
            given = [[each.difference.p for each in section.rows] for section in drawn(rng, effects, 40)]
            flat = [p for some in given for p in some]
            ways = (
                [p for some in given for p in holm(some)],
                holm(flat),
                fixed_sequence(flat, [0]),
                fixed_sequence(flat, [0], HEADLINE_SHARE),
            )
            said = [[p is not None and p < LEVEL for p in way] for way in ways]
            found += [any(each) if place is None else each[place] for each in said]
        print(line(name, found, repetitions))


def margins(rng: np.random.Generator, repetitions: int) -> None:
    """Print how often any row says something false of sides that are as far apart as the margin."""
    print("any false: equivalent, not worse, ruled out")
    for n, low, apart in ((40, 0.6, -0.1), (150, 0.6, -0.1), (150, 0.9, -0.1), (400, 0.95, -0.05)):
        found = np.zeros(3)
        for _ in range(repetitions):
            metrics = np.array([alike(low, apart)(rng, n) for _ in range(6)])
            scenarios = np.array([alike(low, apart)(rng, n) for _ in range(4)])
            family = corrected(tables(metrics, scenarios), ["overall"], {None: -apart})
            rows = [each for section in family.sections for each in section.rows]
            said = {each.equivalence.verdict for each in rows if each.equivalence is not None}
            ruled_out = any(each.ruled_out is not None and each.ruled_out < -apart for each in rows)
            found += ["equivalent" in said, bool(said & {"equivalent", "not worse"}), ruled_out]
        print(line(f"{n} items, {low} and {low + apart:.2f}", found, repetitions))


def line(name: str, found: Floats, repetitions: int) -> str:
    shares = found / repetitions
    error = 100 * float(np.sqrt(np.maximum(shares * (1 - shares), 0)).max()) / math.sqrt(repetitions)
    return f"  {name:36}" + "".join(f"{100 * share:7.1f}" for share in shares) + f"   ± {error:.1f}"


if __name__ == "__main__":
    many = int(sys.argv[1]) if sys.argv[1:] else 2_000
    bounds(np.random.default_rng(1), 5 * many)
    families(np.random.default_rng(2), many)
    margins(np.random.default_rng(3), many)
