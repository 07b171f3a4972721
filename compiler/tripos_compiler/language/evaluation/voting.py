"""Conditions on the choice of a panel without a majority: decided by the votes of its judges on the condition.

Of votes for `comply`, `partial` and `refuse` no name has a majority, but `!= comply` holds for two of three judges. The
condition that is voted on is the whole of one with `and`, `or` and `not`, as long as it is one on a single verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tripos_compiler.language.evaluation.absence import Divided
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import Binary, Expr, Let, Unary

DIVIDED: Final = "@divided"
"""The name under which `evaluate` finds the verdicts of divided panels that a name depends on, by this name."""
CONDITIONS: Final = frozenset(("==", "!=", "in", "not in", "and", "or"))


def votes_in(value: Any) -> Divided | None:
    """Return a verdict of a divided panel, or the first among verdicts on elements; None in any other value.

    >>> votes_in({(0,): "a", (1,): Divided("kind(1)", "kind", ("a", "b"))}).votes, votes_in("a")
    (('a', 'b'), None)
    """
    several = value.values() if isinstance(value, Mapping) else (value,)
    return next((each for each in several if isinstance(each, Divided)), None)


def divided_in(expr: Expr | Let, names: Mapping[str, Any]) -> frozenset[str]:
    """Return the verdicts of divided panels that an expression looks up."""
    divided: Mapping[str, frozenset[str]] = names.get(DIVIDED) or {}
    return frozenset().union(*(divided[name] for name in names_in(expr) & divided.keys())) if divided else frozenset()


def is_condition(expr: Binary | Unary) -> bool:
    """Return true if an expression is true or false by its form, and compares names or joins such."""
    return expr.operator in CONDITIONS or expr.operator == "not"


def said_by(judge: int, verdict: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names in which a verdict is that of one judge of its panel, counted from 0."""

    def own(value: Any) -> Any:
        return value.votes[judge] if isinstance(value, Divided) else value

    value = names[verdict]
    divided = {name: left for name, of in names[DIVIDED].items() if (left := of - {verdict})}
    seen = {place: own(each) for place, each in value.items()} if isinstance(value, Mapping) else own(value)
    return {**names, verdict: seen, DIVIDED: divided}


def decide(expr: Binary | Unary, names: Mapping[str, Any], ballot: Callable[[Mapping[str, Any]], Any]) -> bool | None:
    """Return the majority of a condition on the verdict of one divided panel, where `ballot` evaluates it among names;
    None of any other expression."""
    verdicts = divided_in(expr, names)
    if len(verdicts) != 1:
        return None
    (verdict,) = verdicts
    panel = votes_in(names[verdict])
    assert panel is not None
    return panel.decide([bool(ballot(said_by(judge, verdict, names))) for judge in range(len(panel.votes))])
