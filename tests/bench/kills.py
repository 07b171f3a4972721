"""Kills `tripos run` many times, and holds what it asked and what it left to a run that was left in peace.

    python tests/bench/kills.py [--kills 1000] [--seed 1] [--workers 3] [--together 0]

Every reply that had been handed over must never be asked for again, and the tables must equal those of a run that
nobody disturbed, row for row. With `--together` so many stores are also worked on by three processes at once. Exit code
1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.kills.proof import Tally, peace, scene, together, told
from tests.kills.proving import prove


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--together", type=int, default=0)
    options = parser.parse_args()
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        whole = prove(Path(name), options.kills, options.seed, options.workers, say)
        if options.together:
            with scene(Path(name) / "together", starters=3) as ready:
                expected = peace(ready)
                for number in range(options.together):
                    whole.add(together(ready, expected, f"together{number}", options.seed, kills=8))
                    say(whole)
    print(told(whole))
    print(f"{whole.kills:,} kills in {time.monotonic() - started_s:.0f} s, {len(whole.complaints)} complaints")
    print("\n".join(whole.complaints[:20]))
    return 1 if whole.complaints else 0


def say(whole: Tally) -> None:
    print(f"{whole.kills:,} kills, {len(whole.complaints)} complaints", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
