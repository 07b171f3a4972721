"""Whether a version number says enough of what changed since an earlier plan of the same benchmark.

`major.minor.patch`: figures of two versions with one `major` may be compared. `semantics/changes.py` says which part a
change raises. Below 1.0.0 the `minor` stands for the `major`.
"""

from __future__ import annotations

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.plan import Plan
from tripos_compiler.semantics.changes import Weight, changes
from tripos_compiler.semantics.versions import numbers
from tripos_compiler.source import Span


def check_version(before: Plan, after: Plan, span: Span, diagnostics: Diagnostics) -> None:
    """Reports, at the place of the version, one that understates what changed since `before`, or is below it."""
    found = changes(before, after)
    if before.benchmark.name != after.benchmark.name:
        return
    if not found:
        if numbers(after.benchmark.version) < numbers(before.benchmark.version):
            message = f"version {after.benchmark.version} is below {before.benchmark.version}, which it is held against"
            diagnostics.error(
                "E0902", message, span, help="versions go up: nothing else changed, so leave it as it was"
            )
        return
    wanted = least_version(before.benchmark.version, found[0].part)
    if numbers(after.benchmark.version) >= numbers(wanted):
        return
    version = after.benchmark.version
    message = f"version {version} understates what changed since {before.benchmark.version}: {found[0].text}"
    notes = [change.text for change in found[1:6]]
    diagnostics.error("E0901", message, span, help=f"call it {wanted} or higher", notes=notes)


def least_version(version: str, part: Weight) -> str:
    """The least version that follows `version` honestly after a change of that part.

    >>> least_version("1.2.3", "minor"), least_version("0.2.3", "major")
    ('1.3.0', '0.3.0')
    """
    return ".".join(map(str, _raised(numbers(version), part)))


def _raised(version: tuple[int, int, int], part: Weight) -> tuple[int, int, int]:
    """The least version that raises that part.

    >>> _raised((1, 2, 3), "minor"), _raised((0, 2, 3), "major")
    ((1, 3, 0), (0, 3, 0))
    """
    major, minor, patch = version
    if part == "patch" or (part == "minor" and major == 0):
        return major, minor, patch + 1
    return (major, minor + 1, 0) if part == "minor" or major == 0 else (major + 1, 0, 0)
