"""The table of batches: requests that were submitted to a provider together."""

from __future__ import annotations

import pyarrow as pa

from tripos_warehouse.store.table_schema import TEXTS, TIMESTAMP, make_table, optional, required

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
    required("requests", TEXTS),  # the digests that they are known by there; only of what is intended
    optional("message", pa.string()),
    required("created_at", TIMESTAMP),
)
