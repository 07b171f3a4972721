"""Normal form of a reply: the answer without the model's thinking, and texts in the form in which they are compared.

Thinking models put their thoughts into the reply, between marks that differ by model. A thought is not an answer:
`Perhaps A? No.` must not count. So every reader of replies uses `ReplyText.answer`.

The module also has regular expressions that are compiled at first use (`late_pattern`). A benchmark needs few of the
library's sixty, and compiling all of them is a twentieth of the time of `tripos check`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from tripos_compiler.source.data_classes import dataclass

# Patterns that are compiled at first use

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class LatePattern:
    """Pattern that is compiled at first use. Its methods become attributes then."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.flags = compiled.flags
        for method in METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Return a regular expression that is compiled at first use.

    >>> late_pattern(r"\d+").findall("12 of 30")
    ['12', '30']
    """
    return cast("re.Pattern[str]", LatePattern(pattern, flags))


def words(*lists: str) -> str:
    r"""Return the alternatives of a pattern from lists of words, phrases or small patterns, separated by commas.

    >>> words("more, less", "at least"), words("more than, up to", words("over, under"))
    ('more|less|at least', 'more than|up to|over|under')
    """
    return "|".join(word.strip() for text in lists for word in text.split(","))


# Answer and thinking

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think", "longcat_think")
"""Names of tags around thinking, in any case."""
_TAG = rf"<\s{{0,3}}(?P<close>/)?\s{{0,3}}(?:{'|'.join(sorted(TAGS, key=len, reverse=True))})\s{{0,3}}>"
_OPENED = (
    r"\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|inner_prefix\|>|<unused94>(?:thought\b)?"
    r"|(?:<\|(?:end|call)\|>\s{0,3})?(?:<\|start\|>\s{0,3}assistant\s{0,3})?"
    r"<\|channel\|>\s{0,3}(?:analysis|commentary)\b[^<\n]{0,80}<\|message\|>"
)
_CLOSED = (
    r"\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<\|inner_suffix\|>|<unused95>"
    r"|(?:<\|(?:end|return|call)\|>\s{0,3})?(?:<\|start\|>\s{0,3}assistant\s{0,3})?"
    r"<\|channel\|>\s{0,3}final\b[^<\n]{0,80}<\|message\|>"
)
_MARK = late_pattern(rf"(?P<tag>{_TAG})|(?P<closed>{_CLOSED})|(?P<opened>{_OPENED})", re.IGNORECASE)
_BARE_CHANNELS = late_pattern(r"\A\s{0,9}analysis(?! ?[a-z])(.*)assistant\s{0,3}final(.*)\Z", re.DOTALL)
"""Channels whose marks a server removed: `analysisThey ask …assistantfinalB`."""
_TOKENS = (
    r"<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|END_RESPONSE|end_of_solution|end_of_box)\|>"
    r"|<end_of_turn>|</s>|<eos>"
)
_LAST_TOKENS = late_pattern(rf"(?:\s{{0,9}}(?:{_TOKENS})){{1,9}}\s{{0,9}}\Z")
_FIRST_TOKENS = late_pattern(r"\A\s{0,9}<\|(?:START_RESPONSE|begin_of_solution|begin_of_box)\|>\s{0,9}")
_CODE = late_pattern(r"(?:```|~~~).*?(?:```|~~~|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_MOST_PASSES = 16
"""Largest number of passes: removing a block may join the halves of another mark."""


@dataclass(frozen=True)
class ReplyText:
    """Parts of a reply. `closed` is false if the thinking never ends, so that there is no answer."""

    answer: str
    thinking: str | None = None
    closed: bool = True

    @classmethod
    def parse(cls, raw: str) -> ReplyText:
        """Return the answer of a reply, and the thinking before or within it. Both keep their characters; the answer
        loses blanks around the thinking and special tokens at its ends. Parsing is idempotent on answers.

        Marks of thinking are `<think>`, `<thinking>`, `<thought>`, `<reasoning>`, `<reflection>`, `[THINK]`, `◁think▷`,
        the channels of gpt-oss and a few more, each of one model, in any case. A closing mark without an opening one
        ends thinking that began with the reply. Marks in code are ordinary text.

        >>> ReplyText.parse("<think>A? No.</think>\\n\\nB").answer, ReplyText.parse("so B.</THINK> B").thinking
        ('B', 'so B.')
        >>> ReplyText.parse("<think>It may be A").closed, ReplyText.parse("Write `<think>` first.").thinking
        (False, None)
        """
        may_think = "<" in raw or "[" in raw or "◁" in raw or raw.lstrip()[:8] == "analysis"
        return _parse(raw) if may_think else cls(raw)


def answer_of(text: str) -> str:
    """Return the answer of a reply in the form in which it is read: without thinking, and normalized by `comparable`.

    >>> answer_of("<think>A?</think> It isn’t Ａ.")
    "It isn't A."
    """
    return comparable(ReplyText.parse(text).answer)


@lru_cache(maxsize=64)
def _parse(raw: str) -> ReplyText:
    answer, thoughts, closed = raw, list[str](), True
    if _is_json(raw):
        return ReplyText(raw)
    for _ in range(_MOST_PASSES):
        before = answer
        answer, more, closed = _split(before)
        thoughts += more
        if (bare := _BARE_CHANNELS.match(answer)) is not None:
            thoughts.append(bare[1])
            answer = bare[2].strip()
        if (ended := _FIRST_TOKENS.sub("", _LAST_TOKENS.sub("", answer))) != answer:
            answer = ended
        if answer == before or not closed:
            break
    if not thoughts:
        return ReplyText(answer)
    return ReplyText(answer, "\n\n".join(filter(None, (thought.strip() for thought in thoughts))), closed)


def _is_json(text: str) -> bool:
    """Return true if a text is JSON, in whose strings marks are ordinary text."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class _Mark(NamedTuple):
    start: int
    end: int
    opens: bool


def _split(text: str) -> tuple[str, list[str], bool]:
    """Return a text without its thinking, the thoughts, and whether the last one is closed."""
    marks = [_Mark(match.start(), match.end(), _opens(match)) for match in _MARK.finditer(text)]
    last_closing = max((at for at, mark in enumerate(marks) if not mark.opens), default=-1)
    code = _Code(text)
    thoughts: list[str] = []
    kept: list[str] = []
    start = at = 0
    while at < len(marks):
        mark = marks[at]
        inline = bool(text[start : mark.start].rpartition("\n")[2].strip())
        unclosed = mark.opens and at > last_closing
        if code.has(mark.start, start) or (unclosed and inline) or not (mark.opens or not thoughts):
            at += 1
            continue
        if unclosed:
            return _joined([*kept, text[start : mark.start]]), [*thoughts, text[mark.end :]], False
        end = _end_of_block(marks, at)
        while end < last_closing and not marks[end + 1].opens and not code.has(marks[end + 1].start, marks[end].end):
            end += 1  # what is thought may speak of the mark that ends it
        begin = mark.end if mark.opens else 0
        thoughts.append(_MARK.sub("", text[begin : marks[end].start]))
        if mark.opens:
            kept += [text[start : mark.start], " " if inline else "\n\n"]
        start, at = marks[end].end, end + 1
    return (_joined([*kept, text[start:]]) if thoughts else text), thoughts, True


def _opens(mark: re.Match[str]) -> bool:
    return mark["opened"] is not None or (mark["tag"] is not None and mark["close"] is None)


def _end_of_block(marks: list[_Mark], begin: int) -> int:
    """Return the index of the closing mark of a block: the one at its depth, or else the last one."""
    depth = last = 0
    for at in range(begin, len(marks)):
        depth += 1 if marks[at].opens else -1
        if not marks[at].opens:
            last = at
        if depth <= 0:
            break
    return last


def _joined(pieces: list[str]) -> str:
    """Return the answer from alternating pieces: parts of the answer, and the blanks around removed thoughts."""
    answer = pieces[0].strip()
    for gap, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        answer = f"{answer}{gap}{piece.strip()}" if answer else piece.strip()
    return answer.strip()


class _Code:
    """Code in a text. Queries must be in the order of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.span: tuple[int, int] | None = (-1, -1)

    def has(self, place: int, since: int) -> bool:
        """Return true if a position is in code that begins after `since`."""
        while self.span is not None and (self.span[0] < since or self.span[1] <= place):
            match = _CODE.search(self.text, max(since, self.span[1] if self.span[0] >= since else since))
            self.span = None if match is None else match.span()
        return self.span is not None and self.span[0] <= place


# Comparable texts

_JOINER = "\u034f"
_MARKS = late_pattern("[\u0300-\u1fff\u20d0-\u20f0\u2de0-\u309a\ua66f-\uabff\ufb1e-\ufe2f\U00010000-\U0001ffff]{31}")
"""Run that may have more than `MAX_COMBINING_MARKS` combining marks."""
MAX_COMBINING_MARKS = 30
"""Limit of combining marks on a letter in Unicode's stream-safe text format; no writing system uses more."""
_WHOLE = late_pattern(r"[^\ud800-\udfff]+")
"""Text without surrogate halves, which UTF-8 cannot encode."""
_PLAIN = str.maketrans(
    dict.fromkeys("‘’‛ʼ＇", "'")
    | dict.fromkeys("“”„‟＂", '"')
    | dict.fromkeys("−﹣－‐‑", "-")
    | dict.fromkeys("\u00a0\u2007\u2009\u202f", " ")
    | dict.fromkeys("\u200b\u2060\ufeff\u00ad", "")
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
    | {
        chr(wide): chr(wide - 0xFEE0)
        for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
    }
)


def comparable(text: str) -> str:
    """Return a text without irrelevant differences of writing: in Unicode's form NFC, with straight quotes and
    apostrophes, one minus, plain spaces, no invisible characters, and full-width letters and digits as ASCII.
    Superscripts are kept: `10⁵` is not `105`.

    >>> comparable("It isn’t “Ａ１”"), comparable("cafe\\u0301") == comparable("caf\\u00e9"), comparable("10⁵ − 1")
    ('It isn\\'t "A1"', True, '10⁵ - 1')
    """
    return text if text.isascii() else _normalised("NFC", text.translate(_PLAIN))


def nfkc(text: str) -> str:
    """Return a text in Unicode's form NFKC. Long runs of combining marks are broken by a joiner, since sorting them
    takes quadratic time.

    >>> nfkc("Ａ１ ﬁ"), len(nfkc("a" + "\\u0301\\u0323" * 1000))
    ('A1 fi', 2066)
    """
    return text if text.isascii() else _normalised("NFKC", text)


def _normalised(form: Any, text: str) -> str:
    if _MARKS.search(text) is not None:
        text = _stream_safe(text)
    return unicodedata.normalize(form, text)


def _stream_safe(text: str) -> str:
    pieces: list[str] = []
    start = marks = 0
    for place, character in enumerate(text):
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > MAX_COMBINING_MARKS:
            pieces.append(text[start:place])
            start, marks = place, 1
    return _JOINER.join((*pieces, text[start:]))


def simplified(text: str) -> str:
    """Return the text with traditional Chinese characters in their simplified form; all else stays as it is.

    Whole words are looked up first, since some characters have several simplified forms. The dictionary is OpenCC's.

    >>> simplified("正確答案為乾隆"), simplified("Plain text.")
    ('正确答案为乾隆', 'Plain text.')
    """
    if text.isascii():
        return text
    convert = _converter().convert
    return _WHOLE.sub(lambda match: str(convert(match[0])), text)


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("t2s")


def storable(text: str) -> str:
    """Return the text as it can be stored and sent: lone surrogates become U+FFFD.

    >>> storable("a\\ud800b") == "a\\ufffdb"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
