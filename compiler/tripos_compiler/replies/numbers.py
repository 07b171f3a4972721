"""The number that a reply states, and labels that announce answers and scores in several languages.

Every reader of numbers uses `read_number`: the functions `number`, `last_number` and `final_number`, typed replies and
scores of judges. They differ only in where they look.
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

from tripos_compiler.replies.frames import RECHECKS, RETRACTIONS, REWORDINGS
from tripos_compiler.replies.number_tokens import (
    BOUND_BEHIND,
    BOUNDS,
    CLOSES,
    CURRENCY,
    DIGITS,
    DISTANCES,
    OPENS,
    NumberToken,
    is_rough,
    number_of,
    number_text,
    odd_number,
    scan,
    worded_numbers,
)
from tripos_compiler.replies.places import answer_fields, has_conflicting_fields, last_box, read_first_answer
from tripos_compiler.replies.text import late_pattern

# Labels of answers and scores

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
    r"result|solution|ergebnis|resultat|lösung|résultat|resultado|solución|risultato|soluzione|resultaat"
    r"|uitkomst|wynik"
    r"|результат"
)
_FINAL = r"final|end|overall|correct|right|endgültige[rs]?|finale[rs]?|définitive?|końcow\w|окончательн\w\w|итогов\w\w"
_WORDED = late_pattern(
    rf"(?<!\w)(?:(?P<answer>{_ANSWERS})|(?:{_RESULTS}))(?P<after> (?:finale?|correcta?|définitif))?(?!\w)"
    rf"(?:{_OF_THE_TASK}[\"'\]]{{0,2}}{_GAP}(?:(?P<sign>[:：=]|[—–-](?=\s))|{_SAYS}{_GAP}[:：=]?)"
    rf"|(?P<bare>{_GAP}(?!#?\d{{1,2}}\s?[:：).])(?=[-–$€£¥₹\d½\\(\n负])))",
    re.I,
)
"""Noun with a copula or a colon, or alone before a number or the end of its line."""
_FINAL_BEFORE = late_pattern(rf"(?<!\w)(?:{_FINAL})[ -]\Z", re.I)
_WORD_BEFORE = late_pattern(r"([\w'’]+) \Z")
_FAR = 60
"""Number of characters before a noun that are examined."""
_PART = (
    r"第[一二三四五六七八九十\d]{1,3}[步问题小个]{1,2}的?|[步骤题问][一二三四五六七八九十\d]{1,3}的"
    r"|[上这每前]一?[步个]的?"
)
_CHINESE_LABEL = late_pattern(
    rf"(?P<before>{_PART}|中间|初步|部分|阶段性|错误|原来?的?|错的?)?"
    r"(?P<final>最终的?|最后的?|正确的?)?(?:计算)?(?:(?P<answer>答案|解答|(?<![\w])答(?=[:：]))|结果)[】\]]?"
    r"(?:(?P<sign>\s{0,3}[:：=])|(?P<says>\s{0,3}(?:应该|应当|应|就|便|也|正)?(?:[是为]|等于)\s{0,3}[:：=]?)"
    r"|(?P<bare>\s{0,3}(?=[-–$￥¥\d负\n])))"
)
_ASIAN = late_pattern(
    r"(?:答え|こたえ|解答|評価|評点|点数|回答|정답|답|결과|उत्तर|الجواب|الإجابة)"
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
"""Words before `answer` or `result` that make it an intermediate result or a verb."""
_OWN = frozenset(("my", "our"))
_SENTENCE_END = late_pattern(r"[.;!?](?=\s)|[\n。；！？]")
_DIGIT = late_pattern(r"\d")
_ASIDE_OF_RESULT = late_pattern(
    r"(?:confidence|certainty)\b[^\n]*|\[\^?\d{1,3}\]|\((?:see|cf\.?|step|eq)\b[^()\n]*\)|^\s*(?:because|since"
    r"|as)\b[^.\n]*|note that[^.\n]*"
    r"|仅供参考|置信度[^\n]*",
    re.I | re.M,
)
"""Text with numbers behind a result that gives no other result."""


_OTHERS = frozenset(
    [
        "correct",
        "right",
        "true",
        "expected",
        "reference",
        "gold",
        "standard",
        "model",
        "student",
        "candidate",
        "pupil",
        "user",
        "learner",
        "given",
        "submitted",
        "provided",
        "proposed",
        "stated",
        "suggested",
        "your",
        "their",
        "his",
        "her",
        "its",
    ]
)
"""Words before `answer` that attribute it to somebody else or make it the reference; not a label of a score."""
_CORRECT = late_pattern(r"(?:correct|right)[ -]\Z", re.I)
_OTHERS_HAN = late_pattern(
    r"(?:学生|考生|同学|他|她|用户|模型|参考|标准|正确|原|所给|给出|提交|回复|回答者|学员|孩子"
    r"|你)(?:们)?(?:给出)?的?(?:最终|最后)?的?\Z"
)
_STUDENTS = frozenset(("student", "pupil", "candidate", "learner"))
_STUDENT_HAN = late_pattern(r"(?:学生|考生|同学|学员|另一位?|其他人?)(?:们)?(?:给出|提交)?的?(?:最终|最后)?的?\Z")
_EXPLAINS = late_pattern(
    r"(?:^|(?<=[.!?;] ))\W{0,6}(?:explanation|reasoning|rationale|justification|reasons?|notes?|why"
    r"|check(?:ing)?|verification"
    r"|because|working|begründung|erklärung|explication|justificación|explicación|spiegazione|объяснение"
    r"|解释|说明|解析|理由|分析|验证|检验|原因|备注|注)(?=\W|$)"
    r"|(?<=[。；！])(?:解释|说明|解析|理由|分析|原因|备注|注)(?=[:：])",
    re.I | re.M,
)
_SCORE_NOUN = late_pattern(
    r"(?<!\w)(?P<before>(?:[\w']+ ){0,2})(?P<noun>scores?|ratings?|marks?|grades?|points?|verdict|assessment"
    r"|overall|final|total|gesamt(?:punktzahl|note|wertung)?|punktzahl|bewertung|note|puntuación|puntaje"
    r"|note finale|nota|calificación|punteggio|voto|оценка)(?!\w)[\"'\]]{0,2}"
    r"(?: ?\([^()\n]{0,40}\))?(?: on a scale (?:of|from) \d{1,3} ?(?:to|-) ?\d{1,3}"
    r"| out of \d{1,3}(?=\s?:))?(?: (?:for|of"
    r"|to) (?:(?:the|this|that) )?[^\W\d][\w']{0,19}){0,2}"
    r"\s{0,3}(?:(?P<sign>[:：=]|[—–-](?=\s)|->|→|⇒|\|(?=[ *]{0,3}\d))|(?P<bare>(?=\s?\d))|(?P<says>is|was|are"
    r"|would be|should be|comes to|of|at|ist|est|lautet|es|è)\b)"
    r"[ \t]{0,3}[:：=]?",
    re.I,
)
_SCORE_HAN = late_pattern(
    r"(?P<before>满分?|最高|最低|参考|平均|及格|总共)?(?:综合|最终|最后的?|总体|整体)?(?:得分|评分|分数|打分"
    r"|总分|分值|成绩|评级|给分)"
    r"(?:\([^()\n]{0,20}\))?(?:[】\]]\s{0,3}[:：]?|\s{0,3}(?:应该?|定)?[是为给]\s{0,3}[:：=]?|\s{0,3}[:：=]"
    r"|\s{0,3}(?=\d))"
)
_FILLER = (
    r"(?:(?:it|this|it's|that's|that|the|him|her|them|you|a|an|only|just|about|out|of|at|as|to|be|total|overall|full"
    r"|solid|score|rating|grade|mark"
    r"|response|answer|reply|essay|solution|student|student's|work|explanation|candidate|text|assistant|one"
    r"|model|output"
    r"|summary|translation|story|argument|submission|perfect|strong|weak|fair|good|generous|low|high)\s){0,6}"
)
_SCORE_VERB = late_pattern(
    r"(?<!\w)(?P<verb>give|giving|gives|gave|award(?:ed|ing|s)?|assign(?:ed|ing|s)?|deserves?|merits?|earns?"
    r"|gets?|receives?"
    r"|warrants?|(?:would|could|might) have (?:earned|deserved|merited|received|got(?:ten)?)"
    r"|(?:i|i'd|i'll|we|we'd|would|will|can|to|me|be|is|am)\s(?:rate[ds]?|scor(?:e[ds]?|ing)"
    r"|grade[ds]?|mark(?:ed)?|say|put|call|go with)"
    r"|(?:scores?|rates)(?=\san?\s)|settle on|let's say|rated|gebe|vergebe|verdient|donne|mérite|doy|merece|ставлю"
    r"|(?:(?:reply|response|answer|essay|this|it|that|performance|work|which|he|she|they)\s(?:is|was|would be)"
    r"|it's|that's)(?: only| easily| clearly| still)?(?=\san?\s)"
    r"|(?:so|hence|therefore|thus|overall|altogether|finally|accordingly|in total|in sum|(?:lowers?|reduces?"
    r"|brings?|bringing|raises?) (?:it|this|the score) (?:down |up )?to|as it stands|leaving|leaves|daher"
    r"|also|donc|所以|因此|综上))[,:]?\s{1,2}"
    rf"{_FILLER}(?=[-$*\"'(\[]{{0,3}}\d)",
    re.I,
)
_SCORE_VERB_HAN = late_pattern(
    r"(?P<verb>最后|最终|取|给予|给出|给|打|评为|评定为|判为|评|判|得(?!出)"
    r"|值)(?:[了他她它出该这个其此])?(?:回答|学生|答案|作文|回复|文章)?\s{0,2}(?=\d|[零一二两三四五六七八九十])"
)
_NO_SCORE = frozenset(
    [
        "maximum",
        "max",
        "highest",
        "lowest",
        "minimum",
        "possible",
        "passing",
        "average",
        "mean",
        "perfect",
        "full",
        "top",
        "other",
        "another",
        "previous",
        "earlier",
        "old",
        "original",
        "expected",
        "required",
        "needed",
        "reference",
        "question",
        "exclamation",
        "check",
        "key",
        "bullet",
        "decimal",
        "data",
        "out",
        "these",
        "those",
        "two",
        "three",
        "four",
        "five",
        "several",
        "many",
        "all",
        "no",
        "not",
        "student's",
        "his",
        "her",
        "their",
        "pass",
    ]
)
_DENIES = late_pattern(
    r"(?:(?:\bnot|n't|\bnever|\bcannot|\bwithout|\bnor|\bneither)\b\W*(?:[\w']+\W+){0,2}|(?:不|没有?|别|未|无法"
    r"|难以)[\u3400-\u9fff]{0,3})\Z",
    re.I,
)
_ALONE_BEHIND = late_pattern(r"\s?\d[\d./]{0,8}\s?(?:[,;:(]|\.(?!\d)|\Z|\n|because|since)")
_AMOUNTS = frozenset(("total", "overall", "final", "point", "points", "mark", "marks"))
_BARE_SCORE = frozenset(("final", "overall", "total", "my"))
_OTHER_ONE = late_pattern(r"\b(?:other|another|previous) (?:response|reply|answer|one|student|essay)\b|另一|其他", re.I)
_IF = late_pattern(r"\b(?:if|unless|suppose)\b|如果|假如|倘若|若(?!干)|要是|的话", re.I)
_BUT = late_pattern(r"\bbut\b|但", re.I)
_CLAUSE = late_pattern(r"[,，;；、]|\bbut\b|但")
_WOULD = late_pattern(r"\b(?:would|wäre|serait|sería)\b", re.I)
_SUPPOSES = late_pattern(
    r"\b(?:if|unless|suppose|had|would have|could have|might have|were it)\b"
    r"|如果|假如|倘若|若(?!干)|要是|的话|本来|原本",
    re.I,
)
_AWARD = late_pattern(
    r"(?:(?P<gives>giv(?:e|es|ing)|gave|award(?:s|ing)?|assign(?:s|ing)?)|awarded|assigned|(?P<gets>deserves?|merits?"
    r"|earns?|gets?|receives?|warrants?|\A(?:scores?|rates))|(?P<rates>(?:to|would|will|can|be|is)\s(?:rate"
    r"|scor|grade|mark)\w*))\Z",
    re.I,
)
_PART_OF_SENTENCE = late_pattern(
    r"[,，;；:：()—–]|\s-\s|\b(?:but|and|while|whereas|so|because|since|as(?! a whole)|then)\b", re.I
)
_WRITER = late_pattern(r"\b(?:I|we|me|us|my|our|let's)\b(?!\.)", re.I)
_OTHER_SUBJECT = late_pattern(r"\b(?:the|its|their|an?)\s(?:[\w-]+\s){1,2}\Z", re.I)
_ON_PART = late_pattern(
    r"(?:\A|[,;(]|\band\b)\W*(?:on|for|regarding|in terms of|as for|as to)\s(?!(?:balance|the whole|me|now|this|that"
    r"|these|those|a|an|my|your|reflection|average|what)\b)(?:the\s|its\s)?[\w-]+,?\s"
    r"(?:it|this|he|she|they|the \w+)\s(?:\w+ly\s)?\Z",
    re.I,
)
"""Words before a verb that scores a part: `for style it earns a 5`."""
_WHOLE_NOUN = (
    r"(?:response|answer|reply|essay|submission|solution|summary|translation|story|argument|explanation|text|output"
    r"|work|performance|attempt|effort|student|pupil|candidate|assistant|model|poem|letter|email|report|code|program"
    r"|review|article|paragraph|paper|proof|piece|author|writer|one)"
)
_ADVERBS = (
    r"(?:\s(?:[^\W\d_]{2,15}ly|would|should|will|must|does|do|is|was|has|have|had|been|be|being|thus|also|still|just"
    r"|then|now|therefore|hence|overall|here|itself|as a whole|at best|at most|at least|in total|hereby|so|only))*"
)
_ADJECTIVE = (
    r"(?!(?:of|in|for|to|from|by|the|this|that|correct|perfect|ideal|reference|expected|best|other|another"
    r"|previous)\b)"
    r"[\w-]+"
)
_WHOLE = late_pattern(
    rf"(?:(?<!\w\s)\b(?:that|which|who|what|one)|\b(?:it|this|he|she|they|these|you|everything|all)(?:'s|'d|'ll)?"
    rf"|(?:\A\W*|(?<!\bof\s)(?<!\bin\s)(?<!\bfor\s)\b(?:the|this|that|my|his|her|their|your|[\w]+'s|overall)\s"
    rf"(?:{_ADJECTIVE}\s){{0,5}}){_WHOLE_NOUN}(?!'s|’s)(?:\s[A-Z\d])?(?:\s(?:to|from|by|of|as)\s(?:(?:the|this"
    rf"|a)\s)?\w+)?"
    rf"|\b{_WHOLE_NOUN}\s(?:that|which|who)){_ADVERBS}\s*\Z",
    re.I,
)
"""Clause that ends with the whole scored text as its subject."""
_ADVERBS_ALONE = late_pattern(r"\W*(?:(?:\w+ly|thus|therefore|hence|also|still|only|would|overall|then)\W+)*", re.I)
_BY_RUBRIC = late_pattern(r"\b(?:rubric|scale|criteri\w+|guidelines?)\s\Z", re.I)
_TO_WHOLE = late_pattern(r"\s(?:it|this|(?:the|this) (?:response|answer|reply|essay|submission|text|summary))\s", re.I)
"""`The rubric gives it a 3` is a score of the whole."""
_SUBJECT_AHEAD = late_pattern(
    rf"\A\W*(?:\w+ly,?\s|overall,?\s|so,?\s)?(?:(?:it|this|that|he|she|they|I|we)(?:'s|'d|'ve)?\s"
    rf"|(?:(?:the|this|that|my|his|her|their|your)\s(?:\w+\s)?)?{_WHOLE_NOUN}(?!'s|’s)\b)",
    re.I,
)
_ANY_SUBJECT = late_pattern(r"\b(?:the|its|their|an?|this|that|these|is|are|was|were|has|have|seems?|feels?)\b", re.I)
_MAYBE = late_pattern(r"\b(?:could|might|may)\b", re.I)
_TO = late_pattern(r"\bto(?:\s\w+ly)?\s*\Z", re.I)
_DECIDES_TO = late_pattern(
    r"\b(?:going|decid\w+|inclined|choos\w+|chose\w*|have|like|comfortable|prefer|ready|happy|me|us|led|forced"
    r"|reason|reasonable|fair|appropriate)\sto(?:\s\w+ly)?\s*\Z",
    re.I,
)
_WISHED = late_pattern(r"\b(?:would|should|must)\b|'d\b", re.I)


class Label(NamedTuple):
    """Label of a number at `start:end` of a text; the announced text follows."""

    start: int
    end: int
    final: bool = False
    """It is called final."""
    heads: bool = False
    """It is at the beginning of its line, with a colon."""
    of_others: bool = False
    """It announces the answer of somebody else, or the reference."""
    verb: bool = False
    """It is a verb, as in `I give it`."""
    weak: bool = False
    """Label by a verb in a non-indicative mood: `the reply would get a 4`."""
    described: bool = False
    """Label by a verb whose subject is not the writer and whose object is not the whole: `the tone deserves a 5`,
    `the rubric awards a 5`."""


def labels_of(text: str) -> list[Label]:
    """Return the labels of answers in a text, in order.

    A result is a label if it is called final, or stands before a colon at the head of its line, or announces the last
    number of the text while nothing else is announced.

    >>> [label[:2] for label in labels_of("Answer: 12")], labels_of("As a result, 3 are left.")
    ([(0, 7)], [])
    """
    labels = [Label(match.start(), match.end()) for match in _ASIAN.finditer(text)]
    weak: list[Label] = []
    for worded in _WORDED.finditer(text):
        strength, label = _worded(text, worded)
        if strength is not None:
            (labels if strength else weak).append(label)
    for chinese in _CHINESE_LABEL.finditer(text):
        strength = _chinese_label(text, chinese)
        if _STUDENT_HAN.search(text, max(0, chinese.start() - 12), chinese.start()) is not None:
            continue
        if (
            strength is not None
            and _IF.search(_SENTENCE_END.split(text[max(0, chinese.start() - _FAR) : chinese.start()])[-1]) is None
        ):
            others = _OTHERS_HAN.search(text, max(0, chinese.start() - 12), chinese.start()) is not None
            correct = (chinese["final"] or "").startswith("正确")
            label = Label(
                chinese.start(),
                chinese.end(),
                chinese["final"] is not None and not correct,
                _heads(text, chinese.start()) and chinese["sign"] is not None,
                others or correct,
            )
            (labels if strength else weak).append(label)
    if weak and not labels and not _has_another(text, max(weak).end):
        return [max(weak)]
    return sorted(labels)


def score_labels(text: str) -> list[Label]:
    """Return the labels of scores in order: `Score: 7`, `I give it 7`, `得分：7`, `我给7分`.

    >>> [text[label.end :] for text in ("I would give it a 7.", "Score: 7") for label in score_labels(text)]
    ['7.', '7']
    """
    labels: list[Label] = []
    for noun in _SCORE_NOUN.finditer(text):
        words = noun["before"].casefold().split()
        if noun["bare"] is not None and not (
            _BARE_SCORE.intersection((*words, noun["noun"].casefold()))
            or (not words and _heads(text, noun.start()) and _ALONE_BEHIND.match(text, noun.end()))
        ):
            continue
        if words and words[-1].isdecimal():
            continue  # `2 of the 3 points`
        if noun["says"] in ("of", "at") and noun["noun"].casefold() in _AMOUNTS:
            continue  # `she read a total of 12 pages`
        if not _NO_SCORE.intersection(words) and _affirms(text, noun.start()):
            labels.append(
                Label(
                    noun.start(), noun.end(), "final" in words, _heads(text, noun.start()) and noun["sign"] is not None
                )
            )
    for noun in _SCORE_HAN.finditer(text):
        if noun["before"] is None and _affirms(text, noun.start()):
            labels.append(Label(noun.start(), noun.end(), noun[0].startswith("最"), _heads(text, noun.start())))
    for pattern in (_SCORE_VERB, _SCORE_VERB_HAN):
        for verb in pattern.finditer(text):
            weak, described = _gives(text, verb) if pattern is _SCORE_VERB else (False, False)
            if described or _affirms(text, verb.start()):
                labels.append(Label(verb.start(), verb.end(), verb=True, weak=weak, described=described))
    return sorted(labels)


def _gives(text: str, verb: re.Match[str]) -> tuple[bool, bool]:
    """Return whether a verb gives a score in a non-indicative mood, and whether it only describes one or scores a
    part."""
    if " have " in verb["verb"].casefold():
        return False, True  # `it would have earned a 5`
    award = _AWARD.search(verb["verb"])
    if award is None or verb[0].rstrip().endswith(":"):
        return False, False  # also of `Points awarded: 7`
    start = verb.start("verb") + award.start()
    ahead = _SENTENCE_END.split(text[max(0, start - _FAR * 3) : start])[-1]
    clause = _PART_OF_SENTENCE.split(ahead)[-1]
    if _MAYBE.search(clause) is not None:
        return False, True
    if (_TO.search(clause) is not None or award[0][:3].casefold() == "to ") and _DECIDES_TO.search(clause) is None:
        return False, True
    wished = _WISHED.search(clause + award[0]) is not None
    if award["gets"] is None and _WRITER.search(clause) is not None and _OTHER_SUBJECT.search(clause) is None:
        return False, False
    if _ON_PART.search(ahead) is not None:
        return False, True
    if _ADVERBS_ALONE.fullmatch(clause) is not None:
        return wished, _SUBJECT_AHEAD.search(ahead) is None and _ANY_SUBJECT.search(ahead) is not None
    if not wished and _BY_RUBRIC.search(clause) is not None and _TO_WHOLE.search(verb[0]) is not None:
        return False, False
    return wished, _WHOLE.search(clause) is None and _WHOLE.search(ahead) is None


def explanations(text: str) -> list[int]:
    """Return the positions at which explanations begin.

    >>> explanations("Answer: 12. Explanation: the answer 15 would be wrong")
    [12]
    """
    return [match.start() for match in _EXPLAINS.finditer(text)]


def _affirms(text: str, start: int) -> bool:
    """Return true if the sentence before a position neither denies nor only supposes what follows."""
    ahead = _SENTENCE_END.split(text[max(0, start - _FAR) : start])[-1]
    clause = _CLAUSE.split(ahead)[-1]
    if _OTHER_ONE.search(clause) is not None or _DENIES.search(clause) is not None:
        return False
    return _IF.search(_BUT.split(ahead)[-1]) is None and _SUPPOSES.search(clause) is None


def _has_another(text: str, start: int) -> bool:
    """Return true if another number follows the announced sentence."""
    end = _SENTENCE_END.search(text, start)
    if end is None:
        return False
    reasons = _EXPLAINS.search(text, end.end())
    behind = text[end.end() : len(text) if reasons is None else reasons.start()]
    return _DIGIT.search(_ASIDE_OF_RESULT.sub(" ", behind)) is not None


def _worded(text: str, label: re.Match[str]) -> tuple[bool | None, Label]:
    """Return true with the label of a noun that announces the answer by itself, None with one that announces
    nothing."""
    ahead = text[max(0, label.start() - _FAR) : label.start()]
    final = _FINAL_BEFORE.search(ahead)
    word_before = _WORD_BEFORE.search(ahead if final is None else ahead[: final.start()])
    word = word_before[1].casefold().replace("’", "'") if word_before is not None else ""
    english = label[0].isascii() and label[0][:6].casefold() in ("answer", "result", "soluti")
    correct = final is not None and _CORRECT.search(final[0]) is not None
    heads = _heads(text, label.start() if final is None else label.start() - len(final[0]))
    said = Label(
        label.start(),
        label.end(),
        (final is not None and not correct) or label["after"] is not None,
        heads and label["sign"] is not None,
        correct or word in _OTHERS,
    )
    if word in _ON_THE_WAY or word in _STUDENTS or word.endswith(("'s", "s'")) or (english and word in _INDEFINITE):
        return None, said
    if _WOULD.search(label[0]) is not None and _SUPPOSES.search(_SENTENCE_END.split(ahead)[-1]) is not None:
        return None, said
    if label["bare"] is not None:
        sure = heads or final is not None or (label["answer"] is not None and word in _OWN)
        return sure or None, said
    return any((label["answer"], final, label["after"], said.heads)), said


def _chinese_label(text: str, label: re.Match[str]) -> bool | None:
    if label["before"] is not None:
        return None
    heads = _heads(text, label.start())
    if label["bare"] is not None and not (label["answer"] or label["final"] or heads):
        return None
    return any((label["answer"], label["final"], heads and label["says"] is None))


def _heads(text: str, start: int) -> bool:
    """Return true if only punctuation precedes a position in its line."""
    ahead = text[max(0, start - 12) : start]
    return not re.search(r"\w", ahead.rpartition("\n")[2])


# The number that a text states

Policy = Literal["whole", "last", "final", "stated"]


class NumberReading(NamedTuple):
    """Result of reading a text: a number; nothing; or, in `odd`, ambiguous digits."""

    value: int | float | None = None
    odd: str | None = None


NOTHING = NumberReading()
_DENIED = NumberReading()
"""Result for a text that only says which number it is not."""


_FIELDS = late_pattern(r"[{,]\s{0,9}[\"']")
_DOUBLE_BRACKETS = late_pattern(r"\[\[\s?([^\[\]\n]{1,20})\s?\]\]")
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
    r"|不[会能应该值可配想]{1,3}[给打得评为是]{0,2}|不是|不等于|不为|并非|并不是|没有|不能是|绝非|不可能是|除了"
    r"|而非|难以|未必)\W*(?:[\w']+\W+){0,2}\W*)\Z",
    re.I,
)
_DENIED_BEHIND = late_pattern(
    r"[* \"']{0,4}(?:(?:is|are|was|were|would be)(?:n't| not)(?: (?:the|my|our|a)\b(?: \w+)?)?"
    r" (?:answers?|results?|solutions?|correct|right|true|valid|possible|enough|sufficient|accurate)\b"
    r"|(?:is|was) (?:wrong|incorrect|false)\b"
    r"|是?(?:不对|错误?的|不正确)(?![\u3400-\u9fff]))",
    re.I,
)
"""Denial directly behind a number; `15 is not prime` and `错误的有 3 个` deny no number."""
_IS_NOT = late_pattern(
    r"(?:(?:answer|result|solution)\b[^.!?\n]{0,12}(?:\bnot|n't|\bcannot)(?: be)?|(?:答案|结果)(?:并?不|绝不|不可能"
    r"|不会)(?:是|为|等于)|anything but)\W{0,3}\Z",
    re.I,
)
_TURNS = late_pattern(
    r"[,，;；]|(?<!anything )(?<!all )\bbut\b|\bit is\b|\bit's\b|\bsondern\b|\bmais\b|\bsino\b|而是", re.I
)
_SCALE = late_pattern(
    r"[\"']{0,2}(?:\s?(?:分|点|points?|pts?|marks?|stars?|punkte|puntos|балл\w{0,2}))?\s?\(?,?\s?(?:out of|of"
    r"|von|sur|de"
    r"|su|sobre|из|/|over|on a scale of|max(?:imum)?\.?(?: of)?|(?:von|of|out of) max(?:imum|imal)?\.?|满分(?:为"
    r"|是)?:?|共)"
    r"(?: (?:a |the )?(?:possible|total|maximum)(?: of)?)?\s?\Z",
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
    r"\s?\)?\s?(?:(?:mm|cm|m|km|in|inch(?:es)?|ft|feet|foot|yd|px|meters?|metres?|米|厘米)\s?)?(?:[×xX]|by)\s?"
    r"|\s?\)?\s?(?:[+×xX*·÷/^-]|:(?!\s)|\s:\s|\s[–]\s"
    r"|plus|minus|times|divided by|multiplied by|乘以?|加上?|减去?|除以)\s?\(?\s?",
    re.I,
)
_COMPOUND = late_pattern(
    r"\s?(?:°|hours?|hrs?|h|minutes?|mins?|m|seconds?|days?|weeks?|months?|years?|feet|foot|ft|'|pounds?|lbs?"
    r"|dollars?|euros?|kg|km|stunden?|minuten?|tage?|heures?"
    r"|horas?|元|块|角|小时|时|分|分钟|天|年|米|公斤|斤|千克|里)\s?(?:,\s|and\s|und\s|et\s|y\s|零)?",
    re.I,
)
"""Separator between the parts of one quantity, whose value depends on the intended unit."""
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
"""Length up to which the only number of a text is its answer."""
_BRACKETS = late_pattern(r"[\[\]{}]")
_JSON_BEGUN = late_pattern(r"""\{\s*["']|\[\s*["{]|\[\s*\[(?!\s?[-\d.,/]+\s?\]\])""")
_THAT_IS = late_pattern(r",?\s(?:i\.e\.|that is|namely|in other words|d\.h\.|c'est-à-dire)[,:]?\s", re.I)
_ANOTHER = late_pattern(
    r"\s?[,;]\s(?:and |but |while )?(?:the )?(?:response|answer|reply|student|option|model|assistant|other|second)\b",
    re.I,
)
_AND_A = late_pattern(r"(?:\b(?:and|or|und|oder|et|ou|y|o)|[,/])\s(?:an?\s)?[*\"']{0,2}\Z", re.I)
_CORRECTS = late_pattern(
    rf"\b(?:wait|actually|make that|sorry|hold on|{RETRACTIONS}|{REWORDINGS})\b[,:;]?|\bno,"
    r"|\blet me (?:re-?(?:read|check|count|calculate|compute|consider|think|do|examine|evaluate|verify)|correct"
    r"|double-check)\b|\b(?:edit|update|(?:revised|corrected)(?: answer)?)\s?:"
    r"|不对[,，]?(?:应该?是)?|更正[:：]?(?:为|应为)?|等等[,，]?|错了[,，]?|应改为",
    re.I,
)
_WITHDRAWS = late_pattern(
    r"\b(?:I (?:made|see) (?:a|an|my) (?:\w+ )?(?:mistake|error)|my mistake|oops|that(?:'s| is| was) (?:wrong"
    r"|incorrect|not right)"
    rf"|{RECHECKS}|scratch that|wait[,.!…])|更正|算错了",
    re.I,
)
_CORRECTED_TO = late_pattern(
    r"(?:[\s,:;.…'\"*$([—–-]|(?:I|we|it|that|this|the|they|should|would|must|be|is|was|s|d|ll|have|to|an?|say"
    r"|make|meant|mean|give"
    r"|rate|change|correct|correction|answer|score|rating|result|value|total|number|actually|rather|sorry|wait"
    r"|no|not \d[\d.,]*|in fact"
    r"|more like|then|so|now|probably|just|only|lower|raise|revised?|updated?|adjust\w*|my|final|right|true|let"
    r"|me|re-?check|think"
    r"|ist|sind|lautet|est|es)\b|其实|的|应该|应当|应|改成|改为|改|是|为|成|答案|得|给|打)*",
    re.I,
)
_CORRECTION_ENDS = late_pattern(
    r"[*\"')\]$}]{0,3}\s?(?:/\s?\d{1,3}|%|分|点"
    r"|[^\W\d_]{1,15}(?:\s[^\W\d_]{1,15})?)?[*\"')\]$}]{0,3}\s*(?:[.!。！,，;；(（]|\Z|\n"
    r"|(?:(?:out )?of \d|(?:because|since|instead|not)\b))",
    re.I,
)
_WORD_ENDS = late_pattern(r"[A-Za-z][ *_]{0,3}\Z")
_RETRACTS = late_pattern(rf"(?:wait[,:;]|make that|{RETRACTIONS}|更正|错了|应改为)", re.I)
"""A cue that retracts by itself; `actually` and `sorry` are also ordinary words."""
_LOOKS_AGAIN = late_pattern("let me", re.I)
"""A cue whose result is the only number behind it: `Let me re-read. 48.`"""
_CORRECTED_BELOW = late_pattern(
    r"^[\s*_#>-]{0,9}(?:correction|corrected|edit|update[d]?|revised|更正|修正)(?: (?:answer|score|rating"
    r"|result|答案))?"
    r"\s?[:：][*_]{0,3}(?=[^\S\n]{0,3}[-$*\"']{0,3}\d)",
    re.I | re.M,
)
"""Head of a line that replaces an answer above it."""
_SCALE_PHRASE = late_pattern(
    rf"\b(?:on |using )?(?:a|the) (?:scale|range) (?:of|from) {DIGITS} ?(?:to|-|–) ?{DIGITS}|\({DIGITS} ?(?:-|–"
    rf"|to) ?{DIGITS}\)(?=\s?[:：])|满分(?:为|是)?{DIGITS}分?[,，]?|{DIGITS}点満点中"
    rf"|{DIGITS} being (?:the )?(?:best|highest|maximum|perfect|excellent|worst|lowest)\b",
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
    r"\s?(?:分|点|points?|stars?)?[,;(，；–—-]{0,2}\s?(?:(?:or|and|but|though|或|但)\s?)?(?:maybe|perhaps"
    r"|possibly|arguably"
    r"|probably|even|could be|might be|may be|if not"
    r"|bordering on|verging on|leaning (?:towards?|to)|也许|可能|或许|甚至)(?:是)?\s?"
    r"(?:(?:even|just|barely|almost)\s)?(?:an?\s)?[*\"']{0,2}",
    re.I,
)
"""Text between a score and an alternative one."""
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
"""Text after a score that is described instead of given."""
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
    r"|lost|typos?|weakness\w*|strengths?|time|confidence|certainty"
    r"|citations?|sources?|deduct\w*|penalty|threshold|average"
    r"|criteri\w+|points|marks|claims|facts|found|total|sum|part|item|task|level|version|scale|range|note)\b"
    r"|错误|字数|步骤|满分|最高|最低|正确|参考|标准|学生|考生|例|题|年|扣|总|共",
    re.I,
)
"""Heads of lines that are not names of metrics."""
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
"""Computation before its result: `the sum of 10 and 9 is`."""
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
"""Words of a sentence that draws no conclusion yet, or none about a number."""
_UNIT_BETWEEN = late_pattern(r"\s?[^\W\d_]{1,15}\s?")
_UNIT_NEXT = late_pattern(r"\s?[^\W\d_]")
_WITH_UNIT = late_pattern(r"\s?(?:points?|pts?|stars?|marks?|分|点|/\s?\d)(?![^\W\d_])", re.I)
POINTS_TAKEN = late_pattern(
    r"\s?(?:points?|pts?\.?|marks?|分)?\s(?:(?:is|are|was|were|being|got)\s)?"
    r"(?:lost|deducted|off\b|taken (?:off|away)|docked|subtracted|removed|withheld|missing|short\b|away\b|below\b)",
    re.I,
)
"""Text behind the points that a score lacks: `8, 2 points lost`."""
_TAKEN = late_pattern(r"(?:扣[了掉除]?|减[了去]?|\b(?:deduct(?:ed|s|ing)?|lost|loses|minus))\s?\Z", re.I)
_SHARE = late_pattern(
    r"\sof\s(?:the\s|its\s)?\d+\s(?!points?|pts|marks?|stars?|score)[^\W\d]"
    r"|\sof\s(?:the|its|them|these)\s(?!score|points|marks|\d)",
    re.I,
)
_IN_ORDER_TO = late_pattern(r"(?:^|[.!?;,\n]\s?|\border )to \Z", re.I)
"""Purpose before a verb: in `to get a 5, it needs a source` the score is not given."""
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
_CONDITIONAL = late_pattern(r"\b(?:would|could|might)\b|'d\b", re.I)
_I_HAVE = late_pattern(r"\W{0,3}(?:I|we) (?:have|need|would|will|can)\b", re.I)
_AVERAGE = late_pattern(
    r"(?:\A|[.;,\n–—(]\s{0,3}|\bon )[*_]{0,2}(?:the )?(?:average|mean)(?: score)?[*_]{0,2}"
    r"(?:\s?[:：=]| is)\s?[*_]{0,2}\Z"
    r"|平均分?\s?[:：为是]?\s?\Z",
    re.I,
)
_ROUNDED = 0.5
_NEXT = 4
"""Largest distance of a number from its label, across punctuation."""
_NEARLY = 0.05
_TURNS_TO = late_pattern(
    r"\b(?:but|however|wait|actually|so|overall|final\w*|reflection|now|yet|still|instead|therefore|thus|hence|total"
    r"|settle|though|although|while|nevertheless|nonetheless|rather|correction|no|in sum|altogether|balance"
    r"|then|closer|lowers?|raises?|reduces?|brings?|bringing|down|up|leav\w+|accordingly|initially|ultimately"
    r"|conclusion|all|it's|that's|is|as|sorry)\b"
    r"|[\u3400-\u9fff]",
    re.I,
)
"""Text between a score and one that replaces it."""
_THEN_REASONS = late_pattern(r"[*_]{0,2}(?:\s?/\s?\d{1,3})?[*_]{0,2}\s?[-–—]\s[*_]{0,2}[^\W\d]")
_LEVEL = late_pattern(r"[\s*_#]*(?:level|band|tier)\s", re.I)
_LEVEL_END = late_pattern(r"[*_]{0,2}\s?(?:[:：(]|[-–—]\s)[*_]{0,2}\s?[^\W\d]")
_AND_ALSO = late_pattern(r"\(\s?(?:and|plus|or|as well as)\b", re.I)
_APPROACHES = late_pattern(r"[\s$*)\]}]*≈")
_GROUPS = late_pattern(r"[1-9]\d{0,2}(?: \d{3})+")
_STARS = late_pattern(r"(?:rating|score)?:?\s?(?P<full>(?:[★⭐]\ufe0f?){1,10})[☆]{0,9}", re.I)
_MOST_LINES = 200
_MOST_CHARACTERS = 100_000
"""Number of characters at the end of a longer text that are read: the answer is there, and no answer is longer."""
_WORDED_DISTANCE = 200
"""Largest distance of number words from their label."""


def read_number(text: str, locale: str, policy: Policy, scale: float | None = None) -> NumberReading:
    r"""Return the number that a text states, or its ambiguous digits.

    `whole`: the number that is the whole text. `last`: the last one. `final`: that of the last explicit final form
    (`\boxed{…}`, `#### 12`, `Final answer: 12`, `<answer>12</answer>`), or else of the last label, or else the last
    one. `stated`: like `final`, but the last resort is the only mentioned number. With `scale`, a score up to that
    number is meant.

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

    def read(part: str) -> NumberReading:
        reader = _NumberReader(part, scan(part, locale), policy == "stated", scale)
        match policy:
            case "whole":
                return reader.read_whole()
            case "last":
                return reader.last()
            case "final":
                return reader.final_form() or reader.announced(reader.answers) or reader.last_unless_denied()
            case "stated":
                return reader.read_stated()

    if policy in ("whole", "last"):
        return read(plain)
    return read_first_answer(plain, lambda part: None if (found := read(part)) == NOTHING else found) or NOTHING


def _end_of(plain: str) -> str:
    """Return the last characters of a text, from the beginning of a line or a word."""
    start = len(plain) - _MOST_CHARACTERS
    line = plain.find("\n", start, start + 1000)
    word = plain.find(" ", start, start + 1000) if line < 0 else line
    return plain[max(start, word) :]


def read_listed(piece: str, locale: str) -> NumberReading:
    """Return the number of a list element, which `number_text` has already normalized."""
    if _JSON_BEGUN.search(piece) is not None:
        return NOTHING
    return _NumberReader(piece, scan(piece, locale), True, None).read_stated()


def odd_reason(reading: NumberReading, locale: str) -> str | None:
    """Return why digits are ambiguous, in words; None if they are not."""
    return None if reading.odd is None else odd_number(reading.odd, locale)


class _NumberReader:
    """Reader that selects among the numbers of a text. `strict`: an approximate number does not count. `scale`: the
    largest score, if a score is meant."""

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
        """Labels of answers outside of questions and quotations."""
        return self._affirmed(labels_of(self.plain))

    @cached_property
    def scores(self) -> list[Label]:
        """Labels of scores, likewise; non-indicative ones count only if no other label announces a score."""
        labels = [label for label in self._labels if not label.described]
        return [label for label in labels if not label.weak] or labels

    @cached_property
    def _labels(self) -> list[Label]:
        return self._affirmed(self._every_score)

    @cached_property
    def _every_score(self) -> list[Label]:
        return score_labels(self.plain)

    @cached_property
    def stops(self) -> list[int]:
        """Ends of sentences."""
        return [match.start() for match in _STOP.finditer(self.plain)]

    def _asks(self, start: int) -> bool:
        """Return true if the sentence at a position is a question."""
        place = bisect_left(self.stops, start)
        return (
            place < len(self.stops)
            and self.stops[place] < start + _WORDED_DISTANCE
            and self.plain[self.stops[place]] in "?？"
        )

    def between(self, start: int, end: int) -> list[NumberToken]:
        """Return the tokens that begin between two positions."""
        return list(self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)])

    def value_tokens(self, start: int, end: int) -> list[NumberToken]:
        """Return the numbers between two positions without those of names (`step 2`) and scales (`from 1 to 10`). If
        there are none, return number words."""
        tokens = self.between(start, end)
        if not tokens:
            return worded_numbers(self.plain, start, min(end, start + _WORDED_DISTANCE))
        scales = [match.span() for match in _SCALE_PHRASE.finditer(self.plain, start, end)]
        return [
            token
            for token in tokens
            if token.kind != "name"
            and _ENUMERATES.search(self.plain, max(start, token.start - 20), token.start) is None
            and not any(a <= token.start < b for a, b in scales)
            and not (self.scale is not None and POINTS_TAKEN.match(self.plain, token.end))
        ]

    def read_whole(self) -> NumberReading:
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
        return _reading_of(token) if around else NOTHING

    def last(self) -> NumberReading:
        for token in reversed(self.tokens):
            if token.kind != "name":
                return _reading_of(token)
        return NOTHING

    def last_unless_denied(self) -> NumberReading:
        """Return the last number of a text without a label, unless the text denies that it is the answer. A number in
        words counts if it is the only one."""
        token = next((token for token in reversed(self.tokens) if token.kind != "name"), None)
        if token is None:
            words = worded_numbers(self.plain, 0, len(self.plain)) if len(self.plain) <= _SHORT else []
            return (
                _reading_of(words[0])
                if len(words) == 1 and words[0].value != 1 and not is_rough(self.plain, words[0])
                else NOTHING
            )
        since = max(0, token.start - 40)
        if (reading := self._beside_aside(token)) is not None:
            return reading
        if _IS_NOT.search(self.plain, since, token.start) or _EITHER.search(self.plain, since, token.start):
            return NOTHING
        if self._denied(token, 0):
            stop = bisect_left(self.stops, token.start)
            others = self.between(self.stops[stop - 1] + 1 if stop else 0, token.start)
            return _reading_of(others[0]) if len(others) == 1 and not self._denied(others[0], 0) else NOTHING
        return _reading_of(token)

    def _beside_aside(self, last: NumberToken) -> NumberReading | None:
        """Return the number before the brackets at the end of a conclusion, as in `So it takes 5 hours (300 minutes).`;
        None if the sentence has another form."""
        stop = bisect_left(self.stops, last.start)
        start = self.stops[stop - 1] + 1 if stop else 0
        end = self.stops[stop] if stop < len(self.stops) else len(self.plain)
        if (head := _SO.match(self.plain, start, end)) is None:
            return None
        asides = [match.span() for match in _ASIDE.finditer(self.plain, head.end(), end)]
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
        return self._resolve(outside[0], None)

    def final_form(self) -> NumberReading | None:
        """Return the number of the last explicit final form; None if none has a number."""
        forms: list[tuple[int, int, int]] = []
        led_on: set[int] = set()  # where another label stands behind in the same line
        if (box := last_box(self.plain)) is not None:
            forms.append((box.start, box.inside, box.end - 1))
        if _FIELDS.search(self.plain) is not None:
            if has_conflicting_fields(self.plain):
                return NOTHING
            forms += [(start, start, end) for start, end in answer_fields(self.plain)]
        if "####" in self.plain:
            forms += [(match.start(), *match.span(1)) for match in _HASHES.finditer(self.plain) if self._ends(match)]
        if OPENS in self.plain:
            forms += [
                (match.start(), *self._sentence(match.start(1), match.end()))
                for match in _ANSWER_TAG.finditer(self.plain)
            ]
        scores = [] if self.scale is None else self.scores
        last_score = scores[-1].start if scores else -1
        for label, most in _with_limits(sorted(self.answers + scores)):
            if label.final and (self.scale is None or label in scores[-1:] or label.start > last_score):
                if label.of_others and self.scale is not None:
                    continue
                start, end = self._sentence(label.end, most)
                forms.append((label.start, start, end))
                if most is not None and self.plain.find("\n", start, most) < 0:
                    led_on.add(start)
        if self.scale is not None:
            forms += [(match.start(), *match.span(1)) for match in _DOUBLE_BRACKETS.finditer(self.plain)]
        for _, start, end in sorted(forms, reverse=True):
            reading = self.only_number(start, end)
            if reading is not None and not (reading == NOTHING and start in led_on):
                tokens = self.between(start, end)
                if not tokens:
                    return reading
                withdrawn = _WITHDRAWS.search(self.plain, tokens[0].end)
                if withdrawn is not None and any(label.start >= withdrawn.end() for label in self.answers):
                    return None  # the label behind counts
                return self._replaced(tokens[0].end, reading)
        return None

    def announced(self, labels: Sequence[Label]) -> NumberReading | None:
        """Return the number of the last label; None if no label announces a number."""
        pairs = list(_with_limits(labels))
        if pairs and (heads := explanations(self.plain)):
            first = next((label for label, most in pairs if self._number_after(label, most) is not None), None)
            head = next((head for head in heads if first is not None and head > first.start), len(self.plain))
            pairs = [pair for pair in pairs if pair[0].start < head]
        denied = False
        for label, most in reversed(pairs):
            reading = self._number_after(label, most)
            if reading is _DENIED:
                denied = True
            elif reading is not None:
                return NOTHING if self._repeated(label, reading, pairs) else self._corrected(label, reading)
            elif label.heads and _WORD.search(self.plain, *self._sentence(label.end)) is not None:
                return NOTHING  # `Answer: unknown`
        return _DENIED if denied else None

    def _repeated(self, label: Label, said: NumberReading, pairs: Sequence[tuple[Label, int | None]]) -> bool:
        """Return true if the line before a label has the same label with another number, so that neither counts."""
        before = next(((one, most) for one, most in pairs if most == label.start and one.heads), None)
        if before is None or not label.heads:
            return False
        (one, most) = before
        lines = self.plain[one.start : label.start]
        same = self.plain[one.start : one.end].casefold() == self.plain[label.start : label.end].casefold()
        if not same or "\n" in lines.strip() or _TURNS_TO.search(lines) is not None:
            return False
        return self._number_after(one, most) not in (said, None, NOTHING)

    def _corrects(self, cue: re.Match[str], token: NumberToken) -> bool:
        """Return true if a cue puts a number in place of an earlier one: `wait, it is 42`, but not `it actually takes
        3 steps`."""
        retracts = _RETRACTS.match(cue[0]) is not None
        if (
            not retracts
            and not cue[0][0].isupper()
            and _WORD_ENDS.search(self.plain, max(0, cue.start() - 5), cue.start()) is not None
        ):
            return False
        since = cue.end()
        looks_again = _LOOKS_AGAIN.match(cue[0]) is not None
        if looks_again and len(self.between(cue.end(), len(self.plain))) > 1:
            return False
        if retracts or looks_again:  # reasons may stand between: `wait, I forgot the tax. It is 45.`
            since = max((stop + 1 for stop in self.stops if since <= stop < token.start), default=since)
        leads = _CORRECTED_TO.fullmatch(self.plain, since, token.start) is not None
        return leads and _CORRECTION_ENDS.match(self.plain, token.end) is not None

    def _number_after(self, label: Label, most: int | None) -> NumberReading | None:
        """Return the number after a label; None if there is none."""
        start, end = self._sentence(label.end, most)
        return self._awarded(label, start, end) if label.verb else self.only_number(start, end)

    def _corrected(self, label: Label, said: NumberReading) -> NumberReading:
        """Return the number that replaces an announced one in its line, as in `48… wait, 42`, or the announced one."""
        tokens = self.between(label.end, len(self.plain))
        return self._replaced(tokens[0].end, said) if tokens else said

    def _replaced(self, end: int, said: NumberReading) -> NumberReading:
        """Return the number that a correction behind a position puts in place of another one, in the same line or at
        the head of one below; `NOTHING` if a correction gives an unclear number."""
        line_end = self.plain.find("\n", end)
        line_end = len(self.plain) if line_end < 0 else line_end
        unclear = False
        for cue in reversed(list(_CORRECTS.finditer(self.plain, end, line_end))):
            tokens = self.value_tokens(cue.end(), line_end)
            if not tokens or self._denied(tokens[0], cue.end()):
                continue
            if self._corrects(cue, tokens[0]):
                return self._resolve(tokens[0], None)
            unclear = unclear or _RETRACTS.match(cue[0]) is not None
        if unclear:
            return NOTHING
        later = deque(_CORRECTED_BELOW.finditer(self.plain, line_end), 1)
        return (later and self.only_number(*self._sentence(later[0].end()))) or said

    def read_stated(self) -> NumberReading:
        if self.scale is None:
            reading = self.final_form() or self.announced(
                sorted(self.answers + [label for label in self.scores if self._opens_or_ends(label)])
            )
        elif self._shares():
            return NOTHING
        else:
            reading = self.final_form() or self.announced(self.scores) or self._of_scale()
            if reading is None:
                reading = self.announced([label for label in self.answers if not label.of_others])
        if reading is _DENIED:
            return self._opening() or NOTHING
        return (
            reading
            or self._averaged()
            or self._level()
            or self._first_rated()
            or self._headed()
            or self._awards()
            or self._opening()
            or self._concluded()
            or self._mentioned()
        )

    def _shares(self) -> bool:
        """Return true if different scores are given and none is the total or a correction:
        `I give a 5 for tone. I give a 3 for facts.`"""
        if len(self.scores) < 2 or not all(label.verb for label in self.scores):
            return False
        given = [
            (label, reading)
            for label, most in _with_limits(self.scores)
            if (reading := self._number_after(label, most)) is not None and reading is not _DENIED
        ]
        if len({number_reading for _, number_reading in given}) < 2:
            return False
        (before, _), (last, _) = given[-2:]
        return _TURNS_TO.search(self.plain, before.end, last.end) is None

    def _averaged(self) -> NumberReading | None:
        """Return the average at the end of a reply, if it is that of the preceding scores."""
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
        return self._resolve(last, None) if near else None

    def _points(self, token: NumberToken) -> float | None:
        """Return a number as points of the scale: 8 for `8/10`."""
        if token.over is None or token.top is None:
            return token.value
        return float(token.top) if token.over == self.scale else None

    def _level(self) -> NumberReading | None:
        """Return the level at the beginning of a text without other numbers: `Level 3: meets expectations`."""
        if self.scale is None or len(self.tokens) != 1 or _LEVEL.fullmatch(self.plain, 0, self.tokens[0].start) is None:
            return None
        return self._resolve(self.tokens[0], None) if _LEVEL_END.match(self.plain, self.tokens[0].end) else None

    def _first_rated(self) -> NumberReading | None:
        """Return the score that opens a text, before its reasons: `8 - good, but 2 errors`."""
        if (
            self.scale is None
            or not self.tokens
            or _EMPTY_BEFORE.fullmatch(self.plain, 0, self.tokens[0].start) is None
        ):
            return None
        first, *others = self.tokens
        value = self._points(first)
        if value is None or value > self.scale or _THEN_REASONS.match(self.plain, first.end) is None:
            return None
        if any(_THEN_REASONS.match(self.plain, other.end) or other.value == self.scale for other in others):
            return None  # a scale with its levels
        return None if is_rough(self.plain, first) else self._resolve(first, None)

    def _opens_or_ends(self, label: Label) -> bool:
        """Return true if a label of a score heads the last line, or the first line while only reasons have other
        numbers. Otherwise it is intermediate."""
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
        readings: list[NumberReading] = []
        last = 0
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
            readings.append(NumberReading(number_of(token.top)) if token.over is not None else _reading_of(token))
            last = end
        if not readings or any(one != readings[0] for one in readings):
            return None
        return self._replaced(last, readings[0])

    def _opening(self) -> NumberReading | None:
        """Return the number that makes up the first or the last line, if the other lines explain it."""
        lines = self._lines()
        if len(lines) < 2 or len(lines) > _MOST_LINES:
            return None
        readings = [self._alone(*line) for line in lines]
        alone = [one for one in readings if one is not None]
        if len(alone) != 1:
            return None
        return readings[0] if readings[0] is not None else readings[-1]

    def _headed(self) -> NumberReading | None:
        """Return the score after the only colon that has one: `Quality: 3`, followed by an explanation."""
        if self.scale is None:
            return None
        reasons = next(iter(explanations(self.plain)), len(self.plain))
        if len(list(islice(_RATED.finditer(self.plain, 0, reasons), 2))) != 1:
            return None
        reading: NumberReading | None = None
        for start, end in self._lines():
            head = _METRIC.match(self.plain, start, end)
            if head is None or start >= reasons:
                continue
            if reading is not None or _NO_METRIC.search(head[0]) is not None:
                return None
            tokens = self.between(head.end(), end)
            if not tokens or self.plain[head.end() : tokens[0].start].strip("*_ "):
                continue
            if _EXPLAINED.match(self.plain, tokens[0].end, end) is None or is_rough(self.plain, tokens[0]):
                return None
            if self._doubted(tokens[0]):
                return None
            reading = self._resolve(tokens[0], None)
        return reading

    def _doubted(self, token: NumberToken) -> bool:
        """Return true if a score is directly followed by another one or by its former value."""
        behind = self.between(token.end, token.end + 40)
        return _WAS.search(self.plain, token.end, token.end + 16) is not None or (
            bool(behind)
            and (
                _HEDGED.fullmatch(self.plain, token.end, behind[0].start) is not None
                or _SEVERAL.fullmatch(self.plain, token.end, behind[0].start) is not None
            )
        )

    def _concluded(self) -> NumberReading | None:
        """Return the number of the last sentence if it draws a conclusion: `So there are 5 animals.`"""
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
        reading = self._only_number(head.end(), end, anchored=False)
        return None if reading is _DENIED else reading

    def _points_left(self, start: int, end: int) -> NumberReading | None:
        """Return the result of a sum of points at the end of a sentence: `I deduct 1 point: 5 - 1 = 4`."""
        tokens = self.between(start, end)
        if len(tokens) < 3 or _POINTS.search(self.plain, start, end) is None:
            return None
        ahead = self.plain[tokens[-3].start : tokens[-1].start]
        if _SUM.fullmatch(ahead) is None or _SCORE_END.fullmatch(self.plain, tokens[-1].end, end) is None:
            return None
        return _reading_of(tokens[-1])

    @cached_property
    def _reasons(self) -> set[int]:
        """Starts of lines that explain."""
        return {self.plain.rfind("\n", 0, match.end()) + 1 for match in _EXPLAINS.finditer(self.plain)}

    def _lines(self) -> list[tuple[int, int]]:
        """Return the start and end of the lines that are not blank."""
        if self._spans is None:
            self._spans = [match.span() for match in _LINE.finditer(self.plain)]
        return self._spans

    def _awards(self) -> NumberReading | None:
        """Return the score that makes up the first sentence, with its unit: `1 point. The formula is right.`"""
        first, *tokens = self.tokens or (None,)
        if first is None or self.scale is None or first.kind != "number" or is_rough(self.plain, first):
            return None
        if (
            _EMPTY_BEFORE.fullmatch(self.plain, 0, first.start) is None
            or _FIRST_AWARD.match(self.plain, first.end) is None
        ):
            return None
        awards = (other for other in tokens if _WITH_UNIT.match(self.plain, other.end) is not None)
        if all(_TAKEN.search(self.plain, max(0, award.start - 12), award.start) is not None for award in awards):
            return self._resolve(first, None)
        return None

    def _alone(self, start: int, end: int) -> NumberReading | None:
        """Return the number that makes up a line, with its unit; None if the line says anything else."""
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
        return self._resolve(token, None)

    def only_number(self, start: int, end: int) -> NumberReading | None:
        """Return the only number of an announced part of the text; `NOTHING` if it has several, None if it has none."""
        return self._only_number(start, end, anchored=True)

    def _only_number(self, start: int, end: int, *, anchored: bool) -> NumberReading | None:
        """Return the only number of a part of the text, or `_DENIED` if it says only which number it is not.
        `anchored`: a label announces the part, so that a number at its beginning counts before further ones."""
        plain = self.plain
        tokens = self.value_tokens(start, end)
        if not tokens:
            return NOTHING if anchored and self.between(start, end) else None
        if _ASSIGNMENTS.search(plain, start, end) is not None:
            return NOTHING
        restated = _THAT_IS.search(plain, tokens[0].end, end)
        if restated is not None:
            first = self._only_number(start, restated.start(), anchored=anchored)
            return first if first not in (None, NOTHING) else self._only_number(restated.end(), end, anchored=True)
        asides = [
            match.span()
            for match in _ASIDE.finditer(plain, start, end)
            if not (anchored and _LEADING.fullmatch(plain, start, match.start()))  # `Answer: (5 cm)`
        ]
        outside = [token for token in tokens if not any(a <= token.start and token.end <= b for a, b in asides)]
        if outside:
            for a, b in asides:
                inside = [token for token in tokens if a <= token.start and token.end <= b]
                if inside and inside[0].start > outside[0].start and self._disputes(a, b, inside, outside):
                    return NOTHING
            tokens = outside
        if anchored and self._leads_to(tokens[0], start):
            tokens[0] = self._grouped(tokens[0])
            if self._approximated(tokens, end):
                return self._resolve(tokens[0], None)
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
        if not anchored and beyond and not self._leads_to(affirmed[0], start):
            return NOTHING
        return self._first_of(affirmed, tokens, start, anchored)

    def _grouped(self, token: NumberToken) -> NumberToken:
        """Return the announced number including groups of thousands that are separated by spaces."""
        if token.odd is None or _GROUPS.fullmatch(token.odd) is None or self.plain[token.start] != "\ue000":
            return token
        groups = [int(group) for group in token.odd.split()]
        if len(groups) > 2 and len({after - before for before, after in pairwise(groups)}) == 1:
            return token  # `100 200 300` is a list
        return replace(token, kind="number", value=int(token.odd.replace(" ", "")), odd=None)

    def _approximated(self, tokens: list[NumberToken], end: int) -> bool:
        """Return true if two numbers are a value and its rounded form: `1/3 ≈ 0.333`."""
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
        """Return true if one quantity is given in two units, so that the value depends on the intended unit."""
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
        """Return the first of several affirmed numbers if the others are its scale, repeat it, or come later in an
        announced part; otherwise `NOTHING`."""
        first, *number_tokens = affirmed
        if len(number_tokens) == 0:
            return self._resolve(first, None)
        gap = self.plain[first.end : number_tokens[0].start]
        if (first.over is not None and _SCALE.fullmatch(gap) is not None) or _ANOTHER.match(gap) is not None:
            return NOTHING
        if _SCALE.fullmatch(gap) is not None and number_tokens[0].value is not None:
            if len(number_tokens) > 1 and not self._leads_to(first, start):
                return NOTHING
            return self._resolve(first, number_tokens[0])
        if (
            not gap.strip()
            or _COMPOUND.fullmatch(gap) is not None
            or _OPERATOR.fullmatch(gap) is not None
            or (_SEVERAL.fullmatch(gap) is not None and len(tokens) == len(affirmed))
        ):
            return NOTHING
        if _SEVERAL.fullmatch(gap) is not None and tokens[1] is number_tokens[0]:
            return NOTHING
        if self.scale is not None and not anchored and _HEADS.search(gap) is not None:
            return NOTHING
        if self.scale is not None and all(_FOR.match(self.plain, token.end) is not None for token in affirmed):
            return NOTHING  # `1 point for the formula, 1 point for the result`
        if all(other.kind == "number" and other.value == first.value for other in number_tokens):
            return self._resolve(first, None)
        if self.scale is not None and (
            _AND_A.search(self.plain, first.end, number_tokens[0].start) is not None
            or _HEDGED.fullmatch(self.plain, first.end, number_tokens[0].start) is not None
        ):
            return NOTHING
        if anchored and self._leads_to(first, start) and _NEXT_PART.search(gap) is None:
            return self._resolve(first, None)
        return NOTHING

    def _leads_to(self, token: NumberToken, start: int) -> bool:
        """Return true if only filler stands between a position and a number."""
        return _LEADING.fullmatch(self.plain, start, token.start) is not None

    def _resolve(self, token: NumberToken, over: NumberToken | None) -> NumberReading:
        """Return the reading of a selected number, of which `over` may be the scale; `NOTHING` if it is rough, on
        another scale, or part of a formula."""
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
                return _reading_of(token) if self.scale <= 1 else NOTHING
            if token.percent and self.scale != 100:
                return NOTHING
        if self._exclaimed(token) or self._in_formula(token):
            return NOTHING
        return _reading_of(token)

    def _exclaimed(self, token: NumberToken) -> bool:
        """Return true if `!` after a number is a factorial in a formula."""
        return _FACTORIAL.match(self.plain, token.end) is not None

    def _in_formula(self, token: NumberToken) -> bool:
        """Return true if a number is part of a formula with variables, such as `x + 3`."""
        return (
            _FORMULA_BEFORE.search(self.plain, max(0, token.start - 8), token.start) is not None
            or _FORMULA_BEHIND.match(self.plain, token.end) is not None
        )

    def _denied(self, token: NumberToken, start: int) -> bool:
        """Return true if the text between a position and a number, or directly behind it, denies the number."""
        if _DENIED_BEHIND.match(self.plain, token.end) is not None:
            return True
        since = max(start, token.start - 40)
        ahead = self.plain[since : token.start]
        turns = [match.end() for match in _TURNS.finditer(ahead)]
        return _NEGATOR.search(ahead[turns[-1] :] if turns else ahead) is not None

    def _disputes(self, start: int, end: int, inside: list[NumberToken], outside: list[NumberToken]) -> bool:
        """Return true if the text in brackets gives another number for the same thing."""
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
        """Return the start and end of the first sentence of the first non-blank line."""
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
        """Return the score that a verb gives; None if it gives something else."""
        tokens = self.between(start, end)
        if not tokens or _SCORE_TAIL.match(self.plain, tokens[0].end) is None or self._supposed(label.start, end):
            return None
        if _SHARE.match(self.plain, tokens[0].end) is not None:
            return None
        if _IN_ORDER_TO.search(self.plain, max(0, label.start - 12), label.start) is not None:
            return None
        return self.only_number(start, end)

    def _supposed(self, start: int, end: int) -> bool:
        """Return true if a sentence is only hypothetical."""
        since = max(0, start - 60)
        return (
            _IF_THEN.search(self.plain, start, end) is not None
            and _CONDITIONAL.search(self.plain, since, end) is not None
        )

    def _affirmed(self, labels: Sequence[Label]) -> list[Label]:
        """Return the labels outside of questions and quotations."""
        kept = []
        for label in labels:
            if not self._asks(label.end) and not self._quoted(label.start, label.end) and not self._describes(label):
                kept.append(label)
        return kept

    def _describes(self, label: Label) -> bool:
        """Return true if a label of a score only states a requirement: `a score of 5 would need a source`."""
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
        """Return the ends of labels that do not score the whole: `the rubric awards a`, `the tone deserves a`."""
        return [] if self.scale is None else sorted(label.end for label in self._every_score if label.described)

    def _quoted(self, start: int, end: int) -> bool:
        """Return true if a part of the text is within a quotation."""
        if self._quotations is None:
            self._quotations = [match.span() for match in _QUOTED.finditer(self.plain)]
        place = bisect_left(self._quotations, (start, 0)) - 1
        return place >= 0 and end < self._quotations[place][1]

    def _mentioned(self) -> NumberReading:
        """Return the only number of a short text, or of the last line of a longer one."""
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
            elif (
                len(lines) < 2
                or end - start > _SHORT
                or start in self._reasons
                or _BRACKETS.search(plain, start, end) is not None
            ):
                return NOTHING
        if self.scale is not None and (stars := _STARS.fullmatch(plain.strip())) is not None:
            return NumberReading(len(stars["full"].replace("\ufe0f", "")))
        number = _ENUMERATED.match(plain)
        if number is not None and len(lines) == 1 and self.between(number.end(), end):
            if _ENUMERATED_WITHIN.search(plain, number.end(), end) is not None:
                return NOTHING
            start = number.end()
        cues = [
            cue
            for cue in _CORRECTS.finditer(plain, start, end)
            if (behind := self.value_tokens(cue.end(), end)) and self._corrects(cue, behind[0])
        ]
        if cues and self.between(start, cues[-1].start()):
            start = cues[-1].end()
        readings: list[NumberReading] = []
        heads: set[str] = set()
        awards = False
        for begin, stop, asked in self._sentences(start, end):
            quoted = [match.span() for match in _QUOTED.finditer(plain, begin, stop) if len(match[0].split()) > 1]
            tokens = [
                token for token in self.value_tokens(begin, stop) if self.scale is None or not self._imagined(token)
            ]
            if tokens and (head := _PART_HEAD.match(plain, begin, tokens[-1].start)) is not None:
                heads.add(head[0].strip())
                if self.scale is not None and _FAULTS.search(head[0]) is not None:
                    readings.append(NOTHING)
            if not tokens or (self.scale is not None and _OF_OTHERS.search(plain, begin, stop) is not None):
                continue
            if self._supposed(begin, stop) or (self.scale is None and _I_HAVE.match(plain, begin)):
                readings.append(NOTHING)
                continue
            if asked:
                continue
            if any(a < token.start < b for a, b in quoted for token in tokens) or (
                self.scale is not None
                and _SCORE_TAIL.match(plain, tokens[-1 if "=" in plain[begin:stop] else 0].end) is None
            ):
                readings.append(NOTHING)
            elif (one := self._only_number(begin, stop, anchored=False)) is not _DENIED:
                awards = awards or (self.scale is not None and _FOR.match(plain, tokens[0].end) is not None)
                readings.append(one or NOTHING)
        if len(heads) > 1 or (awards and len(readings) > 1):
            return NOTHING  # parts, of which no total is said
        return readings[0] if readings and all(one == readings[0] for one in readings) else NOTHING

    def _sentences(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        at = start
        while at < end:
            stop = _STOP.search(self.plain, at, end)
            until = end if stop is None else stop.start()
            yield at, until, stop is not None and stop[0][0] in "?？"
            at = end if stop is None else stop.end()

    def _ends(self, hashes: re.Match[str]) -> bool:
        """Return true if `####` is followed by a number instead of a heading: alone in its line, or in the last
        line."""
        start, end = hashes.span(1)
        tokens = self.between(start, end)
        unknown = _UNKNOWN.match(self.plain, start, end)
        start = start if unknown is None else unknown.end()
        if not tokens or not _EMPTY_BEFORE.fullmatch(self.plain, start, tokens[0].start):
            return False
        if _EMPTY_BEHIND.fullmatch(self.plain, tokens[0].end, end):
            return True
        has_unit = _SMALL_UNIT.fullmatch(self.plain, tokens[0].end, end) is not None
        if has_unit and _DIGIT.search(_ASIDE_OF_RESULT.sub(" ", self.plain[end:])) is None:
            return True  # `#### 3 steps` above further numbers may be a heading
        return _ENUMERATED.match(hashes[1]) is None and not self.plain[end:].strip()


def _with_limits(labels: Sequence[Label]) -> Iterator[tuple[Label, int | None]]:
    """Yield each label with the position at which the next one begins."""
    for label, behind in zip(labels, (*labels[1:], None), strict=False):
        yield label, None if behind is None or behind.start < label.end else behind.start


def _reading_of(token: NumberToken) -> NumberReading:
    return NumberReading(token.value, token.odd)


_FORMULA_BEFORE = late_pattern(
    r"(?<![A-Za-z'])[A-Za-z]\(\Z|[A-Za-z]\s?/\Z|(?:(?<![A-Za-z'])[A-Za-zπ](?:\^\{?\d{1,3}\}?)?|\))\s?[+×*·÷/–-]\s?\Z"
)
_FORMULA_BEHIND = late_pattern(
    r"\s?[+×*·÷]\s?(?:[A-Za-z](?![A-Za-z])|\(|\\|(?:sqrt|log|ln|sin|cos|tan)\b)|\s?[-–]\s?[a-z](?![A-Za-z])"
    r"|\([a-z]|\s?[<>≤≥]=?\s?(?:\d|[a-z](?![A-Za-z]))"
)
_NEXT_PART = late_pattern(r"(?:\A|[\s,;])\([b-d]\)[\s:]*\Z|(?:\A|[\s,;])[b-d]\)\s+\Z")
"""Sign of another part of the answer before its number: `(a) 4 (b) 5`."""
_FACTORIAL = late_pattern(r"!\s?[})$=+×*/]")
_NOT_BLANK = late_pattern(r"[^\s*#>]")
_LINE = late_pattern(r"(?m)^[^\n]*\S[^\n]*$")
_BOX_MARK = late_pattern(r"\\(?:boxed|fbox)\s{0,9}\{[^{}]*\}|\\[dtc]?frac\{[^{}]*\}\{[^{}]*\}|\^\{[^{}]*\}")
_ENCLOSED_WHOLE = late_pattern(r"\s*[\[{]{1,2}[^\[\]{}]*[\]}]{1,2}\s*")
_EMPTY_BEFORE = late_pattern(rf"[\s$*(\[]*(?:{CURRENCY}\s?)?[\s$*(\[]*", re.I)
_EMPTY_BEHIND = late_pattern(
    rf"\s?(?:%|°(?:\s?[CF])?|per ?cent|prozent|{CURRENCY}|元|euros?|dollars?)?[\s$*)\]]*[.。]?[\s$*)\]]*", re.I
)
_UNKNOWN = late_pattern(r"[\s$*]*[A-Za-z]\s?=\s?")
_SMALL_UNIT = late_pattern(r"\s?[a-zµ°²³/^]{1,15}(?: [a-z]{1,15})?[*$\s]*[.。]?[*$\s]*")
"""A unit in lower case, as opposed to the words of a heading."""
_UNIT_END = late_pattern(r"\s?[^\W\d_]{1,15}(?:'s)?(?:\s[^\W\d_]{1,15})?[*\s]*[.。]?[*\s]*")
_SCORE_END = late_pattern(r"\s?(?:分|点|points?|pts?|stars?|/ ?\d+|%)?[\s*)\]]*[.。]?[\s*)\]]*", re.I)
_BOUND_BEHIND = late_pattern(rf"\s?\+|{BOUND_BEHIND}|以上|以下", re.I)
_BOUND = late_pattern(
    rf"(?:could be|might be|may be|maybe|perhaps|possibly|better than|worse than|{DISTANCES}"
    rf"|least|most|{BOUNDS}|[<>≤≥]|至少|至多|超过|不到|少于|多于|大于|小于)\s?=?\s?(?:the "
    r"|a )?[$€£¥]?\s?\Z",
    re.I,
)
