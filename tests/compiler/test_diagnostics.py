"""How diagnostics are shown: as text with carets in the right column, and as data."""

from __future__ import annotations

import json
import re

import pytest
from compiling import ROOT, compile_text
from hypothesis import given, settings, strategies as st

from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label, nearest
from tripos_compiler.diagnostics.renderers import render_text, summary, to_data
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.source.text import Source, Span

HEAD = 'benchmark demo "1.0.0" { languages en }\nrole candidate compared\n'


def diagnostic(text: str, marked: str, said: str = "") -> Diagnostic:
    start = text.index(marked)
    source = Source("a.tripos", text)
    return Diagnostic("E0201", "there is a mistake", (Label(Span(source, start, start + len(marked)), said),))


def test_a_caret_stands_below_what_it_marks_after_chinese_text() -> None:
    text = render_text([diagnostic('role 评委 评委团 "难度"', "评委团", "这里")])
    quoted, marks = text.splitlines()[3:5]
    before = quoted[: quoted.index("评委团")]
    assert display_width(before) == marks.index("^")
    assert marks.count("^") == display_width("评委团") == 6
    assert marks.endswith("^ 这里")


@pytest.mark.parametrize("before", ["", "\t", "难", "é", "e\u0301", "\u200b", "\t难\t"])
def test_a_caret_stands_in_its_column_whatever_stands_before_it(before: str) -> None:
    quoted, marks = render_text([diagnostic(f"{before}here", "here")]).splitlines()[3:5]
    assert display_width(quoted[: quoted.index("here")]) == marks.index("^")
    assert marks.count("^") == 4


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 50), st.integers(20, 120))
def test_every_span_of_every_text_can_be_shown_within_the_width(text: str, start: int, length: int, width: int) -> None:
    start = min(start, len(text))
    span = Span(Source("a", text), start, min(start + length, len(text)))
    shown = render_text([Diagnostic("E0101", "m", (Label(span),))], width=width)
    assert "\x1b" not in shown
    for line in shown.split("\n")[3:5]:
        assert display_width(line) <= width


def test_a_long_line_is_cut_round_what_is_marked() -> None:
    text = render_text([diagnostic(f"{'a ' * 100}here{' b' * 100}", "here")], width=60)
    quoted, marks = text.splitlines()[3:5]
    assert display_width(quoted) <= 60
    assert quoted[marks.index("^") :].startswith("here")


def test_colour_changes_nothing_but_the_colour() -> None:
    found = compile_text("rol candidate").diagnostics
    coloured = render_text(found, color=True)
    plain = render_text(found)
    assert coloured != plain
    assert "".join(part.partition("m")[2] if i else part for i, part in enumerate(coloured.split("\x1b["))) == plain


def test_diagnostics_as_data_count_lines_and_code_points_from_one() -> None:
    text = (
        f'{HEAD}scenario 求和 {{\n  ask 答案 by 考生 {{ prompt "6 * 7?" }}\n  score ok = exact(答案.text, "42")\n}}\n'
    )
    (found,) = to_data(compile_text(text).diagnostics)
    assert found == {
        "code": "E0201",
        "severity": "error",
        "message": "there is no role `考生`",
        "help": "there is `candidate`",
        "notes": [],
        "labels": [
            {"path": "spec.tripos", "start": {"line": 4, "column": 13}, "end": {"line": 4, "column": 15}, "text": ""}
        ],
        "edits": [],
        "silenced": None,
    }
    assert json.loads(json.dumps(found)) == found


def test_data_and_text_say_the_same_mistakes_in_the_same_order() -> None:
    found = compile_text(f"{HEAD}rol a\nrole b panell\nscenario s {{ }}\n").diagnostics
    shown = render_text(found, width=200)
    assert [f"error[{item['code']}]: {item['message']}" in shown for item in to_data(found)] == [True] * 3
    places = [(item["labels"][0]["start"]["line"], item["labels"][0]["start"]["column"]) for item in to_data(found)]
    assert places == sorted(places)


def test_a_summary_counts_errors_and_warnings() -> None:
    one = diagnostic("a", "a")
    warning = Diagnostic("W0401", "m", one.labels, severity="warning")
    assert summary([]) == "no mistakes"
    assert summary([one]) == "1 error"
    assert summary([one, warning, one]) == "2 errors, 1 warning"


def test_a_warning_is_shown_as_one() -> None:
    warning = Diagnostic("W0401", "m", diagnostic("a", "a").labels, "help", ("note",), severity="warning")
    assert render_text([warning]).startswith("warning[W0401]: m\n")


def test_control_characters_of_a_spec_do_not_reach_the_terminal() -> None:
    found = compile_text('role a\x1b[31m\0\nrole "b\x07"').diagnostics
    assert all(char == "\n" or char.isprintable() for char in render_text(found))


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("canddate", ["candidate", "judge"], "candidate"),
        ("CANDIDATE", ["candidate"], "candidate"),
        ("难度级", ["难度", "学科"], "难度"),
        ("rum", ["run", "two"], "run"),
        ("tow", ["low", "two"], "two"),
        ("cat", ["bat", "car"], None),
        ("q", ["a", "Q"], "Q"),
        ("ad", ["id"], None),
        ("x", ["candidate"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_name_is_suggested_or_none(word: str, known: list[str], meant: str | None) -> None:
    assert nearest(word, known) == meant


@given(st.text("abqAQ题", min_size=1, max_size=2), st.lists(st.text("abqAQ题", min_size=1, max_size=2), max_size=4))
def test_a_word_of_one_or_two_letters_suggests_its_own_letters_only(word: str, known: list[str]) -> None:
    meant = nearest(word, known)
    alike = {name for name in known if sorted(name.casefold()) == sorted(word.casefold())}
    assert meant in alike if alike else meant is None
    if any(name.casefold() == word.casefold() for name in known):
        assert meant is not None
        assert meant.casefold() == word.casefold()


def test_the_table_of_errors_lists_every_code_with_its_headline_and_no_other() -> None:
    rows = [
        re.split(r"(?<!\\)\|", line)
        for line in (ROOT / "docs" / "reference/errors.md").read_text("utf-8").splitlines()
        if "| `" in line
    ]
    listed = {cells_[1].strip().strip("`"): cells_[2].strip() for cells_ in rows}
    assert listed == CODES
    assert all(len(cells_) == 5 and cells_[3].strip() for cells_ in rows)
