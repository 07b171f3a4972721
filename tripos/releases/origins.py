"""What a run is of: a release, or a working tree at some commit of git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripos.releases.places import find_release

GIT_S = 10
"""Seconds after which git is not waited for any longer."""


@dataclass(frozen=True)
class Origin:
    """`release` is the digest of a release; without one it is a working tree, of which git tells the commit that is
    checked out, and whether the files of the spec's folder differ from it."""

    release: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns of the table `runs`."""
        return {"release": self.release, "git_commit": self.git_commit, "git_dirty": self.git_dirty}


WORKING_TREE = Origin()
"""A working tree of which nothing more is known."""


def origin_of(given: str, main: Path) -> Origin:
    """What a command was given: a release, or the spec whose main file is `main`."""
    released = find_release(given)
    if released is not None:
        from tripos.releases.opening import open_release

        return Origin(open_release(released).digest)
    folder = main.resolve().parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return WORKING_TREE
    changed = _git(folder, "status", "--porcelain", "--", ".")
    return Origin(None, commit.strip(), None if changed is None else bool(changed.strip()))


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says of a folder; `None` where there is no git, or no repository."""
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return said.stdout
