"""Lowers `numbers in LOCALE` of a benchmark and of its scenarios."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import DEFAULT, convention_of
from tripos_compiler.plan import Type
from tripos_compiler.resolve.program import Program


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


def numbers_of(program: Program, returns: Type | None) -> dict[str, str]:
    """For every language the locale in which the numbers of a typed reply are read, but for languages that write them
    as they are read where none is said; nothing where no number is asked for."""
    if returns is None or not has_number(returns):
        return {}
    said = {language: program.numbers or language for language in program.languages}
    return {language: name for language, name in said.items() if convention_of(name) != convention_of(DEFAULT)}


def has_number(type_: Type) -> bool:
    """Whether a number is somewhere in values of a type."""
    match type_.kind:
        case "integer" | "number":
            return True
        case "list" | "set" | "optional":
            return has_number(type_.of)
        case "record":
            return any(has_number(each) for each in type_.fields.values())
    return False


def locale_in(program: Program, scenario: Statement) -> str | None:
    """The locale of a scenario: its own, or that of the benchmark that it comes from."""
    release = program.release_of(scenario.head)
    whole = program.numbers if release is None else program.numbers_in.get(release.name)
    return locale_of(program, scenario) or whole
