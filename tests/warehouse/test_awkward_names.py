"""Axes and arms that are called like something in the SQL of a measure: the figures are those of any other name."""

from __future__ import annotations

import re
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import tripos_warehouse.measures.query as sql_room
from tests.compiler.compiling import compile_text, plan_of
from tests.conftest import Command
from tests.warehouse.synthetic import Results
from tripos_compiler.lowering.declarations import RESERVED_AXES
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis NAME1 { easy, hard }
arm NAME2 { none, some }
scorer rubric(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scenario sums {
  context NAME1
  arms NAME2
  ask answer by candidate { prompt "Add. {{ NAME1 }}", system "Think." when NAME2 == some }
  score mark = rubric(answer.text)
}
measure corrected_mean = mean(mark) corrected by people by NAME1, NAME2
measure lowest         = min(mean(mark) by NAME1, NAME2) by NAME1
measure middle         = median(mark) by NAME2
measure gain           = middle - median(mark)
measure spread         = stdev(mark) by NAME1
measure agreed         = krippendorff_alpha(mark) across judge by NAME2
measure paired         = mean(mark, missing: paired) by NAME2
"""
FOLDER = Path(sql_room.__file__).parent
WORDS = sorted(
    {word for path in FOLDER.glob("*.py") for word in re.findall(r"\b[a-z_]{1,16}\b", path.read_text())}
    - RESERVED_AXES
    - {"language"}
)
"""Every word in the modules that write SQL, and so all names that their queries have."""


def figures(folder: Path, first: str, second: str) -> dict[str, list[Any]] | None:
    """Return all values of the measures, with an axis and an arm of these names; None where a spec cannot have them."""
    compiled = compile_text(SPEC.replace("NAME1", first).replace("NAME2", second))
    if compiled.plan is None:
        return None
    plan = plan_of(compiled)
    results = Results(plan, judges=("j1", "j2"))
    for item in range(8):
        name = f"i{item}"
        results.item("sums", name, axes={first: "hard" if item % 2 else "easy"})
        for arm in ("none", "some"):
            for judge in ("j1", "j2"):
                mark = float(1 + (item * 3 + (arm == "some") + (judge == "j2") * item) % 5)
                results.add("sums", "mark", name, mark, evaluator=judge, arms={second: arm})
            results.add("sums", "mark", name, float(1 + item % 4), evaluator="human/a", arms={second: arm}, drawn_of=16)
    store = Store.open(folder, create=True)
    results.write(store)
    with connect(store) as connection:
        return {
            each.name: [rounded(astuple(row)) for row in evaluate(connection, plan, each).rows]
            for each in plan.measures
        }


def rounded(row: Any) -> Any:
    """Return a row with numbers of ten digits: what rows are added up in which order is no matter of names."""
    if isinstance(row, tuple):
        return tuple(map(rounded, row))
    return round(row, 10) if isinstance(row, float) else row


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    found = figures(tmp_path_factory.mktemp("results"), "level", "hint")
    assert found is not None
    value = [field.name for field in fields(MeasureRow)].index("value")
    assert all(rows and rows[0][value] is not None for rows in found.values())
    return found


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("shown", "below")
@example("known", "scores")
@example("value_", "bearing")
@example("classes", "cells1")
@given(st.sampled_from(WORDS), st.sampled_from(WORDS))
def test_an_axis_and_an_arm_may_be_called_like_what_a_query_has(
    tmp_path_factory: pytest.TempPathFactory, plain: dict[str, list[Any]], first: str, second: str
) -> None:
    if first == second:
        second = f"{second}_"
    found = figures(tmp_path_factory.mktemp("results"), first, second)
    assert found is None or found == plain


ARMED = """
benchmark armed "1.0.0" { languages en }
role candidate compared
arm NAME { none, some }
dataset question from "questions.jsonl" { text text }
scenario words {
  over question
  arms NAME
  ask reply by candidate { prompt "{{ question.text }}", system "Be polite." when NAME == some, samples 2 }
  score size = length(reply.text)
  measure mean_size = mean(size)
}
"""


@pytest.mark.parametrize("name", ["item", "sample", "slot", "same"])
def test_no_name_of_an_arm_changes_a_report_a_comparison_or_a_board(name: str, tmp_path: Path, tripos: Command) -> None:
    """`sample` made every two models equal on a board, and `item` ended reports."""
    (tmp_path / "questions.jsonl").write_text("".join(f'{{"text": "Say {at}."}}\n' for at in range(8)), "utf-8")

    def told(arm: str) -> list[Any]:
        spec, store = tmp_path / f"{arm}.tripos", str(tmp_path / arm)
        spec.write_text(ARMED.replace("NAME", arm), "utf-8")
        done = tripos("run", str(spec), "--model", "mock/careful,mock/careless", "--store", store)
        assert done.code == 0, done.err
        [board] = tripos("leaderboard", "--json", "--store", store).data["boards"]
        pairs = tripos("compare", "--json", "--store", store).data
        report = tripos("report", "--json", "--store", store).data
        ranks = [(each["model"], each["letters"], each["value"]) for each in board["models"]]
        return [ranks, pairs["pairs"], pairs["rows"], report["measures"]]

    assert told(name) == told("tone")
