"""Counts the model calls of a plan, exactly, before any is made.

A condition that only rows and axes decide is decided here, for every row; one that a reply decides leaves a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    Treatment,
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
        shared: dict[str, list[dict[str, str]]] = {}
        for treatment in self.scenario.treatments:
            for step in treatment.steps:
                shared.setdefault(_identity(step), []).append(dict(treatment.arms))
        seen: set[str] = set()
        for treatment in self.scenario.treatments:
            times: dict[str, tuple[str, ...]] = {}
            whens: dict[str, list[Expr]] = {}
            for step in treatment.steps:
                own = [step.when] if step.when is not None else []
                whens[step.name] = own + [each for name in getattr(step, "needs", ()) for each in whens[name]]
                times[step.name] = self._times(step, times)
                if _identity(step) in seen:
                    continue
                seen.add(_identity(step))
                arms = tuple(arm for arm in shared[_identity(step)] if arm)
                for count in self._of(step, treatment, times[step.name], whens[step.name]):
                    yield count.model_copy(update={"arms": arms})

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

    def _of(
        self, step: Step, treatment: Treatment, times: tuple[str, ...], whens: Sequence[Expr]
    ) -> Iterator[CallCount]:
        span = self._span(whens)
        samples = {each.name: getattr(each, "samples", 1) for each in treatment.steps}
        match step:
            case Ask():
                yield self._count(step.name, step.role, span.times(step.samples), times)
            case Converse():
                held = span.times(step.repeat)
                for speaker in step.speakers:
                    opens = speaker.role == step.opens
                    most = (step.limit + 1) // 2 if opens else step.limit // 2
                    turns = Span(held.calls * most, held.least if opens else 0, held.most * most)
                    yield self._count(step.name, speaker.role, turns, times)
            case Retrieve() if step.using is not None:
                pool = self.pool.get(step.name, 0)
                texts = Span(span.calls + pool, span.least + pool, span.most + pool)
                yield self._count(step.name, step.using, texts, times)
            case Verdict() | Grade():
                repeated = max((samples[name] for name in step.needs), default=1)
                yield self._count(step.name, self.scorers[step.scorer].role, span.times(repeated), times)
            case Compare():
                repeated = max((samples[name] for name in step.needs), default=1)
                compared = next((role.name for role in self.roles.values() if role.kind == "compared"), None)
                others = tuple(role for role in times if role != compared)
                count = self._count(step.name, self.scorers[step.scorer].role, span.times(repeated), others)
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

    def _span(self, whens: Sequence[Expr]) -> Span:
        """How many cases all of these conditions hold in."""
        open_ = [when for when in whens if not self._decided(when)]
        closed = [when for when in whens if self._decided(when)]
        count = self.cases.count
        if closed and self.cases.known is not None:
            count = sum(1 for case in self.cases.known if all(_holds(when, case) for when in closed))
        certain = not open_ and self.cases.certain
        return Span(count, count if certain else 0, count)

    def _decided(self, when: Expr) -> bool:
        """Whether the compiler can say in which cases a condition holds."""
        if self.cases.known is None or not names_in(when) <= self.cases.names:
            return False
        return all(_own(part) for part in parts_of(when))


def _identity(step: Step) -> str:
    """What is asked once is counted once: a judge's reply may serve several scores."""
    if isinstance(step, Verdict | Grade | Compare):
        return f"{step.judgement} {step.when}"
    return step.fingerprint


def _own(part: Expr) -> bool:
    """Whether the compiler can evaluate it: no data set, no tree, no function of the user's."""
    return part.op not in ("data", "tree") and (not isinstance(part, Call) or part.function in FUNCTIONS)


def _holds(when: Expr, case: Case) -> bool:
    try:
        return bool(evaluate(when, case))
    except (Unavailable, KeyError):
        return True
