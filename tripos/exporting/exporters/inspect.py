"""Logs of Inspect."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import LOG_OPTIONS, Exporter, OpenRun, Written


def write(run: OpenRun, options: Namespace) -> Written:
    """Write a log for each compared model. Raises the errors of `write_inspect`."""
    from tripos.exporting.tables import written_logs
    from tripos_warehouse.exports.inspect_ai import write_inspect

    return written_logs(run, options, "inspect", write_inspect)


EXPORTER = Exporter("logs of Inspect", write, LOG_OPTIONS)
