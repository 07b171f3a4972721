"""Samples that a forecast need not go through one by one: while nothing of a treatment is kept, they are all alike.

What is foreseen of a sample hangs on its row, its models and the replies that are kept, and never on its number. So
where no reply to any step of a treatment is kept, its first sample stands for all, and each of its calls for as many as
differ in name.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from tripos_compiler.plan import Ask, Converse, Judging, Retrieve
from tripos_runtime.units import Wiring


def times(wiring: Wiring, step: Ask | Converse | Retrieve | Judging) -> int:
    """How many calls of a step one call stands for, for a row and model: a sample of an ask that builds on a
    conversation is another one where either is."""
    steps = {each.name: each for each in wiring.treatment.steps if isinstance(each, Ask | Converse)}
    counts = [steps[name].samples for name in step.needs if name in steps]
    if isinstance(step, Ask | Converse):
        counts.append(step.samples)
    return min(wiring.samples, math.lcm(*counts))


def alike(wirings: Iterable[Wiring], held: Collection[str]) -> set[Wiring]:
    """The treatments of a scenario whose samples are alike, where something of the fingerprints `held` is kept. What is
    a step of two treatments is so in both or in neither."""
    every = list(wirings)
    found = {wiring for wiring in every if wiring.samples > 1 and not _parted(wiring, held)}
    while True:
        counts: dict[str, set[int]] = {}
        for wiring in every:
            for print_, number in _counts(wiring).items():
                counts.setdefault(print_, set()).add(number if wiring in found else 0)
        still = {wiring for wiring in found if all(len(counts[print_]) == 1 for print_ in _counts(wiring))}
        if still == found:
            return found
        found = still


def _parted(wiring: Wiring, held: Collection[str]) -> bool:
    """Whether samples of a treatment differ: some are kept, or each of them is compared or found by itself."""
    steps = wiring.treatment.steps
    prints = {print_ for step in steps for print_ in (step.fingerprint, getattr(step, "judgement", "")) if print_}
    searched = any(isinstance(step, Retrieve) and step.using is not None for step in steps)
    return bool(wiring.compares) or searched or not prints.isdisjoint(held)


def _counts(wiring: Wiring) -> dict[str, int]:
    """How many calls one stands for, by the fingerprint of the step, or of what its judges are asked."""
    steps = [step for step in wiring.treatment.steps if isinstance(step, Ask | Converse | Judging)]
    return {getattr(step, "judgement", step.fingerprint): times(wiring, step) for step in steps}
