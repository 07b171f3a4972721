"""Files of Every Eval Ever."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.exporting import Exporter, OpenRun, Verbatim, Written
from tripos.settings.options import ExportParameters
from tripos_compiler.diagnostics.text_format import counted


def write(run: OpenRun, options: Namespace) -> Written:
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


EXPORTER = Exporter(
    "results of Every Eval Ever",
    write,
    (ExportParameters.output, ExportParameters.secrets, ExportParameters.organization),
)
