"""Walks over the syntax tree reach every node of it."""

from __future__ import annotations

from pathlib import Path

from tests.each import each
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.source.text import Source
from tripos_compiler.source.tree import Name, Node, child_nodes, transform, walk
from tripos_compiler.syntax.parser import parse

SPECS = sorted((Path(__file__).parents[1] / "cases" / "let").rglob("*.tripos"))


def below(node: Node) -> list[Node]:
    return [node, *(part for child in child_nodes(node) for part in below(child))]


@each("path", SPECS)
def test_a_tree_that_nothing_changes_is_the_same(path: Path) -> None:
    tree = parse(Source(path.name, path.read_text("utf-8")), Diagnostics())
    assert transform(tree, lambda node: None) == tree
    assert list(map(id, walk(tree))) == list(map(id, below(tree)))
    starts = [node.span.start for node in walk(tree) if isinstance(node, Name)]
    assert starts == sorted(starts), "in the order of the source"


def test_a_change_reaches_every_node_and_stops_at_what_it_replaces() -> None:
    tree = parse(Source("spec.tripos", "let both(a: text) = f(a, [b, a]) + g(a)\n"), Diagnostics())

    def renamed(node: Node) -> Node | None:
        return Name(node.span, f"{node.text}x") if isinstance(node, Name) else None

    before, after = (
        [node.text for node in walk(each) if isinstance(node, Name)] for each in (tree, transform(tree, renamed))
    )
    assert after == [f"{text}x" for text in before] and "bx" in after
