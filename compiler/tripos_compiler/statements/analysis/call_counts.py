"""Counts the model calls of a plan, exactly, before any is made.

Where a step takes place as rows and axes have it is decided for every row; what a reply decides leaves a span. The
texts that a retrieving step embeds are counted as far as the compiler knows them: each is embedded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tripos_compiler.language import DATA, Unavailable, evaluate, names_in, subexpressions
from tripos_compiler.plan import (
    Ask,
    Call,
    CallCount,
    Compare,
    Converse,
    Data,
    Expr,
    Grade,
    Judging,
    Retrieve,
    Role,
    SampleList,
    Scenario,
    Scorer,
    Step,
    Verdict,
)
from tripos_compiler.resolve import Program
from tripos_compiler.source import dataclass
from tripos_compiler.statements.analysis.loop_counts import CallRange, loop_calls
from tripos_compiler.statements.analysis.step_conditions import Case, StepOutcomes


@dataclass(frozen=True)
class RetrievalCorpus:
    """The corpus of a retrieval step: how many different `texts` at the most, and which, where that is known. `queries`
    are the texts of the row at hand that they are compared with."""

    most: int
    texts: frozenset[str] | None
    queries: tuple[Expr, ...]


def embedding_pools(program: Program, scenario: Scenario) -> dict[str, RetrievalCorpus]:
    """Return the pool of every step that embeds."""
    return {
        step.name: _pool(program, step)
        for step in scenario.steps
        if isinstance(step, Retrieve) and step.using is not None
    }


def _pool(program: Program, step: Retrieve) -> RetrievalCorpus:
    sides = list(_sides(step))
    texts = _texts(program, step, [element for _, element in sides])
    most = len(set(_values(program, step.source))) * len(sides) if texts is None else len(texts)
    return RetrievalCorpus(most, texts, tuple(query for query, _ in sides))


def _sides(step: Retrieve) -> Iterator[tuple[Expr, Expr]]:
    """Yield what is compared: a text of the row at hand and one of the element."""
    for part in subexpressions(step.by):
        if isinstance(part, Call) and part.function == "similarity":
            one, other = [*part.args, *part.named.values()][:2]
            if names_in(other) == {step.alias} and step.alias not in names_in(one):
                yield one, other
            elif names_in(one) == {step.alias} and step.alias not in names_in(other):
                yield other, one


def _texts(program: Program, step: Retrieve, elements: list[Expr]) -> frozenset[str] | None:
    """Return the texts of all elements; None where they depend on the row at hand, or on rows that a run makes."""
    used = {part.dataset for part in subexpressions(step.source) if isinstance(part, Data)}
    whole = all(name in program.rowsets and program.rowsets[name].known for name in used)
    if names_in(step.source) or not whole or any(part.op == "tree" for part in subexpressions(step.source)):
        return None
    data = {name: [row.values for row in program.rowsets[name].rows] for name in used}
    found: set[str] = set()
    try:
        for element in evaluate(step.source, {DATA: data}):
            for expr in elements:
                try:
                    value = evaluate(expr, {step.alias: element})
                except Unavailable:
                    continue
                found |= {value} if isinstance(value, str) else set()
    except Unavailable:
        return None
    return frozenset(found)


def _values(program: Program, expr: Expr) -> Iterator[str]:
    match expr:
        case Data(dataset=name, field=field) if name in program.rowsets:
            loaded = program.rowsets[name]
            if not loaded.known:
                yield from (f"row {number}" for number in range(loaded.count))
            for row in loaded.rows:
                yield from _flat(row.values if field is None else row.values[field])
        case Call(function="picked", args=(items, *_)):
            yield from _values(program, items)  # for all keys together
        case Call(args=args):
            for each in args:
                yield from _values(program, each)


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, list | set | frozenset | tuple):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield str(value)


@dataclass(frozen=True)
class CountedCases:
    """The cases of a scenario: `known` are the names of its cases where the compiler has them."""

    count: int
    names: frozenset[str]
    known: Sequence[Case] | None
    certain: bool
    """Whether there will be that many rows, and not fewer."""


@dataclass
class SharedStep:
    """A step whose calls are made once for all treatments that have it: for every combination of models in `times`, so
    many `samples` in each case in which it takes place in one of the treatments."""

    step: Step
    times: tuple[str, ...]
    samples: int
    repeats: int = 1
    """How many times each of its judges is asked."""
    places: list[tuple[StepOutcomes, Step]] = field(default_factory=list)
    arms: list[dict[str, str]] = field(default_factory=list)


def count_calls(
    scenario: Scenario,
    cases: CountedCases,
    roles: Mapping[str, Role],
    scorers: Mapping[str, Scorer],
    pool: Mapping[str, RetrievalCorpus],
) -> list[CallCount]:
    """Return the calls of every step of a scenario; steps that several treatments share are counted once.

    `pool` says of a step that embeds what it looks through.
    """
    counter = _Counter(scenario, cases, roles, scorers, pool)
    return list(counter.counts())


def count_embeddings_once(counts: Iterable[CallCount], scenarios: Iterable[Scenario]) -> Iterator[CallCount]:
    """Yield the calls of all scenarios. A text is embedded once, so it is sure to be only where a first one embeds."""
    embedding = {step.using for each in scenarios for step in each.steps if isinstance(step, Retrieve)}
    first: dict[str, str] = {}
    for count in counts:
        again = count.role in embedding and first.setdefault(count.role, count.scenario) != count.scenario
        yield count.model_copy(update={"least": 0}) if again else count


def _named_by(step: Step) -> tuple[str, ...]:
    """Return the steps that name the reply of a step, or the verdict of a judge: each of theirs is another one."""
    return step.judged if isinstance(step, Judging) else step.needs


class _Counter:
    def __init__(
        self,
        scenario: Scenario,
        cases: CountedCases,
        roles: Mapping[str, Role],
        scorers: Mapping[str, Scorer],
        pool: Mapping[str, RetrievalCorpus],
    ) -> None:
        self.scenario = scenario
        self.cases = cases
        self.roles = roles
        self.scorers = scorers
        self.pool = pool
        self.embedded: dict[str, tuple[set[str], set[str]]] = {}
        """By role, the texts that it embeds for sure, and those that it may."""

    def counts(self) -> Iterator[CallCount]:
        shared: dict[str, SharedStep] = {}
        escalated: dict[str, SharedStep] = {}
        for treatment in self.scenario.treatments:
            times: dict[str, tuple[str, ...]] = {}
            samples: dict[str, int] = {}
            places = StepOutcomes(treatment.steps, self.cases.names if self.cases.known is not None else frozenset())
            for step in treatment.steps:
                times[step.name] = self._times(step, times)
                before = [] if isinstance(step, SampleList) else [samples[name] for name in _named_by(step)]
                samples[step.name] = max([getattr(step, "samples", 1), *before])
                asked = shared.setdefault(self._identity(step), SharedStep(step, times[step.name], samples[step.name]))
                asked.samples = max(asked.samples, samples[step.name])
                if isinstance(step, Verdict | Grade | Compare):
                    asked.repeats = max(asked.repeats, self.scorers[step.scorer].samples)
                both = [asked]
                if isinstance(step, Grade) and (then := self.scorers[step.scorer].then) is not None:
                    own = self._times(step, times, then)
                    key = f"{step.judgement} {then}"
                    both.append(escalated.setdefault(key, SharedStep(step, own, samples[step.name])))
                for each in both:
                    each.places.append((places, step))
                    each.arms.extend([treatment.arms] if treatment.arms else [])
        for asked in shared.values():
            for count in self._of(asked):
                yield count.model_copy(update={"arms": tuple(asked.arms)})
        for asked in escalated.values():
            yield self._escalated(asked).model_copy(update={"arms": tuple(asked.arms)})

    def _escalated(self, asked: SharedStep) -> CallCount:
        """Return the calls of the stronger judges of a cascade: at least none, and at most all."""
        assert isinstance(asked.step, Grade)
        then = self.scorers[asked.step.scorer].then
        assert then is not None
        most = self._span(asked.places).times(asked.samples).most
        return self._count(asked.step.name, then, CallRange(most, 0, most), asked.times, (0, asked.samples))

    def _identity(self, step: Step) -> str:
        """Return what is asked once is counted once: a judge's reply may serve several scores. Judges of two roles are
        two, also where they are sent the same."""
        if isinstance(step, Verdict | Grade | Compare):
            return f"{step.judgement} {self.scorers[step.scorer].role}"
        return step.fingerprint

    def _times(self, step: Step, times: Mapping[str, tuple[str, ...]], judge: str | None = None) -> tuple[str, ...]:
        """Return the roles for whose models a step is done each; `judge` stands in the place of a scorer's own role."""
        upstream = [role for name in _named_by(step) for role in times[name]]
        own: tuple[str, ...] = ()
        match step:
            case Ask():
                own = (step.role,)
            case Converse():
                own = tuple(speaker.role for speaker in step.speakers)
            case Verdict() | Grade() | Compare():
                own = (judge or self.scorers[step.scorer].role,)
        several = [role for role in own if self.roles[role].kind != "single"]
        return tuple(dict.fromkeys((*upstream, *several)))

    def _of(self, asked: SharedStep) -> Iterator[CallCount]:
        step, times = asked.step, asked.times
        times_a_row = asked.samples * asked.repeats
        if isinstance(step, Verdict) and step.loops:
            span, (least, most) = loop_calls(asked.places, self.cases.known, self.cases.count, self.cases.certain)
            of_a_row = (least * times_a_row, most * times_a_row)
            yield self._count(step.name, self.scorers[step.scorer].role, span.times(times_a_row), times, of_a_row)
            return
        span = self._span(asked.places)
        alike = span.most == self.cases.count and span.least in (0, span.most)
        row = None if alike else (0, times_a_row)
        span = span.times(times_a_row)
        match step:
            case Ask():
                yield self._count(step.name, step.role, span, times, row)
            case Converse():
                held = span
                for speaker in step.speakers:
                    opens = speaker.role == step.opens
                    most = (step.limit + 1) // 2 if opens else step.limit // 2
                    turns = CallRange(held.calls * most, held.least if opens else 0, held.most * most)
                    of_row = None if row is None else (0, row[1] * most)
                    if opens and held.least:  # the first turn is certain and no other
                        of_row = (0 if row is not None else asked.samples, asked.samples * most)
                    yield self._count(step.name, speaker.role, turns, times, of_row)
            case Retrieve() if step.using is not None:
                yield from self._embedded(asked, step, step.using)
            case Verdict() | Grade():
                yield self._count(step.name, self.scorers[step.scorer].role, span, times, row)
            case Compare():
                compared = next((role.name for role in self.roles.values() if role.kind == "compared"), None)
                judge = self.scorers[step.scorer].role
                others = tuple(role for role in times if role != compared or role == judge)
                count = self._count(step.name, judge, span, others, row)
                yield count.model_copy(update={"pairs": compared})

    def _embedded(self, asked: SharedStep, step: Retrieve, role: str) -> Iterator[CallCount]:
        """Every text is embedded once, whichever row or step needs it: of what is not known the least is nothing, for
        it may be what was embedded before."""
        pool, span = self.pool[step.name], self._span(asked.places)
        before = self.embedded.setdefault(role, (set(), set()))
        queries = self._queries(asked, pool)
        certain, possible = set[str](), set[str]()
        if queries is not None:
            certain, possible = queries
        if pool.texts is not None and span.most:
            possible |= pool.texts
            certain |= pool.texts if span.least else set()
        least, most = len(certain - before[1]), len(possible - before[1])
        before[0].update(certain)
        before[1].update(possible)
        if pool.texts is None:
            most += pool.most
        asked_for = CallRange(span.most, 0, span.most).times(asked.samples * len(pool.queries))
        if queries is None and not asked.times:
            most += asked_for.most
        known = CallRange(most, least, most)
        yield self._count(step.name, role, known, (), None if least == most == 0 else (0, most))
        if queries is None and asked.times:
            yield self._count(step.name, role, asked_for, asked.times, (0, asked.samples * len(pool.queries)))

    def _queries(self, asked: SharedStep, pool: RetrievalCorpus) -> tuple[set[str], set[str]] | None:
        """Return the texts that rows are looked for by, for sure and perhaps; None where they are not known."""
        if self.cases.known is None:
            return None
        certain, possible = set[str](), set[str]()
        for case in self.cases.known:
            found = [each.in_case(step, case) for each, step in asked.places]
            if set(found) == {False}:
                continue
            for query in pool.queries:
                text = asked.places[0][0].known(query, case)
                if text is None:
                    return None
                possible.add(text)
                if True in found and self.cases.certain:
                    certain.add(text)
        return certain, possible

    def _count(
        self, step: str, role: str, span: CallRange, times: tuple[str, ...], row: tuple[int, int] | None = None
    ) -> CallCount:
        return CallCount(
            scenario=self.scenario.name,
            step=step,
            role=role,
            calls=span.calls,
            least=span.least,
            most=span.most,
            times=times,
            row=row,
        )

    def _span(self, places: Sequence[tuple[StepOutcomes, Step]]) -> CallRange:
        """In how many cases a step takes place in some treatment; where a reply decides, at the most."""
        if any(each.always(step) for each, step in places):
            most = certain = self.cases.count
        elif self.cases.known is None:
            sure = any(each.in_case(step, {}) for each, step in places)
            most, certain = self.cases.count, self.cases.count if sure else 0
        else:
            found = [[each.in_case(step, case) for each, step in places] for case in self.cases.known]
            certain = sum(1 for each in found if True in each)
            most = sum(1 for each in found if set(each) != {False})
        return CallRange(most, certain if self.cases.certain else 0, most)
