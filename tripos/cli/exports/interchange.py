"""`tripos export inspect`, `lm-eval` and `hub`: results as files of other tools, and what is said of them."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tripos.cli.inputs import open_store
from tripos.ui import Failure, print_json, show_message, show_text
from tripos_compiler.diagnostics import counted
from tripos_compiler.plan import Plan
from tripos_warehouse.exports import open_fields
from tripos_warehouse.query import Connection
from tripos_warehouse.report import PROVING
from tripos_warehouse.views import RunRecord


def export_for_tool(connection: Connection, plan: Plan, run: RunRecord, options: Namespace, kind: str) -> None:
    """Write logs of Inspect or results of lm-eval for each compared model. Raises what their writers do."""
    from tripos_warehouse.exports.interchange import write_inspect, write_lm_eval

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
    """Write the files for the Hugging Face Hub. Raises what `write_hub` and `write_folder` do, and `Failure` R0202
    without a data set."""
    from tripos_warehouse.exports.interchange import FRAMEWORK, HubSource, write_hub

    if options.dataset is None:
        hint = "name the data set of the benchmark: --dataset OWNER/NAME"
        raise Failure("R0202", "results on the Hub belong to a data set", hint)
    folder = Path(options.output)
    source = HubSource(options.dataset, options.source, options.organization)
    card, found = write_hub(connection, plan, run, folder, source)
    space = folder / "space"
    closed = [*_secret_fields(plan), *(["items that are withheld"] if run.withheld else [])]
    whole = options.secrets or (options.content and not closed)
    _write_space(plan, run, options, space, whole)
    if options.json:
        files = [{"model": each.model, "path": str(each.path), "results": each.results} for each in found]
        left = {each.model: list(each.without_value) for each in found if each.without_value}
        told = {"benchmark": str(card), "files": files, "space": str(space), "whole": whole, "without_value": left}
        print_json({"format": "hub", "run_id": run.run_id, **told})
        return
    show_text(str(card))
    for each in found:
        show_message(f"{each.model}: {counted(each.results, 'result')}")
        show_text(f"  {each.path}")
        if each.without_value:
            show_message(f"  without a value: {', '.join(each.without_value)}")
    show_text(str(space))
    if whole:
        show_message("  the board shows every item, reply and judgement")
    elif options.content:
        show_message(f"  the board shows figures alone: `--secrets` shows {', '.join(closed)} too")
    else:
        more = "--secrets" if closed else "--content"
        show_message(f"  the board shows figures alone: `{more}` shows items and replies too")
    if any(model.startswith(PROVING) for model in run.models):
        show_message("results of models that stand in for real ones: nothing to publish")
    show_message(f"`eval.yaml` names the framework `{FRAMEWORK}`: the Hub takes those that it lists")


def export_telemetry(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Send spans and events to an endpoint. Raises what `send_telemetry` does, and `Failure` R0202 without one."""
    from tripos_warehouse.exports.interchange import send_telemetry

    if options.to is None:
        raise Failure("R0202", "telemetry goes to an endpoint", "name it: --to http://HOST:4318")
    sent = send_telemetry(connection, plan, run, options.to, options.content, options.secrets)
    if options.json:
        print_json({"format": "otel", "run_id": run.run_id, "to": options.to, **vars(sent)})
        return
    told = f"{counted(sent.traces, 'trace')}, {counted(sent.spans, 'span')}, {counted(sent.events, 'event')}"
    show_message(f"sent to {options.to}: {told}")
    for kind, count in sent.left_out.items():
        show_message(f"left out: {count:,} {kind}")
    if not options.content:
        show_message("no text was sent: `--content` sends messages and replies too")


def _write_space(plan: Plan, run: RunRecord, options: Namespace, target: Path, whole: bool) -> None:
    """Write the page of a run, the `whole` of it or its figures, with the card of a static Space."""
    from tripos.view import ViewFiles, write_board, write_folder, write_page
    from tripos_warehouse.exports.interchange import space_card

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
        show_message("left out as secret: targets, secret fields and the reasons of judges; `--secrets` writes them")
