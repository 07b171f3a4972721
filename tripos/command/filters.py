"""Which replies an export is made of: the filter of its declaration, `--scenario` and `--only`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from tripos.api.choices import chosen_cases
from tripos_compiler.plan import Binary, Call, Expr, Items, Literal_, Plan, Ref, Unary
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_warehouse.exports.replies import Keep


def chosen_filter(options: Namespace, plan: Plan, where: Expr | None) -> tuple[Keep, tuple[str, ...]]:
    """Whether a place is wanted, and the filters in words. Raises `Failure` for a scenario, axis or value that the
    plan has not. A place without an axis that `--only` names is wanted."""
    chosen = chosen_cases(Namespace(scenario=options.scenario, only=options.only, limit=None, seed=None), plan)

    def keep(place: Mapping[str, str | None]) -> bool:
        if chosen.scenarios and place["scenario"] not in chosen.scenarios:
            return False
        if any(place.get(axis) is not None and place[axis] not in values for axis, values in chosen.only.items()):
            return False
        return where is None or holds(where, place)

    told = [shown(where)] if where is not None else []
    told += [f"scenario in ({', '.join(chosen.scenarios)})"] if chosen.scenarios else []
    told += [f"{axis} in ({', '.join(values)})" for axis, values in chosen.only.items()]
    return keep, tuple(told)


def holds(where: Expr, place: Mapping[str, str | None]) -> bool:
    """Whether a filter holds of a place; it does not where it has no value there.

    >>> holds(Binary(operator="==", left=Ref(path=("tone",)), right=Literal_(value="warm")), {"tone": "warm"})
    True
    """
    try:
        return bool(evaluate(where, place))
    except (Unavailable, KeyError):
        return False


def shown(expr: Expr) -> str:
    """An expression of a filter as text.

    >>> shown(Binary(operator="in", left=Ref(path=("tone",)), right=Items(values=(Literal_(value="warm"),))))
    'tone in (warm)'
    """
    match expr:
        case Literal_(value=value):
            return str(value)
        case Ref(path=path):
            return ".".join(path)
        case Items(values=values):
            return f"({', '.join(map(shown, values))})"
        case Unary(operator=operator, value=value):
            return f"{operator} {_inner(value)}"
        case Binary(operator=operator, left=left, right=right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Call(function=function, args=args):
            return f"{function}({', '.join(map(shown, args))})"
    return "…"


def _inner(expr: Expr) -> str:
    return f"({shown(expr)})" if isinstance(expr, Binary) else shown(expr)
