"""The calls of a forecast as the table of a plan shows them, and how many calls one of them stands for.

What is foreseen of a sample hangs on its row, its models and the replies that are kept, and never on its number. So
where no reply to any step of a treatment is kept, its samples are all alike: its first sample stands for all, and each
of its calls for as many as differ in name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tripos_compiler.plan import Ask, Converse, Judging, Made, Plan, SampleList, Scenario, Step
from tripos_runtime.datasets import Planned
from tripos_runtime.forecast.call_outcomes import Fate
from tripos_runtime.forecast.lines import Forecast
from tripos_runtime.generate import place_of
from tripos_runtime.program import BoundTreatment


def planned(found: Forecast, plan: Plan) -> list[Planned]:
    """Return the calls of every step as a forecast has them, those that are kept included: what the table of a plan
    shows where it is known who fills the roles, and what a store has."""
    arms = {
        (scenario.name, name, arms_in_words(each, scenario)): each
        for scenario in plan.scenarios
        for (name, _), each in treatments_sharing(scenario).items()
    }
    made = {title: each.name for each in plan.made for title in _titles(each)}
    counted: dict[tuple[str, str, str, str], Planned] = {}
    for where, line in found.lines.items():
        place = made.get((where.scenario, where.step), where.scenario)
        step = where.step.rpartition(".")[2] if place != where.scenario else where.step
        before = counted.get(where[:4], Planned(place, step, where.role, (), 0, 0, 0))
        least, likely = line.reused + line.certain, line.load.calls[Fate.LIKELY] + line.load.calls[Fate.PERHAPS]
        counted[where[:4]] = replace(
            before,
            arms=tuple(arms.get((where.scenario, where.step, where.arm), ())) if where.arm else (),
            least=before.least + least,
            calls=before.calls + least + likely,
            most=before.most + line.reused + line.most,
        )
    return list(counted.values())


def _titles(made: Made) -> Iterator[tuple[str, str]]:
    """Yield what the steps of a data set that is made are called in a forecast, with their place."""
    own = made.name.rpartition(".")[2]
    for step in (own, *(f"{own}.{ask.name}" for ask in made.asks)):
        yield place_of(made), step


def arms_of(scenario: Scenario) -> dict[tuple[str, str], str]:
    """Return which treatments share a step, in words, by its name and fingerprint; empty for all of them."""
    return {key: arms_in_words(arms, scenario) for key, arms in treatments_sharing(scenario).items()}


def treatments_sharing(scenario: Scenario) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the treatments that share a step, by its name and fingerprint."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            found.setdefault((step.name, step.fingerprint), []).append(treatment.arms)
    return found


def arms_in_words(shared: Sequence[Mapping[str, str]], scenario: Scenario) -> str:
    """Return the treatments that share a step, by the values of their arms; empty for all of them."""
    if len(shared) == len(scenario.treatments):
        return ""
    told: list[str] = []
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in shared)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            told.append(f"{arm} {', '.join(values)}")
    return "; ".join(told)


def times(bound: BoundTreatment, step: Step) -> int:
    """Return how many calls of a step one call stands for, for a row and model: a sample of an ask that builds on a
    conversation is another one where either is."""
    steps = {each.name: each for each in bound.treatment.steps if isinstance(each, Ask | Converse)}
    needs = step.judged if isinstance(step, Judging) else step.needs
    counts = [steps[name].samples for name in needs if name in steps]
    if isinstance(step, Ask | Converse):
        counts.append(step.samples)
    return min(bound.samples, math.lcm(*counts))


def alike(treatments: Iterable[BoundTreatment], held: Collection[str]) -> set[BoundTreatment]:
    """Return the treatments of a scenario whose samples are alike, where something of the fingerprints `held` is kept.
    A treatment is none of them where it shares a step with one that is not, so that each call is counted in one way."""
    every = {bound: _counts(bound) for bound in treatments}
    counts: dict[str, set[int]] = {}
    for one in every.values():
        for print_, number in one.items():
            counts.setdefault(print_, set()).add(number)
    parted = {*held, *(print_ for print_, numbers in counts.items() if len(numbers) > 1)}
    for bound, one in every.items():
        listed = any(isinstance(step, SampleList) for step in bound.treatment.steps)
        if bound.compares or listed or any(bound.retrieved.values()):  # each sample is compared, or found, by itself
            parted |= one.keys()
    while left := [bound for bound, one in every.items() if not parted.isdisjoint(one)]:
        parted.update(*(every.pop(bound) for bound in left))
    return {bound for bound in every if bound.samples > 1}


def _counts(bound: BoundTreatment) -> dict[str, int]:
    """Return how many results one stands for, by the fingerprint of the step, and of what its judges are asked."""
    steps = bound.treatment.steps
    prints = {print_: step for step in steps for print_ in (step.fingerprint, getattr(step, "judgement", "")) if print_}
    return {print_: times(bound, step) for print_, step in prints.items()}
