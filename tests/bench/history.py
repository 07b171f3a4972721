"""Compare runs over stores of different histories: the figures must be the same.

    python tests/bench/history.py [--sequences 500] [--from 0]

Each sequence is three to eight actions drawn at random (runs by other models, edits of data and spec, runs that are
killed, people who grade, imports, another benchmark) and then one run, of which every view, figure, row of the
leaderboard and export is held against those of the same run in a fresh store. Printed is a line for each sequence, the
differences, and how many there were; `--from` goes on where an earlier one was stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.histories import History


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args()
    started, done, differing, differences, compared = time.perf_counter(), 0, 0, 0, 0
    for seed in range(options.first, options.first + options.sequences):
        with tempfile.TemporaryDirectory() as folder:
            history = History(Path(folder), seed)
            try:
                found = history.differences()
            except Exception as error:  # a command that breaks after a history is a difference too
                found = [f"{type(error).__name__}: {error}"]
        done += 1
        compared += history.compared
        differing += bool(found)
        differences += len(found)
        print(f"history {seed}: {history.compared} compared, {len(found)} differ", flush=True)
        if found:
            print("\n".join(f"  {line}" for line in (*history.told, "--", *found)), flush=True)
    seconds = time.perf_counter() - started
    print(
        f"{done} sequences in {seconds:.0f} s, {compared:,} rows and figures compared:"
        f" {differing} differ, in {differences} of what they show"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
