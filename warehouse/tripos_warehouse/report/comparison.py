"""Comparing two runs, or two models of one: paired by item, over each measure, metric and scenario."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tripos_compiler.language import Clustering
from tripos_compiler.language.figures import element_scores, ranges_of, score_spans
from tripos_compiler.plan import Aggregate, BoolType, Grade, IntegerType, Measure, NumberType, Plan, Score, Type
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports import metric_weights
from tripos_warehouse.measures import (
    INTERRUPTED,
    OF_TWO_RUNS,
    TOO_FAR_APART,
    UNFOLLOWED,
    Half,
    SumOfMeans,
    aggregates,
    evaluate_or_tell,
    fields_of_pairs,
    followed_difference,
    items_beside_numbers,
    mean_of,
    paired_cells_of,
    paired_mean_of,
    paired_sum_of,
    remeasure,
    with_fields,
)
from tripos_warehouse.query import Connection
from tripos_warehouse.report.compared_rows import NO_MARGINS, ComparedRow, Margins, Section, corrected
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import ONE_CLUSTER, ONE_ITEM, mean_of_cells
from tripos_warehouse.views import (
    LANGUAGE,
    RunRecord,
    are_counted,
    arm_columns,
    axis_columns,
    clusterings_of,
    dimension_label,
    dimension_place,
    people_apart,
)

ITEM, SLOT, CLUSTER = "its item", "its slot", "cluster_id"
"""Columns that stand beside axes and arms: no name of those has a space."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a run, seen by a connection that shows it alone, and those of its models that count.

    The models of both sides belong together by their places: the first of one with the first of the other.
    """

    connection: Connection
    plan: Plan
    run: RunRecord
    models: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """The difference of two sides. `pairs` are shared scores of `items` items; `only_a` and `only_b` are scores with a
    value that the other side lacks, `same` results that two models share because neither took part in them, `unpaired`
    measures that cannot be compared, each with the reason, and `together` those that a run has once for all of its
    models, so that they tell no two of these apart. The people in `people` have scores of their own, which are no part
    of it."""

    sections: tuple[Section, ...]
    pairs: int
    items: int
    only_a: int
    only_b: int
    same: int
    unpaired: tuple[tuple[str, str], ...]
    together: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    """The measures of the headline, which are tested before the others."""
    by_people: tuple[str, ...] = ()
    """The measures that people correct."""
    clusterings: tuple[Clustering, ...] = ()
    """What errors cluster by, where items were drawn together."""
    tests: int = 0
    """The number of figures whose p-values are corrected together."""
    shares_level: bool = False
    """True if the headline has a part of the level, and other figures the rest."""
    margins: Margins = field(default_factory=dict)
    """The margins within which the sides were to be alike."""
    stopped: bool = False
    """True if a model of a side did not see all items, since its run stopped when it was settled."""
    interrupted: bool = False
    """True if the run of a side was to stop then, and was stopped before."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """The sentences on rows of a run that looked at its models after every item."""
        rows = [row for section in self.sections for row in section.rows if row.by_sequence]
        names = ", ".join(dict.fromkeys(row.name for row in rows))
        told = f"{names}: B − A, its interval and p are those of a confidence sequence, which hold whenever a run stops"
        cautions = {told: bool(rows), TOO_FAR_APART: self.stopped, INTERRUPTED: self.interrupted}
        return tuple(each for each, holds in cautions.items() if holds)


@dataclass(frozen=True)
class Judged:
    """Known facts about scores, by name: those of which more is better, and how far apart two values can be."""

    graded: set[str]
    spans: dict[str, float]


@dataclass(frozen=True)
class _Pairs:
    """Shared scores as columns of one length; texts of `columns`, and the values of both sides."""

    columns: dict[str, NDArray[Any]]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    weight: NDArray[np.float64]
    place: NDArray[np.int64]
    """The places of the pairs among all that are shared."""

    def where(self, mask: NDArray[np.bool_]) -> _Pairs:
        columns = {name: column[mask] for name, column in self.columns.items()}
        return _Pairs(columns, self.a[mask], self.b[mask], self.weight[mask], self.place[mask])


def compare(one: Side, two: Side, *, by_judge: bool = True, margins: Margins = NO_MARGINS) -> Comparison:
    """Compare `two` with `one`. With `by_judge` a pair is two scores by the same judge, which is right where both sides
    have the same ones; without it, two means over judges. With `margins`, rows say whether the sides are equivalent.

    Raises `StoreError`: S0611 where they are of two benchmarks, S0612 where a metric has another scale, S0613 where
    they share no item, S0616 for a margin that fits no row.
    """
    check_comparable(one, two)
    found, only_a, only_b, same = _read(one, two, by_judge)
    judged = Judged(graded_scores(two.plan), spans_of(two.plan))
    together = _together(one, two)
    of_replies = found.where(~np.isin(found.columns["metric"], element_scores(two.plan)))
    items = {*found.columns[ITEM].tolist(), *items_beside_numbers(one, two, alone=not len(found.a))}
    measures, unpaired = _measures(one, two, found, sorted(items), judged, together)
    sections = [
        Section("measure", measures),
        Section("metric", tuple(_metrics(two.plan, of_replies, judged))),
        Section("scenario", tuple(_scenarios(two.plan, of_replies, judged))),
    ]
    family = corrected([_as_followed(section, one, two) for section in sections], _headline(two.plan), margins)
    people = tuple(sorted({name for side in (one, two) for name in people_apart(side.connection, side.plan)}))
    first = tuple(name for name in _headline(two.plan) if name in {row.name for row in measures})
    by_people = tuple(each.name for each in two.plan.measures if each.corrected)
    by_people = tuple(name for name in by_people if name in {row.name for row in measures})
    return Comparison(
        family.sections,
        len(found.a),
        len(items),
        only_a,
        only_b,
        same,
        unpaired,
        together,
        tuple(people),
        first,
        by_people,
        clusterings_of(two.connection, two.plan),
        family.tests,
        0 < family.of_headline < family.tests,
        margins,
        stopped=any(_stopped(side) for side in (one, two)),
        interrupted=any(side.run.interrupted for side in (one, two)),
    )


def check_comparable(one: Side, two: Side) -> None:
    """Raise `StoreError` S0611 or S0612 as `compare` does."""
    if one.run.benchmark != two.run.benchmark:
        message = f"`{one.run.run_id}` is a run of `{one.run.benchmark}`, `{two.run.run_id}` of `{two.run.benchmark}`"
        raise StoreError("S0611", message, "compare runs of one benchmark: `tripos list` shows them")
    before, after = _scales(one.plan), _scales(two.plan)
    for name in after:
        if name in before and before[name] != after[name]:
            message = f"`{name}` is on another scale: {before[name]} in one run, {after[name]} in the other"
            raise StoreError("S0612", message, "run the earlier spec again on the new scale")


def _scales(plan: Plan) -> dict[str, str]:
    """Return what the values of every score are, in words."""
    found = {
        metric.name: f"{metric.low} to {metric.high}"
        + (f", outside {metric.outside}" if metric.outside != "refuse" else "")
        for metric in plan.metrics
    }
    ranges = ranges_of(plan)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics):
                found[step.name] = _given(ranges.declared(scenario, step))
    return found


def _given(type_: Type) -> str:
    match type_:
        case IntegerType(low=low, high=high) if low is not None or high is not None:
            return f"{low} to {high}"
        case BoolType():
            return "true or false"
        case IntegerType() | NumberType():
            return "a number"
    return str(type_.kind)


def spans_of(plan: Plan) -> dict[str, float]:
    """Return how far apart two values of a score can be, of those whose scale has bounds."""
    found = {metric.name: float(metric.ends[1] - metric.ends[0]) for metric in plan.metrics if metric.ends is not None}
    return found | {name: high - low for name, (low, high) in score_spans(plan).items() if low < high < low + math.inf}


def graded_scores(plan: Plan) -> set[str]:
    """Return the scores of which more is better: what judges give, and what is true or false."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    computed = {step.name for step in steps if isinstance(step, Score) and step.truth}
    given = {name for step in steps if isinstance(step, Grade) for name in (*step.metrics, step.name, step.scorer)}
    return computed | given


def _read(one: Side, two: Side, by_judge: bool) -> tuple[_Pairs, int, int, int]:
    """Return the shared scores, how many have a value on one side only, and how many are of the same reply for two
    models."""
    import duckdb
    import pyarrow.compute as pc

    places = [LANGUAGE, *axis_columns(two.plan), *fields_of_pairs(two.plan)]
    arms = [arm for arm in arm_columns(two.plan) if arm in arm_columns(one.plan)]
    keys = ["scenario", ITEM, "metric", "scorer", *arms, *(["evaluator"] if by_judge else []), SLOT]
    joined = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    with joined:
        joined.register("one", _scores(one, keys, []))
        joined.register("two", _scores(two, keys, ["dimension", CLUSTER, *places]))
        same = " and ".join(f"one.{sql.name(key)} is not distinct from two.{sql.name(key)}" for key in keys)
        columns = [*keys, "dimension", CLUSTER, *places]
        every = joined.sql(
            f"""select {", ".join(f"two.{sql.name(name)}" for name in columns)},
              one.value as "its a", two.value as "its b",
              one.model <> two.model and one."its sample" = two."its sample" as "its same"
            from one join two on {same} order by {", ".join(map(str, range(1, len(columns) + 1)))}"""
        ).to_arrow_table()
        table = every.filter(pc.invert(every.column("its same")))
        [(count_a, count_b)] = joined.sql("select (select count(*) from one), (select count(*) from two)").fetchall()
    if not table.num_rows and not items_beside_numbers(one, two, alone=True):
        hint = "both sides must have scores of the same items in the same scenarios; `tripos list` shows the runs"
        raise StoreError("S0613", f"the two sides share no scored item: {count_a:,} scores and {count_b:,}", hint)
    values = {name: np.asarray(table.column(name).to_pylist(), dtype=object) for name in columns}
    weights = metric_weights(two.plan)
    pairs = zip(values["scenario"], values["metric"], strict=True)
    weight = np.array([weights.get(scenario, {}).get(metric, 1.0) for scenario, metric in pairs])
    a, b = (table.column(name).to_numpy() for name in ("its a", "its b"))
    found = _Pairs(values, a, b, weight, np.arange(len(a)))
    return found, count_a - every.num_rows, count_b - every.num_rows, every.num_rows - table.num_rows


def _scores(side: Side, keys: Sequence[str], more: Sequence[str]) -> pa.Table:
    """The mean value of every key of a side; `SLOT` is the place of the model, `ITEM` the item with its scenario."""
    plain = [name for name in (*keys, *more) if name not in (ITEM, SLOT)]
    slots = " ".join(f"when {sql.text(model)} then {place}" for place, model in enumerate(side.models))
    return side.connection.sql(
        f"""select {", ".join(map(sql.name, plain))}, item_id as {sql.name(ITEM)},
          case model {slots} end as {sql.name(SLOT)}, avg(value order by value) as value,
          any_value(model) as model, min(sample_id) as "its sample"
        from {with_fields(side.run.benchmark, [name for name in plain if "." in name])}
        where value is not null and model in ({", ".join(map(sql.text, side.models))}) and {are_counted(side.plan)}
        group by all"""
    ).to_arrow_table()


def _row(
    name: str,
    of: str,
    found: _Pairs,
    cells: Sequence[str],
    weighted: bool,
    judged: Judged,
    times: Mapping[Any, float] | None = None,
) -> ComparedRow:
    cell = _cells(found, cells) if cells or times is not None else None
    weight = found.weight if weighted else np.ones(len(found.a))
    clusters = found.columns[CLUSTER].tolist()
    a, b = (
        mean_of_cells(side, clusters, cell, weight, times=times, paired=False).value or 0.0
        for side in (found.a, found.b)
    )
    names = {*found.columns["metric"].tolist()}
    spans = {judged.spans.get(name) for name in names}
    span = None if None in spans else max(each for each in spans if each is not None)
    ends = None if span is None else (-span, span)
    difference = mean_of_cells(found.b - found.a, clusters, cell, weight, times=times, ends=ends)
    if difference.reason == ONE_ITEM and len({*found.columns[ITEM].tolist()}) > 1:
        difference = difference.without_interval(ONE_CLUSTER)
    graded, figure = names <= judged.graded, _figure(found, cell, weight)
    farthest = float(np.abs(found.b - found.a).max()) * (1.0 if times is None else sum(map(abs, times.values())))
    return ComparedRow(name, of, a, b, difference, None, graded, span, figure=figure, farthest=farthest)


def _cells(found: _Pairs, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the cell of each pair, by these columns."""
    return list(zip(*(found.columns[name].tolist() for name in names), strict=True)) if names else [()] * len(found.a)


def _figure(found: _Pairs, cell: Sequence[object] | None, weight: NDArray[np.float64]) -> tuple[bytes, ...]:
    """Return what a mean of cells is computed from: its pairs, their weights, and which of them share a cell."""
    known: dict[object, int] = {}
    cells = np.array([known.setdefault(each, len(known)) for each in cell or ()])
    return found.place.tobytes(), (weight / weight.max()).tobytes(), cells.tobytes() if len(known) > 1 else b""


def _together(one: Side, two: Side) -> tuple[str, ...]:
    """Return the measures that are one figure of all models of a run, where both sides are of one run."""
    if one.run.run_id != two.run.run_id:
        return ()
    return tuple(
        measure.name
        for measure in two.plan.measures
        if all(each.of_all_models for each in aggregates(two.plan, measure.figure))
    )


def _measures(
    one: Side, two: Side, found: _Pairs, items: Sequence[str], judged: Judged, together: Sequence[str]
) -> tuple[tuple[ComparedRow, ...], tuple[tuple[str, str], ...]]:
    """Return every measure over all but those `together`, and the names of those that cannot be compared, each with
    why."""
    means = {row.name: row for row in _means(two.plan, found, judged)}
    half, other = (Half(side.connection, side.run.benchmark, side.models) for side in (one, two))
    rows: list[ComparedRow] = []
    unpaired: list[tuple[str, str]] = []
    stand_for = _stand_for(two.plan)
    for measure in two.plan.measures:
        if measure.name in together:
            continue
        if (mean := paired_mean_of(two.plan, measure)) is not None:
            rows += [means[measure.name]] if measure.name in means else []
            if stand_for[mean.values, mean.scenario, mean.by].name not in means:
                unpaired.append((measure.name, _why_unpaired(one, two, measure)))
            continue
        if (mean := paired_cells_of(two.plan, measure)) is not None:
            told = list(_cell_rows(two.plan, measure, mean, found, judged))
            rows += told
            unpaired += [] if told else [(measure.name, _why_unpaired(one, two, measure))]
            continue
        if (whole := paired_sum_of(two.plan, measure)) is not None:
            row = _sum_row(two.plan, measure, whole, found, judged)
            if row is not None:
                rows.append(row)
                continue
        graded = measure.directed or bool(measure.corrected) or measure.name in two.plan.benchmark.headline
        if (plain := mean_of(measure.model_copy(update={"random": ()}))) is not None:
            graded |= set(plain.values) <= judged.graded
        values = remeasure(half, other, two.plan, measure, items)
        span = None if measure.low is None or measure.high is None else measure.high - measure.low
        unnamed = {"name": "", "until": None, "lower_is_better": False, "higher_is_better": False}
        content = measure.model_copy(update=unnamed).model_dump_json()
        for each in values:
            of, difference = ", ".join(each.labels), each.difference
            row = ComparedRow(measure.name, of, each.a, each.b, difference, None, graded, span, measure.lower_is_better)
            rows.append(replace(row, figure=(content, each.labels), farthest=each.farthest))
        unpaired += [] if values else [(measure.name, _why_unpaired(one, two, measure))]
    return tuple(rows), tuple(unpaired)


def _why_unpaired(one: Side, two: Side, measure: Measure) -> str:
    """Return why a measure has no value over what both sides share."""
    told = []
    for letter, side in (("A", one), ("B", two)):
        own = next((each for each in side.plan.measures if each.name == measure.name), None)
        rows = evaluate_or_tell(side.connection, side.plan, own).rows if own is not None else ()
        if all(row.value is None for row in rows if row.model in side.models):
            reasons = sorted({row.reason for row in rows if row.reason and row.model in side.models})
            told.append((letter, "; ".join(reasons) or "nothing was scored"))
    match told:
        case [(_, a), (_, b)] if a == b:
            return f"neither side has a value: {a}"
        case []:
            return "no item has a value on both sides"
    return "; ".join(f"{letter} has no value: {why}" for letter, why in told)


def _stand_for(plan: Plan) -> dict[Any, Measure]:
    """Of measures that are one and the same mean of cells, the one that is shown."""
    chosen: dict[Any, Measure] = {}
    for measure in sorted(plan.measures, key=lambda each: len(each.by)):
        if (mean := paired_mean_of(plan, measure)) is not None:
            chosen.setdefault((mean.values, mean.scenario, mean.by), measure)
    return chosen


def _means(plan: Plan, found: _Pairs, judged: Judged) -> Iterable[ComparedRow]:
    """Yield every measure that is a mean: of one that goes by something, each cell counts alike."""
    chosen = _stand_for(plan)
    for measure in plan.measures:
        mean = paired_mean_of(plan, measure)
        if mean is None or chosen[mean.values, mean.scenario, mean.by] is not measure:
            continue
        mask = _of_mean(mean, found)
        cells = ["evaluator" if name == "judge" else name for name in mean.by]
        if mask.any() and all(name in found.columns for name in cells):
            of = f"each {' and '.join(mean.by)} alike" if mean.by else ""
            weighted = "metric" not in mean.by
            row = _row(measure.name, of, found.where(mask), cells, weighted, judged)
            lower = measure.lower_is_better
            graded = row.graded or measure.directed or measure.name in plan.benchmark.headline
            yield replace(row, graded=graded, lower_is_better=lower)


def _sum_row(plan: Plan, measure: Measure, whole: SumOfMeans, found: _Pairs, judged: Judged) -> ComparedRow | None:
    """Return the row of a sum of means of cells; None if one of these has no pairs."""
    cells = ["evaluator" if name == "judge" else name for name in whole.by]
    if any(name not in found.columns for name in cells):
        return None
    own = _cells(found, cells)
    mask = _of_mean(whole.mean, found)
    times = whole.times_of({key for key, chosen in zip(own, mask, strict=True) if chosen})
    if times is None:
        return None
    mask &= np.array([key in times for key in own], dtype=bool)
    row = _row(measure.name, "", found.where(mask), cells, "metric" not in whole.by, judged, times)
    graded = measure.directed or measure.name in plan.benchmark.headline
    a, b = row.a + whole.constant, row.b + whole.constant
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    return replace(row, a=a, b=b, span=span, graded=graded, lower_is_better=measure.lower_is_better)


def _cell_rows(plan: Plan, measure: Measure, mean: Aggregate, found: _Pairs, judged: Judged) -> Iterable[ComparedRow]:
    """Yield the row of each cell of a mean of scores in which there are pairs."""
    names = ["evaluator" if name == "judge" else name for name in mean.by]
    if any(name not in found.columns for name in names):
        return
    places = [dimension_place(plan, name) for name in mean.by]
    cells = set(_cells(found.where(_of_mean(mean, found)), names))
    for cell in sorted(cells, key=lambda each: [place(value) for place, value in zip(places, each, strict=True)]):
        row = _sum_row(plan, measure, SumOfMeans(mean, mean.by, {cell: 1.0}, 0.0), found, judged)
        if row is not None:
            labels = (dimension_label(plan, name, value) for name, value in zip(mean.by, cell, strict=True))
            graded = row.graded or set(mean.values) <= judged.graded
            yield replace(row, of=", ".join(labels), graded=graded)


def _of_mean(mean: Aggregate, found: _Pairs) -> NDArray[np.bool_]:
    """Return which pairs a mean of scores is of."""
    mask: NDArray[np.bool_] = np.isin(found.columns["scorer"], mean.values)
    mask |= np.isin(found.columns["metric"], mean.values)
    return mask if mean.scenario is None else mask & (found.columns["scenario"] == mean.scenario)


def _metrics(plan: Plan, found: _Pairs, judged: Judged) -> Iterable[ComparedRow]:
    place = dimension_place(plan, "metric")
    for metric in sorted(set(found.columns["metric"].tolist()), key=place):
        mask = found.columns["metric"] == metric
        label = dimension_label(plan, "metric", metric)
        yield _row(metric, label if label != metric else "", found.where(mask), (), False, judged)


def _scenarios(plan: Plan, found: _Pairs, judged: Judged) -> Iterable[ComparedRow]:
    place = dimension_place(plan, "scenario")
    pairs = set(zip(found.columns["scenario"].tolist(), found.columns["scorer"].tolist(), strict=True))
    for scenario, scorer in sorted(pairs, key=lambda pair: (place(pair[0]), pair[1])):
        mask = (found.columns["scenario"] == scenario) & (found.columns["scorer"] == scorer)
        yield _row(scenario, scorer, found.where(mask), (), True, judged)


def _stopped(side: Side) -> bool:
    return bool(side.run.stopped_models & set(side.models))


def _as_followed(section: Section, one: Side, two: Side) -> Section:
    """Return a section with the differences of the sequences that the run of both sides followed. No test for a fixed
    number of items holds of others whose run stopped when it was settled: their size is not told."""
    alone = one.run.run_id == two.run.run_id
    pair = (two.models[0], one.models[0]) if alone and len(one.models) == len(two.models) == 1 else None
    dimensions = {measure.name: measure.by for measure in two.plan.measures}
    cells: dict[tuple[str, str], dict[str, str | None]] = {}
    for each in one.run.settled_figures if section.kind == "measure" else ():
        by, places = each.get("by") or {}, dimensions.get(each["name"], ())
        if by.keys() == set(places):
            cells[each["name"], ", ".join(dimension_label(two.plan, name, by[name]) for name in places)] = by
    rows = []
    for row in section.rows:
        cell = cells.get((row.name, row.of))
        found = None
        if pair is not None and cell is not None:
            found = followed_difference(one.run, row.name, *pair, cell)
        if found is not None:
            rows.append(replace(row, difference=replace(found, n=row.difference.n), by_sequence=True))
        elif _stopped(one) or _stopped(two):
            untold = StatisticResult.undefined(UNFOLLOWED if alone else OF_TWO_RUNS, n=row.difference.n)
            rows.append(replace(row, difference=replace(untold, clusters=row.difference.clusters)))
        else:
            rows.append(row)
    return Section(section.kind, tuple(rows))


def _headline(plan: Plan) -> list[str]:
    """Return the names under which the measures of the headline stand in a comparison."""
    chosen, named = _stand_for(plan), {measure.name: measure for measure in plan.measures}
    means = {name: paired_mean_of(plan, named[name]) for name in plan.benchmark.headline if name in named}
    return [name if mean is None else chosen[mean.values, mean.scenario, mean.by].name for name, mean in means.items()]
