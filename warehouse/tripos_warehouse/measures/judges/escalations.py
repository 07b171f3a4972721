"""Cascades of judges: what a run escalated and saved, and thresholds that labels teach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeVar

import orjson

from tripos_compiler.plan import Plan, Scorer
from tripos_warehouse import sql
from tripos_warehouse.measures.judges.judge_scores import VERDICT, GradedScore, MetricKey, by_reply, read_scores, titles
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.validity import LearnedThreshold, learned_threshold
from tripos_warehouse.views import clusters_of

HALF_A_POINT = 0.5
"""A score agrees with people where it is nearer to their mean than this: of true and false, where it is the same."""
Roles = Mapping[str, Sequence[str]]
"""The models of a run, by role."""


@dataclass(frozen=True)
class CascadeUse:
    """The calls of a cascade to its stronger judges. Costs are None where a provider did not tell."""

    scorer: str
    unsure_below: float
    escalated: StatisticResult
    """The share of replies that went to the stronger judges, with an interval by item."""
    calls: int
    saved_calls: int
    cost_usd: float | None
    saved_usd: float | None
    """What the calls that were not made would have cost, at the mean of those that were."""


@dataclass(frozen=True)
class ScorerThreshold:
    """The threshold of a scorer, if it were a cascade, or is one: `unsure below` this."""

    scorer: str
    level: float
    learned: LearnedThreshold


@dataclass
class _Reply:
    """The verdicts of the first judges of a scorer on a reply, by metric, and how many of them were asked."""

    cluster: str
    asked: int = 0
    said: dict[str, list[float | str]] = field(default_factory=lambda: defaultdict(list))
    probability: float | None = None
    """That of the one verdict, where its tokens tell it."""

    @property
    def confidence(self) -> float:
        """The share of verdicts that are what most are, of several metrics the least; or the probability of the one."""
        if self.probability is not None and self.asked == 1:
            return self.probability
        shares = [max(map(values.count, values)) / self.asked for values in self.said.values()]
        return min(shares, default=0.0)


def cascade_uses(connection: Connection, plan: Plan, roles: Roles) -> tuple[CascadeUse, ...]:
    """Return what every cascade of a run escalated and saved."""
    return tuple(_use(connection, plan, scorer, roles) for scorer in plan.scorers if scorer.then is not None)


def _use(connection: Connection, plan: Plan, scorer: Scorer, roles: Roles) -> CascadeUse:
    assert scorer.then is not None
    stronger = tuple(roles.get(scorer.then, ()))
    replies = _replies(connection, plan, scorer, roles.get(scorer.role, ()))
    rows = connection.execute(
        f"""select distinct judgement_id, fingerprint, sample_id, cost_usd
        from {sql.name(plan.benchmark.name)}.judgements
        where scorer = ? and evaluator in {sql.texts(stronger) if stronger else "['']"} and round is null""",
        [scorer.name],
    ).fetchall()
    # A stronger verdict on a reply may be there for another run, with another threshold: what the first judges said
    # decides, as it did in the run.
    unsure = {key for key, reply in replies.items() if reply.confidence < scorer.unsure_below}
    escalated = [float(key in unsure) for key in replies]
    saved = (len(replies) - len(unsure)) * len(stronger)
    costs = [cost for _, fingerprint, sample, cost in rows if (fingerprint, sample) in unsure]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) if len(known) == len(costs) else None
    return CascadeUse(
        scorer.name,
        scorer.unsure_below,
        mean(escalated, [each.cluster for each in replies.values()], ends=(0.0, 1.0)),
        len(costs),
        saved,
        cost,
        None if cost is None or not costs else cost / len(costs) * saved,
    )


def learned_thresholds(
    connection: Connection,
    plan: Plan,
    roles: Roles,
    scores: Mapping[MetricKey, Sequence[GradedScore]],
    people: Sequence[str],
    level: float,
) -> tuple[ScorerThreshold, ...]:
    """Return the threshold of every scorer with several verdicts on a reply, from those that people graded. Of several
    replies to the items of a cluster one counts, since the bound is of independent draws: the first by name, which is a
    hash."""
    found = []
    for scorer in plan.scorers:
        judges = [each for each in roles.get(scorer.role, ()) if each not in people]
        whole = scorer.gives is None or scorer.gives.kind in ("bool", "integer")
        probable = scorer.settings.top_logprobs is not None and len(judges) == 1
        several = scorer.samples * len(judges) > 1 or probable
        if not scorer.writes or not whole or scorer.weighted or not several:
            continue
        labels = {metric: by_reply(some, people) for (name, metric), some in scores.items() if name == scorer.name}
        if not any(labels.values()):
            continue
        by_cluster: dict[str, tuple[float, bool]] = {}
        replies = _replies(connection, plan, scorer, judges)
        for (_, sample), reply in sorted(replies.items(), key=lambda each: each[0]):
            pairs = [
                (_combined(scorer, said), labels[metric][sample])
                for metric, said in reply.said.items()
                if sample in labels.get(metric, {})
            ]
            if pairs and len(pairs) == len(reply.said):
                agrees = all(abs(value - label) < HALF_A_POINT for value, label in pairs)
                by_cluster.setdefault(reply.cluster, (reply.confidence, agrees))
        sure, agreed = [each for each, _ in by_cluster.values()], [each for _, each in by_cluster.values()]
        found.append(ScorerThreshold(scorer.name, level, learned_threshold(sure, agreed, level)))
    return tuple(found)


Kind = TypeVar("Kind")


def _read_verdict(parsed: str | None, name: str, kind: type[Kind]) -> dict[str, Kind]:
    """Return what the JSON of a judgement has beside the score of a verdict, by the name of that."""
    told = orjson.loads(parsed) if parsed else None
    part = told.get(VERDICT) if isinstance(told, dict) else None
    found = part.get(name) if isinstance(part, dict) else None
    return {VERDICT: found} if isinstance(found, kind) else {}


def _combined(scorer: Scorer, verdicts: Sequence[float | str]) -> float:
    """Return the score that verdicts come to: of true and false what most of them are, and else the mean."""
    said = [each for each in verdicts if not isinstance(each, str)]
    if scorer.gives is not None and scorer.gives.kind == "bool":
        return max(said, key=list(said).count)
    return fmean(said)


def _replies(
    connection: Connection, plan: Plan, scorer: Scorer, judges: Sequence[str]
) -> dict[tuple[str, str], _Reply]:
    """Return what these judges said of each reply, by the fingerprint of what they were asked and the sample."""
    names, clusters = titles(plan), clusters_of(connection, plan)
    rows = connection.execute(
        f"""select distinct judgement_id, fingerprint, sample_id, item_id, parsed, repeat, status
        from {sql.name(plan.benchmark.name)}.judgements
        where scorer = ? and evaluator in {sql.texts(judges) if judges else "['']"} and round is null
          and sample_id is not null and status not in ('undefined', 'not_applicable')
        order by repeat, judgement_id""",
        [scorer.name],
    ).fetchall()
    found: dict[tuple[str, str], _Reply] = {}
    failed: set[tuple[str, str]] = set()
    for _, fingerprint, sample, item, parsed, _, status in rows:
        if status == "provider_error":  # nothing is decided until it arrives
            failed.add((fingerprint, sample))
        reply = found.setdefault((fingerprint, sample), _Reply(clusters.get(item, item)))
        reply.asked += 1
        told: dict[str, float | str] = {**read_scores(parsed), **_read_verdict(parsed, "choice", str)}
        reply.probability = _read_verdict(parsed, "probability", float).get(VERDICT)
        for metric, value in told.items():
            reply.said[names.get(fingerprint, (scorer.name,))[0] if metric == VERDICT else metric].append(value)
    return {key: reply for key, reply in found.items() if key not in failed}
