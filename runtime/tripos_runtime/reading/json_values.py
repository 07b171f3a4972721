"""JSON values in replies: found however they are wrapped, or read exactly.

`find_json_values` tolerates fences, prose, loose syntax and a cut-off end. Nothing is invented: an unfinished part is
dropped and reported.

`exact_json` reads the type `json`, which is any JSON value, and repairs nothing. A record may be read from a repaired
reply, since it is checked against its fields. Nothing checks a value of any form, so if it were repaired, a part of a
broken value, or one of several, nobody would notice that it is not what the model meant. Therefore the value must be
JSON as written (RFC 8259), and the text around it must not be JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex

from tripos_compiler.language.exact_values import LEAST, MOST
from tripos_compiler.replies.text import ReplyText, storable
from tripos_compiler.source.data_classes import dataclass

MOST_SCANNED = 300_000
"""The largest number of characters that are scanned for values in total."""
SCANS = 20
"""How often each character of a text may be scanned on average, in addition to that limit."""
LONGEST_REPAIR = 100_000
"""The largest number of characters of a value that is repaired."""
REPAIR_STEPS = 60
"""How often repairs of a text may read each character on average. Repairable JSON needs up to four reads; for some
texts their number would grow with the square of the length."""
THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
STRUCTURE = re.compile(r"""\\.|[{}\[\],:"'“”：，]""", re.DOTALL)
"""The characters that separate the parts of a value, and escaped characters, which do not."""
CLOSERS = {'"': '"', "'": "'", "“": '”"', "”": '”"'}
"""The quotation marks that begin a string, each with those that may end it."""
AFTER_STRING = re.compile(r"\s*(?:[,:}\]，：]|\Z|//|/\*)")
"""What follows the end of a string; models write comments too."""
LIST_START = re.compile(r"""\[\s*["'“{\[\d-]""")
"""The beginning of a list that may be repaired; a bracket before a word is prose."""
BRACKET = re.compile(r"[{\[]")
LATEX = re.compile(r"(?:\\[A-Za-z]{1,18}\s?|[\^_\\])\Z")
"""A LaTeX command before a bracket: `\boxed{2:3}` is not an object."""
BARE = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")"
    r"|([:\[,]\s*)(?=[-+–~<>≈≤≥±$€£¥₹.½⅓¼¾\\\d负约])(?!-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*[,}\]]\s*(?:["'}\]]|\Z))"""
    r"""((?:[-–]?[$€£¥₹]\s?[-–]?\d{1,3}(?:,\d{3})+)?[^"'“”{}\[\],\n]*[^"'“”{}\[\],\n\s])(?=\s*[,}\]])"""
)
"""Strings, which are left as they are, and unquoted values that begin like a number but are none in JSON: `3/4`,
`10⁵`."""
JSON_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
"""A number that the repair reads as meant."""
COMMENT = re.compile(r"//|/\*")
WIDE_COLON = re.compile(r"""["”]\s*：""")
WIDE_COMMA = re.compile(r"""，(?=\s*["“])""")


class Conflict:
    """The value of a name that an object has more than once, with different values: none of them."""

    def __repr__(self) -> str:
        return self.error

    error = "given twice, differently"


CONFLICT = Conflict()


def merged(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of names and values, with `CONFLICT` for a name that is repeated with another value.

    >>> merged([("a", 1), ("b", 2), ("b", 2), ("a", 3)])
    {'a': given twice, differently, 'b': 2}
    """
    members: dict[str, Any] = {}
    for name, value in pairs:
        members[name] = value if members.setdefault(name, value) == value else CONFLICT
    return members


DECODER = json.JSONDecoder(parse_constant=lambda _: None, object_pairs_hook=merged)


@dataclass(frozen=True)
class FoundJson:
    """A value found in a text. `complete` is false if the text ended inside it and a part was dropped."""

    value: Any
    complete: bool = True


def find_json_values(text: str) -> list[FoundJson]:
    """Return every JSON value that a reply may mean, best first: complete ones before cut-off ones, then objects before
    lists, then later ones before earlier ones. Thinking is skipped, and so are empty objects and lists.

    >>> [found.value for found in find_json_values("Sure! ```json\\n{'depth': 8, 'ok': True,}\\n``` Anything else?")]
    [{'depth': 8, 'ok': True}]
    >>> find_json_values('{"depth": {"score": 8}, "clarity": {"sco')
    [FoundJson(value={'depth': {'score': 8}}, complete=False)]
    >>> find_json_values("no JSON here")
    []
    """
    text = THINKING.sub("", text).strip()
    try:
        return [FoundJson(_clean(DECODER.decode(text)))]
    except (ValueError, RecursionError):
        pass
    jsons: list[FoundJson] = []
    position = scanned = 0
    most = min(MOST_SCANNED, SCANS * (len(text) + 100))
    steps = [REPAIR_STEPS * (len(text) + 100)]
    uncut = True
    while scanned < most and (start := _next_bracket(text, position)) is not None:
        value, end, complete = _value_at(text, start, steps)
        # A value inside of one that the end of the text cuts off does not count as complete.
        uncut = uncut and (complete or end < len(text))
        if value:
            jsons.append(FoundJson(value, uncut and complete))
        position = end if value else start + 1
        scanned += end - start
    latest_first = jsons[::-1]
    return sorted(latest_first, key=lambda found: (not found.complete, not isinstance(found.value, dict)))


def _next_bracket(text: str, position: int) -> int | None:
    """Return the position of the next bracket that does not belong to LaTeX."""
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
    end, closed = _extent(text, start)
    return _loosely_read(closed, steps), end, closed == text[start:end]


def _loosely_read(text: str, steps: list[int]) -> Any:
    """Return the value of a text that is one object or list, repaired if needed; `None` if it cannot be read."""
    try:
        return _clean(DECODER.decode(text))  # a closed cut-off value may be valid JSON
    except (ValueError, RecursionError):
        return _repaired(text, steps)


def _repaired(text: str, steps: list[int]) -> dict[str, Any] | list[Any] | None:
    """Return the value of a text after a repair of its syntax; `None` if it cannot be repaired, or if an object has a
    name twice, of which the repair would drop one. `steps` has the number of steps left for all repairs of a reply."""
    if len(text) > LONGEST_REPAIR or (text.startswith("[") and not LIST_START.match(text)):
        return None
    if _repeats_name(text):
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


def _repeats_name(text: str) -> bool:
    """Return true if an object in a text has a name more than once."""
    names: list[set[str]] = []
    begins, in_value = 0, False
    for character, start, end in _tokens(text, 0):
        if character in "{[":
            names.append(set())
            begins, in_value = end, False
        elif character in "}]":
            names[-1:] = []
            begins = end
        elif character == ",":
            begins, in_value = end, False
        elif character == ":" and names and not in_value:
            name = text[begins:start].strip(" \t\r\n\"'“”")
            begins, in_value = end, True
            if name in names[-1]:
                return True
            names[-1].add(name)
    return False


def _quoted(match: re.Match[str]) -> str:
    """Return the replacement of a match of `BARE`: a number in a notation that JSON does not have becomes a string."""
    number = match[3]
    if number is None or JSON_NUMBER.fullmatch(number) is not None or COMMENT.search(number):
        return match[0]
    return f"{match[2]}{json.dumps(number.strip(), ensure_ascii=False)}"


class _TooManySteps(Exception):
    """A repair takes too many steps for the length of its text."""


class _Counted(str):
    """A text that counts how many of its characters are read. Raises `_TooManySteps` if no steps are left.

    `left` is a list with the one number of steps left, which the slices of the text share with it."""

    left: list[int]

    def __new__(cls, text: str, left: list[int]) -> _Counted:
        counted = super().__new__(cls, text)
        counted.left = left
        return counted

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = super().__getitem__(key)
        self._spend(len(part))
        return _Counted(part, self.left) if isinstance(key, slice) else part

    def __add__(self, other: str) -> str:
        self._spend(len(self))
        return _Counted(super().__add__(other), self.left)

    def find(self, *args: Any) -> int:
        position = super().find(*args)
        start = args[1] if len(args) > 1 else 0
        self._spend((position if position >= 0 else len(self)) - start)
        return position

    def _spend(self, steps: int) -> None:
        self.left[0] -= max(1, steps)
        if self.left[0] < 0:
            raise _TooManySteps


@dataclass
class _Level:
    """An open bracket. `safe` is the position where the text of an object may be cut after complete members, `in_value`
    is true between the colon and the comma of a member. A list is dropped if it is cut: a shorter list would be a
    different value."""

    opener: str
    safe: int | None = None
    in_value: bool = False


def _extent(text: str, start: int) -> tuple[int, str]:
    """Return the end of the value that opens at `start`, and its text. A value cut off by the end of the text is closed
    after its last complete member. The text is empty if the value has none, or mismatched brackets."""
    levels: list[_Level] = []
    for character, begins, end in _tokens(text, start):
        if character in "{[":
            levels.append(_Level(character))
        elif character in "}]":
            if levels.pop().opener != {"}": "{", "]": "["}[character]:
                return end, ""
            if not levels:
                return end, text[start:end]
            levels[-1].safe = end
        elif character == ":":
            levels[-1].in_value = True
        elif character == ",":
            if levels[-1].in_value:
                levels[-1].safe, levels[-1].in_value = begins, False
        elif levels[-1].in_value:  # a string
            levels[-1].safe = end
    return len(text), _closed(text, start, levels)


def _tokens(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the brackets, commas, colons and strings from a bracket on, each with its position and its end. A string
    is yielded as its first quotation mark; the tokens end before one that does not end. A quotation mark after other
    characters begins no string."""
    position = previous = start
    while (mark := STRUCTURE.search(text, position)) is not None:
        position = mark.end()
        character = mark[0].replace("：", ":").replace("，", ",")
        if character not in CLOSERS:
            if len(character) == 1:  # not an escaped character
                yield character, mark.start(), position
        elif not text[previous : mark.start()].strip():
            end = _string_end(text, position, CLOSERS[character])
            if end is None:
                return
            position = end
            yield character, mark.start(), position
        previous = position


def _string_end(text: str, position: int, closers: str) -> int | None:
    """Return the position after the quotation mark that ends a string. What follows must be a comma, a colon, a closing
    bracket or the end of the text: a quotation inside of a string does not end it."""
    while (mark := STRUCTURE.search(text, position)) is not None:
        position = mark.end()
        if mark[0] in closers and AFTER_STRING.match(text, position):
            return position
    return None


def _closed(text: str, start: int, levels: list[_Level]) -> str:
    """Return the text of a value that is cut off, up to the last complete member of its open objects, with their
    closing brackets; empty without such a member."""
    kept: list[_Level] = []
    for level in levels:
        if level.opener == "[":
            break
        kept.append(level)
    while kept and kept[-1].safe is None:
        kept.pop()
    return text[start : kept[-1].safe] + "}" * len(kept) if kept else ""


def _clean(value: Any) -> Any:
    """Return a value as it can be stored: infinite numbers become null, and texts `storable`."""
    match value:
        case dict():
            return merged((_clean(str(name)), _clean(part)) for name, part in value.items())
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
"""The largest number of characters of an integer with 64 bits, and of a number that an error quotes."""
MARK = re.compile(r"[{}\[\]]|<think|```json[ \t]*\r?\n", re.IGNORECASE)
"""Where a value or thinking may begin, and closing brackets, which show that JSON is broken."""
PROSE = re.compile(r"""\{\s*[^\s{}\[\]"':“”][^{}\[\]"':“”]*\}|\[(?:\s*[^\W\d_][^\[\]{}"',“”]*|\.\.\.|…)\]""")
"""Brackets in a text that are not JSON: a word or a formula, without a quotation mark or, in braces, a colon, as in
`\frac{1}{2}`, `{name}` and `[see Table 1]`."""
OPENED = re.compile(r"[{\[]")
BLANK = re.compile(r"\s*")
FENCE_END = re.compile(r"\s*(?:```|\Z)")
VALUE = "\0"
"""The placeholder of a value in the text around the values."""
PART = re.compile(r"""["'”]\s*[:,]\s*\0|\0\s*[:,]\s*["'“\0]|\\["'“”]""")
"""Signs in that text that the value is part of something else: a name before it, another value after it, or an escaped
quotation mark."""
NONE = "the reply holds no JSON"
TOO_DEEP = f"the JSON has more than {DEEPEST} levels"


STAND_IN = "\ue000"
"""The placeholder of a value while thinking is removed around it. In a reply that itself contains this character,
thinking marks inside JSON are not protected."""
_STAND_IN = re.compile(rf"{STAND_IN}(\d+){STAND_IN}")


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
        for candidate in dict.fromkeys((bare, _without_thinking(bare))):
            try:
                return _check_value(EXACT_DECODER.decode(candidate))
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
        return _STAND_IN.sub(lambda match: kept[int(match[1])], part)

    return ReplyText(put_back(parts.answer), parts.thinking and put_back(parts.thinking), parts.closed)


def _spans_of_json(text: str) -> Iterable[tuple[int, int]]:
    """Yield the positions of JSON in which texts may have thinking marks: lists, objects, and a text that is the whole
    reply apart from thinking."""
    for candidate in (text.strip(), _without_thinking(text.strip())):
        if candidate.startswith('"') and _is_json(candidate):
            start = text.rindex(candidate)
            yield start, start + len(candidate)
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
    """Return a text without the thinking at its beginning."""
    match = THINKING.match(text)
    return text if match is None else text[match.end() :].strip()


def _values_in(text: str) -> tuple[list[Any], str]:
    """Return every value in a text, and the text around them, in which `VALUE` represents each. Raises `NotExact` if a
    value is broken."""
    values: list[Any] = []
    around: list[str] = []
    position = 0
    while (mark := MARK.search(text, position)) is not None:
        around.append(text[position : mark.start()].replace(VALUE, " "))
        if mark[0].startswith("<"):
            thought = THINKING.match(text, mark.start())
            position = mark.end() if thought is None else thought.end()
        elif mark[0].startswith("`"):
            in_block, position = _in_block(text, mark.end())
            values += in_block
            around += VALUE * len(in_block)
        elif (prose := PROSE.match(text, mark.start())) is not None and not _is_json(prose[0]):
            position = prose.end()
        else:
            value, position = _exact_value_at(text, mark.start())
            values.append(value)
            around.append(VALUE)
    return values, "".join([*around, text[position:].replace(VALUE, " ")])


def _exact_value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at a position, and its end. Raises `NotExact` if it is broken."""
    try:
        value, end = EXACT_DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotExact(f"the JSON is broken or cut off at character {error.pos + 1}") from None
    return _check_value(value), end


def _in_block(text: str, start: int) -> tuple[list[Any], int]:
    """Return a list with the value in a JSON block, which may be a text or a number, and the end of the block. If the
    block contains anything else, the list is empty, and the position is the beginning of its content."""
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
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise NotExact("an object of the JSON has one name twice")
        members[name] = value
    return members


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
    """Return a value. Raises `NotExact` if it cannot be kept as it is: if it is nested too deeply, or a text has half
    of a surrogate pair."""
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
