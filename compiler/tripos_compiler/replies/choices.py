"""Multiple choice: the option that a reply chooses, by its letter or its text.

All readers look for an answer in the same order: the requested form (a JSON field), an explicit final form (a box, an
`<answer>` tag), the last announcement (`the answer is`, `故选`), an isolated answer at the beginning or the end, and
then a mention, if only one option is affirmed. A mention that is denied, asked, quoted, compared or supposed is not an
answer (see `frames`), and a mention in the explanation after an answer is not one either.
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
from tripos_compiler.replies.places import (
    boxed,
    field_of,
    lines_of,
    read_first_answer,
    tables_of,
    tag_of,
    ticked,
    turned,
    until_reasons,
)
from tripos_compiler.replies.text import answer_of, late_pattern, nfkc, words
from tripos_compiler.source.data_classes import dataclass

# Letters of options

ALPHABET = 26
"""Number of letters; further options have two letters."""
GOES_ON = "(?:{})\\b".format(
    words(
        "is, are, isn't, was the, ist, est, es, seems?, looks, appears, remains",
        "because, since, and, or, nor, not, but, which, it, best, correctly",
        "fits, matches, works, wins, loses, beats, edges, outperforms, deserves, lacks, has, does, keeps, stays, meets",
        "says, states, gives, provides, offers, explains, shows, contains, addresses, covers, demonstrates, includes",
        "makes, uses, handles, follows, satisfies, argues, answers",
    )
)
"""Words that can follow the letter of an option (`A is right`), but not the pronoun `I` or the article `A`."""
PRONOUN = rf"\b[Ii](?=['’][a-z]|,? (?!{GOES_ON})[a-z])"
"""`I` as a pronoun, as in `I think`."""
NUMERAL = r"\b(?!(?:Option|Choice|Answer|Letter|Is|Therefore|So|Thus|Hence|And|Or)\b)[A-Z][a-z]+ I(?![A-Za-z0-9])"
"""`I` as a Roman numeral, as in `World War I`."""
_TWO_LETTER_WORDS = frozenset({"AI", "AL", "DJ", "GI", "HI"})
"""Words whose letters could be those of options in order."""


def letters_at(number: int) -> str:
    """Return the letters of the option at an index, from 0: AA follows Z.

    >>> letters_at(0), letters_at(9), letters_at(26)
    ('A', 'J', 'AA')
    """
    prefix = letters_at(number // ALPHABET - 1) if number >= ALPHABET else ""
    return prefix + chr(ord("A") + number % ALPHABET)


def index_of(letters: str) -> int:
    """Return the index of the option with these letters.

    >>> index_of("A"), index_of("J"), index_of("AA")
    (0, 9, 26)
    """
    number = 0
    for letter in letters:
        number = number * ALPHABET + ord(letter) - ord("A") + 1
    return number - 1


def are_options(run: str) -> bool:
    """Return true if adjacent capital letters are options and not a word or a name: any letters up to H, or distinct
    letters up to L in alphabetical order.

    >>> are_options("BD"), are_options("IJ"), are_options("CO"), are_options("DNA"), are_options("AI")
    (True, True, False, False, False)
    """
    if max(run, default="A") <= "H" or len(run) == 1:
        return True
    return list(run) == sorted(set(run)) and max(run) <= "L" and run not in _TWO_LETTER_WORDS


# The choice of a reply

_QUOTES = r"\s\"'“”‘’「」『』()\[\]{}【】〔〕《》<>"
_INLINE_QUOTES = _QUOTES.replace(r"\s", r" \t")
_CONJUNCTION = r"(?:[、,，/&+]|和|与|或者?|及|以及|还是|·|and|or|and/or|und|oder|et|ou|y|o|и|или|と)"
_COPULA = (
    r"(?:应该是|应该为|应当是|应是|应为|应选|选择|选|就是|是|为|即|would be|should be|must be|has to be|will be|is|was"
    r"|are|were"
    r"|remains|seems to be|appears to be|ist|sind|lautet|est|sont|es|son|é|は)"
)
_ANSWER_NOUN = (
    r"(?:答案|answers?|正确(?:的)?选项|正确(?:的)?(?:一)?项|antwort|lösung|réponse|respuesta|ответ|正解|答え|الجواب"
    r"|(?:correct|right|best|final|most (?:appropriate|accurate|likely)) (?:option|choice|one|statement)s?"
    r"|(?:my|the) (?:(?!second|2nd|third|other|alternative|next|last|worst)\w+ )?(?:choice|pick|selection|guess|vote)"
    r"|(?:^|(?<=\n))\W{0,3}(?:correct|right)(?=\s{0,3}:)|(?<!不)正确的(?:一?项)?(?:有|(?=[是为]))|(?:所以|因此"
    r"|故)[^。;,\n]{0,16}(?=[是为])|(?<![A-Za-z])(?:choice|selection)(?=\s{0,3}:))"
)
_ANNOUNCEMENT = late_pattern(
    rf"{_ANSWER_NOUN}[\"'”」】)\]]{{0,9}}(?:,\s\w{{1,12}}(?: \w{{1,12}})?,|\s(?:here|overall|then"
    rf"|therefore))?\s{{0,9}}"
    rf"(?:{_COPULA}\s{{0,9}}(?:clearly|therefore|thus|definitely|probably|actually)?\s{{0,9}}[:=]?|[:=]"
    rf"|(?<=案)\s{{0,9}}"
    r"|(?=[\"'(\[]{0,3}[A-Z][\"')\]]{0,3}(?:[.,;!\n]|\Z)))",
    re.IGNORECASE,
)
"""Noun that announces an option, followed by a copula, a colon, or a letter that ends its clause."""
_CHOICE_VERB = late_pattern(
    r"(?<![不非没别勿])(?<!不[应能该可会])(?<!不应该)(?:故选择|故选|应选择|应该选择|应该选|应选|因此选|所以选|选择"
    r"|我选|选)\s{0,9}[:]?"
    r"|而是|\bchoose|\bi(?:'d| would|'ll| will)? (?:choose|pick|select|chose|picked|selected|go with|went with|say"
    r"|answer)\b"
    r"|\bi prefer\b|\bgo(?:ing)? with\b|\b(?:that|this|which) leaves(?: us with| only)?\b|\bcorresponds? to\b"
    r"|\blooks like\b|[→⇒]|=>",
    re.IGNORECASE,
)
"""Verb or arrow that announces an option."""
NOUN_AFTER_ARTICLE = (
    rf"(?!{GOES_ON}|(?:could|would|should|might|may|must|cannot|can(?! of\b)|will|did|had|do|don't|were|both|all|also"
    r"|either|seem|fit|match|work|sound|look|apply)\b)[a-z]"
)
"""Word that can follow the article `A`. No verb can: `A could be right` names an option."""
_INDEFINITE_ARTICLE = late_pattern(
    rf"\s{{0,9}}a [a-z]{{2}}|[ \t]{{0,9}}A "
    r"(?!(?:as|with|for|in|on|by|of|at|to|from|due|given|if|when|where|while|whereas|though|although|than|over"
    r"|after|the"
    r"|an?|cuz|cause|coz|bc|here|there|too|then|now|so|also|only|again|this|that|these|he|she|we|you|they|who|instead"
    r"|rather|alone|please|thanks|[a-z]+ly)\b)"
    rf"{NOUN_AFTER_ARTICLE}[a-z]"
)
"""An English article after an announcement: `the answer is a matter of taste`, `Answer: A cup of tea`."""
_TURNED = late_pattern(r"(?:\A|[^\w'])[A-H][\"')\]]{0,2}\s{0,2}(?:[→⇒=>] ?){1,4}\Z")
"""Letter and an arrow or `=`: the reply says neither that letter nor the one behind."""
_FORMULA_OF_LETTERS = late_pattern(
    r"(?<![A-Za-z])[A-Z]\s?(?:[∪∩⊗⊕∘∧∨]|\\(?:times|cup|cap|cdot|wedge|vee|otimes)(?![A-Za-z])"
    r"|[×✕](?=\s?[A-Z](?!\s?:|[.、)]?\s?[×√✓✔✗✘✅❌✕])))\s?[A-Z](?![A-Za-z])"
)
"""Letters that are no options but sets or quantities: `A × B`, `A ∪ B`."""
_ANSWERS_BY_CASE = late_pattern(
    r"\bif\b[^.;\n]{1,80}?(?:answer|choose|select|option|it)\b[^.;,\n]{0,20}[\s(\"'](?P<one>[A-H])[)\"']{0,2}[,;.]?\s"
    r"(?:and |but |while )?(?:if\b[^.;\n]{1,80}?|otherwise[, ]+)(?:the answer |it )?(?:is |would be |choose |then )?"
    r"\(?(?P<other>[A-H])(?![A-Za-z])",
    re.IGNORECASE,
)
"""Different answers by case: `if it rains, the answer is A; otherwise B`."""
_ARTICLE_AND_WORD = late_pattern(rf"A {NOUN_AFTER_ARTICLE}")
_NOT_A_LETTER = late_pattern(
    rf"\b[Nn]/[Aa]\b|\bA(?= {NOUN_AFTER_ARTICLE})|{PRONOUN}|{NUMERAL}"
    r"|\b(?i:vitamin|plan|hepatitis|group|type|class|grade|section|part|figure|fig\.|point|line|side|angle|team|unit"
    r"|level"
    r"|company|student|person|school|sample|event|city|block|appendix|exhibit|table|room|vector|matrix|node|blood|set"
    r"|step"
    r"|mr\.?|ms\.?|dr\.?) [A-Z](?![A-Za-z])"
)
"""Text that looks like the letter of an option: the article, the pronoun, the Roman numeral and names such as
`Vitamin B`."""
_PRONOUN = late_pattern(PRONOUN)
_CONDITIONAL = late_pattern(r"\bwould\b|\bwäre\b|\bserait\b", re.IGNORECASE)
_END_OF_LIST = r"[\"')\]]{0,3}\s{0,3}(?:[.。;；!,，、)\n]|\Z|and\b|or\b|和|或|以?及|都|均|两|are\b)"
_MIN_OPTIONS = 8
"""Smallest number of options for which patterns are made: a letter up to H is an answer, even if no option has it."""
_MAX_DISTANCE = 80
"""Number of characters after an announcement in which an option is looked for, without the text of the option."""
_MAX_ANNOUNCEMENTS = 32
"""Largest number of announcements that are examined, counted from the last."""
_MAX_MENTIONS = 100
"""Largest number of mentioned letters in a text without an announcement; a text with more chooses no option."""
_LATIN = late_pattern(r"[A-Za-z0-9]")
_REMOVABLE_SPACE = late_pattern(r"(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])|(?<=\s)\s+")
_EDGE_PUNCTUATION = " \t\n.,;:!?。，；：！？、\"'“”‘’「」『』()（）[]【】{}"
_LEADING_LETTER = late_pattern(
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
"""Letters with nothing but separators and punctuation between and around them."""
_MENTION_SEPARATOR = late_pattern(
    rf"[{_QUOTES}]{{0,6}}(?:{_CONJUNCTION}[{_QUOTES}]{{0,6}}){{0,2}}(?:(?:选项|项|[Oo]ptions?)\s?)?", re.IGNORECASE
)
_LIST_OF_OPTIONS = late_pattern(
    r"(?:options|choices|alternatives|possible answers?|候选|可选|选项)\W*\Z", re.IGNORECASE
)
"""Words before a list of all options, which chooses none of them."""
_NEXT_LISTED_OPTION = late_pattern(
    r"(?:[.、:)][^\n]{0,60}?|\s?\([^()\n]{1,60}\)\s?)"
    r"(?:(?P<line>\n\s{0,3}(?:(?:[-•]|\d{1,2}[.)])\s{0,3})?)|[;,、]\s?(?:and\s|和|以及)?|(?<![A-Za-z])and\s"
    r"|以及|[和与及])"
    r"(?:选项|[Oo]ption )?\(?(?P<letter>[A-H])(?=[.、:)]|\s?\()"
)
"""Text of a listed option and the letter of the next one: `A. Paris; C. Rome`, `A (x) and C (y)`, or a line below."""
_CLAUSE_OF_OPTION = late_pattern(
    r"[^,;。\n]{0,80}?(?:\b(?:is|isn't|was|it|because|since|as|but|not|does|doesn't|would|that)\b|因为|由于|但"
    r"|不|[在是])",
    re.IGNORECASE,
)
"""Beginning of a sentence about an option, which is no text of one in a line: `A (Paris), B (London) is in England`."""
_FINAL_ASIDE = late_pattern(r"\s?\([^()]{0,200}\)\s?\Z")
_ADJACENT_BOXES = late_pattern(
    r"(\\boxed\s{0,9}\{[^{}]{1,40})\}\s?\$?\s{0,3}(?:[,、;；，和与]|and\b)?\s{0,3}\$?\s?"
    r"\\boxed\s{0,9}\{([^{}]{1,40})(?=\})"
)
"""Two boxes with nothing but a separator between them, which hold one answer: `\\boxed{A}, \\boxed{C}`."""
_TRUE_FALSE_TEXT = late_pattern(r"\s?(?:错误?|正确|对)[。.!]?(?:\n|\Z)")
"""Text of an option of a true-false question: `答案：B错误`."""
_LINE_VERDICT = late_pattern(
    r"(?:[-–—:→|(,]|[.、)]\s)\W{0,4}(?:(?P<affirmed>(?:this is |it is |is )?(?:the )?(?:correct|right|true|yes"
    r"|fits|matches"
    r"|best)\b|正确|对(?![于比])|符合|[✓✔✅√])"
    r"|(?:this is |it is |is )?(?:incorrect|wrong|false|not?\b|too \w+|never|does not|doesn't|contradicts)|错|不|排除"
    r"|[✗✘❌×])",
    re.IGNORECASE,
)
"""Verdict in the line of an option."""
_CELL_VERDICT = late_pattern(
    r"[\s\"'(\[]{0,3}(?:(?P<affirmed>(?:yes|true|correct|right|valid|fits|matches)(?!\w)|[✓✔√✅☑]|[是对](?![于比\w])|正确|符合)"
    r"|(?:no|not|false|incorrect|wrong|invalid|never|too|does not|doesn't|contradicts)(?!\w)|[✗✘×❌☒]|[否错不])",
    re.IGNORECASE,
)
"""Verdict that begins a cell of a table."""
_VERDICT_HEADING = late_pattern(
    r"(?!.*(?:\b(?:in|un)\w*(?:correct|valid|true)|\b(?:not|wrong|false|eliminated?)\b|错|排除|不))"
    r"(?:|.*(?:correct|right|true|valid|\bfits?\b|match|satisf|answer|verdict|choice|select|status|result|conclusion"
    r"|judg|正确|符合|判断|结论).*)",
    re.IGNORECASE,
)
"""Heading of a column of verdicts on options; `Is it a mammal?` heads one of other facts."""
_FITS_QUESTION = late_pattern(
    r"(?<![A-Za-z])(?P<letters>[A-H](?:项?[、,和与及]?[A-H]){0,7})(?![A-Za-z])[^;。\nA-H]{0,40}?"
    r"(?P<denied>不|不太|不完全|没有|未)?(?:符合题意|合题意)"
)
"""Options that fit what the question asks for, or not: `C项错误，符合题意`, `A、B不符合题意`."""
_NEXT_IN_LIST = late_pattern(
    r"[\s\"')\]]{0,3}(?:,|、|/|&|\b(?:and|or)\b|和|与|或者?|及)\s?(?:or |and )?[\"'(\[]{0,2}[A-Za-z](?![A-Za-z'])"
)


def chosen_letter(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that a reply chooses, `A` for the first; None if it chooses none or several.
    `options` has the text of each option, empty for options without a text.

    >>> chosen_letter("Answer: B\\n\\nExplanation: the answer A would be chosen if it rained.", ["", "", ""])
    'B'
    >>> chosen_letter("A: wrong\\nB: right\\nC: wrong", ["", "", ""]), chosen_letter("Anything but A", ["", ""])
    ('B', None)
    """
    known = _options_of(options)
    return read_first_answer(answer_of(text), lambda part: _choose(part, known)) or None


def chosen_letters(text: str) -> str:
    """Return the letters of the options that a reply chooses, in its order; empty if it chooses none. The number of
    options is unknown: letters up to H count anywhere, and later letters do not count in a mere mention.

    >>> chosen_letters("The answers are B and D, not A."), chosen_letters("A: wrong\\nB: right\\nC: right")
    ('BD', 'BC')
    """
    options = _Options(("",) * ALPHABET, cased=False, several=True)
    return read_first_answer(answer_of(text), lambda part: _choose(part, options)) or ""


def _options_of(options: Sequence[str]) -> _Options:
    texts = [plain(option).strip() for option in options]
    cased = len({_folded(text) for text in texts}) < len({_folded(text, cased=True) for text in texts})
    return _Options(tuple(_folded(text, cased) for text in texts), cased)


def _choose(answer: str, options: _Options) -> str | None:
    """Return the letters that an answer chooses; an empty text if it chooses more options than it may; None if it
    chooses none."""
    if options.several:
        answer = _ADJACENT_BOXES.sub(r"\1, \2", answer)
    for content in (field_of(answer), boxed(nfkc(answer))):
        if content is not None and content != answer:
            return options.in_explicit_form(plain(boxed(nfkc(content)) or content).strip())
    if (tagged := tag_of(answer)) is not None:
        return _choose(tagged, options)
    whole = plain(answer).strip()
    if (choice := options.whole_text(whole)) is not None:
        return choice
    for part in dict.fromkeys(filter(None, (until_reasons(whole).strip(), whole))):
        for find in (
            options.above_reasons,
            options.with_verdicts,
            options.announced,
            options.concluded,
            options.in_form,
            options.in_table,
            options.on_own_line,
            options.mentioned,
        ):
            choice = find(part)
            if choice is not None:
                return choice
    return None


@dataclass(frozen=True)
class _Forms:
    """Patterns of option letters in a text."""

    announced: re.Pattern[str]
    """One or several letters after an announcement."""
    leading: re.Pattern[str]
    """The letters at the beginning of a text, and the `rest` of the text."""
    isolated: re.Pattern[str]
    """Isolated capital letters."""
    single: re.Pattern[str]
    """Letters of one option; several matches in adjacent letters."""


@cache
def _forms(number_of_options: int, small_letters: int = ALPHABET) -> _Forms:
    """Return the patterns for a number of options. Letters up to H always count; options after Z have two letters. The
    first `small_letters` letters may be in lower case."""
    last = chr(ord("A") + min(max(number_of_options, _MIN_OPTIONS), ALPHABET) - 1)
    small = min(last.lower(), chr(ord("a") + small_letters - 1))
    pair = r"[A-Z]{2}(?![A-Za-z])|" if number_of_options > ALPHABET else ""
    one = rf"(?:{pair}(?!{PRONOUN})[A-Za-{small}])" if last == "Z" else rf"(?:(?!{PRONOUN})[A-{last}a-{small}])"
    more = (  # an article and a noun, as in `A decrease`, are no option
        rf"(?:(?:选?项)?[{_INLINE_QUOTES}]{{0,9}}(?:(?![,，]){_CONJUNCTION}[{_INLINE_QUOTES}]{{0,9}}{one}"
        rf"(?! (?!and |or |und |oder |et |ou )[a-z]{{2}})|[,，][{_INLINE_QUOTES}]{{0,9}}(?:and "
        rf"|or )?{one}(?={_END_OF_LIST})"
        rf"|[;；][{_INLINE_QUOTES}]{{0,9}}(?:and )?{one}(?=[\"')\]]{{0,3}}\s{{0,3}}(?:[;；.。!)]|[;；]?\n|\Z))"
        rf"|(?![A-Z] (?!are\b|both\b|all\b){NOUN_AFTER_ARTICLE})[A-{last}]{{1,8}}"
        r"|(?<=[a-h]) [a-h](?! [a-z]{2}))(?![A-Za-z']))"
    )
    single = rf"{pair}(?<![a-z])[a-{small}](?![a-z])|[A-{last}]"
    together = "[A-H]{1,8}" if last == "H" else rf"[A-H]{{2,8}}|{pair}[A-{last}]"
    return _Forms(
        announced=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:(?<=\n)(?:[-•]|\d{{1,2}}[.)])[{_QUOTES}]{{1,9}})?(?:选项|[Oo]ptions?"
            rf"|[Cc]hoices?)?[{_QUOTES}]{{0,9}}(?P<letters>{one}{more}{{0,9}})(?![A-Za-z'0-9])"
        ),
        leading=re.compile(
            rf"[{_QUOTES}]{{0,9}}(?:选项|[Oo]ptions?)?[{_QUOTES}]{{0,9}}(?P<letters>[A-{last}a-{small}]{{1,9}})"
            r"(?P<rest>(?![A-Za-z]).*)",
            re.DOTALL,
        ),
        isolated=re.compile(rf"(?<![A-Za-z0-9\\'])(?:{together})(?![A-Za-z0-9'])"),
        single=re.compile(single),
    )


@dataclass(frozen=True)
class _Options:
    """Options with their normalized texts. `cased` is true if two texts differ only by case, such as `AaBb` and `Aabb`.

    Each method that looks for a choice returns the chosen letters; None if it finds no choice, so that the next method
    is tried; or an empty text if the choice is ambiguous, so that no other method is tried.
    """

    folded: tuple[str, ...]
    cased: bool
    several: bool = False
    """Whether several options may be chosen."""

    @property
    def forms(self) -> _Forms:
        return _forms(len(self.folded), _MIN_OPTIONS if self.several else ALPHABET)

    def choice_of(self, texts: Iterable[str]) -> str | None:
        """Return the distinct option letters in some texts; None if a letter has no option, or if there are several
        letters and only one may be chosen."""
        texts = list(texts)
        if self.several and not all(are_options(run) for text in texts for run in re.findall("[A-Z]+", text)):
            return None
        chosen = [letter.upper() for text in texts for letter in self.forms.single.findall(text)]
        if not self.several or len(texts) > 1:
            chosen = list(dict.fromkeys(chosen))
        if not chosen or (len(chosen) > 1 and not self.several):
            return None
        return "".join(chosen) if all(index_of(letter) < len(self.folded) for letter in chosen) else None

    def in_explicit_form(self, content: str) -> str | None:
        """Return the option in a JSON field or a box: its letter or text, also at the beginning, or announced."""
        if self.several:
            return self._leading_option(content) or self.announced(content)
        if (choice := self.whole_text(content) or self.whole_text(_FINAL_ASIDE.sub("", content))) is not None:
            return choice
        if (opening := _LEADING_LETTER.match(content)) is None:
            return self.announced(content)
        if _NEXT_IN_LIST.match(content, opening.end(1)) or not is_affirmed(content, *opening.span(1)):
            return None
        return self.choice_of(opening[1])

    def whole_text(self, text: str) -> str | None:
        """Return the option of which a text consists: its letter, its text, or both."""
        if self.several:
            return self._bare_letters(text)
        folded = _folded(text, self.cased)
        same = [index for index, option in enumerate(self.folded) if option and option == folded]
        if len(same) == 1:
            return letters_at(same[0])
        leading = self.forms.leading.fullmatch(text)
        letter = self.choice_of([leading["letters"]]) if leading is not None else None
        if leading is None or letter is None or len(leading["letters"]) > len(letter):
            return None
        rest = _folded(leading["rest"], self.cased)
        return letter if not rest or rest == self.folded[index_of(letter)] else None

    def _bare_letters(self, text: str) -> str | None:
        """Return the letters of a text that consists of them, in one case."""
        if not _has_only_letters(text):
            return None
        letters = re.sub(r"(?:and|or|und|et|y|[Oo]ptions?|[Aa]nswers?)(?![A-Za-z])", " ", text)
        if not all(are_options(run.upper()) for run in re.findall("[A-Za-z]+", letters)):
            return None
        return self.choice_of([letters]) if letters.isupper() or not re.search("[A-Z]", letters) else None

    def announced(self, text: str) -> str | None:
        """Return the option of the last announcement, by a noun (a label) or a verb, that affirms one."""
        # Spaces and markup can make the text of an option longer than its normalized form.
        near = 2 * max(map(len, self.folded), default=0) + _MAX_DISTANCE
        cases = _ANSWERS_BY_CASE.search(text)
        if cases is not None and cases["one"] != cases["other"]:
            return ""
        announcements = sorted(
            [(match.end(), match.start(), True) for match in _ANNOUNCEMENT.finditer(text)]
            + [(match.end(), match.start(), False) for match in _CHOICE_VERB.finditer(text)]
        )
        # An announcement in the conditional (`the answer would be`) counts only if no other one does.
        by_likelihood = sorted(
            announcements[-_MAX_ANNOUNCEMENTS:],
            key=lambda span: (_CONDITIONAL.search(text, span[1], span[0]) is None, span),
        )
        for start, label, labelled in reversed(by_likelihood):
            rest = text[start : start + near]
            if not labelled and _TURNED.search(text[max(0, start - 20) : start]):
                return ""
            if self._announces_letters(rest) and (match := self.forms.announced.match(rest)) is not None:
                letters, end = self._without_text(match["letters"], rest, match.start("letters"))
                span = start + match.start("letters"), start + end
                if self.several:
                    letters += self._listed_below(text, *span)
                choice = self.choice_of([letters])
                if choice is not None and self._has_own_text(choice, rest[end:]):
                    affirmed = frame_of(text[: span[1]], *span, labelled=labelled) is Frame.AFFIRMED
                elif labelled and _TRUE_FALSE_TEXT.match(rest, end):
                    affirmed = True
                else:
                    affirmed = is_affirmed(text, *span, labelled=labelled)
                if affirmed and not is_attributed_to_others(text, label):
                    return self._corrected(text, span[1], choice or "")
            elif (choice := self.with_text(rest)) is not None and is_affirmed(
                text, start, start + 1, labelled=labelled
            ):
                if is_attributed_to_others(text, label):
                    continue
                return self._corrected(text, start, choice)
        return None

    def _announces_letters(self, rest: str) -> bool:
        """Return true unless an article or the text of an option begins a string: `B cells` may be the text of A."""
        if _INDEFINITE_ARTICLE.match(rest) is not None or _FORMULA_OF_LETTERS.match(rest.lstrip(" \t\"'(")):
            return False
        named = None if self.several else self.with_text(rest)
        return named is None or len(self.folded[index_of(named)]) <= len(named)

    def _without_text(self, letters: str, rest: str, start: int) -> tuple[str, int]:
        """Return the announced letters at a position of a string, and their end, without those that begin the text of
        the first option: only B of `(B) C cells`."""
        first = self.forms.single.match(letters)
        if first is not None and self.choice_of([first[0]]) is not None:
            end = start + first.end()
            if self._has_own_text(first[0].upper(), rest[end:]):
                return first[0], end
        return letters, start + len(letters)

    def _listed_below(self, text: str, start: int, end: int) -> str:
        """Return the further letters of a list of options with their texts, of which the first letters are at a range:
        in the same line, or if the first begins a line, in the lines below, in the order of the alphabet. A letter that
        is not affirmed ends it."""
        own_line = not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t-•(\"'[{0123456789.)")
        letters = ""
        while len(letters) < ALPHABET and (listed := _NEXT_LISTED_OPTION.match(text, end)) is not None:
            span, below = listed.span("letter"), listed["line"] is not None
            if below and (not own_line or listed["letter"] <= (letters or text[start:end])[-1].upper()):
                break
            if not below and any(_CLAUSE_OF_OPTION.match(text, after) for after in (end + 1, span[1] + 1)):
                break
            if _has_denying_verdict(text, span[1]) or not is_affirmed(text, *span):
                break
            letters, end = letters + listed["letter"], span[1]
        return letters

    def _has_own_text(self, letter: str, rest: str) -> bool:
        """Return true if the text of an option follows its letter."""
        option = "" if self.several else self.folded[index_of(letter)]
        return bool(option) and _folded(rest, self.cased).startswith(option)

    def _corrected(self, text: str, end: int, choice: str) -> str:
        """Return a choice, or the option that a later correction affirms instead."""
        correction = CORRECTION.search(text, end)
        later = None if correction is None else self.mentioned(text[correction.end() :])
        return later or choice

    def above_reasons(self, text: str) -> str | None:
        """Return the option that is the only line above the first blank line, if the rest is not an option as well."""
        first, blank, rest = text.partition("\n\n")
        choice = self.whole_text(first) if blank and "\n" not in first.strip() else None
        if choice is None or self.whole_text(rest.strip()) is not None:
            return None
        return self._corrected(text, len(first), choice)

    def with_verdicts(self, text: str) -> str | None:
        """Return the options that a line-by-line list of all options affirms, as in `B. hydrogen – correct`; those that
        fit the question, if the text says so, since a question may ask for the wrong ones."""
        fitting = {
            letter: match["denied"] is None
            for match in _FITS_QUESTION.finditer(text)
            for letter in re.findall("[A-H]", match["letters"])
        }
        if len(set(fitting.values())) > 1:
            return self.choice_of(letter for letter, fits in fitting.items() if fits) or ""
        lines = [(line, opening) for line in lines_of(text) if (opening := _LEADING_LETTER.match(line)) is not None]
        verdicts = [(opening[1], _LINE_VERDICT.search(line, opening.end(1))) for line, opening in lines]
        affirmed = [letter for letter, verdict in verdicts if verdict is not None and verdict["affirmed"]]
        denied = [letter for letter, verdict in verdicts if verdict is not None and not verdict["affirmed"]]
        if not affirmed or len({letter.upper() for letter in (*affirmed, *denied)}) < max(2, len(lines)):
            return None
        return self.choice_of(affirmed) or ""

    def concluded(self, text: str) -> str | None:
        """Return the option that is the last part of a text, after a word such as `therefore`, an arrow or a colon."""
        breaks = [mark.end() for mark in _CONCLUSION.finditer(text, max(0, len(text) - 4 * _MAX_DISTANCE))]
        for start in breaks[-2:]:
            choice = None if _LIST_OF_OPTIONS.search(text[:start]) else self.whole_text(text[start:])
            if _TURNED.search(text[max(0, start - 20) : start]):
                return ""
            if is_attributed_to_others(text, text.rfind(":", 0, start) if ":" in text[start - 2 : start] else start):
                continue
            if choice is not None and (word := re.compile(r"\w").search(text, start)) is not None:
                return choice if is_affirmed(text, word.start(), word.end(), labelled=True) else None
        return None

    def of_cell(self, cell: str) -> str | None:
        """Return the letter of the option that a cell of a table names; None if it names none."""
        opening = _LEADING_LETTER.match(cell)
        letter = self.whole_text(cell) or (self.choice_of([opening[1]]) if opening is not None else None)
        return letter if letter is not None and index_of(letter) < ALPHABET else None

    def in_form(self, text: str) -> str | None:
        """Return the options that a form ticks, a list with boxes or a table."""
        return self.choice_of(dict.fromkeys(ticked(text, self.of_cell)))

    def in_table(self, text: str) -> str | None:
        """Return the options that a table affirms, whose rows or columns are options, each with a verdict."""
        for table in tables_of(text):
            for rows in (table, turned(table)):
                if len(verdicts := self._verdicts_of(rows)) > 1:
                    choice = self.choice_of(letter for letter, affirmed in verdicts.items() if affirmed) or ""
                    return choice if self.several else self._corrected(text, text.rfind("|"), choice)
        return None

    def _verdicts_of(self, rows: Sequence[Sequence[str]]) -> dict[str, bool]:
        """Return the verdicts on the options that are the rows of a table; empty if a row has none."""
        headings, body = rows[0], rows[1:]
        if self.of_cell(headings[0]) is not None:
            headings, body = [""] * len(headings), rows
        letters = [self.of_cell(row[0]) for row in body]
        if None in letters or len(set(letters)) < len(letters):
            return {}
        truths = [_CELL_VERDICT.fullmatch(heading) for heading in headings]
        if (
            sum(truth is not None for truth in truths) == 2
            and len({truth["affirmed"] is None for truth in truths if truth}) == 2
        ):
            columns = {place: truth["affirmed"] is not None for place, truth in enumerate(truths) if truth is not None}
            marked = [[place for place in columns if place < len(row) and row[place]] for row in body]
            if all(len(places) == 1 for places in marked):
                return {str(letter): columns[places[0]] for letter, places in zip(letters, marked, strict=True)}
        for place in reversed(range(1, len(headings))):
            verdicts = [_CELL_VERDICT.match(row[place]) if place < len(row) else None for row in body]
            if None not in verdicts and _VERDICT_HEADING.fullmatch(headings[place]):
                return {
                    str(letter): verdict is not None and verdict["affirmed"] is not None
                    for letter, verdict in zip(letters, verdicts, strict=True)
                }
        return {}

    def on_own_line(self, text: str) -> str | None:
        """Return the option that is alone on the first line, begins the first line, or is alone on the last line."""
        lines = list(lines_of(text))
        if not lines:
            return None
        openings = [opening for line in lines if (opening := self._leading_option(line)) is not None]
        whole_first = self.whole_text(lines[0]) if len(lines) > 1 else None
        last = self.whole_text(lines[-1])
        if whole_first is not None:
            choices = [self.whole_text(line) for line in lines]
            if self.several and None not in choices:
                return self.choice_of(choice for choice in choices if choice)
            if last not in (None, whole_first):
                return ""
            return self._corrected(text, text.index(lines[0]) + len(lines[0]), whole_first)
        first = self._leading_option(lines[0])
        if first is not None and (len(set(openings)) == 1 or (self.several and len(lines) == len(openings))):
            letters = self.choice_of(openings) or ""
            leading = _LEADING_LETTER.match(lines[0])
            end = len(lines[0]) if leading is None else leading.end(1)
            return self._corrected(text, text.index(lines[0]) + end, letters)
        if last is not None:
            return last if {self.whole_text(line) for line in lines} <= {None, last} else ""
        return None

    def _leading_option(self, line: str) -> str | None:
        """Return the option at the beginning of a line, if it is affirmed."""
        if (choice := self.whole_text(line)) is not None:
            return choice
        if self.several and (opening := self.forms.announced.match(line)) is not None:
            ends = re.match(r"[\s\"')\]]{0,4}(?:[.):,;!。、]|\s[-–—]|\Z|选?项)", line[opening.end() :])
            if (
                ends is not None
                and line[opening.start("letters")].isupper()
                and not (len(opening["letters"]) == 1 and _has_denying_verdict(line, opening.end("letters")))
                and frame_of(line, *opening.span("letters")) is Frame.AFFIRMED
            ):
                return self.choice_of([opening["letters"] + self._listed_below(line, *opening.span("letters"))])
        opening = _LEADING_LETTER.match(line)
        if (
            opening is None
            or _NEXT_IN_LIST.match(line, opening.end(1))
            or _ARTICLE_AND_WORD.match(line, opening.start(1))
        ):
            return None
        if _PRONOUN.match(line, opening.start(1)) or (len(opening[1]) > 1 and len(self.folded) <= ALPHABET):
            return None
        if self.several and _has_denying_verdict(line, opening.end(1)):
            return None
        further = self._listed_below(line, *opening.span(1)) if self.several else ""
        choice = self.choice_of([opening[1] + further])
        if choice is not None and self._has_own_text(choice, line[opening.end(1) :]):
            return choice
        frame = frame_of(line, *opening.span(1))
        return choice if frame is Frame.AFFIRMED or (frame is Frame.HELD and not self.several) else None

    def mentioned(self, text: str) -> str | None:
        """Return the only affirmed option, by its letter, or by its text if no letter is mentioned. An option with a
        verdict (`B is correct`) has priority."""
        blank = _NOT_A_LETTER.sub(_blank, _FORMULA_OF_LETTERS.sub(_blank, text))
        frames: dict[Frame, list[re.Match[str]]] = {frame: [] for frame in Frame}
        isolated = _forms(_MIN_OPTIONS if self.several else len(self.folded)).isolated
        mentions = list(islice(isolated.finditer(blank), _MAX_MENTIONS + 1))
        if len(mentions) > _MAX_MENTIONS:
            return ""
        for mention in mentions:
            if not is_attributed_to_person(blank, mention.start()):
                frames[frame_of(blank, *mention.span())].append(mention)
        with_verdict = self.choice_of(match[0] for match in frames[Frame.HELD])
        if with_verdict is not None:
            return with_verdict if self.several else self._corrected(text, frames[Frame.HELD][-1].end(), with_verdict)
        affirmed = sorted(frames[Frame.HELD] + frames[Frame.AFFIRMED], key=re.Match.start)
        if affirmed and self.several:
            if _LIST_OF_OPTIONS.search(blank[: affirmed[0].start()]):
                return ""
            gaps = [blank[one.end() : other.start()] for one, other in pairwise(affirmed)]
            return (
                (self.choice_of(match[0] for match in affirmed) or "")
                if all(map(_MENTION_SEPARATOR.fullmatch, gaps))
                else ""
            )
        if affirmed:
            choice = self.choice_of(match[0] for match in affirmed)
            return choice or self._corrected(text, affirmed[0].end(), "")
        if any(frames.values()):
            return None
        return self._mentioned_text(_folded(text, self.cased))

    def with_text(self, rest: str) -> str | None:
        """Return the option with whose text a string begins; the one with the longest text if there are several."""
        start = _folded(rest, self.cased)
        matching = [index for index, option in enumerate(self.folded) if option and re.match(_pattern(option), start)]
        length = max((len(self.folded[index]) for index in matching), default=0)
        longest = [index for index in matching if len(self.folded[index]) == length]
        return letters_at(longest[0]) if len(longest) == 1 else None

    def _mentioned_text(self, text: str) -> str | None:
        """Return the only option whose text is affirmed. Occurrences inside the longer text of another option and texts
        of a single character do not count."""
        texts = self.folded
        spans = {index: [*self._spans_of_text(index, text)] for index, option in enumerate(texts) if option}
        longer_spans = {
            index: [
                span
                for other, spans_of_other in spans.items()
                if texts[other] != texts[index] and texts[index] in texts[other]
                for span in spans_of_other
            ]
            for index in spans
        }
        affirmed = [
            index
            for index, own_spans in spans.items()
            if any(
                is_affirmed(text, *span)
                for span in own_spans
                if not any(start <= span[0] and span[1] <= end for start, end in longer_spans[index])
            )
        ]
        return letters_at(affirmed[0]) if len(affirmed) == 1 and len(texts[affirmed[0]]) > 1 else None

    def _spans_of_text(self, index: int, text: str) -> Iterator[tuple[int, int]]:
        return (match.span() for match in re.finditer(_pattern(self.folded[index]), text))


def _blank(match: re.Match[str]) -> str:
    """Return as many blanks as a match has characters."""
    return " " * len(match[0])


def _has_denying_verdict(text: str, start: int) -> bool:
    """Return true if the first verdict behind a letter in its line denies the option: `A. this is incorrect`."""
    line_end = text.find("\n", start)
    verdict = _LINE_VERDICT.search(text, start, len(text) if line_end < 0 else line_end)
    return verdict is not None and not verdict["affirmed"]


def _has_only_letters(text: str) -> bool:
    """Return true if a text consists of option letters with separators and punctuation."""
    return re.search("[A-Za-z]", text) is not None and _ONLY_LETTERS.fullmatch(text) is not None


def _folded(text: str, cased: bool = False) -> str:
    """Return a text for comparison: without punctuation at its ends, without spaces except those between Latin words,
    and in lower case unless `cased`."""
    return _REMOVABLE_SPACE.sub("", text if cased else text.casefold()).strip(_EDGE_PUNCTUATION)


def _pattern(option: str) -> str:
    """Return a pattern for the text of an option as separate words and numbers: `8` occurs neither in `80` nor in `1.8`
    or `-8`."""
    before = r"(?<![A-Za-z0-9])(?<![0-9]\.)" if _LATIN.match(option[0]) else ""
    signed = r"(?<!(?<![\w)])-)" if option[0].isdigit() else ""
    after = r"(?![A-Za-z0-9])(?!\.[0-9])" if _LATIN.match(option[-1]) else ""
    return rf"{before}{signed}{re.escape(option)}{after}"
