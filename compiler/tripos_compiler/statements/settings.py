"""Settings of requests: for all of them, or for those of a language or a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from tripos_compiler.constructs import SETTINGS, Setting, Statement
from tripos_compiler.plan import RESERVED, DeclaredSettings, Expr, Extra, SettingCase, Settings
from tripos_compiler.resolve import Program, Scope
from tripos_compiler.source import Name, Number, Text, dataclass
from tripos_compiler.statements.setting_cases import ANY_ROWS, ConditionalLine, RowsAsked, check_lines
from tripos_compiler.typing import Elaborator, FilledHole

TRUTH = {"true": True, "false": False}
COUNTED = ("samples", "repeats")
"""The constructs that are written `samples COUNT`: of an ask, and of a judge."""


@dataclass(frozen=True)
class LoweredSettings:
    """The settings of a block, and the conditions by which they differ, which whoever is asked is told by them."""

    declared: DeclaredSettings
    conditions: tuple[FilledHole, ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The conditions alone."""
        return tuple(each.typed.expr for each in self.conditions)


@dataclass
class _ReadSettings:
    """What was read of the settings of a block. `lines` are those of one setting, in their order."""

    program: Program
    scope: Scope
    cases: list[SettingCase] = field(default_factory=list)
    conditions: dict[str, FilledHole] = field(default_factory=dict)
    """By how they are written: a condition is one, however many settings it stands at."""
    sound: bool = True

    def condition(self, statement: Statement) -> Expr | None:
        """Return the condition of a line; None where it has none, or a wrong one, which is reported."""
        written = statement.find("cond")
        if written is None:
            return None
        text = written.span.source.text[written.span.start : written.span.end]
        if text not in self.conditions:
            self.program.index.scopes.append((written.span, self.scope))
            typed = Elaborator(self.program, self.scope).condition(written)
            if typed is None:
                self.sound = False
                return None
            self.conditions[text] = FilledHole(typed, written.span, condition=True)
        return self.conditions[text].typed.expr

    def add(self, name: str, value: Any, when: Expr | None, language: str | None = None) -> None:
        """Add a case of a setting."""
        self.cases.append(SettingCase(name=name, settings=Settings(**{name: value}), language=language, when=when))


def lower_settings(
    program: Program, scope: Scope, statement: Statement, rows: RowsAsked = ANY_ROWS
) -> LoweredSettings | None:
    """Return the settings in a block; None where a condition is wrong. A value that no model takes is reported, and
    left out; `samples` is looked at here too."""
    for name in COUNTED:
        _in_range(program, statement.one_of(name), Setting("COUNT", "", 1))
    found: dict[str, Any] = {}
    reading = _ReadSettings(program, scope)
    for name, setting in SETTINGS.items():
        lines: list[ConditionalLine] = []
        for written in statement.of(name):
            when = reading.condition(written)
            lines.append(ConditionalLine(written, when))
            if name == "stop":
                _lower_stop(reading, written, when, found)
            elif (value := _value(program, name, setting, written)) is None:
                continue
            elif written.find("cond") is None:
                found[name] = value
            elif when is not None:
                reading.add(name, value, when)
        if reading.sound:
            check_lines(program, scope, name, lines, rows)
    if not reading.sound:
        return None
    return LoweredSettings(DeclaredSettings(**found, cases=tuple(reading.cases)), tuple(reading.conditions.values()))


def _value(program: Program, name: str, setting: Setting, written: Statement) -> Any:
    """Return the value in a line; None, reported, where no model takes it."""
    if name == "provider":
        return _record(program, written.body, outermost=True)
    if setting.words:
        return next(word for word in setting.words if written.has(word))
    return _in_range(program, written, setting)


def _lower_stop(reading: _ReadSettings, stop: Statement, when: Expr | None, found: dict[str, Any]) -> None:
    """Add the texts at which a reply ends: one for every request, or for those of a language or a condition."""
    labels = stop.labels()
    texts = reading.program.localised(labels, stop.head, "`stop`")
    if any(language is not None for language, _ in labels):
        for language, text in (texts or {}).items():
            reading.add("stop", (text.value,), when, language)
    elif stop.find("cond") is not None:
        reading.add("stop", tuple(text.value for _, text in labels[:1]), when)
    else:
        found["stop"] = (*found.get("stop", ()), *(text.value for _, text in labels[:1]))


def _in_range(program: Program, statement: Statement | None, setting: Setting) -> int | float | None:
    """Return the number of a statement; None, reported, where no model takes it."""
    number = None if statement is None else statement.find("number") or statement.find("count")
    if statement is None or not isinstance(number, Number):
        return None
    least, most = setting.least, setting.most
    if (least is None or number.value >= least) and (most is None or number.value <= most):
        return number.value
    bounds = f"{least:g} or more" if most is None else f"between {least:g} and {most:g}"
    nearest = least if least is not None and number.value < least else most
    written = "samples" if statement.construct in COUNTED else statement.construct
    message = f"`{written}` must be {bounds}"
    help_ = f"write `{written} {nearest:g}`, or leave it out"
    program.diagnostics.error("E0301", message, number.span, help=help_)
    return None


def lower_samples(statement: Statement) -> int:
    """Return how many replies a block asks for, 1 where it does not say."""
    samples = next((found for name in COUNTED if (found := statement.one_of(name)) is not None), None)
    count = samples.syntax("count") if samples else None
    return max(1, int(count.value)) if isinstance(count, Number) else 1


def _record(program: Program, written: Sequence[Statement], *, outermost: bool = False) -> tuple[Extra, ...]:
    """Return the fields of the provider's own, in order of name, since a record has none; what is wrong is reported."""
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
