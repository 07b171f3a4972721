"""Runs a benchmark that is written in a test, with a function for each model, and gives its measures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tripos.runs.compilation import find_spec
from tripos.runs.job import Job, RunObserver
from tripos_compiler.plan import Plan
from tripos_runtime.asking.functions.plugins import load_plugins
from tripos_runtime.asking.functions.settings import AllowedPrograms, ProgramLimits
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import FREE, ModelError, Price, Reply, Request
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

Says = Callable[[str], str | None]
"""What a model replies to the last message; None where it refuses."""
Answers = Callable[[list[str]], str | Reply | None]
"""What it replies to all messages; of a question for likelihoods, to the text and the options after it."""


@dataclass
class SayingModel:
    """A model that says what a function does."""

    name: str
    answers: Answers
    structured: bool = False
    slots: int | None = None
    price: Price | None = FREE
    most_samples: int = 1

    @property
    def endpoint(self) -> str:
        return self.name

    async def ask(self, request: Request) -> Reply:
        """Return the reply. Raises `ModelError` where the model refuses."""
        said = self.answers([*(each.content for each in request.messages), *request.options])
        if said is None:
            raise ModelError("R0108", "declined", "", status="refused")
        return said if isinstance(said, Reply) else Reply(said, self.name, "stop", 1, 1, 0.0)

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Score:
    """A score of an item, with the item's fields."""

    scenario: str
    metric: str
    model: str
    evaluator: str
    value: float | None
    choice: str | None
    status: str
    element_place: str | None
    element_value: str | None
    reply: str | None
    fields: Mapping[str, Any]


SCORES = """
select s.*, r.reply, i.fields
from {0}.scores s join {0}.items i using (scenario, item_id) left join {0}.samples r using (sample_id)
"""


@dataclass(frozen=True)
class Figures:
    """The plan of a run, the rows of its measures by name, and its scores."""

    plan: Plan
    rows: Mapping[str, tuple[MeasureRow, ...]]
    scores: tuple[Score, ...] = ()

    def __getitem__(self, name: str) -> MeasureRow:
        (row,) = self.rows[name]
        return row

    def by(self, name: str) -> dict[str, float | None]:
        """Return the values of a measure by its first dimension."""
        return {str(row.by[0]): row.value for row in self.rows[name]}


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def to_last(says: Says) -> Answers:
    """Return what replies to all messages by the last one."""
    return lambda messages: says(messages[-1])


def figures_of(
    folder: Path,
    spec: str,
    files: Mapping[str, str],
    says: Says,
    roles: Mapping[str, Says] | None = None,
    programs: Mapping[str, ProgramLimits] = {},
) -> Figures:
    """Run a spec with one model, and with another for each role of `roles`, and evaluate its measures. `programs` may
    be started."""
    others = {name: to_last(each) for name, each in (roles or {}).items()}
    return figures_in(folder, spec, files, to_last(says), others, programs)


def figures_in(
    folder: Path,
    spec: str,
    files: Mapping[str, str],
    answers: Answers,
    roles: Mapping[str, Answers] | None = None,
    programs: Mapping[str, ProgramLimits] = {},
    models: Mapping[str, Answers] | None = None,
) -> Figures:
    """As `figures_of`, of models that reply to all messages. `models` are compared, where there are several; a role
    with a panel has a model for each name that begins with its own and a colon."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"spec.tripos": spec, **files}.items():
        (folder / name).write_text(text, "utf-8")
    return figures_at(folder / "spec.tripos", answers, roles, programs, models)


def figures_at(
    main: Path,
    answers: Answers,
    roles: Mapping[str, Answers] | None = None,
    programs: Mapping[str, ProgramLimits] = {},
    models: Mapping[str, Answers] | None = None,
) -> Figures:
    """As `figures_in`, of a spec that is there, with its files beside it; the store is in its folder."""
    others = {**(roles or {}), **(models or {})}
    filled: dict[str, tuple[str, ...]] = {}
    for name in roles or {}:
        role = name.partition(":")[0]
        filled[role] = (*filled.get(role, ()), name)
    found = find_spec(str(main))
    compilation = found.compile()
    plan = compilation.plan
    assert plan is not None, [each.message for each in compilation.diagnostics]
    binding = bind(plan, tuple(models or ("scripted",)), filled)
    store = Store.open(main.parent / "results", create=True)
    source = CaseSource(plan, found.folders, tuple(each.path for each in compilation.sources))
    functions = load_plugins(plan, main.parent, programs=AllowedPrograms(programs))
    job = Job(plan, binding, Selection(), source, functions, store, "20260101-000000-0000", Limits(), None)
    ending = asyncio.run(
        job.run({name: SayingModel(name, others.get(name, answers)) for name in binding.all_models}, RunObserver())
    )
    assert ending.status == "finished", ending
    connection, _ = connect_run(store)
    with connection:
        rows = {each.name: evaluate(connection, plan, each).rows for each in plan.measures}
        scored = _rows(connection.execute(SCORES.format(plan.benchmark.name)))
    names = [each.name for each in fields(Score)]
    scores = [{name: row.get(name) for name in names} | {"fields": json.loads(row["fields"])} for row in scored]
    return Figures(plan, rows, tuple(Score(**each) for each in scores))


def _rows(found: Any) -> list[dict[str, Any]]:
    names = [each[0] for each in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
