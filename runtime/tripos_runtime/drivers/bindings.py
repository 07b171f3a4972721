"""The bindings of a run: what its results are named by apart from their items, which tells its rows from all others.

A result is named by its fingerprint, its item and everything that it builds on: replies of whichever models fill the
roles, which sample of each, who judged, and who made the data sets that are looked into. Its *binding* is that name
without the item. So the rows of a run are those of its items whose binding is one of its own, whatever else is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tripos_compiler.language import names_in
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
    turns_before,
)
from tripos_runtime.drivers.lookup import bound_treatments
from tripos_runtime.program import BoundTreatment, Pair, Unit
from tripos_runtime.roles import RoleBinding, making_binding


class ResultBinding(NamedTuple):
    """Results that a run yields of each of its items in a scenario: by fingerprint and binding. `model` is the compared
    model that they are about, and `other` the one that it is compared with; rows about no compared model are listed
    once for each, and what is made for data sets has none. With a `condition` they are those rows that were asked for
    under it."""

    scenario: str
    fingerprint: str
    binding: str
    model: str | None = None
    other: str | None = None
    condition: str | None = None


def result_bindings(plan: Plan, binding: RoleBinding, scenarios: Iterable[Scenario]) -> list[ResultBinding]:
    """Return everything that a run of some scenarios of a plan yields, sorted."""
    found: set[ResultBinding] = set()
    for scenario, every in bound_treatments(scenarios, plan, binding).items():
        for bound in every:
            found.update(_of_treatment(scenario, bound))
    for made in plan.made:
        place = made.scenario or made.name
        for fingerprint in made.fingerprints:
            found.add(ResultBinding(place, fingerprint, making_binding(plan, made, fingerprint, binding.answering)))
    return sorted(found, key=lambda each: tuple(part or "" for part in each))


def given_bindings(plan: Plan, binding: RoleBinding) -> dict[tuple[str, str], str]:
    """Return the binding of what is said of a reply outside the run, by the fingerprint of the step in whose place it
    stands and the binding of the reply. Where the step builds on several replies beside it, on the first of these."""
    found: dict[tuple[str, str], str] = {}
    for every in bound_treatments(plan.scenarios, plan, binding).values():
        for bound in every:
            for number, model in itertools.product(range(bound.samples), binding.of(binding.compared)):
                unit = bound.pattern(model, number)
                for step in bound.treatment.steps:
                    if isinstance(step, Grade):
                        for name in _last_replies(step, bound):
                            found.setdefault((step.fingerprint, unit.samples[name]), unit.given_binding(step))
    return found


def _last_replies(step: Grade, bound: BoundTreatment) -> Iterator[str]:
    """Yield the steps whose reply a grade may be about: of an ask with several prompts any turn may be the last."""
    yield step.of
    if step.of in bound.asks:
        yield from (each.name for each in turns_before(bound.asks[step.of], bound.asks))


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
        own = asked.fingerprint if isinstance(asked, Ask | Converse) else asked.judgement
        yield own, call.name, asked.condition or None
    for step in unit.bound.treatment.steps:
        match step:
            case Converse():
                yield step.fingerprint, unit.samples[step.name], step.condition or None
            case Score() | Column():
                yield step.fingerprint, unit.score_binding(step, None), None
                for verdict in _labels(step, unit.bound):
                    for fingerprint in (verdict.judgement, step.fingerprint):
                        yield fingerprint, unit.given_binding(verdict), None
            case Grade():
                for evaluator in unit.evaluators(step):
                    yield step.fingerprint, unit.score_binding(step, evaluator), None
                for fingerprint in (step.judgement, step.fingerprint):
                    yield fingerprint, unit.given_binding(step), None


def _labels(step: Score | Column, bound: BoundTreatment) -> Iterator[Verdict]:
    """Yield the step whose choice about each element a score is, where it is nothing else: people may choose too."""
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
        yield fingerprint, pair.given_binding, None
