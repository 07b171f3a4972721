"""A change is followed by the long tests that it can break, and no test is long without a change that brings it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from tests.each import each
from tests.long_tests import KEPT, LONG, ROOT, TABLE, failed_last, is_long
from tests.mutants.run import LEGS, place_of, read_leg, read_mutants
from tests.touched import AREAS, drawn, marked, touched

SOURCES = ("compiler/", "docs/", "runtime/", "specs/", "tripos/", "warehouse/")


def test_every_area_and_its_tests_are_there() -> None:
    assert [path for path in AREAS if not (ROOT / path).exists()] == []
    assert [path for tests in AREAS.values() for path in tests if not (ROOT / path).exists()] == []


@each("test", LONG)
def test_every_long_test_is_there_and_guards_sources_that_are(test: str) -> None:
    path, _, name = test.partition("::")
    assert (ROOT / path).exists()
    assert not name or re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    assert [source for source in LONG[test] if not (ROOT / source).exists()] == []
    assert any(source.startswith(SOURCES) for source in LONG[test]), "no change of a source runs it"


@each("path", KEPT)
def test_what_the_short_form_keeps_is_there_and_would_be_long(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    for name in KEPT[path]:
        function = f"test_{name.partition('[')[0]}"
        assert re.search(rf"^def {function}\(", text, re.MULTILINE), name
        assert {path, f"{path}::{function}"} & set(LONG), name
        assert not is_long(f"{path}::test_{name}")


def test_a_long_test_stands_in_one_row() -> None:
    every = [test for row in TABLE["long"] for test in row["tests"]]
    assert sorted(every) == sorted(LONG)


def test_every_test_of_which_cases_are_marked_follows_an_area() -> None:
    reached = {path for tests in AREAS.values() for place in tests for path in marked(place)}
    assert sorted(set(marked("tests")) - reached) == []


def test_a_table_row_covers_its_tests_and_their_cases() -> None:
    assert is_long("tests/kills/test_kills.py")
    assert is_long("tests/kills/test_kills.py::test_any[1]")
    assert is_long("tests/plots/test_drawings.py::test_any")
    assert is_long("tests/faults/test_network.py::test_a_run_does_what_the_table_promises[other]")
    assert not is_long("tests/faults/test_network.py")
    assert is_long("tests/view/test_view_page.py::test_every_page_draws_and_breaks_no_rule[a]")
    assert not is_long("tests/view/test_view_page.py")
    assert not is_long("tests/view/test_view_page.py::test_the_page_that_ships_asks_for_nothing_from_elsewhere")


def test_a_change_touches_the_tests_of_its_area_and_those_that_changed_themselves() -> None:
    assert "tests/docs/test_site.py" in touched(["docs/tutorials/first-benchmark.md", "README.md"])
    assert {"tests/bucket/test_kills.py", "tests/bucket/test_model.py"} <= set(touched(["tests/bucket/model.py"]))
    assert touched(["tests/test_oracle.py"]) == ["tests/test_oracle.py"]
    assert touched(["tests/docs/test_site.py"]) == ["tests/docs/test_site.py"]
    found = touched(["warehouse/tripos_warehouse/store/journal.py"])
    assert {"tests/kills/test_kills.py", "tests/kills/test_worker_kills.py"} <= set(found)
    assert not any(path.startswith(("tests/docs/test_site", "tests/compiler", "tests/plots")) for path in found)


def test_a_file_that_runs_as_a_whole_brings_no_test_of_it_by_itself() -> None:
    found = touched(
        ["tripos/view/server.py", "docs/tutorials/first-benchmark.md", "runtime/tripos_runtime/drivers/live.py"]
    )
    assert not [each for each in found if "::" in each and each.partition("::")[0] in found]


def test_what_has_no_long_form_touches_nothing() -> None:
    assert touched(["README.md", "editors/vscode/package.json", "tests/lengths.py"]) == []


def test_a_change_of_the_file_of_a_mutant_runs_all_tests_that_should_kill_it() -> None:
    legs = {leg: read_leg(leg, ROOT) for leg in LEGS}
    for mutant in read_mutants():
        path = place_of(mutant, legs[mutant.leg])[0].relative_to(ROOT).as_posix()
        run = touched([path])
        for test in mutant.tests:
            long = {
                each for each in LONG if test.startswith(f"{each}/") or f"{each}/".startswith((f"{test}/", f"{test}::"))
            }
            left = {each for each in long | set(marked(test)) if not {each, each.partition("::")[0]} & set(run)}
            assert not left, f"{path}: {mutant.breaks!r} may not be found without {left}"


def test_another_commit_has_another_order_and_the_tests_of_a_file_stay_together() -> None:
    tests = sorted(LONG)
    orders = {tuple(drawn(tests, str(seed))) for seed in range(5)}
    assert len(orders) == 5
    for order in orders:
        assert sorted(order) == tests
        files = [test.partition("::")[0] for test in order]
        assert sum(one != other for one, other in pairwise(files)) == len(set(files)) - 1


def test_the_second_try_of_ci_runs_what_failed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n\n@pytest.mark.parametrize('case', ['a b', 'c'])\ndef test_case(case):\n    assert case == 'c'\n"
    )
    (tmp_path / "test_two.py").write_text("def test_good():\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plain = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def pytest_says(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "1", "--dist", "loadfile", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=plain)

    first = pytest_says("test_two.py::test_good", "test_one.py::test_case")
    assert first.returncode == 1, first.stdout
    failed = failed_last(tmp_path / ".pytest_cache")
    assert failed == ["test_one.py::test_case[a b]"]
    again = pytest_says(*failed)
    assert (again.returncode, "1 failed in" in again.stdout) == (1, True), again.stdout
