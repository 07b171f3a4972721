"""What a forecast says of conversations is what a run then does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.foretelling import Bench, calls, why
from tripos_runtime.models.base import ModelError, Price, Request

TALKS = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role helper
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  converse talk {
    candidate { system "Teach sums, and say LESSON OVER at last." }
    helper { system "You want to learn." }
    opens  candidate
    until  candidate says "lesson over"
    limit  5 turns
    repeat 2
  }
  ask exam by helper {
    continue talk
    prompt "{{ item.question }}"
    samples 4
  }
  score right = contains(exam.text, item.answer)
  score short = turns(talk) < 4
}
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write(TALKS)
    made.rows("6 * 7")
    return made


def lesson(request: Request) -> str | ModelError:
    said = sum(message.role != "system" for message in request.messages)
    return "Lesson over." if request.model != "h" and said >= 3 else "Go on, please."


def stuck(request: Request) -> str | ModelError:
    said = sum(message.role != "system" for message in request.messages)
    return ModelError("R0111", "down", "") if request.model == "a" and said >= 3 else "Go on, please."


def test_the_first_turn_is_certain_and_every_other_may_come(bench: Bench) -> None:
    assert calls(bench.foretell()) == {("candidate", "a"): (0, 2, 6), ("helper", "h"): (0, 0, 8)}


def test_after_a_run_every_turn_is_reused_and_none_is_called(bench: Bench) -> None:
    made = bench.run(lesson)
    assert calls(bench.foretell()) == {("candidate", "a"): (2 * 2, 0, 0), ("helper", "h"): (2 * 1 + 4, 0, 0)}
    assert made == {("candidate", "a"): 4, ("helper", "h"): 6}


def test_of_a_conversation_that_was_cut_short_the_next_turn_is_certain(bench: Bench) -> None:
    bench.run(stuck)
    found = bench.foretell()
    assert calls(found) == {("candidate", "a"): (2, 2, 4), ("helper", "h"): (2, 0, 6)}
    assert why(found)["failed before (R0111)"] == 2


def test_a_limit_that_changed_is_told(bench: Bench) -> None:
    bench.run(lambda request: "Go on, please.")  # all of it was said, and more may be
    bench.write(TALKS.replace("limit  5", "limit  7"))
    assert any(text.startswith("step changed: limit 5 → 7") for text in why(bench.foretell()))


def test_prompts_grow_with_the_dialogue(bench: Bench) -> None:
    price = {"a": Price(1e-6, 0.0), "h": Price(0.0, 0.0)}
    short = bench.foretell(prices=price).total.cost_usd
    bench.write(TALKS.replace("limit  5", "limit  50"))
    long = bench.foretell(prices=price).total.cost_usd
    assert short is not None
    assert long is not None
    assert long.expected > 50 * short.expected  # ten times the turns, each after ten times as many
