"""Frames of mentions: whether a text affirms, denies, asks, quotes, compares or only supposes what it mentions.

`It isn't A`, `A is wrong`, `Is it A?`, `worse than A` and `A would be right if it rained` mention A without choosing
it. A mention counts as an answer only in an affirmative frame. English and Chinese are supported; texts must be
normalized by `plain`.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from tripos_compiler.replies.text import comparable, late_pattern, nfkc, simplified, words


class Frame(Enum):
    """Frame of a mention."""

    AFFIRMED = auto()
    HELD = auto()
    """Affirmed by a verdict of its own: `B is correct`, `B: right`."""
    DENIED = auto()
    OPEN = auto()
    """Asked, quoted, compared, supposed, or said by somebody else."""


MARKUP = late_pattern(
    r"</?(?:b|i|em|strong|span|u|code)\b[^<>\n]{0,80}>|^[^\S\n]{0,3}>+|[*_~`$#]|\\(?=[$%#&])|\\(?:text|mathrm|mathbf"
    r"|textbf|rm|bf|textit|mathit)(?![A-Za-z])\s?|\\[()\[\]]|\\quad(?![A-Za-z])|\\[,;! ]",
    re.MULTILINE,
)
"""Emphasis, Markdown and LaTeX around an answer."""
_BLOCKS = late_pattern(r"</?(?:p|div|br|li|ul|ol|h[1-6]|tr|table)\b[^<>\n]{0,80}>", re.IGNORECASE)
_STRUCK = late_pattern(r"~~[^~\n]{1,80}~~|<(?P<tag>s|del|strike)>[^<\n]{1,80}</(?P=tag)>", re.IGNORECASE)
"""Struck-out text in Markdown and HTML."""
_SIGN_COMMANDS = late_pattern(
    r"(?P<yes>\\checkmark)(?![A-Za-z])|(?:\A|(?<=[$({:：\n]))\s?\\times(?![A-Za-z])(?=\s?(?:[$)}\n.。,，;；]|\Z))"
)
"""LaTeX of the signs for right and wrong; `\\times` between numbers is no sign."""


def plain(text: str) -> str:
    """Return a text normalized for the search of frames: without emphasis, in one width and one script.

    >>> plain("**Ａ 錯**"), plain("\\\\text{B} isn’t")
    ('A 错', "{B} isn't")
    """
    text = _SIGN_COMMANDS.sub(lambda command: "✓" if command["yes"] else "×", comparable(text))
    return MARKUP.sub("", _BLOCKS.sub("\n", _STRUCK.sub(" ", simplified(nfkc(text)))))


RETRACTIONS = words("correction, scratch that, on second thought, on reflection")
"""Phrases that retract what was said before, wherever they occur."""
REWORDINGS = words("i mean, i meant")
RECHECKS = r"let me (?:re-?\w+|correct|double-check)"
WINS = words(
    "beats, outperforms, outscores, outshines, outdoes, surpasses, exceeds, defeats, tops, bests, trumps",
)
"""Verbs between the better of two replies and the worse one."""
RETRACTION = (
    rf"\b(?:actually,|(?:wait|hold on|i (?:misread|miscounted|made a mistake)|{RETRACTIONS}|{REWORDINGS}"
    rf"|{RECHECKS})\b|(?:edit|update|revised(?: answer)?|corrected(?: answer)?)\s?:)"
    r"|\bno,? (?:it|that|the|rather|sorry|wait)\b|不对,|等等,|等一下|更正:"
)
"""Words that retract an earlier answer, whatever its kind."""
CORRECTION = late_pattern(
    rf"{RETRACTION}|\b(?:no|sorry),? (?:(?=(?-i:[A-H])(?:[.!)\"'\s]{{0,3}}\Z|[.!)]\s|\n)))", re.IGNORECASE
)
"""Words that retract an earlier choice."""
NO_DOUBT = late_pattern(
    r"\b(?:no|without(?: any| a)?|beyond(?: any| a)?) (?:reasonable )?(?:doubt|question)(?: about it)?\b"
    r"|毫无疑问|无疑",
    re.IGNORECASE,
)
_END_OF_SENTENCE = late_pattern(
    r"(?<!\b[A-Za-z])[.!](?=[\s\"')\]}]|\Z)|[.!](?=\s+[A-Z][a-z]+\b|\s+[\u3040-\u9fff]|\s+I(?:'d|'m)? (?:would"
    r"|think|choose|go|say|believe|am|prefer|pick|will)\b|\s+[A-Z] (?:is|was|are|seems|has|does)\b)"
    r"|[?。!？;\n…]"
)
_NEAR = 240
"""Largest number of characters that are examined on either side of a mention."""
_BREAK = late_pattern(
    r"[,:;()|—–]|\s-\s|(?:\b(?:(?<!anything )(?<!everything )(?<!nothing )(?<!all )but|however|yet|so|thus|therefore"
    r"|hence|while|whereas|because|since|although|though"
    r"|sondern|aber|mais|sino|pero|also|donc)\b|\brather(?! than)|而是|但是?|所以|因此|因为|由于|故(?=选|答)"
    r"|а (?=\w))",
    re.IGNORECASE,
)
_LIST = late_pattern(
    r"(?:(?<![A-Za-z0-9])(?:选项|[Oo]ptions? )?\(?[A-Za-z]\)?选?项?\s{0,2}(?:,\s?(?:and|or|nor)?|、|/|&|\band\b|\bor\b"
    r"|\bnor\b|和|与|或者?|及)\s{0,2}){1,9}\Z"
)
"""Preceding options of a list, which share its frame: `neither A nor B`, `不是A、B`."""
_LIST_AFTER = late_pattern(
    r"(?:\s{0,2}(?:,\s(?:and|or|nor)?|、|/|&|\band\b|\bor\b|\bnor\b|和|与|或者?|及)\s{0,2}(?:选项"
    r"|[Oo]ptions? )?\(?[A-Za-z]\)?(?![A-Za-z0-9'])){1,9}"
)
_COMMA_ONLY = late_pattern(r"\s{0,2},\s{0,2}(?:[Oo]ption )?\(?[A-Za-z]\)?")
_SINGULAR_VERB = late_pattern(r" (?:is|was|isn't|wasn't|does|doesn't|has|[a-z]{2,}[a-rt-z]s)\b")
_NO_DENIAL = late_pattern(
    r"\b(?:by|through|process of) elimination\b|\bnot (?:only|just|merely|simply|surprisingly)\b|\bno doubt\b"
    r"|\bwithout (?:a |any )?(?:doubt|question)\b"
    r"|\b(?:nothing|none|no) (?:but|other than)\b|\bcannot but\b|\bwrong answers? (?:aside|excluded)\b|\bno matter\b"
    r"|\b(?:incorrect|wrong|false|untrue|not (?:true|correct|right))[\w ]{0,24}? (?:is|are)\s*:?\s*\Z"
    r"|不难|不妨|不错|不禁|不仅|不但|不言而喻|毫无疑问|无疑|不外乎|无非|非常|无论|不管|不论|别的|没错|不愧"
    r"|(?:错误|不正确|不对|不当|不符合?\w{0,6}|不属于\w{0,6}|不恰当|不合理|不能\w{0,6}|有误|不是\w{0,6})的"
    r"(?:一?[项个组]|选项|说法|表述|叙述|是)*(?:应?该?[是为选])?\s*:?\s*\Z"
)
"""Text that looks like a denial but is not one, for example in a question about what is wrong."""
_DENIED_BEFORE = late_pattern(
    r"\b(?:not|never|neither|nor|cannot|without|except(?:ing| for)?|excluding|besides|other than|rather than"
    r"|instead of"
    r"|far from|anything but|all but|everything but|nothing like|hardly|scarcely|barely|unlikely|doubt(?:ful)?"
    r"|rul(?:e|es|ed|ing) (?:\w+ )?out|eliminat\w+|exclud\w+|reject\w*|discard\w*|dismiss\w*|avoid\w*|disagree\w*"
    r"|cross(?:ed|ing)? out|fail\w*|incorrect\w*|wrong\w*|false|falsely|least|less|worse|den(?:y|ies|ied)|no longer"
    r"|nicht|weder|noch|ni|kein\w*|außer|pas|jamais|sauf|nunca|excepto|не|кроме|ليس|nothing|none|nobody"
    r"|too early to say|hard to (?:say|call)|difficult to (?:say|call)|apart from|aside from|minus|no)\b|\w+n't\b"
    r"|(?:不|非|没|未|无|勿|(?<![分特类级区个辨判])别|莫|排除|否定|剔除|舍去|删去|除了|除去|难以|谈不上|称不上|算不上"
    r"|误选|错选)[^,。;:]{0,8}\Z",
    re.IGNORECASE,
)
_FIRM_ADVERBS = (
    r"(?:(?:clearly|also|just|simply|obviously|therefore|definitely|probably|both|the|an?|completely|totally|very"
    r"|quite|much|far"
    r"|slightly|thus|then|always|in fact|actually|still|certainly|indeed) ){0,3}"
)
_ADVERBS = (
    r"(?:(?:clearly|also|just|simply|obviously|therefore|definitely|probably|both|all|the|an?|completely"
    r"|totally|too|so"
    r"|very|quite|much|far|even|thus|then|always|partly|partially|mostly|in fact|actually|still|each|certainly) ){0,3}"
)
_OPTION = r"(?:\s?(?:选?项|options?|choices?))?(?:\s?\([^()\n]{0,60}\))?"
_IS = (
    r"(?:(?:is|are|was|were|can be|could be|may be|should be|must be|has to be|seems?|looks?|sounds?|appears?|being"
    r"|ist|est|es|turns? out(?: to be)?|comes? out"
    r"|remains?|as|stands?) )"
)
_DENIED_AFTER = late_pattern(
    rf"\s?\((?:false|wrong|incorrect|no|not\b(?! \(?[A-Z]\b)[^()]{{0,40}}|✗|×|错误?|不[^()]{{0,12}})\)"
    rf"|[\s\"')\]}}]{{0,4}}{_OPTION}\s{{0,2}}(?:[:=→|–—-]\s{{0,2}}|[.、]\s?(?=(?:wrong|incorrect|false|not)\b"
    rf"|[错不有×✗✘❌]))?"
    rf"(?:(?:{_IS}|(?:is|'s|are)\s)?{_ADVERBS}(?:wrong|incorrect|false|untrue|not(?! (?:the |options? "
    rf"|choices? )?\(?(?-i:[A-Z])(?![a-z]))|never|worse|inferior|invalid"
    rf"|impossible"
    r"|implausible|irrelevant|unlikely|excluded|eliminated|ruled out|out(?= of the question| because|[.,;!]|\Z)"
    r"|rejected|discarded"
    r"|distractors?|traps?|weaker|less|ineligible|falsch|faux|fausse|incorrecta|incorrecto|falsa|falso|nicht"
    r"|off(?= the table|[.,;!]|\Z)|no(?=\s*[.,;!]|\s*\Z)|no (?:better|stronger|clearer|more \w+)|inaccurate"
    r"|unrelated)\b"
    r"|\w+n't\b|cannot\b|can not\b|(?:does|do|did|will|would|could|should|can|has|have) (?:not|never)\b|fails?\b"
    r"|contradicts?\b|makes? no\b|has no\b|have no\b|misses\b|ignores\b|omits\b|lacks?\b|confuses\b|is ruled\b"
    r"|×|✗|✘|❌"
    r"|(?:loses|lost|is inferior|falls short|lags behind|is no match|(?:was|is|gets|got) (?:beaten|outperformed"
    r"|outscored|surpassed|defeated)"
    r"|(?:scores?|ranks?|rates?|performs?|does|fares?|is rated|is ranked) (?:\w+ )?(?:lower|worse|below|poorer"
    r"|less))\b|(?:ist|est|es) (?:deutlich |klar |bien |nettement |mucho )?"
    r"(?:schlechter|schwächer|pire|moins|peor|inférieure?|inferior)\b|不如|比不上|不及|逊于|劣于|差于|输给"
    r"|n'est pas|は[间間]违|は(?:間違|不正解)|не(?:вер|прав|подход)|は(?:間違|誤|違|不正解|正しくない)|خطأ"
    r"|(?:的?(?:说法|表述|观点|内容|叙述)|选?项|都|均|皆|也|全|显然|明显|是|就|\s|则|并|可以?|能够|应该?|完全|确实"
    r"|属于)*"
    r"(?:错|不正确|不对|不符|不合|不当|不选|不是|不能|不可|不成立|不属|不适|不恰当|有误|无关|排除|被排除"
    r"|与[^,。]{0,8}(?:无关|不符|矛盾)))",
    re.IGNORECASE,
)
_HELD_AFTER = late_pattern(
    rf"\s?\((?:true|correct|right|yes|✓|√|对|正确)\)|[\s\"')\]}}]{{0,4}}{_OPTION}\s{{0,2}}(?:(?:[:=→|–—-]\s{{0,2}}"
    rf"|\.\s?(?=(?:right|correct|true)\b)|(?:{_IS}|(?:is|'s)\s)){_FIRM_ADVERBS}"
    r"(?:right|correct|true|valid|yes|accurate|(?:only |right |correct |best |final |most \w+ )?(?:answer|choice"
    r"|option|one)\b"
    r"|best|better|stronger|superior|preferable|winner|the winner|fits?\b|matches\b)"
    r"|richtig|korrekt|correcta?|correcto|(?:fits|matches|works|wins|holds|is it|it is)(?=[\s.,;!]|\Z)|(?:best"
    r"|correctly|clearly) \w+s\b|[:=→|.、–—-]?\s{0,2}[√✓✔✅]|は正"
    r"|[.、]?\s?(?:的?(?:说法|表述|观点|内容|叙述)|选?项|都|均|也|显然|明显|是|才|\s|则|最|完全|确实|属于)*"
    r"(?:正确|对(?:(?=[A-Z]选?项?[对错正不√×])|(?![A-Za-z于比应照话象]))|符合|成立|(?:本题)?(?:正确)?答案|恰当"
    r"|合适|更好|更优))",
    re.IGNORECASE,
)
_OPEN_BEFORE = late_pattern(
    r"\b(?:whether|otherwise|suppose|supposing|assuming|imagine|might|may(?= (?:be|say|think|choose))|could"
    r"|perhaps|possibly"
    r"|maybe"
    r"|temp(?:ting|ted)|mistake|misconception|trap|distractor|confus\w+|at first|initially|first thought|originally"
    r"|some(?:one|body| people| students| may| might| would| could| \w+ (?:say|think|claim|argue|believe|hold))"
    r"|many (?:people|students)|students?(?!')|people|others|they"
    r"|(?:he|she) (?:says?|said|thinks?|thought|chose|picked|answers?|answered)"
    r"|(?:user|student|author|response|reply|assistant|text|passage|speaker|learner|pupil|key|model|textbook|book"
    r"|source|teacher)"
    r" (?:\w+ )?(?:says?|said|chose|chooses|picked|answers?|answered|claims?|claimed|thinks?|wrote|writes|states?"
    r"|lists?|gives?)"
    r"|as \w+ as|between(?= \S{1,12} |\s*\Z)|either|(?<!correct )(?<!right )(?<!best )(?:options|choices|alternatives"
    r"|possible answers?)(?: are|:| include)|(?:one|which|any) of|compared (?:to|with)|versus|vs|than"
    r"|(?<!looks )(?<!look )like|over"
    rf"|depends on|prefer\w* \S{{1,20}} to|(?:{WINS}|{words('beat, outperform, outscore, outshine, surpass, defeat')}"
    r"|edges? out|superior to|preferable to|preferred (?:to|over)|ahead of|match for"
    r"|compete with|besser als|stärker als"
    r"|(?:meilleure?|supérieure?|mejor|superior|plus \w+|más \w+|migliore|melhor) (?:que|à|a|di|do que))"
    r"(?: (?:the |la |die )?(?:option|answer|response|assistant|model|réponse|respuesta|antwort))?)\b|有人"
    r"|有的同学|有些|部分同学|同学们?|学生|容易误|误以为|如果|若|假如|假设"
    r"|倘若|(?<![只最很不有极])可能|也许|或许|大概|比起?|相比"
    r"|是不是|是否|会不会|能否|不确定",
    re.IGNORECASE,
)
_MISTAKE = late_pattern(
    r"(?<!\ba )\b(?:mistakes?|traps?|misconceptions?|distractors?|pitfalls?|errors?|误区|易错点?|陷阱)\W{0,3}:",
    re.IGNORECASE,
)
_IF = late_pattern(r"\b(?:if|unless|had|were)\b|如果|假如|倘若|假设|若(?!干)", re.IGNORECASE)
_IF_ASKED = late_pattern(
    r"\bif (?:i|we) (?:had to|have to|must|were to|were asked to)\b[^,]{0,20}|\bif forced\b",
    re.IGNORECASE,
)
_WOULD_OR_THEN = late_pattern(r"\bwould\b|如果|假如|倘若", re.IGNORECASE)
_SUPPOSED_BEFORE = late_pattern(
    r"\A\W{0,3}(?:if|unless|had|were|when)\b|(?<![A-Za-z])(?:if|unless)\b[^,]{0,80}\Z", re.IGNORECASE
)
_OPEN_AFTER = late_pattern(
    r"[\s\"')\]}]{0,4}(?:(?:选?项)?的?(?:同学|学生|人(?!们?都)|考生|者(?!均))"
    r"|(?:would|might|could|may)\b(?! (?:be|seem|appear) (?:the |my |an? )?(?:\w+ )?(?:answer|choice|best|right"
    r"|correct))"
    r"|(?:is|was|seems) (?:tempting|possible|plausible|close|a (?:common|typical|popular))"
    r"|(?:only )?(?:if|unless|when|in case|provided that)\b|吗|呢|是否|是不是|的话|[,]?\s?(?:right|correct|no)\?"
    r"|as well as"
    r"|(?:is|was|are) (?:worse|more|less|weaker|closer|longer|shorter)\b[^.;]{0,40}\bthan\b|vs\.?\b|versus\b)",
    re.IGNORECASE,
)
_CONDITION_BEHIND = late_pattern(r"[^.;。\n]{0,60}\b(?:if|unless|had)\b", re.IGNORECASE)
_BETWEEN = late_pattern(r"[\s\"')]{0,3}(?:之间|的?(?:区别|差异|不同|异同))")
_SIGNS = late_pattern(r"(?:\A|[;,])\W{0,3}(?:(?P<held>[✅✓✔√])|[❌✗✘×])\s{0,2}(?:选项|[Oo]ption)?\s{0,2}\Z")
_SO_IS = late_pattern(r"\b(?:so|as) (?:is|are|does)\s+\Z", re.IGNORECASE)
_OUTRANKS = late_pattern(r"\s{0,2}>{1,3}\s{0,2}[A-Z](?![A-Za-z])")
_OUTRANKED = late_pattern(r"[A-Z]\s{0,2}>{1,3}\s{0,2}\Z")
_HEAD_DENIES = late_pattern(
    r"(?:\A|[|/;,])\W{0,4}(?:(?:worse|worst|wrong|incorrect|false|losers?|loses|rejected|excluded|eliminated"
    r"|runner-?up|second|2nd|last"
    r"|rank(?:ed)? ?#?(?:[2-9]|two|second|last)|#[2-9]|[2-9](?:nd|rd|th))(?: \w+)?|错误(?:选项|项"
    r"|的)?|不选"
    r"|排除)\W{0,3}:\W{0,3}\Z",
    re.IGNORECASE,
)
"""Head of a line that lists what is wrong."""
_WOULD_BEHIND = late_pattern(r"[\s\"')\]}]{0,4}(?:would|might|could) (?:only |also |have )?be", re.IGNORECASE)
_WOULD = late_pattern(r"\b(?:would|were)\b[^,.;]{0,20}\Z", re.IGNORECASE)
_QUOTE = late_pattern(
    r"\"([^\"\n]{1,160})\"|「([^」\n]{1,160})」|『([^』\n]{1,160})』|\u201c([^\u201d\n]{1,160})\u201d"
)
_ASKED = late_pattern(r"[?？]\W{0,3}\Z|吗\W{0,3}\Z|呢\W{0,3}\Z")


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end of the sentence around a range, including its final punctuation.

    >>> text = "No. It is B, I think. Sure?"
    >>> text[slice(*sentence_around(text, 10, 11))]
    ' It is B, I think.'
    """
    low, high = max(0, start - _NEAR), min(len(text), end + _NEAR)
    begin = max((mark.end() for mark in _END_OF_SENTENCE.finditer(text, low, start)), default=low)
    finish = _END_OF_SENTENCE.search(text, end, high)
    return begin, high if finish is None else finish.end()


def frame_of(text: str, start: int, end: int, *, labelled: bool = False) -> Frame:
    """Return the frame of the mention at a range of a plain text. `labelled`: a label announces it (`the answer is`),
    so that only the following text and the sentence of the label can retract it.

    >>> frame_of("It isn't A.", 9, 10), frame_of("A is wrong", 0, 1), frame_of("Is it A?", 6, 7)
    (<Frame.DENIED: 3>, <Frame.DENIED: 3>, <Frame.OPEN: 4>)
    >>> frame_of("It is A.", 6, 7), frame_of("A: right", 0, 1)
    (<Frame.AFFIRMED: 1>, <Frame.HELD: 2>)
    """
    begin, finish = sentence_around(text, start, end)
    before, after = text[begin:start], text[end:finish]
    if _ASKED.search(text[begin:finish]) or _MISTAKE.search(text, text.rfind("\n", 0, start) + 1, start):
        return Frame.OPEN
    if _IF.search(_IF_ASKED.sub(" ", before)) and (not labelled or _WOULD_OR_THEN.search(before)):
        return Frame.OPEN
    behind = after if labelled else after[_skipped(after) :]
    listed = _LIST.search(before)
    if listed is not None and before.rstrip().endswith(",") and _HELD_AFTER.match(after):
        listed = None  # `between B and D, B is better`
    sign = _SIGNS.search(before if listed is None else before[: listed.start()])
    if sign is not None:
        return Frame.HELD if sign["held"] else Frame.DENIED
    if _SO_IS.search(before) or _OUTRANKS.match(after):
        return Frame.HELD
    if _HEAD_DENIES.search(before) or _OUTRANKED.search(before):
        return Frame.DENIED
    if _DENIED_AFTER.match(behind) or _DENIED_AFTER.match(after):
        return Frame.DENIED
    if (
        _OPEN_AFTER.match(after)
        or _OPEN_AFTER.match(behind)
        or _BETWEEN.match(behind)
        or _is_quoted(text, begin, finish, start, end)
    ):
        return Frame.OPEN
    if (_WOULD.search(before) or _WOULD_BEHIND.match(after)) and _CONDITION_BEHIND.match(after):
        return Frame.OPEN
    ahead = before if listed is None else before[: listed.start()]
    clause = _clause(ahead)
    if not labelled and _SUPPOSED_BEFORE.search(_IF_ASKED.sub(" ", ahead)):
        return Frame.OPEN
    if _DENIED_BEFORE.search(_NO_DENIAL.sub(" ", clause)):
        return Frame.DENIED
    if _OPEN_BEFORE.search(clause):
        return Frame.OPEN
    return Frame.HELD if _HELD_AFTER.match(behind) else Frame.AFFIRMED


def _skipped(after: str) -> int:
    listed = _LIST_AFTER.match(after)
    if listed is None or (_COMMA_ONLY.fullmatch(listed[0]) and _SINGULAR_VERB.match(after, listed.end())):
        return 0  # `B, A lacks depth`
    return listed.end()


def _clause(before: str) -> str:
    """Return the clause at the end of a text."""
    return _BREAK.split(before)[-1]


def _is_quoted(text: str, begin: int, finish: int, start: int, end: int) -> bool:
    """Return true if a mention is a proper part of a quotation."""
    for quote in _QUOTE.finditer(text, begin, finish):
        if quote.start() < start and end < quote.end():
            inside = next(filter(None, quote.groups()))
            return _words(inside) != _words(text[start:end])
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def is_affirmed(text: str, start: int, end: int, *, labelled: bool = False) -> bool:
    """Return true if a plain text affirms the mention at a range.

    >>> is_affirmed("It is A.", 6, 7), is_affirmed("Anything but A", 13, 14)
    (True, False)
    """
    return frame_of(text, start, end, labelled=labelled) in (Frame.AFFIRMED, Frame.HELD)


_OF_A_PERSON = late_pattern(
    r"\b(?:student|user|candidate|pupil|learner)(?:'s)?\b(?:(?!\bbut\b)[^.;:!?,\n]){0,40}(?:(?:answer|choice"
    r"|pick),\s)?\Z|(?:学生|考生|同学"
    r"|用户)的?[^。;:!?,\n]{0,12}\Z",
    re.IGNORECASE,
)
_OF_ANOTHER = late_pattern(
    r"\b(?:he|she|they|someone|many|some|their|his|her|wrong|incorrect|second|2nd|third|alternative|another|runner-up"
    r"|worst|least"
    r"|backup|possible|long|longer)\b[^.;:!?,\n]{0,40}\Z|错误的[^。;:!?,\n]{0,12}\Z",
    re.IGNORECASE,
)
_FAR = 80


def is_attributed_to_person(text: str, start: int) -> bool:
    """Return true if the text at a position is attributed to a person who was asked.

    >>> is_attributed_to_person("The student's answer is A", 24), is_attributed_to_person("The answer is A", 14)
    (True, False)
    """
    return _OF_A_PERSON.search(text[max(0, start - _FAR) : start]) is not None


def is_attributed_to_others(text: str, start: int) -> bool:
    """Return true if a label at a position announces another answer than the writer's.

    >>> (is_attributed_to_others("The student's answer is A", 14), is_attributed_to_others("The answer is A", 4),
    ... is_attributed_to_others("2nd choice: A", 4))
    (True, False, True)
    """
    return is_attributed_to_person(text, start) or _OF_ANOTHER.search(text[max(0, start - _FAR) : start]) is not None
