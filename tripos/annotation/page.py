"""A batch as the page shows it, and what the page sends: grades and rationales, kept in the file of the person.

Nothing that the page is told says which model, item or sample a reply is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tripos.annotation.assignment import Assignment
from tripos.annotation.batch import HandedReply, read_value
from tripos.annotation.sheet import GradesFile

LONGEST_RATIONALE = 20_000
DATA = "grading.json"


@dataclass(frozen=True)
class GradingPage:
    """The files that the page reads, and what takes its grades. `now` is the clock."""

    assignment: Assignment
    grades: GradesFile
    now: Callable[[], datetime]
    medium: Callable[[str], bytes | None] = lambda sha256: None
    """Gives the content of an image or another file by its digest."""

    def json(self, path: str) -> bytes | None:
        """Return the replies to grade, which is the one file of the page."""
        return orjson.dumps(self.data()) if path == DATA else None

    def table(self, path: str) -> Path | None:
        """Return None: there are no tables."""
        return None

    def data(self) -> dict[str, Any]:
        """Return what the page shows."""
        shown = self.assignment.shown
        return {
            "items": [
                {
                    "row": row.row,
                    "language": (seen := shown[row.row]).language,
                    "title": seen.title,
                    "texts": seen.texts,
                    "scales": [{**asdict(scale), "values": scale.values} for scale in seen.scales],
                    "grades": self.grades.values[row.row],
                    "rationale": self.grades.rationales.get(row.row, ""),
                }
                for row in self.assignment.batch.rows
            ]
        }

    def take(self, body: bytes) -> bytes:
        """Keep a grade or a rationale, and return how many replies are graded. Raises `ValueError` for what is not on
        the scale or of no reply, and `OSError` where the disk refuses."""
        said = orjson.loads(body)
        try:
            row = next(row for row in self.assignment.batch.rows if row.row == said["row"])
            at = self.now().isoformat(timespec="seconds")
            if "rationale" in said:
                if not isinstance(said["rationale"], str):
                    raise TypeError("a rationale is a text")
                text = said["rationale"].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                self.grades.explain(row.row, text[:LONGEST_RATIONALE], at)
            else:
                self.grades.grade(row.row, said["metric"], _value(row, said), at)
        except (KeyError, TypeError, StopIteration) as error:
            raise ValueError(f"no grade: {error}") from error
        return orjson.dumps({"done": self.done})

    @property
    def done(self) -> int:
        """How many replies have a grade for every metric."""
        values = self.grades.values
        return sum(all(mark.metric in values[row.row] for mark in row.marks) for row in self.assignment.batch.rows)


def _value(row: HandedReply, said: Mapping[str, Any]) -> float | None:
    mark = row.mark(said["metric"])
    if mark is None:
        raise KeyError(said["metric"])
    if said["value"] is None:
        return None
    found = read_value(mark, said["value"])
    if isinstance(found, str):
        raise ValueError(found)
    return found
