"""The error of a plain mean of scores is that of a mean of items."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results, measured, single
from tripos_warehouse.store.store import Store

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { easy, hard }
scenario sums {
  context level
  ask answer by candidate { prompt "{{ level }}" }
  score long = words(answer.text)
  measure length = mean(long)
  measure by_level = mean(long) by level
  measure whole = mean(by_level)
}
"""


def test_the_error_of_a_mean_of_items_is_their_deviation_by_the_root_of_their_number(store: Store) -> None:
    plan = plan_of(compile_text(SPEC))
    results = Results(plan)
    values = np.array([2.0, 5.0, 9.0, 4.0])
    for number, value in enumerate(values):
        results.add("sums", "long", f"i{number}", float(value))
    results.write(store)
    row = single(store, plan, "sums.length")
    assert (row.value, row.standard_error) == pytest.approx((values.mean(), values.std(ddof=1) / 2))
    assert (row.items, row.n, row.total) == (4, 4, 4)


def test_a_mean_of_cells_counts_every_cell_alike(store: Store) -> None:
    plan = plan_of(compile_text(SPEC))
    results = Results(plan)
    for number, (level, value) in enumerate(
        (("easy", 1.0), ("easy", 2.0), ("easy", 3.0), ("hard", 8.0), ("hard", 10.0))
    ):
        results.item("sums", f"i{number}", axes={"level": level})
        results.add("sums", "long", f"i{number}", value)
    results.write(store)
    assert [row.value for row in measured(store, plan, "sums.by_level").rows] == [2.0, 9.0]
    assert single(store, plan, "sums.whole").value == pytest.approx(5.5)


def test_a_score_that_does_not_apply_is_none_that_is_missing(store: Store) -> None:
    plan = plan_of(compile_text(SPEC))
    results = Results(plan)
    for number, (value, status) in enumerate(
        ((4.0, None), (6.0, None), (None, "parse_failure"), (None, "not_applicable"))
    ):
        results.add("sums", "long", f"i{number}", value, status=status)
    results.write(store)
    row = single(store, plan, "sums.length")
    assert (row.value, row.n, row.total, row.coverage) == (5.0, 2, 3, pytest.approx(2 / 3))


WEIGHED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dimension teaching "Teaching" {
  metric CLEAR "Clarity"     { scale 1..5, asks "Is it clear?" }
  metric RIGHT "Correctness" { scale 1..5, asks "Is it right?" }
}
scorer rubric(response: text) by judge { prompt "{{ metrics }} {{ response }}", gives allocated metrics }
allocate rubric {
  |      | CLEAR | RIGHT |
  | sums |   x   |   3   |
}
scenario sums {
  ask answer by candidate { prompt "1 + 1" }
  score rubric(answer.text)
  measure quality = mean(rubric)
  measure by_metric = mean(rubric) by metric
}
"""


def test_a_mean_over_metrics_counts_each_by_its_weight(store: Store) -> None:
    plan = plan_of(compile_text(WEIGHED))
    results = Results(plan)
    for item, clear, right in (("i0", 1.0, 5.0), ("i1", 3.0, 4.0)):
        for metric, value in (("CLEAR", clear), ("RIGHT", right)):
            results.add("sums", "rubric", item, value, metric=metric, evaluator="j1")
    results.write(store)
    assert single(store, plan, "sums.quality").value == pytest.approx((1 + 3 + 3 * (5 + 4)) / 8)
    assert [row.value for row in measured(store, plan, "sums.by_metric").rows] == [2.0, 4.5]
