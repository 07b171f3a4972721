"""How much the tests do.

`make test` runs their short form. With `TESTS_LENGTH=long`, long tests (`tests/long_tests.toml`) run too, at the size
of the short form: `make test-long` runs those of a change. With `TESTS_LENGTH=all`, all run at their full size. After
`TESTS_MINUTES`, no further test begins, and the end of the output says which files had no time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Size = TypeVar("Size")
Case = TypeVar("Case")

ALL = os.environ.get("TESTS_LENGTH") == "all"
"""Whether all tests run, at their full size."""
MARKED = ALL or os.environ.get("TESTS_LENGTH") == "long"
"""Whether tests that are marked `long` run."""
MINUTES = float(os.environ.get("TESTS_MINUTES") or "inf")
"""The minutes in which tests begin."""


def spread(cases: Iterable[Case], short: int) -> list[Case]:
    """Return cases: all of them in the full form, and `short` that lie evenly among them in the short one."""
    every = list(cases)
    return every if ALL or len(every) <= short else [every[place * len(every) // short] for place in range(short)]


def sized(short: Size, full: Size) -> Size:
    """Return a number of examples, kills or repetitions."""
    return full if ALL else short
