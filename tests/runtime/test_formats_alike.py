"""One table, drawn, in every format that Tripos reads: the same rows, or the same refusal."""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings, strategies as st
from openpyxl import Workbook

from tests.lengths import sized
from tripos.importing.datasets import json_lines, rows_of_database
from tripos_compiler.language.exact_values import InexactJson, load_json
from tripos_compiler.language.rows import Misfit, read_row
from tripos_compiler.plan import DataField, Dataset, IntegerType, ListType, NumberType, OptionalType, TextType, Type
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.formats import rows_in

Rows = Sequence[Mapping[str, Any]]
TYPES: Mapping[str, Type] = {
    "id": TextType(),
    "t": TextType(),
    "i": IntegerType(),
    "n": NumberType(),
    "f": NumberType(),
    "l": ListType(of=TextType()),
}
ARROW = pyarrow.schema(
    {
        "id": pyarrow.string(),
        "t": pyarrow.large_string(),
        "i": pyarrow.float64(),
        "n": pyarrow.float64(),
        "f": pyarrow.float32(),
        "l": pyarrow.list_(pyarrow.string()),
    }
)
"""As pandas has it: a column of integers of which some are missing is one of floating point numbers with NaN."""
LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp"), exclude_characters="=_")
TEXTS = st.text(LETTERS, min_size=1, max_size=6).filter(str.strip)
FLOATS = st.floats(-1e60, 1e60).map(lambda value: float(f"{value:.15g}"))
"""With so many digits as a spreadsheet keeps."""
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False).map(
    lambda value: float(str(pyarrow.scalar(value, pyarrow.float32()).cast(pyarrow.string())))
)
"""The shortest decimals of 32-bit numbers."""


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Return rows with an id each, of which any other cell may be missing."""
    cells = {
        "t": st.none() | TEXTS,
        "i": st.none() | st.integers(-(2**53), 2**53),
        "n": st.none() | FLOATS,
        "f": st.none() | SINGLES,
        "l": st.none() | st.lists(TEXTS, max_size=2),
    }
    count = draw(st.integers(1, 3))
    return [{"id": f"r{place}", **{name: draw(of) for name, of in cells.items()}} for place in range(count)]


def delimited(path: Path, rows: Rows, delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def cell(value: Any) -> Any:
    """Return a value as a cell has it that knows texts and numbers alone."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def lines(rows: Rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def table(rows: Rows) -> pyarrow.Table:
    """Return the rows as columns: a number that is missing is NaN."""
    missing = {"i": float("nan"), "n": float("nan"), "f": float("nan")}
    filled = [{name: missing.get(name) if value is None else value for name, value in row.items()} for row in rows]
    return pyarrow.Table.from_pylist(filled, ARROW)


def zstd(path: Path, rows: Rows) -> None:
    with pyarrow.output_stream(str(path), compression="zstd") as file:
        file.write(lines(rows).encode())


def stream(path: Path, rows: Rows) -> None:
    with pyarrow.ipc.new_stream(str(path), ARROW) as writer:
        writer.write_table(table(rows))


def workbook(path: Path, rows: Rows) -> None:
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append([cell(value) for value in row.values()])
    book.save(path)


def sqlite(path: Path, rows: Rows) -> None:
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("create table d (id text, t text, i integer, n real, f real, l text)")
        base.executemany("insert into d values (?, ?, ?, ?, ?, ?)", [[*map(cell, row.values())] for row in rows])


def duck(path: Path, rows: Rows) -> None:
    with duckdb.connect(str(path)) as base:
        base.execute("create table d (id text, t text, i double, n double, f float, l text[])")
        base.executemany(
            "insert into d values (?, ?, ?, ?, ?, ?)", [list(row.values()) for row in table(rows).to_pylist()]
        )


WRITERS: Mapping[str, Callable[[Path, Rows], object]] = {
    "jsonl": lambda path, rows: path.write_text(lines(rows), "utf-8"),
    "json": lambda path, rows: path.write_text(json.dumps(list(rows), indent=1), "utf-8"),
    "csv": lambda path, rows: delimited(path, rows, ","),
    "tsv": lambda path, rows: delimited(path, rows, "\t"),
    "jsonl.gz": lambda path, rows: path.write_bytes(gzip.compress(lines(rows).encode())),
    "jsonl.zst": zstd,
    "parquet": lambda path, rows: pyarrow.parquet.write_table(table(rows), path),
    "feather": lambda path, rows: pyarrow.feather.write_feather(table(rows), str(path)),
    "arrow": stream,
    "xlsx": workbook,
    "sqlite": sqlite,
    "duckdb": duck,
}


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; those of a database as `tripos import dataset` writes them."""
    if path.suffix in (".sqlite", ".duckdb"):
        written = path.with_name("imported.jsonl")
        written.write_bytes(b"\n".join(json_lines(rows_of_database(path, None))))
        return list(rows_in(written, "d"))
    return list(rows_in(path, "d"))


def typed(path: Path, types: Mapping[str, Type]) -> Iterator[dict[str, Any] | tuple[str, Any]]:
    """Yield the typed rows of a file, or the field that does not fit and whether it is missing."""
    fields = tuple(DataField(name=name, type=of, columns=(name,)) for name, of in types.items())
    dataset = Dataset(name="d", source="d", fields=fields, files=())
    for record in read(path):
        row = read_row(dataset, record, {})
        yield (row.field, row.value is None) if isinstance(row, Misfit) else row


@given(rows=tables(), required=st.sets(st.sampled_from(sorted(TYPES))))
@example([{"id": "a", "t": None, "i": None, "n": None, "f": 0.1, "l": None}], {"t"})
@example([{"id": "a", "t": None, "i": 2**53, "n": 0.1, "f": 0.3, "l": ["x"]}], set())
@settings(max_examples=sized(10, 1000), deadline=None)
def test_a_table_is_the_same_in_every_format(rows: Rows, required: set[str]) -> None:
    types = {name: of if name in required else OptionalType(of=of) for name, of in TYPES.items()}
    with TemporaryDirectory() as folder:
        found = {}
        for suffix, write in WRITERS.items():
            path = Path(folder, f"d.{suffix}")
            write(path, rows)
            found[suffix] = list(typed(path, types))
        for suffix, each in found.items():
            assert each == found["jsonl"], suffix
        for row, written in zip(found["jsonl"], rows, strict=True):
            lacking = next((name for name in types if name in required and written[name] is None), None)
            assert row == ((lacking, True) if lacking else written)


@given(st.integers(-(2**70), 2**70).filter(lambda n: abs(n) >= 2**53), st.sampled_from([IntegerType(), NumberType()]))
@example(2**53 + 1, NumberType())
@example(2**63, IntegerType())
@settings(max_examples=sized(20, 2000), deadline=None)
def test_a_whole_number_is_exact_or_refused(number: int, of: Type) -> None:
    with TemporaryDirectory() as folder:
        found = []
        for suffix, text in (
            ("csv", f"id,n\na,{number}\n"),
            ("jsonl", f'{{"id": "a", "n": {number}}}'),
            ("tsv", f"id\tn\na\t{number}.0\n"),
            ("json", f'[{{"id": "a", "n": {number}.0}}]'),
            ("ndjson", f'{{"id": "a", "n": "{number}"}}'),
        ):
            path = Path(folder, f"d.{suffix}")
            path.write_text(text, "utf-8")
            found.append(next(typed(path, {"n": of})))
        long = pyarrow.table({"n": pyarrow.array([Decimal(number)], pyarrow.decimal128(38, 4))})
        pyarrow.parquet.write_table(long, path := Path(folder, "d.parquet"))
        found.append(next(typed(path, {"n": of})))
    refused = found == [("n", False)] * len(found)
    assert refused or all(each == {"n": number} for each in found)
    assert refused or of.kind == "number" or -(2**63) <= number < 2**63
    assert not refused or not -(2**63) <= number < 2**63


HALF, TWICE = '"half \\ud83d"', '{"a": 1, "b": {"c": 1, "d": [{"c": 1, "c": 2}]}}'
SAID = {HALF: "a text has half of a character", TWICE: "an object repeats the key `c`"}


@pytest.mark.parametrize("value", SAID)
@pytest.mark.parametrize("suffix", ["jsonl", "json", "ndjson", "jsonl.gz"])
def test_json_that_says_two_things_is_refused(tmp_path: Path, suffix: str, value: str) -> None:
    good, bad = '{"id": 1, "x": {}}', f'{{"id": 2, "x": {value}}}'
    text = f"[{good},{bad}]" if suffix == "json" else f"{good}\n{bad}\n"
    data = text.encode()
    (tmp_path / f"d.{suffix}").write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    with pytest.raises(DataError) as caught:
        read(tmp_path / f"d.{suffix}")
    assert caught.value.message == f"line {1 if suffix == 'json' else 2} of d cannot be read exactly: {SAID[value]}"


@given(
    st.recursive(st.text('"\\:u0022a é', max_size=4) | st.integers(), lambda of: st.dictionaries(st.text('":\\a'), of))
)
@settings(max_examples=sized(60, 20_000), deadline=None)
def test_json_without_a_repeated_key_is_never_refused(value: Any) -> None:
    for text in (json.dumps({"x": value}), json.dumps({"x": value}, ensure_ascii=False, indent=1)):
        assert load_json(text) == {"x": value}
        twice = text.replace('"x"', '"y": 1, "y"', 1)
        with pytest.raises(InexactJson):
            load_json(twice)
