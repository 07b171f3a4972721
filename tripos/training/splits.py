"""Parts training data into what is learned and what is held out, by group and never by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tripos.failure import Failure
from tripos_compiler.plan import digest


@dataclass(frozen=True)
class Split:
    """The places of the lines that are learned and of those that are held out, each in the order of the data; and how
    many groups each has."""

    learned: tuple[int, ...]
    held_out: tuple[int, ...]
    groups_learned: int
    groups_held_out: int


def split_by_group(groups: Sequence[str], share: float, seed: int) -> Split:
    """Holds out the `share` of the groups, of at least one where it is above 0, whose seeded digests are the smallest.

    `groups` has the group of every line. All lines of a group are on one side, so what is held out was not seen in
    another form; and a group keeps its side when others come, unless it stands at the edge. Raises `Failure` W0815
    where nothing would be left to learn.

    >>> split_by_group(["a", "a", "b", "c"], 0.3, seed=0)
    Split(learned=(2, 3), held_out=(0, 1), groups_learned=2, groups_held_out=1)
    """
    order = sorted(set(groups), key=lambda group: digest([seed, group]))
    count = max(1, round(share * len(order))) if share > 0 else 0
    if count >= len(order):
        found = f"{len(order)} item" + ("" if len(order) == 1 else "s")
        hint = "train on more items, or on all of them: `--held-out 0`"
        raise Failure("W0815", f"the data have {found}: nothing is left to learn where {count} is held out", hint)
    held = set(order[:count])
    return Split(
        tuple(place for place, group in enumerate(groups) if group not in held),
        tuple(place for place, group in enumerate(groups) if group in held),
        len(order) - count,
        count,
    )
