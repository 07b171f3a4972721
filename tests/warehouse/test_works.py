"""Works: doing the same again takes a look, as long as every result is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warehouse.keeping import PRINTS, name, sample, score, unit
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.store import Store

WORK = "ab" * 16
SAID = {"run_id": "r1"}


@pytest.fixture
def ledger(store: Store) -> RunLedger:
    """A ledger that has three replies with their scores."""
    ledger = open_ledger(store, PRINTS)
    for number in range(3):
        ledger.keep(unit(number))
    ledger.flush()
    return ledger


def ids(*numbers: int) -> list[str]:
    return [name(kind, number) for number in numbers for kind in ("sample", "score")]


def test_finished_work_says_what_was_said_of_it(ledger: RunLedger, store: Store) -> None:
    work = ledger.work(WORK)
    assert work.finished() is None
    work.add(ids(0, 1))
    work.add(iter(ids(2)))
    assert ledger.work(WORK).finished() is None
    work.finish(SAID)
    assert work.finished() == SAID
    assert open_ledger(store, PRINTS).work(WORK).finished() == SAID
    assert ledger.work("cd" * 16).finished() is None


def test_work_of_which_a_result_is_missing_is_not_finished(store: Store, ledger: RunLedger) -> None:
    work = ledger.work(WORK)
    work.add(ids(0, 1, 2, 3))
    work.finish(SAID)
    assert work.finished() is None
    ledger.keep(unit(3))
    ledger.flush()
    with open_ledger(store, PRINTS) as other:
        assert other.work(WORK).finished() == SAID


@pytest.mark.parametrize("status", ["provider_error", "function_error"])
@pytest.mark.parametrize("table", ["samples", "scores"])
def test_work_of_which_a_result_failed_is_not_finished(ledger: RunLedger, table: str, status: str) -> None:
    make = {"samples": sample, "scores": score}[table]
    ledger.keep({**unit(7), table: [make(7, status=status)]})
    ledger.flush()
    work = ledger.work(WORK)
    work.add(ids(0, 7))
    work.finish(SAID)
    assert work.finished() is None


def test_work_of_other_fingerprints_is_not_finished(ledger: RunLedger, store: Store) -> None:
    work = ledger.work(WORK)
    work.add(ids(0))
    work.finish(SAID)
    assert open_ledger(store, {"00" * 16}).work(WORK).finished() is None


def test_work_without_a_result_is_finished_when_it_is_said(ledger: RunLedger) -> None:
    work = ledger.work(WORK)
    work.finish(SAID)
    assert work.finished() == SAID


def test_abandoned_work_leaves_nothing_and_what_was_finished_before_stays(ledger: RunLedger, store: Store) -> None:
    first = ledger.work(WORK)
    first.add(ids(0))
    first.finish(SAID)
    second = ledger.work(WORK)
    second.add([name("nobody", number) for number in range(10_000)])
    second.abandon()
    assert [path.name for path in (store.root / "works").iterdir()] == [f"{WORK}.ids"]
    assert ledger.work(WORK).finished() == SAID


def test_names_wait_on_the_disk_and_not_in_memory(ledger: RunLedger) -> None:
    work = ledger.work(WORK)
    work.add(name("many", number) for number in range(20_000))
    assert len(work._waiting) < 5000


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: b"{" * 900]
)
def test_a_damaged_list_is_no_list(ledger: RunLedger, store: Store, damage: object) -> None:
    work = ledger.work(WORK)
    work.add(ids(0, 1))
    work.finish(SAID)
    path: Path = store.root / "works" / f"{WORK}.ids"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert work.finished() is None


def test_a_name_that_is_no_file_name_is_a_bug(ledger: RunLedger) -> None:
    with pytest.raises(ValueError, match="not a commit name"):
        ledger.work("../evil")
