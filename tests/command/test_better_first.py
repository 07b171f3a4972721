"""The first model of a board is the better one, whatever it is ranked by."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Literal

import pytest

from tests.conftest import Command
from tests.lengths import spread
from tripos_compiler.language.aggregates import AGGREGATES

SURE = "choose(reply.even, reply.sure / 100, 1 - reply.sure / 100)"
ARGUMENTS = {
    "texts": "reply.text, item.text",
    "values": "reply.even, item.even",
    "chances": f"{SURE}, item.even",
    "scores": f"{SURE}, item.even",
}
"""The arguments of an aggregate by the kind of the first."""
OF_PAIRS = ("length_controlled", "win_rate", "bradley_terry")
CALLS = {
    f"{name}({ARGUMENTS[aggregate.takes]})": aggregate
    for name, aggregate in AGGREGATES.items()
    if aggregate.better is not None and name not in OF_PAIRS
}
FIGURES: dict[str, Literal["higher", "lower"]] = {
    **{call: aggregate.better for call, aggregate in CALLS.items() if aggregate.better is not None},
    **{f"100 - {call}": "higher" if aggregate.better == "lower" else "lower" for call, aggregate in CALLS.items()},
}
SPEC = """benchmark guess "1.0.0" { languages en, headline NAMES }
role candidate compared
dataset item from "items.jsonl" { name text, even bool, points 1..3, text text, key name }
scenario tried {
  over item
  ask reply by candidate { prompt "{{ item.name }}", returns { even bool, sure 0..100, text text } }
  score right = reply.even == item.even
"""


@pytest.mark.parametrize("seed", spread(range(8), 1))
def test_the_first_model_of_a_board_is_the_better_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn, names = random.Random(seed), [f"tried.m{place}" for place in range(len(FIGURES))]
    items = [
        {"name": f"q{n}", "even": n % 2 == 0, "points": n % 3 + 1, "text": f"the {n}th long line of text"}
        for n in range(40)
    ]
    right = {"better": drawn.sample(range(40), 36), "worse": drawn.sample(range(40), drawn.randint(12, 26))}
    for model, places in right.items():
        rows = []
        for n, item in enumerate(items):
            text = item["text"] if n in places else f"a {n}th one"
            value = {"even": item["even"] if n in places else not item["even"], "sure": 90, "text": text}
            rows.append({"item": item["name"], "reply": value})
        Path(f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    measures = "".join(f"  measure m{place} = {figure}\n" for place, figure in enumerate(FIGURES))
    Path("guess.tripos").write_text(SPEC.replace("NAMES", ", ".join(names)) + measures + "}\n", "utf-8")
    models = ",".join(f"mock/replies:{model}.jsonl" for model in right)
    done = tripos("run", "guess.tripos", "--model", models)
    assert done.code == 0, done.err
    boards = json.loads(tripos("leaderboard", "--json").out)["boards"]
    found = {
        figure: (board["models"][0]["model"], "lower" if board["lower_is_better"] else "higher")
        for figure, board in zip(FIGURES, boards, strict=True)
    }
    assert found == {figure: ("mock/replies:better.jsonl", better) for figure, better in FIGURES.items()}
    report = json.loads(tripos("report", "--json").out)
    shown = {measure["name"]: measure["lower_is_better"] for measure in report["measures"]}
    assert [shown[name] for name in names] == [better == "lower" for better in FIGURES.values()]
