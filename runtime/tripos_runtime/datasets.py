"""Finds and reads data files: JSON Lines, JSON arrays, CSV and Parquet.

The format is told from the content where the name misleads: a `.json` file may hold JSON Lines.
"""

from __future__ import annotations

import csv
import glob
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.data import DataError, FoundFile

CAPTURE = re.compile(r"\{(\w+)\}")
FORMATS = ".jsonl, .json, .csv or .parquet"


@dataclass(frozen=True)
class DataFolders:
    """Looks for a source first beside the spec that names it, then in each of `folders`."""

    folders: tuple[Path, ...] = ()

    def find(self, source: str, near: str) -> list[FoundFile]:
        """The files that `source` means, sorted by path. `*` matches within a name, `{field}` also captures it.

        Raises `DataError` where there is none.
        """
        looked: list[str] = []
        for folder in (Path(near).parent, *self.folders):
            looked.append(str(folder))
            found = [self._found(folder, path, source) for path in _matching(folder, source)]
            if found:
                return found
        places = ", ".join(f"`{place}`" for place in looked)
        raise DataError(f"no file `{source}` in {places}", "give the folder that holds it with --data DIR")

    def _found(self, folder: Path, path: Path, source: str) -> FoundFile:
        inside = path.relative_to(folder).as_posix()
        match = re.fullmatch(_pattern(source), inside)
        captures = match.groupdict() if match else {}
        try:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
        return FoundFile(inside, str(path), sha256, captures)

    def rows(self, file: FoundFile) -> Iterator[dict[str, Any]]:
        """The raw records of a file. Raises `DataError` with the line where one cannot be read."""
        path = Path(file.location)
        try:
            match path.suffix.casefold():
                case ".jsonl" | ".json" | ".ndjson":
                    yield from _json(path, file.path)
                case ".csv":
                    yield from _csv(path)
                case ".parquet":
                    yield from _parquet(path)
                case suffix:
                    raise DataError(f"`{file.path}`: the format `{suffix}` is not known", f"use {FORMATS}")
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"cannot read {file.path}: {error}", "check the file; text must be UTF-8") from error


def _matching(folder: Path, source: str) -> list[Path]:
    pattern = CAPTURE.sub("*", source)
    if not glob.has_magic(pattern):
        path = folder / pattern
        return [path] if path.is_file() else []
    escaped = Path(glob.escape(str(folder))) / pattern
    return sorted(Path(path) for path in glob.glob(str(escaped)) if Path(path).is_file())  # noqa: PTH207


def _pattern(source: str) -> str:
    parts = re.split(r"(\{\w+\}|\*)", source)
    regex = ""
    for part in parts:
        capture = CAPTURE.fullmatch(part)
        if capture:
            regex += f"(?P<{capture[1]}>[^/]+?)"
        else:
            regex += "[^/]*" if part == "*" else re.escape(part)
    return regex


def _json(path: Path, shown: str) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        first = next((line for line in file if line.strip()), b"")
    if first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from _records(_loads(path.read_bytes(), shown, 1), shown)
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield from _records([_loads(line.strip(), shown, number)], shown, number)
            except DataError:
                if number > 1:
                    raise
                # One JSON object over several lines.
                yield from _records([_loads(path.read_bytes(), shown, 1)], shown)
                return


def _loads(text: bytes, shown: str, number: int) -> Any:
    try:
        return orjson.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        line = number + error.lineno - 1
        raise DataError(f"line {line} of {shown} is not JSON: {error.msg}", "mend that line") from error


def _records(values: Any, shown: str, first: int = 1) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(values, first):
        if not isinstance(value, dict):
            kind = {"list": "list", "str": "text"}.get(type(value).__name__, "bare value")
            raise DataError(
                f"record {number} of {shown} is a {kind}, not an object", "every record needs named columns"
            )
        yield value


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            yield {key: value for key, value in row.items() if key is not None}


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        for batch in file.iter_batches():
            yield from batch.to_pylist()
    except pyarrow.ArrowException as error:
        raise DataError(f"cannot read {path.name}: {error}", "check that it is a Parquet file") from error


def files_of(
    reader: DataFolders, source: str, spec_files: tuple[str, ...], wanted: Mapping[str, str]
) -> Iterator[FoundFile]:
    """The files of a data set again, at run time: those that were compiled, by path and SHA-256 (`wanted`).

    Raises `DataError` where one has gone or changed since.
    """
    found: dict[tuple[str, str], FoundFile] = {}
    for near in spec_files:
        try:
            found.update({(file.path, file.sha256): file for file in reader.find(source, near)})
        except DataError:
            continue
    for path, sha256 in wanted.items():
        if (path, sha256) not in found:
            raise DataError(f"`{path}` changed while the run was starting", "run again")
        yield found[path, sha256]
