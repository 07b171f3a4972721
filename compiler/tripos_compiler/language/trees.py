"""Trees, such as a syllabus: from what a JSON or YAML file says to nodes known by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from tripos_compiler.language.library import BETWEEN, leaves
from tripos_compiler.source import LocatedText, dataclass

DEEPEST = 64
"""So many levels a tree may have below its root."""
NODE = frozenset({"name", "children"})

Nested = dict[str, Any]
"""Branches by name, each with its own branches below it; what has none is a leaf."""


@dataclass(frozen=True)
class ParsedTree:
    """A tree. A node is known by its path, the names from the root joined by ` / `; the root's path is empty."""

    branches: Mapping[str, Any]

    def leaves(self) -> tuple[str, ...]:
        """The paths to all leaves, in the order of the file.

        >>> read_tree({"Algebra": ["Sets", "Groups"], "Logic": None}).tree.leaves()
        ('Algebra / Sets', 'Algebra / Groups', 'Logic')
        """
        return tuple(leaves(self.branches))  # type: ignore[arg-type]

    def children(self, path: str = "") -> tuple[str, ...]:
        """Return the names of the branches below a node, none below a leaf. Raises `KeyError` where there is no such
        node.

        >>> tree = read_tree({"Algebra": ["Sets", "Groups"]}).tree
        >>> tree.children(), tree.children("Algebra"), tree.children("Algebra / Sets")
        (('Algebra',), ('Sets', 'Groups'), ())
        """
        return tuple(self.below(path).branches)

    def below(self, path: str) -> ParsedTree:
        """Return the part of the tree below a node. Raises `KeyError` where there is no such node.

        >>> read_tree({"Algebra": {"Sets": ["Finite sets"]}}).tree.below("Algebra").leaves()
        ('Sets / Finite sets',)
        """
        below = self.branches
        for name in path.split(BETWEEN) if path else ():
            below = below[name]
        return ParsedTree(below)

    @property
    def inner(self) -> int:
        """Return how many nodes have branches, the root among them."""
        return sum(1 for _, below in self._nodes() if below)

    @property
    def depth(self) -> int:
        """Return how many levels there are below the root."""
        return max((level for level, _ in self._nodes()), default=0)

    def _nodes(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        waiting = [(0, self.branches)]
        while waiting:
            level, below = waiting.pop()
            yield level, below
            waiting.extend((level + 1, inner) for inner in below.values())


@dataclass(frozen=True)
class TreeFault:
    """An error in a tree, and how to mend it; the line of the file where it is, if the document told it."""

    message: str
    help: str
    line: int | None = None


@dataclass(frozen=True)
class TreeRead:
    """A tree, and what is wrong in it; the branches that are wrong are not in it."""

    tree: ParsedTree
    faults: tuple[TreeFault, ...]


def read_tree(document: Any) -> TreeRead:
    """Return the tree that a document describes.

    Branches are a mapping of names to what is below them, or a list of names, of such mappings, and of nodes
    `{"name": …, "children": …}`; a node alone is a list of one. Nothing below a name makes it a leaf; brackets without
    anything in them do not, since they are where branches were forgotten.

    >>> read_tree([{"name": "Algebra", "children": [{"name": "Sets"}]}, "Logic"]).tree.leaves()
    ('Algebra / Sets', 'Logic')
    >>> read_tree({"Algebra": ["Sets", "Sets"]}).faults[0].message
    '`Sets` stands twice below `Algebra`'
    >>> read_tree({"Algebra": [], "Logic": None}).faults[0].message
    'the brackets below `Algebra` are empty'
    """
    reader = _Reader()
    branches = reader.branches(document, ())
    if not branches and not reader.faults:
        reader.faults.append(TreeFault("this tree has no leaf", "name its branches: `Algebra: [Sets, Groups]`"))
    return TreeRead(ParsedTree(branches), tuple(reader.faults))


def joined_trees(trees: Sequence[ParsedTree]) -> ParsedTree | str:
    """Return one tree with the branches at the top of all; the name that stands at the top of two of them, if any does.

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
                self._fault(f"`{name}` stands twice {_below(above)}", help_, written)
                continue
            if isinstance(below, list | Mapping) and not below:
                help_ = f"name what belongs there; where `{name}` is a leaf, write `null` or nothing instead"
                self._fault(f"the brackets {_below((*above, name))} are empty", help_, written)
                continue
            found[name] = self.branches(below, (*above, name))
        return found

    def _pairs(self, value: Any, above: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
        """Yield the names of a level, with what is below each."""
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
        """Note what is wrong with `at`, a text that may know its line."""
        self.faults.append(TreeFault(message, help, at.line if isinstance(at, LocatedText) else None))


def _below(above: tuple[str, ...]) -> str:
    """Return where in the tree; the last names of a long path."""
    shown = BETWEEN.join(above[-4:])
    return f"below `{'… / ' if len(above) > 4 else ''}{shown}`" if above else "at the top"
