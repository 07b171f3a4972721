"""How replies end: one table, in the code and in the documentation, that every provider's words and every way obey."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given, strategies as st

from tests.each import each
from tests.runtime.contract_server import Sent, Server, completion, serving
from tripos_compiler.plan import (
    FINISH_REASONS,
    MODEL_DEFAULTS,
    READINGS,
    Content,
    Ending,
    Form,
    IntegerType,
    Outcome,
    ToolCall,
    ending_of,
    finish_reasons_of,
    outcome_table,
    parse_call,
    reply_status,
    split_text_and_calls,
    write_calls,
)
from tripos_compiler.plan.outcomes import Reading
from tripos_runtime.asking.plan_questions import calls_reader, reply_reader
from tripos_runtime.asking.questions import Question, content_of, text_reader
from tripos_runtime.models.base import Message, Model, ModelError, Reply, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.http import HttpAnswer
from tripos_runtime.models.litellm_models import LitellmModel

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's, once a process

RUNNING = Path(__file__).parents[2] / "docs" / "reference/machine-output.md"
FORMS = {
    "text": "a text",
    "turn": "a turn of a conversation",
    "typed": "a typed reply, a judge's reply",
    "tools": "a reply to a step with tools",
    "number": "a reward, likelihoods",
}
CONTENTS = {"answer": "an answer", "calls": "calls of tools", "thinking": "nothing but thinking", "empty": "nothing"}
READ = {"read": "", "refusal": ", which refuses in words", "unread": ", which cannot be read"}
SHOWN = (Ending.STOP, Ending.LENGTH, Ending.CONTENT_FILTER, Ending.ERROR)


def cell(found: Outcome, form: Form, reading: Reading) -> str:
    if not found.scored or found.status == "ok" or form == "number":
        return f"`{found.status}`"
    return f"`{found.status}`, " + ("scored" if reading == "read" else "its text is scored")


def table_of_endings() -> Iterator[str]:
    """Yield the lines of the table in the documentation. `tool_calls` and unknown words are as `stop`."""
    yield "| reply | has | " + " | ".join(f"`{each}`" for each in SHOWN) + " |"
    yield "| --- | --- |" + " --- |" * len(SHOWN)
    for form, content, reading, outcomes in outcome_table():
        assert outcomes[Ending.STOP] == outcomes[Ending.TOOL_CALLS] == outcomes[Ending.UNKNOWN]
        has = CONTENTS[content] + (READ[reading] if content == "answer" else "")
        yield f"| {FORMS[form]} | {has} | " + " | ".join(cell(outcomes[each], form, reading) for each in SHOWN) + " |"


def table_of_words() -> Iterator[str]:
    yield "| ending | words of providers |"
    yield "| --- | --- |"
    for ending, words in FINISH_REASONS.items():
        yield f"| `{ending}` | {' '.join(f'`{word}`' for word in words)} |"


def test_the_documentation_has_the_table_and_the_words() -> None:
    """`TRIPOS_UPDATE_GOLDEN=1` writes them."""
    wanted = RUNNING.read_text("utf-8")
    for name, lines in {"endings": table_of_endings(), "words": table_of_words()}.items():
        before, after = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        start = wanted.index(before) + len(before)
        wanted = wanted[:start] + "\n".join(lines) + wanted[wanted.index(after) :]
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        RUNNING.write_text(wanted, "utf-8")
    assert RUNNING.read_text("utf-8") == wanted


def test_the_status_of_every_ending_content_form_and_reading() -> None:
    """The whole product, by the rules that the table stands for."""
    for ending, content, form, reading in product(Ending, get_args(Content), get_args(Form), get_args(Reading)):
        status, scored, reason = reply_status(ending, content, form, reading)
        about = (ending, content, form, reading)
        if ending is Ending.ERROR:
            assert (status, scored) == ("provider_error", False), about
        elif ending is Ending.CONTENT_FILTER:
            assert (status, scored) == ("refused", False), about
        elif content in ("thinking", "empty") and form != "turn":
            assert (status, scored) == ("truncated" if ending is Ending.LENGTH else "parse_failure", False), about
            assert reason is not None and ("thinking" in reason) == (content == "thinking"), about
        elif form in ("typed", "number"):
            bad = "truncated" if ending is Ending.LENGTH else "parse_failure"
            assert (status, scored) == ({"read": "ok", "refusal": "refused", "unread": bad}[reading], True), about
        else:
            assert (status, scored) == ("truncated" if ending is Ending.LENGTH else "ok", True), about
        assert (reason is None) == scored, about


def test_a_word_has_one_ending_in_any_case() -> None:
    every = [word.casefold() for words in FINISH_REASONS.values() for word in words]
    assert len(every) == len(set(every))
    for ending, words in FINISH_REASONS.items():
        assert all(ending_of(form) is ending for word in words for form in (word, word.lower(), word.upper()))
        assert set(finish_reasons_of(ending)) == {word.lower() for word in words}
    assert {ending_of(None), ending_of("anything else"), ending_of("")} == {Ending.UNKNOWN}


# Questions and replies of each form

TOOL = '{"name": "add", "parameters": {"type": "object", "properties": {}}}'
ADD = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
QUESTIONS: dict[Form, Question] = {
    "text": Question(None, None, MODEL_DEFAULTS, None, text_reader),
    "turn": Question(None, None, MODEL_DEFAULTS, None, text_reader, form="turn"),
    "typed": Question(None, None, MODEL_DEFAULTS, {}, reply_reader(IntegerType(low=1, high=5), (), "en"), form="typed"),
    "tools": Question(None, None, MODEL_DEFAULTS, None, calls_reader(()), form="tools"),
}
TEXTS: Mapping[tuple[Form, Content, Reading], str | None] = {
    ("text", "answer", "read"): "The answer is 42.",
    ("text", "empty", "read"): "",
    ("turn", "answer", "read"): "Well.",
    ("turn", "empty", "read"): None,
    ("typed", "answer", "read"): "4",
    ("typed", "answer", "refusal"): "I'm sorry, but I cannot help with that.",
    ("typed", "answer", "unread"): "Blue.",
    ("typed", "empty", "unread"): None,
    ("tools", "answer", "read"): "It is 12 degrees.",
    ("tools", "calls", "read"): None,
    ("tools", "empty", "read"): "",
}


def outcome_of(form: Form, reply: Reply) -> tuple[str, bool]:
    kept = {"reply": reply.text, "finish_reason": reply.finish_reason}
    found = QUESTIONS[form].read(kept)
    assert found.value is None or found.scored
    return found.status, found.scored


def request_of(name: str, form: Form, samples: int = 1) -> Request:
    return Request(name, (Message("user", "hi"),), tools=(TOOL,) if form == "tools" else (), samples=samples)


class Way(NamedTuple):
    """A way to a model: its name, whether litellm sends for itself, and how its server says a text and a word."""

    name: str
    litellm: bool
    body: Any


def openai_body(text: str | None, word: str | None, calls: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **({"tool_calls": [ADD]} if calls else {})}
    return completion(choices=[{"index": 0, "finish_reason": word, "message": message}])


def claude_body(text: str | None, word: str | None, calls: bool) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [] if not text else [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": "c1", "name": "add", "input": {}}] if calls else []
    used = {"input_tokens": 9, "output_tokens": 6}
    told = {"id": "1", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None, "usage": used}
    return {**told, "content": blocks, "stop_reason": word}


def gemini_body(text: str | None, word: str | None, calls: bool) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [] if not text else [{"text": text}]
    parts += [{"functionCall": {"name": "add", "args": {}}}] if calls else []
    candidate = {"index": 0, "finishReason": word, **({"content": {"role": "model", "parts": parts}} if parts else {})}
    used = {"promptTokenCount": 9, "candidatesTokenCount": 6, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": used, "modelVersion": "g"}


WAYS = {
    "direct": (Way("hosted_vllm/m", False, openai_body), tuple(word for words in FINISH_REASONS.values() for word in words)),
    "litellm": (Way("hosted_vllm/m", True, openai_body), ("stop", "length", "tool_calls", "content_filter", "error", "abort", "network_error")),
    "Claude": (Way("anthropic/claude-sonnet-4-5", False, claude_body), ("end_turn", "stop_sequence", "max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "tool_use")),
    "Claude by litellm": (Way("anthropic/claude-sonnet-4-5", True, claude_body), ("end_turn", "max_tokens", "refusal", "tool_use")),
    "Gemini": (Way("gemini/gemini-2.5-pro", False, gemini_body), ("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")),
    "Gemini by litellm": (Way("gemini/gemini-2.5-pro", True, gemini_body), ("STOP", "MAX_TOKENS", "SAFETY", "PROHIBITED_CONTENT", "MALFORMED_FUNCTION_CALL")),
}  # fmt: skip


@pytest.mark.parametrize("which", WAYS)
def test_every_row_of_the_table_over_the_wire(which: str) -> None:
    """A server on loopback sends each word with each content for each form: what is read is what the table says."""
    way, words = WAYS[which]
    cells = list(product(words, TEXTS.items()))

    async def answer(_: Sent) -> Any:
        from aiohttp import web

        word, ((_form, content, _reading), text) = at[0]
        return web.json_response(way.body(text, word, content == "calls"))

    at: list[Any] = [None]

    async def use(server: Server) -> None:
        endpoint = server.endpoint()
        make = LitellmModel(way.name, endpoint) if way.litellm else open_model(way.name, {way.name: endpoint})
        model: Model = make
        for at[0] in cells:
            word, ((form, content, reading), _) = at[0]
            expected = reply_status(ending_of(word), content, form, reading)
            try:
                found = outcome_of(form, await model.ask(request_of(way.name, form)))
            except ModelError as error:
                assert (error.code, error.retryable, error.fatal) == ("R0111", True, False), (at[0], str(error))
                found = error.status, False
            assert found == expected[:2], (which, at[0])
        await model.close()

    serving(answer, use)


@pytest.mark.parametrize("which", [name for name, (way, _) in WAYS.items() if not way.litellm])
def test_every_row_of_the_table_in_a_batch(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a batch are read as answers are."""
    way, words = WAYS[which]
    name = way.name if "/m" not in way.name else "openai/gpt-4o"
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, "a-key-of-nobody")
    asyncio.run(ask_in_batches(way, words, name))


async def ask_in_batches(way: Way, words: tuple[str, ...], name: str) -> None:
    model: Any = open_model(name)
    for word, ((form, content, reading), text) in product(words, TEXTS.items()):
        body = json.dumps(way.body(text, word, content == "calls")).encode()
        expected = reply_status(ending_of(word), content, form, reading)
        try:
            found = outcome_of(form, await model.reply_in(request_of(name, form), HttpAnswer(200, {}, body)))
        except ModelError as error:
            assert error.retryable
            found = error.status, False
        assert found == expected[:2], (word, form, content)
    await model.close()


# Samples


def choices_body(*words: str, content: str = "42") -> dict[str, Any]:
    told = [
        {"index": place, "finish_reason": word, "message": {"role": "assistant", "content": content}}
        for place, word in enumerate(words)
    ]
    return completion(choices=told)


@given(st.lists(st.sampled_from([word for words in FINISH_REASONS.values() for word in words]), min_size=1, max_size=5))
def test_each_of_several_choices_is_what_it_is_alone(words: list[str]) -> None:
    from tripos_runtime.models.replies import read_reply

    whole = [word for word in words if ending_of(word) is not Ending.ERROR]
    try:
        reply = read_reply(choices_body(*words), "m", None)
    except ModelError as error:
        assert not whole and error.retryable and error.broken
        return
    found = [reply, *reply.further_choices]
    assert [each.finish_reason for each in found] == whole
    alone = [read_reply(choices_body(word), "m", None) for word in whole]
    assert [outcome_of("text", each) for each in found] == [outcome_of("text", each) for each in alone]
    assert sum(each.tokens_out or 0 for each in found) == 60, "what was paid belongs to those that are there"


FIELDS = [
    ({"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}, "refused"),
    ({"message": {"content": "", "refusal": "No."}, "finish_reason": "length"}, "refused"),
    ({"message": {"content": "42", "refusal": ""}, "finish_reason": "stop"}, "ok"),
    ({"message": {"content": "42", "refusal": None}, "finish_reason": None}, "ok"),
    ({"message": {"content": "42"}, "finish_reason": "stop", "error": None}, "ok"),
    ({"message": {"content": "42"}, "finish_reason": "stop", "error": {"code": 502}}, "provider_error"),
    ({"message": {"content": "42"}, "finish_reason": None, "error": {"message": "gone"}}, "provider_error"),
    ({"message": {"content": "42"}, "finish_reason": 7}, "ok"),
    ({"message": {"content": None, "reasoning_content": "It is 42."}, "finish_reason": "stop"}, "parse_failure"),
    ({"message": {"content": None, "reasoning": "It is"}, "finish_reason": "length"}, "truncated"),
    ({"message": {"content": " \n\u00a0"}, "finish_reason": "stop"}, "parse_failure"),
]


@each("choice, status", FIELDS)
def test_refusals_and_errors_in_fields_of_their_own(choice: dict[str, Any], status: str) -> None:
    from tripos_runtime.models.replies import read_reply

    try:
        found = outcome_of("text", read_reply(completion(choices=[choice]), "m", None))[0]
    except ModelError as error:
        found = error.status
    assert found == status


# Arguments of calls


@each("arguments", [None, "", " ", "\n\t", '""', '" "', "null", " null ", "{}", {}, " {} "])
def test_arguments_of_null_or_blank_are_empty(arguments: Any) -> None:
    assert parse_call("ping", arguments) == ToolCall("ping", {})
    assert split_text_and_calls(write_calls("", [parse_call("ping", arguments)])) == ("", (ToolCall("ping", {}),))
    kept = json.dumps({"text": "", "calls": [{"name": "ping", "arguments": arguments}]})
    assert split_text_and_calls(kept)[1] == (ToolCall("ping", {}),), "a row of an earlier run too"


@each("arguments", ["{a: 1", "[1]", "x", 3, [1], True, '"x"', "0", "false", "[]"])
def test_arguments_that_are_something_else_are_unreadable(arguments: Any) -> None:
    assert not parse_call("ping", arguments).readable


def test_what_a_reply_has_is_said_in_one_place() -> None:
    assert content_of("x", "text") == "answer"
    assert content_of(" \u3000\n", "typed") == "empty"
    assert content_of("", "text", thought=True) == "thinking"
    hidden = {"reply": "", "finish_reason": "length", "tokens_reasoning": 9}
    assert QUESTIONS["text"].read(hidden).error == "the reply is nothing but thinking: it was cut off"
    assert content_of(write_calls("", ()), "tools") == "empty"
    assert content_of(write_calls("x", ()), "tools") == "answer"
    assert content_of(write_calls("", [ToolCall("a", {})]), "tools") == "calls"
    assert set(READINGS) == {"ok", "refused", "parse_failure"}
