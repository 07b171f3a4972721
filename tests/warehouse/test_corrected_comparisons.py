"""Win rates and strengths that people correct, against the same worked out comparison by comparison."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import duckdb
import pytest

from tests.bench.corrected_comparisons import GRADED, ITEMS, SPEC, WORLDS, filled, held, plan_for
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.statistics.preferences import Preference, bradley_terry

LEANING, OWN = WORLDS[1:3]


@pytest.fixture
def compared() -> Iterator[duckdb.DuckDBPyConnection]:
    """The comparisons of one repetition, by a judge that prefers its own model."""
    with filled(OWN, 1, 5) as connection:
        yield connection


def rows_of(connection: duckdb.DuckDBPyConnection, name: str, spec: str = SPEC) -> dict[str, MeasureRow]:
    plan = plan_for(2, spec)
    measure = next(each for each in plan.measures if each.name == name)
    return {row.model: row for row in evaluate(connection, plan, measure).rows}


def verdicts(connection: duckdb.DuckDBPyConnection, who: str) -> list[tuple[str, str, str, float]]:
    query = "select item_id, first_model, second_model, value from demo.comparisons where evaluator = ? order by all"
    return connection.execute(query, [who]).fetchall()


def test_a_win_rate_is_that_of_its_comparisons(compared: duckdb.DuckDBPyConnection) -> None:
    judge: dict[tuple[str, str], list[float]] = {}
    people: dict[tuple[str, str], float] = {}
    for item, first, second, value in verdicts(compared, "j"):
        if "a" in (first, second):
            own, other = (value, second) if first == "a" else (1 - value, first)
            judge.setdefault((item, other), []).append(own)
    for item, first, second, value in verdicts(compared, "human/a"):
        if "a" in (first, second):
            people[item, second if first == "a" else first] = value if first == "a" else 1 - value
    cells = sorted(judge)
    given = [people.get(cell) for cell in cells]
    wanted = corrected_mean([fmean(judge[cell]) for cell in cells], given, [item for item, _ in cells], ends=(0.0, 1.0))
    row = rows_of(compared, "won")["a"]
    assert row.value == pytest.approx(wanted.result.value)
    assert (row.low, row.high) == pytest.approx((wanted.result.low, wanted.result.high), abs=2e-3)
    assert row.power == pytest.approx(wanted.power)
    assert (row.items, row.n) == (GRADED, 2 * GRADED)
    assert row.judged is not None and row.judged.value == pytest.approx(wanted.judged.value)


def test_strengths_of_which_people_compared_all_are_those_of_people(compared: duckdb.DuckDBPyConnection) -> None:
    compared.execute("delete from demo.comparisons where evaluator = 'human/a'")
    compared.execute(
        """insert into demo.comparisons select * replace ('human/a' as evaluator, uuid()::varchar as judgement_id,
        (hash(first_model || item_id) % 3 / 2)::double as value)
        from demo.comparisons where evaluator = 'j' and first_model < second_model"""
    )
    said = [
        Preference(first, second, None if value == 0.5 else first if value else second, item)
        for item, first, second, value in verdicts(compared, "human/a")
    ]
    wanted = bradley_terry(said, errors="items").by_model
    for model, row in rows_of(compared, "strength").items():
        assert row.value == pytest.approx(wanted[model].value)
        assert row.standard_error == pytest.approx(wanted[model].standard_error, rel=0.02)
        assert (row.items, row.n) == (ITEMS, 2 * ITEMS)
    halves = [
        (Preference(each.first, each.second, winner, each.item), 0.5 if each.winner is None else 1.0)
        for each in said
        for winner in ([each.winner] if each.winner else [each.first, each.second])
    ]
    halved = bradley_terry([one for one, _ in halves], weights=[weight for _, weight in halves], errors="items")
    spec = SPEC.replace("bradley_terry(preferred)", "bradley_terry(preferred, ties: half)")
    for model, row in rows_of(compared, "strength", spec).items():
        assert row.value == pytest.approx(halved.by_model[model].value)
        assert row.value != pytest.approx(wanted[model].value)
        assert (row.items, row.n) == (ITEMS, 2 * ITEMS)


def test_two_people_are_one_label(compared: duckdb.DuckDBPyConnection) -> None:
    alone = {name: rows_of(compared, name)["a"] for name in ("won", "strength")}
    compared.execute(
        """insert into demo.comparisons select * replace ('human/b' as evaluator, uuid()::varchar as judgement_id)
        from demo.comparisons where evaluator = 'human/a'"""
    )
    for name, row in alone.items():
        again = rows_of(compared, name)["a"]
        assert (again.value, again.standard_error) == pytest.approx((row.value, row.standard_error))


def test_without_labels_of_two_models_there_is_no_value(compared: duckdb.DuckDBPyConnection) -> None:
    compared.execute(
        "delete from demo.comparisons where evaluator = 'human/a' and 'a' not in (first_model, second_model)"
    )
    won, strength = (rows_of(compared, name) for name in ("won", "strength"))
    told = "people graded nothing in `essay` on `preferred` of `b` and `c`"
    assert won["a"].value is not None
    assert {won[model].reason for model in ("b", "c")} == {told}
    assert {row.reason for row in strength.values()} == {told}


def test_labels_that_were_not_drawn_correct_nothing(compared: duckdb.DuckDBPyConnection) -> None:
    compared.execute("update demo.judgements set drawn_of = NULL")
    told = "the replies that people graded in `essay` on `preferred` of `a` and `b` were not drawn at random from all"
    for name in ("won", "strength"):
        row = rows_of(compared, name)["a"]
        assert row.value is None and row.reason is not None and row.reason.startswith(told[:60])
        assert row.judged is not None and row.judged.value is not None


def test_verdicts_that_count_twice_are_two() -> None:
    said = [Preference("a", "b", winner, item) for item, winner in enumerate(["a", "b", None, "a", "b", "a"])]
    twice = bradley_terry([*said, *said[:2]], errors="items")
    weighed = bradley_terry(said, weights=[2, 2, 1, 1, 1, 1], errors="items")
    for model in ("a", "b"):
        one, other = twice.by_model[model], weighed.by_model[model]
        assert (one.value, one.standard_error) == pytest.approx((other.value, other.standard_error))
    with pytest.raises(ValueError, match="weights are one a verdict"):
        bradley_terry(said, weights=[1.0] * 6)


def test_intervals_hold_what_people_would_say() -> None:
    found = held(LEANING, 30, seed=3)
    # An interval that holds the truth 95 times in 100 does so less than 24 times of 30 once in 1,000 times.
    assert min(each.corrected for each in found.values()) >= 0.8
    assert max(found[name].judge for name in ("won", "strength")) < 0.6
    assert max(found[name].width for name in ("won", "strength")) < 0.9
