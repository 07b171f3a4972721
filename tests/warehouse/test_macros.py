"""The table macros: what they come to, on figures that can be worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from statistics import stdev
from typing import Any

import duckdb
import pytest

from tests.conftest import Command
from tests.lengths import spread
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.answers import run_query
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.views import connect

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


def test_the_leaderboard_is_ordered_and_has_what_is_behind_it(connection: duckdb.DuckDBPyConnection) -> None:
    first, second = rows(connection, "from edubench.leaderboard()")
    assert (first["model"], first["items"], first["scores"], first["without"], first["scale"]) == (
        "m2",
        4,
        16,
        0,
        "1..10",
    )
    means = [6.0, 6.5, 8.0, 5.5]
    assert first["mean"] == pytest.approx(sum(means) / 4)
    assert first["mean"] - second["mean"] == pytest.approx(1.0)


def test_the_error_of_the_leaderboard_is_clustered_by_item(connection: duckdb.DuckDBPyConnection) -> None:
    """With as many scores an item it is the standard error of the means of the items."""
    first = rows(connection, "from edubench.leaderboard()")[0]
    assert first["standard_error"] == pytest.approx(stdev([6.0, 6.5, 8.0, 5.5]) / math.sqrt(4))


def test_one_item_has_no_error(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1", ("m1",), items=1))
    assert rows(connect(store), "from edubench.leaderboard()")[0]["standard_error"] is None


def test_the_leaderboard_by_metric_comes_in_the_order_of_the_rubric(connection: duckdb.DuckDBPyConnection) -> None:
    parts = [row["part"] for row in rows(connection, "from edubench.leaderboard(per := 'metric')")]
    assert parts == ["instruction_following"] * 2 + ["accuracy"] * 2


@pytest.mark.parametrize(
    "per", spread(["scenario", "dimension", "evaluator", "scorer", "language", "subject", "level"], 3)
)
def test_the_leaderboard_is_taken_apart_by_any_column(connection: duckdb.DuckDBPyConnection, per: str) -> None:
    whole = sum(row["scores"] for row in rows(connection, "from edubench.leaderboard()"))
    assert sum(row["scores"] for row in rows(connection, f"from edubench.leaderboard(per := '{per}')")) == whole


def test_a_column_that_is_not_there_is_named_with_those_that_are(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(StoreError, match=r"`per` is one of scenario, metric, .*subject, level"):
        run_query(connection, "from edubench.leaderboard(per := 'subjct')")


@pytest.mark.parametrize("filter", ["metric := 'accuracy'", "evaluator := 'qwen/judge'"])
def test_a_filter_of_the_leaderboard_filters(connection: duckdb.DuckDBPyConnection, filter: str) -> None:
    assert [row["scores"] for row in rows(connection, f"from edubench.leaderboard({filter})")] == [8, 8]


def test_the_worst_replies_come_first_with_their_text(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.worst(2)")
    assert [(row["model"], row["item_id"], row["reply"], row["mean"]) for row in found] == [
        ("m1", "i3", "答 3", 4.5),
        ("m1", "i0", "答 0", 5.0),
    ]


def test_disagreements_are_those_of_two_judges_widest_first(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.disagreements()")
    assert {row["item_id"] for row in found} == {"i1", "i3"}
    assert len(found) == 2 * 2 * 2
    assert found[0]["apart"] == 1
    assert found[0]["given"] == "qwen/judge 5, openai/judge 6"
    assert rows(connection, "from edubench.disagreements(least := 1)") == []


def test_agreement_is_exact_within_one_and_by_how_much(connection: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(connection, "from edubench.agreement()")
    assert (row["evaluator_a"], row["evaluator_b"], row["n"]) == ("openai/judge", "qwen/judge", 16)
    assert (row["exact"], row["within_1"], row["mean_difference"]) == (0.5, 1.0, 0.5)
    assert 0.7 < row["correlation"] < 1


def test_agreement_takes_the_last_round_of_a_rater(store: Store, run_rows: Build) -> None:
    """A rater who comes back agrees with what the judge gave; the first round does not count beside it."""
    store.append(run_rows("r1", ("m1",)))
    for number, off in ((1, 3.0), (2, 0.0)):
        again = run_rows("r1", ("m1",), judge="human/anna", value=lambda model, item, off=off: 5.0 - off + item % 3)
        scores = [{**row, "score_id": f"{row['score_id']} {number}", "round": number} for row in again["scores"]]
        store.append({"scores": scores})
    (row,) = rows(connect(store), "from edubench.agreement()")
    assert (row["n"], row["exact"], row["mean_difference"]) == (8, 1.0, 0.0)


def test_the_leaderboard_never_averages_scores_of_different_scales(mixed: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["scale"]): row["scores"] for row in rows(mixed, "from mixed.leaderboard()")}
    # Of true and false there are three: what is right, what is firm, and how many.
    assert {scale for _, scale in found} == {"0..1", "1..5", "room"}
    assert (found["mock/careful", "0..1"], found["mock/careful", "1..5"]) == (9, 3)


def test_the_leaderboard_compares_a_baseline_with_means_of_the_same_metrics_only(
    mixed: duckdb.DuckDBPyConnection,
) -> None:
    nothing = "baseline/constant:nothing"
    on_right = {row["model"]: row for row in rows(mixed, "from mixed.leaderboard(metric := 'right')")}
    assert on_right["mock/careful"]["no_better_than"] == nothing
    # That baseline has no score of how many, so its mean is one of two metrics where the model's is of three.
    board = {row["model"]: row for row in rows(mixed, "from mixed.leaderboard()") if row["scale"] == "0..1"}
    assert board["mock/careful"]["mean"] < board[nothing]["mean"]
    assert (board[nothing]["without"], board["mock/careful"]["no_better_than"]) == (3, None)


def test_the_leaderboard_takes_no_number_of_unknown_direction_for_a_mark(mixed: duckdb.DuckDBPyConnection) -> None:
    query = "from mixed.leaderboard(metric := 'room')"
    assert [row["no_better_than"] for row in rows(mixed, query)] == [None] * 2


def test_the_worst_replies_are_ranked_by_where_they_stand_on_their_scales(mixed: duckdb.DuckDBPyConnection) -> None:
    worst = rows(mixed, "from mixed.worst(100, scenario := 'sums')")
    assert [row["share"] for row in worst] == sorted(row["share"] for row in worst)
    assert all(0 <= row["share"] <= 1 and row["mean"] is None for row in worst)
    (first, *_) = rows(mixed, "from mixed.worst(100, metric := 'room')")
    assert first["share"] is None
    assert first["mean"] < 0


def test_a_judge_that_gives_one_grade_correlates_with_nobody(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    flat = run_rows("r2", judge="flat", value=lambda model, item: 5.0, minutes=1)
    roles = {"candidate": flat["runs"][0]["models"], "judge": ["flat", "openai/judge"]}
    store.append({**flat, "runs": [flat["runs"][0] | {"roles": json.dumps(roles)}]})
    (row,) = rows(connect(store), "from edubench.agreement()")
    assert row["correlation"] is None


def test_reasons_are_of_the_lowest_scores(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "from edubench.reasons(3, metric := 'accuracy')")
    assert [(row["value"], row["reason"]) for row in found] == [(4.0, "accuracy: 因为")] + [(5.0, "accuracy: 因为")] * 2


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
