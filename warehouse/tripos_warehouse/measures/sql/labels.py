"""SQL of the scores of replies that people graded in a judge's place: the judge's, or people's.

A label is the mean of people's grades of a reply on a metric. It counts where the reply was drawn at random from no
fewer replies of its scenario and model than the judge has graded, in a run that has all their items, or where people
graded all of these. The labels of a
scenario, model, scorer and metric weigh as much together as all that the judge graded there, so a scenario of which
more was drawn counts no more than it should. A cell where one of them has no label has no value: it would be a figure
of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tripos_compiler.language.figures import ScoredStep
from tripos_compiler.plan import Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.influences import by_unit, precision
from tripos_warehouse.measures.sql.parts import (
    PLACE,
    Cut,
    Labels,
    Parts,
    columns,
    compared_sql,
    condition,
    indented,
    ordered,
    same,
)
from tripos_warehouse.measures.sql.tables import FigureTables
from tripos_warehouse.sql import name as named

LABELS: tuple[Labels, ...] = ("none", "judges", "people")
"""What the three figures of a corrected one are of: judges on all, judges on what people graded, and people."""


@dataclass(frozen=True)
class Gradable:
    """The grades of people in a judge's place: the rows of a view, the columns of what is drawn with one chance, those
    that name one of it, what people say of one, which is its label, and what is drawn, where it holds several."""

    view: str
    stratum: str
    own: str
    label: str
    drawn: str = ""
    made: str = ""

    @property
    def unit(self) -> str:
        """The columns that name one."""
        return f"{self.stratum}, {self.own}"


REPLIES = Gradable(
    "scores", "model, scenario, scorer, metric", "sample_id, fingerprint", ordered("avg", "value"), "sample_id"
)
"""Replies, each under every step that grades it: arms may share a reply and ask the judge different things of it."""
ELEMENTS = replace(REPLIES, own=f"{REPLIES.own}, element_place", drawn="concat_ws(' ', sample_id, element_place)")
"""Elements of lists, each drawn and labelled on its own."""
BOTH_ORDERS = """least(first_model, second_model) as "one model", greatest(first_model, second_model) as "other model",
    least(first_sample_id, second_sample_id) as "one sample",
    greatest(first_sample_id, second_sample_id) as "other sample\""""
TWO_REPLIES = Gradable(
    "comparisons",
    'scenario, step, "one model", "other model"',
    '"one sample", "other sample"',
    "list({'evaluator': evaluator, 'first': first_model, 'second': second_model, 'value': value} order by evaluator)",
    made=f"select *, {BOTH_ORDERS}",
)
"""Two replies to an item, in either order: the label is the list of people's verdicts."""


def labelled_rows(
    plan: Plan,
    parts: Parts,
    scored: ScoredStep,
    cut: Cut,
    rows: str,
    weight: str,
    arms: Sequence[str],
    beside: Sequence[str] = (),
) -> str:
    """Return the table of the values of a cut that have a label: of the judges or of people, each with what it weighs.

    `rows` is the SQL of the judges' scores, and `arms` are the columns that part those of one reply. `beside` names
    columns of theirs that the table has too; all of people are one evaluator there, in one round. A score without a
    label has no value; in a cell that lacks labels none has, and `is lacking` says of what. Names with a space are no
    axis's.
    """
    of, placed = (ELEMENTS, [PLACE]) if scored.scores_elements else (REPLIES, [])
    labels = _labels(plan, parts, scored, of)
    cell = columns(cut.dims)
    part = f"{cell}, scenario, scorer, metric"
    by_people = cut.labels == "people"
    keys = ", ".join(dict.fromkeys([*part.split(", "), "sample_id", *placed, *map(named, arms)]))
    once = f"\n  qualify row_number() over (partition by {keys} order by evaluator) = 1" if by_people else ""
    where = "' in `' || scenario || '` on `' || metric || '`'"
    of_people = {"evaluator": "'people' as evaluator", "round": "NULL::bigint as round"} if by_people else {}
    further = "".join(f", {of_people.get(name, named(name))}" for name in beside)
    return parts.add(
        "rows",
        f"""select {cell}, item_id, cluster_id, sample_id{further}, "it counts" and "is lacking" is null as "has value",
  case when "it counts" and "is lacking" is null then {'"its label"' if by_people else "value"} end as value,
  "raised by" * {weight} as "its weight", "is lacking"
from (
  select *, max({_why_lacking(where)}) over (partition by {cell}) as "is lacking"
  from (
    select *, count("its label") over part as "labels here", count(*) filter ("it counts") over part as "counted here"
    from (
{indented(indented(indented(rows)))}
    ) join {labels} using ({of.unit})
    where value is not null
    window part as (partition by {part})
  ){once}
)""",
    )


def labelled_comparisons(plan: Plan, parts: Parts, scored: ScoredStep, cut: Cut) -> str:
    """Return the table of the comparisons of a cut that have a label: of the judges in both orders, or of people.

    `its weight` is how often each counts, those of several people together as one; `is lacking here` says why two
    models have no label that counts. A comparison without one has no value.
    """
    labels = _labels(plan, parts, scored, TWO_REPLIES)
    cell = "".join(f"{named(dim)}, " for dim in cut.dims)
    who = "' in `' || scenario || '` on `' || step || '` of `' || \"one model\" || '` and `' || \"other model\" || '`'"
    marked = f"""select *, {_why_lacking(who)} as "is lacking here"
  from (
    select *, count("its label") over part as "labels here", count(*) filter ("it counts") over part as "counted here"
    from (
      {TWO_REPLIES.made}
      from (
{indented(indented(indented(indented(compared_sql(plan, scored, cut, ["step"])))))}
      )
    ) join {labels} using ({TWO_REPLIES.unit})
    where value is not null
    window part as (partition by {cell}{TWO_REPLIES.stratum})
  )"""
    told = f"{cell}item_id, cluster_id, first_sample_id, second_sample_id"
    if cut.labels == "judges":
        return parts.add(
            "compared",
            f"""select {told}, evaluator, first_model, second_model, case when "it counts" then value end as value,
  "raised by" as "its weight", "is lacking here"
from (
  {marked}
)""",
        )
    return parts.add(
        "compared",
        f"""select {told}, verdict.evaluator as evaluator, coalesce(verdict.first, first_model) as first_model,
  coalesce(verdict.second, second_model) as second_model, verdict.value as value,
  "raised by" / greatest(coalesce(len("its label"), 1), 1) as "its weight", "is lacking here"
from (
  select *, unnest(case when "it counts" then "its label" else [NULL] end) as verdict
  from (
    {marked}
    qualify row_number() over (partition by {cell}{TWO_REPLIES.unit} order by evaluator, first_model) = 1
  )
)""",
    )


def _why_lacking(where: str) -> str:
    """Return the SQL of why what is drawn together has no label that counts; NULL where it has one."""
    return f"""case when "labels here" = 0 then 'people graded nothing' || {where}
    when "counted here" = 0
      then 'the replies that people graded' || {where} || ' were not drawn at random from all' end"""


def _labels(plan: Plan, parts: Parts, scored: ScoredStep, of: Gradable = REPLIES) -> str:
    """Return the table of what judges graded, a row a reply and metric or two replies, each with its label."""
    schema = named(plan.benchmark.name)
    judges, people = (condition(plan, scored, Cut(graders=graders)) for graders in ("counted", "people"))
    view = f"({of.made} from {schema}.{of.view})" if of.made else f"{schema}.{of.view}"
    own = "* exclude (run_id)" if of.made else f"{of.unit}, judgement_id, value"
    said = parts.add(
        "said",
        f"""select {of.unit}, {of.label} as "its label", coalesce(max(drawn_of), 0) as "drawn of",
  max_by(run_id, coalesce(drawn_of, 0)) as "drawn from"
from (select {own} from {view} where {people} and value is not null)
  left join (select judgement_id, drawn_of, run_id from {schema}.judgements) using (judgement_id)
group by {of.unit}""",
    )
    judged = f"from {view} where {judges} and value is not null"
    frames = parts.add(
        "frames",
        f"""select {of.stratum}, "drawn from", bool_and("is there") as "has all"
from (
  select every.*, listed.item_id is not null as "is there"
  from (
    select {of.stratum}, item_id, "drawn from"
    from (select distinct {of.stratum}, item_id {judged})
      cross join (select distinct "drawn from" from {said} where "drawn of" > 0)
  ) as every left join main.run_items as listed
    on listed.run_id = "drawn from" and listed.scenario = every.scenario::varchar and listed.item_id = every.item_id
)
group by all""",
    )
    return parts.add(
        "labels",
        f"""select *, "all graded" / nullif(count(*) filter ("it counts") over stratum, 0) as "raised by"
from (
  select *, "its label" is not null
    and (("drawn of" >= "all drawn" and coalesce("has all", false)) or "all labels" = "all graded") as "it counts"
  from (
    select *, count(*) over stratum as "all graded", count("its label") over stratum as "all labels",
      count({f"distinct {of.drawn}" if of.drawn else "*"}) over stratum as "all drawn"
    from (select distinct {of.unit} {judged}) left join {said} using ({of.unit})
      left join {frames} using ({of.stratum}, "drawn from")
    window stratum as (partition by {of.stratum})
  )
)
window stratum as (partition by {of.stratum})""",
    )


def corrected_sql(parts: Parts, on_all: FigureTables, on_graded: FigureTables, people: FigureTables) -> str:
    """Return the query of a figure that people correct: a row a cell of the judges' figure.

    It yields `model`, the dimensions, `of judge` (the figure on all), `on graded` and `of people` (those of the replies
    with a label), `reason` (why one of them is missing), `n` (labels), `total` (scores by judges), `df`,
    `are known` (that the three have errors) and `effective items` of the labels, and `all pulls`: for each item its
    influence on the three, in their order.
    """
    dims = on_all.dims
    figures = (on_all, on_graded, people)
    each = "\nunion all\n".join(
        f"select {columns(dims)}, cluster_id, {_only(name)}\nfrom {by_unit(parts, node)}"
        for name, node in zip(_PULLS, figures, strict=True)
    )
    error = precision(parts, people)
    pulls = parts.add(
        "pulls",
        f"""select {columns(dims)}, cluster_id, {", ".join(f"{ordered('sum', name)} as {name}" for name in _PULLS)}
from (
{indented(each)}
)
group by {columns(dims)}, cluster_id""",
    )
    row = ", ".join(f"'{name}': {name}" for name in ("cluster_id", *_PULLS))
    lists = parts.add(
        "lists",
        f"""select {columns(dims)}, list({{{row}}} order by cluster_id) as "all pulls"
from {pulls}
group by {columns(dims)}""",
    )
    return f"""{parts.text}
select {columns(dims, "c")}, c.value as "of judge", g.value as "on graded", p.value as "of people",
  coalesce(c.reason, p.reason, g.reason) as reason, coalesce(p.n, 0) as n, c.total, coalesce(e.df, 0) as df,
  c.known and g.known and p.known as "are known", e.units as "effective items",
  l."all pulls"
from {on_all.cells} as c left join {on_graded.cells} as g on {same("c", "g", dims)}
  left join {people.cells} as p on {same("c", "p", dims)}
  left join {error} as e on {same("c", "e", dims)}
  left join {lists} as l on {same("c", "l", dims)}
order by all
"""


def _only(name: str) -> str:
    """Return the columns of all three pulls, of which a table has one."""
    return ", ".join(f"{'influence' if each == name else 'NULL'} as {each}" for each in _PULLS)


_PULLS = ("of_judge", "of_graded", "of_people")
