"""Sheets that a person is handed: drawn and ordered by a seed, recorded, and blind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.annotation.conftest import JUDGE, MODELS, Rows, batches
from tests.conftest import Command
from tripos.annotation.replies import RunReplies
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan


def rows_of(name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = [row for batch in batches() if batch["name"] == name for row in batch["rows"]]
    return found


def test_a_person_is_handed_every_reply_that_a_judge_grades(ran: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    graded = {row["sample_id"] for row in ask("select distinct sample_id from main.judgements")}
    assert {row["sample_id"] for row in rows_of("anna")} == graded
    assert len(rows_of("anna")) == len(graded) == 10


def test_judgements_and_scores_have_the_names_that_a_model_would_have_given_them(ran: Path, ask: Rows) -> None:
    connection, run = connect_run(Store.open("results", create=False))
    with connection:
        replies = RunReplies(connection, get_plan(connection, run), run, "judge", JUDGE)
        found = list(replies.candidates())
    assert {each.judgement_id for each in found} == {
        row["judgement_id"] for row in ask("select judgement_id from main.judgements")
    }
    assert {mark.score_id for each in found for mark in each.marks} == {
        row["score_id"] for row in ask("select score_id from main.scores where evaluator is not null")
    }


def test_a_person_sees_what_the_judges_prompt_prints_and_in_its_order(ran: Path, ask: Rows) -> None:
    connection, run = connect_run(Store.open("results", create=False))
    with connection:
        replies = RunReplies(connection, get_plan(connection, run), run, "judge", "human/anna")
        found = list(replies.candidates())
        shown = replies.show(found)
    seen = {(each.scenario, each.sample_id): shown[each.judgement_id].texts for each in found}
    for row in ask("select scenario, sample_id, reply, parsed from main.samples"):
        (task, question), (response, text) = seen[row["scenario"], row["sample_id"]]
        assert (task, response) == ("Task", "Response")
        assert question in {"1+1", "12 + 30", "half of 9"}
        assert text in (row["reply"] if row["scenario"] == "sums" else row["parsed"])


def test_the_same_command_makes_the_same_batch_and_another_seed_another_order(ran: Path, tripos: Command) -> None:
    first = tripos("annotate", "--name", "anna", "-o", "a.xlsx")
    second = tripos("annotate", "--name", "anna", "-o", "b.xlsx")
    assert first.out.splitlines()[1] == second.out.splitlines()[1]
    assert len(batches()) == 1
    tripos("annotate", "--name", "anna", "-o", "c.xlsx", "--seed", "1")
    one, other = ([row["sample_id"] for row in batch["rows"]] for batch in batches())
    assert sorted(one) == sorted(other)
    assert one != other


def test_the_record_says_who_when_in_which_order_and_with_which_seed(ran: Path, tripos: Command) -> None:
    tripos("annotate", "--name", "anna", "--seed", "3", "--limit", "2")
    (batch,) = batches()
    assert (batch["name"], batch["role"], batch["seed"]) == ("anna", "judge", 3)
    assert batch["made_at"].startswith("20") and batch["made_at"].endswith("+00:00")
    assert batch["chosen"] == {"limit": 2, "seed": 3}
    assert [row["row"] for row in batch["rows"]] == [row["row"] for row in rows_of("anna")]


def test_two_people_have_the_same_replies_in_orders_of_their_own(ran: Path, tripos: Command) -> None:
    for name in ("anna", "ben"):
        tripos("annotate", "--name", name)
    anna, ben = ([row["sample_id"] for row in rows_of(name)] for name in ("anna", "ben"))
    assert sorted(anna) == sorted(ben)
    assert anna != ben
    assert not {row["row"] for row in rows_of("anna")} & {row["row"] for row in rows_of("ben")}


def test_a_sample_has_as_many_of_each_scenario_and_model_as_there_are(ran: Path, tripos: Command) -> None:
    tripos("annotate", "--name", "anna", "--sample", "8")
    found = Counter((row["scenario"], row["model"]) for row in rows_of("anna"))
    assert found == {(scenario, model): 2 for scenario in ("sums", "words") for model in MODELS}
    assert "2 fewer than `--sample`: there are no more" in tripos("annotate", "--name", "ben", "--sample", "12").out


def test_a_larger_sample_holds_the_smaller_one_of_the_same_seed(ran: Path, tripos: Command) -> None:
    tripos("annotate", "--name", "anna", "--sample", "4")
    tripos("annotate", "--name", "ben", "--sample", "6")
    anna, ben = ({row["sample_id"] for row in rows_of(name)} for name in ("anna", "ben"))
    assert anna < ben


def test_of_an_overlap_that_share_was_handed_to_others_and_the_rest_to_nobody(ran: Path, tripos: Command) -> None:
    tripos("annotate", "--name", "anna", "--sample", "4")
    done = tripos("annotate", "--name", "ben", "--sample", "4", "--overlap", "0.5")
    anna, ben = ({row["sample_id"] for row in rows_of(name)} for name in ("anna", "ben"))
    assert len(ben) == 4
    assert len(anna & ben) == 2
    assert "2 replies that somebody else was assigned too" in done.out


def test_with_an_overlap_nobody_is_handed_a_reply_twice(ran: Path, tripos: Command) -> None:
    for number in range(5):
        tripos("annotate", "--name", "anna", "--sample", "2", "--overlap", "0", "-o", f"{number}.xlsx")
    assert len({row["sample_id"] for row in rows_of("anna")}) == len(rows_of("anna")) == 10
    done = tripos("annotate", "--name", "anna", "--sample", "2", "--overlap", "0", "-o", "last.xlsx")
    assert done.code == 2 and "error[S0707]" in done.err


def test_only_a_scenario_and_a_limit_of_items_can_be_asked_for(ran: Path, tripos: Command) -> None:
    tripos("annotate", "--name", "anna", "--scenario", "sums", "--limit", "2")
    assert {row["scenario"] for row in rows_of("anna")} == {"sums"}
    assert len({row["item_id"] for row in rows_of("anna")}) == 2
    assert len(rows_of("anna")) == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--name", "anna", "--role", "jugde"], ["error[S0701]", "did you mean `judge`?"]),
        (["--name", "anna", "--role", "candidate"], ["error[S0701]", "the roles that grade are `judge`"]),
        (["--name", "../anna"], ["error[S0702]", "such as --name anna"]),
        ([], ["error[R0202]", "give --name NAME"]),
        (["--name", "anna", "--overlap", "0.5"], ["error[R0202]", "--sample N"]),
        (["--name", "anna", "--overlap", "1.5"], ["error[R0202]", "`--overlap` must be at most 1"]),
        (["--name", "a" * 300], ["error[S0702]", "aaaa…` cannot be", "at most 63"]),
        (["--name", "𐌰" * 60], ["error[S0702]"]),
        (["--name", "anna", "--port", "80"], ["error[R0202]", "--page"]),
        (["--name", "anna", "-o", "a.csv"], ["error[R0202]", ".xlsx"]),
        (["--name", "anna", "--page", "-o", "a.xlsx"], ["error[R0202]", "JSON Lines"]),
        (["--name", "anna", "--scenario", "sum"], ["error[R0202]", "did you mean `sums`?"]),
        (["none", "--name", "anna"], ["error[S0301]"]),
        (["--name", "anna", "--partial"], ["error[R0202]", "--take FILE"]),
        (["--take", "a.xlsx", "--name", "anna"], ["error[R0202]", "`--name` is for drawing replies"]),
    ],
)
def test_a_wrong_command_says_how_it_is_right(
    ran: Path, tripos: Command, arguments: list[str], told: list[str]
) -> None:
    done = tripos("annotate", *arguments)
    assert done.code == 2
    assert not [part for part in told if part not in done.err]
    assert not list(ran.glob("*.xlsx"))


COMPUTED = """\
benchmark computed "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = length(reply.text) > 3
}
measure m = mean(long)
"""


def test_a_benchmark_without_a_judge_has_nothing_to_grade(quiz: Path, tripos: Command, once: Command) -> None:
    (quiz / "computed.tripos").write_text(COMPUTED, "utf-8")
    assert once("run", "computed.tripos", "--model", "mock/careful", "--json").code == 0
    done = tripos("annotate", "--name", "anna")
    assert done.code == 2 and "nothing in `computed` is graded by a judge" in done.err


CHAIN = """\
benchmark chain "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
scorer grader(response: text, hint: text) by judge {
  prompt "Grade: {{ response }}"
  gives 1..10
}
scenario sums {
  over item
  ask hint by helper { prompt "Hint at {{ item.question }}" }
  ask draft by candidate { prompt "{{ item.question }} {{ hint.text }}", samples 2 }
  ask reply by candidate { prompt "Better: {{ draft.text }}", samples 2 }
  score good = grader(response: reply.text, hint: hint.text) when item.question != "1+1"
}
measure g = mean(good)
"""
CHAINED = ("--model", "mock/careful", "--role", "helper=mock/careful:h", "--role", f"judge={JUDGE}", "--json")


@pytest.fixture
def chained(quiz: Path, tripos: Command, once: Command) -> Path:
    (quiz / "chain.tripos").write_text(CHAIN, "utf-8")
    done = once("run", "chain.tripos", *CHAINED)
    assert done.code == 0, done.err
    return quiz


def test_every_sample_is_graded_where_the_condition_holds(chained: Path, tripos: Command, ask: Rows) -> None:
    tripos("annotate", "--name", "anna")
    judged = ask("select sample_id from main.judgements")
    assert sorted(row["sample_id"] for row in rows_of("anna")) == sorted(row["sample_id"] for row in judged)
    assert len(judged) == 4


def test_what_the_judges_prompt_does_not_print_is_not_shown(chained: Path) -> None:
    connection, run = connect_run(Store.open("results", create=False))
    with connection:
        replies = RunReplies(connection, get_plan(connection, run), run, "judge", "human/anna")
        shown = replies.show(list(replies.candidates()))
    assert {label for each in shown.values() for label, _ in each.texts} == {"Response"}
    assert {(scale.metric, scale.values) for each in shown.values() for scale in each.scales} == {
        ("good", tuple(range(1, 11)))
    }


POOL = """\
benchmark pool "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
dataset other from "items.jsonl" { question text, answer text secret }
scorer grader(response: text, known: text) by judge {
  prompt "Grade: {{ response }} beside {{ known }}"
  gives 1..10
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = grader(response: reply.text, known: join(other.question, ", "))
}
measure g = mean(good)
"""


def test_where_a_judge_looks_into_a_data_set_its_prompt_is_shown(quiz: Path, tripos: Command) -> None:
    (quiz / "pool.tripos").write_text(POOL, "utf-8")
    done = tripos("run", "pool.tripos", "--model", "mock/careful", "--role", f"judge={JUDGE}", "--json")
    assert done.code == 0, done.err
    connection, run = connect_run(Store.open("results", create=False))
    with connection:
        replies = RunReplies(connection, get_plan(connection, run), run, "judge", "human/anna")
        shown = replies.show(list(replies.candidates()))
    assert len(shown) == 3
    for each in shown.values():
        ((label, text),) = each.texts
        assert label == "Prompt" and "beside 1+1, 12 + 30, half of 9" in text
