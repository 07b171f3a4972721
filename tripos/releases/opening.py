"""Opens a release for the commands that take a spec: its plan as it was frozen, and where its data lie."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripos.releases.fetching import find_release
from tripos.releases.git import run_git
from tripos.releases.layout import DATA, MANIFEST, RELEASES, SPEC
from tripos.releases.manifest import (
    Manifest,
    digest_of,
    file_digest,
    file_fault,
    manifest_fault,
    parse_manifest,
    parse_once,
)
from tripos.settings import read_untrusted
from tripos.ui import SOME_FAILED, Failure
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.plan import Plan
from tripos_compiler.source import FoundRelease, ReleaseFinder, ReleaseRequest, Source, UnfitRelease, dataclass
from tripos_runtime.datasets import TRUSTED, DataFolders, Trust, access_of

MOST_TEXT = 2**20
"""Characters of a spec's files that a run keeps."""
GIT_S = 10
"""Seconds after which git is not waited for any longer."""


@dataclass(frozen=True)
class RunOrigin:
    """`release` is the digest of a release; without one it is a working tree, of which git tells the commit that is
    checked out, and whether the files of the spec's folder differ from it."""

    release: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None
    spec: str | None = None
    """The files of the spec, JSON."""

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns of the table `runs`."""
        return {
            "release": self.release,
            "git_commit": self.git_commit,
            "git_dirty": self.git_dirty,
            "spec": self.spec,
        }


WORKING_TREE = RunOrigin()
"""A working tree of which nothing more is known."""


def origin_of(given: str, main: Path, sources: Sequence[Source] = ()) -> RunOrigin:
    """Return what a command was given: a release, or the spec whose main file is `main`; `sources` are its files."""
    spec = spec_text(main, sources)
    released = find_release(given)
    if released is not None:
        return RunOrigin(open_release(released).digest, spec=spec)
    folder = main.resolve().parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return RunOrigin(spec=spec)
    changed = _git(folder, "status", "--porcelain", "--ignore-submodules=all", "--", ".")
    return RunOrigin(None, commit.strip(), None if changed is None else bool(changed.strip()), spec)


def spec_text(main: Path, sources: Sequence[Source]) -> str | None:
    """Return the files of a spec as JSON for the row of a run, each by its path from the main file's folder; null in
    place of a text for which there is no room."""
    root, left, files = main.resolve().parent, MOST_TEXT, {}
    for source in sources:
        path = os.path.relpath(Path(source.path).resolve(), root).replace(os.sep, "/")
        if path.startswith("../../"):  # of a release that lies elsewhere: where that is says nothing about the spec
            path = "/".join(Path(source.path).parts[-3:])
        fits = len(source.text) <= left
        left -= len(source.text) if fits else 0
        files[path] = source.text if fits else None
    told = [{"path": path, "text": text} for path, text in files.items()]
    return json.dumps(told, ensure_ascii=False) if told else None


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says of a folder; `None` where there is no git, or no repository."""
    try:
        return run_git(*arguments, folder=folder, seconds=GIT_S)
    except (OSError, subprocess.SubprocessError):
        return None


NEEDED = ("plan.json",)
"""What a run reads of a release besides its data and plug-ins."""


@dataclass(frozen=True)
class Release:
    """A release's folder, its manifest, and the digest that names it."""

    folder: Path
    manifest: Manifest
    digest: str
    trust: Trust = TRUSTED
    """What the benchmark may do when it is run."""

    @property
    def main(self) -> Path:
        """The spec's main file."""
        return self.folder / self.manifest.main

    def data_folders(self, outer: Sequence[Path] = ()) -> DataFolders:
        """Return where its data lie: in the release, and what is not there in `outer`."""
        folders = (self.folder / DATA, *outer)
        return DataFolders(folders, access_of(self.main, folders, own=(self.folder,), trust=self.trust))

    def plan(self) -> Plan:
        """Return the plan that was frozen. Raises `Failure` S0855 where it, or what a run needs beside it, was
        changed."""
        self.check_files()
        try:
            raw = read_untrusted(self.folder / "plan.json")
            parse_once(raw)
            plan = Plan.model_validate_json(raw)
        except (OSError, ValueError) as error:
            raise _damaged(self.folder, "`plan.json` cannot be read") from error
        if plan.digest != self.manifest.plan:
            raise _damaged(self.folder, "`plan.json` is another plan than its manifest says")
        return plan

    def compilation(self, releases: ReleaseFinder) -> Compilation:
        """Return the frozen plan in the form that compiling a spec gives; `releases` finds those that it extends and
        does not hold. Raises `Failure`: S0855, and S0871 where one is not found."""
        plan = self.plan()
        extended = tuple(self._extended(plan, releases))
        return Compilation(plan, (), tuple(_sources(self, extended)), releases=extended)

    def _extended(self, plan: Plan, releases: ReleaseFinder) -> Iterator[FoundRelease]:
        """Yield the releases that it extends: in its own folder, in that of another of them, or elsewhere."""
        places = [self.main.as_posix()]
        places += [
            (self.folder / each.path).as_posix() for each in self.manifest.files if _is_manifest_of_another(each.path)
        ]
        for each in plan.extends:
            asked = ReleaseRequest(each.name, each.version, None, each.digest)
            found = (_find(releases, asked, place) for place in places)
            release = next((one for one in found if isinstance(one, FoundRelease)), None)
            if release is None:
                error = _find(releases, asked, places[0])
                assert isinstance(error, UnfitRelease)
                message = f"{self.manifest.name} extends {each.name} {each.version}: {error.message}"
                raise Failure("S0871", message, error.help) from error
            yield release

    def check_files(self) -> None:
        for file in self.manifest.files:
            if file.path in NEEDED or file.path.startswith(("spec/", f"{DATA}/", "made/", "public/", f"{RELEASES}/")):
                if (fault := file_fault(self.folder, file.path)) is not None:
                    raise _damaged(self.folder, f"`{file.path}` {fault}")
                try:
                    same = file_digest(self.folder / file.path) == file.sha256
                except OSError:
                    raise _damaged(self.folder, f"`{file.path}` is missing") from None
                if not same:
                    raise _damaged(self.folder, f"`{file.path}` was changed")


def open_release(folder: Path, trust: Trust = TRUSTED) -> Release:
    """Return the release in a folder. Raises `Failure` S0851 where its manifest is none, or of a newer Tripos."""
    try:
        raw = read_untrusted(folder / MANIFEST)
    except OSError as error:
        hint = "give the folder that `tripos release` wrote, such as releases/NAME-1.0.0"
        raise Failure("S0851", f"`{folder}` is no release: it has no {MANIFEST}", hint) from error
    try:
        return Release(folder, parse_manifest(raw), digest_of(raw), trust)
    except ValueError as error:
        hint = "it was changed, or is of a newer Tripos: get it again, or update Tripos"
        message = f"the manifest of `{folder}` cannot be read: {manifest_fault(error)}"
        raise Failure("S0851", message, hint, SOME_FAILED) from error


def recompiled_digest(
    release: Release, outer: Sequence[Path] = (), releases: ReleaseFinder | None = None
) -> str | None:
    """Return the digest of the plan that a release's sources compile to; `None` where they do not compile."""
    found = recompile(release, outer, releases)
    return None if found.plan is None else found.plan.digest


def recompile(release: Release, outer: Sequence[Path] = (), releases: ReleaseFinder | None = None) -> Compilation:
    """Compile a release's own sources; `releases` finds those that it extends. Raises `Failure` S0855 where its main
    file cannot be read."""
    try:
        folders = release.data_folders(outer)
        assert folders.access is not None
        return compile_spec(
            release.main.as_posix(),
            folders.access.read_text,
            folders,
            releases=releases,
        )
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(release.folder, f"`{release.manifest.main}` cannot be read") from error


def _sources(release: Release, extended: Sequence[FoundRelease]) -> Iterator[Source]:
    """Yield the files of the spec, the main file first, and after them those of the releases that it extends."""
    spec = [each for each in release.manifest.files if each.path.startswith(f"{SPEC}/")]
    paths = [release.folder / each.path for each in spec if each.path.endswith(".tripos")]
    main = release.main
    for path in [main, *(path for path in paths if path != main)]:
        yield Source(path.as_posix(), path.read_text("utf-8"))
    for each in extended:
        yield from _sources(open_release(Path(each.folder)), ())


def _is_manifest_of_another(path: str) -> bool:
    return path.startswith(f"{RELEASES}/") and path.endswith(f"/{MANIFEST}")


def _find(releases: ReleaseFinder, asked: ReleaseRequest, near: str) -> FoundRelease | UnfitRelease:
    try:
        return releases.find(asked, near)
    except UnfitRelease as error:
        return error


def _damaged(folder: Path, what: str) -> Failure:
    return Failure(
        "S0855", f"the release `{folder}` is damaged: {what}", f"see all of it: tripos verify {folder}", SOME_FAILED
    )


__all__ = ["Release", "open_release", "recompile", "recompiled_digest"]
