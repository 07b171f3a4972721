"""Calls a second of one process and of several workers, in turns, where replies take their time.

    python tests/bench/workers.py [--calls 8000] [--connections 512] [--latency-ms 200] [--workers 2] [--rounds 3]

Nothing is pinned to a core: the server needs a small part of one. `while asking` is the time between the first request
and the last reply, as the samples in the store tell, so that it has neither the start nor the report.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import exact_match
from latency import SPAN
from processes import more_files, server_option, serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=8000)
    parser.add_argument("--connections", type=int, default=512)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    server_option(parser)
    options = parser.parse_args()
    more_files()
    ideal = options.connections / (options.latency_ms / 1000)
    rates: dict[int, list[float]] = {1: [], options.workers: []}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with serving(options.server, options.latency_ms) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exact_match.write(folder, options.calls, server)
        for turn in range(options.rounds):
            for workers, found in rates.items():
                store = f"results{turn}-{workers}"
                server.asked()
                command = [*exact_match.run(store, options.connections), "--workers", str(workers)]
                before, started_s = os.times(), time.monotonic()
                out = subprocess.run(
                    command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True, text=True
                )
                wall_s, after = time.monotonic() - started_s, os.times()
                cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
                exact_match.check(out.stdout, options.calls, server.asked())
                query = [sys.executable, "-m", "tripos", "sql", SPAN, "--store", store, "-o", "span.json"]
                subprocess.run(query, cwd=folder, env=environment, check=True)
                [row] = json.loads((folder / "span.json").read_text("utf-8"))
                found.append(options.calls / row["s"])
                told = f"{wall_s:6.2f} s wall  {cpu_s:6.2f} s CPU  {row['s']:6.2f} s asking"
                print(f"{workers} workers: {told}", flush=True)
    for workers, found in rates.items():
        rate = statistics.median(found)
        print(f"{workers} workers: {rate:,.0f} calls/s while asking, {rate / ideal:.0%} of the {ideal:,.0f} possible")
    pairs = [several / one for one, several in zip(*rates.values(), strict=True)]
    load = os.getloadavg()[0]
    print(f"{statistics.median(pairs):.2f} times the rate of one process, of {len(pairs)} pairs; load {load:.1f}")


if __name__ == "__main__":
    main()
