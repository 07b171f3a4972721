"""The step that retrieves: what a unit's row finds in the source, put among the names that its expressions see.

It is done once a row, for all the models and treatments that have it. Without embeddings nothing is asked for, and so
nothing is kept of it either: what it yields follows from the row and the source, which the step's fingerprint names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import Retrieve
from tripos_compiler.semantics.evaluate import Missing, Unavailable

if TYPE_CHECKING:
    from tripos_runtime.retrieval.choosing import Chooser
    from tripos_runtime.shared import Shared
    from tripos_runtime.stepping import Stepper
    from tripos_runtime.units import Names, Unit


async def retrieve(stepper: Stepper, unit: Unit, step: Retrieve, names: Names, shared: Shared) -> None:
    """Puts what a step finds among the names."""
    key = (step.fingerprint, *unit.upstream(step.needs))
    if key not in shared.retrieved:
        shared.retrieved[key] = found(stepper.chooser, unit, step, names)
    names.values[step.name] = shared.retrieved[key]


def found(chooser: Chooser, unit: Unit, step: Retrieve, names: Names) -> Any:
    """What a step without embeddings finds; `Missing` where its condition rules it out or a value is not there."""
    status = names.holds(step)
    if status is not None:
        return Missing(step.name, status)
    try:
        return chooser.chosen(step, names.values, unit.case.item_id, unit.case.fields)
    except Unavailable as reason:
        return Missing(step.name, reason.status)
