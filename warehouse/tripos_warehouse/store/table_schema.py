"""The form of a table of the warehouse: its schema with a version, its key, and how it lies on disk."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from tripos_compiler.source import dataclass


class _NoPandas:
    """A finder of modules that finds no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise `ImportError` for pandas, and leave everything else to other finders."""
        if name == "pandas":
            raise ImportError("pandas is not imported here")


def _leave_pandas() -> None:
    """Let pyarrow look for pandas once where it finds none: with the first list that becomes an array it would import
    it, 30 MB and 0.2 s that no table here needs. `to_pandas` imports it all the same."""
    if "pandas" not in sys.modules:
        finder = _NoPandas()
        sys.meta_path.insert(0, finder)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(finder)


_leave_pandas()

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
class TableSchema:
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
        *("release", "git_commit", "git_dirty", "spec", "adopted_from", "reused_from", "batch_id"),
    )
)


def make_table(name: str, version: int, key: str, repeating: str, *fields: pa.Field[Any]) -> TableSchema:
    released = [each.name for each in fields if each.name == RELEASE]
    return TableSchema(name, version, pa.schema(fields), tuple(key.split()), (*repeating.split(), *released))


def required(name: str, type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, type, nullable=False)


def optional(name: str, type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, type)


# What is known of one model call; `samples` and `judgements` end with these. A cost or a count that
# nobody told us is null, never zero.
CALL = (
    required("status", pa.string()),
    optional("error", pa.string()),
    optional("finish_reason", pa.string()),
    required("attempts", pa.int64()),
    optional("tokens_in", pa.int64()),
    optional("tokens_out", pa.int64()),
    optional("tokens_reasoning", pa.int64()),  # those of `tokens_out` that nobody sees
    optional("cost_usd", pa.float64()),
    optional("latency_s", pa.float64()),
    required("created_at", TIMESTAMP),
)
# A part of a reply that was written before the column has none.
THINKING = optional("thinking", pa.string())  # what the model thought, in fields of its provider's own

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
    required("endpoint", pa.string()),  # where it was submitted: the address, and the variable that holds the key
    optional("batch_id", pa.string()),  # as the provider calls it
    required("requests", TEXTS),  # the digests that they are known by there; of what is intended or unanswered
    optional("message", pa.string()),
    required("created_at", TIMESTAMP),
)

# What was asked for since a condition held, of its step or of those before. No name of a result has its conditions.
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

# That a run is one of a named board's, or is so no longer: what was said last counts, and what was said before is kept.
PROMOTIONS = make_table(
    "promotions",
    1,
    "promotion_id",
    "board run_id state",
    required("promotion_id", pa.string()),
    required("board", pa.string()),
    required("run_id", pa.string()),
    required("state", pa.string()),  # promoted or withdrawn
    optional("reason", pa.string()),  # in the words of whoever said so
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
    optional("settled", pa.string()),  # JSON, of a run that stops when it is settled: the rule, the items, its figures
)
