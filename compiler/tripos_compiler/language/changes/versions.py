"""Versions of a benchmark: their numbers, which figures may be compared, and the least version after a change.

`major.minor.patch`: figures of two versions with one `major` may be compared. `plans.py` says which part a change
raises. Below 1.0.0 the `minor` stands for the `major`.
"""

from __future__ import annotations

import re

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.language.changes.plans import find_changes
from tripos_compiler.language.changes.steps import Weight
from tripos_compiler.plan import Plan
from tripos_compiler.source import Span

_PIECE = re.compile(r"(\D*)(\d*)")


def are_comparable(one: str, other: str) -> bool:
    """Return true if figures of two versions may be compared.

    >>> are_comparable("1.2.0", "1.9.1"), are_comparable("0.2.0", "0.3.0")
    (True, False)
    """
    first, second = version_numbers(one), version_numbers(other)
    return first[: 2 if first[0] == 0 else 1] == second[: 2 if second[0] == 0 else 1]


def version_numbers(version: str) -> tuple[int, int, int]:
    """Return the three numbers of a version.

    >>> version_numbers("1.2.3-rc1")
    (1, 2, 3)
    """
    major, minor, patch = (int(part) for part in re.split(r"[-+]", version)[0].split("."))
    return major, minor, patch


def version_order(version: str) -> tuple[tuple[int, int, int], bool, list[tuple[str, int]]]:
    """Versions in order: `2.0.0-rc9` comes before `2.0.0-rc10`, and both before `2.0.0`.

    >>> version_order("2.0.0-rc9") < version_order("2.0.0-rc10") < version_order("2.0.0") < version_order("2.0.1-rc1")
    True
    """
    early = version.partition("+")[0].partition("-")[2]
    return version_numbers(version), not early, [(text, int(number or 0)) for text, number in _PIECE.findall(early)]


def check_version(before: Plan, after: Plan, span: Span, diagnostics: Diagnostics) -> None:
    """Report, at the place of the version, one that understates what changed since `before`, or is below it."""
    found = find_changes(before, after)
    if before.benchmark.name != after.benchmark.name:
        return
    if not found:
        if version_numbers(after.benchmark.version) < version_numbers(before.benchmark.version):
            message = f"version {after.benchmark.version} is below {before.benchmark.version}, which it is held against"
            diagnostics.error(
                "E0902", message, span, help="versions go up: nothing else changed, so leave it as it was"
            )
        return
    wanted = least_version(before.benchmark.version, found[0].part)
    if version_numbers(after.benchmark.version) >= version_numbers(wanted):
        return
    version = after.benchmark.version
    message = f"version {version} understates what changed since {before.benchmark.version}: {found[0].text}"
    notes = [change.text for change in found[1:6]]
    diagnostics.error("E0901", message, span, help=f"call it {wanted} or higher", notes=notes)


def least_version(version: str, part: Weight) -> str:
    """Return the least version that follows `version` honestly after a change of that part.

    >>> least_version("1.2.3", "minor"), least_version("0.2.3", "major")
    ('1.3.0', '0.3.0')
    """
    return ".".join(map(str, _raised(version_numbers(version), part)))


def _raised(version: tuple[int, int, int], part: Weight) -> tuple[int, int, int]:
    """Return the least version that raises that part.

    >>> _raised((1, 2, 3), "minor"), _raised((0, 2, 3), "major")
    ((1, 3, 0), (0, 3, 0))
    """
    major, minor, patch = version
    if part == "patch" or (part == "minor" and major == 0):
        return major, minor, patch + 1
    return (major, minor + 1, 0) if part == "minor" or major == 0 else (major + 1, 0, 0)
