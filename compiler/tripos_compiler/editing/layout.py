"""The one layout: a syntax tree and its tokens to lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tripos_compiler.diagnostics import display_width
from tripos_compiler.editing.columns import FITS, HeadPart, Row, align_columns, align_tables, lines_of, table_row
from tripos_compiler.editing.format_tokens import FormatToken, Scan
from tripos_compiler.source import Block, Entry, Line, Name, Source, Span, Syntax, TableRow, dataclass
from tripos_compiler.syntax import read_text

QUOTES = '"""'


def laid_out(raw: str, indent: int) -> str:
    r"""Return a string as written, laid out for a line that begins in column `indent`, counted from 0. The first line
    of the result goes on on that line.

    Content and closing quotes stand one step deeper than the line. A string on one line, and one whose value would
    change, is left as it is.

    >>> laid_out(QUOTES + "a\n  b" + QUOTES, 2).split("\n")[1:3]
    ['    a', '      b']
    """
    if "\n" not in raw or not raw.startswith(QUOTES):
        return raw
    value = _value(raw)
    if not value:
        return QUOTES + QUOTES
    margin = " " * (indent + 2)
    lines = (margin + line if line else "" for line in value.split("\n"))
    text = "\n".join((QUOTES, *lines, margin + QUOTES))
    return text if _value(text) == value else raw


def _value(raw: str) -> str:
    return read_text(Span(Source("", raw), 0, len(raw)), raw).value


NO_SPACE_AFTER = frozenset("([") | {".", ".."}
NO_SPACE_BEFORE = frozenset(")],:?") | {".", ".."}


def space(scan: Scan, before: FormatToken, after: FormatToken) -> str:
    """Return the space between two tokens: one, but for brackets, `.`, `..`, the signs of one operand and type
    arguments.

    A minus before a number keeps its space, since `-1` is one number and `- 1` an operation. A number and a word that
    touch stay so: `13a` is the name of a tokenizer.
    """
    if before.kind == "number" and after.kind == "word" and before.end == after.start:
        return ""
    if before.kind == "sign" and before.text in NO_SPACE_AFTER:
        return ""
    if after.kind == "sign" and after.text in NO_SPACE_BEFORE:
        return ""
    if after.start in scan.tight or after.start in scan.closing:
        return ""
    if before.start in scan.hugging:
        return " " if after.kind == "number" and before.text == "-" else ""
    return " "


STEP = 2
"""The spaces by which a block is indented."""
ALLOWS = re.compile(r"#\s*allow\s", re.IGNORECASE)
"""How a comment begins that silences a warning on its line or the next."""


@dataclass
class Gap:
    """The text between two statements, commas aside."""

    trailing: str
    """The comment on the line of the first of them."""
    remarks: list[Row]
    """The comments on lines of their own."""
    broken: bool
    """Whether there is a line break."""
    blank: bool
    """Whether a blank line stands before the second."""


class Layout:
    """Lays out one file."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.braces_done: dict[tuple[int, int, bool], str] = {}

    def file(self, tree: Block) -> str:
        """Return the text of the whole file; it ends in a line feed unless it is empty."""
        rows = self._rows(tree.lines, -1, len(self.scan.text), 0)[1]
        _part_declarations(rows)
        lines = _finished(rows, "")
        return "".join(f"{line}\n" for line in lines)

    def _rows(self, lines: Sequence[Line], start: int, end: int, indent: int) -> tuple[str, list[Row]]:
        """Return the rows of a block whose brace stands at `start`, and the comment that follows that brace. A file has
        its brace before the first character, in a line of its own."""
        starts = [_start(line.entries[0]) for line in lines]
        ends = [_end(line.entries[-1]) for line in lines]
        gaps = [self._gap(*place, indent) for place in zip([start + 1, *ends], [*starts, end], strict=True)]
        rows = list(gaps[0].remarks)
        for line, before, after in zip(lines, gaps, gaps[1:], strict=False):
            added = self._line(line, indent, keep=_allowing(before, after))
            added[0].blank = before.blank
            added[-1].comment = after.trailing
            rows += [*added, *after.remarks]
        for row in rows[:1]:
            row.blank = False
        return gaps[0].trailing, rows

    def _gap(self, start: int, end: int, indent: int) -> Gap:
        gap = Gap("", [], False, False)
        breaks = int(start == 0)  # the first comment of a file stands alone
        for token in self.scan.within(start, end):
            match token.kind:
                case "newline":
                    breaks += 1
                    gap.broken = True
                case "comment":
                    if breaks:
                        gap.remarks.append(Row(indent, token.text, "remark", blank=breaks > 1))
                    else:
                        gap.trailing = token.text
                    breaks = 0
        gap.blank = breaks > 1
        return gap

    def _line(self, line: Line, indent: int, keep: bool) -> list[Row]:
        """Return the rows of entries that share a line. It is broken after the commas where the author did, and unless
        it is to be kept where it would grow too long and around what takes several lines. A list of names goes on one
        step deeper."""
        entries = line.entries
        names = len(entries[0].elements) > 1 and all(len(e.elements) == 1 and e.block is None for e in entries[1:])
        level = indent + STEP if names else indent
        gaps = [self._gap(_end(one), _start(other), level) for one, other in pairwise(entries)]
        keep = keep or any(map(_allowing, gaps, gaps))
        rows: list[Row] = []
        for index, entry in enumerate(entries):
            row = self._entry(entry, level if index else indent, "," if index < len(gaps) else "", keep)
            if not rows:
                rows.append(row)
                continue
            gap, last = gaps[index - 1], rows[-1]
            fits = last.single and row.single and last.width + 1 + display_width(row.text) <= FITS
            if not gap.broken and (keep or fits) and "table" not in (last.kind, row.kind):
                last.text += " " + row.text
                last.tail += " " + row.text
                last.parts = last.parts if len(entry.elements) == 1 and entry.block is None else ()
            else:
                last.comment = gap.trailing
                row.blank = gap.blank
                rows += [*gap.remarks, row]
        return rows

    def _entry(self, entry: Entry, indent: int, comma: str, keep: bool) -> Row:
        if isinstance(entry.elements[0], TableRow):
            texts = [cell.text for cell in entry.elements[0].cells]
            text = table_row(texts, [display_width(cell) for cell in texts])
            return Row(indent, text + comma, "table", (HeadPart(text, entry.elements[0]),), comma)
        parts = self._parts(entry, indent, expand=False)
        text = " ".join(parts)
        first, _, last = text.partition("\n")
        too_wide = indent + display_width(first) > FITS or display_width(last.rpartition("\n")[2] + comma) > FITS
        if too_wide and not keep and self._folds(entry):
            parts = self._parts(entry, indent, expand=True)
            text = " ".join(parts)
        row = Row(indent, text + comma, tail=comma)
        if entry.block is None and row.single:
            row.parts = tuple(HeadPart(part, node) for part, node in zip(parts, entry.elements, strict=True))
        return row

    def _folds(self, entry: Entry) -> bool:
        """Return true if an entry has a block, of its own or where a type stands, that its author wrote in one line."""
        inner = [self.scan.records[t.start] for t in self._head(entry) if t.start in self.scan.records]
        blocks = [block for block in (*inner, entry.block) if block is not None]
        return any(not self.scan.breaks(block.span.start, block.span.end) for block in blocks)

    def _head(self, entry: Entry) -> list[FormatToken]:
        return self.scan.within(_start(entry), entry.elements[-1].span.end)

    def _parts(self, entry: Entry, indent: int, *, expand: bool) -> list[str]:
        parts = [self._element(element, indent, expand) for element in entry.elements]
        if entry.block is not None:
            first = entry.elements[0]
            parts.append(self._braces(entry.block, first.text if isinstance(first, Name) else "", indent, expand))
        return parts

    def _element(self, element: Syntax, indent: int, expand: bool) -> str:
        """Return one element of a head. Inside its brackets the lines are broken where the author broke them, one step
        deeper than the line on which the innermost of them opens."""
        lines = [""]
        level, opened, broken = indent, list[int](), False
        before: FormatToken | None = None
        skip_to = 0
        tokens = self.scan.within(element.span.start, element.span.end)
        for index, token in enumerate(tokens):
            if token.start < skip_to:
                continue
            if token.kind == "newline":
                broken = bool(opened)
                continue
            closes = token.kind == "sign" and token.text in (")", "]")
            inside = opened[-1] + STEP if opened else indent
            if closes:
                inside = opened.pop()
            if token.kind == "comment":
                lines[-1] += "" if broken else f"  {token.text}"
                lines += [" " * inside + token.text] if broken else []
                before, broken = token, True
                continue
            following = tokens[index + 1] if index + 1 < len(tokens) else None
            closing = following.start if following is not None and following.text in (")", "]") else None
            if token.text == "," and closing is not None and closing not in self.scan.listing:
                continue
            empty = closes and before is not None and before.kind == "sign" and before.text in ("(", "[")
            if broken and not empty:
                level = inside
                lines.append(" " * level)
            elif before is not None:
                lines[-1] += space(self.scan, before, token)
            broken = False
            text = token.text
            if token.kind == "string":
                text = laid_out(text, level)
            elif token.start in self.scan.records:
                block = self.scan.records[token.start]
                text, skip_to = self._braces(block, "{", level, expand), block.span.end
            elif token.kind == "sign" and text in ("(", "["):
                opened.append(level)
            first, *more = text.split("\n")
            lines[-1] += first
            lines += more
            before = token
        return "\n".join(lines)

    def _braces(self, block: Block, word: str, indent: int, expand: bool) -> str:
        """Return a block in its braces, in a line that begins in column `indent`. It stays in one line if its author
        wrote it so, unless it is to be expanded."""
        key = (block.span.start, indent, expand)
        if key not in self.braces_done:
            self.braces_done[key] = self._new_braces(block, word, indent, expand)
        return self.braces_done[key]

    def _new_braces(self, block: Block, word: str, indent: int, expand: bool) -> str:
        start, end = block.span.start, block.span.end
        if all(token.kind == "newline" for token in self.scan.within(start + 1, end - 1)):
            return "{}"
        if not expand and not self.scan.breaks(start, end):
            inner = (" ".join(self._flat(entry)) for line in block.lines for entry in line.entries)
            return f"{{ {', '.join(inner)} }}"
        head, rows = self._rows(block.lines, start, end - 1, indent + STEP)
        opening = f"{{  {head}" if head else "{"
        return "\n".join([opening, *_finished(rows, word), " " * indent + "}"])

    def _flat(self, entry: Entry) -> list[str]:
        if isinstance(entry.elements[0], TableRow):
            return [self._entry(entry, 0, "", True).text]
        return self._parts(entry, 0, expand=False)


def _finished(rows: list[Row], word: str) -> list[str]:
    align_columns(rows, word)
    align_tables(rows)
    return lines_of(rows)


def _part_declarations(rows: list[Row]) -> None:
    """Put a blank line between declarations of several lines each; it stands before the comments of the second."""
    last: Row | None = None
    between: list[Row] = []
    for row in rows:
        between.append(row)
        if row.kind == "remark":
            continue
        if last is not None and not last.single and not row.single and not any(each.blank for each in between):
            between[0].blank = True
        last, between = row, []


def _allowing(before: Gap, after: Gap) -> bool:
    """Return true if a comment that allows something speaks of the line between two gaps: it means just that line."""
    above = [] if before.blank else [row.text for row in before.remarks]
    return any(ALLOWS.match(comment) for comment in (*above, after.trailing))


def _start(entry: Entry) -> int:
    return entry.elements[0].span.start


def _end(entry: Entry) -> int:
    return entry.block.span.end if entry.block is not None else entry.elements[-1].span.end
