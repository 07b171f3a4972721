"""Models that go on with a text, in OpenAI's form, asked without litellm: its way opens a connection for every call."""

from __future__ import annotations

import orjson

from tripos_runtime.models.base import Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import OPENAI_COMPLETION, completion_name
from tripos_runtime.models.over_http.connections import ModelConnection
from tripos_runtime.models.over_http.direct import DirectModel, openai_headers
from tripos_runtime.models.over_http.replies import read_reply, whole
from tripos_runtime.models.over_http.transcripts import transcribed, trimmed


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
        address, keys = self._place.address, self._place.secrets
        url = address if address.endswith("/completions") else f"{address}/completions"
        self._line = ModelConnection(url, openai_headers(self._provider, next(iter(keys))), timeout_s, tuple(keys))
        self._head = b'{"model":' + orjson.dumps(model) + b',"prompt":'

    async def ask(self, request: Request) -> Reply:
        """Return what the model goes on with after the transcript of a request's messages. Raises `ModelError`."""
        told = transcribed(request)
        body = self._head + orjson.dumps(whole(told.messages[0].content)) + self._tails.part(told)
        found = await self._answer(body)
        choices = found.get("choices")
        if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
            hint = "check the server: it must answer `/completions`"
            raise ModelError("R0111", f"`{self.name}` sent a reply without a choice", hint, retryable=True)
        said = [{**each, "message": {"content": each.get("text")}} for each in choices]
        return trimmed(read_reply({**found, "choices": said}, self.name, self.price, own_price=self._own_price))
