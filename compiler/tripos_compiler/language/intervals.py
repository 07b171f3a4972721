"""Interval arithmetic: ranges of expressions, scales of figures, and ranges of figures.

The range of an expression follows from the types of its fields, literals, arithmetic and the ranges of functions. An
unknown end is infinite. Only enforced types count: fields of replies, values of judges, and rows of data.

A figure keeps the scale of its parts, its *base*, while it is weighted: in `0.4 * a + 0.2 * b` the terms range from 0
to 0.4 and from 0 to 0.2, and may be added because `a` and `b` both range from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.scored_values import ScoredStep, ScoringStep, scored_inputs, scored_values_of
from tripos_compiler.library.calls import arguments_of
from tripos_compiler.library.function import Shape
from tripos_compiler.library.ranges import (
    ANY,
    CURVES,
    NO_LESS_THAN_ZERO,
    SHARE,
    Range,
    computed_range,
    curved_range,
    enclosing_range,
)
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import (
    Aggregate,
    Ask,
    AtElement,
    Binary,
    BoolType,
    Call,
    ChoiceType,
    Column,
    Constant,
    Each,
    Expr,
    Figure,
    Formula,
    Get,
    Grade,
    IntervalEnd,
    Items,
    Literal_,
    Measured,
    Missing,
    NumberType,
    Plan,
    Ref,
    Scenario,
    Score,
    Type,
    Unary,
    Verdict,
    named,
)
from tripos_compiler.source.data_classes import dataclass

# Ranges of expressions


@dataclass(frozen=True)
class Ranges:
    """Types and ranges of expressions of scenarios. `fields` has the field types of every data set, and `gives` the
    result type of every judge."""

    fields: Mapping[str, Mapping[str, Type]]
    gives: Mapping[str, Type | None]
    _cache: dict[tuple[int, int], tuple[Scenario, Expr, Range]] = field(default_factory=dict, compare=False)
    """Cache by identity; expressions share the values of a `let`."""

    def scale_of(self, scenario: Scenario, step: ScoringStep) -> Range | None:
        """Return the declared scale of the values of a step, or None if there is none or it has only one end."""
        low, high = type_range(self.declared(scenario, step))
        return None if math.isinf(low) or math.isinf(high) else (low, high)

    def declared(self, scenario: Scenario, step: ScoringStep) -> Type:
        """Return the declared type of the values of a step."""
        match step:
            case Score(truth=True):
                return BoolType()
            case Score(gives=ChoiceType() as gives):
                return gives
            case Score():
                return self.type_at(scenario, step.single) or NumberType()
            case Column(type=type_):
                return type_
        return self.gives.get(step.scorer) or NumberType()

    def of_step(self, scenario: Scenario, step: ScoringStep) -> Range:
        """Return the range of the values of a step, also if they have no declared scale."""
        declared = self.declared(scenario, step)
        chosen = isinstance(step, Score) and step.gives is not None
        if isinstance(step, Score | Column) and declared.kind != "bool" and not chosen:
            return self.of(scenario, step.single)
        return type_range(declared)

    def of(self, scenario: Scenario, expr: Expr) -> Range:
        """Return the range of a numeric expression where it is defined."""
        key = id(scenario), id(expr)
        if key not in self._cache:
            self._cache[key] = (scenario, expr, self._of(scenario, expr))
        return self._cache[key][2]

    def _of(self, scenario: Scenario, expr: Expr) -> Range:
        type_ = self.type_at(scenario, expr)
        if type_ is not None and (ends := type_range(type_)) != ANY:
            return ends
        match expr:
            case Ref():
                return self._probability(scenario, expr, ("confidence", "expected"))
            case Literal_(value=int() | float() as value) if in_bounds(value):
                return float(value), float(value)
            case Unary(operator="-", value=value):
                low, high = self.of(scenario, value)
                return -high, -low
            case Binary(operator="+" | "-" | "*" | "/" as operator, left=left, right=right):
                return computed_range(operator, self.of(scenario, left), self.of(scenario, right))
            case Call():
                return self.called(scenario, expr)
        return ANY

    def type_at(self, scenario: Scenario, expr: Expr) -> Type | None:
        """Return the declared type of a path: a field of a row or a reply, or a field or list item below it. None for
        any other expression."""
        match expr:
            case Ref(path=(name, *path)):
                return _below(self._type_of(scenario, name), path)
            case AtElement(of=Ref(path=(name, *_))):
                found = self._type_of(scenario, name)
                return None if isinstance(found, Mapping) else found
            case Get(of=of, field=field):
                return _below(self.type_at(scenario, of), [field])
            case Call(function=name) if name in FUNCTIONS and FUNCTIONS[name].shape is Shape.ITEM:
                items = self.type_at(scenario, arguments_of(expr)[FUNCTIONS[name].names[0]])
                return items.of if items is not None and items.kind in ("list", "set") else None
        return None

    def _type_of(self, scenario: Scenario, name: str) -> Type | Mapping[str, Type] | None:
        """Return the type of a name in a scenario: the fields of its rows, or the type of a reply."""
        if scenario.rows is not None and scenario.rows.alias == name:
            return self.fields.get(scenario.rows.dataset)
        found: list[Type | Mapping[str, Type] | None] = []
        for step in scenario.steps:
            if isinstance(step, Ask) and step.name == name:
                returns = step.read_as
                found.append(returns if returns is None or returns.kind == "record" else {"value": returns})
            elif isinstance(step, Verdict) and step.name == name:
                found.append(self.gives.get(step.scorer))
        return found[0] if found and all(each == found[0] for each in found) else None

    def _probability(self, scenario: Scenario, expr: Expr, parts: Collection[str]) -> Range:
        """Return the range of a number without a declared type that comes from token or option probabilities: a
        probability, their maximum, or the weighted mean of a scale. `parts` are those parts of a reply."""
        if not isinstance(expr, Ref) or len(expr.path) != 2 or expr.path[1] not in parts:
            return ANY
        name, field = expr.path
        asks = [step for step in scenario.steps if isinstance(step, Ask) and step.name == name]
        if not asks or any(step.options is None and step.settings.top_logprobs is None for step in asks):
            return ANY
        scales = [step.returns for step in asks if step.returns is not None]
        return enclosing_range(map(type_range, scales)) if field == "expected" and scales else SHARE

    def called(self, scenario: Scenario, call: Call) -> Range:
        """Return the range of a call, or of the items of the list of numbers that it returns."""
        function = FUNCTIONS.get(call.function)
        return ANY if function is None else function.range_of(_Arguments(self, scenario, call))

    def of_items(self, scenario: Scenario, items: Expr) -> Range:
        """Return the range of the items of a list."""
        type_ = self.type_at(scenario, items)
        ends = ANY if type_ is None or type_.kind not in ("list", "set") else type_range(type_.of)
        if ends != ANY:
            return ends
        match items:
            case Each(value=value):
                return self.of(scenario, value)
            case Items(values=values) if values:
                return enclosing_range(self.of(scenario, expr) for expr in values)
            case Call():
                return self.called(scenario, items)
        return self._probability(scenario, items, ("probabilities",))


@dataclass(frozen=True)
class _Arguments:
    """Ranges of the arguments of a call in a scenario."""

    ranges: Ranges
    scenario: Scenario
    call: Call

    @cached_property
    def given(self) -> Mapping[str, Expr]:
        return arguments_of(self.call)

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def all(self) -> Sequence[Range]:
        return [self.ranges.of(self.scenario, argument) for argument in (*self.call.args, *self.call.named.values())]

    def of(self, name: str) -> Range:
        return self.ranges.of(self.scenario, self.given[name])

    def items(self, name: str) -> Range:
        return self.ranges.of_items(self.scenario, self.given[name])

    def count(self, name: str) -> Range:
        items = self.given[name]
        return (len(items.values), len(items.values)) if isinstance(items, Items) else NO_LESS_THAN_ZERO

    def literal(self, name: str) -> object:
        expr = self.given[name]
        return expr.value if isinstance(expr, Literal_) else None


def ranges_of(plan: Plan) -> Ranges:
    """Return the types and ranges of a plan."""
    fields = {dataset.name: {field.name: field.type for field in dataset.fields} for dataset in plan.datasets}
    return Ranges(fields, {scorer.name: scorer.gives for scorer in plan.scorers})


def score_ranges(plan: Plan) -> dict[str, Range]:
    """Return the range of the scores of every name, without scores of metrics."""
    ranges = ranges_of(plan)
    found: dict[str, list[Range]] = {}
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                found.setdefault(step.name, []).append(ranges.of_step(scenario, step))
    return {name: enclosing_range(each) for name, each in found.items()}


def type_range(type_: Type) -> Range:
    """Return the range of the numbers of a type.

    >>> from tripos_compiler.plan import IntegerType, OptionalType
    >>> type_range(OptionalType(of=IntegerType(low=1, high=5))), type_range(IntegerType(low=0))
    ((1.0, 5.0), (0.0, inf))
    """
    inner = type_.of if type_.kind == "optional" else type_
    if inner.kind == "bool":
        return SHARE
    if inner.kind == "choice" and inner.worth:
        return min(inner.worth), max(inner.worth)
    if inner.kind != "integer":
        return ANY
    low = -math.inf if inner.low is None else float(inner.low)
    return low, math.inf if inner.high is None else float(inner.high)


def _below(type_: Type | Mapping[str, Type] | None, path: Iterable[str]) -> Type | None:
    """Return the type of a path below a type; for a list of records, a list of the field's type."""
    for name in path:
        if type_ is None or isinstance(type_, Mapping):
            type_ = None if type_ is None else type_.get(name)
        elif type_.kind == "record":
            type_ = type_.fields.get(name)
        elif type_.kind == "list" and type_.of.kind == "record" and name in type_.of.fields:
            type_ = type_.model_copy(update={"of": type_.of.fields[name]})
        else:
            return None
    return None if isinstance(type_, Mapping) else type_


# Scales of figures

Bounds = tuple[float, float]
UNIT: Bounds = (0.0, 1.0)


@dataclass(frozen=True)
class Scale:
    """Scale of a figure, as far as it is known.

    `bounds` are its least and greatest possible value, or None. `base` is its range before weighting, and `bases` are
    all scales with which it is compatible. `constant` is the value of a numeric constant, which is compatible with
    every scale.
    """

    bounds: Bounds | None = None
    base: Bounds | None = None
    bases: frozenset[Bounds] = frozenset()
    constant: float | None = None

    @property
    def required(self) -> Bounds | None:
        """Scale that must match in comparisons with other figures; None if the figure is compatible with every
        scale."""
        return self.bounds if self.bounds in self.bases else self.base


def scale_of(bounds: Bounds | None) -> Scale:
    """Return the scale of a figure that is not a formula.

    >>> scale_of((1.0, 10.0)).bounds
    (1.0, 10.0)
    """
    return Scale(bounds, bounds, frozenset() if bounds is None else frozenset((bounds,)))


def number(value: float) -> Scale:
    """Return the scale of a numeric constant."""
    return Scale((value, value), constant=value)


def negated(scale: Scale) -> Scale:
    """Return the scale of `-a`."""
    bounds = None if scale.bounds is None else (-scale.bounds[1], -scale.bounds[0])
    constant = None if scale.constant is None else -scale.constant
    return replace(scale, bounds=bounds, constant=constant)


def added(one: Scale, other: Scale) -> Scale:
    """Return the scale of `a + b`. If only one of them has a base, it is the base of the sum.

    >>> half = scaled(scale_of((0.0, 1.0)), 0.5)
    >>> added(half, half).bounds
    (0.0, 1.0)
    """
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = _finite_bounds(one.bounds[0] + other.bounds[0], one.bounds[1] + other.bounds[1])
    return _settled(_merged(one, other), bounds)


def scaled(scale: Scale, factor: float) -> Scale:
    """Return the scale of `a * factor`. A result from 0 to 1 is also compatible with the scale from 0 to 1.

    >>> ten = scale_of((1.0, 10.0))
    >>> share = scaled(added(ten, number(-1.0)), 1 / 9)
    >>> share.bounds, share.required, ten.required
    ((0.0, 1.0), (0.0, 1.0), (1.0, 10.0))
    """
    bounds = None
    if scale.bounds is not None:
        ends = sorted(end * factor for end in scale.bounds)
        bounds = _finite_bounds(ends[0], ends[1])
    return _settled(scale, bounds)


def absolute(scale: Scale) -> Scale:
    """Return the scale of `abs(a)`."""
    if scale.bounds is None:
        return scale
    low, high = scale.bounds
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return replace(scale, bounds=(least, max(abs(low), abs(high))))


def least(one: Scale, other: Scale) -> Scale:
    """Return the scale of `min(a, b)`."""
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = (min(one.bounds[0], other.bounds[0]), min(one.bounds[1], other.bounds[1]))
    return _settled(_merged(one, other), bounds)


def greatest(one: Scale, other: Scale) -> Scale:
    """Return the scale of `max(a, b)`."""
    return negated(least(negated(one), negated(other)))


def enclosing(one: Scale, other: Scale) -> Scale:
    """Return the scale of a mean of `a` and `b`."""
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = (min(one.bounds[0], other.bounds[0]), max(one.bounds[1], other.bounds[1]))
    return _settled(_merged(one, other), bounds)


def _merged(one: Scale, other: Scale) -> Scale:
    first = one if one.base is not None else other
    common = one.bases & other.bases
    return replace(first, bases=common or one.bases | other.bases, constant=None)


def _settled(scale: Scale, bounds: Bounds | None) -> Scale:
    bases = scale.bases
    if bounds is not None and scale.base is not None and math.isclose(bounds[1], 1) and math.isclose(bounds[0] + 1, 1):
        bounds, bases = UNIT, bases | {UNIT}
    return replace(scale, bounds=bounds, bases=bases, constant=None)


def _finite_bounds(low: float, high: float) -> Bounds | None:
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def rounded(bounds: Bounds) -> Bounds:
    """Return bounds without the rounding error of a sum.

    >>> rounded((-0.0, 0.4 + 3 * 0.2))
    (0.0, 1.0)
    """
    return (round(bounds[0], 12) + 0.0, round(bounds[1], 12) + 0.0)


def format_bounds(bounds: Bounds) -> str:
    """Return bounds in words.

    >>> format_bounds((1.0, 10.0))
    '1 to 10'
    """
    return f"{bounds[0]:g} to {bounds[1]:g}"


# Ranges of figures


def figure_range(plan: Plan, figure: Figure, missing: Missing) -> Range:
    """Return the range of a figure of a plan, with infinite ends if they are unknown."""
    match figure:
        case Constant(value=value):
            return value, value
        case Measured(measure=name):
            measure = named(plan.measures, name)
            low, high = measure.low, measure.high
            return -math.inf if low is None else low, math.inf if high is None else high
        case Formula(operator=operator, values=values):
            return formula_range(operator, [figure_range(plan, each, missing) for each in values])
        case Aggregate():
            return _aggregate_range(plan, figure, missing)


def _aggregate_range(plan: Plan, figure: Aggregate, missing: Missing) -> Range:
    function = AGGREGATES.get(figure.function)
    if function is None:  # of the user's
        return ANY
    if figure.of is not None:
        low, high = figure_range(plan, figure.of, missing)
    else:
        scored = scored_inputs(scored_values_of(plan), figure)
        low, high = scored_range(plan, scored[0]) if scored and scored[0].kind != "compare" else ANY
        if figure.of_condition:
            low, high = 0.0, 1.0
        if missing == "zero":
            low, high = min(low, 0.0), max(high, 0.0)
    least, most = function.bounds((low if math.isfinite(low) else None, high if math.isfinite(high) else None))
    return -math.inf if least is None else least, math.inf if most is None else most


def scored_range(plan: Plan, scored: ScoredStep) -> Range:
    """Return the range of the scores that an aggregate takes."""
    ranges = ranges_of(plan)
    scales = {metric.name: metric.ends for metric in plan.metrics}
    found: list[Range] = []
    for scenario in scored.scenarios:
        for step in scored.steps:
            if isinstance(step, Grade) and step.metrics:
                names = (scored.name,) if scored.kind == "metric" else step.metrics
                ends = [scales.get(name) for name in names]
                found += [ANY if end is None else (float(end[0]), float(end[1])) for end in ends]
            else:
                found.append(ranges.of_step(scenario, step))
    return enclosing_range(found) if found else ANY


def formula_range(operator: str, parts: Sequence[Range]) -> Range:
    """Return the range of a formula from the ranges of its operands; ends may be infinite.

    >>> formula_range("max", [(0.0, 0.0), (-math.inf, 1.0)])
    (0.0, 1.0)
    >>> formula_range("*", [(0.0, 1.0), (-1.0, 1.0)])
    (-1.0, 1.0)
    """
    lows, highs = zip(*parts, strict=True)
    match operator:
        case "negate":
            return -highs[0], -lows[0]
        case "abs":
            return max(lows[0], -highs[0], 0.0), max(-lows[0], highs[0])
        case _ if operator in CURVES:
            return curved_range(operator, parts[0])
        case "overall":
            return parts[0]
        case "harmonic_mean" if min(lows) >= 0:
            return min(lows), max(highs)
        case "min":
            return min(lows), min(highs)
        case "max":
            return max(lows), max(highs)
        case "+" | "-" | "*":
            return computed_range(operator, parts[0], parts[1])
        case "/" if any(low == high for low, high in parts):  # by a number
            return computed_range(operator, parts[0], parts[1])
    return -math.inf, math.inf


# Ends of confidence intervals

INTERVAL_ENDS: Final[Mapping[IntervalEnd, str]] = {
    "lower": "the lower end of the 95 % interval of a figure, in an `expect`",
    "upper": "the upper end of the 95 % interval of a figure, in an `expect`",
}
"""Description of each end of an interval, by its name in an `expect`."""


def end_signature(end: str) -> str:
    """Return the signature of an end.

    >>> end_signature("lower")
    'lower(figure)'
    """
    return f"{end}(figure)"
