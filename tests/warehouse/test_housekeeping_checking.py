"""Checking: every damage is found and told once, and equal work has equal digests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.warehouse.keeping import AT, PRINTS, die, sample, score, unit
from tests.warehouse.rewriting import take_as_written, write_commit
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.check import StoreCheck, check_store
from tripos_warehouse.store.locks import Locks
from tripos_warehouse.store.store import Store


def digests(store: Store) -> dict[str, str | None]:
    return {table.table: table.digest for table in check_store(store).tables}


def codes(found: StoreCheck) -> list[str]:
    return [damage.code for damage in found.damages]


def test_a_whole_store_is_whole(store: Store) -> None:
    assert check_store(store).damages == ()
    store.append(unit(1))
    found = check_store(store)
    assert found.damages == ()
    assert (found.commits, found.replaced, found.live, found.left) == (1, 0, 0, 0)
    assert {table.table: (table.parts, table.rows) for table in found.tables if table.rows} == {
        "samples": (1, 1),
        "scores": (1, 1),
    }


def test_two_stores_of_the_same_work_have_the_same_digests(tmp_path: Path) -> None:
    one = Store.open(tmp_path / "one", create=True)
    one.append({"samples": [sample(1), sample(2)], "scores": [score(1), score(2)]})
    other = Store.open(tmp_path / "other", create=True)
    later = {"run_id": "r9", "created_at": AT.replace(year=2027)}
    other.append({"samples": [sample(2, status="provider_error", reply=None)]})
    other.append({"scores": [score(2, **later)], "samples": [sample(2, latency_s=9.0, attempts=4, **later)]})
    other.append({"samples": [sample(1)], "scores": [score(1)]})
    assert digests(one) == digests(other)
    [found] = [table for table in check_store(other).tables if table.table == "samples"]
    assert (found.rows, found.doubles) == (2, 1)


@pytest.mark.parametrize("change", [{"reply": "other"}, {"cost_usd": 0.002}, {"context": {}}, {"parsed": "null"}])
def test_another_content_has_another_digest_and_the_order_of_a_map_is_none(
    tmp_path: Path, change: dict[str, object]
) -> None:
    def digest(name: str, **changes: object) -> object:
        store = Store.open(tmp_path / name, create=True)
        store.append({"samples": [sample(1, **changes)]})
        return digests(store)["samples"]

    assert digest("plain") != digest("changed", **change)
    assert digest("one", context={"a": "1", "b": "2"}) == digest("other", context={"b": "2", "a": "1"})


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def garble(path: Path) -> None:
    path.write_bytes(b"x" * path.stat().st_size)


def garble_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[10:200] = b"x" * 190
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("harm", [Path.unlink, cut, garble, garble_inside])
def test_a_damaged_part_is_told_once(store: Store, harm: Callable[[Path], None]) -> None:
    store.append(unit(1))
    [path] = store.parts("samples")
    path.chmod(0o644)
    harm(path)
    found = check_store(store)
    assert codes(found) == ["S0401"]
    [samples] = [table for table in found.tables if table.table == "samples"]
    assert samples.digest is None


def change_commit(store: Store, name: str, **changes: object) -> Store:
    path = store.root / "commits" / f"{name}.json"
    body = json.loads(path.read_text())
    body["parts"][0] |= changes
    write_commit(path, body)
    return Store.open(store.root, create=False)


def test_a_part_with_other_rows_than_its_commit_says_is_told(store: Store) -> None:
    commit = store.append(unit(1))
    found = check_store(change_commit(store, commit.name, rows=2))
    assert codes(found) == ["S0401"]
    assert "has 1 rows, and commit" in found.damages[0].message


def test_a_part_with_a_strange_column_is_told(store: Store) -> None:
    commit = store.append({"samples": [sample(1)]})
    path = store.root / commit.parts[0].path
    content = pq.read_table(path)
    path.unlink()
    pq.write_table(content.append_column("colour", [["red"]]), path)
    take_as_written(store.root)
    found = check_store(Store.open(store.root, create=False))
    assert codes(found) == ["S0401"]
    assert "has a column `colour`" in found.damages[0].message


def test_a_damaged_commit_is_told_and_the_rest_is_checked(store: Store) -> None:
    store.append(unit(1))
    (store.root / "commits" / "broken.json").write_text("{")
    found = check_store(store)
    assert codes(found) == ["S0402"]
    assert sum(table.rows for table in found.tables) == 2


def test_a_commit_under_another_name_is_told(store: Store) -> None:
    commit = store.append(unit(1))
    path = store.root / "commits" / f"{commit.name}.json"
    path.rename(path.with_name("renamed.json"))
    assert codes(check_store(store)) == ["S0402"]


def test_scores_of_replies_that_are_gone_are_told(store: Store) -> None:
    store.append({"samples": [sample(1)]})
    store.append({"scores": [score(1), score(2), score(3, status="not_applicable", value=None)]})
    [damage] = check_store(store).damages
    assert damage.code == "S0403"
    assert damage.message.startswith("1 rows of `scores` are about rows that `samples` lacks")


def test_scores_of_judgements_that_are_gone_are_told(store: Store) -> None:
    store.append({"samples": [sample(1)], "scores": [score(1, judgement_id="j", evaluator="m")]})
    assert codes(check_store(store)) == ["S0403"]


def test_a_living_journal_is_counted_and_a_rejected_one_is_told(store: Store) -> None:
    ledger = open_ledger(Store.open(store.root, create=False), PRINTS)
    ledger.keep(unit(1))
    found = check_store(store)
    assert (found.live, found.left, found.damages) == (1, 0, ())
    ledger.keep({"scores": [score(2, value="seven")]})
    die(ledger)
    assert codes(check_store(store)) == ["S0404"]
    found = check_store(Store.open(store.root, create=False))
    assert (found.live, found.left, codes(found)) == (0, 0, ["S0404"])
    assert "rejected" in found.damages[0].message


def test_a_store_that_cannot_be_written_is_checked_beside_a_journal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no")

    ledger = open_ledger(Store.open(store.root, create=False), PRINTS)
    ledger.keep(unit(1))
    die(ledger)
    monkeypatch.setattr(Locks, "__init__", refuse)
    found = check_store(Store.open(store.root, create=False))
    assert (found.live, found.left, found.damages) == (1, 0, ())
