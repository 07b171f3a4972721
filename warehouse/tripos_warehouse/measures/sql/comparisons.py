"""SQL of aggregates of comparisons: for every model its value, and for every item its pull on it.

A comparison belongs to both of its models, so it has a row for each in what follows. How often models win and how
judges lean are means of such rows; strengths, and what judges think of their own, are found from all comparisons of a
cell at once, by `tripos_statistic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tripos_compiler.plan import ChoiceType, Compare
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.aggregates import LeafSql
from tripos_warehouse.measures.sql.labels import labelled_comparisons
from tripos_warehouse.measures.sql.parts import columns, compared_sql
from tripos_warehouse.measures.sql.tables import FigureTables
from tripos_warehouse.sql import name as named, text as quoted

ORDERS = ("position_bias", "flip_rate")
"""What looks at the two orders of the same replies."""

SEEN = {
    "item": "cluster_id",
    "subject": "first_model",
    "rater": "second_model",
    "key": "evaluator",
    "value": "value",
}
"""What a statistic is told of every comparison, by the names that ratings have."""
ITEM_OF_CLUSTER = "cluster_id || chr(31) || item_id"
"""An item behind the cluster that it belongs to; the warehouse parts them there."""
NO_ORDERS = "case when count(value) = 0 then 'nothing was judged in both orders' end"


@dataclass(frozen=True)
class CompareSql(LeafSql):
    """Writes the tables of one aggregate of comparisons."""

    def write(self) -> FigureTables:
        """Return the tables."""
        match self.figure.function:
            case "win_rate" if self._by_margin:
                return self._mean(self._sides(self._compared(more=["choice"]), self._margins()))
            case "win_rate" if self.cut.labels != "none":
                labelled = labelled_comparisons(self.plan, self.parts, self.scored[0], self.cut)
                return self._mean(self._labelled_sides(labelled), 'any_value("is lacking")')
            case "win_rate":
                return self._mean(self._sides(self._compared()))
            case "count":
                return self._sum(self._sides(self._compared()))
            case function if function in ORDERS:
                return self._mean(self._orders(function), NO_ORDERS)
            case "bradley_terry" | "self_preference" as function:
                return self._found(function)
        raise AssertionError(f"no SQL for the aggregate `{self.figure.function}`")

    @property
    def _by_margin(self) -> bool:
        return self.figure.named.get("weight") == "margin"

    def _compared(self, dims: tuple[str, ...] | None = None, more: Sequence[str] = ()) -> str:
        """Return a row a comparison."""
        cut = self.cut if dims is None else replace(self.cut, dims=dims)
        return self.parts.add("compared", compared_sql(self.plan, self.scored[0], cut, more))

    def _margins(self) -> str:
        """Return how often a comparison counts: as its name says on either side, and once where that is a tie. The
        judge of another scenario may mean something else by a name."""
        found = []
        for scenario in self.scored[0].scenarios:
            for step in scenario.steps:
                gives = self.plan.scorer(step.scorer).gives if isinstance(step, Compare) else None
                if not isinstance(gives, ChoiceType) or step not in self.scored[0].steps:
                    continue
                named_here = " ".join(
                    f"when {quoted(name)} then {abs(by) or 1.0!r}"
                    for name, by in zip(gives.values, gives.worth, strict=True)
                )
                found.append(f"when {quoted(scenario.name)} then case choice {named_here} else 1 end")
        return f"case scenario {' '.join(found)} end"

    def _sides(self, compared: str, weight: str = "1") -> str:
        """Return a row a comparison and model: whether that is the better one."""
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, value is not null as "has value",
  case when "is first" then value else 1 - value end as value, {weight} as "its weight"
from (
  select *, unnest([first_model, second_model]) as model, unnest([true, false]) as "is first"
  from {compared}
)""",
        )

    def _labelled_sides(self, compared: str) -> str:
        """Return the same of comparisons with labels. A model that was not compared with labels with each of the others
        that it met has no value: it would be a figure of those."""
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, value is not null and "is lacking" is null as "has value",
  case when "is lacking" is null then case when "is first" then value else 1 - value end end as value,
  "its weight", "is lacking"
from (
  select *, max("is lacking here") over (partition by {self._by}) as "is lacking"
  from (
    select *, unnest([first_model, second_model]) as model, unnest([true, false]) as "is first"
    from {compared}
  )
)""",
        )

    def _halves(self, compared: str, weight: str) -> str:
        """Return the same comparisons with two halves in place of a tie: one that each of both has won."""
        return self.parts.add(
            "halves",
            f"""select * exclude (value), case when value = 0.5 then "half won" else value end as value,
  ({weight}) * case when value = 0.5 then 0.5 else 1 end as "its share"
from (
  select *, unnest(case when value = 0.5 then [1.0, 0.0] else [1.0] end) as "half won"
  from {compared}
)""",
        )

    def _orders(self, function: str) -> str:
        """Return a row a judge and two replies, for each of the models: what both orders come to together."""
        dims = "".join(f"{named(dim)}, " for dim in self.cut.dims)
        # Both are 1 where whatever is shown first wins, and 0 where whatever is shown second does.
        value = '"one way" + "other way" - 1' if function == "position_bias" else '("one way" + "other way" in (0, 2))'
        return self.parts.add(
            "rows",
            f"""select {dims}unnest("both models") as model, item_id, cluster_id,
  value is not null as "has value", value,
  1 as "its weight"
from (
  select *, ({value})::double as value
  from (
    select * exclude (first_model, second_model, first_sample_id, second_sample_id, value),
      [least(first_model, second_model), greatest(first_model, second_model)] as "both models",
      [least(first_sample_id, second_sample_id), greatest(first_sample_id, second_sample_id)] as "both samples",
      any_value(value) filter (first_sample_id < second_sample_id) as "one way",
      any_value(value) filter (first_sample_id > second_sample_id) as "other way"
    from {self._compared()}
    group by all
  )
)""",
        )

    def _found(self, function: str) -> FigureTables:
        """Return what is found from all comparisons of a cell. Where it goes by judges, what one thinks of its own is
        seen beside what the others do."""
        alone = function == "self_preference" and "evaluator" in self.cut.dims
        dims = tuple(dim for dim in self.cut.dims if not (alone and dim == "evaluator"))
        labelled, halved = self.cut.labels != "none", self.figure.named.get("ties") == "half"
        weight, lacking = "", ""
        if labelled:
            compared = labelled_comparisons(self.plan, self.parts, self.scored[0], self.cut)
            weight, lacking = '"its weight"', ', max("is lacking here") as "is lacking"'
        elif self._by_margin:
            compared, weight = self._compared(dims, ["choice"]), self._margins()
        else:
            compared = self._compared(dims)
        seen, counting = SEEN, compared
        if function == "self_preference":  # it looks at the same replies, so it must tell items apart
            seen = {**SEEN, "item": ITEM_OF_CLUSTER}
        if halved:
            compared, weight = self._halves(compared, weight or "1"), '"its share"'
        if weight:
            seen, function = {**SEEN, "key": f"({weight})::varchar"}, f"weighted_{function}"
        cell = "".join(f"{named(dim)}, " for dim in dims)
        every = self.parts.add(
            "every",
            f"""select {cell}list("one verdict" order by "one verdict") as "all verdicts"{lacking}
from (
  select {cell}{_packed(seen)} as "one verdict"{', "is lacking here"' if labelled else ""}
  from {compared}
)
group by all""",
        )
        judges = ", evaluator" if alone else ""
        counted = self.parts.add(
            "counted",
            f"""select {self._by}, count(value) as n, count(*) as total
from (
  select {cell}value, unnest([first_model, second_model]) as model{judges}
  from {counting}
)
group by {self._by}""",
        )
        about = f"concat_ws(chr(31), c.model, {'c.evaluator' if alone else 'NULL'})"
        met = " and ".join([f"c.{named(dim)} is not distinct from e.{named(dim)}" for dim in dims] or ["true"])
        statistic = f'tripos_statistic({quoted(function)}, {about}, e."all verdicts")'
        if labelled:
            statistic = f"""case when e."is lacking" is null then {statistic}
    else {{'value': NULL, 'reason': e."is lacking", 'items': [], 'pulls': [], 'draws': NULL, 'limits': NULL}} end"""
        found = self.parts.add(
            "cells",
            f"""select {columns(self.cut.dims, "c")}, c.n, c.total,
  {statistic} as found
from {counted} as c join {every} as e on {met}""",
        )
        return self._opened(found)


def _packed(names: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': {column}" for name, column in names.items()) + "}"
