"""MT-Bench by FastChat: every rating that it reads from a judgement, and its means by turn and by category."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest

from tests.compiler.compiling import ROOT, compile_file, plan_of
from tests.gallery.originals.mt_bench import CATEGORIES, WITH_REFERENCES, answer, judgement, questions, references
from tests.gallery.playing import facts_of, is_answer, play, verdicts_of
from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.plan import Ask, Expr

TEMPERATURES = {
    **dict.fromkeys(("writing", "roleplay"), 0.7),
    **dict.fromkeys(("extraction", "math", "coding", "reasoning"), 0.0),
    **dict.fromkeys(("stem", "humanities"), 0.1),
}
"""`temperature_config` of `common.py`."""


def means_of(ratings: Mapping[tuple[int, int], float]) -> dict[str, list[float]]:
    """Return the means of the first and second turns and of both, of all categories and of each, as they are shown."""
    category = {each["question_id"]: each["category"] for each in questions()}
    found = {}
    for name in ("all", *CATEGORIES):
        own = {place: each for place, each in ratings.items() if each != -1 and name in ("all", category[place[0]])}
        turns = [[each for (_, turn), each in own.items() if turn == one] for one in (1, 2)]
        found[name] = [fmean(each) for each in (*turns, [*own.values()])]
    return found


def test_ratings_and_means_are_those_of_fastchat(tmp_path: Path) -> None:
    lines = verdicts_of("mt_bench")
    by_question = {each["turns"][0]: each for each in questions()}
    sent: dict[tuple[str, int], list[str]] = {}

    def judge(messages: list[str]) -> str:
        found = re.search(r"\w+ <\d+> one\?", messages[-1])
        assert found is not None
        turn = 2 if "### User:" in messages[-1] else 1
        sent[found[0], turn] = messages
        return judgement(by_question[found[0]], turn)

    files = {"question.jsonl": questions(), "reference_answer/gpt-4.jsonl": references()}
    figures = play(tmp_path, "mt_bench", files, lambda messages: answer(messages[-1]), {"judge": judge})
    ratings = {(s.fields["question_id"], int(s.metric[-1])): -1 if s.value is None else s.value for s in figures.scores}
    told = {(each["id"], each["turn"]): each["score"] for each in lines if "id" in each}
    empty = {each["question_id"] for each in questions() if not is_answer(answer(each["turns"][0]))}
    assert empty
    assert ratings == {place: -1 if place[0] in empty else score for place, score in told.items()}
    assert len(ratings) == facts_of("mt_bench").replies
    apart = facts_of("mt_bench").apart
    shown_there = {each["of"]: each["means"] for each in lines if "of" in each}
    assert {name: pytest.approx(each, abs=apart) for name, each in means_of(told).items()} == shown_there
    means = means_of(ratings)
    shown = [figures[name].value for name in ("first_turn", "second_turn", "average")]
    assert shown == pytest.approx(means["all"], abs=apart)
    assert figures.by("by_category") == pytest.approx({name: means[name][2] for name in CATEGORIES}, abs=apart)
    # Solutions are shown where they must be, one for the first turn and both for the second.
    for (question, turn), messages in sent.items():
        assert messages[-1].count("solution of") == (turn if question.split()[0] in WITH_REFERENCES else 0)
        assert messages[-1].count("answer {to}") == turn - (("<7>" in question) * turn)


def test_temperatures_are_those_of_fastchat_by_category() -> None:
    plan = plan_of(compile_file(ROOT / "specs" / "gallery" / "mt_bench" / "mt_bench.tripos"))
    asks = {step.name: step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask)}
    assert set(TEMPERATURES) == set(CATEGORIES) == {value.name for value in plan.axis("category").values}
    for category, wanted in TEMPERATURES.items():
        for name, temperature in (("one", wanted), ("two", wanted), ("said", 0.0), ("more", 0.0)):
            assert asks[name].settings.of("en", partial(_holds, category)).temperature == temperature


def _holds(category: str, when: Expr) -> bool:
    return bool(evaluate(when, {"category": category}))
