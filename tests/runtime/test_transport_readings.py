"""Replies of Anthropic and Gemini: over our own connections they are what litellm alone reads, with the words of the
provider."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.each import each
from tests.runtime.contract_server import Server, answering, form_of, serving
from tripos_compiler.plan import Ending, ending_of
from tripos_runtime.models.base import Message, Model, Reply, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import LitellmModel

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's, once a process

CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"


def claude(**changes: Any) -> dict[str, Any]:
    return form_of("/v1/messages") | changes


def gemini(parts: list[dict[str, Any]] | None = None, reason: str = "STOP", **used: int) -> dict[str, Any]:
    body = form_of(":generateContent")
    candidate = body["candidates"][0] | {"finishReason": reason}
    if parts is not None:
        candidate["content"] = {"role": "model", "parts": parts}
    return body | {"candidates": [candidate], "usageMetadata": body["usageMetadata"] | used}


def text(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": part} for part in parts]


REPLIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "text": (CLAUDE, claude(), "end_turn"),
    "text at its limit": (CLAUDE, claude(stop_reason="max_tokens"), "max_tokens"),
    "text at a stop sequence": (CLAUDE, claude(stop_reason="stop_sequence", stop_sequence="END"), "stop_sequence"),
    "two texts": (CLAUDE, claude(content=text("one ", "two")), "end_turn"),
    "no usage of a cache": (CLAUDE, claude(usage={"input_tokens": 5, "output_tokens": 2}), "end_turn"),
    "a prompt that was cached": (CLAUDE, claude(usage={"input_tokens": 5, "output_tokens": 2, "cache_creation_input_tokens": 3}), "end_turn"),
    "thoughts": (CLAUDE, claude(content=[{"type": "thinking", "thinking": "hm", "signature": "s"}, *text("so")]), "end_turn"),
    "candidates": (GEMINI, gemini(), "STOP"),
    "a candidate at its limit": (GEMINI, gemini(reason="MAX_TOKENS"), "MAX_TOKENS"),
    "thoughts among the candidate's tokens": (GEMINI, gemini(totalTokenCount=1040), "STOP"),
    "no thoughts": (GEMINI, gemini(thoughtsTokenCount=0, totalTokenCount=1040), "STOP"),
    "thoughts of a candidate": (GEMINI, gemini([{"text": "hm", "thought": True}, {"text": "so"}]), "STOP"),
    "two parts": (GEMINI, gemini([{"text": "one "}, {"text": "two"}]), "STOP"),
}  # fmt: skip


def read_by_both(name: str, body: dict[str, Any]) -> list[Reply]:
    """Return what this body is as a reply of ours, and as one of litellm."""

    async def use(server: Server) -> list[Reply]:
        endpoint = server.endpoint()
        models: list[Model] = [open_model(name, {name: endpoint}), LitellmModel(name, endpoint)]
        replies = [await model.ask(Request(name, (Message("user", "hi"),))) for model in models]
        for model in models:
            await model.close()
        return replies

    return serving(answering(body), use)[0]


@each("which", REPLIES)
def test_both_read_the_same(which: str) -> None:
    name, body, word = REPLIES[which]
    ours, by_litellm = read_by_both(name, body)
    assert ours.finish_reason == word
    assert replace(ours, finish_reason=None) == replace(by_litellm, finish_reason=None)
    assert ending_of(ours.finish_reason) == ending_of(by_litellm.finish_reason), "litellm has words of its own"
    assert ours.cost_usd is not None and ours.cost_usd > 0


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (CLAUDE, claude(content=[], stop_reason="refusal", usage={"input_tokens": 5, "output_tokens": 2})),
        (GEMINI, gemini([{"text": ""}], reason="SAFETY", promptTokenCount=5)),
        (
            GEMINI,
            {
                "promptFeedback": {"blockReason": "SAFETY"},
                "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5},
            },
        ),
    ],
)
def test_a_reply_that_is_withheld_is_refused(name: str, body: dict[str, Any]) -> None:
    for reply in read_by_both(name, body):
        assert (reply.text, ending_of(reply.finish_reason), reply.tokens_in) == ("", Ending.CONTENT_FILTER, 5)
