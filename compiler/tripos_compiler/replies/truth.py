"""Yes or no: the answer of a reply to a yes-or-no question.

English and Chinese sentences are analysed; of German, French, Spanish, Japanese, Russian and Arabic only the words are
known.
"""

from __future__ import annotations

import re
from collections import deque

from tripos_compiler.replies.frames import NO_DOUBT, RETRACTION, Frame, frame_of, plain, sentence_around
from tripos_compiler.replies.places import (
    boxed,
    brief,
    field_of,
    lines_of,
    read_first_answer,
    tables_of,
    tag_of,
    ticked,
    turned,
    until_reasons,
)
from tripos_compiler.replies.text import answer_of, late_pattern

_CJK = r"\u3040-\u30ff\u3400-\u9fff"
_SCRIPT = rf"(?<![^\W_{_CJK}])"
_YES = (
    r"yes|yeah|yep|yup|true|correct|right|accurate|affirmative|(?:of course|certainly|absolutely|definitely|indeed"
    r"|exactly)(?! not)|i (?:do )?think so"
    r"|i believe so|(?:it|this|that|he|she|they) (?:is|does|do|are|was|did|has|have)(?=\W*\Z)|ja|wahr|richtig|stimmt"
    r"|oui|vrai"
    r"|(?:c'est )?exact|sí|verdadero|cierto|correcto|да|верно|правда|правильно|نعم|صحيح|はい|正しい"
    r"|没有错|肯定的|是的|是(?![非否不])|对的|对|正确的|正确|没错|属实|成立|真的|真|可以|能|会(?=\W|\Z)"
)
_NO = (
    r"no|nope|no es (?:verdad|cierto|correcto)|no way|by no means|(?:ce )?n'est pas (?:vrai|exact|correct)"
    r"|not (?:true|correct|right|accurate|really|at all|the case)|false|incorrect|wrong|untrue|inaccurate"
    r"|negative|(?:of course|certainly|absolutely|definitely|probably|i'm afraid|i am afraid|i guess) not"
    r"|i (?:do not|don't) (?:think|believe) so|(?:it|this|that|he|she|they) (?:\w+n't|(?:is|does|do|are|was|did|has"
    r"|have) not)(?=\W*\Z)"
    r"|not(?=\W*\Z)|nein|falsch|stimmt nicht|nicht (?:wahr|richtig)|non|faux|falso|incorrecto|нет|неверно|неправда"
    r"|неправильно|ложь|لا|خطأ|いいえ"
    r"|正しく(?:ない|ありません)|間違い|间违い|это не так|das stimmt nicht|否定的|不是的|不是|不对的|不对|不正确的"
    r"|不正确|不准确|不属实|不成立|并非如此|否|错误的|错误|错的|错了"
    r"|错|没有|假的|假|不可以|不能|不会|不行|不(?=\W|\Z)"
)
_WORD = rf"(?:(?P<no>{_NO})|(?P<yes>{_YES}))"
_WORD_OR_LETTER = rf"(?:(?P<no>{_NO}|(?-i:F))|(?P<yes>{_YES}|(?-i:T)))"
_PLAIN_END = rf"(?![^\W_{_CJK}]|'\w|-\w)(?=\W|\Z|的(?=\W|\Z)|了|吧|啊|呀|因为|由于|です|だ)(?![^\S\n]?\d)"
"""End of a word that is not a part of a longer one: `对于` and `正确率` say nothing."""
_GOES_ON = (
    r"(?=\s*(?:\Z|[\n.,;:!。，；：！、)\]}\"'*|–—-]|\((?!\w\))|because|since|as|it|that|this|the|there|he|she|they|we"
    r"|you"
    r"|i\b|but"
    r"|not|although|though|however|actually|indeed|exactly|sir|definitely|absolutely|of course|if|otherwise"
    r"|when|in (?:this|that"
    r"|fact)|based|according|given|only|for the|both|all|and|"
    rf"[{_CJK}\u0400-\u04ff\u0600-\u06ff]))"
)
"""Text that may follow an opening word, as opposed to the noun of `No answer`, `True north` or `Right side`."""
_OPENS = late_pattern(
    rf"\A[^\w(]*\(?(?:[^\W\d][\w -]{{0,30}}:\s{{0,2}})?(?:(?:well|so|therefore|thus|hence|okay|ok|in (?:short"
    rf"|conclusion|summary)|without (?:a )?doubt|no doubt(?: about it)?"
    rf"|i(?:'d| would)? (?:say|answer)|因此|所以|综上(?:所述)?|故|也就是说|当然|肯定|绝对|确实"
    rf"|显然)[,:]? {{0,2}})?[\"'“(\[{{]{{0,3}}{_WORD}{_PLAIN_END}{_GOES_ON}",
    re.IGNORECASE,
)
_NO_OPENING = late_pattern(
    r"\W*(?:right|correct|true|ok(?:ay)?|对|好),? (?:so|let|now|then|here|first|answer|value|option|side|hand|angle)\b"
    r"|\W*yes[-\s]or[-\s]no"
    r"|\W*[\"'“]\w+[\"'”] (?:is|was|means|has)\b|\W*(?:no|not) (?:problem|idea|clue|worries|doubt(?! about it: )|one\b"
    r"|sure|certain|enough|clear|answer)",
    re.IGNORECASE,
)
"""`Right, so …` only begins to talk; `No problem` answers nothing."""
_CLOSES = late_pattern(rf"(?:{_SCRIPT}|(?<=[是为]))(?<!or )(?<!and )(?<!/)(?<!或)(?<!和){_WORD}\W*\Z", re.IGNORECASE)
_COPULA = late_pattern(
    r"(?:\b(?:is|are|was|were|it's|that's|\w+n't|not|so|be|say|remains|as|actually|instead|definitely)|[是为]"
    r"|[:：,，—–-]"
    r"|\A)\s{0,2}(?:therefore |thus |clearly |simply |just |a |an )?\Z",
    re.IGNORECASE,
)
_LABEL = late_pattern(
    r"(?:\b(?:answer|verdict|conclusion|judge?ment|decision|result|(?:final|overall)(?=\s?:)|antwort|réponse"
    r"|respuesta)[\"']?(?:,\s\w+,"
    r"| to (?:your|the|this) \w+)?\s{0,3}"
    r"(?:(?:is|would be|should be|must be|remains|ist|est|es)\s{0,2}"
    r"(?:therefore|thus|clearly|definitely|actually|simply|a clear|a|an)?\s{0,2}:?|:|=)"
    r"|^\W{0,6}(?:final |my )?(?:answer|verdict|conclusion|judge?ment|答案|结论|判断)[^\w\n]{0,6}\n"
    rf"|\b(?:therefore|thus|hence),?\s{{1,2}}(?=[\"'“(\[]{{0,3}}(?:{_NO}|{_YES})[\"'”)\]]{{0,3}}(?:[.!。\n]|\Z))"
    r"|^A:|(?:答案|回答|结论|判断|答え|الجواب|ответ)(?:应该?|は)?\s{0,3}(?:[是为]\s{0,3}:?|:|=|は)|最终答案:?)"
    rf"[\s\"'“‘(\[{{]{{0,6}}{_WORD_OR_LETTER}{_PLAIN_END}",
    re.IGNORECASE | re.MULTILINE,
)
_HEADED = late_pattern(
    rf"(?:(?:\A|(?<=[\n.;,]))\W{{0,6}}[^\W\d][\w -]{{0,30}}:\s{{0,2}}[\"'“(\[{{]{{0,3}}"
    rf"|(?:\A|(?<=\n))\s{{0,6}}\(?(?:\d{{1,2}}|[a-h])[.)、]\s{{0,3}})(?:{_WORD}{_PLAIN_END}{_GOES_ON})",
    re.IGNORECASE,
)
"""Truth of one of several parts, as in `Relevance: yes` or `2. No`; different ones say nothing of the whole."""
_PARTLY = late_pattern(
    r"(?:(?:但是?|不过)[^.。!?\n]{0,12}?|\b(?:but|though|although|however)\b\W{0,2}"
    r"(?:(?:it|this|that|the (?:statement|claim|answer|sentence|assertion)|which|only|is|'s|was|still|also|just"
    r"|perhaps)\W{1,2}){0,5})"
    r"(?:不完全|不全|部分|\bnot (?:entirely|completely|fully|quite|wholly)|\bpart(?:ly|ially)|\bin part)\s?"
    r"(?:正确|对|准确|(?:true|correct|right|accurate)\b|(?=[.!;\n]|\Z))",
    re.IGNORECASE,
)
"""Restriction of a yes, as in `Yes, but it is only partly correct`; a no stays a no."""
_OTHERS_LABEL = late_pattern(
    r"(?:\b(?:student|user|candidate|response|their|his|her|wrong|expected|reference|given|long|longer)(?:'s)?|学生的?"
    r"|用户的?|参考|标准)\s{0,2}\Z",
    re.IGNORECASE,
)
_STATED = late_pattern(
    rf"{_SCRIPT}(?:(?<!the )|(?=\w+(?:\W|\Z)(?! ?\w)))"
    r"(?:(?P<no>false|incorrect|untrue|wrong|不正确|错误|不对|错的|假的|falsch|fausse|faux|fals[oa]|неверно|неправда"
    r"|間違い|间违い|خطأ)"
    r"|(?P<yes>true|correct|正确|对的|属实|richtig|wahr|vraie?|verdader[oa]|ciert[oa]|correct[oa]|верно|правда|正しい"
    r"|صحيح))"
    rf"(?![^\W_{_CJK}]|-\w)"
    r"(?!\s?(?:的?(?:答案|选项|说法是|做法|率|性|[是为](?!的))|或"
    r"|\w{0,2}(?:answer|value|figure|number|option|statement|one|north)\b))",
    re.IGNORECASE,
)
"""Words that answer a question wherever they occur; `no` and `是` are also ordinary parts of sentences."""
_NEGATORS = late_pattern(
    r"\b(?:not|never|far from|anything but|everything but|cannot|nothing|nobody|none|no way|by no means)\b|\w+n't\b"
    r"|不(?!错|管|论|仅|但|过|同|得不)|并非|绝非|没有(?!错)|ません|ない|\b(?:nicht|kein|n'est pas|n'est|pas|no es"
    r"|не)\b|غير|ليس",
    re.IGNORECASE,
)
_UNDECIDED = late_pattern(
    r"未必|难以|难说|不能(?:判断|确定)|不一定|不见得|谈不上|称不上|算不上|说不上|不好说|无法(?:判断|确定|回答)|不全"
    r"|(?:并非|并不|不)完全|不太|不够"
    r"|\b(?:hardly|scarcely|barely|rarely|seldom|sometimes|often|usually|almost|nearly|partly|partially"
    r"|mostly|largely|half|somewhat|hard to|difficult to|impossible to|depends|neither|might|may|could|would(?! say)"
    r"|perhaps|maybe|possibly"
    r"|cannot (?:be )?(?:say|said|tell|told|determined?|know|decide|judge|verify|confirm)|unclear|unsure|uncertain"
    r"|doubt\w*"
    r"|said to be|assum\w+|suppos\w+|claims that|claimed|(?:claim|idea|belief|notion|myth|view) that"
    r"|(?<!\bi )(?:says|said|thinks|thought)(?=\s*\Z)|sounds?|seems?|appears?|whether|if)\b"
    r"|(?:\bnot|n't|\bno) (?:necessarily|entirely|completely|fully|quite|wholly|exactly|always|sure|certain|clear"
    r"|known?|say"
    r"|tell|determine|decide|enough|only|just|both|judge|verify|confirm)\b"
    r"|部分|基本|大致|几乎|也许|可能|或许|大概|有时|看起来|似乎|如果|假如|是否",
    re.IGNORECASE,
)
BOTH_TRUTHS = late_pattern(
    r"(?:yes|true|correct|right)\s?(?:/|or|and|nor|&)\s?(?:no|false|incorrect|wrong)\b|(?:no|false|incorrect"
    r"|wrong)\s?(?:/|or|and|nor|&)\s?(?:yes|true|correct|right)\b"
    r"|是[/或和]否|对[/或和]错|正确[/或和还]是?错误|真[/或和]假",
    re.IGNORECASE,
)
"""Both truth values in one phrase, which says neither."""
_SENTENCE = late_pattern(r"[^.!?。！？\n]*(?:[.!?。！？\n]|\Z)")
_REASON_SENTENCE = late_pattern(
    r"\bcorrect me if i(?:'m| am) wrong,?(?: but)?|(?<=[。.!?;；\n])\s{0,3}(?:因为|由于|because\b|since\b)[^。.!?\n]*",
    re.IGNORECASE,
)
_ASKS_EITHER = late_pattern(r"(?:是不是|对不对|是否[^,。?]{0,20})[?？,:]")
_LONGEST_QUESTION = 300
_LONGEST_CLAUSE = 300
_PLEASANTRY = late_pattern(
    r"\A\W{0,3}(?:let me think|let me see|let's (?:think|see)|hmm|thank|thanks|great|good|excellent|nice"
    r"|interesting|hello|hi|sure|okay|ok"
    r"|happy to)\b[^.!?\n,]{0,60}[.!]\s+(?=\S)",
    re.IGNORECASE,
)
_LIMITED = late_pattern(r"\s{0,2}(?:only|in part|of some|for some|in some|at times|sometimes)\b", re.IGNORECASE)
_CONDITION = late_pattern(r"\b(?:if|otherwise|when|unless)\b|如果|否则|若", re.IGNORECASE)
_OF_A_PERSON = late_pattern(
    r"(?:\b(?:student|user|candidate|pupil|learner)(?:'s)? (?:answer|reply|response|choice|says|said|wrote)"
    r"|(?:学生|考生|用户)的?(?:答案|回答|选择))"
    r"\W{0,3}(?:(?:is|was|是|为)\W{0,3})?(?:yes|no|true|false|对|错|是|否|不是)\W*\Z",
    re.IGNORECASE,
)
_OTHERS_SAY = late_pattern(
    r"\b(?:some|many|most|people|others|critics|experts|they|he|she|students?|users?)\b[^.;,\n]{0,30}"
    r"\b(?:say|says|said|think|thinks|believe|believes|claim|claims|argue|argues|answer"
    r"|answers)\s(?:that )?(?:yes|no|true|false|right|wrong|(?:in)?correct)\W*\Z",
    re.IGNORECASE,
)
_BOOL_FIELD = late_pattern(r"[\"']\s{0,3}:\s{0,3}(true|false)\s{0,3}[,}]", re.IGNORECASE)
_NOT_THE_CASE = late_pattern(r"\bit(?:'s| is) not the case that\b", re.IGNORECASE)
_EITHER = late_pattern(r"对不对|是不是|是否|对吗")
_CONCLUDES = late_pattern(r"\b(?:so|therefore|thus|hence)\b|所以|因此|综上|故", re.IGNORECASE)
_SYMBOLS = late_pattern("(?P<yes>[√✓✔✅☑])|(?P<no>[×✗✘❌✕☒])")
_CLAUSE_END = late_pattern(
    r"[,;:.!?。，；：]|(?<!anything )(?<!everything )(?<!all )\bbut\b|\b(?:so|since|because)\b|但|所以|因此",
    re.IGNORECASE,
)
_CORRECTION = (
    r"\b(?:actually|wait|in fact|instead|scratch that|sorry|oops|correction|on second thought)\b|不对,|其实|等等|更正"
)
_CORRECTED = late_pattern(_CORRECTION, re.IGNORECASE)
_RETRACTED = late_pattern(
    rf"(?:{RETRACTION}|{_CORRECTION}|\b(?:or|no,) rather\b|应该?[是为])[\s,.:;!…—–-]{{0,6}}", re.IGNORECASE
)
"""Words that retract a truth, which may be followed by the opposite one: `Yes. Wait, no.`"""


_WHOLE = late_pattern(rf"[\W_]*{_WORD}[\W_]*\Z", re.IGNORECASE)
_BETWEEN = r"[^\w?:]*(?:[^\w?:]|and|or|versus|vs|[和或])[^\w?:]*"
_ONLY_BOTH = late_pattern(
    rf"[^\w?]*(?:(?:{_YES}){_BETWEEN}(?:{_NO})|(?:{_NO}){_BETWEEN}(?:{_YES}))[^\w?]*\Z",
    re.IGNORECASE,
)
"""Both words and nothing else, as in `yes, no` or `True | False`; in `Correct: no` the first is a label."""


def read_truth(text: str) -> bool | None:
    """Return the answer of a reply to a yes-or-no question; None if it says neither or both.

    The search order, before the reasons, is: a field of JSON, a box, an `<answer>`; the last label
    (`the answer is no`); the word that opens the text; the word that closes it; the only `true`, `false`, `正确` or
    `错误` of a short text. A plainly denied truth is its opposite; one that is hedged (`partly`, `未必`), asked, quoted
    or supposed does not count.

    >>> read_truth("**Yes**, because it rains."), read_truth("It isn’t true."), read_truth("Perhaps.")
    (True, False, None)
    >>> read_truth("Correct? No."), read_truth("No problem! The answer is yes."), read_truth("未必正确")
    (False, True, None)
    """
    return read_first_answer(answer_of(text), _read_answer)


def _read_answer(answer: str) -> bool | None:
    for form in (field_of(answer), boxed(answer), tag_of(answer)):
        if form is not None:
            return read_truth(form) if form != answer else None
    fields = [field.lower() for field in _BOOL_FIELD.findall(answer)]
    if len(fields) == 1:
        return bool(fields[0] == "true")
    if len(set(fields)) > 1:
        return None
    said = plain(answer).strip()
    if said.strip(" .") in ("T", "F"):
        return said[0] == "T"
    if says_both(said) and not ticked(said, truth_word):
        return None
    head = until_reasons(said).strip()
    for part in dict.fromkeys(filter(None, (head, said))):
        found = _read(part)
        if found is not None or _OPENS.match(part) is not None:
            return found
    return None


def truth_word(text: str) -> bool | None:
    """Return the truth value that all of a text says in one word or phrase; None if there is more.

    >>> truth_word("**Yes**."), truth_word("not true"), truth_word("Yes, it is shorter"), truth_word("yes and no")
    (True, False, None, None)
    """
    found = _WHOLE.match(text)
    return None if found is None else found["yes"] is not None


def says_both(text: str) -> bool:
    """Return true if a text is yes and no without any other word, so that it says neither.

    >>> says_both("Correct - no"), says_both("**True** / False"), says_both("Correct: no"), says_both("No, no.")
    (True, True, False, False)
    """
    said = plain(answer_of(text)).strip()
    return _ONLY_BOTH.match(said) is not None and _CORRECTED.search(said) is None


def _read(text: str) -> bool | None:
    truths = ticked(text, truth_word) or _table_truths(text)
    text = _REASON_SENTENCE.sub(" ", text)
    text = BOTH_TRUTHS.sub(lambda match: " " if match.start() else "-", text)
    announced = _announced(text)
    if announced is not None:
        return None if announced and _is_restricted(text) else announced
    if truths:
        return truths[0] if len(set(truths)) == 1 else None
    if len({_value(part) for part in _HEADED.finditer(text)}) > 1:
        return None
    found = _unannounced(text)
    return None if found and _is_restricted(text) else found


def _table_truths(text: str) -> list[bool]:
    """Return the truths in a column of a table, one for each row; empty if no column has one in each."""
    for _, *rows in tables_of(text):
        for column in reversed(turned(rows)):
            truths = [truth for cell in column if (truth := truth_word(cell)) is not None]
            if len(truths) == len(column):
                return truths
    return []


def _is_restricted(text: str) -> bool:
    """Return true if a sentence that says yes restricts it, or the next one begins with the restriction."""
    for restriction in _PARTLY.finditer(text):
        start, _ = sentence_around(text, *restriction.span())
        ahead = text[start : restriction.start()]
        if not re.search(r"\w", ahead) or _OPENS.match(ahead.lstrip()) or _LABEL.search(ahead) or _STATED.search(ahead):
            return True
    return False


def _unannounced(text: str) -> bool | None:
    """Return the truth that a text without a label opens with, ends with or mentions; None if it says neither."""
    flat, questions = without_questions(text)
    if not flat:
        return None
    flat = _PLEASANTRY.sub("", flat) or flat
    opening, closing = _opening(flat), _closing(flat)
    if any(_asks_for_the_wrong(question) for question in questions):
        stated = _mentioned(flat)
        return stated if stated is not None or opening is None else not opening
    ending = _last_sentence(flat)
    if _CONCLUDES.match(ending.lstrip()) is not None:
        concluded = closing if closing is not None else _opening(ending)
        if concluded is not None and (opening is None or opening is concluded or questions):
            return concluded
    last = text[text.rfind(questions[-1]) + len(questions[-1]) :].strip() if questions else text
    if questions and closing is not None and len(last) < 12:
        return closing  # the last question is answered by itself
    if opening is not None:
        retracted = _retracted(flat, _OPENS.match(flat).end())  # type: ignore[union-attr]
        if retracted is not None:
            return retracted
        return opening if closing is None else _corrected(flat, opening, closing)
    if closing is not None:
        return closing
    return _mentioned(flat)


def without_questions(text: str) -> tuple[str, list[str]]:
    """Return a text without its questions, and the questions.

    >>> without_questions("Is it true? Yes.")
    ('Yes.', ['Is it true?'])
    """
    kept: list[str] = []
    questions: list[str] = []
    for sentence in _SENTENCE.findall(text):
        if sentence.endswith(("?", "？")):
            questions.append(sentence[-_LONGEST_QUESTION:])
            kept.append(sentence[:-_LONGEST_QUESTION] + " ")
        else:
            kept.append(sentence)
    flat = "".join(kept)
    questions += _ASKS_EITHER.findall(flat)
    return _ASKS_EITHER.sub(" ", flat).strip(), questions


def _asks_for_the_wrong(question: str) -> bool:
    """Return true if a question asks whether something is false: `Is it wrong? No.` means that it is right."""
    match = None if _EITHER.search(question) else _STATED.search(question)
    return match is not None and not _value(match)


def _corrected(text: str, opening: bool, closing: bool) -> bool | None:
    """Return the answer of a text that opens with one answer and closes with another: the latter if it corrects itself,
    and none if it concludes."""
    if closing is opening:
        return opening
    if _CORRECTED.search(text):
        return closing
    return None if _CONCLUDES.search(text) else opening


def _retracted(text: str, start: int) -> bool | None:
    """Return the truth directly behind the last words after a position that retract an earlier one."""
    for words in reversed(deque(_RETRACTED.finditer(text, start), 32)):
        found = _opening(text[words.end() :])
        if found is not None:
            return found
    return None


def _value(found: re.Match[str]) -> bool:
    return found["no"] is None


def _word(found: re.Match[str]) -> tuple[int, int]:
    return found.span("no" if found["no"] is not None else "yes")


def _opening(text: str) -> bool | None:
    match = _OPENS.match(text)
    if match is None or _NO_OPENING.match(text) is not None:
        return None
    end = _word(match)[1]
    if _OF_A_PERSON.search(text[:end]):
        return None
    rest = _TO_STOP.match(text, end)[0]  # type: ignore[index]
    for clause in re.split(r"[,;，；]| but | and ", rest)[1:]:
        other = _OPENS.match(clause.strip())
        if other is not None and _value(other) is not _value(match) and _PARTIAL.search(clause):
            return None
    return None if _PARTIAL.match(rest) and _OTHERWISE.search(rest) else _value(match)


_TO_STOP = late_pattern(r"[^.!?。！？\n]*")
_PARTIAL = late_pattern(r"\W*(?:only |just )?(?:for|in|when|if|otherwise)\b", re.IGNORECASE)
_OTHERWISE = late_pattern(r"\b(?:no|false|yes|true|otherwise|not)\b", re.IGNORECASE)
_SENTENCES = late_pattern(r"(?<=[.!?。！？;；…])\s*")


def _last_sentence(text: str) -> str:
    """Return the last non-empty sentence of a text."""
    lines = list(lines_of(text))
    sentences = [part for part in _SENTENCES.split(lines[-1].strip()) if re.search(r"\w", part)] if lines else []
    return sentences[-1] if sentences else ""


def _closing(text: str) -> bool | None:
    last = _last_sentence(text)[-200:]
    if not last:
        return None
    if _CONDITION.search(last) or _OF_A_PERSON.search(last) or _OTHERS_SAY.search(last):
        return None
    match = _CLOSES.search(last)
    return None if match is None or not _COPULA.search(last[: _word(match)[0]]) else _settled(last, match)


def is_hedged(text: str, start: int) -> bool:
    """Return true if the words before a position leave open whether the following truth word holds.

    >>> is_hedged("It may be true", 10), is_hedged("It is true", 6)
    (True, False)
    """
    return _UNDECIDED.search(_clause_before(text, start)) is not None


def _clause_before(text: str, start: int) -> str:
    """Return the clause before a position, as far as it may hedge or deny what follows."""
    return NO_DOUBT.sub(" ", _CLAUSE_END.split(text[max(0, start - _LONGEST_CLAUSE) : start])[-1])


def _settled(text: str, found: re.Match[str]) -> bool | None:
    """Return the truth of a word in its context: the opposite if it is plainly denied, None if it is hedged."""
    start, end = _word(found)
    if is_hedged(text, start) or _LIMITED.match(text, end) or _QUOTED_WORD.match(text, start - 1):
        return None
    denied = len(_NEGATORS.findall(_clause_before(text, start)))
    if denied:
        return not _value(found) if denied == 1 else None
    frame = frame_of(text, start, end, labelled=True)
    return None if frame in (Frame.OPEN, Frame.DENIED) else _value(found)


_QUOTED_WORD = late_pattern(r"[\"'“]\w+[\"'”] (?:is|was|means)\b", re.IGNORECASE)


def _announced(text: str) -> bool | None:
    """Return the truth of the last label that affirms one."""
    for label in reversed(deque(_LABEL.finditer(text), 32)):
        start, end = _word(label)
        if _OTHERS_LABEL.search(text[max(0, label.start() - 40) : label.start()]) or _UNDECIDED.match(text, start):
            continue
        if frame_of(text, start, end, labelled=True) in (Frame.AFFIRMED, Frame.HELD):
            match = _CORRECTED.search(text, end)
            later = _retracted(text, end)
            if later is None and match is not None:
                later = _closing(text[match.end() :])
            return _value(label) if later is None else later
    return None


def _mentioned(text: str) -> bool | None:
    """Return the only truth that a short text, or its last line, states."""
    short = brief(text)
    if _NOT_THE_CASE.search(short) and not _STATED.search(short):
        return False
    symbols = {_value(each) for each in _SYMBOLS.finditer(short)}
    if symbols:
        return symbols.pop() if len(symbols) == 1 else None
    found: set[bool | None] = set()
    for match in _STATED.finditer(short):
        if frame_of(short, *_word(match)) is not Frame.OPEN and not _OF_A_PERSON.search(short[: match.end()]):
            found.add(_settled(short, match))
    return found.pop() if len(found) == 1 else None
