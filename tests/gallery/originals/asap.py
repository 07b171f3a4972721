"""Writes what the original scorers say of rows drawn by dice: `python asap.py ../verdicts/asap.jsonl`.

They are `quadratic_weighted_kappa` and `mean_quadratic_weighted_kappa` of ml_metrics 0.1.4 (BSD-2-Clause), which the
competition of 2012 scored with, and `standardized_mean_difference` and `get_fairness_analyses` of rsmtool 12.0.0
(Apache-2.0), with statsmodels 0.15.0.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd

for name in ("skll", "skll.data", "skll.learner", "rsmtool.container", "rsmtool.writer"):
    sys.modules[name] = types.ModuleType(name)  # of rsmtool two modules are imported, and nothing that they do not use
sys.modules["skll.data"].FeatureSet = sys.modules["skll.learner"].Learner = object
sys.modules["rsmtool.container"].DataContainer = lambda datasets: {one["name"]: one["frame"] for one in datasets}
sys.modules["rsmtool.container"].DatasetDict = dict
sys.modules["rsmtool.writer"].DataWriter = object
package = types.ModuleType("rsmtool")
package.__path__ = list(importlib.util.find_spec("rsmtool").submodule_search_locations)
sys.modules["rsmtool"] = package

from ml_metrics import mean_quadratic_weighted_kappa, quadratic_weighted_kappa  # noqa: E402
from rsmtool.fairness_utils import get_fairness_analyses  # noqa: E402
from rsmtool.utils.metrics import standardized_mean_difference  # noqa: E402

ENDS = {1: (2, 12), 2: (1, 6), 3: (0, 3), 4: (0, 3), 5: (0, 4), 6: (0, 4), 7: (0, 30), 8: (0, 60)}
dice = np.random.default_rng(2012)


def said_of(true: int, low: int, high: int) -> float | str:
    """Draw the score that a model says: near the true one, off the scale, broken, or in no form."""
    kind = dice.choice(["near", "half", "off", "text", "empty"], p=[0.8, 0.08, 0.05, 0.04, 0.03])
    if kind == "near":
        return int(np.clip(true + dice.integers(-2, 3) * max(1, (high - low) // 8), low, high))
    if kind == "half":
        return float(true) + 0.5
    return {"off": int(high + dice.integers(1, 9)), "text": "I would give it the best mark.", "empty": ""}[kind]


def kept(said: float | str, low: int, high: int) -> int | None:
    """Round a score half to even as NumPy does, and clip it; None where there is none."""
    return None if isinstance(said, str) else int(np.clip(np.rint(said), low, high))


rows: list[dict[str, object]] = []
for number in range(320):
    essay_set = number // 6 % 8 + 1
    low, high = ENDS[essay_set]
    true = int(dice.integers(low, high + 1))
    said = said_of(true, low, high)
    rows.append(
        {"scenario": "sets", "essay_set": essay_set, "true": true, "said": said, "grade": kept(said, low, high)}
    )
for _ in range(200):
    gender, learner = str(dice.choice(["F", "M"])), str(dice.choice(["Yes", "No"], p=[0.3, 0.7]))
    race = str(dice.choice(["Asian/Pacific Islander", "Black/African American", "Hispanic/Latino", "White"]))
    true = int(dice.integers(1, 7))
    said = said_of(true, 1, 6)
    if isinstance(said, int) and learner == "Yes":
        said -= 2
    rows.append(
        {"scenario": "groups", "prompt": f"prompt {dice.integers(3)}", "gender": gender, "learner": learner}
        | {"race": race, "poor": str(dice.choice(["Yes", "No"])), "true": true, "said": said, "grade": kept(said, 1, 6)}
    )


def figures_of(rows: list[dict[str, object]]) -> dict[str, object]:
    """Return what the original scorers say of the rows that have a grade."""
    figures: dict[str, object] = {}
    sets = pd.DataFrame([row for row in rows if row["scenario"] == "sets" and row["grade"] is not None])
    kappas = {
        str(name): float(quadratic_weighted_kappa(own["true"].astype(int).tolist(), own["grade"].astype(int).tolist()))
        for name, own in sets.groupby("essay_set")
    }
    figures["kappa"] = kappas
    figures["fisher"] = float(mean_quadratic_weighted_kappa(list(kappas.values())))
    groups = pd.DataFrame([row for row in rows if row["scenario"] == "groups" and row["grade"] is not None])
    groups["true"], groups["grade"] = groups["true"].astype(float), groups["grade"].astype(float)
    figures["groups kappa"] = float(quadratic_weighted_kappa(groups["true"].tolist(), groups["grade"].tolist()))
    for column in ("gender", "learner"):
        figures[f"smd {column}"] = {
            name: float(standardized_mean_difference(own["true"].to_numpy(), own["grade"].to_numpy()))
            for name, own in groups.groupby(column)
        }
    for column in ("gender", "learner", "race", "poor"):
        _, found = get_fairness_analyses(groups.copy(), column, "grade", "true")
        figures[f"r2 {column}"] = float(found[f"fairness_metrics_by_{column}"].loc["R2", "Overall score difference"])
    return figures


few = {"rows": len(rows[::6]), "figures": figures_of(rows[::6])}
lines = [json.dumps(row) for row in rows] + [json.dumps(few), json.dumps({"figures": figures_of(rows)})]
Path(sys.argv[1]).write_text("\n".join(lines) + "\n", "utf-8")
