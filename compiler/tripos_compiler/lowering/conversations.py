"""Lowering of `converse`: a bounded conversation between two roles."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label, suggest
from tripos_compiler.lowering.requests import Request, count_of, lower_request
from tripos_compiler.lowering.steps import Steps, note_shown_names, warn_undefined_request
from tripos_compiler.plan import Converse, DialogueType, Speaker, TextType, Until
from tripos_compiler.resolve.program import Binding, expr_of
from tripos_compiler.source.tree import Name


def lower_converse(steps: Steps, statement: Statement) -> None:
    """Lower `converse NAME [when COND] { A { … } B { … } opens A, until A says "…", limit N turns, repeat N }`."""
    name = statement.name()
    steps.named(name)
    when = steps.condition(statement)
    statements = statement.of("speaker")
    speakers = [_speaker(steps, speaker) for speaker in statements]
    _check_two(steps, statement, statements)
    names = [speaker.name() for speaker in statements]
    limit = _bound(steps, statement, "limit")
    repeat = _bound(steps, statement, "repeat")
    opens = _opens(steps, statement, names)
    until = _until(steps, statement, names)
    if steps.attempt.failed or opens is None:
        return
    first, second = (
        Speaker(role=role.text, system=question.system.texts if question.system else None, settings=question.settings)
        for role, question in zip(names, speakers, strict=True)
    )
    for question in speakers:
        warn_undefined_request(steps, question, when)
    steps.lowered.append(
        Converse(
            name=name.text,
            speakers=(first, second),
            opens=opens.text,
            until=until,
            limit=limit,
            repeat=repeat,
            when=expr_of(when),
            fingerprint="",
        )
    )
    steps.model_steps[name.text] = name
    fields = {"text": Binding((name.text, "text"), TextType(), span=name.span)}
    steps.scope[name.text] = Binding((name.text, "turns"), DialogueType(), fields, span=name.span)
    steps.define("converse", name, DialogueType())
    for question in speakers:
        note_shown_names(steps, question)


def _speaker(steps: Steps, statement: Statement) -> Request:
    steps.is_asked(statement.name())
    return lower_request(steps.program, dict(steps.scope), statement, steps.rows)


def _check_two(steps: Steps, statement: Statement, written: list[Statement]) -> None:
    program = steps.program
    if len(written) == 2 and written[0].name().text == written[1].name().text:
        label = Label(written[0].head, "first here")
        message = f"`{written[0].name().text}` cannot talk with itself"
        help_ = "declare a role for the other side; one model may fill both"
        program.diagnostics.error("E0202", message, written[1].head, label, help=help_)
    if len(written) != 2:
        help_ = 'write a block for each: `teacher { system "…" }`'
        lacking = statement.block.span if statement.block is not None and len(written) < 2 else None
        message = f"a conversation has two speakers, and this has {len(written)}"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)


def _bound(steps: Steps, statement: Statement, what: str) -> int:
    """Return the number of `limit`, which is required, or of `repeat`, which defaults to 1."""
    written = statement.one_of(what)
    if written is not None:
        return count_of(steps.program, written)
    if what == "limit":
        help_ = "write `limit 30 turns`"
        lacking = statement.block.span if statement.block is not None else None
        message = "nothing bounds this conversation"
        steps.program.diagnostics.error("E0803", message, statement.head, help=help_, lacking=lacking)
    return 1


def _check_speaks(steps: Steps, role: Name, names: list[Name]) -> None:
    spoken = [name.text for name in names]
    if role.text in spoken:
        declared = steps.program.declared.get("role", {}).get(role.text)
        steps.program.index.use(role.span, declared.span if declared is not None else None)
        return
    roles = steps.program.declared.get("role", {})
    if role.text in roles and any(name not in roles for name in spoken):
        steps.program.diagnostics.follows()  # probably the speaker whose name was reported
        return
    help_ = f"its speakers are {', '.join(f'`{name}`' for name in spoken)}" if spoken else "give it a block of its own"
    help_ = suggest(role.text, spoken, help_)
    message = f"`{role.text}` takes no part in this conversation"
    steps.program.diagnostics.error("E0201", message, role.span, help=help_, unknown=role.text)


def _opens(steps: Steps, statement: Statement, names: list[Name]) -> Name | None:
    written = statement.one_of("opens")
    if written is None:
        help_ = f"write `opens {names[0].text}`" if names else "write `opens ROLE`"
        lacking = statement.block.span if statement.block is not None else None
        message = "this conversation does not say who opens it"
        steps.program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    role = written.name("role")
    _check_speaks(steps, role, names)
    return role


def _until(steps: Steps, statement: Statement, names: list[Name]) -> tuple[Until, ...]:
    untils: list[Until] = []
    statements = statement.of("until")
    if not statements:
        help_ = 'write `until teacher says "done"`; `limit` alone cuts every conversation off'
        lacking = statement.block.span if statement.block is not None else None
        message = "no role can end this conversation"
        steps.program.diagnostics.error("E0803", message, statement.head, help=help_, lacking=lacking)
    for clause in statements:
        role, text = clause.name("role"), clause.text("string")
        if not text.value.strip():
            message = "every turn would end it: this text is empty"
            steps.program.diagnostics.error("E0803", message, text.span, help='write what is said: "done"')
        else:
            _check_speaks(steps, role, names)
            untils.append(Until(role=role.text, text=text.value))
    return tuple(untils)
