"""`tripos describe`: statistics of data sets, held against counts by hand."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" {
  question  text
  kind      choice(easy, hard)
  tags      set<text>
  marks     list<integer>?
  weight    number
  source    { book text, page integer? }
}
dataset other from "other.jsonl" { question text, note text }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text) > 1
}
"""
ITEMS: list[dict[str, Any]] = [
    {"question": "One two", "kind": "hard", "tags": ["a", "bc"], "marks": [1, 2, 3], "weight": 0.5, "source": {"book": "X"}},
    {"question": "Three", "kind": "easy", "tags": [], "weight": 2, "source": {"book": "X", "page": 4}},
    {"question": "Four five six", "kind": "hard", "tags": ["a"], "marks": [], "weight": 1, "source": {"book": "Y", "page": 5}},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)), "utf-8")
    (tmp_path / "other.jsonl").write_text(json.dumps({"question": "Seven", "note": "n"}), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(tripos: Command, *options: str) -> list[dict[str, Any]]:
    """Return the data sets, as JSON has them."""
    done = tripos("describe", "s.tripos", "--format", "json", *options)
    assert done.code == 0, done.err
    datasets: list[dict[str, Any]] = done.data["datasets"]
    return datasets


def test_every_field_is_counted(folder: Path, tripos: Command) -> None:
    item, other = told(tripos)
    assert (item["rows"], other["rows"]) == (3, 1)
    fields = item["groups"][0]["fields"]
    assert list(fields) == ["question", "kind", "tags", "tags.text", "marks", "weight", "source.book", "source.page"]
    figures = ("values", "distinct", "unit", "mean", "least", "median", "most")
    assert {name: tuple(of[each] for each in figures) for name, of in fields.items()} == {
        "question": (3, 3, "characters", 25 / 3, 5, 7, 13),
        "kind": (3, 2, "", None, None, None, None),
        "tags": (3, 2, "items", 1, 0, 1, 2),
        "tags.text": (3, 3, "characters", 4 / 3, 0, 1, 3),
        "marks": (2, 3, "items", 1.5, 0, 1.5, 3),
        "weight": (3, 3, "", 3.5 / 3, 0.5, 1, 2),
        "source.book": (3, 2, "characters", 1, 1, 1, 1),
        "source.page": (2, 2, "", 4.5, 4, 4.5, 5),
    }


def test_rows_are_counted_by_fields_in_the_order_of_a_choice(folder: Path, tripos: Command) -> None:
    (item,) = told(tripos, "--dataset", "item", "--by", "kind,source.book", "--field", "question", "--unit", "words")
    assert [(each["by"], each["rows"], each["fields"]["question"]["mean"]) for each in item["groups"]] == [
        ({"kind": "easy", "source.book": "X"}, 1, 1),
        ({"kind": "hard", "source.book": "X"}, 1, 2),
        ({"kind": "hard", "source.book": "Y"}, 1, 3),
    ]


def test_a_missing_value_is_a_group_and_values_are_counted_under_one_name(folder: Path, tripos: Command) -> None:
    options = ("--dataset", "item", "--by", "source.page", "--group", "late=4,5", "--field", "weight")
    (item,) = told(tripos, *options)
    groups = [(each["by"]["source.page"], each["fields"]["weight"]["mean"]) for each in item["groups"]]
    assert groups == [("late", 1.5), ("(none)", 0.5)]


def test_data_sets_are_described_as_one_by_what_they_share(folder: Path, tripos: Command) -> None:
    (both,) = told(tripos, "--together")
    assert (both["dataset"], both["rows"]) == ("item + other", 4)
    assert list(both["groups"][0]["fields"]) == ["question"]
    assert [each["rows"] for each in both["files"]] == [3, 1]


def test_the_table_and_csv_say_the_same(folder: Path, tripos: Command) -> None:
    done = tripos("describe", "s.tripos", "--dataset", "item", "--by", "kind", "--field", "question,tags")
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[2] == ["kind", "rows", "share", "question", "tags"]
    assert lines[4:] == [["easy", "1", "33.3%", "5.00", "0.00"], ["hard", "2", "66.7%", "10.00", "1.50"]]
    done = tripos("describe", "s.tripos", "--dataset", "item", "--by", "kind", "--field", "tags", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [(row["kind"], row["field"], row["mean"], row["unit"]) for row in rows] == [
        ("easy", "tags", "0.0", "items"),
        ("hard", "tags", "1.5", "items"),
    ]
    fields = ("--field", "source.book=distinct,question")
    done = tripos("describe", "s.tripos", "--dataset", "item", "--by", "kind", *fields)
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (lines[2], *lines[4:]) == (
        "kind rows share distinct source.book question",
        "easy 1 33.3% 1 5.00",
        "hard 2 66.7% 2 10.00",
    )
    done = tripos("describe", "s.tripos", "--dataset", "item", "--by", "kind", "--figure", "rows")
    assert [line.split() for line in done.out.splitlines()[3:]] == [["easy", "1", "33.3%"], ["hard", "2", "66.7%"]]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (("--dataset", "itm"), "no data set `itm`", "did you mean `item`?"),
        (("--dataset", "item", "--by", "knd"), "`item` has no field `knd`", "did you mean `kind`?"),
        (("--dataset", "other", "--field", "x"), "`other` has no field `x`", "there is `question`, `note`"),
        (("--field", "question=most"), "`--field NAME=FIGURE` needs `--by`", "all figures"),
        (("--by", "kind", "--field", "question=mst"), "`--field question=mst` names no figure", "did you mean `most`?"),
        (("--figure", "most"), "`--figure` needs `--by FIELD[,FIELD]`", "give both"),
        (("--dataset", "item", "--by", "kind", "--group", "a"), "`--group a` names no values", "--group NAME=VALUE"),
        (
            ("--dataset", "item", "--by", "kind", "--group", "a=1", "--group", "b=1"),
            "`1` is counted as `a` and as `b`",
            "one `--group`",
        ),
    ],
)
def test_what_is_not_there_is_named(
    folder: Path, tripos: Command, options: tuple[str, ...], message: str, hint: str
) -> None:
    done = tripos("describe", "s.tripos", *options)
    assert done.code == 2
    assert message in done.err
    assert hint in done.err
    assert "error[R0202]" in done.err
