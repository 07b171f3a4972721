"""Tripos: benchmarks for language models, written as specs, proved before they cost, kept as Parquet, asked in SQL.

`tripos.open("results")` gives the results of a store to Python: see `tripos.results`. The three legs are
`tripos_compiler`, `tripos_runtime` and `tripos_warehouse`; this package is the front door.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tripos.results import Results, open  # noqa: A004 - `tripos.open` is its name
    from tripos_warehouse.errors import StoreError

__all__ = ["Results", "StoreError", "__version__", "open"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Imported when it is asked for: the command line needs only the version, and at once.
    if name in ("Results", "open"):
        from tripos import results

        return getattr(results, name)
    if name == "StoreError":
        from tripos_warehouse.errors import StoreError

        return StoreError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
