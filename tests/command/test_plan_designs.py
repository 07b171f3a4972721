"""`tripos plan --detect` and `--spend`: from a store, from nothing, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """\
benchmark why "0.1.0" {
  title     "Why"
  languages en
  headline  quality
}
role candidate compared
role judge panel
axis topic { heat, force }
dataset question from "questions.jsonl" {
  topic
  text text
}
dimension teaching "Teaching" {
  metric CLEAR "Clarity" {
    scale 1..10
    asks "Can a child follow it?"
    level 6..10 "It can."
    level 1..5 "It cannot."
  }
}
scorer rubric(question: text, reply: text) by judge {
  prompt "Grade a reply to a child who asks: {{ question }}\\n\\n{{ metrics }}\\n\\nReply: {{ reply }}"
  gives  allocated metrics
}
allocate rubric {
  |         | CLEAR |
  | explain |   x   |
}
scenario explain "Explain" {
  context topic
  over question as q
  ask reply by candidate { prompt "Answer a child about {{ topic }}: {{ q.text }}" }
  score rubric(q.text, reply.text)
}
measure quality = mean(rubric)
measure longest = max(rubric)
"""
TWO = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/noisy,mock/noisy:b,mock/fair")
PRICES = """
[prices."mock/careful"]
input = 1.0
output = 2.0
[prices."mock/careful:b"]
input = 1.0
output = 2.0
[prices."mock/noisy"]
input = 10.0
output = 20.0
[prices."mock/noisy:b"]
input = 1.0
output = 1.0
[prices."mock/fair"]
input = 10.0
output = 20.0
"""


@pytest.fixture
def why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark with a panel and 24 questions, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "why.tripos").write_text(SPEC, "utf-8")
    rows = [{"topic": ("heat", "force")[n % 2], "text": f"Why does thing {n} fall?"} for n in range(24)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path


def found(tripos: Command, *options: str) -> dict[str, Any]:
    """Return the designs. Each of them, the planned one too, reaches the difference that was asked for if it detects
    it."""
    done = tripos("plan", "why.tripos", *TWO, "--json", *options)
    assert done.code == 0, done.err
    data: dict[str, Any] = done.data
    for design in data["designs"] if "--detect" in options else ():
        assert design["reaches"] == (design["detects"] is not None and design["detects"] <= data["detect"]), design
    return data


def test_without_a_run_the_worst_case_is_taken_and_a_pilot_proposed(why: Path, tripos: Command) -> None:
    done = tripos("plan", "why.tripos", *TWO, "--detect", "4", "--pilot", "10")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    told = " ".join(done.out.split())
    assert "there is no store yet. Only the number of items is chosen." in told
    assert "`tripos run why.tripos --limit 10 --seed 1` with two models takes 80 calls." in told
    assert not (why / "results").exists()
    data = found(tripos, "--detect", "4")
    assert data["components"]["learned_from"] is None
    # Noncentral t: (9 / 2)² a score, a correlation of 0.5, so as much for a difference.
    assert data["components"]["items"] == pytest.approx(20.25)
    assert data["designs"][0]["items"] in (12, 13)
    beyond = found(tripos, "--detect", "0.5")
    assert not beyond["designs"][0]["reaches"]
    assert 600 < beyond["items_beyond"] < 680


def test_a_run_teaches_the_noise_and_the_cheapest_judge_is_chosen(why: Path, tripos: Command) -> None:
    (why / "tripos.toml").write_text(PRICES, "utf-8")
    assert tripos("run", "why.tripos", *TWO, "--limit", "12", "--json").code == 0
    data = found(tripos, "--detect", "2.5")
    parts = data["components"]
    assert parts["learned_from"] == {
        "items": 12,
        "models": ["mock/careful", "mock/careful:b"],
        "judges": ["mock/fair", "mock/noisy", "mock/noisy:b"],
    }
    assert parts["known"] == ["judges"]
    best, planned = data["designs"][:2]
    assert (best["label"], planned["label"]) == ("best", "as planned")
    assert best["judges"] == ["mock/noisy:b"]
    assert best["detects"] <= 2.5
    assert best["cost"] < planned["cost"]
    assert (planned["items"], len(planned["judges"])) == (24, 3)
    # Half of the items are kept: all of them cost twice what the others will.
    forecast = tripos("run", "why.tripos", *TWO, "--dry-run", "--json").data
    assert data["unit"] == "USD"
    assert planned["cost"] == pytest.approx(2 * forecast["total"]["cost_usd"]["expected"], rel=0.02)
    sharp = found(tripos, "--spend", f"{planned['cost'] / 4:.6f}usd")["designs"][0]
    assert sharp["cost"] <= planned["cost"] / 4
    text = tripos("plan", "why.tripos", *TWO, "--detect", "2.5")
    told = " ".join(text.out.split())
    assert "From 12 items in the store, with scores of mock/careful, mock/careful:b: an item's difference has a" in told
    assert "The store has no item with several samples, so nothing says what more would bring" in told
    assert "The best design has these judges alone, taken to be as good as others: mock/noisy:b." in told
    assert data["not_learned_from"] == []
    other = tripos("plan", "why.tripos", "--model", "mock/careful", "--role", "judge=mock/severe", "--detect", "2.5")
    assert "The store has no scores of or by mock/severe: they are taken to vary alike." in " ".join(other.out.split())
    assert max(map(len, text.out.splitlines())) <= 80


def test_a_report_says_what_would_have_sharpened_it(why: Path, tripos: Command) -> None:
    assert tripos("run", "why.tripos", *TWO, "--limit", "5", "--json").code == 0
    few = tripos("report", "--json").data["sharpening"]
    assert few == [{"measure": "quality", "error_falls_by": {}, "reason": "5 items have scores: it takes 8"}]
    assert "reduce the error" not in tripos("report").out
    assert tripos("run", "why.tripos", *TWO, "--json").code == 0
    [found] = tripos("report", "--json").data["sharpening"]
    assert (found["measure"], found["unit"], found["reason"]) == ("quality", "calls", None)
    # A tenth more items: the error falls by 1 - 1 / √1.1, whatever varies.
    assert found["error_falls_by"]["items"] == pytest.approx(1 - 1.1**-0.5)
    assert 0 <= found["error_falls_by"]["judges"] < found["error_falls_by"]["items"]
    assert "samples" not in found["error_falls_by"]
    told = " ".join(tripos("report").out.split())
    assert (
        "`quality`: 10 % more calls, spent on more items, would reduce the error of a difference between two models by 4.7 %"
    ) in told


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--detect", "1", "--spend", "5usd"), "R0202"),
        (("--measure", "quality"), "R0202"),
        (("--pilot", "5"), "R0202"),
        (("--spend", "100tokens"), "R0401"),
        (("--spend", "much"), "R0401"),
        (("--spend", "5usd"), "R0404"),
        (("--detect", "1", "--measure", "qualty"), "S0602"),
    ],
)
def test_what_cannot_be_answered_is_refused(why: Path, tripos: Command, options: tuple[str, ...], code: str) -> None:
    done = tripos("plan", "why.tripos", *TWO, *options)
    assert done.code == 2
    assert f"error[{code}]" in done.err


def test_a_measure_that_is_no_mean_has_the_worst_case(why: Path, tripos: Command) -> None:
    data = found(tripos, "--detect", "4", "--measure", "longest")
    assert data["components"]["unknown"] == "`longest` is no mean of scores"
