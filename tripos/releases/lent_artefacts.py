"""The reward models that a benchmark has of the releases which it extends: their scores stay those of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tripos.failure import Failure
from tripos.releases.artefacts import ARTEFACTS, Artefact
from tripos.releases.manifest import ExtendedRelease, ReleasedArtefact
from tripos.releases.opening import open_release
from tripos_compiler.plan import Plan
from tripos_compiler.releases import FoundRelease


@dataclass(frozen=True)
class Lent:
    """A reward model as a release names it, and that release."""

    said: ReleasedArtefact
    release: FoundRelease

    @property
    def folder(self) -> Path | None:
        """Where its files lie; None where the release only names it."""
        return None if self.said.path is None else Path(self.release.folder) / self.said.path


def lent_artefacts(plan: Plan, extended: Sequence[FoundRelease]) -> dict[str, Lent]:
    """The models that releases name for the roles of scorers which a plan has of them, by role; of one that several
    name, one that has its files. Raises `Failure` W0878 where two of them name different models for one role."""
    found: dict[str, Lent] = {}
    for release in extended:
        opened = open_release(Path(release.folder))
        if not opened.manifest.artefacts:
            continue
        theirs = [scorer for scorer in opened.plan().scorers if scorer.reward]
        taken = {scorer.role for scorer in theirs if scorer in plan.scorers}
        for said in opened.manifest.artefacts:
            if said.role not in taken:
                continue
            earlier = found.get(said.role)
            if earlier is not None and earlier.said.digest != said.digest:
                message = f"{earlier.release.title} and {release.title} name two reward models for `{said.role}`"
                raise Failure("W0878", message, "extend one of them; or `take` what the other needs no such model for")
            if earlier is None or _rank(said) < _rank(earlier.said):
                found[said.role] = Lent(said, release)
    return found


def with_lent(
    own: Sequence[Artefact], lent: Mapping[str, Lent], extends: Sequence[ExtendedRelease]
) -> tuple[Artefact, ...]:
    """The models that a release names: its own, and those that are lent, which lie in the releases that it holds.

    Raises `Failure` W0882 where its own is another than that of a release by which the same scores were given."""
    found = {each.said.role: each for each in own}
    for role, each in lent.items():
        mine = found.get(role)
        if mine is not None and mine.said.digest != each.said.digest:
            message = f"cannot release the reward model of `{role}`: {each.release.title} scores by another"
            raise Failure("W0882", message, f"leave it out: the release has {each.said.digest[:12]}")
        path = _path_of(each, extends)
        if mine is not None and path is None:
            continue
        source = each.said.source or (f"the release {each.release.title}" if path is None else None)
        size = None if path is None else each.said.bytes
        found[role] = Artefact(each.said.model_copy(update={"path": path, "bytes": size, "source": source}), {})
    return tuple(found[role] for role in sorted(found))


def _path_of(lent: Lent, extends: Sequence[ExtendedRelease]) -> str | None:
    """Where a lent model lies in a release that holds others; None where it does not."""
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
