"""A share of a run: the cases that one of several processes takes, part after part, so that each is taken once.

Parts are runs of neighbouring cases. They are claimed like pieces of work, and held on to until the process ends: what
a process had that died is free again, and whoever takes it finds in the ledger what was answered before.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import field

from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Case

PARTS = 64
"""The number of parts for each process: the last ones to be taken are small beside the whole."""

Claim = Callable[[str], bool]


@dataclass
class Share:
    """The parts of the run `run_id` that this process has, of `size` cases each."""

    run_id: str
    size: int
    leads: bool
    """True for the one process that makes data sets before the others go on."""
    made: Callable[[], Awaitable[None]]
    """Say that the data sets are made, or wait until another process has said so."""
    rest: Callable[[], Awaitable[bool]]
    """Say that nothing is left to take; true if there may be something again, false if the run is over."""
    _held: set[int] = field(default_factory=set)
    _seen: int = 0
    """How many parts the run has, as far as it is known."""

    def take(self, cases: Iterable[Case], claim: Claim) -> Iterator[Case]:
        """Yield the cases of parts that nobody has, which are ours from then on."""
        for number, part in self._parts(cases):
            if number not in self._held and claim(self._key(number)):
                self._held.add(number)
                yield from part

    def take_back(self, cases: Callable[[], Iterable[Case]], claim: Claim) -> Iterator[Case]:
        """Yield the cases of parts that others had and let go of, as those do that die."""
        free = {n for n in range(self._seen) if n not in self._held and claim(self._key(n))}
        self._held |= free
        return self._of(cases, free) if free else iter(())

    def held(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases of every part that is ours."""
        for number, part in self._parts(cases):
            if number in self._held:
                yield from part

    def _of(self, cases: Callable[[], Iterable[Case]], numbers: set[int]) -> Iterator[Case]:
        for number, part in self._parts(cases()):
            if number in numbers:
                yield from part

    def _parts(self, cases: Iterable[Case]) -> Iterator[tuple[int, Iterator[Case]]]:
        for number, (_, part) in enumerate(itertools.groupby(enumerate(cases), lambda each: each[0] // self.size)):
            self._seen = max(self._seen, number + 1)
            yield number, (case for _, case in part)

    def _key(self, number: int) -> str:
        return f"part {self.run_id} {number}"


def part_size(cases: int, processes: int) -> int:
    """Return the number of cases of a part.

    >>> part_size(20_000, 2), part_size(60, 2)
    (157, 1)
    """
    return max(1, -(-cases // (PARTS * processes)))
