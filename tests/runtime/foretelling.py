"""Small benchmarks whose forecasts are compared with what a run then does."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import Script, ScriptedCaller, ScriptedModel, no_sleep
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.forecast.reasons import NO_HISTORY, Earlier, History
from tripos_runtime.forecast.run_forecast import Forecast, forecast
from tripos_runtime.models.base import FREE, Price, Request
from tripos_runtime.program.binding import RoleBinding, bind

SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role judge panel
role helper
dataset item from "items.jsonl" { question text, answer text secret }
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..10, asks "Is it clear?" }
}
scorer grader(response: text) by judge {
  prompt "{{ metrics }} Grade: {{ response }}"
  gives allocated metrics
}
allocate grader {
  |      | CLEAR |
  | sums |   x   |
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = length(reply.text) > 3
  score grader(response: reply.text)
}
measure m = mean(long)
measure g = mean(grader)
"""
ITEMS = ("6 * 7", "40 + 2", "1 + 1")
CLEAR = '{"CLEAR": {"reason": "well", "score": 7}}'

EVERYTHING = Selection()


def well(request: Request) -> str:
    """Return a good reply to every question."""
    text = request.messages[-1].content
    return CLEAR if "Grade:" in text else '{"sum": 4}' if text.startswith("D ") else f"it is {text}"


class Bench:
    """One benchmark in a folder, which may be rewritten; the ledger and the earlier runs stay."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = MemoryLedger()
        self.earlier: list[Earlier] = []
        self.items: set[str] = set()
        self.write(SPEC)
        self.rows(*ITEMS)

    def write(self, text: str) -> None:
        (self.folder / "t.tripos").write_text(text, "utf-8")

    def rows(self, *questions: str) -> None:
        lines = [json.dumps({"question": each, "answer": f"the answer to {each}"}) for each in questions]
        (self.folder / "items.jsonl").write_text("\n".join(lines), "utf-8")

    def _compiled(self) -> tuple[Plan, CaseSource]:
        path = str(self.folder / "t.tripos")
        spec = find_spec(path)
        compilation = spec.compile()
        assert compilation.plan is not None, [each.message for each in compilation.diagnostics]
        return compilation.plan, CaseSource(compilation.plan, spec.folders, (path,))

    def _bound(self, plan: Plan, models: Sequence[str], judges: Sequence[str]) -> RoleBinding:
        names = {role.name for role in plan.roles}
        others = {"judge": tuple(judges), "helper": ("h",)}
        return bind(plan, tuple(models), {role: names_ for role, names_ in others.items() if role in names})

    def foretell(
        self,
        models: Sequence[str] = ("a",),
        judges: Sequence[str] = ("j",),
        prices: Mapping[str, Price | None] | None = None,
        selection: Selection = EVERYTHING,
        history: History | None = None,
    ) -> Forecast:
        plan, source = self._compiled()
        binding = self._bound(plan, models, judges)
        if history is None:
            items = {scenario.name: frozenset(self.items) for scenario in plan.scenarios}
            history = History(tuple(self.earlier), items) if self.earlier else NO_HISTORY
        prices = dict.fromkeys(binding.all_models, FREE) if prices is None else prices
        return forecast(plan, source, selection, binding, self.ledger, prices, history)

    def run(
        self,
        script: Script = well,
        models: Sequence[str] = ("a",),
        judges: Sequence[str] = ("j",),
        selection: Selection = EVERYTHING,
    ) -> Counter[tuple[str, str]]:
        """Run it; how often each role asked each model."""
        plan, source = self._compiled()
        binding = self._bound(plan, models, judges)
        callers = {name: ScriptedCaller(ScriptedModel(name), script) for name in binding.all_models}
        run_id = f"run{len(self.earlier)}"
        options: dict[str, Any] = {"callers": callers, "ledger": self.ledger}
        engine = Engine(plan, binding, source, selection, run_id=run_id, workers=4, sleep=no_sleep, **options)
        asyncio.run(engine.run())
        self.tally = engine.tally
        scenarios = frozenset(each.name for each in selection.chosen(plan))
        prints = frozenset(each for scenario in plan.scenarios for each in scenario.fingerprints)
        whole = selection.limit is None
        self.earlier.insert(0, Earlier(run_id, plan.to_json(), prints, binding.models, scenarios, whole))
        self.items |= {row["item_id"] for row in self.ledger.table("run_items")}
        return Counter({(role, name): count for name, each in callers.items() for role, count in each.roles.items()})


def calls(found: Forecast) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return what is reused, called at the least and called at the most, by role and model."""
    counted: dict[tuple[str, str], tuple[int, int, int]] = {}
    for where, line in found.lines.items():
        before = counted.get((where.role, where.model), (0, 0, 0))
        more = (line.reused, line.certain, line.most)
        counted[where.role, where.model] = tuple(a + b for a, b in zip(before, more, strict=True))  # type: ignore[assignment]
    return counted


def why(found: Forecast) -> dict[str, int]:
    """Return the calls of every reason, by its words."""
    return {reason.text: reason.calls for reason in found.reasons}
