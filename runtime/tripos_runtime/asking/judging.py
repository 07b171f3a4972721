"""Scores from the replies of judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tripos_compiler.library.signature import OUT_OF_BOUNDS, in_bounds
from tripos_compiler.plan import (
    VERDICT,
    ChoiceType,
    Grade,
    Metric,
    NoTokenProbabilities,
    Scorer,
    TokenProbability,
    probability_fields,
    reply_probabilities,
    value_probability,
)
from tripos_compiler.plan.outcomes import PARSE_FAILURE, REFUSED, RETRIED_NEXT_RUN, SCORED
from tripos_compiler.plan.structured_replies import VALUE_FIELDS, VerdictPosition
from tripos_compiler.replies.number_tokens import DEFAULT
from tripos_compiler.replies.text import ReplyText
from tripos_runtime.asking.questions import Answer, ProbabilityReader, Reader, ReadOutcome
from tripos_runtime.models.base import StatedReply
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.schema import metrics_schema, schema_of
from tripos_runtime.reading.typed import read
from tripos_runtime.reading.verdicts import VerdictRead, read_verdict, read_verdict_record

PROBABILITY = "probability"
"""The name of the probability of the verdict's token among the tokens of its type."""
FIRST_WINS, SECOND_WINS, TIE = 1.0, 0.0, 0.5
"""The value of a comparison for the model whose reply was shown first."""
ScoreValue = float | str
"""A verdict: a number, or a name of a choice."""


def grade_schema(scorer: Scorer, metrics: Sequence[Metric]) -> dict[str, Any] | None:
    """Return the JSON Schema of a judge's reply; None for a reward model, which returns a number and writes no text,
    and if the prompt states the form itself."""
    return None if not scorer.writes or scorer.stated else _content_schema(scorer, metrics)


def stated_reply(scorer: Scorer, metrics: Sequence[Metric], language: str) -> StatedReply | None:
    """Return the form of a judge's reply in a language, if its prompt states one."""
    return StatedReply(_content_schema(scorer, metrics), scorer.form.get(language)) if scorer.stated else None


def _content_schema(scorer: Scorer, metrics: Sequence[Metric]) -> dict[str, Any]:
    gives = scorer.record or scorer.gives
    return metrics_schema(metrics) if gives is None else schema_of(gives)


def read_judge(scorer: Scorer, form: str | None, text: str, locale: str) -> VerdictRead:
    """Return the verdict of a judge that gives one value: in the form that its prompt states, as a field of a record,
    or as a value of its type."""
    gives = scorer.gives
    assert gives is not None
    if form is not None:
        return read_verdict(gives, form, text, scorer.counts, locale)
    if scorer.record is not None and scorer.verdict_field is not None:
        return read_verdict_record(scorer.record, scorer.verdict_field, text, locale)
    reply = read(gives, text, locale=locale)
    return VerdictRead(reply.value, reply.error, reply.status)


def _reasons(verdict: VerdictRead) -> dict[str, Any]:
    """Return the reasons of a verdict as they are kept: `reason`, and `reasons` by field if there are several."""
    reasons = {"reason": verdict.reason, "reasons": verdict.reasons}
    return {name: part for name, part in reasons.items() if part is not None}


def grade_reader(scorer: Scorer, metrics: Sequence[Metric], locale: str, form: str | None = None) -> Reader:
    """Return a reader of a judge's reply, whose value is `{metric: (value, status)}`. Unreadable metrics are left out;
    their status is that of the reply. A scorer with one value uses the name `VERDICT`, and reads it in a `form` if it
    has one."""
    gives = scorer.gives
    if not scorer.writes:
        return _read_number
    if gives is not None:

        def read_one(text: str) -> ReadOutcome:
            verdict = read_judge(scorer, form, text, locale)
            if verdict.error is not None:
                return ReadOutcome({}, {}, verdict.error, verdict.status)
            value, name = (verdict.value, "choice") if gives.kind == "choice" else (float(verdict.value), "score")
            return ReadOutcome({VERDICT: (value, SCORED)}, {VERDICT: {name: value, **_reasons(verdict)}})

        return read_one

    def read_all(text: str) -> ReadOutcome:
        readings = read_metrics(metrics, text, locale).items()
        values = {metric: (one.value, one.status) for metric, one in readings if one.status != PARSE_FAILURE}
        parsed = {
            metric: {"score": one.value, "reason": one.reason} for metric, one in readings if one.value is not None
        }
        errors = [f"{metric}: {one.error}" for metric, one in readings if one.value is None]
        if not errors:
            return ReadOutcome(values, parsed)
        refused = all(one.status == REFUSED for _, one in readings)
        status = REFUSED if refused else PARSE_FAILURE
        return ReadOutcome(values, parsed, "; ".join(errors[:3]), status)

    return read_all


def grade_probabilities(scorer: Scorer, form: str | None = None) -> ProbabilityReader | None:
    """Return a function that adds the probability of a verdict, or replaces the verdict by the mean of its scale under
    the probabilities. None if no probabilities are asked for. A verdict without probabilities stays as it is."""
    gives = scorer.gives
    if scorer.settings.top_logprobs is None or gives is None or "probabilities" not in probability_fields(gives):
        return None

    def position(tokens: Sequence[TokenProbability]) -> VerdictPosition:
        """Return where the reply has the verdict: a field of it, or the offset in bytes."""
        if form is None:
            return VALUE_FIELDS if scorer.verdict_field is None else (scorer.verdict_field,)
        reply = b"".join(token.bytes for token in tokens).decode("utf-8", "surrogateescape")
        answer = ReplyText.parse(reply).answer
        before, found, _ = reply.rpartition(answer)
        verdict = read_judge(scorer, form, answer, DEFAULT)
        if not found or verdict.place is None:
            return None
        return len(f"{before}{answer[: verdict.place]}".encode("utf-8", "surrogateescape"))

    def add_probabilities(outcome: ReadOutcome, tokens: Sequence[TokenProbability]) -> ReadOutcome:
        verdict = outcome.value[VERDICT][0]
        value: Any = verdict if isinstance(verdict, str) else bool(verdict) if gives.kind == "bool" else int(verdict)
        fields = reply_probabilities(tokens, gives, value, position(tokens))
        if scorer.weighted and "expected" not in fields:
            reason = "the token with which the score begins is only a part of it, or no likely token there is a score"
            raise NoTokenProbabilities(reason)
        probability = value_probability(gives, fields, value)
        parsed = {VERDICT: {**outcome.parsed[VERDICT], "probability": probability}}
        if not scorer.weighted:
            return ReadOutcome({**outcome.value, PROBABILITY: (probability, SCORED)}, parsed)
        parsed[VERDICT] |= {"score": fields["expected"], "said": verdict}
        return ReadOutcome({VERDICT: (fields["expected"], SCORED), PROBABILITY: (probability, SCORED)}, parsed)

    return add_probabilities


def verdict_reader(scorer: Scorer, locale: str, form: str | None = None) -> Reader:
    """Return a reader for a judge that compares two replies. Its value is the chosen name and a status."""
    gives = scorer.gives
    assert gives is not None and gives.kind == "choice"

    def read_one(text: str) -> ReadOutcome:
        verdict = read_judge(scorer, form, text, locale)
        if verdict.error is not None:
            return ReadOutcome(None, {}, verdict.error, verdict.status)
        # With declared worths there is no score: a later plan may change what a name is worth.
        score = {} if gives.worth else {"score": comparison_worth(scorer, verdict.value)}
        parsed = {VERDICT: score | {"choice": verdict.value, **_reasons(verdict)}}
        return ReadOutcome((verdict.value, SCORED), parsed)

    return read_one


def _winner(worth: float) -> float:
    return FIRST_WINS if worth > 0 else SECOND_WINS if worth < 0 else TIE


def worth_of(gives: ChoiceType, name: str) -> float | None:
    """Return the declared worth of a name of a choice; None if the names have no worth.

    >>> worth_of(ChoiceType(values=("whole", "half"), worth=(1.0, 0.5)), "half")
    0.5
    """
    return dict(zip(gives.values, gives.worth, strict=False)).get(name)


def comparison_worth(scorer: Scorer, name: ScoreValue | None) -> float | None:
    """Return the value of a comparison for the model whose reply was shown first; None if there is no verdict."""
    gives = scorer.gives
    if not isinstance(gives, ChoiceType) or not isinstance(name, str):
        return None
    winners = map(_winner, gives.worth) if gives.worth else (FIRST_WINS, SECOND_WINS, TIE)
    return dict(zip(gives.values, winners, strict=False))[name]


def score_columns(scorer: Scorer, verdict: ScoreValue | None) -> tuple[float | None, str | None]:
    """Return a verdict as a number, if it has one, and as JSON text if it is a name."""
    if not isinstance(verdict, str):
        return verdict, None
    number = worth_of(scorer.gives, verdict) if isinstance(scorer.gives, ChoiceType) else None
    return number, orjson.dumps(verdict).decode()


def _read_number(text: str) -> ReadOutcome:
    """Read the reply of a reward or an embedding model, which is the text of a number."""
    try:
        value = float(text)
    except ValueError:
        return ReadOutcome({}, {}, "the reply is no number", PARSE_FAILURE)
    if not in_bounds(value):
        return ReadOutcome({}, {}, f"the number has no value: {OUT_OF_BOUNDS}", PARSE_FAILURE)
    return ReadOutcome({VERDICT: (value, SCORED)}, {VERDICT: {"score": value}})


def score_rows(step: Grade, scorer: Scorer, answers: Sequence[Answer]) -> dict[str, tuple[ScoreValue | None, str]]:
    """Return the value and status of every score in the replies of one judge, failed calls included."""
    titles = {metric: metric for metric in step.metrics} or {step.name: VERDICT}
    return {
        title: combine_repeats(scorer, [(answer.value or {}).get(key, (None, answer.status)) for answer in answers])
        for title, key in titles.items()
    }


def confidence(step: Grade, answers: Sequence[Answer]) -> float | None:
    """Return the agreement of judges: the share of their verdicts on a reply that equal the most frequent one; for
    several metrics the smallest share; for a single verdict with token probabilities, its own probability. An
    unreadable reply agrees with none. None if a reply will be retried.

    >>> grade = Grade.model_construct(name="kind", metrics=())
    >>> answers = [Answer("ok", "", {VERDICT: (value, SCORED)}, "", {}) for value in (1.0, 1.0, 0.0)]
    >>> round(confidence(grade, answers), 3)
    0.667
    """
    if any(answer.status in RETRIED_NEXT_RUN for answer in answers):
        return None
    if len(answers) == 1 and PROBABILITY in (scores := answers[0].value or {}):
        return float(scores[PROBABILITY][0])
    shares = []
    for key in step.metrics or (VERDICT,):
        verdicts = [(answer.value or {}).get(key, (None, answer.status))[0] for answer in answers]
        values = [value for value in verdicts if value is not None]
        shares.append(max((values.count(value) for value in values), default=0) / len(answers))
    return min(shares)


def combine_repeats(scorer: Scorer, verdicts: Sequence[tuple[ScoreValue | None, str]]) -> tuple[ScoreValue | None, str]:
    """Return the value and status of one judge's repeated verdicts: the mean of numbers, or the most frequent name, yes
    or no; of equally frequent ones, the one given first. More than half of the replies must have a value. If a reply
    will be retried, there is no value until then.

    >>> from tripos_compiler.plan import BoolType, IntegerType
    >>> judge = Scorer(name="j", role="judge", params={}, prompt={}, gives=IntegerType())
    >>> combine_repeats(judge, [(4.0, SCORED), (5.0, SCORED), (None, PARSE_FAILURE)])
    (4.5, 'scored')
    >>> combine_repeats(judge, [(4.0, SCORED), (None, PARSE_FAILURE)])
    (None, 'parse_failure')
    >>> combine_repeats(judge.model_copy(update={"gives": BoolType()}), [(0.0, SCORED), (1.0, SCORED), (1.0, SCORED)])
    (1.0, 'scored')
    """
    if len(verdicts) == 1:
        return verdicts[0]
    values = [value for value, status in verdicts if value is not None and status == SCORED]
    failures = [status for value, status in verdicts if value is None or status != SCORED]
    retried = next((status for status in failures if status in RETRIED_NEXT_RUN), None)
    if retried is not None or 2 * len(values) <= len(verdicts):
        return None, retried or failures[0]
    if scorer.gives is not None and scorer.gives.kind in ("bool", "choice"):
        return max(values, key=values.count), SCORED
    numbers = [float(value) for value in values]
    return sum(numbers) / len(numbers), SCORED
