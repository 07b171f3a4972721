"""Marks on a scale that the row gives: the points of its question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import Command
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
