"""Trivial baselines: models that know nothing, for comparison with figures that cost nothing.

`baseline/constant:TEXT` always replies the same. `baseline/echo` replies with the question or a part of it
(`baseline/echo:last-question`). `baseline/majority` and `baseline/constant` are not opened: a run replaces them by
constants (`drivers/prepared.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, Model, ModelError, Reply, Request

PREFIX = "baseline/"
CONSTANT = "baseline/constant:"
ECHO = "baseline/echo"
MAJORITY = "baseline/majority"
ANSWERS = "baseline/constant"
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])[”’」』）]*\s*|\n+")
"""The separator of two sentences: white space after a punctuation mark, or a line break."""
TRUE, FALSE = ("true", "yes"), ("false", "no")


class _NotAValue(Exception):
    """A text is not a value of a type; raised and caught in this module only."""


def last_sentence(text: str) -> str:
    """Return the last sentence of a text.

    >>> last_sentence("Ann has 3 eggs. She eats 1.5 eggs.\\nHow many are left? ")
    'How many are left?'
    """
    return next(reversed(sentences(text)), text)


def last_question(text: str) -> str:
    """Return the last sentence that ends in a question mark; without one, the last sentence.

    >>> last_question("Ann has 3 eggs. How many are left? Write one number, and nothing else.")
    'How many are left?'
    """
    asked = [sentence for sentence in sentences(text) if sentence.rstrip("\"'”’」』）)]").endswith(("?", "？"))]
    return asked[-1] if asked else last_sentence(text)


def first_line(text: str) -> str:
    """Return the first non-empty line of a text.

    >>> first_line("\\nAnn has 3 eggs.\\nHow many are left?")
    'Ann has 3 eggs.'
    """
    return next((line.strip() for line in text.splitlines() if line.strip()), text)


def last_line(text: str) -> str:
    """Return the last non-empty line of a text.

    >>> last_line("Ann has 3 eggs.\\nShe eats one. How many are left?\\n")
    'She eats one. How many are left?'
    """
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), text)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each up to a punctuation mark with white space after it, or to the end of a line.

    >>> sentences("It is 3.5 m. Is it? 是。对吗？")
    ['It is 3.5 m.', 'Is it?', '是。', '对吗？']
    """
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


ECHOES: dict[str, Callable[[str], str]] = {
    "first-line": first_line,
    "last-line": last_line,
    "last-sentence": last_sentence,
    "last-question": last_question,
}
"""The parts of the question that `baseline/echo:PART` repeats."""


@dataclass(frozen=True)
class BaselineModel(Model):
    """A baseline. `text` is its constant reply; `None` if it repeats the question, or the part of it that `echo`
    selects."""

    name: str
    text: str | None
    echo: Callable[[str], str] = str
    structured = True
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the reply, in the requested form if possible."""
        text = self.text if self.text is not None else self.echo(request.messages[-1].content)
        said = fitted(text, request.without_stated.schema)
        said = said if request.stated is None else request.stated.from_json(said, text)
        return Reply(said, self.name, "stop", 0, 0, 0.0)


def open_baseline(name: str) -> BaselineModel:
    """Return the baseline of that name. Raises `ModelError` R0103 for any other.

    >>> open_baseline("baseline/constant:yes").text
    'yes'
    """
    if name == ECHO:
        return BaselineModel(name, None)
    kind, _, part = name.partition(":")
    if kind == ECHO and part in ECHOES:
        return BaselineModel(name, None, ECHOES[part])
    if name.startswith(CONSTANT) and len(name) > len(CONSTANT):
        return BaselineModel(name, name.removeprefix(CONSTANT))
    parts = ", ".join(ECHOES)
    hint = f"the baselines are `{CONSTANT}TEXT`, `{ANSWERS}`, `{ECHO}`, `{ECHO}:PART` and `{MAJORITY}`; PART is {parts}"
    raise ModelError("R0103", f"there is no baseline `{name}`", hint, fatal=True)


def is_baseline(name: str) -> bool:
    """Return true if a model is one of the baselines.

    >>> is_baseline("baseline/echo"), is_baseline("mock/careful")
    (True, False)
    """
    return name.startswith(PREFIX)


def fitted(text: str, schema: dict[str, Any] | None) -> str:
    """Return a text as a reply that fits a JSON Schema, with the text as the value of each field; the text itself if
    that is impossible.

    >>> fitted("yes", {"type": "object", "properties": {"value": {"type": "boolean"}}})
    '{"value": true}'
    >>> fitted("maybe", {"type": "object", "properties": {"value": {"type": "boolean"}}})
    'maybe'

    Where any JSON fits, a text that is JSON is that, and another one a text of JSON.

    >>> fitted('{"a": 1}', {}), fitted("yes", {})
    ('{"a": 1}', '"yes"')
    """
    if schema is None:
        return text
    try:
        return json.dumps(_value(text, schema), ensure_ascii=False)
    except (_NotAValue, ValueError):
        return text


def _value(text: str, schema: dict[str, Any]) -> Any:
    if not schema:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    if "enum" in schema:
        found = next((each for each in schema["enum"] if each.casefold() == text.strip().casefold()), None)
        if found is None:
            raise _NotAValue
        return found
    match schema:
        case {"anyOf": [first, *_]}:
            return _value(text, first)
        case {"type": "object", "properties": properties}:
            return {name: _value(text, part) for name, part in properties.items()}
        case {"type": "array", "items": items}:
            return [_value(text, items)]
        case {"type": "boolean"}:
            if text.strip().casefold() not in TRUE + FALSE:
                raise _NotAValue
            return text.strip().casefold() in TRUE
        case {"type": "integer"}:
            return int(text)
        case {"type": "number"}:
            return float(text)
    return text
