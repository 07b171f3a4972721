"""Whether an aggregate can be taken of what it is given: the types of its values, and who gave them."""

from __future__ import annotations

from tripos_compiler.diagnostics import nearest
from tripos_compiler.lower.arguments import Arguments
from tripos_compiler.lower.figured import Figured, Reading, written_as
from tripos_compiler.lower.scored import Scored
from tripos_compiler.plan import Type
from tripos_compiler.semantics.aggregates import AggregateFunction
from tripos_compiler.semantics.scored import most_tries, talks_before
from tripos_compiler.syntax.tree import CallExpr, Name, Syntax
from tripos_compiler.types import fits, shown

APART = frozenset({"text", "integer", "number", "bool", "choice", "path"})
"""The kinds of values that can be told apart."""


def is_fitting(
    reading: Reading,
    call: CallExpr,
    function: AggregateFunction,
    arguments: Arguments,
    scored: list[tuple[Scored, Syntax]],
) -> bool:
    """Whether an aggregate can be taken of its values; reports the first that it cannot."""
    for value, syntax in scored:
        wrong = _misfit(function, value)
        if wrong is not None:
            reading.error("E0301", wrong[0], syntax.span, wrong[1])
            return False
    if len({value.within for value, _ in scored}) > 1:
        message = "these are values of different scenarios"
        reading.error("E0301", message, call.span, "take both from one scenario")
        return False
    first = scored[0][0]
    if len(scored) > 1 and function.takes == "values":
        one, other = _bare(first.type), _bare(scored[1][0].type)
        if not fits(one, other) and not fits(other, one):
            message = f"`{shown(one)}` and `{shown(other)}` are never equal"
            reading.error("E0301", message, scored[1][1].span, f"it is `{function.shown}`")
            return False
    tried = arguments.named.get("k")
    tries = most_tries(first) if isinstance(tried, int) else 0
    if isinstance(tried, int) and tried > tries and first.whole:
        replies = "one reply" if tries == 1 else f"{tries} replies"
        several = max(talks_before(first).values(), default=1)
        after = f" after each of {several} conversations" if several > 1 else " to a row"
        message = f"{first.shown} has {replies}{after}, fewer than {tried}"
        reading.error("E0622", message, arguments.places["k"], f"ask for `samples {tried * several}`, or try fewer")
        return False
    return _settings_fit(reading, arguments, _bare(first.type))


def _misfit(function: AggregateFunction, scored: Scored) -> tuple[str, str] | None:
    """What is wrong with a value, and how to mend it."""
    type_ = _bare(scored.type)
    name, what = scored.shown, f"`{function.name}`"
    if function.takes == "compare" and scored.kind != "compare":
        return f"{what} is taken of a comparison, and {name} is none", "write `compare NAME using SCORER(…)`"
    if scored.kind == "compare":
        if function.takes == "compare" or function.name == "count":
            return None
        return f"{name} compares two models, and {what} is taken of scores", f"write `win_rate({scored.name})`"
    if function.truth_only and type_.kind != "bool":
        return f"{what} is taken of what is true or false, and {name} is `{shown(type_)}`", "score a condition"
    if function.takes == "scores" and type_.kind not in ("bool", "integer", "number"):
        return f"{what} is taken of numbers, and {name} is `{shown(type_)}`", "take a `count`, or score a number"
    of = type_.of if type_.kind == "set" else type_
    if function.takes == "values" and of.kind not in APART and function.name != "count":
        return f"{what} tells values apart, and {name} is `{shown(type_)}`", "take it of a choice, a text or a set"
    return None


def _settings_fit(reading: Reading, arguments: Arguments, type_: Type) -> bool:
    """Whether `average` and `positive` go with the type of the values."""
    average, positive = arguments.named.get("average"), arguments.named.get("positive")
    if average == "samples" and type_.kind != "set":
        message = f"`samples` is taken over items that are sets, and these are `{shown(type_)}`"
        reading.error("E0303", message, arguments.places["average"], "write `micro` or `macro`")
        return False
    if average == "binary" and positive is None and type_.kind != "bool":
        message = "`binary` looks at one value, which is not given"
        reading.error("E0303", message, arguments.places["average"], "write `positive: VALUE` too")
        return False
    if positive is not None and average != "binary":
        message = "`positive` means nothing without `average: binary`"
        reading.error("E0303", message, arguments.places["positive"], "write both, or neither")
        return False
    of = type_.of if type_.kind == "set" else type_
    if positive is None or of.kind != "choice" or positive in of.values:
        return True
    close = nearest(str(positive), of.values)
    some = ", ".join(f"`{value}`" for value in of.values[:8])
    help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
    reading.error("E0201", f"there is no value `{positive}`", arguments.places["positive"], help_, str(positive))
    return False


def _bare(type_: Type) -> Type:
    return type_.of if type_.kind == "optional" else type_


def find_across(
    reading: Reading,
    call: CallExpr,
    function: AggregateFunction,
    operands: list[tuple[Scored | Figured, Syntax]] | None,
) -> Name | bool | None:
    """The role across whose models the aggregate is taken; None where it is not, False where that is wrong."""
    role, two = reading.across, operands is not None and len(operands) > 1
    if function.across == "forbidden" or (two and role is None):
        return None
    if role is None:
        if operands is not None:
            second = f"; or name what to compare it with: `{function.shown}`" if function.across == "optional" else ""
            help_ = f"say whose: `measure … = {written_as(call)} across ROLE`{second}"
            reading.error("E0623", f"`{function.name}` compares the models of a role", call.span, help_)
        return False
    reading.across_taken = True
    if operands is None or role.text not in reading.program.roles:
        return False
    if two:
        message = f"this compares two columns, and so nothing across `{role.text}`"
        reading.error("E0623", message, role.span, "leave out one or the other")
        return False
    value, syntax = operands[0]
    if not isinstance(value, Scored):
        return None
    if not value.whole:
        return False  # who else judges it is not known
    if not value.judges:
        help_ = "name what a judge gives"
        reading.error("E0623", f"nobody judges {value.shown}: it is computed", syntax.span, help_)
        return False
    if role.text not in value.judges:
        judge = value.judges[0]
        message = f"{value.shown} is given by `{judge}`, not by `{role.text}`"
        reading.error("E0623", message, role.span, f"write `across {judge}`")
        return False
    if reading.program.roles[role.text].kind != "panel":
        message = f"`{role.text}` is a single role, and nobody agrees with themselves"
        reading.error("E0623", message, role.span, f"let several grade: `role {role.text} panel`")
        return False
    return role
