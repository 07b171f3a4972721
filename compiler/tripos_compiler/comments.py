"""The comments of a spec: the grammar passes over them, the formatter and `# allow` need them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tripos_compiler.source import Source, Span

PIECE = re.compile(r'"""[\s\S]*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?|#[^\n]*')


@dataclass(frozen=True)
class Comment:
    """A comment from its `#` to the end of its line. `alone` tells whether nothing else stands on the line."""

    span: Span
    text: str
    alone: bool


def comments(source: Source) -> list[Comment]:
    """Every comment in order; a `#` inside a string begins none.

    >>> [comment.text for comment in comments(Source("x", 'title "a # b" # c'))]
    ['# c']
    """
    found: list[Comment] = []
    for piece in PIECE.finditer(source.text):
        if not piece[0].startswith("#"):
            continue
        line = source.text.rfind("\n", 0, piece.start()) + 1
        alone = not source.text[line : piece.start()].strip()
        found.append(Comment(Span(source, *piece.span()), piece[0].rstrip(), alone))
    return found
