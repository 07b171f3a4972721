"""Regular expressions that are compiled when they are first used: of the sixty of the library a benchmark needs few,
and compiling them all is a twentieth of the time of `tripos check`."""

from __future__ import annotations

import re
from typing import Any, cast

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class LatePattern:
    """A pattern that has not been compiled yet. Its methods become attributes when one of them is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.flags = compiled.flags
        for each in METHODS:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Return a regular expression that is compiled when it is first used.

    >>> late_pattern(r"\d+").findall("12 of 30")
    ['12', '30']
    """
    return cast("re.Pattern[str]", LatePattern(pattern, flags))
