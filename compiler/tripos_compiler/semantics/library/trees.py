"""Functions of trees and of the paths through them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from tripos_compiler.plan import ListType, TextType, Type
from tripos_compiler.semantics.library.fitting import bare, element
from tripos_compiler.semantics.library.kinds import Implied, Path, Tree

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
    """The last name of a path: of `Algebra / Sets` it is `Sets`.

    >>> leaf(Path("Algebra / Sets"))
    'Sets'
    """
    return path.rpartition(BETWEEN)[2]


def parent(path: Path) -> Path | None:
    """The path to the node above, of `Algebra / Sets` it is `Algebra`; missing at the root.

    >>> parent(Path("Algebra / Sets")), parent(Path("Algebra"))
    ('Algebra', None)
    """
    above, found, _ = path.rpartition(BETWEEN)
    return Path(above) if found else None


def depth(path: Path) -> int:
    """The number of names of a path: of `Algebra / Sets` it is 2.

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
    """The rows that belong to one of the points, each as its texts, a line each.

    `rows` is a data set made from the leaves of a tree. `at` is the field that says where a row belongs, the first that
    is a path unless it is named; `fields` are those that are printed, all that are texts unless they are named. A text
    that is missing is passed over.

    >>> rows = [{"point": "Algebra / Sets", "task": "Is 1 in N?", "answer": "Yes."}, {"point": "Logic", "task": "?"}]
    >>> examples_for([Path("Algebra / Sets")], rows, "point", ["task", "answer"])
    ['Is 1 in N?\\nYes.']
    """
    wanted = set(points)
    chosen = (row for row in rows if row.get(at) in wanted)
    return ["\n".join(row[name] for name in fields if row.get(name) is not None) for row in chosen]


def examples_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """A list of texts; a message where the rows have no path or no text."""
    rows = types["rows"]
    assert not isinstance(rows, Sequence)
    record = element(rows)
    assert record is not None and record.kind == "record"
    kinds = {bare(type_).kind for type_ in record.fields.values()}
    if "path" not in kinds and "at" not in types:
        return "no field of these rows is a path; take a data set made `from leaves(…)`, or name the field: `at: …`"
    if "text" not in kinds and "fields" not in types:
        return "no field of these rows is a text"
    return ListType(of=TextType())
