"""A configuration of promptfoo: one prompt, filled with the messages of each test, and JavaScript assertions.

Messages are a chat in JSON, so that their bytes do not change. Targets occur only in assertions, which promptfoo does
not send to models. Promptfoo expands templates in variables and assertions too, so their marks are escaped.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tripos.exporting import Emitter
from tripos_warehouse.files import export_path, write_lines

if TYPE_CHECKING:
    from tripos.exporting.questions import Check, EmittedQuestion, SpecQuestions

SENT_ROLES = frozenset({"system", "user", "assistant"})
"""The roles of chat messages that promptfoo sends."""
TEMPLATE_MARKS = re.compile(r"{(?=[{%#])|(?<=#)}")
"""The braces in JSON that would make a mark of a template: the first one of `{{`, `{%` and `{#`, and that of `#}`."""


def write_promptfoo(emission: SpecQuestions, folder: Path) -> list[Path]:
    """Write `promptfooconfig.yaml` and `tests.jsonl`, and return their paths."""
    emission.lose_schemas()
    questions = []
    for question in emission.questions:
        if {message.role for message in question.messages} <= SENT_ROLES:
            questions.append(question)
        else:
            emission.lose(
                f"{question.scenario}.{question.step}", "messages that are no chat: a plain text, options or tools"
            )
    repeats = {emitted_question.samples for emitted_question in questions}
    settings = {json.dumps(dict(emitted_question.settings), sort_keys=True) for emitted_question in questions}
    if len(repeats) > 1:
        emission.lose("samples", "their number differs from step to step")
    if len(settings) > 1:
        emission.lose("settings", "they differ from step to step")
    provider: dict[str, Any] = {"id": "echo"}
    if len(settings) == 1 and (given := json.loads(settings.pop())):
        provider["config"] = given
    config: dict[str, Any] = {
        "description": f"{emission.plan.benchmark.name} {emission.plan.benchmark.version}",
        "providers": [provider],
        "prompts": ["{{messages}}"],
        "tests": "file://tests.jsonl",
    }
    if len(repeats) == 1 and (samples := repeats.pop()) > 1:
        config["evaluateOptions"] = {"repeat": samples}
    place = folder / "promptfooconfig.yaml"
    tests = write_lines(
        folder / "tests.jsonl",
        (json.dumps(_test(emitted_question), ensure_ascii=False).encode() for emitted_question in questions),
    )
    with export_path(place) as new:
        new.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), "utf-8")
    return [place, tests.path]


def _test(question: EmittedQuestion) -> dict[str, Any]:
    messages = [{"role": message.role, "content": message.content} for message in question.messages]
    return {
        "description": f"{question.scenario} {question.item_id}",
        "vars": {"messages": _without_marks(json.dumps(messages, ensure_ascii=False))},
        "assert": [
            {"type": "javascript", "value": assertion(check), "metric": f"{question.scenario}.{check.name}"}
            for check in question.checks
        ],
        "metadata": {**question.about, "step": question.step},
    }


def assertion(check: Check) -> str:
    """Return a check as a JavaScript expression.

    >>> from tripos.exporting.questions import Check
    >>> print(assertion(Check("right", "equals", "{{4}}", trim=True)))
    String(output).trim() === "\\u007b{4}}"
    >>> print(assertion(Check("has", "contains", "Four")))
    String(output).toLowerCase().includes("Four".toLowerCase())
    """
    text = "String(output)"
    if check.field is not None:
        text = f"(typeof output === 'string' ? JSON.parse(output) : output)[{_literal(check.field)}]"
    text += ".trim()" if check.trim else ""
    text += ".toLowerCase()" if check.lower else ""
    target = _literal(check.target)
    if check.kind == "contains":
        return f"{text}.toLowerCase().includes({target}.toLowerCase())"
    return f"{text} === {target}"


def _literal(value: object) -> str:
    return _without_marks(json.dumps(value))


def _without_marks(text: str) -> str:
    """Return JSON with the same value in which no text is a template.

    >>> print(_without_marks('["{{a}} {# b #}"]'))
    ["\\u007b{a}} \\u007b# b #\\u007d"]
    """
    return TEMPLATE_MARKS.sub(lambda brace: f"\\u{ord(brace[0]):04x}", text)


EMITTER = Emitter("a configuration of promptfoo", write_promptfoo)
