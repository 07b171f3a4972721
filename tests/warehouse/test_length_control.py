"""AlpacaEval's length-controlled win rate, against other ways to the same logistic regression."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from tests.compiler.compiling import compile_file, plan_of
from tests.warehouse.synthetic import Results, single
from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.metrics import LengthControlled
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark alpaca "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { instruction text, baseline text }
scorer better(instruction: text, one: text, two: text) by judge {
  prompt "{{ instruction }}\\nm: {{ one }}\\nM: {{ two }}\\nWhich is better?"
  gives  choice(first: 1, second: 0, tie: 0.5)
}
scenario answers {
  over item
  ask reply by candidate { prompt "{{ item.instruction }}" }
  score preferred = better(item.instruction, reply.text, item.baseline)
  measure won        = mean(preferred)
  measure controlled = length_controlled(preferred, length(reply.text) - length(item.baseline))
}
"""

WORTH = {"first": 1.0, "second": 0.0, "tie": 0.5}


def drawn(count: int) -> tuple[list[str], list[float]]:
    """Return verdicts of a judge that likes long replies, and by how much replies are longer."""
    dice = random.Random(7)
    longer = [dice.gauss(300, 400) for _ in range(count)]
    chances = [1 / (1 + math.exp(0.4 - 1.5 * math.tanh(each / 400))) for each in longer]
    words = ["tie" if dice.random() < 0.1 else "first" if dice.random() < chance else "second" for chance in chances]
    return words, longer


def terms(longer: list[float]) -> Floats:
    return np.column_stack([np.ones(len(longer)), np.tanh(np.array(longer) / np.std(longer, ddof=1))])


def regressed(wins: list[float], longer: list[float]) -> float:
    """Return the win rate by another way to the greatest likelihood: a general minimizer."""
    from scipy.optimize import minimize

    rows, won = terms(longer), np.array(wins)

    def cost(odds: Floats) -> float:
        return float((np.logaddexp(0, rows @ odds) - won * (rows @ odds)).sum())

    found = minimize(cost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    return float(1 / (1 + np.exp(-found.x[0])))


def test_it_is_that_of_statsmodels() -> None:
    from statsmodels.api import GLM, families

    words, longer = drawn(150)
    wins = np.array([WORTH[word] for word in words])
    fitted = GLM(wins, terms(longer), family=families.Binomial()).fit(tol=1e-12)
    expected = 1 / (1 + math.exp(-fitted.params[0]))
    assert LengthControlled(wins, np.array(longer)).overall() == pytest.approx(expected, abs=1e-9)


def test_it_is_the_regression_at_equal_length(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"instruction": "Sing.", "baseline": "La."}', "utf-8")
    (tmp_path / "alpaca.tripos").write_text(SPEC, "utf-8")
    plan = plan_of(compile_file(tmp_path / "alpaca.tripos"))
    words, longer = drawn(150)
    results = Results(plan)
    for at, (word, by) in enumerate(zip(words, longer, strict=True)):
        results.add("answers", "preferred", f"i{at:03}", word, evaluator="j1")
        results.add("answers", "controlled.longer", f"i{at:03}", by)
    results.add("answers", "preferred", "i999", None, evaluator="j1", status="parse_failure")
    results.add("answers", "controlled.longer", "i999", 50.0)
    results.write(store)
    wins = [WORTH[word] for word in words]
    row, raw = single(store, plan, "answers.controlled"), single(store, plan, "answers.won")
    assert row.value == pytest.approx(regressed(wins, longer), abs=1e-6)
    assert (row.n, row.total) == (150, 151)
    assert raw.value is not None and row.value is not None and row.value < raw.value - 0.1
    moved = [LengthControlled(np.delete(wins, at), np.delete(longer, at)).overall() or 0.0 for at in range(150)]
    error = math.sqrt(149 / 150 * sum((each - sum(moved) / 150) ** 2 for each in moved))
    assert row.standard_error == pytest.approx(error, rel=0.02)


@pytest.mark.parametrize(
    ("wins", "longer"),
    [([1.0] * 6, [1.0, 2, 3, 4, 5, 6]), ([1.0, 0] * 3, [4.0] * 6), ([0.0, 0, 0, 1, 1, 1], [1.0, 2, 3, 4, 5, 6])],
)
def test_where_there_is_nothing_to_fit_there_is_no_rate(wins: list[float], longer: list[float]) -> None:
    assert LengthControlled(np.array(wins), np.array(longer)).overall() is None
