"""The best replies to each prompt, as chats to train on."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import REPLY_OPTIONS, Exporter, OpenRun, Written
from tripos.settings.options import ExportParameters


def write(run: OpenRun, options: Namespace) -> Written:
    """Write the training data and its provenance. Raises the errors of `export_replies`."""
    from tripos.exporting.training_data import ReplyOptions, export_replies

    return export_replies(run, ReplyOptions.of(options), "best")


EXPORTER = Exporter(
    "the best replies as training data",
    write,
    (*REPLY_OPTIONS, ExportParameters.per, ExportParameters.every, ExportParameters.replies_of),
    declared_as="best",
)
