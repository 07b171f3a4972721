"""Scanner of numbers in every notation, the normalization of texts before it, and number formats of locales.

The notations are listed in `NOTATIONS` in the tests and in `docs/language/numbers.md`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from tripos_compiler.replies.text import ReplyText, comparable, late_pattern, words
from tripos_compiler.source.data_classes import dataclass

# Number formats of locales

DEFAULT = "en"
"""Default locale."""

SIGNS = {"−": "-", "＋": "+", "－": "-", "．": ".", "％": "%", "＄": "$", "／": "/"}
"""Signs that are read as their ASCII form."""
_SIGNS = str.maketrans(SIGNS)

CASED = r"A-Za-z_µ\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
"""Letters of scripts with spaces between words: next to them a digit is part of a name, next to `个` it is not."""


@dataclass(frozen=True)
class Convention:
    """Number format: the decimal sign and the thousands separator. `spaced`: a plain space may separate thousands."""

    decimal: str
    thousands: str
    spaced: bool = False


_POINT = Convention(".", ",")
_COMMA = Convention(",", ".")
_SPACED = Convention(",", "", spaced=True)
_EITHER = Convention(",", ".", spaced=True)

_LANGUAGES: Mapping[Convention, str] = {
    _POINT: "en zh yue ja ko th he hi bn gu mr ta te kn ml pa ur ne si my ms sw zu cy ga gd mt fil tl ha yo ig so am ti"
    " mn ug bo ar fa",
    _COMMA: "de it nl id jv da tr el ro hr sl sr bs mk vi ca gl eu is az fo lo fy lb km",
    _SPACED: "fr ru uk be bg cs sk pl hu fi sv no nb nn lt lv et kk ky uz tk tt hy ka sq eo",
    _EITHER: "es pt",
}
_REGIONS: Mapping[Convention, str] = {
    _POINT: "de-ch de-li it-ch es-mx es-us es-pr es-do es-gt es-hn es-sv es-ni es-pa es-pe es-cu es-419",
}
"""Regions that differ from their language according to the CLDR. An apostrophe between thousands is read everywhere."""

_CONVENTIONS = {
    name: convention
    for table in (_LANGUAGES, _REGIONS)
    for convention, names in table.items()
    for name in names.split()
}


def convention_of(locale: str) -> Convention | None:
    """Return the number format of a locale, a BCP 47 tag with a language and a region, or None if it is not known.

    >>> convention_of("de").decimal, convention_of("de_CH").decimal, convention_of("x")
    (',', '.', None)
    """
    parts = locale.casefold().replace("_", "-").split("-")
    return next(
        (_CONVENTIONS[name] for part in parts[:0:-1] if (name := f"{parts[0]}-{part}") in _CONVENTIONS), None
    ) or (_CONVENTIONS.get(parts[0]))


def is_no_locale(arguments: Mapping[str, object]) -> str | None:
    """Return the error of a literal locale."""
    locale = arguments.get("numbers")
    if not isinstance(locale, str) or convention_of(locale) is not None:
        return None
    return f'how "{locale}" writes numbers is not known'


# Normalization of numbers

ODD = late_pattern("\ue000([^\ue001]*)\ue001")
"""Ambiguous digits in a text from `plain_numbers`."""

_APART = "\u00a0\u2009\u202f'’"
_RUN = late_pattern(rf"(?<![{CASED}\d])(?<!\d[.,])\d++(?:(?:[.,{_APART}\u066b\u066c]|\ (?=\d{{3}}(?!\d)))\d++)+")
_SPACES = late_pattern(rf"([1-9]\d{{0,2}})([ {_APART}])(\d{{3}}(?:\2\d{{3}})*)(?:[.,](\d+))?")
_ARABIC = late_pattern("(\\d{1,3}(?:\u066c\\d{3})+|\\d+)(?:\u066b(\\d+))?")
_MIXED = late_pattern(r"[1-9]\d{0,2}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+)")
_OTHER_DIGIT = late_pattern(r"(?![0-9])\d")
"""Digit of another script, or a full-width one."""
_WIDE_COMMA = late_pattern(r"(?<=\d)，(?=\d{3}(?!\d))")


_OPENS = late_pattern(r"(?:[(（\[【]|\\\{)\s{0,3}[-−﹣+]?\s{0,3}\Z")
_CLOSES = late_pattern(r"\s{0,3}(?:\\right\s{0,3})?(?:[)）\]】]|\\\})")
_NEAR = 12
_SHOWN = 40
_LATEX = (("\\$", "$"), ("\\%", "%"), ("{,}", ","), ("\\,", "\u2009"), ("\\!", ""))
"""LaTeX commands between and around the digits of a number."""
_NARROW = str.maketrans(dict.fromkeys("\u00a0\u2009\u202f", " "))


def plain_numbers(text: str, locale: str) -> str:
    """Return a text whose numbers have a decimal point and no thousands separators, read with the format of a locale.
    Digits that contradict the locale and are ambiguous are enclosed in two signs, which `ODD` finds.

    >>> plain_numbers("1.234,50 €", "de"), plain_numbers("1 234", "fr"), plain_numbers("1,234.5", "en")
    ('1234.50 €', '1234', '1234.5')
    """
    convention = convention_of(locale)

    def plain(run: re.Match[str]) -> str:
        before = text[max(0, run.start() - _NEAR) : run.start()]
        in_brackets = _OPENS.search(before) is not None and _CLOSES.match(text, run.end()) is not None
        return _one_number(run[0], convention, in_brackets, listed=before[-1:] == " " and before[-2:-1].isdigit())

    text = text.replace("\ue000", "").replace("\ue001", "")
    for latex, meant in _LATEX:
        text = text.replace(latex, meant)
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = _WIDE_COMMA.sub(",", text).replace("，", ", ").translate(_SIGNS)
    return _RUN.sub(plain, text).translate(_NARROW)


def odd_number(odd: str, locale: str) -> str:
    """Return why digits are ambiguous, in words.

    >>> odd_number("2,5", "en")
    '`2,5` is no number as `en` writes it; another locale would read it: write `numbers in LOCALE`'
    """
    odd = odd if len(odd) <= _SHOWN else f"…{odd[-_SHOWN:]}"
    if not locale:
        return f"`{odd}` may be two numbers, and no language is at hand: write `numbers in LOCALE`"
    if convention_of(locale) is None:
        return f"`{odd}` may be two numbers, and how `{locale}` writes numbers is not known: write `numbers in LOCALE`"
    return f"`{odd}` is no number as `{locale}` writes it; another locale would read it: write `numbers in LOCALE`"


def _one_number(run: str, convention: Convention | None, in_brackets: bool = False, listed: bool = False) -> str:
    """Return digits with separators as one number with a point, as several numbers, or as ambiguous. `in_brackets`:
    within brackets, as in a point or an interval. `listed`: after another number."""
    spaces = _SPACES.fullmatch(run)
    if spaces is not None:
        groups = re.sub(rf"[ {_APART}]", " ", spaces[3]).split()
        if spaces[2] != " " or any(group[0] == "0" for group in groups) or (convention and convention.spaced):
            return spaces[1] + "".join(groups) + (f".{spaces[4]}" if spaces[4] else "")
        if not listed:
            return _odd(run)
    match = re.search(rf"[ {_APART}]", run)
    if match is not None:
        return "".join(
            part if part[0] in f" {_APART}" else _one_number(part, convention)
            for part in re.split(rf"([ {_APART}])", run)
        )
    arabic = _ARABIC.fullmatch(run)
    if arabic is not None:
        return arabic[1].replace("\u066c", "") + (f".{arabic[2]}" if arabic[2] else "")
    if convention is None:
        readings = {_of(run, each) for each in (_POINT, _COMMA)} - {None}
        if len(readings) == 1:
            return readings.pop() or ""
        return _odd(run) if readings else _other(run, _POINT, in_brackets)
    return _of(run, convention) or _other(run, convention, in_brackets)


def _of(run: str, convention: Convention) -> str | None:
    """Return a number in the format of a convention, or None if it is not one."""
    decimal, thousands = re.escape(convention.decimal), re.escape(convention.thousands)
    forms = [r"\d+"]
    if thousands:
        forms.append(rf"[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+")
    if convention.thousands == ",":
        forms.append(r"[1-9]\d?(?:,\d{2})+,\d{3}")  # lakh and crore
    match = re.fullmatch(rf"({'|'.join(forms)})(?:{decimal}(\d+))?", run)
    if match is None:
        return None
    return re.sub(r"[.,]", "", match[1]) + (f".{match[2]}" if match[2] else "")


def _other(run: str, convention: Convention, in_brackets: bool) -> str:
    """Return digits that contradict a convention: a number if it is unambiguous, a list, or ambiguous digits."""
    if _MIXED.fullmatch(run):
        decimal = max(run.rfind("."), run.rfind(","))
        return re.sub(r"[.,]", "", run[:decimal]) + "." + run[decimal + 1 :]
    if convention.decimal == ",":
        one_point = run.count(".") == 1 and "," not in run
        return run if one_point and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", run) else _odd(run)
    parts = run.split(",")
    listed = len(parts) > 2 or (len(parts) == 2 and ("." in run or in_brackets))
    return ", ".join(parts) if listed and all(part.count(".") < 2 for part in parts) else _odd(run)


def _odd(run: str) -> str:
    return f"\ue000{run}\ue001"


# Normalization of texts

_JOINING_SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", "\ue002"))
"""Spaces that join the groups of one number; `comparable` turns them into plain spaces."""
_HAN = str.maketrans(
    "萬億負兩點貳參滿給評應該為學總結題數確價這個對錯約", "万亿负两点二三满给评应该为学总结题数确价这个对错约"
)
_WIDE = str.maketrans({chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if chr(wide) != "，"})
_SIGN_VARIANTS = str.maketrans(
    {
        "⋅": "·",
        "∙": "·",
        "•": "·",
        "✕": "×",
        "✖": "×",
        "⁄": "/",
        "∕": "/",
        "∶": ":",
        "～": "~",
        "〜": "~",
        "∼": "~",
        "‒": "–",
        "―": "—",
        "≅": "≈",
        "≃": "≈",
        "≒": "≈",
        "٪": "%",
        "￥": "¥",
        "￡": "£",
        "﹪": "%",
    }
)
_WORDS = late_pattern(
    r"\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathit|mathsf|mathtt|operatorname|mbox|hbox|rm|emph"
    r"|underline"
    r"|bm|boldsymbol|boldmath|unit|pu|color\{\w{1,20}\})\*?\s{0,3}\{([^{}]{0,400})\}"
)
_COMMANDS = {
    "times": " × ",
    "cdot": " · ",
    "div": " ÷ ",
    "pm": "±",
    "approx": " ≈ ",
    "simeq": " ≈ ",
    "sim": " ≈ ",
    "neq": " ≠ ",
    "ne": " ≠ ",
    "leq": " ≤ ",
    "le": " ≤ ",
    "geq": " ≥ ",
    "ge": " ≥ ",
    "lt": " < ",
    "gt": " > ",
    "pi": "π",
    "degree": "°",
    "deg": "°",
    "circ": "°",
    "percent": "%",
    "euro": "€",
    "pounds": "£",
    "ldots": "…",
    "dots": "…",
    "quad": " ",
    "qquad": " ",
    "left": "",
    "right": "",
    "big": "",
    "Big": "",
    "bigl": "",
    "bigr": "",
    "displaystyle": "",
    "implies": " ⇒ ",
    "Rightarrow": " ⇒ ",
    "rightarrow": " ⇒ ",
    "to": " ⇒ ",
    "therefore": " ",
    "infty": "∞",
}
_COMMAND = late_pattern(rf"\\({'|'.join(sorted(_COMMANDS, key=len, reverse=True))})(?![A-Za-z])\s?")
_DEGREES = late_pattern(r"\^\s?(?:\{\s?°\s?\}|°)")
_LATEX_SPACE = late_pattern(r"(?<=\d)\\ (?=\d{3}(?!\d))")
_SPACE = late_pattern(r"\\[;: ]|\\(?=\s|\Z)|\\[()\[\]]|\$\$|~(?=\s)|\\\\")
_COLOUR = late_pattern(r"\\color\s?\{\w{1,20}\}\s?")
_GROUP = late_pattern(r"(?<![\w^_}\])\\])\{\s{0,3}([-–−+]?\s?[\d.,]{1,40})\s{0,3}\}")
"""A number in braces that are no argument, as in `\\boxed{{12}}`."""
_EMPHASIS = late_pattern(
    r"(?<![\w)])_(?=[-–$\d])|(?<=[\d.%])_(?![\w{])|(?<!\d)\*\*|\*\*(?!\d)|__|`|(?<![\w*)])\*(?=[-–$\d.])"
    r"|(?<=[\d%.])\*(?![\w*( ])"
)
_TAG = late_pattern(r"</?(?:b|strong|i|em|u|span|mark|code|big|font|small)(?:\s[^<>]{0,80})?>", re.I)
_BREAK = late_pattern(r"</?(?:br|p|div|li|ul|ol|td|tr|h\d)(?:\s[^<>]{0,80})?/?>", re.I)
_ANSWER_OPENS = late_pattern(
    r"<(?:final[_ -]?)?(?:answer|result|score|rating|grade)>|\[(?:final[_ ]?)?(?:answer|result|score|rating"
    r"|grade)\]|<final>",
    re.I,
)
_ANSWER_CLOSES = late_pattern(
    r"</(?:final[_ -]?)?(?:answer|result|score|rating|grade)>|\[/(?:final[_ ]?)?(?:answer|result|score|rating"
    r"|grade)\]|</final>",
    re.I,
)
OPENS, CLOSES = "\ue003", "\ue004"
"""Placeholders for the tags around an answer."""
_ANGLED = late_pattern(r"<\s?([-–]?[\d.,/]{1,40})\s?>")
_MANY_SPACES = late_pattern(r" {2,}")
_RAISED = late_pattern(r"<sup>\s?([-+]?\d{1,4})\s?</sup>", re.I)


@lru_cache(maxsize=32)
def number_text(text: str, locale: str) -> str:
    r"""Return the answer of a reply normalized for reading numbers: with a decimal point, no thousands separators,
    digits of one script, and without emphasis, LaTeX and HTML around numbers.

    >>> number_text(r"$\boxed{10{,}000 \text{ m}}$", "en"), number_text("<think>5?</think>**1.234,5** €", "de")
    ('$\\boxed{10000 m}$', '1234.5 €')
    """
    text = comparable(ReplyText.parse(text).answer.strip().translate(_JOINING_SPACES)).replace("\ue002", "\u202f")
    if not text.isascii():
        text = text.translate(_WIDE).translate(_SIGN_VARIANTS).translate(_HAN)
    text = text.replace("+/-", "±")
    if "<" in text:
        text = _BREAK.sub("\n", _TAG.sub("", _RAISED.sub(r"^{\1}", text)))
        text = _ANGLED.sub(r"\1", text)
    if "<" in text or "[" in text:
        text = _ANSWER_CLOSES.sub(CLOSES, _ANSWER_OPENS.sub(OPENS, text))
    if "\\" in text:
        text = _DOUBLED.sub(r"\\", text)
        for _ in range(2):
            text = _WORDS.sub(r"\1", text)
        text = _COLOUR.sub("", text)
        text = text.replace("\\!", "").replace("\\$", "$").replace("\\%", "%").replace("\\#", "#").replace("\\_", "_")
        text = _COMMAND.sub(lambda match: _COMMANDS[match[1]], text)
        text = _LATEX_SPACE.sub("\u202f", text.replace("\\,", "\u2009"))
        text = _MANY_SPACES.sub(" ", _SPACE.sub(lambda match: "\n" if match[0] == "\\\\" else " ", text))
    if "{" in text:
        text = _GROUP.sub(r"\1", text)
    if "°" in text:
        text = _DEGREES.sub("°", text)
    return plain_numbers(_EMPHASIS.sub("", _BASE_TEN.sub("", text)), locale)


_DOUBLED = late_pattern(
    r"(?<!\\)\\\\(?=(?:[dtc]?frac|boxed|fbox|text(?:bf)?|math(?:rm|bf)|times|cdot|sqrt|pi|left|right|approx"
    r"|circ|pm|div)\b|[%$])"
)
"""A command with two backslashes, as within a text of JSON."""

# The scanner

Kind = Literal["number", "odd", "broken", "name"]


@dataclass(frozen=True)
class NumberToken:
    """Number and its position in `number_text`. Kinds: a `number`; `odd` digits, which another locale would read
    differently; `broken`, a quantity without a readable value, such as `2π`; `name`, a number in a name, a date or a
    time, such as `2nd`."""

    start: int
    end: int
    kind: Kind
    value: int | float | None = None
    odd: str | None = None
    over: Fraction | None = None
    """Denominator of a fraction such as `8/10`; `top` is its numerator."""
    top: Fraction | None = None
    percent: bool = False


CURRENCY = r"(?:(?:US|HK|NT|AU?|CA?|S|R)?\$|[€£¥₹₩₽₺฿]|(?:USD|EUR|GBP|CNY|RMB|INR|CHF|JPY|Rs\.?)(?![A-Za-z]))"
DIGITS = r"(?:\d{1,400}(?!\d)(?:\.\d++)?|(?<![.\d])\.\d++|\ue000[^\ue001]{1,80}\ue001)"
"""Digits with an optional point; integers with more digits are larger than all floats."""
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_POWER = (
    rf"(?:\s?\^\s?(?:\{{\s?[-+–]?\d{{1,4}}\s?\}}|\([-+–]?\d{{1,4}}\)|[-+–]?\d{{1,4}}(?![\d.]\d))"
    rf"|\*\*\s?-?\d{{1,4}}(?!\d)|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,4}}(?![{_SUPERSCRIPTS}]))"
)
_HAN_NUMERALS = r"零〇一二两三四五六七八九十百千万亿"
_AMOUNT = rf"(?:[{_HAN_NUMERALS}]{{1,30}}|\d{{1,15}})"
_FREE = rf"(?<![{CASED}\d\ue000])(?<!\d\.)"
"""Position before digits that are not part of a name such as `x2`."""
_MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)(?:\.|(?!\w)))"
)
_BASE = (
    r"(?:\s?_\s?(?:\{[^{}]{1,9}\}|\d)|\s?[₀-₉]{1,2}(?![₀-₉])"
    r"|\s?\(?(?:in )?base[ -](?:\d{1,2}|two|three|eight|sixteen)\b\)?)"
)
"""Base of a number, as in `101_{2}`, `(101)₂` and `101 (base 2)`: it is another number than its digits say."""
_BASE_TEN = late_pattern(
    r"(?<=[\d)])(?:\s?_\s?\{\s?(?:10|ten)\s?\}|\s?₁₀(?![₀-₉])|\s?\((?:in )?base[ -](?:10|ten)\)"
    r"|\s(?:in )?base[ -](?:10|ten)\b)",
    re.I,
)
"""Base ten, in which the digits say the number."""
_TOKEN = late_pattern(
    r"(?P<date>(?<!\d)(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,4}/\d{1,2}/\d{1,4}"
    r"|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)"
    rf"|(?<![\w.,]){_MONTHS}\s\d{{1,2}}(?:st|nd|rd|th)?(?![\d.])(?:,?\s\d{{4}})?|(?<![\d.,])\d{{1,2}}(?:st|nd"
    rf"|rd|th)?\s{_MONTHS}(?:,?\s\d{{4}})?|(?<!\d)\d{{1,2}}\.\s(?:Januar|Februar|März|April|Mai|Juni|Juli"
    r"|August|September|Oktober|November|Dezember)|(?<!\d)[12]\d{3}s(?!\w)"
    r"|(?<!\d)\d{4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|(?<!\d)\d{1,2}月\d{1,2}[日号]"
    r"|[一二三四五六七八九十]{1,2}月(?!亮|球)(?:[一二三四五六七八九十]{1,3}[日号])?)"
    rf"|(?P<broken>{_FREE}\d{{1,300}}(?:_\d{{1,300}})+|{_FREE}\(?\d{{1,300}}\)?{_BASE}"
    rf"|{_FREE}0(?:[xX][\dA-Fa-f]{{1,16}}|[bB][01]{{1,64}})(?!\w)"
    r"|\\sqrt\s?(?:\[[^\[\]]{0,9}\])?\s?(?:\{[^{}]{0,80}\}|\d)"
    rf"|√\s?\(?\d{{0,300}}|∞)"
    rf"|(?P<latex>(?:{_FREE}(?P<latex_whole>\d{{1,300}})\s?)?\\[dtc]?frac\s?(?:\{{(?P<top>[^{{}}]{{0,60}})\}}"
    r"|(?P<top1>\d))\s?"
    rf"(?:\{{(?P<bottom>[^{{}}]{{0,60}})\}}|(?P<bottom1>\d)))"
    r"|(?P<vulgar>(?:(?<![\d.])(?P<vulgar_whole>\d{1,300})\s?)?(?P<sign>[¼-¾⅐-⅞]))"
    rf"|(?P<parts>(?:(?P<parts_whole>{_AMOUNT})又)?(?P<parts_bottom>{_AMOUNT})分之"
    rf"(?P<parts_top>[{_HAN_NUMERALS}]{{1,30}}(?:点[{_HAN_NUMERALS}]{{1,30}})?|{DIGITS}))"
    rf"|(?P<mixed>{_FREE}(?P<mixed_whole>\d{{1,15}}|[{_HAN_NUMERALS}]{{1,9}}(?=又))(?:\s?又\s?"
    r"|\s(?:and\s)?)(?P<mixed_top>\d{1,9})\s?/\s?(?P<mixed_bottom>\d{1,9})(?![\d/]|\.\d))"
    rf"|(?P<ratio>{_FREE}(?P<ratio_top>{DIGITS})\s?/\s?(?P<ratio_bottom>-?{DIGITS})(?!\d|\s?/))"
    rf"|(?P<science>{_FREE}(?P<times>{DIGITS})\s{{0,3}}(?:×|[xX]|\*|·|times)\s{{0,3}}10(?P<science_power>{_POWER}))"
    rf"|(?P<power>(?:{_FREE}(?P<base>{DIGITS})|\((?P<signed>\s?[-–]\s?{DIGITS})\s?\))(?P<power_power>{_POWER}))"
    rf"|(?P<exponent>{_FREE}{DIGITS}[eE][-+]?\d{{1,3}}(?![{CASED}\d]))"
    rf"|(?P<ten_thousands>(?<![A-Za-z\d.]){DIGITS}\s?[十百千万亿兆](?:[十百千万亿兆]"
    rf"|\d{{1,15}}(?=[十百千万亿])){{0,12}}(?![克米瓦卡焦伏赫帕兆字分]))"
    rf"|(?P<plain>{_FREE}{DIGITS})"
    rf"|(?P<han>(?<![第{_HAN_NUMERALS}])[{_HAN_NUMERALS}]+(?:点[{_HAN_NUMERALS}]+)?(?!分之))"
)
_ORDINAL = late_pattern(rf"(?:st|nd|rd|th)(?![{CASED}])")
_COMPARED = (
    rf"一[般些起样定直切]|[\d{_HAN_NUMERALS}][^,。;\n比]{{0,8}}(?:[大小多少高低长短重轻快慢贵强弱]|便宜)"
    rf"(?!\s?[\d{_HAN_NUMERALS}])"
)
"""Text behind `比` in a comparison, as in `12比5大`; `12比5` is a ratio."""
_ALGEBRA = late_pattern(
    rf"(?-i:[BDEGOPQRUXYZ](?![{CASED}\d])|[abexyznijqrwθαβλ](?![{CASED}]|\s?\d)|[xXCP](?=\d)|[π√])"
    r"|\s?(?:[π√]|\\(?:sqrt|d?frac|log|ln|sin|cos|tan|binom)\b)|\s?\^|\.?\\(?:overline|bar|dot)\b"
    rf"|\s?‰|成(?![为员了本果功立年人长品绩熟])|折(?![扣合叠线算成])|\s?比\s?(?!{_COMPARED})[\d{_HAN_NUMERALS}]"
    rf"|的(?:平方|立方|[\d二三四五六七八九十n]{{1,3}}次方)|[①-⓿❶-➓₀-₉]|[{_SUPERSCRIPTS}]"
    r"|\s?-?(?:hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?"
    r"|squared|cubed|to the power|factorial|mod|choose|pi|remainder|by \d|r\.? ?\d|ish)(?:\b|(?<=\d))",
    re.I,
)
_FUNCTION = late_pattern(
    r"(?:\\(?:log|ln|lg|sin|cos|tan|exp|binom|lfloor|lceil|sqrt|sum|int|prod|gcd)\S{0,9}"
    r"|(?<![\w])(?:log|ln|lg|sin|cos|tan|sqrt|cbrt|root of)_?\d{0,3})\s?[({]?\Z"
)
_PERCENT = late_pattern(r"\s?(?:%|(?:per ?cent|prozent|pour ?cent|por ciento|percento|procent)(?!\w))", re.I)
_LONG_SCALE = frozenset(
    [
        "de",
        "fr",
        "es",
        "it",
        "nl",
        "pl",
        "da",
        "sv",
        "nb",
        "nn",
        "no",
        "fi",
        "hu",
        "cs",
        "sk",
        "sl",
        "hr",
        "sr",
        "bg",
        "uk",
    ]
)
"""Languages in which a billion is a million millions."""
_MAGNITUDES = {
    "hundred": 2,
    "thousand|tausend|tsd\\.?|mille|mila|тысяч[аи]?|тыс\\.?": 3,
    "lakhs?|lacs?": 5,
    "crores?": 7,
    "million(?:s|en)?|mio\\.?|mln\\.?|mn|millón|millones|milhão|milhões|milione|milioni|miljoen"
    "|миллион(?:а|ов)?|млн\\.?": 6,
    "milliards?|milliarden?|mrd\\.?|miliardo|miliardi|mld\\.?|miljard|миллиард(?:а|ов)?|млрд\\.?|bn|bilhão|bilhões": 9,
    "billón|billones|billionen|trilhão|trilhões|trn|tn": 12,
    "trillionen": 18,
}
_MAGNITUDE = late_pattern(
    rf"(?:\s{{0,3}}|-)(?:{'|'.join(f'(?P<e{power}>{words})' for words, power in _MAGNITUDES.items())}"
    rf"|(?P<billion>billions?)|(?P<trillion>trillions?)|(?P<mil>mil)|(?P<dozen>dozens?|dutzend))(?![{CASED}\d])"
    rf"|(?-i:(?P<k>k)(?![{CASED}\d])|(?P<upper>[KMBT])(?![{CASED}\d/²³]))",
    re.I,
)
_UPPER = {"K": 3, "M": 6, "B": 9, "T": 12}
_AND_MORE = late_pattern(rf"\s?(?:and\s|und\s|et\s|,\s)?(?P<more>{DIGITS})")
_HALF = late_pattern(
    r"\s(?:and a half|et demie?|y media?|und ein(?:e|en)? halbe?[rsn]?)\b|(?<=[\d])\s?[分点个]半(?!\w*\d)", 2
)
_MINUS = late_pattern(
    rf"(?:(?P<word>(?<![{CASED}\d])(?:minus|negative|moins|menos|meno|minus|negativ|négatif|минус)\s{{1,2}})"
    r"|(?P<han>负|零下|マイナス)\s?"
    rf"|(?P<mark>[-+–—±])(?P<gap>\s?))?(?:{CURRENCY}\s?(?P<second>[-–])?)?\(?\Z",
    re.I,
)
_SIGN_FITS = late_pattern(
    rf"(?:\A|[{OPENS}=:：,，;.!?？。！；(（\[{{\"'“”「《—$|>≈⇒\n]|(?:^|[^\w])(?:is|are|was|be|to|of|equals?|exactly|by"
    r"|at|and|then|i\.e\."
    r"|ist|sind|beträgt|lautet|est|vaut|égale?|es|son|è|é|равно|about|approximately|roughly|answer|result|value|score"
    r"|so|hence|therefore|get|gives?|yields?|####?)|[是为得于即到约达はが:#])\s*\Z",
    re.I,
)
BOUNDS = words(
    "more than, less than, fewer than, greater than, larger than, smaller than",
    "over, under, above, below, beyond, between, up to",
)
"""Words before a number that is a bound."""
DISTANCES = words("closer to, short of, shy of")
"""Words before a number that is near another one."""
COMPARATIVES = words("more, less, fewer, higher, lower, better, above, below")
BOUND_BEHIND = (
    rf"\s(?:(?:points?|pts?|marks?)\s)?(?:or (?:{COMPARATIVES})|at least|at most|and (?:above|up|over|more))\b"
    r"|-(?=\s*(?:\Z|\n))"
)
"""Text after a number that makes it a bound."""
_ABOUT_BEFORE = late_pattern(
    r"(?:(?<!\w)(?:about|around|approx(?:imately|\.)?|roughly|nearly|almost|circa|ca\.?|some|close to|or so"
    rf"|somewhere near|at (?:least|most)|{BOUNDS}|no (?:more|less|fewer) than|not (?:more|less) than|exceeds?"
    r"|etwa|ungefähr|rund|knapp|mindestens|höchstens|über|unter|fast|mehr als|weniger als"
    r"|environ|presque|au moins|au plus|plus de|moins de|aproximadamente|unos|unas|quase|около|примерно"
    r"|cerca de|alrededor de|casi|más de|menos de)"
    r"\s{1,2}(?:the |a |an )?|(?:(?:could|might|may)(?: well)? be|maybe|perhaps|possibly|(?:better|worse"
    rf"|higher|lower|stronger|weaker) than|{DISTANCES})\s(?:a |an )?"
    r"|(?:[~≤≥≲≳∼]|(?<![=\-\w>])[<>]|(?<=\b[a-zA-Z])[<>])\s?=?\s?|(?:也许|可能|或许)是?\s?|(?:大约|大概|约为?"
    r"|将近|接近|近|至少"
    r"|至多|最多|最少|超过|不到|不足|少于|多于|大于|小于|高于|低于|几乎|差不多)(?:是|有)?\s?)"
    rf"(?:{CURRENCY}\s?)?\Z",
    re.I,
)
_ABOUT_AFTER = late_pattern(
    r"\s?(?:多(?!\w)|余|[\u3400-\u9fff]{0,3}(?:左右|上下|以上|以下)|[多余来几](?=[个万亿千百元人只名位米克]))"
    rf"|\s(?:(?:points?|pts?|marks?)\s)?(?:or so|give or take)\b|{BOUND_BEHIND}"
    r"|\s?\+(?=\s|[.,;)}\]$]|\Z)",
    re.I,
)
_NOT_ONE = frozenset(("万一", "一一", "千万", "十万", "百万"))
_WORDS_OF_ONE = frozenset("样般些起定直下致切共旦面种边同半")
"""Characters after `一` that form a word without a numeric meaning."""
_COUNTS = frozenset("需有用花付剩买卖")
"""Verbs before a counted amount."""
_STATED_BEFORE = late_pattern(r"(?:[是为得给打:=负]|等于|还?剩下?|一共|总共|共|#)\s?-?$")
"""Text before a single Chinese numeral that is a number instead of part of a word such as `一样`."""
_LONGEST = 60
"""Largest length of a numeral with Chinese characters; the time to read one is quadratic."""
_MOST_POWER = 400
_LANGUAGE = late_pattern(r"[a-z]{2,3}")


@lru_cache(maxsize=32)
def scan(plain: str, locale: str) -> tuple[NumberToken, ...]:
    """Return every number of a `number_text`, in order, and texts that look like one.

    >>> [token.value for token in scan("3/4 of 10⁵, 1.5 million, 负5, 三分之二 and 2π", "en")]
    [0.75, 100000, 1500000, -5, 0.6666666666666666, None]
    >>> [token.kind for token in scan("on 2024-05-01 the 2nd got 3 or √2", "en")][:2]
    ['name', 'name']
    """
    return tuple(_tokens(plain, locale))


def _tokens(plain: str, locale: str) -> Iterator[NumberToken]:
    at = 0
    while (match := _TOKEN.search(plain, at)) is not None:
        token = _token(plain, match, locale)
        if token is not None:
            yield token
        at = max(match.end() if token is None else token.end, at + 1)


def _token(plain: str, found: re.Match[str], locale: str) -> NumberToken | None:
    """Return the token of a match of `_TOKEN`; None if it is neither a number nor a name."""
    kind, start, end = found.lastgroup or "", found.start(), found.end()
    if kind == "date":
        return NumberToken(start, end, "name")
    if kind == "broken":
        return NumberToken(start, end, "broken")
    if kind == "han" and not _is_han_number(plain, found):
        return None
    if kind in ("plain", "han", "power") and plain.endswith(("^", "^{", "_", "_{"), max(0, start - 2), start):
        return None  # of `cm^2` and `x_1`
    if kind == "plain" and (named := _named(plain, start, end)) is not None:
        return NumberToken(start, named, "name")
    value, odd, over, top = _value(found, kind)
    if value is None and odd is None and kind == "han":
        return None
    broken = value is None and odd is None
    if not broken and kind in ("plain", "latex", "vulgar", "mixed", "ratio", "exponent"):
        factor, end, broken = _magnitude(plain, end, locale, plain[max(0, start - 4) : start])
        if value is not None and factor is not None:
            value, over = value * factor[0] + factor[1], None
    if value is not None and (half := _HALF.match(plain, end)) is not None and value.denominator == 1:
        value, end = value + Fraction(1, 2), half.end()
    sign, start, unsure = _sign(plain, start)
    broken = broken or unsure or _ALGEBRA.match(plain, end) is not None
    broken = broken or _is_argument(plain, start)
    if broken:
        return NumberToken(start, end, "broken")
    percent = _PERCENT.match(plain, end) is not None or (kind == "parts" and found["parts_bottom"] in ("百", "100"))
    if odd is not None:
        return NumberToken(start, end, "odd", odd=odd)
    number = number_of(value if value is None or sign == 1 else -value)
    if number is None:
        return NumberToken(start, end, "broken")
    return NumberToken(start, end, "number", number, None, over, None if top is None else sign * top, percent)


def _is_argument(plain: str, start: int) -> bool:
    """Return true if a function precedes a number, as in `log 5`."""
    tail = plain[max(0, start - 24) : start]
    return ("\\" in tail or tail[-4:].rstrip(" ({_0123456789")[-1:].isalpha()) and _FUNCTION.search(tail) is not None


def is_rough(plain: str, token: NumberToken) -> bool:
    """Return true if a number is approximate or a bound."""
    return (
        _ABOUT_BEFORE.search(plain[max(0, token.start - 32) : token.start]) is not None
        or _ABOUT_AFTER.match(plain, token.end) is not None
    )


def _named(plain: str, start: int, end: int) -> int | None:
    """Return the end of a name that contains a number: `2nd`, `第3`, `GPT-4`; None if there is none."""
    if (ordinal := _ORDINAL.match(plain, end)) is not None:
        return ordinal.end()
    before = plain[max(0, start - 2) : start]
    if before[-1:] == "第" or before == "第 " or (before[-1:] == "#" and before[:1] not in ("#", "")) or before == "№":
        return end
    if before[-1:] == "-" and before[:1].isalpha() and before.isascii():
        return end
    return None


def _value(found: re.Match[str], kind: str) -> tuple[Fraction | None, str | None, Fraction | None, Fraction | None]:
    """Return the value of a match without its sign, its ambiguous digits, and the parts of a fraction."""
    if (odd := ODD.search(found[0])) is not None:
        return None, odd[1], None, None
    match kind:
        case "plain":
            digits = found[0]
            return (Fraction(int(digits)) if digits.isdecimal() else _decimal(digits)), None, None, None
        case "exponent":
            return _decimal(found[0]), None, None, None
        case "han":
            return _chinese(found[0]), None, None, None
        case "ten_thousands":
            return _ten_thousands(found[0]), None, None, None
        case "latex":
            top, bottom = _simple(found["top"] or found["top1"]), _simple(found["bottom"] or found["bottom1"])
            return _mixed(found["latex_whole"], top, bottom), None, None, None
        case "vulgar":
            parts = unicodedata.normalize("NFKC", found["sign"]).split("⁄")
            return _mixed(found["vulgar_whole"], Fraction(parts[0]), Fraction(parts[1])), None, None, None
        case "parts":
            top = _amount(found["parts_top"])
            bottom = Fraction(100) if found["parts_bottom"] == "百" else _amount(found["parts_bottom"])
            if bottom == 100 and top is not None and found["parts_whole"] is None:
                return top, None, None, None  # per cent
            whole = found["parts_whole"]
            if whole is not None and (whole_value := _amount(whole)) is not None:
                value = _mixed(None, top, bottom)
                return None if value is None else whole_value + value, None, None, None
            return (_mixed(None, top, bottom) if whole is None else None), None, None, None
        case "mixed":
            top, bottom = Fraction(found["mixed_top"]), Fraction(found["mixed_bottom"])
            if top >= bottom:
                return None, None, None, None
            whole = _amount(found["mixed_whole"])
            return (None if whole is None else whole + top / bottom), None, None, None
        case "ratio":
            top, bottom = _decimal(found["ratio_top"]), _decimal(found["ratio_bottom"])
            return (top / bottom if bottom else None), None, bottom, top
        case "science":
            return _powered(_decimal(found["times"]), Fraction(10), found["science_power"]), None, None, None
        case "power" if found["base"] is not None:
            return _powered(Fraction(1), _decimal(found["base"]), found["power_power"]), None, None, None
        case "power":
            base = -_decimal(re.sub(r"[-–\s]", "", found["signed"]))
            return _powered(Fraction(1), base, found["power_power"]), None, None, None
    raise AssertionError(kind)


def _decimal(digits: str) -> Fraction:
    """Return the value of digits, with as many decimals as can make a difference."""
    whole, point, part = digits.partition(".")
    if point and len(part) > _MOST_POWER and part.isdigit():
        part = part[:_MOST_POWER]
    return Fraction(f"{whole or 0}{point}{part}")


def number_of(value: Fraction | None) -> int | float | None:
    """Return a value as an exact integer or the nearest float; None if it is larger than all floats."""
    if value is None:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return int(value) if value.denominator == 1 else number


def _simple(text: str) -> Fraction | None:
    """Return the value of digits with an optional sign."""
    plain = re.sub(r"\s", "", text).replace("–", "-").strip("()")
    return Fraction(plain) if _SIMPLE.fullmatch(plain) else None


_SIMPLE = late_pattern(r"[-+]?(?:\d{1,300}(?:\.\d{1,300})?|\.\d{1,300})")


def _mixed(whole: str | None, top: Fraction | None, bottom: Fraction | None) -> Fraction | None:
    if top is None or not bottom:
        return None
    part = top / bottom
    if whole is None:
        return part
    return Fraction(whole) + part if 0 <= part < 1 else None


def _powered(times: Fraction, base: Fraction, power: str) -> Fraction | None:
    """Return a number times a power; None if it is larger than all floats or not exact."""
    digits = unicodedata.normalize("NFKC", power)
    exponent = int(re.sub(r"[^-+\d]", "", digits.replace("–", "-").replace("−", "-").replace("*", "")) or "0")
    size = max(base.numerator.bit_length(), base.denominator.bit_length(), 1)
    if abs(exponent) * size > 4 * _MOST_POWER or (base == 0 and exponent <= 0):
        return None
    return times * base**exponent


def _magnitude(plain: str, end: int, locale: str, before: str) -> tuple[tuple[Fraction, Fraction] | None, int, bool]:
    """Return the factor and the addend of a magnitude word, its end, and whether it is ambiguous."""
    match = _MAGNITUDE.match(plain, end)
    if match is None:
        return None, end, False
    power = _power_of(match, locale, before)
    if power is None:
        return None, end, match["upper"] is None or match["upper"] not in ("T",)
    factor, added, end = power, Fraction(0), match.end()
    least = factor
    while (more := _AND_MORE.match(plain, end)) is not None and ODD.search(more["more"]) is None:
        match = _MAGNITUDE.match(plain, more.end())
        smaller = None if match is None else _power_of(match, locale, "")
        if match is None or smaller is None or smaller >= least:
            break
        added, least, end = added + _decimal(more["more"]) * smaller, smaller, match.end()
    return (factor, added), end, False


def _power_of(found: re.Match[str], locale: str, before: str) -> Fraction | None:
    language = _LANGUAGE.match(locale.casefold())
    long_scale = language is not None and language[0] in _LONG_SCALE
    if found["billion"] is not None:
        return Fraction(10) ** (12 if long_scale else 9)
    if found["trillion"] is not None:
        return Fraction(10) ** (18 if long_scale else 12)
    if found["dozen"] is not None:
        return Fraction(12)
    if found["mil"] is not None:
        return Fraction(1000) if language is not None and language[0] in ("es", "pt", "gl", "ca", "ro") else None
    if found["k"] is not None and found["k"] == "k":
        return Fraction(1000)
    letter = found["k"] or found["upper"]
    if letter is not None:
        money = re.search(rf"{CURRENCY}\s?[-–]?\Z", before) is not None
        return Fraction(10) ** _UPPER[letter] if money and letter in _UPPER else None
    return next(
        Fraction(10) ** int(name[1:]) for name, said in found.groupdict().items() if said and name[1:].isdigit()
    )


_MARKS = frozenset("-+–—±负零マ")
_MINUS_WORDS = ("minus", "negative", "moins", "menos", "meno", "negativ", "négatif", "минус")


def _sign(plain: str, start: int) -> tuple[int, int, bool]:
    """Return the sign of a number, the position at which the number begins with it, and whether it is ambiguous."""
    tail = plain[max(0, start - 24) : start]
    if not (_MARKS.intersection(tail[-9:]) or tail.rstrip(" ($€£¥").casefold().endswith(_MINUS_WORDS)):
        return 1, start, False
    match = _MINUS.search(plain, max(0, start - 24), start)
    if match is None or match.end() != start:
        return 1, start, False
    sign, begin = (-1 if match["second"] else 1), start if match["second"] is None else match.start()
    if match["mark"] is None and match["word"] is None and match["han"] is None:
        return sign, begin, False
    before = plain[max(0, match.start() - 16) : match.start()]
    bare = before.rstrip(" $")
    if match["word"] is not None:
        word = match["word"].strip().casefold()
        if bare.casefold().endswith(("non-", "not")):
            return sign, begin, True
        if word in ("negative", "negativ", "négatif") or _SIGN_FITS.search(before) is not None:
            return -sign, match.start(), False
        return sign, begin, False
    if match["han"] is not None:
        return -sign, match.start(), False
    if match["mark"] == "±":
        return sign, match.start(), True
    last = bare[-1:]
    if bare.endswith(("-(", "–(", "(-", "--")) or (match["mark"] in "-–" and before[-1:] in ("-", "–")):
        return sign, begin, True
    if match["gap"]:
        if match["mark"] == "—" or match["mark"] == "+":
            return sign, begin, False
        alone = not plain[: match.start()].strip() and f"\n{match['mark']} " not in plain
        fits = last in tuple("=:：＝(（≈⇒{[") if last else alone
        return (-sign, match.start(), False) if fits else (sign, begin, False)
    if match["mark"] == "+":
        return sign, (begin if last and (last.isalnum() or last in ")]}%") else match.start()), False
    touching = before[-1:]
    number_before = last.isdigit() or last in tuple(")]}%°½¼¾") or (last == "$" and touching != " ")
    word_before = touching.isalnum() or touching in tuple(")]}%°_") or _CLOSING_QUOTE.search(before) is not None
    if number_before or (word_before and (not touching.isalpha() or _CASED.fullmatch(touching) is not None)):
        return sign, begin, False
    return -sign, match.start(), False


_CASED = late_pattern(rf"[{CASED}]")
_CLOSING_QUOTE = late_pattern(r"[^\s:=(\[{,>|]['\"]\Z")
"""A quotation mark that does not open: in `"-7"` the minus is a sign, in `"a"-7` it is not."""


def _is_han_number(plain: str, found: re.Match[str]) -> bool:
    """Return true if Chinese numerals in a text are a number instead of a word or a part of one."""
    text, end = found[0], found.end()
    alone = len(plain) <= _LONGEST and _ALONE.sub("", plain) == text
    if (text in _NOT_ONE and not alone) or (text == "一" and plain[end : end + 1] in _WORDS_OF_ONE):
        return False
    if text[0] != "一" and plain[max(0, found.start() - 1) : found.start()] in _COUNTS:
        return True
    if _STATED_BEFORE.search(plain, max(0, found.start() - 4), found.start()) is not None:
        return True
    return (
        alone
        or plain[max(0, found.start() - 1) : found.start()] == "\n"
        or (len(text) > 1 and text[0] not in "百千万亿")
    )


_ALONE = late_pattern(r"\A[\s*$]*[负-]?|(?:[分点星个元]|颗星)?[\s。.*$]*\Z")


_SOME = frozenset(("一两", "两三", *(f"{one}{other}" for one, other in pairwise("一二三四五六七八九"))))
"""Approximate counts such as "five or six"."""


@lru_cache(maxsize=1024)
def _chinese(text: str) -> Fraction | None:
    """Return the value of a Chinese numeral; None if it is not one or too long.

    >>> _chinese("一百二十三"), _chinese("两千"), _chinese("三点五"), _chinese("一千一万")
    (Fraction(123, 1), Fraction(2000, 1), Fraction(7, 2), None)
    """
    from cn2an import cn2an

    if len(text) > _LONGEST or text in _SOME:
        return None
    try:
        return Fraction(str(cn2an(text.replace("〇", "零"), "smart")))
    except (ValueError, KeyError):  # the latter is a slip of the library on `三亿三`
        return None


def _amount(text: str) -> Fraction | None:
    return Fraction(text) if _SIMPLE.fullmatch(text) else _chinese(text)


_UNITS = {"十": 10, "百": 100, "千": 1000}


def _ten_thousands(text: str) -> Fraction | None:
    """Return the value of digits with Chinese magnitudes; None if the magnitudes are not in order.

    >>> [str(_ten_thousands(each)) for each in ("3.5万亿", "2千3百", "3万5千", "1亿2000万", "2百万", "3万5")]
    ['3500000000000', '2300', '35000', '120000000', '2000000', 'None']
    """
    total = section = Fraction(0)
    pending: Fraction | None = None
    least: Fraction | None = None
    for digits, sign in _PIECES.findall(text.replace(" ", "")):
        if digits:
            if pending is not None:
                return None
            pending = _decimal(digits)
        elif sign in _UNITS:
            if pending is None:
                return None
            section, pending = section + pending * _UNITS[sign], None
        else:
            size = Fraction(10) ** {"万": 4, "亿": 8, "兆": 12}[sign]
            here = section + (pending or 0)
            if here:
                if least is not None and size >= least:
                    return None
                total, least = total + here * size, size
            elif least == 10**4 and size == 10**8 and total:
                total, least = total * size, size * 10**4
            else:
                return None
            section, pending = Fraction(0), None
    return None if pending is not None else total + section


_PIECES = late_pattern(r"(\d+(?:\.\d+)?)|([十百千万亿兆])")


_ONES = dict(
    zip(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        range(20),
        strict=True,
    )
)
_TENS = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
_PARTS_IN_WORDS = {"hal": 2, "thi": 3, "qua": 4, "fou": 4, "fif": 5, "six": 6, "eig": 8, "ten": 10}
_TIMES = {None: 1, "hundred": 100, "thousand": 1000, "million": 10**6}
_IN_WORDS = late_pattern(
    rf"(?<![\w-])(?<!hundred and )(?:(?P<minus>minus|negative) )?"
    rf"(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<unit>{'|'.join(list(_ONES)[1:10])}))?"
    rf"|(?P<ones>{'|'.join(sorted(_ONES, key=len, reverse=True))}))"
    r"(?:[ -](?P<part>hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?)"
    r"| (?P<times>hundred|thousand|million)(?! and \w))?(?![\w-]| of\b)"
    r"(?! (?:point|hundred|thousand|million|squared|cubed|mod|choose|to the power|plus|minus|times|divided)\b)",
    re.I,
)


def worded_numbers(plain: str, start: int, end: int) -> list[NumberToken]:
    """Return the numbers in English words between two positions."""
    tokens = []
    for match in _IN_WORDS.finditer(plain, start, end):
        words = {name: word and word.casefold() for name, word in match.groupdict().items()}
        ones = words["ones"]
        count = _ONES[ones] if ones else _TENS[words["tens"] or ""] + _ONES.get(words["unit"] or "", 0)
        part = 1 if words["part"] is None else _PARTS_IN_WORDS[words["part"][:3]]
        value = number_of(Fraction(count * _TIMES[words["times"]], -part if words["minus"] else part))
        tokens.append(NumberToken(match.start(), match.end(), "number", value))
    return tokens
