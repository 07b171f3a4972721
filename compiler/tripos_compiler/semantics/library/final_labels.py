"""Labels of final answers: where a text announces the answer, in several languages."""

from __future__ import annotations

import re

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
_WORDED = re.compile(
    rf"(?<!\w)(?:(?P<answer>{_ANSWERS})|(?:{_RESULTS}))(?P<after> (?:finale?|correcta?|définitif))?(?!\w)"
    rf"(?:{_OF_THE_TASK}{_GAP}(?:(?P<sign>[:：=]|[—–-](?=\s))|{_SAYS}{_GAP}[:：=]?)"
    rf"|(?P<bare>{_GAP}(?=[-$€£\d½\\(\n])))",
    re.I,
)
"""A noun with a copula or a colon; or alone before a number or the end of its line."""
_FINAL_BEFORE = re.compile(rf"(?<!\w)(?:{_FINAL})[ -]\Z", re.I)
_WORD_BEFORE = re.compile(r"([\w'’]+) \Z")
_FAR = 60
"""As many characters before a noun are looked at."""
_PART = (
    r"第[一二三四五六七八九十\d]{1,3}[步问题小个]{1,2}的?|[步骤题问][一二三四五六七八九十\d]{1,3}的"
    r"|[上这每前]一?[步个]的?"
)
_CHINESE = re.compile(
    rf"(?P<before>{_PART}|中间|初步|部分|阶段性|错误|原来?的?|错的?)?"
    r"(?P<final>最终的?|最后的?|正确的?)?(?:计算)?(?:(?P<answer>答案|解答)|结果)"
    r"(?:(?P<sign>\s{0,3}[:：=])|(?P<says>\s{0,3}(?:应该|应当|应|就|便|也|正)?(?:[是为]|等于)\s{0,3}[:：=]?)"
    r"|(?P<bare>\s{0,3}(?=[-$￥¥\d负\n])))"
)
_ASIAN = re.compile(
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
_MORE = re.compile(r"[.;!?](?=\s)[^\d]*\d|[\n。；！？][^\d]*\d")
"""Another number, behind the sentence that is announced."""


def labels_of(text: str) -> list[tuple[int, int]]:
    """Where each label of a final answer begins and where what it announces does, in order.

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
    for chinese in _CHINESE.finditer(text):
        strength = _chinese(text, chinese)
        if strength is not None:
            (found if strength else weak).append((chinese.start(), chinese.end()))
    if weak and not found and _MORE.search(text, max(weak)[1]) is None:
        return [max(weak)]
    return sorted(found)


def _worded(text: str, label: re.Match[str]) -> bool | None:
    """Whether a noun announces the answer by itself; None where it announces nothing."""
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


def _chinese(text: str, label: re.Match[str]) -> bool | None:
    if label["before"] is not None:
        return None
    heads = _heads(text, label.start())
    if label["bare"] is not None and not (label["answer"] or label["final"] or heads):
        return None
    return any((label["answer"], label["final"], heads and label["says"] is None))


def _heads(text: str, start: int) -> bool:
    """Whether only marks stand before a place in its line."""
    line = text[max(text.rfind("\n", 0, start) + 1, start - 12) : start]
    return not re.search(r"\w", line)
