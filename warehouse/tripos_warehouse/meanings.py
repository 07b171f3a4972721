"""What the columns of tables and views mean, for the page that lists them: `docs/tables.md` is written from here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "run_id": "the run that made the row, not every run that uses it",
        "benchmark": "the benchmark",
        "scenario": "the scenario",
        "language": "the language of the item",
        "context": "from axis to value",
        "fields": "the fields of the item's row, JSON",
        "dataset": "the data set that the item is from",
        "item_id": "the item: a hash of what its row says",
        "sample_id": "the reply",
        "judgement_id": "the judge's reply",
        "score_id": "the score",
        "unit_id": "the `sample_id` or `judgement_id` that came of it",
        "slot_id": "the place that the data set has for an item",
        "number": "which of the items of one context and row of the source, from 0",
        "written_by": "the model that wrote it; null where it was read, or nobody was asked",
        "rejections": "why the earlier attempts were rejected, JSON: [reasons](language/made.md#why-a-row-is-rejected)",
        "step": "the `ask` that was answered",
        "fingerprint": "a hash of all in the spec that determines the row",
        "role": "the role that answered",
        "model": "the model that was asked for",
        "model_served": "the model that the endpoint says it used",
        "round": "of a score that was imported: which time the evaluator scored, from 1; null for what a run asked for",
        "source": "the file that it was imported from, and the beginning of its SHA-256",
        "given": "the value of a column that is no number, JSON",
        "method": "how the interval was found: `wilson`, `t` or `jackknife`",
        "sample_number": "which of the samples of an item, from 0",
        "epoch": "which of the samples of an item, from 1",
        "messages": "what was sent, JSON",
        "reply": "the text of the reply; null where there is none",
        "parsed": "what was read from the reply, JSON",
        "status": "how it ended: [statuses](running.md#statuses)",
        "error": "what went wrong",
        "finish_reason": "why the model stopped, as it says",
        "attempts": "requests that were sent for it",
        "tokens_in": "tokens that were sent",
        "tokens_out": "tokens that came back, hidden ones included",
        "tokens_reasoning": "those of `tokens_out` that nobody sees",
        "total_tokens": "`tokens_in + tokens_out`",
        "cost_usd": "what it cost; null where nobody told",
        "latency_s": "seconds from request to reply",
        "created_at": "when it was kept, UTC",
        "scorer": "the scorer, or the `score` that is computed",
        "metric": "the metric",
        "evaluator": "the model that graded; null for a computed score",
        "value": "the value; null where there is none",
        "dimension": "the dimension of the metric",
        "low": "the lowest value of the metric's scale",
        "high": "the highest value of the metric's scale",
        "reason": "why, as the judge says",
        "title": "what the metric is called",
        "version": "the version of the benchmark",
        "items_of": "the run that listed the items: itself, or an earlier one that did all of the same",
        "plan_digest": "a hash of the plan",
        "plan": "the plan, JSON",
        "fingerprints": "those of every step of the plan",
        "roles": "the models of every role, JSON",
        "compared_role": "the role that is compared",
        "models": "the models of the compared role",
        "scenarios": "the scenarios that were run",
        "options": "the options of the command, JSON",
        "tool_version": "the version of Tripos",
        "started_at": "when it began, UTC",
        "finished_at": "when it ended, UTC",
        "message": "why it ended, where it did not finish",
        "asked": "calls that were made",
        "reused": "calls whose reply was there already",
        "failed": "calls without a reply",
        "measure": "the measure of the spec",
        "dims": "the values of its dimensions, JSON",
        "standard_error": "the standard error of the value",
        "items": "the items behind it",
        "n": "scores with a value",
        "total": "scores that should have one",
    }
)
"""By column; the same name means the same everywhere, but for `OF_TABLES`."""

OF_TABLES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("runs", "run_id"): "the run",
        ("runs", "status"): "`finished`, `interrupted`, `stopped`, `failed`, or `unfinished` while there is no end",
        ("run_items", "run_id"): "the run that covered the item",
        ("measures", "run_id"): "the run",
        ("measures", "low"): "the lower end of the 95 % interval",
        ("measures", "high"): "the upper end of the 95 % interval",
        ("measures", "reason"): "why there is no value, or no interval",
        ("columns", "metric"): "the measure, and which of its values",
        ("judgements", "model"): "the model whose reply was graded",
        ("items", "attempts"): "the attempt that it comes from, counted from 1; null where it was read",
        ("slots", "attempts"): "attempts that were made",
        ("slots", "status"): "`made`, or `given_up` after the last attempt",
        ("slots", "item_id"): "the item that was made; null where it was given up",
        ("slots", "scenario"): "the scenario that the data set is in, or else the data set",
        ("slots", "run_id"): "the run that found out",
        ("drafts", "reply"): "the first reply, which could not be read",
        ("drafts", "error"): "what could not be read",
    }
)
"""By table or view and column."""


def meaning(table: str, column: str) -> str:
    """What a column of a table or view means. Raises `KeyError` for one that nobody described."""
    return OF_TABLES.get((table, column)) or MEANINGS[column]
