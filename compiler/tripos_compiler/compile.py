"""The phases in order: parse and resolve, check and lower, plan."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.data import DataReader, NoData
from tripos_compiler.diagnostics import Diagnostic, Diagnostics
from tripos_compiler.lower.calls import count_calls
from tripos_compiler.lower.datasets import lower_datasets
from tripos_compiler.lower.declarations import lower_axes, lower_benchmark, lower_metrics, lower_roles
from tripos_compiler.lower.measures import lower_measures
from tripos_compiler.lower.scenarios import lower_scenarios
from tripos_compiler.lower.scorers import lower_allocation, lower_scorers
from tripos_compiler.plan import Plan
from tripos_compiler.program import Program, ReadText
from tripos_compiler.resolve import resolve
from tripos_compiler.source import Source


@dataclass(frozen=True)
class Compilation:
    """What came of a compilation. `plan` is None where there is any error."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    sources: tuple[Source, ...]


def compile_spec(path: str, read: ReadText, data: DataReader | None = None) -> Compilation:
    """Compiles the spec whose main file is at `path`.

    `read` gives the text of a spec file by path; `data` finds and reads data files. Raises `OSError` or
    `UnicodeDecodeError` where the main file cannot be read; every other mistake of the user's is a diagnostic.

    >>> compile_spec("x.tripos", lambda path: 'rol candidate compared').diagnostics[0].message
    'there is no statement `rol`'
    """
    program = Program(Diagnostics(), data if data is not None else NoData())
    resolve(program, path, read)
    lower_benchmark(program)
    lower_roles(program)
    if program.benchmark is not None:  # without its languages no text can be checked
        lower_axes(program)
        lower_metrics(program)
        datasets = lower_datasets(program)
        lower_scorers(program)
        lower_allocation(program)
        lower_scenarios(program, datasets)
        lower_measures(program)
    plan = None if program.diagnostics.failed else _plan(program)
    return Compilation(plan, tuple(program.diagnostics.sorted()), tuple(program.sources))


def _plan(program: Program) -> Plan:
    assert program.benchmark is not None
    return Plan(
        benchmark=program.benchmark,
        roles=tuple(program.roles.values()),
        axes=tuple(program.axes.values()),
        metrics=tuple(program.metrics.values()),
        datasets=tuple(program.datasets.values()),
        scenarios=tuple(program.scenarios.values()),
        scorers=tuple(program.scorers.values()),
        measures=tuple(program.measures.values()),
        calls=count_calls(program.scenarios, program.roles, program.scorers),
    )
