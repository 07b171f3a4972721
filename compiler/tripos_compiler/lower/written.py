"""Texts with holes as values: what a `let` of a file writes is the `join` of the parts of its texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from tripos_compiler.expressions import Elaborator
from tripos_compiler.lower.templates import HOLE
from tripos_compiler.plan import TextType
from tripos_compiler.program import Program
from tripos_compiler.semantics.library import shown
from tripos_compiler.source import Span
from tripos_compiler.syntax.parse import parse_hole
from tripos_compiler.syntax.tree import Argument, CallExpr, Group, Name, Node, Syntax, Text
from tripos_compiler.types import fits


def written(program: Program, value: Syntax) -> tuple[Syntax, tuple[Syntax, ...]] | None:
    """The value of a `let`, with every text that has holes as the call of `join` that it stands for; and what stands in
    the holes. None where a hole is malformed, which is reported."""
    mark = len(program.diagnostics.items)
    holes: list[Syntax] = []
    found = _rewritten(program, value, holes)
    return None if len(program.diagnostics.items) > mark else (found, tuple(holes))


def holds_texts(elaborator: Elaborator, holes: Sequence[Syntax]) -> bool:
    """Whether what stands in every hole is a text; reports the first that is none. A value of an axis is none, since
    what it is printed as depends on the language."""
    for hole in holes:
        typed = elaborator.expression(hole)
        if typed is None:
            return False
        report = elaborator.program.diagnostics.error
        if typed.type.kind == "optional":
            help_ = 'say what to print then: `{{ default(…, "none") }}`'
            report("E0306", "this may be missing, and would print nothing", hole.span, help=help_)
            return False
        if not fits(typed.type, TextType()) or (typed.type.kind == "choice" and typed.type.axis is not None):
            message = f"this is `{shown(typed.type)}`, and what a `let` writes is made of texts"
            help_ = "take a text as a parameter, or make one of it: `bullets(…)`, `join(…)`, `transcript(…)`"
            report("E0301", message, hole.span, help=help_)
            return False
    return True


def _rewritten(program: Program, value: Any, holes: list[Syntax]) -> Any:
    if isinstance(value, Text):
        return _joined(value, list(_parts(program, value, holes))) if "{{" in value.value else value
    if isinstance(value, tuple):
        return tuple(_rewritten(program, each, holes) for each in value)
    if not isinstance(value, Node):
        return value
    names = [each.name for each in fields(value) if each.name != "span"]
    return replace(value, **{name: _rewritten(program, getattr(value, name), holes) for name in names})


def _parts(program: Program, text: Text, holes: list[Syntax]) -> Iterator[Syntax]:
    """The parts of a text, in order: what stands between its holes, and in them."""
    end, source = 0, text.span.source
    for found in HOLE.finditer(text.value):
        yield from _between(text, end, found.start())
        end = found.end()
        elements = parse_hole(source, text, found.start(1), found.end(1), program.diagnostics)
        if elements is not None and len(elements) == 1:
            holes.append(elements[0])
            yield elements[0]
        elif elements is not None:
            span = Span(source, text.offsets[found.start()], text.offsets[found.end() - 1] + 1)
            help_ = "a hole holds one expression: `{{ question }}`"
            program.diagnostics.error("E0403", "this hole holds more than one expression", span, help=help_)
    rest = text.value.find("{{", end)
    if rest >= 0:
        span = Span(source, text.offsets[rest], text.offsets[rest] + 2)
        program.diagnostics.error("E0403", "this hole is never closed", span, help="close it with `}}`")
    yield from _between(text, end, len(text.value))


def _between(text: Text, start: int, end: int) -> Iterator[Syntax]:
    if end > start:
        yield Text(text.stretch(start, end), text.value[start:end], text.offsets)


def _joined(text: Text, parts: list[Syntax]) -> Syntax:
    nothing = Text(text.span, "", text.offsets)
    each = [Argument(part.span, None, (part,)) for part in parts]
    if len(each) < 2:  # a group of one would be no list
        each.append(Argument(text.span, None, (nothing,)))
    arguments = (Argument(text.span, None, (Group(text.span, tuple(each)),)), Argument(text.span, None, (nothing,)))
    return CallExpr(text.span, Name(text.span, "join"), arguments)
