"""Recovery on a bucket: what a process of this machine kept in its journal and died before it had uploaded it.

Its session is continued as it would have gone on itself: what is missing becomes the next slot of its log. So the
claims of the session still stand for these rows, and nobody can have asked for them since. Where others have sealed the
log, they may have: the rows are set aside then, for a run that claims their case and finds none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.bucket.bucket import Bucket, OpenLog
from tripos_warehouse.store.bucket.logs import Tail, seal_content, slot_content, slot_name
from tripos_warehouse.store.commits import CommitFiles, raised
from tripos_warehouse.store.journal import SUFFIX, JournalContent, journal_head, segments
from tripos_warehouse.store.parts import reading
from tripos_warehouse.store.rows import Row
from tripos_warehouse.store.schemas import TABLES

LATE = "late"
"""The folder for rows that came too late to be uploaded."""


def session_of(segment: str) -> str:
    """Return the session that wrote a segment of the journal.

    >>> session_of("20260301T080000000000-0123456789ab.000002")
    '20260301T080000000000-0123456789ab'
    """
    return segment.partition(".")[0]


def recover_segment(bucket: Bucket, name: str, kept: JournalContent) -> StoreError | None:
    """Upload and commit what a segment has and the bucket has not, and return what is to be said of lines that came too
    late, if there are any.

    Raises what `Bucket.publish` does.
    """
    session = session_of(name)
    is_last = not any(each > name and session_of(each) == session for each in segments(bucket.root))
    while True:
        catalog = bucket.sync()
        start = catalog.sessions.get(session)
        if start is None:
            return _set_aside(bucket.root, name, kept, len(_unknown(bucket, kept, None)))
        tail = bucket.reader.tail(session, start)
        if not tail.sealed:
            missing = _unknown(bucket, kept, tail)
            if not missing and not is_last:
                return None
            content = slot_content([line + b"\n" for line in missing]) if missing else seal_content(session)
            bucket.objects.create(slot_name(session, tail.end), content)
        elif bucket.counting({session: tail.end}):
            bucket.commit_logs([OpenLog(session, start, tail, over=True)])


def _unknown(bucket: Bucket, kept: JournalContent, tail: Tail | None) -> list[bytes]:
    """Return the lines of a segment of which some row with a name is in no part and in no slot of the tail."""
    names: dict[str, set[str]] = {}
    for table, row in _named(kept.lines):
        names.setdefault(table, set()).add(row[TABLES[table].key[0]])
    known = {table: _committed(bucket, table, some) for table, some in names.items()}
    for slot in tail.slots if tail is not None else ():
        for table, row in _named(slot.kept.lines if slot.kept is not None else ()):
            known.setdefault(table, set()).add(row[TABLES[table].key[0]])
    uploaded = {line for slot in (tail.slots if tail else ()) if slot.kept is not None for line in slot.kept.raw}
    found = []
    for line, raw in zip(kept.lines, kept.raw, strict=True):
        rows = [(table, row[TABLES[table].key[0]]) for table, row in _named([line])]
        is_known = all(name in known[table] for table, name in rows) if rows else tail is None
        if not is_known and raw not in uploaded:
            found.append(raw)
    return found


def _named(lines: Iterable[dict[str, list[Row]]]) -> Iterable[tuple[str, Row]]:
    """Yield the rows of tables whose rows have one name."""
    for line in lines:
        for table, rows in line.items():
            if table in TABLES and len(TABLES[table].key) == 1:
                yield from ((table, row) for row in rows if TABLES[table].key[0] in row)


def _committed(bucket: Bucket, table: str, names: set[str]) -> set[str]:
    import pyarrow.compute as pc

    (key,) = TABLES[table].key
    wanted: Any = pa.array(sorted(names), type=pa.string())
    found: set[str] = set()
    commits = CommitFiles(bucket.root).live(raised)  # of the copy, which was brought up to date
    for part in (part for commit in commits for part in commit.parts if part.table == table):
        with reading(bucket.root / part.path) as file:
            column = file.read([key])[key]
            found.update(column.filter(pc.is_in(column, value_set=wanted)).to_pylist())
    return found


def _set_aside(root: Path, name: str, kept: JournalContent, late: int) -> StoreError | None:
    """Put a segment where a later run of this machine finds it: whole, since it must see which replies are from the
    same worker. Return what is to be said of the lines that came late, where there are any."""
    (root / LATE).mkdir(exist_ok=True)
    lines = (journal_head(), *kept.raw)
    (root / LATE / f"{name}{SUFFIX}").write_bytes(b"".join(line + b"\n" for line in lines))
    if not late:
        return None
    count = f"{late:,} line{'' if late == 1 else 's'} that a worker kept"
    hint = f"they lie in `{root / LATE}`: a run takes in what nobody has asked for since, and the rest counts nowhere"
    return StoreError("S0112", f"{count} came after others had taken over its work", hint)
