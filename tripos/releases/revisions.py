"""Plans to be held against each other: of a spec, of a release, or of a spec as git has it (`REVISION:PATH`)."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tripos.failure import Failure
from tripos.project import earlier_plan
from tripos_compiler.plan import Plan

_ARCHIVE = ".revision.tar"
GIT_S = 60
"""Seconds after which git is not waited for any longer."""


def plan_of(given: str, data: Sequence[str] = (), standing: Sequence[str] = (), releases: Sequence[str] = ()) -> Plan:
    """The plan of a spec, a release, a plan in JSON, or `REVISION:PATH`. Raises `Failure`."""
    revision, colon, path = given.partition(":")
    if not colon or not revision or path.startswith("//") or Path(given).exists():
        return earlier_plan(given, data, standing, releases)
    with tempfile.TemporaryDirectory(prefix="tripos-") as folder:
        _check_out(revision, path or ".", Path(folder))
        return earlier_plan(str(Path(folder) / path), data, standing, releases)


def _check_out(revision: str, path: str, to: Path) -> None:
    """Puts the files of a revision into a folder, under the same path: those of the spec's folder, and of the folders
    beside it, which specs may have files in common with. The path is seen from the top of the repository, as git
    does."""
    if Path(path).is_absolute() or ".." in Path(path).parts or revision.startswith("-"):
        raise Failure("E0108", f"`{revision}:{path}` is no place in this repository", "write REVISION:specs/NAME")
    try:
        top = _git("rev-parse", "--show-toplevel").strip()
        inside = "" if path == "." else path.rstrip("/")
        folder = PurePosixPath(inside) if _git("cat-file", "-t", f"{revision}:{inside}").strip() == "tree" else None
        around = (PurePosixPath(inside).parent if folder is None else folder).parent
        _git("-C", top, "archive", "--format=tar", f"--output={to / _ARCHIVE}", revision, "--", around.as_posix())
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", "") or ""
        why = told.strip().removeprefix("fatal: ") or str(error)
        hint = "write REVISION:PATH as git does, such as HEAD~1:specs/edubench, in the repository"
        raise Failure("E0108", f"git has no `{revision}:{path}`: {why}", hint) from error
    with tarfile.open(to / _ARCHIVE) as archive:
        archive.extractall(to, filter="data")


def _git(*arguments: str) -> str:
    said = subprocess.run(
        ["git", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=GIT_S,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return said.stdout
