"""A world of the trial: the rows of a plan with some secrets changed, and its cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rows import Misfit, read_row
from tripos_compiler.library.media import Medium, MediumKind, UnfitMedium
from tripos_compiler.plan import Dataset, Expr, Scenario
from tripos_compiler.source.inputs import ResolvedFile
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.sources import Origin, SourceRow, Sources
from tripos_runtime.secrecy_trial.copies import Placement
from tripos_runtime.secrecy_trial.seen_requests import Place
from tripos_runtime.secrecy_trial.tables import DataFiles, Key, Records


@dataclass(frozen=True)
class WorldSources(Sources):
    """The rows of a world: those of the files, except for the changed `records`, and for `placement`, which moves rows
    to other files. Unchanged rows are shared with `base`, the world of the unchanged files, which has none itself."""

    tables: DataFiles = field(kw_only=True)
    records: Records = field(kw_only=True, default_factory=dict)
    placement: Placement = field(kw_only=True, default_factory=Placement)
    base: WorldSources | None = field(kw_only=True, default=None)
    _typed: dict[tuple[str, Key, int], SourceRow | None] = field(default_factory=dict)

    def stream(self, dataset: Dataset) -> Iterator[SourceRow]:
        """Yield the rows of a data set in this world."""
        if self.base is not None and not self.changes(dataset.name):
            yield from self.base.rows[dataset.name]
            return
        for key, number in self.numbers(dataset):
            row = self.row(dataset, key, number)
            if row is not None:
                yield row

    def numbers(self, dataset: Dataset) -> Iterator[tuple[Key, int]]:
        """Yield the rows of a data set by file and number, without repeated rows."""
        placed = self.placement.rows(dataset, self.tables)
        if placed is not None:
            yield from placed
            return
        for file in dataset.files:
            repeats = set(file.repeats)
            yield from (at for at in self.tables.rows(self.tables.key(dataset, file)) if at[1] not in repeats)

    def place_in_files(self, dataset: Dataset, place: int) -> int:
        """Return the position in the files of the row at a position in this world. A row that the data set does not
        have there is numbered after all others."""
        if self.base is None or self.placement.rows(dataset, self.tables) is None:
            return place
        origin, count = self.rows[dataset.name][place].origin, len(self.base.rows[dataset.name])
        return self.base.places_of_rows[dataset.name].get(origin, count + place)

    @cached_property
    def places_of_rows(self) -> Mapping[str, Mapping[Origin, int]]:
        """The positions of the rows of every data set that is read, by origin."""
        return {
            dataset.name: {row.origin: place for place, row in enumerate(self.rows[dataset.name])}
            for dataset in self.plan.datasets
        }

    def row(self, dataset: Dataset, key: Key, number: int) -> SourceRow | None:
        """Return a row of a data set, which is read on first use; None for a row of a file of other data sets whose
        values do not fit the types of this one."""
        row_key = (dataset.name, key, number)
        if row_key not in self._typed:
            self._typed[row_key] = self._read(dataset, key, number)
        return self._typed[row_key]

    def _read(self, dataset: Dataset, key: Key, number: int) -> SourceRow | None:
        record, elsewhere = self.records.get(key, {}).get(number), self.placement.elsewhere.get((key, number))
        if record is None:
            if elsewhere is None and self.base is not None:
                return self.base.row(dataset, key, number)
            record = self.tables[key].records[number - 1]
        row = read_row(dataset, record, self.axes, partial(self._medium, self.tables[key].file, elsewhere))
        if isinstance(row, Misfit):  # a copy with another type stays as it is
            if self.base is not None:
                return self.base.row(dataset, key, number)
            own = key in self.tables.keys(dataset.name)
            assert not own, f"row {number} of {key[0]} did not fit after compilation: {row}"
            return None
        return SourceRow(row, (key[1], number))

    def _medium(self, file: ResolvedFile, elsewhere: str | None, kind: MediumKind, value: Any) -> str:
        """Return the mark of the medium that a cell names. It is searched relative to `elsewhere`, the SHA-256 of the
        file to which the row was moved, if any, and then to the row's own file. A changed secret is a mark already."""
        if isinstance(value, str) and Medium.read(value) is not None:
            return value
        for records in self.tables.all_files.values() if elsewhere is not None else ():
            if records.file.sha256 == elsewhere:
                with suppress(UnfitMedium):
                    return self.reader.medium(records.file, kind, value)
        return self.reader.medium(file, kind, value)

    def changes(self, dataset: str) -> bool:
        """Return true if any row of a data set may differ from the files."""
        if any(generated_dataset.name == dataset for generated_dataset in self.plan.made):
            return True
        if any(key in self.records for key in self.tables.keys(dataset)):
            return True
        return self.placement.rows(self.plan.dataset(dataset), self.tables) is not None


@dataclass(frozen=True)
class TrialWorld(CaseSource):
    """The cases of a world."""

    tables: DataFiles = field(kw_only=True)
    records: Records = field(kw_only=True, default_factory=dict)
    placement: Placement = field(kw_only=True, default_factory=Placement)
    base: TrialWorld | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        base = self.base.rows if self.base is not None else None
        sources = WorldSources(
            self.plan, self.reader, self.spec_files, self.axes,
            tables=self.tables, records=self.records, placement=self.placement, base=base,
        )  # fmt: skip
        object.__setattr__(self, "sources", sources)

    @property
    def rows(self) -> WorldSources:
        """The rows of the world."""
        assert isinstance(self.sources, WorldSources)
        return self.sources

    def picked(self, scenario: Scenario, places: Collection[Place] | None) -> Iterator[Case]:
        """Yield the cases of a scenario for the rows at these places, or for all rows if `places` is `None`."""
        rows = scenario.rows
        if rows is None or self._is_generated(scenario) or places is None:
            for case in self._all_cases(scenario):
                if places is None or (case.origin or case.item_id) in places:
                    yield case
            return
        dataset = self.plan.dataset(rows.dataset)
        for key, number in self.rows.numbers(dataset):
            row = self.rows.row(dataset, key, number) if (key[1], number) in places else None
            case_ = self._case(scenario, rows, row) if row is not None else None
            if case_ is not None:
                yield case_

    def _holds(self, where: Expr, names: Mapping[str, object], row: SourceRow) -> bool:
        try:
            return super()._holds(where, names, row)
        except Unavailable:  # the compiler checked only the rows of the files for a value
            return False
