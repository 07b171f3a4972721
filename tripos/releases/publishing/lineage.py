"""The release that another follows, and whether the new version's number tells the truth about what changed since."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tripos.releases.fetching import is_release
from tripos.releases.manifest import Manifest, Parent
from tripos.releases.opening import Release, open_release
from tripos.ui import Failure
from tripos_compiler.language.changes import (
    Change,
    are_comparable,
    find_changes,
    least_version,
    version_numbers,
    version_order,
)
from tripos_compiler.plan import Plan

MOST_TOLD = 5
"""So many of the changes that demand a version are named; the rest are counted."""


@dataclass(frozen=True)
class Lineage:
    """The release before, what changed since, and its change log. Without one, it is the first."""

    parent: Parent | None = None
    changes: tuple[Change, ...] = ()
    former: str = ""


def find_parent(plan: Plan, among: Path) -> Release | None:
    """Return the release of the benchmark in a folder with the highest version below that of a plan."""
    below = [
        each
        for each in _releases(plan, among)
        if version_order(each.manifest.version) < version_order(plan.benchmark.version)
    ]
    return max(below, key=lambda each: version_order(each.manifest.version), default=None)


def check_siblings(plan: Plan, among: Path) -> None:
    """Raise `Failure` E0901 where a folder has a release, the parent or another, whose version says that its figures
    may be compared with those of the plan, and they may not; or the release of this very version, which is another."""
    version = plan.benchmark.version
    for each in _releases(plan, among):
        other = each.manifest.version
        if other == version and (found := find_changes(each.plan(), plan)):
            told = _first([change.text for change in found if change.part == found[0].part])
            message = f"version {version} is released already, and changed since: {told}"
            least = least_version(version, found[0].part)
            raise Failure("E0901", message, f"call it {least} or higher; see `tripos diff {each.folder} SPEC`")
        if other == version or not are_comparable(other, version):
            continue
        there = each.plan()
        before, after = (there, plan) if version_order(other) <= version_order(version) else (plan, there)
        major = [change.text for change in find_changes(before, after) if change.part == "major"]
        if major:
            message = f"version {version} says that its figures compare with those of {other}, and they do not: "
            hint = f"raise the major part of the version; see `tripos diff {each.folder} SPEC`"
            raise Failure("E0901", message + _first(major), hint)


def check_what_scores(manifest: Manifest, plan: Plan, among: Path, parent: Manifest | None = None) -> None:
    """Raise `Failure` E0901 where a release says that its figures compare with those of its `parent`, or of another in
    a folder, and was scored by another reward model, or have other items of those that models wrote: of both, a plan
    says nothing."""
    others = [each.manifest for each in _releases(plan, among)] + ([] if parent is None else [parent])
    made = {each.name for each in plan.made}
    over = {each.name for each in plan.scenarios if each.rows is not None and each.rows.dataset in made}
    for other in others:
        if other.version == manifest.version or not are_comparable(other.version, manifest.version):
            continue
        models = {each.role: each.digest for each in other.artefacts}
        items = {each.scenario: each.digest for each in other.items if each.scenario in over}
        told = [
            f"`{each.role}` is another reward model"
            for each in manifest.artefacts
            if models.get(each.role, each.digest) != each.digest
        ]
        told += [
            f"the items of `{each.scenario}` were written anew"
            for each in manifest.items
            if items.get(each.scenario, each.digest) != each.digest
        ]
        if told:
            message = f"version {manifest.version} says that its figures compare with those of {other.version}, "
            hint = "raise the major part of the version, or release with the models and items of before"
            raise Failure("E0901", f"{message}and they do not: {_first(told)}", hint)


def _releases(plan: Plan, among: Path) -> list[Release]:
    """Return the releases of a plan's benchmark in a folder."""
    if not among.is_dir():
        return []
    found = [open_release(path) for path in sorted(among.iterdir()) if is_release(path)]
    return [each for each in found if each.manifest.benchmark == plan.benchmark.name]


def follow(parent: Release, plan: Plan) -> Lineage:
    """Return the lineage of a plan that follows a release.

    Raises `Failure`: E0901 where the version understates what changed, E0902 where it is not above that of the parent.
    """
    before = parent.plan()
    manifest, version = parent.manifest, plan.benchmark.version
    if manifest.benchmark != plan.benchmark.name:
        message = f"`{plan.benchmark.name}` cannot follow a release of `{manifest.benchmark}`"
        raise Failure("E0902", message, "give a release of the same benchmark with --parent")
    found = find_changes(before, plan)
    least = least_version(manifest.version, found[0].part if found else "patch")
    if not found and version_order(version) <= version_order(manifest.version):
        message = f"nothing changed since {manifest.version}, and {version} is not above it"
        raise Failure("E0902", message, f"call it {least} or higher, or cite the release that there is")
    if found and version_numbers(version) < version_numbers(least):
        told = _first([each.text for each in found if each.part == found[0].part])
        message = f"version {version} understates what changed since {manifest.version}: {told}"
        raise Failure("E0901", message, f"call it {least} or higher; see `tripos diff {parent.folder} SPEC`")
    if found and version_order(version) <= version_order(manifest.version):
        raise Failure("E0902", f"version {version} is not above {manifest.version}", f"call it {least} or higher")
    return Lineage(Parent(version=manifest.version, digest=parent.digest), tuple(found), _change_log(parent))


def _first(told: list[str]) -> str:
    more = f"; and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return "; ".join(told[:MOST_TOLD]) + more


def _change_log(release: Release) -> str:
    try:
        return (release.folder / "CHANGELOG.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
