"""Lowers `ask`: what is put to a role, with its shots, chat and continued conversation."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.locale import numbers_of
from tripos_compiler.lower.losses import lost_part
from tripos_compiler.lower.questions import Question, lower_question
from tripos_compiler.lower.shots import lower_shots
from tripos_compiler.lower.steps import NOT_ASKED, Steps, warn_unasked, warn_undefined
from tripos_compiler.plan import Ask, Converse, DialogueType, Expr, TextType, Type
from tripos_compiler.scope import Binding, Typed, record_fields
from tripos_compiler.semantics.names import names_in
from tripos_compiler.syntax.tree import Name, Number
from tripos_compiler.types import is_secret, shown


def lower_ask(steps: Steps, statement: Statement) -> bool:
    """`ask NAME by ROLE [when COND] { … }`."""
    program, name, role = steps.program, statement.name(), statement.name("role")
    good = steps.named(name)
    known = program.is_declared("role", role) and may_answer(steps, role)
    when = steps.condition(statement)
    question = lower_question(program, dict(steps.scope), statement)
    chat = _chat(steps, statement)
    talk = _continued(steps, statement, role)
    if not statement.of("prompt") and not statement.of("chat"):
        help_ = 'write `prompt "…"` in its block'
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` asks nothing"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        steps.unknown(name)
        return False
    for written in statement.of("returns"):
        for inner in written.body:
            if is_secret(inner):
                help_ = "remove it: only the rows of data sets have secrets"
                program.diagnostics.error("E0106", "a reply has no secrets", inner.head, help=help_)
                good = False
    if lost_part(program, statement):  # what it returns, continues or shows is not known
        steps.unknown(name)
        return False
    shots = lower_shots(steps, statement, question.returns) if question is not None else None
    if not good or not known or when is False or question is None or chat is False or talk is False or shots is None:
        steps.unknown(name)
        return False
    history = chat.expr if isinstance(chat, Typed) else None
    ask = Ask(
        name=name.text,
        role=role.text,
        system=question.system.texts if question.system else None,
        shots=shots,
        chat=history,
        continues=talk.name if isinstance(talk, Converse) else None,
        prompt=question.prompt.texts if question.prompt else None,
        returns=question.returns,
        numbers=numbers_of(program, question.returns),
        samples=_samples(statement),
        settings=question.settings,
        when=when.expr if isinstance(when, Typed) else None,
        fingerprint="",
    )
    asked_when = when if isinstance(when, Typed) else None
    warn_unasked(steps, question, asked_when)
    if isinstance(chat, Typed):
        warn_undefined(steps, chat, NOT_ASKED, asked_when)
    steps.lowered.append(ask)
    steps.wholes[name.text] = name
    _bind(steps, statement, ask)
    _mention(steps, question, history)
    return True


def may_answer(steps: Steps, role: Name) -> bool:
    """Whether a role may be asked; a panel only grades."""
    if steps.kind(role.text) != "panel":
        return True
    message = f"`{role.text}` is a panel: it grades, and answers no questions"
    help_ = "ask a role of its own, or declare this one without `panel`"
    steps.program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _samples(statement: Statement) -> int:
    samples = statement.one_of("samples")
    count = samples.syntax("count") if samples else None
    return max(1, int(count.value)) if isinstance(count, Number) else 1


def _chat(steps: Steps, statement: Statement) -> Typed | bool | None:
    """The dialogue that comes first; None where there is none, False where it is wrong."""
    written = statement.one_of("chat")
    if written is None:
        return None
    value = written.syntax("value")
    return steps.elaborator().expression(value, DialogueType(), "what is chatted") or False


def _continued(steps: Steps, statement: Statement, role: Name) -> Converse | bool | None:
    """The conversation that is continued; None where there is none, False where it is wrong."""
    written = statement.one_of("continue")
    if written is None:
        return None
    program, name = steps.program, written.name("step")
    found = next((step for step in steps.lowered if step.name == name.text), None)
    binding = steps.scope.get(name.text)
    if not isinstance(found, Converse) or binding is None:
        if binding is not None and binding.type is None and not binding.fields:
            return False  # it was reported
        talks = [step.name for step in steps.lowered if isinstance(step, Converse)]
        close = nearest(name.text, talks)
        help_ = f"did you mean `{close}`?" if close else "name a `converse` step that stands before"
        program.diagnostics.error(
            "E0201", f"there is no conversation `{name.text}` here", name.span, help=help_, unknown=name.text
        )
        return False
    program.index.use(name.span, binding.span)
    if role.text not in program.roles:
        return False  # it was reported
    if role.text not in [speaker.role for speaker in found.speakers]:
        speakers = " and ".join(f"`{speaker.role}`" for speaker in found.speakers)
        message = f"`{role.text}` took no part in `{name.text}`"
        program.diagnostics.error("E0208", message, name.span, help=f"its speakers are {speakers}")
        return False
    return found


def _bind(steps: Steps, statement: Statement, ask: Ask) -> None:
    """Binds the reply."""
    name = statement.name()
    span = name.span
    fields = {
        "text": Binding((ask.name, "text"), TextType(), span=span),
        "prompt": Binding((ask.name, "prompt"), TextType(), span=span),
    }
    whole: Binding = fields["text"]
    type_: Type | None = whole.type
    path = whole.path
    if ask.returns is not None and ask.returns.kind == "record":
        fields |= record_fields((ask.name,), ask.returns, span)
        for inner in (inner for returns in statement.of("returns") for inner in returns.body):
            own, type_ = inner.name(), ask.returns.fields[inner.name().text]
            fields[own.text] = replace(fields[own.text], span=own.span)
            steps.program.index.define("field", own.text, own.span, f"ask {ask.name}", shown(type_))
        type_, path = None, (ask.name,)
    elif ask.returns is not None:
        type_, path = ask.returns, (ask.name, "value")
    steps.scope[ask.name] = Binding(path, type_, fields, span=span)
    steps.define("ask", name, ask.returns or TextType())


def _mention(steps: Steps, question: Question, chat: Expr | None) -> None:
    said = names_in(chat) if chat is not None else set()
    for language in steps.program.languages:
        names = {
            found
            for part in (question.system, question.prompt)
            if part is not None
            for hole in part.holes.get(language, ())
            for found in names_in(hole.typed.expr)
        }
        steps.mentioned.setdefault(language, set()).update(names | said)
