"""A judge's reply as a score and a reason for each metric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from tripos_compiler.plan import Metric
from tripos_compiler.replies.names import fold
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.reading.json_values import CONFLICT, FoundJson, find_json_values
from tripos_runtime.reading.plain_text import (
    AmbiguousNumberError,
    has_unread_brackets,
    is_refusal,
    stated_number,
    too_long,
)

# The names of the fields of a judgement, folded: with the score, with the metric's name, and with the reasons.
SCORE_KEYS = frozenset({"score", "value", "rating", "points", "grade", "mark", "得分", "分数", "评分", "分值", "打分"})
NAME_KEYS = frozenset({"metric", "name", "criterion", "dimension", "指标", "维度", "标准", "评价指标"})
REASON_KEYS = frozenset(
    {
        "reason",
        "reasoning",
        "comment",
        "comments",
        "rationale",
        "explanation",
        "justification",
        "feedback",
        "理由",
        "原因",
        "评语",
        "说明",
        "解释",
        "评价",
        "依据",
    }
)
ASIDE = re.compile(r"[(（]([^()（）]*)[)）]")
"""A remark in round brackets."""
NOT_ONE = "the score is not one number"
DEEPEST = 3
"""The largest number of objects around a judgement."""


@dataclass(frozen=True)
class MetricRead:
    """The verdict of a judge on one metric. `value` is `None` unless `status` is `scored`."""

    value: float | None
    status: Literal["scored", "parse_failure", "refused"]
    reason: str | None = None
    error: str | None = None


class MetricReads(dict[str, MetricRead]):
    """A `MetricRead` for every metric by name; `extra` are metrics that the judge invented."""

    extra: tuple[str, ...] = ()


def read_metrics(metrics: Sequence[Metric], text: str, locale: str = DEFAULT) -> MetricReads:
    """Return the scores in a judge's reply. Every metric has an entry; a score outside its scale is a failure. Numbers
    in texts are written as in `locale`.

    >>> depth = Metric(name="depth", title={"en": "Depth"}, dimension="", low=1, high=10, asks={}, levels=())
    >>> reads = read_metrics([depth], '{"Depth": {"Score": "8/10", "理由": "clear"}, "style": 3}')
    >>> reads["depth"], reads.extra
    (MetricRead(value=8.0, status='scored', reason='clear', error=None), ('style',))
    """
    if (error := too_long(text)) is not None:
        return MetricReads({metric.name: _failure(error) for metric in metrics})
    text = ReplyText.parse(text).answer
    best: MetricReads | None = None
    jsons = find_json_values(text)
    for found in jsons:
        reads = _reads(metrics, found, locale)
        if best is None or _scored(reads) > _scored(best):
            best = reads
    if best is not None and any(_may_have_judgements(found.value) for found in jsons):
        return best
    if is_refusal(text):
        refused = MetricRead(None, "refused", error="the judge refused")
        return MetricReads({metric.name: refused for metric in metrics})
    if len(metrics) == 1:
        score = _score(metrics[0], text, locale)
        may_be_json = score.error == NOT_ONE and has_unread_brackets(text)
        return MetricReads({metrics[0].name: _failure("the reply holds no JSON") if may_be_json else score})
    return MetricReads({metric.name: _failure("the reply holds no JSON") for metric in metrics})


def _may_have_judgements(value: Any) -> bool:
    """Return true for a value with objects, which may be judgements. A list such as `[1]` may be a reference in
    prose."""
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value))


def _scored(reads: MetricReads) -> int:
    """Return the number of metrics with a score."""
    return sum(read.status == "scored" for read in reads.values())


def _reads(metrics: Sequence[Metric], found: FoundJson, locale: str) -> MetricReads:
    """Return the scores in a JSON value of the reply."""
    entries = _entries(metrics, found.value)
    known = _known(metrics)
    missing = _failure("missing" if found.complete else "missing: the reply is cut off")
    reads = MetricReads({metric.name: missing for metric in metrics})
    by_name = {metric.name: metric for metric in metrics}
    extra: list[str] = []
    for name, entry in entries:
        metric = next((known[key] for key in _foldings(name) if key in known), None)
        if metric is None:
            extra.append(name)
            continue
        score = _score(by_name[metric], entry, locale)
        if reads[metric] is not missing and reads[metric].value != score.value:
            score = _failure(CONFLICT.error)
        reads[metric] = score
    reads.extra = tuple(extra)
    return reads


def _known(metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the names of the metrics by their folded names and titles. A title that two metrics share counts for
    neither."""
    known: dict[str, str] = {}
    shared: set[str] = set()
    for metric in metrics:
        for title in metric.title.values():
            if known.setdefault(fold(title), metric.name) != metric.name:
                shared.add(fold(title))
    by_title = {title: name for title, name in known.items() if title and title not in shared}
    return by_title | {fold(metric.name): metric.name for metric in metrics}


def _foldings(name: str) -> Iterator[str]:
    """Yield the folded names that a key may mean: the key, the key without a remark in brackets, and the remarks, each
    also without a number before it (`1. Depth`)."""
    for part in (name, ASIDE.sub("", name), *ASIDE.findall(name)):
        yield fold(part)
        yield re.sub(r"^\d+", "", fold(part))


def _entries(metrics: Sequence[Metric], value: Any, depth: int = 0) -> list[tuple[str, Any]]:
    """Return the names in a judgement with their entries, from the level of nesting that names most of the metrics."""
    known = _known(metrics)
    pairs = list(_pairs(value))
    matches = sum(any(key in known for key in _foldings(name)) for name, _ in pairs)
    best = (matches, pairs)
    if depth < DEEPEST:
        for _, inner in pairs if isinstance(value, dict) else []:
            if isinstance(inner, dict | list):
                deeper = _entries(metrics, inner, depth + 1)
                count = sum(any(key in known for key in _foldings(name)) for name, _ in deeper)
                best = max(best, (count, deeper), key=lambda pair: pair[0])
    if best[0] == 0 and len(metrics) == 1 and isinstance(value, dict) and _find(value, SCORE_KEYS):
        return [(metrics[0].name, value)]
    return best[1]


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and entries of an object, or of a list of objects: each contains its name, or is one pair."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict):
                names = _find(part, NAME_KEYS)
                if names and isinstance(names[0], str):
                    yield names[0], part
                elif len(part) == 1:
                    yield from part.items()


def _find(entry: dict[str, Any], keys: frozenset[str]) -> list[Any]:
    """Return the values of the fields of an object whose folded names are in `keys`."""
    return [part for name, part in entry.items() if fold(name) in keys]


def _score(metric: Metric, entry: Any, locale: str) -> MetricRead:
    """Return the score of a metric from its entry: a number, a text, or an object with a score and a reason."""
    reason = None
    if isinstance(entry, dict):
        reasons = [part for part in _find(entry, REASON_KEYS) if isinstance(part, str)]
        reason = reasons[0] if reasons else None
        scores = _find(entry, SCORE_KEYS)
        if len(scores) != 1:
            return _failure("no score" if not scores else "more than one score", reason)
        entry = scores[0]
    if entry is CONFLICT:
        return _failure(CONFLICT.error, reason)
    if entry is None:
        return _failure("null", reason)
    if isinstance(entry, bool) or not isinstance(entry, int | float | str):
        return _failure("the score is not a number", reason)
    try:
        number = stated_number(entry, metric.high, locale) if isinstance(entry, str) else entry
        value = None if number is None else float(number)
    except OverflowError:
        value = None
    except AmbiguousNumberError as error:
        return _failure(str(error), reason)
    if value is None:
        return _failure(NOT_ONE, reason)
    placed = metric.placed(value)
    if placed is None:
        return _failure(f"{value:g} is not in {metric.low}..{metric.high}", reason)
    return MetricRead(placed, "scored", reason)


def _failure(error: str, reason: str | None = None) -> MetricRead:
    return MetricRead(None, "parse_failure", reason, error)
