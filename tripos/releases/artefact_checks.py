"""Whether the models that a release names are those that it holds, or that somebody gives; no weights are loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tripos.releases.checks import Check
from tripos.releases.manifest import Manifest
from tripos_runtime.models.reward.trained_reward import digest_of


def artefact_checks(folder: Path, manifest: Manifest, given: Mapping[str, Path] = {}) -> Iterator[Check]:
    """A check for each model: of the files in the release, and of those in the folders that are given, by role."""
    named = {artefact.role for artefact in manifest.artefacts}
    for role in sorted(given.keys() - named):
        yield Check(f"artefact {role}", "wrong", "is given, and the release names none for that role")
    for artefact in manifest.artefacts:
        what = f"artefact {artefact.role}"
        if artefact.path is not None:
            inside = folder / artefact.path
            if not inside.resolve().is_relative_to(folder.resolve()):
                yield Check(what, "wrong", "lies outside of the release")
                continue
            yield _held(what, inside, artefact.digest)
        if artefact.role in given:
            yield _held(what, given[artefact.role], artefact.digest)
        elif artefact.path is None:
            told = f"it is not in the release: --artefact {artefact.role}=DIR, from {artefact.source}"
            yield Check(what, "unchecked", told)


def _held(what: str, folder: Path, digest: str) -> Check:
    try:
        found = digest_of(folder) if folder.is_dir() else None
    except OSError:
        found = None
    if found is None:
        return Check(what, "wrong", f"cannot be read in `{folder}`")
    if found != digest:
        return Check(what, "wrong", f"has the digest {found}, not {digest}")
    return Check(what, "good")
