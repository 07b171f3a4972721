"""The order of waiting calls: lanes in turn, and within a lane whoever came first."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

G = TypeVar("G", bound=Hashable)
W = TypeVar("W")


class Lanes(Generic[G, W]):
    """The waiting calls of an endpoint. A lane is what they are asked for, a role in a scenario; its turn comes round
    however many wait in the others. A group is what a limit of its own may keep back (a model with so many calls a
    minute): whoever is in another group of the same lane goes past it.

    >>> lanes: Lanes[str, str] = Lanes()
    >>> for ticket, (lane, name) in enumerate([("ask", "a1"), ("ask", "a2"), ("ask", "a3"), ("judge", "j1")]):
    ...     lanes.add(lane, "any", ticket, name)
    >>> [lanes.take(lambda group: True) for _ in range(4)]
    ['a1', 'j1', 'a2', 'a3']
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[Hashable, dict[G, list[tuple[int, W]]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lane: Hashable, group: G, ticket: int, waiter: W) -> None:
        """Put a waiter into its lane. Tickets are unique, and the lowest goes first: whoever comes again with the
        ticket of the first time is where it was."""
        heapq.heappush(self._lanes.setdefault(lane, {}).setdefault(group, []), (ticket, waiter))
        self._count += 1

    def take(self, may_go: Callable[[G], bool]) -> W | None:
        """Return the next one of a group that may go, or None where nobody may."""
        for lane, groups in self._lanes.items():
            first = min(((heap[0][0], group) for group, heap in groups.items() if may_go(group)), default=None, key=_0)
            if first is not None:
                heap = groups[first[1]]
                _, waiter = heapq.heappop(heap)
                self._count -= 1
                if not heap:
                    self._drop(lane, first[1])
                if lane in self._lanes:
                    self._lanes.move_to_end(lane)
                return waiter
        return None

    def remove(self, lane: Hashable, group: G, ticket: int) -> None:
        """Take out one who waits no longer. Nothing happens where it has gone."""
        heap = self._lanes.get(lane, {}).get(group, [])
        left = [entry for entry in heap if entry[0] != ticket]
        if len(left) == len(heap):
            return
        self._count -= 1
        heapq.heapify(left)
        if left:
            self._lanes[lane][group] = left
        else:
            self._drop(lane, group)

    def _drop(self, lane: Hashable, group: G) -> None:
        """An empty lane has no turn to lose: it joins at the end when it comes back."""
        groups = self._lanes[lane]
        del groups[group]
        if not groups:
            del self._lanes[lane]


def _0(entry: tuple[int, object]) -> int:
    return entry[0]
