"""What is put to a role: the texts, the type of the reply and the settings; asks, data sets and walks share it."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.lower.losses import forget, lost_part
from tripos_compiler.lower.settings import lower_settings
from tripos_compiler.lower.templates import FilledHole, Localised, lower_texts
from tripos_compiler.plan import RecordType, Settings, Type
from tripos_compiler.program import Program
from tripos_compiler.scope import Scope
from tripos_compiler.types import read_type, record_type


@dataclass(frozen=True)
class Question:
    """A question with its parts checked."""

    system: Localised | None
    prompt: Localised | None
    returns: Type | None
    settings: Settings

    @property
    def told(self) -> list[FilledHole]:
        """What its holes and conditions tell the role."""
        return [hole for part in (self.prompt, self.system) if part is not None for hole in part.told()]


def lower_question(program: Program, scope: Scope, statement: Statement) -> Question | None:
    """The question of a block with `prompt`, `system`, `returns` and settings; whether it needs a prompt is for whoever
    asks to say. None where anything of it is wrong, which is reported."""
    prompts, systems = statement.of("prompt"), statement.of("system")
    mark = len(program.diagnostics.items)
    prompt = lower_texts(program, scope, prompts, "the prompt") if prompts else None
    system = lower_texts(program, scope, systems, "the system message") if systems else None
    if lost_part(program, statement):
        forget(program, mark, "E0402")  # what was left out may be the text in the other language
    returns = lower_returns(program, statement)
    settings = lower_settings(program, statement)
    if (prompts and prompt is None) or (systems and system is None) or returns is False:
        return None
    return Question(system, prompt, None if isinstance(returns, bool) else returns, settings)


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
