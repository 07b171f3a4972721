"""`tripos check`: every mistake that can be found without a model."""

from __future__ import annotations

import gc
import os
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tripos.api import SpecSource, earlier_plan, find_spec, holds_parts
from tripos.cli.inputs import show_diagnostics
from tripos.releases.fetching import reach_of
from tripos.settings import check_given, chosen_denials, load_config, trust_of
from tripos.ui import GOOD, SOME_FAILED, USAGE, __version__, print_json, show_message, show_text, terminal_width
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics import counted, render_silenced, summary, to_data
from tripos_compiler.language import Clustering, RowClusters
from tripos_compiler.source import DataError

if TYPE_CHECKING:
    from tripos.cli.specs.worlds import Tried


def main(options: Namespace) -> int:
    """Check every path and print what is wrong; exit code 2 where anything is, 1 where only the trial of secrecy found
    something."""
    gc.disable()  # a tree of syntax has no cycles worth collecting in a process that ends at once
    trust, reach = trust_of(options), reach_of(options)
    config = load_config(Path.cwd(), trust=trust)
    denied = chosen_denials(options, config)
    places = (options.data, config.data, (*options.releases, *config.releases))
    against = earlier_plan(options.against, *places, trust=trust, reach=reach) if options.against else None
    # A pattern of the shell also names folders of what benchmarks share, which is checked with those that use it.
    check_given(trust, *options.paths)
    paths = [each for each in options.paths if not holds_parts(Path(each))] or options.paths
    specs = {
        path: find_spec(path, *places, allow_outside=options.allow_outside, trust=trust, reach=reach) for path in paths
    }
    found = {path: spec.compile(denied, against) for path, spec in specs.items()}
    trials = _trials(options.worlds, specs, found)
    diagnostics = [each for compilation in found.values() for each in compilation.diagnostics]
    diagnostics += [each for trial in trials.values() for each in trial.diagnostics]
    silenced = [each for compilation in found.values() for each in compilation.silenced]
    match options.format:
        case "json":
            print_json(to_data(diagnostics, silenced))
        case "sarif":
            from tripos_compiler.diagnostics import to_sarif

            log = to_sarif(diagnostics, silenced, version=__version__, path_from=_path_from_root)
            print_json(log)
        case "github":
            from tripos_compiler.diagnostics import to_github

            show_text(to_github(diagnostics, path_from=_path_from_root), end="")
        case _:
            show_diagnostics(diagnostics, every=options.all)
            for path, compilation in found.items():
                if compilation.plan is not None:
                    show_message(f"{path}: {_size(compilation)}")
                    for each in _clusterings(specs[path], compilation):
                        show_message(f"{path}: {each.sentence}")
                if path in trials:
                    for line in trials[path].lines(path):
                        show_message(line)
            if diagnostics:
                show_text(summary(diagnostics), stderr=True)
            show_text(render_silenced(silenced, width=terminal_width()), end="", stderr=True)
    if any(compilation.plan is None for compilation in found.values()):
        return USAGE
    return SOME_FAILED if any(trial.diagnostics for trial in trials.values()) else GOOD


SECRECY = frozenset({"E0501", "E0502"})
"""What may be wrong with a spec that is tried all the same: the trial shows what is told by it."""


def _trials(pairs: int | None, specs: Mapping[str, SpecSource], found: Mapping[str, Compilation]) -> dict[str, Tried]:
    """Return the trials in so many pairs of worlds, if that is wanted, of the specs that compile but for what they
    tell."""
    if pairs is None:
        return {}
    from tripos.cli.specs.worlds import tried

    gc.enable()
    trials = {}
    for path, spec in specs.items():
        errors = {each.code for each in found[path].diagnostics if each.severity == "error"}
        compilation = spec.compile(secrecy=False) if errors and errors <= SECRECY else found[path]
        if compilation.plan is not None:
            trials[path] = tried(compilation, spec.folders, pairs)
    return trials


def _size(compilation: Compilation) -> str:
    """That a spec is well formed, and how much it asks: `demo 1.0.0 is well formed: 1 scenario, …`."""
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
    """Return what items are clustered by; nothing where their data cannot be read."""
    plan = compilation.plan
    if plan is None or not RowClusters(plan).scenarios:
        return ()
    from tripos_runtime.datasets import CaseSource, Selection

    gc.enable()
    try:
        paths = tuple(each.path for each in compilation.sources)
        return CaseSource(plan, spec.folders, paths).clusterings(Selection())
    except DataError:
        return ()


def _path_from_root(path: str) -> str:
    """Return a path from the root of the repository that GitHub checked out, or else from here; absolute outside of
    it."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    here, absolute = Path.cwd(), Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    roots = [Path(workspace), here] if workspace else [here]
    root = next((each for each in roots if absolute.is_relative_to(each)), None)
    return (absolute.relative_to(root) if root is not None else absolute).as_posix()
