"""Items that tell nobody apart, that go against the rest, and that judges are at odds about."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tripos_warehouse.statistics.validity import item_discrimination, negative_discrimination
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]
ITEMS, WRONG = 20, 7
SPEC = """\
benchmark keyed "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { number integer, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.number }}" }
  score right = reply.text == item.answer
}
"""


@pytest.fixture
def keyed(tmp_path: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> list[list[float]]:
    """Twelve models, of which a better one knows what a worse one knows; one item has the wrong key, one is solved by
    everybody and one by nobody. Returns the scores, a row a model."""
    monkeypatch.chdir(tmp_path)
    Path("keyed.tripos").write_text(SPEC, "utf-8")
    rows = [json.dumps({"number": item, "answer": "x"}) for item in range(ITEMS)]
    Path("items.jsonl").write_text("\n".join(rows), "utf-8")
    random = np.random.default_rng(4)
    scores, replies = [], []
    for model in range(12):
        knows = random.random(ITEMS) < np.linspace(0.05, 0.95, 12)[model]
        knows[WRONG] = model < 6
        knows[3], knows[4] = True, False
        scores.append(knows.astype(float).tolist())
        replies += [
            json.dumps({"number": item, "model": f"lab/m{model:02}", "reply": "x" if known else "y"})
            for item, known in enumerate(knows)
        ]
    Path("replies.jsonl").write_text("\n".join(replies), "utf-8")
    done = once("import", "samples", "replies.jsonl", "--spec", "keyed.tripos")
    assert done.code == 0, done.err
    return scores


def test_the_macro_says_what_the_statistics_say(keyed: list[list[float]], tripos: Command) -> None:
    wanted = item_discrimination(keyed)
    with connect(Store.open(Path("results"), create=False)) as connection:
        found = connection.execute(
            """select number, models, share, discrimination, low, high, solved_by, apart
            from keyed.item_analysis() join (select distinct item_id, (fields::json->>'number')::int as number
              from keyed.items) using (item_id) order by number"""
        ).fetchall()
    assert len(found) == ITEMS
    for number, models, share, discrimination, low, high, solved_by, apart in found:
        own = wanted[number]
        assert (models, share) == (12, pytest.approx(np.mean([row[number] for row in keyed])))
        assert discrimination == (None if own.value is None else pytest.approx(own.value, abs=1e-9))
        assert low == (None if own.low is None else pytest.approx(own.low, abs=1e-7))
        assert high == (None if own.high is None else pytest.approx(own.high, abs=1e-7))
        assert solved_by == {3: "every model", 4: "no model"}.get(number)
        assert apart is None
    assert negative_discrimination(wanted) == [WRONG]


def test_a_report_remarks_on_an_item_that_goes_against_the_rest(keyed: list[list[float]], tripos: Command) -> None:
    remarks = [
        each["text"] for each in json.loads(tripos("report", "--json").out)["remarks"] if each["kind"] == "items"
    ]
    assert len(remarks) == 1, "two of twenty items that tell nobody apart are not worth a remark"
    assert remarks[0].startswith("`right`: models that do better elsewhere do worse on ")


def test_the_items_of_a_report_begin_with_the_one_to_look_at(keyed: list[list[float]], tripos: Command) -> None:
    found = tripos("report", "--json", "--items").data
    assert found["item_counts"] == [
        {"metric": "right", "items": ITEMS, "every_model": 1, "no_model": 1, "split": 0, "wrong_key": 1, "near": 0}
    ]
    assert [each["wrong_key"] for each in found["items"]] == [True] + [False] * (ITEMS - 1)
    first, *rest = found["items"]
    assert first["high"] < 0
    known = [each["discrimination"] for each in rest if each["discrimination"] is not None]
    assert known == sorted(known)
    assert "items" not in tripos("report", "--json").data
    told = tripos("report", "--items").out
    assert "right: 20 items; solved by every model 1; by no model 1; against the rest 1" in told
    table = told[told.index("right: 20 items") :].splitlines()
    assert table[3].startswith(first["item_id"][:12])
    assert "look at the key" in table[3]
    assert "5 more: from keyed.item_analysis()" in told
    assert max(map(len, told.splitlines())) <= 80
    assert tripos("report", "--items", "--format", "csv").code == 2


def test_a_report_remarks_on_items_that_are_nearly_the_same(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("keyed.tripos").write_text(SPEC.replace("number integer", "number text"), "utf-8")
    texts = [
        "Ann has twelve apples and gives five of them to Ben. How many are left in her basket?",
        "Ann has twelve apples and gives five of them to Tom. How many are left in her basket?",
        "Which planet of the solar system is nearest to the sun, and which one is the largest?",
        "A train leaves the station at noon and arrives at two; how long did its journey take?",
        "Name the river on whose banks the city of Vienna was built, and where it has its end.",
        "short one",
        "short two",
    ]
    Path("items.jsonl").write_text("\n".join(json.dumps({"number": each, "answer": "x"}) for each in texts), "utf-8")
    models = "mock/careful,mock/careful:b,mock/careful:c"
    assert tripos("run", "keyed.tripos", "--model", models, "--json").code == 0
    told = [each["text"] for each in tripos("report", "--json").data["remarks"] if each["kind"] == "items"]
    [near] = [each for each in told if "nearly the same" in each]
    assert near.startswith("1 item is nearly the same as another, which stands in brackets: ")
    copies = [each for each in tripos("report", "--json", "--items").data["items"] if each["near"] is not None]
    assert len(copies) == 1
    assert f"{copies[0]['item_id']} ({copies[0]['near']})" in near
    assert copies[0]["text"].startswith("Ann has twelve apples and gives five")


def test_of_items_without_a_wrong_key_hardly_any_is_said_to_have_one() -> None:
    """Of 60 tests of 40 items, by ten models of like strength, at most one in seven names any."""
    named = 0
    for seed in range(60):
        random = np.random.default_rng([11, seed])
        ease, strength = random.normal(size=40), random.normal(size=(10, 1))
        scores = (random.random((10, 40)) < 1 / (1 + np.exp(-strength - ease))).astype(float)
        named += bool(negative_discrimination(item_discrimination(scores)))
    assert named <= 8


def test_how_far_judges_are_apart_is_a_share_of_the_scale(store: Store, run_rows: Build) -> None:
    """On 1 to 10 the second judge gives a point less to every second item."""
    store.append(run_rows("r1", ("m1", "m2")))
    both = run_rows(
        "r2", ("m1", "m2"), judge="qwen/judge", value=lambda model, item: 5.0 + model + item % 3 - item % 2, minutes=1
    )
    both["runs"][0]["roles"] = json.dumps({"candidate": ["m1", "m2"], "judge": ["openai/judge", "qwen/judge"]})
    store.append(both)
    with connect(store) as connection:
        found = connection.execute(
            """select round(apart, 9) as apart, count(*), any_value(models) from edubench.item_analysis()
            group by 1 order by 1"""
        ).fetchall()
        means = [
            connection.execute(f"select item_id, mean from edubench.item_analysis({of}) order by all").fetchall()
            for of in ("", "evaluator := 'openai/judge'", "evaluator := 'qwen/judge'")
        ]
    assert all(all_of_them[1] == (first[1] + second[1]) / 2 for all_of_them, first, second in zip(*means, strict=True))
    assert means[1] != means[2]
    assert [row[0] for row in found] == [0, round(1 / 9, 9)]
    assert found[0][1] == found[1][1] and found[0][2] == 2


QUIZ = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset question from "items.jsonl" { id text, question text, options list<text>, answer text secret }
scenario quiz {
  over question as q
  options put from q.options with key q.answer
  ask reply by candidate { prompt "{{ q.question }}\\n{{ put.text }}" }
  score right = default(chosen_option(reply.text, put.options), "") == put.letter
}
measure accuracy = mean(right)
"""


@pytest.mark.parametrize(
    ("keys", "shuffled", "told"),
    [
        ("A", "", "option 1 is right in 100% of 24 items, and 1 of 3 would be 33%"),
        ("BBBBBBBA", "", "option 2 is right in 88% of 24 items"),
        ("ABC", "", None),
        ("A", " shuffled by q.id", None),
    ],
)
def test_a_report_remarks_on_options_whose_right_one_stands_at_one_place(
    tmp_path: Path,
    tripos: Command,
    monkeypatch: pytest.MonkeyPatch,
    keys: str,
    shuffled: str,
    told: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiz.tripos").write_text(QUIZ.replace("key q.answer", f"key q.answer{shuffled}"), "utf-8")
    rows = [
        {
            "id": f"q{n}",
            "question": f"{n} + 1?",
            "options": [str(n), str(n + 1), str(n + 2)],
            "answer": keys[n % len(keys)],
        }
        for n in range(24)
    ]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--json").code == 0
    remarks = [
        each["text"] for each in tripos("report", "--json").data["remarks"] if "shuffle the options" in each["text"]
    ]
    assert len(remarks) == (told is not None)
    assert all(str(told) in each for each in remarks)


IDS = """\
benchmark named "1.0.0" { languages en, de }
role candidate compared
dataset item from "items.jsonl" { language, id text?, task_id text, text text }
scenario say {
  context language
  over item
  ask reply by candidate { prompt "{{ item.text }}" }
  score long = words(reply.text) > 3
}
"""


@pytest.mark.parametrize(
    ("ids", "tasks", "shown"),
    [
        (("a 1", "a/2", "B", "7"), ("t", "t", "t", "t"), {"a 1", "a/2", "B", "7"}),
        (("a", "b", "a", "b"), ("t", "u", "t", "u"), {"a (en)", "b (en)", "a (de)", "b (de)"}),  # translations
        (("a", "a", "b", "c"), ("t1", "t2", "t3", "t4"), {"t1", "t2", "t3", "t4"}),
        ((None, "x", "y", "z"), ("t1", "t2", "t3", "t4"), {"t1", "t2", "t3", "t4"}),
        (("a", "a", "a", "a"), ("t", "t", "t", "t"), None),
    ],
)
def test_items_are_called_by_the_ids_that_their_file_has(
    ids: tuple[str | None, ...],
    tasks: tuple[str, ...],
    shown: set[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tripos: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("named.tripos").write_text(IDS, "utf-8")
    rows = zip(("en", "en", "de", "de"), ids, tasks, strict=True)
    texts = [
        json.dumps({"language": language, "id": id_, "task_id": task, "text": f"text {place}"})
        for place, (language, id_, task) in enumerate(rows)
    ]
    Path("items.jsonl").write_text("\n".join(texts), "utf-8")
    assert tripos("run", "named.tripos", "--model", "mock/careful").code == 0
    items = json.loads(tripos("report", "--items", "--json").out)["items"]
    assert {each["given_id"] for each in items} == (shown or {None})
    printed = tripos("report", "--items").out
    assert all(name in printed for name in shown or {items[0]["item_id"][:12]})
    [reply] = json.loads(tripos("sql", "select sample_id, item_id from named.samples limit 1", "--json").out)
    given = next(each["given_id"] for each in items if each["item_id"] == reply["item_id"])
    name = reply["item_id"] if given is None else f"{given} ({reply['item_id']})"
    assert f"item        {name} of item" in tripos("why", reply["sample_id"]).out


NOTES = """\
benchmark history "1.0.0" { languages en }
role candidate compared
dataset item from "items.csv" { Nr integer, question text, notes text secret }
dataset key from "items.csv" { Nr integer, notes text secret }
scenario essays {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score short = words(reply.text) < 20
}
scenario keys {
  over key
  ask reply by candidate { prompt "Say anything." }
  score known = reply.text == key.notes
}
"""


def test_an_item_is_shown_by_its_number_and_what_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("history.tripos").write_text(NOTES, "utf-8")
    lines = [f"{number},Why  {number}?,These are the longer notes on {number}." for number in (1, 2)]
    Path("items.csv").write_text("\n".join(["Nr,question,notes", *lines]), "utf-8")
    assert tripos("run", "history.tripos", "--model", "mock/careful").code == 0
    items = json.loads(tripos("report", "--items", "--json").out)["items"]
    told = {(each["scenario"], each["given_id"], each["text"]) for each in items}
    assert told == {
        *(("essays", str(number), f"Why {number}?") for number in (1, 2)),
        *(("keys", str(number), f"These are the longer notes on {number}.") for number in (1, 2)),
    }
    assert tripos("view", "--to", "site").code == 0
    [table] = Path("site").rglob("items.parquet")
    assert set(pq.read_table(table, columns=["excerpt"])["excerpt"].to_pylist()) == {text for *_, text in told}
