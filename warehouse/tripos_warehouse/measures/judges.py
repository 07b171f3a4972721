"""The judges of a run: severity, use of the scale, stability, calibration by people, drift, and cascades.

Judges are compared with people, with each other, and with themselves if they are asked several times. A cascade asks
stronger judges only if the first ones are not confident enough; the threshold of confidence can be learned from grades
by people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeVar

import orjson

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.references import names_in
from tripos_compiler.language.row_scales import scale_arguments, scorer_in_case
from tripos_compiler.plan import VERDICT, Grade, IntegerType, Plan, Scorer, Verdict
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.preferences import judge_severity
from tripos_warehouse.statistics.validity import (
    Calibration,
    CorrectedPrevalence,
    JudgeDrift,
    JudgeNoise,
    JudgeStability,
    LearnedThreshold,
    RepeatedVerdict,
    calibrate,
    corrected_prevalence,
    judge_drift,
    judge_noise,
    judge_stability,
    learned_threshold,
)
from tripos_warehouse.statistics.variance import PanelStudy, panel_study
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.benchmark_views import clusters_of
from tripos_warehouse.views.runs import RunRecord

MetricKey = tuple[str, str]
"""A scorer and a metric."""


class GradedScore(NamedTuple):
    """The score that one judge or person gave a reply, or an element of one, on a metric. `fingerprint` is that of the
    score: equal in two runs that asked the same question."""

    evaluator: str
    reply: str
    cluster: str
    model: str
    value: float
    low: float | None
    high: float | None
    fingerprint: str


def graded_scores(connection: Connection, plan: Plan) -> dict[MetricKey, list[GradedScore]]:
    """Return the scores by judges and people, by scorer and metric; for several rounds, that of the last."""
    scores: dict[MetricKey, list[GradedScore]] = defaultdict(list)
    scales = _row_scales(connection, plan)
    rows = connection.execute(
        f"""select score.scorer, score.metric::varchar, any_value(score.item_id), score.evaluator,
          concat_ws(' ', score.sample_id, score.element_place), any_value(score.cluster_id),
          any_value(score.model), arg_max(score.value, coalesce(score.round, 0)), any_value(score.low),
          any_value(score.high), any_value(score.fingerprint)
        from {sql.name(plan.benchmark.name)}.scores as score
        where score.evaluator is not null and score.value is not null
        group by score.scorer, score.metric, score.evaluator, score.sample_id, score.element_place
        order by 1, 2, 4, 5"""
    )
    for scorer, metric, item, *columns in rows.fetchall():
        score = GradedScore(*columns)
        low, high = scales.get((score.fingerprint, item), (score.low, score.high))
        scores[scorer, metric].append(score._replace(low=low, high=high))
    return dict(scores)


def _row_scales(connection: Connection, plan: Plan) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the scales that rows give, as in `gives 0..points`, by the fingerprint of the score and the item. Those of
    single elements of a list, which no item gives, are left out."""
    scorers = {scorer.name: scorer for scorer in plan.scorers if scorer.maximum is not None}
    grades = {
        (scenario.name, step.fingerprint): (scorers[step.scorer], step.args, scenario.rows.alias)
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Grade) and step.scorer in scorers and scenario.rows is not None
        if set().union(*map(names_in, scale_arguments(scorers[step.scorer], step.args).values()))
        <= {scenario.rows.alias}
    }
    if not grades:
        return {}
    items = connection.execute(f"select scenario::varchar, item_id, fields from {sql.name(plan.benchmark.name)}.items")
    scales: dict[tuple[str, str], tuple[int, int]] = {}
    for scenario, item, text in items.fetchall():
        for (name, fingerprint), (scorer, args, alias) in grades.items():
            if name == scenario:
                try:
                    gives = scorer_in_case(scorer, args, {alias: orjson.loads(text)}).gives
                except Unavailable:  # the score of a row without a scale is missing
                    continue
                assert isinstance(gives, IntegerType) and gives.low is not None and gives.high is not None
                scales[fingerprint, item] = gives.low, gives.high
    return scales


def repeated_scorers(plan: Plan) -> frozenset[str]:
    """Return the scorers whose judges are asked several times."""
    return frozenset(scorer.name for scorer in plan.scorers if scorer.samples > 1)


def repeated_verdicts(connection: Connection, plan: Plan) -> dict[MetricKey, list[RepeatedVerdict]]:
    """Return every verdict of judges that are asked several times, by scorer and metric. For a judge with a single
    value, the metric has the name of the score. Verdicts on two replies, or on elements, are distinguished by the
    messages to the judge."""
    scorers = repeated_scorers(plan)
    verdicts: dict[MetricKey, list[RepeatedVerdict]] = defaultdict(list)
    if not scorers:
        return {}
    rows = connection.execute(
        f"""select distinct judgement.judgement_id, judgement.scorer, judgement.evaluator, judgement.item_id,
          judgement.fingerprint, judgement.sample_id, judgement.parsed,
          case when judgement.scorer in {sql.texts(_ambiguous_scorers(plan))} then md5(judgement.messages) else '' end,
          max(judgement.repeat) over (partition by judgement.scorer, judgement.evaluator)
        from {sql.name(plan.benchmark.name)}.judgements as judgement
        where judgement.scorer in {sql.texts(scorers)} and judgement.repeat is not null and judgement.parsed is not null
        order by 1"""
    )
    names, clusters = score_names(plan), clusters_of(connection, plan)
    cascades = {scorer.name for scorer in plan.scorers if scorer.then is not None}
    for _, scorer, evaluator, item, fingerprint, sample, parsed, messages, last_repeat in rows.fetchall():
        if scorer in cascades and not last_repeat:
            continue  # a stronger judge, asked only once
        for metric, score in read_scores(parsed).items():
            cluster = clusters.get(item, item)
            for name in names.get(fingerprint, (scorer,)) if metric == VERDICT else (metric,):
                reply = (fingerprint, sample, messages)
                verdicts[scorer, name].append(RepeatedVerdict(evaluator, reply, cluster, score))
    return dict(verdicts)


def score_names(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the names of scores with a single value, by the fingerprint of the judge's reply; scores without a
    condition come first. Several scores may share a reply."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    grades = [step for step in steps if isinstance(step, Grade) and not step.metrics]
    by_judgement: dict[str, dict[str, None]] = {}
    for step in sorted(grades, key=lambda grade: grade.when is not None):
        by_judgement.setdefault(step.judgement, {})[step.name] = None
    return {judgement: tuple(names) for judgement, names in by_judgement.items()}


def _ambiguous_scorers(plan: Plan) -> list[str]:
    """Return the scorers whose verdicts on one reply may concern different things, which only the messages distinguish:
    which of two replies is better, and elements of a list. If there are none, the list has one empty name."""
    chosen = {scorer.name for scorer in plan.scorers if scorer.gives is not None and scorer.gives.kind == "choice"}
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return sorted(chosen | {step.scorer for step in steps if isinstance(step, Verdict) and step.loops}) or [""]


def read_scores(parsed: str | None) -> dict[str, float]:
    """Return the scores in the JSON of a judgement, by metric."""
    if parsed is None:
        return {}
    try:
        judgement = orjson.loads(parsed)
    except orjson.JSONDecodeError:
        return {}
    parts = judgement.items() if isinstance(judgement, Mapping) else ()
    scores = {name: part.get("score") for name, part in parts if isinstance(part, Mapping)}
    return {name: float(score) for name, score in scores.items() if isinstance(score, int | float)}


def by_reply(scores: Sequence[GradedScore], people: Sequence[str]) -> dict[str, float]:
    """Return the mean grade by `people` of each reply that they graded."""
    grades: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        if score.evaluator in people:
            grades[score.reply].append(score.value)
    return {reply: sum(values) / len(values) for reply, values in grades.items()}


HALF_A_POINT = 0.5
"""A score agrees with people if it is nearer to their mean than this; for true and false, if it is that of their
majority."""
Roles = Mapping[str, Sequence[str]]
"""The models of a run, by role."""


@dataclass(frozen=True)
class CascadeUse:
    """The calls of a cascade to its stronger judges. Costs are None if a provider did not report one."""

    scorer: str
    unsure_below: float
    escalated: Estimate
    """The share of replies that went to the stronger judges, with an interval by item."""
    calls: int
    saved_calls: int
    cost_usd: float | None
    saved_usd: float | None
    """The cost of the avoided calls, at the mean cost of the calls that were made."""


@dataclass(frozen=True)
class ScorerThreshold:
    """The learned threshold of a scorer that is, or could be, a cascade, for its option `unsure below`."""

    scorer: str
    level: float
    learned: LearnedThreshold


@dataclass
class _Reply:
    """The verdicts of the first judges of a scorer on a reply, by metric, and the number of judges asked."""

    cluster: str
    judges_asked: int = 0
    verdicts: dict[str, list[float | str]] = field(default_factory=lambda: defaultdict(list))
    probability: float | None = None
    """The probability of a single verdict, if it is known from the log-probabilities of its tokens."""

    @property
    def confidence(self) -> float:
        """The share of verdicts that equal the most frequent one, the least over metrics; or the probability of a
        single verdict."""
        if self.probability is not None and self.judges_asked == 1:
            return self.probability
        shares = [max(map(values.count, values)) / self.judges_asked for values in self.verdicts.values()]
        return min(shares, default=0.0)


def cascade_uses(connection: Connection, plan: Plan, roles: Roles) -> tuple[CascadeUse, ...]:
    """Return the calls that every cascade of a run made to its stronger judges and those that it avoided."""
    return tuple(_use(connection, plan, scorer, roles) for scorer in plan.scorers if scorer.then is not None)


def _use(connection: Connection, plan: Plan, scorer: Scorer, roles: Roles) -> CascadeUse:
    """Return the calls of one cascade."""
    assert scorer.then is not None
    stronger = tuple(roles.get(scorer.then, ()))
    replies = _replies(connection, plan, scorer, roles.get(scorer.role, ()))
    rows = connection.execute(
        f"""select distinct judgement_id, fingerprint, sample_id, cost_usd
        from {sql.name(plan.benchmark.name)}.judgements
        where scorer = ? and evaluator in {sql.texts(stronger) if stronger else "['']"} and round is null""",
        [scorer.name],
    ).fetchall()
    # The store may have a stronger verdict from another run with another threshold, so the verdicts of the first
    # judges decide, as in the run.
    unsure = {key for key, reply in replies.items() if reply.confidence < scorer.unsure_below}
    escalated = [float(key in unsure) for key in replies]
    saved = (len(replies) - len(unsure)) * len(stronger)
    costs = [cost for _, fingerprint, sample, cost in rows if (fingerprint, sample) in unsure]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known) if len(known) == len(costs) else None
    return CascadeUse(
        scorer.name,
        scorer.unsure_below,
        mean(escalated, [reply.cluster for reply in replies.values()], ends=(0.0, 1.0)),
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
    """Return the threshold of every scorer with several verdicts on a reply, or with the probability of its verdict,
    learned from replies that people graded.

    The bound needs independent draws, so only one reply to the items of a cluster counts: the first by its id, which is
    a hash.
    """
    thresholds = []
    for scorer in plan.scorers:
        judges = [judge for judge in roles.get(scorer.role, ()) if judge not in people]
        gives_integers = scorer.gives is None or scorer.gives.kind in ("bool", "integer")
        gives_probability = scorer.settings.top_logprobs is not None and len(judges) == 1
        has_confidence = scorer.samples * len(judges) > 1 or gives_probability
        if not scorer.writes or not gives_integers or scorer.weighted or not has_confidence:
            continue
        labels = {metric: by_reply(score, people) for (name, metric), score in scores.items() if name == scorer.name}
        if not any(labels.values()):
            continue
        by_cluster: dict[str, tuple[float, bool]] = {}
        replies = _replies(connection, plan, scorer, judges)
        for (_, sample), reply in sorted(replies.items(), key=lambda pair: pair[0]):
            pairs = [
                (_combined(scorer, verdict), labels[metric][sample])
                for metric, verdict in reply.verdicts.items()
                if sample in labels.get(metric, {})
            ]
            if pairs and len(pairs) == len(reply.verdicts):
                agrees = all(abs(value - label) < HALF_A_POINT for value, label in pairs)
                by_cluster.setdefault(reply.cluster, (reply.confidence, agrees))
        confidences = [confidence for confidence, _ in by_cluster.values()]
        agreements = [agrees for _, agrees in by_cluster.values()]
        thresholds.append(ScorerThreshold(scorer.name, level, learned_threshold(confidences, agreements, level)))
    return tuple(thresholds)


Kind = TypeVar("Kind")


def _read_verdict(parsed: str | None, name: str, kind: type[Kind]) -> dict[str, Kind]:
    """Return the field `name` of the single value in the JSON of a judgement, under the key `VERDICT`; empty if there
    is no such field of the type `kind`."""
    judgement = orjson.loads(parsed) if parsed else None
    verdict = judgement.get(VERDICT) if isinstance(judgement, dict) else None
    value = verdict.get(name) if isinstance(verdict, dict) else None
    return {VERDICT: value} if isinstance(value, kind) else {}


def _combined(scorer: Scorer, verdicts: Sequence[float | str]) -> float:
    """Return the score of several verdicts: for true and false the majority, otherwise the mean."""
    numbers = [verdict for verdict in verdicts if not isinstance(verdict, str)]
    if scorer.gives is not None and scorer.gives.kind == "bool":
        return max(numbers, key=numbers.count)
    return fmean(numbers)


def _replies(
    connection: Connection, plan: Plan, scorer: Scorer, judges: Sequence[str]
) -> dict[tuple[str, str], _Reply]:
    """Return the verdicts of `judges` on each reply, by the fingerprint of the request and the sample. Replies to which
    a call of a judge failed are left out."""
    names, clusters = score_names(plan), clusters_of(connection, plan)
    rows = connection.execute(
        f"""select distinct judgement_id, fingerprint, sample_id, item_id, parsed, repeat, status
        from {sql.name(plan.benchmark.name)}.judgements
        where scorer = ? and evaluator in {sql.texts(judges) if judges else "['']"} and round is null
          and sample_id is not null and status not in ('undefined', 'not_applicable')
        order by repeat, judgement_id""",
        [scorer.name],
    ).fetchall()
    replies: dict[tuple[str, str], _Reply] = {}
    failed: set[tuple[str, str]] = set()
    for _, fingerprint, sample, item, parsed, _, status in rows:
        if status == "provider_error":  # undecided until it arrives
            failed.add((fingerprint, sample))
        reply = replies.setdefault((fingerprint, sample), _Reply(clusters.get(item, item)))
        reply.judges_asked += 1
        values: dict[str, float | str] = {**read_scores(parsed), **_read_verdict(parsed, "choice", str)}
        reply.probability = _read_verdict(parsed, "probability", float).get(VERDICT)
        for metric, value in values.items():
            reply.verdicts[names.get(fingerprint, (scorer.name,))[0] if metric == VERDICT else metric].append(value)
    return {key: reply for key, reply in replies.items() if key not in failed}


@dataclass(frozen=True)
class RaterUse:
    """How one judge or person uses a scale. `mean` and `deviation` are those of its `n` scores, `lowest` and `highest`
    the shares of its scores at the ends of the scale."""

    rater: str
    n: int
    mean: float
    deviation: float | None
    values: int
    """The number of distinct scores that it gave."""
    lowest: float | None
    highest: float | None
    severity: Estimate
    """Its mean distance from the mean of all raters of the same replies: below 0 it is strict."""


@dataclass(frozen=True)
class ModelPrevalence:
    """The share of a model's replies that people would find good, estimated from a judge with binary verdicts."""

    judge: str
    model: str
    share: CorrectedPrevalence


@dataclass(frozen=True)
class DriftedJudge:
    """Two versions of a judge on the same replies."""

    before: str
    after: str
    drift: JudgeDrift


@dataclass(frozen=True)
class JudgedMetric:
    """The judges of one metric of a scorer."""

    scorer: str
    metric: str
    raters: tuple[RaterUse, ...]
    panel: PanelStudy | None = None
    """How dependable its judges are together; None for a single judge."""
    stability: Mapping[str, JudgeStability] = field(default_factory=dict)
    """By judge, for scorers with `samples`."""
    noise: JudgeNoise | None = None
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    """By judge, if people graded."""
    prevalences: tuple[ModelPrevalence, ...] = ()
    drifts: tuple[DriftedJudge, ...] = ()


@dataclass(frozen=True)
class JudgeReport:
    """The judges of a run; `since` is the earlier run that drift is measured from."""

    run_id: str
    people: tuple[str, ...]
    metrics: tuple[JudgedMetric, ...]
    since: str | None = None
    cascades: tuple[CascadeUse, ...] = ()
    thresholds: tuple[ScorerThreshold, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"format": "tripos.judges/1", **as_json(self)}


ESTIMATE_FIELDS = (
    *("value", "reason", "low", "high", "standard_error", "statistic", "df", "p", "n", "clusters", "left_out"),
)
"""The fields of an estimate in the JSON of judges."""


def as_json(value: Any) -> Any:
    """Return a dataclass as JSON values, with the dataclasses in it."""
    if isinstance(value, Estimate):
        return value.to_json(*ESTIMATE_FIELDS)
    if is_dataclass(value):
        return {field_.name: as_json(getattr(value, field_.name)) for field_ in fields(value)}
    if isinstance(value, Mapping):
        return {name: as_json(content) for name, content in value.items()}
    return [as_json(element) for element in value] if isinstance(value, list | tuple) else value


def report_judges(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    before: Connection | None = None,
    since: str | None = None,
    *,
    against: str | None = None,
    level: float = 0.9,
) -> JudgeReport:
    """Return the report on the judges of the run that `connection` shows.

    `before` shows an earlier run, in which other judges graded the same replies. `against` is the evaluator that takes
    the place of people, and `level` the agreement that the thresholds of cascades must reach.
    """
    scores, verdicts = graded_scores(connection, plan), repeated_verdicts(connection, plan)
    earlier = graded_scores(before, plan) if before is not None else {}
    raters = {graded_score.evaluator for score in scores.values() for graded_score in score}
    people = sorted(rater for rater in raters if (rater.startswith(HUMAN) if against is None else rater == against))
    keys = sorted({*scores, *verdicts})
    metrics = tuple(
        _metric(plan, key, scores.get(key, []), verdicts.get(key, []), people, earlier.get(key, [])) for key in keys
    )
    return JudgeReport(
        run.run_id,
        tuple(people),
        metrics,
        since,
        cascade_uses(connection, plan, run.roles),
        learned_thresholds(connection, plan, run.roles, scores, people, level),
    )


def _metric(
    plan: Plan,
    key: MetricKey,
    scores: Sequence[GradedScore],
    verdicts: Sequence[Any],
    people: Sequence[str],
    earlier: Sequence[GradedScore],
) -> JudgedMetric:
    """Return the report on one metric, from its scores, its repeated verdicts and its scores in the earlier run."""
    raters = sorted({score.evaluator for score in scores})
    judges = [rater for rater in raters if rater not in people]
    people_grades = by_reply(scores, people)
    return JudgedMetric(
        *key,
        _uses(scores, raters),
        _panel(scores, judges) if len(judges) > 1 else None,
        judge_stability(verdicts),
        judge_noise(verdicts) if verdicts else None,
        {judge: _calibration(plan, key[0], scores, judge, people_grades) for judge in judges} if people_grades else {},
        tuple(_prevalences(scores, judges, people_grades)) if people_grades and _is_binary(plan, key[0]) else (),
        tuple(_drifts(earlier, scores, people)),
    )


def _uses(scores: Sequence[GradedScore], raters: Sequence[str]) -> tuple[RaterUse, ...]:
    """Return how each rater uses the scale."""
    severities = judge_severity(*_matrix(scores, raters)) if len(raters) > 1 else ()
    uses = []
    for place, rater in enumerate(raters):
        own = [score for score in scores if score.evaluator == rater]
        values = [score.value for score in own]
        alone = Estimate.undefined("nobody else scored the same replies")
        uses.append(
            RaterUse(
                rater,
                len(values),
                fmean(values),
                stdev(values) if len(values) > 1 else None,
                len(set(values)),
                _share([None if score.low is None else score.value <= score.low for score in own]),
                _share([None if score.high is None else score.value >= score.high for score in own]),
                severities[place] if severities else alone,
            )
        )
    return tuple(uses)


def _share(at_end: Sequence[bool | None]) -> float | None:
    """Return the share of scores at an end of their scale; None if one of them has none."""
    known = [value for value in at_end if value is not None]
    return fmean(known) if known and len(known) == len(at_end) else None


def _matrix(scores: Sequence[GradedScore], raters: Sequence[str]) -> tuple[list[list[float | None]], list[str]]:
    """Return a row of scores for each rater, with a column for each reply that one of them scored; and the cluster of
    each column."""
    clusters = {score.reply: score.cluster for score in scores if score.evaluator in raters}
    values = {(score.evaluator, score.reply): score.value for score in scores}
    return [[values.get((rater, reply)) for reply in clusters] for rater in raters], list(clusters.values())


def _panel(scores: Sequence[GradedScore], judges: Sequence[str]) -> PanelStudy:
    return panel_study(*_matrix(scores, judges))


def _calibration(
    plan: Plan, scorer: str, scores: Sequence[GradedScore], judge: str, people_grades: Mapping[str, float]
) -> Calibration:
    """Return how a judge's scores compare with people's grades of the same replies."""
    judge_scores = [score for score in scores if score.evaluator == judge and score.reply in people_grades]
    scales = {(score.low, score.high) for score in judge_scores}
    low, high = (0.0, 1.0) if _is_binary(plan, scorer) else scales.pop() if len(scales) == 1 else (None, None)
    are_on_scale = (
        low is not None
        and high is not None
        and all(low <= people_grades[judge_score.reply] <= high for judge_score in judge_scores)
    )
    return calibrate(
        [judge_score.value for judge_score in judge_scores],
        [people_grades[judge_score.reply] for judge_score in judge_scores],
        [judge_score.cluster for judge_score in judge_scores],
        ends=(low, high) if are_on_scale and low is not None and high is not None else None,
    )


def _is_binary(plan: Plan, scorer: str) -> bool:
    """Return true if the verdicts of a scorer are true or false."""
    gives = next((declared.gives for declared in plan.scorers if declared.name == scorer), None)
    return gives is not None and gives.kind == "bool"


def _prevalences(
    scores: Sequence[GradedScore], judges: Sequence[str], people_grades: Mapping[str, float]
) -> list[ModelPrevalence]:
    """Return the corrected share of good replies by judge and model. If people disagree, the label of a reply is that
    of the majority, and a reply with a tie has none."""
    labels = {reply: float(value > 0.5) for reply, value in people_grades.items() if value != 0.5}
    prevalences = []
    for judge in judges:
        own = [score for score in scores if score.evaluator == judge]
        both = [score for score in own if score.reply in labels]
        for model in sorted({score.model for score in own}):
            of_model = [score for score in own if score.model == model]
            share = corrected_prevalence(
                [score.value for score in of_model],
                [score.value for score in both],
                [labels[score.reply] for score in both],
                [score.cluster for score in of_model],
                [score.cluster for score in both],
            )
            prevalences.append(ModelPrevalence(judge, model, share))
    return prevalences


def _drifts(earlier: Sequence[GradedScore], later: Sequence[GradedScore], people: Sequence[str]) -> list[DriftedJudge]:
    """Return how each judge that only the later run has differs from each judge that only the earlier run has, if both
    were asked the same about the same replies."""
    old_judges = {score.evaluator for score in earlier} - {*people}
    new_judges = {score.evaluator for score in later} - {*people}
    drifts = []
    for before in sorted(old_judges - new_judges):
        old_values = {(score.reply, score.fingerprint): score.value for score in earlier if score.evaluator == before}
        for after in sorted(new_judges - old_judges):
            scores = [
                score for score in later if score.evaluator == after and (score.reply, score.fingerprint) in old_values
            ]
            if scores:
                old = [old_values[score.reply, score.fingerprint] for score in scores]
                drift = judge_drift(old, [score.value for score in scores], [score.cluster for score in scores])
                drifts.append(DriftedJudge(before, after, drift))
    return drifts
