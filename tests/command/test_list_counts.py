"""`tripos list` counts the scores that the report of a run counts: no columns that measures look at, and each element of
a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command


@pytest.mark.parametrize("name", ["mrbench", "tutorbench", "bbq"])
def test_the_list_of_runs_counts_what_a_report_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    tripos("run", f"gallery/{name}", "--limit", "2")
    (listed,) = tripos("list", "--json").data
    counted = tripos("report", "--json").data["scores"]
    assert listed["scores"] == sum(counted.values())
    assert listed["scored_share"] == pytest.approx(counted["scored"] / sum(counted.values()))
