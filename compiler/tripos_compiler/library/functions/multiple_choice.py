"""Reading of multiple-choice answers: letters of options, right or wrong, and where an exam answer is marked.

A reply and the answer in the data are read alike: `BD`, `B、D`, `["B", "D"]` and `答案：Ｂ和Ｄ` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tripos_compiler.library.functions.lists import shuffled
from tripos_compiler.library.functions.texts import letters_for
from tripos_compiler.library.signature import Undefined
from tripos_compiler.replies.choices import (
    GOES_ON,
    PRONOUN,
    are_options,
    chosen_letter,
    chosen_letters,
    index_of,
    letters_at,
)
from tripos_compiler.replies.frames import NO_DOUBT, Frame, frame_of, plain
from tripos_compiler.replies.places import boxed, field_of, until_reasons
from tripos_compiler.replies.text import answer_of, late_pattern
from tripos_compiler.replies.truth import BOTH_TRUTHS, is_hedged, read_truth, says_both, without_questions

# Options by letter


def chosen_option(text: str, options: Sequence[str], letters: str = "") -> str | None:
    """Return the letter of the option that a reply chooses, `A` for the first; missing if it chooses none or several.

    The reader tries in this order: a JSON field called `answer` or the like; the last `\\\\boxed{…}`; an `<answer>`; a
    reply that is a letter, with or without the text of its option; the text after the last `答案是`, `故选`, `选`,
    `the answer is` and the like, before the reasons; a first or last line that is a letter; the only letter that the
    reply affirms; the only option whose whole text it affirms. Options that are denied, asked, quoted, compared or
    supposed are not affirmed. A letter may be full-width, in brackets or emphasized, and the text of an option may have
    traditional or simplified characters. Several letters, and a letter that no option has, are no choice. With
    `letters`, the argument that `lettered` was given, one of them is returned.

    >>> options = ["3", "5", "8", "13"]
    >>> chosen_option("由题意，**正确答案是（Ｃ）**。", options), chosen_option("8", options)
    ('C', 'C')
    >>> chosen_option("答案是A或B", options), chosen_option("不知道", options)
    (None, None)
    >>> chosen_option("答案是丙。", options, "甲乙丙丁"), chosen_option("Ответ: б", options, "абвг")
    ('丙', 'б')
    """
    if letters:
        named = letters_for(options, letters)
        letter = chosen_option(_latin(answer_of(text), named), [_latin(option, named) for option in options])
        return None if letter is None else named[index_of(letter)]
    return chosen_letter(text, options)


def key_place(key: str, items: Collection[Any], letters: str = "") -> int:
    """Return the position of the option that a letter names, counted from 0: one of `letters`, or else one from A on.

    >>> key_place("B", ["3", "5"]), key_place("乙", ["3", "5"], "甲乙丙丁"), key_place(" b ", ["3", "5"], "甲乙丙丁")
    (1, 1, 1)
    """
    for named in (letters_for(items, letters), letters_for(items)):
        for letter in (key.strip(), key.strip().upper()):
            if letter in named:
                return named.index(letter)
    raise Undefined("no option has that letter")


def shuffled_place(place: int, items: Collection[Any], by: str) -> int:
    """Return the position in `shuffled(items, by)` of the item at a position, both counted from 0.

    >>> shuffled(["a", "b", "c"], "seed 1"), shuffled_place(0, ["a", "b", "c"], "seed 1")
    (['c', 'a', 'b'], 1)
    """
    if not 0 <= place < len(items):
        raise Undefined("the list has no item at that position")
    return shuffled(range(len(items)), by).index(place)


def _latin(text: str, letters: Sequence[str]) -> str:
    """Return a text with isolated letters of another alphabet replaced by Latin ones. Isolated Latin letters that are
    not option letters become lower case, so that they name no option."""
    latin = {letter: letters_at(place) for place, letter in enumerate(letters)}
    some = "|".join(re.escape(letter) for letter in sorted(latin, key=len, reverse=True))
    alone = rf"(?<![^\W\u2e80-\uffff])(?:{some})(?![^\W\u2e80-\uffff])|(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])"
    return re.sub(alone, lambda match: latin.get(match[0], match[0].lower()), text)


# Places of an answer

_STATED = late_pattern(
    r"(?:答案|(?<![A-H])(?<![A-H] )选项|判断(?:结果)?|正确的?一?项)"
    r"(?:(?:分别)?(?:应该?|应当)?(?:[是为]|选择?)\s{0,9}:?|[*_\s】\])]{0,9}[:】\n])"
    r"|答案(?=\s{0,3}(?:[A-WYZ√×]|X[^\w]|X\Z))"
    r"|(?<![问解])答:|<answer>"
    r"|\banswers?(?:\s{1,9}(?:is|are)\s{0,9}:?|[*_ ]{0,9}:)",
    re.IGNORECASE,
)
_NAMED = late_pattern(
    r"(?<![A-Za-z])(?:[A-Z][、和]?){1,8}(?:选?项)?(?:[“\"(][^”\")\n]{0,40}[”\")])?"
    r"(?:(?:才?是|为)(?:本题)?的?(?:正确|最佳)的?(?:答案|选项|选择)|最(?:合适|恰当|符合))"
)
_CHOSEN = late_pattern(r"(?<![不单多能可人])(?<!不应)选择?\s{0,9}:?(?=[\s\"'“*(\[]{0,9}[A-Z](?![A-Za-z]*[a-z]))|故选")
_NUMBER = late_pattern(
    r"(?<![\w.])第?\s{0,3}(?:\d{1,2}|[一二三四五六七八九十])\s{0,3}"
    r"(?:(?:小?题|空|问)\s{0,3}[选:,]?|[.、:)](?!\d)|(?=[A-Z√×对错](?![A-Za-z]*[a-z])))"
)
_BARE = late_pattern(r"\A((?:[\W\d_]|[A-HTFN对错])+?)\n\s*\n")
"""Answer alone above a blank line, with reasons below."""
_TAIL = 400
"""Number of characters of a marked answer that are read."""
_MARKS = 32
"""Largest number of marks that are examined: a reply that repeats itself has thousands."""


def normalised_answer(answer: str) -> str:
    """Return an answer in half-width letters and simplified characters, without the model's thinking.

    >>> normalised_answer("<think>Ａ?</think>應選Ｂ")
    '应选B'
    """
    return plain(answer_of(answer)).strip()


def read_marked(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """Return the result of `read` on the answer of one question in a plain text: on a JSON field, the last box, the
    text after the last `答案：` or similar, or the last `选`. The whole text is read only if nothing is marked, because
    reasons for an answer in other words are not the answer."""
    marked = False
    for place in _places(text):
        marked = True
        found = read(place)
        if found:
            return found
    return [] if marked else read(text)


def read_parts(
    text: str, parts: int, read: Callable[[str], list[str]], read_all: Callable[[str], list[str]]
) -> list[str]:
    """Return the answers of a plain text to several questions, in order. `read` finds one answer, and `read_all` all
    answers. The first method that finds as many answers as there are parts is used, else the first that finds any."""
    texts = [until_reasons(text[mark.end() :][:_TAIL]) for mark in [*_STATED.finditer(text)][:_MARKS]]
    places = list(_places(text))
    ways: list[Callable[[], list[str]]] = [
        *(lambda place=place: read_all(place.strip().partition("\n\n")[0]) for place in places),
        *(lambda place=place: read_all(place) for place in places),
        *(lambda place=place: _numbered(place, read) for place in places),
        lambda: [each for one in texts for each in read(one)[:1]],
        lambda: _numbered(until_reasons(text), read),
        lambda: _numbered(text, read),
        lambda: read_all(until_reasons(text)),
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
    """Yield the parts of a text in which an answer is marked, the likeliest first."""
    bare = _BARE.match(text)
    yield from (form for form in (field_of(text), boxed(text), None if bare is None else bare[1]) if form is not None)
    answer = until_reasons(text)
    for marks, whole in ((_STATED, answer), (_STATED, text), (_CHOSEN, answer), (_NAMED, text), (_CHOSEN, text)):
        for mark in [*marks.finditer(whole)][: -_MARKS - 1 : -1]:
            said = mark[0] if marks is _NAMED else until_reasons(text[mark.end() :][:_TAIL])
            if re.search(r"\w|[√×✓✗✔✘]", said):
                yield said


def _numbered(text: str, read: Callable[[str], list[str]]) -> list[str]:
    """Return one answer after each number."""
    numbers = list(_NUMBER.finditer(text))
    ends: Sequence[int] = [*(number.start() for number in numbers[1:]), len(text)]
    return [
        each for number, end in zip(numbers, ends, strict=False) for each in read_marked(text[number.end() : end], read)
    ]


# Letters and verdicts of an exam answer

_QUESTION = late_pattern(r"\b[Qq](?:uestion)?\s?(?=\d)")
_NONE = late_pattern(r"\bN/A\b", re.IGNORECASE)
_SMALL_ALONE = late_pattern(r"(?:[^\w]|_)*[a-z](?:(?:[^\w]|[\d_])+[a-z])*(?:[^\w]|_)*")
_SMALL = late_pattern(r"(?:[^\w]|_)*[a-h](?:(?:[^\w]|[\d_])*[a-h])*(?:[^\w]|_)*")
_GOES_ON = r"(?=[ \t]{0,3}[A-H]{1,8}[ \t]{0,3}(?:[^\s\w]|_|$|\n|[和与及项选都均两三四五等]|以及))"
"""Comma between two options, as opposed to one before a clause about the second."""
_AND = rf"(?:[ \t\"'、;和与及或/&*+·]|以及|and(?![A-Za-z])|选?项|,{_GOES_ON}|[\"'],){{0,9}}"
_ANY = rf"(?!{PRONOUN})[A-Z]"
_ANY_AND = r"(?:[ \t\"'、;和与及或&*+·]|以及|and(?![A-Za-z])|选?项|,(?=[ \t]{0,3}[A-Z](?![A-Za-z]))|[\"'],){0,9}"
_OPENS_WITH_ANY = late_pattern(
    rf"[\W_]*+(?:(?:选?项|option\s)[\W_]*+)?({_ANY}(?:{_ANY_AND}{_ANY}){{0,40}}+)(?![A-Za-z])"
    rf"(?=\s*(?:\Z|\n|[].,;:!?。、)}}】」\"'*_\\|$]|选?项|[是为均都]|正确)|\s+{GOES_ON})"
)
"""Letters beyond the first eight at the beginning of an answer. Elsewhere `X` is an unknown, `DNA` an acid and `I` a
pronoun."""
_ONLY_LETTERS = late_pattern(r"(?:[\W\d_]|[第题和与及选项]|以及|小题|and(?![A-Za-z])|[A-Z](?![a-z]))+")
_RUN = late_pattern(rf"(?<![A-Za-z])[A-H](?:{_AND}[A-H]){{0,40}}(?![A-Za-z])")
_OPENS = late_pattern(r"\W*+(?:选?项\W*+)?[A-H](?![A-Za-z])")
_SEVERAL = r"[A-H](?:[ \t、和与及]{0,3}[A-H]){0,7}[ \t]{0,3}(?:[两三四][选个]?[项者])?(?:选?项)?"
_OF_IT = r"(?:的?说法|的?表述)?[ \t.:、)]*(?:[是也都均皆全并]*)"
_RULED_OUT = late_pattern(
    rf"(?:不能?应?选|排除|不是|而?非|rather than|not)\s*{_SEVERAL}"
    rf"|{_SEVERAL}{_OF_IT}(?:错|不正确|不对|不符合?|不合|不当|有误|与\w{{0,6}}(?:无关|不符)|×|✗|✘|❌)"
    rf"|(?<![A-Za-z])[A-H] is (?:wrong|incorrect|false)"
)
_HELD = late_pattern(rf"({_SEVERAL}){_OF_IT}(?:正确|对(?![A-Za-z于比])|符合|√|✓|✔|✅)")
_RIGHT = "对(?![于比称角顶应照话象立方外数流面手策抗待付])"
"""`对` as a verdict, not the beginning of a word such as `对于` or `对顶角`."""
_TRUE = (
    rf"没错|不错|没有?错误?|无误|正确|(?<![针面绝相反应成配校派]){_RIGHT}|属实"
    r"|准确"
    r"|真命题|√|✓|✔|☑|✅|true|t|yes|right|correct"
)
_FALSE = (
    r"(?:不|并?非|不能(?:判断|说|算)[为是]?|未必)(?:是|太|完全|够|很)?(?:正确|对|准确|属实)|有误"
    r"|(?<![不交])错误?(?![落综过别])"
    r"|假命题|×|✗|✘|✕|❌|☒|╳|☓|false|f|(?:not|isn't|is n't|aren't) (?:true|right|correct)|wrong|incorrect"
    r"|no(?=\s*(?:[.,;:!()—–-]|\Z|(?:because|since|as|it|that|this)\b))"
)
_UNSAID = r"未提[及到]|没有?提[及到]|not given|not mentioned|doesn't say|does not say|ng|n"
_VERDICT = late_pattern(
    rf"(?<![A-Za-z'])(?:(?P<false>{_FALSE})|(?P<unsaid>{_UNSAID})|(?P<true>{_TRUE}))(?![A-Za-z'])", re.IGNORECASE
)
_NO_VERDICT = late_pattern(
    r"是否(?:正确|准确|属实)|(?:正确|准确|对|属实)(?:吗|与否|还是)|对(?:还是|或)错|[对错]不[对错]"
    r"|正确的?[^\s,.。;:!?]{0,6}?(?:应该?[是为]?|[是为])(?=.)"
)
"""Question, or statement of what would be right instead."""
_OPPOSITES = late_pattern(r"对错(?!误)|(?<!不)错对|[√✓✔✅]\s?[×✗✘❌]|[×✗✘❌]\s?[√✓✔✅]")
"""Both verdicts side by side, of which one answer has neither."""
_ALONE = {
    **dict.fromkeys(("是", "是的", "真", "A", "Y"), "T"),
    **dict.fromkeys(("否", "不是", "假", "B", "X", "x"), "F"),
}
"""Words that are a verdict only if nothing else is written, with the verdict."""
_ASKS = late_pattern(
    r"\A[^。.!?]{0,60}(?:对还是错|对或错|正确还是错误|true or false)\W*\Z|(?:无法|不能|难以)判断(?!为)|cannot (?:tell"
    r"|judge|determine)"
)
_UNSAID_ALONE = late_pattern(rf"(?<![A-Za-z])(?:{_UNSAID})(?![A-Za-z])", re.IGNORECASE)
_HARDLY = late_pattern(
    r"(?:未必|不一定|不见得|难以说[是为]?|谈不上|称不上|算不上|说不上|不完全|不太|不总是|仅?部分|半)是?"
    rf"(?:正确|{_RIGHT}|准确|属实|成立)"
    r"|\b(?:far from|hardly|scarcely|not necessarily|not entirely|not always|not fully|not completely|anything but|only"
    r"|partly|partially|half|sometimes) (?:partly |partially |sometimes )?(?:true|correct|right|accurate)\b",
    re.IGNORECASE,
)
"""Hedged verdict that makes a statement wrong, since it is not always right."""
_WRONG = " 错误 "
_JOINED = late_pattern(r"(?<![A-Za-z])[TFN]{2,}(?![A-Za-z])")
_AROUND = " \t\n*_`\"'[](){}【】（）《》.。,，;；:：!！、#"
_ENDS = late_pattern(r"[。！!？?\n;；]+")
_SO = late_pattern(r"因此|所以|综上|总之|故|可见|应[为是]|therefore|thus|hence", re.IGNORECASE)
"""Words that introduce a conclusion."""


def option_letters(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """Return the letters of options that an answer gives, in their order.

    They are read as `chosen_option` reads one letter ([answers in replies](answers.md)), but several may be chosen:
    adjacent ones (`BD`, `B、D`), a list with the texts of the options, those with a verdict (`B: right`, `D 项正确`),
    or one in each line. With several `parts`, each number is followed by its letter, or all letters stand together. An
    option that is ruled out (`不选 A`, `A 项错误`) is no answer. Letters after H count only if there is nothing else.
    For a list, the letters of all its texts are returned.

    >>> option_letters('["BD"]'), option_letters(["B", "D"]), option_letters("A 项错误，故选：Ｂ、Ｄ。因为 C 不变。")
    (['B', 'D'], ['B', 'D'], ['B', 'D'])
    >>> option_letters("1. C 2. A 3. B", 3), option_letters("b, d"), option_letters("答案：BD\\n理由：C 与题意不符。")
    (['C', 'A', 'B'], ['B', 'D'], ['B', 'D'])
    """
    if not isinstance(answer, str):
        return [letter for each in answer for letter in option_letters(each)]
    text = _NONE.sub(" ", answer)
    if parts == 1:
        return list(chosen_letters(text))
    return read_parts(_QUESTION.sub("", normalised_answer(text)), parts, _letters_of, _all_letters)


def right_or_wrong(answer: str | Collection[str], parts: int = 1) -> list[str]:
    """Return the verdicts of an answer on statements, in order: `T` for true, `F` for false, `N` for not given.

    The words are 对, 错, 正确, 错误, √, ×, T, F, true, false, yes, no and the like, in any width, case and script; 是,
    否, and A and B for right and wrong, count only if nothing else is written. One part is read as `is_yes` reads it
    ([answers in replies](answers.md)). A statement that is not always right (`未必正确`) is `F`, and one whose truth
    stays open has no verdict. With several `parts`, each number is followed by its verdict, or all verdicts stand
    together.

    >>> right_or_wrong(["T", "F"]), right_or_wrong("√ ✗ 正确", 3), right_or_wrong(["错误。改正：2 是质数。", "对"])
    (['T', 'F'], ['T', 'F', 'T'], ['F', 'T'])
    """
    if not isinstance(answer, str):
        return [verdict for each in answer for verdict in right_or_wrong(each)[:1]]
    text = normalised_answer(answer)
    if parts > 1:
        return read_parts(_QUESTION.sub("", text), parts, _verdict_of, _all_verdicts)
    if _ASKS.search(text) or says_both(text):
        return []
    told = None if _UNSAID_ALONE.search(text) else read_truth(answer)
    return read_marked(text, _verdict_of) if told is None else ["T" if told else "F"]


def _letters_of(said: str) -> list[str]:
    """Return the letters of one answer."""
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
    """Return the letters of several options, in order; empty if some of them form a word."""
    runs = re.findall("[A-Z]+", letters)
    return [letter for run in runs for letter in run] if all(map(are_options, runs)) else []


def _all_letters(said: str) -> list[str]:
    if _SMALL.fullmatch(said) or _SMALL_ALONE.fullmatch(said):
        said = said.upper()
    if _ONLY_LETTERS.fullmatch(said) and (letters := _of_options(said)):
        return letters
    return [letter for run in _RUN.findall(_RULED_OUT.sub(" ", said)) for letter in re.findall("[A-H]", run)]


def _verdict_of(said: str) -> list[str]:
    """Return the verdict of one answer."""
    said = NO_DOUBT.sub(" ", _OPPOSITES.sub(" ", said))
    bare = said.strip(_AROUND)
    first = re.split(r"[。.!?\n;,]", bare)[0].strip(_AROUND)
    for alone in (bare, first):
        if alone in _ALONE:
            return [_ALONE[alone]]
    open_ = _NO_VERDICT.sub(" ", without_questions(_HARDLY.sub(_WRONG, said))[0])
    sentences = [part for part in _ENDS.split(BOTH_TRUTHS.sub(" ", open_)) if part.strip()]
    told = [verdicts for verdicts in map(_verdicts, sentences) if verdicts]
    if not told:
        letters = [] if _VERDICT.search(said) else re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", said)
        return [_ALONE[letter] for letter in letters][:1]
    first = told[0][0]
    if first.string == sentences[0] and first.string.strip(_AROUND) == first[0]:
        return [_name(first)]  # a verdict by itself, with its reasons behind it
    concluding = [verdicts for verdicts in told if _SO.search(verdicts[0].string)]
    if concluding:
        return [_name(concluding[-1][-1])]
    return [_name(first if first.string == sentences[0] else told[-1][0])]


def _verdicts(said: str) -> list[re.Match[str]]:
    """Return the verdicts in a text, without hedged ones."""
    return [
        verdict
        for verdict in _VERDICT.finditer(said)
        if not is_hedged(said, verdict.start()) and frame_of(said, *verdict.span()) is not Frame.OPEN
    ]


def _all_verdicts(said: str) -> list[str]:
    joined = _JOINED.search(said)
    if joined is not None:
        return list(joined[0])
    found = [_name(verdict) for verdict in _verdicts(_NO_VERDICT.sub(" ", _HARDLY.sub(_WRONG, said)))]
    return found or [_ALONE[letter] for letter in re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", said)]


def _name(verdict: re.Match[str]) -> str:
    return "T" if verdict["true"] else "F" if verdict["false"] else "N"
