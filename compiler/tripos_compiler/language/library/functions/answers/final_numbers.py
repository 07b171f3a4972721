"""The number at which a worked answer arrives, and the labels that announce it in several languages."""

from __future__ import annotations

import math
import re

from tripos_compiler.language.library.functions.answers.extraction import boxed
from tripos_compiler.language.library.functions.numerals import (
    NUMBER_IN_TEXT,
    Locale,
    float_of,
    number,
    settled,
    whole_number,
)
from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.locales import DEFAULT, ODD, plain_numbers

_GAP = r"[ \t]{0,3}"
_SAYS = (
    r"(?:is|are|was|equals|(?:would|should|will|must) be|comes to|ist|lautet|beträgt|wäre|est|serait|vaut|es|será|é|è"
    r"|sarà|luidt|bedraagt|wynosi|brzmi|равен|равна|равно|составляет)\b"
)
_ARTICLE = r"(?:the|this|your|our|der|dieser|la|cette|esta|questa|die)\b ?"
_TASKS = r"question|problem|exercise|task|puzzle|riddle|equation|frage|aufgabe|pregunta|pergunta|domanda|vraag|вопрос"
_OF_THE_TASK = rf"(?: (?:to|of|for|zur|zu|à|de|a|na|на) (?:{_ARTICLE})?(?:\w{{1,12}} )?(?:{_TASKS})s?)?"
_ANSWERS = r"answer|antwort|réponse|reponse|respuesta|resposta|risposta|antwoord|odpowiedź|ответ|відповідь"
_RESULTS = (
    r"result|solution|ergebnis|resultat|lösung|résultat|resultado|solución|risultato|soluzione|resultaat|uitkomst|wynik"
    r"|результат"
)
_FINAL = r"final|end|overall|correct|right|endgültige[rs]?|finale[rs]?|définitive?|końcow\w|окончательн\w\w|итогов\w\w"
_WORDED = late_pattern(
    rf"(?<!\w)(?:(?P<answer>{_ANSWERS})|(?:{_RESULTS}))(?P<after> (?:finale?|correcta?|définitif))?(?!\w)"
    rf"(?:{_OF_THE_TASK}{_GAP}(?:(?P<sign>[:：=]|[—–-](?=\s))|{_SAYS}{_GAP}[:：=]?)"
    rf"|(?P<bare>{_GAP}(?=[-$€£\d½\\(\n])))",
    re.I,
)
"""A noun with a copula or a colon; or alone before a number or the end of its line."""
_FINAL_BEFORE = late_pattern(rf"(?<!\w)(?:{_FINAL})[ -]\Z", re.I)
_WORD_BEFORE = late_pattern(r"([\w'’]+) \Z")
_FAR = 60
"""As many characters before a noun are looked at."""
_PART = (
    r"第[一二三四五六七八九十\d]{1,3}[步问题小个]{1,2}的?|[步骤题问][一二三四五六七八九十\d]{1,3}的"
    r"|[上这每前]一?[步个]的?"
)
_CHINESE_LABEL = late_pattern(
    rf"(?P<before>{_PART}|中间|初步|部分|阶段性|错误|原来?的?|错的?)?"
    r"(?P<final>最终的?|最后的?|正确的?)?(?:计算)?(?:(?P<answer>答案|解答)|结果)"
    r"(?:(?P<sign>\s{0,3}[:：=])|(?P<says>\s{0,3}(?:应该|应当|应|就|便|也|正)?(?:[是为]|等于)\s{0,3}[:：=]?)"
    r"|(?P<bare>\s{0,3}(?=[-$￥¥\d负\n])))"
)
_ASIAN = late_pattern(
    r"(?:答え|こたえ|解答|回答|정답|답|결과|उत्तर|الجواب|الإجابة)"
    r"(?:(?:は|은|는)?[ \t]{0,3}[:：=]|(?:は|은|는)[ \t]{0,3}|[ \t]{0,3}है)"
)
_INDEFINITE = frozenset(("a", "an"))
_WORDS = """
as any no each every another that first second third fourth fifth last next previous intermediate interim partial
initial earlier original old wrong incorrect false sub step to in with without by of from can cannot could not don't may
might must will would should please
als ein eine einen kein keine erste ersten zweite zweiten dritte letztes zwischen
un une um uma una comme como come première premier deuxième primera primer primeira primeiro segundo prima primo
промежуточный первый второй в w
"""
_ON_THE_WAY = frozenset(_WORDS.split())
"""Words before `answer` or `result` that make it something on the way to the answer, or a verb."""
_OWN = frozenset(("the", "my", "our"))
_SENTENCE_END = late_pattern(r"[.;!?](?=\s)|[\n。；！？]")
_DIGIT = late_pattern(r"\d")


def labels_of(text: str) -> list[tuple[int, int]]:
    """Return where each label of a final answer begins and where what it announces does, in order.

    A result is one where it is called final or stands before a colon at the head of its line; and where it says the
    last number of all, and nothing else is announced.

    >>> labels_of("Answer: 12"), labels_of("As a result, 3 are left."), labels_of("The result of step 1 is 5.")
    ([(0, 7)], [], [])
    """
    found = [(match.start(), match.end()) for match in _ASIAN.finditer(text)]
    weak: list[tuple[int, int]] = []
    for worded in _WORDED.finditer(text):
        strength = _worded(text, worded)
        if strength is not None:
            (found if strength else weak).append((worded.start(), worded.end()))
    for chinese in _CHINESE_LABEL.finditer(text):
        strength = _chinese_label(text, chinese)
        if strength is not None:
            (found if strength else weak).append((chinese.start(), chinese.end()))
    if weak and not found and not _has_another(text, max(weak)[1]):
        return [max(weak)]
    return sorted(found)


def _has_another(text: str, start: int) -> bool:
    """Return true if another number stands behind the sentence that is announced."""
    end = _SENTENCE_END.search(text, start)
    return end is not None and _DIGIT.search(text, end.end()) is not None


def _worded(text: str, label: re.Match[str]) -> bool | None:
    """Return true if a noun announces the answer by itself; None where it announces nothing."""
    ahead = text[max(0, label.start() - _FAR) : label.start()]
    final = _FINAL_BEFORE.search(ahead)
    word_before = _WORD_BEFORE.search(ahead if final is None else ahead[: final.start()])
    word = word_before[1].casefold().replace("’", "'") if word_before is not None else ""
    english = label[0].isascii() and label[0][:6].casefold() in ("answer", "result", "soluti")
    if word in _ON_THE_WAY or word.endswith(("'s", "s'")) or (english and word in _INDEFINITE):
        return None
    heads = _heads(text, label.start() if final is None else label.start() - len(final[0]))
    if label["bare"] is not None:
        sure = heads or final is not None or (label["answer"] is not None and word in _OWN)
        return sure or None
    return any((label["answer"], final, label["after"], heads and label["sign"]))


def _chinese_label(text: str, label: re.Match[str]) -> bool | None:
    if label["before"] is not None:
        return None
    heads = _heads(text, label.start())
    if label["bare"] is not None and not (label["answer"] or label["final"] or heads):
        return None
    return any((label["answer"], label["final"], heads and label["says"] is None))


def _heads(text: str, start: int) -> bool:
    """Return true if only marks stand before a place in its line."""
    ahead = text[max(0, start - 12) : start]
    return not re.search(r"\w", ahead.rpartition("\n")[2])


_MARK = "####"
"""Begins the final answer of worked solutions, as GSM8K has them."""
_EMPHASIS = late_pattern(
    r"(?<!\w)_(?=[-$\d])|(?<=[\d.])_(?!\w)|\*\*|__|`|\\\(|\\\)|\\\[|\\\]|\\text\s?\{|\$\$"
    r"|(?<=\d)\\ ?(?=[^\w{])|[{}](?=\s|$)"
)
_LATEX_FRACTION = late_pattern(r"\\[dtc]?frac ?\{([^{}]*)\} ?\{([^{}]*)\}")
_FRACTION = late_pattern(r"-?(?<!\d)\d*+ ?[¼-¾⅐-⅞]")
_SENTENCE = late_pattern(r"[.;!?](?=\s)|[。；！？]")
_AMOUNT = r"\d{1,3}(?:,\d{3}){1,100}(?!\d)|\d+"
_PARTS = late_pattern(
    rf"(?<![\w/.)])-?\s?[$€£¥₹]?(?:(?:{_AMOUNT}) )?(?:{_AMOUNT})(?:\.\d+)? ?/ ?\d+(?:\.\d+)?(?![\w/])"
)
_CHINESE = r"零〇一二两三四五六七八九十百千万亿"
_POWER = late_pattern(
    rf"(?<![\w.])(?P<sign>-)?(?:(?P<times>(?:{_AMOUNT})(?:\.\d+)?) ?(?:[×x*·]|\\times|\\cdot) ?)?"
    r"10 ?\^ ?\{?(?P<power>-?\d{1,3})\}?(?![\d.]\d|\w)"
)
_TEN_THOUSANDS = late_pattern(
    rf"(?<![A-Za-z\d.])-?(?:{_AMOUNT})(?:\.\d+)? ?(?:[十百千]?[万亿]|万亿)(?:\d+[十百千万]){{0,3}}(?!\d)"
)
_CHINESE_FRACTION = late_pattern(rf"(?<![{_CHINESE}])(?P<bottom>[{_CHINESE}]++)分之(?P<top>[{_CHINESE}]+)")
_CHINESE_NUMBER = late_pattern(rf"(?<![第{_CHINESE}])负?[{_CHINESE}]+(?:点[{_CHINESE}]+)?(?!分之)")
_STATED = late_pattern(r"(?:[是为得:：=]|等于|还?剩下?|一共|总共|共)\s?$")
"""What stands before a single Chinese numeral that is a number and not part of a word, as `一` is of `一样`."""
_STATED_MOST = 4
"""As many characters are the longest of it."""
_LONGEST = 60
"""No numeral with Chinese characters is longer; the time that reading one takes grows by the square of its length."""
_NO_NUMBER = frozenset(("万一", "一一", "千万", "十万", "百万"))
_WORDS_OF_ONE = frozenset("样般些起定直下致切共旦面种边同")
"""With these behind it `一` is a word that counts nothing."""


def final_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number at which a worked answer arrives; missing where there is none.

    Looked for is, in this order: what follows the last `####`; the last `\\boxed{…}`; what a label says (`Answer: …`,
    `the final answer is …`, `答案是…`, `Antwort: …`) with a number in its sentence, after the last `=` there; the last
    number of all. A result that is said on the way (`as a result`, `the result of step 1 is …`) is no label. A
    number may have thousands separators, a currency sign, a unit behind it, a fraction part (`3/4`, `1 3/4`, `½`,
    `\\frac{3}{4}`) or a power of ten (`1.5 × 10^3`), or be written in Chinese (`十二`, `三分之二`, `3万`). A per cent
    sign changes nothing. The language of the item determines the separators, as in `last_number`.

    >>> final_number("18 - 6 = 12, so $1,234.50."), final_number("Answer: -3 degrees, not 5"), final_number("none")
    (1234.5, -3.0, None)
    >>> final_number("Antwort: 2.000 Euro (5 % weniger)", "de"), final_number("As a result, 3 are left: 5 in all.")
    (2000.0, 5.0)
    """
    found = _final(text, numbers)
    return None if found is None else settled(found, numbers)


def _final(text: str, numbers: str) -> float | str | None:
    """Return the same; of digits that are no number of the locale, what is written."""
    if _MARK in text:
        return _first(_tidy(_lines_from(text.rpartition(_MARK)[2]), numbers))
    inside = boxed(text)
    if inside is not None:
        found: float | str | None = number(inside, numbers)
        found = _first(_tidy(inside, numbers)) if found is None else found
        if found is not None:
            return found
    tidy = _tidy(text, numbers)
    end = len(tidy)
    for start, behind in reversed(labels_of(tidy)):
        said = _SENTENCE.split(_lines_from(tidy[behind:end]), maxsplit=1)[0]
        found = _first(said.rpartition("=")[2] if "=" in said else said)
        if found is not None:
            return found
        end = start  # what comes after has no number: it is not looked through again
    found_last = _numbers(tidy)
    return found_last[-1] if found_last else None


def _lines_from(text: str) -> str:
    """Return the first line of a text that is not blank."""
    return next((line for line in text.splitlines() if line.strip()), "")


def _tidy(text: str, numbers: str) -> str:
    """Return a text with plain numbers, without marks of emphasis and the LaTeX around numbers."""
    plain = plain_numbers(text.replace("\\;", " ").replace("⁄", "/"), numbers)
    return _EMPHASIS.sub("", _LATEX_FRACTION.sub(r"\1/\2", plain))


def _first(tidy: str) -> float | str | None:
    numbers = _numbers(tidy)
    return numbers[0] if numbers else None


def _numbers(text: str) -> list[float | str]:
    """Return every number of a tidy text, in order, and what is written for those that are odd. What is part of a
    longer one is not one by itself."""
    found: list[tuple[int, float | str]] = []
    taken = bytearray(len(text))

    def take(start: int, end: int, value: float | str | None) -> None:
        if value is None or taken.find(1, start, end) >= 0 or (isinstance(value, float) and not math.isfinite(value)):
            return
        taken[start:end] = b"\1" * (end - start)
        found.append((start, value))

    for match in ODD.finditer(text):
        take(match.start(), match.end(), match[1])
    for match in _POWER.finditer(text):
        power = float((match["times"] or "1").replace(",", "")) * float(f"1e{match['power']}")
        take(match.start(), match.end(), -power if match["sign"] else power)
    for match in _TEN_THOUSANDS.finditer(text):
        value = _chinese(re.sub("[-, ]", "", match[0]))
        take(match.start(), match.end(), value if value is None or match[0][0] != "-" else -value)
    for pattern in (_FRACTION, _PARTS):
        for match in pattern.finditer(text):
            take(match.start(), match.end(), whole_number(match[0].strip()))
    for match in NUMBER_IN_TEXT.finditer(text):
        if text.endswith(("^", "^{"), 0, match.start()):
            continue  # of `cm^2`
        take(match.start(), match.end(), float_of(match[0]))
    for match in _CHINESE_FRACTION.finditer(text):
        bottom, top = _chinese(match["bottom"]), _chinese(match["top"])
        take(match.start(), match.end(), top / bottom if top is not None and bottom else None)
    all_of_it = text.strip(" 。.")
    for match in _CHINESE_NUMBER.finditer(text):
        if _is_number(text, match, alone=match[0] == all_of_it):
            take(match.start(), match.end(), _chinese(match[0]))
    return [value for _, value in sorted(found, key=lambda each: each[0])]


def _is_number(text: str, match: re.Match[str], *, alone: bool) -> bool:
    """Return true if Chinese numerals within a text are a number, and not a word or a part of one."""
    if match[0] in _NO_NUMBER or (match[0] == "一" and text[match.end() : match.end() + 1] in _WORDS_OF_ONE):
        return False
    stated = _STATED.search(text[max(0, match.start() - _STATED_MOST) : match.start()]) is not None
    return stated or alone or (len(match[0]) > 1 and match[0][0] not in "百千万亿")


def _chinese(text: str) -> float | None:
    """Return a Chinese numeral; missing where it is none, or too long to be one.

    >>> _chinese("一百二十三"), _chinese("两千"), _chinese("三点五"), _chinese("一千一万")
    (123.0, 2000.0, 3.5, None)
    """
    from cn2an import cn2an

    if len(text) > _LONGEST:
        return None
    try:
        return float(cn2an(text.replace("〇", "零"), "smart"))
    except (ValueError, KeyError):  # the latter is a slip of the library on `三亿三`
        return None
