"""The folders that a caller names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Places = str | Path | Sequence[str | Path]
"""One path, or several."""


def paths_of(given: Places) -> list[str]:
    """List the paths.

    >>> paths_of("data"), paths_of(["data", "more"])
    (['data'], ['data', 'more'])
    """
    return [str(each) for each in ([given] if isinstance(given, str | Path) else given)]
