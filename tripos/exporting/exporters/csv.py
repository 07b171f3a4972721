"""Tables of a run as CSV."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import TABLE_OPTIONS, Exporter, OpenRun, Written
from tripos.settings.options import ExportParameters


def write(run: OpenRun, options: Namespace) -> Written:
    """Write a file for each table. Raises the errors of `files_of_tables`."""
    from tripos.exporting.tables import files_of_tables
    from tripos_warehouse.exports.tables import write_csv

    return files_of_tables(run, options, ".csv", lambda source, path: write_csv(source, path, options.raw))


EXPORTER = Exporter("tables as CSV", write, (*TABLE_OPTIONS, ExportParameters.raw))
