"""Lowers `retrieve`: the nearest of many rows or values."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.constructs import Statement
from tripos_compiler.language import names_in, subexpressions
from tripos_compiler.language.library import fits, type_notation
from tripos_compiler.plan import Call, Expr, ListType, NumberType, Retrieve, Type
from tripos_compiler.resolve import Binding, Scope, Typed, record_fields
from tripos_compiler.source import Name, Number, Syntax
from tripos_compiler.statements.steps.steps import Steps
from tripos_compiler.typing import Elaborator, rows_binding


def lower_retrieve(steps: Steps, statement: Statement) -> bool:
    """`retrieve NAME from SOURCE [as ALIAS] { where …, top N by VALUE [using ROLE], include … }`."""
    program, name = steps.program, statement.name()
    good = steps.named(name)
    when = steps.condition(statement)
    source = _source(steps, statement, name)
    top = statement.one_of("top")
    if top is None:
        help_ = "write `top 20 by similarity(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` does not say how many are kept"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
    if source is None or top is None:
        steps.unknown(name)
        return False
    typed, alias, row = source
    element = typed.type.of if typed.type.kind in ("list", "set") else typed.type
    scope = {**steps.scope, alias.text: row}
    where = _filter(steps, statement, scope)
    by = _by(steps, top, scope)
    count = _count(steps, top)
    using = _using(steps, top)
    include = [_included(steps, each, element) for each in statement.of("include")]
    if not good or when is False or where is False or by is None or count is None or using is False:
        steps.unknown(name)
        return False
    if isinstance(using, str) and not _embeds(by.expr, alias.text):
        message = "`using` embeds what `similarity` compares: a text of the row at hand with one of the element"
        help_ = f"write `top {count} by similarity(…, {alias.text}) using {using}`"
        program.diagnostics.error("E0301", message, top.syntax("value").span, help=help_)
        steps.unknown(name)
        return False
    kept = [each for each in include if each is not None]
    if len(kept) < len(include):
        steps.unknown(name)
        return False
    steps.lowered.append(
        Retrieve(
            name=name.text,
            source=typed.expr,
            alias=alias.text,
            where=where.expr if isinstance(where, Typed) else None,
            top=count,
            by=by.expr,
            using=using if isinstance(using, str) else None,
            include=tuple(each.expr for each in kept),
            when=when.expr if isinstance(when, Typed) else None,
            fingerprint="",
        )
    )
    steps.wholes[name.text] = name
    type_ = ListType(of=element)
    steps.scope[name.text] = Binding((name.text,), type_, span=name.span)
    steps.define("retrieve", name, type_)
    return True


def _source(steps: Steps, statement: Statement, name: Name) -> tuple[Typed, Name, Binding] | None:
    """Return what is looked through, what an element is known as, and what that name means."""
    program, written = steps.program, statement.syntax("source")
    alias = statement.find_name("alias")
    declared = program.declared.get("dataset", {})
    is_let = isinstance(written, Name) and written.text in steps.scope and written.text not in declared
    if isinstance(written, Name) and not is_let:
        if not program.is_declared("dataset", written):
            return None
        loaded = program.rowsets.get(written.text)
        if loaded is None or not loaded.sound:
            return None
        alias = alias or written
    elif alias is None:
        help_ = f"write `retrieve {name.text} from … as x`"
        program.diagnostics.error("E0106", "the elements of the source need a name", written.span, help=help_)
        return None
    typed = (None if is_let else _rows(steps, written)) or steps.elaborator().expression(written)
    if typed is None:
        return None
    if typed.type.kind not in ("list", "set"):
        help_ = "name a data set, or a list such as `distinct(rows.concepts)`"
        message = f"`{type_notation(typed.type)}` holds nothing to look through"
        program.diagnostics.error("E0301", message, written.span, help=help_)
        return None
    taken = steps.scope.get(alias.text)
    if taken is not None:
        message = f"`{alias.text}` is a name of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give it another name: `as x`")
        return None
    fields = record_fields((alias.text,), typed.type.of, alias.span)
    if isinstance(written, Name) and not is_let:
        rows = program.rowsets[written.text]
        fields = {
            each.name: replace(
                fields[each.name], secret=each.secret, span=rows.spans.get(each.name, fields[each.name].span)
            )
            for each in rows.dataset.fields
        }
    return typed, alias, Binding((alias.text,), typed.type.of, fields, span=alias.span)


def _rows(steps: Steps, written: Syntax) -> Typed | None:
    """Return all rows of the data set of that name, also where the row at hand has the same name."""
    if not isinstance(written, Name):
        return None
    binding = rows_binding(steps.program.rowsets[written.text])
    if binding.type is None or binding.value is None:
        return None
    return Typed(binding.value, binding.type)


def _filter(steps: Steps, statement: Statement, scope: Scope) -> Typed | bool | None:
    written = statement.one_of("where")
    if written is None:
        return None
    syntax = written.syntax("filter")
    steps.program.index.scopes.append((syntax.span, scope))
    return Elaborator(steps.program, scope).condition(syntax) or False


def _by(steps: Steps, top: Statement, scope: Scope) -> Typed | None:
    value = top.syntax("value")
    steps.program.index.scopes.append((value.span, scope))
    elaborator = Elaborator(steps.program, scope)
    return elaborator.expression(value, NumberType(), "what is ranked by")


def _count(steps: Steps, top: Statement) -> int | None:
    count = top.syntax("count")
    if isinstance(count, Number) and count.value >= 1:
        return int(count.value)
    steps.program.diagnostics.error("E0301", "`top` must be 1 or more", count.span, help="write `top 20 by …`")
    return None


def _using(steps: Steps, top: Statement) -> str | bool | None:
    """Return the role that embeds; None where there is none, False where it is wrong."""
    role = top.find_name("role")
    if role is None:
        return None
    if not steps.program.is_declared("role", role):
        return False
    if steps.kind(role.text) == "single":
        return role.text
    message = f"`{role.text}` is filled by several models, and one must embed"
    help_ = "declare a role of its own: `role encoder`"
    steps.program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _embeds(by: Expr, alias: str) -> bool:
    """Return true if every `similarity` in what is ranked by has the element on one side and not on the other, and
    there is one: only then are there two texts that can be embedded by themselves."""
    calls = [part for part in subexpressions(by) if isinstance(part, Call) and part.function == "similarity"]
    sides = [[names_in(each) for each in (*call.args, *call.named.values())] for call in calls]
    return bool(calls) and all(
        sum(names == {alias} for names in each) == 1 and sum(alias in names for names in each) == 1 for each in sides
    )


def _included(steps: Steps, statement: Statement, element: Type) -> Typed | None:
    value: Syntax = statement.syntax("value")
    typed = steps.elaborator().expression(value)
    if typed is None:
        return None
    inner = typed.type.of if typed.type.kind in ("list", "set") else typed.type
    if fits(inner, element):
        return typed
    message = f"`{type_notation(typed.type)}` cannot be put among `{type_notation(element)}`"
    steps.program.diagnostics.error("E0301", message, value.span, help="include what the source holds")
    return None
