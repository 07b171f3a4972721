"""The schema of one benchmark: views of the rows of a run, or of the latest state, with axes and arms as columns.

A result has a row for every combination of arms that it belongs to (`treatments`), so a result that several arms share
has a row in each. A score without a compared model, such as that of a student who was taught nothing, has a row for
every compared model, since it is the reference for each of them.

Expected scores. An outside rater who graded any reply for a scorer in a round is expected to grade every reply for that
scorer, on every metric allocated to it. A missing score has no value and the status `not_given`. So it is in the
denominator of coverage, and `missing: zero` and `missing: fail` apply to it, as they do to a judge's missing score.

People and models. A person grades some of the replies that a judge grades, so a mean over both would change with every
reply that a person adds. Figures are therefore over models; people have figures of their own, and there is a figure
over both only if the spec joins them: `role judge panel with people`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from pydantic import ValidationError

from tripos_compiler.language.contexts import Clustering, RowClusters
from tripos_compiler.language.intervals import ranges_of
from tripos_compiler.library.ranges import Interval
from tripos_compiler.plan import Ask, Column, Compare, Grade, Metric, Plan, Score, turns_before
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.dimensions import (
    LANGUAGE,
    Enumerations,
    arm_columns,
    enumerations,
    join_arms,
    last_turns,
    shows_several_times,
)
from tripos_warehouse.views.macros import JudgedReason, analysis_of_sums, benchmark_macros
from tripos_warehouse.views.notes import OUTDATED, standing_notes
from tripos_warehouse.views.run_rows import RunRows, sums_name


def range_columns(plan: Plan) -> dict[str, str]:
    """Return the SQL of the columns `low` and `high` of scores, by column name. It refers to a score as `score` and to
    the row of its metric as `metric`.

    The bounds are those of the score's own step, or else those of the metric. The result of an expression has none,
    unless it is true or false, or a field with a scale.
    """
    fingerprints: dict[Interval, set[str]] = {}
    ranges = ranges_of(plan)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                scale = ranges.scale_of(scenario, step)
                if scale is not None:
                    fingerprints.setdefault(scale, set()).add(step.fingerprint)
    return {name: _range_column(name, place, fingerprints) for place, name in enumerate(("low", "high"))}


def _range_column(name: str, place: int, fingerprints: dict[Interval, set[str]]) -> str:
    """Return the SQL of one column of `range_columns`; `place` is that of its end in a scale. `fingerprints` has the
    steps with each scale."""
    if not fingerprints:
        return f"metric.{name}"
    whens = " ".join(
        f"when score.fingerprint in ({', '.join(map(sql.text, sorted(steps)))}) then {ends[place]:.0f}::bigint"
        for ends, steps in sorted(fingerprints.items())
    )
    return f"case {whens} else metric.{name} end as {name}"


# Scores that outside raters were expected to give
NOT_GIVEN = "not_given"
"""The status of an expected score that a rater did not give."""
OF_REPLY = "^(sample_id|item_id|model|run_id|shown_run|created_at)$"
"""The columns that a score's row takes from its reply."""


def with_expected(plan: Plan, scores: str) -> str:
    """Return the query `scores` extended by the expected scores that raters did not give. It reads the benchmark's view
    of samples. A person with scores only of replies that are not shown, or of other models' texts derived from them, is
    not expected to give any.
    """
    expected = sorted(_expected_scores(plan))
    if not expected:
        return scores
    schema = sql.name(plan.benchmark.name)
    rows = ", ".join(f"({', '.join(map(sql.text, row))})" for row in expected)
    graded = ", ".join(sorted({sql.text(row[2]) for row in expected}))
    given = f"""from ({scores}) as given
          where given.round is not null and given.fingerprint in ({graded})"""
    # A row for each score of the query `scores`, and for each expected score that is missing, with status `not_given`.
    return f"""{scores}
        union all by name
        select reply.* exclude (asked), {sql.text(plan.benchmark.name)} as benchmark, wanted.scorer, wanted.metric,
          rater.evaluator, rater.round, NULL::double as value, {sql.text(NOT_GIVEN)} as status,
          wanted.fingerprint, concat_ws(' ', {sql.text(NOT_GIVEN)}, reply.sample_id, wanted.fingerprint, wanted.metric,
            rater.evaluator, rater.round) as score_id
        from (
          select distinct samples.scenario::varchar as scenario, samples.fingerprint as asked, columns('{OF_REPLY}')
          from {last_turns(plan)} as samples where samples.reply is not null
        ) as reply
        join (values {rows}) as wanted (scenario, asked, fingerprint, scorer, metric)
          on wanted.scenario = reply.scenario and wanted.asked = reply.asked
        join (
          select distinct given.evaluator, given.round, given.scorer, graded.shown_run
          from (select * {given}) as given join {schema}.samples as graded using (sample_id)
        ) as rater on rater.scorer = wanted.scorer and rater.shown_run is not distinct from reply.shown_run
        where not exists (
          select 1 {given} and given.sample_id = reply.sample_id and given.fingerprint = wanted.fingerprint
            and given.metric = wanted.metric and given.evaluator = rater.evaluator and given.round = rater.round
        ) and not exists (
          select 1 from ({scores}) as ruled_out where ruled_out.status = 'not_applicable'
            and ruled_out.sample_id = reply.sample_id and ruled_out.fingerprint = wanted.fingerprint
            and ruled_out.metric = wanted.metric
        )"""


def _expected_scores(plan: Plan) -> set[tuple[str, str, str, str, str]]:
    """Return (scenario, fingerprint of the ask, fingerprint of the grade, scorer, metric) of every score that a scorer
    gives to a reply.
    """
    expected = set()
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            asks = {step.name: step for step in treatment.steps if isinstance(step, Ask)}
            for step in treatment.steps:
                if isinstance(step, Grade) and step.of in asks:
                    for ask in (asks[step.of], *turns_before(asks[step.of], asks)):
                        for metric in step.metrics or (step.name,):
                            expected.add((scenario.name, ask.fingerprint, step.fingerprint, step.scorer, metric))
    return expected


# People beside models
Graders = Literal["counted", "people", "each"]
"""The evaluators of a figure: `counted`, those in figures of models; `people`, those who are kept separate; `each`,
all, with a figure for every evaluator.
"""


def separate_people_scorers(plan: Plan) -> tuple[str, ...]:
    """Return the scorers whose role does not join people with models, and the element scores that such a scorer
    decides.
    """
    joined = {role.name for role in plan.roles if role.with_people}
    separate = {scorer.name for scorer in plan.scorers if scorer.role not in joined}
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return tuple(sorted(separate | {step.name for step in steps if isinstance(step, Score) and step.judge in separate}))


def counts_in_figures(plan: Plan, row: str = "") -> str:
    """Return the SQL condition of scores that count in figures; `row` is the alias of the row."""
    return f"not coalesce({is_separate_person(plan, row)}, false)"


def is_separate_person(plan: Plan, row: str = "", scorers: Collection[str] | None = None) -> str:
    """Return the SQL condition of scores by people who are kept out of figures of models. `row` is the alias of the
    row. `scorers` are all scorers of the rows, if they are known, which shortens the condition.
    """
    separate = separate_people_scorers(plan)
    prefix = f"{row}." if row else ""
    by_person = f"starts_with({prefix}evaluator, {sql.text(HUMAN)})"
    if scorers is not None and set(scorers) <= set(separate):
        return by_person
    separate = separate if scorers is None else tuple(scorer for scorer in separate if scorer in set(scorers))
    return f"({by_person} and {prefix}scorer in {sql.texts(separate)})" if separate else "false"


def separate_people(connection: Connection, plan: Plan) -> tuple[str, ...]:
    """Return the people whose scores are in no figure of models, among the rows in the views of `connection`."""
    if not separate_people_scorers(plan):
        return ()
    schema = sql.name(plan.benchmark.name)
    views = ["scores"]
    if any(isinstance(step, Compare) for scenario in plan.scenarios for step in scenario.steps):
        views.append("comparisons")
    people = " union ".join(f"select evaluator from {schema}.{view} where {is_separate_person(plan)}" for view in views)
    query = f"select distinct evaluator from ({people}) order by all"
    return tuple(name for (name,) in connection.execute(query).fetchall())


# The views
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
_VALID_PARSED = "case when json_valid(samples.parsed) then samples.parsed end"
_CONVERSATION_SAMPLES = f"""select samples.*, json_array_length({_VALID_PARSED}, '$.turns')::bigint as turns,
          json_extract_string({_VALID_PARSED}, '$.ended') as ended,
          json_extract_string({_VALID_PARSED}, '$.ended_by') as ended_by,
          json_extract({_VALID_PARSED}, '$.models')::varchar as models"""
_ITEMS = """
  {context}, item.dataset, item.item_id, listed.cluster_id, item.fields, item.written_by, item.attempts,
  item.rejections, listed.shown_run
"""
_SLOTS = """
  {context},
  slot.dataset, slot.number, slot.status, slot.written_by, slot.attempts, slot.rejections,
  slot.item_id, slot.slot_id, slot.run_id, slot.shown_run, slot.fingerprint, slot.created_at
"""
_NOTES = """
  {context},
  sample.step, sample.role, sample.model, sample.sample_number,
  note.note_flag, note.note_text, note.noted_by, {outdated} as note_outdated,
  sample.item_id, sample.sample_id, note.note_id, note.run_id, sample.shown_run, note.created_at
"""

FIXED_COLUMNS = frozenset(
    word.rpartition(" as ")[2].rpartition(".")[2].strip(" {}\n")
    for columns in (
        *(_SCORES, _COLUMNS, _SAMPLES, _JUDGEMENTS, _COMPARISONS, _TURNS, _CONVERSATIONS, _ITEMS, _SLOTS, _NOTES),
        "scenario, reason",
    )
    for word in columns.replace("{context}", "").split(",")
) - {""}
"""The column names of the views, which no axis may have (`RESERVED_AXES` of the compiler)."""


@dataclass(frozen=True)
class Current:
    """The content of a benchmark's schema: rows, and the plan by which they are read."""

    plan: Plan
    compared_role: str
    rows: RunRows


def read_plan(text: str, run_id: str, benchmark: str) -> Plan:
    """Return the plan of a run from its JSON. Raises `StoreError` S0104 if its format is unknown, or if it is the plan
    of another benchmark."""
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
    """Return the columns of the axes in plan order, without `language`, which every view has."""
    return [axis.name for axis in plan.axes if axis.name != LANGUAGE]


def benchmark_views(
    current: Current,
    values: Mapping[str, Sequence[str]] = MappingProxyType({}),
    imported: bool = False,
    many: bool = False,
) -> list[str]:
    """Return the statements that create the schema: enumerations, `items`, `slots`, `samples`, `judgements`, `metrics`,
    `scores`, `columns`, `rationales`, `comparisons`, `conversations`, `turns`, `notes`, and the macros.

    `values` are the values in the data, by enumeration column. `imported` is true if there are scores from outside a
    run, and `many` if there are so many scores that means are computed from sums.
    """
    plan = current.plan
    schema = sql.name(plan.benchmark.name)
    axes, arms = axis_columns(plan), arm_columns(plan)
    types = enumerations(plan, values)
    is_own = f"kept.benchmark = {sql.text(plan.benchmark.name)}"
    rows = current.rows
    # The benchmark that this one extends may have listed an item before.
    items = (
        f"distinct on (kept.scenario, kept.item_id) kept.* from main.items as kept order by {is_own} desc"
        if rows.of.shared
        else f"kept.* from main.items as kept where {is_own}"
    )
    place = [sql.name(name) for name in ("scenario", LANGUAGE, *axes, *arms)]
    is_score = _is_score(plan)
    columns = rows.with_clusters(rows.scores())
    scores = rows.with_clusters(with_expected(plan, rows.scores())) if imported else columns
    comparisons = rows.with_clusters(rows.rows("comparisons", "comparison_id"))
    item_key = "item.benchmark = {0}.benchmark and item.scenario = {0}.scenario and item.item_id = {0}.item_id"

    def context(row: str, context: str, arms: list[str]) -> str:
        return _context(types, axes, arms, row, context)

    single = [scorer.name for scorer in plan.scorers if scorer.gives is not None and scorer.writes]
    reason = JudgedReason.of("score", single)
    metrics = _metrics(plan.metrics, plan.benchmark.languages)
    metric_columns = f"{types.cast('metric', 'metric')}, title, {types.cast('dimension', 'dimension')}, low, high"
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
        f"create or replace view {schema}.metrics as select {metric_columns} from ({metrics})",
        # A row for each score, compared model and combination of arms.
        f"""create or replace view {schema}.scores as
        select {
            _SCORES.format(
                context=context("score", "item.context", arms),
                metric=types.cast("metric", "score.metric"),
                dimension=types.cast("dimension", "metric.dimension"),
                **range_columns(plan),
            )
        }
        from ({scores}) as score
        left join main.items as item on {item_key.format("score")}
        left join ({metrics}) as metric on metric.metric = score.metric{join_arms(plan, "score")}
        where {is_score}""",
        f"""create or replace view {schema}.columns as
        select {_COLUMNS.format(context=context("score", "item.context", arms))}
        from ({columns}) as score
        left join main.items as item on {item_key.format("score")}{join_arms(plan, "score")}
        where not {is_score}""",
        # A row for each score that a judge's reply gives a reason for. The path of the reason is made for each score,
        # so that a query for few scores reads few judgements.
        f"""create or replace view {schema}.rationales as
        select score.* exclude ({_AFTER_VALUE}), {reason.text} as reason,
          score.item_id, score.sample_id, score.judgement_id, score.score_id, score.shown_run
        from {schema}.scores as score
        join (
          select kept.judgement_id, kept.sample_id,
            case when json_valid(kept.parsed) then kept.parsed end as parsed
          from main.judgements as kept where {rows.of.in_benchmark("kept")}
        ) as given on given.judgement_id = score.judgement_id and given.sample_id = score.sample_id
        where {reason.exists}""",
        f"""create or replace view {schema}.comparisons as
        select {_COMPARISONS.format(context=context("comparison", "item.context", arms))}
        from ({comparisons}) as comparison
        left join main.items as item on {item_key.format("comparison")}{join_arms(plan, "comparison")}""",
        f"""create or replace view {schema}.conversations as
        select {_CONVERSATIONS.format(context=context("talk", "talk.context", arms))}
        from ({_CONVERSATION_SAMPLES} from ({rows.rows("samples", "sample_id")}) as samples
          where {_is_conversation(plan)}) as talk
        left join main.items as item on {item_key.format("talk")}{join_arms(plan, "talk", asked=True)}""",
        f"""create or replace view {schema}.turns as
        select {_TURNS.format(context=context("turn", "item.context", arms))}
        from ({rows.rows("turns", "turn_id")}) as turn
        left join main.items as item on {item_key.format("turn")}{join_arms(plan, "turn", asked=True)}""",
        # A row for each standing note on a reply, in each combination of arms that the reply belongs to.
        f"""create or replace view {schema}.notes as
        select {_NOTES.format(context=", ".join(f"sample.{name}" for name in place), outdated=OUTDATED)}
        from ({standing_notes("main.notes")}) as note join {schema}.samples as sample using (sample_id)""",
        *benchmark_macros(
            plan.benchmark.name,
            [LANGUAGE, *axes, *arms],
            types,
            shows_several_times(plan, current.compared_role),
            arms,
            counts_in_figures(plan, "score"),
            rows.moments if many else None,
            single,
        ),
    ]


OF_SUMS = 6
"""The number of statements of `sum_views`."""


def sum_views(current: Current, values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the statements that create the views of the sums of a benchmark: one without axes, which reads no items,
    one with axes, and the item analysis from the first.

    The first statement is a query that has a row if the sums must not be used. The list is empty if list elements have
    scores of their own, some models were asked about some items only, or steps have conditions.
    """
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
    without_axes = ", ".join(
        [types.cast("scenario", "score.scenario"), *(types.cast(arm, f"treatment.{sql.name(arm)}") for arm in arms)]
    )
    with_axes = _context(types, axis_columns(plan), arms, "score", "item.context")
    views = (
        f"""create or replace view {sums_name(plan.benchmark.name, bool(items))} as
        select {_SUMS.format(context=context, **casts)}
        from ({rows.with_clusters(rows.sums())}) as score {items}
        left join ({_metrics(plan.metrics, plan.benchmark.languages)}) as metric
          on metric.metric = score.metric{join_arms(plan, "score")}"""
        for context, items in ((without_axes, ""), (with_axes, item))
    )
    return [current.rows.partial_sets, *views, *analysis_of_sums(plan.benchmark.name, counts_in_figures(plan, "score"))]


def _with_origins(rows: RunRows, items: str) -> str:
    """Return the query of items, each with the model that wrote it in the shown run: another model may have written the
    same item before.
    """
    if not rows.of.generated:
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


def _is_conversation(plan: Plan) -> str:
    """Return the SQL condition of samples that are conversations."""
    fingerprints = sorted({step.fingerprint for scenario in plan.scenarios for step in scenario.conversations})
    return f"samples.fingerprint in ({', '.join(map(sql.text, fingerprints)) or 'NULL'})"


def _is_score(plan: Plan) -> str:
    """Return the SQL condition that distinguishes scores from the columns of measures in the same table."""
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    columns = {step.fingerprint for step in steps if isinstance(step, Column)}
    return f"(score.fingerprint not in ({', '.join(map(sql.text, sorted(columns)))}))" if columns else "true"


def _context(types: Enumerations, axes: list[str], arms: list[str], row: str, context: str) -> str:
    """Return the SQL of the columns of scenario, language, axes and arms of the alias `row`. `context` is the SQL of
    the map of axis values."""
    columns = [types.cast("scenario", f"{row}.scenario")]
    columns.append(types.cast(LANGUAGE, f"coalesce({context}['{LANGUAGE}'], item.language)"))
    columns += [types.cast(axis, f"{context}[{sql.text(axis)}]") for axis in axes]
    columns += [types.cast(arm, f"treatment.{sql.name(arm)}") for arm in arms]
    return ", ".join(columns)


def _metrics(metrics: tuple[Metric, ...], languages: tuple[str, ...]) -> str:
    """Return the query of the plan's metrics, with titles in the first language."""
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


# Clusters of items
def clusters_of(connection: Connection, plan: Plan) -> Mapping[str, str]:
    """Return the cluster of each item that shares one with others, by item; any other item is its own cluster."""
    if not RowClusters(plan).scenarios:
        return {}
    query = f"""select item_id, min(cluster_id) from {sql.name(plan.benchmark.name)}.items
      where cluster_id <> item_id group by item_id"""
    return dict(connection.execute(query).fetchall())


def clusterings_of(connection: Connection, plan: Plan) -> tuple[Clustering, ...]:
    """Return the clusterings of the shown items; empty if no items share a cluster."""
    clusters = RowClusters(plan)
    if not clusters.scenarios:
        return ()
    members: dict[str, list[tuple[str, str]]] = {}
    query = f"select scenario::varchar, item_id, cluster_id from {sql.name(plan.benchmark.name)}.items order by all"
    for scenario, item, cluster in connection.execute(query).fetchall():
        members.setdefault(scenario, []).append((item, cluster))
    return clusters.count(members)


def lacks_clusters(connection: Connection, plan: Plan) -> bool:
    """Return true if the plan has clusters but the shown items have none, since an earlier run listed them without."""
    clusters = RowClusters(plan)
    if not any(
        scenario.rows is not None and clusters.by(scenario.rows.dataset) is not None for scenario in plan.scenarios
    ):
        return False
    query = f"select 1 from {sql.name(plan.benchmark.name)}.items where cluster_id <> item_id limit 1"
    return connection.execute(query).fetchone() is None


def count_clusters(items: Collection[str], clusters: Mapping[str, str]) -> int:
    """Return the number of clusters of some items.

    >>> count_clusters({"a", "b", "c"}, {"a": "x", "b": "x"})
    2
    """
    return len({clusters.get(item, item) for item in items}) if clusters else len(items)
