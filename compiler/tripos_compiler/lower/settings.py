"""Lowers the settings of a question: what each says, within the numbers that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.constructs.settings import SETTINGS, Setting
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.plan import Extra, Settings
from tripos_compiler.plan.settings import RESERVED
from tripos_compiler.program import Program
from tripos_compiler.syntax.tree import Name, Number, Text

TRUTH = {"true": True, "false": False}


def lower_settings(program: Program, statement: Statement) -> Settings:
    """The settings in a block. What no model takes is reported, and left out; `samples` is looked at here too."""
    _in_range(program, statement.one_of("samples"), Setting("COUNT", "", 1))
    found: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        written = statement.of(name)
        if not written:
            continue
        if name == "provider":
            found[name] = _record(program, written[0].body, outermost=True)
        elif "string" in written[0].values:
            found[name] = tuple(each.text("string").value for each in written)
        elif setting.words:
            found[name] = next(word for word in setting.words if written[0].has(word))
        elif (number := _in_range(program, written[0], setting)) is not None:
            found[name] = number
    return Settings(**found)


def _in_range(program: Program, statement: Statement | None, setting: Setting) -> int | float | None:
    """The number of a statement; None, reported, where no model takes it."""
    number = None if statement is None else statement.find("number") or statement.find("count")
    if statement is None or not isinstance(number, Number):
        return None
    least, most = setting.least, setting.most
    if (least is None or number.value >= least) and (most is None or number.value <= most):
        return number.value
    bounds = f"{least:g} or more" if most is None else f"between {least:g} and {most:g}"
    nearest = least if least is not None and number.value < least else most
    message = f"`{statement.construct}` must be {bounds}"
    help_ = f"write `{statement.construct} {nearest:g}`, or leave it out"
    program.diagnostics.error("E0301", message, number.span, help=help_)
    return None


def _record(program: Program, written: Sequence[Statement], *, outermost: bool = False) -> tuple[Extra, ...]:
    """The fields of the provider's own, in order of name, since a record has none; what is wrong is reported."""
    found: dict[str, Extra] = {}
    for statement in written:
        name, value = statement.name(), statement.find("value")
        if outermost and name.text in SETTINGS:
            message, help_ = f"`{name.text}` is a setting of its own", f"write `{name.text} …` beside `provider`"
            program.diagnostics.error("E0207", message, name.span, help=help_)
        elif outermost and name.text in RESERVED:
            message, help_ = f"`{name.text}` is what Tripos says in a request itself", "remove it"
            help_ = "write `samples COUNT` in the block of the step" if name.text == "n" else help_
            program.diagnostics.error("E0207", message, name.span, help=help_)
        elif name.text in found:
            message = f"`{name.text}` is given twice"
            program.diagnostics.error("E0202", message, name.span, help="keep one of them")
        elif (value is None) == (statement.block is None):
            message = f"`{name.text}` has {'no value' if value is None else 'a value and a block'}"
            help_ = 'write `NAME "text"`, `NAME 1.5`, `NAME true` or `NAME { … }`'
            program.diagnostics.error("E0106", message, statement.head, help=help_)
        else:
            match value:
                case None:
                    extra = Extra(name=name.text, record=_record(program, statement.body))
                case Text():
                    extra = Extra(name=name.text, text=value.value)
                case Number():
                    extra = Extra(name=name.text, number=value.value)
                case Name() if value.text in TRUTH:
                    extra = Extra(name=name.text, truth=TRUTH[value.text])
                case _:
                    message, help_ = "this is no text, number or truth value", 'write `"…"`, `1.5`, `true` or `false`'
                    program.diagnostics.error("E0301", message, value.span, help=help_)
                    continue
            found[name.text] = extra
    return tuple(found[name] for name in sorted(found))
