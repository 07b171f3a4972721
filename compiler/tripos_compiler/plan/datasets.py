"""Data sets: read from files, or made."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tripos_compiler.plan.base import Part
from tripos_compiler.plan.expressions import Expr, Type
from tripos_compiler.plan.steps import Ask


class DataField(Part):
    """A column of a data set. `columns` are tried in order; the first that a row has is read."""

    name: str
    type: Type
    columns: tuple[str, ...]
    secret: bool = False


class DataFile(Part):
    """One file of a data set: path below the data folder, SHA-256, rows, and what its name says (`{language}`)."""

    path: str
    sha256: str
    rows: int
    captures: dict[str, str] = {}
    repeats: tuple[int, ...] = ()
    """The numbers, from 1, of rows that say what an earlier row of the data set says; they are not run."""
    media: str | None = None
    """The digest of the images and other files that its rows name or hold, in order, repeated rows left out; None of a
    file without any."""


class Join(Part):
    """Files that add `columns` to the rows of a data set: of every row, those of their one row in which `other` is what
    `column` is in it. What the names of both files say of the same thing is the same."""

    source: str
    column: str
    other: str
    columns: tuple[str, ...] = ()
    files: tuple[DataFile, ...] = ()


class Dataset(Part):
    """Typed rows that are read from files. Rows of which `key` is equal belong together."""

    name: str
    source: str
    fields: tuple[DataField, ...]
    files: tuple[DataFile, ...]
    key: Expr | None = None
    joins: tuple[Join, ...] = ()

    @property
    def every_file(self) -> tuple[DataFile, ...]:
        """The files of its rows, and those that are joined to them."""
        return (*self.files, *(file for join in self.joins for file in join.files))


class Walk(Part):
    """Descends a tree level by level: `ask` is put at every node that is reached and chooses among its branches, known
    as `branches`; every path from the root to a leaf that was chosen throughout is kept, under the name of the walk.

    With `below` it begins at the node of that path and not at the root. `starts` are the paths that values of a choice
    stand for."""

    step: Literal["walk"] = "walk"
    tree: str
    ask: Ask
    below: Expr | None = None
    starts: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The field that holds the paths."""
        return self.ask.name


class Verify(Part):
    """A row is kept only where `require` holds of what `ask` returns."""

    step: Literal["verify"] = "verify"
    ask: Ask
    require: tuple[Expr, ...]


class Derived(Part):
    """A field computed from the row."""

    step: Literal["derived"] = "derived"
    name: str
    value: Expr


class Distinct(Part):
    """A row is refused where the text `value` is nearly one of `others`: their overlap (`near_duplicates.overlap`) is
    `above` or more, from 0 to 1."""

    value: Expr
    others: Expr
    above: float


class Made(Part):
    """A data set that is made, by a role or row by row from another data set or the leaves of a tree.

    For every row of `source` (known as `alias`, those for which `where` holds; without a source, once), in every cell
    of `axes`, `count` rows are made by `steps` in order, each given up after `retries` further attempts where it cannot
    be read, breaks a `require`, repeats another row's `unique` value, is not `distinct` from what it must be, or is not
    verified.
    """

    name: str
    scenario: str | None = None
    source: Expr | None = None
    alias: str | None = None
    where: Expr | None = None
    axes: tuple[str, ...] = ()
    count: int = 1
    retries: int = 0
    fields: tuple[DataField, ...]
    steps: tuple[Annotated[Ask | Walk | Derived | Verify, Field(discriminator="step")], ...]
    require: tuple[Expr, ...] = ()
    unique: tuple[Expr, ...] = ()
    distinct: tuple[Distinct, ...] = ()
    key: Expr | None = None
    rows: int
    """How many rows it has at most."""
    fingerprint: str

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The questions that are put to make a row."""
        steps = [step for step in self.steps if not isinstance(step, Derived)]
        return tuple(step if isinstance(step, Ask) else step.ask for step in steps)

    @property
    def fingerprints(self) -> set[str]:
        """Its fingerprint, and those of what is asked."""
        return {self.fingerprint, *(ask.fingerprint for ask in self.asks)}
