"""The table macros: what people ask all the time, as functions to select from."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tripos_warehouse import sql
from tripos_warehouse.query import ANALYSIS_OF_SUMS, ITEM_ANALYSIS, SUBSET_GAP, placed
from tripos_warehouse.views.dimensions import Enumerations
from tripos_warehouse.views.run_rows import analysis_name, sums_name


def _same(table: str) -> str:
    columns = ("part", "metric", "evaluator", "scale")
    return " and ".join(f"{table}.{each} is not distinct from board.{each}" for each in columns)


# A parameter hides a column of its name, so columns are named with their table throughout. A metric has a scale, and an
# evaluator a severity, so a mean is of one metric by one evaluator: nothing here adds up figures of unlike meaning.
# What each model has scores of matters beside a baseline only: where no run has any, the second reading of the scores
# is of nothing.
_MEANS = (
    """
macro {schema}.means(per := NULL, metric := NULL, scenario := NULL, evaluator := NULL) as table
with given as not materialized (
  select {per}, score.model, score.cluster_id, score.value, score.low, score.high, score.scenario, score.metric,
    score.evaluator
  from {schema}.scores as score
  where score.status <> 'not_applicable' and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario)
    and (evaluator is null or score.evaluator = evaluator){not_told}),
{told}items as (
  select given.part, given.place, given.metric, given.evaluator, given.model, given.low, given.high, given.cluster_id,
    sum(given.value order by given.value) as total, count(given.value) as n, count(*) as rows,
    pow(sum(given.value order by given.value), 2) as squares,
    sum(given.value order by given.value) * count(given.value) as products, pow(count(given.value), 2) as counts,
    (count(given.value) > 0)::int as items
  from given group by all{told_items}),
board as (
select items.part, items.place, items.metric, items.evaluator, items.model,
  sum(items.total order by items.total) / nullif(sum(items.n), 0) as mean,
  sqrt(greatest(0, sum(items.squares order by items.squares)
      - 2 * sum(items.total order by items.total) / nullif(sum(items.n), 0)
        * sum(items.products order by items.products)
      + pow(sum(items.total order by items.total) / nullif(sum(items.n), 0), 2) * sum(items.counts))
    * sum(items.items) / nullif(sum(items.items) - 1, 0)) / nullif(sum(items.n), 0)
    as standard_error,
  sum(items.items)::bigint as items, sum(items.n)::bigint as scores,
  (sum(items.rows) - sum(items.n))::bigint as without, items.low || '..' || items.high as scale,
  items.low as least, items.high as most
from items group by items.part, items.place, items.metric, items.evaluator, items.model, items.low, items.high),
valued as (
  select given.part, given.metric, given.evaluator, given.model, given.low, given.high, given.scenario
  from {with_value} as given,
    (select distinct true from main.runs where array_to_string(main.runs.models, ' ') like '%baseline/%')
  where given.value is not null and (given.low is not null or given.evaluator is not null) group by all),
covered as (
  select valued.part, valued.metric, valued.evaluator, valued.model, valued.low || '..' || valued.high as scale,
    list(valued.scenario order by valued.scenario) as covers
  from valued group by valued.part, valued.metric, valued.evaluator, valued.model, valued.low, valued.high),
free as (
  select board.part, board.metric, board.evaluator, board.scale, covered.covers, max(board.mean) as mean,
    arg_max(board.model, board.mean) as model
  from board join covered on {same} and covered.model = board.model
  where starts_with(board.model, 'baseline/') group by all),
floored as (
  select board.*, free.model as baseline,
    case when not starts_with(board.model, 'baseline/') then free.mean end as floor
  from board left join covered on {same} and covered.model = board.model
    left join free on {same_free} and free.covers = covered.covers)
select placed.part, placed.metric, placed.evaluator, placed.model, placed.mean, placed.standard_error, placed.items,
  placed.scores, placed.without, placed.scale, case when not placed.clears then placed.baseline end as no_better_than
from ({placed}) as placed
order by placed.place, placed.part, placed.metric, placed.evaluator, placed.model, placed.scale""".replace(
        "{same}", _same("covered")
    )
    .replace("{same_free}", _same("free"))
    .replace("{placed}", placed("floored"))
)

TOLD = ("scenario", "metric", "dimension", "evaluator", "scorer")
"""The columns that moments tell apart."""
# A cluster, which is one item as a rule, is in one row of what `TOLD` tells apart, and adds to its sums, unless it has
# scores on one metric in several scenarios or by several scorers: then it has rows of its own, under its name, so that
# its scores are added up first.
_MOMENTS = """
table {moments} as
with item as (
  select score.scenario, score.metric, score.dimension, score.evaluator, score.scorer, score.model, score.low,
    score.high, score.cluster_id, sum(score.value order by score.value) as total, count(score.value) as n,
    count(*) as rows
  from {schema}.scores as score where score.status <> 'not_applicable' group by all),
several as (
  select item.metric, item.cluster_id from item group by all
  having min(coalesce(item.scenario::varchar, '')) <> max(coalesce(item.scenario::varchar, ''))
    or min(coalesce(item.scorer, '')) <> max(coalesce(item.scorer, '')))
select item.scenario::varchar as scenario, item.metric::varchar as metric, item.dimension::varchar as dimension,
  item.evaluator, item.scorer, item.model, item.low, item.high, several.cluster_id,
  sum(item.total order by item.total) as total, sum(item.n)::bigint as n, sum(item.rows)::bigint as rows,
  sum(pow(item.total, 2) order by pow(item.total, 2)) as squares,
  sum(item.total * item.n order by item.total * item.n) as products, sum(pow(item.n, 2)) as counts,
  count(*) filter (item.n > 0) as items
from item left join several on several.metric is not distinct from item.metric and several.cluster_id = item.cluster_id
group by all"""
_TOLD = """
told as not materialized (
  select {told_per}, score.* from (
    select {told_columns}, kept.evaluator, kept.scorer, kept.model, kept.low, kept.high, kept.cluster_id, kept.total,
      kept.n, kept.rows, kept.squares, kept.products, kept.counts, kept.items
    from {moments} as kept) as score
  where {is_told} and (metric is null or score.metric = metric) and (scenario is null or score.scenario = scenario)
    and (evaluator is null or score.evaluator = evaluator)),
"""
_TOLD_ITEMS = """
  union all
  select told.part, told.place, told.metric, told.evaluator, told.model, told.low, told.high, told.cluster_id,
    sum(told.total order by told.total), sum(told.n), sum(told.rows),
    case when told.cluster_id is null then sum(told.squares order by told.squares)
      else pow(sum(told.total order by told.total), 2) end,
    case when told.cluster_id is null then sum(told.products order by told.products)
      else sum(told.total order by told.total) * sum(told.n) end,
    case when told.cluster_id is null then sum(told.counts) else pow(sum(told.n), 2) end,
    case when told.cluster_id is null then sum(told.items) else (sum(told.n) > 0)::int end
  from told
  group by told.part, told.place, told.metric, told.evaluator, told.model, told.low, told.high, told.cluster_id"""
_WITH_VALUE = """(
    select given.part, given.metric, given.evaluator, given.model, given.low, given.high, given.scenario, given.value
    from given
    union all
    select told.part, told.metric, told.evaluator, told.model, told.low, told.high, told.scenario,
      case when told.n > 0 then told.total end
    from told)"""

_WORST = """
macro {schema}.worst(n := 20, metric := NULL, scenario := NULL, model := NULL, evaluator := NULL) as table
with placed as (
  select score.sample_id, score.model, score.item_id, score.scenario, score.metric, score.evaluator, score.value,
    (score.value - score.low) / nullif(score.high - score.low, 0) as share
  from {schema}.scores as score
  where score.value is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario) and (model is null or score.model = model)
    and (evaluator is null or score.evaluator = evaluator) and (evaluator is not null or {counted})),
lowest as (
  select placed.sample_id, placed.model, placed.item_id, any_value(placed.scenario) as scenario,
    min({{'at': coalesce(placed.share, 2), 'value': placed.value, 'share': placed.share, 'metric': placed.metric,
      'evaluator': placed.evaluator}}) as mark
  from placed
  group by placed.sample_id, placed.model, placed.item_id),
first as (
  select lowest.* from lowest
  order by lowest.mark.at, lowest.mark.value, lowest.sample_id, lowest.model limit n)
select first.mark.share, first.mark.value, first.mark.metric, first.mark.evaluator, first.scenario, first.model,
  sample.reply, first.item_id, first.sample_id
from first left join (select main.samples.sample_id, main.samples.reply from main.samples
  where main.samples.sample_id in (select first.sample_id from first)) as sample
  on sample.sample_id = first.sample_id
order by first.mark.at, first.mark.value, first.sample_id, first.model"""

_REASONS = """
macro {schema}.reasons(n := 20, metric := NULL, scenario := NULL, model := NULL, evaluator := NULL) as table
with lowest as (
  select {once} score.value, score.metric, score.scenario, score.model, score.evaluator, score.judgement_id,
    score.sample_id, score.score_id
  from {schema}.scores as score
  where score.value is not null and score.judgement_id is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario) and (model is null or score.model = model)
    and (evaluator is null or score.evaluator = evaluator)
  order by score.value, score.metric, score.score_id limit n)
select lowest.value, lowest.metric, lowest.model, lowest.evaluator,
  json_extract_string(given.parsed, '$."' || lowest.metric || '".reason') as reason, lowest.scenario, lowest.sample_id
from lowest left join (
  select main.judgements.judgement_id,
    case when json_valid(main.judgements.parsed) then main.judgements.parsed end as parsed
  from main.judgements where main.judgements.judgement_id in (select lowest.judgement_id from lowest)) as given
  on given.judgement_id = lowest.judgement_id
order by lowest.value, lowest.metric, lowest.score_id"""

_DISAGREEMENTS = """
macro {schema}.disagreements(n := 20, metric := NULL, scenario := NULL, model := NULL, least := 0) as table
with apart as (
  select max(score.value) - min(score.value) as apart, score.metric, score.scenario, score.model, score.sample_id,
    score.item_id
  from {schema}.scores as score
  where score.value is not null and score.evaluator is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario) and (model is null or score.model = model)
  group by all
  having min(score.evaluator) <> max(score.evaluator) and max(score.value) - min(score.value) > least
  order by apart desc, score.metric, score.sample_id, score.model limit n),
given as (
  select distinct score.sample_id, score.metric, score.evaluator, score.value
  from main.scores as score
  where score.sample_id in (select apart.sample_id from apart) and score.value is not null
    and score.score_id in (select shown.score_id from {schema}.scores as shown
      where shown.sample_id in (select apart.sample_id from apart)))
select apart.apart, apart.metric, apart.scenario, apart.model,
  string_agg(given.evaluator || ' ' || format('{{:g}}', given.value), ', ' order by given.value, given.evaluator)
    as given,
  apart.item_id, apart.sample_id
from apart join given on given.sample_id = apart.sample_id and given.metric = apart.metric::varchar
group by apart.apart, apart.metric, apart.scenario, apart.model, apart.item_id, apart.sample_id
order by apart.apart desc, apart.metric, apart.sample_id, apart.model"""

_AGREEMENT = """
macro {schema}.agreement(per := NULL, metric := NULL, scenario := NULL) as table
with given as (
  select {per}, score.sample_id, score.scorer, score.metric, score.evaluator,
    arg_max(score.value, coalesce(score.round, 0)) as value
  from {schema}.scores as score
  where score.value is not null and score.evaluator is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario)
  group by all)
select a.part, a.metric, a.evaluator as evaluator_a, b.evaluator as evaluator_b, count(*) as n,
  avg((a.value = b.value)::int) as exact, avg((abs(a.value - b.value) <= 1)::int) as within_1,
  avg(a.value - b.value) as mean_difference,
  case when stddev_pop(a.value) > 0 and stddev_pop(b.value) > 0 then corr(a.value, b.value) end as correlation
from given as a join given as b
  on a.sample_id = b.sample_id and a.metric = b.metric and a.scorer = b.scorer and a.part is not distinct from b.part
    and a.evaluator < b.evaluator
group by a.part, a.place, a.metric, a.evaluator, b.evaluator
order by a.place, a.part, a.metric, evaluator_a, evaluator_b"""

_FAILURES = """
macro {schema}.failures(scenario := NULL, model := NULL) as table
with calls as (
  select 'reply' as what, sample.step, sample.model, sample.scenario, sample.status, sample.error,
    sample.sample_id as id
  from {source}.samples as sample {where_sample}
  union all
  select 'judgement', judgement.scorer, judgement.evaluator, judgement.scenario, judgement.status, judgement.error,
    judgement.judgement_id
  from {source}.judgements as judgement {where_judgement}),
every as (select calls.what, calls.step, calls.model, count(distinct calls.id) as calls
  from calls where scenario is null or calls.scenario = scenario group by all)
select calls.what, calls.step, calls.model, calls.status, count(distinct calls.id) as failed,
  count(distinct calls.id) / any_value(every.calls) as share, min(calls.error) as error
from calls join every on every.what = calls.what and every.step = calls.step and every.model = calls.model
where calls.status <> 'ok' and (scenario is null or calls.scenario = scenario)
  and (model is null or calls.model = model)
group by all order by failed desc, calls.what, calls.step, calls.model, calls.status"""

_SPENDING = """
macro {schema}.spending({first}) as table
select call.what, call.role, call.model, count(*) as calls, sum(call.tokens_in)::bigint as tokens_in,
  sum(call.tokens_out)::bigint as tokens_out, sum(call.cost_usd) as cost_usd,
  count(*) - count(call.cost_usd) as unpriced, median(call.latency_s) as median_s
from (
  select distinct 'reply' as what, sample.role, sample.model, sample.sample_id, sample.tokens_in, sample.tokens_out,
    sample.cost_usd, sample.latency_s, sample.status from {source}.samples as sample {where_sample}
  union all
  select distinct 'judgement', judgement.scorer, judgement.evaluator, judgement.judgement_id, judgement.tokens_in,
    judgement.tokens_out, judgement.cost_usd, judgement.latency_s, judgement.status
  from {source}.judgements as judgement {where_judgement}) as call
where call.status not in ('undefined', 'not_applicable')
group by all order by cost_usd desc nulls last, calls desc, call.what, call.role, call.model"""

_UNPAIRED = """
macro {schema}.unpaired(metric := NULL, scenario := NULL, model := NULL) as table
with given as (
  select score.scenario, score.metric, score.model, score.item_id, {arms} as arm,
    count(coalesce(score.value::varchar, score.choice)) as n,
    string_agg(distinct score.status::varchar, ', ' order by score.status::varchar)
      filter (score.value is null and score.choice is null) as status
  from {schema}.scores as score
  where (metric is null or score.metric = metric) and (scenario is null or score.scenario = scenario)
    and (model is null or score.model = model)
  group by all),
every as (
  select item.scenario, item.metric, item.model, item.item_id, place.arm
  from (select distinct given.scenario, given.metric, given.model, given.item_id from given) as item
  join (select distinct given.scenario, given.metric, given.model, given.arm from given) as place
    on place.scenario = item.scenario and place.metric = item.metric and place.model = item.model)
select every.scenario, every.metric, every.model, every.item_id, string_agg(every.arm, '; ' order by every.arm)
    as lacks,
  string_agg(distinct coalesce(given.status, 'not there'), ', ' order by coalesce(given.status, 'not there')) as status
from every left join given on given.scenario = every.scenario and given.metric = every.metric
  and given.model = every.model and given.item_id = every.item_id and given.arm = every.arm
where coalesce(given.n, 0) = 0
group by every.scenario, every.metric, every.model, every.item_id
order by every.scenario, every.metric, every.model, every.item_id"""


def benchmark_macros(
    benchmark: str,
    columns: Sequence[str],
    types: Enumerations,
    several: bool,
    arms: Sequence[str] = (),
    counted: str = "true",
    moments: str | None = None,
) -> list[str]:
    """Return the statements that make the macros of a benchmark's schema; `columns` are those of its axes and `arms`,
    by which `means` and `agreement` may be taken apart. `types` has those that are enumerations; with `several`
    one score may be in several rows. `counted` is the condition on a `score` that counts in one figure with others.
    With `moments`, the name of a table that is made for them, means are taken from sums where these tell enough."""
    schema = sql.name(benchmark)
    per = _per([*TOLD, *columns], types.types)
    filled = {"schema": schema, "per": per, "source": schema, "first": "", "where_sample": "", "where_judgement": ""}
    filled |= {"counted": counted, "benchmark": sql.text(benchmark)}
    filled["once"] = "distinct" if several else ""
    filled["arms"] = f"concat_ws(', ', {', '.join(f'score.{sql.name(arm)}::varchar' for arm in arms)})"
    filled |= {"not_told": "", "told": "", "told_items": "", "with_value": "given"}
    texts = [_MEANS, _WORST, _REASONS, _DISAGREEMENTS, _AGREEMENT, _FAILURES, _SPENDING, ITEM_ANALYSIS, SUBSET_GAP]
    texts += [_UNPAIRED] if arms else []
    if moments is not None:
        is_told = f"(per is null or per in ({', '.join(map(sql.text, TOLD))}))"
        told_columns = ", ".join(types.cast(name, f"kept.{name}") for name in ("scenario", "metric", "dimension"))
        telling = {"told_per": _per(TOLD, types.types), "told_columns": told_columns, "is_told": is_told}
        filled["told"] = _filled(_TOLD, telling | {"moments": moments}).lstrip()
        filled |= {"moments": moments, "not_told": f" and not {is_told}", "told_items": _TOLD_ITEMS}
        filled["with_value"] = _WITH_VALUE
        texts.insert(0, _MOMENTS)
    return [f"create or replace {_filled(text, filled).strip()}" for text in texts]


def analysis_of_sums(benchmark: str, counted: str) -> list[str]:
    """Return the statements that make the view of item analysis from sums."""
    names = {"schema": sql.name(benchmark), "sums": sums_name(benchmark, placed=False), "counted": counted}
    names |= {"analysis": analysis_name(benchmark)}
    names |= {name: analysis_name(benchmark, f"{name} for ") for name in ("totals", "split")}
    return [f"create or replace {_filled(text, names).strip()}" for text in ANALYSIS_OF_SUMS]


def main_macros() -> list[str]:
    """Return the statements that make the macros of schema `main`, over every benchmark and run: each call counts
    once."""
    return [
        f"create or replace {_filled(text, filled).strip()}"
        for text, filled in (
            (
                _SPENDING,
                {
                    "schema": "main",
                    "source": "main",
                    "first": "benchmark := NULL",
                    "where_sample": "where benchmark is null or sample.benchmark = benchmark",
                    "where_judgement": "where benchmark is null or judgement.benchmark = benchmark",
                },
            ),
            (
                _FAILURES.replace("failures(", "failures(benchmark := NULL, "),
                {
                    "schema": "main",
                    "source": "main",
                    "where_sample": "where benchmark is null or sample.benchmark = benchmark",
                    "where_judgement": "where benchmark is null or judgement.benchmark = benchmark",
                },
            ),
        )
    ]


def _per(columns: Sequence[str], ordered: Collection[str]) -> str:
    """Return the value that `per` asks for, and its place. `per` is known when a query is planned, so other columns are
    not read."""
    cases = " ".join(f"when per = {sql.text(column)} then score.{sql.name(column)}::varchar" for column in columns)
    wrong = "per is not null then error('`per` is one of ' || " + sql.text(", ".join(columns)) + ")"
    places = " ".join(
        f"when per = {sql.text(column)} then enum_code(score.{sql.name(column)})"
        for column in columns
        if column in ordered
    )
    place = f"case {places} end" if places else "NULL"
    return f"case {cases} when {wrong} end as part, {place} as place"


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text.replace("{{", "{").replace("}}", "}")
