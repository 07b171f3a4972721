"""Runs of a spec in a store, by models in this process that count what they are sent."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tripos.runs.compilation import find_spec
from tripos.runs.job import Job, RunObserver
from tripos_compiler.plan import Plan
from tripos_runtime.asking.ledger import ReuseCounts
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.run_forecast import Forecast, forecast
from tripos_runtime.models.base import FREE, Model, Reply, Request
from tripos_runtime.models.embeddings import open_embedding
from tripos_runtime.models.families import open_model
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.ledger.replies import OtherStores
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

WORDS = ("42", "4.5", "7", "goodbye", "sun", "moon", "kind", "warm", "left", "right", "up", "down", "ice", "tea")


def content_of(request: Request) -> str:
    """Return everything that is sent, as one text: two requests are the same where this is."""
    settings = request.settings.given
    messages = [[message.role, message.content] for message in request.messages]
    sent = [request.model, settings, messages, request.schema]
    more = [[*request.options], [*request.tools]] if request.options or request.tools else []
    return json.dumps([*sent, *more], ensure_ascii=False, sort_keys=True)


def reply_to(content: str, schema: Any, number: int) -> str:
    """Return a reply that follows from what is sent and the number of the draw."""
    seed = hashlib.sha256(f"{number} {content}".encode()).digest()
    if schema is not None:
        repaired = "could not be used" in content or "无法使用" in content
        return "broken {" if seed[0] % 7 == 0 and not repaired else json.dumps(_value(schema, seed))
    return " ".join((*(WORDS[byte % len(WORDS)] for byte in seed[: 2 + seed[1] % 4]), seed[:4].hex()))


def _value(schema: Mapping[str, Any], seed: bytes) -> Any:
    seed = hashlib.sha256(seed).digest()
    if "enum" in schema:
        return schema["enum"][seed[0] % len(schema["enum"])]
    match schema["type"]:
        case "object":
            return {name: _value(part, seed + name.encode()) for name, part in schema["properties"].items()}
        case "array":
            return [_value(schema["items"], seed + bytes([place])) for place in range(seed[0] % 3)]
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 9)
            return low + seed[0] % (high - low + 1)
        case "number":
            return seed[0] / 8
        case "boolean":
            return seed[0] % 2 == 0
    return " ".join((*(WORDS[byte % len(WORDS)] for byte in seed[: 1 + seed[1] % 4]), seed[:4].hex()))


@dataclass
class CountingModel(Model):
    """A model that counts what it is sent: `sent` in this run, `past` ever. What comes again is answered otherwise."""

    name: str
    sent: Counter[str]
    past: Counter[str]
    structured = True
    endpoint = "counting"
    price = FREE
    most_samples: int = 1
    fixed: bool = False
    """What comes again is answered as before."""

    async def ask(self, request: Request) -> Reply:
        """Return the reply to a request, and the further ones where it wants several."""
        content = content_of(request)
        before = 0 if self.fixed else self.past[content]
        self.past[content] += request.samples
        self.sent[content] += request.samples
        numbers = [before if self.fixed else before + each for each in range(request.samples)]
        texts = [reply_to(content, request.schema, number) for number in numbers]
        replies = [Reply(text, self.name, "stop", 10, 5, 0.001) for text in texts]
        return Reply(texts[0], self.name, "stop", 10, 5, 0.001, further_choices=tuple(replies[1:]))


@dataclass
class CountingEmbedder:
    """An embedding model whose texts are counted."""

    inner: Model
    sent: Counter[str]

    past: Counter[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def ask(self, request: Request) -> Reply:
        """Return the vectors of what was sent."""
        texts = [f"{request.model} {message.content}" for message in request.messages]
        self.sent.update(texts)
        self.past.update(texts)
        return await self.inner.ask(request)


@dataclass
class CountingMock(CountingEmbedder):
    """A mock model whose requests are counted."""

    async def ask(self, request: Request) -> Reply:
        """Return what the mock replies."""
        content = content_of(request)
        self.sent[content] += request.samples
        self.past[content] += request.samples
        return await self.inner.ask(request)


@dataclass(frozen=True)
class Ran:
    """The calls of a run: what was sent, what had been foreseen, and what was counted."""

    sent: Counter[str]
    foreseen: Forecast
    asked: int
    reused: int
    run_id: str
    taken: ReuseCounts
    damages: list[StoreError]


@dataclass
class Bench:
    """A folder with a spec and a store, which may both change between runs."""

    folder: Path
    models: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]
    most_samples: int = 1
    runs: int = 0
    selection: Selection = field(default_factory=Selection)
    past: Counter[str] = field(default_factory=Counter)
    """What was ever sent."""
    others: tuple[Path, ...] = ()
    """Other stores, whose replies are reused."""
    fixed: bool = False
    """What is sent again is answered as before."""

    @property
    def store(self) -> Path:
        """Return where the results are."""
        return self.folder / "store"

    def write(self, files: Mapping[str, str]) -> None:
        """Put the files of a spec in place of those before."""
        for path in self.folder.iterdir():
            if path.is_file():
                path.unlink()
        for name, text in files.items():
            (self.folder / name).write_text(text, "utf-8")

    def copy(self, folder: Path) -> Bench:
        """Return the same with a store of its own."""
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder, past=self.past.copy())

    def compiled(self) -> tuple[Plan, CaseSource]:
        """Return the plan of the one spec in the folder."""
        (path,) = self.folder.glob("*.tripos")
        found = find_spec(str(path))
        compilation = found.compile()
        assert compilation.plan is not None, [each.message for each in compilation.diagnostics]
        return compilation.plan, CaseSource(compilation.plan, found.folders, (str(path),))

    def run(self, models: tuple[str, ...] | None = None, roles: Mapping[str, tuple[str, ...]] | None = None) -> Ran:
        """Foresees and runs what stands in the folder, with other models where they are given."""
        plan, source = self.compiled()
        known = {role.name for role in plan.roles}
        filled = {**self.roles, **(roles or {})}
        binding = bind(plan, models or self.models, {role: each for role, each in filled.items() if role in known})
        store = Store.open(self.store, create=True)
        prices = dict.fromkeys(binding.all_models, FREE)
        damages: list[StoreError] = []
        others = OtherStores([str(each) for each in self.others], self.store, damages.append)
        with open_ledger(store, plan.fingerprints) as ledger:
            foreseen = forecast(plan, source, self.selection, binding, ledger, prices, other_stores=others)
        others = OtherStores([str(each) for each in self.others], self.store, damages.append)
        sent: Counter[str] = Counter()
        opened: dict[str, Any] = {}
        for name in binding.all_models:
            if name == "mock/embedding":
                opened[name] = CountingEmbedder(open_embedding(name), sent, self.past)
            elif name.startswith("mock/"):
                opened[name] = CountingMock(open_model(name), sent, self.past)
            else:
                opened[name] = CountingModel(name, sent, self.past, most_samples=self.most_samples, fixed=self.fixed)
        self.runs += 1
        run_id = f"run{self.runs:03}"
        source = CaseSource(plan, source.reader, source.spec_files)
        job = Job(plan, binding, self.selection, source, {}, store, run_id, Limits(), None, other_replies=others)
        ending = asyncio.run(job.run(opened, RunObserver()))
        assert ending.status == "finished", ending
        tally = job.tally
        asked, reused = sum(tally.asked.values()), sum(tally.reused.values())
        return Ran(sent, foreseen, asked, reused, run_id, tally.reuse_counts, damages)


RESULTS = ("samples", "turns", "judgements", "scores", "comparisons")


def results(bench: Bench) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return everything that a store has by its name, apart from when, how fast and by which run it was found."""
    store = Store.open(bench.store, create=False)
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for table in RESULTS:
        for path in store.parts(table):
            for row in pq.read_table(path).to_pylist(maps_as_pydicts="strict"):
                told = {name: row[name] for name in TABLES[table].content}
                found[table, row[TABLES[table].key[0]]] = told
    return found


def difference(before: Counter[str], edited: Ran, fresh: Ran) -> tuple[int, int]:
    """Return how many requests too many and too few were made in a store that had sent some `before`: wanted is what a
    fresh store sends and this one had not sent."""
    wanted = fresh.sent - before
    return (edited.sent - wanted).total(), (wanted - edited.sent).total()


__all__: Sequence[str] = ("Bench", "Ran", "difference", "results")
