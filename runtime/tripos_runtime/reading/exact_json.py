"""The one JSON value of a reply, of which nothing is mended: what is read as `json`, whose form nobody knows before.

A record is held to its fields, so its reader may mend a reply. A value of any form is held to nothing: a mended one, a
part of a broken one, or one of several would be another value, and nobody would see it. So the text around the value
may be anything that is no JSON, and the value has to be JSON as it stands (RFC 8259).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from tripos_compiler.language.replies.text import ReplyText
from tripos_runtime.reading.json_text import SCANS, THINKING

DEEPEST = 100
"""Levels of a value. What reads and writes JSON in a run, its store and its reports takes at least so many."""
LEAST, MOST = -(2**63), 2**63 - 1
LONGEST_INTEGER = 20
MARK = re.compile(r"[{}\[\]]|<think|```json[ \t]*\r?\n", re.IGNORECASE)
"""Where a value may begin, where one ends that began nowhere, and where thinking begins."""
PROSE = re.compile(r"""\{\s*[^\s{}\[\]"':“”][^{}\[\]"':“”]*\}|\[(?:\s*[^\W\d_][^\[\]{}"',“”]*|\.\.\.|…)\]""")
"""Brackets of a text that nobody takes for JSON: a word or a formula, without a quotation mark or, in braces, a colon,
as in `\\frac{1}{2}`, `{name}` and `[see Table 1]`."""
OPENED = re.compile(r"[{\[]")
BLANK = re.compile(r"\s*")
FENCE_END = re.compile(r"\s*(?:```|\Z)")
VALUE = "\0"
"""Stands for a value in the text around the values."""
PART = re.compile(r"""["'”]\s*[:,]\s*\0|\0\s*[:,]\s*["'“\0]|\\["'“”]""")
"""The traces in that text of something that the value is a part of: a name before it, a further value behind it, an
escaped quotation mark."""
NONE = "the reply holds no JSON"
TOO_DEEP = f"the JSON has more than {DEEPEST} levels"


STAND_IN = "\ue000"
"""Stands for a value while the thinking is taken from around it; a reply that has it itself is split as it is."""
_STOOD_IN = re.compile(rf"{STAND_IN}(\d+){STAND_IN}")


class NotExact(Exception):
    """The reason why a reply is not one JSON value. `found` is false where it holds none, not even a broken one."""

    def __init__(self, reason: str, *, found: bool = True) -> None:
        super().__init__(reason)
        self.found = found


def exact_json(text: str) -> Any:
    """Return the JSON value of a reply: the whole reply, or a list or an object in it, or what stands in a block of
    JSON. Equal values are one. Raises `NotExact` where there is none, where one is broken or cut off, and where there
    are several.

    >>> exact_json('Sure! ```json\\n{"a": [1, "x"]}\\n``` Anything else?'), exact_json(" 12 ")
    ({'a': [1, 'x']}, 12)
    """
    bare = text.strip()
    if not bare:
        raise NotExact("the reply is empty", found=False)
    try:
        for whole in dict.fromkeys((bare, _without_thinking(bare))):
            try:
                return _checked(DECODER.decode(whole))
            except ValueError:
                continue
        values, around = _values_in(bare)
    except RecursionError:
        raise NotExact(TOO_DEEP) from None
    if not values:
        raise NotExact(NONE, found=False)
    if around.count('"') % 2 or PART.search(around):
        raise NotExact("the JSON is a part of something that is none")
    if any(_written(value) != _written(values[0]) for value in values[1:]):
        raise NotExact(f"the reply holds {len(values)} JSON values, and does not say which is meant")
    return values[0]


def parts_around_json(text: str) -> ReplyText:
    """Return the answer of a reply and the thinking before it, where marks of thinking within JSON are a part of it.

    >>> parts_around_json('<think>[1]</think> So: ["<think>2</think>"]').answer
    'So: ["<think>2</think>"]'
    """
    if ReplyText.parse(text).thinking is None or STAND_IN in text:
        return ReplyText.parse(text)
    kept: list[str] = []
    pieces: list[str] = []
    position = 0
    for start, end in _spans_of_json(text):
        pieces += [text[position:start], f"{STAND_IN}{len(kept)}{STAND_IN}"]
        kept.append(text[start:end])
        position = end
    parts = ReplyText.parse("".join([*pieces, text[position:]]))

    def put_back(part: str) -> str:
        return _STOOD_IN.sub(lambda found: kept[int(found[1])], part)

    return ReplyText(put_back(parts.answer), parts.thinking and put_back(parts.thinking), parts.closed)


def _spans_of_json(text: str) -> Iterable[tuple[int, int]]:
    """Yield where JSON with texts in it begins and ends: lists, objects, and what is all there is but for thinking."""
    for whole in (text.strip(), _without_thinking(text.strip())):
        if whole.startswith('"') and _is_json(whole):
            start = text.rindex(whole)
            yield start, start + len(whole)
            return
    position, left = 0, SCANS * (len(text) + 100)
    while left > 0 and (mark := OPENED.search(text, position)) is not None:
        try:
            _, position = PLAIN_DECODER.raw_decode(text, mark.start())
        except json.JSONDecodeError as error:
            left -= error.pos - mark.start() + error.pos // 100  # the lines before it are counted
            position = mark.end()
            continue
        except (ValueError, RecursionError):
            return  # it is too deep, or has a number that is too long, so that nothing is read
        if '"' in text[mark.start() : position]:
            yield mark.start(), position


def _without_thinking(text: str) -> str:
    found = THINKING.match(text)
    return text if found is None else text[found.end() :].strip()


def _values_in(text: str) -> tuple[list[Any], str]:
    """Return every value that stands in a text, and the text around them."""
    values: list[Any] = []
    around: list[str] = []
    position = 0
    while (mark := MARK.search(text, position)) is not None:
        around.append(text[position : mark.start()].replace(VALUE, " "))
        if mark[0].startswith("<"):
            thought = THINKING.match(text, mark.start())
            position = mark.end() if thought is None else thought.end()
        elif mark[0].startswith("`"):
            value, position = _in_block(text, mark.end())
            values += value
            around += VALUE * len(value)
        elif (prose := PROSE.match(text, mark.start())) is not None and not _is_json(prose[0]):
            position = prose.end()
        else:
            value, position = _value_at(text, mark.start())
            values.append(value)
            around.append(VALUE)
    return values, "".join([*around, text[position:].replace(VALUE, " ")])


def _value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and where it ends."""
    try:
        value, end = DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotExact(f"the JSON is broken or cut off at character {error.pos + 1}") from None
    return _checked(value), end


def _in_block(text: str, start: int) -> tuple[list[Any], int]:
    """Return the value that alone stands in a block of JSON, which may be a text or a number, and where the block ends;
    of a block with anything else in it none, and where it begins."""
    try:
        value, end = DECODER.raw_decode(text, BLANK.match(text, start).end())  # type: ignore[union-attr]
    except json.JSONDecodeError:
        return [], start
    closed = FENCE_END.match(text, end)
    return ([_checked(value)], closed.end()) if closed is not None else ([], start)


def _is_json(text: str) -> bool:
    try:
        DECODER.decode(text)
    except json.JSONDecodeError:
        return False
    return True


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise NotExact("an object of the JSON has one name twice")
        found[name] = value
    return found


def _constant(word: str) -> Any:
    raise NotExact(f"`{word}` is no JSON")


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= LONGEST_INTEGER else MOST + 1
    if not LEAST <= value <= MOST:
        raise NotExact(f"the whole number {digits[:LONGEST_INTEGER]}… has more than 64 bits")
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise NotExact(f"the number {digits[:LONGEST_INTEGER]} is too large")
    return value


PLAIN_DECODER = json.JSONDecoder()
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float)


def _checked(value: Any) -> Any:
    """Return a value that can be kept as it is: not too deep, and of whole characters."""
    level, depth = [value], 0
    while level:
        depth += any(isinstance(each, dict | list) for each in level)
        if depth > DEEPEST:
            raise NotExact(TOO_DEEP)
        for each in level:
            _check_texts([each] if isinstance(each, str) else each if isinstance(each, dict) else ())
        level = [part for each in level for part in _parts(each)]
    return value


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _check_texts(texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise NotExact(f"the escape \\u{ord(text[error.start]):04x} is half of a character") from None
