"""After which step of making a row each of its conditions can be told.

Nobody is asked to verify a row that is rejected all the same, so a condition is looked at as soon as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.language import paths_in
from tripos_compiler.plan import Ask, Derived, Expr, Made, Walk
from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class Due:
    """By the number of the step after which it can be told, 0 before the first: what is `required`, with its number,
    and the numbers of what a row is `compared` with for `distinct`."""

    required: Mapping[int, tuple[tuple[int, Expr], ...]]
    compared: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, made: Made) -> Due:
        """Return what is due of the rows of a data set."""
        required: dict[int, list[tuple[int, Expr]]] = {}
        compared: dict[int, list[int]] = {}
        for number, expr in enumerate(made.require, 1):
            required.setdefault(_after(made, expr), []).append((number, expr))
        for number, distinct in enumerate(made.distinct, 1):
            compared.setdefault(_after(made, distinct.value), []).append(number)
        return cls(
            {step: tuple(exprs) for step, exprs in required.items()},
            {step: tuple(numbers) for step, numbers in compared.items()},
        )


def _after(made: Made, expr: Expr) -> int:
    """Return the number of the step after which all that an expression speaks of is there."""
    own, late = made.name.rpartition(".")[2], _late(made)
    after = [
        len(made.steps) if len(path) == 1 else late.get(path[1], 0) for path in paths_in(expr) if path[0] == own
    ]  # fmt: skip
    return max(after, default=0)


def _late(made: Made) -> Mapping[str, int]:
    """Return the fields of the row by the number of the step that makes them."""
    late: dict[str, int] = {}
    for number, step in enumerate(made.steps, 1):
        match step:
            case Ask(returns=returns):
                fields = returns.fields if returns is not None and returns.kind == "record" else ()
                late |= dict.fromkeys(fields, number)
            case Walk() | Derived():
                late[step.name] = number
    return late
