"""The engine of a run: workers take cases from an iterator and run their steps. All results are in the ledger.

A result that the ledger has is never asked for again. A new reply is in the ledger before anything else happens, so a
killed run loses nothing. Memory does not grow with the run: cases are built and looked up in batches, and results leave
the memory with every flush.

Several processes may share a run. Each claims parts, which are groups of neighbouring cases, and keeps its claims until
it ends. The parts of a process that died can be claimed again; the replies that it got are in the ledger."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import orjson

from tripos_compiler.language.contexts import RowClusters
from tripos_compiler.language.evaluation import EvaluationStopped
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import Plan, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import NOTHING_KEPT, Ledger, OtherReplies
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.cases import Case, CaseSource, SubsetTags, planned_calls
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.encoding import Encoder
from tripos_runtime.drivers.live import LiveDriver
from tripos_runtime.drivers.lookup import BATCH, Lookup, Task, bound_treatments
from tripos_runtime.drivers.sequential_stopping import (
    LIVE,
    CaseReader,
    Lookahead,
    OrderedCases,
    OrderedReader,
    StoppingRule,
)
from tripos_runtime.generate.attempts import origin_columns
from tripos_runtime.generate.author import GenerationObserver
from tripos_runtime.generate.maker import DataMaker
from tripos_runtime.program.adoption import CurrentCase, ReplyReuse, RunResults
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.retrieval import IndexStore
from tripos_runtime.program.running import NO_ROWS, CaseState, RunContext, gather_all
from tripos_runtime.scheduling.budget import Halted
from tripos_runtime.scheduling.calling import Caller
from tripos_runtime.scheduling.endpoint import Sleep

PARTS = 64
"""The number of parts per process. Many small parts keep all processes busy until the end."""

Claim = Callable[[str], bool]
"""Claims a key, and returns true unless another process has claimed it."""


@dataclass
class Share:
    """The share that this process has of run `run_id`: the parts that it has claimed, of `size` cases each."""

    run_id: str
    size: int
    leads: bool
    """True for the one process that generates data sets before the others start."""
    generate: Callable[[], Awaitable[None]]
    """Announces that the data sets are generated, in the process that leads; waits for this in the others."""
    rest: Callable[[], Awaitable[bool]]
    """Announces that there is no part left to claim, and waits. Returns true if there may be one again, false if the
    run is over."""
    _claimed: set[int] = field(default_factory=set)
    _part_count: int = 0
    """The number of parts of the run, as far as it is known."""

    def take(self, cases: Iterable[Case], claim: Claim) -> Iterator[Case]:
        """Claim each part that no process has claimed, and yield its cases."""
        for number, part in self._parts(cases):
            if number not in self._claimed and claim(self._key(number)):
                self._claimed.add(number)
                yield from part

    def take_back(self, cases: Callable[[], Iterable[Case]], claim: Claim) -> Iterator[Case]:
        """Claim the parts that other processes released, for instance because they died, and yield their cases."""
        numbers = range(self._part_count)
        free = {number for number in numbers if number not in self._claimed and claim(self._key(number))}
        self._claimed |= free
        return self._of(cases, free) if free else iter(())

    def claimed_cases(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield the cases of every part that this process has claimed."""
        for number, part in self._parts(cases):
            if number in self._claimed:
                yield from part

    def _of(self, cases: Callable[[], Iterable[Case]], numbers: set[int]) -> Iterator[Case]:
        for number, part in self._parts(cases()):
            if number in numbers:
                yield from part

    def _parts(self, cases: Iterable[Case]) -> Iterator[tuple[int, Iterator[Case]]]:
        for number, (_, part) in enumerate(itertools.groupby(enumerate(cases), lambda each: each[0] // self.size)):
            self._part_count = max(self._part_count, number + 1)
            yield number, (case for _, case in part)

    def _key(self, number: int) -> str:
        return f"part {self.run_id} {number}"


def part_size(cases: int, processes: int) -> int:
    """Return the number of cases of a part.

    >>> part_size(20_000, 2), part_size(60, 2)
    (157, 1)
    """
    return max(1, -(-cases // (PARTS * processes)))


FLUSH_S = 2.0
"""The pause in seconds between two flushes of the ledger."""
WAIT_S = 0.5
"""The pause in seconds between two looks at cases that another process works on."""


@dataclass
class Engine(GenerationObserver):
    """One run. `run` returns when everything is done, the run is stopped, or a model is unavailable."""

    plan: Plan
    binding: RoleBinding
    source: CaseSource
    selection: Selection
    callers: Mapping[str, Caller]
    ledger: Ledger
    run_id: str
    workers: int
    """The approximate number of units in flight at once."""
    tally: RunProgress = field(default_factory=RunProgress)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The plug-ins of the plan by name, from `load_plugins`."""
    shelf: IndexStore | None = None
    """The cache of retrieval indexes."""
    others: OtherReplies = NOTHING_KEPT
    """Other stores, whose replies are adopted."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Sleep = asyncio.sleep
    share: Share | None = None
    """The share of this process, if several processes share the run."""
    settler: StoppingRule | None = None
    """The stopping rule of a run that stops once its figures are settled."""
    reader: CaseReader | None = None
    """The reader of all cases, if several processes share a run with a stopping rule."""
    lookahead: Lookahead = LIVE
    """The number of cases that a run with a stopping rule may start beyond those read."""
    stopping: bool = False
    """True once the run makes no further calls."""
    trouble: Exception | None = None
    """The error that stopped the run, if any."""
    prefix: OrderedReader | None = None
    """The reader of cases in their order, in a run with a stopping rule."""
    _items: int = 0
    """The number of items that were listed in the ledger as items of this run."""

    def stop(self) -> None:
        """Make no further calls. Calls in flight are finished and kept, and then `run` returns."""
        self.stopping = True
        self.look_again()
        for caller in self.callers.values():
            caller.halt()

    def on_failure(self) -> None:
        """Stop, since a call of a generated data set failed."""
        self.stop()

    def look_again(self) -> None:
        """Wake up cases that wait for others to be read."""
        if self.prefix is not None:
            self.prefix.move()

    async def run(self) -> None:
        """Run to the end. Raises `Stopped` if a model is unavailable, and the errors of the ledger if it cannot keep
        results. The results that were kept before an error remain."""
        self._plan_calls()
        chosen = self.selection.chosen(self.plan)
        self.lookup = Lookup(self.ledger, bound_treatments(chosen, self.plan, self.binding), self.binding)
        if self.share is not None:
            self.lookup.most = min(BATCH, self.share.size)
        work = self.ledger.work(work_name(self.plan, self.binding, self.selection, self.source.withheld))
        context = RunContext(
            self.plan, self.binding, self.source.sources, self.ledger, work, self.run_id, self.tally, self.now,
            self.sleep, self.others,
        )  # fmt: skip
        self.driver = LiveDriver(context, callers=self.callers)
        reader = self.reader
        if self.settler is not None:
            reader = OrderedCases(self.settler, frozenset(self.binding.of(self.binding.compared)), self._list)
        if reader is not None:
            self.driver.scored = {}
            self.prefix = OrderedReader(reader, self.ledger, self.driver.scored, self.lookahead)
            self.lookup.is_asked = self.prefix.asked
        self.driver.encoder = Encoder(self.callers, context)
        self.driver.world.chooser.shelf = self.shelf
        results = RunResults(
            self.plan,
            self.binding.answering,
            chosen,
            lambda scenarios: self.source.cases_of(scenarios, self.selection.without_shards),
            self.lookup.units,
        )
        reuse = self.driver.adoption = ReplyReuse(
            self.ledger, results, others=self.others, reuse=self.tally.reuse_counts
        )
        flusher = asyncio.create_task(self._flush_often())
        has_all_cases = False
        try:
            await self._make(context, reuse)
            await self._passes()
            if self.prefix is not None and not self.stopping:
                self.tally.end_early()
            has_all_cases = not self.stopping and self.share is None  # a share never has all cases
        finally:
            flusher.cancel()
            await asyncio.gather(flusher, return_exceptions=True)
            self.ledger.flush()
            if has_all_cases and self.driver.complete and self._maker.is_complete and self.trouble is None:
                settled = {} if self.settler is None else {"settled": self.settler.state()}
                work.finish({"run_id": self.run_id, "items": self._items, **self.tally.summary(), **settled})
            else:
                work.abandon()
        if self.trouble is not None:
            raise self.trouble

    async def _make(self, context: RunContext, reuse: ReplyReuse) -> None:
        """Generate the data sets. If several processes share the run, one generates them and the others read the rows
        from the ledger."""
        share = self.share
        if share is not None and not share.leads:
            await share.generate()
            context = replace(context, tally=RunProgress())
        self._maker = DataMaker(
            context, self.source, self.selection, self.callers, self.workers, self.functions, self, reuse
        )
        try:
            await self._maker.make()
        except Halted:
            return
        except EvaluationStopped:
            self.stop()
            return
        except Exception as error:  # handled like an error in a case
            self.trouble = self.trouble or error
            self.stop()
            return
        if self._maker.makers:
            self._plan_calls()  # the numbers of generated rows are known only after this
        if share is not None:
            if share.leads:
                self.ledger.flush()
                await share.generate()
            else:
                self.tally.add_usage(context.tally)

    async def _passes(self) -> None:
        """Run all cases, or those of the share, followed by the cases that other processes release."""
        if self.stopping:
            return
        self._marks = SubsetTags(self.source, self.source.drawn())
        share, claim = self.share, self.ledger.claim
        await self._finish(self._cases() if share is None else share.take(self._cases(), claim))
        while share is not None and not self.stopping:
            self.ledger.flush()
            if not await share.rest():
                return
            await self._finish(share.take_back(self._cases, claim))

    def _cases(self) -> Iterator[Case]:
        cases = self.source.cases(self.selection)
        return cases if self.prefix is None else self.prefix.ordered(cases)

    async def _finish(self, cases: Iterator[Case]) -> None:
        """Run these cases, and those that are deferred because another process works on them, until none is left."""
        await self._pass(self.lookup.tasks(cases))
        while self.lookup.deferred and not self.stopping:
            deferred, self.lookup.deferred = self.lookup.deferred, set()
            self.ledger.flush()
            self.ledger.refresh()
            own_cases = self._cases() if self.share is None else self.share.claimed_cases(self._cases())
            await self._pass(self.lookup.tasks(own_cases, deferred))
            self.tally.waiting = len(self.lookup.deferred)
            if len(self.lookup.deferred) == len(deferred):
                await self.sleep(WAIT_S)
        self.tally.waiting = 0

    async def _pass(self, tasks: Iterator[Task]) -> None:
        """Do every task. If one fails, those in progress are finished before this returns."""
        with with_functions(self.functions):  # tasks inherit the context in which they are created
            workers = [asyncio.create_task(self._work(tasks)) for _ in range(self._worker_count())]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _worker_count(self) -> int:
        """Return the number of cases to work on at once, so that the wanted number of calls is in flight, plus two to
        fill gaps. With conversations, whose units have fewer calls in flight, it is at most one batch of cases."""
        all_bound = [bound for of_scenario in self.lookup.bound_treatments.values() for bound in of_scenario]
        models = len(self.binding.of(self.binding.compared))
        fewest = min((bound.concurrent_calls * models for bound in all_bound), default=1)
        units = min((bound.samples * models for bound in all_bound), default=1)
        return max(-(-self.workers // units), min(-(-self.workers // fewest), self.lookup.at_once())) + 2

    def _plan_calls(self) -> None:
        models = {role: len(names) for role, names in self.binding.models.items()}
        plan, counts = self.selection.under(self.plan), self.source.counts(self.selection)
        for scenario, by_role in planned_calls(plan, counts, models).items():
            for role, calls in by_role.items():
                self.tally.planned[role, scenario] = calls

    async def _work(self, tasks: Iterator[Task]) -> None:
        while not self.stopping:
            try:
                task = next(tasks, None)
                if task is None:
                    return
                await self._do(task)
                self.lookup.give_back(task)
            except asyncio.CancelledError:
                raise
            except Halted:
                return
            except EvaluationStopped:  # another run has done the work
                self.stop()
                return
            except Exception as error:  # the other workers finish their calls in flight
                self.trouble = self.trouble or error
                self.stop()
                return

    async def _do(self, task: Task) -> None:
        if self.prefix is not None:
            await self.prefix.turn(task, lambda: self.stopping)
            if self.stopping:
                return
            task = self.prefix.without_settled(task)
        shared = CaseState(task.statuses, task.rows, task.drafts, CurrentCase([*task.complete, *task.todo]))
        self._add_case(task)
        for unit in task.complete:
            self.driver.reuse(unit, shared)
        if task.todo:
            await gather_all([self.driver.go_through(unit, shared) for unit in task.todo])
        if task.pairs or task.paired:
            await self.driver.compare(task.pairs, task.paired, shared)
        if self.prefix is not None:
            self.prefix.done(task)
        await asyncio.sleep(0)  # yield to other workers if nothing was awaited

    def _add_case(self, task: Task) -> None:
        # The item of a complete case was kept by the run that completed it.
        item = {"items": [item_row(self.plan, task.case)]} if task.todo else {}
        if self.prefix is None:
            self._list(task.case, None, item)
        elif item:
            self.ledger.keep(item)

    def _list(
        self,
        case: Case,
        models: Collection[str] | None,
        companions: Mapping[str, Sequence[Mapping[str, Any]]] = NO_ROWS,
    ) -> None:
        """Record that a case belongs to the run, with some of the models or with all (None), and keep further rows with
        it."""
        membership = membership_row(self.run_id, case, self._marks, models)
        self.ledger.keep({"run_items": [membership], **companions})
        self._items += 1

    async def _flush_often(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            try:
                self.ledger.flush()
            except Exception as error:  # the ledger cannot keep results: stop asking
                self.trouble = self.trouble or error
                self.stop()
                return


def membership_row(run_id: str, case: Case, marks: SubsetTags, models: Collection[str] | None) -> dict[str, Any]:
    """Return the row of `run_items` for a case of a run, with some of the models or with all (None)."""
    return {
        "run_id": run_id,
        "scenario": case.scenario.name,
        "item_id": case.item_id,
        "subsets": marks.of(case),
        "models": None if models is None else sorted(models),
        "cluster": marks.source.cluster(case),
    }


def item_row(plan: Plan, case: Case) -> dict[str, Any]:
    """Return the row of `items` for a case."""
    return {
        "item_id": case.item_id,
        "benchmark": plan.benchmark.name,
        "scenario": case.scenario.name,
        "dataset": case.dataset,
        "language": case.language,
        "context": dict(case.context),
        "fields": orjson.dumps(case.fields, default=sorted, option=orjson.OPT_SORT_KEYS).decode(),
        **origin_columns(case.origins),
    }


def work_name(
    plan: Plan,
    binding: RoleBinding,
    selection: Selection,
    withheld: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> str:
    """Return the name of the work that a run does: a digest of the plan, the models and the selected cases, without the
    `withheld` items."""
    parts: list[Any] = [selection.scenarios, selection.limit, selection.seed, dict(selection.only)]
    if selection.subset is not None:
        parts.append(selection.subset.model_dump(mode="json"))
    if selection.shard is not None:
        parts.append(str(selection.shard))
    if selection.until is not None:
        until = selection.until
        parts.append({"until": ["spec" if until.declared else until.margin, until.seed]})
    if withheld:
        parts.append({name: sorted(items) for name, items in withheld.items()})
    # Finished work in a store may have rows of `run_items` without subsets or clusters. These parts give it another
    # name, so that its cases are listed again.
    if plan.subsets:
        parts.append("marked")
    if RowClusters(plan).scenarios:
        parts.append("clustered")
    return digest([plan.digest, {role: list(models) for role, models in binding.answering.items()}, parts])


def new_run_id(now: datetime) -> str:
    """Return a name for a run that sorts by start time, also within a second: `20261121-060431-3fa9`.

    >>> from datetime import UTC
    >>> early, late = (datetime(2026, 11, 21, 6, 4, 31, part, UTC) for part in (1_000, 2_000))
    >>> new_run_id(early) < new_run_id(late)
    True
    """
    fraction = now.microsecond * 16**3 // 1_000_000  # of the second, in 4096ths
    return f"{now:%Y%m%d-%H%M%S}-{fraction:03x}{digest([now.isoformat(), time.perf_counter_ns()])[:1]}"
