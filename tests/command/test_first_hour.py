"""The first hour of a newcomer: names that were nearly right, and where to look next."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.conftest import QUIZ, Command

CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful")
UNDER_ARMS = """\
benchmark tried "1.0.0" { languages en }
role candidate compared
arm tone { warm, plain }
scenario talk {
  arms tone
  ask reply by candidate {
    system "Be friendly." when tone == warm
    prompt "Say hello."
  }
  score long = words(reply.text) > 3
}
"""


def test_show_tables_shows_those_of_the_benchmark_first(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL)
    names = tripos("sql", "show tables").out.split()
    assert "quiz.scores" in names
    assert names.index("quiz.scores") < names.index("scores")
    assert "runs" in names


def test_a_field_of_the_items_that_is_taken_for_a_column_is_shown_where_it_is(
    quiz: Path, tripos: Command, once: Command
) -> None:
    once("run", "quiz.tripos", *CAREFUL)
    done = tripos("sql", "select question from quiz.scores")
    assert done.code == 2
    told = " ".join(done.err.split())
    assert "it is a field: `fields->>'question'` of `quiz.items`, which is joined to other tables by `item_id`" in told


def test_a_word_that_is_no_column_has_no_far_fetched_suggestion(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL)
    assert "did you mean" not in tripos("sql", "select correct from quiz.scores").err


def test_an_arm_can_be_chosen_with_only_and_a_value_that_it_has_not_is_named(quiz: Path, tripos: Command) -> None:
    (quiz / "tried.tripos").write_text(UNDER_ARMS, "utf-8")
    done = tripos("run", "tried.tripos", "--model", "mock/careful", "--only", "tone=warm", "--json")
    assert done.data["calls"]["asked"] == 1
    wrong = tripos("run", "tried.tripos", "--model", "mock/careful", "--only", "tone=cold")
    assert wrong.code == 2
    assert "`cold`" in wrong.err
    assert "warm" in wrong.err


@pytest.mark.parametrize("name", ["openai/gpt-4o-min", "gpt-4o-mini"])
def test_a_plan_asks_whether_a_model_without_a_price_is_another_one(quiz: Path, tripos: Command, name: str) -> None:
    done = tripos("plan", "quiz.tripos", "--model", name, "--role", "judge=mock/careful")
    assert f"Nothing is known of {name}. Did you mean openai/gpt-4o-mini?" in " ".join(done.out.split())


def test_a_model_of_ones_own_is_not_taken_for_another(quiz: Path, tripos: Command) -> None:
    done = tripos("plan", "quiz.tripos", "--model", "hosted_vllm/ours", "--role", "judge=mock/careful")
    assert "Did you mean" not in done.out


def test_a_provider_in_capitals_is_known(quiz: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "--model", "OpenAI/gpt-4o", "--role", "judge=mock/careful")
    assert done.code == 2
    assert "did you mean `openai/gpt-4o`?" in done.err


def test_the_head_of_a_report_lines_up_where_a_role_has_a_chinese_name(
    quiz: Path, tripos: Command, once: Command
) -> None:
    (quiz / "quiz.tripos").write_text(QUIZ.replace("candidate", "考生"), "utf-8")
    once("run", "quiz.tripos", *CAREFUL)
    lines = tripos("report").out.splitlines()
    [role] = [line for line in lines if line.startswith("考生 ")]
    [plan] = [line for line in lines if line.startswith("plan ")]
    assert cell_len(role[: role.index("mock/")]) == len(plan) - len(plan.removeprefix("plan").lstrip())


def test_show_without_a_key_lists_replies_of_which_each_can_be_shown(
    quiz: Path, tripos: Command, once: Command
) -> None:
    once("run", "quiz.tripos", *CAREFUL)
    listed = tripos("show")
    assert listed.code == 0
    head, _, first, *_ = listed.out.splitlines()
    assert head.split()[:4] == ["key", "scenario", "model", "status"]
    assert max(map(cell_len, listed.out.splitlines())) <= 80
    assert tripos("show", first.split()[0]).out.startswith(f"reply {first.split()[0]}")


def test_show_without_a_key_says_how_many_replies_there_are(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL)
    [row] = tripos("sql", "select count(*) as n from samples").out.splitlines()[2:3]
    assert f"all of {int(row)} replies" in " ".join(tripos("show").out.split())


@pytest.mark.parametrize("word", ["help", "start", "create"])
def test_who_looks_for_a_beginning_is_told_of_one(tripos: Command, word: str) -> None:
    done = tripos(word)
    assert done.code == 2
    assert "`tripos init` begins a benchmark that runs at once" in " ".join(done.err.split())
