"""Figures of judges that people correct, from three figures of a query and the pulls of items on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.sql import sql_of
from tripos_warehouse.query import Connection, run_query
from tripos_warehouse.statistics import Floats, StatisticResult
from tripos_warehouse.statistics.validity import FEWEST_GRADED, Pulled, corrected_figure, expected_reach


@dataclass(frozen=True)
class ThreeFigures:
    """A cell of a corrected measure: the figures of the judge on all, of the judge on what people graded, and of
    people, with the pulls of the same items on each, which `names` are the names of."""

    judge: Pulled
    on_graded: Pulled
    people: Pulled
    graded: np.ndarray[tuple[int], np.dtype[np.bool_]]
    names: tuple[str, ...]
    n: int
    df: float
    units: float
    """How many graded items that weigh alike would say as much."""

    @property
    def graded_items(self) -> frozenset[str]:
        """Return the items of which people graded something."""
        return frozenset(name for name, known in zip(self.names, self.graded, strict=True) if known)

    @property
    def items(self) -> int:
        """Return how many items people graded."""
        return int(self.graded.sum())

    def corrected(self, ends: tuple[float, float] | None, null: float | None = None) -> tuple[StatisticResult, float]:
        """Return the corrected figure and λ (`corrected_figure`)."""
        base = StatisticResult(self.people.value, n=self.n, clusters=round(self.units))
        df = min(self.df, self.items - 1) - 1
        raised = (df + 1) / df if df > 0 else 1.0  # the pulls are raised already by what a mean takes of freedom
        return corrected_figure(
            base, self.people, self.on_graded, self.judge, self.graded, df=df, raised=raised, ends=ends, null=null
        )

    def reach(self, items: int) -> float | None:
        """Return how far the interval reaches with so many graded items, about (`expected_reach`)."""
        return expected_reach(self.people, self.on_graded, self.judge, self.graded, items)


def find_corrected(connection: Connection, plan: Plan, measure: Measure) -> dict[str, ThreeFigures]:
    """Return the three figures of each model of a measure that people correct and that goes by nothing; of models that
    they cannot correct yet none. Raises `StoreError` where the SQL fails."""
    found: dict[str, ThreeFigures] = {}
    for each in run_query(connection, sql_of(plan, measure)).to_pylist():
        three, _ = three_figures(each)
        if three is not None:
            found[str(each["model"])] = three
    return found


def corrected_rows(
    measure: Measure, found: Sequence[Mapping[str, Any]], judged: Sequence[MeasureRow]
) -> Iterator[MeasureRow]:
    """Yield a row for each of the judge's: the figure of people in its place, and the judge's own beside it. Where
    people graded too little, or not at random, there is no value, and a reason. `found` is what the SQL gives."""
    by_cell = {(str(each["model"]), tuple(each[name] for name in measure.by)): each for each in found}
    for own in judged:
        each = by_cell.get((own.model, own.by))
        bare = replace(
            own,
            value=None,
            standard_error=None,
            interval_low=None,
            interval_high=None,
            half_width=None,
            method=None,
            items=0,
            n=0,
            total=0,
            coverage=None,
            judged=own,
        )
        if each is None:
            yield replace(bare, reason="nothing has a value")
            continue
        three, why = three_figures(each)
        if three is None:
            yield replace(bare, reason=why)
            continue
        result, power = three.corrected(_ends(measure))
        reach = None if result.low is None or result.high is None else (result.low, result.high)
        yield replace(
            bare,
            value=result.value,
            standard_error=result.standard_error,
            interval_low=result.low,
            interval_high=result.high,
            half_width=None
            if reach is None or result.value is None
            else max(result.value - reach[0], reach[1] - result.value),
            method=None if reach is None else "corrected",
            reason=None if reach is not None else result.reason or "nothing shows the error",
            items=three.items,
            n=three.n,
            total=three.n,
            power=power,
        )


def three_figures(found: Mapping[str, Any]) -> tuple[ThreeFigures | None, str]:
    """Return the three figures of a row of the SQL of a corrected measure; none where one is missing, and why."""
    values = [found[name] for name in ("of judge", "on graded", "of people")]
    if any(value is None for value in values):
        return None, str(found["reason"] or "people graded nothing of it")
    pulls = found["all pulls"] or []
    of_judge, on_graded, of_people = (_pulls(pulls, name) for name in ("of_judge", "of_graded", "of_people"))
    graded = np.array([each["of_people"] is not None for each in pulls], dtype=bool)
    if not found["are known"] or int(graded.sum()) < FEWEST_GRADED:
        many = max(int(graded.sum()), 1)
        told = f"people graded replies to {many} of the items: it takes {FEWEST_GRADED}"
        return None, told if many < FEWEST_GRADED else "some of its cells have one item that people graded"
    names = tuple(each["cluster_id"] for each in pulls)
    judge, labelled, people = (
        Pulled(value, each) for value, each in zip(values, (of_judge, on_graded, of_people), strict=True)
    )
    units = float(found["effective items"] or graded.sum())
    return ThreeFigures(judge, labelled, people, graded, names, int(found["n"]), float(found["df"]), units), ""


def _pulls(found: Sequence[Mapping[str, Any]], name: str) -> Floats:
    return np.array([each[name] or 0.0 for each in found], dtype=float)


def _ends(measure: Measure) -> tuple[float, float] | None:
    return None if measure.low is None or measure.high is None else (measure.low, measure.high)
