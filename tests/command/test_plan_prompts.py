"""`tripos plan --prompts`: what models would be sent is what a run then sends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tripos as api
from tests.conftest import Command

SPECS = Path(__file__).parents[2] / "specs"


def test_prompts_are_those_of_the_run_with_replies_in_their_places(quiz: Path, tripos: Command) -> None:
    found = tripos("plan", "quiz.tripos", "--prompts", "9", "--json")
    assert found.code == 0, found.err
    assert not (quiz / "results").exists()
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a").code == 0
    query = (
        "select s.scenario, s.item_id, s.messages, s.reply, j.messages as judged from main.samples s"
        " join main.judgements j using (sample_id)"
    )
    assert tripos("sql", query, "-o", "rows.json").code == 0
    ran = {(row["scenario"], row["item_id"]): row for row in json.loads(Path("rows.json").read_text("utf-8"))}
    asked = {(each["scenario"], each["item_id"]): each for each in found.data if each["step"] == "reply"}
    judged = {(each["scenario"], each["item_id"]): each for each in found.data if each["step"] == "rubric"}
    assert len(ran) == 5
    assert ran.keys() <= asked.keys() == judged.keys()
    for key, row in ran.items():
        sent, shown = json.loads(row["messages"]), json.loads(row["judged"])
        assert asked[key]["messages"] == [{name: each[name] for name in ("role", "content")} for each in sent]
        assert asked[key]["certain"]
        mark, reply = ("⟨`reply`⟩", row["reply"]) if key[0] == "sums" else ("⟨`reply.said`⟩", None)
        text = judged[key]["messages"][-1]["content"]
        assert mark in text
        assert reply is None or text.replace(mark, reply) == shown[-1]["content"]


def test_it_fits_a_terminal_and_says_what_is_missing(quiz: Path, tripos: Command) -> None:
    done = tripos("plan", "quiz.tripos", "--prompts")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert "`reply` → candidate" in done.out
    assert done.out.rstrip().endswith("Parts in ⟨⟩ are not known before models reply.")
    made = tripos("plan", str(SPECS / "teachbench"), "--prompts", "2")
    assert made.code == 0, made.err
    assert "the rows are yet to be made" in " ".join(made.out.split())


def test_shots_and_arms_are_there(tripos: Command) -> None:
    found = tripos("plan", str(SPECS / "mathtutorbench"), "--prompts", "--json").data
    [solved] = [each for each in found if each["scenario"] == "problem_solving"]
    assert [each["role"] for each in solved["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert {each["arms"] for each in found if each["step"] == "mistaken"} == {"solution wrong", "solution right"}


def test_prompts_are_shown_without_a_forecast_and_in_python(quiz: Path, tripos: Command) -> None:
    models = ("--model", "mock/careful", "--role", "judge=mock/careful:a")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tripos.cli.plan.plan_run", None)
        shown = tripos("plan", "quiz.tripos", *models, "--prompts", "--json")
    assert shown.code == 0, shown.err
    planned = api.compile("quiz.tripos").plan(models=["mock/careful"], roles={"judge": "mock/careful:a"})
    assert [(each.scenario, each.step, each.role) for each in planned.prompts()] == [
        (each["scenario"], each["step"], each["role"]) for each in shown.data
    ]
    refused = tripos("plan", "quiz.tripos", "--prompts", "--detect", "0.2")
    assert (refused.code, "R0202" in refused.err) == (2, True)


ELEMENTS = """
benchmark lists "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, facts list<text> }
scorer met(said: text, fact: text) by judge { prompt "{{ said }} {{ fact }}", gives bool }
scenario lists {
  over item
  ask reply by candidate each f in item.facts { prompt "{{ item.question }} {{ f }}" }
  score met_of = met(a.text, a.f) each a in reply
}
"""


def test_each_element_of_a_list_has_prompts_that_name_it(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lists.tripos").write_text(ELEMENTS)
    Path("items.jsonl").write_text('{"question": "So?", "facts": ["It rains.", "It snows."]}\n')
    heads = [line for line in tripos("plan", "lists.tripos", "--prompts").out.splitlines() if "→" in line]
    assert [head.partition(" →")[0] for head in heads] == ["`reply(1)`", "`reply(2)`", "`met(1)[0]`", "`met(1)[1]`"]
    found = tripos("plan", "lists.tripos", "--prompts", "--json").data
    assert [each["element"] for each in found] == [None, None, "0", "1"]


def test_items_for_which_nothing_is_sent_are_told(tmp_path: Path, tripos: Command) -> None:
    spec = """benchmark b "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text
  n integer }
scenario s {
  over item
  ask reply by candidate when item.n > 7 { prompt "{{ item.question }}" }
  score amount = length(reply.text)
  measure m = mean(amount)
}
"""
    (tmp_path / "b.tripos").write_text(spec, "utf-8")
    rows = [{"question": f"What is {number} × 7?", "n": number} for number in range(9)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    path = str(tmp_path / "b.tripos")
    told = " ".join(tripos("plan", path, "--prompts", "9").out.split())
    assert "What is 8 × 7?" in told and told.endswith(", …")
    assert "Nothing is sent for 8 of the items of `s`: the `when`" in told
    alone = tripos("plan", path, "--prompts", "--json")
    assert alone.data == []
    assert "Nothing is sent for 1 of the items of `s`: " in " ".join(alone.err.split()) and "…" not in alone.err
