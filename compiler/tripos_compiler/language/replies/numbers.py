r"""Which of its numbers a reply states.

Everything that reads a number of a text uses `read_number`: the functions `number`, `last_number` and `final_number`,
typed replies and the scores of judges. They differ in where they look, and in nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.locales import odd_number
from tripos_compiler.language.replies.number_labels import Label, explanations, labels_of, score_labels
from tripos_compiler.language.replies.number_text import CLOSES, OPENS, number_text
from tripos_compiler.language.replies.number_tokens import (
    CURRENCY,
    DIGITS,
    NumberToken,
    is_rough,
    number_of,
    scan,
    worded_numbers,
)
from tripos_compiler.language.replies.places import answer_fields, last_box

Policy = Literal["whole", "last", "final", "stated"]


class NumberReading(NamedTuple):
    """The reading of a text: a number; nothing; or, in `odd`, digits that may mean two things."""

    value: int | float | None = None
    odd: str | None = None


NOTHING = NumberReading()
_DENIED = NumberReading()
"""What says only which number it is not."""


_FIELDS = late_pattern(r"[{,]\s{0,9}[\"']")
_HASHES = late_pattern(r"####[ \t]{0,9}(?=[^\s#])([^\n]{1,200})")
_ENUMERATED = late_pattern(r"\(?\d{1,3}[.)]\s+(?=\S)")
_ANSWER_TAG = late_pattern(rf"{OPENS}([^{OPENS}{CLOSES}]{{1,2000}})(?:{CLOSES}|\Z)")
_SENTENCE = late_pattern(
    r"(?<!max)(?<!\bca)(?<!approx)(?<!i\.e)(?<!e\.g)(?<!\b[Nn]o)(?<!\bRs)(?:(?:[.?]|!(?!\s?[=+×*/]))(?=\s)"
    r"|;(?=\s(?![-$]?\d)))|[。；！？]|[.;!](?=\"?\Z)"
)
_STOP = late_pattern(r"(?<!max)(?<!\bca)(?<!approx)(?<!i\.e)(?<!e\.g)(?<!\bno)[.;!?](?=\s|\"|\Z)|[。；！？\n]")
_ASIDE = late_pattern(r"\([^()\n]{0,200}\)")
_WAS = late_pattern(
    r"\(\s?(?:was|were|previously|formerly|originally|or|maybe|perhaps|possibly|not sure|before|instead of"
    r"|down from|up from|earlier|原来|之前|或|可能)",
    re.I,
)
_BARE = late_pattern(rf"\(\s?[-–$=≈]?\s?{DIGITS}\s?%?\s?\)")
_CUT = late_pattern(
    r",?\s(?:because|since|as (?:the|it|a|this|there|its|that)|so that|where|which|rather than|instead of"
    r"|checking|given that|considering|due to|although|though|but (?!(?:not )?\d)|while|for which"
    r"|weil|denn|car|parce que|porque|da)\b|因为|由于|而不是|，?理由|--| — | – (?=[a-z])",
    re.I,
)
_NEGATOR = late_pattern(
    r"(?:(?:\bnot\b|n't\b|\bnever\b|\bneither\b|\bnor\b|\bcannot\b|\brather than|\binstead of|\bother than"
    r"|\bexcept\b|\bwithout\b|\banything but|\bfar from|\ball but|≠|\bnicht\b|\bkein\w{0,2}\b|\bpas\b"
    r"|\bnon\b(?! -)"
    r"|不[会能应该值可配想]{1,3}[给打得评为是]{0,2}|不是|不等于|不为|并非|并不是|没有|不能是|绝非|不可能是|除了|而非|难以|未必)\W*(?:[\w']+\W+){0,2}\W*)\Z",
    re.I,
)
_IS_NOT = late_pattern(
    r"(?:(?:answer|result|solution)\b[^.!?\n]{0,12}(?:\bnot|n't|\bcannot)(?: be)?|(?:答案|结果)(?:并?不|绝不|不可能"
    r"|不会)(?:是|为|等于)|anything but)\W{0,3}\Z",
    re.I,
)
_TURNS = late_pattern(
    r"[,，;；]|(?<!anything )(?<!all )\bbut\b|\bit is\b|\bit's\b|\bsondern\b|\bmais\b|\bsino\b|而是", re.I
)
_SCALE = late_pattern(
    rf"(?:\s?(?:分|点|points?|pts?|marks?|stars?|punkte|puntos|балл\w{0, 2}))?\s?\(?,?\s?(?:out of|of|von|sur|de"
    r"|su|sobre|из|/|over|on a scale of|max(?:imum)?\.?(?: of)?|(?:von|of|out of) max(?:imum|imal)?\.?|满分(?:为"
    r"|是)?:?|共)"
    rf"(?: (?:a |the )?(?:possible|total|maximum)(?: of)?)?\s?\Z",
    re.I,
)
_UNIT = r"(?:\s?(?:[^\W\d_]{1,15}|[%°€£¥$²³*'\"\])]|[^\W\d_]{1,8}/[^\W\d_]{1,8})){0,2}"
_SEVERAL = late_pattern(
    rf"{_UNIT}\s?[\])}}\"'$]{{0,2}}\s?(?:[,;/~、&|→⇒]|->|=>|\.\.+|…|[-–—]|(?:\b(?:or|and|to|oder|und|bis|ou|et|à|o|y|e"
    r"|vs\.?|versus|through|then|plus or minus)\b)|±|[或和与及至到])"
    rf"\s?(?:(?:or|and|maybe|perhaps|possibly|even|else|[a-zA-Z]\s?=)\s?)?[\[({{\"'$]{{0,2}}\s?",
    re.I,
)
_OPERATOR = late_pattern(
    r"\s?\)?\s?(?:[+×xX*·÷/^-]|:(?!\s)|\s:\s|\s[–]\s"
    r"|plus|minus|times|divided by|multiplied by|乘以?|加上?|减去?|除以)\s?\(?\s?",
    re.I,
)
_COMPOUND = late_pattern(
    r"\s?(?:°|hours?|hrs?|h|minutes?|mins?|m|seconds?|days?|weeks?|months?|years?|feet|foot|ft|'|pounds?|lbs?"
    r"|dollars?|euros?|kg|km|stunden?|minuten?|tage?|heures?"
    r"|horas?|元|块|角|小时|时|分|分钟|天|年|米|公斤|斤|千克|里)\s?(?:,\s|and\s|und\s|et\s|y\s|零)?",
    re.I,
)
"""Between the parts of one quantity, whose value depends on the unit that is meant."""
_ASSIGNMENTS = late_pattern(
    r"(?<![A-Za-z])[A-Za-z](?:_\{?\w{1,2}\}?|[₀-₉])?\s?=[^=,;\n]{1,60}(?:,|;|\bor\b|\band\b|\boder\b|\bund\b|\bet\b"
    r"|\bou\b|或|和|、)\s{0,3}(?:\$?[A-Za-z](?:_\{?\w{1,2}\}?|[₀-₉])?\s?=|\Z)"
)
_QUOTED = late_pattern(r"\"[^\"\n]{1,400}\"|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』|«[^«»\n]{1,400}»")
_WORD = late_pattern(r"[^\W\d_]")
_LEADING = late_pattern(
    r"(?:[\W_]|\b(?:therefore|thus|so|hence|then|is|equals?|equal to|exactly|only|just|a|an|the|total of"
    r"|simply|about|around|approximately|roughly|nearly|almost|some"
    r"|[a-z](?=\s?=)|also|alors|donc|genau|ungefähr|etwa|circa|solid|strong|clear|final|score of|rating of"
    r"|over|at least|at most|more than|less than)\b|[是为约得]|应该|应当|大约|就){0,12}\Z",
    re.I,
)
_SCORE_TAIL = late_pattern(
    r"[*_\"'\])}$]{0,3}\s?(?:\Z|[.,;:!?。，；！、\n(\[]|/|分|points?\b|pts?\b|stars?\b|out of\b|of\b|marks?\b|%"
    r"|percent|because\b|since\b|as\b|for\b|and\b|but\b|overall\b|in total\b|here\b|[-–—]\s"
    r"|on a\b|on the\b|星|punkte|puntos|points|sur\b|von\b|de\b|would\b|is\b|seems\b|feels\b|given\b|due\b"
    r"|with\b|rather\b|instead\b|not\b|if\b|although\b|though\b|to\b|based\b|now\b|this\b|\||点|балл|颗|from\b"
    r"|it is\b)",
    re.I,
)
_OF_OTHERS = late_pattern(
    r"\b(?:student(?!'s (?:score|mark|grade))|pupil|candidate|response says|reply says|author|question"
    r"|problem|correct answer|expected|reference|gold|maximum|max|highest|minimum|lowest|deduct\w*|loses?"
    r"|lost|subtract\w*|takes? off|claims?|says?|said|states?|answered|wrote|writes|the answer|its answer"
    r"|their answer|the right answer|full (?:score|marks?)|(?:other|another|previous) (?:response|reply"
    r"|answer|one))\b"
    r"|学生|考生|另一|其他"
    r"|原文|题目|正确答案|参考|标准|最高|最低|满分(?!\d+分?\)?[,，.。]?得)|扣|减",
    re.I,
)
_SHORT = 80
"""Characters of a text so short that the one number in it is what it says."""
_BRACKETS = late_pattern(r"[\[\]{}]")
_JSON_BEGUN = late_pattern(r"""\{\s*["']|\[\s*["{]|\[\s*\[(?!\s?[-\d.,/]+\s?\]\])""")
_THAT_IS = late_pattern(r",?\s(?:i\.e\.|that is|namely|in other words|d\.h\.|c'est-à-dire)[,:]?\s", re.I)
_ANOTHER = late_pattern(
    r"\s?[,;]\s(?:and |but |while )?(?:the )?(?:response|answer|reply|student|option|model|assistant|other|second)\b",
    re.I,
)
_AND_A = late_pattern(r"(?:\b(?:and|or|und|oder|et|ou|y|o)|[,/])\s(?:an?\s)?[*\"']{0,2}\Z", re.I)
_CORRECTS = late_pattern(
    r"\b(?:wait|actually|correction|scratch that|i mean|make that|on second thought|sorry)\b[,:;]?|\bno,"
    r"|不对[,，]?(?:应该?是)?|更正[:：]?(?:为|应为)?|等等[,，]?|错了[,，]?|应改为",
    re.I,
)
_SCALE_PHRASE = late_pattern(
    rf"\b(?:on |using )?(?:a|the) (?:scale|range) (?:of|from) {DIGITS} ?(?:to|-|–) ?{DIGITS}|\({DIGITS} ?(?:-|–"
    rf"|to) ?{DIGITS}\)(?=\s?[:：])|满分(?:为|是)?{DIGITS}分?[,，]?|{DIGITS}点満点中",
    re.I,
)
_ENUMERATES = late_pattern(
    r"\b(?:section|page|step|question|problem|part|figure|fig\.|table|chapter|example|exercise|line|criterion"
    r"|item|task|case|equation|paragraph"
    r"|top|room|gate|route|platform|floor|level|option|rule|version|type|phase|stage|schritt|aufgabe|étape"
    r"|paso)\s(?:no\.?\s|number\s|#)?\Z|(?:步骤|问题|题目|例)\s?\Z",
    re.I,
)
_HEDGED = late_pattern(
    r"\s?(?:分|点|points?|stars?)?[,;(，；–—-]{0,2}\s?(?:(?:or|and|but|though|或|但)\s?)?(?:maybe|perhaps|possibly|arguably"
    r"|probably|even|could be|might be|may be|if not"
    r"|bordering on|verging on|leaning (?:towards?|to)|也许|可能|或许|甚至)(?:是)?\s?"
    r"(?:(?:even|just|barely|almost)\s)?(?:an?\s)?[*\"']{0,2}",
    re.I,
)
"""Between a score and another one that it may be as well."""
_FOR = late_pattern(r"\s?(?:points?|pts?|marks?|分)?\s?(?:for|on|给)\b", re.I)
_HEADS = late_pattern(r"[^\W_]\s?[:：]\s?\Z")
_ANY_SCORE = late_pattern(
    r"\b(?:an?|any|each|every|the (?:full|top|highest|next))\s(?:(?:full|perfect|higher|top)\s)?"
    r"(?:(?:score|rating|mark|grade)\s(?:of\s)?)?[*\"']{0,2}\Z",
    re.I,
)
_NEEDS = late_pattern(
    r"[*\"']{0,2}\s(?:points?\s|stars?\s)?(?:would(?:n't| not)? (?:(?:also|only|have|at least)\s){0,2}(?:need(?:ed)?"
    r"|require[sd]?|mean|take|demand|imply|call for|have|be (?:given|reserved|awarded|for|possible|if|an?)\b)"
    r"|requires|needs|demands|means|is (?:reserved|for|given|awarded)\b)",
    re.I,
)
"""Behind a score that is described and not given."""
_IT_WOULD = late_pattern(
    r"\b(?:it|this|that|which|reply|response|answer|essay|he|she|they)(?:'d| would)(?: easily| surely| have)?"
    r" (?:be|been|get|score|earn|deserve|merit|rate)\s(?:an?\s)?[*\"']{0,2}\Z",
    re.I,
)
_GIVEN_THAT = late_pattern(r"[*\"']{0,2}\s(?:points?\s|stars?\s)?(?:with|without|had|were|if|but for)\b", re.I)
_GIVEN_BEFORE = late_pattern(r"\b(?:with|without|had|were|if|but for)\b[^.!?;\n]{0,60}\Z", re.I)
_EITHER = late_pattern(
    rf"(?:\b(?:could|might|may|can) be|\beither|\bmaybe|\bperhaps|\bpossibly|可能是?|也许是?)\s?{DIGITS}{_UNIT}"
    r"\s?(?:or|oder|或者?)\s?\Z",
    re.I,
)
_METRIC = late_pattern(r"[\W_]{0,6}[^\W\d_]{2,20}(?:[ -][^\W\d_]{1,20}){0,2}[*_\"']{0,3}\s?[:：]")
_POINTS = late_pattern(r"\b(?:deduct|subtract|take off|start(?:ing|ed)? (?:from|with|at)|lose|points)|扣|减", re.I)
_SUM = late_pattern(rf"{DIGITS}\s?[-+–]\s?{DIGITS}\s?=\s?")
_RATED = late_pattern(r"[^\W\d_][*_\"')]{0,3}\s?[:：=]\s?[*_]{0,2}\d")
_NO_METRIC = late_pattern(
    r"\b(?:errors?|mistakes?|counts?|number|words?|length|steps?|issues?|max\w*|min\w*|highest|lowest|correct|expected"
    r"|candidate|reference|gold|student\w*|question|problem|example|lines?|page|year|date"
    r"|lost|typos?|weakness\w*|strengths?|time"
    r"|citations?|sources?|deduct\w*|penalty|threshold|average"
    r"|criteri\w+|points|marks|claims|facts|found|total|sum|part|item|task|level|version|scale|range|note)\b"
    r"|错误|字数|步骤|满分|最高|最低|正确|参考|标准|学生|考生|例|题|年|扣|总|共",
    re.I,
)
"""Heads of lines that are no name of a metric."""
_EXPLAINED = late_pattern(
    r"[*_\"']{0,3}\s?(?:/\s?\d{1,3}|(?:points?|pts?|stars?|分|点)(?!\w))?[*_]{0,3}\s?(?:\Z|\n|$"
    r"|[-–—(;；。]|\s?(?:because|since)\b|[.,，](?=\s|\Z|$))",
    re.M,
)
_COMPUTED = late_pattern(
    rf"[^\d\n]{{0,40}}\b(?:sum|product|difference|quotient|average|mean|median|total|remainder|gcd|lcm|ratio)\b"
    rf"[^\n]{{1,60}}?\s(?:is|equals|are|comes to)\s(?=[-$*]{{0,3}}{DIGITS}[*]{{0,2}}[.!]?\Z)"
    rf"|[^\d\n]{{0,40}}{DIGITS}\s?(?:[-+–×*÷]|plus|minus|times|divided by|multiplied by)\s?{DIGITS}"
    rf"\s(?:is|equals|makes|gives)\s(?=[-$*]{{0,3}}{DIGITS}[*]{{0,2}}[.!]?\Z)",
    re.I,
)
"""What is computed, before its result: `the sum of 10 and 9 is`."""
_CLAIMED = late_pattern(r"\b(?:not|n't|student|says?|said|claims?|states?|wrote|thinks?|wrong\w*|if|would)\b", re.I)
_SO = late_pattern(
    r"[*_\s]{0,6}(?:(?:so|thus)(?! far\b| long\b)|therefore|hence|in total|altogether|in conclusion|in all|所以|因此"
    r"|因而|综上|总共|一共)(?:\b|(?<=[\u3400-\u9fff]))"
    r"[,，:]?\s?",
    re.I,
)
_UNSETTLED = late_pattern(
    r"\b(?:(?:I|we) (?:have|need|would|will|can|could|must|should|don't|do not)|can't|cannot|wrong|incorrect|false"
    r"|which|left to|needs?|still|add|twice|double|half|times|more|less|fewer|another|of it"
    r"|first|next|let|one of|of the|options?|steps?|depends?|unless|not)\b|无法|不能|错",
    re.I,
)
"""In a sentence that draws no conclusion yet, or none about a number."""
_UNIT_BETWEEN = late_pattern(r"\s?[^\W\d_]{1,15}\s?")
_UNIT_NEXT = late_pattern(r"\s?[^\W\d_]")
_WITH_UNIT = late_pattern(r"\s?(?:points?|pts?|stars?|marks?|分|点|/\s?\d)(?![^\W\d_])", re.I)
_TAKEN = late_pattern(r"(?:扣[了掉除]?|减[了去]?|\b(?:deduct(?:ed|s|ing)?|lost|loses|minus))\s?\Z", re.I)
_SHARE = late_pattern(
    r"\sof\s(?:the\s|its\s)?\d+\s(?!points?|pts|marks?|stars?|score)[^\W\d]"
    r"|\sof\s(?:the|its|them|these)\s(?!score|points|marks|\d)",
    re.I,
)
_IN_ORDER_TO = late_pattern(r"(?:^|[.!?;,\n]\s?|\border )to \Z", re.I)
"""Before a verb: what a score is for is not given yet, as of `to get a 5, it needs a source`."""
_ENUMERATED_WITHIN = late_pattern(r"[.!?]\s\(?\d{1,2}[.)]\s+(?=\S)")
_FIRST_AWARD = late_pattern(r"\s?(?:points?|pts?|stars?|marks?|分)[*_]{0,2}\s?[.。!;；:：,，—–(-]", re.I)
_FAULTS = late_pattern(
    r"\b(?:errors?|mistakes?|typos?|issues?|weakness\w*|strengths|words|deduct\w*|penalty)\b|错误|字数|扣", re.I
)
_PART_HEAD = late_pattern(r"[^\n:：=]{1,60}[:：]")
_OR_SO = late_pattern(r"\s?(?:-|–|~|\bto\b|\bor\b)\s?\d")
_PART_OF = late_pattern(
    r"\sof\b(?! the (?:score|points|marks))|\s(?:students|people|times|cases|experts|respondents|users"
    r"|readers|facts|criteria|steps|sentences|words"
    r"|lines|claims|items|questions|answers|parts)\b",
    re.I,
)
_IF_THEN = late_pattern(r"\b(?:if|unless|had|were)\b", re.I)
_WOULD = late_pattern(r"\b(?:would|could|might)\b|'d\b", re.I)
_I_HAVE = late_pattern(r"\W{0,3}(?:I|we) (?:have|need|would|will|can)\b", re.I)
_AVERAGE = late_pattern(
    r"(?:\A|[.;,\n–—(]\s{0,3}|\bon )[*_]{0,2}(?:the )?(?:average|mean)(?: score)?[*_]{0,2}"
    r"(?:\s?[:：=]| is)\s?[*_]{0,2}\Z"
    r"|平均分?\s?[:：为是]?\s?\Z",
    re.I,
)
_ROUNDED = 0.5
_NEXT = 4
"""So far behind a label at most its number stands, with marks between."""
_NEARLY = 0.05
_TURNS_TO = late_pattern(
    r"\b(?:but|however|wait|actually|so|overall|final\w*|reflection|now|yet|still|instead|therefore|thus|hence|total"
    r"|settle|though|although|while|nevertheless|nonetheless|rather|correction|no|in sum|altogether|balance"
    r"|then|closer|lowers?|raises?|reduces?|brings?|bringing|down|up|leav\w+|accordingly|initially|ultimately"
    r"|conclusion|all|it's|that's|is|as|sorry)\b"
    r"|[\u3400-\u9fff]",
    re.I,
)
"""Between a score and one that takes its place."""
_LEVEL = late_pattern(r"[\s*_#]*(?:level|band|tier)\s", re.I)
_LEVEL_END = late_pattern(r"[*_]{0,2}\s?(?:[:：(]|[-–—]\s)[*_]{0,2}\s?[^\W\d]")
_AND_ALSO = late_pattern(r"\(\s?(?:and|plus|or|as well as)\b", re.I)
_APPROACHES = late_pattern(r"[\s$*)\]}]*≈")
_GROUPS = late_pattern(r"[1-9]\d{0,2}(?: \d{3})+")
_STARS = late_pattern(r"(?:rating|score)?:?\s?(?P<full>(?:[★⭐]\ufe0f?){1,10})[☆]{0,9}", re.I)
_MOST_LINES = 200
_MOST_CHARACTERS = 100_000
"""Of a longer text so many characters at its end are read: an answer stands there, and no answer has as many."""
_FAR = 200
"""So far behind a label numbers in words are looked for."""


def read_number(text: str, locale: str, policy: Policy, scale: float | None = None) -> NumberReading:
    r"""Return the number that a text states, or what is odd in it.

    `whole`: the number that the whole text is. `last`: the last one. `final`: that of the last explicit final form
    (`\boxed{…}`, `#### 12`, `Final answer: 12`, `<answer>12</answer>`), or else of the last label, or else the last
    one. `stated`: the same, but instead of the last one the one that is mentioned, where no other is. With a `scale`, a
    score is meant, up to that number.

    >>> read_number("Answer: 12. Explanation: the answer 15 would be wrong", "en", "final").value
    12
    >>> [read_number("The student's answer is 7. I give 2 of 10.", "en", "stated", 10).value]
    [2]
    >>> [read_number(text, "en", "stated").value for text in ("5 or 6", "not 8", "about 42", "3+2+1=6")]
    [None, None, None, 6]
    """
    plain = number_text(text, locale)
    if policy == "stated" and _JSON_BEGUN.search(plain) is not None:
        return NOTHING
    if len(plain) > _MOST_CHARACTERS:
        if policy == "whole":
            return NOTHING
        plain = _end_of(plain)
    reader = _Reader(plain, scan(plain, locale), policy == "stated", scale)
    match policy:
        case "whole":
            return reader.whole()
        case "last":
            return reader.last()
        case "final":
            return reader.form() or reader.label(reader.answers) or reader.arrived()
        case "stated":
            return reader.stated()


def _end_of(plain: str) -> str:
    """Return the last characters of a text, from the head of a line or a word."""
    start = len(plain) - _MOST_CHARACTERS
    line = plain.find("\n", start, start + 1000)
    word = plain.find(" ", start, start + 1000) if line < 0 else line
    return plain[max(start, word) :]


def read_listed(piece: str, locale: str) -> NumberReading:
    """Return the number that an element of a list states, of which `number_text` was made already."""
    if _JSON_BEGUN.search(piece) is not None:
        return NOTHING
    return _Reader(piece, scan(piece, locale), True, None).stated()


def odd_reason(reading: NumberReading, locale: str) -> str | None:
    """Return why digits are no number, in words; None where nothing is odd."""
    return None if reading.odd is None else odd_number(reading.odd, locale)


class _Reader:
    """Which of the numbers of a text is read. `strict`: about so much is no number."""

    def __init__(self, plain: str, tokens: Sequence[NumberToken], strict: bool, scale: float | None) -> None:
        self.plain = plain
        self.tokens = tokens
        self.strict = strict
        self.scale = scale
        self._starts = [token.start for token in tokens]
        self._quotations: list[tuple[int, int]] | None = None
        self._spans: list[tuple[int, int]] | None = None

    @cached_property
    def answers(self) -> list[Label]:
        """The labels of answers that stand in no question and no quotation."""
        return self._affirmed(labels_of(self.plain))

    @cached_property
    def scores(self) -> list[Label]:
        """The labels of scores, alike; what is given in no indicative counts where nothing else announces one."""
        given = [label for label in self._given if not label.described]
        return [label for label in given if not label.weak] or given

    @cached_property
    def _given(self) -> list[Label]:
        return self._affirmed(self._every_score)

    @cached_property
    def _every_score(self) -> list[Label]:
        return score_labels(self.plain)

    @cached_property
    def stops(self) -> list[int]:
        """Where sentences end."""
        return [found.start() for found in _STOP.finditer(self.plain)]

    def _asks(self, start: int) -> bool:
        """Return true if the sentence at a place is a question."""
        place = bisect_left(self.stops, start)
        return place < len(self.stops) and self.stops[place] < start + _FAR and self.plain[self.stops[place]] in "?？"

    def between(self, start: int, end: int) -> list[NumberToken]:
        """Return the tokens that begin between two places."""
        return list(self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)])

    def meant(self, start: int, end: int) -> list[NumberToken]:
        """Return the numbers between two places without those of names (`step 2`) and of scales (`from 1 to 10`); with
        none, those in words."""
        every = self.between(start, end)
        if not every:
            return worded_numbers(self.plain, start, min(end, start + _FAR))
        scales = [found.span() for found in _SCALE_PHRASE.finditer(self.plain, start, end)]
        return [
            token
            for token in every
            if token.kind != "name"
            and _ENUMERATES.search(self.plain, max(start, token.start - 20), token.start) is None
            and not any(a <= token.start < b for a, b in scales)
        ]

    def whole(self) -> NumberReading:
        plain = self.plain
        if (
            (box := last_box(plain)) is not None
            and _EMPTY_BEFORE.fullmatch(plain, 0, box.start)
            and _EMPTY_BEHIND.fullmatch(plain, box.end)
        ):
            start, end = box.inside, box.end - 1
        else:
            start, end = 0, len(plain)
        tokens = self.between(start, end)
        if len(tokens) != 1 or is_rough(plain, tokens[0]):
            return NOTHING
        token = tokens[0]
        around = _EMPTY_BEFORE.fullmatch(plain, start, token.start) and _EMPTY_BEHIND.fullmatch(plain, token.end, end)
        return _said(token) if around else NOTHING

    def last(self) -> NumberReading:
        for token in reversed(self.tokens):
            if token.kind != "name":
                return _said(token)
        return NOTHING

    def arrived(self) -> NumberReading:
        """Return the last number, where nothing is announced: nothing if it is denied to be the answer, and one in
        words if it is the only one."""
        token = next((token for token in reversed(self.tokens) if token.kind != "name"), None)
        if token is None:
            words = worded_numbers(self.plain, 0, len(self.plain)) if len(self.plain) <= _SHORT else []
            return (
                _said(words[0])
                if len(words) == 1 and words[0].value != 1 and not is_rough(self.plain, words[0])
                else NOTHING
            )
        since = max(0, token.start - 40)
        if (beside := self._beside_aside(token)) is not None:
            return beside
        if _IS_NOT.search(self.plain, since, token.start) or _EITHER.search(self.plain, since, token.start):
            return NOTHING
        return _said(token)

    def _beside_aside(self, last: NumberToken) -> NumberReading | None:
        """Return the one number of a conclusion that ends in brackets: `So it takes 5 hours (300 minutes).`; None with
        no such sentence."""
        stop = bisect_left(self.stops, last.start)
        start = self.stops[stop - 1] + 1 if stop else 0
        end = self.stops[stop] if stop < len(self.stops) else len(self.plain)
        if (head := _SO.match(self.plain, start, end)) is None:
            return None
        asides = [found.span() for found in _ASIDE.finditer(self.plain, head.end(), end)]
        if not asides or not asides[-1][0] < last.start < asides[-1][1]:
            return None
        outside = [token for token in self.between(head.end(), end) if not any(a < token.start < b for a, b in asides)]
        if len(outside) != 1:
            return None
        inside = self.between(*asides[-1])
        if _AND_ALSO.match(self.plain, asides[-1][0]) and not all(
            self.plain[token.start : token.end] == self.plain[outside[0].start : outside[0].end] for token in inside
        ):
            return NOTHING
        return self._settled(outside[0], None)

    def form(self) -> NumberReading | None:
        """Return what the last explicit final form says; None where none has a number."""
        forms: list[tuple[int, int, int]] = []
        led_on: set[int] = set()  # where another label stands behind in the same line
        if (box := last_box(self.plain)) is not None:
            forms.append((box.start, box.inside, box.end - 1))
        if _FIELDS.search(self.plain) is not None:
            forms += [(start, start, end) for start, end in answer_fields(self.plain)]
        if "####" in self.plain:
            forms += [(found.start(), *found.span(1)) for found in _HASHES.finditer(self.plain) if self._ends(found)]
        if OPENS in self.plain:
            forms += [
                (found.start(), *self._sentence(found.start(1), found.end()))
                for found in _ANSWER_TAG.finditer(self.plain)
            ]
        scores = [] if self.scale is None else self.scores
        last_score = scores[-1].start if scores else -1
        for label, most in _with_limits(sorted(self.answers + scores)):
            if label.final and (self.scale is None or label in scores[-1:] or label.start > last_score):
                if label.others and self.scale is not None:
                    continue
                start, end = self._sentence(label.end, most)
                forms.append((label.start, start, end))
                if most is not None and self.plain.find("\n", start, most) < 0:
                    led_on.add(start)
        for _, start, end in sorted(forms, reverse=True):
            found = self.one(start, end)
            if found is not None and not (found == NOTHING and start in led_on):
                return found
        return None

    def label(self, labels: Sequence[Label]) -> NumberReading | None:
        """Return what the last label announces; None where no label announces a number."""
        pairs = list(_with_limits(labels))
        if pairs and (heads := explanations(self.plain)):
            first = next((label for label, most in pairs if self._announced(label, most) is not None), None)
            head = next((head for head in heads if first is not None and head > first.start), len(self.plain))
            pairs = [pair for pair in pairs if pair[0].start < head]
        denied = False
        for label, most in reversed(pairs):
            said = self._announced(label, most)
            if said is _DENIED:
                denied = True
            elif said is not None:
                return self._corrected(label, said)
            elif label.heads and _WORD.search(self.plain, *self._sentence(label.end)) is not None:
                return NOTHING  # `Answer: unknown`
        return _DENIED if denied else None

    def _announced(self, label: Label, most: int | None) -> NumberReading | None:
        """Return what stands behind a label; None where that is no number."""
        start, end = self._sentence(label.end, most)
        return self._awarded(label, start, end) if label.verb else self.one(start, end)

    def _corrected(self, label: Label, said: NumberReading) -> NumberReading:
        """Return what is said instead in the same line: `48… wait, 42`."""
        line_end = self.plain.find("\n", self._sentence(label.end)[0])
        line_end = len(self.plain) if line_end < 0 else line_end
        tokens = self.between(label.end, line_end)
        cue = _CORRECTS.search(self.plain, tokens[0].end, line_end) if tokens else None
        if cue is None:
            return said
        return self.one(*self._sentence(cue.end(), line_end)) or NOTHING

    def stated(self) -> NumberReading:
        if self.scale is None:
            found = self.form() or self.label(
                sorted(self.answers + [label for label in self.scores if self._opens_or_ends(label)])
            )
        elif self._shares():
            return NOTHING
        else:
            found = self.form() or self.label(self.scores) or self._of_scale()
            if found is None:
                found = self.label([label for label in self.answers if not label.others])
        if found is _DENIED:
            return self._opening() or NOTHING
        return (
            found
            or self._averaged()
            or self._level()
            or self._headed()
            or self._awards()
            or self._opening()
            or self._concluded()
            or self._mentioned()
        )

    def _shares(self) -> bool:
        """Return true if different scores are given and none is the total or the later one: `I give a 5 for tone. I
        give a 3 for facts.`"""
        if len(self.scores) < 2 or not all(label.verb for label in self.scores):
            return False
        given = [
            (label, said)
            for label, most in _with_limits(self.scores)
            if (said := self._announced(label, most)) is not None and said is not _DENIED
        ]
        if len({said for _, said in given}) < 2:
            return False
        (before, _), (last, _) = given[-2:]
        return _TURNS_TO.search(self.plain, before.end, last.end) is None

    def _averaged(self) -> NumberReading | None:
        """Return the average that a reply ends with, if it is that of the scores before it."""
        if self.scale is None or len(self.tokens) < 3:
            return None
        *parts, last = self.tokens
        values = [self._points(token) for token in self.tokens]
        if None in values or max(value for value in values if value is not None) > self.scale:
            return None
        *scores, average = [value for value in values if value is not None]
        if _AVERAGE.search(self.plain, parts[-1].end, last.start) is None or is_rough(self.plain, last):
            return None
        if _SCORE_END.fullmatch(self.plain, last.end) is None:
            return None
        near = abs(sum(scores) / len(scores) - average) <= min(_ROUNDED, self.scale / 10)
        return self._settled(last, None) if near else None

    def _points(self, token: NumberToken) -> float | None:
        """Return a number as points of the scale: 8 of `8/10`."""
        if token.over is None or token.top is None:
            return token.value
        return float(token.top) if token.over == self.scale else None

    def _level(self) -> NumberReading | None:
        """Return the level that a text opens with, if it has no other number: `Level 3: meets expectations`."""
        if self.scale is None or len(self.tokens) != 1 or _LEVEL.fullmatch(self.plain, 0, self.tokens[0].start) is None:
            return None
        return self._settled(self.tokens[0], None) if _LEVEL_END.match(self.plain, self.tokens[0].end) else None

    def _opens_or_ends(self, label: Label) -> bool:
        """Return true if a label of a score heads the last line, or the first where only reasons have other numbers;
        else it is on the way."""
        if not label.heads:
            return False
        lines = self._lines()
        if label.start >= lines[-1][0]:
            return True
        if label.start >= lines[0][1]:
            return False
        reasons = next(iter(explanations(self.plain)), len(self.plain))
        return not self.between(lines[0][1], reasons)

    def _of_scale(self) -> NumberReading | None:
        """Return the one number that is given as a part of the scale: `8/10`, `8 out of 10`."""
        said: list[NumberReading] = []
        for token, behind in zip(self.tokens, (*self.tokens[1:], None), strict=False):
            over: Fraction | float | None = token.over
            end = token.end
            if (
                over is None
                and behind is not None
                and behind.value == self.scale
                and _SCALE.fullmatch(self.plain[token.end : behind.start][:_SHORT]) is not None
            ):
                over, end = behind.value, behind.end
            if (
                over is None
                or over != self.scale
                or is_rough(self.plain, token)
                or self._quoted(token.start, token.end)
            ):
                continue
            if self._asks(end) or self._denied(token, 0) or _PART_OF.match(self.plain, end):
                continue
            if _SCORE_TAIL.match(self.plain, end) is None and (token.over is None or _OR_SO.match(self.plain, end)):
                if token.over is not None:
                    return NOTHING
                continue
            said.append(NumberReading(number_of(token.top)) if token.over is not None else _said(token))
        return said[0] if said and all(one == said[0] for one in said) else None

    def _opening(self) -> NumberReading | None:
        """Return the number that the first or the last line is, where the others explain it."""
        lines = self._lines()
        if len(lines) < 2 or len(lines) > _MOST_LINES:
            return None
        found = [self._alone(*line) for line in lines]
        alone = [one for one in found if one is not None]
        if len(alone) != 1:
            return None
        return found[0] if found[0] is not None else found[-1]

    def _headed(self) -> NumberReading | None:
        """Return the score behind the only colon that has one: `Quality: 3`, with an explanation behind it."""
        if self.scale is None:
            return None
        reasons = next(iter(explanations(self.plain)), len(self.plain))
        if len(list(islice(_RATED.finditer(self.plain, 0, reasons), 2))) != 1:
            return None
        found: NumberReading | None = None
        for start, end in self._lines():
            head = _METRIC.match(self.plain, start, end)
            if head is None or start >= reasons:
                continue
            if found is not None or _NO_METRIC.search(head[0]) is not None:
                return None
            tokens = self.between(head.end(), end)
            if not tokens or self.plain[head.end() : tokens[0].start].strip("*_ "):
                continue
            if _EXPLAINED.match(self.plain, tokens[0].end, end) is None or is_rough(self.plain, tokens[0]):
                return None
            if self._doubted(tokens[0]):
                return None
            found = self._settled(tokens[0], None)
        return found

    def _doubted(self, token: NumberToken) -> bool:
        """Return true if behind a score another one stands at once, or what it was before."""
        behind = self.between(token.end, token.end + 40)
        return _WAS.search(self.plain, token.end, token.end + 16) is not None or (
            bool(behind)
            and (
                _HEDGED.fullmatch(self.plain, token.end, behind[0].start) is not None
                or _SEVERAL.fullmatch(self.plain, token.end, behind[0].start) is not None
            )
        )

    def _concluded(self) -> NumberReading | None:
        """Return the number of the last sentence, where that draws a conclusion: `So there are 5 animals.`"""
        lines = self._lines()
        if not lines:
            return None
        last = deque(self._sentences(*lines[-1]), 1)
        if not last:
            return None
        start, end, asked = last[0]
        if self.scale is not None and (points := self._points_left(start, end)) is not None:
            return points
        if self.scale is not None or asked or (head := _SO.match(self.plain, start, end)) is None:
            return None
        if len(self.between(head.end(), end)) != 1 or self._quoted(head.end(), end):
            return None
        if self._supposed(start, end) or _UNSETTLED.search(self.plain, head.end(), end) is not None:
            return None
        said = self._one(head.end(), end, anchored=False)
        return None if said is _DENIED else said

    def _points_left(self, start: int, end: int) -> NumberReading | None:
        """Return the result of a sum of points at the end of a sentence: `I deduct 1 point: 5 - 1 = 4`."""
        tokens = self.between(start, end)
        if len(tokens) < 3 or _POINTS.search(self.plain, start, end) is None:
            return None
        ahead = self.plain[tokens[-3].start : tokens[-1].start]
        if _SUM.fullmatch(ahead) is None or _SCORE_END.fullmatch(self.plain, tokens[-1].end, end) is None:
            return None
        return _said(tokens[-1])

    def _lines(self) -> list[tuple[int, int]]:
        """Return where the lines that are not blank begin and end."""
        if self._spans is None:
            self._spans = [found.span() for found in _LINE.finditer(self.plain)]
        return self._spans

    def _awards(self) -> NumberReading | None:
        """Return the score that is the first sentence, with its unit: `1 point. The formula is right.`"""
        first, *others = self.tokens or (None,)
        if first is None or self.scale is None or first.kind != "number" or is_rough(self.plain, first):
            return None
        if (
            _EMPTY_BEFORE.fullmatch(self.plain, 0, first.start) is None
            or _FIRST_AWARD.match(self.plain, first.end) is None
        ):
            return None
        awards = (each for each in others if _WITH_UNIT.match(self.plain, each.end) is not None)
        if all(_TAKEN.search(self.plain, max(0, each.start - 12), each.start) is not None for each in awards):
            return self._settled(first, None)
        return None

    def _alone(self, start: int, end: int) -> NumberReading | None:
        """Return the number that a line is, with its unit; None where it says anything else."""
        tokens = self.between(start, end)
        if (
            len(tokens) != 1
            or is_rough(self.plain, tokens[0])
            or not _EMPTY_BEFORE.fullmatch(self.plain, start, tokens[0].start)
        ):
            return None
        token = tokens[0]
        behind = _EMPTY_BEHIND if self.scale is None else _SCORE_END
        if not behind.fullmatch(self.plain, token.end, end) and (
            self.scale is not None or not _UNIT_END.fullmatch(self.plain, token.end, end)
        ):
            return None
        return self._settled(token, None)

    def one(self, start: int, end: int) -> NumberReading | None:
        """Return the one number that a part of the text says; nothing where it says several; None where it has no
        number."""
        return self._one(start, end, anchored=True)

    def _one(self, start: int, end: int, *, anchored: bool) -> NumberReading | None:
        plain = self.plain
        tokens = self.meant(start, end)
        if not tokens:
            return NOTHING if anchored and self.between(start, end) else None
        if _ASSIGNMENTS.search(plain, start, end) is not None:
            return NOTHING
        restated = _THAT_IS.search(plain, tokens[0].end, end)
        if restated is not None:
            first = self._one(start, restated.start(), anchored=anchored)
            return first if first not in (None, NOTHING) else self._one(restated.end(), end, anchored=True)
        asides = [found.span() for found in _ASIDE.finditer(plain, start, end)]
        outside = [token for token in tokens if not any(a <= token.start and token.end <= b for a, b in asides)]
        if outside:
            for a, b in asides:
                inside = [token for token in tokens if a <= token.start and token.end <= b]
                if inside and inside[0].start > outside[0].start and self._disputes(a, b, inside, outside):
                    return NOTHING
            tokens = outside
        if anchored and self._led(tokens[0], start):
            tokens[0] = self._grouped(tokens[0])
            if self._approximated(tokens, end):
                return self._settled(tokens[0], None)
        equals = [
            place
            for place in range(tokens[0].start - 1, tokens[-1].end + 1)
            if plain[max(0, place) : place + 1] in ("=", "≈")
        ]
        cut = _CUT.search(plain, tokens[0].end, end)
        limit = end if cut is None else cut.start()
        equals = [
            place
            for place in equals
            if start <= place < limit and plain[place - 1 : place] not in ("<", ">", "≤", "≥", "!")
        ]
        behind = [token for token in tokens if equals and equals[-1] < token.start < limit]
        computed = None if equals else _COMPUTED.match(plain, start, limit)
        if computed is not None and (limit == end or not self.between(limit, end)) and not _CLAIMED.search(computed[0]):
            start, tokens = computed.end(), [token for token in tokens if computed.end() <= token.start]
        elif behind:
            if self._converts(start, equals[-1], tokens, behind):
                return NOTHING
            start, tokens = equals[-1] + 1, behind
        if all(self._denied(token, start) for token in tokens if token.start < limit):
            limit = end
        beyond = [token for token in tokens if token.start >= limit and not self._denied(token, start)]
        tokens = [token for token in tokens if token.start < limit]
        affirmed = [token for token in tokens if not self._denied(token, start)]
        if not affirmed:
            return _DENIED
        if not anchored and beyond and not self._led(affirmed[0], start):
            return NOTHING
        return self._first_of(affirmed, tokens, start, anchored)

    def _grouped(self, token: NumberToken) -> NumberToken:
        """Return what a label announces as one number, where spaces stand between its thousands."""
        if token.odd is None or _GROUPS.fullmatch(token.odd) is None or self.plain[token.start] != "\ue000":
            return token
        groups = [int(group) for group in token.odd.split()]
        if len(groups) > 2 and len({after - before for before, after in pairwise(groups)}) == 1:
            return token  # `100 200 300` is a list
        return replace(token, kind="number", value=int(token.odd.replace(" ", "")), odd=None)

    def _approximated(self, tokens: list[NumberToken], end: int) -> bool:
        """Return true if two numbers are one and its rounded form: `1/3 ≈ 0.333`."""
        if len(tokens) != 2 or tokens[0].value is None or tokens[1].value is None:
            return False
        value, rounded = tokens[0].value, tokens[1].value / (100 if tokens[1].percent > tokens[0].percent else 1)
        behind = self.plain[tokens[0].end : tokens[1].start]
        return (
            _APPROACHES.match(behind) is not None
            and not self.between(tokens[1].end, end)
            and abs(value - rounded) <= _NEARLY * abs(value)
        )

    def _converts(self, start: int, equals: int, tokens: list[NumberToken], behind: list[NumberToken]) -> bool:
        """Return true if one quantity is said in two units, so that it depends on the unit that is meant."""
        ahead = [token for token in tokens if start <= token.start < equals]
        return (
            len(ahead) == 1
            and len(behind) == 1
            and ahead[0].value != behind[0].value
            and _UNIT_BETWEEN.fullmatch(self.plain, ahead[0].end, equals) is not None
            and _UNIT_NEXT.match(self.plain, behind[0].end) is not None
        )

    def _first_of(
        self, affirmed: list[NumberToken], tokens: list[NumberToken], start: int, anchored: bool
    ) -> NumberReading:
        first, *others = affirmed
        if len(others) == 0:
            return self._settled(first, None)
        gap = self.plain[first.end : others[0].start]
        if (first.over is not None and _SCALE.fullmatch(gap) is not None) or _ANOTHER.match(gap) is not None:
            return NOTHING
        if _SCALE.fullmatch(gap) is not None and others[0].value is not None:
            if len(others) > 1 and not self._led(first, start):
                return NOTHING
            return self._settled(first, others[0])
        if (
            not gap.strip()
            or _COMPOUND.fullmatch(gap) is not None
            or _OPERATOR.fullmatch(gap) is not None
            or (_SEVERAL.fullmatch(gap) is not None and len(tokens) == len(affirmed))
        ):
            return NOTHING
        if _SEVERAL.fullmatch(gap) is not None and tokens[1] is others[0]:
            return NOTHING
        if self.scale is not None and not anchored and _HEADS.search(gap) is not None:
            return NOTHING
        if self.scale is not None and all(_FOR.match(self.plain, each.end) is not None for each in affirmed):
            return NOTHING  # `1 point for the formula, 1 point for the result`
        if all(other.kind == "number" and other.value == first.value for other in others):
            return self._settled(first, None)
        if self.scale is not None and (
            _AND_A.search(self.plain, first.end, others[0].start) is not None
            or _HEDGED.fullmatch(self.plain, first.end, others[0].start) is not None
        ):
            return NOTHING
        if anchored and self._led(first, start):
            return self._settled(first, None)
        return NOTHING

    def _led(self, token: NumberToken, start: int) -> bool:
        """Return true if nothing that says anything stands between a place and a number."""
        return _LEADING.fullmatch(self.plain, start, token.start) is not None

    def _settled(self, token: NumberToken, over: NumberToken | None) -> NumberReading:
        if is_rough(self.plain, token) and (
            self.strict
            or _BOUND.search(self.plain, max(0, token.start - 24), token.start) is not None
            or _BOUND_BEHIND.match(self.plain, token.end) is not None
        ):
            return NOTHING
        if self.scale is not None and token.kind == "number":
            if over is not None and (over.value != self.scale or _SCORE_TAIL.match(self.plain, over.end) is None):
                return NOTHING
            if token.over is not None and token.top is not None and over is None:
                if token.over == self.scale:
                    return NumberReading(number_of(token.top))
                return _said(token) if self.scale <= 1 else NOTHING
            if token.percent and self.scale != 100:
                return NOTHING
        if self._exclaimed(token) or self._in_formula(token):
            return NOTHING
        return _said(token)

    def _exclaimed(self, token: NumberToken) -> bool:
        """Return true if `!` behind a number is a factorial, as it is in a formula."""
        return _FACTORIAL.match(self.plain, token.end) is not None

    def _in_formula(self, token: NumberToken) -> bool:
        """Return true if a number is a part of a formula with names, as of `x + 3`."""
        return (
            _FORMULA_BEFORE.search(self.plain, max(0, token.start - 8), token.start) is not None
            or _FORMULA_BEHIND.match(self.plain, token.end) is not None
        )

    def _denied(self, token: NumberToken, start: int) -> bool:
        since = max(start, token.start - 40)
        ahead = self.plain[since : token.start]
        turns = [found.end() for found in _TURNS.finditer(ahead)]
        return _NEGATOR.search(ahead[turns[-1] :] if turns else ahead) is not None

    def _disputes(self, start: int, end: int, inside: list[NumberToken], outside: list[NumberToken]) -> bool:
        """Return true if what stands in brackets says another number for the same."""
        aside = self.plain[start:end]
        if _WAS.match(aside) is not None:
            return True
        if inside[0].percent and not outside[0].percent:
            return False
        one, other = inside[0].value, outside[0].value
        if one is None or other is None or _BARE.fullmatch(aside) is None:
            return False
        return not any(abs(one - each) <= 0.01 * abs(each) for each in (other, other * 100, other / 100))

    def _sentence(self, start: int, most: int | None = None) -> tuple[int, int]:
        """Return where the first sentence of the first line that is not blank begins and ends."""
        plain = self.plain
        limit = len(plain) if most is None else most
        begin = _NOT_BLANK.search(plain, start, limit)
        if begin is None:
            return start, start
        line_end = plain.find("\n", begin.start(), limit)
        line_end = limit if line_end < 0 else line_end
        here = start if plain.find("\n", start, begin.start()) < 0 else begin.start()
        stop = _SENTENCE.search(plain, here, line_end)
        return here, line_end if stop is None else stop.start()

    def _awarded(self, label: Label, start: int, end: int) -> NumberReading | None:
        """Return the score that a verb gives; None where it gives something else."""
        tokens = self.between(start, end)
        if not tokens or _SCORE_TAIL.match(self.plain, tokens[0].end) is None or self._supposed(label.start, end):
            return None
        if _SHARE.match(self.plain, tokens[0].end) is not None:
            return None
        if _IN_ORDER_TO.search(self.plain, max(0, label.start - 12), label.start) is not None:
            return None
        return self.one(start, end)

    def _supposed(self, start: int, end: int) -> bool:
        """Return true if a sentence only says how something would be if something else were."""
        since = max(0, start - 60)
        return _IF_THEN.search(self.plain, start, end) is not None and _WOULD.search(self.plain, since, end) is not None

    def _affirmed(self, labels: Sequence[Label]) -> list[Label]:
        """Return the labels that stand in no question and no quotation."""
        kept = []
        for label in labels:
            if not self._asks(label.end) and not self._quoted(label.start, label.end) and not self._describes(label):
                kept.append(label)
        return kept

    def _describes(self, label: Label) -> bool:
        """Return true if a label of a score says only what a score would need: `a score of 5 would need a source`."""
        place = bisect_left(self._starts, label.end)
        if self.scale is None or place >= len(self.tokens) or self.tokens[place].start > label.end + _NEXT:
            return False
        return self._imagined(self.tokens[place])

    def _imagined(self, token: NumberToken) -> bool:
        """Return true if a score is only described or supposed: `a 5 would need a source`."""
        since = max(0, token.start - 40)
        place = bisect_right(self._described, token.start)
        if place and token.start - self._described[place - 1] <= _NEXT:
            return True
        return (
            _ANY_SCORE.search(self.plain, since, token.start) is not None
            and _NEEDS.match(self.plain, token.end) is not None
        ) or (
            (would := _IT_WOULD.search(self.plain, since, token.start)) is not None
            and (
                _GIVEN_THAT.match(self.plain, token.end) is not None
                or _GIVEN_BEFORE.search(self.plain, max(0, would.start() - 60), would.start()) is not None
            )
        )

    @cached_property
    def _described(self) -> list[int]:
        """Where labels end that give no score to the whole: `the rubric awards a`, `the tone deserves a`."""
        return [] if self.scale is None else sorted(label.end for label in self._every_score if label.described)

    def _quoted(self, start: int, end: int) -> bool:
        """Return true if a part of the text is a part of a quotation."""
        if self._quotations is None:
            self._quotations = [found.span() for found in _QUOTED.finditer(self.plain)]
        place = bisect_left(self._quotations, (start, 0)) - 1
        return place >= 0 and end < self._quotations[place][1]

    def _mentioned(self) -> NumberReading:
        """Return the number of a short text, or of the last line of a longer one, in which no other stands."""
        plain = self.plain
        bracketed = _BRACKETS.search(_BOX_MARK.sub("", plain)) is not None and _ENCLOSED_WHOLE.fullmatch(plain) is None
        lines = self._lines()
        if not lines:
            return NOTHING
        start, end = 0, len(plain)
        if len(plain.strip()) > _SHORT or bracketed:
            start, end = lines[-1]
            if bracketed and (colon := plain.rfind(":", start, end)) >= 0:
                start = colon + 1
                tokens = self.between(start, end)
                if not tokens or not (
                    _EMPTY_BEFORE.fullmatch(plain, start, tokens[0].start)
                    and _EMPTY_BEHIND.fullmatch(plain, tokens[-1].end, end)
                ):
                    return NOTHING
            elif len(lines) < 2 or end - start > _SHORT or _BRACKETS.search(plain, start, end) is not None:
                return NOTHING
        if self.scale is not None and (stars := _STARS.fullmatch(plain.strip())) is not None:
            return NumberReading(len(stars["full"].replace("\ufe0f", "")))
        number = _ENUMERATED.match(plain)
        if number is not None and len(lines) == 1 and self.between(number.end(), end):
            if _ENUMERATED_WITHIN.search(plain, number.end(), end) is not None:
                return NOTHING
            start = number.end()
        cues = list(_CORRECTS.finditer(plain, start, end))
        if cues and self.between(start, cues[-1].start()) and self.between(cues[-1].end(), end):
            start = cues[-1].end()
        said: list[NumberReading] = []
        heads: set[str] = set()
        awards = False
        for begin, stop, asked in self._sentences(start, end):
            quoted = [found.span() for found in _QUOTED.finditer(plain, begin, stop) if len(found[0].split()) > 1]
            tokens = [token for token in self.meant(begin, stop) if self.scale is None or not self._imagined(token)]
            if tokens and (head := _PART_HEAD.match(plain, begin, tokens[-1].start)) is not None:
                heads.add(head[0].strip())
                if self.scale is not None and _FAULTS.search(head[0]) is not None:
                    said.append(NOTHING)
            if not tokens or (self.scale is not None and _OF_OTHERS.search(plain, begin, stop) is not None):
                continue
            if self._supposed(begin, stop) or (self.scale is None and _I_HAVE.match(plain, begin)):
                said.append(NOTHING)
                continue
            if asked:
                continue
            if any(a < token.start < b for a, b in quoted for token in tokens) or (
                self.scale is not None
                and _SCORE_TAIL.match(plain, tokens[-1 if "=" in plain[begin:stop] else 0].end) is None
            ):
                said.append(NOTHING)
            elif (one := self._one(begin, stop, anchored=False)) is not _DENIED:
                awards = awards or (self.scale is not None and _FOR.match(plain, tokens[0].end) is not None)
                said.append(one or NOTHING)
        if len(heads) > 1 or (awards and len(said) > 1):
            return NOTHING  # parts, of which no total is said
        return said[0] if said and all(one == said[0] for one in said) else NOTHING

    def _sentences(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        at = start
        while at < end:
            stop = _STOP.search(self.plain, at, end)
            until = end if stop is None else stop.start()
            yield at, until, stop is not None and stop[0][0] in "?？"
            at = end if stop is None else stop.end()

    def _ends(self, hashes: re.Match[str]) -> bool:
        """Return true if a number follows `####`, and no heading: alone in its line, or in the last line of all."""
        start, end = hashes.span(1)
        tokens = self.between(start, end)
        if not tokens or not _EMPTY_BEFORE.fullmatch(self.plain, start, tokens[0].start):
            return False
        if _EMPTY_BEHIND.fullmatch(self.plain, tokens[0].end, end):
            return True
        return _ENUMERATED.match(hashes[1]) is None and not self.plain[end:].strip()


def _with_limits(labels: Sequence[Label]) -> Iterator[tuple[Label, int | None]]:
    """Yield labels, each with where the next one begins."""
    for label, behind in zip(labels, (*labels[1:], None), strict=False):
        yield label, None if behind is None or behind.start < label.end else behind.start


def _said(token: NumberToken) -> NumberReading:
    return NumberReading(token.value, token.odd)


_FORMULA_BEFORE = late_pattern(
    r"(?<![A-Za-z'])[A-Za-z]\(\Z|[A-Za-z]\s?/\Z|(?:(?<![A-Za-z'])[A-Za-zπ](?:\^\{?\d{1,3}\}?)?|\))\s?[+×*·÷/–-]\s?\Z"
)
_FORMULA_BEHIND = late_pattern(
    r"\s?[+×*·÷]\s?(?:[A-Za-z](?![A-Za-z])|\(|\\|(?:sqrt|log|ln|sin|cos|tan)\b)|\s?[-–]\s?[a-z](?![A-Za-z])"
    r"|\([a-z]|\s?[<>≤≥]=?\s?(?:\d|[a-z](?![A-Za-z]))"
)
_FACTORIAL = late_pattern(r"!\s?[})$=+×*/]")
_NOT_BLANK = late_pattern(r"[^\s*#>]")
_LINE = late_pattern(r"(?m)^[^\n]*\S[^\n]*$")
_BOX_MARK = late_pattern(r"\\(?:boxed|fbox)\s{0,9}\{[^{}]*\}|\\[dtc]?frac\{[^{}]*\}\{[^{}]*\}|\^\{[^{}]*\}")
_ENCLOSED_WHOLE = late_pattern(r"\s*[\[{]{1,2}[^\[\]{}]*[\]}]{1,2}\s*")
_EMPTY_BEFORE = late_pattern(rf"[\s$*(\[]*(?:{CURRENCY}\s?)?[\s$*(\[]*", re.I)
_EMPTY_BEHIND = late_pattern(
    rf"\s?(?:%|°(?:\s?[CF])?|per ?cent|prozent|{CURRENCY}|元|euros?|dollars?)?[\s$*)\]]*[.。]?[\s$*)\]]*", re.I
)
_UNIT_END = late_pattern(r"\s?[^\W\d_]{1,15}(?:'s)?(?:\s[^\W\d_]{1,15})?[*\s]*[.。]?[*\s]*")
_SCORE_END = late_pattern(r"\s?(?:分|点|points?|pts?|stars?|/ ?\d+|%)?[\s*)\]]*[.。]?[\s*)\]]*", re.I)
_BOUND_BEHIND = late_pattern(
    r"\s?\+|\s(?:or more|or less|or fewer|at least|at most|and (?:above|up|over|more))\b|以上|以下", re.I
)
_BOUND = late_pattern(
    r"(?:could be|might be|may be|maybe|perhaps|possibly|better than|worse than|closer to|short of|shy of"
    r"|least|most|more than|less than|fewer than|over|under|above|below|up to|between|greater than"
    r"|smaller than|larger than|beyond|[<>≤≥]|至少|至多|超过|不到|少于|多于|大于|小于)\s?=?\s?(?:the |a )?[$€£¥]?\s?\Z",
    re.I,
)
