"""Texts with holes in expressions, each as the call that joins its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.language.library import fits, type_notation
from tripos_compiler.plan import Literal_, TextType
from tripos_compiler.resolve import Typed
from tripos_compiler.source import Argument, CallExpr, Group, Name, Span, Syntax, Text
from tripos_compiler.syntax import parse_hole
from tripos_compiler.typing.checker import Checker

HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def text_value(checker: Checker, text: Text) -> Typed | None:
    """Return a text in an expression, with what its holes print."""
    if HOLE.search(text.value) is None:
        return Typed(Literal_(value=text.value), TextType())
    diagnostics = checker.program.diagnostics
    mark, holes = len(diagnostics.items), list[Syntax]()
    call = joined(text, holes, diagnostics)
    if len(diagnostics.items) > mark or not holds_texts(checker, holes):
        return None
    return checker.infer(call)


def joined(text: Text, holes: list[Syntax], diagnostics: Diagnostics) -> Syntax:
    """Return a text with holes as the call of `join` that it stands for. What stands in the holes is added to `holes`;
    one that is malformed is reported."""
    parts = list(_parts(text, holes, diagnostics))
    nothing = Text(text.span, "", text.offsets)
    each = [Argument(part.span, None, (part,)) for part in parts]
    if len(each) < 2:  # a group of one would be no list
        each.append(Argument(text.span, None, (nothing,)))
    arguments = (Argument(text.span, None, (Group(text.span, tuple(each)),)), Argument(text.span, None, (nothing,)))
    return CallExpr(text.span, Name(text.span, "join"), arguments)


def holds_texts(checker: Checker, holes: Sequence[Syntax]) -> bool:
    """Return true if what stands in every hole is a text; reports the first that is none. A value of an axis is none,
    since what it is printed as depends on the language."""
    for hole in holes:
        typed = checker.expression(hole)
        if typed is None:
            return False
        report = checker.program.diagnostics.error
        if typed.type.kind == "optional":
            help_ = 'give a text to print: `{{ default(…, "none") }}`'
            report("E0306", "this may be missing, and would print nothing", hole.span, help=help_)
            return False
        if not fits(typed.type, TextType()) or (typed.type.kind == "choice" and typed.type.axis is not None):
            message = f"this is `{type_notation(typed.type)}`, and what a text in an expression prints is a text"
            help_ = "take a text as a parameter, or make one of it: `bullets(…)`, `join(…)`, `transcript(…)`, `json(…)`"
            report("E0301", message, hole.span, help=help_)
            return False
    return True


def _parts(text: Text, holes: list[Syntax], diagnostics: Diagnostics) -> Iterator[Syntax]:
    """Yield the parts of a text, in order: what stands between its holes, and in them."""
    end, source = 0, text.span.source
    for found in HOLE.finditer(text.value):
        yield from _between(text, end, found.start())
        end = found.end()
        elements = parse_hole(source, text, found.start(1), found.end(1), diagnostics)
        if elements is not None and len(elements) == 1:
            holes.append(elements[0])
            yield elements[0]
        elif elements is not None:
            span = Span(source, text.offsets[found.start()], text.offsets[found.end() - 1] + 1)
            help_ = "a hole holds one expression: `{{ question }}`"
            diagnostics.error("E0403", "this hole holds more than one expression", span, help=help_)
    rest = text.value.find("{{", end)
    if rest >= 0:
        span = Span(source, text.offsets[rest], text.offsets[rest] + 2)
        diagnostics.error("E0403", "this hole is never closed", span, help="close it with `}}`")
    yield from _between(text, end, len(text.value))


def _between(text: Text, start: int, end: int) -> Iterator[Syntax]:
    if end > start:
        yield Text(text.stretch(start, end), text.value[start:end], text.offsets)
