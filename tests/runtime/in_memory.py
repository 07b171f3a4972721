"""A ledger in memory: what tests of the engine look into."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tripos_runtime.asking.ledger import KEY_COLUMNS

Row = Mapping[str, Any]


class MemoryWork:
    """The names of one piece of work."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.said: Mapping[str, Any] | None = None

    def add(self, ids: Iterable[str]) -> None:
        self.names.update(ids)

    def finished(self) -> Mapping[str, Any] | None:
        return self.said

    def finish(self, said: Mapping[str, Any]) -> None:
        self.said = said

    def abandon(self) -> None:
        self.names.clear()


class MemoryLedger:
    """Keeps rows in lists. `others` are claims that another process holds."""

    def __init__(self, before: MemoryLedger | None = None) -> None:
        self.kept: dict[str, list[Row]] = (
            {} if before is None else {name: list(rows) for name, rows in before.kept.items()}
        )
        self.works: dict[str, MemoryWork] = {}
        self.others: set[str] = set()
        self.claimed: list[str] = []
        self.flushes = 0

    def table(self, name: str) -> list[Row]:
        return self.kept.get(name, [])

    def ids(self, table: str) -> list[str]:
        return [row[KEY_COLUMNS[table]] for row in self.table(table)]

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        known: dict[str, str] = {}
        for row in self.table(table):
            if known.get(row[KEY_COLUMNS[table]], "provider_error") == "provider_error":
                known[row[KEY_COLUMNS[table]]] = row.get("status", "ok")
        return [known.get(name) for name in ids]

    def fingerprints(self) -> set[str]:
        tables = ("samples", "turns", "judgements", "scores", "comparisons")
        return {row["fingerprint"] for table in tables for row in self.table(table)}

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Row]:
        found: dict[str, Row] = {}
        for row in self.table(table):
            name = row[KEY_COLUMNS[table]]
            if name in ids and (name not in found or found[name]["status"] == "provider_error" or table == "slots"):
                found[name] = row
        return found

    def drafts(self, ids: Collection[str]) -> Mapping[str, Row]:
        return {row["unit_id"]: row for row in self.table("drafts") if row["unit_id"] in ids}

    def repliers(self, table: str) -> set[str]:
        column = "evaluator" if table == "judgements" else "model"
        return {row[column] for row in self.table(table) if row.get("request_digest") is not None}

    def replies(self, table: str, request: str) -> list[tuple[Row, Row | None]]:
        found = {
            row[KEY_COLUMNS[table]]: row
            for row in self.table(table)
            if row.get("request_digest") == request and row["status"] != "provider_error"
        }
        drafts = {row["unit_id"]: row for row in self.table("drafts")}
        return [(row, drafts.get(row["adopted_from"] or name)) for name, row in found.items()]

    def claim(self, key: str, *, later: bool = False) -> bool:
        if key in self.others:
            return False
        self.claimed.append(key)
        return True

    def release(self, key: str) -> None:
        self.claimed.remove(key)

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        for table, more in rows.items():
            self.kept.setdefault(table, []).extend(more)

    def flush(self) -> None:
        self.flushes += 1

    def refresh(self) -> bool:
        return False

    def work(self, name: str) -> MemoryWork:
        return self.works.setdefault(name, MemoryWork())
