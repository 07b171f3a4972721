"""Imperfect students by the formulas of the paper's chapter 3, computed apart; and a student whose ability is known."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Command
from tests.gallery.playing import GALLERY, facts_of, play

SKILLS = ("Measurement and Data", "Number and Operations in Base Ten", "Fractions", "Algebraic Thinking")
STRATEGIES = ("rules", "examples", "combined")
ODD = {"?": None, "B or C": None, "I have not learnt this.": None, "E": None, "Ｃ": "C", "**D**": "D", "(a)": "A"}
ODD |= {"The answer is B.": "B", "\\boxed{A}": "A", "答案是D": "D", "C. three": "C"}
"""What a student may say for a letter, and the option that it chooses."""


def questions(count: int) -> list[dict[str, object]]:
    dice, talk = random.Random(4), [{"speaker": "teacher", "text": "Look."}, {"speaker": "student", "text": "I see."}]
    return [
        {"question": f"Question {number:02}", "options": ["one", "two", "three", "four"], "answer": dice.choice("ABCD")}
        | {"skill": SKILLS[number % 4], "lesson": [*talk, *talk], "other": talk}
        for number in range(count)
    ]


def profile_of(system: str) -> tuple[str, frozenset[str]]:
    """Return the strategy and the skills that a system message tells of."""
    line = next(line for line in system.splitlines() if line.startswith("Mastered"))
    told = frozenset(skill for skill in SKILLS if skill in line)
    assert all((skill in told) != (skill in system.splitlines()[2]) for skill in SKILLS)
    rules, shown = "make the mistake" in system, "answered before" in system
    assert not shown or ("make 4/5" in system) == ("Fractions" in told)
    return {(True, False): "rules", (False, True): "examples", (True, True): "combined"}[rules, shown], told


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.long)])
def test_the_figures_are_those_of_the_formulas(tmp_path: Path, count: int) -> None:
    rows, facts = questions(count), facts_of("imperfect_students")
    answers: dict[tuple[str, frozenset[str], int], str] = {}

    def student(messages: list[str]) -> str:
        number = int(messages[-1].split()[1])
        if not messages[0].startswith("You play"):  # a sitting: right after the lesson, else by chance
            return str(rows[number]["answer"]) if len(messages) == 5 else "ABCD"[(number * 7 + len(messages)) % 4]
        strategy, told = profile_of(messages[0])
        dice = random.Random(f"{strategy} {sorted(told)} {number}")
        truth = str(rows[number]["answer"])
        likely = 0.9 if rows[number]["skill"] in told else {"rules": 0.6, "examples": 0.4, "combined": 0.1}[strategy]
        said = truth if dice.random() < likely else dice.choice([*"ABCD", *ODD])
        answers[strategy, told, number] = said
        return said

    figures = play(tmp_path, "imperfect_students", {"questions.jsonl": rows}, student)
    assert len(answers) == 3 * 16 * count and facts.replies == 3 * 16 * 12
    near = lambda value: pytest.approx(value, abs=facts.apart)  # noqa: E731
    by_cell = {(str(row.by[0]), str(row.by[1])): row.value for row in figures.rows["profiles.lost"]}
    kept = {(str(row.by[0]), str(row.by[1])): row.value for row in figures.rows["profiles.kept"]}
    changed = [figures.rows[f"profiles.no_{name}"] for name in ("data", "base_ten", "fractions", "algebra")]
    influence = [{(str(row.by[0]), str(row.by[1])): row.value for row in each} for each in changed]
    for strategy in STRATEGIES:
        accuracy = np.zeros((2, 2, 2, 2, 4))
        for has in itertools.product((0, 1), repeat=4):
            told = frozenset(skill for skill, k in zip(SKILLS, has, strict=True) if k)
            for index in range(4):
                own = [number for number in range(count) if number % 4 == index]
                right = [(s := answers[strategy, told, n], ODD.get(s, s))[1] == rows[n]["answer"] for n in own]
                accuracy[(*has, index)] = np.mean(right)
        grid = np.array(list(itertools.product((0, 1), repeat=4)))  # the mastery vectors k
        ctrl = accuracy.reshape(16, 4)
        base = accuracy[1, 1, 1, 1]
        assert figures.by("profiles.alignment")[strategy] == near(np.where(grid == 1, ctrl, 1 - ctrl).mean())
        assert figures.by("profiles.rmse")[strategy] == near(np.sqrt(((grid - ctrl) ** 2).mean(axis=1)).mean())
        for index, skill in enumerate(SKILLS):
            forgotten, retained = (ctrl[grid[:, index] == k, index].mean() for k in (0, 1))
            loss = (
                [(base[index] - forgotten) / base[index], (retained - base[index]) / base[index]] if base[index] else []
            )
            assert [by_cell[strategy, skill], kept[strategy, skill]] == (near(loss) if loss else [None, None])
            for other in range(4):
                lacking = tuple(int(place != other) for place in range(4))
                assert influence[other][strategy, skill] == near(accuracy[(*lacking, index)] - base[index])
    assert figures["controllability"].value == figures.by("profiles.alignment")["combined"]
    guess, after = ([rows[n]["answer"] == "ABCD"[(n * 7 + k) % 4] for n in range(count)] for k in (1, 3))
    assert figures["sittings.ability"].value == near(np.mean(guess))
    assert figures["sittings.specific"].value == near(1 - np.mean(after))


@pytest.mark.long
def test_the_known_student_is_found_to_have_its_ability_and_its_gain(tmp_path: Path, tripos: Command) -> None:
    for name in ("imperfect_students.tripos", "examples.jsonl"):
        (tmp_path / name).write_text((GALLERY / "imperfect_students" / name).read_text("utf-8"), "utf-8")
    rows = questions(80)
    for number, row in enumerate(rows):
        truth = 11 + 2 * number
        row |= {"question": f"{10 + number} + {1 + number} = ?", "options": [str(truth + k) for k in range(4)]}
        row["answer"] = "A"
        for name in ("lesson", "other"):  # one for each question: this student learns more in one than in another
            row[name] = [{"speaker": "teacher", "text": f"{name} {number}"}, {"speaker": "student", "text": "I see."}]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    spec, store = str(tmp_path / "imperfect_students.tripos"), str(tmp_path / "store")
    done = tripos(
        "run", spec, "--scenario", "sittings", "--model", "mock/student-40-30,mock/student-80-0", "--store", store
    )
    assert done.code == 0, done.err
    found = {each["name"]: each["rows"] for each in tripos("report", "--json", "--store", store).data["measures"]}
    ability = {row["model"]: row["value"] for row in found["sittings.ability"]}
    gain = {(row["model"], row["lesson"]): row["value"] for row in found["sittings.gain"]}
    specific = {row["model"]: row for row in found["sittings.specific"]}
    learner, expert = "mock/student-40-30", "mock/student-80-0"
    assert [ability[learner], ability[expert]] == pytest.approx([0.4, 0.8], abs=0.04)
    for lesson in ("own", "other"):  # the learner learns from any lesson, and the figures show it
        assert [gain[learner, lesson], gain[expert, lesson]] == pytest.approx([0.3 * 0.6, 0], abs=0.04)
    assert all(row["low"] < 0 < row["high"] for row in specific.values())
