"""Spans and events of a run for an endpoint of OpenTelemetry."""

from __future__ import annotations

from argparse import Namespace

from tripos.exporting import Exporter, OpenRun, Written
from tripos.settings.options import ExportParameters
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError


def write(run: OpenRun, options: Namespace) -> Written:
    """Send spans and events to an endpoint. Raises the errors of `send_telemetry`, and `TriposError` R0202 without an
    endpoint."""
    from tripos_warehouse.exports.telemetry import send_telemetry

    if options.to is None:
        raise TriposError("R0202", "telemetry goes to an endpoint", f"name it: {ExportParameters.to} http://HOST:4318")
    sent = send_telemetry(run.connection, run.plan, run.record, options.to, options.content, options.secrets)
    text = f"{counted(sent.traces, 'trace')}, {counted(sent.spans, 'span')}, {counted(sent.events, 'event')}"
    lines = [f"sent to {options.to}: {text}"]
    lines += [f"left out: {count:,} {kind}" for kind, count in sent.left_out.items()]
    if not options.content:
        lines.append(f"no text was sent: `{ExportParameters.content}` sends messages and replies too")
    return Written({"format": "otel", "run_id": run.record.run_id, "to": options.to, **vars(sent)}, tuple(lines))


EXPORTER = Exporter(
    "spans and events of OpenTelemetry, sent to an endpoint",
    write,
    (ExportParameters.to, ExportParameters.content, ExportParameters.secrets),
)
