"""Remarks of a report on rows that make a figure mean less than it seems to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.each import each
from tripos_warehouse.report import remarks as written_remarks

SPEC = """benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { number integer, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.number }}"SAMPLES }
  score right = contains(reply.text, item.answer)WHEN
}
measure accuracy = mean(right)
"""
ITEMS = 6

Replies = Callable[[int, int], str]
"""The reply to an item, and of which sample."""


def remarks(
    folder: Path,
    tripos: Command,
    replies: dict[str, Replies],
    when: str = "",
    samples: int = 1,
    cut: int = 0,
    word: str = "length",
) -> list[tuple[str, str]]:
    """Return the remarks of a report on replies that models gave elsewhere; `cut` of each ended with `word`."""
    spec = SPEC.replace("SAMPLES", f", samples {samples}" if samples > 1 else "").replace("WHEN", when)
    (folder / "sums.tripos").write_text(spec, "utf-8")
    rows = ({"number": number, "answer": str(number)} for number in range(ITEMS))
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for model, reply in replies.items():
        told = [
            {"number": number, "reply": text, "finish_reason": word if number < cut else "stop"}
            for number in range(ITEMS)
            for sample in range(samples)
            if (text := reply(number, sample))
        ]
        (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, told)), "utf-8")
        done = tripos("import", "samples", "replies.jsonl", "--spec", "sums.tripos", "--model", model)
        assert done.code == 0, done.err
    found = tripos("report", "--json").data["remarks"]
    return [(each["kind"], each["text"]) for each in found]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def half(number: int, sample: int) -> str:
    return str(number) if number < ITEMS / 2 else f"I do not know {sample}"


def same(number: int, sample: int) -> str:
    return half(number, 0)


ENDED = "2 replies of lab/a ended with `halted`, which is no word that is known: they count as whole"


@pytest.mark.parametrize(
    ("reply", "options", "told"),
    [
        (half, {}, []),
        (
            half,
            {"when": " when words(reply.text) < 3"},
            [("left_out", "`right` of lab/a leaves out 3 of 6 replies by a condition on what they say")],
        ),
        (str, {}, [("one_value", "`right` is 1 for every one of 6 replies, so it distinguishes none of them")]),
        (half, {"cut": 2}, [("cut_off", "2 of 6 replies of lab/a were cut off: raise `max_tokens`")]),
        (half, {"cut": 2, "word": "halted"}, [("endings", ENDED)]),
        (
            half,
            {"cut": 2, "word": "max_output_tokens"},
            [("cut_off", "2 of 6 replies of lab/a were cut off: raise `max_tokens`")],
        ),
        (same, {"samples": 3}, [("copies", "the 3 samples of lab/a are the same reply for every one of 6 items")]),
    ],
)
def test_a_report_remarks_on_what_is_not_sound_and_on_nothing_else(
    here: Path, tripos: Command, reply: Replies, options: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    replies = {"lab/a": (lambda number, _: f"{number}!") if reply is str else reply}
    assert remarks(here, tripos, replies, **options) == told
    text = " ".join(tripos("report").out.split())
    assert all(f"note: {each}" in text for _, each in told)


ELEMENTS = """benchmark sums "1.0.0" { languages en }
role candidate compared
arm help { none, some }
dataset item from "items.jsonl" { number integer, answer text secret }
scenario sums {
  over item
  arms help
  ask reply by candidate { system "Help!" when help == some, prompt "{{ item.number }}", samples 2 }
  score right = contains(reply.text, "o") each part in ("a", "b", "c")
}
measure accuracy = mean(right)
"""


def test_a_note_on_replies_counts_no_elements_and_one_on_items_no_arms(here: Path, tripos: Command) -> None:
    (here / "sums.tripos").write_text(ELEMENTS, "utf-8")
    rows = ({"number": number, "answer": str(number)} for number in range(ITEMS))
    (here / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    tripos("run", "sums.tripos", "--model", "baseline/constant:zero")
    found = [each["text"] for each in tripos("report", "--json").data["remarks"]]
    assert f"`right` is 1 for every one of {ITEMS * 2 * 2} replies, so it distinguishes none of them" in found
    assert f"the 2 samples of baseline/constant:zero are the same reply for every one of {ITEMS} items" in found


@each("samples, read", [(1, False), (2, True)])
def test_replies_are_read_for_it_only_where_an_item_has_several(
    samples: int, read: bool, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / str(samples)
    folder.mkdir()
    monkeypatch.chdir(folder)
    asked: list[str] = []
    rows = written_remarks._rows

    def noted(connection: Any, query: str) -> Any:
        asked.append(query)
        return rows(connection, query)

    monkeypatch.setattr(written_remarks, "_rows", noted)
    assert remarks(folder, tripos, {"lab/a": half}, samples=samples) == []
    assert any("hash(reply)" in query for query in asked) is read
    monkeypatch.setattr(written_remarks, "_rows", rows)


def test_a_run_of_some_items_says_of_how_many(quiz: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--limit", "1")
    assert done.code == 0, done.err
    assert "note: on 2 of 5 items: --limit 1\n" in done.out


def test_a_judge_that_gives_all_replies_one_grade_is_told(here: Path, tripos: Command) -> None:
    judged = SPEC.replace("role candidate", "role judge\nrole candidate").replace(
        "scenario sums {", 'scorer kind(text: text) by judge { prompt "Kind? {{ text }}", gives 1..5 }\nscenario sums {'
    )
    judged = judged.replace("SAMPLES", "").replace("WHEN", "\n  score kind = kind(reply.text)")
    (here / "sums.tripos").write_text(judged, "utf-8")
    rows = ({"number": number, "answer": str(number)} for number in range(ITEMS))
    (here / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = tripos("run", "sums.tripos", "--model", "mock/careful", "--role", "judge=mock/fair")
    assert done.code == 0, done.err
    grades = ({"number": number, "scorer": "kind", "metric": "kind", "value": 4} for number in range(ITEMS))
    (here / "grades.jsonl").write_text("\n".join(map(json.dumps, grades)), "utf-8")
    done = tripos("import", "scores", "grades.jsonl", "--evaluator", "human/ben", "--set", "model=mock/careful")
    assert done.code == 0, done.err
    found = [(each["kind"], each["text"]) for each in tripos("report", "--json").data["remarks"]]
    assert ("one_grade", "human/ben gives 4 on `kind` to every one of 6 replies") in found


ASKED = """
benchmark sums "1.0.0" {
  languages en
  headline acc
}
role candidate compared
dataset item from "sums.jsonl" { question text, answer integer secret }
scenario s {
  over item
  ask a by candidate { prompt "{{ item.question }}", returns { n integer } }
  score right = a.n == item.answer
}
measure acc = mean(right)
"""


def test_a_headline_says_what_it_would_be_if_unread_replies_counted_as_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("sums.tripos").write_text(ASKED, "utf-8")
    asked = [{"question": f"{n} + {n}", "answer": 2 * n} for n in range(10)]
    Path("sums.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    replies = [
        {"question": row["question"], "model": model, "response": json.dumps({"n": row["answer"] if n < 6 else -1})}
        for model in ("lab/a", "lab/b")
        for n, row in enumerate(asked)
    ]
    for reply in replies[8:10]:
        reply["response"] = "I would rather not say."
    Path("replies.jsonl").write_text("\n".join(map(json.dumps, replies)), "utf-8")
    assert tripos("import", "samples", "replies.jsonl", "--spec", "sums.tripos").code == 0

    told = "lab/a: 0.750 on 8 of 10 scores; 0.600 if the 2 unread ones count as wrong"
    assert f"note: `acc` of {told}" in tripos("report").out
    assert f"acc\\` of {told}." in tripos("report", "--format", "md").out
    report = tripos("report", "--json").data
    assert [each["text"] for each in report["remarks"] if each["kind"] == "unread"] == [f"`acc` of {told}"]
    rows = {row["model"]: row for row in report["measures"][0]["rows"]}
    assert (rows["lab/a"]["unread"], rows["lab/a"]["if_wrong"]) == (2, pytest.approx(0.6))
    assert "unread" not in rows["lab/b"]
    csv = tripos("report", "--format", "csv").out.splitlines()
    assert csv[0].split(",")[12:14] == ["unread", "if_wrong"]
    assert f"! {told}" in tripos("leaderboard").out
    assert tripos("report", "--html", "page.html").code == 0
    assert told in Path("page.html").read_text("utf-8")
