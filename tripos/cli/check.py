"""`tripos check`: reports every mistake that can be found without a model; with `--worlds` also the test of secrecy.

The test compares what models would be sent in pairs of worlds that differ only in the secrets. A message that differs
reveals a secret.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.cli.context import Context, Outcome, Remark, show_diagnostics
from tripos.runs.compilation import SpecSource, has_shared_parts
from tripos.settings.trust import refuse_if_untrusted
from tripos.terminal import message, terminal_width
from tripos.version import __version__
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.renderers import render_silenced, summary, to_data
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import ExitCode
from tripos_compiler.language.contexts import Clustering, RowClusters
from tripos_compiler.source.inputs import DataError

if TYPE_CHECKING:
    from tripos.cli.secrecy_trial import SecrecyResult
    from tripos.settings.config import Config
    from tripos_compiler.diagnostics.diagnostic import Diagnostic, Silenced
    from tripos_compiler.plan import Plan


def _earlier_plan(context: Context, config: Config) -> Plan:
    """Return the plan of the earlier version that the versions of the benchmarks are checked against."""
    from tripos.cli.diff import open_version  # reads a store too, which a check does not

    with open_version(context, context.options.against, config) as version:
        return version.plan


def main(context: Context) -> Outcome:
    """Check every path and return the diagnostics. The exit code is 2 if there are errors, 1 if only the test of
    secrecy failed."""
    gc.disable()  # syntax trees have no cycles worth collecting in a short process
    options, config = context.options, context.project_config
    denied = context.denied(config)
    against = _earlier_plan(context, config) if options.against else None
    # A shell pattern also matches folders of shared declarations, which are checked with the benchmarks that use them.
    refuse_if_untrusted(context.trust, *options.paths)
    paths = [each for each in options.paths if not has_shared_parts(Path(each))] or options.paths
    specs = {path: context.source(path, config) for path in paths}
    compilations = {path: spec.compile(denied, against) for path, spec in specs.items()}
    trials = _trials(options.worlds, specs, compilations)
    diagnostics = [diagnostic for compilation in compilations.values() for diagnostic in compilation.diagnostics]
    diagnostics += [diagnostic for trial in trials.values() for diagnostic in trial.diagnostics]
    silenced = [each for compilation in compilations.values() for each in compilation.silenced]
    code = ExitCode.SOME_FAILED if any(trial.diagnostics for trial in trials.values()) else ExitCode.SUCCESS
    if any(compilation.plan is None for compilation in compilations.values()):
        code = ExitCode.USAGE

    def lines() -> Iterator[str]:
        show_diagnostics(diagnostics, every=options.all)
        for path, compilation in compilations.items():
            if compilation.plan is not None:
                yield message(f"{path}: {_size(compilation)}")
                for clustering in _clusterings(specs[path], compilation):
                    yield message(f"{path}: {clustering.sentence}")
            if path in trials:
                yield from map(message, trials[path].lines(path))
        if diagnostics:
            yield Remark(summary(diagnostics))
        if text := render_silenced(silenced, width=terminal_width()):
            yield Remark(text.removesuffix("\n"))

    if context.form == "github":
        return Outcome(lines=_github_lines(diagnostics), exit_code=code)
    return Outcome(lambda: _data(context.form, diagnostics, silenced), lines(), exit_code=code)


def _data(form: str, diagnostics: list[Diagnostic], silenced: list[Silenced]) -> object:
    """Return the diagnostics for JSON, or as a log of SARIF."""
    if form != "sarif":
        return to_data(diagnostics, silenced)
    from tripos_compiler.diagnostics.renderers import to_sarif

    return to_sarif(diagnostics, silenced, version=__version__, path_from=_path_from_root)


def _github_lines(diagnostics: list[Diagnostic]) -> list[str]:
    from tripos_compiler.diagnostics.renderers import to_github

    return to_github(diagnostics, path_from=_path_from_root).splitlines()


SECRECY_ERRORS = frozenset({"E0501", "E0502"})
"""Codes of errors that do not prevent the test of secrecy, because it shows the leaks that they report."""


def _trials(
    pairs: int | None, specs: Mapping[str, SpecSource], found: Mapping[str, Compilation]
) -> dict[str, SecrecyResult]:
    """Return the tests of secrecy, in this number of pairs of worlds, of the specs without errors other than leaks.
    Return none if `pairs` is None."""
    if pairs is None:
        return {}
    from tripos.cli.secrecy_trial import check_secrecy  # which loads the runtime

    gc.enable()
    trials = {}
    for path, spec in specs.items():
        errors = {diagnostic.code for diagnostic in found[path].diagnostics if diagnostic.severity == "error"}
        compilation = spec.compile(secrecy=False) if errors and errors <= SECRECY_ERRORS else found[path]
        if compilation.plan is not None:
            trials[path] = check_secrecy(compilation, spec.folders, pairs)
    return trials


def _size(compilation: Compilation) -> str:
    """Return a line that a spec is well formed, with its size: `demo 1.0.0 is well formed: 1 scenario, …`."""
    plan = compilation.plan
    assert plan is not None
    cells = sum(scenario.cells for scenario in plan.scenarios)
    items = sum(scenario.row_count for scenario in plan.scenarios)
    counts = ", ".join(
        (
            counted(len(plan.scenarios), "scenario"),
            counted(cells, "context"),
            counted(items, "item"),
        )
    )
    return f"{plan.benchmark.name} {plan.benchmark.version} is well formed: {counts}"


def _clusterings(spec: SpecSource, compilation: Compilation) -> tuple[Clustering, ...]:
    """Return the clusterings of the items; none if their data cannot be read."""
    plan = compilation.plan
    if plan is None or not RowClusters(plan).scenarios:
        return ()
    from tripos_runtime.datasets.cases import CaseSource
    from tripos_runtime.datasets.selection import Selection

    gc.enable()
    try:
        paths = tuple(source.path for source in compilation.sources)
        return CaseSource(plan, spec.folders, paths).clusterings(Selection())
    except DataError:
        return ()


def _path_from_root(path: str) -> str:
    """Return a path relative to the root of the repository that GitHub checked out, or else to the current folder;
    absolute outside of it."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    here, absolute = Path.cwd(), Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    roots = [Path(workspace), here] if workspace else [here]
    root = next((each for each in roots if absolute.is_relative_to(each)), None)
    return (absolute.relative_to(root) if root is not None else absolute).as_posix()
