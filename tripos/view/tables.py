"""The rows of a run as Parquet files that a browser reads by range.

`samples` has a row a reply, in the order of scenario, item, arms, sample number, step and model; its narrow columns are
read whole, to sort and to filter. `texts` has the wide columns of the same rows in the same order. Rows of `scores`,
`judgements` and `turns` are in the order of the reply that they belong to, and `samples` says where they begin and how
many there are, so that one reply is shown with few requests.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tripos.view.pictures import PLACED, has_comparisons
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.views import LANGUAGE, are_counted, arm_columns, axis_columns

NARROW_ROWS = 131_072
"""Rows of a group of narrow columns, which are read whole."""
WIDE_ROWS = 64
"""Rows of a group of wide columns, of which one is read at a time."""
WIDE = ("texts", "judgements", "turns", "items")
PLACED_COLUMNS = {
    "scores": ("metric", "evaluator", "round", "value", "status", "scorer", "low", "high", "judgement_id"),
    "judgements": (
        *("scorer", "evaluator", "round", "source", "status", "cost_usd", "latency_s", "tokens_in", "tokens_out"),
        "judgement_id",
    ),
    "turns": ("number", "role", "model", "status", "left_out", "tokens_out", "cost_usd", "latency_s"),
}
"""The narrow columns of the rows that belong to a reply; they are held while the tables of a run are made."""
TABLES = ("samples", "texts", "scores", "judgements", "turns", "comparisons", "items")


class RunTables:
    """The tables of one run, out of a connection that shows that run alone."""

    def __init__(self, connection: Connection, plan: Plan, compared_role: str) -> None:
        self._connection = connection
        self._benchmark = plan.benchmark.name
        self._schema = sql.name(self._benchmark)
        self._axes = axis_columns(plan)
        self._arms = arm_columns(plan)
        self._role = compared_role
        self._counted = are_counted(plan)
        self._steps = {
            name: place
            for place, name in enumerate(
                dict.fromkeys(step.name for scenario in plan.scenarios for step in scenario.steps)
            )
        }
        connection.execute(f"create or replace temp table shown as {self._shown()}")
        for table in ("scores", "judgements", "turns"):
            connection.execute(f"create or replace temp table {table}_at as {self._placed(table)}")

    def write(self, name: str, path: Path) -> int:
        """Write one of `TABLES` and return how many rows it has. The file appears whole or not at all."""
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            rows = self._write(name, Path(temporary))
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return rows

    def _write(self, name: str, path: Path) -> int:
        query = getattr(self, f"_{name}")()
        size = WIDE_ROWS if name in WIDE else NARROW_ROWS
        with self._connection.sql(query).to_arrow_reader(size) as reader:
            rows = 0
            with pq.ParquetWriter(path, reader.schema, compression="snappy", write_page_index=False) as writer:
                for batch in _batches(reader, size):
                    rows += batch.num_rows
                    writer.write_table(batch, row_group_size=size)
        return rows

    def _shown(self) -> str:
        """Every reply with its place; the order of models last, so that replies about one item stand together."""
        steps = " ".join(f"when {sql.text(name)} then {place}" for name, place in self._steps.items())
        place = f"case step {steps} else {len(self._steps)} end" if steps else "0"
        order = ["scenario", "item_id", *map(sql.name, self._arms), "sample_number", place, "model", "sample_id"]
        return f"""select * exclude (messages, reply, parsed, error),
            row_number() over (order by {", ".join(order)}) - 1 as n from {self._schema}.samples"""

    def _placed(self, table: str) -> str:
        """Rows of `table` with the place of their reply and their own."""
        ids = "conversation_id" if table == "turns" else "sample_id"
        inner = {"scores": "metric, evaluator, round, score_id", "judgements": "scorer, evaluator, round, judgement_id"}
        order = inner.get(table, "number")
        arms = "".join(f" and row.{sql.name(arm)} is not distinct from shown.{sql.name(arm)}" for arm in self._arms)
        model = "" if table == "turns" else " and row.model is not distinct from shown.model"
        key = {"scores": "score_id", "judgements": "judgement_id", "turns": "turn_id"}[table]
        kept = ", ".join(f"row.{name}" for name in PLACED_COLUMNS[table])
        return f"""select shown.n, {kept},
              row_number() over (order by shown.n, {", ".join(f"row.{each.strip()}" for each in order.split(","))}) - 1
                as place, row.{key} as own
            from {self._schema}.{table} as row join shown on row.{ids} = shown.sample_id
              and row.scenario = shown.scenario{model}{arms}"""

    def _samples(self) -> str:
        text = [f"cast(shown.{sql.name(each)} as varchar) as {sql.name(each)}" for each in self.dimensions]
        return f"""
            with graded as (
              select n, count(*)::integer as scores, min(place)::integer as scores_at,
                avg({PLACED}) filter ({self._counted})::float as score,
                count(*) filter (value is null)::integer as without
              from scores_at group by n),
            apart as (
              select n, max(spread)::float as spread from (
                select n, metric, (max(value) - min(value)) / nullif(max(high) - max(low), 0) as spread
                from scores_at where evaluator is not null group by all having count(distinct evaluator) > 1)
              group by n),
            judged as (
              select n, count(*)::integer as judgements, min(place)::integer as judgements_at from judgements_at
              group by n),
            said as (select n, count(*)::integer as turns, min(place)::integer as turns_at from turns_at group by n)
            select {", ".join(text)}, shown.role = {sql.text(self._role)} as compared, shown.role, shown.step,
              shown.model, shown.sample_number::integer as sample_number, shown.status, graded.score, apart.spread,
              coalesce(graded.without, 0) as without, shown.finish_reason, shown.tokens_out::integer as tokens_out,
              shown.cost_usd, shown.latency_s::float as latency_s, shown.item_id, shown.sample_id,
              coalesce(graded.scores, 0) as scores, graded.scores_at, coalesce(judged.judgements, 0) as judgements,
              judged.judgements_at, coalesce(said.turns, 0) as turns, said.turns_at
            from shown left join graded using (n) left join apart using (n) left join judged using (n)
              left join said using (n) order by n"""

    @property
    def dimensions(self) -> list[str]:
        """The columns of `samples` that say what a reply is about: scenario, language, axes, arms."""
        return ["scenario", LANGUAGE, *self._axes, *self._arms]

    def _texts(self) -> str:
        arms = "".join(f" and row.{sql.name(arm)} is not distinct from shown.{sql.name(arm)}" for arm in self._arms)
        return f"""select row.messages, row.reply, row.parsed, row.error, row.model_served, row.attempts,
              row.tokens_in, row.tokens_reasoning, row.run_id, row.fingerprint, row.created_at::varchar as created_at
            from {self._schema}.samples as row join shown on row.sample_id = shown.sample_id
              and row.scenario = shown.scenario and row.model is not distinct from shown.model{arms} order by n"""

    def _scores(self) -> str:
        return f"""select mine.n::integer as n, cast(mine.metric as varchar) as metric, mine.evaluator,
              mine.round::integer as round, mine.value, mine.status, mine.scorer, mine.low::integer as low,
              mine.high::integer as high, row.error, mine.judgement_id, mine.own as score_id
            from scores_at as mine join (select distinct score_id, error from {self._schema}.scores) as row
              on row.score_id = mine.own order by mine.place"""

    def _judgements(self) -> str:
        return f"""select mine.n::integer as n, mine.scorer, mine.evaluator, mine.round::integer as round, mine.source,
              mine.status, row.reply, row.parsed, row.messages, row.error, mine.cost_usd, mine.latency_s,
              mine.tokens_in, mine.tokens_out, mine.judgement_id
            from judgements_at as mine join (
                select distinct on (judgement_id) judgement_id, reply, parsed, messages, error
                from {self._schema}.judgements) as row
              on row.judgement_id = mine.own order by mine.place"""

    def _turns(self) -> str:
        return f"""select mine.n::integer as n, mine.number::integer as number, mine.role, mine.model, row.text,
              mine.status, row.error, mine.left_out, mine.tokens_out, mine.cost_usd, mine.latency_s
            from turns_at as mine join (select distinct on (turn_id) turn_id, text, error from {self._schema}.turns)
              as row on row.turn_id = mine.own order by mine.place"""

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
        return f"""select cast(scenario as varchar) as scenario, item_id, dataset, fields, written_by
            from {self._schema}.items order by items.scenario, item_id"""


def _batches(reader: pa.RecordBatchReader, size: int) -> Iterator[pa.Table]:
    """Yield tables of a whole number of groups, with texts for enumerations."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in reader:
        held.append(batch)
        count += batch.num_rows
        if count >= size * 16:
            yield pa.Table.from_batches(held)
            held, count = [], 0
    if held:
        yield pa.Table.from_batches(held)
