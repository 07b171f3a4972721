"""The models that scorers name, such as a reward model: what of them goes into a release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tripos.failure import Failure
from tripos.releases.about import About, ArtefactTerms
from tripos.releases.licences import check_license
from tripos.releases.manifest import ReleasedArtefact
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Plan
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.reward.reward_artefact import read_manifest
from tripos_runtime.models.reward.trained_reward import KIND, OUTSIDE, digest_of, model_files
from tripos_runtime.roles.reward_roles import reward_roles

ARTEFACTS = "artefacts"
"""The folder of a release for them, each in one that is called as its role."""
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Artefact:
    """A model to be released: what the manifest says of it, and the files that are copied, by path in the release."""

    said: ReleasedArtefact
    files: Mapping[str, Path]


def artefacts_of(plan: Plan, about: About, given: Mapping[str, str], beside: Path) -> tuple[Artefact, ...]:
    """The models of a release, by role: those of `release.toml`, whose paths begin in `beside`, and those that are
    `given`, each by its folder or its digest.

    Raises `Failure`: W0881 for a role that takes none, W0882 for one that cannot be released, W0852 for its licence.
    """
    taking = reward_roles(plan)
    named = sorted(about.artefacts.keys() | given.keys())
    for role in named:
        if role not in taking:
            close = nearest(role, taking)
            there = f"these do: {', '.join(sorted(taking))}" if taking else "no scorer of it `gives reward`"
            hint = f"did you mean `{close}`?" if close else there
            raise Failure("W0881", f"no role `{role}` of the benchmark takes a reward model", hint)
    found = [(role, _terms(role, about.artefacts.get(role, ArtefactTerms()), given, beside)) for role in named]
    # Terms alone hold for whatever model is given, and name none.
    return tuple(_artefact(role, terms) for role, terms in found if terms.folder or terms.digest)


def open_roles(plan: Plan, named: tuple[ReleasedArtefact, ...]) -> tuple[str, ...]:
    """The roles that take a reward model of which a release says nothing, so that each run may have another."""
    return tuple(sorted(reward_roles(plan) - {artefact.role for artefact in named}))


@dataclass(frozen=True)
class _Terms:
    folder: Path | None
    digest: str | None
    terms: ArtefactTerms


def _terms(role: str, terms: ArtefactTerms, given: Mapping[str, str], beside: Path) -> _Terms:
    said = given.get(role)
    if said is None:
        return _Terms(None if terms.path is None else beside / terms.path, terms.digest, terms)
    if _DIGEST.fullmatch(said) and not Path(said).exists():
        if terms.digest not in (None, said):
            raise _unfit(role, f"release.toml says {terms.digest}", "give the same digest in both, or in one")
        return _Terms(None, said, terms)
    return _Terms(Path(said).expanduser(), terms.digest, terms)


def _artefact(role: str, found: _Terms) -> Artefact:
    terms, folder, digest = found.terms, found.folder, found.digest
    license_ = None if terms.license is None else check_license(terms.license, f"`{ARTEFACTS}.{role}`")
    if folder is None:
        assert digest is not None
        return Artefact(_pinned(role, digest, terms, license_), {})
    try:
        manifest = read_manifest(folder)
        held = digest_of(folder)
    except (ModelError, OSError) as error:
        told = error.message if isinstance(error, ModelError) else str(error.strerror)
        hint = "give the folder that `tripos train reward` wrote, or the model's SHA-256"
        raise _unfit(role, told, hint) from error
    if manifest.kind != KIND:
        raise _unfit(role, f"it is of the kind `{manifest.kind}`, which this version cannot load", "update Tripos")
    if held != manifest.digest:
        raise _unfit(role, f"`{folder}` was changed since it was trained", "copy the folder again, or train again")
    if digest not in (None, held):
        raise _unfit(role, f"`{folder}` holds {held}", f"release.toml says {digest}: mend it, or give that model")
    if not terms.copy_it:
        return Artefact(_pinned(role, held, terms, license_), {})
    if license_ is None:
        hint = f"release.toml: `license` below `[{ARTEFACTS}.{role}]`; or `copy = false` and its `source`"
        raise Failure("W0852", f"the reward model of `{role}` is to be copied without a licence", hint)
    files = {f"{ARTEFACTS}/{role}/{name}": path for name, path in sorted(_copied(folder))}
    size = sum(path.stat().st_size for path in files.values())
    path = f"{ARTEFACTS}/{role}"
    said = ReleasedArtefact(role=role, digest=held, path=path, bytes=size, source=terms.source, license=license_)
    return Artefact(said, files)


def _copied(folder: Path) -> Iterator[tuple[str, Path]]:
    """The model, and what is said of it; not the data that it learned, which are others'."""
    for path in (*model_files(folder), *(folder / name for name in OUTSIDE)):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _pinned(role: str, digest: str, terms: ArtefactTerms, license_: str | None) -> ReleasedArtefact:
    if terms.source is None:
        hint = f"release.toml: `source` below `[{ARTEFACTS}.{role}]`, such as hf://OWNER/NAME"
        raise _unfit(role, "nothing says where it is had", hint)
    return ReleasedArtefact(role=role, digest=digest, source=terms.source, license=license_)


def _unfit(role: str, why: str, hint: str) -> Failure:
    return Failure("W0882", f"cannot release the reward model of `{role}`: {why}", hint)
