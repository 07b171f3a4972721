"""Kills of runs by batches: each request is billed once, and the tables are those of a live run.

python tests/bench/batch_kills.py [KILLS] [SECONDS] [SEED]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.batches.batch_server import batch_serving
from tests.batches.kills import prove, told


def main(kills: int = 300, seconds: float = 3600.0, seed: int = 1) -> int:
    """Kill runs so many times; the exit code is 1 where anything was wrong. The counts so far are told as it goes."""
    os.environ["OPENAI_API_KEY"] = "unused"
    with batch_serving(0.2) as server, tempfile.TemporaryDirectory() as folder:
        until_s = time.monotonic() + seconds
        tally = prove(
            Path(folder), server, kills, seed, until_s=until_s, tell=lambda each: print(told(each), file=sys.stderr)
        )
    print(told(tally))
    return 1 if tally.complaints else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
