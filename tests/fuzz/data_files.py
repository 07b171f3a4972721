"""Targets: the readers of data files, and a spec whose fields are held against what they read."""

from __future__ import annotations

import atexit
import datetime
import gzip
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.compiler.examining import examine
from tests.fuzz.trying import BrokenRule, Refused
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.datasets.formats import document_in, document_with_lines, rows_in, unpacked_digest

ROWS: list[dict[str, Any]] = [
    {"question": "1+1", "answer": "2", "options": ["1", "2"], "n": 3, "score": 4.5, "right": True, "hint": None},
    {"question": "half of \"9\", in words", "answer": "4,5", "options": [], "n": -1, "score": 0.0, "right": False, "hint": "x"},
    {"question": "难度\nline", "answer": "", "options": ["é"], "n": 2**40, "score": 1e-9, "right": True, "hint": "=1+1"},
]  # fmt: skip
FLAT = [
    {
        name: "" if value is None else value if isinstance(value, str) else json.dumps(value)
        for name, value in row.items()
    }
    for row in ROWS
]
TREE: dict[str, Any] = {
    "Sums": {"Small": ["One", "Two"], "Large": []},
    "Shapes": ["Round", {"Square": ["Red"]}],
    "n": 1,
}
YAML = """\
# a syllabus
Sums:
  Small: [One, "Two"]
  Large:
    - 1
    - null
Shapes:
  - Round
  - Square: {Red: [], 2026-01-01: x}
text: |
  many
  lines
folded: >-
  one
  line
? complex key
: value
"""
SPEC = """\
benchmark g "1.0.0" { languages en }
role candidate compared
axis kind { a, b }
dataset item from "FILE" {
  question text
  answer text secret
  options list<text>
  n integer
  score number
  right bool
  hint text?
}
scenario s {
  over item where item.n > 0 and contains(item.question, "1")
  ask reply by candidate {
    prompt "{{ item.question }} {{ bullets(item.options) }} {{ item.n / item.score }}"
  }
  score same = reply.text == item.answer
}
measure right = mean(same)
"""


BASE = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())


@cache
def folder() -> Path:
    """Return a folder of this process for the files that are tried."""
    made = Path(tempfile.mkdtemp(prefix=f"tripos-fuzz-{os.getpid()}-", dir=BASE))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def remove_folders(process: int) -> None:
    """Remove the folder of a process that has ended, which may have had no time to."""
    for left in BASE.glob(f"tripos-fuzz-{process}-*"):
        shutil.rmtree(left, ignore_errors=True)


def put(name: str, data: bytes) -> Path:
    """Write a file into that folder."""
    path = folder() / name
    path.write_bytes(data)
    return path


def rows_of(suffix: str) -> Callable[[bytes], None]:
    """Return a target that reads the rows of a file whose name ends so."""

    def run(data: bytes) -> None:
        path = put(f"rows{suffix}", data)
        for row in rows_in(path, path.name):
            assert isinstance(row, dict)
            for name in row:
                assert isinstance(name, str), name

    return run


def packed_of(suffix: str) -> Callable[[bytes], None]:
    """Return a target that reads the rows of a compressed file."""
    rows = rows_of(suffix)

    def run(data: bytes) -> None:
        unpacked_digest(put(f"rows{suffix}", data))
        rows(data)

    return run


def document_of(suffix: str) -> Callable[[bytes], None]:
    """Return a target that reads a document, once without and once with the lines of its texts."""

    def run(data: bytes) -> None:
        path = put(f"document{suffix}", data)
        plain = document_in(path, path.name)
        placed = document_with_lines(path, path.name)
        if placed != plain and "nan" not in repr(plain).casefold():
            raise BrokenRule("a document that is read with its lines is another")

    return run


def typed_of(suffix: str) -> Callable[[bytes], None]:
    """Return a target that compiles a spec whose data set is the file."""

    def run(data: bytes) -> None:
        path = put(f"typed{suffix}", data)
        main = str(path.with_name(f"spec{suffix}.tripos"))
        compilation = examine({main: SPEC.replace("FILE", path.name)}, main, DataFolders())  # type: ignore[arg-type]
        errors = [item for item in compilation.diagnostics if item.severity == "error"]
        if errors:
            raise Refused(errors[0].code, len(errors))

    return run


# --- seeds ---


def json_lines() -> Sequence[bytes]:
    """Return rows as JSON Lines."""
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    return [lines.encode(), "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS[:1]).encode()]


def json_rows() -> Sequence[bytes]:
    """Return rows as a JSON list, as lines and as one object."""
    return [
        json.dumps(ROWS, indent=1).encode(),
        json.dumps(ROWS).encode(),
        *json_lines(),
        json.dumps(ROWS[0], indent=2).encode(),
    ]


def delimited(delimiter: str) -> Callable[[], Sequence[bytes]]:
    """Return rows as spreadsheets write them, with every delimiter and line end."""

    def seeds() -> Sequence[bytes]:
        import csv

        made = []
        for mark, end in ((delimiter, "\n"), (delimiter, "\r\n"), (";", "\r\n"), ("\t", "\n")):
            out = io.StringIO()
            writer = csv.DictWriter(out, list(FLAT[0]), delimiter=mark, lineterminator=end)
            writer.writeheader()
            writer.writerows(FLAT)
            made.append(out.getvalue().encode())
        return [*made, b"\xef\xbb\xbf" + made[0], b"sep=;\n" + made[2], made[0].replace(b"\n", b"\n\n")]

    return seeds


def columns() -> Sequence[bytes]:
    """Return rows as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = []
    for table in _tables():
        for compression in ("none", "snappy", "zstd"):
            out = pa.BufferOutputStream()
            pq.write_table(table, out, compression=compression)
            made.append(out.getvalue().to_pybytes())
    return made


def arrows() -> Sequence[bytes]:
    """Return rows as an Arrow file and as a stream."""
    import pyarrow as pa

    made = []
    for table in _tables():
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            out = pa.BufferOutputStream()
            with new(out, table.schema) as writer:
                writer.write_table(table)
            made.append(out.getvalue().to_pybytes())
    return made


def _tables() -> list[Any]:
    import pyarrow as pa

    now = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    odd = {
        "at": pa.array([now, None]), "day": pa.array([now.date(), None]), "raw": pa.array([b"x", None]),
        "of": pa.array([{"a": [1]}, None]), "word": pa.array(["a", "a"]).dictionary_encode(),
        "long": pa.array([datetime.timedelta(1), None]), "low": pa.array([1.5, None], pa.float16()),
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    }  # fmt: skip
    return [pa.Table.from_pylist(ROWS), pa.table(odd)]


def workbooks() -> Sequence[bytes]:
    """Return rows as Excel writes them."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(list(FLAT[0]))
    for row in ROWS:
        sheet.append([str(value) if isinstance(value, list) else value for value in row.values()])
    made = []
    for more in (["1", 0.1, None, True], ["=1+1", datetime.date(2026, 1, 2)]):
        sheet.append(more)
        book.create_sheet("other").append(["a", "b"])
        out = io.BytesIO()
        book.save(out)
        made.append(out.getvalue())
    return made


def packed(suffix: str) -> Callable[[], Sequence[bytes]]:
    """Return rows as JSON Lines that are compressed."""

    def seeds() -> Sequence[bytes]:
        import pyarrow as pa

        if suffix == ".gz":
            return [gzip.compress(text, mtime=0) for text in json_lines()]
        return [pa.compress(text, codec="zstd", asbytes=True) for text in json_lines()]

    return seeds


def json_documents() -> Sequence[bytes]:
    """Return a tree as JSON."""
    return [json.dumps(TREE, indent=2).encode(), json.dumps([TREE, "a", 1.5]).encode(), b'{"a": 1, "a": 2}']


def yaml_documents() -> Sequence[bytes]:
    """Return a tree as YAML."""
    return [YAML.encode(), json.dumps(TREE).encode(), b"- a\n- b: [c, {d: e}]\n"]
