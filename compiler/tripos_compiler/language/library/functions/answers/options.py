"""Which option of a question a reply chooses."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from tripos_compiler.language.library.functions.answers.extraction import boxed
from tripos_compiler.language.library.functions.layout import (
    ALPHABET,
    GOES_ON,
    NUMERAL,
    PRONOUN,
    index_of,
    letters_at,
    letters_for,
)
from tripos_compiler.language.library.functions.lists import shuffled
from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.text import nfkc, simplified
from tripos_compiler.source import dataclass

_MARKS = late_pattern(r"[*_~`$#>\u200b-\u200d\ufeff]|\\(?:text|mathrm|mathbf|rm|textbf)\b|\\[()\[\]]")
_QUOTES = r"\s\"'“”‘’「」『』()\[\]{}【】〔〕《》<>"
_AND = r"(?:[、,，/&+]|和|与|或者?|及|以及|还是|and|or|and/or)?"
_SAID = late_pattern(
    r"(?:"
    r"(?:答案|answer|正确(?:的)?选项|正确(?:的)?(?:一)?项|correct (?:option|choice))[\"'”」】)\]]{0,9}\s{0,9}"
    r"(?:应该是|应该为|应当是|应是|应为|应选|选择|选|就是|是|为|即|would be|should be|is|:)?\s{0,9}[:=]?"
    r"|(?<![不非没别勿])(?<!不[应能该可会])(?<!不应该)(?:故选择|故选|应选择|应该选择|应该选|应选|因此选|所以选|选择|我选|选)\s{0,9}[:]?"
    r"|而是|\bchoose|\bi(?:'d| would)? (?:choose|pick|select|chose|picked|selected|go with|went with)"
    r")",
    re.IGNORECASE,
)
_WORD = late_pattern(r"\s{0,9}a [a-z]{2}")
"""`a` as an English article, which no `A` is: `the answer is a matter of taste`."""
_NO_LETTER = late_pattern(rf"\b[Nn]/[Aa]\b|\bA(?= (?!{GOES_ON})[a-z])|{PRONOUN}|{NUMERAL}")
"""What looks like a letter: the article, the pronoun and the Roman numeral."""
_NOT = r"不(?:应该?|能|该|可|会|可能)?(?:是|选择?|为)|并非|而非|排除|\b(?:not|neither|nor|never|isn't|cannot be)\b"
_FEWEST = 8
_NEAR = 80
_LAST = 32
"""So many places at which an answer is announced are looked at, from the last."""
_LATIN = late_pattern(r"[A-Za-z0-9]")
_SPACE = late_pattern(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|(?<=\s)\s+")
_ENDS = " \t\n.,;:!?。，；：！？、\"'“”‘’「」『』()（）[]【】{}"


def chosen_option(text: str, options: Sequence[str], letters: str = "") -> str | None:
    """Return the letter of the option that a reply chooses, `A` for the first; missing where it chooses none, or
    several.

    Looked for is, in this order: the last `\\\\boxed{…}`; what follows the last `答案是`, `故选`, `选`, `the answer is`
    and the like; a reply that is a letter, with the text of its option or without; a last line that is; a single letter
    that stands alone; a single option whose whole text the reply has. A letter may be full-width, in brackets or
    inside emphasis, and the text of an option in traditional characters or simplified ones. Several letters where one
    is asked for, and a letter that no option has, are no choice. `letters` are those that `lettered` was given, and one
    of them is what is returned.

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
        letter = chosen_option(_latin(text, named), [_latin(option, named) for option in options])
        return None if letter is None else named[index_of(letter)]
    plain, written = _simplified_letters(text), [_simplified_letters(option) for option in options]
    cased = len({_folded(each) for each in written}) < len({_folded(each, cased=True) for each in written})
    texts = _Texts(tuple(_folded(each, cased) for each in written), cased)
    if (inside := boxed(nfkc(text))) is not None:
        return texts.named(_simplified_letters(inside))
    near = 2 * max(map(len, texts.folded), default=0) + _NEAR  # spaces and marks among the text of an option
    for said in reversed(deque(_SAID.finditer(plain), _LAST)):
        rest = plain[said.end() : said.end() + near]
        if _WORD.match(rest) is None and (marked := texts.forms.letter.match(rest)) is not None:
            return texts.one(marked["letters"])
        if (found := texts.first(rest)) is not None:
            return found
    lines = [line for line in plain.splitlines() if line.strip(_ENDS)]
    for place in (plain, *lines[-1:]):
        if (found := texts.named(place)) is not None:
            return found
    alone = set(texts.forms.alone.findall(_NO_LETTER.sub(" ", texts.forms.denied.sub("", plain))))
    return texts.one(" ".join(sorted(alone))) if alone else texts.mentioned(plain)


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
    """Return where the item of a position stands in `shuffled(items, by)`, counted from 0.

    >>> shuffled(["a", "b", "c"], "seed 1"), shuffled_place(0, ["a", "b", "c"], "seed 1")
    (['c', 'a', 'b'], 1)
    """
    if not 0 <= place < len(items):
        raise Undefined("the list has no item at that position")
    return shuffled(range(len(items)), by).index(place)


def _latin(text: str, letters: Sequence[str]) -> str:
    """Return a text with Latin letters in place of others, where these stand alone. A Latin letter that stands alone
    names no option then, but where it is one of them."""
    latin = {letter: letters_at(place) for place, letter in enumerate(letters)}
    some = "|".join(re.escape(letter) for letter in sorted(latin, key=len, reverse=True))
    alone = rf"(?<![^\W\u2e80-\uffff])(?:{some})(?![^\W\u2e80-\uffff])|(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])"
    return re.sub(alone, lambda found: latin.get(found[0], found[0].lower()), text)


@dataclass(frozen=True)
class _Forms:
    """How the letters of options stand in a text."""

    letter: re.Pattern[str]
    """A letter where it is announced, or several."""
    first: re.Pattern[str]
    """A place that begins with a letter."""
    alone: re.Pattern[str]
    """Capital letters that stand alone."""
    denied: re.Pattern[str]
    """A letter that is said not to be the answer."""
    single: re.Pattern[str]


@cache
def _forms(options: int) -> _Forms:
    """Return the forms of so many options. Letters up to H are letters of options, where there are fewer too; those
    after Z are two."""
    last = chr(ord("A") + min(max(options, _FEWEST), ALPHABET) - 1)
    small = last.lower()
    pair = r"[A-Z]{2}(?![A-Za-z])|" if options > ALPHABET else ""
    one = rf"(?:{pair}(?!{PRONOUN})[A-Za-{small}])" if last == "Z" else rf"(?:(?!{PRONOUN})[A-{last}a-{small}])"
    single = rf"{pair}(?<![a-z])[a-{small}](?![a-z])|[A-{last}]"
    together = "[A-H]{1,8}" if last == "H" else rf"[A-H]{{2,8}}|{pair}[A-{last}]"
    return _Forms(
        letter=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:选项|option|choice)?[{_QUOTES}]{{0,9}}(?P<letters>{one}"
            rf"(?:[{_QUOTES}]{{0,9}}{_AND}[{_QUOTES}]{{0,9}}{one}(?![A-Za-z])){{0,9}})(?![A-Za-z])"
        ),
        first=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:选项|option)?[{_QUOTES}]{{0,9}}(?P<letters>[A-{last}a-{small}]{{1,9}})"
            r"(?P<rest>(?![A-Za-z]).*)",
            re.DOTALL,
        ),
        alone=re.compile(rf"(?<![A-Za-z0-9\\])(?:{together})(?![A-Za-z0-9])"),
        denied=re.compile(
            rf"(?:{_NOT})"
            rf"[{_QUOTES}]{{0,9}}(?:选项|option|choice)?[{_QUOTES}]{{0,9}}[A-{last}](?![A-Za-z0-9])",
            re.IGNORECASE,
        ),
        single=re.compile(single),
    )


@dataclass(frozen=True)
class _Texts:
    """The texts of options as they are compared; `cased` where some are told apart by case alone, as `AaBb` and
    `Aabb`."""

    folded: tuple[str, ...]
    cased: bool

    @property
    def forms(self) -> _Forms:
        return _forms(len(self.folded))

    def one(self, letters: str) -> str | None:
        """Return the one letter among these, where it is that of an option."""
        chosen = {letter.upper() for letter in self.forms.single.findall(letters)}
        if len(chosen) != 1:
            return None
        (letter,) = chosen
        return letter if index_of(letter) < len(self.folded) else None

    def named(self, place: str) -> str | None:
        """Return the option that a place is all about: its letter, its text, or both."""
        folded = _folded(place, self.cased)
        same = [index for index, option in enumerate(self.folded) if option and option == folded]
        if len(same) == 1:
            return letters_at(same[0])
        first = self.forms.first.fullmatch(place)
        letter = self.one(first["letters"]) if first is not None else None
        if first is None or letter is None or len(first["letters"]) > len(letter):
            return None
        rest = _folded(first["rest"], self.cased)
        return letter if not rest or rest == self.folded[index_of(letter)] else None

    def first(self, rest: str) -> str | None:
        """Return the option with whose text a rest begins; the longest, where several do."""
        start = _folded(rest, self.cased)
        found = [index for index, option in enumerate(self.folded) if option and _stands(option, start, at_start=True)]
        most = max((len(self.folded[index]) for index in found), default=0)
        longest = [index for index in found if len(self.folded[index]) == most]
        return letters_at(longest[0]) if len(longest) == 1 else None

    def mentioned(self, plain: str) -> str | None:
        """Return the only option whose text stands somewhere, beside those that are part of its text. One of a single
        character is nowhere by intent."""
        text, texts = _folded(plain, self.cased), self.folded
        found = [index for index, option in enumerate(texts) if option and _stands(option, text)]
        parts = {one for one in found for other in found if texts[one] != texts[other] and texts[one] in texts[other]}
        whole = [index for index in found if index not in parts]
        return letters_at(whole[0]) if len(whole) == 1 and len(texts[whole[0]]) > 1 else None


def _simplified_letters(text: str) -> str:
    """Return a text without emphasis, in half-width letters and simplified characters."""
    return simplified(_MARKS.sub("", nfkc(text))).strip()


def _folded(text: str, cased: bool = False) -> str:
    """Return a text as it is compared: without case, the marks at its ends, and space, but between Latin words."""
    return _SPACE.sub("", text if cased else text.casefold()).strip(_ENDS)


def _stands(option: str, text: str, at_start: bool = False) -> bool:
    """Return true if a text has that of an option as words and numbers of its own: `8` does not stand in `80` or
    `1.8`."""
    before = r"(?<![A-Za-z0-9])(?<![0-9]\.)" if _LATIN.match(option[0]) else ""
    after = r"(?![A-Za-z0-9])(?!\.[0-9])" if _LATIN.match(option[-1]) else ""
    pattern = rf"{before}{re.escape(option)}{after}"
    return bool(re.match(pattern, text) if at_start else re.search(pattern, text))
