"""The forecast of a run: reused and new calls, their reasons, tokens and cost, and the batches that they would take.

The cases are read once, in batches, as in a run; memory does not grow with them.

What is forecast for a sample depends on its row, its models and the kept replies, but not on its number. So if no
reply to any step of a treatment is kept, its first sample stands for all of them, and each of its calls counts once
per name."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.library.registry import with_functions
from tripos_compiler.plan import (
    Ask,
    Compare,
    Converse,
    GeneratedDataset,
    Grade,
    JudgedStep,
    Plan,
    Retrieve,
    SampleList,
    Scenario,
    Settings,
    Step,
)
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, NOT_ASKED, PENDING, PROVIDER_ERROR
from tripos_runtime.asking.ledger import NOTHING_KEPT, Ledger, OtherReplies, ReuseCounts, Row, kept_statuses
from tripos_runtime.asking.questions import Question
from tripos_runtime.datasets.cases import Case, CaseSource, PlannedStepCalls
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.lookup import MOST_UNITS, Lookup, bound_treatments
from tripos_runtime.forecast.driver import ForecastDriver, ForecastVectors, KeptResults, is_read
from tripos_runtime.forecast.estimates import CallLoad, Estimate, EstimateSpan, estimates
from tripos_runtime.forecast.generation import forecast_generation
from tripos_runtime.forecast.reasons import NO_HISTORY, Cause, History, Reason, Reasons
from tripos_runtime.forecast.sizes import NO_SIZE, OPEN, CallCertainty, CallGroup, ForecastCall, Size, pending_size
from tripos_runtime.generate.attempts import place_of
from tripos_runtime.models.base import Price
from tripos_runtime.program.adoption import ReplyReuse, ReuseFound, RunResults
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import PlanContext
from tripos_runtime.program.units import (
    BoundTreatment,
    Pair,
    StepCall,
    Unit,
    conversation_calls,
    most_turns,
    pairs_of,
    result_names,
    speaker_of,
    split_case,
    units_and_pairs,
    valid_statuses,
)
from tripos_runtime.program.values import StepValues


@dataclass
class ForecastLine:
    """The calls of one step in one place: `reused` ones, those `ruled_out`, and the `load` of calls that are or may be
    made. `failed` counts the latter that failed before, by error code."""

    reused: int = 0
    ruled_out: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    load: CallLoad = field(default_factory=CallLoad)

    @property
    def certain(self) -> int:
        """The calls that are certainly made."""
        return self.load.calls[CallCertainty.CERTAIN]

    @property
    def perhaps(self) -> int:
        """The calls that depend on missing replies or rows."""
        return self.load.calls.total() - self.certain

    @property
    def most(self) -> int:
        """The largest number of calls."""
        return self.certain + self.perhaps


@dataclass(frozen=True)
class Forecast:
    """The forecast of a run.

    `lines` are in the order of the plan; `scores` counts those that are computed again from kept replies. `estimates`
    has the tokens and cost of calls, `reasons` why they are made, the most frequent first."""

    lines: Mapping[CallGroup, ForecastLine]
    estimates: Mapping[CallGroup, Estimate]
    reasons: tuple[Reason, ...]
    items: Mapping[str, int]
    scores: int
    unpriced: tuple[str, ...]
    """The models whose price is not known."""
    unmade: Mapping[str, int] = field(default_factory=dict)
    """The largest number of items that a scenario still has to get generated."""
    reuse: ReuseCounts = field(default_factory=ReuseCounts)
    """The reused calls whose reply is in another store."""

    @property
    def reused(self) -> int:
        """The calls that an earlier run made."""
        return sum(line.reused for line in self.lines.values())

    @property
    def certain(self) -> int:
        """The calls that are certainly made."""
        return sum(line.certain for line in self.lines.values())

    @property
    def perhaps(self) -> int:
        """The calls that depend on missing replies."""
        return sum(line.perhaps for line in self.lines.values())

    @property
    def total(self) -> Estimate:
        """The estimate for all calls."""
        return Estimate.of_all(self.estimates.values())


def planned(found: Forecast, plan: Plan) -> list[PlannedStepCalls]:
    """Return the calls of every step in a forecast, including kept ones, as the table of a plan shows them if the
    models and the store are known."""
    arms = {
        (scenario.name, name, arms_in_words(each, scenario)): each
        for scenario in plan.scenarios
        for (name, _), each in treatments_sharing(scenario).items()
    }
    made = {title: each.name for each in plan.made for title in _titles(each)}
    counted: dict[tuple[str, str, str, str], PlannedStepCalls] = {}
    for where, line in found.lines.items():
        place = made.get((where.scenario, where.step), where.scenario)
        step = where.step.rpartition(".")[2] if place != where.scenario else where.step
        before = counted.get(where[:4], PlannedStepCalls(place, step, where.role, (), 0, 0, 0))
        least, likely = (
            line.reused + line.certain,
            line.load.calls[CallCertainty.LIKELY] + line.load.calls[CallCertainty.PERHAPS],
        )
        counted[where[:4]] = replace(
            before,
            arms=tuple(arms.get((where.scenario, where.step, where.arm), ())) if where.arm else (),
            least=before.least + least,
            calls=before.calls + least + likely,
            most=before.most + line.reused + line.most,
        )
    return list(counted.values())


def _titles(made: GeneratedDataset) -> Iterator[tuple[str, str]]:
    """Yield the names of the steps of a generated data set in a forecast, with their place."""
    own = made.name.rpartition(".")[2]
    for step in (own, *(f"{own}.{ask.name}" for ask in made.asks)):
        yield place_of(made), step


def arms_of(scenario: Scenario) -> dict[tuple[str, str], str]:
    """Return the treatments that share a step, in words, by its name and fingerprint; empty if all do."""
    return {key: arms_in_words(arms, scenario) for key, arms in treatments_sharing(scenario).items()}


def treatments_sharing(scenario: Scenario) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the treatments that share a step, by its name and fingerprint."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            found.setdefault((step.name, step.fingerprint), []).append(treatment.arms)
    return found


def arms_in_words(shared: Sequence[Mapping[str, str]], scenario: Scenario) -> str:
    """Return the treatments that share a step, by the values of their arms; empty if all do."""
    if len(shared) == len(scenario.treatments):
        return ""
    told: list[str] = []
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in shared)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            told.append(f"{arm} {', '.join(values)}")
    return "; ".join(told)


def multiplicity(bound: BoundTreatment, step: Step) -> int:
    """Return how many calls of a step one call stands for, given a row and a model. Samples of an ask after a
    conversation multiply with the samples of the conversation."""
    steps = {each.name: each for each in bound.treatment.steps if isinstance(each, Ask | Converse)}
    needs = step.judged if isinstance(step, JudgedStep) else step.needs
    counts = [steps[name].samples for name in needs if name in steps]
    if isinstance(step, Ask | Converse):
        counts.append(step.samples)
    return min(bound.samples, math.lcm(*counts))


def interchangeable(treatments: Iterable[BoundTreatment], held: Collection[str]) -> set[BoundTreatment]:
    """Return the treatments of a scenario whose samples are interchangeable, given the fingerprints `held` of which
    results are kept. A treatment that shares a step with another one that is not interchangeable is excluded, so that
    each call is counted in one way."""
    every = {bound: _counts(bound) for bound in treatments}
    counts: dict[str, set[int]] = {}
    for one in every.values():
        for print_, number in one.items():
            counts.setdefault(print_, set()).add(number)
    parted = {*held, *(print_ for print_, numbers in counts.items() if len(numbers) > 1)}
    for bound, one in every.items():
        listed = any(isinstance(step, SampleList) for step in bound.treatment.steps)
        if bound.compares or listed or any(bound.retrieved.values()):  # samples are compared or listed individually
            parted |= one.keys()
    while left := [bound for bound, one in every.items() if not parted.isdisjoint(one)]:
        parted.update(*(every.pop(bound) for bound in left))
    return {bound for bound in every if bound.samples > 1}


def _counts(bound: BoundTreatment) -> dict[str, int]:
    """Return how many results one result stands for, by the fingerprint of the step and of its judges' questions."""
    steps = bound.treatment.steps
    prints = {print_: step for step in steps for print_ in (step.fingerprint, getattr(step, "judgement", "")) if print_}
    return {print_: multiplicity(bound, step) for print_, step in prints.items()}


def forecast(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    ledger: KeptResults,
    prices: Mapping[str, Price | None],
    history: History = NO_HISTORY,
    other_stores: OtherReplies = NOTHING_KEPT,
) -> Forecast:
    """Return the forecast of a run of this plan with these models on these cases. `prices` are by model, `None` or
    missing if unknown; `others` are stores whose replies are adopted. Python functions of the plan are not called: what
    needs one stays open.

    Raises `DataError` if a data file has changed since the plan was made."""
    watcher = _ForecastBuilder(plan, source, selection, binding, ledger, history, other_stores)
    with with_functions({plugin.name: not_called(plugin.name) for plugin in plan.plugins}):
        watcher.watch()
    lines = watcher.lines
    taken = estimates({where: line.load for where, line in lines.items()}, prices, history)
    models = dict.fromkeys(where.model for where, line in lines.items() if line.most)
    return Forecast(
        lines=lines,
        estimates=taken,
        reasons=watcher.reasons.ranked(watcher.items),
        items=watcher.items,
        scores=watcher.scores,
        unpriced=tuple(model for model in models if prices.get(model) is None),
        unmade=watcher.unmade,
        reuse=watcher.adoption.reuse,
    )


class _ForecastBuilder:
    """Counts the calls of all cases."""

    def __init__(
        self,
        plan: Plan,
        source: CaseSource,
        selection: Selection,
        binding: RoleBinding,
        ledger: KeptResults,
        history: History,
        others: OtherReplies,
    ) -> None:
        self.plan, self.source, self.selection, self.ledger = plan, source, selection, ledger
        chosen = selection.chosen(plan)
        # Only the lookup's units are needed: nothing is claimed.
        self.lookup = Lookup(cast("Ledger", ledger), bound_treatments(chosen, plan, binding), binding)
        own = RunResults(
            plan,
            binding.answering,
            chosen,
            lambda some: source.cases_of(some, selection.without_shards),
            self.lookup.units,
        )
        self.adoption = ReplyReuse(cast("Ledger", ledger), own, claims=False, others=others)
        held = ledger.fingerprints()
        self.alike_treatments = {
            each.name: interchangeable(self.lookup.bound_treatments[each.name], held) for each in chosen
        }
        self.unmade_alike = {each.name: interchangeable(self.lookup.bound_treatments[each.name], ()) for each in chosen}
        """Results that were never made are not kept."""
        self.vectors = ForecastVectors(ledger, binding.identities, others, self.adoption.reuse)
        self.foresight = ForecastDriver(PlanContext(plan, source.sources), vectors=self.vectors)
        self.reasons = Reasons(plan, history)
        self.arms = {scenario.name: arms_of(scenario) for scenario in chosen}
        self.lines: dict[CallGroup, ForecastLine] = {}
        self._places: dict[tuple[str, int, str, str], ForecastLine] = {}
        """The lines of steps. The keys are ids of steps, valid as long as the plan lives."""
        self.embedded: dict[str, tuple[ForecastLine, CallCertainty, Size]] = {}
        """The texts to embed by the names of their vectors, with the certainty so far."""
        self.items: Counter[str] = Counter({scenario.name: 0 for scenario in chosen})
        self.scores = 0
        self.unmade: dict[str, int] = {}
        self.making = forecast_generation(plan, source, selection, binding, ledger, self.adoption)
        self._open_making()
        self.foresight.made_by = self.making.made_by
        for scenario in chosen:  # in plan order, not in case order
            self._open_lines(scenario, binding)

    def _open_lines(self, scenario: Scenario, binding: RoleBinding) -> None:
        for bound in self.lookup.bound_treatments[scenario.name]:
            for step in bound.treatment.steps:
                if isinstance(step, Compare) and len(binding.of(binding.compared)) < 2:
                    continue
                if isinstance(step, Converse):
                    for role, _ in most_turns(step):
                        for model in binding.of(role) if role == binding.compared else binding.of(role)[:1]:
                            line = self.lines.setdefault(self._where(scenario.name, step, role, model), ForecastLine())
                            longest = self.foresight.world.questions.longest_turn(step, role)
                            line.load.open_turns(step, longest, scenario.name)
                if isinstance(step, Retrieve) and step.using is not None:
                    (model,) = binding.of(step.using)
                    line = self.lines.setdefault(self._where(scenario.name, step, step.using, model), ForecastLine())
                    line.load.place, line.load.settings = ("vectors", scenario.name, step.name), Settings(max_tokens=0)
                if isinstance(step, Ask | JudgedStep):
                    several = not isinstance(step, Ask) or step.role == binding.compared
                    judge = None if isinstance(step, Ask) else self.plan.scorer(step.scorer)
                    for role in [bound.role_of(step)] if judge is None else judge.roles:
                        for model in binding.of(role) if several else binding.of(role)[:1]:
                            line = self.lines.setdefault(self._where(scenario.name, step, role, model), ForecastLine())
                            writes = judge is None or judge.writes
                            line.load.open(step, self._question(step), scenario.name, writes)

    def _question(self, step: Ask | JudgedStep) -> Question:
        """Return the question of a step; it has the same form in every language."""
        return self.foresight.world.questions.widest(step, self.plan.benchmark.languages[0])

    def _where(self, scenario: str, step: Ask | Converse | Retrieve | JudgedStep, role: str, model: str) -> CallGroup:
        return CallGroup(scenario, self.arms[scenario][step.name, step.fingerprint], step.name, role, model)

    def _open_making(self) -> None:
        """Open the lines of the calls that generate data sets, which come first."""
        for made in self.making.calls:
            line = self.lines[CallGroup(made.place, "", made.title, made.ask.role, made.model)] = ForecastLine(
                made.reused
            )
            line.load.open(made.ask, self._question(made.ask), made.place)
            line.load.place = ("samples", made.place, made.title)
            for fate, size, calls in made.open:
                line.load.add(fate, size, self.making.made_by, calls)
                if fate is not CallCertainty.SPARE:
                    self.reasons.note(Cause("rows", made.dataset), made.place, made.title, calls)

    def _count_unmade(self, scenario: Scenario) -> None:
        """Count the calls about rows that are not generated yet. They are made unless a row is given up."""
        for cell, rows in self.making.unmade(scenario):
            self.unmade[scenario.name] = self.unmade.get(scenario.name, 0) + rows
            case = self.making.case(scenario, cell)
            alike = self.unmade_alike[scenario.name]
            self.foresight.known_fields = self.making.known_fields(scenario)
            found = self.foresight.of(case, self.lookup.units(case, alike), {}, {})
            for unit, step, names, fate in self.foresight.embedding.values():
                self._count_vectors(scenario.name, unit, step, names, min(fate, CallCertainty.LIKELY), rows)
            self.foresight.known_fields = {}
            for seen in found:
                if seen.fate not in OPEN:
                    continue
                line = self.lines[self._where(scenario.name, seen.call.step, seen.call.role, seen.call.model)]
                calls = rows * _multiplicity(seen, alike)
                line.load.add(min(seen.fate, CallCertainty.LIKELY), seen.size, seen.reply_sources, calls, seen.settings)
                self.reasons.note(Cause("on_rows", case.dataset or ""), scenario.name, seen.call.step.name, calls)

    def watch(self) -> None:
        for scenario in self.selection.chosen(self.plan):
            self._count_unmade(scenario)
        self.foresight.adoption = self.adoption  # set after generation: prompts about ungenerated rows are unknown
        cases = self.source.cases(self.selection)
        while batch := list(itertools.islice(cases, self.lookup.at_once())):
            units_of = [(case, self.lookup.units(case, self.alike_treatments[case.scenario.name])) for case in batch]
            found = [(case, units, pairs_of(units)) for case, units in units_of]
            every = [part for _, units, pairs in found for part in units_and_pairs(units, pairs)]
            known = kept_statuses(self.ledger, result_names(every))
            kept = valid_statuses(every, known, self.ledger.rows)
            left = [split_case(units, pairs, kept).open for _, units, pairs in found]
            todo = [part for each in left for part in each]
            rows = self._rows("samples", {c.name for u in todo for c in u.calls if c.table == "samples"} & kept.keys())
            verdicts = {c.name for u in todo for c in u.calls if is_read(self.plan, c.step)} & kept.keys()
            rows = {**rows, **self._rows("judgements", verdicts)}
            talks = list({talk.name: talk for u in todo for talk in u.talks.values()}.values())
            rows |= self._rows("samples", {talk.name for talk in talks} & kept.keys())
            rows |= self._rows("turns", {name for talk in talks for name in talk.turns} & kept.keys())
            calls = {c.name: c for u in todo for c in u.calls} | {
                c.name: c for talk in talks for c in conversation_calls(talk)
            }
            codes = self._codes({name: call for name, call in calls.items() if known.get(name) == PROVIDER_ERROR})
            for (case, units, pairs), open_ in zip(found, left, strict=True):
                if open_:
                    self._count(case, units, pairs, kept, rows, codes)
                else:
                    self._count_kept(case, units, pairs, kept)

    def _count_kept(self, case: Case, units: Sequence[Unit], pairs: Sequence[Pair], kept: Mapping[str, str]) -> None:
        """Count the calls of a case whose results are all kept; see `_count`."""
        scenario = case.scenario.name
        self.items[scenario] += 1
        counted: set[str] = set()
        for part in units_and_pairs(units, pairs):
            for call in itertools.chain(part.calls, *map(conversation_calls, part.talks.values())):
                if call.name in counted:
                    continue
                counted.add(call.name)
                place = (scenario, id(call.step), call.role, call.model)
                if place not in self._places:
                    self._places[place] = self.lines[self._where(scenario, call.step, call.role, call.model)]
                if kept.get(call.name, NOT_APPLICABLE) in NOT_ASKED:
                    self._places[place].ruled_out += 1
                else:
                    self._places[place].reused += 1

    def _rows(self, table: str, names: set[str]) -> Mapping[str, Row]:
        return self.ledger.rows(table, names) if names else {}

    def _codes(self, calls: Mapping[str, StepCall]) -> dict[str, str]:
        """Return the error code of every failed call."""
        codes: dict[str, str] = {}
        for table in ("samples", "turns", "judgements"):
            rows = self._rows(table, {name for name, call in calls.items() if call.table == table})
            codes |= {name: str(row["error"] or "?").split(" ", 1)[0] for name, row in rows.items()}
        return codes

    def _count(
        self,
        case: Case,
        units: Sequence[Unit],
        pairs: Sequence[Pair],
        kept: Mapping[str, str],
        rows: Mapping[str, Row],
        codes: Mapping[str, str],
    ) -> None:
        scenario = case.scenario.name
        self.items[scenario] += 1
        found, units, alike = self._foreseen(case, units, kept, rows)
        if not self.making.is_sure(case):
            found = [
                replace(seen, fate=CallCertainty.LIKELY) if seen.fate is CallCertainty.CERTAIN else seen
                for seen in found
            ]
        open_ = {seen.call.part_of or seen.call.name for seen in found if seen.fate in OPEN}
        open_ |= {seen.call.name for seen in found if seen.fate is CallCertainty.RULED_OUT}
        self._count_scores(units, open_, kept)
        judged: dict[str, set[str]] = {}
        for pair in pairs:
            for call in pair.calls:
                judged.setdefault(pair.comparisons[call.model], set()).add(call.name)
        self.scores += sum(name not in kept and open_.isdisjoint(calls) for name, calls in judged.items())
        surest = CallCertainty.CERTAIN if self.making.is_sure(case) else CallCertainty.LIKELY
        for unit, step, names, fate in self.foresight.embedding.values():
            self._count_vectors(scenario, unit, step, names, min(fate, surest))
        for seen in found:
            call = seen.call
            number = _multiplicity(seen, alike)
            line = self.lines[self._where(scenario, call.step, call.role, call.model)]
            match seen.fate:
                case CallCertainty.REUSED:
                    line.reused += number
                case CallCertainty.RULED_OUT:
                    line.ruled_out += number
                case _:
                    self._take(seen, line, codes, number)

    def _foreseen(
        self, case: Case, units: Sequence[Unit], kept: Mapping[str, str], rows: Mapping[str, Row]
    ) -> tuple[list[ForecastCall], Sequence[Unit], Collection[BoundTreatment]]:
        """Return the forecast calls of a case, its units, and the treatments whose first sample stands for all. Samples
        differ if replies may be adopted: there may be fewer than are wanted."""
        alike = self.alike_treatments[case.scenario.name]
        try:
            self.adoption.probing = bool(alike)
            return self.foresight.of(case, units, kept, rows), units, alike
        except ReuseFound:
            self.adoption.probing = False
            units = self.lookup.units(case)
            return self.foresight.of(case, units, kept, rows), units, ()
        finally:
            self.adoption.probing = False

    def _count_vectors(
        self, scenario: str, unit: Unit, step: Retrieve, names: StepValues, fate: CallCertainty, rows: int = 1
    ) -> None:
        """Count the texts of a row, or of several equal rows, that need a vector."""
        assert step.using is not None
        (model,) = unit.bound.retrieved[step.name]
        line = self.lines[self._where(scenario, step, step.using, model)]
        texts = self.vectors.of(step, model, names, self.foresight.world.chooser, fate)
        line.reused += texts.stored
        for name, text in texts.texts.items():
            self.embedded[name] = (line, fate, Size.of(text))
            line.load.add(fate, Size.of(text), {})
            self.reasons.note(Cause("never"), scenario, step.name)
        for name in texts.again:
            before, lesser, size = self.embedded.get(name, (line, fate, NO_SIZE))
            if lesser < fate:
                before.load.add(lesser, size, {}, -1)
                before.load.add(fate, size, {})
                self.embedded[name] = (before, fate, size)
        if texts.waiting:
            line.load.add(
                CallCertainty.LIKELY, pending_size(step.name, f"what `{step.name}` looks for"), {}, texts.waiting * rows
            )
            self.reasons.note(Cause("never"), scenario, step.name, texts.waiting * rows)

    def _take(self, seen: ForecastCall, line: ForecastLine, codes: Mapping[str, str], number: int) -> None:
        code = codes.get(seen.call.name)
        if code is not None:
            line.failed[code] += number
        line.load.add(seen.fate, seen.size, seen.reply_sources, number, seen.settings)
        self.reasons.add(seen, code, number)

    def _count_scores(self, units: Sequence[Unit], open_: set[str], kept: Mapping[str, str]) -> None:
        """Count the scores that can be computed from kept replies and are not kept."""
        missing: set[str] = set()
        for unit in units:
            if all(name in kept for names in unit.scores.values() for name in names.values()):
                continue
            calls: dict[tuple[str, str], set[str]] = {}
            for call in unit.calls:
                calls.setdefault((call.step.fingerprint, call.model), set()).add(call.name)
                if isinstance(call.step, Grade) and unit.stronger(call.step):  # a cascade is one evaluator
                    calls.setdefault((call.step.fingerprint, unit.evaluators(call.step)[0]), set()).add(call.name)
            steps = {step.fingerprint: step for step in unit.bound.treatment.steps}
            for (step, evaluator), names in unit.scores.items():
                if evaluator is not None:
                    needed = calls[step, evaluator]
                else:
                    needed = set(unit.upstream(getattr(steps[step], "needs", ())))
                if open_.isdisjoint(needed):
                    missing |= {name for name in names.values() if name not in kept}
        self.scores += len(missing)


def _multiplicity(seen: ForecastCall, alike: Collection[BoundTreatment]) -> int:
    """Return how many calls one call stands for."""
    return multiplicity(seen.unit.bound, seen.call.step) if seen.unit.bound in alike else 1


def not_called(name: str) -> Callable[..., Any]:
    """Return a stand-in for a Python function of a plan: a value that needs it stays open."""

    def function(*_: Any, **__: Any) -> Any:
        raise Unavailable(f"the function `{name}`", PENDING)

    return function


WINDOW_H = 24
"""The time within which providers answer a batch or let it expire, in hours."""
BYTES = 2
"""The largest number of bytes of a token; the bound of a prompt counts one token per 2 alphabetic characters."""
LINE = 700
"""The bytes of a request apart from its messages: its name and its settings."""

Limits = tuple[int, int]
"""The largest number of requests and of bytes of a batch."""


@dataclass(frozen=True)
class LevelBatches:
    """The batches of one model at one level: bounds on the number of their calls, and their cost."""

    level: int
    model: str
    least: int
    most: int
    batches: int
    cost_usd: EstimateSpan | None
    live_usd: float | None
    """The expected cost of the same calls made live."""

    @property
    def provider(self) -> str:
        """The provider of the model."""
        return self.model.partition("/")[0]


@dataclass(frozen=True)
class BatchForecast:
    """The batches of a run, by provider and then by level. `live` is the largest number of calls made live; `rounds` is
    how often the levels repeat, since a run holds a limited number of units at once."""

    batches: tuple[LevelBatches, ...]
    live: int
    rounds: int

    @property
    def levels(self) -> int:
        """The number of consecutive batches if no request is retried."""
        return max((each.level for each in self.batches), default=0) * self.rounds

    def to_json(self) -> dict[str, Any]:
        """Return JSON values: the batches of each `level` and model, by provider, and `latest_hours` until the last has
        ended, if no request is retried."""
        return {
            "batches": [
                {
                    "provider": each.provider,
                    "level": each.level,
                    "model": each.model,
                    "at_least": each.least,
                    "at_most": each.most,
                    "batches": each.batches,
                    "cost_usd": None if each.cost_usd is None else each.cost_usd.to_json(6),
                    "live_usd": None if each.live_usd is None else round(each.live_usd, 6),
                }
                for each in self.batches
            ],
            "levels": self.levels,
            "latest_hours": self.latest_h,
            "live_calls": self.live,
        }

    @property
    def latest_h(self) -> int:
        """The time in hours after which the last batch has ended, if no request is retried."""
        return self.levels * WINDOW_H


def batch_forecast(
    found: Forecast,
    plan: Plan,
    limits: Callable[[str], Limits | None],
    factor: Callable[[str, float, float], float | None],
) -> BatchForecast:
    """Return the batches of a forecast. `limits` are the limits of a model's batches, `None` if it is asked live.
    `factor` is the price of a live call relative to a batched one, by tokens in and out, if known."""
    asked = {where: line for where, line in found.lines.items() if line.most}
    batched = {where.role for where in asked if limits(where.model) is not None}
    keys = dict.fromkeys((where.scenario, where.step) for where in asked if where.role in batched)
    places = dict(_levels(plan, keys, batched))
    parts: dict[tuple[int, str], list[tuple[int, int, Estimate]]] = {}
    live = 0
    for where, line in asked.items():
        if limits(where.model) is None:
            live += line.most
            continue
        levels = places.get((where.scenario, where.step, where.role)) or places[where.scenario, where.step, ""]
        estimate = found.estimates.get(where, Estimate())
        for share, level in enumerate(levels):
            least, most = (_share(count, share, len(levels)) for count in (line.certain, line.most))
            parts.setdefault((level, where.model), []).append((least, most, _part(estimate, len(levels))))
    first = sum(most for (level, _), own in parts.items() if level == 1 for _, most, _ in own)
    rounds = max(1, math.ceil(first / MOST_UNITS))
    rows = []
    for (level, model), own in parts.items():
        total = Estimate.of_all([estimate for _, _, estimate in own])
        least, most = sum(each[0] for each in own), sum(each[1] for each in own)
        cost, live_usd = total.cost_usd, None
        if cost is not None and (calls := total.calls.expected):
            times = factor(model, total.tokens_in.expected / calls, total.tokens_out.expected / calls)
            live_usd = None if times is None else cost.expected * times
        room = limits(model)
        assert room is not None
        batches = max(rounds, _batches(most, total, room))
        rows.append(LevelBatches(level, model, least, most, batches, cost, live_usd))
    rows.sort(key=lambda each: (each.provider, each.level, each.model))
    return BatchForecast(tuple(rows), live, rounds)


def _levels(
    plan: Plan, asked: Collection[tuple[str, str]], batched: Collection[str]
) -> Iterator[tuple[tuple[str, str, str], tuple[int, ...]]]:
    """Yield the levels of each step that is asked, by its place, its name, and its role in a conversation. A step whose
    replies are kept, or that is asked live, takes no level. Steps that generate data sets come first, one after
    another."""
    steps = {(each.name, step.name) for each in plan.scenarios for way in each.treatments for step in way.steps}
    made = [key for key in asked if key not in steps]
    yield from (((*key, ""), (level,)) for level, key in enumerate(made, 1))
    for scenario in plan.scenarios:
        found: dict[tuple[str, str], tuple[int, ...]] = {}
        for treatment in scenario.treatments:
            depths: dict[str, int] = {}
            for step in treatment.steps:
                depth = max((depths.get(name, 0) for name in getattr(step, "needs", ())), default=0) or len(made)
                if (scenario.name, step.name) in asked:
                    for role, levels in _of_step(step, depth, batched):
                        found[step.name, role] = max(found.get((step.name, role), ()), levels)
                        depth = max(depth, *levels)
                depths[step.name] = depth
        yield from (((scenario.name, *key), levels) for key, levels in found.items())


def _of_step(step: Any, depth: int, batched: Collection[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the levels of a step after `depth` others; for a conversation, those of each role that speaks in
    batches."""
    if not isinstance(step, Converse):
        yield "", (depth + 1,)
        return
    turns: dict[str, list[int]] = {}
    for turn in range(1, step.limit + 1):
        role = speaker_of(step, turn)
        if role in batched:
            depth += 1
            turns.setdefault(role, []).append(depth)
    yield from ((role, tuple(levels)) for role, levels in turns.items())


def _share(count: int, part: int, of: int) -> int:
    return count // of + (part < count % of)


def _part(estimate: Estimate, of: int) -> Estimate:
    if of == 1:
        return estimate
    cost = None if estimate.cost_usd is None else estimate.cost_usd.times(1 / of)
    calls, tokens_in, tokens_out = (
        span.times(1 / of) for span in (estimate.calls, estimate.tokens_in, estimate.tokens_out)
    )
    return Estimate(calls, tokens_in, tokens_out, cost)


def _batches(calls: int, total: Estimate, limits: Limits) -> int:
    """Return how many batches the calls take, by their number and by the bytes of their prompts."""
    most_lines, most_bytes = limits
    tokens = total.tokens_in.high if math.isfinite(total.tokens_in.high) else total.tokens_in.expected
    return max(1, math.ceil(calls / most_lines), math.ceil((BYTES * tokens + LINE * calls) / most_bytes))
