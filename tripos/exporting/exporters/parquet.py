"""Tables of a run as Parquet."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import TABLE_OPTIONS, Exporter, OpenRun, Written


def write(run: OpenRun, options: Namespace) -> Written:
    """Write a file for each table. Raises the errors of `files_of_tables`."""
    from tripos.exporting.tables import files_of_tables
    from tripos_warehouse.exports.tables import write_parquet

    return files_of_tables(run, options, ".parquet", write_parquet)


EXPORTER = Exporter("tables as Parquet", write, TABLE_OPTIONS)
