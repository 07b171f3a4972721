"""Constant folding: replaces arms by their values in expressions and texts, and evaluates what is constant then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import (
    EXPRESSIONS,
    AtElement,
    Binary,
    Call,
    DeclaredSettings,
    Expr,
    Hole,
    Literal_,
    Loop,
    Part,
    Passage,
    Ref,
    SettingCase,
    Template,
    Unary,
    map_parts,
)
from tripos_compiler.plan.steps import field_marks
from tripos_compiler.typecheck.calls import is_literal

TRUE = Literal_(value=True)
FALSE = Literal_(value=False)


def map_expression(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with every part changed, innermost first. A shared part is changed once."""
    done: dict[int, Expr] = {}

    def changed(part: Expr) -> Expr:
        if id(part) not in done:
            done[id(part)] = change(part if isinstance(part, AtElement) else map_parts(part, changed))
        return done[id(part)]

    return changed(expr)


PartT = TypeVar("PartT", bound=Part)


def map_part(part: PartT, change: Callable[[Expr], Expr]) -> PartT:
    """Return a part of a plan with every expression in it changed by `map_expression`."""
    kept = {name: getattr(part, name) for name in type(part).model_fields}
    mapped = {name: _mapped(value, change) for name, value in kept.items()}
    return part.model_copy(update={name: value for name, value in mapped.items() if value is not kept[name]})


def _mapped(value: Any, change: Callable[[Expr], Expr]) -> Any:
    match value:
        case Part() if "op" in type(value).model_fields:
            return map_expression(value, change)  # type: ignore[arg-type]
        case Part():
            return map_part(value, change)
        case dict():
            return {key: _mapped(part, change) for key, part in value.items()}
        case tuple():
            return tuple(_mapped(part, change) for part in value)
    return value


def map_loop(loop: Loop, change: Callable[[Expr], Expr]) -> Loop:
    """Return the loop with its expressions changed."""
    where = None if loop.where is None else map_expression(loop.where, change)
    return loop.model_copy(update={"of": map_expression(loop.of, change), "where": where})


def fold_arms(expr: Expr, chosen: Mapping[str, str]) -> Expr:
    """Return the expression with arms replaced by their values and constant parts evaluated.

    >>> fold_arms(Binary(operator="==", left=Ref(path=("shots",)), right=Literal_(value="one")), {"shots": "one"}).value
    True
    """
    if not names_in(expr) & set(chosen):
        return expr  # keeps the fingerprint the same in every arm

    def put(part: Expr) -> Expr:
        match part:
            case Ref(path=(name,)) if name in chosen:
                return Literal_(value=chosen[name])
            case Binary():
                return _binary(part)
            case Unary() | Call():
                return _done(part)
        return part

    return map_expression(expr, put)


def _binary(expr: Binary) -> Expr:
    if expr.operator in ("and", "or"):
        decisive, other = (FALSE, TRUE) if expr.operator == "and" else (TRUE, FALSE)
        if decisive in (expr.left, expr.right):
            return decisive
        if expr.left == other:
            return expr.right
        if expr.right == other:
            return expr.left
        return expr
    return _done(expr)


def _done(expr: Unary | Binary | Call) -> Expr:
    """Return the value of an expression if all its operands are known."""
    match expr:
        case Unary(value=value):
            inside: tuple[Expr, ...] = (value,)
        case Binary(left=left, right=right):
            inside = (left, right)
        case Call(args=args, named=named):
            inside = (*args, *named.values())
            if expr.function not in FUNCTIONS:
                return expr  # user's functions are called only during a run
    if not all(map(is_literal, inside)):
        return expr
    try:
        value = evaluate(expr, {})
    except Unavailable:
        return expr
    return Literal_(value=value) if isinstance(value, str | int | float) else expr


def fold_part(part: PartT, chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]) -> PartT | None:
    """Return a step, or a part of one, with arms replaced by their values; None if its condition cannot hold.

    An arm that is printed is printed as its label. Optional texts of which nothing is left become None.
    """
    update: dict[str, Any] = {}
    for name, mark in field_marks(type(part)).items():
        was = getattr(part, name)
        now = _folded(was, chosen, labels)
        if mark.use in ("condition", "filter"):
            if now == FALSE:
                return None
            now = None if now == TRUE else now
        elif mark.use == "text" and was and not type(part).model_fields[name].is_required():
            now = now if any(template.parts for template in now.values()) else None
        if now is not was:
            update[name] = now
    return part.model_copy(update=update)


def _folded(value: Any, chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]) -> Any:
    match value:
        case _ if isinstance(value, EXPRESSIONS):
            return fold_arms(value, chosen)
        case DeclaredSettings():
            return fold_settings(value, chosen)
        case Part():
            return fold_part(value, chosen, labels)
        case dict():
            return {
                key: _template(part, chosen, labels, key)
                if isinstance(part, Template)
                else _folded(part, chosen, labels)
                for key, part in value.items()
            }
        case tuple():
            return tuple(new for new in (_folded(part, chosen, labels) for part in value) if new is not None)
    return value


def _template(
    template: Template, chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]], language: str
) -> Template:
    if not any(isinstance(part, Passage) for part in template.parts):
        plain = tuple(part for part in template.parts if not isinstance(part, Passage))
        return Template(parts=_parts(plain, chosen, labels, language))
    passages: list[Passage] = []
    for part in template.parts:
        assert isinstance(part, Passage)
        when = fold_arms(part.when, chosen) if part.when is not None else None
        if when != FALSE:
            parts = _parts(part.parts, chosen, labels, language)
            passages.append(Passage(when=None if when == TRUE else when, parts=parts))
    if len(passages) == 1 and passages[0].when is None:
        return Template(parts=passages[0].parts)
    return Template(parts=tuple(passages))


def fold_settings(settings: DeclaredSettings, chosen: Mapping[str, str]) -> DeclaredSettings:
    """Return settings with arms replaced by their values. Once a case of a setting holds for every request, later ones
    are dropped.
    """
    cases: list[SettingCase] = []
    plain: dict[str, Any] = {}
    for case in settings.cases:
        when = None if case.when is None else fold_arms(case.when, chosen)
        if when == FALSE or (case.name in plain and case.name != "stop"):
            continue
        if when == TRUE and case.language is None:
            plain[case.name] = (*plain.get("stop", settings.stop), *case.value) if case.name == "stop" else case.value
        else:
            cases.append(case.model_copy(update={"when": None if when == TRUE else when}))
    return settings.model_copy(update={**plain, "cases": tuple(cases)})


def _hole(hole: Hole, chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]], language: str) -> str | Hole:
    """Return a folded hole; if it prints only an arm, the arm's label."""
    expr = fold_arms(hole.expr, chosen)
    arm = hole.type.axis if hole.type.kind == "choice" else None
    if arm is not None and arm in chosen and expr == Literal_(value=chosen[arm]):
        return labels[arm][language]
    return hole if expr is hole.expr else hole.model_copy(update={"expr": expr})


def _parts(
    parts: tuple[str | Hole, ...], chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]], language: str
) -> tuple[str | Hole, ...]:
    folded: list[str | Hole] = []
    for part in parts:
        if isinstance(part, Hole):
            folded.append(_hole(part, chosen, labels, language))
        else:
            folded.append(part)
    merged: list[str | Hole] = []
    for part in folded:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return tuple(merged)
