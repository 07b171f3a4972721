"""Grades from outside a run: kept once, in the place of what they change, and whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.warehouse.small_run import FRESH_GRADE, START
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.imported_scores import ImportedScore, KeptCounts, store_scores
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import RunRecord, find_run

Build = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def run(store: Store, run_rows: Build) -> RunRecord:
    store.append(run_rows("r1"))
    return find_run(connect(store), "r1")


def grade(item: int = 0, value: float = 7.0, reason: str | None = "clear") -> list[ImportedScore]:
    """Return what a person gave one reply: a score on two metrics."""
    sample = f"fafa-openai/gpt-i{item}"
    about = {"sample_id": sample, "run_id": "r1", "benchmark": "edubench", "scenario": "QA", "item_id": f"i{item}"}
    return [
        ImportedScore(
            score_id=f"{sample}-anna-{metric}",
            judgement_id=f"{sample}-anna",
            sample={**about, "model": "openai/gpt", "binding": "openai/gpt by given"},
            scorer="rubric",
            metric=metric,
            evaluator="human/anna",
            value=value,
            rationale=reason,
            judgement=FRESH_GRADE,
            fingerprint=FRESH_GRADE,
            key=metric,
        )
        for metric in ("instruction_following", "accuracy")
    ]


def values(store: Store, run_id: str | None = None) -> list[tuple[Any, ...]]:
    query = "select item_id, value from edubench.scores where evaluator = 'human/anna' order by all"
    return connect(store, run_id).execute(query).fetchall()


def test_grades_are_kept_once(store: Store, run: RunRecord) -> None:
    assert store_scores(store, grade(0) + grade(1), START) == KeptCounts(new=2)
    commits = store.commits()
    assert store_scores(store, grade(0) + grade(1), START) == KeptCounts(same=2)
    assert store.commits() == commits
    assert values(store) == [("i0", 7.0), ("i0", 7.0), ("i1", 7.0), ("i1", 7.0)]


@pytest.mark.parametrize("changed", [grade(0, value=3.0), grade(0, reason="not so clear"), grade(0, reason=None)])
def test_a_grade_that_differs_takes_the_place_of_the_earlier_one(
    store: Store, run: RunRecord, changed: list[ImportedScore]
) -> None:
    store_scores(store, grade(0) + grade(1), START)
    assert store_scores(store, changed + grade(1), START) == KeptCounts(changed=1, same=1)
    assert values(store)[0] == ("i0", changed[0].value)
    query = "select distinct reason from edubench.rationales where evaluator = 'human/anna' and item_id = 'i0'"
    assert connect(store).execute(query).fetchall() == [(changed[0].rationale,)]


def test_a_grade_goes_back_to_what_it_was(store: Store, run: RunRecord) -> None:
    for value in (7.0, 3.0, 7.0):
        store_scores(store, grade(0, value=value), START)
    assert values(store) == [("i0", 7.0), ("i0", 7.0)]


def test_people_show_in_the_views_of_a_run_and_models_of_others_do_not(store: Store, run: RunRecord) -> None:
    store_scores(store, grade(0), START)
    other = {"judgement_id": "other", "evaluator": "openai/other"}
    of_another_run = {"binding": "openai/gpt by openai/other"}
    store_scores(
        store,
        [
            replace(each, score_id=f"other-{each.metric}", sample={**each.sample, **of_another_run}, **other)
            for each in grade(0)
        ],
        START,
    )
    connection = connect(store, "r1")
    for view in ("scores", "judgements"):
        found = connection.execute(f"select distinct evaluator from edubench.{view} order by all").fetchall()
        assert found == [("human/anna",), ("openai/judge",)]


def test_of_grades_that_fit_no_table_none_is_kept(store: Store, run: RunRecord) -> None:
    bad = [replace(each, sample={**each.sample, "item_id": None}) for each in grade(1)]
    with pytest.raises(StoreError, match="S0105"):
        store_scores(store, grade(0) + bad, START)
    assert values(store) == []


def test_no_grades_make_no_commit(store: Store, run: RunRecord) -> None:
    commits = store.commits()
    assert store_scores(store, [], START) == KeptCounts()
    assert store.commits() == commits
