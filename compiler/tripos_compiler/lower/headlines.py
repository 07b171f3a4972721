"""Lowers `headline` of the benchmark: the measures that stand for it."""

from __future__ import annotations

from tripos_compiler.lower.measures import read_measures
from tripos_compiler.lower.operands import find_measure
from tripos_compiler.program import Program
from tripos_compiler.semantics.headlines import why_no_headline


def lower_headline(program: Program) -> None:
    """The `headline` of the benchmark, once its measures are lowered. Each is one that comes to one value for each
    model, and stands there once."""
    statement = program.of("benchmark")[0].one_of("headline")
    if statement is None or program.benchmark is None:
        return
    reading = read_measures(program, silent=True)
    reading.program = program
    measures = {key: known.measure for key, known in reading.known.items()}
    names: list[str] = []
    for syntax in statement.many("measures"):
        known = find_measure(reading, syntax)
        if known is None:
            continue
        name = known.measure.name
        why = why_no_headline(known.measure, measures)
        if name in names:
            program.diagnostics.error("E0202", f"`{name}` is named twice", syntax.span, help="remove one")
        elif why is not None:
            those = [key for key, each in measures.items() if why_no_headline(each, measures) is None]
            some = ", ".join(f"`{each}`" for each in those[:8])
            help_ = f"these do: {some}" if those else "declare one, such as the mean over what this goes by"
            message = f"`{name}` does not come to one value for each model: it {why}"
            program.diagnostics.error("E0630", message, syntax.span, help=help_)
        else:
            names.append(name)
    program.benchmark = program.benchmark.model_copy(update={"headline": tuple(names)})
