"""The judges of a run: severity, use of the scale, stability, calibration by people, and drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Any

from tripos_compiler.plan import Plan
from tripos_warehouse.measures.judges.escalations import (
    CascadeUse,
    ScorerThreshold,
    cascade_uses,
    learned_thresholds,
)
from tripos_warehouse.measures.judges.judge_scores import (
    GradedScore,
    MetricKey,
    by_reply,
    graded_scores,
    repeated_verdicts,
)
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.design import PanelStudy, panel_study
from tripos_warehouse.statistics.preferences import judge_severity
from tripos_warehouse.statistics.validity import (
    Calibration,
    CorrectedPrevalence,
    JudgeDrift,
    JudgeNoise,
    JudgeStability,
    calibrate,
    corrected_prevalence,
    judge_drift,
    judge_noise,
    judge_stability,
)
from tripos_warehouse.store import HUMAN
from tripos_warehouse.views import RunRecord


@dataclass(frozen=True)
class RaterUse:
    """How one judge or person uses a scale. `lowest` and `highest` are the shares of its scores at the ends."""

    rater: str
    n: int
    mean: float
    deviation: float | None
    values: int
    """How many different scores it gave."""
    lowest: float | None
    highest: float | None
    severity: StatisticResult
    """How far it lies from the mean of all who scored the same replies: below 0 it is strict."""


@dataclass(frozen=True)
class ModelPrevalence:
    """The share of a model's replies that people would find good, by a judge that says good or bad."""

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
    """How dependable its judges are together; none of one judge."""
    stability: Mapping[str, JudgeStability] = field(default_factory=dict)
    """By judge, of scorers with `samples`."""
    noise: JudgeNoise | None = None
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    """By judge, where people graded."""
    prevalences: tuple[ModelPrevalence, ...] = ()
    drifts: tuple[DriftedJudge, ...] = ()


@dataclass(frozen=True)
class JudgeReport:
    """The judges of a run; `since` is the earlier run that drift is counted from."""

    run_id: str
    people: tuple[str, ...]
    metrics: tuple[JudgedMetric, ...]
    since: str | None = None
    cascades: tuple[CascadeUse, ...] = ()
    thresholds: tuple[ScorerThreshold, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"format": "tripos.judges/1", **asdict(self)}


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
    """Return what is known of the judges of the run that `connection` shows. `before` shows an earlier run, with other
    judges of the same replies. `against` is the evaluator that stands in the place of people, and `level` the agreement
    that the thresholds of cascades are to have."""
    scores, verdicts = graded_scores(connection, plan), repeated_verdicts(connection, plan)
    earlier = graded_scores(before, plan) if before is not None else {}
    raters = {each.evaluator for some in scores.values() for each in some}
    people = sorted(each for each in raters if (each.startswith(HUMAN) if against is None else each == against))
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
    raters = sorted({each.evaluator for each in scores})
    judges = [each for each in raters if each not in people]
    told = by_reply(scores, people)
    return JudgedMetric(
        *key,
        _uses(scores, raters),
        _panel(scores, judges) if len(judges) > 1 else None,
        judge_stability(verdicts),
        judge_noise(verdicts) if verdicts else None,
        {judge: _calibration(plan, key[0], scores, judge, told) for judge in judges} if told else {},
        tuple(_prevalences(scores, judges, told)) if told and _is_binary(plan, key[0]) else (),
        tuple(_drifts(earlier, scores, people)),
    )


def _uses(scores: Sequence[GradedScore], raters: Sequence[str]) -> tuple[RaterUse, ...]:
    severities = judge_severity(*_matrix(scores, raters)) if len(raters) > 1 else ()
    found = []
    for place, rater in enumerate(raters):
        own = [each for each in scores if each.evaluator == rater]
        values, ends = [each.value for each in own], (own[0].low, own[0].high)
        alone = StatisticResult.undefined("nobody else scored the same replies")
        found.append(
            RaterUse(
                rater,
                len(values),
                fmean(values),
                stdev(values) if len(values) > 1 else None,
                len(set(values)),
                None if ends[0] is None else fmean(value <= ends[0] for value in values),
                None if ends[1] is None else fmean(value >= ends[1] for value in values),
                severities[place] if severities else alone,
            )
        )
    return tuple(found)


def _matrix(scores: Sequence[GradedScore], raters: Sequence[str]) -> tuple[list[list[float | None]], list[str]]:
    """Return a row of scores for each rater, a column for each reply that one of them scored, and its cluster."""
    items = {each.reply: each.cluster for each in scores if each.evaluator in raters}
    given = {(each.evaluator, each.reply): each.value for each in scores}
    return [[given.get((rater, reply)) for reply in items] for rater in raters], list(items.values())


def _panel(scores: Sequence[GradedScore], judges: Sequence[str]) -> PanelStudy:
    return panel_study(*_matrix(scores, judges))


def _calibration(
    plan: Plan, scorer: str, scores: Sequence[GradedScore], judge: str, told: Mapping[str, float]
) -> Calibration:
    own = [each for each in scores if each.evaluator == judge and each.reply in told]
    low, high = (0.0, 1.0) if _is_binary(plan, scorer) else next(((each.low, each.high) for each in own), (None, None))
    inside = low is not None and high is not None and all(low <= told[each.reply] <= high for each in own)
    return calibrate(
        [each.value for each in own],
        [told[each.reply] for each in own],
        [each.cluster for each in own],
        ends=(low, high) if inside and low is not None and high is not None else None,
    )


def _is_binary(plan: Plan, scorer: str) -> bool:
    gives = next((each.gives for each in plan.scorers if each.name == scorer), None)
    return gives is not None and gives.kind == "bool"


def _prevalences(
    scores: Sequence[GradedScore], judges: Sequence[str], told: Mapping[str, float]
) -> list[ModelPrevalence]:
    """Return the corrected share of each judge and model. Where people are split, the label is what most of them say,
    and a reply on which as many say the one as the other has none."""
    labels = {reply: float(value > 0.5) for reply, value in told.items() if value != 0.5}
    found = []
    for judge in judges:
        own = [each for each in scores if each.evaluator == judge]
        both = [each for each in own if each.reply in labels]
        for model in sorted({each.model for each in own}):
            of_model = [each for each in own if each.model == model]
            share = corrected_prevalence(
                [each.value for each in of_model],
                [each.value for each in both],
                [labels[each.reply] for each in both],
                [each.cluster for each in of_model],
                [each.cluster for each in both],
            )
            found.append(ModelPrevalence(judge, model, share))
    return found


def _drifts(earlier: Sequence[GradedScore], later: Sequence[GradedScore], people: Sequence[str]) -> list[DriftedJudge]:
    """Return how each judge that the later run alone has differs from each that the earlier one alone had, where both
    were asked the same about the same replies."""
    old = {each.evaluator for each in earlier} - {*people}
    new = {each.evaluator for each in later} - {*people}
    found = []
    for before in sorted(old - new):
        given = {(each.reply, each.fingerprint): each.value for each in earlier if each.evaluator == before}
        for after in sorted(new - old):
            both = [each for each in later if each.evaluator == after and (each.reply, each.fingerprint) in given]
            if both:
                was = [given[each.reply, each.fingerprint] for each in both]
                drift = judge_drift(was, [each.value for each in both], [each.cluster for each in both])
                found.append(DriftedJudge(before, after, drift))
    return found
