"""Tables of a run as CSV."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.tables import TABLE_OPTIONS, files_of_tables
from tripos.settings.options import ExportParameters
from tripos_warehouse.exports.tables import write_csv

EXPORTER = Exporter(
    "tables as CSV",
    lambda run, options: files_of_tables(
        run, options, ".csv", lambda source, path: write_csv(source, path, options.raw)
    ),
    (*TABLE_OPTIONS, ExportParameters.raw),
)
