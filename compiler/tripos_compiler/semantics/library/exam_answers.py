"""Reads the answers to questions of an exam: letters of options, and what is right or wrong.

They read a reply and the answer that stands in the data alike: `BD`, `B、D`, `["B", "D"]` and `答案：Ｂ和Ｄ` are the
same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_MARK = re.compile(
    r"(?:(?:正确|最终|参考|标准)?(?:答案|选项)(?:分别)?(?:应该是|应为|应选|是|为|选)?|故(?:本题)?选|应选|本题选|我?选择?"
    r"|(?:the )?(?:final |correct )?answers?(?: is| are)?)\s*[:：]?\s*",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\boxed\s{0,9}\{([^{}]*)\}")
_SMALL = re.compile(r"(?:[^\w]|_)*[a-h](?:(?:[^\w]|[\d_])*[a-h])*(?:[^\w]|_)*")
_RUN = re.compile(r"(?<![A-Za-z])[A-H](?:(?:\s|[\"'、,，;；和与及/&*])*[A-H])*(?![A-Za-z])")
_OPENS = re.compile(r"\W*[A-H](?![A-Za-z])")
_RULED_OUT = re.compile(
    r"(?:不选|排除)\s*[A-H](?:[\s、,，和]*[A-H])*|[A-H]\s*(?:选?项)?(?:的?说法)?[是也都]?(?:错|不正确|不对|不符合)"
)
_TRUE = r"没错|正确|对|属实|√|✓|✔|☑|✅|true|t|yes|right|correct"
_FALSE = r"不正确|不对|不属实|错误?|×|✗|✘|✕|❌|☒|false|f|not (?:true|right|correct)|no(?! idea)|wrong|incorrect"
_UNSAID = r"未提及|未提到|没有提及|not given|ng|n"
_VERDICT = re.compile(
    rf"(?<![A-Za-z])(?:(?P<false>{_FALSE})|(?P<unsaid>{_UNSAID})|(?P<true>{_TRUE}))(?![A-Za-z])", re.IGNORECASE
)
_ALONE = {"是": "T", "是的": "T", "真": "T", "否": "F", "不是": "F", "假": "F", "A": "T", "B": "F"}
"""What says so only where nothing else stands beside it."""
_JOINED = re.compile(r"(?<![A-Za-z])[TFN]{2,}(?![A-Za-z])")
_AROUND = " \t\n*_`\"'[](){}【】（）《》.。,，;；:：!！、"
_ENDS = re.compile(r"[。！!？?\n;；]+")
_SO = re.compile(r"因此|所以|综上|总之|故|可见|therefore|thus|hence", re.IGNORECASE)
"""What a conclusion begins with."""
_TAIL = 400
"""An answer that is marked is read so many characters far."""


def option_letters(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """The letters of options, A to H, that an answer gives, in their order.

    What is marked as the answer counts: what follows the last `答案：`, `故选`, `answer is` or the like, or stands
    in the last `\\boxed{…}`. Of one part, the letters that stand together are given, where the answer begins with
    them, or else the last ones; of several `parts` all of them. Full width and JSON lists are read, small letters where
    there is nothing else; what is ruled out (`不选 A`, `A 项错误`) is no answer. Of a list, the letters of all its
    texts.

    >>> option_letters('["BD"]'), option_letters(["B", "D"]), option_letters("A 项错误，故选：Ｂ、Ｄ。因为 C 不变。")
    (['B', 'D'], ['B', 'D'], ['B', 'D'])
    >>> option_letters("1. C 2. A 3. B", 3), option_letters("b, d")
    (['C', 'A', 'B'], ['B', 'D'])
    """
    if not isinstance(answer, str):
        return [letter for each in answer for letter in option_letters(each)]
    plain = unicodedata.normalize("NFKC", answer).strip()
    marked = _letters_in(_marked(plain), parts)
    return marked if marked and (parts == 1 or len(marked) == parts) else _letters_in(plain, parts)


def right_or_wrong(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """What an answer says of statements: `T` right, `F` wrong, `N` not said; in their order.

    Read are 对, 错, 正确, 错误, √, ×, T, F, true, false, yes, no and the like, in any width and case; 是, 否, and A
    and B for right and wrong, where they stand alone. What is marked as the answer counts, as in `option_letters`. Of
    one part, the verdict of the conclusion (所以, 因此, …), of the first sentence, or else of the last that has one;
    of several `parts` all verdicts.

    >>> right_or_wrong(["T", "F"]), right_or_wrong("√ ✗ 正确", 3), right_or_wrong(["错误。改正：2 是质数。", "对"])
    (['T', 'F'], ['T', 'F', 'T'], ['F', 'T'])
    """
    if not isinstance(answer, str):
        return [verdict for each in answer for verdict in right_or_wrong(each)[:1]]
    plain = unicodedata.normalize("NFKC", answer).strip()
    marked = _verdicts_in(_marked(plain), parts)
    return marked if marked and (parts == 1 or len(marked) == parts) else _verdicts_in(plain, parts)


def _marked(text: str) -> str:
    """What an answer marks as such: in the last box, or behind the last mark that something follows; else all of it."""
    boxes = _BOX.findall(text)
    if boxes:
        return str(boxes[-1])
    for mark in reversed(list(_MARK.finditer(text))):
        said = text[mark.end() : mark.end() + _TAIL]
        if said.strip(_AROUND) and not said.lstrip().startswith(("项", "肢")):
            return said
    return text


def _letters_in(said: str, parts: int) -> list[str]:
    if _SMALL.fullmatch(said):
        said = said.upper()
    kept = _RULED_OUT.sub(" ", said)
    runs = [re.findall("[A-H]", run) for run in _RUN.findall(kept)]
    if not runs:
        return []
    if parts > 1:
        return [letter for run in runs for letter in run]
    lines = [line for line in kept.splitlines() if line.strip()]
    if len(lines) > 1 and all(_OPENS.match(line) for line in lines):  # a line for each option that was chosen
        return [letter for line in lines for letter in re.findall("[A-H]", line)[:1]]
    return runs[0] if _OPENS.match(kept) else runs[-1] if said == kept or len(runs) == 1 else runs[0]


def _verdicts_in(said: str, parts: int) -> list[str]:
    bare = said.strip(_AROUND)
    if bare in _ALONE:
        return [_ALONE[bare]]
    joined = _JOINED.search(bare)
    if joined is not None:
        return list(joined[0])
    found = [(verdict.start(), _name(verdict)) for verdict in _VERDICT.finditer(said)]
    if parts > 1 or not found:
        letters = re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", said) if not found else []
        return [verdict for _, verdict in found] or [_ALONE[letter] for letter in letters]
    sentences = [each for each in _ENDS.split(said) if each.strip()]
    told = [each for each in sentences if _VERDICT.search(each)]
    concluding = [each for each in told if _SO.search(each)]
    if concluding:
        return [_name(list(_VERDICT.finditer(concluding[-1]))[-1])]
    verdicts = list(_VERDICT.finditer(told[0] if told[0] == sentences[0] else told[-1]))
    return [_name(verdicts[0])]


def _name(verdict: re.Match[str]) -> str:
    return "T" if verdict["true"] else "F" if verdict["false"] else "N"
