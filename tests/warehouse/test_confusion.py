"""The tables behind figures: confusion of classes, the balance of a key, and the bins of probabilities."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_file, plan_of
from tests.conftest import Command
from tests.warehouse.synthetic import Results
from tripos_warehouse.measures.confusion import figure_tables, tables_json
from tripos_warehouse.report.text import figure_tables_text
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, key choice(A, B, C, D) secret, mark 1..3 secret }
scenario sums {
  over item
  ask reply by candidate {
    prompt  "{{ item.question }}"
    returns { letter choice(A, B, C, D), sure 0..100, mark 1..3 }
  }
  measure right = accuracy(reply.letter, item.key)
  measure kinds = f1(reply.letter, item.key)
  measure marks = quadratic_kappa(reply.mark, item.mark)
  measure brier = brier(reply.sure / 100, reply.letter == item.key)
  measure plain = mean(words(reply.letter))
}
"""


def test_a_table_counts_what_was_said_for_what_is_right(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "1 + 1?", "key": "B", "mark": 2}', "utf-8")
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    plan = plan_of(compile_file(tmp_path / "spec.tripos"))
    dice, results = random.Random(2), Results(plan, models=("m", "o"))
    said: dict[str, Counter[tuple[str, str | None]]] = {"m": Counter(), "o": Counter()}
    marks: Counter[tuple[int, int]] = Counter()
    sure: list[tuple[float, bool]] = []
    names = {step.name for step in plan.scenarios[0].steps}
    for at in range(200):
        key, item = dice.choice("AAAABCD"), f"i{at}"
        for model in ("m", "o"):
            letter = None if at % 17 == 3 else dice.choice("ABCD") if model == "m" else "C"
            chance, mark = dice.choice([0.0, 0.1, 0.25, 0.55, 1.0]), (dice.randint(1, 3), dice.randint(1, 3))
            values = {"right.values": letter, "right.gold": key, "kinds.values": letter, "kinds.gold": key}
            values |= {"marks.values": mark[0], "marks.gold": mark[1], "brier.chance": chance}
            values |= {"brier.true": None if letter is None else letter == key}
            for name, value in values.items():
                if name in names:
                    results.add("sums", name, item, value, model=model)
            said[model][key, letter] += 1
            if model == "m":
                marks[mark] += 1
                sure += [] if letter is None else [(chance, letter == key)]
    results.write(store)
    connection = connect(store)
    found = tables_json(figure_tables(connection, plan))
    assert [(each["measure"], each["model"]) for each in found["confusion"]] == [
        ("sums.right", "m"), ("sums.right", "o"), ("sums.marks", "m"), ("sums.marks", "o"),
    ]  # fmt: skip
    for table in found["confusion"][:2]:
        counts = said[table["model"]]
        assert table["counts"] == [[counts[true, each] for each in ("A", "B", "C", "D", None)] for true in "ABCD"]
        assert sum(table["items"]) == 200 and "A is right in" in table["remark"]
    assert found["confusion"][2]["classes"] == ["1", "2", "3"] and found["confusion"][2]["remark"] is None
    assert found["confusion"][2]["counts"] == [[marks[one, true] for one in (1, 2, 3)] + [0] for true in (1, 2, 3)]
    bins = found["reliability"][0]["bins"]
    assert [(each["low"], each["high"]) for each in bins] == [(0, 0.1), (0.2, 0.3), (0.5, 0.6), (0.9, 1)]
    first = [(chance, true) for chance, true in sure if chance <= 0.1]
    assert bins[0]["n"] == len(first)
    assert bins[0]["mean"] == pytest.approx(sum(chance for chance, _ in first) / len(first))
    assert bins[0]["share"] == pytest.approx(sum(true for _, true in first) / len(first))
    text = figure_tables_text(figure_tables(connection, plan), 80)
    assert "no value" in text and max(map(len, text.split("\n"))) <= 80


def test_a_balanced_key_has_no_remark_and_many_classes_no_table(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f'{{"question": "word {at}", "key": "{"ABCD"[at % 4]}", "word": "w{at}"}}\n' for at in range(24))
    (tmp_path / "items.jsonl").write_text(rows, "utf-8")
    spec = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, key choice(A, B, C, D) secret, word text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns { letter choice(A, B, C, D), word text } }
  measure right = accuracy(reply.letter, item.key)
  measure words = accuracy(reply.word, item.word)
}
"""
    (tmp_path / "spec.tripos").write_text(spec, "utf-8")
    assert tripos("run", "spec.tripos", "--model", "mock/careful").code == 0
    done = tripos("report", "--confusion")
    assert "sums.right, mock/careful: what is right (rows)" in done.out and "unbalanced" not in done.out
    assert "classes are too many for a table" in done.out
    assert tripos("report", "--json", "--confusion").data["confusion"][0]["items"] == [6, 6, 6, 6]
    assert "confusion" not in tripos("report", "--json").data
    assert tripos("report", "--confusion", "--format", "md").code == 2


def test_classes_that_are_integers_are_in_numerical_order(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"question": "1 + 1?", "key": "B", "mark": 2}', "utf-8")
    (tmp_path / "spec.tripos").write_text(SPEC.replace("mark 1..3", "mark 1..10"), "utf-8")
    plan = plan_of(compile_file(tmp_path / "spec.tripos"))
    results = Results(plan, models=("m",))
    for mark in (9, 10, 2, 1):
        results.add("sums", "marks.values", f"i{mark}", mark, model="m")
        results.add("sums", "marks.gold", f"i{mark}", mark, model="m")
    results.write(store)
    [table] = tables_json(figure_tables(connect(store), plan))["confusion"]
    assert table["classes"] == ["1", "2", "9", "10"]
    assert table["counts"] == [[int(row == column) for column in range(4)] + [0] for row in range(4)]
