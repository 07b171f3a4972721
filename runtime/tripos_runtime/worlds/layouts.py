"""The files of another world: where the name of a file says a secret, a row whose secret is another lies in another
file, at its beginning or its end, and a name that no file has is that of a new one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tripos_compiler.plan import Dataset
from tripos_runtime.worlds.copies import Copies
from tripos_runtime.worlds.tables import DataFiles, Key, Records
from tripos_runtime.worlds.values import canonical_text

Rows = tuple[tuple[Key, int], ...]
"""Rows by the file in which they lie on the disk, and their number there."""


@dataclass(frozen=True)
class FileGroup:
    """The files of a data set of which the names say something secret."""

    dataset: Dataset
    keys: tuple[Key, ...]
    secret: frozenset[str]
    """The names in braces that a field keeps secret, or that are copies of a secret."""

    def path(self, captures: Mapping[str, str]) -> str:
        """Return the path of the file whose name says this, also of one that there is not."""
        for file in self.dataset.files:
            if file.captures == captures:
                return file.path
        found = self.dataset.source
        for name, said in captures.items():
            found = found.replace(f"{{{name}}}", said.replace("/", "_"))
        return found


@dataclass(frozen=True)
class Placement:
    """Which rows lie in which files of a world. `files` are known by their SHA-256; `further` are those that are not on
    the disk, with the group that they belong to."""

    files: Mapping[str, Rows] = field(default_factory=dict)
    further: tuple[tuple[FileGroup, str, Rows], ...] = ()

    @cached_property
    def elsewhere(self) -> Mapping[tuple[Key, int], str]:
        """The SHA-256 of the file on the disk in which a row lies that is of another one."""
        return {row: sha256 for sha256, rows in self.files.items() for row in rows if row[0][1] != sha256}

    def rows(self, dataset: Dataset, tables: DataFiles) -> Rows | None:
        """Return the rows of a data set in order; None where they are as on the disk."""
        own = {key[1]: key for key in tables.keys(dataset.name)}
        if own.keys().isdisjoint(self.files):
            return None
        found: list[tuple[str, Rows]] = []
        for file in dataset.files:
            key = tables.key(dataset, file)
            there = self.files.get(file.sha256)
            found.append((file.path, tables.rows(key) if there is None else there))
        found += [(path, rows) for group, path, rows in self.further if all(key[1] in own for key in group.keys)]
        found.sort(key=lambda each: each[0])
        repeats = {(file.sha256, number) for file in dataset.files for number in file.repeats}
        return tuple(
            (own.get(key[1], key), number)
            for _, rows in found
            for key, number in rows
            if (key[1], number) not in repeats
        )


@dataclass(frozen=True)
class FileLayouts:
    """The files of a plan of which the names say something secret."""

    tables: DataFiles
    copies: Copies

    @cached_property
    def groups(self) -> tuple[FileGroup, ...]:
        """The groups of such files, one for each data set that has any."""
        found: list[FileGroup] = []
        for dataset in self.tables.plan.datasets:
            keys = self.tables.keys(dataset.name)
            read = {column for each in dataset.fields if each.secret for column in each.columns}
            read |= {column for key, column in self._copied if key in keys}
            secret = read & {name for file in dataset.files for name in file.captures}
            if secret:
                found.append(FileGroup(dataset, keys, frozenset(secret)))
        return tuple(found)

    @cached_property
    def _copied(self) -> set[tuple[Key, str]]:
        """The columns of files that are copies of a secret."""
        every = (place for columns in self.copies.of.values() for places in columns.values() for place in places)
        return {(key, path[0]) for key, _, path in every if len(path) == 1}

    @cached_property
    def named(self) -> frozenset[tuple[Key, str]]:
        """The columns of files of which the names of these say something secret."""
        return frozenset((key, name) for group in self.groups for key in group.keys for name in group.secret)

    def placed(self, records: Records, seed: int) -> Placement:
        """Return which rows lie in which files in a world of these records."""
        files: dict[str, Rows] = {}
        further: list[tuple[FileGroup, str, Rows]] = []
        for group in self.groups:
            placed = self._placed(group, records, seed)
            if placed is None:
                continue
            for file in group.dataset.files:
                files[file.sha256] = tuple(placed.pop(file.path, ()))
            further += [(group, path, tuple(rows)) for path, rows in sorted(placed.items())]
        return Placement(files, tuple(further))

    def _placed(self, group: FileGroup, records: Records, seed: int) -> dict[str, list[tuple[Key, int]]] | None:
        """Return the rows of the files of a group by path; None where all are as on the disk."""
        found: dict[str, list[tuple[Key, int]]] = defaultdict(list)
        coming: list[tuple[str, tuple[Key, int]]] = []
        for key, file in zip(group.keys, group.dataset.files, strict=True):
            for at in self.tables.rows(key):
                path = group.path(_said(file.captures, group.secret, records.get(key, {}).get(at[1])))
                if path == file.path:
                    found[path].append(at)
                else:
                    coming.append((path, at))
        for path, at in coming:
            first = random.Random(repr((seed, at))).random() < 0.5
            found[path].insert(0 if first else len(found[path]), at)
        return found if coming else None


def _said(captures: Mapping[str, str], secret: frozenset[str], record: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Return what the name of the file says in which a row lies: of secrets what the row has."""
    if record is None:
        return captures
    return {name: canonical_text(record.get(name)) if name in secret else said for name, said in captures.items()}
