"""Models that go on with a text, in OpenAI's form, asked without litellm: its way opens a connection for every call.

Such models know no chat: the messages of a request are sent to them as a transcript. Several messages must not go out
as they are, for litellm takes them for several prompts, each of which gets a reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from tripos_runtime.models.base import Endpoint, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import OPENAI_COMPLETION, completion_name
from tripos_runtime.models.over_http.connections import ModelConnection
from tripos_runtime.models.over_http.direct import DirectModel, openai_headers
from tripos_runtime.models.over_http.echoed import echoed_reply, request_for_echo
from tripos_runtime.models.over_http.replies import read_reply, whole

LABELS = {"user": "User", "assistant": "Assistant"}
MOST_TOKENS = 1024
"""The longest reply where nothing is said: most servers would end it after 16 tokens."""
MOST_STOPS = 4
"""The most texts that end a reply."""


def as_transcript(messages: Sequence[Message]) -> str:
    """Return one user's message alone as it is; of several what each side said, and then the label of who is to go on.

    >>> as_transcript([Message("user", "2 + 2 =")])
    '2 + 2 ='
    >>> print(as_transcript([Message("system", "Teach."), Message("user", "It is 5.")]))
    Teach.
    <BLANKLINE>
    User: It is 5.
    <BLANKLINE>
    Assistant:
    """
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    said = [f"{LABELS[each.role]}: {each.content}" if each.role in LABELS else each.content for each in messages]
    return "\n\n".join([*said, f"{LABELS['assistant']}:"])


def transcribed(request: Request) -> Request:
    """Return the request with one message, the transcript, which ends where the other side would speak. It has no
    schema: nothing holds a continuation to one."""
    text, stop, longest = as_transcript(request.messages), request.settings.stop, request.settings.max_tokens
    alone = len(request.messages) == 1 and text == request.messages[0].content
    ends = () if alone else tuple(each for each in (f"\n{LABELS['user']}:",) if len(stop) < MOST_STOPS)
    return replace(
        request,
        messages=(Message("user", text),),
        settings=request.settings.model_copy(
            update={"stop": (*stop, *ends), "max_tokens": MOST_TOKENS if longest is None else longest}
        ),
        schema=None,
    )


def trimmed(reply: Reply) -> Reply:
    """Return a reply without the blanks that part it from what it goes on from.

    >>> trimmed(Reply(" It is so.\\n", "m", "stop", 1, 1, None)).text
    'It is so.'
    """
    return replace(reply, text=reply.text.strip(), others=tuple(map(trimmed, reply.others)))


class ContinuingModel(DirectModel):
    """A model whose `completion_name` begins with `OPENAI_COMPLETION`.

    Raises `ModelError` R0102 where the key is not set.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint | None = None,
        *,
        price: Price | None = None,
        own_price: bool = False,
        timeout_s: float = 300.0,
    ) -> None:
        model = (completion_name(name) or name).removeprefix(OPENAI_COMPLETION)
        super().__init__(name, endpoint, price=price, own_price=own_price, sent_as=model, timeout_s=timeout_s)
        self.structured = False
        self.most_samples = 1
        address, keys = self.place.address, self.place.secrets
        url = address if address.endswith("/completions") else f"{address}/completions"
        self._line = ModelConnection(url, openai_headers(self._provider, next(iter(keys))), timeout_s, tuple(keys))
        self._head = b'{"model":' + orjson.dumps(model) + b',"prompt":'

    async def ask(self, request: Request) -> Reply:
        """Return what the model goes on with after the transcript of a request's messages. Raises `ModelError`."""
        if request.options:
            return await self._likelihoods(request)
        told = transcribed(request)
        body = self._head + orjson.dumps(whole(told.messages[0].content)) + self._tails.part(told)
        found = await self._answer(body)
        said = [{**each, "message": {"content": each.get("text")}} for each in self._choices(found)]
        return trimmed(read_reply({**found, "choices": said}, self.name, self.price, own_price=self.own_price))

    async def _likelihoods(self, request: Request) -> Reply:
        """Return the likelihoods of the options of a request. Raises `ModelError`."""
        echoing, own = request_for_echo(request), request.settings.given.get("provider", {})
        found = await self._answer(orjson.dumps({"model": self._model, **echoing, **own}))
        text = echoed_reply(request, self._choices(found), self.name)
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        return read_reply({**found, "choices": [choice]}, self.name, self.price, own_price=self.own_price)

    def _choices(self, found: Mapping[str, Any]) -> list[dict[str, Any]]:
        choices = found.get("choices")
        if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
            hint = "check the server: it must answer `/completions`"
            raise ModelError("R0111", f"`{self.name}` sent a reply without a choice", hint, retryable=True)
        return choices
