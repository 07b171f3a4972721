"""What is said when models are given: judges of their own family, and what this version does not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "specs" / "examples"


def test_a_judge_of_the_family_of_a_model_is_warned_of(quiz: Path, tripos: Callable[..., Any]) -> None:
    judges = "judge=openai/gpt-4o,anthropic/claude-3-5-haiku-latest"
    done = tripos("plan", "quiz.tripos", "--model", "openai/gpt-4o-mini,mistral/mistral-small", "--role", judges)
    assert done.code == 0
    assert "warning[R0205]" in done.err
    assert "judge openai/gpt-4o grades openai/gpt-4o-mini: both are of the gpt family" in done.err
    assert "claude" not in done.err


def test_judges_of_other_families_are_not_warned_of(quiz: Path, tripos: Callable[..., Any]) -> None:
    done = tripos("plan", "quiz.tripos", "--model", "openai/gpt-4o-mini", "--role", "judge=zai/glm-4.6")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("denied", ["R0205", "warnings"])
def test_a_kindred_judge_can_be_denied_before_anything_is_asked(
    quiz: Path, tripos: Callable[..., Any], denied: str
) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful", "--deny", denied)
    assert done.code == 2
    assert "error[R0205]" in done.err
    assert not (quiz / "results").exists()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("cjeval", "the retrieve `options`"),
    ],
)
def test_what_is_compiled_and_not_run_is_refused_before_anything_is_asked(
    name: str, what: str, tripos: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tripos("run", str(EXAMPLES / f"{name}.tripos"), "--model", "mock/careful")
    assert done.code == 2
    assert "error[R0204]" in done.err
    assert what in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_that_needs_none_of_it_runs(
    tripos: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tripos("run", str(EXAMPLES / "cjeval.tripos"), "--model", "mock/careful", "--scenario", "qdp", "--json")
    assert done.code == 0
    assert done.data["samples"] == {"ok": 5}
