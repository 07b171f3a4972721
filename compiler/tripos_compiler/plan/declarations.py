"""Declarations of a benchmark: roles, axes, arms, trees, metrics, plug-ins."""

from __future__ import annotations

from typing import Literal

from tripos_compiler.plan.base import Ordered, Part
from tripos_compiler.plan.expressions import Expr, Labels, Type


class Settling(Part):
    """Says that a run goes on until something is settled: a measure once every two models are told apart in it, or once
    it is known to `within` on either side; an expectation once it is decided; a benchmark once its headlines are."""

    within: float | None = None


class Benchmark(Part):
    name: str
    version: str
    title: str
    license: str | None = None
    cites: tuple[str, ...] = ()
    languages: tuple[str, ...]
    headline: tuple[str, ...] = ()
    """The measures that stand for it, the first first; none where it does not say."""
    until: Settling | None = None


class Extended(Part):
    """A release of another benchmark, of which this one has parts: the SHA-256 of its manifest, and the scenarios and
    the data sets that models write that come from it."""

    name: str
    version: str
    digest: str
    scenarios: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


class Role(Part):
    """Someone who produces text. Several models may fill a `compared` or a `panel` role, one any other. A role that is
    given no model takes those of its `default`, another role, where it has one. Grades by people are shown apart from
    those of the models in a role, unless it is one `with_people`."""

    name: str
    kind: Literal["single", "compared", "panel"]
    default: str | None = None
    with_people: bool = False


class AxisValue(Part):
    """`group` is the first tier of a two-tier axis; `guard` says in which cells the value is allowed."""

    name: str
    labels: Labels
    group: str | None = None
    guard: Expr | None = None


class Axis(Part):
    name: str
    values: tuple[AxisValue, ...]


class ArmValue(Part):
    name: str
    labels: Labels


class Arm(Part):
    """An experimental condition: the same item under different treatment."""

    name: str
    values: tuple[ArmValue, ...]


class TreeFile(Part):
    """One file of a tree: path below the data folder and SHA-256. A `draft` was written by a model and is not approved,
    or was changed since; `approved_by` is the person who approved the file as it is."""

    path: str
    sha256: str
    draft: bool = False
    approved_by: str | None = None


class Tree(Part):
    """A hierarchy read from one file, or from several that each have some of the branches at the top: how many leaves
    and inner nodes it has, and how many levels below its root. `path` is the first file, `sha256` that of its content;
    of several, a hash of theirs."""

    name: str
    source: str
    path: str
    sha256: str
    files: tuple[TreeFile, ...] = ()
    leaves: int
    inner: int
    depth: int


class Plugin(Ordered):
    """A function of the user's, called `name` in the spec: `function` in the Python file `path`, as seen from the
    folder of the spec's main file, or the entry point `function` of an installed package, without a path.

    `version` is the SHA-256 of the file's text, or the package and its version: a changed function is another function.
    Of a file that imports others beside it, it stands for all of them, and `modules` has the SHA-256 of each.
    Of a release that is extended, `release` is its name and version, and `path` is as seen from its folder.
    `parameters` are in the order in which values are handed to them.
    """

    _mapping = "parameters"
    name: str
    path: str | None
    function: str
    version: str
    parameters: dict[str, Type]
    optional: tuple[str, ...] = ()
    """The parameters that may be left out."""
    returns: Type
    release: str | None = None
    aggregate: bool = False
    """Whether measures take it of all values, and nothing in a scenario calls it."""
    external: Literal["file", "shipped", "service", "tool"] | None = None
    """Of a scorer that is a program: it is the Python file `path`, it comes with Tripos, or it is a service at an
    address that whoever runs it names. `function` is the name that the program is told then, and `version` of a
    program without a file its name and version. A `tool` is a function that a model calls: it takes a state before
    its parameters, changes it, and gives a result."""
    purity: Literal["proved", "declared"] | None = None
    """Why its value depends on its arguments alone: its source proves it, or else its author says so; None where
    neither does."""
    modules: dict[str, str] = {}

    @property
    def files(self) -> dict[str, str]:
        """Its Python files, with the SHA-256 of the text of each."""
        return self.modules or ({} if self.path is None else {self.path: self.version})

    @property
    def pure(self) -> bool:
        """True if its value depends on its arguments alone, and so tells of no secret that they do not tell of."""
        return self.purity is not None


class Level(Part):
    """The meaning of a score from `low` to `high` (both inclusive) means."""

    low: int
    high: int
    text: Labels


Outside = Literal["refuse", "keep", "clip"]


class Metric(Part):
    """A criterion of a rubric. `outside` says what becomes of a score that does not lie from `low` to `high`: it is
    refused, kept as it is, or taken as the nearer end."""

    name: str
    title: Labels
    dimension: str
    low: int
    high: int
    outside: Outside = "refuse"
    asks: Labels
    levels: tuple[Level, ...]

    @property
    def ends(self) -> tuple[int, int] | None:
        """Between which ends its scores lie; None where some may lie outside of the scale.

        >>> Metric(name="A", title={}, dimension="d", low=1, high=10, asks={}, levels=()).ends
        (1, 10)
        """
        return None if self.outside == "keep" else (self.low, self.high)

    def placed(self, value: float) -> float | None:
        """Return what a score counts as; None where it is refused.

        >>> metric = Metric(name="A", title={}, dimension="d", low=1, high=10, outside="clip", asks={}, levels=())
        >>> metric.placed(0), metric.model_copy(update={"outside": "refuse"}).placed(0)
        (1.0, None)
        """
        if self.low <= value <= self.high or self.outside == "keep":
            return value
        return float(min(max(value, self.low), self.high)) if self.outside == "clip" else None
