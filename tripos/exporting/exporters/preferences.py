"""Pairs of a better and a worse reply to the same prompt."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import REPLY_OPTIONS, Exporter, OpenRun, Written
from tripos.settings.options import ExportParameters


def write(run: OpenRun, options: Namespace) -> Written:
    """Write the training data and its provenance. Raises the errors of `export_replies`."""
    from tripos.exporting.training_data import ReplyOptions, export_replies

    return export_replies(run, ReplyOptions.of(options), "pairs")


EXPORTER = Exporter(
    "pairs of a better and a worse reply as training data",
    write,
    (*REPLY_OPTIONS, ExportParameters.margin),
    declared_as="pairs",
)
