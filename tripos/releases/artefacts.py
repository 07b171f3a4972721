"""Models that fill the roles of scorers, such as reward models: their files in a release, and their lookup."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tripos.releases.locations import open_location
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
from tripos.settings.options import ROLE, ReleaseParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DIGEST, ResolvedRelease
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
    """Yield a check for each model: its files in the release, and those in the given folders by role."""
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
            yield _check_digest(what, inside, artefact.digest)
            size = sum(file.bytes for file in manifest.files if file.path.startswith(f"{artefact.path}/"))
            if artefact.bytes != size:
                yield ReleaseCheck(what, "wrong", f"has {size:,} bytes, and the manifest says {artefact.bytes or 0:,}")
        if artefact.role in given:
            yield _check_digest(what, given[artefact.role], artefact.digest)
        elif artefact.path is None:
            text = f"it is not in the release: {ReleaseParameters.artefact} {artefact.role}=DIR, from {artefact.source}"
            yield ReleaseCheck(what, "unchecked", text)


def _check_digest(what: str, folder: Path, digest: str) -> ReleaseCheck:
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
    """A reward model that an extended release names, with that release."""

    artefact: ReleasedArtefact
    release: ResolvedRelease

    @property
    def folder(self) -> Path | None:
        """The folder of its files, or None if the release only names it."""
        return None if self.artefact.path is None else Path(self.release.folder) / self.artefact.path


def inherited_models(plan: Plan, extended: Sequence[ResolvedRelease]) -> dict[str, InheritedModel]:
    """Return the models that extended releases name for roles of the plan's scorers, by role. If several name the same
    model, one with files is taken. Raises `TriposError` S0878 if two releases name different models for a role."""
    models: dict[str, InheritedModel] = {}
    for release in extended:
        opened = open_release(Path(release.folder))
        if not opened.manifest.artefacts:
            continue
        theirs = [scorer for scorer in opened.plan().scorers if scorer.source == "reward"]
        taken = {scorer.role for scorer in theirs if scorer in plan.scorers}
        for artefact in opened.manifest.artefacts:
            if artefact.role not in taken:
                continue
            earlier = models.get(artefact.role)
            if earlier is not None and earlier.artefact.digest != artefact.digest:
                message = f"{earlier.release.title} and {release.title} name two reward models for `{artefact.role}`"
                raise TriposError(
                    "S0878", message, "extend only one of them; or `take` only declarations that need no reward model"
                )
            if earlier is None or _rank(artefact) < _rank(earlier.artefact):
                models[artefact.role] = InheritedModel(artefact, release)
    return models


def with_inherited(
    own: Sequence[Artefact], lent: Mapping[str, InheritedModel], extends: Sequence[ExtendedRelease]
) -> tuple[Artefact, ...]:
    """Return the models of a release: its own, and the inherited ones, whose files are in the extended releases.

    Raises `TriposError` S0882 if its own model differs from the one by which an extended release gave the same scores.
    """
    artefacts = {artefact.entry.role: artefact for artefact in own}
    for role, model in lent.items():
        mine = artefacts.get(role)
        if mine is not None and mine.entry.digest != model.artefact.digest:
            message = f"cannot release the reward model of `{role}`: {model.release.title} scores by another"
            raise TriposError("S0882", message, f"leave it out: the release has {model.artefact.digest[:12]}")
        path = _path_of(model, extends)
        if mine is not None and path is None:
            continue
        source = model.artefact.source or (f"the release {model.release.title}" if path is None else None)
        size = None if path is None else model.artefact.bytes
        artefacts[role] = Artefact(
            model.artefact.model_copy(update={"path": path, "bytes": size, "source": source}), {}
        )
    return tuple(artefacts[role] for role in sorted(artefacts))


def _path_of(lent: InheritedModel, extends: Sequence[ExtendedRelease]) -> str | None:
    """Return the path of an inherited model within a release, or None if its files are not inside."""
    if lent.artefact.path is None:
        return None
    by_label = {f"{extended.name}-{extended.version}": extended for extended in extends}
    release = by_label[lent.release.label]
    parts = [lent.artefact.path]
    while release.path is None:
        if release.within is None:
            return None
        parts.insert(0, f"releases/{release.name}-{release.version}")
        release = by_label[release.within]
    return "/".join([release.path, *parts])


def _rank(said: ReleasedArtefact) -> int:
    """Return the preference among equal models: files of the release itself, then files of a release inside it, then a
    name only."""
    return 2 if said.path is None else 0 if said.path.startswith(f"{ARTEFACTS}/") else 1


# Models of a run
Roles = Mapping[str, tuple[str, ...]]
_PREFIX = "reward/"


def artefact_name(artefact: ReleasedArtefact) -> str:
    """Return the name of the model in the rows of a run."""
    return f"{_PREFIX}{artefact.role}@{artefact.digest[:SHORT]}"


def with_artefacts(
    given: str | None, plan: Plan, extended: Sequence[ResolvedRelease], roles: Roles, by_hand: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the roles of a run with the models of its release, or else of the releases that its spec extends. Such
    roles ignore `tripos.toml`, which is meant for other benchmarks. For a release, a model that the user gave for a
    role in `by_hand` must be the same one, since every row claims to be of this release.

    Raises `TriposError` R0262 for another model, R0263 if the release only names the model and its folder is not given,
    and S0878 if two releases name different ones.
    """
    filled = dict(roles)
    path = None if given is None else open_location(given)
    for artefact, folder in _artefacts(path, plan, extended):
        named = roles.get(artefact.role, ())
        same = [name for name in named if _is_model(name, artefact)]
        if artefact.role in by_hand and len(same) < len(named):
            if path is None:
                continue
            other = next(name for name in named if name not in same)
            message = f"`{other}` is not the reward model of the release, {artefact.digest[:SHORT]}"
            hint = f"leave it out; to score otherwise run the spec in {path / 'spec'}"
            raise TriposError("R0262", message, hint)
        if folder is None and not same:
            message = f"the release only names its reward model, {artefact.digest[:SHORT]}"
            hint = f"get it from {artefact.source}: {ROLE} {artefact.role}=reward/DIR"
            raise TriposError("R0263", message, hint)
        filled[artefact.role] = (artefact_name(artefact),)
    return filled


def artefact_folders(
    given: str | None, plan: Plan, extended: Sequence[ResolvedRelease], names: Sequence[str]
) -> dict[str, Path]:
    """Return the folders of a release's models by name: inside the release, or among the `names` given for roles, such
    as `reward/DIR`."""
    paths = {}
    for artefact, folder in _artefacts(None if given is None else open_location(given), plan, extended):
        if folder is not None:
            paths[artefact_name(artefact)] = folder
            continue
        for name in map(pinned_name, names):
            if _is_model(name, artefact):
                paths[artefact_name(artefact)] = Path(name[len(_PREFIX) :].rpartition("@")[0]).expanduser()
    return paths


def open_artefact(name: str, folder: Path) -> BatchedReward:
    """Open the model with this name from its folder. Raises `ModelError`, and `TriposError` S0855 if its files were
    changed."""
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
        raise TriposError("S0855", message, "see all of it: tripos verify DIR", ExitCode.SOME_FAILED) from error


def _artefacts(
    own: Path | None, plan: Plan, extended: Sequence[ResolvedRelease]
) -> Iterator[tuple[ReleasedArtefact, Path | None]]:
    """Yield the models with their folders, or None if the files are not available."""
    lent = inherited_models(plan, extended)
    if own is None:
        yield from ((model.artefact, model.folder) for model in lent.values())
        return
    for artefact in open_release(own).manifest.artefacts:
        other = lent.get(artefact.role)
        if artefact.path is not None:
            yield artefact, own / artefact.path
        else:
            yield artefact, other.folder if other is not None and other.artefact.digest == artefact.digest else None


def _is_model(name: str, artefact: ReleasedArtefact) -> bool:
    return name.startswith(_PREFIX) and name.endswith(f"@{artefact.digest[:SHORT]}")


# Models to be released
ARTEFACTS = "artefacts"
"""The folder of a release for models, with a subfolder for each role."""


@dataclass(frozen=True)
class Artefact:
    """A model to be released: its entry in the manifest, and the files to copy, by path in the release."""

    entry: ReleasedArtefact
    files: Mapping[str, Path]


def artefacts_of(plan: Plan, about: ReleaseToml, given: Mapping[str, str], beside: Path) -> tuple[Artefact, ...]:
    """Return the models of a release by role: those of `release.toml`, with paths relative to `beside`, overridden by
    `given` folders or digests.

    Raises `TriposError` S0881 for a role without a reward model, S0882 for a model that cannot be released, and S0852
    for its licence.
    """
    taking = reward_roles(plan)
    named = sorted(about.artefacts.keys() | given.keys())
    for role in named:
        if role not in taking:
            there = f"these do: {', '.join(sorted(taking))}" if taking else "no scorer of it `gives reward`"
            hint = suggest(role, taking, there)
            raise TriposError("S0881", f"no role `{role}` of the benchmark takes a reward model", hint)
    found = [(role, _terms(role, about.artefacts.get(role, ArtefactTerms()), given, beside)) for role in named]
    # Terms without a folder or digest apply to a given model, but name none.
    return tuple(_artefact(role, terms) for role, terms in found if terms.folder or terms.digest)


def open_roles(plan: Plan, named: tuple[ReleasedArtefact, ...]) -> tuple[str, ...]:
    """Return the roles whose reward model the release does not determine, so that each run may choose one."""
    return tuple(sorted(reward_roles(plan) - {artefact.role for artefact in named}))


@dataclass(frozen=True)
class _Terms:
    folder: Path | None
    digest: str | None
    terms: ArtefactTerms


def _terms(role: str, terms: ArtefactTerms, given: Mapping[str, str], beside: Path) -> _Terms:
    text = given.get(role)
    if text is None:
        return _Terms(None if terms.path is None else beside / terms.path, terms.digest, terms)
    if DIGEST.fullmatch(text) and not Path(text).exists():
        if terms.digest not in (None, text):
            raise _unfit(role, f"release.toml says {terms.digest}", "give the same digest in both, or in one")
        return _Terms(None, text, terms)
    return _Terms(Path(text).expanduser(), terms.digest, terms)


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
        text = error.message if isinstance(error, ModelError) else str(error.strerror)
        hint = "give the folder that `tripos train reward` wrote, or the model's SHA-256"
        raise _unfit(role, text, hint) from error
    if manifest.kind != KIND:
        raise _unfit(role, f"it is of the kind `{manifest.kind}`, which this version cannot load", "update Tripos")
    if held != manifest.digest:
        raise _unfit(role, f"`{folder}` was changed since it was trained", "copy the folder again, or train again")
    if digest not in (None, held):
        raise _unfit(role, f"`{folder}` holds {held}", f"release.toml says {digest}: fix it, or give that model")
    if not terms.copy_it:
        return Artefact(_pinned(role, held, terms, license_), {})
    if license_ is None:
        hint = f"release.toml: `license` below `[{ARTEFACTS}.{role}]`; or `copy = false` and its `source`"
        raise TriposError("S0852", f"the reward model of `{role}` is to be copied without a licence", hint)
    files = {f"{ARTEFACTS}/{role}/{name}": path for name, path in sorted(_copied(folder))}
    size = sum(path.stat().st_size for path in files.values())
    path = f"{ARTEFACTS}/{role}"
    artefact = ReleasedArtefact(role=role, digest=held, path=path, bytes=size, source=terms.source, license=license_)
    return Artefact(artefact, files)


def _copied(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of the model and its description, but not its training data, which belong to others."""
    for path in (*model_files(folder), *(folder / name for name in OUTSIDE)):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _pinned(role: str, digest: str, terms: ArtefactTerms, license_: str | None) -> ReleasedArtefact:
    if terms.source is None:
        hint = f"release.toml: `source` below `[{ARTEFACTS}.{role}]`, such as hf://OWNER/NAME"
        raise _unfit(role, "nothing says where it is had", hint)
    return ReleasedArtefact(role=role, digest=digest, source=terms.source, license=license_)


def _unfit(role: str, why: str, hint: str) -> TriposError:
    return TriposError("S0882", f"cannot release the reward model of `{role}`: {why}", hint)
