"""How often the intervals of Brier, log loss, calibration error and AUROC hold the figure of the population.

`python -m tests.bench.forecast_coverage` takes about a minute on one core; `docs/measures.md` has its figures.
"""

from __future__ import annotations

import math

import numpy as np

from tripos_warehouse.query.list_statistics import statistic
from tripos_warehouse.statistics import StatisticResult, t_quantile
from tripos_warehouse.statistics.intervals import bounded
from tripos_warehouse.statistics.ratings import Floats

SETS = 400
SIZES = (30, 100, 400)
POPULATION = 200_000
SETTINGS = {"brier": "{}", "log_loss": "{}", "ece": '{"bins": 10}', "auroc": "{}"}
WORLDS = {"calibrated": 0.0, "too sure by 0.15": 0.15, "too sure by 0.3": 0.3}


def forecasts(dice: np.random.Generator, count: int, too_sure: float) -> tuple[Floats, Floats]:
    """Return probabilities that are stated, and what came true; a model may state more than is so."""
    chance = np.clip(dice.beta(3, 2, count), 0.02, 0.98)
    real = np.clip(chance - too_sure, 0.01, 0.98)
    return chance, (dice.random(count) < real).astype(float)


def holds(what: str, chances: Floats, truths: Floats, truth: float) -> bool | None:
    """Return true if the interval of a set holds the truth; None where there is no interval."""
    items = [str(place) for place in range(len(chances))]
    keys, subjects = [repr(float(each)) for each in chances], [repr(float(each)) for each in truths]
    found = statistic(what, SETTINGS[what], items, subjects, items, keys, [None] * len(items))
    if found["value"] is None or None in found["pulls"]:
        return None
    m = len(items)
    error = math.sqrt(sum(pull**2 for pull in found["pulls"]) * m / (m - 1))
    if what == "log_loss":
        reach = t_quantile(0.975, m - 1) * error
        return bool(abs(found["value"] - truth) <= reach)
    told = bounded(StatisticResult(found["value"], clusters=m), error, m - 1, (0.0, 1.0))
    return told.low is not None and told.high is not None and told.low <= truth <= told.high


if __name__ == "__main__":
    dice = np.random.default_rng(8)
    for world, too_sure in WORLDS.items():
        whole = forecasts(dice, POPULATION, too_sure)
        keys, subjects = ([repr(float(each)) for each in part] for part in whole)
        for what, settings in SETTINGS.items():
            items = ["all"] * POPULATION
            truth = statistic(what, settings, items, subjects, items, keys, [None] * POPULATION)["value"]
            told = {}
            for size in SIZES:
                kept = [holds(what, *forecasts(dice, size, too_sure), truth) for _ in range(SETS)]
                known = [each for each in kept if each is not None]
                told[size] = f"{sum(known) / max(len(known), 1):.3f} of {len(known)}"
            print(world, what, f"{truth:.4f}", told, flush=True)
