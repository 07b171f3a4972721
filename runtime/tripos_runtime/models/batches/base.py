"""The common interface of batches: lines go in, and hours later an outcome comes out for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import ModelError, Price, Reply, Request, refused
from tripos_runtime.models.catalog import CallPlace, answer_error, batch_price, model_error
from tripos_runtime.models.over_http import DirectModel, HttpAnswer, ModelConnection, headers_of, parsed
from tripos_runtime.models.over_litellm import TranslatedModel

if TYPE_CHECKING:
    import aiohttp

NO_BATCHES = "R0121"
"""The error of a model whose provider takes no batches."""
UNDONE = "R0122"
"""The error of a request that its batch did not answer: it expired, was cancelled, or was refused as a whole."""
LOST = "R0124"
"""The error of a batch that its provider does not know."""
NONE_THERE = frozenset({404, 405, 410, 501})
"""The statuses of an address that a server does not have."""

Outcome = HttpAnswer | ModelError


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch: what it is known by, and its body as JSON."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch at its provider: how many of its requests are done, and why it failed as a whole, if it
    did. `may_pass`: the same batch may be taken later."""

    id: str
    ended: bool
    done: int
    total: int
    trouble: str | None = None
    may_pass: bool = False
    files: tuple[str, ...] = ()
    """The addresses of its outcomes."""


class BatchService(Protocol):
    """Batches of one model. Each method raises `ModelError`."""

    most_lines: int
    most_bytes: int

    async def check(self) -> None:
        """Make sure that the server has batches, before anything is submitted."""
        ...

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Submit a batch, and return what the provider calls it."""
        ...

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return what the provider calls the batch that was submitted with a marker, of lines with these ids, not
        before a time; `None` where there is none. `others` are batches that are known to be others."""
        ...

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        ...

    def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield what came of each line of a batch that has ended, by its id, which is empty for a line that cannot be
        read."""
        ...

    async def close(self) -> None:
        """Let go of the connections."""
        ...


class BatchServer:
    """The way to the batches of one model: addresses of its server that answer with JSON objects."""

    def __init__(self, model: DirectModel | TranslatedModel, timeout_s: float) -> None:
        self.place: CallPlace = model.place
        self._connection = ModelConnection(model.place.address, model.headers, timeout_s, model.place.secrets)

    async def call(
        self, method: str, url: str, body: bytes | aiohttp.FormData | None = None, missing: ModelError | None = None
    ) -> dict[str, Any]:
        """Return the JSON object that an address answers with. Raises `ModelError`, and `missing` where the server does
        not have what the address names."""
        place = self.place
        try:
            answer = await self._connection.send(method, url, body)
        except OSError as error:  # a timeout is one too
            raise model_error(error, place.name, place.address, place.key_variables) from error
        headers = headers_of(answer.headers)
        if answer.status in NONE_THERE:
            raise missing or self._without_batches(f"{url} (status {answer.status})")
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers, place)
        try:
            found = parsed(answer.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise answer_error(200, answer.body, headers, place)
        return found

    async def check(self, url: str) -> None:
        """Make sure that an address lists batches. Raises `ModelError` R0121 where it does not."""
        if not isinstance((await self.call("GET", f"{url}?limit=1")).get("data"), list):
            raise self._without_batches(f"{url} (its answer is no list of batches)")

    async def lines(self, url: str, batch_id: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the JSON objects of a file of lines of a batch, empty where one cannot be read. Raises `ModelError`."""
        place = self.place
        try:
            async for line in self._connection.lines(url, self.lost(batch_id)):
                if line.strip():
                    yield _object_in(line)
        except OSError as error:
            raise model_error(error, place.name, place.address, place.key_variables) from error

    def lost(self, batch_id: str) -> ModelError:
        """Return the error of a batch that the provider does not know, or has the replies of no more."""
        return ModelError(LOST, f"the provider of `{self.place.name}` does not know the batch {batch_id}", "")

    def _without_batches(self, where: str) -> ModelError:
        message = f"the provider of `{self.place.name}` has no batches at {where}"
        return ModelError(NO_BATCHES, message, "leave out --batch, or give the role another model", fatal=True)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._connection.close()


class BatchedModel:
    """A model that is asked in batches. It has the price of batches, and one reply for each request."""

    slots: int | None = None
    most_samples = 1

    def __init__(self, model: DirectModel | TranslatedModel, service: BatchService) -> None:
        provider, _, own_name = model.name.partition("/")
        self.name = model.name
        self.endpoint = model.endpoint
        self.structured = model.structured
        self.service = service
        self._model = model
        model.most_samples = 1
        model.price = batch_price(provider, own_name, model.price, own=model.own_price)

    @property
    def price(self) -> Price | None:
        """The price of a request in a batch."""
        return self._model.price

    async def ask(self, request: Request) -> Reply:
        """Ask at once, at the price of batches: only batches are asked."""
        raise NotImplementedError("a model in batches is asked by its queue")

    def body_of(self, request: Request) -> bytes:
        """Return the body of a request, as JSON. Raises `ModelError`."""
        try:
            return self._model.body_of(request)
        except Exception as error:  # litellm lets its own slips through as any exception
            place = self._model.place
            raise model_error(error, self.name, place.address, place.key_variables, place.secrets) from error

    def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in the outcome of a line. Raises `ModelError`."""
        return self._model.reply_in(request, answer)

    def refuses(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would go without."""
        return refused(self._model, settings)

    async def close(self) -> None:
        """Let go of the connections."""
        await self.service.close()
        await self._model.close()


def _object_in(line: bytes) -> dict[str, Any]:
    try:
        found = parsed(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def answered(status: int, body: Any) -> HttpAnswer:
    """Return what a line of outcomes says that a call would have been answered with."""
    return HttpAnswer(status, {}, orjson.dumps(body))


def undone(name: str, why: str, *, again: bool) -> ModelError:
    """Return the error of a line that its batch did not answer. `again`: another batch may."""
    hint = "run the same command again: it asks what is missing, and nothing else"
    return ModelError(UNDONE, f"no batch answered this request to `{name}`: {why}", hint, retryable=again)


def counted(told: Mapping[str, Any], name: str) -> int:
    """Return a count of a batch; 0 where it is not told."""
    found = told.get(name)
    return found if isinstance(found, int) else 0
