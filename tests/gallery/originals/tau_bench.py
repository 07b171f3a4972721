"""The rewards of τ-bench on the tasks and conversations of test_tau_bench.py.

sierra-research/tau-bench, commit 59a200c6d575d595120f1cb70fea53cef0632f6b, as the package `tau_bench`, with pydantic: its
`ToolCallingAgent` acts in its retail environment, with its tools and rewards, and `display_metrics` prints pass^k. What
agent and user say is drawn here, and so are the tasks with their part of the shop; no model is asked.

    python -P tests/gallery/originals/tau_bench.py > tests/gallery/verdicts/tau_bench.jsonl
"""

from __future__ import annotations

import copy
import io
import json
import random
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

TASKS, TRIALS, TURNS, STOP = 24, 4, 30, "###STOP###"
VARIANTS = {"70": {"item_id": "70", "available": True, "price": 41.5}, "71": {"item_id": "71", "available": True, "price": 45.25},
            "72": {"item_id": "72", "available": False, "price": 44.0}}  # fmt: skip
Call = tuple[str, dict[str, Any]]


def shop(number: int) -> dict[str, Any]:
    """Return the part of the shop of a task: a user with three orders."""
    dice, uid = random.Random(f"shop {number}"), f"user_{number}"
    methods = {
        "paypal_1": {"source": "paypal", "id": "paypal_1"},
        "gift_card_2": {"source": "gift_card", "id": "gift_card_2", "balance": dice.choice([0.0, 3.1, 100.0])},
    }
    address = {name: f"{name} {number}" for name in ("address1", "address2", "city", "state", "country", "zip")}
    orders = {}
    for at in range(3):
        items = [
            {"item_id": dice.choice(["70", "71"]), "product_id": "7", "price": dice.choice([41.5, 45.25, 9.99])}
            for _ in range(dice.randint(1, 3))
        ]
        paid = {"transaction_type": "payment", "amount": round(sum(each["price"] for each in items), 2)}
        orders[f"#W{number}{at}"] = {
            "order_id": f"#W{number}{at}", "user_id": uid, "address": dict(address), "items": items,
            "status": dice.choice(["pending", "pending", "delivered", "delivered", "processed"]),
            "payment_history": [paid | {"payment_method_id": dice.choice([*methods])}],
        }  # fmt: skip
    profile = {"name": {"first_name": "Eva", "last_name": f"Über{number}"}, "email": f"Eva{number}@example.com"}
    user = {**profile, "address": address, "payment_methods": methods, "orders": [*orders]}
    return {
        "users": {uid: user},
        "orders": orders,
        "products": {"7": {"product_id": "7", "variants": copy.deepcopy(VARIANTS)}},
    }


def action(dice: random.Random, order: dict[str, Any]) -> Call:
    """Draw a call that changes an order, if it may be changed so."""
    ids = [each["item_id"] for each in order["items"]]
    some, method = dice.sample(ids, dice.randint(1, len(ids))), dice.choice(["paypal_1", "gift_card_2", "gift_card_9"])
    address = {name: f"new {name}" for name in ("address1", "address2", "city", "state", "country", "zip")}
    return dice.choice([
        ("cancel_pending_order", {"order_id": order["order_id"], "reason": dice.choice(["no longer needed", "ordered by mistake"])}),
        ("modify_pending_order_address", {"order_id": order["order_id"], **address}),
        ("return_delivered_order_items", {"order_id": order["order_id"], "item_ids": some, "payment_method_id": method}),
        ("exchange_delivered_order_items", {"order_id": order["order_id"], "item_ids": some, "payment_method_id": method,
                                            "new_item_ids": [dice.choice(["70", "71", "71", "72", "99"]) for _ in some]}),
    ])  # fmt: skip


def tasks() -> list[dict[str, Any]]:
    """Return the tasks, each with the actions that are right and what must be said."""
    found = []
    for number in range(TASKS):
        dice, data = random.Random(f"task {number}"), shop(number)
        actions = [action(dice, order) for order in data["orders"].values() if dice.random() < 0.6]
        outputs = dice.sample(["1200.5", "Blue", "cancelled"], dice.choice([0, 0, 1, 2]))
        found.append(
            {
                "user_id": f"user_{number}",
                "instruction": f"Task <{number}>",
                "data": data,
                "actions": actions,
                "outputs": outputs,
            }
        )
    return found


def script(number: int, trial: int) -> list[Call | str]:
    """Return what the agent does in a trial: calls, and texts, at the last of which the user stops."""
    dice, task = random.Random(f"script {number} {trial}"), tasks()[number]
    steps: list[Call | str] = [
        ("find_user_id_by_email", {"email": f"eva{number}@EXAMPLE.com"}),
        ("get_user_details", {"user_id": task["user_id"]}),
    ]
    for name, given in task["actions"]:
        steps.append(("get_order_details", {"order_id": given["order_id"]}))
        call = {
            1: lambda: action(dice, dice.choice([*task["data"]["orders"].values()])),
            2: lambda name=name, given=given: (name, given | {"order_id": "#W?"}),
            3: lambda name=name, given=given: (name, {part: each for part, each in given.items() if part != "order_id"}),
            5: lambda name=name, given=given: (name, given | {"haste": "great"}),
        }  # fmt: skip
        odd = dice.randrange(24)
        if odd == 0:
            continue  # forgotten
        said = call.get(odd, lambda name=name, given=given: (name, given))()
        steps += ["Shall I do that?", *[said] * (1 + (odd == 4))]
    odd = dice.randrange(20)
    steps += [("find_all", {})] * (odd == 1) + [
        ("get_product_details", {"product_id": "8"}),
        ("find_user_id_by_name_zip", {"first_name": "EVA", "last_name": "x", "zip": ""}),
    ] * (odd == 2)
    if odd in (4, 5):  # which ends the conversation, whatever would follow
        steps.append(("transfer_to_human_agents", {"summary": "It is a matter for a person."}))
    if odd == 3:
        return [*steps, *["I am still looking."] * TURNS]  # the user never stops
    words = ", ".join(task["outputs"] if dice.random() < 0.85 else task["outputs"][:-1]).replace("1200.5", "$1,200.50")
    return [*steps, f"All is done: {words.upper()}.", "Goodbye."]


def answer(text: str) -> str:
    """Return what the user says to a text of the agent."""
    return f"Thanks. {STOP}" if "Goodbye." in text else "Yes, please."


def main() -> None:
    """Print the reward of each trial, and pass^k."""
    sys.modules["litellm"] = litellm = ModuleType("litellm")
    litellm.completion, litellm.provider_list = None, []  # type: ignore[attr-defined]
    import tau_bench.agents.tool_calling_agent as acting
    import tau_bench.run as running
    from tau_bench.envs import base
    from tau_bench.envs.retail.env import MockRetailDomainEnv
    from tau_bench.types import Action, EnvRunResult, Task

    user = SimpleNamespace(reset=lambda instruction: instruction, step=answer, get_total_cost=lambda: 0.0)
    base.load_user = lambda **_: user
    env = MockRetailDomainEnv(task_index=0)
    agent = acting.ToolCallingAgent(env.tools_info, env.wiki, "model", "provider")
    results = []
    for number, task in enumerate(tasks()):
        env.data_load_func = lambda data=task["data"]: copy.deepcopy(data)
        actions = [Action(name=name, kwargs=given) for name, given in task["actions"]]
        env.tasks = [
            Task(user_id=task["user_id"], actions=actions, instruction=task["instruction"], outputs=task["outputs"])
        ]
        for trial in range(TRIALS):
            steps = iter(script(number, trial))
            acting.completion = lambda steps=steps, **_: _reply(next(steps))
            reward = agent.solve(env, task_index=0, max_num_steps=TURNS).reward
            results.append(EnvRunResult(task_id=number, reward=reward, info={}, traj=[], trial=trial))
            print(json.dumps({"task": number, "trial": trial, "reward": reward}))
    stdout, sys.stdout = sys.stdout, io.StringIO()
    running.display_metrics(results)
    printed, sys.stdout = sys.stdout.getvalue(), stdout
    print(
        json.dumps(
            {line.split(":")[0].strip(): float(line.split(":")[1]) for line in printed.splitlines() if "k=" in line}
        )
    )


def _reply(step: Call | str) -> Any:
    """Return a step as the reply of a model."""
    message: dict[str, Any] = {"role": "assistant", "content": step if isinstance(step, str) else None}
    if not isinstance(step, str):
        message["tool_calls"] = [{"id": "1", "function": {"name": step[0], "arguments": json.dumps(step[1])}}]
    choice = SimpleNamespace(message=SimpleNamespace(model_dump=lambda: message))
    return SimpleNamespace(choices=[choice], _hidden_params={"response_cost": 0.0})


if __name__ == "__main__":
    main()
