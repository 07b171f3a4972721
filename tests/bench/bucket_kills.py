"""Kills workers on one bucket many times, and holds what they asked and left to a run that was left in peace.

    python tests/bench/bucket_kills.py [--kills 1000] [--machines 8] [--rows 40] [--each 40] [--faults 0.3] [--seed 1]

The bucket is the stand-in of `tests/bucket`: its conditional writes are real, so many of its answers fail, come late or
are lost, and its clock is an hour ahead. After each store, with `--each` kills, its complaints and the counts so far
are printed. Exit code 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bucket.killing import Tally, bucket_scene, kill_workers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--machines", type=int, default=8)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--faults", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    whole, started_s = Tally(), time.monotonic()
    with (
        tempfile.TemporaryDirectory() as name,
        bucket_scene(Path(name), options.machines, options.rows, options.faults, options.seed) as ready,
    ):
        while whole.kills < options.kills:
            most = min(options.each, options.kills - whole.kills)
            done = kill_workers(ready, f"store{whole.stores}", options.seed, most)
            print("\n".join(done.complaints[:20]))
            whole.add(done)
            counts = {key: value for key, value in vars(whole).items() if key != "complaints"}
            print(f"{counts}, {len(whole.complaints)} complaints, {time.monotonic() - started_s:.0f} s", flush=True)
    return 1 if whole.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
