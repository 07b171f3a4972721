"""Descends a tree level by level: a role chooses among the branches of every node that is reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_compiler.language.library import BETWEEN
from tripos_compiler.plan import Ask, ChoiceType, RecordType, SetType, Type
from tripos_compiler.source import dataclass
from tripos_runtime.asking import PARSE_FAILURE, PreparedQuestion, ReadOutcome
from tripos_runtime.generate.author import MakingProgram
from tripos_runtime.reading import schema_of

Path = tuple[str, ...]
Choose = Callable[[Path, list[str]], MakingProgram]
"""Asks which of the branches at a node fit: its result are the answer and the name of the reply."""
MOST_NAMED = 200
"""Of more branches than that the schema of a reply does not name each: providers bound how long one may be."""
MARKS = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、:])\s*")
"""The marks that a list puts before its points."""


@dataclass(frozen=True)
class Walked:
    """The paths that were chosen down to a leaf, in the order of the tree, and the names of the replies. `unknown`:
    what was wrong with one of them, if any was."""

    paths: tuple[str, ...]
    replies: tuple[str, ...]
    unknown: str | None = None


def walk(tree: Mapping[str, Any], choose: Choose, start: Path = ()) -> MakingProgram:
    """Go down a tree from the node `start`, which is one of its; a leaf there is chosen without asking. All nodes of
    one level are asked about at once; where a reply is of no use, no further level is. Its result is what was
    `Walked`."""
    level: list[Path] = [start] if below(tree, start) else []
    ends: set[Path] = set() if level else {start}
    names: list[str] = []
    while level:
        answers = yield [choose(path, list(below(tree, path))) for path in level]
        further: list[Path] = []
        for path, (answer, name) in zip(level, answers, strict=True):
            names.append(name)
            if answer.value is None:
                return Walked((), tuple(names), str(answer.columns["error"]))
            for branch in answer.value:
                (further.append if below(tree, (*path, branch)) else ends.add)((*path, branch))
        level = further
    return Walked(tuple(BETWEEN.join(path) for path in _in_order(tree, ends)), tuple(names))


def among(question: PreparedQuestion, branches: Sequence[str], ask: Ask) -> PreparedQuestion:
    """Return the question of a walk at one node: a provider that keeps to a schema can name no other branch, and a
    reply that does is asked for once more, as one that cannot be read is. Where the reply is a record the branches are
    the field of the name of the walk; its other fields are kept as they were read."""
    record = ask.returns if isinstance(ask.returns, RecordType) else None

    def reader(text: str) -> ReadOutcome:
        outcome = question.reader(text)
        if outcome.value is None:
            return outcome
        chosen = matched(outcome.value if record is None else outcome.value[ask.name], branches)
        if isinstance(chosen, str):
            return ReadOutcome(None, None, chosen, PARSE_FAILURE)
        return ReadOutcome(chosen, chosen if record is None else {**outcome.parsed, ask.name: chosen})

    schema = question.schema
    if len(branches) <= MOST_NAMED:
        type_: Type = SetType(of=ChoiceType(values=tuple(branches)))
        if record is not None:
            type_ = RecordType(fields={**record.fields, ask.name: type_})
        schema = schema_of(type_)
    return replace(question, schema=schema, reader=reader)


def node_at(tree: Mapping[str, Any], path: str) -> Path:
    """Return the names from the root to the node of that path. Raises `Unavailable` where the tree has no such node.

    >>> node_at({"Algebra": {"Sets": {}}}, "Algebra / Sets")
    ('Algebra', 'Sets')
    """
    names = tuple(path.split(BETWEEN)) if path else ()
    try:
        below(tree, names)
    except KeyError:
        raise Unavailable("below", "no_value", f"the tree has no branch `{path}`") from None
    return names


def matched(chosen: Collection[str], branches: Sequence[str]) -> list[str] | str:
    """Return the branches that a reply chose, in their order, or what in it is no branch. Case, the marks of a list and
    the path above are passed over.

    >>> matched(["- sets", "Algebra / Groups"], ["Groups", "Sets", "Rings"])
    ['Groups', 'Sets']
    >>> matched(["Logic"], ["Groups"]), matched(["pH"], ["pH", "PH"])
    ('`Logic` is none of the branches', ['pH'])
    """
    own, known = set(branches), {_plain(branch): branch for branch in branches}
    found: set[str] = set()
    for said in sorted(chosen):
        # Branches that differ in case alone are told apart by it.
        branch = said if said in own else next((known[each] for each in _readings(said) if each in known), None)
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


def below(tree: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the node of a tree at a path: its branches with what lies below them."""
    for name in path:
        tree = tree[name]
    return tree


def _in_order(tree: Mapping[str, Any], ends: Collection[Path]) -> Iterator[Path]:
    """Paths in the order of the tree. What lies beside them is not gone through: a tree may be large, and rows many."""
    below: dict[str, list[Path]] = {}
    for path in ends:
        if path:
            below.setdefault(path[0], []).append(path[1:])
        else:
            yield ()
    for name in tree if below else ():
        for rest in _in_order(tree[name], below[name]) if name in below else ():
            yield (name, *rest)
