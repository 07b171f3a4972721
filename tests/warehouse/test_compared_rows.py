"""The tables of a comparison as one family: how often something false is said anywhere, and what must hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from tests.lengths import sized
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report.comparison import HEADLINE_SHARE, LEVEL, ComparedRow, Section, corrected, verdict
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.statistics.multiple_tests import benjamini_hochberg, fixed_sequence, holm

Floats = NDArray[np.float64]
DRAWS = sized(200, 4_000)
MOST_FALSE = 0.05 + 3 * math.sqrt(0.05 * 0.95 / DRAWS)


def row(name: str, values: Floats, graded: bool = True, lower: bool = False) -> ComparedRow:
    """Return a row of the differences of items, each between −1 and 1."""
    found = mean_of_cells(values, np.arange(len(values)), ends=(-1, 1))
    far = float(np.abs(values).max())
    return ComparedRow(name, "", 0.0, 0.0, found, None, graded, 1.0, lower, figure=values.tobytes(), farthest=far)


def tables(metrics: Floats, scenarios: Floats) -> list[Section]:
    """Return the three tables of a comparison: the measures are means of metrics and of scenarios."""
    measures = [row("overall", metrics.mean(0)), row("solved", scenarios.mean(0)), row("first", metrics[0])]
    return [
        Section("measure", tuple(measures)),
        Section("metric", tuple(row(f"metric {place}", each) for place, each in enumerate(metrics))),
        Section("scenario", tuple(row(f"scenario {place}", each) for place, each in enumerate(scenarios))),
    ]


def drawn(rng: np.random.Generator, apart: float, n: int = 40) -> list[Section]:
    """Return tables of two models that solve an item together or not, one of which is better by `apart`."""
    both = rng.random((10, n))
    other = np.where(rng.random((10, n)) < 0.5, both, rng.random((10, n)))
    differences = (both < 0.6 + apart) * 1.0 - (other < 0.6)
    return tables(differences[:6], differences[6:])


def rows_of(sections: Iterable[Section]) -> list[ComparedRow]:
    return [each for section in sections for each in section.rows]


@pytest.mark.parametrize("headline", [(), ("overall",), ("solved", "overall")])
def test_no_side_is_called_better_by_chance_anywhere(headline: Sequence[str]) -> None:
    """Table by table after Holm, it happens in some 13 %."""
    rng = np.random.default_rng(41)
    found = sum(
        any(each.is_apart for each in rows_of(corrected(drawn(rng, 0.0), headline).sections)) for _ in range(DRAWS)
    )
    assert found / DRAWS <= MOST_FALSE


@pytest.mark.parametrize("apart", [0.05, 0.15])
def test_what_is_ruled_out_is_not_so_for_all_rows_at_once(apart: float) -> None:
    rng = np.random.default_rng(42)
    found = 0
    for _ in range(DRAWS):
        rows = rows_of(corrected(drawn(rng, apart)).sections)
        found += any(each.ruled_out is not None and each.ruled_out < apart for each in rows)
    assert found / DRAWS <= MOST_FALSE


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("headline", [(), ("overall",)])
def test_sides_that_are_a_margin_apart_are_not_called_equivalent(sign: int, headline: Sequence[str]) -> None:
    rng = np.random.default_rng(43)
    alike = not_worse = 0
    for _ in range(DRAWS):
        rows = rows_of(corrected(drawn(rng, sign * 0.1, n=150), headline, {None: 0.1}).sections)
        said = [each.equivalence.verdict for each in rows if each.equivalence is not None]
        alike += "equivalent" in said
        not_worse += "not worse" in said
    assert alike / DRAWS <= MOST_FALSE
    assert sign > 0 or not_worse / DRAWS <= MOST_FALSE


def test_sides_that_are_alike_are_shown_to_be_equivalent_on_many_items() -> None:
    rng = np.random.default_rng(44)
    rows = rows_of(corrected(drawn(rng, 0.0, n=2_000), (), {None: 0.1}).sections)
    assert {each.equivalence.verdict for each in rows if each.equivalence is not None} == {"equivalent"}


P_VALUES = st.lists(st.none() | st.floats(1e-6, 1.0), min_size=1, max_size=6)


@given(P_VALUES, st.data(), st.sampled_from([0.0, 0.5, 0.8, 1.0]))
@settings(max_examples=sized(150, 4_000))
def test_the_fallback_is_the_closed_test_of_its_weights(
    given_: list[float | None], data: st.DataObject, share: float
) -> None:
    """By brute force: a hypothesis is rejected if every intersection with others is, by its weights (Marcus 1976)."""
    places = range(len(given_))
    first = data.draw(st.lists(st.sampled_from(places), unique=True))
    there = {place: p for place, p in enumerate(given_) if p is not None}

    def of_all(some: tuple[int, ...]) -> float:
        lead = [place for place in first if place in some][:1]
        rest = [place for place in some if place not in first]
        part = (share if rest else 1.0) if lead else 0.0
        parts = dict.fromkeys(lead, part) | {each: (1 - part) / len(rest) for each in rest}
        return min([there[each] / part for each, part in parts.items() if part > 0], default=math.inf)

    subsets = [some for size in places for some in itertools.combinations(there, size + 1)]
    expected = [
        min(1.0, max(of_all(some) for some in subsets if place in some)) if place in there else None for place in places
    ]
    assert fixed_sequence(given_, first, share) == [None if each is None else pytest.approx(each) for each in expected]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
@settings(max_examples=sized(100, 3_000))
def test_a_figure_counts_once_however_many_tables_show_it(figures: list[int], data: st.DataObject) -> None:
    kinds = ("measure", "metric", "scenario")
    made = [plain(str(place), figure) for place, figure in enumerate(figures)]
    shown = data.draw(st.lists(st.sampled_from(made), max_size=5))
    cut = data.draw(st.integers(0, len(made)))
    alone = corrected([Section(kinds[0], tuple(made))])
    split = corrected(
        [Section(kinds[0], tuple(made[:cut])), Section(kinds[1], tuple(made[cut:])), Section(kinds[2], tuple(shown))]
    )
    assert split.tests == alone.tests == len({each.figure for each in made})
    known = {each.figure: (each.p, each.q, each.ruled_out) for each in rows_of(alone.sections)}
    assert all((each.p, each.q, each.ruled_out) == known[each.figure] for each in rows_of(split.sections))
    distinct = list({each.figure: each.difference.p for each in made}.values())
    told = list({each.figure: (each.p, each.q) for each in rows_of(alone.sections)}.values())
    assert told == list(zip(holm(distinct), benjamini_hochberg(distinct), strict=True))


def plain(name: str, figure: int, p: float | None = None) -> ComparedRow:
    """Return a row of a few numbers, which are equal for those of one figure."""
    p = 0.1 / (1 + figure) if p is None else p
    found = Estimate(figure / 10, low=-0.9, high=0.9, standard_error=0.1 + figure / 50, df=20, p=p)
    return ComparedRow(name, "", 0.0, 0.0, found, None, True, 1.0, figure=figure, farthest=0.5)


def test_the_headline_has_most_of_the_level_and_others_are_told_apart_without_it() -> None:
    headline, clear, unclear = plain("headline", 1, 0.3), plain("clear", 2, 1e-6), plain("unclear", 3, 0.4)
    family = corrected([Section("measure", (headline,)), Section("metric", (clear, unclear, headline))], ["headline"])
    told = {each.name: each.p for each in rows_of(family.sections)}
    assert (family.tests, family.of_headline) == (3, 1)
    assert told["clear"] == pytest.approx(1e-6 * 2 / (1 - HEADLINE_SHARE)) and told["clear"] < LEVEL
    assert told["headline"] == pytest.approx(0.3 / HEADLINE_SHARE)
    alone = corrected([Section("measure", (headline,)), Section("metric", (headline,))], ["headline"])
    assert {each.p for each in rows_of(alone.sections)} == {0.3}, "nothing else is tested, so it has the whole level"


@pytest.mark.parametrize(
    ("difference", "lower", "said"),
    [
        (0.0, False, "equivalent within 0.2"),
        (0.3, False, "B is better by 0.30 [0.24, 0.36]; B is not worse by 0.2 or more"),
        (-0.3, False, "A is better by 0.30 [0.24, 0.36]; not shown to be within 0.2"),
        (0.3, True, "A is better by 0.30 [0.24, 0.36]; not shown to be within 0.2"),
        (-0.3, True, "B is better by 0.30 [0.24, 0.36]; B is not worse by 0.2 or more"),
        (0.18, False, "B is better by 0.18 [0.12, 0.24]; B is not worse by 0.2 or more"),
    ],
)
def test_a_verdict_says_what_a_margin_leaves(difference: float, lower: bool, said: str) -> None:
    p = 0.9 if difference == 0 else 0.001
    found = Estimate(
        difference, low=difference - 0.06, high=difference + 0.06, standard_error=0.03, df=99, p=p, n=100, clusters=100
    )
    made = ComparedRow("x", "", 0.0, difference, found, None, True, 1.0, lower, farthest=1.0)
    [told] = rows_of(corrected([Section("measure", (made,))], (), {None: 0.2}).sections)
    assert verdict(told).startswith(f"{said} [")
    assert (told.regression is None) == ("not shown" not in said)


def test_of_a_figure_without_a_direction_nothing_is_worse() -> None:
    found = Estimate(0.18, low=0.12, high=0.24, standard_error=0.03, df=99, p=0.001, n=100, clusters=100)
    made = ComparedRow("x", "", 0.0, 0.18, found, None, False, 1.0, farthest=1.0)
    [told] = rows_of(corrected([Section("measure", (made,))], (), {"x": 0.2}).sections)
    assert told.equivalence is not None
    assert (told.equivalence.verdict, told.equivalence.p_not_worse) == ("different", None)


@pytest.mark.parametrize("margins", [{"y": 0.1}, {None: 1.0}, {"x": 2.0}])
def test_a_margin_that_fits_no_row_is_refused(margins: dict[str | None, float]) -> None:
    with pytest.raises(StoreError) as raised:
        corrected([Section("measure", (row("x", np.zeros(9)),))], (), margins)
    assert raised.value.code == "S0616"
