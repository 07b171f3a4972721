"""Lowers cascades: a scorer whose judges are asked first, and a stronger role where they are unsure."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import Type
from tripos_compiler.resolve import Program
from tripos_compiler.source import Name, Number

WRITTEN = "scorer NAME(reply: text) by ROLE then STRONGER when unsure { …, samples 5, unsure below 0.8 }"


@dataclass(frozen=True)
class Cascade:
    """The stronger role of a scorer, and the share of equal verdicts below which it is asked."""

    role: str
    unsure_below: float


def lower_cascade(
    program: Program, statement: Statement, role: Name, samples: int, gives: Type | None
) -> Cascade | bool | None:
    """Return the cascade that a scorer is; None where it is none, and False, reported, where it is wrong."""
    stronger, unsure = statement.find("stronger"), statement.one_of("unsure")
    if not isinstance(stronger, Name):
        if unsure is None:
            return None
        message = "`unsure` says when a stronger role is asked, and there is none"
        program.diagnostics.error("E0206", message, unsure.head, help=f"write `{WRITTEN}`")
        return False
    if not program.is_declared("role", stronger):
        return False
    first, second = program.roles.get(role.text), program.roles.get(stronger.text)
    if second is not None and (second.kind == "compared" or stronger.text == role.text):
        message = f"`{stronger.text}` is no stronger judge: it is under test, or judges already"
        program.diagnostics.error("E0208", message, stronger.span, help="declare a role for the stronger judge")
        return False
    if gives is not None and gives.kind == "choice":
        message = "a cascade grades replies, and compares no two"
        program.diagnostics.error("E0301", message, stronger.span, help="let one role compare: `by ROLE`")
        return False
    if unsure is None:
        message = "nothing says when the judges are unsure"
        program.diagnostics.error("E0206", message, statement.head, help="write `unsure below 0.8`")
        return False
    if samples == 1 and first is not None and first.kind != "panel":
        message = "one verdict shows no agreement: a single judge that is asked once is never unsure"
        program.diagnostics.error("E0206", message, unsure.head, help="write `samples 5`, or declare the role `panel`")
        return False
    number = unsure.syntax("number")
    if not isinstance(number, Number) or not 0 < number.value <= 1:
        help_ = "write a share of verdicts, such as `unsure below 0.8`"
        program.diagnostics.error("E0301", "`unsure` must be above 0 and at most 1", number.span, help=help_)
        return False
    return Cascade(stronger.text, float(number.value))
