"""Comparisons of two runs, or of two models of one run: paired by item, for each measure, metric and scenario.

All differences in the tables of a comparison are one family of tests: the risk of a single false "better" is at most 5
%, and so is that of a single false "more than x is ruled out" and of a single false "equivalent" or "not worse". A
figure in several tables is one hypothesis.

Runs whose scores mean different things are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import LANGUAGES, chosen_language, localized
from tripos_compiler.language.aggregates import is_of_all_models
from tripos_compiler.language.contexts import Clustering
from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.language.intervals import ranges_of
from tripos_compiler.language.plan_diff import are_comparable, find_changes
from tripos_compiler.language.scored_values import element_scores
from tripos_compiler.plan import (
    Aggregate,
    BoolType,
    Grade,
    IntegerType,
    Labels,
    Measure,
    NumberType,
    Plan,
    Score,
    Type,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences import measure_differences
from tripos_warehouse.measures.directions import better_direction, higher_is_better_scores
from tripos_warehouse.measures.evaluation import evaluate_or_error
from tripos_warehouse.measures.measure_rows import (
    EXAGGERATED_DIFFERENCES,
    INTERRUPTED,
    TWO_RUNS_UNFOLLOWED,
    UNFOLLOWED,
    followed_difference,
)
from tripos_warehouse.measures.paired_scores import (
    PairedScores,
    mean_difference,
    paired_figure,
    paired_scores,
)
from tripos_warehouse.measures.sides import CellDifference, Side, items_without_scores
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    NO_SPREAD,
    ROUNDING,
    SINGLE_CLUSTER,
    negated,
    p_value_above,
    upper_bound,
)
from tripos_warehouse.statistics.multiple_tests import benjamini_hochberg, fixed_sequence
from tripos_warehouse.tables.values import estimate_text, interval_text
from tripos_warehouse.views.benchmark_views import clusterings_of, separate_people
from tripos_warehouse.views.dimensions import dimension_label, dimension_place
from tripos_warehouse.views.runs import RunRecord

LEVEL = 0.05
"""A corrected p-value below this decides which side is better."""
HEADLINE_SHARE = 0.8
"""The part of the level that tests the headline if there are other figures. If the headline had all of it and showed no
difference, no other figure could be significant, however small its p-value."""

Figure = tuple[Hashable, Estimate]
"""A hypothesis: an identifier of what a row is computed from, and its difference. Rows with the same figure are one
hypothesis."""
Margins = Mapping[str | None, float]
"""The margin within which two sides are equivalent, by the name of a row; that of all other rows has the key None."""
NO_MARGINS: Margins = MappingProxyType({})


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests that two sides are equivalent within a `margin`, in the unit of their figure (Schuirmann
    1987).

    `low` and `high` are the 90 % interval of the difference, for this figure alone. `p_equivalent` tests the hypothesis
    that the sides are at least the margin apart, and `p_not_worse` that the second side is worse by the margin or more;
    both are corrected for all figures that have a margin. If the measure has no direction, there is no `p_not_worse`.
    """

    margin: float
    low: float | None
    high: float | None
    p_equivalent: float | None
    p_not_worse: float | None
    verdict: Literal["equivalent", "not worse", "different", "undecided"]


@dataclass(frozen=True)
class ComparedRow:
    """One row: the mean of each side over the shared pairs, and their difference (`b` less `a`).

    `name` and `of` say what is compared, such as a scenario and a scorer. `p` is the p-value of the difference,
    corrected for all figures of the comparison; `q` is the lowest false discovery rate at which the difference is
    significant. `graded` is true if a higher value is better, or a lower one if `lower_is_better`; otherwise the row
    has no direction. `span` is the length of the scale, if it has bounds.
    """

    name: str
    of: str
    a: float
    b: float
    difference: Estimate
    p: float | None
    graded: bool
    span: float | None = None
    lower_is_better: bool = False
    q: float | None = None
    figure: Hashable = None
    """Equal for rows that are computed from the same scores in the same way; None for a row that differs from all
    others."""
    farthest: float | None = None
    """The largest absolute difference of a pair of scores or a group of items."""
    ruled_out: float | None = None
    """A difference beyond this, in either direction, is ruled out, for all figures at once."""
    equivalence: Equivalence | None = None
    cell: tuple[str | None, ...] | None = None
    """The values of the dimensions of a measure, if `of` names them."""
    names: Labels = field(default_factory=dict)
    """The title of what is compared in each language, such as that of a scenario."""
    labels: Labels = field(default_factory=dict)
    """The text of `of` in each language, if it is a title or a sentence, and no name."""
    by_sequence: bool = False
    """True if the difference, its interval and its p-value come from a confidence sequence of a run."""

    def shown(self, language: str | None) -> str:
        """Return what is compared, for a reader of a language; without one as in JSON. Titles of measures and scenarios
        are shown only in a language that the reader chose."""
        name = self.names.get(language or "", self.name) if chosen_language() else self.name
        of = self.labels.get(language or "", self.of)
        return f"{name} ({of})" if of else name

    @property
    def is_apart(self) -> bool:
        """True if the sides are shown to differ."""
        return self.p is not None and self.p < LEVEL

    @property
    def is_second_ahead(self) -> bool:
        """True if the second side has the better value, or without a direction the higher one."""
        return ((self.difference.value or 0.0) > 0) != self.lower_is_better

    @property
    def second_is_better(self) -> bool:
        """True if the second side is shown to be better."""
        return self.graded and self.is_apart and self.is_second_ahead

    @property
    def first_is_better(self) -> bool:
        """True if the first side is shown to be better."""
        return self.graded and self.is_apart and not self.is_second_ahead

    @property
    def regression(self) -> Literal["worse", "different", "undecided"] | None:
        """The reason why the second side does not pass as a replacement of the first, or None if it passes.

        With a margin, it passes only if it is shown to be equivalent or not worse within the margin. Without one, it
        passes unless it is shown to be worse.
        """
        if self.equivalence is not None:
            match self.equivalence.verdict:
                case "different" | "undecided" as verdict:
                    return verdict
            return None
        return "worse" if self.first_is_better else None

    @property
    def is_undecided(self) -> bool:
        """True if nothing is shown: neither a difference, nor, with a margin, that the difference is within it."""
        if self.equivalence is not None:
            return self.equivalence.verdict == "undecided"
        return not self.is_apart


@dataclass(frozen=True)
class Section:
    """The rows of a table of a comparison. Its `kind` is `measure`, `metric` or `scenario`."""

    kind: str
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True)
class Family:
    """Tables with corrected p-values. `tests` is the number of tested figures, and `of_headline` that of the headline
    figures among them."""

    sections: tuple[Section, ...]
    tests: int
    of_headline: int


def corrected(sections: Sequence[Section], headline: Sequence[str] = (), margins: Margins = NO_MARGINS) -> Family:
    """Return tables whose p-values are corrected for all of their figures: the measures of the `headline` in their
    order, then the others by Holm (`fixed_sequence`). Ruled-out differences hold for all figures at once (Bonferroni).

    Raises `StoreError` S0616 for a margin that fits no row.
    """
    rows = [row for section in sections for row in section.rows]
    _check_margins(rows, margins)
    figures = [(place if row.figure is None else row.figure, row.difference) for place, row in enumerate(rows)]
    named = list(zip((section.kind for section in sections for _ in section.rows), rows, figures, strict=True))
    first = [figure for name in headline for kind, row, figure in named if kind == "measure" and row.name == name]
    uncorrected = dict(zip(figures, (row.difference.p for row in rows), strict=True))
    p_values = _corrected(uncorrected, first)
    rates = dict(zip(uncorrected, benjamini_hochberg(list(uncorrected.values())), strict=True))
    bounded = len({figure for _, row, figure in named if _beyond(row, LEVEL) is not None})
    rows = [
        replace(row, p=p_values[figure], q=rates[figure], ruled_out=_beyond(row, LEVEL / bounded) if bounded else None)
        for row, figure in zip(rows, figures, strict=True)
    ]
    if margins:
        rows = _with_equivalence(rows, figures, first, margins)
    compared_rows = iter(rows)
    tested = {figure for figure, p in uncorrected.items() if p is not None}
    return Family(
        tuple(Section(section.kind, tuple(next(compared_rows) for _ in section.rows)) for section in sections),
        len(tested),
        len(tested & set(first)),
    )


Hypothesis = TypeVar("Hypothesis", bound=Hashable)


def _corrected(
    p_values: Mapping[Hypothesis, float | None], first: Iterable[Hypothesis]
) -> dict[Hypothesis, float | None]:
    """Return the p-values of hypotheses, corrected for all of them; those in `first` are tested before the others."""
    places = {hypothesis: place for place, hypothesis in enumerate(p_values)}
    order = [places[hypothesis] for hypothesis in first if hypothesis in places]
    return dict(zip(p_values, fixed_sequence(list(p_values.values()), order, HEADLINE_SHARE), strict=True))


def _with_equivalence(
    rows: Sequence[ComparedRow], figures: Sequence[Figure], first: Sequence[Figure], margins: Margins
) -> list[ComparedRow]:
    """Return rows with the tests of their margins. The claims "equivalent" are one family of tests, the claims "not
    worse" another."""
    with_margins = [
        (row, figure, margins.get(row.name, margins.get(None))) for row, figure in zip(rows, figures, strict=True)
    ]
    equivalent: dict[tuple[Figure, float], float | None] = {}
    not_worse: dict[tuple[Figure, float, bool], float | None] = {}
    for row, figure, margin in with_margins:
        if margin is not None:
            above, below = (
                _p_of_beyond(row, estimate, margin) for estimate in (row.difference, negated(row.difference))
            )
            equivalent[figure, margin] = None if above is None or below is None else max(above, below)
            if row.graded:
                not_worse[figure, margin, row.lower_is_better] = above if row.lower_is_better else below
    equivalent = _corrected(equivalent, [key for figure in first for key in equivalent if key[0] == figure])
    not_worse = _corrected(not_worse, [key for figure in first for key in not_worse if key[0] == figure])
    compared_rows = []
    for row, figure, margin in with_margins:
        if margin is None:
            compared_rows.append(row)
        else:
            p_equivalent = equivalent[figure, margin]
            p_not_worse = not_worse[figure, margin, row.lower_is_better] if row.graded else None
            compared_rows.append(replace(row, equivalence=_equivalence(row, margin, p_equivalent, p_not_worse)))
    return compared_rows


def _equivalence(row: ComparedRow, margin: float, p_equivalent: float | None, p_not_worse: float | None) -> Equivalence:
    """Return the result of both tests of the margin of a row, from their p-values. A second side that is shown to be
    better is not worse, whatever its bound: a single test needs less evidence than the bound."""
    high, low = (_bound(row, estimate, LEVEL) for estimate in (row.difference, negated(row.difference)))
    verdict: Literal["equivalent", "not worse", "different", "undecided"] = "undecided"
    if p_equivalent is not None and p_equivalent < LEVEL:
        verdict = "equivalent"
    elif p_not_worse is not None and (p_not_worse < LEVEL or row.second_is_better):
        verdict = "not worse"
    elif row.is_apart:
        verdict = "different"
    return Equivalence(margin, None if low is None else -low, high, p_equivalent, p_not_worse, verdict)


def _beyond(row: ComparedRow, level: float) -> float | None:
    """Return the larger one of the upper bounds of the difference and of its negative. Both are at the whole level,
    since the truth lies in only one direction."""
    bounds = [_bound(row, estimate, level) for estimate in (row.difference, negated(row.difference))]
    return None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1])


def _bound(row: ComparedRow, difference: Estimate, level: float) -> float | None:
    """Return the upper bound of a difference of a row; None without an interval."""
    return None if difference.low is None else upper_bound(difference, level, farthest=row.farthest, end=row.span)


def _p_of_beyond(row: ComparedRow, difference: Estimate, margin: float) -> float | None:
    """Return the p-value of a difference of a row at `margin` or above; None without an interval."""
    return None if difference.low is None else p_value_above(difference, margin, farthest=row.farthest, end=row.span)


def _check_margins(rows: Sequence[ComparedRow], margins: Margins) -> None:
    """Raise `StoreError` S0616 for a margin that names no row, or that is at least as large as the largest possible
    difference of a row."""
    names = list(dict.fromkeys(row.name for row in rows))
    for name in margins:
        if name is not None and name not in names:
            hint = suggest(name, names, f"compared are {', '.join(names)}")
            raise StoreError("S0616", f"no measure, metric or scenario `{name}` is compared", hint)
    for row in rows:
        margin = margins.get(row.name, margins.get(None))
        if margin is not None and row.span is not None and margin >= row.span:
            message = f"within {margin:g} any two values of `{row.name}` are alike: they differ by {row.span:g} at most"
            raise StoreError("S0616", message, f"give it a smaller margin of its own: --within {row.name}=X")


@dataclass(frozen=True)
class RunSide(Side):
    """A side whose connection shows one run alone."""

    run: RunRecord


@dataclass(frozen=True)
class Comparison:
    """The difference of two sides.

    `pairs` is the number of pairs of scores, of `items` items. `only_a` and `only_b` are the numbers of scores that the
    other side lacks, `same` that of scores of replies that both models share, since neither wrote them. `unpaired` are
    measures that cannot be compared, with the reason, and `of_all_models` those that are one figure of all models of a
    run, so that they distinguish no two models. `people` are those whose scores are kept separate, and not compared.
    """

    sections: tuple[Section, ...]
    pairs: int
    items: int
    only_a: int
    only_b: int
    same: int
    unpaired: tuple[tuple[str, str], ...]
    of_all_models: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """The measures of the headline, which are tested before the others."""
    by_people: tuple[str, ...] = ()
    """The measures that people correct."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of the errors, if items were drawn together."""
    tests: int = 0
    """The number of figures whose p-values are corrected together."""
    shares_level: bool = False
    """True if the headline has a part of the level, and other figures the rest."""
    margins: Margins = field(default_factory=dict)
    """The margins within which the sides should be equivalent."""
    stopped: bool = False
    """True if a model of a side did not see all items, since its run stopped as soon as it was settled."""
    interrupted: bool = False
    """True if the run of a side should stop as soon as it is settled, and was ended before."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes on runs that test their models after every item."""
        rows = [row for section in self.sections for row in section.rows if row.by_sequence]
        names = ", ".join(dict.fromkeys(row.name for row in rows))
        text = f"{names}: B − A, its interval and p are those of a confidence sequence, which hold whenever a run stops"
        cautions = {text: bool(rows), EXAGGERATED_DIFFERENCES: self.stopped, INTERRUPTED: self.interrupted}
        return tuple(caution for caution, applies in cautions.items() if applies)


def compare(one: RunSide, two: RunSide, *, by_judge: bool = True, margins: Margins = NO_MARGINS) -> Comparison:
    """Compare `two` with `one`. With `by_judge` a pair is two scores by the same judge, which is right if both sides
    have the same judges; without it, two means over judges. With `margins`, rows say whether the sides are equivalent.

    Raises `StoreError`: S0611 if they belong to two benchmarks, S0612 if a metric has another scale, S0613 if they
    share no item, S0616 for a margin that fits no row.
    """
    check_comparable(one, two)
    pairs = paired_scores(one, two, by_judge=by_judge)
    items = {*pairs.columns["item_id"].distinct, *items_without_scores(one, two, alone=not len(pairs))}
    if not items:
        count_a, count_b = (pairs.same + only for only in (pairs.only_a, pairs.only_b))
        hint = "both sides must have scores of the same items in the same scenarios; `tripos list` shows the runs"
        raise StoreError("S0613", f"the two sides share no scored item: {count_a:,} scores and {count_b:,}", hint)
    of_all_models = _measures_of_all_models(one, two)
    of_replies = pairs.where(~pairs.columns["metric"].isin(element_scores(two.plan)))
    measures, unpaired = _measures(one, two, pairs, of_all_models)
    sections = [
        Section("measure", measures),
        Section("metric", tuple(_metrics(two.plan, of_replies))),
        Section("scenario", tuple(_scenarios(two.plan, of_replies))),
    ]
    family = corrected([_as_followed(section, one, two) for section in sections], _headline(two.plan), margins)
    people = tuple(sorted({name for side in (one, two) for name in separate_people(side.connection, side.plan)}))
    first = tuple(name for name in _headline(two.plan) if name in {row.name for row in measures})
    by_people = tuple(measure.name for measure in two.plan.measures if measure.corrected)
    by_people = tuple(name for name in by_people if name in {row.name for row in measures})
    return Comparison(
        family.sections,
        len(pairs),
        len(items),
        pairs.only_a,
        pairs.only_b,
        pairs.same,
        unpaired,
        of_all_models,
        tuple(people),
        first,
        by_people,
        clusterings_of(two.connection, two.plan),
        family.tests,
        0 < family.of_headline < family.tests,
        margins,
        stopped=any(_stopped(side) for side in (one, two)),
        interrupted=any(side.run.interrupted for side in (one, two)),
    )


def check_comparable(one: RunSide, two: RunSide) -> None:
    """Raise `StoreError` S0611 if two sides belong to two benchmarks, and S0612 if a metric has another scale."""
    if one.run.benchmark != two.run.benchmark:
        message = f"`{one.run.run_id}` is a run of `{one.run.benchmark}`, `{two.run.run_id}` of `{two.run.benchmark}`"
        raise StoreError("S0611", message, "compare runs of one benchmark: `tripos list` shows them")
    before, after = _scales(one.plan), _scales(two.plan)
    for name in after:
        if name in before and before[name] != after[name]:
            message = f"`{name}` is on another scale: {before[name]} in one run, {after[name]} in the other"
            raise StoreError("S0612", message, "run the earlier spec again on the new scale")


def _scales(plan: Plan) -> dict[str, str]:
    """Return the possible values of every score, in words."""
    scales = {
        metric.name: f"{metric.low} to {metric.high}"
        + (f", outside {metric.outside}" if metric.outside != "refuse" else "")
        for metric in plan.metrics
    }
    ranges = ranges_of(plan)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                scales[step.name] = _values_text(ranges.declared(scenario, step))
    return scales


def _values_text(type_: Type) -> str:
    """Return the values of a type, in words."""
    match type_:
        case IntegerType(low=low, high=high) if low is not None or high is not None:
            return f"{low} to {high}"
        case BoolType():
            return "true or false"
        case IntegerType() | NumberType():
            return "a number"
    return str(type_.kind)


def _row(name: str, of: str, difference: CellDifference, *, graded: bool, lower_is_better: bool = False) -> ComparedRow:
    """Return the row of a difference, without a p-value."""
    a, b, figure = difference.a, difference.b, difference.identity
    row = ComparedRow(name, of, a, b, difference.difference, None, graded, difference.span, lower_is_better)
    return replace(row, figure=figure, farthest=difference.farthest)


def _measures_of_all_models(one: RunSide, two: RunSide) -> tuple[str, ...]:
    """Return the measures that are one figure of all models of a run, if both sides belong to one run."""
    if one.run.run_id != two.run.run_id:
        return ()
    return tuple(
        measure.name
        for measure in two.plan.measures
        if all(is_of_all_models(aggregate) for aggregate in aggregates_of(measure.figure, measures_of(two.plan)))
    )


def _measures(
    one: RunSide, two: RunSide, pairs: PairedScores, of_all_models: Sequence[str]
) -> tuple[tuple[ComparedRow, ...], tuple[tuple[str, str], ...]]:
    """Return the rows of every measure except those `of_all_models`, and the names of measures that cannot be compared,
    with the reason. If several measures are the same mean, only one of them has rows."""
    rows: dict[str, list[ComparedRow]] = {}
    shown = _shown_measures(two.plan)
    for measure in two.plan.measures:
        if measure.name not in of_all_models and shown.get(measure.name, measure) is measure:
            rows[measure.name] = _rows(one, two, measure, pairs)
    names = [measure.name for measure in two.plan.measures if measure.name not in of_all_models]
    missing = [name for name in names if not rows[shown[name].name if name in shown else name]]
    measures = {measure.name: measure for measure in two.plan.measures}
    return (
        tuple(row for name in names for row in rows.get(name, ())),
        tuple((name, _why_unpaired(one, two, measures[name])) for name in missing),
    )


def _rows(one: RunSide, two: RunSide, measure: Measure, pairs: PairedScores) -> list[ComparedRow]:
    """Return the rows of a measure: one for a mean of scores, in which all cells have the same weight, unless cells go
    by fields of items; otherwise one for each cell."""
    plan, mean = two.plan, _mean_of_all_cells(two.plan, measure)
    better = better_direction(plan, measure)
    dimensions = mean.by if mean is not None else ()
    equal_cells = _alike(" and ".join(dimensions)) if dimensions else ""
    compared = measure if mean is None else measure.model_copy(update={"by": ()})
    names = plan.titles.get("measure", {}).get(measure.name, {})
    rows = []
    for cell in measure_differences(one, two, compared, pairs=pairs):
        if equal_cells:
            labels = {language: localized(_alike(", ".join(dimensions)), language) for language in LANGUAGES}
            labels["en"] = equal_cells
        else:
            labels = _labels(plan, compared.by, cell.cell)
        of = equal_cells or _cell_text(plan, compared.by, cell.cell, None)
        row = _row(measure.name, of, cell, graded=better is not None, lower_is_better=better == "lower")
        rows.append(
            replace(row, cell=None if equal_cells else tuple(map(_as_text, cell.cell)), names=names, labels=labels)
        )
    return rows


def _alike(dimensions: str) -> str:
    """Return that all values of dimensions have the same weight."""
    return f"each {dimensions} alike"


def _as_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _cell_text(plan: Plan, by: Sequence[str], cell: Sequence[Any], language: str | None) -> str:
    """Return the titles of a cell of a measure in a language."""
    return ", ".join(dimension_label(plan, name, value, language) for name, value in zip(by, cell, strict=True))


def _labels(plan: Plan, by: Sequence[str], cell: Sequence[Any]) -> dict[str, str]:
    """Return the titles of a cell of a measure in each language of the plan."""
    return {language: _cell_text(plan, by, cell, language) for language in plan.title_languages}


def _mean_of_all_cells(plan: Plan, measure: Measure) -> Aggregate | None:
    """Return the mean of a cell of a measure, if the measure is a mean of paired scores and all its cells are compared
    as one; otherwise None."""
    figure = paired_figure(plan, measure)
    by_field = any("." in name for name in measure.by)
    return None if figure is None or figure.times is not None or by_field else figure.mean


def _why_unpaired(one: RunSide, two: RunSide, measure: Measure) -> str:
    """Return why a measure has no difference: it has no value on one or both sides, or not for the same items."""
    without_value = []
    for letter, side in (("A", one), ("B", two)):
        of_side = next((own for own in side.plan.measures if own.name == measure.name), None)
        rows = evaluate_or_error(side.connection, side.plan, of_side).rows if of_side is not None else ()
        if all(row.value is None for row in rows if row.model in side.models):
            reasons = sorted({row.reason for row in rows if row.reason and row.model in side.models})
            without_value.append((letter, "; ".join(reasons) or "nothing was scored"))
    match without_value:
        case [(_, a), (_, b)] if a == b:
            return f"neither side has a value: {a}"
        case []:
            return "no item has a value on both sides"
    return "; ".join(f"{letter} has no value: {why}" for letter, why in without_value)


def _shown_measures(plan: Plan) -> dict[str, Measure]:
    """Return, by the name of each measure whose cells are compared as one, the measure that is shown for all measures
    that are the same mean of cells: the first with the fewest dimensions."""
    chosen: dict[Any, Measure] = {}
    shown = {}
    for measure in sorted(plan.measures, key=lambda measure: len(measure.by)):
        if (mean := _mean_of_all_cells(plan, measure)) is not None:
            shown[measure.name] = chosen.setdefault((mean.values, mean.scenario, mean.by), measure)
    return shown


def _metrics(plan: Plan, pairs: PairedScores) -> Iterable[ComparedRow]:
    """Yield a row for each metric, in the order of the plan."""
    place, metrics = dimension_place(plan, "metric"), pairs.columns["metric"]
    for metric in sorted(metrics.distinct, key=place):
        difference = mean_difference(pairs.where(metrics.isin([metric])), weighted=False)
        label = dimension_label(plan, "metric", metric)
        graded = metric in higher_is_better_scores(plan)
        row = _row(str(metric), label if label != metric else "", difference, graded=graded)
        yield replace(row, labels=_labels(plan, ("metric",), (metric,)) if row.of else {})


def _scenarios(plan: Plan, pairs: PairedScores) -> Iterable[ComparedRow]:
    """Yield a row for each scenario and scorer, in the order of the plan."""
    place = dimension_place(plan, "scenario")
    codes, cells = pairs.cells(("scenario", "scorer"))
    for code, (scenario, scorer) in sorted(enumerate(cells), key=lambda pair: (place(pair[1][0]), pair[1][1])):
        of_cell = pairs.where(codes == code)
        graded = {*of_cell.columns["metric"].distinct} <= higher_is_better_scores(plan)
        row = _row(scenario, scorer, mean_difference(of_cell, weighted=True), graded=graded)
        yield replace(row, names=_labels(plan, ("scenario",), (scenario,)))


def _stopped(side: RunSide) -> bool:
    """Return true if a model of a side did not see all items, since its run stopped as soon as it was settled."""
    return bool(side.run.stopped_models & set(side.models))


def _as_followed(section: Section, one: RunSide, two: RunSide) -> Section:
    """Return a section with the differences of the confidence sequences of a run that both sides belong to. Other
    differences of runs that stopped as soon as they were settled are dropped, since no test for a fixed number of items
    is valid for them."""
    is_one_run = one.run.run_id == two.run.run_id
    pair = (two.models[0], one.models[0]) if is_one_run and len(one.models) == len(two.models) == 1 else None
    dimensions = {measure.name: measure.by for measure in two.plan.measures}
    cells: dict[tuple[str, tuple[str | None, ...] | None], dict[str, str | None]] = {}
    for figure in one.run.settled_figures if section.kind == "measure" else ():
        by, names = figure.get("by") or {}, dimensions.get(figure["name"], ())
        if by.keys() == set(names):
            cells[figure["name"], tuple(by[name] for name in names)] = by
    rows = []
    for row in section.rows:
        # A measure without dimensions has one row, whose cells may have the same weight.
        cell = cells.get((row.name, row.cell if dimensions.get(row.name) else ()))
        estimate = None
        if pair is not None and cell is not None:
            estimate = followed_difference(one.run, row.name, *pair, cell)
        if estimate is not None:
            rows.append(replace(row, difference=replace(estimate, n=row.difference.n), by_sequence=True))
        elif _stopped(one) or _stopped(two):
            dropped = Estimate.undefined(UNFOLLOWED if is_one_run else TWO_RUNS_UNFOLLOWED, n=row.difference.n)
            rows.append(replace(row, difference=replace(dropped, clusters=row.difference.clusters)))
        else:
            rows.append(row)
    return Section(section.kind, tuple(rows))


def _headline(plan: Plan) -> list[str]:
    """Return the names of the measures that a comparison shows for the headline, in its order."""
    shown, names = _shown_measures(plan), {measure.name for measure in plan.measures}
    return [shown[name].name if name in shown else name for name in plan.benchmark.headline if name in names]


class ChangeLine(NamedTuple):
    """A change as it is printed: where, such as `scenario letter`, and what. `scoring` is true if scores before and
    after it mean different things."""

    where: str
    what: str
    scoring: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class RunChanges(NamedTuple):
    """The changes between two runs, in the spec and in who graded. `by_judge` is true if the same judges graded both,
    so that scores are paired judge by judge."""

    changes: list[ChangeLine]
    by_judge: bool


def changes_between(one: RunSide, two: RunSide, *, anyway: bool = False) -> RunChanges:
    """Return the changes between the runs of two sides.

    Raises `StoreError`: S0611 and S0612 if they cannot be compared; and unless `anyway` is true, S0859 if their
    versions differ in kind, and S0615 if their scores mean different things.
    """
    check_comparable(one, two)
    judges = _judges(one.run, two.run)
    changed = spec_changes(one.plan, two.plan) + judges
    if not anyway:
        _refuse_majors(one.run, two.run)
        _refuse(changed)
    return RunChanges(changed, not judges)


def spec_changes(before: Plan, after: Plan) -> list[ChangeLine]:
    """Return the changes between two plans that can change a score, or add a scenario. A change in several scenarios is
    listed once, with the first scenario and the number of others."""
    old, new = before.benchmark.version, after.benchmark.version
    places: dict[tuple[str, str, bool], dict[str, None]] = {}
    for change in find_changes(before, after):
        if change.step:
            colon = " " if change.field == "name" else ": "
            named = "scenario", change.name.removesuffix(f".{change.step}")
            words = tuple(f"`{change.step}`{colon}{brief}" for brief in change.brief or ())
        elif change.can_change_scores or change.kind == "scenario":
            named, words = (change.kind, change.name), (change.what,) if change.brief is None else change.brief
        else:
            continue
        for what in words:
            places.setdefault((named[0], what, change.changes_meaning), {})[named[1]] = None
    lines = [ChangeLine("version", f"{old} → {new}")] if old != new else []
    for (kind, what, scoring), names in places.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        lines.append(ChangeLine(f"{kind} {next(iter(names))}{others}", what, scoring))
    return lines


def _judges(one: RunRecord, two: RunRecord) -> list[ChangeLine]:
    """Return a line for each role of judges that other models fill in the second run."""
    before, after = one.evaluators, two.evaluators
    names = [name for name in dict.fromkeys((*before, *after)) if set(before.get(name, ())) != set(after.get(name, ()))]
    fillings = [(name, ", ".join(before.get(name, ())), ", ".join(after.get(name, ()))) for name in names]
    return [ChangeLine(name, f"{old or 'nobody'} → {new or 'nobody'}", True) for name, old, new in fillings]


def _refuse_majors(one: RunRecord, two: RunRecord) -> None:
    """Raise `StoreError` S0859 if the versions of a benchmark declare that their figures differ in kind."""
    if not are_comparable(one.version, two.version):
        message = f"the runs are of versions {one.version} and {two.version} of `{two.benchmark}`, which differ in kind"
        raise StoreError("S0859", message, "list the changes: tripos diff A B; compare anyway with --anyway")


def _refuse(changed: list[ChangeLine]) -> None:
    """Raise `StoreError` S0615 if a change makes scores mean different things."""
    if scoring := [line for line in changed if line.scoring]:
        more = f", and {len(scoring) - 1} more" if len(scoring) > 1 else ""
        message = f"scores of the two runs mean different things: {scoring[0]}{more}"
        raise StoreError("S0615", message, "run both under one rubric and one judge, or compare with `--anyway`")


TITLES = {"measure": "over all", "metric": "by metric", "scenario": "by scenario"}


def verdict(row: ComparedRow, tests: int = 1, decimals: int = 2) -> str:
    """Return the verdict of a row, in words; it is one of `tests` tests.

    >>> from dataclasses import replace
    >>> from tripos_warehouse.statistics.estimate import Estimate
    >>> found = Estimate(0.31, low=0.12, high=0.5, standard_error=0.09, df=40, p=0.002, n=41, clusters=41)
    >>> made = ComparedRow("RIGHT", "", 7, 7.31, found, 0.004, True)
    >>> verdict(made)
    'B is better by 0.31 [0.12, 0.50]'
    >>> verdict(ComparedRow("OFF", "", 7, 7.31, found, 0.004, True, lower_is_better=True))
    'A is better by 0.31 [0.12, 0.50]'
    >>> verdict(replace(made, p=0.08, equivalence=Equivalence(0.4, 0.16, 0.46, 0.16, 0.001, "not worse")))
    'B is not worse by 0.4 or more [0.16, 0.46]'
    """
    difference = row.difference
    if difference.value is None:
        return f"not compared: {difference.reason}"
    value = difference.value
    claim = f"{'B' if row.is_second_ahead else 'A'} is {'better' if row.graded else 'higher'} by"
    size = f"{abs(value):.{decimals}f}"
    if difference.low is None or difference.high is None:
        if (difference.clusters or 0) < 2:
            which = "cluster of items" if difference.reason == SINGLE_CLUSTER else "item"
            return f"one {which} says nothing about the difference"
        if difference.reason not in (None, NO_SPREAD):
            why = difference.reason if "no interval" in difference.reason else f"no interval: {difference.reason}"
            return f"{'no difference' if abs(value) <= ROUNDING else f'{claim} {size}'}; {why}"
        if abs(value) <= ROUNDING:
            return f"no difference in any of {_count(difference.n, 'pair')}"
        return f"{claim} {size}, the same everywhere: no interval"
    # From the side of the higher value, so that the interval matches the sentence.
    low, high = (difference.low, difference.high) if value > 0 else (-difference.high, -difference.low)
    within = None if row.equivalence is None else _margin_verdict(row.equivalence, decimals)
    interval = estimate_text(Estimate(abs(value), low=low, high=high), f"{{:.{decimals}f}}".format)
    if row.is_apart:
        return f"{claim} {interval}" if within is None else f"{claim} {interval}; {within}"
    if within is not None:
        return within
    if low > 0:
        return f"{claim} {interval}, which may be chance among {tests} tests"
    none = abs(value) <= ROUNDING and not difference.standard_error
    text = f"no difference in any of {_count(difference.n, 'pair')}" if none else "no difference shown"
    if row.ruled_out is None:
        return text
    if row.span is not None and row.ruled_out >= row.span:
        return f"{text}; too few items to rule one out"
    return f"{text}; more than {_rounded_up(row.ruled_out, decimals)} is ruled out"


def _margin_verdict(equivalence: Equivalence, decimals: int) -> str | None:
    """Return the verdict on the margin of a row, with the 90 % interval of B − A; None without an interval."""
    if equivalence.low is None or equivalence.high is None:
        return None
    margin = f"{equivalence.margin:g}"
    places = max(decimals, len(margin.partition(".")[2]) + 1)
    ends = Estimate(0.0, low=equivalence.low, high=equivalence.high)
    interval = interval_text(ends, f"{{:.{places}f}}".format)
    match equivalence.verdict:
        case "equivalent":
            return f"equivalent within {margin} {interval}"
        case "not worse":
            return f"B is not worse by {margin} or more {interval}"
        case "different":
            return f"not shown to be within {margin} {interval}"
        case "undecided":
            return f"undecided within {margin} {interval}"


def _rounded_up(bound: float, decimals: int) -> str:
    """Return a bound rounded up to `decimals`, so that it still holds.

    >>> _rounded_up(0.0301, 2), _rounded_up(0.03, 2)
    ('0.04', '0.03')
    """
    if bound > 1e12:  # show no digits that are rounding errors
        return f"{bound:.{decimals}f}"
    return f"{math.ceil(round(bound * 10**decimals, 6)) / 10**decimals:.{decimals}f}"


def verdicts(section: Section, tests: int, decimals: int = 2) -> list[str]:
    """Return the verdict of each row of a section; each is one of `tests` tests."""
    return [verdict(row, tests, decimals) for row in section.rows]


def notes_of(comparison: Comparison) -> Iterable[str]:
    """Yield the notes below a comparison: its pairs, what it leaves out, and how p-values are corrected."""
    pairs = f"{_count(comparison.pairs, 'pair')} of " if comparison.pairs else ""
    if comparison.clusterings:
        yield f"{pairs}{_count(comparison.items, 'item')}."
        yield from (clustering.sentence for clustering in comparison.clusterings)
    else:
        yield f"{pairs}{_count(comparison.items, 'item')}; errors are clustered by item."
    yield from _family_notes(comparison)
    yield from comparison.cautions
    if comparison.same:
        yield f"{_count(comparison.same, 'pair')} of one and the same result on both sides: left out"
    for side, count in (("A", comparison.only_a), ("B", comparison.only_b)):
        if count:
            yield f"{_count(count, 'score')} of {side} {'has' if count == 1 else 'have'} no counterpart: left out"
    for name, why in comparison.unpaired:
        yield f"{name} is not compared: {why}"
    if corrected := _corrected_measures(comparison):
        names = ", ".join(corrected)
        yield f"B − A is corrected by people as one figure, and so not quite the difference of both: {names}"
    if comparison.people and comparison.by_people:
        text, names = ", ".join(comparison.people), ", ".join(comparison.by_people)
        yield f"scores by {text} correct {names}, and are no part of other figures"
    elif comparison.people:
        yield f"scores by {', '.join(comparison.people)} are apart: no part of these figures"
    if comparison.of_all_models:
        yield f"one figure of all models of the run, so not compared: {', '.join(comparison.of_all_models)}"


def _family_notes(comparison: Comparison) -> Iterable[str]:
    """Yield the notes on what p, q and bounds are corrected for."""
    yield "Each interval is of 95 %, not corrected for the number of figures."
    if comparison.tests > 1:
        figures = "both" if comparison.tests == 2 else f"all {comparison.tests}"
        yield f"p is corrected over {figures} figures of these tables (Holm)."
        yield "q is the false discovery rate among them (Benjamini and Hochberg)."
        yield "Bounds on differences hold for all figures at once."
    names = ", ".join(comparison.first)
    if comparison.shares_level:
        level, part = (f"{share * 100:g}" for share in (LEVEL, LEVEL * HEADLINE_SHARE))
        first = f"The headline is tested first, with {part} of the {level} %"
        yield f"{first}, and other figures with the rest until it is significant: {names}"
    elif len(comparison.first) > 1:
        yield f"The headline is tested first, in this order: {names}"
    if comparison.margins:
        yield "With a margin, brackets have the 90 % interval of B − A."


def _corrected_measures(comparison: Comparison) -> tuple[str, ...]:
    """Return the measures whose difference is not that of the values of both sides, since people correct them."""
    rows = [row for section in comparison.sections for row in section.rows]
    return tuple(
        dict.fromkeys(
            row.name
            for row in rows
            if row.difference.value is not None
            and not row.by_sequence
            and abs(row.difference.value - (row.b - row.a)) > ROUNDING
        )
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
