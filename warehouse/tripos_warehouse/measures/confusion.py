"""The tables behind figures: confusion matrices of classes, and reliability diagrams of probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.language.scored_values import ScoredStep, scored_inputs, scored_values_of
from tripos_compiler.plan import Aggregate, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.figure_sql import pairs_sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import run_query

KINDS = ("choice", "bool", "integer", "text")
"""The kinds of values that are classes."""
MOST_CLASSES = 12
"""The most classes that a confusion matrix is shown for."""
BINS = 10
"""The number of bins of a reliability diagram, of equal width from 0 to 1."""
UNEVEN = 0.001
"""The p-value below which the letters of the right answers are not uniformly distributed."""


@dataclass(frozen=True)
class ConfusionTable:
    """A confusion matrix of a model.

    `counts` has a row for each right class: the number of times that the model gave each of `classes`, and as the last
    number the replies without a class. `items` is the number of items of each right class. Both are empty if there are
    more than `MOST_CLASSES` classes."""

    measure: str
    model: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    items: tuple[int, ...]

    @property
    def uneven(self) -> str | None:
        """A remark if the letters of the right answers are not uniformly distributed; None without letters, or with
        fewer than five items a letter."""
        expected, total = sum(self.items) / max(len(self.items), 1), sum(self.items)
        are_letters = len(self.classes) > 1 and all(len(class_) == 1 and class_.isalpha() for class_ in self.classes)
        if not are_letters or expected < 5:
            return None
        from scipy.special import chdtrc

        p_value = float(chdtrc(len(self.items) - 1, sum((item - expected) ** 2 / expected for item in self.items)))
        if p_value >= UNEVEN:
            return None
        most_frequent = int(np.argmax(self.items))
        return (
            f"the key is unbalanced: {self.classes[most_frequent]} is right in"
            f" {self.items[most_frequent] / total:.0%} of {total:,} items,"
            f" and 1 of {len(self.items)} would be {1 / len(self.items):.0%}"
        )


@dataclass(frozen=True)
class ReliabilityTable:
    """A reliability diagram of a model: for each bin that is not empty, its ends, the number of probabilities in it,
    their mean, and the share of their events that occurred."""

    measure: str
    model: str
    bins: tuple[tuple[float, float, int, float, float], ...]


FigureTable = ConfusionTable | ReliabilityTable


def figure_tables(connection: Connection, plan: Plan) -> list[FigureTable]:
    """Return the tables behind the figures of a plan, one for each model and each pair of compared scores. Raises
    `StoreError` if the SQL fails."""
    values = scored_values_of(plan)
    seen: set[tuple[str | None, tuple[str, ...], bool]] = set()
    tables: list[FigureTable] = []
    for measure in plan.measures:
        for figure in aggregates_of(measure.figure, measures_of(plan)):
            kind = declared_aggregate(figure.function).table
            is_reliability = kind == "reliability"
            pair = (figure.scenario, figure.values, is_reliability)
            if kind is None or figure.of is not None or len(figure.values) != 2 or pair in seen:
                continue
            scored = scored_inputs(values, figure)
            if is_reliability or all(_kind(step) in KINDS for step in scored):
                seen.add(pair)
                tables += _tables(connection, plan, measure.name, figure, scored)
    return tables


def _kind(scored: ScoredStep) -> str:
    """Return the kind of the type of a scored step, without `optional`."""
    return (scored.type.of if scored.type.kind == "optional" else scored.type).kind


def _tables(
    connection: Connection, plan: Plan, name: str, figure: Aggregate, scored: Sequence[ScoredStep]
) -> Iterator[FigureTable]:
    """Yield the table of each model for an aggregate of two scored steps, in the measure `name`."""
    rows = run_query(connection, pairs_sql(plan, figure, scored)).to_pylist()
    for model in dict.fromkeys(str(row["model"]) for row in rows):
        model_rows = [row for row in rows if row["model"] == model]
        if declared_aggregate(figure.function).table == "reliability":
            yield _reliability(name, model, model_rows)
        else:
            yield _confusion(name, model, model_rows, _kind(scored[1]))


def _confusion(name: str, model: str, rows: Sequence[dict[str, Any]], kind: str) -> ConfusionTable:
    """Return the confusion matrix of a model, from its rows of `pairs_sql`. Integers are in numerical order, other
    classes in the order of their names."""
    with_gold = [row for row in rows if row["gold"] is not None]
    names = {_class(row[key], kind) for row in with_gold for key in ("gold", "key") if row[key] is not None}
    classes = sorted(names, key=lambda name: (_number(name) if kind == "integer" else math.inf, name))
    if len(classes) > MOST_CLASSES:
        return ConfusionTable(name, model, tuple(classes), (), ())
    counts = np.zeros((len(classes), len(classes) + 1), dtype=np.int64)
    items = np.zeros(len(classes), dtype=np.int64)
    for row in with_gold:
        class_index = classes.index(_class(row["gold"], kind))
        column = len(classes) if row["key"] is None else classes.index(_class(row["key"], kind))
        counts[class_index, column] += row["n"]
        items[class_index] = row["items"]
    table = tuple(tuple(int(count) for count in row_counts) for row_counts in counts)
    return ConfusionTable(name, model, tuple(classes), table, tuple(items.tolist()))


def _number(name: str) -> float:
    """Return the number that is the name of a class; infinity for any other name."""
    return float(name) if name.removeprefix("-").isdigit() else math.inf


def _class(key: str, kind: str) -> str:
    """Return the name of a class, given the stored JSON: a text, or a number for any other `kind` of value.

    >>> _class('"B"', "choice"), _class("1.0", "bool"), _class("3.0", "integer")
    ('B', 'true', '3')
    """
    value = json.loads(key)
    if isinstance(value, str):
        return value
    return str(bool(value)).lower() if kind == "bool" else f"{value:g}"


def _reliability(name: str, model: str, rows: Sequence[dict[str, Any]]) -> ReliabilityTable:
    """Return the reliability diagram of a model, from its rows of `pairs_sql`."""
    from tripos_warehouse.statistics.metrics import bin_of

    complete = [row for row in rows if row["value"] is not None and row["gold value"] is not None]
    probabilities = np.array([row["value"] for row in complete], dtype=np.float64)
    outcomes = np.array([row["gold value"] for row in complete], dtype=np.float64)
    weights = np.array([row["n"] for row in complete], dtype=np.float64)
    bin_numbers = bin_of(probabilities, BINS)
    bins = []
    for number in np.unique(bin_numbers):
        in_bin = bin_numbers == number
        total = weights[in_bin].sum()
        mean, share = (float((values[in_bin] * weights[in_bin]).sum() / total) for values in (probabilities, outcomes))
        bins.append((int(number) / BINS, (int(number) + 1) / BINS, int(total), mean, share))
    return ReliabilityTable(name, model, tuple(bins))


def tables_json(tables: Sequence[FigureTable]) -> dict[str, Any]:
    """Return the tables as JSON values."""
    confusion = [
        {
            "measure": table.measure,
            "model": table.model,
            "classes": list(table.classes),
            "counts": [list(row) for row in table.counts],
            "items": list(table.items),
            "remark": table.uneven,
        }
        for table in tables
        if isinstance(table, ConfusionTable)
    ]
    reliability = [
        {
            "measure": table.measure,
            "model": table.model,
            "bins": [dict(zip(("low", "high", "n", "mean", "share"), bin_, strict=True)) for bin_ in table.bins],
        }
        for table in tables
        if isinstance(table, ReliabilityTable)
    ]
    return {"confusion": confusion, "reliability": reliability}
