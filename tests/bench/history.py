"""Whether what a run shows depends on what happened in its store before.

    python tests/bench/history.py [--sequences 500] [--from 0]

Each sequence is three to eight actions drawn at random (runs by other models, edits of data and spec, runs that are
killed, imports, another benchmark) and then one run, of which every view, figure, row of the leaderboard and export is
held against those of the same run in a fresh store. Printed are the differences, and how many sequences there were.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.histories import histories


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    started, done, differing, differences = time.perf_counter(), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(options.first, options.first + options.sequences)
        for history, found in histories(Path(folder), seeds):
            done += 1
            print(f"{done} done", file=sys.stderr, flush=True)
            differing += bool(found)
            differences += len(found)
            if found:
                print(f"history {history.seed}: {'; '.join(history.told)}")
                for line in found:
                    print(f"  {line}")
                sys.stdout.flush()
    seconds = time.perf_counter() - started
    print(f"{done} sequences in {seconds:.0f} s: {differing} differ, in {differences} of what they show")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
