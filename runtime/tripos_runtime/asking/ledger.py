"""The interface of the ledger, which keeps results, and the names of the results.

The interface of other stores, whose replies a run takes over and which it never writes to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

from tripos_compiler.plan import digest
from tripos_compiler.source.data_classes import dataclass

Row = Mapping[str, Any]


class Listing(Protocol):
    """Lists names of results."""

    def add(self, ids: Iterable[str]) -> None:
        """Take further names."""
        ...


class Work(Listing, Protocol):
    """The names of everything that one piece of work consists of: what `Ledger.work` gives."""

    def finished(self) -> Mapping[str, Any] | None:
        """Return what was said of this work when it was finished, where it was and the ledger still has every result of
        it."""
        ...

    def finish(self, said: Mapping[str, Any]) -> None:
        """Say that every name is kept, and none failed; `said` is JSON."""
        ...

    def abandon(self) -> None:
        """Forget the names of a run that did not finish."""
        ...


class Keeper(Protocol):
    """Keeps rows."""

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Take rows that belong together, by table. They outlive this process from the moment that this returns, and
        are visible to others after the next `flush`."""
        ...


class Ledger(Keeper, Protocol):
    """Keeps rows by the names of results."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept. What was made visible through
        this ledger may be forgotten until others add something: a run that is alone does not come back to it."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return whole rows, by id."""
        ...

    def drafts(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Of the units named so: the unreadable first reply, which must not be asked for again."""
        ...

    def repliers(self, table: str) -> Collection[str]:
        """Return who gave replies of which it is known what they are replies to."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """Return the rows of a table, whatever step they were made for, whose reply was sent for the request of that
        digest; each with its unreadable first reply, if there was one."""
        ...

    def claim(self, key: str, *, later: bool = False) -> bool:
        """Return true if this process may work on what `key` names; false while another one does. With `later`, for
        who comes back, also false while that is not known."""
        ...

    def release(self, key: str) -> None:
        """Let others have `key` once what was kept so far can be read by them."""
        ...

    def flush(self) -> object:
        """Make the rows kept so far visible."""
        ...

    def refresh(self) -> bool:
        """Take in what other processes made visible; whether there was anything."""
        ...

    def work(self, name: str) -> Work:
        """Return the list of names that makes up the work called `name`."""
        ...


class EmptyLedger:
    """The results of an empty ledger, for whoever reads them."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return `None` for each of these rows."""
        return [None] * len(ids)

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return no row."""
        return {}

    def drafts(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Return no reply."""
        return {}

    def repliers(self, table: str) -> Collection[str]:
        """Return no model."""
        return ()

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """Return no row."""
        return ()


def condition_id(name: str, condition: str) -> str:
    """Return the name of the row that says that a result was asked for under the condition of that digest."""
    return digest(["asked", name, condition])


def sample_id(fingerprint: str, item: str, model: str, number: int, upstream: Sequence[str]) -> str:
    """Return the name of a reply: what was asked (the fingerprint), about what, of whom, which try, after which
    replies."""
    return digest(["sample", fingerprint, item, model, number, *upstream])


def conversation_id(
    fingerprint: str, item: str, models: Mapping[str, str], number: int, upstream: Sequence[str]
) -> str:
    """Return the name of a conversation: what was to be talked about, who talks by role, which of several, after
    what."""
    return digest(["conversation", fingerprint, item, sorted(models.items()), number, *upstream])


def turn_id(conversation: str, number: int) -> str:
    """The name of a turn, which the turns before it determine: they are those of the conversation."""
    return digest(["turn", conversation, number])


def judgement_id(
    fingerprint: str, samples: Sequence[str], evaluator: str, number: int = 0, element: str | None = None
) -> str:
    """Return the name of a judge's reply on some samples; `number` says which of several, from 0, and `element` about
    which element of a list."""
    about = samples if element is None else [["element", element], *samples]
    return digest(["judgement", fingerprint, evaluator, *([number] if number else []), *about])


def comparison_id(fingerprint: str, samples: Sequence[str], evaluator: str) -> str:
    """Return the name of what came of comparing two replies: of the samples those of the one shown first come first."""
    return digest(["comparison", fingerprint, evaluator, *samples])


def score_id(fingerprint: str, samples: Sequence[str], metric: str, evaluator: str | None) -> str:
    """Return the name of a score of some samples."""
    return digest(["score", fingerprint, metric, evaluator, *samples])


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
