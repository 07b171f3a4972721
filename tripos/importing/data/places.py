"""Where rows are imported from: files, a data set of the Hub, a table or query of a database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.settings import SourceFolder
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.source import DataError
from tripos_runtime.datasets import HUB, TRUSTED, Trust, plain_value, shortest_decimal

NEW = "R0209"
READ = 50_000
"""Rows that tell the types; the compiler checks the rest."""
SQLITE, DUCKDB = (".sqlite", ".sqlite3", ".db"), (".duckdb",)
DATABASES = (*SQLITE, *DUCKDB)
"""The ends of the names of files that are databases."""
DATA = re.compile(r".+\.(jsonl|ndjson|json|csv|tsv|parquet|arrow|feather|xlsx)(\.gz|\.zst)?", re.IGNORECASE)
PART = re.compile(r"-\d{5}-of-\d{5}(?=\.)")
"""How the Hub numbers the files of one split."""
ABOUT = frozenset({"dataset_infos.json", "dataset_info.json", "croissant.json", "package.json"})


def rows_of_files(
    source: str, near: Path, folders: Sequence[Path], trust: Trust = TRUSTED, *, outside: bool = False
) -> tuple[list[dict[str, Any]], Path]:
    """Return the first rows of the files that `source` means for a spec at `near`, with what names of files capture,
    and the folder of the first file. The folder that `source` names may be read, and with `outside` what links there
    lead to. Raises `Failure`."""
    place = near if source.startswith(HUB) else near.parent / source  # what is fetched lies beside the spec
    named = SourceFolder.of_pattern(place, trust, outside=outside, folders=folders)
    looked = replace(named.data, folders=tuple(folders))
    try:
        files = looked.find(source, str(near))
        rows = ({**file.captures, **row} for file in files for row in looked.rows(file))
        found = list(islice(rows, READ))
    except DataError as error:
        raise Failure(NEW, error.message, error.help) from error
    if not any(found):
        raise Failure(NEW, f"`{source}` has no rows", "give a file with at least one row")
    return found, Path(files[0].location).parent


# --- the Hub ---


def files_of_hub(names: Sequence[str], split: str | None) -> str:
    """Return the pattern of the files of one split, among the names of files of a data set. Raises `Failure` where
    they are of several splits or configurations, with what to choose from.

    >>> files_of_hub(["README.md", "data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet"], None)
    'data/test-*.parquet'
    >>> files_of_hub(["main/train.jsonl", "main/test.jsonl"], "test")
    'main/test.jsonl'
    """
    known = [name for name in names if DATA.fullmatch(name) and Path(name).name not in ABOUT]
    patterns = list(dict.fromkeys(PART.sub("-*", name) for name in known))
    if split is not None:
        patterns = [each for each in patterns if split in _words(each)]
    if len(patterns) == 1:
        return patterns[0]
    listed = list(dict.fromkeys(PART.sub("-*", name) for name in known))
    if not listed:
        raise Failure(NEW, "the data set has no file that Tripos reads", "see its page: rows may be made by a program")
    shown = ", ".join(listed[:6]) + (f" and {len(listed) - 6:,} more" if len(listed) > 6 else "")
    if split is not None and not patterns:
        close = nearest(split, sorted({word for each in listed for word in _words(each)}))
        hint = f"did you mean `{close}`?" if close else f"its files: {shown}"
        raise Failure(NEW, f"the data set has no files of `{split}`", hint)
    hint = "give the path of one, hf://OWNER/NAME/PATH, or `--split NAME`"
    raise Failure(NEW, f"the data set has several files: {shown}", hint)


def _words(path: str) -> list[str]:
    """Return the words in a path that can name a split: folders, and parts of the name of the file."""
    *folders, name = path.split("/")
    return [*folders, *re.split(r"[-_.*]+", name)]


# --- databases ---


def rows_of_database(
    path: Path, query: str | None, trust: Trust = TRUSTED, *, outside: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a query to a database in a file, or of its only table. Nothing of the database, such as a view,
    reads another file, unless `outside` is given. Raises `Failure`.

    A value that JSON has not becomes text as ISO 8601 writes it, and a decimal number a number.
    """
    file = SourceFolder.around(path, trust, outside=outside).file(path)
    try:
        with file.opened():
            pass
    except FileNotFoundError as error:
        raise Failure(NEW, f"there is no file `{path}`", "check the path") from error
    except OSError as error:
        raise Failure(NEW, f"cannot read `{path}`: {error.strerror}", "check the path") from error
    duckdb = path.suffix.casefold() in DUCKDB
    rows = _from_duckdb(path, query, outside=outside) if duckdb else _from_sqlite(path, query)
    for number, row in enumerate(rows):
        if number >= trust.limits.rows:
            raise Failure(NEW, f"`{path.name}` gives more than {trust.limits.rows:,} rows", "ask for fewer: --query")
        yield row


def _from_sqlite(path: Path, query: str | None) -> Iterator[dict[str, Any]]:
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            listed = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
            asked = query or _only_table([name for (name,) in connection.execute(listed)], path)
            cursor = connection.execute(asked)
            yield from _rows([each[0] for each in cursor.description or ()], cursor, path)
    except sqlite3.Error as error:
        raise Failure(NEW, f"`{path.name}` cannot be read: {_first_line(error)}", _hint(query)) from error


def _from_duckdb(path: Path, query: str | None, *, outside: bool) -> Iterator[dict[str, Any]]:
    import duckdb

    try:
        config: dict[str, str | bool | int | float | list[str]] = {
            "enable_external_access": outside,
            "autoload_known_extensions": outside,
        }
        with duckdb.connect(str(path), read_only=True, config=config) as connection:
            listed = "select table_name from information_schema.tables order by 1"
            asked = query or _only_table([name for (name,) in connection.execute(listed).fetchall()], path)
            cursor = connection.execute(asked)
            columns = [(each[0], _reader(each[1])) for each in cursor.description or ()]
            found = (
                tuple(read(value) for (_, read), value in zip(columns, row, strict=True))
                for row in iter(cursor.fetchone, None)
            )
            yield from _rows([name for name, _ in columns], found, path)
    except duckdb.Error as error:
        raise Failure(NEW, f"`{path.name}` cannot be read: {_first_line(error)}", _hint(query)) from error


def _reader(type_: Any) -> Callable[[Any], Any]:
    """Return the function that gives the numbers of a type of DuckDB as their shortest decimals."""
    match type_.id:
        case "float":
            return partial(shortest_decimal, bits=32)
        case "list" | "array":
            inner = _reader(type_.children[0][1])
            return lambda value: None if value is None else [inner(each) for each in value]
        case "struct":
            parts = {name: _reader(of) for name, of in type_.children}
            return lambda value: None if value is None else {name: parts[name](each) for name, each in value.items()}
        case "map":
            inner = _reader(dict(type_.children)["value"])
            return lambda value: None if value is None else {name: inner(each) for name, each in value.items()}
    return lambda value: value


def _only_table(names: Sequence[str], path: Path) -> str:
    if len(names) != 1:
        told = (
            f"`{path.name}` has {len(names):,} tables: {', '.join(names[:8])}"
            if names
            else f"`{path.name}` has no table"
        )
        raise Failure(NEW, told, 'say which rows: --query "select … from …"')
    quoted = names[0].replace('"', '""')
    return f'select * from "{quoted}"'


def _rows(names: Sequence[str], found: Any, path: Path) -> Iterator[dict[str, Any]]:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise Failure(NEW, f"the query gives two columns `{twice}`", "name them apart: `select … as …`")
    for row in found:
        yield {name: _written(value, name, path) for name, value in zip(names, row, strict=True)}


def _written(value: Any, name: str, path: Path) -> Any:
    """Return a value as JSON has it. Raises `Failure` for one that it has not."""
    plain = plain_value(value)
    lacking = next(_of_no_json(plain), None)
    if lacking is None:
        return plain
    kind = "bytes" if isinstance(lacking, bytes) else type(lacking).__name__
    raise Failure(
        NEW, f"column `{name}` of `{path.name}` holds {kind}", "leave it out of the query, or cast it to text"
    )


def _of_no_json(value: Any) -> Iterator[Any]:
    match value:
        case None | bool() | int() | float() | str():
            return
        case list():
            for each in value:
                yield from _of_no_json(each)
        case dict():
            yield from _of_no_json(list(value.values()))
        case _:
            yield value


def _hint(query: str | None) -> str:
    return "see the query" if query else "see that it is a database, and that nobody else holds it"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Yield rows as JSON Lines. Raises `Failure` for a number that JSON has not."""
    for number, row in enumerate(rows, 1):
        try:
            yield json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as error:
            raise Failure(NEW, f"row {number:,} holds a number that is none", "leave it out of the query") from error
