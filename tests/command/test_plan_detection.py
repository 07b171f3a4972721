"""`tripos plan` on what a test detects with the cells, elements and clusters that the data have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tripos as product
from tests.conftest import Command

SPEC = """\
benchmark uneven "0.1.0" { languages en, headline HEADLINE }
role candidate compared
arm hint { none, some }
dataset item from "items.jsonl" {
  text text
  subject text
  book text KEY
  steps list<text>
}
scenario answer {
  arms hint
  over item as q
  ask reply by candidate { prompt "({{ q.subject }}) {{ q.text }} ({{ hint }})" }
  score right = contains(reply.text, q.book)
  score found = contains(reply.text, s) each s in q.steps
  measure plain = mean(right)
  measure macro = mean(mean(right) by q.subject)
  measure both  = mean(mean(right) by hint, q.subject)
  measure found = mean(found)
  measure far   = share(right)
}
"""


def write(folder: Path, headline: str, sizes: dict[str, int], key: str = "", books: int = 0, steps: int = 1) -> None:
    """Write the benchmark: subjects of these sizes, the first item with so many `steps`, the first so many of one
    book."""
    spec = SPEC.replace("HEADLINE", f"answer.{headline}").replace("book text KEY", f"book text {key}".rstrip())
    if key:
        spec = spec.replace("  book text key\n", "  book text\n  key book\n")
    (folder / "uneven.tripos").write_text(spec, "utf-8")
    subjects = [subject for subject, size in sizes.items() for _ in range(size)]
    rows = [
        {
            "text": f"Question {number}",
            "subject": subject,
            "book": "same" if number < books else f"book {number}",
            "steps": ["a", *map(str, range(1, steps if number == 0 else 1))],
        }
        for number, subject in enumerate(subjects)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(tripos: Command, *options: str) -> str:
    done = tripos("plan", "uneven.tripos", *options)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    return " ".join(done.out.split())


THREE = {"a": 3, "b": 30, "c": 300}


@pytest.mark.parametrize("headline", ["macro", "both"])
def test_cells_of_3_30_and_300_items_are_worth_24(folder: Path, tripos: Command, headline: str) -> None:
    write(folder, headline, THREE)
    told = planned(tripos)
    assert f"333 items: a test detects a difference of 50 % of the scale of `answer.{headline}`" in told
    assert "Cells of 3, 30, 300 items: their mean is as sure as that of 24 that count alike would be" in told
    assert "and 90 % of its variance comes from `subject: a`." in told


def test_items_that_count_alike_are_told_as_before(folder: Path, tripos: Command) -> None:
    for headline in ("plain", "far"):
        write(folder, headline, THREE)
        told = planned(tripos)
        assert f"333 items: a test detects a difference of 8 % of the scale of `answer.{headline}`" in told
        assert "as sure as" not in told


def test_items_of_many_elements_and_clusters_of_many_items_cost(folder: Path, tripos: Command) -> None:
    write(folder, "found", {"a": 100}, steps=40)
    assert "Items of 1 to 40 elements: the mean is as sure as that of 11 of one size would be." in planned(tripos)
    write(folder, "plain", {"a": 139}, key="key", books=40)
    told = planned(tripos)
    assert "100 clusters: a test detects" in told
    assert "Clusters of 1 to 40 items: the mean is as sure as that of 11 of one size would be." in told


def test_one_item_in_all_is_told_without_a_cell(folder: Path, tripos: Command) -> None:
    spec = """\
benchmark uneven "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { id text, text text, key id }
scenario answer {
  over item as item
  ask reply by candidate { prompt "{{ item.text }}" }
  score right = contains(reply.text, "4")
  measure plain = mean(right)
}
"""
    (folder / "uneven.tripos").write_text(spec, "utf-8")
    (folder / "items.jsonl").write_text('{"id": "a", "text": "?"}\n', "utf-8")
    assert "No test tells two models apart in `answer.plain`: it has one item." in planned(tripos)


def test_a_cell_of_one_item_is_told_before_anything_is_asked(folder: Path, tripos: Command) -> None:
    write(folder, "macro", {"a": 1, "b": 30})
    told = planned(tripos)
    assert "No test tells two models apart in `answer.macro`: its cell `subject: a` has one item." in told
    assert "a test detects" not in told
    write(folder, "macro", {"a": 1, "b": 30, "c": 1})
    assert (
        "No test tells two models apart in `answer.macro`: 2 of its cells have one item, as `subject: a` has."
        in planned(tripos)
    )


def test_the_selection_is_what_counts(folder: Path, tripos: Command) -> None:
    write(folder, "macro", THREE)
    assert "33 items: a test detects" in planned(tripos, "--limit", "33")


def test_designs_and_json_have_the_same_numbers(folder: Path, tripos: Command) -> None:
    write(folder, "macro", THREE)
    done = tripos("run", "uneven.tripos", "--model", "mock/careful", "--dry-run", "--json")
    detects: dict[str, Any] = done.data["detects"]
    assert detects["measure"] == "answer.macro"
    assert detects["effective_items"] == pytest.approx(24.3, abs=0.05)
    assert detects["degrees_of_freedom"] == pytest.approx(2.46, abs=0.005)
    assert [(each["cell"], each["items"]) for each in detects["cells"]] == [
        ("subject: a", 3),
        ("subject: b", 30),
        ("subject: c", 300),
    ]
    assert sum(each["share_of_variance"] for each in detects["cells"]) == pytest.approx(1)
    found = tripos("plan", "uneven.tripos", "--detect", "0.3", "--json").data
    assert found["effective_items"] == detects["effective_items"]
    assert found["designs"][0]["detects"] == pytest.approx(detects["same_items"])
    assert not found["designs"][0]["reaches"]
    assert found["items_beyond"] > 333
    assert product.compile("uneven.tripos").plan().to_json()["detects"] == detects


def test_a_store_teaches_the_variance_and_the_plan_the_cells(folder: Path, tripos: Command) -> None:
    write(folder, "macro", {"a": 10, "b": 30})
    models = ("--model", "mock/careful,mock/careful:b")
    assert tripos("run", "uneven.tripos", *models, "--json").code == 0
    even = planned(tripos, *models)
    assert "a test detects a difference of" in even
    write(folder, "macro", {"a": 10, "b": 300})
    told = planned(tripos, *models)
    assert "310 items: a test detects a difference of" in told
    assert "Cells of 10, 300 items: their mean is as sure as that of 39 that count alike would be" in told


OF_REPLIES = """\
benchmark uneven "0.1.0" { languages en, headline answer.found }
role candidate compared
arm hint { none, some }
dataset item from "items.jsonl" { text text, subject text, book text, steps list<text> }
scenario answer {
  arms hint
  over item as q
  ask reply by candidate EACH {
    prompt "{{ q.text }} ({{ hint }})"
    RETURNS
  }
  score found = SCORE
  measure found = mean(mean(found) by q.subject)
}
"""


@pytest.mark.parametrize(
    ("each", "returns", "score"),
    [
        ("each s in q.steps", "", "contains(a.text, a.s) each a in reply"),
        ("each s in q.steps", "", 'contains(a.text, a.s) each a in reply where a.text != ""'),
        ("", "returns { parts list<text> }", "contains(part, q.book) each part in reply.parts"),
        ("", "returns { good bool, note text }", "contains(reply.note, q.book) when reply.good"),
    ],
)
def test_elements_and_conditions_that_only_a_reply_decides_count_as_one_row(
    folder: Path, tripos: Command, each: str, returns: str, score: str
) -> None:
    write(folder, "found", {"a": 2, "b": 20}, steps=3)
    spec = OF_REPLIES.replace("EACH", each).replace("RETURNS", returns).replace("SCORE", score)
    (folder / "uneven.tripos").write_text(spec, "utf-8")
    told = planned(tripos)
    assert "22 items: a test detects a difference" in told
    assert "Cells of 2, 20 items" in told
