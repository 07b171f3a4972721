"""The journal: what was kept outlives the process, whatever happens to the disk meanwhile."""

from __future__ import annotations

import errno
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import obstore.exceptions
import orjson
import pytest

from tests.warehouse.keeping import PRINTS, committed, die, name, sample, score, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store import commits, journal
from tripos_warehouse.store.journal import JournalSegment, Reserve, segments
from tripos_warehouse.store.store import Store


def path_of(store: Store) -> Path:
    [found] = segments(store.root)
    return store.root / "journal" / f"{found}.jsonl"


def samples(store: Store) -> list[str]:
    return committed(store, "samples", "sample_id")


def named(*numbers: object) -> list[str]:
    return [name("sample", number) for number in numbers]


def test_rows_that_were_kept_and_not_flushed_are_there_for_the_next_process(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    ledger.keep({"samples": [sample(2, reply="a\ud800b", context={"k": "\udfff"})]})
    die(ledger)
    again = Store.open(store.root, create=False)
    assert segments(store.root) == []
    found = open_ledger(again, PRINTS).rows("samples", named(1, 2))
    assert found[name("sample", 1)] == sample(1)
    assert (found[name("sample", 2)]["reply"], found[name("sample", 2)]["context"]) == ("a\ufffdb", {"k": "\ufffd"})


def test_the_journal_of_a_living_process_is_left_alone_and_a_flush_leaves_none(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    [segment] = segments(store.root)
    other = Store.open(store.root, create=False)
    assert (other.recover(), samples(other)) == (0, [])
    commit = ledger.flush()
    assert commit is not None and commit.name == segment
    assert segments(store.root) == []
    ledger.close()
    assert samples(other) == named(1)


@pytest.mark.parametrize("torn", [b'{"samples":[{"sam', orjson.dumps({"scores": []}), b"\xff\xfe"])
def test_a_line_without_its_line_feed_was_never_acknowledged(store: Store, torn: bytes) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    die(ledger)
    with path_of(store).open("ab") as file:
        file.write(torn)
    assert Store.open(store.root, create=False).commits() != []
    assert samples(store) == named(1)
    assert not (store.root / "journal" / "rejected").exists()


def test_an_empty_segment_goes_without_a_commit_and_one_of_a_newer_tripos_stays(store: Store) -> None:
    (store.root / "journal").mkdir()
    (store.root / "journal" / "a.jsonl").write_bytes(b"")
    (store.root / "journal" / "b.jsonl").write_bytes(b'{"format":"tripos.jour')
    assert store.recover() == 2
    assert (segments(store.root), store.commits()) == ([], [])
    header = {"format": journal.JOURNAL_FORMAT, "versions": {"samples": 99}}
    (store.root / "journal" / "a.jsonl").write_bytes(orjson.dumps(header) + b'\n{"samples":[{"x":1}]}\n')
    assert (store.recover(), segments(store.root)) == (0, ["a"])


def test_a_kill_between_the_commit_and_the_end_of_the_journal_commits_nothing_twice(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    path = path_of(store)
    shutil.copy(path, store.root / "copy")
    ledger.close()
    shutil.copy(store.root / "copy", path)
    assert Store.open(store.root, create=False).recover() == 0
    assert segments(store.root) == []
    assert samples(store) == named(1)
    assert len(list((store.root / "parts/samples").iterdir())) == 1


def test_a_kill_while_it_recovers_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    die(ledger)

    class Killed(BaseException):
        pass

    def kill(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(commits.obstore, "put", kill)
        with pytest.raises(Killed):
            store.recover()
    assert len(segments(store.root)) == 1
    assert store.recover() == 1
    assert samples(store) == named(1)


def test_a_value_that_fits_no_column_is_set_aside_and_the_rest_committed(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    ledger.keep({"scores": [score(2, value="seven")]})
    ledger.keep(unit(3))
    with pytest.raises(StoreError, match=r"S0105: `scores\.value` takes double"):
        ledger.flush()
    die(ledger)
    again = Store.open(store.root, create=False)
    assert samples(again) == named(1, 3)
    [aside] = (store.root / "journal" / "rejected").iterdir()
    assert orjson.loads(aside.read_bytes())["rows"]["scores"][0]["value"] == "seven"


def test_a_value_that_is_no_json_is_refused_before_it_is_kept(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    with pytest.raises(StoreError, match=r"S0105: `samples\.tokens_in` takes int64"):
        ledger.keep({"samples": [sample(1, tokens_in=2**70)]})
    assert ledger.flush() is None


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_keep_is_an_error_and_the_rows_go_with_a_later_flush(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    with monkeypatch.context() as patch:
        patch.setattr(JournalSegment, "append", full)
        with pytest.raises(StoreError, match=r"S0102: .*the disk is full"):
            ledger.keep(unit(2))
    ledger.keep(unit(3))
    ledger.close()
    assert samples(store) == named(1, 2, 3)
    assert segments(store.root) == []


def test_half_a_line_does_not_swallow_the_next_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    append = JournalSegment.append

    def half(self: JournalSegment, line: bytes) -> None:
        append(self, line[: len(line) // 2])
        full()

    with monkeypatch.context() as patch:
        patch.setattr(JournalSegment, "append", half)
        with pytest.raises(StoreError, match="S0102"):
            ledger.keep(unit(2))
    ledger.keep(unit(3))
    die(ledger)
    assert Store.open(store.root, create=False).recover() == 0
    assert sorted(samples(store)) == sorted(named(1, 3))


def test_no_room_for_a_journal_keeps_rows_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    with monkeypatch.context() as patch:
        patch.setattr("tripos_warehouse.ledger.ledger.JournalSegment", full)
        for number in (1, 2):
            with pytest.raises(StoreError, match="S0102"):
                ledger.keep(unit(number))
    assert ledger.statuses("samples", named(1, 2, 3)) == ["ok", "ok", None]
    ledger.flush()
    assert samples(store) == named(1, 2)


@pytest.mark.parametrize("dies", [False, True])
def test_a_full_disk_under_flush_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    with monkeypatch.context() as patch:
        patch.setattr("tripos_warehouse.store.store.write_part", full)
        with pytest.raises(StoreError, match=r"S0102: .*the disk is full"):
            ledger.flush()
    ledger.keep(unit(2))
    assert ledger.statuses("samples", named(1, 2)) == ["ok", "ok"]
    if dies:
        die(ledger)
        Store.open(store.root, create=False)
    else:
        ledger.flush()
    assert sorted(samples(store)) == sorted(named(1, 2))
    assert segments(store.root) == []


def test_a_commit_that_was_written_and_reported_as_failed_is_not_written_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    put = commits.obstore.put

    def put_and_fail(*args: Any, **options: Any) -> None:
        put(*args, **options)
        raise obstore.exceptions.GenericError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(commits.obstore, "put", put_and_fail)
        with pytest.raises(StoreError, match="S0102"):
            ledger.flush()
    ledger.keep(unit(2))
    ledger.flush()
    assert sorted(samples(store)) == sorted(named(1, 2))
    assert ledger.statuses("samples", named(1, 2)) == ["ok", "ok"]


def test_much_that_waits_is_flushed_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_warehouse.ledger.ledger.FLUSH_ROWS", 4)
    ledger = open_ledger(store, PRINTS)
    for number in range(5):
        ledger.keep(unit(number))
    assert samples(store) == named(0, 1, 2, 3)
    monkeypatch.setattr("tripos_warehouse.ledger.ledger.FLUSH_BYTES", 10)
    ledger.keep(unit(5))
    assert samples(store) == named(0, 1, 2, 3, 4, 5)


def test_without_locks_a_journal_is_left_for_an_hour(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    other = Store.open(store.root, create=False)
    other.locks.real = False
    written = path_of(store).stat().st_mtime
    for age, found in ((3000, 0), (4000, 1)):
        monkeypatch.setattr(other, "_clock", lambda age=age: datetime.fromtimestamp(written + age, UTC))
        assert other.recover() == found
    ledger.keep(unit(2))
    ledger.flush()
    assert set(samples(store)) == set(named(1, 2))


def test_a_disk_that_is_full_takes_what_is_under_way_into_the_room_that_was_reserved(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first write that finds no room says so, and is kept; those that follow are kept without a word."""
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    append, free, room = JournalSegment.append, Reserve.free, [0]

    def append_if_there_is_room(self: JournalSegment, line: bytes) -> None:
        if room[0] < len(line):
            full()
        room[0] -= len(line)
        append(self, line)

    def give_room(self: Reserve) -> bool:
        room[0] += 5000
        return free(self)

    monkeypatch.setattr(JournalSegment, "append", append_if_there_is_room)
    monkeypatch.setattr(Reserve, "free", give_room)
    with pytest.raises(StoreError, match=r"S0102: .*the disk is full"):
        ledger.keep(unit(2))
    ledger.keep(unit(3))
    die(ledger)
    assert sorted(samples(Store.open(store.root, create=False))) == sorted(named(1, 2, 3))


def test_what_no_disk_takes_is_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    monkeypatch.setattr(JournalSegment, "append", full)
    monkeypatch.setattr("tripos_warehouse.store.store.write_part", full)
    for number in (2, 3):
        with pytest.raises(StoreError, match="S0102"):
            ledger.keep(unit(number))
    with pytest.raises(StoreError, match="S0102"):
        ledger.close()
    assert ledger.lost == 2


def test_half_a_line_is_taken_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    before = path_of(store).read_bytes()
    write = journal.os.write

    def half(file: int, content: bytes) -> int:
        write(file, content[: len(content) // 2])
        full()
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(journal.os, "write", half)
        with pytest.raises(OSError, match="No space"):
            assert ledger._batch.segment is not None
            ledger._batch.segment.append(b"a line of some length\n")
    assert path_of(store).read_bytes() == before


def test_the_reserve_takes_room_and_goes_with_its_owner(store: Store) -> None:
    (store.root / "journal").mkdir(exist_ok=True)
    reserve = Reserve(store.root)
    assert list((store.root / "journal").iterdir()) == []  # it has no name
    assert (reserve.free(), reserve.free()) == (True, False)
