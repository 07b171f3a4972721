"""The protocol of external scorers: JSON Lines, with a greeting and then requests and answers by id.

The module formats and parses single lines, and does no I/O. An answer without a request, a repeated answer, or an
invalid line means that the program cannot be trusted, and raises `Broken`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any

from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import Plugin
from tripos_compiler.source.data_classes import dataclass

PROTOCOL = 1
LONGEST_LINE = 2**20
"""The largest number of bytes of an answer."""
LONGEST_REASON = 300
NOT_ALLOWED, NOT_STARTED, DIED, HANGS = "R0303", "R0304", "R0305", "R0306"
NONSENSE, NO_SCORE, NO_SANDBOX = "R0307", "R0308", "R0309"


@dataclass(frozen=True)
class ScorerRequest:
    """A call of a scorer: its name, and the arguments as JSON."""

    scorer: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """A program's value, not yet checked against the scorer's type."""

    value: Any


@dataclass(frozen=True)
class Failed:
    """The outcome of a request that has no value: an error code, and the reason."""

    code: str
    reason: str

    @property
    def shown(self) -> str:
        """The code and the reason; a long reason is cut."""
        return f"{self.code}: {cut(self.reason)}"


Outcome = Value | Failed


class Broken(Exception):
    """A program died, hangs or sends invalid answers. `answered` are the outcomes that arrived before, by the index of
    their request."""

    def __init__(self, code: str, reason: str, answered: Mapping[int, Outcome] | None = None) -> None:
        super().__init__(reason)
        self.failure = Failed(code, reason)
        self.answered = dict(answered or {})


def json_argument(value: Any) -> Any:
    """Return an argument as a value of JSON: a set becomes a sorted list.

    >>> json_argument({"b", "a"}), json_argument(({"speaker": "a", "text": "Hi"},))
    (['a', 'b'], [{'speaker': 'a', 'text': 'Hi'}])
    """
    match value:
        case str():
            return str(value)
        case AbstractSet():
            return sorted(map(json_argument, value))
        case Mapping():
            return {str(key): json_argument(each) for key, each in value.items()}
        case list() | tuple():
            return [json_argument(each) for each in value]
    return value


def as_line(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line of JSON. Raises `ValueError` for an infinite number or NaN."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass") + b"\n"


def greeting(plugins: Sequence[Plugin]) -> dict[str, Any]:
    """Return the first message to a program: the version of the protocol, and the scorers that it is asked for."""
    scorers = {
        plugin.function: {
            "parameters": {name: type_notation(of) for name, of in plugin.parameters.items()},
            "returns": type_notation(plugin.returns),
        }
        for plugin in plugins
    }
    return {"tripos": PROTOCOL, "scorers": scorers}


def check_greeting(line: bytes, version: str | None) -> None:
    """Check the first line of a program: its protocol, and its name and `version` if they are pinned. Raises
    `Broken`."""
    answer = _object(line, NOT_STARTED)
    if answer.get("tripos") != PROTOCOL:
        raise Broken(NOT_STARTED, f'its first line must have `"tripos": {PROTOCOL}`, and is {_shown(line)}')
    if version is not None and f"{answer.get('program')} {answer.get('version')}" != version:
        text = f"`{answer.get('program')} {answer.get('version')}`"
        raise Broken(NOT_STARTED, f"it says that it is {text}, and the spec names `{version}`")


def request_message(id_: str, request: ScorerRequest) -> dict[str, Any]:
    """Return a request as a message."""
    return {"id": id_, "scorer": request.scorer, "arguments": request.arguments}


def parse_answer(line: bytes, waiting: Mapping[str, int]) -> tuple[str, Outcome]:
    """Return the id and the outcome in a line. Raises `Broken` as `read_answer` does, and if the line is no object."""
    return read_answer(_object(line, NONSENSE), waiting, line)


def read_answer(answer: Mapping[str, Any], waiting: Mapping[str, int], line: bytes = b"") -> tuple[str, Outcome]:
    """Return the id and the outcome in an answer. Raises `Broken` if the answer is invalid or its id is not among
    `waiting`. `line` is the text of the answer for the message.

    >>> read_answer({"id": "a", "value": True}, {"a": 0})
    ('a', Value(value=True))
    """
    id_, keys = answer.get("id"), answer.keys() - {"id", "note"}
    if not isinstance(id_, str) or id_ not in waiting:
        raise Broken(NONSENSE, f"it answers what nobody asked, or twice: {_shown(line)}")
    if keys == {"value"}:
        return id_, Value(answer["value"])
    if keys == {"error"} and isinstance(answer["error"], str):
        return id_, Failed(NO_SCORE, answer["error"])
    raise Broken(NONSENSE, f"an answer has an `id`, and a `value` or an `error`: {_shown(line)}")


def _object(line: bytes, code: str) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Broken(code, f"this is no JSON object: {_shown(line)}")
    return value


def _refuse_constant(word: str) -> Any:
    """Raise `ValueError`: JSON has no `NaN` and no `Infinity`."""
    raise ValueError(word)


def _shown(line: bytes) -> str:
    return f"`{cut(line.decode('utf-8', 'replace').strip(), 80)}`"


def cut(text: str, most: int = LONGEST_REASON) -> str:
    """Return the first `most` characters of a text, with an ellipsis if it is longer.

    >>> cut("abcdef", 4)
    'abcd…'
    """
    return text if len(text) <= most else f"{text[:most]}…"
