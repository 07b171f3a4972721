"""Templates of lm-eval's tasks as templates and expressions: each renders as Jinja renders it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, StrictUndefined

from tests.each import each
from tripos.importing.spec_text import NotTranslatable, template
from tripos.importing.tasks.lm_eval_templates import TaskColumns, TaskFields

ROWS: list[dict[str, Any]] = [
    {
        "question": "  How old is it? ",
        "options": ["new", "old", "very {old}"],
        "label": 2,
        "key": "B",
        "made": {"text": ["a b", 'c "d"'], "label": ["A", "B"]},
        "hint": None,
        "done": True,
        "people": [{"name": "Ann"}, {"name": "Ben"}],
    },
    {
        "question": "\tA \\n line\nand another",
        "options": ["x", "y", "z"],
        "label": 0,
        "key": "A",
        "made": {"text": ["", "e"], "label": ["A", "B"]},
        "hint": "Look.",
        "done": False,
        "people": [],
    },
]
TEMPLATES = (
    "{{question}}",
    "Question: {{question.strip()}}\nAnswer:",
    "{{question|trim|upper}} {{question.lower()}}{{key.capitalize()}}",
    "{{question.lstrip()}}|{{question.rstrip()}}|",
    "A. {{options[0]}}\nB. {{options[1]}}\n\n  C. {{options[-1]}}",
    "{{made.text[1]}} {{made['label'][0]}} {{made['text']|length}}",
    "{{['no', 'yes', 'perhaps'][label]}} {{label}} {{label + 1}} {{label - 1}}",
    "{{options.index(options[1])}}",
    "{% if hint %}Hint: {{hint}}\n{% endif %}{{key}}",
    "{% if hint is not none %}{{hint[2:]}}{% else %}{{label|string}}{% endif %}",
    "{% if label == 2 %}two{% elif key == 'A' %}A{% else %}else{% endif %}",
    "{% for o in options %}- {{o}}\n{% endfor %}",
    "{% for o in options %}{{loop.index}}. {{o}}; {% endfor %}",
    "{% set letters = 'ABC' %}{% for o in options %}{{letters[loop.index0]}}) {{o}}\n{% endfor %}",
    "{% for i in range(made.text|length) %}{{'XY'[i]}}: {{made.text[i]}}\n{% endfor %}",
    "{{', '.join(options)}} {{options|join(' / ')}} {{options[:-1]|join}}",
    "{{question.split(' ')[0]}}|{{key + '-' + hint if hint else key}}",
    "{{people|map(attribute='name')|join(',')}}",
    "{{question.replace(' ', '_')}} {{question[2:5]}} {{key ~ label}}",
    "{{done}} {{'yes' if done and label > 1 else 'no'}} {{'in' if key in ['A', 'C'] else 'out'}}",
    "{{hint}} {{'a' ~ hint}}",
    "{% set head = 'Q: ' + question %}{{head + '\\nA: ' + key}}",
    "{{key if key is defined else nothing}}{{nothing if nothing is defined else 'none'}}",
    'tab\there, a "quote", a back\\slash, 100 % {single}',
    "",
)


def rendered(text: str, row: dict[str, Any]) -> str:
    """Return a template as lm-eval renders it."""
    environment = Environment(keep_trailing_newline=True, undefined=StrictUndefined)
    return environment.from_string(text).render(**row)


def prompts(texts: list[str], folder: Path) -> list[list[str]]:
    """Return the prompts that a spec with these templates sends for every row, by the same run as any."""
    from tripos.cli.main import run_command
    from tripos_warehouse.store.store import Store
    from tripos_warehouse.views.connect import connect

    columns = TaskColumns.of_rows(ROWS)
    fields = TaskFields({}, columns, "doc")
    asks = []
    for number, text in enumerate(texts):
        said = template(fields.translator(True).template(text), 6)
        asks += [f'  ask a{number} by candidate {{\n    plain\n    prompt {said}\n    likelihood of ("x", "y")\n  }}']
        asks += [f"  score s{number} = a{number}.confidence"]
    declared = "\n".join(f"  {line}" for line in columns.declared())
    spec = f'benchmark b "1.0.0" {{ languages en }}\nrole candidate compared\ndataset doc from "rows.jsonl" {{\n{declared}\n'
    (folder / "b.tripos").write_text(spec + "}\nscenario s {\n  over doc\n" + "\n".join(asks) + "\n}\n", "utf-8")
    (folder / "rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in ROWS), "utf-8")
    store = str(folder / "store")
    assert run_command(["run", str(folder / "b.tripos"), "--model", "mock/careful", "--store", store]) == 0
    with connect(Store.open(folder / "store", create=False)) as connection:
        found = connection.execute("select step, messages from main.samples").fetchall()
    sent: dict[str, list[str]] = {}
    for step, messages in found:
        sent.setdefault(step, []).append(json.loads(messages)[0]["content"].removesuffix(" "))
    return [sorted(sent[f"a{number}"]) for number in range(len(texts))]


def test_templates_print_what_jinja_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = prompts(list(TEMPLATES), tmp_path)
    for text, sent in zip(TEMPLATES, found, strict=True):
        wanted = sorted(rendered(text, row) for row in ROWS)
        assert wanted == sent, text


@each(
    "text",
    [
        "{{options}}",
        "{{made}}",
        "{% macro a() %}{% endmacro %}",
        "{{question.title()}}",
        "{{options[1:][::2]}}",
        "{{label / 2}}",
        "{{nothing}}",
        "{% for o in options if o %}{{o}}{% endfor %}",
        "{{question|center(20)}}",
    ],
)
def test_a_template_without_counterpart_is_refused(text: str) -> None:
    fields = TaskFields({}, TaskColumns.of_rows(ROWS), "doc")
    with pytest.raises(NotTranslatable):
        template(fields.translator(True).template(text))
