"""Finds the answer in a reply to a question of an exam: where it is marked, and where the reasons for it begin."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

_SIMPLE = str.maketrans(
    "對錯確誤選應為項說無題斷實屬問結論該兩與還準關當擇沒綜總從這條",
    "对错确误选应为项说无题断实属问结论该两与还准关当择没综总从这条",
)
_BOX = re.compile(r"\\boxed\s{0,9}\{(?:\\(?:text|mathrm|mathbf)\s{0,9}\{([^{}]*)\}|([^{}]*))\}")
_FIELD = re.compile(
    r'"(?:正确|最终)?(?:答案|选项|判断|answers?|final_answer|choice|option|verdict)"\s{0,9}:\s{0,9}'
    r'(\[[^\]]*\]|"[^"]*"|true\b|false\b)',
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?:答案|(?<![A-H])(?<![A-H] )选项|判断(?:结果)?|正确的?一?项)"
    r"(?:(?:分别)?(?:应该?|应当)?(?:[是为]|选择?)\s{0,9}:?|[*_\s】\])]{0,9}[:】\n])"
    r"|答案(?=\s{0,3}(?:[A-WYZ√×]|X[^\w]|X\Z))"
    r"|(?<![问解])答:|<answer>"
    r"|\banswers?(?:\s{1,9}(?:is|are)\s{0,9}:?|[*_ ]{0,9}:)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?<![A-Za-z])(?:[A-Z][、和]?){1,8}(?:选?项)?(?:[“\"(][^”\")\n]{0,40}[”\")])?"
    r"(?:(?:才?是|为)(?:本题)?的?(?:正确|最佳)的?(?:答案|选项|选择)|最(?:合适|恰当|符合))"
)
_CHOSEN = re.compile(r"(?<![不单多能可人])(?<!不应)选择?\s{0,9}:?(?=[\s\"'“*(\[]{0,9}[A-Z](?![A-Za-z]*[a-z]))|故选")
_REASONS = re.compile(
    r"(?:^|(?<=[\s。;(【\[*#]))(?:简要|具体|详细)?(?:理由|解析|分析|解释|说明|原因|思路|依据|改正|更正|reasons?|explanation)"
    r"(?:说明|如下|是|为)?[*_\s】\])]{0,9}(?:[:】]|\n|$)",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(
    r"(?<![\w.])第?\s{0,3}(?:\d{1,2}|[一二三四五六七八九十])\s{0,3}"
    r"(?:(?:小?题|空|问)\s{0,3}[选:,]?|[.、:)](?!\d)|(?=[A-Z√×对错](?![A-Za-z]*[a-z])))"
)
_BARE = re.compile(r"\A((?:[\W\d_]|[A-HTFN对错])+?)\n\s*\n")
"""An answer alone, with the reasons below."""
_TAIL = 400
"""An answer that is marked is read so many characters far."""
_MARKS = 32
"""So many marks are looked at: a reply that repeats itself has thousands."""


def plain(answer: str) -> str:
    """An answer in letters of one width and one script, without what a model thought aloud.

    >>> plain("<think>Ａ?</think>應選Ｂ")
    '应选B'
    """
    said = unicodedata.normalize("NFKC", answer).translate(_SIMPLE)
    return (said.rpartition("</think>")[2].strip() or said).strip()


def read_marked(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """What `read` finds where a plain text gives the answer of one question: in the field of JSON, the last box, behind
    the last `答案：` or the like, or else the last `选`. In all of the text only where nothing is marked: the reasons
    for an answer that was put in other words are not the answer."""
    marked = False
    for said in _places(text):
        marked = True
        found = read(said)
        if found:
            return found
    return [] if marked else read(text)


def read_parts(
    text: str, parts: int, read: Callable[[str], list[str]], read_all: Callable[[str], list[str]]
) -> list[str]:
    """What a plain text answers to several questions, in their order. `read` finds one answer, `read_all` as many as
    there are. Of the ways to read it the first that finds as many as there are parts counts, else the first that finds
    something."""
    said = [_until_reasons(text[mark.end() :][:_TAIL]) for mark in [*_STATED.finditer(text)][:_MARKS]]
    places = list(_places(text))
    ways: list[Callable[[], list[str]]] = [
        *(lambda place=place: read_all(place.strip().partition("\n\n")[0]) for place in places),
        *(lambda place=place: read_all(place) for place in places),
        *(lambda place=place: _numbered(place, read) for place in places),
        lambda: [each for one in said for each in read(one)[:1]],
        lambda: _numbered(_until_reasons(text), read),
        lambda: _numbered(text, read),
        lambda: read_all(_until_reasons(text)),
        lambda: read_all(text),
    ]
    first: list[str] = []
    for way in ways:
        found = way()
        if len(found) == parts:
            return found
        first = first or found
    return first


def _places(text: str) -> Iterator[str]:
    """Where an answer is marked, the likeliest first."""
    for fields in (_FIELD, _BOX, _BARE):
        found = [next(filter(None, each.groups()), "") for each in fields.finditer(text)]
        if found:
            yield found[-1]
    answer = _until_reasons(text)
    for marks, whole in ((_STATED, answer), (_STATED, text), (_CHOSEN, answer), (_NAMED, text), (_CHOSEN, text)):
        for mark in [*marks.finditer(whole)][: -_MARKS - 1 : -1]:
            said = mark[0] if marks is _NAMED else _until_reasons(text[mark.end() :][:_TAIL])
            if re.search(r"\w|[√×✓✗✔✘]", said):
                yield said


def _until_reasons(text: str) -> str:
    reasons = _REASONS.search(text)
    return text if reasons is None else text[: reasons.start()]


def _numbered(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """One answer behind each number."""
    numbers = list(_NUMBER.finditer(text))
    ends: Sequence[int] = [*(number.start() for number in numbers[1:]), len(text)]
    return [
        each for number, end in zip(numbers, ends, strict=False) for each in read_marked(text[number.end() : end], read)
    ]
