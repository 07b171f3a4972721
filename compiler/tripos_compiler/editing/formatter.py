"""The formatter: one layout of a spec, without options. It changes how a spec looks and never what it says.

A result counts only where it parses to an equal tree, spans aside, with the same comments in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from tripos_compiler.diagnostics import Diagnostic, Diagnostics
from tripos_compiler.editing.format_tokens import Scan
from tripos_compiler.editing.layout import Layout
from tripos_compiler.source import Block, Node, Source, Span, find_comments
from tripos_compiler.syntax import parse

PLACES = frozenset({"span", "offsets"})
"""The fields of a node that say where it stands."""


class Unfaithful(Exception):
    """The formatter would have changed what a spec says: a bug of ours. Nothing was written."""


def require_faithful(before: Source, tree: Block, after: Source) -> None:
    """Raise `Unfaithful` unless `after` says what `before` does, whose tree is `tree`."""
    diagnostics = Diagnostics()
    again = parse(after, diagnostics)
    if diagnostics.failed:
        raise Unfaithful(f"{before.path} would not parse: {diagnostics.sorted()[0].message}")
    if not same(tree, again):
        raise Unfaithful(f"the syntax tree of {before.path} would change")
    if [comment.text for comment in find_comments(before)] != [comment.text for comment in find_comments(after)]:
        raise Unfaithful(f"the comments of {before.path} would change")


def same(left: Any, right: Any) -> bool:
    """Return true if two trees are equal but for the places of their nodes.

    >>> one, other = (parse(Source("x", text), Diagnostics()) for text in ("a  1", "a 1"))
    >>> same(one, other), one == other
    (True, False)
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, Node):
        names = [field.name for field in fields(left) if field.name not in PLACES]
        return all(same(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(isinstance(left, Span) or left == right)


__all__ = ["Unfaithful", "Unparsable", "format_text"]

BOM = "\ufeff"


class Unparsable(Exception):
    """A spec does not parse, and is not formatted. `diagnostics` says what is wrong, in the order of the places."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = tuple(diagnostics)


def format_text(text: str, path: str) -> str:
    """Return a spec in the one layout: lines end in LF, the last one too, and there is no byte order mark.

    `path` is what diagnostics call the spec; nothing is read from it. Raises `Unparsable` where the text has a mistake
    of syntax, and `Unfaithful` where the result would say something else than the text, which is a bug of ours.
    Formatting what is formatted changes nothing.

    >>> print(format_text('role  judge   panel\\nmeasure a=mean( x )\\nmeasure bcd =1+2', "x.tripos"), end="")
    role judge panel
    measure a   = mean(x)
    measure bcd = 1 + 2
    """
    source = Source(path, text.removeprefix(BOM))
    diagnostics = Diagnostics()
    tree = parse(source, diagnostics)
    if diagnostics.failed:
        raise Unparsable(diagnostics.sorted())
    formatted = Layout(Scan(source.text, tree)).file(tree)
    require_faithful(source, tree, Source(path, formatted))
    return formatted
