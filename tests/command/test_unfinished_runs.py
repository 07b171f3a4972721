"""A run that did not come to its end says nowhere that all its scores are there."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """benchmark sums "1.0.0" { languages en
  headline accuracy
}
role candidate compared
dataset item from "items.jsonl" { task text, sum text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.task }}" }
  score right = contains(reply.text, item.sum)
}
measure accuracy = mean(right)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.tripos").write_text(SPEC, "utf-8")
    rows = ({"task": f"{number} + 1", "sum": str(number + 1)} for number in range(6))
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def shares(tripos: Command, folder: Path) -> list[object]:
    """Return the coverage of the figure, wherever it is told."""
    [measure] = tripos("report", "--json").data["measures"]
    [board] = tripos("leaderboard", "--json").data["boards"]
    (folder / "measures.csv").unlink(missing_ok=True)
    exported = tripos("export", "csv", "--table", "measures", "-o", "measures.csv")
    assert exported.code == 0, exported.err
    with (folder / "measures.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    text = tripos("report").out
    [line] = [line for line in text.splitlines() if line.startswith("mock/careful ")]
    return [measure["rows"][0]["coverage"], board["models"][0]["coverage"], row["coverage"], line.split()[-1]]


def test_of_a_run_that_stopped_the_coverage_is_unknown_until_it_goes_on(here: Path, tripos: Command) -> None:
    stopped = tripos("run", "sums.tripos", "--model", "mock/careful", "--budget", "4calls")
    assert stopped.code == 1, stopped.out
    assert shares(tripos, here) == [None, None, "", "—"]
    went_on = tripos("run", "sums.tripos", "--model", "mock/careful")
    assert went_on.code == 0, went_on.err
    assert shares(tripos, here) == [1.0, 1.0, "1.0", "100%"]
