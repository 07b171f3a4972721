"""Exports of results: Inspect, lm-eval, the Hub, OpenTelemetry, Every Eval Ever, CSV, Parquet and XLSX."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tripos.cli.context import open_store
from tripos.settings.option import listed_names
from tripos.settings.options import ExportParameters
from tripos.terminal import print_json, show_message, show_text
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.tables import (
    TABLES,
    WrittenTable,
    open_fields,
    sources,
    to_data,
    write_csv,
    write_parquet,
)
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.run_report import STAND_IN_PREFIXES
from tripos_warehouse.views.runs import RunRecord


# Other tools
def export_for_tool(connection: Connection, plan: Plan, run: RunRecord, options: Namespace, kind: str) -> None:
    """Write Inspect logs or lm-eval results for each compared model. Raises the errors of their writers."""
    from tripos_warehouse.exports.inspect_ai import write_inspect
    from tripos_warehouse.exports.lm_eval import write_lm_eval

    write = write_inspect if kind == "inspect" else write_lm_eval
    found, without = write(connection, plan, run, Path(options.output), options.secrets)
    if options.json:
        files = [{"path": str(each.path)} | {k: v for k, v in vars(each).items() if k != "path"} for each in found]
        print_json({"format": kind, "run_id": run.run_id, "files": files, "left_out": without})
        return
    for each in found:
        show_message(f"{each.model}: {counted(each.samples, 'sample')}, {counted(each.scores, 'score')}")
        show_text(f"  {each.path}")
        if each.without_value:
            show_message(f"  without a value: {counted(each.without_value, 'score')}, with the reason")
    _tell_left_out(plan, options, without)


def export_hub(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Write the files for the Hugging Face Hub. Raises the errors of `write_hub` and `write_folder`, and `TriposError`
    R0202 without a data set."""
    from tripos_warehouse.exports.hub import FRAMEWORK, HubSource, write_hub

    if options.dataset is None:
        hint = f"name the data set of the benchmark: {ExportParameters.dataset} OWNER/NAME"
        raise TriposError("R0202", "results on the Hub belong to a data set", hint)
    folder = Path(options.output)
    source = HubSource(options.dataset, options.source, options.organization)
    card, resultses = write_hub(connection, plan, run, folder, source)
    space = folder / "space"
    closed = [*_secret_fields(plan), *(["items that are withheld"] if run.withheld else [])]
    whole = options.secrets or (options.content and not closed)
    _write_space(plan, run, options, space, whole)
    if options.json:
        files = [
            {"model": hub_results.model, "path": str(hub_results.path), "results": hub_results.results}
            for hub_results in resultses
        ]
        left = {
            hub_results.model: list(hub_results.without_value) for hub_results in resultses if hub_results.without_value
        }
        told = {"benchmark": str(card), "files": files, "space": str(space), "whole": whole, "without_value": left}
        print_json({"format": "hub", "run_id": run.run_id, **told})
        return
    show_text(str(card))
    for results in resultses:
        show_message(f"{results.model}: {counted(results.results, 'result')}")
        show_text(f"  {results.path}")
        if results.without_value:
            show_message(f"  without a value: {', '.join(results.without_value)}")
    show_text(str(space))
    if whole:
        show_message("  the board shows every item, reply and judgement")
    elif options.content:
        show_message(f"  the board shows figures alone: `{ExportParameters.secrets}` shows {', '.join(closed)} too")
    else:
        more = ExportParameters.secrets.flag if closed else ExportParameters.content.flag
        show_message(f"  the board shows figures alone: `{more}` shows items and replies too")
    if any(model.startswith(STAND_IN_PREFIXES) for model in run.models):
        show_message("results of models that stand in for real ones: nothing to publish")
    show_message(f"`eval.yaml` names the framework `{FRAMEWORK}`: the Hub takes those that it lists")


def export_telemetry(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Send spans and events to an endpoint. Raises the errors of `send_telemetry`, and `TriposError` R0202 without an
    endpoint."""
    from tripos_warehouse.exports.telemetry import send_telemetry

    if options.to is None:
        raise TriposError("R0202", "telemetry goes to an endpoint", f"name it: {ExportParameters.to} http://HOST:4318")
    sent = send_telemetry(connection, plan, run, options.to, options.content, options.secrets)
    if options.json:
        print_json({"format": "otel", "run_id": run.run_id, "to": options.to, **vars(sent)})
        return
    text = f"{counted(sent.traces, 'trace')}, {counted(sent.spans, 'span')}, {counted(sent.events, 'event')}"
    show_message(f"sent to {options.to}: {text}")
    for kind, count in sent.left_out.items():
        show_message(f"left out: {count:,} {kind}")
    if not options.content:
        show_message(f"no text was sent: `{ExportParameters.content}` sends messages and replies too")


def _write_space(plan: Plan, run: RunRecord, options: Namespace, target: Path, whole: bool) -> None:
    """Write the page of a run with the card of a static Space; the `whole` run, or only its figures."""
    from tripos.view.export import write_board, write_folder, write_page
    from tripos.view.files import ViewFiles
    from tripos_warehouse.exports.hub import space_card

    with (
        tempfile.TemporaryDirectory(prefix="tripos-view-") as folder,
        closing(ViewFiles(lambda: open_store(options), Path(folder))) as view,
    ):
        if whole:
            write_folder(view, target, [run.run_id])
        else:
            write_page(write_board(view, run.run_id), target)
    (target / "README.md").write_text(space_card(plan, run), "utf-8")


def _secret_fields(plan: Plan) -> list[str]:
    every, shown = open_fields(plan, True), open_fields(plan, False)
    return [f"{name}.{field}" for name, own in every.items() for field in own if field not in shown[name]]


def _tell_left_out(plan: Plan, options: Namespace, without: Mapping[str, int]) -> None:
    for kind, count in without.items():
        show_message(f"left out: {count:,} {kind}")
    if not options.secrets and _secret_fields(plan):
        show_message(
            "left out as secret: targets, secret fields and the reasons of judges; "
            f"`{ExportParameters.secrets}` writes them"
        )


# Every Eval Ever and tables
def export_eee(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Write the files of Every Eval Ever. Raises the errors of `write_eee`."""
    from tripos_warehouse.exports.every_eval_ever import VERSION, write_eee

    folder = Path(options.output)
    _folder(folder)
    fileses = write_eee(connection, plan, run, folder, options.organization or "unknown", options.secrets)
    if options.json:
        told = [
            {
                "model": exported_files.model,
                "aggregate": str(exported_files.aggregate),
                "instances": str(exported_files.instances.path),
                "results": exported_files.results,
                "rows": exported_files.instances.rows,
                "without_value": exported_files.without_value,
            }
            for exported_files in fileses
        ]
        print_json({"format": f"every_eval_ever/{VERSION}", "files": told})
        return
    for files in fileses:
        show_message(f"{files.model}: {counted(files.results, 'result')}, {counted(files.instances.rows, 'score')}")
        show_text(f"  {files.aggregate}")
        if files.without_value:
            show_message(f"  left out: {counted(files.without_value, 'score')} without a value")
    show_message(f"all of it fits the schemas of Every Eval Ever {VERSION}")
    if not options.organization:
        show_message(f"the source is `unknown`: `{ExportParameters.organization} NAME` says who ran this")


def export_tables(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Write the requested tables, or all. Raises `StoreError` S0604 if a file cannot be written."""
    names = _tables(options)
    path = Path(options.output)
    if options.what == "xlsx":
        if path.suffix.lower() != ".xlsx":
            raise StoreError("S0202", f"`{path}` is no workbook", "end the name in `.xlsx`")
        tables = _workbook(connection, plan, run, names, path, options.secrets)
    else:
        suffix = f".{options.what}"
        single = path.suffix.lower() == suffix
        if single and len(names) > 1:
            raise StoreError(
                "S0202",
                f"{len(names)} tables do not fit into `{path}`",
                f"name a folder, or one of them: {ExportParameters.table} scores",
            )
        if not single:
            _folder(path)
        tables = []
        for source in sources(connection, plan, run, names, options.secrets):
            target = path if single else path / f"{source.name}{suffix}"
            parquet = options.what == "parquet"
            tables.append(write_parquet(source, target) if parquet else write_csv(source, target, options.raw))
    if options.json:
        print_json({"run_id": run.run_id, "tables": to_data(tables)})
        return
    for table in tables:
        show_message(f"{table.name}: {counted(table.rows, 'row')} in {table.path}")
        for note in table.notes:
            show_message(f"  {note}")
    if not options.secrets:
        for line in _hidden(plan, run, names):
            show_message(line)


def _workbook(
    connection: Connection, plan: Plan, run: RunRecord, names: Sequence[str], path: Path, secrets: bool
) -> list[WrittenTable]:
    from tripos_warehouse.exports.tables import longest_texts, write_workbook

    sizes = {name: longest_texts(connection, plan, run, name) for name in names}
    return write_workbook(sources(connection, plan, run, names, secrets), path, sizes.__getitem__)


def _tables(options: Namespace) -> list[str]:
    named = listed_names(options.table)
    for name in named:
        if name not in TABLES:
            hint = suggest(name, TABLES, f"the tables are {', '.join(TABLES)}")
            raise TriposError("R0202", f"there is no table `{name}` to export", hint)
    return [name for name in TABLES if not named or name in named]


def _hidden(plan: Plan, run: RunRecord, names: Sequence[str]) -> list[str]:
    """Return a description of what is left out because it is secret."""
    texts = []
    every, shown = open_fields(plan, True), open_fields(plan, False)
    fields = [f"{name}.{field}" for name, own in every.items() for field in own if field not in shown[name]]
    if fields and "items" in names:
        texts.append(f"left out as secret: {', '.join(fields)}")
    asked = {step.role for scenario in plan.scenarios for step in scenario.steps if step.step == "ask"} - {
        run.compared_role
    }
    if asked and "samples" in names:
        texts.append(f"left out as maybe secret: what {', '.join(sorted(asked))} wrote and was shown")
    return [*texts, f"`{ExportParameters.secrets}` writes it too"] if texts else []


def _folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise StoreError("S0604", f"`{path}` is a file, and several are to be written", "name a folder")
