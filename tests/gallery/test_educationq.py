"""EducationQ: the letters and the learning gains are those of its own code, and so is the form of its questions."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

from tests.gallery.educationq_rows import questions, replies
from tests.gallery.playing import facts_of, is_answer, play, verdicts_of

METRICS = ("ASSESSMENT", "QUESTIONING", "FEEDBACK", "ADAPTATION", "OBJECTIVES")


def gains_of(tests: list[tuple[bool, bool]]) -> dict[str, float]:
    """Return the gains as the original gives them, of who was right before and after."""
    before, after = (statistics.fmean(each) for each in zip(*tests, strict=True))
    return {"pre_test_accuracy": before, "post_test_accuracy": after, "progress": after - before}


def test_letters_and_gains_are_those_of_the_original(tmp_path: Path) -> None:
    *verdicts, gains = verdicts_of("educationq")
    said = {row["question"]: each for row, each in zip(questions(), replies(), strict=True)}
    put = [verdict["put"] for verdict in verdicts if "put" in verdict]
    asked: set[str] = set()
    lessons: list[int] = []

    def study(messages: list[str]) -> str:
        if messages[0].startswith("You are a student"):
            return "I see."
        question = next(each for each in said if each in messages[-1])
        is_after = "after the lesson" in messages[-1]
        if is_after:
            lessons.append(sum(message == "I see." for message in messages))
            assert said[question][0] in messages[0], "the student is shown what it said before"
        else:
            asked.add(messages[-1])
        return said[question][is_after]

    def judge(messages: list[str]) -> str:
        return json.dumps({name: {"reason": "r", "score": 2 + place} for place, name in enumerate(METRICS)})

    rows = json.dumps(questions())
    roles = {"student": study, "evaluator": judge}
    figures = play(tmp_path, "educationq", {"educationq_full.json": rows}, lambda messages: "Why?", roles)

    assert set(lessons) == {5}
    assert put and asked.issuperset(each.rstrip("\n") for each in put)
    by_question = {row["question"]: verdict for row, verdict in zip(questions(), verdicts, strict=True)}
    tests: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    answered: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    wanted: dict[tuple[str, str], int | None] = {}
    for row in questions():
        verdict = by_question[row["question"]]
        before, after = (verdict[name] == row["answer"] for name in ("before", "after"))
        tests[row["category"]].append((before, after))
        if not all(map(is_answer, said[row["question"]])):
            wanted |= {(row["question"], name): None for name in ("after", "gained", "lifted", "dropped")}
            continue
        answered[row["category"]].append((before, after))
        wanted |= {(row["question"], name): value for name, value in
                   (("after", after), ("gained", after - before), ("lifted", after > before), ("dropped", after < before))}  # fmt: skip
    found = {
        (each.fields["question"], each.metric): each.value for each in figures.scores if each.metric not in METRICS
    }
    assert found == wanted
    assert 2 * len(questions()) == facts_of("educationq").replies
    apart = facts_of("educationq").apart
    for category, gain in gains.items():  # of all tests, those without an answer as wrong
        assert gain == pytest.approx(gains_of([*chain(*tests.values())] if category == "overall" else tests[category]))
    overall = gains_of([*chain(*answered.values())])
    assert figures["lesson.gain"].value == pytest.approx(overall["progress"], abs=apart)
    assert figures["lesson.post_test"].value == pytest.approx(overall["post_test_accuracy"], abs=apart)
    assert figures["lesson.pre_test"].value == pytest.approx(overall["pre_test_accuracy"], abs=apart)
    each = {category: gains_of(pairs)["progress"] for category, pairs in answered.items()}
    assert figures.by("lesson.gain_in") == pytest.approx(each, abs=apart)
    assert figures["lesson.css"].value == pytest.approx(statistics.stdev(each.values()), abs=apart)
    lost, won = (
        sum(value or 0 for (_, name), value in wanted.items() if name == side) for side in ("dropped", "lifted")
    )
    assert figures["lesson.pnir"].value == pytest.approx(lost / won, abs=apart)
    assert figures.by("lesson.teaching") == {name: 2 + place for place, name in enumerate(METRICS)}
