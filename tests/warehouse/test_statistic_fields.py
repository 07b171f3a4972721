"""Whatever a statistic of a list comes to, it has the fields that the database was told of."""

from __future__ import annotations

import duckdb
import pytest

from tests.each import each
from tripos_warehouse.query.aggregates import (
    REPLY_SEPARATOR,
    STATISTICS,
    WEIGHTED,
    ComparisonStatistic,
    SetMetric,
    statistic,
)
from tripos_warehouse.query.connection import RATED, STATISTIC, add_functions

NAMES = sorted({*STATISTICS, f"{WEIGHTED}bradley_terry"})
RATED_FIELDS = ("item", "subject", "rater", "key", "value")
LEVELS = {
    **{name: "{}" for name, kind in STATISTICS.items() if isinstance(kind, SetMetric)},
    "krippendorff_alpha": "interval",
    "corrected_prevalence": '{"negatives": 30, "positives": 40, "sensitivity": 0.9, "specificity": 0.8}',
    "bradley_terry": "x",
    "self_preference": "x",
    "weighted_bradley_terry": "x",
}


def lists(count: int, what: str) -> tuple[list[str], list[str], list[str], list[str], list[float]]:
    """Ratings of `count` items by two raters; of comparisons the raters are models, and judges are in the keys."""
    items = [str(place // 4) for place in range(4 * count)]
    kind = STATISTICS[what.removeprefix(WEIGHTED)]
    if isinstance(kind, ComparisonStatistic):
        keys = ["x" if place % 2 else "z" for place in range(4 * count)]
        if what.startswith(WEIGHTED):
            keys = [str(1 + place % 2) for place in range(4 * count)]
        ones = ["x" if place % 4 < 2 else "y" for place in range(4 * count)]
        return (
            items,
            ones,
            ["y" if one == "x" else "x" for one in ones],
            keys,
            [float(p % 3 > 0) for p in range(4 * count)],
        )
    if isinstance(kind, SetMetric) and kind.kind == "numbers":
        chances = [str(place % 5 / 8 + 0.1) for place in range(4 * count)]
        return (
            items,
            [str(float(p % 3 > 0)) for p in range(4 * count)],
            ["r"] * (4 * count),
            chances,
            [0.0] * (4 * count),
        )
    if isinstance(kind, SetMetric):
        said = [
            f'"{"abc"[place % 3]} {place}"' if kind.kind == "texts" else "ab"[place % 2] for place in range(4 * count)
        ]
        true = [
            f'"{"abd"[place % 3]} {place}"' if kind.kind == "texts" else "ab"[place % 3 > 0]
            for place in range(4 * count)
        ]
        return items, true, ["r"] * (4 * count), said, [0.0] * (4 * count)
    subjects = [f"{item}{REPLY_SEPARATOR}{place // 2 % 2}" for place, item in enumerate(items)]
    values = [
        float((7 * place + place // 3) % (2 if what == "corrected_prevalence" else 4)) for place in range(4 * count)
    ]
    return items, subjects, ["r1", "r2"] * (2 * count), [str(int(value)) for value in values], values


@each("count", [0, 1, 12])
@each("what", NAMES)
def test_a_statistic_has_exactly_the_fields_that_are_declared(what: str, count: int) -> None:
    declared = [name for name, _ in duckdb.type(STATISTIC).children]
    found = statistic(what, LEVELS.get(what, ""), *lists(count, what))
    assert sorted(found) == sorted(declared)
    assert (found["value"] is not None) or found["reason"]
    assert count < 12 or found["value"] is not None


@pytest.mark.parametrize("what", NAMES)
def test_the_database_takes_what_a_statistic_gives(what: str) -> None:
    connection = duckdb.connect()
    add_functions(connection)
    for count in (0, 12):
        rows = [dict(zip(RATED_FIELDS, row, strict=True)) for row in zip(*lists(count, what), strict=True)]
        row = connection.execute(
            f"select tripos_statistic(?, ?, ?::{RATED})", [what, LEVELS.get(what, ""), rows]
        ).fetchone()
        assert row is not None and set(row[0]) == {"value", "reason", "items", "influences", "draws", "limits"}
