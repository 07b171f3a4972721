"""The provenance of a step's inputs: the models that are part of the names of its results, since other models make
other rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tripos_compiler.language import expressions_of, subexpressions
from tripos_compiler.plan import Ask, Data, Expr, Made, Plan, Step, digest


def made_by(plan: Plan, step: Step, models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models, which fill `models` by role, that make the data sets a step takes as values or draws shots
    from, and those that these are made from; none where it takes no data set that is made. Who made the row itself is
    not among them: a row is named by what it says."""
    names = _taken(list(expressions_of(step)))
    if isinstance(step, Ask):
        names |= {shots.dataset for shots in step.shots}
    return makers_of(plan, names, models)


def makers_of(plan: Plan, datasets: Collection[str], models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the models that make these data sets, and those that they are made from, each with its role."""
    known = {made.name: made for made in plan.made}
    waiting = known.keys() & datasets
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        made = known[name]
        found.update(f"{ask.role} {model}" for ask in made.asks for model in models.get(ask.role, ()))
        waiting |= (_taken(list(expressions_of(made))) & known.keys()) - seen
    return tuple(sorted(found))


def making_binding(plan: Plan, made: Made, fingerprint: str, models: Mapping[str, Sequence[str]]) -> str:
    """Return the binding of what is asked and decided for a made data set: what it is named by apart from the slot,
    which is everybody who makes it, since a rejection of one is told to another."""
    return digest(["made", fingerprint, *makers_of(plan, [made.name], models)])


def _taken(exprs: Sequence[Expr]) -> set[str]:
    return {part.dataset for expr in exprs for part in subexpressions(expr) if isinstance(part, Data)}
