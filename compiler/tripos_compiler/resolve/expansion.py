"""Expansion of `like` and `for each`: statements that repeat others are written out before anything is lowered.

A declaration that is `like` another one has the statements of that one, with those of its own block in place of their
namesakes, those in `add` beside them, and without those of `without`. A `for each` has its block once for each row of a
`rows` table, with the row's cells in place of `row.column`.

Every copy has spans of its own (`CopiedText`), so that the same text can mean something else in each, and a message
about one of them names the place that made it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from tripos_compiler.constructs.signature import Changes, Statement
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.constructs.table import CONSTRUCTS, NOUNS, REPEATED
from tripos_compiler.diagnostics.diagnostic import Label, nearest, suggest
from tripos_compiler.resolve.incremental import Memory, expanded_once
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import CopiedText, Segment, Source, Span
from tripos_compiler.source.tree import (
    BinaryExpr,
    Block,
    CallExpr,
    Entry,
    Group,
    IndexExpr,
    Member,
    Name,
    Node,
    Number,
    Offsets,
    TableRow,
    Text,
    dimension_text,
)
from tripos_compiler.syntax.parser import parse_cell

T = TypeVar("T")
HOLE = re.compile(r"(?<=\{\{).*?(?=\}\})", re.DOTALL)
WORDS = {construct.name: construct.starts_with for construct in CONSTRUCTS}
"""The first word of each construct."""
ADDITIONS = frozenset(construct.name for construct in CONSTRUCTS if construct.change == "adds")
OMISSIONS = frozenset(construct.name for construct in CONSTRUCTS if construct.change == "leaves out")


def _noun(statement: Statement) -> str:
    word = WORDS[statement.construct]
    return NOUNS.get(word, word)


NOT_INHERITED = frozenset(construct.name for construct in CONSTRUCTS if not construct.inherited)
"""The constructs of a base that a declaration `like` it lacks, as if the base lacked them too."""


def declared_name(statement: Statement) -> str | None:
    """Return the name that a statement declares, or None. The `values` of a table have the name of their dimension."""
    if statement.construct == "table_values":
        return dimension_text(statement.syntax("dims"))
    name = statement.values.get("name") or statement.values.get("call")
    name = getattr(name, "function", name)
    return name.text if isinstance(name, Name) else None


def expand(program: Program, statements: Iterable[Statement], memory: Memory | None) -> list[Statement]:
    """Return the statements with every `for each` and every `like` written out. Reports those that cannot be."""
    return _Inheritance(program, list(_written_out(program, list(statements), memory)), memory).statements()


# Copies of statements


class _Copy:
    """Copying of syntax under new spans. `change` returns the substitute of a node, or None to copy the node.

    `reason` is the place that makes the copy, with the text that messages about the copy show there.
    """

    def __init__(self, reason: Label, change: Callable[[Node], Node | None] = lambda node: None) -> None:
        self.reason, self.change = reason, change
        self._anchors: dict[int, CopiedText] = {}

    def of(self, part: T) -> T:
        """Return a copy of a node, a statement, or a collection of them."""
        return cast("T", self._of(part))

    def _of(self, part: Any) -> Any:
        match part:
            case Span():
                return self.span(part)
            case Source() | Segment() | CopiedText() | str() | bool() | int() | float() | None:
                return part
            case Offsets():
                return replace(part, anchor=self._anchor(part.anchor))
            case tuple():
                return tuple(map(self._of, part))
            case list():
                return list(map(self._of, part))
            case Mapping():
                return {key: self._of(value) for key, value in part.items()}
            case Node() if (substitute := self.change(part)) is not None:
                return substitute
        return replace(part, **{field.name: self._of(getattr(part, field.name)) for field in fields(part)})

    def span(self, span: Span) -> Span:
        """Return the copy's span of the same text."""
        return Span(self._anchor(span.anchor), span.low, span.high)

    def _anchor(self, anchor: Source | Segment | CopiedText) -> CopiedText:
        return self._anchors.setdefault(id(anchor), CopiedText(anchor, self.reason.span, self.reason.text))


def _with_holes(text: Text, pattern: re.Pattern[str], put: Callable[[re.Match[str], bool], str | None]) -> Text:
    """Return a string with what `pattern` matches in its holes replaced.

    `put` returns the substitute of a match, or None to keep it. If the match is all that its hole holds, `put` is
    called with True, and the substitute replaces the hole. Every character of a substitute has the place of the match.
    """
    characters: list[str] = []
    places: list[int] = []

    def keep(start: int, end: int) -> None:
        characters.extend(text.value[start:end])
        places.extend(text.offsets.place(index) for index in range(start, end))

    done = 0
    for hole in HOLE.finditer(text.value):
        for match in pattern.finditer(text.value, *hole.span()):
            alone = match[0] == hole[0].strip()
            substitute = put(match, alone) if match[0][0] != '"' else None
            if substitute is None:
                continue
            start, end = (hole.start() - 2, hole.end() + 2) if alone else match.span()
            keep(done, start)
            characters.extend(substitute)
            places.extend([text.offsets.place(match.start())] * len(substitute))
            done = end
    if not done:
        return text
    keep(done, len(text.value))
    places.append(text.offsets.place(len(text.value)))
    breaks = [index for index, place in enumerate(places) if not index or place != places[index - 1] + 1]
    offsets = Offsets(text.offsets.anchor, tuple(breaks), tuple(places[index] for index in breaks))
    return Text(text.span, "".join(characters), offsets, filled=True)


# `for each`


@dataclass(frozen=True)
class _Row:
    """Row of a table: its cells by column, and the place that messages name."""

    cells: Mapping[str, Name | Text]
    """A `Name` is what is written in a cell of a spec's table, and a `Text` the label of a value of an axis."""
    span: Span


def _written_out(program: Program, statements: list[Statement], memory: Memory | None) -> Iterator[Statement]:
    """Yield the statements with those of every `for each` in its place."""
    tables = {declared.name().text: declared for declared in reversed(statements) if declared.construct == "row_table"}
    values = {
        declared.name().text: declared for declared in reversed(statements) if declared.construct in ("axis", "arm")
    }
    known: dict[str, list[_Row]] = {}
    for name, table in tables.items():
        known[name] = _table_rows(program, table)
    for statement in statements:
        if statement.construct != "for_each":
            yield statement
            continue
        assert statement.block is not None
        match statement.syntax("elements"):
            case BinaryExpr(operator="in", left=Name() as variable, right=Name() as source):
                pass
            case other:
                help_ = "write `for each task in tasks { … }`, and `rows tasks { … }` with a row for each"
                message = "`for each` takes a name of your choice, `in`, and a table"
                program.diagnostics.error("E0106", message, other.span, help=help_)
                _lose(program, statement.block)
                continue
        if source.text in tables:
            program.index.use(source.span, tables[source.text].name().span)
            rows = known[source.text]
        elif source.text in values:
            program.index.use(source.span, values[source.text].name().span)
            rows = list(_value_rows(values[source.text]))
        else:
            _unknown(program, "table of rows, axis or arm", source, {*tables, *values}, f"rows {source.text} {{ … }}")
            _lose(program, statement.block)
            continue
        sources = (statement, tables.get(source.text) or values[source.text])
        repeat = partial(_repetitions, program, statement, variable, source, rows)
        yield from expanded_once(memory, program, sources, repeat)
        if not rows:
            _lose(program, statement.block)


def _lose(program: Program, block: Block) -> None:
    """Record that the declarations in a block are unknown."""
    source = block.span.source
    names = [name.text for entry in block.entries() for name in entry.elements[1:2] if isinstance(name, Name)]
    program.diagnostics.lose(Span(source, 0, len(source.text)), names)


def _entries(statement: Statement) -> Iterator[Entry]:
    return statement.block.entries() if statement.block is not None else iter(())


def _unknown(program: Program, what: str, name: Name, known: Iterable[str], declare: str) -> None:
    there = ", ".join(f"`{known_name}`" for known_name in sorted(known)[:8])
    help_ = suggest(name.text, known, f"there is {there}" if there else f"declare it: `{declare}`")
    program.diagnostics.error("E0201", f"there is no {what} `{name.text}`", name.span, help=help_, unknown=name.text)


def _table_rows(program: Program, table: Statement) -> list[_Row]:
    """Return the rows of a `rows` table; none if something is wrong with it."""
    attempt = program.diagnostics.attempt()
    written: list[TableRow] = []
    for entry in _entries(table):
        for element in entry.elements:
            if isinstance(element, TableRow):
                written.append(element)
            else:
                help_ = "write `| name | other |`, and below it a row of cells for each repetition"
                program.diagnostics.error("E0106", "`rows` takes rows of a table", element.span, help=help_)
    if len(written) < 2 and not attempt.failed:
        help_ = "write `| name | other |`, and below it a row of cells for each repetition"
        lacking = table.block.span if table.block is not None else None
        program.diagnostics.error("E0206", "this table has no rows", table.head, help=help_, lacking=lacking)
    header = written[0].cells if written else ()
    columns: dict[str, Name] = {}
    for column in header:
        if not column.text.isidentifier():
            help_ = "write letters, digits and underscores: `| name | title |`"
            program.diagnostics.error("E0106", "a column of `rows` needs a name", column.span, help=help_)
        elif columns.setdefault(column.text, column) is not column:
            label = Label(columns[column.text].span, "first written here")
            message = f"column `{column.text}` is written twice"
            program.diagnostics.error("E0202", message, column.span, label, help="rename one")
    for row in written[1:]:
        if len(row.cells) != len(header):
            message = f"this row has {len(row.cells)} cells, and the table {len(header)} columns"
            program.diagnostics.error("E0106", message, row.span, Label(written[0].span, "the columns"))
    if attempt.failed:
        return []
    return [
        _Row(dict(zip(columns, row.cells, strict=True)), row.cells[0].span if row.cells else row.span)
        for row in written[1:]
    ]


def _value_rows(statement: Statement) -> Iterator[_Row]:
    """Yield a row for each value of an axis or arm: its `name`, and its label in each language, or `label`."""
    for value in statement.body:
        if value.construct == "group":
            yield from _value_rows(value)
        else:
            labels = {"label" if language is None else language.text: text for language, text in value.labels()}
            yield _Row({**labels, "name": value.name()}, value.name().span)


class _Substitution:
    """Replacement of `variable.column` by the cells of a row."""

    def __init__(self, program: Program, variable: Name, source: Name, row: _Row) -> None:
        self.program, self.variable, self.source, self.row = program, variable, source, row
        self.copy = _Copy(Label(row.span, "in the repetition for this row"), self.change)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf'"(?:\\.|[^"\\])*"|(?<![\w.]){self.variable.text}\s*\.\s*(?P<column>[^\W\d]\w*)')

    def change(self, node: Node) -> Node | None:
        """Return the cell that a node names, or a string with the cells that its holes name."""
        match node:
            case Member(of=Name(text=text), name=column) if text == self.variable.text:
                return self._cell(column)
            case Text():
                filled = _with_holes(node, self._pattern, self._in_hole(node))
                return (
                    None
                    if filled is node
                    else replace(filled, span=self.copy.span(filled.span), offsets=self.copy.of(filled.offsets))
                )
        return None

    def _cell(self, column: Name) -> Node:
        cell = self._known(column.text, column.span)
        use = _Copy(Label(self.copy.span(column.span), f"the cell `{self.variable.text}.{column.text}` is put here"))
        if isinstance(cell, Text):
            return use.of(cell)
        parsed = None if cell is None else parse_cell(cell, self.program.diagnostics)
        return Name(self.copy.span(column.span), column.text) if parsed is None else use.of(parsed)

    def _in_hole(self, text: Text) -> Callable[[re.Match[str], bool], str | None]:
        def put(match: re.Match[str], alone: bool) -> str | None:
            cell = self._known(match["column"], text.stretch(*match.span("column")))
            if isinstance(cell, Name):
                return self._written(cell) if alone else self._operand(cell)
            if cell is None:
                return None
            return cell.value if alone else '"' + cell.value.replace("\\", "\\\\").replace('"', '\\"') + '"'

        return put

    def _written(self, cell: Name) -> str:
        """Return what a hole that holds a cell alone becomes: a text, a name or a number, else a hole again."""
        match parse_cell(cell, self.program.diagnostics):
            case Text(value=value):
                return value
            case Name() | Number():
                return cell.text
        return f"{{{{ {cell.text} }}}}"

    def _operand(self, cell: Name) -> str:
        """Return what a cell becomes in a larger expression: in parentheses, unless no operator can take it apart."""
        match parse_cell(cell, self.program.diagnostics):
            case Text() | Name() | Number() | Member() | CallExpr() | IndexExpr() | Group():
                return cell.text
        return f"({cell.text})"

    def _known(self, column: str, span: Span) -> Name | Text | None:
        cell = self.row.cells.get(column)
        if cell is None:
            there = ", ".join(f"`{name}`" for name in self.row.cells)
            message = f"`{self.source.text}` has no column `{column}`"
            help_ = suggest(column, self.row.cells, f"it has {there}")
            self.program.diagnostics.error("E0308", message, self.copy.span(span), help=help_)
        return cell


def _repetitions(
    program: Program, statement: Statement, variable: Name, source: Name, rows: Iterable[_Row]
) -> Iterator[Statement]:
    """Yield the declarations of a `for each` for every row."""
    for row in rows:
        yield from _repetition(program, statement, variable, source, row)


def _repetition(program: Program, statement: Statement, variable: Name, source: Name, row: _Row) -> Iterator[Statement]:
    """Yield the declarations of a `for each` for one row."""
    assert statement.block is not None
    substitution = _Substitution(program, variable, source, row)
    attempt = program.diagnostics.attempt()
    block = substitution.copy.of(statement.block)
    if attempt.failed:  # what lacks a cell means something else
        _lose(program, block)
        return
    yield from read_statements(block, program.diagnostics, REPEATED)
    if block.span in program.diagnostics.skipped_blocks:
        _lose(program, block)


# `like`

Key = tuple[str, str | None]
"""What makes two statements of a block namesakes: their first word, and the name that they declare, if any."""


def _key(statement: Statement) -> Key:
    return WORDS[statement.construct], declared_name(statement)


def _shown(key: Key) -> str:
    return f"`{key[0]}`" if key[1] is None else f"`{key[0]} {key[1]}`"


class _Inheritance:
    """Writing out of declarations that are `like` another one."""

    def __init__(self, program: Program, statements: list[Statement], memory: Memory | None) -> None:
        self.program, self.all, self.memory = program, statements, memory
        self.named: dict[Key, Statement] = {}
        for statement in statements:
            self.named.setdefault(_key(statement), statement)
        self.done: dict[int, Statement | None] = {}

    def statements(self) -> list[Statement]:
        """Return the statements, written out, without those that cannot be."""
        return [whole for statement in self.all if (whole := self._whole(statement, ())) is not None]

    def _whole(self, statement: Statement, chain: tuple[Statement, ...]) -> Statement | None:
        """Return a statement as if it were written out; None if something is wrong with its `like`, which is reported.

        `chain` are the declarations that are like this one.
        """
        if id(statement) not in self.done:
            self.done[id(statement)] = self._written_out(statement, chain)
        return self.done[id(statement)]

    def _written_out(self, statement: Statement, chain: tuple[Statement, ...]) -> Statement | None:
        name = statement.find_name("base")
        if statement.changes is not None:  # it was written out in the release that it comes from
            return statement
        if name is None:
            self._refuse_changes(statement)
            return statement
        word = WORDS[statement.construct]
        base = self.named.get((word, name.text))
        if base is None:
            own = declared_name(statement)
            known = [other for kind, other in self.named if kind == word and other is not None and other != own]
            _unknown(self.program, _noun(statement), name, known, f"{word} {name.text} {{ … }}")
            self._lose(statement)
            return None
        self.program.index.use(name.span, base.name().span)
        if base is statement or base in chain:
            circle = " → ".join(
                link.name().text
                for link in (*chain[chain.index(base) if base in chain else len(chain) :], statement, base)
            )
            message = f"`like` goes in a circle: {circle}"
            self.program.diagnostics.error(
                "E0203", message, name.span, help=f"write one of them out: `{word} … {{ … }}`"
            )
            self._lose(statement)
            return None
        whole = self._whole(base, (*chain, statement))
        if whole is None:
            self.program.diagnostics.follows()
            self._lose(statement)
            return None
        if statement.construct == "made_like" and whole.construct != "made":
            message = f"`{name.text}` is read from a file, and this data set names none"
            help_ = f'write `dataset {statement.name().text} from "…" like {name.text}`'
            self.program.diagnostics.error("E0301", message, name.span, help=help_)
            self._lose(statement)
            return None
        lost = self.program.diagnostics.skipped_blocks
        if whole.block is not None and whole.block.span in lost and statement.block is not None:
            lost.add(statement.block.span)
        [merged] = expanded_once(
            self.memory, self.program, (statement, whole), lambda: [self._merged(statement, whole)]
        )
        return merged

    def _lose(self, statement: Statement) -> None:
        """Record that a declaration is unknown, and may have been anything."""
        source = statement.span.source
        self.program.diagnostics.lose(Span(source, 0, len(source.text)), [statement.name().text])

    def _merged(self, statement: Statement, base: Statement) -> Statement:
        own, other = statement.name(), base.name()
        copy = _Copy(Label(own.span, f"in `{own.text}`, which is like `{other.text}`"), _renaming(base, own))
        copied = copy.of(base)
        inherited = [inner for inner in copied.body if inner.construct not in NOT_INHERITED]
        merge = _Merge(self.program, statement, base, inherited)
        statement = replace(statement, body=merge.body(), changes=merge.changes())
        if statement.construct == "made_like":
            return replace(statement, construct=base.construct, values={**copied.values, "name": own})
        return statement

    def _refuse_changes(self, statement: Statement) -> None:
        for inner in statement.body:
            if inner.construct in ADDITIONS | OMISSIONS:
                noun = _noun(statement)
                message = f"`{WORDS[inner.construct]}` changes what is inherited, and this {noun} is like no other"
                help_ = f"write `{WORDS[statement.construct]} {declared_name(statement)} like … {{ … }}`, or remove it"
                self.program.diagnostics.error("E0107", message, inner.head, help=help_)


def _renaming(base: Statement, own: Name) -> Callable[[Node], Node | None]:
    """Return the change by which a data set that names itself names its copy."""
    if base.construct != "made":
        return lambda node: None
    old = base.name().text
    pattern = re.compile(rf'"(?:\\.|[^"\\])*"|(?<![\w.]){old}(?=\s*\.)')
    copy = _Copy(Label(own.span))

    def change(node: Node) -> Node | None:
        match node:
            case Member(of=Name(text=text, span=span), name=field) if text == old:
                return Member(copy.span(node.span), Name(copy.span(span), own.text), copy.of(field))
            case Text():
                renamed = _with_holes(node, pattern, lambda match, alone: own.text)
                return None if renamed is node else copy.of(renamed)
        return None

    return change


class _Merge:
    """Body of a declaration that is `like` another one."""

    def __init__(self, program: Program, statement: Statement, base: Statement, inherited: list[Statement]) -> None:
        self.program, self.statement, self.base = program, statement, base
        self.kept: list[tuple[Key, Statement]] = [(_key(statement), statement) for statement in inherited]
        self.replaced: dict[Key, None] = {}
        self.added: dict[Key, None] = {}
        self.left_out: dict[Key, None] = {}

    def changes(self) -> Changes:
        """Return the changes that `body` made."""
        replaced, added, left_out = (
            tuple(_shown(key).strip("`") for key in keys) for keys in (self.replaced, self.added, self.left_out)
        )
        return Changes(self.base.name().text, replaced, added, left_out)

    @property
    def _title(self) -> str:
        return f"{_noun(self.base)} `{self.base.name().text}`"

    def body(self) -> tuple[Statement, ...]:
        """Return the inherited statements with the changes. Reports changes of what is not there."""
        waiting: list[tuple[Key, Statement]] = []
        there = {key for key, _ in self.kept}
        for inner in self.statement.body:
            key = _key(inner)
            if inner.construct in OMISSIONS:
                self._remove(inner, there)
            elif inner.construct in ADDITIONS:
                waiting += self._added(inner, there)
            elif key in self.replaced:
                places = (place for place, (other, _) in enumerate(self.kept) if other == key)
                self.kept.insert(max(places, default=len(self.kept)) + 1, (key, inner))
            elif key in there:
                place = next((place for place, (other, _) in enumerate(self.kept) if other == key), len(self.kept))
                self.kept[:] = [*self.kept[:place], (key, inner), *(one for one in self.kept[place:] if one[0] != key)]
                self.replaced[key] = None
                if key[1] is not None:
                    self.kept[place:place] = waiting
                    waiting = []
            elif inner.construct in NOT_INHERITED:
                waiting.append((key, inner))
            else:
                self._nothing_to_replace(inner, key, there)
        return tuple(statement for _, statement in (*self.kept, *waiting))

    def _remove(self, inner: Statement, there: set[Key]) -> None:
        word, name = inner.name("statement"), inner.find_name("name")
        gone = {key for key in there if key[0] == word.text and (name is None or key[1] == name.text)}
        if not gone:
            key = (word.text, None if name is None else name.text)
            message = f"{self._title} has no {_shown(key)} to leave out"
            self.program.diagnostics.error(
                "E0201", message, (name or word).span, self._where(), help=self._help(key, there)
            )
        self.left_out |= dict.fromkeys(sorted(gone, key=str))
        self.kept[:] = [one for one in self.kept if one[0] not in gone]

    def _added(self, inner: Statement, there: set[Key]) -> Iterator[tuple[Key, Statement]]:
        once = {construct.name for construct in CONSTRUCTS if construct.once}
        for added in inner.body:
            key = _key(added)
            same = [
                kept
                for other, kept in self.kept
                if other == key and (key[1] is not None or kept.construct == added.construct)
            ]
            if key in there and (key[1] is not None or (added.construct in once and same)):
                earlier = next(iter(same), self.base)
                message = f"{self._title} has {_shown(key)} already"
                help_ = "write it outside of `add`, where it replaces the other"
                if key[1] is not None:
                    help_ = "write it outside of `add`, where it replaces the other, or rename it"
                self.program.diagnostics.error(
                    "E0202", message, added.head, Label(earlier.head, "inherited"), help=help_
                )
                continue
            self.added[key] = None
            yield key, added

    def _nothing_to_replace(self, inner: Statement, key: Key, there: set[Key]) -> None:
        message = f"{self._title} has no {_shown(key)} that this could replace"
        help_ = self._help(key, there)
        if help_.endswith("?"):
            help_ = f"{help_} A new statement goes into `add {{ … }}`"
        else:
            help_ = f"{help_}; a new statement goes into `add {{ … }}`"
        self.program.diagnostics.error("E0201", message, inner.head, self._where(), help=help_)

    def _where(self) -> Label:
        return Label(self.base.head, "`like` names this")

    def _help(self, key: Key, there: set[Key]) -> str:
        word, name = key
        names = [other for kind, other in there if kind == word and other is not None]
        if name is not None and (close := nearest(name, names)) is not None:
            return f"did you mean `{word} {close}`?"
        words = sorted({_shown(other) for other in there if not names or other[0] == word})
        return f"it has {', '.join(words[:12])}"
