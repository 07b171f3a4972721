"""`tripos check`: every mistake that can be found without a model."""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from tripos.config import Config, load_config
from tripos.failure import GOOD, USAGE
from tripos.project import find_spec
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.data import to_data
from tripos_compiler.diagnostics.text import render_text, summary
from tripos_runtime.datasets import DataFolders


def main(options: Namespace) -> int:
    """Checks every path and prints what is wrong; exit code 2 where anything is."""
    config = load_config(Path.cwd())
    found = [(path, find_spec(path, options.data, config.data).compile()) for path in options.paths]
    diagnostics = [diagnostic for _, compilation in found for diagnostic in compilation.diagnostics]
    failed = any(compilation.plan is None for _, compilation in found)
    if options.format == "json":
        print(json.dumps(to_data(diagnostics), ensure_ascii=False, indent=2))
        return USAGE if failed else GOOD
    show_diagnostics(*(compilation for _, compilation in found))
    for path, compilation in found:
        if compilation.plan is not None:
            plan = compilation.plan
            cells = sum(scenario.cells for scenario in plan.scenarios)
            items = sum(scenario.row_count for scenario in plan.scenarios)
            name = f"{plan.benchmark.name} {plan.benchmark.version}"
            counts = ", ".join(
                f"{count:,} {noun if count == 1 else noun + 's'}"
                for count, noun in ((len(plan.scenarios), "scenario"), (cells, "context"), (items, "item"))
            )
            print(f"{path}: {name} is well formed: {counts}")
    if diagnostics:
        print(summary(diagnostics), file=sys.stderr)
    return USAGE if failed else GOOD


def compile_given(options: Namespace, config: Config) -> tuple[Compilation, DataFolders]:
    """Compiles the spec that a command was given and prints its diagnostics; also where its data is looked for."""
    spec = find_spec(options.path, options.data, config.data)
    compilation = spec.compile()
    show_diagnostics(compilation)
    return compilation, spec.folders


def show_diagnostics(*compilations: Compilation) -> None:
    """Prints the diagnostics of compilations on standard error."""
    diagnostics = [diagnostic for compilation in compilations for diagnostic in compilation.diagnostics]
    width = shutil.get_terminal_size((80, 24)).columns
    text = render_text(diagnostics, color=sys.stderr.isatty(), width=width)
    if text:
        print(text, file=sys.stderr)
