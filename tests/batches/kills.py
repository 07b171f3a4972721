"""Runs by batches that are killed between any two of their steps: intent, upload, submission, look, collection."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.batches.batch_server import BatchServer
from tests.batches.runs import Place, make_place, without_cost
from tests.kills.contents import Contents, contents, differences, doubles

LONGEST_S = 600.0
"""A run that takes longer hangs: beside much other work on two cores one took over two minutes, and ended well."""
IN_A_CHILD = """\
import sys
from tests.batches.runs import quick
from tripos.cli.main import run_command
with quick():
    sys.exit(run_command(sys.argv[1:]))
"""


@dataclass
class Tally:
    """The counts of runs that were killed."""

    kills: int = 0
    stores: int = 0
    batches: int = 0
    billed: int = 0
    instants: dict[str, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def at_peace(place: Place) -> Contents:
    """Return what a live run leaves that nobody disturbs."""
    ran = place.run("live")
    assert ran.code == 0, ran.told
    return without_cost(contents(place.folder / "live"))


def _child(place: Place, store: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", IN_A_CHILD, *place.work.arguments(place.folder / store), "--batch"]
    root = os.fspath(Path(__file__).parents[2])
    environment = os.environ | {
        "PYTHONFAULTHANDLER": "1",
        "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
    }
    output = (place.folder / f"{store}.txt").open("ab")
    with output:
        return subprocess.Popen(command, cwd=place.folder, env=environment, stdout=output, stderr=output)


def disturbed(place: Place, expected: Contents, store: str, rng: random.Random, most: int, tally: Tally) -> None:
    """Kill a run so often that is due at a random request to the provider, or shortly after it, and hold what it leaves
    at its end to a live run."""
    server = place.server
    server.billed.clear()
    server.submitted.clear()
    server.slow_submit_s = rng.choice((0.0, 0.15))
    before, kills = len(server.batches), 0
    while True:
        child = _child(place, store)
        due, delay_s = server.seen.total() + rng.randint(1, 8), rng.choice((0.0, 0.003, 0.02, 0.1))
        latest_s = time.monotonic() + LONGEST_S
        while child.poll() is None and (kills >= most or server.seen.total() < due):
            time.sleep(0.002)
            if time.monotonic() > latest_s:
                child.send_signal(signal.SIGABRT)  # says where it is
                child.wait()
                told = (place.folder / f"{store}.txt").read_text("utf-8")[-4000:]
                tally.complaints.append(f"{store} took longer than {LONGEST_S:.0f} s, and was here: {told}")
                return
        if child.poll() is None:
            time.sleep(delay_s)
            child.send_signal(signal.SIGKILL)
            child.wait()
            last = next(reversed(server.order), "none")
            tally.instants[last] = tally.instants.get(last, 0) + 1
            kills += 1
            continue
        if child.returncode != 0:
            told = (place.folder / f"{store}.txt").read_text("utf-8")[-2000:]
            tally.complaints.append(f"{store} ended with {child.returncode}: {told}")
        break
    found = without_cost(contents(place.folder / store))
    tally.complaints += differences(found, expected) + doubles(place.folder / store)
    twice = {name: count for name, count in server.submitted.items() if count > 1}
    if twice:
        tally.complaints.append(f"{store}: {len(twice)} requests were submitted more than once")
    if server.billed != server.live:
        tally.complaints.append(f"{store}: {server.billed.total()} replies billed, {server.live.total()} of a live run")
    tally.kills += kills
    tally.stores += 1
    tally.batches += len(server.batches) - before
    tally.billed += server.billed.total()


def prove(
    folder: Path,
    server: BatchServer,
    kills: int,
    seed: int,
    most: int = 12,
    until_s: float = 1e9,
    tell: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Kill runs so many times in all, or until a time. `tell` is called with the counts after each run."""
    tally, rng = Tally(), random.Random(seed)
    place = make_place(folder, server, rows=4)
    expected = at_peace(place)
    while tally.kills < kills and time.monotonic() < until_s:
        disturbed(place, expected, f"store{tally.stores}", rng, min(most, kills - tally.kills), tally)
        tell(tally)
    return tally


def told(tally: Tally) -> str:
    """Return the counts as a line of JSON."""
    return json.dumps(vars(tally))
