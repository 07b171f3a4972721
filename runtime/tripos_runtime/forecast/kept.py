"""The results that a forecast goes by: those of a ledger, or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tripos_runtime.asking import EmptyLedger, Row


class Kept(Protocol):
    """A reader of kept results: a `Ledger`, of which nothing else is needed."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Return the status of each of these rows; `None` for those that are not kept."""
        ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        """Return whole rows, by id."""
        ...

    def held(self) -> Collection[str]:
        """Return the fingerprints of the plan of which anything is kept."""
        ...

    def repliers(self, table: str) -> Collection[str]:
        """As `Ledger.repliers`."""
        ...

    def replies(self, table: str, request: str) -> Sequence[tuple[Row, Row | None]]:
        """As `Ledger.replies`."""
        ...


class NothingKept(EmptyLedger):
    """The kept results of an empty store."""

    def held(self) -> Collection[str]:
        """Of none."""
        return ()
