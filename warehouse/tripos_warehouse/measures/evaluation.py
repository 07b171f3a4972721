"""The values of measures: what their SQL finds, with an interval and a coverage on every value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from tripos_compiler.plan import Aggregate, Measure, Plan
from tripos_warehouse import dimensions
from tripos_warehouse.answers import run_query
from tripos_warehouse.errors import StoreError
from tripos_warehouse.gaps import why_missing
from tripos_warehouse.made_of import is_moved_median
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.statistics.intervals import wilson
from tripos_warehouse.statistics.quantiles import t_quantile

CONFIDENCE = 0.95
JACKKNIFED = frozenset(("kendall_w", "krippendorff_alpha", "kendall_tau", "spearman", "cohen_kappa", "quadratic_kappa"))
ROUNDING = 1e-9
"""An error below this is what rounding leaves of none."""


@dataclass(frozen=True)
class MeasureRow:
    """One value of a measure, for one model and one value of each dimension.

    `interval_low` and `interval_high` bound the 95 % interval. `items` are the independent rows behind the
    value, `n` the scores that count, `total` those that should; `coverage` is `n / total`.
    """

    model: str
    by: tuple[Any, ...]
    value: float | None
    standard_error: float | None
    interval_low: float | None
    interval_high: float | None
    items: int
    n: int
    total: int
    coverage: float | None
    half_width: float | None
    """Half the width of the interval as it would be without the bounds of the scale; where `method` is not `t`, how far
    it reaches on the longer side."""
    method: str | None = None
    """How the interval was found: `wilson`, `t`, `jackknife` or `bootstrap`."""
    reason: str | None = None
    """Why there is no value, or no interval."""


@dataclass(frozen=True)
class MeasureTable:
    """A measure's values: rows in plan order of their dimensions, and within those by model."""

    measure: Measure
    rows: tuple[MeasureRow, ...]
    error: str | None = None
    """What the database refused its SQL with, where it did; then there are no rows."""

    def to_rows(self) -> list[dict[str, Any]]:
        """A flat mapping a row: `measure`, `model`, the dimensions by name, then the numbers."""
        return [
            {
                "measure": self.measure.name,
                "model": row.model,
                **dict(zip(self.measure.by, row.by, strict=True)),
                "value": row.value,
                "standard_error": row.standard_error,
                "low": row.interval_low,
                "high": row.interval_high,
                "items": row.items,
                "n": row.n,
                "total": row.total,
                "coverage": row.coverage,
                "method": row.method,
                "reason": row.reason,
            }
            for row in self.rows
        ]


def evaluate(connection: duckdb.DuckDBPyConnection, plan: Plan, measure: Measure) -> MeasureTable:
    """The values of `measure` with 95 % intervals.

    Of a share of independent items the interval is Wilson's. Where the SQL draws items again it is the one that the SQL
    gives. Else it is `value ± t · standard_error`, with the 97.5 % quantile of Student's t at the `df` degrees of
    freedom that the SQL gives; there is none without an error above zero. All are clipped to the measure's bounds. What
    is not there has a `reason`.

    Raises `StoreError` W0201 where the SQL fails or lacks a column.
    """
    try:
        table = run_query(connection, sql_of(plan, measure))
    except StoreError as error:
        told = f"internal error: the SQL of measure `{measure.name}` failed: {error.message}"
        raise StoreError("W0201", told, "please report it with the spec") from error
    needed = {"model", *measure.by, "value", "standard_error", "df", "items", "n", "total"}
    if missing := sorted(needed - set(table.column_names)):
        raise StoreError(
            "W0201", f"internal error: the SQL of measure `{measure.name}` lacks the column `{missing[0]}`"
        )
    still = is_moved_median(plan, measure.figure)
    rows = [_row(measure, found, still) for found in table.to_pylist()]
    if measure.missing == "fail":
        rows = [_failed(connection, plan, measure, row) for row in rows]
    places = [dimensions.place(plan, name) for name in measure.by]
    rows.sort(key=lambda row: ([place(value) for place, value in zip(places, row.by, strict=True)], row.model))
    return MeasureTable(measure, tuple(rows))


def _failed(connection: duckdb.DuckDBPyConnection, plan: Plan, measure: Measure, row: MeasureRow) -> MeasureRow:
    """A row that says which scores are missing, where `missing: fail` leaves it without a value for that."""
    if row.value is not None or row.n == row.total:
        return row
    told = why_missing(connection, plan, measure.figure, row.model)
    reason = f"{row.total - row.n:,} of {row.total:,} scores are missing, which `missing: fail` forbids"
    return replace(row, reason=f"{reason}: {told}" if told else reason)


def evaluate_or_tell(connection: duckdb.DuckDBPyConnection, plan: Plan, measure: Measure) -> MeasureTable:
    """The same, but a measure whose SQL fails has its error instead of rows, so that it hides no other.

    Raises `StoreError` where it is not the SQL that fails, which no measure would stand.
    """
    try:
        return evaluate(connection, plan, measure)
    except StoreError as error:
        if error.code != "W0201":
            raise
        return MeasureTable(measure, (), error.message)


def _row(measure: Measure, found: dict[str, Any], still: bool) -> MeasureRow:
    """A row of what the SQL found. `still`: draws that are all alike bound the value, as those of a median do."""
    value, error = _finite(found["value"]), _finite(found["standard_error"])
    items, n, total = (int(found[name] or 0) for name in ("items", "n", "total"))
    method, half = "t", _half_width(error, int(found["df"] or 0))
    low = high = None
    if value is not None and found.get("is share") and (measure.low, measure.high) == (0, 1):
        method, share = "wilson", wilson(value * items, items)
        low, high = share.low, share.high
    elif value is not None and "low" in found:
        method, half = "bootstrap", None
        low, high = _drawn(found, still)
    elif value is not None and half is not None:
        method = "jackknife" if _is_listed(measure) else "t"
        low, high = _stretched(measure, value, half)
    if low is not None and high is not None:
        low = low if measure.low is None else max(low, measure.low)
        high = high if measure.high is None else min(high, measure.high)
    reason = None if low is not None else found.get("reason") or _reason(value, items, method)
    by = tuple(found[name] for name in measure.by)
    coverage = n / total if total else None
    return MeasureRow(
        model=str(found["model"]),
        by=by,
        value=value,
        standard_error=None if value is None else error,
        interval_low=low,
        interval_high=high,
        items=items,
        n=n,
        total=total,
        coverage=coverage,
        half_width=half if method == "t" else _longer(value, low, high),
        method=method if low is not None else None,
        reason=reason,
    )


def _is_listed(measure: Measure) -> bool:
    """Whether the pulls are the jackknife's."""
    return isinstance(measure.figure, Aggregate) and measure.figure.function in JACKKNIFED


def _stretched(measure: Measure, value: float, half: float) -> tuple[float, float]:
    """The bounds `half` an interval away from a value; of rank correlations and W on a scale that has no ends, on which
    they vary alike everywhere: Fisher's (1915) for what lies between -1 and 1, and the log-odds between 0 and 1."""
    function = measure.figure.function if isinstance(measure.figure, Aggregate) else None
    low, high = {"kendall_tau": (-1, 1), "spearman": (-1, 1), "kendall_w": (0, 1)}.get(function or "", (0, 0))
    share = (value - low) / (high - low) if high > low else 0.0
    if not 1e-9 < share < 1 - 1e-9:
        return value - half, value + half
    middle, reach = math.log(share / (1 - share)), half / (high - low) / (share * (1 - share))
    ends = (
        low + (high - low) / (1 + math.exp(-min(700.0, max(-700.0, at)))) for at in (middle - reach, middle + reach)
    )
    return next(ends), next(ends)


def _drawn(found: dict[str, Any], still: bool) -> tuple[float | None, float | None]:
    """The bounds that draws show. Those of a median may meet, where all draws have the same: on a scale of few steps
    that is its interval, and that of a median which numbers move. Where all values are the same, or what else was made
    of medians never differs, nothing shows it."""
    low, high, error = (_finite(found[name]) for name in ("low", "high", "standard_error"))
    if low is None or high is None or error is None or (error <= ROUNDING and (not still or found.get("reason"))):
        return None, None
    return low, high


def _reason(value: float | None, items: int, method: str) -> str:
    if value is None:
        return "nothing has a value"
    if items < 2:
        return "one item says nothing about the error"
    alike = "all draws of the items give the same value" if method == "bootstrap" else "items do not differ"
    return f"{alike}: nothing shows the error"


def _longer(value: float | None, low: float | None, high: float | None) -> float | None:
    """How far an interval that is not even on both sides reaches, at most."""
    return None if value is None or low is None or high is None else max(value - low, high - value)


def _half_width(standard_error: float | None, df: int) -> float | None:
    """Values that are all alike have an error of zero, which is no measure of it: then there is no interval."""
    quantile = t_quantile((1 + CONFIDENCE) / 2, df)
    if quantile is None or standard_error is None or standard_error <= ROUNDING:
        return None
    return quantile * standard_error


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
