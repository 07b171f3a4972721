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
from dataclasses import dataclass, replace

from tripos_compiler.language.figures import Scored, graded, talks_before
from tripos_compiler.plan import Aggregate, Missing, Plan
from tripos_warehouse.measures.sql.paired import keys_of, paired_rows
from tripos_warehouse.measures.sql.parts import (
    OF_TALK,
    Cut,
    Parts,
    columns,
    given_value,
    named,
    quoted,
    rows_sql,
    same,
    weight_sql,
    weights_of,
    with_numbers,
    with_talks,
)
from tripos_warehouse.measures.sql.raters import (
    PAIR,
    REPLY_TO_ITEM,
    Node,
    by_pair,
    for_every_model,
    models_as_one,
    without_pair,
)
from tripos_warehouse.statistics.intervals.bounded import FEW_OF_A_CLASS
from tripos_warehouse.views.treatments import arm_columns

JUDGED = (
    "kendall_w",
    "krippendorff_alpha",
    "kendall_tau",
    "spearman",
    "cohen_kappa",
    "quadratic_kappa",
    "mean_tau_agreement",
)
RATED = ("scorer", "round")
"""What tells scores of a reply apart, beside its rater."""
CLASSED = {"precision": ("tp", "tp + fp"), "recall": ("tp", "tp + fn"), "f1": ("2 * tp", "2 * tp + fp + fn")}
"""Measures of classes, as one sum over another."""

FAILED = "(total - n) || ' of ' || total || ' scores are missing'"
NOTHING = "'nothing has a value'"


@dataclass(frozen=True)
class LeafSql:
    """Writes the tables of one aggregate of what is scored."""

    plan: Plan
    parts: Parts
    figure: Aggregate
    scored: tuple[Scored, ...]
    cut: Cut
    missing: Missing

    def write(self) -> Node:
        """The tables."""
        match self.figure.function:
            case "mean" | "share":
                return self._mean(self._single())
            case "accuracy":
                return self._mean(self._agreeing())
            case "sum" | "count":
                return self._sum(self._single())
            case "stdev":
                return self._stdev()
            case "min" | "max" as function:
                return self._end(function)
            case "pass_at" | "pass_all" as function:
                return self._passed(function)
            case "precision" | "recall" | "f1" as function:
                return self._classed(function)
            case "median":
                return self._median()
            case function if function in JUDGED:
                return self._judged(function)
        raise AssertionError(f"no SQL for the aggregate `{self.figure.function}`")

    # --- rows ---

    @property
    def _by(self) -> str:
        return columns(self.cut.dims)

    def _rows(self, scored: Scored, *further: str) -> str:
        if scored.kind == "column":
            more = [] if "evaluator" in self.cut.dims else ["NULL::varchar as evaluator"]
        else:
            more = [name for name in ("evaluator", *further) if name not in self.cut.dims]
        axes = [name for name in arm_columns(self.plan) if name not in self.cut.dims]
        hidden = [name for name in ("scenario", "metric") if name in self.cut.dims]
        rows = rows_sql(self.plan, scored, self.cut, [*more, *map(named, axes)])
        for name in hidden:  # it stands among the dimensions already
            rows = rows.replace(f", {name},", ",", 1)
        return rows

    def _single(self, *beside: str) -> str:
        """A row a value: `value` as it counts, and whether it was there; `beside` names further columns."""
        scored = self.scored[0]
        weights = {} if "metric" in self.cut.dims else weights_of(scored)
        weight = weight_sql(weights) if self.figure.function == "mean" else "1"
        if self.missing == "paired":
            keys = [name for name in keys_of(scored) if name != "item_id" and name not in self.cut.dims]
            beside = tuple(dict.fromkeys([*beside, *keys]))
        rows = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, sample_id, value is not null or given is not null as "has value",
  {given_value(self.missing)} as value, {weight} as "its weight"{"".join(f", {named(name)}" for name in beside)}
from (
{_in(self._rows(scored, *(name for name in beside if name in RATED)))}
)""",
        )
        if self.missing != "paired":
            return rows
        least = self.figure.named.get("k", 1)
        return paired_rows(self.plan, self.parts, rows, scored, least if isinstance(least, int) else 1)

    def _pairs(self) -> str:
        """A row a reply: what it has and what it should have, as texts and as numbers."""
        one, other = self.scored
        arms = arm_columns(self.plan)
        if one.of == other.of:
            also = ", sample_id"
            met = "one.sample_id = other.sample_id"
        else:  # what stands beside no reply is the same for every reply to the item
            also, met = "", "true"
        shared = [f"one.{named(arm)} is not distinct from other.{named(arm)}" for arm in arms]
        conditions = " and ".join(["one.model = other.model", "one.item_id = other.item_id", met, *shared])
        named_arms = "".join(f", {named(arm)}" for arm in arms)
        own = Cut((), self.cut.fixed)
        second = rows_sql(self.plan, other, own, [named(arm) for arm in arms])
        own_key = "coalesce(one.given, one.value::varchar)"  # an alias `key` would lose against the column of `other`
        return self.parts.add(
            "rows",
            f"""select {columns(self.cut.dims, "one")}, one.item_id, one.sample_id, {own_key} as key,
  other.key as gold, one.value, other.value as "gold value",
  {own_key} is not null and other.key is not null as "has value"
from (
{_in(self._rows(one))}
) as one left join (
  select model, item_id{also}{named_arms}, any_value(coalesce(given, value::varchar)) as key, any_value(value) as value
  from (
{_in(_in(second))}
  ) group by all
) as other on {conditions}""",
        )

    def _agreeing(self) -> str:
        """Pairs as a score: whether both are the same."""
        pairs = self._pairs()
        equal = 'case when "has value" then (key = gold)::double end'
        value = f"case when gold is not null then coalesce({equal}, 0) end" if self.missing == "zero" else equal
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, sample_id, "has value", {value} as value, 1 as "its weight"
from {pairs}""",
        )

    # --- sums ---

    def _mean(self, rows: str, reason: str = "NULL::varchar") -> Node:
        """The mean of rows; `reason` is the SQL of why there is none."""
        means = self.parts.add(
            "cells",
            f"""select {self._by},
  sum("its weight" * value) / sum("its weight") filter (value is not null) as value,
  sum("its weight") filter (value is not null) as "weight of cell",
  coalesce(bool_and(value in (0, 1)), false) and count(value) = count(distinct item_id) filter (value is not null)
    and count(distinct "its weight") = 1 as "is share",
  count(*) filter ("has value") as n, count(*) as total, {reason} as reason
from {rows}
group by {self._by}""",
        )
        pulls = 'sum("its weight" * (rows.value - cells.value)) / any_value("weight of cell")'
        return self._enlarged(means, self._pulls(rows, means, pulls))

    def _sum(self, rows: str) -> Node:
        value = "value" if self.figure.function == "sum" else '"has value"::integer'
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, coalesce(sum({value}), 0)::double as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, count(distinct item_id) as m, NULL::varchar as reason
from {rows}
group by {self._by}""",
        )
        pull = f"coalesce(sum(rows.{value}), 0) - any_value(cells.value / cells.m)"
        return self._enlarged(cells, self._pulls(rows, cells, pull, every=True))

    def _stdev(self) -> Node:
        rows = self._single()
        cells = self.parts.add(
            "cells",
            f"""select {self._by},
  stddev_samp(value) as value, avg(value) as mean, var_pop(value) as "variance of cell",
  false as "is share", count(*) filter ("has value") as n, count(*) as total,
  case when count(value) = 1 then 'one value has no deviation' end as reason
from {rows}
group by {self._by}""",
        )
        pull = """sum((rows.value - cells.mean) ** 2 - cells."variance of cell")
    / any_value(nullif(2 * cells.value * (cells.n - 1), 0))"""
        return self._enlarged(cells, self._pulls(rows, cells, pull))

    def _end(self, function: str) -> Node:
        rows = self._single()
        told = f"'a {'least' if function == 'min' else 'greatest'} value has no standard error'"
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, {function}(value) as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, case when count(value) > 0 then {told} end as reason
from {rows}
group by {self._by}""",
        )
        return self._enlarged(cells, self._pulls(rows, cells, "NULL::double"))

    def _passed(self, function: str) -> Node:
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
        talks = [OF_TALK] if talks_before(self.scored[0]) else []
        group = ", ".join([self._by, "item_id", *map(named, apart), *talks])
        rows = self._single(*apart, *(["round"] if scores else []))
        rows = with_talks(self.plan, self.parts, rows, self.scored[0])
        rows = with_numbers(self.plan, self.parts, rows) if first else rows
        tried = ", list(value order by sample_number) filter (value is not null) as tried" if first else ""
        latest = f"\n  qualify row_number() over (partition by {group}, sample_id order by round desc nulls last) = 1"
        items = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, sum("values") as "values", sum("of") as "of",
  count(*) = 1 and bool_and(n = 1) as single, avg(case when n >= {k} then {chance} end) as value
from (
  select {self._by}, item_id, count(value) as n, count(value) filter (value = 1) as c,
    count(*) filter ("has value") as "values", count(*) as "of"{tried}
  from (from {rows}{latest if scores else ""})
  group by {group}
)
group by {self._by}, item_id""",
        )
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, avg(value) as value, count(value) as m, bool_and(single) as "is share",
  sum("values")::bigint as n, sum("of")::bigint as total,
  case when count(value) = 0 then 'no item has {k} samples with a value' end as reason
from {items}
group by {self._by}""",
        )
        return self._enlarged(cells, self._pulls(items, cells, "any_value(rows.value - cells.value) / any_value(m)"))

    # --- classes ---

    def _classed(self, function: str) -> Node:
        over, under = CLASSED[function]
        average = str(self.figure.named.get("average", "macro"))
        pairs = self._pairs()
        used = "gold is not null" if self.missing == "zero" else '"has value"'
        said = self.parts.add(
            "rows",
            f"""select {self._by}, item_id, sample_id, "has value", {used} as used,
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
        classes = self.parts.add(
            "rows",
            f"""select {self._by}, item_id{", class" if group else ""},
  sum({over}) as "over", sum({under}) as "under"
from (
  select *, (list_contains(said, class) and list_contains(truth, class))::integer as tp,
    (list_contains(said, class) and not list_contains(truth, class))::integer as fp,
    (not list_contains(said, class) and list_contains(truth, class))::integer as fn
  from (select *, unnest(list_distinct(said || truth)) as class from {said} where used)
){only}
group by {self._by}, item_id{", class" if group else ""}""",
        )
        ratios = self.parts.add(
            "cells",
            f"""select {self._by}{", class" if group else ""}, sum("over") as "over", sum("under") as "under",
  count(*) filter ("under" > 0) as "items of class"
from {classes}
group by {self._by}{", class" if group else ""}""",
        )
        of_class = 'r."over" / nullif(r."under", 0)'
        # Where nothing can be counted there is no class, and a mean over none is no 0.
        none = f'case when r."under" is not null then coalesce({of_class}, 0) end' if group else of_class
        lacking = "there is no class" if group else "there is nothing of the class"
        cells = self.parts.add(
            "cells",
            f"""select {columns(self.cut.dims, "c")}, avg({none}) as value, count(r."under") as "classes of cell",
  any_value(c.n) as n, any_value(c.total) as total, false as "is share",
  case when avg({none}) is null then '{lacking}' end as reason, min(r."items of class") < {FEW_OF_A_CLASS}
    or min(r."items of class" * {none}) < {FEW_OF_A_CLASS / 2} as few,
  list({{'share': {none}, 'items': r."items of class"}}) filter (r."under" is not null) as classes
from {counted} as c left join {ratios} as r on {same("c", "r", self.cut.dims)}
group by {columns(self.cut.dims, "c")}""",
        )
        met = f"{same('rows', 'r', self.cut.dims)}{' and rows.class = r.class' if group else ''}"
        ratio = 'coalesce(r."over" / nullif(r."under", 0), 0)'
        pulls = self.parts.add(
            "pulls",
            f"""select {columns(self.cut.dims, "rows")}, rows.item_id,
  sum(coalesce((rows."over" - {ratio} * rows."under") / nullif(r."under", 0), 0) / cells."classes of cell") as pull
from {classes} as rows join {ratios} as r on {met}
  join {cells} as cells on {same("rows", "cells", self.cut.dims)}
group by {columns(self.cut.dims, "rows")}, rows.item_id
having sum(rows."under") > 0""",
        )
        node = self._enlarged(cells, pulls)
        return self._of_few(node, cells) if average == "macro" else node

    def _of_few(self, node: Node, ratios: str) -> Node:
        """The mean over classes, some of which may have so few items that their pulls do not show its error: then its
        cells have the classes instead."""
        told = f"'a class has fewer than {FEW_OF_A_CLASS} items, or is right in fewer than {FEW_OF_A_CLASS // 2}'"
        cells = self.parts.add(
            "cells",
            f"""select c.* replace (c.known and not r.few as known,
  coalesce(c.reason, case when r.few then {told} end) as reason), case when r.few then r.classes end as classes
from {node.cells} as c join {ratios} as r on {same("c", "r", self.cut.dims)}""",
        )
        return replace(node, cells=cells, classes=True)

    def _of_sets(self, said: str, over: str, under: str) -> str:
        """A row a reply: the measure of its set; two empty sets are the same, which is 1."""
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, sample_id, "has value", 1 as "its weight",
  case when used then case when len(said) + len(truth) = 0 then 1 else coalesce({over} / nullif({under}, 0), 0) end end
    as value
from (
  select *, len(list_intersect(said, truth)) as tp, len(said) - tp as fp, len(truth) - tp as fn
  from {said}
)""",
        )

    def _positive(self) -> str:
        """The class that a binary measure looks at, as a column has it."""
        positive = self.figure.named.get("positive", True)
        if isinstance(positive, str):
            return json.dumps(positive, ensure_ascii=False)
        return str(float(positive))

    # --- functions over lists ---

    def _judged(self, function: str) -> Node:
        level = str(self.figure.named.get("level", "interval"))
        rows = replace(self, cut=Cut(without_pair(self.cut.dims), self.cut.fixed))._rated()
        if PAIR in self.cut.dims:
            rows = by_pair(self.parts, rows)
        if not self.figure.of_all_models:
            return self._opened(self._called(function, rows, "subject", "rater", quoted(level)))
        subject = REPLY_TO_ITEM if function == "mean_tau_agreement" else "subject"
        found = self._called(function, models_as_one(self.parts, rows), subject, "rater", quoted(level))
        return for_every_model(self.parts, self._opened(found), rows)

    def _rated(self) -> str:
        """A row a rating: who gave it, and what it is about."""
        if len(self.scored) == 2:
            pairs = self._pairs()
            return self.parts.add(
                "rows",
                f"""select {self._by}, item_id, sample_id as subject, item_id as "of item",
  unnest(['values', 'gold']) as rater,
  unnest([key, gold]) as key, unnest([value, "gold value"]) as value, "has value"
from {pairs}""",
            )
        scored = self.scored[0]
        subject = "concat_ws(' ', scenario, sample_id, scorer, metric)"
        return self.parts.add(
            "rows",
            f"""select {self._by}, item_id, {subject} as subject,
  concat_ws(' ', scenario, item_id, scorer, metric) as "of item",
  evaluator as rater, value, given, coalesce(given, value::varchar) as key, key is not null as "has value"
from (
{_in(self._rows(scored, "scorer", "round"))}{self._in_role(scored)}
)
qualify row_number() over (partition by {self._by}, subject, rater order by round desc nulls last) = 1""",
        )

    def _in_role(self, scored: Scored) -> str:
        """A condition that leaves scores by the raters of the role that the aggregate is taken across, where those of
        other roles have scores of the same name."""
        found = {step.scorer for step in graded(scored)}
        own = sorted(scorer for scorer in found if self.plan.scorer(scorer).role == self.figure.across)
        return f"\n    and scorer in ({', '.join(map(quoted, own))})" if len(own) < len(found) else ""

    def _median(self) -> Node:
        found = self._called("median", self._single(), "item_id", "sample_id")
        drawn = self.parts.add("drawn", f"select {self._by}, found.draws as draws\nfrom {found}")
        return replace(self._opened(found), drawn=drawn)

    def _called(self, function: str, rows: str, subject: str, rater: str, level: str = "''") -> str:
        """A row a cell, with what a statistic of lists came to."""
        key = "key" if function in JUDGED else "NULL::varchar"
        lists = ", ".join(
            f"list({each} order by item_id, {subject}, {rater}, value)"
            for each in ("item_id", subject, rater, key, "value")
        )
        # What two columns say of a reply is two rows here, and one pair that counts.
        pair = "rater = 'gold'" if function in JUDGED and len(self.scored) == 2 else ""
        counted = f'"has value" and {pair}' if pair else '"has value"'
        every = f"count(*) filter ({pair})" if pair else "count(*)"
        return self.parts.add(
            "cells",
            f"""select {self._by}, count(*) filter ({counted}) as n, {every} as total,
  tripos_statistic({quoted(function)}, {level}, {lists}) as found
from {rows}
group by {self._by}""",
        )

    def _opened(self, found: str) -> Node:
        """The tables of cells whose values were found by a function."""
        cells = self.parts.add(
            "cells",
            f"""select {self._by}, found.value as value, n, total, false as "is share", found.reason as reason
from {found}""",
        )
        pulls = self.parts.add(
            "pulls",
            f"""select {self._by}, unnest(found.items) as item_id, unnest(found.pulls) as pull
from {found}""",
        )
        return self._enlarged(cells, pulls)

    # --- what all have in common ---

    def _pulls(self, rows: str, cells: str, pull: str, every: bool = False) -> str:
        only = "" if every else "\nwhere rows.value is not null"
        return self.parts.add(
            "pulls",
            f"""select {columns(self.cut.dims, "rows")}, rows.item_id, {pull} as pull
from {rows} as rows join {cells} as cells on {same("rows", "cells", self.cut.dims)}{only}
group by {columns(self.cut.dims, "rows")}, rows.item_id""",
        )

    def _enlarged(self, cells: str, pulls: str) -> Node:
        """The two tables of the figure, from its cells and the plain pulls on them."""
        failing = self.missing == "fail"
        value = "case when c.n = c.total then c.value end" if failing else "c.value"
        told = "(total - n) || ' of ' || total || ' have no value, which `missing: fail` forbids'"
        reason = f"case when c.n < c.total then {told} else c.reason end" if failing else "c.reason"
        enlarged = self.parts.add(
            "pulls",
            f"""select {self._by}, item_id, pull * sqrt(m / (m - 1)) as pull, m
from (select *, nullif(count(pull) over (partition by {self._by}), 1) as m from {pulls})""",
        )
        done = self.parts.add(
            "cells",
            f"""select {columns(self.cut.dims, "c")}, {value} as value, c.n, c.total, {reason} as reason, c."is share",
  coalesce(p.m - 1, 0) as df, coalesce(p.m > 1, false) as known, p.m as bearing
from {cells} as c left join (
  select {self._by}, any_value(m) as m from {enlarged} group by {self._by}
) as p on {same("c", "p", self.cut.dims)}""",
        )
        return Node(done, enlarged, self.cut.dims)


def _classes(key: str, scored: Scored) -> str:
    """The classes that a value names: its elements where it is a set, and itself where it is not."""
    type_ = scored.type.of if scored.type.kind == "optional" else scored.type
    if type_.kind == "set":
        return f"coalesce([class::varchar for class in from_json({key}, '[\"JSON\"]')], [])"
    return f"case when {key} is null then []::varchar[] else [{key}] end"


def _in(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
