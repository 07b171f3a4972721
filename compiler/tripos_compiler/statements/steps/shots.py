"""Lowers the `shots` of an ask: which rows are shown, by what they are drawn, and their texts."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import fits, without_optional
from tripos_compiler.plan import (
    Binary,
    Call,
    DataField,
    Hole,
    Ref,
    Shots,
    Template,
    Texts,
    TextType,
    Type,
)
from tripos_compiler.resolve import Binding, LoadedDataset, Typed, row_fields
from tripos_compiler.source import Name, Number, Span
from tripos_compiler.statements.steps.options import bind_options, letter_shown
from tripos_compiler.statements.steps.steps import NOT_ASKED, Steps, warn_undefined
from tripos_compiler.typing import Elaborator, Localised, lower_texts


def lower_shots(steps: Steps, statement: Statement, returns: Type | None) -> tuple[Shots, ...] | None:
    """Every `shots` of an ask. None where any is wrong, which is reported."""
    found = [_shots(steps, statement, written, returns) for written in statement.of("shots")]
    good = tuple(shots for shots in found if shots is not None)
    return good if len(good) == len(found) else None


def _shots(steps: Steps, ask: Statement, written: Statement, returns: Type | None) -> Shots | None:
    program, dataset = steps.program, written.name("dataset")
    count = written.syntax("count")
    if not program.is_declared("dataset", dataset):
        return None
    loaded = program.rowsets.get(dataset.text)
    if loaded is None or not loaded.sound:
        return None
    if isinstance(count, Number) and count.value < 1:
        program.diagnostics.error("E0301", "`shots` must be 1 or more", count.span, help="write `shots 1 from …`")
        return None
    alias = written.find_name("alias") or dataset
    if alias.text in steps.scope:
        message = f"`{alias.text}` is a name of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give the shots another name: `as x`")
        return None
    scope = {**steps.scope, alias.text: _row(loaded, alias)}
    where = _condition(steps, written, "filter", scope)
    when = _condition(steps, written, "cond", dict(steps.scope))
    drawn = _drawn(steps, written)
    if where is False or when is False or drawn is False:
        return None
    if written.block is not None:
        texts = _written(steps, written, scope)
    else:
        texts = _own(steps, ask, written, loaded, alias, returns)
    if texts is None:
        return None
    condition = where.expr if isinstance(where, Typed) else None
    if isinstance(when, Typed):  # a shot that is not shown is one for which nothing holds
        condition = when.expr if condition is None else Binary(operator="and", left=when.expr, right=condition)
    prompt, reply = texts
    return Shots(
        count=int(count.value) if isinstance(count, Number) else 1,
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=condition,
        drawn=drawn.expr if isinstance(drawn, Typed) else None,
        prompt=prompt.texts,
        reply=reply.texts,
    )


def _row(loaded: LoadedDataset, alias: Name) -> Binding:
    """Return a row of the shots."""
    return Binding((alias.text,), None, row_fields(loaded, alias.text), span=alias.span)


def _drawn(steps: Steps, written: Statement) -> Typed | bool | None:
    """Return the text that draws shots; None where the first rows are taken, False where it is wrong, which is
    reported."""
    syntax = written.find("draw")
    if syntax is None:
        return None
    steps.program.index.scopes.append((syntax.span, dict(steps.scope)))
    typed = steps.elaborator().expression(syntax, TextType(), "what draws the shots")
    if typed is not None:
        warn_undefined(steps, typed, NOT_ASKED)
    return typed or False


def _condition(steps: Steps, written: Statement, key: str, scope: dict[str, Binding]) -> Typed | bool | None:
    syntax = written.find(key)
    if syntax is None:
        return None
    steps.program.index.scopes.append((syntax.span, scope))
    return Elaborator(steps.program, scope).condition(syntax) or False


def _written(steps: Steps, written: Statement, scope: dict[str, Binding]) -> tuple[Localised, Localised] | None:
    """Return the texts of a block of its own."""
    found: list[Localised] = []
    for construct, what in (("shot_prompt", "prompt"), ("reply", "reply")):
        statements = written.of(construct)
        if not statements:
            help_ = f'write `{what} "…"` in its block'
            lacking = written.block.span if written.block is not None else None
            message = f"these shots have no `{what}`"
            steps.program.diagnostics.error("E0206", message, written.head, help=help_, lacking=lacking)
            continue
        texts = lower_texts(steps.program, scope, statements, f"the {what}")
        if texts is not None:
            found.append(texts)
    return (found[0], found[1]) if len(found) == 2 else None


def _own(
    steps: Steps,
    ask: Statement,
    written: Statement,
    loaded: LoadedDataset,
    alias: Name,
    returns: Type | None,
) -> tuple[Localised, Localised] | None:
    """The ask's own prompt with the shot's row in place of the row at hand, and the one field that answers it."""
    program = steps.program
    help_ = 'give them texts of their own: `shots … { prompt "…", reply "…" }`'
    row = _row(loaded, alias)
    scope = _for_the_row(steps, loaded, alias, row)
    items = program.diagnostics.items
    mark = len(items)
    prompt = lower_texts(program, scope, ask.of("prompt"), "the prompt") if ask.of("prompt") else None
    wrong = [item for item in items[mark:] if item.severity == "error"]
    del items[mark:]
    if prompt is None or wrong:
        reason = f": {wrong[0].message}" if wrong else ""
        message = f"the prompt cannot be filled from a row of `{loaded.dataset.name}`{reason}"
        program.diagnostics.error("E0404", message, written.head, help=help_)
        return None
    if (letter := letter_shown(scope, steps.options, [hole.typed.expr for hole in prompt.told()])) is not None:
        return prompt, _reply(steps, letter, TextType(), written.head, returns)
    printed = {
        name
        for hole in prompt.told()
        for name in (field.name for field in loaded.dataset.fields)
        if (alias.text, name) in _paths(hole.typed)
    }
    wanted = returns if returns is not None else TextType()
    answers = [f for f in loaded.dataset.fields if f.name not in printed and fits(f.type, wanted)]
    if len(answers) != 1:
        found = ", ".join(f"`{field.name}`" for field in answers) or "none"
        message = f"which field of `{loaded.dataset.name}` is the answer? {found} would do"
        program.diagnostics.error("E0404", message, written.head, help=help_)
        return None
    binding = row.fields[answers[0].name]
    return prompt, _reply(steps, binding, answers[0].type, written.head, returns)


def _for_the_row(steps: Steps, loaded: LoadedDataset, alias: Name, row: Binding) -> dict[str, Binding]:
    """Return what the ask's own prompt can name where it is filled from a shot's row: the row in place of the one at
    hand, its axes, and what is named by `let`, of that row. What other steps yield stays that of the row at hand."""
    taken = {steps.alias: row} if steps.alias is not None else {}
    axes = {each.name: row.fields[each.name] for each in loaded.dataset.fields if _is_axis(each)}
    lets = {let.name().text for let in (*steps.lets, *steps.options)}
    given = {name: binding for name, binding in steps.scope.items() if name not in lets}
    scope = {**given, **{name: axis for name, axis in axes.items() if name in given}, **taken, alias.text: row}
    items = steps.program.diagnostics.items
    mark = len(items)
    for let in steps.lets:
        name = let.name()
        typed = Elaborator(steps.program, scope).expression(let.syntax("value"))
        if typed is not None:
            scope[name.text] = Binding((name.text,), typed.type, {}, typed.expr, name.span, typed.may)
    for options in steps.options:
        found = bind_options(steps.program, scope, options)
        if found is not None:
            scope[options.name().text] = found
    del items[mark:]  # what has no value for such a row is wrong only where the prompt names it
    return scope


def _is_axis(field: DataField) -> bool:
    return field.type.kind == "choice" and field.type.axis == field.name


def _reply(steps: Steps, binding: Binding, type_: Type, span: Span, returns: Type | None) -> Localised:
    expr = binding.value or Ref(path=binding.path)
    hole = Hole(expr=expr, type=type_)
    if returns is not None and without_optional(returns).kind in ("list", "set", "record", "json"):
        hole = Hole(expr=Call(function="json", args=(expr,)), type=TextType())
    from tripos_compiler.typing import FilledHole

    texts: Texts = {language: Template(parts=(hole,)) for language in steps.program.languages}
    filled = FilledHole(Typed(hole.expr, hole.type), span)
    return Localised(texts, dict.fromkeys(steps.program.languages, (filled,)))


def _paths(typed: Typed) -> set[tuple[str, ...]]:
    from tripos_compiler.language import paths_in

    return {path[:2] for path in paths_in(typed.expr)}
