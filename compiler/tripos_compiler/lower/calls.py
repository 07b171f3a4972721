"""Counts the model calls of a plan, exactly, before any is made.

Where a step takes place as rows and axes have it is decided for every row; what a reply decides leaves a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tripos_compiler.lower.places import Case, Places
from tripos_compiler.plan import (
    Ask,
    CallCount,
    Compare,
    Converse,
    Expr,
    Grade,
    Retrieve,
    Role,
    Scenario,
    Scorer,
    Step,
    Verdict,
)


@dataclass(frozen=True)
class Cases:
    """What a scenario runs over: `known` are the names of its cases where the compiler has them."""

    count: int
    names: frozenset[str]
    known: Sequence[Case] | None
    certain: bool
    """Whether there will be that many rows, and not fewer."""


@dataclass(frozen=True)
class Span:
    """How often something happens: as a rule, at least, at most."""

    calls: int
    least: int
    most: int

    def times(self, factor: int) -> Span:
        """So many times as often."""
        return Span(self.calls * factor, self.least * factor, self.most * factor)

    def and_(self, other: Span) -> Span:
        """Both together."""
        return Span(self.calls + other.calls, self.least + other.least, self.most + other.most)


@dataclass
class Asked:
    """A step whose calls are made once for all treatments that have it: for every combination of models in `times`, so
    many `samples` in each case in which it takes place in one of the treatments."""

    step: Step
    times: tuple[str, ...]
    samples: int
    places: list[tuple[Places, Step]] = field(default_factory=list)
    arms: list[dict[str, str]] = field(default_factory=list)


def count_calls(
    scenario: Scenario, cases: Cases, roles: Mapping[str, Role], scorers: Mapping[str, Scorer], pool: Mapping[str, int]
) -> list[CallCount]:
    """The calls of every step of a scenario; steps that several treatments share are counted once.

    `pool` says for a retrieving step how many texts of its source are embedded.
    """
    counter = _Counter(scenario, cases, roles, scorers, pool)
    return list(counter.counts())


class _Counter:
    def __init__(
        self,
        scenario: Scenario,
        cases: Cases,
        roles: Mapping[str, Role],
        scorers: Mapping[str, Scorer],
        pool: Mapping[str, int],
    ) -> None:
        self.scenario = scenario
        self.cases = cases
        self.roles = roles
        self.scorers = scorers
        self.pool = pool
        self.embedded: list[tuple[str, Expr]] = []
        """Which role has embedded what is looked through."""

    def counts(self) -> Iterator[CallCount]:
        shared: dict[str, Asked] = {}
        for treatment in self.scenario.treatments:
            times: dict[str, tuple[str, ...]] = {}
            samples: dict[str, int] = {}
            places = Places(treatment.steps, self.cases.names if self.cases.known is not None else frozenset())
            for step in treatment.steps:
                times[step.name] = self._times(step, times)
                samples[step.name] = max([getattr(step, "samples", 1), *(samples[name] for name in step.needs)])
                asked = shared.setdefault(self._identity(step), Asked(step, times[step.name], samples[step.name]))
                asked.samples = max(asked.samples, samples[step.name])
                asked.places.append((places, step))
                asked.arms.extend([treatment.arms] if treatment.arms else [])
        for asked in shared.values():
            for count in self._of(asked):
                yield count.model_copy(update={"arms": tuple(asked.arms)})

    def _identity(self, step: Step) -> str:
        """What is asked once is counted once: a judge's reply may serve several scores. Judges of two roles are two,
        also where they are sent the same."""
        if isinstance(step, Verdict | Grade | Compare):
            return f"{step.judgement} {self.scorers[step.scorer].role}"
        return step.fingerprint

    def _times(self, step: Step, times: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        upstream = [role for name in step.needs for role in times[name]]
        own: tuple[str, ...] = ()
        match step:
            case Ask():
                own = (step.role,)
            case Converse():
                own = tuple(speaker.role for speaker in step.speakers)
            case Verdict() | Grade() | Compare():
                own = (self.scorers[step.scorer].role,)
        several = [role for role in own if self.roles[role].kind != "single"]
        return tuple(dict.fromkeys((*upstream, *several)))

    def _of(self, asked: Asked) -> Iterator[CallCount]:
        step, times = asked.step, asked.times
        span = self._span(asked.places).times(asked.samples)
        match step:
            case Ask():
                yield self._count(step.name, step.role, span, times)
            case Converse():
                held = span
                for speaker in step.speakers:
                    opens = speaker.role == step.opens
                    most = (step.limit + 1) // 2 if opens else step.limit // 2
                    turns = Span(held.calls * most, held.least if opens else 0, held.most * most)
                    yield self._count(step.name, speaker.role, turns, times)
            case Retrieve() if step.using is not None:
                texts = (step.using, step.source)
                pool = self.pool.get(step.name, 0) if texts not in self.embedded else 0
                self.embedded.append(texts)
                looked_through = Span(pool, pool if span.least else 0, pool)
                if not times or not pool:
                    yield self._count(step.name, step.using, span.and_(looked_through), times)
                    return
                yield self._count(step.name, step.using, looked_through, ())
                yield self._count(step.name, step.using, span, times)
            case Verdict() | Grade():
                yield self._count(step.name, self.scorers[step.scorer].role, span, times)
            case Compare():
                compared = next((role.name for role in self.roles.values() if role.kind == "compared"), None)
                judge = self.scorers[step.scorer].role
                others = tuple(role for role in times if role != compared or role == judge)
                count = self._count(step.name, judge, span, others)
                yield count.model_copy(update={"pairs": compared})

    def _count(self, step: str, role: str, span: Span, times: tuple[str, ...]) -> CallCount:
        return CallCount(
            scenario=self.scenario.name,
            step=step,
            role=role,
            calls=span.calls,
            least=span.least,
            most=span.most,
            times=times,
        )

    def _span(self, places: Sequence[tuple[Places, Step]]) -> Span:
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
        return Span(most, certain if self.cases.certain else 0, most)
