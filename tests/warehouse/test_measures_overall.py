"""A figure by group beside the same over all: values and errors, against numpy's jackknife and bootstrap of the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.lengths import sized
from tests.warehouse.drawn_items import Drawn, measured, plan_of_items
from tripos_warehouse.store.store import Store

LEAVING_OUT = sized(3, 40)

FORMULAS: dict[str, Callable[[float, float], float]] = {
    "by_kind - overall": lambda own, whole: own - whole,
    "overall - by_kind": lambda own, whole: whole - own,
    "by_kind / overall": lambda own, whole: own / whole,
    "by_kind - mean(long)": lambda own, whole: own - whole,
    "2 * by_kind - (overall + 1)": lambda own, whole: 2 * own - whole - 1,
    "(by_kind - overall) * overall": lambda own, whole: (own - whole) * whole,
}
BASE = "  measure overall = mean(long)\n  measure by_kind = mean(long) by q.kind\n"


@pytest.mark.parametrize("seed", range(LEAVING_OUT))
def test_a_group_beside_all_has_the_error_of_the_whole_formula(store: Store, tmp_path: Path, seed: int) -> None:
    sizes = [int(each) for each in np.random.default_rng(seed).integers(15, 50, 2 + seed % 3)]
    drawn = Drawn(seed, sizes)
    named = {f"f{place}": text for place, text in enumerate(FORMULAS)}
    plan = plan_of_items(tmp_path, BASE + "".join(f"  measure {key} = {text}\n" for key, text in named.items()))
    drawn.write(store, plan)
    tables = measured(store, plan)
    once = np.ones(len(drawn.kinds))
    for key, text in named.items():
        rows = tables[f"sums.{key}"].rows
        assert [row.by for row in rows] == [(kind,) for kind in sorted(set(drawn.kinds))], text
        for row in rows:

            def statistic(counts: np.ndarray, text: str = text, kind: str = row.by[0]) -> float:
                return FORMULAS[text](drawn.mean(counts, kind), drawn.mean(counts))

            assert row.value == pytest.approx(statistic(once)), text
            assert row.items == len(drawn.kinds) and row.n == sum(map(len, drawn.values)), text
            assert row.standard_error == pytest.approx(drawn.jackknifed(statistic), rel=0.08), text
            assert row.low is not None and row.low < row.value, text


def test_items_that_are_drawn_again_show_the_same_error(store: Store, tmp_path: Path) -> None:
    drawn = Drawn(5, (40, 60))
    plan = plan_of_items(tmp_path, BASE + "  measure gap = by_kind - overall\n  measure part = by_kind / overall\n")
    drawn.write(store, plan)
    tables = measured(store, plan)
    for row in (*tables["sums.gap"].rows, *tables["sums.part"].rows):
        part = row in tables["sums.part"].rows

        def statistic(counts: np.ndarray, kind: str = row.by[0], part: bool = part) -> float:
            own, whole = drawn.mean(counts, kind), drawn.mean(counts)
            return own / whole if part else own - whole

        assert row.standard_error == pytest.approx(drawn.drawn_again(statistic), rel=0.06)
    apart = [each.standard_error for each in (*tables["sums.by_kind"].rows, *tables["sums.overall"].rows)]
    unpaired = [float(np.hypot(each or 0, apart[-1] or 0)) for each in apart[:-1]]
    gaps = [row.standard_error for row in tables["sums.gap"].rows]
    assert all(gap is not None and gap < 0.8 * other for gap, other in zip(gaps, unpaired, strict=True))


def test_a_part_over_all_is_sliced_and_taken_by_the_rest_alone(store: Store, tmp_path: Path) -> None:
    drawn = Drawn(3, (20, 30))
    more = "  measure gap = by_kind - overall\n  measure again = gap by q.kind\n  measure beyond = again - gap\n"
    plan = plan_of_items(tmp_path, BASE + more)
    drawn.write(store, plan)
    tables = measured(store, plan)
    assert tables["sums.again"].rows == tables["sums.gap"].rows
    assert [row.value for row in tables["sums.beyond"].rows] == [0, 0]


def test_a_small_group_beside_all_has_its_own_degrees_of_freedom(store: Store, tmp_path: Path) -> None:
    """With those of all items the interval of six items would be a fifth too short."""
    drawn = Drawn(4, (6, 194))
    plan = plan_of_items(tmp_path, BASE + "  measure gap = by_kind - overall\n")
    drawn.write(store, plan)
    row = measured(store, plan)["sums.gap"].rows[0]
    assert row.standard_error is not None and row.half_width is not None
    least, most = (float(stats.t.ppf(0.975, df)) * row.standard_error for df in (5, 3))
    assert least < row.half_width < most, "items of different numbers of scores leave less than five"


def test_where_all_is_right_a_gap_has_an_interval(store: Store, tmp_path: Path) -> None:
    plan = plan_of_items(tmp_path, "  measure by_kind = mean(right) by q.kind\n  measure gap = by_kind - mean(right)\n")
    Drawn(4, (10, 30), scale=10).write(store, plan)
    first, second = measured(store, plan)["sums.gap"].rows
    assert (first.value, first.method) == (0, "exact")
    for row, count in ((first, 10), (second, 30)):
        assert row.low is not None and row.high is not None
        # Of the kind as many may be wrong as its items do not show, and of all items as those do not.
        assert 1 - 0.025 ** (1 / count) <= -row.low < 1.3 * (1 - 0.025 ** (1 / count))
        assert 1 - 0.025 ** (1 / 40) <= row.high < 1.3 * (1 - 0.025 ** (1 / 40))
