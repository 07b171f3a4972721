"""Lowers `compare`: a judge says which of two compared models is better, on the same row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import names_in
from tripos_compiler.plan import Ask, Compare, Expr, Ref, Scorer
from tripos_compiler.resolve import Binding, Program, Scope, Typed
from tripos_compiler.source import CallExpr, Name
from tripos_compiler.statements.analysis import map_expression
from tripos_compiler.statements.scoring.grades import free
from tripos_compiler.statements.steps import NOT_A_SIDE, NOT_JUDGED, SIDES, Steps, warn_undefined
from tripos_compiler.typing import Elaborator, scorer_arguments


def lower_compare(steps: Steps, statement: Statement) -> bool:
    """`compare NAME using SCORER(…) [when COND]`."""
    program, name, call = steps.program, statement.name(), statement.syntax("call")
    if not isinstance(call, CallExpr) or not isinstance(call.function, Name):
        help_ = "it is written `compare NAME using SCORER(…)`"
        program.diagnostics.error("E0106", "this is not a scorer applied", call.span, help=help_)
        return False
    if not free(steps, name, statement) or not program.is_declared("scorer", call.function):
        return False
    for side in SIDES:
        if side in steps.scope:
            declared = steps.scope[side].span
            labels = () if declared is None else (Label(declared, "declared here"),)
            program.diagnostics.error("E0202", NOT_A_SIDE.format(side), statement.head, *labels, help="rename it")
            return False
    steps.define("compare", name, None, "a comparison of every two compared models")
    scorer = program.scorers.get(call.function.text)
    scope = _paired(steps)
    elaborator = Elaborator(program, scope)
    when = _condition(statement, scope, elaborator)
    if when is False:
        return False
    if scorer is None:
        if call.function.text in program.formulas or call.function.text in program.plugins:
            help_ = "compare by a judge that `gives choice(first, second, tie)`"
            program.diagnostics.error("E0301", f"`{call.function.text}` is no judge", call.function.span, help=help_)
        return False
    if not _compares(program, call.function, scorer):
        return False
    program.index.scopes.append((call.span, scope))
    args = scorer_arguments(elaborator, call, scorer)
    if args is None:
        return False
    for argument in args.values():
        warn_undefined(steps, argument, NOT_JUDGED, when if isinstance(when, Typed) else None)
    exprs = {key: typed.expr for key, typed in args.items()}
    sides = _sides(exprs.values())
    if sides != set(SIDES):
        missing = sorted(set(SIDES) - sides)[0]
        help_ = f"name the reply of each: `{missing}.{_compared_ask(steps)}.text`"
        message = f"this compares nothing of the {missing} model"
        program.diagnostics.error("E0303", message, call.span, help=help_)
        return False
    condition = when.expr if isinstance(when, Typed) else None
    program.index.judged.setdefault((steps.scenario, name.text), call.span)
    steps.lowered.append(
        Compare(
            name=name.text,
            scorer=scorer.name,
            args=exprs,
            of="",
            needs=(),
            when=condition,
            judgement="",
            fingerprint="",
        )
    )
    return True


def _compares(program: Program, name: Name, scorer: Scorer) -> bool:
    """Return true if a judge says which of two replies is better: by two or three names, or by names whose values say
    by how much. Reports where it does not."""
    gives = scorer.gives
    if scorer.then is not None:
        message = f"`{scorer.name}` is a cascade, which grades replies and compares no two"
        program.diagnostics.error("E0301", message, name.span, help="let one role compare: `by ROLE`")
        return False
    if gives is None or gives.kind != "choice" or (not gives.worth and len(gives.values) > 3):
        help_ = "write `gives choice(first, second, tie)`, or give each name a value that says by how much"
        message = f"`{scorer.name}` does not say which of two is better"
        program.diagnostics.error("E0301", message, name.span, help=help_)
        return False
    if gives.worth and (max(gives.worth) <= 0 or min(gives.worth) >= 0):
        message = f"by the values of `{scorer.name}` one of the two replies is never better"
        help_ = "a value above 0 says that the first is better, one below 0 that the second is, and 0 a tie"
        program.diagnostics.error("E0301", message, name.span, help=help_)
        return False
    return True


def _sides(exprs: Iterable[Expr]) -> set[str]:
    return {name for expr in exprs for name in names_in(expr)} & set(SIDES)


def _compared_ask(steps: Steps) -> str:
    asks = [step.name for step in steps.lowered if isinstance(step, Ask) and steps.kind(step.role) == "compared"]
    return asks[-1] if asks else "answer"


def _condition(statement: Statement, scope: Scope, elaborator: Elaborator) -> Typed | bool | None:
    """Return the condition of the comparison; None where there is none, False where it is wrong."""
    condition = statement.find("cond")
    if condition is None:
        return None
    elaborator.program.index.scopes.append((condition.span, scope))
    return elaborator.condition(condition) or False


def _paired(steps: Steps) -> Scope:
    """Return the scope in which all that depends on a reply of the compared role is known below `first` and
    `second`."""
    whose = {step.name for step in steps.lowered if steps.compared(Ref(path=(step.name,)))}
    own = {key: each for key, each in steps.scope.items() if key in whose or _depends(steps, each)}
    shared = {key: binding for key, binding in steps.scope.items() if key not in own}
    sides = {
        side: Binding((side,), None, {key: _below(side, binding, whose) for key, binding in own.items()})
        for side in SIDES
    }
    return {**shared, **sides}


def _depends(steps: Steps, binding: Binding) -> bool:
    return binding.value is not None and steps.compared(binding.value)


def _below(side: str, binding: Binding, whose: Collection[str]) -> Binding:
    fields = {key: _below(side, inner, whose) for key, inner in binding.fields.items()}
    value = _moved(binding.value, side, whose) if binding.value is not None else None
    return Binding((side, *binding.path), binding.type, fields, value, binding.span, binding.may)


def _moved(expr: Expr, side: str, whose: Collection[str]) -> Expr:
    """Return the expression with what the steps of those names yield taken from one side."""

    def moved(part: Expr) -> Expr:
        if isinstance(part, Ref) and part.path[0] in whose:
            return Ref(path=(side, *part.path))
        return part

    return map_expression(expr, moved)
