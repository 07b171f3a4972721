"""The contents of a benchmark's release: the spec, its plug-ins, and those of its data that may be copied."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from tripos.releases.layout import DATA, RELEASES, SPEC, UNLISTED
from tripos.releases.manifest import ExtendedRelease, ExternalFile, file_digest
from tripos.releases.opening import Release, open_release
from tripos.releases.release_toml import ABOUT, ReleaseToml
from tripos.ui import Failure
from tripos_compiler.compile import Compilation
from tripos_compiler.language import read_row
from tripos_compiler.plan import Dataset, Plan
from tripos_compiler.source import DataError, FoundFile, FoundRelease
from tripos_runtime.datasets import DataFolders, KnownMedia, dataset_files, files_of


def check_pinned(compilation: Compilation) -> None:
    """Raise `Failure` S0870 where a spec extends a release of which it does not say the digest: then what was released
    could not be told."""
    for release in compilation.unpinned:
        message = f"the spec extends {release.title} without its digest"
        raise Failure("S0870", message, f'write it after its name: sha256 "{release.digest}"')


def vendor_releases(extended: Sequence[FoundRelease], about: ReleaseToml, folder: Path) -> tuple[ExtendedRelease, ...]:
    """Copy the releases that are extended into a release's folder, where that is allowed; how each is found again. One
    that lies in another of them comes with it. Raises `Failure` S0855 where a file is not as it was released, and
    `OSError`."""
    found = []
    for release in sorted(extended, key=lambda each: each.name):
        around = next((each for each in extended if each is not release and each.inside(release.folder)), None)
        terms = about.releases.get(release.label)
        opened = open_release(Path(release.folder))
        path: str | None = f"{RELEASES}/{release.label}"
        if around is not None or (terms is not None and not terms.copy_it):
            path = None
        else:
            _copy(opened, folder / RELEASES / release.label)
        found.append(
            ExtendedRelease(
                name=release.name,
                version=release.version,
                digest=release.digest,
                license=opened.manifest.license,
                path=path,
                within=None if around is None else around.label,
                source=terms.source if terms is not None else None,
            )
        )
    return tuple(found)


def _copy(release: Release, to: Path) -> None:
    for file in release.manifest.files:
        source, target = release.folder / file.path, to / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if file_digest(target) != file.sha256:
            hint = f"see all of it: tripos verify {release.folder}"
            raise Failure("S0855", f"the release `{release.folder}` is damaged: `{file.path}` was changed", hint)
    for name in UNLISTED:
        if (release.folder / name).is_file():
            shutil.copyfile(release.folder / name, to / name)


WITHHELD = "withheld"
"""The source of a file that nobody is to have."""


@dataclass(frozen=True)
class Copied:
    """A file that is copied: where it lies, and its path in the release."""

    location: Path
    path: str
    rows: int | None = None


@dataclass(frozen=True)
class Contents:
    """The copied files, the named files, and the path of the spec's main file in the release."""

    main: str
    copied: tuple[Copied, ...]
    external: tuple[ExternalFile, ...]


@dataclass(frozen=True)
class _Used:
    """A data file that a plan was compiled from."""

    found: FoundFile
    source: str
    rows: int | None
    shows: bool = False
    """Whether its rows name images or other files."""


def own_sources(compilation: Compilation) -> list[str]:
    """Return the files of the spec itself, without those of releases that it extends."""
    return [
        source.path
        for source in compilation.sources
        if not any(release.inside(source.path) for release in compilation.releases)
    ]


def spec_root(compilation: Compilation, plan: Plan) -> Path:
    """Return the folder that holds every file of a spec, its plug-ins too."""
    sources = [Path(path).resolve() for path in own_sources(compilation)]
    plugins = [sources[0].parent / path for each in plan.plugins if each.release is None for path in each.files]
    return Path(os.path.commonpath([path.resolve().parent for path in (*sources, *plugins)]))


def is_own(location: Path, compilation: Compilation, folders: DataFolders) -> bool:
    """Return true if data lie in the folder of one of a spec's files, and so belong to whoever releases it. What lies
    in a data folder is others', wherever that is, unless it is within the folder of the main file."""
    beside = [Path(path).resolve().parent for path in own_sources(compilation)]
    if location.is_relative_to(beside[0]):
        return True
    given = any(location.is_relative_to(folder.resolve()) for folder in folders.folders)
    return not given and any(location.is_relative_to(folder) for folder in beside)


def contents_of(
    compilation: Compilation, plan: Plan, folders: DataFolders, about: ReleaseToml, held: Collection[str] = ()
) -> Contents:
    """Return what goes into a release of a plan. Data that lie beside the spec's files are copied; of others, such as
    those in a data folder, only what `release.toml` allows; and none of the files, by SHA-256, that have items which
    are `held` back.

    Raises `Failure` S0853 for data that a release cannot find again.
    """
    root = spec_root(compilation, plan)
    main = Path(compilation.sources[0].path).resolve()
    copied = {path: Copied(path, _inside(path, root)) for path in _own_files(compilation, plan, main)}
    external = []
    handed_on = _handed_on(compilation)
    for used in _data_of(compilation, plan, folders):
        location = Path(used.found.location).resolve()
        if Path(used.source).is_absolute():
            message = f"data by an absolute path cannot be released: `{used.source}`"
            raise Failure("S0853", message, "name it relative to the spec or to a data folder")
        terms = about.data.get(used.found.path) or about.data.get(used.source)
        lent = next(
            (each for each in compilation.releases if location.is_relative_to(Path(each.folder).resolve())), None
        )
        if lent is not None and used.found.sha256 in held:
            message = f"items are withheld that {lent.title} shows to everybody: `{used.found.path}`"
            raise Failure("S0853", message, "withhold items of files of your own")
        if lent is not None:
            continue
        if used.found.sha256 in held and used.shows:
            message = f"items with images, recordings or files cannot be withheld: `{used.found.path}`"
            raise Failure("S0853", message, "release all of the items, or take their columns out")
        if used.found.sha256 in held:
            external.append(
                ExternalFile(path=used.found.path, source=WITHHELD, sha256=used.found.sha256, rows=used.rows)
            )
        elif (used.found.path, used.found.sha256) in handed_on:
            external.append(handed_on[used.found.path, used.found.sha256])
        elif is_own(location, compilation, folders):
            copied[location] = Copied(location, _inside(location, root), used.rows)
        elif terms is not None and terms.copy_it:
            copied[location] = Copied(location, f"{DATA}/{used.found.path}", used.rows)
        else:
            external.append(
                ExternalFile(
                    path=used.found.path,
                    source=(terms.source if terms is not None else None) or used.source,
                    sha256=used.found.sha256,
                    rows=used.rows,
                    license=terms.license if terms is not None else None,
                )
            )
    listed = sorted(copied.values(), key=lambda each: each.path)
    outer = {(each.path, each.sha256): each for each in external}
    return Contents(_inside(main, root), tuple(listed), tuple(outer[key] for key in sorted(outer)))


def _handed_on(compilation: Compilation) -> dict[tuple[str, str], ExternalFile]:
    """Return the data files that releases which are extended need and do not hold, by path and SHA-256."""
    opened = [open_release(Path(each.folder)) for each in compilation.releases]
    return {(each.path, each.sha256): each for release in opened for each in release.manifest.external}


def _own_files(compilation: Compilation, plan: Plan, main: Path) -> Iterator[Path]:
    for path in own_sources(compilation):
        yield Path(path).resolve()
    for plugin in plan.plugins:
        for path in plugin.files if plugin.release is None else ():
            yield (main.parent / path).resolve()
    if (main.parent / ABOUT).is_file():
        yield main.parent / ABOUT


def _data_of(compilation: Compilation, plan: Plan, folders: DataFolders) -> Iterator[_Used]:
    spec_files = tuple(source.path for source in compilation.sources)
    try:
        for dataset in plan.datasets:
            rows = {file.path: file.rows for file in dataset.files}
            shown = {file.path for file in dataset.files if file.media is not None}
            for found in dataset_files(folders, dataset, spec_files):
                yield _Used(found, dataset.source, rows[found.path], found.path in shown)
                if found.path in shown:
                    yield from _named_in(found, dataset, plan, folders)
            for join in dataset.joins:
                counts = {file.path: file.rows for file in join.files}
                wanted = {file.path: file.sha256 for file in join.files}
                for found in files_of(folders, join.source, spec_files, wanted):
                    yield _Used(found, join.source, counts[found.path])
        for tree in plan.trees:
            trees = {file.path: file.sha256 for file in tree.files} or {tree.path: tree.sha256}
            for found in files_of(folders, tree.source, spec_files, trees):
                yield _Used(found, tree.source, None)
    except DataError as error:
        raise Failure("S0853", error.message, error.help) from error


def _named_in(data: FoundFile, dataset: Dataset, plan: Plan, folders: DataFolders) -> Iterator[_Used]:
    """Yield the images and other files that the rows of a data file name, each seen from where the data file is. Raises
    `Failure` S0853 for one that lies elsewhere."""
    alone = replace(folders, media=KnownMedia())
    axes = {axis.name: axis for axis in plan.axes}
    for record in alone.rows(data):
        read_row(dataset, {**data.captures, **record}, axes, partial(alone.medium, data))
    root = Path(data.location.removesuffix(data.path)).resolve()
    for path, sha256 in sorted(alone.media.files.items()):
        if not path.resolve().is_relative_to(root):
            message = f"a file that a row of `{data.path}` names lies elsewhere, and cannot be released: `{path}`"
            raise Failure("S0853", message, "put it beside the data file")
        found = FoundFile(path.resolve().relative_to(root).as_posix(), str(path), sha256, {}, None, data.origin)
        yield _Used(found, dataset.source, None)


def _inside(path: Path, root: Path) -> str:
    return (PurePosixPath(SPEC) / path.relative_to(root).as_posix()).as_posix()
