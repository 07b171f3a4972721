"""The structure of figures: their aggregates, degree and curves; and the missing results of a run, each with its
reason."""

from __future__ import annotations

import math
import operator as operator_module
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from functools import partial, reduce
from typing import Any

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import leaves_of, measures_of, walk
from tripos_compiler.library.ranges import CURVES, curve
from tripos_compiler.plan import (
    Aggregate,
    Column,
    Compare,
    Constant,
    Figure,
    Formula,
    Grade,
    Measure,
    Measured,
    Plan,
    Score,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection


def is_affine_single_value(plan: Plan, figure: Figure) -> bool:
    """Return true if a figure is one of the values, such as a median, or an affine function of one: a · median + b,
    with a ≠ 0."""
    measures = measures_of(plan)
    while True:
        match figure:
            case Measured(measure=name):
                figure = measures[name].figure
            case Formula(operator="negate", values=(inner,)):
                figure = inner
            case Formula(operator="+" | "-", values=(Constant(), inner) | (inner, Constant())):
                figure = inner
            case Formula(operator="*", values=(Constant(value=factor), inner) | (inner, Constant(value=factor))):
                if factor == 0:
                    return False
                figure = inner
            case Formula(operator="/", values=(inner, Constant())):
                figure = inner
            case Aggregate(function=function, of=None):
                return declared_aggregate(function).single_value
            case _:
                return False


def clamp_of(figure: Figure) -> tuple[Figure, float, float] | None:
    """Return the figure inside numbers that clamp it, as in `max(0, min(1, a))`, with the least and the greatest value
    that they allow; None for any other figure."""
    low, high = -math.inf, math.inf
    inner = figure
    while isinstance(inner, Formula) and inner.operator in ("min", "max"):
        numbers = [value.value for value in inner.values if isinstance(value, Constant)]
        others = [value for value in inner.values if not isinstance(value, Constant)]
        if not numbers or len(others) != 1:
            break
        # The outermost number decides.
        if inner.operator == "min":
            high = max(min(high, *numbers), low)
        else:
            low = min(max(low, *numbers), high)
        inner = others[0]
    return None if inner is figure else (inner, low, high)


Curve = Callable[[float], float]


def has_transform(plan: Plan, figure: Figure) -> bool:
    """Return true if a root, a logarithm or another curve is part of a figure."""
    return any(isinstance(part, Formula) and part.operator in CURVES for part in walk(figure, measures_of(plan)))


def transform_of(figure: Figure) -> tuple[Figure, Curve] | None:
    """Return the figure under a root, a logarithm or another curve, with the function of its value, also inside an
    affine formula such as `100 * sqrt(a)`; None for any other figure."""
    steps: list[Curve] = []
    curved = False
    while isinstance(figure, Formula):
        match figure:
            case Formula(operator="negate", values=(inner,)):
                steps.append(operator_module.neg)
            case Formula(operator=name, values=(inner,)) if name in CURVES:
                steps.append(partial(curve, name))
                curved = True
            case Formula(operator="+" | "-" | "*" | "/" as sign, values=(inner, Constant(value=number))):
                steps.append(partial(_with_right_operand, sign, number))
            case Formula(operator="+" | "-" | "*" as sign, values=(Constant(value=number), inner)):
                steps.append(partial(_ARITHMETIC[sign], number))
            case _:
                break
        figure = inner
    if not curved:
        return None
    return figure, lambda value: reduce(lambda result, step: step(result), reversed(steps), value)


def _with_right_operand(sign: str, number: float, value: float) -> float:
    """Return `value` `sign` `number`."""
    return _ARITHMETIC[sign](value, number)


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator_module.add,
    "-": operator_module.sub,
    "*": operator_module.mul,
    "/": operator_module.truediv,
}


def slices_of_sum(plan: Plan, figure: Figure) -> tuple[Mapping[str, str], ...] | None:
    """Return the slices in a figure that adds and subtracts means, each of which occurs once; None for any other
    figure. An unobserved item moves the value of such a sum no further than from one end of its scale to the other."""
    measures = measures_of(plan)
    means: set[str] = set()
    slices: list[Mapping[str, str]] = []
    pending: list[tuple[Figure, dict[str, str], frozenset[str]]] = [(figure, {}, frozenset())]
    while pending:
        match pending.pop():
            case Measured(measure=name, slice=own_slice), fixed, over:
                slices += [own_slice] if own_slice else []
                pending.append((measures[name].figure, {**own_slice, **fixed}, over))
            case Formula(operator="overall", values=values, over=further), fixed, over:
                pending += [(value, fixed, over | {*further}) for value in values]
            case Formula(operator="negate" | "+" | "-", values=values), fixed, over:
                pending += [(value, fixed, over) for value in values]
            case Aggregate() as part, fixed, over if _is_mean(part):
                text = f"{part.model_copy(update={'by': ()}).model_dump_json()} {sorted(fixed.items())} {sorted(over)}"
                if text in means:
                    return None
                means.add(text)
            case Constant(), _, _:
                pass
            case _:
                return None
    return tuple(slices) if means else None


def _is_mean(part: Aggregate) -> bool:
    """Return true if an aggregate is a mean of scores, or a mean of cells of such."""
    inner, is_mean = part.of, declared_aggregate(part.function).mean_of is not None
    return is_mean and (inner is None or (isinstance(inner, Aggregate) and _is_mean(inner)))


def is_over_formula(figure: Aggregate) -> bool:
    """Return true if an aggregate is taken, at any depth, of the cells of a formula."""
    while isinstance(figure.of, Aggregate):
        figure = figure.of
    return figure.of is not None


def degree(plan: Plan, figure: Figure) -> float | None:
    """Return the power p if a figure grows like (number of items)ᵖ: 0 for a mean, 1 for a sum, ½ for its root, 0 for a
    sum divided by a count. None for a sum of terms of different degree, such as `sum(x) + 5`."""
    return _degree(measures_of(plan), figure)


def _degree(measures: Mapping[str, Measure], figure: Figure) -> float | None:
    match figure:
        case Constant():
            return 0
        case Measured(measure=name):
            return _degree(measures, measures[name].figure)
        case Aggregate(of=inner) if inner is not None:
            return (
                0 if declared_aggregate(figure.function).counts else _degree(measures, inner)
            )  # the number of cells is fixed
        case Aggregate():
            return declared_aggregate(figure.function).degree
        case Formula(operator=operator, values=values):
            degrees = [_degree(measures, value) for value in values]
            known = [degree for degree in degrees if degree is not None]
            if len(known) < len(degrees):
                return None
            match operator:
                case "*":
                    return sum(known)
                case "/":
                    return known[0] - known[1]
                case "sqrt":
                    return known[0] / 2
                case "log" | "exp" | "atanh" | "tanh":
                    return 0 if known[0] == 0 else None
            return known[0] if len(set(known)) == 1 else None


UNDEFINED, NOT_APPLICABLE = "undefined", "not_applicable"
"""The statuses of a score that has no value: because of the reply, or because of the item or a condition."""
NOT_ASKED = "not asked"
"""The kind of missing results for calls that were not made."""


@dataclass(frozen=True)
class MissingResults:
    """The `count` of `total` results that are missing for one `reason`; `name` is a metric, a step or a scorer."""

    kind: str
    name: str
    count: int
    total: int
    reason: str

    @property
    def shown(self) -> str:
        """Return the missing results as one line of text.

        >>> reason = "`nth` has no value: a list of 1 has no item at position 1"
        >>> MissingResults("undefined", "right", 9, 10, reason).shown
        '9 of 10 right: `nth` has no value: a list of 1 has no item at position 1'
        """
        return f"{self.count:,} of {self.total:,} {self.name}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the missing results as JSON values."""
        return asdict(self)


def find_missing(connection: Connection, benchmark: str) -> tuple[MissingResults, ...]:
    """Return the missing results among the rows of a benchmark in the views of `connection`, by kind, the most frequent
    first: scores that are undefined because of a reply, and calls that were not made because their input has no
    value."""
    schema = sql.name(benchmark)
    scores = " union all ".join(
        f"select metric as name, score_id as id, status, error from {schema}.{table}" for table in ("scores", "columns")
    )
    calls = f"""select step as name, sample_id as id, status, error from {schema}.samples
      union all select scorer, judgement_id, status, error from {schema}.judgements"""
    missing = [
        *_count_missing(connection, scores, UNDEFINED, (UNDEFINED,)),
        *_count_missing(connection, calls, NOT_ASKED, (UNDEFINED, NOT_APPLICABLE)),
    ]
    return tuple(sorted(missing, key=lambda results: (results.kind, -results.count, results.name, results.reason)))


def _count_missing(connection: Connection, rows: str, kind: str, statuses: tuple[str, ...]) -> Iterator[MissingResults]:
    """Yield the rows with one of some statuses, counted by name and reason. `rows` is a query with the columns `name`,
    `id`, `status` and `error`."""
    missing_statuses = ", ".join(map(sql.text, statuses))
    query = f"""select name, coalesce(error, 'no reason is kept'), count(distinct id) from ({rows})
    where status in ({missing_statuses}) group by all"""
    counts = connection.execute(query).fetchall()
    if not counts:
        return
    names = ", ".join(sql.text(name) for name in sorted({name for name, _, _ in counts}))
    totals_query = f"""select name, count(distinct id) from ({rows})
    where name in ({names}) and (status <> {sql.text(NOT_APPLICABLE)} or status in ({missing_statuses})) group by all"""
    totals = dict(connection.execute(totals_query).fetchall())
    for name, error, count in counts:
        reason = error.removeprefix("not asked: ").removeprefix("not held: ")
        yield MissingResults(kind, name, count, totals[name], reason)


def why_missing(connection: Connection, plan: Plan, figure: Figure, model: str) -> str:
    """Return the statuses of those of a model's scores that a figure reads and that have no value, such as "undefined,
    refused", the most frequent first; empty if all have a value."""
    schema = sql.name(plan.benchmark.name)
    wanted = []
    for scenario, name in sorted(set(scored_names(plan, figure)), key=str):
        within = "" if scenario is None else f"scenario = {sql.text(scenario)} and "
        wanted.append(f"({within}{sql.text(name)} in (metric, scorer))")
    query = f"""select status from (
      select scenario, model, metric, scorer, status from {schema}.scores where value is null
      union all
      select scenario, model, metric, null, status from {schema}.columns where value is null and given is null)
    where model = {sql.text(model)} and ({" or ".join(wanted) or "false"})
      and status <> {sql.text(NOT_APPLICABLE)}
    group by status order by count(*) desc, status"""
    return ", ".join(status for (status,) in connection.execute(query).fetchall())


BY_A_RUN = "its values are not worked out yet: `tripos run` with this spec does"
"""The reason for values that a run computes, possibly with calls."""
WITHOUT_A_CALL = f"{BY_A_RUN}, without a call"
"""The reason for values that a run computes from replies in the store."""


def why_not_computed(plan: Plan, fingerprints: Collection[str], measure: Measure) -> str | None:
    """Return why a measure has no rows, if the run has not computed something that the measure reads; otherwise None.
    `fingerprints` are those of the steps that the run has results of."""
    wanted = list(scored_names(plan, measure.figure))
    not_computed = [
        (scenario, step)
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Score | Column | Grade | Compare) and step.fingerprint not in fingerprints
        if any(within in (None, scenario.name) and gives_score(step, name) for within, name in wanted)
    ]
    if not not_computed:
        return None
    for scenario, step in not_computed:
        inputs = {other.fingerprint for other in scenario.steps if other.name in step.needs}
        if not isinstance(step, Score | Column) or not inputs <= set(fingerprints):
            return BY_A_RUN
    return WITHOUT_A_CALL


def scored_names(plan: Plan, figure: Figure) -> Iterator[tuple[str | None, str]]:
    """Yield the scenario, if there is one, and the name of everything that a figure reads."""
    for leaf in leaves_of(figure, measures_of(plan)):
        yield from ((leaf.scenario, name) for name in leaf.values)


def gives_score(step: Score | Column | Grade | Compare, name: str) -> bool:
    """Return true if `name` is the name of a score of a step: the step's own name, its scorer's or that of one of its
    metrics."""
    return name == step.name or (
        isinstance(step, Grade | Compare) and name in (step.scorer, *getattr(step, "metrics", ()))
    )
