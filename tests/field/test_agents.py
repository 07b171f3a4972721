"""Agents in the form of τ-bench: a customer played by a model, tools over a shop's data, and its authors' rule for what
counts as solved, written out apart and held to what was kept of each conversation."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.field.running import Figures, figures_in, lines
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

TASKS, TRIALS, TURNS = 40, 4, 8
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
Call = tuple[str, dict[str, Any]]


def step(data: dict[str, Any], name: str, given: Any) -> str:
    """Return what a tool of the original answers; it changes the data in place, and takes what it is given."""
    if not isinstance(given, dict):
        raise ValueError(f"the arguments are no JSON object: {given}")
    order_id = given["order_id"]
    if order_id not in data["orders"]:
        raise ValueError(f"order {order_id} not found")
    order = data["orders"][order_id]
    if name == "cancel_order":
        if order["status"] != "pending":
            raise ValueError("only pending orders can be cancelled")
        order.update(status="cancelled", reason=given["reason"])
        cents = [math.floor(item["price"] * 100) for item in order["items"]]
        data["users"][order["user"]]["credit"] += sum(cents) / 100
    elif name == "change_items":
        colours = given.get("colours") or ["black"] * len(given["item_ids"])
        for wanted, colour in zip(given["item_ids"], colours, strict=True):
            next(item for item in order["items"] if item["id"] == wanted)["colour"] = colour
        return "changed"
    return json.dumps(order)


def data_hash(data: Any) -> str:
    """Return the digest of a state, as the authors make it: sorted keys, and lists in their order."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def drawn(dice: random.Random, number: int) -> dict[str, Any]:
    """Draw a shop, and a task with the actions that are right and what must be said."""
    orders = {
        f"W{number}{place}": {
            "user": f"u{place % 2}",
            "status": dice.choice(["pending", "pending", "sent"]),
            "items": [
                {"id": 10 * place + each, "price": dice.choice([19.99, 5.0, 1200.5]), "colour": "red"}
                for each in range(dice.randint(1, 3))
            ],
        }
        for place in range(3)
    }
    shop = {"orders": orders, "users": {"u0": {"credit": 0.0}, "u1": {"credit": 12.5}}}
    actions: list[Call] = []
    for order_id, order in orders.items():
        kind = dice.choice(["cancel", "change", "none"])
        if kind == "cancel" and order["status"] == "pending":
            actions.append(("cancel_order", {"order_id": order_id, "reason": dice.choice(["mistake", "unneeded"])}))
        elif kind == "change":
            colours = {"colours": ["blue"]} if dice.random() < 0.5 else {}
            actions.append(("change_items", {"order_id": order_id, "item_ids": [order["items"][0]["id"]], **colours}))
    goal = copy.deepcopy(shop)
    for name, given in actions:
        step(goal, name, given)
    outputs = dice.sample(["1200.5", "Blue", "cancelled"], dice.randint(0, 2))
    wish = f"Task {number}: " + json.dumps({"actions": actions, "outputs": outputs})
    return {"wish": wish, "shop": shop, "goal": goal, "outputs": outputs}


class Players:
    """An agent that is mostly right and errs in all ways, and a customer who ends most conversations."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def dice(self, told: list[str]) -> random.Random:
        key = json.dumps(told)
        self.seen[key] += 1
        return random.Random(f"{key}{self.seen[key]}")

    def agent(self, told: list[str]) -> str | None:
        dice = self.dice(told)
        asked = json.loads(told[1][told[1].index("{") :])
        made = sum(len(json.loads(each)["calls"]) for each in told if each.startswith('{"text"'))
        left = [tuple(each) for each in asked["actions"]][made:]
        odd = dice.random()
        if odd < 0.02:
            return None
        if odd < 0.05:
            return said("", ("find_all", {}))
        if odd < 0.08:
            return said("Wait.", ("get_order", "{"), ("get_order", {"order_id": "W?"}))
        if odd < 0.11:
            return said("", ("cancel_order", {"order_id": "W00", "reason": "whim"}), ("get_order", {"id": "W00"}))
        if odd < 0.14:
            return said("", ("change_items", {"order_id": f"W{dice.randrange(9)}0", "item_ids": [999]}))
        if odd < 0.17 or "stuck" in str(told):
            return said("stuck", ("get_order", {"order_id": "W00"}))
        if odd < 0.19:
            return ""
        if left:
            return said("", *(left if dice.random() < 0.3 else left[:1]))
        words = ", ".join(asked["outputs"]).replace("1200.5", "1,200.5")
        return f"All done: {words}." if dice.random() < 0.9 else "All done."

    def customer(self, told: list[str]) -> str | None:
        dice = self.dice(told)
        wish = told[0]
        if told[-1] == "How can I help you?":
            return wish[wish.index("Task") :]
        odd = dice.random()
        return None if odd < 0.01 else "Anything else?" if odd < 0.15 else f"Thanks. {STOP}"


def said(text: str, *calls: Any) -> str:
    return json.dumps({"text": text, "calls": [{"name": name, "arguments": given} for name, given in calls]})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], Figures]:
    folder, dice, players = tmp_path_factory.mktemp("agents"), random.Random(7), Players()
    tasks = [drawn(dice, number) for number in range(TASKS)]
    files = {"shop.py": TOOLS, "tasks.jsonl": lines(tasks)}
    return folder, tasks, figures_in(folder, SPEC, files, players.agent, {"customer": players.customer})


def kept(folder: Path) -> dict[tuple[int, int], dict[str, dict[str, Any]]]:
    """Return the turns of every conversation by task and trial: what was said, and what the model was sent."""
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    found: dict[tuple[int, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    with connection:
        rows = connection.execute(
            "select step, sample_number, status, reply, messages from service.samples where step like 'reply%'"
        ).fetchall()
    for name, number, status, reply, messages in rows:
        told = [each for each in json.loads(messages) if each["role"] != "tool"]
        task = next(each["content"] for each in told if "Task " in each["content"])
        key = int(task[task.index("Task ") + 5 :].partition(":")[0]), number
        found[key][name] = {"status": status, "reply": reply, "sent": told}
    return found


SCHEMAS = {"get_order": {"order_id"}, "cancel_order": {"order_id", "reason"}, "change_items": {"order_id", "item_ids"}}


def played(task: dict[str, Any], turns: dict[str, dict[str, Any]]) -> tuple[float | None, bool]:
    """Go through a conversation as the original's environment does. Return its reward, None where a model refused, and
    whether it was cut off; whatever a model was told of its calls must be what comes of them here."""
    data, spoken, expected = copy.deepcopy(task["shop"]), list[str](), list[str]()
    for number in range(1, TURNS + 1):
        turn = turns[f"reply({number})"]
        assert [each["content"] for each in turn["sent"] if each["role"] == "result"] == expected
        if turn["status"] != "ok":
            return None, False
        found = json.loads(turn["reply"]) if turn["reply"].startswith('{"text"') else None
        for call in found["calls"] if found else ():
            name, given, before = call["name"], call["arguments"], copy.deepcopy(data)
            try:
                expected.append(checked(data, name, given))
            except Exception as error:
                data = before
                expected.append(f"Error: {error}")
        if found and found["calls"]:
            continue
        spoken.append(turn["reply"])
        answer = turns[f"reply.customer({number})"]
        if answer["status"] != "ok":
            return None, False
        if STOP in answer["reply"]:
            same = data_hash(data) == data_hash(task["goal"])
            heard = [each.lower().replace(",", "") for each in spoken]
            return float(same and all(any(out.lower() in each for each in heard) for out in task["outputs"])), False
    return 0.0, True


def checked(data: dict[str, Any], name: str, given: Any) -> str:
    """Return the answer of a tool, of which the arguments are looked at first."""
    if name not in SCHEMAS:
        raise ValueError(f"there is no tool `{name}`")
    if isinstance(given, dict):
        for each in given:
            if each not in SCHEMAS[name] | ({"colours"} if name == "change_items" else set()):
                raise ValueError(f"`{name}` has no parameter `{each}`")
        if given.get("reason") not in (None, "mistake", "unneeded"):
            raise ValueError("`reason` of `cancel_order` must be `choice(mistake, unneeded)`")
    try:
        return step(data, name, given)
    except StopIteration:
        raise ValueError("list index out of range") from None


def test_conversations_are_solved_by_the_rule_of_the_authors(run: Any) -> None:
    folder, tasks, figures = run
    rewards: dict[int, list[float]] = defaultdict(list)
    cut = missing = 0
    for (number, _), turns in kept(folder).items():
        reward, limit = played(tasks[number], turns)
        missing += reward is None
        cut += limit
        if reward is not None:
            rewards[number].append(reward)
    every = [each for found in rewards.values() for each in found]
    assert len(every) + missing == TASKS * TRIALS
    assert 0.2 < sum(every) / len(every) < 0.9
    assert cut > 3
    assert missing > 3
    by_task = [sum(found) / len(found) for found in rewards.values()]
    assert figures["limit"].n == len(every)
    assert figures["limit"].value == pytest.approx(
        sum(played(tasks[key[0]], turns)[1] for key, turns in kept(folder).items()) / len(every), abs=0.05
    )
    assert figures["pass_1"].value == pytest.approx(sum(by_task) / len(by_task))
    for k, name in ((2, "pass_2"), (4, "pass_4")):
        whole = [found for found in rewards.values() if len(found) >= k]
        pass_k = [math.comb(int(sum(found)), k) / math.comb(len(found), k) for found in whole]
        assert figures[name].value == pytest.approx(sum(pass_k) / len(pass_k)), name


def test_calls_lie_within_what_the_plan_says(run: Any) -> None:
    folder, _, figures = run
    made = Counter(name.partition("(")[0] for turns in kept(folder).values() for name in turns)
    most: Counter[str] = Counter()
    for count in figures.plan.calls:
        most[count.step.partition("(")[0]] += count.most
    assert TASKS * TRIALS <= made["reply"] <= most["reply"] == TASKS * TRIALS * TURNS
    assert made["reply.customer"] <= most["reply.customer"] == TASKS * TRIALS * TURNS


def test_a_forecast_of_what_is_half_done_calls_no_function_and_holds(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.tripos").write_text(SPEC)
    (tmp_path / "shop.py").write_text(TOOLS)
    (tmp_path / "tasks.jsonl").write_text(lines([drawn(random.Random(3), number) for number in range(2)]))
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
