"""The report of a run as PDF: whole, literal, the same each time, and never with boxes for characters."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pypdf import PdfReader

from tests.conftest import Command
from tests.lengths import sized
from tripos.view.files import ViewFiles
from tripos.view.paper import language_tags, table_parts, typeset
from tripos_compiler.errors import TriposError
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.model import Column, Table


def text_of(pdf: bytes) -> str:
    """Return the text of a PDF without spaces, and with ligatures as letters."""
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)
    return "".join(char for char in unicodedata.normalize("NFKC", text) if char.isprintable() and char != " ")


def paper(title: str, tables: list[Table]) -> dict[str, Any]:
    """Return a document of some tables."""
    parts = [part for table in tables for part in table_parts(table)]
    sections = [{"title": title, "parts": parts}]
    return {
        "title": title,
        **language_tags("en"),
        "footer": title,
        "sentences": [title],
        "warnings": [title],
        "facts": [{"name": title, "value": title}],
        "sections": sections,
    }


def test_a_report_as_pdf_has_what_the_report_has_and_is_the_same_each_time(ran: Path, tripos: Command) -> None:
    outcome = tripos("report", "--pdf", "report.pdf")
    assert outcome.code == 0 and "written to report.pdf" in outcome.out
    content = Path("report.pdf").read_bytes()
    assert tripos("report", "--pdf", "again.pdf").code == 0 and Path("again.pdf").read_bytes() == content
    assert len(PdfReader("report.pdf").pages) <= 2
    text, report = text_of(content), tripos("report", "--json").data
    for measure in report["measures"]:
        assert measure["name"] in text or not measure["rows"]
        for row in measure["rows"]:
            assert row["value"] is None or f"{row['value']:.2f}" in text
    for model in report["run"]["models"]:
        assert model.replace(" ", "") in text
    assert report["run"]["run_id"] in text


def test_page_and_pdf_begin_with_the_same_sentences(ran: Path, view: ViewFiles, tripos: Command) -> None:
    run = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]
    about = json.loads(view.json(f"runs/{run}/about.json") or b"")
    assert about["opening"] == [
        "5 items in 2 scenarios were asked of mock/careful, mock/careless.",
        "Graded by mock/fair, mock/severe.",
    ]
    assert about["said"]["zh"][about["opening"][1]] == "由 mock/fair, mock/severe 评分。"
    assert tripos("report", "--pdf", "report.pdf").code == 0
    text = text_of(Path("report.pdf").read_bytes())
    assert all(sentence.replace(" ", "") in text for sentence in about["opening"])


PAIRS = """\
benchmark pairs "1.0.0" { languages en }
role candidate compared
role judge
role guest
axis topic { rain, wind }
scorer better(one: text, two: text) by judge {
  prompt "{{ one }} {{ two }} Which is better?"
  gives choice(one, two, tie)
}
scenario essay {
  context topic
  ask reply by candidate { prompt "Explain {{ topic }}." }
  ask more by guest { prompt "Go on: {{ reply.text }}" }
  compare preferred using better(first.reply.text, second.reply.text)
}
measure won = win_rate(preferred)
"""


def test_a_judge_of_pairs_graded_and_a_model_that_only_replies_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.tripos").write_text(PAIRS, "utf-8")
    models = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/fair", "--role", "guest=mock/slow")
    assert tripos("run", "pairs.tripos", *models).code == 0
    files = ViewFiles(lambda: Store.open(Path("results"), create=False), tmp_path / "made")
    run = json.loads(files.json("index.json") or b"")["runs"][0]["run_id"]
    opening = json.loads(files.json(f"runs/{run}/about.json") or b"")["opening"]
    assert opening == ["2 items in 1 scenario were asked of mock/careful, mock/careless.", "Graded by mock/fair."]


def test_a_report_as_pdf_goes_with_json_and_not_with_a_table(ran: Path, tripos: Command) -> None:
    assert tripos("report", "--pdf", "report.pdf", "--json").data["format"] == "tripos.report/1"
    assert Path("report.pdf").is_file()
    assert "R0202" in tripos("report", "--pdf", "other.pdf", "--format", "latex").err
    assert "S0102" in tripos("report", "--pdf", "nowhere/report.pdf").err


TITLES = """\
benchmark quiz "1.0.0" { languages de, headline note }
role candidate compared
axis topic { bread, rain, snow, rice, wind, hail, corn, ice }
scenario s {
  context topic
  ask reply by candidate { prompt "{{ topic }}?" }
  score note = words(reply.text) > 3
}
measure note de "Durchschnittsnote" = mean(note)
"""


def test_the_sentences_of_a_pdf_have_the_titles_of_the_readers_language(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quiz.tripos").write_text(TITLES, "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careless").code == 0
    assert tripos("report", "--pdf", "report.pdf", "--language", "de").code == 0
    assert "Durchschnittsnote(note):nodifference" in text_of(Path("report.pdf").read_bytes())


MARKUP = st.text(st.sampled_from("abc#$*_`@<>\\[]{}/=-+~\"'();:.,0123%&^|é²≤"), min_size=1, max_size=30)
COMMANDS = st.sampled_from(["#panic()", "$x$", "*b*", "\\u{41}", '#include "a"', "= a", "// a", "@a", "<a>", "`a`"])


@given(st.one_of(MARKUP, COMMANDS), st.lists(st.one_of(MARKUP, COMMANDS), min_size=1, max_size=4))
@settings(deadline=None, max_examples=sized(10, 500))
def test_no_text_is_markup(title: str, cells: list[str]) -> None:
    columns = (Column(title, tuple(cells), is_name=True), Column("value", tuple(range(len(cells))), "number"))
    text = text_of(typeset(paper(title, [Table(columns, "t", title, (title,))])))
    for shown in (title, *cells):
        assert unicodedata.normalize("NFKC", shown).replace(" ", "") in text


@given(st.from_regex(r"[a-zA-Z]{1,9}([_-][a-zA-Z0-9]{1,8}){0,2}", fullmatch=True))
@settings(deadline=None, max_examples=sized(5, 300))
def test_a_report_is_set_in_a_language_of_any_name(language: str) -> None:
    assert text_of(typeset({**paper("quiz", []), **language_tags(language)}))


def test_a_table_with_more_columns_than_fit_is_continued_below() -> None:
    models = [f"provider/a-model-with-a-long-name-{number}" for number in range(23)]
    value = Estimate(0.5, low=0.25, high=0.75)
    columns = (Column("item", ("a", "b")), *(Column(name, (value, value), "number", is_name=True) for name in models))
    pdf = typeset(paper("wide", [Table(columns, "t", "Scores")]))
    text = text_of(pdf)
    assert all(name in text for name in models) and text.count("[0.250,0.750]") == 2 * len(models)
    for page in PdfReader(io.BytesIO(pdf)).pages:
        ends: list[float] = []
        page.extract_text(visitor_text=lambda text, _, place, *rest, ends=ends: ends.append(place[4]))
        assert max(ends) < page.mediabox.width - 60


def test_a_character_without_a_font_is_named_and_never_a_box() -> None:
    with pytest.raises(TriposError, match=re.escape("𓀀 (U+13000)")) as caught:
        typeset(paper("an owl: 𓀀", []))
    assert caught.value.code == "S0626"


def test_without_typst_the_error_names_what_to_install(
    ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    outcome = tripos("report", "--pdf", "report.pdf")
    assert outcome.code != 0 and "S0625" in outcome.err and "pip install 'tripos[pdf]'" in outcome.err
    assert not Path("report.pdf").exists()
