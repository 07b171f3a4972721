"""A judge in a list that is not told of its elements says the same of all of them, and is asked once; an element is
judged once, however many lists it is looked at for."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.elements.test_rubrics import is_met, judge
from tests.runtime.small_runs import SmallRun, run_small

HEAD = """\
benchmark b "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" {
  question text
  axes     list<text>
  rubric   list<{ criterion text, points integer, tags list<text> }> secret
}
scorer met(reply: text, criterion: text) by judge { prompt "{{ reply }} | {{ criterion }}", gives bool }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
"""


def drawn_items(count: int) -> list[dict[str, Any]]:
    """Return items whose criteria have several tags, or none."""
    draw = random.Random(5)
    items = []
    for number in range(count):
        tags = ["accuracy", "context", "tone"]
        rubric = [
            {
                "criterion": f"criterion {number}.{place}",
                "points": draw.choice([-5, 1, 7]),
                "tags": draw.sample(tags, draw.randint(0, 2)),
            }
            for place in range(draw.randint(1, 5))
        ]
        axes = sorted({tag for each in rubric for tag in each["tags"]})
        items.append({"question": f"question {number}", "axes": axes, "rubric": rubric})
    return items


def run(folder: Path, steps: str, items: list[dict[str, Any]]) -> SmallRun:
    return run_small(folder, f"{HEAD}{steps}\n}}\n", {"items.jsonl": items}, script=judge, judge="judge")


def test_a_judge_that_no_element_is_shown_to_is_asked_once(tmp_path: Path) -> None:
    items = drawn_items(12)
    steps = """  score all = sum(choose(met(reply.text, item.question), c.points, 0) each c in item.rubric)
  score one = met(reply.text, item.question) and words(reply.text) > 0"""
    found = run(tmp_path, steps, items)
    assert found.asked["judge"] == 12
    assert found.planned["judge"] == 12


def test_an_element_is_judged_once_for_all_lists_that_it_is_in(tmp_path: Path) -> None:
    items = drawn_items(40)
    of_axis = "each c in item.rubric where a in c.tags"
    steps = f"  score share = sum(choose(met(reply.text, c.criterion), c.points, 0) {of_axis}) each a in item.axes"
    found = run(tmp_path, steps, items)
    tagged = sum(bool(each["tags"]) for item in items for each in item["rubric"])
    several = sum(len(each["tags"]) for item in items for each in item["rubric"])
    assert tagged < several
    (count,) = [each for each in found.plan.calls if each.step.startswith("met")]
    assert (count.least, count.calls, count.most) == (0, tagged, tagged)  # a refused reply is not judged
    assert found.asked["judge"] == tagged


@pytest.mark.parametrize("list_", ["item.rubric", "item.axes"])
def test_rows_of_a_judge_that_is_asked_once_have_its_verdict(tmp_path: Path, list_: str) -> None:
    items = drawn_items(3)
    found = run(tmp_path, f"  score same = met(reply.text, item.question) each c in {list_}", items)
    assert found.asked["judge"] == 3
    verdicts = sorted(is_met(each["question"]) for each in items)
    rows = [json.loads(row["given"]) for row in found.table("scores")]
    assert sorted(row[0]["value"] for row in rows) == [float(each) for each in verdicts]
    assert all(each == row[0] for row in rows for each in row)
    assert sorted(map(len, rows)) == sorted(len(each[list_.split(".")[1]]) for each in items)


@pytest.mark.parametrize("where", ["", " where {0}.points > 0"])
@pytest.mark.parametrize("when", ["", ' when contains(reply.text, "question 1")'])
def test_an_element_is_judged_once_whatever_it_is_called(tmp_path: Path, where: str, when: str) -> None:
    items = drawn_items(12)
    steps = f"""  score meets = met(reply.text, c.criterion) each c in item.rubric
  score fails = not met(reply.text, d.criterion) each d in item.rubric{when}
  score got   = sum(choose(met(reply.text, e.criterion), e.points, 0) each e in item.rubric{where.format("e")})"""
    found = run(tmp_path, steps, items)
    assert found.asked["judge"] == sum(len(each["rubric"]) for each in items) == found.planned["judge"]
    by_item: dict[str, dict[str, Any]] = {}
    for row in found.table("scores"):
        by_item.setdefault(row["item_id"], {})[row["metric"]] = row
    for rows in by_item.values():
        met, not_met = (json.loads(rows[name]["given"] or "[]") for name in ("meets", "fails"))
        assert not not_met or [1 - each["value"] for each in met] == [each["value"] for each in not_met]
