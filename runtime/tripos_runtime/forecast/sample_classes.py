"""Samples that a forecast need not go through one by one: while nothing of a treatment is kept, they are all alike.

What is foreseen of a sample hangs on its row, its models and the replies that are kept, and never on its number. So
where no reply to any step of a treatment is kept, its first sample stands for all, and each of its calls for as many as
differ in name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from tripos_compiler.plan import Ask, Converse, Judging, Retrieve, Scenario
from tripos_runtime.program import BoundTreatment


def arms_of(scenario: Scenario) -> dict[tuple[str, str], str]:
    """Return which treatments share a step, in words, by its name and fingerprint; empty for all of them."""
    return {key: in_words(arms, scenario) for key, arms in sharing(scenario).items()}


def sharing(scenario: Scenario) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return the treatments that share a step, by its name and fingerprint."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            found.setdefault((step.name, step.fingerprint), []).append(treatment.arms)
    return found


def in_words(shared: Sequence[Mapping[str, str]], scenario: Scenario) -> str:
    """Return the treatments that share a step, by the values of their arms; empty for all of them."""
    if len(shared) == len(scenario.treatments):
        return ""
    told: list[str] = []
    for arm in scenario.arms:
        values = dict.fromkeys(one[arm] for one in shared)
        if len(values) < len({treatment.arms[arm] for treatment in scenario.treatments}):
            told.append(f"{arm} {', '.join(values)}")
    return "; ".join(told)


def times(bound: BoundTreatment, step: Ask | Converse | Retrieve | Judging) -> int:
    """Return how many calls of a step one call stands for, for a row and model: a sample of an ask that builds on a
    conversation is another one where either is."""
    steps = {each.name: each for each in bound.treatment.steps if isinstance(each, Ask | Converse)}
    counts = [steps[name].samples for name in step.needs if name in steps]
    if isinstance(step, Ask | Converse):
        counts.append(step.samples)
    return min(bound.samples, math.lcm(*counts))


def alike(bound_treatments: Iterable[BoundTreatment], held: Collection[str]) -> set[BoundTreatment]:
    """Return the treatments of a scenario whose samples are alike, where something of the fingerprints `held` is kept.
    What is a step of two treatments is so in both or in neither."""
    every = list(bound_treatments)
    found = {bound for bound in every if bound.samples > 1 and not _parted(bound, held)}
    while True:
        counts: dict[str, set[int]] = {}
        for bound in every:
            for print_, number in _counts(bound).items():
                counts.setdefault(print_, set()).add(number if bound in found else 0)
        still = {bound for bound in found if all(len(counts[print_]) == 1 for print_ in _counts(bound))}
        if still == found:
            return found
        found = still


def _parted(bound: BoundTreatment, held: Collection[str]) -> bool:
    """Return true if samples of a treatment differ: some are kept, or each of them is compared or found by itself."""
    steps = bound.treatment.steps
    prints = {print_ for step in steps for print_ in (step.fingerprint, getattr(step, "judgement", "")) if print_}
    searched = any(isinstance(step, Retrieve) and step.using is not None for step in steps)
    return bool(bound.compares) or searched or not prints.isdisjoint(held)


def _counts(bound: BoundTreatment) -> dict[str, int]:
    """Return how many calls one stands for, by the fingerprint of the step, or of what its judges are asked."""
    steps = [step for step in bound.treatment.steps if isinstance(step, Ask | Converse | Judging)]
    return {getattr(step, "judgement", step.fingerprint): times(bound, step) for step in steps}
