"""Lowers `options`: options as they are shown, shuffled and lettered, and where the right one stands among them.

Each of its names stands for an expression, as that of a `let` does: so whatever is proved, counted and stored of an
expression holds of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.constructs import Statement
from tripos_compiler.language import subexpressions
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.plan import Call, Expr, IntegerType, ListType, Literal_, TextType, Type, written
from tripos_compiler.resolve import Binding, Program, Scope
from tripos_compiler.source import Text
from tripos_compiler.statements.steps.steps import Steps
from tripos_compiler.typing import Elaborator

TEXTS = ListType(of=TextType())


def lower_shown_options(steps: Steps, statement: Statement) -> bool:
    """`options NAME from OPTIONS with key KEY [shuffled by DRAW] [lettered LETTERS] [marked MARK]`."""
    name = statement.name()
    good = steps.free(name)
    steps.program.index.scopes.append((statement.syntax("options").span, dict(steps.scope)))
    found = bind_options(steps.program, steps.scope, statement)
    if found is None or not good:
        steps.unknown(name)
        return False
    steps.options.append(statement)
    steps.define("options", name, None, "options, text, letters, right, letter")
    steps.scope[name.text] = found
    return True


def bind_options(program: Program, scope: Scope, statement: Statement) -> Binding | None:
    """Return what the name of `options` means; None where anything of it is wrong, which is reported."""
    check = Elaborator(program, scope)
    given = check.expression(statement.syntax("options"), TEXTS, "what is chosen from")
    key = check.expression(statement.syntax("key"))
    draw = statement.find("draw")
    by = check.expression(draw, TextType(), "what shuffles the options") if draw is not None else None
    if key is not None and key.type.kind not in ("integer", "text", "choice"):
        message = "the key must be the position of the right option, or its letter"
        help_ = "write its position where the key is the text of the option: `rank(answer, options)`"
        program.diagnostics.error("E0301", message, statement.syntax("key").span, help=help_)
        return None
    if given is None or key is None or (draw is not None and by is None):
        return None
    letters, mark = _literal(statement, "letters"), _literal(statement, "mark")
    wrong = FUNCTIONS["lettered"].check({name: each.value for name, each in mark.items()})
    if isinstance(wrong, str):
        program.diagnostics.error("E0303", wrong, statement.syntax("mark").span, help='for example `marked "({}) "`')
        return None
    options = given.expr if by is None else Call(function="shuffled", args=(given.expr, by.expr))
    shown = Call(function="letters_for", args=(options,), named=letters)
    place: Expr = key.expr
    if key.type.kind != "integer":
        place = Call(function="key_place", args=(key.expr, given.expr), named=letters)
    if by is not None:
        place = Call(function="shuffled_place", args=(place, given.expr, by.expr))
    elif key.type.kind == "integer":  # a position past the options is none, as a letter past them is
        place = Call(function="key_place", args=(Call(function="nth", args=(shown, place)), given.expr), named=letters)
    may = tuple(lack for each in (given, key, by) if each is not None for lack in each.may)
    name, span = statement.name().text, statement.name().span
    fields: dict[str, tuple[Type, Expr]] = {
        "options": (TEXTS, options),
        "text": (TextType(), Call(function="lettered", args=(options,), named={**letters, **mark})),
        "letters": (TEXTS, shown),
        "right": (IntegerType(), place),
        "letter": (TextType(), Call(function="nth", args=(shown, place))),
    }
    bound = {field: Binding((name, field), type_, {}, expr, span, may) for field, (type_, expr) in fields.items()}
    return Binding((name,), None, bound, span=span)


def _literal(statement: Statement, slot: str) -> dict[str, Literal_]:
    """Return the argument that a string in a slot is, by the name of its parameter; none where it is left out."""
    written = statement.find(slot)
    return {slot: Literal_(value=written.value)} if isinstance(written, Text) else {}


def letter_shown(scope: Scope, options: Sequence[Statement], told: Sequence[Expr]) -> Binding | None:
    """Return the letter of the right option of the first `options` whose options a prompt shows; None where it shows
    none."""
    shown = {written(part).model_dump_json() for expr in told for part in subexpressions(expr)}
    for each in options:
        fields = scope[each.name().text].fields
        values = [value for name in ("text", "options") if (value := fields[name].value) is not None]
        if any(written(value).model_dump_json() in shown for value in values):
            return fields["letter"]
    return None
