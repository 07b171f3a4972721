"""Signatures of aggregates: their parameters, the bounds of what they give, and what may be said of missing values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tripos_compiler.plan import Type
from tripos_compiler.source import dataclass

Bounds = tuple[float | None, float | None]
"""The least and the greatest value that there can be; None where there is no bound."""

ParameterKind = Literal[
    "scores", "chances", "truths", "weights", "values", "texts", "typed", "compare", "count", "rate", "word"
]


@dataclass(frozen=True)
class AggregateParameter:
    """A parameter of an aggregate.

    `scores` are numbers, or true and false, which count as 1 and 0; `chances` are numbers from 0 to 1, and `truths`
    true and false alone; `weights` are numbers from 0. `values` are of any type that can be told apart, or sets of
    such. `texts` are texts, behind the first also lists of them. `compare` are the verdicts of a `compare`. A `count`
    is a whole number from 1, and a `rate` a number from 0 to 1. Of a function of the user's a column is `typed`: its
    values are `of` a type. A `word` is one of `words`, or where there are none any value of the data; `default` is what
    it is where it is not given.
    """

    name: str
    kind: ParameterKind
    required: bool = True
    words: tuple[str, ...] = ()
    default: str | None = None
    of: Type | None = None

    @property
    def column(self) -> bool:
        """True if it has a value for every response, and is not a setting."""
        return self.kind not in ("count", "rate", "word")

    @property
    def shown(self) -> str:
        """Return how it stands in a signature.

        >>> AggregateParameter("average", "word", False, ("micro", "macro"), "macro").shown
        'average: micro|macro (optional)'
        """
        from tripos_compiler.language.library import type_notation

        typed = None if self.of is None else f"list<{type_notation(self.of)}>"
        kind = typed or "|".join(self.words) or self.kind
        return f"{self.name}: {kind}{'' if self.required else ' (optional)'}"


def between(low: float | None, high: float | None) -> Callable[[Bounds], Bounds]:
    """Return bounds that do not depend on what is taken.

    >>> between(0.0, 1.0)((-3.0, 7.0))
    (0.0, 1.0)
    """
    return lambda _: (low, high)


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate.

    `summary` says what it gives and `source` where its formula is from; it is empty where there is nothing to cite.
    `bounds` are those of the result, given those of what it takes. `across` says whether it compares raters, the models
    of a role: `measure … across ROLE`; where that is optional, a second column can be given instead. `truth_only`: its
    scores must be true or false. `of_rows`: it is the mean of a value of each row. `missing` lists what may be said of
    responses without a value, the first being what happens where nothing is said.
    """

    name: str
    parameters: tuple[AggregateParameter, ...]
    summary: str
    source: str
    bounds: Callable[[Bounds], Bounds]
    across: Literal["forbidden", "optional", "required"] = "forbidden"
    truth_only: bool = False
    of_rows: bool = False
    missing: tuple[str, ...] = ("skip", "zero", "fail")

    @property
    def takes(self) -> ParameterKind:
        """Return what its columns are: `scores`, `values`, `texts` or `compare`."""
        return self.columns[0].kind

    @property
    def columns(self) -> tuple[AggregateParameter, ...]:
        """The parameters that have a value for every response."""
        return tuple(parameter for parameter in self.parameters if parameter.column)

    @property
    def rises(self) -> bool:
        """True if it never falls when a value rises, as a mean and a sum do not.

        >>> from tripos_compiler.language.figures import AGGREGATES
        >>> [name for name in ("mean", "median", "sum", "max", "stdev", "count") if AGGREGATES[name].rises]
        ['mean', 'median', 'sum', 'max']
        """
        between_values = self.bounds((-3.0, 7.0)) == (-3.0, 7.0)
        return between_values or (self.bounds((2.0, 3.0)) == (0.0, None) and self.bounds((-3.0, -2.0)) == (None, 0.0))

    @property
    def needs_across(self) -> bool:
        """True if a measure must say `across ROLE`."""
        return self.across == "required"

    @property
    def shown(self) -> str:
        """The signature as people read it.

        >>> from tripos_compiler.language.figures import AGGREGATES
        >>> AGGREGATES["pass_at"].shown
        'pass_at(k: count, values: scores, tries: every|first (optional))'
        """
        return f"{self.name}({', '.join(parameter.shown for parameter in self.parameters)})"
