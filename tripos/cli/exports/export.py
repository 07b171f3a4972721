"""`tripos export` and `tripos emit`: training data, tables, results and specs in the formats of other tools."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.cli.context import open_store
from tripos.cli.exports.training_data import compiled_pairs
from tripos.settings.options import EXPORTS, OUTPUT, TRAINING_EXPORTS, ExportParameters
from tripos.terminal import print_json, show_message, show_text
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Export, Pairing, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_selected


def main(options: Namespace) -> ExitCode:
    """Write an export of a run or of a spec's data, and print a summary."""
    if options.spec is not None:
        _check_output(options)
        from tripos.cli.exports.training_data import export_pairs

        return export_pairs(options)
    store = open_store(options)
    store.verify()
    connection, run = connect_run(store, options.run)
    with connection:
        plan = get_selected(connection, run)
        kind = _kind(options, plan)
        ExportParameters.check_kind(options, kind)
        if kind in ExportParameters.output.only_for:
            _check_output(options)
        if kind in TRAINING_EXPORTS:
            from tripos.cli.exports.training_data import export_training

            export_training(connection, plan, run, options, kind)
        elif kind == "eee":
            from tripos.cli.exports.results import export_eee

            export_eee(connection, plan, run, options)
        elif kind == "otel":
            from tripos.cli.exports.results import export_telemetry

            export_telemetry(connection, plan, run, options)
        elif kind == "hub":
            from tripos.cli.exports.results import export_hub

            export_hub(connection, plan, run, options)
        elif kind in ("inspect", "lm-eval"):
            from tripos.cli.exports.results import export_for_tool

            export_for_tool(connection, plan, run, options, kind)
        else:
            from tripos.cli.exports.results import export_tables

            export_tables(connection, plan, run, options)
    return ExitCode.SUCCESS


def _kind(options: Namespace, plan: Plan) -> str:
    """Return the kind of export: one of `EXPORTS`, or that of the named export of the spec."""
    declared = {export.name: export for export in plan.exports if isinstance(export, Export)}
    if options.what in {export.name for export in plan.exports if isinstance(export, Pairing)}:
        hint = f"name the spec: `tripos export {options.what} {ExportParameters.spec} PATH -o {options.output}`"
        raise StoreError("S0601", f"`{options.what}` is made of data, and not of a run", hint)
    if options.what in declared:
        return "distillation" if declared[options.what].kind == "best" else "preferences"
    if options.what in EXPORTS:
        return str(options.what)
    names = [*EXPORTS, *declared]
    hint = suggest(options.what, names, f"there is {', '.join(f'`{name}`' for name in names)}")
    raise StoreError("S0601", f"there is no export `{options.what}`", hint)


def _check_output(options: Namespace) -> None:
    if options.output is None:
        verb, option = "tripos export", f"-o/{OUTPUT}"
        raise TriposError("R0202", f"`{verb}` needs {option}", f"`{verb} --help` shows how it is written")


# tripos emit
def emit_main(options: Namespace) -> ExitCode:
    """Write the files of a format, and list what it cannot express. Return 1 if there is anything."""
    from tripos.cli.exports.forms import emit

    plan, source = compiled_pairs(options, options.path)
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise TriposError("S0604", f"`{folder}` is a file, and several are to be written", "name a folder")
    emitted = emit(options.form, plan, source, folder)
    if options.json:
        losses = [{"place": unsupported.place, "why": unsupported.why} for unsupported in emitted.losses]
        files = [str(file) for file in emitted.files]
        print_json({"form": options.form, "files": files, "questions": emitted.questions, "lost": losses})
        return ExitCode.SOME_FAILED if losses else ExitCode.SUCCESS
    for path in emitted.files:
        show_text(str(path))
    if options.form != "jsonschema":
        show_message(f"{counted(emitted.questions, 'question')}")
    if not emitted.losses:
        show_message("nothing is lost")
        return ExitCode.SUCCESS
    show_message("lost:")
    for loss in emitted.losses:
        show_text(f"  {loss.place}: {loss.why}")
    return ExitCode.SOME_FAILED
