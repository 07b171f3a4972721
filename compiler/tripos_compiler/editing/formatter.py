"""Formatter with one layout and no options. It changes the layout of a spec, never its meaning.

A result is accepted only if it parses to an equal tree, apart from spans, with the same comments in the same order.
Numbers, strings and table rows are taken from the tree, so their notation is not repeated here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby, pairwise, zip_longest
from typing import Any, Literal

from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Source, Span, find_comments
from tripos_compiler.source.tree import (
    Block,
    CallExpr,
    Entry,
    Generic,
    Group,
    IndexExpr,
    Line,
    Name,
    Node,
    Number,
    OptionalExpr,
    RangeExpr,
    Record,
    SymbolExpr,
    Syntax,
    TableRow,
    Text,
    UnaryExpr,
    walk,
)
from tripos_compiler.syntax.parser import parse, read_text

# Tokens

Kind = Literal["word", "number", "string", "row", "sign", "comment", "newline"]

PIECE = re.compile(
    r"(?P<space>(?:[^\S\n]|\ufeff)+)|(?P<newline>\n)|(?P<comment>#[^\n]*)|(?P<word>\w+)"
    r"|(?P<sign>\.\.|==|!=|<=|>=|->|[\s\S])"
)
LOOKALIKES = str.maketrans("，、：（）［］｛｝＝？", ",,:()[]{}=?")
"""Characters that input methods insert for ASCII signs. If the parser accepts one, the ASCII sign is written."""


QUOTES = '"“”'
"""Quotation marks that may begin a quoted name, such as a value of a choice."""


@dataclass(frozen=True)
class FormatToken:
    """Token of a spec: characters `start:end` and the text to write for it."""

    kind: Kind
    text: str
    start: int
    end: int


class Scan:
    """Tokens of a file in order, and facts from its tree by character offset."""

    def __init__(self, text: str, tree: Block) -> None:
        self.text = text
        self.tight: set[int] = set()
        """Opening brackets of calls, indexes and type arguments, before which there is no space."""
        self.hugging: set[int] = set()
        """Unary signs and the `<` of types, after which there is no space."""
        self.closing: set[int] = set()
        """The `>` of types, before which there is no space."""
        self.listing: set[int] = set()
        """The `)` of lists with one element, such as `(a,)`: without the comma before it, it would be no list."""
        self.records: dict[int, Block] = {}
        """The blocks in the position of a type, by the offset of their opening brace."""
        atoms: dict[int, tuple[Kind, int]] = {}
        for node in walk(tree):
            match node:
                case Number(span=span):
                    atoms[span.start] = ("number", span.end)
                case Text(span=span):
                    atoms[span.start] = ("string", span.end)
                case Name(span=span) if span.end - span.start > 1 and text[span.start] in QUOTES:
                    atoms[span.start] = ("string", span.end)
                case TableRow(span=span):
                    atoms[span.start] = ("row", span.end)
                case CallExpr(function=of) | IndexExpr(of=of):
                    self.tight.add(of.span.end)
                case Generic(span=span, name=name):
                    self.tight.add(name.span.end)
                    self.hugging.add(name.span.end)
                    self.closing.add(span.end - 1)
                case Group(span=span, listed=True) if text[span.start] in "(（":
                    self.listing.add(span.end - 1)
                case UnaryExpr(span=span, operator="-"):
                    self.hugging.add(span.start)
                case Record(block=block):
                    self.records[block.span.start] = block
        self.tokens = list(_tokens(text, atoms))
        self._starts = [token.start for token in self.tokens]

    def within(self, start: int, end: int) -> list[FormatToken]:
        """Return the tokens that begin in `start:end`."""
        return self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def breaks(self, start: int, end: int) -> bool:
        """Return true if `start:end` contains a line break, in a string or outside of one."""
        return "\n" in self.text[start:end]


def _tokens(text: str, atoms: dict[int, tuple[Kind, int]]) -> Iterator[FormatToken]:
    place = 0
    while place < len(text):
        if place in atoms:
            kind, end = atoms[place]
            yield FormatToken(kind, text[place:end], place, end)
            place = end
            continue
        piece = PIECE.match(text, place)
        assert piece is not None and piece.lastgroup is not None
        match piece.lastgroup:
            case "newline" | "word" as kind:
                yield FormatToken(kind, piece[0], place, piece.end())
            case "comment":
                yield FormatToken("comment", piece[0].rstrip(), place, piece.end())
            case "sign":
                yield FormatToken("sign", piece[0].translate(LOOKALIKES), place, piece.end())
        place = piece.end()


# Rows and tables

FITS = 100
"""Largest width of a line that is not broken after a comma and keeps its block on one line."""
WIDEST = 120
"""Largest width of a line that the alignment of columns may produce."""


@dataclass(frozen=True)
class HeadPart:
    """Element of a head: its text and its node."""

    text: str
    node: Syntax


@dataclass
class Row:
    """Row of a block. Only the first line of `text` is not indented.

    `parts` are the elements of the only statement in the row, if it has no block; `tail` is the text after them: a
    comma, and names in a list.
    """

    indent: int
    text: str
    kind: Literal["entry", "remark", "table"] = "entry"
    parts: tuple[HeadPart, ...] = ()
    tail: str = ""
    comment: str = ""
    blank: bool = False
    """Whether a blank line precedes it."""

    @property
    def single(self) -> bool:
        """True if it is a single line."""
        return "\n" not in self.text

    @property
    def word(self) -> str:
        """First word; empty if it does not begin with a word."""
        first = self.parts[0].node if self.parts else None
        return first.text if isinstance(first, Name) else ""

    @property
    def width(self) -> int:
        """Columns of its last line, without its comment."""
        last = self.text.rpartition("\n")[2]
        return display_width(last) + (self.indent if self.single else 0)

    def lines(self, gap: int = 2) -> list[str]:
        """Return its lines, with `gap` spaces before its comment."""
        text = " " * self.indent + self.text
        if self.comment:
            text += " " * gap + self.comment
        return ([""] if self.blank else []) + text.split("\n")


def lines_of(rows: list[Row]) -> list[str]:
    """Return the lines of rows. Comments after adjacent single-line rows are aligned."""
    lines: list[str] = []
    run: list[Row] = []
    for row in rows:
        if not (row.comment and row.single) or row.blank:
            lines += _commented(run)
            run = []
        if row.comment and row.single:
            run.append(row)
        else:
            lines += row.lines()
    return lines + _commented(run)


def _commented(run: list[Row]) -> list[str]:
    column = max((row.width for row in run), default=0) + 2
    pushed = any(
        column + display_width(row.comment) > WIDEST and row.width + 2 + display_width(row.comment) <= WIDEST
        for row in run
    )
    return [line for row in run for line in row.lines(2 if pushed else column - row.width)]


def align_tables(rows: list[Row]) -> None:
    """Align every table among the rows of a block. A blank line or a statement ends a table, a comment does not."""
    table: list[Row] = []
    for row in rows:
        if row.kind == "entry" or row.blank:
            _align(table)
            table = []
        if row.kind == "table":
            table.append(row)
    _align(table)


def _align(table: list[Row]) -> None:
    grid = [_cells_of(row) for row in table]
    widths = [max(map(display_width, column)) for column in zip_longest(*grid, fillvalue="")]
    centred = not any(text[:1] in QUOTES for texts in grid for text in texts if text)
    for row, texts in zip(table, grid, strict=True):
        row.text = table_row(texts, widths, centred) + row.tail


def _cells_of(row: Row) -> list[str]:
    node = row.parts[0].node
    assert isinstance(node, TableRow)
    return [cell.text for cell in node.cells]


def table_row(texts: list[str], widths: list[int], centred: bool = True) -> str:
    """Return a row with its first cell left-aligned and the others centred, or left-aligned too, as in tables of texts.

    >>> table_row(["难度", "x", "2"], [5, 4, 1])
    '| 难度  |  x   | 2 |'
    """
    padded = []
    for index, (text, width) in enumerate(zip(texts, widths, strict=False)):
        free = width - display_width(text)
        left = free // 2 if centred and index else 0
        padded.append(" " * left + text + " " * (free - left))
    return f"| {' | '.join(padded)} |"


# Columns

STEPS = frozenset({"", "dimension", "metric", "scenario"})
"""Words before blocks whose statements are read in sequence; the file is the empty word."""
LABELLED = frozenset({"arm", "axis", "group"})
"""Words before blocks of names with labels."""
TYPED = frozenset({"dataset", "returns", "{"})
"""Words before blocks of names with types; `{` is a block in the position of a type."""
TYPES = frozenset(
    {"audio", "bool", "calls", "dialogue", "file", "image", "integer", "json", "number", "path", "text", "tools"}
)
"""Names of types. Any other word is a setting of the data set, as in `key id`."""
WIDE_TYPE = 24
"""Width of a type, such as a long `choice(…)`, above which the columns of its neighbours ignore it."""

Cells = list[str]
"""Texts in the columns of a row; empty for an empty column before a filled one."""


def align_columns(rows: list[Row], block: str) -> None:
    """Align the rows of a block in columns. `block` is the word before it.

    A run ends at a blank line, at a comment on its own line, and at a statement with a block or several lines.
    """
    run: list[Row] = []
    for row in rows:
        fits = row.kind == "entry" and row.single and row.parts
        if run and (not fits or row.blank or row.indent != run[0].indent):
            _align_run(run, block)
            run = []
        if fits:
            run.append(row)
    _align_run(run, block)


def _align_run(run: list[Row], block: str) -> None:
    if block in STEPS:
        _align_statements(run)
    elif block in LABELLED:
        _pad(run, _labels, (2, 2, 2, 2))
    elif block in TYPED:
        for field, group in groupby(run, key=lambda row: len(row.parts) == 1 or _is_field(row, block)):
            if field:
                _pad(list(group), _field, (2, 1, 1), wide=1)
            else:
                _align_settings(list(group))
    else:
        _align_settings(run)


def _align_statements(run: list[Row]) -> None:
    for _, group in groupby(run, key=lambda row: row.word):
        _pad(list(group), _statement, (1, 1))


def _align_settings(run: list[Row]) -> None:
    """Align word and value. Adjacent statements of one kind, such as the levels of a metric, have their own columns."""
    settings: list[Row] = []
    for word, group in groupby(run, key=lambda row: row.word):
        same = list(group)
        if word and len(same) > 1 and all(len(_statement(row.parts)) > 1 for row in same):
            _pad(settings, _setting, (1,))
            _pad(same, _statement, (1, 1))
            settings = []
        else:
            settings += same
    _pad(settings, _setting, (1,))


def _is_field(row: Row, block: str) -> bool:
    kind = row.parts[1].node
    if block == "dataset" and isinstance(kind, Name):
        return kind.text in TYPES and not (len(row.parts) > 2 and isinstance(row.parts[2].node, Text))
    if isinstance(kind, CallExpr):
        return isinstance(kind.function, Name) and kind.function.text == "choice"
    return isinstance(kind, Name | Generic | OptionalExpr | RangeExpr | Record)


def _setting(parts: Sequence[HeadPart]) -> Cells:
    return [parts[0].text, _joined(parts[1:])] if len(parts) > 1 else [parts[0].text]


def _field(parts: Sequence[HeadPart]) -> Cells:
    if len(parts) == 1:
        return [parts[0].text]
    head_parts = parts[2:]
    secret = bool(head_parts) and isinstance(head_parts[0].node, Name) and head_parts[0].text == "secret"
    return [parts[0].text, parts[1].text, "secret" if secret else "", _joined(head_parts[secret:])]


def _labels(parts: Sequence[HeadPart]) -> Cells:
    labels, index = [parts[0].text], 1
    while index < len(parts):
        size = _label_size(parts, index)
        if not size:
            return [*labels, _joined(parts[index:])]
        labels.append(_joined(parts[index : index + size]))
        index += size
    return labels


def _statement(parts: Sequence[HeadPart]) -> Cells:
    """Return head, value and condition of `score NAME = VALUE when COND`, or the parts of `level 7..8 "…"` before its
    text."""
    equals = next((index for index, part in enumerate(parts) if part.node == _symbol(part, "=")), None)
    if equals is None:
        if len(parts) > 2 and not isinstance(parts[1].node, Text) and _label_size(parts, 2):
            return [_joined(parts[:2]), _joined(parts[2:])]
        return [_joined(parts)]
    when = next((i for i in range(equals + 2, len(parts)) if parts[i].text == "when"), len(parts))
    return [_joined(parts[:equals]), _joined(parts[equals:when]), _joined(parts[when:])]


def _symbol(part: HeadPart, text: str) -> SymbolExpr | None:
    return part.node if isinstance(part.node, SymbolExpr) and part.node.text == text else None


def _label_size(parts: Sequence[HeadPart], index: int) -> int:
    """Return the number of parts from `index` on that form a label: a string, or a name and a string; 0 if none begins
    there."""
    if isinstance(parts[index].node, Text):
        return 1
    named = isinstance(parts[index].node, Name) and index + 1 < len(parts)
    return 2 if named and isinstance(parts[index + 1].node, Text) else 0


def _joined(parts: Sequence[HeadPart]) -> str:
    return " ".join(part.text for part in parts)


def _pad(
    run: Sequence[Row], cells_of: Callable[[Sequence[HeadPart]], Cells], gaps: tuple[int, ...], wide: int | None = None
) -> None:
    """Write every row of a run in columns. `gaps[i]` is the least space after column i; the last value applies to
    further columns. A row with a cell of column `wide` that is too wide leaves the following columns."""
    grid = [cells_of(row.parts) for row in run]
    for row, cells in zip(run, grid, strict=True):
        while len(cells) > 1 and not cells[-1]:
            cells.pop()
        cells[-1] += row.tail
    texts = [cells[0] for cells in grid]
    out: set[int] = set()
    for column in range(1, max(map(len, grid), default=0)):
        gap = gaps[min(column, len(gaps)) - 1]
        if wide is not None and column == wide + 1:
            out = {
                index
                for index, cells in enumerate(grid)
                if len(cells) > column and display_width(cells[wide]) > WIDE_TYPE
            }
        reached = [index for index, cells in enumerate(grid) if len(cells) > column and index not in out]
        start = max((display_width(texts[index]) for index in reached), default=0) + gap
        pushed = any(_pushed(run[index], texts[index], grid[index][column:], gap, start) for index in reached)
        for index, cells in enumerate(grid):
            if len(cells) > column and cells[column]:
                natural = display_width(texts[index]) + gap
                before = natural if pushed or index in out else start
                texts[index] += " " * (before - display_width(texts[index])) + cells[column]
    for row, text in zip(run, texts, strict=True):
        row.text = text


def _pushed(row: Row, text: str, rest: Cells, gap: int, start: int) -> bool:
    """Return true if a row fits now but would not fit if its next column began at `start`."""
    width = sum(display_width(cell) + 1 for cell in rest if cell) - 1
    return row.indent + start + width > WIDEST and row.indent + display_width(text) + gap + width <= WIDEST


# Layout

TRIPLE_QUOTES = '"""'


def laid_out(raw: str, indent: int) -> str:
    r"""Return a string literal laid out for a line that begins in column `indent`, from 0. The first line of the result
    continues that line.

    Content and closing quotes are indented one step more than the line. A string on one line, or one whose value would
    change, is left unchanged.

    >>> laid_out('"' * 3 + "a\n  b" + '"' * 3, 2).split("\n")[1:3]
    ['    a', '      b']
    """
    if "\n" not in raw or not raw.startswith(TRIPLE_QUOTES):
        return raw
    value = _value(raw)
    if not value:
        return TRIPLE_QUOTES + TRIPLE_QUOTES
    margin = " " * (indent + 2)
    lines = (margin + line if line else "" for line in value.split("\n"))
    text = "\n".join((TRIPLE_QUOTES, *lines, margin + TRIPLE_QUOTES))
    return text if _value(text) == value else raw


def _value(raw: str) -> str:
    return read_text(Span(Source("", raw), 0, len(raw)), raw).value


NO_SPACE_AFTER = frozenset("([") | {".", ".."}
NO_SPACE_BEFORE = frozenset(")],:?") | {".", ".."}


def space(scan: Scan, before: FormatToken, after: FormatToken) -> str:
    """Return the space between two tokens: one, except around brackets, `.`, `..`, unary signs and type arguments.

    A minus before a number keeps its space, since `-1` is a number and `- 1` an operation. A number and a word that
    touch stay together: `13a` is the name of a tokenizer.
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
"""Spaces of one level of indentation."""
ALLOWS = re.compile(r"#\s*allow\s", re.IGNORECASE)
"""Beginning of a comment that silences a warning on its line or the next."""


@dataclass
class Gap:
    """Text between two statements, without commas."""

    trailing: str
    """Comment on the line of the first statement."""
    remarks: list[Row]
    """Comments on lines of their own."""
    broken: bool
    """Whether there is a line break."""
    blank: bool
    """Whether a blank line precedes the second statement."""


class Layout:
    """Layout of one file."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.braces_done: dict[tuple[int, int, bool], str] = {}

    def file(self, tree: Block) -> str:
        """Return the text of the whole file, which ends in a line feed unless it is empty."""
        rows = self._rows(tree.lines, -1, len(self.scan.text), 0)[1]
        _part_declarations(rows)
        lines = _finished(rows, "")
        return "".join(f"{line}\n" for line in lines)

    def _rows(self, lines: Sequence[Line], start: int, end: int, indent: int) -> tuple[str, list[Row]]:
        """Return the comment after the opening brace of a block at `start`, and the rows of the block. A
        file is treated as a block whose opening brace is on a line before it."""
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
        """Return the rows of statements that share a line.

        The line is broken after commas where the author did so. Unless `keep` is set, it is also broken if it would be
        too long, and around multi-line statements. A list of names is continued one step deeper.
        """
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
        """Return true if the author wrote a block of the statement, or one in a type, on one line."""
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
        """Return one element of a head. Inside its brackets, lines are broken where the author did so, one step deeper
        than the line that opens the innermost bracket."""
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
        """Return a block in braces, on a line that begins in column `indent`. It stays on one line if the author wrote
        it so, unless `expand` is set."""
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
    """Put a blank line between multi-line declarations; it precedes the comments of the second."""
    last: Row | None = None
    between: list[Row] = []
    for row in rows:
        between.append(row)
        if row.kind == "remark":
            continue
        if last is not None and not last.single and not row.single and not any(line.blank for line in between):
            between[0].blank = True
        last, between = row, []


def _allowing(before: Gap, after: Gap) -> bool:
    """Return true if an `allow` comment refers to the line between two gaps, and to that line only."""
    above = [] if before.blank else [row.text for row in before.remarks]
    return any(ALLOWS.match(comment) for comment in (*above, after.trailing))


def _start(entry: Entry) -> int:
    return entry.elements[0].span.start


def _end(entry: Entry) -> int:
    return entry.block.span.end if entry.block is not None else entry.elements[-1].span.end


# Entry point, and the check that the meaning is unchanged

PLACES = frozenset({"span", "offsets"})
"""Fields of a node that hold positions."""


class Unfaithful(Exception):
    """The formatter would have changed the meaning of a spec, which is a bug. Nothing was written."""


def require_faithful(before: Source, tree: Block, after: Source) -> None:
    """Raise `Unfaithful` unless `after` has the same meaning as `before`, whose tree is `tree`."""
    diagnostics = Diagnostics()
    again = parse(after, diagnostics)
    if diagnostics.failed:
        raise Unfaithful(f"{before.path} would not parse: {diagnostics.sorted()[0].message}")
    if not is_same_tree(tree, again):
        raise Unfaithful(f"the syntax tree of {before.path} would change")
    if [comment.text for comment in find_comments(before)] != [comment.text for comment in find_comments(after)]:
        raise Unfaithful(f"the comments of {before.path} would change")


def is_same_tree(left: Any, right: Any) -> bool:
    """Return true if two trees are equal apart from positions.

    >>> one, other = (parse(Source("x", text), Diagnostics()) for text in ("a  1", "a 1"))
    >>> is_same_tree(one, other), one == other
    (True, False)
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, Node):
        names = [field.name for field in fields(left) if field.name not in PLACES]
        return all(is_same_tree(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(is_same_tree, left, right))
    return bool(isinstance(left, Span) or left == right)


BOM = "\ufeff"


class Unparsable(Exception):
    """A spec does not parse and is not formatted. `diagnostics` has the errors in the order of their places."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = tuple(diagnostics)


def format_text(text: str, path: str) -> str:
    """Return a spec in the one layout: lines end in LF, including the last, and there is no byte order mark.

    `path` is the name of the spec in diagnostics; nothing is read from it. Raises `Unparsable` for a syntax error, and
    `Unfaithful` if the meaning would change, which is a bug. Formatting is idempotent.

    >>> print(format_text('role  judge   panel\\nmeasure a=mean( x )\\nmeasure bcd =1+2', "x.tripos"), end="")
    role judge panel
    measure a   = mean(x)
    measure bcd = 1 + 2
    """
    source = Source(path, text.removeprefix(BOM))
    diagnostics = Diagnostics()
    tree = parse(source, diagnostics)
    if diagnostics.failed:
        raise Unparsable(diagnostics.sorted())
    formatted = Layout(Scan(source.text, tree)).file(tree)
    require_faithful(source, tree, Source(path, formatted))
    return formatted
