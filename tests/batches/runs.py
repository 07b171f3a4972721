"""Runs by batches in this process, with short pauses, against the stand-in server."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import orjson

from tests.batches.batch_server import BatchServer
from tests.kills.contents import Contents
from tests.kills.work import ROLES, Work
from tripos.cli.main import run_command
from tripos_runtime.scheduling import batch_queue
from tripos_runtime.scheduling.batch_queue import Pauses

QUICK = Pauses(quiet_s=0.03, first_look_s=0.02, longest_look_s=0.1, grace_s=0.2, again_s=0.02)
MODELS = ("openai/a", "openai/b")
NAMES = (*MODELS, "openai/judge", "openai/helper")


@contextmanager
def quick(pauses: Pauses = QUICK) -> Iterator[None]:
    """Make the pauses of batches short."""
    with mock.patch.object(batch_queue, "USUAL", pauses):
        yield


@dataclass(frozen=True)
class Ran:
    """The outcome of a run: its exit code, its summary, and what it printed beside that."""

    code: int
    summary: Mapping[str, Any]
    told: str


@dataclass(frozen=True)
class Place:
    """A folder with the work, and settings that send its models to the server."""

    folder: Path
    server: BatchServer
    work: Work

    def settings(self, *, address: str | None = None, names: tuple[str, ...] = NAMES) -> None:
        """Write `tripos.toml`."""
        where = self.server.address if address is None else address
        tables = (
            f'[endpoints."{name}"]\nbase_url = "{where}"\nname = "batches"\n[prices."{name}"]\ninput = 2\noutput = 8\nmax_output = 64\n'
            for name in names
        )
        (self.folder / "tripos.toml").write_text("".join(tables), "utf-8")

    def run(self, store: str, *options: str, models: str | None = None) -> Ran:
        """Run the work into a store with further options."""
        arguments = [*self.work.arguments(self.folder / store), *options]
        if models is not None:
            arguments[arguments.index("--model") + 1] = models
        return run_here(self.folder, arguments)


def run_here(folder: Path, arguments: list[str]) -> Ran:
    """Run a command of `tripos` in this process."""
    out, told = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), redirect_stdout(out), redirect_stderr(told), quick():
        code = run_command(arguments)
    text = out.getvalue()
    return Ran(code, json.loads(text) if text.startswith("{") else {}, told.getvalue() + text)


def make_place(folder: Path, server: BatchServer, rows: int = 6, **work: Any) -> Place:
    """Return a place with a small work."""
    place = Place(folder, server, replace(Work(folder / "work", rows=rows, roles=ROLES), **work))
    place.work.write()
    place.settings()
    return place


def without_cost(found: Contents) -> Contents:
    """Return the contents of a store without what calls cost."""

    def bare(line: bytes) -> bytes:
        row = orjson.loads(line)
        row.pop("cost_usd", None)
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)

    return {table: sorted(map(bare, lines)) for table, lines in found.items()}


def costs(found: Contents) -> dict[str, float]:
    """Return what each call cost, by the name of its result."""
    rows = [orjson.loads(line) for table in ("samples", "judgements") for line in found[table]]
    return {row.get("sample_id", "") + row.get("judgement_id", ""): row["cost_usd"] for row in rows}
