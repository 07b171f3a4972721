"""Merged stores of people who graded apart, and of several plans: tables and figures are those of one store of all."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.annotation.conftest import JUDGE, MODELS, fill
from tests.conftest import Command
from tests.kills.contents import Contents, contents
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.store.store import Store

ANNA, BEN = ("anna.xlsx", 7), ("ben.xlsx", 5)


def graded(tripos: Command, store: str, *sheets: tuple[str, int]) -> None:
    """Take sheets that a person filled in with one grade each."""
    for sheet, grade in sheets:
        fill(sheet, grade)
        done = tripos("annotate", "--take", sheet, "--store", store)
        assert done.code == 0, done.err


def merged(tripos: Command, into: str, *stores: str) -> str:
    done = tripos("store", "merge", *stores, "--into", into)
    assert done.code == 0, done.err
    assert check_store(Store.open(into, create=False)).damages == ()
    return into


def figures(tripos: Command, store: str) -> tuple[Contents, list[object], list[object]]:
    """Return the tables of a store, the measures of its last run, and its leaderboards."""
    report, board = tripos("report", "--store", store, "--json"), tripos("leaderboard", "--store", store, "--json")
    assert (report.code, board.code) == (0, 0), (report.err, board.err)
    boards = board.data["boards"]
    for models in (each["models"] for each in boards):
        for model in models:
            del model["runs"]  # each store has runs of its own
    return contents(Path(store)), list(json.loads(report.out)["measures"]), boards


@pytest.fixture
def handed(ran: Path, tripos: Command) -> Path:
    """The folder after a run whose replies were handed to two people, with a copy of the store for each."""
    for person in ("anna", "ben"):
        assert tripos("annotate", "--name", person).code == 0
    for laptop in ("first", "second"):
        shutil.copytree("results", laptop)
    return ran


def test_people_who_grade_on_two_laptops_are_merged_as_if_they_had_graded_in_one_store(
    handed: Path, tripos: Command
) -> None:
    graded(tripos, "first", ANNA)
    graded(tripos, "second", BEN)
    graded(tripos, "results", ANNA, BEN)
    expected = figures(tripos, "results")
    assert "human/anna" in str(expected[0]["scores"]) and "human/ben" in str(expected[0]["scores"])
    for number, order in enumerate(itertools.permutations(("first", "second"))):
        assert figures(tripos, merged(tripos, f"merged{number}", *order)) == expected


def test_a_grade_that_a_person_changed_late_on_one_laptop_counts_in_any_order(handed: Path, tripos: Command) -> None:
    graded(tripos, "first", ANNA)
    shutil.rmtree("second")
    shutil.copytree("first", "second")
    graded(tripos, "first", BEN)
    graded(tripos, "second", ("anna.xlsx", 4))
    graded(tripos, "results", ANNA, BEN, ("anna.xlsx", 4))
    expected = figures(tripos, "results")
    for number, order in enumerate(itertools.permutations(("first", "second"))):
        assert figures(tripos, merged(tripos, f"merged{number}", *order)) == expected


def test_a_sheet_of_one_laptop_is_taken_back_in_the_merged_store(ran: Path, tripos: Command) -> None:
    shutil.copytree("results", "first")
    assert tripos("annotate", "--name", "anna", "--store", "first").code == 0
    graded(tripos, merged(tripos, "merged", "results", "first"), ANNA)
    again = tripos("annotate", "--take", "anna.xlsx", "--store", "merged")
    assert again.out == "human/anna: 0 replies graded, 0 changed, 10 as before\n"


def plans() -> Sequence[str]:
    """Write a later version of the quiz, which asks otherwise, and a benchmark of the same items; name all three."""
    text = Path("quiz.tripos").read_text("utf-8")
    later = text.replace('"1.0.0"', '"1.1.0"', 1).replace('prompt "', 'prompt "Please. ', 1)
    Path("later.tripos").write_text(later, "utf-8")
    Path("other.tripos").write_text(text.replace("benchmark quiz", "benchmark other", 1), "utf-8")
    return ("quiz.tripos", "later.tripos", "other.tripos")


def test_several_plans_in_merged_stores_have_the_tables_and_leaderboards_of_one_store(
    quiz: Path, tripos: Command
) -> None:
    for place, spec in enumerate(plans()):
        for store in (f"laptop{place}", "all"):
            done = tripos("run", spec, "--model", ",".join(MODELS), "--role", f"judge={JUDGE}", "--store", store)
            assert done.code == 0, done.err
    expected = figures(tripos, "all")
    assert figures(tripos, merged(tripos, "merged", "laptop0", "laptop1", "laptop2"))[0] == expected[0]
    assert figures(tripos, merged(tripos, "again", "laptop2", "laptop0", "laptop1"))[2] == expected[2]
    for spec in plans():
        done = tripos("run", spec, "--model", ",".join(MODELS), "--role", f"judge={JUDGE}", "--store", "merged")
        assert (done.code, "0 calls asked" in done.err) == (0, True), done.err
    assert figures(tripos, "merged") == expected
