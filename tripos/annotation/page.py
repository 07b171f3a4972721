"""The grading page: the data that it shows, and the grades and rationales that it sends.

The data never reveal which model, item or sample a reply belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tripos.annotation.assignment import Assignment
from tripos.annotation.batch import AssignedReply, read_value
from tripos.annotation.sheet import GradesFile

LONGEST_RATIONALE = 20_000
DATA = "grading.json"


@dataclass(frozen=True)
class GradingPage:
    """The data of the page, and the receiver of its grades. `now` is the clock."""

    assignment: Assignment
    grades: GradesFile
    now: Callable[[], datetime]
    medium: Callable[[str], bytes | None] = lambda sha256: None
    """A function that returns the content of an image or another file by its digest, or None."""

    def json(self, path: str) -> bytes | None:
        """Return the replies to grade, the only JSON file of the page."""
        return orjson.dumps(self.data()) if path == DATA else None

    def table(self, path: str) -> Path | None:
        """Return None: the page has no tables."""
        return None

    def data(self) -> dict[str, Any]:
        """Return the data of the page."""
        replies = self.assignment.views
        return {
            "items": [
                {
                    "row": row.row,
                    "language": (reply := replies[row.row]).language,
                    "headings": reply.headings,
                    "title": reply.title,
                    "texts": reply.texts,
                    "scales": [{**asdict(scale), "values": scale.values} for scale in reply.scales],
                    "grades": self.grades.values[row.row],
                    "rationale": self.grades.rationales.get(row.row, ""),
                }
                for row in self.assignment.batch.rows
            ]
        }

    def take(self, body: bytes) -> bytes:
        """Store a grade or a rationale, and return the number of graded replies. Raises `ValueError` for a value off
        the scale or an unknown reply, and `OSError`."""
        message = orjson.loads(body)
        try:
            row = next(row for row in self.assignment.batch.rows if row.row == message["row"])
            at = self.now().isoformat(timespec="seconds")
            if "rationale" in message:
                if not isinstance(message["rationale"], str):
                    raise TypeError("a rationale is a text")
                text = message["rationale"].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                self.grades.explain(row.row, text[:LONGEST_RATIONALE], at)
            else:
                self.grades.grade(row.row, message["metric"], _value(row, message), at)
        except (KeyError, TypeError, StopIteration) as error:
            raise ValueError(f"no grade: {error}") from error
        return orjson.dumps({"done": self.done})

    @property
    def done(self) -> int:
        """The number of replies with a grade for every metric."""
        values = self.grades.values
        return sum(all(mark.metric in values[row.row] for mark in row.marks) for row in self.assignment.batch.rows)


def _value(row: AssignedReply, message: Mapping[str, Any]) -> float | None:
    """Return the grade in a message, or None if it removes one. Raises `KeyError` for an unknown metric, and
    `ValueError` for a value off the scale."""
    mark = row.mark(message["metric"])
    if mark is None:
        raise KeyError(message["metric"])
    if message["value"] is None:
        return None
    value = read_value(mark, message["value"])
    if isinstance(value, str):  # the reason why it is refused
        raise ValueError(value)
    return value
