"""Numbers as people and models write them, in sentences of four languages: what readers are tried on.

`draws` is seeded: the same seed gives the same replies, each with its value.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from cn2an import an2cn

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
WIDE = {ord(sign): ord(sign) + 0xFEE0 for sign in "0123456789"}
ARABIC = {ord(str(digit)): 0x660 + digit for digit in range(10)}
VULGAR = {"½": (1, 2), "¼": (1, 4), "¾": (3, 4), "⅓": (1, 3), "⅔": (2, 3), "⅕": (1, 5), "⅝": (5, 8)}
SEPARATORS = {"en": (",", "."), "zh": (",", "."), "de": (".", ","), "fr": ("\u202f", ",")}
MAGNITUDES: Mapping[str, Mapping[str, int]] = {
    "en": {" thousand": 3, " million": 6, " billion": 9, " trillion": 12, " lakh": 5, " crore": 7, "bn": 9, "k": 3},
    "zh": {"千": 3, "万": 4, "百万": 6, "亿": 8, "万亿": 12},
    "de": {" Tausend": 3, " Millionen": 6, " Mio.": 6, " Milliarden": 9, " Mrd.": 9, " Billionen": 12},
    "fr": {" mille": 3, " millions": 6, " milliards": 9, " billions": 12},
}
UNITS = {
    "en": (" apples", " km", "%", " percent", " dollars", "°C", " km/h", " m²", ""),
    "zh": ("个", "元", "%", "千克", "千米", "岁", "平方厘米", ""),
    "de": (" Euro", " €", " %", " Prozent", " km", ""),
    "fr": (" euros", " €", " %", " km", ""),
}
CURRENCIES = {"en": ("$", "US$", "£", "€"), "zh": ("¥", "￥"), "de": (), "fr": ()}
MINUS = {
    "en": ("-", "−", "–", "minus ", "negative "),
    "zh": ("-", "−", "负"),
    "de": ("-", "−", "minus "),
    "fr": ("-", "−", "moins "),
}
FRAMES = {
    "en": (
        *("{}", "{}.", "Answer: {}", "**Answer: {}**", "The answer is {}.", "So the final answer is {}.", "#### {}"),
        *("Step 1: 7 * 8 = 56\nStep 2: 56 - 9 = 47\n\nFinal answer: {}", "Answer: {}\n\nExplanation: 4 of 9 are left."),
        *("<answer>{}</answer>", "x = {}", "Result: 3 + 4 = {}", "The answer is {}, not 12345."),
    ),
    "zh": (
        *("{}", "{}。", "答案：{}", "答案是{}。", "最终答案是 {}。", "所以答案应该是{}。", "**答案**：{}"),
        "第一步：7*8=56。\n第二步：56-9=47。\n\n答案：{}",
    ),
    "de": ("{}", "{}.", "Antwort: {}", "Die Antwort ist {}.", "Das Ergebnis lautet {}.", "7 * 8 = 56\n\nAntwort: {}"),
    "fr": ("{}", "{}.", "Réponse : {}", "La réponse est {}.", "7 * 8 = 56\n\nRéponse : {}"),
}
LATEX_FRAMES = ("\\boxed{{{}}}", "$\\boxed{{{}}}$", "Answer: ${}$", "The answer is \\({}\\).", "\\[x = {}\\]")
THOUGHTS = ("", "<think>Is it 99? 98 + 1, or 100.</think>\n\n", "<thinking>\nAnswer: 99\n</thinking>\n")


class Draw(NamedTuple):
    """A reply with a number in one notation, the language of the reply, and the number."""

    text: str
    locale: str
    value: float
    notation: str


Notation = Callable[[random.Random, str], tuple[str, Fraction]]


def _grouped(number: int, locale: str) -> str:
    return f"{number:,}".replace(",", SEPARATORS[locale][0])


def _whole(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    number = dice.choice((dice.randrange(100), dice.randrange(10**4), dice.randrange(10**9)))
    return (_grouped(number, locale) if dice.random() < 0.6 else str(number)), Fraction(number)


def _decimal(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    number, places = dice.randrange(10**6), dice.choice((1, 2, 4))
    part = f"{dice.randrange(10**places):0{places}}"
    return f"{_grouped(number, locale)}{SEPARATORS[locale][1]}{part}", Fraction(f"{number}.{part}")


def _parts(dice: random.Random) -> tuple[int, int]:
    bottom = dice.randrange(2, 40)
    return dice.randrange(1, bottom), bottom


def _ratio(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    top, bottom = dice.randrange(1, 99), dice.randrange(2, 40)
    return dice.choice(("{}/{}", "{} / {}", "{}⁄{}")).format(top, bottom), Fraction(top, bottom)


def _mixed(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    whole, (top, bottom) = dice.randrange(1, 99), _parts(dice)
    form = dice.choice(("{} {}/{}", "{}又{}/{}" if locale == "zh" else "{} {}/{}"))
    return form.format(whole, top, bottom), whole + Fraction(top, bottom)


def _vulgar(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    sign, whole = dice.choice(list(VULGAR)), dice.randrange(0, 20)
    return f"{whole or ''}{sign}", whole + Fraction(*VULGAR[sign])


def _latex(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    whole, (top, bottom) = dice.choice((0, 0, dice.randrange(1, 9))), _parts(dice)
    form = dice.choice(("\\frac{{{}}}{{{}}}", "\\dfrac{{{}}}{{{}}}", "\\tfrac{{{}}}{{{}}}"))
    return f"{whole or ''}{form.format(top, bottom)}", whole + Fraction(top, bottom)


def _latex_whole(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    number = dice.randrange(1000, 10**7)
    return f"{number:,}".replace(",", dice.choice(("{,}", "\\,", "\\ "))), Fraction(number)


def _latex_unit(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    number = dice.randrange(1000)
    form = dice.choice(("{}\\text{{ cm}}", "{}^\\circ", "{} \\text{{ apples}}", "\\text{{{}}}", "{}\\%", "\\${}"))
    return form.format(number), Fraction(number)


def _power(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    base, power = dice.choice((10, 10, 2, 3, 12)), dice.randrange(2, 9)
    written = dice.choice((f"{base}^{power}", f"{base}^{{{power}}}", f"{base}{str(power).translate(RAISED)}"))
    return written, Fraction(base) ** power


def _science(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    digits, power = f"{dice.randrange(1, 10)}.{dice.randrange(10)}", dice.randrange(-6, 13)
    raised = dice.choice((f"^{power}", f"^{{{power}}}", str(power).translate(RAISED)))
    times = dice.choice((" × ", "×", " · ", " ⋅ ", " x ", " * "))
    written = dice.choice((f"{digits}{times}10{raised}", f"{digits}e{power}", f"{digits}E{power:+}"))
    return written.replace(".", SEPARATORS[locale][1]), Fraction(digits) * Fraction(10) ** power


def _latex_science(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    digits, power = dice.randrange(1, 10), dice.randrange(-6, 13)
    times = dice.choice(("\\times", "\\cdot"))
    return f"{digits} {times} 10^{{{power}}}", Fraction(digits) * Fraction(10) ** power


def _magnitude(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    word, power = dice.choice(list(MAGNITUDES[locale].items()))
    digits = dice.choice((str(dice.randrange(1, 999)), f"{dice.randrange(1, 99)}.{dice.randrange(1, 9)}"))
    written = digits.replace(".", SEPARATORS[locale][1])
    return f"{'$' if word == 'k' else ''}{written}{word}", Fraction(digits) * 10**power


def _chinese(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    number = dice.choice((dice.randrange(11, 100), dice.randrange(100, 10**5)))
    if locale != "zh":
        return str(number), Fraction(number)
    return an2cn(number), Fraction(number)


def _chinese_parts(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    top, bottom = _parts(dice)
    if locale != "zh":
        return f"{top}/{bottom}", Fraction(top, bottom)
    if dice.random() < 0.3:
        return f"百分之{an2cn(top)}", Fraction(top)
    if dice.random() < 0.3:
        return f"{an2cn(3)}又{an2cn(bottom)}分之{an2cn(top)}", 3 + Fraction(top, bottom)
    return f"{an2cn(bottom)}分之{an2cn(top)}", Fraction(top, bottom)


def _chinese_steps(dice: random.Random, locale: str) -> tuple[str, Fraction]:
    one, other = dice.randrange(1, 10), dice.randrange(1, 10)
    if locale != "zh":
        return str(one), Fraction(one)
    form, value = dice.choice((("{}千{}百", one * 1000 + other * 100), ("{}万{}千", one * 10**4 + other * 1000)))
    return form.format(one, other), Fraction(value)


PLAIN: dict[str, Notation] = {
    "whole": _whole,
    "decimal": _decimal,
    "fraction": _ratio,
    "mixed": _mixed,
    "vulgar": _vulgar,
    "power": _power,
    "science": _science,
    "magnitude": _magnitude,
    "Chinese": _chinese,
    "Chinese parts": _chinese_parts,
    "Chinese steps": _chinese_steps,
}
LATEX: dict[str, Notation] = {
    "LaTeX fraction": _latex,
    "LaTeX thousands": _latex_whole,
    "LaTeX unit": _latex_unit,
    "LaTeX power": _latex_science,
}
UNITLESS = ("power", "Chinese", "Chinese parts", "Chinese steps", "magnitude")


def draws(seed: int, count: int) -> Iterator[Draw]:
    """Yield replies that say one number each."""
    dice = random.Random(seed)
    for _ in range(count):
        locale = dice.choice(list(FRAMES))
        if dice.random() < 0.25:
            locale = "en"
            name = dice.choice(list(LATEX))
            written, value = LATEX[name](dice, locale)
            negative = name != "LaTeX unit" and dice.random() < 0.2
            written = f"-{written}" if negative else written
            text = dice.choice(LATEX_FRAMES).format(written)
        else:
            name = dice.choice(list(PLAIN))
            written, value = PLAIN[name](dice, locale)
            negative = value != 0 and not written.startswith("$") and dice.random() < 0.25
            if name not in UNITLESS and not negative and CURRENCIES[locale] and dice.random() < 0.15:
                written = f"{dice.choice(CURRENCIES[locale])}{written}"
            elif name not in UNITLESS and dice.random() < 0.3:
                written = f"{written}{dice.choice(UNITS[locale])}"
            if name == "power":
                negative = False
            if negative:
                written = f"{dice.choice(MINUS[locale])}{written}"
            text = dice.choice(FRAMES[locale]).format(written)
            if dice.random() < 0.05 and locale == "en" and name == "whole":
                text = text.translate(dice.choice((WIDE, ARABIC)))
        text = dice.choice(THOUGHTS) + text
        if dice.random() < 0.1:
            text = unicodedata.normalize("NFD", text)
        if dice.random() < 0.1:
            text += dice.choice((" ", "\n", "\n\n  "))
        yield Draw(text, locale, float(-value if negative else value), name)


def in_json(draw: Draw) -> str:
    """Return the reply as the text in JSON of a typed reply."""
    return json.dumps({"value": draw.text}, ensure_ascii=False)
