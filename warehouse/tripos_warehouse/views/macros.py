"""The table macros of a benchmark's schema: means, item analysis, disagreements, failures, spending and more.

Item analysis. Discrimination is the corrected item-total correlation: of an item's mean with the mean of the model over
its other items, with the models as test takers (Lord and Novick 1968; Nunnally 1978). Its interval is Fisher's (1921).
`statistics.validity` has the same for arrays. Baselines do not count as test takers. The scores are read twice, since a
window over all items of a model would keep all of them in memory.

Baselines. `with_clears` tests whether a mean clears a floor: its 95 % interval lies above the floor. The test is in
SQL, since the macros must work in any DuckDB, and does not compute the interval. Its low end lies above a floor f if

- for a share with one score an item (Clopper and Pearson): the probability of as many successes or more, with f as the
  success probability, is below 2.5 %
- for values between two ends (`bounded` of `statistics.intervals`): (p - f) / s′ and
  (logit p - logit f) · p (1 - p) / s′ both exceed the quantile of Student's t
- without ends: (mean - f) / standard error exceeds the quantile of Student's t
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tripos_compiler.plan import VERDICT
from tripos_warehouse import sql
from tripos_warehouse.views.dimensions import Enumerations
from tripos_warehouse.views.run_rows import analysis_name, sums_name

# The test whether a mean clears a floor
QUANTILES = """
12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851,
2.364624252, 2.306004135, 2.262157163, 2.228138852, 2.200985160, 2.178812830,
2.160368656, 2.144786688, 2.131449546, 2.119905299, 2.109815578, 2.100922040,
2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562,
2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456
""".strip().replace("\n", " ")
"""The quantiles of Student's t at 97.5 %, for 1 to 30 degrees of freedom."""

T_QUANTILE = f"""case when items <= 31 then [{QUANTILES}][items - 1]
  else 1.959963985 + 2.372271230 / (items - 1) + 2.822498616 / pow(items - 1, 2) + 2.555849680 / pow(items - 1, 3)
    + 1.589534054 / pow(items - 1, 4) end"""
"""The quantile for `items` - 1 degrees of freedom; beyond 30 by the Cornish-Fisher expansion (Abramowitz and Stegun
1964, 26.7.5).
"""

CLEARS = """case
  when mean is null or floor is null then null
  when items < 2 or standard_error is null then mean > floor
  when least is null then case when standard_error <= 1e-9 then mean > floor
    else mean - floor > t * standard_error end
  when bottom >= 1 then false
  when least = 0 and most = 1 and items = scores
      and abs(pow(standard_error, 2) * (items - 1) - mean * (1 - mean)) <= 1e-9
    then case when bottom <= 0 then mean > 0 else mean > bottom and list_sum([
      exp(lgamma(items + 1) - lgamma(many + 1) - lgamma(items - many + 1) + many * ln(bottom)
        + (items - many) * ln(1 - bottom))
      for many in range(round(mean * items)::bigint, items + 1)]) < 0.025 end
  when error <= 1e-9 then share * pow(0.025, 1.0 / items) > bottom
  else share - bottom > t * enlarged
    and case when bottom <= 0 then true
      else (ln(share / (1 - share)) - ln(bottom / (1 - bottom))) * share * (1 - share) > t * enlarged end
end"""
"""The SQL expression that is true if a mean clears `floor`, over columns that `with_clears` adds."""


def with_clears(source: str) -> str:
    """Return the query of `source` with the additional column `clears`.

    `source` has `mean`, `standard_error`, `items`, `scores`, the ends `least` and `most` of the scale, and a `floor`.
    """
    return f"""select *, {CLEARS} as clears from (
  select *, {T_QUANTILE} as t,
    sqrt(pow(error, 2) + share * (1 - share) * pow(1 - 2 * share, 2) / pow(items, 2)) as enlarged
  from (
    select *, (mean - least) / (most - least) as share, (floor - least) / (most - least) as bottom,
      standard_error / (most - least) as error
    from {source}))"""


# Item analysis
LEAST_MODELS = 4
"""With fewer models Fisher's interval is undefined."""

# A row for each scenario, metric, item and model: the mean score, also as a share of the scale.
_GIVEN = """
  select score.scenario, score.metric, score.item_id, score.model, avg(score.value) filter (where KEPT) as value,
    avg((score.value - score.low) / nullif(score.high - score.low, 0)) filter (where KEPT) as share
  from {schema}.scores as score
  where CHOSEN
  group by all having count(score.value) filter (where KEPT) > 0"""
# The same rows, from sums.
_GIVEN_OF_SUMS = """
  select score.scenario, score.metric, score.item_id, score.model,
    sum(score."its total") filter (where KEPT) / sum(score."its n") filter (where KEPT) as value,
    sum((score."its total" - score."its n" * score.low) / nullif(score.high - score.low, 0)) filter (where KEPT)
      / sum(score."its n") filter (where KEPT and score.high <> score.low) as share
  from {sums} as score
  where score."is score" and CHOSEN
  group by all having sum(score."its n") filter (where KEPT) > 0"""
# A row for each scenario, metric and model: the sum of its item means.
_TOTALS = """
  select given.scenario, given.metric, given.model, sum(given.value) as total, count(*) as items
  from given group by all"""
# A row for each scenario, metric and item: the mean range of several judges' scores of a reply, or of an element of it,
# by the scale.
_SPLIT = """
  select judged.scenario, judged.metric, judged.item_id, avg(judged.apart) as apart from (
    select score.scenario, score.metric, score.item_id, score.sample_id, score.element_place,
      (max(score.value) - min(score.value)) / nullif(any_value(score.high) - any_value(score.low), 0) as apart
    from {schema}.scores as score
    where score.value is not null and score.evaluator is not null and GRADED and CHOSEN
    group by all having min(score.evaluator) <> max(score.evaluator)) as judged
  group by all"""
# A row for each scenario, metric and item, from the common table expressions `given`, `totals` and `split`.
_ANALYSED = """
with_rest as (
  select given.*, (totals.total - given.value) / nullif(totals.items - 1, 0) as rest
  from given join totals on totals.scenario is not distinct from given.scenario
    and totals.metric is not distinct from given.metric and totals.model = given.model),
analysed as (
  select with_rest.scenario, with_rest.metric, with_rest.item_id,
    avg(with_rest.value) as mean, avg(with_rest.share) as share,
    count(*) as models, bool_and(with_rest.share >= 1 - 1e-9) as easy, bool_and(with_rest.share <= 1e-9) as hard,
    case when count(with_rest.rest) >= LEAST_MODELS and stddev_pop(with_rest.value) > 1e-9
        and stddev_pop(with_rest.rest) > 1e-9
      then greatest(-1 + 1e-6, least(1 - 1e-6, corr(with_rest.value, with_rest.rest))) end as discrimination
  from with_rest group by all)
select analysed.scenario, analysed.metric, analysed.item_id, analysed.models, analysed.mean, analysed.share,
  analysed.discrimination,
  tanh(atanh(analysed.discrimination) - 1.959963985 / sqrt(analysed.models - 3)) as low,
  tanh(atanh(analysed.discrimination) + 1.959963985 / sqrt(analysed.models - 3)) as high,
  case when analysed.models < 2 then null when analysed.easy then 'every model' when analysed.hard then 'no model' end
    as solved_by,
  split.apart
from analysed left join split on split.scenario is not distinct from analysed.scenario
  and split.metric is not distinct from analysed.metric and split.item_id = analysed.item_id
order by analysed.discrimination nulls last, analysed.scenario, analysed.metric, analysed.item_id"""


def _of(text: str, chosen: str, graded: str) -> str:
    """Return a query of item analysis with the SQL conditions of the scores (`chosen`) and of their evaluators
    (`graded`) filled in."""
    # Not in `where`: DuckDB would underestimate the rows left of ten million scores, and keep them all for a join.
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
"""Item analysis of all scores, from their sums for each item (`views/derived.py`). The totals of each model come first,
as a table: otherwise both aggregations would have a row for each item and model in memory at once.
"""

# A row for each metric and model.
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
"""The difference of each model's mean outside of a subset and in it, with Welch's interval (1947). If the scale has
ends, each side gets one more item at each end (Agresti and Caffo 2000), since few items near an end do not show values
far from it.
"""


def _same(table: str) -> str:
    """Return the SQL condition that a row of a table belongs to the same group, metric and scale as one of `board`."""
    columns = ("part", "metric", "evaluator", "scale")
    return " and ".join(f"{table}.{column} is not distinct from board.{column}" for column in columns)


# Means

# A parameter hides a column of its name, so all columns are qualified with their table. A metric has a scale, and an
# evaluator a severity, so a mean is of one metric by one evaluator: no mean mixes values of different meaning.
# The scenarios that a model covers matter only for baselines: if no run has one, the second scan of the scores
# reads nothing.
# The rows: one for each group, metric, evaluator, model and scale.
_MEANS = (
    """
macro {schema}.means(per := NULL, metric := NULL, scenario := NULL, evaluator := NULL) as table
with given as not materialized (
  select {per}, score.model, score.cluster_id, score.value, score.low, score.high, score.scenario, score.metric,
    score.evaluator
  from {schema}.scores as score
  where score.status <> 'not_applicable' and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario)
    and (evaluator is null or score.evaluator = evaluator){not_summed}),
{summed}items as (
  select given.part, given.place, given.metric, given.evaluator, given.model, given.low, given.high, given.cluster_id,
    sum(given.value order by given.value) as total, count(given.value) as n, count(*) as rows,
    pow(sum(given.value order by given.value), 2) as squares,
    sum(given.value order by given.value) * count(given.value) as products, pow(count(given.value), 2) as counts,
    (count(given.value) > 0)::int as items
  from given group by all{summed_items}),
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
best_baseline as (
  select board.part, board.metric, board.evaluator, board.scale, covered.covers, max(board.mean) as mean,
    arg_max(board.model, board.mean) as model
  from board join covered on {same} and covered.model = board.model
  where starts_with(board.model, 'baseline/') group by all),
with_floor as (
  select board.*, best_baseline.model as baseline,
    case when not starts_with(board.model, 'baseline/') then best_baseline.mean end as floor
  from board left join covered on {same} and covered.model = board.model
    left join best_baseline on {same_baseline} and best_baseline.covers = covered.covers)
select placed.part, placed.metric, placed.evaluator, placed.model, placed.mean, placed.standard_error, placed.items,
  placed.scores, placed.without, placed.scale, case when not placed.clears then placed.baseline end as no_better_than
from ({placed}) as placed
order by placed.place, placed.part, placed.metric, placed.evaluator, placed.model, placed.scale""".replace(
        "{same}", _same("covered")
    )
    .replace("{same_baseline}", _same("best_baseline"))
    .replace("{placed}", with_clears("with_floor"))
)

MOMENT_COLUMNS = ("scenario", "metric", "dimension", "evaluator", "scorer")
"""The columns by which the sums for means are grouped."""
# A cluster, usually one item, belongs to one group of `MOMENT_COLUMNS` and is part of the sums of that group. If it has
# scores on one metric in several scenarios or by several scorers, it has separate rows with its name, so that its
# scores are added up first.
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
# The rows of `_MOMENTS` that fit the parameters.
_SUMMED = """
summed as not materialized (
  select {summed_per}, score.* from (
    select {summed_columns}, kept.evaluator, kept.scorer, kept.model, kept.low, kept.high, kept.cluster_id, kept.total,
      kept.n, kept.rows, kept.squares, kept.products, kept.counts, kept.items
    from {moments} as kept) as score
  where {is_summed} and (metric is null or score.metric = metric) and (scenario is null or score.scenario = scenario)
    and (evaluator is null or score.evaluator = evaluator)),
"""
# A row for each group, model and cluster with separate rows, and one for all other clusters of a group.
_SUMMED_ITEMS = """
  union all
  select summed.part, summed.place, summed.metric, summed.evaluator, summed.model, summed.low, summed.high,
    summed.cluster_id,
    sum(summed.total order by summed.total), sum(summed.n), sum(summed.rows),
    case when summed.cluster_id is null then sum(summed.squares order by summed.squares)
      else pow(sum(summed.total order by summed.total), 2) end,
    case when summed.cluster_id is null then sum(summed.products order by summed.products)
      else sum(summed.total order by summed.total) * sum(summed.n) end,
    case when summed.cluster_id is null then sum(summed.counts) else pow(sum(summed.n), 2) end,
    case when summed.cluster_id is null then sum(summed.items) else (sum(summed.n) > 0)::int end
  from summed
  group by summed.part, summed.place, summed.metric, summed.evaluator, summed.model, summed.low, summed.high,
    summed.cluster_id"""
_WITH_VALUE = """(
    select given.part, given.metric, given.evaluator, given.model, given.low, given.high, given.scenario, given.value
    from given
    union all
    select summed.part, summed.metric, summed.evaluator, summed.model, summed.low, summed.high, summed.scenario,
      case when summed.n > 0 then summed.total end
    from summed)"""

# Lists of scores, calls and failures

# The `n` replies with the lowest scores, with the lowest score of each.
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

# The `n` lowest scores with the judges' reasons.
_REASONS = """
macro {schema}.reasons(n := 20, metric := NULL, scenario := NULL, model := NULL, evaluator := NULL) as table
with lowest as (
  select {once} score.value, score.metric, score.scenario, score.model, score.evaluator, score.judgement_id,
    score.sample_id, score.score_id, score.scorer
  from {schema}.scores as score
  where score.value is not null and score.judgement_id is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario) and (model is null or score.model = model)
    and (evaluator is null or score.evaluator = evaluator)
  order by score.value, score.metric, score.score_id limit n)
select lowest.value, lowest.metric, lowest.model, lowest.evaluator,
  {reason} as reason, lowest.scenario, lowest.sample_id
from lowest left join (
  select main.judgements.judgement_id,
    case when json_valid(main.judgements.parsed) then main.judgements.parsed end as parsed
  from main.judgements where main.judgements.judgement_id in (select lowest.judgement_id from lowest)) as given
  on given.judgement_id = lowest.judgement_id
order by lowest.value, lowest.metric, lowest.score_id"""

# The `n` pairs of a reply, or an element of it, and a metric on which evaluators differ most, with all of their scores.
_DISAGREEMENTS = """
macro {schema}.disagreements(n := 20, metric := NULL, scenario := NULL, model := NULL, least := 0) as table
with apart as (
  select max(score.value) - min(score.value) as apart, score.metric, score.scenario, score.model, score.sample_id,
    score.item_id, score.element_place
  from {schema}.scores as score
  where score.value is not null and score.evaluator is not null and (metric is null or score.metric = metric)
    and (scenario is null or score.scenario = scenario) and (model is null or score.model = model)
  group by all
  having min(score.evaluator) <> max(score.evaluator) and max(score.value) - min(score.value) > least
  order by apart desc, score.metric, score.sample_id, score.element_place, score.model limit n),
given as (
  select distinct score.sample_id, score.metric, score.element_place, score.evaluator, score.value
  from {schema}.scores as score
  where score.sample_id in (select apart.sample_id from apart) and score.value is not null)
select apart.apart, apart.metric, apart.scenario, apart.model,
  string_agg(given.evaluator || ' ' || format('{{:g}}', given.value), ', ' order by given.value, given.evaluator)
    as given,
  apart.item_id, apart.sample_id, apart.element_place
from apart join given on given.sample_id = apart.sample_id and given.metric = apart.metric
  and given.element_place is not distinct from apart.element_place
group by apart.apart, apart.metric, apart.scenario, apart.model, apart.item_id, apart.sample_id, apart.element_place
order by apart.apart desc, apart.metric, apart.sample_id, apart.element_place, apart.model"""

# A row for each group, metric and pair of evaluators, who are held against each other on each reply, or on each element
# of it.
_AGREEMENT = """
macro {schema}.agreement(per := NULL, metric := NULL, scenario := NULL) as table
with given as (
  select {per}, score.sample_id, score.element_place, score.scorer, score.metric, score.evaluator,
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
    and a.element_place is not distinct from b.element_place and a.evaluator < b.evaluator
group by a.part, a.place, a.metric, a.evaluator, b.evaluator
order by a.place, a.part, a.metric, evaluator_a, evaluator_b"""

# A row for each kind of call, step, model and failed status.
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

# A row for each kind of call, role and model; each call counts once.
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

# A row for each item and model that has scores in some arms and not in others.
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


class JudgedReason(NamedTuple):
    """SQL of the reason of a score in `given.parsed`, and of the condition that it has an entry there."""

    text: str
    exists: str

    @classmethod
    def of(cls, row: str, single: Collection[str]) -> JudgedReason:
        """Return them for the scores of `row`. An entry has the name of its metric; the value of a `single` scorer,
        which has one value, is under `VERDICT` in the replies of judges.
        """
        entry = f"'$.\"' || {row}.metric || '\"'"
        text, exists = f"json_extract_string(given.parsed, {entry} || '.reason')", f"json_exists(given.parsed, {entry})"
        if not single:
            return cls(text, exists)
        alone, path = f"{row}.scorer in {sql.texts(sorted(single))}", sql.text(f"$.{VERDICT}.reason")
        return cls(
            f"coalesce({text}, case when {alone} then json_extract_string(given.parsed, {path}) end)",
            f"({exists} or ({alone} and json_exists(given.parsed, {path})))",
        )


def benchmark_macros(
    benchmark: str,
    columns: Sequence[str],
    types: Enumerations,
    several: bool,
    arms: Sequence[str] = (),
    counted: str = "true",
    moments: str | None = None,
    single: Collection[str] = (),
) -> list[str]:
    """Return the statements that create the macros of a benchmark's schema.

    `columns` are the axes and arms by which `means` and `agreement` can be grouped, `types` the enumerations, and
    `arms` the columns of arms. `several` is true if one score may be in several rows. `counted` is the SQL condition of
    a `score` that counts in figures. `moments` is the name of a table of sums to create, from which means are computed
    if they are grouped by its columns. `single` are the scorers with one value.
    """
    schema = sql.name(benchmark)
    per = _per([*MOMENT_COLUMNS, *columns], types.types)
    filled = {"schema": schema, "per": per, "source": schema, "first": "", "where_sample": "", "where_judgement": ""}
    filled |= {"counted": counted, "benchmark": sql.text(benchmark)}
    filled["once"] = "distinct" if several else ""
    filled["arms"] = f"concat_ws(', ', {', '.join(f'score.{sql.name(arm)}::varchar' for arm in arms)})"
    filled["reason"] = JudgedReason.of("lowest", single).text
    filled |= {"not_summed": "", "summed": "", "summed_items": "", "with_value": "given"}
    texts = [_MEANS, _WORST, _REASONS, _DISAGREEMENTS, _AGREEMENT, _FAILURES, _SPENDING, ITEM_ANALYSIS, SUBSET_GAP]
    texts += [_UNPAIRED] if arms else []
    if moments is not None:
        is_summed = f"(per is null or per in ({', '.join(map(sql.text, MOMENT_COLUMNS))}))"
        summed_columns = ", ".join(types.cast(name, f"kept.{name}") for name in ("scenario", "metric", "dimension"))
        summed_per = _per(MOMENT_COLUMNS, types.types)
        values = {"summed_per": summed_per, "summed_columns": summed_columns, "is_summed": is_summed}
        filled["summed"] = _filled(_SUMMED, values | {"moments": moments}).lstrip()
        filled |= {"moments": moments, "not_summed": f" and not {is_summed}", "summed_items": _SUMMED_ITEMS}
        filled["with_value"] = _WITH_VALUE
        texts.insert(0, _MOMENTS)
    return [f"create or replace {_filled(text, filled).strip()}" for text in texts]


def analysis_of_sums(benchmark: str, counted: str) -> list[str]:
    """Return the statements that create the view of item analysis from sums."""
    names = {"schema": sql.name(benchmark), "sums": sums_name(benchmark, placed=False), "counted": counted}
    names |= {"analysis": analysis_name(benchmark)}
    names |= {name: analysis_name(benchmark, f"{name} for ") for name in ("totals", "split")}
    return [f"create or replace {_filled(text, names).strip()}" for text in ANALYSIS_OF_SUMS]


def main_macros() -> list[str]:
    """Return the statements that create the macros of schema `main`, over every benchmark and run; each call counts
    once.
    """
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
    """Return the SQL of the columns `part` and `place`: the value of the grouping column that the parameter `per`
    names, and its position in the order of the plan. `per` is known when a query is planned, so other columns are not
    read.
    """
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
    """Return a template with its placeholders in braces filled in; doubled braces become single ones."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text.replace("{{", "{").replace("}}", "}")
