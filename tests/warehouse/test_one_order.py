"""Figures are bit for bit those of a fresh store, whatever runs and parts their rows came in by."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.lengths import sized
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark bits "1.0.0" { languages en }
role candidate compared
axis style { plain, long }
dataset row from "rows.jsonl" { text text, topic text, weight number, key topic }
dataset item from row { context style }
scenario near {
  context style
  over item as q
  ask reply by candidate { prompt "{{ style }} {{ q.text }}", samples 3, temperature 1 }
  score like = edit_similarity(reply.text, q.text)
  score over = words(reply.text) / 7
  measure whole    = mean(like)
  measure by_style = mean(like) by style
  measure weighed  = weighted_mean(like, q.weight)
  measure cells    = mean(mean(over) by style)
  measure spread   = stdev(like)
  measure ratio    = whole / spread
  measure middle   = median(over)
}
"""
MODELS = ("mock/careful", "mock/careless")


def shown(tripos: Command, folder: Path, store: str) -> dict[str, Any]:
    """Return all figures of the last run."""
    report = json.loads(tripos("report", "--json", "--store", store).out)
    board = json.loads(tripos("leaderboard", "bits", "--json", "--store", store).out)
    compared = json.loads(tripos("compare", "--json", "--store", store).out)
    with connect(Store.open(folder / store, create=False)) as connection:
        means = connection.execute("from bits.means()").fetchall()
    boards = [[{k: v for k, v in each.items() if k != "runs"} for each in one["models"]] for one in board["boards"]]
    return {
        "measures": report["measures"],
        "clusters": report["clusters"],
        "boards": boards,
        "differences": [section for name, section in compared.items() if name == "sections"],
        "means": means,
    }


@pytest.mark.parametrize("seed", range(sized(1, 12)))
def test_figures_are_those_of_a_fresh_store_to_the_last_bit(
    seed: int, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dice = random.Random(seed)
    rows = [
        {"text": " ".join(dice.choices(["sun", "rain", "wind", "cloud"], k=dice.randint(3, 9))) + f" {n}"}
        | {"topic": f"t{dice.randint(1, 6)}", "weight": dice.choice([0.1, 0.7, 1.3])}
        for n in range(16)
    ]
    Path("bits.tripos").write_text(SPEC, "utf-8")
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    run = ("run", "bits.tripos", "--model", ",".join(MODELS))
    assert tripos(*run, "--store", "fresh").code == 0
    for _ in range(dice.randint(1, 4)):
        some = ("run", "bits.tripos", "--model", dice.choice(MODELS), "--limit", str(dice.randint(1, 30)))
        assert tripos(*some, "--seed", str(dice.randint(1, 9)), "--store", "grown").code == 0
        if dice.random() < 0.5:
            assert tripos("store", "compact", "--store", "grown").code == 0
    assert tripos(*run, "--store", "grown").code == 0
    assert shown(tripos, tmp_path, "grown") == shown(tripos, tmp_path, "fresh")
