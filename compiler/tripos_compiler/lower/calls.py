"""Counts the model calls of a plan, exactly, before any is made.

A condition that only rows and axes decide is decided here, for every row; one that a reply decides leaves a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import (
    Ask,
    Call,
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
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.library import FUNCTIONS
from tripos_compiler.semantics.names import names_in, parts_of

Case = Mapping[str, Any]
"""The names of one case: its axes, and its row under the alias."""


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
    many `samples` where all of one of the conditions in `whens` hold, which are those of a treatment."""

    step: Step
    times: tuple[str, ...]
    samples: int
    whens: list[list[Expr]] = field(default_factory=list)
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

    def counts(self) -> Iterator[CallCount]:
        shared: dict[str, Asked] = {}
        for treatment in self.scenario.treatments:
            times: dict[str, tuple[str, ...]] = {}
            whens: dict[str, list[Expr]] = {}
            samples: dict[str, int] = {}
            for step in treatment.steps:
                own = [step.when] if step.when is not None else []
                whens[step.name] = own + [each for name in step.needs for each in whens[name]]
                times[step.name] = self._times(step, times)
                samples[step.name] = max([getattr(step, "samples", 1), *(samples[name] for name in step.needs)])
                asked = shared.setdefault(_identity(step), Asked(step, times[step.name], samples[step.name]))
                asked.whens.append(whens[step.name])
                asked.arms.extend([treatment.arms] if treatment.arms else [])
        for asked in shared.values():
            for count in self._of(asked):
                yield count.model_copy(update={"arms": tuple(asked.arms)})

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
        span = self._span(asked.whens).times(asked.samples)
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
                pool = self.pool.get(step.name, 0)
                looked_through = Span(pool, pool if span.least else 0, pool)
                if not times:
                    yield self._count(step.name, step.using, span.and_(looked_through), ())
                    return
                yield self._count(step.name, step.using, looked_through, ())
                yield self._count(step.name, step.using, span, times)
            case Verdict() | Grade():
                yield self._count(step.name, self.scorers[step.scorer].role, span, times)
            case Compare():
                compared = next((role.name for role in self.roles.values() if role.kind == "compared"), None)
                others = tuple(role for role in times if role != compared)
                count = self._count(step.name, self.scorers[step.scorer].role, span, others)
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

    def _span(self, whens: Sequence[Sequence[Expr]]) -> Span:
        """In how many cases all conditions of some treatment hold; what a reply decides holds at the most."""
        closed = [[when for when in each if self._decided(when)] for each in whens]
        certain = [own for own, each in zip(closed, whens, strict=True) if len(own) == len(each)]
        most = self._held(closed)
        return Span(most, self._held(certain) if self.cases.certain else 0, most)

    def _held(self, whens: Sequence[Sequence[Expr]]) -> int:
        """In how many cases all of the conditions in some of these hold."""
        if not all(whens):
            return self.cases.count  # there is one without a condition
        cases = self.cases.known or ()
        return sum(1 for case in cases if any(all(_holds(when, case) for when in each) for each in whens))

    def _decided(self, when: Expr) -> bool:
        """Whether the compiler can say in which cases a condition holds."""
        if self.cases.known is None or not names_in(when) <= self.cases.names:
            return False
        return all(_own(part) for part in parts_of(when))


def _identity(step: Step) -> str:
    """What is asked once is counted once: a judge's reply may serve several scores."""
    return step.judgement if isinstance(step, Verdict | Grade | Compare) else step.fingerprint


def _own(part: Expr) -> bool:
    """Whether the compiler can evaluate it: no data set, no tree, no function of the user's."""
    return part.op not in ("data", "tree") and (not isinstance(part, Call) or part.function in FUNCTIONS)


def _holds(when: Expr, case: Case) -> bool:
    try:
        return bool(evaluate(when, case))
    except (Unavailable, KeyError):
        return True
