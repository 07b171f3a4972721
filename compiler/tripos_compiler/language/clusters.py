"""Which rows are drawn together: those of one `key`, and those that are made from one row of another data set.

Rows that were drawn together are one cluster, and errors are computed over clusters. This is the one place that says
which cluster a row belongs to: a run lists it beside each of its items, and everything else reads it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from tripos_compiler.language.contexts import count_cells
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Ask, Data, Dataset, Expr, Made, Plan, RecordType, Ref, Verify, digest
from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class Clustering:
    """The clustering of the items of some scenarios, and the number of clusters."""

    by: str
    scenarios: tuple[str, ...]
    clusters: int
    items: int
    whole: bool
    """Whether these are all scenarios of the benchmark."""

    @property
    def sentence(self) -> str:
        """Return it as a sentence.

        >>> Clustering("`passage`", ("s",), 10, 100, True).sentence
        'intervals cluster by `passage`: 10 clusters of 100 items'
        """
        where = "" if self.whole else f" in {', '.join(f'`{name}`' for name in self.scenarios)}"
        many = f"{self.clusters:,} cluster{'' if self.clusters == 1 else 's'}"
        return f"intervals cluster by {self.by}{where}: {many} of {self.items:,} items"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "by": self.by.replace("`", ""),
            "scenarios": list(self.scenarios),
            "clusters": self.clusters,
            "items": self.items,
        }


@dataclass(frozen=True)
class RowClusters:
    """The clusters of the rows of a plan's data sets.

    A row belongs to the cluster of its `key`, whatever data set it is in; a row without one to that of the row, or of
    the value, that it was made from; any other row is a cluster of its own.
    """

    plan: Plan
    _by: dict[str, str | None] = field(default_factory=dict, init=False)

    @cached_property
    def scenarios(self) -> Mapping[str, str]:
        """The clustering of the rows of each scenario whose rows may share a cluster."""
        found = {
            each.name: self.by(each.rows.dataset) or self._shared(each.rows.dataset)
            for each in self.plan.scenarios
            if each.rows is not None
        }
        return {name: by for name, by in found.items() if by is not None}

    def count(self, members: Mapping[str, Iterable[tuple[str, str]]]) -> tuple[Clustering, ...]:
        """Return the clusterings of scenarios in which items share clusters; `members` has the item and the cluster of
        each row, by scenario."""
        found = []
        for by in dict.fromkeys(self.scenarios.values()):
            names = tuple(name for name in members if self.scenarios.get(name) == by)
            pairs = {pair for name in names for pair in members[name]}
            clusters, items = ({pair[place] for pair in pairs} for place in (1, 0))
            if len(clusters) < len(items):
                whole = len(names) == len(self.plan.scenarios)
                found.append(Clustering(by, names, len(clusters), len(items), whole))
        return tuple(found)

    def of(self, scenario: str, dataset: str | None, values: Mapping[str, Any]) -> str | None:
        """Return the cluster of a row of a scenario; None if it is a cluster of its own."""
        return self._of(dataset, values) if dataset is not None and scenario in self.scenarios else None

    def has_key(self, name: str, values: Mapping[str, Any]) -> bool:
        """Return true if the key of a row is there, or its data set has none: of a row that is yet to be made it may
        be written later."""
        key = self._datasets[name].key
        return key is None or _value(key, values) is not None

    def by(self, name: str) -> str | None:
        """Return what the rows of a data set are clustered by, as a reader names it; None if each is its own cluster.

        A data set that is made takes a row of its source into several rows if it has several cells or a `count`.
        """
        if name not in self._by:
            self._by[name] = self._named(name)
        return self._by[name]

    def _named(self, name: str) -> str | None:
        dataset = self._datasets[name]
        if dataset.key is not None:
            return f"`{'.'.join(dataset.key.path)}`" if isinstance(dataset.key, Ref) else f"the key of `{name}`"
        if isinstance(dataset, Dataset) or dataset.source is None:
            return None
        above = self._source(dataset)
        if above is not None and (by := self.by(above)) is not None:
            return by
        axes = [axis for axis in self.plan.axes if axis.name in dataset.axes]
        if dataset.count * count_cells(axes) < 2:
            return None
        return f"the row of `{above}`" if above is not None else f"`{dataset.alias}`"

    def _shared(self, name: str) -> str | None:
        """Return the source of a data set whose rows scenarios run over in several forms."""
        root = self._root(name)
        forms = {each.rows.dataset for each in self.plan.scenarios if each.rows is not None}
        return f"the row of `{root}`" if any(each != name and self._root(each) == root for each in forms) else None

    def _root(self, name: str) -> str:
        dataset = self._datasets[name]
        above = self._source(dataset) if isinstance(dataset, Made) else None
        return name if above is None else self._root(above)

    def _of(self, name: str, values: Mapping[str, Any]) -> str | None:
        dataset = self._datasets[name]
        key = None if dataset.key is None else _value(dataset.key, values)
        if key is not None:
            return digest(["cluster", key])
        if isinstance(dataset, Dataset) or dataset.source is None:
            return None
        above = self._source(dataset)
        if above is None:
            own = _own_fields(dataset)
            return digest(["value", {name: value for name, value in values.items() if name not in own}])
        source = {each.name: values[each.name] for each in self._datasets[above].fields if each.name in values}
        return self._of(above, source) or item_id(source)

    def _source(self, made: Made) -> str | None:
        """Return the data set whose rows a data set is made from, one by one."""
        source = made.source
        return source.dataset if isinstance(source, Data) and source.field is None else None

    @cached_property
    def _datasets(self) -> Mapping[str, Dataset | Made]:
        found: dict[str, Dataset | Made] = {each.name: each for each in self.plan.datasets}
        return found | {each.name: each for each in self.plan.made}


def _own_fields(made: Made) -> set[str]:
    """Return the fields of a row that are not those of the value that it was made from."""
    found = set(made.axes)
    for step in made.steps:
        if isinstance(step, Ask):
            found |= set(step.returns.fields) if isinstance(step.returns, RecordType) else {step.name}
        elif not isinstance(step, Verify):
            found.add(step.name)
    return found


def _value(key: Expr, values: Mapping[str, Any]) -> Any:
    """Return the key of a row; None if it has none."""
    try:
        found = evaluate(key, values)
    except (Unavailable, LookupError):  # of a row that is yet to be made some fields are not there
        return None
    return sorted(found) if isinstance(found, frozenset | set) else found
