"""A quotient of two sums of which one lacks more scores: the report says so, since what is missing counts as 0."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.conftest import Command
from tests.lengths import sized
from tests.warehouse.synthetic import Results
from tripos_warehouse.report.run_report import report
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { easy, hard }
scenario s {
  context level
  ask answer by candidate { prompt "{{ level }}" }
  score points = words(answer.text)
  score most   = length(answer.text)
}
measure earned   = sum(points)
measure possible = sum(most)
measure share    = sum(points) / sum(most)
measure named    = 100 * (earned / possible) by level
measure zero     = sum(points, missing: zero) / sum(most)
measure own      = sum(points) / count(points)
"""
ITEMS = 8


@pytest.mark.parametrize("seed", range(sized(6, 60)))
def test_a_quotient_is_named_if_one_of_its_sums_lacks_more(store: Store, seed: int) -> None:
    dice = random.Random(seed)
    plan = plan_of(compile_text(SPEC))
    results = Results(plan)
    values: dict[str, dict[str, list[float | None]]] = {level: {} for level in ("easy", "hard")}
    for number in range(ITEMS):
        level = ("easy", "hard")[number % 2]
        results.item("s", f"i{number}", axes={"level": level})
        for step in ("points", "most"):
            value = None if dice.random() < (0, 0.3)[seed % 2] else float(dice.randint(1, 9))
            values[level].setdefault(step, []).append(value)
            results.add("s", step, f"i{number}", value)
    results.write(store)
    connection, run = connect_run(store)
    with connection:
        found = report(connection, plan, run)
    remarks = {each.text.split("`")[1]: each.text for each in found.remarks if each.kind == "uneven_sums"}

    def present(step: str, *levels: str) -> list[float]:
        return [value for level in levels for value in values[level][step] if value is not None]

    counts = {step: len(present(step, "easy", "hard")) for step in ("points", "most")}
    by_level = {step: [len(present(step, level)) for level in values] for step in counts}
    named = {"share"} if counts["points"] != counts["most"] else set()
    named |= {"named"} if by_level["points"] != by_level["most"] else set()
    assert remarks.keys() == named
    if "share" in named:
        assert f"a sum over {counts['points']} of 8 scores by one over {counts['most']} of 8 (m)" in remarks["share"]
    [share] = next(table.rows for table in found.measures if table.measure.name == "share")
    assert share.value == pytest.approx(sum(present("points", "easy", "hard")) / sum(present("most", "easy", "hard")))
    assert (share.coverage == 1) == (counts == dict.fromkeys(counts, ITEMS))


EXAM = """
benchmark exam "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "exam.jsonl" {
  question text
  points integer
}
scorer mark(question: text, points: integer, reply: text) by judge {
  prompt "{{ question }} {{ reply }} Give 0 to {{ points }} points."
  gives 0..points
}
scenario paper {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score marks = mark(item.question, item.points, reply.text)
  score share = mark(item.question, item.points, reply.text) / item.points
}
measure total = sum(paper.marks)
measure rate  = mean(paper.share)
measure each  = sum(paper.marks) by evaluator
"""


@pytest.mark.parametrize("judges", [("mock/fair",), ("mock/fair", "mock/severe")])
def test_a_sum_that_counts_each_judge_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, judges: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("exam.tripos").write_text(EXAM, "utf-8")
    rows = [{"question": f"What is {n} + {n}?", "points": n} for n in (2, 4)]
    Path("exam.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    roles = (part for judge in judges for part in ("--role", f"judge={judge}"))
    assert tripos("run", "exam.tripos", "--model", "mock/careful", *roles).code == 0
    remarks = json.loads(tripos("report", "--json").out)["remarks"]
    named = [each["text"].split("`")[1] for each in remarks if each["kind"] == "sums_over_judges"]
    assert named == (["total"] if len(judges) > 1 else [])
