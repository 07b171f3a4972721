"""JSON values in replies: found however they are wrapped, or read exactly.

`find_json_values` tolerates fences, prose, loose syntax and a cut-off end. Nothing is invented: an unfinished part is
dropped and reported.

`exact_json` repairs nothing; it reads the type `json`. A record is checked against its fields, so its reader may
repair a reply. A value of any form is not checked, so a repaired value, a part of a broken one, or one of several would
silently be a different value. So the text around the value may be anything but JSON, and the value must be JSON as
written (RFC 8259)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, SupportsIndex

from tripos_compiler.language.exact_values import LEAST, MOST
from tripos_compiler.replies.text import ReplyText, storable
from tripos_compiler.source.data_classes import dataclass

MOST_SCANNED = 300_000
"""The largest number of characters scanned in total, and as a multiple of the length of the text."""
SCANS = 20
LONGEST_REPAIR = 100_000
REPAIR_STEPS = 60
"""How often repairs of a text may look at each character on average. Repairable JSON needs up to four looks; some texts
would need a quadratic number."""
THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
STRUCTURE = re.compile(r"""\\.|[{}\[\],:"'“”：，]""", re.DOTALL)
CLOSERS = {'"': '"', "'": "'", "“": '”"', "”": '”"'}
AFTER_STRING = re.compile(r"\s*(?:[,:}\]，：]|\Z)")
LIST_START = re.compile(r"""\[\s*["'“{\[\d-]""")
BRACKET = re.compile(r"[{\[]")
LATEX = re.compile(r"(?:\\[A-Za-z]{1,18}\s?|[\^_\\])\Z")
"""A LaTeX command before a bracket: `\boxed{2:3}` is not an object."""
BARE = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")"
    r"|([:\[,]\s*)(?=[-+–~<>≈≤≥±$€£¥₹.½⅓¼¾\\\d负约])(?!-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*[,}\]]\s*(?:["'}\]]|\Z))"""
    r"""((?:[-–]?[$€£¥₹]\s?[-–]?\d{1,3}(?:,\d{3})+)?[^"'“”{}\[\],\n]*[^"'“”{}\[\],\n\s])(?=\s*[,}\]])"""
)
"""Strings, and numbers in a notation that JSON does not have: `3/4`, `10⁵`."""
JSON_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
COMMENT = "//"
WIDE_COLON = re.compile(r"""["”]\s*：""")
WIDE_COMMA = re.compile(r"""，(?=\s*["“])""")
DECODER = json.JSONDecoder(parse_constant=lambda _: None)


@dataclass(frozen=True)
class FoundJson:
    """A value found in a text. `complete` is false if the text ended inside it and a part was dropped."""

    value: Any
    complete: bool = True


def find_json_values(text: str) -> list[FoundJson]:
    """Return every JSON value that a reply may mean, best first: complete ones before cut-off ones, objects before
    lists, later ones before earlier ones.

    >>> [found.value for found in find_json_values("Sure! ```json\\n{'depth': 8, 'ok': True,}\\n``` Anything else?")]
    [{'depth': 8, 'ok': True}]
    >>> find_json_values('{"depth": {"score": 8}, "clarity": {"sco')
    [FoundJson(value={'depth': {'score': 8}}, complete=False)]
    >>> find_json_values("no JSON here")
    []
    """
    text = THINKING.sub("", text).strip()
    try:
        return [FoundJson(_clean(json.loads(text, parse_constant=lambda _: None)))]
    except (ValueError, RecursionError):
        pass
    jsons: list[FoundJson] = []
    position = scanned = 0
    most = min(MOST_SCANNED, SCANS * (len(text) + 100))
    steps = [REPAIR_STEPS * (len(text) + 100)]
    whole = True
    while scanned < most and (start := _next_bracket(text, position)) is not None:
        value, end, complete = _value_at(text, start, steps)
        whole = whole and (complete or end < len(text))
        if value:
            jsons.append(FoundJson(value, whole and complete))
        position = end if value else start + 1
        scanned += end - start
    latest_first = jsons[::-1]
    return sorted(latest_first, key=lambda one: (not one.complete, not isinstance(one.value, dict)))


def _next_bracket(text: str, position: int) -> int | None:
    match = BRACKET.search(text, position)
    while match is not None and LATEX.search(text, max(0, match.start() - 20), match.start()) is not None:
        match = BRACKET.search(text, match.end())
    return None if match is None else match.start()


def _value_at(text: str, start: int, steps: list[int]) -> tuple[Any, int, bool]:
    """Return the value that starts at a bracket (`None` if there is none), its end, and whether it is complete."""
    try:
        value, end = DECODER.raw_decode(text, start)
        return _clean(value), end, True
    except (ValueError, RecursionError):
        pass
    end, finished = _extent(text, start)
    return _loosely(finished, steps), end, finished == text[start:end]


def _loosely(text: str, steps: list[int]) -> Any:
    try:
        return _clean(DECODER.decode(text))  # a closed cut-off value may be valid JSON
    except (ValueError, RecursionError):
        return _repaired(text, steps)


def _repaired(text: str, steps: list[int]) -> dict[str, Any] | list[Any] | None:
    if len(text) > LONGEST_REPAIR or (text.startswith("[") and not LIST_START.match(text)):
        return None
    import json_repair  # rarely needed, and it takes memory

    narrow = WIDE_COMMA.sub(",", WIDE_COLON.sub('":', text))
    narrow = BARE.sub(_quoted, narrow)
    try:
        value = _clean(json_repair.loads(_Counted(narrow, steps), strict=True, skip_json_loads=True))
    except Exception:
        # The repair may raise anything for arbitrary text; the reply then contains no JSON.
        return None
    # For prose in brackets the repair returns a value of the other kind.
    return value if isinstance(value, dict if text.startswith("{") else list) else None


def _quoted(found: re.Match[str]) -> str:
    """Return a text with a number in a notation other than JSON's quoted as a string."""
    said = found[3]
    if said is None or JSON_NUMBER.fullmatch(said) is not None or COMMENT in said:
        return found[0]
    return f"{found[2]}{json.dumps(said.strip(), ensure_ascii=False)}"


class _TooManySteps(Exception):
    """A repair takes too many steps for the length of its text."""


class _Counted(str):
    """A text that counts how often it is read, and raises if no steps are left."""

    left: list[int]

    def __new__(cls, text: str, left: list[int]) -> _Counted:
        counted = super().__new__(cls, text)
        counted.left = left
        return counted

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        found = super().__getitem__(key)
        self._spend(len(found))
        return _Counted(found, self.left) if isinstance(key, slice) else found

    def __add__(self, other: str) -> str:
        self._spend(len(self))
        return _Counted(super().__add__(other), self.left)

    def find(self, *args: Any) -> int:
        found = super().find(*args)
        start = args[1] if len(args) > 1 else 0
        self._spend((found if found >= 0 else len(self)) - start)
        return found

    def _spend(self, steps: int) -> None:
        self.left[0] -= max(1, steps)
        if self.left[0] < 0:
            raise _TooManySteps


@dataclass
class _Level:
    """An open bracket. `safe` is where its text may be cut after complete members; a cut list would be a wrong list, so
    it has no such place."""

    opener: str
    safe: int | None = None
    in_value: bool = False


def _extent(text: str, start: int) -> tuple[int, str]:
    """Return the end of the value that opens at `start`, and its text. A value cut off by the end of the text is closed
    after its last complete member; without one, or with mismatched brackets, its text is empty."""
    levels: list[_Level] = []
    position = previous = start
    while (mark := STRUCTURE.search(text, position)) is not None:
        position = mark.end()
        character = mark[0].replace("：", ":").replace("，", ",")
        if character in CLOSERS:
            if mark.start() > start and text[previous : mark.start()].strip() == "":
                end = _string_end(text, position, CLOSERS[character])
                if end is None:
                    break
                position = end
                if levels[-1].in_value:
                    levels[-1].safe = position
        elif character in "{[":
            levels.append(_Level(character))
        elif character in "}]":
            if levels.pop().opener != {"}": "{", "]": "["}[character]:
                return position, ""
            if not levels:
                return position, text[start:position]
            levels[-1].safe = position
        elif character == ":":
            levels[-1].in_value = True
        elif character == "," and levels[-1].in_value:
            levels[-1].safe, levels[-1].in_value = mark.start(), False
        previous = position
    return len(text), _closed(text, start, levels)


def _string_end(text: str, position: int, closers: str) -> int | None:
    """Return the position after the quote that ends a string: one before a comma, a colon, a bracket or the end, so
    that a quotation inside a string does not end it."""
    while (mark := STRUCTURE.search(text, position)) is not None:
        position = mark.end()
        if mark[0] in closers and AFTER_STRING.match(text, position):
            return position
    return None


def _closed(text: str, start: int, levels: list[_Level]) -> str:
    kept: list[_Level] = []
    for level in levels:
        if level.opener == "[":
            break
        kept.append(level)
    while kept and kept[-1].safe is None:
        kept.pop()
    return text[start : kept[-1].safe] + "}" * len(kept) if kept else ""


def _clean(value: Any) -> Any:
    """Return the value as it can be stored: infinite numbers become null, surrogate pairs become characters."""
    match value:
        case dict():
            return {_clean(str(name)): _clean(part) for name, part in value.items()}
        case list():
            return [_clean(part) for part in value]
        case str():
            return storable(value)
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


DEEPEST = 100
"""The largest nesting depth of a value. Everything that reads and writes JSON in a run supports at least this."""
LONGEST_INTEGER = 20
MARK = re.compile(r"[{}\[\]]|<think|```json[ \t]*\r?\n", re.IGNORECASE)
"""Where a value may begin, where an unopened one ends, and where thinking begins."""
PROSE = re.compile(r"""\{\s*[^\s{}\[\]"':“”][^{}\[\]"':“”]*\}|\[(?:\s*[^\W\d_][^\[\]{}"',“”]*|\.\.\.|…)\]""")
"""Brackets in a text that are not JSON: a word or a formula, without a quotation mark or, in braces, a colon, as in
`\frac{1}{2}`, `{name}` and `[see Table 1]`."""
OPENED = re.compile(r"[{\[]")
BLANK = re.compile(r"\s*")
FENCE_END = re.compile(r"\s*(?:```|\Z)")
VALUE = "\0"
"""The placeholder of a value in the text around the values."""
PART = re.compile(r"""["'”]\s*[:,]\s*\0|\0\s*[:,]\s*["'“\0]|\\["'“”]""")
"""Traces in that text that the value is part of something else: a name before it, another value after it, or an escaped
quotation mark."""
NONE = "the reply holds no JSON"
TOO_DEEP = f"the JSON has more than {DEEPEST} levels"


STAND_IN = "\ue000"
"""The placeholder of a value while thinking is removed around it. A reply that contains it is split as it is."""
_STOOD_IN = re.compile(rf"{STAND_IN}(\d+){STAND_IN}")


class NotExact(Exception):
    """The reason why a reply is not exactly one JSON value. `has_json` is false if it contains none, not even a broken
    one."""

    def __init__(self, reason: str, *, found: bool = True) -> None:
        super().__init__(reason)
        self.has_json = found


def exact_json(text: str) -> Any:
    """Return the JSON value of a reply: the whole reply, a list or an object in it, or the content of a JSON block.
    Equal values count once. Raises `NotExact` if there is none, if one is broken or cut off, or if there are several.

    >>> exact_json('Sure! ```json\\n{"a": [1, "x"]}\\n``` Anything else?'), exact_json(" 12 ")
    ({'a': [1, 'x']}, 12)
    """
    bare = text.strip()
    if not bare:
        raise NotExact("the reply is empty", found=False)
    try:
        for fromkey in dict.fromkeys((bare, _without_thinking(bare))):
            try:
                return _check_value(EXACT_DECODER.decode(fromkey))
            except ValueError:
                continue
        values, around = _values_in(bare)
    except RecursionError:
        raise NotExact(TOO_DEEP) from None
    if not values:
        raise NotExact(NONE, found=False)
    if around.count('"') % 2 or PART.search(around):
        raise NotExact("the JSON is a part of something that is none")
    if any(_json_text(value) != _json_text(values[0]) for value in values[1:]):
        raise NotExact(f"the reply holds {len(values)} JSON values, and does not say which is meant")
    return values[0]


def parts_around_json(text: str) -> ReplyText:
    """Return the answer of a reply and the thinking before it; thinking marks inside JSON belong to the JSON.

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
        return _STOOD_IN.sub(lambda match: kept[int(match[1])], part)

    return ReplyText(put_back(parts.answer), parts.thinking and put_back(parts.thinking), parts.closed)


def _spans_of_json(text: str) -> Iterable[tuple[int, int]]:
    """Yield the spans of JSON that contains texts: lists, objects, and a value that is the whole reply apart from
    thinking."""
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
            left -= error.pos - mark.start() + error.pos // 100  # the parser counts the lines before it
            position = mark.end()
            continue
        except (ValueError, RecursionError):
            return  # too deep, or a number is too long
        if '"' in text[mark.start() : position]:
            yield mark.start(), position


def _without_thinking(text: str) -> str:
    match = THINKING.match(text)
    return text if match is None else text[match.end() :].strip()


def _values_in(text: str) -> tuple[list[Any], str]:
    """Return every value in a text, and the text around them."""
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
            value, position = _exact_value_at(text, mark.start())
            values.append(value)
            around.append(VALUE)
    return values, "".join([*around, text[position:].replace(VALUE, " ")])


def _exact_value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a position, and its end."""
    try:
        value, end = EXACT_DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotExact(f"the JSON is broken or cut off at character {error.pos + 1}") from None
    return _check_value(value), end


def _in_block(text: str, start: int) -> tuple[list[Any], int]:
    """Return the single value in a JSON block, which may be a text or a number, and the end of the block; none, and its
    beginning, if the block contains anything else."""
    try:
        value, end = EXACT_DECODER.raw_decode(text, BLANK.match(text, start).end())  # type: ignore[union-attr]
    except json.JSONDecodeError:
        return [], start
    closed = FENCE_END.match(text, end)
    return ([_check_value(value)], closed.end()) if closed is not None else ([], start)


def _is_json(text: str) -> bool:
    try:
        EXACT_DECODER.decode(text)
    except json.JSONDecodeError:
        return False
    return True


def _json_text(value: Any) -> str:
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
EXACT_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
)


def _check_value(value: Any) -> Any:
    """Return a value that can be kept as it is: not too deep, and without lone surrogates."""
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
