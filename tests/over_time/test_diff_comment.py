"""`tripos diff --format github`: the effect of changes on measures, and figures before and after; `compare --junit`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import Command

COMPAT = Path(__file__).parents[1] / "compat"
JUDGE = ("--role", "judge=mock/fair", "--json")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three versions of a benchmark."""
    monkeypatch.chdir(tmp_path)
    for name, kind in (("first", "previous/title"), ("title", "current/title"), ("prompt", "current/prompt_reworded")):
        shutil.copytree(COMPAT / kind, name)
    return tmp_path


def rows(text: str, columns: int) -> list[list[str]]:
    """Return the rows of the tables with so many columns."""
    cells = [[each.strip() for each in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [each for each in cells if len(each) == columns and set(each[0]) - set("- :")]


def test_a_comment_says_what_the_changes_do_to_each_measure(folder: Path, tripos: Command) -> None:
    told = tripos("diff", "first", "prompt", "--format", "github").out
    assert told.startswith("<!-- tripos diff: lessons -->\n")
    changed = "prompt `explain.reply`: the prompt (en) is other than before"
    assert rows(told, 3)[1:] == [["`accuracy`", "**breaks**", changed], ["`quality`", "**breaks**", changed]]
    told = tripos("diff", "first", "title", "--format", "github").out
    assert [each[1] for each in rows(told, 3)[1:]] == ["goes on", "goes on"]
    assert "| what changed in meaning" not in told


def test_a_comment_has_the_figures_of_whole_runs_before_and_after(folder: Path, tripos: Command, once: Command) -> None:
    model = ("--model", "mock/careful")
    once("run", "first", *model, *JUDGE)
    told = tripos("diff", "first", "prompt", "--format", "github", "--store", "results").out
    report = {each["name"]: each["rows"] for each in tripos("report", "--json").data["measures"]}
    figures = rows(told, 4)[1:]
    assert len(figures) == 4 and {each[3] for each in figures} == {"no run yet"}
    [right] = report["accuracy"]
    assert figures[0][2] == f"{right['value']:.3f} [{right['low']:.3f}, {right['high']:.3f}]"
    tripos("run", "prompt", *model, "--limit", "1", *JUDGE)
    assert rows(tripos("diff", "first", "prompt", "--format", "github", "--store", "results").out, 4)[1:] == figures
    tripos("run", "prompt", *model, "--role", "judge=mock/severe", "--json")
    figures = rows(tripos("diff", "first", "prompt", "--format", "github", "--store", "results").out, 5)[1:]
    assert {each[4] for each in figures} == {"judge mock/severe"}
    figures = rows(tripos("diff", "first", "title", "--format", "github", "--store", "results").out, 4)[1:]
    assert {each[3] for each in figures} == {"the same"}


def test_other_rows_of_a_file_may_break_a_line(folder: Path, tripos: Command) -> None:
    shutil.copytree(COMPAT / "current/item_reworded", "reworded")
    told = tripos("diff", "first", "reworded", "--format", "github").out
    assert {each[1] for each in rows(told, 3)[1:]} == {"may break"}


NUMBERS = """\
benchmark numbers "1.0.0" { languages en }
role candidate compared
dataset item from "numbers.jsonl" { number integer }
scenario parity {
  over item
  ask reply by candidate { prompt "{{ item.number }}" }
  score right = contains(reply.text, "e")
}
measure accuracy = mean(parity.right)
measure wrong    = 1 - parity_right lower is better
measure parity_right = mean(parity.right)
"""


def test_a_comparison_is_a_file_of_tests_of_which_one_fails_where_a_is_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("numbers.jsonl").write_text("".join(f'{{"number": {n}}}\n' for n in range(12)), "utf-8")
    Path("numbers.tripos").write_text(NUMBERS, "utf-8")
    runs = {}
    for model, right in (("lab/good", 11), ("lab/poor", 1)):
        lines = [{"number": n, "model": model, "reply": "e" if n < right else "o"} for n in range(12)]
        Path("replies.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
        done = tripos("import", "samples", "replies.jsonl", "--spec", "numbers.tripos", "--model", model)
        assert done.code == 0, done.err
        runs[model] = tripos("list", "--json").data[0]["run_id"]
    for first, second, failed in (("lab/good", "lab/poor", True), ("lab/poor", "lab/good", False)):
        sides = (runs[first], runs[second], "--models", f"{first},{second}")
        data = tripos("compare", *sides, "--json", "--junit", "x.xml").data
        top = ElementTree.parse("x.xml").getroot()
        cases = list(top.iter("testcase"))
        fails = {str(each.get("name")) for each in cases if each.find("failure") is not None}
        assert len(cases) == len(data["rows"]) + len(data["unpaired"]) == int(top.get("tests", 0))
        assert {"accuracy", "wrong"} <= fails if failed else not fails
        assert int(top.get("failures", -1)) == len([each for each in cases if each.find("failure") is not None])
