"""SQL of item analysis: how hard an item is, whether it tells models apart, and whether judges are at one about it.

Discrimination is the corrected item-total correlation: of an item's mean with the mean of the model over its other
items, with the models as those who sit the test (Lord and Novick 1968; Nunnally 1978). Its interval is Fisher's (1921).
`statistics.validity` has the same of arrays. The respondents are models; baselines are none. The scores are read twice,
since a window over all items of a model would hold them all.
"""

from tripos_warehouse.query.floor_sql import T_QUANTILE

LEAST_MODELS = 4
"""With fewer models Fisher's interval has no width."""

_GIVEN = """
  select score.scenario, score.metric, score.item_id, score.model, avg(score.value) filter (where KEPT) as value,
    avg((score.value - score.low) / nullif(score.high - score.low, 0)) filter (where KEPT) as share
  from {schema}.scores as score
  where CHOSEN
  group by all having count(score.value) filter (where KEPT) > 0"""
_GIVEN_OF_SUMS = """
  select score.scenario, score.metric, score.item_id, score.model,
    sum(score."its total") filter (where KEPT) / sum(score."its n") filter (where KEPT) as value,
    sum((score."its total" - score."its n" * score.low) / nullif(score.high - score.low, 0)) filter (where KEPT)
      / sum(score."its n") filter (where KEPT and score.high <> score.low) as share
  from {sums} as score
  where score."is score" and CHOSEN
  group by all having sum(score."its n") filter (where KEPT) > 0"""
_TOTALS = """
  select given.scenario, given.metric, given.model, sum(given.value) as total, count(*) as items
  from given group by all"""
_SPLIT = """
  select judged.scenario, judged.metric, judged.item_id, avg(judged.apart) as apart from (
    select score.scenario, score.metric, score.item_id, score.sample_id,
      (max(score.value) - min(score.value)) / nullif(any_value(score.high) - any_value(score.low), 0) as apart
    from {schema}.scores as score
    where score.value is not null and score.evaluator is not null and GRADED and CHOSEN
    group by all having min(score.evaluator) <> max(score.evaluator)) as judged
  group by all"""
_ANALYSED = """
beside as (
  select given.*, (totals.total - given.value) / nullif(totals.items - 1, 0) as rest
  from given join totals on totals.scenario is not distinct from given.scenario
    and totals.metric is not distinct from given.metric and totals.model = given.model),
figured as (
  select beside.scenario, beside.metric, beside.item_id, avg(beside.value) as mean, avg(beside.share) as share,
    count(*) as models, bool_and(beside.share >= 1 - 1e-9) as easy, bool_and(beside.share <= 1e-9) as hard,
    case when count(beside.rest) >= LEAST_MODELS and stddev_pop(beside.value) > 1e-9 and stddev_pop(beside.rest) > 1e-9
      then greatest(-1 + 1e-6, least(1 - 1e-6, corr(beside.value, beside.rest))) end as discrimination
  from beside group by all)
select figured.scenario, figured.metric, figured.item_id, figured.models, figured.mean, figured.share,
  figured.discrimination,
  tanh(atanh(figured.discrimination) - 1.959963985 / sqrt(figured.models - 3)) as low,
  tanh(atanh(figured.discrimination) + 1.959963985 / sqrt(figured.models - 3)) as high,
  case when figured.models < 2 then null when figured.easy then 'every model' when figured.hard then 'no model' end
    as solved_by,
  split.apart
from figured left join split on split.scenario is not distinct from figured.scenario
  and split.metric is not distinct from figured.metric and split.item_id = figured.item_id
order by figured.discrimination nulls last, figured.scenario, figured.metric, figured.item_id"""


def _of(text: str, chosen: str, graded: str) -> str:
    """Return a query of scores that are `chosen` and by whom they are `graded`."""
    # Not in `where`: DuckDB would take what is left of ten million scores for few, and hold them all for a join.
    text = text.replace("KEPT", f"not starts_with(score.model, 'baseline/') and {graded}")
    return text.replace("LEAST_MODELS", str(LEAST_MODELS)).replace("CHOSEN", chosen).replace("GRADED", graded)


ITEM_ANALYSIS = """
macro {schema}.item_analysis(metric := NULL, scenario := NULL, evaluator := NULL) as table""" + _of(
    f"""
with given as not materialized ({_GIVEN}),
totals as ({_TOTALS}),
split as ({_SPLIT}),{_ANALYSED}""",
    "(metric is null or score.metric = metric) and (scenario is null or score.scenario = scenario)",
    "(evaluator is null or score.evaluator = evaluator) and (evaluator is not null or {counted})",
)
ANALYSIS_OF_SUMS = tuple(
    _of(text, "true", "{counted}")
    for text in (
        f"""
table {{totals}} as with given as ({_GIVEN_OF_SUMS}) {_TOTALS}""",
        f"""
table {{split}} as {_SPLIT}""",
        f"""
view {{analysis}} as with given as ({_GIVEN_OF_SUMS}), totals as (from {{totals}}), split as (from {{split}}),
{_ANALYSED}""",
    )
)
"""The same of all scores, from the sums of those of each item (`views/prepared/score_sums.py`). What each model has in
all comes first, in a table: made at once, both would hold a row for each item and model."""

SUBSET_GAP = """
macro {schema}.subset_gap(subset, metric := NULL, scenario := NULL, evaluator := NULL) as table
with given as (
  select score.metric, score.model, score.scenario, score.item_id, avg(score.value) as value,
    any_value(score.low) as low, any_value(score.high) as high,
    bool_or(marked.item_id is not null) as inside
  from {schema}.scores as score
    left join (
      select distinct listed.scenario::varchar as scenario, listed.item_id from main.run_items as listed
      join main.runs as run on run.run_id = listed.run_id
      where run.benchmark = {benchmark} and list_contains(listed.subsets, subset)) as marked
      on marked.item_id = score.item_id and marked.scenario = score.scenario::varchar
  where score.value is not null
    and (evaluator is null or score.evaluator = evaluator) and (evaluator is not null or {counted})
    and (metric is null or score.metric = metric) and (scenario is null or score.scenario = scenario)
  group by all),
side as (
  select given.metric, given.model, given.inside, count(*) as n, avg(given.value) as mean,
    count(*) + 2 * (any_value(given.low) is not null)::int as more,
    sum(given.value) + coalesce(any_value(given.low) + any_value(given.high), 0) as total,
    sum(pow(given.value, 2)) + coalesce(pow(any_value(given.low), 2) + pow(any_value(given.high), 2), 0) as squares
  from given group by all),
enlarged as (
  select side.*, side.total / side.more as middle,
    (side.squares - pow(side.total, 2) / side.more) / nullif(side.more - 1, 0) / side.more as variance
  from side),
paired as (
  select out.metric, out.model, own.n as items_inside, out.n as items_outside, own.mean as inside, out.mean as outside,
    out.mean - own.mean as gap, out.middle - own.middle as middle, sqrt(out.variance + own.variance) as error,
    (1 + floor(pow(out.variance + own.variance, 2)
      / nullif(pow(out.variance, 2) / (out.more - 1) + pow(own.variance, 2) / (own.more - 1), 0)))::bigint as items
  from enlarged as out join enlarged as own on out.inside = false and own.inside and out.model = own.model
    and out.metric is not distinct from own.metric
  where out.n > 1 and own.n > 1),
reached as (select paired.*, T_QUANTILE * paired.error as reach from paired)
select reached.metric, reached.model, reached.items_inside, reached.items_outside, reached.inside, reached.outside,
  reached.gap, least(reached.gap, reached.middle - reached.reach) as low,
  greatest(reached.gap, reached.middle + reached.reach) as high
from reached order by reached.metric, reached.model""".replace("T_QUANTILE", T_QUANTILE)
"""How much better each model is outside of a subset than in it: Welch's interval (1947) of the difference, where the
scale has ends with one more item at each end on either side (Agresti and Caffo 2000), since few items near an end hide
what lies far off."""
