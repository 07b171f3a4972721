"""The pages on functions are those of the code, and their examples are what they say.

`TRIPOS_UPDATE_GOLDEN=1` writes the page and the table anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tests.each import each
from tripos_compiler.constructs.reference import functions_page, functions_table
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.inputs import NoData
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_compiler.typecheck.expressions import Elaborator

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "language" / "functions.md"
LANGUAGE = DOCS / "language" / "expressions.md"
TABLE = re.compile(r"^\| function \| (?:gives|description) \|\n(?:\|.*\n)+", re.MULTILINE)
EXAMPLE = re.compile(r"^```tripos fragment\n(.*?)^```\n(?:\n```text\n(.*?)\n```\n)?", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Return every example of the page, and what it says that it gives."""
    found = []
    for lines, printed in EXAMPLE.findall(functions_page()):
        if printed:
            found.append((lines.strip(), json.dumps(printed)))
        else:
            found.extend(tuple(line.rsplit("  # ", 1)) for line in lines.splitlines())
    return found


def test_the_page_on_functions_is_that_of_the_code() -> None:
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(functions_page(), "utf-8")
    assert PAGE.read_text("utf-8") == functions_page()


def test_the_table_of_functions_is_that_of_the_code() -> None:
    text = LANGUAGE.read_text("utf-8")
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        text = TABLE.sub(lambda _: functions_table(), text)
        LANGUAGE.write_text(text, "utf-8")
    assert TABLE.findall(text) == [functions_table()]


def test_the_page_has_an_example_of_most_functions() -> None:
    assert len(examples()) > 70


@each("example, wanted", examples)
def test_an_example_gives_what_it_says(example: str, wanted: str) -> None:
    program = Program(Diagnostics(), NoData())
    values = []
    for text in (example, wanted):
        if text == "missing":
            values.append(None)
            continue
        (entry,) = parse(Source("example.tripos", f"x {text}"), program.diagnostics).entries()
        typed = Elaborator(program, {}).expression(entry.elements[1])
        assert typed is not None, program.diagnostics.items
        values.append(evaluate(typed.expr, {}))
    assert values[0] == values[1]
