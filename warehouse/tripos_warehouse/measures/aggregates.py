"""The implementations of aggregates: the SQL of the value of every cell, and of the influence of every item on it.

`implementation` and `cells_formula` are the only look-ups of an aggregate by its name. Aggregates with a formula in SQL
are registered here by `implements`; for the statistics of `query/aggregates.py`, the SQL follows from their class.

The influence of an item is the first-order change of the value when the item's weight changes: for a mean, the sum over
the item's scores of (score − mean) / number of scores; for a ratio N / D of sums, (N of the item − value · D of the
item) / D. The variance of a value is the sum of squared influences, each multiplied by √(m / (m − 1)) in a cell of m
items: the cluster-robust variance of Liang and Zeger (1986), with items as clusters. In a cell with a single item the
standard error is unknown.

An implementation writes two tables, from which `LeafRows.tables` makes those of the figure. One has a row per cell:
`value`, `n` (the number of values in it), `total` (`n` and the number of missing values), `reason` (why there is no
value, or no error) and `is share` (whether it is a share of independent items, for the exact interval). The other has a
row per cell and item: its unscaled influence, and for a mean its weight.

A comparison has a row for each of its two models. Win rates and biases of judges are means of such rows. Strengths and
self-preference need all comparisons of a cell at once, and are computed by `tripos_statistic`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tripos_compiler.language.aggregates import OF_PRODUCTS, is_of_all_models
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
from tripos_warehouse.measures.rows import LeafRows, is_plain_mean, labelled_comparisons
from tripos_warehouse.query.aggregates import (
    PYTHON,
    PYTHON_VALUE,
    STATISTICS,
    WEIGHTED,
    Agreement,
    AgreementWithinItems,
    CellsFormula,
    ComparisonStatistic,
    SetMetric,
    Statistic,
    ValueStatistic,
)
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.statistics.intervals import MIN_CLASS_ITEMS
from tripos_warehouse.views.dimensions import arm_columns

# Registry

Write = Callable[[LeafRows], FigureTables]
"""A function that returns the tables of an aggregate of scored steps, from their rows."""


@dataclass(frozen=True)
class Implementation:
    """The SQL of an aggregate: of scored steps, and if the language allows it, of the cells of a figure."""

    write: Write
    of_cells: CellsFormula | None = None


IMPLEMENTATIONS: dict[str, Implementation] = {}
"""The implementations of the aggregates of the language, by name."""


def implements(name: str, of_cells: CellsFormula | None = None) -> Callable[[Write], Write]:
    """Return a decorator that registers a function as the implementation of an aggregate."""

    def register(write: Write) -> Write:
        IMPLEMENTATIONS[name] = Implementation(write, of_cells)
        return write

    return register


def implementation(plan: Plan, name: str) -> Implementation:
    """Return the implementation of an aggregate of the language, or of a user's function of that name."""
    found = IMPLEMENTATIONS.get(name)
    if found is not None:
        return found
    plugin = next((each for each in plan.plugins if each.aggregate and each.name == name), None)
    if plugin is None:
        raise AssertionError(f"no SQL for the aggregate `{name}`")
    return Implementation(partial(_of_user, plugin=plugin))


def cells_formula(name: str) -> CellsFormula:
    """Return the SQL of an aggregate of cells. The compiler accepts only aggregates that have one (`takes_cells`)."""
    formula = IMPLEMENTATIONS[name].of_cells
    assert formula is not None, f"`{name}` of cells"
    return formula


# Means


@implements(
    "mean",
    CellsFormula(
        ordered("avg", "value"), 'case when value is not null then 1 / "number of cells" else 0 end', linear=True
    ),
)
def mean(leaf: LeafRows) -> FigureTables:
    """Return the tables of the mean of scores, in which metrics have their weights."""
    if is_plain_mean(leaf.figure, leaf.scored[0], leaf.cut, leaf.missing):
        return leaf.plain_mean()
    return leaf.mean(leaf.single(weighted=True), _label_reason(leaf))


@implements("share")
def share(leaf: LeafRows) -> FigureTables:
    """Return the tables of the share of scores that are true."""
    return leaf.mean(leaf.single(), _label_reason(leaf))


def _label_reason(leaf: LeafRows) -> str:
    """Return the SQL of the reason why a cell has no value for lack of labels; NULL for figures without labels."""
    return "NULL::varchar" if leaf.cut.labels == "none" else '"is lacking"'


@implements("accuracy")
def accuracy(leaf: LeafRows) -> FigureTables:
    """Return the tables of the share of pairs whose actual value equals the expected one."""
    pairs = leaf.pairs()
    equal = 'case when "has value" then (key = gold)::double end'
    if leaf.worst_end is not None:  # an unreadable value is not equal to any
        equal = 'case when "has value" then coalesce((key = gold)::double, 0) end'
    value = f"case when gold is not null then coalesce({equal}, 0) end" if leaf.missing == "zero" else equal
    rows = leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, sample_id, "has value", {value} as value, 1 as "its weight"
from {pairs}""",
    )
    return leaf.mean(rows)


BELOW, NO_WEIGHT = "a weight is below 0", "all weights are 0"


@implements("weighted_mean")
def weighted_mean(leaf: LeafRows) -> FigureTables:
    """Return the tables of the mean of values with one weight each; rows with the weight 0 are ignored."""
    value = "coalesce(value, 0)" if leaf.missing == "zero" else "value"
    value = "value / weight" if leaf.figure.named == OF_PRODUCTS else value
    rows = leaf.parts.add(
        "rows",
        f"""select * exclude (value), case when weight > 0 and least >= 0 then {value} end as value,
  case when weight > 0 then weight / most end as "its weight"
from (
  select *, "gold value" as weight, min("gold value") over cell as least, max("gold value") over cell as most
  from {leaf.pairs()}
  window cell as (partition by {leaf.by})
)""",
    )
    reason = f"case when least < 0 then '{BELOW}' when most = 0 then '{NO_WEIGHT}' end"
    return leaf.mean(rows, reason)


# Sums and orders


@implements("sum", CellsFormula(f"coalesce({ordered('sum', 'value')}, 0)", "(value is not null)::integer", linear=True))
def total(leaf: LeafRows) -> FigureTables:
    """Return the tables of the sum of scores."""
    return _sum(leaf, leaf.single())


@implements("count", CellsFormula("count(value)::double", "0", linear=True, unmoved="a number of cells has no error"))
def count(leaf: LeafRows) -> FigureTables:
    """Return the tables of the number of values, or for comparisons of the number of verdicts on a model's replies."""
    comparisons = leaf.scored[0].kind == "compare"
    return _sum(leaf, _sides(leaf, _compared(leaf)) if comparisons else leaf.single(), '"has value"::integer')


def _sum(leaf: LeafRows, rows: str, value: str = "value") -> FigureTables:
    """Return the tables of the sum of the column `value`."""
    cells = leaf.parts.add(
        "cells",
        f"""select {leaf.by}, coalesce({ordered("sum", value)}, 0)::double as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, count(distinct cluster_id) as m, NULL::varchar as reason
from {rows}
group by {leaf.by}""",
    )
    influence = f"coalesce({ordered('sum', f'rows.{value}')}, 0) - any_value(cells.value / cells.m)"
    return leaf.tables(cells, leaf.units(rows, cells, influence, every=True))


@implements(
    "stdev",
    CellsFormula(
        ordered("stddev_samp", "value"),
        """case when value is null then 0
    else coalesce((value - "mean of cells") / nullif(("number of cells" - 1) * "spread of cells", 0), 0) end""",
        columns=(
            f'{ordered("avg", "value")} over cell as "mean of cells"',
            f'{ordered("stddev_samp", "value")} over cell as "spread of cells"',
        ),
        unmoved="the cells do not differ: nothing shows the error",
    ),
)
def stdev(leaf: LeafRows) -> FigureTables:
    """Return the tables of the sample standard deviation, with the denominator n − 1."""
    rows = leaf.single()
    cells = leaf.parts.add(
        "cells",
        f"""select {leaf.by},
  {ordered("stddev_samp", "value")} as value, {ordered("avg", "value")} as mean,
  {ordered("var_pop", "value")} as "variance of cell",
  false as "is share", count(*) filter ("has value") as n, count(*) as total,
  case when count(value) = 1 then 'one value has no deviation' end as reason
from {rows}
group by {leaf.by}""",
    )
    excess = ordered("sum", '(rows.value - cells.mean) ** 2 - cells."variance of cell"')
    influence = f"{excess} / any_value(nullif(2 * cells.value * (cells.n - 1), 0))"
    return leaf.tables(cells, leaf.units(rows, cells, influence))


@implements("min", CellsFormula("min(value)", "(value is not null and place = 1)::integer", end=("min", "least")))
def least(leaf: LeafRows) -> FigureTables:
    """Return the tables of the least score."""
    return _end(leaf, "min", "least")


@implements(
    "max",
    CellsFormula("max(value)", '(value is not null and place = "number of cells")::integer', end=("max", "greatest")),
)
def greatest(leaf: LeafRows) -> FigureTables:
    """Return the tables of the greatest score."""
    return _end(leaf, "max", "greatest")


def _end(leaf: LeafRows, function: str, end: str) -> FigureTables:
    """Return the tables of the least or the greatest value, by the SQL `function`."""
    rows = leaf.single()
    text = f"'a {end} value has no standard error'"
    cells = leaf.parts.add(
        "cells",
        f"""select {leaf.by}, {function}(value) as value, false as "is share",
  count(*) filter ("has value") as n, count(*) as total, case when count(value) > 0 then {text} end as reason
from {rows}
group by {leaf.by}""",
    )
    return leaf.tables(cells, leaf.units(rows, cells, "NULL::double"))


# Chances of passing in several tries


@implements("pass_at")
def pass_at(leaf: LeafRows) -> FigureTables:
    """Return the tables of pass@k, 1 − C(n − c, k) / C(n, k) (Chen et al. 2021), as a product that stays between 0 and
    1; if `tries` is `first`, of the greatest of the first k values."""
    k = leaf.figure.named["k"]
    chance = f"1 - coalesce(list_product([1 - {k} / i for i in range(n - c + 1, n + 1)]), 1)"
    return _passed(leaf, f"list_max(list_slice(tried, 1, {k}))" if _first_tries(leaf) else chance)


@implements("pass_all")
def pass_all(leaf: LeafRows) -> FigureTables:
    """Return the tables of pass^k, C(c, k) / C(n, k), as a product that stays between 0 and 1; if `tries` is `first`,
    of the least of the first k values."""
    k = leaf.figure.named["k"]
    chance = f"list_product([(c - j) / (n - j) for j in range(0, {k})])"
    return _passed(leaf, f"list_min(list_slice(tried, 1, {k}))" if _first_tries(leaf) else chance)


def _first_tries(leaf: LeafRows) -> bool:
    """Return true if only the first k samples count, instead of all subsets of k."""
    return leaf.setting("tries") == "first"


def _passed(leaf: LeafRows, chance: str) -> FigureTables:
    """Return the tables of the mean over items of a chance of passing with k of an item's samples.

    The SQL of `chance` reads `n`, the number of values of a group of samples, and `c`, the number of those that pass;
    or `tried`, the values in the order of the samples. The tries of a group are replies to the same question: replies
    under one combination of arms, after one conversation, graded by one rater. An item's chance is averaged over its
    groups.
    """
    k, first = leaf.figure.named["k"], _first_tries(leaf)
    scores = leaf.scored[0].kind != "column"
    group_columns = ["scenario", "metric", *(("evaluator", "scorer") if scores else ()), *arm_columns(leaf.plan)]
    separate = [name for name in group_columns if name not in leaf.cut.dims]
    conversation = [CONVERSATION] if conversations_before(leaf.scored[0]) else []
    group = ", ".join([leaf.by, "item_id", *map(named, separate), *conversation])
    counts_unread = leaf.worst_end is not None
    rows = leaf.single(*separate, *(["round"] if scores else []), *([UNREAD] if counts_unread else []))
    rows = with_conversation(leaf.plan, leaf.parts, rows, leaf.scored[0])
    rows = with_sample_numbers(leaf.plan, leaf.parts, rows) if first else rows
    tried = ", list(value order by sample_number) filter (value is not null) as tried" if first else ""
    grade = _latest_grade('"has value"')
    latest = f"\n  qualify row_number() over (partition by {group}, sample_id order by {grade} desc) = 1"
    reason = f"case when count(value) = 0 then 'no item has {k} samples with a value' end"
    value, passes, lacking, counts = ordered("avg", "value"), "value = 1", "", ""
    if leaf.cut.labels != "none":
        passes = "value > 0.5"  # if people disagree, a reply passes by majority
        lacking = ', max("is lacking") as "is lacking"'
        counts = f"""{lacking}, min("of") as "fewest replies", max("of") as "most replies",
  bool_and(n in (0, "of")) as "graded fully or not at all\""""
        uneven = 'min("fewest replies") < max("most replies") and not bool_and("graded fully or not at all")'
        uneven_reason = "'items have different numbers of replies, and people graded only some of those to one'"
        value = f"case when not ({uneven}) then {value} end"
        reason = f"""coalesce(max("is lacking"), case when {uneven} then {uneven_reason} end, {reason})"""
    # Values of an item with fewer than k samples are in no chance, so they are not counted. Unread replies are counted
    # on their own: they do not make the other values of an item count.
    counted = 'sum("values")' if leaf.missing == "fail" else f'coalesce(sum("values") filter (n >= {k}), 0)'
    unread = ""
    if counts_unread:
        unread = f', count(*) filter ("{UNREAD}") as unread'
        if leaf.missing != "fail":
            counted = f'coalesce(sum("values" - unread) filter (n - unread >= {k}), 0) + sum(unread)'
    chances = f"case when n >= {k} then {chance} end"
    # A row is a group of samples of an item.
    groups = f"""select {group}, any_value(cluster_id) as cluster_id, count(value) as n,
    count(value) filter ({passes}) as c,
    count(*) filter ("has value") as "values", count(*) as "of"{tried}{lacking}{unread}
  from (from {rows}{latest if scores else ""})
  group by {group}"""
    if leaf.setting("conversations") == "best" and conversation:
        # Of the groups after different conversations one has the best chance, and the others none.
        among = ", ".join([leaf.by, "item_id", *map(named, separate)])
        groups = f"""select *, case when row_number() over (partition by {among}) = 1 then
      max({chances}) over (partition by {among}) end as best
  from (
  {groups}
  )"""
        chances = "best"
    # A row is an item: the chance of passing with k of its samples, averaged over its groups of samples.
    items = leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, any_value(cluster_id) as cluster_id,
  {counted} as "values", sum("of") as "of",
  count(*) = 1 and bool_and(n = 1) as single, {ordered("avg", chances)} as value{counts}
from (
  {groups}
)
group by {leaf.by}, item_id""",
    )
    cells = leaf.parts.add(
        "cells",
        f"""select {leaf.by}, {value} as value, count(value) as m,
  bool_and(single) and count(value) = count(distinct cluster_id) filter (value is not null) as "is share",
  sum("values")::bigint as n, sum("of")::bigint as total, count(*) as "all items",
  {reason} as reason
from {items}
group by {leaf.by}""",
    )
    influence = f"{ordered('sum', 'rows.value - cells.value')} / any_value(m)"
    units = leaf.units(items, cells, influence, "count(rows.value) / any_value(m)")
    tables = leaf.tables(cells, units, weighted=True)
    with_counts = leaf.parts.add(
        "cells",
        f"""select c.*, i.m as "items that count", i."all items"
from {tables.cells} as c join {cells} as i on {same("c", "i", leaf.cut.dims)}""",
    )
    return replace(tables, cells=with_counts, has_counted_items=True)


# Classes


@implements("precision")
def precision(leaf: LeafRows) -> FigureTables:
    """Return the tables of precision."""
    return _class_ratio(leaf, "tp", "tp + fp")


@implements("recall")
def recall(leaf: LeafRows) -> FigureTables:
    """Return the tables of recall."""
    return _class_ratio(leaf, "tp", "tp + fn")


@implements("f1")
def f1(leaf: LeafRows) -> FigureTables:
    """Return the tables of F1."""
    return _class_ratio(leaf, "2 * tp", "2 * tp + fp + fn")


@implements("balanced_accuracy")
def balanced_accuracy(leaf: LeafRows) -> FigureTables:
    """Return the tables of the mean recall of the classes that occur among the expected values."""
    return _class_ratio(leaf, "tp", "tp + fn", average="macro", classes="gold")


def _class_ratio(
    leaf: LeafRows, over: str, under: str, average: str | None = None, classes: str | None = None
) -> FigureTables:
    """Return the tables of a ratio of sums of true positives, false positives and false negatives (`tp`, `fp`, `fn`).

    `over` and `under` are the SQL of numerator and denominator. `average`, by default the setting of that name, is
    `binary` (one class), `micro` (sums over classes), `macro` (mean of the ratios of classes) or `samples` (mean of the
    ratios of replies). `classes`, by default the setting of that name, are those of a macro average: `all` that occur,
    or those that occur in `gold`.
    """
    average, classes = average or leaf.setting("average"), classes or leaf.setting("classes")
    pairs = leaf.pairs()
    used = "gold is not null" if leaf.missing == "zero" else '"has value"'
    class_rows = leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, sample_id, "has value", {used} as used,
  {_classes("key", leaf.scored[0])} as predicted,
  {_classes("gold", leaf.scored[1])} as truth
from {pairs}""",
    )
    counted = leaf.parts.add(
        "cells",
        f"""select {leaf.by}, count(*) filter ("has value") as n, count(*) as total
from {class_rows}
group by {leaf.by}""",
    )
    if average == "samples":
        return leaf.mean(_set_ratios(leaf, class_rows, over, under))
    class_filter = f"\nwhere class = {quoted(_positive(leaf))}" if average == "binary" else ""
    group = ["class"] if average == "macro" else []
    # A row is a unit and, for macro averages, a class, with its parts of the numerator and the denominator.
    of_classes = leaf.parts.add(
        "rows",
        f"""select {leaf.by}, cluster_id{", class" if group else ""},
  sum({over}) as "over", sum({under}) as "under", sum(tp + fn) as "expected"
from (
  select *, (list_contains(predicted, class) and list_contains(truth, class))::integer as tp,
    (list_contains(predicted, class) and not list_contains(truth, class))::integer as fp,
    (not list_contains(predicted, class) and list_contains(truth, class))::integer as fn
  from (select *, unnest(list_distinct(predicted || truth)) as class from {class_rows} where used)
){class_filter}
group by {leaf.by}, cluster_id{", class" if group else ""}""",
    )
    ratios = leaf.parts.add(
        "cells",
        f"""select {leaf.by}{", class" if group else ""}, sum("over") as "over", sum("under") as "under",
  count(*) filter ("under" > 0) as "items of class"
from {of_classes}
group by {leaf.by}{", class" if group else ""}{' having sum("expected") > 0' if group and classes == "gold" else ""}""",
    )
    class_ratio = 'r."over" / nullif(r."under", 0)'
    # Without rows there is no class, and the mean over no classes is undefined, not 0.
    or_zero = f'case when r."under" is not null then coalesce({class_ratio}, 0) end' if group else class_ratio
    reason = "there is no class" if group else "there is nothing of the class"
    cells = leaf.parts.add(
        "cells",
        f"""select {columns(leaf.cut.dims, "c")}, {ordered("avg", or_zero)} as value,
  count(r."under") as "classes of cell",
  any_value(c.n) as n, any_value(c.total) as total, false as "is share",
  case when {ordered("avg", or_zero)} is null then '{reason}' end as reason, min(r."items of class") < {MIN_CLASS_ITEMS}
    or min(r."items of class" * {or_zero}) < {MIN_CLASS_ITEMS / 2} as few,
  list({{'share': {or_zero}, 'items': r."items of class"}}) filter (r."under" is not null) as classes
from {counted} as c left join {ratios} as r on {same("c", "r", leaf.cut.dims)}
group by {columns(leaf.cut.dims, "c")}""",
    )
    met = f"{same('rows', 'r', leaf.cut.dims)}{' and rows.class = r.class' if group else ''}"
    ratio = 'coalesce(r."over" / nullif(r."under", 0), 0)'
    influence = f'coalesce((rows."over" - {ratio} * rows."under") / nullif(r."under", 0), 0) / cells."classes of cell"'
    weight = "" if group else ', sum(rows."under") / nullif(any_value(r."under"), 0) as weight'
    units = leaf.parts.add(
        "units",
        f"""select {columns(leaf.cut.dims, "rows")}, rows.cluster_id,
  {ordered("sum", influence)} as influence{weight}
from {of_classes} as rows join {ratios} as r on {met}
  join {cells} as cells on {same("rows", "cells", leaf.cut.dims)}
group by {columns(leaf.cut.dims, "rows")}, rows.cluster_id
having sum(rows."under") > 0""",
    )
    tables = leaf.tables(cells, units, weighted=not group)
    return _few_items_mean(leaf, tables, cells) if average == "macro" else tables


def _few_items_mean(leaf: LeafRows, tables: FigureTables, class_cells: str) -> FigureTables:
    """Return the tables of a mean over classes, without a standard error in cells in which a class has too few items;
    there the column `classes` has the ratio and the number of items of each class, for another interval. `class_cells`
    is the name of the table of cells with the columns `few` and `classes`."""
    reason = f"'a class has fewer than {MIN_CLASS_ITEMS} items, or is right in fewer than {MIN_CLASS_ITEMS // 2}'"
    cells = leaf.parts.add(
        "cells",
        f"""select c.* replace (c.known and not r.few as known,
  coalesce(c.reason, case when r.few then {reason} end) as reason), case when r.few then r.classes end as classes
from {tables.cells} as c join {class_cells} as r on {same("c", "r", leaf.cut.dims)}""",
    )
    return replace(tables, cells=cells, classes=True)


def _set_ratios(leaf: LeafRows, class_rows: str, over: str, under: str) -> str:
    """Return the name of a table of one row per reply with the ratio for its sets of classes; 1 if both are empty."""
    return leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, sample_id, "has value", 1 as "its weight",
  case when used
    then case when len(predicted) + len(truth) = 0 then 1 else coalesce({over} / nullif({under}, 0), 0) end end as value
from (
  select *, len(list_intersect(predicted, truth)) as tp, len(predicted) - tp as fp, len(truth) - tp as fn
  from {class_rows}
)""",
    )


def _positive(leaf: LeafRows) -> str:
    """Return the positive class of a binary average, as columns store it."""
    positive = leaf.figure.named.get("positive", True)
    if isinstance(positive, str):
        return json.dumps(positive, ensure_ascii=False)
    return str(float(positive))


def _classes(key: str, scored: ScoredStep) -> str:
    """Return the SQL of the list of classes in a value: the elements of a set or a list, each once, or the value
    itself."""
    type_ = scored.type.of if scored.type.kind == "optional" else scored.type
    if type_.kind in ("set", "list"):
        of = "class::varchar::double::varchar" if type_.of.kind in ("integer", "number") else "class::varchar"
        return f"coalesce(list_distinct([{of} for class in from_json({key}, '[\"JSON\"]')]), [])"
    return f"case when {key} is null then []::varchar[] else [{key}] end"


# Comparisons

NO_ORDERS = "'nothing was judged in both orders'"


@implements("win_rate")
def win_rate(leaf: LeafRows) -> FigureTables:
    """Return the tables of the share of comparisons that a model wins."""
    if _by_margin(leaf):
        return leaf.mean(_sides(leaf, _compared(leaf, more=["choice"]), _margins(leaf)))
    if leaf.cut.labels != "none":
        labelled = labelled_comparisons(leaf.plan, leaf.parts, leaf.scored[0], leaf.cut)
        return leaf.mean(_labelled_sides(leaf, labelled), _label_reason(leaf))
    return leaf.mean(_sides(leaf, _compared(leaf)))


def _by_margin(leaf: LeafRows) -> bool:
    """Return true if verdicts have different weights, such as those of a clear and a narrow win."""
    return leaf.setting("weight") == "margin"


def _compared(leaf: LeafRows, dims: tuple[str, ...] | None = None, more: Sequence[str] = ()) -> str:
    """Return the name of the table of the comparisons, one row each."""
    cut = leaf.cut if dims is None else replace(leaf.cut, dims=dims)
    return leaf.parts.add("compared", compared_sql(leaf.plan, leaf.scored[0], cut, more))


def _margins(leaf: LeafRows) -> str:
    """Return the SQL of the weight of a comparison: the absolute value that the verdict of the judge stands for, 1 for
    a tie. It depends on the scenario, whose judge may give the same verdict another value."""
    cases = []
    for scenario in leaf.scored[0].scenarios:
        for step in scenario.steps:
            gives = leaf.plan.scorer(step.scorer).gives if isinstance(step, Compare) else None
            if not isinstance(gives, ChoiceType) or step not in leaf.scored[0].steps:
                continue
            verdict_cases = " ".join(
                f"when {quoted(name)} then {abs(worth) or 1.0!r}"
                for name, worth in zip(gives.values, gives.worth, strict=True)
            )
            cases.append(f"when {quoted(scenario.name)} then case choice {verdict_cases} else 1 end")
    return f"case scenario {' '.join(cases)} end"


PLACES = {"either": "true", "first": '"is first"', "second": 'not "is first"'}
"""The SQL condition of the places in which a model's reply counts."""


def _place(leaf: LeafRows) -> str:
    return PLACES[leaf.setting("place") or "either"]


def _sides(leaf: LeafRows, compared: str, weight: str = "1") -> str:
    """Return the name of a table of one row per comparison and model: 1 if the model won, 0.5 for a tie."""
    return leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, value is not null as "has value",
  case when "is first" then value else 1 - value end as value, {weight} as "its weight"
from (
  select *, unnest([first_model, second_model]) as model, unnest([true, false]) as "is first"
  from {compared}
)
where {_place(leaf)}""",
    )


def _labelled_sides(leaf: LeafRows, compared: str) -> str:
    """Return the table of `_sides` for labelled comparisons. A model has no value unless it has labelled comparisons
    with every model that it was compared with, since the value would be one against the other models only."""
    # A row is a labelled comparison from the side of one of its models.
    return leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, value is not null and "is lacking" is null as "has value",
  case when "is lacking" is null then case when "is first" then value else 1 - value end end as value,
  "its weight", "is lacking"
from (
  select *, max("is lacking here") over (partition by {leaf.by}) as "is lacking"
  from (
    select *, unnest([first_model, second_model]) as model, unnest([true, false]) as "is first"
    from {compared}
  )
  where {_place(leaf)}
)""",
    )


@implements("position_bias")
def position_bias(leaf: LeafRows) -> FigureTables:
    """Return the tables of the share of verdicts for the reply shown first minus the share of those for the reply shown
    second."""
    return leaf.mean(_orders(leaf, '"one way" + "other way" - 1'), without_value=NO_ORDERS)


@implements("flip_rate")
def flip_rate(leaf: LeafRows) -> FigureTables:
    """Return the tables of the share of comparisons whose verdict changes with the order."""
    return leaf.mean(_orders(leaf, '("one way" + "other way" in (0, 2))'), without_value=NO_ORDERS)


def _orders(leaf: LeafRows, value: str) -> str:
    """Return the name of a table of one row per judge, pair of replies and model, with a value of both orders.

    `value` is its SQL, from "one way" and "other way", the verdicts in the two orders: 1 if the reply shown first wins,
    0 if the one shown second does.
    """
    dims = "".join(f"{named(dim)}, " for dim in leaf.cut.dims)
    # A row is a judge and a pair of replies, once for each model, with the verdicts of both orders.
    return leaf.parts.add(
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
    from {_compared(leaf)}
    group by all
  )
)""",
    )


# Statistics of lists


def _of_lists(statistic: Statistic) -> Write:
    """Return the implementation of a statistic of lists, by the class of the statistic."""
    match statistic:
        case Agreement() | AgreementWithinItems():
            return partial(_agreement, statistic=statistic)
        case SetMetric():
            return partial(_set_metric, statistic=statistic)
        case ComparisonStatistic():
            return partial(_comparison_statistic, statistic=statistic)
        case ValueStatistic():
            return partial(_value_statistic, statistic=statistic)


def _value_statistic(leaf: LeafRows, statistic: ValueStatistic) -> FigureTables:
    """Return the tables of a statistic of the values of a cell."""
    settings = quoted(json.dumps(leaf.figure.named, sort_keys=True)) if leaf.figure.named else "''"
    results = leaf.called(leaf.figure.function, leaf.single(), "cluster_id", "sample_id", settings)
    tables = _drawn(leaf, results) if statistic.drawn else leaf.opened(results)
    if not statistic.limited:
        return tables
    cells = leaf.parts.add(
        "cells",
        f"""select c.*, f.found.limits as limits
from {tables.cells} as c join {results} as f on {same("c", "f", leaf.cut.dims)}""",
    )
    return replace(tables, cells=cells, limited=True)


def _set_metric(leaf: LeafRows, statistic: SetMetric) -> FigureTables:
    """Return the tables of a metric of actual and expected values. If missing values count as zero, a missing text is
    the empty text."""
    pairs = leaf.pairs()
    actual, expected = "key", "gold"
    if statistic.kind == "texts" and leaf.missing == "zero":
        actual = "coalesce(key, '\"\"')"
    elif statistic.kind == "numbers":
        actual, expected = "value::varchar", '"gold value"::varchar'
    rows = leaf.parts.add(
        "rows",
        f"""select {leaf.by}, item_id, cluster_id, sample_id, {actual} as key, {expected} as gold,
  NULL::double as value, "has value"
from {pairs}""",
    )
    settings = quoted(json.dumps(leaf.figure.named, sort_keys=True)) if leaf.figure.named else "'{}'"
    cells = leaf.called(leaf.figure.function, rows, "gold", "sample_id", settings, key="key")
    return _drawn(leaf, cells) if statistic.kind == "texts" else leaf.opened(cells)


def _agreement(leaf: LeafRows, statistic: Agreement | AgreementWithinItems) -> FigureTables:
    """Return the tables of a coefficient of the agreement of raters."""
    settings = quoted(leaf.setting("level"))
    if isinstance(statistic, Agreement) and statistic.of_categories:
        settings = categories_sql(leaf.plan, leaf.figure, leaf.scored, leaf.cut, names=statistic.of_classes)
    rows = _ratings(replace(leaf, cut=replace(leaf.cut, dims=without_pair(leaf.cut.dims))))
    if PAIR in leaf.cut.dims:
        rows = by_pair(leaf.parts, rows)
    of_all_models = is_of_all_models(leaf.figure)
    subject = REPLY_TO_ITEM if isinstance(statistic, AgreementWithinItems) else "subject"
    cells = leaf.called(
        leaf.figure.function,
        pool_models(leaf.parts, rows) if of_all_models else rows,
        subject,
        "rater",
        settings,
        key="key",
        paired=len(leaf.scored) == 2,
    )
    tables = leaf.opened(cells)
    return repeat_by_model(leaf.parts, tables, rows) if of_all_models else tables


def _ratings(leaf: LeafRows) -> str:
    """Return the name of a table of one row per rating, with its rater and subject. For two scored steps, the raters
    are the actual and the expected values."""
    element_columns = [ELEMENT_PLACE] if leaf.scored[0].scores_elements else []
    element = "".join(f", {name}" for name in element_columns)
    if len(leaf.scored) == 2:
        pairs = leaf.pairs()
        return leaf.parts.add(
            "rows",
            f"""select {leaf.by}, item_id, cluster_id, item_id as "of item",
  concat_ws(' ', sample_id, nullif("of rater", ''){element}) as subject,
  unnest(['values', 'gold']) as rater,
  unnest([key, gold]) as key, unnest([value, "gold value"]) as value, "has value"
from {pairs}""",
        )
    scored = leaf.scored[0]
    subject_columns = [
        name for name in ("scenario", "sample_id", "scorer", "metric", "evaluator") if name not in leaf.cut.dims
    ]
    rating_columns = ", ".join([leaf.by, *subject_columns, *element_columns])
    grade = _latest_grade("value is not null or given is not null")
    # A row is a rating: the latest grade of a subject by a rater.
    return leaf.parts.add(
        "rows",
        f"""select {leaf.by}, latest.item_id, latest.cluster_id,
  concat_ws(' ', scenario, sample_id, scorer, metric{element}) as subject,
  concat_ws(' ', scenario, latest.item_id, scorer, metric) as "of item",
  evaluator as rater, latest.value, latest.given, coalesce(latest.given, latest.value::varchar) as key,
  key is not null as "has value"
from (
  select {rating_columns},
    arg_max({{'item_id': item_id, 'cluster_id': cluster_id, 'value': value, 'given': given}}, {grade}) as latest
  from (
{indented(indented(leaf.ratings(scored, *element_columns)))}
  )
  group by {rating_columns}
)""",
    )


def _latest_grade(is_grade: str) -> str:
    """Return the SQL of a number that is greatest for the latest round with a grade. Rows without a grade have the
    least number, −1."""
    return f"case when {is_grade} then coalesce(round, 0) else -1 end"


Category = str | float | tuple[int, int]
"""A name, a number, or a range of integers by its first and last."""


def categories_sql(
    plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], cut: RowSelection, *, names: bool
) -> str:
    """Return the SQL of the declared categories of a cell, as the JSON that `tripos_statistic` reads.

    Gwet's coefficients need them: the levels of a rubric, the names of a choice, or true and false. With cells by
    metric, they are those of the cell's metric. A score without a scale has none, so that the observed categories are
    used. `names` gives the names of a choice instead of their numbers.
    """
    fixed_metric = dict(cut.fixed).get("metric")
    metrics = [metric for metric in _metrics(plan, scored) if fixed_metric in (None, metric.name)]
    if "metric" not in cut.dims or len({metric.ends for metric in metrics}) < 2:
        return quoted(_json(_declared(plan, figure, scored, metrics, names)))
    cases = " ".join(
        f"when {quoted(metric.name)} then {quoted(_json(_declared(plan, figure, scored, [metric], names)))}"
        for metric in metrics
    )
    return f"case metric {cases} else '[]' end"


def _metrics(plan: Plan, scored: Sequence[ScoredStep]) -> list[Metric]:
    """Return the metrics that judges score, each once, in the order of the plan."""
    names: dict[str, None] = {}
    for scored_step in scored:
        for step in scored_step.steps:
            if isinstance(step, Grade):
                names.update(dict.fromkeys([scored_step.name] if scored_step.kind == "metric" else step.metrics))
    return [metric for metric in plan.metrics if metric.name in names]


def _declared(
    plan: Plan, figure: Aggregate, scored: Sequence[ScoredStep], metrics: Sequence[Metric], names: bool
) -> list[Category]:
    """Return the distinct declared categories of scored steps."""
    if figure.true_of:
        return [(0, 1)]
    categories: dict[Category, None] = {(metric.low, metric.high): None for metric in metrics}
    ranges = ranges_of(plan)
    for scored_step in scored:
        for scenario in scored_step.scenarios:
            for step in scenario.steps:
                if step in scored_step.steps and not (isinstance(step, Grade) and step.metrics):
                    categories.update(dict.fromkeys(_of_type(ranges.declared(scenario, step), figure, names)))
    return list(categories)


def _of_type(type_: Type, figure: Aggregate, names: bool) -> Iterator[Category]:
    """Yield the categories of a type of scores; none for a type without a fixed number of values."""
    inner = type_.of if type_.kind == "optional" else type_
    match inner.kind:
        case "bool":
            yield 0, 1
        case "choice":
            worth: Sequence[Category] = inner.values if names or not inner.worth else inner.worth
            for name, value in zip(inner.values, worth, strict=True):
                if not figure.among or name in figure.among:
                    yield value
        case "integer" if inner.low is not None and inner.high is not None:
            yield inner.low, inner.high


def _json(categories: Sequence[Category]) -> str:
    return json.dumps(categories, ensure_ascii=False)


LIST_COLUMNS = {
    "item": "cluster_id",
    "subject": "first_model",
    "rater": "second_model",
    "key": "evaluator",
    "value": "value",
}
"""The columns of a comparison that a statistic of lists receives. A comparison is passed in the fields of a rating: the
first model as the subject, the second as the rater."""
ITEM_OF_CLUSTER = "cluster_id || chr(31) || item_id"
"""The SQL of an item with its cluster as a prefix, by which the statistic separates them."""


def _comparison_statistic(leaf: LeafRows, statistic: ComparisonStatistic) -> FigureTables:
    """Return the tables of a statistic of all comparisons of a cell.

    A statistic of replies (self-preference) compares a judge with the other judges, so it reads the comparisons of all
    judges even if cells are by judge.
    """
    function, by_judge = leaf.figure.function, statistic.of_replies and "evaluator" in leaf.cut.dims
    dims = tuple(dim for dim in leaf.cut.dims if not (by_judge and dim == "evaluator"))
    labelled, splits_ties = leaf.cut.labels != "none", leaf.setting("ties") == "half"
    weight, label_reason = "", ""
    if labelled:
        compared = labelled_comparisons(leaf.plan, leaf.parts, leaf.scored[0], leaf.cut)
        weight, label_reason = '"its weight"', ', max("is lacking here") as "is lacking"'
    elif _by_margin(leaf):
        compared, weight = _compared(leaf, dims, ["choice"]), _margins(leaf)
    else:
        compared = _compared(leaf, dims)
    list_columns, counted_rows = LIST_COLUMNS, compared
    if statistic.of_replies:  # it needs the item as well as its cluster
        list_columns = {**LIST_COLUMNS, "item": ITEM_OF_CLUSTER}
    if splits_ties:
        compared, weight = _halves(leaf, compared, weight or "1"), '"its share"'
    if weight:
        list_columns, function = {**LIST_COLUMNS, "key": f"({weight})::varchar"}, f"{WEIGHTED}{function}"
    cell = "".join(f"{named(dim)}, " for dim in dims)
    lists = leaf.parts.add(
        "every",
        f"""select {cell}list("one verdict" order by "one verdict") as "all verdicts"{label_reason}
from (
  select {cell}{_packed(list_columns)} as "one verdict"{', "is lacking here"' if labelled else ""}
  from {compared}
)
group by all""",
    )
    judges = ", evaluator" if by_judge else ""
    counted = leaf.parts.add(
        "counted",
        f"""select {leaf.by}, count(value) as n, count(*) as total
from (
  select {cell}value, unnest([first_model, second_model]) as model{judges}
  from {counted_rows}
)
group by {leaf.by}""",
    )
    argument = f"concat_ws(chr(31), c.model, {'c.evaluator' if by_judge else 'NULL'})"
    same_cell = " and ".join([f"c.{named(dim)} is not distinct from e.{named(dim)}" for dim in dims] or ["true"])
    call = f'tripos_statistic({quoted(function)}, {argument}, e."all verdicts")'
    if labelled:
        call = f"""case when e."is lacking" is null then {call}
    else {{'value': NULL, 'reason': e."is lacking", 'items': [], 'influences': [], 'draws': NULL, 'limits': NULL}}
    end"""
    results = leaf.parts.add(
        "cells",
        f"""select {columns(leaf.cut.dims, "c")}, c.n, c.total,
  {call} as found
from {counted} as c join {lists} as e on {same_cell}""",
    )
    return leaf.opened(results)


def _halves(leaf: LeafRows, compared: str, weight: str) -> str:
    """Return the name of the table of the comparisons in which each tie is split into two halves, one won by each
    model."""
    return leaf.parts.add(
        "halves",
        f"""select * exclude (value), case when value = 0.5 then "half won" else value end as value,
  ({weight}) * case when value = 0.5 then 0.5 else 1 end as "its share"
from (
  select *, unnest(case when value = 0.5 then [1.0, 0.0] else [1.0] end) as "half won"
  from {compared}
)""",
    )


def _packed(names: Mapping[str, str]) -> str:
    """Return the SQL of a struct of columns, by the names of its fields."""
    return "{" + ", ".join(f"'{name}': {column}" for name, column in names.items()) + "}"


# Functions of the user


def _of_user(leaf: LeafRows, plugin: Plugin) -> FigureTables:
    """Return the tables of a user's function, which receives a list of values for each scored step: those of the
    replies for which every step has a value."""
    first, *steps = leaf.scored
    kinds = [type_.of.kind for type_ in plugin.parameters.values() if type_.kind == "list"]
    values = [_typed("one", kinds[0])]
    joins = ""
    for place, (other, kind) in enumerate(zip(steps, kinds[1:], strict=True), 2):
        values.append(f"value{place}.value")
        joins += " " + leaf.join_of(other, f"value{place}", f"any_value({_typed('', kind)}) as value")
    rows = leaf.parts.add(
        "rows",
        f"""select {columns(leaf.cut.dims, "one")}, one.item_id, one.cluster_id, one.sample_id,
  NULL::double as value,
  '[' || {" || ', ' || ".join(values)} || ']' as key, key is not null as "has value"
from (
{indented(leaf.rows(first))}
) as one{joins}""",
    )
    identity = {"function": plugin.function, "name": plugin.name, "path": plugin.path, "version": plugin.version}
    settings = quoted(json.dumps({**identity, "parameters": list(plugin.parameters), "kinds": kinds}, sort_keys=True))
    function = PYTHON_VALUE if leaf.values_only else PYTHON
    return _drawn(leaf, leaf.called(function, rows, "sample_id", "sample_id", settings, key="key"))


def _typed(of: str, kind: str) -> str:
    """Return the SQL of a value as JSON: the JSON text that is stored for a text or a name, or a number. `of` is the
    alias of its table."""
    prefix = f"{of}." if of else ""
    return f"{prefix}given" if kind in ("text", "choice") else f"{prefix}value::varchar"


def _drawn(leaf: LeafRows, results: str) -> FigureTables:
    """Return the tables of a figure from the result of a statistic of lists that includes bootstrap draws."""
    drawn = leaf.parts.add("drawn", f"select {leaf.by}, found.draws as draws\nfrom {results}")
    return replace(leaf.opened(results), drawn=drawn)


for _name, _statistic in STATISTICS.items():
    _of_cells = _statistic.of_cells if isinstance(_statistic, ValueStatistic) else None
    IMPLEMENTATIONS[_name] = Implementation(_of_lists(_statistic), _of_cells)
