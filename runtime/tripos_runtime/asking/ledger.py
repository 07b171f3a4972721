"""The interface of the ledger, which keeps results, and of other stores, whose replies a run reuses and never writes
to.

Every result has a name, which is a digest of all that determines the result. Functions of this module compute these
names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

from tripos_compiler.plan import digest
from tripos_compiler.plan.outcomes import RETRIED_NEXT_RUN
from tripos_compiler.source.data_classes import dataclass

Row = Mapping[str, Any]
KEY_COLUMNS: Mapping[str, str] = {
    "samples": "sample_id",
    "turns": "turn_id",
    "judgements": "judgement_id",
    "scores": "score_id",
    "comparisons": "comparison_id",
    "conditions": "condition_id",
    "drafts": "unit_id",
    "slots": "slot_id",
    "vectors": "vector_id",
}
"""The column with the name of a result, for each table."""


class Listing(Protocol):
    """A list of names of results."""

    def add(self, ids: Iterable[str]) -> None:
        """Add names."""
        ...


class Work(Listing, Protocol):
    """The names of all results of one piece of work; see `Ledger.work`."""

    def finished(self) -> Mapping[str, Any] | None:
        """Return the summary that was stored when this work was finished; None if it was not finished, or if the ledger
        lacks a result of it."""
        ...

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Record that the ledger has a result for every name and that none failed. `summary` must be JSON."""
        ...

    def abandon(self) -> None:
        """Forget the names of a run that did not finish."""
        ...


class Keeper(Protocol):
    """A writer of rows."""

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows that belong together, by table. They survive this process once this returns, and are visible to
        others after the next `flush`."""
        ...


class Ledger(Keeper, Protocol):
    """The kept rows, by the names of their results."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for rows that are not kept. It may also be `None` for rows
        that this ledger flushed itself, until `refresh` returns true: a run that is alone does not need them again."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return whole rows by id."""
        ...

    def drafts(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Return the unreadable first replies of these results. They must not be asked for again."""
        ...

    def repliers(self, table: str) -> Collection[str]:
        """Return the models that gave the replies whose requests are known."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """Return the rows of a table with the request of that digest, of any step, each with its unreadable first
        reply, if any."""
        ...

    def claim(self, key: str, *, later: bool = False) -> bool:
        """Return true if this process may work on `key`, false if another process does. With `later`, on a further try,
        return false also if it is unknown whether another process does."""
        ...

    def release(self, key: str) -> None:
        """Release `key` to others, once the rows kept so far are visible to them."""
        ...

    def flush(self) -> object:
        """Make the rows kept so far visible."""
        ...

    def refresh(self) -> bool:
        """Read what other processes made visible. Return true if there was anything."""
        ...

    def work(self, name: str) -> Work:
        """Return the list of names that makes up the work called `name`."""
        ...


class EmptyLedger:
    """A ledger that keeps nothing. It also implements `Work`, without names, and `OtherReplies`, without replies."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return `None` for each of these rows."""
        return [None] * len(ids)

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return no row."""
        return {}

    def drafts(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Return no reply."""
        return {}

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return no vector."""
        return {}

    def repliers(self, table: str) -> tuple[()]:
        """Return no model."""
        return ()

    def replies(self, table: str, request: str) -> tuple[()]:
        """Return no row."""
        return ()

    def fingerprints(self) -> tuple[()]:
        """Return no fingerprint."""
        return ()

    def claim(self, key: str, *, later: bool = False) -> bool:
        """Return true: there is no other process."""
        return True

    def release(self, key: str) -> None:
        """Do nothing."""

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Discard the rows."""

    def flush(self) -> None:
        """Do nothing."""

    def refresh(self) -> bool:
        """Return false: there are no other processes."""
        return False

    def close(self) -> None:
        """Do nothing."""

    def work(self, name: str) -> EmptyLedger:
        """Return a list of work that keeps no names."""
        return self

    def add(self, ids: Iterable[str]) -> None:
        """Discard the names."""

    def finished(self) -> None:
        """Return None: no work is ever finished."""

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Do nothing."""

    def abandon(self) -> None:
        """Do nothing."""


NOTHING_KEPT = EmptyLedger()


class StatusReader(Protocol):
    """The part of a ledger that returns statuses."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """See `Ledger.statuses`."""
        ...


def kept_statuses(ledger: StatusReader, wanted: Mapping[str, Iterable[str]], *, final: bool = False) -> dict[str, str]:
    """Return the status of each row that the ledger has, by the name of its result. `wanted` are the names, by table.
    With `final`, statuses that a later run retries are left out."""
    kept: dict[str, str] = {}
    for table, names in wanted.items():
        if ids := list(dict.fromkeys(names)):
            statuses = zip(ids, ledger.statuses(table, ids), strict=True)
            kept |= {name: status for name, status in statuses if status is not None}
    return {name: status for name, status in kept.items() if status not in RETRIED_NEXT_RUN} if final else kept


def condition_id(name: str, condition: str) -> str:
    """Return the name of a row of `conditions`, which records that the result `name` was made under the condition of
    that digest."""
    return digest(["asked", name, condition])


def sample_id(fingerprint: str, item: str, model: str, number: int, upstream: Sequence[str]) -> str:
    """Return the name of a reply. It is determined by the question (fingerprint), the item, the model, the sample
    number, and the names of the replies that the question builds on."""
    return digest(["sample", fingerprint, item, model, number, *upstream])


def conversation_id(
    fingerprint: str, item: str, models: Mapping[str, str], number: int, upstream: Sequence[str]
) -> str:
    """Return the name of a conversation. It is determined by the step (fingerprint), the item, the models by role, the
    sample number, and the names of the replies that the step builds on."""
    return digest(["conversation", fingerprint, item, sorted(models.items()), number, *upstream])


def turn_id(conversation: str, number: int) -> str:
    """Return the name of a turn of a conversation."""
    return digest(["turn", conversation, number])


def judgement_id(
    fingerprint: str, samples: Sequence[str], evaluator: str, number: int = 0, element: str | None = None
) -> str:
    """Return the name of a judge's reply about some samples. `number` counts repeats from 0; `element` is the position
    of a list element."""
    about = samples if element is None else [["element", element], *samples]
    return digest(["judgement", fingerprint, evaluator, *([number] if number else []), *about])


def comparison_id(fingerprint: str, samples: Sequence[str], evaluator: str) -> str:
    """Return the name of the outcome of comparing two replies. The samples of the reply shown first come first."""
    return digest(["comparison", fingerprint, evaluator, *samples])


def score_id(fingerprint: str, samples: Sequence[str], metric: str, evaluator: str | None) -> str:
    """Return the name of a score of some samples."""
    return digest(["score", fingerprint, metric, evaluator, *samples])


class OtherStore(NamedTuple):
    """Another store, and the commit in it that a row is from."""

    place: str
    commit: str

    def __str__(self) -> str:
        """Return the text of the column `reused_from`."""
        return f"{self.place} {self.commit}"


class OtherReplies(Protocol):
    """The replies of other stores."""

    def repliers(self, table: str) -> Collection[str]:
        """See `Ledger.repliers`."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None, tuple[str, str]]]:
        """Return the same as `Ledger.replies`, each with the place and the commit of the store that its row is from."""
        ...

    def vectors(self, names: Sequence[str]) -> Mapping[str, tuple[Row, tuple[str, str]]]:
        """Return the rows of vectors by name, each with the place and the commit of its store."""
        ...


@dataclass
class ReuseCounts:
    """The numbers of replies adopted from other stores, and their original cost, by the place of the store."""

    calls: Counter[str] = field(default_factory=Counter)
    cost_usd: dict[str, float] = field(default_factory=dict)
    unpriced: Counter[str] = field(default_factory=Counter)
    """The number of these replies whose cost is unknown."""

    def add(self, place: str, row: Row) -> None:
        """Count the reply of a row."""
        self.calls[place] += 1
        if row["cost_usd"] is None:
            self.unpriced[place] += 1
        else:
            self.cost_usd[place] = self.cost_usd.get(place, 0.0) + row["cost_usd"]

    def update(self, other: ReuseCounts) -> None:
        """Add the counts of another part of the run.

        >>> counts = ReuseCounts(Counter({"../class": 2}), {"../class": 0.5})
        >>> counts.update(ReuseCounts(Counter({"../class": 1}), {"../class": 0.25}))
        >>> counts.to_json()
        [{'store': '../class', 'calls': 3, 'cost_usd': 0.75}]
        """
        self.calls.update(other.calls)
        self.unpriced.update(other.unpriced)
        for place, usd in other.cost_usd.items():
            self.cost_usd[place] = self.cost_usd.get(place, 0.0) + usd

    def cost_of(self, place: str) -> float | None:
        """Return the original cost of the replies from a place; None if the cost of one is unknown."""
        return None if self.unpriced[place] else self.cost_usd.get(place, 0.0)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the counts as JSON."""
        entries = []
        for place, count in self.calls.items():
            usd = self.cost_of(place)
            entries.append({"store": place, "calls": count, "cost_usd": None if usd is None else round(usd, 6)})
        return entries
