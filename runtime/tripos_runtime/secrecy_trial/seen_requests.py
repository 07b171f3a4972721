"""The messages to the compared role in a world, by where: the record of one world, to be held against another's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripos_runtime.datasets.sources import Origin

Sent = tuple[tuple[str, str], ...]
"""Messages, each with who says it and its text; and after them the settings of the request."""
SETTINGS = "settings"
"""Stands in place of who says it before the settings of a request, which are JSON."""
Made = tuple[str, Any, str, int]
"""A row that a role made: the data set; what it was made from, by the number of the element or another such row; the
cell; the number. It is the same row in all worlds, also where others rule out other rows before it."""
Place = Origin | Made | str
"""The key of an item: the row's place in its file, or where it was made; without rows the name of the cell."""


class SeenUnit(NamedTuple):
    """A scenario about an item."""

    scenario: str
    place: Place


class SeenRequest(NamedTuple):
    """One request in a unit: under which arms, for which sample, by which step, the how manieth of it."""

    arms: tuple[tuple[str, str], ...]
    sample: int
    step: str
    turn: int
    model: str


@dataclass
class SeenRequests:
    """The messages to the compared role."""

    units: dict[SeenUnit, dict[SeenRequest, Sent]] = field(default_factory=dict)
    """Of every unit that was gone through, also where nothing was sent."""

    @property
    def messages(self) -> int:
        """Return how many messages it was sent."""
        every = (each for parts in self.units.values() for sent in parts.values() for each in sent)
        return sum(who != SETTINGS for who, _ in every)

    @property
    def requests(self) -> int:
        """Return how many requests it was sent."""
        return sum(map(len, self.units.values()))


class RequestDifference(NamedTuple):
    """A request that is other in another world: absent there, or with other messages. `elsewhere` is the scenario that
    asks about the item in the other world, where this one does not."""

    unit: SeenUnit
    part: SeenRequest
    one: Sent | None
    other: Sent | None
    elsewhere: str | None = None


Root = Callable[[Place], Hashable]
"""The key that items share if they are made of the same rows."""


def differences(
    one: SeenRequests, other: SeenRequests, root: Root, only: Collection[Place] | None = None
) -> Iterator[RequestDifference]:
    """Yield where two worlds differ: in each unit the first request that does, step by step. That a unit is there at
    all is no difference, unless another one of the same rows is there instead, and tells them something else."""
    for unit in sorted(one.units.keys() & other.units.keys(), key=repr):
        if only is not None and unit.place not in only:
            continue
        mine, theirs = one.units[unit], other.units[unit]
        steps: set[str] = set()
        for part in dict.fromkeys([*mine, *theirs]):
            if part.step not in steps and mine.get(part) != theirs.get(part):
                steps.add(part.step)
                yield RequestDifference(unit, part, mine.get(part), theirs.get(part))
    roots = None if only is None else {root(place) for place in only}
    lost, found = _alone(one, other, root), _alone(other, one, root)
    for about in sorted(lost.keys() & found.keys(), key=repr):
        if roots is None or about in roots:
            yield from _instead(one, other, lost[about], found[about])


def _instead(
    one: SeenRequests, other: SeenRequests, lost: list[SeenUnit], found: list[SeenUnit]
) -> Iterator[RequestDifference]:
    """Yield units that only one world has, and those that only the other has, of the same rows."""
    theirs = sorted(sent for unit in found for sent in other.units[unit].values())
    if theirs == sorted(sent for unit in lost for sent in one.units[unit].values()):
        return
    for unit in lost:
        for part, sent in one.units[unit].items():
            instead = next((each for each in found if other.units[each]), found[0])
            against = next(iter(other.units[instead].values()), None)
            yield RequestDifference(unit, part, sent, against, instead.scenario)
            return


def _alone(one: SeenRequests, other: SeenRequests, root: Root) -> Mapping[Hashable, list[SeenUnit]]:
    """Return the units that only the first of two worlds has, by the rows that they are of."""
    found: dict[Hashable, list[SeenUnit]] = defaultdict(list)
    for unit in sorted(one.units.keys() - other.units.keys(), key=repr):
        found[root(unit.place)].append(unit)
    return found
