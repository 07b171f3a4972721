"""The proof of secrecy against the trial: python -m tests.bench.worlds [--seeds N] [--from K] [--pairs P] [--show]

A spec that the compiler accepts and that differs in a pair of worlds is a bug of one of the two: its seed is printed,
with the spec. Of those that are refused it is counted how many differ: for secrets of the item, of others only, or not
at all. `python -m tests.secret_specs SEED` prints the spec of a seed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.secret_specs import secret_spec
from tests.worlds_tried import NOTHING, OTHERS, Tried, tried

EVERY = 100
"""After so many specs it is said how far it is."""


def main() -> int:
    """Print what differs and should not, and the figures; whether anything did."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200, metavar="N")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="K")
    parser.add_argument("--pairs", type=int, default=4, metavar="P")
    parser.add_argument("--show", action="store_true", help="name the refused ones that do not leak")
    options = parser.parse_args()
    found, began = Tried(), time.monotonic()
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            one = tried(seed, Path(folder), options.pairs)
        found.add(one)
        for told in one.leaks.values():
            print(f"seed {seed} is accepted and differs: {told}\n{secret_spec(seed)[0]}", flush=True)
        if options.show and one.quiet:
            print(f"seed {seed} is refused and does not leak: {one.quiet[seed]}", flush=True)
        if (seed + 1 - options.first) % EVERY == 0:
            print(f"… up to seed {seed}: {_figures(found)}", flush=True)
    print(f"{_figures(found)}, {time.monotonic() - began:.0f} s")
    return 1 if found.leaks or found.wrong else 0


def _figures(found: Tried) -> str:
    kinds = found.kinds
    said = f"{found.accepted} accepted, {len(found.leaks)} of them differ; {found.refused} refused, of which "
    said += f"{kinds[OTHERS]} differ for other items only and {kinds[NOTHING]} in no world"
    if found.wrong:
        said += f"; {len(found.wrong)} with other mistakes: {found.wrong}"
    return f"{said}; {found.messages:,} messages compared"


if __name__ == "__main__":
    sys.exit(main())
