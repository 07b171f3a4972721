"""Opening of releases for commands that take a spec: the frozen plan, its data, and the releases that it extends.

An extended release is searched next to the spec, in the folders of a command's options, or at the place that the spec
names. Downloaded releases are kept in a folder, with the digest of each address.

git may be asked about a folder that a stranger made, so no program that the repository's configuration names is
executed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tripos.files import read_untrusted, read_untrusted_json
from tripos.releases.locations import ZIP, fetch_release, is_release, open_location
from tripos.releases.manifest import (
    DATA,
    MANIFEST,
    RELEASES,
    SPEC,
    Manifest,
    digest_of,
    file_digest,
    file_fault,
    manifest_fault,
    parse_manifest,
    parse_strict_json,
)
from tripos.releases.network_policy import NetworkPolicy
from tripos.settings.options import ReleaseParameters, RunParameters
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.plan_diff import version_order
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import ReleaseFinder, ReleaseRequest, ResolvedRelease, UnfitRelease
from tripos_compiler.source.text import Source
from tripos_runtime.datasets.data_files import DataFolders, access_of
from tripos_runtime.datasets.trust import TRUSTED, Trust

FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
SAFE_GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "safe.bareRepository": "explicit",
}
"""Overrides of a repository's settings that may name a program, or a folder with programs."""


def run_git(*arguments: str, folder: Path | None = None, seconds: float) -> str:
    """Run git and return its output. Raises `OSError` and `subprocess.SubprocessError`."""
    place = () if folder is None else ("-C", str(folder))
    named = _run(*place, "config", "--includes", "--name-only", "--null", "--get-regexp", FILTERS, seconds=seconds)
    filters = {name: "false" if name.endswith(".required") else "" for name in named.split("\0") if name}
    return _run(*place, *arguments, settings=filters, seconds=seconds, check=True)


def _run(*arguments: str, settings: dict[str, str] | None = None, seconds: float, check: bool = False) -> str:
    said = subprocess.run(
        ["git", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=check,
        stdin=subprocess.DEVNULL,
        env=_environment({**SAFE_GIT_SETTINGS, **(settings or {})}),
    )
    return said.stdout


def _environment(settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of git with these settings, and without access to the network."""
    kept = dict(os.environ)
    had = kept.get("GIT_CONFIG_COUNT", "")
    first = int(had) if had.isdecimal() else 0  # the user's settings come first, and the last one wins
    for number, (name, value) in enumerate(settings.items(), first):
        kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    kept["GIT_CONFIG_COUNT"] = str(first + len(settings))
    return kept | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}


# The origin of a run
MOST_TEXT = 2**20
"""Maximum characters of a spec's files that are stored with a run."""
GIT_S = 10
"""Timeout of git in seconds."""


@dataclass(frozen=True)
class RunOrigin:
    """The origin of a run's spec: the digest of a release, or else the commit of the working tree, and whether the
    files of the spec's folder differ from it."""

    release: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None
    spec: str | None = None
    """The files of the spec as JSON."""

    @property
    def columns(self) -> dict[str, Any]:
        """The origin as columns of the table `runs`."""
        return {
            "release": self.release,
            "git_commit": self.git_commit,
            "git_dirty": self.git_dirty,
            "spec": self.spec,
        }


WORKING_TREE = RunOrigin()
"""A working tree without further facts."""


def origin_of(given: str, main: Path, sources: Sequence[Source] = ()) -> RunOrigin:
    """Return the origin of a command's argument: a release, or the spec whose main file is `main`. `sources` are its
    files."""
    spec = spec_text(main, sources)
    released = open_location(given)
    if released is not None:
        return RunOrigin(open_release(released).digest, spec=spec)
    folder = main.resolve().parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return RunOrigin(spec=spec)
    changed = _git(folder, "status", "--porcelain", "--ignore-submodules=all", "--", ".")
    return RunOrigin(None, commit.strip(), None if changed is None else bool(changed.strip()), spec)


def spec_text(main: Path, sources: Sequence[Source]) -> str | None:
    """Return the files of a spec as JSON for the row of a run, by path relative to the main file. A text that does not
    fit is null."""
    root, left, files = main.resolve().parent, MOST_TEXT, {}
    for source in sources:
        path = os.path.relpath(Path(source.path).resolve(), root).replace(os.sep, "/")
        if path.startswith("../../"):  # in a release elsewhere, whose location does not matter
            path = "/".join(Path(source.path).parts[-3:])
        fits = len(source.text) <= left
        left -= len(source.text) if fits else 0
        files[path] = source.text if fits else None
    told = [{"path": path, "text": text} for path, text in files.items()]
    return json.dumps(told, ensure_ascii=False) if told else None


def _git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git in a folder, or None without git or a repository."""
    try:
        return run_git(*arguments, folder=folder, seconds=GIT_S)
    except (OSError, subprocess.SubprocessError):
        return None


# An opened release
RUN_FILES = ("plan.json",)
"""Files that a run reads from a release besides its data and plug-ins."""


@dataclass(frozen=True)
class Release:
    """A release: its folder, its manifest, and its digest."""

    folder: Path
    manifest: Manifest
    digest: str
    trust: Trust = TRUSTED
    """The permissions of the benchmark's code."""

    @property
    def main(self) -> Path:
        """The spec's main file."""
        return self.folder / self.manifest.main

    def data_folders(self, outer: Sequence[Path] = ()) -> DataFolders:
        """Return the folders of its data: first the release, then `outer`."""
        folders = (self.folder / DATA, *outer)
        return DataFolders(folders, access_of(self.main, folders, own=(self.folder,), trust=self.trust))

    def plan(self) -> Plan:
        """Return the frozen plan. Raises `TriposError` S0855 if the plan, or another file that a run needs, was
        changed."""
        self.check_files()
        try:
            raw = read_untrusted(self.folder / "plan.json")
            parse_strict_json(raw)
            plan = Plan.model_validate_json(raw)
        except (OSError, ValueError) as error:
            raise _damaged(self.folder, "`plan.json` cannot be read") from error
        if plan.digest != self.manifest.plan:
            raise _damaged(self.folder, "`plan.json` is another plan than its manifest says")
        return plan

    def compilation(self, releases: ReleaseFinder) -> Compilation:
        """Return the frozen plan as a compilation. `releases` finds the extended releases that are not inside. Raises
        `TriposError` S0855, and S0871 if an extended release is not found."""
        plan = self.plan()
        extended = tuple(self._extended(plan, releases))
        return Compilation(plan, (), tuple(_sources(self, extended)), releases=extended)

    def _extended(self, plan: Plan, releases: ReleaseFinder) -> Iterator[ResolvedRelease]:
        """Yield the extended releases: from its own folder, from another extended release, or from elsewhere."""
        places = [self.main.as_posix()]
        places += [
            (self.folder / file.path).as_posix() for file in self.manifest.files if _is_manifest_of_another(file.path)
        ]
        for extended in plan.extends:
            request = ReleaseRequest(extended.name, extended.version, None, extended.digest)
            found = (_find_or_error(releases, request, place) for place in places)
            release = next((one for one in found if isinstance(one, ResolvedRelease)), None)
            if release is None:
                error = _find_or_error(releases, request, places[0])
                assert isinstance(error, UnfitRelease)
                message = f"{self.manifest.name} extends {extended.name} {extended.version}: {error.message}"
                raise TriposError("S0871", message, error.hint) from error
            yield release

    def check_files(self) -> None:
        """Check the files that a run reads. Raises `TriposError` S0855 if one was changed, is missing or is a link."""
        for file in self.manifest.files:
            if file.path in RUN_FILES or file.path.startswith(
                ("spec/", f"{DATA}/", "made/", "public/", f"{RELEASES}/")
            ):
                if (fault := file_fault(self.folder, file.path)) is not None:
                    raise _damaged(self.folder, f"`{file.path}` {fault}")
                try:
                    same = file_digest(self.folder / file.path) == file.sha256
                except OSError:
                    raise _damaged(self.folder, f"`{file.path}` is missing") from None
                if not same:
                    raise _damaged(self.folder, f"`{file.path}` was changed")


def open_release(folder: Path, trust: Trust = TRUSTED) -> Release:
    """Return the release in a folder. Raises `TriposError` S0851 if its manifest is missing, invalid, or from a newer
    Tripos."""
    try:
        raw = read_untrusted(folder / MANIFEST)
    except OSError as error:
        hint = "give the folder that `tripos release` wrote, such as releases/NAME-1.0.0"
        raise TriposError("S0851", f"`{folder}` is no release: it has no {MANIFEST}", hint) from error
    try:
        return Release(folder, parse_manifest(raw), digest_of(raw), trust)
    except ValueError as error:
        hint = "it was changed, or is of a newer Tripos: get it again, or update Tripos"
        message = f"the manifest of `{folder}` cannot be read: {manifest_fault(error)}"
        raise TriposError("S0851", message, hint, ExitCode.SOME_FAILED) from error


def recompiled_digest(
    release: Release, outer: Sequence[Path] = (), releases: ReleaseFinder | None = None
) -> str | None:
    """Return the digest of the plan that a release's sources compile to, or None if they do not compile."""
    compilation = recompile(release, outer, releases)
    return None if compilation.plan is None else compilation.plan.digest


def recompile(release: Release, outer: Sequence[Path] = (), releases: ReleaseFinder | None = None) -> Compilation:
    """Compile a release's own sources. `releases` finds the releases that it extends. Raises `TriposError` S0855 if its
    main file cannot be read."""
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


def _sources(release: Release, extended: Sequence[ResolvedRelease]) -> Iterator[Source]:
    """Yield the files of the spec, with the main file first, and then those of the releases that it extends."""
    spec = [file for file in release.manifest.files if file.path.startswith(f"{SPEC}/")]
    paths = [release.folder / file.path for file in spec if file.path.endswith(".tripos")]
    main = release.main
    for path in [main, *(path for path in paths if path != main)]:
        yield Source(path.as_posix(), path.read_text("utf-8"))
    for resolved_release in extended:
        yield from _sources(open_release(Path(resolved_release.folder)), ())


def _is_manifest_of_another(path: str) -> bool:
    return path.startswith(f"{RELEASES}/") and path.endswith(f"/{MANIFEST}")


def _find_or_error(releases: ReleaseFinder, asked: ReleaseRequest, near: str) -> ResolvedRelease | UnfitRelease:
    try:
        return releases.find(asked, near)
    except UnfitRelease as error:
        return error


def _damaged(folder: Path, what: str) -> TriposError:
    return TriposError(
        "S0855",
        f"the release `{folder}` is damaged: {what}",
        f"see all of it: tripos verify {folder}",
        ExitCode.SOME_FAILED,
    )


# Extended releases
PINS = "fetched.json"
"""The file with the digest of each downloaded address."""
MOST_BYTES = 2**20
MOST_SHOWN = 5
"""Maximum versions or folders named in an error."""


@dataclass(frozen=True)
class ReleaseFolders:
    """The places to search for extended releases: `releases/` next to the spec and in each folder above, then
    `folders`, which are releases or contain them. If the spec gives a place, only that place counts, or any release
    with the exact digest. An address is downloaded only if `fetch` is set, and stored in `into`. `tripos fetch` does
    so; other commands use the stored copy, by its digest."""

    folders: tuple[Path, ...] = ()
    fetch: NetworkPolicy | None = None
    into: Path | None = None

    def find(self, asked: ReleaseRequest, near: str) -> ResolvedRelease:
        """Return the release that a spec at path `near` requests: the one with the digest, or else the highest fitting
        version.

        Raises `UnfitRelease` E0912 if none is found, E0913 if the digest differs, and E0914 if it is damaged.
        """
        candidates = list(self._candidates(asked, near)) if asked.place is None or asked.sha256 is not None else []
        fitting = [candidate for candidate in candidates if asked.fits(candidate.version)]
        if asked.sha256 is not None:
            same = next((candidate for candidate in fitting if candidate.digest == asked.sha256), None)
            if same is not None:  # the digest identifies it wherever it is, so it need not be downloaded
                return _found(same, asked)
        if asked.place is not None:
            return self._placed(asked, near)
        if not fitting:
            raise self._nothing(asked, near, candidates)
        highest = max(fitting, key=lambda candidate: version_order(candidate.version))
        if asked.sha256 is not None:
            raise _digest_mismatch(asked, highest)
        others = [
            candidate
            for candidate in fitting
            if candidate.version == highest.version and candidate.digest != highest.digest
        ]
        if others:
            message = f"two releases are called {highest.version}: `{highest.folder}` and `{others[0].folder}`"
            raise UnfitRelease("E0913", message, f'say which is meant: sha256 "{highest.digest}"')
        return _found(highest, asked)

    def _placed(self, asked: ReleaseRequest, near: str) -> ResolvedRelease:
        assert asked.place is not None
        there = asked.place if "://" in asked.place else _join(Path(near).parent, asked.place)
        try:
            folder = self._fetched(there, asked, near) if "://" in there else open_location(there)
        except TriposError as failure:
            raise UnfitRelease("E0912", failure.message, failure.hint) from failure
        candidate = None if folder is None else _candidate(folder)
        if candidate is None:
            raise UnfitRelease("E0912", f"there is no release at `{there}`", "give its folder, its zip, or its URL")
        if candidate.name != asked.name or not asked.fits(candidate.version):
            message = f"`{there}` is {candidate.name} {candidate.version}, not `{asked.text}`"
            raise UnfitRelease("E0913", message, f'write "{candidate.name}@{candidate.version}", or name another place')
        if asked.sha256 not in (None, candidate.digest):
            raise _digest_mismatch(asked, candidate)
        return _found(candidate, asked)

    def _fetched(self, url: str, asked: ReleaseRequest, near: str) -> Path:
        """Return the folder of a downloaded release, after downloading it if allowed. Raises `UnfitRelease` and
        `TriposError`."""
        for place in self._places(near):
            digest = read_pins(place).get(url)
            if digest is None or asked.sha256 not in (None, digest):
                continue
            for folder in sorted(_release_paths(place, asked.name)):
                candidate = _candidate(folder)
                if candidate is not None and candidate.digest == digest:
                    return folder
        if self.fetch is None or self.into is None:
            help_ = f"fetch it, and it is kept beside the spec: tripos fetch {_shown(near)}"
            raise UnfitRelease("E0912", f"`{url}` has not been fetched", help_)
        return store_fetched(fetch_release(url, self.fetch, asked.sha256), url, self.into)

    def _candidates(self, asked: ReleaseRequest, near: str) -> Iterator[_Candidate]:
        """Yield every release of the benchmark, in the order of the places."""
        for place in self._places(near):
            paths = [place] if is_release(place) or _is_zip(place) else sorted(_release_paths(place, asked.name))
            for path in paths:
                candidate = _candidate(open_location(str(path)) or path)
                if candidate is not None and candidate.name == asked.name:
                    yield candidate

    def _places(self, near: str) -> Iterator[Path]:
        path = Path(near).parent
        above = [path, *path.parents]
        if not path.is_absolute():
            above += Path.cwd().parents
        yield from (each / RELEASES for each in above)
        yield from self.folders

    def _nothing(self, asked: ReleaseRequest, near: str, candidates: list[_Candidate]) -> UnfitRelease:
        if candidates:
            versions = sorted({candidate.version for candidate in candidates}, key=version_order, reverse=True)
            more = f" and {len(versions) - MOST_SHOWN} more" if len(versions) > MOST_SHOWN else ""
            message = f"no version of `{asked.name}` fits `{asked.text}`"
            return UnfitRelease("E0912", message, f"there is {', '.join(versions[:MOST_SHOWN])}{more}")
        there = [f"`{place}`" for place in self._places(near) if place.exists()]
        looked = f"looked in {', '.join(there[:MOST_SHOWN])}" if there else f"no folder `{RELEASES}` is beside the spec"
        help_ = f"{looked}; give the folder that holds it with {RunParameters.releases} DIR"
        return UnfitRelease("E0912", f"there is no release `{asked.text}`", help_)


@dataclass(frozen=True)
class _Candidate:
    folder: Path
    name: str
    version: str
    digest: str
    main: str
    languages: tuple[str, ...]


def _candidate(folder: Path) -> _Candidate | None:
    """Return the identity of the release in a folder, or None if there is no readable one."""
    try:
        release = open_release(folder)
    except TriposError:
        return None
    manifest = release.manifest
    return _Candidate(folder, manifest.benchmark, manifest.version, release.digest, manifest.main, manifest.languages)


@cache
def _data_of(folder: Path, digest: str) -> frozenset[tuple[str, str]]:
    """Return the data files of a release, checked against its manifest. The result is cached, since a release never
    changes."""
    plan = open_release(folder).plan()
    files = {(file.path, file.sha256) for dataset in plan.datasets for file in dataset.every_file}
    for tree in plan.trees:
        files |= {(file.path, file.sha256) for file in tree.files} or {(tree.path, tree.sha256)}
    return frozenset(files)


def _found(candidate: _Candidate, asked: ReleaseRequest) -> ResolvedRelease:
    folder = candidate.folder
    try:
        data = _data_of(folder.resolve(), candidate.digest)
    except TriposError as failure:
        raise UnfitRelease("E0914", f"`{asked.text}`: {failure.message}", failure.hint) from failure
    main = (folder / candidate.main).as_posix()
    return ResolvedRelease(
        candidate.name, candidate.version, candidate.digest, folder.as_posix(), main, candidate.languages, data
    )


def _shown(near: str) -> str:
    path = Path(near)
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _digest_mismatch(asked: ReleaseRequest, found: _Candidate) -> UnfitRelease:
    message = f"`{found.folder}` has another digest: {found.digest}, and the spec says {asked.sha256}"
    help_ = "get the right release, or write the digest of the new one here"
    return UnfitRelease("E0913", message, help_)


def _release_paths(place: Path, name: str) -> Iterator[Path]:
    """Yield the folders and zips in a folder that are named like releases of a benchmark. If both exist, only the
    folder."""
    label = re.compile(rf"{re.escape(name)}-\d+\.\d+\.\d+([-+][\w.]+)?(\.zip)?")
    try:
        paths = [path for path in place.iterdir() if label.fullmatch(path.name)]
    except OSError:
        return
    folders = {path.name for path in paths if (path / MANIFEST).is_file()}
    yield from (path for path in paths if path.name in folders)
    yield from (path for path in paths if path.suffix == ZIP and path.stem not in folders)


def _is_zip(path: Path) -> bool:
    return path.suffix == ZIP and path.is_file()


def _join(folder: Path, place: str) -> str:
    return Path(os.path.normpath(folder / place)).as_posix()


def read_pins(folder: Path) -> dict[str, str]:
    """Return the digests of downloaded releases by address, or nothing if the file cannot be read."""
    path = folder / PINS
    try:
        said = read_untrusted_json(path, MOST_BYTES)
    except (OSError, ValueError):
        return {}
    return {url: digest for url, digest in said.items() if isinstance(digest, str)} if isinstance(said, dict) else {}


def store_fetched(found: Path, url: str, into: Path) -> Path:
    """Copy a downloaded release into a folder, and record the digest of its address. Return its new folder.

    Raises `TriposError` S0851 if it is not a release, and S0850 if another release has its name or the folder cannot be
    written.
    """
    release = open_release(found)
    release.check_files()
    target = into / release.manifest.name
    try:
        into.mkdir(parents=True, exist_ok=True)
        if target.exists():
            if open_release(target).digest != release.digest:
                hint = f"remove the other one, or fetch into another folder: {ReleaseParameters.to} DIR"
                raise TriposError(
                    "S0850", f"`{target}` is there already, with other content", hint, ExitCode.SOME_FAILED
                )
        else:
            shutil.copytree(found, target)
        pins = {**read_pins(into), url: release.digest}
        (into / PINS).write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", "utf-8")
    except OSError as error:
        message = f"cannot write to `{into}`: {error.strerror or error}"
        raise TriposError(
            "S0850", message, f"fetch into another folder: {ReleaseParameters.to} DIR", ExitCode.SOME_FAILED
        ) from error
    return target
