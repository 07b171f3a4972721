"""`tripos export` and `tripos emit`: results and specs in the forms of other tools, and training data of a spec."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tripos.cli.context import Context, Outcome
from tripos.exporting import EMITTERS, Exporter, OpenRun, Verbatim
from tripos.exporting.exporters import EXPORTERS
from tripos.settings.option import listed_names
from tripos.settings.options import OUTPUT, ExportParameters
from tripos.terminal import message
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


def main(context: Context) -> Outcome:
    """Write an export of a run or of a spec's data, and return a summary."""
    options = context.options
    if options.spec is not None:
        _check_output(options)
        return export_pairs(context)
    store = context.store()
    store.verify()
    connection, record = connect_run(store, options.run)
    with connection:
        plan = get_selected(connection, record)
        name, exporter = _exporter(context, plan)
        _check_options(options, name, exporter)
        with EXPORTERS.guarded(name, OSError):
            written = exporter.write(OpenRun(store, connection, plan, record), options)
    package = EXPORTERS.package(name)
    lines = [line if isinstance(line, Verbatim) else message(line) for line in written.lines]
    return Outcome(lambda: {**written.summary, **_plugin(package)}, [*lines, *_plugin_lines(name, package)])


def _plugin(package: str | None) -> dict[str, str]:
    return {"plugin": package} if package else {}


def _plugin_lines(name: str, package: str | None) -> list[str]:
    return [message(f"written by the plug-in `{name}` of {package}")] if package else []


def _exporter(context: Context, plan: Plan) -> tuple[str, Exporter]:
    """Return the name of the requested exporter and the exporter: that of the named export of the spec, or the one of
    that name."""
    options = context.options
    declared = {export.name: export for export in plan.exports if isinstance(export, Export)}
    if options.what in {export.name for export in plan.exports if isinstance(export, Pairing)}:
        hint = f"name the spec: `tripos export {options.what} {ExportParameters.spec} PATH -o {options.output}`"
        raise StoreError("S0601", f"`{options.what}` is made of data, and not of a run", hint)
    if options.what in declared:
        kind = declared[options.what].kind
        return next((name, exporter) for name, exporter in EXPORTERS.items() if exporter.declared_as == kind)
    exporter = _chosen(EXPORTERS, options.what, context.trust)
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
def emit_main(context: Context) -> Outcome:
    """Write the files of a form, and list what it cannot express. The exit code is 1 if there is anything."""
    from tripos.exporting.questions import emit

    options = context.options
    emitter = _chosen(EMITTERS, options.form, context.trust)
    assert emitter is not None  # its name was checked with the other options
    plan, source = compiled_pairs(context, options.path)
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise TriposError("S0604", f"`{folder}` is a file, and several are to be written", "name a folder")
    with EMITTERS.guarded(options.form, OSError):
        emitted = emit(emitter, plan, source, folder)
    package = EMITTERS.package(options.form)
    return Outcome(
        lambda: {
            "form": options.form,
            "files": [str(file) for file in emitted.files],
            "questions": emitted.questions,
            "lost": [{"place": loss.place, "why": loss.why} for loss in emitted.losses],
            **_plugin(package),
        },
        [
            *map(str, emitted.files),
            *([message(counted(emitted.questions, "question"))] if emitter.reads_rows else []),
            *_plugin_lines(options.form, package),
            message("lost:" if emitted.losses else "nothing is lost"),
            *(f"  {loss.place}: {loss.why}" for loss in emitted.losses),
        ],
        exit_code=ExitCode.SOME_FAILED if emitted.losses else ExitCode.SUCCESS,
    )


# Pairs and examples of a spec
def export_pairs(context: Context) -> Outcome:
    """Write the pairs or examples and their provenance, and return their number. Raises `TriposError` and
    `StoreError`."""
    from tripos.training.examples import find_examples, write_examples
    from tripos.training.reward_pairs import named_pairings, write_pairs

    options = context.options
    plan, source = compiled_pairs(context, options.spec)
    path = Path(options.output)
    names = listed_names([options.what])
    examples = find_examples(plan, names)
    if examples is None:
        provenance = write_pairs(plan, named_pairings(plan, names), source, path)
        lines = _pairs_lines(provenance, path)
    else:
        provenance = write_examples(plan, examples, source, path)
        lines = _examples_lines(provenance, examples, path)
    return Outcome(lambda: {name: value for name, value in provenance.items() if name != "lines"}, lines)


def _pairs_lines(provenance: Mapping[str, Any], path: Path) -> Iterator[str]:
    topics = {group for line in provenance["lines"] for group in line["groups"]}
    grouped = f" of {counted(len(topics), 'topic')}" if topics else ""
    yield message(f"{counted(provenance['examples'], 'pair')}{grouped}, written to {path}")
    if len(provenance["exports"]) > 1:
        for name, count in Counter(line["export"] for line in provenance["lines"]).items():
            yield f"  {name}: {count:,}"
    authors = Counter(name for line in provenance["lines"] for name in set(line["by"]) if name)
    for name, count in authors.most_common():
        yield message(f"  with a reply of {name}: {count:,}")
    yield from _source_lines(provenance, path)


def _examples_lines(provenance: Mapping[str, Any], exports: Sequence[Pairing], path: Path) -> Iterator[str]:
    yield message(f"{counted(provenance['examples'], 'example')}, written to {path}")
    if len(exports) > 1:
        for name, count in Counter(line["export"] for line in provenance["lines"]).items():
            yield f"  {name}: {count:,}"
    yield from _source_lines(provenance, path, alone="rows without another beside them")


def _source_lines(provenance: Mapping[str, Any], path: Path, **reasons: str) -> Iterator[str]:
    """Yield what was left out, and where the provenance is."""
    from tripos.exporting.training_data import REASONS

    words = {**REASONS, **reasons}
    for reason, count in provenance["left_out"].items():
        yield message(f"  left out, {words.get(reason, reason)}: {count:,}")
    yield message(f"where it comes from: {provenance_path(path)}")


def compiled_pairs(context: Context, path: str) -> tuple[Plan, CaseSource]:
    """Return the plan of a spec, and the source of its rows. Raises `TriposError` S0821 if it has errors."""
    compilation, folders = context.compile(path, context.project_config)
    if compilation.plan is None:
        raise TriposError("S0821", f"`{path}` has mistakes, so nothing is made of it", "fix those above")
    return compilation.plan, CaseSource(compilation.plan, folders, tuple(source.path for source in compilation.sources))
