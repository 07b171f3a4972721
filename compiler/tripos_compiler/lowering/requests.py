"""Lowering of requests to a model: texts, reply type and settings, for asks, generated data sets and walks.

A setting can have several lines with conditions, of which the first that holds counts. Lines that can never count are
reported, and so are values that no line covers. Conditions are tried with all values of the axes, choices and truth
values they refer to. Any other comparison may hold or not, independently of everything else, so a line is reported only
if nothing can make it count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import CONSTRUCTS, SETTINGS, Setting
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import paths_in, subexpressions
from tripos_compiler.library.types import holds_media
from tripos_compiler.lowering.call_counts import is_evaluable
from tripos_compiler.lowering.reply_forms import warn_of_two_forms
from tripos_compiler.plan import (
    RESERVED,
    Binary,
    DeclaredSettings,
    Expr,
    Extra,
    RecordType,
    SettingCase,
    Settings,
    Type,
    Unary,
    canonical,
)
from tripos_compiler.replies.text import nfkc
from tripos_compiler.resolve.program import ERROR_TYPE, Binding, Program, Scope, has_skipped_part
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.tree import Name, Number, Text
from tripos_compiler.typecheck.expressions import check_condition
from tripos_compiler.typecheck.templates import CheckedHole, LocalizedTemplate, lower_texts
from tripos_compiler.typecheck.types import read_type, record_type, type_parts

# Lines of a setting that never count

MOST_TRIED = 4096
"""The most combinations of values that are tried; with more, nothing is checked."""
CUMULATIVE = "stop"
"""The setting of which every line that holds counts."""
MOST_SHOWN = 5
"""The most values that a message lists."""

Path = tuple[str, ...]
Try = Mapping[Path | bytes, Any]
"""A value for each name, and for each other comparison, by its canonical form, whether it holds."""


@dataclass(frozen=True)
class ConditionalLine:
    """A line of a setting. `when` is its condition; None without one, or if it is wrong."""

    statement: Statement
    when: Expr | None


@dataclass(frozen=True)
class RowSelection:
    """The rows of the requests: their name, and the condition that selects them."""

    alias: str | None = None
    where: Expr | None = None


ANY_ROWS = RowSelection()


def check_lines(
    program: Program, scope: Scope, name: str, lines: Sequence[ConditionalLine], rows: RowSelection
) -> None:
    """Report lines of a setting that never count, and warn of values that several lines leave out."""
    last = next(
        (place for place, conditional_line in enumerate(lines) if conditional_line.statement.find("cond") is None), None
    )
    if name != CUMULATIVE and last is not None:
        above = Label(lines[last].statement.head, "this counts for all that is left")
        for line in lines[last + 1 :]:
            help_ = "put it above the line without `when`"
            message = f"this `{name}` never counts: the line above it has no condition"
            program.diagnostics.error("E0608", message, line.statement.head, above, help=help_)
        lines = lines[: last + 1]
    cases = [conditional_line for conditional_line in lines if conditional_line.statement.find("cond") is not None]
    if not cases or any(conditional_line.when is None for conditional_line in cases):
        return
    conditions = [conditional_line.when for conditional_line in cases if conditional_line.when is not None]
    tried = _tried(scope, conditions, rows) or _tried(scope, conditions, RowSelection(rows.alias))
    if tried:
        _check_tried(program, name, lines, cases, tried)


def _check_tried(
    program: Program,
    name: str,
    lines: Sequence[ConditionalLine],
    cases: Sequence[ConditionalLine],
    tried: Sequence[tuple[Try, Sequence[bool]]],
) -> None:
    """Report lines that never count in any of the tried combinations, and warn of uncovered values."""
    ever = [any(held[place] for _, held in tried) for place in range(len(cases))]
    first = {next((place for place, holds in enumerate(held) if holds), None) for _, held in tried}
    counts = ever if name == CUMULATIVE else [place in first for place in range(len(cases))]
    for place, line in enumerate(cases):
        if not ever[place]:
            message, help_ = f"this `{name}` never counts: its condition cannot hold", "fix the condition"
            program.diagnostics.error("E0608", message, line.statement.head, help=help_)
        elif not counts[place]:
            message = f"this `{name}` never counts: a line above it holds wherever it does"
            above = Label(cases[0].statement.head, "the first line that holds counts")
            help_ = "put it above the others, or remove it"
            program.diagnostics.error("E0608", message, line.statement.head, above, help=help_)
    if name == CUMULATIVE or not all(counts):
        return
    if len(lines) > len(cases) and None not in first:
        message = f"this `{name}` never counts: the lines above it are for every value"
        help_ = "remove it, or one of the conditions"
        program.diagnostics.error("E0608", message, lines[-1].statement.head, help=help_)
    elif len(lines) == len(cases) > 1 and None in first:
        left = _left_out(tried)
        if left:
            message = f"no `{name}` is for {left}: it is left to the model there"
            help_ = f"name the values, or write a last `{name}` without `when`"
            program.diagnostics.warning("W0613", message, cases[-1].statement.head, help=help_)


def _left_out(tried: Sequence[tuple[Try, Sequence[bool]]]) -> str | None:
    """Return the values of a name that no line covers; None if more than one name decides."""
    paths = {path for attempt, _ in tried for path in attempt}
    if len(paths) != 1 or not isinstance(path := next(iter(paths)), tuple):
        return None
    values = list(dict.fromkeys(attempt[path] for attempt, held in tried if not any(held)))
    text = ", ".join(f"`{str(value).lower() if isinstance(value, bool) else value}`" for value in values[:MOST_SHOWN])
    return f"{text} and {len(values) - MOST_SHOWN} more" if len(values) > MOST_SHOWN else text


def _tried(scope: Scope, conditions: Sequence[Expr], rows: RowSelection) -> list[tuple[Try, Sequence[bool]]] | None:
    """Return the outcome of each condition for all possible rows, by the values that the conditions depend on.

    Returns None if there are too many combinations, or if a condition is undefined.
    """
    types = dict(_types(scope.values()))
    axes = {path: path[1:] for path, type_ in types.items() if _is_axis_field(path, type_, rows) and path[1:] in types}
    own = _names_tried(conditions, types, axes)
    values = {**own, **_names_tried(() if rows.where is None else (rows.where,), types, axes)}
    if math.prod(map(len, values.values())) > MOST_TRIED:
        return None
    tried: list[tuple[Try, Sequence[bool]]] = []
    try:
        for chosen in product(*values.values()):
            attempt = dict(zip(values, chosen, strict=True))
            names = _names({**attempt, **{path: attempt[axis] for path, axis in axes.items() if axis in attempt}})
            if rows.where is None or _holds(rows.where, attempt, names):
                held = [_holds(condition, attempt, names) for condition in conditions]
                tried.append(({key: attempt[key] for key in own}, held))
    except Unavailable:
        return None
    return tried


def _names_tried(
    conditions: Sequence[Expr], types: Mapping[Path, Type], axes: Mapping[Path, Path]
) -> dict[Path | bytes, Sequence[Any]]:
    """Return the names that conditions refer to, each with all its values. Any other comparison may hold or not."""
    values: dict[Path | bytes, Sequence[Any]] = {}
    for part in (part for condition in conditions for part in _comparisons(condition)):
        known = {path: _values(types.get(path)) for path in paths_in(part)}
        if None in known.values() or not all(map(is_evaluable, subexpressions(part))):
            values[_key(part)] = (False, True)
        else:
            values.update({axes.get(path, path): value for path, value in known.items() if value is not None})
    return values


def _is_axis_field(path: Path, type_: Type, rows: RowSelection) -> bool:
    """Return true for the field of a row that has the row's value of an axis."""
    return len(path) == 2 and path[0] == rows.alias and type_.kind == "choice" and type_.axis == path[1]


def _comparisons(expr: Expr) -> Iterator[Expr]:
    """Yield the operands of `and`, `or` and `not`, recursively."""
    match expr:
        case Unary(operator="not", value=value):
            yield from _comparisons(value)
        case Binary(operator="and" | "or", left=left, right=right):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case _:
            yield expr


def _holds(expr: Expr, attempt: Try, names: Mapping[str, Any]) -> bool:
    match expr:
        case Unary(operator="not", value=value):
            return not _holds(value, attempt, names)
        case Binary(operator="and", left=left, right=right):
            return _holds(left, attempt, names) and _holds(right, attempt, names)
        case Binary(operator="or", left=left, right=right):
            return _holds(left, attempt, names) or _holds(right, attempt, names)
    chosen = attempt.get(_key(expr))
    return bool(evaluate(expr, names)) if chosen is None else bool(chosen)


def _key(expr: Expr) -> bytes:
    return canonical(expr.model_dump(mode="json"))


def _names(attempt: Try) -> dict[str, Any]:
    """Return values by name, with dotted names as nested records."""
    names: dict[str, Any] = {}
    for path, value in attempt.items():
        at = names
        if isinstance(path, tuple):
            for part in path[:-1]:
                at = at.setdefault(part, {})
            at[path[-1]] = value
    return names


def _types(bindings: Iterator[Binding] | Any) -> Iterator[tuple[Path, Type]]:
    for binding in bindings:
        if binding.type is not None and binding.value is None:
            yield binding.path, binding.type
        yield from _types(binding.fields.values())


def _values(type_: Type | None) -> Sequence[Any] | None:
    """Return all values of a choice or truth value; None for other types."""
    if type_ is None:
        return None
    return type_.values if type_.kind == "choice" else (False, True) if type_.kind == "bool" else None


# Settings

TRUTH = {"true": True, "false": False}
COUNTED = ("samples", "repeats")
"""The constructs of an ask and of a judge that are written `samples COUNT`."""


@dataclass(frozen=True)
class LoweredSettings:
    """The settings of a block, and the conditions they depend on, which they reveal to the model."""

    declared: DeclaredSettings
    conditions: tuple[CheckedHole, ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The conditions as expressions."""
        return tuple(condition.typed.expr for condition in self.conditions)


@dataclass
class _ReadSettings:
    """The settings of a block while they are read."""

    program: Program
    scope: Scope
    cases: list[SettingCase] = field(default_factory=list)
    conditions: dict[str, CheckedHole] = field(default_factory=dict)
    """By source text: the same condition is one condition, whatever settings have it."""

    def condition(self, statement: Statement) -> Expr | None:
        """Return the condition of a line; None without one, or if it is wrong."""
        node = statement.find("cond")
        if node is None:
            return None
        text = node.span.source.text[node.span.start : node.span.end]
        if text not in self.conditions:
            typed = check_condition(self.program, node, self.scope)
            if typed.is_error:
                return None
            self.conditions[text] = CheckedHole(typed, node.span, condition=True)
        return self.conditions[text].typed.expr

    def add(self, name: str, value: Any, when: Expr | None, language: str | None = None) -> None:
        """Add a case of a setting."""
        self.cases.append(SettingCase(name=name, settings=Settings(**{name: value}), language=language, when=when))


def lower_settings(
    program: Program, scope: Scope, statement: Statement, rows: RowSelection = ANY_ROWS
) -> LoweredSettings:
    """Return the settings in a block, without those that are wrong. Checks `samples` too."""
    for name in COUNTED:
        _in_range(program, statement.one_of(name), Setting("COUNT", "", 1))
    settings: dict[str, Any] = {}
    reading = _ReadSettings(program, scope)
    for name, setting in SETTINGS.items():
        lines: list[ConditionalLine] = []
        for written in statement.of(name):
            when = reading.condition(written)
            lines.append(ConditionalLine(written, when))
            if name == "stop":
                _lower_stop(reading, written, when, settings)
            elif (value := _value(program, name, setting, written)) is None:
                continue
            elif written.find("cond") is None:
                settings[name] = value
            elif when is not None:
                reading.add(name, value, when)
        check_lines(program, scope, name, lines, rows)
    return LoweredSettings(DeclaredSettings(**settings, cases=tuple(reading.cases)), tuple(reading.conditions.values()))


def _value(program: Program, name: str, setting: Setting, written: Statement) -> Any:
    """Return the value in a line. Reports one that no model accepts and returns None."""
    if name == "provider":
        return _record(program, written.body, outermost=True)
    if setting.words:
        return next(word for word in setting.words if written.has(word))
    return _in_range(program, written, setting)


def _lower_stop(reading: _ReadSettings, stop: Statement, when: Expr | None, settings: dict[str, Any]) -> None:
    """Add the stop texts: for every request, or for those of a language or condition."""
    labels = stop.labels()
    for _, text in labels:
        if not text.value:
            message, help_ = "every reply would end at once: this text is empty", 'write the text: `stop "\\n"`'
            reading.program.diagnostics.error("E0301", message, text.span, help=help_)
    texts = reading.program.localised(labels, stop.head, "`stop`")
    if any(language is not None for language, _ in labels):
        for language, text in (texts or {}).items():
            reading.add("stop", (text.value,), when, language)
    elif stop.find("cond") is not None:
        reading.add("stop", tuple(text.value for _, text in labels[:1]), when)
    else:
        settings["stop"] = (*settings.get("stop", ()), *(text.value for _, text in labels[:1]))


def _in_range(program: Program, statement: Statement | None, setting: Setting) -> int | float | None:
    """Return the number in a statement. Reports one that no model accepts and returns None."""
    number = None if statement is None else statement.find("number") or statement.find("count")
    if statement is None or not isinstance(number, Number):
        return None
    least, most = setting.least, setting.most
    if (least is None or number.value >= least) and (most is None or number.value <= most):
        return number.value
    bounds = f"{least:g} or more" if most is None else f"between {least:g} and {most:g}"
    nearest = least if least is not None and number.value < least else most
    text = "samples" if statement.construct in COUNTED else statement.construct
    message = f"`{text}` must be {bounds}"
    help_ = f"write `{text} {nearest:g}`, or leave it out"
    program.diagnostics.error("E0301", message, number.span, help=help_, recovered=True)
    return None


BOUNDED_COUNTS = {construct.name: construct for construct in CONSTRUCTS if construct.counts is not None}


def count_of(program: Program, statement: Statement) -> int:
    """Return the `COUNT` of a statement; the least for one out of the bounds of its construct, which is reported."""
    construct, count = BOUNDED_COUNTS[statement.construct], statement.syntax("count")
    assert construct.counts is not None
    least, most = construct.counts
    value = int(count.value) if isinstance(count, Number) else least - 1
    if least <= value and (most is None or value <= most):
        return value
    word = construct.starts_with
    if most is None:
        help_ = f"write `{word} {least} …`"
        program.diagnostics.error("E0301", f"`{word}` must be {least:g} or more", count.span, help=help_)
    else:
        message = f"`{word}` must be between {least:g} and {most:g}"
        program.diagnostics.error("E0803", message, count.span, help=f"write a number up to {most}")
    return least


def lower_samples(statement: Statement) -> int:
    """Return the number of replies that a block requests, of each sample of the step that it names; 1 by default."""
    samples = next((clause for name in COUNTED if (clause := statement.one_of(name)) is not None), None)
    count = samples.syntax("count") if samples else None
    return max(1, int(count.value)) if isinstance(count, Number) else 1


def _record(program: Program, written: Sequence[Statement], *, outermost: bool = False) -> tuple[Extra, ...]:
    """Return the provider's own fields, sorted by name because a record has no order. Reports mistakes."""
    extras: dict[str, Extra] = {}
    for statement in written:
        name, value = statement.name(), statement.find("value")
        if outermost and name.text in SETTINGS:
            message, help_ = f"`{name.text}` is a setting of its own", f"write `{name.text} …` beside `provider`"
            program.diagnostics.error("E0207", message, name.span, help=help_)
        elif outermost and name.text in RESERVED:
            message, help_ = f"`{name.text}` is what Tripos says in a request itself", "remove it"
            help_ = "write `samples COUNT` in the block of the step" if name.text == "n" else help_
            program.diagnostics.error("E0207", message, name.span, help=help_)
        elif name.text in extras:
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
            extras[name.text] = extra
    return tuple(extras[name] for name in sorted(extras))


# Requests


@dataclass(frozen=True)
class Request:
    """A checked request: texts, reply type and settings."""

    system: LocalizedTemplate | None
    prompt: LocalizedTemplate | None
    returns: Type | None
    lowered: LoweredSettings

    @property
    def settings(self) -> DeclaredSettings:
        """Its settings."""
        return self.lowered.declared

    @property
    def revealed_holes(self) -> list[CheckedHole]:
        """The holes and conditions whose values the request reveals to the role."""
        return [hole for part in (self.prompt, self.system) if part is not None for hole in part.all_holes()]


def lower_request(program: Program, scope: Scope, statement: Statement, rows: RowSelection = ANY_ROWS) -> Request:
    """Return the request of a block with `prompt`, `system`, `returns` and settings.

    Whether a prompt is required is checked by the caller.
    """
    prompts, systems = statement.of("prompt"), statement.of("system")
    attempt = program.diagnostics.attempt()
    prompt = lower_texts(program, scope, prompts, "the prompt") if prompts else None
    system = lower_texts(program, scope, systems, "the system message") if systems else None
    if has_skipped_part(program, statement):
        attempt.discard("E0402")  # the skipped part may be the text in the other language
    returns = lower_returns(program, statement)
    request = Request(system, prompt, returns, lower_settings(program, scope, statement, rows))
    if statement.construct == "ask" and returns not in (None, ERROR_TYPE):
        texts = [text for written in (*systems, *prompts) for _, text in written.labels()]
        warn_of_two_forms(program, texts, request.revealed_holes, statement.name().text, returns)
    return request


def lower_returns(program: Program, statement: Statement) -> Type | None:
    """Return the type of the reply; None for plain text."""
    returns = statement.one_of("returns")
    if returns is None:
        return None
    node = returns.find("type")
    if (node is None) != (returns.block is None):
        if node is not None:
            type_ = read_type(program, node)
        else:
            assert returns.block is not None
            type_ = record_type(program, returns.body, returns.block.span)
        if type_ is None:
            return ERROR_TYPE
        if holds_media(type_):
            help_ = "let it return what it says of one, as a text or a choice"
            message = "a model replies with no image, recording or file"
            program.diagnostics.error("E0302", message, returns.head, help=help_)
            return ERROR_TYPE
        form = next((part.form for part in type_parts(type_) if part.kind == "json" and part.form != "json"), None)
        if form is not None:
            message, help_ = f"a reply is not read as `{form}`", "write `json`, and read its parts by `json_part(…)`"
            program.diagnostics.error("E0302", message, returns.head, help=help_)
            return ERROR_TYPE
        alike = next((pair for part in type_parts(type_) for pair in fields_read_alike(part)), None)
        if alike is not None:
            message = f"`{alike[0]}` and `{alike[1]}` are one field to the reader of a reply"
            help_ = "rename one: case, spaces and punctuation tell no fields apart"
            program.diagnostics.error("E0202", message, returns.head, help=help_)
            return ERROR_TYPE
        return type_
    help_ = "write `returns TYPE` or `returns { field type }`"
    program.diagnostics.error("E0106", "`returns` takes a type or a block", returns.head, help=help_)
    return ERROR_TYPE


def fields_read_alike(type_: Type) -> Iterator[tuple[str, str]]:
    """Yield pairs of fields whose names a reply does not distinguish: case, spaces and punctuation are ignored."""
    seen: dict[str, str] = {}
    for name in type_.fields if type_.kind == "record" else ():
        folded = re.sub(r"[\W_]+", "", nfkc(name).casefold())
        first = seen.setdefault(folded, name)
        if first != name:
            yield first, name


def returned_record(program: Program, statement: Statement, returns: Type | None) -> RecordType | None:
    """Return the record that a role must return to write rows; None for other types."""
    if returns is ERROR_TYPE:
        return None
    if returns is not None and returns.kind == "record":
        return returns
    written = statement.one_of("returns")
    help_ = "write `returns { field type }`, a field a line"
    lacking = statement.block.span if statement.block is not None and written is None else None
    where = written.head if written is not None else statement.head
    message = "rows need fields, and this returns none"
    program.diagnostics.error("E0206", message, where, help=help_, lacking=lacking)
    return None
