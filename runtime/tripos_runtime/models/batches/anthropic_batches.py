"""Anthropic's message batches: the requests go in the body that makes the batch, and its outcomes are lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from tripos_runtime.models.base import ModelError
from tripos_runtime.models.batches.base import (
    BatchLine,
    BatchServer,
    BatchState,
    Outcome,
    answered,
    counted,
    undone,
)
from tripos_runtime.models.over_http import DirectModel
from tripos_runtime.models.over_litellm import TranslatedModel

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
"""The status that a call with such an error has."""
EARLIER = timedelta(days=1)
PATH = "/v1/messages"
COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")


class AnthropicBatches:
    """The message batches of one model."""

    most_lines = 100_000
    most_bytes = 245 * 10**6
    """A little under the 256 MB that are allowed."""

    def __init__(self, model: DirectModel | TranslatedModel, timeout_s: float) -> None:
        self._server = BatchServer(model, timeout_s)
        self._name = model.name
        self._base = f"{model.place.address.removesuffix(PATH)}{PATH}/batches"

    async def check(self) -> None:
        """Make sure that the server has batches."""
        await self._server.check(self._base)

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Make a batch of the lines. It has no place for a marker: the ids of its lines tell which it is."""
        each = (b'{"custom_id":' + orjson.dumps(line.id) + b',"params":' + line.body + b"}" for line in lines)
        return self._id(await self._server.call("POST", self._base, b'{"requests":[' + b",".join(each) + b"]}"))

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return the batch that has these lines. One that is under way does not tell its lines: where the count fits,
        its end is waited for. Raises `ModelError` R0109 until then."""
        known, after = frozenset(others), ""
        while True:
            page = await self._server.call("GET", f"{self._base}?limit=100{after}")
            found = [each for each in page.get("data") or () if isinstance(each, dict)]
            for each in found:
                counts = each.get("request_counts") or {}
                if each.get("id") in known or sum(counted(counts, name) for name in COUNTS) != len(ids):
                    continue
                if _made(each) < since - EARLIER:
                    return None
                state = self._state(each)
                if not state.ended:
                    message = f"a batch of `{self._name}` that may be ours is under way"
                    raise ModelError("R0109", message, "its end tells", retryable=True)
                async for custom_id, _ in self.outcomes(state):
                    if custom_id in ids:
                        return self._id(each)
                    break
            if not found or not page.get("has_more") or _made(found[-1]) < since - EARLIER:
                return None
            after = f"&after_id={self._id(found[-1])}"

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
        """Let go of the connections."""
        await self._server.close()

    def _state(self, told: dict[str, Any]) -> BatchState:
        counts = told.get("request_counts") or {}
        total = sum(counted(counts, name) for name in COUNTS)
        ended = told.get("processing_status") == "ended"
        # The address that the answer names is not followed: the key goes to the configured one.
        files = (f"{self._base}/{self._id(told)}/results",) if ended else ()
        return BatchState(self._id(told), ended, total - counted(counts, "processing"), total, files=files)

    def _outcome(self, result: dict[str, Any]) -> Outcome:
        match result:
            case {"type": "succeeded", "message": dict(message)}:
                return answered(200, message)
            case {"type": "errored", "error": dict(error)}:
                inner = error.get("error") if isinstance(error.get("error"), dict) else error
                return answered(STATUS_OF.get(str((inner or {}).get("type")), 500), {"error": inner})
            case {"type": "canceled"}:
                return undone(self._name, "it was cancelled", again=False)
            case _:
                return undone(self._name, "it expired", again=True)

    def _id(self, told: dict[str, Any]) -> str:
        found = told.get("id")
        if not isinstance(found, str):
            raise ModelError("R0111", f"the provider of `{self._name}` named no batch", "try again later")
        return found


def _made(told: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(str(told.get("created_at")).replace("Z", "+00:00"))
