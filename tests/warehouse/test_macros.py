"""The table macros: what they come to, on figures that can be worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import stdev
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.conftest import Command
from tests.lengths import sized, spread
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.results import run_query
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import bounded, clopper_pearson, with_t_interval
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.macros import with_clears

Build = Callable[..., dict[str, list[dict[str, Any]]]]
MIXED = """\
benchmark mixed "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
scorer clear(reply: text) by judge { prompt "How clear? {{ reply }}", gives 1..5 }
scorer sound(reply: text) by judge { prompt "Is it sound? {{ reply }}", gives bool }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = exact(reply.text, item.answer)
  score room = 10 - words(reply.text)
  score clarity = clear(reply: reply.text)
  score firm = sound(reply: reply.text)
}
scenario counts {
  over item
  ask reply by candidate { prompt "{{ item.question }} How many?", returns integer }
  score many = reply == 2
}
"""
JUDGES = ("openai/judge", "qwen/judge")


@pytest.fixture
def connection(store: Store, run_rows: Build) -> duckdb.DuckDBPyConnection:
    """Two models, four items, two metrics, two judges: the second gives a point less to every second item."""
    store.append(run_rows("r1", ("m1", "m2")))
    both = run_rows(
        "r2", ("m1", "m2"), judge=JUDGES[1], value=lambda model, item: 5.0 + model + item % 3 - item % 2, minutes=1
    )
    both["runs"][0]["roles"] = json.dumps({"candidate": ["m1", "m2"], "judge": JUDGES})
    store.append(both)
    return connect(store)


@pytest.fixture
def mixed(tripos: Command, once: Command, quiz: Path) -> duckdb.DuckDBPyConnection:
    """Scores on 1..5, true or false, and numbers of no scale; a baseline says what no integer is."""
    (quiz / "mixed.tripos").write_text(MIXED, "utf-8")
    models = "mock/careful,baseline/constant:nothing"
    assert once("run", "mixed.tripos", "--model", models, "--role", "judge=mock/fair").code in (0, 1)
    return connect(Store.open(quiz / "results", create=False))


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_query(connection, query).to_pylist()
    return found


def test_means_have_what_is_behind_them(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.means()")
    assert [(row["metric"], row["evaluator"], row["model"]) for row in found] == [
        (metric, judge, model)
        for metric in ("instruction_following", "accuracy")
        for judge in sorted(JUDGES)
        for model in ("m1", "m2")
    ]
    last = found[-1]
    assert (last["items"], last["scores"], last["without"], last["scale"]) == (4, 4, 0, "1..10")
    assert last["mean"] == pytest.approx(sum([6.0, 6.0, 8.0, 5.0]) / 4)
    # With as many scores an item it is the standard error of the means of the items.
    assert last["standard_error"] == pytest.approx(stdev([6.0, 6.0, 8.0, 5.0]) / math.sqrt(4))


def test_one_item_has_no_error(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1", ("m1",), items=1))
    assert rows(connect(store), "from edubench.means()")[0]["standard_error"] is None


GRADES = st.lists(
    st.tuples(
        st.sampled_from(["m1", "m2"]),
        st.integers(0, 3),
        st.sampled_from(["judge/one", "judge/two", "human/anna"]),
        st.sampled_from(["instruction_following", "accuracy"]),
        st.sampled_from([None, 1.0, 2.5, 4.0, 9.0]),
    ),
    min_size=1,
    max_size=24,
    unique_by=lambda each: each[:4],
)


@settings(max_examples=sized(8, 80), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(grades=GRADES)
def test_means_are_those_of_every_metric_by_every_evaluator(
    grades: list[tuple[str, int, str, str, float | None]], run_rows: Build, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of generated stores, against a sum in Python: nothing is a mean of two metrics or of two evaluators."""
    made = run_rows("r1", ("m1", "m2"))
    judges = ["judge/one", "judge/two"]
    made["runs"][0]["roles"] = json.dumps({"candidate": ["m1", "m2"], "judge": judges})
    one = {(row["model"], row["item_id"]): row for row in made["scores"]}
    made["scores"] = [
        {
            **one[model, f"i{item}"],
            "score_id": f"s{number}",
            "evaluator": evaluator,
            "metric": metric,
            "value": value,
            "status": "parse_failure" if value is None else "scored",
        }
        for number, (model, item, evaluator, metric, value) in enumerate(grades)
    ]
    store = Store.open(tmp_path_factory.mktemp("means"), create=True)
    store.append(made)
    expected: dict[tuple[str, str, str], list[float | None]] = {}
    for model, _, evaluator, metric, value in grades:
        expected.setdefault((metric, evaluator, model), []).append(value)
    with connect(store) as opened:
        found = {(row["metric"], row["evaluator"], row["model"]): row for row in rows(opened, "from edubench.means()")}
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        given = [value for value in values if value is not None]
        row = found[key]
        assert (row["scores"], row["without"]) == (len(given), len(values) - len(given)), key
        assert row["mean"] == (pytest.approx(sum(given) / len(given)) if given else None), key


@pytest.mark.parametrize(
    "per", spread(["scenario", "metric", "dimension", "evaluator", "scorer", "language", "subject", "level"], 3)
)
def test_means_are_taken_apart_by_any_column(connection: duckdb.DuckDBPyConnection, per: str) -> None:
    whole = sum(row["scores"] for row in rows(connection, "from edubench.means()"))
    assert sum(row["scores"] for row in rows(connection, f"from edubench.means(per := '{per}')")) == whole


def test_a_column_that_is_not_there_is_named_with_those_that_are(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(StoreError, match=r"`per` is one of scenario, metric, .*subject, level"):
        run_query(connection, "from edubench.means(per := 'subjct')")


@pytest.mark.parametrize("filter", ["metric := 'accuracy'", "evaluator := 'qwen/judge'"])
def test_a_filter_of_means_filters(connection: duckdb.DuckDBPyConnection, filter: str) -> None:
    assert [row["scores"] for row in rows(connection, f"from edubench.means({filter})")] == [4] * 4


def test_the_worst_replies_come_first_with_their_text(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.worst(2)")
    assert [(row["model"], row["item_id"], row["reply"], row["value"], row["evaluator"]) for row in found] == [
        ("m1", "i3", "答 3", 4.0, "qwen/judge"),
        ("m1", "i0", "答 0", 5.0, "openai/judge"),
    ]
    found = rows(connection, "from edubench.reasons(3, metric := 'accuracy')")
    assert [(row["value"], row["reason"]) for row in found] == [(4.0, "accuracy: 因为")] + [(5.0, "accuracy: 因为")] * 2


def test_disagreements_are_those_of_two_judges_widest_first(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.disagreements()")
    assert {row["item_id"] for row in found} == {"i1", "i3"}
    assert len(found) == 2 * 2 * 2
    assert found[0]["apart"] == 1
    assert found[0]["given"] == "qwen/judge 5, openai/judge 6"
    assert rows(connection, "from edubench.disagreements(least := 1)") == []


def test_agreement_is_exact_within_one_and_by_how_much(connection: duckdb.DuckDBPyConnection) -> None:
    row, other = rows(connection, "from edubench.agreement()")
    assert (row["metric"], other["metric"]) == ("instruction_following", "accuracy")
    assert (row["evaluator_a"], row["evaluator_b"], row["n"]) == ("openai/judge", "qwen/judge", 8)
    assert (row["exact"], row["within_1"], row["mean_difference"]) == (0.5, 1.0, 0.5)
    assert 0.7 < row["correlation"] < 1


def test_agreement_takes_the_last_round_of_a_rater(store: Store, run_rows: Build) -> None:
    """A rater who comes back agrees with what the judge gave; the first round does not count beside it."""
    store.append(run_rows("r1", ("m1",)))
    for number, off in ((1, 3.0), (2, 0.0)):
        again = run_rows("r1", ("m1",), judge="human/anna", value=lambda model, item, off=off: 5.0 - off + item % 3)
        scores = [{**row, "score_id": f"{row['score_id']} {number}", "round": number} for row in again["scores"]]
        store.append({"scores": scores})
    for row in rows(connect(store), "from edubench.agreement()"):
        assert (row["n"], row["exact"], row["mean_difference"]) == (4, 1.0, 0.0)


def test_means_have_the_scale_of_their_metric(mixed: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["metric"]): row for row in rows(mixed, "from mixed.means()")}
    scales = {metric: row["scale"] for (_, metric), row in found.items()}
    assert scales == {"right": "0..1", "room": None, "clarity": "1..5", "firm": "0..1", "many": "0..1"}
    assert found["mock/careful", "right"]["scores"] == 3
    nothing = "baseline/constant:nothing"
    assert found["mock/careful", "right"]["no_better_than"] == nothing
    # That baseline has no score of how many.
    assert (found[nothing, "many"]["without"], found["mock/careful", "many"]["no_better_than"]) == (3, None)
    assert found["mock/careful", "room"]["no_better_than"] is None, "nobody said that more room is better"


@pytest.mark.parametrize(
    ("ends", "scores"), [((0.0, 1.0), 1), ((0.0, 1.0), 3), ((1.0, 10.0), 1), ((1.0, 10.0), 2), (None, 1)]
)
def test_a_mean_clears_a_floor_where_its_interval_lies_above(ends: tuple[float, float] | None, scores: int) -> None:
    """Of drawn means near their ends and in the middle: as the intervals of measures say."""
    random = np.random.default_rng([scores, 0 if ends is None else int(ends[1])])
    low, high = ends or (0.0, 1.0)
    rows = []
    for items in (1, 2, 5, 12, 31, 32, 60, 400):
        for ease in (0.02, 0.3, 0.7, 0.97, 1.0):
            values = (random.random((items, scores)) < ease).mean(1) * (high - low) + low
            error = float(values.std(ddof=1)) / math.sqrt(items) if items > 1 else None
            rows += [
                (float(values.mean()), error, items, items * scores, float(floor))
                for floor in (low, high, *random.uniform(low, high, 8))
            ]
    table = pd.DataFrame(rows, columns=["mean", "standard_error", "items", "scores", "floor"])
    table["least"], table["most"] = (low, high) if ends else (None, None)
    database = duckdb.connect()
    database.register("given", table.astype({"least": "Float64", "most": "Float64"}))
    for *_, clears in (
        found := database.execute(
            f"select mean, standard_error, items, scores, floor, clears from ({with_clears('given')})"
        ).fetchall()
    ):
        assert clears is not None
    assert {clears for *_, clears in found} == {True, False}
    for mean, error, items, count, floor, clears in found:
        bottom = low_end(mean, error, items, count, ends)
        assert clears == ((mean if bottom is None else bottom) > floor), (mean, error, items, count, floor, bottom)


def low_end(
    mean: float, error: float | None, items: int, scores: int, ends: tuple[float, float] | None
) -> float | None:
    """Return the low end of a mean's interval, as a measure has it."""
    if error is None or (ends is None and error < 1e-9):
        return None
    if ends == (0, 1) and items == scores:
        return clopper_pearson(mean * items, items).low
    found = Estimate(mean, clusters=items)
    return (with_t_interval(found, error, items - 1) if ends is None else bounded(found, error, items - 1, ends)).low


def test_the_worst_replies_are_ranked_by_where_they_stand_on_their_scales(mixed: duckdb.DuckDBPyConnection) -> None:
    worst = rows(mixed, "from mixed.worst(100, scenario := 'sums')")
    assert [row["share"] for row in worst] == sorted(row["share"] for row in worst)
    scales = {"right": (0, 1), "firm": (0, 1), "clarity": (1, 5)}
    for row in worst:
        low, high = scales[row["metric"]]
        assert row["share"] == pytest.approx((row["value"] - low) / (high - low))
    (first, *_) = rows(mixed, "from mixed.worst(100, metric := 'room')")
    assert first["share"] is None
    assert first["value"] < 0


def test_a_judge_that_gives_one_grade_correlates_with_nobody(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    flat = run_rows("r2", judge="flat", value=lambda model, item: 5.0, minutes=1)
    roles = {"candidate": flat["runs"][0]["models"], "judge": ["flat", "openai/judge"]}
    store.append({**flat, "runs": [flat["runs"][0] | {"roles": json.dumps(roles)}]})
    for row in rows(connect(store), "from edubench.agreement()"):
        assert row["correlation"] is None


def test_failures_are_counted_by_kind_with_their_share(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1", ("m1",)))
    store.append(run_rows("r2", ("m2",), status="provider_error", minutes=1))
    for query in ("from edubench.failures()", "from failures(benchmark := 'edubench')"):
        found = rows(connect(store), query)
        assert [(row["what"], row["model"], row["status"], row["failed"], row["share"]) for row in found] == [
            ("judgement", "openai/judge", "provider_error", 4, 0.5),
            ("reply", "m2", "provider_error", 4, 1.0),
        ]
        assert found[0]["error"] == "boom"
    assert rows(connect(store), "from failures(benchmark := 'other')") == []


def test_spending_counts_calls_tokens_and_what_nobody_priced(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from spending()")
    assert {(row["what"], row["model"], row["calls"], row["tokens_in"], row["unpriced"]) for row in found} == {
        ("reply", "m1", 4, 40, 4),
        ("reply", "m2", 4, 40, 4),
        ("judgement", "openai/judge", 8, 80, 8),
        ("judgement", "qwen/judge", 8, 80, 8),
    }
    assert all(row["cost_usd"] is None for row in found)


def test_an_enumeration_has_what_an_earlier_plan_had_too(store: Store, run_rows: Build) -> None:
    rows_ = run_rows("r1")
    rows_["items"][0]["context"] = {"subject": "alchemy", "level": "primary"}
    store.append(rows_)
    found = run_query(connect(store), "select distinct subject from edubench.items order by subject")
    assert found["subject"].to_pylist() == ["maths", "history", "alchemy"]
