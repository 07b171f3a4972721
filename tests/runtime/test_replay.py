"""The model that answers from a recording."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, strategies as st

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import FREE, Message, Model, ModelError, Reply, Request
from tripos_runtime.models.replay import ASSISTANT, ReplayModel, request_key

SET = Settings(temperature=0.0, max_tokens=50)
QUESTION = Request("openai/gpt-4o", (Message("system", "Be brief."), Message("user", "Why is the sky blue?")), SET)
REPLY = Reply("It scatters.", "gpt-4o-2024-11-20", "stop", 14, 3, 0.0)


@dataclass(frozen=True)
class Spoken:
    """Replies by key."""

    replies: Mapping[bytes, Reply | ModelError]

    def find(self, key: bytes) -> Reply | ModelError | None:
        return self.replies.get(key)


def key_of(request: Request) -> bytes:
    said = [(message.role, message.content) for message in request.messages]
    return request_key(request.model, said, request.number, request.settings)


def recorded(replies: Mapping[bytes, Reply | ModelError]) -> ReplayModel:
    return ReplayModel("openai/gpt-4o", Spoken(replies), "20261121-060431-3fa9")


def test_a_request_that_was_recorded_is_answered_as_it_was() -> None:
    assert asyncio.run(recorded({key_of(QUESTION): REPLY}).ask(QUESTION)) == REPLY


@pytest.mark.parametrize(
    "changed",
    [
        replace(QUESTION, messages=(QUESTION.messages[0], Message("user", "Why is the sky red?"))),
        replace(QUESTION, messages=QUESTION.messages[1:]),
        replace(QUESTION, messages=(Message("user", "Be brief."), QUESTION.messages[1])),
        replace(QUESTION, settings=SET.model_copy(update={"temperature": 0.5})),
        replace(QUESTION, settings=SET.model_copy(update={"temperature": None})),
        replace(QUESTION, settings=SET.model_copy(update={"max_tokens": 51})),
        replace(QUESTION, settings=SET.model_copy(update={"stop": ("\n",)})),
        replace(QUESTION, number=1),
        replace(QUESTION, model="openai/gpt-4o-mini"),
    ],
    ids=["prompt", "no system", "role", "warmer", "no temperature", "longer", "stop", "sample", "model"],
)
def test_a_request_that_differs_in_what_is_sent_has_no_reply(changed: Request) -> None:
    with pytest.raises(ModelError) as caught:
        asyncio.run(recorded({key_of(QUESTION): REPLY}).ask(changed))
    assert (caught.value.code, caught.value.status) == ("R0113", "provider_error")
    assert not caught.value.retryable
    assert not caught.value.fatal
    assert caught.value.hint


def test_the_schema_that_a_reply_is_held_to_does_not_tell_requests_apart() -> None:
    asked = replace(QUESTION, schema={"type": "object"})
    assert asyncio.run(recorded({key_of(QUESTION): REPLY}).ask(asked)) == REPLY


def test_a_refusal_is_refused_again() -> None:
    refusal = ModelError("R0108", "content filter", "", status="refused")
    with pytest.raises(ModelError) as caught:
        asyncio.run(recorded({key_of(QUESTION): refusal}).ask(QUESTION))
    assert (caught.value.code, caught.value.status) == ("R0108", "refused")


def test_what_was_asked_after_an_unreadable_reply_is_found_however_that_was_worded() -> None:
    said = [(message.role, message.content) for message in QUESTION.messages]
    key = request_key("openai/gpt-4o", [*said, (ASSISTANT, "{broken")], settings=SET)
    model = recorded({key: REPLY})
    for note in ("That could not be used.", "请重新回复"):
        asked = replace(QUESTION, messages=(*QUESTION.messages, Message("assistant", "{broken"), Message("user", note)))
        assert asyncio.run(model.ask(asked)) == REPLY
    other = (*QUESTION.messages, Message("assistant", "{other"), Message("user", "That could not be used."))
    with pytest.raises(ModelError):
        asyncio.run(model.ask(replace(QUESTION, messages=other)))


def test_a_replayed_model_costs_nothing_and_shares_no_limits_with_a_real_one() -> None:
    model: Model = recorded({})
    assert (model.price, model.endpoint, model.slots, model.most_samples) == (FREE, "replay", None, 1)


@given(
    st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(st.characters(exclude_categories=()))))
)
def test_a_key_is_16_bytes_for_any_text(said: list[tuple[str, str]]) -> None:
    assert len(request_key("m", said)) == 16


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_texts_cannot_flow_into_one_another(one: list[str], other: list[str]) -> None:
    def key(texts: list[str]) -> bytes:
        return request_key("m", [("user", text) for text in texts])

    assert (key(one) == key(other)) == (one == other)


def test_a_lone_surrogate_counts_as_what_a_store_makes_of_it() -> None:
    assert request_key("m", [("user", "a\udc80b")]) == request_key("m", [("user", "a\ufffdb")])
