"""Why a measure of a changed spec has nothing to look at in a run: what it looks at was never worked out there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tripos_compiler.plan import Aggregate, Column, Compare, Figure, Formula, Grade, Measure, Measured, Plan, Score

BY_A_RUN = "its values are not worked out yet: `tripos run` with this spec does"
WITHOUT_A_CALL = f"{BY_A_RUN}, without a call"


def find_unworked(plan: Plan, kept: Collection[str], measure: Measure) -> str | None:
    """Return what to say of a measure that has no rows; `kept` are the fingerprints of the run. None where the run
    knows all that the measure looks at."""
    wanted = list(looked_at(plan, measure.figure))
    found = [
        (scenario, step)
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Score | Column | Grade | Compare) and step.fingerprint not in kept
        if any(within in (None, scenario.name) and is_called(step, name) for within, name in wanted)
    ]
    if not found:
        return None
    for scenario, step in found:
        asked = {each.fingerprint for each in scenario.steps if each.name in step.needs}
        if not isinstance(step, Score | Column) or not asked <= set(kept):
            return BY_A_RUN
    return WITHOUT_A_CALL


def looked_at(plan: Plan, figure: Figure) -> Iterator[tuple[str | None, str]]:
    """Yield the scenario, where it is one, and the name of everything that a figure is made of."""
    match figure:
        case Aggregate(of=None):
            yield from ((figure.scenario, name) for name in figure.values)
        case Aggregate(of=Aggregate() as inner):
            yield from looked_at(plan, inner)
        case Formula():
            for each in figure.values:
                yield from looked_at(plan, each)
        case Measured(measure=name):
            for measure in plan.measures:
                if measure.name == name:
                    yield from looked_at(plan, measure.figure)


def is_called(step: Score | Column | Grade | Compare, name: str) -> bool:
    """Return true if a figure that looks at `name` looks at what the step gives: by its name, its scorer's or a
    metric's."""
    return name == step.name or (
        isinstance(step, Grade | Compare) and name in (step.scorer, *getattr(step, "metrics", ()))
    )
