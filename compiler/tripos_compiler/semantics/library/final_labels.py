"""Labels of final answers: where a text announces the answer, in several languages."""

from __future__ import annotations

import re

_GAP = r"[ \t]{0,3}"
_SAYS = (
    r"(?:is|are|was|equals|(?:would|should|will|must) be|comes to|ist|lautet|beträgt|wäre|est|serait|vaut|es|será|é|è|sarà"
    r"|luidt|bedraagt|wynosi|brzmi|равен|равна|равно|составляет)\b"
)
_TASK = (
    rf"(?: (?:to|of|for|zur|zu|à|de|a|na|на) (?:(?:the|this|your|our|der|dieser|la|cette|esta|questa|die)\b ?)?"
    rf"(?:\w{{1,12}} )?(?:question|problem|exercise|task|puzzle|riddle|equation|frage|aufgabe|pregunta|pergunta|domanda"
    rf"|vraag|вопрос)s?)?"
)
_ANSWERS = (
    r"answer|antwort|réponse|reponse|respuesta|resposta|risposta|antwoord|odpowiedź|ответ|відповідь"
)
_RESULTS = (
    r"result|solution|ergebnis|resultat|lösung|résultat|resultado|solución|risultato|soluzione|resultaat|uitkomst|wynik|результат"
)
_FINAL = (
    r"final|end|overall|endgültige[rs]?|finale[rs]?|définitive?|finals?|końcow\w|окончательн\w\w|итогов\w\w|correct|right"
)
_SIGN = r"[:：=]"
_WORDED = re.compile(
    rf"(?<!\w)(?:(?P<answer>{_ANSWERS})|(?:{_RESULTS}))(?P<after> (?:final|correcta?|définitif))?(?!\w)"
    rf"(?:{_TASK}{_GAP}(?:{_SAYS}{_GAP}{_SIGN}?|{_SIGN}|[—–-](?=\s))|(?P<bare>{_GAP}(?=[-$€£\d½\\(\n])))",
    re.I,
)
"""A noun with a copula or a colon; or alone before a number or the end of its line."""
_BEFORE = re.compile(rf"(?:(?<![\w'’])([\w'’]+) )?((?:{_FINAL})[ -])?\Z", re.I)
_FAR = 60
"""As many characters before a noun are looked at."""
_CHINESE = re.compile(
    r"(?P<before>第[一二三四五六七八九十\d]{1,3}[步问题小个]{1,2}的?|[步骤题问][一二三四五六七八九十\d]{1,3}的|[上这每前]一?[步个]的?"
    r"|中间|初步|部分|阶段性|错误|原来?的?|错的?)?"
    r"(?P<final>最终的?|最后的?|正确的?|计算)?(?:(?P<answer>答案|解答)|结果)"
    r"(?P<says>\s{0,3}(?:应该|应当|应|就|便|也|正)?(?:[是为]|等于)\s{0,3}[:：=]?|\s{0,3}[:：=]|\s{0,3}(?=[-$￥¥\d负\n]))"
)
_ASIAN = re.compile(r"(?:答え|こたえ|解答|回答|정답|답|결과|उत्तर|الجواب|الإجابة)(?:は|은|는)?[ \t]{0,3}(?:[:：=]|(?<=[は은는])|(?<=[は은는] )|है)")
_ON_THE_WAY = frozenset(
    "a an as any no each every another that first second third fourth fifth last next previous intermediate interim partial"
    " initial earlier original old wrong incorrect false sub step to in with without by of from can cannot could not don't"
    " may might must will would should please als ein eine einen kein keine erste ersten zweite zweiten dritte letztes"
    " zwischen un une comme première premier deuxième una um uma como primera primer primeira primeiro segundo prima primo"
    " come un' w промежуточный первый второй".split()
)
"""Words before `answer` or `result` that make it something on the way to the answer, or a verb."""


_OWN = frozenset(("the", "my", "our"))
_MORE = re.compile(r"[.;!?](?=\s)[^\d]*\d|[\n。；！？][^\d]*\d")
"""Another number, behind the sentence that is announced."""


def labels_of(text: str) -> list[tuple[int, int]]:
    """Where each label of a final answer begins and where what it announces does, in order.

    A result is one where it is called final, heads its line, or says the last number of all.

    >>> labels_of("Answer: 12"), labels_of("As a result, 3 are left."), labels_of("The result of step 1 is 5.")
    ([(0, 7)], [], [])
    """
    found: list[tuple[int, int]] = []
    weak: list[tuple[int, int]] = []
    for match in _WORDED.finditer(text):
        ahead = _BEFORE.search(text[max(0, match.start() - _FAR) : match.start()])
        word, final = ((ahead[1] or "").casefold().replace("’", "'"), ahead[2]) if ahead is not None else ("", None)
        if word in _ON_THE_WAY or word.endswith(("'s", "s'")):
            continue
        heads, place = _heads(text, match.start()), (match.start(), match.end())
        if match["bare"] is not None:
            if heads or final or (match["answer"] and word in _OWN):
                found.append(place)
        elif match["answer"] or final or match["after"] or heads:
            found.append(place)
        else:
            weak.append(place)
    for match in _CHINESE.finditer(text):
        if match["before"] is not None:
            continue
        strong = match["answer"] or match["final"] not in (None, "计算") or _heads(text, match.start())
        if strong or match["says"].strip():
            (found if strong else weak).append((match.start(), match.end()))
    found += [(match.start(), match.end()) for match in _ASIAN.finditer(text)]
    if weak and _MORE.search(text, max(weak)[1]) is None:
        found.append(max(weak))
    return sorted(found)


def _heads(text: str, start: int) -> bool:
    """Whether only marks stand before a place in its line."""
    line = text[max(text.rfind("\n", 0, start) + 1, start - 12) : start]
    return not re.search(r"\w", line)
