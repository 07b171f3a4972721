"""Calls a second where replies take their time, beside what so many connections allow at most.

    python tests/bench/latency.py [--calls 20000] [--connections 512] [--latency-ms 200]

The rate is over the whole process, starting, tables and report included; `while asking` is over the time between the
first request and the last reply, which the samples in the store tell.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import exact_match
from processes import more_files, server_option, serving, take

SPAN = "select epoch(max(created_at) - min(created_at)) + max(latency_s) as s from samples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--connections", type=int, default=512)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    server_option(parser)
    options = parser.parse_args()
    more_files()
    ideal = options.connections / (options.latency_ms / 1000)
    whole: list[float] = []
    asking: list[float] = []
    with serving(options.server, options.latency_ms) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exact_match.write(folder, options.calls, server)
        for turn in range(options.rounds):
            server.asked()
            taken = take(exact_match.run(f"results{turn}", options.connections), folder)
            exact_match.check(taken.out, options.calls, server.asked())
            query = [sys.executable, "-m", "tripos", "sql", SPAN, "--store", f"results{turn}", "-o", "span.json"]
            take(query, folder)
            [row] = json.loads((folder / "span.json").read_text("utf-8"))
            whole.append(options.calls / taken.wall_s)
            asking.append(options.calls / row["s"])
            print(
                f"{taken.wall_s:6.2f} s wall  {taken.cpu_s:6.2f} s CPU  {taken.rss_mb:5.0f} MB  {row['s']:6.2f} s asking"
            )
    for what, rates in (("whole process", whole), ("while asking", asking)):
        rate = statistics.median(rates)
        print(f"{what}: {rate:,.0f} calls/s, {rate / ideal:.0%} of the {ideal:,.0f} that are possible")


if __name__ == "__main__":
    main()
