"""A scenario that is like another one, and scenarios of a table, in `tripos plan` and in a run."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Command

SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset items from "items.jsonl" { question text, answer text secret }

rows kinds {
  | name | title   |
  | easy | "Easy"  |
  | calm | "Calm"  |
}

for each kind in kinds {
  scenario kind.name kind.title {
    over items as item
    ask reply by candidate { prompt "{{ kind.title }}: {{ item.question }}" }
    score right = contains(reply.text, item.answer)
    score brief = words(reply.text) < 20
  }
}

scenario hard like easy {
  ask reply by candidate { prompt "Hard: {{ item.question }}" }
  without score brief
  add { score long = words(reply.text) > 100 }
}
"""


def write(folder: Path) -> str:
    (folder / "items.jsonl").write_text('{"question": "2 + 2", "answer": "4"}\n', "utf-8")
    (folder / "sums.tripos").write_text(SPEC, "utf-8")
    return str(folder / "sums.tripos")


def test_a_plan_lists_the_changes_of_a_scenario(tripos: Command, tmp_path: Path) -> None:
    shown = tripos("plan", write(tmp_path)).out
    assert "`hard` is like `easy`, except: `ask reply`, + `score long`, - `score brief`" in " ".join(shown.split())
    assert "`calm` is like" not in shown


def test_a_repeated_scenario_runs_under_its_name(tripos: Command, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "store"))
    ran = tripos("run", write(tmp_path), "--model", "mock/careful", "--scenario", "calm", "--scenario", "hard", *store)
    assert ran.code == 0, ran.err
    rows = tripos("sql", "from sums.scores select distinct scenario, metric", "--format", "csv", *store).out
    assert sorted(rows.split()) == ["calm,brief", "calm,right", "hard,long", "hard,right", "scenario,metric"]
