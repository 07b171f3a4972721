"""A gathered log as a run of the spec of its benchmark: its samples and scores, in one commit."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tripos.importing.logs.gathering import GatheredLog, Gathering, SpooledSample, options_of
from tripos.importing.logs.spec_text import RATER
from tripos.importing.recording import NoLedger, is_store
from tripos.importing.row_errors import UnfitValue
from tripos.importing.scales import GradedMetric, Place, gradable
from tripos.runs import run_row, step_rows
from tripos.ui import Failure
from tripos_compiler.plan import Ask, Plan, Scenario
from tripos_compiler.source import DataError
from tripos_runtime.asking import AGAIN, FAILED
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_runtime.drivers import Recorder, given_bindings, item_row, new_run_id, recorded_treatments
from tripos_runtime.program import Unit
from tripos_runtime.roles import RoleBinding
from tripos_warehouse.ledger import GivenScore, ScoreChanges, difference, imported_score, open_ledger, rows_of
from tripos_warehouse.store import Store

AT_ONCE = 2000
"""So many items are looked up in the store together."""
Rows = dict[str, list[Any]]


@dataclass
class LogRun:
    """The result of an import of a log: counts of its replies and scores, and those that the store has otherwise."""

    run_id: str
    new: int = 0
    same: int = 0
    new_scores: int = 0
    same_scores: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    changed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    models: tuple[str, ...] = ()
    items: int = 0
    cost_usd: float | None = 0.0

    @property
    def is_fresh(self) -> bool:
        """True if the store has nothing of the log so far."""
        return not (self.same or self.same_scores or self.changed or self.refused)

    @property
    def is_new(self) -> bool:
        """True if the store lacks anything of the log."""
        return bool(self.new or self.new_scores or self.changed)


class LogRecorder:
    """Makes the rows of logs of a plan. Nothing is written but by `record`."""

    def __init__(self, gathering: Gathering, plan: Plan, source: CaseSource, root: Path) -> None:
        self.gathering, self.plan, self.source, self.root = gathering, plan, source, root
        self.scenarios = {scenario.name: scenario for scenario in plan.scenarios}
        self.given = gradable(plan)
        self.compared = next(role.name for role in plan.roles if role.kind == "compared")

    def record(self, log: GatheredLog, *, renew: bool, write: bool) -> LogRun:
        """Take a log into the store, in one commit: all of it, or nothing where a reply or score of it is in the store
        otherwise. A changed score takes the place of the one before where it may `renew` that.

        Raises `Failure` where the items cannot be read, and `StoreError` where the store cannot be.
        """
        try:
            tried = self._recording(log)
            batches = tried.batches()
            first = next(batches, None)
            if write and first is not None and tried.found.is_fresh:
                batches = _until_changed(tried.found, chain((first,), batches), renew)
                with suppress(_ChangedLog):
                    Store.open(self.root, create=True).append_batches(batches)
                return tried.found
            deque(batches, 0)
            found = tried.found
            if not write or not found.is_new or found.refused or (found.changed and not renew):
                return found
            again = self._recording(log)  # nothing is held in memory until it is known that something is new
            Store.open(self.root, create=True).append_batches(again.batches())
            return again.found
        except DataError as error:
            raise Failure("E0307", error.message, error.help) from error

    def _recording(self, log: GatheredLog) -> _LogRecording:
        now = datetime.now(UTC)
        return _LogRecording(self, log, LogRun(new_run_id(now), models=tuple(log.models)), now)


class _ChangedLog(Exception):
    """The store has something of a log otherwise, and nothing of it is written."""


def _until_changed(found: LogRun, batches: Iterator[Rows], renew: bool) -> Iterator[Rows]:
    """Yield batches. Raises `_ChangedLog` at their end where the store has something otherwise."""
    yield from batches
    if found.refused or (found.changed and not renew):
        raise _ChangedLog


class _LogRecording:
    """Makes the rows of one log."""

    def __init__(self, recorder: LogRecorder, log: GatheredLog, found: LogRun, now: datetime) -> None:
        self.of, self.log, self.found, self.now = recorder, log, found, now
        plan, models = recorder.plan, found.models
        roles = {role.name: models if role.name == recorder.compared else () for role in plan.roles}
        identities = {model: f"{model} of {log.header.identity}" for model in models}
        self.binding = RoleBinding(roles, recorder.compared, identities)
        self.bindings = given_bindings(plan, self.binding)
        self.store: Store | None = None
        self.ledger: Any = NoLedger()
        if is_store(recorder.root):
            self.store = Store.open(recorder.root, create=False)
            self.ledger = open_ledger(self.store, plan.fingerprints)
        self.recorder = Recorder(plan, recorder.source.sources, self.ledger, found.run_id, lambda: now)

    def batches(self) -> Iterator[Rows]:
        """Yield the rows, some items at a time, and those of the run at the end."""
        tasks = [name for name in self.of.scenarios if name in self.log.samples]
        try:
            for name in tasks:
                scenario = self.of.scenarios[name]
                cases = self._cases(scenario)
                while some := list(islice(cases, AT_ONCE)):
                    yield self._rows(scenario, some)
        finally:
            self.ledger.close()
        if self.found.is_new:
            yield self._run_rows(tasks)

    def _cases(self, scenario: Scenario) -> Iterator[tuple[Case, list[SpooledSample]]]:
        """Yield the cases that the log has samples of."""
        wanted = self.of.gathering.samples_of(self.log, scenario.name)
        place, samples = next(wanted, (-1, []))
        for number, case in enumerate(self.of.source.of(scenario, Selection())):
            if number == place:
                yield case, samples
                place, samples = next(wanted, (-1, []))
        if samples:
            message = f"the items of `{scenario.name}` are fewer than those of the log"
            raise Failure("E0307", message, "undo the changes of the file of the items, or import into another folder")

    def _rows(self, scenario: Scenario, some: Sequence[tuple[Case, list[SpooledSample]]]) -> Rows:
        ask = next(step for step in scenario.steps if isinstance(step, Ask))
        (bound,) = recorded_treatments(scenario, self.of.plan, self.binding)
        taken = []
        told: dict[str, SpooledSample] = {}
        scores: list[GivenScore] = []
        for case, samples in some:
            mine: dict[str, dict[str, Any]] = {}
            used = []
            for sample in samples:
                unit = Unit(case, bound, sample.model, sample.number)
                name = unit.samples[ask.name]
                mine[name] = _columns(sample.told)
                told[name] = sample
                used.append(unit)
                scores += self._scores(scenario, ask, unit, name, sample)
            taken.append((used, mine))
        self._leave_out_failures(taken)
        kept = self.recorder.collected.kept
        for (case, _), refused in zip(some, self.recorder.take(taken), strict=True):
            for name, why in refused.items():
                self.found.refused.append(f"{told[name].place}: {why.reason}")
            kept.setdefault("run_items", []).append(self._member(scenario, case))
            kept.setdefault("items", []).append(item_row(self.of.plan, case))
        rows = dict(kept)
        kept.clear()
        new = rows.get("samples", [])
        self.found.new += len(new)
        self.found.same += len(told) - len(new)
        self.found.items += len(some)
        costs = [row["cost_usd"] for row in new]
        self.found.cost_usd = None if self.found.cost_usd is None or None in costs else self.found.cost_usd + sum(costs)
        self.found.statuses.update(row["status"] for row in new)
        self._take_scores(rows, scores, told, fresh=len(new) == len(told))
        return rows

    def _leave_out_failures(self, taken: Sequence[tuple[list[Unit], dict[str, dict[str, Any]]]]) -> None:
        """Leave out failed calls of which the store has that they failed: a run would ask for them again."""
        names = [name for _, mine in taken for name, told in mine.items() if told.get("status") in AGAIN]
        found = zip(names, self.ledger.statuses("samples", names), strict=True)
        known = {name for name, status in found if status is not None}
        for _, mine in taken:
            for name in known & mine.keys():
                del mine[name]

    def _member(self, scenario: Scenario, case: Case) -> dict[str, Any]:
        found = {"run_id": self.found.run_id, "scenario": scenario.name, "item_id": case.item_id, "subsets": None}
        return {**found, "cluster": self.of.source.cluster(case)}

    def _scores(
        self, scenario: Scenario, ask: Ask, unit: Unit, name: str, sample: SpooledSample
    ) -> Iterator[GivenScore]:
        place: Place = scenario.name, ask.fingerprint
        for metric, rater, value, said, reason, status, error in (*sample.scores, *self._not_scored(sample, place)):
            if value is None and status is None:
                continue
            graded: GradedMetric = self.of.given[place][metric][0]
            number = chosen = None
            try:
                if value is not None:
                    number, chosen = graded.scale.read(value), graded.scale.chosen(value)
            except UnfitValue as misfit:
                self.log.left.note(f"score of `{metric}`: {misfit.reason}", sample.place)
                continue
            failed = {} if value is not None else {"status": status, "error": error}
            for step in graded.steps:
                about = {
                    "sample_id": name,
                    "run_id": self.found.run_id,
                    "benchmark": self.of.plan.benchmark.name,
                    "scenario": scenario.name,
                    "item_id": unit.case.item_id,
                    "model": sample.model,
                    "binding": self.bindings[step.fingerprint, unit.sample_binding(ask, sample.number)],
                }
                yield imported_score(about, step, metric, rater, 1, number, reason, value, said, chosen, **failed)

    def _not_scored(self, sample: SpooledSample, place: Place) -> Iterator[list[Any]]:
        """Yield the scores that a reply which failed was to have: what the log scores of others. They are in the
        denominator of coverage, as in a run."""
        columns = _columns(sample.told)
        if columns.get("status") == FAILED and sample.told.get("status") is None:
            had = {(metric, rater) for metric, rater, *_ in sample.scores}
            for metric, rater in (pair for pair in self.log.given.get(place[0], {}) if pair not in had):
                yield [metric, rater, None, None, None, FAILED, columns["error"]]

    def _take_scores(
        self, rows: Rows, scores: Sequence[GivenScore], told: Mapping[str, SpooledSample], *, fresh: bool
    ) -> None:
        if self.store is None or fresh:  # no score is of a reply that the store lacks
            change = ScoreChanges(tuple(scores), (), (), {})
        else:
            change = difference(self.store, scores)
        self.found.new_scores += len(change.new)
        self.found.same_scores += len(change.same)
        for each, was in change.changed:
            before = "nothing" if was is None else was if isinstance(was, str) else f"{was:g}"
            after = each.status if each.value is None else f"{each.value:g}"
            place = told[each.sample["sample_id"]].place
            self.found.changed.append(f"{place}: {each.metric} was {before}, is {after}")
        for table, some in rows_of(change, self.log.source, self.now).items():
            rows.setdefault(table, []).extend(some)

    def _run_rows(self, tasks: Sequence[str]) -> Rows:
        plan, found, header = self.of.plan, self.found, self.log.header
        end = {
            "asked": 0,
            "reused": found.new + found.same,
            "failed": 0,
            "cost_usd": found.cost_usd,
            "finished_at": self.now,
        }
        message = f"imported: {self.log.source}" + (f" ({header.message})" if header.message else "")
        # Those who scored are no models that the run would ask: they name none of its results.
        raters = {RATER: tuple(self.log.raters)} if RATER in self.binding.models else {}
        filled = replace(self.binding, models={**self.binding.models, **raters})
        run = run_row(plan, filled, found.run_id, found.run_id, tasks, dict(options_of(self.log)), self.now)
        steps = step_rows(plan, self.binding, found.run_id, [self.of.scenarios[name] for name in tasks])
        return {
            "runs": [run],
            "run_steps": steps,
            "run_ends": [{"run_id": found.run_id, "status": header.status, "message": message, **end}],
        }


def _columns(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a reply, with its status where it is not read from it."""
    columns = {name: value for name, value in told.items() if name not in ("refused", "messages", "status")}
    columns["messages"] = json.dumps(told["messages"], ensure_ascii=False)
    if told.get("status") is not None:
        columns["status"] = told["status"]
    elif told.get("refused"):
        columns["status"] = "refused"
    elif told["reply"] is None:
        columns |= {"status": FAILED, "error": told.get("error") or "the log has no reply"}
    return columns
