"""A version number must say enough of what changed since an earlier plan."""

from __future__ import annotations

import pytest
from compiling import compile_text, plan_of

from tests.each import each
from tripos_compiler.compile import compile_spec
from tripos_compiler.language.plan_diff import find_changes

BEFORE = """benchmark demo "1.2.3" { title "Demo", languages en }
role candidate compared
axis level { easy, hard }
scenario sums {
  context level
  ask answer by candidate { prompt "A {{ level }} sum.", temperature 0 }
  score right = contains(answer.text, "42")
}
scenario words {
  ask answer by candidate { prompt "A word." }
  score short = words(answer.text) < 5
}
measure accuracy = mean(right)
"""

CHANGES = [
    ("prompt \"A word.\"", "prompt \"One word.\"", "major"),
    ("temperature 0", "temperature 1", "major"),
    ("{ easy, hard }", "{ easy, hard, harder }", "major"),
    ("{ easy, hard }", "{ easy \"simple\", hard }", "major"),
    ("words(answer.text) < 5", "words(answer.text) < 6", "major"),
    ("mean(right)", "mean(right) by level", "major"),
    ("measure accuracy = mean(right)\n", "", "major"),
    ("scenario words {", "scenario terms {", "major"),
    ("measure accuracy", "measure more = mean(short)\nmeasure accuracy", "minor"),
    ("measure accuracy", "scenario third { ask a by candidate { prompt \"x\" }\n  score s = words(a.text) }\nmeasure accuracy", "minor"),
    ("title \"Demo\"", "title \"The demo\"", "patch"),
    ("scenario sums {", "scenario sums \"Sums\" {", "patch"),
    ("# nothing", "", None),
    ("role candidate compared", "role candidate compared  # who answers", None),
]  # fmt: skip


@each("old, new, part", CHANGES)
def test_a_change_is_as_weighty_as_what_it_changes(old: str, new: str, part: str | None) -> None:
    before, after = plan_of(compile_text(BEFORE)), plan_of(compile_text(BEFORE.replace(old, new)))
    found = find_changes(before, after)
    assert (found[0].part if found else None) == part


@pytest.mark.parametrize(
    ("version", "change", "wanted"),
    [
        ("1.2.3", "major", "2.0.0"),
        ("1.9.9", "major", "2.0.0"),
        ("2.0.0", "major", None),
        ("1.2.3", "minor", "1.3.0"),
        ("1.2.4", "minor", "1.3.0"),
        ("1.3.0", "minor", None),
        ("1.2.3", "patch", "1.2.4"),
        ("1.2.4", "patch", None),
        ("1.2.3", None, None),
    ],
)
def test_a_version_that_understates_a_change_is_refused(version: str, change: str | None, wanted: str | None) -> None:
    old, new = next(((old, new) for old, new, part in CHANGES if part == change), ("", ""))
    text = BEFORE.replace(old, new).replace('"1.2.3"', f'"{version}"')
    compilation = compile_spec("spec.tripos", lambda path: text, against=plan_of(compile_text(BEFORE)))
    if wanted is None:
        assert compilation.plan is not None
        return
    assert compilation.plan is None
    assert [item.code for item in compilation.diagnostics] == ["E0901"]
    assert wanted in (compilation.diagnostics[0].help or "")


def test_another_benchmark_is_not_compared() -> None:
    text = BEFORE.replace("benchmark demo", "benchmark other").replace("A word", "One word")
    compilation = compile_spec("spec.tripos", lambda path: text, against=plan_of(compile_text(BEFORE)))
    assert compilation.plan is not None
