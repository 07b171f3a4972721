"""Settings of requests that stand in the wrong place: each error says where they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import QUIZ, Command


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("verb", ["run", "plan"])
@pytest.mark.parametrize(
    ("option", "written"),
    [
        ("--top-p", "`top_p …`"),
        ("--top_p", "`top_p …`"),
        ("--temperature", "`temperature …`"),
        ("--max-tokens", "`max_tokens …`"),
        ("--max_tokens=4", "`max_tokens …`"),
        ("--repetition-penalty", "`provider { repetition_penalty … }`"),
    ],
)
def test_an_option_that_is_a_setting_of_requests_is_sent_to_the_spec(
    verb: str, option: str, written: str, quiz: Path, tripos: Command
) -> None:
    done = tripos(verb, "quiz.tripos", option, "0.5")
    assert done.code == 2
    assert f"it is set in the spec, as part of the request: {written} inside of `ask`" in flat(done.err)


def test_the_setting_works_where_the_error_says(quiz: Path, tripos: Command) -> None:
    settings = "top_p 0.9\n    provider { repetition_penalty 1.1 }"
    prompt = 'prompt "{{ item.question }}"\n'
    assert prompt in QUIZ
    (quiz / "quiz.tripos").write_text(QUIZ.replace(prompt, f"{prompt}    {settings}\n"), "utf-8")
    assert tripos("check", "quiz.tripos").code == 0


def test_a_verb_without_models_has_no_such_setting(quiz: Path, tripos: Command) -> None:
    assert "it is set in the spec" not in flat(tripos("report", "--temperature", "1").err)


def test_a_judge_is_named_by_its_role(quiz: Path, tripos: Command) -> None:
    assert "`--role judge=MODEL`" in tripos("run", "quiz.tripos", "--judge", "mock/fair").err


@pytest.mark.parametrize("text", ["temperature = 0.5\n", "[limits]\ntop_p = 1\n", "[profiles.a]\nmax_tokens = 5\n"])
def test_a_setting_of_requests_in_the_settings_file_is_sent_to_the_spec(text: str, quiz: Path, tripos: Command) -> None:
    (quiz / "tripos.toml").write_text(text, "utf-8")
    done = tripos("plan", "quiz.tripos")
    assert done.code == 2
    assert "error[R0203]" in done.err
    assert "it is set in the spec" in flat(done.err)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("top-p 0.9", "did you mean `top_p`?"),
        ("max-tokens 9", "did you mean `max_tokens`?"),
        ("topp 0.9", "did you mean `top_p`?"),
        ("repetition_penalty 1.1", "`provider { repetition_penalty … }`"),
        ("logprobs true", "`provider { logprobs … }`"),
    ],
)
def test_a_setting_that_is_misspelt_in_the_spec_is_named(line: str, told: str, quiz: Path, tripos: Command) -> None:
    prompt = 'prompt "{{ item.question }}"\n'
    (quiz / "quiz.tripos").write_text(QUIZ.replace(prompt, f"{prompt}    {line}\n"), "utf-8")
    done = tripos("check", "quiz.tripos")
    assert done.code == 2
    assert told in flat(done.err)
