"""The formats of data files: JSON Lines, JSON, CSV, Parquet, Arrow and Excel to records; JSON and YAML to documents.

The layout is told from the content where the name misleads: a `.json` file may hold JSON Lines. What ends in `.gz` or
`.zst` is decompressed on the way.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import orjson

from tripos_compiler.diagnostics import encoding_of, to_utf8
from tripos_compiler.language import LONE, InexactJson, check_characters, load_json
from tripos_compiler.source import DataError, LocatedText
from tripos_runtime.datasets.files.decompression import (
    PACKED,
    check_nesting,
    check_size,
    is_packed,
    lines_of,
    opened,
    too_large,
    whole,
)
from tripos_runtime.datasets.files.plain_values import plain_value, shortest_decimal
from tripos_runtime.datasets.files.tabular import delimited_rows
from tripos_runtime.datasets.trust import ReadLimits

ROWS = ".jsonl, .json, .csv, .tsv, .parquet, .arrow, .feather or .xlsx"
DOCUMENTS = ".json or .yaml"
BROKEN = (OSError, EOFError, UnicodeDecodeError, zlib.error)
"""Errors that reading a damaged file may raise."""
STANDARD = ReadLimits()
ENCODING_READ = 1 << 16
"""Bytes of a file that tell its encoding."""
BATCH = 4_096
"""Rows of a Parquet file that are made at a time: a small file may say the same long text in each of them."""
DAMAGED = (SystemError, MemoryError, OverflowError, ValueError, TypeError)
"""Errors that Arrow raises besides, where the lengths in a damaged file are none."""


def rows_in(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, one at a time; `shown` is what the file is called in messages. Raises
    `DataError`."""
    for number, row in enumerate(_rows_in(path, shown, limits)):
        if number >= limits.rows:
            raise DataError(f"{shown} has more than {limits.rows:,} rows", "read fewer rows, or split the file")
        yield row


def _rows_in(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
    try:
        check_size(path, shown, limits)
        match _format(path):
            case ".jsonl" | ".json" | ".ndjson":
                yield from _json(path, shown, limits)
            case ".csv":
                yield from delimited_rows(lambda: opened(path, shown, limits), shown, most=limits.whole_bytes)
            case ".tsv":
                yield from delimited_rows(lambda: opened(path, shown, limits), shown, "\t", most=limits.whole_bytes)
            case ".parquet":
                yield from _parquet(path, shown, limits)
            case ".arrow" | ".feather" | ".ipc":
                yield from _arrow(path, shown)
            case ".xlsx":
                from tripos_runtime.datasets.files.tabular import workbook_rows

                yield from workbook_rows(path, shown, limits.whole_bytes)
            case suffix:
                raise DataError(f"`{shown}`: the format `{suffix}` is not known", f"use {ROWS}")
    except BROKEN as error:
        raise _broken(path, shown, error) from error


def document_in(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Any:
    """Return what a JSON or YAML file says. A mapping in which a name stands twice is a list of mappings of one name
    each, so that neither is lost. Raises `DataError`."""
    try:
        match _format(path):
            case ".json":
                text = whole(path, shown, limits)
                document = _json_document(text, shown)
            case ".yaml" | ".yml":
                text = whole(path, shown, limits)
                document = _yaml_document(text.decode("utf-8-sig"), shown)
            case suffix:
                raise DataError(f"`{shown}`: the format `{suffix}` is not known", f"use {DOCUMENTS}")
        check_nesting(document, shown)
        if LONE.search(text):
            check_characters(document)
        return document
    except InexactJson as error:
        raise DataError(f"{shown} cannot be read exactly: {error}", error.help) from error
    except BROKEN as error:
        raise _broken(path, shown, error) from error


def placed_in(path: Path, shown: str, limits: ReadLimits = STANDARD) -> Any:
    """As `document_in`, and every text is `LocatedText`, where the lines can be told. Raises `DataError`.

    The lines of JSON are told by reading it as YAML, of which it is a part but for tabs; where that does not come to
    the same, texts have no lines.
    """
    plain = document_in(path, shown, limits)
    try:
        text = whole(path, shown, limits).decode("utf-8-sig")
        placed = _yaml_document(text.replace("\t", " ") if _format(path) == ".json" else text, shown, placed=True)
    except (DataError, UnicodeDecodeError):
        return plain
    return placed if placed == plain else plain


def unpacked_digest(path: Path, limits: ReadLimits = STANDARD) -> str | None:
    """Return the SHA-256 of what a compressed file holds; None of any other, and of one that is damaged. Raises
    `DataError` for one that holds too much."""
    if not is_packed(path):
        return None
    found = hashlib.sha256()
    with suppress(*BROKEN), opened(path, path.name, limits) as file:
        while piece := file.read(1 << 20):
            found.update(piece)
        return found.hexdigest()
    return None


def _broken(path: Path, shown: str, error: BaseException) -> DataError:
    if isinstance(error, UnicodeDecodeError):
        return _other_encoding(path, shown)
    return DataError(f"cannot read {shown}: {error}", "check that the file is whole")


def _other_encoding(path: Path, shown: str) -> DataError:
    """Return what to say of a text that is not UTF-8: how spreadsheets and editors save it so."""
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


def _format(path: Path) -> str:
    """Return the suffix that tells the format: `.csv` of `a.csv.gz`."""
    suffix = path.suffix.casefold()
    return Path(path.stem).suffix.casefold() if suffix in PACKED else suffix


# --- JSON ---


def _json(path: Path, shown: str, limits: ReadLimits) -> Iterator[dict[str, Any]]:
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
                    record = _record(
                        _loads(whole(path, shown, limits), shown, 1), shown, 1
                    )  # an object of several lines
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
    """Yield the records of an array, each let go of as it is handed on, for those who keep it keep it in their own
    form."""
    values = _loads(whole(path, shown, limits), shown, 1)
    values.reverse()
    for number in range(1, len(values) + 1):
        yield _record(values.pop(), shown, number)


def _loads(text: bytes, shown: str, number: int) -> Any:
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return load_json(text)
    except orjson.JSONDecodeError as error:
        text.decode()  # raises where it is not UTF-8, and that is what to mend
        line = number + min(
            error.lineno - 1, text.rstrip().count(b"\n")
        )  # one that ends too soon ends in its last line
        raise DataError(f"line {line} of {shown} is not JSON: {error.msg}", "mend that line") from error
    except InexactJson as error:
        where = shown if b"\n" in text.strip() else f"line {number} of {shown}"
        raise _Inexact(f"{where} cannot be read exactly: {error}", error.help) from error


class _Inexact(DataError):
    """JSON that is whole but cannot be read without loss."""


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
    """Return the rows of a batch of columns, which may hold dates and durations that Python has no value for, and
    lengths and places that are not those of its bytes: Arrow would read on regardless."""
    try:
        batch.validate(full=True)
        rows = cast("list[dict[str, Any]]", batch.to_pylist())
    except (OverflowError, ValueError) as error:
        help_ = "store it as text; check that the file is whole"
        raise DataError(f"{shown} holds a value that cannot be read: {error}", help_) from error
    odd = {field.name: told for field in batch.schema if (told := _reader(field.type)) is not None}
    for row in rows if odd else ():
        row.update({name: told(row[name]) for name, told in odd.items()})
    return rows


_ODD = re.compile(r"decimal|date|time|duration|interval|union|uuid", re.IGNORECASE)
"""What stands in the names of types of Arrow whose values JSON has not."""


def _reader(type_: Any) -> Callable[[Any], Any] | None:
    """Return the function that makes a value of JSON of one of a type of Arrow; None if each is one already."""
    from pyarrow import BaseExtensionType, types

    if types.is_float32(type_) or types.is_float16(type_):
        return partial(shortest_decimal, bits=type_.bit_width)
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _reader(type_.value_type)
    if types.is_struct(type_):
        return _reader_of_parts({each.name: _reader(each.type) for each in type_})
    if types.is_map(type_):
        key, item = _reader(type_.key_type), _reader(type_.item_type)
        return lambda value: value and [[_read(key, one), _read(item, other)] for one, other in value]
    if types.is_nested(type_) and hasattr(type_, "value_type"):
        inner = _reader(type_.value_type)
        return None if inner is None else lambda value: value and [inner(each) for each in value]
    if isinstance(type_, BaseExtensionType) and not _ODD.search(str(type_)):
        return _reader(type_.storage_type)
    return plain_value if types.is_float64(type_) or _ODD.search(str(type_)) else None


def _reader_of_parts(parts: Mapping[str, Callable[[Any], Any] | None]) -> Callable[[Any], Any] | None:
    if not any(parts.values()):
        return None
    return lambda value: value and {name: _read(parts[name], each) for name, each in value.items()}


def _read(reader: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if reader is None else reader(value)


def _arrow(path: Path, shown: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow IPC file or stream; Feather files are the former."""
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
    """Return a mapping of pairs; where a name stands twice, a list with a mapping for each."""
    names = [name for name, _ in pairs]
    return dict(pairs) if len(set(names)) == len(names) else [{name: value} for name, value in pairs]


def _json_document(text: bytes, shown: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"), object_pairs_hook=_mapping)
    except json.JSONDecodeError as error:
        raise DataError(f"line {error.lineno} of {shown} is not JSON: {error.msg}", "mend that line") from error
    except ValueError as error:  # Python reads no number of more digits than these
        message = f"{shown} has a number of more than {sys.get_int_max_str_digits():,} digits"
        raise DataError(message, "put it in quotation marks") from error
    except RecursionError as error:
        raise DataError(f"{shown} is nested too deeply to be read", "check the file") from error


def _yaml_document(text: str, shown: str, *, placed: bool = False) -> Any:
    """Return what a text in YAML says; with `placed`, its texts know their lines."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Plain values only. An alias would make one piece stand in several places, and a small file a huge one."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()  # type: ignore[no-untyped-call]
                message = "write the value of the alias"
                raise yaml.constructor.ConstructorError(None, None, message, event.start_mark)
            return super().compose_node(parent, index)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """Return what is written like a date or a number and is none that Python has must be marked as a text."""
            try:
                value = super().construct_object(node, deep)
                str(value if isinstance(value, int) else "")  # `1:59:59…` comes to a number that none can print
            except ValueError as error:
                message = f"{error}; in quotation marks it is a text"
                raise yaml.constructor.ConstructorError(None, None, message, node.start_mark) from error
            return value

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Any:
        return _mapping([(_key(loader, key), loader.construct_object(value, deep=True)) for key, value in node.value])

    def with_line(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> LocatedText:
        return LocatedText(loader.construct_scalar(node), node.start_mark.line + 1)

    Loader.add_constructor("tag:yaml.org,2002:map", mapping)
    if placed:
        Loader.add_constructor("tag:yaml.org,2002:str", with_line)
    try:
        return yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1} of {shown}" if mark is not None else shown
        raise DataError(f"{where} is not YAML: {error.problem}", "mend that line") from error
    except yaml.YAMLError as error:
        raise DataError(f"{shown} is not YAML: {error}", "check the file") from error
    except RecursionError as error:
        raise DataError(f"{shown} is nested too deeply to be read", "check the file") from error


LONGEST_KEY = 200
"""Characters of a name of a mapping that is itself a list or mapping."""


def _key(loader: Any, node: Any) -> Any:
    """Return a name of a mapping; one that is itself a list or mapping is told as text, for nothing can be looked up by
    it, and cut: a text in a text in a text is quoted again at every level."""
    key = loader.construct_object(node, deep=True)
    return key if isinstance(key, str | int | float | bool | None) else str(key)[:LONGEST_KEY]
