"""A change is followed by the long form of the tests that it can break."""

from __future__ import annotations

from tests.touched import AREAS, BENCHMARKS, ROOT, touched


def test_every_area_and_its_tests_are_there() -> None:
    assert [path for path in AREAS if not (ROOT / path).is_dir()] == []
    assert [path for tests in AREAS.values() for path in tests if not (ROOT / path).exists()] == []


def test_a_change_touches_the_tests_of_its_area_and_those_that_changed_themselves() -> None:
    assert touched(["docs/tutorial.md", "README.md"]) == ["tests/docs"]
    assert touched(["tests/reuse/edits.py", "warehouse/tripos_warehouse/sql.py"]) == sorted(
        ["tests/faults", "tests/kills", "tests/reuse", "tests/test_oracle.py", "tests/warehouse", *BENCHMARKS]
    )
    assert touched(["compiler/a.py", "tripos/lsp/b.py"]) == [
        "tests/compiler",
        "tests/language_server",
        "tests/reuse",
        "tests/runtime/test_generated_worlds.py",
    ]


def test_what_has_no_long_form_touches_nothing() -> None:
    assert touched(["README.md", "editors/vscode/package.json", "tests/lengths.py"]) == []
