"""What a scenario looks into beside its row, and what cannot be gone through without asking."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import (
    Ask,
    Binary,
    Branches,
    Call,
    Data,
    Expr,
    Get,
    Items,
    Literal_,
    Ref,
    Retrieve,
    Scenario,
    Step,
    Unary,
)
from tripos_compiler.plan.base import Part
from tripos_compiler.semantics.names import parts_of

CODE = "R0204"


class NotRunnable(Exception):
    """A part of a plan needs a model that is not asked here."""

    def __init__(self, missing: list[str]) -> None:
        self.code = CODE
        self.message = f"nobody is asked here, and {_listed(missing)} needs vectors"
        self.hint = "take the scenarios without it: `--scenario NAME`; or run the benchmark"
        super().__init__(self.message)


def check_recordable(chosen: tuple[Scenario, ...]) -> None:
    """Raises `NotRunnable` where a chosen scenario cannot be gone through without asking an embedding model."""
    missing = list(dict.fromkeys(part for scenario in chosen for part in _embedding(scenario)))
    if missing:
        raise NotRunnable(missing)


def _embedding(scenario: Scenario) -> Iterator[str]:
    for step in scenario.steps:
        if isinstance(step, Retrieve) and step.using is not None:
            yield f"the retrieve `{step.name}` of scenario `{scenario.name}`"


def data_of(scenario: Scenario) -> set[str]:
    """The data sets that a scenario takes as values, or shots from."""
    own = scenario.rows.where if scenario.rows is not None else None
    found = {part.dataset for part in parts_of(own) if isinstance(part, Data)} if own is not None else set()
    return found.union(*(_looked_into(step) for step in scenario.steps))


def _looked_into(step: Step) -> set[str]:
    found = {part.dataset for expr in exprs_of(step) for part in parts_of(expr) if isinstance(part, Data)}
    return found | ({shots.dataset for shots in step.shots} if isinstance(step, Ask) else set())


def exprs_of(part: object) -> Iterator[Expr]:
    """Every expression of a part of a plan, wherever in it."""
    match part:
        case Literal_() | Ref() | Call() | Unary() | Binary() | Items() | Get() | Data() | Branches():
            yield part
        case Part():
            for name in type(part).model_fields:
                yield from exprs_of(getattr(part, name))
        case dict():
            for value in part.values():
                yield from exprs_of(value)
        case tuple():
            for value in part:
                yield from exprs_of(value)


def _listed(parts: list[str]) -> str:
    shown = parts[:3]
    more = f" and {len(parts) - 3} more parts" if len(parts) > 3 else ""
    return ", ".join(shown) + more
