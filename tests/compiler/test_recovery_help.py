"""What the parser says of mistakes that people bring from other languages."""

from __future__ import annotations

import re

import pytest
from compiling import compile_text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("returns { hint: text }", "`hint text`"),
        ("returns { sure : 1..5 }", "`sure 1..5`"),
        ('prompt: "Say it."', "`prompt …`"),
    ],
)
def test_a_colon_behind_a_name_is_told_to_go(line: str, shown: str) -> None:
    found = compile_text(f"scenario s {{\n  ask reply by candidate {{\n    {line}\n  }}\n}}\n")
    [mistake] = [each for each in found.diagnostics if each.code == "E0101"]
    assert mistake.help == f"write names and values side by side, without a colon: {shown}"


ARMS = """\
benchmark b "1.0.0" { languages en }
role candidate compared
arm tone { warm, plain }
arm shots { none, some }
axis topic { a, b }
scenario s {
  context topic
  arms tone * shots
  ask reply by candidate {
    system "Be friendly." when tone == warm
    system "For example, 1." when shots == some
    prompt "{{ topic }}"
  }
  score long = words(reply.text) > 3
}
measure long_ones = mean(long) by tone, topic
"""


def test_arms_parted_by_commas_are_told_to_be_joined() -> None:
    [mistake] = compile_text(ARMS.replace("tone * shots", "tone, shots")).diagnostics
    assert (mistake.code, mistake.help) == ("E0106", "write `arms tone * shots`: every combination of their values")


def test_a_statement_behind_the_comma_after_arms_is_one_of_its_own() -> None:
    assert not compile_text(ARMS.replace("  arms tone * shots\n", "  arms tone * shots, let n = 1\n")).diagnostics


def test_dimensions_joined_by_stars_are_told_to_be_parted() -> None:
    [mistake] = compile_text(ARMS.replace("tone, topic", "tone * topic")).diagnostics
    assert (mistake.code, mistake.help) == ("E0106", "write `by tone, topic`")


def test_a_word_that_a_conversation_does_not_know_is_told_which_it_knows() -> None:
    talk = "scenario s {\n  converse talk {\n    turns 6\n  }\n}\n"
    [mistake] = [each for each in compile_text(talk).diagnostics if each.code == "E0106"]
    assert "`limit COUNT turns`" in (mistake.help or "")


FIELDS = [
    'answer text secret from "Answer"', "answer text secret", 'stage secret from "Stage"',
    'marks list<{ n integer }> secret from "a"', 'of choice("a b", c)? secret from "Of"',
    "parts secret { n integer }", 'parts secret from "Parts" { n integer }',
]  # fmt: skip
ELEMENT = re.compile(r'(?:[^\s"{(<]|"[^"]*"|\([^)]*\)|<[^>]*>)+|\{[^}]*\}')
DATA = 'benchmark b "1.0.0" {{ languages en }}\naxis stage {{ x, y }}\ndataset item from "d.jsonl" {{\n  {}\n}}\n'


@pytest.mark.parametrize("right", FIELDS)
def test_a_secret_in_the_wrong_place_is_told_its_own(right: str) -> None:
    """Wherever the word is written: nothing is wrong with the field, or the place is said, and how it is written."""
    others = [each for each in ELEMENT.findall(right) if each != "secret"]
    shown = re.sub(r"\{[^<>]*\}$", "{ … }", right)
    told = 0
    for place in range(len(others) + 1):
        line = " ".join([*others[:place], "secret", *others[place:]])
        found = [each for each in compile_text(DATA.format(line)).diagnostics if each.code.startswith("E010")]
        if line != right and (place > 0 or found):
            [mistake] = found
            at = mistake.labels[0].span
            assert at.start == DATA.format(line).index("secret"), line
            before_block = mistake.code == "E0101" and "before the `{`" in str(mistake.help)
            assert before_block if others[place - 1 : place] == ["{ n integer }"] else f"`{shown}`" in str(mistake.help)
            told += 1
        else:
            assert not found
    assert told >= len(others) - 1


def test_every_optional_word_in_the_wrong_place_is_told_its_own() -> None:
    for wrong, right in {
        'function f pure from "f.py"': 'function f from "f.py" pure',
        "role judge compared panel": None,
        "role compared judge": "role judge compared",
    }.items():
        found = [each for each in compile_text(f"{wrong}\n").diagnostics if each.code == "E0106"]
        assert any(f"write `{right}`" in str(each.help) for each in found) == (right is not None), wrong


@pytest.mark.parametrize(
    ("was", "now", "code", "told"),
    [
        ("mean(long) by", "mean(long = 1) by", "E0303", "write `==`"),
        ("mean(long) by", "mean(long, where: long = 1) by", "E0303", "write `==`"),
        ("words(reply.text) > 3", "default(reply.text = 3, 1)", "E0303", "write `==`"),
        ("mean(long) by tone, topic", "harmonicmean(a, a)\nmeasure a = mean(long)", "E0205", "did you mean `harmonic_"),
        ("benchmark b ", "benchmark a-b ", "E0106", "a name has no hyphens: write `a_b`"),
        ("scenario s {", "scenario s-t {", "E0106", "a name has no hyphens: write `s_t`"),
        ('"1.0.0"', "1.0.0", "E0101", 'write a version in quotation marks: `"1.0.0"`'),
    ],
)
def test_an_ordinary_slip_is_told_how_to_be_mended(was: str, now: str, code: str, told: str) -> None:
    assert was in ARMS
    found = compile_text(ARMS.replace(was, now)).diagnostics
    assert [each.code for each in found if each.help is not None and each.help.startswith(told)] == [code]
