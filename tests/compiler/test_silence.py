"""`# allow W0309: reason` silences the warnings of a line, and is itself warned of where it is wrong or in vain."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_files
from hypothesis import given, settings, strategies as st

from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label, deny, split_silenced
from tripos_compiler.source.text import Source, Span

ROWS = '{"question": "2 + 2?"}\n{"question": "2 + 2?"}\n'
SPEC = """\
benchmark sums "1.0.0" {{ languages en }}
role candidate compared
{above}
dataset item from "items.jsonl" {{ question text }}{behind}
scenario adding {{
  over item
  ask answer by candidate {{ prompt "{{{{ item.question }}}}" }}
  score right = contains(answer.text, "4"){elsewhere}
}}
"""
"""A spec with one warning, W0309, on line 4."""


def compiled(folder: Path, above: str = "", behind: str = "", elsewhere: str = "") -> Compilation:
    spec = SPEC.format(above=above, behind=behind, elsewhere=elsewhere)
    return compile_files(folder, {"spec.tripos": spec, "items.jsonl": ROWS})


def codes(compilation: Compilation) -> list[str]:
    return [item.code for item in compilation.diagnostics]


def reasons(compilation: Compilation) -> list[str]:
    return [each.reason for each in compilation.silenced]


@pytest.mark.parametrize(
    "comment", ["# allow W0309: so published", "#allow w0309 :so published", "# Allow W0309：so published"]
)
def test_a_comment_at_the_end_of_the_line_silences_it(tmp_path: Path, comment: str) -> None:
    found = compiled(tmp_path, behind=f"  {comment}")
    assert (codes(found), reasons(found)) == ([], ["so published"])
    [silenced] = found.silenced
    assert silenced.diagnostic.code == "W0309"
    assert silenced.comment.source.text[silenced.comment.start : silenced.comment.end] == comment


def test_a_comment_above_other_comments_silences_the_line_below_them(tmp_path: Path) -> None:
    found = compiled(tmp_path, above="# allow W0309: so published\n# The items of 2024.")
    assert (codes(found), reasons(found)) == ([], ["so published"])


def test_a_silenced_warning_still_compiles_to_the_same_plan(tmp_path: Path) -> None:
    plain, silenced = compiled(tmp_path), compiled(tmp_path, behind=" # allow W0309: so published")
    assert plain.plan is not None
    assert silenced.plan == plain.plan


def test_a_comment_at_the_end_of_the_line_above_speaks_of_its_own_line(tmp_path: Path) -> None:
    found = compiled(tmp_path, above="measure ok = mean(right) # allow W0309: so published")
    assert codes(found) == ["W0110", "W0309"]


def test_a_blank_line_parts_a_comment_from_the_line_below(tmp_path: Path) -> None:
    assert codes(compiled(tmp_path, above="# allow W0309: so published\n")) == ["W0110", "W0309"]


def test_a_comment_that_silences_nothing_is_warned_of_and_shows_the_warning_it_may_mean(tmp_path: Path) -> None:
    found = compiled(tmp_path, elsewhere="  # allow W0309: so published")
    [warning] = [item for item in found.diagnostics if item.code == "W0110"]
    assert warning.message == "there is no warning `W0309` here to silence"
    lines = [label.span.source.position(label.span.start)[0] for label in warning.labels]
    assert lines == [8, 4]


def test_a_comment_without_a_reason_silences_and_is_warned_of(tmp_path: Path) -> None:
    found = compiled(tmp_path, behind="  # allow W0309")
    assert (codes(found), reasons(found)) == (["W0111"], [""])


def test_a_reason_without_a_colon_is_none_and_the_edit_puts_one_in(tmp_path: Path) -> None:
    found = compiled(tmp_path, behind="  # allow W0309 so published")
    [warning] = found.diagnostics
    [edit] = warning.edits
    text = edit.span.source.text
    mended = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert "# allow W0309: so published" in mended
    assert codes(compile_files(tmp_path, {"spec.tripos": mended})) == []


def test_of_several_codes_those_without_effect_are_warned_of(tmp_path: Path) -> None:
    found = compiled(tmp_path, behind="  # allow W0401, W0309, E0305: so published")
    assert reasons(found) == ["so published"]
    assert [item.message for item in found.diagnostics] == [
        "there is no warning `W0401` here to silence",
        "there is no warning `E0305` here to silence",
    ]


def test_the_second_of_two_comments_for_one_warning_is_in_vain(tmp_path: Path) -> None:
    found = compiled(tmp_path, above="# allow W0309: one", behind="  # allow W0309: two")
    assert reasons(found) == ["one"]
    assert [item.message for item in found.diagnostics] == ["`W0309` is silenced here already"]


def test_an_unknown_code_is_warned_of_with_the_nearest_and_its_edit(tmp_path: Path) -> None:
    found = compiled(tmp_path, behind="  # allow W309: so published")
    warning, _ = sorted(found.diagnostics, key=lambda item: item.code)
    assert (warning.message, warning.help) == ("there is no code `W309`", "did you mean `W0309`?")
    assert [edit.text for edit in warning.edits] == ["W0309"]


def test_what_such_comments_are_warned_of_cannot_be_silenced(tmp_path: Path) -> None:
    found = compiled(tmp_path, above="# allow W0111: I know", behind="  # allow W0309")
    assert codes(found) == ["W0110", "W0111"]
    assert found.diagnostics[0].message == "`W0111` cannot be silenced"


def test_an_error_stays_one_and_the_comment_is_warned_of(tmp_path: Path) -> None:
    found = compiled(tmp_path, behind=" # allow W0309: so", elsewhere="\n  score odd = nobody > 1  # allow E0201: so")
    assert found.plan is None
    assert reasons(found) == ["so"]
    assert [(item.severity, item.message) for item in found.diagnostics if item.code == "W0110"] == [
        ("warning", "`E0201` is an error here, and stays one")
    ]
    assert "E0201" in codes(found)


def test_where_there_is_an_error_a_comment_may_be_in_vain_because_of_it(tmp_path: Path) -> None:
    files = {"spec.tripos": SPEC.format(above="# allow W0309: so", behind="", elsewhere="").replace("items", "itms")}
    assert codes(compile_files(tmp_path, {**files, "items.jsonl": ROWS})) == ["E0307"]


@pytest.mark.parametrize(
    "comment", ["# allow the model to think", "# allowed W0309: so", "# to allow W0309: so", "# allow 2 tries: so"]
)
def test_other_comments_are_only_comments(tmp_path: Path, comment: str) -> None:
    assert codes(compiled(tmp_path, above=comment)) == ["W0309"]


def test_what_stands_in_a_prompt_silences_nothing(tmp_path: Path) -> None:
    spec = SPEC.format(above="", behind="", elsewhere="").replace('"{{ item', '"# allow W0309: so {{ item')
    assert codes(compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": ROWS})) == ["W0309"]


PROMPT = '''\
# allow W0401: said above
prompt """
  You are {{ one }}.
""", system """
  And {{ two }}.
""" # allow E0402: said below
'''


@pytest.mark.parametrize(("code", "words"), [("W0401", "{{ one"), ("W0401", "{{ two"), ("E0402", "{{ one")])
def test_a_warning_in_a_text_of_several_lines_is_silenced_above_or_below_it(code: str, words: str) -> None:
    source = Source("a.tripos", PROMPT)
    start = PROMPT.index(words)
    warning = Diagnostic(code, "m", (Label(Span(source, start, start + 6)),), severity="warning")
    _, silenced = split_silenced([warning], [source])
    assert [each.diagnostic for each in silenced] == [warning]


def test_a_warning_without_a_place_cannot_be_silenced() -> None:
    warning = Diagnostic("W0309", "m", (), severity="warning")
    shown, silenced = split_silenced([warning], [Source("a.tripos", "# allow W0309: so\nrole a\n")])
    assert warning in shown
    assert silenced == ()


def test_all_warnings_can_be_denied_and_errors_stay_as_they_are(tmp_path: Path) -> None:
    given = compiled(tmp_path, behind=" # allow W0309", elsewhere="\n  score odd = nobody > 1").diagnostics
    denied = deny(given, {"warnings": "--deny"})
    assert [item.severity for item in given] == ["warning", "error"]
    assert [(item.severity, len(item.notes)) for item in denied] == [("error", 1), ("error", 0)]


SCRAPS = st.sampled_from([
    "# allow ", "W0309", "w0401", "W0110", "E9", ", ", "，", ": ", "：", "so", "\n", " ", '"', '"""', "#", "role a",
    "\r\n",
])  # fmt: skip


@settings(deadline=None)
@given(st.lists(SCRAPS, max_size=40).map("".join), st.lists(st.tuples(st.integers(0, 99), st.booleans()), max_size=6))
def test_every_diagnostic_is_shown_or_silenced_whatever_is_written(text: str, places: list[tuple[int, bool]]) -> None:
    source = Source("a.tripos", text)
    given_ = []
    for start, error in places:
        span = Span(source, min(start, len(text)), min(start, len(text)))
        given_.append(Diagnostic("W0309", f"m{start}", (Label(span),), severity="error" if error else "warning"))
    shown, silenced = split_silenced(given_, [source])
    own = [item for item in shown if item.code in ("W0110", "W0111")]
    parted = [*(item for item in shown if item not in own), *(each.diagnostic for each in silenced)]
    assert set(parted) == set(given_)
    assert all(each.diagnostic.severity == "warning" for each in silenced)
    assert all(item.severity == "warning" for item in own)
