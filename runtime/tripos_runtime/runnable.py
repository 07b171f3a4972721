"""What of a plan this runtime runs: whatever it does not is refused before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import (
    Ask,
    Binary,
    Branches,
    Call,
    Compare,
    Converse,
    Data,
    Expr,
    Get,
    Items,
    Literal_,
    Plan,
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
    """A plan asks for what this version compiles and does not run."""

    def __init__(self, missing: list[str]) -> None:
        self.code = CODE
        self.message = f"this version compiles {_listed(missing)}, and does not run it yet"
        self.hint = "run the scenarios without it: `--scenario NAME`; `tripos plan` shows what each would do"
        super().__init__(self.message)


def check_runnable(plan: Plan, chosen: tuple[Scenario, ...]) -> None:
    """Raises `NotRunnable` where a chosen scenario has a part that is not run."""
    missing = list(dict.fromkeys(part for scenario in chosen for part in _missing(plan, scenario)))
    if missing:
        raise NotRunnable(missing)


def _missing(plan: Plan, scenario: Scenario) -> Iterator[str]:
    here = f"of scenario `{scenario.name}`"
    made = {each.name for each in plan.made}
    if scenario.rows is not None and scenario.rows.dataset in made:
        yield f"the data set `{scenario.rows.dataset}`, which is made"
    for step in scenario.steps:
        match step:
            case Converse() | Retrieve() | Compare():
                yield f"the {step.step} `{step.name}` {here}"
            case Ask() if step.continues is not None:
                yield f"the conversation that `{step.name}` continues {here}"
        for name in sorted(_looked_into(step) & made):
            yield f"the data set `{name}`, which is made"


def _looked_into(step: Step) -> set[str]:
    """The data sets that a step takes as a value, or shots from."""
    found = {part.dataset for expr in _exprs(step) for part in parts_of(expr) if isinstance(part, Data)}
    return found | ({shots.dataset for shots in step.shots} if isinstance(step, Ask) else set())


def _exprs(part: object) -> Iterator[Expr]:
    """Every expression of a part of a plan, wherever in it."""
    match part:
        case Literal_() | Ref() | Call() | Unary() | Binary() | Items() | Get() | Data() | Branches():
            yield part
        case Part():
            for name in type(part).model_fields:
                yield from _exprs(getattr(part, name))
        case dict():
            for value in part.values():
                yield from _exprs(value)
        case tuple():
            for value in part:
                yield from _exprs(value)


def _listed(parts: list[str]) -> str:
    shown = parts[:3]
    more = f" and {len(parts) - 3} more parts" if len(parts) > 3 else ""
    return ", ".join(shown) + more
