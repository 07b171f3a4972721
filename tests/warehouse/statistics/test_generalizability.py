"""G- and D-coefficients: against published studies, mean squares written out, and the truth of drawn panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lengths import sized
from tripos_warehouse.statistics.agreement import intraclass
from tripos_warehouse.statistics.variance import VarianceComponents, generalizability, panel_study, variance_components

PANEL = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
"""Six targets and four judges of Shrout and Fleiss (1979), table 2."""


def test_a_panel_has_the_reliabilities_of_shrout_and_fleiss() -> None:
    """Table 4 of the paper: ICC(2,1) .29, ICC(2,4) .62, ICC(3,1) .71, ICC(3,4) .91."""
    by_size = {each.judges: each for each in panel_study(PANEL).designs}
    assert list(by_size) == [1, 2, 3, 4, 5]
    for size, absolute, relative in ((1, 0.29, 0.71), (4, 0.62, 0.91)):
        found = by_size[size]
        assert (found.absolute.value, found.relative.value) == pytest.approx((absolute, relative), abs=0.005)


def test_raters_nested_in_tasks_have_the_coefficients_of_brennan() -> None:
    """Brennan (2001), synthetic data set 4, p x (r:t): of three tasks with four raters each Eρ² is .55 and Φ .46."""
    parts = {"persons": 0.4731, "tasks": 0.3252, "tasks x raters": 0.6475, "persons x tasks": 0.5596}
    components = VarianceComponents({**parts, "residual": 2.3803}, {**parts, "residual": 2.3803})
    found = generalizability(components, "persons", {"tasks": 3, "raters": 4})
    assert (found.relative, found.absolute) == pytest.approx((0.55, 0.46), abs=0.005)
    assert found.relative_error == pytest.approx(0.5596 / 3 + 2.3803 / 12)
    assert found.absolute_error == pytest.approx(found.relative_error + 0.3252 / 3 + 0.6475 / 12)


def components_of(scores: Any) -> dict[str, float]:
    """Return the components of complete scores (persons, items, judges) from the seven mean squares (Brennan 2001,
    section 3.3)."""
    p, i, j = scores.shape
    grand, names = scores.mean(), "pij"
    effects: dict[str, Any] = {"": np.full_like(scores, grand)}
    squares = {}
    for own in ("p", "i", "j", "pi", "pj", "ij", "pij"):
        mean = scores.mean(axis=tuple(axis for axis, name in enumerate(names) if name not in own), keepdims=True)
        lower = sum(effect for name, effect in effects.items() if set(name) < set(own))
        effects[own] = np.broadcast_to(mean, scores.shape) - lower
        free = np.prod([size - 1 for size, name in zip((p, i, j), names, strict=True) if name in own])
        squares[own] = float((effects[own] ** 2).sum() / free)
    rest = squares["pij"]
    return {
        "residual": rest,
        "p x i": (squares["pi"] - rest) / j,
        "p x j": (squares["pj"] - rest) / i,
        "i x j": (squares["ij"] - rest) / p,
        "p": (squares["p"] - squares["pi"] - squares["pj"] + rest) / (i * j),
        "i": (squares["i"] - squares["pi"] - squares["ij"] + rest) / (p * j),
        "j": (squares["j"] - squares["pj"] - squares["ij"] + rest) / (p * i),
    }


@pytest.mark.parametrize("seed", range(sized(10, 300)))
def test_two_facets_are_those_of_the_mean_squares(seed: int) -> None:
    random = np.random.default_rng([1, seed])
    p, i, j = (int(random.integers(2, 6)) for _ in range(3))
    person, item, judge = np.indices((p, i, j))
    scores = random.normal(0, 1, (p, i, j)) + random.normal(0, 2, p)[person] + random.normal(0, 2, i)[item]
    scores += random.normal(0, 2, j)[judge] + random.normal(0, 1, (p, j))[person, judge]
    codes = {"p": person, "i": item, "j": judge}
    codes |= {"p x i": person * i + item, "p x j": person * j + judge, "i x j": item * j + judge}
    found = variance_components(scores.ravel(), {name: each.ravel() for name, each in codes.items()})
    expected = components_of(scores)
    assert found.raw == pytest.approx(expected)
    if min(expected.values()) < 0:
        return
    items, judges = int(random.integers(1, 9)), int(random.integers(1, 9))
    study = generalizability(found, "p", {"i": items, "j": judges})
    relative = expected["p x i"] / items + expected["p x j"] / judges + expected["residual"] / (items * judges)
    absolute = relative + expected["i"] / items + expected["j"] / judges + expected["i x j"] / (items * judges)
    assert study.relative == pytest.approx(expected["p"] / (expected["p"] + relative))
    assert study.absolute == pytest.approx(expected["p"] / (expected["p"] + absolute))


@pytest.mark.parametrize("seed", range(sized(10, 300)))
def test_a_complete_panel_has_intraclass_correlations(seed: int) -> None:
    random = np.random.default_rng([2, seed])
    judges, replies = int(random.integers(2, 6)), int(random.integers(4, 30))
    matrix = random.normal(0, 2, replies) + random.normal(0, 1, (judges, replies)) + random.normal(0, 1, (judges, 1))
    study = panel_study(matrix)
    components = variance_components(
        matrix.ravel(), {"r": np.tile(np.arange(replies), judges), "j": np.repeat(np.arange(judges), replies)}
    )
    own = next(each for each in study.designs if each.judges == judges)
    for found, form in ((own.relative, "3,k"), (own.absolute, "2,k")):
        icc = intraclass(matrix, form)  # type: ignore[arg-type]
        if min(components.raw.values()) > 0:
            assert found.value == pytest.approx(icc.value)
        if icc.low is not None and icc.low > 0 and min(components.raw.values()) > 0:
            assert (found.low, found.high) == pytest.approx((icc.low, icc.high))
    values = [(each.relative.value, each.absolute.value) for each in study.designs]
    assert values == sorted(values) and all(d <= g + 1e-12 for g, d in values if g is not None and d is not None)


def test_replies_to_one_item_count_as_one_for_the_interval() -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(0, 1, 20) + random.normal(0, 1, (3, 20))
    alone, together = panel_study(matrix).designs[0], panel_study(matrix, [n // 4 for n in range(20)]).designs[0]
    assert alone.relative.value == together.relative.value
    assert together.relative.clusters == 5
    for one, other in ((alone.relative, together.relative), (alone.absolute, together.absolute)):
        assert None not in (one.low, one.high, other.low, other.high)
        assert other.high - other.low > one.high - one.low  # type: ignore[operator]


def test_a_panel_with_gaps_has_coefficients_without_an_interval() -> None:
    holes: list[list[float | None]] = [[*row] for row in PANEL]
    holes[0][0] = None
    found = panel_study(holes).designs[0].relative
    assert found.value is not None and found.low is None
    assert found.reason == "not every judge scored every reply"


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, 2, 3]], "one judge shows nothing of judges like it"),
        ([[1, None], [None, 2]], "no two values are alike in it"),
        ([[None, None], [1, 2]], "one judge shows nothing of judges like it"),
    ],
)
def test_a_panel_that_shows_nothing_says_why(ratings: Any, reason: str) -> None:
    found = panel_study(ratings)
    assert (found.designs, found.reason) == ((), reason)


def test_judges_who_always_say_the_same_have_no_coefficient() -> None:
    found = panel_study([[1, 1, 1], [1, 1, 1]])
    assert {each.relative.value for each in found.designs} == {None}
    assert found.designs[0].relative.reason == "all scores are the same"


def test_a_facet_without_a_count_is_refused() -> None:
    found = variance_components([1, 2, 3, 5], {"p": [0, 0, 1, 1], "j": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match="`j` has no count"):
        generalizability(found, "p", {"k": 2})
    with pytest.raises(ValueError, match="not over 0 of `j`"):
        generalizability(found, "p", {"j": 0})


@pytest.mark.parametrize(("judges", "severity"), [(2, 0.3), (3, 0.6), (5, 0.6)])
def test_the_intervals_hold_the_truth(judges: int, severity: float) -> None:
    """Two replies to each of 25 items, which are alike by half; the truth is that of five judges."""
    random, draws = np.random.default_rng([4, judges]), sized(200, 2000)
    held = {"relative": 0, "absolute": 0}
    truth = {"relative": 1 / (1 + 0.5 / 5), "absolute": 1 / (1 + (0.5 + severity**2) / 5)}
    items = np.repeat(np.arange(25), 2)
    none = dict.fromkeys(held, 0)
    for _ in range(draws):
        replies = random.normal(0, 0.5**0.5, 25)[items] + random.normal(0, 0.5**0.5, 50)
        matrix = replies + random.normal(0, severity, (judges, 1)) + random.normal(0, 0.5**0.5, (judges, 50))
        design = panel_study(matrix, items.tolist()).designs[-1]
        for name in held:
            found = getattr(design, name)
            if found.low is None:
                none[name] += 1
            else:
                held[name] += found.low <= truth[name] <= found.high
    least = 0.95 - 3.3 * (0.95 * 0.05 / draws) ** 0.5
    assert all(held[name] >= least * (draws - none[name]) for name in held), (held, none)
    assert max(none.values()) <= 0.02 * draws
