"""A benchmark of health in which every question has criteria of its own, as HealthBench (Arora et al., 2025) has them.

A judge says of each criterion whether a reply meets it: how often it is asked. That scores are those of the authors,
`tests/gallery/test_health_bench.py` shows.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.runtime.small_runs import SmallRun, run_small
from tripos_runtime.drivers.lookup import result_bindings
from tripos_runtime.models.base import Request

SPEC = """\
benchmark health "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" {
  question text
  rubric   list<{ criterion text, points integer, axis choice(accuracy, context) }> secret
}
scorer met(reply: text, criterion: text) by judge { prompt "{{ reply }} | {{ criterion }}", gives bool }
scorer points(reply: text, criterion: text, points: integer) = choose(met(reply, criterion), points, 0)
scenario health {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  let possible = sum(c.points each c in item.rubric where c.points > 0)
  let accurate = sum(c.points each c in item.rubric where c.points > 0 and c.axis == accuracy)
  score health   = sum(points(reply.text, c.criterion, c.points) each c in item.rubric) / possible when possible > 0
  score accuracy = sum(
    points(reply.text, c.criterion, c.points) each c in item.rubric where c.axis == accuracy
  ) / accurate when accurate > 0
}
measure health = max(0, min(1, mean(health)))
"""


def drawn_items(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Return items with up to 12 criteria; some have none, and some no positive one."""
    draw = random.Random(seed)
    return [
        {
            "question": f"question {number}",
            "rubric": [
                {
                    "criterion": f"criterion {number}.{place}",
                    "points": draw.choice([-10, -5, 1, 5, 7, 10]),
                    "axis": draw.choice(["accuracy", "context"]),
                }
                for place in range(draw.randint(0, 12))
            ],
        }
        for number in range(count)
    ]


def is_met(criterion: str) -> bool:
    """Return whether the scripted judge says that a criterion is met."""
    return random.Random(criterion).random() < 0.6


def judge(request: Request) -> str:
    """The candidate repeats the question, and the judge knows the criteria."""
    text = request.messages[-1].content
    if request.model == "a":
        return f"about {text}"
    return '{"value": true}' if is_met(text.split(" | ")[1].splitlines()[0]) else '{"value": false}'


def run(folder: Path, items: list[dict[str, Any]], before: SmallRun | None = None) -> SmallRun:
    return run_small(folder, SPEC, {"items.jsonl": items}, script=judge, before=before, judge="judge")


def published(rubric: list[dict[str, Any]]) -> float | None:
    """Return the score of a reply as the authors of HealthBench compute it."""
    possible = sum(each["points"] for each in rubric if each["points"] > 0)
    if possible == 0:
        return None
    return sum(each["points"] for each in rubric if is_met(each["criterion"])) / possible


def test_a_judge_is_asked_once_about_each_criterion_and_counted(tmp_path: Path) -> None:
    items = drawn_items(30)
    criteria = sum(len(each["rubric"]) for each in items if published(each["rubric"]) is not None)
    found = run(tmp_path, items)
    counts = {count.step: (count.least, count.calls, count.most) for count in found.plan.calls}
    assert counts["met(1)"] == (0, criteria, criteria)  # a refused reply is not judged
    assert found.asked == {"a": 30, "judge": criteria}, "both scores use the same verdicts"
    assert {row["element_place"] for row in found.table("judgements")} == {str(place) for place in range(12)}


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    items = drawn_items(10)
    first = run(tmp_path, items)
    assert run(tmp_path, items, before=first).asked == {"a": 0, "judge": 0}


def test_a_run_lists_the_verdicts_on_elements_as_its_own(tmp_path: Path) -> None:
    found = run(tmp_path, drawn_items(5))
    bindings = result_bindings(found.plan, found.engine.binding, found.plan.scenarios)
    listed = {(each.fingerprint, each.binding) for each in bindings}
    judged = {(row["fingerprint"], row["binding"]) for row in found.table("judgements")}
    assert judged
    assert judged <= listed
