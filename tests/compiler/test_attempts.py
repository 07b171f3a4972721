"""Failures of a compilation: a mistake is reported once, where it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiling import ROOT
from mutants import Spec, case_specs

from tests.compiler.stand_in_releases import StandInReleases
from tests.each import each
from tests.lengths import sized, spread
from tests.sources import modules, nodes_of
from tripos_compiler.compile import Compilation, compile_spec
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.plan import ListType
from tripos_compiler.resolve.program import ERROR_TYPE, Program
from tripos_compiler.source.inputs import NoData
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_compiler.typecheck.expressions import Elaborator
from tripos_runtime.datasets.data_files import DataFolders


def test_no_part_of_a_plan_has_the_type_of_a_wrong_expression() -> None:
    with pytest.raises(ValueError):
        ListType(of=ERROR_TYPE)


EXPRESSIONS = [
    "-nosuch",
    "not nosuch",
    "nosuch + 1",
    "1 < nosuch",
    "nosuch == A",
    "nosuch in (A, B)",
    "1 in nosuch",
    "nosuch.field.of.it",
    "(1, nosuch, 2)",
    "length(nosuch)",
    "default(nosuch, A)",
    "default(nosuch, [])",
    "choose(nosuch, 1, 2)",
    'first(split(nosuch, ","))',
    "[c.points each c in nosuch where c.points > 0]",
    "[nosuch each c in (1, 2)]",
    "[c each c in (1, 2) where c > nosuch]",
    '"a {{ nosuch }} b"',
]


@each("text", EXPRESSIONS)
def test_an_expression_with_a_wrong_part_is_wrong_and_reported_once(text: str) -> None:
    diagnostics = Diagnostics()
    program = Program(diagnostics, NoData())
    program.declared["scorer"] = {}
    block = parse(Source("a.tripos", f"let x = {text}"), diagnostics)
    *_, syntax = block.lines[0].entries[0].elements
    assert Elaborator(program, {}).infer(syntax).is_error
    assert [item.message for item in diagnostics.items] == ["there is no `nosuch` here"]
    assert diagnostics.failures > 0


# One misspelt name

A_FIELD = "field `nosuch` has no type"
"""The message of an axis that is used as a field: it is the declaration of a name too."""
LEFT_OUT = "expect/valid/gates"
"""An expectation with a wrong name is reported as one without a name too."""


def compiled(spec: Spec, files: dict[str, str]) -> Compilation:
    given = Path(spec.main).parent / "given"
    data = DataFolders((given,) if given.is_dir() else ())
    texts = {**spec.files, **files}
    return compile_spec(
        spec.main,
        lambda path: texts[path] if path in texts else Path(path).read_text("utf-8"),
        data,
        releases=StandInReleases(),
    )


def misspelt(spec: Spec) -> Iterator[tuple[int, str]]:
    """Yield the line of some uses of names in a spec, and the text with that use misspelt."""
    text = spec.files[spec.main]
    uses = {use.span for use in compiled(spec, {}).index.uses.values()}
    places = sorted((span.start, span.end) for span in uses if span.source.path == spec.main)
    for start, end in spread(places, 6):
        yield text.count("\n", 0, start) + 1, f"{text[:start]}nosuch{text[end:]}"


def name_of(spec: Spec) -> str:
    return Path(spec.main).relative_to(ROOT / "tests" / "cases").with_suffix("").as_posix()


@pytest.mark.parametrize("spec", case_specs()[:: sized(8, 1)], ids=name_of)
def test_a_misspelt_use_of_a_name_is_reported_in_its_line_alone(spec: Spec) -> None:
    for line, text in misspelt(spec):
        errors = [item for item in compiled(spec, {spec.main: text}).diagnostics if item.severity == "error"]
        spans = [item.labels[0].span for item in errors]
        found = {span.source.position(span.start)[0] for span in spans}
        messages = [item.message for item in errors]
        assert found == {line} or A_FIELD in messages or name_of(spec) == LEFT_OUT, messages


# Annotations

THREE_VALUED = ("call_counts.py", "protocol_checks.py")
"""Modules where None stands for "not known before a run"."""


def alternatives(annotation: ast.expr) -> set[str]:
    """Return the parts of a union."""
    if isinstance(annotation, ast.BinOp):
        return alternatives(annotation.left) | alternatives(annotation.right)
    return {ast.unparse(annotation)}


def test_no_lowering_gives_false_or_nothing_for_what_is_wrong() -> None:
    found_in = modules("compiler/tripos_compiler/lowering", "compiler/tripos_compiler/typecheck")
    found = [
        f"{path.name}:{node.lineno} {node.name}"
        for path in found_in
        if path.name not in THREE_VALUED
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef) and node.returns is not None
        if {"bool", "None"} <= alternatives(node.returns)
    ]
    assert len(found_in) > 20 and found == []
