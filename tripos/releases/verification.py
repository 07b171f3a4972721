"""Verification of a release: its files, manifest, signature and items, and its plan against its sources.

A plan decides which Python is called and what is sent to models, so a forged plan is as dangerous as a program. If this
version of Tripos made the release and all data are available, the sources are compiled and must give the same plan.
Otherwise the plan is accepted only if every function, file and text in it occurs in a file of the manifest. The same
check runs for `verify` and before every run.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.files import read_untrusted
from tripos.releases.artefacts import artefact_checks, inherited_models
from tripos.releases.descriptions import CROISSANT, croissant_faults, missing_library
from tripos.releases.frozen import ITEMS, MADE, PUBLIC, FrozenItems, canary_of, frozen_items, restore, withheld_by
from tripos.releases.manifest import (
    CHECKSUM,
    MANIFEST,
    UNLISTED,
    Manifest,
    Outcome,
    ReleaseCheck,
    ReleasedItems,
    canonical,
    check_license,
    checksum_line,
    digest_of,
    file_digest,
    file_fault,
    manifest_fault,
    parse_manifest,
    spec_digest,
)
from tripos.releases.opening import Release, ReleaseFolders, open_release, recompile
from tripos.settings.options import DATA
from tripos.version import __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Plan, Plugin
from tripos_compiler.source.inputs import DataError, ReleaseFinder, ResolvedRelease
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.trust import TRUSTED, Trust

LEAST_PIECE = 12
"""Minimum characters, without spaces, of a piece of text that must occur in a source."""

_UNPRINTED = re.compile(r"\\[ntr]|\\|\s|[{}]")


def check_sources(release: Release, compilation: Compilation, outer: Sequence[Path], releases: ReleaseFinder) -> None:
    """Raise `TriposError` S0855 if the frozen plan of a release differs from its sources."""
    plan = compilation.plan
    assert plan is not None
    if (fault := next(_unlisted(release, plan, compilation.releases), None)) is not None:
        raise _refused(release, fault)
    found = check_plan_sources(release, plan, compilation.releases, outer, releases)
    if found.outcome == "good":
        return
    if found.outcome == "wrong" and _is_this_version(release):
        raise _refused(release, found.told)
    # Another version may compile to another plan, and a spec cannot be compiled without its data.
    if (strange := unknown_text(release, plan, compilation.releases)) is not None:
        raise _refused(release, f"{found.told}, and no file of the release says `{strange}`")


def check_plan_sources(
    release: Release, plan: Plan, extended: Sequence[ResolvedRelease], outer: Sequence[Path], releases: ReleaseFinder
) -> ReleaseCheck:
    """Return whether a release's sources compile to its plan. `outer` are folders with data outside the release."""
    if (fault := next(_unlisted(release, plan, extended), None)) is not None:
        return ReleaseCheck("plan", "wrong", fault)
    if missing := _missing(release, outer):
        told = f"it needs data that is not here: {', '.join(missing)}; give its folder with {DATA} DIR"
        return ReleaseCheck("plan", "unchecked", told)
    compilation = recompile(release, outer, releases)
    if compilation.plan is None:
        errors = [each.message for each in compilation.diagnostics if each.severity == "error"]
        return ReleaseCheck("plan", "wrong", f"the sources do not compile: {errors[0] if errors else '?'}")
    if compilation.plan.digest != release.manifest.plan:
        return ReleaseCheck("plan", "wrong", "the sources compile to another plan")
    return ReleaseCheck("plan", "good", "the sources compile to it")


def unknown_text(release: Release, plan: Plan, extended: Sequence[ResolvedRelease]) -> str | None:
    """Return a text of a prompt that occurs in no file of a release or of the releases that it extends, or None."""
    written = "".join(_UNPRINTED.sub("", text) for text in _texts(release, extended))
    for text in _printed(plan.model_dump(mode="json")):
        for line in text.splitlines():
            if not _is_made_of(_UNPRINTED.sub("", line), written):
                return line.strip()
    return None


def _unlisted(release: Release, plan: Plan, extended: Sequence[ResolvedRelease]) -> Iterator[str]:
    """Yield a message for each file and function of the plan that no manifest lists."""
    known = [release, *(open_release(Path(each.folder)) for each in extended)]
    digests = {each.sha256 for one in known for each in one.manifest.files}
    digests |= {each.sha256 for one in known for each in one.manifest.external}
    used = [(file.path, file.sha256) for dataset in plan.datasets for file in dataset.every_file]
    used += [(file.path, file.sha256) for tree in plan.trees for file in tree.files]
    used += [(tree.path, tree.sha256) for tree in plan.trees if not tree.files]
    for path, sha256 in used:
        if sha256 not in digests or PurePosixPath(path).is_absolute():
            yield f"the plan reads `{path}`, which its manifest does not list"
    by_title = {one.manifest.name: one for one in known}
    for plugin in plan.plugins:
        owner = release if plugin.release is None else by_title.get(plugin.release)
        if plugin.path is not None and (owner is None or not _holds(owner, plugin)):
            yield f"the plan calls `{plugin.function}` of `{plugin.path}`, which its manifest does not list"
        elif plugin.path is None and not any(plugin.name in text for text in _texts(release, extended)):
            yield f"the plan calls `{plugin.name}` of {plugin.version}, which its sources do not use"


def _holds(release: Release, plugin: Plugin) -> bool:
    """Return true if a plug-in's files belong to a release, with the digests of the plan."""
    near = "" if plugin.release is not None else posixpath.dirname(release.manifest.main)
    return all(_has(release, posixpath.normpath(posixpath.join(near, path)), sha) for path, sha in plugin.files.items())


def _has(release: Release, name: str, sha256: str) -> bool:
    """Return true if a release has a text file with this name and digest."""
    if name not in {each.path for each in release.manifest.files} or file_fault(release.folder, name) is not None:
        return False
    try:
        return hashlib.sha256((release.folder / name).read_text("utf-8").encode()).hexdigest() == sha256
    except (OSError, UnicodeDecodeError):
        return False


def _texts(release: Release, extended: Sequence[ResolvedRelease]) -> Iterator[str]:
    """Yield the texts of the files of a release and of the releases that it extends."""
    for one in (release, *(open_release(Path(each.folder)) for each in extended)):
        for file in one.manifest.files:
            if file.path == "plan.json" or file_fault(one.folder, file.path) is not None:
                continue
            try:
                yield (one.folder / file.path).read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # a table, or a model


def _printed(value: Any) -> Iterator[str]:
    """Yield every literal text of the templates in a plan."""
    if isinstance(value, dict):
        if isinstance(parts := value.get("parts"), list):
            yield from (each for each in parts if isinstance(each, str))
        for each in value.values():
            yield from _printed(each)
    elif isinstance(value, list):
        for each in value:
            yield from _printed(each)


def _is_made_of(text: str, written: str) -> bool:
    """Return true if a text consists of pieces of another text, each of the minimum length, or occurs in it as a
    whole.
    """
    if text in written:
        return True
    while text:
        size = len(text)
        while size >= LEAST_PIECE and text[:size] not in written:
            size -= 1
        if size < LEAST_PIECE:
            return text in written
        text = text[size:]
    return True


def _missing(release: Release, outer: Sequence[Path]) -> list[str]:
    """Return the external data files that are in none of the given folders."""
    return [
        f"`{each.path}`"
        for each in release.manifest.external
        if not any(_has_digest(folder / each.path, each.sha256) for folder in outer)
    ]


def _has_digest(path: Path, sha256: str) -> bool:
    try:
        return file_digest(path) == sha256
    except OSError:
        return False


def _is_this_version(release: Release) -> bool:
    return release.manifest.tool == f"tripos {__version__}"


def _refused(release: Release, what: str) -> TriposError:
    hint = f"do not use it; see all of it: tripos verify {release.folder}"
    return TriposError(
        "S0855", f"the release `{release.folder}` differs from its sources: {what}", hint, ExitCode.SOME_FAILED
    )


# The whole release
def disagreements(manifest: Manifest, plan: Plan) -> Iterator[str]:
    """Yield a message for each difference between a manifest and its plan. Files are not read."""
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
    shown = any(file.media for dataset in plan.datasets for file in dataset.files)  # one digest covers all media
    for each in manifest.external:
        if each.sha256 not in used and not shown and not each.path.startswith(f"{MADE}/"):
            yield f"`external` has `{each.path}`, which the plan does not read"


def _row_faults(release: Release, plan: Plan) -> Iterator[str]:
    """Yield a message for each number of rows in a manifest that is not that of its file."""
    rows = {file.sha256: file.rows for dataset in plan.datasets for file in dataset.every_file}
    manifest = release.manifest
    said = [
        (file.path, file.rows, rows.get(file.sha256, _held_rows(release.folder / file.path))) for file in manifest.files
    ]
    said += [(file.path, file.rows, rows.get(file.sha256)) for file in manifest.external]
    for path, listed, held in said:
        if listed is not None and held is not None and listed != held:
            yield f"`{path}` has {held:,} rows, not {listed:,}"


def _held_rows(path: Path) -> int | None:
    """Return the number of rows of a file that a release wrote; None for any other file."""
    try:
        if path.parent.name == ITEMS:
            return int(pq.read_metadata(path).num_rows)
        if path.parent.name not in (MADE, PUBLIC):
            return None
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(2**20), b""))
    except (OSError, pa.ArrowException):
        return None


def _same_license(said: str, meant: str | None) -> bool:
    """Return true if two licence expressions are equal. Without the library they are compared as texts."""
    if said == meant:
        return True
    try:
        return check_license(meant, "the plan") == said
    except (TriposError, ImportError):
        return False


def items_fault(said: ReleasedItems | None, found: FrozenItems, folder: Path) -> str | None:
    """Return what is wrong with the items of a scenario or their file, or None."""
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
class Verification:
    """The result of a verification. `digest` is that of the manifest as found, or None without one."""

    folder: Path
    name: str
    digest: str | None
    checks: tuple[ReleaseCheck, ...]

    @property
    def wrong(self) -> tuple[ReleaseCheck, ...]:
        """The failed checks."""
        return tuple(check for check in self.checks if check.outcome == "wrong")

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
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
) -> Verification:
    """Verify all of a release. `outer` are folders with data outside the release, `releases` folders with extended
    releases outside it, and `artefacts` the folders of models that it only names, by role. `expected` is the digest as
    cited, and `signed` are the checks of the signature."""
    try:
        raw = read_untrusted(folder / MANIFEST)
    except OSError:
        return Verification(folder, folder.resolve().name, None, (ReleaseCheck(MANIFEST, "wrong", "is missing"),))
    checks = list(_of_manifest(folder, raw, expected))
    digest = digest_of(raw)
    try:
        manifest = parse_manifest(raw)
    except ValueError as error:
        checks.append(ReleaseCheck(MANIFEST, "wrong", f"does not fit its schema: {manifest_fault(error)}"))
        return Verification(folder, folder.resolve().name, digest, (*checks, *signed))
    checks += _of_files(folder, manifest)
    checks += artefact_checks(folder, manifest, artefacts)
    touched = any(each.outcome == "wrong" for each in checks)
    checks += _of_content(Release(folder, manifest, digest, trust), outer, touched, ReleaseFolders(tuple(releases)))
    return Verification(folder, manifest.name, digest, (*checks, *signed))


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
        same = file_digest(path) == sha256
    except OSError:
        return ReleaseCheck(name, "wrong", "is missing")
    if same and there == size:
        return ReleaseCheck(name, "good")
    if same:
        return ReleaseCheck(name, "wrong", f"has {there:,} bytes, and the manifest says {size:,}")
    by = f", {there - size:+,} bytes" if there != size else ""
    return ReleaseCheck(name, "wrong", f"was changed{by}")


def _of_content(
    release: Release, outer: Sequence[Path], touched: bool, releases: ReleaseFolders
) -> Iterator[ReleaseCheck]:
    """Yield the checks of the content, which run only if the files are those that were released."""
    manifest = release.manifest
    if touched:
        yield ReleaseCheck("plan", "unchecked", "whether the sources compile to it: files were changed")
        return
    if absent := missing_library():
        yield ReleaseCheck(CROISSANT, "unchecked", f"{', '.join(absent)} not installed: pip install 'tripos[release]'")
    else:
        faults = croissant_faults(release.folder / CROISSANT, manifest)
        yield ReleaseCheck(CROISSANT, "wrong", faults[0]) if faults else ReleaseCheck(CROISSANT, "good", "")
    try:
        plan = release.plan()
    except TriposError as failure:
        yield ReleaseCheck("plan", "wrong", failure.message)
        return
    for told in (*disagreements(manifest, plan), *_row_faults(release, plan)):
        yield ReleaseCheck(MANIFEST, "wrong", told)
    told_of = [(each.name, each.version, each.digest) for each in manifest.extends]
    if told_of != [(each.name, each.version, each.digest) for each in plan.extends]:
        yield ReleaseCheck(MANIFEST, "wrong", "`extends` is not what the plan says")
        return
    try:
        compilation = release.compilation(releases)
        extended = compilation.releases
        lent = inherited_models(plan, extended)
    except TriposError as failure:
        yield ReleaseCheck("plan", "unchecked", f"{failure.message}; {failure.hint}")
        return
    yield from (ReleaseCheck(f"extends {each.title}", "good", each.digest) for each in extended)
    named = {each.role: each.digest for each in manifest.artefacts}
    for role, each in lent.items():
        if named.get(role) != each.artefact.digest:
            yield ReleaseCheck(
                f"artefact {role}", "wrong", f"is not that of {each.release.title}, {each.artefact.digest}"
            )
    found = check_plan_sources(release, plan, extended, outer, releases)
    yield found
    if found.outcome != "good":
        return
    source = CaseSource(plan, release.data_folders(outer), tuple(each.path for each in compilation.sources))
    try:
        restore(source, release.folder)
    except TriposError as failure:
        yield ReleaseCheck("items", "wrong", failure.message)
        return
    listed = {each.scenario: each for each in manifest.items}
    try:
        for frozen in frozen_items(source, manifest.canary, withheld_by(extended)):
            fault = items_fault(listed.get(frozen.scenario), frozen, release.folder)
            outcome: Outcome = "good" if fault is None else "wrong"
            yield ReleaseCheck(f"items of {frozen.scenario}", outcome, fault or f"{frozen.rows:,}")
    except DataError as error:
        yield ReleaseCheck("items", "wrong", error.message)
