"""Claims: one process works on a piece of work, and the next one sees what it kept."""

from __future__ import annotations

import errno
import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.keeping import PRINTS, die, name, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store import locks as locks_module
from tripos_warehouse.store.journal import segments
from tripos_warehouse.store.locks import CLAIM, SEGMENT, Locks, lock_offset
from tripos_warehouse.store.store import Store


def two(store: Store) -> tuple[RunLedger, RunLedger]:
    return open_ledger(store, PRINTS), open_ledger(Store.open(store.root, create=False), PRINTS)


def test_a_claim_is_had_by_one_until_its_owner_lets_it_go(store: Store) -> None:
    mine, other = two(store)
    assert mine.claim("a")
    assert mine.claim("a")
    assert not other.claim("a")
    assert other.claim("b")
    assert not mine.claim("b")
    other.release("a")
    other.flush()
    assert not other.claim("a"), "it was released by one that does not have it"
    mine.release("a")
    mine.release("a")
    mine.flush()
    assert other.claim("a")
    other.close()
    assert mine.claim("b"), "a closed ledger has claims"


def test_a_released_claim_is_free_after_a_flush_that_succeeds_and_its_rows_can_be_read_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = two(store)
    mine.claim("a")
    mine.claim("b")
    mine.keep(unit(1))
    mine.release("a")
    assert not other.claim("a")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr("tripos_warehouse.store.store.write_part", full)
        with pytest.raises(StoreError):
            mine.flush()
    assert not other.claim("a")
    mine.flush()
    assert other.claim("a")
    assert not other.claim("b")
    assert other.refresh()
    assert other.statuses("samples", [name("sample", 1)]) == ["ok"]


def test_who_takes_over_reads_what_one_had_kept_that_died_while_another_was_recovered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = two(store)
    third = open_ledger(Store.open(store.root, create=False), PRINTS)
    for number, (ledger, key) in enumerate(((mine, "a"), (other, "b"))):
        ledger.claim(key)
        ledger.keep(unit(number))
    die(mine)
    recover = Store.recover

    def recover_while_another_dies(self: Store) -> int:
        found = recover(self)
        if other._locks._file >= 0:
            die(other)
        return found

    monkeypatch.setattr(Store, "recover", recover_while_another_dies)
    assert third.claim("a")
    third.refresh()
    assert third.statuses("samples", [name("sample", 0), name("sample", 1)]) == ["ok", "ok"]
    assert third.claim("b")


def test_one_refresh_takes_in_what_several_had_kept_that_died(store: Store) -> None:
    mine, other = two(store)
    third = open_ledger(Store.open(store.root, create=False), PRINTS)
    for number, (ledger, key) in enumerate(((mine, "a"), (other, "b"))):
        ledger.claim(key)
        ledger.keep(unit(number))
        die(ledger)
    assert third.claim("a")
    assert third.claim("b")
    assert third.refresh()
    assert third.statuses("samples", [name("sample", 0), name("sample", 1)]) == ["ok", "ok"]


def test_who_takes_over_from_one_that_died_in_a_flush_reads_the_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = two(store)
    mine.claim("a")
    mine.keep(unit(1))
    mine.release("a")
    other.refresh()

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tripos_warehouse.store.commits.bump_change_counter", killed)
        with pytest.raises(Killed):
            mine.flush()
    die(mine)
    assert other.claim("a")
    assert other.refresh()
    assert other.statuses("samples", [name("sample", 1)]) == ["ok"]


def test_the_journal_of_the_living_is_left_alone_by_who_claims(store: Store) -> None:
    mine, other = two(store)
    mine.keep(unit(1))
    assert other.claim("a")
    assert len(segments(store.root)) == 1


def test_a_journal_that_nobody_can_commit_is_tried_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    (store.root / "journal" / "a.jsonl").write_bytes(b'{"format":"tripos.journal/9"}\n')
    (store.root / "ticks").write_bytes(b".")
    tried = []
    recover = Store.recover
    monkeypatch.setattr(Store, "recover", lambda self: tried.append(1) or recover(self))
    for number in range(5):
        assert ledger.claim(str(number))
        ledger.refresh()
    assert tried == [1]


def test_where_there_are_no_locks_every_claim_is_had(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks_module.fcntl, "fcntl", refuse)
    mine, other = two(store)
    assert mine.claim("a")
    assert other.claim("a")


def test_locks_of_a_process_exclude_each_other_as_those_of_an_open_file_do(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks_module.sys, "platform", "darwin")
    monkeypatch.setattr(locks_module._OfProcess, "_instances", {})
    place = lock_offset(CLAIM, "a")
    mine, other = Locks(store.root), Locks(store.root)
    assert mine.hold(place)
    assert mine.hold(place)
    assert other.others_hold(place)
    assert not mine.others_hold(place)
    assert not other.hold(place)
    mine.close()
    assert not other.others_hold(place)
    assert other.share(place)
    other.free(place)
    assert mine.hold(place)


def test_a_store_that_nobody_uses_any_more_leaves_no_file_open(store: Store) -> None:
    if sys.platform != "linux":
        pytest.skip("elsewhere one file is open for all")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        assert Store.open(store.root, create=False).locks.real
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


def test_no_claim_shares_a_byte_with_a_segment() -> None:
    names = [str(number) for number in range(100)]
    assert max(lock_offset(CLAIM, each) for each in names) < 2**62 <= min(lock_offset(SEGMENT, each) for each in names)
