"""Files that tell a secret by their rows. If the name of a file says what a secret field holds, it tells a secret which
rows the file has, and in which order the rows of several files stand. If rows are joined by a secret key, the columns
of the row that it finds tell the key."""

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


@dataclass(frozen=True)
class Layout:
    """The files of a data set, or of one that is joined to it, of which the names say what `fields` hold. A file is
    known by the digest of what it holds, packed or not."""

    dataset: str
    fields: tuple[str, ...]
    files: frozenset[str]
    joined: bool
    """True of files that are joined to the rows: these tell nothing of the order of the rows."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of all data sets that are read from files, by their names in the plan."""

    loaded: Mapping[str, LoadedDataset]

    def tell(self, name: str, secret: Collection[str]) -> tuple[Layout, ...]:
        """Return the layouts by which a data set has its rows, if these of its fields are secret."""
        found = [self._layout(name, self.loaded[name].dataset.files, secret, joined=False)]
        found += [
            self._layout(name, join.files, secret, joined=True, columns=frozenset(join.columns))
            for join in self.loaded[name].dataset.joins
        ]
        return tuple(each for each in found if each.fields)

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
        said = frozenset[str]() if joined else self._said_by_names(name, secret)
        fields = tuple(
            each.name
            for each in loaded.dataset.fields
            if each.name in said or (each.name in secret and not captured.isdisjoint(each.columns))
        )
        return Layout(name, fields, frozenset(_contents(loaded, files)), joined)

    def _said_by_names(self, name: str, secret: Collection[str]) -> frozenset[str]:
        """Return the fields of which the name of its file says what every row has, though it is not read from there,
        but those that a public field says."""
        loaded = self.loaded[name]
        if len(loaded.dataset.files) < 2:
            return frozenset()
        names = self._words[name]
        public = [each.name for each in loaded.dataset.fields if each.name not in secret]
        found: set[str] = set()
        for column in secret:
            said = [comparable_text(row.values.get(column)) for row in loaded.rows]
            held = [(text, row.path) for text, row in zip(said, loaded.rows, strict=True) if text]
            if len({text for text, _ in held}) < 2 or any(text not in names[path] for text, path in held):
                continue
            if not any(said == [comparable_text(row.values.get(other)) for row in loaded.rows] for other in public):
                found.add(column)
        return frozenset(found)

    def has_some(self, name: str, layout: Layout) -> bool:
        """Return true if a data set has the rows of some files of a layout, and not of all: it reads these, or has all
        of their rows and no others in another file. Rows are the same if a long public text of one, which no other row
        of the layout has, is a text of the other."""
        files = self.files(name)
        if files & layout.files:
            return not layout.files <= files
        if layout.joined:
            return False
        of = self.loaded[layout.dataset]
        for rows in self._same_rows(name, layout.dataset):
            found = {(row.path, row.number) for row in rows}
            paths = {path for path, _ in found}
            whole = {(row.path, row.number) for row in of.rows if row.path in paths}
            if found == whole and len(whole) < len(of.rows):
                return True
        return False

    def is_parted(self, name: str, layout: Layout) -> bool:
        """Return true if a data set has its rows in the order of the files of a layout: it reads one of them, or has
        the rows of each in a file of its own."""
        if self.files(name) & layout.files:
            return not (layout.joined and name == layout.dataset)
        mine = self.loaded[name]
        if layout.joined or not 1 < len(mine.dataset.files) <= len(layout.files):
            return False
        for rows in self._same_rows(name, layout.dataset):
            found: dict[str, set[str]] = defaultdict(set)
            for own, row in zip(mine.rows, rows, strict=True):
                found[own.path].add(row.path)
            if all(len(paths) == 1 for paths in found.values()) and len(set().union(*found.values())) > 1:
                return True
        return False

    def is_named_by(self, name: str, dataset: str, column: str) -> bool:
        """Return true if every file of a data set is named by what its rows have in a column of another data set."""
        mine, words = self.loaded[name], self._words[name]
        values = self.words_in(dataset, column)
        if any(values.isdisjoint(said) for said in words.values()):
            return False
        return any(
            all(
                comparable_text(row.values.get(column)) in words[own.path]
                for own, row in zip(mine.rows, rows, strict=True)
            )
            for rows in self._same_rows(name, dataset)
        )

    def words_of_files(self, name: str) -> list[set[str]]:
        """Return what the name of each file of a data set says."""
        return list(self._words[name].values())

    def words_in(self, dataset: str, column: str) -> frozenset[str]:
        """Return the words of names of files that stand in a column; none if all rows have the same there."""
        if (dataset, column) not in self._words_in:
            values = {comparable_text(row.values.get(column)) for row in self.loaded[dataset].rows}
            self._words_in[dataset, column] = frozenset(values & self._every_word if len(values) > 1 else ())
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
    def _every_word(self) -> set[str]:
        return {word for files in self._words.values() for words in files.values() for word in words}

    def is_join_named_by(self, name: str, place: int, column: str) -> bool:
        """Return true if a row finds another in the files of a join just where their names say what it has in a
        column."""
        loaded = self.loaded[name]
        join = loaded.dataset.joins[place]
        words = set().union(*(_words_of(file.path) for file in join.files))
        said = [comparable_text(row.values.get(column)) in words for row in loaded.rows]
        if all(said) or not any(said):
            return False
        read = [each.name for each in loaded.dataset.fields if not set(join.columns).isdisjoint(each.columns)]
        return any(said == [row.values.get(other) is not None for row in loaded.rows] for other in read)

    def _same_rows(self, name: str, dataset: str) -> Iterator[list[LoadedRow]]:
        """Yield for all rows of a data set the rows of another that they are, once for every field that tells it."""
        if name == dataset:
            return
        of, mine = self.loaded[dataset], self.loaded[name]
        public = [each.name for each in of.dataset.fields if not each.secret]
        for known in filter(None, (_long_texts(of, column) for column in public)):
            for column in mine.dataset.fields:
                rows = [known.get(row.values.get(column.name)) for row in mine.rows if _is_long(row, column.name)]
                there = [row for row in rows if row is not None]
                if len(there) == len(mine.rows):
                    yield there

    def are_media_by_folder(self, name: str) -> bool:
        """Return true if cells of a data set that say the same name different files, by the folder of their row."""
        return self.loaded[name].media_by_folder

    def count(self, name: str) -> int:
        """Return how many rows a data set has."""
        return len(self.loaded[name].rows)

    def files(self, name: str) -> frozenset[str]:
        """Return the files of the rows of a data set."""
        return self._files[name]

    @cached_property
    def _files(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(_contents(loaded, loaded.dataset.files)) for name, loaded in self.loaded.items()}

    def joined(self, name: str, place: int) -> frozenset[str]:
        """Return the files of a join of a data set, the how manieth it is."""
        loaded = self.loaded[name]
        return frozenset(_contents(loaded, loaded.dataset.joins[place].files))


def _contents(loaded: LoadedDataset, files: Sequence[DataFile]) -> list[str]:
    """Return the digests of what files hold once they are unpacked."""
    return [digests(loaded, file)[1] for file in files]


def _words_of(path: str) -> set[str]:
    """Return what the name of a file says: its words, and each part of its path."""
    parts = [part.partition(".")[0] for part in path.split("/")]
    return {comparable_text(each) for each in (*parts, *re.split(r"[\W_]+", path)) if each}


LONG = 12
"""A text of so many characters stands in two files for a reason."""


def _is_long(row: LoadedRow, column: str) -> bool:
    value = row.values.get(column)
    return isinstance(value, str) and len(value) >= LONG


def _long_texts(loaded: LoadedDataset, column: str) -> dict[Any, LoadedRow] | None:
    """Return the rows by what they have in a column; None where that is no long text, or one that several rows have."""
    found = {row.values[column]: row for row in loaded.rows if _is_long(row, column)}
    return found if found and len(found) == len(loaded.rows) else None


@dataclass(frozen=True)
class JoinedSecrets:
    """The secrets that a field holds by one join."""

    keys: str
    """The columns by which its row is found, in words; empty where the secrets say whether it is there."""
    secrets: Secrets
    tied: bool
    """Whether it also depends on what is public of the row."""


def joined_secrets(
    dataset: Dataset, read: Mapping[str, Secrets], parted: Sequence[Secrets]
) -> Mapping[str, list[JoinedSecrets]]:
    """Return what the fields of a data set hold by its joins. `read` are the secrets that fields read from its columns;
    `parted` those that tell, of each join, which rows its files have.

    A key is secret if a secret field is read from its column, or if an earlier join adds it by a secret key. Names in
    braces that both files have are part of the key.
    """
    columns = dict(read)
    tied: set[str] = set()
    found: dict[str, list[JoinedSecrets]] = {each.name: [] for each in dataset.fields}
    named = {name for file in dataset.files for name in file.captures}
    for join, there in zip(dataset.joins, parted, strict=True):
        every = _keys(join)
        keys = {name: columns[name] for name in every if columns.get(name)}
        by = union(*keys.values())
        if not by and not there:
            continue
        added = set(join.columns) - {join.column} - named
        beside = bool(there) or len(keys) < len(every) or not tied.isdisjoint(keys)
        for each in dataset.fields:
            if added.isdisjoint(each.columns):
                continue
            if by:
                found[each.name].append(JoinedSecrets(_listed(keys), by, beside))
            if there:
                found[each.name].append(JoinedSecrets("", there, beside))
        for column in added:
            columns[column] = union(columns.get(column, NONE), by, there)
        tied |= added if beside else set()
    return found


def _keys(join: Join) -> set[str]:
    """Return the columns of a row by which its row in a joined file is found."""
    captured = {name for file in join.files for name in file.captures}
    return {join.column, *(captured - {join.other})}


def _listed(names: Mapping[str, Secrets]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))
