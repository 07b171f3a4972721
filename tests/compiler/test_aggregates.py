"""The table of aggregates agrees with itself and with the language."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from tests.each import each
from tripos_compiler.language.aggregates import AGGREGATES, AggregateFunction

ALL = each("aggregate", AGGREGATES.values())
PROMISED = """mean median stdev count share f1 pass_at pass_all kendall_w kendall_tau spearman krippendorff_alpha
cohen_kappa quadratic_kappa gwet_ac1 gwet_ac2 win_rate bradley_terry position_bias self_preference"""


def test_the_aggregates_that_the_language_promises_are_there() -> None:
    assert set(PROMISED.split()) <= set(AGGREGATES)


@ALL
def test_an_aggregate_is_known_by_its_name(aggregate: AggregateFunction) -> None:
    assert AGGREGATES[aggregate.name] is aggregate


@ALL
def test_parameters_differ_in_name_and_the_required_come_first(aggregate: AggregateFunction) -> None:
    names = [parameter.name for parameter in aggregate.parameters]
    required = [parameter.required for parameter in aggregate.parameters]
    assert len(set(names)) == len(names)
    assert required == sorted(required, reverse=True)
    assert "missing" not in names


@ALL
def test_an_aggregate_takes_columns_of_one_kind_and_truths_or_weights(aggregate: AggregateFunction) -> None:
    assert aggregate.columns
    beside = {"truths", "weights", "scores"} if aggregate.takes in ("chances", "scores") else set()
    assert {column.kind for column in aggregate.columns} - beside <= {aggregate.takes}
    assert aggregate.columns[0].required


@ALL
def test_only_scores_can_be_true_or_stand_for_nothing(aggregate: AggregateFunction) -> None:
    assert not aggregate.truth_only or aggregate.takes == "scores"
    assert aggregate.missing[0] == "skip"
    assert {"skip", "fail"} <= set(aggregate.missing) <= {"skip", "zero", "paired", "fail"}
    assert not ({"zero", "paired"} & set(aggregate.missing) and aggregate.takes == "compare")


@ALL
def test_raters_are_compared_across_a_role_or_by_a_second_column(aggregate: AggregateFunction) -> None:
    second = len(aggregate.columns) > 1 and not aggregate.columns[1].required
    assert (aggregate.across == "optional") == second
    assert aggregate.needs_across == (aggregate.across == "required")
    assert aggregate.takes != "compare" or aggregate.across == "forbidden"


@ALL
def test_a_default_is_one_of_the_words(aggregate: AggregateFunction) -> None:
    for parameter in aggregate.parameters:
        assert parameter.kind == "word" or not parameter.words
        assert parameter.default is None or (parameter.default in parameter.words and not parameter.required)


@ALL
def test_an_aggregate_says_in_a_line_what_it_gives(aggregate: AggregateFunction) -> None:
    assert aggregate.summary
    assert not aggregate.summary.endswith(".")
    assert "\n" not in aggregate.summary + aggregate.source


@ALL
@given(ends=st.tuples(st.floats(-100, 100), st.floats(-100, 100)))
def test_bounds_are_in_order(aggregate: AggregateFunction, ends: tuple[float, float]) -> None:
    low, high = aggregate.bounds((min(ends), max(ends)))
    assert low is None or high is None or low <= high


@ALL
def test_unknown_bounds_stay_unknown_or_become_fixed(aggregate: AggregateFunction) -> None:
    low, high = aggregate.bounds((None, None))
    assert low in (None, -1, 0)
    assert high in (None, 1, 100)


def test_an_average_keeps_the_scale_and_a_spread_does_not() -> None:
    assert AGGREGATES["mean"].bounds((1, 10)) == (1, 10)
    assert AGGREGATES["sum"].bounds((1, 10)) == (0, None)
    assert AGGREGATES["share"].bounds((0, 1)) == (0, 1)
    assert AGGREGATES["krippendorff_alpha"].bounds((1, 10)) == (None, 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_no_sample_of_a_scale_has_a_larger_spread_than_its_bound(values: list[float]) -> None:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    low, high = AGGREGATES["stdev"].bounds((0, 1))
    assert low is not None
    assert high is not None
    assert low <= spread <= high + 1e-12
