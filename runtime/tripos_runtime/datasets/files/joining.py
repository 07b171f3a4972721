"""The files of a data set, found again at run time, and the rows of files that are joined by a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tripos_compiler.plan import DataFile, Dataset
from tripos_compiler.source import DataError, DataReader, FoundFile, JoinedFiles

Record = dict[str, Any]
Read = Callable[[FoundFile], Iterator[Record]]
Key = tuple[str | None, ...]
"""What a row is found by: the value of its column, and what the names of files say."""


def files_of(
    reader: DataReader, source: str, spec_files: tuple[str, ...], wanted: Mapping[str, str]
) -> Iterator[FoundFile]:
    """Yield the files of a source again, at run time: those that were compiled, by path and SHA-256 (`wanted`).

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


def dataset_files(reader: DataReader, dataset: Dataset, spec_files: tuple[str, ...]) -> Iterator[FoundFile]:
    """Yield the files of the rows of a data set again, with those that are joined to them. Raises `DataError`."""
    joined = tuple(
        JoinedFiles(
            tuple(files_of(reader, join.source, spec_files, _digests(join.files))),
            join.column,
            join.other,
            join.columns,
        )
        for join in dataset.joins
    )
    for file in files_of(reader, dataset.source, spec_files, _digests(dataset.files)):
        yield replace(file, joined=joined)


def _digests(files: tuple[DataFile, ...]) -> dict[str, str]:
    return {file.path: file.sha256 for file in files}


def joined_rows(file: FoundFile, read: Read) -> Iterator[Record]:
    """Yield the records of a file with the columns of those that are joined to it; `read` gives the records of one file
    alone. A record without a match has no more than its own. Raises `DataError`."""
    records = read(file)
    for joined in file.joined:
        records = _joined(file, records, joined, read)
    yield from records


def _joined(file: FoundFile, records: Iterator[Record], joined: JoinedFiles, read: Read) -> Iterator[Record]:
    there = [each for each in joined.files if _belongs(each, file)]
    if not there:
        message = f"none of the files that are joined is one for {file.path}"
        raise DataError(message, "let the names of both agree in what stands in braces")
    rows: dict[Key, tuple[str, Record]] | None = None
    names: tuple[str, ...] = ()
    found = number = 0
    for number, record in enumerate(records, 1):
        row = {**file.captures, **record}
        if rows is None:
            names = tuple(sorted(name for name in _captured(there) if name in row and name != joined.other))
            rows = _by_key(there, joined, names, read)
        key = key_text(row.get(joined.column))
        if key is None:
            message = f"row {number} of {file.path} has no single value in `{joined.column}`, by which files are joined"
            raise DataError(message, "give every row a text or a number there")
        path, other = rows.get((key, *(key_text(row.get(name)) for name in names)), ("", None))
        found += other is not None
        where = f"row {number} of {file.path}"
        yield record if other is None else _with_columns(record, other, joined, where, path)
    if number and not found:
        first = there[0].path
        message = f"no row of {first} has in `{joined.other}` what a row of {file.path} has in `{joined.column}`"
        raise DataError(message, f'name the columns that agree: `on "{joined.column}" to "…"`')


def _belongs(other: FoundFile, file: FoundFile) -> bool:
    """Return true if the names of two files agree in what both say."""
    return all(file.captures[name] == said for name, said in other.captures.items() if name in file.captures)


def _captured(files: list[FoundFile]) -> set[str]:
    """Return what the names of files say."""
    return {name for file in files for name in file.captures}


def _by_key(
    files: list[FoundFile], joined: JoinedFiles, names: tuple[str, ...], read: Read
) -> dict[Key, tuple[str, Record]]:
    """Return the rows of files by their key, and what the names of the files say of `names`, each with the path of its
    file. Raises `DataError` where two have one."""
    found: dict[Key, tuple[str, Record]] = {}
    wanted = {joined.other, *joined.columns}
    for file in files:
        for number, record in enumerate(read(file), 1):
            row = {**file.captures, **record}
            key = key_text(row.get(joined.other))
            if key is None:
                message = f"row {number} of {file.path} has no single value in `{joined.other}`"
                raise DataError(message, "name the column by which its rows are found, and give every row a value")
            place = (key, *(key_text(row[name]) for name in names))
            if place in found:
                before = found[place][0]
                where = file.path if before == file.path else f"{before} and {file.path}"
                message = f"two rows of {where} have `{key}` in `{joined.other}`"
                raise DataError(message, "leave one, for a row gets the columns of one other row")
            found[place] = (file.path, {name: value for name, value in row.items() if name in wanted})
    return found


def _with_columns(record: Record, other: Record, joined: JoinedFiles, where: str, path: str) -> Record:
    """Return a record with the columns of its row in another file. Raises `DataError` where the two disagree."""
    added = {}
    for name in joined.columns:
        own = record.get(name)
        if name not in other:
            continue
        if own is None:
            added[name] = other[name]
        elif name != joined.other and own != other[name] and key_text(own) != key_text(other[name]):
            message = f"{where} has another `{name}` than its row of {path}"
            raise DataError(message, "rename the column in one of the files")
    return {**record, **added}


def key_text(value: Any) -> str | None:
    """Return the text by which a row is found: the number 7 of one file is the text `7` of another. None of a value
    that is missing, or that is none or several.

    >>> key_text(7), key_text("7"), key_text(7.0), key_text(7.5), key_text(""), key_text([7]), key_text(True)
    ('7', '7', '7', '7.5', None, None, None)
    """
    match value:
        case bool() | None:
            return None
        case float() if value.is_integer():
            return str(int(value))
        case int() | float():
            return str(value)
        case str():
            return value.strip() or None
        case _:
            return None
