"""Lowers `ask`, with its chat and continued conversation."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import (
    LIKELIHOODS,
    REPLY_PARTS,
    Ask,
    ListType,
    Plain,
    RecordType,
    SampleList,
    TextType,
    Type,
    calling_type,
    weighed_fields,
)
from tripos_compiler.resolve import Binding, Typed, has_lost_part, numbers_of, record_fields
from tripos_compiler.source import Name
from tripos_compiler.statements.analysis import names_used, with_dependencies
from tripos_compiler.statements.prompts import lower_question
from tripos_compiler.statements.settings import lower_samples
from tripos_compiler.statements.steps.histories import lower_chat, lower_continued
from tripos_compiler.statements.steps.loops import ToolLoop, lower_loop, lower_state
from tripos_compiler.statements.steps.plain_text import lower_options, lower_plain, may_weigh
from tripos_compiler.statements.steps.scripts import (
    AskedList,
    PromptList,
    lower_asked_list,
    lower_asks,
    lower_script,
    lower_turns,
)
from tripos_compiler.statements.steps.shots import lower_shots
from tripos_compiler.statements.steps.steps import (
    NOT_ASKED,
    Steps,
    mention_question,
    warn_unasked,
    warn_undefined,
)
from tripos_compiler.statements.steps.tools import lower_offered
from tripos_compiler.typing import is_secret


def lower_ask(steps: Steps, statement: Statement) -> bool:
    """`ask NAME by ROLE [each ELEMENTS] [when COND] { … }`."""
    when = steps.condition(statement)
    if statement.find("elements") is None:
        return _ask(steps, statement, when)
    name, outer, listed = statement.name(), steps.scope, lower_asked_list(steps, statement)
    if listed is None:
        steps.unknown(name)
        return False
    steps.scope = dict(listed.scope)
    try:
        return _ask(steps, statement, when, listed)
    finally:
        outer[name.text] = steps.scope[name.text]
        steps.scope = outer


def _ask(steps: Steps, statement: Statement, when: Typed | bool | None, listed: AskedList | None = None) -> bool:
    program, name, role = steps.program, statement.name(), statement.name("role")
    good = steps.named(name)
    known = program.is_declared("role", role) and may_answer(steps, role)
    question = lower_question(program, dict(steps.scope), statement, steps.rows)
    chat = lower_chat(steps, statement)
    earlier = lower_continued(steps, statement, role)
    script = lower_script(steps, statement)
    if not statement.of("prompt") and not statement.of("chat") and script is None:
        help_ = 'write `prompt "…"` in its block'
        lacking = statement.block.span if statement.block is not None else None
        message = f"`{name.text}` asks nothing"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        steps.unknown(name)
        return False
    good = _has_no_secrets(steps, statement) and good
    if has_lost_part(program, statement):  # what it returns, continues or shows is not known
        steps.unknown(name)
        return False
    shots = lower_shots(steps, statement, question.returns) if question is not None else None
    plain, options, tools = (
        lower_plain(steps, statement),
        lower_options(steps, statement),
        lower_offered(steps, statement),
    )
    loop = lower_state(steps, statement, () if tools is None else tools.declared, may_answer)
    good = question is None or (may_weigh(steps, statement, question.returns) and good)
    lowered = (when, chat, earlier, plain, options, script, loop)
    if not good or not known or False in lowered or question is None or shots is None or tools is None:
        steps.unknown(name)
        return False
    history = chat.expr if isinstance(chat, Typed) else None
    returns = LIKELIHOODS if isinstance(options, Typed) else question.returns
    returns = calling_type(tools.declared) if statement.of("tools") else returns
    ask = Ask(
        name=name.text,
        role=role.text,
        system=question.system.texts if question.system else None,
        shots=shots,
        chat=history,
        continues=earlier if isinstance(earlier, str) else None,
        prompt=question.prompt.texts if question.prompt else None,
        plain=plain if isinstance(plain, Plain) else None,
        options=options.expr if isinstance(options, Typed) else None,
        tools=tools.declared,
        offered=tools.listed.expr if tools.listed is not None else None,
        returns=returns,
        numbers=numbers_of(program, question.returns),
        samples=lower_samples(statement),
        settings=question.settings,
        when=when.expr if isinstance(when, Typed) else None,
        fingerprint="",
    )
    asked_when = when if isinstance(when, Typed) else None
    warn_unasked(steps, question, asked_when)
    if isinstance(chat, Typed):
        warn_undefined(steps, chat, NOT_ASKED, asked_when)
    if isinstance(options, Typed):
        warn_undefined(steps, options, NOT_ASKED, asked_when)
    draws = [each.drawn for each in ask.shots]
    told = [each for each in (ask.chat, ask.options, ask.offered, *draws) if each is not None]
    if listed is not None:
        mention_question(steps, question, listed.of, *told)
        if not (done := lower_asks(steps, statement, ask, listed)):
            steps.unknown(name)
        return done
    if isinstance(script, PromptList):
        mention_question(steps, question, script.prompts.expr, *told)
        if not (done := lower_turns(steps, statement, ask, script)):
            steps.unknown(name)
        return done
    if isinstance(loop, ToolLoop):
        mention_question(steps, question, loop.state.expr, *told)
        lower_loop(steps, statement, ask, loop)
        return True
    steps.lowered.append(ask)
    steps.wholes[name.text] = name
    _bind(steps, statement, ask)
    mention_question(steps, question, *told)
    return True


def _has_no_secrets(steps: Steps, statement: Statement) -> bool:
    """Return true if what an ask returns is marked as secret nowhere; reports where it is."""
    marked = [inner for form in statement.of("returns") for inner in form.body if is_secret(inner)]
    for inner in marked:
        help_ = "remove it: only the rows of data sets have secrets"
        steps.program.diagnostics.error("E0106", "a reply has no secrets", inner.head, help=help_)
    return not marked


def may_answer(steps: Steps, role: Name) -> bool:
    """Return true if a role may be asked; a panel only grades."""
    if steps.kind(role.text) != "panel":
        return True
    message = f"`{role.text}` is a panel: it grades, and answers no questions"
    help_ = "ask a role of its own, or declare this one without `panel`"
    steps.program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _bind(steps: Steps, statement: Statement, ask: Ask) -> None:
    """Bind the reply."""
    name = statement.name()
    span = name.span
    fields = {
        **{part: Binding((ask.name, part), type_, span=span) for part, type_ in REPLY_PARTS.items()},
        "prompt": Binding((ask.name, "prompt"), TextType(), span=span),
    }
    whole: Binding = fields["text"]
    if ask.options is not None:
        fields = {"prompt": fields["prompt"]}
    type_: Type | None = whole.type
    path, shown = whole.path, type_ or TextType()
    if ask.returns is not None and ask.returns.kind == "record":
        fields |= record_fields((ask.name,), ask.returns, span)
        for inner in (inner for returns in statement.of("returns") for inner in returns.body):
            own, type_ = inner.name(), ask.returns.fields[inner.name().text]
            fields[own.text] = replace(fields[own.text], span=own.span)
            steps.program.index.define("field", own.text, own.span, f"ask {ask.name}", type_notation(type_))
        for tool in ask.tools:
            fields[tool.name] = replace(fields[tool.name], span=steps.program.declared["tool"][tool.name].span)
        type_, path = None, (ask.name,)
        shown = RecordType(fields={"text": TextType(), **ask.returns.fields})
    elif ask.returns is not None:
        type_, path, shown = ask.returns, (ask.name, "value"), ask.returns
    if ask.settings.top_logprobs is not None and (read := ask.read_as) is not None and read.kind == "record":
        fields |= record_fields((ask.name,), RecordType(fields=weighed_fields(ask.returns)), span)
        shown = RecordType(fields={"text": TextType(), **read.fields})
    several = ask.samples > 1 and ask.options is None and not _builds_on_samples(steps, ask)
    if several and "samples" not in fields:
        listed = SampleList(name=f"{ask.name}.samples", of=ask.name, fingerprint="")
        steps.lowered.append(listed)
        fields["samples"] = Binding((listed.name,), ListType(of=shown), span=span, most=ask.samples)
    steps.scope[ask.name] = Binding(path, type_, fields, span=span)
    steps.define("ask", name, ask.returns or TextType())


def _builds_on_samples(steps: Steps, ask: Ask) -> bool:
    """Return true if an ask goes on from one of several samples, so that its own are no tries at the same thing."""
    found = with_dependencies(steps.lowered, names_used(ask))
    return any(step.name in found and getattr(step, "samples", 1) > 1 for step in steps.lowered)
