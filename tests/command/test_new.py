"""`tripos new`: a statement is added where it belongs, the spec stays well formed, and nothing else of it changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import QUIZ, Command
from tripos.cli.project_files import TEMPLATES


def lines_added(before: str, after: str) -> list[str]:
    """Return the lines that are new; every line of before is still there, in order."""
    left = iter(after.splitlines())
    added = []
    for line in before.splitlines():
        for other in left:
            if other == line:
                break
            added.append(other)
        else:
            pytest.fail(f"this line is gone: {line}")
    return added + list(left)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> Path:
    """A benchmark of the template `judge`, whose folder is the current one."""
    monkeypatch.chdir(tmp_path)
    tripos("init", "q", "--template", "judge", "--yes")
    monkeypatch.chdir("q")
    return tmp_path / "q/q.tripos"


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_scenario_is_added_to_every_template_and_is_planned(
    template: str, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tripos("init", "q", "--template", template, "--yes")
    before = Path("q/q.tripos").read_text("utf-8")
    done = tripos("new", "scenario", "retell", "--in", "q")
    assert (done.code, done.err) == (0, "")
    added = lines_added(before, Path("q/q.tripos").read_text("utf-8"))
    assert any(line.startswith("scenario retell ") for line in added)
    assert tripos("check", "q", "--deny", "warnings").code == 0
    assert tripos("fmt", "--check", "q").code == 0
    monkeypatch.chdir("q")
    assert "retell" in tripos("plan", "q.tripos").out


def test_a_metric_gets_a_column_with_a_mark_where_its_dimension_is_graded(made: Path, tripos: Command) -> None:
    done = tripos("new", "metric", "WARMTH", "--in", "q.tripos")
    assert (done.code, done.err) == (0, "")
    assert "in the dimension `quality`" in done.out
    text = made.read_text("utf-8")
    assert "| explain |   x   |   2   |   x    |" in text
    assert "allocate rubric {  # x: this metric counts in this scenario" in text
    assert tripos("check", "q.tripos", "--deny", "warnings").code == 0
    run = tripos("run", "q.tripos", "--json")
    assert run.code == 0
    by_metric = next(each for each in tripos("report", "--json").data["measures"] if each["name"] == "by_metric")
    assert "WARMTH" in json.dumps(by_metric)


def test_a_metric_counts_in_the_scenarios_that_are_named(quiz: Path, tripos: Command) -> None:
    done = tripos("new", "metric", "SHORT", "--in", "quiz.tripos", "--scenario", "words")
    assert done.code == 0
    text = (quiz / "quiz.tripos").read_text("utf-8")
    assert "| CLEAR | RIGHT | SHORT |" in text
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.strip().startswith(("| sums", "| words"))]
    assert [[cell.strip() for cell in row] for row in rows] == [["sums", "x", "x", "."], ["words", "x", ".", "x"]]
    assert "scale 1..10" in text.partition("metric SHORT")[2].partition("}")[0]


def test_a_file_that_was_not_in_the_layout_keeps_its_own(quiz: Path, tripos: Command) -> None:
    spec = quiz / "quiz.tripos"
    spec.write_text(QUIZ.replace("role judge panel", "role   judge     panel  # they grade"), "utf-8")
    assert tripos("new", "scenario", "more", "--in", ".").code == 0
    assert "role   judge     panel  # they grade\n" in spec.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("scenario", "explain", "--in", "q.tripos"), "R0209", "scenario `explain` is declared twice"),
        (("scenario", "x", "--over", "tusk", "--in", "q.tripos"), "R0209", "did you mean `task`?"),
        (("metric", "x", "--dimension", "qualty", "--in", "q.tripos"), "R0209", "did you mean `quality`?"),
        (("metric", "x", "--scenario", "nothing", "--in", "q.tripos"), "R0209", "no table has a row for `nothing`"),
        (("metric", "CLEAR", "--in", "q.tripos"), "R0209", "declared twice"),
        (("scenario", "a-b", "--in", "q.tripos"), "R0202", "`a-b` is no name"),
        (("scenario", "x", "--dimension", "quality"), "R0202", "it is for metric"),
        (("scenario", "x", "--in", "specs/edubench"), "E0108", "there is no spec at"),
        (("measure", "x"), "R0202", "choose from scenario, metric"),
    ],
)
def test_a_refusal_says_why_and_changes_nothing(
    words: tuple[str, ...], code: str, told: str, made: Path, tripos: Command
) -> None:
    before = made.read_text("utf-8")
    done = tripos("new", *words)
    assert done.code == 2
    assert f"error[{code}]" in done.err
    assert told in " ".join(done.err.split())
    assert made.read_text("utf-8") == before


def test_a_spec_with_mistakes_is_mended_first(made: Path, tripos: Command) -> None:
    broken = made.read_text("utf-8").replace("task.subject", "task.sbject")
    made.write_text(broken, "utf-8")
    done = tripos("new", "scenario", "x", "--in", "q.tripos")
    assert done.code == 2
    assert "error[E0308]" in done.err
    assert "nothing was added: fix the spec first" in done.err
    assert made.read_text("utf-8") == broken


def test_a_metric_goes_into_the_file_that_has_its_dimension(made: Path, tripos: Command) -> None:
    text = made.read_text("utf-8")
    begin, end = text.index("dimension quality"), text.index("scorer rubric")
    Path("rubric.tripos").write_text(text[begin:end].rstrip() + "\n", "utf-8")
    made.write_text(text[:begin] + 'use "rubric.tripos"\n\n' + text[end:], "utf-8")
    assert tripos("new", "metric", "WARMTH", "--in", "q.tripos").code == 0
    assert "metric WARMTH" in Path("rubric.tripos").read_text("utf-8")
    assert "| WARMTH |" in made.read_text("utf-8")
    assert tripos("check", "q.tripos").code == 0
