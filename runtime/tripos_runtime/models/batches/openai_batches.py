"""Batches in OpenAI's form: a file of lines is uploaded, a batch is made of it, and its outcomes are files again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
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

MARKER = "tripos"
"""The name of the marker in the metadata of a batch."""
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
FULL = "token_limit_exceeded"
"""The error of a batch for which an account has no room until others are done."""
EARLIER_S = 86_400
"""Batches are looked through as far back as a day before the marker was written: clocks differ."""
PATH = "/chat/completions"


class OpenaiBatches:
    """The batches of one model in OpenAI's form."""

    most_lines = 50_000
    most_bytes = 190 * 10**6
    """A little under the 200 MB that are allowed."""

    def __init__(self, model: DirectModel | TranslatedModel, timeout_s: float) -> None:
        self._server = BatchServer(model, timeout_s)
        self._name = model.name
        self._base = model.place.address.removesuffix(PATH)

    async def check(self) -> None:
        """Make sure that the server has batches."""
        await self._server.check(f"{self._base}/batches")

    async def submit(self, marker: str, lines: Sequence[BatchLine]) -> str:
        """Upload a file of the lines, and make a batch of it whose metadata have the marker."""
        import aiohttp

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        text = b"".join(_line(each) for each in lines)
        form.add_field("file", text, filename=f"{MARKER}-{marker}.jsonl", content_type="application/jsonl")
        uploaded = await self._server.call("POST", f"{self._base}/files", form)
        wanted = {
            "input_file_id": uploaded.get("id"),
            "endpoint": f"/v1{PATH}",
            "completion_window": "24h",
            "metadata": {MARKER: marker},
        }
        return self._id(await self._server.call("POST", f"{self._base}/batches", orjson.dumps(wanted)))

    async def find(self, marker: str, ids: Collection[str], since: datetime, others: Collection[str]) -> str | None:
        """Return the batch whose metadata have the marker."""
        after = ""
        while True:
            page = await self._server.call("GET", f"{self._base}/batches?limit=100{after}")
            found = [each for each in page.get("data") or () if isinstance(each, dict)]
            for each in found:
                if (each.get("metadata") or {}).get(MARKER) == marker:
                    return self._id(each)
            if not found or not page.get("has_more"):
                return None
            if counted(found[-1], "created_at") < since.timestamp() - EARLIER_S:
                return None
            after = f"&after={self._id(found[-1])}"

    async def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        told = await self._server.call("GET", f"{self._base}/batches/{batch_id}", missing=self._server.lost(batch_id))
        counts = told.get("request_counts") or {}
        status = str(told.get("status"))
        names = [told.get(name) for name in ("output_file_id", "error_file_id")]
        trouble = {"failed": "it was rejected", "cancelled": "it was cancelled", "expired": "it expired"}.get(status)
        codes = []
        if status == "failed":
            errors = (told.get("errors") or {}).get("data") or ()
            codes = [str(each.get("code")) for each in errors]
            trouble = f"{trouble}: {' '.join(str(errors[0].get('message')).split())}" if errors else trouble
        done = counted(counts, "completed") + counted(counts, "failed")
        files = tuple(f"{self._base}/files/{name}/content" for name in names if name)
        may_pass = status == "expired" or FULL in codes
        return BatchState(batch_id, status in ENDED, done, counted(counts, "total"), trouble, may_pass, files)

    async def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the lines of the files of outcomes and of errors."""
        for url in state.files:
            async for line in self._server.lines(url, state.id):
                yield str(line.get("custom_id") or ""), self._outcome(line, state)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._server.close()

    def _outcome(self, line: dict[str, Any], state: BatchState) -> Outcome:
        response = line.get("response")
        if isinstance(response, dict) and response.get("body") is not None:
            return answered(counted(response, "status_code") or 200, response["body"])
        told = line.get("error")
        error = told if isinstance(told, dict) else {"message": told}
        expired = error.get("code") == "batch_expired"
        why = str(error.get("message") or error.get("code") or "its line has no reply")
        return undone(self._name, why, again=expired or state.may_pass)

    def _id(self, told: dict[str, Any]) -> str:
        found = told.get("id")
        if not isinstance(found, str):
            raise ModelError("R0111", f"the provider of `{self._name}` named no batch", "try again later")
        return found


def _line(line: BatchLine) -> bytes:
    head = orjson.dumps({"custom_id": line.id, "method": "POST", "url": f"/v1{PATH}"})
    return head[:-1] + b',"body":' + line.body + b"}\n"
