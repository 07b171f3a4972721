"""Aggregates of two columns where a panel gives one of them, or both: every verdict is a pair of its own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.compiler.compiling import compile_file, plan_of
from tests.warehouse.synthetic import Results, single
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark marks "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { essay text, mark 1..5 secret }
scorer clear(text: text) by judge { prompt "How clear is this? {{ text }}", gives 1..5 }
scorer kind(text: text) by judge { prompt "How kind is this? {{ text }}", gives 1..5 }
scenario essays {
  over item
  ask reply by candidate { prompt "{{ item.essay }}" }
  score clear = clear(reply.text)
  score kind  = kind(reply.text)
  score long  = words(reply.text)
  measure true   = quadratic_kappa(clear, item.mark)
  measure ranked = spearman(long, clear)
  measure both   = spearman(clear, kind)
  measure same   = accuracy(clear, item.mark)
}
"""
Marks = Sequence[float]


def kappa(said: Marks, true: Marks) -> float:
    """Return quadratically weighted kappa by its definition, over pairs of marks."""
    one, other = np.array(said), np.array(true)
    return 1 - float(((one - other) ** 2).mean() / ((one[:, None] - other[None, :]) ** 2).mean())


def test_each_verdict_of_a_panel_is_held_against_what_stands_beside_it(store: Store, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text('{"essay": "My holidays", "mark": 3}', "utf-8")
    (tmp_path / "spec.tripos").write_text(SPEC, "utf-8")
    plan = plan_of(compile_file(tmp_path / "spec.tripos"))
    dice, results = random.Random(6), Results(plan, judges=("j1", "j2"))
    marks: list[tuple[float, float]] = []
    lengths: list[tuple[float, float]] = []
    verdicts: list[tuple[float, float]] = []
    for at in range(40):
        item, true, length = f"i{at}", dice.randint(1, 5), dice.randint(3, 300)
        results.add("essays", "true.gold", item, true)
        results.add("essays", "long", item, length)
        for judge in ("j1", "j2"):
            if judge == "j2" and at % 7 == 0:
                continue
            clear = max(1, min(5, true + dice.choice([-2, -1, 0, 1]) - 2 * (judge == "j2")))
            kind = dice.randint(1, 5)
            results.add("essays", "clear", item, clear, evaluator=judge)
            results.add("essays", "kind", item, kind, evaluator=judge)
            marks.append((clear, true))
            lengths.append((length, clear))
            verdicts.append((clear, kind))
    results.write(store)
    assert single(store, plan, "essays.true").value == pytest.approx(kappa(*zip(*marks, strict=True)))
    assert single(store, plan, "essays.same").value == pytest.approx(sum(a == b for a, b in marks) / len(marks))
    for name, pairs in {"ranked": lengths, "both": verdicts}.items():
        row = single(store, plan, f"essays.{name}")
        assert row.value == pytest.approx(float(spearmanr(*zip(*pairs, strict=True)).statistic)), name
        assert (row.n, row.total) == (len(pairs), len(pairs)), name
