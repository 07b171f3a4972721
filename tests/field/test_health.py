"""HealthBench by axis and theme (Arora et al., 2025), as its authors compute the figures in `simple-evals`: of each
example the points of the criteria that are met by all positive points, of all criteria and of those with each tag; a
figure is the mean over the examples that have one, between 0 and 1."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from typing import Any

import pytest

from tests.field.running import Figures, figures_of, lines

SPEC = """\
benchmark health "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" {
  question text
  theme    text
  axes     list<text>
  rubric   list<{ criterion text, points integer, tags list<text> }> secret
}
scorer met(reply: text, criterion: text) by judge { prompt "Judge | {{ reply }} | {{ criterion }}", gives bool }
scorer points(reply: text, criterion: text, points: integer) = choose(met(reply, criterion), points, 0)
scorer share(got: number, of: number) = got / of
scenario health {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score health  = share(
    sum(points(reply.text, c.criterion, c.points) each c in item.rubric),
    sum(c.points each c in item.rubric where c.points > 0)
  )
  score on_axis = share(
    sum(points(reply.text, c.criterion, c.points) each c in item.rubric where a in c.tags),
    sum(c.points each c in item.rubric where a in c.tags and c.points > 0)
  ) each a in item.axes
}
measure health   = max(0, min(1, mean(health)))
measure by_theme = max(0, min(1, mean(health))) by item.theme
measure by_axis  = max(0, min(1, mean(on_axis))) by a
measure axes     = mean(on_axis) by a
"""
AXES = ("accuracy", "communication", "completeness", "context")


def drawn_items(count: int) -> list[dict[str, Any]]:
    """Return examples, some of them with an axis that has no positive point."""
    draw = random.Random(17)
    items = []
    for number in range(count):
        rubric = [
            {
                "criterion": f"criterion {number}.{place}",
                "points": draw.choice([-10, -8, -5, 1, 3, 5, 7, 10]),
                "tags": draw.sample(AXES, draw.choice([0, 1, 1, 1, 2])),
            }
            for place in range(draw.randint(1, 9))
        ]
        axes = sorted({tag for each in rubric for tag in each["tags"]})
        theme = draw.choice(["emergency", "context seeking", "hedging"])
        items.append({"question": f"question {number}", "theme": theme, "axes": axes, "rubric": rubric})
    return items


def is_met(criterion: str) -> bool:
    return random.Random(criterion).random() < 0.5


def is_refused(question: str) -> bool:
    return int(question.split()[1]) % 11 == 3


ASKED: list[str] = []
"""The criteria that the judge is asked about."""


def says(text: str) -> str | None:
    if text.startswith("Judge"):
        ASKED.append(text.split(" | ")[2].splitlines()[0])
        return json.dumps({"value": is_met(ASKED[-1])})
    found = re.search(r"question \d+", text)
    assert found is not None
    return None if is_refused(found[0]) else "Rest, and drink enough."


def calculate_score(rubric: list[dict[str, Any]]) -> float | None:
    """Return the score of an example, as the function of that name does."""
    total = sum(each["points"] for each in rubric if each["points"] > 0)
    if total == 0:
        return None
    return sum(each["points"] for each in rubric if is_met(each["criterion"])) / total


ITEMS = drawn_items(250)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(tmp_path_factory.mktemp("health"), SPEC, {"items.jsonl": lines(ITEMS)}, says)


def published() -> dict[str, list[float]]:
    """Return the scores of all examples by tag: of the whole, of their theme, and of each axis."""
    found: dict[str, list[float]] = defaultdict(list)
    for item in ITEMS:
        if is_refused(item["question"]):
            continue
        overall = calculate_score(item["rubric"])
        if overall is not None:
            found["overall"].append(overall)
            found[item["theme"]].append(overall)
        for axis in AXES:
            own = calculate_score([each for each in item["rubric"] if axis in each["tags"]])
            if own is not None:
                found[axis].append(own)
    return found


def clipped_mean(values: list[float]) -> float:
    return max(0.0, min(1.0, sum(values) / len(values)))


def test_figures_are_those_of_the_authors(figures: Figures) -> None:
    wanted = published()
    assert figures["health"].value == pytest.approx(clipped_mean(wanted["overall"]))
    themes = {item["theme"] for item in ITEMS}
    assert figures.by("by_theme") == {theme: pytest.approx(clipped_mean(wanted[theme])) for theme in themes}
    assert figures.by("by_axis") == {axis: pytest.approx(clipped_mean(wanted[axis])) for axis in AXES}
    assert any(value < 0 for value in wanted["accuracy"])


def test_what_is_missing_shows_in_the_coverage(figures: Figures) -> None:
    wanted = published()
    for row in figures.rows["axes"]:
        axis = row.by[0]
        possible = [
            item for item in ITEMS if any(axis in each["tags"] and each["points"] > 0 for each in item["rubric"])
        ]
        assert (row.n, row.total, row.items) == (len(wanted[axis]), len(possible), len(wanted[axis]))
        assert row.n < row.total


def test_a_criterion_of_several_axes_is_judged_once(figures: Figures) -> None:
    criteria = [c["criterion"] for item in ITEMS for c in item["rubric"]]
    (count,) = [each for each in figures.plan.calls if each.step.startswith("met")]
    assert (count.least, count.calls, count.most) == (len(criteria),) * 3
    replied = [c["criterion"] for item in ITEMS if not is_refused(item["question"]) for c in item["rubric"]]
    assert sorted(ASKED) == sorted(replied)
