"""Replies a second from servers that refuse calls, beside what each allows at most.

    python tests/bench/refusals.py [--seconds 20] [--connections 64] [--latency-ms 200] [--only TEXT]

Each run has as many calls as the server could answer in `--seconds`. The rate is over the time from the first reply
until nine tenths of them are there: the last calls wait for the delays between their own attempts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import exact_match
from processes import Server, more_files, serving, take
from refusing_server import RULES

SPAN = "select epoch(quantile_disc(created_at, 0.9) - min(created_at)) as s from samples where reply is not null"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--only", default="", help="a part of the names of the rules to measure")
    options = parser.parse_args()
    more_files()
    script = str(Path(__file__).with_name("refusing_server.py"))
    print("| refused | calls | replies a second | possible | ratio | refused per reply | without a reply |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with serving(script, options.latency_ms) as server, tempfile.TemporaryDirectory() as name:
        for number, (refused, make) in enumerate(RULES.items()):
            if options.only not in refused:
                continue
            ideal = make().ideal(options.connections, options.latency_ms / 1000)
            print(measured(server, Path(name) / str(number), number, refused, ideal, options), flush=True)


def measured(server: Server, folder: Path, number: int, refused: str, ideal: float, options: argparse.Namespace) -> str:
    """Run a benchmark against a rule, and return a row of the table."""
    calls = round(ideal * options.seconds)
    exact_match.write(folder, calls, server)
    server.tell(f"rule/{number}")
    taken = take(exact_match.run("results", options.connections), folder, good=(0, 1))
    stats = json.loads(server.tell("stats"))
    scores = Counter(json.loads(taken.out)["scores"])
    replies = stats["requests"] - stats["refused"]
    if replies != scores["scored"]:
        sys.exit(f"the server gave {replies} replies for {scores['scored']} scores")
    rate = 0.9 * replies / exact_match.ask(folder, SPAN)
    share = stats["refused"] / replies
    return (
        f"| {refused} | {calls:,} | {rate:,.1f} | {ideal:,.1f} | {rate / ideal:.0%} | {share:.2f} "
        f"| {calls - replies:,} |"
    )


if __name__ == "__main__":
    main()
