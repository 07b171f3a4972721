"""A rubric that changes leaves the grades of people behind: it is said how many, before and after."""

from __future__ import annotations

from pathlib import Path

from tests.annotation.conftest import fill
from tests.conftest import Command

RUN = ("run", "quiz.tripos", "--scenario", "sums", "--model", "mock/careful", "--role", "judge=mock/careful:a")


def grade(tripos: Command) -> int:
    """Have a person grade three replies, and return the number of the grades."""
    assert tripos("annotate", "--name", "anna", "--sample", "3").code == 0
    fill("anna.xlsx", 1)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    return int(tripos("list", "--json").data[0]["people_scores"])


def remarks(tripos: Command) -> list[str]:
    return [each["text"] for each in tripos("report", "--json").data["remarks"] if each["kind"] == "outdated"]


def test_a_new_metric_says_how_many_grades_it_leaves_behind(quiz: Path, tripos: Command) -> None:
    assert tripos(*RUN).code == 0
    grades = grade(tripos)
    assert grades > 0 and remarks(tripos) == []
    added = tripos("new", "metric", "DEPTH", "--in", "quiz.tripos")
    assert added.code == 0, added.err
    assert f"grades by people that the next run leaves out: {grades}" in added.out + added.err
    assert remarks(tripos) == [], "the run of the old rubric shows them"
    assert tripos(*RUN).code == 0
    [told] = remarks(tripos)
    assert told == f"{grades} grades by human/anna of an earlier rubric are not shown: `tripos annotate --name anna`"


def test_a_change_that_leaves_grades_valid_says_nothing(quiz: Path, tripos: Command) -> None:
    """Every run of the same rubric shows them, though each plan has rows of its own."""
    assert tripos(*RUN).code == 0
    grade(tripos)
    spec = quiz / "quiz.tripos"
    spec.write_text(spec.read_text("utf-8") + "\nmeasure again = mean(rubric)\n", "utf-8")
    assert tripos(*RUN).code == 0
    assert remarks(tripos) == []


def test_without_a_store_a_new_metric_says_nothing_of_grades(quiz: Path, tripos: Command) -> None:
    added = tripos("new", "metric", "DEPTH", "--in", "quiz.tripos")
    assert added.code == 0 and "grades" not in added.out + added.err
