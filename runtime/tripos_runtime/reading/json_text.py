"""JSON out of a model's reply, however it is wrapped: fences, prose around it, loose syntax, a cut-off end.

The invariant: nothing is invented. What a cut-off reply left unfinished is dropped, and the reader is told.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, SupportsIndex

from tripos_compiler.source import dataclass

MOST_SCANNED = 300_000
"""At most this many characters are scanned in all, and at most `SCANS` times the length of the text."""
SCANS = 20
LONGEST_REPAIR = 100_000
REPAIR_STEPS = 60
"""The repairs of a text may look at every character this often on average; JSON that can be repaired takes up to four
looks. Some texts would take a quadratic number."""
THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
STRUCTURE = re.compile(r"""\\.|[{}\[\],:"'“”：，]""", re.DOTALL)
CLOSERS = {'"': '"', "'": "'", "“": '”"', "”": '”"'}
AFTER_STRING = re.compile(r"\s*(?:[,:}\]，：]|\Z)")
LIST_START = re.compile(r"""\[\s*["'“{\[\d-]""")
BRACKET = re.compile(r"[{\[]")
LATEX = re.compile(r"(?:\\[A-Za-z]{1,18}\s?|[\^_\\])\Z")
"""Before a bracket of LaTeX: `\\boxed{2:3}` is no object."""
BARE = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")"
    r"|([:\[,]\s*)(?=[-+–~<>≈≤≥±$€£¥₹.½⅓¼¾\\\d负约])(?!-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*[,}\]]\s*(?:["'}\]]|\Z))"""
    r"""((?:[-–]?[$€£¥₹]\s?[-–]?\d{1,3}(?:,\d{3})+)?[^"'“”{}\[\],\n]*[^"'“”{}\[\],\n\s])(?=\s*[,}\]])"""
)
"""Strings, and values that are numbers in no notation of JSON: `3/4`, `10⁵`."""
JSON_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
COMMENT = "//"
WIDE_COLON = re.compile(r"""["”]\s*：""")
WIDE_COMMA = re.compile(r"""，(?=\s*["“])""")
DECODER = json.JSONDecoder(parse_constant=lambda _: None)


@dataclass(frozen=True)
class FoundJson:
    """A value found in a text. `complete` is false where the text ended within it and a part was dropped."""

    value: Any
    complete: bool = True


def find_all(text: str) -> list[FoundJson]:
    """Return every JSON value that a reply may mean, best first: whole ones before cut-off ones, objects before lists,
    later ones before earlier ones.

    >>> [found.value for found in find_all("Sure! ```json\\n{'depth': 8, 'ok': True,}\\n``` Anything else?")]
    [{'depth': 8, 'ok': True}]
    >>> find_all('{"depth": {"score": 8}, "clarity": {"sco')
    [FoundJson(value={'depth': {'score': 8}}, complete=False)]
    >>> find_all("no JSON here")
    []
    """
    text = THINKING.sub("", text).strip()
    try:
        return [FoundJson(_clean(json.loads(text, parse_constant=lambda _: None)))]
    except (ValueError, RecursionError):
        pass
    found: list[FoundJson] = []
    position = scanned = 0
    most = min(MOST_SCANNED, SCANS * (len(text) + 100))
    steps = [REPAIR_STEPS * (len(text) + 100)]
    whole = True
    while scanned < most and (start := _next_bracket(text, position)) is not None:
        value, end, complete = _value_at(text, start, steps)
        whole = whole and (complete or end < len(text))
        if value:
            found.append(FoundJson(value, whole and complete))
        position = end if value else start + 1
        scanned += end - start
    latest_first = found[::-1]
    return sorted(latest_first, key=lambda one: (not one.complete, not isinstance(one.value, dict)))


def _next_bracket(text: str, position: int) -> int | None:
    found = BRACKET.search(text, position)
    while found is not None and LATEX.search(text, max(0, found.start() - 20), found.start()) is not None:
        found = BRACKET.search(text, found.end())
    return None if found is None else found.start()


def _value_at(text: str, start: int, steps: list[int]) -> tuple[Any, int, bool]:
    """Return the value that starts at a bracket (`None` where there is none), where it ends, and whether it is
    whole."""
    try:
        value, end = DECODER.raw_decode(text, start)
        return _clean(value), end, True
    except (ValueError, RecursionError):
        pass
    end, finished = _extent(text, start)
    return _loosely(finished, steps), end, finished == text[start:end]


def _loosely(text: str, steps: list[int]) -> Any:
    try:
        return _clean(DECODER.decode(text))  # a value that was cut off and closed may be good JSON
    except (ValueError, RecursionError):
        return _repaired(text, steps)


def _repaired(text: str, steps: list[int]) -> dict[str, Any] | list[Any] | None:
    if len(text) > LONGEST_REPAIR or (text.startswith("[") and not LIST_START.match(text)):
        return None
    import json_repair  # replies that need it are few, and it takes memory

    narrow = WIDE_COMMA.sub(",", WIDE_COLON.sub('":', text))
    narrow = BARE.sub(_quoted, narrow)
    try:
        value = _clean(json_repair.loads(_Counted(narrow, steps), strict=True, skip_json_loads=True))
    except Exception:
        # Whatever the repair makes of arbitrary text, the reply then holds no JSON.
        return None
    # Prose in brackets comes back as a value of the other kind.
    return value if isinstance(value, dict if text.startswith("{") else list) else None


def _quoted(found: re.Match[str]) -> str:
    """A number that JSON does not write so, as a string; all else as it is."""
    said = found[3]
    if said is None or JSON_NUMBER.fullmatch(said) is not None or COMMENT in said:
        return found[0]
    return f"{found[2]}{json.dumps(said.strip(), ensure_ascii=False)}"


class _TooManySteps(Exception):
    """A repair costs more than its text is worth."""


class _Counted(str):
    """A text that counts how often it is looked at, and refuses to be looked at when no step is left."""

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
    """An open bracket. `safe` is where its text may be cut with every member before it whole; a list cut anywhere is
    a wrong list, so it has no such place."""

    opener: str
    safe: int | None = None
    in_value: bool = False


def _extent(text: str, start: int) -> tuple[int, str]:
    """Return where the value that opens at `start` ends, and its text. A value that the text's end cuts off is closed
    after its last whole member; without one, and where the brackets do not match, its text is empty."""
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
    """Past the quote that ends a string: one that stands before a comma, a colon, a bracket or the end, so that a
    quotation inside a string does not end it."""
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
    """Return the value as it can be stored: infinite numbers are null, surrogates are joined to the characters they
    spell."""
    match value:
        case dict():
            return {_clean(str(name)): _clean(part) for name, part in value.items()}
        case list():
            return [_clean(part) for part in value]
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
