"""Functions of trees and of the paths through them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Annotated, Any, cast

from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.library.types import Implied, Path, T, Tree, element_type, is_of_paths, without_optional
from tripos_compiler.plan import ListType, TextType, Type

BETWEEN = " / "
"""What stands between the names of a path."""


def leaves(tree: Tree) -> list[Path]:
    """The paths to all leaves of a tree, in the order of its file.

    >>> leaves(Tree({"Algebra": {"Sets": {}, "Groups": {}}, "Logic": {}}))
    ['Algebra / Sets', 'Algebra / Groups', 'Logic']
    """
    found: list[Path] = []
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), tree)]
    while waiting:
        names, branches = waiting.pop()
        if names and not branches:
            found.append(Path(BETWEEN.join(names)))
        waiting.extend(((*names, name), below) for name, below in reversed(list(branches.items())))
    return found


def leaf(path: Path) -> str:
    """Return the last name of a path: of `Algebra / Sets` it is `Sets`.

    >>> leaf(Path("Algebra / Sets"))
    'Sets'
    """
    return path.rpartition(BETWEEN)[2]


def parent(path: Path) -> Path | None:
    """Return the path to the node above, of `Algebra / Sets` it is `Algebra`; missing at the root.

    >>> parent(Path("Algebra / Sets")), parent(Path("Algebra"))
    ('Algebra', None)
    """
    above, found, _ = path.rpartition(BETWEEN)
    return Path(above) if found else None


def depth(path: Path) -> int:
    """Return the number of names of a path: of `Algebra / Sets` it is 2.

    >>> depth(Path("Algebra / Sets"))
    2
    """
    return path.count(BETWEEN) + 1


def examples_for(
    points: Collection[Path],
    rows: Sequence[Mapping[str, Any]],
    at: Annotated[str, Implied("path", "rows")] = "",
    fields: Annotated[Sequence[str], Implied("texts", "rows")] = (),
) -> list[str]:
    """Return the rows that belong to one of the points, each as its texts, a line each.

    `rows` is a data set made from the leaves of a tree. `at` is the field that says where a row belongs, the first that
    is a path unless it is named; `fields` are those that are printed, all that are texts unless they are named. A text
    that is missing is passed over.

    >>> rows = [{"point": "Algebra / Sets", "task": "Is 1 in N?", "answer": "Yes."}, {"point": "Logic", "task": "?"}]
    >>> examples_for([Path("Algebra / Sets")], rows, "point", ["task", "answer"])
    ['Is 1 in N?\\nYes.']
    """
    wanted = set(points)
    chosen = (row for row in rows if not wanted.isdisjoint(_places(row.get(at))))
    texts = [[row[name] for name in fields if row.get(name) is not None] for row in chosen]
    if not all(isinstance(text, str) for each in texts for text in each):
        raise Undefined("a field that is printed is no text")
    return ["\n".join(each) for each in texts]


def siblings(
    points: Collection[Path],
    rows: Sequence[T],
    at: Annotated[str, Implied("paths", "rows")] = "",
) -> list[T]:
    """Return the rows that belong to a sibling of a point, another leaf below the same node, and to none of the points.

    `at` is the field that says where a row belongs: the first that is a path, or holds paths, unless it is named. Rows
    come in an order that is always the same for the same points, and another for others, so that `first(siblings(…))`
    does not take one row for all.

    >>> rows = [{"at": ["A / x"], "n": 1}, {"at": ["A / y"], "n": 2}, {"at": ["A / x", "A / y"], "n": 3}]
    >>> [row["n"] for row in siblings([Path("A / x")], rows, "at")]
    [2]
    """
    own = set(points)
    near = {parent(point) for point in own}
    found: list[tuple[bytes, T]] = []
    for row in rows:
        record = cast("Mapping[str, Any]", row)
        if at not in record:
            raise Undefined("the rows have no such field")
        places = _places(record[at])
        if not places & own and any(parent(place) in near for place in places):
            name = json.dumps([sorted(own), record], sort_keys=True, default=sorted)
            found.append((blake2b(name.encode(), digest_size=8).digest(), row))
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def _places(value: Path | Collection[Path] | None) -> set[Path]:
    """Return the paths at which a row stands, by what its field says: one, several, or nothing."""
    return {Path(value)} if isinstance(value, str) else set(value or ())


def siblings_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return a list of the rows that are given; a message where none of their fields is a path or holds paths."""
    rows = types["rows"]
    assert not isinstance(rows, Sequence)
    record = element_type(rows)
    if record is None or record.kind != "record":
        return "these are no rows; take a data set"
    if "at" not in types and not any(is_of_paths(of) for of in record.fields.values()):
        return "no field of these rows is a path; take a data set that a `walk` has placed, or name the field: `at: …`"
    return ListType(of=record)


def examples_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return a list of texts; a message where the rows have no path or no text."""
    rows = types["rows"]
    assert not isinstance(rows, Sequence)
    record = element_type(rows)
    assert record is not None and record.kind == "record"
    kinds = {without_optional(type_).kind for type_ in record.fields.values()}
    if "path" not in kinds and "at" not in types:
        return "no field of these rows is a path; take a data set made `from leaves(…)`, or name the field: `at: …`"
    if "text" not in kinds and "fields" not in types:
        return "no field of these rows is a text"
    return ListType(of=TextType())
