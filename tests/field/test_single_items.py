"""A mean over classes of which one has a single item says so: `check` of the rows, the report of what was scored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.lowering.measures import measures
from tripos_compiler.plan import Expr

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, kind text, odd text, id text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = length(reply.text) > 0
  measure macro = mean(mean(right) by item.kind)
  measure each  = mean(mean(right) by item.id)
  measure pairs = mean(mean(right) by item.kind, item.odd)
}
"""


def run(folder: Path, tripos: Command, kinds: str, *more: str) -> tuple[str, str]:
    """Return what `check` and `report` say of rows of these kinds."""
    rows = [
        {"question": f"What is {n}?", "kind": kind, "odd": "yn"[n % 2], "id": f"i{n}"} for n, kind in enumerate(kinds)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "spec.tripos").write_text(SPEC, "utf-8")
    checked = tripos("check", "spec.tripos")
    assert tripos("run", "spec.tripos", "--model", "mock/careful", *more).code == 0
    return checked.out + checked.err, " ".join(tripos("report").out.split())


@pytest.mark.parametrize(("kinds", "single"), [("aab", "b"), ("abbc", "a, c"), ("aabb", ""), ("abc", "")])
def test_classes_of_a_single_item_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, kinds: str, single: str
) -> None:
    monkeypatch.chdir(tmp_path)
    checked, report = run(tmp_path, tripos, kinds)
    count = len(single.split(", ")) if single else 0
    assert ("W0629" in checked) == bool(single)
    shown = f"{count} of {len(set(kinds))} ({single})"
    said = f"`sums.macro` is a mean over `item.kind`; cells with a single item: {shown}; the item counts as much as all"
    assert (said in report) == bool(single)
    assert "sums.each` is a mean" not in report


def test_a_report_counts_the_items_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> None:
    monkeypatch.chdir(tmp_path)
    checked, report = run(tmp_path, tripos, "aabb", "--limit", "3")
    assert "W0629" not in checked
    assert "cells with a single item: 1 of 2 (b)" in report


def test_the_names_of_a_cell_stand_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> None:
    """The kinds `a` and `b` have two rows in a cell each, and `c` has one row in each of two cells."""
    monkeypatch.chdir(tmp_path)
    _, report = run(tmp_path, tripos, "ababcc")
    assert "cells with a single item: 2 of 4 (c, n; c, y)" in report


def test_the_condition_of_a_scenario_is_evaluated_once_for_all_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = SPEC.replace("  over item\n", '  over item where item.kind != "z"\n')
    spec += "".join(f"measure top_{n} = mean(mean(right) by item.kind)\n" for n in range(5))
    rows = [{"question": f"{n}?", "kind": kind, "odd": "y", "id": f"i{n}"} for n, kind in enumerate("aabz")]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "spec.tripos").write_text(spec, "utf-8")
    times = []

    def counted(expr: Expr, names: Mapping[str, Any]) -> Any:
        times.append(names)
        return evaluate(expr, names)

    monkeypatch.setattr(measures, "evaluate", counted)
    done = tripos("check", "spec.tripos")
    assert (done.out + done.err).count("W0629") == 7
    assert len(times) == len(rows)
