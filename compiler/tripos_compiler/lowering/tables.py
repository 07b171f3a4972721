"""Lowering of `table`: its keys, its figures, the values it shows, and published figures beside them.

A line of a table is a figure, which is lowered like a measure that goes by the keys. What else the figure goes by is
spread over further lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import constructs_in
from tripos_compiler.diagnostics.diagnostic import Diagnostics, suggest
from tripos_compiler.language.figures import is_pooled
from tripos_compiler.language.intervals import format_bounds
from tripos_compiler.library.ranges import Interval
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.lowering.measures.dimensions import check_own_line
from tripos_compiler.lowering.measures.figures import members_of, read_whole
from tripos_compiler.lowering.measures.measures import (
    better_direction,
    bounds_of,
    is_expected_of_people,
    read_measures,
)
from tripos_compiler.lowering.measures.typed_figures import (
    FigureContext,
    TypedFigure,
    find_cells,
    inherited_facets,
)
from tripos_compiler.lowering.requests import count_of
from tripos_compiler.plan import Labels, Measure, Measured, PublishedRow, ResultTable, TableFigure, TableValue, line_key
from tripos_compiler.resolve.program import Index, Program
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.tree import Name, Number, Syntax, TableRow, Text, describe_syntax, dimension_text

MODEL = "model"
"""The key that every table may have in addition to dimensions."""
EVALUATOR, PAIR = "evaluator", "pair"
CLAUSES = tuple(constructs_in("table"))
SIGNIFICANCE = 0.05
"""Level at which `mark significant` tests by default, as boards do."""
HOLES = ("", ".", "-", "—")
"""Cells of published figures without a number, or without a value of a key."""
NO_KEY = "—"
"""A key without a value, such as the model of a figure of all models."""
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class _Line:
    """A lowered figure of a table with its dimensions, and the statement that shows it."""

    figure: TableFigure
    typed_figure: TypedFigure
    statement: Statement

    @property
    def dimensions(self) -> tuple[str, ...]:
        """All dimensions of the figure."""
        return self.figure.measure.by


def lower_tables(program: Program) -> None:
    """Lower every `table`. Call it after the measures are lowered."""
    statements = program.of("table")
    if not statements:
        return
    reading = replace(read_measures(program, silent=True), program=program)
    for statement in statements:
        table = _table(reading, statement)
        if table is not None:
            program.tables.setdefault(table.name, table)


def _table(reading: FigureContext, statement: Statement) -> ResultTable | None:
    """Lower a table. Reports mistakes and returns None."""
    name = statement.name()
    reading.program.index.define("table", name.text, name.span)
    keys = _keys(reading, statement)
    if keys is None:
        return None
    transposed = keys.construct == "column_keys"
    figures = statement.of("figure_row" if transposed else "figure_column")
    if not figures:
        word, other = ("row", "columns") if transposed else ("column", "rows")
        message = f"table `{name.text}` shows no figure"
        help_ = f"write `{word} MEASURE` beside its `{other}`"
        lacking = statement.block.span if statement.block is not None else None
        reading.program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    lines = [_line(reading, figure, keys) for figure in figures]
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return None
    key_names = tuple(dict.fromkeys(dimension_text(syntax) for syntax in keys.many("dims")))
    values = _values(reading, statement, key_names, known)
    short = _short(reading, statement, key_names, known)
    group = _group(reading, statement, known)
    points = statement.one_of("points")
    fits = points is None or all([_fits_points(reading, line) for line in known])  # noqa: C419 - report every one
    notes = [reading.program.labels(note, "the note") for note in statement.of("note")]
    digits, marked = _count(reading, statement.one_of("digits"), None), _count(reading, statement.one_of("mark"), 0)
    reference = _reference(reading, statement, key_names, known, values or {})
    level = _level(reading, statement, key_names, known)
    if (
        values is None
        or short is None
        or group is None
        or not fits
        or None in notes
        or reference is False
        or level is False
    ):
        return None
    table = ResultTable(
        name=name.text,
        keys=key_names,
        figures=tuple(line.figure for line in known),
        transposed=transposed,
        group=group or None,
        values=values,
        short=short,
        digits=digits,
        points=points is not None,
        marked=marked or 0,
        reference=reference,
        beside=reference is not None and statement.of("differences")[0].has("beside"),
        level=level,
        notes=tuple(note for note in notes if note is not None),
    )
    published = statement.one_of("published")
    return table if published is None else _with_published(reading, table, published, known)


def _count(reading: FigureContext, statement: Statement | None, default: int | None) -> int | None:
    """Return the number in a statement, 1 if it has none; `default` without a statement."""
    if statement is None:
        return default
    return 1 if statement.find("count") is None else count_of(reading.program, statement)


# Differences


def _reference(
    reading: FigureContext,
    statement: Statement,
    keys: Sequence[str],
    lines: Sequence[_Line],
    values: Mapping[str, Sequence[TableValue]],
) -> str | Literal[False] | None:
    """Return the value of the last key from which a table shows differences, None without one; False if there is no
    such value or no such difference, which is reported."""
    written = statement.one_of("differences")
    if written is None:
        return None
    key, node = keys[-1], written.syntax("value")
    word = node.text if isinstance(node, Name) else node.value if isinstance(node, Text) else None
    if word is None:
        help_ = 'write `differences from "MODEL"`' if key == MODEL else f"name a value of `{key}`"
        reading.error("E0301", f"{describe_syntax(node)} is no value of `{key}`", node.span, help_)
        return False
    known = [value.name for value in values[key]] if key in values else _members(reading, key, lines)
    if known is not None and word not in known:
        some = ", ".join(f"`{member}`" for member in known[:8])
        help_ = suggest(word, known, f"differences are from a value of the last key: {some}")
        reading.error("E0201", f"this table shows no `{key}` that is called `{word}`", node.span, help_, word)
        return False
    return word if all([_has_difference(reading, line, key) for line in lines]) else False  # noqa: C419 - report every one


def _level(
    reading: FigureContext, statement: Statement, keys: Sequence[str], lines: Sequence[_Line]
) -> float | Literal[False] | None:
    """Return the level of the tests behind marks, None without them; False if nothing can be tested, which is
    reported."""
    written = statement.one_of("mark_significant")
    if written is None:
        return None
    if keys[-1] != MODEL:
        message = f"`mark significant` compares models, and the last key of this table is `{keys[-1]}`"
        reading.error("E0621", message, written.head, f"make `{MODEL}` the last key, or leave it out")
        return False
    node = written.find("number")
    level = float(node.value) if isinstance(node, Number) else SIGNIFICANCE
    if not 0 < level < 1:
        assert node is not None
        reading.error("E0301", "a level of significance is between 0 and 1", node.span, "write `at 0.05`")
        return False
    return level if all([_has_difference(reading, line, MODEL) for line in lines]) else False  # noqa: C419 - report every one


def _has_difference(reading: FigureContext, line: _Line, key: str) -> bool:
    """Return true if a figure has a difference between two values of a key; otherwise report it."""
    measure, span = line.figure.measure, line.statement.syntax("value").span
    if PAIR in measure.by and EVALUATOR in (*line.figure.spread, key):
        reading.error(
            "E0621", f"`{measure.name}` is a matrix, which has no differences", span, "leave `differences` out"
        )
    elif key == MODEL and is_pooled(measure.figure, _measures(reading)):
        message = f"`{measure.name}` is one figure of all models, so that no two differ"
        reading.error("E0621", message, span, "move it to a table without differences")
    elif key != MODEL and measure.random:
        message = f"`{measure.name}` takes {' and '.join(measure.random)} as a sample, and a difference of rows cannot"
        help_ = "show the same mean without `as sample`, or leave `differences` out"
        reading.error("E0621", message, span, help_)
    elif key == "metric" and line.typed_figure.mixed:
        message = f"the metrics of `{measure.name}` are on different scales, so their difference means nothing"
        reading.error("E0702", message, span, "put `metric` before another key, or leave `differences` out")
    else:
        return True
    return False


# Keys and figures


def _keys(reading: FigureContext, statement: Statement) -> Statement | None:
    """Return the `rows` or `columns` of a table. Reports mistakes and returns None."""
    sides = [*statement.of("row_keys"), *statement.of("column_keys")]
    diagnostics = reading.program.diagnostics
    if not sides:
        lacking = statement.block.span if statement.block is not None else None
        message = f"table `{statement.name().text}` does not say what its rows are"
        help_ = "write `rows model`, and a `column` for each figure"
        diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    if len(sides) > 1:
        help_ = "leave out one: a `column` has one column for each value that only its figure goes by"
        diagnostics.error("E0202", "a table has `rows` or `columns`, and not both", sides[1].head, help=help_)
        return None
    [keys] = sides
    word, wrong = ("column", "figure_row") if keys.construct == "row_keys" else ("row", "figure_column")
    stray = statement.one_of(wrong)
    if stray is not None:
        side = "rows" if keys.construct == "row_keys" else "columns"
        message = f"the {side} of this table are values of {', '.join(map(dimension_text, keys.many('dims')))}"
        diagnostics.error("E0106", message, stray.head, help=f"write `{word} …` for a figure")
        return None
    return keys if check_own_line(reading.program, keys.many("dims"), CLAUSES) else None


def _line(base: FigureContext, statement: Statement, keys: Statement) -> _Line | None:
    """Lower a figure of a table. Reports mistakes and returns None."""
    program, value = base.program, statement.syntax("value")
    own = statement.many("dims")
    if not check_own_line(program, own, CLAUSES):
        return None
    key_nodes = [syntax for syntax in keys.many("dims") if dimension_text(syntax) != MODEL]
    key_names = [dimension_text(syntax) for syntax in keys.many("dims")]
    pairs = EVALUATOR in key_names and _goes_by_pairs(base, value, own)
    if pairs:
        key_nodes = [syntax for syntax in key_nodes if dimension_text(syntax) != EVALUATOR]
    reading = replace(base, dimensions=(*key_nodes, *own), terms=[], missing=None)
    figured = read_whole(reading, value)
    if figured is None:
        return None
    if reading.missing is not None:
        help_ = "declare `measure NAME = …` with it, and show that"
        reading.error("E0303", "`missing` is said of a measure", value.span, help_)
        return None
    if not figured.leaves:
        reading.error("E0301", "this measures nothing", value.span, "show a measure or an aggregate")
        return None
    if MODEL not in key_names and not is_pooled(figured.figure, _measures(reading)):
        message = f"`{figured.named}` has a value for each model, and the table has no `{MODEL}`"
        help_ = f"write `{'rows' if keys.construct == 'row_keys' else 'columns'} {MODEL}, …`"
        reading.error("E0621", message, value.span, help_)
        return None
    by = find_cells(reading, figured)
    corrected = is_expected_of_people(reading, value, figured)
    random = inherited_facets(reading, value, figured)
    title = _title(program, statement, "the heading")
    if by is None or corrected is None or random is None or title is None:
        return None
    group = statement.values.get("string")
    figure = TableFigure(
        measure=_measure(reading, statement, figured, by, corrected, random),
        title=title,
        group=group.value if isinstance(group, Text) else None,
        spread=tuple(EVALUATOR if pairs and dim == PAIR else dim for dim in by if dim not in key_names),
    )
    return _Line(figure, figured, statement)


def _goes_by_pairs(base: FigureContext, value: Syntax, own: Sequence[Syntax]) -> bool:
    """Return true if a figure goes by the pairs of evaluators: in a table of evaluators it is then a matrix."""
    if any(dimension_text(syntax) == PAIR for syntax in own):
        return True
    silent = replace(base.program, diagnostics=Diagnostics(), index=Index())
    figured = read_whole(replace(base, program=silent, terms=[], missing=None), value)
    return figured is not None and PAIR in figured.cells


def _measures(reading: FigureContext) -> dict[str, Measure]:
    return {name: lowered.measure for name, lowered in reading.measures.items()}


def _measure(
    reading: FigureContext,
    statement: Statement,
    figured: TypedFigure,
    by: tuple[str, ...],
    corrected: bool,
    random: tuple[str, ...],
) -> Measure:
    """Return the measure of a figure: one of the spec that has these dimensions, or one of the table alone."""
    if isinstance(figured.figure, Measured) and not figured.figure.slice:
        named = reading.measures[figured.figure.measure].measure
        if set(named.by) == set(by):
            return named
    better = better_direction(statement, figured)
    low, high = bounds_of(figured)
    return Measure(
        name=statement.syntax("value").span.excerpt,
        by=by,
        low=low,
        high=high,
        lower_is_better=better == "lower",
        higher_is_better=better == "higher",
        corrected=corrected,
        random=random,
        figure=figured.figure,
    )


def _fits_points(reading: FigureContext, line: _Line) -> bool:
    """Return true if a figure lies between -1 and 1; otherwise report it."""
    low, high = line.figure.measure.low, line.figure.measure.high
    if low is not None and high is not None and low >= -1 and high <= 1:
        return True
    message = f"`{line.figure.measure.name}` does not lie between -1 and 1"
    help_ = "`points` is for shares and their differences: leave it out"
    reading.error("E0702", message, line.statement.syntax("value").span, help_)
    return False


# Values and headings


def _title(program: Program, statement: Statement, what: str) -> Labels | None:
    """Return the title in each language, empty without one; None if one is missing, which is reported."""
    if not statement.labels():
        return {}
    texts = program.localised(statement.labels(), statement.head, what, for_readers=True)
    return None if texts is None else {language: text.value for language, text in texts.items()}


def _values(
    reading: FigureContext, statement: Statement, keys: Sequence[str], lines: Sequence[_Line]
) -> dict[str, tuple[TableValue, ...]] | None:
    """Return the values that a table chooses, by dimension. Reports mistakes and returns None."""
    values: dict[str, tuple[TableValue, ...]] = {}
    good = True
    for chosen in statement.of("table_values"):
        syntax = chosen.syntax("dims")
        dimension = dimension_text(syntax)
        if dimension in values:
            reading.error("E0202", f"the values of `{dimension}` are given twice", syntax.span, "merge the two")
            good = False
        elif _is_shown(reading, syntax, keys, lines):
            listed = _listed(reading, chosen, dimension, lines)
            good = good and listed is not None
            values[dimension] = listed or ()
        else:
            good = False
    return values if good else None


def _listed(
    reading: FigureContext, chosen: Statement, dimension: str, lines: Sequence[_Line]
) -> tuple[TableValue, ...] | None:
    members = _members(reading, dimension, lines)
    values: dict[str, TableValue] = {}
    good = bool(chosen.body)
    if not chosen.body:
        reading.error("E0206", f"no value of `{dimension}` is shown", chosen.head, "list some, or leave it out")
    for entry in chosen.body:
        node = entry.syntax("name" if entry.construct == "named_value" else "string")
        word = node.text if isinstance(node, Name) else node.value if isinstance(node, Text) else ""
        title = _title(reading.program, entry, f"`{word}`")
        if word in values:
            reading.error("E0202", f"`{word}` is listed twice", node.span, "remove one")
            good = False
        elif members is not None and word not in members:
            some = ", ".join(f"`{member}`" for member in members[:8])
            help_ = suggest(word, members, f"its values are {some}")
            reading.error("E0201", f"`{dimension}` has no value `{word}`", node.span, help_, word)
            good = False
        elif title is None:
            good = False
        values[word] = TableValue(name=word, title=title or {})
    return tuple(values.values()) if good else None


def _members(reading: FigureContext, dimension: str, lines: Sequence[_Line]) -> Sequence[str] | None:
    """Return the values of a dimension; None if they are known only in a run."""
    if dimension == MODEL:
        return None
    leaves = [leaf for line in lines if dimension in line.dimensions for leaf in line.typed_figure.leaves]
    return members_of(reading, dimension, [leaf.groupable for leaf in leaves])


def _is_shown(reading: FigureContext, syntax: Syntax, keys: Sequence[str], lines: Sequence[_Line]) -> bool:
    """Return true if a dimension is a key of the table, or a figure goes by it; otherwise report it."""
    dimension = dimension_text(syntax)
    shown = list(dict.fromkeys([*keys, *(dim for line in lines for dim in line.dimensions)]))
    if dimension in shown:
        return True
    help_ = suggest(dimension, shown, f"it shows {', '.join(f'`{name}`' for name in shown)}")
    reading.error("E0621", f"this table shows no `{dimension}`", syntax.span, help_)
    return False


def _short(
    reading: FigureContext, statement: Statement, keys: Sequence[str], lines: Sequence[_Line]
) -> tuple[str, ...] | None:
    written = statement.one_of("short")
    if written is None:
        return ()
    nodes = written.many("dims")
    if not check_own_line(reading.program, nodes, CLAUSES):
        return None
    known = [_is_shown(reading, syntax, keys, lines) for syntax in nodes]
    return tuple(dict.fromkeys(map(dimension_text, nodes))) if all(known) else None


def _group(reading: FigureContext, statement: Statement, lines: Sequence[_Line]) -> str | None:
    """Return the dimension by which lines are grouped, empty without one. Reports a mistake and returns None."""
    written = statement.one_of("line_group")
    if written is None:
        return ""
    dimension = dimension_text(written.syntax("dims"))
    spread = list(dict.fromkeys(name for line in lines for name in line.figure.spread))
    if dimension in spread:
        return dimension
    known = ", ".join(f"`{name}`" for name in spread)
    help_ = suggest(dimension, spread, f"its figures have lines for {known}" if spread else "leave it out")
    reading.error("E0621", f"no figure of this table has lines for `{dimension}`", written.syntax("dims").span, help_)
    return None


# Published figures


def _with_published(
    reading: FigureContext, table: ResultTable, statement: Statement, lines: Sequence[_Line]
) -> ResultTable | None:
    """Return a table with published figures. Reports mistakes and returns None."""
    title = _title(reading.program, statement, "the heading")
    rows = list(_table_rows(reading, statement))
    if title is None or not _is_complete(reading, table, statement, rows):
        return None
    header, *body = rows
    width = 1 if table.transposed else len(table.keys)
    headings = [row.cells[0] for row in body] if table.transposed else header.cells[width:]
    names = {cell.text: _line_of(reading, table, cell, lines) for cell in headings}
    published: dict[tuple[str, ...], dict[str, float]] = {}
    good = None not in names.values() and _are_different(reading, table, names, headings, header, body)
    for row in body:
        labels = tuple(NO_KEY if cell.text in HOLES else cell.text for cell in row.cells[:width])
        for heading, cell in zip(header.cells[width:], row.cells[width:], strict=True):
            keys, line = ((heading.text,), names[labels[0]]) if table.transposed else (labels, names[heading.text])
            number = _number(reading, table, line, cell)
            good = good and number is not False
            if line is not None and number is not None and number is not False:
                published.setdefault(keys, {})[line[0]] = number
    if not good:
        return None
    published_rows = tuple(PublishedRow(keys=keys, figures=figures) for keys, figures in published.items())
    return table.model_copy(update={"published": published_rows, "published_title": title})


def _table_rows(reading: FigureContext, statement: Statement) -> Iterator[TableRow]:
    assert statement.block is not None
    for entry in statement.block.entries():
        for element in entry.elements:
            if isinstance(element, TableRow):
                yield element
            else:
                reading.error("E0106", "this is not a table row", element.span, "every line is `| model | 0.5 |`")
                break


def _is_complete(reading: FigureContext, table: ResultTable, statement: Statement, rows: Sequence[TableRow]) -> bool:
    """Return true if published figures have a header, rows, and a cell in each row for every column."""
    names = " | ".join(["figure"] if table.transposed else table.keys)
    if len(rows) < 2:
        help_ = f"write `| {names} | COLUMN |` and a row for each that was published"
        reading.error("E0206", "no published figures are listed", statement.head, help_)
        return False
    if table.transposed and len(table.keys) > 1:
        help_ = "put the keys into `rows`"
        reading.error("E0621", "published columns have one key", statement.head, help_)
        return False
    for row in rows[1:]:
        if len(row.cells) != len(rows[0].cells):
            message = f"this row has {len(row.cells)} cells, and the first one {len(rows[0].cells)}"
            reading.error("E0202", message, row.span, "write `.` for a figure that was not published")
            return False
    return True


def _are_different(
    reading: FigureContext,
    table: ResultTable,
    lines: Mapping[str, tuple[str, Measure] | None],
    headings: Sequence[Name],
    header: TableRow,
    body: Sequence[TableRow],
) -> bool:
    """Return true if no two published rows, and no two published columns, are of the same values or the same line;
    otherwise report it."""
    one, other = ("row", "column") if table.transposed else ("column", "row")
    shown: list[tuple[str, tuple[str, ...], Name]] = []
    for cell in headings:
        line = lines[cell.text]
        shown.append((one, (cell.text,) if line is None else (line[0],), cell))
    if table.transposed:
        shown += [(other, (cell.text,), cell) for cell in header.cells[1:]]
    else:
        shown += [(other, tuple(cell.text for cell in row.cells[: len(table.keys)]), row.cells[0]) for row in body]
    first: dict[tuple[str, tuple[str, ...]], Name] = {}
    for word, key, cell in shown:
        if first.setdefault((word, key), cell) is not cell:
            text = cell.text if word == one else ", ".join(key)
            message = f"`{text}` has two columns of published figures"
            message = f"`{text}` has two rows of published figures" if word == "row" else message
            reading.error("E0202", message, cell.span, "remove one")
            return False
    return True


def _matches(
    reading: FigureContext, table: ResultTable, label: str, lines: Sequence[_Line]
) -> list[tuple[str, Measure]]:
    """Return the lines of a table that a published heading can mean, by key, with their measures. `GROUP: HEADING` also
    names a line."""
    return [
        (line_key(figure, values), figure.measure)
        for figure in table.figures
        for values in _spread_values(reading, table, figure, label.split(": "), lines)
    ]


def _spread_values(
    reading: FigureContext, table: ResultTable, figure: TableFigure, parts: list[str], lines: Sequence[_Line]
) -> Iterator[tuple[str, ...]]:
    """Yield the values of the spread dimensions of a figure that the parts of a heading name, if they name it."""
    named = [*figure.title.values(), figure.measure.name]
    if len(parts) > max(1, len(figure.spread)) and parts[0] in (figure.group, *named):
        parts = parts[1:]
    if not figure.spread:
        if ": ".join(parts) in named:
            yield ()
    elif len(parts) == len(figure.spread):
        values = [_value(reading, table, name, part, lines) for name, part in zip(figure.spread, parts, strict=True)]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            yield tuple(known)


def _value(
    reading: FigureContext, table: ResultTable, dimension: str, label: str, lines: Sequence[_Line]
) -> str | None:
    """Return the value of a dimension that a table calls `label`; None if it has none of that name."""
    if dimension in table.values:
        values = table.values[dimension]
        return next((value.name for value in values if label in (*value.title.values(), value.name)), None)
    members = _members(reading, dimension, lines)
    return label if members is None or label in members else None


def _line_of(
    reading: FigureContext, table: ResultTable, cell: Name, lines: Sequence[_Line]
) -> tuple[str, Measure] | None:
    """Return the key and measure of the line that a published heading names. Reports a mistake and returns None."""
    matches = _matches(reading, table, cell.text, lines)
    word = "row" if table.transposed else "column"
    if len(matches) > 1:
        help_ = f"write the heading above it too: `GROUP: {cell.text}`"
        reading.error("E0202", f"several {word}s of this table are called `{cell.text}`", cell.span, help_)
        return None
    if not matches:
        names = [
            next(iter(figure.title.values()), figure.measure.name) for figure in table.figures if not figure.spread
        ]
        names += [value.name for figure in table.figures for value in table.values.get((*figure.spread, "")[-1], ())]
        help_ = suggest(cell.text, names, f"it has {', '.join(f'`{name}`' for name in names)}")
        reading.error("E0201", f"this table has no {word} `{cell.text}`", cell.span, help_, cell.text)
        return None
    return matches[0]


def _number(
    reading: FigureContext, table: ResultTable, line: tuple[str, Measure] | None, cell: Name
) -> float | Literal[False] | None:
    """Return a published figure; None for a hole, and False for what is no number on the scale of its line, which is
    reported."""
    if cell.text in HOLES:
        return None
    number = float(cell.text) if NUMBER.fullmatch(cell.text) else math.inf
    if not in_bounds(number):
        help_ = "write `.` for a figure that was not published"
        reading.error("E0301", f"`{cell.text}` is no number", cell.span, help_)
        return False
    if line is None or line[1].low is None or line[1].high is None:
        return number
    unit = 100 if table.points else 1
    ends = Interval(line[1].low * unit, line[1].high * unit)
    if ends.low <= number <= ends.high:
        return number
    message = f"`{cell.text}` is not on the scale of `{line[1].name}`, which runs from {format_bounds(ends)}"
    reading.error("E0301", message, cell.span, "write it in the unit that the table shows")
    return False
