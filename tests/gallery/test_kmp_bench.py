"""KMP-Bench as readers of the paper describe its scores: win rates by criterion, and means of these by level."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.gallery.playing import facts_of, is_answer, play

PRINCIPLES = ("Challenge", "Explanation", "Modelling", "Practice", "Questioning", "Feedback")
SAID = {
    "Win": ("Win", "win", "**Win**", '{"value": "Win"}', '```json\n{"value": "Win"}\n```'),
    "Tie": ("Tie", "tie.", '{"value": "Tie"}', "“Tie”"),
    "Lose": ("Lose", "LOSE", '{"value": "Lose"}', "Lose."),
    None: ("", "Both are good.", "Win or Lose", '{"value": "Draw"}', "胜"),
}
ANSWERS = (
    ("Answer: {}", True),
    ("So it is **{}**.\n\nAnswer: {}", True),
    ("$\\frac{{8}}{{4}} = 2$, so Answer: $\\boxed{{{}}}$", True),
    ("Answer: 9{}9", False),
    ("I cannot say.", False),
    ("", False),
)
FOUND = (
    '{{"wrong": true, "answer": {}}}',
    '{{"wrong": false, "answer": {}}}',
    '```json\n{{"wrong": true, "answer": {}}}\n```',
    '{{"wrong": true, "answer": 1{}}}',
    '{{"wrong": "perhaps", "answer": {}}}',
    "It is wrong: {}.",
    "",
)
READ = ((True, True), (False, True), (True, True), (True, False), None, None, None)
TURNS = 36


def turns() -> list[dict[str, Any]]:
    """Return rows of KMP-Dialogue, with one or two principles each."""
    dice = random.Random(2603)
    return [
        {
            **{name: f"{name} {n}" for name in ("domain", "grade", "persona", "profile", "objective", "reference")},
            "problem": f"Problem {n}?",
            "history": [{"speaker": "tutor", "text": "Well?"}] * (n % 2) + [{"speaker": "student", "text": f"Say {n}"}],
            "principles": dice.sample(PRINCIPLES, dice.randint(1, 2)),
        }
        for n in range(TURNS)
    ]


def test_figures_are_those_of_the_description(tmp_path: Path) -> None:
    dice = random.Random(2775)
    series = [
        {"questions": [f"Count {n}.{each}." for each in range(n % 4 + 1)], "answers": [7 * n + each for each in range(n % 4 + 1)]}
        for n in range(12)
    ]  # fmt: skip
    attempts = [
        {"problem": f"Sum {n}?", "solution": f"{n}", "wrong": n % 5 > 1, "answer": 3 * n + 1} for n in range(30)
    ]
    keys = {question: key for each in series for question, key in zip(each["questions"], each["answers"], strict=True)}
    told = {question: dice.choice(ANSWERS) for question in keys}
    found = {each["problem"]: dice.randrange(len(FOUND)) for each in attempts}
    rows = {each["problem"]: each for each in turns()}
    verdicts: dict[tuple[str, str], str | None] = {}

    def tutor(messages: list[str]) -> str:
        last = messages[-1]
        if last in keys:
            assert len(messages) == 2 * int(last.rstrip(".").rpartition(".")[2]) + 2
            return told[last][0].replace("{}", str(keys[last])).replace("{{", "{").replace("}}", "}")
        if "Sum " in last:
            problem = "Sum " + last.partition("Sum ")[2].partition("?")[0] + "?"
            key = next(each["answer"] for each in attempts if each["problem"] == problem)
            return FOUND[found[problem]].format(key)
        assert "reference" not in " ".join(messages)
        return f"A turn after {last}"

    def evaluator(messages: list[str]) -> str:
        problem = "Problem " + messages[0].partition("): Problem ")[2].partition("?")[0] + "?"
        assert f"Reference: {rows[problem]['reference']}\n" in messages[0]
        assert f"Candidate: A turn after {rows[problem]['history'][-1]['text']}\n" in messages[0]
        criterion = messages[0].partition("Criterion: ")[2].splitlines()[0]
        if (problem, criterion) in verdicts:  # asked again, since it could not be read
            assert verdicts[problem, criterion] is None
        else:
            own = random.Random(problem + criterion)
            verdicts[problem, criterion] = own.choices(list(SAID), (5, 3, 4, 1))[0]
        return random.Random(criterion + problem).choice(SAID[verdicts[problem, criterion]])

    files = {"turns.jsonl": list(rows.values()), "follow_ups.jsonl": series, "attempts.jsonl": attempts}
    figures = play(tmp_path, "kmp_bench", files, tutor, {"evaluator": evaluator})
    apart = facts_of("kmp_bench").apart

    asked = {row["problem"]: 4 + 3 * len(row["principles"]) + 1 for row in rows.values()}
    assert len(verdicts) == sum(asked.values())
    given: dict[tuple[str, str], list[str | None]] = defaultdict(list)
    for each in figures.scores:
        if each.scenario != "dialogue":
            continue
        level, criterion = each.metric, "All in all, as teaching."
        if each.metric == "basic":
            level, criterion = "general", json.loads(each.element_value or "")
        elif each.metric == "principle":
            pair = json.loads(each.element_value or "")
            level, criterion = pair["first"], pair["second"]
            assert level in each.fields["principles"]
        assert each.choice == verdicts[each.fields["problem"], criterion]
        given[level, criterion].append(each.choice)
    assert sum(map(len, given.values())) == len(verdicts)
    rates: dict[str, list[float]] = defaultdict(list)
    for (level, _), said in given.items():
        read = [one for one in said if one is not None]
        rates[level].append(read.count("Win") / len(read))
    assert {level: len(each) for level, each in rates.items()} == {
        "general": 4, **dict.fromkeys(PRINCIPLES, 3), "judgement": 1
    }  # fmt: skip
    levels = {name: fmean(rates[name]) for name in PRINCIPLES}
    overall = (fmean(rates["general"]) + fmean(levels.values())) / 2
    assert figures["dialogue.general_level"].value == pytest.approx(fmean(rates["general"]), abs=apart)
    assert figures.by("dialogue.principle_level") == pytest.approx(levels, abs=apart)
    assert figures["dialogue.overall"].value == pytest.approx(overall, abs=apart)
    assert figures["dialogue.overall_judgement"].value == pytest.approx(rates["judgement"][0], abs=apart)

    # A talk with a reply that says nothing is not read, and counts as one that is missing.
    talks = [[told[question] for question in each["questions"]] for each in series]
    read = [talk for talk in talks if all(is_answer(said) for said, _ in talk)]
    right = [is_right for talk in read for _, is_right in talk]
    assert figures["follow_ups.accuracy"].value == pytest.approx(fmean(right), abs=apart)
    assert figures["follow_ups.accuracy"].coverage == len(right) / (len(right) + len(talks) - len(read))
    read_of = [(each["wrong"], READ[found[each["problem"]]]) for each in attempts]
    pairs = [(wrong, said) for wrong, said in read_of if said is not None]
    hits = sum(wrong and said[0] for wrong, said in pairs)
    f1 = 2 * hits / (sum(wrong for wrong, _ in pairs) + sum(said[0] for _, said in pairs))
    assert figures["errors.detection"].value == pytest.approx(f1, abs=apart)
    mended = [all(said) for wrong, said in pairs if wrong]
    assert figures["errors.correction"].value == pytest.approx(fmean(mended), abs=apart)
    assert len(verdicts) + len(told) + len(attempts) == facts_of("kmp_bench").replies
