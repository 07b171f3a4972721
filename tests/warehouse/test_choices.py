"""Choices of judges as scores: SimpleQA by its authors' formula, agreement on names, conditions, and odd replies."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiler.compiling import ROOT, compile_file, plan_of
from tests.runtime.small_runs import run_small
from tests.warehouse.synthetic import Results, single
from tripos_compiler.plan import Plan
from tripos_runtime.models.base import Request
from tripos_warehouse.store.store import Store

PAGE = (ROOT / "docs" / "language" / "choices.md").read_text("utf-8")
SPEC = re.search(r"```tripos facts\.tripos\n(.*?)```", PAGE, re.S)[1]  # type: ignore[index]
NAMES = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
ODD = (
    ('{{"value": "{0}"}}', True),
    ("{0}", True),
    ("**{0}**.", True),
    ("Answer: {0}", True),
    ('```json\n{{"value": "{0}"}}\n```', True),
    ("It may be CORRECT or INCORRECT.", False),
    ("", False),
    ("[]", False),
)
"""Replies of a grader, and whether they say a name."""
CASES = 200


def questions(count: int) -> list[dict[str, str]]:
    return [{"question": f"Question {at}?", "answer": f"answer {at}", "topic": "abc"[at % 3]} for at in range(count)]


def published(labels: list[str]) -> dict[str, float]:
    """Return the figures of SimpleQA as its script computes them (Wei et al., 2024, section 2.3)."""
    correct = labels.count("CORRECT") / len(labels)
    attempted = labels.count("CORRECT") / (labels.count("CORRECT") + labels.count("INCORRECT"))
    return {"correct": correct, "attempted": attempted, "f": 2 * attempted * correct / (attempted + correct)}


def test_simpleqa_by_its_own_formula_over_a_grader_whose_replies_are_odd(store: Store, tmp_path: Path) -> None:
    drawn = random.Random(4)
    meant = {at: (drawn.choices(NAMES, (5, 3, 2))[0], drawn.choice(ODD)) for at in range(CASES)}

    def script(request: Request) -> str:
        found = re.search(r"Question: Question (\d+)\?", request.messages[-1].content)
        if found is None:
            return '{"value": "good"}' if "written" in request.messages[-1].content else "a reply"
        name, (form, _) = meant[int(found[1])]
        return form.format(name)

    run = run_small(tmp_path / "run", SPEC, {"questions.jsonl": questions(CASES)}, script=script, judge="grader")
    verdicts = [row for row in run.table("scores") if row["metric"] == "verdict"]
    assert {row["status"] for row in verdicts} == {"scored", "parse_failure"}
    assert all(row["value"] is None for row in verdicts), "a name that stands for no number is none"
    results = Results(run.plan, judges=("grader",))
    for row in verdicts:
        said = row["given"] and row["given"].strip('"')
        results.add("facts", "verdict", row["item_id"], said, evaluator="grader", status=row["status"])
    results.write(store)
    labels = [name for name, (_, read) in meant.values() if read]
    for name, expected in published(labels).items():
        row = single(store, run.plan, f"facts.{name}")
        moved = [published(labels[:at] + labels[at + 1 :])[name] for at in range(len(labels))]
        middle = sum(moved) / len(moved)
        error = math.sqrt((len(moved) - 1) / len(moved) * sum((each - middle) ** 2 for each in moved))
        assert row.value == pytest.approx(expected, abs=1e-12), name
        assert row.standard_error == pytest.approx(error, rel=0.02), name
        low, high = row.low, row.high
        assert low is not None and high is not None and 0 <= low < expected < high <= 1
    assert single(store, run.plan, "facts.correct").total == CASES
    missing = CASES - len(labels)
    attempted = single(store, run.plan, "facts.attempted")
    assert attempted.total - attempted.n == missing, "a verdict that could not be read may have been among these"


def panel(tmp_path: Path) -> Plan:
    tmp_path.joinpath("questions.jsonl").write_text('{"question": "?", "answer": "!", "topic": "a"}', "utf-8")
    path = tmp_path / "facts.tripos"
    path.write_text(SPEC + "measure whole = quadratic_kappa(facts.style) across judge\n", "utf-8")
    return plan_of(compile_file(path))


def kappa(one: list[str], two: list[str], distance: Callable[[str, str], float]) -> float:
    """Return Cohen's weighted kappa by its definition (Cohen, 1968, formula 1)."""
    met = sum(distance(a, b) for a, b in zip(one, two, strict=True)) / len(one)
    chance = sum(distance(a, b) for a in one for b in two) / len(one) ** 2
    return 1 - met / chance


def test_agreement_on_names_and_on_what_they_stand_for(store: Store, tmp_path: Path) -> None:
    drawn, plan = random.Random(1), panel(tmp_path)
    results = Results(plan, judges=("one", "two"))
    worth = {"good": 1.0, "fair": 0.5, "poor": 0.0}
    said: dict[str, list[str]] = {"one": [], "two": []}
    marks: dict[str, list[str]] = {"one": [], "two": []}
    for at in range(80):
        first = drawn.choice(NAMES)
        for judge, names in said.items():
            names.append(first if judge == "one" or drawn.random() < 0.6 else drawn.choice(NAMES))
            marks[judge].append(drawn.choice(list(worth)))
            results.add("facts", "verdict", f"i{at}", names[-1], evaluator=judge)
            results.add("facts", "style", f"i{at}", marks[judge][-1], evaluator=judge)
    results.write(store)
    assert single(store, plan, "kappa").value == pytest.approx(kappa(*said.values(), lambda a, b: float(a != b)))
    squared = kappa(*marks.values(), lambda a, b: (worth[a] - worth[b]) ** 2)
    assert single(store, plan, "whole").value == pytest.approx(squared)
    every = [worth[mark] for each in marks.values() for mark in each]
    assert single(store, plan, "writing").value == pytest.approx(sum(every) / 160)


def test_nothing_attempted_has_no_rate_and_a_reason(store: Store, tmp_path: Path) -> None:
    plan = panel(tmp_path)
    results = Results(plan)
    for at in range(5):
        results.add("facts", "verdict", f"i{at}", "NOT_ATTEMPTED", evaluator="j1")
    results.write(store)
    row = single(store, plan, "facts.correct")
    assert (row.value, row.n) == (0.0, 5)
    assert row.high is not None and row.high > 0.4, "none of five is no proof of none"
