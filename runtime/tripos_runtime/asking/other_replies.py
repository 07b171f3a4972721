"""The interface of other stores, whose replies a run takes over and which it never writes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

from tripos_compiler.source import dataclass
from tripos_runtime.asking.ledger import Row


class OtherStore(NamedTuple):
    """The other store that a row was found in, as it is shown, and the commit there."""

    place: str
    commit: str

    def __str__(self) -> str:
        """As the column `reused_from` has it."""
        return f"{self.place} {self.commit}"


class OtherReplies(Protocol):
    """Reads the replies of other stores."""

    def repliers(self, table: str) -> Collection[str]:
        """As `Ledger.repliers`."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None, tuple[str, str]]]:
        """As `Ledger.replies`, each reply with the place and the commit of its row."""
        ...

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return the rows of vectors by name, each with its place and its commit."""
        ...


class NoOthers:
    """No other store."""

    def repliers(self, table: str) -> Collection[str]:
        """Return nobody."""
        return ()

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None, tuple[str, str]]]:
        """Return no reply."""
        return ()

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return no vector."""
        return {}


NO_OTHERS = NoOthers()


@dataclass
class TakenCounts:
    """The replies that were taken over from other stores, and what they had cost there, by place."""

    calls: Counter[str] = field(default_factory=Counter)
    cost_usd: dict[str, float] = field(default_factory=dict)
    unpriced: Counter[str] = field(default_factory=Counter)
    """How many of them have no known cost."""

    def add(self, place: str, row: Row) -> None:
        """Count the reply of a row."""
        self.calls[place] += 1
        if row["cost_usd"] is None:
            self.unpriced[place] += 1
        else:
            self.cost_usd[place] = self.cost_usd.get(place, 0.0) + row["cost_usd"]

    def update(self, other: TakenCounts) -> None:
        """Add the counts of another part of the run.

        >>> counts = TakenCounts(Counter({"../class": 2}), {"../class": 0.5})
        >>> counts.update(TakenCounts(Counter({"../class": 1}), {"../class": 0.25}))
        >>> counts.to_json()
        [{'store': '../class', 'calls': 3, 'cost_usd': 0.75}]
        """
        self.calls.update(other.calls)
        self.unpriced.update(other.unpriced)
        for place, usd in other.cost_usd.items():
            self.cost_usd[place] = self.cost_usd.get(place, 0.0) + usd

    def cost_of(self, place: str) -> float | None:
        """Return what the replies from a place had cost; None where the cost of one is not known."""
        return None if self.unpriced[place] else self.cost_usd.get(place, 0.0)

    def to_json(self) -> list[dict[str, Any]]:
        """As JSON."""
        told = []
        for place, count in self.calls.items():
            usd = self.cost_of(place)
            told.append({"store": place, "calls": count, "cost_usd": None if usd is None else round(usd, 6)})
        return told
