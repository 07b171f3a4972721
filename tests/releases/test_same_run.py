"""A release measures what its sources measure: what a plan says in an order survives being frozen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tripos.cli.main import run_command
from tripos.releases.opening import open_release
from tripos.runs.compilation import find_spec
from tripos_compiler.language.plan_diff import find_changes
from tripos_compiler.plan import Plan, RecordType, TextType
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark ordered "1.0.0" {
  license   "CC-BY-4.0"
  languages en
}
role candidate compared
function graded from "own.py:graded"

dataset sums from "sums.jsonl" {
  question  text
  answer    text secret
}

scenario sums {
  over sums as item
  ask reply by candidate {
    prompt "{{ item.question }}"
    returns { thoughts text, result text }
  }
  score right = graded(reply.result, item.answer)
}

measure accuracy = mean(right)
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    folder = tmp_path / "ordered"
    folder.mkdir()
    (folder / "ordered.tripos").write_text(SPEC, "utf-8")
    (folder / "sums.jsonl").write_text('{"question": "6 * 7", "answer": "42"}\n', "utf-8")
    (folder / "own.py").write_text("def graded(zeta: str, alpha: str) -> bool:\n    return alpha == '42'\n")
    return folder


def compiled(folder: Path) -> Plan:
    plan = find_spec(str(folder)).compile().plan
    assert plan is not None
    return plan


def kept(given: Path, store: Path) -> list[Any]:
    assert run_command(["run", str(given), "--model", "mock/careful", "--store", str(store)]) == 0
    with connect(Store.open(store, create=False)) as connection:
        asked = connection.execute("select sample_id, messages, reply from main.samples").fetchall()
        return [*asked, *connection.execute("select score_id, metric, value from main.scores").fetchall()]


def test_a_release_asks_and_scores_as_its_working_tree_does(spec: Path, tmp_path: Path) -> None:
    assert run_command(["release", str(spec), "--to", str(tmp_path / "to")]) == 0
    released = kept(tmp_path / "to/ordered-1.0.0", tmp_path / "released")
    assert released == kept(spec, tmp_path / "tree")
    assert released[-1][1:] == ("right", 1.0)


def test_a_frozen_plan_has_fields_and_parameters_in_their_order(spec: Path, tmp_path: Path) -> None:
    assert run_command(["release", str(spec), "--to", str(tmp_path / "to")]) == 0
    plan = open_release(tmp_path / "to/ordered-1.0.0").plan()
    returns = plan.scenarios[0].ask("reply").returns
    assert isinstance(returns, RecordType)
    assert list(returns.fields) == ["thoughts", "result"]
    assert list(plan.plugins[0].parameters) == ["zeta", "alpha"]


def test_fields_that_are_asked_for_in_another_order_are_a_major_change(spec: Path) -> None:
    before = compiled(spec)
    text = SPEC.replace("{ thoughts text, result text }", "{ result text, thoughts text }")
    (spec / "ordered.tripos").write_text(text, "utf-8")
    [first, *_] = find_changes(before, compiled(spec))
    assert (first.part, first.kind) == ("major", "prompt")
    assert first.stale


def test_an_order_of_other_names_than_the_fields_is_refused() -> None:
    with pytest.raises(ValidationError, match="does not have the names"):
        RecordType.model_validate({"fields": {"a": TextType()}, "order": ["b"]})
