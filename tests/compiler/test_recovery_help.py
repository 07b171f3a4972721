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


RAG = """\
benchmark b "1.0.0" { languages en }
role candidate compared
role judge
arm tone { warm, plain }
scorer grounded(reply: text) by judge { prompt "Good? {{ reply }}", gives 1..5 }
scenario s {
  arms tone
  ask reply by candidate {
    system      "Be friendly." when tone == warm
    prompt      "Why?"
    temperature 0
  }
  score long     = words(reply.text) >= 3
  score grounded = grounded(reply.text)
}
measure m = mean(long) lower is better by tone
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "help_"),
    [
        ("lower is better by tone", "by tone lower is better", "E0106", "write `lower is better by tone`"),
        ("lower is better by tone", "by tone, metric higher is better", "E0106",
         "write `higher is better by tone, metric`"),
        ("mean(long) lower is better by tone", "mean(grounded) by tone across judge", "E0106",
         "write `across judge by tone`"),
        ("= grounded(reply.text)", "= gruonded(reply.text)", "E0205", "did you mean `grounded`?"),
        ("gives 1..5", "gives 1-5", "E0302", "a range is written `1..5`"),
        ("score long     =", "score long :", "E0101", "a value follows `=`: `score long = words`"),
        (">= 3", "> = 3", "E0101", "did you mean `>=`?"),
        ("role judge\n", "// the judge\nrole judge\n", "E0101", "a comment begins with `#`"),
        ("role judge\n", "/* the judge */\nrole judge\n", "E0101", "a comment begins with `#`"),
        ("role judge\n", "-- the judge\nrole judge\n", "E0106", "a comment begins with `#`"),
        ("temperature 0", "temperature 0 // cold", "E0101", "a comment begins with `#`"),
        (">= 3", "// 3", "E0101", "here it is written `floor(x / y)`"),
        ("tone == warm", "tone = warm", "E0106",
         "two values are compared by `==`; it is written `system LABELS [when COND]`"),
    ],
)  # fmt: skip
def test_a_slip_is_told_once_with_what_to_write(old: str, new: str, code: str, help_: str) -> None:
    assert old in RAG and not list(compile_text(RAG).diagnostics)
    [mistake] = compile_text(RAG.replace(old, new)).diagnostics
    assert (mistake.code, mistake.help) == (code, help_)


def test_a_score_of_another_function_may_not_have_the_name_of_a_scorer() -> None:
    other = RAG.replace("= grounded(reply.text)", "= rounded(reply.text)")
    other = other.replace("scenario s {", "let rounded(reply: text) = words(reply)\nscenario s {", 1)
    assert "E0202" in {each.code for each in compile_text(other).diagnostics}


def test_a_clause_after_by_may_be_the_name_of_an_arm() -> None:
    spec = RAG.replace("arm tone", "arm across").replace("arms tone", "arms across").replace("tone ==", "across ==")
    assert not list(compile_text(spec.replace("lower is better by tone", "by across")).diagnostics)


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
