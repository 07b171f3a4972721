"""Marks on a scale that the row gives: the points of its question."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from openpyxl import load_workbook

from tests.conftest import Command
from tests.field.running import figures_in
from tests.lengths import sized
from tripos_compiler.library.functions.numbers import in_range
from tripos_compiler.library.ranges import Interval
from tripos_compiler.library.registry import FUNCTIONS

SPEC = """\
benchmark exam "1.0.0" { languages en }
role candidate compared
dataset question from "exam.jsonl" { text text, points 1..10, said integer }
scorer mark(answer: text, said: integer) -> integer from "marks.py:mark"
scenario answers {
  over question as q
  ask reply by candidate { prompt "{{ q.text }} ({{ q.points }} points)" }
  score points = readable(in_range(mark(reply.text, q.said), 0, q.points))
  score share  = min(1, readable(in_range(mark(reply.text, q.said), 0, q.points)) / q.points)
  measure points = mean(points)
  measure rate   = weighted_mean(share, q.points)
}
"""
MARKS = "def mark(answer: str, said: int) -> int:\n    return said\n"
ROWS = ((2, 2), (6, 3), (6, 7), (4, -1), (10, 10))
"""The points of each question, and the mark that it is given."""


def test_a_mark_off_the_scale_of_its_row_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"Question {n}", "points": points, "said": said} for n, (points, said) in enumerate(ROWS)]
    Path("exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Path("marks.py").write_text(MARKS, "utf-8")
    Path("exam.tripos").write_text(SPEC, "utf-8")
    done = tripos("run", "exam.tripos", "--model", "mock/careful")
    assert done.code == 0, done.err
    figures = {each["name"]: each["rows"][0] for each in json.loads(tripos("report", "--json").out)["measures"]}
    read = [(points, said) for points, said in ROWS if 0 <= said <= points]
    row = figures["answers.points"]
    assert row["value"] == pytest.approx(sum(said for _, said in read) / len(read))
    assert (row["n"], row["total"]) == (len(read), len(ROWS))
    rate = sum(said for _, said in read) / sum(points for points, _ in read)
    assert figures["answers.rate"]["value"] == pytest.approx(rate)
    tripos("sql", "select status, count(*) as n from exam.scores where metric = 'points' group by all", "-o", "n.json")
    counts = {row["status"]: row["n"] for row in json.loads(Path("n.json").read_text("utf-8"))}
    assert counts == {"scored": len(read), "parse_failure": len(ROWS) - len(read)}


def test_the_ends_of_a_mark_are_those_of_the_field(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "exam.jsonl").write_text('{"text": "?", "points": 2, "said": 1}\n', "utf-8")
    (tmp_path / "marks.py").write_text(MARKS, "utf-8")
    (tmp_path / "exam.tripos").write_text(SPEC, "utf-8")
    plan = json.loads(tripos("plan", str(tmp_path / "exam.tripos"), "--json").out)
    ends = {each["name"]: (each.get("low"), each.get("high")) for each in plan["measures"]}
    assert ends == {"answers.points": (0, 10), "answers.rate": (0, 1)}


# Judges

JUDGED = """\
benchmark exam "1.0.0" { languages en }
role candidate compared
role judge panel with people
dataset question from "exam.jsonl" { id text, text text, points integer, parts list<{ says text, points integer }>, key id }
scorer mark(question: text, points: integer, reply: text) by judge {
  prompt "Mark {{ question }} out of {{ points }}: {{ reply }}"
  gives  0..points in "Score: {}"
}
scorer part(says: text, reply: text, points: integer) by judge {
  prompt "Part {{ says }}: {{ reply }}"
  gives  { reasons text, verdict 0..points }
}
scenario answers {
  over question as q
  ask reply by candidate { prompt "{{ q.text }}" }
  score marks = mark(q.text, q.points, reply.text)
  score share = mark(q.text, q.points, reply.text) / q.points
  score parts = part(c.says, reply.text, c.points) / c.points each c in q.parts
  measure marks = mean(marks)
  measure rate = weighted_mean(share, q.points)
  measure parts = weighted_mean(parts, c.points)
}
"""
QUESTIONS: tuple[tuple[int, str, tuple[tuple[int, int], ...]], ...] = (
    (2, "Score: 2", ((1, 1), (1, 0))),
    (6, "It is good.\nScore: 3", ((4, 4), (2, 3))),
    (6, "Score: 7", ((6, 6),)),
    (4, "Score: -1", ((4, 2), (9, 9))),
    (10, "Score: 10", ((10, 7),)),
)
"""The points of each question, what the judge says of it, and the points and the mark of each of its parts."""


def judged_rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{n}",
            "text": f"question {n}",
            "points": points,
            "parts": [{"says": f"{n}.{m}", "points": most} for m, (most, _) in enumerate(parts)],
        }
        for n, (points, _, parts) in enumerate(QUESTIONS)
    ]


def judge(messages: list[str]) -> str:
    asked = next(each for each in messages if each.startswith(("Mark", "Part")))
    if asked.startswith("Mark"):
        return QUESTIONS[int(asked.split()[2])][1]
    n, m = asked.split()[1].rstrip(":").split(".")
    return json.dumps({"reasons": "", "verdict": QUESTIONS[int(n)][2][int(m)][1]})


def test_a_verdict_off_the_scale_of_its_row_is_not_read(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in judged_rows())
    figures = figures_in(tmp_path, JUDGED, {"exam.jsonl": lines}, lambda messages: "a reply", {"judge": judge})
    read = [(2, 2), (6, 3), (10, 10)]
    assert figures["answers.marks"].value == pytest.approx(sum(mark for _, mark in read) / len(read))
    assert (figures["answers.marks"].n, figures["answers.marks"].total) == (len(read), len(QUESTIONS))
    assert figures["answers.rate"].value == pytest.approx(sum(mark for _, mark in read) / sum(most for most, _ in read))
    parts = [(most, mark) for _, _, every in QUESTIONS for most, mark in every if mark <= most]
    assert figures["answers.parts"].value == pytest.approx(
        sum(mark for _, mark in parts) / sum(most for most, _ in parts)
    )
    assert {score.status for score in figures.scores if score.value is None} == {"parse_failure"}


def test_a_share_of_the_points_lies_between_0_and_1(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "exam.jsonl").write_text(json.dumps(judged_rows()[0]) + "\n", "utf-8")
    for declared, high in (("integer", None), ("1..12", 12)):
        (tmp_path / "exam.tripos").write_text(JUDGED.replace("points: integer", f"points: {declared}"), "utf-8")
        plan = json.loads(tripos("plan", str(tmp_path / "exam.tripos"), "--json").out)
        ends = {each["name"]: (each.get("low"), each.get("high")) for each in plan["measures"]}
        assert ends == {"answers.marks": (0, high), "answers.rate": (0, 1), "answers.parts": (0, 1)}


def ends_of(tmp_path: Path, tripos: Command, spec: str) -> dict[str, tuple[float | None, float | None]]:
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged_rows()), "utf-8")
    (tmp_path / "exam.tripos").write_text(spec, "utf-8")
    plan = json.loads(tripos("plan", str(tmp_path / "exam.tripos"), "--json").out)
    return {each["name"]: (each.get("low"), each.get("high")) for each in plan["measures"]}


@pytest.mark.parametrize(("points", "high"), [("integer", 5), ("1..10", 1)])
def test_points_below_0_count_for_the_end_of_a_share(points: str, high: float, tmp_path: Path, tripos: Command) -> None:
    spec = JUDGED.replace("text text, points integer, parts", f"text text, points {points}, parts")
    ends = ends_of(tmp_path, tripos, spec.replace("gives  0..points in", "gives  -5..points in"))
    assert ends["answers.rate"] == (-5, high)


def test_the_points_of_another_element_are_no_end_of_a_mark(tmp_path: Path, tripos: Command) -> None:
    scored = "part(d.says, reply.text, d.points) / c.points each d in q.parts"
    more = f"  score most = default(max([{scored}]), 0) each c in q.parts\n  measure most = mean(most)\n}}\n"
    ends = ends_of(tmp_path, tripos, JUDGED.removesuffix("}\n") + more)
    assert ends["answers.parts"] == (0, 1)
    assert ends["answers.most"][1] is None


def test_the_form_of_the_reply_has_the_points_of_its_row(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged_rows()), "utf-8")
    (tmp_path / "exam.tripos").write_text(JUDGED.replace(' in "Score: {}"', ""), "utf-8")
    shown = tripos("plan", str(tmp_path / "exam.tripos"), "--prompts", "9").out
    for n, (points, _, parts) in enumerate(QUESTIONS):
        (case,) = (each for each in shown.split("\nanswers ") if f"question {n}\n" in each)
        found = [int(each) for each in re.findall(r"whole number from 0 to (\d+)", case)]
        assert found == [points, points, *(most for most, _ in parts)]


@pytest.mark.parametrize("points", [0, -1])
def test_a_row_without_a_scale_is_named(points: int, tmp_path: Path, tripos: Command) -> None:
    rows = judged_rows()
    rows[1]["points"] = points
    rows[3]["parts"][1]["points"] = points
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "exam.tripos").write_text(JUDGED, "utf-8")
    said = tripos("check", str(tmp_path / "exam.tripos"), "--json")
    found = {each["message"] for each in json.loads(said.out)}
    assert found == {
        f"row 2 of this scenario: the scale of `mark` begins at 0 and would end at {points}",
        f"row 4 of this scenario: the scale of `part` begins at 0 and would end at {points}",
    }


def test_a_row_that_is_made_without_a_scale_has_no_score(tmp_path: Path) -> None:
    made = JUDGED.replace(
        'dataset question from "exam.jsonl" { id text, text text, points integer, parts list<{ says text, points integer }>, key id }',
        """role author
dataset question by author { count 2, prompt "Set a question.", returns { text text, points integer, parts list<{ says text, points integer }> } }""",
    ).replace("each c in q.parts", "each c in q.parts at most 5")
    replies = iter(
        json.dumps({"text": f"question {n}", "points": points, "parts": [{"says": f"{n}.0", "points": points}]})
        for n, points in enumerate((2, 0))
    )
    roles = {"judge": judge, "author": lambda messages: next(replies)}
    figures = figures_in(tmp_path, made, {}, lambda messages: "a reply", roles)
    row = figures["answers.marks"]
    assert (row.value, row.n, row.total) == (2, 1, 2)
    statuses = {score.status for score in figures.scores if score.metric == "marks" and score.value is None}
    assert statuses == {"undefined"}


def test_people_and_files_give_marks_on_the_scale_of_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged_rows()), "utf-8")
    Path("exam.tripos").write_text(JUDGED, "utf-8")
    assert tripos("run", "exam.tripos", "--model", "mock/careful", "--role", "judge=mock/careful").code == 0
    assert tripos("annotate", "--name", "anna").code == 0
    sheet = load_workbook("anna.xlsx").worksheets[0]
    lists = [each.formula1 for each in sheet.data_validations.dataValidation]
    assert sorted(lists) == sorted(f'"{",".join(map(str, range(most + 1)))}"' for most in {row[0] for row in QUESTIONS})
    marks = [{"id": f"q{n}", "mark": points + n % 2} for n, (points, _, _) in enumerate(QUESTIONS)]
    Path("marks.jsonl").write_text("".join(json.dumps({**mark, "evaluator": "bo"}) + "\n" for mark in marks), "utf-8")
    done = tripos("import", "scores", "marks.jsonl", "--column", "marks=mark", "--json")
    assert "not in 0..6" in done.out + done.err
    assert "not in 0..4" in done.out + done.err


def test_judges_have_the_share_of_their_marks_at_the_ends_of_the_scale_of_each_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged_rows()), "utf-8")
    Path("exam.tripos").write_text(JUDGED, "utf-8")
    roles = ("--role", "judge=mock/noisy")
    assert tripos("run", "exam.tripos", "--model", "mock/careful,mock/careless", *roles).code == 0
    query = "select item.fields ->> '$.points' as points, value from exam.scores as score join exam.items as item"
    query += " using (item_id) where score.metric = 'marks' and value is not null"
    assert tripos("sql", query, "-o", "marks.json").code == 0
    marks = [(float(row["points"]), row["value"]) for row in json.loads(Path("marks.json").read_text("utf-8"))]
    told = {metric["metric"]: metric["raters"][0] for metric in tripos("judges", "--json").data["metrics"]}
    assert told["marks"]["n"] == len(marks) > 5
    assert told["marks"]["lowest"] == pytest.approx(sum(value == 0 for _, value in marks) / len(marks))
    assert told["marks"]["highest"] == pytest.approx(sum(value == points for points, value in marks) / len(marks))


@pytest.mark.parametrize(
    ("scorer", "score", "sentence"),
    [
        (
            'scorer reward(reply: text) by judge { prompt "{{ reply }}", gives reward }',
            "reward(reply.text)",
            "no share at the ends of a scale: the scores of a rater have none",
        ),
        (
            'scorer part(says: text, most: integer) by judge { prompt "{{ says }}", gives 0..most }',
            "part(c.says, c.points) / 2 each c in q.parts",
            "no score is that of a judge or a person alone: `judgements` has the verdicts behind computed scores",
        ),
    ],
)
def test_what_judges_lack_is_said(
    scorer: str, score: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged_rows()), "utf-8")
    head, rest = JUDGED.split("scorer mark")
    scenario = rest[rest.index("scenario") :].split("  score")[0]
    text = f"{head}{scorer}\n{scenario}  score value = {score}\n}}\nmeasure m = mean(value)\n"
    Path("exam.tripos").write_text(text.replace("panel with people", ""), "utf-8")
    judge_model = "mock/reward" if "reward" in scorer else "mock/fair"
    done = tripos("run", "exam.tripos", "--model", "mock/careful", "--role", f"judge={judge_model}")
    assert done.code == 0, done.err
    assert sentence in " ".join(tripos("judges").out.split())


class Ranges:
    def __init__(self, **ranges: Interval) -> None:
        self.ranges = ranges

    def of(self, name: str) -> Interval:
        return self.ranges[name]


INTERVALS = st.tuples(st.integers(-5, 5), st.integers(0, 5)).map(lambda ends: Interval(ends[0], ends[0] + ends[1]))


@given(INTERVALS, INTERVALS, INTERVALS, st.data())
@settings(max_examples=sized(200, 5_000), deadline=None)
def test_a_value_in_range_lies_in_the_range_that_is_known(
    value: Interval, low: Interval, high: Interval, data: st.DataObject
) -> None:
    def of(interval: Interval) -> float:
        return data.draw(st.integers(int(interval.low), int(interval.high)))

    found = in_range(of(value), of(low), of(high))
    known = FUNCTIONS["in_range"].range_of(Ranges(value=value, low=low, high=high))  # type: ignore[arg-type]
    assert found is None or known.low <= found <= known.high
