"""The rows that several stores have of the same names, and the one of them that counts where stores are merged.

Where two stores asked the same question, each has a reply of its own under one name, and what was made of it. One reply
counts, whatever the order of the stores: one that did not fail, then the earliest; of what people and files said the
latest, as in one store. What the other stores made of another reply is left out with it, so that no score is about a
reply that does not count.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tripos_compiler.plan import digest
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger import is_given
from tripos_warehouse.store import AGAIN, FAILED, TABLES, is_failed

VERSIONS: Mapping[str, tuple[str, ...]] = {
    "samples": ("status", "reply", "parsed"),
    "turns": ("status", "text"),
    "drafts": ("reply",),
    "judgements": ("status", "reply", "parsed"),
}
"""The tables of replies, with the columns in which two rows are the same reply."""
ABOUT = ("samples", "turns", "drafts", "judgements", "scores", "comparisons", "conditions")
"""The tables whose rows are about replies, or are replies."""
MOST_TRIES = 20_000
"""So many ways in which a name may have come about are tried."""
REPLY = ("conversation_id", "unit_id", "result_id")
"""The columns that name the reply that a row is a part of, or stands beside."""
FACTS = (
    *(*REPLY, "sample_id", "judgement_id", "first_sample_id", "second_sample_id"),
    *("item_id", "fingerprint", "model", "identity", "evaluator", "sample_number", "metric", "judged_by"),
)


class Place(NamedTuple):
    """Where a row lies: the store's number, the part, and the row's number in it."""

    store: int
    path: Path
    row: int


@dataclass(frozen=True)
class Held:
    """One row of a store. `order` sorts the rows of a name, that first which counts."""

    place: Place
    table: str
    key: str
    version: str
    failed: bool
    given: bool
    order: tuple[Any, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> str:
        """Return the name of the reply that the row is a part of, or its own."""
        return next((str(self.facts[name]) for name in REPLY if self.facts.get(name)), self.key)


def held_rows(
    database: duckdb.DuckDBPyConnection, table: str, stores: Sequence[Sequence[Path]], where: str
) -> list[Held]:
    """Return the rows of a table, of each store's parts, that a condition chooses; `{source}` in it stands for all of
    them. Raises `StoreError` S0103."""
    schema = TABLES[table]
    numbers = {str(path): number for number, paths in enumerate(stores) for path in paths}
    paths = list(numbers)
    if not paths:
        return []
    source = f"(select *, file_index as part_of from read_parquet({sql.texts(paths)}, union_by_name = true))"
    try:
        there = set(database.sql(f"select * from {source} limit 0").columns)
        key = f"concat_ws(chr(31), {', '.join(schema.key)})"
        content = _hash(name for name in schema.content if name in there)
        version = _hash(VERSIONS[table]) if table in VERSIONS else content
        status = f"if({is_failed(there)}, {sql.text(FAILED)}, status)" if "status" in there else "''"
        given = is_given("evaluator", "round") if {"evaluator", "round"} <= there else "false"
        at = "epoch_us(created_at)" if "created_at" in there else "0"
        facts = [name for name in FACTS if name in there]
        # Parts are numbered in the order in which they are given.
        ends = list(itertools.accumulate(map(len, stores)))
        store = "case " + " ".join(f"when part_of < {end} then {n}" for n, end in enumerate(ends)) + " end"
        query = f"""select file_index, file_row_number, {key} as key, {version}, {content}, {status}, {given}, {at}
          {"".join(f", {name}" for name in facts)}
          from read_parquet({sql.texts(paths)}, union_by_name = true) as held where {where}"""
        found = database.execute(
            query.replace("{key}", key).replace("{source}", source).replace("{store}", store)
        ).fetchall()
    except duckdb.Error as error:
        message = f"the table `{table}` cannot be read: {' '.join(str(error).split())}"
        raise StoreError("S0103", message, "find the damaged file with `tripos store check`") from error
    rows = []
    for part, number, name, version_, content_, status_, given_, at_, *values in found:
        place = Place(numbers[paths[part]], Path(paths[part]), number)
        failed = status_ in AGAIN
        order = (failed, -at_ if given_ else at_, content_)
        facts_ = dict(zip(facts, values, strict=True))
        rows.append(Held(place, table, name, version_, failed, bool(given_), order, facts_))
    return rows


def _hash(columns: Iterable[str]) -> str:
    parts = ", ".join(f"coalesce(md5(cast({name} as varchar)), '')" for name in columns)
    return f"md5(concat_ws(chr(31), {parts}))"


def shared_rows(
    database: duckdb.DuckDBPyConnection, table: str, stores: Sequence[Sequence[Path]], doubles: Mapping[Path, set[int]]
) -> list[list[Held]]:
    """Return the rows of each name that more than one store has, without doubles of a store."""
    if sum(map(bool, stores)) < 2:
        return []
    where = "{key} in (select {key} from {source} group by all having count(distinct {store}) > 1)"
    by_key: dict[str, list[Held]] = defaultdict(list)
    for row in held_rows(database, table, stores, where):
        if row.place.row not in doubles.get(row.place.path, ()):
            by_key[row.key].append(row)
    return [rows for rows in by_key.values() if len({row.place.store for row in rows}) > 1]


def winner(rows: Sequence[Held]) -> Held:
    """Return the row of a name that counts. Of equal ones it is that of the first store, which need not be written; but
    of replies, and of what people said, the one whose time decides, or that of a third store might count instead."""
    if rows[0].table in VERSIONS or any(row.given for row in rows):
        return min(rows, key=lambda row: (row.order, row.place.store))
    content = min(row.order for row in rows)[-1]
    return min((row for row in rows if row.order[-1] == content), key=lambda row: row.place.store)


def has_conflict(rows: Sequence[Held]) -> bool:
    """Return true if these are different replies under one name."""
    return rows[0].table in VERSIONS and len({row.version for row in rows if not row.failed}) > 1


class Losses:
    """The rows about some items, in every store, that do not count since a reply does not that they are about."""

    def __init__(self, rows: Iterable[Held]) -> None:
        self._rows = list(rows)
        self._by_item: dict[tuple[int, Any], list[Held]] = defaultdict(list)
        """The replies of a store about an item."""
        for row in self._rows:
            if row.table in ("samples", "judgements"):
                self._by_item[row.place.store, row.facts.get("item_id")].append(row)
        self._origins: dict[Place, frozenset[str] | None] = {}

    def find(self) -> list[Held]:
        """Return the rows."""
        outdone: set[tuple[int, str]] = set()
        before: list[set[tuple[int, str]]] = []
        while True:
            invalid = self._invalid(outdone)
            gone = {(row.place.store, row.reply) for row in invalid if row.table in VERSIONS}
            now = self._outdone(gone)
            if now in before:  # two stores each outdo what the other's result may build on: neither is kept
                now |= outdone
            if now == outdone:
                lost = outdone | gone
                return [row for row in self._rows if (row.place.store, row.reply) in lost or row in invalid]
            before.append(outdone)
            outdone = now

    def _outdone(self, gone: set[tuple[int, str]]) -> set[tuple[int, str]]:
        """Return the replies, by store and name, in whose place another store's counts."""
        by_reply: dict[str, dict[int, dict[tuple[str, str], Held]]] = defaultdict(lambda: defaultdict(dict))
        for row in self._rows:
            if row.table in VERSIONS and not row.failed and (row.place.store, row.reply) not in gone:
                by_reply[row.reply][row.place.store][row.table, row.key] = row
        lost = set()
        for reply, stores in by_reply.items():
            ranked = sorted(stores, key=lambda store: min(row.order for row in stores[store].values()))
            first = stores[ranked[0]]
            for store in ranked[1:]:
                if any(row.version != first[name].version for name, row in stores[store].items() if name in first):
                    lost.add((store, reply))
        return lost

    def _invalid(self, lost: set[tuple[int, str]]) -> list[Held]:
        """Return the rows of each store that are about its replies that do not count."""
        found: list[Held] = []
        gone = set(lost)
        items = {
            (row.place.store, row.facts.get("item_id")) for row in self._rows if (row.place.store, row.reply) in lost
        }
        for table in ABOUT:
            # Replies are gone through until no further one is about one that is gone.
            while True:
                more = [
                    row
                    for row in self._rows
                    if row.table == table
                    and (row.place.store, row.reply) not in gone
                    and (row.place.store, row.facts.get("item_id")) in items
                    and self._is_about(row, gone)
                ]
                found += [row for row in more if row not in found]
                before = len(gone)
                if table in VERSIONS:
                    gone |= {(row.place.store, row.reply) for row in more}
                if len(gone) == before:
                    break
        return found

    def _is_about(self, row: Held, gone: set[tuple[int, str]]) -> bool:
        """Return true if a row builds on a reply of its store that is gone, or may do so."""
        store, facts = row.place.store, row.facts
        named = ("sample_id", "judgement_id", "first_sample_id", "second_sample_id")
        if any(facts.get(name) not in (None, row.key) and (store, facts[name]) in gone for name in named):
            return True
        if row.given:
            return False
        origins = self._origins_of(row)
        if origins is None or facts.get("judged_by"):
            return True  # nobody knows what it builds on, and something of its item is gone
        return any((store, name) in gone for name in origins)

    def _origins_of(self, row: Held) -> frozenset[str] | None:
        """Return the names of the replies that a row builds on; None where they cannot be found out."""
        if row.place not in self._origins:
            self._origins[row.place] = self._search(row)
        return self._origins[row.place]

    def _search(self, row: Held) -> frozenset[str] | None:
        facts = row.facts
        item = facts.get("item_id")  # which names what builds on no reply
        replies = [each.key for each in self._by_item[row.place.store, item] if each.key != row.key]
        replies += [] if item is None else [item]
        print_ = facts.get("fingerprint")
        who = {facts.get(name) for name in ("identity", "model", "evaluator")} - {None}
        match row.table:
            case "samples":
                heads: list[list[Any]] = [
                    ["sample", print_, facts["item_id"], by, facts["sample_number"]] for by in who
                ]
            case "judgements":
                heads = [["judgement", print_, by] for by in who]
            case "scores":
                heads = [["score", print_, facts["metric"], by] for by in (who - {facts.get("model")}) | {None}]
            case "comparisons":
                heads = [["comparison", print_, by] for by in who]
            case "conditions":
                return frozenset()  # it goes with its result
            case _:
                return None
        tries = 0
        for count in range(4):
            for names in itertools.permutations(replies, count):
                for head in heads:
                    if digest([*head, *names]) == row.key:
                        return frozenset(names)
                tries += 1
                if tries > MOST_TRIES:
                    return None
        return None
