"""Titles: what readers see in place of a name, as one text or as a text a language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tripos_compiler.constructs import Statement
from tripos_compiler.resolve import Program

TITLED = ("axis", "arm", "dimension", "scenario", "measure")
"""The declarations with a title that no model sees. Those of metrics and of values are in prompts."""
NAMED = ("axis", "arm", "measure")
"""Those of which the plan has nothing but their name elsewhere. The one text of others stands there already."""


def lower_titles(program: Program) -> None:
    """Check the title of everything that has one, and keep what the plan says nowhere else."""
    for kind, name, what, statement in _titled(program):
        labels = statement.labels()
        texts = program.localised(labels, statement.head, what, for_readers=True)
        if texts is not None and (kind in NAMED or any(language is not None for language, _ in labels)):
            program.titles.setdefault(kind, {})[name] = {language: text.value for language, text in texts.items()}


def _titled(program: Program) -> Iterator[tuple[str, str, str, Statement]]:
    """Yield whatever has a title: its kind, its name in the plan, what a message calls it, and the statement."""
    for benchmark in program.of("benchmark")[:1]:
        title = benchmark.one_of("title")
        if title is not None:
            yield "benchmark", benchmark.name().text, "the title", title
    for kind in TITLED:
        for statement in program.of(kind):
            if statement.labels():
                name = statement.name().text
                yield kind, name, f"{kind} `{name}`", statement
    for scenario in program.of("scenario"):
        for measure in scenario.of("measure"):
            if measure.labels():
                name = measure.name().text
                yield "measure", f"{scenario.name().text}.{name}", f"measure `{name}`", measure


def plain_title(statement: Statement, languages: Sequence[str]) -> str:
    """Return the one text that stands for a title where no language is asked for: in the first language of the
    benchmark, or without a language, or the first."""
    texts = {language.text if language is not None else None: text.value for language, text in statement.labels()}
    return next((texts[each] for each in (*languages[:1], None) if each in texts), next(iter(texts.values())))
