"""The tables behind figures: confusion matrices of classes, and reliability diagrams of probabilities."""

from __future__ import annotations

import json
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
MOST_CLASSES = 12
"""The most classes that a confusion matrix is shown for."""
BINS = 10
UNEVEN = 0.001
"""The p-value below which the letters of the right answers are not uniformly distributed."""


@dataclass(frozen=True)
class ConfusionTable:
    """A confusion matrix. A row per right class, with the number of times that a model gave each of `classes`, and last
    none of them. `items` is the number of items per right class. Without `counts` there are more than `MOST_CLASSES`
    classes."""

    measure: str
    model: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    items: tuple[int, ...]

    @property
    def uneven(self) -> str | None:
        """Return a remark if right letters are not about equally frequent, otherwise None."""
        even, all_items = sum(self.items) / max(len(self.items), 1), sum(self.items)
        lettered = len(self.classes) > 1 and all(len(class_) == 1 and class_.isalpha() for class_ in self.classes)
        if not lettered or even < 5:
            return None
        from scipy.special import chdtrc

        chance = float(chdtrc(len(self.items) - 1, sum((item - even) ** 2 / even for item in self.items)))
        if chance >= UNEVEN:
            return None
        at = int(np.argmax(self.items))
        return (
            f"the key is unbalanced: {self.classes[at]} is right in {self.items[at] / all_items:.0%} of"
            f" {all_items:,} items, and 1 of {len(self.items)} would be {1 / len(self.items):.0%}"
        )


@dataclass(frozen=True)
class ReliabilityTable:
    """A reliability diagram: for each bin with values, its ends, the number of values, their mean, and the share that
    came true."""

    measure: str
    model: str
    bins: tuple[tuple[float, float, int, float, float], ...]


FigureTable = ConfusionTable | ReliabilityTable


def figure_tables(connection: Connection, plan: Plan) -> list[FigureTable]:
    """Return the tables behind the figures of a plan for each model, one for each pair of columns. Raises
    `StoreError`."""
    values = scored_values_of(plan)
    seen: set[tuple[str | None, tuple[str, ...], bool]] = set()
    tables: list[FigureTable] = []
    for measure in plan.measures:
        for figure in aggregates_of(measure.figure, measures_of(plan)):
            table = declared_aggregate(figure.function).table
            key = (figure.scenario, figure.values, table == "reliability")
            if table is None or figure.of is not None or len(figure.values) != 2 or key in seen:
                continue
            scored = scored_inputs(values, figure)
            if key[2] or all(_kind(step) in KINDS for step in scored):
                seen.add(key)
                tables += _tables(connection, plan, measure.name, figure, scored)
    return tables


def _kind(scored: ScoredStep) -> str:
    return (scored.type.of if scored.type.kind == "optional" else scored.type).kind


def _tables(
    connection: Connection, plan: Plan, name: str, figure: Aggregate, scored: Sequence[ScoredStep]
) -> Iterator[FigureTable]:
    rows = run_query(connection, pairs_sql(plan, figure, scored)).to_pylist()
    for model in dict.fromkeys(str(row["model"]) for row in rows):
        own = [row for row in rows if row["model"] == model]
        if declared_aggregate(figure.function).table == "reliability":
            yield _reliability(name, model, own)
        else:
            yield _confusion(name, model, own, _kind(scored[1]))


def _confusion(name: str, model: str, rows: Sequence[dict[str, Any]], kind: str) -> ConfusionTable:
    true = [row for row in rows if row["gold"] is not None]
    classes = sorted({_class(row[key], kind) for row in true for key in ("gold", "key") if row[key] is not None})
    if len(classes) > MOST_CLASSES:
        return ConfusionTable(name, model, tuple(classes), (), ())
    counts = np.zeros((len(classes), len(classes) + 1), dtype=np.int64)
    items = np.zeros(len(classes), dtype=np.int64)
    for row in true:
        place = classes.index(_class(row["gold"], kind))
        said = len(classes) if row["key"] is None else classes.index(_class(row["key"], kind))
        counts[place, said] += row["n"]
        items[place] = row["items"]
    table = tuple(tuple(int(each) for each in line) for line in counts)
    return ConfusionTable(name, model, tuple(classes), table, tuple(items.tolist()))


def _class(key: str, kind: str) -> str:
    """Return a class for people. Columns store the JSON of a text, and numbers for everything else.

    >>> _class('"B"', "choice"), _class("1.0", "bool"), _class("3.0", "integer")
    ('B', 'true', '3')
    """
    value = json.loads(key)
    if isinstance(value, str):
        return value
    return str(bool(value)).lower() if kind == "bool" else f"{value:g}"


def _reliability(name: str, model: str, rows: Sequence[dict[str, Any]]) -> ReliabilityTable:
    from tripos_warehouse.statistics.metrics import bin_of

    known = [row for row in rows if row["value"] is not None and row["gold value"] is not None]
    chances = np.array([row["value"] for row in known], dtype=np.float64)
    true = np.array([row["gold value"] for row in known], dtype=np.float64)
    weights = np.array([row["n"] for row in known], dtype=np.float64)
    places = bin_of(chances, BINS)
    bins = []
    for place in np.unique(places):
        own = places == place
        total = weights[own].sum()
        mean, share = (float((each[own] * weights[own]).sum() / total) for each in (chances, true))
        bins.append((int(place) / BINS, (int(place) + 1) / BINS, int(total), mean, share))
    return ReliabilityTable(name, model, tuple(bins))


def tables_json(tables: Sequence[FigureTable]) -> dict[str, Any]:
    """Return the tables as JSON values."""
    confusion = [
        {
            "measure": table.measure,
            "model": table.model,
            "classes": list(table.classes),
            "counts": [list(line) for line in table.counts],
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
            "bins": [dict(zip(("low", "high", "n", "mean", "share"), one, strict=True)) for one in table.bins],
        }
        for table in tables
        if isinstance(table, ReliabilityTable)
    ]
    return {"confusion": confusion, "reliability": reliability}
