"""Runs of two major versions are not compared or ranked together, whether they are of releases or of a working tree."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark sums "VERSION" {
  license "MIT"
  languages en
}
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    items = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(8)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    return tmp_path


def run(folder: Path, tripos: Command, version: str, released: bool, model: str) -> str:
    """Run a version of the benchmark, as a release or from the working tree; the run's name."""
    (folder / "sums.tripos").write_text(SPEC.replace("VERSION", version), "utf-8")
    given = "sums.tripos"
    if released:
        assert tripos("release", "sums.tripos").code == 0
        given = f"releases/sums-{version}"
    done = tripos("run", given, "--model", model, "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


RELEASED = [
    pytest.param(each, marks=() if each == (False, True) else pytest.mark.long)
    for each in product([False, True], repeat=2)
]


@pytest.mark.parametrize("released", RELEASED)
def test_runs_of_two_majors_are_compared_only_when_told_to(
    folder: Path, tripos: Command, released: tuple[bool, bool]
) -> None:
    one = run(folder, tripos, "1.0.0", released[0], "mock/careful")
    two = run(folder, tripos, "2.0.0", released[1], "mock/careful")
    done = tripos("compare", one, two)
    assert (done.code, "S0859" in done.err) == (2, True)
    assert tripos("compare", one, two, "--anyway").code == 0


@pytest.mark.parametrize("released", RELEASED)
def test_models_of_two_majors_are_ranked_only_when_told_to(
    folder: Path, tripos: Command, released: tuple[bool, bool]
) -> None:
    run(folder, tripos, "1.0.0", released[0], "mock/careful")
    run(folder, tripos, "2.0.0", released[1], "mock/careless")
    [board] = tripos("leaderboard", "--json").data["boards"]
    assert [each["model"] for each in board["models"]] == ["mock/careless"]
    assert board["left_out"] == {"mock/careful": ["1.0.0"]}
    [mixed] = tripos("leaderboard", "--json", "--anyway").data["boards"]
    assert {each["model"] for each in mixed["models"]} == {"mock/careful", "mock/careless"}


def test_runs_of_one_major_are_compared(folder: Path, tripos: Command) -> None:
    one = run(folder, tripos, "1.0.0", True, "mock/careful")
    (folder / "releases").rename(folder / "earlier")
    two = run(folder, tripos, "1.2.0", False, "mock/careful")
    assert tripos("compare", one, two).code == 0
