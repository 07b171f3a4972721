"""Chats with calls of tools in the forms of other tools: calls with their ids, results, unreadable arguments, and the
tools that were offered."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.field.running import figures_in, lines
from tests.interchange.tools import inspect_python
from tripos_compiler.plan import ToolCall, write_calls

SPEC = """
benchmark shop "1.0.0" { languages en }
role candidate compared
tool take from "shop.py:take" "Take items." { name text "The item.", count integer? }
dataset item from "items.jsonl" { wish text, shelf json, goal json secret }
scenario serve {
  over item
  ask reply by candidate {
    system "You serve."
    prompt "{{ item.wish }}"
    tools  take
    state  item.shelf at most 4 turns
  }
  score done = reply.state == item.goal
}
measure done = mean(done)
"""
SHOP = "def take(state, name, count=1):\n    state[name] -= count\n    return f'{count} {name}'\n"
ITEMS = [
    {"wish": "two pears", "shelf": {"pear": 5}, "goal": {"pear": 3}},
    {"wish": "odd", "shelf": {"pear": 5}, "goal": {"pear": 4}},
]


def answer(messages: list[str]) -> str:
    """Call twice at once, then once with arguments that are no object, then say so."""
    said = " ".join(messages)
    if "two pears" in said:
        if "1 pear" not in said:
            calls = [ToolCall("take", {"name": "pear"}), ToolCall("take", {"name": "pear", "count": 1})]
            return write_calls("At once.", calls)
        return "Here you are."
    return "Nothing." if len(messages) > 4 else write_calls("", [ToolCall("take", "pear, please")])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    figures = figures_in(tmp_path, SPEC, {"items.jsonl": lines(ITEMS), "shop.py": SHOP}, answer)
    assert figures["done"].value == 0.5
    return tmp_path


def sample_of(wish: str) -> dict[str, Any]:
    [path] = Path("logs").glob("*.eval")
    with zipfile.ZipFile(path) as log:
        samples = [json.loads(log.read(name)) for name in log.namelist() if name.startswith("samples/")]
    [found] = [each for each in samples if any(wish in message["content"] for message in each["messages"])]
    return dict(found)


def test_inspect_has_calls_with_ids_and_results_that_name_them(here: Path, tripos: Command) -> None:
    assert tripos("export", "inspect", "-o", "logs").code == 0
    messages = sample_of("two pears")["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    said, first, second = messages[2:5]
    assert said["content"] == "At once."
    assert [(each["id"], each["function"], each["arguments"]) for each in said["tool_calls"]] == [
        ("call00001", "take", {"name": "pear"}),
        ("call00002", "take", {"name": "pear", "count": 1}),
    ]
    assert [(each["tool_call_id"], each["function"]) for each in (first, second)] == [
        ("call00001", "take"),
        ("call00002", "take"),
    ]
    assert messages[-1]["content"] == "Here you are." and "tool_calls" not in messages[-1]
    [event, *_] = [each for each in sample_of("two pears")["events"] if each["event"] == "model"]
    assert event["tool_choice"] == "auto" and [each["name"] for each in event["tools"]] == ["take"]
    assert event["tools"][0]["parameters"]["properties"]["name"] == {"type": "string", "description": "The item."}
    assert event["tools"][0]["parameters"]["required"] == ["name"]
    assert event["output"]["choices"][0]["message"]["tool_calls"] == said["tool_calls"]
    [wrong] = sample_of("odd")["messages"][2]["tool_calls"]
    assert wrong["arguments"] == {} and "pear, please" in wrong["parse_error"]


def test_inspect_reads_such_a_log(here: Path, tripos: Command) -> None:
    assert tripos("export", "inspect", "-o", "logs").code == 0
    program = """
import json
from inspect_ai.log import list_eval_logs, read_eval_log
[log] = [read_eval_log(info) for info in list_eval_logs("logs")]
calls = [call.function for sample in log.samples for message in sample.messages
         for call in getattr(message, "tool_calls", None) or ()]
tools = {tool.name for sample in log.samples for event in sample.events if event.event == "model"
         for tool in event.tools}
print(json.dumps([log.status, len(calls), sorted(tools)]))
"""
    done = subprocess.run([inspect_python(), "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    status, calls, tools = json.loads(done.stdout)
    assert status == "success" and calls >= 3 and tools == ["take"]


def test_lm_eval_has_the_chat_in_openai_s_form_and_the_tools_beside_the_settings(here: Path, tripos: Command) -> None:
    assert tripos("export", "lm-eval", "-o", "lm").code == 0
    [path] = Path("lm").glob("*/samples_*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    [row] = [each for each in rows if "two pears" in str(each["arguments"])]
    last = row["arguments"][f"gen_args_{len(row['arguments']) - 1}"]
    chat = json.loads(last["arg_0"])
    assert [each["role"] for each in chat] == ["system", "user", "assistant", "tool", "tool"]
    assert json.loads(chat[2]["tool_calls"][1]["function"]["arguments"]) == {"name": "pear", "count": 1}
    assert [each["tool_call_id"] for each in chat[3:]] == ["call00001", "call00002"]
    assert [each["function"]["name"] for each in last["arg_1"]["tools"]] == ["take"]
    assert json.loads(row["resps"][0][0])["calls"][0]["name"] == "take"
    [odd] = [each for each in rows if "odd" in str(each["arguments"]["gen_args_0"])]
    chat = json.loads(odd["arguments"]["gen_args_1"]["arg_0"])
    assert chat[2]["tool_calls"][0]["function"]["arguments"] == "pear, please"
