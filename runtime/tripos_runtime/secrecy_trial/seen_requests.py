"""The recorded messages to the compared role in one world, and their comparison with another world's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripos_runtime.datasets.sources import Origin

Sent = tuple[tuple[str, str], ...]
"""Messages, each with its role and text, followed by the settings of the request."""
SETTINGS = "settings"
"""The role of the settings, which are JSON."""
Made = tuple[str, Any, str, int]
"""A generated row: the data set; its source, as the number of an element or another such row; the cell; the number. It
is the same row in all worlds, even if others rule out different rows before it."""
Place = Origin | Made | str
"""The key of an item: the row's position in its file, or where it was generated; without rows, the name of the cell."""


class SeenUnit(NamedTuple):
    """A scenario and an item."""

    scenario: str
    place: Place


class SeenRequest(NamedTuple):
    """One request in a unit: the arms, the sample, the step, and its number within the step."""

    arms: tuple[tuple[str, str], ...]
    sample: int
    step: str
    turn: int
    model: str


@dataclass
class SeenRequests:
    """The messages to the compared role."""

    units: dict[SeenUnit, dict[SeenRequest, Sent]] = field(default_factory=dict)
    """The requests of every unit that was run, including units without any."""

    @property
    def messages(self) -> int:
        """The number of messages."""
        every = (each for parts in self.units.values() for part in parts.values() for each in part)
        return sum(who != SETTINGS for who, _ in every)

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(map(len, self.units.values()))


class RequestDifference(NamedTuple):
    """A request that differs in another world: it is missing there, or has other messages. `elsewhere` is the scenario
    that asks about the item in the other world, if this one does not."""

    unit: SeenUnit
    part: SeenRequest
    one: Sent | None
    other: Sent | None
    elsewhere: str | None = None


Root = Callable[[Place], Hashable]
"""The key that items share if they come from the same rows."""


def differences(
    one: SeenRequests, other: SeenRequests, root: Root, only: Collection[Place] | None = None
) -> Iterator[RequestDifference]:
    """Yield the differences of two worlds: in each unit and step, the first request that differs. The existence of a
    unit is not a difference, unless another one of the same rows exists instead and sends something else."""
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
    lost, found = _only_in_first(one, other, root), _only_in_first(other, one, root)
    for about in sorted(lost.keys() & found.keys(), key=repr):
        if roots is None or about in roots:
            yield from _replaced_units(one, other, lost[about], found[about])


def _replaced_units(
    one: SeenRequests, other: SeenRequests, lost: list[SeenUnit], found: list[SeenUnit]
) -> Iterator[RequestDifference]:
    """Yield pairs of units of the same rows that only one world has and only the other has."""
    theirs = sorted(sent for unit in found for sent in other.units[unit].values())
    if theirs == sorted(sent for unit in lost for sent in one.units[unit].values()):
        return
    for unit in lost:
        for part, sent in one.units[unit].items():
            instead = next((seen_unit for seen_unit in found if other.units[seen_unit]), found[0])
            against = next(iter(other.units[instead].values()), None)
            yield RequestDifference(unit, part, sent, against, instead.scenario)
            return


def _only_in_first(one: SeenRequests, other: SeenRequests, root: Root) -> Mapping[Hashable, list[SeenUnit]]:
    """Return the units that only the first of two worlds has, by their rows."""
    found: dict[Hashable, list[SeenUnit]] = defaultdict(list)
    for unit in sorted(one.units.keys() - other.units.keys(), key=repr):
        found[root(unit.place)].append(unit)
    return found
