"""Lowers `shots`: worked examples before a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.expressions import Elaborator
from tripos_compiler.lower.questions import leak
from tripos_compiler.lower.templates import Localised, lower_texts
from tripos_compiler.plan import Binary, Call, DataField, Hole, Ref, Shots, Template, Texts, TextType, Type
from tripos_compiler.scope import Binding, Typed, Way, joined
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Name, Number
from tripos_compiler.types import fits

if TYPE_CHECKING:
    from tripos_compiler.lower.datasets import LoadedDataset
    from tripos_compiler.lower.steps import Steps


def lower_shots(
    steps: Steps, statement: Statement, returns: Type | None, role: Name
) -> tuple[tuple[Shots, ...], Way] | None:
    """Every `shots` of an ask, and the way of a secret that they tell. None where any is wrong, which is reported."""
    found: list[Shots] = []
    ways: list[Way] = []
    good = True
    for written in statement.of("shots"):
        shots = _shots(steps, statement, written, returns, role)
        if shots is None:
            good = False
        else:
            found.append(shots[0])
            ways.append(shots[1])
    return (tuple(found), joined(*ways)) if good else None


def _shots(
    steps: Steps, ask: Statement, written: Statement, returns: Type | None, role: Name
) -> tuple[Shots, Way] | None:
    program, dataset = steps.program, written.name("dataset")
    place = (steps.scenario, ask.name().text)
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
    row = _row(steps, loaded, alias)
    scope = {**steps.scope, alias.text: row}
    where = _condition(steps, written, "filter", scope, place)
    when = _condition(steps, written, "cond", dict(steps.scope), place)
    if where is False or when is False:
        return None
    if written.block is not None:
        texts = _written(steps, written, scope, place)
    else:
        texts = _own(steps, ask, written, loaded, alias, returns, place)
    if texts is None:
        return None
    chosen = [(each.secret, written.head) for each in (where, when) if isinstance(each, Typed)]
    chosen += [(loaded.chosen, written.head)] if steps.splits.asked_about(dataset.text) else []
    chosen += [(loaded.keyed, written.head)]
    told = [*chosen, *((hole.typed.secret, hole.span) for part in texts for hole in part.told())]
    compared = steps.kind(role.text) == "compared"
    for way, span in told:
        if way and compared:
            note = None
            if steps.splits.asked_about(dataset.text):
                note = f"the rows of `{dataset.text}` are asked themselves: draw shots from a split that is not"
            leak(program, role.text, way, span, "these shots tell", note)
            return None
    condition = where.expr if isinstance(where, Typed) else None
    if isinstance(when, Typed):  # a shot that is not shown is one for which nothing holds
        condition = when.expr if condition is None else Binary(operator="and", left=when.expr, right=condition)
    prompt, reply = texts
    shots = Shots(
        count=int(count.value) if isinstance(count, Number) else 1,
        dataset=loaded.dataset.name,
        alias=alias.text,
        where=condition,
        prompt=prompt.texts,
        reply=reply.texts,
    )
    return shots, joined(*(way for way, _ in told))


def _row(steps: Steps, loaded: LoadedDataset, alias: Name) -> Binding:
    """A row of the shots. What is secret in rows that nobody is asked about is there to be shown."""
    dataset = loaded.dataset.name
    fields = {
        field.name: Binding(
            (alias.text, field.name),
            field.type,
            () if steps.splits.shows(dataset, field.name) else loaded.ways.get(field.name, ()),
            span=loaded.spans.get(field.name),
        )
        for field in loaded.dataset.fields
    }
    fields |= {name: Binding((alias.text, name)) for name in loaded.poisoned}
    return Binding((alias.text,), None, (), fields, span=alias.span)


def _condition(
    steps: Steps, written: Statement, key: str, scope: dict[str, Binding], place: tuple[str, str]
) -> Typed | bool | None:
    syntax = written.find(key)
    if syntax is None:
        return None
    steps.program.index.scopes.append((syntax.span, scope))
    return Elaborator(steps.program, scope, place=place).condition(syntax) or False


def _written(
    steps: Steps, written: Statement, scope: dict[str, Binding], place: tuple[str, str]
) -> tuple[Localised, Localised] | None:
    """The texts of a block of its own."""
    found: list[Localised] = []
    for construct, what in (("shot_prompt", "prompt"), ("reply", "reply")):
        statements = written.of(construct)
        if not statements:
            help_ = f'write `{what} "…"` in its block'
            lacking = written.block.span if written.block is not None else None
            message = f"these shots have no `{what}`"
            steps.program.diagnostics.error("E0206", message, written.head, help=help_, lacking=lacking)
            continue
        texts = lower_texts(steps.program, scope, statements, f"the {what}", place)
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
    place: tuple[str, str],
) -> tuple[Localised, Localised] | None:
    """The ask's own prompt with the shot's row in place of the row at hand, and the one field that answers it."""
    program = steps.program
    help_ = 'give them texts of their own: `shots … { prompt "…", reply "…" }`'
    row = _row(steps, loaded, alias)
    scope = _for_the_row(steps, loaded, alias, row)
    items = program.diagnostics.items
    mark = len(items)
    prompt = lower_texts(program, scope, ask.of("prompt"), "the prompt", place) if ask.of("prompt") else None
    wrong = [item for item in items[mark:] if item.severity == "error"]
    del items[mark:]
    if prompt is None or wrong:
        reason = f": {wrong[0].message}" if wrong else ""
        message = f"the prompt cannot be filled from a row of `{loaded.dataset.name}`{reason}"
        program.diagnostics.error("E0404", message, written.head, help=help_)
        return None
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
    """What the ask's own prompt can name where it is filled from a shot's row: the row in place of the one at hand, its
    axes, and what is named by `let`, of that row. What other steps yield stays that of the row at hand."""
    taken = {steps.alias: row} if steps.alias is not None else {}
    axes = {each.name: row.fields[each.name] for each in loaded.dataset.fields if _is_axis(each)}
    lets = {let.name().text for let in steps.lets}
    given = {name: binding for name, binding in steps.scope.items() if name not in lets}
    scope = {**given, **{name: axis for name, axis in axes.items() if name in given}, **taken, alias.text: row}
    items = steps.program.diagnostics.items
    mark = len(items)
    for let in steps.lets:
        name = let.name()
        typed = Elaborator(steps.program, scope, place=(steps.scenario, name.text)).expression(let.syntax("value"))
        if typed is not None:
            scope[name.text] = Binding((name.text,), typed.type, typed.secret, {}, typed.expr, name.span, typed.may)
    del items[mark:]  # what has no value for such a row is wrong only where the prompt names it
    return scope


def _is_axis(field: DataField) -> bool:
    return field.type.kind == "choice" and field.type.axis == field.name


def _reply(steps: Steps, binding: Binding, type_: Type, span: Span, returns: Type | None) -> Localised:
    expr = Ref(path=binding.path)
    hole = Hole(expr=expr, type=type_)
    if returns is not None and returns.kind in ("list", "set", "record"):
        hole = Hole(expr=Call(function="json", args=(expr,)), type=TextType())
    from tripos_compiler.lower.templates import FilledHole

    texts: Texts = {language: Template(parts=(hole,)) for language in steps.program.languages}
    filled = FilledHole(Typed(hole.expr, hole.type, binding.secret), span)
    return Localised(texts, dict.fromkeys(steps.program.languages, (filled,)))


def _paths(typed: Typed) -> set[tuple[str, ...]]:
    from tripos_compiler.semantics.names import paths_in

    return {path[:2] for path in paths_in(typed.expr)}
