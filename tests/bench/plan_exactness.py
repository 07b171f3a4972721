"""How exact plans and forecasts are, over many generated benchmarks: python -m tests.bench.plan_exactness [COUNT [FIRST]]

Of every benchmark six runs are held to what was said before them: on a fresh store, after a run that was killed early
and one that was killed late, again, of one item and model, and of all after that.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.generated_specs import generate
from tests.plan_exactness import Checked, check


def main(count: int = 200, first: int = 0) -> int:
    """Print what does not fit, and the figures; whether anything did not."""
    found, uses, began = Checked(), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            checked = check(seed, Path(folder) / str(seed))
            uses.update(generate(seed, Path(folder) / f"{seed} again").uses)
            found.add(checked)
            print(*checked.wrong, sep="\n", end="\n" if checked.wrong else "")
    print(f"{count} benchmarks, {6 * count} runs, {found.calls:,} calls, {time.monotonic() - began:.0f} s")
    print(f"{found.counts:,} counts held to what was made: {len(found.wrong)} wrong, {found.exact:,} with least = most")
    print(f"the tokens of {found.bounded:,} counts had a bound")
    print(f"{found.both:,} places of a fresh run: the plan alone says the same as the forecast of {found.equal:,}")
    print(", ".join(f"{name} {number}" for name, number in sorted(uses.items())))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
