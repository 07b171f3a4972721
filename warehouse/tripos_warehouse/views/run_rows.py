"""The rows of a run: the one definition used by views, reports, leaderboards, comparisons and exports.

A run lists its items (`run_items`) and what it computes for each (`run_steps`: fingerprints and bindings, which
identify the models in the roles that a row depends on). Its rows are those of its items with one of its fingerprints
and bindings, whichever run made them. Rows of a step with a condition must have been requested under the same condition
by some run (`conditions`), since ids do not include conditions. Steps that the plan does not have are left out, so a
plan may show a run of an earlier plan.

Without a run, a benchmark shows its latest state: the plan is that of the last run that did not have to stop. For each
scenario and compared model (for comparisons: each pair of models) the rows are those of the last run that had any of
that plan for them; `shown_run` is that run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

import orjson

from tripos_compiler.language.contexts import ArmSelection
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.dimensions import LANGUAGE

INTERNAL = "tripos internal"
"""The schema of internal tables. Its name has a space, so no benchmark can have it."""
ALL_SUMS = f"{sql.name(INTERNAL)}.{sql.name('all sums')}"
"""The view of all score sums, if there is one (`views/derived.py`)."""
SUM_SETS = f"{sql.name(INTERNAL)}.{sql.name('sets of sums')}"
"""The binding sets of these sums, with a row for each binding."""
STOPPED = ("stopped", "failed")
"""The statuses of runs that had to stop."""
LATEST = f"status in ({', '.join(map(sql.text, STOPPED))}), started_at desc, run_id desc"
"""The order of runs in which the first one is shown."""


class ScenarioRows(NamedTuple):
    """The rows of a run in a scenario that are about one compared model, a pair of models, or none."""

    scenario: str
    model: str | None
    other: str | None
    run_id: str


@dataclass(frozen=True)
class PlanSteps:
    """The steps of a benchmark's plan.

    `shared` is true if runs of other benchmarks have some of its steps, because one benchmark extends the other, so
    that their results count here; `generated` if models generate data sets; `elements` if some scores are of list
    elements; `conditional` if some steps have a condition; `clustered` if items may share clusters."""

    benchmark: str
    fingerprints: frozenset[str]
    shared: bool
    generated: bool
    elements: bool = False
    conditional: bool = False
    clustered: bool = False

    def in_benchmark(self, row: str) -> str:
        """Return the SQL condition that `row` belongs to the benchmark."""
        return "true" if self.shared else f"{row}.benchmark = {sql.text(self.benchmark)}"

    @property
    def planned(self) -> str:
        """The SQL condition that a step is in the plan. Use it only when reading steps: in a query of a million scores,
        DuckDB underestimates the rows that remain and joins them in the wrong order, which takes twenty times as long.
        """
        return f"step.fingerprint in ({', '.join(map(sql.text, sorted(self.fingerprints))) or 'NULL'})"


@dataclass(frozen=True)
class RunRows:
    """The rows of one run, or the latest state of a benchmark, as SQL.

    `several` is true if a row may belong to more than one shown run. Items with other values on axes than those in
    `only` are left out.
    """

    of: PlanSteps
    parts: tuple[ScenarioRows, ...]
    run_id: str | None
    several: bool
    only: ArmSelection = field(default_factory=dict)
    partly: bool = False
    """True if a run may have asked some models about some items only."""

    # All columns are qualified with their table: a macro whose parameter has the name of an unqualified column, in any
    # view that it reads, cannot be created.
    @property
    def statements(self) -> list[str]:
        """The statements that create the tables which the queries read. They are tables because DuckDB knows their
        size; it overestimates views of files and joins a million scores in the wrong order.
        """
        step = "distinct step.scenario, step.fingerprint, step.binding, step.model, step.run_id"
        step += ", step.other" if self.partly else ""
        step += ", step.condition" if self.of.conditional else ""
        if self.run_id is not None:
            of_run = f"run_id = {sql.text(self.run_id)}"
            steps = f"select {step} from main.run_steps as step where step.{of_run}"
            runs = f"where listed.{of_run}"
        else:
            steps = (
                f"select {step} from main.run_steps as step semi join ({self.shown}) as shown on {_SHOWN} where true"
            )
            runs = f"""semi join (select distinct shown.run_id, shown.scenario from ({self.shown}) as shown) as shown
              on shown.run_id = listed.run_id and shown.scenario = listed.scenario"""
        further = [f"listed.{name}" for name in self._further]
        listed, slots = (
            f"select listed.run_id, listed.scenario, listed.{name} as item_id{more} from main.{table} as listed {runs}"
            for table, name, more in (
                ("run_items", "item_id", f", {', '.join(further)}" if further else ""),
                ("run_slots", "made_id", ""),
            )
        )
        if self.only:
            listed = f"{listed} {'and' if self.run_id is not None else 'where'} not exists ({self._other_values})"
        return [
            f"create or replace table {self._name('steps')} as {steps} and {self.of.planned}",
            f"create or replace table {self._name('steps once')} as {self._once}",
            f"create or replace table {self._name('listed')} as {listed}",
            f"create or replace table {self._name('slots')} as {slots}",
            *([f"create or replace table {self._name('asked')} as {self._asked_steps}"] if self.partly else []),
            *([f"create or replace table {self._name('clusters')} as {self._clusters}"] if self.of.clustered else []),
        ]

    @property
    def _further(self) -> list[str]:
        """The further columns of listed items that are needed."""
        return [*(["models"] if self.partly else []), *(["cluster"] if self.of.clustered else [])]

    @property
    def _clusters(self) -> str:
        """The query of the cluster of each item that shares one, as listed by the last run with the item."""
        return f"""select listed.scenario, listed.item_id, arg_max(listed.cluster, listed.run_id) as cluster_id
          from {self._name("listed")} as listed where listed.cluster is not null
          group by listed.scenario, listed.item_id"""

    def with_clusters(self, rows: str) -> str:
        """Return the query of rows of items with their `cluster_id`: the cluster of the item, or the item itself."""
        if not self.of.clustered:
            return f"select own.*, own.item_id as cluster_id from ({rows}) as own"
        return f"""select own.*, coalesce(cluster.cluster_id, own.item_id) as cluster_id from ({rows}) as own
          left join {self._name("clusters")} as cluster
            on cluster.scenario = own.scenario and cluster.item_id = own.item_id"""

    @property
    def _once(self) -> str:
        """The query of the steps of a run, each once for all models. It fills a table, since for a subquery DuckDB
        would estimate the join at a quarter of its rows and keep ten million samples in memory.
        """
        conditions = ", list(step.condition) as conditions, count(*) > count(step.condition) as always"
        return f"""select step.scenario, step.fingerprint, step.binding, step.run_id
          {conditions if self.of.conditional else ""} from {self._name("steps")} as step group by all"""

    @property
    def _asked_steps(self) -> str:
        """The query of the steps of every item, without those of models that were settled before the item."""
        asked = " and ".join(
            f"(listed.models is null or step.{side} is null or list_contains(listed.models, step.{side}))"
            for side in ("model", "other")
        )
        return f"""select distinct listed.run_id, listed.scenario, listed.item_id,
          step.fingerprint, step.binding, step.model
          from {self._name("listed")} as listed join {self._name("steps")} as step
            on step.run_id = listed.run_id and step.scenario = listed.scenario and {asked}"""

    def _is_listed(self, items: str, key: str) -> str:
        """Return a semi join of the aliases `row` and `step` with the listed items, or slots, of the run. `key` is the
        column of `row` that identifies a slot."""
        on = _LISTED.format(key if items == "slots" else "item_id")
        if not self.partly or items == "slots":
            return f"semi join {self._name(items)} as listed on {on}"
        same = "listed.fingerprint = row.fingerprint and listed.binding = row.binding"
        return f"semi join {self._name('asked')} as listed on {on} and {same}"

    @property
    def _other_values(self) -> str:
        """The query that has a row if the item `listed` has other axis values than `only`."""
        axis_values = {axis: f"item.context[{sql.text(axis)}]" for axis in self.only}
        if LANGUAGE in axis_values:
            axis_values[LANGUAGE] = f"coalesce({axis_values[LANGUAGE]}, item.language)"
        differs = " or ".join(f"{axis_values[axis]} not in {sql.texts(values)}" for axis, values in self.only.items())
        return f"""select 1 from main.items as item where {self.of.in_benchmark("item")}
          and item.scenario = listed.scenario and item.item_id = listed.item_id and ({differs})"""

    def rows(self, table: str, key: str, items: str = "listed") -> str:
        """Return the query of the rows of a table, each once, with `shown_run`. `key` is its id column, and `items` is
        how its rows are listed: `listed` by item, `slots` by their own id, `samples` in either way.
        """
        both = ["listed", "slots"] if self.of.generated else ["listed"]
        source = f"from main.{table} as kept where {self.of.in_benchmark('kept')}"
        condition = ""
        if self.of.conditional and table in REQUEST_TABLES:
            source = f"""select kept.*, asked.conditions from main.{table} as kept left join (
              select met.result_id, list(distinct met.condition) as conditions from main.conditions as met
              group by met.result_id) as asked on asked.result_id = kept.{REQUEST_TABLES[table]}
            where {self.of.in_benchmark("kept")}"""
            condition = "and (step.always or list_has_any(row.conditions, step.conditions))"
        rows = " union all ".join(
            f"""select row.*, step.run_id as shown_run
          from ({source}) as row
          join {self._name("steps once")} as step
            on {_SAME} {condition}
          {self._is_listed(listing, key)}"""
            for listing in (both if items == "samples" else [items])
        )
        if not self.several:
            return rows
        # The last run is found by id first, without the wide columns.
        return f"""select row.*, named.shown_run from ({source}) as row
          join (select found.{key}, max(found.shown_run) as shown_run from ({rows}) as found
            group by found.{key}) as named on named.{key} = row.{key}"""

    def scores(self) -> str:
        """Return the query of the scores, each for every compared model that it is about.

        A score without a compared model, such as that of a student who was taught nothing, is the reference for all of
        them. A score of list elements has a row for each element, with its position and value, and with the judge if
        the judges of a panel score separately. An empty list has one row, with a status that says so.
        """
        if not self.of.elements:
            nothing = "NULL::varchar as element_place, NULL::varchar as element_value"
            return f"select found.*, {nothing} from ({self._kept_scores}) as found"
        # A row for each score and compared model, and for scores of list elements one for each element.
        return f"""select found.* exclude (listed, outcome) replace (
          case when outcome is null then found.value else (outcome ->> '$.value')::double end as value,
          case when outcome is null then found.given else outcome ->> '$.given' end as given,
          case when outcome is null then found.status else outcome ->> '$.status' end as status,
          case when outcome is null then found.error else outcome ->> '$.error' end as error,
          coalesce(listed ->> '$.evaluator', found.evaluator) as evaluator,
          concat_ws('.', found.score_id, listed ->> '$.evaluator', listed ->> '$.place') as score_id),
          listed ->> '$.place' as element_place, (listed -> '$.element')::varchar as element_value
          from (select kept.*,
              unnest(case when kept.elements is null then [NULL] else kept.elements::json::json[] end) as listed,
              unnest(case when kept.elements is null then [NULL] else kept.given::json::json[] end) as outcome
            from ({self._kept_scores}) as kept) as found"""

    @property
    def _kept_scores(self) -> str:
        """The query of rows of the score table."""
        return self._of_models("main.scores", self._name("steps"))

    def sums(self) -> str:
        """Return the query of score sums by item. No score may be of list elements."""
        steps = f"""(select step.scenario, step.fingerprint, step.binding, step.model, step.run_id
            from {self._name("steps")} as step
            union all select * exclude (found, size) from ({self._sets}) as sets where sets.found = sets.size)"""
        return self._of_models(ALL_SUMS, steps)

    @property
    def partial_sets(self) -> str:
        """The query that has a row if some bindings of a set are shown and others not: then sums must not be used."""
        return f"select 1 from ({self._sets}) as sets where sets.found <> sets.size limit 1"

    @property
    def _sets(self) -> str:
        """The query of binding sets of sums, for every model and run with some of their bindings: the number of
        bindings that are `found`, and the `size` of the set."""
        return f"""select step.scenario, step.fingerprint, own.name as binding, step.model, step.run_id,
            count(*) as found, any_value(own.size) as size
          from {self._name("steps")} as step join {SUM_SETS} as own
            on own.scenario = step.scenario and own.fingerprint = step.fingerprint and own.binding = step.binding
          group by all"""

    def _of_models(self, table: str, steps: str) -> str:
        """Return the query of the rows of a score table, for every compared model that they are about."""
        return f"""select row.* replace (step.model as model), step.run_id as shown_run
          from (from {table} as kept where {self.of.in_benchmark("kept")}) as row
          join {steps} as step on {_SAME} and step.model is not null
          {self._is_listed("listed", "item_id")}{" and listed.model = step.model" if self.partly else ""}"""

    def items(self) -> str:
        """Return the query of the listed items, with `shown_run`."""
        return f"""select listed.scenario, listed.item_id, max(listed.run_id) as shown_run
          from {self._name("listed")} as listed group by listed.scenario, listed.item_id"""

    @property
    def moments(self) -> str:
        """The name of the table of sums from which means are computed."""
        return self._name("moments")

    def _name(self, view: str) -> str:
        return _name(view, self.of.benchmark)

    @property
    def shown(self) -> str:
        """The query of `parts`."""
        columns = "scenario, model, other, run_id"
        if not self.parts:
            nothing = ", ".join(["NULL::varchar"] * 4)
            return f"select * from (values ({nothing})) as part ({columns}) where false"
        rows = ", ".join(f"({', '.join(map(sql.optional_text, part))})" for part in self.parts)
        return f"select * from (values {rows}) as part ({columns})"


REQUEST_TABLES = {"samples": "sample_id", "judgements": "judgement_id", "turns": "conversation_id"}
"""The tables of requests, with the column that `conditions` refers to."""
_SAME = "step.binding = row.binding and step.fingerprint = row.fingerprint and step.scenario = row.scenario"
_SHOWN = (
    "shown.run_id = step.run_id and shown.scenario = step.scenario"
    " and shown.model is not distinct from step.model and shown.other is not distinct from step.other"
)
_LISTED = "listed.run_id = step.run_id and listed.scenario = row.scenario and listed.item_id = row.{}"


def element_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the views show for a row of the score table: one for each list element if it has elements,
    otherwise the row itself.

    >>> given = '[{"value": 1.0, "status": "scored"}, {"value": null, "status": "refused", "error": "declined"}]'
    >>> kept = {"score_id": "ab", "given": given, "elements": '[{"place": "0", "element": "x"}, {"place": "2"}]'}
    >>> [(row["score_id"], row["value"], row["status"]) for row in element_rows(kept)]
    [('ab.0', 1.0, 'scored'), ('ab.2', None, 'refused')]
    """
    if row.get("elements") is None:
        return [{**row, "element_place": None, "element_value": None}]
    pairs = zip(orjson.loads(row["elements"]), orjson.loads(row["given"]), strict=True)
    return [
        {
            **row,
            "score_id": ".".join(
                [row["score_id"], *(listed[name] for name in ("evaluator", "place") if name in listed)]
            ),
            "evaluator": listed.get("evaluator", row.get("evaluator")),
            **{name: outcome.get(name) for name in ("value", "given", "status", "error")},
            "element_place": listed.get("place"),
            "element_value": orjson.dumps(listed.get("element")).decode(),
        }
        for listed, outcome in pairs
    ]


def step_counts(connection: Connection, benchmark: str, scenario: str | None) -> dict[str, int]:
    """Return the number of steps with rows about each compared model, in one scenario or in all."""
    in_scenario = "" if scenario is None else f"and scenario = {sql.text(scenario)}"
    query = f"""select model, count(distinct (scenario, fingerprint)) from {_name("steps", benchmark)}
      where model is not null {in_scenario} group by model"""
    return dict(connection.execute(query).fetchall())


def rows_of_run(run_id: str, of: PlanSteps, only: ArmSelection, *, partly: bool = False) -> RunRows:
    """Return the rows of one run whose axes have the values in `only`."""
    return RunRows(of, (), run_id, several=False, only=only, partly=partly)


def latest_rows(connection: Connection, of: PlanSteps, *, partly: bool = False) -> RunRows:
    """Return the rows of the latest state of a benchmark."""
    steps = f"""select step.scenario, step.fingerprint, step.binding, step.model, step.other, step.run_id, run.status,
        run.started_at
      from main.run_steps as step join main.runs as run on run.run_id = step.run_id
      where {of.in_benchmark("run")} and {of.planned}"""
    chosen = f"""select scenario, model, other, run_id from (
        select distinct scenario, model, other, run_id, status, started_at from ({steps}))
      qualify row_number() over (partition by scenario, model, other order by {LATEST}) = 1"""
    parts = tuple(ScenarioRows(*row) for row in connection.execute(f"from ({chosen}) order by all").fetchall())
    rows = RunRows(of, parts, None, several=False, partly=partly)
    if len({part.run_id for part in parts}) < 2:
        return rows
    repeated = f"""select count(*) > 0 from (
      select 1 from ({steps}) as step semi join ({rows.shown}) as shown on {_SHOWN}
      group by step.scenario, step.fingerprint, step.binding having count(distinct step.run_id) > 1)"""
    [(several,)] = connection.execute(repeated).fetchall()
    return replace(rows, several=several)


def sums_name(benchmark: str, placed: bool) -> str:
    """Return the name of the table of sums of a benchmark; with `placed`, of the one with axes."""
    return _name("placed sums" if placed else "sums", benchmark)


def analysis_name(benchmark: str, part: str = "") -> str:
    """Return the name of the view of item analysis from sums, or of a table `part` for it."""
    return _name(f"{part}item analysis", benchmark)


def _name(table: str, benchmark: str) -> str:
    return f"{sql.name(INTERNAL)}.{sql.name(f'{table} of {benchmark}')}"
