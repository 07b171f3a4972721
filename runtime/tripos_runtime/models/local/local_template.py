"""Texts in the template of a chat that a model file has."""

from __future__ import annotations

from dataclasses import replace

import orjson

from tripos_runtime.models.base import FREE, Endpoint, Message, Request
from tripos_runtime.models.over_http import DirectModel, ModelConnection


class LocalTemplate(DirectModel):
    """The template of the model that a server of llama.cpp has at `address`."""

    def __init__(self, name: str, address: str, timeout_s: float) -> None:
        super().__init__(name, Endpoint(address), price=FREE, own_price=True, sent_as=name, timeout_s=timeout_s)
        self._line = ModelConnection(f"{address}/apply-template", self.headers, timeout_s)

    async def filled(self, request: Request) -> Request:
        """Return the request with its text as a user's message in the template, up to where the model replies. Raises
        `ModelError`."""
        [text] = request.messages
        body = orjson.dumps({"messages": [{"role": "user", "content": text.content}]})
        found = self._completed(await self._line.post(body))
        settings = request.settings.without(("chat_template",))
        return replace(request, messages=(Message("user", str(found["prompt"])),), settings=settings)
