"""Opens a release for the commands that take a spec: its plan as it was frozen, and where its data lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tripos.failure import SOME_FAILED, Failure
from tripos.releases.contents import DATA
from tripos.releases.manifest import Manifest, digest_of, file_digest
from tripos.releases.names import MANIFEST
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.plan import Plan
from tripos_compiler.source import Source
from tripos_runtime.datasets import DataFolders

NEEDED = ("plan.json",)
"""What a run reads of a release besides its data and plug-ins."""


@dataclass(frozen=True)
class Release:
    """A release's folder, its manifest, and the digest that names it."""

    folder: Path
    manifest: Manifest
    digest: str

    @property
    def main(self) -> Path:
        """The spec's main file."""
        return self.folder / self.manifest.main

    def data_folders(self, outer: Sequence[Path] = ()) -> DataFolders:
        """Where its data lie: in the release, and what is not there in `outer`."""
        return DataFolders((self.folder / DATA, *outer))

    def plan(self) -> Plan:
        """The plan that was frozen. Raises `Failure` W0855 where it, or what a run needs beside it, was changed."""
        self._check_files()
        try:
            plan = Plan.model_validate_json((self.folder / "plan.json").read_bytes())
        except (OSError, ValueError) as error:
            raise _damaged(self.folder, "`plan.json` cannot be read") from error
        if plan.digest != self.manifest.plan:
            raise _damaged(self.folder, "`plan.json` is another plan than its manifest says")
        return plan

    def compilation(self) -> Compilation:
        """The frozen plan in the form that compiling a spec gives. Raises `Failure` W0855."""
        return Compilation(self.plan(), (), tuple(_sources(self)))

    def _check_files(self) -> None:
        for file in self.manifest.files:
            if file.path in NEEDED or file.path.startswith(("spec/", f"{DATA}/", "made/")):
                try:
                    same = file_digest(self.folder / file.path) == file.sha256
                except OSError:
                    raise _damaged(self.folder, f"`{file.path}` is missing") from None
                if not same:
                    raise _damaged(self.folder, f"`{file.path}` was changed")


def open_release(folder: Path) -> Release:
    """The release in a folder. Raises `Failure` W0851 where its manifest is none, or of a newer Tripos."""
    try:
        raw = (folder / MANIFEST).read_bytes()
    except OSError as error:
        hint = "give the folder that `tripos release` wrote, such as releases/NAME-1.0.0"
        raise Failure("W0851", f"`{folder}` is no release: it has no {MANIFEST}", hint) from error
    try:
        return Release(folder, Manifest.model_validate_json(raw), digest_of(raw))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        said = f"`{place}`: {first['msg'].lower()}" if place else first["msg"].lower()
        hint = "it was changed, or is of a newer Tripos: get it again, or update Tripos"
        raise Failure("W0851", f"the manifest of `{folder}` cannot be read: {said}", hint, SOME_FAILED) from error


def recompiled_digest(release: Release, outer: Sequence[Path] = ()) -> str | None:
    """The digest of the plan that a release's sources compile to; `None` where they do not compile."""
    found = recompile(release, outer)
    return None if found.plan is None else found.plan.digest


def recompile(release: Release, outer: Sequence[Path] = ()) -> Compilation:
    """Compiles a release's own sources. Raises `Failure` W0855 where its main file cannot be read."""
    try:
        return compile_spec(
            release.main.as_posix(), lambda path: Path(path).read_text("utf-8"), release.data_folders(outer)
        )
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(release.folder, f"`{release.manifest.main}` cannot be read") from error


def _sources(release: Release) -> list[Source]:
    paths = [release.folder / each.path for each in release.manifest.files if each.path.endswith(".tripos")]
    main = release.main
    ordered = [main, *(path for path in paths if path != main)]
    return [Source(path.as_posix(), path.read_text("utf-8")) for path in ordered]


def _damaged(folder: Path, what: str) -> Failure:
    return Failure(
        "W0855", f"the release `{folder}` is damaged: {what}", f"see all of it: tripos verify {folder}", SOME_FAILED
    )


__all__ = ["Release", "open_release", "recompile", "recompiled_digest"]
