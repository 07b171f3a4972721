"""Boards that a store keeps are those that its scores give, and never out of date."""

from __future__ import annotations

import functools
import itertools
import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.warehouse.small_run import START, rows_of_run, small_plan
from tripos_compiler.language.plan_diff import are_comparable
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.report import named_boards
from tripos_warehouse.report.leaderboard import Board, leaderboard
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import view_cache
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import all_runs

Build = Callable[..., dict[str, list[dict[str, Any]]]]
MODELS = ("lab/one", "lab/two", "lab/three")


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_boards, "MANY_BYTES", 0)


@pytest.fixture
def full(store: Store, run_rows: Build) -> Store:
    store.append(run_rows("r1", MODELS, items=8))
    return store


def boards(store: Store, wanted: Mapping[str, Sequence[str]] = {}, **more: Any) -> list[Board]:
    """Return the boards, from what is kept where that is of use."""
    return named_boards.stored_leaderboard(store, wanted, comparable=are_comparable, **more)


def plain(store: Store) -> list[Board]:
    """Return the boards that the scores give."""
    with connect(store) as connection:
        return leaderboard(connection, all_runs(connection), comparable=are_comparable)


def kept(store: Store) -> int:
    """Return how many lists of boards are kept for the store as it is."""
    state = named_boards._state_of(store)
    return 0 if state is None else len(named_boards._read(store.root, state))


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("the scores are read")


def test_the_second_time_no_score_is_read(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = boards(full)
    assert len(wanted[0].entries) == len(MODELS)
    assert wanted == plain(full)
    monkeypatch.setattr(named_boards, "connect", refuse)
    assert boards(full) == wanted
    assert boards(Store.open(full.root, create=False)) == wanted


def test_another_question_is_another_board(full: Store) -> None:
    [first] = boards(full)
    [other] = boards(full, {"edubench": ["overall"]}, anyway=True)
    assert kept(full) == 2
    assert boards(full) == [first]
    assert first.entries == other.entries


def test_a_small_store_keeps_none(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_boards, "MANY_BYTES", 10**9)
    boards(full)
    assert not (full.root / "cache" / named_boards.NAME).exists()


def test_another_tripos_makes_them_anew(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    boards(full)
    assert kept(full) == 1
    monkeypatch.setattr(view_cache, "code_version", lambda: "a later one")
    assert kept(full) == 0


def test_a_figure_that_a_disk_spoilt_is_made_anew(full: Store) -> None:
    wanted = boards(full)
    path = full.root / "cache" / named_boards.NAME
    text = path.read_text("utf-8")
    told = json.dumps(wanted[0].entries[0].value)
    assert told in text
    path.write_text(text.replace(told, "9.75"), "utf-8")
    assert kept(full) == 0
    assert boards(full) == wanted
    assert kept(full) == 1


def test_a_part_that_is_gone_is_told_all_the_same(full: Store) -> None:
    boards(full)
    full.parts("scores")[0].unlink()
    with pytest.raises(StoreError, match="missing or unreadable"):
        boards(Store.open(full.root, create=False))
    tolerant = Store.open(full.root, create=False, tolerant=True)
    assert all(not board.entries for board in boards(tolerant))
    assert tolerant.damages


def _value(high: int, model: int, item: int) -> float:
    return float(1 + (model * 3 + item * high) % 10)


@settings(max_examples=sized(2, 40), deadline=None)
@given(st.integers(0, 10**6))
def test_kept_boards_are_those_of_the_scores_after_any_history(seed: int) -> None:
    chance, ticks, plan = random.Random(seed), itertools.count(), small_plan()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder, create=True, clock=lambda: START + timedelta(seconds=next(ticks)))
        for number in range(4):
            match chance.choice(("run", "run", "again", "people", "compact")) if number else "run":
                case "compact":
                    compact(store)
                    collect(store)
                case what:
                    judge = f"human/{chance.choice('ab')}" if what == "people" else chance.choice(("j/one", "j/two"))
                    models = tuple(chance.sample(MODELS, chance.randint(1, 3)))
                    high = chance.randint(1, 9)
                    rows = rows_of_run(
                        plan,
                        f"r{chance.randint(0, 1) if what == 'again' else number}",
                        models,
                        items=chance.randint(1, 8),
                        judge=judge,
                        value=functools.partial(_value, high),
                        minutes=number,
                        status=chance.choice(("ok", "ok", "provider_error")),
                    )
                    store.append(rows)
            wanted = plain(store)
            assert boards(store) == wanted
            assert boards(store) == wanted
            assert kept(store) == 1
