"""`open_ledger`: the ledger of a folder or of a bucket."""

from __future__ import annotations

from collections.abc import Collection

from tripos_warehouse.ledger.bucket_ledger import BucketLedger
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.store.store import Store


def open_ledger(store: Store, fingerprints: Collection[str], release: str | None = None) -> RunLedger:
    """Return the ledger of a store for a run that can use results with these `fingerprints`. Its rows get `release`,
    the digest of the release of the run, if any.

    Journals of processes that died are committed first. Raises `StoreError`: S0102 if the store cannot be written,
    S0103 and S0104 as `Store.files` does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_ledger(Store.open(folder, create=True), {"f0"}) as ledger:
    ...         ledger.claim("case 1"), ledger.statuses("samples", ["00" * 16])
    (True, [None])
    """
    if store.bucket is not None:
        return BucketLedger(store, store.bucket, fingerprints, release)
    return RunLedger(store, fingerprints, release)
