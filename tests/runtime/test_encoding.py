"""Vectors of texts: what becomes of those that wait where something goes wrong, and of vectors of several lengths."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from tripos_compiler.plan import Plan
from tripos_runtime.asking.ledger import EmptyLedger, Row
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.drivers.encoding import Encoder, NoVector
from tripos_runtime.models.base import ModelError, Reply, Request
from tripos_runtime.models.vectors import to_text
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.running import RunContext
from tripos_runtime.scheduling.calling import Caller

LANE = ("encoder", "s")


@dataclass
class Kept(EmptyLedger):
    """A ledger that may be full."""

    full: bool = False
    there: dict[str, Row] = field(default_factory=dict)

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]:
        """Of every vector that is kept, its status."""
        return [self.there[name]["status"] if name in self.there else None for name in ids]

    def rows(self, table: str, ids: Sequence[str]) -> Mapping[str, Row]:
        """Return the rows of these names."""
        return {name: self.there[name] for name in ids}

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Keep rows, or raise `OSError`."""
        if self.full:
            raise OSError("no space left on device")
        self.there |= {row["vector_id"]: row for row in rows["vectors"]}


@dataclass
class Called:
    """The outcome of a call."""

    reply: Reply
    attempts: int = 1
    latency_s: float = 0.0


@dataclass
class Embedding:
    """A caller and its model at once: a text is as many ones as `length` says."""

    length: Any
    most_samples: int = 2
    refused: str | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def model(self) -> Embedding:
        """The model that is called."""
        return self

    async def call(self, request: Request, lane: tuple[str, str]) -> Called:
        """Return the vectors of a request's messages."""
        texts = [message.content for message in request.messages]
        self.asked += texts
        if self.refused in texts:
            raise ModelError("R0112", "too long", "shorten it")
        first, *others = [Reply(to_text(np.ones(self.length(text))), "m", "stop", 1, 0, 0.0) for text in texts]
        return Called(Reply(first.text, "m", "stop", 1, 0, 0.0, further_choices=tuple(others)))


def encoder(model: Embedding, kept: Kept) -> Encoder:
    plan, sources = cast("Plan", None), cast("Sources", None)
    run = RunContext(plan, RoleBinding({}, ""), sources, kept, run_id="run")
    return Encoder(cast("Mapping[str, Caller]", {"m": model}), run)


def embedded(made: Encoder, texts: Sequence[str]) -> list[int]:
    """Return how long the vectors of texts are."""

    async def asked() -> list[int]:
        return [len(each) for each in await asyncio.wait_for(made.vectors("m", texts, LANE), 5)]

    return asyncio.run(asked())


def test_nobody_waits_for_ever_where_a_vector_cannot_be_kept() -> None:
    with pytest.raises(OSError, match="no space"):
        embedded(encoder(Embedding(lambda text: 3), Kept(full=True)), ["a", "b", "c"])


def test_vectors_of_several_lengths_are_not_compared() -> None:
    kept = Kept()
    made = encoder(Embedding(lambda text: 3 if text == "a" else 4, most_samples=1), kept)
    assert embedded(made, ["a"]) == [3]
    with pytest.raises(NoVector):
        embedded(made, ["b"])
    (failed,) = [row for row in kept.there.values() if row["status"] != "ok"]
    assert failed["error"] == "R0257 `m` gave a vector of 4 numbers, and others of 3"
    assert failed["vector"] is None


def test_a_vector_that_an_earlier_run_kept_is_as_long_as_those_that_are_asked_for() -> None:
    kept = Kept()
    assert embedded(encoder(Embedding(lambda text: 3), kept), ["a"]) == [3]
    changed = encoder(Embedding(lambda text: 4), kept)
    assert embedded(changed, ["a"]) == [3]
    with pytest.raises(NoVector):
        embedded(changed, ["b"])


def test_one_text_that_is_refused_does_not_cost_the_others_their_vector() -> None:
    kept = Kept()
    model = Embedding(lambda text: 3, most_samples=3, refused="b")
    with pytest.raises(NoVector):
        embedded(encoder(model, kept), ["a", "b", "c"])
    assert {row["text"]: row["status"] for row in kept.there.values()} == {"a": "ok", "b": "provider_error", "c": "ok"}


def test_a_text_is_sent_once_however_many_wait_for_it() -> None:
    model = Embedding(lambda text: 3)
    made = encoder(model, Kept())

    async def twice() -> None:
        await asyncio.gather(made.vectors("m", ["a", "b"], LANE), made.vectors("m", ["b", "c", "b"], LANE))

    asyncio.run(twice())
    assert sorted(model.asked) == ["a", "b", "c"]
