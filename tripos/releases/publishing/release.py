"""Makes a release: a folder that is written whole or not at all, and never changed after."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

import pyarrow.parquet as pq

from tripos.releases.extended import ReleaseFolders
from tripos.releases.frozen import (
    Artefact,
    artefacts_of,
    canary_of,
    copy_frozen_rows,
    frozen_items,
    gather_rows,
    held_back_in,
    inherited_models,
    restore_extended,
    snapshot_rows,
    with_inherited,
    withheld_of,
    write_drawn,
    write_items,
    write_public,
)
from tripos.releases.layout import CHECKSUM, MANIFEST, SIGNATURES, SPEC
from tripos.releases.manifest import (
    Manifest,
    Parent,
    ReleasedFile,
    ReleasedItems,
    checksum_line,
    digest_of,
    file_digest,
    spec_digest,
)
from tripos.releases.opening import open_release, recompiled_digest
from tripos.releases.publishing.contents import (
    WITHHELD,
    Contents,
    check_pinned,
    contents_of,
    own_sources,
    vendor_releases,
)
from tripos.releases.publishing.descriptions import (
    CARD,
    CITATION,
    CROISSANT,
    card_of,
    citation_of,
    croissant_of,
    require_extra,
    what_it_measures,
)
from tripos.releases.publishing.lineage import check_what_scores
from tripos.releases.publishing.private_items import check_leaks, held_files, held_sets, put_aside
from tripos.releases.publishing.signing import sign
from tripos.releases.release_toml import ReleaseToml, check_license, read_release_toml
from tripos.ui import SOME_FAILED, Failure, __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Plan
from tripos_compiler.source import DataError
from tripos_runtime.datasets import SHIPPED, CaseSource, DataFolders

PLAN, LICENSE, CHANGELOG = "plan.json", "LICENSE", "CHANGELOG.md"


@dataclass(frozen=True)
class ReleaseInput:
    """The input of a release: a compiled spec, where its data lie, and the release that it follows, with what changed
    since in words. `day` is the date that it bears, if any."""

    compilation: Compilation
    plan: Plan
    folders: DataFolders
    parent: Parent | None = None
    before: Manifest | None = None
    """The manifest of that release."""
    changes: tuple[str, ...] = ()
    former: str = ""
    """The change log of the release before."""
    day: date | None = None
    store: Path | None = None
    """Where the items are that models wrote."""
    artefacts: Mapping[str, str] = field(default_factory=dict)
    """The folders or digests of models that scorers name, by role, besides those of `release.toml`."""
    sign_key: Path | None = None
    """The secret key that it is signed with, if any."""


@dataclass(frozen=True)
class WrittenRelease:
    """A release that was written, or was there already with the same content."""

    path: Path
    digest: str
    manifest: Manifest
    was_there: bool
    private: Path | None = None
    """The folder with the text of items that models wrote and that are withheld, beside the release."""


def make_release(wanted: ReleaseInput, to: Path) -> WrittenRelease:
    """Write `to/NAME-VERSION`.

    Raises `Failure`: E0901 for a version that says less than what changed, S0850 where something else is there, S0852
    for a licence, S0853 for data that cannot be released, S0854 for items that nobody has made yet, S0857 where
    libraries lack, S0858 where the release would not compile to its own plan, S0878 where releases name two models for
    one role, S0881 and S0882 for a model that a scorer names.
    """
    require_extra()
    check_pinned(wanted.compilation)
    benchmark = wanted.plan.benchmark
    beside = Path(wanted.compilation.sources[0].path).parent
    about = read_release_toml(beside)
    artefacts = artefacts_of(wanted.plan, about, wanted.artefacts, beside)
    license_ = check_license(benchmark.license, f"`{benchmark.name}`")
    source = CaseSource(wanted.plan, wanted.folders, tuple(each.path for each in wanted.compilation.sources))
    restore_extended(source, wanted.compilation.releases)
    folders = wanted.compilation.release_folders
    times = gather_rows(wanted.plan, source, wanted.store or Path("results"), folders)
    held = held_files(wanted.plan, source, held_back_in(wanted.compilation.releases))
    contents = contents_of(wanted.compilation, wanted.plan, wanted.folders, about, held)
    for each in contents.external:
        if each.license is not None:
            check_license(each.license, f"`{each.path}`")
    try:
        to.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".release-", dir=to))
        private = Path(tempfile.mkdtemp(prefix=".withheld-", dir=to))
    except OSError as error:
        raise _unwritable(to, error) from error
    try:
        manifest = _write(wanted, source, building, contents, about, license_, artefacts, times, private)
        check_what_scores(manifest, wanted.plan, to, wanted.before)
        check_leaks(building, source, wanted.compilation.releases)
        written = manifest.to_bytes()
        (building / MANIFEST).write_bytes(written)
        (building / CHECKSUM).write_bytes(checksum_line(written))
        _check(building, wanted, contents)
        if wanted.sign_key is not None:
            sign(building / MANIFEST, wanted.sign_key, f"{manifest.name} {digest_of(written)}", os.environ)
        made = _put(building, to / manifest.name, manifest)
        return made if not any(private.iterdir()) else replace(made, private=put_aside(private, made.path))
    except OSError as error:
        raise _unwritable(to, error) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
        shutil.rmtree(private, ignore_errors=True)


def _write(
    wanted: ReleaseInput,
    source: CaseSource,
    folder: Path,
    contents: Contents,
    about: ReleaseToml,
    license_: str,
    artefacts: Sequence[Artefact],
    times: Mapping[str, Mapping[str, datetime]],
    private: Path,
) -> Manifest:
    plan = wanted.plan
    rows: dict[str, int] = {}
    for copied in contents.copied:
        target = folder / copied.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(copied.location, target)
        if copied.rows is not None:
            rows[copied.path] = copied.rows
    extends = vendor_releases(wanted.compilation.releases, about, folder)
    artefacts = with_inherited(artefacts, inherited_models(plan, wanted.compilation.releases), extends)
    for name, path in ((name, path) for artefact in artefacts for name, path in artefact.files.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    (folder / PLAN).write_text(plan.to_json(), "utf-8")
    canary = canary_of(plan.benchmark.name)
    frozen = snapshot_rows(source, folder, times, canary, withheld_of(source), private)
    rows |= frozen.rows
    held_back = held_back_in(wanted.compilation.releases)
    held = withheld_of(source) | held_back
    if any(each.source == WITHHELD for each in contents.external):
        rows |= write_public(source, folder, held_sets(source, held_back), held, canary)
    if held and plan.subsets:
        write_drawn(source, folder)
    lent = copy_frozen_rows(plan, wanted.compilation.releases, folder)
    rows |= lent.rows
    external = (*contents.external, *frozen.withheld, *lent.withheld)
    items = _items(wanted, source, contents, folder, canary)
    rows |= {each.path: pq.read_metadata(folder / each.path).num_rows for each in items if each.path is not None}
    (folder / LICENSE).write_bytes(_license_text(wanted, about, license_))
    (folder / CHANGELOG).write_text(_change_log(wanted, about), "utf-8")
    named = tuple(artefact.said for artefact in artefacts)
    (folder / CARD).write_text(card_of(plan, license_, items, external, about, named), "utf-8")
    measured = what_it_measures(plan, about)
    described = croissant_of(plan, license_, items, _files(folder, rows), folder, wanted.day, measured, about)
    (folder / CROISSANT).write_bytes(described)
    if about.citation is not None:
        cited = citation_of(plan, license_, about, about.citation, wanted.day)
        (folder / CITATION).write_text(cited, "utf-8")
    files = _files(folder, rows)
    return Manifest(
        benchmark=plan.benchmark.name,
        version=plan.benchmark.version,
        title=plan.benchmark.title,
        license=license_,
        languages=plan.benchmark.languages,
        cites=plan.benchmark.cites,
        tool=f"tripos {__version__}",
        main=contents.main,
        plan=plan.digest,
        spec=spec_digest(files),
        parent=wanted.parent,
        extends=extends,
        canary=canary,
        items=tuple(items),
        external=external,
        artefacts=named,
        files=files,
    )


def _items(
    wanted: ReleaseInput, source: CaseSource, contents: Contents, folder: Path, canary: str
) -> list[ReleasedItems]:
    """Write the items of every scenario whose data may be copied."""
    plan = wanted.plan
    outer = {each.sha256 for each in contents.external}
    # Of a file with items that are withheld, only a data set that knows which ones they are may publish the others.
    held_back = held_back_in(wanted.compilation.releases)
    known = held_sets(source, held_back) if any(each.source == WITHHELD for each in contents.external) else set()
    kept_back = {each.name for each in plan.datasets if outer & {file.sha256 for file in each.every_file}} - known
    over = {each.name: each.rows.dataset if each.rows is not None else None for each in plan.scenarios}
    made = []
    try:
        for frozen in frozen_items(source, canary, held_back):
            path = None if over[frozen.scenario] in kept_back else write_items(frozen, folder)
            made.append(
                ReleasedItems(
                    scenario=frozen.scenario,
                    rows=frozen.rows,
                    digest=frozen.digest,
                    path=path,
                    withheld=frozen.withheld,
                )
            )
    except DataError as error:
        raise Failure("S0854", f"cannot freeze the items: {error.message}", error.help) from error
    return made


def _files(folder: Path, rows: dict[str, int]) -> tuple[ReleasedFile, ...]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    named = [(path.relative_to(folder).as_posix(), path) for path in found]
    return tuple(
        ReleasedFile(path=name, sha256=file_digest(path), bytes=path.stat().st_size, rows=rows.get(name))
        for name, path in sorted(named)
    )


def _license_text(wanted: ReleaseInput, about: ReleaseToml, license_: str) -> bytes:
    """Return the licence's text where the spec has it, and else its SPDX expression."""
    beside = Path(wanted.compilation.sources[0].path).parent
    named = beside / (about.license_file or LICENSE)
    if named.is_file():
        return named.read_bytes()
    if about.license_file is not None:
        raise Failure("S0852", f"there is no licence file `{named}`", "mend `license_file` in release.toml")
    title = wanted.plan.benchmark.title
    return f"SPDX-License-Identifier: {license_}\n\n{title} is under the licence that this names.\n".encode()


def _change_log(wanted: ReleaseInput, about: ReleaseToml) -> str:
    """Return the changes of this version, on top of those of the versions before."""
    told = [*about.changes, *wanted.changes] or (
        ["first release"] if wanted.parent is None else ["no change was found"]
    )
    day = f" ({wanted.day.isoformat()})" if wanted.day is not None else ""
    head = f"## {wanted.plan.benchmark.version}{day}\n\n" + "".join(f"- {each}\n" for each in told)
    _, _, former = wanted.former.partition("\n\n")
    return f"# Changes\n\n{head}" + (f"\n{former}" if former else "")


def _check(folder: Path, wanted: ReleaseInput, contents: Contents) -> None:
    """See that what was written compiles to the plan that it says."""
    outer = list(_outer(wanted))
    releases = ReleaseFolders(tuple(Path(each.folder) for each in wanted.compilation.releases))
    if any(each.source == WITHHELD for each in contents.external):
        beside = [Path(path).resolve().parent for path in own_sources(wanted.compilation)]
        outer += [*beside, *(each / SHIPPED for each in beside)]
    found = recompiled_digest(open_release(folder), outer, releases)
    if found != wanted.plan.digest:
        message = "the release would not compile to its own plan"
        raise Failure("S0858", message, "see that every data file lies in the spec's folder or in one data folder")


def _outer(wanted: ReleaseInput) -> Sequence[Path]:
    main = Path(wanted.compilation.sources[0].path).resolve().parent
    return [each.resolve() for each in wanted.folders.folders if not each.resolve().is_relative_to(main)]


def _put(building: Path, target: Path, manifest: Manifest) -> WrittenRelease:
    """Return the folder its name, unless the same release has it already."""
    digest = digest_of(manifest.to_bytes())
    if target.exists():
        try:
            there = digest_of((target / MANIFEST).read_bytes())
        except OSError:
            there = None
        if there == digest:
            for name in SIGNATURES:  # what was unsigned, or signed with another key, may be signed later
                if (building / name).exists():
                    os.replace(building / name, target / name)  # noqa: PTH105
            return WrittenRelease(target, digest, manifest, was_there=True)
        raise Failure(
            "S0850",
            f"`{target}` is there already, with other content",
            "a release is never changed: raise the version of the benchmark, or release to another folder",
            SOME_FAILED,
        )
    for path in building.rglob("*"):
        if path.is_file():
            path.chmod(0o444)
    building.chmod(0o755)
    os.rename(building, target)  # noqa: PTH104 - to a name that must be free
    return WrittenRelease(target, digest, manifest, was_there=False)


def _unwritable(to: Path, error: OSError) -> Failure:
    return Failure(
        "S0850", f"cannot write to `{to}`: {error.strerror or error}", "release to another folder", SOME_FAILED
    )


__all__ = ["CHANGELOG", "LICENSE", "PLAN", "SPEC", "ReleaseInput", "WrittenRelease", "make_release"]
