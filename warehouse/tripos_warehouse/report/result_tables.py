"""The tables that a benchmark declares with `table`, filled with the results of a run, or empty.

A table has the values of its keys on one side and figures on the other. Rows and columns are arranged here from the
values of measures (`MeasureTable`); rendering is that of every other table (`tables.render`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any, Protocol

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import TriposError
from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.language.references import roles_called
from tripos_compiler.plan import (
    Formula,
    Labels,
    Measure,
    Measured,
    Plan,
    PublishedRow,
    ResultTable,
    TableFigure,
    line_key,
)
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import evaluate_or_error, shared_cells
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, with_sequential_intervals
from tripos_warehouse.measures.query import PAIR, PAIR_SEPARATOR
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.best_values import ModelTests, model_tests
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import ALL_MODELS, reading_notes, warnings_of
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.values import decimals_of
from tripos_warehouse.views.dimensions import dimension_heading, dimension_label, dimension_place, listed_values

MODEL = "model"
POINTS = 100
DELTA = "Δ"
"""The heading of differences beside values."""
NO_DIFFERENCE = "the two have no value in common"
FAMILY = "Holm over all pairs of models and cells of a figure"
"""The tests whose p-values are corrected together, as in boards."""
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
    contrast: Contrast | None = None
    differences: Mapping[Key, Estimate] = field(default_factory=dict)
    """By key, the difference from the reference of the table."""
    p_values: Mapping[Key, float] = field(default_factory=dict)


Place = Mapping[str, Any]
"""The value of each dimension, and the model."""


class Contrast(Protocol):
    """The differences of a figure between values of the last key of a table."""

    def difference(self, place: Place, reference: str) -> Estimate | None:
        """Return the difference of a place from the one with `reference` as its last key; None without a value of
        both."""

    def p_value(self, place: Place, reference: str) -> float | None:
        """Return the corrected p-value of that difference, if it can be tested."""


@dataclass(frozen=True)
class _ModelContrast:
    """Differences between models, as boards and comparisons have them."""

    by: Sequence[str]
    tests: ModelTests

    def difference(self, place: Place, reference: str) -> Estimate | None:
        """See `Contrast`."""
        return self.tests.difference(self._cell(place), place[MODEL], reference)

    def p_value(self, place: Place, reference: str) -> float | None:
        """See `Contrast`."""
        return self.tests.p_value(self._cell(place), place[MODEL], reference)

    def _cell(self, place: Place) -> Key:
        return tuple(place[name] for name in self.by)


@dataclass(frozen=True)
class _SliceContrast:
    """Differences of slices of a figure, each like a measure `figure[key: value] - figure[key: reference]`."""

    key: str
    by: Sequence[str]
    rows: Mapping[tuple[str, Key, str], MeasureRow]
    """By value of the key, other dimensions and model."""

    def difference(self, place: Place, reference: str) -> Estimate | None:
        """See `Contrast`."""
        cell = tuple(_text(place[name]) for name in self.by)
        # A figure of all models has the same row for each of them.
        models = [place[MODEL]] if MODEL in place else [model for _, _, model in self.rows]
        return next(filter(None, (self.rows.get((_text(place[self.key]), cell, model)) for model in models)), None)

    def p_value(self, place: Place, reference: str) -> float | None:
        """See `Contrast`."""
        return None


SLICED = "figure of a table"
"""The name under which a figure is sliced, which no measure can have."""


def needs_single_scores(tables: Sequence[ResultTable]) -> bool:
    """Return true if tables show or test differences. They are computed from single scores, and a store that is opened
    with its sums has none."""
    return any(table.reference is not None or table.level is not None for table in tables)


def find_tables(plan: Plan, names: Sequence[str], *, of_run: bool = False) -> list[ResultTable]:
    """Return the tables of a plan with these names, or all without names. Raises `TriposError` R0202 if one is
    missing; `of_run` if the plan is the one that a run has kept."""
    known = {table.name: table for table in plan.tables}
    title = f"`{plan.benchmark.name}` {plan.benchmark.version}"
    if not known:
        help_ = "write `table NAME { … }` in its spec"
        if of_run:
            help_ = "write `table NAME { … }` in its spec, and name the spec with `--spec`: the run has an older one"
        raise TriposError("R0202", f"{title} declares no table", help_)
    for name in names:
        if name not in known:
            listed = ", ".join(f"`{table}`" for table in known)
            text = f"it has {listed}; those of a spec that changed since the run need `--spec`"
            help_ = suggest(name, list(known), text if of_run else f"it has {listed}")
            raise TriposError("R0202", f"{title} has no table `{name}`", help_)
    return [known[name] for name in names or known]


def filled_tables(
    connection: Connection, report: Report, tables: Sequence[ResultTable], language: str | None
) -> list[Table]:
    """Return tables of a benchmark with the results that a report is of. Measures that the report has are
    not computed again. Headings are in `language`, or in the first of the benchmark."""
    return filled_in_languages(connection, report, tables, [language])[0]


def filled_in_languages(
    connection: Connection, report: Report, tables: Sequence[ResultTable], languages: Sequence[str | None]
) -> list[list[Table]]:
    """Return the tables of `filled_tables` for each language; figures are computed once."""
    plan = report.plan
    with shared_cells(connection, plan) as shared:
        results = _Results(connection, report, shared)
        return [
            [_Arrangement(plan, table, language, report.run.models).filled(results) for table in tables]
            for language in languages
        ]


def empty_table(plan: Plan, table: ResultTable, language: str | None) -> Table:
    """Return the empty form of a table: its rows and columns, as far as they are known before a run."""
    return _Arrangement(plan, table, language, ()).empty()


@dataclass(frozen=True)
class _Results:
    """The values and differences of the figures of several tables, each computed once. `shared` are rewritten queries
    (`shared_cells`)."""

    connection: Connection
    report: Report
    shared: Mapping[str, str]
    _tables: dict[str, MeasureTable] = field(default_factory=dict)
    """By the JSON of the measure."""
    _tests: dict[tuple[str, str | None], ModelTests] = field(default_factory=dict)
    """By the JSON of the measure and the reference."""
    _slices: dict[tuple[str, str, str, str], Sequence[MeasureRow]] = field(default_factory=dict)
    """By the JSON of the measure, the key, its value and the reference."""

    def __post_init__(self) -> None:
        self._tables.update({table.measure.model_dump_json(): table for table in self.report.measures})

    def of(self, measure: Measure) -> MeasureTable:
        """Return the values of a measure."""
        key = measure.model_dump_json()
        if key not in self._tables:
            table = evaluate_or_error(self.connection, self.report.plan, measure, shared=self.shared)
            self._tables[key] = with_sequential_intervals(self.report.run, table)
        return self._tables[key]

    def model_contrast(self, table: MeasureTable, reference: str | None) -> _ModelContrast:
        """Return the differences of models in the values of a measure."""
        key = (table.measure.model_dump_json(), reference)
        if key not in self._tests:
            self._tests[key] = model_tests(self.connection, self.report.plan, self.report.run, table, reference)
        return _ModelContrast(table.measure.by, self._tests[key])

    def slice_contrast(self, table: MeasureTable, key: str, values: Collection[str], reference: str) -> _SliceContrast:
        """Return the differences of values of a key from the reference, in the values of a measure by the key."""
        measure = table.measure
        name = measure.model_dump_json()
        by = tuple(name for name in measure.by if name != key)
        rows: dict[tuple[str, Key, str], MeasureRow] = {}
        for value in values:
            place = (name, key, value, reference)
            if place not in self._slices:
                self._slices[place] = self._slice(measure, key, value, reference, by)
            rows |= {(value, tuple(map(_text, row.by)), row.model): row for row in self._slices[place]}
        return _SliceContrast(key, by, rows)

    def _slice(
        self, measure: Measure, key: str, value: str, reference: str, by: tuple[str, ...]
    ) -> Sequence[MeasureRow]:
        """Return the differences of a value of a key from the reference."""
        plan = self.report.plan
        sliced = measure.model_copy(update={"name": SLICED})
        ends = None if measure.low is None or measure.high is None else measure.high - measure.low
        content = {
            "name": f"{measure.name}[{key}: {value}] - {measure.name}[{key}: {reference}]",
            "by": by,
            "low": None if ends is None else -ends,
            "high": ends,
            "random": tuple(name for name in measure.random if name != key),
            "until": None,
            "figure": Formula(
                operator="-", values=tuple(Measured(measure=SLICED, slice={key: side}) for side in (value, reference))
            ),
        }
        plan = plan.model_copy(update={"measures": (*plan.measures, sliced)})
        difference = evaluate_or_error(self.connection, plan, measure.model_copy(update=content))
        return with_sequential_intervals(self.report.run, difference).rows


@dataclass(frozen=True)
class _Arrangement:
    """The arrangement of one table: which values it shows, in which order, and what they are called."""

    plan: Plan
    table: ResultTable
    language: str | None
    models: Sequence[str]

    def filled(self, results: _Results) -> Table:
        """Return the table with the results of its figures."""
        evaluated = [results.of(figure.measure) for figure in self.table.figures]
        errors = [f"{table.measure.name}: {table.error}" for table in evaluated if table.error is not None]
        lines = [
            line
            for figure, table in zip(self.table.figures, evaluated, strict=True)
            for line in self._lines(figure, table.rows, self._contrast(results, table))
        ]
        lines = self._grouped(lines)
        own = self._in_order({key for line in lines for key in line.cells}, self.table.keys)
        lines, own = self._same_for_all_models(lines, own)
        lines = [self._compared(line, own) for line in lines]
        rows = [row for table in evaluated for row in table.rows]
        read = reading_notes(rows) if rows else () if errors else ("Nothing has a value.",)
        notes = (*errors, *self._lacking(own), *read, *warnings_of(results.report))
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

    def _lines(self, figure: TableFigure, rows: Sequence[MeasureRow], contrast: Contrast | None) -> list[_Line]:
        """Return the lines of a figure: one, or one for each value that only the figure goes by."""
        by = figure.measure.by
        cells: dict[Key, dict[Key, Estimate]] = {}
        pooled = is_pooled(figure.measure.figure, measures_of(self.plan))
        for row in rows:
            if pooled and MODEL not in self.table.keys and row.model != rows[0].model:
                continue
            values = {**dict(zip(by, row.by, strict=True)), MODEL: row.model}
            for one, other in _evaluators(values):
                key = tuple(values.get(name, one) for name in self.table.keys)
                spread = tuple(values.get(name, other) for name in figure.spread)
                cells.setdefault(spread, {})[key] = self._scaled(row)
        return [
            _Line(figure, values, *self._headings(figure, values), cells.get(values, {}), contrast)
            for values in self._in_order({*cells, *self._without_results(figure, cells)}, figure.spread)
        ]

    def _without_results(self, figure: TableFigure, keys: Collection[Key]) -> list[Key]:
        """Return the values of the lines of a figure that are shown although they have no results: of its only line, or
        of those that `values` lists."""
        if not figure.spread:
            return [] if keys else [()]
        chosen = self.table.values.get(figure.spread[0], ()) if len(figure.spread) == 1 else ()
        known = {_text(values[0]) for values in keys}
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
        """Return the lines and keys with one key in place of those of several models with equal figures under
        conditions in which none of them is asked, such as the results of a student whom nobody taught. Elsewhere equal
        figures are chance. If `model` is not the last key, these keys come first."""
        if MODEL not in self.table.keys:
            return list(lines), list(own)
        at = self.table.keys.index(MODEL)
        same: dict[Key, Key] = {}
        for others in dict.fromkeys((*key[:at], *key[at + 1 :]) for key in own):
            keys = [key for key in own if (*key[:at], *key[at + 1 :]) == others]
            alike = all(len({_shown(line.cells.get(key)) for key in keys}) == 1 for line in lines)
            if len(keys) > 1 and alike and not self._asks_models(self._place_of_key(keys[0])):
                same |= dict.fromkeys(keys, (*others[:at], self._word(ALL_MODELS), *others[at:]))
        merged = [
            replace(line, cells={same.get(key, key): estimate for key, estimate in line.cells.items()})
            for line in lines
        ]
        kept = list(dict.fromkeys(same.get(key, key) for key in own))
        if at < len(self.table.keys) - 1:
            kept.sort(key=lambda key: key not in same.values())
        return merged, kept

    def _place_of_key(self, key: Key) -> Place:
        return dict(zip(self.table.keys, key, strict=True))

    def _asks_models(self, place: Place) -> bool:
        """Return true if a compared model replies or judges under the arms of a place, in any scenario."""
        compared = {role.name for role in self.plan.roles if role.kind == "compared"}
        judges = {scorer.name: scorer.role for scorer in self.plan.scorers}
        return any(
            compared & {*roles_called(step), judges.get(getattr(step, "scorer", ""))}
            for scenario in self.plan.scenarios
            for treatment in scenario.treatments
            if all(_text(place[arm]) == condition for arm, condition in treatment.arms.items() if arm in place)
            for step in treatment.steps
        )

    # Differences

    def _contrast(self, results: _Results, evaluated: MeasureTable) -> Contrast | None:
        """Return the differences of a figure that the table shows or tests; None if it does neither."""
        key, reference = self.table.keys[-1], self.table.reference
        if (reference is None and self.table.level is None) or not evaluated.rows:
            return None
        if key == MODEL:
            return results.model_contrast(evaluated, reference)
        if reference is None or key not in evaluated.measure.by:
            return None
        at, shown = evaluated.measure.by.index(key), self._place(key)
        values = dict.fromkeys(_text(row.by[at]) for row in evaluated.rows if shown(row.by[at]) is not None)
        others = [value for value in values if value != reference]
        return results.slice_contrast(evaluated, key, others, reference)

    def _compared(self, line: _Line, own: Sequence[Key]) -> _Line:
        """Return a line with the differences from the reference, and with the p-values of those or of the differences
        from the best value of each block."""
        if line.contrast is None:
            return line
        differences = {
            key: self._difference(line, key)
            for key in own
            if key in line.cells and self.table.reference is not None and not self._keeps_value(key)
        }
        p_values: dict[Key, float] = {}
        for keys in self._blocks(line, own) if self.table.level is not None else ():
            other = self.table.reference
            if other is None:
                other = min(keys, key=lambda key: self._sign(line) * (line.cells[key].value or 0.0))[-1]
            tested = {key: line.contrast.p_value(self._place_of(line, key), other) for key in keys if key[-1] != other}
            p_values |= {key: p for key, p in tested.items() if p is not None}
        return replace(line, differences=differences, p_values=p_values)

    def _difference(self, line: _Line, key: Key) -> Estimate:
        """Return the difference of a key from the reference, or why there is none."""
        assert line.contrast is not None and self.table.reference is not None
        difference = line.contrast.difference(self._place_of(line, key), self.table.reference)
        if difference is not None:
            return self._scaled(difference)
        both = (key, next((other for other in line.cells if other[:-1] == key[:-1] and self._is_reference(other)), key))
        reasons = [line.cells[cell].reason for cell in both if line.cells[cell].value is None]
        return Estimate.undefined(next(filter(None, reasons), NO_DIFFERENCE))

    def _keeps_value(self, key: Key) -> bool:
        """Return true if a key has its value where others have differences: the reference, and all models together."""
        return self._is_reference(key) or self._word(ALL_MODELS) in key

    def _place_of(self, line: _Line, key: Key) -> Place:
        return dict(zip((*line.figure.spread, *self.table.keys), (*line.values, *key), strict=True))

    def _is_reference(self, key: Key) -> bool:
        return self.table.reference is not None and _text(key[-1]) == self.table.reference

    def _in_place(self, line: _Line) -> _Line:
        """Return a line with differences in place of its values, apart from those of the reference, or of all models
        together."""
        nothing = Estimate.undefined(NO_DIFFERENCE)
        cells = {
            key: cell if self._keeps_value(key) else line.differences.get(key, nothing)
            for key, cell in line.cells.items()
        }
        return replace(line, cells=cells)

    def _lacking(self, own: Sequence[Key]) -> tuple[str, ...]:
        """Return the note that the reference has no results."""
        if self.table.reference is None or any(map(self._is_reference, own)):
            return ()
        return (f"{self._reference_label} has no results, so nothing is compared with it.",)

    @property
    def _reference_label(self) -> str:
        return self._label(self.table.keys[-1], self.table.reference)

    def _comparison_notes(self) -> tuple[str, ...]:
        """Return the note that says what differences are from."""
        if self.table.reference is None:
            return ()
        if self.table.beside:
            return (f"{DELTA}: the difference from {self._reference_label}.",)
        if self.table.transposed:
            return (f"Differences from {self._reference_label}, whose own column has values.",)
        return (f"Differences from {self._reference_label}, whose own row has values.",)

    def _tested(self) -> str | None:
        """Return what a dagger means."""
        if self.table.level is None:
            return None
        other = "the best value" if self.table.reference is None else self._reference_label
        return f"differs from {other} beyond error ({self.table.level * 100:g} %, {FAMILY})"

    def _scaled(self, row: Estimate) -> Estimate:
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

    def _word(self, text: str) -> str:
        """Return a word of Tripos beside the titles of the table, or in the language of the reader."""
        return localized(text, self.language)

    def _in(self, title: Labels) -> str:
        return self.plan.text_in(title, self.language) or ""

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
        if self.table.reference is not None and not self.table.beside:
            lines = [self._in_place(line) for line in lines]
        published: list[Key] = []
        if self.table.published:
            lines, published = self._published(lines)
        columns = self._transposed if self.table.transposed else self._upright
        table = self.table
        title = self._in(table.published_title) or self._word("Published")
        return Table(
            tuple(_with_unique_keys(columns(lines, ranks, own, published, title))),
            f"{self.plan.benchmark.name}-{table.name}",
            self.plan.title_of("table", table.name, self.language) or table.name,
            tuple(filter(None, (*map(self._in, table.notes), *self._units(), *self._comparison_notes(), *notes))),
            marks=HIGHEST,
            tested=self._tested(),
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
        places = {key: place for place, key in enumerate(own)}
        figures = [
            column
            for line, ranked in zip(lines, ranks, strict=True)
            for column in self._columns(
                line.heading,
                line.group,
                [line.cells.get(key) for key in keys],
                {places[key]: rank for key, rank in ranked.items()},
                [line.differences.get(key) for key in keys],
                {places[key]: p for key, p in line.p_values.items()},
                signed=frozenset(place for key, place in places.items() if key in line.differences),
            )
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
            column
            for place, key in enumerate((*own, *published))
            for column in self._columns(
                self._label(self.table.keys[-1], key[-1]),
                title if place >= len(own) else self._key_group(key),
                [line.cells.get(key) for line in lines],
                {row: ranked[key] for row, ranked in enumerate(ranks) if key in ranked},
                [line.differences.get(key) for line in lines],
                {row: line.p_values[key] for row, line in enumerate(lines) if key in line.p_values},
                signed=frozenset(row for row, line in enumerate(lines) if key in line.differences),
                decimals=decimals,
                has_differences=place < len(own) and not self._is_reference(key),
            )
        ]
        return (*labels, *figures)

    def _key_heading(self, name: str) -> str:
        """Return the heading of a key. A field is called by its name alone, without that of its row."""
        if name == MODEL:
            return self._word(MODEL)
        bare = name.rpartition(".")[2]
        if bare not in [other.rpartition(".")[2] for other in self.table.keys if other != name]:
            name = bare
        return dimension_heading(self.plan, name, self.language or self.plan.benchmark.languages[0])

    def _key_group(self, key: Key) -> str | None:
        outer = [self._label(name, value) for name, value in zip(self.table.keys[:-1], key, strict=False)]
        return " · ".join(outer) or None

    def _columns(
        self,
        heading: str,
        group: str | None,
        cells: Sequence[Estimate | None],
        emphasis: Mapping[int, int],
        differences: Sequence[Estimate | None],
        p_values: Mapping[int, float],
        *,
        signed: frozenset[int],
        decimals: int | Sequence[int] | None = None,
        has_differences: bool = True,
    ) -> Iterator[Column]:
        """Yield the column of a figure or of a key, and that of its differences if the table has them beside."""
        published = self.table.beside
        column = Column(
            heading if group is None else f"{group}: {heading}",
            tuple(cells),
            "number",
            heading=heading,
            is_name=True,
            group=group,
            decimals=self._decimals(cells) if decimals is None else decimals,
            emphasis=emphasis,
            signed=False if published else signed,
            p_values={} if published else p_values,
            level=self.table.level or Column.level,
        )
        yield column
        if published and has_differences:
            yield replace(
                column,
                key=f"{column.key}: difference",
                cells=tuple(differences),
                heading=DELTA,
                emphasis={},
                signed=True,
                p_values=p_values,
            )

    def _decimals(self, cells: Sequence[Estimate | None]) -> int:
        if self.table.digits is not None:
            return self.table.digits
        return decimals_of([None if cell is None else cell.value for cell in cells])

    def _ranks(self, line: _Line, own: Sequence[Key]) -> dict[Key, int]:
        """Return the ranks of the best values of a line, apart for each value of the outer keys. Equal values as they
        are printed share a rank."""
        ranks: dict[Key, int] = {}
        decimals = self._decimals(list(line.cells.values()))
        for keys in self._blocks(line, own):
            printed = {key: self._sign(line) * round(line.cells[key].value or 0.0, decimals) for key in keys}
            best = sorted(set(printed.values()))[: self.table.marked]
            if len(set(printed.values())) > 1:
                ranks |= {key: best.index(value) + 1 for key, value in printed.items() if value in best}
        return ranks

    def _blocks(self, line: _Line, own: Sequence[Key]) -> list[list[Key]]:
        """Return the keys of a line with a value, apart for each value of the outer keys."""
        blocks: dict[Key, list[Key]] = {}
        for key in own:
            if key in line.cells and line.cells[key].value is not None:
                blocks.setdefault(key[:-1], []).append(key)
        return list(blocks.values())

    def _sign(self, line: _Line) -> int:
        """Return the factor with which the best value is the least."""
        return 1 if is_lower_better(self.plan, line.figure.measure) else -1


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
