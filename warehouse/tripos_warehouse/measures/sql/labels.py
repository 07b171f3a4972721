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

from tripos_compiler.language.figures import ScoredStep
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.sql.parts import Cut, Labels, Parts, columns, condition, indented, same
from tripos_warehouse.measures.sql.raters import FigureTables
from tripos_warehouse.sql import name as named

LABELS: tuple[Labels, ...] = ("none", "judges", "people")
"""What the three figures of a corrected one are of: judges on all, judges on what people graded, and people."""
STRATUM = "model, scenario, scorer, metric"
REPLY = f"{STRATUM}, sample_id"


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
    labels = _labels(plan, parts, scored)
    cell = columns(cut.dims)
    part = f"{cell}, scenario, scorer, metric"
    by_people = cut.labels == "people"
    keys = ", ".join(dict.fromkeys([*part.split(", "), "sample_id", *map(named, arms)]))
    once = f"\n  qualify row_number() over (partition by {keys} order by evaluator) = 1" if by_people else ""
    where = "' in `' || scenario || '` on `' || metric || '`'"
    told = f"""case when "labels here" = 0 then 'people graded nothing' || {where}
    when "counted here" = 0
      then 'the replies that people graded' || {where} || ' were not drawn at random from all' end"""
    of_people = {"evaluator": "'people' as evaluator", "round": "NULL::bigint as round"} if by_people else {}
    further = "".join(f", {of_people.get(name, named(name))}" for name in beside)
    return parts.add(
        "rows",
        f"""select {cell}, item_id, sample_id{further}, "it counts" and "is lacking" is null as "has value",
  case when "it counts" and "is lacking" is null then {'"its label"' if by_people else "value"} end as value,
  "raised by" * {weight} as "its weight", "is lacking"
from (
  select *, max({told}) over (partition by {cell}) as "is lacking"
  from (
    select *, count("its label") over part as "labels here", count(*) filter ("it counts") over part as "counted here"
    from (
{indented(indented(indented(rows)))}
    ) join {labels} using ({REPLY})
    where value is not null
    window part as (partition by {part})
  ){once}
)""",
    )


def _labels(plan: Plan, parts: Parts, scored: ScoredStep) -> str:
    """Return the table of the replies that judges graded, a row a reply and metric, each with the mean of people."""
    schema = named(plan.benchmark.name)
    judges, people = (condition(plan, scored, Cut(graders=graders)) for graders in ("counted", "people"))
    said = parts.add(
        "said",
        f"""select {REPLY}, avg(value) as "its label", coalesce(max(drawn_of), 0) as "drawn of",
  max_by(run_id, coalesce(drawn_of, 0)) as "drawn from"
from (select {REPLY}, judgement_id, value from {schema}.scores where {people} and value is not null)
  left join (select judgement_id, drawn_of, run_id from {schema}.judgements) using (judgement_id)
group by {REPLY}""",
    )
    judged = f"from {schema}.scores where {judges} and value is not null"
    frames = parts.add(
        "frames",
        f"""select {STRATUM}, "drawn from", bool_and("is there") as "has all"
from (
  select every.*, listed.item_id is not null as "is there"
  from (
    select {STRATUM}, item_id, "drawn from"
    from (select distinct {STRATUM}, item_id {judged})
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
    and (("drawn of" >= "all graded" and coalesce("has all", false)) or "all labels" = "all graded") as "it counts"
  from (
    select *, count(*) over stratum as "all graded", count("its label") over stratum as "all labels"
    from (select distinct {REPLY} {judged}) left join {said} using ({REPLY})
      left join {frames} using ({STRATUM}, "drawn from")
    window stratum as (partition by {STRATUM})
  )
)
window stratum as (partition by {STRATUM})""",
    )


def corrected_sql(parts: Parts, on_all: FigureTables, on_graded: FigureTables, people: FigureTables) -> str:
    """Return the query of a figure that people correct: a row a cell of the judges' figure.

    It yields `model`, the dimensions, `of judge` (the figure on all), `on graded` and `of people` (those of the replies
    with a label), `reason` (why one of them is missing), `n` (labels), `total` (scores by judges), `df`,
    `are known` (that the three have errors) and `is bearing` of the labels, and `all pulls`: for each item its pull on
    the three, in their order.
    """
    dims = on_all.dims
    each = "\nunion all\n".join(
        f"select {columns(dims)}, item_id, {_only(name)}\nfrom {node.pulls}"
        for name, node in zip(_PULLS, (on_all, on_graded, people), strict=True)
    )
    pulls = parts.add(
        "pulls",
        f"""select {columns(dims)}, item_id, {", ".join(f"sum({name}) as {name}" for name in _PULLS)}
from (
{indented(each)}
)
group by {columns(dims)}, item_id""",
    )
    row = ", ".join(f"'{name}': {name}" for name in ("item_id", *_PULLS))
    lists = parts.add(
        "lists",
        f"""select {columns(dims)}, list({{{row}}} order by item_id) as "all pulls"
from {pulls}
group by {columns(dims)}""",
    )
    return f"""{parts.text}
select {columns(dims, "c")}, c.value as "of judge", g.value as "on graded", p.value as "of people",
  coalesce(c.reason, p.reason, g.reason) as reason, coalesce(p.n, 0) as n, c.total, coalesce(p.df, 0) as df,
  c.known and g.known and p.known as "are known", p.bearing as "is bearing",
  l."all pulls"
from {on_all.cells} as c left join {on_graded.cells} as g on {same("c", "g", dims)}
  left join {people.cells} as p on {same("c", "p", dims)}
  left join {lists} as l on {same("c", "l", dims)}
order by all
"""


def _only(name: str) -> str:
    """Return the columns of all three pulls, of which a table has one."""
    return ", ".join(f"{'pull' if each == name else 'NULL'} as {each}" for each in _PULLS)


_PULLS = ("of_judge", "of_graded", "of_people")
