"""`tripos export eee`, `csv`, `parquet` and `xlsx`: which tables, which files, and what is said of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tripos.ui import Failure, print_json, show_message, show_text
from tripos_compiler.diagnostics import counted, nearest
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports import TABLES, WrittenTable, open_fields, sources, to_data, write_csv, write_parquet
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord


def export_eee(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Write the files of Every Eval Ever. Raises what `write_eee` does."""
    from tripos_warehouse.exports.every_eval_ever import VERSION, write_eee

    folder = Path(options.output)
    _folder(folder)
    found = write_eee(connection, plan, run, folder, options.organization or "unknown", options.secrets)
    if options.json:
        told = [
            {
                "model": each.model,
                "aggregate": str(each.aggregate),
                "instances": str(each.instances.path),
                "results": each.results,
                "rows": each.instances.rows,
                "without_value": each.without_value,
            }
            for each in found
        ]
        print_json({"format": f"every_eval_ever/{VERSION}", "files": told})
        return
    for each in found:
        show_message(f"{each.model}: {counted(each.results, 'result')}, {counted(each.instances.rows, 'score')}")
        show_text(f"  {each.aggregate}")
        if each.without_value:
            show_message(f"  left out: {counted(each.without_value, 'score')} without a value")
    show_message(f"all of it fits the schemas of Every Eval Ever {VERSION}")
    if not options.organization:
        show_message("the source is `unknown`: `--organization NAME` says who ran this")


def export_tables(connection: Connection, plan: Plan, run: RunRecord, options: Namespace) -> None:
    """Write the tables that were asked for, or all. Raises `StoreError` S0604 where the disk refuses."""
    names = _tables(options)
    path = Path(options.output)
    if options.what == "xlsx":
        if path.suffix.lower() != ".xlsx":
            raise StoreError("S0202", f"`{path}` is no workbook", "end the name in `.xlsx`")
        written = _workbook(connection, plan, run, names, path, options.secrets)
    else:
        suffix = f".{options.what}"
        single = path.suffix.lower() == suffix
        if single and len(names) > 1:
            raise StoreError(
                "S0202",
                f"{len(names)} tables do not fit into `{path}`",
                "name a folder, or one of them: --table scores",
            )
        if not single:
            _folder(path)
        written = []
        for source in sources(connection, plan, run, names, options.secrets):
            target = path if single else path / f"{source.name}{suffix}"
            parquet = options.what == "parquet"
            written.append(write_parquet(source, target) if parquet else write_csv(source, target, options.raw))
    if options.json:
        print_json({"run_id": run.run_id, "tables": to_data(written)})
        return
    for each in written:
        show_message(f"{each.name}: {counted(each.rows, 'row')} in {each.path}")
        for note in each.notes:
            show_message(f"  {note}")
    if not options.secrets:
        for line in _hidden(plan, run, names):
            show_message(line)


def _workbook(
    connection: Connection, plan: Plan, run: RunRecord, names: Sequence[str], path: Path, secrets: bool
) -> list[WrittenTable]:
    from tripos_warehouse.exports import longest_texts, write_workbook

    sizes = {name: longest_texts(connection, plan, run, name) for name in names}
    return write_workbook(sources(connection, plan, run, names, secrets), path, sizes.__getitem__)


def _tables(options: Namespace) -> list[str]:
    named = [name.strip() for each in options.table for name in each.split(",") if name.strip()]
    for name in named:
        if name not in TABLES:
            close = nearest(name, TABLES)
            hint = f"did you mean `{close}`?" if close else f"the tables are {', '.join(TABLES)}"
            raise Failure("R0202", f"there is no table `{name}` to export", hint)
    return [name for name in TABLES if not named or name in named]


def _hidden(plan: Plan, run: RunRecord, names: Sequence[str]) -> list[str]:
    """Return what is left out as secret, in words."""
    told = []
    every, shown = open_fields(plan, True), open_fields(plan, False)
    fields = [f"{name}.{field}" for name, own in every.items() for field in own if field not in shown[name]]
    if fields and "items" in names:
        told.append(f"left out as secret: {', '.join(fields)}")
    asked = {step.role for each in plan.scenarios for step in each.steps if step.step == "ask"} - {run.compared_role}
    if asked and "samples" in names:
        told.append(f"left out as maybe secret: what {', '.join(sorted(asked))} said and was told")
    return [*told, "`--secrets` writes it too"] if told else []


def _folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise StoreError("S0604", f"`{path}` is a file, and several are to be written", "name a folder")
