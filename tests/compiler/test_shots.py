"""Shots in a plan: what a worked example prints, and which rows may be shown."""

from __future__ import annotations

from compiling import ROOT, compile_file, plan_of

from tripos_compiler.language.references import paths_in
from tripos_compiler.plan import Ask, Hole, Scenario

CASES = ROOT / "tests" / "cases" / "shots" / "valid"


def scenario(name: str) -> Scenario:
    return next(each for each in plan_of(compile_file(CASES / "own_prompt.tripos")).scenarios if each.name == name)


def printed(ask: Ask) -> set[tuple[str, ...]]:
    """Return what the first shots of an ask look up in their prompt."""
    holes = [part for part in ask.shots[0].prompt["en"].parts if isinstance(part, Hole)]
    return {path for hole in holes for path in paths_in(hole.expr)}


def test_what_a_let_names_is_that_of_the_shots_row_in_its_prompt_and_that_of_the_row_at_hand_in_its_condition() -> None:
    (ask,) = [step for step in scenario("named").steps if isinstance(step, Ask) and step.name == "answer"]
    assert printed(ask) == {("worked", "question"), ("worked", "level")}
    assert ask.shots[0].where is not None
    assert paths_in(ask.shots[0].where) == {("q", "question")}


def test_what_is_revealed_in_the_own_prompt_needs_no_secret_in_the_shots_row() -> None:
    (ask,) = [step for step in scenario("shown").steps if isinstance(step, Ask)]
    assert printed(ask) == {("worked", "question"), ("worked", "answer")}
    assert list(paths_in(ask.shots[0].reply["en"].parts[0].expr)) == [("worked", "level")]  # type: ignore[union-attr]
