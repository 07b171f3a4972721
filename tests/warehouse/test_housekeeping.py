"""Cleaning: what nobody reads goes, what anybody may need stays."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.warehouse.keeping import PRINTS, committed, die, name, sample, score, unit
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import GRACE_S, collect, compact
from tripos_warehouse.store.locks import PARTS_LOCK, Locks, lock_offset
from tripos_warehouse.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in the eyes of somebody who lives a long time after every file was written."""
    return Store.open(tmp_path / "results", create=True, clock=lambda: datetime(2300, 1, 1, tzinfo=UTC))


AGES = (datetime(2300, 1, 1, tzinfo=UTC) - datetime(2000, 1, 1, tzinfo=UTC)).total_seconds()
"""A grace that every file of today is younger than."""


def put(store: Store, path: str) -> str:
    full = store.root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(b"rubbish")
    return path


def files(store: Store) -> set[str]:
    return {path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file()}


RUBBISH = (
    "parts/scores/20260301T080000000000-0123456789ab.fedcba987654.parquet",
    "parts/scores/stranger.parquet",
    "parts/samples/.half.parquet.tmp",
    "commits/20260301T080000000000-0123456789ab.json#1",
    "journal/rejected/a.tmp",
    "works/aa.0123456789ab.tmp",
)


@pytest.mark.parametrize("path", RUBBISH)
def test_what_a_dead_process_left_half_done_goes_after_a_while(store: Store, path: str) -> None:
    store.append(unit(1))
    before = files(store)
    put(store, path)
    assert collect(store, AGES) == []
    assert [each.path for each in collect(store, dry_run=True)] == [path]
    assert path in files(store)
    assert [(each.path, each.size) for each in collect(store)] == [(path, 7)]
    assert files(store) - {"claims"} == before - {"claims"}


def test_rubbish_of_every_kind_is_read_by_nobody(store: Store) -> None:
    store.append(unit(1))
    for path in RUBBISH:
        put(store, path)
    put(store, "journal/stray.txt")
    again = Store.open(store.root, create=False)
    assert committed(again, "samples", "sample_id") == [name("sample", 1)]
    assert open_ledger(again, PRINTS).statuses("scores", [name("score", 1)]) == ["scored"]


def test_parts_whose_writer_lives_stay_however_old_they_are(store: Store) -> None:
    path = put(store, RUBBISH[0])
    writer = Locks(store.root)
    writer.share(lock_offset(PARTS_LOCK, "20260301T080000000000-0123456789ab"))
    assert collect(store) == []
    writer.close()
    assert [each.path for each in collect(store)] == [path]


def test_the_journal_and_the_lists_of_a_living_process_stay(store: Store) -> None:
    ledger = open_ledger(Store.open(store.root, create=False), PRINTS)
    ledger.keep(unit(1))
    work = ledger.work("ab" * 16)
    work.add(name("many", number) for number in range(5000))
    before = files(store)
    assert collect(store) == []
    assert files(store) == before
    die(ledger)
    [removed] = collect(store)
    assert removed.path.startswith("works/")
    assert committed(store, "samples", "sample_id") == [name("sample", 1)]


def test_what_was_compacted_goes_when_nobody_can_have_it_open(store: Store) -> None:
    for number in range(3):
        store.append(unit(number))
    old = {path for path in files(store) if path.startswith(("parts/", "commits/"))}
    compact(store)
    assert collect(store, AGES) == []
    assert {each.path for each in collect(store, GRACE_S)} == old
    assert len(committed(store, "samples", "sample_id")) == 3
    assert len(committed(Store.open(store.root, create=False), "samples", "sample_id")) == 3


def test_a_part_that_a_young_compaction_replaced_stays_though_its_own_compaction_is_old(store: Store) -> None:
    store.append({"samples": [sample(0)]})
    store.append({"scores": [score(0)]})
    compact(store)
    first = store.parts("samples")
    store.append(unit(2))
    compact(store)
    # The first compaction is two hours old, the second one new.
    now = store.now.timestamp()
    os.utime(store.root / "commits/compaction-000001.json", (now - 7200, now - 7200))
    os.utime(store.root / "commits/compaction-000002.json", (now - 60, now - 60))
    collect(store, GRACE_S)
    assert all(path.exists() for path in first)
    assert len(committed(store, "samples", "sample_id")) == 2


def test_a_name_that_was_given_is_not_committed_again_after_it_was_compacted(store: Store) -> None:
    store.append(unit(1), name="unit-1")
    store.append(unit(2))
    compact(store)
    collect(store)
    assert store.append(unit(1), name="unit-1").repeated
    assert sorted(committed(store, "samples", "sample_id")) == sorted(name("sample", number) for number in (1, 2))


def test_a_segment_whose_commit_was_compacted_and_cleaned_is_not_committed_again(store: Store) -> None:
    ledger = open_ledger(Store.open(store.root, create=False), PRINTS)
    ledger.keep(unit(1))
    [path] = (store.root / "journal").glob("*.jsonl")
    content = path.read_bytes()
    ledger.flush()
    store.append(unit(2))
    path.write_bytes(content)  # as if it had died before it took the segment away
    compact(store)
    assert f"commits/{path.stem}.json" not in {each.path for each in collect(store, dry_run=True)}
    collect(store)
    assert sorted(committed(store, "samples", "sample_id")) == sorted(name("sample", number) for number in (1, 2))


def test_a_list_of_work_goes_when_a_result_of_it_is_gone(store: Store) -> None:
    with open_ledger(Store.open(store.root, create=False), PRINTS) as ledger:
        ledger.keep(unit(1))
        for path, numbers in (("aa" * 16, [1]), ("bb" * 16, [1, 2])):
            work = ledger.work(path)
            work.add(name("sample", number) for number in numbers)
            work.finish({"run_id": "r1"})
    [removed] = collect(store)
    assert removed.path == f"works/{'bb' * 16}.ids"


def test_kept_rows_that_fit_no_table_stay_for_somebody_to_look_at(store: Store) -> None:
    path = put(store, "journal/rejected/a.jsonl")
    assert collect(store) == []
    assert path in files(store)
