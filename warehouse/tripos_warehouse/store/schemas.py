"""The tables of the warehouse: an Arrow schema each, with a version and how it lies on disk.

Every part is written with the schema that stands here; a change of a schema raises its version, and a
reader refuses a part with a newer one. Columns called JSON hold JSON text. On disk a column that repeats
itself is dictionary encoded; in Arrow and SQL it is plain text, so every reader sees strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from tripos_warehouse.store.table_schema import (
    BATCHES,
    CALL,
    CONDITIONS,
    CONTEXT,
    PROMOTIONS,
    RELEASE,
    REQUEST,
    RUN_ENDS,
    TEXTS,
    THINKING,
    TIMESTAMP,
    TableSchema,
    make_table,
    optional,
    required,
)

_CONTEXT_LEAVES = "context.key_value.key context.key_value.value"

# A reply is an answer to what was sent: a row has the digest of that, and may have taken its reply from another row
# with the same. What that reply took is in both rows, and was paid for once. `reused_from` says in which other store,
# and in which commit of it, that row was found; `batch_id` in which batch of its provider the reply came, if it did.
_REUSED = optional("reused_from", pa.string())
_BATCH = optional("batch_id", pa.string())
_REQUEST = (optional(REQUEST, pa.string()), optional("adopted_from", pa.string()), _REUSED, _BATCH)

_RELEASE = optional(RELEASE, pa.string())
"""The digest of the release that a run was of; null where it was of a working tree. The ledger fills it in."""

RUNS = make_table(
    "runs",
    5,
    "run_id",
    "items_of benchmark version plan_digest spec compared_role tool_version",
    required("run_id", pa.string()),
    required("items_of", pa.string()),  # the run that listed the items: itself, or one that did all of the same before
    required("benchmark", pa.string()),
    required("version", pa.string()),
    required("plan_digest", pa.string()),
    required("plan", pa.string()),  # JSON
    required("fingerprints", TEXTS),
    required("roles", pa.string()),  # JSON, {"candidate": ["m1", "m2"], "judge": ["m3"]}
    optional("identities", pa.string()),  # JSON, who answers under the name of a model where that does not say it
    required("compared_role", pa.string()),
    required("models", TEXTS),
    required("scenarios", TEXTS),
    required("options", pa.string()),  # JSON
    required("tool_version", pa.string()),
    required("started_at", TIMESTAMP),
    _RELEASE,
    # Of a working tree in a git repository: the commit, and whether the spec's folder differs from it.
    optional("git_commit", pa.string()),
    optional("git_dirty", pa.bool_()),
    optional("spec", pa.string()),  # JSON, [{"path": "quiz.tripos", "text": "…"}], the text null where it has no room
)

RUN_ITEMS = make_table(
    "run_items",
    4,
    "run_id scenario item_id",
    "run_id scenario item_id subsets.list.element models.list.element cluster",
    required("run_id", pa.string()),
    required("scenario", pa.string()),
    required("item_id", pa.string()),
    optional("subsets", TEXTS),  # those that the item is in, as the run drew them; null where the spec has none
    optional("models", TEXTS),  # the compared ones that were asked, where others were settled before; null for all
    optional("cluster", pa.string()),  # the rows that were drawn together; null where the item is a cluster of its own
)

# What a run yields of each of its items: together with `run_items` this says which rows are the run's
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
    optional("condition", pa.string()),  # a digest: only rows that were asked for under it (`conditions`); null for all
)

# What a run asks for and decides of data sets that are made, as `samples.sample_id` and `slots.slot_id` name it.
RUN_SLOTS = make_table(
    "run_slots",
    2,
    "run_id scenario made_id",
    "run_id scenario",
    required("run_id", pa.string()),
    required("scenario", pa.string()),  # or the data set, where it belongs to none
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

# The places that data sets which are made have for items, with what became of each.
SLOTS = make_table(
    "slots",
    3,
    "slot_id",
    f"run_id benchmark scenario dataset fingerprint binding status written_by rejections {_CONTEXT_LEAVES}",
    required("slot_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),  # or the data set, where it belongs to none
    required("dataset", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # what names the row apart from its item
    required("context", CONTEXT),
    required("number", pa.int64()),  # which of the rows of one cell and row of the source, from 0
    required("status", pa.string()),  # made or given_up
    optional("item_id", pa.string()),
    optional("written_by", pa.string()),
    required("attempts", pa.int64()),
    required("rejections", pa.string()),  # JSON
    required("created_at", TIMESTAMP),
    _RELEASE,
)

# `messages` repeats from model to model; where it does not, the encoder falls back by itself.
SAMPLES = make_table(
    "samples",
    8,
    "sample_id",
    "run_id benchmark scenario step fingerprint binding item_id role model identity model_served messages status "
    "finish_reason batch_id " + _CONTEXT_LEAVES,
    required("sample_id", pa.string()),
    required("run_id", pa.string()),  # the run that made it, not every run that uses it
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("step", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # what names the row apart from its item
    required("item_id", pa.string()),
    required("context", CONTEXT),
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # who answers under that name, where it does not say it
    optional("model_served", pa.string()),
    required("sample_number", pa.int64()),
    required("messages", pa.string()),  # JSON
    optional("reply", pa.string()),
    optional("parsed", pa.string()),  # JSON
    THINKING,
    optional("logprobs", pa.string()),  # JSON: the probabilities of the reply's tokens, where they were asked for
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# A turn of a conversation. The conversation itself is a row of `samples`, made when it is over: its `sample_id` is the
# `conversation_id`, and what it took is the sum of what its turns took.
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
    required("binding", pa.string()),  # what names the row apart from its item
    required("item_id", pa.string()),
    required("conversation_number", pa.int64()),  # which of the conversations about an item, from 0
    required("number", pa.int64()),  # which of its turns, from 1
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # who answers under that name, where it does not say it
    optional("model_served", pa.string()),
    optional("text", pa.string()),
    THINKING,
    required(
        "left_out", pa.int64()
    ),  # turns that were not shown to the model, since they would have passed its context
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# Judgements and scores that were imported have a `round`, from 1 on; those of runs have none.
JUDGEMENTS = make_table(
    "judgements",
    13,
    "judgement_id",
    "run_id benchmark scenario scorer fingerprint binding evaluator identity source model_served status finish_reason",
    required("judgement_id", pa.string()),
    optional("sample_id", pa.string()),  # none where what was judged is not a reply, but stands in the item
    optional("item_id", pa.string()),
    required("run_id", pa.string()),
    required("benchmark", pa.string()),
    required("scenario", pa.string()),
    required("scorer", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # what names the row apart from its item
    required("evaluator", pa.string()),  # a model; or, of what was imported, whoever judged, such as human/NAME
    optional("identity", pa.string()),  # who answers under that name, where it does not say it
    optional("repeat", pa.int64()),  # which of a judge's replies on the same, from 0; null where it is imported
    optional(
        "element_place", pa.string()
    ),  # of a list whose elements are judged: the place, `4`, or `0.2` in nested lists
    optional("round", pa.int64()),
    optional(
        "drawn_of", pa.int64()
    ),  # of how many replies of its scenario and model it was drawn at random for a person
    optional("source", pa.string()),  # the file that it was imported from, and the beginning of its SHA-256
    optional("model_served", pa.string()),
    required("messages", pa.string()),  # JSON
    optional("reply", pa.string()),
    optional("parsed", pa.string()),  # JSON, {metric: {"score": 7, "reason": "…"}}
    THINKING,
    optional("logprobs", pa.string()),  # as that of `samples`
    *CALL,
    *_REQUEST,
    _RELEASE,
)

# A reply that could not be read, kept on its way to being asked once more: what it cost is in the sample or judgement.
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
    optional("logprobs", pa.string()),  # as that of `samples`
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
    optional("given", pa.string()),  # JSON: the value of a column that is no number, or the scores of `elements`
    optional("elements", pa.string()),  # JSON, [{"place": "0", "element": …}], where each element of a list is scored
    optional("judged_by", TEXTS),  # who judged inside the expression, in order of name; null where nobody did
    required("status", pa.string()),  # as compiler/tripos_compiler/plan/outcomes.py has them
    optional("error", pa.string()),  # why an expression has no value, or a judge was not asked
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # what names the row apart from its item
    required("created_at", TIMESTAMP),
    _RELEASE,
)

# A text as an embedding model sees it. It is named by the model and the text alone, so every run may use it.
VECTORS = make_table(
    "vectors",
    3,
    "vector_id",
    "run_id role model identity model_served status finish_reason",
    required("vector_id", pa.string()),
    required("run_id", pa.string()),
    required("role", pa.string()),
    required("model", pa.string()),
    optional("identity", pa.string()),  # who answers under that name, where it does not say it
    optional("model_served", pa.string()),
    required("text", pa.string()),
    optional("vector", pa.string()),  # base64 of 32-bit numbers, the least significant byte first
    *CALL,
    _REUSED,
)

# What a judge said of two replies that it saw side by side, once for either order.
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
    required("first_model", pa.string()),  # whose reply was shown first
    required("second_model", pa.string()),
    required("first_sample_id", pa.string()),
    required("second_sample_id", pa.string()),
    optional("round", pa.int64()),
    optional("value", pa.float64()),  # what it is worth to the first: 1 it is better, 0 the second is, 0.5 neither
    optional("given", pa.string()),  # JSON: the name that the judge chose
    required("status", pa.string()),
    optional("error", pa.string()),
    required("fingerprint", pa.string()),
    required("binding", pa.string()),  # what names the row apart from its item
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
    optional("judged", pa.float64()),  # of a measure that people correct: the judge's own figure, and its interval
    optional("judged_low", pa.float64()),
    optional("judged_high", pa.float64()),
    optional("power", pa.float64()),  # of such a measure: how far the judge was followed, from 0
    optional("method", pa.string()),  # how the interval was found: exact, logit, t, jackknife, bootstrap or corrected
    optional("reason", pa.string()),  # why there is no value, or no interval
    _RELEASE,
)

TABLES: Mapping[str, TableSchema] = MappingProxyType(
    {
        table.name: table
        for table in (
            *(RUNS, RUN_ENDS, RUN_ITEMS, RUN_STEPS, RUN_SLOTS, ITEMS, SLOTS),
            *(SAMPLES, TURNS, DRAFTS, JUDGEMENTS, SCORES, COMPARISONS, CONDITIONS, VECTORS, MEASURES),
            *(BATCHES, PROMOTIONS),
        )
    }
)
"""Every table by its name."""
