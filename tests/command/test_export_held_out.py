"""Items that models are graded on never become training data, and neither does what is nearly the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """\
benchmark facts "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
dataset item from "items.jsonl" { level, text text, note text secret }
scorer quality(text: text) by judge { prompt "How good is this? {{ text }}", gives 1..10 }
scenario tell {
  context level
  over item
  ask reply by candidate { prompt "({{ level }}) Tell me about it: {{ item.text }}" }
  score quality = quality(reply.text)
}
scenario ask {
  context level
  over item
  ask reply by candidate { prompt "({{ level }}) Ask about it: {{ item.text }}" }
  score quality = quality(reply.text)
}
measure best = mean(mean(quality) by evaluator, scenario) by scenario
subset graded {
  take 2 per scenario
  spread over level
}
subset look {
  take 1 per scenario
  seed 5
}
"""

SAYINGS = [
    "The heart of a blue whale weighs as much as a small car and beats eight times a minute.",
    "Honey that was sealed in a tomb three thousand years ago can still be eaten today.",
    "A bolt of lightning is five times hotter than the surface of our sun.",
    "Octopuses have three hearts, nine brains and blood that is blue from copper.",
    "Bamboo of some kinds grows by nearly a metre on a single warm day.",
    "The driest desert on the globe lies in Antarctica, where it never rains.",
    "Glass is made of molten sand that cools too fast for crystals to form.",
    "Sound travels four times faster through water than it does through air.",
]
MODELS = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/careful:j")


def write_items(*more: dict[str, str]) -> None:
    items = [{"level": "hard" if n % 2 else "easy", "text": text, "note": f"n{n}"} for n, text in enumerate(SAYINGS)]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, [*items, *more])), "utf-8")


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("facts.tripos").write_text(SPEC, "utf-8")
    write_items()
    return tmp_path


def run(tripos: Command, *options: str) -> str:
    done = tripos("run", "facts.tripos", *MODELS, *options, "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


def export(tripos: Command, *options: str) -> dict[str, Any]:
    done = tripos("export", "distillation", "--by", "best", "--per", "scenario", "-o", "t.jsonl", *options)
    assert done.code == 0, done.err
    told: dict[str, Any] = json.loads(Path("t.jsonl.provenance.json").read_text("utf-8"))
    return told


def lines() -> list[str]:
    return Path("t.jsonl").read_text("utf-8").splitlines()


def said_in(text: str) -> bool:
    return any(text in line for line in lines())


def test_an_item_of_a_subset_is_in_no_line_of_any_scenario(facts: Path, tripos: Command, once: Command) -> None:
    run(once)
    everything = export(tripos, "--hold-out", "look")
    told = export(tripos, "--hold-out", "graded")
    exported = {line["item"] for line in told["lines"]}
    held = {line["item"] for line in everything["lines"]} - exported
    # Two of each scenario, and both scenarios run over the same rows.
    assert told["held_out"]["subsets"] == ["graded"]
    assert told["held_out"]["items"] % 2 == 0 and 4 <= told["held_out"]["items"] <= 8
    assert held and len(exported) == 8 - told["held_out"]["items"] // 2
    assert told["left_out"]["held out"] == 2 * told["held_out"]["items"]
    all_of_them = export(tripos)
    assert all_of_them["held_out"]["subsets"] == ["graded", "look"]
    assert everything["examples"] > all_of_them["examples"]
    done = tripos("export", "preferences", "--by", "quality", "-o", "p.jsonl")
    assert done.code == 0, done.err
    preferred = json.loads(Path("p.jsonl.provenance.json").read_text("utf-8"))
    assert {line["item"] for line in preferred["lines"]} <= {line["item"] for line in all_of_them["lines"]}
    assert preferred["left_out"]["held out"] > 0
    for arguments, code, said in (
        (("--hold-out", "grade"), "S0811", "did you mean `graded`?"),
        (("--apart-from", "nothing"), "S0301", "no run `nothing`"),
    ):
        done = tripos("export", "distillation", "--by", "quality", "-o", "t.jsonl", *arguments)
        assert (done.code, code in done.err, said in done.err) == (2, True, True), done.err


def test_a_line_says_the_model_and_the_value_that_it_won_by_with_scores_of_items_that_are_held_out(
    facts: Path, tripos: Command, once: Command
) -> None:
    name = run(once)
    told = export(tripos)
    assert told["run_id"] == name and len(told["lines"]) == len(lines())
    best = {each["cell"]["scenario"]: (each["model"], each["value"]) for each in told["best"]}
    for line in told["lines"]:
        [won] = line["won"]
        assert (line["models"][0], won["value"]) == best[line["scenario"]]
        assert won["cell"] == {"scenario": line["scenario"]}
    query = "select max_by(model, mean) from (select model, avg(value) as mean from facts.scores where scenario = 'tell' group by all)"
    assert tripos("sql", query, "-o", "best.json").code == 0
    [row] = json.loads(Path("best.json").read_text("utf-8"))
    assert [best["tell"][0]] == list(row.values())


def test_an_export_of_the_spec_says_what_is_held_out(facts: Path, tripos: Command, once: Command) -> None:
    text = SPEC + "export some {\n pairs of candidate by quality\n rows reply\n holds out look\n}\n"
    Path("facts.tripos").write_text(text, "utf-8")
    run(once)
    done = tripos("export", "some", "-o", "p.jsonl", "--json")
    assert done.code == 0, done.err
    assert done.data["held_out"]["subsets"] == ["look"]


def test_an_item_that_is_nearly_one_that_is_held_out_is_left_out_too(
    facts: Path, tripos: Command, once: Command
) -> None:
    run(once)
    kept = {line["item"] for line in export(tripos)["lines"]}
    held = next(text for text in SAYINGS if not said_in(text))
    twin = held.replace("The ", "the ").replace(".", "!").replace(" is ", " is really ").replace(" a ", " one ")
    write_items({"level": "easy", "text": twin, "note": "another"})
    run(once)
    told = export(tripos)
    assert not said_in(twin)
    # It is left out in both scenarios, unless the draw took it.
    assert told["held_out"]["near"] or kept == {line["item"] for line in told["lines"]}
    assert all(0.7 <= each["overlap"] <= 1 for each in told["held_out"]["near"])
    assert not said_in(held)


def test_a_run_of_a_part_holds_out_what_is_drawn_of_all_and_no_more(
    facts: Path, tripos: Command, once: Command
) -> None:
    run(once, "--store", "whole")
    exported = {line["item"] for line in export(tripos, "--store", "whole")["lines"]}
    run(once, "--limit", "5")
    of_part = {line["item"] for line in export(tripos)["lines"]}
    assert of_part and of_part == {each for each in exported if is_in_a_run(tripos, each)}


def is_in_a_run(tripos: Command, item: str) -> bool:
    assert tripos("sql", "select distinct item_id from main.run_items", "-o", "items.json").code == 0
    return item in {each["item_id"] for each in json.loads(Path("items.json").read_text("utf-8"))}


def test_items_that_another_run_has_marked_are_held_out_with_what_is_near_them(
    facts: Path, tripos: Command, once: Command
) -> None:
    run(once, "--subset", "graded")
    query = "select distinct fields ->> '$.text' as text from facts.items"
    assert tripos("sql", query, "-o", "graded.json").code == 0
    graded = [each["text"] for each in json.loads(Path("graded.json").read_text("utf-8"))]
    twins = [text.replace(" a ", " one ").replace(".", "!") + " So it is." for text in SAYINGS]
    items = [{"level": "hard" if n % 2 else "easy", "text": text, "note": f"n{n}"} for n, text in enumerate(twins)]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    run(once)
    told = export(tripos)
    assert not any(said_in(text.replace(" a ", " one ").replace(".", "!")) for text in graded)
    assert {each["like"] for each in told["held_out"]["near"]}
    assert said_in("So it is.")


def test_an_export_says_how_much_of_a_subset_the_store_knows(facts: Path, tripos: Command, once: Command) -> None:
    run(once, "--scenario", "tell")
    arguments = ("distillation", "--by", "best", "--per", "scenario", "-o", "t.jsonl", "--hold-out", "graded")
    assert "of the 4 items of graded" in tripos("export", *arguments).out
    run(once)
    assert "of the 4 items" not in tripos("export", *arguments).out


def test_the_items_of_another_run_can_be_held_out(facts: Path, tripos: Command, once: Command) -> None:
    first = run(once, "--limit", "3")
    run(once)
    told = export(tripos, "--apart-from", first, "--hold-out", "look")
    assert told["held_out"]["runs"] == [first]
    assert not any(said_in(text) for text in SAYINGS[:3])


@pytest.mark.parametrize("joined", [True, False])
def test_people_and_judges_decide_together_where_the_spec_joins_them(
    facts: Path, tripos: Command, once: Command, joined: bool
) -> None:
    if joined:
        spec = facts / "facts.tripos"
        spec.write_text(spec.read_text("utf-8").replace("judge panel", "judge panel with people"), "utf-8")
    run(once)
    assert (
        tripos("sql", "select sample_id, model from facts.samples where role = 'candidate'", "-o", "s.json").code == 0
    )
    samples = json.loads(Path("s.json").read_text("utf-8"))
    judged = {each["cell"]["scenario"]: each["model"] for each in export(tripos)["best"]}
    grades = "sample_id,metric,value\n" + "".join(
        f"{each['sample_id']},quality,{1 if each['model'] == judged['tell'] else 10}\n" for each in samples
    )
    Path("grades.csv").write_text(grades, "utf-8")
    done = tripos("import", "scores", "grades.csv", "--evaluator", "human/ann")
    assert done.code == 0, done.err
    # The judges' means differ by less than the nine points that the person sees between the two models.
    together = {each["cell"]["scenario"]: each["model"] for each in export(tripos)["best"]}
    assert (together["tell"] != judged["tell"]) is joined


def test_a_run_of_held_out_items_alone_has_nothing_to_export(facts: Path, tripos: Command, once: Command) -> None:
    run(once, "--limit", "1")
    done = tripos("export", "distillation", "--by", "quality", "-o", "t.jsonl")
    assert done.code == 2
    assert "S0603" in done.err and "held out" in done.err and "--hold-out" in done.err
