"""Judges' replies to scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.plan import Grade, Metric, Scorer
from tripos_runtime.asking.question import Answer, Reader, ReadOutcome
from tripos_runtime.asking.statuses import AGAIN, PARSE_FAILURE, REFUSED, SCORED, status_of_reply
from tripos_runtime.reading import metrics_schema, read, read_metrics, schema_of

VERDICT = "verdict"
"""The name of a judge's one value in its reply; a step gives it a name of its own."""
FIRST, SECOND, NEITHER = 1.0, 0.0, 0.5
"""The worth of a comparison to the model whose reply was shown first."""


def grade_schema(scorer: Scorer, metrics: Sequence[Metric]) -> dict[str, Any] | None:
    """Return the JSON Schema of a judge's reply; a reward model writes none."""
    if scorer.reward:
        return None
    return metrics_schema(metrics) if scorer.gives is None else schema_of(scorer.gives)


def grade_reader(scorer: Scorer, metrics: Sequence[Metric], locale: str) -> Reader:
    """Read a judge's reply to `{metric: (value, status)}`; a scorer that gives one value gives it for `VERDICT`."""
    gives = scorer.gives
    if scorer.reward:
        return _read_reward
    if gives is not None:

        def read_one(text: str, finish_reason: str | None) -> ReadOutcome:
            found = read(gives, text, locale=locale)
            if found.error is not None:
                status = status_of_reply(found.status, finish_reason)
                return ReadOutcome({VERDICT: (None, status)}, {}, found.error, status)
            return ReadOutcome({VERDICT: (float(found.value), SCORED)}, {VERDICT: {"score": float(found.value)}})

        return read_one

    def read_all(text: str, finish_reason: str | None) -> ReadOutcome:
        found = read_metrics(metrics, text, locale)
        values = {metric: (one.value, status_of_reply(one.status, finish_reason)) for metric, one in found.items()}
        parsed = {m: {"score": one.value, "reason": one.reason} for m, one in found.items() if one.value is not None}
        bad = [f"{metric}: {one.error}" for metric, one in found.items() if one.value is None]
        if not bad:
            return ReadOutcome(values, parsed)
        refused = all(one.status == REFUSED for one in found.values())
        status = REFUSED if refused else status_of_reply(PARSE_FAILURE, finish_reason)
        return ReadOutcome(values, parsed, "; ".join(bad[:3]), status)

    return read_all


def verdict_reader(scorer: Scorer) -> Reader:
    """Read the reply of a judge that gives a choice of which of two is better, to what that is worth to the first and a
    status."""
    gives = scorer.gives
    assert gives is not None and gives.kind == "choice"
    worth = dict(zip(gives.values, (FIRST, SECOND, NEITHER), strict=False))

    def read_one(text: str, finish_reason: str | None) -> ReadOutcome:
        found = read(gives, text)
        if found.error is not None:
            status = status_of_reply(found.status, finish_reason)
            return ReadOutcome((None, status), {}, found.error, status)
        value = worth[found.value]
        return ReadOutcome((value, SCORED), {VERDICT: {"score": value, "choice": found.value}})

    return read_one


def _read_reward(text: str, finish_reason: str | None) -> ReadOutcome:
    """Return what a reward model gave, which comes as the shortest text that says the number."""
    try:
        value = float(text)
    except ValueError:
        return ReadOutcome({VERDICT: (None, PARSE_FAILURE)}, {}, "the reply is no number", PARSE_FAILURE)
    return ReadOutcome({VERDICT: (value, SCORED)}, {VERDICT: {"score": value}})


def score_rows(step: Grade, scorer: Scorer, answers: Sequence[Answer]) -> dict[str, tuple[float | None, str]]:
    """Return the value and status of every score that one judge's replies are, calls that failed included."""
    titles = {metric: metric for metric in step.metrics} or {step.name: VERDICT}
    told = [((answer.value or {}), answer.status) for answer in answers]
    return {
        title: repeated(scorer, [found.get(key, (None, status)) for found, status in told])
        for title, key in titles.items()
    }


def confidence(step: Grade, answers: Sequence[Answer]) -> float | None:
    """Return how sure judges are: the share of their verdicts on a reply that are what most of them are, of several
    metrics the least. A reply that could not be read agrees with none; None where one is to be asked for again.

    >>> grade = Grade.model_construct(name="kind", metrics=())
    >>> said = [Answer("ok", "", {VERDICT: (value, SCORED)}, "", {}) for value in (1.0, 1.0, 0.0)]
    >>> round(confidence(grade, said), 3)
    0.667
    """
    if any(answer.status in AGAIN for answer in answers):
        return None
    shares = []
    for key in step.metrics or (VERDICT,):
        told = [(answer.value or {}).get(key, (None, answer.status))[0] for answer in answers]
        values = [value for value in told if value is not None]
        shares.append(max((values.count(value) for value in values), default=0) / len(answers))
    return min(shares)


def repeated(scorer: Scorer, told: Sequence[tuple[float | None, str]]) -> tuple[float | None, str]:
    """Return the value and status of what a judge said several times of the same: of numbers the mean; of a bool or a
    choice what was said most often, and of several the one that was said first. More than half of the replies must have
    a value; and where one is to be asked for again, there is none until then.

    >>> from tripos_compiler.plan import BoolType, IntegerType
    >>> judge = Scorer(name="j", role="judge", params={}, prompt={}, gives=IntegerType())
    >>> repeated(judge, [(4.0, SCORED), (5.0, SCORED), (None, PARSE_FAILURE)])
    (4.5, 'scored')
    >>> repeated(judge, [(4.0, SCORED), (None, PARSE_FAILURE)])
    (None, 'parse_failure')
    >>> repeated(judge.model_copy(update={"gives": BoolType()}), [(0.0, SCORED), (1.0, SCORED), (1.0, SCORED)])
    (1.0, 'scored')
    """
    if len(told) == 1:
        return told[0]
    values = [value for value, status in told if value is not None and status == SCORED]
    lost = [status for value, status in told if value is None or status != SCORED]
    again = next((status for status in lost if status in AGAIN), None)
    if again is not None or 2 * len(values) <= len(told):
        return None, again or lost[0]
    if scorer.gives is not None and scorer.gives.kind in ("bool", "choice"):
        return max(values, key=values.count), SCORED
    return sum(values) / len(values), SCORED
