"""Vectors of texts: read from the ledger, or asked for in requests of many texts.

The name of a vector is a digest of the model and the text alone. So it is asked for once, whichever run, benchmark or
step needs it. It is in the ledger before it is used. The vectors of a collection are asked for when the first row needs
them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Retrieve, Settings, digest, serialized_form
from tripos_compiler.plan.outcomes import OK, PROVIDER_ERROR
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import OtherReplies, OtherStore, kept_statuses
from tripos_runtime.asking.questions import NO_REPLY, UNUSED, Answer
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.models.embeddings import versioned_name
from tripos_runtime.models.vectors import Vector, from_text
from tripos_runtime.program.retrieval import Chooser, Collection, SimilarityCall, Values, VectorIndex, index_of
from tripos_runtime.program.running import RunContext
from tripos_runtime.program.values import StepValues
from tripos_runtime.scheduling.calling import Caller, Lane

if TYPE_CHECKING:
    from tripos_runtime.asking.ledger import Row


TABLE = "vectors"
KEPT = 4096
"""The number of vectors that are cached, since the steps of one row need the same ones."""
LINGER_S = 0.004
"""How long a text waits for others to share its request, in seconds."""
LOOKED_UP = 4096
"""The number of texts that are looked up at once."""


class NoVector(Exception):
    """A text has no vector; `status` says why."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def vector_id(model: str, text: str) -> str:
    """Return the name of a vector, from the model's identity and the text."""
    return digest(["vector", versioned_name(model), text.encode("utf-8", "replace").decode("utf-8")])


@dataclass
class _Waiting:
    """Texts of one model that wait for a request, by the names of their vectors."""

    texts: dict[str, str] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    """The task that will send them."""


def vectors_of_others(others: OtherReplies, names: Sequence[str]) -> dict[str, tuple[Row, OtherStore, Vector]]:
    """Return the vectors that other stores have under these names, without invalid ones."""
    vectors = {}
    for name, (row, source) in (others.vectors(names) if names else {}).items():
        with suppress(ValueError):
            if row["status"] == OK:
                vectors[name] = row, OtherStore(*source), from_text(row["vector"] or "")
    return vectors


@dataclass
class Encoder:
    """The encoder of one run: it returns vectors from the ledger, and asks models for the others."""

    callers: Mapping[str, Caller]
    run: RunContext
    _vectors: OrderedDict[str, Vector] = field(default_factory=OrderedDict)
    """The cached vectors by name."""
    _futures: dict[str, asyncio.Future[Vector]] = field(default_factory=dict)
    """The vectors that are being asked for, by name."""
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    """The texts that wait for a request, by model."""
    _lengths: dict[str, int] = field(default_factory=dict)
    """The length of each model's vectors."""

    async def vectors(self, model: str, texts: Sequence[str], lane: Lane) -> list[Vector]:
        """Return the vectors of texts in their order. Raises `NoVector` if a text has none, and the errors of the
        model's caller if the model is unavailable."""
        vectors: dict[str, Vector] = {}
        identity = self.run.binding.identity_of(model)
        for start in range(0, len(texts), LOOKED_UP):
            batch = {vector_id(identity, text): text for text in texts[start : start + LOOKED_UP]}
            vectors |= await self._by_name(model, batch, lane)
        return [vectors[vector_id(identity, text)] for text in texts]

    async def _by_name(self, model: str, texts: Mapping[str, str], lane: Lane) -> dict[str, Vector]:
        """Return the vectors of texts, by name."""
        vectors = {name: self._vectors[name] for name in texts if name in self._vectors}
        self.run.tally.reused[lane] += len(vectors)
        unknown = [name for name in texts if name not in vectors and name not in self._futures]
        for name, vector in self._stored_vectors(unknown).items():
            vectors[name] = vector
            self._cache(name, vector)
            self.run.tally.reused[lane] += 1
        missing = [name for name in texts if name not in vectors]
        self.run.tally.reused[lane] += sum(name in self._futures for name in missing)
        futures = [self._ask(model, name, texts[name], lane) for name in missing]
        outcomes = await asyncio.gather(*(asyncio.shield(future) for future in futures), return_exceptions=True)
        for name, outcome in zip(missing, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            vectors[name] = outcome
        return vectors

    def _stored_vectors(self, names: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that the ledger or another store has. Raises `NoVector` if the ledger says that a text has
        none."""
        stored = list(kept_statuses(self.run.ledger, {TABLE: names}, final=True))
        rows = self.run.ledger.rows(TABLE, stored) if stored else {}
        vectors: dict[str, Vector] = {}
        for name, row in rows.items():
            if row["status"] != OK:
                raise NoVector(row["status"])
            vector = from_text(row["vector"])
            if self._length_error(row["model"], vector) is not None:
                raise NoVector(PROVIDER_ERROR)
            vectors[name] = vector
        return vectors | self._adopted_vectors([name for name in names if name not in vectors])

    def _adopted_vectors(self, names: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that other stores have, after adding them to the ledger."""
        vectors: dict[str, Vector] = {}
        for name, (row, source, vector) in vectors_of_others(self.run.others, names).items():
            if self._length_error(row["model"], vector) is None:
                vectors[name] = vector
                columns = {"run_id": self.run.run_id, "created_at": self.run.now(), "reused_from": str(source)}
                self.run.ledger.keep({TABLE: [{**row, **columns}]})
                self.run.tally.reuse_counts.add(source.place, row)
        return vectors

    def _length_error(self, model: str, vector: Vector) -> str | None:
        """Return why a vector cannot be compared with others of its model; None if it can. The first vector of a run
        sets the length."""
        length = self._lengths.setdefault(model, len(vector))
        if len(vector) == length:
            return None
        return f"`{model}` gave a vector of {len(vector)} numbers, and others of {length}"

    def _ask(self, model: str, name: str, text: str, lane: Lane) -> asyncio.Future[Vector]:
        """Return the future vector of a text, which is asked for together with others of the same model."""
        if name in self._futures:
            return self._futures[name]
        future = self._futures[name] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(model, _Waiting())
        waiting.texts[name], waiting.lanes[name] = text, lane
        if waiting.task is None or waiting.task.done():
            waiting.task = asyncio.create_task(self._send(model, waiting))
        return future

    async def _send(self, model: str, waiting: _Waiting) -> None:
        """Send all waiting texts, in requests of the largest size."""
        await asyncio.sleep(LINGER_S)
        texts, lanes = waiting.texts, waiting.lanes
        waiting.texts, waiting.lanes, waiting.task = {}, {}, None
        names, most = list(texts), max(1, self.callers[model].model.most_samples)
        batches = [names[start : start + most] for start in range(0, len(names), most)]
        await asyncio.gather(*(self._batch(model, {name: texts[name] for name in batch}, lanes) for batch in batches))

    async def _batch(self, model: str, texts: Mapping[str, str], lanes: Mapping[str, Lane]) -> None:
        try:
            await self._ask_together(model, texts, lanes)
        except BaseException as error:
            for name in texts:
                if name in self._futures:  # every future must be resolved
                    self._fail(name, error)
            if not isinstance(error, Exception):
                raise

    async def _ask_together(self, model: str, texts: Mapping[str, str], lanes: Mapping[str, Lane]) -> None:
        """Ask for the vectors of some texts in one request, and keep them. Raises the errors of the model's caller if
        the model is unavailable, and those of the ledger."""
        messages = tuple(Message("user", text) for text in texts.values())
        # A limit of zero reply tokens, so that a budget can bound the cost.
        request = Request(model, messages, Settings(max_tokens=0))
        lane = lanes[next(iter(texts))]
        try:
            called = await self.callers[model].call(request, lane)
        except ModelError as error:
            if len(texts) > 1 and not error.retryable:  # one text that is too long must not fail the others
                await asyncio.gather(*(self._batch(model, {name: text}, lanes) for name, text in texts.items()))
                return
            for place, (name, text) in enumerate(texts.items()):
                self._settle(model, name, text, lanes[name], error, {"attempts": 0 if place else error.attempts})
            return
        replies = (called.reply, *called.reply.further_choices)
        for place, ((name, text), reply) in enumerate(zip(texts.items(), replies, strict=False)):
            usage = {"attempts": 0 if place else called.attempts, "latency_s": called.latency_s}
            self._settle(model, name, text, lanes[name], reply, usage)
        for name in list(texts)[len(replies) :]:
            self._fail(name, NoVector(PROVIDER_ERROR))

    def _settle(
        self, model: str, name: str, text: str, lane: Lane, outcome: Reply | ModelError, usage: Mapping[str, Any]
    ) -> None:
        """Keep the outcome of a text, and then resolve its future."""
        columns = {
            key: value for key, value in NO_REPLY.items() if key not in ("reply", "thinking", "parsed", "logprobs")
        }
        columns |= {**UNUSED, **usage}
        vector: Vector | None = None
        status, error = OK, None
        if isinstance(outcome, ModelError):
            status, error = outcome.status, f"{outcome.code} {outcome.message}"
        else:
            try:
                vector = from_text(outcome.text)
                length_error = self._length_error(model, vector)
                if length_error is not None:
                    raise ValueError(length_error)
            except ValueError as reason:
                vector, status, error = None, PROVIDER_ERROR, f"R0257 {reason}"
            columns |= {
                "model_served": outcome.model_served,
                "finish_reason": outcome.finish_reason,
                "tokens_in": outcome.tokens_in,
                "tokens_out": outcome.tokens_out,
                "cost_usd": outcome.cost_usd,
            }
        row = {
            **columns,
            "vector_id": name,
            "run_id": self.run.run_id,
            "role": lane[0],
            "model": model,
            "identity": self.run.binding.identity_if_distinct(model),
            "text": text,
            "vector": None if vector is None or isinstance(outcome, ModelError) else outcome.text,
            "status": status,
            "error": error,
            "created_at": self.run.now(),
            "reused_from": None,
        }
        self.run.ledger.keep({TABLE: [row]})
        self.run.tally.count(lane, model, Answer(status, None, None, "", row))
        if vector is None:
            self._fail(name, NoVector(status))
            return
        self._cache(name, vector)
        future = self._futures.pop(name)
        if not future.done():
            future.set_result(vector)

    def _fail(self, name: str, error: BaseException) -> None:
        future = self._futures.pop(name)
        if not future.done():
            future.set_exception(error)
            future.exception()  # mark as retrieved: perhaps no step awaits it any more

    def _cache(self, name: str, vector: Vector) -> None:
        self._vectors[name] = vector
        if len(self._vectors) > KEPT:
            self._vectors.popitem(last=False)


@dataclass
class Retriever:
    """The computation of similarities by vectors for one run."""

    chooser: Chooser
    encoder: Encoder
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    """Locks that keep several rows from computing the same index, by model and text expression."""

    async def values(
        self, step: Retrieve, model: str, lane: Lane, names: StepValues
    ) -> dict[int, Values] | Unavailable:
        """Return the similarities of the elements, by number of the measure, or the reason why a value or a vector is
        missing."""
        values: dict[int, Values] = {}
        try:
            collection = self.chooser.collection(step, names.values)
            for number, measure in enumerate(self.chooser.split(step).measures):
                if measure.embeds:
                    query = evaluate(measure.query, names.values)
                    (query_vector,) = await self.encoder.vectors(model, [query], lane)
                    index = await self._index(collection, measure, model, lane, names)
                    values[number] = index.near(query_vector)
        except Unavailable as reason:
            return reason
        except NoVector as reason:
            return Unavailable(step.name, reason.status)
        return values

    async def _index(
        self, collection: Collection, measure: SimilarityCall, model: str, lane: Lane, names: StepValues
    ) -> VectorIndex:
        """Return the index of the vectors of the elements."""
        key = f"{model} {serialized_form(measure.text).model_dump_json()}"
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in collection.vectors:
                texts = collection.texts(measure.text, names.values)
                distinct = list(dict.fromkeys(text for text in texts if text is not None))
                by_text = dict(zip(distinct, await self.encoder.vectors(model, distinct, lane), strict=True))
                collection.vectors[key] = index_of(texts, by_text)
        return collection.vectors[key]
