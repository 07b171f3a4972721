"""Plans to be held against each other: of a spec, of a release, or of a spec as git has it (`REVISION:PATH`)."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tripos.failure import Failure
from tripos.project import earlier_plan
from tripos_compiler.plan import Plan

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
    """Puts the files of a revision below `path` into a folder, under the same path."""
    if Path(path).is_absolute() or ".." in Path(path).parts or revision.startswith("-"):
        raise Failure("E0108", f"`{revision}:{path}` is no place in this repository", "write REVISION:specs/NAME")
    try:
        said = subprocess.run(
            ["git", "archive", "--format=tar", revision, "--", path],
            capture_output=True,
            timeout=GIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", b"") or b""
        why = told.decode(errors="replace").strip().removeprefix("fatal: ") or str(error)
        hint = "write REVISION:PATH as git does, such as HEAD~1:specs/edubench, in the repository"
        raise Failure("E0108", f"git has no `{revision}:{path}`: {why}", hint) from error
    with tarfile.open(fileobj=io.BytesIO(said.stdout)) as archive:
        archive.extractall(to, filter="data")
