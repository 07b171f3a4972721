"""The file that the page writes to: a line of JSON for each grade, on the disk before the page hears that it is saved.

The last line about a cell counts. Half a line at the end, which a crash can leave, is not read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from tripos.annotation.batch import Answers, Batch, EnteredGrade
from tripos.settings import MOST_DATA_BYTES, read_untrusted
from tripos.ui import Failure

FORMAT = "tripos.grades/1"


CHECK_PATH = "check the path: `tripos annotate --name NAME` writes the file, and says where"


def read_grades(path: Path) -> Answers:
    """Return what stands in a file of the page. Raises `Failure` S0706 where it cannot be read or is none."""
    try:
        lines = read_untrusted(path, MOST_DATA_BYTES).split(b"\n")[:-1]
    except OSError as error:
        raise Failure("S0706", f"`{path}` cannot be read ({error.strerror})", CHECK_PATH) from error
    try:
        head = orjson.loads(lines[0])
        if head["format"] != FORMAT:
            raise ValueError
        batch = str(head["batch"])
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise Failure("S0706", f"`{path}` is no file of `tripos annotate`", "give the file that it wrote") from error
    rows: dict[str, str] = {}
    entries: dict[tuple[str, str], EnteredGrade] = {}
    rationales: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            said = orjson.loads(line)
            row = str(said["row"])
            if "rationale" in said:
                rationales[row] = str(said["rationale"]).strip()
            else:
                entries[row, str(said["metric"])] = EnteredGrade(
                    row, str(said["metric"]), said["value"], f"line {number}"
                )
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(
                "S0706", f"line {number} of `{path}` is no grade", "it was changed by hand: put it back"
            ) from error
        rows.setdefault(row, f"line {number}")
    given = tuple(entry for entry in entries.values() if entry.value is not None)
    return Answers(batch, rows, given, {row: text for row, text in rationales.items() if text})


class GradesFile:
    """The file of one batch, open for further grades. `values` and `rationales` have what was given so far, by row."""

    def __init__(self, path: Path, batch: Batch, now: str) -> None:
        """Go on with the file where there is one of this batch. Raises `Failure`: S0706 where the file is none, S0703
        where it belongs to another batch or cannot be written."""
        self.path = path
        self.values: dict[str, dict[str, Any]] = {row.row: {} for row in batch.rows}
        self.rationales: dict[str, str] = {}
        found = read_grades(path) if path.exists() and path.stat().st_size else None
        if found is not None and found.batch != batch.batch:
            raise Failure("S0703", f"`{path}` belongs to another batch", "name another file with `-o`")
        try:
            self._file = path.open("ab", buffering=0)
            if found is None:
                head = {"format": FORMAT, "batch": batch.batch, "run": batch.run_id, "role": batch.role}
                self._append({**head, "name": batch.name, "at": now})
                return
            whole = path.read_bytes().rfind(b"\n") + 1
            self._file.truncate(whole)
        except OSError as error:
            raise Failure("S0703", f"cannot write `{path}`: {error.strerror}", "name another with `-o`") from error
        for entry in found.entries:
            self.values.setdefault(entry.row, {})[entry.metric] = entry.value
        self.rationales.update(found.rationales)

    def grade(self, row: str, metric: str, value: float | None, at: str) -> None:
        """Keep a grade, or with `None` that there is none any more. Raises `OSError` where the disk refuses."""
        self._append({"row": row, "metric": metric, "value": value, "at": at})
        self.values[row][metric] = value
        if value is None:
            del self.values[row][metric]

    def explain(self, row: str, text: str, at: str) -> None:
        """Keep a rationale. Raises `OSError` where the disk refuses."""
        self._append({"row": row, "rationale": text, "at": at})
        self.rationales[row] = text

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _append(self, said: Mapping[str, Any]) -> None:
        place = self._file.seek(0, os.SEEK_END)
        line = orjson.dumps(said) + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(28, "the disk is full")
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(place)  # or the next line would be joined to half of this one
            raise
