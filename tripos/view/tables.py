"""The rows of a run as Parquet files that a browser reads by byte range, and means for its charts.

`samples` has a row for each reply, ordered by scenario, item, arms, sample number, step and model. Its narrow columns
are read whole, to sort and filter. `texts` has the wide columns of the same rows in the same order. Rows of `scores`,
`judgements` and `turns` are ordered by their reply, and `samples` has their start and number, so that a reply takes few
requests.

`marks` has the mean score of each reply for every metric: over all evaluators that count in figures, and for each one.
Its rows are ordered by metric, evaluator and reply. The file's metadata has the start of each pair (`pairs`), so that a
filter reads one pair.

Scores in charts are rescaled to 0–1 on their own scale, so that scales can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import inf, isfinite
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.language.intervals import score_ranges
from tripos_compiler.language.scored_values import (
    ScoredStep,
    judged_steps,
    scored_inputs,
    scored_values_of,
)
from tripos_compiler.plan import Grade, Plan, Score
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.benchmark_views import axis_columns, counts_in_figures
from tripos_warehouse.views.dimensions import LANGUAGE, arm_columns
from tripos_warehouse.views.given_ids import excerpt_sql, given_id_sql
from tripos_warehouse.views.notes import OUTDATED

MARKS_GROUP_ROWS = 65_536
"""Rows in a row group; each group belongs to one pair."""
SCHEMA = pa.schema([("metric", pa.string()), ("evaluator", pa.string()), ("n", pa.int32()), ("score", pa.float32())])
SCORES_QUERY = """
  select cast(row.metric as varchar) as metric, row.evaluator, shown.n::integer as n,
    coalesce({place}, row.value) as place, {counted} as counted
  from {joined}"""
"""A rescaled score, or the raw score if it has no scale."""


def write_marks(scores: pa.Table, order: Sequence[str], path: Path) -> None:
    """Write the mean scores by metric, evaluator and reply. `scores` are the rows of `SCORES_QUERY`, and `order` gives
    the first metrics. The file's metadata has the start of each pair; the evaluator null means all that count in
    figures.
    """
    pairs: list[list[Any]] = []
    rows = 0
    with pq.ParquetWriter(path, SCHEMA, compression="snappy", write_statistics=False) as writer:
        for metric, evaluator, n, score in _means(scores, order):
            texts = (pa.repeat(pa.scalar(each, pa.string()), len(n)) for each in (metric, evaluator))
            writer.write_table(pa.table([*texts, n, score], schema=SCHEMA), row_group_size=MARKS_GROUP_ROWS)
            pairs.append([metric, evaluator, rows])
            rows += len(n)
        writer.add_key_value_metadata({"pairs": orjson.dumps(pairs).decode()})


def _means(scores: pa.Table, order: Sequence[str]) -> Iterator[tuple[str, str | None, pa.Array, pa.Array]]:
    """Yield each pair that has scores, with its replies and their mean scores."""
    import numpy as np

    metrics, of_metric = _dictionary_codes(scores.column("metric"))
    evaluators, of_evaluator = _dictionary_codes(scores.column("evaluator"))
    n = scores.column("n").to_numpy()
    place = scores.column("place").to_numpy()
    counted = scores.column("counted").to_numpy()
    known = {name: at for at, name in enumerate(order)}
    for metric in sorted(metrics, key=lambda name: (known.get(name, len(known)), name)):
        mine = np.flatnonzero(of_metric == metrics.index(metric))
        for evaluator in (None, *evaluators):
            of = counted[mine] if evaluator is None else of_evaluator[mine] == evaluators.index(evaluator)
            rows = mine[of]
            if len(rows):
                yield (metric, evaluator, *_by_reply(n[rows], place[rows]))


def _dictionary_codes(column: pa.ChunkedArray) -> tuple[list[str], Any]:
    """Return the sorted texts of a column, and the index of each row's text, or -1 for null."""
    import numpy as np

    coded = column.combine_chunks().dictionary_encode()
    texts: Sequence[str] = coded.dictionary.to_pylist()
    known = sorted(texts)
    places = np.array([known.index(text) for text in texts] or [0])
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return known, np.where(codes < 0, -1, places[codes])


def _by_reply(n: Any, place: Any) -> tuple[pa.Array, pa.Array]:
    """Return every reply once with the mean of its known scores."""
    import numpy as np

    order = np.argsort(n, kind="stable")
    n, place = n[order], place[order]
    starts = np.flatnonzero(np.diff(n, prepend=-1))
    known = ~np.isnan(place)
    sums = np.add.reduceat(np.where(known, place, 0.0), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    most = np.finfo(np.float32).max  # values beyond the type's range are clipped
    return pa.array(n[starts], pa.int32()), pa.array(np.clip(means, -most, most).astype(np.float32), from_pandas=True)


# Means for charts
def rescale(plan: Plan, row: str = "") -> str:
    """Return the SQL of a score rescaled to 0–1; `row` is the alias of its row. The scale is the declared one, or else
    the range of the score's expression. Null if either end is missing."""
    before = f"{row}." if row else ""
    value, low, high = (f"{before}{name}" for name in ("value", "low", "high"))
    whens = [f"when {high} > {low} then ({value} - {low}) / ({high} - {low})"]
    for name, (least, most) in score_ranges(plan).items():
        if isfinite(least) and isfinite(most) and least < most:
            span = f"({value} - {least!r}) / {most - least!r}"
            whens.append(f"when {high} is null and {before}metric::varchar = {sql.text(name)} then {span}")
    return f"case {' '.join(whens)} end"


def metric_ranks(plan: Plan) -> dict[str, int]:
    """Return the rank of each metric with a scale: those of the headline first, and then in the order of the plan. A
    reply with scores for several metrics is shown with the first."""
    measures = measures_of(plan)
    values = scored_values_of(plan)
    headline = (
        scored
        for name in plan.benchmark.headline
        for figure in aggregates_of(measures[name].figure, measures)
        for scored in scored_inputs(values, figure)
    )
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    names = [name for scored in headline for name in _metrics_of(scored)]
    names += [metric.name for metric in plan.metrics]
    names += [step.name for step in steps if isinstance(step, Score) or (isinstance(step, Grade) and not step.metrics)]
    spans, declared = score_ranges(plan), {metric.name for metric in plan.metrics}
    scaled = [name for name in names if name in declared or all(map(isfinite, spans.get(name, (-inf, inf))))]
    return {name: place for place, name in enumerate(dict.fromkeys(scaled))}


def _metrics_of(scored: ScoredStep) -> list[str]:
    if scored.kind == "scorer":
        return [name for step in judged_steps(scored) for name in step.metrics or (step.name,)]
    return [scored.name] if scored.stored else []


def grid_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return the mean for every scenario, metric and model."""
    return _rows(connection, plan, ["scenario", "metric", "model"], counts_in_figures(plan))


def axis_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return the mean for every metric, model and value of each axis and arm."""
    names = [*([LANGUAGE] if len(plan.benchmark.languages) > 1 else []), *axis_columns(plan), *arm_columns(plan)]
    found = []
    for name in names:
        for row in _rows(connection, plan, [name, "metric", "model"], counts_in_figures(plan)):
            value = row.pop(name)
            if value is not None:
                found.append({"axis": name, "value": value, **row})
    return found


def judge_means(connection: Connection, plan: Plan, *by: str) -> list[dict[str, Any]]:
    """Return the mean for every evaluator and metric, and every value of `by`."""
    return _rows(connection, plan, ["evaluator", "metric", *by], "evaluator is not null")


def position_shares(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return the share of verdicts for the reply that was shown first, for each evaluator and comparing step. Ties
    count half."""
    schema = sql.name(plan.benchmark.name)
    if not has_comparisons(connection, plan.benchmark.name):
        return []
    found = connection.execute(
        f"""select evaluator, scenario::varchar, step, avg(value), count(value) from {schema}.comparisons
        where evaluator is not null group by all order by all"""
    ).fetchall()
    return [dict(zip(("evaluator", "scenario", "step", "share", "n"), row, strict=True)) for row in found]


def has_comparisons(connection: Connection, benchmark: str) -> bool:
    """Return true if the benchmark compares replies. Others have no view `comparisons`."""
    query = "select 1 from information_schema.tables where table_schema = ? and table_name = 'comparisons'"
    return bool(connection.execute(query, [benchmark]).fetchall())


def _rows(connection: Connection, plan: Plan, keys: list[str], where: str) -> list[dict[str, Any]]:
    """Return the mean rescaled score of each group. A group with an unscaled score has no mean, since the mean of the
    others would be another quantity."""
    named = [sql.name(key) for key in keys]
    text = ", ".join(f"cast({each} as varchar)" for each in named)
    groups = ", ".join(named)
    found = connection.execute(
        f"""select {text}, case when count(place) = count(value) then avg(place) end,
          case when count(place) = count(value) then count(place) else 0 end
        from (select *, {rescale(plan)} as place from {sql.name(plan.benchmark.name)}.scores where {where})
        group by {groups} order by {groups}"""
    ).fetchall()
    return [{**dict(zip(keys, row, strict=False)), "score": row[-2], "n": row[-1]} for row in found]


# The tables of a run
NARROW_GROUP_ROWS = 8192
"""Rows in a row group of narrow columns."""
WIDE_GROUP_ROWS, WIDE_PAGE_ROWS = 4096, 64
"""Rows in a row group and a page of wide columns, of which single pages are read. Few groups keep the metadata
short.
"""
WIDE = ("texts", "judgements", "turns", "items")
TABLES = ("samples", "texts", "marks", "scores", "judgements", "turns", "comparisons", "items")
FIRST_ROWS = 200
"""Replies that a page shows before it reads the whole table."""
EXCERPT = 400
"""Characters of a reply in a list."""


class RunTables:
    """The tables of one run, from a connection that shows only that run."""

    def __init__(self, connection: Connection, plan: Plan, compared_role: str) -> None:
        self._connection = connection
        self._benchmark = plan.benchmark.name
        self._schema = sql.name(self._benchmark)
        self._axes = axis_columns(plan)
        self._arms = arm_columns(plan)
        self._role = compared_role
        self._in_figures = counts_in_figures(plan, "row")
        self._place = rescale(plan, "row")
        self._metrics = list(metric_ranks(plan))
        self._order = f"list_position({sql.texts(self._metrics)}::varchar[], metric::varchar)"
        self._given_id = given_id_sql(connection, self._schema)
        self._excerpt = excerpt_sql(plan)
        self._steps = {
            name: place
            for place, name in enumerate(
                dict.fromkeys(step.name for scenario in plan.scenarios for step in scenario.steps)
            )
        }

    def first(self) -> dict[str, Any]:
        """Return the first rows of `samples` with the beginnings of their texts, the number of rows, and the values of
        each column to filter by."""
        self._connection.execute(f"create or replace temp table few as {self._numbered(FIRST_ROWS)}")
        beginnings = self._connection.execute(
            f"select left(coalesce(reply, error, ''), {EXCERPT}) from few order by n"
        ).fetchall()
        rows = self._connection.sql(self._samples("few")).to_arrow_table().to_pylist()
        for row, (beginning,) in zip(rows, beginnings, strict=True):
            row["excerpt"] = beginning
        chosen = [*self.dimensions, "model", "status", "step"]
        lists = ", ".join(f"list(distinct cast({sql.name(each)} as varchar))" for each in chosen)
        count = f"count(*), count(*) filter (role = {sql.text(self._role)})"
        [(total, compared, *values)] = self._connection.execute(
            f"select {count}, {lists} from {self._schema}.samples"
        ).fetchall()
        return {
            "samples": rows,
            "rows": total,
            "compared": compared,
            "values": {
                name: sorted(each for each in value or () if each is not None)
                for name, value in zip(chosen, values, strict=True)
            },
        }

    def noted(self, notes: Sequence[Mapping[str, Any]]) -> list[tuple[list[int], bool]]:
        """Return for each note the places of its reply in `samples`, and whether the note is on an earlier reply."""
        _ = self._numbered_replies
        found: list[tuple[list[int], bool]] = [([], False) for _ in notes]
        query = f"""select note.place, sample.n, {OUTDATED}
          from (select unnest(?::varchar[]) as sample_id, unnest(?::timestamp[]) as replied_at,
              unnest(range({len(notes)})) as place) as note
            join shown as sample using (sample_id) order by all"""
        ids, times = ([note[name] for note in notes] for name in ("sample_id", "replied_at"))
        for place, n, outdated in self._connection.execute(query, [ids, times]).fetchall():
            found[place] = [*found[place][0], n], found[place][1] or outdated
        return found

    def write(self, name: str, path: Path) -> None:
        """Write one of `TABLES` to a file."""
        _ = self._numbered_replies
        if name == "marks":
            query = SCORES_QUERY.format(place=self._place, counted=self._in_figures, joined=self._joined("scores"))
            write_marks(self._connection.sql(query).to_arrow_table(), self._metrics, path)
            return
        query = getattr(self, f"_{name}")()
        wide = name in WIDE
        size = WIDE_GROUP_ROWS if wide else NARROW_GROUP_ROWS
        with (
            self._connection.sql(query).to_arrow_reader(size) as reader,
            pq.ParquetWriter(
                path,
                reader.schema,
                compression="snappy",
                use_dictionary=not wide,
                write_statistics=False,
                write_page_index=wide,
                max_rows_per_page=WIDE_PAGE_ROWS if wide else None,
            ) as writer,
        ):
            for batch in _batches(reader, size):
                writer.write_table(batch, row_group_size=size)

    @cached_property
    def _numbered_replies(self) -> bool:
        self._connection.execute(f"create or replace temp table shown as {self._numbered()}")
        return True

    def _numbered(self, first: int | None = None) -> str:
        """Return the SQL of all replies with their rank, or of the first ones. Models come last in the order, so that
        replies to one item are adjacent."""
        steps = " ".join(f"when {sql.text(name)} then {place}" for name, place in self._steps.items())
        place = f"case step {steps} else {len(self._steps)} end" if steps else "0"
        order = ", ".join(
            ["scenario", "item_id", *map(sql.name, self._arms), "sample_number", place, "model", "sample_id"]
        )
        samples = f"{self._schema}.samples"
        if first is not None:
            few = f"select * exclude (messages, parsed, logprobs) from {samples} order by {order} limit {first}"
            return f"select *, row_number() over (order by {order}) - 1 as n from ({few})"
        text = "* exclude (messages, reply, parsed, logprobs, error)"
        return f"select {text}, row_number() over (order by {order}) - 1 as n from {samples}"

    def _joined(self, table: str, replies: str = "shown") -> str:
        """Return the SQL that joins the rows of `table`, as `row`, to their replies, as `shown`."""
        ids = "conversation_id" if table == "turns" else "sample_id"
        arms = "".join(f" and row.{sql.name(arm)} is not distinct from shown.{sql.name(arm)}" for arm in self._arms)
        model = "" if table == "turns" else " and row.model is not distinct from shown.model"
        return f"""{self._schema}.{table} as row join {replies} as shown on row.{ids} = shown.sample_id
              and row.scenario = shown.scenario{model}{arms}"""

    def _counted(self, table: str, replies: str) -> str:
        """Return the SQL of the number of rows of `table` for each reply, and of their start."""
        return f"""select n, many as {table}, (sum(many) over (order by n) - many)::integer as {table}_at from (
                select shown.n, count(*)::integer as many from {self._joined(table, replies)} group by all)"""

    def _samples(self, replies: str = "shown") -> str:
        text = [
            f"cast(shown.{sql.name(dimension)} as varchar) as {sql.name(dimension)}" for dimension in self.dimensions
        ]
        # A row for each reply: its case, its score (of its first scaled metric), the largest spread between evaluators
        # of the reply or one of its elements, and the start and number of its rows in the tables of scores, judgements
        # and turns.
        return f"""
            with by_metric as (
              select shown.n, row.metric, count(*) as many,
                count(*) filter (row.value is null and row.choice is null) as lacking,
                avg({self._place}) filter ({self._in_figures}) as place
              from {self._joined("scores", replies)} group by all),
            by_element as (
              select shown.n, row.metric, row.element_place,
                (max(row.value) - min(row.value)) / nullif(max(row.high) - max(row.low), 0) as spread
              from {self._joined("scores", replies)} where row.evaluator is not null
              group by all having count(distinct row.evaluator) > 1),
            apart as (select n, max(spread)::float as spread from by_element group by n),
            graded as (
              select n, sum(many)::integer as scores, sum(lacking)::integer as without,
                arg_min_null(place, {self._order})::float as score,
                arg_min(metric::varchar, {self._order}) as metric,
                (sum(sum(many)) over (order by n) - sum(many))::integer as scores_at
              from by_metric group by n),
            judged as ({self._counted("judgements", replies)}),
            said as ({self._counted("turns", replies)}),
            placed as (
              select scenario, item_id, row_number() over (order by items.scenario, item_id) - 1 as item_at,
                {self._given_id} as given_id
              from {self._schema}.items)
            select {", ".join(text)}, shown.role = {sql.text(self._role)} as compared, shown.role, shown.step,
              shown.model, shown.sample_number::integer as sample_number, shown.status, graded.score, graded.metric,
              apart.spread,
              coalesce(graded.without, 0) as without, shown.finish_reason, shown.tokens_out::integer as tokens_out,
              shown.cost_usd, shown.latency_s::float as latency_s, shown.item_id, shown.sample_id,
              coalesce(graded.scores, 0) as scores, graded.scores_at, coalesce(judged.judgements, 0) as judgements,
              judged.judgements_at, coalesce(said.turns, 0) as turns, said.turns_at,
              placed.item_at::integer as item_at, placed.given_id
            from {replies} as shown left join graded using (n) left join apart using (n)
              left join judged using (n) left join said using (n)
              left join placed on shown.scenario = placed.scenario and shown.item_id = placed.item_id
            order by n"""

    @property
    def dimensions(self) -> list[str]:
        """The columns of `samples` that describe the case of a reply: scenario, language, axes, arms."""
        return ["scenario", LANGUAGE, *self._axes, *self._arms]

    def _texts(self) -> str:
        arms = "".join(f" and row.{sql.name(arm)} is not distinct from shown.{sql.name(arm)}" for arm in self._arms)
        return f"""select row.messages, row.reply, row.parsed, row.error, row.model_served, row.attempts,
              row.tokens_in, row.tokens_reasoning, row.run_id, row.fingerprint, row.created_at::varchar as created_at
            from {self._schema}.samples as row join shown on row.sample_id = shown.sample_id
              and row.scenario = shown.scenario and row.model is not distinct from shown.model{arms} order by n"""

    def _scores(self) -> str:
        return f"""select shown.n::integer as n, concat(row.metric, '[' || row.element_place || ']') as metric,
              row.evaluator, row.round::integer as round, row.value, row.choice, row.status, row.scorer,
              row.low::integer as low, row.high::integer as high, row.error, row.judgement_id, row.score_id,
              row.element_value
            from {self._joined("scores")}
            order by shown.n, row.metric, row.evaluator, row.round, try_cast(row.element_place as integer),
              row.score_id"""

    def _judgements(self) -> str:
        return f"""select shown.n::integer as n, row.scorer, row.evaluator, row.round::integer as round, row.source,
              row.status, row.reply, row.parsed, row.messages, row.error, row.cost_usd, row.latency_s,
              row.tokens_in, row.tokens_out, row.judgement_id
            from {self._joined("judgements")}
            order by shown.n, row.scorer, row.evaluator, row.round, row.judgement_id"""

    def _turns(self) -> str:
        return f"""select shown.n::integer as n, row.number::integer as number, row.role, row.model, row.text,
              row.status, row.error, row.left_out, row.tokens_out, row.cost_usd, row.latency_s
            from {self._joined("turns")} order by shown.n, row.number"""

    def _comparisons(self) -> str:
        if not has_comparisons(self._connection, self._benchmark):
            return "select 0 as first, 0 as second, null::varchar as evaluator where false"
        return f"""select one.n::integer as first, two.n::integer as second, row.step, row.first_model,
              row.second_model, row.evaluator, row.value, row.status, row.error, row.item_id, row.scenario::varchar
                as scenario, row.judgement_id
            from {self._schema}.comparisons as row
              join (select sample_id, min(n) as n from shown group by all) as one
                on one.sample_id = row.first_sample_id
              join (select sample_id, min(n) as n from shown group by all) as two
                on two.sample_id = row.second_sample_id
            order by one.n, two.n, row.evaluator, row.comparison_id"""

    def _items(self) -> str:
        return f"""select cast(scenario as varchar) as scenario, item_id, dataset, fields, {self._excerpt} as excerpt,
              written_by
            from {self._schema}.items order by items.scenario, item_id"""


def _batches(reader: pa.RecordBatchReader, size: int) -> Iterator[pa.Table]:
    """Yield tables of `size` rows, and one of the remaining rows."""
    held: list[pa.Table] = []
    count = 0
    for batch in reader:
        held.append(pa.Table.from_batches([batch]))
        count += batch.num_rows
        while count >= size:
            whole = pa.concat_tables(held)
            yield whole.slice(0, size)
            held, count = [whole.slice(size)], count - size
    if count:
        yield pa.concat_tables(held)
