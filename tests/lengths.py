"""How much the tests do: `make test` runs their short form, and `make test-all` all of it, with `TESTS_LENGTH=all`."""

from __future__ import annotations

import os
from typing import TypeVar

Size = TypeVar("Size")

ALL = os.environ.get("TESTS_LENGTH") == "all"
"""Whether tests that are marked `long` run, and others at their full size."""


def sized(short: Size, full: Size) -> Size:
    """Return a number of examples, kills or repetitions."""
    return full if ALL else short
