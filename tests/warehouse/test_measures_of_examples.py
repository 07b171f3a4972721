"""The measures of the benchmarks in docs/examples, on result sets whose truth is worked out apart from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.compiler.compiling import ROOT, compile_file, plan_of
from tests.warehouse.synthetic import Results, measured, single
from tripos_compiler.plan import Plan
from tripos_warehouse.store.store import Store

Flags = npt.NDArray[np.bool_]


def example(name: str) -> Plan:
    return plan_of(compile_file(Path(ROOT) / "docs" / "examples" / f"{name}.tripos"))


def left_out(count: int, statistic: Callable[[Flags], float]) -> tuple[float, float]:
    """Return a statistic, and its standard error from leaving out items."""
    moved = np.array([statistic(np.arange(count) != item) for item in range(count)])
    error = math.sqrt((count - 1) / count * float(((moved - moved.mean()) ** 2).sum()))
    return statistic(np.ones(count, dtype=bool)), error


def test_the_composite_of_cjeval_carries_the_errors_of_its_parts_through(store: Store) -> None:
    plan, random, count = example("cjeval"), np.random.default_rng(3), 60
    results = Results(plan)
    subject = np.array(["mno"[item % 3] for item in range(count)])
    ease = random.random(count)
    f1, near, right, covers, hard = (
        np.clip(ease + random.normal(0, 0.2, count), 0, 1),
        *((random.random(count) < 0.3 + 0.6 * ease).astype(float) for _ in range(4)),
    )
    for item in range(count):
        name = f"i{item:02}"
        for scenario in ("kct", "qdp", "qa", "qg"):
            results.item(scenario, name, {"subject": subject[item]})
        results.add("kct", "f1", name, float(f1[item]), arms={"shots": "zero"})
        results.add("qdp", "within_one", name, float(near[item]))
        results.add("qa", "correct", name, float(right[item]))
        results.add("qg", "concepts_ok", name, float(covers[item]), evaluator="j1")
        results.add("qg", "difficulty_ok", name, float(hard[item]), evaluator="j1")
    results.write(store)

    def score(kept: Flags) -> float:
        macro = np.mean([f1[kept & (subject == each)].mean() for each in "mno"])
        quality = (covers[kept].mean() + hard[kept].mean()) / 2
        return float(0.4 * right[kept].mean() + 0.2 * (macro + near[kept].mean() + quality))

    expected, error = left_out(count, score)
    row = single(store, plan, "eduscore")
    assert row.value == pytest.approx(expected)
    assert row.standard_error == pytest.approx(error, rel=0.03)
    assert (row.items, row.n, row.coverage, row.method) == (count, 5 * count, 1.0, "logit")


def test_the_gain_of_teachbench_is_taken_item_by_item(store: Store) -> None:
    plan, random = example("teachbench"), np.random.default_rng(4)
    arms = {"none": 0.0, "knowledge": 0.1, "lesson": 0.25, "lesson_with_examples": 0.3}
    results = Results(plan, models=("m",))
    count, samples = 25, 8
    right = {
        arm: (random.random((count, samples)) < np.clip(base[:, None] + gain, 0, 1)).astype(float)
        for base in [random.random(count) * 0.6]
        for arm, gain in arms.items()
    }
    for arm in arms:
        for item in range(count):
            for number in range(samples):
                value = float(right[arm][item, number])
                results.add("learning_gain", "correct", f"i{item:02}", value, number=number, arms={"teaching": arm})
    results.write(store)
    shares = np.mean([right[arm].mean(axis=1) for arm in arms], axis=0) - right["none"].mean(axis=1)
    row = single(store, plan, "learning_gain.gain")
    assert row.value == pytest.approx(shares.mean())
    assert row.standard_error == pytest.approx(shares.std(ddof=1) / math.sqrt(count))
    assert row.items == count


def test_the_measures_of_mathtutorbench_have_values(store: Store) -> None:
    plan, random = example("mathtutorbench"), np.random.default_rng(5)
    results = Results(plan)
    truth, said = random.integers(0, 4, 50), random.integers(0, 4, 50)
    said = np.where(random.random(50) < 0.6, truth, said)
    for item in range(50):
        name = f"i{item:02}"
        results.add("problem_solving", "correct", name, float(random.random() < 0.7))
        results.add("mistake_location", "micro_f1.values", name, int(said[item]))
        results.add("mistake_location", "micro_f1.gold", name, int(truth[item]))
        results.add("scaffolding", "win", name, float(item % 2), arms={"instruction": "plain"})
    results.write(store)
    assert single(store, plan, "problem_solving.accuracy").method == "exact"
    row = single(store, plan, "mistake_location.micro_f1")
    equal = (said == truth).astype(float)
    assert (row.value, row.standard_error) == pytest.approx((equal.mean(), equal.std(ddof=1) / math.sqrt(50)))
    assert single(store, plan, "scaffolding.win_rate").value == 0.5


def test_the_agreement_of_edubench_is_kendalls_w_of_its_judges(store: Store) -> None:
    plan = example("edubench")
    results = Results(plan, judges=("j1", "j2", "j3"))
    ratings = [[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5]]
    for judge, marks in zip(results.judges, ratings, strict=True):
        for item, mark in enumerate(marks):
            results.add("error_correction", "rubric", f"i{item}", float(mark), metric="IFTC", evaluator=judge)
    results.write(store)
    [row] = measured(store, plan, "agreement").rows
    assert (row.by, row.value, row.method) == (("IFTC",), pytest.approx(0.874150, abs=1e-6), "jackknife")
    assert row.high is not None and row.high <= 1
