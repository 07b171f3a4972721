"""`fill` puts values into the holes of templates in other notations: each into its own, none into another value, and no
hole and no value is left over.

The long form draws more templates.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.conftest import Command
from tests.lengths import sized
from tripos_compiler.library.functions.texts import fill, other_holes
from tripos_compiler.library.signature import Undefined

NOTATIONS = (
    "{{NAME}}", "{{ NAME }}", "${NAME}", "%(NAME)s", "<<NAME>>", "[[NAME]]", "{NAME}", "<NAME>", "[NAME]", "$NAME",
)  # fmt: skip
NAMES = ("question", "answer", "student_solution", "x", "题目", "_a1")
BETWEEN = (
    "", " ", "\n", " {} ", '{"a": 1} ', " </question> ", " {a: 1}, ", r" \frac{1}{2} ", " 5 % ", "5 $ ",
    " {% if x %} ", "<br/> ",
)  # fmt: skip
"""Text between holes, none of which is a hole with a name."""
VALUES = st.one_of(
    st.text(max_size=20), st.sampled_from([form.replace("NAME", name) for form in NOTATIONS for name in NAMES])
)


@st.composite
def filled(draw: st.DrawFn) -> tuple[str, dict[str, str], str]:
    """Return a template, the values of its holes, and the text that it comes to."""
    form = draw(st.sampled_from(NOTATIONS))
    values = draw(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1))
    order = draw(st.permutations([*values, *draw(st.lists(st.sampled_from(sorted(values)), max_size=2))]))
    template, text = "", ""
    for name in order:
        between = draw(st.sampled_from(BETWEEN)) + " "
        template += between + form.replace("NAME", name) + " "
        text += between + values[name] + " "
    return template, values, text


@given(filled())
@settings(max_examples=sized(200, 20_000), deadline=None)
def test_each_value_is_put_into_its_holes_as_it_is(made: tuple[str, dict[str, str], str]) -> None:
    template, values, text = made
    assert other_holes({"template": template, "holes": list(values)}) is None
    assert fill(template, list(values), list(values.values())) == text


@given(filled(), st.data())
@settings(max_examples=sized(200, 20_000), deadline=None)
def test_no_hole_and_no_value_is_left_over(made: tuple[str, dict[str, str], str], data: st.DataObject) -> None:
    template, values, _ = made
    names = list(values)
    if data.draw(st.booleans()) and len(names) > 1:
        names.remove(data.draw(st.sampled_from(names)))
    else:
        names.append("another")
    assert other_holes({"template": template, "holes": names}) is not None
    with pytest.raises(Undefined):
        fill(template, names, [values.get(name, "") for name in names])


@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(["%s", "{}"]), st.integers(-1, 1))
@settings(max_examples=sized(100, 5_000), deadline=None)
def test_values_without_a_name_are_put_in_in_order(values: list[str], sign: str, more: int) -> None:
    template = " and ".join([sign] * (len(values) + more))
    holes = [""] * len(values)
    if more == 0:
        assert fill(template, holes, values) == " and ".join(values)
        return
    assert other_holes({"template": template, "holes": holes}) is not None
    with pytest.raises(Undefined):
        fill(template, holes, values)


SPEC = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role writer
dataset item from "items.jsonl" {{ question text, template text }}
scenario one {{
  over item
  {before}
  ask reply by candidate {{ prompt "{{{{ fill({template}, question: item.question) }}}}" }}
  score long = words(reply.text)
}}
"""
ROWS = (
    {"question": "Is {{answer}} right?", "template": 'Q: {{question}}\nA as {"a": 1}: '},
    {"question": "How?", "template": "<question>"},
)


def write(folder: Path, template: str, before: str = "", rows: tuple[dict[str, str], ...] = ROWS) -> str:
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    path = folder / "spec.tripos"
    path.write_text(SPEC.format(template=template, before=before), "utf-8")
    return str(path)


def test_a_template_of_the_row_is_sent_filled(tmp_path: Path, tripos: Command) -> None:
    done = tripos("plan", write(tmp_path, "item.template"), "--prompts", "2")
    assert 'Q: Is {{answer}} right?\n    A as {"a": 1}:' in done.out
    assert "\n    How?\n" in done.out


def test_check_names_the_row_whose_template_has_another_hole(tmp_path: Path, tripos: Command) -> None:
    rows = (*ROWS, {"question": "Why?", "template": "{question} {hint}"})
    done = tripos("check", write(tmp_path, "item.template", rows=rows))
    assert done.code == 2
    assert "error[E0406]: row 3 of this scenario: the hole `{hint}` of the template has no" in done.err + done.out


def test_a_template_that_is_known_in_a_run_is_not_sent_with_a_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    before = 'ask made by writer { prompt "Write a template. {{ item.question }}" }'
    spec = write(tmp_path, "made.text", before)
    done = tripos("run", spec, "--model", "mock/careful", "--role", "writer=mock/careful")
    assert "the holes of the template do not match the given values" in " ".join((done.out + done.err).split())
    assert tripos("sql", "select count(*) as n from demo.scores where status = 'ok'", "-o", "n.json").code == 0
    assert json.loads(Path("n.json").read_text("utf-8")) == [{"n": 0}]


UNDER_CONDITIONS = {
    "of the ask": """
  ask first by candidate when item.question == "How?" { prompt "{{ fill(item.template, question: item.question) }}" }
  ask reply by candidate when item.question != "How?" { prompt "{{ fill(item.template, question: item.question) }}" }
  score short = words(first.text)
""",
    "of a passage": """
  ask reply by candidate {
    prompt "Say: {{ item.question }}"
    prompt "{{ fill(item.template, question: item.question) }}" when item.question == "How?"
    prompt "{{ fill(item.template, question: item.question) }}" when item.question != "How?"
  }
""",
    "of the language": """
  ask reply by candidate {
    prompt en "{{ fill(item.template, question: item.question) }}" zh "{{ fill(item.template, question: item.question) }}"
  }
""",
}


@pytest.mark.parametrize("condition", sorted(UNDER_CONDITIONS))
def test_a_template_is_checked_under_each_of_its_conditions(tmp_path: Path, tripos: Command, condition: str) -> None:
    rows = (
        {"question": "How?", "template": "{question}", "language": "en"},
        {"question": "Why?", "template": "{question} {hint}", "language": "zh"},
    )
    text = SPEC.format(template="item.template", before="")
    start, end = text.index("  ask reply"), text.index("  score long")
    text = text[:start] + UNDER_CONDITIONS[condition].lstrip("\n") + text[end:]
    if condition == "of the language":
        text = text.replace("template text }", "template text, language }")
        text = text.replace("languages en", "languages en, zh").replace(
            "  over item", "  context language\n  over item"
        )
    path = write(tmp_path, "item.template", rows=rows)
    Path(path).write_text(text, "utf-8")
    done = tripos("check", path)
    found = [line for line in (done.err + done.out).splitlines() if "E0406" in line]
    assert [line.partition(": ")[2].partition(":")[0] for line in found] == ["row 2 of this scenario"], (
        done.err + done.out
    )


@pytest.mark.parametrize(
    ("call", "help_"),
    [
        ('fill("%s and %s", item.question)', "as many values as the template has holes"),
        ('fill("{} and {}", item.question)', "as many values as the template has holes"),
        ('fill("{a} and {b}", a: item.question)', "each hole of the template a value, by its name"),
    ],
)
def test_the_help_names_values_as_the_template_does(tmp_path: Path, tripos: Command, call: str, help_: str) -> None:
    path = write(tmp_path, "item.template")
    text = (
        Path(path).read_text("utf-8").replace("fill(item.template, question: item.question)", call.replace('"', '\\"'))
    )
    Path(path).write_text(text, "utf-8")
    done = tripos("check", path)
    assert help_ in done.err + done.out
