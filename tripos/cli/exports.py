"""`tripos export` and `tripos emit`: results and specs in the forms of other tools, and training data of a spec."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from tripos.cli.context import compile_command_spec, open_store
from tripos.exporting import EMITTERS, EXPORTERS, Exporter, OpenRun, Verbatim
from tripos.settings.load import load_config
from tripos.settings.option import listed_names
from tripos.settings.options import OUTPUT, ExportParameters
from tripos.settings.trust import trust_of
from tripos.terminal import print_json, show_json, show_message, show_text
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Export, Pairing, Plan
from tripos_compiler.source.entry_points import Registry
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.trust import Trust
from tripos_warehouse.errors import StoreError
from tripos_warehouse.files import provenance_path
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_selected

T = TypeVar("T")


def main(options: Namespace) -> ExitCode:
    """Write an export of a run or of a spec's data, and print a summary."""
    if options.spec is not None:
        _check_output(options)
        return export_pairs(options)
    store = open_store(options)
    store.verify()
    connection, record = connect_run(store, options.run)
    with connection:
        plan = get_selected(connection, record)
        name, exporter = _exporter(options, plan)
        _check_options(options, name, exporter)
        with EXPORTERS.guarded(name, OSError):
            written = exporter.write(OpenRun(store, connection, plan, record), options)
    package = EXPORTERS.package(name)
    if options.json:
        print_json({**written.summary, **({"plugin": package} if package else {})})
        return ExitCode.SUCCESS
    for line in written.lines:
        if isinstance(line, Verbatim):
            show_text(line)
        else:
            show_message(line)
    if package:
        show_message(f"written by the plug-in `{name}` of {package}")
    return ExitCode.SUCCESS


def _exporter(options: Namespace, plan: Plan) -> tuple[str, Exporter]:
    """Return the name of the requested exporter and the exporter: that of the named export of the spec, or the one of
    that name."""
    declared = {export.name: export for export in plan.exports if isinstance(export, Export)}
    if options.what in {export.name for export in plan.exports if isinstance(export, Pairing)}:
        hint = f"name the spec: `tripos export {options.what} {ExportParameters.spec} PATH -o {options.output}`"
        raise StoreError("S0601", f"`{options.what}` is made of data, and not of a run", hint)
    if options.what in declared:
        kind = declared[options.what].kind
        return next((name, exporter) for name, exporter in EXPORTERS.items() if exporter.declared_as == kind)
    exporter = _chosen(EXPORTERS, options.what, trust_of(options))
    if exporter is None:
        names = [*EXPORTERS, *EXPORTERS.plugins, *declared]
        hint = suggest(options.what, names, f"there is {', '.join(f'`{name}`' for name in names)}")
        raise StoreError("S0601", f"there is no export `{options.what}`", hint)
    return options.what, exporter


def _chosen(registry: Registry[T], name: str, trust: Trust) -> T | None:
    """Return the exporter or emitter of a name, or None. Raises `TrustError` for a plug-in in an untrusted command."""
    if trust.untrusted and (package := registry.package(name)):
        trust.check(f"the plug-in `{name}` of {package}", f"run it without {ExportParameters.untrusted}")
    return registry.get(name)


def _check_options(options: Namespace, name: str, exporter: Exporter) -> None:
    """Raise `TriposError` R0202 for an option that only other exporters take, or if the path of the output lacks."""
    takers: dict[str, list[str]] = {}
    for other, each in EXPORTERS.items():
        for option in each.options:
            takers.setdefault(option.name, []).append(other)
    taken = {option.name for option in exporter.options}
    for option in ExportParameters.options:
        if option.name in takers and option.name not in taken and option.is_in(options):
            others = " and ".join(takers[option.name])
            raise TriposError("R0202", f"`{option}` has no meaning for `{name}`", f"it is for {others}")
    if ExportParameters.output.name in taken:
        _check_output(options)


def _check_output(options: Namespace) -> None:
    if options.output is None:
        verb, option = "tripos export", f"-o/{OUTPUT}"
        raise TriposError("R0202", f"`{verb}` needs {option}", f"`{verb} --help` shows how it is written")


# tripos emit
def emit_main(options: Namespace) -> ExitCode:
    """Write the files of a form, and list what it cannot express. Return 1 if there is anything."""
    from tripos.exporting.questions import emit

    emitter = _chosen(EMITTERS, options.form, trust_of(options))
    assert emitter is not None  # its name was checked with the other options
    plan, source = compiled_pairs(options, options.path)
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise TriposError("S0604", f"`{folder}` is a file, and several are to be written", "name a folder")
    with EMITTERS.guarded(options.form, OSError):
        emitted = emit(emitter, plan, source, folder)
    package = EMITTERS.package(options.form)
    if options.json:
        losses = [{"place": unsupported.place, "why": unsupported.why} for unsupported in emitted.losses]
        files = [str(file) for file in emitted.files]
        summary = {"form": options.form, "files": files, "questions": emitted.questions, "lost": losses}
        print_json({**summary, **({"plugin": package} if package else {})})
        return ExitCode.SOME_FAILED if losses else ExitCode.SUCCESS
    for path in emitted.files:
        show_text(str(path))
    if emitter.reads_rows:
        show_message(f"{counted(emitted.questions, 'question')}")
    if package:
        show_message(f"written by the plug-in `{options.form}` of {package}")
    if not emitted.losses:
        show_message("nothing is lost")
        return ExitCode.SUCCESS
    show_message("lost:")
    for loss in emitted.losses:
        show_text(f"  {loss.place}: {loss.why}")
    return ExitCode.SOME_FAILED


# Pairs and examples of a spec
def export_pairs(options: Namespace) -> ExitCode:
    """Write the pairs and their provenance, and print their number. Raises `TriposError` and `StoreError`."""
    from tripos.exporting.training_data import REASONS
    from tripos.training.examples import find_examples
    from tripos.training.reward_pairs import named_pairings, write_pairs

    plan, source = compiled_pairs(options, options.spec)
    path = Path(options.output)
    named = listed_names([options.what])
    if (examples := find_examples(plan, named)) is not None:
        return _export_examples(options, plan, source, examples, path)
    said = write_pairs(plan, named_pairings(plan, named), source, path)
    if options.json:
        show_json(json.dumps({name: value for name, value in said.items() if name != "lines"}, indent=2))
        return ExitCode.SUCCESS
    topics = {group for line in said["lines"] for group in line["groups"]}
    grouped = f" of {len(topics):,} topic{'' if len(topics) == 1 else 's'}" if topics else ""
    show_message(f"{said['examples']:,} pair{'' if said['examples'] == 1 else 's'}{grouped}, written to {path}")
    wrote = Counter(name for line in said["lines"] for name in set(line["by"]) if name)
    for name, count in wrote.most_common():
        show_message(f"  with a reply of {name}: {count:,}")
    for reason, count in said["left_out"].items():
        show_message(f"  left out, {REASONS.get(reason, reason)}: {count:,}")
    show_message(f"where it comes from: {provenance_path(path)}")
    return ExitCode.SUCCESS


def _export_examples(
    options: Namespace, plan: Plan, source: CaseSource, exports: Sequence[Pairing], path: Path
) -> ExitCode:
    from tripos.exporting.training_data import REASONS
    from tripos.training.examples import write_examples

    said = write_examples(plan, exports, source, path)
    if options.json:
        show_json(json.dumps({name: value for name, value in said.items() if name != "lines"}, indent=2))
        return ExitCode.SUCCESS
    count = said["examples"]
    show_message(f"{count:,} {'example' if count == 1 else 'examples'}, written to {path}")
    if len(exports) > 1:
        for name, lines in Counter(line["export"] for line in said["lines"]).items():
            show_text(f"  {name}: {lines:,}")
    reasons = {**REASONS, "alone": "rows without another beside them"}
    for reason, count in said["left_out"].items():
        show_message(f"  left out, {reasons.get(reason, reason)}: {count:,}")
    show_message(f"where it comes from: {provenance_path(path)}")
    return ExitCode.SUCCESS


def compiled_pairs(options: Namespace, path: str) -> tuple[Plan, CaseSource]:
    """Return the plan of a spec, and the source of its rows. Raises `TriposError` S0821 if it has errors."""

    spec = Namespace(**{**vars(options), "path": path})
    compilation, folders = compile_command_spec(spec, load_config(Path.cwd(), trust=trust_of(options)))
    if compilation.plan is None:
        raise TriposError("S0821", f"`{path}` has mistakes, so nothing is made of it", "fix those above")
    return compilation.plan, CaseSource(compilation.plan, folders, tuple(source.path for source in compilation.sources))
