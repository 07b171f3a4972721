"""Pairs of versions of a benchmark, and the bump that each demands."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

import pytest

from tests.each import each
from tripos.runs.compilation import find_spec
from tripos_compiler.language.plan_diff import WEIGHTS, find_changes
from tripos_compiler.plan import Plan
from tripos_warehouse.report.comparison import spec_changes

COMPAT = Path(__file__).parents[1] / "compat"
DEMANDED = tomllib.loads((COMPAT / "demanded.toml").read_text("utf-8"))


@functools.cache
def plan_in(side: str, name: str) -> Plan:
    compilation = find_spec(str(COMPAT / side / name)).compile()
    assert compilation.plan is not None, [each.message for each in compilation.diagnostics]
    return compilation.plan


def test_every_pair_says_what_it_demands() -> None:
    for side in ("previous", "current"):
        assert {path.name for path in (COMPAT / side).iterdir()} == DEMANDED.keys()
    assert {each["part"] for each in DEMANDED.values()} == {*WEIGHTS, "none"}


@pytest.mark.parametrize("name", DEMANDED)
def test_a_change_demands_the_bump_of_its_kind(name: str) -> None:
    found = find_changes(plan_in("previous", name), plan_in("current", name))
    wanted = DEMANDED[name]
    assert (found[0].part if found else "none") == wanted["part"], [each.text for each in found]
    weightiest = {each.kind for each in found if each.part == wanted["part"]}
    assert wanted["kind"] in weightiest | ({""} if not found else set()), [each.text for each in found]


@each("name", [name for name, each in DEMANDED.items() if each["part"] != "major"])
def test_no_result_becomes_stale_where_figures_may_be_compared(name: str) -> None:
    before, after = plan_in("previous", name), plan_in("current", name)
    assert before.fingerprints <= after.fingerprints
    assert not [each for each in find_changes(before, after) if each.stale]


@each("name", DEMANDED)
def test_a_comparison_of_runs_tells_what_can_change_a_score(name: str) -> None:
    before, after = plan_in("previous", name), plan_in("current", name)
    told = [line for line in spec_changes(before, after) if line.where != "version"]
    match DEMANDED[name]["part"]:
        case "major":
            assert told
        case "patch" | "none":
            assert not told


def test_results_that_count_no_longer_are_no_matter_of_words_whoever_misses_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tripos_compiler.language.plan_diff.step_changes", lambda *plans: iter(()))
    [found] = find_changes(plan_in("previous", "temperature"), plan_in("current", "temperature"))
    assert (found.part, found.kind) == ("major", "benchmark")
    assert found.stale
