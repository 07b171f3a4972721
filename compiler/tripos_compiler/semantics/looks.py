"""Which rows of a made data set scenarios look into, where they take them for points of their own rows alone.

`examples_for(q.points, example)` looks into those examples that are at the points of the row `q`. Where nothing else
takes the data set, no others need to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tripos_compiler.plan import Ask, Call, Data, Expr, Literal_, Made, Scenario
from tripos_compiler.semantics.names import exprs_of, names_in, parts_of

BY_POINTS = "examples_for"


@dataclass(frozen=True)
class Look:
    """A look into a data set: for the `points` of a row that is known as `alias`, at the field `at` of its rows."""

    alias: str
    points: Expr
    at: str


def looks_of(scenario: Scenario, dataset: str) -> tuple[Look, ...] | None:
    """The looks of a scenario into a data set; None where it takes the data set in another way too."""
    if scenario.rows is None:
        return None
    if _shows(scenario, dataset):
        return None
    found: list[Look] = []
    for expr in _exprs(scenario):
        parts = list(parts_of(expr))
        looks = [look for part in parts if (look := _look(part, dataset, scenario.rows.alias)) is not None]
        if len(looks) < sum(isinstance(part, Data) and part.dataset == dataset for part in parts):
            return None
        found += looks
    return tuple(found)


def _exprs(scenario: Scenario) -> Iterator[Expr]:
    if scenario.rows is not None and scenario.rows.where is not None:
        yield scenario.rows.where
    for step in scenario.steps:
        yield from exprs_of(step)


def _look(part: Expr, dataset: str, alias: str) -> Look | None:
    if not isinstance(part, Call) or part.function != BY_POINTS:
        return None
    given = {**dict(zip(("points", "rows", "at"), part.args, strict=False)), **part.named}
    match given.get("points"), given.get("rows"), given.get("at"):
        case points, Data(dataset=name, field=None), Literal_(value=str(at)) if points is not None:
            return Look(alias, points, at) if name == dataset and names_in(points) <= {alias} else None
    return None


def is_only_looked_at(name: str, scenarios: Sequence[Scenario], made: Sequence[Made]) -> bool:
    """Whether a made data set is taken for points of rows and in no other way, so that not all of it need be made."""
    if any(scenario.rows is not None and scenario.rows.dataset == name for scenario in scenarios):
        return False
    if any(_takes(each, name) for each in made if each.name != name):
        return False
    takers = [scenario for scenario in scenarios if _takes(scenario, name) or _shows(scenario, name)]
    return bool(takers) and all(looks_of(scenario, name) is not None for scenario in takers)


def _shows(scenario: Scenario, dataset: str) -> bool:
    """Whether worked examples are drawn from the data set, which may be any of its rows."""
    return any(shots.dataset == dataset for step in scenario.steps if isinstance(step, Ask) for shots in step.shots)


def _takes(part: Scenario | Made, dataset: str) -> bool:
    return any(isinstance(each, Data) and each.dataset == dataset for expr in exprs_of(part) for each in parts_of(expr))
