"""Tables of a run as Parquet."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.tables import TABLE_OPTIONS, files_of_tables
from tripos_warehouse.exports.tables import write_parquet

EXPORTER = Exporter(
    "tables as Parquet", lambda run, options: files_of_tables(run, options, ".parquet", write_parquet), TABLE_OPTIONS
)
