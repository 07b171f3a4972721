"""The exporters: the forms in which the results of a run are written, with their options."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from tripos.exporting import Exporter, OpenRun, Verbatim, Written
from tripos.settings.options import ExportParameters
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError
from tripos_compiler.source.entry_points import Registry

LOG_OPTIONS = (ExportParameters.output, ExportParameters.secrets)
TABLE_OPTIONS = (*LOG_OPTIONS, ExportParameters.table)
REPLY_OPTIONS = (
    ExportParameters.output,
    ExportParameters.by,
    ExportParameters.rows,
    ExportParameters.line_format,
    ExportParameters.models,
    ExportParameters.scenario,
    ExportParameters.only,
    ExportParameters.hold_out,
    ExportParameters.apart_from,
)
"""The options that several exporters take."""


def _csv(run: OpenRun, options: Namespace) -> Written:
    """Write a file for each table. Raises the errors of `files_of_tables`."""
    from tripos.exporting.tables import files_of_tables
    from tripos_warehouse.exports.tables import write_csv

    return files_of_tables(run, options, ".csv", lambda source, path: write_csv(source, path, options.raw))


def _distillation(run: OpenRun, options: Namespace) -> Written:
    """Write the training data and its provenance. Raises the errors of `export_replies`."""
    from tripos.exporting.training_data import ReplyOptions, export_replies

    return export_replies(run, ReplyOptions.of(options), "best")


def _eee(run: OpenRun, options: Namespace) -> Written:
    """Write the files of Every Eval Ever. Raises the errors of `write_eee`."""
    from tripos.exporting.tables import check_folder
    from tripos_warehouse.exports.every_eval_ever import VERSION, write_eee

    folder = Path(options.output)
    check_folder(folder)
    organization = options.organization or "unknown"
    written = write_eee(run.connection, run.plan, run.record, folder, organization, options.secrets)
    files = [
        {
            "model": of_model.model,
            "aggregate": str(of_model.aggregate),
            "instances": str(of_model.instances.path),
            "results": of_model.results,
            "rows": of_model.instances.rows,
            "without_value": of_model.without_value,
        }
        for of_model in written
    ]
    lines: list[str] = []
    for of_model in written:
        scores = counted(of_model.instances.rows, "score")
        lines += [f"{of_model.model}: {counted(of_model.results, 'result')}, {scores}"]
        lines += [Verbatim(f"  {of_model.aggregate}")]
        if of_model.without_value:
            lines.append(f"  left out: {counted(of_model.without_value, 'score')} without a value")
    lines.append(f"all of it fits the schemas of Every Eval Ever {VERSION}")
    if not options.organization:
        lines.append(f"the source is `unknown`: `{ExportParameters.organization} NAME` says who ran this")
    return Written({"format": f"every_eval_ever/{VERSION}", "files": files}, tuple(lines))


def _hub(run: OpenRun, options: Namespace) -> Written:
    """Write the files for the Hub. Raises the errors of `write_hub` and `write_folder`, and `TriposError` R0202 without
    a data set."""
    from tripos.exporting.tables import secret_fields
    from tripos_warehouse.exports.hub import FRAMEWORK, HubSource, write_hub
    from tripos_warehouse.report.run_report import STAND_IN_PREFIXES

    if options.dataset is None:
        hint = f"name the data set of the benchmark: {ExportParameters.dataset} OWNER/NAME"
        raise TriposError("R0202", "results on the Hub belong to a data set", hint)
    folder = Path(options.output)
    source = HubSource(options.dataset, options.source, options.organization)
    card, written = write_hub(run.connection, run.plan, run.record, folder, source)
    space = folder / "space"
    closed = [*secret_fields(run.plan), *(["items that are withheld"] if run.record.withheld else [])]
    whole = options.secrets or (options.content and not closed)
    _write_space(run, space, whole)
    summary = {
        "format": "hub",
        "run_id": run.record.run_id,
        "benchmark": str(card),
        "files": [{"model": each.model, "path": str(each.path), "results": each.results} for each in written],
        "space": str(space),
        "whole": whole,
        "without_value": {each.model: list(each.without_value) for each in written if each.without_value},
    }
    lines: list[str] = [Verbatim(card)]
    for results in written:
        lines += [f"{results.model}: {counted(results.results, 'result')}", Verbatim(f"  {results.path}")]
        if results.without_value:
            lines.append(f"  without a value: {', '.join(results.without_value)}")
    lines.append(Verbatim(space))
    if whole:
        lines.append("  the board shows every item, reply and judgement")
    elif options.content:
        lines.append(f"  the board shows figures alone: `{ExportParameters.secrets}` shows {', '.join(closed)} too")
    else:
        more = ExportParameters.secrets.flag if closed else ExportParameters.content.flag
        lines.append(f"  the board shows figures alone: `{more}` shows items and replies too")
    if any(model.startswith(STAND_IN_PREFIXES) for model in run.record.models):
        lines.append("results of models that stand in for real ones: nothing to publish")
    lines.append(f"`eval.yaml` names the framework `{FRAMEWORK}`: the Hub takes those that it lists")
    return Written(summary, tuple(lines))


def _write_space(run: OpenRun, target: Path, whole: bool) -> None:
    """Write the page of a run with the card of a static Space; the `whole` run, or only its figures."""
    from tripos.view.export import write_board, write_folder, write_page
    from tripos.view.files import ViewFiles
    from tripos_warehouse.exports.hub import space_card

    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(lambda: run.store, Path(folder))) as view,
    ):
        if whole:
            write_folder(view, target, [run.record.run_id])
        else:
            write_page(write_board(view, run.record.run_id), target)
    (target / "README.md").write_text(space_card(run.plan, run.record), "utf-8")


def _inspect(run: OpenRun, options: Namespace) -> Written:
    """Write a log for each compared model. Raises the errors of `write_inspect`."""
    from tripos.exporting.tables import written_logs
    from tripos_warehouse.exports.inspect_ai import write_inspect

    return written_logs(run, options, "inspect", write_inspect)


def _lm_eval(run: OpenRun, options: Namespace) -> Written:
    """Write the results of each compared model. Raises the errors of `write_lm_eval`."""
    from tripos.exporting.tables import written_logs
    from tripos_warehouse.exports.lm_eval import write_lm_eval

    return written_logs(run, options, "lm-eval", write_lm_eval)


def _otel(run: OpenRun, options: Namespace) -> Written:
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


def _parquet(run: OpenRun, options: Namespace) -> Written:
    """Write a file for each table. Raises the errors of `files_of_tables`."""
    from tripos.exporting.tables import files_of_tables
    from tripos_warehouse.exports.tables import write_parquet

    return files_of_tables(run, options, ".parquet", write_parquet)


def _preferences(run: OpenRun, options: Namespace) -> Written:
    """Write the training data and its provenance. Raises the errors of `export_replies`."""
    from tripos.exporting.training_data import ReplyOptions, export_replies

    return export_replies(run, ReplyOptions.of(options), "pairs")


def _xlsx(run: OpenRun, options: Namespace) -> Written:
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


EXPORTERS = Registry(
    "tripos.exporters",
    "exporter",
    Exporter,
    declared={
        "csv": Exporter("tables as CSV", _csv, (*TABLE_OPTIONS, ExportParameters.raw)),
        "distillation": Exporter(
            "the best replies as training data",
            _distillation,
            (*REPLY_OPTIONS, ExportParameters.per, ExportParameters.every, ExportParameters.replies_of),
            declared_as="best",
        ),
        "eee": Exporter(
            "results of Every Eval Ever",
            _eee,
            (ExportParameters.output, ExportParameters.secrets, ExportParameters.organization),
        ),
        "hub": Exporter(
            "results and a page for the Hugging Face Hub",
            _hub,
            (
                ExportParameters.output,
                ExportParameters.organization,
                ExportParameters.dataset,
                ExportParameters.source,
                ExportParameters.content,
                ExportParameters.secrets,
            ),
        ),
        "inspect": Exporter("logs of Inspect", _inspect, LOG_OPTIONS),
        "lm-eval": Exporter("results of lm-eval", _lm_eval, LOG_OPTIONS),
        "otel": Exporter(
            "spans and events of OpenTelemetry, sent to an endpoint",
            _otel,
            (ExportParameters.to, ExportParameters.content, ExportParameters.secrets),
        ),
        "parquet": Exporter("tables as Parquet", _parquet, TABLE_OPTIONS),
        "preferences": Exporter(
            "pairs of a better and a worse reply as training data",
            _preferences,
            (*REPLY_OPTIONS, ExportParameters.margin),
            declared_as="pairs",
        ),
        "xlsx": Exporter("tables as one workbook of Excel", _xlsx, TABLE_OPTIONS),
    },
)
