"""Scores that other tools can compute: comparisons of a reply with a value of the row, as the expression says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tripos_compiler.language import NoValue, evaluate, paths_in
from tripos_compiler.language.library import without_optional
from tripos_compiler.plan import Ask, Binary, Call, Expr, Ref, Score

Kind = Literal["equals", "contains", "likeliest", "likeliest_by_character"]
SHAPED = {"trim": "trim", "lower": "lower"}
"""The functions that a reply may go through before it is compared."""


@dataclass(frozen=True)
class Check:
    """A comparison of a reply with a `target`: of its text, or of a `field` of a reply in JSON."""

    name: str
    kind: Kind
    target: Any
    trim: bool = False
    lower: bool = False
    field: str | None = None


def check_of(score: Score, step: Ask, values: Mapping[str, Any]) -> Check | str:
    """Return a score of a reply to `step` as a check, with its target for the row that `values` are of; where it is
    none, why not.

    >>> from tripos_compiler.plan import Ref
    >>> right = Binary(operator="==", left=Ref(path=("reply", "text")), right=Ref(path=("item", "answer")))
    >>> score = Score(name="right", value=right, of="reply", needs=(), truth=True, fingerprint="")
    >>> check_of(score, Ask(name="reply", role="candidate", fingerprint=""), {"item": {"answer": "42"}})
    Check(name='right', kind='equals', target='42', trim=False, lower=False, field=None)
    """
    if score.when is not None or score.earlier:
        return "it has a condition"
    if score.element is not None:
        return "it is of each element of a list"
    match score.value:
        case Binary(operator="==", left=left, right=right):
            for reply, other in ((left, right), (right, left)):
                found = _read(reply, step)
                if found is not None:
                    return _with_target(replace(found, name=score.name), other, step, values)
        case Call(function="contains", args=(whole, part)):
            found = _read(whole, step)
            if found is not None and not found.lower:
                return _with_target(replace(found, name=score.name, kind="contains"), part, step, values)
    return "its expression has no counterpart"


def _with_target(found: Check, expr: Expr, step: Ask, values: Mapping[str, Any]) -> Check | str:
    if any(path[0] == step.name for path in paths_in(expr)):
        return "it compares a reply with itself"
    try:
        target = evaluate(expr, values)
    except (NoValue, KeyError):
        return "its target has no value in some rows"
    if isinstance(target, str | bool | int | float) and (isinstance(target, str) or found.kind != "contains"):
        return replace(found, target=target)
    return "its target is no text and no number"


def _read(expr: Expr, step: Ask) -> Check | None:
    """Return what of a reply an expression reads; `None` where it is anything else."""
    match expr:
        case Call(function=("trim" | "lower") as name, args=(inner,)):
            found = _read(inner, step)
            if found is None or found.kind != "equals":
                return None
            return replace(found, trim=True) if name == "trim" else replace(found, lower=True)
        case Ref(path=(name, part)) if name == step.name:
            if step.options is not None:
                kinds: dict[str, Kind] = {
                    "likeliest": "likeliest",
                    "likeliest_by_character": "likeliest_by_character",
                }
                return Check("", kinds[part], None) if part in kinds else None
            if part == "text":
                return Check("", "equals", None)
            if step.returns is None or without_optional(step.returns).kind == "json":  # which stands in no field
                return None
            return Check("", "equals", None, field=part)
    return None
