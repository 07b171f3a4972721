"""One table and one notation: numbers, intervals and tables are written by `tables`, and nowhere else."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from tests.latex_tables import read_tables
from tests.sources import ROOT, modules, name_of, tree_of
from tripos_warehouse.statistics.estimate import JSON_FIELDS, Estimate
from tripos_warehouse.tables.data import table_json
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.render import RENDERERS, RenderOptions
from tripos_warehouse.tables.text import counts_note, lay_out, table_lines
from tripos_warehouse.tables.values import Interval, Range

PARTS = ("tripos", "warehouse/tripos_warehouse")
HOME = ROOT / "warehouse/tripos_warehouse/tables"
MARKUP = re.compile(r"\|\s*:?-{2,}:?\s*\||\\toprule|\\begin\{tabular\}|<t[dhr][ >]")
"""The rule below the heading of a Markdown table, and the markup of tables in LaTeX and HTML."""
GRIDS = {"TextColumn", "grid", "_heading_and_rows", "fit"}
LIBRARIES = ("rich.table", "tabulate", "prettytable")


def texts(parts: list[ast.expr]) -> list[str | None]:
    """Return the constant parts of an f-string, and None for each value in it."""
    return [part.value if isinstance(part, ast.Constant) else None for part in parts]  # type: ignore[misc]


def is_interval(parts: list[str | None]) -> bool:
    """Return true if an f-string writes two numbers as an interval, or a number with its half-width."""
    padded = ["", *parts, ""]
    for before, first, between, second, after in zip(*(padded[at:] for at in range(5)), strict=False):
        if first is None and second is None and between is not None:
            ends = (before or "")[-1:] + between + (after or "")[:1]
            if between.strip() in ("–", "±") or ends in ("[, ]", "( to )"):
                return True
    return False


def is_padded(part: ast.expr) -> bool:
    """Return true for a value that is padded to a width, as in a hand-made column."""
    if not isinstance(part, ast.FormattedValue):
        return False
    if isinstance(part.value, ast.Call) and ast.unparse(part.value.func).rpartition(".")[2] in (
        "pad",
        "ljust",
        "rjust",
    ):
        return True
    inner = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    return any(isinstance(each, ast.FormattedValue) for each in inner) and bool(
        re.search("[<>^]", "".join(each.value for each in inner if isinstance(each, ast.Constant)))  # type: ignore[misc]
    )


def violations(tree: ast.Module) -> Iterator[str]:
    """Yield what a module writes by itself: an interval, a table in some markup, or padded columns."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.JoinedStr(values=values):
                if is_interval(texts(values)):
                    yield f"{line}: an interval: {ast.unparse(node)[:80]}"
                if sum(map(is_padded, values)) > 1:
                    yield f"{line}: padded columns: {ast.unparse(node)[:80]}"
            case ast.ImportFrom(module=module, names=names):
                if module in LIBRARIES or ("tables.text" in (module or "") and {each.name for each in names} & GRIDS):
                    yield f"{line}: a table of its own: {ast.unparse(node)}"
            case ast.Constant(value=str() as text) if MARKUP.search(text):
                if not is_docstring(node, tree):
                    yield f"{line}: markup of a table: {text[:60]!r}"


def is_docstring(node: ast.Constant, tree: ast.Module) -> bool:
    """Return true for the documentation of something."""
    return any(isinstance(each, ast.Expr) and each.value is node for each in ast.walk(tree))


def test_no_module_writes_an_interval_or_a_table_by_itself() -> None:
    found = [
        f"{name_of(path)}:{each}"
        for path in modules(*PARTS)
        if HOME not in path.parents
        for each in violations(tree_of(path))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        'f"{low:.2f} – {high:.2f}"',
        'f"{value} ({low}–{high})"',
        'f"({low:g} to {high:g})"',
        'f"{value} [{low}, {high}]"',
        'f"{value} ±{half}"',
        'f"{name:<{width}}  {count:>{room},}"',
        'f"{pad(a, 3)} {pad(b, 4)}"',
        "lines = ['| a | b |', '| --- | ---: |']",
        "x = '<tr><td>'",
        "from tripos_warehouse.tables.text import TextColumn, grid",
        "from rich.table import Table",
    ],
)
def test_the_search_finds_every_former_notation(code: str) -> None:
    assert list(violations(ast.parse(code)))


# The formats of a table
NUMBERS = st.floats(-1e6, 1e6) | st.none()


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    """Draw an estimate with an interval, without one, or without a value."""
    value = draw(NUMBERS)
    if value is None or draw(st.booleans()):
        return Estimate(value, "no items")
    below, above = draw(st.floats(0, 1e3)), draw(st.floats(0, 1e3))
    return Estimate(value, low=value - below, high=value + above, method="t")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a table with labels, values of models in groups, counts, emphasis and sentences between rows."""
    rows = draw(st.integers(1, 4))

    def cells(of: st.SearchStrategy[object]) -> tuple[object, ...]:
        return tuple(draw(of) for _ in range(rows))

    def text() -> st.SearchStrategy[str]:
        return st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)

    values = [
        Column(
            f"model{place}",
            cells(estimates()),  # type: ignore[arg-type]
            "number",
            heading=f"lab/model-{place}",
            is_name=True,
            group=draw(st.sampled_from([None, "first", "second"])),
            emphasis={draw(st.integers(0, rows - 1)): draw(st.sampled_from([1, 2]))},
            signed=draw(st.booleans() | st.just(frozenset({0}))),
            p_values=draw(st.dictionaries(st.integers(0, rows - 1), st.floats(0, 1), max_size=2)),
            level=draw(st.sampled_from([0.01, 0.05])),
        )
        for place in range(draw(st.integers(1, 4)))
    ]
    return Table(
        (
            Column("label", cells(text()), hides_repeats=True),  # type: ignore[arg-type]
            *values,
            Column(
                "n", cells(st.integers(0, 10**6) | st.builds(Range, st.just(1), st.just(5))), "count", is_count=True
            ),  # type: ignore[arg-type]
        ),
        "drawn",
        "A caption",
        ("a note",),
        marks=("the best", "the second best"),
        tested="differs from the first",
        separators={draw(st.integers(0, rows)): ("another meaning",)},
        totals=frozenset(draw(st.sets(st.integers(0, rows - 1), max_size=1))),
    )


@given(tables(), st.integers(24, 160))
def test_no_line_of_a_table_is_wider_than_the_terminal(table: Table, width: int) -> None:
    lines = table_lines(table, width)
    assert max(map(cell_len, lines)) <= width
    if not any(isinstance(cell, str) and "±" in cell for cell in table.columns[0].cells):
        assert not any(re.search(r"± ?\+", line) for line in lines)


@given(tables())
def test_a_wide_terminal_shows_every_value_with_both_ends(table: Table) -> None:
    lines = lay_out(table, 1000).lines()
    for column in table.columns[1:-1]:
        for row, cell in enumerate(column.cells):
            assert isinstance(cell, Estimate)
            if cell.value is not None:
                shown = column.number(cell.value, row)
                assert any(shown in line for line in lines)
            if cell.low is not None and cell.high is not None:
                assert any(
                    f"[{column.number(cell.low, row)}, {column.number(cell.high, row)}]" in line for line in lines
                )


@given(tables())
def test_csv_and_json_have_every_field_of_an_estimate(table: Table) -> None:
    told = json.loads(RENDERERS["json"]([table], RenderOptions()))["tables"][0]
    assert told == json.loads(json.dumps(table_json(table)))
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"]([table], RenderOptions()))))
    assert len(rows) == len(told["rows"]) == table.height
    for column in table.columns[1:-1]:
        for row, cell in enumerate(column.cells):
            assert isinstance(cell, Estimate)
            assert told["rows"][row][column.key] == cell.to_json()
            written = [rows[row][column.key if name == "value" else f"{column.key}_{name}"] for name in JSON_FIELDS]
            assert written == ["" if each is None else str(each) for each in cell.to_json().values()]


@given(tables())
def test_every_format_says_what_stands_out_and_names_the_groups(table: Table) -> None:
    groups = {column.group for column in table.columns} - {None}
    ranks = {rank for column in table.columns for rank in column.emphasis.values()}
    for form in ("text", "md", "latex", "html"):
        written = RENDERERS[form]([table], RenderOptions(width=400))
        assert all(str(group) in written for group in groups)
        assert ("the best" in written.replace("second best", "")) == (1 in ranks)
        assert ("the second best" in written) == (2 in ranks)
        assert "another meaning" in written
    named = [name for name, _ in table.groups if name is not None]
    latex = RENDERERS["latex"]([table], RenderOptions())
    assert latex.count(r"\cmidrule(lr)") == len(named)


def test_a_heading_above_columns_that_are_narrower_is_shown_whole() -> None:
    groups = (("Knowledge", "F"), ("Difficulty in points", "A"), ("Difficulty in points", "B"))
    narrow = [
        Column(f"{group}: {name}", (0.5,), "number", heading=name, is_name=True, group=group) for group, name in groups
    ]
    table = Table((Column("model", ("m",)), *narrow))
    lines = RENDERERS["text"]([table], RenderOptions(width=80)).splitlines()
    assert lines[0].split("  ") == ["", "", "", " Knowledge", "Difficulty in points"]
    assert len(lines[2]) == len(lines[3]) == len(lines[0]) == len("model  Knowledge  Difficulty in points")


@given(tables())
def test_rows_of_latex_and_markdown_have_as_many_cells_as_their_heading(table: Table) -> None:
    lines = [line for line in RENDERERS["md"]([table], RenderOptions()).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines}) == 1
    latex = RENDERERS["latex"]([table], RenderOptions()).split(r"\midrule")[1].split(r"\bottomrule")[0]
    rows = [line for line in latex.strip().splitlines() if "multicolumn" not in line]
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1


@given(tables(), st.sampled_from(["ci", "pm", "none"]))
def test_latex_of_any_table_could_be_set(table: Table, interval: Interval) -> None:
    [written] = read_tables(RENDERERS["latex"]([table], RenderOptions(interval)))
    assert len(written.rows) == table.height + len(table.separators) + (2 if table.groups else 1)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("& {[}0.250", "{[}0.250"),
        (r"\cmidrule(lr){2-3}", r"\cmidrule(lr){2-4}"),
        (r"\multicolumn{2}{c}{G}", r"\multicolumn{3}{c}{G}"),
        (r"a\_b", "a_b"),
        (r"\textdagger", r"\dag"),
        ("table-format=1.3", "table-format=1.2"),
        (r"\bottomrule", ""),
        (r"{\footnotesize", r"\footnotesize"),
    ],
)
def test_the_reader_of_latex_refuses_what_could_not_be_set(good: str, bad: str) -> None:
    value = Column("v", (Estimate(0.5, low=0.25, high=0.75),), "number", group="G", p_values={0: 0.01})
    written = RENDERERS["latex"]([Table((Column("name", ("a_b",)), value))], RenderOptions())
    read_tables(written)
    assert good in written
    with pytest.raises(AssertionError):
        read_tables(written.replace(good, bad, 1))


@given(tables())
def test_every_format_marks_what_is_significant_and_says_what_that_means(table: Table) -> None:
    daggers = sum(p < column.level for column in table.columns for p in column.p_values.values())
    sign = {"text": "†", "md": "†", "html": "<sup>†</sup>", "latex": r"\textsuperscript{\textdagger}"}
    for form, written in sign.items():
        rendered = RENDERERS[form]([table], RenderOptions(width=1000))
        assert "differs from the first" in rendered
        own = sum(cell.count("†") for column in table.columns for cell in column.cells if isinstance(cell, str))
        if own == 0 and form != "latex":
            shows_none = not daggers and any(column.p_values for column in table.columns)
            assert rendered.count(written) == daggers + (form != "html" and not shows_none)
            assert ("No value differs from the first" in rendered) == shows_none
    told = json.loads(RENDERERS["json"]([table], RenderOptions()))["tables"][0]
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"]([table], RenderOptions()))))
    assert told["tested"] == "differs from the first"
    for column, in_json in zip(table.columns, told["columns"], strict=True):
        assert in_json.get("p", {}) == {str(row): p for row, p in column.p_values.items()}
        for row, p in column.p_values.items():
            assert float(rows[row][f"{column.key}_p"]) == p


@given(tables())
def test_counts_that_give_way_are_told_without_the_totals(table: Table) -> None:
    counted = [cell for row, cell in enumerate(table.columns[-1].cells) if row not in table.totals]
    ends = [end for cell in counted for end in (cell if isinstance(cell, Range) else (cell,))]
    told = counts_note(table)
    for end in (min(ends), max(ends)) if ends else ():  # type: ignore[type-var]
        assert f"{end:,}" in told


def test_a_narrower_terminal_never_shows_more() -> None:
    values = tuple(Estimate(0.5, low=0.25, high=0.75) for _ in range(3))
    models = [Column(f"m{n}", values, "number", heading=f"lab/model-{n}", is_name=True) for n in range(4)]
    table = Table((Column("kind", ("a", "b", "c")), *models, Column("n", (1, 2, 3), "count", is_count=True)))
    forms = []
    for width in range(140, 20, -1):
        text = "\n".join(lay_out(table, width).lines())
        kind = 0 if "[" in text else 1 if " ± " in text else 2
        forms.append((kind, "A  lab/model-0" in text, "n 1–3" in text) if "──" in text else (3, False, True))
    assert len(set(forms)) == 6
    assert all(one[0] <= two[0] for one, two in pairwise(forms))
