"""Labels that announce a number: the labels of answers in several languages, and those of scores."""

from __future__ import annotations

import re
from typing import NamedTuple

from tripos_compiler.language.replies.late_patterns import late_pattern

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
"""Words before `answer` or `result` that make it something on the way to the answer, or a verb."""
_OWN = frozenset(("my", "our"))
_SENTENCE_END = late_pattern(r"[.;!?](?=\s)|[\n。；！？]")
_DIGIT = late_pattern(r"\d")


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
"""Words before `answer` that make it another's, or the one to compare with: no label of a score."""
_CORRECT = late_pattern(r"(?:correct|right)[ -]\Z", re.I)
_OTHERS_HAN = late_pattern(
    r"(?:学生|考生|同学|他|她|用户|模型|参考|标准|正确|原|所给|给出|提交|回复|回答者|学员|孩子|你)(?:们)?(?:给出)?的?(?:最终|最后)?的?\Z"
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
    r"(?: ?\([^()\n]{0,40}\))?(?: on a scale (?:of|from) \d{1,3} ?(?:to|-) ?\d{1,3})?(?: (?:for|of"
    r"|to) (?:(?:the|this|that) )?[^\W\d][\w']{0,19}){0,2}"
    r"\s{0,3}(?:(?P<sign>[:：=]|[—–-](?=\s)|->|→|⇒|\|(?=[ *]{0,3}\d))|(?P<bare>(?=\s?\d))|(?P<says>is|was|are"
    r"|would be|should be|comes to|of|at|ist|est|lautet|es|è)\b)"
    r"[ \t]{0,3}[:：=]?",
    re.I,
)
_SCORE_HAN = late_pattern(
    r"(?P<before>满分?|最高|最低|参考|平均|及格|总共)?(?:综合|最终|最后的?|总体|整体)?(?:得分|评分|分数|打分|总分|分值|成绩|评级|给分)"
    r"(?:\([^()\n]{0,20}\))?(?:[】\]]\s{0,3}[:：]?|\s{0,3}(?:应该?|定)?[是为给]\s{0,3}[:：=]?|\s{0,3}[:：=]|\s{0,3}(?=\d))"
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
    r"(?P<verb>最后|最终|取|给予|给出|给|打|评为|评定为|判为|评|判|得(?!出)|值)(?:[了他她它出该这个其此])?(?:回答|学生|答案|作文|回复|文章)?\s{0,2}(?=\d|[零一二两三四五六七八九十])"
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
    r"|earns?|gets?|receives?|warrants?|\A(?:scores?|rates))|(?P<rates>(?:to|would|will|can|be|is)\s(?:rate|scor|grade|mark)\w*))\Z",
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
"""Before a verb that scores a part: `for style it earns a 5`."""
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
    r"(?!(?:of|in|for|to|from|by|the|this|that|correct|perfect|ideal|reference|expected|best|other|another|previous)\b)"
    r"[\w-]+"
)
_WHOLE = late_pattern(
    rf"(?:(?<!\w\s)\b(?:that|which|who|what|one)|\b(?:it|this|he|she|they|these|you|everything|all)(?:'s|'d|'ll)?"
    rf"|(?:\A\W*|(?<!\bof\s)(?<!\bin\s)(?<!\bfor\s)\b(?:the|this|that|my|his|her|their|your|[\w]+'s|overall)\s"
    rf"(?:{_ADJECTIVE}\s){{0,5}}){_WHOLE_NOUN}(?!'s|’s)(?:\s[A-Z\d])?(?:\s(?:to|from|by|of|as)\s(?:(?:the|this|a)\s)?\w+)?"
    rf"|\b{_WHOLE_NOUN}\s(?:that|which|who)){_ADVERBS}\s*\Z",
    re.I,
)
"""Ends with the whole of what is scored as a subject."""
_ADVERBS_ALONE = late_pattern(r"\W*(?:(?:\w+ly|thus|therefore|hence|also|still|only|would|overall|then)\W+)*", re.I)
_BY_RUBRIC = late_pattern(r"\b(?:rubric|scale|criteri\w+|guidelines?)\s\Z", re.I)
_TO_WHOLE = late_pattern(r"\s(?:it|this|(?:the|this) (?:response|answer|reply|essay|submission|text|summary))\s", re.I)
"""`The rubric gives it a 3` says what the whole gets."""
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
    """A label of a number: where it stands, where what it announces begins, and whether it says that it is final or
    opens its line with a colon."""

    start: int
    end: int
    final: bool = False
    heads: bool = False
    others: bool = False
    verb: bool = False
    weak: bool = False
    """What a verb gives in no indicative, as of `the reply would get a 4`."""
    described: bool = False
    """What a verb gives, but neither the writer nor to the whole: `the tone deserves a 5`, `the rubric awards a 5`."""


def labels_of(text: str) -> list[Label]:
    """Return the labels of answers of a text, in order.

    A result is one where it is called final or stands before a colon at the head of its line; and where it says the
    last number of all, and nothing else is announced.

    >>> [label[:2] for label in labels_of("Answer: 12")], labels_of("As a result, 3 are left.")
    ([(0, 7)], [])
    """
    found = [Label(match.start(), match.end()) for match in _ASIAN.finditer(text)]
    weak: list[Label] = []
    for worded in _WORDED.finditer(text):
        strength, label = _worded(text, worded)
        if strength is not None:
            (found if strength else weak).append(label)
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
            (found if strength else weak).append(label)
    if weak and not found and not _has_another(text, max(weak).end):
        return [max(weak)]
    return sorted(found)


def score_labels(text: str) -> list[Label]:
    """Return what announces a score, in order: `Score: 7`, `I give it 7`, `得分：7`, `我给7分`.

    >>> [text[label.end :] for text in ("I would give it a 7.", "Score: 7") for label in score_labels(text)]
    ['7.', '7']
    """
    found: list[Label] = []
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
            found.append(
                Label(
                    noun.start(), noun.end(), "final" in words, _heads(text, noun.start()) and noun["sign"] is not None
                )
            )
    for noun in _SCORE_HAN.finditer(text):
        if noun["before"] is None and _affirms(text, noun.start()):
            found.append(Label(noun.start(), noun.end(), noun[0].startswith("最"), _heads(text, noun.start())))
    for pattern in (_SCORE_VERB, _SCORE_VERB_HAN):
        for verb in pattern.finditer(text):
            weak, described = _gives(text, verb) if pattern is _SCORE_VERB else (False, False)
            if described or _affirms(text, verb.start()):
                found.append(Label(verb.start(), verb.end(), verb=True, weak=weak, described=described))
    return sorted(found)


def _gives(text: str, verb: re.Match[str]) -> tuple[bool, bool]:
    """Return whether a verb gives a score in no indicative, and whether it only describes one or scores a part."""
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
    """Return where explanations begin.

    >>> explanations("Answer: 12. Explanation: the answer 15 would be wrong")
    [12]
    """
    return [match.start() for match in _EXPLAINS.finditer(text)]


def _affirms(text: str, start: int) -> bool:
    """Return true if nothing in its sentence before a place denies or only supposes what is said there."""
    ahead = _SENTENCE_END.split(text[max(0, start - _FAR) : start])[-1]
    clause = _CLAUSE.split(ahead)[-1]
    if _OTHER_ONE.search(clause) is not None or _DENIES.search(clause) is not None:
        return False
    return _IF.search(_BUT.split(ahead)[-1]) is None and _SUPPOSES.search(clause) is None


def _has_another(text: str, start: int) -> bool:
    """Return true if another number stands behind the sentence that is announced."""
    end = _SENTENCE_END.search(text, start)
    return end is not None and _DIGIT.search(text, end.end()) is not None


def _worded(text: str, label: re.Match[str]) -> tuple[bool | None, Label]:
    """Return true with a noun that announces the answer by itself; None with one that announces nothing."""
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
    """Return true if only marks stand before a place in its line."""
    ahead = text[max(0, start - 12) : start]
    return not re.search(r"\w", ahead.rpartition("\n")[2])
