"""Descends a tree level by level: a role chooses among the branches of every node that is reached."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.semantics.evaluate import Unavailable
from tripos_compiler.semantics.library.trees import BETWEEN
from tripos_runtime.asking import Answer
from tripos_runtime.shared import together

Path = tuple[str, ...]
Choose = Callable[[Path, list[str]], Awaitable[tuple[Answer, str]]]
"""Asks which of the branches at a node fit: the answer, and the name of the reply."""
MARKS = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、:])\s*")
"""What a list puts before its points."""


@dataclass(frozen=True)
class Walked:
    """The paths that were chosen down to a leaf, in the order of the tree, and the names of the replies. `unknown`:
    what was wrong with one of them, if any was."""

    paths: tuple[str, ...]
    replies: tuple[str, ...]
    unknown: str | None = None


async def walk(tree: Mapping[str, Any], choose: Choose, start: Path = ()) -> Walked:
    """Goes down a tree from the node `start`, which is one of its; a leaf there is chosen without asking. All nodes of
    one level are asked about at once; where a reply is of no use, no further level is."""
    level: list[Path] = [start] if _below(tree, start) else []
    ends: set[Path] = set() if level else {start}
    names: list[str] = []
    while level:
        answers: dict[Path, tuple[Answer, str]] = {}

        async def ask(path: Path, answers: dict[Path, tuple[Answer, str]] = answers) -> None:
            answers[path] = await choose(path, list(_below(tree, path)))

        await together([ask(path) for path in level])
        below: list[Path] = []
        for path in level:
            answer, name = answers[path]
            names.append(name)
            chosen = None if answer.value is None else matched(answer.value, list(_below(tree, path)))
            if chosen is None or isinstance(chosen, str):
                return Walked((), tuple(names), chosen or str(answer.columns["error"]))
            for branch in chosen:
                (below.append if _below(tree, (*path, branch)) else ends.add)((*path, branch))
        level = below
    return Walked(tuple(BETWEEN.join(path) for path in _all_paths(tree) if path in ends), tuple(names))


def node_at(tree: Mapping[str, Any], path: str) -> Path:
    """The names from the root to the node of that path. Raises `Unavailable` where the tree has no such node.

    >>> node_at({"Algebra": {"Sets": {}}}, "Algebra / Sets")
    ('Algebra', 'Sets')
    """
    names = tuple(path.split(BETWEEN)) if path else ()
    try:
        _below(tree, names)
    except KeyError:
        raise Unavailable("below", "no_value", f"the tree has no branch `{path}`") from None
    return names


def matched(chosen: Collection[str], branches: Sequence[str]) -> list[str] | str:
    """The branches that a reply chose, in their order, or what in it is no branch. Case, the marks of a list and the
    path above are passed over.

    >>> matched(["- sets", "Algebra / Groups"], ["Groups", "Sets", "Rings"])
    ['Groups', 'Sets']
    >>> matched(["Logic"], ["Groups"])
    '`Logic` is none of the branches'
    """
    known = {_plain(branch): branch for branch in branches}
    found: set[str] = set()
    for said in sorted(chosen):
        branch = next((known[each] for each in _readings(said) if each in known), None)
        if branch is None:
            return f"`{said}` is none of the branches"
        found.add(branch)
    return [branch for branch in branches if branch in found]


def _readings(said: str) -> Iterator[str]:
    yield _plain(said)
    bare = MARKS.sub("", said.strip())
    yield _plain(bare)
    yield _plain(bare.rpartition(BETWEEN)[2])


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def _below(tree: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    for name in path:
        tree = tree[name]
    return tree


def _all_paths(tree: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, below in tree.items():
        yield (*above, name)
        yield from _all_paths(below, (*above, name))
