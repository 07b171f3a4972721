"""Lowers the steps that make a row: the role that writes it, walks, computed fields, verifiers and `distinct`."""

from __future__ import annotations

from tripos_compiler.constructs import SETTINGS, Statement
from tripos_compiler.language import names_in
from tripos_compiler.language.library import element_type, type_notation, without_optional
from tripos_compiler.plan import (
    Ask,
    Derived,
    Distinct,
    Expr,
    ListType,
    PathType,
    RecordType,
    Settings,
    SetType,
    TextType,
    Type,
    Verify,
    Walk,
)
from tripos_compiler.resolve import Binding, Scope, numbers_of
from tripos_compiler.source import Name, Number
from tripos_compiler.statements.datasets.generation_scope import Making
from tripos_compiler.statements.datasets.walks import lower_start
from tripos_compiler.statements.prompts import Question, lower_question, lower_returns, returned_record
from tripos_compiler.typing import free_variables, free_variables_of, is_secret

ABOVE = 0.8
"""The overlap from which on two texts are nearly the same, where nothing is said."""


def lower_distinct(making: Making) -> tuple[Distinct, ...]:
    """Return every `distinct VALUE from OTHERS [above NUMBER]` of a data set; what is wrong is reported.

    The texts are compared by the run and shown to nobody, so those of others may be secret whoever writes the rows.
    """
    written = making.statement.of("distinct")
    found = [each for each in (_lowered(making, statement) for statement in written) if each is not None]
    making.sound = making.sound and len(found) == len(written)
    return tuple(found)


def _lowered(making: Making, statement: Statement) -> Distinct | None:
    value, others = statement.syntax("value"), statement.syntax("others")
    typed = making.elaborator(making.row(), value.span).expression(value, TextType(), "what is compared")
    above = _above(making, statement)
    if making.too_early(free_variables(others)):
        return None
    # The same for every row, so no row and no axis can be named: `raw.stem` is a column, also of the source.
    among = making.elaborator({}, others.span).infer(others)
    if typed is None or among is None or above is None:
        return None
    of = element_type(among.type)
    if of is None or without_optional(of).kind != "text":
        help_ = "take a column of a data set: `from raw.stem`"
        making.error("E0301", f"`{type_notation(among.type)}` holds no texts to compare with", others.span, help=help_)
        return None
    return Distinct(value=typed.expr, others=among.expr, above=above)


def _above(making: Making, statement: Statement) -> float | None:
    written = statement.find("number")
    if not isinstance(written, Number):
        return ABOVE
    if not 0 < written.value <= 1:
        help_ = "write a share of what two texts have in common, such as `above 0.8`"
        making.error("E0301", f"{written.value} is not above 0 and at most 1", written.span, help=help_)
        return None
    return float(written.value)


ASKED = ("prompt", "system", "returns", *Settings.model_fields)
"""What is said to a role that writes rows."""
BRANCHES = ListType(of=TextType())
CHOSEN = SetType(of=TextType())
"""What a walk gets at every node: some of its branches."""


def lower_author(making: Making) -> None:
    """The role that writes the rows, where there is one."""
    statement, role = making.statement, making.statement.find_name("role")
    if role is None:
        said = next((inner for inner in statement.body if inner.construct in ASKED), None)
        if said is not None:
            message = f"no role is asked, so `{said.construct}` is said to nobody"
            making.error("E0206", message, said.head, help=f"say who writes the rows: `dataset {making.own} by ROLE …`")
            making.open = True
        return
    making.maker(role)
    texts = [inner for inner in statement.body if inner.construct in ("prompt", "system", *SETTINGS)]
    making.too_early(name for inner in texts for name in free_variables_of(inner))
    question = _question(making, making.scope, statement)
    record = _returned(making, statement, question)
    if record is None:
        making.open = making.open or statement.one_of("returns") is None
    _written(making, statement, record)
    if not _prompted(making, statement, f"`{role.text}` is asked nothing") or question is None or record is None:
        making.sound = False
        return
    making.steps.append(_ask(making, "prompt", role, question, record))


def lower_walk(making: Making, statement: Statement) -> None:
    """`walk NAME through TREE by ROLE { … }`."""
    name, tree, role = statement.name(), statement.name("tree"), statement.name("role")
    may = making.maker(role)
    declared = making.program.is_declared("tree", tree)
    scope = making.row()
    if "branches" in scope:
        message = "`branches` is what a walk chooses among, and is something else here"
        making.error("E0202", message, statement.head, help="take another name for the other")
    scope["branches"] = Binding(("branches",), BRANCHES)
    start = lower_start(making, statement, tree) if declared else None
    question = _question(making, scope, statement)
    prompted = _prompted(making, statement, f"`{role.text}` is asked nothing")
    returns = _beside(making, statement, question)
    added = making.add("walk", name.text, name.span, ListType(of=PathType()))
    if question is None or returns is None or not may or not declared or not prompted or not added:
        making.sound = False
        return
    if tree.text not in making.program.trees:  # it was reported
        making.sound = False
    if not any("branches" in names_in(hole.typed.expr) for hole in question.told):
        head = statement.of("prompt")[0].head
        message = "this prompt does not show the branches to choose among"
        making.error("E0612", message, head, help="put `{{ bullets(branches) }}` in it")
    below, starts = start if start is not None else (None, {})
    ask = _ask(making, name.text, role, question, returns)
    making.steps.append(Walk(tree=tree.text, ask=ask, below=below, starts=starts))


def _beside(making: Making, statement: Statement, question: Question | None) -> Type | None:
    """Return the type of a walk's reply: the branches that it chose, and under their names the further fields of
    `returns`, which are kept with the reply and are no fields of the row."""
    written = statement.one_of("returns")
    if written is None:
        return CHOSEN
    if question is None:
        return None
    record = returned_record(making.program, statement, question.returns)
    name, sound = statement.name(), record is not None
    for inner in written.body:
        if is_secret(inner):
            help_ = "remove it: only what is written into the rows can be secret"
            making.error("E0106", "the reply of a walk has no secret fields", inner.head, help=help_)
            sound = False
        if inner.name().text == name.text:
            message = f"`{name.text}` is what the walk calls the branches that it chose"
            making.error("E0202", message, inner.name().span, help="take another name")
            sound = False
    return RecordType(fields={name.text: CHOSEN, **record.fields}) if record is not None and sound else None


def lower_derived(making: Making, statement: Statement) -> None:
    """`let NAME = VALUE`: a field computed from the row."""
    name, value = statement.name(), statement.syntax("value")
    typed = making.elaborator(making.row(), value.span).expression(value)
    type_: Type | None = typed.type if typed is not None else None
    if type_ is not None and type_.kind in ("tree", "metrics"):
        making.error("E0301", f"a row cannot hold `{type_.kind}`", value.span, help="take some value of it")
        type_ = None
    added = making.add("let", name.text, name.span, type_)
    if typed is not None and type_ is not None and added:
        making.steps.append(Derived(name=name.text, value=typed.expr))


def lower_verify(making: Making, statement: Statement, number: int) -> None:
    """`verify by ROLE { … }`, the `number`th of this data set."""
    role = statement.name("role")
    title = "verify" if number == 1 else f"verify_{number}"
    may = making.maker(role)
    scope = making.row()
    question = _question(making, scope, statement)
    record = _returned(making, statement, question)
    for written in statement.of("returns"):
        for inner in written.body:
            name = inner.name()
            if is_secret(inner):
                help_ = "remove it: only what is written into the rows can be secret"
                making.error("E0106", "the reply of a `verify` has no secret fields", inner.head, help=help_)
            if name.text in scope:
                message = f"`{name.text}` is a name of this data set's rows or axes"
                making.error("E0202", message, name.span, help="take another name")
            type_ = record.fields.get(name.text) if record is not None else None
            scope[name.text] = Binding((name.text,), type_, span=name.span)
            making.program.index.define("field", name.text, name.span, f"verify {making.own}")
    required = [_condition(making, scope, inner) for inner in statement.of("require")]
    if not required:
        lacking = statement.block.span if statement.block is not None else None
        message = "nothing is required of what is said of a row"
        making.error("E0206", message, statement.head, help="write `require CONDITION` in its block", lacking=lacking)
    known = [expr for expr in required if expr is not None]
    prompted = _prompted(making, statement, f"`{role.text}` is asked nothing")
    if question is None or record is None or not may or not prompted or len(known) < len(required):
        making.sound = False
        return
    making.steps.append(Verify(ask=_ask(making, title, role, question, record), require=tuple(known)))


def lower_conditions(making: Making) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return what `require` and `unique` of the data set itself say."""
    scope = making.row()
    required = [_condition(making, scope, inner) for inner in making.statement.of("require")]
    single: list[Expr | None] = []
    for inner in making.statement.of("unique"):
        value = inner.syntax("value")
        typed = making.elaborator(scope, value.span).expression(value)
        single.append(typed.expr if typed is not None else None)
    known = tuple(expr for expr in required if expr is not None), tuple(expr for expr in single if expr is not None)
    making.sound = making.sound and len(known[0]) == len(required) and len(known[1]) == len(single)
    return known


def _condition(making: Making, scope: Scope, statement: Statement) -> Expr | None:
    condition = statement.syntax("cond")
    typed = making.elaborator(scope, condition.span).condition(condition)
    return typed.expr if typed is not None else None


def _question(making: Making, scope: Scope, statement: Statement) -> Question | None:
    """Return what is put to a role."""
    question = lower_question(making.program, dict(scope), statement)
    if question is not None:
        making.mention(question)
    return question


def _prompted(making: Making, statement: Statement, message: str) -> bool:
    if statement.of("prompt"):
        return True
    lacking = statement.block.span if statement.block is not None else None
    making.error("E0206", message, statement.head, help='write `prompt "…"` in its block', lacking=lacking)
    return False


def _returned(making: Making, statement: Statement, question: Question | None) -> RecordType | None:
    """Return the record that a reply is read as, also where something else of the question is wrong."""
    if question is not None:
        return returned_record(making.program, statement, question.returns)
    items = making.program.diagnostics.items
    mark = len(items)
    returns = lower_returns(making.program, statement)
    del items[mark:]  # it was reported with the question
    if returns is False:
        return None
    return returned_record(making.program, statement, None if isinstance(returns, bool) else returns)


def _written(making: Making, statement: Statement, record: RecordType | None) -> None:
    """The fields that a role writes."""
    first: dict[str, Name] = {}
    for returns in statement.of("returns"):
        for inner in returns.body:
            name = inner.name()
            if first.setdefault(name.text, name) is not name:
                continue  # it was reported with the record
            type_ = record.fields.get(name.text) if record else None
            making.add("field", name.text, name.span, type_, secret=is_secret(inner))


def _ask(making: Making, name: str, role: Name, question: Question, returns: Type) -> Ask:
    ask = Ask(
        name=name,
        role=role.text,
        system=question.system.texts if question.system else None,
        prompt=question.prompt.texts if question.prompt else None,
        returns=returns,
        numbers=numbers_of(making.program, returns),
        settings=question.settings,
        fingerprint="",
    )
    finished = making.prints.of(ask)
    assert isinstance(finished, Ask)
    return finished
