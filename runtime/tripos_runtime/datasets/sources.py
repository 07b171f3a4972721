"""The rows and trees of a plan: streamed if a scenario runs over them, kept in memory if its cases look rows up.

Shots, and expressions that read a data set or a tree, look at the same rows for every case. Their conditions are split:
in `x.subject == q.subject and x.level < 3`, where `x` is the row looked up and `q` the case's, the equality is looked
up in an index, and the rest is evaluated for the rows found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, TypeVar

from tripos_compiler.language.evaluation import DATA, TREES, NoValue, Unavailable, evaluate
from tripos_compiler.language.references import expressions_of, names_in
from tripos_compiler.language.rows import Misfit, item_id, read_row
from tripos_compiler.library.functions.trees import joined_trees, read_tree
from tripos_compiler.library.media import MediumKind
from tripos_compiler.library.types import are_equal
from tripos_compiler.plan import Axis, Binary, Dataset, Expr, Plan, Shots, Tree, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, ResolvedFile
from tripos_runtime.datasets.data_files import DataFolders, dataset_files, files_of
from tripos_runtime.datasets.generated_rows import GeneratedData, Origins
from tripos_runtime.models.reply_table import fact_text

Value = TypeVar("Value")

Origin = tuple[str, int]
"""The position of a row: the SHA-256 of its file, and its number in it, counted from 1."""


@dataclass(frozen=True)
class SourceRow:
    """A typed row and its position."""

    values: Mapping[str, Any]
    origin: Origin
    origins: Origins | None = None
    """How a generated row was made."""

    @cached_property
    def item_id(self) -> str:
        """The name of the row's content."""
        return item_id(self.values)


@dataclass
class _Marks:
    """The marks of the media in the rows of a data file, which must be those of the compiled plan. A mark is the text
    that represents a medium in a row: its MIME type, size and SHA-256."""

    reader: DataFolders
    file: ResolvedFile
    digests: list[str] = field(default_factory=list)

    def medium(self, kind: MediumKind, value: Any) -> str:
        """Return the mark of the medium that a cell names or contains."""
        self.digests.append(self.reader.medium(self.file, kind, value))
        return self.digests[-1]

    def check(self, dataset: Dataset) -> None:
        """Raise `DataError` if a medium of the rows has changed."""
        wanted = {(file.path, file.sha256): file.media for file in dataset.files}[self.file.path, self.file.sha256]
        if (digest(self.digests) if self.digests else None) != wanted:
            message = f"a file that a row of `{self.file.path}` names changed while the run was starting"
            raise DataError(message, "run again")


@dataclass(frozen=True)
class Sources:
    """The data that a plan was compiled from. Files are searched relative to `spec_files`, the paths of the spec, and
    in the reader's folders. Reading a file that has changed since compilation raises `DataError`."""

    plan: Plan
    reader: DataFolders
    spec_files: tuple[str, ...]
    axes: Mapping[str, Axis]
    generated: GeneratedData = field(default_factory=GeneratedData)
    """The rows of generated data sets."""
    public: dict[str, tuple[SourceRow, ...]] = field(default_factory=dict)
    """The rows of data sets whose files are not available because a release withholds other rows."""
    _indexes: dict[tuple[str, str, int], tuple[Equality, list[Any], dict[Any, list[int]] | None]] = field(
        default_factory=dict
    )
    """By data set, alias and the id of an equality: the equality, its value for each row, and the positions of the rows
    by value, `None` if some values cannot be indexed."""

    def rows_of(self, name: str, scenario: str | None = None) -> Iterator[SourceRow]:
        """Yield the rows of a data set, read or generated; of a generated one, those that the scenario runs over."""
        if not any(dataset.name == name for dataset in self.plan.made):
            yield from self.stream(self.plan.dataset(name))
            return
        for row in self.generated.of(name, scenario):
            yield SourceRow(row.values, (name, row.place), row.origins)

    def key_of(self, name: str) -> Expr | None:
        """Return the expression of the key that related rows of a data set share."""
        read = {dataset.name: dataset.key for dataset in self.plan.datasets}
        return {**read, **{dataset.name: dataset.key for dataset in self.plan.made}}[name]

    def key_texts(self, name: str | None, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the key of a row of a data set as text; nothing if the data set has no key, or the row no value."""
        key = self.key_of(name) if name is not None else None
        value = None if key is None else _value(key, row)
        text = fact_text(value)
        return () if text is None else (text,)

    def stream(self, dataset: Dataset) -> Iterator[SourceRow]:
        """Yield the rows of a data set in file order, without repeated rows. Nothing is kept."""
        if dataset.name in self.public:
            yield from self.public[dataset.name]
            return
        repeats = {(file.path, number) for file in dataset.files for number in file.repeats}
        for file in dataset_files(self.reader, dataset, self.spec_files):
            marks = _Marks(self.reader, file)
            for number, record in enumerate(self.reader.rows(file), 1):
                if (file.path, number) in repeats:
                    continue
                row = read_row(dataset, {**file.captures, **record}, self.axes, marks.medium)
                if isinstance(row, Misfit):
                    raise AssertionError(f"row of {file.path} did not fit after compilation: {row}")
                yield SourceRow(row, (file.sha256, number))
            marks.check(dataset)

    @cached_property
    def rows(self) -> Mapping[str, tuple[SourceRow, ...]]:
        """The rows of every data set by name, each read on first use."""
        return LazyMapping(lambda name: tuple(self.rows_of(name)))

    @cached_property
    def examples(self) -> Examples:
        """The state of shots that does not depend on the case."""
        return Examples()

    def places(self, dataset: str, alias: str, same: Equality, value: Any) -> list[int]:
        """Return the positions of the rows of a data set for which an equality with this value holds, in order."""
        key = (dataset, alias, id(same))  # `same` is kept alive, so its id identifies it
        if key not in self._indexes:
            values = [_value(same.element, {alias: row.values}) for row in self.rows[dataset]]
            self._indexes[key] = (same, values, places_by_value(values))
        _, values, index = self._indexes[key]
        if index is not None and isinstance(value, SCALAR):
            return index.get(value, [])
        return [place for place, each in enumerate(values) if each is not None and are_equal(each, value)]

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The values of data sets and trees in expressions: `evaluate.DATA` and `evaluate.TREES`."""
        trees = {tree.name: tree for tree in self.plan.trees}
        data = LazyMapping(lambda name: [row.values for row in self.rows[name]])
        return {DATA: data, TREES: LazyMapping(lambda name: self._tree(trees[name]))}

    def _tree(self, tree: Tree) -> Mapping[str, Any]:
        wanted = {file.path: file.sha256 for file in tree.files} or {tree.path: tree.sha256}
        trees = []
        for file in files_of(self.reader, tree.source, self.spec_files, wanted):
            tree_read = read_tree(self.reader.document(file))
            if tree_read.faults:
                raise DataError(f"{file.path}: {tree_read.faults[0].message}", tree_read.faults[0].help)
            trees.append(tree_read.tree)
        joined = joined_trees(trees)
        if isinstance(joined, str):
            raise DataError(f"`{joined}` is at the top of two files of `{tree.name}`", "put the two together")
        return joined.branches


def _value(expr: Expr, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression of a row alone; None if it has none."""
    try:
        return evaluate(expr, names)
    except Unavailable:
        return None


@dataclass(frozen=True)
class ShotSelection:
    """The part of some shots that is the same for every case: their condition in parts, and `alone`, which is true if
    the texts of a shot depend only on the row that it shows. If so, the texts are kept by language and row."""

    shots: Shots
    where: SplitCondition
    alone: bool
    texts: dict[tuple[str, Origin], tuple[str, str]] = field(default_factory=dict)
    orders: dict[bytes, list[int]] = field(default_factory=dict)
    """The positions of all rows in the last drawn order, by the text that seeded the draw."""


class Examples(dict[int, ShotSelection]):
    """The selections by the `id()` of their shots. It identifies the shots since the selection keeps them alive."""

    def of(self, shots: Shots) -> ShotSelection:
        """Return the case-independent part of some shots, computed on first use."""
        if id(shots) not in self:
            named = {name for expr in expressions_of((shots.prompt, shots.reply)) for name in names_in(expr)}
            self[id(shots)] = ShotSelection(shots, split_condition(shots.where, shots.alias), named <= {shots.alias})
        return self[id(shots)]


@dataclass(frozen=True)
class LazyMapping(Mapping[str, Value], Generic[Value]):
    """A mapping that computes and keeps a value on first lookup. It lists only the computed ones.

    >>> kept = LazyMapping(lambda name: [name])
    >>> kept["a"], kept["a"] is kept["a"], len(kept)
    (['a'], True, 1)
    """

    make: Callable[[str], Value]
    _values: dict[str, Value] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            self._values[name] = self.make(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


SCALAR = (str, int, float, type(None))
"""The types of values that compare equal exactly if they are equal keys of a dictionary."""


@dataclass(frozen=True)
class Equality:
    """An equality between a value of the element and one that does not depend on the element."""

    element: Expr
    other: Expr


@dataclass(frozen=True)
class SplitCondition:
    """A condition as parts that must all be true: the equalities `same`, and the `rest` in the order of the source."""

    same: tuple[Equality, ...]
    rest: tuple[Expr, ...]
    fixed: frozenset[int] = frozenset()
    """The positions in `rest` of parts that do not depend on the element."""


def split_condition(where: Expr | None, alias: str) -> SplitCondition:
    """Return the parts of a condition on the element called `alias`."""
    same: list[Equality] = []
    exprs: list[Expr] = []
    for part in _parts(where) if where is not None else ():
        if isinstance(part, Binary) and part.operator == "==":
            sides = (part.left, part.right)
            of_element = [side for side in sides if names_in(side) == {alias}]
            others = [side for side in sides if alias not in names_in(side)]
            if len(of_element) == len(others) == 1:
                same.append(Equality(of_element[0], others[0]))
                continue
        exprs.append(part)
    fixed = frozenset(place for place, part in enumerate(exprs) if alias not in names_in(part))
    return SplitCondition(tuple(same), tuple(exprs), fixed)


def condition_holds(where: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a condition is true for one element. A condition without a value counts as false. Raises
    `Unavailable` if it needs a value that an earlier step did not yield."""
    try:
        return bool(evaluate(where, names))
    except NoValue:
        return False


def places_by_value(values: Sequence[Any]) -> dict[Any, list[int]] | None:
    """Return the positions of every value, in order; None if one is a list or a record, which no dictionary can index.

    >>> places_by_value(["a", "b", "a"])
    {'a': [0, 2], 'b': [1]}
    >>> places_by_value([["a"]]) is None
    True
    """
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        if not isinstance(value, SCALAR):
            return None
        places.setdefault(value, []).append(place)
    return places


def _parts(where: Expr) -> Iterator[Expr]:
    """Yield the parts that `and` joins."""
    if isinstance(where, Binary) and where.operator == "and":
        yield from _parts(where.left)
        yield from _parts(where.right)
    else:
        yield where
