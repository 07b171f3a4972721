"""The report of a run: samples, scores and comparisons by status, every measure with intervals, and generation yields.

A generation yield is the share of what a model wrote for a generated data set that was accepted: by data set, and by
each axis of its context.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import orjson

from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import usd
from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.contexts import ArmSelection, Clustering
from tripos_compiler.language.figures import (
    aggregates_of,
    is_sum_of_scores,
    leaves_of,
    means_of_cells,
    measures_of,
    quotients_of_sums,
)
from tripos_compiler.language.scored_values import computed_from, scored_inputs, scored_values_of
from tripos_compiler.plan import Aggregate, GeneratedDataset, Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.evaluation import evaluate_or_error, has_separate_people, shared_cells
from tripos_warehouse.measures.expectations import CheckedExpectation, below_baseline, check_expectation
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.figures import MissingResults, find_missing, why_not_computed
from tripos_warehouse.measures.measure_rows import (
    CORRECTION_COLUMNS,
    ROW_COLUMNS,
    UNREAD_COLUMNS,
    MeasureTable,
    with_sequential_intervals,
)
from tripos_warehouse.measures.study_design import DesignAdvice, find_design_advice
from tripos_warehouse.measures.unread import with_unread
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.leaderboard import graders_of, headlines
from tripos_warehouse.report.remarks import STAND_IN_NOTE, Remark, cut_remarks, find_remarks, unread_remarks
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.tables.values import NULL_TEXT
from tripos_warehouse.views.benchmark_views import clusterings_of, separate_people
from tripos_warehouse.views.connect import copied_scores
from tripos_warehouse.views.dimensions import LANGUAGE, shows_several_times
from tripos_warehouse.views.runs import RunRecord

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class GenerationYield:
    """The yield of the slots of a data set, of all or of those where the axis `by` has a value: the number of slots, of
    filled slots and of attempts, and why other attempts were rejected, the most frequent reason first."""

    dataset: str
    by: str | None
    value: str | None
    slots: int
    made: int
    attempts: int
    reasons: Mapping[str, int]

    @property
    def rate(self) -> float | None:
        """The share of the attempts that were accepted, from 0 to 1.

        >>> GenerationYield("item", None, None, 4, 3, 6, {"verify": 3}).rate
        0.5
        """
        return self.made / self.attempts if self.attempts else None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        where = {self.by: self.value} if self.by is not None else {}
        counts = {"slots": self.slots, "made": self.made, "given_up": self.slots - self.made}
        rest = {"attempts": self.attempts, "accepted": self.rate, "rejected": dict(self.reasons)}
        return {"dataset": self.dataset, "context": where, **counts, **rest}


def generation_yields(connection: Connection, plan: Plan, run: RunRecord) -> tuple[GenerationYield, ...]:
    """Return the yields of every generated data set with decided slots, from what the author of the run wrote: in
    total, then by each axis of its context, or of the rows that it is made from, in plan order."""
    return tuple(yield_ for dataset in plan.made for yield_ in _yields_of(connection, plan, run, dataset))


def _yields_of(
    connection: Connection, plan: Plan, run: RunRecord, dataset: GeneratedDataset
) -> Iterator[GenerationYield]:
    """Yield the total yield of a generated data set, then the yields by its axes."""
    source = f"from {sql.name(run.benchmark)}.slots where dataset = {sql.text(dataset.name)}"
    axis_fields = [
        data_field.name
        for data_field in dataset.fields
        if data_field.type.kind == "choice" and data_field.type.axis == data_field.name
    ]
    for axis in (None, *(name for name in dict.fromkeys((*dataset.axes, *axis_fields)) if name != LANGUAGE)):
        value = "NULL" if axis is None else sql.name(axis)
        counts = connection.execute(
            f"""select {value}::varchar, count(*), count(*) filter (status = 'made'), sum(attempts)::bigint
            {source} group by 1"""
        ).fetchall()
        reasons = connection.execute(
            f"""select value, reason, count(*) as times
            from (
              select {value}::varchar as value, unnest(json_extract_string(rejections, '$[*].reason')) as reason
              {source}
            )
            group by all order by times desc, reason"""
        ).fetchall()
        by_value = {of: (slots, filled, attempts) for of, slots, filled, attempts in counts}
        for name in [None] if axis is None else [axis_value.name for axis_value in plan.axis(axis).values]:
            if name in by_value:
                why = {reason: times for of, reason, times in reasons if of == name}
                slots, filled, attempts = by_value[name]
                yield GenerationYield(dataset.name, axis, name, slots, filled, attempts, why)


MOCK = "mock/"
STAND_IN_PREFIXES = ("local/", MOCK)
"""Prefixes of stand-in models: their figures show that the pipeline works, and nothing about a model."""

STORED = ("value", "standard_error", "low", "high", "items", "n", "total", "method", "reason")
"""The fields of a row that the table `measures` of a store has."""
_FIRST = {"measure": "string", "model": "string"}
_LAST = {row_column.key: row_column.type for row_column in ROW_COLUMNS}
"""The columns of measures before and after those of dimensions, with their types."""


@dataclass(frozen=True)
class Report:
    """The contents of a report. `samples`, `scores` and `comparisons` are counts by status: the status of a result with
    a value first, then by frequency."""

    plan: Plan
    run: RunRecord
    samples: dict[str, int]
    scores: dict[str, int]
    measures: tuple[MeasureTable, ...]
    people: Mapping[str, int] = field(default_factory=dict)
    """The number of scores by people, by the name of the evaluator."""
    apart: tuple[str, ...] = ()
    """The people whose scores are not mixed with those of models in any measure."""
    by_people: Mapping[str, MeasureTable] = field(default_factory=dict)
    """The values of measures by those people, by the name of the measure, if there are any."""
    expectations: tuple[CheckedExpectation, ...] = ()
    """The expectations of the plan, each with its outcomes."""
    comparisons: Mapping[str, int] = field(default_factory=dict)
    made: tuple[GenerationYield, ...] = ()
    """The yields of generated data sets."""
    gaps: tuple[MissingResults, ...] = ()
    """Undefined scores, and calls that could not be made, each with its reason."""
    not_computed: Mapping[str, str] = field(default_factory=dict)
    """Why a measure has no rows, if the run has not computed what it reads, by the name of the measure."""
    remarks: tuple[Remark, ...] = ()
    """Facts because of which a figure means less than it seems to."""
    design_advice: tuple[DesignAdvice, ...] = ()
    """What would reduce the error of each headline measure most for a tenth more money."""
    only: ArmSelection = field(default_factory=dict)
    """The values of axes and arms that the report is restricted to, in addition to the restrictions of the run."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of its intervals, if items were drawn together."""
    evaluators: tuple[str, ...] = ()
    """The models and people who graded: those whose verdicts are scores or comparisons, or part of one."""
    batch_cost_usd: float | None = None
    """The part of the run's cost that was paid in batches; None without batches, or if a price is unknown."""

    @property
    def held(self) -> bool:
        """True if every expectation holds."""
        return all(gate.held for gate in self.expectations)

    @property
    def mocked(self) -> bool:
        """True if a mock model took part: its figures mean nothing, so no expectation fails the run."""
        return any(model.startswith(MOCK) for model in self._all_models())

    @property
    def passed(self) -> bool:
        """True unless an expectation fails the run."""
        return self.held or self.mocked

    @property
    def cost_shown(self) -> str:
        """The cost of the run as text, split into batches and live calls if there were batches."""
        total, batch = self.run.cost_usd, self.batch_cost_usd
        if total is None or batch is None:
            return NULL_TEXT if total is None else f"{usd(total)} USD"
        is_all_batch = math.isclose(total, batch, rel_tol=1e-9)  # sums may differ in the last bit
        live = 0.0 if is_all_batch else max(0.0, total - batch)
        return localized(f"{usd(total)} USD: {usd(batch)} in batches, {usd(live)} live")

    @property
    def failed(self) -> bool:
        """True if the database refused the SQL of a measure or of an expectation."""
        return any(table.error is not None for table in self.measures) or any(gate.failed for gate in self.expectations)

    @property
    def uses_stand_in_models(self) -> bool:
        """True if a model took part that stands in for a real one."""
        return any(model.startswith(STAND_IN_PREFIXES) for model in self._all_models())

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values; times are UTC in ISO 8601. The rows of a measure whose SQL failed are
        null."""
        run = self.run
        return {
            "format": "tripos.report/1",
            "run": {
                "run_id": run.run_id,
                "benchmark": run.benchmark,
                "version": run.version,
                "plan_digest": run.plan_digest,
                "headline": list(self.plan.benchmark.headline),
                "models": list(run.models),
                "roles": {role: list(models) for role, models in run.roles.items()},
                **({"identities": run.identities} if run.identities else {}),
                "status": run.status,
                "started_at": run.started_at.isoformat() + "Z",
                "finished_at": None if run.finished_at is None else run.finished_at.isoformat() + "Z",
                "cost_usd": run.cost_usd,
                **({} if self.batch_cost_usd is None else {"batch_cost_usd": round(self.batch_cost_usd, 6)}),
                "items": run.items,
                "withheld": run.withheld,
                "only": {name: list(values) for name, values in {**run.only, **self.only}.items()},
            },
            "samples": self.samples,
            "scores": self.scores,
            "comparisons": dict(self.comparisons),
            "gaps": [gap.to_json() for gap in self.gaps],
            "people": dict(self.people),
            "people_apart": list(self.apart),
            **({"clusters": [clustering.to_json() for clustering in self.clusterings]} if self.clusterings else {}),
            "remarks": [remark.to_json() for remark in self.remarks],
            "sharpening": [advice.to_json() for advice in self.design_advice],
            "only_proves_the_pipeline": self.uses_stand_in_models,
            "no_better_than_a_baseline": [
                baseline.to_json(table.measure.by) for table in self.measures for baseline in below_baseline(table)
            ],
            "measures": [
                {
                    "name": table.measure.name,
                    "by": list(table.measure.by),
                    "lower_is_better": table.lower_is_better,
                    **({"corrected": True} if table.measure.corrected else {}),
                    **({"random": list(table.measure.random)} if table.measure.random else {}),
                    "sql": sql_of(self.plan, table.measure),
                    "rows": table.to_rows() if table.error is None else None,
                    "error": table.error,
                    **({"judge": table.judge_table.to_rows()} if table.measure.corrected else {}),
                    **(
                        {"people": measure_table.to_rows()}
                        if (measure_table := self.by_people.get(table.measure.name))
                        else {}
                    ),
                    **({"reason": why} if (why := self.not_computed.get(table.measure.name)) else {}),
                }
                for table in self.measures
            ],
            "made": [yield_.to_json() for yield_ in self.made],
            "expectations": [gate.to_json() for gate in self.expectations],
        }

    def to_arrow(self) -> pa.Table:
        """Return one row per value of every measure. A dimension that a measure lacks is null in its rows."""
        import pyarrow as pa

        named = dict.fromkeys(name for table in self.measures for name in table.measure.by)
        dimensions = {name: "string" for name in named if name not in {*_FIRST, *_LAST}}
        rows: list[dict[str, Any]] = [row for table in self.measures for row in table.to_rows()]
        further = (
            dict.fromkeys(CORRECTION_COLUMNS, "float64") if any(CORRECTION_COLUMNS[0] in row for row in rows) else {}
        )
        further |= UNREAD_COLUMNS if any("unread" in row for row in rows) else {}
        columns = {
            name: pa.array([_text(row.get(name)) if name in dimensions else row.get(name) for row in rows], type_)
            for name, type_ in {**_FIRST, **dimensions, **_LAST, **further}.items()
        }
        return pa.table(columns)

    def to_export(self) -> pa.Table:
        """Return the table of `to_arrow` for a file that is read without the report. It also has the rows of people who
        are kept separate, whose names are in `of`, the baseline that a value is `no_better_than`, and the text of
        `notes`.
        """
        import pyarrow as pa

        people = replace(self, measures=tuple(self.by_people.values())).to_arrow()
        table = pa.concat_tables([self.to_arrow(), people], promote_options="default")
        baselines = {
            (table.measure.name, baseline.row.by, baseline.row.model): baseline.baseline
            for table in self.measures
            for baseline in below_baseline(table)
        }
        rows = [(table, row) for table in self.measures for row in table.rows]
        rows += [(table, row) for table in self.by_people.values() for row in table.rows]
        count = table.num_rows - people.num_rows
        columns = {
            "no_better_than": [
                baselines.get((of.measure.name, row.by, row.model)) if place < count else None
                for place, (of, row) in enumerate(rows)
            ],
            "lower_is_better": [of.lower_is_better for of, _ in rows],
            "of": ["models" if place < count else f"people: {', '.join(self.apart)}" for place in range(len(rows))],
            "notes": [" | ".join(self.notes())] * len(rows),
        }
        for name, values in columns.items():
            table = table.append_column(
                name, pa.array(values, pa.bool_() if name == "lower_is_better" else pa.string())
            )
        return table

    def notes(self) -> list[str]:
        """Return the reasons why its figures mean less than they seem to: an unfinished run, items that were left out,
        remarks, measures without values, expectations that did not hold, and stand-in models."""
        texts = [] if self.run.ended else [f"the run is {self.run.status}, so some is missing"]
        texts += [self.run.partial] if self.run.partial is not None else []
        texts += [remark.text for remark in self.remarks]
        texts += [f"{name}: {why}" for name, why in self.not_computed.items()]
        texts += [f"{table.measure.name}: {table.error}" for table in self.measures if table.error is not None]
        texts += [f"did not hold: {gate.expectation.shown}" for gate in self.expectations if not gate.held]
        return texts + ([STAND_IN_NOTE] if self.uses_stand_in_models else [])

    def to_measure_rows(self) -> list[dict[str, Any]]:
        """Return the rows of table `measures`, which store the results of a run."""
        shared = {"run_id": self.run.run_id, "benchmark": self.run.benchmark}
        return [
            {
                **shared,
                "measure": table.measure.name,
                "model": row.model,
                "dims": orjson.dumps(dict(zip(table.measure.by, row.by, strict=True))).decode(),
                **row.to_json(*STORED),
                **row.correction_columns,
            }
            for table in self.measures
            for row in table.rows
        ]

    def _all_models(self) -> set[str]:
        """Return the models of all roles of the run."""
        return {model for models in (self.run.models, *self.run.roles.values()) for model in models}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def report(connection: Connection, plan: Plan, run: RunRecord, only: ArmSelection = MappingProxyType({})) -> Report:
    """Return the report of `run`, from the rows of its benchmark in the views of `connection`, which must be opened
    with the run's id, and with `only` if the report is restricted to some values of axes and arms. A measure whose SQL
    fails has an error and no rows."""
    with copied_scores(connection, run.benchmark, replies=True):
        return _report(connection, plan, run, only)


MOST_NAMED = 5
"""The most measures that one remark names."""


def _report(connection: Connection, plan: Plan, run: RunRecord, only: ArmSelection) -> Report:
    """Return the report of `run` (`report`), once its scores and replies are copied into tables."""
    schema = sql.name(run.benchmark)
    compared = f"where role = {sql.text(run.compared_role)}"
    several = shows_several_times(plan, run.compared_role)
    inner_measures = [inner for measure in plan.measures for inner in _measures_of_cells(measure)]
    with shared_cells(connection, plan, inner_measures) as shared:
        single_items = list(_single_items(connection, plan, shared))
        uneven_sums = list(_uneven_sums(connection, plan, shared))
        measure_tables = [evaluate_or_error(connection, plan, measure, shared=shared) for measure in plan.measures]
    tables = tuple(_with_unread(connection, plan, [with_sequential_intervals(run, table) for table in measure_tables]))
    apart = separate_people(connection, plan)
    by_people = _by_people(connection, plan, run) if apart else {}
    return Report(
        plan,
        run,
        _by_status(connection, f"{schema}.samples {compared}", "sample_id" if several else None, "ok"),
        _by_status(connection, f"{schema}.scores", "score_id" if several else None, "scored"),
        tables,
        people=_people(connection, schema),
        apart=apart,
        by_people=by_people,
        expectations=tuple(check_expectation(connection, plan, expectation, run) for expectation in plan.expectations),
        comparisons=_by_status(connection, f"{schema}.comparisons", "comparison_id" if several else None, "scored"),
        made=generation_yields(connection, plan, run),
        gaps=find_missing(connection, run.benchmark),
        not_computed=_not_computed(connection, plan, run, tables),
        remarks=(
            *unread_remarks(tables),
            *cut_remarks(tables),
            *find_remarks(connection, plan, run, only),
            *_too_few_tries(tables),
            *single_items,
            *uneven_sums,
            *_sums_over_judges(connection, plan),
            *_judges_alone(plan, by_people),
            *_computed_from_judges(connection, plan),
        ),
        design_advice=tuple(find_design_advice(connection, plan, measure) for measure in headlines(plan)),
        only=only,
        clusterings=clusterings_of(connection, plan),
        evaluators=evaluators_of(connection, run.benchmark),
        batch_cost_usd=_batch_cost(connection, run),
    )


def _with_unread(connection: Connection, plan: Plan, tables: Sequence[MeasureTable]) -> Iterator[MeasureTable]:
    """Yield the tables; those of headline measures also say what their values would be if unreadable replies counted as
    wrong."""
    names = {measure.name for measure in headlines(plan)}
    for table in tables:
        yield with_unread(connection, plan, table) if table.measure.name in names else table


def _batch_cost(connection: Connection, run: RunRecord) -> float | None:
    """Return what the run paid in batches, in USD; None without batches, or if a price is unknown. A conversation costs
    what its turns cost, and is not a call itself."""
    if run.cost_usd is None or connection.execute("select 1 from main.batches limit 1").fetchone() is None:
        return None
    calls = " union all by name ".join(
        f"select cost_usd from main.{table} where batch_id is not null and adopted_from is null and run_id = $run"
        for table in ("samples", "turns", "judgements")
    )
    query = f"select sum(cost_usd), count(*), count(cost_usd) from ({calls})"
    [(paid, count, priced)] = connection.execute(query, {"run": run.run_id}).fetchall()
    return float(paid) if count and count == priced else None


def _not_computed(connection: Connection, plan: Plan, run: RunRecord, tables: Sequence[MeasureTable]) -> dict[str, str]:
    """Return why measures have no rows, if the run has not computed what they read, by the name of the measure."""
    empty = [table.measure for table in tables if not table.rows and table.error is None]
    if not empty:
        return {}
    query = "select fingerprints from main.runs where run_id = ?"
    rows = connection.execute(query, [run.run_id]).fetchall()
    computed = {fingerprint for (fingerprints,) in rows for fingerprint in fingerprints}
    reasons = ((measure.name, why_not_computed(plan, computed, measure)) for measure in empty)
    return {name: why for name, why in reasons if why is not None}


def _too_few_tries(tables: Sequence[MeasureTable]) -> Iterator[Remark]:
    """Yield the number of items behind a chance of several tries, if other items have too few samples with a value."""
    for table in tables:
        for row in table.rows:
            if row.counted_items is not None and row.counted_items[0] < row.counted_items[1]:
                cell = ", ".join([row.model, *(str(value) for value in row.by)])
                counted, total = row.counted_items
                text = f"`{table.measure.name}` of {cell} stands on {counted:,} of {total:,} items"
                yield Remark("tries", f"{text}: the others have too few samples with a value")


def _measures_of_cells(measure: Measure) -> Iterator[Measure]:
    """Yield the measures of the cells over which a measure takes means."""
    for figure in means_of_cells(measure.figure):
        assert figure.of is not None
        dims = tuple(dict.fromkeys([*measure.by, *figure.of.by]))
        yield measure.model_copy(update={"figure": figure.of, "by": dims, "corrected": False})


def _single_items(connection: Connection, plan: Plan, shared: Mapping[str, str]) -> Iterator[Remark]:
    """Yield the cells of a mean of cells that have a single item, if others have more. `shared` are rewritten queries
    (`shared_cells`)."""
    for measure in plan.measures:
        for inner in _measures_of_cells(measure):
            table = evaluate_or_error(connection, plan, inner, shared=shared)
            rows = [row for row in table.rows if row.value is not None]
            single = {row.by for row in rows if row.items == 1}
            if not single or all(row.items == 1 for row in rows):
                continue
            named = " and ".join(f"`{dim}`" for dim in inner.by if dim not in measure.by)
            cells = [", ".join(map(str, by)) for by in sorted(single, key=str)]
            between = "; " if len(inner.by) > 1 else ", "  # a comma stands inside the names of a cell with several
            listed = between.join([*cells[:MOST_NAMED], *("…" for _ in cells[MOST_NAMED:][:1])])
            share = f"{len(cells):,} of {len({row.by for row in rows}):,}"
            text = (
                f"`{measure.name}` is a mean over {named}; cells with a single item: {share} ({listed}); the "
                "item counts as much as all items of another cell"
            )
            yield Remark("single_items", text)


def _uneven_sums(connection: Connection, plan: Plan, shared: Mapping[str, str]) -> Iterator[Remark]:
    """Yield the quotients of two sums of which one lacks more scores than the other. A missing score adds nothing to
    its sum, so it lowers such a quotient like a score of 0, or raises it. `shared` are rewritten queries
    (`shared_cells`)."""
    measures = measures_of(plan)

    def counts(measure: Measure, figure: Aggregate) -> dict[tuple[Any, ...], tuple[int, int]]:
        part = measure.model_copy(update={"figure": figure, "low": None, "high": None})
        table = evaluate_or_error(connection, plan, part, shared=shared)
        return {(row.model, *row.by): (row.n, row.total) for row in table.rows}

    for measure in plan.measures:
        for sums in quotients_of_sums(measure.figure, measures) if measure.missing == "skip" else ():
            above, below = (counts(measure, figure) for figure in sums)
            uneven = [
                (cell, (n, total), below[cell])
                for cell, (n, total) in above.items()
                if cell in below and n * below[cell][1] != below[cell][0] * total
            ]
            if not uneven:
                continue
            (first, (n, total), (other_n, other_total)), *more = uneven
            cells = ", ".join([*map(str, first), *("…" for _ in more[:1])])
            text = (
                f"`{measure.name}` divides a sum over {n:,} of {total:,} scores by one over {other_n:,} of"
                f" {other_total:,} ({cells}); a missing score counts as 0 in its sum"
            )
            yield Remark("uneven_sums", text)


def _sums_over_judges(connection: Connection, plan: Plan) -> Iterator[Remark]:
    """Yield the measures with a sum of scores that several judges gave: a sum counts each judge of a reply, a mean
    does not depend on their number."""
    measures = measures_of(plan)
    for measure in plan.measures:
        if not any(is_sum_of_scores(aggregate) for aggregate in aggregates_of(measure.figure, measures)):
            continue
        judges = max(graders_of(connection, plan, measure).values(), key=len, default=())
        if len(judges) > 1 and "evaluator" not in measure.by:
            text = (
                f"`{measure.name}` sums the scores of each of {len(judges):,} judges ({', '.join(judges)}): a reply"
                " that two of them graded counts twice"
            )
            yield Remark("sums_over_judges", text)


def _judges_alone(plan: Plan, by_people: Mapping[str, object]) -> Iterator[Remark]:
    """Yield that people graded replies whose measures use the scores of judges alone, and that people could correct
    these measures."""
    measures = measures_of(plan)
    correctable = [
        name
        for name in by_people
        if not (measure := measures[name]).corrected
        and not {"evaluator", "pair"} & set(measure.by)
        and all(
            declared_aggregate(aggregate.function).is_mean_of_scores
            for aggregate in aggregates_of(measure.figure, measures)
        )
    ]
    if correctable:
        names = _named(correctable)
        text = f"people graded too, and judges alone make {names}: `corrected by people` makes one figure of both"
        yield Remark("judges", text)


def _computed_from_judges(connection: Connection, plan: Plan) -> Iterator[Remark]:
    """Yield the measures of scores that are computed from the verdict of a judge, if people graded what that judge
    grades: their grades reach no such score."""
    graded = {
        scorer
        for (scorer,) in connection.execute(
            f"""select distinct scorer from {sql.name(plan.benchmark.name)}.scores
            where starts_with(evaluator, {sql.text(HUMAN)}) and value is not null"""
        ).fetchall()
    }
    values, measures = scored_values_of(plan), measures_of(plan)
    found: dict[str, set[str]] = {}
    for measure in plan.measures if graded else ():
        inputs = (scored for leaf in leaves_of(measure.figure, measures) for scored in scored_inputs(values, leaf))
        for scored in inputs:
            for scorer in sorted(graded & computed_from(scored)):
                found.setdefault(scorer, set()).add(measure.name)
    for scorer, names in found.items():
        listed = sorted(names)
        text = (
            f"people graded too, and the scores of {_named(listed)} are computed from the judge's verdicts alone: a"
            f" measure of `{scorer}` itself has their grades"
        )
        yield Remark("computed_from_judges", text)


def _named(names: Sequence[str]) -> str:
    more = ["…"] if len(names) > MOST_NAMED else []
    return ", ".join([*(f"`{name}`" for name in names[:MOST_NAMED]), *more])


def _by_people(connection: Connection, plan: Plan, run: RunRecord) -> dict[str, MeasureTable]:
    """Return the values of measures by people whose scores are kept separate, by the name of the measure, for those
    with a score."""
    plain = [measure.model_copy(update={"corrected": False}) for measure in plan.measures]
    measures = [measure for measure in plain if has_separate_people(plan, measure)]
    tables = [
        with_sequential_intervals(run, evaluate_or_error(connection, plan, measure, by_people=True), by_people=True)
        for measure in measures
    ]
    return {table.measure.name: table for table in tables if any(row.n for row in table.rows)}


def _people(connection: Connection, schema: str) -> dict[str, int]:
    """Return the number of scores by each person."""
    counts = connection.execute(
        f"""select evaluator, count(distinct score_id) from {schema}.scores
        where starts_with(evaluator, {sql.text(HUMAN)}) group by all order by all"""
    ).fetchall()
    return dict(counts)


def _by_status(connection: Connection, source: str, key: str | None, good: str) -> dict[str, int]:
    """Return the number of rows of each status, the status `good` first. With `key`, rows with the same key count
    once."""
    order = f"status <> {sql.text(good)}, count(*) desc, status"
    rows = f"select distinct {key}, status from {source}" if key is not None else f"from {source}"
    return dict(
        connection.execute(f"select status, count(*) from ({rows}) group by status order by {order}").fetchall()
    )


def evaluators_of(connection: Connection, benchmark: str) -> tuple[str, ...]:
    """Return the models and people who graded the replies that the views of a benchmark show."""
    schema = sql.name(benchmark)
    by = [f"select evaluator from {schema}.{view}" for view in ("scores", "comparisons")]
    by += [f"select unnest(judged_by) from {schema}.{view}" for view in ("scores", "columns")]
    query = f"select distinct evaluator from ({' union all '.join(by)}) where evaluator is not null order by 1"
    return tuple(name for (name,) in connection.execute(query).fetchall())
