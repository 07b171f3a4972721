"""Late replies on a bucket: what a worker of this machine kept, and had not uploaded when others sealed its log.

Others may have asked for it since. So it is looked at again by whoever claims the case, after what others did was read.
The replies of one worker to a case are of use if none of them is there from somebody else by then, and those that are
not there are kept like new ones. Their scores are worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tripos_compiler.plan import digest
from tripos_warehouse.store import JUDGEMENTS, LATE, SAMPLES, SUFFIX, TABLES, TURNS, Row, read_segment

REPLIES = (SAMPLES.name, TURNS.name, JUDGEMENTS.name)
_OWN = ("created_at", "run_id", "reply", "text")
"""The columns that tell the reply of one worker from that of another under the same name."""
LateReplies = dict[str, list[Row]]
"""The replies of one worker to a case, and its item, by table."""
Find = Callable[[str, Sequence[str]], Mapping[str, Row]]
"""Gives the rows of a table that are kept under some names."""


def late_replies(root: Path, find: Find) -> dict[str, list[LateReplies]]:
    """Return the late replies of this machine by the key that their case is claimed under: its first question, and its
    item. Those whose first question is not known are passed over. Files of which all is known by now are removed."""
    files: dict[str, list[Path]] = {}
    for path in sorted((root / LATE).glob(f"*{SUFFIX}")):
        files.setdefault(path.name.partition(".")[0], []).append(path)
    found: dict[str, list[LateReplies]] = {}
    for paths in files.values():
        by_item = _by_item(paths)
        if all(new_replies(rows, find) is None for rows in by_item):
            for path in paths:
                path.unlink(missing_ok=True)
            continue
        for rows in by_item:
            for key in _keys(rows, find):
                found.setdefault(key, []).append(rows)
    return found


def new_replies(rows: LateReplies, find: Find) -> LateReplies | None:
    """Return what is not there yet of some late replies, with the item; None where that is nothing, or where one is
    there from somebody else."""
    new: LateReplies = {}
    for table in REPLIES:
        key = TABLES[table].key[0]
        names = [row[key] for row in rows.get(table, ())]
        there = find(table, names) if names else {}
        for row in rows.get(table, ()):
            other = there.get(row[key])
            if other is None:
                new.setdefault(table, []).append(row)
            elif any(other.get(name) != row.get(name) for name in _OWN):
                return None
    return {"items": rows["items"], **new} if new else None


def _by_item(paths: Sequence[Path]) -> list[LateReplies]:
    """Return the replies in the segments of one worker, by their item. Without its item none is of use."""
    items: dict[str, Row] = {}
    found: dict[str, LateReplies] = {}
    for path in paths:
        with suppress(OSError):
            for line in read_segment(path).lines:
                items.update((row["item_id"], row) for row in line.get("items", ()) if "item_id" in row)
                for table in REPLIES:
                    for row in line.get(table, ()):
                        if TABLES[table].key[0] in row:
                            found.setdefault(str(row.get("item_id")), {}).setdefault(table, []).append(row)
    return [{"items": [items[item_id]], **rows} for item_id, rows in found.items() if item_id in items]


def _keys(rows: LateReplies, find: Find) -> set[str]:
    own = [row for table in REPLIES[:2] for row in rows.get(table, ())]
    judged = [row["sample_id"] for row in rows.get(JUDGEMENTS.name, ()) if row.get("sample_id")]
    every = (*own, *(find(SAMPLES.name, judged).values() if judged else ()))
    return {digest([row["fingerprint"], rows["items"][0]["item_id"]]) for row in every if row.get("fingerprint")}
