"""The behaviour of the language, case by case: `tests/cases/<construct>/valid|invalid/*.tripos`.

A line on which a mistake is found ends in `# error: [E0201]`, one with a warning in `# warning: [W0401]`; several codes
stand side by side. Nothing else may be reported anywhere, so a mistake that follows from another is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from compiling import ROOT, compile_file

from tests.each import each
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.source.text import Source

CASES = ROOT / "tests" / "cases"
VALID = sorted(CASES.glob("*/valid/*.tripos"))
INVALID = sorted(CASES.glob("*/invalid/*.tripos"))
MARK = re.compile(r"#\s*(error|warning):((?:\s*\[[EW]\d{4}\])+)\s*$")

Place = tuple[str, int, str, str]
"""File, line, severity and code."""


def case_name(path: Path) -> str:
    return path.relative_to(CASES).with_suffix("").as_posix()


def expected(sources: Iterable[Source]) -> set[Place]:
    return {
        (Path(source.path).name, number, found[1], code)
        for source in sources
        for number, line in enumerate(source.text.split("\n"), 1)
        if (found := MARK.search(line))
        for code in re.findall(r"[EW]\d{4}", found[2])
    }


def check(path: Path) -> bool:
    """Compare what is reported with what the file says, and tell whether it compiled."""
    compilation = compile_file(path)
    reported = set()
    for item in compilation.diagnostics:
        span = item.labels[0].span
        reported.add((Path(span.source.path).name, span.source.position(span.start)[0], item.severity, item.code))
    said = "\n".join(f"{item.code} {item.message}" for item in compilation.diagnostics)
    assert reported == expected(compilation.sources), said
    return compilation.plan is not None


@each("path", VALID)
def test_a_valid_case_compiles_and_nothing_is_said_but_its_warnings(path: Path) -> None:
    assert check(path)


@each("path", INVALID)
def test_every_mistake_of_an_invalid_case_is_found_in_one_run_and_nothing_else(path: Path) -> None:
    assert not check(path)


def test_every_construct_has_a_case() -> None:
    written = "\n".join(path.read_text("utf-8") for path in VALID)
    words = {construct.starts_with for construct in CONSTRUCTS} - {""}
    assert {word for word in words if not re.search(rf"^\s*(?:.*[{{,]\s*)?{word}\b", written, re.MULTILINE)} == set()
