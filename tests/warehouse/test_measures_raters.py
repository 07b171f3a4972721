"""Whose scores an agreement is taken of: the raters of its role, each once; and its error where there are many items."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.compiler.compiling import compile_text, plan_of
from tests.lengths import sized
from tests.warehouse.synthetic import Results, measured, single
from tests.warehouse.test_measures import HEAD
from tripos_compiler.plan import Plan
from tripos_compiler.plan.base import named
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.query import aggregates as listed
from tripos_warehouse.query.aggregates import AGREEMENTS
from tripos_warehouse.query.results import run_query
from tripos_warehouse.statistics.agreement import Weights, gwet_ac
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

TWO_ROLES = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
role expert panel
dimension quality "Quality" { metric CLAR "Clarity" { scale 1..5, asks "?" } }
scorer quick(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer careful(reply: text) by expert { prompt "Take your time. {{ metrics }} {{ reply }}", gives allocated metrics }
allocate quick {
  |      | CLAR |
  | sums |  x   |
}
allocate careful {
  |      | CLAR |
  | sums |  x   |
}
scenario sums {
  ask answer by candidate { prompt "Add." }
  score quick(answer.text)
  score careful(answer.text)
}
measure judges  = krippendorff_alpha(CLAR) across judge
measure experts = krippendorff_alpha(CLAR) across expert
"""


def alpha(*marks: list[float]) -> float | None:
    return AGREEMENTS["krippendorff_alpha"].estimate(np.array(marks), "interval").value


def test_agreement_across_a_role_leaves_out_who_grades_in_another() -> None:
    plan = plan_of(compile_text(TWO_ROLES))
    for measure, scorer in (("judges", "quick"), ("experts", "careful")):
        sql = sql_of(plan, named(plan.measures, measure))
        assert f"where scorer in ('{scorer}')" in sql


def test_two_roles_of_judges_have_an_agreement_each(store: Store) -> None:
    plan = plan_of(compile_text(TWO_ROLES))
    results = Results(plan, judges=("j1", "j2"))
    given = {
        "quick": ([1.0, 2, 3, 4, 5, 1, 2, 3], [5.0, 2, 1, 4, 3, 1, 4, 2]),
        "careful": ([1.0, 2, 3, 4, 5, 1, 2, 3], [1.0, 2, 3, 4, 5, 1, 2, 4]),
    }
    for scorer, marks in given.items():
        for judge, those in zip(results.judges, marks, strict=True):  # the same models fill both roles
            for item, mark in enumerate(those):
                results.add("sums", scorer, f"i{item}", mark, metric="CLAR", evaluator=judge)
    results.write(store)
    assert single(store, plan, "judges").value == pytest.approx(alpha(*given["quick"]))
    assert single(store, plan, "experts").value == pytest.approx(alpha(*given["careful"]))


def regraded(store: Store, measure: str) -> Plan:
    """Return two people who grade eight replies; the second grades half of them once more, as the first did."""
    joined = HEAD.replace("judge panel", "judge panel with people").replace("BODY", "")
    plan = plan_of(compile_text(joined + f"measure it = {measure} by metric\n"))
    results = Results(plan, judges=())
    for item, (one, other) in enumerate(zip([1.0, 2, 3, 4, 5, 1, 2, 3], [5.0, 2, 1, 4, 3, 1, 4, 2], strict=True)):
        rounds = [("human/a", 1, one), ("human/b", 1, other), *([("human/b", 2, one)] if item < 4 else [])]
        for person, number, mark in rounds:
            where = {"metric": "CLAR", "evaluator": person, "round": number, "arms": {"hint": "none"}}
            results.add("sums", "rubric", f"i{item}", mark, **where)  # type: ignore[arg-type]
    results.write(store)
    return plan


def test_who_graded_twice_is_one_rater_who_has_the_latest_round(store: Store) -> None:
    row = single(store, regraded(store, "krippendorff_alpha(rubric) across judge"), "it")
    latest = [1.0, 2, 3, 4, 3, 1, 4, 2]
    assert row.value == pytest.approx(alpha([1.0, 2, 3, 4, 5, 1, 2, 3], latest))
    assert (row.items, row.n, row.total) == (8, 16, 16)


def test_a_mean_is_taken_of_every_round(store: Store) -> None:
    row = single(store, regraded(store, "mean(rubric)"), "it")
    assert (row.items, row.n) == (8, 20)


YES_OR_NO = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel with people
axis level { easy, hard }
scorer good(reply: text) by judge { prompt "{{ reply }}", gives bool }
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}", samples 2 }
  score fine = good(answer.text)
}
"""
BY_RATERS = (
    "krippendorff_alpha(fine) across judge",
    "kendall_w(fine, models: together) across judge",
    "kendall_tau(fine) across judge",
    "spearman(fine) across judge",
    "cohen_kappa(fine) across judge",
    "gwet_ac1(fine) across judge",
    "mean_tau_agreement(fine) across judge",
    "pass_at(1, fine)",
    "pass_all(2, fine)",
    "pass_at(2, fine, tries: first)",
)
Grades = dict[tuple[int, int, str, str], float]


def by_raters(folder: Path, rounds: list[Grades]) -> list[tuple[str | float | None, ...]]:
    """Return each figure, with its items, scores and the scores that there should be, on some rounds of grades by item,
    sample, model and person. A round has a row without a value for each grade of its people that it lacks."""
    plan = plan_of(compile_text(YES_OR_NO + "".join(f"measure it{n} = {it}\n" for n, it in enumerate(BY_RATERS))))
    results = Results(plan, models=("m", "n"), judges=())
    for number, grades in enumerate(rounds, 1):
        people = {person for *_, person in grades}
        for item, sample, model, person in (key for key in rounds[0] if key[-1] in people):
            grade = grades.get((item, sample, model, person))
            status = "not_given" if grade is None else None
            about = {"model": model, "number": sample, "evaluator": person, "round": number, "status": status}
            results.add("sums", "fine", f"i{item}", grade, **about)  # type: ignore[arg-type]
    store = Store.open(folder, create=True)
    results.write(store)
    tables = [measured(store, plan, f"it{n}") for n in range(len(BY_RATERS))]
    return [(row.model, row.value, row.items, row.n, row.total) for table in tables for row in table.rows]


@pytest.mark.parametrize("seed", range(sized(2, 20)))
def test_a_second_grade_of_some_replies_takes_back_no_grade_of_the_others(tmp_path: Path, seed: int) -> None:
    """Rounds with grades of some replies only are the same as one round that has the latest grade of each."""
    random = np.random.default_rng(seed)
    subjects = list(itertools.product(range(8), range(2), ("m", "n"), ("human/a", "human/b")))
    rounds: list[Grades] = [{subject: float(random.integers(0, 2)) for subject in subjects}]
    for _ in range(random.integers(1, 3)):
        some = [subject for subject in subjects if random.random() < 0.2] or subjects[:1]
        rounds.append({subject: float(random.integers(0, 2)) for subject in some})
    latest = {subject: grade for each in rounds for subject, grade in each.items()}
    found, expected = by_raters(tmp_path / "rounds", rounds), by_raters(tmp_path / "latest", [latest])
    assert found == [tuple(map(pytest.approx, row)) for row in expected]
    assert all(value is not None for _, value, *_ in found)


def test_how_far_somebody_agrees_with_themselves_is_a_query_of_the_page(store: Store) -> None:
    regraded(store, "mean(rubric)")
    page = (Path(__file__).parents[2] / "docs" / "reference/measures.md").read_text("utf-8")
    query = page.partition("```sql\n")[2].partition("```")[0]
    for theirs, ours in (("edubench_shipped.", "demo."), ("alice", "b"), ("IFTC", "CLAR")):
        query = query.replace(theirs, ours)
    with connect(store) as connection:
        [row] = run_query(connection, query).to_pylist()
    assert (row["n"], row["same"]) == (4, 0.5)


def test_kappa_by_squares_has_the_published_value() -> None:
    marks = np.array([[int(each) for each in text] for text in ("1234532145", "1233542244")], dtype=float)
    assert AGREEMENTS["quadratic_kappa"].estimate(marks).value == pytest.approx(0.882353, abs=1e-6)


# --- the categories that could be chosen ---

SCALES = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric DEEP "Depth" { scale 0..10, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer verdict(reply: text) by judge { prompt "{{ reply }}", gives choice(GOOD: 1, FAIR: 0.5, POOR: 0) }
allocate rubric {
  |      | CLAR | DEEP |
  | sums |  x   |  x   |
}
scenario sums {
  ask answer by candidate { prompt "Add." }
  score rubric(answer.text)
  score style = verdict(answer.text)
}
measure each   = gwet_ac1(rubric) across judge by metric
measure levels = gwet_ac2(rubric) across judge by metric
measure one    = gwet_ac2(DEEP) across judge
measure deep   = levels[metric: DEEP]
measure style  = gwet_ac1(style) across judge
measure worth  = gwet_ac2(style) across judge
measure good   = gwet_ac1(style == GOOD) across judge
measure some   = gwet_ac1(style, where: style in (GOOD, FAIR)) across judge
measure few    = gwet_ac2(style, where: style in (GOOD, FAIR)) across judge
"""


def test_categories_are_those_of_the_rubric_also_if_nobody_gave_them(store: Store) -> None:
    plan = plan_of(compile_text(SCALES))
    results = Results(plan, judges=("j1", "j2"))
    marks = {"CLAR": ([2.0, 3, 3, 2, 2, 3], [2.0, 3, 2, 2, 2, 3]), "DEEP": ([4.0, 9, 4, 4, 9, 9], [4.0, 9, 9, 4, 9, 4])}
    styles = (["GOOD", "GOOD", "FAIR", "GOOD", "FAIR", "GOOD"], ["GOOD", "FAIR", "FAIR", "GOOD", "FAIR", "GOOD"])
    worth = {"GOOD": 1.0, "FAIR": 0.5, "POOR": 0.0}
    for metric, given in marks.items():
        for judge, values in zip(results.judges, given, strict=True):
            for item, value in enumerate(values):
                results.add("sums", "rubric", f"i{item}", value, metric=metric, evaluator=judge)
    for judge, names in zip(results.judges, styles, strict=True):
        for item, name in enumerate(names):
            results.add("sums", "style", f"i{item}", name, evaluator=judge)
    results.write(store)

    def ac(weights: Weights, given: object, categories: list[float]) -> Any:
        return pytest.approx(gwet_ac(given, weights, categories).value)  # type: ignore[arg-type]

    by_metric = {name: {row.by: row.value for row in measured(store, plan, name).rows} for name in ("each", "levels")}
    clear, deep = [*map(float, range(1, 6))], [*map(float, range(11))]
    assert by_metric["each"] == {
        ("CLAR",): ac("none", marks["CLAR"], clear), ("DEEP",): ac("none", marks["DEEP"], deep)
    }  # fmt: skip
    quadratic = {("CLAR",): ac("quadratic", marks["CLAR"], clear), ("DEEP",): ac("quadratic", marks["DEEP"], deep)}
    assert by_metric["levels"] == quadratic
    assert single(store, plan, "one").value == single(store, plan, "deep").value == quadratic["DEEP",]
    numbers = [[worth[name] for name in names] for names in styles]
    assert single(store, plan, "style").value == ac("none", numbers, [0, 0.5, 1])
    assert single(store, plan, "worth").value == ac("quadratic", numbers, [0, 0.5, 1])
    assert single(store, plan, "good").value == ac("none", [[each == 1 for each in row] for row in numbers], [0, 1])
    assert single(store, plan, "some").value == ac("none", numbers, [0.5, 1])
    assert single(store, plan, "few").value == ac("quadratic", numbers, [0.5, 1])


NAMESAKES = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
role expert panel
scorer verdict(reply: text) by judge { prompt "{{ reply }}", gives choice(GOOD: 1, FAIR: 0.5, POOR: 0) }
scorer careful(reply: text) by expert { prompt "Slowly. {{ reply }}", gives choice(GOOD: 1, FAIR: 0.5, POOR: 0) }
scenario sums {
  ask answer by candidate { prompt "Add." }
  score style = verdict(answer.text)
}
scenario more {
  ask answer by candidate { prompt "Add more." }
  score style = careful(answer.text)
}
measure good = gwet_ac1(style == GOOD) across judge
measure some = gwet_ac1(style, where: style in (GOOD, FAIR)) across judge
"""


def test_conditions_on_a_choice_leave_out_another_role_that_grades_under_the_same_name(store: Store) -> None:
    plan = plan_of(compile_text(NAMESAKES))
    results = Results(plan, judges=("j1", "j2"))
    styles = (["GOOD", "GOOD", "FAIR", "GOOD", "POOR", "GOOD"], ["GOOD", "FAIR", "FAIR", "GOOD", "FAIR", "GOOD"])
    experts = (["GOOD", "POOR", None, "FAIR", None, "POOR"], ["POOR", "GOOD", "FAIR", None, None, "GOOD"])
    for scenario, given in (("sums", styles), ("more", experts)):
        for judge, names in zip(results.judges, given, strict=True):
            for item, name in enumerate(names):
                results.add(scenario, "style", f"i{item}", name, evaluator=judge)
    results.write(store)
    good, some = (single(store, plan, name) for name in ("good", "some"))
    marks = [[name == "GOOD" for name in names] for names in styles]
    assert good.value == pytest.approx(gwet_ac(marks, "none", [0, 1]).value)  # type: ignore[arg-type]
    assert (good.n, good.total) == (12, 12)
    assert (some.n, some.total) == (11, 11)


def test_scores_off_the_scale_are_categories_of_their_own() -> None:
    """The mean of a judge's several answers is no level of the scale."""
    ratings = [1.0, 2.5, 2, 1, 2, 2, 2, 1]
    names = ["a", "b", "c", "d"] * 2
    raters = ["x"] * 4 + ["y"] * 4
    for what, keys in (("gwet_ac1", [str(float(each)) for each in ratings]), ("gwet_ac2", [None] * 8)):
        found = listed.statistic(what, "[[1, 3]]", names, names, raters, keys, ratings)
        weights: Weights = "none" if what == "gwet_ac1" else "quadratic"
        assert found["value"] == pytest.approx(gwet_ac([ratings[:4], ratings[4:]], weights, [1, 2, 2.5, 3]).value)


# --- many items ---

REPETITIONS = sized(60, 200)
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))


@pytest.mark.parametrize(("items", "many", "groups"), [(420, 5000, 200), (420, 410, 50)])
def test_items_left_out_in_groups_show_the_error_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch, items: int, many: int, groups: int
) -> None:
    monkeypatch.setattr(listed, "MANY", many)
    names = [f"i{number}" for number in range(items)]
    raters = ["a"] * items + ["b"] * items
    reliable, held = 0.6, 0
    quantile = stats.t.ppf(0.975, items - 1)
    for repetition in range(REPETITIONS):
        random = np.random.default_rng([31, repetition])
        marks = random.normal(0, reliable**0.5, items) + random.normal(0, (1 - reliable) ** 0.5, (2, items))
        ratings = marks.ravel().tolist()
        found = listed.statistic("quadratic_kappa", "", names * 2, names * 2, raters, [None] * len(ratings), ratings)
        assert len({round(pull, 12) for pull in found["influences"]}) <= groups
        error = np.sqrt(np.square(found["influences"]).sum() * items / (items - 1))
        # Of two judges who are equally severe it is the share of the variance that lies between replies.
        held += abs(found["value"] - reliable) <= quantile * error
    assert LEAST <= held <= MOST


def test_items_left_out_in_groups_show_nearly_the_error_of_items_left_out_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(8)
    names = [f"i{number}" for number in range(1200)]
    ratings = (random.normal(size=1200) + random.normal(0, 0.8, (2, 1200))).ravel().tolist()

    def error() -> float:
        found = listed.statistic(
            "spearman", "", names * 2, names * 2, ["a"] * 1200 + ["b"] * 1200, [None] * 2400, ratings
        )
        return float(np.sqrt(np.square(found["influences"]).sum()))

    grouped = error()
    monkeypatch.setattr(listed, "MOST_LEFT_OUT", 2000)
    assert grouped == pytest.approx(error(), rel=0.15)
