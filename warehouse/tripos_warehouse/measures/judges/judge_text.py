"""The judges of a run as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tripos_compiler.diagnostics import localized, percent, reader_language, usd
from tripos_compiler.plan import Plan
from tripos_warehouse.formats import NOTHING, TextColumn, grid, wrapped
from tripos_warehouse.measures.judges.escalations import CascadeUse, ScorerThreshold
from tripos_warehouse.measures.judges.judge_report import JudgedMetric, JudgeReport
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.views import dimension_label


def render_judges(report: JudgeReport, plan: Plan, width: int, table_width: int) -> list[str]:
    """Return the lines of the judges of a run, a part for each metric."""
    lines: list[str] = []
    for metric in report.metrics:
        label = dimension_label(plan, "metric", metric.metric, reader_language())
        title = label if metric.metric == metric.scorer else f"{label} ({metric.scorer})"
        lines += [*([""] if lines else []), title, *_raters(metric, table_width)]
        for part in (_panel, _stability, _noise, _calibration, _curves, _prevalences, _drifts):
            found = list(part(metric, table_width))
            lines += ["", *found] if found else []
    for use in report.cascades:
        lines += ["", *_cascade(use, width)]
    for each in report.thresholds:
        lines += ["", *_threshold(each, width)]
    if not report.metrics:
        lines.append(wrapped(localized("no judge and no person scored a reply of this run"), width))
    elif not report.people:
        told = "nobody graded these replies: `tripos annotate` asks people, by whom judges are calibrated"
        lines += ["", wrapped(localized(told), width)]
    return lines


def _raters(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.rater,
            f"{each.n:,}",
            f"{each.mean:.2f}",
            NOTHING if each.deviation is None else f"{each.deviation:.2f}",
            NOTHING if each.lowest is None else percent(each.lowest),
            NOTHING if each.highest is None else percent(each.highest),
            _interval(each.severity, signed=True),
        )
        for each in metric.raters
    ]
    return _table(("rater", "scores", "mean", "SD", "lowest", "highest", "severity"), rows, width)


def _panel(metric: JudgedMetric, width: int) -> Iterator[str]:
    """Yield what panels of judges like these come to, and of what the variance of a score consists."""
    study = metric.panel
    if study is None:
        return
    if study.reason is not None:
        yield wrapped(localized(f"nothing is known of panels of judges like these: {study.reason}"), width)
        return
    whole = sum(study.components.values())
    if whole > 0:
        replies, judges, rest = (percent(each / whole) for each in study.components.values())
        yield wrapped(
            localized(f"of the variance of a score: replies {replies}, judges {judges}, the rest {rest}"), width
        )
    rows = [(f"{each.judges}", _interval(each.relative), _interval(each.absolute)) for each in study.designs]
    yield from _table(("judges", "order of replies (G)", "scores themselves (D)"), rows, width)
    why = next((each.reason for each in (study.designs[0].relative, study.designs[0].absolute) if each.reason), None)
    if why is not None:
        yield wrapped(localized(f"an interval is missing: {why}"), width)


def _stability(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge,
            f"{each.stable.n:,}",
            _interval(each.stable, share=True),
            _interval(each.flips, share=True),
            NOTHING if each.spread is None else f"{each.spread:.2f}",
        )
        for judge, each in metric.stability.items()
    ]
    return _table(("asked again", "replies", "always the same", "two differ", "SD"), rows, width) if rows else []


def _noise(metric: JudgedMetric, width: int) -> Iterator[str]:
    if metric.noise is not None and metric.noise.share.value is not None:
        share = _interval(metric.noise.share, share=True)
        yield wrapped(localized(f"of the disagreement of judges, chance within a judge: {share}"), width)


def _calibration(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge,
            f"{each.n:,}",
            _interval(each.bias, signed=True),
            _interval(each.slope),
            *(
                NOTHING if value is None else f"{value:.2f}"
                for value in (each.miscalibration, each.discrimination, each.uncertainty)
            ),
        )
        for judge, each in metric.calibrations.items()
    ]
    headings = ("beside people", "replies", "bias", "slope", "miscalibrated", "tells", "of")
    return _table(headings, rows, width) if rows else []


def _curves(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            judge if place == 0 else "",
            f"{each.low:.4g}" if each.low == each.high else f"{each.low:.4g}–{each.high:.4g}",
            f"{each.graded.n:,}",
            _interval(each.graded),
        )
        for judge, found in metric.calibrations.items()
        for place, each in enumerate(found.bins)
    ]
    return _table(("judge", "says", "replies", "people say"), rows, width) if rows else []


def _prevalences(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.judge,
            each.model,
            _interval(each.share.apparent, share=True),
            _interval(each.share.sensitivity, share=True),
            _interval(each.share.specificity, share=True),
            _interval(each.share.result, share=True),
        )
        for each in metric.prevalences
    ]
    return _table(("judge", "model", "judged", "sensitivity", "specificity", "corrected"), rows, width) if rows else []


def _drifts(metric: JudgedMetric, width: int) -> list[str]:
    rows = [
        (
            each.before,
            each.after,
            f"{each.drift.difference.n:,}",
            _interval(each.drift.difference, signed=True),
            _interval(each.drift.changed, share=True),
        )
        for each in metric.drifts
    ]
    return _table(("before", "after", "replies", "difference", "changed"), rows, width) if rows else []


def _cascade(use: CascadeUse, width: int) -> Iterator[str]:
    share = _interval(use.escalated, share=True)
    told = f"{use.scorer}, unsure below {use.unsure_below:g}: {share} of {use.escalated.n:,} replies were escalated"
    yield wrapped(localized(told), width)
    known = use.cost_usd is not None and use.saved_usd is not None
    money = f"; {usd(use.cost_usd or 0.0)} USD paid, {usd(use.saved_usd or 0.0)} USD saved" if known else ""
    calls = f"calls of stronger judges: {use.calls:,} made, {use.saved_calls:,} saved{money}"
    yield wrapped(localized(calls), width)


def _threshold(found: ScorerThreshold, width: int) -> Iterator[str]:
    learned = found.learned
    if learned.threshold is None:
        yield wrapped(localized(f"{found.scorer}: no threshold is learned: {learned.reason}"), width)
        return
    below, level = _rounded_down(learned.threshold), percent(found.level)
    told = f"{found.scorer}: `unsure below {below}` agrees with people in {level} or more"
    yield wrapped(localized(told), width)
    last = next(each for each in learned.tested if each.threshold == learned.threshold)
    share, least = percent(last.agreed / last.n), percent(last.least)
    yield wrapped(localized(f"of {last.n:,} graded items that are as sure {share} agree, {least} at the least"), width)
    yield wrapped(localized(f"it saves the stronger judge {percent(learned.trusted)} of the replies"), width)


def _rounded_down(threshold: float) -> str:
    """Return a threshold in four digits, no higher than it is: a reply that is just as sure must not be below it.

    >>> _rounded_down(2 / 3), _rounded_down(0.8), _rounded_down(1.0)
    ('0.6666', '0.8', '1')
    """
    return f"{math.floor(threshold * 10_000 + 1e-9) / 10_000:g}"


TEXTS = ("rater", "asked again", "beside people", "judge", "model", "before", "after")
"""The headings of columns that hold names."""


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    columns = [
        TextColumn(localized(heading), tuple(cells), right=heading not in TEXTS)
        for heading, cells in zip(headings, zip(*rows, strict=True), strict=True)
    ]
    return grid(columns, width)


def _interval(found: StatisticResult, *, signed: bool = False, share: bool = False) -> str:
    """Return a value with its interval; of a share in percent."""
    if found.value is None:
        return NOTHING

    def told(value: float) -> str:
        return percent(value) if share else f"{value:{'+' if signed else ''}.2f}"

    if found.low is None or found.high is None:
        return told(found.value)
    return f"{told(found.value)} [{told(found.low)}, {told(found.high)}]"
