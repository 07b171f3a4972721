"""Tables and logs of a run: what several exporters have in common."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripos.exporting import OpenRun, Verbatim, Written
from tripos.settings.option import listed_names
from tripos.settings.options import ExportParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.tables import (
    STANDARD_TABLES,
    TABLES,
    TableSource,
    WrittenTable,
    open_fields,
    sources,
    to_data,
)


# Logs of other tools
def written_logs(
    run: OpenRun, options: Namespace, form: str, write: Callable[..., tuple[Sequence[Any], Mapping[str, int]]]
) -> Written:
    """Write a log for each compared model. Raises the errors of `write`."""
    logs, without = write(run.connection, run.plan, run.record, Path(options.output), options.secrets)
    files = [{"path": str(log.path)} | {k: v for k, v in vars(log).items() if k != "path"} for log in logs]
    lines: list[str] = []
    for log in logs:
        lines += [f"{log.model}: {counted(log.samples, 'sample')}, {counted(log.scores, 'score')}"]
        lines += [Verbatim(f"  {log.path}")]
        if log.without_value:
            lines.append(f"  without a value: {counted(log.without_value, 'score')}, with the reason")
    lines += [f"left out: {count:,} {kind}" for kind, count in without.items()]
    if not options.secrets and secret_fields(run.plan):
        lines.append(
            "left out as secret: targets, secret fields and the reasons of judges; "
            f"`{ExportParameters.secrets}` writes them"
        )
    return Written({"format": form, "run_id": run.record.run_id, "files": files, "left_out": without}, tuple(lines))


def secret_fields(plan: Plan) -> list[str]:
    """Return the fields of items that are only exported with `--secrets`."""
    every, shown = open_fields(plan, True), open_fields(plan, False)
    return [f"{name}.{field}" for name, own in every.items() for field in own if field not in shown[name]]


# Tables
def files_of_tables(
    run: OpenRun, options: Namespace, suffix: str, write: Callable[[TableSource, Path], WrittenTable]
) -> Written:
    """Write each requested table to a file: into a folder, or a single table to the named file. Raises `StoreError`
    S0604 if a file cannot be written."""
    path, names = Path(options.output), chosen_tables(options)
    single = path.suffix.lower() == suffix
    if single and len(names) > 1:
        raise StoreError(
            "S0202",
            f"{len(names)} tables do not fit into `{path}`",
            f"name a folder, or one of them: {ExportParameters.table} scores",
        )
    if not single:
        check_folder(path)
    tables = [
        write(source, path if single else path / f"{source.name}{suffix}")
        for source in sources(run.connection, run.plan, run.record, names, options.secrets)
    ]
    return written_tables(run, options, tables, names)


def chosen_tables(options: Namespace) -> list[str]:
    """Return the names of the requested tables, or of the standard ones. Raises `TriposError` R0202
    for an unknown one."""
    named = listed_names(options.table)
    for name in named:
        if name not in TABLES:
            hint = suggest(name, TABLES, f"the tables are {', '.join(TABLES)}")
            raise TriposError("R0202", f"there is no table `{name}` to export", hint)
    return [name for name in TABLES if name in (named or STANDARD_TABLES)]


def written_tables(run: OpenRun, options: Namespace, tables: Sequence[WrittenTable], names: Sequence[str]) -> Written:
    """Return the summary of written tables."""
    lines: list[str] = []
    for table in tables:
        lines += [f"{table.name}: {counted(table.rows, 'row')} in {table.path}"]
        lines += [f"  {note}" for note in table.notes]
    if not options.secrets:
        lines += _hidden(run, names)
    return Written({"run_id": run.record.run_id, "tables": to_data(tables)}, tuple(lines))


def _hidden(run: OpenRun, names: Sequence[str]) -> list[str]:
    """Return a description of what is left out because it is secret."""
    texts = []
    fields = secret_fields(run.plan)
    if fields and "items" in names:
        texts.append(f"left out as secret: {', '.join(fields)}")
    asked = {step.role for scenario in run.plan.scenarios for step in scenario.steps if step.step == "ask"} - {
        run.record.compared_role
    }
    if asked and "samples" in names:
        texts.append(f"left out as maybe secret: what {', '.join(sorted(asked))} wrote and was shown")
    return [*texts, f"`{ExportParameters.secrets}` writes it too"] if texts else []


def check_folder(path: Path) -> None:
    """Raise `StoreError` S0604 if a path is a file."""
    if path.exists() and not path.is_dir():
        raise StoreError("S0604", f"`{path}` is a file, and several are to be written", "name a folder")
