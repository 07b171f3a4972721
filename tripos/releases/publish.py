"""Publication of a release: a folder that is written atomically and never changed afterwards.

The version must follow the release before: it may not claim that figures are comparable if they are not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path

import pyarrow.parquet as pq

from tripos.releases.artefacts import Artefact, artefacts_of, inherited_models, with_inherited
from tripos.releases.contents import (
    WITHHELD,
    Contents,
    check_leaks,
    check_pinned,
    contents_of,
    own_sources,
    separate_private,
    vendor_releases,
    withheld_datasets,
    withheld_files,
)
from tripos.releases.descriptions import (
    CARD,
    CITATION,
    CROISSANT,
    card_of,
    citation_of,
    croissant_of,
    describe_measures,
    describe_tables,
    require_extra,
)
from tripos.releases.frozen import (
    canary_of,
    copy_frozen_rows,
    frozen_items,
    load_generated_from_store,
    restore_extended,
    snapshot_rows,
    withheld_by,
    withheld_of,
    write_items,
    write_public,
    write_subsets,
)
from tripos.releases.locations import is_release
from tripos.releases.manifest import (
    CHECKSUM,
    MANIFEST,
    SIGNATURES,
    Manifest,
    Parent,
    ReleasedFile,
    ReleasedItems,
    ReleaseToml,
    check_license,
    checksum_line,
    digest_of,
    file_digest,
    read_release_toml,
    spec_digest,
)
from tripos.releases.opening import Release, ReleaseFolders, open_release, recompiled_digest
from tripos.releases.signing import sign
from tripos.settings.options import ReleaseParameters
from tripos.version import __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.plan_diff import (
    Change,
    are_comparable,
    find_changes,
    least_version,
    version_numbers,
    version_order,
)
from tripos_compiler.plan import Plan
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.data_files import SHIPPED, DataFolders

MOST_CHANGES = 5
"""Maximum changes named in a message; the others are counted."""


@dataclass(frozen=True)
class Lineage:
    """The parent release, the changes since, and its change log. The first release has no parent."""

    parent: Parent | None = None
    changes: tuple[Change, ...] = ()
    former: str = ""


def find_parent(plan: Plan, among: Path) -> Release | None:
    """Return the release of the benchmark with the highest version below that of the plan, or None."""
    below = [
        release
        for release in _releases(plan, among)
        if version_order(release.manifest.version) < version_order(plan.benchmark.version)
    ]
    return max(below, key=lambda release: version_order(release.manifest.version), default=None)


def check_siblings(plan: Plan, among: Path) -> None:
    """Raise `TriposError` E0901 if a release in a folder has a version that claims comparable figures although the
    plans differ in what counts, or has this very version with another plan."""
    version = plan.benchmark.version
    for release in _releases(plan, among):
        other = release.manifest.version
        if other == version and (changes := find_changes(release.plan(), plan)):
            text = _first([change.text for change in changes if change.part == changes[0].part])
            message = f"version {version} is released already, and changed since: {text}"
            least = least_version(version, changes[0].part)
            raise TriposError("E0901", message, f"call it {least} or higher; see `tripos diff {release.folder} SPEC`")
        if other == version or not are_comparable(other, version):
            continue
        there = release.plan()
        before, after = (there, plan) if version_order(other) <= version_order(version) else (plan, there)
        major = [change.text for change in find_changes(before, after) if change.part == "major"]
        if major:
            message = f"version {version} says that its figures compare with those of {other}, and they do not: "
            hint = f"raise the major part of the version; see `tripos diff {release.folder} SPEC`"
            raise TriposError("E0901", message + _first(major), hint)


def check_comparable_scores(manifest: Manifest, plan: Plan, among: Path, parent: Manifest | None = None) -> None:
    """Raise `TriposError` E0901 if a release claims figures comparable with its `parent` or another release, but uses
    another reward model or other generated items. The plan determines neither of these."""
    manifests = [release.manifest for release in _releases(plan, among)] + ([] if parent is None else [parent])
    made = {dataset.name for dataset in plan.made}
    over = {scenario.name for scenario in plan.scenarios if scenario.rows is not None and scenario.rows.dataset in made}
    for other in manifests:
        if other.version == manifest.version or not are_comparable(other.version, manifest.version):
            continue
        models = {artefact.role: artefact.digest for artefact in other.artefacts}
        items = {item.scenario: item.digest for item in other.items if item.scenario in over}
        texts = [
            f"`{artefact.role}` is another reward model"
            for artefact in manifest.artefacts
            if models.get(artefact.role, artefact.digest) != artefact.digest
        ]
        texts += [
            f"the items of `{item.scenario}` were written anew"
            for item in manifest.items
            if items.get(item.scenario, item.digest) != item.digest
        ]
        if texts:
            message = f"version {manifest.version} says that its figures compare with those of {other.version}, "
            hint = "raise the major part of the version, or release with the models and items of before"
            raise TriposError("E0901", f"{message}and they do not: {_first(texts)}", hint)


def _releases(plan: Plan, among: Path) -> list[Release]:
    """Return the releases of the plan's benchmark in a folder."""
    if not among.is_dir():
        return []
    releases = [open_release(path) for path in sorted(among.iterdir()) if is_release(path)]
    return [release for release in releases if release.manifest.benchmark == plan.benchmark.name]


def follow(parent: Release, plan: Plan) -> Lineage:
    """Return the lineage of a plan that follows a release.

    Raises `TriposError` E0901 if the version understates the changes, and E0902 if it is not above that of the parent.
    """
    before = parent.plan()
    manifest, version = parent.manifest, plan.benchmark.version
    if manifest.benchmark != plan.benchmark.name:
        message = f"`{plan.benchmark.name}` cannot follow a release of `{manifest.benchmark}`"
        raise TriposError("E0902", message, f"give a release of the same benchmark with {ReleaseParameters.parent}")
    changes = find_changes(before, plan)
    least = least_version(manifest.version, changes[0].part if changes else "patch")
    if not changes and version_order(version) <= version_order(manifest.version):
        message = f"nothing changed since {manifest.version}, and {version} is not above it"
        raise TriposError("E0902", message, f"call it {least} or higher, or cite the release that there is")
    if changes and version_numbers(version) < version_numbers(least):
        text = _first([change.text for change in changes if change.part == changes[0].part])
        message = f"version {version} understates what changed since {manifest.version}: {text}"
        raise TriposError("E0901", message, f"call it {least} or higher; see `tripos diff {parent.folder} SPEC`")
    if changes and version_order(version) <= version_order(manifest.version):
        raise TriposError("E0902", f"version {version} is not above {manifest.version}", f"call it {least} or higher")
    return Lineage(Parent(version=manifest.version, digest=parent.digest), tuple(changes), _read_change_log(parent))


def _first(told: list[str]) -> str:
    more = f"; and {len(told) - MOST_CHANGES} more" if len(told) > MOST_CHANGES else ""
    return "; ".join(told[:MOST_CHANGES]) + more


def _read_change_log(release: Release) -> str:
    try:
        return (release.folder / "CHANGELOG.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


# The release
PLAN, LICENSE, CHANGELOG = "plan.json", "LICENSE", "CHANGELOG.md"


@dataclass(frozen=True)
class ReleaseInput:
    """The input of a release: a compiled spec, its data folders, and the parent with the changes since in words. `day`
    is the date of the release, if any."""

    compilation: Compilation
    plan: Plan
    folders: DataFolders
    parent: Parent | None = None
    before: Manifest | None = None
    """The manifest of the parent."""
    changes: tuple[str, ...] = ()
    former: str = ""
    """The change log of the parent."""
    day: date | None = None
    store: Path | None = None
    """The store with the generated items."""
    artefacts: Mapping[str, str] = field(default_factory=dict)
    """The folders or digests of scorers' models by role, besides those of `release.toml`."""
    sign_key: Path | None = None
    """The secret key for the signature, if any."""


@dataclass(frozen=True)
class WrittenRelease:
    """A release that was written, or existed with the same content."""

    path: Path
    digest: str
    manifest: Manifest
    was_there: bool
    private: Path | None = None
    """The folder with the text of withheld generated items, next to the release."""


def make_release(wanted: ReleaseInput, to: Path) -> WrittenRelease:
    """Write the release `to/NAME-VERSION`.

    Raises `TriposError`:
    - E0901 for a version that understates the changes
    - S0850 if something else is there
    - S0852 for a licence
    - S0853 for data that cannot be released
    - S0854 for items that are not generated yet
    - S0857 for missing libraries
    - S0858 if the release would not compile to its own plan
    - S0878 if releases name two models for one role
    - S0881 and S0882 for the model of a scorer
    """
    require_extra()
    check_pinned(wanted.compilation)
    benchmark = wanted.plan.benchmark
    path = Path(wanted.compilation.sources[0].path).parent
    about = read_release_toml(path)
    artefacts = artefacts_of(wanted.plan, about, wanted.artefacts, path)
    license_ = check_license(benchmark.license, f"`{benchmark.name}`")
    source = CaseSource(wanted.plan, wanted.folders, tuple(each.path for each in wanted.compilation.sources))
    restore_extended(source, wanted.compilation.releases)
    folders = wanted.compilation.release_folders
    times = load_generated_from_store(wanted.plan, source, wanted.store or Path("results"), folders)
    held = withheld_files(wanted.plan, source, withheld_by(wanted.compilation.releases))
    contents = contents_of(wanted.compilation, wanted.plan, wanted.folders, about, held)
    for file in contents.external:
        if file.license is not None:
            check_license(file.license, f"`{file.path}`")
    try:
        to.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=".release-", dir=to))
        private = Path(tempfile.mkdtemp(prefix=".withheld-", dir=to))
    except OSError as error:
        raise _unwritable(to, error) from error
    try:
        manifest = _write(wanted, source, building, contents, about, license_, artefacts, times, private)
        check_comparable_scores(manifest, wanted.plan, to, wanted.before)
        check_leaks(building, source, wanted.compilation.releases)
        written = manifest.to_bytes()
        (building / MANIFEST).write_bytes(written)
        (building / CHECKSUM).write_bytes(checksum_line(written))
        _check(building, wanted, contents)
        if wanted.sign_key is not None:
            sign(building / MANIFEST, wanted.sign_key, f"{manifest.name} {digest_of(written)}", os.environ)
        release = _move_into_place(building, to / manifest.name, manifest)
        return (
            release if not any(private.iterdir()) else replace(release, private=separate_private(private, release.path))
        )
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
    held_back = withheld_by(wanted.compilation.releases)
    held = withheld_of(source) | held_back
    if any(file.source == WITHHELD for file in contents.external):
        rows |= write_public(source, folder, withheld_datasets(source, held_back), held, canary)
    if held and plan.subsets:
        write_subsets(source, folder)
    lent = copy_frozen_rows(plan, wanted.compilation.releases, folder)
    rows |= lent.rows
    external = (*contents.external, *frozen.withheld, *lent.withheld)
    items = _items(wanted, source, contents, folder, canary)
    rows |= {item.path: pq.read_metadata(folder / item.path).num_rows for item in items if item.path is not None}
    (folder / LICENSE).write_bytes(_license_text(wanted, about, license_))
    (folder / CHANGELOG).write_text(_new_change_log(wanted, about), "utf-8")
    named = tuple(artefact.entry for artefact in artefacts)
    (folder / CARD).write_text(card_of(plan, license_, items, external, about, named), "utf-8")
    for name, text in describe_tables(plan).items():
        (folder / name).write_text(text, "utf-8")
    measured = describe_measures(plan, about)
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
    outer = {file.sha256 for file in contents.external}
    # Only a data set that knows which items of a file are withheld may publish the others.
    held_back = withheld_by(wanted.compilation.releases)
    known = (
        withheld_datasets(source, held_back) if any(file.source == WITHHELD for file in contents.external) else set()
    )
    kept_back = {
        dataset.name for dataset in plan.datasets if outer & {file.sha256 for file in dataset.every_file}
    } - known
    over = {scenario.name: scenario.rows.dataset if scenario.rows is not None else None for scenario in plan.scenarios}
    released_items = []
    try:
        for frozen in frozen_items(source, canary, held_back):
            path = None if over[frozen.scenario] in kept_back else write_items(frozen, folder)
            released_items.append(
                ReleasedItems(
                    scenario=frozen.scenario,
                    rows=frozen.rows,
                    digest=frozen.digest,
                    path=path,
                    withheld=frozen.withheld,
                )
            )
    except DataError as error:
        raise TriposError("S0854", f"cannot freeze the items: {error.message}", error.hint) from error
    return released_items


def _files(folder: Path, rows: dict[str, int]) -> tuple[ReleasedFile, ...]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    named = [(path.relative_to(folder).as_posix(), path) for path in paths]
    return tuple(
        ReleasedFile(path=name, sha256=file_digest(path), bytes=path.stat().st_size, rows=rows.get(name))
        for name, path in sorted(named)
    )


def _license_text(wanted: ReleaseInput, about: ReleaseToml, license_: str) -> bytes:
    """Return the text of the licence if the spec's folder has it, or else its SPDX expression."""
    path = Path(wanted.compilation.sources[0].path).parent
    named = path / (about.license_file or LICENSE)
    if named.is_file():
        return named.read_bytes()
    if about.license_file is not None:
        raise TriposError("S0852", f"there is no licence file `{named}`", "fix `license_file` in release.toml")
    title = wanted.plan.benchmark.title
    return f"SPDX-License-Identifier: {license_}\n\n{title} is under the licence that this names.\n".encode()


def _new_change_log(wanted: ReleaseInput, about: ReleaseToml) -> str:
    """Return the change log: the changes of this version above those of earlier ones."""
    texts = [*about.changes, *wanted.changes] or (
        ["first release"] if wanted.parent is None else ["no change was found"]
    )
    day = f" ({wanted.day.isoformat()})" if wanted.day is not None else ""
    head = f"## {wanted.plan.benchmark.version}{day}\n\n" + "".join(f"- {each}\n" for each in texts)
    _, _, former = wanted.former.partition("\n\n")
    return f"# Changes\n\n{head}" + (f"\n{former}" if former else "")


def _check(folder: Path, wanted: ReleaseInput, contents: Contents) -> None:
    """Check that the written sources compile to the plan. Raises `TriposError` S0858."""
    outer = list(_outer(wanted))
    releases = ReleaseFolders(tuple(Path(release.folder) for release in wanted.compilation.releases))
    if any(file.source == WITHHELD for file in contents.external):
        paths = [Path(path).resolve().parent for path in own_sources(wanted.compilation)]
        outer += [*paths, *(path / SHIPPED for path in paths)]
    found = recompiled_digest(open_release(folder), outer, releases)
    if found != wanted.plan.digest:
        message = "the release would not compile to its own plan"
        raise TriposError("S0858", message, "see that every data file lies in the spec's folder or in one data folder")


def _outer(wanted: ReleaseInput) -> Sequence[Path]:
    main = Path(wanted.compilation.sources[0].path).resolve().parent
    return [folder.resolve() for folder in wanted.folders.folders if not folder.resolve().is_relative_to(main)]


def _move_into_place(building: Path, target: Path, manifest: Manifest) -> WrittenRelease:
    """Give the folder its final name, unless the same release already exists."""
    digest = digest_of(manifest.to_bytes())
    if target.exists():
        try:
            there = digest_of((target / MANIFEST).read_bytes())
        except OSError:
            there = None
        if there == digest:
            for name in SIGNATURES:  # an existing release may be signed later, or with another key
                if (building / name).exists():
                    os.replace(building / name, target / name)  # noqa: PTH105
            return WrittenRelease(target, digest, manifest, was_there=True)
        raise TriposError(
            "S0850",
            f"`{target}` is there already, with other content",
            "a release is never changed: raise the version of the benchmark, or release to another folder",
            ExitCode.SOME_FAILED,
        )
    for path in building.rglob("*"):
        if path.is_file():
            path.chmod(0o444)
    building.chmod(0o755)
    os.rename(building, target)  # noqa: PTH104 - fails if the target exists
    return WrittenRelease(target, digest, manifest, was_there=False)


def _unwritable(to: Path, error: OSError) -> TriposError:
    return TriposError(
        "S0850", f"cannot write to `{to}`: {error.strerror or error}", "release to another folder", ExitCode.SOME_FAILED
    )
