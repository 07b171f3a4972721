"""Which option of a question a reply chooses."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tripos_compiler.semantics.library.answers import boxed
from tripos_compiler.semantics.library.scripts import simplified

_MARKS = re.compile(r"[*_~`$#>\u200b-\u200d\ufeff]|\\(?:text|mathrm|mathbf|rm|textbf)\b|\\[()\[\]]")
_QUOTES = r"\s\"'“”‘’「」『』()\[\]{}【】〔〕《》<>"
_AND = r"(?:[、,，/&+]|和|与|或者?|及|以及|还是|and|or|and/or)?"
_LETTER = re.compile(
    rf"[{_QUOTES}]{{0,9}}(?:选项|option|choice)?[{_QUOTES}]{{0,9}}"
    rf"(?P<letters>[A-Ha-h](?:[{_QUOTES}]{{0,9}}{_AND}[{_QUOTES}]{{0,9}}[A-Ha-h](?![A-Za-z])){{0,9}})(?![A-Za-z])"
)
_SAID = re.compile(
    r"(?:"
    r"(?:答案|answer|正确(?:的)?选项|正确(?:的)?(?:一)?项|correct (?:option|choice))[\"'”」】)\]]{0,9}\s{0,9}"
    r"(?:应该是|应该为|应当是|应是|应为|应选|选择|选|就是|是|为|即|would be|should be|is|:)?\s{0,9}[:=]?"
    r"|(?<![不非没别勿])(?<!不[应能该可会])(?<!不应该)(?:故选择|故选|应选择|应该选择|应该选|应选|因此选|所以选|选择|我选|选)\s{0,9}[:]?"
    r"|而是|\bi (?:choose|pick|select)|\bchoose"
    r")",
    re.IGNORECASE,
)
_FIRST = re.compile(
    rf"[{_QUOTES}]{{0,9}}(?:选项|option)?[{_QUOTES}]{{0,9}}(?P<letters>[A-Ha-h]{{1,9}})(?P<rest>(?![A-Za-z]).*)",
    re.DOTALL,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9\\])[A-H]{1,8}(?![A-Za-z0-9])")
_DENIED = re.compile(
    rf"(?:不(?:应该?|能|该|可|会|可能)?(?:是|选择?|为)|并非|而非|排除|\b(?:not|neither|nor|never|isn't|cannot be)\b)"
    rf"[{_QUOTES}]{{0,9}}(?:选项|option|choice)?[{_QUOTES}]{{0,9}}[A-H](?![A-Za-z0-9])",
    re.IGNORECASE,
)
"""A letter that is said not to be the answer."""
_WORD = re.compile(r"\s{0,9}a [a-z]{2}")
"""`a` as an English article, which no `A` is: `the answer is a matter of taste`."""
_ARTICLE = re.compile(r"\bA(?= [a-z])")
_NEAR = 80
_LAST = 32
"""So many places at which an answer is announced are looked at, from the last."""
_LATIN = re.compile(r"[A-Za-z0-9]")
_SPACE = re.compile(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|(?<=\s)\s+")
_ENDS = " \t\n.,;:!?。，；：！？、\"'“”‘’「」『』()（）[]【】{}"


def chosen_option(text: str, options: Sequence[str]) -> str | None:
    """The letter of the option that a reply chooses, `A` for the first; missing where it chooses none, or several.

    Looked for is, in this order: the last `\\\\boxed{…}`; what follows the last `答案是`, `故选`, `选`, `the answer is`
    and the like; a reply that is a letter, with the text of its option or without; a last line that is; a single letter
    that stands alone; a single option whose whole text the reply has. A letter may be full-width, in brackets or
    inside emphasis, and the text of an option in traditional characters or simplified ones. Several letters where one
    is asked for, and a letter that no option has, are no choice.

    >>> options = ["3", "5", "8", "13"]
    >>> chosen_option("由题意，**正确答案是（Ｃ）**。", options), chosen_option("8", options)
    ('C', 'C')
    >>> chosen_option("答案是A或B", options), chosen_option("不知道", options)
    (None, None)
    """
    plain, written = _plain(text), [_plain(option) for option in options]
    cased = len({_folded(each) for each in written}) < len({_folded(each, cased=True) for each in written})
    texts = _Texts(tuple(_folded(each, cased) for each in written), cased)
    if (inside := boxed(unicodedata.normalize("NFKC", text))) is not None:
        return texts.named(_plain(inside))
    near = 2 * max(map(len, texts.folded), default=0) + _NEAR  # spaces and marks among the text of an option
    for said in reversed(deque(_SAID.finditer(plain), _LAST)):
        rest = plain[said.end() : said.end() + near]
        if _WORD.match(rest) is None and (letters := _LETTER.match(rest)) is not None:
            return texts.one(letters["letters"])
        if (found := texts.first(rest)) is not None:
            return found
    lines = [line for line in plain.splitlines() if line.strip(_ENDS)]
    for place in (plain, *lines[-1:]):
        if (found := texts.named(place)) is not None:
            return found
    alone = set("".join(_ALONE.findall(_ARTICLE.sub("", _DENIED.sub("", plain)))))
    return texts.one("".join(alone)) if alone else texts.mentioned(plain)


@dataclass(frozen=True)
class _Texts:
    """The texts of options as they are compared; `cased` where some are told apart by case alone, as `AaBb` and
    `Aabb`."""

    folded: tuple[str, ...]
    cased: bool

    def one(self, letters: str) -> str | None:
        """The one letter among these, where it is that of an option."""
        found = re.findall(r"(?<![a-z])[a-h](?![a-z])|[A-H]", letters)
        chosen = {letter.upper() for letter in found}
        if len(chosen) != 1:
            return None
        (letter,) = chosen
        return letter if ord(letter) - ord("A") < len(self.folded) else None

    def named(self, place: str) -> str | None:
        """The option that a place is all about: its letter, its text, or both."""
        folded = _folded(place, self.cased)
        same = [index for index, option in enumerate(self.folded) if option and option == folded]
        if len(same) == 1:
            return _letter(same[0])
        first = _FIRST.fullmatch(place)
        letter = self.one(first["letters"]) if first is not None else None
        if first is None or letter is None or len(first["letters"]) > 1:
            return None
        rest = _folded(first["rest"], self.cased)
        return letter if not rest or rest == self.folded[ord(letter) - ord("A")] else None

    def first(self, rest: str) -> str | None:
        """The option with whose text a rest begins; the longest, where several do."""
        start = _folded(rest, self.cased)
        found = [index for index, option in enumerate(self.folded) if option and _stands(option, start, at_start=True)]
        most = max((len(self.folded[index]) for index in found), default=0)
        longest = [index for index in found if len(self.folded[index]) == most]
        return _letter(longest[0]) if len(longest) == 1 else None

    def mentioned(self, plain: str) -> str | None:
        """The only option whose text stands somewhere, beside those that are part of its text. One of a single
        character is nowhere by intent."""
        text, texts = _folded(plain, self.cased), self.folded
        found = [index for index, option in enumerate(texts) if option and _stands(option, text)]
        parts = {one for one in found for other in found if texts[one] != texts[other] and texts[one] in texts[other]}
        whole = [index for index in found if index not in parts]
        return _letter(whole[0]) if len(whole) == 1 and len(texts[whole[0]]) > 1 else None


def _plain(text: str) -> str:
    """A text without emphasis, in half-width letters and simplified characters."""
    return simplified(_MARKS.sub("", unicodedata.normalize("NFKC", text))).strip()


def _folded(text: str, cased: bool = False) -> str:
    """A text as it is compared: without case, the marks at its ends, and space, but between Latin words."""
    return _SPACE.sub("", text if cased else text.casefold()).strip(_ENDS)


def _stands(option: str, text: str, at_start: bool = False) -> bool:
    """Whether a text has that of an option as words and numbers of its own: `8` does not stand in `80` or `1.8`."""
    before = r"(?<![A-Za-z0-9])(?<![0-9]\.)" if _LATIN.match(option[0]) else ""
    after = r"(?![A-Za-z0-9])(?!\.[0-9])" if _LATIN.match(option[-1]) else ""
    pattern = rf"{before}{re.escape(option)}{after}"
    return bool(re.match(pattern, text) if at_start else re.search(pattern, text))


def _letter(index: int) -> str:
    return chr(ord("A") + index)
