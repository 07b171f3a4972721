"""Clocks that jump, and processes that are stopped for a while, cost no reply that was kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import Command
from tests.faults.conftest import RUN, rows_of, write
from tests.faults.server import GOOD, FaultServer, Writer, serving
from tests.lengths import sized
from tests.warehouse.keeping import PRINTS, committed, name, sample, unit
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

DAYS = (0, 400, -400, 3, -3)


def jumping(*days: float) -> type[datetime]:
    """Return a clock that is days before or after, another number each time that it is asked."""
    shifts = cycle(days)

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(days=next(shifts))

    return Jumping


def test_a_clock_that_jumps_back_and_forth_changes_no_result(
    bench: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("tripos.api.run", "tripos_runtime.drivers.engine", "tripos_warehouse.store.store"):
        monkeypatch.setattr(f"{module}.datetime", jumping(*DAYS))
    with serving({}) as server:
        write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "two", "three")
        first = tripos(*RUN)
        assert (first.code, first.data["calls"]["asked"]) == (0, 3), first.err
        again = tripos(*RUN)
        assert (again.code, again.data["calls"]["asked"]) == (0, 0), again.err
        assert tripos("store", "check").code == 0
        assert server.asked == {"one": 1, "two": 1, "three": 1}


@pytest.mark.parametrize("days", [-4000, 4000])
def test_files_from_another_time_are_read_and_only_old_rubbish_goes(days: int, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    with open_ledger(store, PRINTS) as ledger:
        ledger.keep(unit(1))
    rubbish = store.root / "parts" / "samples" / "20260301T080000000000-0123456789ab.fedcba987654.parquet"
    rubbish.write_bytes(b"half a part")
    at = (datetime.now(UTC) + timedelta(days=days)).timestamp()
    for path in store.root.rglob("*"):
        os.utime(path, (at, at))
    collect(Store.open(store.root, create=False))
    assert committed(Store.open(store.root, create=False), "samples", "sample_id") == [name("sample", 1)]
    assert rubbish.exists() == (days > 0)


@pytest.fixture
def held() -> Iterator[tuple[FaultServer, list[bool]]]:
    """Serve; the first request of `held` is answered once the list is not empty."""
    answered: list[bool] = []

    async def waits(writer: Writer) -> None:
        import asyncio

        while not answered:
            await asyncio.sleep(0.01)
        writer.write(GOOD)
        await writer.drain()

    with serving({"held": waits}) as server:
        yield server, answered


def started(*more: str) -> subprocess.Popen[bytes]:
    """Start a run in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "tripos", *RUN, *more], stdout=subprocess.DEVNULL)


def wait_for(server: FaultServer, question: str) -> None:
    while not server.asked[question]:
        time.sleep(0.01)


def test_a_process_that_is_stopped_longer_than_its_timeout_loses_no_row(
    bench: Path, tripos: Command, held: tuple[FaultServer, list[bool]]
) -> None:
    """The reply that came meanwhile counts, or its time was over: the next run asks for what is not there."""
    server, answered = held
    write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "held", "two")
    process = started("--timeout", "1")
    wait_for(server, "held")
    process.send_signal(signal.SIGSTOP)
    answered.append(True)
    time.sleep(1.1)  # longer than the timeout, on any machine
    process.send_signal(signal.SIGCONT)
    assert process.wait() in (0, 1)
    kept = {row["question"]: row["status"] for row in rows_of(tripos)}
    assert (kept["one"], kept["two"]) == ("ok", "ok") and kept["held"] in ("ok", "provider_error")
    done = tripos(*RUN)
    assert (done.code, done.data["calls"]["asked"]) == (0, int(kept["held"] != "ok"))
    assert server.asked["one"] == server.asked["two"] == 1


@pytest.mark.long
def test_a_process_that_is_stopped_keeps_its_claims_and_nothing_is_asked_twice(
    bench: Path, tripos: Command, held: tuple[FaultServer, list[bool]]
) -> None:
    """Another process asks for the rest, waits, and takes the reply over when the first one goes on."""
    server, answered = held
    write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "held")
    first = started()
    wait_for(server, "held")
    first.send_signal(signal.SIGSTOP)
    answered.append(True)
    second = started()
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(2)
    first.send_signal(signal.SIGCONT)
    assert (first.wait(), second.wait()) == (0, 0)
    assert server.asked == {"one": 1, "held": 1}
    assert {row["question"] for row in rows_of(tripos)} == {"one", "held"}


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=8), st.integers(0, 9))
@settings(max_examples=sized(10, 60), deadline=None)
def test_what_is_committed_later_counts_whatever_the_clocks_say(shifts: list[int], fold: int) -> None:
    """Each commit is of a machine whose clock is some minutes off; sometimes one compacts between them."""
    with tempfile.TemporaryDirectory() as folder:
        for number, minutes in enumerate(shifts):
            shift = timedelta(minutes=minutes)
            store = Store.open(folder, create=True, clock=lambda shift=shift: datetime.now(UTC) + shift)  # type: ignore[misc]
            store.append({"samples": [sample(1, reply=f"try {number}")]})
            if number == fold:
                compact(store)
            [row] = store.rows("samples", [name("sample", 1)]).values()
            assert row["reply"] == f"try {number}"
            with connect(Store.open(folder, create=False)) as connection:
                assert connection.execute("select reply from samples").fetchall() == [(f"try {number}",)]
        times = [commit.written_at for commit in Store.open(folder, create=False).commits()]
        assert times == sorted(set(times))


def test_the_latest_run_is_the_one_that_began_last(
    bench: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the clock went back by hours between two runs."""
    with serving({}) as server:
        write(bench, f"http://127.0.0.1:{server.port}/v1", "one", "two", "three")
        runs = []
        for days in (0, -0.2, -30):
            monkeypatch.setattr("tripos_warehouse.store.store.datetime", jumping(days))
            runs.append(tripos(*RUN).data["run_id"])
            listed = [run["run_id"] for run in tripos("list", "--json").data]
            assert listed == runs[::-1]
