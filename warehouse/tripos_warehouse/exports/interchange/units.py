"""Units of a run: what a model did with an item once, all its replies and all its scores, read in one pass.

Every form of another tool has records of this kind, called a sample, a document or a trace, so every export of this
room reads them here. A score without a reply of its own belongs to the first unit of its item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import orjson

from tripos_compiler.language import expressions_of, paths_in
from tripos_compiler.plan import Ask, Compare, Grade, Plan, Scenario, Score
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.exports.tables import open_fields
from tripos_warehouse.query import Connection
from tripos_warehouse.views import LANGUAGE, RunRecord, arm_columns, axis_columns

BATCH = 500
"""Replies that are in memory at once."""
SECRET = "secret"
"""The word that stands for a target that the spec marks as secret."""

_REPLY = (
    "sample_id, step, model_served, status, reply, parsed, messages, error, finish_reason, attempts, tokens_in, "
    "tokens_out, tokens_reasoning, cost_usd, latency_s, created_at"
)

_JUDGED = ("tokens_in", "tokens_out", "cost_usd", "created_at", "latency_s")


@dataclass(frozen=True)
class UnitScore:
    """One score of a unit, as the view of scores has it, with its judge's reply in numbers."""

    metric: str
    scorer: str
    evaluator: str | None
    round: int | None
    element_place: str | None
    value: float | None
    choice: str | None
    status: str
    error: str | None
    score_id: str
    judgement_id: str | None
    step: str | None
    """The step whose reply is scored."""
    sample_id: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    judged_at: datetime | None
    """When the reply of its judge came, and how many seconds that took."""
    judged_s: float | None
    reason: str | None
    """The reason of a judge, where secrets are exported too."""


@dataclass(frozen=True)
class RunUnit:
    """One pass of a model over an item: its replies in the order of the steps, and their scores."""

    scenario: str
    item_id: str
    cluster_id: str
    """What errors are clustered by: the item, or the items that it was drawn with."""
    number: int
    """The sample number, from 0."""
    axes: Mapping[str, str]
    arms: Mapping[str, str]
    language: str | None
    fields: Mapping[str, Any]
    """The fields of the item that may be shown."""
    target: tuple[str, ...] | None
    """The texts that say the right answer; `None` where they are secret."""
    replies: tuple[Mapping[str, Any], ...]
    scores: tuple[UnitScore, ...]


def read_units(
    connection: Connection, plan: Plan, run: RunRecord, model: str, secrets: bool = False
) -> Iterator[RunUnit]:
    """Yield every unit of a compared model, by scenario, item, arms and sample number. With `secrets` they have secret
    fields and the reasons of judges."""
    arms, axes = arm_columns(plan), axis_columns(plan)
    shown, every = open_fields(plan, secrets), open_fields(plan, True)
    targets = {each.name: target_fields(plan, each) for each in plan.scenarios}
    cursor = connection.cursor()
    found = cursor.execute(_query(plan, run, model, secrets))
    names = [each[0] for each in found.description or ()]

    def rows() -> Iterator[dict[str, Any]]:
        while some := found.fetchmany(BATCH):
            yield from (dict(zip(names, row, strict=True)) for row in some)

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (row["scenario"], row["item_id"], *(row[arm] for arm in arms), row["sample_number"])

    for _, group in groupby(rows(), key):
        own = list(group)
        first = own[0]
        fields: dict[str, Any] = orjson.loads(first["fields"]) if first["fields"] is not None else {}
        allowed = shown.get(first["dataset"], dict.fromkeys(fields))
        wanted = [name for name in targets.get(first["scenario"], ()) if fields.get(name) is not None]
        hidden = any(name in every.get(first["dataset"], {}) and name not in allowed for name in wanted)
        yield RunUnit(
            scenario=str(first["scenario"]),
            item_id=first["item_id"],
            cluster_id=first["cluster_id"] or first["item_id"],
            number=first["sample_number"],
            axes={name: str(first[name]) for name in axes if first[name] is not None},
            arms={name: str(first[name]) for name in arms if first[name] is not None},
            language=None if first[LANGUAGE] is None else str(first[LANGUAGE]),
            fields={name: value for name, value in fields.items() if name in allowed},
            target=None if hidden else tuple(_text(fields[name]) for name in wanted),
            replies=tuple(row for row in own if row["sample_id"] is not None),
            scores=tuple(UnitScore(**score) for row in own for score in row["scores"] or ()),
        )
    cursor.close()


def target_fields(plan: Plan, scenario: Scenario) -> tuple[str, ...]:
    """Return the fields of an item that say the right answer: the secret ones, or else those that scores look at and no
    prompt of the compared role does."""
    if scenario.rows is None:
        return ()
    own = {each.name: each.fields for each in plan.datasets} | {each.name: each.fields for each in plan.made}
    fields = own.get(scenario.rows.dataset, ())
    if secret := tuple(each.name for each in fields if each.secret):
        return secret
    asked = _looked_at(scenario, Ask)
    judged = _looked_at(scenario, Score, Grade)
    return tuple(each.name for each in fields if each.name in judged - asked)


def left_out(connection: Connection, plan: Plan, run: RunRecord) -> dict[str, int]:
    """Return how many results of a run belong to no unit, by their kind in words."""
    if not any(isinstance(step, Compare) for scenario in plan.scenarios for step in scenario.steps):
        return {}
    query = f"select count(*) from {sql.name(run.benchmark)}.comparisons"
    count = int(connection.execute(query).fetchall()[0][0])
    return {"comparisons of two replies": count} if count else {}


def named_scores(unit: RunUnit, steps: Mapping[str, Sequence[str]], scenario: bool) -> dict[str, UnitScore]:
    """Return the scores of a unit by the names that `score_name` gives them, with a number where two have one name;
    `scenario` puts the scenario before them, `steps` are those of `scored_steps`."""
    found: dict[str, UnitScore] = {}
    for score in unit.scores:
        name = score_name(score, steps.get(score.metric, ()), unit.scenario if scenario else None)
        many = 2
        while (told := name if name not in found else f"{name} #{many}") in found:
            many += 1
        found[told] = score
    return found


def score_name(score: UnitScore, steps: Sequence[str], scenario: str | None = None) -> str:
    """Return the name of a score within its unit; `steps` are those whose replies have a score of its metric.

    >>> no = None
    >>> one = UnitScore("CLEAR", "rubric", "mock/a", 2, "0", 7.0, no, "scored", no, *"abcd", 1, 1, 0.0, no, no, no)
    >>> score_name(one, ["c"]), score_name(one, ["c", "d"], "sums")
    ('CLEAR[0] by mock/a (round 2)', 'sums: CLEAR[0] of c by mock/a (round 2)')
    """
    return figure_name(score, steps, scenario, score.element_place)


def figure_name(score: UnitScore, steps: Sequence[str], scenario: str | None, place: str | None = None) -> str:
    """Return the name of the mean that a score counts in: that of the score, without the place of an element."""
    told = score.metric if scenario is None else f"{scenario}: {score.metric}"
    told += f"[{place}]" if place is not None else ""
    told += f" of {score.step}" if len(steps) > 1 else ""
    told += f" by {score.evaluator}" if score.evaluator is not None else ""
    return told + (f" (round {score.round})" if score.round is not None else "")


def scored_steps(plan: Plan, scenario: str) -> dict[str, tuple[str, ...]]:
    """Return, for each metric of a scenario, the steps whose replies have a score of it."""
    found: dict[str, dict[str, None]] = {}
    for each in plan.scenarios:
        for step in each.steps if each.name == scenario else ():
            if isinstance(step, Score | Grade):
                names = [step.name] if isinstance(step, Score) else step.metrics or [step.name]
                for name in names:
                    found.setdefault(name, {})[step.of] = None
    return {name: tuple(steps) for name, steps in found.items()}


def _looked_at(scenario: Scenario, *kinds: type) -> set[str]:
    alias = scenario.rows.alias if scenario.rows is not None else ""
    paths = {
        path
        for step in scenario.steps
        if isinstance(step, kinds)
        for expr in expressions_of(step)
        for path in paths_in(expr)
    }
    return {path[1] for path in paths if path[0] == alias and len(path) > 1}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _query(plan: Plan, run: RunRecord, model: str, secrets: bool) -> str:
    schema = sql.name(run.benchmark)
    place = ["scenario", LANGUAGE, *axis_columns(plan), *arm_columns(plan)]
    keys = ["scenario", *arm_columns(plan), "sample_id"]
    order = {step.name: None for each in plan.scenarios for step in each.steps if isinstance(step, Ask)}
    named = f"[{', '.join(map(sql.text, order))}]"
    same = " and ".join(f"sample.{sql.name(key)} is not distinct from score.{sql.name(key)}" for key in keys)
    quoted = [sql.name(name) for name in place]
    columns = ", ".join(f"coalesce(sample.{name}, score.{name}) as {name}" for name in quoted)
    reply = ", ".join(f"sample.{name.strip()}" for name in _REPLY.split(","))
    own = ", ".join(f"score.{name}" for name in quoted)
    judged = ", ".join(f"any_value({name}) as {name}" for name in _JUDGED)
    reason = "reason.reason" if secrets else "NULL::varchar"
    reasons = (
        f"left join (select score_id, any_value(reason) as reason from {schema}.rationales group by all) as reason "
        "on reason.score_id = score.score_id"
        if secrets
        else ""
    )
    arms = "".join(f", {sql.name(arm)} nulls first" for arm in arm_columns(plan))
    return f"""with scored as (
      select {own}, score.sample_id, score.item_id, list(struct_pack(metric := score.metric::varchar,
        scorer := score.scorer, evaluator := score.evaluator, round := score.round,
        element_place := score.element_place, value := score.value, choice := score.choice, status := score.status,
        error := score.error, score_id := score.score_id, judgement_id := score.judgement_id, step := scored_reply.step,
        sample_id := score.sample_id, tokens_in := judged.tokens_in, tokens_out := judged.tokens_out,
        cost_usd := judged.cost_usd, judged_at := judged.created_at, judged_s := judged.latency_s, reason := {reason})
        order by score.metric, score.evaluator nulls first, score.round nulls first, score.element_place nulls first,
          score.score_id) as scores
      from {schema}.scores as score
      left join (select distinct sample_id, step from {schema}.samples) as scored_reply
        on scored_reply.sample_id = score.sample_id
      left join (select judgement_id, {judged} from {schema}.judgements group by all) as judged
        on judged.judgement_id = score.judgement_id
      {reasons}
      where score.model = {sql.text(model)} group by all
    ), replied as (
      select * from {schema}.samples
      where role = {sql.text(run.compared_role)} and model = {sql.text(model)}
    )
    select {columns}, coalesce(sample.item_id, score.item_id) as item_id,
      coalesce(sample.sample_number, 0) as sample_number, {reply}, score.scores, item.cluster_id,
      item.fields, item.dataset
    from replied as sample full join scored as score on {same}
    left join {schema}.items as item on item.scenario = coalesce(sample.scenario, score.scenario)
      and item.item_id = coalesce(sample.item_id, score.item_id)
    order by scenario, item_id{arms}, sample_number, list_position({named}, sample.step) nulls last, sample.sample_id"""


def arms_text(arms: Mapping[str, str]) -> str:
    """Return the arms of a unit after its name.

    >>> arms_text({"hint": "none", "tone": "warm"}), arms_text({})
    ('[hint: none, tone: warm]', '')
    """
    return f"[{', '.join(f'{name}: {value}' for name, value in arms.items())}]" if arms else ""


def usage_of(parts: Sequence[Mapping[str, Any] | UnitScore]) -> dict[str, Any] | None:
    """Return the tokens and the cost of some calls; `None` where no provider said how many tokens they took. There is
    a cost where that of every call is known."""
    read = [vars(each) if isinstance(each, UnitScore) else each for each in parts]
    known = [each for each in read if each["tokens_in"] is not None or each["tokens_out"] is not None]
    if not known:
        return None
    sent, got = (sum(each[name] or 0 for each in known) for name in ("tokens_in", "tokens_out"))
    reasoning = [each["tokens_reasoning"] for each in known if each.get("tokens_reasoning") is not None]
    costs = [each["cost_usd"] for each in read]
    told: dict[str, Any] = {"input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}
    if reasoning:
        told["reasoning_tokens"] = sum(reasoning)
    if None not in costs:
        told["total_cost"] = sum(costs)
    return told
