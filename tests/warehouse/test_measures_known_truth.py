"""A result set with a planted truth, loaded through the store: every measure recovers it as often as it says.

Each of the compared models is a repetition of its own: its replies and the ratings of them are drawn anew, from the
same reliability, severity and strength. So one store has all repetitions, and a measure is one query over it. Of 200
intervals that keep their promise 179 to 198 hold the truth, but for 1 case in 1,000 (binomial).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from tests.compiler.compiling import compile_files, plan_of
from tests.lengths import sized
from tests.warehouse.synthetic import AT, Results
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureTable
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

REPETITIONS = sized(40, 200)
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))
ITEMS = 40

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
arm hint { none, some }
dataset item from "items.jsonl" { text text, sort choice(a, b, c) secret }
dimension quality "Quality" { metric CLAR "Clarity" { scale 1..5, asks "?" } }
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | CLAR |
  | sums |  x   |
}
scenario sums {
  arms hint
  over item
  ask answer by candidate {
    prompt "{{ item.text }}"
    system "Think." when hint == some
    samples 2
    returns { sort choice(a, b, c), sure bool }
  }
  score right = answer.sure
  score long = words(answer.text)
  score rubric(answer.text)

  measure whole = mean(right)
  measure by_hint = mean(right) by hint
  measure gain = by_hint[hint: some] - by_hint[hint: none]
  measure of_cells = mean(mean(right) by hint)
  measure tries_by = pass_at(2, right) by hint
  measure tries = tries_by[hint: none] * 1
  measure all_by = pass_all(2, right) by hint
  measure all = all_by[hint: none] * 1
  measure length = mean(long)
  measure ratio = length / whole
  measure total = sum(long)
  measure middle_by = median(long) by hint
  measure middle = middle_by[hint: none] * 1
  measure middle_gain = middle_by[hint: some] - middle_by[hint: none]
  measure middle_of_cells = mean(middle_by)
  measure accuracy = accuracy(answer.sort, item.sort)
  measure f1 = f1(answer.sort, item.sort)
  measure recall = recall(answer.sort, item.sort)
  measure kappa = cohen_kappa(answer.sort, item.sort)
}
measure alpha = krippendorff_alpha(rubric) across judge
measure w = kendall_w(rubric) across judge
measure tau = kendall_tau(rubric) across judge
measure rho = spearman(rubric) across judge
measure quadratic = quadratic_kappa(rubric) across judge
measure by_judge = mean(rubric) by evaluator
measure severity = by_judge[evaluator: j2] - by_judge[evaluator: j1]
"""

EASE = (0.1, 0.8)
GAIN = 0.1
SHARE, SQUARE = np.mean(EASE), np.mean(EASE) ** 2 + (EASE[1] - EASE[0]) ** 2 / 12
"""The mean of a chance that is spread evenly between the two, and of its square."""
LENGTH, SHIFT = 2.0, 1.0
"""Lengths have a gamma distribution of this shape and a scale of 1, and grow by `SHIFT` with a hint."""
RIGHT = 0.8
RELIABLE, STRICT = 2 / 3, 0.5
"""The variance between replies, of 1 for all of one judge; and by how much the second judge is the more lenient."""

MIDDLE = float(stats.gamma.ppf(0.5, LENGTH))
RHO = 6 / math.pi * math.asin(RELIABLE / 2)
TRUTHS: dict[str, float] = {
    "sums.whole": SHARE + GAIN / 2,
    "sums.gain": GAIN,
    "sums.of_cells": SHARE + GAIN / 2,
    "sums.tries": 2 * SHARE - SQUARE,
    "sums.all": SQUARE,
    "sums.length": LENGTH + SHIFT / 2,
    "sums.ratio": (LENGTH + SHIFT / 2) / (SHARE + GAIN / 2),
    "sums.total": 4 * ITEMS * (LENGTH + SHIFT / 2),
    "sums.middle": MIDDLE,
    "sums.middle_gain": SHIFT,
    "sums.middle_of_cells": MIDDLE + SHIFT / 2,
    "sums.accuracy": RIGHT,
    "sums.f1": RIGHT,
    "sums.recall": RIGHT,
    "sums.kappa": (RIGHT - 1 / 3) / (2 / 3),
    "alpha": 1 - (2 * (1 - RELIABLE) + STRICT**2) / (2 + STRICT**2 / 2),
    "w": (1 + RHO) / 2,
    "tau": 2 / math.pi * math.asin(RELIABLE),
    "rho": RHO,
    "quadratic": 2 * RELIABLE / (2 + STRICT**2),
    "severity": STRICT,
}
"""What every measure comes to for endless items. Of the ratings, which are normal, by the formulas of that
distribution; of two judges W is (1 + ρ) / 2."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MeasureTable]]:
    """Every measure of the spec over a store with all repetitions."""
    folder = tmp_path_factory.mktemp("truth")
    rows = '{"text": "?", "sort": "a"}\n'
    plan = plan_of(compile_files(folder, {"spec.tripos": SPEC, "items.jsonl": rows}))
    models = tuple(f"m{number:03}" for number in range(REPETITIONS))
    results = Results(plan, models=models, judges=("j1", "j2"))
    for number, model in enumerate(models):
        simulate(results, model, np.random.default_rng([number, 41]))
    store = Store.open(folder / "results", create=True, clock=lambda: AT)
    results.write(store)
    with connect(store) as connection:
        yield {each.name: evaluate(connection, plan, each) for each in plan.measures if each.name in TRUTHS}


def simulate(results: Results, model: str, random: np.random.Generator) -> None:
    """A model's replies to every item, twice under each arm, and what two judges say of the first."""
    ease = random.uniform(*EASE, ITEMS)
    # What is long for one reply to an item is for the others too, half of it.
    shared = random.gamma(LENGTH / 2, size=ITEMS)
    quality = random.normal(3, math.sqrt(RELIABLE), ITEMS)
    marks = quality + np.array([[-STRICT / 2], [STRICT / 2]]) + random.normal(0, math.sqrt(1 - RELIABLE), (2, ITEMS))
    truth = random.integers(0, 3, ITEMS)
    said = (truth + (random.random(ITEMS) >= RIGHT) * random.integers(1, 3, ITEMS)) % 3
    for item in range(ITEMS):
        name = f"i{item:02}"
        for arm, gain, shift in (("none", 0.0, 0.0), ("some", GAIN, SHIFT)):
            for number in (0, 1):
                right = float(random.random() < ease[item] + gain)
                long = float(shared[item] + random.gamma(LENGTH / 2) + shift)
                results.add("sums", "right", name, right, model=model, number=number, arms={"hint": arm})
                results.add("sums", "long", name, long, model=model, number=number, arms={"hint": arm})
        for judge, mark in zip(results.judges, marks[:, item], strict=True):
            results.add(
                "sums", "rubric", name, float(mark), model=model, metric="CLAR", evaluator=judge, arms={"hint": "none"}
            )
        for column, value in (("values", said[item]), ("gold", truth[item])):
            step = f"accuracy.{column}"  # the other measures look at the same columns
            results.add("sums", step, name, "abc"[value], model=model, arms={"hint": "none"})


@pytest.mark.parametrize("name", TRUTHS)
def test_a_measure_recovers_what_was_planted_as_often_as_it_says(found: dict[str, MeasureTable], name: str) -> None:
    rows = found[name].rows
    assert len(rows) == REPETITIONS
    held = 0
    for row in rows:
        assert row.low is not None and row.high is not None, row.reason
        held += row.low <= TRUTHS[name] <= row.high
    assert LEAST <= held <= MOST
