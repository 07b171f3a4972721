"""Whether two texts of a spec say the same: equal trees, spans aside, and the same comments in the same order."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tripos_compiler.comments import comments
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Source, Span
from tripos_compiler.syntax.parse import parse
from tripos_compiler.syntax.tree import Block, Node

PLACES = frozenset({"span", "offsets"})
"""The fields of a node that say where it stands."""


class Unfaithful(Exception):
    """The formatter would have changed what a spec says: a bug of ours. Nothing was written."""


def require_faithful(before: Source, tree: Block, after: Source) -> None:
    """Raises `Unfaithful` unless `after` says what `before` does, whose tree is `tree`."""
    diagnostics = Diagnostics()
    again = parse(after, diagnostics)
    if diagnostics.failed:
        raise Unfaithful(f"{before.path} would not parse: {diagnostics.sorted()[0].message}")
    if not same(tree, again):
        raise Unfaithful(f"the syntax tree of {before.path} would change")
    if [comment.text for comment in comments(before)] != [comment.text for comment in comments(after)]:
        raise Unfaithful(f"the comments of {before.path} would change")


def same(left: Any, right: Any) -> bool:
    """Whether two trees are equal but for the places of their nodes.

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
