"""Claims: which pieces of work this process has for itself, and whether another one that had some has died."""

from __future__ import annotations

import os
from pathlib import Path

from tripos_warehouse.store.commits import TICKS
from tripos_warehouse.store.journal import segments
from tripos_warehouse.store.locks import CLAIM, SEGMENT, Locks, place_of


class Claims:
    """Claims by key. One that is released is held on to until `let_go`, when its results can be read by others."""

    def __init__(self, locks: Locks) -> None:
        self._locks = locks
        self._held: dict[str, int] = {}
        self._released: list[str] = []

    def take(self, key: str) -> bool:
        """Claims `key`; true also where it is ours already. Raises `OSError`."""
        if key in self._held:
            return True
        place = place_of(CLAIM, key)
        if not self._locks.hold(place):
            return False
        self._held[key] = place
        return True

    def release(self, key: str) -> None:
        """Marks `key` as done. One that is not ours is passed over."""
        if key in self._held:
            self._released.append(key)

    def let_go(self) -> None:
        """Lets others have what was released. Raises `OSError`."""
        for key in self._released:
            if (place := self._held.pop(key, None)) is not None:
                self._locks.free(place)
        self._released.clear()


class Ticks:
    """How often there was something new in a store. To ask costs well under a microsecond."""

    def __init__(self, root: Path) -> None:
        """Raises `OSError`."""
        self._file = os.open(root / TICKS, os.O_RDONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)

    def count(self) -> int:
        """The length of the file that grows."""
        return os.lseek(self._file, 0, os.SEEK_END)

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)


class Peers:
    """The other processes that keep rows in the same store, by their journal segments."""

    def __init__(self, root: Path, locks: Locks, ticks: Ticks) -> None:
        self._root = root
        self._locks = locks
        self._ticks = ticks
        self._seen = -1
        self._places: dict[str, int] = {}
        self._stuck: set[str] = set()
        self._dead: set[str] = set()

    def one_died(self, own: frozenset[str]) -> bool:
        """Whether there is a segment, other than `own` ones, whose owner does not live: its rows are not committed.

        A process that dies lets go of its claims and of its segment at the same moment, and a segment that has rows
        was announced by a tick before. So whoever has got a claim and then asks this knows all that is to be known.
        """
        if not self._locks.real:
            return False
        if (count := self._ticks.count()) != self._seen:
            self._seen = count
            names = segments(self._root)
            self._stuck.intersection_update(names)
            self._places = {name: place_of(SEGMENT, name) for name in names if name not in own}
        others_hold = self._locks.others_hold
        stuck = self._stuck
        self._dead = {name for name, place in self._places.items() if name not in stuck and not others_hold(place)}
        return bool(self._dead)

    def recovered(self) -> None:
        """Says that recovery was tried: what `one_died` found and is there still is not asked about again. Whoever died
        since then is met by the next `one_died`."""
        self._stuck |= self._dead.intersection(segments(self._root))
        self._dead = set()
        self._seen = -1
