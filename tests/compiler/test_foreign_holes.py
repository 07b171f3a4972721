"""Names in the braces of other template languages are warned of in prompts; JSON, LaTeX and code are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.compiler.compiling import compile_files
from tests.lengths import sized
from tripos_compiler.resolve.program import Binding
from tripos_compiler.typecheck.templates import foreign_holes

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text, level choice(easy, hard), answer text secret }
scorer mark(request: text, reply: text) by judge { prompt "{{ request }} {{ reply }} JUDGED", gives 0..6 }
scenario one {
  over item
  ask reply by candidate { prompt \"\"\"{{ item.question }} ASKED\"\"\" }
  score long = words(reply.text)
  score points = mark(item.question, reply.text)
}
"""
ROWS = "".join(f'{{"question": "What is {n}?", "level": "easy", "answer": "{n}"}}\n' for n in range(2))
SCOPE = {
    "item": Binding(("item",), fields={name: Binding(("item", name)) for name in ("question", "level", "answer")}),
    "language": Binding(("language",)),
}
PATHS = {
    "item.question": "item.question",
    "level": "item.level",
    "language": "language",
    "item.level.x": "item.level.x",
}
FORMS = (
    *("{NAME}", "${NAME}", "{ NAME }", "{$NAME}", "#{NAME}", "{NAME!r}", "{NAME:.2f}", "{NAME:>10d}", "{NAME[0]}"),
    *("{NAME|upper}", "{NAME | trim}", "｛NAME｝", "{% if NAME %}", "{%- if not NAME -%}", "{% for x in NAME %}"),
    "{% set x = NAME %}",
)
OTHERS = (
    '{"question": "…", "level": 3}',
    '{"question": {"level": ["item"]}}',
    "{question: 'What?', level: 3}",
    "{'answer': answer}",
    r"\frac{level}{answer} and \text{question}, x_{level}^{answer}, \boxed{answer}, \sqrt[3]{level}",
    r"\begin{question} \textbf {level} \end{question}",
    r"\mathrm{level}_{answer}",
    "for (;;) { level = answer; }",
    "if (level) { answer(); }",
    "{level, answer}",
    "{A, B}",
    "{name} ${HOME} {% endif %} {% raw %} {% if x == 'level' %}",
    "{}",
    "{ }",
    "{0}",
    "{{ item.question }}",
    "the set {level: level > 3}",
    "\\{level\\}",
)


@given(
    st.sampled_from(FORMS),
    st.sampled_from(sorted(PATHS)),
    st.lists(st.sampled_from(OTHERS), max_size=3),
    st.lists(st.sampled_from(OTHERS), max_size=3),
)
@settings(max_examples=sized(300, 20_000), deadline=None)
def test_a_name_that_stands_alone_is_seen_in_each_form_and_nothing_else_is(
    form: str, path: str, before: list[str], after: list[str]
) -> None:
    written = form.replace("NAME", path)
    text = " ".join([*before, written, *after])
    found = list(foreign_holes(text, SCOPE))
    assert [(text[start:end].lstrip("#"), meant) for start, end, meant in found] == [(written.lstrip("#"), PATHS[path])]


@pytest.mark.parametrize("text", OTHERS)
def test_other_braces_are_not_seen(text: str) -> None:
    assert list(foreign_holes(text, SCOPE)) == []


@given(
    st.recursive(
        st.sampled_from(["question", "level", "item", "answer", 1]),
        lambda of: st.dictionaries(st.sampled_from(["question", "level", "item"]), of) | st.lists(of),
    )
)
@settings(max_examples=sized(200, 20_000), deadline=None)
def test_json_is_never_seen(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), str(value)):
        assert list(foreign_holes(text, SCOPE)) == []


def test_each_is_warned_of_where_it_stands(tmp_path: Path) -> None:
    spec = SPEC.replace("ASKED", "{item.question} {% if item.level %}x{% endif %} {item.question} ${level} {name}")
    spec = spec.replace("JUDGED", "{reply} ${reply} {item.question} {}")
    found = [
        (each.message, each.help)
        for each in compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": ROWS}).diagnostics
        if each.code == "W0405"
    ]
    said = "is no hole: the model is sent it as it stands"
    condition = 'let a text have a condition: `prompt "…" when item.level …`; a value stands as `{{ item.level }}`'
    assert found == [
        (f"`{{reply}}` {said}", "write it as `{{ reply }}`"),
        (f"`${{reply}}` {said}", "write it as `{{ reply }}`"),
        (f"`{{item.question}}` {said}", "write it as `{{ item.question }}`"),
        (f"`{{% if item.level %}}` {said}", condition),
        (f"`${{level}}` {said}", "write it as `{{ item.level }}`"),
    ]
