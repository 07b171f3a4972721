"""How much the tests do: `make test` runs their short form, and `make test-all` all of it, with `TESTS_LENGTH=all`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Size = TypeVar("Size")
Case = TypeVar("Case")

ALL = os.environ.get("TESTS_LENGTH") == "all"
"""Whether tests that are marked `long` run, and others at their full size."""


def spread(cases: Iterable[Case], short: int) -> list[Case]:
    """Return cases: all of them in the full form, and `short` that lie evenly among them in the short one."""
    every = list(cases)
    return every if ALL or len(every) <= short else [every[place * len(every) // short] for place in range(short)]


def sized(short: Size, full: Size) -> Size:
    """Return a number of examples, kills or repetitions."""
    return full if ALL else short
