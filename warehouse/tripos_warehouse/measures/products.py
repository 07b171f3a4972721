"""Products, quotients and powers of figures, however they are written, and their intervals.

`a * b / c`, `a / (c / b)` and `exp(log(a) + log(b) - log(c))` are one product, so they have one interval: it follows
from the figures and their powers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product as pairs_of

from tripos_compiler.language.aggregates import OF_PRODUCTS, RATIOS, SUMS, WEIGHTED_MEAN
from tripos_compiler.language.intervals import figure_range, quotient_range
from tripos_compiler.language.scored_values import scored_inputs, scored_values_of
from tripos_compiler.library.ranges import curve
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Missing, Plan, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.statistics.intervals import Factor, product_interval

Rows = Callable[[Measure], Sequence[MeasureRow]]
"""A function that evaluates a measure."""


@dataclass(frozen=True)
class FigureProduct:
    """A number times powers of figures."""

    constant: float
    powers: Mapping[str, tuple[Figure, float]]
    """Each figure with its power, by the JSON of the figure."""

    def to_the(self, power: float) -> FigureProduct | None:
        """Return a power of the product; None if the constant has no such power."""
        if self.constant <= 0 and power != int(power):
            return None
        if self.constant == 0:
            return None
        powers = {key: (figure, inner * power) for key, (figure, inner) in self.powers.items()}
        return FigureProduct(self.constant**power, powers)

    def times(self, other: FigureProduct) -> FigureProduct:
        """Return the product of two products."""
        powers = dict(self.powers)
        for key, (figure, power) in other.powers.items():
            total = power + powers.get(key, (figure, 0.0))[1]
            powers[key] = (figure, total)
        nonzero = {key: (figure, power) for key, (figure, power) in powers.items() if power != 0}
        return FigureProduct(self.constant * other.constant, dict(sorted(nonzero.items())))


def _power(plan: Plan, product: FigureProduct, power: float, missing: Missing) -> FigureProduct | None:
    """Return a power of a product; None if its constant has no such power. The root of a square is the absolute value:
    √(a²) is a if a is never negative, −a if it is never positive, and |a| otherwise."""
    if power == int(power):
        return product.to_the(power)
    figures, sign = FigureProduct(product.constant, {}), 1.0
    for figure, inner in product.powers.values():
        if inner % 2 == 0 and inner * power % 2 == 1:
            low, high = figure_range(plan, figure, missing).ends
            if high is not None and high <= 0:
                sign = -sign
            elif low is None or low < 0:
                figure = Formula(operator="abs", values=(figure,))  # noqa: PLW2901
        figures = figures.times(FigureProduct(1.0, {figure.model_dump_json(): (figure, inner)}))
    root = figures.to_the(power)
    return None if root is None else root.times(FigureProduct(sign, {}))


def resolve_names(plan: Plan, measure: Measure) -> Measure:
    """Return a measure whose figure is not merely the name of another measure."""
    return measure.model_copy(update={"figure": _resolved(plan, measure.figure, measure.missing)})


def _resolved(plan: Plan, figure: Figure, missing: Missing) -> Figure:
    """Return the figure of the measure that `figure` names, if it names one with the same `missing`; otherwise the
    figure itself."""
    while isinstance(figure, Measured) and not figure.slice:
        measure = named(plan.measures, figure.measure)
        if measure.missing != missing:
            return figure
        figure = measure.figure
    return figure


def pooled_mean(plan: Plan, figure: Figure, missing: Missing) -> Aggregate | None:
    """Return the mean that equals a sum of scores divided by the number of the same scores. None for anything else, and
    for several metrics of a judge, which may have weights in a mean."""
    if not isinstance(figure, Formula) or figure.operator != "/" or missing != "skip":
        return None
    total, number = (_resolved(plan, value, missing) for value in figure.values)
    if not isinstance(total, Aggregate) or not isinstance(number, Aggregate) or total.of is not None:
        return None
    mean = RATIOS.get((total.function, number.function))
    if mean is None or number != total.model_copy(update={"function": number.function}):
        return None
    [scored, *_] = scored_inputs(scored_values_of(plan), total)
    return None if scored.kind == "scorer" else total.model_copy(update={"function": mean.name})


def weighted_form(plan: Plan, measure: Measure) -> tuple[Plan, Measure] | None:
    """Return a measure with a weighted mean in place of each quotient sum(a * w) / sum(w), or the same of means, and
    the plan with such measures. None if it has no such quotient.

    The values of both forms are equal unless a weight is below 0, or a lacks a value where w has one; the caller
    compares them.
    """
    if measure.random or measure.corrected:
        return None
    changed: dict[str, Measure] = {}
    figure = _weighted_figure(plan, measure.figure, measure.missing, changed)
    if figure == measure.figure and not changed:
        return None
    plan = plan.model_copy(update={"measures": tuple(changed.get(each.name, each) for each in plan.measures)})
    return plan, _with_range(plan, measure, figure)


def same_value(one: float | None, other: float | None) -> bool:
    """Return true if two forms of a measure have one value, up to rounding."""
    return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _with_range(plan: Plan, measure: Measure, figure: Figure) -> Measure:
    """Return a measure with another figure of the same value, and the range of that figure if it has none."""
    low, high = figure_range(plan, figure, measure.missing).ends
    ends = {"low": measure.low if low is None else low, "high": measure.high if high is None else high}
    return measure.model_copy(update={"figure": figure, **ends})


def _weighted_figure(plan: Plan, figure: Figure, missing: Missing, changed: dict[str, Measure]) -> Figure:
    """Return a figure in weighted form (`weighted_form`), and add the measures in weighted form that it names to
    `changed`."""
    match figure:
        case Measured(measure=name):
            measure = named(plan.measures, name)
            inner = _weighted_figure(plan, measure.figure, measure.missing, changed)
            if inner != measure.figure:
                changed[name] = _with_range(plan, measure, inner)
        case Aggregate(of=inner) if inner is not None:
            return figure.model_copy(update={"of": _weighted_figure(plan, inner, missing, changed)})
        case Formula(values=values):
            if (quotient := _weighted_quotient(plan, figure, missing)) is not None:
                return quotient.model_copy(update={"by": figure.by})
            parts = tuple(_weighted_figure(plan, value, missing, changed) for value in values)
            return figure.model_copy(update={"values": parts}) if parts != values else figure
    return figure


def _weighted_quotient(plan: Plan, figure: Formula, missing: Missing) -> Aggregate | Formula | None:
    """Return a product with a factor sum(a * w) and a divisor sum(w) as one with a weighted mean; None for any other
    figure."""
    if figure.operator not in ("*", "/") or missing != "skip":
        return None
    try:
        powers = _product(plan, figure, missing)
    except ArithmeticError:  # its constant is out of range
        return None
    if any(power not in (1, -1) for _, power in powers.powers.values()):
        return None
    over, under = ([each for each, power in powers.powers.values() if power == sign] for sign in (1, -1))
    for one, other in pairs_of(over, under):
        if (mean := _mean_of_quotients(plan, one, other)) is None:
            continue
        result: Aggregate | Formula = mean
        for factor in (each for each in over if each is not one):
            result = Formula(operator="*", values=(result, factor))
        for divisor in (each for each in under if each is not other):
            result = Formula(operator="/", values=(result, divisor))
        if powers.constant != 1:
            result = Formula(operator="*", values=(Constant(value=powers.constant), result))
        return result
    return None


def _mean_of_quotients(plan: Plan, one: Figure, other: Figure) -> Aggregate | None:
    """Return the weighted mean that equals sum(a * w) / sum(w), or the same quotient of means; None for other figures,
    and for several metrics of a judge, which may have weights in a mean."""
    if not (isinstance(one, Aggregate) and isinstance(other, Aggregate) and one.function in SUMS):
        return None
    same = {"values": one.values}
    if one == other or one != other.model_copy(update=same) or one.of is not None or one.elements or one.of_condition:
        return None
    mean = one.model_copy(
        update={"function": WEIGHTED_MEAN.name, "values": (*one.values, *other.values), "named": dict(OF_PRODUCTS)}
    )
    scored = scored_inputs(scored_values_of(plan), mean)
    if any(each.kind == "scorer" or each.scores_elements for each in scored):
        return None
    return None if quotient_range(plan, *scored) is None else mean


def rows_of_cells(plan: Plan, measure: Measure, rows: Sequence[MeasureRow], evaluated: Rows) -> list[MeasureRow]:
    """Return rows of a slice of a formula with the intervals that the formula has in these cells."""
    figure = measure.figure
    assert isinstance(figure, Measured)
    sliced = named(plan.measures, figure.measure)
    if not isinstance(sliced.figure, Formula):
        return list(rows)
    free = tuple(name for name in measure.by if name not in figure.slice)
    cells = evaluated(sliced.model_copy(update={"by": (*free, *figure.slice)}))
    fixed = tuple(figure.slice.values())
    by_cell = {(row.model, *row.by[: len(free)]): row for row in cells if tuple(map(str, row.by[len(free) :])) == fixed}
    places = [measure.by.index(name) for name in free]
    return [_as_cell(row, by_cell.get((row.model, *(row.by[place] for place in places)))) for row in rows]


def _as_cell(row: MeasureRow, cell: MeasureRow | None) -> MeasureRow:
    """Return a row with the interval of a cell, if both have the same value."""
    if row.value is None or cell is None or cell.value is None or not math.isclose(row.value, cell.value):
        return row
    ends = {name: getattr(cell, name) for name in ("low", "high", "method")}
    return replace(row, **ends, reason=cell.reason)


def product_of(plan: Plan, measure: Measure) -> FigureProduct | None:
    """Return a measure as a product of powers of figures; None for any other measure, and for one figure times a
    number."""
    try:
        plain = _product(plan, measure.figure, measure.missing)
    except ArithmeticError:  # its constant is out of range
        return None
    product = _with_harmonic_means(plan, plain, measure.missing)
    powers = [power for _, power in product.powers.values()]
    if not powers or (powers == [1.0] and product is plain):
        return None
    if measure.low is not None and measure.high is not None and any(power < 0 for power in powers):
        return None  # a sum divided by the count of its values, which is their mean
    return product


def _product(plan: Plan, figure: Figure, missing: Missing) -> FigureProduct:
    """Return a figure as a product. A figure that is not one is its own only factor."""
    product: FigureProduct | None = None
    figure = pooled_mean(plan, figure, missing) or figure
    match figure:
        case Constant(value=value):
            product = FigureProduct(value, {})
        case Formula(operator="negate", values=(inner,)):
            product = FigureProduct(-1.0, {}).times(_product(plan, inner, missing))
        case Formula(operator="*", values=(one, other)):
            product = _product(plan, one, missing).times(_product(plan, other, missing))
        case Formula(operator="/", values=(one, other)):
            inverse = _product(plan, other, missing).to_the(-1)
            product = None if inverse is None else _product(plan, one, missing).times(inverse)
        case Formula(operator="sqrt", values=(inner,)):
            product = _power(plan, _product(plan, inner, missing), 0.5, missing)
        case Formula(operator="exp", values=(inner,)):
            product = _exponential(plan, inner, missing)
        case Measured():
            resolved = _resolved(plan, figure, missing)
            product = None if resolved is figure else _product(plan, resolved, missing)
    return FigureProduct(1.0, {figure.model_dump_json(): (figure, 1.0)}) if product is None else product


def _exponential(plan: Plan, figure: Figure, missing: Missing) -> FigureProduct | None:
    """Return the exponential of a figure as a product, if the figure is a weighted sum of logarithms and numbers;
    otherwise None."""
    match figure:
        case Constant(value=value):
            return FigureProduct(math.exp(min(value, 700.0)), {})
        case Formula(operator="log", values=(inner,)):
            return _product(plan, inner, missing)
        case Formula(operator="+" | "-" as sign, values=(one, other)):
            parts = _exponential(plan, one, missing), _exponential(plan, other, missing)
            second = None if parts[1] is None else parts[1].to_the(1 if sign == "+" else -1)
            return None if parts[0] is None or second is None else parts[0].times(second)
        case Formula(operator="negate", values=(inner,)):
            product = _exponential(plan, inner, missing)
            return None if product is None else product.to_the(-1)
        case Formula(operator="*", values=(Constant(value=factor), inner) | (inner, Constant(value=factor))):
            product = _exponential(plan, inner, missing)
            return None if product is None else _power(plan, product, factor, missing)
        case Formula(operator="/", values=(inner, Constant(value=factor))) if factor != 0:
            product = _exponential(plan, inner, missing)
            return None if product is None else _power(plan, product, 1 / factor, missing)
    return None


def log_of_product(plan: Plan, measure: Measure) -> tuple[Figure, Callable[[float], float]] | None:
    """Return the exponential of a measure that is the logarithm of a product, such as log(a) − log(b), as a figure, and
    the logarithm as a function; None for any other measure."""
    figure = measure.figure
    if not isinstance(figure, Formula):
        return None
    try:
        product = _exponential(plan, figure, measure.missing)
    except ArithmeticError:
        return None
    if product is None or not product.powers:
        return None
    return Formula(operator="exp", values=(figure,)), partial(curve, "log")


def _with_harmonic_means(plan: Plan, product: FigureProduct, missing: Missing) -> FigureProduct:
    """Return the product with the harmonic mean of a and b in place of 2 * a * b / (a + b)."""
    for key, (figure, power) in product.powers.items():
        match figure:
            case Formula(operator="+", values=(one, other)) if power == -1:
                parts = [_resolved(plan, summand, missing).model_dump_json() for summand in (one, other)]
                if parts[0] != parts[1] and all(product.powers.get(part, (one, 0.0))[1] == 1 for part in parts):
                    mean = Formula(operator="harmonic_mean", values=(one, other))
                    rest = {name: factor for name, factor in product.powers.items() if name not in (key, *parts)}
                    without_mean = FigureProduct(product.constant / 2, rest)
                    return without_mean.times(FigureProduct(1.0, {mean.model_dump_json(): (mean, 1.0)}))
    return product


def product_rows(
    plan: Plan, measure: Measure, product: FigureProduct, rows: Sequence[MeasureRow], evaluated: Rows
) -> list[MeasureRow]:
    """Return the rows of a product with the intervals that follow from those of its factors; a row for which there is
    none is unchanged.

    A row with a bootstrap interval is unchanged too: the bootstrap draws all factors together, which is more precise.
    """
    tables: list[tuple[tuple[int, ...], Mapping[tuple[object, ...], MeasureRow], float]] = []
    for figure, power in product.powers.values():
        by = dims_of(plan, figure, measure.by)
        low, high = figure_range(plan, figure, measure.missing).ends
        bare = measure.model_copy(update={"figure": figure, "by": by, "low": low, "high": high})
        factor_rows = {(row.model, *row.by): row for row in evaluated(bare)}
        tables.append((tuple(measure.by.index(name) for name in by), factor_rows, power))
    ends = measure.low, measure.high
    return [_row_of(row, product, tables, ends) for row in rows]


def _row_of(
    row: MeasureRow,
    product: FigureProduct,
    tables: Sequence[tuple[tuple[int, ...], Mapping[tuple[object, ...], MeasureRow], float]],
    ends: tuple[float | None, float | None],
) -> MeasureRow:
    """Return one row of `product_rows`. For each factor, `tables` has the positions of its dimensions in those of the
    row, its rows by model and dimensions, and its power."""
    if row.value is None or row.method == "bootstrap":
        return row
    factors: list[Factor] = []
    methods: set[str | None] = set()
    for places, rows, power in tables:
        part = rows.get((row.model, *(row.by[place] for place in places)))
        if part is None or part.value is None or part.low is None or part.high is None:
            return row
        methods.add(part.method)
        factors.append(Factor(part.value, part.low, part.high, part.standard_error, power))
    if "bootstrap" in methods:
        return row
    try:
        interval = product_interval(product.constant, factors, row.value, row.standard_error)
    except ArithmeticError:  # out of range
        return row
    if interval is None:
        return row
    if isinstance(interval, str):
        return row.without_interval(interval)
    low = interval[0] if ends[0] is None else max(interval[0], ends[0])
    high = interval[1] if ends[1] is None else min(interval[1], ends[1])
    if not (in_bounds(low) and in_bounds(high)):
        return row
    method = methods.pop() if len(factors) == 1 else "log"
    return replace(row, low=low, high=high, method=method, reason=None)


def dims_of(plan: Plan, figure: Figure, by: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dimensions of `by` over which a figure varies: a slice is constant over the dimensions that it
    fixes."""
    dims = _dims(plan, figure, frozenset(by))
    return tuple(name for name in by if name in dims)


def _dims(plan: Plan, figure: Figure, by: frozenset[str]) -> frozenset[str]:
    match figure:
        case Constant():
            return frozenset()
        case Aggregate():
            return by
        case Measured(measure=name, slice=fixed):
            return _dims(plan, named(plan.measures, name).figure, by - set(fixed))
        case Formula(operator="overall", values=(of,), over=over):
            return _dims(plan, of, by - set(over))
        case Formula(values=values):
            return frozenset[str]().union(*(_dims(plan, value, by) for value in values))
