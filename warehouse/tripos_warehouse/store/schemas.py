"""The tables of the warehouse: an Arrow schema each, with a version and how it lies on disk.

Every part is written with the schema that stands here; a change of a schema raises its version, and a
reader refuses a part with a newer one. Columns called JSON hold JSON text. On disk a column that repeats
itself is dictionary encoded; in Arrow and SQL it is plain text, so every reader sees strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa

COMPRESSION = "zstd"
COMPRESSION_LEVEL = 3

HUMAN = "human/"
"""What the evaluator's name of a person begins with."""

RELEASE = "release"
"""The column for the release that a row was made for."""

REQUEST = "request_digest"
"""The column for the digest of what was sent."""

TIMESTAMP = pa.timestamp("us", tz="UTC")
CONTEXT = pa.map_(pa.string(), pa.string())
TEXTS = pa.list_(pa.field("element", pa.string(), nullable=False))


@dataclass(frozen=True)
class Table:
    """One table.

    `key` are the columns that name a row: where a key occurs more than once, one row counts (`views`).
    `repeating` are the leaf columns that are dictionary encoded on disk.
    """

    name: str
    version: int
    schema: pa.Schema
    key: tuple[str, ...]
    repeating: tuple[str, ...]

    @property
    def content(self) -> tuple[str, ...]:
        """The columns that say what was found out, and not by which run, when or how fast: equal in any two stores
        of the same work."""
        return tuple(name for name in self.schema.names if name not in CIRCUMSTANCES)


CIRCUMSTANCES = frozenset(
    (
        *("run_id", "items_of", "source", "created_at", "started_at", "finished_at", "latency_s", "attempts"),
        *("release", "git_commit", "git_dirty", "adopted_from"),
    )
)


def _table(name: str, version: int, key: str, repeating: str, *fields: pa.Field[Any]) -> Table:
    released = [each.name for each in fields if each.name == RELEASE]
    return Table(name, version, pa.schema(fields), tuple(key.split()), (*repeating.split(), *released))


def _need(name: str, type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, type, nullable=False)


def _may(name: str, type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, type)


_CONTEXT_LEAVES = "context.key_value.key context.key_value.value"

# What is known of one model call; `samples` and `judgements` end with these. A cost or a count that
# nobody told us is null, never zero.
_CALL = (
    _need("status", pa.string()),
    _may("error", pa.string()),
    _may("finish_reason", pa.string()),
    _need("attempts", pa.int64()),
    _may("tokens_in", pa.int64()),
    _may("tokens_out", pa.int64()),
    _may("tokens_reasoning", pa.int64()),  # those of `tokens_out` that nobody sees
    _may("cost_usd", pa.float64()),
    _may("latency_s", pa.float64()),
    _need("created_at", TIMESTAMP),
)

# A reply is an answer to what was sent: a row has the digest of that, and may have taken its reply from another row
# with the same. What that reply took is in both rows, and was paid for once.
_REQUEST = (_may(REQUEST, pa.string()), _may("adopted_from", pa.string()))

_RELEASE = _may(RELEASE, pa.string())
"""The digest of the release that a run was of; null where it was of a working tree. The ledger fills it in."""

RUNS = _table(
    "runs",
    4,
    "run_id",
    "items_of benchmark version plan_digest compared_role tool_version",
    _need("run_id", pa.string()),
    _need("items_of", pa.string()),  # the run that listed the items: itself, or one that did all of the same before
    _need("benchmark", pa.string()),
    _need("version", pa.string()),
    _need("plan_digest", pa.string()),
    _need("plan", pa.string()),  # JSON
    _need("fingerprints", TEXTS),
    _need("roles", pa.string()),  # JSON, {"candidate": ["m1", "m2"], "judge": ["m3"]}
    _may("identities", pa.string()),  # JSON, who answers under the name of a model where that does not say it
    _need("compared_role", pa.string()),
    _need("models", TEXTS),
    _need("scenarios", TEXTS),
    _need("options", pa.string()),  # JSON
    _need("tool_version", pa.string()),
    _need("started_at", TIMESTAMP),
    _RELEASE,
    # Of a working tree in a git repository: the commit, and whether the spec's folder differs from it.
    _may("git_commit", pa.string()),
    _may("git_dirty", pa.bool_()),
)

RUN_ENDS = _table(
    "run_ends",
    1,
    "run_id",
    "status",
    _need("run_id", pa.string()),
    _need("status", pa.string()),  # finished, interrupted, stopped or failed
    _may("message", pa.string()),
    _need("asked", pa.int64()),
    _need("reused", pa.int64()),
    _need("failed", pa.int64()),
    _may("cost_usd", pa.float64()),
    _need("finished_at", TIMESTAMP),
)

RUN_ITEMS = _table(
    "run_items",
    2,
    "run_id scenario item_id",
    "run_id scenario item_id subsets.list.element",
    _need("run_id", pa.string()),
    _need("scenario", pa.string()),
    _need("item_id", pa.string()),
    _may("subsets", TEXTS),  # those of the spec that the item is in, as the run drew them; null where there are none
)

# What a run yields of each of its items: together with `run_items` this says which rows are the run's
# (`run_rows.py`).
RUN_STEPS = _table(
    "run_steps",
    1,
    "run_id scenario fingerprint binding model other",
    "run_id scenario fingerprint binding model other",
    _need("run_id", pa.string()),
    _need("scenario", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),
    _may("model", pa.string()),  # the compared model that the rows are about
    _may("other", pa.string()),  # the model that it is compared with
)

# What a run asks for and decides of data sets that are made, as `samples.sample_id` and `slots.slot_id` name it.
RUN_SLOTS = _table(
    "run_slots",
    2,
    "run_id scenario made_id",
    "run_id scenario",
    _need("run_id", pa.string()),
    _need("scenario", pa.string()),  # or the data set, where it belongs to none
    _need("made_id", pa.string()),
)

ITEMS = _table(
    "items",
    2,
    "benchmark scenario item_id",
    f"benchmark scenario dataset language written_by {_CONTEXT_LEAVES}",
    _need("item_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _may("dataset", pa.string()),
    _may("language", pa.string()),
    _need("context", CONTEXT),
    _need("fields", pa.string()),  # JSON
    # Of items that were made: who wrote it, at which attempt, and why the earlier ones were rejected.
    _may("written_by", pa.string()),
    _may("attempts", pa.int64()),
    _may("rejections", pa.string()),  # JSON, [{"reason": "duplicate"}]
)

# The places that data sets which are made have for items, with what became of each.
SLOTS = _table(
    "slots",
    3,
    "slot_id",
    f"run_id benchmark scenario dataset fingerprint binding status written_by rejections {_CONTEXT_LEAVES}",
    _need("slot_id", pa.string()),
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),  # or the data set, where it belongs to none
    _need("dataset", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("context", CONTEXT),
    _need("number", pa.int64()),  # which of the rows of one cell and row of the source, from 0
    _need("status", pa.string()),  # made or given_up
    _may("item_id", pa.string()),
    _may("written_by", pa.string()),
    _need("attempts", pa.int64()),
    _need("rejections", pa.string()),  # JSON
    _need("created_at", TIMESTAMP),
    _RELEASE,
)

# `messages` repeats from model to model; where it does not, the encoder falls back by itself.
SAMPLES = _table(
    "samples",
    4,
    "sample_id",
    "run_id benchmark scenario step fingerprint binding item_id role model identity model_served messages status "
    "finish_reason " + _CONTEXT_LEAVES,
    _need("sample_id", pa.string()),
    _need("run_id", pa.string()),  # the run that made it, not every run that uses it
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _need("step", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("item_id", pa.string()),
    _need("context", CONTEXT),
    _need("role", pa.string()),
    _need("model", pa.string()),
    _may("identity", pa.string()),  # who answers under that name, where it does not say it
    _may("model_served", pa.string()),
    _need("sample_number", pa.int64()),
    _need("messages", pa.string()),  # JSON
    _may("reply", pa.string()),
    _may("parsed", pa.string()),  # JSON
    *_CALL,
    *_REQUEST,
    _RELEASE,
)

# A turn of a conversation. The conversation itself is a row of `samples`, made when it is over: its `sample_id` is the
# `conversation_id`, and what it took is the sum of what its turns took.
TURNS = _table(
    "turns",
    3,
    "turn_id",
    "conversation_id run_id benchmark scenario step fingerprint binding item_id role model identity model_served "
    "status finish_reason",
    _need("turn_id", pa.string()),
    _need("conversation_id", pa.string()),
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _need("step", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("item_id", pa.string()),
    _need("conversation_number", pa.int64()),  # which of the conversations about an item, from 0
    _need("number", pa.int64()),  # which of its turns, from 1
    _need("role", pa.string()),
    _need("model", pa.string()),
    _may("identity", pa.string()),  # who answers under that name, where it does not say it
    _may("model_served", pa.string()),
    _may("text", pa.string()),
    _need("left_out", pa.int64()),  # turns that were not shown to the model, since they would have passed its context
    *_CALL,
    *_REQUEST,
    _RELEASE,
)

# Judgements and scores that were imported have a `round`, from 1 on; those of runs have none.
JUDGEMENTS = _table(
    "judgements",
    6,
    "judgement_id",
    "run_id benchmark scenario scorer fingerprint binding evaluator identity source model_served status finish_reason",
    _need("judgement_id", pa.string()),
    _may("sample_id", pa.string()),  # none where what was judged is not a reply, but stands in the item
    _may("item_id", pa.string()),
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _need("scorer", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("evaluator", pa.string()),  # a model; or, of what was imported, whoever judged, such as human/NAME
    _may("identity", pa.string()),  # who answers under that name, where it does not say it
    _may("round", pa.int64()),
    _may("source", pa.string()),  # the file that it was imported from, and the beginning of its SHA-256
    _may("model_served", pa.string()),
    _need("messages", pa.string()),  # JSON
    _may("reply", pa.string()),
    _may("parsed", pa.string()),  # JSON, {metric: {"score": 7, "reason": "…"}}
    *_CALL,
    *_REQUEST,
    _RELEASE,
)

# A reply that could not be read, kept on its way to being asked once more: what it cost is in the sample or judgement.
DRAFTS = _table(
    "drafts",
    2,
    "unit_id",
    "run_id fingerprint model_served finish_reason",
    _need("unit_id", pa.string()),  # a sample_id or a judgement_id
    _need("run_id", pa.string()),
    _need("fingerprint", pa.string()),
    _need("messages", pa.string()),
    _need("reply", pa.string()),
    _may("error", pa.string()),
    _may("finish_reason", pa.string()),
    _may("model_served", pa.string()),
    _need("attempts", pa.int64()),
    _may("tokens_in", pa.int64()),
    _may("tokens_out", pa.int64()),
    _may("tokens_reasoning", pa.int64()),
    _may("cost_usd", pa.float64()),
    _may("latency_s", pa.float64()),
    _need("created_at", TIMESTAMP),
)

SCORES = _table(
    "scores",
    5,
    "score_id",
    "sample_id judgement_id run_id benchmark scenario item_id model scorer metric evaluator status error fingerprint "
    "binding",
    _need("score_id", pa.string()),
    _need("sample_id", pa.string()),
    _may("judgement_id", pa.string()),
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _need("item_id", pa.string()),
    _need("model", pa.string()),
    _need("scorer", pa.string()),
    _need("metric", pa.string()),
    _may("evaluator", pa.string()),
    _may("round", pa.int64()),
    _may("value", pa.float64()),
    _may("given", pa.string()),  # JSON: the value of a column that is no number
    _may("judged_by", TEXTS),  # who judged inside the expression, in order of name; null where nobody did
    _need("status", pa.string()),  # as runtime/tripos_runtime/asking/statuses.py has them
    _may("error", pa.string()),  # why an expression has no value, or a judge was not asked
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("created_at", TIMESTAMP),
    _RELEASE,
)

# A text as an embedding model sees it. It is named by the model and the text alone, so every run may use it.
VECTORS = _table(
    "vectors",
    2,
    "vector_id",
    "run_id role model identity model_served status finish_reason",
    _need("vector_id", pa.string()),
    _need("run_id", pa.string()),
    _need("role", pa.string()),
    _need("model", pa.string()),
    _may("identity", pa.string()),  # who answers under that name, where it does not say it
    _may("model_served", pa.string()),
    _need("text", pa.string()),
    _may("vector", pa.string()),  # base64 of 32-bit numbers, the least significant byte first
    *_CALL,
)

# What a judge said of two replies that it saw side by side, once for either order.
COMPARISONS = _table(
    "comparisons",
    3,
    "comparison_id",
    "judgement_id run_id benchmark scenario item_id step scorer evaluator first_model second_model first_sample_id "
    "second_sample_id status error fingerprint "
    "binding",
    _need("comparison_id", pa.string()),
    _may("judgement_id", pa.string()),
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("scenario", pa.string()),
    _need("item_id", pa.string()),
    _need("step", pa.string()),
    _need("scorer", pa.string()),
    _need("evaluator", pa.string()),
    _need("first_model", pa.string()),  # whose reply was shown first
    _need("second_model", pa.string()),
    _need("first_sample_id", pa.string()),
    _need("second_sample_id", pa.string()),
    _may("round", pa.int64()),
    _may("value", pa.float64()),  # what it is worth to the first: 1 it is better, 0 the second is, 0.5 neither
    _need("status", pa.string()),
    _may("error", pa.string()),
    _need("fingerprint", pa.string()),
    _need("binding", pa.string()),  # what names the row apart from its item
    _need("created_at", TIMESTAMP),
    _RELEASE,
)

MEASURES = _table(
    "measures",
    3,
    "run_id measure model dims",
    "run_id benchmark measure model method reason",
    _need("run_id", pa.string()),
    _need("benchmark", pa.string()),
    _need("measure", pa.string()),
    _need("model", pa.string()),
    _need("dims", pa.string()),  # JSON, {"metric": "IFTC"}
    _may("value", pa.float64()),
    _may("standard_error", pa.float64()),
    _may("low", pa.float64()),  # the bounds of the 95 % interval
    _may("high", pa.float64()),
    _need("items", pa.int64()),
    _need("n", pa.int64()),
    _need("total", pa.int64()),
    _may("method", pa.string()),  # how the interval was found: exact, logit, t, jackknife or bootstrap
    _may("reason", pa.string()),  # why there is no value, or no interval
    _RELEASE,
)

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            *(RUNS, RUN_ENDS, RUN_ITEMS, RUN_STEPS, RUN_SLOTS, ITEMS, SLOTS),
            *(SAMPLES, TURNS, DRAFTS, JUDGEMENTS, SCORES, COMPARISONS, VECTORS, MEASURES),
        )
    }
)
"""Every table by its name."""
