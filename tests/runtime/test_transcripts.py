"""Models that know no chat, against a server on the loopback: a conversation is sent to them as a transcript."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.contract_server import Sent, answering, ask
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
    reply, (sent,) = ask(name, answering(said), Request(name, messages, Settings(**more), schema), timeout_s=20)
    return reply, sent


def test_a_conversation_is_sent_as_one_transcript_up_to_where_the_other_side_would_speak() -> None:
    reply, sent = asked(*TALK, temperature=0.0, stop=("END",))
    assert reply == Reply("Why five?", "served", "stop", 20, 5, None)
    assert sent.path == "/v1/completions"
    said = "You teach.\n\nUser: 2 + 2 is 5.\n\nAssistant: Count it.\n\nUser: 1, 2, 3, 5.\n\nAssistant:"
    assert sent.body["prompt"] == said
    assert "messages" not in sent.body
    assert sent.body["stop"] == ["END", "\nUser:"]
    assert sent.body["max_tokens"] == 1024, "and not the few that servers give if nothing is said"


def test_a_question_alone_is_sent_as_it_is_and_held_to_no_schema() -> None:
    _, sent = asked(Message("user", "2 + 2 ="), schema={"type": "object"}, max_tokens=7)
    assert sent.body["prompt"] == "2 + 2 ="
    assert sent.body["max_tokens"] == 7
    assert not {"stop", "response_format"} & set(sent.body)


def test_a_model_of_openai_that_knows_no_chat_is_asked_for_a_continuation() -> None:
    reply, sent = asked(*TALK, name="openai/gpt-3.5-turbo-instruct")
    assert sent.path == "/v1/completions"
    assert sent.body["model"] == "gpt-3.5-turbo-instruct"
    assert reply.cost_usd == pytest.approx(20 * 1.5e-6 + 5 * 2e-6)


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
    with pytest.raises(ModelError) as caught:
        asked(*TALK, said={"object": "list"})
    assert caught.value.code == "R0111"
