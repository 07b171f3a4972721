"""Loops of calls: what a model is sent, what comes of its calls, and what a run keeps, foresees and goes on from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.each import each
from tests.field.running import Answers, Figures, figures_in, lines
from tripos_runtime.asking.functions.settings import ProgramLimits
from tripos_runtime.models import CALLED, RESULT, TOOL, Message
from tripos_runtime.models.over_http import as_objects
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.views import connect_run

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
