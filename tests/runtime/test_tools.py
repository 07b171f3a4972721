"""Tools: how providers are offered them, and how their calls are read, kept, reused and forecast."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import tripos
from tests.each import each
from tests.runtime.contract_server import Sent, ask, completion
from tripos.runs.compilation import find_spec
from tripos_compiler.library.functions.tools import calls_match
from tripos_compiler.plan import (
    BoolType,
    IntegerType,
    ListType,
    OptionalType,
    TextType,
    Tool,
    ToolCall,
    ToolParameter,
    read_calls,
    split_text_and_calls,
    tool_reply_type,
    write_calls,
)
from tripos_runtime.models.base import Message, Reply, Request
from tripos_runtime.models.replies import tool_names_by_sent, tools_in_request

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")

SPEC = """
benchmark weather "1.0.0" { languages en }
role candidate compared
tool forecast "The weather of the next days" {
  city text "The name of the city"
  days 1..7?
}
tool ping "Nothing" {}
dataset item from "items.jsonl" { question text, functions tools, answer calls secret }
scenario given {
  over item
  ask reply by candidate { prompt "{{ item.question }}", tools item.functions, samples 2, temperature 1 }
  score right = calls_match(reply.calls, item.functions, item.answer)
  score words = words(reply.text)
}
scenario declared {
  over item
  ask reply by candidate {
    tools forecast, ping
    prompt "{{ item.question }}"
  }
  score rome = any(call.city == "Rome" and default(call.days, 1) < 8 each call in reply.forecast)
  score pings = length(reply.ping)
  score named = "forecast" in reply.calls.name
}
measure right = mean(right)
"""
FUNCTION = {"name": "weather.now", "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}}}
ITEMS = [
    {
        "question": f"What is the weather in {city}?",
        "functions": [FUNCTION],
        "answer": [{"weather.now": {"city": [""]}}],
    }
    for city in ("Rome", "Oslo")
]
ASKED = Request(
    "m",
    (Message("user", "Weather in Rome?"),),
    tools=(json.dumps({**FUNCTION, "description": "Now", "parameters": {"type": "object", "properties": {}}}),),
)


def weather(folder: Path, spec: str = SPEC) -> str:
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ITEMS))
    (folder / "weather.tripos").write_text(spec)
    return str(folder / "weather.tripos")


def test_calls_are_read_as_typed_values_and_what_does_not_fit_is_left_out() -> None:
    parameters = (
        ToolParameter(name="city", type=TextType()),
        ToolParameter(name="days", type=OptionalType(of=IntegerType(low=1, high=7))),
        ToolParameter(name="tags", type=OptionalType(of=ListType(of=BoolType()))),
    )
    tool = Tool(name="forecast", about={"en": "Weather"}, parameters=parameters)
    assert list(tool_reply_type((tool,)).fields) == ["text", "calls", "forecast"]
    calls = [
        ToolCall("forecast", {"city": "Rome", "days": 3.0, "tags": [True]}),
        ToolCall("forecast", {"city": "Rome", "days": 9}),
        ToolCall("forecast", {"city": "Rome", "days": True}),
        ToolCall("forecast", {"city": "Rome", "when": "now"}),
        ToolCall("forecast", {"days": 2}),
        ToolCall("forecast", '{"city": "Rome"'),
        ToolCall("other", {"city": "Rome"}),
    ]
    found = read_calls((tool,), write_calls("Let me see.", calls))
    assert found["forecast"] == [{"city": "Rome", "days": 3, "tags": [True]}]
    assert found["text"] == "Let me see."
    assert [call["readable"] for call in found["calls"]] == [True] * 5 + [False, True]
    assert found["calls"][5]["arguments"] is None


@each("text", ["", "It is sunny.", '{"calls": 3}', '{"calls": [], "more": 1}', "[" * 9999, '{"calls": ["x"]}', "NaN"])
def test_a_reply_without_calls_is_a_text(text: str) -> None:
    assert split_text_and_calls(text) == (text, ())


def test_names_that_no_provider_takes_are_sent_otherwise_and_read_as_they_are() -> None:
    tools = tuple(json.dumps({"name": name}) for name in ("a.b", "a b", "weather_now", "天气", "x" * 70))
    names = tool_names_by_sent(tools)
    assert list(names) == ["a_b", "a_b_2", "weather_now", "__", "x" * 64]
    assert list(names.values()) == ["a.b", "a b", "weather_now", "天气", "x" * 70]
    assert [each["function"]["name"] for each in tools_in_request(tools)] == list(names)


def openai_form(arguments: Any) -> dict[str, Any]:
    said = completion(None)
    calls = [{"id": "1", "type": "function", "function": {"name": "weather_now", "arguments": arguments}}]
    said["choices"][0] |= {"finish_reason": "tool_calls"}
    said["choices"][0]["message"] |= {"tool_calls": calls}
    return said


def calling(path: str) -> dict[str, Any]:
    """A call of `weather_now` in the form of the provider whose path it is."""
    given = {"city": "Rome"}
    if path.endswith("/messages"):
        called = {"type": "tool_use", "id": "1", "name": "weather_now", "input": given}
        return {
            "id": "1", "type": "message", "role": "assistant", "model": "served",
            "content": [{"type": "text", "text": "Let me see."}, called], "stop_reason": "tool_use",
            "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 6},
        }  # fmt: skip
    if ":generateContent" in path:
        parts = [{"text": "Let me see."}, {"functionCall": {"name": "weather_now", "args": given}}]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 6, "totalTokenCount": 15},
            "modelVersion": "served", "responseId": "1",
        }  # fmt: skip
    if path.endswith("/api/chat"):
        message = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "weather_now", "arguments": given}}],
        }
        return {"message": message, "model": "served", "done": True, "done_reason": "stop"}
    return openai_form(json.dumps(given))


def asked(name: str, request: Request, form: Any) -> tuple[Reply, Sent]:
    """Return what a model replies on a server that answers so, and what the server was sent."""

    async def answer(sent: Sent) -> web.StreamResponse:
        return web.json_response(form(sent.path) if callable(form) else form)

    reply, (sent,) = ask(name, answer, replace(request, model=name), key_env="CONTRACT_KEY")
    return reply, sent


@each(
    "name",
    [
        *("openai/gpt-4o", "hosted_vllm/mine", "openai/o3-mini", "anthropic/claude-sonnet-4-5"),
        *("gemini/gemini-2.0-flash", "ollama_chat/llama3", "groq/llama-3.3-70b-versatile"),
    ],
)
def test_every_provider_is_offered_tools_in_its_form_and_its_calls_are_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTRACT_KEY", "contract-secret")
    reply, sent = asked(name, ASKED, calling)
    text, calls = split_text_and_calls(reply.text)
    assert calls == (ToolCall("weather.now", {"city": "Rome"}),)
    assert text in ("", "Let me see.")
    offered = json.dumps(sent.body["tools"])
    assert "weather_now" in offered and "weather.now" not in offered
    without, plain = asked(name, replace(ASKED, tools=()), calling)
    assert "tools" not in plain.body
    assert "weather" not in without.text


def test_arguments_that_are_no_object_are_kept_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTRACT_KEY", "contract-secret")
    for arguments, readable in (("", True), (None, True), ('{"city": "Ro', False), ("[1]", False), (3, False)):
        reply, _ = asked("openai/gpt-4o", ASKED, openai_form(arguments))
        (call,) = split_text_and_calls(reply.text)[1]
        assert call.readable is readable, arguments


def test_tools_are_asked_once_forecast_exactly_kept_and_asked_anew_where_they_change(tmp_path: Path) -> None:
    spec = tripos.compile(weather(tmp_path))
    store = tmp_path / "store"
    before = spec.plan(models=["mock/careful"], store=store)
    first = spec.run(models=["mock/careful"], store=store)
    again = spec.run(models=["mock/careful"], store=store)
    assert before.calls.low == before.calls.high == first.asked == 6
    assert (again.asked, again.reused) == (0, 6)
    rows = first.samples.to_arrow().to_pylist()
    assert {row["status"] for row in rows} == {"ok"}
    assert {call.name for row in rows for call in split_text_and_calls(row["reply"])[1]} <= {
        "weather.now",
        "forecast",
        "ping",
    }
    assert all([each["role"] for each in json.loads(row["messages"])][:2] == ["user", "tool"] for row in rows)
    changed = tripos.compile(weather(tmp_path, SPEC.replace("The name of the city", "A city")))
    assert changed.plan(models=["mock/careful"], store=store).calls.low == 2  # of the scenario that declares it
    loosened = tripos.compile(weather(tmp_path, SPEC.replace('"forecast" in', '"ping" in')))
    assert loosened.plan(models=["mock/careful"], store=store).calls.high == 0


def test_a_row_that_allows_a_call_of_a_tool_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = weather(tmp_path)
    wrong = {**ITEMS[1], "answer": [{"weather.then": {"city": [""]}}]}
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (ITEMS[0], wrong)))
    found = [(each.code, each.message) for each in find_spec(path).compile().diagnostics]
    assert found == [("W1002", "no reply gets `right` of row 2 of this scenario")]


@each("name", ["local/smollm2-135m", "text-completion-openai/mine", "ollama/llama3"])
def test_a_model_that_takes_no_tools_is_refused_before_a_call(tmp_path: Path, name: str) -> None:
    with pytest.raises(tripos.TriposError) as refused:
        tripos.compile(weather(tmp_path)).plan(models=[name], store=tmp_path / "store")
    assert refused.value.code == "R0128"


def test_a_member_of_a_record_may_have_one_value_in_place_of_a_list_of_them() -> None:
    inner = {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}}
    tools = [{"name": "go", "parameters": {"properties": {"to": inner}, "required": ["to"]}}]
    call: Any = {"name": "go", "arguments": {"to": {"city": "rome", "n": 5}}, "readable": True}
    for allowed, right in (
        ({"city": "Rome", "n": 5}, True),
        ({"city": "Rome", "n": 6}, False),
        ({"city": "Rome"}, False),
    ):
        assert calls_match([call], tools, [{"go": {"to": [allowed]}}]) is right
