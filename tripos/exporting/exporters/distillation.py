"""The best replies to each prompt, as chats to train on."""

from __future__ import annotations

from tripos.exporting import Exporter
from tripos.exporting.training_data import REPLY_OPTIONS, export_replies
from tripos.settings.options import ExportParameters

EXPORTER = Exporter(
    "the best replies as training data",
    lambda run, options: export_replies(run, options, "best"),
    (*REPLY_OPTIONS, ExportParameters.per, ExportParameters.every, ExportParameters.replies_of),
    declared_as="best",
)
