"""The SQL of the rows that aggregates read, and of the tables that aggregates share: cells, units, influences and plain
means.

Labels by people correct a judge. A label is the mean of people's grades of a reply on a metric. A stratum is a model,
scenario, scorer and metric. A label counts if its reply was drawn at random from at least as many replies as the judge
graded in the stratum, in a run with all their items, or if people graded all of them. The labels of a stratum are
weighted up to the number of replies that the judge graded in it, so that drawing more replies of a scenario does not
increase its weight. If a stratum has no label that counts, its cell has no value, since the value would be that of the
other strata.

A mean is computed from the sums of each unit in each cell (`item_sums`, `clustered_mean`). For plain means over the
view `scores` by axes and arms, the most common figures, these may be sums that a store has precomputed. If metrics have
weights w, a mean over metrics is sum(w * score) / sum(w). A mean by metric has no weights.

Every sum in this package adds its numbers in ascending order. Otherwise its last bits, and so the figure, would depend
on the order in which rows are stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tripos_compiler.language.aggregates import AggregateFunction, declared_aggregate
from tripos_compiler.language.scored_values import ScoredStep, conversations_before, judged_steps
from tripos_compiler.plan import Aggregate, Missing, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.influences import Leaf, by_unit, leaf_scale, leaf_tables, precision
from tripos_warehouse.measures.query import (
    CONVERSATION,
    ELEMENT_PLACE,
    UNREAD,
    End,
    FigureTables,
    Labels,
    Parts,
    Query,
    RowSelection,
    Weights,
    columns,
    compared_sql,
    condition,
    given_column,
    given_value,
    goes_by_elements,
    indented,
    is_unread,
    ordered,
    rows_sql,
    same,
    weight_sql,
    weights_of,
    with_conversation,
    worst_value,
)
from tripos_warehouse.sql import name as named, text as quoted
from tripos_warehouse.views.benchmark_views import Graders
from tripos_warehouse.views.dimensions import arm_columns

LABELS: tuple[Labels, ...] = ("none", "judges", "people")
"""The scores behind the three estimates of a corrected figure: those of judges on all replies, those of judges on the
labelled replies, and the labels by people."""


@dataclass(frozen=True)
class Gradable:
    """A kind of unit that both judges and people can grade.

    Its rows are in `view`, or `source` is the start of a query of them. `stratum` are the columns within which units
    are drawn with equal probability, `unit_columns` those that identify a unit within a stratum. `label` is the SQL of
    the label of a unit. `drawn` is the SQL of the sampling unit, if it contains several units."""

    view: str
    stratum: str
    unit_columns: str
    label: str
    drawn: str = ""
    source: str = ""

    @property
    def unit(self) -> str:
        """The columns that identify a unit."""
        return f"{self.stratum}, {self.unit_columns}"


REPLIES = Gradable(
    "scores", "model, scenario, scorer, metric", "sample_id, fingerprint", ordered("avg", "value"), "sample_id"
)
"""A reply with a step that grades it: arms may share a reply but have different grading steps."""
ELEMENTS = replace(
    REPLIES, unit_columns=f"{REPLIES.unit_columns}, element_place", drawn="concat_ws(' ', sample_id, element_place)"
)
"""An element of a list in a reply; elements are drawn and labelled separately."""
BOTH_ORDERS = """least(first_model, second_model) as "one model", greatest(first_model, second_model) as "other model",
    least(first_sample_id, second_sample_id) as "one sample",
    greatest(first_sample_id, second_sample_id) as "other sample\""""
TWO_REPLIES = Gradable(
    "comparisons",
    'scenario, step, "one model", "other model"',
    '"one sample", "other sample"',
    "list({'evaluator': evaluator, 'first': first_model, 'second': second_model, 'value': value} order by evaluator)",
    source=f"select *, {BOTH_ORDERS}",
)
"""A pair of replies to an item, in either order. The label is the list of people's verdicts."""


def labelled_rows(
    plan: Plan,
    parts: Parts,
    scored: ScoredStep,
    cut: RowSelection,
    rows: str,
    weight: str,
    arms: Sequence[str],
    further_columns: Sequence[str] = (),
) -> str:
    """Return the name of the table of the values of labelled units, with their weights: scores of judges or labels,
    by the selection.

    `rows` is the SQL of the judges' scores, `arms` the columns that separate scores of one reply, and `further_columns`
    the columns of `rows` to keep; for labels, the evaluator is `people` and the round is NULL. A score without a label
    that counts has no value. In a cell with a stratum without such labels no score has a value, and `is lacking` has
    the reason. Column names with a space cannot collide with axes.
    """
    gradable, element_columns = (ELEMENTS, [ELEMENT_PLACE]) if scored.scores_elements else (REPLIES, [])
    labels = _labels(plan, parts, scored, gradable)
    cell = columns(cut.dims)
    part = f"{cell}, scenario, scorer, metric"
    by_people = cut.labels == "people"
    keys = ", ".join(dict.fromkeys([*part.split(", "), "sample_id", *element_columns, *map(named, arms)]))
    first_row = f"\n  qualify row_number() over (partition by {keys} order by evaluator) = 1" if by_people else ""
    place = "' in `' || scenario || '` on `' || metric || '`'"
    constants = {"evaluator": "'people' as evaluator", "round": "NULL::bigint as round"} if by_people else {}
    further = "".join(f", {constants.get(name, named(name))}" for name in further_columns)
    # A row is a judge's score of a labelled reply, or for labels one row per label; the window `part` is a stratum of a
    # cell.
    return parts.add(
        "rows",
        f"""select {cell}, item_id, cluster_id, sample_id{further}, "it counts" and "is lacking" is null as "has value",
  case when "it counts" and "is lacking" is null then {'"label by people"' if by_people else "value"} end as value,
  "label weight" * {weight} as "its weight", "is lacking"
from (
  select *, max({_why_lacking(place)}) over (partition by {cell}) as "is lacking"
  from (
    select *, count("label by people") over part as "labels here",
      count(*) filter ("it counts") over part as "counted here"
    from (
{indented(indented(indented(rows)))}
    ) join {labels} using ({gradable.unit})
    where value is not null
    window part as (partition by {part})
  ){first_row}
)""",
    )


def labelled_comparisons(plan: Plan, parts: Parts, scored: ScoredStep, cut: RowSelection) -> str:
    """Return the name of the table of the comparisons of labelled pairs of replies: by judges, in both orders, or by
    people, by the selection.

    `its weight` is the weight of a comparison; the comparisons of a pair by several people share the weight of one.
    `is lacking here` has the reason if the stratum of the comparison, two models in a step, has no label that counts.
    A comparison without a label that counts has no value.
    """
    labels = _labels(plan, parts, scored, TWO_REPLIES)
    cell = "".join(f"{named(dim)}, " for dim in cut.dims)
    place = (
        "' in `' || scenario || '` on `' || step || '` of `' || \"one model\" || '` and `' || \"other model\" || '`'"
    )
    # A row is a judge's verdict on a pair of replies, with the label of the pair and the number of labels in its
    # stratum.
    marked = f"""select *, {_why_lacking(place)} as "is lacking here"
  from (
    select *, count("label by people") over part as "labels here",
      count(*) filter ("it counts") over part as "counted here"
    from (
      {TWO_REPLIES.source}
      from (
{indented(indented(indented(indented(compared_sql(plan, scored, cut, ["step"])))))}
      )
    ) join {labels} using ({TWO_REPLIES.unit})
    where value is not null
    window part as (partition by {cell}{TWO_REPLIES.stratum})
  )"""
    text = f"{cell}item_id, cluster_id, first_sample_id, second_sample_id"
    if cut.labels == "judges":
        return parts.add(
            "compared",
            f"""select {text}, evaluator, first_model, second_model, case when "it counts" then value end as value,
  "label weight" as "its weight", "is lacking here"
from (
  {marked}
)""",
        )
    # A row is a person's verdict on a pair of replies; a pair without a label that counts has one row without a value.
    return parts.add(
        "compared",
        f"""select {text}, verdict.evaluator as evaluator, coalesce(verdict.first, first_model) as first_model,
  coalesce(verdict.second, second_model) as second_model, verdict.value as value,
  "label weight" / greatest(coalesce(len("label by people"), 1), 1) as "its weight", "is lacking here"
from (
  select *, unnest(case when "it counts" then "label by people" else [NULL] end) as verdict
  from (
    {marked}
    qualify row_number() over (partition by {cell}{TWO_REPLIES.unit} order by evaluator, first_model) = 1
  )
)""",
    )


def _why_lacking(place: str) -> str:
    """Return the SQL of the reason why a stratum has no label that counts, or NULL if it has one; `place` is the SQL of
    the text that names the stratum."""
    return f"""case when "labels here" = 0 then 'people graded nothing' || {place}
    when "counted here" = 0
      then 'the replies that people graded' || {place} || ' were not drawn at random from all' end"""


def _labels(plan: Plan, parts: Parts, scored: ScoredStep, gradable: Gradable = REPLIES) -> str:
    """Return the name of the table of the units that judges graded, each with its label, whether the label counts, and
    the weight of labels in its stratum."""
    schema = named(plan.benchmark.name)
    judges, people = (condition(plan, scored, RowSelection(graders=graders)) for graders in ("counted", "people"))
    view = f"({gradable.source} from {schema}.{gradable.view})" if gradable.source else f"{schema}.{gradable.view}"
    read = "* exclude (run_id)" if gradable.source else f"{gradable.unit}, judgement_id, value"
    # A row is a unit that people graded: its label, the size of the population that it was drawn from, and its run.
    graded = parts.add(
        "graded",
        f"""select {gradable.unit}, {gradable.label} as "label by people", coalesce(max(drawn_of), 0) as "drawn of",
  max_by(run_id, coalesce(drawn_of, 0)) as "drawn from"
from (select {read} from {view} where {people} and value is not null)
  left join (select judgement_id, drawn_of, run_id from {schema}.judgements) using (judgement_id)
group by {gradable.unit}""",
    )
    judged = f"from {view} where {judges} and value is not null"
    # A row is a stratum and a run that drew replies to label: whether the run has all items that judges graded there.
    frames = parts.add(
        "frames",
        f"""select {gradable.stratum}, "drawn from", bool_and("is there") as "has all"
from (
  select every.*, listed.item_id is not null as "is there"
  from (
    select {gradable.stratum}, item_id, "drawn from"
    from (select distinct {gradable.stratum}, item_id {judged})
      cross join (select distinct "drawn from" from {graded} where "drawn of" > 0)
  ) as every left join main.run_items as listed
    on listed.run_id = "drawn from" and listed.scenario = every.scenario::varchar and listed.item_id = every.item_id
)
group by all""",
    )
    # A row is a unit that judges graded: its label, if any, whether it counts, and the weight of labels in its stratum.
    return parts.add(
        "labels",
        f"""select *, "all graded" / nullif(count(*) filter ("it counts") over stratum, 0) as "label weight"
from (
  select *, "label by people" is not null
    and (("drawn of" >= "all drawn" and coalesce("has all", false)) or "all labels" = "all graded") as "it counts"
  from (
    select *, count(*) over stratum as "all graded", count("label by people") over stratum as "all labels",
      count({f"distinct {gradable.drawn}" if gradable.drawn else "*"}) over stratum as "all drawn"
    from (select distinct {gradable.unit} {judged}) left join {graded} using ({gradable.unit})
      left join {frames} using ({gradable.stratum}, "drawn from")
    window stratum as (partition by {gradable.stratum})
  )
)
window stratum as (partition by {gradable.stratum})""",
    )


def corrected_query(parts: Parts, on_all: FigureTables, on_graded: FigureTables, people: FigureTables) -> Query:
    """Return the query of a figure that people correct: one row per cell of the judges' figure.

    Its columns are `model`, the dimensions, the three estimates `of judge` (judges on all replies), `on graded` (judges
    on the labelled replies) and `of people`, the `reason` if one of them is missing, `n` (the number of labels),
    `total` (the number of scores by judges), `df`, `are known` (whether all three have a standard error), `effective
    items` of the labels, and `all influences`: a list of the items with their influences on the three estimates.
    """
    dims = on_all.dims
    figures = (on_all, on_graded, people)
    stacked = "\nunion all\n".join(
        f"select {columns(dims)}, cluster_id, {_padded(name)}\nfrom {by_unit(parts, node)}"
        for name, node in zip(_INFLUENCE_COLUMNS, figures, strict=True)
    )
    error = precision(parts, people)
    totals = ", ".join(f"{ordered('sum', name)} as {name}" for name in _INFLUENCE_COLUMNS)
    influences = parts.add(
        "influences",
        f"""select {columns(dims)}, cluster_id, {totals}
from (
{indented(stacked)}
)
group by {columns(dims)}, cluster_id""",
    )
    struct = ", ".join(f"'{name}': {name}" for name in ("cluster_id", *_INFLUENCE_COLUMNS))
    lists = parts.add(
        "lists",
        f"""select {columns(dims)}, list({{{struct}}} order by cluster_id) as "all influences"
from {influences}
group by {columns(dims)}""",
    )
    # A row is a cell of the judges' figure on all replies, joined with the other two figures in this cell.
    return parts.query(
        f"""select {columns(dims, "c")}, c.value as "of judge", g.value as "on graded", p.value as "of people",
  coalesce(c.reason, p.reason, g.reason) as reason, coalesce(p.n, 0) as n, c.total, coalesce(e.df, 0) as df,
  c.known and g.known and p.known as "are known", e.units as "effective items",
  l."all influences"
from {on_all.cells} as c left join {on_graded.cells} as g on {same("c", "g", dims)}
  left join {people.cells} as p on {same("c", "p", dims)}
  left join {error} as e on {same("c", "e", dims)}
  left join {lists} as l on {same("c", "l", dims)}
order by all
"""
    )


def _padded(name: str) -> str:
    """Return the three influence columns for a table with one of them; the other two are NULL."""
    return ", ".join(f"{'influence' if column == name else 'NULL'} as {column}" for column in _INFLUENCE_COLUMNS)


_INFLUENCE_COLUMNS = ("of_judge", "of_graded", "of_people")


Sums = Callable[[Collection[str]], str | None]
"""A function that returns the name of a stored table of score sums with these dimensions, or None if there is none."""


def no_sums(dims: Collection[str]) -> str | None:
    """Return None: no table of sums is stored."""
    return None


def is_plain_mean(figure: Aggregate, scored: ScoredStep, cut: RowSelection, missing: Missing) -> bool:
    """Return true if a mean needs only columns of the view `scores` to select its scores."""
    if figure.of_condition or missing == "paired" or not scored.stored:
        return False
    names = (*cut.dims, *(name for name, _ in cut.fixed))
    of_items = any("." in name or goes_by_elements(scored, name) for name in names)
    return not of_items and cut.labels == "none" and not dict(cut.unread).get(figure.values[0])


def scores_of_mean(benchmark: str, chosen: str, dims: tuple[str, ...], weights: Weights, missing: Missing) -> str:
    """Return the SQL of the scores of a plain mean, as `item_sums` reads them. `chosen` is the SQL of the condition
    that selects them."""
    weighed = (
        f""",
    {weight_sql(weights)} as "its weight\""""
        if weights
        else ""
    )
    return f"""(
  select {columns(dims)}, cluster_id, value is not null as "has value", {given_value(missing)} as value{weighed}
  from {named(benchmark)}.scores
  where {chosen} and status <> 'not_applicable'
)"""


def item_sums(
    parts: Parts, dims: tuple[str, ...], rows: str, *, weighted: bool = True, reason: str = "NULL::varchar"
) -> str:
    """Return the name of the table of the sums of each unit in each cell: the only input of a mean.

    `rows` has the columns `value`, `has value`, and, if `weighted`, `its weight`. `reason` is the SQL of the reason why
    a cell has no value, which must be equal in all rows of the cell.
    """
    with_value = "filter (value is not null)"
    weight = f"""{ordered("sum", "value")} as "its total", count(value) as "its weight",
  1 as "least weight", 1 as "most weight\""""
    if weighted:
        weight = f"""{ordered("sum", '"its weight" * value')} as "its total",
  {ordered("sum", '"its weight"')} {with_value} as "its weight",
  min("its weight") {with_value} as "least weight", max("its weight") {with_value} as "most weight\""""
    # A row is a unit in a cell: sums over its scores.
    return parts.add(
        "rows",
        f"""select {columns(dims)}, cluster_id, {weight},
  count(value) as "that count", count(*) filter ("has value") as "its n", count(*) as "its rows",
  coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1", any_value({reason}) as reason
from {rows}
group by {columns(dims)}, cluster_id""",
    )


def stored_item_sums(parts: Parts, dims: tuple[str, ...], sums: str, chosen: str) -> str:
    """Return the name of the table of `item_sums`, from the stored sums of the scores that meet the condition
    `chosen`."""
    return parts.add(
        "rows",
        f"""select {columns(dims)}, cluster_id, {ordered("sum", '"its total"')} as "its total",
  sum("its n") as "its weight", sum("its n") as "that count", sum("its n") as "its n", sum("its rows") as "its rows",
  1 as "least weight", 1 as "most weight", bool_and("all are 0 or 1") as "all are 0 or 1", NULL::varchar as reason
from {sums}
where {chosen} and status <> 'not_applicable' and "is score"
group by {columns(dims)}, cluster_id""",
    )


def clustered_mean(
    parts: Parts, dims: tuple[str, ...], sums: str, without_value: str = "NULL::varchar"
) -> tuple[str, str]:
    """Return the names of the tables of the cells of a mean, and of its units, from the sums of the units.

    Units have unscaled influences and weights, from which `leaf_tables` computes the cluster-robust standard error
    (Liang and Zeger 1986). `without_value` is the SQL of the reason in a cell without values.

    With the total t and the weight w of a unit, the mean is Σ t / Σ w, and the influence of the unit (t − mean · w) /
    Σ w.
    """
    total, weight = ordered("sum", '"its total"'), ordered("sum", '"its weight"')
    cells = parts.add(
        "cells",
        f"""select {columns(dims)}, {total} / nullif({weight}, 0) as value,
  {weight} as "weight of cell", sum("its n")::bigint as n, sum("its rows")::bigint as total,
  coalesce(sum("that count") = count(*) filter ("that count" > 0) and bool_and("all are 0 or 1")
    and min("least weight") = max("most weight"), false) as "is share",
  coalesce(any_value(reason), case when sum("that count") = 0 then {without_value} end) as reason
from {sums}
group by {columns(dims)}""",
    )
    units = parts.add(
        "units",
        f"""select {columns(dims, "rows")}, cluster_id,
  ("its total" - value * "its weight") / "weight of cell" as influence, "its weight" / "weight of cell" as weight
from {sums} as rows join {cells} as cells on {same("rows", "cells", dims)}
where "that count" > 0""",
    )
    return cells, units


def arms_of(scored: ScoredStep) -> dict[str, int]:
    """Return, by scenario, the number of combinations of arms that include the scored step."""
    own = {step.fingerprint for step in scored.steps}
    return {
        scenario.name: sum(
            any(step.fingerprint in own for step in treatment.steps) for treatment in scenario.treatments
        )
        for scenario in scored.scenarios
    }


def keys_of(scored: ScoredStep) -> list[str]:
    """Return the columns that, with the model, identify what must be complete for `paired` values: an item, and for
    scores by judges also the metric and the judge."""
    return ["scenario", "item_id", *(("metric", "evaluator") if scored.judges else ())]


def paired_rows(plan: Plan, parts: Parts, rows: str, scored: ScoredStep, least: int, graders: Graders) -> str:
    """Return the name of a table of `rows` in which an item has no value if it lacks one under some combination of
    arms.

    `rows` must have the columns `keys_of`. `least` is the number of replies that need a value under each combination.
    """
    judged = ["evaluator"] if scored.judges else []
    all_rows = parts.add(
        "rows", rows_sql(plan, scored, RowSelection(graders=graders), [*judged, *map(named, arm_columns(plan))])
    )
    conversation = [CONVERSATION] if conversations_before(scored) else []
    all_rows = with_conversation(plan, parts, all_rows, scored)
    item = ", ".join(["model", *keys_of(scored)])
    # Arms that a scenario does not have are NULL in all its rows, so they do not split its groups.
    arms = ", ".join([item, *map(named, arm_columns(plan))])
    wanted = " ".join(f"when {quoted(name)} then {count}" for name, count in arms_of(scored).items())
    # A row is an item that has a value under every combination of arms of its scenario.
    complete = parts.add(
        "complete",
        f"""select {item}
from (
  select distinct {arms}
  from (
    select {arms}
    from {all_rows}
    where value is not null or given is not null
    group by {", ".join([arms, *conversation])}
    having count(distinct sample_id) >= {least}
  )
)
group by {item}
having count(*) = case scenario {wanted} end""",
    )
    return parts.add(
        "rows",
        f"""select * replace (
  "has value" and complete.item_id is not null as "has value",
  case when complete.item_id is not null then value end as value
)
from {rows} left join {complete} as complete using ({item})""",
    )


RATED = ("scorer", "round")
"""The columns that, with the rater, identify a score of a reply."""


@dataclass(frozen=True)
class LeafRows:
    """The input of an aggregate of scored steps: the SQL of its rows, and of the tables that aggregates share."""

    plan: Plan
    parts: Parts
    figure: Aggregate
    scored: tuple[ScoredStep, ...]
    cut: RowSelection
    missing: Missing
    sums: Sums = no_sums
    """The look-up of stored score sums, for plain means."""
    values_only: bool = False
    """True if a user's function computes only the value, without draws for an interval."""

    @property
    def declaration(self) -> AggregateFunction:
        """The facts about the aggregate."""
        return declared_aggregate(self.figure.function)

    def setting(self, name: str) -> str:
        """Return the value of a parameter of the aggregate, or its default, as text."""
        default = next((parameter.default for parameter in self.declaration.parameters if parameter.name == name), None)
        return str(self.figure.named.get(name, default or ""))

    @property
    def by(self) -> str:
        """The SQL of the dimensions of its cells."""
        return columns(self.cut.dims)

    def rows(self, scored: ScoredStep, *further: str) -> str:
        """Return the SQL of the rows of a scored step, with further columns."""
        if scored.kind == "column":
            more = [] if "evaluator" in self.cut.dims else ["NULL::varchar as evaluator"]
            more += [name for name in further if name == ELEMENT_PLACE]
        else:
            more = [name for name in ("evaluator", *further) if name not in self.cut.dims]
        axes = [name for name in arm_columns(self.plan) if name not in self.cut.dims]
        if (
            self.worst_end is not None
            and (self.declaration.unread == "unequal" or self.declaration.mean_of == "items")
            and scored is self.scored[0]
        ):
            more.append(f'{is_unread(given_column(scored))} as "{UNREAD}"')
        rows = rows_sql(self.plan, scored, self.cut, [*more, *map(named, axes)], self._worst(scored))
        return self._chosen(rows) if scored is self.scored[0] else rows

    @property
    def worst_end(self) -> End | None:
        """The end of the score's range that replaces the score of an unreadable reply; None if such replies are left
        out."""
        return dict(self.cut.unread).get(self.figure.values[0])

    def _worst(self, scored: ScoredStep) -> str | None:
        """Return the SQL of the score of an unreadable reply; None if such replies are left out."""
        if self.worst_end is None or scored is not self.scored[0]:
            return None
        return worst_value(self.plan, self.figure, scored, self.worst_end)

    def _chosen(self, rows: str) -> str:
        """Return the SQL of the rows whose choice is among those that count (`where:`); for a condition on the choice,
        their value is 1 if the condition holds and 0 otherwise."""
        true, among = self.figure.true_of, self.figure.among
        if not true and not among:
            return rows
        select = "select *"
        if true:
            value = f"case when given is not null then given in ({_names(true)}) end::double"
            if self.worst_end is not None:
                value = f"coalesce({value}, value)"  # the worst value, for an unreadable reply
            select += f"\n  replace ({value} as value, NULL::varchar as given)"
        condition = f"\nwhere given is null or given in ({_names(among)})" if among else ""
        return f"{select}\nfrom (\n{indented(rows)}\n){condition}"

    def single(self, *further: str, weighted: bool = False) -> str:
        """Return the name of a table of one row per score: `value`, with missing values treated by `missing`, and `has
        value`, whether the score has one. `further` names further columns. If `weighted`, metrics have their
        weights."""
        scored = self.scored[0]
        weight = weight_sql({} if "metric" in self.cut.dims else weights_of(scored)) if weighted else "1"
        if self.cut.labels != "none":
            element_columns = [ELEMENT_PLACE] if scored.scores_elements else []
            rating_columns = (name for name in further if name in RATED)
            judge_rows = self.rows(scored, *dict.fromkeys(["scorer", "fingerprint", *element_columns, *rating_columns]))
            arms = arm_columns(self.plan)
            return labelled_rows(self.plan, self.parts, scored, self.cut, judge_rows, weight, arms, further)
        if self.missing == "paired":
            keys = [name for name in keys_of(scored) if name != "item_id" and name not in self.cut.dims]
            further = tuple(dict.fromkeys([*further, *keys]))
        rows = self.parts.add(
            "rows",
            f"""select {self.by}, item_id, cluster_id, sample_id,
  value is not null or given is not null as "has value",
  {given_value(self.missing)} as value, {weight} as "its weight"{"".join(f", {named(name)}" for name in further)}
from (
{indented(self.rows(scored, *(name for name in further if name in RATED)))}
)""",
        )
        if self.missing != "paired":
            return rows
        least = self.figure.named.get("k", 1)
        least = least if isinstance(least, int) else 1
        return paired_rows(self.plan, self.parts, rows, scored, least, self.cut.graders)

    def pairs(self) -> str:
        """Return the name of a table of one row per reply, or per verdict on it, with the actual value as text (`key`)
        and number (`value`), and the expected value as text (`gold`) and number (`gold value`)."""
        one, other = self.scored
        raters = ", ".join(f"{of}.evaluator" for of, scored in (("one", one), ("other", other)) if scored.judges)
        rater = f"concat_ws(' ', {raters})" if raters else "''"
        selected = "any_value(coalesce(given, value::varchar)) as key, any_value(value) as value"
        element_columns = [ELEMENT_PLACE] if one.scores_elements else []
        # The expression is repeated, since an alias `key` would be shadowed by the column of `other`.
        actual_key = "coalesce(one.given, one.value::varchar)"
        counts_unread = self.worst_end is not None and self.declaration.unread == "unequal"
        has_actual = f'({actual_key} is not null or one."{UNREAD}")' if counts_unread else f"{actual_key} is not null"
        return self.parts.add(
            "rows",
            f"""select {columns(self.cut.dims, "one")}, one.item_id, one.cluster_id, one.sample_id, {actual_key} as key,
  other.key as gold, one.value, other.value as "gold value", {rater} as "of rater",
  {has_actual} and other.key is not null as "has value"{"".join(f", one.{name}" for name in element_columns)}
from (
{indented(self.rows(one, *element_columns))}
) as one {self.join_of(other, "other", selected)}""",
        )

    def join_of(self, other: ScoredStep, alias: str, selected: str) -> str:
        """Return the SQL of the join of a second scored step to the rows `one`, by reply, or by item if it does not
        belong to a reply. Scores by judges have one row per judge; if both steps have a judge in common, they are
        joined by judge. `selected` is the SQL of the columns to select."""
        arms = arm_columns(self.plan)
        if self.scored[0].of == other.of:
            key_columns = ", sample_id"
            condition_on_keys = f"one.sample_id = {alias}.sample_id"
        else:  # a value without a reply is the same for every reply to the item
            key_columns, condition_on_keys = "", "true"
        if other.scores_elements:  # both score the elements of one list
            key_columns, condition_on_keys = (
                f"{key_columns}, {ELEMENT_PLACE}",
                f"{condition_on_keys} and one.{ELEMENT_PLACE} is not distinct from {alias}.{ELEMENT_PLACE}",
            )
        arm_conditions = [f"one.{named(arm)} is not distinct from {alias}.{named(arm)}" for arm in arms]
        conditions = " and ".join(
            [f"one.model = {alias}.model", f"one.item_id = {alias}.item_id", condition_on_keys, *arm_conditions]
        )
        named_arms = "".join(f", {named(arm)}" for arm in arms)
        judged = ["evaluator"] if other.judges else []
        named_arms += ", evaluator" if judged else ""
        if set(other.judges) & set(self.scored[0].judges):
            conditions += f" and one.evaluator = {alias}.evaluator"
        element_columns = [ELEMENT_PLACE] if other.scores_elements else []
        rows = rows_sql(self.plan, other, replace(self.cut, dims=()), [*judged, *element_columns, *map(named, arms)])
        return f"""left join (
  select model, item_id{key_columns}{named_arms}, {selected}
  from (
{indented(indented(rows))}
  ) group by all
) as {alias} on {conditions}"""

    def plain_mean(self) -> FigureTables:
        """Return the tables of a plain mean (`is_plain_mean`)."""
        scored, cut = self.scored[0], self.cut
        weights = {} if "metric" in cut.dims else weights_of(scored)
        fixed = "".join(f" and {named(name)} = {quoted(value)}" for name, value in cut.fixed)
        chosen = f"{condition(self.plan, scored, cut)}{fixed}"
        sums = self.sums([*cut.dims, *(name for name, _ in cut.fixed)])
        if sums is not None and not weights and self.missing == "skip":
            items = stored_item_sums(self.parts, cut.dims, sums, chosen)
        else:
            scores = scores_of_mean(self.plan.benchmark.name, chosen, cut.dims, weights, self.missing)
            items = item_sums(self.parts, cut.dims, scores, weighted=bool(weights))
        return self.tables(*clustered_mean(self.parts, cut.dims, items), weighted=True)

    def mean(self, rows: str, reason: str = "NULL::varchar", without_value: str = "NULL::varchar") -> FigureTables:
        """Return the tables of the mean of the column `value` of `rows`, with the arguments of `item_sums` and
        `clustered_mean`."""
        sums = item_sums(self.parts, self.cut.dims, rows, reason=reason)
        return self.tables(*clustered_mean(self.parts, self.cut.dims, sums, without_value), weighted=True)

    def ratings(self, scored: ScoredStep, *further: str) -> str:
        """Return the SQL of the scores by raters of the role that the aggregate compares (`across`), with the columns
        `scorer`, `round` and `further`."""
        rows = self.rows(scored, "scorer", "round", *further)
        scorers = {step.scorer for step in judged_steps(scored)}
        of_role = sorted(scorer for scorer in scorers if self.plan.scorer(scorer).role == self.figure.across)
        if len(of_role) == len(scorers):
            return rows
        # A separate query, since `rows` may end with a `where` of its own, or without one.
        return f"select *\nfrom (\n{indented(rows)}\n)\nwhere scorer in ({', '.join(map(quoted, of_role))})"

    def called(
        self,
        function: str,
        rows: str,
        subject: str,
        rater: str,
        settings: str = "''",
        *,
        key: str = "NULL::varchar",
        paired: bool = False,
    ) -> str:
        """Return the name of a table of one row per cell, with the result of a statistic of lists (`tripos_statistic`)
        in the column `found`.

        If `paired`, the actual and the expected value of a reply are two rows, and are counted as one.
        """
        row = f"{{'item': cluster_id, 'subject': {subject}, 'rater': {rater}, 'key': {key}, 'value': value}}"
        pair = "rater = 'gold'" if paired else ""
        counted = f'"has value" and {pair}' if pair else '"has value"'
        total = f"count(*) filter ({pair})" if pair else "count(*)"
        by = columns(sorted(self.cut.dims))  # sorted, so that measures of the same cells have the same SQL
        return self.parts.add(
            "cells",
            f"""select {by}, count(*) filter ({counted}) as n, {total} as total,
  tripos_statistic({quoted(function)}, {settings}, list({row} order by {row})) as found
from {rows}
group by {by}""",
        )

    def opened(self, results: str) -> FigureTables:
        """Return the tables of the figure from the result of `called`."""
        cells = self.parts.add(
            "cells",
            f"""select {self.by}, found.value as value, n, total, false as "is share", found.reason as reason
from {results}""",
        )
        units = self.parts.add(
            "units",
            f"""select {self.by}, unnest(found.items) as cluster_id, unnest(found.influences) as influence
from {results}""",
        )
        return self.tables(cells, units)

    def units(self, rows: str, cells: str, influence: str, weight: str | None = None, every: bool = False) -> str:
        """Return the name of the table of the unscaled influence of each unit in each cell, and of the unit's weight if
        `weight` is given. Both are SQL aggregates over the rows of a unit, `rows`, and the columns of its cell,
        `cells`. Only rows with a value are read, unless `every`."""
        filter_ = "" if every else "\nwhere rows.value is not null"
        weight_column = "" if weight is None else f", {weight} as weight"
        return self.parts.add(
            "units",
            f"""select {columns(self.cut.dims, "rows")}, rows.cluster_id, {influence} as influence{weight_column}
from {rows} as rows join {cells} as cells on {same("rows", "cells", self.cut.dims)}{filter_}
group by {columns(self.cut.dims, "rows")}, rows.cluster_id""",
        )

    def tables(self, cells: str, units: str, weighted: bool = False) -> FigureTables:
        """Return the tables of the figure, from those of its cells and of the unscaled influences of its units."""
        cut, figure = self.cut, self.figure
        texts = [figure.model_copy(update={"by": ()}).model_dump_json(), self.missing, cut.graders, cut.labels]
        scale = leaf_scale(self.plan, figure, self.scored[0], self.missing, cut)
        leaf = Leaf(" ".join([*texts, *map(str, cut.unread)]), cut.fixed, scale, self.declaration.counts)
        failing = self.missing == "fail"
        return leaf_tables(self.parts, cut.dims, leaf, cells, units, weighted=weighted, failing=failing)


def _names(names: tuple[str, ...]) -> str:
    """Return a SQL list of names as rows store them: each as JSON text."""
    return ", ".join(quoted(json.dumps(name, ensure_ascii=False)) for name in names)
