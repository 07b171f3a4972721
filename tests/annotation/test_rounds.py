"""A person who grades the same replies in several rounds: each is handed out, taken and counted apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.annotation.conftest import Rows, batches, fill
from tests.conftest import Command

COUNTED = """select round, count(*) as n, avg(value) as value from quiz.scores
  where evaluator = 'human/anna' and status = 'scored' group by all order by all"""


@pytest.fixture
def twice(ran: Path, tripos: Command) -> Path:
    """The folder after two rounds, of which the second is filled in and not taken."""
    for more in ((), ("--round", "2")):
        assert tripos("annotate", "--name", "anna", *more).code == 0
    fill("anna.xlsx", 7)
    fill("anna-round2.xlsx", 4)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    return ran


def test_a_second_round_hands_out_what_was_graded_before_under_other_names(twice: Path, tripos: Command) -> None:
    first, second = sorted(batches(), key=lambda each: each["round"] or 1)
    assert (first["round"], second["round"]) == (None, 2)
    replies = [{row["sample_id"] for row in each["rows"]} for each in (first, second)]
    names = [{row["row"] for row in each["rows"]} for each in (first, second)]
    assert replies[0] == replies[1]
    assert not names[0] & names[1]


def test_both_rounds_count_with_their_numbers(twice: Path, tripos: Command, ask: Rows) -> None:
    done = tripos("annotate", "--take", "anna-round2.xlsx")
    assert (done.code, done.out) == (0, "human/anna: 10 replies graded, 0 changed, 0 as before\n")
    assert ask(COUNTED) == [{"round": 2, "n": 16, "value": 4.0}, {"round": None, "n": 16, "value": 7.0}]
    again = tripos("annotate", "--take", "anna-round2.xlsx")
    assert again.out == "human/anna: 0 replies graded, 0 changed, 10 as before\n"
    done = tripos("annotate", "--name", "anna", "--round", "2", "-o", "more.xlsx")
    assert done.code != 0
    assert "has graded all of it already" in done.err


def test_a_round_that_is_imported_is_the_one_that_was_annotated(twice: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--take", "anna-round2.xlsx").code == 0
    query = "select sample_id, metric, value from quiz.scores where evaluator = 'human/anna' and round = 2"
    assert tripos("sql", query, "-o", "given.csv").code == 0
    done = tripos("import", "scores", "given.csv", "--evaluator", "human/anna", "--round", "2", "--json")
    assert done.code == 0, done.err
    assert (done.data["new"], done.data["changed"], done.data["same"]) == (0, 0, 16)


@pytest.mark.long
def test_a_later_run_of_the_same_replies_has_both_rounds(twice: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--take", "anna-round2.xlsx").code == 0
    spec = Path("quiz.tripos")
    text = spec.read_text("utf-8").replace('"1.0.0"', '"1.0.1"', 1)
    spec.write_text(text.replace("measure by_metric", "measure whole = mean(rubric)\nmeasure by_metric"), "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careful:b", "--role", "judge=mock/fair").code == 0
    assert [(row["round"], row["n"]) for row in ask(COUNTED)] == [(2, 16), (None, 16)]


def test_a_file_that_is_taken_back_knows_its_round(twice: Path, tripos: Command) -> None:
    done = tripos("annotate", "--take", "anna.xlsx", "--round", "2")
    assert done.code == 2
    assert "`--round` says nothing about a file that is taken back" in done.err
