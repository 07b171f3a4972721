"""Measures of result sets with a known truth, against numpy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.compiler.compiling import compile_text, plan_of
from tests.lengths import spread
from tests.warehouse.synthetic import Results, measured, single
from tripos_compiler.plan import Plan
from tripos_warehouse.store.store import Store

HEAD = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
arm hint { none, some }
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric FACT "Accuracy" { scale 1..5, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  x   |  x   |
}
scenario sums {
  context level
  arms hint
  ask answer by candidate {
    prompt "{{ level }}"
    system "Think." when hint == some
    samples 4
    returns { sum integer, sort choice(a, b, c), tags set<text> }
  }
  score right = answer.sum == 42
  score long = words(answer.text)
  score rubric(answer.text)
BODY
}
"""
RANDOM = np.random.default_rng(7)


def plan_with(*measures: str, after: str = "") -> Plan:
    body = "\n".join(f"  {measure}" for measure in measures)
    return plan_of(compile_text(HEAD.replace("BODY", body) + after))


def pulled(values: Mapping[str, float] | Sequence[float]) -> float:
    """The standard error of a mean of items."""
    given = np.array(list(values.values()) if isinstance(values, Mapping) else list(values))
    return float(given.std(ddof=1) / math.sqrt(len(given)))


def jackknifed(items: Sequence[str], statistic: Callable[[np.ndarray], float]) -> tuple[float, float]:
    """Return a statistic of rows, and its standard error from leaving out items."""
    owners = np.array(items)
    names = sorted(set(items))
    moved = np.array([statistic(owners != name) for name in names])
    m = len(names)
    return statistic(np.ones(len(owners), dtype=bool)), math.sqrt((m - 1) / m * ((moved - moved.mean()) ** 2).sum())


@pytest.fixture
def replies() -> dict[tuple[str, int, str], tuple[float, float]]:
    """By item, sample and arm: whether a reply is right, and how long it is."""
    found = {}
    for item in range(30):
        ease = RANDOM.normal()
        for number in range(4):
            for arm, gain in (("none", 0.0), ("some", 0.8)):
                right = float(RANDOM.random() < 1 / (1 + math.exp(-ease - gain)))
                found[f"i{item:02}", number, arm] = (right, float(RANDOM.poisson(20 + 5 * ease)))
    return found


def written(store: Store, plan: Plan, replies: Mapping[tuple[str, int, str], tuple[float, float]]) -> Plan:
    results = Results(plan)
    for (item, number, arm), (right, long) in replies.items():
        where = {"arms": {"hint": arm}, "number": number}
        results.add("sums", "right", item, right, **where)
        results.add("sums", "long", item, long, **where)
    results.write(store)
    return plan


def test_pass_at_k_and_its_slices_are_paired_by_item(store: Store, replies) -> None:  # type: ignore[no-untyped-def]
    plan = plan_with(
        "measure tries = pass_at(2, right)",
        "measure all = pass_all(2, right) by hint",
        "measure gain = tries_by[hint: some] - tries_by[hint: none]",
        "measure tries_by = pass_at(2, right) by hint",
    )
    written(store, plan, replies)
    items = sorted({item for item, _, _ in replies})

    def chance(item: str, arm: str) -> float:
        given = [right for (i, _, its), (right, _) in replies.items() if (i, its) == (item, arm)]
        n, c = len(given), int(sum(given))
        return 1 - math.comb(n - c, 2) / math.comb(n, 2)

    row = single(store, plan, "sums.tries")
    both = [(chance(item, "none") + chance(item, "some")) / 2 for item in items]
    assert (row.value, row.standard_error) == pytest.approx((np.mean(both), pulled(both)))
    assert (row.items, row.n, row.total, row.method) == (30, 240, 240, "logit")
    apart = [chance(item, "some") - chance(item, "none") for item in items]
    row = single(store, plan, "sums.gain")
    assert (row.value, row.standard_error) == pytest.approx((np.mean(apart), pulled(apart)))
    every = [
        np.mean(
            [
                math.comb(int(sum(g)), 2) / math.comb(4, 2)
                for g in ([replies[item, n, arm][0] for n in range(4)] for item in items)
            ]
        )
        for arm in ("none", "some")
    ]
    assert [row.value for row in measured(store, plan, "sums.all").rows] == pytest.approx(every)


def test_a_reply_that_two_arms_share_is_one_try(store: Store) -> None:
    plan = plan_of(compile_text(SHARED))
    results = Results(plan)
    for number, right in ((0, 1.0), (1, 0.0)):
        results.add("sums", "right", "i1", right, number=number)
    results.write(store)
    assert [len(scenario.treatments) for scenario in plan.scenarios] == [2]
    assert [single(store, plan, f"sums.{name}").value for name in ("one", "all")] == [1.0, 0.0]


SHARED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role student
axis level { easy, hard }
arm hint { none, some }
scenario sums {
  context level
  arms hint
  ask answer by candidate { prompt "{{ level }}", samples 2, returns { sum integer } }
  ask after by student { prompt "{{ answer.text }}", system "Think." when hint == some }
  score right = answer.sum == 42
  score long = words(after.text)
  measure one = pass_at(2, right)
  measure all = pass_all(2, right)
}
"""


def test_tries_are_counted_for_each_judge_and_by_its_latest_round(store: Store) -> None:
    plan = plan_of(compile_text(JUDGED))
    results = Results(plan, judges=("j1", "j2"))
    marks = {"j1": (1.0, 0.0), "j2": (0.0, 0.0)}
    for judge, given in marks.items():
        for number, mark in enumerate(given):
            results.add("sums", "fine", "i1", mark, number=number, evaluator=judge)
    results.add("sums", "fine", "i1", 1.0, number=1, evaluator="j1", round=2)
    results.write(store)
    row = single(store, plan, "all")
    assert (row.value, row.items) == (0.5, 1)


JUDGED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
scorer good(reply: text) by judge { prompt "{{ reply }}", gives bool }
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}", samples 2 }
  score fine = good(answer.text)
}
measure all = pass_all(2, fine)
"""


@pytest.mark.parametrize(
    ("function", "statistic"),
    [
        ("stdev", lambda x: x.std(ddof=1)),
        ("sum", np.sum),
        ("median", np.median),
    ],
)
def test_statistics_of_numbers_have_errors_near_the_jackknife(  # type: ignore[no-untyped-def]
    store: Store, replies, function: str, statistic: Callable[[np.ndarray], float]
) -> None:
    plan = written(store, plan_with(f"measure it = {function}(long)"), replies)
    row = single(store, plan, "sums.it")
    values = np.array([long for _, long in replies.values()])
    assert row.value == pytest.approx(float(statistic(values)))
    assert row.standard_error is not None
    items = [item for item, _, _ in replies]
    if function == "stdev":
        _, error = jackknifed(items, lambda kept: float(statistic(values[kept])))
        assert row.standard_error == pytest.approx(error, rel=0.1)
    elif function == "sum":
        sums = [sum(v for i, v in zip(items, values, strict=True) if i == item) for item in sorted(set(items))]
        assert row.standard_error == pytest.approx(30 * pulled(sums))
    else:
        drawn = np.random.default_rng(1)
        names = sorted(set(items))
        by = {name: values[np.array(items) == name] for name in names}
        medians = [np.median(np.concatenate([by[n] for n in drawn.choice(names, 30)])) for _ in range(2000)]
        assert row.standard_error == pytest.approx(np.std(medians), rel=0.35)


def test_a_formula_carries_the_error_through(store: Store, replies) -> None:  # type: ignore[no-untyped-def]
    plan = written(
        store,
        plan_with(
            "measure a = mean(right)", "measure b = mean(long)", "measure it = a * b / (1 + a) - abs(-a) + max(a, 0)"
        ),
        replies,
    )
    right, long = (np.array([pair[k] for pair in replies.values()]) for k in (0, 1))
    items = [item for item, _, _ in replies]

    def value(kept: np.ndarray) -> float:
        a, b = right[kept].mean(), long[kept].mean()
        return float(a * b / (1 + a))

    expected, error = jackknifed(items, value)
    row = single(store, plan, "sums.it")
    assert row.value == pytest.approx(expected)
    assert row.standard_error == pytest.approx(error, rel=0.02)
    assert (row.items, row.method) == (30, "t")


def test_a_measure_less_itself_has_no_error(store: Store, replies) -> None:  # type: ignore[no-untyped-def]
    plan = written(store, plan_with("measure a = mean(right)", "measure it = 2 * a - a - a"), replies)
    row = single(store, plan, "sums.it")
    assert row.value == pytest.approx(0)
    assert (row.low, row.reason) == (None, "items do not differ: nothing shows the error")


@pytest.mark.parametrize(
    ("figure", "n"),
    spread(
        [
            ("stdev(long) / mean(long)", 240),
            ("median(long) / mean(long)", 240),
            ("mean(long) - mean(right)", 480),
            ("by_hint[hint: some] - by_hint[hint: none]", 240),
            ("mean(long) - by_hint[hint: none]", 240),
            ("by_hint[hint: none] / mean(long) + by_hint[hint: some]", 240),
            ("mean(long) + mean(right) - by_hint[hint: none]", 480),
            ("by_hint[hint: some] / tries + by_hint[hint: none] / solved", 480),
        ],
        4,
    ),
)
def test_scores_that_parts_of_a_formula_share_count_once(store: Store, replies, figure: str, n: int) -> None:  # type: ignore[no-untyped-def]
    plan = plan_with(
        f"measure it = {figure}",
        "measure by_hint = mean(long) by hint",
        "measure tries = pass_at(2, right)",
        "measure solved = mean(right)",
    )
    row = single(store, written(store, plan, replies), "sums.it")
    assert (row.n, row.total) == (n, n)


def test_the_least_of_cells_rests_on_the_items_and_scores_of_that_cell(store: Store) -> None:
    plan = plan_with("measure least = min(mean(long) by hint)", "measure range = max(mean(long) by hint) - least")
    results = Results(plan)
    for item in range(5):
        results.add("sums", "long", f"i{item}", 10.0 + item, arms={"hint": "none"})
    for item in range(3):
        results.add("sums", "long", f"i{item}", 1.0 + item, arms={"hint": "some"})
    results.write(store)
    row, both = single(store, plan, "sums.least"), single(store, plan, "sums.range")
    assert (row.value, row.items, row.n, row.total) == (2.0, 3, 3, 3)
    assert (both.value, both.items, both.n) == (10.0, 5, 8)


def test_a_gain_over_a_base_counts_the_base_once_in_its_own_cell(store: Store, replies) -> None:  # type: ignore[no-untyped-def]
    plan = plan_with("measure by_hint = mean(long) by hint", "measure gain = by_hint - by_hint[hint: none] by hint")
    rows = measured(store, written(store, plan, replies), "sums.gain").rows
    assert {row.by: row.n for row in rows} == {("none",): 120, ("some",): 240}


# --- classes ---


@pytest.fixture
def sorts() -> list[tuple[str, str, str]]:
    """Replies: the item, what was said and what is true; some items have several."""
    found = []
    for item in range(40):
        truth = "abc"[int(RANDOM.choice(3, p=[0.5, 0.3, 0.2]))]
        for _ in range(1 + item % 3):
            said = truth if RANDOM.random() < 0.6 else "abc"[int(RANDOM.integers(3))]
            found.append((f"i{item:02}", said, truth))
    return found


def f_one(said: np.ndarray, truth: np.ndarray, average: str) -> float:
    scores = []
    for each in "abc" if average == "macro" else "b":
        tp, fp, fn = (
            int(x.sum())
            for x in (
                (said == each) & (truth == each),
                (said == each) & (truth != each),
                (said != each) & (truth == each),
            )
        )
        scores.append(2 * tp / (2 * tp + fp + fn))
    return float(np.mean(scores))


CLASSED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { text text, sort choice(a, b, c) secret, tags set<text> secret, listed list<text> secret, group text }
scenario sorting {
  over item
  ask answer by candidate { prompt "{{ item.text }}", returns { sort choice(a, b, c), tags set<text>, listed list<text> }, samples 3 }
BODY
}
"""


def classed(tmp_path, *measures: str) -> Plan:  # type: ignore[no-untyped-def]
    from tests.compiler.compiling import compile_files

    body = "\n".join(f"  {measure}" for measure in measures)
    rows = '{"text": "?", "sort": "a", "tags": ["x"], "listed": ["x"], "group": "g"}\n'
    return plan_of(compile_files(tmp_path, {"spec.tripos": CLASSED.replace("BODY", body), "items.jsonl": rows}))


def sorted_out(store: Store, plan: Plan, sorts: list[tuple[str, str, str]], measure: str) -> None:
    results = Results(plan)
    numbers: dict[str, int] = {}
    for item, said, truth in sorts:
        numbers[item] = number = numbers.get(item, -1) + 1
        results.item("sorting", item, {"group": "xy"[int(item[1:]) % 2]})
        results.add("sorting", f"{measure}.values", item, said, number=number)
        results.add("sorting", f"{measure}.gold", item, truth, number=number)
    results.write(store)


@pytest.mark.parametrize("average", ["macro", "micro", "binary"])
def test_f1_is_that_of_its_classes_and_its_error_near_the_jackknife(  # type: ignore[no-untyped-def]
    store: Store, tmp_path, sorts: list[tuple[str, str, str]], average: str
) -> None:
    setting = f"average: {average}" + (", positive: b" if average == "binary" else "")
    plan = classed(tmp_path, f"measure it = f1(answer.sort, item.sort, {setting})")
    sorted_out(store, plan, sorts, "it")
    said, truth = (np.array([row[k] for row in sorts]) for k in (1, 2))

    def value(kept: np.ndarray) -> float:
        if average == "micro":
            return float((said[kept] == truth[kept]).mean())
        return f_one(said[kept], truth[kept], average)

    expected, error = jackknifed([row[0] for row in sorts], value)
    row = single(store, plan, "sorting.it")
    assert row.value == pytest.approx(expected)
    assert row.standard_error == pytest.approx(error, rel=0.08)
    behind = {item for item, *pair in sorts if average != "binary" or "b" in pair}
    assert (row.items, row.n, row.total) == (len(behind), len(sorts), len(sorts))


def test_accuracy_of_independent_items_has_the_exact_interval(store: Store, tmp_path, sorts) -> None:  # type: ignore[no-untyped-def]
    plan = classed(tmp_path, "measure it = accuracy(answer.sort, item.sort)")
    one_each = list({row[0]: row for row in sorts}.values())
    sorted_out(store, plan, one_each, "it")
    row = single(store, plan, "sorting.it")
    share = np.mean([said == truth for _, said, truth in one_each])
    assert (row.value, row.method) == (pytest.approx(share), "exact")
    exact = binomtest(round(share * 40), 40).proportion_ci()
    assert (row.low, row.high) == (pytest.approx(exact.low), pytest.approx(exact.high))


def test_accuracy_of_repeated_items_is_clustered(store: Store, tmp_path, sorts) -> None:  # type: ignore[no-untyped-def]
    plan = classed(tmp_path, "measure it = accuracy(answer.sort, item.sort)")
    sorted_out(store, plan, sorts, "it")
    right = np.array([float(said == truth) for _, said, truth in sorts])
    _, error = jackknifed([row[0] for row in sorts], lambda kept: float(right[kept].mean()))
    row = single(store, plan, "sorting.it")
    assert (row.method, row.standard_error) == ("logit", pytest.approx(error, rel=0.05))


def test_a_mean_of_cells_can_go_by_a_field_of_the_rows(store: Store, tmp_path, sorts) -> None:  # type: ignore[no-untyped-def]
    plan = classed(
        tmp_path,
        "measure it = accuracy(answer.sort, item.sort) by item.group",
        "measure whole = accuracy(answer.sort, item.sort)",
    )
    sorted_out(store, plan, sorts, "it")
    rows = measured(store, plan, "sorting.it").rows
    share = {group: np.mean([s == t for item, s, t in sorts if "xy"[int(item[1:]) % 2] == group]) for group in "xy"}
    assert {row.by[0]: row.value for row in rows} == pytest.approx(share)


def test_f1_of_sets_is_taken_reply_by_reply(store: Store, tmp_path) -> None:  # type: ignore[no-untyped-def]
    plan = classed(tmp_path, "measure it = f1(answer.tags, item.tags, average: samples)")
    results = Results(plan)
    given = {
        "a": ({"x"}, {"x", "y"}, 2 / 3),
        "b": ({"x", "y"}, {"x", "y"}, 1.0),
        "c": (set(), {"x"}, 0.0),
        "d": (set(), set(), 1.0),
    }
    for item, (said, truth, _) in given.items():
        results.add("sorting", "it.values", item, said)
        results.add("sorting", "it.gold", item, truth)
    results.write(store)
    each = [value for _, _, value in given.values()]
    row = single(store, plan, "sorting.it")
    assert (row.value, row.standard_error) == pytest.approx((np.mean(each), pulled(each)))


# --- raters ---


def rated(store: Store, plan: Plan) -> np.ndarray:
    """Return ratings of 25 items by three judges, one of them of few words."""
    results = Results(plan, judges=("j1", "j2", "j3"))
    given = []
    for item in range(25):
        truth = RANDOM.normal(3, 1)
        marks = [float(np.clip(round(truth + RANDOM.normal(0, 0.7)), 1, 5)) for _ in range(3)]
        given.append(marks)
        for judge, mark in zip(results.judges, marks, strict=True):
            results.add("sums", "rubric", f"i{item:02}", mark, metric="CLAR", evaluator=judge, arms={"hint": "none"})
    results.write(store)
    return np.array(given).T


@pytest.mark.parametrize(
    "function", spread(["kendall_w", "krippendorff_alpha", "kendall_tau", "spearman", "cohen_kappa"], 3)
)
def test_agreement_of_judges_is_that_of_the_statistics_with_the_error_of_the_jackknife(
    store: Store, function: str
) -> None:
    from tripos_warehouse.query.aggregates import AGREEMENTS

    plan = plan_with(after=f"measure it = {function}(rubric) across judge by metric\n")
    marks = rated(store, plan)
    expected, error = jackknifed(
        [f"i{n:02}" for n in range(25)],
        lambda kept: float(AGREEMENTS[function].estimate(marks[:, kept], "interval").value or math.nan),
    )
    row = single(store, plan, "it")
    assert row.value == pytest.approx(expected)
    assert row.standard_error is not None
    if function in ("cohen_kappa", "krippendorff_alpha"):  # few marks that are rare have most of it
        assert error <= row.standard_error * (1 + 1e-9) < 3 * error
    else:
        assert row.standard_error == pytest.approx(error)
    assert (row.by, row.items, row.n, row.method) == (("CLAR",), 25, 75, "jackknife")


def test_agreement_of_one_judge_is_undefined_and_says_why(store: Store) -> None:
    plan = plan_with(after="measure it = kendall_w(rubric) across judge by metric\n")
    results = Results(plan)
    for item in range(3):
        results.add("sums", "rubric", f"i{item}", 2.0, metric="CLAR", evaluator="j1", arms={"hint": "none"})
    results.write(store)
    row = single(store, plan, "it")
    assert (row.value, row.low) == (None, None)
    assert row.reason == "there is one rater, and nobody agrees with themselves"


# --- what is missing ---


@pytest.mark.parametrize(
    ("missing", "value", "reason"),
    [
        ("skip", 0.5, None),
        ("zero", 1 / 3, None),
        ("fail", None, "1 of 3 have no value, which `missing: fail` forbids"),
    ],
)
def test_what_is_missing_is_skipped_or_counts_as_zero_or_forbids_a_value(
    store: Store, missing: str, value: float | None, reason: str | None
) -> None:
    plan = plan_with(f"measure a = mean(right, missing: {missing})", "measure it = a * 1")
    results = Results(plan)
    for item, right in (("x", 1.0), ("y", 0.0), ("z", None)):
        results.add("sums", "right", item, right, arms={"hint": "none"})
    results.write(store)
    row = single(store, plan, "sums.it")
    assert row.value == (None if value is None else pytest.approx(value))
    assert (row.n, row.total, row.coverage) == (2, 3, pytest.approx(2 / 3))
    assert row.reason == reason


@pytest.mark.parametrize(
    ("function", "missing"),
    spread(
        [
            *itertools.product(("accuracy", "f1", "precision", "recall"), ("skip", "zero", "fail")),
            *itertools.product(("cohen_kappa",), ("skip", "fail")),  # nothing stands for a missing value of it
        ],
        6,
    ),
)
def test_a_reply_that_could_not_be_read_is_no_answered_one(
    store: Store, tmp_path: Path, function: str, missing: str
) -> None:
    plan = classed(tmp_path, f"measure it = {function}(answer.sort, item.sort, missing: {missing})")
    results = Results(plan)
    for item, said, truth in (("p", "a", "a"), ("q", "b", "b"), ("r", "b", "a"), ("s", None, "c"), ("t", None, "b")):
        results.add("sorting", "it.values", item, said)
        results.add("sorting", "it.gold", item, truth)
    results.write(store)
    row = single(store, plan, "sorting.it")
    # Classes a and b have 1 hit each, a 1 miss and b 1 false alarm; as zero, c and b have a miss more each.
    values = {
        "accuracy": (2 / 3, 2 / 5),
        "f1": (2 / 3, (2 / 3 + 2 / 4 + 0) / 3),
        "precision": (3 / 4, (1 + 1 / 2 + 0) / 3),
        "recall": (3 / 4, (1 / 2 + 1 / 2 + 0) / 3),
        "cohen_kappa": (2 / 5, None),
    }
    expected = {"skip": values[function][0], "zero": values[function][1], "fail": None}[missing]
    assert row.value == (None if expected is None else pytest.approx(expected))
    assert (row.n, row.total, row.coverage) == (3, 5, pytest.approx(3 / 5))


@pytest.mark.parametrize("function", ["kendall_tau", "spearman", "quadratic_kappa"])
def test_a_number_that_could_not_be_read_is_in_no_pair(store: Store, tmp_path: Path, function: str) -> None:
    plan = paired_numbers(tmp_path, f"measure it = {function}(answer.mark, item.mark)")
    results = Results(plan)
    for item, said, truth in (("p", 1.0, 1.0), ("q", 2.0, 2.0), ("r", 4.0, 3.0), ("s", None, 5.0)):
        results.add("marking", "it.values", item, said)
        results.add("marking", "it.gold", item, truth)
    results.write(store)
    row = single(store, plan, "marking.it")
    assert (row.items, row.n, row.total) == (3, 3, 4)


def paired_numbers(tmp_path: Path, measure: str) -> Plan:
    from tests.compiler.compiling import compile_files

    spec = f"""
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ text text, mark 1..5 secret }}
scenario marking {{
  over item
  ask answer by candidate {{ prompt "{{{{ item.text }}}}", returns {{ mark 1..5 }} }}
  {measure}
}}
"""
    return plan_of(compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": '{"text": "?", "mark": 1}\n'}))


def test_what_rounding_leaves_of_no_agreement_is_zero(store: Store, tmp_path) -> None:  # type: ignore[no-untyped-def]
    plan = classed(tmp_path, "measure it = cohen_kappa(answer.sort, item.sort)")
    every = itertools.product("abc", "aabbbcc")  # what is said has nothing to do with what is true
    sorted_out(store, plan, [(f"i{n:02}", said, truth) for n, (said, truth) in enumerate(every)], "it")
    assert single(store, plan, "sorting.it").value == 0
