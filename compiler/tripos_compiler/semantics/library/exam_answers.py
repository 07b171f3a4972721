"""Reads the answers to questions of an exam: letters of options, and what is right or wrong.

They read a reply and the answer that stands in the data alike: `BD`, `B、D`, `["B", "D"]` and `答案：Ｂ和Ｄ` are the
same.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from tripos_compiler.semantics.library.letters import GOES_ON, PRONOUN, are_options
from tripos_compiler.semantics.library.marked_answers import plain, read_marked, read_parts

_NONE = re.compile(r"\bN/A\b", re.IGNORECASE)
_SMALL_ALONE = re.compile(r"(?:[^\w]|_)*[a-z](?:(?:[^\w]|[\d_])+[a-z])*(?:[^\w]|_)*")
_SMALL = re.compile(r"(?:[^\w]|_)*[a-h](?:(?:[^\w]|[\d_])*[a-h])*(?:[^\w]|_)*")
_GOES_ON = r"(?=[ \t]{0,3}[A-H]{1,8}[ \t]{0,3}(?:[^\s\w]|_|$|\n|[和与及项选都均两三四五等]|以及))"
"""A comma stands between two options, and not before a clause about the second."""
_AND = rf"(?:[ \t\"'、;和与及或/&*+·]|以及|and(?![A-Za-z])|选?项|,{_GOES_ON}|[\"'],){{0,9}}"
_ANY = rf"(?!{PRONOUN})[A-Z]"
_ANY_AND = r"(?:[ \t\"'、;和与及或&*+·]|以及|and(?![A-Za-z])|选?项|,(?=[ \t]{0,3}[A-Z](?![A-Za-z]))|[\"'],){0,9}"
_OPENS_WITH_ANY = re.compile(
    rf"(?:\W|_)*(?:选?项|option\s)?(?:\W|_)*({_ANY}(?:{_ANY_AND}{_ANY}){{0,40}}+)(?![A-Za-z])"
    rf"(?=\s*(?:\Z|\n|[].,;:!?。、)}}】」\"'*_\\|$]|选?项|[是为均都]|正确)|\s+{GOES_ON})"
)
"""Letters that need not be of the first eight, where an answer begins with them: elsewhere `X` is an unknown, `DNA` an
acid and `I` a pronoun."""
_ONLY_LETTERS = re.compile(r"(?:[\W\d_]|[第题和与及选项]|以及|小题|and(?![A-Za-z])|[A-Z](?![a-z]))+")
_RUN = re.compile(rf"(?<![A-Za-z])[A-H](?:{_AND}[A-H]){{0,40}}(?![A-Za-z])")
_OPENS = re.compile(r"\W*(?:选?项)?\W*[A-H](?![A-Za-z])")
_SEVERAL = r"[A-H](?:[ \t、和与及]{0,3}[A-H]){0,7}[ \t]{0,3}(?:[两三四][选个]?[项者])?(?:选?项)?"
_OF_IT = r"(?:的?说法|的?表述)?[ \t.:、)]*(?:[是也都均皆全并]*)"
_RULED_OUT = re.compile(
    rf"(?:不能?应?选|排除|不是|而?非|rather than|not)\s*{_SEVERAL}"
    rf"|{_SEVERAL}{_OF_IT}(?:错|不正确|不对|不符合?|不合|不当|有误|与\w{{0,6}}(?:无关|不符)|×|✗|✘|❌)"
    rf"|(?<![A-Za-z])[A-H] is (?:wrong|incorrect|false)"
)
_HELD = re.compile(rf"({_SEVERAL}){_OF_IT}(?:正确|对(?![A-Za-z于比])|符合|√|✓|✔|✅)")
_TRUE = (
    r"没错|不错|没有?错误|无误|正确|(?<![针面绝相反应成配校派])对(?![于比称角应照话象立方外数流面手策抗待付策])|属实|准确"
    r"|真命题|√|✓|✔|☑|✅|true|t|yes|right|correct"
)
_FALSE = (
    r"(?:不|并?非|不能(?:判断|说|算)[为是]?|未必)(?:是|太|完全|够|很)?(?:正确|对|准确|属实)|有误|(?<![不交])错误?(?![落综过别])"
    r"|假命题|×|✗|✘|✕|❌|☒|╳|☓|false|f|(?:not|isn't|is n't|aren't) (?:true|right|correct)|no(?! idea)|wrong|incorrect"
)
_UNSAID = r"未提[及到]|没有?提[及到]|not given|not mentioned|doesn't say|does not say|ng|n"
_VERDICT = re.compile(
    rf"(?<![A-Za-z'])(?:(?P<false>{_FALSE})|(?P<unsaid>{_UNSAID})|(?P<true>{_TRUE}))(?![A-Za-z'])", re.IGNORECASE
)
_NO_VERDICT = re.compile(
    r"是否(?:正确|准确|属实)|(?:正确|准确|对|属实)(?:吗|与否|还是)|对(?:还是|或)错|[对错]不[对错]"
    r"|正确的?[^\s,.。;:!?]{0,6}?(?:应该?[是为]?|[是为])(?=.)"
)
"""A question, or what would be right instead."""
_ALONE = {
    **dict.fromkeys(("是", "是的", "真", "A", "Y"), "T"),
    **dict.fromkeys(("否", "不是", "假", "B", "X", "x"), "F"),
}
"""What says so only where nothing else stands beside it."""
_JOINED = re.compile(r"(?<![A-Za-z])[TFN]{2,}(?![A-Za-z])")
_AROUND = " \t\n*_`\"'[](){}【】（）《》.。,，;；:：!！、#"
_ENDS = re.compile(r"[。！!？?\n;；]+")
_SO = re.compile(r"因此|所以|综上|总之|故|可见|应[为是]|therefore|thus|hence", re.IGNORECASE)
"""What a conclusion begins with."""


def option_letters(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """The letters of options that an answer gives, in their order.

    What is marked as the answer counts: a field of JSON, what stands in the last `\\boxed{…}` or follows the last
    `答案：`, `answer is` or the like, else the last `选`; as far as the reasons. Of one part, the letters that stand
    together are given, where the answer begins with them, or else the last ones; of several `parts` one behind each
    number, or all of them. Full width, traditional characters and JSON are read, small letters where there is nothing
    else; what is ruled out (`不选 A`, `A 项错误`) is no answer. Letters after H count where an answer begins with
    them or is nothing else. Of a list, the letters of all its texts.

    >>> option_letters('["BD"]'), option_letters(["B", "D"]), option_letters("A 项错误，故选：Ｂ、Ｄ。因为 C 不变。")
    (['B', 'D'], ['B', 'D'], ['B', 'D'])
    >>> option_letters("1. C 2. A 3. B", 3), option_letters("b, d"), option_letters("答案：BD\\n理由：C 与题意不符。")
    (['C', 'A', 'B'], ['B', 'D'], ['B', 'D'])
    """
    if not isinstance(answer, str):
        return [letter for each in answer for letter in option_letters(each)]
    text = _NONE.sub(" ", plain(answer))
    return read_marked(text, _letters_of) if parts == 1 else read_parts(text, parts, _letters_of, _all_letters)


def right_or_wrong(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """What an answer says of statements: `T` right, `F` wrong, `N` not said; in their order.

    Read are 对, 错, 正确, 错误, √, ×, T, F, true, false, yes, no and the like, in any width, case and script; 是, 否,
    and A and B for right and wrong, where they stand alone. What is marked as the answer counts, as in
    `option_letters`. Of one part, the verdict of the conclusion (所以, 因此, …), of the first sentence, or else of the
    last that has one; of several `parts` one behind each number, or all verdicts.

    >>> right_or_wrong(["T", "F"]), right_or_wrong("√ ✗ 正确", 3), right_or_wrong(["错误。改正：2 是质数。", "对"])
    (['T', 'F'], ['T', 'F', 'T'], ['F', 'T'])
    """
    if not isinstance(answer, str):
        return [verdict for each in answer for verdict in right_or_wrong(each)[:1]]
    text = plain(answer).replace("’", "'")
    return read_marked(text, _verdict_of) if parts == 1 else read_parts(text, parts, _verdict_of, _all_verdicts)


def _letters_of(said: str) -> list[str]:
    """The letters of one answer."""
    if _SMALL.fullmatch(said) or _SMALL_ALONE.fullmatch(said):
        said = said.upper()
    opening = _OPENS_WITH_ANY.match(said)
    if opening is not None and re.search("[I-Z]", opening[1]):
        return _of_options(opening[1])
    held = [re.findall("[A-H]", each) for each in _HELD.findall(said)]
    kept = _RULED_OUT.sub(" ", said)
    runs = [re.findall("[A-H]", run) for run in _RUN.findall(kept)]
    if not runs:  # of what is wrong may have been asked
        runs = [re.findall("[A-H]", run) for run in _RUN.findall(said)]
        return runs[0] if len(runs) == 1 and _OPENS.match(said) else []
    lines = [line for line in kept.splitlines() if line.strip()]
    if len(lines) > 1 and all(_OPENS.match(line) for line in lines):  # a line for each option that was chosen
        return [letter for line in lines for letter in re.findall("[A-H]", line)[:1]]
    if len(held) > 1 and held == runs:  # a verdict on each option
        return [letter for run in held for letter in run]
    return runs[0] if _OPENS.match(kept) else runs[-1] if said == kept or len(runs) == 1 else runs[0]


def _of_options(letters: str) -> list[str]:
    """The letters of several options, in their order; none where some of them are a word."""
    runs = re.findall("[A-Z]+", letters)
    return [letter for run in runs for letter in run] if all(map(are_options, runs)) else []


def _all_letters(said: str) -> list[str]:
    if _SMALL.fullmatch(said) or _SMALL_ALONE.fullmatch(said):
        said = said.upper()
    if _ONLY_LETTERS.fullmatch(said) and (letters := _of_options(said)):
        return letters
    return [letter for run in _RUN.findall(_RULED_OUT.sub(" ", said)) for letter in re.findall("[A-H]", run)]


def _verdict_of(said: str) -> list[str]:
    """The verdict of one answer."""
    bare = said.strip(_AROUND)
    first = re.split(r"[。.!?\n;,]", bare)[0].strip(_AROUND)
    for alone in (bare, first):
        if alone in _ALONE:
            return [_ALONE[alone]]
    said = _NO_VERDICT.sub(" ", said)
    sentences = [each for each in _ENDS.split(said) if each.strip()]
    told = [each for each in sentences if _VERDICT.search(each)]
    if not told:
        letters = re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", said)
        return [_ALONE[letter] for letter in letters][:1]
    concluding = [each for each in told if _SO.search(each)]
    if concluding:
        return [_name(list(_VERDICT.finditer(concluding[-1]))[-1])]
    verdicts = list(_VERDICT.finditer(told[0] if told[0] == sentences[0] else told[-1]))
    return [_name(verdicts[0])]


def _all_verdicts(said: str) -> list[str]:
    joined = _JOINED.search(said)
    if joined is not None:
        return list(joined[0])
    found = [_name(verdict) for verdict in _VERDICT.finditer(_NO_VERDICT.sub(" ", said))]
    return found or [_ALONE[letter] for letter in re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", said)]


def _name(verdict: re.Match[str]) -> str:
    return "T" if verdict["true"] else "F" if verdict["false"] else "N"
