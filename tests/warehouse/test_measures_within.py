"""Intervals of what lies between two ends stay between them, and are there where all items are alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.lengths import spread
from tests.warehouse.synthetic import Results, measured, single
from tests.warehouse.test_measures import plan_with
from tripos_compiler.plan import Plan
from tripos_warehouse.store.store import Store

SORTING = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { text text, sort choice(a, b, c) secret }
scenario sorting {
  over item
  ask answer by candidate { prompt "{{ item.text }}", returns { sort choice(a, b, c), sure bool } }
  score right = answer.sure
  measure whole = mean(right)
  measure percent = 100 * mean(right)
  measure f1 = f1(answer.sort, item.sort)
  measure micro = f1(answer.sort, item.sort, average: micro)
  measure of_a = f1(answer.sort, item.sort, average: binary, positive: "a")
  measure recall = recall(answer.sort, item.sort, average: binary, positive: "b")
  measure lost = f1 - micro
}
"""
FIGURES = ("f1", "micro", "of_a", "recall")


def rated(store: Store, marks: Sequence[float], metric: str = "CLAR", after: str = "") -> Plan:
    plan = plan_with(after=f"measure marks = mean({metric})\nmeasure by_metric = mean(rubric) by metric{after}")
    results = Results(plan, judges=("j",))
    for place, mark in enumerate(marks):
        results.add("sums", "rubric", f"i{place}", mark, metric=metric, evaluator="j", arms={"hint": "none"})
    results.write(store)
    return plan


def sorted_into(folder: Path, store: Store, said: str, truth: str) -> Plan:
    plan = plan_of(compile_files(folder, {"spec.tripos": SORTING, "items.jsonl": '{"text": "?", "sort": "a"}\n'}))
    results = Results(plan)
    for place, pair in enumerate(zip(said, truth, strict=True)):
        for column, value in zip(("values", "gold"), pair, strict=True):
            results.add("sorting", f"f1.{column}", f"i{place:02}", value)
        results.add("sorting", "right", f"i{place:02}", float(pair[0] == pair[1]))
    results.write(store)
    return plan


@pytest.mark.parametrize("marks", [(5, 5, 5, 5, 1), (1, 2), (1, 1, 1, 2, 1), (5, 1)])
def test_a_mean_on_a_scale_has_an_interval_that_stays_on_it(store: Store, marks: Sequence[float]) -> None:
    row = single(store, rated(store, marks), "marks")
    assert row.low is not None and row.high is not None and row.value is not None
    assert 1 <= row.low < row.value < row.high <= 5
    assert row.method == "logit"
    assert row.half_width == max(row.value - row.low, row.high - row.value) <= 4


def test_marks_that_are_all_alike_leave_room_for_those_that_were_not_met(store: Store) -> None:
    row = single(store, rated(store, [4] * 10), "marks")
    unseen = 1 - 0.025**0.1
    assert (row.low, row.high) == (pytest.approx(4 - 3 * unseen), pytest.approx(4 + unseen))
    assert (row.method, row.reason) == ("exact", None)


CUTS = """
measure cut = max(2, min(3, marks))
measure between = min(4, max(1, marks))
measure moved = 0.5 * max(3, marks) + 0.5 * marks"""


def test_what_a_number_cuts_off_has_the_interval_of_the_whole_cut_alike(store: Store) -> None:
    plan = rated(store, (4, 5, 2, 5, 3, 2), after=CUTS)
    whole, cut, between, moved = (single(store, plan, name) for name in ("marks", "cut", "between", "moved"))
    assert whole.value == 3.5 and whole.low is not None and 2 < whole.low < 3
    assert (cut.value, cut.low, cut.high) == (3, pytest.approx(whole.low), 3)
    assert (cut.method, cut.reason, cut.standard_error) == ("cut", None, pytest.approx(whole.standard_error))
    assert (between.value, between.method, between.high) == (3.5, "cut", 4)
    assert between.low == pytest.approx(whole.low)
    assert (moved.value, moved.method) == (3.5, "logit")


def test_a_part_that_a_number_cuts_off_leaves_the_error_unknown(store: Store) -> None:
    plan = rated(store, (1, 2, 1, 5, 2, 1), after=CUTS)
    row = single(store, plan, "moved")
    assert (row.value, row.low, row.standard_error) == (2.5, None, None)
    assert row.reason == "a number in `min` or `max` cuts a part of it off, so its error is unknown"
    assert single(store, plan, "cut").low == 2


def test_ten_of_ten_have_the_exact_interval(store: Store, tmp_path: Path) -> None:
    plan = sorted_into(tmp_path, store, "abcabcabca", "abcabcabca")
    for name, factor in (("whole", 1), ("percent", 100), ("micro", 1)):
        row = single(store, plan, f"sorting.{name}")
        assert (row.value, row.high, row.method) == (factor, factor, "exact")
        assert row.low == pytest.approx(factor * 0.025**0.1), name


@pytest.mark.parametrize(
    ("said", "truth"),
    spread(
        [("aaab", "aaaa"), ("aabbccab", "aabbccac"), ("ab", "aa"), ("aaaaaaaaab", "aaaaaaaaaa"), ("abcabc", "bcabca")],
        2,
    ),
)
def test_measures_of_classes_never_leave_nought_to_one(store: Store, tmp_path: Path, said: str, truth: str) -> None:
    plan = sorted_into(tmp_path, store, said, truth)
    for name in FIGURES:
        row = single(store, plan, f"sorting.{name}")
        if row.low is not None and row.high is not None and row.value is not None:
            assert 0 <= row.low <= row.value <= row.high <= 1, name
            assert row.half_width is not None and row.half_width <= 1, name
        else:
            assert row.reason, name


def test_items_without_the_class_are_no_items_behind_its_recall(store: Store, tmp_path: Path) -> None:
    """Two of two are not thirty of thirty."""
    plan = sorted_into(tmp_path, store, "a" * 28 + "bb", "a" * 28 + "bb")
    row = single(store, plan, "sorting.recall")
    assert (row.value, row.items, row.n) == (1, 2, 30)
    assert row.low == pytest.approx(0.025**0.5)


def test_a_mean_over_classes_is_as_sure_as_its_rarest_class(store: Store, tmp_path: Path) -> None:
    plan = sorted_into(tmp_path, store, "a" * 28 + "bb", "a" * 28 + "bb")
    row = single(store, plan, "sorting.f1")
    assert (row.value, row.method, row.high) == (1, "exact", 1)
    assert row.low == pytest.approx((0.025 ** (1 / 28) + 0.025**0.5) / 2)
    lost = single(store, plan, "sorting.lost")
    assert (lost.low, lost.reason) == (None, "a class has fewer than 10 items, or is right in fewer than 5")


def test_each_metric_has_the_ends_of_its_own_scale(store: Store) -> None:
    plan = plan_of_two_scales()
    results = Results(plan, judges=("j",))
    for place, (low, high) in enumerate(((1, 10), (3, 1), (1, 10))):
        for metric, mark in (("FEW", low), ("MANY", high)):
            results.add("sums", "rubric", f"i{place}", float(mark), metric=metric, evaluator="j")
    results.write(store)
    few, many = sorted(measured(store, plan, "by_metric").rows, key=lambda row: row.by)
    assert few.low is not None and few.high is not None
    assert many.low is not None and many.high is not None
    assert 1 <= few.low < few.high <= 3
    assert 1 <= many.low < many.high <= 10


def plan_of_two_scales() -> Plan:
    from tests.compiler.compiling import compile_text

    return plan_of(
        compile_text(
            """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
dimension quality "Quality" {
  metric FEW "Few steps" { scale 1..3, asks "?" }
  metric MANY "Many steps" { scale 1..10, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | FEW | MANY |
  | sums |  x  |  x   |
}
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}" }
  score rubric(answer.text)
}
measure by_metric = mean(rubric) by metric
"""
        )
    )
