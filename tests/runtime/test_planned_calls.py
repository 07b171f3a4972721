"""As many calls are made as were planned: of every spec among the cases of the compiler and the examples that runs."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.lengths import spread
from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import ScriptedCaller, ScriptedModel
from tripos.runs.compilation import find_spec
from tripos_runtime.asking.functions.calling import LoadedPlugin
from tripos_runtime.asking.functions.plugins import load_plugins
from tripos_runtime.datasets.cases import CaseSource, planned_steps
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.models.base import Reply, Request
from tripos_runtime.models.embeddings import MockEmbedding
from tripos_runtime.models.mocks import open_mock
from tripos_runtime.models.rewards import is_reward
from tripos_runtime.program.binding import bind, embedding_roles, reward_roles
from tripos_runtime.scheduling.calling import Called

ROOT = Path(__file__).parents[2]
SPECS = sorted([*ROOT.glob("tests/cases/*/valid/*.tripos"), *ROOT.glob("docs/examples/*.tripos")])
ROLES = {"single": ("s",), "panel": ("j", "k"), "compared": ("a", "b")}
LIMIT = 20


class MockedCaller(ScriptedCaller):
    """Asks a mock model, which replies in the form that is asked for."""

    async def call(self, request: Request, lane: tuple[str, str]) -> Called:
        """Return the mock's reply."""
        self.asked.append(request)
        if is_reward(request.model):
            return Called(Reply("0.5", request.model, "stop", None, None, 0.0), 1, 0.1)
        model = MockEmbedding() if request.model == "mock/embedding" else MOCK
        return Called(await model.ask(request), 1, 0.1)


async def _never(seconds: float) -> None:
    raise AssertionError("this mock does not wait")


MOCK = open_mock("careful", _never)


@pytest.mark.parametrize("path", spread(SPECS, 8), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_as_many_calls_are_made_as_were_planned(path: Path) -> None:
    spec = find_spec(str(path))
    compiled = spec.compile()
    plan = compiled.plan
    if plan is None:
        pytest.skip("no benchmark")
    filled = {role.name: ROLES[role.kind] for role in plan.roles}
    filled |= dict.fromkeys(reward_roles(plan), ("mock/reward",))
    filled |= dict.fromkeys(embedding_roles(plan), ("mock/embedding",))
    weighing = {
        step.role for each in plan.scenarios for step in each.steps if step.step == "ask" and step.options is not None
    }
    filled |= {name: tuple(f"mock/careful:{each}" for each in filled[name]) for name in weighing}
    (compared,) = [role.name for role in plan.roles if role.kind == "compared"]
    binding = bind(plan, filled[compared], {name: models for name, models in filled.items() if name != compared})
    callers: dict[str, Any] = {
        name: MockedCaller(ScriptedModel(name, structured=True), lambda request: "") for name in binding.all_models
    }
    source = CaseSource(plan, spec.folders, tuple(each.path for each in compiled.sources))
    selection, ledger = Selection(limit=LIMIT), MemoryLedger()
    functions = load_plugins(plan, Path(compiled.sources[0].path).parent, programs=None)
    # A program that scores calls no model: here each says 1 to everything, so that none is started.
    functions |= {each.name: LoadedPlugin(each, lambda **_: 1) for each in plan.plugins if each.external is not None}
    expected, slots = source.counts(selection), source.slot_counts(selection)
    engine = Engine(plan, binding, source, selection, callers, ledger, "run", workers=4, functions=functions)
    asyncio.run(engine.run())
    talks = {talk.fingerprint for scenario in plan.scenarios for talk in scenario.conversations}
    replies = [row for row in ledger.table("samples") if row["fingerprint"] not in talks] + ledger.table("turns")
    made: Counter[tuple[str, str]] = Counter((row["scenario"], row["role"]) for row in replies)
    made.update((row["scenario"], plan.scorer(row["scorer"]).role) for row in ledger.table("judgements"))
    steps = {
        step.using: scenario.name for scenario in plan.scenarios for step in scenario.steps if step.step == "retrieve"
    }
    made.update((steps[row["role"]], row["role"]) for row in ledger.table("vectors"))
    least: Counter[tuple[str, str]] = Counter()
    most: Counter[tuple[str, str]] = Counter()
    places = {each.name: each.scenario or each.name for each in plan.made}
    counts = {name: len(models) for name, models in binding.models.items()}
    for step in planned_steps(plan, expected, counts, slots):
        place = places.get(step.place, step.place)
        least[place, step.role] += step.least
        most[place, step.role] += step.most
    assert all(least[where] <= made[where] <= most[where] for where in {*most, *made}), (least, made, most)
    assert all(count >= 0 for count in engine.tally.skipped.values())
