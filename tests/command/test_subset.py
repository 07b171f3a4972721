"""`--subset`: a run, its plan and an annotation of the items that a subset of the spec draws."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
dataset item from "items.jsonl" {
  question  text
  kind      text
  level
}
scorer clear(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scenario sums {
  context level
  over item
  ask reply by candidate { prompt "{{ level }} {{ item.question }}" }
  score clear = clear(reply.text)
}
scenario words {
  context level
  over item
  ask reply by candidate { prompt "In words, {{ level }}: {{ item.question }}" }
  score clear = clear(reply.text)
}
subset some {
  take   4 per scenario
  spread over level, item.kind
  seed   3
}
measure clarity = mean(clear)
"""
RUN = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair")
BY = ("--model", "mock/careful", "--role", "author=mock/author")
MADE = """\
benchmark two "1.0.0" { languages en }
role candidate compared
role author
axis level { easy, hard }
dataset item by author {
  context level
  count 6
  prompt "Write something {{ level }}."
  returns { question text }
}
scenario s {
  context level
  over item
  ask reply by candidate { prompt "{{ level }} {{ item.question }}" }
  score long = words(reply.text) > 3
}
measure m = mean(long)
subset few { take 2 per level
  seed 5
}
"""
ASK = "select scenario, item_id, level, fields ->> '$.kind' as kind from quiz.items order by all"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rows = [
        {"question": f"{n} + {n}", "kind": "ab"[n % 2], "level": "easy" if n % 4 < 2 else "hard"} for n in range(20)
    ]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    Path("quiz.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def items(tripos: Command) -> list[dict[str, str]]:
    assert tripos("sql", ASK, "-o", "items.json").code == 0
    found: list[dict[str, str]] = json.loads(Path("items.json").read_text("utf-8"))
    return found


def test_a_run_asks_about_the_items_of_the_subset_alone(spec: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--subset", "some", "--json")
    assert (done.code, done.data["calls"]["asked"]) == (0, 16)
    found = items(tripos)
    for scenario in ("sums", "words"):
        own = [(each["level"], each["kind"]) for each in found if each["scenario"] == scenario]
        assert sorted(own) == [("easy", "a"), ("easy", "b"), ("hard", "a"), ("hard", "b")]
    assert tripos(*RUN, "--subset", "some", "--json").data["calls"]["asked"] == 0
    assert tripos(*RUN, "--json").data["calls"]["asked"] == 2 * (40 - 8)


def test_a_plan_counts_the_items_of_the_subset(spec: Path, tripos: Command) -> None:
    shown = tripos("plan", "quiz.tripos", "--subset", "some").out.splitlines()
    assert next(line.split()[2:] for line in shown if line.startswith("total")) == ["8", "8", "0..8"]


def test_only_and_scenario_restrict_the_subset_further(spec: Path, tripos: Command) -> None:
    whole = tripos(*RUN, "--subset", "some", "--store", "whole", "--json")
    part = tripos(*RUN, "--subset", "some", "--scenario", "sums", "--only", "level=easy", "--store", "part", "--json")
    assert (whole.data["calls"]["asked"], part.data["calls"]["asked"]) == (16, 4)


def test_people_are_handed_what_a_run_of_the_subset_asked_about(spec: Path, tripos: Command) -> None:
    tripos(*RUN)
    done = tripos("annotate", "--name", "anna", "--subset", "some")
    assert done.code == 0 and done.out.startswith("8 replies of run ")
    [path] = Path("results/annotations").glob("*.json")
    batch = json.loads(path.read_text("utf-8"))
    assert batch["chosen"]["subset"] == "some"
    tripos(*RUN, "--subset", "some", "--store", "subset")
    tripos("sql", ASK, "--store", "subset", "-o", "own.json")
    own = {row["item_id"] for row in json.loads(Path("own.json").read_text("utf-8"))}
    assert {row["item_id"] for row in batch["rows"]} == own


def test_people_are_told_where_a_run_has_a_part_of_the_subset(spec: Path, tripos: Command) -> None:
    tripos(*RUN, "--limit", "12")
    done = tripos("annotate", "--name", "anna", "--subset", "some")
    assert done.code == 0
    assert "of the 8 items of some are in this run" in done.out
    query = "select count(*) as n from main.run_items where list_contains(subsets, 'some')"
    tripos("sql", query, "-o", "n.json")
    [counted] = json.loads(Path("n.json").read_text("utf-8"))
    assert done.out.startswith(f"{counted['n']} replies of run ") and 0 < counted["n"] < 8


def test_a_run_without_items_of_the_subset_has_nothing_to_hand_out(spec: Path, tripos: Command) -> None:
    tripos(*RUN, "--limit", "1")
    tripos("sql", "select count(*) as n from main.run_items where len(subsets) > 0", "-o", "n.json")
    assert json.loads(Path("n.json").read_text("utf-8")) == [{"n": 0}]
    done = tripos("annotate", "--name", "anna", "--subset", "some")
    assert done.code == 2
    assert "has no item of the subset `some`" in done.err and "--subset some" in done.err


def test_items_that_are_written_are_marked_by_their_slots(spec: Path, tripos: Command, once: Command) -> None:
    Path("made.tripos").write_text(MADE, "utf-8")
    assert once("run", "made.tripos", *BY, "--subset", "few", "--store", "own").code == 0
    assert once("run", "made.tripos", *BY, "--store", "own").code == 0
    query = "select item_id from main.run_items where list_contains(subsets, 'few') and run_id = (select {}(run_id) from main.runs)"
    found = []
    for which in ("min", "max"):
        assert tripos("sql", query.format(which), "--store", "own", "-o", "i.json").code == 0
        found.append({each["item_id"] for each in json.loads(Path("i.json").read_text("utf-8"))})
    assert len(found[0]) == 4 and found[0] == found[1]


def test_a_subset_that_is_not_declared_is_named_with_the_nearest(spec: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--subset", "same")
    assert done.code == 2
    assert "error[R0202]: the benchmark has no subset `same`" in done.err
    assert "did you mean `some`?" in done.err
