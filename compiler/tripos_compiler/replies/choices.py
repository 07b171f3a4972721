"""Multiple choice: the option that a reply chooses, by its letter or its text.

All readers use one order: the requested form (a field of JSON), an explicit final form (a box, an `<answer>` tag), the
last label (`the answer is`, `故选`), an isolated answer at the beginning or the end, and then a mention, if only one
option is affirmed. A mention that is denied, asked, quoted, compared or supposed is not an answer (`frames`), and
neither is one in the explanation after an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise

from tripos_compiler.replies.frames import (
    CORRECTION,
    Frame,
    frame_of,
    is_affirmed,
    is_attributed_to_others,
    is_attributed_to_person,
    plain,
)
from tripos_compiler.replies.places import boxed, field_of, lines_of, tag_of, until_reasons
from tripos_compiler.replies.text import answer_of, late_pattern, nfkc
from tripos_compiler.source.data_classes import dataclass

# Letters of options

ALPHABET = 26
GOES_ON = (
    r"(?:is|isn't|was the|because|since|and|or|nor|not|but|which|it|seems?|looks|fits|matches|appears|best|works|wins"
    r"|correctly|says|states|gives)\b"
)
"""Words that may follow the letter of an option, but neither the pronoun `I` nor the article `A`."""
PRONOUN = rf"\b[Ii](?=['’][a-z]|,? (?!{GOES_ON})[a-z])"
"""`I` as a pronoun, as in `I think`."""
NUMERAL = r"\b(?!(?:Option|Choice|Answer|Letter|Is|Therefore|So|Thus|Hence|And|Or)\b)[A-Z][a-z]+ I(?![A-Za-z0-9])"
"""`I` as a Roman numeral, as in `World War I`."""
_WORDS = frozenset({"AI", "AL", "DJ", "GI", "HI"})


def letters_at(number: int) -> str:
    """Return the letters of the option at an index, from 0: AA follows Z.

    >>> letters_at(0), letters_at(9), letters_at(26)
    ('A', 'J', 'AA')
    """
    before = letters_at(number // ALPHABET - 1) if number >= ALPHABET else ""
    return before + chr(ord("A") + number % ALPHABET)


def index_of(letters: str) -> int:
    """Return the index of the option with these letters.

    >>> index_of("A"), index_of("J"), index_of("AA")
    (0, 9, 26)
    """
    place = 0
    for letter in letters:
        place = place * ALPHABET + ord(letter) - ord("A") + 1
    return place - 1


def are_options(run: str) -> bool:
    """Return true if adjacent capital letters are options instead of a word or a name: any letters up to H, and letters
    up to L in order.

    >>> are_options("BD"), are_options("IJ"), are_options("CO"), are_options("DNA"), are_options("AI")
    (True, True, False, False, False)
    """
    if max(run, default="A") <= "H" or len(run) == 1:
        return True
    return list(run) == sorted(set(run)) and max(run) <= "L" and run not in _WORDS


# The choice of a reply

_QUOTES = r"\s\"'“”‘’「」『』()\[\]{}【】〔〕《》<>"
_BESIDE = _QUOTES.replace(r"\s", r" \t")
_AND = r"(?:[、,，/&+]|和|与|或者?|及|以及|还是|·|and|or|and/or|und|oder|et|ou|y|o|и|или|と)"
_IS = (
    r"(?:应该是|应该为|应当是|应是|应为|应选|选择|选|就是|是|为|即|would be|should be|must be|has to be|will be|is|was"
    r"|are|were"
    r"|remains|seems to be|appears to be|ist|sind|lautet|est|sont|es|son|é|は)"
)
_NOUN = (
    r"(?:答案|answers?|正确(?:的)?选项|正确(?:的)?(?:一)?项|antwort|lösung|réponse|respuesta|ответ|正解|答え|الجواب"
    r"|(?:correct|right|best|final|most (?:appropriate|accurate|likely)) (?:option|choice|one|statement)s?"
    r"|(?:my|the) (?:(?!second|2nd|third|other|alternative|next|last|worst)\w+ )?(?:choice|pick|selection|guess|vote)"
    r"|(?:^|(?<=\n))\W{0,3}(?:correct|right)(?=\s{0,3}:)|(?<!不)正确的(?:一?项)?(?:有|(?=[是为]))|(?:所以|因此"
    r"|故)[^。;,\n]{0,16}(?=[是为])|(?<![A-Za-z])(?:choice|selection)(?=\s{0,3}:))"
)
_SAID = late_pattern(
    rf"{_NOUN}[\"'”」】)\]]{{0,9}}(?:,\s\w{{1,12}}(?: \w{{1,12}})?,|\s(?:here|overall|then|therefore))?\s{{0,9}}"
    rf"(?:{_IS}\s{{0,9}}(?:clearly|therefore|thus|definitely|probably|actually)?\s{{0,9}}[:=]?|[:=]|(?<=案)\s{{0,9}}"
    r"|(?=[\"'(\[]{0,3}[A-Z][\"')\]]{0,3}(?:[.,;!\n]|\Z)))",
    re.IGNORECASE,
)
"""Noun that announces an option: with a copula or a colon, or before a letter that ends its clause."""
_CHOSEN = late_pattern(
    r"(?<![不非没别勿])(?<!不[应能该可会])(?<!不应该)(?:故选择|故选|应选择|应该选择|应该选|应选|因此选|所以选|选择"
    r"|我选|选)\s{0,9}[:]?"
    r"|而是|\bchoose|\bi(?:'d| would|'ll| will)? (?:choose|pick|select|chose|picked|selected|go with|went with|say"
    r"|answer)\b"
    r"|\bi prefer\b|\bgo(?:ing)? with\b|\b(?:that|this|which) leaves(?: us with| only)?\b|\bcorresponds? to\b"
    r"|\blooks like\b|[→⇒]|=>",
    re.IGNORECASE,
)
"""Verb that chooses."""
_WORD = late_pattern(r"\s{0,9}a [a-z]{2}")
"""`a` as an English article: `the answer is a matter of taste`."""
_NO_LETTER = late_pattern(
    rf"\b[Nn]/[Aa]\b|\bA(?= (?!{GOES_ON})[a-z])|{PRONOUN}|{NUMERAL}"
    r"|\b(?i:vitamin|plan|hepatitis|group|type|class|grade|section|part|figure|fig\.|point|line|side|angle|team|unit"
    r"|level"
    r"|company|student|person|school|sample|event|city|block|appendix|exhibit|table|room|vector|matrix|node|blood|set"
    r"|step"
    r"|mr\.?|ms\.?|dr\.?) [A-Z](?![A-Za-z])"
)
"""Text that looks like the letter of an option: the article, the pronoun, the Roman numeral and names such as
`Vitamin B`."""
_PRONOUN = late_pattern(PRONOUN)
_WOULD = late_pattern(r"\bwould\b|\bwäre\b|\bserait\b", re.IGNORECASE)
_ARTICLE = late_pattern(rf"A (?!{GOES_ON})[a-z]")
_LIST_ENDS = r"[\"')\]]{0,3}\s{0,3}(?:[.。;；!,，、)\n]|\Z|and\b|or\b|和|或|以?及|都|均|两|are\b)"
_FEWEST = 8
_NEAR = 80
_LAST = 32
"""Largest number of announcements that are examined, from the last."""
_MENTIONS = 100
"""Number of mentioned letters above which a text without an announcement chooses nothing."""
_LATIN = late_pattern(r"[A-Za-z0-9]")
_SPACE = late_pattern(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|(?<=\s)\s+")
_ENDS = " \t\n.,;:!?。，；：！？、\"'“”‘’「」『』()（）[]【】{}"
_OPENING = late_pattern(
    rf"\A[{_QUOTES}-]{{0,9}}(?:(?:选项|option|choice|answer)\s?)?[{_QUOTES}]{{0,9}}([A-Z]{{1,2}})(?![A-Za-z0-9'])"
    rf"(?=[{_QUOTES}]{{0,4}}(?:[.):,;!。、]|\s[-–—]|\Z)|\s{{1,2}}(?:because|since|as)\b)",
    re.IGNORECASE,
)
"""Line that begins with the letter of an option."""
_CONCLUSION = late_pattern(
    r"[:=]\s|[→⇒]\s?|=>|\b(?:so|therefore|thus|hence|finally|overall|which leaves|leaving|also|donc)\b[,:]?\s|(?:因此"
    r"|所以"
    r"|综上|总之|故)[,:]?",
    re.IGNORECASE,
)
_ONLY_LETTERS = late_pattern(
    r"(?:(?![√✓✔✅☑×✗✘❌✕☒])[\W\d_]|[第题和与及选项以小]|(?:and|or|und|et|y|[Oo]ptions?|[Aa]nswers?)(?![A-Za-z])"
    r"|[A-Z](?![a-z])"
    r"|[a-h](?![A-Za-z])){1,1000}"
)
"""Letters with only separators and punctuation between and around them."""
_JOINS = late_pattern(
    rf"[{_QUOTES}]{{0,6}}(?:{_AND}[{_QUOTES}]{{0,6}}){{0,2}}(?:(?:选项|项|[Oo]ptions?)\s?)?", re.IGNORECASE
)
_CHOICE_OF = late_pattern(r"(?:options|choices|alternatives|possible answers?|候选|可选|选项)\W*\Z", re.IGNORECASE)
_MORE_LINES = late_pattern(r"(?:[.、:)][^;\n]{0,60}[;\n]\s{0,3}[A-H](?=[.、:)]))+")
_OWN_VERDICT = late_pattern(r"\s?(?:错误?|正确|对)[。.!]?(?:\n|\Z)")
"""Text of an option of a true-or-false question: `答案：B错误`."""
_LINE_VERDICT = late_pattern(
    r"(?:[-–—:→|(,]|[.、)]\s)\W{0,4}(?:(?P<held>(?:this is |it is |is )?(?:the )?(?:correct|right|true|yes|fits|matches"
    r"|best)\b|正确|对(?![于比])|符合|[✓✔✅√])"
    r"|(?:this is |it is |is )?(?:incorrect|wrong|false|not?\b|too \w+|never|does not|doesn't|contradicts)|错|不|排除"
    r"|[✗✘❌×])",
    re.IGNORECASE,
)
"""Verdict in the line of an option."""
_LISTED = late_pattern(
    r"[\s\"')\]]{0,3}(?:,|、|/|&|\b(?:and|or)\b|和|与|或者?|及)\s?(?:or |and )?[\"'(\[]{0,2}[A-Za-z](?![A-Za-z'])"
)


def chosen_letter(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that a reply chooses, `A` for the first; None if it chooses none or several.
    `options` are the texts of the options, empty if they have none.

    >>> chosen_letter("Answer: B\\n\\nExplanation: the answer A would be chosen if it rained.", ["", "", ""])
    'B'
    >>> chosen_letter("A: wrong\\nB: right\\nC: wrong", ["", "", ""]), chosen_letter("Anything but A", ["", ""])
    ('B', None)
    """
    return _choose(answer_of(text), _options_of(options)) or None


def chosen_letters(text: str) -> str:
    """Return the letters of the options that a reply chooses, in its order; empty if it chooses none. The options are
    not known: letters up to H count, and later ones if the reply says nothing else.

    >>> chosen_letters("The answers are B and D, not A."), chosen_letters("A: wrong\\nB: right\\nC: right")
    ('BD', 'BC')
    """
    said = answer_of(text)
    return _choose(said, _Options(("",) * ALPHABET, cased=False, several=True)) or ""


def _options_of(options: Sequence[str]) -> _Options:
    texts = [plain(option).strip() for option in options]
    cased = len({_folded(each) for each in texts}) < len({_folded(each, cased=True) for each in texts})
    return _Options(tuple(_folded(each, cased) for each in texts), cased)


def _choose(said: str, options: _Options) -> str | None:
    """Return the letters that an answer chooses; an empty text if there are too many; None if there are none."""
    for form in (field_of(said), boxed(nfkc(said))):
        if form is not None and form != said:
            return options.of_form(plain(form).strip())
    if (tagged := tag_of(said)) is not None:
        return _choose(tagged, options)
    whole = plain(said).strip()
    if (found := options.named(whole)) is not None:
        return found
    for part in dict.fromkeys(filter(None, (until_reasons(whole).strip(), whole))):
        for find in (
            options.bare,
            options.judged,
            options.announced,
            options.concluded,
            options.by_itself,
            options.mentioned,
        ):
            choice = find(part)
            if choice is not None:
                return choice
    return None


@dataclass(frozen=True)
class _Forms:
    """Patterns of option letters in a text."""

    letter: re.Pattern[str]
    """One or several letters after an announcement."""
    first: re.Pattern[str]
    """Position at which a letter begins."""
    alone: re.Pattern[str]
    """Isolated capital letters."""
    single: re.Pattern[str]


@cache
def _forms(options: int, small_letters: int = ALPHABET) -> _Forms:
    """Return the patterns for a number of options. Letters up to H always count; options after Z have two letters. The
    first `small_letters` may be in lower case."""
    last = chr(ord("A") + min(max(options, _FEWEST), ALPHABET) - 1)
    small = min(last.lower(), chr(ord("a") + small_letters - 1))
    pair = r"[A-Z]{2}(?![A-Za-z])|" if options > ALPHABET else ""
    one = rf"(?:{pair}(?!{PRONOUN})[A-Za-{small}])" if last == "Z" else rf"(?:(?!{PRONOUN})[A-{last}a-{small}])"
    more = (
        rf"(?:(?:选?项)?[{_BESIDE}]{{0,9}}(?:(?![,，]){_AND}[{_BESIDE}]{{0,9}}{one}(?! (?!and |or |und |oder |et "
        rf"|ou )[a-z]{{2}})|[,，][{_BESIDE}]{{0,9}}(?:and "
        rf"|or )?{one}(?={_LIST_ENDS})"
        rf"|[A-{last}]{{1,8}}|(?<=[a-h]) [a-h](?! [a-z]{{2}}))(?![A-Za-z']))"
    )
    single = rf"{pair}(?<![a-z])[a-{small}](?![a-z])|[A-{last}]"
    together = "[A-H]{1,8}" if last == "H" else rf"[A-H]{{2,8}}|{pair}[A-{last}]"
    return _Forms(
        letter=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:选项|[Oo]ptions?"
            rf"|[Cc]hoices?)?[{_QUOTES}]{{0,9}}(?P<letters>{one}{more}{{0,9}})(?![A-Za-z'0-9])"
        ),
        first=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:选项|[Oo]ptions?)?[{_QUOTES}]{{0,9}}(?P<letters>[A-{last}a-{small}]{{1,9}})"
            r"(?P<rest>(?![A-Za-z]).*)",
            re.DOTALL,
        ),
        alone=re.compile(rf"(?<![A-Za-z0-9\\'])(?:{together})(?![A-Za-z0-9'])"),
        single=re.compile(single),
    )


@dataclass(frozen=True)
class _Options:
    """Normalized texts of the options. `cased` is true if some differ only by case, as `AaBb` and `Aabb`. The finders
    return None if there is no choice, and an empty text if there are several."""

    folded: tuple[str, ...]
    cased: bool
    several: bool = False
    """Whether several options may be chosen."""

    @property
    def forms(self) -> _Forms:
        return _forms(len(self.folded), _FEWEST if self.several else ALPHABET)

    def one(self, letters: Iterable[str]) -> str | None:
        """Return the distinct letters among these that belong to options; exactly one, unless several may be chosen."""
        letters = list(letters)
        if self.several and not all(are_options(run) for letter in letters for run in re.findall("[A-Z]+", letter)):
            return None
        chosen = [letter.upper() for each in letters for letter in self.forms.single.findall(each)]
        if not self.several or len(letters) > 1:
            chosen = list(dict.fromkeys(chosen))
        if not chosen or (len(chosen) > 1 and not self.several):
            return None
        return "".join(chosen) if all(index_of(letter) < len(self.folded) for letter in chosen) else None

    def of_form(self, form: str) -> str | None:
        """Return the option in a field or a box."""
        if self.several:
            return self._opening(form)
        opening = None if (found := self.named(form)) is not None else _OPENING.match(form)
        if opening is None or _LISTED.match(form, opening.end(1)) or not is_affirmed(form, *opening.span(1)):
            return found
        return self.one(opening[1])

    def named(self, place: str) -> str | None:
        """Return the option that makes up a whole text: its letter, its text, or both."""
        if self.several:
            return self._only_letters(place)
        folded = _folded(place, self.cased)
        same = [index for index, option in enumerate(self.folded) if option and option == folded]
        if len(same) == 1:
            return letters_at(same[0])
        first = self.forms.first.fullmatch(place)
        letter = self.one([first["letters"]]) if first is not None else None
        if first is None or letter is None or len(first["letters"]) > len(letter):
            return None
        rest = _folded(first["rest"], self.cased)
        return letter if not rest or rest == self.folded[index_of(letter)] else None

    def _only_letters(self, place: str) -> str | None:
        """Return the letters of a text that has nothing else."""
        if not _has_only_letters(place):
            return None
        letters = re.sub(r"(?:and|or|und|et|y|[Oo]ptions?|[Aa]nswers?)(?![A-Za-z])", " ", place)
        if not all(are_options(run.upper()) for run in re.findall("[A-Za-z]+", letters)):
            return None
        return self.one([letters]) if letters.isupper() or not re.search("[A-Z]", letters) else None

    def announced(self, text: str) -> str | None:
        """Return the option of the last label or verb that affirms one."""
        near = 2 * max(map(len, self.folded), default=0) + _NEAR  # spaces and marks among the text of an option
        places = sorted(
            [(match.end(), match.start(), True) for match in _SAID.finditer(text)]
            + [(match.end(), match.start(), False) for match in _CHOSEN.finditer(text)]
        )
        likely = sorted(places[-_LAST:], key=lambda place: (_WOULD.search(text, place[1], place[0]) is None, place))
        for start, label, labelled in reversed(likely):
            rest = text[start : start + near]
            if _WORD.match(rest) is None and (marked := self.forms.letter.match(rest)) is not None:
                place = start + marked.start("letters"), start + marked.end("letters")
                letters = marked["letters"]
                if self.several and (more := _MORE_LINES.match(rest, marked.end("letters"))) is not None:
                    letters += "".join(re.findall(r"[;\n]\s{0,3}([A-H])", more[0]))
                choice = self.one([letters])
                if choice is not None and self._has_own_text(choice, rest[marked.end("letters") :]):
                    affirmed = frame_of(text[: place[1]], *place, labelled=labelled) is Frame.AFFIRMED
                elif labelled and _OWN_VERDICT.match(rest, marked.end("letters")):
                    affirmed = True
                else:
                    affirmed = is_affirmed(text, *place, labelled=labelled)
                if affirmed and not is_attributed_to_others(text, label):
                    return self._corrected(text, place[1], choice or "")
            elif (found := self.first(rest)) is not None and is_affirmed(text, start, start + 1, labelled=labelled):
                if is_attributed_to_others(text, label):
                    continue
                return self._corrected(text, start, found)
        return None

    def _has_own_text(self, letter: str, rest: str) -> bool:
        """Return true if the text of an option follows its letter."""
        option = "" if self.several else self.folded[index_of(letter)]
        return bool(option) and _folded(rest, self.cased).startswith(option)

    def _corrected(self, text: str, end: int, choice: str) -> str:
        """Return a choice, or the one that a later correction affirms instead."""
        correction = CORRECTION.search(text, end)
        later = None if correction is None else self.mentioned(text[correction.end() :])
        return later or choice

    def bare(self, text: str) -> str | None:
        """Return the option alone above a blank line, with reasons below."""
        first, blank, rest = text.partition("\n\n")
        found = self.named(first) if blank and "\n" not in first.strip() else None
        return (
            None if found is None or self.named(rest.strip()) is not None else self._corrected(text, len(first), found)
        )

    def judged(self, text: str) -> str | None:
        """Return the options that a line-by-line list of all options affirms: `B. hydrogen – correct`."""
        lines = [(line, opening) for line in lines_of(text) if (opening := _OPENING.match(line)) is not None]
        verdicts = [(opening[1], _LINE_VERDICT.search(line, opening.end(1))) for line, opening in lines]
        held = [letter for letter, verdict in verdicts if verdict is not None and verdict["held"]]
        denied = [letter for letter, verdict in verdicts if verdict is not None and not verdict["held"]]
        if not held or len({letter.upper() for letter in (*held, *denied)}) < max(2, len(lines)):
            return None
        return self.one(held) or ""

    def concluded(self, text: str) -> str | None:
        """Return the option that is the last segment of a text, after a conclusion or a colon."""
        breaks = [mark.end() for mark in _CONCLUSION.finditer(text, max(0, len(text) - 4 * _NEAR))]
        for start in breaks[-2:]:
            found = None if _CHOICE_OF.search(text[:start]) else self.named(text[start:])
            if found is not None and (word := re.compile(r"\w").search(text, start)) is not None:
                return found if is_affirmed(text, word.start(), word.end(), labelled=True) else None
        return None

    def by_itself(self, text: str) -> str | None:
        """Return the option alone on a line, the first or else the last."""
        lines = list(lines_of(text))
        if not lines:
            return None
        openings = [opening for line in lines if (opening := self._opening(line)) is not None]
        alone = self.named(lines[0]) if len(lines) > 1 else None
        if alone is not None:
            last = self.named(lines[-1])
            every = [self.named(line) for line in lines]
            if self.several and None not in every:
                return self.one(each for each in every if each)
            return self._corrected(text, text.index(lines[0]) + len(lines[0]), alone) if last in (None, alone) else ""
        first = self._opening(lines[0])
        if first is not None and (len(set(openings)) == 1 or (self.several and len(lines) == len(openings))):
            letters = self.one(openings) or ""
            return self._corrected(text, text.index(lines[0]) + len(lines[0]), letters)
        last = self.named(lines[-1])
        if last is not None:
            return last if {self.named(line) for line in lines} <= {None, last} else ""
        return None

    def _opening(self, line: str) -> str | None:
        """Return the option at the beginning of a line, if it is affirmed."""
        if (named := self.named(line)) is not None:
            return named
        if self.several and (opening := self.forms.letter.match(line)) is not None:
            ends = re.match(r"[\s\"')\]]{0,4}(?:[.):,;!。、]|\s[-–—]|\Z|选?项)", line[opening.end() :])
            if (
                ends is not None
                and line[opening.start("letters")].isupper()
                and frame_of(line, *opening.span("letters")) is Frame.AFFIRMED
            ):
                return self.one([opening["letters"]])
        opening = _OPENING.match(line)
        if opening is None or _LISTED.match(line, opening.end(1)) or _ARTICLE.match(line, opening.start(1)):
            return None
        if _PRONOUN.match(line, opening.start(1)) or (len(opening[1]) > 1 and len(self.folded) <= ALPHABET):
            return None
        choice = self.one([opening[1]])
        if choice is not None and self._has_own_text(choice, line[opening.end(1) :]):
            return choice
        frame = frame_of(line, *opening.span(1))
        return choice if frame is Frame.AFFIRMED or (frame is Frame.HELD and not self.several) else None

    def mentioned(self, text: str) -> str | None:
        """Return the only affirmed option, by its letter or else by its text. One with a verdict (`B is correct`) has
        priority."""
        blank = _NO_LETTER.sub(lambda match: " " * len(match[0]), text)
        frames: dict[Frame, list[re.Match[str]]] = {frame: [] for frame in Frame}
        alone = _forms(_FEWEST if self.several else len(self.folded)).alone
        mentions = list(islice(alone.finditer(blank), _MENTIONS + 1))
        if len(mentions) > _MENTIONS:
            return ""
        for mention in mentions:
            if not is_attributed_to_person(blank, mention.start()):
                frames[frame_of(blank, *mention.span())].append(mention)
        held = self.one(match[0] for match in frames[Frame.HELD])
        if held is not None:
            return held
        affirmed = sorted(frames[Frame.HELD] + frames[Frame.AFFIRMED], key=re.Match.start)
        if affirmed and self.several:
            if _CHOICE_OF.search(blank[: affirmed[0].start()]):
                return ""
            gaps = [blank[one.end() : other.start()] for one, other in pairwise(affirmed)]
            return (self.one(match[0] for match in affirmed) or "") if all(map(_JOINS.fullmatch, gaps)) else ""
        if any(frames.values()):
            return (self.one(match[0] for match in affirmed) or "") if affirmed else None
        return self._mentioned_text(_folded(text, self.cased))

    def first(self, rest: str) -> str | None:
        """Return the option whose text a string begins with; the longest if there are several."""
        start = _folded(rest, self.cased)
        found = [index for index, option in enumerate(self.folded) if option and re.match(_pattern(option), start)]
        most = max((len(self.folded[index]) for index in found), default=0)
        longest = [index for index in found if len(self.folded[index]) == most]
        return letters_at(longest[0]) if len(longest) == 1 else None

    def _mentioned_text(self, text: str) -> str | None:
        """Return the only option whose text is affirmed, outside of the longer text of another. Texts of a single
        character are ignored."""
        texts = self.folded
        places = {index: [*self._places(index, text)] for index, option in enumerate(texts) if option}
        inside = {
            one: [
                each
                for other, more in places.items()
                if texts[other] != texts[one] and texts[one] in texts[other]
                for each in more
            ]
            for one in places
        }
        affirmed = [
            index
            for index, found in places.items()
            if any(
                is_affirmed(text, *place)
                for place in found
                if not any(start <= place[0] and place[1] <= end for start, end in inside[index])
            )
        ]
        return letters_at(affirmed[0]) if len(affirmed) == 1 and len(texts[affirmed[0]]) > 1 else None

    def _places(self, index: int, text: str) -> Iterator[tuple[int, int]]:
        return (match.span() for match in re.finditer(_pattern(self.folded[index]), text))


def _has_only_letters(text: str) -> bool:
    """Return true if a text has only option letters with separators and punctuation."""
    return re.search("[A-Za-z]", text) is not None and _ONLY_LETTERS.fullmatch(text) is not None


def _folded(text: str, cased: bool = False) -> str:
    """Return a text without case, punctuation at its ends, and spaces other than those between Latin words."""
    return _SPACE.sub("", text if cased else text.casefold()).strip(_ENDS)


def _pattern(option: str) -> str:
    """Return a pattern for the text of an option as separate words and numbers: `8` occurs neither in `80` nor in `1.8`
    or `-8`."""
    before = r"(?<![A-Za-z0-9])(?<![0-9]\.)" if _LATIN.match(option[0]) else ""
    signed = r"(?<!(?<![\w)])-)" if option[0].isdigit() else ""
    after = r"(?![A-Za-z0-9])(?!\.[0-9])" if _LATIN.match(option[-1]) else ""
    return rf"{before}{signed}{re.escape(option)}{after}"
