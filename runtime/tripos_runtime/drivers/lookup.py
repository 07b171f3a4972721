"""The remaining work of each case, which is looked up in the ledger in batches and claimed before it is done; and the
bindings of a run's results.

The name of a result is a digest of its fingerprint, its item and everything that it builds on: the models that fill the
roles, the sample number, the judges, and the models that generate the data sets that it reads. Its *binding* is the
same digest without the item. So the rows of a run are the rows of its items with one of its bindings, whatever else the
store contains."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from tripos_compiler.language.references import names_in
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    Plan,
    Scenario,
    Score,
    Verdict,
    digest,
    turns_before,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Ledger, Row, kept_statuses
from tripos_runtime.datasets.cases import Case
from tripos_runtime.program.binding import RoleBinding, generation_binding
from tripos_runtime.program.units import (
    BoundTreatment,
    Pair,
    Unit,
    is_complete,
    pairs_of,
    result_names,
    split_case,
    units_and_pairs,
    valid_statuses,
)

BATCH = 64
"""The number of cases that are looked up at once."""
MOST_UNITS = 16384
"""The largest number of units in memory at once; the units of one case are always allowed."""


@dataclass(frozen=True)
class Task:
    """A case to work on, with the results that the ledger has. The mappings are by the name of a result, and may have
    results of other cases of the same batch."""

    case: Case
    key: str
    """The key under which the case is claimed."""
    todo: list[Unit]
    """The units to run."""
    complete: list[Unit]
    """The units whose results are all in the ledger."""
    statuses: Mapping[str, str]
    """The statuses of the valid results in the ledger."""
    rows: Mapping[str, Row]
    """The kept replies of the units to run."""
    drafts: Mapping[str, Row]
    """The unreadable first replies that have to be repaired."""
    pairs: list[Pair] = field(default_factory=list)
    """The pairs to compare after the units have run."""
    paired: list[Pair] = field(default_factory=list)
    """The pairs whose results are all in the ledger."""


@dataclass
class Lookup:
    """The lookup of cases in the ledger. The keys of cases that another process works on are added to `deferred`."""

    ledger: Ledger
    bound_treatments: Mapping[str, tuple[BoundTreatment, ...]]
    binding: RoleBinding
    active: set[str] = field(default_factory=set)
    """The keys of tasks that were yielded and not given back."""
    deferred: set[bytes] = field(default_factory=set)
    most: int = field(default_factory=lambda: BATCH)
    """The largest number of cases that are looked up at once."""
    is_asked: Callable[[Unit], bool] = lambda unit: True
    """Returns whether a unit is needed; in a run with a stopping rule, this changes during the run."""

    def tasks(self, cases: Iterable[Case], only: set[bytes] | None = None) -> Iterator[Task]:
        """Yield the tasks of these cases; with `only`, of those with these keys. The case of a task is claimed until
        `give_back`."""
        cases = iter(cases)
        while batch := list(itertools.islice(cases, self.at_once())):
            with_units = [(case, [unit for unit in self.units(case) if self.is_asked(unit)]) for case in batch]
            with_units = [(case, units) for case, units in with_units if units]
            if only is not None:
                with_units = [(case, units) for case, units in with_units if bytes.fromhex(_key(units)) in only]
            yield from self._tasks(with_units)

    def units(self, case: Case, alike: Collection[BoundTreatment] = ()) -> list[Unit]:
        """Return every unit of a case, for each treatment and model in turn. Of the treatments in `alike`, whose
        samples do not differ, only the first sample is used."""
        models = self.binding.of(self.binding.compared)
        return [
            Unit(case, bound, model, number)
            for bound in self.bound_treatments[case.scenario.name]
            for model in models
            for number in (bound.numbers if bound not in alike else (0,))
        ]

    def at_once(self) -> int:
        """Return the number of cases to look up at once: at most `most`, and `MOST_UNITS` units."""
        models = len(self.binding.of(self.binding.compared))
        most_samples = max(
            (sum(bound.samples for bound in of_scenario) for of_scenario in self.bound_treatments.values()),
            default=1,
        )
        return max(1, min(self.most, MOST_UNITS // max(1, most_samples * models)))

    def give_back(self, task: Task) -> None:
        """Release the claim on a task's case, once its results are visible."""
        if task.key in self.active:
            self.active.discard(task.key)
            self.ledger.release(task.key)

    def _tasks(self, with_units: list[tuple[Case, list[Unit]]]) -> Iterator[Task]:
        """Look up a batch of cases, and yield the tasks of those that are complete or could be claimed."""
        with_pairs = [(case, units, pairs_of(units)) for case, units in with_units]
        kept = self._statuses(part for _, units, pairs in with_pairs for part in units_and_pairs(units, pairs))
        claimed: list[tuple[Case, str, list[Unit], list[Pair]]] = []
        complete: list[Task] = []
        for case, units, pairs in with_pairs:
            key = _key(units)
            if all(is_complete(part, kept) for part in units_and_pairs(units, pairs)):
                complete.append(Task(case, key, [], units, kept, {}, {}, [], pairs))
            elif self._claim(key):
                claimed.append((case, key, units, pairs))
        if claimed and self.ledger.refresh():  # includes the results of a process that just released its claim
            kept = {
                **kept,
                **self._statuses(part for _, _, units, pairs in claimed for part in units_and_pairs(units, pairs)),
            }
        splits = [(case, key, split_case(units, pairs, kept)) for case, key, units, pairs in claimed]
        todo = [part for _, _, case_split in splits for part in case_split.open]
        rows = self._rows(todo, kept)
        drafts = self.ledger.drafts({call.name for part in todo for call in part.calls if call.name not in kept})
        yield from complete
        for case, key, split in splits:
            yield Task(case, key, split.todo, split.complete, kept, rows, drafts, split.pairs, split.paired)

    def _claim(self, key: str) -> bool:
        """Claim a case. If another process has it, or another task of this one with the same questions, defer the case
        and return false."""
        if key not in self.active and self.ledger.claim(key, later=True):
            self.active.add(key)
            return True
        self.deferred.add(bytes.fromhex(key))
        return False

    def _statuses(self, parts: Iterable[Unit | Pair]) -> dict[str, str]:
        """Return the status of each valid result in the ledger, by name."""
        parts = list(parts)
        known = kept_statuses(self.ledger, result_names(parts))
        return valid_statuses(parts, known, self.ledger.rows)

    def _rows(self, parts: Iterable[Unit | Pair], kept: Mapping[str, str]) -> dict[str, Row]:
        """Return the rows of the kept replies of units and pairs. Turns are needed only for conversations that are not
        complete."""
        wanted: dict[str, set[str]] = {"samples": set(), "judgements": set(), "turns": set()}
        for part in parts:
            for call in part.calls:
                if call.name in kept:
                    wanted[call.table].add(call.name)
            for talk in part.talks.values():
                if talk.name in kept:
                    wanted["samples"].add(talk.name)
                else:
                    wanted["turns"].update(name for name in talk.turns if name in kept)
        rows: dict[str, Row] = {}
        for table, names in wanted.items():
            if names:
                rows.update(self.ledger.rows(table, names))
        return rows


def bound_treatments(
    scenarios: Iterable[Scenario], plan: Plan, binding: RoleBinding
) -> dict[str, tuple[BoundTreatment, ...]]:
    """Return the treatments of each scenario with models in their roles, by the name of the scenario."""
    return {
        scenario.name: tuple(BoundTreatment(scenario, treatment, plan, binding) for treatment in scenario.treatments)
        for scenario in scenarios
    }


def _key(units: list[Unit]) -> str:
    """Return the key under which a case is claimed: its item and its first question, without the models, so that specs
    and runs that have both in common share their claims."""
    first = units[0]
    steps = [*(talk.step for talk in first.talks.values()), *(call.step for call in first.calls)]
    question = steps[0].fingerprint if steps else first.case.scenario.name
    return digest([question, first.case.item_id])


class ResultBinding(NamedTuple):
    """A fingerprint and a binding of results that a run has for each item of a scenario.

    `model` is the compared model that they are about, and `other` the model that it is compared with. Results that are
    about no compared model occur once for each model; those of generated data sets have none. With a `condition`, only
    results that were asked for under it count."""

    scenario: str
    fingerprint: str
    binding: str
    model: str | None = None
    other: str | None = None
    condition: str | None = None


def result_bindings(plan: Plan, binding: RoleBinding, scenarios: Iterable[Scenario]) -> list[ResultBinding]:
    """Return all result bindings of some scenarios of a plan, sorted."""
    bindings: set[ResultBinding] = set()
    for scenario, of_scenario in bound_treatments(scenarios, plan, binding).items():
        for bound in of_scenario:
            bindings.update(_of_treatment(scenario, bound))
    for dataset in plan.made:
        place = dataset.scenario or dataset.name
        for fingerprint in dataset.fingerprints:
            bindings.add(
                ResultBinding(place, fingerprint, generation_binding(plan, dataset, fingerprint, binding.answering))
            )
    return sorted(bindings, key=lambda result_binding: tuple(part or "" for part in result_binding))


def imported_bindings(plan: Plan, binding: RoleBinding) -> dict[tuple[str, str], str]:
    """Return the binding of imported judgements, by the fingerprint of the replaced step and the binding of the judged
    reply. If a step builds on several replies, the first of them counts."""
    bindings: dict[tuple[str, str], str] = {}
    for of_scenario in bound_treatments(plan.scenarios, plan, binding).values():
        for bound in of_scenario:
            for number, model in itertools.product(range(bound.samples), binding.of(binding.compared)):
                unit = bound.pattern(model, number)
                for step in bound.treatment.steps:
                    if isinstance(step, Grade):
                        for name in _last_replies(step, bound):
                            bindings.setdefault((step.fingerprint, unit.samples[name]), unit.imported_binding(step))
    return bindings


def _last_replies(step: Grade, bound: BoundTreatment) -> Iterator[str]:
    """Yield the names of the steps whose reply a grade may be about. In a chat of asks, any of them may be the last
    that is asked."""
    yield step.of
    if step.of in bound.asks:
        yield from (ask.name for ask in turns_before(bound.asks[step.of], bound.asks))


def _of_treatment(scenario: str, bound: BoundTreatment) -> Iterator[ResultBinding]:
    models = bound.binding.of(bound.binding.compared)
    for number in range(bound.samples):
        units = [bound.pattern(model, number) for model in models]
        for unit in units:
            for fingerprint, name, condition in _of_unit(unit):
                yield ResultBinding(scenario, fingerprint, name, unit.model, None, condition)
        for step in bound.compares:
            for first, second in itertools.permutations(units, 2):
                for fingerprint, name, condition in _of_pair(step, Pair(step, first, second)):
                    yield ResultBinding(scenario, fingerprint, name, first.model, second.model, condition)


def _of_unit(unit: Unit) -> Iterator[tuple[str, str, str | None]]:
    for call in unit.calls:
        asked = call.step
        fingerprint = asked.fingerprint if isinstance(asked, Ask | Converse) else asked.judgement
        yield fingerprint, call.name, asked.condition or None
    for step in unit.bound.treatment.steps:
        match step:
            case Converse():
                yield step.fingerprint, unit.samples[step.name], step.condition or None
            case Score() | Column():
                yield step.fingerprint, unit.score_binding(step, None), None
                for verdict in _labels(step, unit.bound):
                    for fingerprint in (verdict.judgement, step.fingerprint):
                        yield fingerprint, unit.imported_binding(verdict), None
            case Grade():
                for evaluator in unit.evaluators(step):
                    yield step.fingerprint, unit.score_binding(step, evaluator), None
                for fingerprint in (step.judgement, step.fingerprint):
                    yield fingerprint, unit.imported_binding(step), None


def _labels(step: Score | Column, bound: BoundTreatment) -> Iterator[Verdict]:
    """Yield the verdict on each element that a score consists of, if it consists of one. Labels of people may then be
    imported for it."""
    if isinstance(step, Score) and step.judge is not None:
        for each in bound.treatment.steps:
            if isinstance(each, Verdict) and each.scorer == step.judge and each.name in names_in(step.value):
                yield each


def _of_pair(step: Compare, pair: Pair) -> Iterator[tuple[str, str, str | None]]:
    for call in pair.calls:
        yield step.judgement, call.name, step.condition or None
    for name in pair.comparisons.values():
        yield step.fingerprint, name, None
    for fingerprint in (step.judgement, step.fingerprint):
        yield fingerprint, pair.imported_binding, None
