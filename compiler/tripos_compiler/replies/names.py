"""Reading of a name from a closed set: verdicts, levels, kinds.

The order is that of `choices`. Names are words with other uses in sentences: `the correct year` is not a verdict, and
`partly correct` is a name of its own. So a name counts if a label announces it, if it opens or closes the text, if a
sentence predicates it (`the response is incorrect because …`), or if a short text mentions no other.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Generic, TypeVar

from tripos_compiler.replies.choices import NOUN_AFTER_ARTICLE
from tripos_compiler.replies.frames import CORRECTION, NO_DOUBT, WINS, Frame, frame_of, plain, sentence_around
from tripos_compiler.replies.places import boxed, brief, field_of, read_first_answer, tag_of, ticked, until_reasons
from tripos_compiler.replies.text import answer_of, late_pattern, nfkc

T = TypeVar("T")

_LABEL = late_pattern(
    r"(?P<noun>score|rating|mark|grade|answer|result|option|choice|verdict|judge?ment|conclusion|decision|label"
    r"|classification|category|class|assessment|evaluation|level|urteil|bewertung|antwort|veredicto|respuesta|réponse"
    r"|得分|评分"
    r"|分数|答案|结果|选项|选择|选|结论|判断|判定|评价|评级|等级|分类|类别)"
    r"[\"']?[^\S\n]*+(?:(?:(?:would be|should be|is|was|as|ist|est|es)\b|为|是|应该是|应为|:|=)[^\S\n]*+)+"
    r"|\bi(?:'d| would|'ll| will)? (?:choose|pick|select|say|answer|prefer|(?:rate|grade|mark|score|judge) (?:it"
    r"|this)(?: as)?|call (?:it|this)(?: an?)?|go with"
    r"|classify (?:it|this) as|label (?:it|this)(?: as)?)\s+"
    r"|(?P<line>^[^\S\n]*[^\W\d][^\n:(]{0,29}:[^\S\n]*)(?=[^\n]{1,200}$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Label: a noun with a copula, a verb, or the head of a line that ends with a name."""
_OF_OTHERS = late_pattern(
    r"(?:\b(?:student|user|candidate|response|reply|reference|correct|right|expected|gold|true|model|given|official"
    r"|actual"
    r"|ground[ -]truth|sample|their|his|her|its)(?:'s)?|学生的?|考生的?|用户的?|参考|标准|正确|给出的|真实"
    r"|原)\s{0,2}\Z",
    re.IGNORECASE,
)
"""Words before a label that attribute the answer to somebody else; it is then not a verdict."""
_FIRM = (
    r"completely|totally|entirely|fully|wholly|absolutely|clearly|definitely|certainly|obviously|undoubtedly|factually"
    r"|mathematically|logically|grammatically|perfectly|simply|plainly|actually|really|only|finally|ultimately|exactly"
)
_HEDGED = late_pattern(
    r"(?:\b(?:half|somewhat|almost|close to(?: an?)?|rather|quite|kind of|sort of|more or less|in part|to some extent"
    r"|semi|less|more|most|least|not (?:\w+ly|quite|very|that|so|all))"
    rf"|\b(?!(?:{_FIRM})\b)\w+ly|%|percent|部分|基本上?|大致|大体上?|大部分|多数|半|几乎|近乎|接近|不完全|不太|比较"
    rf"|有点|有些|略|稍|不够)"
    r"[\s-]{0,2}\Z",
    re.IGNORECASE,
)
_PART = late_pattern(
    r"\b(?:part|parts|some|half|most|much|one|two|several|a few|portions?|aspects?) (?:\w+ )?of\b|\A\W*to be\b",
    re.IGNORECASE,
)
_HEDGED_BEHIND = late_pattern(
    r"\s?(?:in part|in parts|to some extent|to a degree|for the most part|at best|-ish)\b", re.IGNORECASE
)
_MODAL = late_pattern(
    r"\b(?:should|must|ought to|would|to|could|might|can|may|did|didn't|you|please)(?: be)?\s+\Z|\w'll\s+\Z",
    re.IGNORECASE,
)
_ARTICLE = late_pattern(
    r"\b(?:the|any|every|this|that|some|no|his|her|their|its|few|more|other|of|with|about|an?)\s+\Z", re.IGNORECASE
)
_COPULA = late_pattern(
    r"(?:\b(?:is|are|was|were|be|seems?|looks?|appears?|remains?|it's|that's|as|considered|judged|rated|deemed|ist|est"
    r"|es)|[:=]|是|为|属于|算)"
    rf"\s*(?:(?:an?|the|{_FIRM}|therefore|thus|also|still|very|quite|indeed|overall|both|not)\s+){{0,3}}\Z",
    re.IGNORECASE,
)
_CLAUSE_ENDS = late_pattern(
    r"[\"')\]}]{0,3}\s{0,2}(?:\Z|[.,;:!?。，；：！\n)—–-]|\b(?:because|since|as|and|but|for|though|although|in|on"
    r"|overall"
    r"|here|rating|answer"
    r"|response|verdict|level|score|option|choice|reply|statement|claim)\b|[的了。]?(?:\Z|[,。，；;]))"
)
_WINS = (
    rf"{WINS}|edges"
    "|(?:ist|est|es) (?:(?:deutlich|klar|bien|nettement|mucho|claramente) )?"
    "(?:besser|stärker|meilleure?|supérieure?|mejor|superior)"
)
_NOUN_BEHIND = late_pattern(
    rf"[ \"']{{1,2}}(?!(?:{_WINS}|wins|won|loses|lost)\b)"
    r"(?!(?:because|since|as|and|but|for|or|nor|though|although|in|on|overall|here|than|to|with|by|at|if"
    r"|when|is|it|i|we"
    r"|this|that|the|a|an|so|given|due|despite|based|from|of|both|too|also|again|indeed)\b)[a-z]+"
    r"|的(?=[\u4e00-\u9fff])"
    r"|[率性度是]|答案|选项|说法|做法|结果",
    re.IGNORECASE,
)
_LAST_SEGMENT = late_pattern(
    r"(?<=[.!?。])\s|[:,;\n→⇒]|\b(?:so|therefore|thus|hence|overall|finally|actually|i mean)\b|因此|所以|综上"
    r"|总之|故|—"
    r"|–|\s-\s",
    re.IGNORECASE,
)
_LAST = 32
_LONG = 400
"""Length up to which sentences are searched for a predicated name."""


def fold(name: str) -> str:
    """Return a name without case, width, spaces and punctuation.

    >>> fold("Factual_Accuracy") == fold("factual accuracy:"), fold("（深度）")
    (True, '深度')
    """
    return re.sub(r"[\W_]+", "", nfkc(name).casefold())


def read_name(text: str, spellings: Mapping[str, T], mentions: Iterable[str] = ()) -> T | None:
    """Return the value of the one name in a text, or None. `spellings` maps names to values.

    A name counts if it is the whole text, if a label announces it, or if it opens the text. A name in `mentions` also
    counts if it closes the text, if a sentence predicates it, or if a short text affirms no other.

    >>> read_name("The answer is (B).", {"A": 1, "B": 2}), read_name("A or B", {"A": 1, "B": 2}, "AB")
    (2, None)
    >>> read_name("It isn't high.", {"high": 1, "low": 0}, ("high", "low")) is None
    True
    """
    folded = {fold(name): value for name, value in spellings.items() if name}
    if not folded:
        return None
    answer = answer_of(text)
    if any(_IN_PART in name.casefold() for name in spellings):
        answer = _PARTLY.sub(_IN_PART, answer)
    return read_first_answer(answer, lambda part: _read_name(part, folded, spellings, mentions))


def _read_name(answer: str, folded: Mapping[str, T], spellings: Mapping[str, T], mentions: Iterable[str]) -> T | None:
    if fold(answer) in folded and not _signed(answer):
        return folded[fold(answer)]
    for form in (field_of(answer), boxed(answer), tag_of(answer)):
        if form is not None:
            return read_name(form, spellings, mentions) if form != answer else None
    said = _OF_A_LETTER.sub(r"\1", NO_DOUBT.sub(" ", plain(answer))).strip()
    if fold(said) in folded and not _signed(said):
        return folded[fold(said)]
    said = _without_other_uses(said, folded)
    names = _Names(folded, tuple(spellings), tuple(mention for mention in mentions if mention))
    for part in dict.fromkeys(filter(None, (until_reasons(said).strip(), said))):
        for find in (names.announced, names.ticked, names.opening, names.closing, names.predicated, names.mentioned):
            found = find(part)
            if found is not None:
                return found[0] if len(found) == 1 else None
    return names.opposite(said)


def _without_other_uses(text: str, names: Iterable[str]) -> str:
    """Return a text without the words that are spelled like a folded name and say something else: `one` in `the second
    one`, `two` in `there are two reasons`, `first` in `First, … Second, …`.

    >>> _without_other_uses("The second one is better.", ["one", "two"])
    'The second     is better.'
    >>> _without_other_uses("Text one wins.", ["one", "two"])
    'Text one wins.'
    """
    for name in sorted(set(names) & set(_OTHER_USES)):
        for pattern in _OTHER_USES[name]:
            text = pattern.sub(lambda found: found[0].replace(found["name"], " " * len(found["name"])), text)
    if "first" in names and "second" in names:
        if len(_ENUMERATED.findall(text)) > 1:
            text = _ENUMERATED.sub(" ", text)
        text = _ORDINAL_AND_NOUN.sub(r"\1", text)
    return text


def _signed(text: str) -> bool:
    """Return true if folding would change a number: `2.5` is not `25`."""
    return re.search(r"\d[.,]\d|(?<!\w)-\d", text) is not None


class _Names(Generic[T]):
    """Finder of names in a plain text. Each method returns the values that it finds, possibly several, or None."""

    def __init__(self, folded: Mapping[str, T], spellings: tuple[str, ...], mentions: tuple[str, ...]) -> None:
        self.folded = folded
        self.name = _pattern(spellings)
        self.mention = _pattern(mentions)

    def _value(self, name: str) -> T:
        return self.folded[fold(name)]

    def announced(self, text: str) -> list[T] | None:
        """Return the name of the last label that affirms one."""
        for label in reversed(deque(_LABEL.finditer(text), _LAST)):
            named = _QUOTES.match(text, label.end())
            name = self._name_at(text, named.end() if named else label.end())
            if name is None:
                continue
            if (turned := self._turned(text, name)) is not None:
                return turned
            if self._is_listed(text, name.end()):
                continue
            match = _OF_OTHERS.search(text[max(0, label.start() - 24) : label.start()]) if label["noun"] else None
            if match and _is_quality(name[0]) is (_OF_THE_KEY.search(match[0]) is not None):
                continue
            if label["line"] is not None and not _LINE_ENDS.match(text, name.end()):
                continue
            if self._is_affirmed(text, *name.span(), labelled=True):
                return self._corrected(text, name.end(), [self._value(name[0])])
        return None

    def ticked(self, text: str) -> list[T] | None:
        """Return the names that a form ticks, a list with boxes or a table."""
        names = ticked(text, lambda cell: fold(cell) if fold(cell) in self.folded else None)
        return [self.folded[name] for name in dict.fromkeys(names)] or None

    def opening(self, text: str) -> list[T] | None:
        """Return the name at the beginning of a text, before punctuation or the end of its line."""
        quotes = _QUOTES.match(text)
        name = self._name_at(text, quotes.end() if quotes else 0)
        if name is None:
            return None
        if (turned := self._turned(text, name)) is not None:
            return turned
        behind = re.match(
            r"([\"'\])}]{0,3})(?:\s?[.):,;!。]|\s+[-–—(]|\.{3}|\s*\n|\s+(?:because|since|as)\b|\Z)(?!\s?\d)",
            text[name.end() :],
        )
        if behind is not None and ":" in behind[0] and len(self._heads(text)) > 1:
            return None
        if behind is None or self._is_listed(text, name.end()) or not self._is_affirmed(text, *name.span()):
            return None
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and all(fold(line) in self.folded for line in lines):
            return list({self._value(line) for line in lines})
        return self._corrected(text, name.end(), [self._value(name[0])])

    def _name_at(self, text: str, start: int) -> re.Match[str] | None:
        """Return the name at a position; the second one of `A tie`, in which A is the article."""
        name = self.name.match(text, start)
        if name is not None and name[0] in ("A", "a") and text[name.end() : name.end() + 1] == " ":
            second = self.name.match(text, name.end() + 1)
            if second is not None and second[0][:1].islower():
                return second
        return name

    def _turned(self, text: str, name: re.Match[str]) -> list[T] | None:
        """Return both names of `low → high`, of which neither is the only one."""
        arrow = _ARROW.match(text, name.end())
        other = None if arrow is None else self.name.match(text, arrow.end())
        if other is None or not other[0] or not _LINE_ENDS.match(text, other.end()):
            return None
        return list({self._value(name[0]), self._value(other[0])})

    def _heads(self, text: str) -> set[T]:
        """Return the names followed by a colon: several are described, and none is chosen."""
        return {self._value(name[0]) for name in self.name.finditer(text) if name[0] and text[name.end() :][:1] == ":"}

    def closing(self, text: str) -> list[T] | None:
        """Return the name that is the last segment of a text, after a colon or a conclusion."""
        if not self.mention.pattern:
            return None
        breaks = [mark.end() for mark in _LAST_SEGMENT.finditer(text)]
        for start in breaks[-3:]:
            name = self.mention.search(text, start)
            if name is not None and fold(text[start:]) == fold(name[0]) and not self._is_listed_before(text, start):
                return [self._value(name[0])] if self._is_affirmed(text, *name.span(), labelled=True) else None
        return None

    def _is_listed_before(self, text: str, start: int) -> bool:
        """Return true if the text ends with a list: `correct, incorrect`."""
        before = text[:start].rstrip(" ")
        return before.endswith((",", "、")) and any(
            name.end() >= len(before) - 1 for name in self.mention.finditer(before)
        )

    def predicated(self, text: str) -> list[T] | None:
        """Return the names that the sentences of a short enough text predicate of something."""
        if len(text) > _LONG:
            text = text[: text.find("\n")] if 0 < text.find("\n") <= _LONG else brief(text)
        matches = {
            name.start(): name
            for name in self._mentions(text)
            if _COPULA.search(text[: name.start()])
            and _CLAUSE_ENDS.match(text, name.end())
            and self._is_affirmed(text, *name.span())
        }
        if any(self._is_in_list(text, name) for name in matches.values()):
            return list(self.folded.values())
        overall = [name for name in self._mentions(text) if _OVERALL_BEHIND.match(text, name.end())]
        if overall:  # `good in style, but not good overall` is neither
            affirmed = [name for name in overall if self._is_affirmed(text, *name.span())]
            return self._values(affirmed) or list(self.folded.values())
        concluded = [name for start, name in matches.items() if _CONCLUDES.search(_sentence(text, start))]
        primary = [name for start, name in matches.items() if _PRIMARY.search(_sentence(text, start))]
        return self._values(concluded or primary or matches.values())

    def mentioned(self, text: str) -> list[T] | None:
        """Return the names that a short text affirms."""
        short = brief(text)
        matches = [name for name in self._mentions(short) if self._is_affirmed(short, *name.span())]
        if any(self._is_in_list(short, name) for name in matches):
            return list(self.folded.values())
        return self._values(matches)

    def _values(self, names: Iterable[re.Match[str]]) -> list[T] | None:
        return list({self._value(name[0]): None for name in names}) or None

    def opposite(self, text: str) -> T | None:
        """Return the other one of a name and its negative, if a short text denies one: `it isn't safe`."""
        if len(self.folded) != 2:
            return None
        base, negative = sorted(self.folded, key=len)
        if re.fullmatch(rf"(?:un|in|im|ir|il|non|not|dis|不|非){re.escape(base)}", negative) is None:
            return None
        short = brief(text)
        mentions = [*self._mentions(short)]
        plainly = not _UNSURE.search(short) and all(frame_of(short, *name.span()) is Frame.DENIED for name in mentions)
        denied = {fold(name[0]) for name in mentions}
        return self.folded[negative if denied == {base} else base] if plainly and len(denied) == 1 else None

    def _mentions(self, text: str) -> Iterator[re.Match[str]]:
        return (name for name in self.mention.finditer(text) if name[0] and not _ARTICLE_A.match(text, name.start()))

    def _corrected(self, text: str, end: int, found: list[T]) -> list[T]:
        correction = CORRECTION.search(text, end)
        later = None if correction is None else self.mentioned(text[correction.end() :])
        return later or found

    def _is_listed(self, text: str, end: int) -> bool:
        """Return true if another name follows as an alternative."""
        listed = _LIST_SIGN.match(text, end)
        if listed is None or (listed[0].strip() == "to" and text[end - 1 : end].isupper()):
            return False
        other = self.name.match(text, listed.end())
        if other is None or not other[0]:
            return False
        return not (listed[0].strip(" \"'])(") in ("、", ",", "") and is_found_worse(text, *other.span()))

    def _is_in_list(self, text: str, name: re.Match[str]) -> bool:
        """Return true if a name is in a list of alternatives."""
        before = text[: name.start()]
        return self._is_listed(text, name.end()) or any(
            listed.end() == len(before) and listed[0].strip() != "to"
            for other in self.mention.finditer(before)
            if other[0] and (listed := _LIST_SIGN.match(before, other.end())) is not None
        )

    def _is_affirmed(self, text: str, start: int, end: int, *, labelled: bool = False) -> bool:
        before = text[max(0, start - 80) : start]
        clause = _SENTENCE_ENDS.split(before)[-1]
        if _HEDGED.search(clause) or _HEDGED_BEHIND.match(text, end) or _PART.search(re.split(r"[,:]", clause)[-1]):
            return False
        if end - start == 1 and (
            _COMPARED_BEHIND.match(text, end) or (not labelled and _DESCRIBED_BEHIND.match(text, end))
        ):
            return False
        if (
            end - start > 1
            and not labelled
            and (self._is_attribute(text, end, before) or _is_supposed(text, end, before))
        ):
            return False
        return frame_of(text, start, end, labelled=labelled) in (Frame.AFFIRMED, Frame.HELD)

    def _is_attribute(self, text: str, end: int, before: str) -> bool:
        """Return true if a name only describes the following noun: `the correct year`."""
        if _NOUN_BEHIND.match(text, end) is None or self._is_listed(text, end) or _IS_A.search(before):
            return False
        return _ARTICLE.search(before) is not None or _COPULA.search(before) is None


def is_found_worse(text: str, start: int, end: int) -> bool:
    """Return true if the name at a range of a plain text is the subject of a clause that denies it.

    >>> is_found_worse("B, A lacks depth", 3, 4), is_found_worse("B, A is better", 3, 4)
    (True, False)
    """
    clause = text[start : sentence_around(text, start, end)[1]]
    if _LACKS.match(clause, end - start) is not None:
        return True
    return _CLAUSE_ENDS.match(clause, end - start) is None and frame_of(clause, 0, end - start) is Frame.DENIED


def _is_supposed(text: str, end: int, before: str) -> bool:
    """Return true if a name is only supposed or quoted: `should comply`, `"correct" is a word`."""
    if _JUDGED.search(before):
        return False
    of_the_writer = re.search(r"\bI\s+\Z", before) is not None and text[end : end + 4] == " to "
    return of_the_writer or _MODAL.search(before) is not None or _CALLED.match(text, end) is not None


_QUALITY_OF_ONE = (
    r"(?:better|best|worse|worst|good|bad|great|fine|nice|right|wrong|correct|incorrect|only|single|preferred|winning"
    r"|chosen|superior|inferior|short(?:er|est)?|long(?:er|est)?|clear(?:er|est)?|simpl(?:e|er|est)|strong(?:er|est)?"
    r"|weak(?:er|est)?|easi(?:er|est)|concise|detailed|accurate|complete|helpful|former|latter|last|next|previous|new"
    r"|old(?:er)?|small(?:er)?|big(?:ger)?|larger?|first|second|third|fourth|(?:more|most|less|least) \w+)"
)
_PRONOUN_ONE = (
    late_pattern(r"\b(?:of|between) (?:the|these|those) two,? (?P<name>one)\b", re.IGNORECASE),
    late_pattern(
        rf"\b(?:the|this|that|each|every|any|some|no|which(?:ever)?|another|other|same|{_QUALITY_OF_ONE})\s(?P<name>one)\b",
        re.IGNORECASE,
    ),
    late_pattern(
        r"\b(?P<name>one) (?:of (?:the|them|these|those|its|their|his|her|my|our|your)\b|(?:can|could|might|may|should"
        r"|must|cannot|would) (?:also |easily )?(?:say|argue|see|think|claim|expect|note|prefer|hope|wonder|find|object"
        r"|imagine|add|notice|tell)\b|who\b|that\b|which\b)",
        re.IGNORECASE,
    ),
)
"""`one` as a pronoun: `the shorter one`, `one of them`, `one might say`."""


def _counted(number: str) -> tuple[re.Pattern[str], ...]:
    """Return the pattern of a number that counts things: `there are two reasons`, `between the two`."""
    return (
        late_pattern(
            rf"\b(?:there (?:is|are|was|were)(?: \w+)?|these|those|the|both|all|other|first|last|next|my|its|their|his"
            rf"|her|our|your)\s(?P<name>{number})\b",
            re.IGNORECASE,
        ),
    )


_OTHER_USES: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "one": (*_PRONOUN_ONE, *_counted("one")),
    **{number: _counted(number) for number in ("two", "three", "four", "five", "six")},
    "first": (
        late_pattern(r"\bat (?P<name>first)\b", re.IGNORECASE),
        late_pattern(r"\b(?P<name>first) (?:of all|and foremost|off)\b", re.IGNORECASE),
    ),
    "second": (late_pattern(r"\b(?:a|on|split) (?P<name>second)\b(?! (?:reply|response|answer|text))", re.IGNORECASE),),
}
"""Uses of a name, by its folded spelling, in which it is not the name."""
_ENUMERATED = late_pattern(
    r"(?:\A|(?<=[.!?\n;])\s{0,3})(?:first|second|third|next|then|finally|last)(?:ly)?,", re.IGNORECASE
)
"""Words that number the sentences of a text."""
_ORDINAL_AND_NOUN = late_pattern(
    r"\b(first|second) (?:one|text|reply|response|answer|option|explanation|version|candidate|assistant|model|summary"
    r"|translation|essay|hint|story|solution)\b",
    re.IGNORECASE,
)
"""`the first reply`, which is the first."""
_UNSURE = late_pattern(
    r"\b(?:sure|certain|clear|know|say|tell|whether|if|entirely|completely|fully|always|necessarily|only|never)\b|未必"
    r"|难以|一定",
    re.IGNORECASE,
)
_IN_PART = "partially"
_PARTLY = late_pattern(r"\bpartly\b", re.IGNORECASE)
_OF_THE_KEY = late_pattern("correct|right|final|正确", re.IGNORECASE)
_LINE_ENDS = late_pattern(r"[\"')\].。!]{0,3}\s*(?:$|[,;(]|\n)|[.。]\s")
_SENTENCE_ENDS = late_pattern(r"[.!?。！？\n;]")
_CALLED = late_pattern(r"[\"'] (?:is|was|means)\b")
_OF_A_LETTER = late_pattern(
    rf"(?<!\w)([A-Z])'s (?:response|answer|reply|output)(?= (?:(?:clearly|slightly|overall|definitely) )?(?:is"
    rf"|was|wins|{_WINS})\b)"
)
"""`A's response is better`, in which A is judged."""
_DESCRIBED_BEHIND = late_pattern(
    rf" (?!(?:{_WINS}|is|was|wins|because|since|as|it|over|for|and|but|or|to|by|here|edges|by far)\b)[a-z]+"
)
_COMPARED_BEHIND = late_pattern(
    r" (?:is|was) (?!(?:much |clearly |slightly |far |the |a )*(?:better|best|stronger|winner|superior|preferable"
    r"|right|correct))\w"
)
_JUDGED = late_pattern(
    r"\b(?:judge|consider|find|deem|rate|believe|appears?|seems?|proves?|turns out|held)\b[^.;]*\bto be\s\Z",
    re.IGNORECASE,
)
_CONCLUDES = late_pattern(
    r"\b(?:so|therefore|thus|hence|overall)\b[^,;]*\Z|(?:因此|所以|综上|总之|故)[^,;]*\Z", re.IGNORECASE
)
_OVERALL_BEHIND = late_pattern(
    r"(?: (?:is|was|wins)(?: (?:clearly|slightly|still|much|the|a))*)?(?: (?:better|best|stronger|strongest|winner))?"
    r",? (?:overall|on the whole|on balance|all in all)\b",
    re.IGNORECASE,
)
"""Words behind a name that judge the whole: `good overall`, `B is better overall`."""
_PRIMARY = late_pattern(
    r"(?:\b(?:response|answer|reply|statement|claim|solution|it|this|that|overall|sentiment|review|output)|回答|答复"
    r"|说法|回复"
    r"|该答案)"
    r"\s{0,2}(?:is|was|seems|looks|remains|是|为)?\b[^,;:]{0,12}\Z",
    re.IGNORECASE,
)


def _sentence(text: str, start: int) -> str:
    """Return the sentence before a position."""
    return re.split(r"[.!?。！？\n]", text[max(0, start - 160) : start])[-1]


_IS_A = late_pattern(r"\b(?:is|was|as|gives?) an?\s+\Z", re.IGNORECASE)
_ARTICLE_A = late_pattern(rf"A {NOUN_AFTER_ARTICLE}")
_QUOTES = late_pattern(r"[(\"'\[{\s✅❌✓✗]{1,6}")
_ARROW = late_pattern(r"[\"'\])\s]{0,3}(?:→|⇒|->|=>)[\s(\"'\[]{0,3}")
_LACKS = late_pattern(
    r"(?:'s (?:\w+ )?(?:is|was|lacks|misses|ignores|fails))?\s(?:being |(?:is|was|would be"
    r"|comes across as) (?:(?:far|much|a bit|quite"
    r"|rather|simply) )?)?(?:too \w+|worse|weaker|wrong|vague|shallow|incomplete|verbose|unclear|incorrect"
    r"|inaccurate|poor|off-topic"
    r"|rambl\w+|lacks?|lacking|misses|missing|ignores|omits|fails|falls|contains (?:an? )?(?:errors?|mistakes?)|needs"
    r"|would (?:need|require|have))\b|(?:缺乏|缺少|过于|太|没有|忽略|遗漏|较差|更差|不)",
    re.IGNORECASE,
)
"""Text behind a name that is compared with the verdict before it and found worse."""
_LIST_SIGN = late_pattern(
    r"[\"'\])\s]{0,3}(?:,|/|、|=|≈|\b(?:or|and|to|nor|oder|und|noch|ou|et|o|y|или|и)\b|和|或者?|与)\s{0,2}(?:or "
    r"|and )?[(\"'\[]{0,2}",
    re.IGNORECASE,
)
_QUALITIES = late_pattern(
    r"(?:partial(?:ly)? |in|un|ir|im)?(?:correct|right|wrong|true|false|supported|complete|valid|accurate|relevant"
    r"|good|bad|poor"
    r"|excellent|fair|adequate|pass(?:ed)?|fail(?:ed)?|helpful|harmful|safe|unsafe|perfect|acceptable)"
    r"|部分正确|正确|错误|对|错|richtig|falsch|correct[oa]|incorrect[oa]",
    re.IGNORECASE,
)


def _is_quality(name: str) -> bool:
    """Return true if a name describes an answer instead of being one."""
    return _QUALITIES.fullmatch(name) is not None


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for names as separate words; of several at one position the longest. Chinese has no spaces, so a
    Chinese neighbour is also a word boundary."""
    some = sorted({name for name in names if plain(name)}, key=lambda name: (-len(name), name))
    word = r"[^\W\u3400-\u9fff]"
    forms = (
        f"(?:(?-i:{name})|{name}(?=\\W*(?:\\n|\\Z)))" if len(name) == 1 and name.isalpha() else _spaced(name)
        for name in some
    )
    pattern = f"(?<!{word})(?<!\\d\\.)(?<!\\w-)(?:{'|'.join(forms)})(?!{word}|'\\w|\\.\\d|-\\w)" if some else ""
    return re.compile(pattern, re.IGNORECASE)


def _spaced(name: str) -> str:
    """Return a pattern for a name whose words may be joined in several ways: `not_attempted`, `not attempted`."""
    return r"[\s_-]{0,2}".join(re.escape(plain(word)) for word in re.split(r"[\s_-]+", name) if plain(word))
