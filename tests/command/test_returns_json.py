"""Replies of any JSON in every place that shows, keeps, grades or writes replies: each has the value, or says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from tests.answers import ask
from tests.conftest import Command

HEAD = """benchmark demo "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" { question text, word text secret, key json secret }
dataset worked from "worked.jsonl" { question text, answer json }
scorer good(said: json) by judge { prompt "Is it good? {{ said }}", gives 1..5 }
scorer better(one: json, two: json) by judge { prompt "1 {{ one }} 2 {{ two }}", gives choice(one, two, tie) }
"""
SPEC = (
    HEAD
    + """dataset task by helper from item as src {
  prompt "Write a task like: {{ src.question }}"
  returns { task text, about json, parts list<json>, hidden json secret }
  require length(task.parts) > 0 and default(json_part(task.about, "number", integer), 0) >= 0
  unique  task.about
  verify by helper { prompt "Is it fine? {{ task.about }}", returns { fine bool, why json }, require fine or why == why }
}
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns json, samples 2, shots 1 from worked }
  ask more by candidate { continue reply, prompt "List all.", returns list<json> }
  ask each_one by candidate each part in more at most 4 { prompt "And {{ part }}?", returns json }
  score right = default(json_part(reply, "number", integer), 0) > 3
  score same  = reply == item.key
  score sure  = any(default(json_part(a.value, "sure", bool), false) each a in each_one)
  score good  = good(reply)
  compare duel using better(first.reply, second.reply)
}
scenario two {
  over task
  ask reply by candidate { prompt "{{ task.task }} {{ task.about }}", returns json? }
  score found = readable(reply) != task.hidden
}
measure right = mean(right)
measure good  = mean(good)
measure duel  = win_rate(duel)
export best_replies {
  best of candidate by right
  rows reply
}
"""
)
ROWS = [
    {"question": "Which are the parts of a car?", "word": "car", "key": {"wheels": 4}},
    {"question": "Which are the parts of a house?", "word": "house", "key": [1, "2"]},
]
WORKED = [{"question": "Which are the parts of a tree?", "answer": "leaf, [stem]"}]
RUN = ("run", "s.tripos", "--model", "mock/careful,mock/careless", "--role", "helper=mock/careful:h", "--role",
       "judge=mock/fair")  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    (tmp_path / "worked.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in WORKED), "utf-8")
    (tmp_path / "s.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def test_a_run_has_every_value_in_every_place(folder: Path, tripos: Command) -> None:
    assert tripos("check", "s.tripos", "--worlds").code == 0
    planned = tripos("plan", "s.tripos", *RUN[2:], "--json")
    assert planned.code == 0, planned.err
    done = tripos(*RUN, "--json")
    assert done.code == 0, done.err
    kept = ask(tripos, "select reply, parsed, status, messages, sample_id, model from samples where step = 'reply' "
                          "and scenario = 'one'")  # fmt: skip
    assert {row["status"] for row in kept} == {"ok"} and len(kept) == 8
    told = [json.loads(row["parsed"]) for row in kept if row["model"] == "mock/careful"]
    assert told == [json.loads(row["reply"]) for row in kept if row["model"] == "mock/careful"]
    assert all(json.loads(row["messages"])[1]["content"] == '"leaf, [stem]"' for row in kept)  # a shot is JSON too
    asked = "select distinct parsed->>'$.answer' as answer, cast(parsed->'$.number' as integer) as number from samples"
    found = ask(tripos, f"{asked} where step = 'reply' and model = 'mock/careful' and scenario = 'one'")
    assert {(row["answer"], row["number"]) for row in found} == {(row["answer"], row["number"]) for row in told}
    scores = ask(tripos, "select metric, value, status from scores where model = 'mock/careful'")
    assert {row["status"] for row in scores} == {"scored"}
    assert tripos("export", "parquet", "-o", "out").code == 0
    table = pq.read_table("out/samples.parquet").to_pylist()
    assert sorted(row["parsed"] for row in table if row["step"] == "reply" and row["scenario"] == "one") == sorted(
        row["parsed"] for row in kept
    )
    shown = tripos("show", kept[0]["sample_id"])
    assert "".join(kept[0]["reply"].split())[:40] in "".join(shown.out.split())
    for form in ("csv", "inspect", "lm-eval", "best_replies"):
        out = tripos("export", form, "-o", f"out_{form}")
        assert out.code == 0, out.err
    trained = [json.loads(line) for line in Path("out_best_replies").read_text("utf-8").splitlines()]
    assert {line["messages"][-1]["content"] for line in trained} <= {row["reply"] for row in kept}
    assert trained
    again = tripos(*RUN, "--json")  # what is kept is read again as it was
    assert (again.code, again.data["calls"]["asked"] if "calls" in again.data else 0) == (0, 0)


def test_people_grade_a_reply_of_any_json_as_text(folder: Path, tripos: Command) -> None:
    spec = SPEC.replace("role judge panel", "role judge panel\nrole person panel").replace(
        "scorer better", 'scorer liked(said: json, all: list<json>) by person { prompt "{{ said }} {{ all }}", gives 1..5 }\n'
        "scorer better", 1
    ).replace("  compare duel", "  score liked = liked(reply, more)\n  compare duel", 1)  # fmt: skip
    Path("s.tripos").write_text(spec, "utf-8")
    assert tripos(*RUN, "--scenario", "one").code == 0
    assert tripos("annotate", "--role", "person", "--name", "ada").code == 0
    lines = [line for sheet in load_workbook("ada.xlsx") for line in sheet.iter_rows(values_only=True)]
    kept = ask(tripos, "select parsed from samples where step = 'reply' and model = 'mock/careful'")
    for row in kept:
        value = json.loads(row["parsed"])
        assert any(value == _json(cell) for line in lines for cell in line)


def _json(cell: object) -> Any:
    try:
        return json.loads(str(cell))
    except ValueError:
        return None


def test_specs_for_other_tools_have_the_schema_or_say_what_is_lost(folder: Path, tripos: Command) -> None:
    compared = (
        HEAD
        + """scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns json }
  ask call by candidate { prompt "{{ item.question }}", returns { name text, arguments json, more list<json>? } }
  score same = reply == item.key
  score name = call.name == item.word
}
"""
    )
    Path("s.tripos").write_text(compared, "utf-8")
    assert tripos("emit", "jsonschema", "s.tripos", "-o", "schemas").code == 0
    replies = {path.name: json.loads(path.read_text("utf-8")) for path in Path("schemas/replies").iterdir()}
    assert replies["one.reply.schema.json"].keys() == {"$schema", "title"}
    call = replies["one.call.schema.json"]["properties"]
    assert call == {
        "name": {"type": "string"},
        "arguments": {},
        "more": {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]},
    }
    row = json.loads(Path("schemas/rows/item.schema.json").read_text("utf-8"))["properties"]
    assert row["key"] == {"x-tripos-secret": True}
    for form in ("promptfoo", "lm-eval", "openai-evals"):
        done = tripos("emit", form, "s.tripos", "-o", form)
        assert "one.same: its" in done.out, form
