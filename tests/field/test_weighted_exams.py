"""Exams whose questions have points of their own, as those of GAOKAO-Bench and national exams: the rate of points."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.field.running import Figures, figures_of, lines
from tests.unit_errors import figure

SPEC = """
benchmark exam "1.0.0" { languages en }
role candidate compared

dataset question from "questions.jsonl" {
  stem     text
  key      choice(A, B, C, D) secret
  points   number?
  subject  text
}

scenario exam {
  over question as q
  ask reply by candidate {
    prompt "{{ q.stem }}"
    returns choice(A, B, C, D)
    samples 2
  }
  score right = reply == q.key

  measure plain   = mean(right)
  measure rate    = weighted_mean(right, q.points)
  measure strict  = weighted_mean(right, q.points, missing: zero)
  measure by_part = weighted_mean(right, q.points) by q.subject
  measure macro   = mean(weighted_mean(right, q.points) by q.subject)
  measure ahead   = rate - plain
}
"""
Told = tuple[str, float, float]
"""The item of a reply, its score, and the points of its question."""


def questions() -> list[dict[str, object]]:
    dice = random.Random(5)
    found: list[dict[str, object]] = []
    for number in range(90):
        points = dice.choice([2, 4, 4, 6, 12, 0.5])
        row: dict[str, object] = {"stem": f"question {number}", "key": dice.choice("ABCD"), "points": points}
        row["subject"] = "unmarked" if number >= 86 else dice.choice(["law", "physics", "music"])
        if number % 17 == 3:
            row["points"] = None
        if number >= 86 or number % 19 == 4:
            row["points"] = 0
        found.append(row)
    return found


def answer(text: str) -> str | None:
    """Return one of several odd replies: a refusal, an empty one, one twice, one of no such letter."""
    asked = re.findall(r"question (\d+)", text)
    if not asked:  # the one repair of a reply that could not be read
        return ""
    number = int(asked[0])
    match number % 11:
        case 1:
            return None
        case 2:
            return ""
        case 3:
            return json.dumps({"value": "E"})
    letter = str(questions()[number]["key"]) if number * 7 % 5 < 3 else "A"
    return f"```json\n{json.dumps({'value': letter})}\n```" if number % 2 else json.dumps({"value": letter})


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(tmp_path_factory.mktemp("exam"), SPEC, {"questions.jsonl": lines(questions())}, answer)


def told(missing: float | None, subject: str | None = None) -> list[Told]:
    """Return what counts: the value and the points of every reply, both samples of which say the same."""
    found: list[Told] = []
    for row in questions():
        said = answer(str(row["stem"]))
        letter = re.findall(r'"value": "([A-D])"', said or "")
        value = missing if not letter else float(letter[0] == row["key"])
        points = row["points"]
        if value is not None and isinstance(points, int | float) and subject in (None, row["subject"]):
            found += [(str(row["stem"]), value, float(points))] * 2
    return found


def rate(rows: Sequence[Told]) -> float:
    return math.fsum(value * points for _, value, points in rows) / math.fsum(points for *_, points in rows)


def error(rows: Sequence[Told]) -> float:
    """Return the error of a ratio over items, whose points differ."""
    return figure([[row for row in rows if row[2]]], [1.0]).error


def test_the_rate_of_points_is_the_points_that_were_won_by_those_that_could_be(exam: Figures) -> None:
    skipped, strict = exam["exam.rate"], exam["exam.strict"]
    assert skipped.value == pytest.approx(rate(told(None)), abs=1e-12)
    assert skipped.standard_error == pytest.approx(error(told(None)), rel=1e-9)
    assert strict.value == pytest.approx(rate(told(0.0)), abs=1e-12)
    assert strict.standard_error == pytest.approx(error(told(0.0)), rel=1e-9)
    assert (skipped.n, skipped.total) == (len(told(None)), 180) and strict.n == skipped.n
    assert skipped.items == len({item for item, _, points in told(None) if points})
    assert skipped.value != exam["exam.plain"].value


def test_each_subject_has_its_own_rate_and_one_without_points_has_none(exam: Figures) -> None:
    found = {str(row.by[0]): row for row in exam.rows["exam.by_part"]}
    wanted = {subject: rate(told(None, subject)) for subject in ("law", "physics", "music")}
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted)
    assert found["unmarked"].value is None and found["unmarked"].reason == "all weights are 0"
    assert exam["exam.macro"].value == pytest.approx(sum(wanted.values()) / 3)
    assert exam["exam.ahead"].value == pytest.approx(rate(told(None)) - (exam["exam.plain"].value or 0))


def test_the_interval_has_the_degrees_of_freedom_that_the_weights_leave(tmp_path: Path) -> None:
    """Twenty questions of which one has nearly all points say no more than that one does."""
    rows = [
        {"stem": f"question {at * 11}", "key": "A" if at % 2 else "B", "points": 1, "subject": "law"}
        for at in range(20)
    ]

    def says(_: str) -> str:
        return json.dumps({"value": "A"})

    def at(points: float) -> Figures:
        rows[0]["points"] = points
        return figures_of(tmp_path / str(points), SPEC, {"questions.jsonl": lines(rows)}, says)

    alike, uneven, alone = (at(points)["exam.rate"] for points in (1, 10, 10_000))
    assert alike.value == 0.5 and alike.low is not None
    assert uneven.low is not None and alike.half_width is not None and uneven.half_width is not None
    assert uneven.half_width > 1.5 * alike.half_width
    assert alone.low is None and alone.reason == "one item has nearly all the weight"
    below = at(-1)["exam.rate"]
    assert below.value is None and below.reason == "a weight is below 0"


BANDED = """
benchmark exam "1.0.0" { languages en }
role candidate compared

dataset question from "questions.jsonl" { stem text, key choice(A, B, C, D) secret, points number? }
dataset banded from question {
  let worth = choose(default(question.points, 0) > 4, "much", "little")
}

scenario exam {
  over banded as q
  ask reply by candidate { prompt "{{ q.stem }}", returns choice(A, B, C, D) }
  score right = reply == q.key
  measure by_worth = mean(right) by q.worth
  measure rate     = weighted_mean(right, q.points) by q.worth
  measure valued   = share(reply == q.key, where: default(q.points, 0) > 4)
}
"""


def test_figures_go_by_a_value_that_is_computed_of_the_row(tmp_path: Path) -> None:
    found = figures_of(tmp_path, BANDED, {"questions.jsonl": lines(questions())}, answer)
    for worth, much in (("much", True), ("little", False)):
        own = [row for row in questions() if (float(str(row["points"] or 0)) > 4) is much]
        names = {str(row["stem"]) for row in own}
        rows = [each for each in told(None)[::2] if each[0] in names]
        assert found.by("exam.rate")[worth] == pytest.approx(rate(rows))
        said = [
            float(letters[0] == row["key"])
            for row in own
            if (letters := re.findall(r'"value": "([A-D])"', answer(str(row["stem"])) or ""))
        ]
        assert found.by("exam.by_worth")[worth] == pytest.approx(sum(said) / len(said))
        if much:
            share = found["exam.valued"]
            assert (share.value, share.n, share.method) == (pytest.approx(sum(said) / len(said)), len(said), "exact")


def test_two_models_are_compared_in_points(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "questions.jsonl").write_text(lines(questions()[:40]), "utf-8")
    assert tripos("run", "spec.tripos", "--model", "mock/careful,mock/careless").code == 0
    compared = tripos("compare", "--json").data["rows"]
    row = next(each for each in compared if each["section"] == "measure" and each["of"] == "" and "rate" in str(each))
    assert row["difference"] is not None
