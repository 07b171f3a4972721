"""The status of a judgement, and of a reply that is asked for once more. `test_endings` has that of every ending."""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.plan import Metric, Scorer, Settings
from tripos_compiler.plan.outcomes import PARSE_FAILURE, REFUSED, SCORED
from tripos_runtime.asking.judging import grade_reader
from tripos_runtime.asking.questions import UNUSED, Question, ReadOutcome
from tripos_runtime.asking.replies import SentRequest, _repaired
from tripos_runtime.models.base import Message, Model, Reply
from tripos_runtime.scheduling.calling import Called

JUDGED = """\
benchmark judged "1.0.0" { languages en }
role candidate compared
role judge
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" }
  metric RIGHT "Correctness" { scale 1..10, asks "Is it right?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | CLEAR | RIGHT |
  | sums |   x   |   x   |
}
scenario sums {
  ask answer by candidate { prompt "1+1" }
  score rubric(answer.text)
}
"""


@pytest.fixture(scope="module")
def judge() -> tuple[Scorer, tuple[Metric, ...]]:
    plan = plan_of(compile_text(JUDGED))
    return plan.scorer("rubric"), plan.metrics


def test_a_judgement_is_refused_only_where_all_of_it_is(judge: tuple[Scorer, tuple[Metric, ...]]) -> None:
    read = grade_reader(*judge, "en")
    whole = read("I cannot help with that.")
    assert (whole.status, {status for _, status in whole.value.values()}) == (REFUSED, {REFUSED})
    one = {"CLEAR": {"reason": "", "score": 7}, "RIGHT": {"reason": "", "score": "I cannot help with that."}}
    part = read(json.dumps(one))
    assert part.value["CLEAR"] == (7.0, SCORED)
    assert "RIGHT" not in part.value, "its status is that of the reply"
    assert part.status == PARSE_FAILURE


def repaired(parsed: dict[str, int]) -> dict[str, Any]:
    """The columns of a first reply of which nothing could be read, after a second of which so much could be."""
    question = Question(None, None, Settings(), {"type": "object"}, lambda text: ReadOutcome(None, parsed, "no"))
    sent = (Message("user", "?"),)
    asked = SentRequest(cast("Model", SimpleNamespace(name="m", structured=False)), question, sent, "en")
    columns: dict[str, Any] = {"reply": "first", "finish_reason": "stop", **dict.fromkeys(UNUSED, 1.0)}
    program = _repaired(asked, sent, ReadOutcome(None, {}, "no", PARSE_FAILURE), columns, 0)
    next(program)
    with suppress(StopIteration):
        program.send(Called(Reply("second", "m", "stop", 3, 4, 0.5), 1, 2.0))
    return columns


def test_a_repair_takes_the_place_of_a_reply_only_where_more_of_it_can_be_read() -> None:
    assert repaired({})["reply"] == "first"
    assert repaired({"CLEAR": 7})["reply"] == "second"


def test_a_repair_costs_what_both_replies_cost() -> None:
    columns = repaired({})
    assert (columns["attempts"], columns["tokens_in"], columns["tokens_out"], columns["cost_usd"]) == (2, 4, 5, 1.5)
