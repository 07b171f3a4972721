"""Copies of scores for the time of a report: the same rows before, with and after them, and none of too many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.lengths import sized
from tripos_compiler.plan import Plan
from tripos_warehouse.measures import jackknife
from tripos_warehouse.measures.differences import measure_differences, model_differences
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect
from tripos_warehouse.views.connect import connect_run, copied_scores
from tripos_warehouse.views.runs import RunRecord, get_selected

SPEC = """\
benchmark counted "1.0.0" {
  languages en
  headline both
}
role candidate compared
dataset item from "items.jsonl" { number integer, even bool secret }
arm hint { none, some }
scenario parity {
  over item
  arms hint
  ask reply by candidate { prompt "{{ item.number }}{{ hint }}" }
  score right = contains(reply.text, "e")
  score long  = words(reply.text)
  measure f = f1(right, item.even, average: binary)
}
measure accuracy = mean(parity.right) by hint
measure words    = sum(parity.long) / 12
measure both     = mean(parity.right) / 2 + mean(parity.long) / 100
"""
ROWS = "select * exclude (created_at) from counted.scores order by all"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counted")
    (folder / "counted.tripos").write_text(SPEC, "utf-8")
    rows = (json.dumps({"number": number, "even": number % 2 == 0}) for number in range(sized(12, 30)))
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")
    return folder


@pytest.fixture
def store(ran: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(ran)
    if not (ran / "results").exists():
        outcome = once("run", "counted.tripos", "--model", "mock/careful", "--model", "mock/careless")
        assert outcome.code == 0, outcome.err
    return Store.open(ran / "results", create=False)


def copies(connection: Connection) -> int:
    """Return how many copies there are."""
    query = "select count(*) from duckdb_tables() where table_name like '% in memory'"
    [(count,)] = connection.execute(query).fetchall()
    return int(count)


def test_rows_are_the_same_with_a_copy_and_without(store: Store) -> None:
    connection, _ = connect_run(store)
    with connection:
        before = connection.execute(ROWS).fetchall()
        tables = copies(connection)
        with copied_scores(connection, "counted"), copied_scores(connection, "counted"):
            assert connection.execute(ROWS).fetchall() == before
            assert copies(connection) > tables
        assert connection.execute(ROWS).fetchall() == before
        assert copies(connection) == tables


def test_too_many_rows_are_not_copied(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "MOST_ROWS", 10)
    connection, _ = connect_run(store)
    with connection:
        tables = copies(connection)
        with copied_scores(connection, "counted"):
            assert copies(connection) == tables


def results(store: Store) -> tuple[list[str], list[str], list[str]]:
    """Return every difference of two models, as text with ten digits; measures with an interval come first."""
    connection, run = connect_run(store)
    plan: Plan = get_selected(connection, run)
    one: RunRecord = run
    items = [item for (item,) in connection.execute("select distinct item_id from counted.scores").fetchall()]
    pairs, sides = [], []
    with connection:
        for measure in plan.measures:
            found = model_differences(Side(connection, plan, one.models), measure, items=items)
            pairs += [f"{measure.name} {names} {shown(each)}" for names, each in found.items()]
            halves = [Side(connection, plan, (model,)) for model in one.models]
            for cell in measure_differences(halves[0], halves[1], measure, items=items):
                sides.append(f"{measure.name} {cell.cell} {cell.a:.10g} {cell.b:.10g} {shown(cell.difference)}")
        rows = [str(row) for row in connection.execute(ROWS).fetchall()]
    return pairs, sides, rows


def shown(result: object) -> str:
    numbers = [getattr(result, name) for name in ("value", "standard_error", "low", "high", "p")]
    told = " ".join("none" if each is None else f"{each + 0.0:.10g}" for each in numbers)
    return f"{told} {getattr(result, 'reason', None)}"


def test_groups_left_out_side_by_side_come_to_the_same_as_one_after_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jackknife, "MOST_GROUPS", sized(5, 20))
    at_once = results(store)
    monkeypatch.setattr(jackknife, "MOST_ROWS", 1)
    assert results(store) == at_once
    monkeypatch.setattr(jackknife, "MOST_ROWS", sized(200, 500))
    assert results(store) == at_once
    assert len(at_once[0]) >= 3 and len(at_once[1]) >= 4
    assert any("none" not in each for each in at_once[1])
