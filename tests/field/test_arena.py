"""Arena-Hard: five verdicts, a strong one of which counts three times, in both orders, as its authors count them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.field.running import Answers, Figures, figures_in, lines
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """
benchmark arena "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text }
scorer better(question: text, one: text, two: text) by judge {
  prompt "Question: {{ question }}\\nA: {{ one }}\\nB: {{ two }}"
  gives  choice("A>>B": 3, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -3)
}
scenario arena {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  compare duel using better(item.question, first.reply.text, second.reply.text)
}
measure won      = win_rate(duel, weight: margin)
measure strength = bradley_terry(duel, weight: margin, ties: half)
measure halved   = bradley_terry(duel, ties: half)
measure ties     = bradley_terry(duel, weight: margin)
measure judged   = bradley_terry(duel, weight: margin, ties: half) by evaluator
measure leaning  = position_bias(duel) by evaluator
"""
LEVELS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
ODD = ("[[{0}]]", '{{"value": "{0}"}}', "My final verdict is: [[{0}]]", "**{0}**", "[[A>B]] or [[B>A]]", "")
"""The forms of a reply; the last two say no verdict, and a judge that is None refuses."""
SAID = ODD[:4]
MODELS = ("ada", "bob", "cyd", "dan")
ITEMS = 40

Battle = tuple[str, str, str, str]
"""A judge, the two models in the order in which they are shown, and the verdict."""


def arena(folder: Path, models: Sequence[str] = MODELS) -> tuple[Figures, list[Battle]]:
    """Run the arena with models and two judges; return its figures and the verdicts that can be read."""
    dice = random.Random(11)
    lean = {"ada": 3.0, "bob": 1.5, "cyd": 0.5, "dan": 0.0}
    meant: dict[tuple[str, int, str, str], tuple[str, str | None]] = {}
    for judge in ("judge:x", "judge:y"):
        for at in range(ITEMS):
            for first in MODELS:
                for second in MODELS:
                    tilt = lean[first] - lean[second] + dice.gauss(0, 2.2)
                    level = LEVELS[sum(tilt < bound for bound in (2.5, 0.6, -0.6, -2.5))]
                    meant[judge, at, first, second] = level, dice.choice((*ODD, *SAID, *SAID, None))

    def judging(judge: str) -> Answers:
        def answer(messages: list[str]) -> str | None:
            asked = re.search(r"Q(\d+)\nA: (\w+)\nB: (\w+)", "\n".join(messages))
            assert asked is not None
            level, form = meant[judge, int(asked[1]), asked[2], asked[3]]
            return None if form is None else form.format(level)

        return answer

    def writing(name: str) -> Answers:
        # One question is declined by a model: its comparisons are judged by nobody.
        return lambda messages: None if name == "dan" and "Q7" in messages[-1] else name

    figures = figures_in(
        folder,
        SPEC,
        {"items.jsonl": lines({"question": f"Q{at}"} for at in range(ITEMS))},
        lambda _: None,
        {judge: judging(judge) for judge in ("judge:x", "judge:y")},
        models={name: writing(name) for name in models},
    )
    read = [
        (judge, first, second, level)
        for (judge, at, first, second), (level, form) in meant.items()
        if first != second
        and {first, second} <= {*models}
        and form in SAID
        and not (at == 7 and "dan" in (first, second))
    ]
    return figures, read


def elo(battles: Iterable[Battle], strong: int = 3) -> dict[str, float]:
    """Arena-Hard's `compute_mle_elo` without its scale and anchor: a logistic regression without intercept and
    penalty, in which every battle stands twice and the second half of the ties is turned round. A strong verdict
    stands `strong` times."""
    names = sorted(MODELS)
    rows, wins = [], []
    for _, first, second, level in battles:
        times = strong if ">>" in level else 1
        row = np.zeros(len(names))
        row[names.index(first)], row[names.index(second)] = 1, -1
        for half in range(2):
            rows += [row] * times
            wins += [float(half) if level == "A=B" else float(level.startswith("A"))] * times
    x, y = np.array(rows), np.array(wins)
    beta = np.zeros(len(names))
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        beta = beta + np.linalg.pinv(x.T @ (x * (p * (1 - p))[:, None])) @ (x.T @ (y - p))
    return dict(zip(names, beta - beta.mean(), strict=True))


def rate(battles: Iterable[Battle], model: str) -> float:
    """The mean of the scores that Arena-Hard adds to a model's for each verdict: three equal ones for a strong one."""
    scores: list[float] = []
    for _, first, second, level in battles:
        if model in (first, second):
            one = 0.5 if level == "A=B" else float(level.startswith("A"))
            scores += [one if model == first else 1 - one] * (3 if ">>" in level else 1)
    return float(np.mean(scores))


def test_strengths_and_win_rates_are_those_of_arena_hard(tmp_path: Path) -> None:
    figures, read = arena(tmp_path)
    assert 500 < len(read) < 2 * ITEMS * 12
    for name, strong in (("strength", 3), ("halved", 1)):
        wanted = elo(read, strong)
        assert {row.model: row.value for row in figures.rows[name]} == pytest.approx(wanted, abs=1e-6), name
        assert all(row.low is not None for row in figures.rows[name])
    assert {row.model: row.value for row in figures.rows["won"]} == pytest.approx(
        {model: rate(read, model) for model in MODELS}
    )
    for row in figures.rows["judged"]:
        assert row.value == pytest.approx(elo(each for each in read if each[0] == row.by[0])[row.model], abs=1e-6)
        assert row.n == sum(row.model in each[1:3] for each in read if each[0] == row.by[0])
    assert len(figures.rows["judged"]) == 2 * len(MODELS)
    # Davidson's ties are another model: they leave the order, and not the figures.
    apart = {row.model: row.value or 0.0 for row in figures.rows["ties"]}
    assert max(abs(apart[model] - elo(read)[model]) for model in MODELS) > 0.01
    assert sorted(apart, key=lambda model: -apart[model]) == list(MODELS)


def test_against_a_baseline_alone_the_strength_says_the_win_rate(tmp_path: Path) -> None:
    # A row of Arena-Hard's table is 1 / (1 + e^-difference) to the strength of the baseline, the only opponent.
    figures, read = arena(tmp_path, ("ada", "dan"))
    strength, won = ({row.model: row.value or 0.0 for row in figures.rows[name]} for name in ("strength", "won"))
    assert 1 / (1 + np.exp(strength["dan"] - strength["ada"])) == pytest.approx(won["ada"], abs=1e-9)
    assert won["ada"] == pytest.approx(rate(read, "ada")) and won["ada"] > 0.6
    connection, _ = connect_run(Store.open(tmp_path / "results", create=False))
    with connection:
        query = "select first_model, second_model, choice from arena.comparisons where status = 'scored'"
        kept = connection.execute(query).fetchall()
    assert sorted(kept) == sorted(each[1:] for each in read)
