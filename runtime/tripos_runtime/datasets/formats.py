"""Formats of data files: JSON Lines, JSON, CSV, TSV, Parquet, Arrow and Excel to records; JSON and YAML to documents.

The layout is detected from the content if the name is misleading: a `.json` file may contain JSON Lines. Files with
`.gz` or `.zst` are decompressed while reading. Sizes and nesting depth are limited. Values of tables are converted to
JSON values, from which types are read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID
from zipfile import ZipFile

import orjson

from tripos_compiler.diagnostics.text_format import encoding_of, to_utf8
from tripos_compiler.language.exact_values import LONE, InexactJson, check_characters, exact_number, load_json
from tripos_compiler.language.rows import DateCell, PointCell, SheetRow
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, LocatedText
from tripos_runtime.datasets.trust import ReadLimits

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell, MergedCell
    from openpyxl.worksheet.worksheet import Worksheet


RowReader = Callable[[Path, str, ReadLimits], Iterator[dict[str, Any]]]
"""Yields the records of a file, whose name in messages is the text."""
ReaderT = TypeVar("ReaderT")
PACKED = (".gz", ".zst")
"""The suffixes of compressed files."""
PIECE = 2**20
"""The number of bytes that are read at a time."""


def is_packed(path: Path) -> bool:
    """Return true if a file is compressed, by its name."""
    return path.suffix.casefold() in PACKED


def check_size(path: Path, shown: str, limits: ReadLimits) -> None:
    """Raise `DataError` for a file that is too large on disk."""
    if (size := path.stat().st_size) > limits.data_bytes:
        raise too_large(shown, limits.data_bytes, f"{size:,} bytes")


def opened(path: Path, shown: str, limits: ReadLimits, most: int | None = None) -> IO[bytes]:
    """Return the decompressed bytes of a file as a stream. For a compressed file, reading raises `DataError` after
    `most` bytes, by default `limits.data_bytes`: its size on disk says nothing about them."""
    inner: Any
    match path.suffix.casefold():
        case ".gz":
            inner = gzip.GzipFile(path)
        case ".zst":
            import pyarrow

            inner = pyarrow.input_stream(str(path), compression="zstd")
        case _:
            return path.open("rb")
    return cast("IO[bytes]", io.BufferedReader(_CountedBytes(inner, shown, most or limits.data_bytes), PIECE))


def read_all(path: Path, shown: str, limits: ReadLimits) -> bytes:
    """Return all decompressed bytes of a file. Raises `DataError` if there are more than `limits.whole_bytes` or
    `limits.data_bytes`."""
    most = min(limits.whole_bytes, limits.data_bytes)
    if path.stat().st_size > most:
        raise too_large(shown, most, f"{path.stat().st_size:,} bytes")
    with opened(path, shown, limits, most) as file:
        return file.read()


def lines_of(file: IO[bytes], shown: str, limits: ReadLimits, *, cut: bool = False) -> Iterator[bytes]:
    """Yield the lines of a file. Raises `DataError` for a line that is too long; with `cut`, it comes in pieces
    instead."""
    most = limits.whole_bytes
    while line := file.readline(PIECE if cut else most + 1):
        if len(line) > most:
            raise too_large(f"a line of {shown}", most, f"more than {most:,} bytes")
        yield line


def too_large(shown: str, most: int, what: str) -> DataError:
    """Return the error for content of more than `most` bytes. `what` says how many it has."""
    return DataError(f"{shown} is too large: it has {what}, and at most {most:,} are read", "split it, or cut it down")


class _CountedBytes(io.RawIOBase):
    """The bytes of a stream. Reading more than `most` of them raises `DataError`, with the file's name `shown`."""

    def __init__(self, inner: Any, shown: str, most: int) -> None:
        self.inner = inner
        self.shown = shown
        self.most = most
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.inner.read(len(buffer))
        self.size += len(piece)
        if self.size > self.most:
            raise too_large(self.shown, self.most, f"more than {self.most:,} bytes once it is unpacked")
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self.inner.close()
        super().close()


DEEPEST = 100
"""The largest number of levels that lists and objects may be nested."""


def check_nesting(value: Any, what: str) -> None:
    """Raise `DataError` if lists or objects are nested more than `DEEPEST` deep; `what` names the value.

    >>> check_nesting({"a": [{"b": 1}]}, "record 1")
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for inner in level for each in _inside(inner) if isinstance(each, dict | list)]
        if not level:
            return
    raise DataError(f"{what} is nested more than {DEEPEST} levels deep", "keep what is nested as text, or leave it out")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


MOST_ROWS = 2**20
"""The largest number of rows of a sheet in every spreadsheet program."""
SHOWN_COLUMNS = 5
"""The largest number of columns that an error lists."""
SHOWN = "visible"
"""The state of a sheet that is not hidden."""
TITLE_HELP = "delete what stands above the names of the columns, such as a title, and give each column a name"
"""The help for a table whose first row does not name its columns."""
LONGEST_REASON = 300
"""The largest number of characters quoted from a library's error, which may contain the file itself."""
RESAVE = "open it in a spreadsheet program, and save it as .xlsx once more"
"""The help for a workbook that cannot be read, or without the results of its formulas."""


def workbook_rows(path: Path, shown: str, most: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a workbook. They are those of its first visible sheet with columns, and of later ones with the
    same columns in any order; the first row of a sheet that has a value names its columns. A visible sheet with half of
    its columns or more, but not the same, is an error: its rows would be missing in silence. Empty rows and columns are
    skipped; an empty cell is `None`, a date its text in ISO 8601, a formula its result. The parts of the workbook may
    have `most` bytes in total.

    `shown` is the file's name in messages. Raises `DataError`, also if the first row is a title."""
    try:
        with ZipFile(path) as parts:  # ZipFile decompresses no more of a part than its declared size
            size = sum(member.file_size for member in parts.infolist())
        if size > most:
            raise too_large(shown, most, f"{size:,} bytes once it is unpacked")
        # openpyxl warns of things like missing styles, which do not affect rows.
        with path.open("rb") as file, path.open("rb") as same_file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = list(_sheet_rows(file, same_file, shown))
    except DataError:
        raise
    except Exception as error:
        # openpyxl and its parsers may raise anything for a damaged file.
        text = " ".join(str(error).split())[:LONGEST_REASON]
        raise DataError(f"cannot read {shown} ({text})", RESAVE) from error
    yield from rows


def _sheet_rows(file: IO[bytes], same_file: IO[bytes], shown: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a workbook, given the file opened twice: openpyxl reads either the results of formulas or the
    formulas."""
    from openpyxl import load_workbook

    # Row by row: whole columns may be formatted, a million cells each.
    values = load_workbook(file, read_only=True, data_only=True)
    formulas = load_workbook(same_file, read_only=True)
    first: tuple[str, frozenset[str]] | None = None
    for sheet in values.worksheets:
        if sheet.sheet_state != SHOWN:
            continue
        lines = _numbered(sheet.iter_rows(), shown)
        above, names = next(((number, names) for number, line in lines if any(names := _texts(line))), (0, []))
        _check_distinct(names, f"{shown}, sheet {sheet.title}")
        columns = frozenset(filter(None, names))
        if not columns:
            continue
        title, wanted = first = first or (sheet.title, columns)
        if columns == wanted:
            yield from _rows(lines, formulas[sheet.title], names, above, shown)
        elif 2 * len(columns & wanted) >= len(wanted):
            odd = ", ".join(f"`{name}`" for name in sorted(columns ^ wanted)[:SHOWN_COLUMNS])
            both = f"sheets `{title}` and `{sheet.title}` of {shown}"
            message = f"{both} do not have the same columns: only one has {odd}"
            raise DataError(message, f"give both the same columns, or hide `{sheet.title}` if it is another table")


def _numbered(
    lines: Iterable[Sequence[Cell | MergedCell]], shown: str
) -> Iterator[tuple[int, Sequence[Cell | MergedCell]]]:
    """Yield the rows of a sheet with their numbers. Raises `DataError` if there are more than a sheet can have."""
    for number, line in enumerate(lines, 1):
        if number > MOST_ROWS:  # a row states its own number; openpyxl fills in the rows before it
            raise DataError(f"{shown} has a row {number:,}, and a sheet has at most {MOST_ROWS:,}", RESAVE)
        yield number, line


def _texts(line: Sequence[Cell | MergedCell]) -> list[str]:
    """Return the texts of a row up to its last value; an empty cell has an empty one."""
    texts = ["" if cell.value is None else str(_json_value(cell.value)).strip() for cell in line]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _check_head(names: Sequence[str], above: int, cells: Sequence[str], number: int, shown: str) -> None:
    """Raise `DataError` if the row `above`, which should name the columns, is a title: the next row with values has as
    many cells behind the first name that have no name, or more, as there are names. The cells of an index, as pandas
    writes it, lie before the first name."""
    named = [index for index, name in enumerate(names) if name]
    filled = [index for index, cell in enumerate(cells) if cell]
    nameless = [index for index in filled if index > min(named, default=-1) and index not in named]
    if nameless and len(nameless) >= len(named):
        message = f"row {number} of {shown} has {len(filled)} cells, and row {above} names {len(named)} of them"
        raise DataError(message, TITLE_HELP)


def _check_distinct(names: Sequence[str], where: str) -> None:
    """Raise `DataError` if a column name is repeated: no field could say which column it reads."""
    repeated = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if repeated is not None:
        raise DataError(f"two columns of {where} are called `{repeated}`", "give each column a name of its own")


def _rows(
    lines: Iterator[tuple[int, Sequence[Cell | MergedCell]]],
    formulas: Worksheet,
    names: Sequence[str],
    above: int,
    shown: str,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a sheet below the row `above`, which names the columns. `lines` have the results of formulas,
    each with its number; `formulas` is the same sheet with the formulas."""
    formula_lines = formulas.iter_rows(min_row=above + 1, values_only=True)
    first = True
    for (number, line), formula_line in zip(lines, formula_lines, strict=False):
        if first and any(cells := _texts(line)):
            _check_head(names, above, cells, number, shown)
            first = False
        row = SheetRow((), number)
        for index, name in enumerate(names):
            value = line[index].value if index < len(line) else None
            if name and value is not None and line[index].data_type == ERROR_CELL:
                message = f"row {number} of {shown} has the error `{value}` under `{name}`"
                raise DataError(message, "correct its formula, or empty the cell")
            if value is None and index < len(formula_line) and formula_line[index] is not None:
                # The program that wrote the file saved the formula without its result; the cell is not empty.
                message = f"row {number} of {shown} has a formula under `{name}` whose value was not saved"
                raise DataError(message, RESAVE)
            if name:
                row[name] = _json_value(value)
        if any(value is not None for value in row.values()):
            yield row


ERROR_CELL = "e"
"""openpyxl's type of a cell with an error such as `#N/A`."""


def _json_value(value: Any) -> Any:
    """Return a value as JSON. In a text, the characters that a workbook has to escape are restored."""
    match value:
        case datetime() if value.time() == time.min:  # openpyxl gives a date as its midnight
            return DateCell(value.date().isoformat())
        case datetime() | date() | time():
            return DateCell(value.isoformat())
        case str():
            from openpyxl.utils.escape import unescape

            return unescape(value) or None
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


LONGEST_CELL = 2**31 - 1
"""The largest number of characters of a cell."""
LONGEST_HEAD = 2**20
"""The largest number of characters of a line that are read at a time to detect the separator."""
OTHERS = (";", "\t")
"""The separators of a `.csv` besides the comma. Spreadsheets write them where numbers have a decimal comma."""
POINT_CELL = re.compile(r"\s*[-+]?[1-9]\d{0,2}\.\d{3}\s*")
TWICE = 'a quotation mark inside of a cell is written twice, and the cell stands in quotation marks: `"say ""A"""`'

COMMA_ABOVE_HELP = {
    ";": "if semicolons part the cells, name the columns in the first line without a comma; otherwise put a text with "
    "a comma in quotation marks",
    "\t": "if tabs part the cells, name the columns in the first line without a comma; otherwise put a text with a "
    "comma in quotation marks",
}
"""The help for a file with a comma in its first line, such as in a title, and more of another separator there."""

Opened = Callable[[], IO[bytes]]
"""A function that opens the file at its beginning."""


def delimited_rows(
    opened: Opened, shown: str, delimiter: str | None = None, most: int = LONGEST_CELL
) -> Iterator[dict[str, Any]]:
    """Yield the records of a file whose first line names the columns; without a `delimiter` it is detected from that
    line.

    An empty cell, or one missing in a short row, is None; a row of empty cells is skipped, also above the names. A row
    with more cells than columns is refused, since the surplus may be the end of a text with a comma. A line may have
    `most` characters. Raises `DataError`, also if the first line is a title, and the errors of reading a damaged file.

    >>> list(delimited_rows(lambda: io.BytesIO(b"name;marks\\nAnna;1,5\\n"), "a.csv"))
    [{'name': 'Anna', 'marks': '1,5'}]
    """
    csv.field_size_limit(min(LONGEST_CELL, most))
    separator = delimiter or _delimiter(opened)
    with closing(_text(opened)) as file:
        rows = _filled_rows(csv.reader(_lines(file, shown, most), strict=True, delimiter=separator), shown)
        above, line, names = next(rows, (0, 0, []))
        _check_distinct(names, shown)
        first = True
        for number, line, cells in rows:
            if first:
                _check_head(names, above, [cell.strip() for cell in cells[: len(names)]], number, shown)
                first = False
            if any(cell.strip() for cell in cells[len(names) :]):
                raise _too_long(shown, line, len(names), len(cells), separator, opened)
            values = (_cell(cell, separator) for cell in cells)
            yield SheetRow(zip_longest(names, islice(values, len(names))), number)


def _filled_rows(reader: Any, shown: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the rows with a cell that is not empty: the number of each, the line on which it begins, and its cells.
    Raises `DataError` for quotation marks that do not pair."""
    for number in count(1):
        begin = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise _misquoted(shown, begin, error) from error
        if cells is None:
            return
        if any(cells):
            yield number, begin, cells


def _cell(cell: str | None, separator: str) -> str | None:
    if cell and separator == ";" and POINT_CELL.fullmatch(cell):
        return PointCell(cell)
    return cell or None


def _lines(file: IO[str], shown: str, most: int) -> Iterator[str]:
    while line := file.readline(most):
        if len(line) == most:
            raise too_large(f"a line of {shown}", most, f"{most:,} characters or more")
        yield line


def _text(opened: Opened) -> IO[str]:
    return io.TextIOWrapper(opened(), encoding="utf-8-sig", newline="")


def _delimiter(opened: Opened) -> str:
    """Return the separator of a file: another one than the comma if only that splits the first line into cells."""
    if _columns(opened, ",") > 1:
        return ","
    best = max(OTHERS, key=lambda separator: _columns(opened, separator))
    return best if _columns(opened, best) > 1 else ","


def _columns(opened: Opened, delimiter: str) -> int:
    """Return the number of cells of the first line that is not empty, 0 if it cannot be read."""
    with closing(_text(opened)) as file:
        try:
            lines = iter(lambda: file.readline(LONGEST_HEAD), "")
            return len(next(filter(None, csv.reader(lines, strict=True, delimiter=delimiter)), []))
        except csv.Error:
            return 0


def _misquoted(shown: str, line: int, error: csv.Error) -> DataError:
    if "end of data" in str(error):
        return DataError(f"line {line} of {shown}: a quotation mark is never closed", f"close it; {TWICE}")
    if "expected after" in str(error):
        return DataError(f"line {line} of {shown}: there is text after a closing quotation mark", TWICE)
    return DataError(f"line {line} of {shown} cannot be read: {error}", "fix that line")


def _too_long(shown: str, line: int, columns: int, cells: int, separator: str, opened: Opened) -> DataError:
    named = "tab" if separator == "\t" else f"`{separator}`"
    message = f"line {line} of {shown} has {cells} cells, its first line {columns}"
    help_ = f"put a text that has a {named} in it in quotation marks, or name the column"
    other = max(OTHERS, key=lambda each: _columns(opened, each))
    if separator == "," and _columns(opened, other) > columns:
        help_ = COMMA_ABOVE_HELP[other]
    return DataError(message, help_)


def plain_value(value: Any) -> Any:
    """Return a value as JSON: a decimal is a number, a date or a time its text in ISO 8601, a duration its seconds, a
    mapping an object, NaN a missing value. Values without a JSON form, such as bytes, stay, and so do decimals that no
    float represents.

    >>> plain_value(Decimal("1.50")), plain_value([date(2024, 1, 2), Decimal(3)]), plain_value(timedelta(minutes=1))
    (1.5, ['2024-01-02', 3], 60.0)
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return None if value != value else value  # noqa: PLR0124
        case Decimal() if not value.is_finite():
            return plain_value(float(value))
        case Decimal():
            return int(value) if value == value.to_integral_value() else exact_number(value)
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case UUID():
            return str(value)
        case list() | tuple():
            return [plain_value(each) for each in value]
        case Mapping():
            return {str(name): plain_value(each) for name, each in value.items()}
    return value


def shortest_decimal(value: float | None, bits: int) -> float | None:
    """Return a number stored in 32 or 16 bits as its shortest decimal; NaN is missing. Its nearest 64-bit number has
    digits that nobody wrote.

    >>> shortest_decimal(0.10000000149011612, 32), shortest_decimal(0.0999755859375, 16)
    (0.1, 0.1)
    """
    import numpy as np

    if value is None or value != value:  # noqa: PLR0124
        return None
    return float(str((np.float32 if bits == 32 else np.float16)(value)))


@dataclass(frozen=True)
class _Signature:
    """A kind of file that is known by its first bytes, whatever its name says."""

    begins: re.Pattern[bytes]
    kind: str
    help: str
    suffixes: tuple[str, ...] = ()
    """The suffixes that such a file has."""


def _signature(begins: bytes, kind: str, help_: str, *suffixes: str) -> _Signature:
    return _Signature(re.compile(begins, re.DOTALL | re.IGNORECASE), kind, help_, suffixes)


SIGNATURES = (
    _signature(rb"\x1f\x8b\x08", "a gzip file", "add `.gz` to its name, or unpack it with `gunzip`"),
    _signature(rb"\x28\xb5\x2f\xfd", "a Zstandard file", "add `.zst` to its name, or unpack it with `unzstd`"),
    _signature(rb"BZh[1-9]1AY&SY", "a bzip2 file", "unpack it with `bunzip2`"),
    _signature(rb"\xfd7zXZ\0", "an xz file", "unpack it with `unxz`"),
    _signature(rb"PK\x03\x04.*\bxl/", "an Excel workbook", "let its name end in `.xlsx`", ".xlsx"),
    _signature(rb"PK\x03\x04", "a ZIP archive", "unpack it, and name the file that is in it", ".xlsx"),
    _signature(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of an old Excel (.xls)", RESAVE),
    _signature(rb"PAR1.*PAR1\Z", "a Parquet file", "let its name end in `.parquet`", ".parquet"),
    _signature(rb"ARROW1\0\0", "an Arrow file", "let its name end in `.arrow`", ".arrow", ".feather", ".ipc"),
    _signature(
        rb"SQLite format 3\0", "an SQLite database", "export its table as CSV: `sqlite3 -csv -header FILE QUERY`"
    ),
    _signature(rb"%PDF-\d", "a PDF document", "put its table into a spreadsheet, and save that as CSV"),
    _signature(rb"\s*<(!doctype )?html\b", "a web page", "download the file itself: a link to it may ask for a login"),
    _signature(
        rb"version https://git-lfs\.github\.com/spec/", "a pointer of Git LFS, not the data", "fetch it: `git lfs pull`"
    ),
)
"""Files that often have another name than they should."""
ENDS = 1 << 12
"""The number of bytes at either end of a file by which it is recognized."""


def _check_signature(path: Path, shown: str, limits: ReadLimits) -> None:
    """Raise `DataError` if the first bytes of a file show another kind than its suffix: read as text, some of them
    have rows."""
    with opened(path, shown, limits) as file:
        ends = file.read(ENDS)
        if not is_packed(path) and (rest := path.stat().st_size - ENDS) > 0:
            file.seek(max(ENDS, rest))
            ends += file.read(ENDS)
    found = next((each for each in SIGNATURES if each.begins.match(ends)), None)
    if found is not None and _format(path) not in found.suffixes:
        raise DataError(f"{shown} is {found.kind}", found.help)


BROKEN = (OSError, EOFError, UnicodeDecodeError, zlib.error)
"""The errors that reading a damaged file may raise."""
STANDARD = ReadLimits()
"""The limits for files of the user."""
ENCODING_READ = 1 << 16
"""The number of bytes from which a file's encoding is guessed."""
BATCH = 4_096
"""The number of Parquet rows read at a time: a small file may repeat one long text in each of them."""
DAMAGED = (SystemError, MemoryError, OverflowError, ValueError, TypeError)
"""Errors that Arrow raises for invalid lengths in a damaged file, besides its own."""


def rows_in(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Iterator[dict[str, Any]]:
    """Yield the records of a file one at a time; `shown` is the file's name in messages. Raises `DataError`."""
    for number, row in enumerate(_rows_in(path, shown, limits)):
        if number >= limits.rows:
            raise DataError(f"{shown} has more than {limits.rows:,} rows", "read fewer rows, or split the file")
        yield row


def _rows_in(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    try:
        check_size(path, shown, limits)
        read = _reader(path, shown, ROW_READERS)
        _check_signature(path, shown, limits)
        yield from read(path, shown, limits)
    except BROKEN as error:
        raise _broken(path, shown, error) from error


def document_in(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Any:
    """Return the content of a JSON or YAML file. A mapping with a repeated name becomes a list of mappings with one
    name each, so that no value is lost. Raises `DataError`."""
    try:
        read = _reader(path, shown, DOCUMENT_READERS)
        _check_signature(path, shown, limits)
        text = read_all(path, shown, limits)
        document = read(text, shown)
        check_nesting(document, shown)
        if LONE.search(text):
            check_characters(document)
        return document
    except InexactJson as error:
        raise DataError(f"{shown} cannot be read exactly: {error}", error.help) from error
    except BROKEN as error:
        raise _broken(path, shown, error) from error


def document_with_lines(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Any:
    """Return the same as `document_in`, with every text as `LocatedText`, which has its line, if lines are known.
    Raises `DataError`.

    The lines of JSON come from reading it as YAML, which contains JSON except for tabs; if the results differ, texts
    have no lines."""
    plain = document_in(path, shown, limits)
    try:
        text = read_all(path, shown, limits).decode("utf-8-sig")
        yaml_text = text.replace("\t", " ") if _format(path) == ".json" else text
        located = _yaml_document(yaml_text, shown, with_lines=True)
    except (DataError, UnicodeDecodeError):
        return plain
    return located if located == plain else plain


def unpacked_digest(path: Path, limits: ReadLimits = STANDARD) -> str | None:
    """Return the SHA-256 of the content of a compressed file; None for other files and damaged ones. Raises `DataError`
    if the content is too large."""
    if not is_packed(path):
        return None
    sha256 = hashlib.sha256()
    with suppress(*BROKEN), opened(path, path.name, limits) as file:
        while piece := file.read(PIECE):
            sha256.update(piece)
        return sha256.hexdigest()
    return None


def _broken(path: Path, shown: str, error: BaseException) -> DataError:
    """Return the error for a file that cannot be read, such as a damaged one."""
    if isinstance(error, UnicodeDecodeError):
        return _other_encoding(path, shown)
    return DataError(f"cannot read {shown}: {error}", "check that the file is whole")


def _other_encoding(path: Path, shown: str) -> DataError:
    """Return the error for a text that is not UTF-8. Its help says how a spreadsheet saves UTF-8 and, if the encoding
    can be guessed, which command converts the file."""
    help_ = "save it as UTF-8; in a spreadsheet that is `CSV UTF-8`"
    with opened(path, shown, STANDARD) as file:
        likely = encoding_of(file.read(ENCODING_READ))
    if likely is not None and not is_packed(path):
        command = to_utf8(likely, shown)
        help_ = f"save it as UTF-8; in a spreadsheet that is `CSV UTF-8`; or convert it: `{command}`"
    if likely in ("UTF-16", "UTF-32"):
        return DataError(f"{shown} is {likely}, not UTF-8", help_)
    with opened(path, shown, STANDARD) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                if likely is not None:
                    return DataError(f"line {number} of {shown} is not UTF-8, but likely {likely}", help_)
                byte = f"0x{line[error.start]:02x}"
                return DataError(f"line {number} of {shown} is not UTF-8: no text has the byte {byte} there", help_)
    return DataError(f"{shown} is not UTF-8", help_)


def _reader(path: Path, shown: str, readers: Mapping[str, ReaderT]) -> ReaderT:
    """Return the reader of a file's format. Raises `DataError` for an unknown one."""
    suffix = _format(path)
    if suffix not in readers:
        *others, last = (known for known in readers if known not in OTHER_SPELLINGS)
        raise DataError(f"`{shown}`: the format `{suffix}` is not known", f"use {', '.join(others)} or {last}")
    return readers[suffix]


def _format(path: Path) -> str:
    """Return the suffix that determines the format: `.csv` for `a.csv.gz`."""
    suffix = path.suffix.casefold()
    return Path(path.stem).suffix.casefold() if suffix in PACKED else suffix


# --- JSON ---


def _json(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    """Yield the records of an array, of JSON Lines, or of a file that is one object over several lines."""
    with opened(path, shown, limits) as file:
        first = next((line for line in lines_of(file, shown, limits, cut=True) if line.strip()), b"")
    if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from _array(path, shown, limits)
        return
    with opened(path, shown, limits) as file:
        lines = lines_of(file, shown, limits)
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = _record(_loads(line.strip(), shown, number), shown, number)
            except _Inexact:
                raise
            except DataError as broken:
                if number > 1:
                    raise
                following = next((each for each in lines if each.strip()), b"")
                try:
                    # The file may be one object over several lines.
                    record = _record(_loads(read_all(path, shown, limits), shown, 1), shown, 1)
                except DataError:
                    if _is_record(following):
                        raise broken from None
                    raise
                yield record
                return
            yield record


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _array(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    """Yield the records of an array. The list of values releases each record as it is yielded: callers convert it, and
    both forms of all records need not be in memory."""
    values = _loads(read_all(path, shown, limits), shown, 1)
    values.reverse()
    for number in range(1, len(values) + 1):
        yield _record(values.pop(), shown, number)


def _loads(text: bytes, shown: str, number: int) -> Any:
    """Return the value of a JSON text that begins in line `number` of its file. Raises `DataError`."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return load_json(text)
    except orjson.JSONDecodeError as error:
        text.decode()  # raises if it is not UTF-8, which is then the error to report
        line = number + min(error.lineno - 1, text.rstrip().count(b"\n"))  # a truncated document ends in its last line
        raise DataError(f"line {line} of {shown} is not JSON: {error.msg}", "fix that line") from error
    except InexactJson as error:
        where = shown if b"\n" in text.strip() else f"line {number} of {shown}"
        raise _Inexact(f"{where} cannot be read exactly: {error}", error.help) from error


class _Inexact(DataError):
    """Complete JSON that cannot be read without loss."""


def _record(value: Any, shown: str, number: int) -> dict[str, Any]:
    if isinstance(value, dict):
        check_nesting(value, f"record {number} of {shown}")
        return value
    kind = {"list": "list", "str": "text"}.get(type(value).__name__, "bare value")
    raise DataError(f"record {number} of {shown} is a {kind}, not an object", "every record needs named columns")


# --- tables ---


def _parquet(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
        if (size := sum(group.total_byte_size for group in groups)) > limits.data_bytes:
            raise too_large(shown, limits.data_bytes, f"{size:,} bytes once it is unpacked")
        for batch in file.iter_batches(BATCH):
            yield from _rows_of(batch, shown)
    except (pyarrow.ArrowException, *DAMAGED) as error:
        raise DataError(f"cannot read {shown}: {error}", "check that it is a Parquet file") from error


def _rows_of(batch: Any, shown: str) -> list[dict[str, Any]]:
    """Return the rows of a batch of columns. Raises `DataError` if a date or duration has no Python value, and if a
    length or an offset is invalid, which Arrow does not check unless asked: it would read other memory."""
    try:
        batch.validate(full=True)
        rows = cast("list[dict[str, Any]]", batch.to_pylist())
    except (OverflowError, ValueError) as error:
        help_ = "store it as text; check that the file is whole"
        raise DataError(f"{shown} holds a value that cannot be read: {error}", help_) from error
    converters = {field.name: convert for field in batch.schema if (convert := _converter(field.type)) is not None}
    for row in rows if converters else ():
        row.update({name: convert(row[name]) for name, convert in converters.items()})
    return rows


_NOT_JSON = re.compile(r"decimal|date|time|duration|interval|union|uuid", re.IGNORECASE)
"""Substrings of the names of Arrow types whose Python values are not JSON."""


def _converter(type_: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts a Python value of an Arrow type to JSON; None if all its values are JSON."""
    from pyarrow import BaseExtensionType, types

    if types.is_float32(type_) or types.is_float16(type_):
        return partial(shortest_decimal, bits=type_.bit_width)
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _converter(type_.value_type)
    if types.is_struct(type_):
        return _struct_converter({each.name: _converter(each.type) for each in type_})
    if types.is_map(type_):
        of_key, of_item = _converter(type_.key_type), _converter(type_.item_type)
        return lambda value: value and [[_converted(of_key, key), _converted(of_item, item)] for key, item in value]
    if types.is_nested(type_) and hasattr(type_, "value_type"):
        inner = _converter(type_.value_type)
        return None if inner is None else lambda value: value and [inner(each) for each in value]
    if isinstance(type_, BaseExtensionType) and not _NOT_JSON.search(str(type_)):
        return _converter(type_.storage_type)
    return plain_value if types.is_float64(type_) or _NOT_JSON.search(str(type_)) else None


def _struct_converter(fields: Mapping[str, Callable[[Any], Any] | None]) -> Callable[[Any], Any] | None:
    if not any(fields.values()):
        return None
    return lambda value: value and {name: _converted(fields[name], each) for name, each in value.items()}


def _converted(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if convert is None else convert(value)


def _arrow(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow IPC file or stream; Feather files are IPC files."""
    import pyarrow
    import pyarrow.ipc

    try:
        with pyarrow.OSFile(str(path)) as source:
            if source.read(6) == b"ARROW1":
                source.seek(0)
                file = pyarrow.ipc.open_file(source)
                for number in range(file.num_record_batches):
                    yield from _rows_of(file.get_batch(number), shown)
            else:
                source.seek(0)
                for batch in pyarrow.ipc.open_stream(source):
                    yield from _rows_of(batch, shown)
    except (pyarrow.ArrowException, *DAMAGED) as error:
        raise DataError(f"cannot read {shown}: {error}", "check that it is an Arrow IPC or Feather file") from error


# --- documents ---


def _mapping(pairs: list[tuple[Any, Any]]) -> Any:
    """Return a mapping of pairs; if a name is repeated, a list with a mapping for each pair."""
    names = [name for name, _ in pairs]
    return dict(pairs) if len(set(names)) == len(names) else [{name: value} for name, value in pairs]


def _json_document(text: bytes, shown: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"), object_pairs_hook=_mapping)
    except json.JSONDecodeError as error:
        raise DataError(f"line {error.lineno} of {shown} is not JSON: {error.msg}", "fix that line") from error
    except ValueError as error:  # Python limits the number of digits
        message = f"{shown} has a number of more than {sys.get_int_max_str_digits():,} digits"
        raise DataError(message, "put it in quotation marks") from error
    except RecursionError as error:
        raise DataError(f"{shown} is nested too deeply to be read", "check the file") from error


def _yaml_document(text: str, shown: str, *, with_lines: bool = False) -> Any:
    """Return the content of a YAML text; `with_lines`, its texts are `LocatedText`. Raises `DataError`."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A loader of plain values. It refuses aliases: each repeats a piece of the document, so a small file could
        become a huge value."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()  # type: ignore[no-untyped-call]
                message = "write the value of the alias"
                raise yaml.constructor.ConstructorError(None, None, message, event.start_mark)
            return super().compose_node(parent, index)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """Raise `DataError` for a date or a number that Python cannot represent: it must be quoted as a text."""
            try:
                value = super().construct_object(node, deep)
                str(value if isinstance(value, int) else "")  # `1:59:59…` may be a number with too many digits to print
            except ValueError as error:
                message = f"{error}; in quotation marks it is a text"
                raise yaml.constructor.ConstructorError(None, None, message, node.start_mark) from error
            return value

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Any:
        return _mapping([(_key(loader, key), loader.construct_object(value, deep=True)) for key, value in node.value])

    def with_line(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> LocatedText:
        return LocatedText(loader.construct_scalar(node), node.start_mark.line + 1)

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    if with_lines:
        Loader.add_constructor("tag:yaml.org,2002:str", with_line)
    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1} of {shown}" if mark is not None else shown
        raise DataError(f"{where} is not YAML: {error.problem}", "fix that line") from error
    except yaml.YAMLError as error:
        raise DataError(f"{shown} is not YAML: {error}", "check the file") from error
    except RecursionError as error:
        raise DataError(f"{shown} is nested too deeply to be read", "check the file") from error


LONGEST_KEY = 200
"""The number of characters that are kept of a key that is itself a list or a mapping."""


def _key(loader: Any, node: Any) -> Any:
    """Return a key of a mapping. A key that is a list or a mapping becomes text, since such keys are not supported, and
    is cut, since a text in nested keys grows with every level: its quotation marks are quoted again."""
    key = loader.construct_object(node, deep=True)
    return key if isinstance(key, str | int | float | bool | None) else str(key)[:LONGEST_KEY]


def _separated(delimiter: str | None) -> RowReader:
    return lambda path, shown, limits: delimited_rows(
        lambda: opened(path, shown, limits), shown, delimiter, most=limits.whole_bytes
    )


ROW_READERS: Mapping[str, RowReader] = {
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".csv": _separated(None),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
    ".xlsx": lambda path, shown, limits: workbook_rows(path, shown, limits.whole_bytes),
}
"""The readers of files with records, by suffix."""
DOCUMENT_READERS: Mapping[str, Callable[[bytes, str], Any]] = {
    ".json": _json_document,
    ".yaml": lambda text, shown: _yaml_document(text.decode("utf-8-sig"), shown),
    ".yml": lambda text, shown: _yaml_document(text.decode("utf-8-sig"), shown),
}
"""The readers of documents, by suffix."""
OTHER_SPELLINGS = (".ndjson", ".ipc", ".yml")
"""The suffixes that messages leave out, since another one means the same format."""
