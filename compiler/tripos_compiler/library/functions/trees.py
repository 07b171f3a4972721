"""Functions of trees and their paths, and the reader of tree files, such as a syllabus in JSON or YAML."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Annotated, Any, cast

from tripos_compiler.library.signature import Undefined
from tripos_compiler.library.types import Implied, Path, T, Tree, element_type, is_of_paths, without_optional
from tripos_compiler.plan import ListType, TextType, Type
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import LocatedText

# Functions

BETWEEN = " / "
"""Separator of the names of a path."""


def leaves(tree: Tree) -> list[Path]:
    """Return the paths to all leaves of a tree, in the order of its file.

    >>> leaves(Tree({"Algebra": {"Sets": {}, "Groups": {}}, "Logic": {}}))
    ['Algebra / Sets', 'Algebra / Groups', 'Logic']
    """
    paths: list[Path] = []
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), tree)]
    while waiting:
        names, branches = waiting.pop()
        if names and not branches:
            paths.append(Path(BETWEEN.join(names)))
        waiting.extend(((*names, name), below) for name, below in reversed(list(branches.items())))
    return paths


def leaf(path: Path) -> str:
    """Return the last name of a path: `Sets` for `Algebra / Sets`.

    >>> leaf(Path("Algebra / Sets"))
    'Sets'
    """
    return path.rpartition(BETWEEN)[2]


def parent(path: Path) -> Path | None:
    """Return the path to the node above, `Algebra` for `Algebra / Sets`; missing for a node at the top.

    >>> parent(Path("Algebra / Sets")), parent(Path("Algebra"))
    ('Algebra', None)
    """
    above, found, _ = path.rpartition(BETWEEN)
    return Path(above) if found else None


def depth(path: Path) -> int:
    """Return the number of names of a path: 2 for `Algebra / Sets`.

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
    """Return the rows that belong to one of the points, each as a text with a line for each of its texts.

    `rows` is a data set made from the leaves of a tree. `at` is the field with the path of a row, by default the first
    path; `fields` are the printed fields, by default all texts. A missing text is left out.

    >>> rows = [{"point": "Algebra / Sets", "task": "Is 1 in N?", "answer": "Yes."}, {"point": "Logic", "task": "?"}]
    >>> examples_for([Path("Algebra / Sets")], rows, "point", ["task", "answer"])
    ['Is 1 in N?\\nYes.']
    """
    paths = set(points)
    chosen = (row for row in rows if not paths.isdisjoint(_places(row.get(at))))
    texts = [[row[name] for name in fields if row.get(name) is not None] for row in chosen]
    if not all(isinstance(text, str) for each in texts for text in each):
        raise Undefined("a field that is printed is no text")
    return ["\n".join(text) for text in texts]


def siblings(
    points: Collection[Path],
    rows: Sequence[T],
    at: Annotated[str, Implied("paths", "rows")] = "",
) -> list[T]:
    """Return the rows that belong to a sibling of a point, another leaf below the same node, and to none of the points.

    `at` is the field with the path or paths of a row, by default the first such field. The order of the rows depends on
    the points, so that `first(siblings(…))` does not select the same row for all points.

    >>> rows = [{"at": ["A / x"], "n": 1}, {"at": ["A / y"], "n": 2}, {"at": ["A / x", "A / y"], "n": 3}]
    >>> [row["n"] for row in siblings([Path("A / x")], rows, "at")]
    [2]
    """
    paths = set(points)
    near = {parent(point) for point in paths}
    found: list[tuple[bytes, T]] = []
    for row in rows:
        record = cast("Mapping[str, Any]", row)
        if at not in record:
            raise Undefined("the rows have no such field")
        places = _places(record[at])
        if not places & paths and any(parent(place) in near for place in places):
            name = json.dumps([sorted(paths), record], sort_keys=True, default=sorted)
            found.append((blake2b(name.encode(), digest_size=8).digest(), row))
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def _places(value: Path | Collection[Path] | None) -> set[Path]:
    """Return the paths in the field of a row: one, several, or none."""
    return {Path(value)} if isinstance(value, str) else set(value or ())


def siblings_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the list type of the given rows, or the error if none of their fields is a path or contains paths."""
    rows = types["rows"]
    assert not isinstance(rows, Sequence)
    record = element_type(rows)
    if record is None or record.kind != "record":
        return "these are no rows; take a data set"
    if "at" not in types and not any(is_of_paths(of) for of in record.fields.values()):
        return "no field of these rows is a path; take a data set that a `walk` has placed, or name the field: `at: …`"
    return ListType(of=record)


def examples_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return a list of texts, or the error if the rows have no path or no text."""
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


# Reader of tree files

DEEPEST = 64
"""Largest number of levels of a tree below its root."""
NODE = frozenset({"name", "children"})

Nested = dict[str, Any]
"""Branches by name, each with its own branches; a node without branches is a leaf."""


@dataclass(frozen=True)
class ParsedTree:
    """Tree. A node is identified by its path, the names from the root joined by ` / `; the path of the root is
    empty."""

    branches: Mapping[str, Any]

    def leaves(self) -> tuple[str, ...]:
        """Return the paths to all leaves, in the order of the file.

        >>> read_tree({"Algebra": ["Sets", "Groups"], "Logic": None}).tree.leaves()
        ('Algebra / Sets', 'Algebra / Groups', 'Logic')
        """
        return tuple(leaves(self.branches))  # type: ignore[arg-type]

    def children(self, path: str = "") -> tuple[str, ...]:
        """Return the names of the branches below a node; none below a leaf. Raises `KeyError` if there is no such node.

        >>> tree = read_tree({"Algebra": ["Sets", "Groups"]}).tree
        >>> tree.children(), tree.children("Algebra"), tree.children("Algebra / Sets")
        (('Algebra',), ('Sets', 'Groups'), ())
        """
        return tuple(self.below(path).branches)

    def below(self, path: str) -> ParsedTree:
        """Return the subtree below a node. Raises `KeyError` if there is no such node.

        >>> read_tree({"Algebra": {"Sets": ["Finite sets"]}}).tree.below("Algebra").leaves()
        ('Sets / Finite sets',)
        """
        below = self.branches
        for name in path.split(BETWEEN) if path else ():
            below = below[name]
        return ParsedTree(below)

    @property
    def inner(self) -> int:
        """Return the number of inner nodes, including the root."""
        return sum(1 for _, below in self._nodes() if below)

    @property
    def depth(self) -> int:
        """Return the number of levels below the root."""
        return max((level for level, _ in self._nodes()), default=0)

    def _nodes(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        waiting = [(0, self.branches)]
        while waiting:
            level, below = waiting.pop()
            yield level, below
            waiting.extend((level + 1, inner) for inner in below.values())


@dataclass(frozen=True)
class TreeFault:
    """Error in a tree and its fix, with the line of the file if the document has lines."""

    message: str
    help: str
    line: int | None = None


@dataclass(frozen=True)
class TreeRead:
    """Tree and its errors; faulty branches are omitted from it."""

    tree: ParsedTree
    faults: tuple[TreeFault, ...]


def read_tree(document: Any) -> TreeRead:
    """Return the tree that a document describes.

    Branches are a mapping of names to subtrees, or a list of names, of such mappings, and of nodes
    `{"name": …, "children": …}`; a single node is a list of one. A name with nothing below is a leaf. Empty brackets
    are an error, since the branches were probably forgotten.

    >>> read_tree([{"name": "Algebra", "children": [{"name": "Sets"}]}, "Logic"]).tree.leaves()
    ('Algebra / Sets', 'Logic')
    >>> read_tree({"Algebra": ["Sets", "Sets"]}).faults[0].message
    '`Sets` is repeated below `Algebra`'
    >>> read_tree({"Algebra": [], "Logic": None}).faults[0].message
    'the brackets below `Algebra` are empty'
    """
    reader = _Reader()
    branches = reader.branches(document, ())
    if not branches and not reader.faults:
        reader.faults.append(TreeFault("this tree has no leaf", "name its branches: `Algebra: [Sets, Groups]`"))
    return TreeRead(ParsedTree(branches), tuple(reader.faults))


def joined_trees(trees: Sequence[ParsedTree]) -> ParsedTree | str:
    """Return one tree with the top branches of all trees, or the first name that occurs at the top of two of them.

    >>> one, two = read_tree({"Algebra": ["Sets"]}).tree, read_tree(["Logic"]).tree
    >>> joined_trees([one, two]).leaves(), joined_trees([one, one])
    (('Algebra / Sets', 'Logic'), 'Algebra')
    """
    branches: Nested = {}
    for tree in trees:
        for name, below in tree.branches.items():
            if name in branches:
                return name
            branches[name] = below
    return ParsedTree(branches)


@dataclass
class _Reader:
    faults: list[TreeFault] = field(default_factory=list)

    def branches(self, value: Any, above: tuple[str, ...]) -> Nested:
        found: Nested = {}
        pairs = list(self._pairs(value, above))
        if pairs and len(above) == DEEPEST:
            self._fault(f"{_below(above)} there is a level {DEEPEST + 1}", f"a tree has {DEEPEST} levels at most")
            return found
        for written, below in pairs:
            name = self._name(written, above)
            if name is None:
                continue
            if name in found:
                help_ = "rename one, or put together what is below them"
                self._fault(f"`{name}` is repeated {_below(above)}", help_, written)
                continue
            if isinstance(below, list | Mapping) and not below:
                help_ = f"name what belongs there; where `{name}` is a leaf, write `null` or nothing instead"
                self._fault(f"the brackets {_below((*above, name))} are empty", help_, written)
                continue
            found[name] = self.branches(below, (*above, name))
        return found

    def _pairs(self, value: Any, above: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
        """Yield the names of a level with their subtrees."""
        match value:
            case None | "":
                return
            case list():
                for number, item in enumerate(value, 1):
                    if isinstance(item, Mapping) and item:
                        yield from self._pairs(item, above)
                    elif item in (None, "") or isinstance(item, Mapping | list):
                        message = f"branch {number} {_below(above)} {'has no name' if item else 'is empty'}"
                        self._fault(message, "name it, or remove it")
                    else:
                        yield item, None
            case Mapping() if "name" in value and not isinstance(value["name"], Mapping | list):
                more = sorted(str(key) for key in value if key not in NODE)
                if more:
                    message = f"the node `{value['name']}` {_below(above)} has `{more[0]}`"
                    self._fault(message, "a node has a `name` and `children`, and nothing else", value["name"])
                yield value["name"], value.get("children") or None
            case Mapping():
                yield from value.items()
            case _:
                help_ = "write a list of names, or nothing where this is a leaf"
                self._fault(f"{_below(above)} there is {value!r}, which is no list of branches", help_, value)

    def _name(self, written: Any, above: tuple[str, ...]) -> str | None:
        if not isinstance(written, str):
            message = f"`{written}` {_below(above)} is not a text"
            self._fault(message, "put the name in quotation marks")
            return None
        name = written.strip()
        if not name:
            self._fault(f"a name {_below(above)} is empty", "name the branch, or remove it", written)
            return None
        if BETWEEN in f" {name} ":  # at an end too: `b /` above `c` would be known as `b` above `/ c` is
            message = f"`{name}` {_below(above)} holds `{BETWEEN}`, which parts the names of a path"
            self._fault(message, "write `/` alone", written)
            return None
        return name

    def _fault(self, message: str, help: str, at: Any = None) -> None:
        """Report an error at `at`, a text that may know its line."""
        self.faults.append(TreeFault(message, help, at.line if isinstance(at, LocatedText) else None))


def _below(above: tuple[str, ...]) -> str:
    """Return a description of a position in the tree, shortened to the last names of a long path."""
    text = BETWEEN.join(above[-4:])
    return f"below `{'… / ' if len(above) > 4 else ''}{text}`" if above else "at the top"
