"""Explicit forms of an answer, a field of JSON, a box or a tag, and the beginning of its reasons."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from tripos_compiler.replies.text import ReplyText, late_pattern

T = TypeVar("T")

_BOXED = late_pattern(r"\\{1,2}(?:boxed|fbox)\s{0,9}\{|\\.|[{}]", re.DOTALL)
_FIELD = late_pattern(
    r"[\"'](?P<name>(?:正确|最终)?(?:答案|选项|判断)|(?:final_|correct_|my_)?(?:answers?|choice|option|verdict|judge?ment"
    r"|result"
    r"|value))[\"']"
    r"\s{0,9}:\s{0,9}(?P<value>\[[^\]]{0,2000}\]|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'(?=\s*[,}])|true\b|false\b"
    r"|-?\d[\d.]{0,40}(?=\s*[,}]))",
    re.IGNORECASE,
)
_OBJECT_ENDS = late_pattern(r"[{}]")
_TAG = late_pattern(
    r"<((?:final_?)?answer|verdict|label|choice|rating|result)>(.{1,2000}?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
REASONS = late_pattern(
    r"(?:^|(?<=[\s。.;(【\[*#]))(?:简要|具体|详细)?"
    r"(?:理由|解析|分析|解释|说明|原因|思路|依据|改正|更正|reason(?:s|ing)?|explanations?|justification|rationale"
    r"|analysis"
    r"|why)(?:说明|如下|是|为)?[*_\s】\])]{0,9}(?:[:】]|\n|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Beginning of the reasons for an answer: a heading, or a word with a colon."""


def boxed(text: str) -> str | None:
    """Return the content of the last `\\boxed{…}` of a text, without the space around it; missing if there is none.

    >>> boxed("so $x = \\\\boxed{\\\\frac{1}{2}}$."), boxed("no box")
    ('\\\\frac{1}{2}', None)
    """
    text = ReplyText.parse(text).answer
    last = last_box(text)
    return None if last is None else text[last.inside : last.end - 1].strip()


_FENCE = late_pattern(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})[^`]*")
_QUOTES = late_pattern(r"\"{3}|'{3}")
_MARKDOWN_INDENT = 3
"""Spaces that may stand before a fence outside of a list, and before one that closes a block more than at its start."""


def code_block(text: str) -> str:
    """Return the code in a reply: its longest fenced block, or the whole text if it has none.

    A block is between lines with three backticks or tildes; that the longest counts is the rule of EvalPlus. One that
    is never closed ends with the text. Where a block is indented, as in a list, the indent of its first fence is no
    code, and neither are the signs of a quotation of Markdown. The text around a block, its language and the thinking
    of a model are none either.

    >>> code_block("Here:\\n```python\\ndef f():\\n    return 1\\n```\\nDone."), code_block("x = 1")
    ('def f():\\n    return 1', 'x = 1')
    >>> code_block("1. Here:\\n    ```\\n    if x:\\n        y()\\n    ```")
    'if x:\\n    y()'
    """
    answer = ReplyText.parse(text).answer
    blocks: list[list[str]] = []
    indent, fence, depth, is_quoted = "", "", 0, False
    for raw in answer.splitlines():
        if not fence:
            depth = _depth_of_quoted_fence(raw)
        elif depth and _quotation(raw).count(">") < depth:
            blocks[-1], fence, depth = _without_indent(blocks[-1], indent), "", 0  # the quotation ends
        line = _without_quotation(raw, depth)
        found = _FENCE.fullmatch(line)
        if fence:
            if found is not None and _closes(found, indent, fence):
                blocks[-1], fence = _without_indent(blocks[-1], indent), ""
            else:
                blocks[-1].append(line)
        elif found is not None and not (is_quoted and _width(found[1]) > _MARKDOWN_INDENT):
            indent, fence = found[1], found[2]
            blocks.append([])
        elif len(_QUOTES.findall(line)) % 2:
            is_quoted = not is_quoted  # in the docstring of a reply that is code as a whole
    if fence:
        blocks[-1] = _without_indent(blocks[-1], indent)
    written = ["\n".join(block) for block in blocks]
    return max(written, key=len) if written else answer.strip()


_QUOTATION = late_pattern(r"[ ]{0,3}(?:>[ ]?)*")


def _quotation(line: str) -> str:
    """Return the signs of Markdown's quotations at the beginning of a line."""
    return _QUOTATION.match(line)[0]  # type: ignore[index]


def _depth_of_quoted_fence(line: str) -> int:
    """Return the number of quotations in which a line is a fence; 0 if it is none, or not quoted."""
    quotation = _quotation(line)
    return quotation.count(">") if _FENCE.fullmatch(line[len(quotation) :]) is not None else 0


def _without_quotation(line: str, depth: int) -> str:
    """Return a line without the signs of so many quotations, each with one blank."""
    for _ in range(depth):
        line = re.sub(r"\A[ ]{0,3}>[ ]?", "", line, count=1)
    return line


def _closes(found: re.Match[str], indent: str, fence: str) -> bool:
    """Return true if a line with a fence ends the block that another one began."""
    bare = found[2].startswith(fence) and not found[0].strip(" \t`~")
    return bare and _width(found[1]) <= _width(indent) + _MARKDOWN_INDENT


def _without_indent(lines: Sequence[str], indent: str) -> list[str]:
    """Return lines without the indent of their fence; without that of the first line with code, if this is smaller."""
    first = next((line for line in lines if line.strip()), "")
    own = first[: len(first) - len(first.lstrip(" \t"))]
    indent = min(own, indent, key=_width)
    return [_without_indent_in_line(line, indent) for line in lines]


def _without_indent_in_line(line: str, indent: str) -> str:
    """Return a line without an indent, or without as much of it as it has."""
    if line.startswith(indent):
        return line[len(indent) :]
    code = line.lstrip(" \t")
    own = line[: len(line) - len(code)].expandtabs(4)
    return own[_width(indent) :] + code


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


class Box(NamedTuple):
    """Start of a box, start of its content, and end of the box."""

    start: int
    inside: int
    end: int


def last_box(text: str) -> Box | None:
    """Return the position of the last `\\boxed{…}` of a text."""
    if "\\" not in text:
        return None
    open_: list[tuple[int, int, bool]] = []
    last: Box | None = None
    for sign in _BOXED.finditer(text):
        if sign[0].endswith("{") and sign[0] != "\\{":
            open_.append((sign.start(), sign.end(), sign[0] != "{"))
        elif sign[0] == "}" and open_:
            start, inside, is_box = open_.pop()
            if is_box and (last is None or inside > last.inside):
                last = Box(start, inside, sign.end())
    return last


def field_of(text: str) -> str | None:
    """Return the value of the last JSON field with the name of an answer; for a list its elements as written. It is
    empty if its object has the same name again with another value.

    >>> field_of('{"answer": "B", "explanation": "The answer A is wrong"}'), field_of("answer: B")
    ('B', None)
    """
    fields = deque(answer_fields(text), 1)
    if not fields:
        return None
    if has_conflicting_fields(text):
        return ""
    value: str = text[slice(*fields[0])]
    if value[0] not in "\"'":
        return value
    return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def answer_fields(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the values of JSON fields with the name of an answer."""
    return (field.span("value") for field in _FIELD.finditer(text))


def has_conflicting_fields(text: str) -> bool:
    """Return true if the object with the last answer has its name twice, with different values.

    >>> has_conflicting_fields('{"answer": "A", "answer": "B"}'), has_conflicting_fields('{"answer": "A"}')
    (True, False)
    """
    *_, one, last = (None, None, *deque(_FIELD.finditer(text), 2))
    if one is None or last is None or one["value"] == last["value"]:
        return False
    return one["name"].casefold() == last["name"].casefold() and not _OBJECT_ENDS.search(text, one.end(), last.start())


def tag_of(text: str) -> str | None:
    """Return the content of the last `<answer>` of a text.

    >>> tag_of("<answer> B </answer>")
    'B'
    """
    tags = deque(_TAG.finditer(text), 1)
    return tags[0][2].strip() if tags else None


def until_reasons(text: str) -> str:
    """Return a text up to the reasons for its answer.

    >>> until_reasons("B\\n\\nExplanation: A is wrong")
    'B\\n\\n'
    """
    reasons = REASONS.search(text)
    return text if reasons is None else text[: reasons.start()]


def lines_of(text: str) -> Iterator[str]:
    """Yield the non-empty lines of a text."""
    return (line for line in text.splitlines() if re.search(r"\w|[√×✓✗✔✘]", line))


_RULE = late_pattern(r"[\s|:–—-]+")
"""The line below the headings of a table."""
_OPTION_BOX = late_pattern(r"(?:(?P<ticked>\[[xX✓✔]\]|[☑☒])|\[\s?\]|[☐□])[ \t]*(?P<text>[^\n\[☐□☑☒]{1,200})")
_TICK = late_pattern(r"[✓✔√✅☑●•]|selected|chosen", re.IGNORECASE)
_CROSS = late_pattern(r"[xX]")
"""A tick where nothing else is ticked."""


def tables_of(text: str) -> Iterator[list[list[str]]]:
    """Yield the tables of a text, each as rows of cells, of which the first has the headings.

    >>> [*tables_of("So:\\n| option | fits |\\n| --- | --- |\\n| A | no |\\n| B | yes |\\n\\nThat is all.")]
    [[['option', 'fits'], ['A', 'no'], ['B', 'yes']]]
    """
    lines = deque(text.splitlines())
    headings = ""
    while lines:
        line = lines.popleft()
        if "|" in headings and "|" in line and "-" in line and _RULE.fullmatch(line):
            rows = [headings]
            while lines and "|" in lines[0]:
                rows.append(lines.popleft())
            yield [[cell.strip() for cell in _inside(row).split("|")] for row in rows]
        headings = line


def _inside(row: str) -> str:
    return row.strip().removeprefix("|").removesuffix("|")


def turned(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a table with its columns as rows, as many as the shortest row has cells."""
    return [list(column) for column in zip(*table, strict=False)]


def ticked(text: str, option: Callable[[str], T | None]) -> list[T]:
    """Return the options that a form with all of them ticks: a list with boxes, or a table. `option` returns what a
    text stands for, None if it is no option. Empty if there is no such form.

    >>> number = {"yes": 1, "no": 0}.get
    >>> ticked("[ ] yes\\n[x] no", number), ticked("| yes | no |\\n|---|---|\\n| x | |", number)
    ([0], [1])
    """
    boxes = [(box["ticked"] is not None, option(box["text"].strip())) for box in _OPTION_BOX.finditer(text)]
    options = [value for is_ticked, value in boxes if is_ticked and value is not None]
    if 0 < len(options) < len(boxes) and all(value is not None for _, value in boxes):
        return options
    for table in tables_of(text):
        for headings, *rows in (table, turned(table)):
            columns = {place: value for place, cell in enumerate(headings) if (value := option(cell)) is not None}
            ticks = [_ticks(row, columns) for row in rows]
            if len(columns) > 1 and ticks and all(len(places) == 1 for places in ticks):
                return [columns[places[0]] for places in ticks]
    return []


def _ticks(row: Sequence[str], columns: Iterable[int]) -> list[int]:
    """Return the ticked columns of a row."""
    cells = {place: row[place] for place in columns if place < len(row)}
    ticks = [place for place, cell in cells.items() if _TICK.fullmatch(cell)]
    return ticks or [place for place, cell in cells.items() if _CROSS.fullmatch(cell)]


_QUESTION = late_pattern(r"(?:\A|\n)[ \t*_#]{0,4}(?:Q|Question|问题?|题目)\s?\d{0,3}[*_]{0,2}\s?[:：]", re.IGNORECASE)
"""The label of a question."""
_ANNOUNCES = late_pattern(r"\b(?:answer|result|solution)\b[^.\n]{0,20}(?:\bis\b|[:=])|####|\\boxed|答案", re.IGNORECASE)
"""The words before an answer."""
_FEW_WORDS = 6
"""Number of words up to which a line may be an answer by itself."""


def read_first_answer(text: str, read: Callable[[str], T | None]) -> T | None:
    """Return what is read in the part of a text that answers the question, or else in all of it.

    A base model goes on after its answer: it invents the next question and answers that. The part before it counts if
    it is a line of few words or announces its answer; other texts before a question are the preface of an answer.

    >>> read_first_answer("B\\n\\nQ: Which is red?\\nA: C", lambda part: part.split()[-1])
    'B'
    >>> read_first_answer("Let me first write down what is asked.\\nQ: Which?\\nA: C", lambda part: part.split()[-1])
    'C'
    """
    question = _QUESTION.search(text)
    if question is not None:
        first = text[: question.start()].strip()
        is_direct = "\n" not in first and len(first.split()) <= _FEW_WORDS
        if first and (is_direct or _ANNOUNCES.search(first)) and (found := read(first)) is not None:
            return found
    return read(text)


SHORT = 80
"""Length up to which a name that a text mentions may be its answer."""


def brief(text: str) -> str:
    """Return a text if it is short, else its last line if that is short, else an empty text.

    >>> brief("It is true."), brief("word " * 40 + "\\nTrue")
    ('It is true.', 'True')
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(text.strip()) <= SHORT:
        return text
    return lines[-1] if len(lines) > 1 and len(lines[-1]) <= SHORT else ""
