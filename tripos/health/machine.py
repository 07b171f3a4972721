"""Python and the packages that Tripos needs."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from tripos.health.checks import Check, ok, problem

SUBJECT = "machine"
SHOWN = ("litellm", "aiohttp", "duckdb", "pyarrow", "pydantic", "obstore", "rich")
"""Packages whose version is told even where all is well: bugs are reported with it."""
OLDEST = (3, 11)
NAME = re.compile(r"[A-Za-z0-9._-]+")


def machine_checks() -> Iterator[Check]:
    """Looks at Python, Tripos and what it is made with."""
    from tripos import __version__

    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info >= OLDEST:
        yield ok(SUBJECT, "Python", version)
    else:
        oldest = ".".join(map(str, OLDEST))
        yield problem(SUBJECT, "Python", version, f"Tripos needs Python {oldest} or newer")
    yield ok(SUBJECT, "Tripos", __version__)
    wrong = list(_wrong_packages())
    for name, told in wrong:
        yield problem(SUBJECT, name, told, f'install it again: pip install "{name}" with the version named here')
    if not wrong:
        yield ok(SUBJECT, "packages", ", ".join(f"{name} {metadata.version(name)}" for name in SHOWN))


def _wrong_packages() -> Iterator[tuple[str, str]]:
    """Packages that are needed and missing, or of a version that does not fit."""
    needed: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [each for each in metadata.requires("tripos") or () if "extra ==" not in each]
    for requirement in needed or SHOWN:
        found = NAME.match(requirement)
        name = found[0] if found else requirement
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, f"not installed; needed: {requirement}"
            continue
        if not _fits(requirement, version):
            yield name, f"{version}; needed: {requirement}"


def _fits(requirement: str, version: str) -> bool:
    """Whether a version is one that a requirement allows; where nothing here can tell, it is."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return True
    return Requirement(requirement).specifier.contains(version, prereleases=True)
