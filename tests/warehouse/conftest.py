"""A small benchmark and the rows of its runs, for the tests of the warehouse."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.warehouse.bound import bound
from tests.warehouse.small_run import START, Rows, rows_of_run, small_plan
from tripos_compiler.plan import Plan
from tripos_warehouse.store.store import Store


@pytest.fixture
def plan() -> Plan:
    return small_plan()


@pytest.fixture
def run_rows(plan: Plan) -> Callable[..., Rows]:
    """The rows of one run: `items` questions for each model, a judgement each, two scores each."""
    return functools.partial(rows_of_run, plan)


@pytest.fixture(autouse=True)
def _bound_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are written by hand have the bindings that a run would have given them."""
    append = Store.append
    monkeypatch.setattr(Store, "append", lambda store, rows, name=None: append(store, bound(rows), name))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store whose clock ticks a second a commit."""
    ticks = itertools.count()
    yield Store.open(tmp_path / "results", create=True, clock=lambda: START + timedelta(seconds=next(ticks)))


@pytest.fixture
def full(store: Store, run_rows: Callable[..., Rows]) -> Store:
    """A store with a failure that was made good, so that some rows do not count."""
    store.append(run_rows("r1", status="provider_error"))
    store.append(run_rows("r1", minutes=1))
    return store
