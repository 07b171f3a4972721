"""`tripos run specs/*` and its like: what the shell makes of the pattern is the four benchmarks and what they share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos.runs.compilation import find_spec, has_shared_parts

ROOT = Path(__file__).parents[2]
BENCHMARKS = ["specs/cjeval", "specs/edubench", "specs/mathtutorbench", "specs/teachbench"]
MODELS = (
    "--model",
    "mock/careful,mock/careless",
    "--role",
    "critic=mock/reward",
    "--limit",
    "1",
)


@pytest.fixture
def pattern(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a shell in the repository puts in the place of `specs/*`."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    return sorted(path.as_posix() for path in Path("specs").glob("*"))


def test_specs_holds_the_four_benchmarks_and_what_they_share(pattern: list[str]) -> None:
    assert [path for path in pattern if not has_shared_parts(Path(path))] == BENCHMARKS
    assert [path for path in pattern if has_shared_parts(Path(path))] == ["specs/common", "specs/gallery"]


@pytest.mark.long
def test_all_four_run_and_a_second_run_asks_nothing(pattern: list[str], tripos: Command, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "results"))
    done = tripos("run", *pattern, *MODELS, *store)
    assert done.code == 0, done.err
    assert [line.split() for line in done.err.splitlines()[-4:]] == [[path, "good"] for path in BENCHMARKS]
    assert "specs/common" not in done.err
    assert "specs/gallery" not in done.err
    assert "all boards, with ranks" in done.out
    again = tripos("run", *pattern, *MODELS, *store)
    told = [line for line in again.err.splitlines() if line.startswith("finished")]
    assert (again.code, len(told)) == (0, 4)
    assert [line for line in told if not line.startswith("finished: 0 calls asked")] == []
    names = {each["benchmark"] for each in tripos("list", "--json", *store).data}
    assert names == {"cjeval", "edubench", "mathtutorbench", "teachbench"}


def test_all_four_are_checked(pattern: list[str], tripos: Command) -> None:
    done = tripos("check", *pattern)
    assert (done.code, done.err) == (0, "")
    assert [line.partition(":")[0] for line in done.out.splitlines()] == BENCHMARKS


def test_all_four_are_planned_within_80_columns(pattern: list[str], tripos: Command) -> None:
    done = tripos("plan", *pattern)
    assert done.code == 0, done.err
    assert len([line for line in done.out.splitlines() if re.search(r" \d+\.0\.0   plan ", line)]) == len(BENCHMARKS)
    assert max(map(len, done.out.splitlines())) <= 80
    assert [line for line in done.err.splitlines() if line.startswith("[")] == [
        f"[{number}/4] {path}" for number, path in enumerate(BENCHMARKS, 1)
    ]


def test_several_plans_are_not_printed_as_json(pattern: list[str], tripos: Command) -> None:
    done = tripos("plan", *pattern, "--json")
    assert (done.code, done.out) == (2, "")
    assert "`--json` prints one plan" in done.err


def test_what_is_shared_is_no_benchmark_by_itself(pattern: list[str], tripos: Command) -> None:
    done = tripos("check", "specs/common")
    assert done.code == 2
    assert "it holds none" in done.err


@pytest.mark.parametrize("path", sorted((ROOT / "specs" / "common").glob("*.tripos")), ids=lambda path: path.stem)
def test_a_shared_file_is_used(path: Path) -> None:
    users = [spec for spec in (ROOT / "specs").rglob("*.tripos") if f"common/{path.name}" in spec.read_text("utf-8")]
    users += [page for page in (ROOT / "docs").rglob("*.md") if f'use "{path.name}"' in page.read_text("utf-8")]
    beside = [spec for spec in path.parent.glob("*.tripos") if f'use "{path.name}"' in spec.read_text("utf-8")]
    assert len(users) + len(beside) > 0


def test_what_a_benchmark_does_not_use_of_a_shared_file_is_not_in_its_plan() -> None:
    plan = find_spec(str(ROOT / "specs" / "cjeval")).compile().plan
    assert plan is not None
    assert {scorer.name for scorer in plan.scorers} == {"marker"}
