"""Installed packages that offer functions to specs, by entry points of the group `tripos.functions`."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

GROUP = "tripos.functions"


class Packages:
    """The functions of installed packages. They are looked for when the first is, and nothing is imported."""

    @cached_property
    def entries(self) -> dict[str, tuple[EntryPoint, ...]]:
        """The entry points by the name that a spec uses, those of each package once."""
        found: dict[str, tuple[EntryPoint, ...]] = {}
        for entry in sorted(entry_points(group=GROUP), key=package_of):
            same = found.get(entry.name, ())
            if all(package_of(entry) != package_of(other) for other in same):  # the path may lead to it twice
                found[entry.name] = (*same, entry)
        return found


def package_of(entry: EntryPoint) -> str:
    """The name of the package that an entry point belongs to."""
    return entry.dist.name if entry.dist is not None else entry.module
