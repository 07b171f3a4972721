"""The schema of one benchmark: what is current of it, with the axes and the arms as columns.

Current are the rows whose fingerprint the shown run has. So what an earlier run paid for shows as long
as nothing that determines it has changed, and what a changed prompt left behind does not. Where the
reader asked for one run, its models, its judges and its items are all that shows.

A result stands once for every combination of arms that it belongs to (`treatments`), so what several arms
have in common is a row in each. A score in which no compared model took part, such as that of a student
who was taught nothing, stands once for every compared model: it is what each of them is measured against.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import orjson
from pydantic import ValidationError

from tripos_compiler.plan import Ask, Column, Converse, Metric, Plan
from tripos_warehouse import sql
from tripos_warehouse.enumerations import LANGUAGE, Enumerations, enumerations
from tripos_warehouse.errors import StoreError
from tripos_warehouse.judged_inside import judged_inside
from tripos_warehouse.macros import benchmark_macros
from tripos_warehouse.schemas import HUMAN
from tripos_warehouse.score_ranges import range_columns
from tripos_warehouse.standing_items import abandoned_items
from tripos_warehouse.treatments import arm_columns, baselines, join_arms, shows_several_times

_SCORES = """
  {context},
  score.model, {metric}, {dimension}, score.evaluator, score.round, score.value, score.status, score.error,
  {low}, {high},
  score.item_id, score.sample_id, score.judgement_id, score.score_id, score.scorer, score.judged_by, score.run_id,
  score.fingerprint, score.created_at
"""
_COLUMNS = """
  {context},
  score.model, score.metric, score.value, score.given, score.status, score.error,
  score.item_id, score.sample_id, score.score_id, score.judged_by, score.run_id, score.fingerprint, score.created_at
"""
_AFTER_VALUE = (
    "status, error, low, high, item_id, sample_id, judgement_id, score_id, scorer, judged_by, run_id, fingerprint, "
    "created_at"
)
# Looked up for each score, so that whoever wants few has only the judgements of these read.
_ENTRY = "'$.\"' || score.metric || '\"'"
_REASON = f"{_ENTRY} || '.reason'"
_SAMPLES = """
  {context},
  sample.step, sample.role, sample.model, sample.model_served, sample.sample_number, sample.status,
  sample.reply, sample.parsed, sample.messages, sample.error, sample.finish_reason, sample.attempts,
  sample.tokens_in, sample.tokens_out, sample.tokens_reasoning, sample.cost_usd, sample.latency_s,
  sample.sample_number + 1 as epoch, sample.tokens_in + sample.tokens_out as total_tokens,
  sample.item_id, sample.sample_id, sample.run_id, sample.fingerprint, sample.created_at
"""
_JUDGEMENTS = """
  {context},
  sample.model, judgement.scorer, judgement.evaluator, judgement.round, judgement.source,
  judgement.model_served, judgement.status,
  judgement.reply, judgement.parsed, judgement.messages, judgement.error, judgement.finish_reason,
  judgement.attempts, judgement.tokens_in, judgement.tokens_out, judgement.tokens_reasoning,
  judgement.cost_usd, judgement.latency_s, judgement.tokens_in + judgement.tokens_out as total_tokens,
  coalesce(judgement.item_id, sample.item_id) as item_id, judgement.sample_id, judgement.judgement_id,
  judgement.run_id, judgement.fingerprint,
  judgement.created_at
"""
_COMPARISONS = """
  {context},
  comparison.step, comparison.first_model, comparison.second_model, comparison.evaluator, comparison.round,
  comparison.value, comparison.status, comparison.error,
  comparison.item_id, comparison.first_sample_id, comparison.second_sample_id, comparison.judgement_id,
  comparison.comparison_id, comparison.scorer, comparison.run_id, comparison.fingerprint, comparison.created_at
"""
_TURNS = """
  {context},
  turn.step, turn.conversation_number, turn.number, turn.role, turn.model, turn.text, turn.left_out, turn.status,
  turn.error, turn.finish_reason, turn.model_served, turn.attempts, turn.tokens_in, turn.tokens_out,
  turn.tokens_reasoning, turn.cost_usd, turn.latency_s, turn.item_id, turn.conversation_id, turn.turn_id, turn.run_id,
  turn.fingerprint, turn.created_at
"""
_CONVERSATIONS = """
  {context},
  talk.step, talk.role, talk.model, talk.models, talk.sample_number as conversation_number, talk.status,
  talk.turns, talk.ended, talk.ended_by, talk.reply as transcript, talk.error, talk.attempts,
  talk.tokens_in, talk.tokens_out, talk.tokens_reasoning, talk.cost_usd, talk.latency_s,
  talk.item_id, talk.sample_id as conversation_id, talk.run_id, talk.fingerprint, talk.created_at
"""
_TOLD = "case when json_valid(samples.parsed) then samples.parsed end"
_TALKS = f"""select samples.*, json_array_length({_TOLD}, '$.turns')::bigint as turns,
          json_extract_string({_TOLD}, '$.ended') as ended, json_extract_string({_TOLD}, '$.ended_by') as ended_by,
          json_extract({_TOLD}, '$.models')::varchar as models"""
_ITEMS = "{context}, item.dataset, item.item_id, item.fields, item.written_by, item.attempts, item.rejections"
_SLOTS = """
  {context},
  slot.dataset, slot.number, slot.status, slot.written_by, slot.attempts, slot.rejections,
  slot.item_id, slot.slot_id, slot.run_id, slot.fingerprint, slot.created_at
"""

FIXED_COLUMNS = frozenset(
    word.rpartition(" as ")[2].rpartition(".")[2].strip(" {}\n")
    for columns in (
        *(_SCORES, _COLUMNS, _SAMPLES, _JUDGEMENTS, _COMPARISONS, _TURNS, _CONVERSATIONS, _ITEMS, _SLOTS),
        "scenario, reason",
    )
    for word in columns.replace("{context}", "").split(",")
) - {""}
"""What the views call their columns; no axis has such a name (`tripos_compiler.reserved`)."""


@dataclass(frozen=True)
class Current:
    """The run that decides what shows of its benchmark. `exact`: it was asked for by name, so nothing else may show.
    `shared`: runs of other benchmarks have steps of it, since one extends the other, so their results are its own."""

    run_id: str
    plan: Plan
    fingerprints: tuple[str, ...]
    roles: dict[str, tuple[str, ...]]
    compared_role: str
    models: tuple[str, ...]
    exact: bool
    shared: bool = False

    @classmethod
    def of_row(cls, row: tuple[Any, ...], exact: bool) -> Current:
        """From `run_id, benchmark, plan, fingerprints, roles, compared_role, models`.

        Raises `StoreError` W0104 where the plan is of a format that we do not know.
        """
        run_id, benchmark, plan, fingerprints, roles, compared_role, models = row
        return cls(
            run_id,
            read_plan(plan, run_id, benchmark),
            tuple(fingerprints),
            {role: tuple(names) for role, names in orjson.loads(roles).items()},
            compared_role,
            tuple(models),
            exact,
        )


def read_plan(text: str, run_id: str, benchmark: str) -> Plan:
    """The plan that a run was made from. Raises `StoreError` W0104 where it is of an unknown format."""
    try:
        return Plan.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise StoreError(
            "W0104",
            f"the plan of run `{run_id}` of `{benchmark}` is not one that this Tripos reads: {where}: {problem['msg']}",
            "update Tripos, or run the benchmark again",
        ) from error


def axis_columns(plan: Plan) -> list[str]:
    """The columns of the axes, in plan order; `language` is not among them, since every view has it."""
    return [axis.name for axis in plan.axes if axis.name != LANGUAGE]


def benchmark_views(current: Current, values: Mapping[str, Sequence[str]] = MappingProxyType({})) -> list[str]:
    """The statements that make the schema: its enumerations, `items`, `slots`, `samples`, `judgements`, `metrics`,
    `scores`, `columns`, `rationales`, `comparisons`, `conversations`, `turns`, and the macros. `values` are those that
    the data have in the columns that are enumerations."""
    plan = current.plan
    schema = sql.name(plan.benchmark.name)
    axes, arms = axis_columns(plan), arm_columns(plan)
    types = enumerations(plan, values)
    mine = f"benchmark = {sql.text(plan.benchmark.name)}"
    # `in (…)` and not `list_contains`: only the former is compared with the statistics of a Parquet file.
    # DuckDB answers twice as fast where it is told the benchmark too, which is not to be had of what is shared.
    fresh = "" if current.shared else f"{mine} and "
    fresh += f"fingerprint in ({', '.join(map(sql.text, current.fingerprints)) or 'NULL'})"
    items, samples, judgements = _only(current)
    samples += _asked(plan)
    is_score = _is_score(plan)
    item_key = "item.benchmark = {0}.benchmark and item.scenario = {0}.scenario and item.item_id = {0}.item_id"

    def context(row: str, context: str, arms: list[str]) -> str:
        return _context(types, axes, arms, row, context)

    metrics = _metrics(plan.metrics, plan.benchmark.languages)
    listed = f"{types.cast('metric', 'metric')}, title, {types.cast('dimension', 'dimension')}, low, high"
    return [
        f"create schema if not exists {schema}",
        *types.statements,
        f"""create or replace view {schema}.items as
        select {_ITEMS.format(context=context("item", "item.context", []))}
        from main.items as item where {mine}{items}""",
        f"""create or replace view {schema}.slots as
        select {_SLOTS.format(context=context("slot", "slot.context", []))}
        from (from main.slots where {fresh}) as slot
        left join main.items as item on {item_key.format("slot")}""",
        f"""create or replace view {schema}.samples as
        select {_SAMPLES.format(context=context("sample", "sample.context", arms))}
        from (from main.samples where {fresh}{samples}) as sample
        left join main.items as item on {item_key.format("sample")}{join_arms(plan, "sample")}""",
        f"""create or replace view {schema}.judgements as
        select {_JUDGEMENTS.format(context=context("judgement", "coalesce(sample.context, item.context)", arms))}
        from (from main.judgements where {fresh}{judgements}) as judgement
        left join main.samples as sample on sample.sample_id = judgement.sample_id
        left join main.items as item on item.benchmark = judgement.benchmark and item.scenario = judgement.scenario
          and item.item_id = coalesce(judgement.item_id, sample.item_id){join_arms(plan, "judgement")}""",
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
        from ({_scores(current, fresh)}) as score
        left join main.items as item on {item_key.format("score")}
        left join ({metrics}) as metric on metric.metric = score.metric{join_arms(plan, "score")}
        where {is_score}""",
        f"""create or replace view {schema}.columns as
        select {_COLUMNS.format(context=context("score", "item.context", arms))}
        from ({_scores(current, fresh)}) as score
        left join main.items as item on {item_key.format("score")}{join_arms(plan, "score")}
        where not {is_score}""",
        f"""create or replace view {schema}.rationales as
        select score.* exclude ({_AFTER_VALUE}), json_extract_string(given.parsed, {_REASON}) as reason, score.item_id,
          score.sample_id, score.judgement_id, score.score_id
        from {schema}.scores as score
        join (
          select judgements.judgement_id, judgements.sample_id,
            case when json_valid(judgements.parsed) then judgements.parsed end as parsed
          from main.judgements where {fresh}
        ) as given on given.judgement_id = score.judgement_id and given.sample_id = score.sample_id
        where json_exists(given.parsed, {_ENTRY})""",
        f"""create or replace view {schema}.comparisons as
        select {_COMPARISONS.format(context=context("comparison", "item.context", arms))}
        from (from main.comparisons where {fresh}{_compared(current)}) as comparison
        left join main.items as item on {item_key.format("comparison")}{join_arms(plan, "comparison")}""",
        f"""create or replace view {schema}.conversations as
        select {_CONVERSATIONS.format(context=context("talk", "talk.context", arms))}
        from ({_TALKS} from main.samples where {_talks(plan, fresh)}{samples}) as talk
        left join main.items as item on {item_key.format("talk")}{join_arms(plan, "talk")}""",
        f"""create or replace view {schema}.turns as
        select {_TURNS.format(context=context("turn", "item.context", arms))}
        from (from main.turns where {fresh}{_said(current)}) as turn
        left join main.items as item on {item_key.format("turn")}{join_arms(plan, "turn")}""",
        *benchmark_macros(
            plan.benchmark.name,
            [LANGUAGE, *axes, *arms],
            types.types,
            shows_several_times(plan, current.compared_role),
            arms,
        ),
    ]


def _talks(plan: Plan, fresh: str) -> str:
    """A condition on the samples that are conversations."""
    found = sorted({talk.fingerprint for scenario in plan.scenarios for talk in scenario.talks})
    return f"{fresh} and fingerprint in ({', '.join(map(sql.text, found)) or 'NULL'})"


def _said(current: Current) -> str:
    """Further conditions on turns where one run was asked for."""
    if not current.exact:
        return ""
    filling = {**current.roles, current.compared_role: current.models}
    by_role = [
        f"(turns.role = {sql.text(role)} and {_among('turns.model', models)})"
        for role, models in sorted(filling.items())
    ]
    return f"{_covered(current, 'turns')} and ({' or '.join(by_role)})"


def _is_score(plan: Plan) -> str:
    """A condition that tells scores from the columns that measures look at, which the same table keeps."""
    columns = {step.fingerprint for s in plan.scenarios for step in s.steps if isinstance(step, Column)}
    return f"(score.fingerprint not in ({', '.join(map(sql.text, sorted(columns)))}))" if columns else "true"


def _context(types: Enumerations, axes: list[str], arms: list[str], row: str, context: str) -> str:
    """The columns that say where the rows known as `row` stand, whose map of axes is `context`."""
    columns = [types.cast("scenario", f"{row}.scenario")]
    columns.append(types.cast(LANGUAGE, f"coalesce({context}['{LANGUAGE}'], item.language)"))
    columns += [types.cast(axis, f"{context}[{sql.text(axis)}]") for axis in axes]
    columns += [types.cast(arm, f"treatment.{sql.name(arm)}") for arm in arms]
    return ", ".join(columns)


def _scores(current: Current, fresh: str) -> str:
    """The current scores, each under every compared model that it tells about."""
    judged = own = asked = ""
    if not current.exact and (lost := abandoned_items(current.plan, current.run_id)) is not None:
        judged = f" and scores.item_id not in ({lost})"
    if current.exact:
        judged = f"{_covered(current, 'scores')} and (scores.evaluator is null or {_graded_by(current, 'scores')})"
        judged += judged_inside(current.plan, current.roles, current.compared_role)
        own = f" and {_among('scores.model', current.models)}"
        asked = f" and sample_id in (select sample_id from {sql.name(current.plan.benchmark.name)}.samples)"
    found = baselines(current.plan, current.compared_role)
    if not found.fingerprints:
        return f"select * from main.scores where {fresh}{judged}{own}"
    common = f"fingerprint in ({', '.join(map(sql.text, found.fingerprints))})"
    about = f"select * from main.scores where {fresh} and not {common}{judged}{own}"
    compared = [f"select distinct about.scenario, about.item_id, about.model from ({about}) as about"]
    run = f" and run.run_id = {sql.text(current.run_id)}" if current.exact else ""
    compared += [
        f"""select distinct listed.scenario, listed.item_id, unnest(run.models) as model
          from main.runs as run join main.run_items as listed on listed.run_id = run.run_id
          where run.benchmark = {sql.text(current.plan.benchmark.name)} and listed.scenario = {sql.text(scenario)}
            and list_has_any(run.fingerprints, {sql.texts(fingerprints)}){run}"""
        for scenario, fingerprints in found.alone.items()
    ]
    return f"""{about}
          union all by name
          select score.* replace (compared.model as model)
          from (from main.scores where {fresh} and {common}{judged}{asked}) as score
          join ({" union ".join(compared)}) as compared
            on compared.scenario = score.scenario and compared.item_id = score.item_id"""


def _asked(plan: Plan) -> str:
    """A condition without the samples that an earlier plan asked for beyond what this one does."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask | Converse)]
    counts = {step.fingerprint: step.samples for step in steps}
    beyond = [f"(fingerprint = {sql.text(each)} and sample_number >= {count})" for each, count in counts.items()]
    return f" and not ({' or '.join(beyond)})" if beyond else ""


# Columns are named with their table also where they need not be: a macro whose parameter is called like a column that
# stands alone, in whatever view it reads, cannot be made.
def _only(current: Current) -> tuple[str, str, str]:
    """Further conditions on items, samples and judgements."""
    if not current.exact:
        lost = abandoned_items(current.plan, current.run_id)
        if lost is None:
            return "", "", ""
        of_lost = f"select sample_id from main.samples where item_id in ({lost})"
        return (
            f" and item.item_id not in ({lost})",
            f" and samples.item_id not in ({lost})",
            f" and (judgements.item_id is null or judgements.item_id not in ({lost}))"
            f" and (judgements.sample_id is null or judgements.sample_id not in ({of_lost}))",
        )
    filling = {**current.roles, current.compared_role: current.models}
    by_role = [
        f"(samples.role = {sql.text(role)} and {_among('samples.model', models)})"
        for role, models in sorted(filling.items())
    ]
    samples = f"{_covered(current, 'samples')} and ({' or '.join(by_role)})"
    judgements = (
        f" and {_graded_by(current, 'judgements')} and (sample_id is null or sample_id in"
        f" (select sample_id from {sql.name(current.plan.benchmark.name)}.samples))"
    )
    return _covered(current, "item"), samples, judgements


def _compared(current: Current) -> str:
    """Further conditions on comparisons."""
    if not current.exact:
        lost = abandoned_items(current.plan, current.run_id)
        return "" if lost is None else f" and comparisons.item_id not in ({lost})"
    both = " and ".join(_among(f"comparisons.{side}_model", current.models) for side in ("first", "second"))
    return f"{_covered(current, 'comparisons')} and {both} and {_graded_by(current, 'comparisons')}"


def _covered(current: Current, row: str) -> str:
    """A condition on the rows known as `row`: their item is one of the run's."""
    return (
        f" and ({row}.scenario, {row}.item_id) in (select (run_items.scenario, run_items.item_id) from main.run_items"
        f" where run_items.run_id = {sql.text(current.run_id)})"
    )


def _graded_by(current: Current, row: str) -> str:
    """A condition on the rows known as `row`: graded by the models of the run, by people, who grade after it, or by
    somebody whose scores were imported, since nobody else brings those to a report."""
    people = f"starts_with({row}.evaluator, {sql.text(HUMAN)})"
    return f"({_among(f'{row}.evaluator', _judges(current))} or {people} or {row}.round is not null)"


def _judges(current: Current) -> list[str]:
    return sorted({model for models in current.roles.values() for model in models})


def _among(column: str, values: Iterable[str]) -> str:
    return f"list_contains({sql.texts(values)}::varchar[], {column})"


def _metrics(metrics: tuple[Metric, ...], languages: tuple[str, ...]) -> str:
    """A table of what the plan says of each metric; the title is that of the first language."""
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
