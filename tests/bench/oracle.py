"""Holds the measures of generated benchmarks to a naive evaluation in Python: `tests/oracle.py`.

    python tests/bench/oracle.py [--seeds 300] [--first 0]

Prints how many benchmarks and figures were compared, and every figure that differs; exit code 1 where any does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle import differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    figures, found, begun = 0, [], time.perf_counter()
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            count, wrong = differences(seed, Path(folder))
        figures += count
        found += wrong
        print("\n".join(wrong) or ".", end="\n" if wrong else "", flush=True)
    took = time.perf_counter() - begun
    print(f"\n{options.seeds} benchmarks, {figures:,} figures, {len(found)} differ; {took:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
