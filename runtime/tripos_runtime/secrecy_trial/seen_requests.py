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
"""Stands for the role where the text is the settings of the request, as JSON."""
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
    """The key of a request in a unit: the arms, the sample, the step, the `turn`, which numbers the requests of
    a step, and the model."""

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
        messages = (each for requests in self.units.values() for sent in requests.values() for each in sent)
        return sum(role != SETTINGS for role, _ in messages)

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
"""A function that returns for the place of an item a key, which is equal for items from the same row."""


def differences(
    one: SeenRequests, other: SeenRequests, root: Root, only: Collection[Place] | None = None
) -> Iterator[RequestDifference]:
    """Yield the differences of two worlds: in each unit and step, the first request that differs. Only the units at the
    places `only` are compared, if given. That a unit exists in one world alone is no difference, unless another unit of
    the same row exists instead in the other world and has other requests."""
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
    lost, added = _only_in_first(one, other, root), _only_in_first(other, one, root)
    for row in sorted(lost.keys() & added.keys(), key=repr):
        if roots is None or row in roots:
            yield from _replaced_units(one, other, lost[row], added[row])


def _replaced_units(
    one: SeenRequests, other: SeenRequests, lost: list[SeenUnit], added: list[SeenUnit]
) -> Iterator[RequestDifference]:
    """Yield the difference between the units `lost`, which only the first world has, and the units `added` of the same
    row, which only the other has: the first request of the lost ones, unless all their requests are equal."""
    theirs = sorted(sent for unit in added for sent in other.units[unit].values())
    if theirs == sorted(sent for unit in lost for sent in one.units[unit].values()):
        return
    for unit in lost:
        for part, sent in one.units[unit].items():
            replacement = next((seen_unit for seen_unit in added if other.units[seen_unit]), added[0])
            other_sent = next(iter(other.units[replacement].values()), None)
            yield RequestDifference(unit, part, sent, other_sent, replacement.scenario)
            return


def _only_in_first(one: SeenRequests, other: SeenRequests, root: Root) -> Mapping[Hashable, list[SeenUnit]]:
    """Return the units that only the first of two worlds has, by the keys of their rows."""
    units: dict[Hashable, list[SeenUnit]] = defaultdict(list)
    for unit in sorted(one.units.keys() - other.units.keys(), key=repr):
        units[root(unit.place)].append(unit)
    return units
