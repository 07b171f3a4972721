"""Comparisons of five levels count by their margin, as in Arena-Hard, over a judge whose replies are odd."""

from __future__ import annotations

import random
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tests.runtime.small_runs import run_small
from tripos_runtime.models.base import Request
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.query.connection import add_functions

SPEC = """\
benchmark arena "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer better(question: text, one: text, two: text) by judge {
  prompt "{{ question }}\\nA: {{ one }}\\nB: {{ two }}"
  gives  choice("A>>B": 3, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -3)
}
scenario essay {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  compare duel using better(item.question, first.reply.text, second.reply.text)
}
measure won    = win_rate(duel)
measure strong = win_rate(duel, weight: margin)
"""
LEVELS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
SCORES = {"A>>B": [1.0] * 3, "A>B": [1.0], "A=B": [0.5], "B>A": [0.0], "B>>A": [0.0] * 3}
"""The scores that a verdict adds to the first model's, as Arena-Hard counts them (Li et al., 2024, section 5.1)."""
ODD = ("[[{0}]]", '{{"value": "{0}"}}', "My verdict is [[{0}]].", "**{0}**", "[[A>B]] or [[B>A]]", "Both are fine.")
ITEMS = 60


def test_a_strong_preference_counts_three_times(tmp_path: Path) -> None:
    dice = random.Random(3)
    meant = {(at, first): (dice.choice(LEVELS), dice.choice(ODD)) for at in range(ITEMS) for first in "ab"}

    def script(request: Request) -> str:
        text = request.messages[0].content
        found = re.search(r"Q(\d+)\nA: (\w)", text)
        if found is None:
            return request.model
        level, form = meant[int(found[1]), found[2]]
        return form.format(level)

    items = [{"question": f"Q{at}"} for at in range(ITEMS)]
    run = run_small(tmp_path / "run", SPEC, {"items.jsonl": items}, models=("a", "b"), script=script, judge="judge")
    rows = run.table("comparisons")
    assert len(rows) == 2 * ITEMS
    read = [(first, level) for (_, first), (level, form) in meant.items() if "{0}" in form]
    assert sum(row["status"] == "scored" for row in rows) == len(read)
    kept = [
        {
            **{name: row[name] for name in ("item_id", "evaluator", "first_model", "second_model", "value", "status")},
            **{name: row[name] for name in ("first_sample_id", "second_sample_id")},
            "scenario": "essay",
            "step": "duel",
            "choice": row["given"] and row["given"].strip('"'),
        }
        for row in rows
    ]
    with duckdb.connect() as connection:
        add_functions(connection)
        connection.register("given", pa.Table.from_pylist(kept))
        connection.execute("create schema arena")
        connection.execute(
            "create table arena.comparisons as select *, item_id as cluster_id, null::bigint as round from given"
        )
        found = {measure.name: evaluate(connection, run.plan, measure).rows for measure in run.plan.measures}
    plain: dict[str, list[float]] = {"a": [], "b": []}
    counted: dict[str, list[float]] = {"a": [], "b": []}
    for first, level in read:
        second = "b" if first == "a" else "a"
        for model, scores in ((first, SCORES[level]), (second, [1 - each for each in SCORES[level]])):
            plain[model].append(scores[0])
            counted[model] += scores
    for name, expected in (("won", plain), ("strong", counted)):
        for row in found[name]:
            assert row.value == pytest.approx(sum(expected[row.model]) / len(expected[row.model])), name
            assert row.low is not None and row.n == len(read)
