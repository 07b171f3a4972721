"""A store on a bucket: what one process commits another one reads, whatever a third does meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.bucket.conftest import enter
from tests.bucket.stand_in import Serving, serving
from tests.warehouse.keeping import ASKED, PRINTS, name, sample
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.bucket.bucket import Bucket, slot_name
from tripos_warehouse.store.bucket.catalog import Objects
from tripos_warehouse.store.store import Store


def elsewhere(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: str) -> Store:
    """Open the store as another machine does, whose cache is its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
    return Store.open(address, create=True)


def names(store: Store) -> list[str]:
    """Return the names of all committed replies."""
    return sorted(
        row["sample_id"] for row in store.rows("samples", [name("sample", each) for each in range(50)]).values()
    )


def wanted(*numbers: int) -> list[str]:
    return sorted(name("sample", number) for number in numbers)


def test_what_one_machine_commits_another_one_reads(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Store.open(address, create=True)
    first.append({"samples": [sample(1)]})
    second = elsewhere(address, monkeypatch, tmp_path, "other")
    assert names(second) == wanted(1)
    second.append({"samples": [sample(2)]})
    assert names(Store.open(address, create=False)) == wanted(1, 2)
    assert first.place == address
    assert check_store(second).damages == ()


def test_a_ledger_uploads_and_commits_and_leaves_no_session(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_ledger(Store.open(address, create=True), PRINTS) as ledger:
        assert ledger.claim("case 1")
        ledger.refresh()
        ledger.keep({"samples": [sample(1)]})
        ledger.keep({"samples": [sample(2)]})
        ledger.release("case 1")
    store = elsewhere(address, monkeypatch, tmp_path, "other")
    assert names(store) == wanted(1, 2)
    assert store.bucket is not None
    assert store.bucket.catalog().sessions == {}


def test_two_workers_never_have_the_same_claim_and_see_what_the_other_uploaded(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_ledger(Store.open(plain, create=True), PRINTS)
    assert first.claim("case 1")
    first.refresh()
    first.keep({"samples": [sample(1)]})
    second = open_ledger(elsewhere(plain, monkeypatch, tmp_path, "other"), PRINTS)
    assert not second.claim("case 1")
    first.release("case 1")
    until(lambda: handed_over(first, second, "case 1"))
    second.refresh()
    assert second.statuses("samples", [name("sample", 1), name("sample", 2)]) == ["ok", None]
    assert second.rows("samples", [name("sample", 1)])[name("sample", 1)]["reply"] == "答 1"
    assert second.fingerprints() == {ASKED}
    assert not first.claim("case 1")
    second.close()
    first.close()
    assert names(Store.open(plain, create=False)) == wanted(1)


def handed_over(first: RunLedger, second: RunLedger, key: str) -> bool:
    first.flush()
    return second.claim(key)


def taken_over(ledger: RunLedger, key: str) -> bool:
    ledger.flush()  # as a run does before each of its passes
    return ledger.claim(key)


def until(holds: object, timeout_s: float = 30) -> None:
    ends = time.monotonic() + timeout_s
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < ends, "it did not come to hold"
        time.sleep(0.2)


def test_a_silent_worker_is_sealed_and_what_it_uploaded_is_committed_once(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bucket.open(plain, create=True, root=tmp_path / "made", lease_s=2.0)
    first = open_ledger(Store.open(plain, create=False), PRINTS)
    assert first.claim("case 1")
    first.refresh()
    first.keep({"samples": [sample(1)]})
    first._session.drain()  # type: ignore[attr-defined]
    first._session.stop()  # type: ignore[attr-defined] - as a machine that is cut off: no sign of life any more
    first.keep({"samples": [sample(2)]})
    second = open_ledger(elsewhere(plain, monkeypatch, tmp_path, "other"), PRINTS)
    until(lambda: taken_over(second, "case 1"))
    second.refresh()
    assert second.statuses("samples", [name("sample", 1), name("sample", 2)]) == ["ok", None]
    second.keep({"samples": [sample(2, reply="of the second")]})
    with pytest.raises(StoreError, match="S0112"):
        first.flush()
    second.close()
    with pytest.raises(StoreError, match="S0112"):
        first.close()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told: list[StoreError] = []
    store = Store.open(plain, create=False, on_damage=told.append)
    assert names(store) == wanted(1, 2)
    assert store.rows("samples", [name("sample", 2)])[name("sample", 2)]["reply"] == "of the second"
    assert [table.doubles for table in check_store(store).tables if table.table == "samples"] == [0]


def test_a_journal_that_was_not_uploaded_is_taken_up_on_the_same_machine(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_ledger(Store.open(plain, create=True), PRINTS)
    assert first.claim("case 1")
    first.refresh()
    first.keep({"samples": [sample(1)]})
    first._session.drain()  # type: ignore[attr-defined]
    first._session.stop()  # type: ignore[attr-defined]
    first.keep({"samples": [sample(2)]})
    first._locks.close()  # as a process that was killed lets go of its locks
    assert names(elsewhere(plain, monkeypatch, tmp_path, "other")) == wanted(1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = Store.open(plain, create=False)
    assert names(store) == wanted(1, 2)
    assert store.bucket is not None
    assert store.bucket.catalog().sessions == {}
    assert [table.doubles for table in check_store(store).tables if table.table == "samples"] == [0]


def test_compaction_and_collection_leave_every_reader_whole(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(address, create=True)
    for number in range(5):
        store.append({"samples": [sample(number)]})
    other = elsewhere(address, monkeypatch, tmp_path, "other")
    before = check_store(other)
    assert compact(store) is not None
    assert [each.why for each in collect(store) if each.path.startswith("parts/")].count(
        "the catalog does not list it"
    ) == 5
    again = elsewhere(address, monkeypatch, tmp_path, "other")
    assert names(again) == wanted(*range(5))
    assert len(again.parts("samples")) == 1
    assert [each.digest for each in check_store(again).tables] == [each.digest for each in before.tables]
    assert names(elsewhere(address, monkeypatch, tmp_path, "third")) == wanted(*range(5))
    assert compact(other) is None or names(other) == wanted(*range(5))


def test_collection_leaves_seals_and_the_last_slot_of_a_session_that_lives(plain: str) -> None:
    store = Store.open(plain, create=True)
    ledger = open_ledger(store, PRINTS)
    assert store.bucket is not None
    (session,) = store.bucket.catalog().sessions
    ledger.claim("case 1")
    ledger.refresh()
    for number in range(3):
        ledger.keep({"samples": [sample(number)]})
        ledger._session.drain()  # type: ignore[attr-defined]
    ledger._commit_log()  # type: ignore[attr-defined]
    gone = [each.path for each in collect(store) if each.path.startswith("logs/")]
    assert gone == [slot_name(session, number) for number in range(3)]
    ledger.keep({"samples": [sample(4)]})
    ledger.close()
    collect(store)
    (seal,) = store.bucket.objects.sizes("logs")
    assert seal.startswith(f"logs/{session}/")
    assert names(Store.open(plain, create=False)) == wanted(0, 1, 2, 4)


def test_no_store_no_bucket_no_rights_no_network_and_no_conditions_are_errors_with_a_code(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address, create, code in (
        (plain, False, "S0101"),
        ("s3://no-such-bucket/results", True, "S0108"),
        ("s3://locked/results", True, "S0109"),
    ):
        with pytest.raises(StoreError, match=code):
            Store.open(address, create=create)
    with serving(conditional=False) as careless:
        enter(careless, tmp_path, monkeypatch)
        with pytest.raises(StoreError, match="S0111"):
            Store.open(plain, create=True)
    enter(Serving(1), tmp_path, monkeypatch)
    objects = Objects.at(plain)
    objects._patience_s = 0.2
    with pytest.raises(StoreError, match="S0110"):
        Bucket.open(plain, create=True, objects=objects)
