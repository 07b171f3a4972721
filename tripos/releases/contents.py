"""The content of a release: the spec, its plug-ins, and the data that may be copied, without withheld items."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.parquet as pq

from tripos.releases.frozen import restore, withheld_by, withheld_of
from tripos.releases.manifest import (
    DATA,
    RELEASE_TOML,
    RELEASES,
    SPEC,
    UNLISTED,
    ExtendedRelease,
    ExternalFile,
    ReleaseToml,
    file_digest,
)
from tripos.releases.opening import Release, ReleaseFolders, open_release
from tripos_compiler.compile import Compilation
from tripos_compiler.errors import TriposError
from tripos_compiler.language.rows import read_row
from tripos_compiler.plan import Data, Dataset, GeneratedDataset, Plan
from tripos_compiler.source.inputs import DataError, ResolvedFile, ResolvedRelease
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.data_files import DataFolders, dataset_files, files_of
from tripos_runtime.datasets.media import KnownMedia
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.slots import data_sets_read


def check_pinned(compilation: Compilation) -> None:
    """Raise `TriposError` S0870 if a spec extends a release without its digest, so that the release would not be
    determined."""
    for release in compilation.unpinned:
        message = f"the spec extends {release.title} without its digest"
        raise TriposError("S0870", message, f'write it after its name: sha256 "{release.digest}"')


def vendor_releases(
    extended: Sequence[ResolvedRelease], about: ReleaseToml, folder: Path
) -> tuple[ExtendedRelease, ...]:
    """Copy the extended releases into a release's folder, if their terms allow it, and return how each is found again.
    A release that another one contains is not copied separately. Raises `TriposError` S0855 if a file was changed, and
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
            raise TriposError("S0855", f"the release `{release.folder}` is damaged: `{file.path}` was changed", hint)
    for name in UNLISTED:
        if (release.folder / name).is_file():
            shutil.copyfile(release.folder / name, to / name)


WITHHELD = "withheld"
"""The source of a file that is not published."""


@dataclass(frozen=True)
class CopiedFile:
    """A copied file: its location, and its path in the release."""

    location: Path
    path: str
    rows: int | None = None


@dataclass(frozen=True)
class Contents:
    """The copied files, the external files, and the path of the spec's main file in the release."""

    main: str
    copied: tuple[CopiedFile, ...]
    external: tuple[ExternalFile, ...]


@dataclass(frozen=True)
class _UsedFile:
    """A data file that a plan was compiled from."""

    resolved: ResolvedFile
    source: str
    rows: int | None
    shows: bool = False
    """Whether its rows name images or other files."""


def own_sources(compilation: Compilation) -> list[str]:
    """Return the files of the spec itself, without those of extended releases."""
    return [
        source.path
        for source in compilation.sources
        if not any(release.inside(source.path) for release in compilation.releases)
    ]


def spec_root(compilation: Compilation, plan: Plan) -> Path:
    """Return the folder that contains every file of a spec, including plug-ins."""
    sources = [Path(path).resolve() for path in own_sources(compilation)]
    plugins = [sources[0].parent / path for each in plan.plugins if each.release is None for path in each.files]
    return Path(os.path.commonpath([path.resolve().parent for path in (*sources, *plugins)]))


def is_own(location: Path, compilation: Compilation, folders: DataFolders) -> bool:
    """Return true if data lie in the folder of one of the spec's files, and so belong to the publisher. Data in a data
    folder belong to others, unless that folder is inside the folder of the main file."""
    beside = [Path(path).resolve().parent for path in own_sources(compilation)]
    if location.is_relative_to(beside[0]):
        return True
    given = any(location.is_relative_to(folder.resolve()) for folder in folders.folders)
    return not given and any(location.is_relative_to(folder) for folder in beside)


def contents_of(
    compilation: Compilation, plan: Plan, folders: DataFolders, about: ReleaseToml, held: Collection[str] = ()
) -> Contents:
    """Return the content of a plan's release. Data next to the spec's files are copied. Other data, such as those of a
    data folder, are copied only if `release.toml` allows it. A file with withheld items is never copied; `held` has the
    SHA-256 of these.

    Raises `TriposError` S0853 for data that a release could not find again.
    """
    root = spec_root(compilation, plan)
    main = Path(compilation.sources[0].path).resolve()
    copied = {path: CopiedFile(path, _inside(path, root)) for path in _own_files(compilation, plan, main)}
    external = []
    handed_on = _inherited_files(compilation)
    for used in _data_of(compilation, plan, folders):
        location = Path(used.resolved.location).resolve()
        if Path(used.source).is_absolute():
            message = f"data by an absolute path cannot be released: `{used.source}`"
            raise TriposError("S0853", message, "name it relative to the spec or to a data folder")
        terms = about.data.get(used.resolved.path) or about.data.get(used.source)
        lent = next(
            (each for each in compilation.releases if location.is_relative_to(Path(each.folder).resolve())), None
        )
        if lent is not None and used.resolved.sha256 in held:
            message = f"items are withheld that {lent.title} shows to everybody: `{used.resolved.path}`"
            raise TriposError("S0853", message, "withhold items of files of your own")
        if lent is not None:
            continue
        if used.resolved.sha256 in held and used.shows:
            message = f"items with images, recordings or files cannot be withheld: `{used.resolved.path}`"
            raise TriposError("S0853", message, "release all of the items, or take their columns out")
        if used.resolved.sha256 in held:
            external.append(
                ExternalFile(path=used.resolved.path, source=WITHHELD, sha256=used.resolved.sha256, rows=used.rows)
            )
        elif (used.resolved.path, used.resolved.sha256) in handed_on:
            external.append(handed_on[used.resolved.path, used.resolved.sha256])
        elif is_own(location, compilation, folders):
            copied[location] = CopiedFile(location, _inside(location, root), used.rows)
        elif terms is not None and terms.copy_it:
            copied[location] = CopiedFile(location, f"{DATA}/{used.resolved.path}", used.rows)
        else:
            external.append(
                ExternalFile(
                    path=used.resolved.path,
                    source=(terms.source if terms is not None else None) or used.source,
                    sha256=used.resolved.sha256,
                    rows=used.rows,
                    license=terms.license if terms is not None else None,
                )
            )
    listed = sorted(copied.values(), key=lambda each: each.path)
    outer = {(each.path, each.sha256): each for each in external}
    return Contents(_inside(main, root), tuple(listed), tuple(outer[key] for key in sorted(outer)))


def _inherited_files(compilation: Compilation) -> dict[tuple[str, str], ExternalFile]:
    """Return the data files that extended releases need but do not contain, by path and SHA-256."""
    opened = [open_release(Path(each.folder)) for each in compilation.releases]
    return {(each.path, each.sha256): each for release in opened for each in release.manifest.external}


def _own_files(compilation: Compilation, plan: Plan, main: Path) -> Iterator[Path]:
    for path in own_sources(compilation):
        yield Path(path).resolve()
    for plugin in plan.plugins:
        for path in plugin.files if plugin.release is None else ():
            yield (main.parent / path).resolve()
    if (main.parent / RELEASE_TOML).is_file():
        yield main.parent / RELEASE_TOML


def _data_of(compilation: Compilation, plan: Plan, folders: DataFolders) -> Iterator[_UsedFile]:
    spec_files = tuple(source.path for source in compilation.sources)
    try:
        for dataset in plan.datasets:
            rows = {file.path: file.rows for file in dataset.files}
            shown = {file.path for file in dataset.files if file.media is not None}
            for found in dataset_files(folders, dataset, spec_files):
                yield _UsedFile(found, dataset.source, rows[found.path], found.path in shown)
                if found.path in shown:
                    yield from _named_in(found, dataset, plan, folders)
            for join in dataset.joins:
                counts = {file.path: file.rows for file in join.files}
                wanted = {file.path: file.sha256 for file in join.files}
                for found in files_of(folders, join.source, spec_files, wanted):
                    yield _UsedFile(found, join.source, counts[found.path])
        for tree in plan.trees:
            trees = {file.path: file.sha256 for file in tree.files} or {tree.path: tree.sha256}
            for found in files_of(folders, tree.source, spec_files, trees):
                yield _UsedFile(found, tree.source, None)
    except DataError as error:
        raise TriposError("S0853", error.message, error.hint) from error


def _named_in(data: ResolvedFile, dataset: Dataset, plan: Plan, folders: DataFolders) -> Iterator[_UsedFile]:
    """Yield the images and other files that the rows of a data file name, by path relative to the data file's root.
    Raises `TriposError` S0853 for a file outside of it."""
    alone = replace(folders, media=KnownMedia())
    axes = {axis.name: axis for axis in plan.axes}
    for record in alone.rows(data):
        read_row(dataset, {**data.captures, **record}, axes, partial(alone.medium, data))
    root = Path(data.location.removesuffix(data.path)).resolve()
    for path, sha256 in sorted(alone.media.files.items()):
        if not path.resolve().is_relative_to(root):
            message = f"a file that a row of `{data.path}` names lies elsewhere, and cannot be released: `{path}`"
            raise TriposError("S0853", message, "put it beside the data file")
        found = ResolvedFile(path.resolve().relative_to(root).as_posix(), str(path), sha256, {}, None, data.origin)
        yield _UsedFile(found, dataset.source, None)


def _inside(path: Path, root: Path) -> str:
    return (PurePosixPath(SPEC) / path.relative_to(root).as_posix()).as_posix()


# Withheld items
LEAST_BYTES = 20
"""Shorter texts are not specific to an item: words, numbers and names of topics occur everywhere."""


def check_leaks(folder: Path, source: CaseSource, extended: Sequence[ResolvedRelease] = ()) -> None:
    """Raise `TriposError` S0853 if a file of the release in `folder` contains a text of a withheld item: another data
    file, a scenario over other rows, or a prompt. The withheld items are those of the plan, and those of extended
    releases whose text is available. Texts that published items of the same data set share are ignored, and so is
    whitespace."""
    try:
        hidden = _withheld_texts(source, withheld_of(source))
        for release in extended:
            hidden |= _hidden_in(release, extended, source)
    except DataError as error:
        raise TriposError("S0853", error.message, error.hint) from error
    if not hidden:
        return
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        said = "\n".join(map(_single_spaced, _texts(path)))
        found = next((text for text in sorted(hidden) if text in said), None)
        if found is not None:
            name = path.relative_to(folder).as_posix()
            quoted = found if len(found) <= 40 else found[:39] + "…"
            message = f"`{name}` would publish the text of an item that is withheld: “{quoted}”"
            raise TriposError("S0853", message, "take it out of that file, or withhold the item no longer")


def _withheld_texts(source: CaseSource, held: AbstractSet[str]) -> set[str]:
    """Return the texts that only items in `held` have, by data set."""
    hidden: dict[str, set[str]] = {}
    shown: dict[str, set[str]] = {}
    for scenario in source.plan.scenarios if held else ():
        if scenario.rows is not None:
            for case in source.of(scenario, Selection()):
                texts = (hidden if case.item_id in held else shown).setdefault(scenario.rows.dataset, set())
                texts.update(map(_single_spaced, _strings(case.fields)))
    own = set().union(*(texts - shown.get(name, set()) for name, texts in hidden.items()))
    return {text for text in own if len(text.encode(errors="replace")) >= LEAST_BYTES}


def _hidden_in(release: ResolvedRelease, extended: Sequence[ResolvedRelease], source: CaseSource) -> set[str]:
    """Return the withheld texts of an extended release, from all of its own scenarios, since the plan may take fewer.
    Empty if their data are not available, so that no text can be compared."""
    held = withheld_by([release])
    if not held:
        return set()
    opened = open_release(Path(release.folder))
    known = ReleaseFolders(tuple(Path(each.folder) for each in extended))
    try:
        whole = opened.compilation(known)
        assert whole.plan is not None
        paths = tuple(each.path for each in whole.sources)
        theirs = CaseSource(whole.plan, opened.data_folders(source.reader.folders), paths)
        restore(theirs, opened.folder)
        return _withheld_texts(theirs, held)
    except TriposError:
        return set()


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _strings(each)
        case list() | tuple() | AbstractSet():
            for each in value:
                yield from _strings(each)


def _texts(path: Path) -> Iterator[str]:
    """Yield all texts of a file, decoded from its format. For an unknown format, yield its content."""
    if path.suffix == ".parquet":
        yield from _strings(pq.read_table(path).to_pylist())
        return
    raw = path.read_bytes().decode(errors="replace")
    yield raw
    try:
        match path.suffix:
            case ".json":
                yield from _strings(json.loads(raw))
            case ".jsonl":
                yield from _strings([json.loads(line) for line in raw.splitlines() if line.strip()])
            case ".csv" | ".tsv":
                delimiter = "\t" if path.suffix == ".tsv" else ","
                yield from _strings(list(csv.reader(io.StringIO(raw, newline=""), delimiter=delimiter)))
    except (ValueError, RecursionError, csv.Error):
        return


def withheld_files(plan: Plan, source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """Return the SHA-256 of the data files with withheld items. `held_back` are the items that extended releases
    withhold. Raises `TriposError` S0853 if generated rows would reveal such items."""
    if not held_back and not any(subset.withheld for subset in plan.subsets):
        return set()
    held = withheld_datasets(source, held_back)
    for made in plan.made:
        of = next(iter(sorted(_made_from(made, plan) & held)), None)
        if of is not None:
            message = f"`{made.name}` is made from `{of}`, of which items are withheld"
            raise TriposError("S0853", message, "rows made from them would reveal them: withhold these rows too")
    return {file.sha256 for dataset in plan.datasets if dataset.name in held for file in dataset.every_file}


def _made_from(made: GeneratedDataset, plan: Plan) -> set[str]:
    """Return the data sets that a data set is generated from, directly or indirectly."""
    own = {made.source.dataset} if isinstance(made.source, Data) else set()
    near = (own | data_sets_read(made)) - {made.name}
    return near.union(*(_made_from(each, plan) for each in plan.made if each.name in near))


def withheld_datasets(source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """Return the data sets with withheld items, including those that extended releases withhold."""
    try:
        held = withheld_of(source) | held_back
        return {
            scenario.rows.dataset
            for scenario in source.plan.scenarios
            if scenario.rows is not None and any(case.item_id in held for case in source.of(scenario, Selection()))
        }
    except DataError as error:
        raise TriposError("S0853", error.message, error.hint) from error


def separate_private(private: Path, release: Path) -> Path:
    """Give the folder of withheld texts its name, next to the release. Return its new path."""
    target = release.with_name(f"{release.name}.withheld")
    shutil.rmtree(target, ignore_errors=True)
    private.chmod(0o700)
    os.rename(private, target)  # noqa: PTH104 - the target is free
    return target
