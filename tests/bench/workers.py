"""Calls a second of one process and of several workers, in turns, where replies take their time.

    python tests/bench/workers.py [--calls 20000] [--connections 512] [--latency-ms 200] [--workers 2] [--rounds 3]

The server is kept to the last core, of which it needs a small part; Tripos is kept to none. `while asking` is the time
between the first request and the last reply, as the samples in the store tell, so that it has neither the start nor the
report. `steady` is the part of it from the first tenth of the replies to the last request: before it the calls at once
grow from 16 in each process, and after it some slots have nothing left. The CPU of one more call is of runs with a
twentieth of the calls and with all. From it and from that of the server follows the most that these cores allow.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import exact_match
from processes import Server, more_files, server_option, serving

STEADY = """
with calls as (select created_at as had, created_at - to_microseconds((latency_s * 1e6)::bigint) as sent from samples),
part as (select quantile_disc(had, 0.1) as begun, max(sent) as ended from calls)
select count(*) / epoch(any_value(ended - begun)) as rate from calls, part where had > begun and had <= ended
"""


@dataclass(frozen=True)
class Taken:
    """The resources that a run took: seconds, and calls a second while it asked and in the steady part of that."""

    cpu_s: float
    server_s: float
    asking: float
    steady: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--connections", type=int, default=512)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    server_option(parser)
    options = parser.parse_args()
    more_files()
    few, numbers = max(1, options.calls // 20), (1, options.workers)
    found: dict[int, list[Taken]] = {workers: [] for workers in numbers}
    small: dict[int, list[Taken]] = {workers: [] for workers in numbers}
    with serving(options.server, options.latency_ms) as server, tempfile.TemporaryDirectory() as name:
        for turn in range(options.rounds):
            for calls, each in ((few, small), (options.calls, found)):
                for workers in numbers:
                    folder = Path(name) / f"{turn}-{workers}-{calls}"
                    exact_match.write(folder, calls, server)
                    each[workers].append(run(folder, calls, workers, options.connections, server))
    show(found, small, options.calls - few, options.connections / (options.latency_ms / 1000))


def run(folder: Path, calls: int, workers: int, connections: int, server: Server) -> Taken:
    """Make the calls, and print what they took."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    server.asked()
    command = [*exact_match.run("results", connections), "--workers", str(workers)]
    before, served_s, started_s = os.times(), server_s(server), time.monotonic()
    out = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    wall_s, after, served_s = time.monotonic() - started_s, os.times(), server_s(server) - served_s
    exact_match.check(out.stdout, calls, server.asked())
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    taken = Taken(cpu_s, served_s, calls / exact_match.ask(folder, exact_match.SPAN), exact_match.ask(folder, STEADY))
    told = f"{taken.asking:6,.0f} calls/s while asking, {taken.steady:6,.0f} steady"
    print(f"{workers} workers, {calls:6,} calls: {wall_s:6.2f} s wall {cpu_s:6.2f} s CPU {told}", flush=True)
    return taken


def show(found: dict[int, list[Taken]], small: dict[int, list[Taken]], more: int, ideal: float) -> None:
    """Print the rates beside what is possible, and what the cores allow. `more` is the calls of a run over a small
    one."""
    costs = {}
    for workers, every in found.items():
        for what, rate in (
            ("while asking", statistics.median(each.asking for each in every)),
            ("steady", statistics.median(each.steady for each in every)),
        ):
            print(f"{workers} workers: {rate:,.0f} calls/s {what}, {rate / ideal:.0%} of the {ideal:,.0f} possible")
        pairs = list(zip(every, small[workers], strict=True))
        own = statistics.median((one.cpu_s - few.cpu_s) / more for one, few in pairs)
        served = statistics.median((one.server_s - few.server_s) / more for one, few in pairs)
        costs[workers] = own, own + served
        print(f"{workers} workers: one more call takes {own * 1e3:.3f} ms of CPU, and {served * 1e3:.3f} of the server")
    (alone, together), cores = found.values(), os.cpu_count() or 1
    for what in ("asking", "steady"):
        ratios = [getattr(many, what) / getattr(one, what) for one, many in zip(alone, together, strict=True)]
        print(f"{statistics.median(ratios):.2f} times the {what} rate of one process, of {len(ratios)} pairs")
    (own, _), (_, whole) = (costs[workers] for workers in found)
    print(
        f"{cores} cores allow {cores / whole:,.0f} calls/s, {cores / whole / ideal:.0%} of what is possible, where a"
        f" core allows one process {1 / own:,.0f}: {cores * own / whole:.2f} times; load {os.getloadavg()[0]:.1f}"
    )


def server_s(server: Server) -> float:
    """Return the CPU seconds of the server so far."""
    return float(json.loads(server.tell("stats"))["cpu_s"])


if __name__ == "__main__":
    main()
