"""Results and a page for the Hugging Face Hub."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from tripos.exporting import Exporter, OpenRun, Verbatim, Written
from tripos.settings.options import ExportParameters
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError


def write(run: OpenRun, options: Namespace) -> Written:
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


EXPORTER = Exporter(
    "results and a page for the Hugging Face Hub",
    write,
    (
        ExportParameters.output,
        ExportParameters.organization,
        ExportParameters.dataset,
        ExportParameters.source,
        ExportParameters.content,
        ExportParameters.secrets,
    ),
)
