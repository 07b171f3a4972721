"""Data files that are small and hold much are read within limits, and a message names the file."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.formats import MOST_ROWS, document_in, rows_in, unpacked_digest
from tripos_runtime.datasets.trust import ReadLimits

SMALL = ReadLimits(data_bytes=100_000, whole_bytes=50_000, rows=1_000)
LINE = json.dumps({"text": "a" * 1_000}).encode() + b"\n"


@pytest.mark.parametrize("packing", [".gz", ".zst"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.json"])
def test_a_file_that_unpacks_to_much_is_refused(tmp_path: Path, packing: str, name: str) -> None:
    text = b"text\n" + b"a" * 1_000_000 if name == "rows.csv" else LINE * 1_000
    if name == "rows.json":
        text = b"[" + LINE * 1_000
    path = tmp_path / (name + packing)
    if packing == ".gz":
        path.write_bytes(gzip.compress(text))
    else:
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(text)
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="too large"):
        list(rows_in(path, name, SMALL))
    with pytest.raises(DataError, match="once it is unpacked"):
        unpacked_digest(path, SMALL)


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "' + b"a" * 60_000 + b'"}\n')
    with pytest.raises(DataError, match="a line of rows is too large"):
        list(rows_in(path, "rows", SMALL))
    assert len(list(rows_in(path, "rows"))) == 1


def test_a_quotation_mark_that_is_never_closed_does_not_take_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text\n"' + "a\n" * 40_000)
    with pytest.raises(DataError, match="cannot be read"):
        list(rows_in(path, "rows", SMALL))


@pytest.mark.parametrize("name", ["tree.json", "tree.yaml"])
def test_a_document_is_read_whole_up_to_a_limit(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(["a" * 1_000] * 60))
    with pytest.raises(DataError, match="at most 50,000 are read"):
        document_in(path, name, SMALL)
    assert len(document_in(path, name)) == 60


@pytest.mark.parametrize("name", ["tree.json", "tree.yaml", "rows.json", "rows.jsonl"])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_what_is_nested_deeply_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError):
        list(rows_in(path, name)) if name.startswith("rows") else document_in(path, name)


def test_aliases_of_yaml_do_not_multiply(tmp_path: Path) -> None:
    path = tmp_path / "tree.yaml"
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="alias"):
        document_in(path, "tree.yaml")


def test_a_parquet_file_that_holds_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a" * 1_000 + str(n) for n in range(200)]}), path, use_dictionary=False)
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match="once it is unpacked"):
        list(rows_in(path, "rows", SMALL))


def test_a_parquet_file_that_says_one_text_often_is_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a" * 10_000] * 5_000}), path)
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match="more than 1,000 rows"):
        list(rows_in(path, "rows", SMALL))


def _workbook(path: Path, *changes: tuple[bytes, bytes], pad: int = 0) -> None:
    """A workbook, with changes to its sheet, and spaces at its end."""
    book = Workbook()
    assert book.active is not None
    book.active.append(["text"])
    book.active.append(["a"])
    book.save(path.with_suffix(".old"))
    with zipfile.ZipFile(path.with_suffix(".old")) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                for old_text, new_text in changes:
                    assert old_text in content
                    content = content.replace(old_text, new_text)
                content += b" " * pad
            new.writestr(name, content)


def test_a_workbook_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.xlsx"
    _workbook(path, pad=1_000_000)
    with pytest.raises(DataError, match="once it is unpacked"):
        list(rows_in(path, "rows", SMALL))
    assert list(rows_in(path, "rows")) == [{"text": "a"}]


def test_a_workbook_that_skips_to_a_row_beyond_the_last_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.xlsx"
    far = str(MOST_ROWS + 1).encode()
    _workbook(path, (b'<row r="2"', b'<row r="' + far + b'"'), (b'"A1:A2"', b'"A1:A' + far + b'"'))
    with pytest.raises(DataError, match="a sheet has at most"):
        list(rows_in(path, "rows"))


def test_entities_of_a_workbook_do_not_multiply(tmp_path: Path) -> None:
    path = tmp_path / "rows.xlsx"
    inner = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 12))
    head = f'<!DOCTYPE worksheet [<!ENTITY e0 "lol">{inner}]><worksheet'.encode()
    _workbook(path, (b"<worksheet", head), (b"<t>a<", b"<t>&e11;<"))
    with pytest.raises(DataError):
        list(rows_in(path, "rows"))
