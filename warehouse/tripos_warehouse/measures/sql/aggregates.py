"""SQL of aggregates of scores and columns: for every cell its value, and for every item its pull on it.

The pull of an item is what the value owes to it, to the first order (its influence): of a mean the sum over the item's
scores of (score - mean) / number of scores; of N / D, where both are sums, (N of the item - value * D of the item) / D.
The variance of a value is the sum of squared pulls, each enlarged by the square root of m / (m - 1) in a cell of m
items (Liang and Zeger, 1986), so all scores of an item pull together. A cell of one item says nothing about its error.

A figure is two tables. One has a row a cell: `value`, `df`, `n` (values that count), `total` (those that should),
`known` (whether there is an error), `reason` (why there is no value, or no error), `is share` (whether it is a share of
independent items, for the exact interval). The other has a row a cell and item: `pull`, enlarged.
"""

from __future__ import annotations

import json
from dataclasses import replace

from tripos_compiler.language.figures import conversations_before
from tripos_compiler.plan import Plugin
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.aggregate_tables import JUDGED, OF_CATEGORIES, OF_NUMBERS, OF_TEXTS, PYTHON, SUMMED
from tripos_warehouse.measures.sql.categories import categories_sql
from tripos_warehouse.measures.sql.class_measures import ClassMeasures
from tripos_warehouse.measures.sql.means import is_plain_mean
from tripos_warehouse.measures.sql.parts import (
    OF_TALK,
    PLACE,
    columns,
    indented,
    ordered,
    same,
    with_numbers,
    with_talks,
)
from tripos_warehouse.measures.sql.tables import (
    PAIR,
    REPLY_TO_ITEM,
    FigureTables,
    by_pair,
    for_every_model,
    models_as_one,
    without_pair,
)
from tripos_warehouse.measures.sql.unread import UNREAD
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.views import arm_columns

BELOW, NO_WEIGHT = "a weight is below 0", "all weights are 0"


@dataclass(frozen=True)
class LeafSql(ClassMeasures):
    """Writes the tables of one aggregate of what is scored."""

    def write(self) -> FigureTables:
        """Return the tables."""
        match self.figure.function:
            case "mean" if is_plain_mean(self.figure, self.scored[0], self.cut, self.missing):
                return self._plain_mean()
            case "mean" | "share":
                reason = "NULL::varchar" if self.cut.labels == "none" else 'any_value("is lacking")'
                return self._mean(self._single(), reason)
            case "accuracy":
                return self._mean(self._agreeing())
            case "weighted_mean":
                return self._weighted()
            case "sum" | "count":
                return self._sum(self._single())
            case "stdev":
                return self._stdev()
            case "min" | "max" as function:
                return self._end(function)
            case "pass_at" | "pass_all" as function:
                return self._passed(function)
            case "corrected_prevalence" as function:
                return self._limited(function)
            case "precision" | "recall" | "f1" as function:
                return self._classed(function)
            case "median":
                return self._redrawn("median", self._single(), "cluster_id", "sample_id")
            case function if function in SUMMED:
                return self._summed(function)
            case function if function in JUDGED:
                return self._judged(function)
        plugin = next(
            (each for each in self.plan.plugins if each.aggregate and each.name == self.figure.function), None
        )
        if plugin is not None:
            return self._of_user(plugin)
        raise AssertionError(f"no SQL for the aggregate `{self.figure.function}`")

    # --- rows ---

    # --- sums ---

    def _weighted(self) -> FigureTables:
        """The mean of values by a weight of their own, of which a row with 0 is none."""
        value = "coalesce(value, 0)" if self.missing == "zero" else "value"
        rows = self.parts.add(
            "rows",
            f"""select * exclude (value), case when weight > 0 and least >= 0 then {value} end as value,
  case when weight > 0 then weight / most end as "its weight"
from (
  select *, "gold value" as weight, min("gold value") over cell as least, max("gold value") over cell as most
  from {self.pairs()}
  window cell as (partition by {self._by})
)""",
        )
        told = f"case when min(least) < 0 then '{BELOW}' when max(weight) = 0 then '{NO_WEIGHT}' end"
        return self._mean(rows, told)

    def _sum(self, rows: str) -> FigureTables:
        value = "value" if self.figure.function == "sum" else '"has value"::integer'
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, coalesce({ordered("sum", value)}, 0)::double as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, count(distinct cluster_id) as m, NULL::varchar as reason
from {rows}
group by {self._by}""",
        )
        influence = f"coalesce({ordered('sum', f'rows.{value}')}, 0) - any_value(cells.value / cells.m)"
        return self._leaf(cells, self._units(rows, cells, influence, every=True))

    def _stdev(self) -> FigureTables:
        rows = self._single()
        cells = self.parts.add(
            "cells",
            f"""select {self._by},
  {ordered("stddev_samp", "value")} as value, {ordered("avg", "value")} as mean,
  {ordered("var_pop", "value")} as "variance of cell",
  false as "is share", count(*) filter ("has value") as n, count(*) as total,
  case when count(value) = 1 then 'one value has no deviation' end as reason
from {rows}
group by {self._by}""",
        )
        apart = ordered("sum", '(rows.value - cells.mean) ** 2 - cells."variance of cell"')
        influence = f"{apart} / any_value(nullif(2 * cells.value * (cells.n - 1), 0))"
        return self._leaf(cells, self._units(rows, cells, influence))

    def _end(self, function: str) -> FigureTables:
        rows = self._single()
        told = f"'a {'least' if function == 'min' else 'greatest'} value has no standard error'"
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, {function}(value) as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, case when count(value) > 0 then {told} end as reason
from {rows}
group by {self._by}""",
        )
        return self._leaf(cells, self._units(rows, cells, "NULL::double"))

    def _passed(self, function: str) -> FigureTables:
        """1 - C(n - c, k) / C(n, k), and C(c, k) / C(n, k), as products that stay between 0 and 1; of the first k
        values, in the order of their samples, the greatest and the least."""
        k = self.figure.named["k"]
        first = self.figure.named.get("tries") == "first"
        if first:
            chance = f"list_{'max' if function == 'pass_at' else 'min'}(list_slice(tried, 1, {k}))"
        elif function == "pass_at":
            chance = f"1 - coalesce(list_product([1 - {k} / i for i in range(n - c + 1, n + 1)]), 1)"
        else:
            chance = f"list_product([(c - j) / (n - j) for j in range(0, {k})])"
        # Only replies to the same question are tries at it: those of an arm, after one conversation, as one rater
        # grades them.
        scores = self.scored[0].kind != "column"
        told = ["scenario", "metric", *(("evaluator", "scorer") if scores else ()), *arm_columns(self.plan)]
        apart = [name for name in told if name not in self.cut.dims]
        talks = [OF_TALK] if conversations_before(self.scored[0]) else []
        group = ", ".join([self._by, "item_id", *map(named, apart), *talks])
        wrong = self._worst_end is not None
        rows = self._single(*apart, *(["round"] if scores else []), *([UNREAD] if wrong else []))
        rows = with_talks(self.plan, self.parts, rows, self.scored[0])
        rows = with_numbers(self.plan, self.parts, rows) if first else rows
        tried = ", list(value order by sample_number) filter (value is not null) as tried" if first else ""
        grade = _latest_grade('"has value"')
        latest = f"\n  qualify row_number() over (partition by {group}, sample_id order by {grade} desc) = 1"
        reason = f"case when count(value) = 0 then 'no item has {k} samples with a value' end"
        value, passes, lacking, sizes = ordered("avg", "value"), "value = 1", "", ""
        if self.cut.labels != "none":
            passes = "value > 0.5"  # people who are of several minds pass a reply where more than half of them do
            lacking = ', max("is lacking") as "is lacking"'
            sizes = f"""{lacking}, min("of") as "fewest replies", max("of") as "most replies",
  bool_and(n in (0, "of")) as "whole or not at all\""""
            uneven = 'min("fewest replies") < max("most replies") and not bool_and("whole or not at all")'
            others = "'items have different numbers of replies, and people graded only some of those to one'"
            value = f"case when not ({uneven}) then {value} end"
            reason = f"""coalesce(max("is lacking"), case when {uneven} then {others} end, {reason})"""
        # Values of fewer samples than it takes are in no chance, so they are none that count. Unread ones are counted
        # each, and not with what they bring in.
        counted = 'sum("values")' if self.missing == "fail" else f'coalesce(sum("values") filter (n >= {k}), 0)'
        unread = ""
        if wrong:
            unread = f', count(*) filter ("{UNREAD}") as unread'
            if self.missing != "fail":
                counted = f'coalesce(sum("values" - unread) filter (n - unread >= {k}), 0) + sum(unread)'
        items = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, any_value(cluster_id) as cluster_id,
  {counted} as "values", sum("of") as "of",
  count(*) = 1 and bool_and(n = 1) as single, {ordered("avg", f"case when n >= {k} then {chance} end")} as value{sizes}
from (
  select {self._by}, item_id, any_value(cluster_id) as cluster_id, count(value) as n,
    count(value) filter ({passes}) as c,
    count(*) filter ("has value") as "values", count(*) as "of"{tried}{lacking}{unread}
  from (from {rows}{latest if scores else ""})
  group by {group}
)
group by {self._by}, item_id""",
        )
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, {value} as value, count(value) as m,
  bool_and(single) and count(value) = count(distinct cluster_id) filter (value is not null) as "is share",
  sum("values")::bigint as n, sum("of")::bigint as total, count(*) as "all items",
  {reason} as reason
from {items}
group by {self._by}""",
        )
        influence = f"{ordered('sum', 'rows.value - cells.value')} / any_value(m)"
        units = self._units(items, cells, influence, "count(rows.value) / any_value(m)")
        node = self._leaf(cells, units, weighted=True)
        short = self.parts.add(
            "cells",
            f"""select c.*, i.m as "items that count", i."all items"
from {node.cells} as c join {cells} as i on {same("c", "i", self.cut.dims)}""",
        )
        return replace(node, cells=short, tried=True)

    # --- classes ---

    # --- functions over lists ---

    def _judged(self, function: str) -> FigureTables:
        level = quoted(str(self.figure.named.get("level", "interval")))
        if function in OF_CATEGORIES:
            level = categories_sql(self.plan, self.figure, self.scored, self.cut)
        rows = replace(self, cut=replace(self.cut, dims=without_pair(self.cut.dims)))._rated()
        if PAIR in self.cut.dims:
            rows = by_pair(self.parts, rows)
        if not self.figure.of_all_models:
            return self._opened(self._called(function, rows, "subject", "rater", level))
        subject = REPLY_TO_ITEM if function == "mean_tau_agreement" else "subject"
        found = self._called(function, models_as_one(self.parts, rows), subject, "rater", level)
        return for_every_model(self.parts, self._opened(found), rows)

    def _rated(self) -> str:
        """Return a row a rating: who gave it, and what it is about."""
        placed = [PLACE] if self.scored[0].scores_elements else []
        element = "".join(f", {name}" for name in placed)
        if len(self.scored) == 2:
            pairs = self.pairs()
            return self.parts.add(
                "rows",
                f"""select {self._by}, item_id, cluster_id, item_id as "of item",
  concat_ws(' ', sample_id, nullif("of rater", ''){element}) as subject,
  unnest(['values', 'gold']) as rater,
  unnest([key, gold]) as key, unnest([value, "gold value"]) as value, "has value"
from {pairs}""",
            )
        scored = self.scored[0]
        told = [
            name for name in ("scenario", "sample_id", "scorer", "metric", "evaluator") if name not in self.cut.dims
        ]
        told_apart = ", ".join([self._by, *told, *placed])
        grade = _latest_grade("value is not null or given is not null")
        return self.parts.add(
            "rows",
            f"""select {self._by}, latest.item_id, latest.cluster_id,
  concat_ws(' ', scenario, sample_id, scorer, metric{element}) as subject,
  concat_ws(' ', scenario, latest.item_id, scorer, metric) as "of item",
  evaluator as rater, latest.value, latest.given, coalesce(latest.given, latest.value::varchar) as key,
  key is not null as "has value"
from (
  select {told_apart},
    arg_max({{'item_id': item_id, 'cluster_id': cluster_id, 'value': value, 'given': given}}, {grade}) as latest
  from (
{indented(indented(self._rows(scored, "scorer", "round", *placed)))}{self._in_role(scored)}
  )
  group by {told_apart}
)""",
        )

    def _summed(self, function: str) -> FigureTables:
        """A metric of what replies say and should say; where a missing text counts, it is empty."""
        pairs = self.pairs()
        given, gold = "coalesce(key, '\"\"')" if self.missing == "zero" and function in OF_TEXTS else "key", "gold"
        if function in OF_NUMBERS:
            given, gold = "value::varchar", '"gold value"::varchar'
        rows = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, {given} as key, {gold} as gold,
  NULL::double as value, "has value"
from {pairs}""",
        )
        settings = quoted(json.dumps(self.figure.named, sort_keys=True)) if self.figure.named else "'{}'"
        if function not in OF_TEXTS:
            return self._opened(self._called(function, rows, "gold", "sample_id", settings))
        return self._redrawn(function, rows, "gold", "sample_id", settings)

    def _limited(self, function: str) -> FigureTables:
        """A figure of lists whose interval is its own."""
        settings = quoted(json.dumps(self.figure.named, sort_keys=True))
        found = self._called(function, self._single(), "item_id", "sample_id", settings)
        node = self._opened(found)
        cells = self.parts.add(
            "cells",
            f"""select c.*, f.found.limits as limits
from {node.cells} as c join {found} as f on {same("c", "f", self.cut.dims)}""",
        )
        return replace(node, cells=cells, limited=True)

    def _of_user(self, plugin: Plugin) -> FigureTables:
        """A function of the user's, of lists with the values of all replies that have each of them."""
        first, *others = self.scored
        kinds = [type_.of.kind for type_ in plugin.parameters.values() if type_.kind == "list"]
        taken = [_typed("one", kinds[0])]
        joins = ""
        for place, (other, kind) in enumerate(zip(others, kinds[1:], strict=True), 2):
            taken.append(f"value{place}.value")
            joins += " " + self._beside(other, f"value{place}", f"any_value({_typed('', kind)}) as value")
        rows = self.parts.add(
            "rows",
            f"""select {columns(self.cut.dims, "one")}, one.item_id, one.cluster_id, one.sample_id,
  NULL::double as value,
  '[' || {" || ', ' || ".join(taken)} || ']' as key, key is not null as "has value"
from (
{indented(self._rows(first))}
) as one{joins}""",
        )
        told = {"function": plugin.function, "name": plugin.name, "path": plugin.path, "version": plugin.version}
        settings = quoted(json.dumps({**told, "parameters": list(plugin.parameters), "kinds": kinds}, sort_keys=True))
        return self._redrawn(PYTHON, rows, "sample_id", "sample_id", settings)

    def _redrawn(self, function: str, rows: str, subject: str, rater: str, settings: str = "''") -> FigureTables:
        found = self._called(function, rows, subject, rater, settings)
        drawn = self.parts.add("drawn", f"select {self._by}, found.draws as draws\nfrom {found}")
        return replace(self._opened(found), drawn=drawn)


def _latest_grade(is_grade: str) -> str:
    """Return the SQL of a number that is greatest for the latest round in which a rater graded a reply. A round in
    which the rater graded other replies only is below all of those."""
    return f"case when {is_grade} then coalesce(round, 0) else -1 end"


def _typed(of: str, kind: str) -> str:
    """Return the SQL of a value as JSON: of a number the number, of a text or a name the text."""
    prefix = f"{of}." if of else ""
    return f"{prefix}given" if kind in ("text", "choice") else f"{prefix}value::varchar"
