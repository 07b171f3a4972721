"""Measures that people correct, over results with a known truth, against the same worked out reply by reply."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results, measured, single
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.store.store import Store

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
arm hint { none, some }
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric FACT "Accuracy" { scale 1..5, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer fine(reply: text) by judge { prompt "{{ reply }}", gives bool }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  x   |  x   |
  | talk |  x   |  .   |
}
scenario sums {
  arms hint
  ask answer by candidate { prompt "Add.", system "Think." when hint == some }
  score rubric(answer.text)
  score passed = fine(answer.text)
}
scenario talk {
  ask answer by candidate { prompt "Talk." }
  score rubric(answer.text)
}
measure clear    = mean(sums.CLAR) corrected by people
measure all      = mean(CLAR) corrected by people
measure quality  = mean(sums.rubric) corrected by people
measure evenly   = mean(mean(sums.rubric) by metric) corrected by people
measure passing  = share(passed) corrected by people
measure by_hint  = mean(sums.CLAR) corrected by people by hint
measure gain     = clear[hint: some] - clear[hint: none] corrected by people
measure rescaled = (clear - 1) / 4 corrected by people
measure own      = mean(sums.CLAR)
"""
ITEMS, GRADED = 40, 15


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(compile_text(SPEC))


def marks(seed: int, off: float = 1.0) -> tuple[list[float], list[float]]:
    """Return grades of a judge who is lenient, and of people."""
    random = np.random.default_rng(seed)
    people = np.clip(np.rint(random.normal(3, 1, ITEMS)), 1, 5)
    judge = np.clip(np.rint(people + off + random.normal(0, 0.5, ITEMS)), 1, 5)
    return judge.tolist(), people.tolist()


def add(
    results: Results,
    judge: list[float],
    people: list[float],
    graded: int = GRADED,
    drawn_of: int | None = ITEMS,
    scenario: str = "sums",
    metrics: tuple[str, ...] = ("CLAR",),
    hint: str | None = "none",
    arm: str = "hint",
) -> None:
    arms = {} if hint is None else {arm: hint}
    for item, (said, true) in enumerate(zip(judge, people, strict=True)):
        for metric in metrics:
            about = (scenario, "rubric", f"i{item:02}")
            results.add(*about, said, metric=metric, evaluator="j1", arms=arms)
            if item < graded:
                results.add(*about, true, metric=metric, evaluator="human/anna", arms=arms, drawn_of=drawn_of)


def near(row: MeasureRow, judge: list[float], people: list[float], graded: int = GRADED) -> None:
    """Hold a row to what is worked out of the grades themselves."""
    given = [*people[:graded], *[None] * (len(people) - graded)]
    found = corrected_mean(judge, given, ends=(1, 5))
    assert row.value == pytest.approx(found.result.value)
    assert (row.low, row.high) == pytest.approx((found.result.low, found.result.high))
    assert (row.items, row.n, row.total) == (graded, graded, graded)
    assert row.power == pytest.approx(found.power)


def test_a_corrected_mean_is_that_of_its_grades_and_the_judge_stands_beside_it(store: Store, plan: Plan) -> None:
    judge, people = marks(1)
    results = Results(plan)
    add(results, judge, people)
    results.write(store)
    row = single(store, plan, "clear")
    near(row, judge, people)
    assert row.judged is not None
    assert row.judged.value == sum(judge) / ITEMS == single(store, plan, "own").value
    assert row.high is not None and row.high < row.judged.value
    assert row.method == "corrected"


def test_a_share_of_verdicts_is_corrected(store: Store, plan: Plan) -> None:
    random = np.random.default_rng(2)
    people = random.random(60) < 0.5
    judge = people | (random.random(60) < 0.4)
    results = Results(plan)
    for item in range(60):
        about = ("sums", "passed", f"i{item:02}")
        results.add(*about, float(judge[item]), evaluator="j1", arms={"hint": "none"})
        if item < 30:
            results.add(*about, float(people[item]), evaluator="human/anna", arms={"hint": "none"}, drawn_of=60)
    results.write(store)
    row = single(store, plan, "passing")
    found = corrected_mean(judge.astype(float), [*people[:30].astype(float), *[None] * 30], ends=(0, 1)).result
    assert row.value == pytest.approx(found.value)
    assert row.low == pytest.approx(found.low)


def test_metrics_and_cells_pull_together(store: Store, plan: Plan) -> None:
    judge, people = marks(3)
    results = Results(plan)
    add(results, judge, people, metrics=("CLAR", "FACT"))
    results.write(store)
    for name in ("quality", "evenly"):
        row = single(store, plan, name)
        given = [*people[:GRADED], *[None] * (ITEMS - GRADED)]
        found = corrected_mean(judge, given, ends=(1, 5)).result
        assert row.value == pytest.approx(found.value)
        assert row.standard_error == pytest.approx(found.standard_error)
        assert (row.items, row.n, row.total) == (GRADED, 2 * GRADED, 2 * GRADED)


def test_slices_cells_and_formulas_are_corrected(store: Store, plan: Plan) -> None:
    (judge, people), (other, theirs) = marks(4), marks(5, 0.5)
    results = Results(plan)
    add(results, judge, people, hint="none", drawn_of=2 * ITEMS)
    add(results, other, theirs, hint="some", drawn_of=2 * ITEMS)
    results.write(store)
    none, some = measured(store, plan, "by_hint").rows
    near(none, judge, people)
    near(some, other, theirs)
    differences = [(b - a) for a, b in zip(judge, other, strict=True)]
    known = [b - a for a, b in zip(people[:GRADED], theirs[:GRADED], strict=True)]
    found = corrected_mean(differences, [*known, *[None] * (ITEMS - GRADED)], ends=(-4, 4)).result
    gain = single(store, plan, "gain")
    assert gain.value == pytest.approx(found.value)
    assert gain.standard_error == pytest.approx(found.standard_error)
    rescaled, clear = single(store, plan, "rescaled"), single(store, plan, "clear")
    assert rescaled.value == pytest.approx((clear.value - 1) / 4)
    assert rescaled.low == pytest.approx((clear.low - 1) / 4)


@pytest.mark.parametrize("name", ["labels", "influences"])
def test_an_arm_may_be_called_like_what_the_query_has(store: Store, name: str) -> None:
    plan = plan_of(compile_text(SPEC.replace("hint", name)))
    judge, people = marks(4)
    results = Results(plan)
    add(results, judge, people, arm=name)
    results.write(store)
    near(measured(store, plan, f"by_{name}").rows[0], judge, people)


def test_a_scenario_of_which_more_was_drawn_counts_no_more(store: Store, plan: Plan) -> None:
    (judge, people), (other, theirs) = marks(6), marks(7, 0.2)
    theirs = [min(5.0, each + 1) for each in theirs]
    results = Results(plan)
    add(results, judge, people, graded=30)
    add(results, other, theirs, graded=8, scenario="talk", hint=None)
    results.write(store)
    row = single(store, plan, "all")
    weights = [ITEMS / 30] * 30 + [1.0] * 10 + [ITEMS / 8] * 8 + [1.0] * 32
    given = [*people[:30], *[None] * 10, *theirs[:8], *[None] * 32]
    clusters = [f"i{item:02}" for item in range(ITEMS)] * 2
    found = corrected_mean([*judge, *other], given, clusters, weights, ends=(1, 5))
    assert found.graded.value == pytest.approx((np.mean(people[:30]) + np.mean(theirs[:8])) / 2)
    # Weights that differ count in the errors of three figures here, and not there: λ and the error are near each other.
    assert row.value == pytest.approx(found.result.value, rel=2e-3)
    assert row.standard_error == pytest.approx(found.result.standard_error, rel=0.1)


@pytest.mark.parametrize(
    ("graded", "drawn_of", "reason"),
    [
        (0, ITEMS, "people graded nothing in `sums` on `CLAR`"),
        (15, None, "the replies that people graded in `sums` on `CLAR` were not drawn at random"),
        (15, ITEMS - 1, "were not drawn at random"),
        (2, ITEMS, "it takes 3"),
    ],
    ids=["no grades", "not drawn", "the run has grown since", "two items"],
)
def test_without_labels_at_random_there_is_no_value_and_a_reason(
    store: Store, plan: Plan, graded: int, drawn_of: int | None, reason: str
) -> None:
    judge, people = marks(8)
    results = Results(plan)
    add(results, judge, people, graded=graded, drawn_of=drawn_of)
    results.write(store)
    row = single(store, plan, "clear")
    assert (row.value, row.low, row.standard_error) == (None, None, None)
    assert reason in (row.reason or "")
    assert row.judged is not None and row.judged.value == sum(judge) / ITEMS


def test_of_a_scenario_without_grades_the_whole_has_no_value(store: Store, plan: Plan) -> None:
    judge, people = marks(9)
    results = Results(plan)
    add(results, judge, people)
    add(results, judge, people, graded=0, scenario="talk", hint=None)
    results.write(store)
    row = single(store, plan, "all")
    assert row.value is None
    assert row.reason == "people graded nothing in `talk` on `CLAR`"


def test_where_people_graded_all_of_it_no_draw_is_needed(store: Store, plan: Plan) -> None:
    judge, people = marks(10)
    results = Results(plan)
    add(results, judge, people, graded=ITEMS, drawn_of=None)
    results.write(store)
    row = single(store, plan, "clear")
    assert row.value == pytest.approx(sum(people) / ITEMS)
    assert row.power == 0


def test_two_people_who_grade_a_reply_are_one_label(store: Store, plan: Plan) -> None:
    judge, people = marks(11)
    results = Results(plan)
    add(results, judge, people)
    twice = [5.0 if place < 5 else each for place, each in enumerate(people)]
    for item in range(5):
        results.add(
            "sums",
            "rubric",
            f"i{item:02}",
            5.0,
            metric="CLAR",
            evaluator="human/ben",
            arms={"hint": "none"},
            drawn_of=40,
        )
    results.write(store)
    means = [(one + two) / 2 for one, two in zip(people, twice, strict=True)]
    near(single(store, plan, "clear"), judge, means)


def test_labels_of_a_run_with_other_items_correct_nothing(store: Store, plan: Plan) -> None:
    judge, people = marks(12)
    results = Results(plan)
    add(results, judge, people)
    for row in results.drawn.values():
        row["run_id"] = "r0"  # which had 40 replies too, and no item of these
    results.write(store)
    row = single(store, plan, "clear")
    assert row.value is None
    assert "were not drawn at random" in (row.reason or "")


TRIES = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
scorer verdict(reply: text) by judge { prompt "{{ reply }}", gives bool }
scenario sums {
  ask answer by candidate { prompt "Add.", samples 3 }
  score passed = verdict(answer.text)
}
measure some = pass_at(2, passed) corrected by people
"""


def tries(
    store: Store, graded: dict[int, int], samples: dict[int, int] | None = None
) -> tuple[MeasureRow, list[float]]:
    """Return the row of pass@2 of 20 items, of which people graded the first so many tries, and people's chances."""
    plan = plan_of(compile_text(TRIES))
    random = np.random.default_rng(20)
    results = Results(plan)
    chances = []
    for item in range(20):
        count = (samples or {}).get(item, 3)
        people = random.random(count) < 0.5
        for number in range(count):
            about = ("sums", "passed", f"i{item:02}")
            results.add(*about, float(people[number] or item % 3 == 0), evaluator="j1", number=number)
            if number < graded.get(item, 0):
                results.add(*about, float(people[number]), evaluator="human/anna", number=number, drawn_of=60)
        n, c = graded.get(item, 0), int(people[: graded.get(item, 0)].sum())
        if n >= 2:
            chances.append(1 - (n - c) * (n - c - 1) / (n * (n - 1)))
    results.write(store)
    return single(store, plan, "some"), chances


def test_a_chance_of_tries_is_corrected_by_items_of_which_people_graded_enough(store: Store) -> None:
    row, chances = tries(store, {0: 3, 1: 3, 2: 2, 3: 1, 4: 3, 5: 2})
    assert row.items == len(chances) == 5
    assert row.judged is not None
    assert row.value is not None
    assert row.low is not None
    if row.power == 0:
        assert row.value == pytest.approx(np.mean(chances))


def test_where_people_graded_all_tries_it_is_the_chance_as_people_have_it(store: Store) -> None:
    row, chances = tries(store, dict.fromkeys(range(20), 3))
    assert row.value == pytest.approx(np.mean(chances))


def test_tries_of_items_with_other_numbers_of_them_are_no_random_part(store: Store) -> None:
    row, _ = tries(store, {0: 2, 1: 2, 2: 2, 3: 2}, {5: 2})
    assert row.value is None
    assert row.reason == "items have different numbers of replies, and people graded only some of those to one"
