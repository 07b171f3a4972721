"""The text in which numbers are looked for: plain digits, a decimal point, and none of the marks around them."""

from __future__ import annotations

import re
from functools import lru_cache

from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.locales import plain_numbers
from tripos_compiler.language.replies.text import ReplyText, comparable

_APART = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", "\ue002"))
"""Spaces that join the groups of one number; in the form in which texts are compared they are plain ones."""
_HAN = str.maketrans(
    "萬億負兩點貳參滿給評應該為學總結題數確價這個對錯約", "万亿负两点二三满给评应该为学总结题数确价这个对错约"
)
_WIDE = str.maketrans({chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F) if chr(wide) != "，"})
_SIGNS = str.maketrans(
    {
        "⋅": "·",
        "∙": "·",
        "•": "·",
        "✕": "×",
        "✖": "×",
        "⁄": "/",
        "∕": "/",
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
_SPACED = late_pattern(r"(?<=\d)\\ (?=\d{3}(?!\d))")
_SPACE = late_pattern(r"\\[;: ]|\\(?=\s)|\\[()\[\]]|\$\$|~(?=\s)|\\\\")
_EMPHASIS = late_pattern(
    r"(?<!\w)_(?=[-–$\d])|(?<=[\d.%])_(?!\w)|(?<!\d)\*\*|\*\*(?!\d)|__|`|(?<![\w*)])\*(?=[-–$\d.])"
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
"""Stand for the tags around an answer."""
_ANGLED = late_pattern(r"<\s?([-–]?[\d.,/]{1,40})\s?>")
_MANY_SPACES = late_pattern(r" {2,}")
_RAISED = late_pattern(r"<sup>\s?([-+]?\d{1,4})\s?</sup>", re.I)


@lru_cache(maxsize=32)
def number_text(text: str, locale: str) -> str:
    r"""Return the answer of a reply as numbers are read in it: with a decimal point, nothing between thousands, digits
    of one script, and without emphasis and the LaTeX and HTML around numbers.

    >>> number_text(r"$\boxed{10{,}000 \text{ m}}$", "en"), number_text("<think>5?</think>**1.234,5** €", "de")
    ('$\\boxed{10000 m}$', '1234.5 €')
    """
    text = comparable(ReplyText.parse(text).answer.strip().translate(_APART)).replace("\ue002", "\u202f")
    if not text.isascii():
        text = text.translate(_WIDE).translate(_SIGNS).translate(_HAN)
    text = text.replace("+/-", "±")
    if "<" in text:
        text = _BREAK.sub("\n", _TAG.sub("", _RAISED.sub(r"^{\1}", text)))
        text = _ANGLED.sub(r"\1", text)
    if "<" in text or "[" in text:
        text = _ANSWER_CLOSES.sub(CLOSES, _ANSWER_OPENS.sub(OPENS, text))
    if "\\" in text:
        for _ in range(2):
            text = _WORDS.sub(r"\1", text)
        text = text.replace("\\!", "").replace("\\$", "$").replace("\\%", "%").replace("\\#", "#").replace("\\_", "_")
        text = _COMMAND.sub(lambda found: _COMMANDS[found[1]], text)
        text = _SPACED.sub("\u202f", text.replace("\\,", "\u2009"))
        text = _MANY_SPACES.sub(" ", _SPACE.sub(lambda found: "\n" if found[0] == "\\\\" else " ", text))
    if "°" in text:
        text = _DEGREES.sub("°", text)
    return plain_numbers(_EMPHASIS.sub("", text), locale)
