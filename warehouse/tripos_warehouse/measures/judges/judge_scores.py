"""Scores of judges and people on the same replies, as the rows of a run have them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from tripos_compiler.plan import Grade, Plan, Verdict
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics.validity import RepeatedVerdict
from tripos_warehouse.views import clusters_of

VERDICT = "verdict"
"""What a judge's one value is called in `judgements.parsed`; the metric is then called like the score."""

MetricKey = tuple[str, str]
"""A scorer and a metric."""


class GradedScore(NamedTuple):
    """The score that one judge or person gave a reply, or an element of one, on a metric. `fingerprint` is that of the
    score: the same in two runs where both asked the same."""

    evaluator: str
    reply: str
    cluster: str
    model: str
    value: float
    low: float | None
    high: float | None
    fingerprint: str


def graded_scores(connection: Connection, plan: Plan) -> dict[MetricKey, list[GradedScore]]:
    """Return the scores that somebody gave, by scorer and metric; of several rounds the last."""
    found: dict[MetricKey, list[GradedScore]] = defaultdict(list)
    rows = connection.execute(
        f"""select score.scorer, score.metric::varchar, score.evaluator,
          concat_ws(' ', score.sample_id, score.element_place), any_value(score.cluster_id),
          any_value(score.model), arg_max(score.value, coalesce(score.round, 0)), any_value(score.low),
          any_value(score.high), any_value(score.fingerprint)
        from {sql.name(plan.benchmark.name)}.scores as score
        where score.evaluator is not null and score.value is not null group by 1, 2, 3, 4 order by 1, 2, 3, 4"""
    )
    for scorer, metric, *score in rows.fetchall():
        found[scorer, metric].append(GradedScore(*score))
    return dict(found)


def repeated_scorers(plan: Plan) -> frozenset[str]:
    """Return the scorers whose judges are asked several times."""
    return frozenset(scorer.name for scorer in plan.scorers if scorer.samples > 1)


def repeated_verdicts(connection: Connection, plan: Plan) -> dict[MetricKey, list[RepeatedVerdict]]:
    """Return every verdict of judges that are asked several times, by scorer and metric. Of a judge that gives one
    value the metric is called like the score. Verdicts on two replies, or on elements, are known by what the judge was
    sent."""
    wanted = repeated_scorers(plan)
    found: dict[MetricKey, list[RepeatedVerdict]] = defaultdict(list)
    if not wanted:
        return {}
    rows = connection.execute(
        f"""select distinct judgement.judgement_id, judgement.scorer, judgement.evaluator, judgement.item_id,
          judgement.fingerprint, judgement.sample_id, judgement.parsed,
          case when judgement.scorer in {sql.texts(_by_messages(plan))} then md5(judgement.messages) else '' end,
          max(judgement.repeat) over (partition by judgement.scorer, judgement.evaluator)
        from {sql.name(plan.benchmark.name)}.judgements as judgement
        where judgement.scorer in {sql.texts(wanted)} and judgement.repeat is not null and judgement.parsed is not null
        order by 1"""
    )
    names, clusters = titles(plan), clusters_of(connection, plan)
    cascades = {scorer.name for scorer in plan.scorers if scorer.then is not None}
    for _, scorer, evaluator, item, fingerprint, sample, parsed, sent, last in rows.fetchall():
        if scorer in cascades and not last:
            continue  # a stronger judge, which is asked once
        for metric, told in read_scores(parsed).items():
            cluster = clusters.get(item, item)
            for name in names.get(fingerprint, (scorer,)) if metric == VERDICT else (metric,):
                found[scorer, name].append(RepeatedVerdict(evaluator, (fingerprint, sample, sent), cluster, told))
    return dict(found)


def titles(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the names of scores of one value, by the fingerprint of the judge's reply, first those of scores without a
    condition. Several scores may have one reply."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    grades = [step for step in steps if isinstance(step, Grade) and not step.metrics]
    found: dict[str, dict[str, None]] = {}
    for step in sorted(grades, key=lambda each: each.when is not None):
        found.setdefault(step.judgement, {})[step.name] = None
    return {judgement: tuple(names) for judgement, names in found.items()}


def _by_messages(plan: Plan) -> list[str]:
    """Return the scorers whose verdicts on one reply may be on several things, which what was sent tells apart: which
    of two replies is better, and elements of a list. One without a name where there is none."""
    chosen = {each.name for each in plan.scorers if each.gives is not None and each.gives.kind == "choice"}
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return sorted(chosen | {step.scorer for step in steps if isinstance(step, Verdict) and step.loops}) or [""]


def read_scores(parsed: str | None) -> dict[str, float]:
    """Return the scores in the JSON of a judgement, by metric."""
    if parsed is None:
        return {}
    try:
        told = orjson.loads(parsed)
    except orjson.JSONDecodeError:
        return {}
    parts = told.items() if isinstance(told, Mapping) else ()
    scores = {name: part.get("score") for name, part in parts if isinstance(part, Mapping)}
    return {name: float(score) for name, score in scores.items() if isinstance(score, int | float)}


def by_reply(scores: Sequence[GradedScore], people: Sequence[str]) -> dict[str, float]:
    """Return the mean of these people for each reply that they graded."""
    given: dict[str, list[float]] = defaultdict(list)
    for each in scores:
        if each.evaluator in people:
            given[each.reply].append(each.value)
    return {reply: sum(values) / len(values) for reply, values in given.items()}
