"""The lessons of people's grades for a design: how much people's difference of two models varies, and how far judges
go with it.

A label is the mean of people's grades of a model's replies to an item, and beside it stands the mean of the judges on
the same replies. Over items that people graded for several models, the variance and the covariance are those within
items, twice; where these are too few, two models are taken to correlate by `CORRELATION`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.differences.components import mean_of_scores, scores_query
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import Floats
from tripos_warehouse.statistics.design import CORRELATION, FEWEST_ITEMS, LabelComponents, Unknown


@dataclass(frozen=True)
class GradedItems:
    """The lessons, and the items that people graded."""

    parts: LabelComponents
    items: int


def label_components(
    connection: Connection, plan: Plan, measure: Measure, models: tuple[str, ...] = ()
) -> GradedItems | Unknown:
    """Return how people's grades of a measure vary, and how far judges follow them, over what `connection` shows."""
    found = mean_of_scores(plan, measure)
    if found is None:
        return Unknown("it is no mean of scores")
    pairs = []
    for graders in ("people", "counted"):
        query = scores_query(plan, found, models, graders, labelled=True)
        values: dict[tuple[str, str], list[float]] = defaultdict(list)
        for model, item, _, _, _, value, *_ in connection.execute(query).fetchall():
            values[item, model].append(value)
        pairs.append({key: sum(each) / len(each) for key, each in values.items()})
    people, judges = pairs
    both = sorted(people.keys() & judges.keys())
    items = len({item for item, _ in both})
    if items < FEWEST_ITEMS:
        return Unknown(f"people graded {items} items: it takes {FEWEST_ITEMS}")
    rows = np.array([(people[key], judges[key]) for key in both])
    return GradedItems(label_lessons(rows, [item for item, _ in both], [model for _, model in both]), items)


def label_lessons(rows: Floats, items: Sequence[str], models: Sequence[str]) -> LabelComponents:
    """Return twice the variance and the covariance within items, of rows of (people, judges) in which each model has
    the mean 0; where too few items have two models, those of a model as the correlation leaves them.

    >>> rows = np.array([[1.0, 2.0], [-1.0, -2.0], [-2.0, -1.0], [2.0, 1.0]])
    >>> found = label_lessons(np.tile(rows, (4, 1)), [item for item in "abcdefgh" for _ in "ab"], ["a", "b"] * 8)
    >>> round(found.people, 2), round(found.items, 2)
    (10.29, 10.29)
    """
    _, item = np.unique(np.array(items), return_inverse=True)
    _, model = np.unique(np.array(models), return_inverse=True)
    sizes = np.bincount(item)
    centred = rows - _means(rows, model)
    if int((sizes > 1).sum()) >= FEWEST_ITEMS:
        kept = sizes[item] > 1
        within = (centred - _means(centred, item))[kept]
        df = int((sizes[sizes > 1] - 1).sum()) - (len(np.unique(model[kept])) - 1)
        products = within.T @ within / max(df, 1)
        return LabelComponents(float(2 * products[0, 0]), float(2 * products[0, 1]) * _shrunk(products, df))
    df = len(rows) - len(np.unique(model))
    products = centred.T @ centred / max(df, 1)
    people, both = (float(2 * (1 - CORRELATION) * each) for each in products[0])
    return LabelComponents(people, both * _shrunk(products, df))


def _shrunk(products: Floats, df: int) -> float:
    """Return what a covariance is multiplied by, so that its squared correlation is not too high on average (Ezekiel
    1930): a design is chosen for it."""
    square = float(products[0, 1] ** 2 / (products[0, 0] * products[1, 1])) if products[0, 1] else 0.0
    adjusted = 1 - (1 - square) * df / max(df - 1, 1)
    return float(np.sqrt(max(adjusted, 0.0) / square)) if square else 1.0


def _means(rows: Floats, groups: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    found: Floats = (sums / sizes[:, None])[groups]
    return found
