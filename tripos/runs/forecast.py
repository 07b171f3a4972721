"""The forecast of a run: calls, tokens, cost and time, from its plan, prices, and earlier runs in the store."""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from tripos.runs.records import find_store, open_others
from tripos.settings.config import Config
from tripos.settings.runtime import endpoints_of, prices_of
from tripos_compiler.plan import Plan
from tripos_runtime.asking.ledger import NOTHING_KEPT, OtherReplies
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.prepared import PreparedRun
from tripos_runtime.forecast.estimates import Estimate
from tripos_runtime.forecast.reasons import NO_HISTORY, Earlier, History, Place, Usage
from tripos_runtime.forecast.run_forecast import BatchForecast, Forecast, batch_forecast, forecast
from tripos_runtime.models.base import FREE, Price
from tripos_runtime.models.baselines import CONSTANT
from tripos_runtime.models.families import check_name
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.scheduling.budget import Budget
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.ledger.replies import CommittedResults
from tripos_warehouse.query.connection import duckdb
from tripos_warehouse.store.store import DamageListener, Store


def forecast_data(
    estimate: Forecast,
    budget: Budget | None = None,
    withheld: Mapping[str, int] = MappingProxyType({}),
    batches: BatchForecast | None = None,
    detects: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the forecast for JSON, with what the run detects.

    An unknown cost is null, and `unpriced` names the models. An unknown bound is null, and `unbounded` gives the
    reason. `withheld` counts the items of each scenario that the release withholds.
    """
    return {**forecast_values(estimate, budget, batches), "items_withheld": dict(withheld), "detects": detects}


def budget_rows(estimate: Forecast, budget: Budget | None) -> dict[str, dict[str, Any]]:
    """Return each bound of a budget with its sufficiency: `all` if it covers the worst case, `expected` if it covers
    only the expected use, `little` if it covers less, or `unknown`."""
    if budget is None:
        return {}
    total = estimate.total
    tokens = total.tokens_in.plus(total.tokens_out)
    rows: dict[str, dict[str, Any]] = {}
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
        rows[unit] = {"most": most, "enough_for": enough}
    return rows


def forecast_values(
    estimate: Forecast, budget: Budget | None = None, batches: BatchForecast | None = None
) -> dict[str, Any]:
    """Return the forecast for JSON: `calls` by place, `why`, `total`, whether a `budget` suffices, and the `batches` of
    a run in batches."""
    total = estimate.total
    return {
        **({} if batches is None else {"batches": batches.to_json()}),
        "calls": [
            {
                **where._asdict(),
                "reused": line.reused,
                "at_least": line.certain,
                "at_most": line.most,
                "ruled_out": line.ruled_out,
                "failed_before": dict(sorted(line.failed.items())),
                **(_estimate(estimate.estimates[where]) if where in estimate.estimates else _estimate(Estimate())),
            }
            for where, line in estimate.lines.items()
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
            for reason in estimate.reasons
        ],
        "items": dict(estimate.items),
        "items_to_be_made": dict(estimate.unmade),
        "scores_from_kept_replies": estimate.scores,
        "unpriced": list(estimate.unpriced),
        "budget": budget_rows(estimate, budget),
        "total": {
            "reused": estimate.reused,
            "reused_from": estimate.reuse.to_json(),
            "at_least": estimate.certain,
            "at_most": estimate.certain + estimate.perhaps,
            **_estimate(total),
            "known_usd": total.known_usd.to_json(6),
        },
    }


def _estimate(part: Estimate) -> dict[str, Any]:
    return {
        "calls": part.calls.to_json(),
        "tokens_in": part.tokens_in.to_json(),
        "tokens_out": part.tokens_out.to_json(),
        "cost_usd": None if part.cost_usd is None else part.cost_usd.to_json(6),
        "unbounded": list(part.unbounded),
        "basis": part.rests_on,
    }


MOST_PLANS = 16
"""The maximum number of plans to read, newest first. A plan may have megabytes."""
SAMPLED_ROWS = 5000
"""The approximate number of sampled rows of a table whose characters are counted."""


# Earlier runs
def read_history(store: Store, benchmark: str) -> History:
    """Return the earlier runs of a benchmark, whatever the format of their plans. Raises `StoreError` S0103 or
    S0104."""
    files = {table: [str(path) for path in paths] for table, paths in store.files().items()}
    if not files["runs"]:
        return NO_HISTORY
    with _reading() as connection:
        reader = _PartReader(connection, files, benchmark)
        return History(reader.earlier(), reader.items(), reader.usage(), reader.density())


@dataclass(frozen=True)
class RunRow:
    """A run and its restrictions; `options` are those in the table `runs`."""

    run_id: str
    plan_digest: str
    roles: Mapping[str, Sequence[str]]
    compared_role: str
    scenarios: Sequence[str]
    options: Mapping[str, Any]


def read_runs(store: Store, benchmark: str) -> list[RunRow]:
    """Return the runs of a benchmark that made calls, newest first. Raises `StoreError` S0103 or S0104."""
    files = {table: [str(path) for path in paths] for table, paths in store.files().items()}
    if not files["runs"]:
        return []
    with _reading() as connection:
        return list(_PartReader(connection, files, benchmark).runs())


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
    """Queries over the committed Parquet parts. The views would refuse a store with a plan that this version cannot
    read."""

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
                complete=ended.get(run_id) == "finished" and not _leaves_items_out(options),
                identities=orjson.loads(identities or "{}"),
            )
            for run_id, digest, fingerprints, roles, identities, scenarios, options in rows
        )

    def runs(self) -> Iterator[RunRow]:
        """Yield the runs that made calls, newest first. Runs of imported logs made none."""
        rows = self._rows(
            """select run_id, plan_digest, roles, compared_role, scenarios, options from read_parquet($files)
            where benchmark = $benchmark order by started_at desc, run_id desc""",
            "runs",
        )
        for run_id, digest, roles, compared_role, scenarios, options in rows:
            chosen = orjson.loads(options)
            if isinstance(chosen, dict) and "imported" not in chosen:
                yield RunRow(run_id, digest, orjson.loads(roles), compared_role, scenarios, chosen)

    def _plans(self, digests: list[str]) -> dict[str, str]:
        """Return the texts of these plans, by digest."""
        query = """select plan_digest, any_value(plan) from read_parquet($files)
        where benchmark = $benchmark and plan_digest in (select unnest($digests)) group by plan_digest"""
        return dict(self._rows(query, "runs", {"digests": digests}))

    def items(self) -> dict[str, frozenset[str]]:
        """Return the items of all runs, by scenario."""
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
        """Return the token usage of replies, by place and model."""
        found: dict[Place, dict[str, Usage]] = {}
        for table, step, model in (
            ("samples", "step", "model"),
            ("turns", "step", "model"),
            ("judgements", "scorer", "evaluator"),
        ):
            if not self.files[table]:
                continue
            query = f"""select scenario, {step}, {model}, tokens_out, count(*), sum(tokens_in), count(tokens_in)
            from read_parquet($files)
            where benchmark = $benchmark and tokens_out is not null group by all order by all"""
            for (scenario, name, by), rows in groupby(self._rows(query, table), operator.itemgetter(0, 1, 2)):
                found.setdefault((table, scenario, name), {})[by] = _usage([row[3:] for row in rows])
        return found

    def density(self) -> dict[str, float]:
        """Return the tokens per character of a prompt, by model, from replies that took one call."""
        sums: dict[str, list[float]] = {}
        for table, key, model in (("samples", "sample_id", "model"), ("judgements", "judgement_id", "evaluator")):
            if not self.files[table]:
                continue
            [(rows,)] = self._rows("select count(*) from read_parquet($files)", table)
            once = f"and {key} not in (select unit_id from read_parquet($drafts))" if self.files["drafts"] else ""
            if table == "samples" and self.files["turns"]:  # the row of a conversation lacks the messages of its turns
                once += " and sample_id not in (select conversation_id from read_parquet($turns))"
            query = f"""select model, sum(tokens_in), sum(characters) from (
              select {model} as model, tokens_in,
                length(array_to_string(json_extract_string(messages, '$[*].content'), '')) as characters
              from read_parquet($files)
              where benchmark = $benchmark and tokens_in > 0 and not contains(messages, 'bytes sha256:') {once}
                and hash({key}) % {max(1, rows // SAMPLED_ROWS)} = 0)
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


def _usage(rows: Sequence[tuple[int, int, int | None, int]]) -> Usage:
    """Return the usage of replies from a histogram: rows of tokens, count, prompt tokens, and count with known prompt
    tokens, in ascending order of tokens.

    Quantiles are computed from the histogram, because those of single replies would need a number for each in
    memory.

    >>> _usage([(10, 1, 7, 1), (20, 3, 21, 3), (40, 1, None, 0)])
    Usage(replies=5, tokens_in=7.0, out_low=14.0, out_mean=22.0, out_high=36.0)
    """
    tokens, counts = [row[0] for row in rows], [row[1] for row in rows]
    places = list(accumulate(counts))
    told = sum(row[3] for row in rows)
    mean_in = sum(row[2] or 0 for row in rows) / told if told else None

    def quantile(p: float) -> float:
        place = p * (places[-1] - 1)
        low, high = (tokens[bisect_right(places, each)] for each in (math.floor(place), math.ceil(place)))
        return low + (place - math.floor(place)) * (high - low)

    mean = sum(map(operator.mul, tokens, counts)) / places[-1]
    return Usage(places[-1], mean_in, quantile(0.1), mean, quantile(0.95))


RESTRICTIONS = ("limit", "only", "subset", "shard", "until")
"""The options in a row of `runs` by which a run may leave items out."""


def _leaves_items_out(options: str) -> bool:
    """Return true if a run may have left items out, by its options.

    >>> _leaves_items_out('{"limit": null, "only": {}}'), _leaves_items_out('{"limit": null, "subset": "small"}')
    (False, True)
    """
    told = orjson.loads(options)
    return isinstance(told, dict) and any(told.get(name) for name in RESTRICTIONS)


MOCK_PRICE = Price(0.0, 0.0, most_out=4_096)
"""The price of mock and constant models. Their replies are never longer than this."""


# The forecast
def forecast_run(prepared: PreparedRun, config: Config, tell: DamageListener) -> Forecast:
    """Forecast a prepared run. Recorded models cost nothing. `tell` receives the damage in stores whose replies are
    reused. Raises `TriposError`."""
    prices = {
        **known_prices(prepared.binding, config, batch=prepared.wiring.batch),
        **dict.fromkeys(prepared.wiring.recorded, FREE),
    }
    replies = open_others(config.reuse, config.store, tell)
    return forecast_plan(
        prepared.plan, prepared.source, prepared.selection, prepared.binding, config.store, prices, replies
    )


def forecast_batches(estimate: Forecast, prepared: PreparedRun, config: Config) -> BatchForecast | None:
    """Return the batches of a forecast, or None for a live run."""
    if not prepared.wiring.batch:
        return None
    from tripos_runtime.models.batches import batch_limits

    live, batch = (known_prices(prepared.binding, config, batch=each) for each in (False, True))

    def factor(model: str, tokens_in: float, tokens_out: float) -> float | None:
        first, second = live[model], batch[model]
        if first is None or second is None or not (cost := second.cost_usd(round(tokens_in), round(tokens_out))):
            return None
        return first.cost_usd(round(tokens_in), round(tokens_out)) / cost

    return batch_forecast(estimate, prepared.plan, batch_limits, factor)


def check_model_names(names: Sequence[str], config: Config) -> None:
    """Raise `TriposError` R0103 for a model whose name no run could open."""
    endpoints = endpoints_of(config)
    for name in names:
        check_name(name, endpoints)


def forecast_plan(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding,
    store_path: str | Path,
    prices: Mapping[str, Price | None],
    others: OtherReplies = NOTHING_KEPT,
) -> Forecast:
    """Return the forecast of a run. Raises `TriposError`."""
    store = find_store(store_path)
    if store is None:
        return forecast(plan, source, selection, binding, NOTHING_KEPT, prices, NO_HISTORY, others)
    history = read_history(store, plan.benchmark.name)
    ledger = _open(store, plan.fingerprints)
    try:
        return forecast(plan, source, selection, binding, ledger, prices, history, others)
    finally:
        if isinstance(ledger, RunLedger):
            ledger.close()


def known_prices(binding: RoleBinding, config: Config, *, batch: bool = False) -> dict[str, Price | None]:
    """Return the price of every model in a run: from `tripos.toml`, or else from litellm's price map. With `batch`,
    models that accept batches have their batch price."""
    from tripos_runtime.models.prices import batch_price, price_of

    own = prices_of(config)
    prices: dict[str, Price | None] = {}
    for name in binding.all_models:
        provider, _, model = name.partition("/")
        if name in own:
            prices[name] = own[name]
        else:
            at_home = MOCK_PRICE if name.startswith(("mock/", CONSTANT)) else FREE
            prices[name] = at_home if kind_of(name).free else price_of(provider, model)
    if batch:
        from tripos_runtime.models.batches import takes_batches

        for name in filter(takes_batches, binding.all_models):
            provider, _, model = name.partition("/")
            prices[name] = batch_price(provider, model, prices[name], price_is_users=name in own)
    return prices


def _open(store: Store, fingerprints: Collection[str]) -> RunLedger | CommittedResults:
    try:
        return open_ledger(store, fingerprints)
    except StoreError as error:
        if error.code != "S0102":
            raise
        return CommittedResults(store, fingerprints)
