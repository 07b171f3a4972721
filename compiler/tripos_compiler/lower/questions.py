"""What is put to a role: the texts, the type of the reply and the settings; asks, data sets and walks share it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.lower.losses import forget, lost_part
from tripos_compiler.lower.settings import lower_settings
from tripos_compiler.lower.templates import FilledHole, Localised, lower_texts
from tripos_compiler.plan import RecordType, Settings, Type
from tripos_compiler.program import Program
from tripos_compiler.scope import Scope, Way, joined, secret_name
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Name
from tripos_compiler.types import read_type, record_type


@dataclass(frozen=True)
class Question:
    """A question with its parts checked. `told` is what its holes and conditions tell the role."""

    system: Localised | None
    prompt: Localised | None
    returns: Type | None
    settings: Settings
    told: tuple[FilledHole, ...]

    @property
    def secret(self) -> Way:
        """The way of a secret that it tells, if there is any."""
        return joined(*(hole.typed.secret for hole in self.told))


def lower_question(
    program: Program, scope: Scope, statement: Statement, role: Name, place: tuple[str, str]
) -> Question | None:
    """The question of a block with `prompt`, `system`, `returns` and settings; whether it needs a prompt is for whoever
    asks to say. None where anything of it is wrong, which is reported; nothing secret is told to the compared role."""
    prompts, systems = statement.of("prompt"), statement.of("system")
    mark = len(program.diagnostics.items)
    sound: list[FilledHole] = []
    prompt = lower_texts(program, scope, prompts, "the prompt", place, sound) if prompts else None
    system = lower_texts(program, scope, systems, "the system message", place, sound) if systems else None
    if lost_part(program, statement):
        forget(program, mark, "E0402")  # what was left out may be the text in the other language
    returns = lower_returns(program, statement)
    told = tuple({hole.span: hole for hole in sound}.values())
    kept = keeps_secrets(program, role, told)
    spoken = scope["language"].secret if "language" in scope and len(program.languages) > 1 else ()
    kept = unrevealed(program, role, spoken, statement.head, "the language of this tells") and kept
    settings = lower_settings(program, statement)
    if (prompts and prompt is None) or (systems and system is None) or returns is False or not kept:
        return None
    return Question(system, prompt, None if isinstance(returns, bool) else returns, settings, told)


def keeps_secrets(program: Program, role: Name, told: Iterable[FilledHole]) -> bool:
    """Whether texts with these holes and conditions tell the compared role nothing secret; reports each that does."""
    each_once = {hole.span: hole for hole in told}.values()
    kept = [unrevealed(program, role, hole.typed.secret, hole.span, _into(hole)) for hole in each_once]
    return all(kept)


def _into(hole: FilledHole) -> str:
    return "its condition tells" if hole.condition else "this prompt tells"


def unrevealed(program: Program, role: Name, secret: Way, span: Span, into: str) -> bool:
    """Whether nothing secret reaches the compared role here; reports the way that a secret takes, step by step.

    `into` says what happens at `span`: `this prompt tells`."""
    declared = program.roles.get(role.text)
    if not secret or declared is None or declared.kind != "compared":
        return True
    leak(program, role.text, secret, span, into)
    return False


def leak(program: Program, role: str, secret: Way, span: Span, into: str, note: str | None = None) -> None:
    """Reports that a secret reaches the compared role at `span`, with its way step by step."""
    name = secret_name(secret)
    steps = [Label(label.span, f"{number}. {label.text}") for number, label in enumerate(secret, 1)]
    last = Label(span, f"{len(steps) + 1}. {into} `{role}`")
    message = f"the secret `{name}` reaches the compared role `{role}`"
    help_ = "leave it to the graders, or say `reveal(…)` where the protocol wants it shown"
    program.diagnostics.error("E0501", message, last, *steps, help=help_, notes=[note] if note else [])


def lower_returns(program: Program, statement: Statement) -> Type | bool | None:
    """The type of the reply; None where it is plain text, False where it is wrong."""
    returns = statement.one_of("returns")
    if returns is None:
        return None
    written = returns.find("type")
    if written is not None and returns.block is None:
        return read_type(program, written) or False
    if written is None and returns.block is not None:
        return record_type(program, returns.body, returns.block.span) or False
    help_ = "write `returns TYPE` or `returns { field type }`"
    program.diagnostics.error("E0106", "`returns` takes a type or a block", returns.head, help=help_)
    return False


def returned_record(program: Program, statement: Statement, returns: Type | None) -> RecordType | None:
    """The record that must be returned where rows are written; reports where it is none."""
    if returns is not None and returns.kind == "record":
        return returns
    written = statement.one_of("returns")
    help_ = "write `returns { field type }`, a field a line"
    lacking = statement.block.span if statement.block is not None and written is None else None
    where = written.head if written is not None else statement.head
    message = "rows need fields, and this returns none"
    program.diagnostics.error("E0206", message, where, help=help_, lacking=lacking)
    return None
