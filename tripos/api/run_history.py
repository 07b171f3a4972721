"""Reads what a store tells about the earlier runs of a benchmark, for forecasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import orjson

from tripos_runtime.forecast.reasons import NO_HISTORY, Earlier, History, Place, Usage
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store

MOST_PLANS = 16
"""So many plans are read, the newest: a plan may have megabytes."""
CHARACTERS_OF = 5000
"""Of about so many rows of a table the characters are counted."""


def read_history(store: Store, benchmark: str) -> History:
    """The earlier runs of a benchmark, whatever the format of their plans. Raises `StoreError` W0103 or W0104."""
    files = {table: [str(path) for path in paths] for table, paths in store.files().items()}
    if not files["runs"]:
        return NO_HISTORY
    with _reading() as connection:
        reader = _Reader(connection, files, benchmark)
        return History(reader.earlier(), reader.items(), reader.usage(), reader.density())


@contextmanager
def _reading() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:")
    try:
        yield connection
    except duckdb.Error as error:
        raise StoreError("W0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
    finally:
        connection.close()


class _Reader:
    """Asks the committed parts themselves: the views refuse a store with a plan that this version cannot read."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: dict[str, list[str]], benchmark: str) -> None:
        self.connection, self.files, self.benchmark = connection, files, benchmark

    def earlier(self) -> tuple[Earlier, ...]:
        """Every run, newest first."""
        ended = {}
        if self.files["run_ends"]:
            ended = dict(self._rows("select run_id, status from read_parquet($files)", "run_ends"))
        rows = self._rows(
            """select run_id, plan_digest, fingerprints, roles, identities, scenarios, options from read_parquet($files)
            where benchmark = $benchmark order by started_at desc, run_id desc""",
            "runs",
        )
        plans = self._plans(list(dict.fromkeys(row[1] for row in rows))[:MOST_PLANS])
        return tuple(
            Earlier(
                run_id,
                plans.get(digest, ""),
                frozenset(fingerprints),
                {role: tuple(models) for role, models in orjson.loads(roles).items()},
                frozenset(scenarios),
                whole=ended.get(run_id) == "finished" and not any(_chosen(options).values()),
                identities=orjson.loads(identities or "{}"),
            )
            for run_id, digest, fingerprints, roles, identities, scenarios, options in rows
        )

    def _plans(self, digests: list[str]) -> dict[str, str]:
        """The text of each of these plans."""
        query = """select plan_digest, any_value(plan) from read_parquet($files)
        where benchmark = $benchmark and plan_digest in (select unnest($digests)) group by plan_digest"""
        return dict(self._rows(query, "runs", {"digests": digests}))

    def items(self) -> dict[str, frozenset[str]]:
        """The items that any run had, by scenario."""
        if not self.files["run_items"]:
            return {}
        self.connection.execute(
            "create temp table mine as select run_id from read_parquet($files) where benchmark = $benchmark",
            {"files": self.files["runs"], "benchmark": self.benchmark},
        )
        query = """select scenario, list(distinct item_id) from read_parquet($files)
        where run_id in (select run_id from mine) group by scenario"""
        return {scenario: frozenset(ids) for scenario, ids in self._rows(query, "run_items")}

    def usage(self) -> dict[Place, dict[str, Usage]]:
        """What replies took, by place and model."""
        found: dict[Place, dict[str, Usage]] = {}
        for table, step, model in (
            ("samples", "step", "model"),
            ("turns", "step", "model"),
            ("judgements", "scorer", "evaluator"),
        ):
            if not self.files[table]:
                continue
            query = f"""select scenario, {step}, {model}, count(*), avg(tokens_in),
              quantile_cont(tokens_out, 0.1), avg(tokens_out), quantile_cont(tokens_out, 0.95)
            from read_parquet($files)
            where benchmark = $benchmark and tokens_out is not null group by all"""
            for scenario, name, by, *numbers in self._rows(query, table):
                found.setdefault((table, scenario, name), {})[by] = Usage(*numbers)
        return found

    def density(self) -> dict[str, float]:
        """How many tokens a character of a prompt is, by model, where a reply took one call."""
        sums: dict[str, list[float]] = {}
        for table, key, model in (("samples", "sample_id", "model"), ("judgements", "judgement_id", "evaluator")):
            if not self.files[table]:
                continue
            [(rows,)] = self._rows("select count(*) from read_parquet($files)", table)
            once = f"and {key} not in (select unit_id from read_parquet($drafts))" if self.files["drafts"] else ""
            if table == "samples" and self.files["turns"]:  # a conversation's row has not the messages of its turns
                once += " and sample_id not in (select conversation_id from read_parquet($turns))"
            query = f"""select model, sum(tokens_in), sum(characters) from (
              select {model} as model, tokens_in,
                length(array_to_string(json_extract_string(messages, '$[*].content'), '')) as characters
              from read_parquet($files)
              where benchmark = $benchmark and tokens_in > 0 {once}
                and hash({key}) % {max(1, rows // CHARACTERS_OF)} = 0)
            group by model"""
            more = {name: self.files[name] for name in ("drafts", "turns") if f"${name}" in once}
            for by, tokens, characters in self._rows(query, table, more):
                total = sums.setdefault(by, [0, 0])
                total[0] += float(tokens)
                total[1] += float(characters)
        return {model: tokens / characters for model, (tokens, characters) in sums.items() if characters}

    def _rows(self, query: str, table: str, more: dict[str, Any] | None = None) -> list[Any]:
        named = {"files": self.files[table], **(more or {})}
        if "$benchmark" in query:
            named["benchmark"] = self.benchmark
        return self.connection.execute(query, named).fetchall()


def _chosen(options: str) -> dict[str, Any]:
    """The options of a run that leave items out."""
    told = orjson.loads(options)
    return {name: told.get(name) for name in ("limit", "only")} if isinstance(told, dict) else {}
