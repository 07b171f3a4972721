"""The models that scorers name, such as a reward model: what of them goes into a release."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tripos.errors import SOME_FAILED, Failure
from tripos.releases.locations import find_release
from tripos.releases.manifest import (
    ArtefactTerms,
    ExtendedRelease,
    Manifest,
    ReleaseCheck,
    ReleasedArtefact,
    ReleaseToml,
    check_license,
)
from tripos.releases.opening import open_release
from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import FoundRelease
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.rewards import BatchedReward
from tripos_runtime.models.trained_rewards import (
    KIND,
    OUTSIDE,
    SHORT,
    TrainedReward,
    digest_of,
    model_files,
    open_reward,
    pinned_name,
    read_manifest,
)
from tripos_runtime.program.binding import reward_roles


def artefact_checks(folder: Path, manifest: Manifest, given: Mapping[str, Path] = {}) -> Iterator[ReleaseCheck]:
    """Yield a check for each model: of the files in the release, and of those in the folders that are given, by
    role."""
    named = {artefact.role for artefact in manifest.artefacts}
    for role in sorted(given.keys() - named):
        yield ReleaseCheck(f"artefact {role}", "wrong", "is given, and the release names none for that role")
    for artefact in manifest.artefacts:
        what = f"artefact {artefact.role}"
        if artefact.path is not None:
            inside = folder / artefact.path
            if not inside.resolve().is_relative_to(folder.resolve()):
                yield ReleaseCheck(what, "wrong", "lies outside of the release")
                continue
            yield _held(what, inside, artefact.digest)
        if artefact.role in given:
            yield _held(what, given[artefact.role], artefact.digest)
        elif artefact.path is None:
            told = f"it is not in the release: --artefact {artefact.role}=DIR, from {artefact.source}"
            yield ReleaseCheck(what, "unchecked", told)


def _held(what: str, folder: Path, digest: str) -> ReleaseCheck:
    try:
        found = digest_of(folder) if folder.is_dir() else None
    except OSError:
        found = None
    if found is None:
        return ReleaseCheck(what, "wrong", f"cannot be read in `{folder}`")
    if found != digest:
        return ReleaseCheck(what, "wrong", f"has the digest {found}, not {digest}")
    return ReleaseCheck(what, "good")


@dataclass(frozen=True)
class InheritedModel:
    """A reward model as a release names it, and that release."""

    said: ReleasedArtefact
    release: FoundRelease

    @property
    def folder(self) -> Path | None:
        """Return where its files lie; None where the release only names it."""
        return None if self.said.path is None else Path(self.release.folder) / self.said.path


def inherited_models(plan: Plan, extended: Sequence[FoundRelease]) -> dict[str, InheritedModel]:
    """Return the models that releases name for the roles of scorers which a plan has of them, by role; of one that
    several name, one that has its files. Raises `Failure` S0878 where two of them name different models for one
    role."""
    found: dict[str, InheritedModel] = {}
    for release in extended:
        opened = open_release(Path(release.folder))
        if not opened.manifest.artefacts:
            continue
        theirs = [scorer for scorer in opened.plan().scorers if scorer.source == "reward"]
        taken = {scorer.role for scorer in theirs if scorer in plan.scorers}
        for said in opened.manifest.artefacts:
            if said.role not in taken:
                continue
            earlier = found.get(said.role)
            if earlier is not None and earlier.said.digest != said.digest:
                message = f"{earlier.release.title} and {release.title} name two reward models for `{said.role}`"
                raise Failure(
                    "S0878", message, "extend only one of them; or `take` only declarations that need no reward model"
                )
            if earlier is None or _rank(said) < _rank(earlier.said):
                found[said.role] = InheritedModel(said, release)
    return found


def with_inherited(
    own: Sequence[Artefact], lent: Mapping[str, InheritedModel], extends: Sequence[ExtendedRelease]
) -> tuple[Artefact, ...]:
    """Return the models that a release names: its own, and those that are lent, which lie in the releases that it
    holds.

    Raises `Failure` S0882 where its own is another than that of a release by which the same scores were given."""
    found = {each.said.role: each for each in own}
    for role, each in lent.items():
        mine = found.get(role)
        if mine is not None and mine.said.digest != each.said.digest:
            message = f"cannot release the reward model of `{role}`: {each.release.title} scores by another"
            raise Failure("S0882", message, f"leave it out: the release has {each.said.digest[:12]}")
        path = _path_of(each, extends)
        if mine is not None and path is None:
            continue
        source = each.said.source or (f"the release {each.release.title}" if path is None else None)
        size = None if path is None else each.said.bytes
        found[role] = Artefact(each.said.model_copy(update={"path": path, "bytes": size, "source": source}), {})
    return tuple(found[role] for role in sorted(found))


def _path_of(lent: InheritedModel, extends: Sequence[ExtendedRelease]) -> str | None:
    """Return where a lent model lies in a release that holds others; None where it does not."""
    if lent.said.path is None:
        return None
    by_label = {f"{each.name}-{each.version}": each for each in extends}
    held = by_label[lent.release.label]
    parts = [lent.said.path]
    while held.path is None:
        if held.within is None:
            return None
        parts.insert(0, f"releases/{held.name}-{held.version}")
        held = by_label[held.within]
    return "/".join([held.path, *parts])


def _rank(said: ReleasedArtefact) -> int:
    """A model in the release itself comes before one in a release that this holds, and that before one only named."""
    return 2 if said.path is None else 0 if said.path.startswith(f"{ARTEFACTS}/") else 1


Roles = Mapping[str, tuple[str, ...]]
_PREFIX = "reward/"


def artefact_name(artefact: ReleasedArtefact) -> str:
    """Return what the model is called in the rows of a run."""
    return f"{_PREFIX}{artefact.role}@{artefact.digest[:SHORT]}"


def with_artefacts(
    given: str | None, plan: Plan, extended: Sequence[FoundRelease], roles: Roles, by_hand: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the roles of a run, with the models of the release that a command was given in theirs, if it is one, or
    else of the releases that its spec extends. What `tripos.toml` says of such a role is for other benchmarks; what was
    given `by_hand` must be the same model where every row says that it is of this release.

    Raises `Failure`: R0262 for another model, R0263 where the release only names it and nobody gave its folder, S0878
    where two releases name different ones.
    """
    filled = dict(roles)
    own = None if given is None else find_release(given)
    for artefact, folder in _artefacts(own, plan, extended):
        named = roles.get(artefact.role, ())
        same = [name for name in named if _is(name, artefact)]
        if artefact.role in by_hand and len(same) < len(named):
            if own is None:
                continue
            other = next(name for name in named if name not in same)
            message = f"`{other}` is not the reward model of the release, {artefact.digest[:SHORT]}"
            hint = f"leave it out; to score otherwise run the spec in {own / 'spec'}"
            raise Failure("R0262", message, hint)
        if folder is None and not same:
            message = f"the release only names its reward model, {artefact.digest[:SHORT]}"
            hint = f"get it from {artefact.source}: --role {artefact.role}=reward/DIR"
            raise Failure("R0263", message, hint)
        filled[artefact.role] = (artefact_name(artefact),)
    return filled


def artefact_folders(
    given: str | None, plan: Plan, extended: Sequence[FoundRelease], names: Sequence[str]
) -> dict[str, Path]:
    """Return where the models of a release, or of those that a spec extends, lie, by their names: in it, or in one of
    the folders of the `names` that were given to roles, such as `reward/DIR`."""
    found = {}
    for artefact, folder in _artefacts(None if given is None else find_release(given), plan, extended):
        if folder is not None:
            found[artefact_name(artefact)] = folder
            continue
        for name in map(pinned_name, names):
            if _is(name, artefact):
                found[artefact_name(artefact)] = Path(name[len(_PREFIX) :].rpartition("@")[0]).expanduser()
    return found


def open_artefact(name: str, folder: Path) -> BatchedReward:
    """Return the model of that name, out of its folder. Raises `ModelError`, or `Failure` S0855 where its files are
    others."""
    digest = name.rpartition("@")[2]
    try:
        model = open_reward(f"{folder}@{digest}")
        if isinstance(model, TrainedReward):
            model.name = name
        return BatchedReward(model)
    except ModelError as error:
        if error.code not in ("R0234", "R0237"):
            raise
        message = f"the reward model of the release is damaged: `{folder}`"
        raise Failure("S0855", message, "see all of it: tripos verify DIR", SOME_FAILED) from error


def _artefacts(
    own: Path | None, plan: Plan, extended: Sequence[FoundRelease]
) -> Iterator[tuple[ReleasedArtefact, Path | None]]:
    """Yield the models that are named, and where each lies, if it is here."""
    from tripos.releases.opening import open_release

    lent = inherited_models(plan, extended)
    if own is None:
        yield from ((each.said, each.folder) for each in lent.values())
        return
    for artefact in open_release(own).manifest.artefacts:
        other = lent.get(artefact.role)
        if artefact.path is not None:
            yield artefact, own / artefact.path
        else:
            yield artefact, other.folder if other is not None and other.said.digest == artefact.digest else None


def _is(name: str, artefact: ReleasedArtefact) -> bool:
    return name.startswith(_PREFIX) and name.endswith(f"@{artefact.digest[:SHORT]}")


ARTEFACTS = "artefacts"
"""The folder of a release for them, each in one that is called as its role."""
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Artefact:
    """A model to be released: what the manifest says of it, and the files that are copied, by path in the release."""

    said: ReleasedArtefact
    files: Mapping[str, Path]


def artefacts_of(plan: Plan, about: ReleaseToml, given: Mapping[str, str], beside: Path) -> tuple[Artefact, ...]:
    """Return the models of a release, by role: those of `release.toml`, whose paths begin in `beside`, and those that
    are `given`, each by its folder or its digest.

    Raises `Failure`: S0881 for a role that takes none, S0882 for one that cannot be released, S0852 for its licence.
    """
    taking = reward_roles(plan)
    named = sorted(about.artefacts.keys() | given.keys())
    for role in named:
        if role not in taking:
            close = nearest(role, taking)
            there = f"these do: {', '.join(sorted(taking))}" if taking else "no scorer of it `gives reward`"
            hint = f"did you mean `{close}`?" if close else there
            raise Failure("S0881", f"no role `{role}` of the benchmark takes a reward model", hint)
    found = [(role, _terms(role, about.artefacts.get(role, ArtefactTerms()), given, beside)) for role in named]
    # Terms alone hold for whatever model is given, and name none.
    return tuple(_artefact(role, terms) for role, terms in found if terms.folder or terms.digest)


def open_roles(plan: Plan, named: tuple[ReleasedArtefact, ...]) -> tuple[str, ...]:
    """Return the roles that take a reward model of which a release says nothing, so that each run may have another."""
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
        raise Failure("S0852", f"the reward model of `{role}` is to be copied without a licence", hint)
    files = {f"{ARTEFACTS}/{role}/{name}": path for name, path in sorted(_copied(folder))}
    size = sum(path.stat().st_size for path in files.values())
    path = f"{ARTEFACTS}/{role}"
    said = ReleasedArtefact(role=role, digest=held, path=path, bytes=size, source=terms.source, license=license_)
    return Artefact(said, files)


def _copied(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the model, and what is said of it; not the data that it learned, which are others'."""
    for path in (*model_files(folder), *(folder / name for name in OUTSIDE)):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _pinned(role: str, digest: str, terms: ArtefactTerms, license_: str | None) -> ReleasedArtefact:
    if terms.source is None:
        hint = f"release.toml: `source` below `[{ARTEFACTS}.{role}]`, such as hf://OWNER/NAME"
        raise _unfit(role, "nothing says where it is had", hint)
    return ReleasedArtefact(role=role, digest=digest, source=terms.source, license=license_)


def _unfit(role: str, why: str, hint: str) -> Failure:
    return Failure("S0882", f"cannot release the reward model of `{role}`: {why}", hint)
