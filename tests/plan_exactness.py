"""Holds what the plan and the forecast say of calls to the calls that a run makes, for a generated benchmark.

A call is a reply that is kept: of a model that writes, judges or embeds. What is asked for once more because it could
not be read is the same call. The counting models count requests apart, so that no call goes by uncounted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.generated_replies import AGAIN, Said, script
from tests.generated_specs import Generated, generate
from tests.runtime.in_memory import MemoryLedger
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_compiler.plan.outcomes import NOT_ASKED
from tripos_runtime.asking.ledger import KEY_COLUMNS
from tripos_runtime.datasets.cases import CaseSource, planned_steps
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.forecast.run_forecast import Forecast, forecast
from tripos_runtime.generate.attempts import place_of
from tripos_runtime.models.base import FREE, Model, ModelError, Price, Reply, Request
from tripos_runtime.models.embeddings import MockEmbedding
from tripos_runtime.program.binding import RoleBinding, bind
from tripos_runtime.scheduling.calling import Called

Row = Mapping[str, Any]
Where = tuple[str, str, str]
"""Scenario, step and role. Steps that are asked the same count together, under the name of the first."""
MOST_OUT = 64
"""No reply of the script has more tokens."""
CALLS = ("samples", "turns", "judgements", "vectors")
VECTORS: Where = ("", "(vectors)", "encoder")


@dataclass
class CountingModel(Model):
    """A scripted model."""

    name: str
    structured = True
    endpoint = "scripted"
    price = FREE


@dataclass
class CountingCaller:
    """Asks the script, and keeps every request."""

    model: CountingModel
    asked: list[Request] = field(default_factory=list)

    async def call(self, request: Request, lane: tuple[str, str]) -> Called:
        """Return the script's reply."""
        self.asked.append(request)
        await asyncio.sleep(0)
        if request.model == "mock/embedding":
            return Called(await MockEmbedding().ask(request), 1, 0.1)
        said = script(request.model, request.messages, request.schema, request.number)
        if isinstance(said, ModelError):
            raise said
        assert isinstance(said, Said)
        tokens = min(len(said.text) // 4 + 1, request.settings.max_tokens or MOST_OUT)
        sent = sum(len(message.content) for message in request.messages) // 4
        return Called(Reply(said.text, request.model, said.finish_reason, sent, tokens, 0.0), 1, 0.1)

    def halt(self) -> None:
        """Answer what comes all the same."""

    @property
    def calls(self) -> int:
        """The replies that were asked for, without those that were asked for again."""
        if self.model.name == "mock/embedding":
            return sum(len(request.messages) for request in self.asked)
        return sum(not request.messages[-1].content.startswith(AGAIN) for request in self.asked)


class LoggedLedger(MemoryLedger):
    """A ledger that knows in which order rows came."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[str, Row]] = []

    def keep(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """Take rows."""
        super().keep(rows)
        self.log += [(table, row) for table, some in rows.items() for row in some]

    def cut(self, share: float) -> LoggedLedger:
        """Return what was there when so much of it had been kept: a run that was killed."""
        found = LoggedLedger()
        for table, row in self.log[: round(len(self.log) * share)]:
            found.keep({table: [row]})
        return found


class Benchmark:
    """A generated benchmark, compiled, with its roles filled."""

    def __init__(self, generated: Generated) -> None:
        self.generated = generated
        spec = find_spec(str(generated.spec))
        compiled = spec.compile()
        assert compiled.plan is not None, [each.message for each in compiled.diagnostics]
        self.plan: Plan = compiled.plan
        self.folders = spec.folders
        self.canonical = _canonical(self.plan)

    def bound(self, models: Sequence[str] = ()) -> RoleBinding:
        """Return the roles, filled; the compared one by `models`, if any."""
        others = {role: names for role, names in self.generated.roles.items() if role != "candidate"}
        return bind(self.plan, tuple(models) or self.generated.roles["candidate"], others)

    def source(self) -> CaseSource:
        """Return the cases, with nothing made yet."""
        return CaseSource(self.plan, self.folders, (str(self.generated.spec),))

    def foretell(self, ledger: MemoryLedger, binding: RoleBinding, selection: Selection) -> Forecast:
        """Return what a run would do."""
        prices = dict.fromkeys(binding.all_models, Price(1e-6, 1e-6, most_out=MOST_OUT))
        return forecast(self.plan, self.source(), selection, binding, ledger, prices)

    def run(self, ledger: LoggedLedger, binding: RoleBinding, selection: Selection) -> dict[str, CountingCaller]:
        """Run it; what the models were asked."""
        callers = {name: CountingCaller(CountingModel(name)) for name in binding.all_models}
        engine = Engine(
            self.plan, binding, self.source(), selection, callers, ledger, "run", workers=4, sleep=_no_sleep,  # type: ignore[arg-type]
        )  # fmt: skip
        asyncio.run(engine.run())
        assert all(count >= 0 for count in engine.tally.skipped.values()), engine.tally.skipped
        return callers

    def table(self, binding: RoleBinding, selection: Selection) -> dict[Where, tuple[int, int]]:
        """Return the least and the most of every step by the plan alone."""
        source = self.source()
        models = {role: len(names) for role, names in binding.models.items()}
        found: dict[Where, tuple[int, int]] = {}
        for each in planned_steps(self.plan, source.counts(selection), models, source.slot_counts(selection)):
            made = next((one for one in self.plan.made if one.name == each.place), None)
            if made is not None:
                own = made.name.rpartition(".")[2]
                title = own if each.step == made.steps[0].name else f"{own}.{each.step}"
                where: Where = (place_of(made), title, each.role)
            else:
                where = self._where(each.place, each.step, each.role)
            least, most = found.get(where, (0, 0))
            found[where] = (least + each.least, most + each.most)
        return found

    def foretold(self, told: Forecast) -> dict[Where, tuple[int, int, int]]:
        """Return what is reused, the least and the most that a run asks, by the forecast."""
        found: dict[Where, tuple[int, int, int]] = {}
        for where, line in told.lines.items():
            key = self._where(where.scenario, where.step, where.role)
            before = found.get(key, (0, 0, 0))
            more = (line.reused, line.certain, line.most)
            found[key] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
        return found

    def bounds(self, told: Forecast) -> dict[Where, float]:
        """Return the tokens that calls take at the most, by the forecast."""
        found: dict[Where, float] = {}
        for where, estimate in told.estimates.items():
            key = self._where(where.scenario, where.step, where.role)
            found[key] = found.get(key, 0) + estimate.tokens_in.high + estimate.tokens_out.high
        return found

    def placed(self, rows: Sequence[tuple[str, Row]]) -> Iterator[tuple[Where, Row]]:
        """Of these rows those that are calls, with where they belong."""
        talks = {talk.fingerprint: talk.name for scenario in self.plan.scenarios for talk in scenario.conversations}
        for table, row in rows:
            if table in ("samples", "judgements") and row["status"] in NOT_ASKED:
                continue
            if table == "judgements":
                yield self._where(row["scenario"], row["fingerprint"], self._judging(row)), row
            elif table == "turns":
                yield self._where(row["scenario"], talks[row["fingerprint"]], row["role"]), row
            elif table == "vectors":
                yield VECTORS, row
            elif table == "samples" and row["fingerprint"] not in talks:
                yield self._where(row["scenario"], row["step"], row["role"]), row

    def _judging(self, row: Row) -> str:
        """Return the role that judged: of a cascade the stronger one where its model is in no other."""
        scorer, bound = self.plan.scorer(row["scorer"]), self.bound()
        return next(role for role in scorer.roles if row["evaluator"] in bound.of(role))

    def _where(self, scenario: str, step: str, role: str) -> Where:
        if role == "encoder":
            return VECTORS
        return scenario, self.canonical.get((scenario, step), step), role


def _canonical(plan: Plan) -> dict[tuple[str, str], str]:
    """Under which name a step counts, by scenario and its own name or what names its judgements."""
    found: dict[tuple[str, str], str] = {}
    for scenario in plan.scenarios:
        together: dict[str, str] = {}
        for step in (step for treatment in scenario.treatments for step in treatment.steps):
            names = [name for name in (step.name, getattr(step, "judgement", step.fingerprint)) if name]
            first = next((together[name] for name in names if name in together), step.name)
            olds = {together[name] for name in names if name in together} - {first}
            together |= {name: first for name, old in together.items() if old in olds}
            together |= dict.fromkeys(names, first)
        found |= {(scenario.name, name): first for name, first in together.items()}
    return found


@dataclass
class Checked:
    """How many counts were held to a run, how many of them were exact, and what did not fit."""

    counts: int = 0
    exact: int = 0
    calls: int = 0
    bounded: int = 0
    """Places whose tokens had a bound."""
    both: int = 0
    equal: int = 0
    """Of the places of a fresh run, how many the plan alone counts as the forecast does."""
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Checked) -> None:
        """Take in another one."""
        self.counts += other.counts
        self.exact += other.exact
        self.calls += other.calls
        self.bounded += other.bounded
        self.both += other.both
        self.equal += other.equal
        self.wrong += other.wrong

    def hold(
        self,
        what: str,
        spans: Mapping[Where, tuple[int, int]],
        made: Mapping[Where, int],
        perhaps: Mapping[Where, int] = MappingProxyType({}),
    ) -> None:
        """Hold the least and the most of every place to what was made there; `perhaps` is not yet counted."""
        for where in {**spans, **made}:
            least, most = spans.get(where, (0, 0))
            count = made.get(where, 0)
            self.counts += 1
            self.exact += least == most
            if not (least <= count + perhaps.get(where, 0) and count <= most):
                self.wrong.append(f"{what} {where}: {least}..{most}, and {count} were made")


def check(seed: int, folder: Path) -> Checked:
    """Run the benchmark of a seed on a fresh store and on one that is filled in part."""
    bench = Benchmark(generate(seed, folder))
    found = Checked()
    binding, everything = bench.bound(), Selection()
    whole = LoggedLedger()
    found.add(_hold(bench, whole, binding, everything, "fresh"))
    for share in (0.3, 0.7):
        found.add(_hold(bench, whole.cut(share), binding, everything, f"cut at {share}"))
    found.add(_hold(bench, whole.cut(1), binding, everything, "again"))
    limited = LoggedLedger()
    found.add(_hold(bench, limited, bench.bound(["m/a"]), Selection(limit=1), "limited"))
    found.add(_hold(bench, limited, binding, everything, "widened"))
    found.wrong = [f"seed {seed}, {each}" for each in found.wrong]
    return found


def _hold(bench: Benchmark, ledger: LoggedLedger, binding: RoleBinding, selection: Selection, what: str) -> Checked:
    found = Checked()
    before, there = len(ledger.log), _ids(ledger)
    drafts = {row["unit_id"] for row in ledger.table("drafts")} - there
    table = bench.table(binding, selection)
    foretold = bench.foretell(ledger, binding, selection)
    told = bench.foretold(foretold)
    callers = bench.run(ledger, binding, selection)
    new = ledger.log[before:]
    placed = list(bench.placed(new))
    made = Counter(where for where, row in placed if row.get("adopted_from") is None)
    adopted = Counter(where for where, row in placed if row.get("adopted_from") is not None)
    used: Counter[Where] = Counter()
    for where, row in placed:
        if row.get("adopted_from") is not None:
            continue
        used[where] += (row["tokens_in"] or 0) + (row["tokens_out"] or 0)
    bounds = bench.bounds(foretold)
    for where, tokens in used.items():
        found.bounded += bounds.get(where, 0) < inf
        if tokens > bounds.get(where, 0):
            found.wrong.append(f"{what} {where}: {bounds.get(where, 0):.0f} tokens at the most, and {tokens} were used")
    found.calls = made.total()
    found.hold(f"{what}: forecast", {where: (least, most) for where, (_, least, most) in told.items()}, made)
    # What was kept before counts too, as far as this run is about it: that is what the forecast calls reused. A reply
    # that another call had, and this one adopts, is among them where the forecast foresaw it.
    whole = Counter({where: reused + made[where] for where, (reused, _, _) in told.items()})
    whole[VECTORS] = len(ledger.table("vectors"))  # each is asked for once, whatever has come of it
    if before and VECTORS in table:  # where all replies are there, nobody needs the vectors that are not
        table[VECTORS] = (0, table[VECTORS][1])
    found.hold(f"{what}: table", table, +whole, adopted)
    if what == "fresh":  # rows that the compiler has not read may be known to the forecast
        for where in {**table, **told}:
            _, least, most = told.get(where, (0, 0, 0))
            outer = table.get(where, (0, 0))
            found.equal += outer == (least, most)
            found.both += 1
            if not outer[0] <= least <= most <= (outer[1]):
                found.wrong.append(f"{what} {where}: the table says {outer}, the forecast {least}..{most}")
    if what == "again" and made:
        found.wrong.append(f"{what}: {dict(made)} were asked again")
    resumed = sum(row[KEY_COLUMNS[name]] in drafts for name, row in new if name in CALLS)
    requests = sum(caller.calls for caller in callers.values())
    if requests + resumed != made.total():
        found.wrong.append(f"{what}: {requests} requests and {made.total()} calls")
    return found


def _ids(ledger: MemoryLedger) -> set[str]:
    return {row[KEY_COLUMNS[table]] for table in CALLS for row in ledger.table(table)}


async def _no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)
