"""Agreement: published values, a second implementation, and what must hold of any ratings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tests.each import each
from tests.lengths import sized
from tripos_warehouse.statistics.agreement import (
    cohen_kappa,
    intraclass,
    kendall_tau_b,
    kendall_w,
    krippendorff_alpha,
    over_items,
    pairwise,
    percent_agreement,
    spearman_rho,
)
from tripos_warehouse.statistics.estimate import Estimate

LEVELS = ("nominal", "ordinal", "interval", "ratio")
FORMS = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")

KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four observers and twelve units: Krippendorff (2011), "Computing Krippendorff's alpha-reliability", section C."""

SHROUT_FLEISS = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
"""Four judges and six targets: Shrout and Fleiss (1979), table 2."""


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)]
)
def test_alpha_of_the_textbook_matrix(level: Any, value: float) -> None:
    found = krippendorff_alpha(KRIPPENDORFF, level)
    assert found.value == pytest.approx(value, abs=5e-5)
    assert (found.n, found.left_out) == (11, 1)


def alpha_by_coincidences(rows: Sequence[Sequence[float | None]], level: str) -> float:
    """α from the matrix of coincidences, pair by pair, as Krippendorff (2011) has it."""
    units = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    total = {value: sum(unit.count(value) for unit in units) for value in values}

    def apart(c: float, k: float) -> float:
        low, high = min(c, k), max(c, k)
        match level:
            case "nominal":
                return float(c != k)
            case "ordinal":
                between = sum(total[value] for value in values if low <= value <= high)
                return (between - (total[low] + total[high]) / 2) ** 2
            case "interval":
                return (c - k) ** 2
        return ((c - k) / (c + k)) ** 2 if c + k else 0.0

    observed = sum(apart(a, b) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2))
    expected = sum(total[c] * total[k] * apart(c, k) for c in values for k in values)
    return 1 - (sum(total.values()) - 1) * observed / expected


cells = st.one_of(st.none(), st.integers(0, 4))


@st.composite
def matrices(draw: st.DrawFn, holes: bool = True, raters: int | None = None) -> list[list[int | None]]:
    shape = draw(st.integers(2, 4)) if raters is None else raters, draw(st.integers(3, 9))
    cell = cells if holes else st.integers(0, 4)
    return [[draw(cell) for _ in range(shape[1])] for _ in range(shape[0])]


def same(first: Estimate, second: Estimate) -> None:
    assert (first.value is None) == (second.value is None)
    if first.value is not None:
        assert first.value == pytest.approx(second.value, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@given(rows=matrices())
@settings(max_examples=sized(30, 60), deadline=None)
def test_alpha_is_that_of_the_coincidences(rows: list[list[int | None]], level: Any) -> None:
    found = krippendorff_alpha(rows, level)
    if found.value is not None:
        assert found.value == pytest.approx(alpha_by_coincidences(rows, level), abs=1e-9)
        assert found.value <= 1 + 1e-12
    else:
        values = [[v for v in column if v is not None] for column in zip(*rows, strict=True)]
        assert len({v for unit in values if len(unit) > 1 for v in unit}) < 2


def everything(rows: Any) -> dict[str, Estimate]:
    """Return every figure of many raters."""
    found = {f"alpha {level}": krippendorff_alpha(rows, level) for level in LEVELS}  # type: ignore[arg-type]
    found |= {f"icc {form}": intraclass(rows, form) for form in FORMS}  # type: ignore[arg-type]
    found |= {"w": kendall_w(rows), "agreement": percent_agreement(rows)}
    found |= {name: pairwise(of, rows).mean for name, of in (("tau", kendall_tau_b), ("rho", spearman_rho))}
    weights: tuple[Literal["none", "linear", "quadratic"], ...] = ("none", "linear", "quadratic")
    for weight in weights:
        found[f"kappa {weight}"] = pairwise(lambda a, b, w=weight: cohen_kappa(a, b, w), rows).mean
    return found


@given(rows=matrices(), random=st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_raters_and_items_does_not_matter(rows: list[list[int | None]], random: Any) -> None:
    items = random.sample(range(len(rows[0])), len(rows[0]))
    other = [[row[item] for item in items] for row in random.sample(rows, len(rows))]
    left, right = everything(rows), everything(other)
    for name in left:
        same(left[name], right[name])


@given(rows=matrices(holes=False))
@settings(max_examples=30, deadline=None)
def test_figures_of_ranks_do_not_change_under_a_monotone_transformation(rows: list[list[int]]) -> None:
    bent = [[math.exp(value) for value in row] for row in rows]
    same(kendall_w(rows), kendall_w(bent))
    same(krippendorff_alpha(rows, "ordinal"), krippendorff_alpha(bent, "ordinal"))
    same(kendall_tau_b(rows[0], rows[1]), kendall_tau_b(bent[0], bent[1]))
    same(spearman_rho(rows[0], rows[1]), spearman_rho(bent[0], bent[1]))


@given(rows=matrices(), names=st.permutations(range(5)))
@settings(max_examples=30, deadline=None)
def test_figures_of_categories_do_not_change_under_other_names(rows: list[list[int | None]], names: list[int]) -> None:
    other = [[None if value is None else f"level {names[value]}" for value in row] for row in rows]
    same(krippendorff_alpha(rows, "nominal"), krippendorff_alpha(other, "nominal"))
    same(cohen_kappa(rows[0], rows[1]), cohen_kappa(other[0], other[1]))
    same(percent_agreement(rows), percent_agreement(other))


@given(rows=matrices(holes=False), slope=st.sampled_from([0.25, 0.5, 2.0, 8.0]), shift=st.integers(-5, 5))
@settings(max_examples=30, deadline=None)
def test_figures_of_intervals_do_not_change_under_another_unit(rows: list[list[int]], slope: float, shift: int) -> None:
    other = [[slope * value + shift for value in row] for row in rows]
    same(krippendorff_alpha(rows, "interval"), krippendorff_alpha(other, "interval"))
    for form in FORMS:
        found = intraclass(rows, form)  # type: ignore[arg-type]
        # Near a mean rating that hardly differs, the figures of a mean are a small number over another.
        if found.value is not None and abs(found.value) < 100:
            assert intraclass(other, form).value == pytest.approx(found.value, rel=1e-6, abs=1e-6)  # type: ignore[arg-type]


@given(row=st.lists(st.integers(0, 4), min_size=3, max_size=9).filter(lambda row: len(set(row)) > 1))
@settings(max_examples=30, deadline=None)
def test_raters_who_are_of_one_mind_come_to_1(row: list[int]) -> None:
    for name, found in everything([row, row, row]).items():
        assert found.value == pytest.approx(1), name


@given(rows=matrices())
@settings(max_examples=sized(30, 60), deadline=None)
def test_every_figure_is_a_number_within_its_bounds_or_has_a_reason(rows: list[list[int | None]]) -> None:
    for name, found in everything(rows).items():
        if found.value is None:
            assert found.reason, name
            continue
        least = 0 if name in {"w", "agreement"} else -1
        assert found.value <= 1 + 1e-9, name
        if not name.startswith(("icc", "alpha")):
            assert found.value >= least - 1e-9, name
        if found.low is not None and found.high is not None:
            assert found.low - 1e-9 <= found.value <= found.high + 1e-9, name


def test_w_of_the_golden_matrix() -> None:
    found = kendall_w([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5]])
    assert found.value == pytest.approx(0.874150, abs=5e-7)
    assert found.statistic == pytest.approx(13.112, abs=5e-4)
    assert found.p == pytest.approx(0.0223, abs=5e-5)
    assert found.df == 5


@given(rows=matrices(holes=False, raters=3))
@settings(max_examples=sized(30, 40), deadline=None)
def test_chi_squared_of_w_is_that_of_friedman(rows: list[list[int]]) -> None:
    found = kendall_w(rows)
    if found.value is not None:
        result = stats.friedmanchisquare(*np.array(rows).T)
        assert (found.statistic, found.p) == pytest.approx((result.statistic, result.pvalue), abs=1e-9)


def test_w_leaves_out_items_with_a_hole_and_counts_them() -> None:
    whole = kendall_w([[1, 2, 3, 4], [1, 3, 2, 4]])
    holed = kendall_w([[1, 2, 5, 3, 4], [1, 3, None, 2, 4]])
    assert (holed.value, holed.n, holed.left_out) == (whole.value, 4, 1)


@pytest.mark.parametrize(("weights", "value"), [("none", 0.5), ("linear", 0.729730), ("quadratic", 0.882353)])
def test_kappa_of_the_golden_ratings(weights: Any, value: float) -> None:
    first, second = [int(c) for c in "1234532145"], [int(c) for c in "1233542244"]
    assert cohen_kappa(first, second, weights).value == pytest.approx(value, abs=5e-7)


def test_kappa_and_its_error_of_a_table_with_known_values() -> None:
    # 2 × 2 table of 20, 5, 10, 15: p_o .70, p_e .50, κ .40; the variance by hand after Fleiss, Cohen and Everitt (1969).
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    found = cohen_kappa(first, second)
    assert found.value == pytest.approx(0.4)
    p, kappa, by_chance = {"yy": 0.4, "yn": 0.1, "ny": 0.2, "nn": 0.3}, 0.4, 0.5
    rows, columns = {"y": 0.5, "n": 0.5}, {"y": 0.6, "n": 0.4}
    on = sum(p[c + c] * (1 - (rows[c] + columns[c]) * (1 - kappa)) ** 2 for c in "yn")
    off = (1 - kappa) ** 2 * sum(p[a + b] * (columns[a] + rows[b]) ** 2 for a, b in ("yn", "ny"))
    rest = (kappa - by_chance * (1 - kappa)) ** 2
    assert found.standard_error == pytest.approx(math.sqrt((on + off - rest) / 50) / (1 - by_chance))


@given(rows=matrices(holes=False, raters=2))
@settings(max_examples=sized(30, 40), deadline=None)
def test_kappa_of_more_categories_than_were_used_is_the_same_unless_weighted(rows: list[list[int]]) -> None:
    same(cohen_kappa(rows[0], rows[1]), cohen_kappa(rows[0], rows[1], categories=range(7)))


def test_the_categories_of_a_rubric_are_steps_even_where_nobody_used_them() -> None:
    first, second = [1, 1, 5, 5, 4], [1, 4, 5, 1, 4]
    seen, rubric = (cohen_kappa(first, second, "linear", categories).value for categories in (None, [1, 2, 3, 4, 5]))
    assert seen != pytest.approx(rubric)


def test_a_rating_that_is_no_category_is_refused() -> None:
    with pytest.raises(ValueError, match="is none of the categories"):
        cohen_kappa([1, 9], [1, 2], categories=[1, 2, 3])


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    # Values of table 4 of Shrout and Fleiss (1979); intervals as the R package psych prints them for `ICC(sf)`.
    [
        ("1,1", 0.17, -0.133, 0.723),
        ("2,1", 0.29, 0.019, 0.761),
        ("3,1", 0.71, 0.342, 0.946),
        ("1,k", 0.44, -0.884, 0.912),
        ("2,k", 0.62, 0.071, 0.927),
        ("3,k", 0.91, 0.676, 0.986),
    ],
)
def test_icc_of_the_paper_that_named_its_forms(form: Any, value: float, low: float, high: float) -> None:
    found = intraclass(SHROUT_FLEISS, form)
    assert found.value == pytest.approx(value, abs=5e-3)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-3)


def test_a_rater_who_is_strict_throughout_harms_agreement_and_not_consistency() -> None:
    rows = [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6.5]]
    strict = [rows[0], [value - 3 for value in rows[1]]]
    same(intraclass(rows, "3,1"), intraclass(strict, "3,1"))
    assert (intraclass(strict, "2,1").value or 0) < (intraclass(rows, "2,1").value or 0)


@given(rows=matrices(holes=False, raters=2))
@settings(max_examples=sized(30, 40), deadline=None)
def test_agreement_of_two_raters_is_the_share_of_equal_ratings(rows: list[list[int]]) -> None:
    equal = [a == b for a, b in zip(*rows, strict=True)]
    found = percent_agreement(rows)
    wanted = stats.binomtest(sum(equal), len(equal)).proportion_ci(method="exact")
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(equal), wanted.low, wanted.high))


def test_agreement_within_a_tolerance_counts_neighbours() -> None:
    rows = [[1, 2, 3, 4], [2, 2, 5, 4]]
    assert (percent_agreement(rows).value, percent_agreement(rows, tolerance=1).value) == (0.5, 0.75)


UNDEFINED: list[tuple[str, Estimate]] = [
    ("one rater", kendall_w([[1, 2, 3]])),
    ("one item", kendall_w([[1], [1]])),
    ("no item", krippendorff_alpha([[1, None], [None, 1]])),
    ("no variation", krippendorff_alpha([[3, 3], [3, 3]], "ordinal")),
    ("below zero", krippendorff_alpha([[-1, 1], [-1, 2]], "ratio")),
    ("no pair", cohen_kappa([1, None], [None, 1])),
    ("one category", cohen_kappa([2, 2], [2, 2], categories=[1, 2, 3])),
    ("no order", kendall_tau_b([1, 1, 1], [1, 2, 3])),
    ("too few", spearman_rho([1], [2])),
    ("one rater for reliability", intraclass([[1, 2, 3]])),
    ("no items that differ", intraclass([[1, 1], [1, 1]])),
    ("nobody twice", percent_agreement([[1, None], [None, 2]])),
    ("one rater in pairs", pairwise(kendall_tau_b, [[1, 2]]).mean),
    ("no pair defined", pairwise(kendall_tau_b, [[1, 1], [1, 2]]).mean),
]


@each("what, found", UNDEFINED)
def test_what_is_undefined_has_a_reason_and_no_value(what: str, found: Estimate) -> None:
    assert found.value is None
    assert found.reason


def test_a_figure_is_never_nan() -> None:
    with pytest.raises(ValueError, match="undefined is None"):
        Estimate(math.nan)


def test_the_interval_over_items_is_the_same_for_the_same_seed_and_holds_the_value() -> None:
    found = [over_items(krippendorff_alpha, KRIPPENDORFF, resamples=200, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[0].low is not None and found[0].low < 0.8491 < (found[0].high or 0) <= 1
    assert (found[0].n, found[0].left_out) == (11, 1)
