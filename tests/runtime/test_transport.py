"""The way to models: which one is taken, what it needs, and what it makes of odd requests and replies."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.each import each
from tests.lengths import sized
from tests.runtime.contract_server import REQUEST, Sent, Server, answering, ask, completion, form_of, serving
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Endpoint, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import KEYED, NATIVE_PROVIDERS, PROVIDERS, path_of, set_file_variables
from tripos_runtime.models.families import open_model
from tripos_runtime.models.http import HttpAnswer
from tripos_runtime.models.litellm_models import file_arguments, library, settings_of

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's, once a process

HERE = Endpoint("http://127.0.0.1:1/v1")


def asked(name: str, body: Any, request: Request = REQUEST, **options: Any) -> tuple[Reply, list[Sent]]:
    return ask(name, answering(body), request, **options)


@pytest.mark.parametrize(
    ("name", "endpoints", "path"),
    [
        ("openai/gpt-4o", {}, "direct"),
        ("openai/gpt-4o-2024-08-06", {}, "direct"),
        ("openai/ft:gpt-4o-mini-2024-07-18:school::id", {}, "direct"),
        ("openai/llama-3", {"openai": HERE}, "direct"),
        ("openai/gpt-5-mini", {"openai": HERE}, "litellm"),
        ("openai/o3-mini", {}, "litellm"),
        ("openai/o1-pro", {}, "litellm"),
        ("openai/gpt-3.5-turbo-instruct", {}, "direct"),
        ("openai/newer-than-the-map", {}, "litellm"),
        ("hosted_vllm/Qwen/Qwen3-8B", {}, "direct"),
        ("groq/anything", {}, "direct"),
        ("anthropic/claude-sonnet-4-5", {}, "litellm"),
        ("azure/deployment", {}, "litellm"),
        ("azure/deployment", {"azure": Endpoint("https://school.openai.azure.com", "KEY")}, "litellm"),
        ("azure/deployment", {"azure": Endpoint("https://school.openai.azure.com/openai/v1", "KEY")}, "litellm"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", {}, "litellm"),
        ("vertex_ai/gemini-2.5-pro", {}, "litellm"),
        ("nonsense", {}, "litellm"),
    ],
)
def test_a_way_is_chosen_by_name_and_address(
    name: str, endpoints: dict[str, Endpoint], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("AZURE_API_KEY", "AZURE_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    assert path_of(name, endpoints) == path


def test_a_direct_model_is_asked_without_litellm() -> None:
    script = f"""
import asyncio, sys
from tripos_runtime.models.base import Endpoint, Message, ModelError, Request
from tripos_runtime.models.families import open_model
async def go():
    model = open_model("openai/gpt-4o", {{"openai": Endpoint({HERE.base_url!r})}})
    assert model.price is not None and model.structured
    try:
        await model.ask(Request("m", (Message("user", "hi"),)))
    except ModelError as error:
        print(error.code)
    await model.close()
asyncio.run(go())
print(sorted({{"litellm", "openai", "httpx"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["R0101", "[]"]


def test_what_is_known_of_a_model_is_known_without_a_network() -> None:
    """litellm would fetch its map of models, unless it is told otherwise before it is imported."""
    script = """
import socket
def refuse(*args, **_): raise SystemExit(f"the network is asked for {args}")
socket.getaddrinfo = refuse
from tripos_compiler.plan import Settings
from tripos_runtime.models.families import gives_token_probabilities, ignored_settings_by_name
assert not gives_token_probabilities("anthropic/claude-sonnet-4-5")
assert ignored_settings_by_name("openai/gpt-5")(Settings(top_k=5)) == ("top_k",)
from tripos_runtime.models.litellm_models import sends_tools
assert sends_tools("gemini/gemini-2.5-pro")
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM_")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_endpoint_is_its_address_and_the_name_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHOOL_KEY", "school-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    endpoints = {"openai/x": Endpoint("http://127.0.0.1:1/v1/", "SCHOOL_KEY"), "anthropic": HERE}
    found = {
        name: open_model(name, endpoints).endpoint
        for name in ("openai/x", "openai/gpt-4o", "openai/o3", "anthropic/claude-sonnet-4-5")
    }
    assert found == {
        "openai/x": "http://127.0.0.1:1/v1 SCHOOL_KEY",
        "openai/gpt-4o": "https://api.openai.com/v1 OPENAI_API_KEY",
        "openai/o3": "https://api.openai.com/v1 OPENAI_API_KEY",
        "anthropic/claude-sonnet-4-5": "http://127.0.0.1:1/v1",
    }


KEY_VARIABLES = ("OPENAI", "MISTRAL", "MISTRAL_AZURE", "TOGETHER", "TOGETHER_AI", "TOGETHERAI", "ANTHROPIC", "GEMINI",
                 "GOOGLE", "DEEPSEEK")  # fmt: skip
SERVER_OF_YOUR_OWN = "a server of your own: `hosted_vllm/NAME`, with its address under [endpoints] in tripos.toml"


@each("name, code, hint", [
    ("openai/gpt-4o", "R0102", "set OPENAI_API_KEY"),
    ("openai/o3", "R0102", "set OPENAI_API_KEY"),
    ("openai/x", "R0102", "set NO_SUCH_KEY"),
    ("mistral/mistral-small-latest", "R0102", "set MISTRAL_API_KEY"),
    ("together_ai/x", "R0102", "set TOGETHER_API_KEY"),
    ("anthropic/claude-sonnet-4-5", "R0102", "set ANTHROPIC_API_KEY"),
    ("gemini/gemini-2.5-pro", "R0102", "set GEMINI_API_KEY"),
    ("deepseek/deepseek-chat", "R0102", "set DEEPSEEK_API_KEY"),
    ("opnai/gpt-4o", "R0103", "did you mean `openai/gpt-4o`?"),
    ("house/llm", "R0103", SERVER_OF_YOUR_OWN),
    ("no-such-provider/x", "R0103", SERVER_OF_YOUR_OWN),
    ("gpt-of-nobody", "R0103", "write `provider/model`, such as `openai/gpt-4o`"),
])  # fmt: skip
def test_a_key_that_is_missing_or_an_unknown_provider_is_told_on_opening(
    name: str, code: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in KEY_VARIABLES:
        monkeypatch.delenv(f"{variable}_API_KEY", raising=False)
    monkeypatch.delenv("TOGETHER_AI_TOKEN", raising=False)
    with pytest.raises(ModelError) as caught:
        open_model(name, {"openai/x": Endpoint("http://127.0.0.1:1/v1", "NO_SUCH_KEY")})
    assert (caught.value.code, caught.value.hint, caught.value.fatal) == (code, hint, True)
    assert capsys.readouterr() == ("", "")


def test_a_provider_without_a_place_of_its_own_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOSTED_VLLM_API_BASE", raising=False)
    with pytest.raises(ModelError) as caught:
        open_model("hosted_vllm/x")
    assert (caught.value.code, caught.value.fatal) == ("R0101", True)
    assert "HOSTED_VLLM_API_BASE" in caught.value.hint


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def test_a_request_is_sent_as_it_is_and_its_reply_keeps_what_was_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHOOL_KEY", "school-secret")

    async def use(server: Server) -> list[Reply]:
        settings = Settings(temperature=0.0, max_tokens=9, stop=("END",), seed=3)
        messages = (Message("system", "be brief"), Message("user", "hi"))
        model = open_model("openai/mock-model", {"openai": server.endpoint("SCHOOL_KEY")})
        plain = open_model("openai/mock-model", {"openai": server.endpoint()})
        replies = [await model.ask(Request("m", messages, settings, SCHEMA)), await plain.ask(REQUEST)]
        for opened in (model, plain):
            await opened.close()
        return replies

    replies, (whole, least) = serving(answering(completion(usage={"prompt_tokens": 5, "completion_tokens": 2})), use)
    assert replies == [Reply("it is so", "served", "stop", 5, 2, None)] * 2
    assert whole.body == {
        "model": "mock-model",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "temperature": 0.0,
        "max_tokens": 9,
        "stop": ["END"],
        "seed": 3,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}},
    }
    assert least.body == {"model": "mock-model", "messages": [{"role": "user", "content": "hi"}]}
    assert [sent.headers["authorization"] for sent in (whole, least)] == ["Bearer school-secret", "Bearer none"]


@each("part", [{}, {"type": "array", "items": {}}, {"anyOf": [{}, {"type": "null"}]}])
def test_a_reply_with_any_json_in_it_is_held_to_no_schema(part: dict[str, Any]) -> None:
    """Strict output knows no part of any form, and a mode without a schema would make an object of a list."""
    for schema in (part, SCHEMA | {"properties": {"a": {"type": "integer"}, "b": part}}):
        request = replace(REQUEST, schema=schema)
        assert sorted(asked("openai/m", completion(), request)[1][0].body) == ["messages", "model"]
        assert "response_format" not in settings_of(request, structured=True)


def test_a_declined_structured_reply_is_read_as_its_refusal() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    reply, _ = asked("openai/m", completion(choices=[{"index": 0, "finish_reason": "stop", "message": message}]))
    assert (reply.text, reply.finish_reason) == ("I cannot.", "refusal")


def test_structured_output_is_known_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    far = {"openai/far": Endpoint("https://example.org/v1")}
    assert [open_model(name, far).structured for name in ("openai/gpt-4o", "openai/far")] == [True, False]


def test_the_keys_of_providers_are_called_as_litellm_calls_them() -> None:
    folder = Path(library().__file__).parent
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".json") and "proxy" not in path.parts]
    texts = "\n".join(path.read_text("utf-8") for path in files if path.stat().st_size < 2**21)
    names = {name for names in KEYED.values() for name in names}
    assert {name for name in names if not re.search(rf"[\"']{name}[\"']", texts)} == set()
    assert not KEYED.keys() & {*PROVIDERS, *NATIVE_PROVIDERS}


@each("provider", KEYED)
def test_a_key_that_a_file_gives_is_told_to_litellm_and_stays_out_of_the_environment(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYED[provider]:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    set_file_variables([{KEYED[provider][0]: "sk-of-the-file"}])
    try:
        assert file_arguments(provider) == {"api_key": "sk-of-the-file"}
        monkeypatch.setenv(KEYED[provider][-1], "sk-of-the-environment")
        assert file_arguments(provider) == {}
    finally:
        set_file_variables([])
    monkeypatch.delenv(KEYED[provider][-1])
    assert dict(os.environ) == before


def choices(*texts: str, finish: str = "stop") -> list[dict[str, Any]]:
    return [
        {"index": index, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        for index, text in enumerate(texts)
    ]


def test_several_samples_are_asked_for_at_once_and_share_the_usage() -> None:
    request = replace(REQUEST, samples=3)
    body = completion(
        choices=choices("a" * 99, "b" * 199, "c" * 299), usage={"prompt_tokens": 100, "completion_tokens": 600}
    )
    prices = {"hosted_vllm/x": Price(1.0, 2.0)}
    reply, sent = asked("hosted_vllm/x", body, request, prices=prices)
    assert sent[0].body["n"] == 3
    every = (reply, *reply.further_choices)
    assert [each.text[0] for each in every] == ["a", "b", "c"]
    assert [each.tokens_in for each in every] == [100, 0, 0]
    assert [each.tokens_out for each in every] == [100, 200, 300]
    assert [each.cost_usd for each in every] == [300.0, 400.0, 600.0]
    assert all(each.further_choices == () for each in reply.further_choices)


@pytest.mark.parametrize(("tokens_out", "reasoning"), [(7, 3), (0, 0), (1, 1)])
def test_shares_of_the_usage_add_up(tokens_out: int, reasoning: int) -> None:
    used = {
        "prompt_tokens": 10,
        "completion_tokens": tokens_out,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    body = completion(choices=choices("", "bb", "a long one"), usage=used)
    prices = {"hosted_vllm/x": Price(0.1, 0.2)}
    reply, _ = asked("hosted_vllm/x", body, replace(REQUEST, samples=3), prices=prices)
    every = (reply, *reply.further_choices)
    assert sum(each.tokens_out or 0 for each in every) == tokens_out
    assert sum(each.tokens_reasoning or 0 for each in every) == reasoning
    assert sum(each.cost_usd or 0 for each in every) == pytest.approx(1.0 + 0.2 * tokens_out)


def test_a_model_whose_bill_is_not_known_is_asked_for_one_sample() -> None:
    model = open_model("openai/school-model", {"openai": HERE})
    assert model.most_samples == 1
    assert open_model("hosted_vllm/x", {"hosted_vllm": HERE}).most_samples > 1
    _, sent = asked("openai/school-model", completion(), replace(REQUEST, samples=3))
    assert "n" not in sent[0].body


@pytest.mark.parametrize("name", ["openai/m", "anthropic/claude-sonnet-4-5", "openai/gpt-5"])
def test_text_that_is_no_text_is_sent_as_valid_json(name: str) -> None:
    body = form_of("/v1/messages" if name.startswith("anthropic") else "")
    request = Request("m", (Message("user", "a\ud800b\x00c\U0001f600"),))
    _, sent = asked(name, body, request)
    content = sent[0].body["messages"][0]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert text == "a\ufffdb\x00c\U0001f600"


def test_half_a_surrogate_pair_in_a_reply_does_not_lose_it() -> None:
    reply, _ = asked(
        "openai/m", b'{"model": "m", "choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
    )
    assert reply.text == "a\ufffdb"


def test_thoughts_that_a_server_leaves_in_the_text_stay_and_those_apart_do_not_enter_it() -> None:
    left = completion("<think>hm</think>42")
    assert asked("openai/m", left)[0].text == "<think>hm</think>42"
    message = {"role": "assistant", "content": "42", "reasoning_content": "hm"}
    assert (
        asked("openai/m", completion(choices=[{"index": 0, "finish_reason": "stop", "message": message}]))[0].text
        == "42"
    )
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "42"}]
    assert asked("mistral/magistral-medium-2509", completion(parts))[0].text == "42"  # type: ignore[arg-type]


def test_a_part_without_a_text_adds_nothing_to_the_reply() -> None:
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "42"}, {"type": "text", "text": 7}]
    assert asked("openai/m", completion(parts))[0].text == "42"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "read"),
    [("stop", "stop"), ("eos", "eos"), ("model_length", "model_length"), ("", None), (None, None), (7, None)],
)
def test_the_word_for_the_end_of_a_reply_is_the_provider_s(told: Any, read: str | None) -> None:
    body = completion(choices=choices("x"))
    body["choices"][0]["finish_reason"] = told
    assert asked("openai/m", body)[0].finish_reason == read


def test_some_withheld_samples_leave_the_others() -> None:
    body = completion(choices=choices("good", finish="stop") + choices("", finish="content_filter"))
    reply, _ = asked("hosted_vllm/x", body, replace(REQUEST, samples=2))
    assert (reply.text, [(each.text, each.finish_reason) for each in reply.further_choices]) == (
        "good",
        [("", "content_filter")],
    )


def test_a_system_message_is_folded_where_a_model_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_runtime.models.chat_completions.has_capability", lambda _, __, what: False)
    request = Request("m", (Message("system", "be brief"), Message("user", "hi")))
    _, sent = asked("openai/m", completion(), request)
    assert sent[0].body["messages"] == [{"role": "user", "content": "be brief\n\nhi"}]


CARRIED = ("openai/gpt-5", "anthropic/claude-sonnet-4-5", "azure/gpt-4o", "gemini/gemini-2.5-pro", "ollama_chat/llama3")
"""A model of each form whose calls by litellm go over our own connections."""


@pytest.mark.parametrize("name", ["openai/m", "openai/gpt-5"], ids=["direct", "by litellm"])
def test_many_calls_at_once_each_get_a_connection(name: str) -> None:
    async def use(server: Server) -> tuple[int, int]:
        waiting, most, all_here = 0, 0, asyncio.Event()

        async def answer(_: Sent) -> web.StreamResponse:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            if waiting == 300:
                all_here.set()
            await all_here.wait()
            return web.json_response(completion())

        server.answer = answer
        model = open_model(name, {"openai": server.endpoint()})
        replies = await asyncio.gather(*(model.ask(REQUEST) for _ in range(300)))
        await model.close()
        return most, len(replies)

    assert serving(answering({}), use)[0] == (300, 300)


def test_what_litellm_would_send_by_itself_is_not_sent_for_a_batch() -> None:
    async def use(server: Server) -> None:
        model: Any = open_model("openai/responses/gpt-5", {"openai": server.endpoint()})
        with pytest.raises(ModelError):
            await model.request_body(REQUEST)
        await model.close()

    assert serving(answering({}), use)[1] == []


def test_tools_and_reasoning_together_are_sent_to_the_api_that_takes_them_and_a_batch_sends_nothing() -> None:
    """litellm asks some of OpenAI's models so by its API Responses."""
    text = {"type": "output_text", "text": "it is so KEY-of-the-school", "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    body = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "served",
            "output": [message], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    tool = '{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}'
    request = replace(REQUEST, tools=(tool,), settings=Settings(reasoning_effort="low"))

    async def use(server: Server) -> tuple[Reply, bytes, Reply]:
        model: Any = open_model("openai/gpt-5.4", {"openai": server.endpoint("SCHOOL_KEY")})
        try:
            reply = await model.ask(request)
            chat = HttpAnswer(200, {}, orjson.dumps(completion()))
            return reply, await model.request_body(request), await model.reply_in(request, chat)
        finally:
            await model.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCHOOL_KEY", "KEY-of-the-school")
        (reply, line, from_batch), sent = serving(answering(body), use)
    assert [each.path for each in sent] == ["/v1/responses"], "the line of a batch is written, and not sent"
    assert (reply.text, reply.tokens_out) == ('{"text": "it is so [key]", "calls": []}', 5)
    written = orjson.loads(line)
    assert (written["reasoning_effort"], len(written["tools"]), "messages" in written) == ("low", 1, True)
    assert from_batch.text == '{"text": "it is so", "calls": []}'


@pytest.mark.parametrize("way", ["cancelled", "out of time"])
@pytest.mark.parametrize("name", ["openai/m", *CARRIED])
def test_a_call_that_ends_early_closes_its_connection_at_once(name: str, way: str) -> None:
    """Otherwise a server goes on with a reply that nobody waits for, beside that of the next call."""

    async def go() -> None:
        asked, closed = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            try:
                while await reader.read(65_536):
                    pass
            except ConnectionError:
                pass
            closed.set()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        endpoint = Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        model = open_model(name, {name: endpoint}, timeout_s=0.3 if way == "out of time" else 60.0)
        call = asyncio.create_task(model.ask(REQUEST))
        async with asyncio.timeout(20):
            await asked.wait()
            if way == "cancelled":
                call.cancel()
            assert isinstance(
                (await asyncio.gather(call, return_exceptions=True))[0], asyncio.CancelledError | ModelError
            )
            await closed.wait()
        await model.close()
        server.close()

    asyncio.run(go())


def test_a_process_that_ends_right_after_a_call_ends_well() -> None:
    script = """
import asyncio, sys
from tests.runtime.contract_server import answering, completion, serving
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.families import open_model
async def use(server):
    model = open_model("openai/m", {"openai": server.endpoint()})
    await asyncio.gather(*(model.ask(Request("m", (Message("user", "hi"),))) for _ in range(64)))
serving(answering(completion()), use)
"""
    for _ in range(sized(1, 3)):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", CARRIED)
def test_a_call_by_litellm_is_one_request_whatever_it_would_try_again(name: str) -> None:
    """And a request that the model is not to be sent is written all the same: a batch has it."""

    async def use(server: Server) -> bytes:
        model: Any = open_model(name, {name: server.endpoint()})
        with pytest.raises(ModelError) as caught:
            await model.ask(REQUEST)
        assert (caught.value.code, caught.value.retryable) == ("R0111", True)
        body: bytes = await model.request_body(REQUEST)
        await model.close()
        return body

    body, sent = serving(answering({"error": {"message": "overloaded"}}, 529), use)
    assert len(sent) == 1
    assert orjson.loads(body) == sent[0].body


def test_models_share_connections_and_outlive_each_other() -> None:
    async def use(server: Server) -> list[str]:
        endpoints = {"openai": server.endpoint(), "mistral": server.endpoint()}
        texts = []
        models = [open_model(name, endpoints) for name in ("openai/a", "mistral/b", "openai/gpt-5")]
        for model in models:
            texts.append((await model.ask(REQUEST)).text)
        for model in models:
            await model.close()
            await model.close()
        again = open_model("openai/a", endpoints)
        texts.append((await again.ask(REQUEST)).text)
        await again.close()
        return texts

    assert serving(answering(completion()), use)[0] == ["it is so"] * 4


def test_a_model_is_asked_in_one_event_loop_after_another() -> None:
    model = open_model("hosted_vllm/x", {"hosted_vllm": HERE})

    async def go(*, last: bool) -> str:
        with pytest.raises(ModelError) as caught:
            await model.ask(REQUEST)
        if last:
            await model.close()
        return caught.value.code

    assert [asyncio.run(go(last=last)) for last in (False, True)] == ["R0101", "R0101"]


def test_the_organisation_of_an_account_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    _, sent = asked("openai/m", completion())
    assert sent[0].headers["openai-organization"] == "org-1"


def test_a_proxy_is_taken_for_far_addresses_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from tripos_runtime.models.http import _proxy

    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    hosts = [("https", "api.openai.com"), ("https", "near.example"), ("http", "127.0.0.1")]
    assert [_proxy(*host) for host in hosts] == ["http://proxy.example:3128", None, None]
