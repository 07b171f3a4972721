"""A change is followed by the long form of the tests that it can break."""

from __future__ import annotations

from tests.touched import AREAS, ROOT, touched


def test_every_area_and_its_tests_are_there() -> None:
    assert [path for path in AREAS if not (ROOT / path).is_dir()] == []
    assert [path for tests in AREAS.values() for path in tests if not (ROOT / path).exists()] == []


def test_a_change_touches_the_tests_of_its_area_and_those_that_changed_themselves() -> None:
    assert touched(["docs/tutorial.md", "README.md"]) == ["tests/docs"]
    assert touched(["tests/reuse/edits.py", "warehouse/tripos_warehouse/sql.py"]) == [
        "tests/kills",
        "tests/reuse",
        "tests/test_edubench_tables.py",
        "tests/warehouse",
    ]
    assert touched(["compiler/a.py", "runtime/b.py"]) == ["tests/compiler", "tests/kills", "tests/runtime"]


def test_what_has_no_long_form_touches_nothing() -> None:
    assert touched(["README.md", "editors/vscode/package.json", "tests/lengths.py"]) == []
