"""The tables of the warehouse: Arrow schemas with versions, keys and disk layout, and the meaning of every column.

Every part is written with the current schema. A changed schema gets a higher version, and a reader refuses a part with
a newer version than its own. Columns called JSON have JSON text. Repetitive columns are dictionary encoded on disk
only; in Arrow and SQL they are plain text, so every reader sees strings. `docs/reference/tables.md` is generated from
the meanings of the columns.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from tripos_compiler.source.data_classes import dataclass


class _NoPandas:
    """An import hook that hides pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise `ImportError` for pandas; leave every other module to the other finders."""
        if name == "pandas":
            raise ImportError("pandas is not imported here")


def _hide_pandas() -> None:
    """Make pyarrow look for pandas once and find none, since otherwise its first conversion of a list imports pandas,
    which takes 30 MB and 0.2 s and is not needed for any table here. `to_pandas` still imports it.
    """
    if "pandas" not in sys.modules:
        finder = _NoPandas()
        sys.meta_path.insert(0, finder)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(finder)


_hide_pandas()

COMPRESSION = "zstd"


COMPRESSION_LEVEL = 3


HUMAN = "human/"
"""The prefix of the evaluator name of a person."""
NAME_SIGNS = "._-"
"""The signs that the name of a person may have, but not begin with, beside letters and digits."""
MOST_NAME_CHARACTERS, MOST_NAME_BYTES = 63, 200
"""The maximum length of a person's name, and that in UTF-8, since it is also used as a file name."""


RELEASE = "release"
"""The column with the release for which a row was made."""


REQUEST = "request_digest"
"""The column with the digest of the request."""


TIMESTAMP = pa.timestamp("us", tz="UTC")


CONTEXT = pa.map_(pa.string(), pa.string())


TEXTS = pa.list_(pa.field("element", pa.string(), nullable=False))


@dataclass(frozen=True)
class TableSchema:
    """A table.

    `key`: the columns that identify a row; of several rows with the same key one counts (`index.winner_order`).
    `repeating`: the leaf columns that are dictionary encoded on disk.
    """

    name: str
    version: int
    schema: pa.Schema
    key: tuple[str, ...]
    repeating: tuple[str, ...]

    @property
    def content(self) -> tuple[str, ...]:
        """The columns without the `CIRCUMSTANCES`. Their values are equal in any two stores of the same work."""
        return tuple(name for name in self.schema.names if name not in CIRCUMSTANCES)


CIRCUMSTANCES = frozenset(
    (
        *("run_id", "items_of", "source", "created_at", "started_at", "finished_at", "latency_s", "attempts"),
        *("release", "git_commit", "git_dirty", "spec", "adopted_from", "reused_from", "batch_id"),
    )
)
"""The columns that say by which run, when, how fast and from where a result was obtained."""


def make_table(name: str, version: int, key: str, repeating: str, *fields: pa.Field[Any]) -> TableSchema:
    """Return a table; `key` and `repeating` are names separated by blanks. The release is always repeating."""
    released = [field.name for field in fields if field.name == RELEASE]
    return TableSchema(name, version, pa.schema(fields), tuple(key.split()), (*repeating.split(), *released))


def required(name: str, type: pa.DataType) -> pa.Field[Any]:
    """Return a column without nulls."""
    return pa.field(name, type, nullable=False)


def optional(name: str, type: pa.DataType) -> pa.Field[Any]:
    """Return a column that may have nulls."""
    return pa.field(name, type)


# The facts of one model call, in `samples`, `turns`, `judgements` and `vectors`. A cost or count that the provider did
# not report is null, never zero.
CALL = (
    required("status", pa.string()),
    optional("error", pa.string()),
    optional("finish_reason", pa.string()),
    required("attempts", pa.int64()),
    optional("tokens_in", pa.int64()),
    optional("tokens_out", pa.int64()),
    optional("tokens_reasoning", pa.int64()),  # hidden tokens, part of `tokens_out`
    optional("cost_usd", pa.float64()),
    optional("latency_s", pa.float64()),
    required("created_at", TIMESTAMP),
)
# Parts with an earlier schema version lack this column.
THINKING = optional("thinking", pa.string())  # the model's thinking, if the provider sends it in a field of its own

# A batch is `intended` before it is submitted, with its requests, then `submitted` with its name at its provider,
# and in the end `collected` or `dropped`.
BATCHES = make_table(
    "batches",
    1,
    "marker state",
    "marker state model endpoint batch_id",
    required("marker", pa.string()),
    required("state", pa.string()),
    required("run_id", pa.string()),
    required("model", pa.string()),
    required("endpoint", pa.string()),  # the provider's address, and the variable with the key
    optional("batch_id", pa.string()),  # the provider's id
    required("requests", TEXTS),  # digests of intended or unanswered requests
    optional("message", pa.string()),
    required("created_at", TIMESTAMP),
)

# Results that were requested because a condition held, in their step or an earlier one. Result ids exclude conditions.
CONDITIONS = make_table(
    "conditions",
    1,
    "condition_id",
    "condition run_id benchmark item_id fingerprint",
    required("condition_id", pa.string()),
    required("result_id", pa.string()),  # a sample_id or a judgement_id
    required("condition", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    optional("item_id", pa.string()),
    required("fingerprint", pa.string()),
)

# Runs that were promoted to a named board or withdrawn from it. The last row counts; earlier ones are kept.
PROMOTIONS = make_table(
    "promotions",
    1,
    "promotion_id",
    "board run_id state",
    required("promotion_id", pa.string()),
    required("board", pa.string()),
    required("run_id", pa.string()),
    required("state", pa.string()),  # promoted or withdrawn
    optional("reason", pa.string()),  # as the user gave it
    required("created_at", TIMESTAMP),
)

# People's notes on replies: a flag, a comment, or both. Of the notes of a person on a reply the latest counts; a
# withdrawal is a row too, so earlier ones are kept.
NOTES = make_table(
    "notes",
    1,
    "note_id",
    "run_id benchmark scenario item_id model noted_by note_flag state",
    required("note_id", pa.string()),
    required("sample_id", pa.string()),
    required("run_id", pa.string()),  # the run in which the reply was read
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("item_id", pa.string()),
    required("model", pa.string()),
    required("noted_by", pa.string()),
    required("state", pa.string()),  # written or withdrawn
    optional("note_flag", pa.string()),  # again, good or bad
    optional("note_text", pa.string()),
    required("replied_at", TIMESTAMP),  # `created_at` of the reply that was read, which another may replace
    required("created_at", TIMESTAMP),
)

RUN_ENDS = make_table(
    "run_ends",
    2,
    "run_id",
    "status",
    required("run_id", pa.string()),
    required("status", pa.string()),  # finished, interrupted, stopped or failed
    optional("message", pa.string()),
    required("asked", pa.int64()),
    required("reused", pa.int64()),
    required("failed", pa.int64()),
    optional("cost_usd", pa.float64()),
    required("finished_at", TIMESTAMP),
    optional("settled", pa.string()),  # JSON, of a sequential run: the rule, the items, the figures
)


_CONTEXT_LEAVES = "context.key_value.key context.key_value.value"

# A row has the digest of its request. Its reply may be that of another row with the same request (`adopted_from`).
# Both rows then have the costs of the reply, which were paid once. `reused_from`: the store of that row, if it is
# another one, and the commit there. `batch_id`: the provider's batch in which the reply came, if any.
_REUSED = optional("reused_from", pa.string())
_BATCH = optional("batch_id", pa.string())
_REQUEST = (optional(REQUEST, pa.string()), optional("adopted_from", pa.string()), _REUSED, _BATCH)

_RELEASE = optional(RELEASE, pa.string())
"""The digest of the release of a run; null for a working tree. The ledger fills it in."""

RUNS = make_table(
    "runs",
    5,
    "run_id",
    "items_of benchmark version plan_digest spec compared_role tool_version",
    required("run_id", pa.string()),
    required("items_of", pa.string()),  # the run that listed the items: itself, or an earlier one with the same work
    required("benchmark", pa.string()),
    required("version", pa.string()),
    required("plan_digest", pa.string()),
    required("plan", pa.string()),  # JSON
    required("fingerprints", TEXTS),
    required("roles", pa.string()),  # JSON, {"candidate": ["m1", "m2"], "judge": ["m3"]}
    optional("identities", pa.string()),  # JSON, identities of models whose names are not enough
    required("compared_role", pa.string()),
    required("models", TEXTS),
    required("scenarios", TEXTS),
    required("options", pa.string()),  # JSON
    required("tool_version", pa.string()),
    required("started_at", TIMESTAMP),
    _RELEASE,
    # For a working tree in a git repository: the commit, and whether the spec's folder differs from it.
    optional("git_commit", pa.string()),
    optional("git_dirty", pa.bool_()),
    optional("spec", pa.string()),  # JSON, [{"path": "quiz.tripos", "text": "…"}], the text null if it is too long
)

RUN_ITEMS = make_table(
    "run_items",
    4,
    "run_id scenario item_id",
    "run_id scenario item_id subsets.list.element models.list.element cluster",
    required("run_id", pa.string()),
    required("scenario", pa.string()),
    required("item_id", pa.string()),
    optional("subsets", TEXTS),  # the subsets with the item, as the run drew them; null if the spec has none
    optional("models", TEXTS),  # the compared models that were asked, if others were settled before; null for all
    optional("cluster", pa.string()),  # the rows that were drawn together; null if the item is its own cluster
)

# What a run computes for each of its items. Together with `run_items` it selects the rows of the run
# (`run_rows.py`).
RUN_STEPS = make_table(
    "run_steps",
    2,
    "run_id scenario fingerprint binding model other condition",
    "run_id scenario fingerprint binding model other condition",
    required("run_id", pa.string()),
    required("scenario", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),
    optional("model", pa.string()),  # the compared model that the rows are about
    optional("other", pa.string()),  # the model that it is compared with
    optional("condition", pa.string()),  # a digest: only rows that were requested under it (`conditions`); null for all
)

# The requests and slots of a run's generated data sets, by `samples.sample_id` and `slots.slot_id`.
RUN_SLOTS = make_table(
    "run_slots",
    2,
    "run_id scenario made_id",
    "run_id scenario",
    required("run_id", pa.string()),
    required("scenario", pa.string()),  # or the data set, if it belongs to none
    required("made_id", pa.string()),
)

ITEMS = make_table(
    "items",
    2,
    "benchmark scenario item_id",
    f"benchmark scenario dataset language written_by {_CONTEXT_LEAVES}",
    required("item_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    optional("dataset", pa.string()),
    optional("language", pa.string()),
    required("context", CONTEXT),
    required("fields", pa.string()),  # JSON
    # Of items that were made: who wrote it, at which attempt, and why the earlier ones were rejected.
    optional("written_by", pa.string()),
    optional("attempts", pa.int64()),
    optional("rejections", pa.string()),  # JSON, [{"reason": "duplicate"}]
)

# The slots for items of generated data sets, with their outcomes.
SLOTS = make_table(
    "slots",
    3,
    "slot_id",
    f"run_id benchmark scenario dataset fingerprint binding status written_by rejections {_CONTEXT_LEAVES}",
    required("slot_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),  # or the data set, if it belongs to none
    required("dataset", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("context", CONTEXT),
    required("number", pa.int64()),  # the number among the rows of one cell and source row, from 0
    required("status", pa.string()),  # made or given_up
    optional("item_id", pa.string()),
    optional("written_by", pa.string()),
    required("attempts", pa.int64()),
    required("rejections", pa.string()),  # JSON
    required("created_at", TIMESTAMP),
    _RELEASE,
)

# `messages` repeats between models; if it does not, the encoder falls back to plain encoding.
SAMPLES = make_table(
    "samples",
    8,
    "sample_id",
    "run_id benchmark scenario step fingerprint binding item_id role model identity model_served messages status "
    "finish_reason batch_id " + _CONTEXT_LEAVES,
    required("sample_id", pa.string()),
    required("run_id", pa.string()),  # the run that created the row, not every run that uses it
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("step", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("item_id", pa.string()),
    required("context", CONTEXT),
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # the identity of the model, if its name is not enough
    optional("model_served", pa.string()),
    required("sample_number", pa.int64()),
    required("messages", pa.string()),  # JSON
    optional("reply", pa.string()),
    optional("parsed", pa.string()),  # JSON
    THINKING,
    optional("logprobs", pa.string()),  # JSON: token probabilities of the reply, if requested
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# A turn of a conversation. The conversation itself is a row of `samples`, written at its end: its `sample_id` is the
# `conversation_id`, and its usage is the sum over its turns.
TURNS = make_table(
    "turns",
    6,
    "turn_id",
    "conversation_id run_id benchmark scenario step fingerprint binding item_id role model identity model_served "
    "status finish_reason batch_id",
    required("turn_id", pa.string()),
    required("conversation_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("step", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("item_id", pa.string()),
    required("conversation_number", pa.int64()),  # the number among the conversations about an item, from 0
    required("number", pa.int64()),  # the number of the turn, from 1
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # the identity of the model, if its name is not enough
    optional("model_served", pa.string()),
    optional("text", pa.string()),
    THINKING,
    required("left_out", pa.int64()),  # turns omitted because of the context limit
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# Imported judgements and scores have a `round`, from 1; those of runs have none.
JUDGEMENTS = make_table(
    "judgements",
    13,
    "judgement_id",
    "run_id benchmark scenario scorer fingerprint binding evaluator identity source model_served status finish_reason",
    required("judgement_id", pa.string()),
    optional("sample_id", pa.string()),  # null if a field of the item was judged, not a reply
    optional("item_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("scorer", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("evaluator", pa.string()),  # a model; for an import, the evaluator, such as human/NAME
    optional("identity", pa.string()),  # the identity of the model, if its name is not enough
    optional("repeat", pa.int64()),  # the number of the judge's reply, from 0; null if imported
    optional("element_place", pa.string()),  # the position of a judged list element: `4`, or `0.2` in nested lists
    optional("round", pa.int64()),
    optional("drawn_of", pa.int64()),  # the number of replies from which it was drawn at random for a person
    optional("source", pa.string()),  # the imported file, and the beginning of its SHA-256
    optional("model_served", pa.string()),
    required("messages", pa.string()),  # JSON
    optional("reply", pa.string()),
    optional("parsed", pa.string()),  # JSON, {metric: {"score": 7, "reason": "…"}}
    THINKING,
    optional("logprobs", pa.string()),  # as in `samples`
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# An unreadable reply, stored before it is asked for again. Its cost is included in the sample or judgement.
DRAFTS = make_table(
    "drafts",
    4,
    "unit_id",
    "run_id fingerprint model_served finish_reason",
    required("unit_id", pa.string()),  # a sample_id or a judgement_id
    required("run_id", pa.string()),
    required("fingerprint", pa.string()),
    required("messages", pa.string()),
    required("reply", pa.string()),
    THINKING,
    optional("logprobs", pa.string()),  # as in `samples`
    optional("error", pa.string()),
    optional("finish_reason", pa.string()),
    optional("model_served", pa.string()),
    required("attempts", pa.int64()),
    optional("tokens_in", pa.int64()),
    optional("tokens_out", pa.int64()),
    optional("tokens_reasoning", pa.int64()),
    optional("cost_usd", pa.float64()),
    optional("latency_s", pa.float64()),
    required("created_at", TIMESTAMP),
)

SCORES = make_table(
    "scores",
    6,
    "score_id",
    "sample_id judgement_id run_id benchmark scenario item_id model scorer metric evaluator elements status error "
    "fingerprint binding",
    required("score_id", pa.string()),
    required("sample_id", pa.string()),
    optional("judgement_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("item_id", pa.string()),
    required("model", pa.string()),
    required("scorer", pa.string()),
    required("metric", pa.string()),
    optional("evaluator", pa.string()),
    optional("round", pa.int64()),
    optional("value", pa.float64()),
    optional("given", pa.string()),  # JSON: a value that is not a number, or the scores of `elements`
    optional("elements", pa.string()),  # JSON, [{"place": "0", "element": …}], if list elements are scored
    optional("judged_by", TEXTS),  # judges inside the expression, sorted by name; null if none
    required("status", pa.string()),  # from compiler/tripos_compiler/plan/outcomes.py
    optional("error", pa.string()),  # the reason for a missing value, or for a judge not asked
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("created_at", TIMESTAMP),
    _RELEASE,
)

# The vector of a text. Its id depends only on the model and the text, so every run can use it.
VECTORS = make_table(
    "vectors",
    3,
    "vector_id",
    "run_id role model identity model_served status finish_reason",
    required("vector_id", pa.string()),
    required("run_id", pa.string()),
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # the identity of the model, if its name is not enough
    optional("model_served", pa.string()),
    required("text", pa.string()),
    optional("vector", pa.string()),  # base64 of 32-bit numbers, the least significant byte first
    *CALL,
    _REUSED,
)

# The verdict of a judge on two replies, one row for each order.
COMPARISONS = make_table(
    "comparisons",
    4,
    "comparison_id",
    "judgement_id run_id benchmark scenario item_id step scorer evaluator first_model second_model first_sample_id "
    "second_sample_id status error fingerprint "
    "binding",
    required("comparison_id", pa.string()),
    optional("judgement_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("item_id", pa.string()),
    required("step", pa.string()),
    required("scorer", pa.string()),
    required("evaluator", pa.string()),
    required("first_model", pa.string()),  # the model of the reply that was shown first
    required("second_model", pa.string()),
    required("first_sample_id", pa.string()),
    required("second_sample_id", pa.string()),
    optional("round", pa.int64()),
    optional("value", pa.float64()),  # 1 if the first is better, 0 if the second is, 0.5 for a tie
    optional("given", pa.string()),  # JSON: the name that the judge chose
    required("status", pa.string()),
    optional("error", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # identifies the row together with its item
    required("created_at", TIMESTAMP),
    _RELEASE,
)

MEASURES = make_table(
    "measures",
    4,
    "run_id measure model dims",
    "run_id benchmark measure model method reason",
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("measure", pa.string()),
    required("model", pa.string()),
    required("dims", pa.string()),  # JSON, {"metric": "IFTC"}
    optional("value", pa.float64()),
    optional("standard_error", pa.float64()),
    optional("low", pa.float64()),  # the bounds of the 95 % interval
    optional("high", pa.float64()),
    required("items", pa.int64()),
    required("n", pa.int64()),
    required("total", pa.int64()),
    optional("judged", pa.float64()),  # for a measure that people correct: the judge's estimate and interval
    optional("judged_low", pa.float64()),
    optional("judged_high", pa.float64()),
    optional("power", pa.float64()),  # for such a measure: the tuning parameter λ of the judge, from 0
    optional("method", pa.string()),  # the interval's method: exact, logit, t, jackknife, bootstrap, corrected …
    optional("reason", pa.string()),  # why there is no value, or no interval
    _RELEASE,
)

TABLES: Mapping[str, TableSchema] = MappingProxyType(
    {
        table.name: table
        for table in (
            *(RUNS, RUN_ENDS, RUN_ITEMS, RUN_STEPS, RUN_SLOTS, ITEMS, SLOTS),
            *(SAMPLES, TURNS, DRAFTS, JUDGEMENTS, SCORES, COMPARISONS, CONDITIONS, VECTORS, MEASURES),
            *(BATCHES, PROMOTIONS, NOTES),
        )
    }
)
"""Every table by its name."""


MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "run_id": "the run that made the row, not every run that uses it",
        "shown_run": "the run of the row: the selected run, or the last run that covered it",
        "binding": "a hash of every model and sample that the row builds on",
        "other": "for comparisons: the other model; else null",
        "made_id": "for generated data sets: a reply (`sample_id`), or the result of a slot (`slot_id`)",
        "benchmark": "the benchmark",
        "scenario": "the scenario",
        "language": "the language of the item",
        "context": "from axis to value",
        "fields": "the fields of the item's row, JSON",
        "dataset": "the data set that the item is from",
        "item_id": "the item: a hash of the content of its row",
        "cluster_id": "the rows that were drawn together, over which errors are computed: the item itself as a rule, or"
        " a hash of its `key`, or of the row that it was made from",
        "cluster": "the same; null where the item is a cluster of its own",
        "sample_id": "the reply",
        "judgement_id": "the judge's reply",
        "score_id": "the score",
        "comparison_id": "the comparison",
        "first_model": "the model whose reply was shown first",
        "second_model": "the model whose reply was shown second",
        "first_sample_id": "the reply that was shown first",
        "second_sample_id": "the reply that was shown second",
        "turn_id": "the turn",
        "conversation_id": "the conversation: `sample_id` of its row among the samples",
        "conversation_number": "the number of the conversation about an item, from 0",
        "left_out": "the number of turns that the model did not see, because of its context limit",
        "text": "the text of the turn; null if there is none",
        "transcript": "the dialogue, a line for each turn",
        "turns": "the number of turns",
        "ended": "`said`, `limit`, `context_exceeded`, or the status of the turn that failed",
        "ended_by": "the role that spoke last, or should have",
        "vector_id": "the vector: a hash of the model and the text",
        "vector": "base64 of 32-bit numbers, the least significant byte first; null if there is none",
        "unit_id": "the `sample_id` or `judgement_id` of the repaired reply",
        "subsets": "the subsets of the spec that contain the item; null if the spec has none",
        "slot_id": "a place for an item in the data set",
        "note_id": "the note",
        "note_flag": "the flag: `again` (to look at again), `good` or `bad`; null if there is none",
        "note_outdated": "true if the reply was asked for again since, so that the note is on an earlier one",
        "note_text": "the comment; null if there is none",
        "noted_by": "the person, as `human/NAME`",
        "number": "the number of the item among those of one context and row of the source, from 0",
        "written_by": "the model that wrote it; null for an item that no model wrote",
        "rejections": "the [reasons](../language/made.md#why-a-row-is-rejected) of earlier rejections, JSON",
        "step": "the `ask` that was answered",
        "fingerprint": "a hash of everything in the spec that determines the row",
        "role": "the role that answered",
        "model": "the requested model",
        "identity": "the identity of the model: its endpoint or digest; null if the name is enough",
        "model_served": "the model that the endpoint says it used",
        "judged_by": "the judges inside the expression of a computed score, sorted by name; null if there are none",
        "element_place": "the place of the list element that is judged or scored, from 0; `0.2` in a nested list",
        "element_value": "the [element](../language/elements.md) that is scored, JSON; null for a score of a reply",
        "elements": "the [elements](../language/elements.md) that are scored, JSON; their scores are in `given`",
        "repeat": "the number of the reply of a judge that is asked several times, from 0; null for imported scores",
        "round": "the round of an imported score, from 1; null for scores of a run",
        "source": "the imported file, and the beginning of its SHA-256",
        "choice": "the name that a judge chose, where it gives a choice; else null",
        "given": "a value that is not a number, JSON",
        "method": "the method of the interval: `exact`, `logit`, `log`, `t`, `jackknife`, `bootstrap`, `cut`, "
        "`corrected` or `generalized`",
        "judged": "for a measure that [people correct](measures.md#people-correct-judges): the judge's own figure",
        "judged_low": "the low end of its interval",
        "judged_high": "the high end of its interval",
        "power": "for such a measure: λ, the weight of the judge; 0 leaves people alone",
        "drawn_of": "for a person's judgement: of how many replies it was drawn at random; null if it was not",
        "sample_number": "the number of the sample of an item, from 0",
        "epoch": "the number of the sample of an item, from 1",
        "messages": "the request, JSON",
        "request_digest": "a hash of the first request; null if no run sent one",
        "adopted_from": "the result with the same request whose reply was adopted; null if the call was made",
        "batch_id": "the batch of the provider that the reply came in, at the price of batches; null: a live call",
        "reused_from": "the other store that the reply was taken over from, and the commit there; null if it was none",
        "reply": "the text of the reply; null if there is none",
        "thinking": "the thinking that the provider sends in fields of its own; null if there is none",
        "reply_thinking": "the thinking that the provider sends in fields of its own; null if there is none",
        "parsed": "the parsed reply, JSON",
        "logprobs": "the [probabilities of the reply's tokens](../language/likelihood.md#tokens-of-a-reply), JSON",
        "status": "the [status](machine-output.md#statuses)",
        "error": "the error; for a score, the reason for a missing value",
        "finish_reason": "the word of the provider for how the reply ended",
        "attempts": "the number of requests; of several samples of one request the first has them, the others 0",
        "tokens_in": "input tokens",
        "tokens_out": "output tokens, including hidden ones",
        "tokens_reasoning": "hidden reasoning tokens, part of `tokens_out`",
        "total_tokens": "`tokens_in + tokens_out`",
        "cost_usd": "the cost; null if it is unknown",
        "latency_s": "seconds from request to reply",
        "created_at": "the time of the row, UTC",
        "scorer": "the scorer, or the `score` that is computed",
        "metric": "the metric",
        "evaluator": "the model that graded; null for a computed score",
        "value": "the value; null if there is none",
        "dimension": "the dimension of the metric",
        "low": "the lowest value of the score's scale; null if it has none",
        "high": "the highest value of the score's scale; null if it has none",
        "reason": "the reason that the judge gives",
        "title": "the title of the metric",
        "version": "the version of the benchmark",
        "items_of": "the run that listed the items: itself, or an earlier run with the same work",
        "plan_digest": "a hash of the plan",
        "plan": "the plan, JSON",
        "fingerprints": "the fingerprints of every step of the plan",
        "roles": "the models of every role, JSON",
        "identities": "the identities of the models, JSON by name; null if the names are enough",
        "compared_role": "the role that is compared",
        "models": "the models of the compared role",
        "scenarios": "the scenarios that were run",
        "options": "the options of the command, JSON",
        "tool_version": "the version of Tripos",
        "release": "the digest of the [release](../how-to/publish-a-release.md) of the run; null for a working tree",
        "git_commit": "for a working tree: the commit; null outside of git",
        "git_dirty": "for a working tree: true if the spec's files differed from the commit",
        "spec": "the files of the spec as they were run, JSON; null for imported results",
        "started_at": "the start, UTC",
        "finished_at": "the end, UTC",
        "message": "the reason of the end, if the run did not finish",
        "settled": "for a run [until settled](../how-to/stop-early.md): rule, items and every figure, JSON; else null",
        "asked": "calls that were made",
        "reused": "calls with a reused reply",
        "failed": "calls without a reply",
        "measure": "the measure of the spec",
        "dims": "the values of its dimensions, JSON",
        "standard_error": "the standard error of the value",
        "items": "the items behind it",
        "n": "scores with a value",
        "total": "scores that should have one",
    }
)
"""Meanings by column. A name means the same in every table, except for those in `OF_TABLES`."""

OF_TABLES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("runs", "run_id"): "the run",
        ("runs", "status"): "`finished`, `interrupted`, `stopped`, `failed`, or `unfinished` while there is no end",
        ("run_items", "run_id"): "the run that covered the item",
        (
            "run_items",
            "models",
        ): "the models that were asked, if others were [settled](../how-to/stop-early.md) before; null for all",
        ("run_steps", "run_id"): "the run with this binding",
        ("run_steps", "model"): "the model under test of the rows; null for generated data sets",
        ("run_steps", "condition"): "the condition under which rows must have been asked for; null if always",
        ("conditions", "condition_id"): "the name of the row",
        ("conditions", "result_id"): "the `sample_id` or `judgement_id` that was asked for",
        ("conditions", "condition"): "a digest of the condition that held",
        ("batches", "marker"): "the name of the batch in the store",
        ("batches", "state"): "`intended`, `submitted`, `unanswered`, `collected`, or `dropped` where it is lost",
        ("batches", "run_id"): "the run that noted it",
        ("batches", "endpoint"): "the address of its provider, and the variable that holds the key",
        ("batches", "batch_id"): "the name of the batch at its provider",
        (
            "batches",
            "requests",
        ): "the digests of its requests, if `intended`; of those without a reply, if `unanswered`",
        ("batches", "message"): "the reason, if it was dropped",
        ("promotions", "promotion_id"): "the name of the row",
        ("promotions", "board"): "the board",
        ("promotions", "run_id"): "the run that is promoted or withdrawn",
        ("promotions", "state"): "`promoted`, or `withdrawn` where it is on the board no longer",
        ("promotions", "reason"): "the reason that was given, or null",
        ("notes", "run_id"): "the run in which the reply was read",
        ("notes", "state"): "`written`, or `withdrawn` where the person took the note back",
        ("notes", "replied_at"): "`created_at` of the reply that the note is on",
        ("notes", "created_at"): "the time of the note, UTC",
        ("run_slots", "run_id"): "the run that asked for it, or decided it",
        ("run_slots", "scenario"): "the scenario that the data set is in, or else the data set",
        ("measures", "run_id"): "the run",
        ("measures", "low"): "the lower end of the 95 % interval",
        ("measures", "high"): "the upper end of the 95 % interval",
        ("measures", "reason"): "the reason for a missing value or interval",
        ("columns", "metric"): "the measure, and the name of its value",
        ("judgements", "model"): "the model whose reply was graded",
        (
            "judgements",
            "sample_id",
        ): "the reply that was graded; of two that were compared the one shown first",
        ("vectors", "role"): "the role that embeds",
        ("vectors", "text"): "the text that it is the vector of",
        ("vectors", "tokens_out"): "0: a vector has none",
        ("turns", "step"): "the `converse` of the turn",
        ("turns", "number"): "the number of the turn, from 1",
        ("turns", "role"): "the role that spoke",
        ("conversations", "step"): "the `converse` of the turn",
        ("conversations", "role"): "the compared role if it takes part, or else the role that opens",
        ("conversations", "model"): "the model of that role",
        ("conversations", "models"): "the model of either role, JSON",
        ("conversations", "error"): "the error of the last turn",
        ("samples", "step"): "the `ask` that was answered, or the `converse` that was held",
        ("samples", "finish_reason"): "the word of the provider for how the reply ended; for a conversation, its end",
        ("comparisons", "step"): "the `compare` of the comparison",
        ("comparisons", "evaluator"): "the model that judged",
        (
            "comparisons",
            "value",
        ): "1 if the first is better, 0 if the second is, 0.5 for a tie; null if there is no verdict",
        ("comparisons", "scorer"): "the scorer that was applied",
        ("items", "attempts"): "the number of the successful attempt, from 1; null for an item from a file",
        ("slots", "attempts"): "the number of attempts",
        ("slots", "status"): "`made`, or `given_up` after the last attempt",
        ("slots", "item_id"): "the item; null if the slot was given up",
        ("slots", "scenario"): "the scenario that the data set is in, or else the data set",
        ("slots", "run_id"): "the run that decided it",
        ("drafts", "reply"): "the first reply, a parse failure",
        ("drafts", "error"): "the reason of the parse failure",
    }
)
"""Meanings by table or view, and column."""


def meaning(table: str, column: str) -> str:
    """Return the meaning of a column of a table or view. Raises `KeyError` if it is not documented."""
    return OF_TABLES.get((table, column)) or MEANINGS[column]
