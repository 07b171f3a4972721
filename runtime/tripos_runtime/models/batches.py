"""Batch services of providers: a batch is submitted with many requests, and hours later it has an outcome for each.

Anthropic takes the requests in the body that creates the batch, and returns their outcomes as lines. In OpenAI's form,
a file of lines is uploaded, a batch is created from it, and the outcomes are files. Models without batches are asked
live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Model, ModelError, Reply, Request
from tripos_runtime.models.catalog import NATIVE_PROVIDERS, PROVIDERS, provider_named
from tripos_runtime.models.chat_completions import DirectModel
from tripos_runtime.models.completions import ContinuingModel
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.errors import CallTarget, answer_error, model_error
from tripos_runtime.models.http import HttpAnswer, ModelConnection, headers_of
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.models.litellm_transport import CarriedModel
from tripos_runtime.models.prices import batch_price
from tripos_runtime.models.replies import parse_body
from tripos_runtime.models.rewards import is_reward

if TYPE_CHECKING:
    import aiohttp


NO_BATCHES = "R0121"
"""The error code of a model whose provider has no batches."""
UNDONE = "R0122"
"""The error code of a request that its batch did not answer: it expired, was cancelled, or was refused as a whole."""
LOST = "R0124"
"""The error code of a batch that its provider does not know."""
NONE_THERE = frozenset({404, 405, 410, 501})
"""HTTP statuses of an address that a server does not have."""

Outcome = HttpAnswer | ModelError


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch: its id, and its body as JSON."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch at its provider. `done` of its `total` requests are finished."""

    id: str
    ended: bool
    done: int
    total: int
    trouble: str | None = None
    """Why the batch as a whole failed, if it did."""
    may_pass: bool = False
    """True if the same requests may be accepted later."""
    files: tuple[str, ...] = ()
    """The addresses of the outcomes."""


class BatchService(Protocol):
    """The batches of one model. A batch may have `most_lines` requests of `most_bytes` together. Each method raises
    `ModelError`."""

    most_lines: int
    most_bytes: int

    async def check(self) -> None:
        """Raise if the server has no batches. It is called before anything is submitted."""
        ...

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Submit a batch, and return the provider's id. `marker` identifies the batch for `find`."""
        ...

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return the provider's id of the batch that was submitted with a marker and lines of these ids, not before
        `since`; `None` if there is none. `others` are the ids of batches known to be different."""
        ...

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        ...

    def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the id and the outcome of each line of an ended batch. The id of an unreadable line is empty."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class BatchServer:
    """The client of one model's batch API."""

    def __init__(self, model: DirectModel | CarriedModel, timeout_s: float) -> None:
        self.target: CallTarget = model.target
        self._connection = ModelConnection(model.target.address, model.headers, timeout_s, model.target.secrets)

    async def call(
        self, method: str, url: str, body: bytes | aiohttp.FormData | None = None, missing: ModelError | None = None
    ) -> dict[str, Any]:
        """Send a request, and return the JSON object of the answer. Raises `ModelError`: `missing` if the server does
        not have the address, or if that is None, R0121."""
        target = self.target
        try:
            answer = await self._connection.send(method, url, body)
        except OSError as error:  # includes timeouts
            raise model_error(error, target.name, target.address, target.key_variables) from error
        headers = headers_of(answer.headers)
        if answer.status in NONE_THERE:
            raise missing or self._without_batches(f"{url} (status {answer.status})")
        if answer.status != 200:
            raise answer_error(answer.status, answer.body, headers, target)
        try:
            content = parse_body(answer.body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise answer_error(200, answer.body, headers, target)
        return content

    async def check(self, url: str) -> None:
        """Raise `ModelError` R0121 if an address does not list batches."""
        if not isinstance((await self.call("GET", f"{url}?limit=1")).get("data"), list):
            raise self._without_batches(f"{url} (its answer is no list of batches)")

    async def lines(self, url: str, batch_id: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the JSON object of each line of a file; an empty one for an unreadable line. Raises `ModelError`."""
        target = self.target
        try:
            async for line in self._connection.lines(url, self.lost(batch_id)):
                if line.strip():
                    yield _object_in(line)
        except OSError as error:
            raise model_error(error, target.name, target.address, target.key_variables) from error

    def lost(self, batch_id: str) -> ModelError:
        """Return the error of a batch that the provider does not know, or whose replies it no longer has."""
        return ModelError(LOST, f"the provider of `{self.target.name}` does not know the batch {batch_id}", "")

    def _without_batches(self, where: str) -> ModelError:
        message = f"the provider of `{self.target.name}` has no batches at {where}"
        return ModelError(NO_BATCHES, message, "leave out --batch, or give the role another model", fatal=True)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()


class BatchedModel(Model):
    """A model that is asked in batches, at the prices of batches and with one reply per request. `BatchQueue` uses its
    `service`; it is never asked live."""

    def __init__(self, model: DirectModel | CarriedModel, service: BatchService) -> None:
        provider, _, own_name = model.name.partition("/")
        self.name, self.endpoint, self.structured = model.name, model.endpoint, model.structured
        self.service = service
        self._model = model
        model.most_samples = 1
        self.price = model.price = batch_price(provider, own_name, model.price, price_is_users=model.own_price)

    async def request_body(self, request: Request) -> bytes:
        """Return the body of a request as JSON. Raises `ModelError`."""
        return await self._model.request_body(request)

    async def reply_in(self, request: Request, answer: HttpAnswer) -> Reply:
        """Return the reply in the outcome of a line. Raises `ModelError`."""
        return await self._model.reply_in(request, answer)

    def ignored_settings(self, settings: Settings) -> tuple[str, ...]:
        """Return the names of the settings that a request would leave out."""
        return self._model.ignored_settings(settings)

    async def close(self) -> None:
        """Close the connections."""
        await self.service.close()
        await self._model.close()


def _object_in(line: bytes) -> dict[str, Any]:
    try:
        content = parse_body(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def answer_in_line(status: int, body: Any) -> HttpAnswer:
    """Return the answer in a line of outcomes in the form of a live answer."""
    return HttpAnswer(status, {}, orjson.dumps(body))


def unanswered_error(name: str, reason: str, *, retryable: bool) -> ModelError:
    """Return the error of a line that its batch did not answer. It is `retryable` if another batch may answer it."""
    hint = "run the same command again: it asks what is missing, and nothing else"
    return ModelError(UNDONE, f"no batch answered this request to `{name}`: {reason}", hint, retryable=retryable)


def count_in(counts: Mapping[str, Any], name: str) -> int:
    """Return a count of a batch; 0 if it is missing or no integer."""
    count = counts.get(name)
    return count if isinstance(count, int) else 0


STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status of a live call, by Anthropic's type of error."""
EARLIER = timedelta(days=1)
"""Batches are searched for back to this time before the marker was written, since clocks differ."""
PATH = "/v1/messages"
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
"""Anthropic's counts of the requests of a batch, which sum to their number."""


class AnthropicBatches:
    """The Anthropic message batches of one model."""

    most_lines = 100_000
    most_bytes = 245 * 10**6
    """A little below the allowed 256 MB."""

    def __init__(self, model: DirectModel | CarriedModel, timeout_s: float) -> None:
        self._server = BatchServer(model, timeout_s)
        self._name = model.name
        self._base = f"{model.target.address.removesuffix(PATH)}{PATH}/batches"

    async def check(self) -> None:
        """Raise `ModelError` if the server has no batches."""
        await self._server.check(self._base)

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Create a batch of the lines. Anthropic stores no marker: a batch is identified by the ids of its lines."""
        each = (b'{"custom_id":' + orjson.dumps(line.id) + b',"params":' + line.body + b"}" for line in lines)
        return _batch_id(
            self._name, await self._server.call("POST", self._base, b'{"requests":[' + b",".join(each) + b"]}")
        )

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return the batch with these lines. The lines of a running batch are unknown: if one has the right number of
        them, `ModelError` R0109 is raised, which is retried until that batch has ended."""
        known, after = frozenset(others), ""
        while True:
            page = await self._server.call("GET", f"{self._base}?limit=100{after}")
            batches = [each for each in page.get("data") or () if isinstance(each, dict)]
            for each in batches:
                counts = each.get("request_counts") or {}
                if each.get("id") in known or sum(count_in(counts, name) for name in COUNTS) != len(ids):
                    continue
                if _created_at(each) < since - EARLIER:
                    return None
                state = self._state(each)
                if not state.ended:
                    message = f"a batch of `{self._name}` that may be ours is under way"
                    raise ModelError("R0109", message, "its end tells", retryable=True)
                async for custom_id, _ in self.outcomes(state):
                    if custom_id in ids:
                        return _batch_id(self._name, each)
                    break
            if not batches or not page.get("has_more") or _created_at(batches[-1]) < since - EARLIER:
                return None
            after = f"&after_id={_batch_id(self._name, batches[-1])}"

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        return self._state(
            await self._server.call("GET", f"{self._base}/{batch_id}", missing=self._server.lost(batch_id))
        )

    async def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the lines of the outcomes."""
        for url in state.files:
            async for line in self._server.lines(url, state.id):
                yield str(line.get("custom_id") or ""), self._outcome(line.get("result") or {})

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _state(self, body: dict[str, Any]) -> BatchState:
        counts = body.get("request_counts") or {}
        total = sum(count_in(counts, name) for name in COUNTS)
        ended = body.get("processing_status") == "ended"
        # The address in the answer is not used, since the key must go to the configured server only.
        files = (f"{self._base}/{_batch_id(self._name, body)}/results",) if ended else ()
        return BatchState(
            _batch_id(self._name, body), ended, total - count_in(counts, "processing"), total, files=files
        )

    def _outcome(self, result: dict[str, Any]) -> Outcome:
        match result:
            case {"type": "succeeded", "message": dict(message)}:
                return answer_in_line(200, message)
            case {"type": "errored", "error": dict(error)}:
                inner = error.get("error") if isinstance(error.get("error"), dict) else error
                return answer_in_line(STATUS_OF.get(str((inner or {}).get("type")), 500), {"error": inner})
            case {"type": "canceled"}:
                return unanswered_error(self._name, "it was cancelled", retryable=False)
            case _:
                return unanswered_error(self._name, "it expired", retryable=True)


def _created_at(batch: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(str(batch.get("created_at")).replace("Z", "+00:00"))


MARKER = "tripos"
"""The key of the marker in the metadata of a batch."""
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""The statuses of a batch that has ended."""
FULL = "token_limit_exceeded"
"""The error of a batch that exceeds the account's queue limit."""
BATCHES_PATH = "/chat/completions"


class OpenaiBatches:
    """The batches of one model in OpenAI's form."""

    most_lines = 50_000
    most_bytes = 190 * 10**6
    """A little below the allowed 200 MB."""

    def __init__(self, model: DirectModel | CarriedModel, timeout_s: float) -> None:
        self._server = BatchServer(model, timeout_s)
        self._name = model.name
        self._base = model.target.address.removesuffix(BATCHES_PATH)

    async def check(self) -> None:
        """Raise `ModelError` if the server has no batches."""
        await self._server.check(f"{self._base}/batches")

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Upload a file of the lines, and create a batch from it with the marker in its metadata."""
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        text = b"".join(_line(line) for line in lines)
        form.add_field("file", text, filename=f"{MARKER}-{marker}.jsonl", content_type="application/jsonl")
        uploaded = await self._server.call("POST", f"{self._base}/files", form)
        batch = {
            "input_file_id": uploaded.get("id"),
            "endpoint": f"/v1{BATCHES_PATH}",
            "completion_window": "24h",
            "metadata": {MARKER: marker},
        }
        return _batch_id(self._name, await self._server.call("POST", f"{self._base}/batches", orjson.dumps(batch)))

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return the batch with the marker in its metadata."""
        after = ""
        while True:
            page = await self._server.call("GET", f"{self._base}/batches?limit=100{after}")
            batches = [each for each in page.get("data") or () if isinstance(each, dict)]
            for each in batches:
                if (each.get("metadata") or {}).get(MARKER) == marker:
                    return _batch_id(self._name, each)
            if not batches or not page.get("has_more"):
                return None
            if count_in(batches[-1], "created_at") < (since - EARLIER).timestamp():
                return None
            after = f"&after={_batch_id(self._name, batches[-1])}"

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        batch = await self._server.call("GET", f"{self._base}/batches/{batch_id}", missing=self._server.lost(batch_id))
        counts = batch.get("request_counts") or {}
        status = str(batch.get("status"))
        names = [batch.get(name) for name in ("output_file_id", "error_file_id")]
        trouble = {"failed": "it was rejected", "cancelled": "it was cancelled", "expired": "it expired"}.get(status)
        codes = []
        if status == "failed":
            errors = (batch.get("errors") or {}).get("data") or ()
            codes = [str(error.get("code")) for error in errors]
            trouble = f"{trouble}: {' '.join(str(errors[0].get('message')).split())}" if errors else trouble
        done = count_in(counts, "completed") + count_in(counts, "failed")
        files = tuple(f"{self._base}/files/{name}/content" for name in names if name)
        may_pass = status == "expired" or FULL in codes
        return BatchState(batch_id, status in ENDED, done, count_in(counts, "total"), trouble, may_pass, files)

    async def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the lines of the outcome and error files."""
        for url in state.files:
            async for line in self._server.lines(url, state.id):
                yield str(line.get("custom_id") or ""), self._outcome(line, state)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _outcome(self, line: dict[str, Any], state: BatchState) -> Outcome:
        response = line.get("response")
        if isinstance(response, dict) and response.get("body") is not None:
            return answer_in_line(count_in(response, "status_code") or 200, response["body"])
        stated = line.get("error")
        error = stated if isinstance(stated, dict) else {"message": stated}
        expired = error.get("code") == "batch_expired"
        reason = str(error.get("message") or error.get("code") or "its line has no reply")
        return unanswered_error(self._name, reason, retryable=expired or state.may_pass)


def _line(line: BatchLine) -> bytes:
    head = orjson.dumps({"custom_id": line.id, "method": "POST", "url": f"/v1{BATCHES_PATH}"})
    return head[:-1] + b',"body":' + line.body + b"}\n"


SERVICES: Mapping[str, type[OpenaiBatches] | type[AnthropicBatches]] = {
    "file": OpenaiBatches,
    "list": AnthropicBatches,
}
"""The client of each form of batches, by `Provider.batches`."""


def _service_of(name: str) -> type[OpenaiBatches] | type[AnthropicBatches] | None:
    """Return the client for the batches of a model's provider; None if it has none."""
    return SERVICES.get(provider_named(name.partition("/")[0]).batches)


def takes_batches(name: str) -> bool:
    """Return true if the provider of a model is known to have batches.

    >>> [takes_batches(name) for name in ("openai/gpt-4o", "anthropic/claude-haiku-4-5", "mistral/mistral-large")]
    [True, True, False]
    """
    return _service_of(name) is not None


def batch_limits(name: str) -> tuple[int, int] | None:
    """Return the largest numbers of requests and of bytes in a batch of a model; `None` if the model is asked live or
    its provider has no batches.

    >>> batch_limits("openai/gpt-4o"), batch_limits("mock/careful")
    ((50000, 190000000), None)
    """
    service = None if asked_live(name) else _service_of(name)
    return None if service is None else (service.most_lines, service.most_bytes)


def asked_live(name: str) -> bool:
    """Return true if a model is asked live in a run with batches: a model on this machine, a reward model or an
    embedding model.

    >>> asked_live("mock/careful"), asked_live("mistral/mistral-large")
    (True, False)
    """
    return kind_of(name).live or is_reward(name) or embeds(name)


def open_batches(model: Model, timeout_s: float) -> BatchedModel:
    """Return a model that is asked in batches. Raises `ModelError` R0121 if its provider has none."""
    service = _service_of(model.name)
    if service is None or not isinstance(model, DirectModel | CarriedModel) or isinstance(model, ContinuingModel):
        providers = {**PROVIDERS, **NATIVE_PROVIDERS}.items()
        known = ", ".join(f"`{name}/…`" for name, provider in providers if provider.batches)
        message = f"`{model.name}` cannot be asked in batches"
        hint = f"leave out --batch, or give its role a chat model of {known}"
        raise ModelError(NO_BATCHES, message, hint, fatal=True)
    return BatchedModel(model, service(model, timeout_s))


def _batch_id(model: str, body: dict[str, Any]) -> str:
    batch_id = body.get("id")
    if not isinstance(batch_id, str):
        raise ModelError("R0111", f"the provider of `{model}` named no batch", "try again later")
    return batch_id
