"""The rows of a comparison, and what they say together.

All differences of the tables of a comparison are one family: the risk of a single false "better" is at most 5 %, and so
is that of a single false "more than x is ruled out" and of a single false "equivalent" or "not worse". A figure that
several tables show is one hypothesis.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeVar

from tripos_compiler.diagnostics import nearest
from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.statistics import StatisticResult, benjamini_hochberg, fixed_sequence
from tripos_warehouse.statistics.intervals import negated, p_of_above, upper_bound

LEVEL = 0.05
"""A corrected p-value below this settles which side is better."""
HEADLINE_SHARE = 0.8
"""The part of the level that tests the headline while there are other figures. With all of it nothing else could be
told apart if the headline shows no difference, however small its p-value is."""

Figure = tuple[Hashable, StatisticResult]
"""A hypothesis: what a row is computed from, and its difference. Rows with one figure are one hypothesis."""
Margins = Mapping[str | None, float]
"""By the name of a row, within what margin two sides are alike; by None that of all other rows."""
NO_MARGINS: Margins = MappingProxyType({})


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests that two sides are alike within a `margin`, in the unit of their figure (Schuirmann 1987).

    `low` and `high` are the 90 % interval of the difference, for this figure alone. `p_equivalent` is the p-value of
    sides that are the margin apart or more, and `p_not_worse` that of a second side that is worse by it or more; both
    are corrected for all figures that have a margin. If nobody knows which direction is good, there is no
    `p_not_worse`.
    """

    margin: float
    low: float | None
    high: float | None
    p_equivalent: float | None
    p_not_worse: float | None
    verdict: Literal["equivalent", "not worse", "different", "undecided"]

    @property
    def holds(self) -> bool:
        """True if the second side is shown to be as good as the first, within the margin."""
        return self.verdict in ("equivalent", "not worse")


@dataclass(frozen=True)
class ComparedRow:
    """One row: the mean of each side over the shared pairs, and how they differ (`b` less `a`).

    `name` and `of` say what is compared, such as a scenario and a scorer. `p` is that of the difference, corrected for
    all figures of the comparison; `q` is the false discovery rate at which it counts among them. `graded`: a higher
    value is a better one, or a lower one if `lower_is_better`; else it is a higher one and no more. `span` is how far
    apart two values can be, if the scale has bounds.
    """

    name: str
    of: str
    a: float
    b: float
    difference: StatisticResult
    p: float | None
    graded: bool
    span: float | None = None
    lower_is_better: bool = False
    q: float | None = None
    figure: Hashable = None
    """Equal for rows that are computed from the same scores in the same way; None of a row that is like no other."""
    farthest: float | None = None
    """The largest difference, in either direction, of a pair or of a group of items."""
    ruled_out: float | None = None
    """A difference beyond this, in either direction, is ruled out, for all figures at once."""
    equivalence: Equivalence | None = None
    by_sequence: bool = False
    """True if the difference, its interval and its p-value are those of a confidence sequence that a run followed."""

    @property
    def is_apart(self) -> bool:
        """True if the sides are shown to differ."""
        return self.p is not None and self.p < LEVEL

    @property
    def is_second_ahead(self) -> bool:
        """True if the second side has the better value, or the higher one if nobody knows which is better."""
        return ((self.difference.value or 0.0) > 0) != self.lower_is_better

    @property
    def second_is_better(self) -> bool:
        """True if the second side is shown to be better."""
        return self.graded and self.is_apart and self.is_second_ahead

    @property
    def first_is_better(self) -> bool:
        """True if the first side is shown to be better."""
        return self.graded and self.is_apart and not self.is_second_ahead


@dataclass(frozen=True)
class Section:
    """The rows of one kind: `measure`, `metric` or `scenario`."""

    kind: str
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True)
class Family:
    """The tables after correction. `tests` counts the figures that were tested, and `of_headline` those of the
    headline."""

    sections: tuple[Section, ...]
    tests: int
    of_headline: int


def corrected(sections: Sequence[Section], headline: Sequence[str] = (), margins: Margins = NO_MARGINS) -> Family:
    """Return tables whose p-values are corrected for all of their figures: the measures of the `headline` in their
    order, the others after Holm (`fixed_sequence`). What is ruled out holds for all figures at once (Bonferroni).

    Raises `StoreError` S0616 for a margin that fits no row.
    """
    rows = [row for section in sections for row in section.rows]
    _check_margins(rows, margins)
    figures = [(place if row.figure is None else row.figure, row.difference) for place, row in enumerate(rows)]
    named = list(zip((section.kind for section in sections for _ in section.rows), rows, figures, strict=True))
    first = [figure for name in headline for kind, row, figure in named if kind == "measure" and row.name == name]
    given = dict(zip(figures, (row.difference.p for row in rows), strict=True))
    p_values = _corrected(given, first)
    rates = dict(zip(given, benjamini_hochberg(list(given.values())), strict=True))
    bounded = len({figure for _, row, figure in named if _beyond(row, LEVEL) is not None})
    rows = [
        replace(row, p=p_values[figure], q=rates[figure], ruled_out=_beyond(row, LEVEL / bounded) if bounded else None)
        for row, figure in zip(rows, figures, strict=True)
    ]
    if margins:
        rows = _with_equivalence(rows, figures, first, margins)
    told = iter(rows)
    tested = {figure for figure, p in given.items() if p is not None}
    return Family(
        tuple(Section(section.kind, tuple(next(told) for _ in section.rows)) for section in sections),
        len(tested),
        len(tested & set(first)),
    )


Hypothesis = TypeVar("Hypothesis", bound=Hashable)


def _corrected(given: Mapping[Hypothesis, float | None], first: Iterable[Hypothesis]) -> dict[Hypothesis, float | None]:
    """Return the p-values of hypotheses, corrected for all of them; those that are `first` are tested before others."""
    places = {hypothesis: place for place, hypothesis in enumerate(given)}
    order = [places[hypothesis] for hypothesis in first if hypothesis in places]
    return dict(zip(given, fixed_sequence(list(given.values()), order, HEADLINE_SHARE), strict=True))


def _with_equivalence(
    rows: Sequence[ComparedRow], figures: Sequence[Figure], first: Sequence[Figure], margins: Margins
) -> list[ComparedRow]:
    """Return rows with what they say of their margins. Claims of either kind, "equivalent" and "not worse", are a
    family of their own."""
    asked = [(row, figure, margins.get(row.name, margins.get(None))) for row, figure in zip(rows, figures, strict=True)]
    alike: dict[tuple[Figure, float], float | None] = {}
    not_worse: dict[tuple[Figure, float, bool], float | None] = {}
    for row, figure, margin in asked:
        if margin is not None:
            above, below = (_p_of_beyond(row, each, margin) for each in (row.difference, negated(row.difference)))
            alike[figure, margin] = None if above is None or below is None else max(above, below)
            if row.graded:
                not_worse[figure, margin, row.lower_is_better] = above if row.lower_is_better else below
    alike = _corrected(alike, [each for figure in first for each in alike if each[0] == figure])
    not_worse = _corrected(not_worse, [each for figure in first for each in not_worse if each[0] == figure])
    found = []
    for row, figure, margin in asked:
        if margin is None:
            found.append(row)
        else:
            worse = not_worse[figure, margin, row.lower_is_better] if row.graded else None
            found.append(replace(row, equivalence=_equivalence(row, margin, alike[figure, margin], worse)))
    return found


def _equivalence(row: ComparedRow, margin: float, alike: float | None, not_worse: float | None) -> Equivalence:
    """Return what a row says of its margin. A second side that is shown to be better is not worse, whatever its bound
    is: a single test has less to show than the bound has."""
    high, low = (_bound(row, each, LEVEL) for each in (row.difference, negated(row.difference)))
    verdict: Literal["equivalent", "not worse", "different", "undecided"] = "undecided"
    if alike is not None and alike < LEVEL:
        verdict = "equivalent"
    elif not_worse is not None and (not_worse < LEVEL or row.second_is_better):
        verdict = "not worse"
    elif row.is_apart:
        verdict = "different"
    return Equivalence(margin, None if low is None else -low, high, alike, not_worse, verdict)


def _beyond(row: ComparedRow, level: float) -> float | None:
    """Return the bound of the difference in either direction, each with a risk of the level: a truth lies in one."""
    bounds = [_bound(row, each, level) for each in (row.difference, negated(row.difference))]
    return None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1])


def _bound(row: ComparedRow, difference: StatisticResult, level: float) -> float | None:
    return None if difference.low is None else upper_bound(difference, level, farthest=row.farthest, end=row.span)


def _p_of_beyond(row: ComparedRow, difference: StatisticResult, margin: float) -> float | None:
    return None if difference.low is None else p_of_above(difference, margin, farthest=row.farthest, end=row.span)


def _check_margins(rows: Sequence[ComparedRow], margins: Margins) -> None:
    """Raise `StoreError` S0616 for the name of no row, and for a margin that no two values of a row can exceed."""
    names = list(dict.fromkeys(row.name for row in rows))
    for name in margins:
        if name is not None and name not in names:
            close = nearest(name, names)
            hint = f"did you mean `{close}`?" if close else f"compared are {', '.join(names)}"
            raise StoreError("S0616", f"no measure, metric or scenario `{name}` is compared", hint)
    for row in rows:
        margin = margins.get(row.name, margins.get(None))
        if margin is not None and row.span is not None and margin >= row.span:
            message = f"within {margin:g} any two values of `{row.name}` are alike: they differ by {row.span:g} at most"
            raise StoreError("S0616", message, f"give it a smaller margin of its own: --within {row.name}=X")
