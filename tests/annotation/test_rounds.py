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
    assert "`--round` is for drawing replies, and `--take` imports the grades of a file" in done.err


LABELLED = """benchmark labelled "1.0.0" { languages en }
role candidate compared
role judge panel with people
dataset item from "items.jsonl" { question text }
scorer good(text: text) by judge { prompt "Good? {{ text }}", gives 1..10 }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = good(reply.text)
}
measure mean   = mean(good)
measure zero   = mean(good, missing: zero)
measure agreed = krippendorff_alpha(good, level: interval) across judge
"""
LABELS = {"anna": {"a": (8, 4), "b": (3,)}, "ben": {"a": (4,), "b": (3,)}}


def test_repeated_labels_that_all_count_are_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.tripos").write_text(LABELLED, "utf-8")
    Path("items.jsonl").write_text('{"question": "a"}\n{"question": "b"}\n', "utf-8")
    replies = "\n".join(f"{question},lab/x,reply {question}" for question in "ab")
    Path("replies.csv").write_text(f"question,model,reply\n{replies}\n", "utf-8")
    assert tripos("import", "samples", "replies.csv", "--spec", "s.tripos").code == 0
    rows = [
        (question, name, number, grade)
        for name, graded in LABELS.items()
        for question, grades in graded.items()
        for number, grade in enumerate(grades, 1)
    ]
    bare = "\n".join(f"{question},lab/x,human/{name},{grade}" for question, name, _, grade in rows)
    Path("bare.csv").write_text(f"question,model,evaluator,good\n{bare}\n", "utf-8")
    refused = tripos("import", "scores", "bare.csv")
    assert refused.code == 1
    assert "say the round" in refused.err
    numbered = "\n".join(f"{question},lab/x,human/{name},{number},{grade}" for question, name, number, grade in rows)
    Path("rounds.csv").write_text(f"question,model,evaluator,round,good\n{numbered}\n", "utf-8")
    assert tripos("import", "scores", "rounds.csv").code == 0
    found = {each["name"]: each["rows"][0] for each in tripos("report", "--json").data["measures"]}
    assert found["mean"]["value"] == pytest.approx((8 + 4 + 3 + 4 + 3) / 5)  # every grade alike
    assert found["mean"]["coverage"] == pytest.approx(5 / 6)  # anna graded `b` once only
    assert found["zero"]["value"] == pytest.approx((8 + 4 + 3 + 4 + 3) / 6)
    assert found["agreed"]["value"] == pytest.approx(1)  # of the latest grades: 4 and 3 of both
