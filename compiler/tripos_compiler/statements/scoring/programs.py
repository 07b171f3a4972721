"""Lowers scorers that are programs of their own: `scorer passes(code: text) -> bool from program "run_tests.py"`."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.resolve import Program
from tripos_compiler.resolve.plugins import read_program
from tripos_compiler.source import Name
from tripos_compiler.statements.scoring.functions import Parameters, plugin_shown, score_type


def lower_program_scorer(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Lower a scorer whose values a program gives, which is started in a run alone."""
    returns = score_type(program, statement)
    found = read_program(program, statement)
    if found is None or parameters is None or returns is None:
        return
    plugin = found.model_copy(
        update={"name": name.text, "function": name.text, "parameters": parameters.types, "returns": returns}
    )
    program.index.define("scorer", name.text, name.span, detail=plugin_shown(plugin))
    program.plugins.setdefault(name.text, plugin)
