"""Runs a plan: workers pull cases from an iterator, ask, read, score, and hand rows to the ledger.

Nothing that was answered is asked again: a call whose result the ledger has is read from there. Memory does not grow
with the run, since cases are made one at a time and results leave with every flush.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tripos_compiler.plan import Ask, Axis, Grade, Plan, Score, digest
from tripos_compiler.semantics.evaluate import Unavailable, calling, evaluate
from tripos_runtime.asking import Answer, Outcome, Question, messages, put
from tripos_runtime.binding import Binding
from tripos_runtime.calling import Caller, Stopped
from tripos_runtime.cases import Case, CaseSource, Selection, planned_calls
from tripos_runtime.grading import grade_reader, grade_schema, score_rows
from tripos_runtime.ledger import Ledger, Row
from tripos_runtime.models.base import Message
from tripos_runtime.reading import read, schema_of
from tripos_runtime.tally import Tally
from tripos_runtime.units import AGAIN, FAILED, Names, Unit

PREFETCH = 64
"""So many cases are looked up in the ledger at once."""
FLUSH_S = 2.0


@dataclass
class Engine:
    """One run. `run` returns when everything is done, when it is stopped, or when a model cannot be had at all."""

    plan: Plan
    binding: Binding
    source: CaseSource
    selection: Selection
    callers: Mapping[str, Caller]
    ledger: Ledger
    run_id: str
    workers: int
    tally: Tally = field(default_factory=Tally)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The plug-ins of the plan by name, from `load_plugins`."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    stopping: bool = False
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    trouble: Exception | None = None
    """What stopped the run, if anything did."""

    async def run(self) -> None:
        """Runs to the end. Raises `Stopped` where a model cannot be had, and what the ledger raises where it cannot
        keep results; what was answered before is kept in every case."""
        self._plan_calls()
        prints = {each for scenario in self.plan.scenarios for each in scenario.fingerprints}
        tables = ("samples", "judgements", "scores")
        self.known = {table: dict(self.ledger.known(table, prints)) for table in tables}
        pending = self._units()
        with calling(self.functions):  # tasks keep what holds where they are made
            workers = [asyncio.create_task(self._work(pending)) for _ in range(self.workers)]
        flusher = asyncio.create_task(self._flush_often())
        try:
            await asyncio.gather(*workers)
        finally:
            flusher.cancel()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(flusher, *workers, return_exceptions=True)
            self.ledger.flush()
        if self.trouble is not None:
            raise self.trouble

    def _plan_calls(self) -> None:
        models = {role: len(names) for role, names in self.binding.models.items()}
        for scenario, by_role in planned_calls(self.plan, self.source.counts(self.selection), models).items():
            for role, calls in by_role.items():
                self.tally.planned[role, scenario] += calls

    def _units(self) -> Iterator[tuple[Case, Mapping[str, Row]]]:
        """Cases with the rows of the ledger that they need, looked up in batches."""
        cases = self.source.cases(self.selection)
        while batch := list(itertools.islice(cases, PREFETCH)):
            wanted: dict[str, set[str]] = {"samples": set(), "judgements": set()}
            for case in batch:
                for unit in self._of(case):
                    if not self._complete(unit):
                        for table, name, _ in unit.calls(self.plan):
                            if self._kept(table, name):
                                wanted[table].add(name)
            rows: dict[str, Row] = {}
            for table, names in wanted.items():
                if names:
                    rows.update(self.ledger.rows(table, names))
            for case in batch:
                yield case, rows

    def _of(self, case: Case) -> list[Unit]:
        samples = max((s.samples for s in case.scenario.steps if isinstance(s, Ask)), default=1)
        models = self.binding.of(self.binding.compared)
        return [Unit(case, model, number, self.binding) for model in models for number in range(samples)]

    def _kept(self, table: str, name: str) -> bool:
        return self.known[table].get(name, FAILED) not in AGAIN

    def _complete(self, unit: Unit) -> bool:
        """Whether the ledger has every result of a unit."""
        calls = all(self._kept(table, name) for table, name, _ in unit.calls(self.plan))
        return calls and all(self._kept("scores", name) for name in unit.scores(self.plan))

    async def _work(self, pending: Iterator[tuple[Case, Mapping[str, Row]]]) -> None:
        for case, rows in pending:
            if self.stopping:
                return
            try:
                await self._case(case, rows)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # the other workers finish what they have under way
                self.trouble = self.trouble or error
                self.stopping = True
                return

    async def _case(self, case: Case, rows: Mapping[str, Row]) -> None:
        self._add_case(case)
        shared = Shared(rows)
        todo: list[Coroutine[Any, Any, None]] = []
        for unit in self._of(case):
            if self._complete(unit):
                self._reuse(unit, shared)
            else:
                todo.append(self._unit(unit, shared))
        await _together(todo)
        await asyncio.sleep(0)  # let the others in where nothing had to be awaited

    def _add_case(self, case: Case) -> None:
        scenario = case.scenario.name
        item = {
            "item_id": case.item_id,
            "benchmark": self.plan.benchmark.name,
            "scenario": scenario,
            "dataset": case.dataset,
            "language": case.language,
            "context": dict(case.context),
            "fields": json.dumps(case.fields, ensure_ascii=False, sort_keys=True, default=sorted),
        }
        membership = {"run_id": self.run_id, "scenario": scenario, "item_id": case.item_id}
        self.ledger.add_all({"items": [item], "run_items": [membership]})

    def _reuse(self, unit: Unit, shared: Shared) -> None:
        for table, name, role in unit.calls(self.plan):
            if shared.first(name):
                self.tally.reused[role, unit.case.scenario.name] += 1
                if table == "samples":
                    self.tally.samples[self.known[table][name]] += 1

    async def _unit(self, unit: Unit, shared: Shared) -> None:
        names = Names(dict(unit.case.names))
        for step in unit.case.scenario.steps:
            match step:
                case Ask():
                    await self._ask(unit, step, names, shared)
                case Score():
                    self._score(unit, step, names, shared)
                case Grade():
                    await self._grade(unit, step, names, shared)

    async def _ask(self, unit: Unit, step: Ask, names: Names, shared: Shared) -> None:
        name = unit.sample_of(step)
        status = names.holds(step)
        if status is not None:
            if shared.first(name):
                self.tally.skipped[step.role, unit.case.scenario.name] += 1
            names.skipped(step, status)
            return
        answer = await shared.once(name, lambda: self._sample(unit, step, names, name, shared.rows))
        names.answered(step, answer.text, answer.value, answer.status, answer.prompt)

    async def _sample(self, unit: Unit, step: Ask, names: Names, name: str, rows: Mapping[str, Row]) -> Answer:
        key = (step.role, unit.case.scenario.name)
        schema = schema_of(step.returns) if step.returns is not None else None
        question = Question(step.system, step.prompt, step.settings, schema)
        reader = _reply_reader(step, tuple(self.source.axes.values()))
        try:
            sent = messages(question, names.values, unit.case.language, self.source.axes)
        except Unavailable as reason:
            self.tally.skipped[key] += 1
            return Answer(reason.status, None, None, "", {})
        prompt = "\n\n".join(message.content for message in sent)
        if self._kept("samples", name):
            row = rows[name]
            self.tally.reused[key] += 1
            self.tally.samples[row["status"]] += 1
            text = row["reply"]
            value = reader(text).value if text is not None and row["status"] == "ok" else None
            return Answer(row["status"], text, value, prompt, {})
        model = unit.model_of(step)
        answer = await put(self.callers[model], question, sent, unit.case.language, reader)
        self._count(key, answer)
        self.tally.samples[answer.status] += 1
        row = {
            "sample_id": name,
            **self._common(unit, step.fingerprint),
            "step": step.name,
            "item_id": unit.case.item_id,
            "context": dict(unit.case.context),
            "role": step.role,
            "model": model,
            "sample_number": unit.number_of(step),
            **answer.columns,
        }
        self.ledger.add_all({"samples": [row]})
        return answer

    def _common(self, unit: Unit, fingerprint: str) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "benchmark": self.plan.benchmark.name,
            "scenario": unit.case.scenario.name,
            "fingerprint": fingerprint,
            "created_at": self.now(),
        }

    def _count(self, key: tuple[str, str], answer: Answer) -> None:
        columns = answer.columns
        if answer.status == FAILED:
            self.tally.failed[key] += 1
            self.tally.errors[str(columns["error"]).split(" ", 1)[0]] += 1
            return
        self.tally.asked[key] += 1
        self.tally.tokens_in += columns["tokens_in"] or 0
        self.tally.tokens_out += columns["tokens_out"] or 0
        if columns["cost_usd"] is None:
            self.tally.cost_unknown += 1
        else:
            self.tally.cost_usd += columns["cost_usd"]

    def _score(self, unit: Unit, step: Score, names: Names, shared: Shared) -> None:
        status = names.holds(step) or "scored"
        value: float | None = None
        if status == "scored":
            try:
                value = float(evaluate(step.value, names.values))
            except Unavailable as reason:
                status = reason.status
        scores = self._scores(unit, step, None, None, {step.name: (value, status)}, shared)
        self.ledger.add_all({"scores": scores})

    async def _grade(self, unit: Unit, step: Grade, names: Names, shared: Shared) -> None:
        scorer = self.plan.scorer(step.scorer)
        metrics = [self.plan.metric(metric) for metric in step.metrics]
        status = names.holds(step)
        question = Question(scorer.system, scorer.prompt, scorer.settings, grade_schema(scorer, metrics))
        sent: tuple[Message, ...] = ()
        if status is None:
            try:
                args = {param: evaluate(expr, names.values) for param, expr in step.args.items()}
                sent = messages(question, args, unit.case.language, self.source.axes, metrics)
            except Unavailable as reason:
                status = reason.status
        titles = [metric.name for metric in metrics] or [step.name]

        async def judge(evaluator: str) -> None:
            name = unit.judgement_of(step, evaluator)
            if status is not None:
                if shared.first(name):
                    self.tally.skipped[scorer.role, unit.case.scenario.name] += 1
                empty = dict.fromkeys(titles, (None, status))
                self.ledger.add_all({"scores": self._scores(unit, step, None, evaluator, empty, shared)})
                return
            asked = (question, sent, grade_reader(scorer, metrics))
            answer = await shared.once(name, lambda: self._judge(unit, step, evaluator, asked, shared.rows))
            values = score_rows(step, answer)
            self.ledger.add_all({"scores": self._scores(unit, step, name, evaluator, values, shared)})

        await _together([judge(evaluator) for evaluator in unit.evaluators(step, self.plan)])

    async def _judge(
        self,
        unit: Unit,
        step: Grade,
        evaluator: str,
        asked: tuple[Question, tuple[Message, ...], Callable[[str], Outcome]],
        rows: Mapping[str, Row],
    ) -> Answer:
        """A judgement: the one that the ledger has, or else a new one."""
        question, sent, reader = asked
        key = (self.plan.scorer(step.scorer).role, unit.case.scenario.name)
        name = unit.judgement_of(step, evaluator)
        if self._kept("judgements", name):
            self.tally.reused[key] += 1
            row = rows[name]
            outcome = reader(row["reply"]) if row["reply"] is not None else Outcome(None, None)
            return Answer(row["status"], row["reply"], outcome.value, "", {})
        answer = await put(self.callers[evaluator], question, sent, unit.case.language, reader)
        self._count(key, answer)
        judgement = {
            "judgement_id": name,
            "sample_id": unit.sample_of(unit.case.scenario.ask(step.of)),
            **self._common(unit, step.judgement),
            "scorer": step.scorer,
            "evaluator": evaluator,
            **answer.columns,
        }
        self.ledger.add_all({"judgements": [judgement]})
        return answer

    def _scores(
        self,
        unit: Unit,
        step: Score | Grade,
        judgement: str | None,
        evaluator: str | None,
        values: Mapping[str, tuple[float | None, str]],
        shared: Shared,
    ) -> list[Row]:
        """The rows of scores that the ledger has not yet."""
        names = unit.scores_of(step, evaluator)
        new = {title: each for title, each in values.items() if shared.first(names[title])}
        self.tally.scores.update(status for _, status in new.values())
        sample = unit.sample_of(unit.case.scenario.ask(step.of))
        return [
            {
                "score_id": names[title],
                "sample_id": sample,
                "judgement_id": judgement,
                **self._common(unit, step.fingerprint),
                "item_id": unit.case.item_id,
                "model": unit.model,
                "scorer": step.scorer if isinstance(step, Grade) else step.name,
                "metric": title,
                "evaluator": evaluator,
                "value": value,
                "status": status,
            }
            for title, (value, status) in new.items()
            if not self._kept("scores", names[title])
        ]

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            try:
                self.ledger.flush()
            except Exception as error:  # the ledger cannot keep results: ask for no more
                self.trouble = self.trouble or error
                self.stopping = True
                return


@dataclass
class Shared:
    """What the units of one case have in common: rows of the ledger, and what one of them has done for all."""

    rows: Mapping[str, Row]
    answers: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def first(self, name: str) -> bool:
        """Whether this name comes up for the first time."""
        new = name not in self.seen
        self.seen.add(name)
        return new

    async def once(self, name: str, make: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """The answer of that name, made by whoever asks for it first."""
        if name in self.answers:
            return await asyncio.shield(self.answers[name])
        future = self.answers[name] = asyncio.get_running_loop().create_future()
        self.seen.add(name)
        try:
            answer = await make()
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # seen: nobody else may be waiting
            raise
        future.set_result(answer)
        return answer


async def _together(todo: list[Coroutine[Any, Any, None]]) -> None:
    """Runs all to their end, also where one fails, and then raises what the first of those raised: a reply under way is
    worth waiting for."""
    if len(todo) == 1:
        await todo[0]
        return
    for outcome in await asyncio.gather(*todo, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def _reply_reader(step: Ask, axes: Sequence[Axis]) -> Callable[[str], Outcome]:
    returns = step.returns
    if returns is None:
        return lambda text: Outcome(text, None)

    def reader(text: str) -> Outcome:
        found = read(returns, text, axes)
        if found.error is not None:
            return Outcome(None, None, found.error, found.status)
        return Outcome(found.value, found.value)

    return reader


def new_run_id(now: datetime) -> str:
    """A name for a run that sorts by time: `20261121-060431-3fa9`."""
    return f"{now:%Y%m%d-%H%M%S}-{digest([now.isoformat(), time.perf_counter_ns()])[:4]}"


__all__ = ["Engine", "Stopped", "new_run_id"]
