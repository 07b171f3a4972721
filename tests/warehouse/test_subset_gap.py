"""The gap between the items of a subset, such as those that are withheld, and the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit

from tests.conftest import Command
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

ITEMS = 30
PRIVATE = """select distinct (item.fields::json->>'number')::int from gaps.items as item
  join run_items using (item_id) where list_contains(run_items.subsets, 'private')"""
SPEC = """\
benchmark gaps "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { number integer, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.number }}" }
  score right = reply.text == item.answer
  score long  = words(reply.text)
}
subset private {
  take 10
  withheld
}
"""


@pytest.fixture
def store(tmp_path: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A model that learned the public items, and one that knows all alike."""
    monkeypatch.chdir(tmp_path)
    Path("gaps.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(json.dumps({"number": n, "answer": "x"}) for n in range(ITEMS)), "utf-8")
    done = once("run", "gaps.tripos", "--model", "baseline/constant:x")
    assert done.code == 0, done.err
    with connect(Store.open(tmp_path / "results", create=False)) as connection:
        private = {number for (number,) in connection.execute(PRIVATE).fetchall()}
    assert len(private) == 10
    replies = [
        json.dumps({"number": n, "model": model, "reply": "x" if right else "y and more"})
        for n in range(ITEMS)
        for model, right in (("lab/learned", n not in private), ("lab/fair", n % 3 > 0))
    ]
    Path("replies.jsonl").write_text("\n".join(replies), "utf-8")
    done = once("import", "samples", "replies.jsonl", "--spec", "gaps.tripos")
    assert done.code == 0, done.err
    return Store.open(tmp_path / "results", create=False)


def test_a_model_that_learned_the_public_items_has_a_gap_that_is_not_chance(store: Store) -> None:
    with connect(store) as connection:
        found = {row[0]: row[1:] for row in connection.execute(query("gap, low, high", "right")).fetchall()}
        counts = connection.execute(query("items_inside, items_outside", "right")).fetchall()
        none = connection.execute("from gaps.subset_gap('no such')").fetchall()
    assert found["lab/learned"][0] == 1 and found["lab/learned"][1] > 0.4
    assert found["lab/fair"][1] < 0 < found["lab/fair"][2]
    assert found["baseline/constant:x"][0] == 0 and found["baseline/constant:x"][1] < 0
    assert {row[1:] for row in counts} == {(10, 20)}
    assert none == []


def test_the_interval_is_welchs_with_an_item_at_either_end(store: Store) -> None:
    with connect(store) as connection:
        rows = connection.execute(
            f"""select value, (item.fields::json->>'number')::int in ({PRIVATE}) from gaps.scores as score
            join gaps.items as item using (item_id) where metric = 'right' and model = 'lab/fair'"""
        ).fetchall()
        [(_, gap, low, high)] = [
            row for row in connection.execute(query("gap, low, high", "right")).fetchall() if row[0] == "lab/fair"
        ]
    sides = [np.array([value for value, inside in rows if inside == which] + [0.0, 1.0]) for which in (False, True)]
    parts = [each.var(ddof=1) / len(each) for each in sides]
    df = sum(parts) ** 2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, sides, strict=True))
    reach = stdtrit(np.floor(df), 0.975) * np.sqrt(sum(parts))
    middle = sides[0].mean() - sides[1].mean()
    assert gap == pytest.approx(sides[0][:-2].mean() - sides[1][:-2].mean())
    assert (low, high) == pytest.approx((middle - reach, middle + reach))


def query(columns: str, metric: str) -> str:
    return f"select model, {columns} from gaps.subset_gap('private', metric := '{metric}')"
