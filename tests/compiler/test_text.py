"""Diagnostics on a terminal, word for word: what is wrapped, cut, and drawn on one line."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings, strategies as st

from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label, Silenced
from tripos_compiler.diagnostics.renderers import render_silenced, render_text
from tripos_compiler.diagnostics.text_format import display_width, wrap
from tripos_compiler.source.text import Source, Span

SPEC = Source(
    "quiz.tripos",
    """\
dataset item from "items.jsonl" {
  question text
  answer text secret
}
scenario sums {
  let hint = concat(item.answer, item.question)
\task reply by candidate { prompt "{{ hint }}: {{ item.question }}, 难度 {{ level }}" }
}
""",
)


def mark(words: str, said: str = "", until: str = "") -> Label:
    """Return a label of the first place of some words, or from there to the end of others."""
    start = SPEC.text.index(words)
    end = SPEC.text.index(until, start) + len(until) if until else start + len(words)
    return Label(Span(SPEC, start, end), said)


def shown(*labels: Label, message: str = "there is a mistake", width: int = 80, **more: object) -> str:
    return render_text([Diagnostic("E0501", message, labels, **more)], width=width)  # type: ignore[arg-type]


def golden(text: str) -> str:
    return dedent(text).removeprefix("\n")


def test_long_words_are_wrapped_and_hang_below_their_beginning() -> None:
    message = "the secret `item.answer` reaches the compared role `candidate`, which would then know it"
    notes = ("since the judge and the candidate are of one family, their scores cannot be compared as they stand",)
    text = shown(mark("hint }}"), message=message, notes=notes, help="leave it to the graders, or say `reveal(…)`")
    assert text == golden("""
        error[E0501]: the secret `item.answer` reaches the compared role `candidate`,
                      which would then know it
         --> quiz.tripos:7:38
          |
        7 |     ask reply by candidate { prompt "{{ hint }}: {{ item.question }}, 难度 …
          |                                         ^^^^^^^
          = note: since the judge and the candidate are of one family, their scores
                  cannot be compared as they stand
          = help: leave it to the graders, or say `reveal(…)`
        """)


def test_chinese_is_wrapped_between_characters_and_no_line_begins_with_a_full_stop() -> None:
    note = "由于评委与考生同属一个模型家族，分数可能偏高，因此结果不能直接比较。请换一个评委再试一次吧。"
    assert shown(mark("hint }}"), notes=(note,), width=60) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:7:38
          |
        7 |     ask reply by candidate { prompt "{{ hint }}: {{ ite…
          |                                         ^^^^^^^
          = note: 由于评委与考生同属一个模型家族，分数可能偏高，因此
                  结果不能直接比较。请换一个评委再试一次吧。
        """)


def test_the_steps_of_a_way_are_shown_in_their_order() -> None:
    labels = [
        mark("hint }}", "here it would be shown"),
        mark("secret", "1: it is secret"),
        mark("item.answer,", "2: it is given to a call"),
        mark("concat", "3: whose result"),
        mark("hint =", "4: has this name"),
    ]
    assert shown(*labels) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:7:38
          |
        7 |     ask reply by candidate { prompt "{{ hint }}: {{ item.question }}, 难度 …
          |                                         ^^^^^^^ here it would be shown
        3 |   answer text secret
          |               ------ 1: it is secret
        6 |   let hint = concat(item.answer, item.question)
          |              ------ ------------ 2: it is given to a call
          |              |
          |              3: whose result
          |       ------ 4: has this name
        """)


def test_two_labels_of_one_line_are_drawn_below_it_once() -> None:
    assert shown(mark("hint }}", "this is secret"), mark("item.question }}", "not it")) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:7:38
          |
        7 |     ask reply by candidate { prompt "{{ hint }}: {{ item.question }}, 难度 …
          |                                         ^^^^^^^     ---------------- not it
          |                                         |
          |                                         this is secret
        """)


def test_labels_that_overlap_have_a_row_each() -> None:
    assert shown(mark("{{ hint }}", "this hole"), mark("hint }}", "shows this")) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:7:35
          |
        7 |     ask reply by candidate { prompt "{{ hint }}: {{ item.question }}, 难度 …
          |                                      ^^^^^^^^^^ this hole
          |                                         ------- shows this
        """)


def test_a_label_of_several_lines_marks_the_first_to_its_end() -> None:
    assert shown(mark("scenario sums", "all of this", until="}\n}")) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:5:1
          |
        5 | scenario sums {
          | ^^^^^^^^^^^^^^^ all of this
        """)


def test_a_long_line_is_cut_on_both_sides_and_its_text_stands_below() -> None:
    said = "a rather long text about this one place, which takes more than a line"
    assert shown(mark("item.question }}", said), width=50) == golden("""
        error[E0501]: there is a mistake
         --> quiz.tripos:7:50
          |
        7 | …rompt "{{ hint }}: {{ item.question }}, 难度…
          |                        ^^^^^^^^^^^^^^^^
          |                 a rather long text about this
          |                 one place, which takes more
          |                 than a line
        """)


def test_a_diagnostic_without_a_place_has_no_snippet() -> None:
    assert shown(help="write one") == "error[E0501]: there is a mistake\n  = help: write one\n"


def test_characters_that_turn_the_order_of_letters_are_not_shown() -> None:
    source = Source("a.tripos", "role \u202eegduj\u2066 panel")
    text = render_text([Diagnostic("E0201", "no `\u202eegduj`", (Label(Span(source, 0, 4)),))])
    assert "\u202e" not in text
    assert "\u2066" not in text
    assert "role �egduj� panel" in text


@settings(deadline=None)
@given(st.text(st.sampled_from("ab `，。（）难度\tc"), max_size=120), st.integers(10, 60))
def test_wrapping_loses_nothing_but_blanks_and_fits_where_a_word_does(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert display_width(line) <= width or " " not in line


@pytest.mark.parametrize("color", [False, True])
def test_a_row_of_a_snippet_is_as_wide_in_colour(color: bool) -> None:
    text = render_text([Diagnostic("E0501", "m", (mark("hint }}", "a"), mark("level", "b")))], color=color)
    assert ("\x1b[31m^^^^^^^\x1b[0m" in text) is color


def silenced(line: str, reason: str) -> Silenced:
    place = mark(line)
    return Silenced(Diagnostic("W0309", "m", (place,), severity="warning"), reason, place.span)


def test_one_silenced_warning_is_told_on_its_line() -> None:
    assert render_silenced([]) == ""
    text = render_silenced([silenced("dataset", "the published file repeats two rows")])
    assert text == "1 warning silenced: W0309 at quiz.tripos:1 (the published file repeats two rows)\n"


def test_several_silenced_warnings_are_a_list() -> None:
    reason = "the published file repeats two rows, and the paper counts both of them"
    assert render_silenced([silenced("dataset", ""), silenced("scenario", reason)], width=60) == golden("""
        2 warnings silenced:
          W0309 at quiz.tripos:1 (no reason given)
          W0309 at quiz.tripos:5 (the published file repeats two
            rows, and the paper counts both of them)
        """)
