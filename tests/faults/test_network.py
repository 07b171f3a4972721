"""Each fault of a network happens to a call of a run: the run does what the table promises, and the next run the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.faults.conftest import RUN, rows_of, write
from tests.faults.network import AGAIN, EMPTY, FAILED, FAULTS, KEPT, REFUSED, STOPS, Fault, Promise
from tests.faults.server import FaultServer, serving


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving({fault.name: fault.does for fault in FAULTS}) as server:
        yield server


def named(promises: Iterable[Promise], slow: bool = False) -> list[Fault]:
    """Return the faults with one of these promises; those that are found out by a timeout are apart."""
    return [each for each in FAULTS if each.promise in promises and (each.code == "R0109") == slow]


RUNS = {
    "faults that leave no trace": (named((AGAIN, EMPTY, KEPT, REFUSED)), "30"),
    "faults that fail a call": (named((FAILED,)), "30"),
    "faults that take too long": (named((FAILED,), slow=True), "0.2"),
    **{f"a fault that ends a run: {each.name}": ([each], "30") for each in named((STOPS,))},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_does_what_the_table_promises(name: str, bench: Path, tripos: Command, server: FaultServer) -> None:
    """A call that goes well comes before each fault. The same command again asks what is promised, and nothing else."""
    faults, timeout_s = RUNS[name]
    rows = [question for fault in faults for question in (f"before: {fault.name}", fault.name)]
    write(bench, f"http://127.0.0.1:{server.port}/v1", *rows)
    done = tripos(*RUN, "--timeout", timeout_s)
    assert "Traceback" not in done.err
    asked = {row: server.asked[row] for row in rows}
    promised = {fault.name: fault.promise for fault in faults}
    assert asked == {row: promised[row].asked if row in promised else 1 for row in rows}
    kept = {row["question"]: row for row in rows_of(tripos)}
    assert {question: row["status"] for question, row in kept.items()} == {
        row: promised[row].kept if row in promised else "ok"
        for row in rows
        if row not in promised or promised[row].kept is not None
    }
    assert (done.data["status"], done.code) in {(fault.promise.run, fault.promise.exit) for fault in faults}, done.err
    for fault in faults:
        if fault.code is not None:
            assert fault.code in (kept[fault.name]["error"] if fault.name in kept else done.err)
    for question, row in kept.items():  # no odd count or cost comes into the store, and each request has its tokens
        counts = {None, 3, *(10 * sent for sent in range(1, asked[question] + 1))}
        assert row["tokens_in"] in counts and row["cost_usd"] is None, row

    again = tripos(*RUN)
    assert (again.code, again.data["status"]) == (0, "finished"), again.err
    later = {row: server.asked[row] - asked[row] for row in rows}
    assert later == {row: promised[row].later if row in promised else 0 for row in rows}
