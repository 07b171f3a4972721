"""Reads what a store tells about the earlier runs of a benchmark, for forecasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from types import MappingProxyType
from typing import Any

import duckdb
import orjson

from tripos_runtime.forecast import NO_HISTORY, Earlier, Estimate, Forecast, History, Place, Span, Usage
from tripos_runtime.scheduling import Budget
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store


def forecast_json(
    found: Forecast, budget: Budget | None = None, withheld: Mapping[str, int] = MappingProxyType({})
) -> str:
    """Return the forecast as indented JSON. A cost that is not known is null, and `unpriced` names the models; so is a
    bound, and `unbounded` says why. `withheld` are the items of a scenario that the release withholds."""
    data = {**forecast_values(found, budget), "items_withheld": dict(withheld)}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def budget_rows(found: Forecast, budget: Budget | None) -> dict[str, dict[str, Any]]:
    """For each bound of a budget: how much it is, and whether it is enough: `all`, for whatever may come; `expected`,
    for what is expected and no more; `little`, for less than that; `unknown`."""
    if budget is None:
        return {}
    total = found.total
    tokens = Span(*(a + b for a, b in zip(total.tokens_in, total.tokens_out, strict=True)))
    told: dict[str, dict[str, Any]] = {}
    for unit, most, needed in (
        ("usd", budget.usd, total.cost_usd),
        ("tokens", budget.tokens, tokens),
        ("calls", budget.calls, total.calls),
    ):
        if most is None:
            continue
        if needed is None:
            enough = "unknown"
        else:
            enough = "all" if needed.high <= most else "expected" if needed.expected <= most else "little"
        told[unit] = {"most": most, "enough_for": enough}
    return told


def forecast_values(found: Forecast, budget: Budget | None = None) -> dict[str, Any]:
    """Return the forecast as JSON values: `calls` by place, `why`, `total`, and whether a `budget` is enough."""
    total = found.total
    return {
        "calls": [
            {
                **where._asdict(),
                "reused": line.reused,
                "at_least": line.certain,
                "at_most": line.most,
                "ruled_out": line.ruled_out,
                "failed_before": dict(sorted(line.failed.items())),
                **(_estimate(found.estimates[where]) if where in found.estimates else _estimate(Estimate())),
            }
            for where, line in found.lines.items()
        ],
        "why": [
            {
                "kind": reason.kind,
                "text": reason.text,
                "calls": reason.calls,
                "steps": [{"scenario": scenario, "step": step} for scenario, step in reason.places],
                "items": reason.items,
                "of_items": reason.of_items,
            }
            for reason in found.reasons
        ],
        "items": dict(found.items),
        "items_to_be_made": dict(found.unmade),
        "scores_from_kept_replies": found.scores,
        "unpriced": list(found.unpriced),
        "budget": budget_rows(found, budget),
        "total": {
            "reused": found.reused,
            "reused_from": found.taken.to_json(),
            "at_least": found.certain,
            "at_most": found.certain + found.perhaps,
            **_estimate(total),
            "known_usd": _span(total.known_usd, 6),
        },
    }


def _estimate(part: Estimate) -> dict[str, Any]:
    return {
        "calls": _span(part.calls),
        "tokens_in": _span(part.tokens_in),
        "tokens_out": _span(part.tokens_out),
        "cost_usd": None if part.cost_usd is None else _span(part.cost_usd, 6),
        "unbounded": list(part.unbounded),
        "basis": part.rests_on,
    }


def _span(span: Span, digits: int | None = None) -> dict[str, float | None]:
    return {name: round(value, digits) if isfinite(value) else None for name, value in span._asdict().items()}


MOST_PLANS = 16
"""So many plans are read, the newest: a plan may have megabytes."""
CHARACTERS_OF = 5000
"""Of about so many rows of a table the characters are counted."""


def read_history(store: Store, benchmark: str) -> History:
    """The earlier runs of a benchmark, whatever the format of their plans. Raises `StoreError` S0103 or S0104."""
    files = {table: [str(path) for path in paths] for table, paths in store.files().items()}
    if not files["runs"]:
        return NO_HISTORY
    with _reading() as connection:
        reader = _PartReader(connection, files, benchmark)
        return History(reader.earlier(), reader.items(), reader.usage(), reader.density())


@contextmanager
def _reading() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:")
    try:
        yield connection
    except duckdb.Error as error:
        raise StoreError("S0103", f"the store cannot be read: {' '.join(str(error).split())}") from error
    finally:
        connection.close()


class _PartReader:
    """Asks the committed parts themselves: the views refuse a store with a plan that this version cannot read."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: dict[str, list[str]], benchmark: str) -> None:
        self.connection, self.files, self.benchmark = connection, files, benchmark

    def earlier(self) -> tuple[Earlier, ...]:
        """Return every run, newest first."""
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
        """Return the text of each of these plans."""
        query = """select plan_digest, any_value(plan) from read_parquet($files)
        where benchmark = $benchmark and plan_digest in (select unnest($digests)) group by plan_digest"""
        return dict(self._rows(query, "runs", {"digests": digests}))

    def items(self) -> dict[str, frozenset[str]]:
        """Return the items that any run had, by scenario."""
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
        """Return what replies took, by place and model."""
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
        """Return how many tokens a character of a prompt is, by model, where a reply took one call."""
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
    """Return the options of a run that leave items out."""
    told = orjson.loads(options)
    return {name: told.get(name) for name in ("limit", "only")} if isinstance(told, dict) else {}
