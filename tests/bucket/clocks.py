"""Clocks of machines that differ: a library that is loaded before all others puts the time of day ahead, or back.

libfaketime, which does the same, ends every `time.sleep` of Python 3.11 with an error where monotonic clocks are left
as they are.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SKEW_S = 3600


def skewing(folder: Path) -> dict[str, str]:
    """Return the environment of a process whose clock can be skewed: `CLOCK_SKEW_S` is looked at whenever it asks for
    the time. Empty where there is no compiler to build the library."""
    compiler = shutil.which("cc")
    if compiler is None:
        return {}
    library = folder / "skewed_clock.so"
    source = Path(__file__).with_name("skewed_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SKEW_S": "0"}


def skew_of(place: int) -> int:
    """Return how far the clock of a machine is ahead. No two machines have the same; of eight the last is an hour ahead.

    >>> [skew_of(place) for place in (1, 4, 8)]
    [-2700, 0, 3600]
    """
    return (place - 4) * SKEW_S // 4
