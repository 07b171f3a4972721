"""Data files as people have them: formats, odd layouts, captures in names, and clear errors."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from openpyxl import Workbook

from tests.conftest import SHARED_DATA
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.data_files import DataFolders

ROWS = [{"q": "1,000 个", "n": 1}, {"q": "two\nlines", "n": 2}]


def read(folder: Path, source: str, *folders: Path) -> list[dict[str, Any]]:
    reader = DataFolders(folders)
    return [
        {**file.captures, **row}
        for file in reader.find(source, str(folder / "spec.tripos"))
        for row in reader.rows(file)
    ]


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.jsonl", "\n".join(json.dumps(row) for row in ROWS), ROWS),
        ("a.jsonl", "\ufeff" + "\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n\n", ROWS),
        ("a.json", json.dumps(ROWS), ROWS),
        ("a.json", "\n  " + json.dumps(ROWS, indent=2), ROWS),
        ("a.json", "\n".join(json.dumps(row) for row in ROWS), ROWS),
        ("a.json", json.dumps(ROWS[0], indent=2), ROWS[:1]),
        ("a.csv", '\ufeffq,n\n"1,000 个",1\n"two\nlines",2\n', [row | {"n": str(row["n"])} for row in ROWS]),
    ],
    ids=["lines", "lines-bom-crlf", "array", "array-indented", "lines-named-json", "object-indented", "csv"],
)
def test_json_and_csv_in_all_their_layouts(tmp_path: Path, name: str, content: str, rows: list[dict[str, Any]]) -> None:
    write(tmp_path / name, content)
    assert read(tmp_path, name) == rows


def test_parquet_arrow_files_streams_and_feather(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "a.feather"))
    with pyarrow.ipc.new_file(str(tmp_path / "file.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pyarrow.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    for name in ("a.parquet", "a.feather", "file.arrow", "stream.arrow"):
        assert read(tmp_path, name) == ROWS


def test_what_is_compressed_is_read_as_what_it_holds(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(row) for row in ROWS).encode()
    write(tmp_path / "a.jsonl.gz", gzip.compress(lines))
    write(tmp_path / "a.json.gz", gzip.compress(json.dumps(ROWS[0], indent=2).encode()))
    write(tmp_path / "a.tsv.gz", gzip.compress("q\tn\n1,000 个\t1\n".encode()))
    with pyarrow.output_stream(str(tmp_path / "a.jsonl.zst"), compression="zstd") as file:
        file.write(lines)
    assert read(tmp_path, "a.jsonl.gz") == read(tmp_path, "a.jsonl.zst") == ROWS
    assert read(tmp_path, "a.json.gz") == ROWS[:1]
    assert read(tmp_path, "a.tsv.gz") == [{"q": "1,000 个", "n": "1"}]


def test_a_long_cell_of_a_csv_file_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", f'q\n"{"x" * 300_000}"\n')
    assert len(read(tmp_path, "a.csv")[0]["q"]) == 300_000


def test_a_file_of_the_hub_is_looked_for_where_it_was_fetched_to(tmp_path: Path) -> None:
    write(tmp_path / "data/hf/openai/gsm8k/main/test.jsonl", '{"n": 1}')
    for source in ("hf://openai/gsm8k/main/test.jsonl", "hf://datasets/openai/gsm8k/main/test.jsonl"):
        assert read(tmp_path / "spec", source, tmp_path / "data") == [{"n": 1}]
    found = DataFolders((tmp_path / "data",)).find("hf://openai/gsm8k/main/{split}.jsonl", str(tmp_path / "x.tripos"))
    assert [(file.path, file.captures) for file in found] == [("hf/openai/gsm8k/main/test.jsonl", {"split": "test"})]


@pytest.mark.parametrize(
    ("source", "help_"),
    [
        ("hf://openai/gsm8k/main/test.parquet", "fetch it: `tripos fetch {}/spec.tripos`"),
        ("hf://openai/gsm8k@v1/{split}/*.parquet", "fetch it: `tripos fetch {}/spec.tripos`"),
        ("https://example.org/a/rows.csv", "fetch it: `tripos fetch {}/spec.tripos`"),
        ("hf://gsm8k", "write `hf://owner/name/path`"),
        ("hf://openai/gsm8k/../../x.jsonl", "write `hf://owner/name/path`"),
    ],
)
def test_a_file_of_the_hub_that_is_not_there_says_how_it_is_fetched(tmp_path: Path, source: str, help_: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path / "spec", source, tmp_path / "data")
    assert error.value.hint == help_.format((tmp_path / "spec").as_posix())


def document(folder: Path, name: str, content: str) -> Any:
    write(folder / name, content)
    reader = DataFolders()
    return reader.document(reader.find(name, str(folder / "spec.tripos"))[0])


def test_a_document_is_json_or_yaml(tmp_path: Path) -> None:
    value = {"代数": ["Sets", {"Groups": None}], "Logic": {}}
    assert document(tmp_path, "a.json", "\ufeff" + json.dumps(value, ensure_ascii=False)) == value
    assert document(tmp_path, "a.yaml", "代数:\n- Sets\n- Groups:\nLogic: {}\n") == value


def test_a_mapping_in_which_a_name_stands_twice_loses_neither(tmp_path: Path) -> None:
    twice = [{"a": 1}, {"b": 2}, {"a": 3}]
    assert document(tmp_path, "a.json", '{"x": {"a": 1, "b": 2, "a": 3}}') == {"x": twice}
    assert document(tmp_path, "a.yml", "a: 1\nb: 2\na: 3\n") == twice


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", '{"a": \n[1', "line 2 of a.json is not JSON"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.yaml", "a: [1\nb: 2]]", "line 2 of a.yaml is not YAML"),
        ("a.yaml", "a: &x [1]\nb: *x", "write the value of the alias"),
        ("a.yaml", "a: !!python/name:os.system x", "not YAML"),
        ("a.json", "[1, " + "1" * 5000 + "]", "a.json has a number of more than 4,300 digits"),
        ("a.yaml", "a: x\nb: " + "1" * 5000, "line 2 of a.yaml is not YAML"),
        ("a.yaml", "a: x\nb: 1" + ":59" * 4000, "line 2 of a.yaml is not YAML"),
        ("a.yaml", "a:\n- 2020-13-45", "month must be in 1..12; in quotation marks it is a text"),
        ("a.csv", "a,b", "the format `.csv` is not known"),
    ],
)
def test_a_document_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(DataError) as error:
        document(tmp_path, name, content)
    assert words in f"{error.value.message} {error.value.hint}"


@pytest.mark.parametrize("type_", ["date64", "duration"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_that_holds_what_python_cannot_is_said(tmp_path: Path, suffix: str, type_: str) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    far = pa.array([2**60], pa.date64() if type_ == "date64" else pa.duration("s"))
    table = pa.table({"n": far})
    if suffix == "parquet":
        parquet.write_table(table, tmp_path / "a.parquet", store_schema=True)
    else:
        feather.write_feather(table, tmp_path / "a.arrow")
    with pytest.raises(DataError, match=f"a.{suffix} holds a value that cannot be read: "):
        read(tmp_path, f"a.{suffix}")


def test_names_are_captured_and_files_come_in_order(tmp_path: Path) -> None:
    for language in ("zh", "en"):
        write(tmp_path / f"d/{language}_x.jsonl", '{"n": 1}')
    assert read(tmp_path, "d/{language}_x.jsonl") == [{"language": "en", "n": 1}, {"language": "zh", "n": 1}]
    assert len(read(tmp_path, "d/*.jsonl")) == 2


def test_a_field_named_twice_matches_the_same_text(tmp_path: Path) -> None:
    for name in ("en-en", "en-zh", "{1a}-x"):
        write(tmp_path / f"{name}.jsonl", '{"n": 1}')
    assert read(tmp_path, "{language}-{language}.jsonl") == [{"language": "en", "n": 1}]
    assert read(tmp_path, "{1a}-{x}.jsonl") == [{"x": "x", "n": 1}]


def test_an_absolute_path_is_known_by_its_file_name(tmp_path: Path) -> None:
    for language in ("en", "zh"):
        write(tmp_path / language / "a.jsonl", '{"n": 1}')
    reader = DataFolders((tmp_path,))
    assert [file.path for file in reader.find(f"{tmp_path}/en/a.jsonl", "x.tripos")] == ["a.jsonl"]
    found = reader.find(f"{tmp_path}/{{language}}/a.jsonl", "x.tripos")
    assert [(file.path, file.captures) for file in found] == [
        ("en/a.jsonl", {"language": "en"}),
        ("zh/a.jsonl", {"language": "zh"}),
    ]
    with pytest.raises(DataError, match=r"no file `b\.json`"):
        reader.find(f"{tmp_path}/en/b.json", "x.tripos")


@pytest.mark.parametrize(
    ("source", "close"),
    [
        ("item/x.jsonl", "`items/x.jsonl`"),
        ("items/x.json", "`items/x.jsonl`"),
        ("item/{language}.jsonl", "`items/{language}.jsonl`"),
        ("item/quite_other.csv", "`items/`"),
    ],
)
def test_a_missing_file_is_guessed(tmp_path: Path, source: str, close: str) -> None:
    write(tmp_path / "items/x.jsonl", "")
    with pytest.raises(DataError) as error:
        read(tmp_path, source)
    assert error.value.hint == f"did you mean {close}?"


def test_a_file_is_no_guess_for_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "items.tripos", "")
    with pytest.raises(DataError) as error:
        read(tmp_path, "items/x.jsonl")
    assert error.value.hint == "give the folder that holds it with --data DIR"


def test_beside_the_spec_first_then_the_data_folders(tmp_path: Path) -> None:
    write(tmp_path / "data/a.jsonl", '{"from": "data"}')
    assert read(tmp_path / "spec", "a.jsonl", tmp_path / "data") == [{"from": "data"}]
    write(tmp_path / "spec/a.jsonl", '{"from": "spec"}')
    assert read(tmp_path / "spec", "a.jsonl", tmp_path / "data") == [{"from": "spec"}]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", '{"q": 1}\n{"q": \n{"q": 3}', "line 2 of a.jsonl is not JSON"),
        ("a.jsonl", '{"q": 1\n', "line 1 of a.jsonl is not JSON"),
        ("a.jsonl", '{"q": 1\n{"q": 2}\n', "line 1 of a.jsonl is not JSON"),
        ("a.jsonl", '{"q": [\n{"q": 2}\n', "line 1 of a.jsonl is not JSON"),
        ("a.jsonl", '{"q": 1,\n"r": x}\n', "line 2 of a.jsonl is not JSON"),
        ("a.jsonl", '{"q": 1}\n[2]', "record 2 of a.jsonl is a list"),
        ("a.json", "[1, 2]", "not an object"),
        ("a.txt", "hello", "the format `.txt` is not known"),
        ("a.csv", b"\xff\xfe\x00", "UTF-8"),
        ("a.parquet", "not parquet", "cannot read a.parquet"),
        ("a.arrow", "not arrow", "cannot read a.arrow"),
        ("a.jsonl.gz", gzip.compress(b'{"q": 1}', mtime=0)[:-9], "cannot read a.jsonl.gz"),
        ("a.jsonl.zst", "not packed", "cannot read a.jsonl.zst"),
        ("a.txt.gz", b"", "the format `.txt` is not known"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    write(tmp_path / name, content)
    with pytest.raises(DataError) as error:
        read(tmp_path, name)
    assert words in f"{error.value.message} {error.value.hint}"


TABLE = pyarrow.table({"q": ["x"] * 2_000})
OTHER_KINDS: dict[str, Callable[[Path], object]] = {
    "a gzip file": lambda path: path.write_bytes(gzip.compress(b"q\n1\n")),
    "a bzip2 file": lambda path: path.write_bytes(bz2.compress(b"q\n1\n")),
    "an xz file": lambda path: path.write_bytes(lzma.compress(b"q\n1\n")),
    "a Parquet file": lambda path: pyarrow.parquet.write_table(TABLE, path, compression="none", use_dictionary=False),
    "an Arrow file": lambda path: pyarrow.feather.write_feather(TABLE, path),
    "an Excel workbook": lambda path: Workbook().save(path),
    "a ZIP archive": lambda path: ZipFile(path, "w").writestr("a.csv", "q\n1\n"),
    "a workbook of an old Excel": lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
    "an SQLite database": lambda path: sqlite3.connect(path).executescript("create table q (q); vacuum"),
    "a PDF document": lambda path: path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\n"),
    "a web page": lambda path: path.write_text("\n<!DOCTYPE html>\n<html lang=en><td>q</td></html>"),
    "a pointer of Git LFS": lambda path: path.write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 7\n"
    ),
}
"""Writers of files of each kind that has another name than it should."""


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow", "a.xlsx"])
def test_a_file_of_another_kind_is_called_what_it_is(tmp_path: Path, kind: str, name: str) -> None:
    OTHER_KINDS[kind](tmp_path / "file")
    (tmp_path / "file").rename(tmp_path / name)
    own = {"a.parquet": "a Parquet file", "a.arrow": "an Arrow file", "a.xlsx": "an Excel workbook"}
    if own.get(name) == kind:
        assert len(read(tmp_path, name)) == (0 if name == "a.xlsx" else len(TABLE))
        return
    with pytest.raises(DataError) as error:
        read(tmp_path, name)
    if (name, kind) == ("a.xlsx", "a ZIP archive"):  # a damaged workbook
        assert error.value.message.startswith("cannot read a.xlsx")
    else:
        assert error.value.message.startswith(f"a.{name[2:]} is {kind}")


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path / "spec", "a.jsonl", tmp_path / "data")
    assert str(tmp_path / "spec") in error.value.message
    assert str(tmp_path / "data") in error.value.message
    assert "--data" in error.value.hint


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the real data sets are not here")
@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("edubench/{language}_data_sampled.jsonl", 198),
        ("gsm8k/test.jsonl", 1319),
        ("stepverify/dataset.json", 1002),
        ("mathtutorbench/mathdial_bridge.json", 1150),
        ("cjeval/test/test_{subject}.json", 3210),
        ("cjeval/valid/*.json", 2106),
        ("ceval/val/high_school_mathematics_val.csv", 18),
    ],
)
def test_the_real_data_sets_are_read_whole(tmp_path: Path, source: str, rows: int) -> None:
    assert len(read(tmp_path, source, SHARED_DATA)) == rows
