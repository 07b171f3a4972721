"""`missing: paired`: an item that has no value in one arm counts in none, so that all arms have the same items."""

from __future__ import annotations

from tripos_compiler.language.figures import Scored, talks_before
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.sql.parts import OF_TALK, Cut, Parts, named, quoted, rows_sql, with_talks
from tripos_warehouse.views.treatments import arm_columns


def arms_of(scored: Scored) -> dict[str, int]:
    """Under how many combinations of arms each scenario has what is scored."""
    own = {step.fingerprint for step in scored.steps}
    return {
        scenario.name: sum(any(step.fingerprint in own for step in each.steps) for each in scenario.treatments)
        for scenario in scored.scenarios
    }


def keys_of(scored: Scored) -> list[str]:
    """The columns that tell items apart, beside the model: where judges grade, each on each metric by itself."""
    return ["scenario", "item_id", *(("metric", "evaluator") if scored.judges else ())]


def paired_rows(plan: Plan, parts: Parts, rows: str, scored: Scored, least: int) -> str:
    """The table of rows, which has the columns `keys_of`, without the values of items that lack one under some
    combination of arms; `least` is how many replies to one question must have a value."""
    judged = ["evaluator"] if scored.judges else []
    every = parts.add("rows", rows_sql(plan, scored, Cut(), [*judged, *map(named, arm_columns(plan))]))
    talks = [OF_TALK] if talks_before(scored) else []
    every = with_talks(plan, parts, every, scored)
    item = ", ".join(["model", *keys_of(scored)])
    # Arms that a scenario has not are NULL in all its rows: they part nothing.
    arms = ", ".join([item, *map(named, arm_columns(plan))])
    wanted = " ".join(f"when {quoted(name)} then {count}" for name, count in arms_of(scored).items())
    whole = parts.add(
        "whole",
        f"""select {item}
from (
  select distinct {arms}
  from (
    select {arms}
    from {every}
    where value is not null or given is not null
    group by {", ".join([arms, *talks])}
    having count(distinct sample_id) >= {least}
  )
)
group by {item}
having count(*) = case scenario {wanted} end""",
    )
    return parts.add(
        "rows",
        f"""select * replace (
  "has value" and whole.item_id is not null as "has value",
  case when whole.item_id is not null then value end as value
)
from {rows} left join {whole} as whole using ({item})""",
    )
