"""Published figures on a leaderboard: rows of a CSV file beside the models of a store, marked and unranked."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tripos.failure import Failure
from tripos_warehouse.report.leaderboard import Board

COLUMNS = ("benchmark", "measure", "model", "value", "source")
MARK = "published"


@dataclass(frozen=True)
class Published:
    """A figure that somebody published of a model, with where it stands."""

    benchmark: str
    measure: str
    model: str
    value: float
    source: str

    def to_json(self) -> dict[str, Any]:
        """The figure as JSON values, without what its board says."""
        return {name: value for name, value in asdict(self).items() if name not in ("benchmark", "measure")}


def read_published(paths: Sequence[str]) -> list[Published]:
    """The figures of CSV files with the columns of `COLUMNS`. Raises `Failure` R0202 for a file that cannot be read,
    lacks a column, or has a value that is no number."""
    return [figure for path in paths for figure in _read(path)]


def _read(path: str) -> Iterator[Published]:
    hint = f"a CSV file has the columns {', '.join(COLUMNS)}"
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Failure("R0202", f"cannot read the published figures in `{path}`: {error}", hint) from error
    for number, row in enumerate(rows, 2):
        lacking = [name for name in COLUMNS if not row.get(name)]
        if lacking:
            raise Failure("R0202", f"{path}:{number}: there is no `{lacking[0]}`", hint)
        try:
            value = float(row["value"])
        except ValueError as error:
            message = f"{path}:{number}: the value `{row['value']}` is no number"
            raise Failure("R0202", message, "write it on the scale of the measure") from error
        yield Published(row["benchmark"], row["measure"], row["model"], value, row["source"])


def on_board(figures: Sequence[Published], board: Board) -> list[Published]:
    """The figures of a board's measure, the best first."""
    found = [each for each in figures if (each.benchmark, each.measure) == (board.benchmark, board.measure.name)]
    return sorted(found, key=lambda each: each.value, reverse=not board.measure.lower_is_better)


def sources_of(figures: Sequence[Published]) -> str:
    """Where figures stand, each place once."""
    return "; ".join(dict.fromkeys(each.source for each in figures))
