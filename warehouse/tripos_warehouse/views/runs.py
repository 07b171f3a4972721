"""The runs of a store: the list of runs, lookup by the start of an id, and how much of a subset runs have covered."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

import orjson

from tripos_compiler.language.contexts import Drawn, select_treatments
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.benchmark_views import read_plan

_COLUMNS = (
    "run_id, benchmark, version, plan_digest, roles, identities, compared_role, models, scenarios, status, message,"
    " asked, reused, failed, cost_usd, started_at, finished_at, json_extract(options, '$.withheld') as withheld,"
    " json_extract(options, '$.only') as only, json_extract_string(options, '$.shard') as shard,"
    " json_extract(options, '$.until') is not null as until,"
    " settled, release, (select count(*) from main.run_items as listed where listed.run_id = runs.run_id) as items"
)

_ROWS_OF_RUNS = """from main.{table} as row
      join (select distinct run_id, scenario, fingerprint, binding from main.run_steps) as step
        on step.binding = row.binding and step.fingerprint = row.fingerprint and step.scenario = row.scenario
      semi join main.run_items as item
        on item.run_id = step.run_id and item.scenario = row.scenario and item.item_id = row.item_id"""
"""The `from` clause of the rows of every run, as `run_rows` defines them for one."""
_ASKED = " and (item.models is null or row.model is null or list_contains(item.models, row.model))"
"""The condition, for runs that stopped early, of rows of models that were asked about the item."""
_OUTCOMES = "case when row.elements is null then 1 else coalesce(json_array_length(row.given), 0) end"
_SCORED = """case when row.elements is null then (row.status = 'scored')::integer
  else len(list_filter(coalesce(row.given::json::json[], []), lambda outcome: outcome->>'$.status' = 'scored')) end"""
"""The SQL for the number of scores in a row, one for each scored list element, and for the number that have a value. A
metric with a point in its name is a column of a measure, not a score.
"""


@dataclass(frozen=True)
class RunRecord:
    """A run. Times are UTC without a zone. Fields about its end are None while its status is `unfinished`."""

    run_id: str
    benchmark: str
    version: str
    plan_digest: str
    roles: dict[str, tuple[str, ...]]
    identities: dict[str, str]
    """Identities of models whose names are not enough."""
    compared_role: str
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    status: str
    message: str | None
    asked: int | None
    reused: int | None
    failed: int | None
    cost_usd: float | None
    started_at: datetime
    finished_at: datetime | None
    withheld: int = 0
    """The number of its items that the release withholds."""
    items: int = 0
    """The number of its items, over all scenarios."""
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of axes and arms to which it was restricted."""
    shard: str | None = None
    """`1/3` for the first of three parts of the items; None for all of them."""

    until_settled: bool = False
    """True if it should stop as soon as it is settled."""
    settled: dict[str, Any] | None = None
    """For a run that should stop as soon as it is settled: the rule, the numbers of items used and planned, and every
    figure that it followed with a confidence sequence.
    """
    release: str | None = None
    """The digest of its release; `None` for a working tree."""

    @property
    def stopped_early(self) -> bool:
        """True if it was settled before its last item."""
        return bool(self.stopped_models)

    @property
    def stopped_models(self) -> frozenset[str]:
        """The models that were settled before its last item."""
        if self.settled is None:
            return frozenset()
        return frozenset(model for model, items in self.settled["models"].items() if items < self.settled["of"])

    @property
    def interrupted(self) -> bool:
        """True if it should stop as soon as it is settled, but a budget, a person or a failure stopped it first."""
        return self.until_settled and not self.ended

    @property
    def settled_figures(self) -> list[dict[str, Any]]:
        """The figures that it followed until it was settled."""
        return [] if self.settled is None else list(self.settled["figures"])

    @property
    def ended(self) -> bool:
        """True if it finished: each of its results is in the store, or failed."""
        return self.status == "finished"

    @property
    def partial(self) -> str | None:
        """The share of items behind its figures, in words, if it has a shard or withheld items; otherwise `None`."""
        if self.shard is not None:
            return f"on {self.items:,} items of shard {self.shard}"
        if not self.withheld:
            return None
        return f"on {self.items:,} of {self.items + self.withheld:,} items, {self.withheld:,} withheld by the release"

    @property
    def answering(self) -> frozenset[str]:
        """The names or identities under which its models reply."""
        return frozenset(self.identities.get(name, name) for names in self.roles.values() for name in names)

    @property
    def evaluators(self) -> dict[str, tuple[str, ...]]:
        """The models of every role except the compared one."""
        return {role: models for role, models in self.roles.items() if role != self.compared_role}


@dataclass(frozen=True)
class ListedRun:
    """A run with its number of samples of the compared role, of scores by models and expressions, and separately of
    scores by people. Reused results count.
    """

    run: RunRecord
    samples: int
    scores: int
    scored: int
    by_people: int

    @property
    def scored_share(self) -> float | None:
        """The share of its scores that have a value; `None` if it has no scores."""
        return self.scored / self.scores if self.scores else None

    def to_row(self) -> dict[str, Any]:
        """Return a flat mapping for a table or JSON; times are UTC in ISO 8601."""
        run = self.run
        return {
            "run_id": run.run_id,
            "benchmark": run.benchmark,
            "version": run.version,
            "models": list(run.models),
            "samples": self.samples,
            "scores": self.scores,
            "scored_share": self.scored_share,
            "people_scores": self.by_people,
            "items": run.items,
            "withheld": run.withheld,
            "shard": run.shard,
            "status": run.status,
            "stopped_early": run.stopped_early,
            "started_at": run.started_at.isoformat() + "Z",
            "cost_usd": None if run.cost_usd is None else round(run.cost_usd, 6),
        }


def list_runs(connection: Connection) -> list[ListedRun]:
    """Return every run, newest first, with counts of its current rows."""
    runs = {run.run_id: run for run in all_runs(connection)}
    counts: dict[str, list[int]] = {run_id: [0] * 4 for run_id in runs}
    asked = _ASKED if any(run.stopped_early for run in runs.values()) else ""
    sampled = f"""select step.run_id, count(*) {_ROWS_OF_RUNS.format(table="samples")}{asked}
      join main.runs as run on run.run_id = step.run_id and run.compared_role = row.role group by all"""
    for run_id, samples in connection.execute(sampled).fetchall():
        counts[run_id][0] = samples
    person = f"starts_with(coalesce(row.evaluator, ''), {sql.text(HUMAN)})"
    scored = f"""select step.run_id, coalesce(sum({_OUTCOMES}) filter (not {person}), 0),
      coalesce(sum({_SCORED}) filter (not {person}), 0), coalesce(sum({_SCORED}) filter ({person}), 0)
      {_ROWS_OF_RUNS.format(table="scores")}{asked} where not contains(row.metric, '.') group by all"""
    for run_id, *score_counts in connection.execute(scored).fetchall():
        counts[run_id][1:] = score_counts
    return [ListedRun(run, *counts[run.run_id]) for run in runs.values()]


def find_run(connection: Connection, text: str | None = None) -> RunRecord:
    """Return the run whose id is `text`, or the only one whose id begins with it; without `text` the latest.

    Raises `StoreError` S0301 if there is none, or more than one.
    """
    runs = all_runs(connection)
    if not runs:
        raise StoreError("S0301", "the store has no runs yet", "`tripos run SPEC --model MODEL` makes one")
    if text is None:
        return runs[0]
    exact = [run for run in runs if run.run_id == text]
    records = exact or [run for run in runs if run.run_id.startswith(text)]
    if len(records) == 1:
        return records[0]
    if records:
        names = ", ".join(f"`{run.run_id}`" for run in records[:3]) + (", …" if len(records) > 3 else "")
        raise StoreError("S0301", f"`{text}` could be {len(records)} runs: {names}", "write more of the id")
    nearest = difflib.get_close_matches(text, [run.run_id for run in runs], n=1, cutoff=0.5)
    hint = f"did you mean `{nearest[0]}`?" if nearest else f"`tripos list` shows the runs, such as `{runs[0].run_id}`"
    raise StoreError("S0301", f"no run `{text}`", hint)


def find_previous(connection: Connection, run: RunRecord) -> list[str]:
    """Return the id of the last run of the same benchmark that began before `run`, as a list; empty if there is
    none.
    """
    query = """select run_id from main.runs where benchmark = ? and (started_at, run_id) < (?, ?)
    order by started_at desc, run_id desc limit 1"""
    return [run_id for (run_id,) in connection.execute(query, [run.benchmark, run.started_at, run.run_id]).fetchall()]


def get_plan(connection: Connection, run: RunRecord) -> Plan:
    """Return the plan of `run`. Raises `StoreError` S0104 if its format is unknown, S0301 if there is no such run."""
    # Fetch all: an unfinished result blocks the next query of a connection.
    rows = connection.execute("select plan from main.runs where run_id = ?", [run.run_id]).fetchall()
    if not rows:
        raise StoreError("S0301", f"no run `{run.run_id}`")
    return read_plan(rows[0][0], run.run_id, run.benchmark)


def get_selected(connection: Connection, run: RunRecord) -> Plan:
    """Return the plan of `run` with the treatments that the run selected. Raises what `get_plan` raises."""
    return select_treatments(get_plan(connection, run), run.only)


def all_runs(connection: Connection) -> list[RunRecord]:
    """Return every run, newest first."""
    rows = connection.execute(f"select {_COLUMNS} from main.runs order by started_at desc, run_id desc").fetchall()
    return [_run(row) for row in rows]


def _run(row: tuple[Any, ...]) -> RunRecord:
    """Return the record of a row of `_COLUMNS`."""
    run_id, benchmark, version, plan_digest, roles, identities, compared, *rest, until, settled, release, items = row
    models, scenarios, *end, withheld, only, shard = rest
    by_role = {role: tuple(names) for role, names in orjson.loads(roles).items()}
    by_name = orjson.loads(identities or "{}")
    record = RunRecord(
        run_id, benchmark, version, plan_digest, by_role, by_name, compared, tuple(models), tuple(scenarios), *end
    )
    return replace(
        record,
        withheld=sum(orjson.loads(withheld or "{}").values()),
        items=items,
        only={name: tuple(values) for name, values in orjson.loads(only or "{}").items()},
        shard=shard,
        release=release,
        until_settled=until,
        settled=orjson.loads(settled) if settled else None,
    )


# Items of subsets
@dataclass(frozen=True)
class SubsetCount:
    """The number of items of a subset that are present, and its size `of`, which is None if no run recorded it."""

    present: int
    of: int | None

    @property
    def is_complete(self) -> bool:
        """True if no item is known to be missing."""
        return self.present >= (self.of or 0)

    def describe(self, subset: str) -> str:
        """Return the counts in words.

        >>> SubsetCount(61, 198).describe("by_hand"), SubsetCount(3, None).describe("by_hand")
        ('61 of the 198 items of by_hand', '3 items of by_hand')
        """
        of = "" if self.of is None else f"of the {self.of:,} "
        return f"{self.present:,} {of}items of {subset}"


def marked_items(connection: Connection, run_id: str, subset: str) -> Drawn:
    """Return the items of a run that belong to a subset, as pairs of scenario and `item_id`."""
    query = "select scenario, item_id from main.run_items where run_id = ? and list_contains(subsets, ?)"
    return frozenset(connection.execute(query, [run_id, subset]).fetchall())


def known_in_run(connection: Connection, run_id: str, subset: str, present: int) -> SubsetCount:
    """Return the count of a subset of which a run has `present` items."""
    query = """select listed.options from main.runs as listed
      where listed.run_id in (select items_of from main.runs where run_id = ?)"""
    return SubsetCount(present, _subset_size(connection.execute(query, [run_id]).fetchall(), subset))


def known_in_store(connection: Connection, benchmark: str, subsets: Iterable[str]) -> Mapping[str, SubsetCount]:
    """Return the count of every subset over all runs of a benchmark. Its size is from the last run that recorded it."""
    rows = connection.execute(
        "select options from main.runs where benchmark = ? order by started_at desc, run_id desc", [benchmark]
    ).fetchall()
    count = """select count(distinct (listed.scenario, listed.item_id))
      from main.run_items as listed join main.runs as run on run.run_id = listed.run_id
      where run.benchmark = ? and list_contains(listed.subsets, ?)"""
    counts = {}
    for subset in subsets:
        [present] = connection.execute(count, [benchmark, subset]).fetchone() or (0,)
        counts[subset] = SubsetCount(present, _subset_size(rows, subset))
    return counts


def _subset_size(rows: Iterable[tuple[str | None]], subset: str) -> int | None:
    """Return the size of a subset from the first options that have it; None if none has."""
    for (options,) in rows:
        size = orjson.loads(options or "{}").get("drawn", {}).get(subset)
        if size is not None:
            return int(size)
    return None


def tool_version(connection: Connection, run_id: str) -> str:
    """Return the version of Tripos that made a run."""
    [(version,)] = connection.execute("select tool_version from main.runs where run_id = ?", [run_id]).fetchall()
    return str(version)
