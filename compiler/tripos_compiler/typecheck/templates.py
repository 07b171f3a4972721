"""Type checking of templates: texts whose holes are typed expressions, and the names that they refer to.

Also warns of holes in the notation of other template languages (`{name}`, `${name}`, `{% if name %}`), which would be
sent to the model unchanged. Braces occur in prompts for many reasons (JSON, LaTeX, code), so only a known name that is
alone between braces counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tripos_compiler.constructs.signature import Labels, Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.language.references import names_in
from tripos_compiler.library.types import MEDIA, element_type, holds_media, type_notation, without_optional
from tripos_compiler.plan import Hole, MetricsType, Passage, Ref, Template, Texts
from tripos_compiler.replies.text import late_pattern
from tripos_compiler.resolve.program import Program, Scope, Typed
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name, Syntax, Text, free_names
from tripos_compiler.syntax.parser import parse_hole
from tripos_compiler.typecheck.expressions import HOLE, Elaborator

# Holes of other template languages

PATH = r"(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
FORMAT = r"(?:![rsa])?(?::[<>=^]?[-+ ]?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%])?|\[\w+\]|\s*\|[^{}\n]*"
"""Format specifications of Python, and filters of other template languages."""
BRACES = late_pattern(rf"(?<![{{｛\\])[{{｛]\s*\$?{PATH}(?:{FORMAT})\s*[}}｝](?![}}｝])")
BLOCK = late_pattern(r"\{%(?P<inside>[^\n]*?)%\}")
NAMES = late_pattern(rf"(?<![\w.\"']){PATH}")
LATEX = late_pattern(r"(?:\\[A-Za-z]+\*?\s?(?:\[[^\]]*\])?(?:\{[^{}]*\})*|[\^_])\Z")
"""The text before braces that are an argument of LaTeX."""
SEEN_BEFORE = 80
"""Characters before a brace that are searched for LaTeX."""


def warn_of_foreign_holes(program: Program, scope: Scope, text: Text) -> None:
    """Warn of each name in a text that is written as a hole of another template language."""
    warned: set[str] = set()
    for start, end, meant in foreign_holes(text.value, scope):
        written = text.value[start:end]
        if written in warned:
            continue
        warned.add(written)
        span = Span(text.span.source, text.offsets[start], text.offsets[end - 1] + 1)
        help_ = f"write it as `{{{{ {meant} }}}}`"
        if written.startswith("{%"):
            help_ = f'let a text have a condition: `prompt "…" when {meant} …`; a value stands as `{{{{ {meant} }}}}`'
        message = f"`{written}` is no hole: the model is sent it as it stands"
        program.diagnostics.warning("W0405", message, span, help=help_)


def foreign_holes(text: str, scope: Scope) -> Iterator[tuple[int, int, str]]:
    """Yield the start and end of each foreign hole with a name in scope, or a field of one, and the name to write here.

    >>> from tripos_compiler.resolve.program import Binding
    >>> scope = {"item": Binding(("item",), fields={"hint": Binding(("item", "hint"))})}
    >>> list(foreign_holes('{"hint": 1} {item.hint} ${hint} {other}', scope))
    [(12, 23, 'item.hint'), (24, 31, 'item.hint')]
    """
    fields = {field: f"{name}.{field}" for name, binding in scope.items() for field in binding.fields}
    known = {**fields, **{name: name for name in scope}}
    own = [match.span() for match in HOLE.finditer(text)]
    for start, end, path in _foreign(text):
        first, _, rest = path.partition(".")
        if first in known and not any(begin < end and start < after for begin, after in own):
            yield start, end, ".".join(filter(None, (known[first], rest)))


def _foreign(text: str) -> Iterator[tuple[int, int, str]]:
    for match in BLOCK.finditer(text):
        for name in NAMES.finditer(match["inside"]):
            yield match.start(), match.end(), name["path"]
    for match in BRACES.finditer(text):
        if LATEX.search(text, max(0, match.start() - SEEN_BEFORE), match.start()) is None:
            start = match.start() - text.endswith("$", 0, match.start())
            yield start, match.end(), match["path"]


# Names that expressions and texts refer to


def free_variables_of(statement: Statement) -> Iterator[Name]:
    """Yield the names in the conditions, values and texts of a statement, without those of its block."""
    for key in ("cond", "value", "filter", "others", "start"):
        yield from free_names(statement.find(key))
    for _, text in statement.labels():
        yield from _in_holes(text)


def _in_holes(text: Text) -> Iterator[Name]:
    for hole in HOLE.finditer(text.value):
        elements = parse_hole(text.span.source, text, hole.start(1), hole.end(1), Diagnostics())
        for element in elements or ():
            yield from free_names(element)


# Templates


@dataclass(frozen=True)
class CheckedHole:
    """A hole of a lowered template and its place; or, with `condition`, the condition of a passage, whose outcome the
    text reveals.
    """

    typed: Typed
    span: Span
    condition: bool = False


@dataclass(frozen=True)
class LocalizedTemplate:
    """A template with its holes and the conditions of its passages, by language."""

    texts: Texts
    holes: dict[str, tuple[CheckedHole, ...]]

    def all_holes(self) -> list[CheckedHole]:
        """Return every hole and condition once."""
        return list({hole.span: hole for holes in self.holes.values() for hole in holes}.values())


WRONG_TEXTS = LocalizedTemplate({}, {})
"""Stands for texts with a mistake."""


@dataclass
class TextVariants:
    """Statements with the same condition: one text in several languages."""

    condition: Syntax | None
    statements: list[Statement]


def lower_texts(
    program: Program,
    scope: Scope,
    statements: list[Statement],
    what: str,
) -> LocalizedTemplate:
    """Return the template of `prompt` or `system` statements, at most one for each language and condition; without
    texts if one is wrong.
    """
    groups = list(_groups(statements))
    attempt = program.diagnostics.attempt()
    passages = [_group(program, scope, group, what) for group in groups]
    if attempt.failed:
        return WRONG_TEXTS
    if len(groups) == 1 and groups[0].condition is None:
        return passages[0]
    merged: Texts = {}
    holes: dict[str, tuple[CheckedHole, ...]] = {}
    for language in program.languages:
        parts: list[Passage] = []
        for passage in passages:
            template = passage.texts[language]
            parts += [part for part in template.parts if isinstance(part, Passage)]
            plain = tuple(part for part in template.parts if not isinstance(part, Passage))
            parts += [Passage(parts=plain)] if plain else []
        merged[language] = Template(parts=tuple(parts))
        holes[language] = tuple(hole for passage in passages for hole in passage.holes[language])
    return LocalizedTemplate(merged, holes)


def _groups(statements: list[Statement]) -> Iterable[TextVariants]:
    groups: dict[str, TextVariants] = {}
    for statement in statements:
        condition = statement.find("cond")
        key = condition.span.source.text[condition.span.start : condition.span.end] if condition else ""
        groups.setdefault(key, TextVariants(condition, [])).statements.append(statement)
    return groups.values()


def _group(program: Program, scope: Scope, group: TextVariants, what: str) -> LocalizedTemplate:
    """Lower the texts of one condition."""
    attempt = program.diagnostics.attempt()
    labels: Labels = [label for statement in group.statements for label in statement.labels()]
    texts = program.localised(labels, group.statements[0].head, what)
    lowered = {id(text): lower_template(program, scope, text) for _, text in labels}
    when = None if group.condition is None else Elaborator(program, scope).condition(group.condition)
    if attempt.failed or texts is None:
        return WRONG_TEXTS
    by_language: dict[str, tuple[Template, tuple[CheckedHole, ...]]] = {}
    for language, text in texts.items():
        template, holes = lowered[id(text)]
        if when is not None and group.condition is not None:
            plain = tuple(part for part in template.parts if not isinstance(part, Passage))
            template = Template(parts=(Passage(when=when.expr, parts=plain),))
            program.index.place(template.parts[0], group.condition.span)
            holes = tuple(replace(hole, typed=replace(hole.typed, may=hole.typed.under(when.expr))) for hole in holes)
            holes = (*holes, CheckedHole(when, group.condition.span, condition=True))
        by_language[language] = (template, holes)
    return LocalizedTemplate(
        {language: pair[0] for language, pair in by_language.items()},
        {language: pair[1] for language, pair in by_language.items()},
    )


def lower_template(program: Program, scope: Scope, text: Text) -> tuple[Template, tuple[CheckedHole, ...]]:
    """Return the template of a text and its holes, without the wrong ones."""
    parts: list[str | Hole] = []
    holes: list[CheckedHole] = []
    end = 0
    attempt = program.diagnostics.attempt()
    source = text.span.source
    program.index.scopes.append((text.span, scope))
    elaborator = Elaborator(program, scope)
    for match in HOLE.finditer(text.value):
        if match.start() > end:
            parts.append(text.value[end : match.start()])
        end = match.end()
        elements = parse_hole(source, text, match.start(1), match.end(1), program.diagnostics)
        span = Span(source, text.offsets[match.start()], text.offsets[match.end() - 1] + 1)
        if elements is None:
            continue
        if len(elements) != 1:
            help_ = "a hole holds one expression: `{{ item.question }}`"
            program.diagnostics.error("E0403", "this hole holds more than one expression", span, help=help_)
            continue
        typed = elaborator.expression(elements[0])
        if typed.is_error or not _printable(program, scope, typed, span):
            continue
        parts.append(Hole(expr=typed.expr, type=typed.type))
        program.index.place(parts[-1], span)
        holes.append(CheckedHole(typed, span))
    if not attempt.failed:
        warn_of_foreign_holes(program, scope, text)
    rest = text.value[end:]
    if "{{" in rest:
        start = end + rest.index("{{")
        span = Span(source, text.offsets[start], text.offsets[start] + 2)
        program.diagnostics.error("E0403", "this hole is never closed", span, help="close it with `}}`")
    if rest:
        parts.append(rest)
    return Template(parts=tuple(parts)), tuple(holes)


def _printable(program: Program, scope: Scope, typed: Typed, span: Span) -> bool:
    """Return true if a value can be printed; otherwise report it."""
    counted = "metrics" in names_in(typed.expr) and scope["metrics"].type == MetricsType()
    if counted and not isinstance(typed.expr, Ref):
        help_ = "write `{{ metrics }}`"
        program.diagnostics.error("E0301", "the metrics can only be printed", span, help=help_)
        return False
    if typed.type.kind == "tree":
        help_ = f"print its leaves: `{{{{ bullets(leaves({typed.type.tree})) }}}}`"
        program.diagnostics.error("E0301", "a whole tree cannot be printed", span, help=help_)
        return False
    bare = without_optional(typed.type)
    of = element_type(bare) or bare
    if of.kind in MEDIA:
        return True
    if holds_media(of):
        help_ = "print the image by itself: `{{ item.picture }}`"
        message = f"an image inside `{type_notation(typed.type)}` cannot be printed"
        program.diagnostics.error("E0301", message, span, help=help_)
        return False
    if typed.type.kind == "optional":
        help_ = 'give a text to print: `{{ default(…, "none") }}`'
        program.diagnostics.error("E0306", "this may be missing, and would print nothing", span, help=help_)
        return False
    return True
