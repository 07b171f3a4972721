"""The evaluation of measures: their SQL, then an interval, a coverage and a reason for each value.

A measure that people correct comes as three figures of one query with their influences by item; the corrected figure is
computed here. Agreements of raters take longest, so the cells that several measures share are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.contexts import RowClusters
from tripos_compiler.language.figures import leaves_of, measures_of
from tripos_compiler.language.intervals import figure_range
from tripos_compiler.language.scored_values import scored_inputs, scored_values_of
from tripos_compiler.library.signature import OUT_OF_BOUNDS, in_bounds
from tripos_compiler.plan import Aggregate, Measure, Measured, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.figure_sql import graders_of, measure_query, sql_of
from tripos_warehouse.measures.figures import (
    Curve,
    clamp_of,
    is_affine_single_value,
    is_over_formula,
    transform_of,
    why_missing,
)
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.measures.products import (
    log_of_product,
    product_of,
    product_rows,
    resolve_names,
    rows_of_cells,
    same_value,
    weighted_form,
)
from tripos_warehouse.measures.query import Query, has_separate_scores
from tripos_warehouse.measures.random_facets import generalized_rows
from tripos_warehouse.measures.sides import Cell
from tripos_warehouse.query.connection import Connection, StoreConnection, duckdb
from tripos_warehouse.query.results import query_rows, run_query
from tripos_warehouse.statistics.arrays import CONFIDENCE, Floats, t_quantile, two_sided
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    ROUNDING,
    SINGLE_CLUSTER,
    SINGLE_CLUSTER_CELL,
    SINGLE_ITEM,
    SINGLE_ITEM_CELL,
    bounded,
    class_mean_ends,
    deviation_interval,
    share_sum_reach,
)
from tripos_warehouse.statistics.prediction_powered import (
    FEWEST_GRADED,
    InfluencedEstimate,
    expected_half_width,
    prediction_powered_estimate,
)
from tripos_warehouse.views.derived import score_sums_by
from tripos_warehouse.views.dimensions import dimension_place


@dataclass(frozen=True)
class CorrectedInputs:
    """The inputs of a corrected figure in one cell: the figure of the judge on all replies, of the judge on the replies
    that people graded, and of people, each with the influences of the same items. `names` are those items."""

    judge: InfluencedEstimate
    judge_labelled: InfluencedEstimate
    people: InfluencedEstimate
    graded: np.ndarray[tuple[int], np.dtype[np.bool_]]
    names: tuple[str, ...]
    n: int
    df: float
    units: float
    """The number of equally weighted graded items with the same precision."""

    @property
    def graded_items(self) -> frozenset[str]:
        """Return the items that have at least one grade by people."""
        return frozenset(name for name, known in zip(self.names, self.graded, strict=True) if known)

    @property
    def items(self) -> int:
        """Return the number of items that people graded."""
        return int(self.graded.sum())

    def corrected(self, ends: tuple[float, float] | None, null: float | None = None) -> tuple[Estimate, float]:
        """Return the corrected figure and λ (`prediction_powered_estimate`)."""
        base = Estimate(self.people.value, n=self.n, clusters=round(self.units))
        df = min(self.df, self.items - 1) - 1
        raised = (df + 1) / df if df > 0 else 1.0  # the influences already include the degree of freedom of a mean
        return prediction_powered_estimate(
            base, self.people, self.judge_labelled, self.judge, self.graded, df=df, raised=raised, ends=ends, null=null
        )

    def reach(self, items: int) -> float | None:
        """Return the approximate half-width of the interval for a number of graded items (`expected_half_width`)."""
        return expected_half_width(self.people, self.judge_labelled, self.judge, self.graded, items)


InputsByCell = dict[tuple[Cell, str], CorrectedInputs]


def corrected_inputs(connection: Connection, plan: Plan, measure: Measure) -> InputsByCell:
    """Return the inputs of a corrected measure by cell and model, for the cells that have them. Raises `StoreError` if
    the SQL fails."""
    by_cell: InputsByCell = {}
    for record in run_query(connection, sql_of(plan, measure)).to_pylist():
        inputs, _ = read_corrected_inputs(record)
        if inputs is not None:
            by_cell[tuple(record[name] for name in measure.by), str(record["model"])] = inputs
    return by_cell


def corrected_rows(
    measure: Measure, records: Sequence[Mapping[str, Any]], judged: Sequence[MeasureRow]
) -> Iterator[MeasureRow]:
    """Yield a row of the corrected figure for each row `judged` of the judge's figure, which it includes. `records` are
    the rows of the SQL of the corrected measure. If people graded too little, or not at random, the value is missing,
    with a reason."""
    by_cell = {(str(record["model"]), tuple(record[name] for name in measure.by)): record for record in records}
    for row in judged:
        record = by_cell.get((row.model, row.by))
        inputs, why = (None, "nothing has a value") if record is None else read_corrected_inputs(record)
        if inputs is None:
            yield MeasureRow(None, why, model=row.model, by=row.by, judged=row)
            continue
        result, power = inputs.corrected(_ends(measure))
        has_interval = result.low is not None and result.high is not None
        yield MeasureRow(
            result.value,
            None if has_interval else result.reason or "nothing shows the error",
            result.low,
            result.high,
            result.standard_error,
            method="corrected" if has_interval else None,
            model=row.model,
            by=row.by,
            judged=row,
            items=inputs.items,
            n=inputs.n,
            total=inputs.n,
            power=power,
        )


def read_corrected_inputs(record: Mapping[str, Any]) -> tuple[CorrectedInputs | None, str]:
    """Return the inputs of a corrected figure in a row of the SQL, with an empty reason; if one is missing, None and
    the reason."""
    values = [record[name] for name in ("of judge", "on graded", "of people")]
    if any(value is None for value in values):
        return None, str(record["reason"] or "people graded nothing of it")
    influences = record["all influences"] or []
    of_judge, on_graded, of_people = (_influences(influences, name) for name in ("of_judge", "of_graded", "of_people"))
    graded = np.array([influence["of_people"] is not None for influence in influences], dtype=bool)
    if not record["are known"] or int(graded.sum()) < FEWEST_GRADED:
        count = max(int(graded.sum()), 1)
        text = f"people graded replies to {count} of the items: it takes {FEWEST_GRADED}"
        return None, text if count < FEWEST_GRADED else "some of its cells have one item that people graded"
    names = tuple(influence["cluster_id"] for influence in influences)
    judge, labelled, people = (
        InfluencedEstimate(value, influence)
        for value, influence in zip(values, (of_judge, on_graded, of_people), strict=True)
    )
    units = float(record["effective items"] or graded.sum())
    return CorrectedInputs(judge, labelled, people, graded, names, int(record["n"]), float(record["df"]), units), ""


def _influences(influences: Sequence[Mapping[str, Any]], name: str) -> Floats:
    """Return the influence of each item on one of the three figures, 0 for an item without one."""
    return np.array([influence[name] or 0.0 for influence in influences], dtype=float)


def _ends(measure: Measure) -> tuple[float, float] | None:
    """Return the ends of the scale of a measure, if both are known."""
    return None if measure.low is None or measure.high is None else (measure.low, measure.high)


ROUNDING_ERROR = 1e-12
"""The rounding error of a value of 0 between bounds that are about 1 apart."""
BIAS_FACTOR = 2.0
"""The multiple of the estimated bias by which an interval is extended."""
ITEMS_ALIKE = "items do not differ: nothing shows the error"
NO_ERROR = "nothing shows the error of what it is made of"
SINGLE_ITEM_REASONS = (None, SINGLE_ITEM, SINGLE_ITEM_CELL)
"""The reasons for which a share still has its exact interval."""
CLUSTER_REASONS = {SINGLE_ITEM: SINGLE_CLUSTER, SINGLE_ITEM_CELL: SINGLE_CLUSTER_CELL}
"""The reason for a single cluster, by the reason for a single item: for items that were drawn together."""
PAST_ERROR = "its error is past all bounds, which are ±1e70"
Ends = tuple[float | None, float | None]


def has_separate_people(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure may have separate values by people, whose scores are not mixed with those of models."""
    values = scored_values_of(plan)
    leaves = list(leaves_of(measure.figure, measures_of(plan)))
    return graders_of(measure) == "counted" and any(
        has_separate_scores(plan, scored) for figure in leaves for scored in scored_inputs(values, figure)
    )


def evaluate(
    connection: Connection,
    plan: Plan,
    measure: Measure,
    by_people: bool = False,
    shared: Mapping[str, str] = MappingProxyType({}),
    *,
    values_only: bool = False,
) -> MeasureTable:
    """Return the values of `measure` with 95 % intervals; with `by_people`, the values by people whose scores are kept
    separate.

    The interval is, in this order:

    - for a share of independent items, the exact one of Clopper and Pearson; for sums of such shares, that of
      `share_sum_reach`; for a mean over classes with few items, that of `class_mean_ends`
    - for a figure whose statistic computes an interval, or that comes from a bootstrap, the one in the SQL result
    - for a standard deviation, that of `deviation_interval`
    - for a figure between two ends, that of `intervals.bounded`
    - otherwise `value ± t · error`, with the 97.5 % quantile of Student's t at the `df` degrees of freedom of the SQL
      result

    A cell whose items are all alike extends the interval, for kinds of items that were not observed. If the error is
    zero, there is no interval. An interval never leaves the bounds of the measure. Whatever is missing has a `reason`.
    A measure that people correct has the corrected figure, with the judge's in `judged` (`corrected_rows`); a measure
    with random facets has an interval that allows for other levels of them too (`generalized_rows`). `shared` maps
    queries to rewritten ones (`shared_cells`). If `values_only`, functions of the user compute no error.

    Raises `StoreError` S0201 if the SQL fails or lacks a column.
    """
    query = sql_of(plan, measure, by_people, partial(score_sums_by, connection, plan), values_only=values_only)
    try:
        columns, records = query_rows(connection, shared.get(query, query))
    except StoreError as error:
        text = f"internal error: the SQL of measure `{measure.name}` failed: {error.message}"
        raise StoreError("S0201", text, "please report it with the spec") from error
    needed = {"model", *measure.by, "value", "standard_error", "df", "items", "n", "total"}
    if measure.corrected and not by_people:
        judged = evaluate(connection, plan, measure.model_copy(update={"corrected": False})).rows
        return MeasureTable(measure, tuple(corrected_rows(measure, records, judged)), is_lower_better(plan, measure))
    if missing := sorted(needed - set(columns)):
        raise StoreError(
            "S0201", f"internal error: the SQL of measure `{measure.name}` lacks the column `{missing[0]}`"
        )
    bounds_if_alike = is_affine_single_value(plan, measure.figure)
    rows = [_row(measure, record, bounds_if_alike) for record in records]
    if _is_clustered(plan, measure):
        rows = [replace(row, reason=CLUSTER_REASONS.get(row.reason or "", row.reason)) for row in rows]
    if measure.missing == "fail":
        rows = [_failed(connection, plan, measure, row) for row in rows]
    places = [dimension_place(plan, name) for name in measure.by]
    rows = _transform_intervals(connection, plan, measure, by_people, rows)
    if not values_only and (weighted := weighted_form(plan, measure)) is not None:
        rows = _of_weighted_form(rows, evaluate(connection, *weighted, by_people).rows)
    if measure.random:
        rows = generalized_rows(connection, plan, measure, by_people, rows)
    rows.sort(key=lambda row: ([place(value) for place, value in zip(places, row.by, strict=True)], row.model))
    return MeasureTable(measure, tuple(rows), is_lower_better(plan, measure))


def _is_clustered(plan: Plan, measure: Measure) -> bool:
    """Return true if items of a measure may share a cluster."""
    scenarios = RowClusters(plan).scenarios
    return measure.scenario in scenarios if measure.scenario is not None else bool(scenarios)


def _of_weighted_form(rows: Sequence[MeasureRow], weighted: Sequence[MeasureRow]) -> list[MeasureRow]:
    """Return the rows of a measure, each as the row of its weighted form (`weighted_form`) if both have one value."""
    by_cell = {(row.model, row.by): row for row in weighted}
    found = []
    for row in rows:
        other = by_cell.get((row.model, row.by))
        is_same = other is not None and same_value(row.value, other.value)
        found.append(replace(other, value=row.value) if other is not None and is_same else row)
    return found


def _transform_intervals(
    connection: Connection, plan: Plan, measure: Measure, by_people: bool, rows: list[MeasureRow]
) -> list[MeasureRow]:
    """Return the rows of a measure, with intervals that follow from those of the figures inside it.

    The delta method fails at three places: where numbers clamp a figure (the interval is clamped like the value), in
    products, quotients and powers (the interval follows from those of the factors), and under a logarithm or another
    curve (the curve is applied to the ends).
    """
    if not rows:
        return rows

    def evaluated(other: Measure) -> Sequence[MeasureRow]:
        return evaluate(connection, plan, other, by_people).rows

    measure = resolve_names(plan, measure)
    if isinstance(measure.figure, Measured):
        return rows_of_cells(plan, measure, rows, evaluated)
    product = product_of(plan, measure)
    if product is not None:
        return product_rows(plan, measure, product, rows, evaluated)
    cut, curve = clamp_of(measure.figure), transform_of(measure.figure) or log_of_product(plan, measure)
    inner = cut[0] if cut is not None else curve[0] if curve is not None else None
    if inner is None:
        return rows
    low, high = figure_range(plan, inner, measure.missing).ends
    bare = measure.model_copy(update={"figure": inner, "low": low, "high": high})
    inner_rows = {(row.model, row.by): row for row in evaluated(bare)}
    if cut is not None:
        return [_clamped_row(row, inner_rows.get((row.model, row.by)), *cut[1:]) for row in rows]
    assert curve is not None
    return [_transformed_row(row, inner_rows.get((row.model, row.by)), curve[1]) for row in rows]


def _transformed_row(row: MeasureRow, inner: MeasureRow | None, curve: Curve) -> MeasureRow:
    """Return a row with the interval of the figure under a curve, taken through the curve."""
    if row.value is None or inner is None:
        return row
    if inner.low is None or inner.high is None:
        return row.without_interval(inner.reason or row.reason)
    low, high = sorted((curve(inner.low), curve(inner.high)))
    if not (in_bounds(low) and in_bounds(high)):
        return row
    return replace(row, low=low, high=high, method=inner.method, reason=None)


def _clamped_row(row: MeasureRow, inner: MeasureRow | None, least: float, most: float) -> MeasureRow:
    """Return a row with the interval of the figure that is clamped, with its ends clamped between `least` and
    `most`."""
    if row.value is None or inner is None:
        return row
    if inner.low is None or inner.high is None:
        return row if row.low is not None else replace(row, reason=inner.reason)
    low, high = (min(max(end, least), most) for end in (inner.low, inner.high))
    return replace(row, standard_error=inner.standard_error, low=low, high=high, method="cut", reason=None)


def _failed(connection: Connection, plan: Plan, measure: Measure, row: MeasureRow) -> MeasureRow:
    """Return a row with the missing scores as its reason, if `missing: fail` left it without a value."""
    if row.value is not None or row.n == row.total:
        return row
    text = why_missing(connection, plan, measure.figure, row.model)
    reason = f"{row.total - row.n:,} of {row.total:,} scores are missing, which `missing: fail` forbids"
    return replace(row, reason=f"{reason}: {text}" if text else reason)


def evaluate_or_error(
    connection: Connection,
    plan: Plan,
    measure: Measure,
    by_people: bool = False,
    shared: Mapping[str, str] = MappingProxyType({}),
) -> MeasureTable:
    """Evaluate a measure; if its SQL fails, return a table with the error and no rows, so that other measures are still
    shown.

    Raises `StoreError` for any other failure, which would affect all measures.
    """
    try:
        return evaluate(connection, plan, measure, by_people, shared)
    except StoreError as error:
        if error.code != "S0201":
            raise
        return MeasureTable(measure, (), is_lower_better(plan, measure), error.message)


def _row(measure: Measure, record: dict[str, Any], bounds_if_alike: bool) -> MeasureRow:
    """Return the row of a measure for a row of its SQL. If `bounds_if_alike`, bootstrap draws that all have the same
    value give an interval, as for a median."""
    value, error = _exact(measure, _bounded(record["value"])), _bounded(record["standard_error"])
    items, n, total = (int(record[name] or 0) for name in ("items", "n", "total"))
    ends = _scale_ends(measure, record, value)
    method, low, high = (None, None, None)
    if value is not None:
        method, low, high = _interval(measure, record, value, error, ends, bounds_if_alike)
    excess = record.get("its excess") or 0.0
    if low is not None and high is not None:
        low, high = low - BIAS_FACTOR * max(excess, 0.0), high - BIAS_FACTOR * min(excess, 0.0)
    if low is not None and high is not None:
        low = low if ends[0] is None else max(low, ends[0])
        high = high if ends[1] is None else min(high, ends[1])
    out_of_range = _out_of_range(record, value, low, high)
    if out_of_range is not None:
        low = high = None
    reason = None if low is not None else out_of_range or _reason(value, error, items, record)
    by = tuple(record[name] for name in measure.by)
    coverage = n / total if total else None
    return MeasureRow(
        model=str(record["model"]),
        by=by,
        value=value,
        standard_error=None if value is None else error,
        low=low,
        high=high,
        items=items,
        n=n,
        total=total,
        coverage=coverage,
        method=method if low is not None else None,
        reason=reason,
        unseen=math.sqrt(max(0.0, (error or 0.0) ** 2 - float(record.get("error shown") or 0.0) ** 2))
        if "error shown" in record
        else 0.0,
        counted_items=(int(record["items that count"] or 0), int(record["all items"]))
        if "all items" in record
        else None,
    )


def _scale_ends(measure: Measure, record: Mapping[str, Any], value: float | None) -> Ends:
    """Return the ends between which a value lies: for a sum of leaf cells those that follow from their scales, which do
    not depend on how the sum is written; otherwise those that the compiler knows."""
    below, above = record.get("room below"), record.get("room above")
    if value is None or below is None or above is None:
        return measure.low, measure.high
    return tuple(_without_rounding(end) for end in (value - below, value + above))  # type: ignore[return-value]


def _without_rounding(end: float) -> float:
    """Return an end of a scale without rounding error."""
    near = round(end, 9)
    return near if abs(end - near) <= ROUNDING_ERROR * max(1.0, abs(end)) else end


def _interval(
    measure: Measure, record: Mapping[str, Any], value: float, error: float | None, ends: Ends, bounds_if_alike: bool
) -> tuple[str, float | None, float | None]:
    """Return the method and the ends of the interval of a value, if it has one."""
    figure = measure.figure
    items, df = int(record["items"] or 0), float(record["df"] or 0)
    plain = isinstance(figure, Aggregate) and not is_over_formula(figure)
    source = declared_aggregate(figure.function).error if isinstance(figure, Aggregate) and plain else None
    if record.get("its shares") and record.get("reason") in SINGLE_ITEM_REASONS:
        shares = [(cell["weight"], cell["share"], cell["items"]) for cell in record["its shares"]]
        below, above = share_sum_reach(*zip(*shares, strict=True))
        return "exact", value - below, value + above
    if record.get("its classes"):
        classes = record["its classes"]
        return "exact", *class_mean_ends(
            [class_["share"] for class_ in classes], [class_["items"] for class_ in classes]
        )
    if record.get("its limits"):
        low, high = record["its limits"]
        return "corrected", low, high
    if "low" in record:
        return "bootstrap", *_bootstrap_ends(record, bounds_if_alike)
    if source == "deviation" and error is not None and error > ROUNDING:
        return "log", *(deviation_interval(value, error, df, items) or (None, None))
    method = "jackknife" if source == "jackknife" else "t" if None in ends else "logit"
    if error is None:
        return method, None, None
    if error <= ROUNDING:
        return _alike_interval(record, value, ends)
    shown, down, up = (float(record[name] or 0.0) for name in ("error shown", "reach down", "reach up"))
    low = high = value
    if shown <= ROUNDING:
        method = "exact"
    elif None in ends:
        half = _half_width(shown, df)
        if half is None:
            return method, None, None
        low, high = value - half, value + half
    else:
        units = float(record["effective items"] or items)
        result = bounded(Estimate(value), shown, df, (ends[0], ends[1]), units=units)  # type: ignore[arg-type]
        if result.low is None or result.high is None:
            return method, None, None
        low, high = result.low, result.high
    return method, value - math.hypot(value - low, down), value + math.hypot(high - value, up)


def _alike_interval(record: Mapping[str, Any], value: float, ends: Ends) -> tuple[str, float | None, float | None]:
    """Return the interval of a sum of cells whose items differ but have the same sum, as in a difference. A kind of
    unit that none of m units showed has at most the share 1 − (α/2)^(1/m), and may lie at either end of the scale."""
    units = float(record["effective items"] or 0)
    if record.get("room below") is None or record.get("reason") or record["is hidden"] or units <= 1 or None in ends:
        return "exact", None, None
    estimate = bounded(Estimate(value), 0.0, 1, (ends[0], ends[1]), units=units)  # type: ignore[arg-type]
    return "exact", estimate.low, estimate.high


def _bootstrap_ends(record: Mapping[str, Any], bounds_if_alike: bool) -> Ends:
    """Return the ends of a bootstrap interval. For a median, or an affine function of one, they may coincide, since a
    scale may have few steps. If all values are alike, or another function of medians never varies, there is no
    interval."""
    low, high, error = (_bounded(record[name]) for name in ("low", "high", "standard_error"))
    if (
        low is None
        or high is None
        or error is None
        or (error <= ROUNDING and (not bounds_if_alike or record.get("reason")))
    ):
        return None, None
    return low, high


def _out_of_range(record: Mapping[str, Any], value: float | None, low: float | None, high: float | None) -> str | None:
    """Return why a value or its interval is dropped although the SQL gave one: it is outside the representable
    range."""
    if value is None:
        return OUT_OF_BOUNDS if record["value"] is not None else None
    ends = (record["standard_error"], low, high)
    return PAST_ERROR if any(end is not None and not in_bounds(end) for end in ends) else None


def _reason(value: float | None, error: float | None, items: int, record: Mapping[str, Any]) -> str:
    """Return why a value, or its interval, is missing."""
    reason = record.get("reason")
    if reason is not None and (reason != SINGLE_ITEM_CELL or items > 1):
        return str(reason)
    if value is None:
        return "nothing has a value"
    if items == 1:
        return SINGLE_ITEM
    if "low" not in record:
        return ITEMS_ALIKE if error is not None and error <= ROUNDING else NO_ERROR
    if record.get("is known") is False:
        return NO_ERROR
    if _bounded(record["low"]) is None:
        return "too many draws of the items have no value: nothing shows the error"
    return "all draws of the items give the same value: nothing shows the error"


def _half_width(standard_error: float | None, df: float) -> float | None:
    """Return the half-width of a t interval; None if the error is unknown or zero. An estimated error of zero, of
    values that are all alike, says nothing about the true error."""
    quantile = t_quantile(two_sided(CONFIDENCE), df)
    if quantile is None or standard_error is None or standard_error <= ROUNDING:
        return None
    return quantile * standard_error


def _exact(measure: Measure, value: float | None) -> float | None:
    """Return a value without rounding error near 0, for a figure that has bounds or is an agreement."""
    figure = measure.figure
    is_agreement = isinstance(figure, Aggregate) and declared_aggregate(figure.function).error == "jackknife"
    has_bounds = measure.low is not None and measure.high is not None
    return 0.0 if value is not None and (has_bounds or is_agreement) and abs(value) < ROUNDING_ERROR else value


def _bounded(value: Any) -> float | None:
    """Return a number of the SQL result; None if it is missing or outside the representable range."""
    return float(value) if value is not None and in_bounds(value) else None


STATISTIC = "tripos_statistic("
"""The function call that marks an expensive part of a query, computed cell by cell."""
MODELS = "models"
"""The stem of the part with the models that have replies, which reads the same rows."""
EVERY = '"every model"'
"""The column with the list of all models, in a table of stored cells."""


@dataclass(frozen=True)
class _Cells:
    """The part `name` of a query that other measures may share, the part with the models, if there is one, and the
    query of these parts alone."""

    name: str
    models: str | None
    text: str


@contextmanager
def shared_cells(connection: Connection, plan: Plan, others: Iterable[Measure] = ()) -> Iterator[Mapping[str, str]]:
    """Yield rewritten queries for the measures of a plan, and `others`, that share expensive cells, by the text of
    `sql_of`. The cells are computed once, in memory. If the database refuses one, it is not shared, and evaluating the
    measure reports the error."""
    if not isinstance(connection, StoreConnection):
        yield {}
        return
    queries_by_cells: dict[_Cells, dict[str, Query]] = {}
    for query in (measure_query(plan, measure) for measure in (*plan.measures, *others)):
        if (cells := _cells_of(query)) is not None:
            queries_by_cells.setdefault(cells, {})[query.text] = query
    rewritten: dict[str, str] = {}
    tables: list[str] = []
    with connection.views.first(f"cells of {plan.benchmark.name}") as first:
        try:
            for cells, queries in queries_by_cells.items() if first else ():
                table = f"main.{sql.name(f'{plan.benchmark.name} cells {len(tables) + 1} in memory')}"
                if len(queries) > 1 and _store_cells(connection, table, cells):
                    tables.append(table)
                    rewritten |= {text: _rewritten(query, cells, table) for text, query in queries.items()}
            yield rewritten
        finally:
            with suppress(duckdb.ConnectionException):  # a closed connection has dropped its tables
                for table in tables:
                    connection.execute(f"drop table {table}")


def _cells_of(query: Query) -> _Cells | None:
    """Return the expensive cells of a query; None if it has none, or if the rest of the query reads their rows
    again."""
    name = next((name for name, body in query.parts.items() if STATISTIC in body), None)
    if name is None:
        return None
    models = next((part for part in query.parts if part.rstrip("0123456789") == MODELS), None)
    stored = [name] if models is None else [name, models]
    needed = query.needed(*stored)
    if query.without(*stored).parts.keys() & needed.keys():
        return None
    selected = f"*, (select list(distinct model) from {models}) as {EVERY}" if models is not None else "*"
    return _Cells(name, models, Query(needed, f"select {selected} from {name}").text)


def _store_cells(connection: StoreConnection, table: str, cells: _Cells) -> bool:
    """Compute cells into a table in memory, and return true unless the database refuses the query."""
    try:
        connection.execute(f"create or replace table {table} as {cells.text}")
    except duckdb.Error:
        return False
    return True


def _rewritten(query: Query, cells: _Cells, table: str) -> str:
    """Return the text of a query that reads its expensive cells from a table."""
    replaced = {cells.name: f"select * from {table}"}
    if cells.models is not None:
        replaced = {
            cells.name: f"select * exclude ({EVERY}) from {table}",
            cells.models: f"select distinct unnest({EVERY}) as model from {table}",
        }
    rest = query.without(*replaced)
    return Query({**replaced, **rest.parts}, rest.answer).text
