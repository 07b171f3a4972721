"""Variance components of a measure: how much of what two models differ by lies in items, samples and judges.

A measure that is a mean of scores has them. The scores of a reply on several metrics, and of an item's replies in
several scenarios and arms, are averaged, each less the mean of its own kind: what remains are the items, the models,
samples and judges of `difference_components`. Where the measure is a mean of cells, of topics for instance, differences
between cells are no noise, and cells of few items make the whole less sure, as they weigh more than their items.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from statistics import fmean, variance

from tripos_compiler.language.figures import ScoredStep, judged_steps, mean_in, scored_by, scored_values_of
from tripos_compiler.plan import Aggregate, Measure, Measured, Plan, Scorer, named
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.judges import repeated_verdicts
from tripos_warehouse.measures.sql import Cut, rows_sql, weight_sql, weights_of
from tripos_warehouse.query import Connection
from tripos_warehouse.sql import name as quoted, texts
from tripos_warehouse.statistics.design import (
    FEWEST_ITEMS,
    DifferenceComponents,
    Unknown,
    difference_components,
)
from tripos_warehouse.views import Graders, arm_columns, axis_columns

MOST_ITEMS = 2000
"""Components of more items are taken from as many: their error is below that of what they are used for."""


@dataclass(frozen=True)
class MeasureComponents:
    """The components of a difference in a measure, and what they are estimated from."""

    measure: Measure
    parts: DifferenceComponents
    models: tuple[str, ...]
    judges: tuple[str, ...]
    """Who gave the scores; none where a formula did."""
    items: int
    """All items with scores; the parts may be from fewer."""
    scenarios_an_item: float
    """In how many scenarios an item has scores, on average."""
    scenarios: tuple[str, ...] = ()
    """The scenarios whose scores it is a mean of."""
    unevenness: float = 1.0
    """How many times larger the parts are for the sizes of the cells in the store."""

    def planned(self, times: float) -> DifferenceComponents:
        """Return the parts of a design whose variance is so many times that of as many items that weigh alike."""
        return self.parts.scaled(times / self.unevenness)


def measure_components(
    connection: Connection, plan: Plan, measure: Measure, models: tuple[str, ...] = ()
) -> MeasureComponents | Unknown:
    """Return the components of a difference in a measure, over what `connection` shows of the benchmark.

    With `models`, those of them that have scores are what is compared, else all. `Unknown` says why a measure has none:
    it is no mean of scores, or too little was scored.
    """
    if measure.corrected:
        return Unknown("people correct it, so its error is that of their grades too")
    if measure.random:
        return Unknown("its error is that of its judges or prompts too, as of a sample of them")
    mean = mean_of_scores(plan, measure)
    if mean is None:
        return Unknown("it is no mean of scores")
    if mean.measure.by:
        return Unknown(f"it goes by {', '.join(mean.measure.by)}")
    rows = connection.execute(scores_query(plan, mean, models)).fetchall()
    if not rows:
        return Unknown("nothing is scored")
    model, item, sample, judge, cell, value, every, places, shares = zip(*rows, strict=True)
    found = difference_components(value, item, model, sample, judge, cell if mean.axes else None)
    if isinstance(found, Unknown):
        return found
    found = _with_repeats(connection, plan, mean, found, fmean(shares))
    factor = _unevenness(item, cell)
    judges = tuple(sorted({name for name in judge if name is not None}))
    names, scenarios = tuple(sorted(set(model))), tuple(each.name for each in mean.scored.scenarios)
    return MeasureComponents(
        mean.measure, found.scaled(factor), names, judges, every[0], places[0] / every[0], scenarios, factor
    )


@dataclass(frozen=True)
class MeanOfScores:
    """A measure that is a mean of scores, or of cells of such: what is scored, the inner mean, and its axes."""

    measure: Measure
    scored: ScoredStep
    inner: Aggregate
    axes: tuple[str, ...]


def mean_of_scores(plan: Plan, measure: Measure) -> MeanOfScores | None:
    """Return the mean that a measure is; `None` where it is anything else."""
    figure, measure = _mean_of(plan, measure)
    scored = scored_step(plan, measure)
    if figure is None or scored is None:
        return None
    inner = mean_in(figure) or figure
    return MeanOfScores(measure, scored, inner, tuple(axis for axis in axis_columns(plan) if axis in inner.by))


def _with_repeats(
    connection: Connection, plan: Plan, mean: MeanOfScores, parts: DifferenceComponents, share: float
) -> DifferenceComponents:
    """Return the parts with that of repeats apart, where judges gave each reply several marks: what a judge gives the
    same reply when it is asked again is as much noise of one mark as repeats differ. `share` is that of a mark's
    variance that is left in the value of a reply, which may be a mean over metrics.

    A score is the mean of so many marks, so their noise is in what is left over. Of verdicts that are no numbers the
    most frequent one is the score, which is no mean: nothing is said of more of them."""
    asked = {step.scorer: plan.scorer(step.scorer) for step in judged_steps(mean.scored)}
    counts = {scorer.samples for scorer in asked.values()}
    repeats = counts.pop() if len(counts) == 1 else 1
    if repeats < 2 or any(scorer.then is not None or _of_the_most(scorer) for scorer in asked.values()):
        return parts
    marks: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for (scorer, metric), verdicts in repeated_verdicts(connection, plan).items():
        if scorer in asked and mean.scored.name == (scorer if mean.scored.kind == "scorer" else metric):
            for each in verdicts:
                marks[scorer, metric, each.judge, each.reply].append(each.value)
    several = [variance(each) for each in marks.values() if len(each) > 1]
    if len(several) < FEWEST_ITEMS:
        return parts
    noise = 2 * share * fmean(several)
    part = "gradings" if "judges" in parts.known else "samples" if "samples" in parts.known else "items"
    rest = max(getattr(parts, part) - noise / repeats, 0.0)
    samples, judges, _ = parts.observed
    return replace(
        parts, repeats=noise, known=parts.known | {"repeats"}, observed=(samples, judges, repeats), **{part: rest}
    )


def _of_the_most(scorer: Scorer) -> bool:
    """Return true if the score of several verdicts is the most frequent one."""
    return scorer.gives is not None and scorer.gives.kind in ("bool", "choice")


def call_costs(connection: Connection, plan: Plan) -> dict[str, float]:
    """Return what a kept call of a model cost on average, in USD; a model that judges is known by its evaluator."""
    schema = quoted(plan.benchmark.name)
    query = f"""select model, avg(cost_usd) from (
      select distinct sample_id, model, cost_usd from {schema}.samples
      union all select distinct judgement_id, evaluator, cost_usd from {schema}.judgements)
    group by model having avg(cost_usd) is not null"""
    return dict(connection.execute(query).fetchall())


def scored_step(plan: Plan, measure: Measure) -> ScoredStep | None:
    """Return the scores that a measure is the mean of; `None` where it is anything else."""
    figure, _ = _mean_of(plan, measure)
    scored = None if figure is None else scored_by(scored_values_of(plan), figure)[0]
    return scored if scored is not None and scored.kept else None


def lower_scores(plan: Plan) -> frozenset[tuple[str, str]]:
    """Return the scores of which lower values are better, each by its scenario and metric: every measure that is a mean
    of them says so."""
    told: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for measure in plan.measures:
        scored = scored_step(plan, measure)
        for scenario in () if scored is None else scored.scenarios:
            for step in scored.steps if scored is not None else ():
                for metric in getattr(step, "metrics", None) or (step.name,):
                    told[scenario.name, metric].add(measure.lower_is_better)
    return frozenset(score for score, ways in told.items() if ways == {True})


def _mean_of(plan: Plan, measure: Measure) -> tuple[Aggregate | None, Measure]:
    """Return the mean that a measure is, itself or by another name; None where it is anything else."""
    match measure.figure:
        case Measured(measure=name, slice=fixed) if not fixed:
            return _mean_of(plan, named(plan.measures, name).model_copy(update={"name": measure.name}))
        case Aggregate() as figure:
            inner = mean_in(figure)
            if inner is not None and not inner.of_condition and not inner.elements and len(inner.values) == 1:
                return figure, measure
    return None, measure


def scores_query(
    plan: Plan, mean: MeanOfScores, models: tuple[str, ...], graders: Graders = "counted", labelled: bool = False
) -> str:
    """Return the SQL of a value for every model, cluster of items, sample and judge, with the cell, the number of all
    clusters, and the share that a value has of the variance of one score. Clusters that lie in several cells have none.
    `labelled` leaves replies that no person graded out.

    The scores are read twice: kept in between, they would all be held at once."""
    scored, inner, axes = mean.scored, mean.inner, mean.axes
    arms = [quoted(arm) for arm in arm_columns(plan)]
    more = tuple(dict.fromkeys(["evaluator", *arms, *(quoted(axis) for axis in axes)]))
    rows = rows_sql(plan, scored, Cut(graders=graders), more)
    by_people = rows_sql(plan, scored, Cut(graders="people"), more)
    kind = ", ".join(["model", "evaluator", "scenario", "metric", *arms])
    reply = ", ".join(["model", "scenario", "item_id", *arms])
    weights = {} if "metric" in inner.by else weights_of(scored)
    value = "coalesce(value, 0)" if mean.measure.missing == "zero" else "value"
    cell = " || '/' || ".join(f"coalesce({quoted(axis)}::varchar, '')" for axis in axes) or "''"
    chosen = f"where model in {texts(models)}" if models else ""
    graded = (
        f"semi join (select sample_id, metric from ({by_people}) where value is not null) using (sample_id, metric)"
    )
    only = f"{graded} " if labelled else ""
    return f"""\
with whole as not materialized (
  select * from ({rows}) {only}{chosen}
), items as materialized (
  select distinct scenario, item_id, cluster_id from whole where value is not null
), drawn as (
  select distinct cluster_id from items order by cluster_id limit {MOST_ITEMS}
), chosen as (
  select *, {cell} as "its cell", {weight_sql(weights)} as "its weight",
    dense_rank() over (partition by {reply} order by sample_id) as "its sample"
  from whole semi join drawn using (cluster_id)
), centred as (
  select *, {value} - avg({value} order by {value}) over (partition by {kind}) as "its value"
  from chosen
), mixed as (
  select cluster_id from chosen group by cluster_id having count(distinct "its cell") > 1
)
select model, cluster_id, "its sample", evaluator,
  case when exists (from mixed) then '' else any_value("its cell") end,
  sum("its weight" * "its value" order by "its weight" * "its value") / sum("its weight"),
  (select count(distinct cluster_id) from items),
  (select count(*) from items),
  sum("its weight" ** 2) / sum("its weight") ** 2
from centred
where "its value" is not null
group by model, cluster_id, "its sample", evaluator
order by all
"""


def _unevenness(items: tuple[str, ...], cells: tuple[str, ...]) -> float:
    """Return how many times larger the variance of a mean of cells is for cells of different sizes: n / C² · Σ 1 / n_c.

    >>> _unevenness(("a", "b"), ("x", "y")), _unevenness(("a", "b", "c", "d"), ("x", "x", "x", "y"))
    (1.0, 1.3333333333333333)
    """
    own: dict[str, set[str]] = defaultdict(set)
    for item, cell in zip(items, cells, strict=True):
        own[cell].add(item)
    sizes = [len(each) for each in own.values()]
    return sum(sizes) / len(sizes) ** 2 * sum(1 / size for size in sizes)
