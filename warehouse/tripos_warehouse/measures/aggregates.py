"""The aggregates of scores and columns in SQL: the value of every cell, and the influence of every item on it.

The influence of an item is the first-order change of the value when the item's weight changes: for a mean, the sum over
the item's scores of (score − mean) / number of scores; for N / D with sums N and D, (N of the item − value · D of the
item) / D. The variance of a value is the sum of squared influences, each multiplied by √(m / (m − 1)) in a cell of m
items (Liang and Zeger, 1986), so all scores of an item count together. A cell with a single item has an unknown error.

An aggregate is two tables. One has a row per cell: `value`, `df`, `n` (values that count), `total` (values that should
count), `known` (whether there is an error), `reason` (why there is no value, or no error) and `is share` (whether it is
a share of independent items, for the exact interval). The other has a row per cell and item with its influence.

A comparison belongs to both of its models, so it has a row for each. Win rates and biases of judges are means of such
rows; strengths and self-preference need all comparisons of a cell at once and are computed by `tripos_statistic`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tripos_compiler.language.intervals import ranges_of
from tripos_compiler.language.scored_values import ScoredStep, conversations_before
from tripos_compiler.plan import Aggregate, ChoiceType, Compare, Grade, Metric, Plan, Plugin, Type
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.query import (
    CONVERSATION,
    ELEMENT_PLACE,
    PAIR,
    REPLY_TO_ITEM,
    UNREAD,
    FigureTables,
    RowSelection,
    by_pair,
    columns,
    compared_sql,
    indented,
    ordered,
    pool_models,
    repeat_by_model,
    same,
    with_conversation,
    with_sample_numbers,
    without_pair,
)
from tripos_warehouse.measures.rows import (
    CATEGORY_AGGREGATES,
    JUDGED,
    OF_NUMBERS,
    OF_TEXTS,
    PYTHON,
    SUMMED,
    AggregateTables,
    is_plain_mean,
    labelled_comparisons,
)
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.statistics.intervals import MIN_CLASS_ITEMS
from tripos_warehouse.views.dimensions import arm_columns

Category = str | float | tuple[int, int]
"""A name, a number, or all integers between two ends."""


def categories_sql(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], cut: RowSelection) -> str:
    """Return the SQL of the declared categories of a cell, as the JSON that `tripos_statistic` takes.

    They are the levels of a rubric, the names of a choice, or true and false, as Gwet's coefficients need them. If
    cells go by metric, they are those of the cell's metric. A score without a scale has none; then the categories in
    use count.
    """
    only = dict(cut.fixed).get("metric")
    metrics = [metric for metric in _metrics(plan, scored) if only in (None, metric.name)]
    if "metric" not in cut.dims or len({metric.ends for metric in metrics}) < 2:
        return quoted(_json(_declared(plan, figure, scored, metrics)))
    cases = " ".join(
        f"when {quoted(metric.name)} then {quoted(_json(_declared(plan, figure, scored, [metric])))}"
        for metric in metrics
    )
    return f"case metric {cases} else '[]' end"


def _metrics(plan: Plan, scored: Sequence[ScoredStep]) -> list[Metric]:
    """Return the metrics that judges score, without repeats."""
    names: dict[str, None] = {}
    for each in scored:
        for step in each.steps:
            if isinstance(step, Grade):
                names.update(dict.fromkeys([each.name] if each.kind == "metric" else step.metrics))
    return [metric for metric in plan.metrics if metric.name in names]


def _declared(plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], metrics: Sequence[Metric]) -> list[Category]:
    if figure.true_of:
        return [(0, 1)]
    found: dict[Category, None] = {(metric.low, metric.high): None for metric in metrics}
    ranges = ranges_of(plan)
    for each in scored:
        for scenario in each.scenarios:
            for step in scenario.steps:
                if step in each.steps and not (isinstance(step, Grade) and step.metrics):
                    found.update(dict.fromkeys(_of_type(ranges.declared(scenario, step), figure)))
    return list(found)


def _of_type(type_: Type, figure: Aggregate) -> Iterator[Category]:
    inner = type_.of if type_.kind == "optional" else type_
    match inner.kind:
        case "bool":
            yield 0, 1
        case "choice":
            worth: Sequence[Category] = inner.worth if figure.function == "gwet_ac2" and inner.worth else inner.values
            for name, value in zip(inner.values, worth, strict=True):
                if not figure.among or name in figure.among:
                    yield value
        case "integer" if inner.low is not None and inner.high is not None:
            yield inner.low, inner.high


def _json(categories: Sequence[Category]) -> str:
    return json.dumps(categories, ensure_ascii=False)


CLASS_RATIOS = {"precision": ("tp", "tp + fp"), "recall": ("tp", "tp + fn"), "f1": ("2 * tp", "2 * tp + fp + fn")}
"""Measures of classes, as one sum over another."""


@dataclass(frozen=True)
class ClassMeasures(AggregateTables):
    """The tables of precision, recall and F1 over classes."""

    def _classed(self, function: str) -> FigureTables:
        over, under = CLASS_RATIOS[function]
        average = str(self.figure.named.get("average", "macro"))
        pairs = self.pairs()
        used = "gold is not null" if self.missing == "zero" else '"has value"'
        said = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, "has value", {used} as used,
  {_classes("key", self.scored[0])} as said,
  {_classes("gold", self.scored[1])} as truth
from {pairs}""",
        )
        counted = self.parts.add(
            "cells",
            f"""select {self._by}, count(*) filter ("has value") as n, count(*) as total
from {said}
group by {self._by}""",
        )
        if average == "samples":
            return self._mean(self._of_sets(said, over, under))
        only = f"\nwhere class = {quoted(self._positive())}" if average == "binary" else ""
        group = ["class"] if average == "macro" else []
        # A row is a unit and, for macro averages, a class: what counts in the numerator and in the denominator.
        classes = self.parts.add(
            "rows",
            f"""select {self._by}, cluster_id{", class" if group else ""},
  sum({over}) as "over", sum({under}) as "under"
from (
  select *, (list_contains(said, class) and list_contains(truth, class))::integer as tp,
    (list_contains(said, class) and not list_contains(truth, class))::integer as fp,
    (not list_contains(said, class) and list_contains(truth, class))::integer as fn
  from (select *, unnest(list_distinct(said || truth)) as class from {said} where used)
){only}
group by {self._by}, cluster_id{", class" if group else ""}""",
        )
        ratios = self.parts.add(
            "cells",
            f"""select {self._by}{", class" if group else ""}, sum("over") as "over", sum("under") as "under",
  count(*) filter ("under" > 0) as "items of class"
from {classes}
group by {self._by}{", class" if group else ""}""",
        )
        of_class = 'r."over" / nullif(r."under", 0)'
        # Without rows to count there is no class, and the mean over no classes is undefined, not 0.
        none = f'case when r."under" is not null then coalesce({of_class}, 0) end' if group else of_class
        lacking = "there is no class" if group else "there is nothing of the class"
        cells = self.parts.add(
            "cells",
            f"""select {columns(self.cut.dims, "c")}, {ordered("avg", none)} as value,
  count(r."under") as "classes of cell",
  any_value(c.n) as n, any_value(c.total) as total, false as "is share",
  case when {ordered("avg", none)} is null then '{lacking}' end as reason, min(r."items of class") < {MIN_CLASS_ITEMS}
    or min(r."items of class" * {none}) < {MIN_CLASS_ITEMS / 2} as few,
  list({{'share': {none}, 'items': r."items of class"}}) filter (r."under" is not null) as classes
from {counted} as c left join {ratios} as r on {same("c", "r", self.cut.dims)}
group by {columns(self.cut.dims, "c")}""",
        )
        met = f"{same('rows', 'r', self.cut.dims)}{' and rows.class = r.class' if group else ''}"
        ratio = 'coalesce(r."over" / nullif(r."under", 0), 0)'
        own = f'coalesce((rows."over" - {ratio} * rows."under") / nullif(r."under", 0), 0) / cells."classes of cell"'
        weight = "" if group else ', sum(rows."under") / nullif(any_value(r."under"), 0) as weight'
        units = self.parts.add(
            "units",
            f"""select {columns(self.cut.dims, "rows")}, rows.cluster_id,
  {ordered("sum", own)} as influence{weight}
from {classes} as rows join {ratios} as r on {met}
  join {cells} as cells on {same("rows", "cells", self.cut.dims)}
group by {columns(self.cut.dims, "rows")}, rows.cluster_id
having sum(rows."under") > 0""",
        )
        node = self._leaf(cells, units, weighted=not group)
        return self._few_items_mean(node, cells) if average == "macro" else node

    def _few_items_mean(self, node: FigureTables, ratios: str) -> FigureTables:
        """Return the mean over classes of which some may have too few items for their influences to show an error; then
        the cells have the column `classes`."""
        told = f"'a class has fewer than {MIN_CLASS_ITEMS} items, or is right in fewer than {MIN_CLASS_ITEMS // 2}'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (c.known and not r.few as known,
  coalesce(c.reason, case when r.few then {told} end) as reason), case when r.few then r.classes end as classes
from {node.cells} as c join {ratios} as r on {same("c", "r", self.cut.dims)}""",
        )
        return replace(node, cells=cells, classes=True)

    def _of_sets(self, said: str, over: str, under: str) -> str:
        """Return one row per reply: the measure of its set; two empty sets are equal, which counts 1."""
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, cluster_id, sample_id, "has value", 1 as "its weight",
  case when used then case when len(said) + len(truth) = 0 then 1 else coalesce({over} / nullif({under}, 0), 0) end end
    as value
from (
  select *, len(list_intersect(said, truth)) as tp, len(said) - tp as fp, len(truth) - tp as fn
  from {said}
)""",
        )

    def _positive(self) -> str:
        """Return the positive class of a binary measure, as a column stores it."""
        positive = self.figure.named.get("positive", True)
        if isinstance(positive, str):
            return json.dumps(positive, ensure_ascii=False)
        return str(float(positive))


def _classes(key: str, scored: ScoredStep) -> str:
    """Return the SQL of the classes that a value names: the elements of a set, or the value itself."""
    type_ = scored.type.of if scored.type.kind == "optional" else scored.type
    if type_.kind == "set":
        return f"coalesce([class::varchar for class in from_json({key}, '[\"JSON\"]')], [])"
    return f"case when {key} is null then []::varchar[] else [{key}] end"


BELOW, NO_WEIGHT = "a weight is below 0", "all weights are 0"


@dataclass(frozen=True)
class LeafSql(ClassMeasures):
    """The tables of one aggregate of a scored step."""

    def write(self) -> FigureTables:
        """Return the tables of the aggregate."""
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
        """Return the mean of values with a weight each; rows with the weight 0 do not count."""
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
        """Return the tables of pass@k and pass^k: 1 − C(n − c, k) / C(n, k) and C(c, k) / C(n, k), as products that
        stay between 0 and 1; or the greatest and the least of the first k values, in the order of their samples."""
        k = self.figure.named["k"]
        first = self.figure.named.get("tries") == "first"
        if first:
            chance = f"list_{'max' if function == 'pass_at' else 'min'}(list_slice(tried, 1, {k}))"
        elif function == "pass_at":
            chance = f"1 - coalesce(list_product([1 - {k} / i for i in range(n - c + 1, n + 1)]), 1)"
        else:
            chance = f"list_product([(c - j) / (n - j) for j in range(0, {k})])"
        # Tries are replies to the same question: those of one arm, after one conversation, graded by one rater.
        scores = self.scored[0].kind != "column"
        told = ["scenario", "metric", *(("evaluator", "scorer") if scores else ()), *arm_columns(self.plan)]
        apart = [name for name in told if name not in self.cut.dims]
        talks = [CONVERSATION] if conversations_before(self.scored[0]) else []
        group = ", ".join([self._by, "item_id", *map(named, apart), *talks])
        wrong = self._worst_end is not None
        rows = self._single(*apart, *(["round"] if scores else []), *([UNREAD] if wrong else []))
        rows = with_conversation(self.plan, self.parts, rows, self.scored[0])
        rows = with_sample_numbers(self.plan, self.parts, rows) if first else rows
        tried = ", list(value order by sample_number) filter (value is not null) as tried" if first else ""
        grade = _latest_grade('"has value"')
        latest = f"\n  qualify row_number() over (partition by {group}, sample_id order by {grade} desc) = 1"
        reason = f"case when count(value) = 0 then 'no item has {k} samples with a value' end"
        value, passes, lacking, sizes = ordered("avg", "value"), "value = 1", "", ""
        if self.cut.labels != "none":
            passes = "value > 0.5"  # if people disagree, a reply passes by majority
            lacking = ', max("is lacking") as "is lacking"'
            sizes = f"""{lacking}, min("of") as "fewest replies", max("of") as "most replies",
  bool_and(n in (0, "of")) as "whole or not at all\""""
            uneven = 'min("fewest replies") < max("most replies") and not bool_and("whole or not at all")'
            others = "'items have different numbers of replies, and people graded only some of those to one'"
            value = f"case when not ({uneven}) then {value} end"
            reason = f"""coalesce(max("is lacking"), case when {uneven} then {others} end, {reason})"""
        # Values of an item with too few samples are in no chance, so they do not count. Unread ones count separately,
        # without the values that they would bring in.
        counted = 'sum("values")' if self.missing == "fail" else f'coalesce(sum("values") filter (n >= {k}), 0)'
        unread = ""
        if wrong:
            unread = f', count(*) filter ("{UNREAD}") as unread'
            if self.missing != "fail":
                counted = f'coalesce(sum("values" - unread) filter (n - unread >= {k}), 0) + sum(unread)'
        # A row is an item: the chance of passing with k of its samples, averaged over the groups of its samples.
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
        if function in CATEGORY_AGGREGATES:
            level = categories_sql(self.plan, self.figure, self.scored, self.cut)
        rows = replace(self, cut=replace(self.cut, dims=without_pair(self.cut.dims)))._rated()
        if PAIR in self.cut.dims:
            rows = by_pair(self.parts, rows)
        if not self.figure.of_all_models:
            return self._opened(self._called(function, rows, "subject", "rater", level))
        subject = REPLY_TO_ITEM if function == "mean_tau_agreement" else "subject"
        found = self._called(function, pool_models(self.parts, rows), subject, "rater", level)
        return repeat_by_model(self.parts, self._opened(found), rows)

    def _rated(self) -> str:
        """Return one row per rating: the rater, and what is rated."""
        placed = [ELEMENT_PLACE] if self.scored[0].scores_elements else []
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
        # A row is a rating: the latest grade that a rater gave a subject.
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
        """Return the tables of a metric of actual and expected values; if a missing text counts, it is empty."""
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
        """Return the tables of a statistic of lists that has its own interval."""
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
        """Return the tables of a user's function, called with lists of the values of all replies that have each of
        them."""
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
    """Return the SQL of a number that is greatest for the latest round in which a rater graded a reply. Rounds in which
    the rater graded only other replies are lower than all of these."""
    return f"case when {is_grade} then coalesce(round, 0) else -1 end"


def _typed(of: str, kind: str) -> str:
    """Return the SQL of a value as JSON: a number as a number, a text or a name as text."""
    prefix = f"{of}." if of else ""
    return f"{prefix}given" if kind in ("text", "choice") else f"{prefix}value::varchar"


ORDER_AGGREGATES = ("position_bias", "flip_rate")
"""Aggregates that compare the two orders of the same replies."""

LIST_COLUMNS = {
    "item": "cluster_id",
    "subject": "first_model",
    "rater": "second_model",
    "key": "evaluator",
    "value": "value",
}
"""The columns of a comparison that a statistic of lists receives, by their names in ratings."""
ITEM_OF_CLUSTER = "cluster_id || chr(31) || item_id"
"""An item with its cluster as a prefix; the warehouse splits them there."""
NO_ORDERS = "case when count(value) = 0 then 'nothing was judged in both orders' end"


@dataclass(frozen=True)
class CompareSql(LeafSql):
    """The tables of one aggregate of comparisons."""

    def write(self) -> FigureTables:
        """Return the tables of the aggregate."""
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
            case function if function in ORDER_AGGREGATES:
                return self._mean(self._orders(function), NO_ORDERS)
            case "bradley_terry" | "self_preference" as function:
                return self._found(function)
        raise AssertionError(f"no SQL for the aggregate `{self.figure.function}`")

    @property
    def _by_margin(self) -> bool:
        return self.figure.named.get("weight") == "margin"

    def _compared(self, dims: tuple[str, ...] | None = None, more: Sequence[str] = ()) -> str:
        """Return one row per comparison."""
        cut = self.cut if dims is None else replace(self.cut, dims=dims)
        return self.parts.add("compared", compared_sql(self.plan, self.scored[0], cut, more))

    def _margins(self) -> str:
        """Return the SQL of the weight of a comparison: that of its verdict's name on either side, 1 for a tie. The
        judge of another scenario may use a name differently."""
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
        """Return one row per comparison and model: whether that model won."""
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
        """Return the same for comparisons with labels. A model needs labelled comparisons with every model that it met,
        otherwise it has no value, since the figure would be one of the others."""
        # A row is a labelled comparison from the side of one of its models.
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
        """Return the same comparisons, with each tie split into two halves, one won by either model."""
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
        """Return one row per judge and two replies, for each of the models: the joint result of both orders."""
        dims = "".join(f"{named(dim)}, " for dim in self.cut.dims)
        # Both are 1 if the reply shown first always wins, and 0 if the one shown second does.
        value = '"one way" + "other way" - 1' if function == "position_bias" else '("one way" + "other way" in (0, 2))'
        # A row is a judge and two replies, from the side of one model, with the verdicts of both orders.
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
        """Return the tables of a statistic of all comparisons of a cell. If cells go by judge, a judge's preference for
        its own model is compared with the verdicts of the other judges."""
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
        seen, counting = LIST_COLUMNS, compared
        if function == "self_preference":  # it compares verdicts on the same replies, so it needs items
            seen = {**LIST_COLUMNS, "item": ITEM_OF_CLUSTER}
        if halved:
            compared, weight = self._halves(compared, weight or "1"), '"its share"'
        if weight:
            seen, function = {**LIST_COLUMNS, "key": f"({weight})::varchar"}, f"weighted_{function}"
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
