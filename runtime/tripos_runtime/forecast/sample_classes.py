"""Samples that a forecast need not go through one by one: while nothing of a treatment is kept, they are all alike.

What is foreseen of a sample hangs on its row, its models and the replies that are kept, and never on its number. So
where no reply to any step of a treatment is kept, its first sample stands for all, and each of its calls for as many as
differ in name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from tripos_compiler.plan import Ask, Converse, Step
from tripos_runtime.program import BoundTreatment


def times(bound: BoundTreatment, step: Step) -> int:
    """Return how many calls of a step one call stands for, for a row and model: a sample of an ask that builds on a
    conversation is another one where either is."""
    steps = {each.name: each for each in bound.treatment.steps if isinstance(each, Ask | Converse)}
    counts = [steps[name].samples for name in step.needs if name in steps]
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
        if bound.compares or any(bound.retrieved.values()):  # each sample is compared, or found, by itself
            parted |= one.keys()
    while left := [bound for bound, one in every.items() if not parted.isdisjoint(one)]:
        parted.update(*(every.pop(bound) for bound in left))
    return {bound for bound in every if bound.samples > 1}


def _counts(bound: BoundTreatment) -> dict[str, int]:
    """Return how many results one stands for, by the fingerprint of the step, and of what its judges are asked."""
    steps = bound.treatment.steps
    prints = {print_: step for step in steps for print_ in (step.fingerprint, getattr(step, "judgement", "")) if print_}
    return {print_: times(bound, step) for print_, step in prints.items()}
