"""Students of known ability who learn at a known rate: the measures of lessons recover both, as often as they say.

Each of 200 repetitions has questions of its own, so one store has them all, and a measure goes by repetition. The
student is the one of `mock/student`, whose chances are known; of 200 intervals that keep their promise 179 to 198 hold
the truth, but for 1 case in 1,000 (binomial).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.compiler.compiling import compile_files, plan_of
from tests.warehouse.bound import bound
from tests.warehouse.synthetic import AT, Results
from tripos_compiler.plan import Ask, Plan
from tripos_runtime.models.mocks import Student
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureTable
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

REPETITIONS = 200
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))
QUESTIONS, SESSIONS, SITTINGS = 24, 3, 2
STUDENT = Student("mock/student-40-30", 0.4, 0.3)

SPEC = f"""
benchmark lessons "1.0.0" {{ languages en }}
role teacher compared
role student
arm teaching {{ none, lesson }}
dataset item from "items.jsonl" {{ repetition text, topic text, question text secret, answer text secret }}
scenario gain {{
  over item as q
  arms teaching
  converse talk when teaching == lesson {{
    teacher {{ system "Teach {{{{ q.topic }}}}." }}
    student {{ system "Learn." }}
    opens  teacher
    until  teacher says "done"
    limit  30 turns
    repeat {SESSIONS}
  }}
  ask untaught by student when teaching == none {{
    prompt  "{{{{ q.question }}}}"
    samples {SITTINGS}
  }}
  ask taught by student when teaching == lesson {{
    continue talk
    prompt  "{{{{ q.question }}}}"
    samples {SESSIONS * SITTINGS}
  }}
  score correct = contains(untaught.text, q.answer) when teaching == none
  score correct = contains(taught.text, q.answer)   when teaching == lesson
  measure once   = pass_at(1, correct, missing: paired) by teaching, q.repetition
  measure twice  = pass_at(2, correct, missing: paired) by teaching, q.repetition
  measure gain   = once - once[teaching: none] by teaching, q.repetition
  measure gain_2 = twice - twice[teaching: none] by teaching, q.repetition
}}
"""


def expected(tries: int, taught: bool) -> float:
    """Return the chance that one of so many tries is right, over all questions and lessons."""
    grid = (np.arange(400) + 0.5) / 400
    chances = [[STUDENT.chance(float(q), float(v)) for v in grid[::8]] for q in grid[::2]]
    chances = chances if taught else [[STUDENT.chance(float(q), None)] for q in grid]
    return float(np.mean(1 - (1 - np.array(chances)) ** tries))


TRUTHS: dict[tuple[str, str], float] = {
    ("once", "none"): STUDENT.ability,
    ("once", "lesson"): STUDENT.ability + STUDENT.rate * (1 - STUDENT.ability),
    ("twice", "none"): expected(2, False),
    ("twice", "lesson"): expected(2, True),
    ("gain", "lesson"): STUDENT.rate * (1 - STUDENT.ability),
    ("gain_2", "lesson"): expected(2, True) - expected(2, False),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MeasureTable]]:
    """Every measure of the spec over a store with all repetitions."""
    folder = tmp_path_factory.mktemp("lessons")
    row = '{"repetition": "r", "topic": "?", "question": "?", "answer": "?"}\n'
    plan = plan_of(compile_files(folder, {"spec.tripos": SPEC, "items.jsonl": row}))
    store = Store.open(folder / "results", create=True, clock=lambda: AT)
    results, samples = Results(plan), list[dict[str, Any]]()
    for repetition in range(REPETITIONS):
        samples += teach(results, f"r{repetition:03}", np.random.default_rng([repetition, 8]))
    results.write(store)
    store.append(bound({"samples": samples}))
    with connect(store) as connection:
        yield {each.name.partition(".")[2]: evaluate(connection, plan, each) for each in plan.measures}


def teach(results: Results, repetition: str, random: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the answers to every question, before a lesson and after three of them; gives the replies."""
    step = taught(results.plan)
    for question, stands in enumerate(random.random(QUESTIONS)):
        name = f"{repetition}-{question:02}"
        results.item("gain", name, {"repetition": repetition})
        before = STUDENT.chance(stands, None)
        for number in range(SITTINGS):
            add(results, name, "none", number, random.random() < before)
        after = [STUDENT.chance(stands, lesson) for lesson in random.random(SESSIONS)]
        for number in range(SESSIONS * SITTINGS):
            add(results, name, "lesson", number, random.random() < after[number % SESSIONS])
            score = results.scores[-1]
            yield {
                **{
                    key: score[key] for key in ("sample_id", "run_id", "benchmark", "scenario", "item_id", "created_at")
                },
                "context": {"language": "en"},
                "step": step.name,
                "role": step.role,
                "model": "j1",
                "sample_number": number,
                "messages": "[]",
                "status": "ok",
                "attempts": 1,
                "fingerprint": step.fingerprint,
            }


def add(results: Results, item: str, arm: str, number: int, right: bool) -> None:
    results.add("gain", "correct", item, float(right), number=number, arms={"teaching": arm})


def taught(plan: Plan) -> Ask:
    """Return the step that answers after a lesson."""
    return next(step for step in plan.scenarios[0].steps if isinstance(step, Ask) and step.name == "taught")


@pytest.mark.parametrize(("measure", "arm"), TRUTHS)
def test_what_a_student_knows_and_learns_is_recovered(found: dict[str, MeasureTable], measure: str, arm: str) -> None:
    rows = [row for row in found[measure].rows if str(row.by[0]) == arm]
    truth = TRUTHS[measure, arm]
    assert len(rows) == REPETITIONS
    values = np.array([row.value for row in rows], dtype=float)
    assert abs(values.mean() - truth) < 2 * values.std(ddof=1) / math.sqrt(REPETITIONS)
    held = sum((row.low or 0) <= truth <= (row.high or 0) for row in rows)
    assert LEAST <= held <= MOST


def test_the_errors_are_as_large_as_the_values_scatter(found: dict[str, MeasureTable]) -> None:
    rows = [row for row in found["gain"].rows if str(row.by[0]) == "lesson"]
    scatter = np.std([row.value for row in rows], ddof=1)
    told = math.sqrt(np.mean([(row.standard_error or 0) ** 2 for row in rows]))
    assert 0.85 < told / scatter < 1.15
