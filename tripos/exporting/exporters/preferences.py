"""Pairs of a better and a worse reply to the same prompt."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.training_data import REPLY_OPTIONS, export_replies
from tripos.settings.options import ExportParameters

EXPORTER = Exporter(
    "pairs of a better and a worse reply as training data",
    lambda run, options: export_replies(run, options, "pairs"),
    (*REPLY_OPTIONS, ExportParameters.margin),
    declared_as="pairs",
)
