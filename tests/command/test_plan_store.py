"""`tripos plan` with models, and `tripos run --dry-run`: what the store has, what would be called, and what it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import QUIZ, Command, Outcome
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful:a")


def dry(tripos: Command, *options: str) -> dict[str, Any]:
    """Return what a dry run says, as JSON."""
    done = tripos("run", "quiz.tripos", "--dry-run", "--json", *(options or CAREFUL))
    assert done.code == 0, done.err
    data: dict[str, Any] = done.data
    return data


def counts(data: dict[str, Any]) -> tuple[int, int, int]:
    total = data["total"]
    return total["reused"], total["at_least"], total["at_most"]


def why(data: dict[str, Any]) -> dict[str, int]:
    return {each["text"]: each["calls"] for each in data["why"]}


def is_narrow(done: Outcome) -> bool:
    return max(map(len, done.out.splitlines())) <= 80


def test_without_a_store_everything_is_called_and_no_store_is_made(quiz: Path, tripos: Command) -> None:
    assert counts(dry(tripos)) == (0, 5, 10)
    assert why(dry(tripos)) == {"never run": 10}
    assert not (quiz / "results").exists()


def test_a_dry_run_asks_nothing_and_leaves_the_store_as_it_was(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    store = Store.open("results", create=False)
    before = {table: store.parts(table) for table in TABLES}
    assert counts(dry(tripos)) == (10, 0, 0)
    assert counts(dry(tripos, "--model", "mock/down", "--role", "judge=mock/wrong-key")) == (0, 5, 10)
    assert {table: Store.open("results", create=False).parts(table) for table in TABLES} == before


def test_a_forecast_says_what_the_run_then_does(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    (quiz / "quiz.tripos").write_text(QUIZ.replace("Is the reply right?", "Is the reply correct?"), "utf-8")
    more = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/careful:a")
    found = dry(tripos, *more)
    assert why(found) == {
        "builds on `reply`, which is asked again": 2,
        "model new: mock/careful:b": 5,
        "rubric of metric `RIGHT` changed": 6,
    }
    done = tripos("run", "quiz.tripos", *more, "--json").data["calls"]
    assert (done["reused"], done["asked"]) == (7, 13)
    assert counts(found) == (7, 8, 13)  # the other model may not reply to five rows, and then nobody is judged


def test_new_items_failures_and_more_samples_are_told(quiz: Path, tripos: Command, once: Command) -> None:
    failing = ("--model", "mock/fails-1", "--role", "judge=mock/careful:a")
    once("run", "quiz.tripos", *failing, "--max-retries", "0", "--json")
    with (quiz / "items.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"question": "7 * 6 = ?", "answer": "42"}))
    told = why(dry(tripos, *failing))
    assert told["failed before (R0111)"] == 5
    assert told["items new or changed: 2 of 7"] == 2
    once("run", "quiz.tripos", *CAREFUL, "--json")
    text = QUIZ.replace('prompt "{{ item.question }}"', 'prompt "{{ item.question }}", samples 3')
    (quiz / "quiz.tripos").write_text(text, "utf-8")
    assert why(dry(tripos))["more samples: 1 → 3"] == 8


def test_the_tokens_of_kept_replies_are_what_further_ones_are_taken_to_have(
    quiz: Path, tripos: Command, once: Command
) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    tripos("sql", "select avg(tokens_out) as mean from quiz.samples where scenario = 'sums'", "-o", "mean.json")
    [row] = json.loads(Path("mean.json").read_text("utf-8"))
    (quiz / "quiz.tripos").write_text(
        QUIZ.replace('prompt "{{ item.question }}"', 'prompt "Q {{ item.question }}"'), "utf-8"
    )
    [line] = [each for each in dry(tripos)["calls"] if (each["scenario"], each["step"]) == ("sums", "reply")]
    assert line["tokens_out"]["expected"] == round(3 * row["mean"])
    assert line["basis"] == "3 kept replies"


def test_prices_come_from_the_project_file_and_an_unknown_one_is_named(quiz: Path, tripos: Command) -> None:
    models = ("--model", "hosted_vllm/llm", "--role", "judge=mock/careful:a")
    unknown = dry(tripos, *models)
    assert (unknown["unpriced"], unknown["total"]["cost_usd"]) == (["hosted_vllm/llm"], None)
    text = tripos("plan", "quiz.tripos", *models)
    assert '[prices."hosted_vllm/llm"]' in text.out
    assert "unknown" in text.out
    (quiz / "tripos.toml").write_text('[prices."hosted_vllm/llm"]\ninput = 1000\noutput = 0\n')
    known = dry(tripos, *models)
    sent = sum(each["tokens_in"]["expected"] for each in known["calls"] if each["model"] == "hosted_vllm/llm")
    assert known["unpriced"] == []
    assert known["total"]["cost_usd"]["expected"] == pytest.approx(sent * 0.001, rel=0.05)


def test_a_plan_with_models_shows_the_forecast_in_80_columns(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    models = "openai/gpt-4o-mini,mock/careful,a-provider-with-a-name/a-model-with-a-long-name-2026-11-21"
    done = tripos("plan", "quiz.tripos", "--model", models, "--role", "judge=mock/careful:a", "--store", "results")
    assert done.code == 0, done.err
    assert is_narrow(done)
    assert "total" in done.out
    assert "model new: openai/gpt-4o-mini" in done.out
    nothing = tripos("plan", "quiz.tripos", *CAREFUL)
    assert "Nothing to call: everything is kept." in nothing.out


def test_a_plan_without_models_says_nothing_of_the_store(quiz: Path, tripos: Command, once: Command) -> None:
    before = tripos("plan", "quiz.tripos").out
    once("run", "quiz.tripos", *CAREFUL, "--json")
    assert tripos("plan", "quiz.tripos").out == before


def test_a_store_that_may_only_be_read_is_read(
    quiz: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tripos_warehouse.errors import StoreError

    def refused(*_: object) -> None:
        raise StoreError("S0102", "permission denied", "")

    once("run", "quiz.tripos", *CAREFUL, "--json")
    monkeypatch.setattr("tripos.runs.forecast.open_ledger", refused)
    text = QUIZ.replace("Is the reply right?", "Is the reply correct?")
    (quiz / "quiz.tripos").write_text(text, "utf-8")
    assert counts(dry(tripos)) == (7, 3, 3)


def test_a_store_of_a_newer_format_is_refused(quiz: Path, tripos: Command) -> None:
    (quiz / "results").mkdir()
    (quiz / "results" / "tripos-store.json").write_text('{"format": "tripos.store/9"}')
    done = tripos("plan", "quiz.tripos", *CAREFUL)
    assert (done.code, "error[S0104]" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("level", "enough", "words"),
    [
        ("high", "all", "whatever comes"),
        ("expected", "expected", "and not for the highest"),
        ("low", "little", "too little"),
    ],
)
def test_a_budget_is_held_against_the_forecast(
    quiz: Path, tripos: Command, level: str, enough: str, words: str
) -> None:
    other = ("--model", "openai/gpt-4o-mini", "--role", "judge=mock/careful:a")
    total = dry(tripos, *other)["total"]
    amount = total["tokens_in"][level] + total["tokens_out"][level] + 2  # what is shown is rounded
    budget = (*other, "--budget", f"{amount}tokens")
    assert dry(tripos, *budget)["budget"] == {"tokens": {"most": amount, "enough_for": enough}}
    assert words in " ".join(tripos("run", "quiz.tripos", "--dry-run", *budget).out.split())


def test_a_budget_in_usd_without_a_price_may_or_may_not_do(quiz: Path, tripos: Command) -> None:
    found = dry(tripos, "--model", "hosted_vllm/llm", "--role", "judge=mock/careful:a", "--budget", "5usd")
    assert found["budget"] == {"usd": {"most": 5.0, "enough_for": "unknown"}}
