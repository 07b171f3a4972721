"""`tripos describe`: statistics of the data sets of a spec, as a table, JSON or CSV."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tripos.cli.context import Context, Outcome
from tripos.settings.option import listed_names
from tripos.settings.options import DescribeParameters
from tripos.terminal import table_width
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import TriposError
from tripos_compiler.library.functions.texts import words
from tripos_compiler.plan import ChoiceType, DataField, Dataset, ListType, Plan, RecordType, SetType, TextType, Type
from tripos_runtime.datasets.cases import CaseSource
from tripos_warehouse.tables.data import csv_text
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import table_lines

Row = Mapping[str, Any]
Group = tuple[str, ...]
"""The values of the fields that rows are grouped by."""
NO_VALUE = "(none)"
"""The label of a missing value of such a field."""
UNITS: dict[str, Callable[[str], int]] = {"characters": len, "words": words}
"""Functions that measure the length of a text."""
FIGURES = ("rows", "values", "distinct", "mean", "least", "median", "most")
"""The statistics of a field."""


@dataclass(frozen=True)
class FieldStatistics:
    """The statistics of one field in one group.

    `unit` is the unit of `mean`, `least`, `median` and `most`: characters or words of a text, items of a list, turns of
    a dialogue, or none for numbers. These four are None for values without a length, such as a choice. `distinct`
    counts different values; for a list, different items.
    """

    rows: int
    values: int
    distinct: int
    unit: str
    mean: float | None = None
    least: float | None = None
    median: float | None = None
    most: float | None = None


@dataclass
class FieldValues:
    """The values of one field in one group."""

    values: int = 0
    distinct: set[Any] = field(default_factory=set)
    sizes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class FieldPart:
    """A field, a part of a record, or the `joined` texts of a list. Its name has dots; its type is without `?`."""

    name: str
    path: tuple[str, ...]
    type: Type
    joined: bool = False

    def of(self, row: Row) -> Any:
        """Return its value in a row, or None if it is missing."""
        value: Any = row
        for name in self.path:
            value = None if value is None else value.get(name)
        return "".join(map(str, value)) if self.joined and value is not None else value


def parts_of(fields: Iterable[DataField]) -> list[FieldPart]:
    """Return the fields of a data set. A record is replaced by its fields; a list of texts is followed by its joined
    texts."""
    return [part for data_field in fields for part in _parts((data_field.name,), data_field.type)]


def _parts(path: tuple[str, ...], type_: Type) -> Iterator[FieldPart]:
    bare = type_.of if type_.kind == "optional" else type_
    name = ".".join(path)
    if isinstance(bare, RecordType):
        for inner, of in bare.fields.items():
            yield from _parts((*path, inner), of)
        return
    yield FieldPart(name, path, bare)
    if isinstance(bare, ListType | SetType) and bare.of.kind == "text":
        yield FieldPart(f"{name}.text", path, TextType(), joined=True)


def describe(
    rows: Iterable[Row],
    parts: Sequence[FieldPart],
    by: Sequence[FieldPart],
    unit: str = "characters",
    names: Mapping[str, str] | None = None,
) -> dict[Group, dict[str, FieldStatistics]]:
    """Return the statistics of every part in every group of rows, in the order in which groups first occur. `names`
    maps values of `by` to the group under which they are counted.

    >>> from tripos_compiler.plan import TextType
    >>> kind, text = (FieldPart(name, (name,), TextType()) for name in ("kind", "text"))
    >>> rows = [{"kind": "a", "text": "one"}, {"kind": "b", "text": "three"}, {"kind": "c", "text": "three"}]
    >>> found = describe(rows, [text], [kind], names={"b": "others", "c": "others"})
    >>> [(group, of["text"].rows, of["text"].distinct, of["text"].mean) for group, of in found.items()]
    [(('a',), 1, 1, 3.0), (('others',), 2, 1, 5.0)]
    """
    counts: dict[Group, int] = defaultdict(int)
    gathered: dict[Group, dict[str, FieldValues]] = {}
    for row in rows:
        group = tuple(_group_of(part.of(row), names or {}) for part in by)
        counts[group] += 1
        of = gathered.setdefault(group, {part.name: FieldValues() for part in parts})
        for part in parts:
            _gather(of[part.name], part.of(row), UNITS[unit])
    return {
        group: {part.name: _figures(of[part.name], part, counts[group], unit) for part in parts}
        for group, of in gathered.items()
    }


def _group_of(value: Any, names: Mapping[str, str]) -> str:
    if value is None:
        return NO_VALUE
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return names.get(text, text)


def _gather(into: FieldValues, value: Any, length: Callable[[str], int]) -> None:
    if value is None:
        return
    into.values += 1
    match value:
        case bool():
            into.distinct.add(value)
        case int() | float():
            into.distinct.add(value)
            into.sizes.append(value)
        case str():
            into.distinct.add(value)
            into.sizes.append(length(value))
        case list() | tuple() | set() | frozenset():
            into.distinct.update(map(repr, value))
            into.sizes.append(len(value))
        case _:
            into.distinct.add(repr(value))


COUNTED = {"list": "items", "set": "items", "dialogue": "turns"}
"""The unit of a length by type. Texts have the requested unit, and numbers have none."""


def _figures(of: FieldValues, part: FieldPart, rows: int, unit: str) -> FieldStatistics:
    kind = part.type.kind
    if kind not in (*COUNTED, "text", "integer", "number") or not of.sizes:
        return FieldStatistics(rows, of.values, len(of.distinct), "")
    mean, median = statistics.fmean(of.sizes), statistics.median(of.sizes)
    counted = unit if kind == "text" else COUNTED.get(kind, "")
    return FieldStatistics(rows, of.values, len(of.distinct), counted, mean, min(of.sizes), median, max(of.sizes))


DIGITS = {"rows": 0, "values": 0, "distinct": 0, "mean": 2, "least": 0, "median": 1, "most": 0}
"""The decimals of a statistic in a table. A number keeps its own decimals."""


@dataclass(frozen=True)
class DatasetStatistics:
    """One data set, or several together: name, files, and the statistics of each group of rows."""

    name: str
    files: tuple[tuple[str, int], ...]
    by: tuple[str, ...]
    parts: tuple[FieldPart, ...]
    groups: Mapping[Group, Mapping[str, FieldStatistics]]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(next(iter(of.values())).rows for of in self.groups.values())


def main(context: Context) -> Outcome:
    """Return the statistics. Raises `TriposError` for an unknown data set, field or group."""
    options = context.options
    spec = context.compiled(options.path, context.project_config)
    source = CaseSource(spec.plan, spec.folders, tuple(each.path for each in spec.compilation.sources))
    datasets = _chosen(spec.plan, listed_names(options.dataset))
    groups = [datasets] if options.together else [[dataset] for dataset in datasets]
    described = [_described(source, group, options) for group in groups]
    figure, of_fields = options.figure or "mean", _field_figures(options.field)
    if not options.by and any(of_fields.values()):
        message = f"`{DescribeParameters.field} NAME=FIGURE` needs `{DescribeParameters.by}`"
        raise TriposError("R0202", message, "without it all figures of a field are shown")
    tables = ("\n".join(_lines(statistics_, figure, of_fields)) for statistics_ in described)
    return Outcome(lambda: _to_data(spec.plan, described), ["\n\n".join(tables)], {"csv": lambda: _to_csv(described)})


def _chosen(plan: Plan, names: Sequence[str]) -> list[Dataset]:
    """Return the data sets of these names, or all that are read from files."""
    datasets = {dataset.name: dataset for dataset in plan.datasets}
    made = {dataset.name for dataset in plan.made}
    for name in names:
        if name in made:
            hint = f'a run makes its rows: run the benchmark, then `tripos sql "from {plan.benchmark.name}.items"`'
            raise TriposError("R0202", f"`{name}` is not read from files", hint)
        if name not in datasets:
            raise TriposError("R0202", f"the benchmark has no data set `{name}`", _hint(name, datasets))
    if not datasets:
        raise TriposError(
            "R0202", "the benchmark reads no data set from files", 'name a spec with a `dataset … from "…"`'
        )
    return [datasets[name] for name in names] or list(datasets.values())


def _hint(name: str, known: Iterable[str]) -> str:
    return suggest(name, known, f"there is {', '.join(f'`{each}`' for each in known)}")


def _described(source: CaseSource, datasets: Sequence[Dataset], options: Namespace) -> DatasetStatistics:
    parts_by_dataset = [parts_of(dataset.fields) for dataset in datasets]
    parts = [part for part in parts_by_dataset[0] if all(part in field_parts for field_parts in parts_by_dataset[1:])]
    name = " + ".join(dataset.name for dataset in datasets)
    if not parts:
        raise TriposError(
            "R0202",
            f"the data sets {name} have no field in common",
            f"describe them without `{DescribeParameters.together}`",
        )
    by = [_part(name, parts, name_) for name_ in listed_names(options.by)]
    chosen = [_part(name, parts, name_) for name_ in _field_figures(options.field)] or parts
    rows = (row.values for dataset in datasets for row in source.sources.stream(dataset))
    groups = describe(rows, chosen, by, options.unit, _parse_groups(options.group))
    files = tuple((file.path, file.rows) for dataset in datasets for file in dataset.every_file)
    return DatasetStatistics(
        name, files, tuple(part.name for part in by), tuple(chosen), _sorted(groups, by, options.group)
    )


def _part(dataset: str, parts: Sequence[FieldPart], name: str) -> FieldPart:
    field_parts = {part.name: part for part in parts}
    if name not in field_parts:
        raise TriposError("R0202", f"`{dataset}` has no field `{name}`", _hint(name, field_parts))
    return field_parts[name]


def _field_figures(texts: Sequence[str]) -> dict[str, str | None]:
    """Return the figure that is shown of each field, from texts `NAME` or `NAME=FIGURE`; None for that of all."""
    figures: dict[str, str | None] = {}
    for text in listed_names(texts):
        name, equals, figure = text.partition("=")
        if equals and figure not in FIGURES:
            message = f"`{DescribeParameters.field} {text}` names no figure"
            raise TriposError("R0202", message, suggest(figure, FIGURES, f"there is {', '.join(FIGURES)}"))
        figures[name] = figure if equals else None
    return figures


def _parse_groups(texts: Sequence[str]) -> dict[str, str]:
    """Return the group of each value, from texts `NAME=V,V`."""
    names: dict[str, str] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not listed_names([values]):
            raise TriposError(
                "R0202",
                f"`{DescribeParameters.group} {text}` names no values",
                f"write {DescribeParameters.group} NAME=VALUE[,VALUE]",
            )
        for value in listed_names([values]):
            if value in names:
                message = f"`{value}` is counted as `{names[value]}` and as `{name.strip()}`"
                raise TriposError("R0202", message, f"name a value in one `{DescribeParameters.group}`")
            names[value] = name.strip()
    return names


def _sorted(
    groups: Mapping[Group, Mapping[str, FieldStatistics]], by: Sequence[FieldPart], given: Sequence[str]
) -> dict[Group, Mapping[str, FieldStatistics]]:
    """Return the groups in the order of `--group`; then values of a choice in its order, and others in the order of the
    rows."""
    named = [text.partition("=")[0].strip() for text in given]
    orders = [[*named, *(part.type.values if isinstance(part.type, ChoiceType) else ())] for part in by]

    def place(group: Group) -> list[int]:
        return [
            order.index(value) if value in order else len(order) for order, value in zip(orders, group, strict=True)
        ]

    return dict(sorted(groups.items(), key=lambda each: place(each[0])))


def _lines(described: DatasetStatistics, figure: str, of_fields: Mapping[str, str | None]) -> Iterator[str]:
    """Yield a table: a line for each field, or with groups a line for each group and a column of one statistic for each
    field: that of `of_fields`, or `figure`."""
    count = len(described.files)
    yield localized(f"{described.name}: {described.rows:,} rows of {count:,} file{'' if count == 1 else 's'}")
    if not described.groups:
        return
    if not described.by:
        (of,) = described.groups.values()
        statistics_by_field = [of[part.name] for part in described.parts]
        columns = (
            Column("field", tuple(part.name for part in described.parts)),
            *(_figure_column(name, name, statistics_by_field) for name in FIGURES[1:]),
            Column("of", tuple(localized(field_statistics.unit) for field_statistics in statistics_by_field)),
        )
        yield from table_lines(Table(columns), table_width())
        return
    keys = [
        Column(name, tuple(group[at] for group in described.groups), is_name=True)
        for at, name in enumerate(described.by)
    ]
    counted = [next(iter(of.values())).rows for of in described.groups.values()]
    rows = [
        Column("rows", tuple(counted), "count"),
        Column("share", tuple(each / described.rows for each in counted), "share"),
    ]
    if figure == "rows":
        yield from table_lines(Table((*keys, *rows)), table_width())
        return
    yield localized(f"{figure} of each field:")
    fields = [
        _field_column(part.name, of_fields.get(part.name), figure, [of[part.name] for of in described.groups.values()])
        for part in described.parts
        if part.name not in described.by
    ]
    yield from table_lines(Table((*keys, *rows, *fields)), table_width())


def _field_column(name: str, own: str | None, figure: str, fields: Sequence[FieldStatistics]) -> Column:
    """Return the column of a field: of its own figure, which its heading then names, or of that of all fields."""
    column = _figure_column(name, own or figure, fields)
    return column if own is None else replace(column, heading=f"{localized(own)} {name}")


def _figure_column(name: str, figure: str, fields: Sequence[FieldStatistics]) -> Column:
    """Return one statistic of several fields. A whole number has no decimals, except in a mean."""
    values = [getattr(field_statistics, figure) for field_statistics in fields]
    decimals = [DIGITS[figure] or (0 if value is None else len(f"{value:g}".partition(".")[2])) for value in values]
    is_name = name != figure
    return Column(name, tuple(values), "number", heading=name, is_name=is_name, decimals=decimals)


def _to_data(plan: Plan, described: Sequence[DatasetStatistics]) -> dict[str, object]:
    """Return all statistics for JSON."""
    return {
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "datasets": [
            {
                "dataset": each.name,
                "rows": each.rows,
                "files": [{"path": path, "rows": rows} for path, rows in each.files],
                "groups": [
                    {
                        "by": dict(zip(each.by, group, strict=True)),
                        "rows": next(iter(of.values())).rows,
                        "fields": {name: asdict(figures) for name, figures in of.items()},
                    }
                    for group, of in each.groups.items()
                ],
            }
            for each in described
        ],
    }


def _to_csv(described: Sequence[DatasetStatistics]) -> str:
    """Return all statistics as CSV, one line for each field of each group."""
    headings = ["dataset", *described[0].by, "field", *FIGURES, "unit"]
    rows = [
        [each.name, *group, name, *(getattr(figures, figure) for figure in FIGURES), figures.unit]
        for each in described
        for group, of in each.groups.items()
        for name, figures in of.items()
    ]
    return csv_text(headings, rows)
