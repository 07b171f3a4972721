"""The numbers of a version, and whether figures of two versions may be compared."""

from __future__ import annotations

import re

_PIECE = re.compile(r"(\D*)(\d*)")


def comparable(one: str, other: str) -> bool:
    """Whether figures of two versions may be compared.

    >>> comparable("1.2.0", "1.9.1"), comparable("0.2.0", "0.3.0")
    (True, False)
    """
    first, second = numbers(one), numbers(other)
    return first[: 2 if first[0] == 0 else 1] == second[: 2 if second[0] == 0 else 1]


def numbers(version: str) -> tuple[int, int, int]:
    """The three numbers of a version.

    >>> numbers("1.2.3-rc1")
    (1, 2, 3)
    """
    major, minor, patch = (int(part) for part in re.split(r"[-+]", version)[0].split("."))
    return major, minor, patch


def order(version: str) -> tuple[tuple[int, int, int], bool, list[tuple[str, int]]]:
    """Versions in order: `2.0.0-rc9` comes before `2.0.0-rc10`, and both before `2.0.0`.

    >>> order("2.0.0-rc9") < order("2.0.0-rc10") < order("2.0.0") < order("2.0.1-rc1")
    True
    """
    early = version.partition("+")[0].partition("-")[2]
    return numbers(version), not early, [(text, int(number or 0)) for text, number in _PIECE.findall(early)]
