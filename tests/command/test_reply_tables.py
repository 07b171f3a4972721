"""`--model mock/replies:FILE`: a model that replies what a table says."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.lengths import spread
from tripos.runs import preparation

SPEC = """\
benchmark script "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { name text, question text, answer text secret, n integer, key name }
scorer good(said: text) by judge { prompt "Is it good? {{ said }}", gives bool }
scenario first {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples 2 }
  ask sure by candidate { prompt "Is `{{ reply.text }}` right?", returns choice(yes, no) }
  score right = contains(reply.text, item.answer)
  score held = sure == yes
  score good = good(reply.text)
}
scenario second {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(first.right)
measure surely = mean(first.held)
measure goodness = mean(first.good)
measure other = mean(second.right)
"""
ITEMS = [{"name": f"q{n}", "question": f"{n} + 1 = ?", "answer": str(n + 1), "n": n} for n in range(4)]
Row = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("items.jsonl", ITEMS)
    Path("script.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def write(name: str, rows: list[Row]) -> str:
    """Write a table, and return the name of the model that replies from it."""
    if name.endswith(".csv"):
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, sorted({column for row in rows for column in row}))
            table.writeheader()
            table.writerows(rows)
    else:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return f"mock/replies:{name}"


def run(tripos: Command, model: str, judge: str = "mock/fair", *options: str) -> Any:
    return tripos("run", "script.tripos", "--model", model, "--role", f"judge={judge}", *options)


def replies(tripos: Command) -> dict[tuple[str, str, str, int], str]:
    """Return the replies of the store by scenario, step, item and sample."""
    query = "select s.scenario, step, json_extract_string(fields, '$.name') as item, sample_number, reply"
    query += " from script.samples s"
    assert (
        tripos(
            "sql",
            f"{query} join (select distinct item_id, fields from script.items) using (item_id)",
            "-o",
            "replies.json",
        ).code
        == 0
    )
    rows = json.loads(Path("replies.json").read_text("utf-8"))
    return {(row["scenario"], row["step"], row["item"], row["sample_number"]): row["reply"] for row in rows}


SURE = {"ask": "sure", "reply": {"value": "yes"}}
NO = {"reply": "no"}
NEVER = {"scenario": "third", "reply": "never"}


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.csv"])
def test_the_row_with_the_most_facts_replies(folder: Path, tripos: Command, name: str) -> None:
    rows: list[Row] = [
        NO,
        {"item": "q1", "ask": "reply", "reply": "by item"},
        {"item": "q1", "ask": "reply", "scenario": "second", "reply": "by item and scenario"},
        {"item.n": 2, "ask": "reply", "sample": 1, "reply": "by field and sample"},
        {"prompt": "3 + 1 = ?", "ask": "reply", "reply": "by prompt"},
        {"prompt_sha256": hashlib.sha256(b"0 + 1 = ?").hexdigest(), "reply": "by digest"},
        {"ask": "sure", "reply": '{"value": "yes"}'},
    ]
    done = run(tripos, write(name, rows))
    assert done.code == 0, done.err
    assert "no request was for" not in done.err
    found = replies(tripos)
    assert found["first", "reply", "q1", 0] == "by item"
    assert found["second", "reply", "q1", 0] == "by item and scenario"
    assert [found["first", "reply", "q2", sample] for sample in (0, 1)] == ["no", "by field and sample"]
    assert found["second", "reply", "q3", 0] == "by prompt"
    assert found["first", "reply", "q0", 1] == "by digest"
    assert found["first", "sure", "q0", 0] == '{"value": "yes"}'


def test_a_request_without_a_row_is_named(folder: Path, tripos: Command) -> None:
    done = run(
        tripos, write("r.jsonl", [{"item": "q0", "ask": "reply", "reply": "1"}, {"item": "q9", "reply": "2"}, NEVER])
    )
    assert done.code != 0
    assert re.search("no row of r.jsonl is for ask `reply` of `(first|second)`, item `q[123]`", done.err)
    assert re.search("no request was for rows 2, 3 of r.jsonl", done.err)
    assert "R0114" in done.err
    assert ("first", "reply", "q0", 0) in replies(tripos)


def test_rows_that_fit_equally_well_are_refused(folder: Path, tripos: Command) -> None:
    rows = [{"item": "q0", "reply": "1"}, {"ask": "reply", "reply": "2"}, SURE]
    done = run(tripos, write("r.jsonl", rows))
    assert "rows 1 and 2 of r.jsonl fit ask `reply` of `first`, item `q0` equally well" in done.err


def test_a_judge_replies_from_a_table(folder: Path, tripos: Command) -> None:
    rows = [
        {"scorer": "good", "reply": {"value": True}},
        {"scorer": "good", "contains": "bad", "reply": {"value": False}},
    ]
    judge = write("judge.jsonl", rows)
    candidate = write("r.jsonl", [{"reply": "fine"}, {"item": "q0", "ask": "reply", "reply": "bad"}, SURE])
    done = run(tripos, candidate, judge, "--json")
    assert done.code == 0, done.err
    query = "select avg(case when reply like '%true%' then 1 else 0 end) as share from script.judgements"
    tripos("sql", query, "-o", "share.json")
    assert json.loads(Path("share.json").read_text("utf-8")) == [{"share": 0.75}]


def test_another_content_is_another_model(folder: Path, tripos: Command) -> None:
    model = write("r.jsonl", [{"reply": "1"}, SURE])
    assert run(tripos, model, "mock/fair", "--json").data["calls"]["reused"] == 0
    again = run(tripos, model, "mock/fair", "--json").data["calls"]
    assert again["asked"] == 0 and again["reused"] > 0
    write("r.jsonl", [{"reply": "2"}, SURE])
    plan = tripos("plan", "script.tripos", "--model", model, "--role", "judge=mock/fair")
    assert plan.code == 0, plan.err
    assert run(tripos, model, "mock/fair", "--json").data["calls"]["asked"] > 0
    tripos("sql", "select reply from script.samples where step = 'reply'", "-o", "r.json")
    assert {row["reply"] for row in json.loads(Path("r.json").read_text("utf-8"))} == {"2"}


def test_equal_requests_of_two_scenarios_have_their_own_rows(folder: Path, tripos: Command) -> None:
    rows = [{"reply": "1"}, {"scenario": "second", "reply": "2"}, SURE]
    model = write("r.jsonl", rows)
    assert run(tripos, model).code == 0
    found = replies(tripos)
    assert (found["first", "reply", "q0", 0], found["second", "reply", "q0", 0]) == ("1", "2")


def test_a_table_under_another_name_is_the_same_model(folder: Path, tripos: Command) -> None:
    rows = [{"reply": "1"}, SURE]
    run(tripos, write("r.jsonl", rows))
    assert run(tripos, write("same.jsonl", rows), "mock/fair", "--json").data["calls"]["reused"] > 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"aks": "reply", "reply": "1"}], "row 1 of r.jsonl: there is no column `aks`"),
        ([{"ask": "reply"}], "row 1 of r.jsonl has no `reply`"),
        ([{"sample": "one", "reply": "1"}], "row 1 of r.jsonl: `sample` is `one`"),
        ([{"prompt_sha256": "12", "reply": "1"}], "row 1 of r.jsonl: `prompt_sha256` is no SHA-256"),
        (
            [{"ask": "a", "reply": "1"}, {"ask": "a", "reply": "2"}],
            "row 2 of r.jsonl is for the same requests as row 1",
        ),
        ([{"calls": "add(1)"}], "row 1 of r.jsonl: `calls` is no list of calls"),
        ([], "r.jsonl has no row"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_wrong_table_is_refused_before_any_call(
    folder: Path, tripos: Command, command: str, rows: list[Row], message: str
) -> None:
    model = write("r.jsonl", rows)
    done = tripos(command, "script.tripos", "--model", model, "--role", "judge=mock/fair")
    assert done.code != 0
    assert message in " ".join(done.err.split())
    assert not Path("results").exists()


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_missing_file_is_refused(folder: Path, tripos: Command, command: str) -> None:
    done = tripos(command, "script.tripos", "--model", "mock/replies:none.jsonl", "--role", "judge=mock/fair")
    assert done.code != 0 and "there is no file `none.jsonl` of replies" in done.err
    assert "internal error" not in done.err


def test_an_untrusted_benchmark_is_run_on_a_table_of_the_user(folder: Path, tripos: Command) -> None:
    model = write("r.jsonl", [{"reply": "1"}, SURE])
    done = run(tripos, model, "mock/fair", "--untrusted")
    assert done.code == 0, done.err
    Path(".env").write_text(f"TRIPOS_MODEL={model}\n", "utf-8")
    done = tripos("run", "script.tripos", "--role", "judge=mock/fair")
    assert done.code != 0


def test_a_table_lies_in_the_folder_that_the_name_says(folder: Path, tripos: Command) -> None:
    Path("tables").mkdir()
    assert run(tripos, write("tables/r.jsonl", [{"reply": "1"}, SURE])).code == 0


TALK = """\
benchmark talk "1.0.0" { languages en }
role candidate compared
role pupil
dataset item from "items.jsonl" { name text, question text, answer text secret, n integer }
scenario s {
  over item
  converse lesson {
    candidate { system "Teach {{ item.question }}." }
    pupil { system "Learn." }
    opens candidate
    until candidate says "done"
    limit 3 turns
  }
  score end = contains(last(lesson).text, "three")
}
measure ends = mean(end)
"""


def test_the_turns_of_a_conversation_are_rows(folder: Path, tripos: Command) -> None:
    Path("talk.tripos").write_text(TALK, "utf-8")
    rows = [{"ask": "lesson", "turn": 1, "reply": "one"}, {"ask": "lesson", "turn": 3, "reply": "three"}]
    model, pupil = write("r.jsonl", rows), write("p.jsonl", [{"role": "pupil", "turn": 2, "reply": "two"}])
    done = tripos("run", "talk.tripos", "--model", model, "--role", f"pupil={pupil}")
    assert done.code == 0, done.err
    tripos("sql", "select number, text from talk.turns", "-o", "t.json")
    turns = json.loads(Path("t.json").read_text("utf-8"))
    assert {(turn["number"], turn["text"]) for turn in turns} == {(1, "one"), (2, "two"), (3, "three")}


@pytest.mark.parametrize("seed", spread(range(40), 4))
def test_a_drawn_table_gives_each_request_its_row(
    folder: Path, tripos: Command, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request of the drawn facts has one row, whatever the order of the rows and the rows for nothing."""
    dice = random.Random(seed)
    wanted: dict[tuple[str, str, str, int], str] = {}
    rows: list[Row] = [SURE]
    for item in ITEMS:
        name = str(item["name"])
        about = dice.choice([{"item": name}, {"item.n": item["n"]}, {"item.name": name, "item.n": item["n"]}])
        for scenario, samples in (("first", 2), ("second", 1)):
            for sample in range(samples):
                reply = f"{scenario} {name} {sample} {dice.random()}"
                wanted[scenario, "reply", name, sample] = reply
                rows.append({**about, "scenario": scenario, "ask": "reply", "sample": sample, "reply": reply})
    rows += [{"item": f"x{number}", "ask": "reply", "reply": "never"} for number in range(3)]
    dice.shuffle(rows)
    name = dice.choice(["r.jsonl", "r.csv"])
    done = run(tripos, write(name, [
        row | ({"reply": json.dumps(row["reply"])} if isinstance(row["reply"], dict) else {}) for row in rows
    ]), "mock/fair", "--max-connections", str(dice.choice((1, 7))))  # fmt: skip
    assert done.code == 0, done.err
    found = replies(tripos)
    assert {key: found[key] for key in wanted} == wanted
    first = 1 if name == "r.jsonl" else 2  # in CSV the names of the columns are row 1
    unused = sorted(number for number, row in enumerate(rows, first) if row["reply"] == "never")
    assert f"no request was for rows {', '.join(map(str, unused))} of" in done.err


TOOLS = """\
benchmark calling "1.0.0" { languages en }
role candidate compared
dataset item from "calls.jsonl" { question text, functions tools from "function" }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}", tools item.functions }
  score called = length(reply.calls)
  score fits = calls_fit(reply.calls, item.functions)
}
measure calls = mean(called)
measure fitting = mean(fits)
"""
ADD = {
    "name": "add",
    "description": "Add.",
    "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def test_a_row_calls_tools(folder: Path, tripos: Command) -> None:
    Path("calling.tripos").write_text(TOOLS, "utf-8")
    write("calls.jsonl", [{"question": f"Add {n}.", "function": [ADD]} for n in range(3)])
    rows: list[Row] = [
        {"item.question": "Add 0.", "calls": [{"name": "add", "arguments": {"a": 1}}]},
        {"item.question": "Add 1.", "calls": [{"name": "add", "arguments": {}}], "reply": "so"},
        {"reply": "I call nothing."},
    ]
    done = tripos("run", "calling.tripos", "--model", write("r.jsonl", rows))
    assert done.code == 0, done.err
    query = "select metric, value from calling.scores order by all"
    tripos("sql", query, "-o", "scores.json")
    values = [(row["metric"], row["value"]) for row in json.loads(Path("scores.json").read_text("utf-8"))]
    assert [value for metric, value in values if metric == "called"] == [0, 1, 1]
    assert [value for metric, value in values if metric == "fits"].count(1) >= 1


def test_calls_without_tools_are_refused(folder: Path, tripos: Command) -> None:
    done = run(tripos, write("r.jsonl", [{"calls": [{"name": "add", "arguments": {}}]}, SURE]))
    assert "row 1 of r.jsonl calls functions, and ask `reply` of" in done.err


def test_unused_rows_are_no_note_of_several_workers(folder: Path, tripos: Command) -> None:
    done = run(tripos, write("r.jsonl", [{"reply": "1"}, SURE, NEVER]), "mock/fair", "--workers", "2")
    assert done.code == 0, done.err
    assert "no request was for" not in done.err


def test_identity_and_replies_are_those_of_one_read(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write("r.jsonl", [{"reply": "1"}, SURE])
    select = preparation.select_cases

    def replaced(*args: Any) -> Any:
        write("r.jsonl", [{"reply": "2"}, SURE])
        return select(*args)

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "select_cases", replaced)
        assert run(tripos, model).code == 0
    assert {reply for (_, step, _, _), reply in replies(tripos).items() if step == "reply"} == {"1"}
    write("r.jsonl", [{"reply": "1"}, SURE])
    assert run(tripos, model, "mock/fair", "--json").data["calls"]["asked"] == 0


def test_a_recorded_run_is_replayed_without_its_table(folder: Path, tripos: Command) -> None:
    done = run(tripos, write("r.jsonl", [{"reply": "1"}, SURE]))
    assert done.code == 0, done.err
    Path("r.jsonl").unlink()
    done = tripos("run", "script.tripos", "--model", "replay/results", "--role", "judge=mock/fair", "--json",
                  "--store", "again")  # fmt: skip
    assert done.code == 0, done.err
