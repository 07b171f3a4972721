"""DuckDB without the Python package around it, whose imports take three times as long as the database's own.

`duckdb` is the compiled module, with the same connection, statements and exceptions as the package has; or the package,
where a version of it has none of that name. For modules that every query waits for: others import `duckdb` itself,
which relations (`connection.sql`) and data frames need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
else:
    try:
        duckdb = importlib.import_module("_duckdb")
    except ImportError:
        duckdb = importlib.import_module("duckdb")

__all__ = ["duckdb"]
