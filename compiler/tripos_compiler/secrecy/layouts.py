"""Layouts of files that tell a secret: where the name of a file says what a secret field holds, it tells a secret which
rows the file has, and in which order the rows of several files stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from tripos_compiler.plan import DataFile
from tripos_compiler.resolve import LoadedDataset
from tripos_compiler.secrecy.copies import digests
from tripos_compiler.source import dataclass


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
        fields = tuple(
            each.name
            for each in loaded.dataset.fields
            if each.name in secret and not captured.isdisjoint(each.columns)
        )
        return Layout(name, fields, frozenset(_contents(loaded, files)), joined)

    def are_media_by_folder(self, name: str) -> bool:
        """Return true if cells of a data set that say the same name different files, by the folder of their row."""
        return self.loaded[name].media_by_folder

    def files(self, name: str) -> frozenset[str]:
        """Return the files of the rows of a data set."""
        return self._files[name]

    @cached_property
    def _files(self) -> Mapping[str, frozenset[str]]:
        return {
            name: frozenset(_contents(loaded, loaded.dataset.files)) for name, loaded in self.loaded.items()
        }

    def joined(self, name: str, place: int) -> frozenset[str]:
        """Return the files of a join of a data set, the how manieth it is."""
        loaded = self.loaded[name]
        return frozenset(_contents(loaded, loaded.dataset.joins[place].files))


def _contents(loaded: LoadedDataset, files: Sequence[DataFile]) -> list[str]:
    """Return the digests of what files hold once they are unpacked."""
    return [digests(loaded, file)[1] for file in files]
