"""`tripos run` of several benchmarks: each a run of its own, one exit code for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import QUIZ, Command
from tripos.cli.context import Outcome
from tripos_compiler.errors import ExitCode

OTHER = """\
benchmark other "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score short = words(reply.text) < 1000
}
measure overall = mean(short)
"""
MODEL = ("--model", "mock/careful")
JUDGE = ("--role", "judge=mock/careful:j")


@pytest.fixture
def both(quiz: Path) -> Path:
    (quiz / "other.tripos").write_text(OTHER, "utf-8")
    return quiz


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_each_benchmark_is_a_run_of_its_own(both: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, *JUDGE)
    assert done.code == 0, done.err
    assert sorted(each["benchmark"] for each in tripos("list", "--json").data) == ["other", "quiz"]


def test_a_role_that_one_of_them_lacks_is_no_mistake(both: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, *JUDGE, "--json")
    assert [(each["path"], each["exit_code"]) for each in lines(done.out)] == [("quiz.tripos", 0), ("other.tripos", 0)]


@pytest.mark.long
def test_a_role_of_the_settings_that_one_of_them_lacks_is_no_mistake(both: Path, tripos: Command) -> None:
    (both / "tripos.toml").write_text('[roles]\njudge = "mock/careful:j"\n', "utf-8")
    other = OTHER.replace("role candidate compared", "role candidate compared\nrole judges panel")
    (both / "other.tripos").write_text(other, "utf-8")
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL)
    assert done.code == 0, done.err


def test_a_role_that_none_of_them_has_stops_before_anything_is_run(both: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, "--role", "jugde=mock/careful")
    assert done.code == 2
    assert "none of the benchmarks has a role `jugde`" in done.err
    assert "did you mean `judge`?" in done.err
    assert not (both / "results").exists()


def test_one_that_cannot_be_run_is_told_and_the_others_go_on(both: Path, tripos: Command) -> None:
    (both / "broken.tripos").write_text(QUIZ.replace("mean(long)", "mean(lnog)"), "utf-8")
    done = tripos("run", "broken.tripos", "nowhere.tripos", "other.tripos", *MODEL)
    assert done.code == 2
    assert "there is no spec at `nowhere.tripos`" in done.err
    assert [each["benchmark"] for each in tripos("list", "--json").data] == ["other"]
    assert done.err.splitlines()[-3:] == [
        "broken.tripos   not run",
        "nowhere.tripos  not run",
        "other.tripos    good",
    ]


def test_an_expectation_that_does_not_hold_is_the_exit_code_of_all(both: Path, tripos: Command) -> None:
    (both / "other.tripos").write_text(f"{OTHER}expect overall < 0.5\n", "utf-8")
    done = tripos("run", "other.tripos", "quiz.tripos", "--model", "baseline/constant:x", *JUDGE, "--json")
    assert [each["exit_code"] for each in lines(done.out)] == [100, 0]
    assert done.code == 100


@pytest.mark.long
def test_batches_that_are_under_way_are_the_exit_code_of_all(
    both: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = iter([ExitCode.SUBMITTED, ExitCode.SOME_FAILED])
    monkeypatch.setattr("tripos.cli.run.run_compiled", lambda *args, **options: Outcome(exit_code=next(codes)))
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, *JUDGE, "--batch", "--detach")
    assert done.code == 75 and "quiz.tripos   batches are under way" in done.err


def test_what_holds_no_benchmark_is_passed_over(both: Path, tripos: Command) -> None:
    done = tripos("run", *sorted(path.name for path in both.iterdir()), *MODEL, *JUDGE)
    assert done.code == 0, done.err
    assert "passed over items.jsonl: it holds no benchmark" in done.err


def test_a_budget_is_for_all_of_them_together(both: Path, tripos: Command) -> None:
    done = tripos("run", "other.tripos", "quiz.tripos", *MODEL, *JUDGE, "--budget", "3calls", "--json")
    first, second = lines(done.out)
    assert (first["exit_code"], second["exit_code"], done.code) == (0, 1, 1)
    assert second["code"] == "R0402"


@pytest.mark.parametrize("option", ["--junit", "--events"])
def test_a_file_that_each_run_would_write_anew_is_refused(both: Path, tripos: Command, option: str) -> None:
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, option, "file")
    assert done.code == 2
    assert "run one benchmark at a time with it" in done.err


def test_a_role_that_the_model_fills_in_one_benchmark_is_for_the_others(both: Path, tripos: Command) -> None:
    (both / "other.tripos").write_text(OTHER.replace("candidate", "judge"), "utf-8")
    done = tripos("run", "quiz.tripos", "other.tripos", *MODEL, *JUDGE)
    assert done.code == 0, done.err
    assert {tuple(each["models"]) for each in tripos("list", "--json").data} == {("mock/careful",)}
