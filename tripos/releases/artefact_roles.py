"""Fills the roles of a run of a release, or of a spec that extends one, with the models that it names.

Such a model is called by its role and digest, `reward/critic@092de4fe86c6`, wherever its folder lies: its rewards are
named by that, so that what was asked from a zip is found again from a folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tripos.failure import SOME_FAILED, Failure
from tripos.releases.manifest import ReleasedArtefact
from tripos.releases.places import find_release
from tripos_compiler.plan import Plan
from tripos_compiler.releases import FoundRelease
from tripos_runtime.models.base import ModelError
from tripos_runtime.models.reward.reward_artefact import SHORT, open_reward, pinned_name
from tripos_runtime.models.reward.rewards import BatchedReward
from tripos_runtime.models.reward.trained_reward import TrainedReward

Roles = Mapping[str, tuple[str, ...]]
_PREFIX = "reward/"


def artefact_name(artefact: ReleasedArtefact) -> str:
    """What the model is called in the rows of a run."""
    return f"{_PREFIX}{artefact.role}@{artefact.digest[:SHORT]}"


def with_artefacts(
    given: str | None, plan: Plan, extended: Sequence[FoundRelease], roles: Roles, by_hand: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """The roles of a run, with the models of the release that a command was given in theirs, if it is one, or else of
    the releases that its spec extends. What `tripos.toml` says of such a role is for other benchmarks; what was given
    `by_hand` must be the same model where every row says that it is of this release.

    Raises `Failure`: R0262 for another model, R0263 where the release only names it and nobody gave its folder, W0878
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
    """Where the models of a release, or of those that a spec extends, lie, by their names: in it, or in one of the
    folders of the `names` that were given to roles, such as `reward/DIR`."""
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
    """The model of that name, out of its folder. Raises `ModelError`, or `Failure` W0855 where its files are others."""
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
        raise Failure("W0855", message, "see all of it: tripos verify DIR", SOME_FAILED) from error


def _artefacts(
    own: Path | None, plan: Plan, extended: Sequence[FoundRelease]
) -> Iterator[tuple[ReleasedArtefact, Path | None]]:
    """The models that are named, and where each lies, if it is here."""
    from tripos.releases.lent_artefacts import lent_artefacts
    from tripos.releases.opening import open_release

    lent = lent_artefacts(plan, extended)
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
