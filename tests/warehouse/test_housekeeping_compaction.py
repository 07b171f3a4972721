"""Compaction: the same rows in fewer files, at one instant."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.warehouse.keeping import committed, name, sample, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance import compaction
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import MANY_COMMITS, collect, compact, compact_if_needed
from tripos_warehouse.store import commits, parts
from tripos_warehouse.store.commits import Commit
from tripos_warehouse.store.locks import Locks
from tripos_warehouse.store.parts import has_wrong_statistics
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect


def samples(store: Store) -> list[str]:
    return committed(store, "samples", "sample_id")


def fill(store: Store, count: int) -> list[str]:
    for number in range(count):
        store.append(unit(number))
    return [name("sample", number) for number in range(count)]


def test_many_commits_become_one_with_the_same_rows_in_the_same_order(store: Store) -> None:
    names = fill(store, 6)
    before = check_store(store)
    done = compact(store)
    assert done is not None
    assert (done.commits_before, done.parts_before, done.parts_after, done.doubles) == (6, 12, 2, 0)
    assert samples(store) == names
    assert [commit.name for commit in store.commits()] == ["compaction-000001"]
    after = check_store(store)
    assert [table.digest for table in after.tables] == [table.digest for table in before.tables]
    assert after.damages == ()


def test_a_store_that_is_compact_is_left_alone(store: Store) -> None:
    assert compact(store) is None
    fill(store, 1)
    assert compact(store) is None
    fill(store, 2)
    assert compact(store) is not None
    assert compact(store) is None


@pytest.mark.parametrize("commits", [1, 3])
def test_a_compacted_store_has_no_statistics_that_mislead(
    store: Store, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    def errors() -> list[tuple[Any, ...]]:
        with connect(store) as connection:
            return connection.execute("select sample_id from samples where error is null order by all").fetchall()

    def misleading() -> int:
        found = 0
        for path in store.parts("samples"):
            with pq.ParquetFile(path) as file:
                found += has_wrong_statistics("samples", file)
        return found

    with monkeypatch.context() as earlier:
        earlier.setattr(parts, "layout", lambda table: {"use_dictionary": list(TABLES[table].repeating)})
        for number in range(commits):
            failed = sample(2 * number, status="provider_error", reply=None, error="no answer")
            store.append({"samples": [failed, sample(2 * number + 1)]})
    assert misleading() == commits
    before = samples(store)
    done = compact(store)
    assert done is not None
    assert done.doubles == misleading() == 0
    assert samples(store) == before
    assert errors() == sorted((name("sample", 2 * number + 1),) for number in range(commits))
    assert compact(store) is None


def test_doubles_are_dropped_and_the_row_that_counts_stays(store: Store) -> None:
    store.append({"samples": [sample(1, status="ok", reply="first"), sample(2, status="provider_error")]})
    store.append({"samples": [sample(1, status="provider_error", reply=None), sample(2, status="ok", reply="second")]})
    shown = connect(store).sql("select sample_id, status, reply from samples order by all").fetchall()
    done = compact(store)
    assert done is not None
    assert done.doubles == 2
    assert len(samples(store)) == 2
    assert connect(store).sql("select sample_id, status, reply from samples order by all").fetchall() == shown


def test_what_is_appended_meanwhile_stays_and_counts_as_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 3)
    just_after = store.commits()[-1].written_at + timedelta(microseconds=1)
    publish = commits.publish

    def append_first(root: Any, commit: Commit) -> Commit:
        monkeypatch.setattr("tripos_warehouse.store.store.publish", publish)
        Store.open(root, create=False, clock=lambda: just_after).append(
            {"samples": [sample(1, reply="later"), sample(9)]}
        )
        return publish(root, commit)

    monkeypatch.setattr("tripos_warehouse.store.store.publish", append_first)
    assert compact(store) is not None
    assert sorted(samples(store)) == sorted(name("sample", number) for number in (0, 1, 1, 2, 9))
    [(reply,)] = connect(store).sql(f"select reply from samples where sample_id = '{name('sample', 1)}'").fetchall()
    assert reply == "later"


def test_of_two_compactions_at_once_one_wins(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = fill(store, 4)
    other = Store.open(store.root, create=False)
    publish = commits.publish
    done = []

    def other_first(root: Any, commit: Commit) -> Commit:
        monkeypatch.setattr("tripos_warehouse.store.store.publish", publish)
        done.append(compaction._compact(other, compaction.BIG_BYTES))
        return publish(root, commit)

    monkeypatch.setattr("tripos_warehouse.store.store.publish", other_first)
    assert compact(store) is None
    assert done[0] is not None
    assert samples(store) == names
    assert len(list((store.root / "parts/samples").iterdir())) == 5


def test_who_opens_a_compacted_store_reads_none_of_the_commits_that_were_replaced(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        store.append({"samples": [sample(number)]})
    compact(store)
    store.append({"samples": [sample(5)]})
    compact(store)
    store.append({"samples": [sample(6)]})
    read: list[str] = []
    real = commits.read_commit
    monkeypatch.setattr(commits, "read_commit", lambda path: read.append(path.stem) or real(path))
    again = Store.open(store.root, create=False)
    live = [commit.name for commit in again.commits()]
    assert live[0] == "compaction-000002"
    assert sorted(read) == sorted(["compaction-000001", *live])
    assert len(live) == 2 and len(again.all_commits()) == 8
    assert [commit.name for commit in again.commits()] == live


def test_while_one_compacts_another_does_not_begin(store: Store) -> None:
    fill(store, 2)
    other = Store.open(store.root, create=False)
    other.locks.hold(compaction.lock_offset(compaction.COMPACTION, ""))
    assert compact(store) is None
    other.locks.free(compaction.lock_offset(compaction.COMPACTION, ""))
    assert compact(store) is not None


@pytest.mark.parametrize(
    "step", ["tripos_warehouse.store.store.publish", "tripos_warehouse.maintenance.compaction.new_part"]
)
def test_a_compaction_that_is_killed_half_way_changes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    names = fill(store, 3)

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tripos_warehouse.store.store.discard", lambda *_: None)
        patch.setattr(step, killed)
        with pytest.raises(Killed):
            compact(store)
    again = Store.open(store.root, create=False)
    assert samples(again) == names
    assert check_store(again).damages == ()
    assert compact(again) is not None
    assert samples(again) == names


def test_a_big_part_is_listed_again_and_not_written_again(store: Store) -> None:
    store.append({"samples": [sample(number) for number in range(50)]})
    [big] = store.parts("samples")
    store.append({"samples": [sample(50)]})
    store.append({"samples": [sample(51)]})
    assert compact(store, big_bytes=big.stat().st_size) is not None
    first, second = store.parts("samples")
    assert first == big
    assert pq.read_metadata(second).num_rows == 2
    assert samples(store) == [name("sample", number) for number in range(52)]


def test_a_compaction_that_fails_leaves_the_big_part_that_it_had_taken_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append({"samples": [sample(number) for number in range(200)]})
    for number in range(200, 203):
        store.append({"samples": [sample(number)]})
    (big, *_) = store.parts("samples")

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(compaction, "new_part", full)
    with pytest.raises(StoreError, match="S0102"):
        compact(store, big_bytes=big.stat().st_size)
    assert big.is_file()
    assert len(samples(store)) == 203


def test_a_big_part_with_a_double_is_written_again(store: Store) -> None:
    store.append({"samples": [sample(number) for number in range(50)]})
    [big] = store.parts("samples")
    store.append({"samples": [sample(7)]})
    done = compact(store, big_bytes=big.stat().st_size)
    assert done is not None
    assert done.doubles == 1
    assert sorted(samples(store)) == sorted(name("sample", number) for number in range(50))


def test_parts_grow_to_their_size_and_no_further(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_warehouse.maintenance.compaction.GROUP_ROWS", 5)
    for number in range(8):
        store.append({"samples": [sample(10 * number + each) for each in range(10)]})
    assert compact(store, big_bytes=15_000) is not None
    assert 1 < len(store.parts("samples")) < 16
    assert samples(store) == [name("sample", number) for number in range(80)]
    groups = [pq.read_metadata(path).row_group(0).num_rows for path in store.parts("samples")]
    assert set(groups) == {5}


def test_a_run_ends_with_a_compaction_where_it_left_many_commits(store: Store) -> None:
    fill(store, MANY_COMMITS)
    assert compact_if_needed(store) is None
    store.append(unit("one more"))
    assert compact_if_needed(store) is not None


def test_rows_of_every_table_survive(store: Store, run_rows: Callable[..., dict[str, list[dict[str, Any]]]]) -> None:
    for run_id in ("r1", "r2"):
        rows = run_rows(run_id)
        store.append({**rows, "runs": [{"items_of": run_id, **row} for row in rows["runs"]]})
    before = {table.table: (table.rows, table.digest) for table in check_store(store).tables}
    assert compact(store) is not None
    assert {table.table: (table.rows, table.digest) for table in check_store(store).tables} == before


def test_many_commits_are_listed_together_by_whoever_opens_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(store, 11)
    before = check_store(store)
    monkeypatch.setattr(commits, "CHECKPOINT", 4)
    monkeypatch.setattr(commits, "MOST_LISTED", 5)
    read: list[str] = []
    real = commits.read_commit
    monkeypatch.setattr(commits, "read_commit", lambda path: read.append(path.stem) or real(path))
    first = Store.open(store.root, create=False)
    assert [(each.name, len(each.replaces)) for each in first.commits()[:2]] == [
        ("compaction-000001", 5),
        ("compaction-000002", 5),
    ]
    read.clear()
    second = Store.open(store.root, create=False)
    live = [commit.name for commit in second.commits()]
    assert len(live) == 3 and sorted(read) == sorted(live)
    assert samples(second) == names
    after = check_store(second)
    assert ([table.digest for table in after.tables], after.damages) == (
        [table.digest for table in before.tables],
        (),
    )
    assert {each.why for each in collect(second, grace_s=-1)} == {f"replaced by {name}" for name in live[:2]}
    assert samples(Store.open(store.root, create=False)) == names
    done = compact(second)
    assert done is not None and (done.commits_before, done.name) == (3, "compaction-000003")
    assert samples(second) == names


def test_small_parts_that_one_commit_lists_are_put_together_at_the_end_of_a_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(store, MANY_COMMITS + 1)
    monkeypatch.setattr(commits, "CHECKPOINT", 4)
    again = Store.open(store.root, create=False)
    assert len(again.commits()) == 1
    done = compact_if_needed(again)
    assert done is not None and done.parts_after < done.parts_before
    assert samples(again) == names
    assert compact_if_needed(again) is None


def test_of_two_who_list_commits_together_one_wins(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = fill(store, 5)
    monkeypatch.setattr(commits, "CHECKPOINT", 4)
    publish = commits.publish
    others: list[Store] = []

    def other_first(root: Any, commit: Commit) -> Commit:
        monkeypatch.setattr("tripos_warehouse.store.store.publish", publish)
        monkeypatch.setattr(Locks, "hold", lambda self, place: True)  # as where there are no locks
        others.append(Store.open(root, create=False))
        return publish(root, commit)

    monkeypatch.setattr("tripos_warehouse.store.store.publish", other_first)
    again = Store.open(store.root, create=False)
    assert others and [commit.name for commit in again.commits()] == ["compaction-000001"]
    assert samples(again) == samples(others[0]) == names


def test_who_may_only_read_lists_nothing_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names = fill(store, 5)
    monkeypatch.setattr(commits, "CHECKPOINT", 4)
    reader = Store.open(store.root, create=False, writes=False)
    assert samples(reader) == names and len(reader.commits()) == 5
