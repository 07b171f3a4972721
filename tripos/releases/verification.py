"""The verification of a release: every file, its manifest, its signature, its items, and what its sources compile
to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.releases.extended import ReleaseFolders
from tripos.releases.frozen import (
    MADE,
    FrozenItems,
    artefact_checks,
    canary_of,
    frozen_items,
    held_back_in,
    inherited_models,
    restore,
)
from tripos.releases.layout import CHECKSUM, MANIFEST, UNLISTED
from tripos.releases.manifest import (
    Manifest,
    Outcome,
    ReleaseCheck,
    ReleasedItems,
    canonical,
    checksum_line,
    digest_of,
    file_digest,
    file_fault,
    manifest_fault,
    parse_manifest,
    spec_digest,
)
from tripos.releases.opening import Release
from tripos.releases.publishing import CROISSANT, croissant_faults, missing_library
from tripos.releases.release_toml import check_license
from tripos.releases.sources import against_sources
from tripos.settings import read_untrusted
from tripos.ui import Failure
from tripos_compiler.plan import Plan
from tripos_compiler.source import DataError
from tripos_runtime.datasets import TRUSTED, CaseSource, Trust


def disagreements(manifest: Manifest, plan: Plan) -> Iterator[str]:
    """Yield what a manifest says otherwise than the plan, each in words. Files are not looked at."""
    benchmark = plan.benchmark
    said = {"benchmark": benchmark.name, "version": benchmark.version, "title": benchmark.title}
    said |= {"canary": canary_of(benchmark.name)}
    for name, value in said.items():
        if getattr(manifest, name) != value:
            yield f"`{name}` is not what the plan says, `{value}`"
    for name in ("languages", "cites"):
        if getattr(manifest, name) != getattr(benchmark, name):
            yield f"`{name}` is not what the plan says"
    if not _same_license(manifest.license, benchmark.license):
        yield f"`license` is not what the plan says, `{benchmark.license}`"
    if [each.scenario for each in manifest.items] != [each.name for each in plan.scenarios]:
        yield "`items` are not those of the plan's scenarios"
    used = {file.sha256 for dataset in plan.datasets for file in dataset.every_file}
    used |= {each.sha256 for each in plan.trees}
    used |= {file.sha256 for tree in plan.trees for file in tree.files}
    shown = any(file.media for dataset in plan.datasets for file in dataset.files)  # the plan has one digest of them
    for each in manifest.external:
        if each.sha256 not in used and not shown and not each.path.startswith(f"{MADE}/"):
            yield f"`external` has `{each.path}`, which the plan does not read"


def _same_license(said: str, meant: str | None) -> bool:
    """Return true if two expressions are one. Where the library that knows lacks, the letters decide."""
    if said == meant:
        return True
    try:
        return check_license(meant, "the plan") == said
    except (Failure, ImportError):
        return False


def fault_of_items(said: ReleasedItems | None, found: FrozenItems, folder: Path) -> str | None:
    """Return what is wrong with the items of a scenario, those of its file among them; `None` where nothing is."""
    if said is None or (said.rows, said.digest, said.withheld) != (found.rows, found.digest, found.withheld):
        return "are not those of the manifest"
    if said.path is None:
        return None
    try:
        same = pq.read_table(folder / said.path).equals(found.table)
    except (OSError, pa.ArrowException):
        same = False
    return None if same else f"are not those in `{said.path}`"


@dataclass(frozen=True)
class Verified:
    """Everything that was looked at. `digest` is that of the manifest as it lies there; `None` without one."""

    folder: Path
    name: str
    digest: str | None
    checks: tuple[ReleaseCheck, ...]

    @property
    def wrong(self) -> tuple[ReleaseCheck, ...]:
        """Return what is not as it was released."""
        return tuple(check for check in self.checks if check.outcome == "wrong")

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        checks = [{"what": each.what, "outcome": each.outcome, "told": each.told} for each in self.checks]
        return {"release": self.name, "digest": self.digest, "good": not self.wrong, "checks": checks}


def verify(
    folder: Path,
    outer: Sequence[Path] = (),
    expected: str | None = None,
    signed: Sequence[ReleaseCheck] = (),
    releases: Sequence[Path] = (),
    artefacts: Mapping[str, Path] = {},
    trust: Trust = TRUSTED,
) -> Verified:
    """Look at all of a release. `outer` are folders with the data that it does not hold, `releases` those with the
    releases that it extends and does not hold, `artefacts` those of models that it only names, by role; `expected` is
    the digest that it should have, as cited, and `signed` what was found of its signature."""
    try:
        raw = read_untrusted(folder / MANIFEST)
    except OSError:
        return Verified(folder, folder.resolve().name, None, (ReleaseCheck(MANIFEST, "wrong", "is missing"),))
    checks = list(_of_manifest(folder, raw, expected))
    digest = digest_of(raw)
    try:
        manifest = parse_manifest(raw)
    except ValueError as error:
        checks.append(ReleaseCheck(MANIFEST, "wrong", f"does not fit its schema: {manifest_fault(error)}"))
        return Verified(folder, folder.resolve().name, digest, (*checks, *signed))
    checks += _of_files(folder, manifest)
    checks += artefact_checks(folder, manifest, artefacts)
    touched = any(each.outcome == "wrong" for each in checks)
    checks += _of_content(Release(folder, manifest, digest, trust), outer, touched, ReleaseFolders(tuple(releases)))
    return Verified(folder, manifest.name, digest, (*checks, *signed))


def _of_manifest(folder: Path, raw: bytes, expected: str | None) -> Iterator[ReleaseCheck]:
    try:
        same = read_untrusted(folder / CHECKSUM) == checksum_line(raw)
        told = "does not have the digest that `manifest.sha256` says: one of the two was changed"
    except OSError:
        same, told = False, "cannot be held against `manifest.sha256`, which is missing"
    yield ReleaseCheck(MANIFEST, "good") if same else ReleaseCheck(MANIFEST, "wrong", told)
    try:
        regular = canonical(orjson.loads(raw)) == raw
    except ValueError:
        regular = False
    if not regular:
        yield ReleaseCheck(MANIFEST, "wrong", "is not in the canonical form of RFC 8785: it was edited")
    if expected is not None and expected != digest_of(raw):
        yield ReleaseCheck(MANIFEST, "wrong", f"has the digest {digest_of(raw)}, not the one that was asked for")


def _of_files(folder: Path, manifest: Manifest) -> Iterator[ReleaseCheck]:
    for file in manifest.files:
        yield _of_file(folder, file.path, file.sha256, file.bytes)
    listed = {file.path for file in manifest.files}
    folders = {parent.as_posix() for path in listed for parent in Path(path).parents}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            if name not in folders:
                yield ReleaseCheck(name, "wrong", "is a folder that the manifest knows nothing of")
        elif name in UNLISTED and path.is_symlink():
            yield ReleaseCheck(name, "wrong", "is a link in the place of a file")
        elif name not in listed and name not in UNLISTED:
            yield ReleaseCheck(name, "wrong", "is not in the manifest: it was added")
    if spec_digest(manifest.files) != manifest.spec:
        yield ReleaseCheck(MANIFEST, "wrong", "`spec` is not the digest of the files below `spec/`")


def _of_file(folder: Path, name: str, sha256: str, size: int) -> ReleaseCheck:
    path = folder / name
    if (fault := file_fault(folder, name)) is not None:
        return ReleaseCheck(name, "wrong", fault)
    try:
        there = path.stat().st_size
        if file_digest(path) == sha256:
            return ReleaseCheck(name, "good")
    except OSError:
        return ReleaseCheck(name, "wrong", "is missing")
    by = f", {there - size:+,} bytes" if there != size else ""
    return ReleaseCheck(name, "wrong", f"was changed{by}")


def _of_content(
    release: Release, outer: Sequence[Path], touched: bool, releases: ReleaseFolders
) -> Iterator[ReleaseCheck]:
    """Yield what the files say, which is only worth a look where they are those that were released."""
    manifest = release.manifest
    if touched:
        yield ReleaseCheck("plan", "unchecked", "whether the sources compile to it: files were changed")
        return
    if absent := missing_library():
        yield ReleaseCheck(CROISSANT, "unchecked", f"{', '.join(absent)} not installed: pip install 'tripos[release]'")
    else:
        faults = croissant_faults(release.folder / CROISSANT)
        yield ReleaseCheck(CROISSANT, "wrong", faults[0]) if faults else ReleaseCheck(CROISSANT, "good", "")
    try:
        plan = release.plan()
    except Failure as failure:
        yield ReleaseCheck("plan", "wrong", failure.message)
        return
    for told in disagreements(manifest, plan):
        yield ReleaseCheck(MANIFEST, "wrong", told)
    told_of = [(each.name, each.version, each.digest) for each in manifest.extends]
    if told_of != [(each.name, each.version, each.digest) for each in plan.extends]:
        yield ReleaseCheck(MANIFEST, "wrong", "`extends` is not what the plan says")
        return
    try:
        compilation = release.compilation(releases)
        extended = compilation.releases
        lent = inherited_models(plan, extended)
    except Failure as failure:
        yield ReleaseCheck("plan", "unchecked", f"{failure.message}; {failure.hint}")
        return
    yield from (ReleaseCheck(f"extends {each.title}", "good", each.digest) for each in extended)
    named = {each.role: each.digest for each in manifest.artefacts}
    for role, each in lent.items():
        if named.get(role) != each.said.digest:
            yield ReleaseCheck(f"artefact {role}", "wrong", f"is not that of {each.release.title}, {each.said.digest}")
    found = against_sources(release, plan, extended, outer, releases)
    yield found
    if found.outcome != "good":
        return
    source = CaseSource(plan, release.data_folders(outer), tuple(each.path for each in compilation.sources))
    try:
        restore(source, release.folder)
    except Failure as failure:
        yield ReleaseCheck("items", "wrong", failure.message)
        return
    listed = {each.scenario: each for each in manifest.items}
    try:
        for frozen in frozen_items(source, manifest.canary, held_back_in(extended)):
            fault = fault_of_items(listed.get(frozen.scenario), frozen, release.folder)
            outcome: Outcome = "good" if fault is None else "wrong"
            yield ReleaseCheck(f"items of {frozen.scenario}", outcome, fault or f"{frozen.rows:,}")
    except DataError as error:
        yield ReleaseCheck("items", "wrong", error.message)
