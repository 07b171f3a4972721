"""Interval arithmetic: ranges of expressions, scales of figures, and ranges of figures.

The range of an expression follows from the types of its fields, literals, arithmetic and the ranges of functions. An
unknown end is infinite. Only enforced types count: fields of replies, values of judges, and rows of data.

A figure keeps the scale of its parts, its *base*, while it is weighted: in `0.4 * a + 0.2 * b` the terms range from 0
to 0.4 and from 0 to 0.2, and may be added because `a` and `b` both range from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from tripos_compiler.language.aggregates import AGGREGATES, OF_PRODUCTS
from tripos_compiler.language.scored_values import ScoredStep, ScoringStep, scored_inputs, scored_values_of
from tripos_compiler.library.calls import arguments_of
from tripos_compiler.library.function import Evaluation, Shape
from tripos_compiler.library.ranges import (
    ANY,
    COMPUTED,
    CURVES,
    NO_LESS_THAN_ZERO,
    SHARE,
    Interval,
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
    IntegerType,
    IntervalEnd,
    Items,
    Literal_,
    Measured,
    Metric,
    Missing,
    NumberType,
    Plan,
    Ref,
    Scenario,
    Score,
    Scorer,
    Type,
    Unary,
    Verdict,
    named,
)
from tripos_compiler.source.data_classes import dataclass

# Ranges of expressions


@dataclass(frozen=True)
class Ranges:
    """Types and ranges of expressions of scenarios. `fields` has the field types of every data set, and `scorers`
    every judge."""

    fields: Mapping[str, Mapping[str, Type]]
    scorers: Mapping[str, Scorer]
    _cache: dict[tuple[int, int], tuple[Scenario, Expr, Interval]] = field(default_factory=dict, compare=False)
    """Cache by identity; expressions share the values of a `let`."""

    def scale_of(self, scenario: Scenario, step: ScoringStep) -> Interval | None:
        """Return the declared scale of the values of a step, or None if there is none or it has only one end."""
        return type_range(self.declared(scenario, step)).finite

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
        return self._gives(step.scorer) or NumberType()

    def of_step(self, scenario: Scenario, step: ScoringStep) -> Interval:
        """Return the range of the values of a step, also if they have no declared scale."""
        declared = self.declared(scenario, step)
        chosen = isinstance(step, Score) and step.gives is not None
        if isinstance(step, Score | Column) and declared.kind != "bool" and not chosen:
            return self.of(scenario, step.single)
        return type_range(declared)

    def of(self, scenario: Scenario, expr: Expr) -> Interval:
        """Return the range of a numeric expression where it is defined."""
        key = id(scenario), id(expr)
        if key not in self._cache:
            self._cache[key] = (scenario, expr, self._of(scenario, expr))
        return self._cache[key][2]

    def _of(self, scenario: Scenario, expr: Expr) -> Interval:
        type_ = self.type_at(scenario, expr)
        if type_ is not None and (ends := type_range(type_)) != ANY:
            return ends
        match expr:
            case Ref():
                return self._probability(scenario, expr, ("confidence", "expected"))
            case Literal_(value=int() | float() as value) if in_bounds(value):
                return Interval.point(float(value))
            case Unary(operator="-", value=value):
                return -self.of(scenario, value)
            case Binary(operator="/", left=left, right=right) if (
                low := self._marked_from(scenario, left, right)
            ) is not None:
                high = -low if low < 0 and self.of(scenario, right).low < 0 else 1  # -5 of -1 points is 5
                return Interval(float(min(low, 0)), float(high))
            case Binary(operator="+" | "-" | "*" | "/" as sign, left=left, right=right):
                return COMPUTED[sign](self.of(scenario, left), self.of(scenario, right))
            case Call():
                return self.called(scenario, expr)
        return ANY

    def _gives(self, scorer: str) -> Type | None:
        """Return the type of the values of a judge; None if they are those of metrics or of no known judge."""
        return self.scorers[scorer].gives if scorer in self.scorers else None

    def _marked_from(self, scenario: Scenario, marked: Expr, maximum: Expr) -> int | None:
        """Return the least mark of a verdict whose scale ends at `maximum`, the same in each row; None for others, such
        as a verdict on another element than that of `maximum`."""
        verdict, aliases = (marked.of, marked.loops) if isinstance(marked, AtElement) else (marked, ())
        steps = [step for step in scenario.steps if isinstance(step, Verdict) and verdict == Ref(path=(step.name,))]
        lows = set[int | None]()
        for step in steps:
            match self.scorers.get(step.scorer):
                case Scorer(maximum=Ref(path=(param,)), gives=IntegerType(low=low)) if (
                    step.args[param] == maximum and tuple(loop.alias for loop in step.loops) == aliases
                ):
                    lows.add(low)
                case _:
                    return None
        return lows.pop() if len(lows) == 1 else None

    def type_at(self, scenario: Scenario, expr: Expr) -> Type | None:
        """Return the declared type of a path: a field of a row or a reply, or a field or list item below it. None for
        any other expression."""
        match expr:
            case Ref(path=(name, *path)):
                return _below(self._type_of(scenario, name), path)
            case AtElement(of=Ref(path=(name, *_))):
                type_ = self._type_of(scenario, name)
                return None if isinstance(type_, Mapping) else type_
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
        types: list[Type | Mapping[str, Type] | None] = []
        for step in scenario.steps:
            if isinstance(step, Ask) and step.name == name:
                returns = step.read_as
                types.append(returns if returns is None or returns.kind == "record" else {"value": returns})
            elif isinstance(step, Verdict) and step.name == name:
                types.append(self._gives(step.scorer))
        return types[0] if types and all(other == types[0] for other in types) else None

    def _probability(self, scenario: Scenario, expr: Expr, parts: Collection[str]) -> Interval:
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

    def called(self, scenario: Scenario, call: Call) -> Interval:
        """Return the range of a call, or of the items of the list of numbers that it returns."""
        function = FUNCTIONS.get(call.function)
        return ANY if function is None else function.range_of(_Arguments(self, scenario, call))

    def of_items(self, scenario: Scenario, items: Expr) -> Interval:
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

    def all(self) -> Sequence[Interval]:
        return [self.ranges.of(self.scenario, argument) for argument in (*self.call.args, *self.call.named.values())]

    def of(self, name: str) -> Interval:
        return self.ranges.of(self.scenario, self.given[name])

    def items(self, name: str) -> Interval:
        return self.ranges.of_items(self.scenario, self.given[name])

    def count(self, name: str) -> Interval:
        items = self.given[name]
        return Interval.point(len(items.values)) if isinstance(items, Items) else NO_LESS_THAN_ZERO

    def literal(self, name: str) -> object:
        expr = self.given[name]
        return expr.value if isinstance(expr, Literal_) else None


def ranges_of(plan: Plan) -> Ranges:
    """Return the types and ranges of a plan."""
    fields = {dataset.name: {field.name: field.type for field in dataset.fields} for dataset in plan.datasets}
    return Ranges(fields, {scorer.name: scorer for scorer in plan.scorers})


def score_ranges(plan: Plan) -> dict[str, Interval]:
    """Return the range of the scores of every name, without scores of metrics."""
    ranges = ranges_of(plan)
    by_name: dict[str, list[Interval]] = {}
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                by_name.setdefault(step.name, []).append(ranges.of_step(scenario, step))
    return {name: enclosing_range(intervals) for name, intervals in by_name.items()}


def type_range(type_: Type) -> Interval:
    """Return the range of the numbers of a type.

    >>> from tripos_compiler.plan import IntegerType, OptionalType
    >>> type_range(OptionalType(of=IntegerType(low=1, high=5))) == (1.0, 5.0), type_range(IntegerType(low=0)).ends
    (True, (0.0, None))
    """
    inner = type_.of if type_.kind == "optional" else type_
    if inner.kind == "bool":
        return SHARE
    if inner.kind == "choice" and inner.worth:
        return Interval(min(inner.worth), max(inner.worth))
    if inner.kind != "integer":
        return ANY
    return Interval.of_ends(*(None if end is None else float(end) for end in (inner.low, inner.high)))


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


@dataclass(frozen=True)
class Scale:
    """Scale of a figure, as far as it is known.

    `bounds` are its least and greatest possible value, or None. `base` is its range before weighting, and `bases` are
    all scales with which it is compatible. `constant` is the value of a numeric constant, which is compatible with
    every scale.
    """

    bounds: Interval | None = None
    base: Interval | None = None
    bases: frozenset[Interval] = frozenset()
    constant: float | None = None

    @property
    def required(self) -> Interval | None:
        """Scale that must match in comparisons with other figures; None if the figure is compatible with every
        scale."""
        return self.bounds if self.bounds in self.bases else self.base


def scale_of(bounds: Interval | None) -> Scale:
    """Return the scale of a figure that is not a formula.

    >>> scale_of(Interval(1.0, 10.0)).bounds == (1.0, 10.0)
    True
    """
    return Scale(bounds, bounds, frozenset() if bounds is None else frozenset((bounds,)))


def number(value: float) -> Scale:
    """Return the scale of a numeric constant."""
    return Scale(Interval.point(value), constant=value)


def negated(scale: Scale) -> Scale:
    """Return the scale of `-a`."""
    bounds = None if scale.bounds is None else -scale.bounds
    constant = None if scale.constant is None else -scale.constant
    return replace(scale, bounds=bounds, constant=constant)


def added(one: Scale, other: Scale) -> Scale:
    """Return the scale of `a + b`. If only one of them has a base, it is the base of the sum.

    >>> half = scaled(scale_of(SHARE), 0.5)
    >>> added(half, half).bounds == SHARE
    True
    """
    return _combined(Interval.__add__, one, other)


def scaled(scale: Scale, factor: float) -> Scale:
    """Return the scale of `a * factor`. A result from 0 to 1 is also compatible with the scale from 0 to 1.

    >>> ten = scale_of(Interval(1.0, 10.0))
    >>> share = scaled(added(ten, number(-1.0)), 1 / 9)
    >>> share.bounds == share.required == SHARE, ten.required == (1.0, 10.0)
    (True, True)
    """
    return _settled(scale, None if scale.bounds is None else (scale.bounds * Interval.point(factor)).finite)


def absolute(scale: Scale) -> Scale:
    """Return the scale of `abs(a)`."""
    return scale if scale.bounds is None else replace(scale, bounds=abs(scale.bounds))


def least(one: Scale, other: Scale) -> Scale:
    """Return the scale of `min(a, b)`."""
    return _combined(Interval.minimum, one, other)


def greatest(one: Scale, other: Scale) -> Scale:
    """Return the scale of `max(a, b)`."""
    return negated(least(negated(one), negated(other)))


def enclosing(one: Scale, other: Scale) -> Scale:
    """Return the scale of a mean of `a` and `b`."""
    return _combined(Interval.hull, one, other)


def _combined(combine: Callable[[Interval, Interval], Interval], one: Scale, other: Scale) -> Scale:
    bounds = None
    if one.bounds is not None and other.bounds is not None:
        bounds = combine(one.bounds, other.bounds).finite
    return _settled(_merged(one, other), bounds)


def _merged(one: Scale, other: Scale) -> Scale:
    first = one if one.base is not None else other
    common = one.bases & other.bases
    return replace(first, bases=common or one.bases | other.bases, constant=None)


def _settled(scale: Scale, bounds: Interval | None) -> Scale:
    bases = scale.bases
    if bounds is not None and scale.base is not None and math.isclose(bounds[1], 1) and math.isclose(bounds[0] + 1, 1):
        bounds, bases = SHARE, bases | {SHARE}
    return replace(scale, bounds=bounds, bases=bases, constant=None)


def rounded(bounds: Interval) -> Interval:
    """Return bounds without the rounding error of a sum.

    >>> rounded(Interval(-0.0, 0.4 + 3 * 0.2)) == SHARE
    True
    """
    return bounds.through(lambda end: round(end, 12) + 0.0)


def format_bounds(bounds: Interval) -> str:
    """Return bounds in words.

    >>> format_bounds(Interval(1.0, 10.0))
    '1 to 10'
    """
    return f"{bounds[0]:g} to {bounds[1]:g}"


# Ranges of figures


def figure_range(plan: Plan, figure: Figure, missing: Missing) -> Interval:
    """Return the range of a figure of a plan, with infinite ends if they are unknown."""
    match figure:
        case Constant(value=value):
            return Interval.point(value)
        case Measured(measure=name):
            measure = named(plan.measures, name)
            return Interval.of_ends(measure.low, measure.high)
        case Formula(operator=operator, values=values):
            return formula_range(operator, [figure_range(plan, operand, missing) for operand in values])
        case Aggregate():
            return _aggregate_range(plan, figure, missing)


def _aggregate_range(plan: Plan, figure: Aggregate, missing: Missing) -> Interval:
    function = AGGREGATES.get(figure.function)
    if function is None:  # of the user's
        return ANY
    if figure.of is not None:
        of = figure_range(plan, figure.of, missing)
    else:
        scored = scored_inputs(scored_values_of(plan), figure)
        of = scored_range(plan, scored[0]) if scored and scored[0].kind != "compare" else ANY
        if figure.named == OF_PRODUCTS:
            of = quotient_range(plan, *scored) or ANY
        if figure.of_condition:
            of = SHARE
        if missing == "zero":
            of = of.hull(Interval.point(0.0))
    return Interval.of_ends(*function.bounds(of.ends))


def scored_range(plan: Plan, scored: ScoredStep) -> Interval:
    """Return the range of the scores that an aggregate takes."""
    ranges = ranges_of(plan)
    scales = {metric.name: metric_range(metric) for metric in plan.metrics}
    intervals: list[Interval] = []
    for scenario in scored.scenarios:
        for step in scored.steps:
            if isinstance(step, Grade) and step.metrics:
                names = (scored.name,) if scored.kind == "metric" else step.metrics
                intervals += [scales.get(name, ANY) for name in names]
            else:
                intervals.append(ranges.of_step(scenario, step))
    return enclosing_range(intervals) if intervals else ANY


def quotient_range(plan: Plan, scored: ScoredStep, divisor: ScoredStep) -> Interval | None:
    """Return the range of scores divided by others of the same replies of which each is a multiple, such as that of a
    for a * w and w; None for other scores."""
    ranges = ranges_of(plan)
    found: list[Interval] = []
    for scenario in scored.scenarios:
        over, under = (
            [step.single for step in scenario.steps if step in values.steps and isinstance(step, Score | Column)]
            for values in (scored, divisor)
        )
        for quotient in (_quotient(ranges, scenario, one, other) for one in over for other in under):
            if quotient is None:
                return None
            found.append(quotient)
    return enclosing_range(found) if found else None


def _quotient(ranges: Ranges, scenario: Scenario, expr: Expr, divisor: Expr) -> Interval | None:
    """Return the range of an expression by one of its factors; None if the divisor is no factor of it."""
    if expr == divisor:
        return Interval.point(1.0)
    match expr:
        case Literal_(value=0):
            return Interval.point(0.0)
        case Unary(operator="-", value=value):
            quotient = _quotient(ranges, scenario, value, divisor)
            return None if quotient is None else -quotient
        case Binary(operator="and", left=left, right=right) if divisor in (left, right):
            return SHARE
        case Binary(operator="*", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if (quotient := _quotient(ranges, scenario, one, divisor)) is not None:
                    return quotient * ranges.of(scenario, other)
        case Call(function=name) if name in FUNCTIONS and FUNCTIONS[name].evaluation is Evaluation.CHOICE:
            branches = list(arguments_of(expr).values())[1:]
            quotients = [_quotient(ranges, scenario, branch, divisor) for branch in branches]
            known = [quotient for quotient in quotients if quotient is not None]
            return enclosing_range(known) if len(known) == len(quotients) else None
    return None


def metric_range(metric: Metric) -> Interval:
    """Return the range of the scores of a metric."""
    return ANY if metric.ends is None else Interval(float(metric.low), float(metric.high))


def formula_range(operator: str, parts: Sequence[Interval]) -> Interval:
    """Return the range of a formula from the ranges of its operands; ends may be infinite.

    >>> formula_range("max", [Interval(0.0, 0.0), Interval(high=1.0)]) == SHARE
    True
    """
    first, *others = parts
    match operator:
        case "negate":
            return -first
        case "abs":
            return abs(first)
        case _ if operator in CURVES:
            return first.curved(operator)
        case "overall":
            return first
        case "harmonic_mean" if all(part.low >= 0 for part in parts):
            return first.hull(*others)
        case "min":
            return first.minimum(*others)
        case "max":
            return first.maximum(*others)
        case "+" | "-" | "*":
            return COMPUTED[operator](first, others[0])
        case "/" if any(part.low == part.high for part in parts):  # by a number
            return first / others[0]
    return ANY


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
