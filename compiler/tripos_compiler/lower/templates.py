"""Strings to templates: every hole is an expression with a type."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tripos_compiler.constructs.signature import Labels, Statement
from tripos_compiler.expressions import Elaborator, Scope, Typed
from tripos_compiler.plan import Hole, MetricsType, Ref, Template, Texts
from tripos_compiler.program import Program
from tripos_compiler.semantics.contexts import names_in
from tripos_compiler.source import Span
from tripos_compiler.syntax.parse import parse_hole
from tripos_compiler.syntax.tree import Text

HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


@dataclass(frozen=True)
class FilledHole:
    """A hole of a lowered template, and where it stands."""

    typed: Typed
    span: Span


@dataclass(frozen=True)
class Localised:
    """A template in every language, with its holes by language."""

    texts: Texts
    holes: dict[str, tuple[FilledHole, ...]]


def lower_texts(program: Program, scope: Scope, statements: list[Statement], what: str) -> Localised | None:
    """The template of `prompt` or `system` statements, one a language. None where any is wrong."""
    labels: Labels = [label for statement in statements for label in statement.labels()]
    texts = program.localised(labels, statements[0].head, what)
    lowered = {id(text): lower_template(program, scope, text) for _, text in labels}
    if texts is None or any(template is None for template in lowered.values()):
        return None
    found: dict[str, tuple[Template, tuple[FilledHole, ...]]] = {}
    for language, text in texts.items():
        pair = lowered[id(text)]
        assert pair is not None
        found[language] = pair
    return Localised(
        {language: pair[0] for language, pair in found.items()},
        {language: pair[1] for language, pair in found.items()},
    )


def lower_template(program: Program, scope: Scope, text: Text) -> tuple[Template, tuple[FilledHole, ...]] | None:
    """The template of a string, and its holes. None, reported, where a hole is wrong."""
    parts: list[str | Hole] = []
    holes: list[FilledHole] = []
    end = 0
    good = True
    source = text.span.source
    elaborator = Elaborator(program, scope)
    for found in HOLE.finditer(text.value):
        if found.start() > end:
            parts.append(text.value[end : found.start()])
        end = found.end()
        elements = parse_hole(source, text, found.start(1), found.end(1), program.diagnostics)
        span = Span(source, text.offsets[found.start()], text.offsets[found.end() - 1] + 1)
        if elements is None:
            good = False
            continue
        if len(elements) != 1:
            help_ = "a hole holds one expression: `{{ item.question }}`"
            program.diagnostics.error("E0403", "this hole holds more than one expression", span, help=help_)
            good = False
            continue
        typed = elaborator.expression(elements[0])
        if typed is None:
            good = False
            continue
        counted = "metrics" in names_in(typed.expr) and scope["metrics"].type == MetricsType()
        if counted and not isinstance(typed.expr, Ref):
            help_ = "write `{{ metrics }}`"
            program.diagnostics.error("E0301", "the metrics can only be printed", span, help=help_)
            good = False
            continue
        if typed.type.kind == "optional":
            help_ = 'say what to print then: `{{ default(…, "none") }}`'
            program.diagnostics.error("E0306", "this may be missing, and would print nothing", span, help=help_)
            good = False
            continue
        parts.append(Hole(expr=typed.expr, type=typed.type))
        holes.append(FilledHole(typed, span))
    rest = text.value[end:]
    if "{{" in rest:
        start = end + rest.index("{{")
        span = Span(source, text.offsets[start], text.offsets[start] + 2)
        program.diagnostics.error("E0403", "this hole is never closed", span, help="close it with `}}`")
        good = False
    if rest:
        parts.append(rest)
    return (Template(parts=tuple(parts)), tuple(holes)) if good else None
