"""Remarks on the items of a run: those that tell no models apart, those against the rest, those that judges are at odds
about."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator

from tripos_warehouse.query import Connection
from tripos_warehouse.statistics.validity import tested_correlation, wrongly_keyed
from tripos_warehouse.views import analysis_of

FEWEST = 5
"""Fewer items than that may be alike by chance."""
LEAST_MODELS = 3
"""Of fewer models it is no wonder that all or none solve an item."""
MANY = 0.2
"""A share of the items that is worth a remark."""
ROWS_AT_ONCE = 10_000
"""Rows of items that are held as Python values."""
APART = 0.5
"""Judges who are so much of a scale apart are at odds."""


def told_of_items(connection: Connection, benchmark: str) -> Iterator[str]:
    """Yield sentences about the items that `connection` shows of a benchmark."""
    answer = connection.execute(
        f"""select metric::varchar, item_id, models, discrimination, solved_by, apart
        from {analysis_of(connection, benchmark)} order by scenario, metric, item_id"""
    )
    by_metric: defaultdict[str, _AnalysedItems] = defaultdict(_AnalysedItems)
    while rows := answer.fetchmany(ROWS_AT_ONCE):
        for metric, *row in rows:
            by_metric[metric].add(*row)
    for metric, items in by_metric.items():
        if len(items.names) >= FEWEST:
            yield from items.told(metric, benchmark)


class _AnalysedItems:
    """The items of a metric: of a run of many, a few numbers each."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._models, self._values = array("q"), array("d")
        self._solved: Counter[str] = Counter()
        self._at_odds = 0

    def add(
        self, name: str, models: int, discrimination: float | None, solved_by: str | None, apart: float | None
    ) -> None:
        """Take in an item."""
        self.names.append(name)
        self._models.append(models)
        self._values.append(math.nan if discrimination is None else discrimination)
        if models >= LEAST_MODELS and solved_by is not None:
            self._solved[solved_by] += 1
        self._at_odds += apart is not None and apart >= APART

    def told(self, metric: str, benchmark: str) -> Iterator[str]:
        """Yield what is to be said of them."""
        many = len(self.names)
        every, none = self._solved["every model"], self._solved["no model"]
        if every + none >= MANY * many:
            told = (
                f"`{metric}`: every model solves {every:,} of {many:,} items and no model {none:,}:"
                " these tell no models apart"
            )
            yield told
        values = (None if math.isnan(value) else value for value in self._values)
        tested = (tested_correlation(value, models) for value, models in zip(values, self._models, strict=True))
        if against := [self.names[place] for place in wrongly_keyed(tested)]:
            more = f" and {len(against) - 3:,} more" if len(against) > 3 else ""
            told = ", ".join(against[:3])
            worse = f"`{metric}`: models that do better elsewhere do worse on {told}{more}: look at the key"
            yield worse
        if self._at_odds >= MANY * many:
            told = (
                f"`{metric}`: judges are half of the scale or more apart on {self._at_odds:,} of {many:,} items:"
                f" look at `from {benchmark}.disagreements()`"
            )
            yield told
