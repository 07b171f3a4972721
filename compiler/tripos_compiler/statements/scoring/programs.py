"""Lowers scorers that are programs of their own: `scorer passes(code: text) -> bool from program "run_tests.py"`."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import fits, type_notation
from tripos_compiler.plan import Plugin
from tripos_compiler.resolve import Program
from tripos_compiler.resolve.plugins import SHIPPED, ShippedProgram, read_program
from tripos_compiler.source import Name, Span
from tripos_compiler.statements.scoring.functions import Parameters, plugin_shown, score_type


def lower_program_scorer(program: Program, statement: Statement, name: Name, parameters: Parameters | None) -> None:
    """Lower a scorer whose values a program gives, which is started in a run alone."""
    returns = score_type(program, statement)
    found = read_program(program, statement)
    if found is None or parameters is None or returns is None:
        return
    called = name.text if found.external != "shipped" else found.version.partition(" ")[0]
    plugin = found.model_copy(
        update={"name": name.text, "function": called, "parameters": parameters.types, "returns": returns}
    )
    if plugin.external == "shipped":
        places = (parameters, name.span, statement.syntax("type").span)
        if not _agrees(program, plugin, SHIPPED[called], *places):
            return
    program.index.define("scorer", name.text, name.span, detail=plugin_shown(plugin))
    program.plugins.setdefault(name.text, plugin)


def _agrees(
    program: Program, plugin: Plugin, shipped: ShippedProgram, parameters: Parameters, name: Span, returns: Span
) -> bool:
    """Return true if a program that comes with Tripos takes what a scorer takes, and gives what it gives; reports every
    difference."""
    mark = len(program.diagnostics.items)
    listed = ", ".join(f"{key}: {type_notation(of)}" for key, of in shipped.parameters.items())
    notes = [f"`{plugin.function}` takes: {listed}"]
    report = program.diagnostics.error
    for key, of in plugin.parameters.items():
        wanted = shipped.parameters.get(key)
        where = parameters.names[key].span
        if wanted is None:
            report("E0313", f"`{plugin.function}` has no parameter `{key}`", where, help="remove it", notes=notes)
        elif not fits(of, wanted):
            message = f"`{key}` is `{type_notation(of)}` here, and the program takes `{type_notation(wanted)}`"
            report("E0313", message, where, help=f"write `{key}: {type_notation(wanted)}`", notes=notes)
    for key, of in shipped.parameters.items():
        if key not in plugin.parameters and key not in shipped.optional:
            message = f"`{plugin.function}` needs `{key}`, which `{plugin.name}` does not take"
            report("E0313", message, name, help=f"add `{key}: {type_notation(of)}`", notes=notes)
    if type_notation(plugin.returns) not in shipped.returns:
        given = " or ".join(f"`{each}`" for each in shipped.returns)
        message = f"`{plugin.name}` gives `{type_notation(plugin.returns)}`, and the program gives {given}"
        report("E0313", message, returns, help=f"write `-> {shipped.returns[0]}`", notes=notes)
    return len(program.diagnostics.items) == mark
