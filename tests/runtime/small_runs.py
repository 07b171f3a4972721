"""Runs a small spec with scripts for models, on a ledger in memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.runtime.in_memory import MemoryLedger
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource, planned_calls
from tripos_runtime.datasets.selection import Selection, check_approved
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.models.base import FREE, Message, Model, ModelError, Reply, Request
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Called

NOTHING: Mapping[str, str] = {}
Script = Callable[[Request], str | Reply | ModelError]
"""What a model replies to a request."""
Row = Mapping[str, Any]


def echo(request: Request) -> str:
    """Return replies with who is asked and the last thing that was said."""
    return f"{request.model} on: {request.messages[-1].content}"


@dataclass
class ScriptedModel(Model):
    """A model that nobody asks: its caller answers."""

    name: str
    structured: bool = False
    most_samples: int = 1
    endpoint = "script"
    price = FREE


@dataclass
class ScriptedCaller:
    """Answers by a script, and keeps what it was asked. `delay` is how often others go on before a reply arrives."""

    model: ScriptedModel
    script: Script
    delay: Callable[[Request], int] = lambda request: 1
    asked: list[Request] = field(default_factory=list)
    roles: Counter[str] = field(default_factory=Counter)
    """How often each role asked."""

    async def call(self, request: Request, lane: tuple[str, str]) -> Called:
        """Return the script's reply."""
        self.asked.append(request)
        self.roles[lane[0]] += 1
        for _ in range(self.delay(request)):
            await asyncio.sleep(0)
        said = self.script(request)
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, Reply):
            return Called(said, 1, 0.1)
        others = tuple(Reply(said, self.model.name, "stop", 0, 5, 0.0) for _ in range(request.samples - 1))
        return Called(Reply(said, self.model.name, "stop", 10, 5, 0.0, further_choices=others), 1, 0.1)

    def halt(self) -> None:
        """Answer what comes all the same."""


@dataclass(frozen=True)
class SmallRun:
    """The requests and rows of a run."""

    plan: Plan
    ledger: MemoryLedger
    engine: Engine
    callers: Mapping[str, ScriptedCaller]
    planned: Mapping[str, int]
    """The calls that were to be made, by role."""

    @property
    def asked(self) -> dict[str, int]:
        """Return how often each model was asked."""
        return {name: len(caller.asked) for name, caller in self.callers.items()}

    @property
    def calls(self) -> dict[str, int]:
        """The calls that were made, by role."""
        made: Counter[str] = Counter()
        for (role, _), count in self.engine.tally.asked.items():
            made[role] += count
        return dict(made)

    def sent(self, model: str) -> list[tuple[tuple[str, str], ...]]:
        """Return the messages of every request to a model, as pairs of role and content, sorted."""
        return sorted(tuple(map(_pair, request.messages)) for request in self.callers[model].asked)

    def table(self, name: str) -> list[Row]:
        """Return the rows of a table."""
        return self.ledger.table(name)


def run_small(
    folder: Path,
    spec: str,
    files: Mapping[str, Sequence[Row] | str],
    *,
    models: tuple[str, ...] = ("a",),
    script: Script = echo,
    before: SmallRun | None = None,
    selection: Selection | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    identities: Mapping[str, str] = NOTHING,
    delay: Callable[[Request], int] = lambda request: 1,
    run_id: str = "run",
    **roles: str,
) -> SmallRun:
    """Compile `spec` beside `files` (JSON Lines of the rows given, or a text) and run it. `roles` names the model of
    every other role, or several with commas between them; what the run `before` kept is there already, and `identities` says who answers under a name."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        text = (
            content if isinstance(content, str) else "\n".join(json.dumps(row, ensure_ascii=False) for row in content)
        )
        (folder / name).write_text(text, "utf-8")
    path = folder / "s.tripos"
    path.write_text(spec, "utf-8")
    found = find_spec(str(path))
    compiled = found.compile()
    assert compiled.plan is not None, [each.message for each in compiled.diagnostics]
    check_approved(compiled.plan)
    plan, ledger = compiled.plan, MemoryLedger(before.ledger if before is not None else None)
    filled = {role: tuple(names.split(",")) for role, names in roles.items()}
    every = (*models, *(name for names in filled.values() for name in names))
    callers = {name: ScriptedCaller(ScriptedModel(name), script, delay) for name in every}
    binding = bind(plan, models, filled)
    binding = replace(binding, identities=identities)
    source = CaseSource(plan, found.folders, (str(path),))
    engine = Engine(
        plan=plan,
        binding=binding,
        source=source,
        selection=selection or Selection(),
        callers=callers,  # type: ignore[arg-type]
        ledger=ledger,
        run_id=run_id,
        workers=4,
        functions=functions or {},
        sleep=no_sleep,
    )
    with contextlib.suppress(Stopped):  # a script may end the run
        asyncio.run(engine.run())
    counts = source.counts(engine.selection)
    by_scenario = planned_calls(plan, counts, {role: len(names) for role, names in binding.models.items()})
    planned: Counter[str] = Counter()
    for by_role in by_scenario.values():
        planned.update(by_role)
    return SmallRun(plan, ledger, engine, callers, dict(planned))


def _pair(message: Message) -> tuple[str, str]:
    return message.role, message.content


async def no_sleep(seconds: float) -> None:
    """Wait no time."""
    await asyncio.sleep(0)
