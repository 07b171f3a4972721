"""Tables of a run as the sheets of a workbook."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.exporting import TABLE_OPTIONS, Exporter, OpenRun, Written


def write(run: OpenRun, options: Namespace) -> Written:
    """Write a workbook. Raises `StoreError` S0202 for a file with another ending, and S0604 if it cannot be written."""
    from tripos.exporting.tables import chosen_tables, written_tables
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.exports.tables import longest_texts, sources, write_workbook

    path, names = Path(options.output), chosen_tables(options)
    if path.suffix.lower() != ".xlsx":
        raise StoreError("S0202", f"`{path}` is no workbook", "end the name in `.xlsx`")
    sizes = {name: longest_texts(run.connection, run.plan, run.record, name) for name in names}
    tables = sources(run.connection, run.plan, run.record, names, options.secrets)
    return written_tables(run, options, write_workbook(tables, path, sizes.__getitem__), names)


EXPORTER = Exporter("tables as one workbook of Excel", write, TABLE_OPTIONS)
