"""Lowers `numbers in LOCALE` of a benchmark and of its scenarios."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.program import Program
from tripos_compiler.semantics.library.locales import convention_of


def locale_of(program: Program, statement: Statement) -> str | None:
    """The locale that a benchmark or a scenario says in its block; None where it says none. One that is not known is
    reported."""
    said = statement.one_of("numbers")
    if said is None:
        return None
    name = said.name("locale")
    if convention_of(name.text) is None:
        message = f"how `{name.text}` writes numbers is not known"
        help_ = "name a language, or one of a country: `de`, `de_CH`"
        program.diagnostics.error("E0201", message, name.span, help=help_, unknown=name.text)
        return None
    return name.text


def locale_in(program: Program, scenario: Statement) -> str | None:
    """The locale of a scenario: its own, or that of the benchmark that it comes from."""
    release = program.release_of(scenario.head)
    whole = program.numbers if release is None else program.numbers_in.get(release.name)
    return locale_of(program, scenario) or whole
