"""People's notes on replies: a flag, a comment, or both.

A note is a row of its own, which is never changed. Of the notes of a person on a reply the latest stands, and it may
withdraw the one before. So nothing is lost if several people, pages or machines write at once, and `main.notes` has the
history. No figure depends on a note.

A reply that failed may be asked for again, and in a merge of stores another reply may take its place. A note keeps the
time of the reply that was read; if another reply is there now, the note is outdated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError, unreadable_table_error
from tripos_warehouse.query.connection import Connection, duckdb, open_sandbox
from tripos_warehouse.store.schemas import NOTES, RUNS, SAMPLES
from tripos_warehouse.store.store import Store

FLAGS = ("again", "good", "bad")
"""The flags of a note: a reply to look at again, a good one, a bad one."""
LONGEST_TEXT = 20_000
"""The largest number of characters of a comment."""
WRITTEN, WITHDRAWN = "written", "withdrawn"
OUTDATED = "(note.replied_at is distinct from sample.created_at)"
"""The SQL condition that a `note` is on an earlier reply than the `sample` that is there now."""


def standing_notes(source: str) -> str:
    """Return the query of the notes that stand: the latest of each person on each reply, unless it is a withdrawal.
    `source` is the `from` item of all notes."""
    return f"""select * from (
          select *, row_number() over (partition by noted_by, sample_id order by created_at desc, note_id desc) as place
          from {source})
        where place = 1 and state = {sql.text(WRITTEN)}"""


@dataclass(frozen=True)
class Note:
    """A note of a person, as `human/NAME`, on a reply of a run. Without a flag and a text it withdraws the person's
    earlier note. `replied_at` is the time of the reply that was read. Times have a zone."""

    note_id: str
    sample_id: str
    run_id: str
    noted_by: str
    flag: str | None
    text: str | None
    replied_at: datetime
    created_at: datetime

    @property
    def state(self) -> str:
        """`written`, or `withdrawn` if this takes an earlier note back."""
        return WITHDRAWN if self.flag is None and self.text is None else WRITTEN


@dataclass(frozen=True)
class NoteFault:
    """A note that cannot be stored, and the reason."""

    note_id: str
    reason: str


@dataclass(frozen=True)
class AddedNotes:
    """How many notes were new, and how many the store had already; and those that cannot be stored."""

    new: int
    same: int
    faults: tuple[NoteFault, ...]


def add_notes(store: Store, given: Sequence[Note], *, partial: bool = False) -> AddedNotes:
    """Store notes in one commit: all of them or none, or with `partial` those without a fault. A note that the store
    has is not written again.

    Raises `StoreError`: S0102 if the store cannot be written, and what `Store.rows` raises.
    """
    stored = store.rows(NOTES.name, {note.note_id for note in given}, ["note_id"])
    fresh = {note.note_id: note for note in given if note.note_id not in stored}
    columns = ["sample_id", "benchmark", "scenario", "item_id", "model", "created_at"]
    samples = store.rows(SAMPLES.name, {note.sample_id for note in fresh.values()}, columns)
    runs = store.rows(RUNS.name, {note.run_id for note in fresh.values()}, ["run_id"])
    faults = {name: fault for name, note in fresh.items() if (fault := _fault(note, runs, samples)) is not None}
    storable = [note for name, note in fresh.items() if name not in faults] if partial or not faults else []
    if storable:
        store.append({NOTES.name: [_row(note, samples[note.sample_id]) for note in storable]})
    refused = tuple(NoteFault(name, fault) for name, fault in faults.items())
    return AddedNotes(len(storable), len(given) - len(fresh), refused)


def add_note(store: Store, note: Note, before: str | None) -> None:
    """Store a note that a person has just written. `before` is the id of the person's note that was shown meanwhile,
    None if there was none. The note comes after those of the person that the store has, also if a clock was set back.

    Raises `StoreError` S0709 if the note cannot be stored: also if another note of the same person has come in between,
    which it would replace unseen. Raises what `add_notes` raises.
    """
    mine = [
        row
        for row in standing(store)
        if row["sample_id"] == note.sample_id and row["noted_by"] == note.noted_by and row["note_id"] != note.note_id
    ]
    if mine and mine[0]["note_id"] != before:
        message = f"`{note.noted_by}` has written another note on this reply meanwhile, which is shown now"
        raise StoreError("S0709", message, "save again to replace it")
    earlier = [row["created_at"].replace(tzinfo=UTC) + timedelta(microseconds=1) for row in mine]
    added = add_notes(store, [replace(note, created_at=max([note.created_at, *earlier]))])
    if added.faults:
        raise StoreError("S0709", added.faults[0].reason, "load the page again, and read the reply that it shows")


def _fault(note: Note, runs: Collection[str], samples: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return why a note cannot be stored, or None."""
    if note.flag not in (None, *FLAGS):
        return f"`{note.flag}` is no flag: there are {', '.join(FLAGS)}"
    if note.text is not None and len(note.text) > LONGEST_TEXT:
        return f"a comment of {len(note.text):,} characters is longer than {LONGEST_TEXT:,}"
    if note.run_id not in runs:
        return f"the store has no run `{note.run_id}`"
    if note.sample_id not in samples:
        return f"the store has no reply `{note.sample_id}`"
    if samples[note.sample_id]["created_at"] != note.replied_at:
        return f"the reply `{note.sample_id}` was asked for again, so another one is there now"
    return None


def _row(note: Note, sample: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "note_id": note.note_id,
        **{name: sample[name] for name in ("sample_id", "benchmark", "scenario", "item_id", "model")},
        "run_id": note.run_id,
        "noted_by": note.noted_by,
        "state": note.state,
        "note_flag": note.flag,
        "note_text": note.text,
        "replied_at": note.replied_at,
        "created_at": note.created_at,
    }


_COLUMNS = ("note_id", "sample_id", "run_id", "noted_by", "note_flag", "note_text")
_TIMES = ("replied_at", "created_at")


def standing(store: Store) -> list[dict[str, Any]]:
    """Return the notes of a store that stand, in the order of time, as it is now. Times are UTC without a zone.

    Only the notes are read, since a page that shows them asks after every one that is written. Raises `StoreError`
    S0103, and what `Store.parts` raises.
    """
    paths = [str(path) for path in store.parts(NOTES.name)]
    if not paths:
        return []
    times = ", ".join(f"make_timestamp(epoch_us({name})) as {name}" for name in _TIMES)
    query = f"""select {", ".join(_COLUMNS)}, {times}
      from ({standing_notes(f"read_parquet({sql.texts(paths)}, union_by_name = true)")}) as note
      order by note.created_at, note_id"""
    try:
        with open_sandbox(paths) as database:
            rows = database.execute(query).fetchall()
    except duckdb.Error as error:
        raise unreadable_table_error(NOTES.name, error) from error
    return [dict(zip((*_COLUMNS, *_TIMES), row, strict=True)) for row in rows]


def flagged_replies(connection: Connection, benchmark: str, flags: Sequence[str] = FLAGS) -> frozenset[str]:
    """Return the ids of the shown replies that somebody has flagged with one of these flags."""
    query = f"""select distinct sample_id from {sql.name(benchmark)}.notes
      where list_contains({sql.texts(flags)}, note_flag) and not note_outdated"""
    return frozenset(name for (name,) in connection.execute(query).fetchall())
