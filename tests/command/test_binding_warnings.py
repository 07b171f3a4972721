"""Warnings when models are given: judges of their own family, and roles that embed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


def test_a_judge_of_the_family_of_a_model_is_warned_of(quiz: Path, tripos: Callable[..., Any]) -> None:
    judges = "judge=openai/gpt-4o,anthropic/claude-3-5-haiku-latest"
    done = tripos("plan", "quiz.tripos", "--model", "openai/gpt-4o-mini,mistral/mistral-small", "--role", judges)
    assert done.code == 0
    assert "warning[W1205]" in done.err
    assert "judge openai/gpt-4o grades openai/gpt-4o-mini: both are of the gpt family" in done.err
    assert "claude" not in done.err


def test_judges_of_other_families_are_not_warned_of(quiz: Path, tripos: Callable[..., Any]) -> None:
    done = tripos("plan", "quiz.tripos", "--model", "openai/gpt-4o-mini", "--role", "judge=zai/glm-4.6")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("denied", ["W1205", "warnings"])
def test_a_kindred_judge_can_be_denied_before_anything_is_asked(
    quiz: Path, tripos: Callable[..., Any], denied: str
) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful", "--deny", denied)
    assert done.code == 2
    assert "error[W1205]" in done.err
    assert not (quiz / "results").exists()


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_setting_that_a_model_does_not_take_is_told_before_a_run_and_without_a_key(
    verb: str, quiz: Path, tripos: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    spec = quiz / "quiz.tripos"
    text = spec.read_text("utf-8")
    assert "ask reply by candidate {" in text
    spec.write_text(text.replace("ask reply by candidate {", "ask reply by candidate {\n    top_k 5"), "utf-8")
    dry = ["--dry-run"] if verb == "run" else []
    given = [verb, "quiz.tripos", "--model", "openai/gpt-4o", "--role", "judge=mock/careful", *dry]
    done = tripos(*given)
    assert done.code == 0
    assert "warning[W1209]" in done.err and "openai/gpt-4o is asked without `top_k` in `reply`" in done.err
    denied = tripos(*given, "--deny", "W1209")
    assert denied.code == 2 and "error[W1209]" in denied.err


@pytest.mark.parametrize(
    ("roles", "code", "what"),
    [
        ([], "R0255", "no embedding model fills the role `encoder`"),
        (["--role", "encoder=mock/careful"], "R0256", "embeds texts, and `mock/careful` writes text"),
        (["--role", "judge=mock/embedding"], "R0256", "`mock/embedding` embeds texts"),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "run"])
def test_a_role_that_embeds_takes_an_embedding_model(
    verb: str, roles: list[str], code: str, what: str, tripos: Callable[..., Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    done = tripos(verb, str(EXAMPLES / "cjeval.tripos"), "--model", "mock/careful", *roles)
    assert done.code == 2
    assert f"error[{code}]" in done.err
    assert what in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_that_embeds_nothing_needs_no_such_model(
    tripos: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tripos("run", str(EXAMPLES / "cjeval.tripos"), "--model", "mock/careful", "--scenario", "qdp", "--json")
    assert done.code == 0
    assert done.data["samples"] == {"ok": 5}
