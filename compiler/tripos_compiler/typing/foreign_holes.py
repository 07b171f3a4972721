"""Holes of other template languages in a prompt, `{name}`, `${name}`, `{% if name %}`, which go out as they stand.

Braces are in prompts for many reasons: examples of JSON, LaTeX, code. So only a name that the spec knows counts, and
only where it stands alone between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.resolve import Program, Scope
from tripos_compiler.source import Span, Text
from tripos_compiler.typing.texts import HOLE

PATH = r"(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
FORMAT = r"(?:![rsa])?(?::[<>=^]?[-+ ]?#?0?\d*[,_]?(?:\.\d+)?[bcdeEfFgGnosxX%])?|\[\w+\]|\s*\|[^{}\n]*"
"""How Python formats a value, and what filters of other languages look like."""
BRACES = late_pattern(rf"(?<![{{｛\\])[{{｛]\s*\$?{PATH}(?:{FORMAT})\s*[}}｝](?![}}｝])")
BLOCK = late_pattern(r"\{%(?P<inside>[^\n]*?)%\}")
NAMES = late_pattern(rf"(?<![\w.\"']){PATH}")
LATEX = late_pattern(r"(?:\\[A-Za-z]+\*?\s?(?:\[[^\]]*\])?(?:\{[^{}]*\})*|[\^_])\Z")
"""Stands before braces that hold an argument of LaTeX."""
SEEN_BEFORE = 80
"""Characters before a brace that tell whether it is one of LaTeX."""


def warn_of_foreign_holes(program: Program, scope: Scope, text: Text) -> None:
    """Warn of each name in a text that is written as a hole of another language."""
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
    """Yield where a name in scope, or a field of one, stands as a hole of another language, and how it is written here.

    >>> from tripos_compiler.resolve import Binding
    >>> scope = {"item": Binding(("item",), fields={"hint": Binding(("item", "hint"))})}
    >>> list(foreign_holes('{"hint": 1} {item.hint} ${hint} {other}', scope))
    [(12, 23, 'item.hint'), (24, 31, 'item.hint')]
    """
    fields = {field: f"{name}.{field}" for name, binding in scope.items() for field in binding.fields}
    known = {**fields, **{name: name for name in scope}}
    own = [found.span() for found in HOLE.finditer(text)]
    for start, end, path in _foreign(text):
        first, _, rest = path.partition(".")
        if first in known and not any(begin < end and start < after for begin, after in own):
            yield start, end, ".".join(filter(None, (known[first], rest)))


def _foreign(text: str) -> Iterator[tuple[int, int, str]]:
    for found in BLOCK.finditer(text):
        for name in NAMES.finditer(found["inside"]):
            yield found.start(), found.end(), name["path"]
    for found in BRACES.finditer(text):
        if LATEX.search(text, max(0, found.start() - SEEN_BEFORE), found.start()) is None:
            start = found.start() - text.endswith("$", 0, found.start())
            yield start, found.end(), found["path"]
