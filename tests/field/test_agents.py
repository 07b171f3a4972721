"""Agents in the form of τ-bench, a customer played by a model and tools over a shop's data: what a run foresees. The
rewards of its conversations are held to the original's in `tests/gallery/test_tau_bench.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.field.running import lines

TRIALS, TURNS = 4, 8
STOP = "###STOP###"
TOOLS = '''
"""The functions of a shop."""

import math


def _order(state, order_id):
    if order_id not in state["orders"]:
        raise ValueError(f"order {order_id} not found")
    return state["orders"][order_id]


def get_order(state, order_id):
    return _order(state, order_id)


def cancel_order(state, order_id, reason):
    order = _order(state, order_id)
    if order["status"] != "pending":
        raise ValueError("only pending orders can be cancelled")
    order["status"], order["reason"] = "cancelled", reason
    paid = sum(math.floor(item["price"] * 100) for item in order["items"]) / 100
    state["users"][order["user"]]["credit"] += paid
    return order


def change_items(state, order_id, item_ids, colours=None):
    order = _order(state, order_id)
    for place, wanted in enumerate(item_ids):
        item = [each for each in order["items"] if each["id"] == wanted][0]
        item["colour"] = (colours or ["black"] * len(item_ids))[place]
    return "changed"
'''
SPEC = f"""
benchmark service "1.0.0" {{ languages en }}
role agent compared
role customer

tool get_order from "shop.py:get_order" "Look an order up." {{ order_id text }}
tool cancel_order from "shop.py:cancel_order" "Cancel a pending order." {{
  order_id text
  reason   choice(mistake, unneeded)
}}
tool change_items from "shop.py:change_items" "Change colours." {{ order_id text, item_ids list<integer>, colours list<text>? }}

dataset task from "tasks.jsonl" {{
  wish     text
  shop     json
  goal     json secret
  outputs  list<text> secret
}}

scenario retail {{
  over task
  ask opening by customer {{ system "You are a customer. {{{{ task.wish }}}}", prompt "How can I help you?" }}
  ask reply by agent {{
    system  "You serve the customers of a shop."
    prompt  "{{{{ opening.text }}}}"
    tools   get_order, cancel_order, change_items
    state   task.shop at most {TURNS} turns
    user    customer {{ system "You are a customer. {{{{ task.wish }}}} At the end say {STOP}", temperature 1 }}
    until   customer says "{STOP}"
    samples {TRIALS}
    temperature 1
  }}
  let heard = lower(join(split(join(reply.replies, " | "), ","), ""))
  let same     = reply.ended == said and reply.state == task.goal
  score solved = same and all(contains(heard, lower(output)) each output in task.outputs)
  score limit  = reply.ended == limit
  score wrong  = sum(choose(result.failed, 1, 0) each result in reply.results)
}}

measure solved = mean(solved)
measure pass_1 = pass_all(1, solved)
measure pass_2 = pass_all(2, solved)
measure pass_4 = pass_all(4, solved)
measure limit  = mean(limit)
"""


def shop(number: int) -> dict[str, Any]:
    """Return a task in a shop of three orders."""
    orders = {
        f"W{number}{place}": {
            "user": "u",
            "status": "pending",
            "items": [{"id": place, "price": 19.99, "colour": "red"}],
        }
        for place in range(3)
    }
    whole = {"orders": orders, "users": {"u": {"credit": 0.0}}}
    return {"wish": f"Cancel W{number}0.", "shop": whole, "goal": whole, "outputs": ["cancelled"]}


def test_a_forecast_of_what_is_half_done_calls_no_function_and_holds(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.tripos").write_text(SPEC)
    (tmp_path / "shop.py").write_text(TOOLS)
    (tmp_path / "tasks.jsonl").write_text(lines([shop(number) for number in range(2)]))
    models = ("--model", "mock/careful", "--role", "customer=mock/careful")
    assert tripos("plan", "spec.tripos", *models).code == 0
    for more in (7, 30):
        assert tripos("run", "spec.tripos", *models, "--budget", f"{more} calls").code != 0
        planned = tripos("plan", "spec.tripos", *models, "--json")
        assert planned.code == 0, planned.err
    assert tripos("run", "spec.tripos", *models).code == 0
    assert tripos("plan", "spec.tripos", *models).code == 0
    again = tripos("run", "spec.tripos", *models, "--budget", "1 calls")
    assert again.code == 0, again.err
