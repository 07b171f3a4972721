"""A budget that nothing bounds is refused before the first call, wherever the bound is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

HEAD = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role judge
role other
axis level { easy, hard }
"""
ASK = """\
scenario add {
  context level
  ask reply by candidate {
    prompt "Add at {{ level }}."
    LIMIT
  }
  score long = words(reply.text)
}
measure length = mean(long)
"""
GRADE = """\
scorer clear(text: text) by judge {
  prompt "Grade {{ text }}"
  gives 1..5
  LIMIT
}
scenario grading {
  context level
  ask reply by candidate {
    prompt "Add at {{ level }}."
    max_tokens 20
  }
  score clear = clear(reply.text)
}
measure clarity = mean(clear)
"""
TALK = """\
scenario talking {
  context level
  converse talk {
    candidate {
      system "Teach {{ level }} sums."
      max_tokens 20
    }
    other {
      system "Learn."
      LIMIT
    }
    opens candidate
    until other says "done"
    limit 2 turns
  }
  score turns = length(talk)
}
measure spoken = mean(turns)
"""
MADE = """\
dataset task by other {
  count 2
  prompt "Write a sum."
  returns { question text }
  LIMIT
}
scenario making {
  over task
  ask reply by candidate {
    prompt "{{ task.question }}"
    max_tokens 20
  }
  score said = words(reply.text)
}
measure words_said = mean(said)
"""
PLACES = {"reply": ASK, "clear": GRADE, "talk": TALK, "task": MADE}
MODELS = ("--model", "mock/careful", "--role", "judge=mock/careful:a", "--role", "other=mock/careful:b")


def spec(text: str, limit: str) -> None:
    Path("sums.tripos").write_text(HEAD + text.replace("LIMIT", limit), "utf-8")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", PLACES)
def test_a_step_or_scorer_without_a_bound_is_named_and_nothing_is_asked(place: str, tripos: Command) -> None:
    spec(PLACES[place], "")
    done = tripos("run", "sums.tripos", *MODELS, "--budget", "1Mtokens")
    assert (done.code, "R0403" in done.err, f"in `{place}`" in done.err) == (2, True, True), done.err
    assert not Path("results").exists()
    assert tripos("run", "sums.tripos", *MODELS, "--budget", "100calls").code == 0
    spec(PLACES[place], "max_tokens 30")
    assert tripos("run", "sums.tripos", *MODELS, "--budget", "1Mtokens").code == 0


def test_a_scenario_that_is_not_run_needs_no_bound(tripos: Command) -> None:
    spec(ASK + GRADE.replace("LIMIT", "max_tokens 20"), "")
    budget = ("--budget", "1Mtokens")
    assert tripos("run", "sums.tripos", *MODELS, *budget, "--scenario", "grading").code == 0
    assert tripos("run", "sums.tripos", *MODELS, *budget, "--scenario", "add").code == 2
