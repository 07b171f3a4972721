"""What the runtime asks of whoever keeps its results, and the names of the results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tripos_compiler.plan import digest

Row = Mapping[str, Any]


class Ledger(Protocol):
    """Keeps rows. Rows added between two flushes become visible together."""

    def known(self, table: str, fingerprints: set[str] | None = None) -> Mapping[str, str]:
        """The status of every kept row of a table, by its id."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Whole rows, by id."""
        ...

    def add_all(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Takes rows that belong together, by table; they are durable after the next `flush`."""
        ...

    def flush(self) -> object:
        """Makes the rows added so far durable and visible."""
        ...


def sample_id(fingerprint: str, item: str, model: str, number: int, upstream: Sequence[str]) -> str:
    """The name of a reply: what was asked (the fingerprint), about what, of whom, which try, after which replies."""
    return digest(["sample", fingerprint, item, model, number, *upstream])


def judgement_id(fingerprint: str, samples: Sequence[str], evaluator: str) -> str:
    """The name of a judge's reply on some samples."""
    return digest(["judgement", fingerprint, evaluator, *samples])


def score_id(fingerprint: str, samples: Sequence[str], metric: str, evaluator: str | None) -> str:
    """The name of a score of some samples."""
    return digest(["score", fingerprint, metric, evaluator, *samples])
