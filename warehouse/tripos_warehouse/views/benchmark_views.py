"""The schema of one benchmark: the rows of a run, or its latest state (`run_rows`), with the axes and the arms as
columns.

A result stands once for every combination of arms that it belongs to (`treatments`), so what several arms
have in common is a row in each. A score in which no compared model took part, such as that of a student
who was taught nothing, stands once for every compared model: it is what each of them is measured against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pydantic import ValidationError

from tripos_compiler.plan import Column, Metric, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.views.dimensions import (
    LANGUAGE,
    Enumerations,
    arm_columns,
    enumerations,
    join_arms,
    shows_several_times,
)
from tripos_warehouse.views.expected_scores import range_columns, with_expected
from tripos_warehouse.views.macros import analysis_of_sums, benchmark_macros
from tripos_warehouse.views.people import are_counted
from tripos_warehouse.views.run_rows import RunRows, sums_name

_SCORES = """
  {context},
  score.model, {metric}, {dimension}, score.evaluator, score.round, score.value,
  json_extract_string(score.given, '$') as choice, score.status, score.error,
  {low}, {high},
  score.element_place, score.element_value,
  score.item_id, score.cluster_id, score.sample_id, score.judgement_id, score.score_id, score.scorer, score.judged_by,
  score.run_id, score.shown_run,
  score.fingerprint, score.created_at
"""
_SUMS = """
  {context},
  score.model, {metric}, {dimension}, score.evaluator, score.round, score.scorer, score.judged_by, score.status,
  {low}, {high},
  score.item_id, score.cluster_id, score.shown_run, {is_score} as "is score", score."its total", score."its n",
  score."its rows",  score."all are 0 or 1", score."its sample"
"""
_COLUMNS = """
  {context},
  score.model, score.metric, score.value, score.given, score.status, score.error,
  score.element_place, score.element_value,
  score.item_id, score.cluster_id, score.sample_id, score.score_id, score.judged_by, score.run_id, score.shown_run,
  score.fingerprint, score.created_at
"""
_AFTER_VALUE = (
    "status, error, low, high, element_place, element_value, item_id, cluster_id, sample_id, judgement_id, score_id, "
    "scorer, judged_by, run_id, shown_run, fingerprint, created_at"
)
# Looked up for each score, so that whoever wants few has only the judgements of these read.
_ENTRY = "'$.\"' || score.metric || '\"'"
_REASON = f"{_ENTRY} || '.reason'"
_SAMPLES = """
  {context},
  sample.step, sample.role, sample.model, sample.model_served, sample.sample_number, sample.status,
  sample.reply, sample.thinking as reply_thinking, sample.parsed, sample.logprobs, sample.messages,
  sample.error, sample.finish_reason, sample.attempts,
  sample.tokens_in, sample.tokens_out, sample.tokens_reasoning, sample.cost_usd, sample.latency_s,
  sample.sample_number + 1 as epoch, sample.tokens_in + sample.tokens_out as total_tokens,
  sample.item_id, sample.sample_id, sample.run_id, sample.shown_run, sample.fingerprint, sample.created_at
"""
_JUDGEMENTS = """
  {context},
  sample.model, judgement.scorer, judgement.evaluator, judgement.repeat, judgement.element_place, judgement.round,
  judgement.source,
  judgement.drawn_of,
  judgement.model_served, judgement.status,
  judgement.reply, judgement.thinking as reply_thinking, judgement.parsed, judgement.logprobs, judgement.messages,
  judgement.error, judgement.finish_reason,
  judgement.attempts, judgement.tokens_in, judgement.tokens_out, judgement.tokens_reasoning,
  judgement.cost_usd, judgement.latency_s, judgement.tokens_in + judgement.tokens_out as total_tokens,
  judgement.item_id, judgement.sample_id, judgement.judgement_id,
  judgement.run_id, judgement.shown_run, judgement.fingerprint,
  judgement.created_at
"""
_COMPARISONS = """
  {context},
  comparison.step, comparison.first_model, comparison.second_model, comparison.evaluator, comparison.round,
  comparison.value, json_extract_string(comparison.given, '$') as choice, comparison.status, comparison.error,
  comparison.item_id, comparison.cluster_id, comparison.first_sample_id, comparison.second_sample_id,
  comparison.judgement_id, comparison.comparison_id, comparison.scorer, comparison.run_id, comparison.shown_run,
  comparison.fingerprint,
  comparison.created_at
"""
_TURNS = """
  {context},
  turn.step, turn.conversation_number, turn.number, turn.role, turn.model, turn.text, turn.thinking as reply_thinking,
  turn.left_out, turn.status, turn.error, turn.finish_reason, turn.model_served, turn.attempts, turn.tokens_in,
  turn.tokens_out, turn.tokens_reasoning, turn.cost_usd, turn.latency_s, turn.item_id, turn.conversation_id,
  turn.turn_id, turn.run_id, turn.shown_run, turn.fingerprint, turn.created_at
"""
_CONVERSATIONS = """
  {context},
  talk.step, talk.role, talk.model, talk.models, talk.sample_number as conversation_number, talk.status,
  talk.turns, talk.ended, talk.ended_by, talk.reply as transcript, talk.error, talk.attempts,
  talk.tokens_in, talk.tokens_out, talk.tokens_reasoning, talk.cost_usd, talk.latency_s,
  talk.item_id, talk.sample_id as conversation_id, talk.run_id, talk.shown_run, talk.fingerprint, talk.created_at
"""
_TOLD = "case when json_valid(samples.parsed) then samples.parsed end"
_TALKS = f"""select samples.*, json_array_length({_TOLD}, '$.turns')::bigint as turns,
          json_extract_string({_TOLD}, '$.ended') as ended, json_extract_string({_TOLD}, '$.ended_by') as ended_by,
          json_extract({_TOLD}, '$.models')::varchar as models"""
_ITEMS = """
  {context}, item.dataset, item.item_id, listed.cluster_id, item.fields, item.written_by, item.attempts,
  item.rejections, listed.shown_run
"""
_SLOTS = """
  {context},
  slot.dataset, slot.number, slot.status, slot.written_by, slot.attempts, slot.rejections,
  slot.item_id, slot.slot_id, slot.run_id, slot.shown_run, slot.fingerprint, slot.created_at
"""

FIXED_COLUMNS = frozenset(
    word.rpartition(" as ")[2].rpartition(".")[2].strip(" {}\n")
    for columns in (
        *(_SCORES, _COLUMNS, _SAMPLES, _JUDGEMENTS, _COMPARISONS, _TURNS, _CONVERSATIONS, _ITEMS, _SLOTS),
        "scenario, reason",
    )
    for word in columns.replace("{context}", "").split(",")
) - {""}
"""What the views call their columns; no axis has such a name (`RESERVED_AXES` of the compiler)."""


@dataclass(frozen=True)
class Current:
    """The contents of a benchmark's schema: rows, as the plan of a run has them."""

    plan: Plan
    compared_role: str
    rows: RunRows


def read_plan(text: str, run_id: str, benchmark: str) -> Plan:
    """Return the plan that a run was made from. Raises `StoreError` S0104 where it is of an unknown format, or of
    another benchmark than the run."""
    try:
        plan = Plan.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise StoreError(
            "S0104",
            f"the plan of run `{run_id}` of `{benchmark}` is not one that this Tripos reads: {where}: {problem['msg']}",
            "update Tripos, or run the benchmark again",
        ) from error
    if plan.benchmark.name != benchmark:
        message = f"the plan of run `{run_id}` of `{benchmark}` is that of `{plan.benchmark.name}`"
        raise StoreError("S0104", message, "run the benchmark again")
    return plan


def axis_columns(plan: Plan) -> list[str]:
    """Return the columns of the axes, in plan order; `language` is not among them, since every view has it."""
    return [axis.name for axis in plan.axes if axis.name != LANGUAGE]


def benchmark_views(
    current: Current,
    values: Mapping[str, Sequence[str]] = MappingProxyType({}),
    imported: bool = False,
    many: bool = False,
) -> list[str]:
    """Return the statements that make the schema: its enumerations, `items`, `slots`, `samples`, `judgements`,
    `metrics`, `scores`, `columns`, `rationales`, `comparisons`, `conversations`, `turns`, and the macros.
    `values` are those that the data have in the columns that are enumerations; `imported`: somebody's scores came from
    outside a run. `many`: the scores are so many that means are taken from sums."""
    plan = current.plan
    schema = sql.name(plan.benchmark.name)
    axes, arms = axis_columns(plan), arm_columns(plan)
    types = enumerations(plan, values)
    mine = f"kept.benchmark = {sql.text(plan.benchmark.name)}"
    rows = current.rows
    # An extended benchmark may have listed an item before its own did.
    items = (
        f"distinct on (kept.scenario, kept.item_id) kept.* from main.items as kept order by {mine} desc"
        if rows.of.shared
        else (f"kept.* from main.items as kept where {mine}")
    )
    is_score = _is_score(plan)
    columns = rows.with_clusters(rows.scores())
    every = rows.with_clusters(with_expected(plan, rows.scores())) if imported else columns
    comparisons = rows.with_clusters(rows.rows("comparisons", "comparison_id"))
    item_key = "item.benchmark = {0}.benchmark and item.scenario = {0}.scenario and item.item_id = {0}.item_id"

    def context(row: str, context: str, arms: list[str]) -> str:
        return _context(types, axes, arms, row, context)

    metrics = _metrics(plan.metrics, plan.benchmark.languages)
    listed = f"{types.cast('metric', 'metric')}, title, {types.cast('dimension', 'dimension')}, low, high"
    return [
        f"create schema if not exists {schema}",
        *types.statements,
        *rows.statements,
        f"""create or replace view {schema}.items as
        select {_ITEMS.format(context=context("item", "item.context", []))}
        from ({_with_origins(rows, items)}) as item join ({rows.with_clusters(rows.items())}) as listed
          on listed.scenario = item.scenario and listed.item_id = item.item_id""",
        f"""create or replace view {schema}.slots as
        select {_SLOTS.format(context=context("slot", "slot.context", []))}
        from ({rows.rows("slots", "slot_id", "slots")}) as slot
        left join main.items as item on {item_key.format("slot")}""",
        f"""create or replace view {schema}.samples as
        select {_SAMPLES.format(context=context("sample", "sample.context", arms))}
        from ({rows.rows("samples", "sample_id", "samples")}) as sample
        left join main.items as item on {item_key.format("sample")}{join_arms(plan, "sample", asked=True)}""",
        f"""create or replace view {schema}.judgements as
        select {_JUDGEMENTS.format(context=context("judgement", "coalesce(sample.context, item.context)", arms))}
        from ({rows.rows("judgements", "judgement_id")}) as judgement
        left join main.samples as sample on sample.sample_id = judgement.sample_id
        left join main.items as item on {item_key.format("judgement")}{join_arms(plan, "judgement", asked=True)}""",
        f"create or replace view {schema}.metrics as select {listed} from ({metrics})",
        f"""create or replace view {schema}.scores as
        select {
            _SCORES.format(
                context=context("score", "item.context", arms),
                metric=types.cast("metric", "score.metric"),
                dimension=types.cast("dimension", "metric.dimension"),
                **range_columns(plan),
            )
        }
        from ({every}) as score
        left join main.items as item on {item_key.format("score")}
        left join ({metrics}) as metric on metric.metric = score.metric{join_arms(plan, "score")}
        where {is_score}""",
        f"""create or replace view {schema}.columns as
        select {_COLUMNS.format(context=context("score", "item.context", arms))}
        from ({columns}) as score
        left join main.items as item on {item_key.format("score")}{join_arms(plan, "score")}
        where not {is_score}""",
        f"""create or replace view {schema}.rationales as
        select score.* exclude ({_AFTER_VALUE}), json_extract_string(given.parsed, {_REASON}) as reason, score.item_id,
          score.sample_id, score.judgement_id, score.score_id, score.shown_run
        from {schema}.scores as score
        join (
          select kept.judgement_id, kept.sample_id,
            case when json_valid(kept.parsed) then kept.parsed end as parsed
          from main.judgements as kept where {rows.of.mine("kept")}
        ) as given on given.judgement_id = score.judgement_id and given.sample_id = score.sample_id
        where json_exists(given.parsed, {_ENTRY})""",
        f"""create or replace view {schema}.comparisons as
        select {_COMPARISONS.format(context=context("comparison", "item.context", arms))}
        from ({comparisons}) as comparison
        left join main.items as item on {item_key.format("comparison")}{join_arms(plan, "comparison")}""",
        f"""create or replace view {schema}.conversations as
        select {_CONVERSATIONS.format(context=context("talk", "talk.context", arms))}
        from ({_TALKS} from ({rows.rows("samples", "sample_id")}) as samples where {_talks(plan)}) as talk
        left join main.items as item on {item_key.format("talk")}{join_arms(plan, "talk", asked=True)}""",
        f"""create or replace view {schema}.turns as
        select {_TURNS.format(context=context("turn", "item.context", arms))}
        from ({rows.rows("turns", "turn_id")}) as turn
        left join main.items as item on {item_key.format("turn")}{join_arms(plan, "turn", asked=True)}""",
        *benchmark_macros(
            plan.benchmark.name,
            [LANGUAGE, *axes, *arms],
            types,
            shows_several_times(plan, current.compared_role),
            arms,
            are_counted(plan, "score"),
            rows.moments if many else None,
        ),
    ]


OF_SUMS = 6
"""The statements of `sum_views`."""


def sum_views(current: Current, values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the statements that make the tables of sums of a benchmark: one with its axes, and one without, which
    reads no items; and item analysis from the latter. None where scores have rows of their own for the elements of a
    list, where some models were asked about some items only, or where steps stand under conditions. Before them stands
    a query that has a row where they are of no use."""
    plan = current.plan
    rows = current.rows
    if rows.of.elements or rows.partly or rows.of.conditional:
        return []
    types = enumerations(plan, values)
    arms = arm_columns(plan)
    item = """left join main.items as item on item.benchmark = score.benchmark and item.scenario = score.scenario
          and item.item_id = score.item_id"""
    casts = {
        "metric": types.cast("metric", "score.metric"),
        "dimension": types.cast("dimension", "metric.dimension"),
        "is_score": _is_score(plan),
        **range_columns(plan),
    }
    bare = ", ".join(
        [types.cast("scenario", "score.scenario"), *(types.cast(arm, f"treatment.{sql.name(arm)}") for arm in arms)]
    )
    placed = _context(types, axis_columns(plan), arms, "score", "item.context")
    made = (
        f"""create or replace view {sums_name(plan.benchmark.name, bool(items))} as
        select {_SUMS.format(context=context, **casts)}
        from ({rows.with_clusters(rows.sums())}) as score {items}
        left join ({_metrics(plan.metrics, plan.benchmark.languages)}) as metric
          on metric.metric = score.metric{join_arms(plan, "score")}"""
        for context, items in ((bare, ""), (placed, item))
    )
    return [current.rows.parted_sets, *made, *analysis_of_sums(plan.benchmark.name, are_counted(plan, "score"))]


def _with_origins(rows: RunRows, items: str) -> str:
    """Return the items, each with who wrote it for the run that is shown: another model may have written the same
    before."""
    if not rows.of.made:
        return f"select {items}"
    columns = ("written_by", "attempts", "rejections")
    own = ", ".join(
        f"case when slot.slot_id is null then item.{name} else slot.{name} end as {name}" for name in columns
    )
    slots = rows.rows("slots", "slot_id", "slots")
    return f"""select item.* replace ({own}) from (select {items}) as item
          left join (select distinct on (made.dataset, made.item_id) made.* from ({slots}) as made
            where made.item_id is not null order by made.slot_id) as slot
            on slot.dataset = item.dataset and slot.item_id = item.item_id"""


def _talks(plan: Plan) -> str:
    """Return a condition on the samples that are conversations."""
    found = sorted({talk.fingerprint for scenario in plan.scenarios for talk in scenario.talks})
    return f"samples.fingerprint in ({', '.join(map(sql.text, found)) or 'NULL'})"


def _is_score(plan: Plan) -> str:
    """Return a condition that tells scores from the columns that measures look at, which the same table keeps."""
    columns = {step.fingerprint for s in plan.scenarios for step in s.steps if isinstance(step, Column)}
    return f"(score.fingerprint not in ({', '.join(map(sql.text, sorted(columns)))}))" if columns else "true"


def _context(types: Enumerations, axes: list[str], arms: list[str], row: str, context: str) -> str:
    """Return the columns that say where the rows known as `row` stand, whose map of axes is `context`."""
    columns = [types.cast("scenario", f"{row}.scenario")]
    columns.append(types.cast(LANGUAGE, f"coalesce({context}['{LANGUAGE}'], item.language)"))
    columns += [types.cast(axis, f"{context}[{sql.text(axis)}]") for axis in axes]
    columns += [types.cast(arm, f"treatment.{sql.name(arm)}") for arm in arms]
    return ", ".join(columns)


def _metrics(metrics: tuple[Metric, ...], languages: tuple[str, ...]) -> str:
    """Return a table of what the plan says of each metric; the title is that of the first language."""
    columns = "metric, title, dimension, low, high"
    if not metrics:
        empty = "NULL::varchar, NULL::varchar, NULL::varchar, NULL::bigint, NULL::bigint"
        return f"select * from (values ({empty})) as metric ({columns}) where false"
    rows = ", ".join(
        f"({sql.text(metric.name)}, {sql.text(metric.title.get(languages[0]) or metric.name)},"
        f" {sql.text(metric.dimension)}, {metric.low}::bigint, {metric.high}::bigint)"
        for metric in metrics
    )
    return f"select * from (values {rows}) as metric ({columns})"
