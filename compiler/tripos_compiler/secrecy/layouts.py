"""Files that reveal a secret by their layout: names of files that state a secret, and rows joined by a secret key.

If the name of a file states a secret field, the secret determines which file a row is in, and the order of rows across
files. If rows are joined by a secret key, the columns of the joined row reveal the key.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tripos_compiler.plan import DataFile, Dataset, Join
from tripos_compiler.resolve.program import LoadedDataset, LoadedRow
from tripos_compiler.secrecy.copies import digests
from tripos_compiler.secrecy.labels import NONE, Secrets, union
from tripos_compiler.secrecy.row_matching import comparable_text
from tripos_compiler.source.data_classes import dataclass

# Names of files


@dataclass(frozen=True)
class Layout:
    """Files of a data set, or of a join of it, whose names state `fields`. A file is identified by the digest of its
    decompressed content.
    """

    dataset: str
    fields: tuple[str, ...]
    files: frozenset[str]
    joined: bool
    """True for joined files, which reveal nothing about the order of the rows."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of all file data sets, by their names in the plan."""

    loaded: Mapping[str, LoadedDataset]

    def stated_layouts(self, name: str, secret: Collection[str]) -> tuple[Layout, ...]:
        """Return the layouts of a data set if these of its fields are secret."""
        layouts = [self._layout(name, self.loaded[name].dataset.files, secret, joined=False)]
        layouts += [
            self._layout(name, join.files, secret, joined=True, columns=frozenset(join.columns))
            for join in self.loaded[name].dataset.joins
        ]
        return tuple(layout for layout in layouts if layout.fields)

    def _layout(
        self,
        name: str,
        files: Sequence[DataFile],
        secret: Collection[str],
        *,
        joined: bool,
        columns: frozenset[str] | None = None,
    ) -> Layout:
        loaded = self.loaded[name]
        captured = {column for file in files for column in file.captures}
        captured = captured if columns is None else captured & columns
        texts = frozenset[str]() if joined else self._fields_in_file_names(name, secret)
        fields = tuple(
            field.name
            for field in loaded.dataset.fields
            if field.name in texts or (field.name in secret and not captured.isdisjoint(field.columns))
        )
        return Layout(name, fields, frozenset(_contents(loaded, files)), joined)

    def _fields_in_file_names(self, name: str, secret: Collection[str]) -> frozenset[str]:
        """Return the secret fields whose values occur in the names of their rows' files, although they are not read
        from there.

        Leaves out fields whose value a public field states as well.
        """
        loaded = self.loaded[name]
        if len(loaded.dataset.files) < 2:
            return frozenset()
        names = self._words[name]
        public = [field.name for field in loaded.dataset.fields if field.name not in secret]
        fields: set[str] = set()
        for column in secret:
            texts = [comparable_text(row.values.get(column)) for row in loaded.rows]
            stated = [(text, row.path) for text, row in zip(texts, loaded.rows, strict=True) if text]
            if len({text for text, _ in stated}) < 2 or any(text not in names[path] for text, path in stated):
                continue
            if not any(texts == [comparable_text(row.values.get(other)) for row in loaded.rows] for other in public):
                fields.add(column)
        return frozenset(fields)

    def has_some_files(self, name: str, layout: Layout) -> bool:
        """Return true if a data set has the rows of some files of a layout but not of all.

        It reads these files, or has all their rows and no others in another file. Rows are the same if a long public
        text of one, unique in the layout, is a text of the other.
        """
        files = self.files(name)
        if files & layout.files:
            return not layout.files <= files
        if layout.joined:
            return False
        of = self.loaded[layout.dataset]
        for rows in self._same_rows(name, layout.dataset):
            places = {(row.path, row.number) for row in rows}
            paths = {path for path, _ in places}
            rows_of_files = {(row.path, row.number) for row in of.rows if row.path in paths}
            if places == rows_of_files and len(rows_of_files) < len(of.rows):
                return True
        return False

    def is_ordered_by_file(self, name: str, layout: Layout) -> bool:
        """Return true if the rows of a data set are in the order of the files of a layout.

        It reads one of these files, or has the rows of each in a file of its own.
        """
        if self.files(name) & layout.files:
            return not (layout.joined and name == layout.dataset)
        mine = self.loaded[name]
        if layout.joined or not 1 < len(mine.dataset.files) <= len(layout.files):
            return False
        for rows in self._same_rows(name, layout.dataset):
            paths_by_file: dict[str, set[str]] = defaultdict(set)
            for loaded_row, row in zip(mine.rows, rows, strict=True):
                paths_by_file[loaded_row.path].add(row.path)
            if (
                all(len(paths) == 1 for paths in paths_by_file.values())
                and len(set().union(*paths_by_file.values())) > 1
            ):
                return True
        return False

    def is_named_by(self, name: str, dataset: str, column: str) -> bool:
        """Return true if every file of a data set is named by the value of its rows in a column of another data set."""
        mine, words = self.loaded[name], self._words[name]
        values = self.words_in(dataset, column)
        if any(values.isdisjoint(word) for word in words.values()):
            return False
        return any(
            all(
                comparable_text(row.values.get(column)) in words[loaded_row.path]
                for loaded_row, row in zip(mine.rows, rows, strict=True)
            )
            for rows in self._same_rows(name, dataset)
        )

    def words_of_files(self, name: str) -> list[set[str]]:
        """Return the words in the name of each file of a data set."""
        return list(self._words[name].values())

    def words_in(self, dataset: str, column: str) -> frozenset[str]:
        """Return the words of file names that occur in a column; empty if all rows have the same value."""
        if (dataset, column) not in self._words_in:
            values = {comparable_text(row.values.get(column)) for row in self.loaded[dataset].rows}
            self._words_in[dataset, column] = frozenset(values & self._all_words if len(values) > 1 else ())
        return self._words_in[dataset, column]

    @cached_property
    def _words_in(self) -> dict[tuple[str, str], frozenset[str]]:
        return {}

    @cached_property
    def _words(self) -> Mapping[str, Mapping[str, set[str]]]:
        return {
            name: {file.path: _words_of(file.path) for file in loaded.dataset.files}
            for name, loaded in self.loaded.items()
        }

    @cached_property
    def _all_words(self) -> set[str]:
        return {word for files in self._words.values() for words in files.values() for word in words}

    def is_join_named_by(self, name: str, place: int, column: str) -> bool:
        """Return true if a row has a match in a join's files exactly if their names contain its value in a column."""
        loaded = self.loaded[name]
        join = loaded.dataset.joins[place]
        words = set().union(*(_words_of(file.path) for file in join.files))
        is_named = [comparable_text(row.values.get(column)) in words for row in loaded.rows]
        if all(is_named) or not any(is_named):
            return False
        read = [field.name for field in loaded.dataset.fields if not set(join.columns).isdisjoint(field.columns)]
        return any(is_named == [row.values.get(other) is not None for row in loaded.rows] for other in read)

    def _same_rows(self, name: str, dataset: str) -> Iterator[list[LoadedRow]]:
        """Yield the rows of another data set that all rows of a data set are equal to, once for every field that
        identifies them.
        """
        if name == dataset:
            return
        of, mine = self.loaded[dataset], self.loaded[name]
        public = [field.name for field in of.dataset.fields if not field.secret]
        for loaded_rows in filter(None, (_long_texts(of, column) for column in public)):
            for column in mine.dataset.fields:
                rows = [loaded_rows.get(row.values.get(column.name)) for row in mine.rows if _is_long(row, column.name)]
                matching_rows = [row for row in rows if row is not None]
                if len(matching_rows) == len(mine.rows):
                    yield matching_rows

    def are_media_by_folder(self, name: str) -> bool:
        """Return true if equal cells of a data set can name different files, depending on the folder of their row."""
        return self.loaded[name].media_by_folder

    def count(self, name: str) -> int:
        """Return the number of rows of a data set."""
        return len(self.loaded[name].rows)

    def files(self, name: str) -> frozenset[str]:
        """Return the digests of the files of a data set's rows."""
        return self._files[name]

    @cached_property
    def _files(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(_contents(loaded, loaded.dataset.files)) for name, loaded in self.loaded.items()}

    def joined(self, name: str, place: int) -> frozenset[str]:
        """Return the digests of the files of a data set's join number `place`."""
        loaded = self.loaded[name]
        return frozenset(_contents(loaded, loaded.dataset.joins[place].files))


def _contents(loaded: LoadedDataset, files: Sequence[DataFile]) -> list[str]:
    """Return the digests of files after decompression."""
    return [digests(loaded, file)[1] for file in files]


def _words_of(path: str) -> set[str]:
    """Return the words of a path and each of its parts."""
    parts = [part.partition(".")[0] for part in path.split("/")]
    return {comparable_text(part) for part in (*parts, *re.split(r"[\W_]+", path)) if part}


# Rows that several files have

LONG = 12
"""The shortest text, in characters, whose occurrence in two files is no accident."""


def _is_long(row: LoadedRow, column: str) -> bool:
    value = row.values.get(column)
    return isinstance(value, str) and len(value) >= LONG


def _long_texts(loaded: LoadedDataset, column: str) -> dict[Any, LoadedRow] | None:
    """Return the rows by their text in a column; None if a text is short or repeated."""
    rows = {row.values[column]: row for row in loaded.rows if _is_long(row, column)}
    return rows if rows and len(rows) == len(loaded.rows) else None


# Joins by secret keys


@dataclass(frozen=True)
class JoinedSecrets:
    """The secrets that a field depends on by one join."""

    keys: str
    """The key columns in words; empty if the secrets decide whether there is a match."""
    secrets: Secrets
    tied: bool
    """Whether it also depends on something public of the row."""


def joined_secrets(
    dataset: Dataset, read: Mapping[str, Secrets], by_join: Sequence[Secrets]
) -> Mapping[str, list[JoinedSecrets]]:
    """Return the secrets that the fields of a data set depend on by its joins.

    `read` are the secrets of its columns. `by_join` are, for each join, the secrets that decide which rows its files
    have. A key is secret if a secret field is read from its column, or if an earlier join adds it by a secret key.
    Captures in file names that both sides have are part of the key.
    """
    columns = dict(read)
    tied: set[str] = set()
    by_field: dict[str, list[JoinedSecrets]] = {data_field.name: [] for data_field in dataset.fields}
    named = {name for file in dataset.files for name in file.captures}
    for join, file_secrets in zip(dataset.joins, by_join, strict=True):
        key_columns = _keys(join)
        keys = {name: columns[name] for name in key_columns if columns.get(name)}
        by = union(*keys.values())
        if not by and not file_secrets:
            continue
        added = set(join.columns) - {join.column} - named
        depends_on_public = bool(file_secrets) or len(keys) < len(key_columns) or not tied.isdisjoint(keys)
        for field in dataset.fields:
            if added.isdisjoint(field.columns):
                continue
            if by:
                by_field[field.name].append(JoinedSecrets(_column_list(keys), by, depends_on_public))
            if file_secrets:
                by_field[field.name].append(JoinedSecrets("", file_secrets, depends_on_public))
        for column in added:
            columns[column] = union(columns.get(column, NONE), by, file_secrets)
        tied |= added if depends_on_public else set()
    return by_field


def _keys(join: Join) -> set[str]:
    """Return the columns of a row that form the key of a join."""
    captured = {name for file in join.files for name in file.captures}
    return {join.column, *(captured - {join.other})}


def _column_list(names: Mapping[str, Secrets]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))
