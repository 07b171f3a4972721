"""Which rows are of one cluster, by the data sets of a spec."""

from __future__ import annotations

from pathlib import Path

from tests.compiler.compiling import compile_files, plan_of
from tripos_compiler.language.contexts import RowClusters
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Plan

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role author
axis style { plain, long }
axis level { easy, hard }
dataset page  from "rows.jsonl" { text text, book text?, parts list<text>, key book }
dataset bare  from "rows.jsonl" { text text, parts list<text> }
dataset lists from "rows.jsonl" { text text, parts list<text>, key parts }
dataset crossed from bare { context style }
dataset twice   from crossed as it where it.style == plain { context level }
dataset books   from page { context style }
dataset single  from bare { let long = words(single.text) > 3 }
dataset told by author from bare { context style, prompt "{{ bare.text }} {{ style }}", returns { question text }, key told.question }
dataset value from distinct(bare.text) as text { context style }
"""
SCENARIO = """\
scenario NAME {
  over NAME as q
  ask reply by candidate { prompt "{{ q.text }}" }
  score right = contains(reply.text, q.text)
}
"""
ROWS = """\
{"text": "One.", "book": "b1", "parts": ["a", "b"]}
{"text": "Two.", "book": "b1", "parts": ["b", "a"]}
{"text": "Three.", "parts": ["a", "b"]}
"""


def plan_with(folder: Path, *scenarios: str) -> Plan:
    folder.mkdir(exist_ok=True)
    spec = SPEC + "".join(SCENARIO.replace("NAME", name) for name in scenarios)
    return plan_of(compile_files(folder, {"spec.tripos": spec, "rows.jsonl": ROWS}))


def test_rows_of_one_key_are_one_cluster_and_those_without_are_their_own(tmp_path: Path) -> None:
    clusters = RowClusters(plan_with(tmp_path, "page", "bare", "lists"))
    one, two, none = (
        {"text": text, "book": book, "parts": ["a"]} for text, book in (("1", "b"), ("2", "b"), ("3", None))
    )
    assert clusters.of("page", "page", one) == clusters.of("page", "page", two) is not None
    assert clusters.of("page", "page", none) is None
    assert clusters.of("bare", "bare", {"text": "1", "parts": ["a"]}) is None
    alike, other = {"text": "1", "parts": ["a", "b"]}, {"text": "2", "parts": ["a", "b"]}
    assert clusters.of("lists", "lists", alike) == clusters.of("lists", "lists", other)
    assert clusters.of("lists", "lists", alike) != clusters.of("lists", "lists", {"text": "1", "parts": ["b", "a"]})
    assert clusters.scenarios == {"page": "`book`", "lists": "`parts`"}


def test_rows_that_are_made_are_of_the_cluster_of_what_they_were_made_from(tmp_path: Path) -> None:
    clusters = RowClusters(plan_with(tmp_path, "crossed", "twice", "books", "value", "told"))
    source = {"text": "1", "parts": ["a"]}
    for name in ("crossed", "twice"):
        made = {**source, "style": "plain", **({"level": "hard"} if name == "twice" else {})}
        assert clusters.of(name, name, made) == item_id(source)
    of_book = {**source, "book": "b1", "style": "long"}
    assert clusters.of("books", "books", of_book) == clusters.of("books", "books", {**of_book, "text": "2"})
    assert clusters.of("books", "books", {**of_book, "book": None}) == item_id({**source, "book": None})
    plain, long = ({"text": "One.", "style": style} for style in ("plain", "long"))
    assert clusters.of("value", "value", plain) == clusters.of("value", "value", long)
    told = {**source, "style": "plain", "question": "What?"}
    assert clusters.of("told", "told", told) == clusters.of("told", "told", {**told, "text": "2"})
    assert clusters.scenarios == {
        "crossed": "the row of `bare`",
        "twice": "the row of `bare`",
        "books": "`book`",
        "value": "`text`",
        "told": "`question`",
    }


def test_a_row_of_which_one_is_made_is_in_its_cluster_where_both_are_asked_about(tmp_path: Path) -> None:
    source = {"text": "1", "parts": ["a"]}
    alone = RowClusters(plan_with(tmp_path / "one", "single"))
    assert alone.of("single", "single", {**source, "long": False}) is None
    both = RowClusters(plan_with(tmp_path / "two", "single", "bare"))
    assert both.of("single", "single", {**source, "long": False}) == item_id(source)
    assert both.of("bare", "bare", source) is None  # whose own name that is
