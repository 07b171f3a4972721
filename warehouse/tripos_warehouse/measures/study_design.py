"""The gain of more data: variance components of a measure, and the precision per cost of items, samples and labels.

A measure that is a mean of scores has variance components: the parts of the variance of a difference of two models that
are due to items, samples and judges. Scores of a reply on several metrics, and of an item in several scenarios and
arms, are centred by kind of score and averaged, which leaves the factors of `difference_components`: items, models,
samples and judges. If the measure is a mean of cells, such as topics, differences between cells are not noise, and
cells of unequal size enlarge the variance, since an item of a small cell has more weight.

A label is the mean of people's grades of a model's replies to an item, paired with the mean of the judges on the same
replies. The variance of a difference of labels, and its covariance with that of the judges, are twice those within
items, over items that people graded for several models. With too few such items, the scores of two models on an item
are assumed to have the correlation `CORRELATION`.

The gain of a lever (items, samples, judges or repeats) is the relative reduction of the standard error of a difference
of two models if a tenth of the cost of the run is spent on it in addition: from √V(I, S, J) to √V(1.1 I, S, J) for
items, with the variance V of `DifferenceComponents`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from statistics import fmean, variance
from typing import Any

import numpy as np

from tripos_compiler.diagnostics.text_format import usd
from tripos_compiler.language.scored_values import ScoredStep, judged_steps, mean_in, scored_inputs, scored_values_of
from tripos_compiler.plan import Aggregate, Measure, Measured, Plan, Scorer, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import CorrectedInputs, corrected_inputs
from tripos_warehouse.measures.judges import repeated_verdicts
from tripos_warehouse.measures.query import RowSelection, rows_sql, weight_sql, weights_of
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.sql import name as quoted, texts
from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.power import LabelComponents, corrected_variance
from tripos_warehouse.statistics.variance import (
    CORRELATION,
    FEWEST_ITEMS,
    DifferenceComponents,
    NotEstimable,
    difference_components,
)
from tripos_warehouse.views.benchmark_views import Graders, axis_columns
from tripos_warehouse.views.dimensions import arm_columns, shows_several_times

MOST_ITEMS = 2000
"""The most items from which components are estimated; more would make them more precise than their use requires."""


@dataclass(frozen=True)
class MeasureComponents:
    """The variance components of a difference in a measure, and the data that they are estimated from."""

    measure: Measure
    parts: DifferenceComponents
    models: tuple[str, ...]
    judges: tuple[str, ...]
    """The evaluators; empty if a formula computed the scores."""
    items: int
    """The number of items with scores; components are estimated from at most `MOST_ITEMS` of them."""
    scenarios_an_item: float
    """The average number of scenarios in which an item has scores."""
    scenarios: tuple[str, ...] = ()
    """The scenarios whose scores the measure averages."""
    unevenness: float = 1.0
    """The factor by which unequal cell sizes in the stored data enlarge the variance; `parts` include it."""

    def planned(self, times: float) -> DifferenceComponents:
        """Return the components for a planned design, whose variance is `times` that of equally many items of equal
        weight."""
        return self.parts.scaled(times / self.unevenness)


def measure_components(
    connection: Connection, plan: Plan, measure: Measure, models: tuple[str, ...] = ()
) -> MeasureComponents | NotEstimable:
    """Return the variance components of a difference in a measure, from the rows of the benchmark in `connection`.

    They are those of `models`, by default of all models with scores. The result is `NotEstimable`, with a reason, if
    the measure is not a mean of scores, or has too few scores.
    """
    if measure.corrected:
        return NotEstimable("people correct it, so its error is that of their grades too")
    if measure.random:
        return NotEstimable("its error is that of its judges or prompts too, as of a sample of them")
    mean = mean_of_scores(plan, measure)
    if mean is None:
        return NotEstimable("it is no mean of scores")
    if mean.measure.by:
        return NotEstimable(f"it goes by {', '.join(mean.measure.by)}")
    rows = connection.execute(scores_query(plan, mean, models)).fetchall()
    if not rows:
        return NotEstimable("nothing is scored")
    model, item, sample, judge, cell, value, item_counts, scenario_item_counts, variance_shares = zip(
        *rows, strict=True
    )
    parts = difference_components(value, item, model, sample, judge, cell if mean.axes else None)
    if isinstance(parts, NotEstimable):
        return parts
    parts = _with_repeats(connection, plan, mean, parts, fmean(variance_shares))
    factor = _unevenness(item, cell)
    judges = tuple(sorted({name for name in judge if name is not None}))
    names, scenarios = tuple(sorted(set(model))), tuple(scenario.name for scenario in mean.scored.scenarios)
    return MeasureComponents(
        mean.measure,
        parts.scaled(factor),
        names,
        judges,
        item_counts[0],
        scenario_item_counts[0] / item_counts[0],
        scenarios,
        factor,
    )


@dataclass(frozen=True)
class MeanOfScores:
    """A measure that is a mean of scores, or a mean of cells of such means: `scored` is what is scored, `inner` the
    mean of scores, and `axes` the axes of its cells."""

    measure: Measure
    scored: ScoredStep
    inner: Aggregate
    axes: tuple[str, ...]


def mean_of_scores(plan: Plan, measure: Measure) -> MeanOfScores | None:
    """Return a measure as a mean of scores; `None` if it is not one."""
    figure, measure = _mean_of(plan, measure)
    scored = scored_step(plan, measure)
    if figure is None or scored is None:
        return None
    inner = mean_in(figure) or figure
    return MeanOfScores(measure, scored, inner, tuple(axis for axis in axis_columns(plan) if axis in inner.by))


def _with_repeats(
    connection: Connection, plan: Plan, mean: MeanOfScores, parts: DifferenceComponents, share: float
) -> DifferenceComponents:
    """Return the components with the component of repeats separated, if judges graded each reply several times.

    The variance of a judge's repeated grades of a reply is the noise of one grade. `share` is the part of this variance
    that remains in the value of a reply, which may be a mean over metrics. A score is the mean of its repeated grades,
    so the residual component contains their noise, divided by the number of repeats; it is subtracted there. If
    verdicts are not numbers, the score is the most frequent verdict and not a mean, so the effect of more repeats is
    unknown, and nothing is separated.
    """
    scorers = {step.scorer: plan.scorer(step.scorer) for step in judged_steps(mean.scored)}
    counts = {scorer.samples for scorer in scorers.values()}
    repeats = counts.pop() if len(counts) == 1 else 1
    if repeats < 2 or any(scorer.then is not None or _is_majority(scorer) for scorer in scorers.values()):
        return parts
    verdict_values: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for (scorer, metric), verdicts in repeated_verdicts(connection, plan).items():
        if scorer in scorers and mean.scored.name == (scorer if mean.scored.kind == "scorer" else metric):
            for verdict in verdicts:
                verdict_values[scorer, metric, verdict.judge, verdict.reply].append(verdict.value)
    variances = [variance(values) for values in verdict_values.values() if len(values) > 1]
    if len(variances) < FEWEST_ITEMS:
        return parts
    noise = 2 * share * fmean(variances)
    residual = "gradings" if "judges" in parts.separated else "samples" if "samples" in parts.separated else "items"
    remaining = max(getattr(parts, residual) - noise / repeats, 0.0)
    samples, judges, _ = parts.observed
    return replace(
        parts,
        repeats=noise,
        separated=parts.separated | {"repeats"},
        observed=(samples, judges, repeats),
        **{residual: remaining},
    )


def _is_majority(scorer: Scorer) -> bool:
    """Return true if the score of several verdicts is the most frequent verdict."""
    return scorer.gives is not None and scorer.gives.kind in ("bool", "choice")


def call_costs(connection: Connection, plan: Plan) -> dict[str, float]:
    """Return the average cost of a stored call of each model and evaluator, in USD, by name."""
    schema = quoted(plan.benchmark.name)
    query = f"""select model, avg(cost_usd) from (
      select distinct sample_id, model, cost_usd from {schema}.samples
      union all select distinct judgement_id, evaluator, cost_usd from {schema}.judgements)
    group by model having avg(cost_usd) is not null"""
    return dict(connection.execute(query).fetchall())


def scored_step(plan: Plan, measure: Measure) -> ScoredStep | None:
    """Return the scored step whose mean a measure is; `None` if it is not a mean of stored scores."""
    figure, _ = _mean_of(plan, measure)
    scored = None if figure is None else scored_inputs(scored_values_of(plan), figure)[0]
    return scored if scored is not None and scored.stored else None


def lower_scores(plan: Plan) -> frozenset[tuple[str, str]]:
    """Return the scenario and metric of each score for which lower is better: every measure that is a mean of it says
    so."""
    directions: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for measure in plan.measures:
        scored = scored_step(plan, measure)
        for scenario in () if scored is None else scored.scenarios:
            for step in scored.steps if scored is not None else ():
                for metric in getattr(step, "metrics", None) or (step.name,):
                    directions[scenario.name, metric].add(is_lower_better(plan, measure))
    return frozenset(score for score, declared in directions.items() if declared == {True})


def _mean_of(plan: Plan, measure: Measure) -> tuple[Aggregate | None, Measure]:
    """Return the mean of a measure, following measures that only rename another one; None if it is not a mean of one
    value."""
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
    """Return the SQL of a value for every model, cluster of items, sample and judge.

    Its columns are these four, the cell, the value, the number of clusters, the number of pairs of scenario and item,
    and the variance of the value as a share of that of one score, Σ w² / (Σ w)². If a cluster is in several cells, all
    cells are empty. `labelled` keeps only replies that a person graded. The scores are read twice, since a materialized
    table would hold all of them in memory.
    """
    scored, inner, axes = mean.scored, mean.inner, mean.axes
    arms = [quoted(arm) for arm in arm_columns(plan)]
    more = tuple(dict.fromkeys(["evaluator", *arms, *(quoted(axis) for axis in axes)]))
    rows = rows_sql(plan, scored, RowSelection(graders=graders), more)
    by_people = rows_sql(plan, scored, RowSelection(graders="people"), more)
    kind = ", ".join(["model", "evaluator", "scenario", "metric", *arms])
    reply = ", ".join(["model", "scenario", "item_id", *arms])
    weights = {} if "metric" in inner.by else weights_of(scored)
    value = "coalesce(value, 0)" if mean.measure.missing == "zero" else "value"
    cell = " || '/' || ".join(f"coalesce({quoted(axis)}::varchar, '')" for axis in axes) or "''"
    of_models = f"where model in {texts(models)}" if models else ""
    graded_only = (
        f"semi join (select sample_id, metric from ({by_people}) where value is not null) using (sample_id, metric)"
    )
    label_filter = f"{graded_only} " if labelled else ""
    # A row is a cluster of items with a model, a sample and a judge: its mean score, centred by kind of score.
    return f"""\
with scores as not materialized (
  select * from ({rows}) {label_filter}{of_models}
), items as materialized (
  select distinct scenario, item_id, cluster_id from scores where value is not null
), drawn as (
  select distinct cluster_id from items order by cluster_id limit {MOST_ITEMS}
), chosen as (
  select *, {cell} as "its cell", {weight_sql(weights)} as "its weight",
    dense_rank() over (partition by {reply} order by sample_id) as "its sample"
  from scores semi join drawn using (cluster_id)
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
    """Return the factor by which unequal cell sizes enlarge the variance of a mean of cells, n / C² · Σ 1 / n_c, for n
    items in C cells.

    >>> _unevenness(("a", "b"), ("x", "y")), _unevenness(("a", "b", "c", "d"), ("x", "x", "x", "y"))
    (1.0, 1.3333333333333333)
    """
    items_by_cell: dict[str, set[str]] = defaultdict(set)
    for item, cell in zip(items, cells, strict=True):
        items_by_cell[cell].add(item)
    sizes = [len(items_of_cell) for items_of_cell in items_by_cell.values()]
    return sum(sizes) / len(sizes) ** 2 * sum(1 / size for size in sizes)


@dataclass(frozen=True)
class LabelVariance:
    """The variance components of labels, and the number of items with labels and scores by judges."""

    parts: LabelComponents
    items: int


def label_components(
    connection: Connection, plan: Plan, measure: Measure, models: tuple[str, ...] = ()
) -> LabelVariance | NotEstimable:
    """Return the variance of people's grades of a measure and their covariance with those of judges, from the rows of
    the benchmark in `connection`; `NotEstimable` with a reason if too few items have both."""
    scores = mean_of_scores(plan, measure)
    if scores is None:
        return NotEstimable("it is no mean of scores")
    pairs = []
    for graders in ("people", "counted"):
        query = scores_query(plan, scores, models, graders, labelled=True)
        values: dict[tuple[str, str], list[float]] = defaultdict(list)
        for model, item, _, _, _, value, *_ in connection.execute(query).fetchall():
            values[item, model].append(value)
        pairs.append({key: sum(pair) / len(pair) for key, pair in values.items()})
    people, judges = pairs
    both = sorted(people.keys() & judges.keys())
    items = len({item for item, _ in both})
    if items < FEWEST_ITEMS:
        return NotEstimable(f"people graded {items} items: it takes {FEWEST_ITEMS}")
    rows = np.array([(people[key], judges[key]) for key in both])
    return LabelVariance(label_variance(rows, [item for item, _ in both], [model for _, model in both]), items)


def label_variance(rows: Floats, items: Sequence[str], models: Sequence[str]) -> LabelComponents:
    """Return the components of a difference of labels: twice the variance and covariance within items.

    `rows` are pairs (people, judges), which are centred by model. If too few items have labels for two models, the
    variance and covariance between items are used, multiplied by 1 - `CORRELATION`.

    >>> rows = np.array([[1.0, 2.0], [-1.0, -2.0], [-2.0, -1.0], [2.0, 1.0]])
    >>> found = label_variance(np.tile(rows, (4, 1)), [item for item in "abcdefgh" for _ in "ab"], ["a", "b"] * 8)
    >>> round(found.people, 2), round(found.items, 2)
    (10.29, 10.29)
    """
    _, item_codes = np.unique(np.array(items), return_inverse=True)
    _, model_codes = np.unique(np.array(models), return_inverse=True)
    sizes = np.bincount(item_codes)
    centred = rows - _means(rows, model_codes)
    if int((sizes > 1).sum()) >= FEWEST_ITEMS:
        has_several = sizes[item_codes] > 1
        within = (centred - _means(centred, item_codes))[has_several]
        df = int((sizes[sizes > 1] - 1).sum()) - (len(np.unique(model_codes[has_several])) - 1)
        products = within.T @ within / max(df, 1)
        return LabelComponents(float(2 * products[0, 0]), float(2 * products[0, 1]) * _shrinkage(products, df))
    df = len(rows) - len(np.unique(model_codes))
    products = centred.T @ centred / max(df, 1)
    people, both = (float(2 * (1 - CORRELATION) * product) for product in products[0])
    return LabelComponents(people, both * _shrinkage(products, df))


def _shrinkage(products: Floats, df: int) -> float:
    """Return the factor that shrinks a covariance so that its squared correlation is unbiased (Ezekiel 1930), since
    designs are chosen by it."""
    square = float(products[0, 1] ** 2 / (products[0, 0] * products[1, 1])) if products[0, 1] else 0.0
    adjusted = 1 - (1 - square) * df / max(df - 1, 1)
    return float(np.sqrt(max(adjusted, 0.0) / square)) if square else 1.0


def _means(rows: Floats, groups: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """Return for each row the mean of its group."""
    sizes = np.bincount(groups)
    sums = np.stack([np.bincount(groups, weights=column) for column in rows.T], axis=1)
    means: Floats = (sums / sizes[:, None])[groups]
    return means


MORE_LABELS = (30, 60, 100)
"""The numbers of additional graded items for which the half-width is reported."""


@dataclass(frozen=True)
class LabelGain:
    """The half-width of the interval of a corrected measure for a model: `now`, with `items` graded items, and `then`,
    as pairs of a larger number of graded items and the approximate half-width."""

    measure: str
    model: str
    now: float
    items: int
    then: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        """The gain as a sentence."""
        text = ", ".join(f"±{reach:.3g} with {items:,}" for items, reach in self.then)
        first = f"`{self.measure}` of {self.model}: ±{self.now:.3g} with {self.items:,} graded items"
        return f"{first}, about {text}." if text else f"{first}, which are all."

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        then = [{"graded_items": items, "half_width": reach} for items, reach in self.then]
        return {"model": self.model, "graded_items": self.items, "half_width": self.now, "with_more": then}


def find_label_gains(connection: Connection, plan: Plan, measure: Measure) -> Iterator[LabelGain]:
    """Yield the gain of more labels for each model's figure of a measure that people already correct."""
    if not measure.corrected or measure.by:
        return
    for (_, model), inputs in sorted(corrected_inputs(connection, plan, measure).items()):
        now = inputs.reach(inputs.items)
        if now is not None:
            yield LabelGain(measure.name, model, now, inputs.items, tuple(_larger_numbers(inputs)))


def _larger_numbers(inputs: CorrectedInputs) -> Iterator[tuple[int, float]]:
    """Yield larger numbers of graded items, up to all items, each with the expected half-width."""
    for more in MORE_LABELS:
        items = min(inputs.items + more, len(inputs.names))
        reach = inputs.reach(items)
        if reach is not None and items > inputs.items:
            yield items, reach
        if items == len(inputs.names):
            return


def break_even_label_price(
    parts: DifferenceComponents, labels: LabelComponents, items: int, graded: int, spent: float, share: float
) -> float | None:
    """Return the price of a label below which labels gain more precision than items; None if even labels of all items
    gain less.

    A label covers both models' replies to an item. The run `spent` its money, in USD, on `items` items, of which
    `graded` have labels. At the break-even price, `share` times that money reduces the variance of the corrected
    difference equally whether it is spent on labels or on items.

    >>> parts, labels = DifferenceComponents(items=1.0, separated=frozenset()), LabelComponents(people=1.2, items=0.9)
    >>> round(break_even_label_price(parts, labels, 400, 50, 20.0, 0.1), 2)
    1.65
    """
    samples, judges, repeats = parts.observed
    all_samples, one_sample = parts.variance(samples, judges, repeats), parts.variance(1, judges, repeats)

    def variance(items: float, graded: float) -> float:
        return corrected_variance(labels, all_samples, one_sample, samples, items, graded)

    target = variance(items * (1 + share), graded)
    low, high = float(graded), float(items)
    if graded >= items or variance(items, high) > target:
        return None
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if variance(items, middle) > target else (low, middle)
    return share * spent / (high - graded) if high > graded else None


EXTRA_SHARE = 0.1
"""The additional expense whose gain is reported, as a share of the cost of the run."""


@dataclass(frozen=True)
class DesignAdvice:
    """The relative reduction of the standard error of a difference for 10 % more money, by lever; or the reason why it
    is unknown."""

    measure: str
    reductions: Mapping[str, float] = field(default_factory=dict)
    """By lever (`items`, `samples`, `judges` or `repeats`), the largest first."""
    in_calls: bool = False
    """True if calls are counted instead of money, since a cost is unknown or all are 0."""
    reason: str | None = None
    """Why there are no reductions."""
    labels: tuple[LabelGain, ...] = ()
    """For a measure that people correct: the gain of more labels."""
    worth: float | None = None
    """For a measure that people correct: the price of a graded reply, in USD, below which labels gain more than
    items."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The advice as sentences; empty if nothing is known."""
        labels = tuple(label.sentence for label in self.labels)
        if self.worth is not None:
            price = usd(self.worth)
            text = (
                f"If a graded reply costs less than {price} USD, more labels reduce the error of a difference more than"
                " more items do."
            )
            labels += (text,)
        if not self.reductions:
            return labels
        (best, best_reduction), *others = self.reductions.items()
        resource = "calls" if self.in_calls else "money"
        first = (
            f"`{self.measure}`: {100 * EXTRA_SHARE:.0f} % more {resource}, spent on more {best}, would reduce the error"
            f" of a difference between two models by {100 * best_reduction:.1f} %."
        )
        return first, *(f"Spent on more {name}: by {100 * reduction:.1f} %." for name, reduction in others)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        unit = {} if self.reason else {"unit": "calls" if self.in_calls else "USD"}
        labels = {"labels": [label.to_json() for label in self.labels]} if self.labels else {}
        worth = {} if self.worth is None else {"label_worth_usd": self.worth}
        content = {"measure": self.measure, "error_falls_by": dict(self.reductions), **unit, "reason": self.reason}
        return {**content, **labels, **worth}


def find_design_advice(connection: Connection, plan: Plan, measure: Measure) -> DesignAdvice:
    """Return the reductions of the error of a difference in a measure by lever, from the rows of the benchmark in
    `connection`."""
    if measure.corrected:
        return _label_advice(connection, plan, measure)
    scored = scored_step(plan, measure)
    components = measure_components(connection, plan, measure)
    if isinstance(components, NotEstimable) or scored is None:
        return DesignAdvice(measure.name, reason=components.reason if isinstance(components, NotEstimable) else None)
    in_calls, reply_cost, judgement_cost = _costs(connection, plan, scored)
    reductions = error_reductions(components.parts, reply_cost, judgement_cost)
    ranked = dict(sorted(reductions.items(), key=lambda entry: -entry[1]))
    return DesignAdvice(measure.name, ranked, in_calls, None if ranked else "no call was made")


def _label_advice(connection: Connection, plan: Plan, measure: Measure) -> DesignAdvice:
    """Return the gain of more labels for a measure that people correct."""
    gains = tuple(find_label_gains(connection, plan, measure))
    reason = "people correct it, so its error is that of their grades too"
    judged = measure.model_copy(update={"corrected": False})
    scored = scored_step(plan, judged)
    components, labels = measure_components(connection, plan, judged), label_components(connection, plan, judged)
    reply_price = None
    if scored is not None and not isinstance(components, NotEstimable) and not isinstance(labels, NotEstimable):
        in_calls, reply_cost, judgement_cost = _costs(connection, plan, scored)
        spent = 0.0 if in_calls else reply_cost + judgement_cost
        pair_price = break_even_label_price(
            components.parts, labels.parts, components.items, labels.items, spent, EXTRA_SHARE
        )
        # The money was spent on all models, and a label covers the reply of one model.
        reply_price = None if pair_price is None or not spent else pair_price / len(components.models)
    return DesignAdvice(measure.name, reason=reason, labels=gains, worth=reply_price)


def _costs(connection: Connection, plan: Plan, scored: ScoredStep) -> tuple[bool, float, float]:
    """Return whether calls are counted instead of money, and the cost of replies and of judgements, in calls or USD."""
    schema, scenarios = quoted(plan.benchmark.name), texts(scenario.name for scenario in scored.scenarios)
    several = any(shows_several_times(plan, role.name) for role in plan.roles if role.kind == "compared")
    (reply_usd, replies), (judgement_usd, judgements) = (
        _spent(connection, [f"{schema}.{table}" for table in tables], scenarios, several)
        for tables in (("samples", "turns"), ("judgements",))
    )
    if reply_usd is None or judgement_usd is None or reply_usd + judgement_usd == 0:
        return True, replies, judgements
    return False, reply_usd, judgement_usd


def error_reductions(parts: DifferenceComponents, reply_cost: float, judgement_cost: float) -> dict[str, float]:
    """Return the relative reduction of the standard error, by lever, for a run with these costs of replies and of
    judgements, if `EXTRA_SHARE` of their sum is spent on the lever in addition.

    >>> parts = DifferenceComponents(items=1.0, samples=2.0, judges=0.5, observed=(1, 2, 1))
    >>> {name: round(part, 3) for name, part in error_reductions(parts, 4.0, 4.0).items()}
    {'items': 0.047, 'samples': 0.028, 'judges': 0.006, 'repeats': 0.0}
    """
    samples, judges, repeats = parts.observed
    spent = reply_cost + judgement_cost
    if spent <= 0:
        return {}
    now = parts.variance(samples, judges, repeats)
    variances = {"items": now / (1 + EXTRA_SHARE)}
    if "samples" in parts.separated:
        variances["samples"] = parts.variance(samples * (1 + EXTRA_SHARE), judges, repeats)
    if "judges" in parts.separated and judgement_cost > 0:
        variances["judges"] = parts.variance(samples, judges * (1 + EXTRA_SHARE * spent / judgement_cost), repeats)
    if "repeats" in parts.separated and judgement_cost > 0:
        variances["repeats"] = parts.variance(samples, judges, repeats * (1 + EXTRA_SHARE * spent / judgement_cost))
    return {name: 1 - math.sqrt(after / now) for name, after in variances.items()}


def _spent(connection: Connection, tables: list[str], scenarios: str, several: bool) -> tuple[float | None, int]:
    """Return the total cost of calls in USD, None if a cost is unknown, and the number of calls. With `several`, a call
    may be in several rows and is counted once, which needs memory for the ids of all calls."""
    keys = {"samples": "sample_id", "turns": "turn_id", "judgements": "judgement_id"}
    ids = {table: f"distinct {keys[table.rpartition('.')[2]]} as call," if several else "" for table in tables}
    parts = " union all ".join(
        f"select {column} cost_usd from {table} where scenario in {scenarios}" for table, column in ids.items()
    )
    query = f"select case when count(cost_usd) = count(*) then coalesce(sum(cost_usd), 0) end, count(*) from ({parts})"
    [(cost, calls)] = connection.execute(query).fetchall()
    return cost, calls
