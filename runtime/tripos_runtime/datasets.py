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
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from tripos_compiler.data import DataError, FoundFile
from tripos_compiler.diagnostics import nearest

WILD = re.compile(r"(\{\w+\}|\*)")
MOST_NAMES = 1000
"""So many names of a folder are looked at for one like a name that is not there."""
FORMATS = ".jsonl, .json, .csv or .parquet"


@dataclass(frozen=True)
class DataFolders:
    """Looks for a source first beside the spec that names it, then in each of `folders`."""

    folders: tuple[Path, ...] = ()

    def find(self, source: str, near: str) -> list[FoundFile]:
        """The files that `source` means, sorted by path. `*` matches within a name, `{field}` also captures it, and
        where it stands twice it matches the same text.

        Raises `DataError` where there is none.
        """
        path = Path(source)
        folders = (_fixed(path),) if path.is_absolute() else (Path(near).parent, *self.folders)
        inside = path.relative_to(folders[0]) if path.is_absolute() else path
        for folder in folders:
            found = _matching(folder, inside.as_posix())
            if found:
                return [_file(folder, path, captures) for path, captures in found]
        places = ", ".join(f"`{folder}`" for folder in folders)
        close = next(filter(None, (_nearest(folder, inside) for folder in folders)), None)
        if close is not None:
            help_ = f"did you mean `{close}`?"
        else:
            help_ = "check the path" if path.is_absolute() else "give the folder that holds it with --data DIR"
        raise DataError(f"no file `{inside.as_posix()}` in {places}", help_)

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


def _file(folder: Path, path: Path, captures: dict[str, str]) -> FoundFile:
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    return FoundFile(path.relative_to(folder).as_posix(), str(path), sha256, captures)


def _matching(folder: Path, source: str) -> list[tuple[Path, dict[str, str]]]:
    """The files below a folder that a relative path means, and what it captures of their names."""
    if not _is_wild(source):
        return [(folder / source, {})] if (folder / source).is_file() else []
    pattern = "".join("*" if _is_wild(part) else glob.escape(part) for part in WILD.split(source))
    regex = re.compile(_regex(source))
    found: list[tuple[Path, dict[str, str]]] = []
    for name in sorted(glob.glob(str(Path(glob.escape(str(folder))) / pattern))):  # noqa: PTH207
        match = regex.fullmatch(Path(name).relative_to(folder).as_posix())
        if match and Path(name).is_file():
            found.append((Path(name), match.groupdict()))
    return found


def _is_wild(source: str) -> bool:
    return any(part == "*" or _captured(part) for part in WILD.split(source))


def _captured(part: str) -> str | None:
    """The field that a part of a name is captured as; `{1a}` cannot name one and stands for itself."""
    name = part[1:-1]
    return name if part == f"{{{name}}}" and name.isidentifier() else None


def _regex(source: str) -> str:
    regex = ""
    for part in WILD.split(source):
        name = _captured(part)
        if name is None:
            regex += "[^/]*" if part == "*" else re.escape(part)
        else:
            group = f"(?P<{name}>"
            regex += f"(?P={name})" if group in regex else f"{group}[^/]+?)"
    return regex


def _fixed(path: Path) -> Path:
    """The folder of an absolute path up to its first part that is not a plain name, or that holds its file."""
    return next((folder for folder in reversed(path.parents) if _is_wild(folder.name)), path).parent


def _nearest(folder: Path, source: Path) -> str | None:
    """A path like `source` that a folder does hold, or as much of one as it holds; None where nothing is like it."""
    kept = Path()
    for part in source.parts:
        name: str | None = part
        if not _is_wild(part) and not (folder / kept / part).exists():
            try:
                name = nearest(part, islice((entry.name for entry in (folder / kept).iterdir()), MOST_NAMES))
            except OSError:
                name = None
        if name is None:
            break
        kept /= name
    if _matching(folder, kept.as_posix()):
        return kept.as_posix()
    return f"{kept.as_posix()}/" if kept.parts != source.parts[: len(kept.parts)] else None


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
    for near in {Path(spec_file).parent: spec_file for spec_file in spec_files}.values():
        if all(each in found for each in wanted.items()):
            break
        try:
            found.update({(file.path, file.sha256): file for file in reader.find(source, near)})
        except DataError:
            continue
    for path, sha256 in wanted.items():
        if (path, sha256) not in found:
            raise DataError(f"`{path}` changed while the run was starting", "run again")
        yield found[path, sha256]
