"""Files that a store kept of parts that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tripos_warehouse.store import KEYS, SUMS, TABLES, VALUES, Store
from tripos_warehouse.views.prepared.part_keys import key_files, list_of
from tripos_warehouse.views.prepared.part_values import VALUED, value_files
from tripos_warehouse.views.prepared.score_sums import sum_files


def stale_files(store: Store) -> Iterator[Path]:
    """Yield what is kept of none of the parts of today, or was not written to its end. Raises what `Store.files`
    does."""
    parts = store.files()
    known = {SUMS: {*sum_files(store).names(parts["scores"]).values()}, KEYS: set[str](), VALUES: set[str]()}
    lists = {list_of(store.root, table) for table in TABLES}
    for table, schema in TABLES.items():
        known[KEYS] |= {*key_files(store, schema.key).names(parts[table]).values()}
        if table in VALUED:
            known[VALUES] |= {*value_files(store, table).names(parts[table]).values()}
    for folder, names in known.items():
        for path in sorted((store.root / folder).glob("*")):
            name, *rest = path.name.split(".")
            if (name not in names or rest[-1:] == ["part"]) and path not in lists:
                yield path
