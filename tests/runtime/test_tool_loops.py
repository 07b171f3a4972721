"""Loops of calls: what a model is sent, what comes of its calls, and what a run keeps, foresees and goes on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.each import each
from tests.field.running import Answers, Figures, figures_in, lines
from tripos_runtime.asking.functions.settings import ProgramLimits
from tripos_runtime.models.base import CALLED, RESULT, TOOL, Message
from tripos_runtime.models.chat_completions import as_objects
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SHOP = """
def find_order(state, order_id):
    return state["orders"][order_id]

def cancel_order(state, order_id, reason=None):
    order = state["orders"][order_id]
    order["reason"] = reason
    if order["status"] != "open":
        raise ValueError("it has left")
    order["status"] = "cancelled"
    return "done"
"""
SPEC = """
benchmark shop "1.0.0" { languages en }
role candidate compared
tool find_order from "shop.py:find_order" pure "Find" { order_id text }
tool cancel_order from "shop.py:cancel_order" pure "Cancel" { order_id text, reason text? }
dataset task from "tasks.jsonl" { wish text, shop json, goal json secret }
scenario service {
  over task
  ask reply by candidate {
    tools  find_order, cancel_order
    prompt "{{ task.wish }}"
    state  task.shop at most 4 turns
  }
  score done    = reply.state == task.goal
  score in_time = reply.ended == replied
  score calls   = length(reply.calls)
  score failed  = sum(choose(result.failed, 1, 0) each result in reply.results)
  score found   = length(reply.find_order)
  score said    = words(join(reply.replies, " "))
}
measure done = mean(done)
"""
OPEN = {"orders": {"A1": {"status": "open"}, "B2": {"status": "sent"}}}
DONE = {"orders": {"A1": {"status": "cancelled", "reason": None}, "B2": {"status": "sent"}}}


def call(name: str, text: str = "", **arguments: Any) -> str:
    return calls((name, arguments), text=text)


def calls(*made: tuple[str, Any], text: str = "") -> str:
    return json.dumps({"text": text, "calls": [{"name": name, "arguments": given} for name, given in made]})


def scripted(turns: list[str | None]) -> Answers:
    """Return a model whose reply depends on how many of its turns it is shown."""
    return lambda told: turns[sum(each.startswith('{"text"') for each in told)]


def played(folder: Path, turns: list[str | None], shop: str = SHOP, seconds: float = 20) -> dict[str, Any]:
    """Return the scores of a run by name, and what the last turn was sent."""
    files = {"shop.py": shop, "tasks.jsonl": lines([{"wish": "Cancel A1.", "shop": OPEN, "goal": DONE}])}
    ran(folder, files, scripted(turns), seconds)
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    with connection:
        scores = connection.execute("select metric, status, value from shop.scores").fetchall()
        sent = connection.execute("select messages from shop.samples order by step desc limit 1").fetchall()
        steps = connection.execute("select count(*) from shop.samples").fetchall()
    told = [each["content"] for each in json.loads(sent[0][0]) if each["role"] == "result"]
    by_name = {metric: value if status == "scored" else status for metric, status, value in scores}
    return {**by_name, "told": told, "steps": steps[0][0]}


def ran(folder: Path, files: dict[str, str], answers: Answers, seconds: float = 20) -> Figures:
    return figures_in(folder, SPEC, files, answers, programs={"shop.py": ProgramLimits(seconds, 512)})


def test_calls_change_a_copy_of_the_state_and_their_results_are_sent_until_nothing_is_called(tmp_path: Path) -> None:
    turns = [call("find_order", order_id="A1"), call("cancel_order", order_id="A1"), "I cancelled it."]
    found = played(tmp_path, turns)
    assert found == {
        "done": 1, "in_time": 1, "calls": 2, "failed": 0, "found": 1, "said": 3, "steps": 3,
        "told": ['{"status": "open"}', "done"],
    }  # fmt: skip


def test_a_call_that_is_wrong_changes_nothing_and_says_so_and_the_limit_ends_a_loop(tmp_path: Path) -> None:
    turns = [
        calls(("cancel_order", {"order_id": "B2", "reason": "x"}), ("nope", {}), ("find_order", {"order_id": 3})),
        calls(("find_order", {}), ("find_order", {"order_id": "A1", "more": 1}), ("find_order", "{")),
        calls(("find_order", {"order_id": "C3"})),
        call("cancel_order", order_id="A1"),
    ]
    found = played(tmp_path, turns)
    assert found["told"] == [
        "Error: it has left",
        "Error: there is no tool `nope`",
        "Error: `order_id` of `find_order` must be `text`",
        "Error: `find_order` needs `order_id`",
        "Error: `find_order` has no parameter `more`",
        "Error: the arguments are no JSON object: {",
        "Error: 'C3'",
    ]
    scores = {name: found[name] for name in ("done", "in_time", "calls", "failed", "said", "steps")}
    assert scores == {"done": 1, "in_time": 0, "calls": 8, "failed": 7, "said": 0, "steps": 4}


@each("turns, status", [([None], "refused"), ([call("find_order", order_id="A1"), None], "refused")])
def test_a_loop_with_a_refusal_has_no_score(tmp_path: Path, turns: list[str | None], status: str) -> None:
    assert {played(tmp_path, turns)[name] for name in ("done", "in_time", "failed", "said")} == {status}


FAILING = {
    "R0310": "import random\ndef find_order(state, order_id):\n    return str(random.random())\n",
    "R0311": "def find_order(state, order_id):\n    state[3] = 1\n",
    "R0306": "def find_order(state, order_id):\n    while True: pass\n",
    "R0305": "import os\ndef find_order(state, order_id):\n    os._exit(3)\n",
}


@each("code", list(FAILING))
def test_a_function_that_gives_nothing_to_go_on_with_ends_its_loop_alone(tmp_path: Path, code: str) -> None:
    shop = FAILING[code] + SHOP[SHOP.index("def cancel") :]
    turns: list[str | None] = [call("find_order", order_id="A1"), "Done."]
    found = played(tmp_path, turns, shop, 0.5)
    assert (found["done"], found["in_time"], found["steps"]) == ("function_error", "function_error", 1)
    connection, _ = connect_run(Store.open(tmp_path / "results", create=False))
    with connection:
        assert code in str(connection.execute("select message from runs").fetchall())
    assert played(tmp_path, turns)["done"] == 0  # a mended file: nothing that was said is asked again


ENDING = """tool submit from "shop.py:submit" pure "Submit" { answer text }
tool refer from "shop.py:refer" pure "Refer" { to text? }
dataset task"""
ENDING_SHOP = (
    SHOP
    + """
def submit(state, answer):
    state["answer"] = answer
    return "thank you"

def refer(state, to=None):
    raise ValueError("nobody is there")
"""
)


def with_ends(spec: str) -> str:
    """Return a spec whose loop ends with a call of either of two tools."""
    ends = "until candidate calls submit\n    until candidate calls refer\n    state "
    spec = spec.replace("cancel_order\n    prompt", "cancel_order, submit, refer\n    prompt")
    return (
        spec.replace("dataset task", ENDING)
        .replace("state  task", f"{ends} task")
        .replace("  score done ", "  score called = reply.ended == called\n  score done ")
    )


@pytest.mark.parametrize(("turns", "scores", "asked"), [
    # its call is the last: the model is not asked once more, and all calls of its turn are made
    ([call("find_order", order_id="A1"), calls(("submit", {"answer": "yes"}), ("cancel_order", {"order_id": "A1"})), "No."],
     {"called": 1, "in_time": 0, "done": 1, "calls": 3, "failed": 0, "said": 0}, 2),
    # in the first turn
    ([call("submit", answer="yes"), "No."], {"called": 1, "in_time": 0, "done": 0, "calls": 1, "failed": 0, "said": 0}, 1),
    # arguments that do not fit are told so, and end nothing
    ([call("submit"), call("submit", answer=3), "I give up."],
     {"called": 0, "in_time": 1, "done": 0, "calls": 2, "failed": 2, "said": 3}, 3),
    # a function that fails was called
    ([call("refer"), "No."], {"called": 1, "in_time": 0, "done": 0, "calls": 1, "failed": 1, "said": 0}, 1),
    # in the last turn that there may be
    ([call("find_order", order_id="A1")] * 3 + [call("submit", answer="yes"), "No."],
     {"called": 1, "in_time": 0, "done": 0, "calls": 4, "failed": 0, "said": 0}, 4),
    ([call("find_order", order_id="A1")] * 4 + ["No."],
     {"called": 0, "in_time": 0, "done": 0, "calls": 4, "failed": 0, "said": 0}, 4),
    ([call("find_order", order_id="A1"), "I found it."],
     {"called": 0, "in_time": 1, "done": 0, "calls": 1, "failed": 0, "said": 3}, 2),
])  # fmt: skip
def test_a_tool_that_ends_a_loop_is_the_last_that_a_model_is_asked_for(
    turns: list[str | None], scores: dict[str, int], asked: int, tmp_path: Path
) -> None:
    goal = {**DONE, "answer": "yes"}
    told: list[list[str]] = []

    def answers(messages: list[str]) -> str | None:
        told.append(messages)
        return scripted(turns)(messages)

    files = {"shop.py": ENDING_SHOP, "tasks.jsonl": lines([{"wish": "Cancel A1.", "shop": OPEN, "goal": goal}])}
    for _ in range(2):  # a second run asks for nothing
        found = figures_in(tmp_path, with_ends(SPEC), files, answers, programs={"shop.py": ProgramLimits(20, 512)})
        values = {score.metric: score.value for score in found.scores}
        assert {name: values[name] for name in scores} == scores
        assert len(told) == asked
    plain = tmp_path / "plain"
    plain.mkdir()
    before = len(told)
    if asked == len(turns):  # no call ended it: every message is that of a loop that none ends
        spec = with_ends(SPEC).replace("until candidate calls submit\n    until candidate calls refer\n", "")
        spec = spec.replace("  score called = reply.ended == called\n", "")
        figures_in(plain, spec, files, answers, programs={"shop.py": ProgramLimits(20, 512)})
        assert told[before:] == told[:before]


USER = """
benchmark shop "1.0.0" { languages en }
role candidate compared
role customer
tool find_order from "shop.py:find_order" pure "Find" { order_id text }
tool refer from "shop.py:refer" pure "Refer" { to text? }
dataset task from "tasks.jsonl" { wish text, shop json }
scenario service {
  over task
  ask reply by candidate {
    tools  find_order, refer
    prompt "{{ task.wish }}"
    state  task.shop at most 4 turns
    user   customer { system "You wish: {{ task.wish }}" }
    until  customer says "bye"
    until  candidate calls refer
  }
  score called = reply.ended == called
  score stated = reply.ended == said
  score late   = reply.ended == limit
  score turns  = turns(reply.turns)
}
measure called = mean(called)
"""


@pytest.mark.parametrize(("turns", "scores", "asked"), [
    (["Which order?", call("refer"), "No."], {"called": 1, "stated": 0, "late": 0, "turns": 3}, (2, 1)),
    ([call("refer", text="Wait."), "No."], {"called": 1, "stated": 0, "late": 0, "turns": 2}, (1, 0)),
    (["Which order?", "Goodbye."], {"called": 0, "stated": 1, "late": 0, "turns": 5}, (2, 2)),
    (["A?", "B?", "C?", call("refer")], {"called": 1, "stated": 0, "late": 0, "turns": 7}, (4, 3)),
    (["A?", "B?", "C?", "D?"], {"called": 0, "stated": 0, "late": 1, "turns": 9}, (4, 4)),
])  # fmt: skip
def test_a_tool_that_ends_a_talk_asks_neither_side_once_more(
    turns: list[str | None], scores: dict[str, int], asked: tuple[int, int], tmp_path: Path
) -> None:
    counts = {"candidate": 0, "customer": 0}

    def candidate(messages: list[str]) -> str | None:
        counts["candidate"] += 1
        return turns[counts["candidate"] - 1]

    def customer(messages: list[str]) -> str:
        counts["customer"] += 1
        return "Bye." if messages[-1] == "Goodbye." else "Hm."

    files = {"shop.py": ENDING_SHOP, "tasks.jsonl": lines([{"wish": "Cancel A1.", "shop": OPEN}])}
    limits = {"shop.py": ProgramLimits(20, 512)}
    found = figures_in(tmp_path, USER, files, candidate, {"customer": customer}, programs=limits)
    values = {score.metric: score.value for score in found.scores}
    assert values == scores
    assert (counts["candidate"], counts["customer"]) == asked


def test_a_second_run_asks_nothing_and_one_that_stopped_goes_on_after_its_last_turn(tmp_path: Path) -> None:
    files = {"shop.py": SHOP, "tasks.jsonl": lines([{"wish": "Cancel A1.", "shop": OPEN, "goal": DONE}])}
    turns = [call("find_order", order_id="A1"), call("cancel_order", order_id="A1"), "Done."]
    asked: list[int] = []

    class Killed(BaseException):
        pass

    def answers(told: list[str]) -> str | None:
        number = sum(each.startswith('{"text"') for each in told)
        asked.append(number)
        if asked == [0, 1]:
            raise Killed
        return turns[number]

    try:
        ran(tmp_path, files, answers)
    except BaseException as error:
        assert isinstance(error, Killed | BaseExceptionGroup), error
    assert ran(tmp_path, files, answers)["done"].value == 1
    assert asked == [0, 1, 1, 2]
    assert ran(tmp_path, files, answers)["done"].value == 1
    assert asked == [0, 1, 1, 2]


def test_a_call_and_its_results_are_sent_as_providers_have_them() -> None:
    tools = (json.dumps({"name": "find.order"}),)
    told = (
        Message("user", "Hi"),
        Message(CALLED, calls(("find.order", {"id": "A1"}), ("no such tool", "{"), text="Wait.")),
        Message(RESULT, "open"),
        Message(RESULT, "Error"),
        Message(CALLED, calls(("find.order", {}))),
        Message(RESULT, "done"),
    )
    sent = as_objects(told, None, tools)
    functions = [[(made["id"], *made["function"].values()) for made in each.get("tool_calls", ())] for each in sent]
    assert functions[1] == [("call00001", "find_order", '{"id":"A1"}'), ("call00002", "no_such_tool", "{}")]
    assert functions[4] == [("call00003", "find_order", "{}")]
    assert [each.get("tool_call_id") for each in sent] == [None, None, "call00001", "call00002", None, "call00003"]
    assert (sent[1]["content"], sent[4]["content"], sent[5]["content"]) == ("Wait.", None, "done")
    assert TOOL not in (CALLED, RESULT)
