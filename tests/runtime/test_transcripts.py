"""Models that know no chat, against a server on the loopback: a conversation is sent to them as a transcript."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.contract_server import Sent, Server, answering, serving
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.models.families import open_model

USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
SAID = {
    "id": "1",
    "object": "text_completion",
    "created": 1,
    "model": "served",
    "choices": [{"index": 0, "text": " Why five?\n", "finish_reason": "stop", "logprobs": None}],
    "usage": USAGE,
}
TALK = (
    Message("system", "You teach."),
    Message("user", "2 + 2 is 5."),
    Message("assistant", "Count it."),
    Message("user", "1, 2, 3, 5."),
)
NAME = "text-completion-openai/ours"


def asked(
    *messages: Message, name: str = NAME, said: dict[str, Any] = SAID, schema: Any = None, **more: Any
) -> tuple[Reply, Sent]:
    async def use(server: Server) -> Reply:
        model = open_model(name, {name.partition("/")[0]: server.endpoint()}, timeout_s=20)
        try:
            return await model.ask(Request(name, messages, Settings(**more), schema))
        finally:
            await model.close()

    reply, (sent,) = serving(answering(said), use)
    return reply, sent


@pytest.fixture(scope="module")
def talked() -> tuple[Reply, Sent]:
    return asked(*TALK, temperature=0.0, stop=("END",))


def test_a_conversation_is_sent_as_one_transcript(talked: tuple[Reply, Sent]) -> None:
    _, sent = talked
    assert sent.path == "/v1/completions"
    said = "You teach.\n\nUser: 2 + 2 is 5.\n\nAssistant: Count it.\n\nUser: 1, 2, 3, 5.\n\nAssistant:"
    assert sent.body["prompt"] == said
    assert "messages" not in sent.body


def test_a_transcript_ends_where_the_other_side_would_speak(talked: tuple[Reply, Sent]) -> None:
    assert talked[1].body["stop"] == ["END", "\nUser:"]


def test_the_continuation_is_the_reply_with_what_it_took(talked: tuple[Reply, Sent]) -> None:
    assert talked[0] == Reply("Why five?", "served", "stop", 20, 5, None)


def test_a_question_alone_is_sent_as_it_is() -> None:
    _, sent = asked(Message("user", "2 + 2 ="), max_tokens=7)
    assert sent.body["prompt"] == "2 + 2 ="
    assert sent.body["max_tokens"] == 7
    assert "stop" not in sent.body


def test_a_reply_is_not_left_at_the_few_tokens_that_servers_give_where_nothing_is_said(
    talked: tuple[Reply, Sent],
) -> None:
    assert talked[1].body["max_tokens"] == 1024


def test_a_model_of_openai_that_knows_no_chat_is_asked_for_a_continuation() -> None:
    reply, sent = asked(*TALK, name="openai/gpt-3.5-turbo-instruct")
    assert sent.path == "/v1/completions"
    assert sent.body["model"] == "gpt-3.5-turbo-instruct"
    assert reply.cost_usd == pytest.approx(20 * 1.5e-6 + 5 * 2e-6)


def test_a_model_without_a_chat_is_held_to_no_schema() -> None:
    _, sent = asked(Message("user", "2 + 2 ="), schema={"type": "object"})
    assert "response_format" not in sent.body


def test_a_key_that_is_not_set_is_missed_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in (NAME, "openai/gpt-3.5-turbo-instruct"):
        with pytest.raises(ModelError) as caught:
            open_model(name)
        assert caught.value.code == "R0102"
        assert "OPENAI_API_KEY" in caught.value.hint


def test_what_litellm_asks_altogether_is_sent_a_transcript_too() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": " Why five?"}, "finish_reason": "stop"}
    said = SAID | {"choices": [choice]}  # as Mistral answers
    reply, sent = asked(*TALK[:2], name="text-completion-codestral/codestral-latest", said=said)
    assert sent.body["prompt"] == "You teach.\n\nUser: 2 + 2 is 5.\n\nAssistant:"
    assert reply.text == "Why five?"


def test_an_answer_without_a_choice_is_told_of() -> None:
    async def use(server: Server) -> Reply:
        model = open_model(NAME, {"text-completion-openai": server.endpoint()})
        try:
            return await model.ask(Request(NAME, TALK))
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        serving(answering({"object": "list"}), use)
    assert caught.value.code == "R0111"
