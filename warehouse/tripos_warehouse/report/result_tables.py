"""The tables that a benchmark declares with `table`, filled with the results of a run, or empty.

A table has the values of its keys on one side and figures on the other. Rows and columns are arranged here from the
values of measures (`MeasureTable`); rendering is that of every other table (`tables.render`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import TriposError
from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Labels, Plan, PublishedRow, ResultTable, TableFigure, line_key
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.evaluation import evaluate_or_error, shared_cells
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, with_sequential_intervals
from tripos_warehouse.measures.query import PAIR, PAIR_SEPARATOR
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import ALL_MODELS, reading_notes, warnings_of
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.values import decimals_of
from tripos_warehouse.views.dimensions import dimension_heading, dimension_label, dimension_place, listed_values

MODEL = "model"
POINTS = 100
HIGHEST = ("the best value", "the second best")
UNKNOWN = "…"
"""In the empty form of a table: values that are known only in a run."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class _Line:
    """A line of figures: its place among those of the table, its headings, and its estimates by key."""

    figure: TableFigure
    values: Key
    group: str | None
    heading: str
    cells: Mapping[Key, Estimate]


def find_tables(plan: Plan, names: Sequence[str]) -> list[ResultTable]:
    """Return the tables of a plan with these names, or all without names. Raises `TriposError` R0202 if one is
    missing."""
    known = {table.name: table for table in plan.tables}
    title = f"`{plan.benchmark.name}` {plan.benchmark.version}"
    if not known:
        raise TriposError("R0202", f"{title} declares no table", "write `table NAME { … }` in its spec")
    for name in names:
        if name not in known:
            help_ = suggest(name, list(known), f"it has {', '.join(f'`{table}`' for table in known)}")
            raise TriposError("R0202", f"{title} has no table `{name}`", help_)
    return [known[name] for name in names or known]


def filled_tables(
    connection: Connection, report: Report, tables: Sequence[ResultTable], language: str | None
) -> list[Table]:
    """Return tables of a benchmark with the results that a report is of. Measures that the report has are
    not computed again. Headings are in `language`, or in the first of the benchmark."""
    plan = report.plan
    known = {table.measure.name: table for table in report.measures}
    with shared_cells(connection, plan) as shared:

        def evaluated(figure: TableFigure) -> MeasureTable:
            table = known.get(figure.measure.name)
            if table is not None and table.measure == figure.measure:
                return table
            table = evaluate_or_error(connection, plan, figure.measure, shared=shared)
            return with_sequential_intervals(report.run, table)

        return [
            _Arrangement(plan, table, language, report.run.models).filled(
                [evaluated(figure) for figure in table.figures], report
            )
            for table in tables
        ]


def empty_table(plan: Plan, table: ResultTable, language: str | None) -> Table:
    """Return the empty form of a table: its rows and columns, as far as they are known before a run."""
    return _Arrangement(plan, table, language, ()).empty()


@dataclass(frozen=True)
class _Arrangement:
    """The arrangement of one table: which values it shows, in which order, and what they are called."""

    plan: Plan
    table: ResultTable
    language: str | None
    models: Sequence[str]

    def filled(self, evaluated: Sequence[MeasureTable], report: Report) -> Table:
        """Return the table with the values of its figures."""
        errors = [f"{table.measure.name}: {table.error}" for table in evaluated if table.error is not None]
        lines = [
            line
            for figure, table in zip(self.table.figures, evaluated, strict=True)
            for line in self._lines(figure, table.rows)
        ]
        lines = self._grouped(lines)
        own = self._in_order({key for line in lines for key in line.cells}, self.table.keys)
        lines, own = self._same_for_all_models(lines, own)
        rows = [row for table in evaluated for row in table.rows]
        notes = (*errors, *(reading_notes(rows) if rows else ()), *warnings_of(report))
        return self._arranged(lines, own, notes)

    def empty(self) -> Table:
        """Return the table without values."""
        listed = {name: self._listed(name) for name in self._dimensions()}
        keys = list(product(*(listed[name] for name in self.table.keys)))
        lines = [
            _Line(figure, values, *self._headings(figure, values), {})
            for figure in self.table.figures
            for values in product(*(listed[name] for name in figure.spread))
        ]
        return self._arranged(self._grouped(lines), keys, ())

    # Values

    def _dimensions(self) -> dict[str, None]:
        spread = (name for figure in self.table.figures for name in figure.spread)
        return dict.fromkeys([*self.table.keys, *spread])

    def _listed(self, dimension: str) -> Sequence[str]:
        chosen = self.table.values.get(dimension)
        if chosen is not None:
            return [value.name for value in chosen]
        return (*listed_values(self.plan, dimension),) or (UNKNOWN,)

    def _in_order(self, keys: set[Key], names: Sequence[str]) -> list[Key]:
        """Return the keys that the table shows, in its order."""
        places = [self._place(name) for name in names]
        shown = [key for key in keys if all(place(value) is not None for place, value in zip(places, key, strict=True))]
        return sorted(shown, key=lambda key: [place(value) for place, value in zip(places, key, strict=True)])

    def _place(self, name: str) -> Callable[[Any], tuple[int, str] | None]:
        chosen = self.table.values.get(name)
        if chosen is not None:
            order = {value.name: place for place, value in enumerate(chosen)}
            return lambda value: (order[_text(value)], "") if _text(value) in order else None
        if name == MODEL:
            models = {model: place for place, model in enumerate(self.models)}
            return lambda value: (models.get(value, len(models)), str(value))
        return dimension_place(self.plan, name)

    # Lines

    def _lines(self, figure: TableFigure, rows: Sequence[MeasureRow]) -> list[_Line]:
        """Return the lines of a figure: one, or one for each value that only the figure goes by."""
        by = figure.measure.by
        found: dict[Key, dict[Key, Estimate]] = {}
        pooled = is_pooled(figure.measure.figure, measures_of(self.plan))
        for row in rows:
            if pooled and MODEL not in self.table.keys and row.model != rows[0].model:
                continue
            values = {**dict(zip(by, row.by, strict=True)), MODEL: row.model}
            for one, other in _evaluators(values):
                key = tuple(values.get(name, one) for name in self.table.keys)
                spread = tuple(values.get(name, other) for name in figure.spread)
                found.setdefault(spread, {})[key] = self._scaled(row)
        return [
            _Line(figure, values, *self._headings(figure, values), found.get(values, {}))
            for values in self._in_order({*found, *self._without_results(figure, found)}, figure.spread)
        ]

    def _without_results(self, figure: TableFigure, found: Collection[Key]) -> list[Key]:
        """Return the values of the lines of a figure that are shown although they have no results: of its only line, or
        of those that `values` lists."""
        if not figure.spread:
            return [] if found else [()]
        chosen = self.table.values.get(figure.spread[0], ()) if len(figure.spread) == 1 else ()
        known = {_text(values[0]) for values in found}
        return [(value.name,) for value in chosen if value.name not in known]

    def _grouped(self, lines: Sequence[_Line]) -> list[_Line]:
        """Return the lines with those that go by the dimension of `group` together, each under its value."""
        name = self.table.group
        if name is None:
            return list(lines)
        place = self._place(name)
        first = next((index for index, line in enumerate(lines) if name in line.figure.spread), len(lines))
        apart = [line for line in lines if name not in line.figure.spread]
        together = sorted(
            (line for line in lines if name in line.figure.spread),
            key=lambda line: place(line.values[line.figure.spread.index(name)]) or (len(lines), ""),
        )
        return [*apart[:first], *map(self._under_value, together), *apart[first:]]

    def _under_value(self, line: _Line) -> _Line:
        at = line.figure.spread.index(self.table.group or "")
        values = [value for place, value in enumerate(line.values) if place != at]
        names = [name for name in line.figure.spread if name != self.table.group]
        labels = [self._label(name, value) for name, value in zip(names, values, strict=True)]
        title = self._in(line.figure.title) or ("" if labels else line.figure.measure.name)
        group = self._label(self.table.group or "", line.values[at])
        return replace(line, group=group, heading=" · ".join(filter(None, (title, *labels))))

    def _same_for_all_models(self, lines: Sequence[_Line], own: Sequence[Key]) -> tuple[list[_Line], list[Key]]:
        """Return the lines and keys with one key in place of those of several models with equal figures in an arm, such
        as the results of a student whom none of them taught. Elsewhere equal figures are chance."""
        arms = {arm.name for arm in self.plan.arms}
        if self.table.keys[-1] != MODEL or not arms & set(self.table.keys):
            return list(lines), list(own)
        same: dict[Key, Key] = {}
        for outer in dict.fromkeys(key[:-1] for key in own):
            keys = [key for key in own if key[:-1] == outer]
            if len(keys) > 1 and all(len({_shown(line.cells.get(key)) for key in keys}) == 1 for line in lines):
                same |= dict.fromkeys(keys, (*outer, localized(ALL_MODELS)))
        merged = [
            replace(line, cells={same.get(key, key): estimate for key, estimate in line.cells.items()})
            for line in lines
        ]
        return merged, list(dict.fromkeys(same.get(key, key) for key in own))

    def _scaled(self, row: MeasureRow) -> Estimate:
        if not self.table.points:
            return row
        scaled: dict[str, Any] = {
            name: None if (number := getattr(row, name)) is None else number * POINTS
            for name in ("value", "low", "high", "standard_error")
        }
        return replace(row, **scaled)

    def _headings(self, figure: TableFigure, values: Key) -> tuple[str | None, str]:
        """Return the heading of a line, preceded by that of its group."""
        labels = [self._label(name, value) for name, value in zip(figure.spread, values, strict=True)]
        if not labels:
            title = self._in(figure.title) or self.plan.title_of("measure", figure.measure.name, self.language)
            return figure.group, title or figure.measure.name
        group = figure.group or self._in(figure.title) or None
        if len(labels) > 1:
            group, labels = labels[0] if group is None else f"{group} · {labels[0]}", labels[1:]
        return group, " · ".join(labels)

    def _label(self, name: str, value: Any) -> str:
        for chosen in self.table.values.get(name, ()):
            if chosen.name == _text(value) and (title := self._in(chosen.title)):
                return title
        if name == MODEL or name in self.table.short:
            return _text(value)
        return dimension_label(self.plan, name, value, self.language)

    def _in(self, title: Labels) -> str:
        languages = (self.language, *self.plan.benchmark.languages)
        return next((title[language] for language in languages if language in title), "")

    # Published figures

    def _published(self, lines: Sequence[_Line]) -> tuple[list[_Line], list[Key]]:
        """Return the lines with published figures added, and the keys of these."""
        keys = list(dict.fromkeys(row.keys for row in self.table.published))
        rows = {row.keys: row for row in self.table.published}
        return [
            replace(line, cells={**line.cells, **{key: _published_cell(line, rows[key]) for key in keys}})
            for line in lines
        ], keys

    # Arrangement

    def _arranged(self, lines: Sequence[_Line], own: Sequence[Key], notes: Sequence[str]) -> Table:
        ranks = [self._ranks(line, own) for line in lines]
        published: list[Key] = []
        if self.table.published:
            lines, published = self._published(lines)
        columns = self._transposed if self.table.transposed else self._upright
        table = self.table
        title = self._in(table.published_title) or localized("Published")
        return Table(
            tuple(_with_unique_keys(columns(lines, ranks, own, published, title))),
            f"{self.plan.benchmark.name}-{table.name}",
            self.plan.title_of("table", table.name, self.language) or table.name,
            tuple(filter(None, (*map(self._in, table.notes), *self._units(), *notes))),
            marks=HIGHEST,
            separators={len(own): (f"{title}:",)} if published and not table.transposed else {},
        )

    def _units(self) -> tuple[str, ...]:
        return ("Figures are in points, hundredths of 1.",) if self.table.points else ()

    def _upright(
        self,
        lines: Sequence[_Line],
        ranks: Sequence[Mapping[Key, int]],
        own: Sequence[Key],
        published: Sequence[Key],
        _title: str,
    ) -> tuple[Column, ...]:
        keys = [*own, *published]
        labels = [
            Column(
                name,
                tuple(self._label(name, key[place]) for key in keys),
                heading=self._key_heading(name),
                is_name=True,
                hides_repeats=place < len(self.table.keys) - 1,
                shrinks="last" if name == MODEL else "first",
            )
            for place, name in enumerate(self.table.keys)
        ]
        figures = [
            self._column(
                line.heading,
                line.group,
                [line.cells.get(key) for key in keys],
                {place: ranked[key] for place, key in enumerate(own) if key in ranked},
            )
            for line, ranked in zip(lines, ranks, strict=True)
        ]
        return (*labels, *figures)

    def _transposed(
        self,
        lines: Sequence[_Line],
        ranks: Sequence[Mapping[Key, int]],
        own: Sequence[Key],
        published: Sequence[Key],
        title: str,
    ) -> tuple[Column, ...]:
        labels = [Column("figure", tuple(line.heading for line in lines), heading="", is_name=True, shrinks="last")]
        if any(line.group for line in lines):
            groups = tuple(line.group or "" for line in lines)
            labels.insert(0, Column("group", groups, heading="", is_name=True, hides_repeats=True))
        decimals = [self._decimals([line.cells.get(key) for key in (*own, *published)]) for line in lines]
        figures = [
            self._column(
                self._label(self.table.keys[-1], key[-1]),
                title if place >= len(own) else self._key_group(key),
                [line.cells.get(key) for line in lines],
                {row: ranked[key] for row, ranked in enumerate(ranks) if key in ranked},
                decimals,
            )
            for place, key in enumerate((*own, *published))
        ]
        return (*labels, *figures)

    def _key_heading(self, name: str) -> str:
        return (
            localized(MODEL)
            if name == MODEL
            else dimension_heading(self.plan, name, self.language or self.plan.benchmark.languages[0])
        )

    def _key_group(self, key: Key) -> str | None:
        outer = [self._label(name, value) for name, value in zip(self.table.keys[:-1], key, strict=False)]
        return " · ".join(outer) or None

    def _column(
        self,
        heading: str,
        group: str | None,
        cells: Sequence[Estimate | None],
        emphasis: Mapping[int, int],
        decimals: int | Sequence[int] | None = None,
    ) -> Column:
        return Column(
            heading if group is None else f"{group}: {heading}",
            tuple(cells),
            "number",
            heading=heading,
            is_name=True,
            group=group,
            decimals=self._decimals(cells) if decimals is None else decimals,
            emphasis=emphasis,
        )

    def _decimals(self, cells: Sequence[Estimate | None]) -> int:
        if self.table.digits is not None:
            return self.table.digits
        return decimals_of([None if cell is None else cell.value for cell in cells])

    def _ranks(self, line: _Line, own: Sequence[Key]) -> dict[Key, int]:
        """Return the ranks of the best values of a line, apart for each value of the outer keys. Equal values as they
        are printed share a rank."""
        ranks: dict[Key, int] = {}
        sign = 1 if line.figure.measure.lower_is_better else -1
        decimals = self._decimals(list(line.cells.values()))
        blocks: dict[Key, list[Key]] = {}
        for key in own:
            if key in line.cells and line.cells[key].value is not None:
                blocks.setdefault(key[:-1], []).append(key)
        for keys in blocks.values():
            printed = {key: sign * round(line.cells[key].value or 0.0, decimals) for key in keys}
            best = sorted(set(printed.values()))[: self.table.marked]
            if len(set(printed.values())) > 1:
                ranks |= {key: best.index(value) + 1 for key, value in printed.items() if value in best}
        return ranks


def _with_unique_keys(columns: Sequence[Column]) -> Iterator[Column]:
    """Yield columns under keys of their own: data formats would lose one of two columns with equal headings."""
    keys: set[str] = set()
    for column in columns:
        number = 1
        key = column.key
        while key in keys:
            number += 1
            key = f"{column.key} ({number})"
        keys.add(key)
        yield replace(column, key=key)


def _published_cell(line: _Line, row: PublishedRow) -> Estimate:
    number = row.figures.get(line_key(line.figure, [_text(value) for value in line.values]))
    if number is None:
        return Estimate.undefined("not published")
    return Estimate(number, "no interval was published", method="published")


def _shown(estimate: Estimate | None) -> tuple[float | None, float | None, float | None] | None:
    return None if estimate is None else (estimate.value, estimate.low, estimate.high)


def _evaluators(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return both orders of the pair of evaluators that a value is of; a single empty pair if it is of none."""
    if PAIR not in values:
        return [("", "")]
    one, _, other = str(values[PAIR]).partition(PAIR_SEPARATOR)
    return [(one, other), (other, one)]


def _text(value: Any) -> str:
    return "true" if value is True else "false" if value is False else str(value)
