"""The search for the releases that a spec extends: beside it, in the folders of releases that a command was given, or
where the spec says that one lies. What was fetched is kept in a folder, with the digest that each address had."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tripos.releases.fetching import ZIP, Reach, fetch_release, find_release, is_release
from tripos.releases.layout import MANIFEST, RELEASES
from tripos.settings import read_untrusted_json
from tripos.ui import SOME_FAILED, Failure
from tripos_compiler.language.changes import version_order
from tripos_compiler.source import FoundRelease, ReleaseRequest, UnfitRelease, dataclass

PINS = "fetched.json"
"""The file beside fetched releases that says which digest each place had, by its address."""
MOST_BYTES = 2**20
MOST_SHOWN = 5
"""So many versions, or folders, are named in an error."""


@dataclass(frozen=True)
class ReleaseFolders:
    """Look for a release in `releases/` beside the spec that names it and beside each folder above, then in `folders`:
    folders of releases, or releases themselves. Where the spec says the place, nothing else is taken, but for
    a release of the very digest. A place in the network is read only with `fetch`, and what is read is kept in `into`;
    `tripos fetch` does that, and every other command takes what was fetched, by its digest."""

    folders: tuple[Path, ...] = ()
    fetch: Reach | None = None
    into: Path | None = None

    def find(self, asked: ReleaseRequest, near: str) -> FoundRelease:
        """Return the release that a spec at path `near` asks for: the one of that digest, or else the highest version.

        Raises `UnfitRelease`: E0912 where none is found, E0913 where it has another digest, E0914 where it is damaged.
        """
        candidates = list(self._candidates(asked, near)) if asked.place is None or asked.sha256 is not None else []
        fitting = [each for each in candidates if asked.fits(each.version)]
        if asked.sha256 is not None:
            same = next((each for each in fitting if each.digest == asked.sha256), None)
            if same is not None:  # it is that one wherever it lies: in a release that holds it, and need not be fetched
                return _found(same, asked)
        if asked.place is not None:
            return self._placed(asked, near)
        if not fitting:
            raise self._nothing(asked, near, candidates)
        highest = max(fitting, key=lambda each: version_order(each.version))
        if asked.sha256 is not None:
            raise _another(asked, highest)
        others = [each for each in fitting if each.version == highest.version and each.digest != highest.digest]
        if others:
            message = f"two releases are called {highest.version}: `{highest.folder}` and `{others[0].folder}`"
            raise UnfitRelease("E0913", message, f'say which is meant: sha256 "{highest.digest}"')
        return _found(highest, asked)

    def _placed(self, asked: ReleaseRequest, near: str) -> FoundRelease:
        assert asked.place is not None
        there = asked.place if "://" in asked.place else _join(Path(near).parent, asked.place)
        try:
            folder = self._fetched(there, asked, near) if "://" in there else find_release(there)
        except Failure as failure:
            raise UnfitRelease("E0912", failure.message, failure.hint or "") from failure
        candidate = None if folder is None else _candidate(folder)
        if candidate is None:
            raise UnfitRelease("E0912", f"there is no release at `{there}`", "give its folder, its zip, or its URL")
        if candidate.name != asked.name or not asked.fits(candidate.version):
            message = f"`{there}` is {candidate.name} {candidate.version}, not `{asked.text}`"
            raise UnfitRelease("E0913", message, f'write "{candidate.name}@{candidate.version}", or name another place')
        if asked.sha256 not in (None, candidate.digest):
            raise _another(asked, candidate)
        return _found(candidate, asked)

    def _fetched(self, url: str, asked: ReleaseRequest, near: str) -> Path:
        """Return the folder of what was fetched from a URL, now or before. Raises `UnfitRelease` and `Failure`."""
        for place in self._places(near):
            digest = read_pins(place).get(url)
            if digest is None or asked.sha256 not in (None, digest):
                continue
            for folder in sorted(_named(place, asked.name)):
                candidate = _candidate(folder)
                if candidate is not None and candidate.digest == digest:
                    return folder
        if self.fetch is None or self.into is None:
            help_ = f"fetch it, and it is kept beside the spec: tripos fetch {_shown(near)}"
            raise UnfitRelease("E0912", f"`{url}` has not been fetched", help_)
        return keep_fetched(fetch_release(url, self.fetch, asked.sha256), url, self.into)

    def _candidates(self, asked: ReleaseRequest, near: str) -> Iterator[_Candidate]:
        """Yield every release of that benchmark, in the order of the places."""
        for place in self._places(near):
            found = [place] if is_release(place) or _is_zip(place) else sorted(_named(place, asked.name))
            for path in found:
                candidate = _candidate(find_release(str(path)) or path)
                if candidate is not None and candidate.name == asked.name:
                    yield candidate

    def _places(self, near: str) -> Iterator[Path]:
        beside = Path(near).parent
        above = [beside, *beside.parents]
        if not beside.is_absolute():
            above += Path.cwd().parents
        yield from (each / RELEASES for each in above)
        yield from self.folders

    def _nothing(self, asked: ReleaseRequest, near: str, candidates: list[_Candidate]) -> UnfitRelease:
        if candidates:
            versions = sorted({each.version for each in candidates}, key=version_order, reverse=True)
            more = f" and {len(versions) - MOST_SHOWN} more" if len(versions) > MOST_SHOWN else ""
            message = f"no version of `{asked.name}` fits `{asked.text}`"
            return UnfitRelease("E0912", message, f"there is {', '.join(versions[:MOST_SHOWN])}{more}")
        there = [f"`{place}`" for place in self._places(near) if place.exists()]
        looked = f"looked in {', '.join(there[:MOST_SHOWN])}" if there else f"no folder `{RELEASES}` is beside the spec"
        help_ = f"{looked}; give the folder that holds it with --releases DIR"
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
    """Return what a folder says that it is; None where it is no release that can be read."""
    from tripos.releases.opening import open_release

    try:
        release = open_release(folder)
    except Failure:
        return None
    manifest = release.manifest
    return _Candidate(folder, manifest.benchmark, manifest.version, release.digest, manifest.main, manifest.languages)


@cache
def _data_of(folder: Path, digest: str) -> frozenset[tuple[str, str]]:
    """Return the data files of a release, whose files are held against its manifest: once, since a release never
    changes."""
    from tripos.releases.opening import open_release

    plan = open_release(folder).plan()
    files = {(file.path, file.sha256) for dataset in plan.datasets for file in dataset.every_file}
    for tree in plan.trees:
        files |= {(file.path, file.sha256) for file in tree.files} or {(tree.path, tree.sha256)}
    return frozenset(files)


def _found(candidate: _Candidate, asked: ReleaseRequest) -> FoundRelease:
    folder = candidate.folder
    try:
        data = _data_of(folder.resolve(), candidate.digest)
    except Failure as failure:
        raise UnfitRelease("E0914", f"`{asked.text}`: {failure.message}", failure.hint or "") from failure
    main = (folder / candidate.main).as_posix()
    return FoundRelease(
        candidate.name, candidate.version, candidate.digest, folder.as_posix(), main, candidate.languages, data
    )


def _shown(near: str) -> str:
    path = Path(near)
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _another(asked: ReleaseRequest, found: _Candidate) -> UnfitRelease:
    message = f"`{found.folder}` has another digest: {found.digest}, and the spec says {asked.sha256}"
    help_ = "get the right release, or write the digest of the new one here"
    return UnfitRelease("E0913", message, help_)


def _named(place: Path, name: str) -> Iterator[Path]:
    """Yield the folders and zips in a folder that are called like releases of a benchmark; of one that is there as
    both, the folder."""
    label = re.compile(rf"{re.escape(name)}-\d+\.\d+\.\d+([-+][\w.]+)?(\.zip)?")
    try:
        there = [path for path in place.iterdir() if label.fullmatch(path.name)]
    except OSError:
        return
    folders = {path.name for path in there if (path / MANIFEST).is_file()}
    yield from (path for path in there if path.name in folders)
    yield from (path for path in there if path.suffix == ZIP and path.stem not in folders)


def _is_zip(path: Path) -> bool:
    return path.suffix == ZIP and path.is_file()


def _join(folder: Path, place: str) -> str:
    return Path(os.path.normpath(folder / place)).as_posix()


def read_pins(folder: Path) -> dict[str, str]:
    """Return the digests of what was fetched into a folder, by address. A file that cannot be read says nothing."""
    path = folder / PINS
    try:
        said = read_untrusted_json(path, MOST_BYTES)
    except (OSError, ValueError):
        return {}
    return {url: digest for url, digest in said.items() if isinstance(digest, str)} if isinstance(said, dict) else {}


def keep_fetched(found: Path, url: str, into: Path) -> Path:
    """Put a release that was fetched into a folder, and pin its address to its digest. Return its folder there.

    Raises `Failure`: S0851 where it is none, S0850 where another one has its name, or the folder cannot be written.
    """
    from tripos.releases.opening import open_release

    release = open_release(found)
    release.check_files()
    target = into / release.manifest.name
    try:
        into.mkdir(parents=True, exist_ok=True)
        if target.exists():
            if open_release(target).digest != release.digest:
                hint = "remove the other one, or fetch into another folder: --to DIR"
                raise Failure("S0850", f"`{target}` is there already, with other content", hint, SOME_FAILED)
        else:
            shutil.copytree(found, target)
        pins = {**read_pins(into), url: release.digest}
        (into / PINS).write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", "utf-8")
    except OSError as error:
        message = f"cannot write to `{into}`: {error.strerror or error}"
        raise Failure("S0850", message, "fetch into another folder: --to DIR", SOME_FAILED) from error
    return target
