"""Logs of Inspect."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.tables import LOG_OPTIONS, written_logs
from tripos_warehouse.exports.inspect_ai import write_inspect

EXPORTER = Exporter(
    "logs of Inspect", lambda run, options: written_logs(run, options, "inspect", write_inspect), LOG_OPTIONS
)
