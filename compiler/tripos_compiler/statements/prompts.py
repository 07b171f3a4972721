"""Prompts: the texts, reply type and settings of what is put to a role, by an ask, a data set or a walk."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import holds_media
from tripos_compiler.language.replies.text import nfkc
from tripos_compiler.plan import DeclaredSettings, RecordType, Type
from tripos_compiler.resolve import Program, Scope, forget_diagnostics, has_lost_part
from tripos_compiler.source import dataclass
from tripos_compiler.statements.setting_cases import ANY_ROWS, RowsAsked
from tripos_compiler.statements.settings import LoweredSettings, lower_settings
from tripos_compiler.typing import FilledHole, Localised, lower_texts, read_type, record_type, type_parts


@dataclass(frozen=True)
class Question:
    """A question with its parts checked."""

    system: Localised | None
    prompt: Localised | None
    returns: Type | None
    lowered: LoweredSettings

    @property
    def settings(self) -> DeclaredSettings:
        """Its settings."""
        return self.lowered.declared

    @property
    def told(self) -> list[FilledHole]:
        """Return what its holes and conditions tell the role."""
        return [hole for part in (self.prompt, self.system) if part is not None for hole in part.told()]


def lower_question(program: Program, scope: Scope, statement: Statement, rows: RowsAsked = ANY_ROWS) -> Question | None:
    """Return the question of a block with `prompt`, `system`, `returns` and settings; whether it needs a prompt is for
    whoever asks to say. None where anything of it is wrong, which is reported."""
    prompts, systems = statement.of("prompt"), statement.of("system")
    mark = len(program.diagnostics.items)
    prompt = lower_texts(program, scope, prompts, "the prompt") if prompts else None
    system = lower_texts(program, scope, systems, "the system message") if systems else None
    if has_lost_part(program, statement):
        forget_diagnostics(program, mark, "E0402")  # what was left out may be the text in the other language
    returns = lower_returns(program, statement)
    settings = lower_settings(program, scope, statement, rows)
    if (prompts and prompt is None) or (systems and system is None) or returns is False or settings is None:
        return None
    return Question(system, prompt, None if isinstance(returns, bool) else returns, settings)


def lower_returns(program: Program, statement: Statement) -> Type | bool | None:
    """Return the type of the reply; None where it is plain text, False where it is wrong."""
    returns = statement.one_of("returns")
    if returns is None:
        return None
    written = returns.find("type")
    if (written is None) != (returns.block is None):
        if written is not None:
            read = read_type(program, written)
        else:
            assert returns.block is not None
            read = record_type(program, returns.body, returns.block.span)
        if read is not None and holds_media(read):
            help_ = "let it return what it says of one, as a text or a choice"
            message = "a model replies with no image, recording or file"
            program.diagnostics.error("E0302", message, returns.head, help=help_)
            return False
        parts = type_parts(read) if read is not None else ()
        form = next((each.form for each in parts if each.kind == "json" and each.form != "json"), None)
        if form is not None:
            message, help_ = f"a reply is not read as `{form}`", "write `json`, and read its parts by `json_part(…)`"
            program.diagnostics.error("E0302", message, returns.head, help=help_)
            return False
        alike = next((pair for part in type_parts(read) for pair in _read_alike(part)), None) if read else None
        if alike is not None:
            message = f"`{alike[0]}` and `{alike[1]}` are one field to whoever reads a reply"
            help_ = "rename one: case, spaces and punctuation tell no fields apart"
            program.diagnostics.error("E0202", message, returns.head, help=help_)
            return False
        return read or False
    help_ = "write `returns TYPE` or `returns { field type }`"
    program.diagnostics.error("E0106", "`returns` takes a type or a block", returns.head, help=help_)
    return False


def _read_alike(type_: Type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a record that a reply, in which names are written in many ways, does not tell apart."""
    seen: dict[str, str] = {}
    for name in type_.fields if type_.kind == "record" else ():
        folded = re.sub(r"[\W_]+", "", nfkc(name).casefold())
        first = seen.setdefault(folded, name)
        if first != name:
            yield first, name


def returned_record(program: Program, statement: Statement, returns: Type | None) -> RecordType | None:
    """Return the record that must be returned where rows are written; reports where it is none."""
    if returns is not None and returns.kind == "record":
        return returns
    written = statement.one_of("returns")
    help_ = "write `returns { field type }`, a field a line"
    lacking = statement.block.span if statement.block is not None and written is None else None
    where = written.head if written is not None else statement.head
    message = "rows need fields, and this returns none"
    program.diagnostics.error("E0206", message, where, help=help_, lacking=lacking)
    return None
