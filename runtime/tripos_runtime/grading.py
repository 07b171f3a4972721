"""Judges' replies to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tripos_compiler.plan import Metric, Scorer
from tripos_runtime.asking import Answer, Outcome
from tripos_runtime.reading import metrics_schema, read, read_metrics, schema_of


def grade_schema(scorer: Scorer, metrics: Sequence[Metric]) -> dict[str, Any]:
    """The JSON Schema of a judge's reply."""
    return metrics_schema(metrics) if scorer.gives is None else schema_of(scorer.gives)


def grade_reader(scorer: Scorer, metrics: Sequence[Metric], name: str) -> Callable[[str], Outcome]:
    """Reads a judge's reply to `{metric: (value, status)}`; a scorer that gives one value gives it for `name`."""
    gives = scorer.gives
    if gives is not None:

        def read_one(text: str) -> Outcome:
            found = read(gives, text)
            if found.error is not None:
                return Outcome({name: (None, found.status)}, {}, found.error, found.status)
            return Outcome({name: (float(found.value), "scored")}, {name: {"score": float(found.value)}})

        return read_one

    def read_all(text: str) -> Outcome:
        found = read_metrics(metrics, text)
        values = {metric: (one.value, one.status) for metric, one in found.items()}
        parsed = {m: {"score": one.value, "reason": one.reason} for m, one in found.items() if one.value is not None}
        bad = [f"{metric}: {one.error}" for metric, one in found.items() if one.value is None]
        if not bad:
            return Outcome(values, parsed)
        refused = all(one.status == "refused" for one in found.values())
        return Outcome(values, parsed, "; ".join(bad[:3]), "refused" if refused else "parse_failure")

    return read_all


def score_rows(titles: Sequence[str], answer: Answer) -> Mapping[str, tuple[float | None, str]]:
    """The value and status of every score of a judgement, those of a call that failed included."""
    read_: Mapping[str, tuple[float | None, str]] = answer.value or {}
    return {title: read_.get(title, (None, answer.status)) for title in titles}
