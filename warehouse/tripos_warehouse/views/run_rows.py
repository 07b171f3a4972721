"""The rows of a run: the one definition that views, reports, leaderboards, comparisons and exports go through.

A run lists its items (`run_items`) and what it yields of each (`run_steps`: fingerprints and bindings, which say who
filled the roles that a row depends on). Its rows are those of its items whose fingerprint and binding are its own,
whichever run made them; nothing else that a store has can be among them. Of a step that is asked
under a condition they are those that some run asked for under the same one (`conditions`), for the condition is in no
name. What a plan does not ask for any more is left out, so that a plan may show a run that an earlier one made.

Without a run, a benchmark shows its latest state: the plan is that of the last run that did not have to stop. For each
scenario and compared model (of comparisons: each two models) the rows are those of the last run that had any of that
plan for them, and `shown_run` says which it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

import orjson

from tripos_compiler.language.contexts import Only
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.dimensions import LANGUAGE

INTERNAL = "tripos internal"
"""The schema of our own bookkeeping. Its name has a space, so no benchmark can be called that."""
ALL_SUMS = f"{sql.name(INTERNAL)}.{sql.name('all sums')}"
"""The table of sums of all scores, where there is one (`score_sums.py`)."""
SUM_SETS = f"{sql.name(INTERNAL)}.{sql.name('sets of sums')}"
"""The sets of bindings that those sums are of: a row for each binding."""
STOPPED = ("stopped", "failed")
"""How a run ends that had to stop."""
LATEST = f"status in ({', '.join(map(sql.text, STOPPED))}), started_at desc, run_id desc"
"""The order of runs in which the first decides."""


class ScenarioRows(NamedTuple):
    """A run's rows of a scenario: those about a compared model, about two of them, or about none."""

    scenario: str
    model: str | None
    other: str | None
    run_id: str


@dataclass(frozen=True)
class AskedSteps:
    """The steps of a plan of a benchmark. `shared`: runs of other benchmarks have steps of it, since one extends the
    other, so their results are its own. `made`: models make data sets of it. `elements`: it scores each element of some
    list. `conditional`: some steps are asked under a condition. `clustered`: rows may be drawn together with others."""

    benchmark: str
    fingerprints: frozenset[str]
    shared: bool
    made: bool
    elements: bool = False
    conditional: bool = False
    clustered: bool = False

    def mine(self, row: str) -> str:
        """Return the condition that rows known as `row` are of the benchmark."""
        return "true" if self.shared else f"{row}.benchmark = {sql.text(self.benchmark)}"

    @property
    def planned(self) -> str:
        """The condition that a step is in the plan. It stands where steps are read and nowhere else: DuckDB would take
        what it leaves of a million scores for few, and join them the wrong way round, which takes twenty times as
        long."""
        return f"step.fingerprint in ({', '.join(map(sql.text, sorted(self.fingerprints))) or 'NULL'})"


@dataclass(frozen=True)
class RunRows:
    """The rows of one run, or the latest state of a benchmark, as SQL. With `several` one row may belong to more than
    one run that is shown. Items that say of an axis another value than `only` has are left out."""

    of: AskedSteps
    parts: tuple[ScenarioRows, ...]
    run_id: str | None
    several: bool
    only: Only = field(default_factory=dict)
    partly: bool = False
    """True if runs of the store may have asked some of their models about some of their items only."""

    # Columns are named with their table also where they need not be: a macro whose parameter is called like a column
    # that stands alone, in whatever view it reads, cannot be made.
    @property
    def statements(self) -> list[str]:
        """The statements that make what the queries read: tables, since DuckDB knows how large these are. It takes
        views of files for larger than a million scores, and joins them the wrong way round."""
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
            listed = f"{listed} {'and' if self.run_id is not None else 'where'} not exists ({self._elsewhere})"
        return [
            f"create or replace table {self._name('steps')} as {steps} and {self.of.planned}",
            f"create or replace table {self._name('steps once')} as {self._once}",
            f"create or replace table {self._name('listed')} as {listed}",
            f"create or replace table {self._name('slots')} as {slots}",
            *([f"create or replace table {self._name('asked')} as {self._asked}"] if self.partly else []),
            *([f"create or replace table {self._name('clusters')} as {self._clusters}"] if self.of.clustered else []),
        ]

    @property
    def _further(self) -> list[str]:
        return [*(["models"] if self.partly else []), *(["cluster"] if self.of.clustered else [])]

    @property
    def _clusters(self) -> str:
        """A query for the cluster of each item that shares one with others: as the last run said that listed it."""
        return f"""select listed.scenario, listed.item_id, arg_max(listed.cluster, listed.run_id) as cluster_id
          from {self._name("listed")} as listed where listed.cluster is not null
          group by listed.scenario, listed.item_id"""

    def with_clusters(self, rows: str) -> str:
        """Return a query for rows of items, each with its `cluster_id`: the independent unit that it belongs to."""
        if not self.of.clustered:
            return f"select own.*, own.item_id as cluster_id from ({rows}) as own"
        return f"""select own.*, coalesce(cluster.cluster_id, own.item_id) as cluster_id from ({rows}) as own
          left join {self._name("clusters")} as cluster
            on cluster.scenario = own.scenario and cluster.item_id = own.item_id"""

    @property
    def _once(self) -> str:
        """A query for the steps of a run, each once for all models. Of a query in place of the table DuckDB takes a
        quarter of the rows that it joins with for all of them, and would hold ten million samples for a join."""
        conditions = ", list(step.condition) as conditions, count(*) > count(step.condition) as always"
        return f"""select step.scenario, step.fingerprint, step.binding, step.run_id
          {conditions if self.of.conditional else ""} from {self._name("steps")} as step group by all"""

    @property
    def _asked(self) -> str:
        """A query for what every item yields, without that of models that were settled before it."""
        asked = " and ".join(
            f"(listed.models is null or step.{side} is null or list_contains(listed.models, step.{side}))"
            for side in ("model", "other")
        )
        return f"""select distinct listed.run_id, listed.scenario, listed.item_id,
          step.fingerprint, step.binding, step.model
          from {self._name("listed")} as listed join {self._name("steps")} as step
            on step.run_id = listed.run_id and step.scenario = listed.scenario and {asked}"""

    def _is_listed(self, items: str, key: str) -> str:
        """Return a semi join with the items that the rows of `step` are of."""
        on = _LISTED.format(key if items == "slots" else "item_id")
        if not self.partly or items == "slots":
            return f"semi join {self._name(items)} as listed on {on}"
        same = "listed.fingerprint = row.fingerprint and listed.binding = row.binding"
        return f"semi join {self._name('asked')} as listed on {on} and {same}"

    @property
    def _elsewhere(self) -> str:
        """A query for the item known as `listed`, where it lies elsewhere than `only` says."""
        said = {axis: f"item.context[{sql.text(axis)}]" for axis in self.only}
        if LANGUAGE in said:
            said[LANGUAGE] = f"coalesce({said[LANGUAGE]}, item.language)"
        wrong = " or ".join(f"{said[axis]} not in {sql.texts(values)}" for axis, values in self.only.items())
        return f"""select 1 from main.items as item where {self.of.mine("item")}
          and item.scenario = listed.scenario and item.item_id = listed.item_id and ({wrong})"""

    def rows(self, table: str, key: str, items: str = "listed") -> str:
        """Return a query for the rows of a table, each once, with `shown_run`. `items` is which of the tables lists
        them: `listed` by item, `slots` by their own name, and `samples` either way."""
        both = ["listed", "slots"] if self.of.made else ["listed"]
        under = self.of.conditional and table in ASKED
        source = f"from main.{table} as kept where {self.of.mine('kept')}"
        holds = ""
        if under:
            source = f"""select kept.*, asked.conditions from main.{table} as kept left join (
              select met.result_id, list(distinct met.condition) as conditions from main.conditions as met
              group by met.result_id) as asked on asked.result_id = kept.{ASKED[table]} where {self.of.mine("kept")}"""
            holds = "and (step.always or list_has_any(row.conditions, step.conditions))"
        found = " union all ".join(
            f"""select row.*, step.run_id as shown_run
          from ({source}) as row
          join {self._name("steps once")} as step
            on {_SAME} {holds}
          {self._is_listed(each, key)}"""
            for each in (both if items == "samples" else [items])
        )
        if not self.several:
            return found
        # Of wide rows only the last run is looked for, by their names.
        return f"""select row.*, named.shown_run from ({source}) as row
          join (select found.{key}, max(found.shown_run) as shown_run from ({found}) as found
            group by found.{key}) as named on named.{key} = row.{key}"""

    def scores(self) -> str:
        """Return a query for the scores, each under every compared model that it tells about: what no compared model
        took part in, such as the score of a student who was taught nothing, is what each of them is measured
        against. What scores each element of a list has a row for each, with the place and the element, and with the
        judge where each of a panel says its own. An empty list has one that says so."""
        if not self.of.elements:
            nothing = "NULL::varchar as element_place, NULL::varchar as element_value"
            return f"select found.*, {nothing} from ({self._kept_scores}) as found"
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
        """A query for the rows of the table of scores."""
        return self._of_models("main.scores", self._name("steps"))

    def sums(self) -> str:
        """Return a query for the sums of the scores, of those of each item; no score is of the elements of a list."""
        steps = f"""(select step.scenario, step.fingerprint, step.binding, step.model, step.run_id
            from {self._name("steps")} as step
            union all select * exclude (found, size) from ({self._sets}) as whole where whole.found = whole.size)"""
        return self._of_models(ALL_SUMS, steps)

    @property
    def parted_sets(self) -> str:
        """A query that has a row where sums are of several bindings, and only some of these are shown: then no figure
        can be taken from sums."""
        return f"select 1 from ({self._sets}) as parted where parted.found <> parted.size limit 1"

    @property
    def _sets(self) -> str:
        """A query for the sets of bindings of sums, each under every model and run with some of them."""
        return f"""select step.scenario, step.fingerprint, own.name as binding, step.model, step.run_id,
            count(*) as found, any_value(own.size) as size
          from {self._name("steps")} as step join {SUM_SETS} as own
            on own.scenario = step.scenario and own.fingerprint = step.fingerprint and own.binding = step.binding
          group by all"""

    def _of_models(self, table: str, steps: str) -> str:
        """Return a query for what a table says of scores, under every compared model that it is about."""
        return f"""select row.* replace (step.model as model), step.run_id as shown_run
          from (from {table} as kept where {self.of.mine("kept")}) as row
          join {steps} as step on {_SAME} and step.model is not null
          {self._is_listed("listed", "item_id")}{" and listed.model = step.model" if self.partly else ""}"""

    def items(self) -> str:
        """Return a query for the items that are listed, with `shown_run`."""
        return f"""select listed.scenario, listed.item_id, max(listed.run_id) as shown_run
          from {self._name("listed")} as listed group by listed.scenario, listed.item_id"""

    @property
    def moments(self) -> str:
        """The name of the table of sums that means are taken from."""
        return self._name("moments")

    def _name(self, view: str) -> str:
        return _name(view, self.of.benchmark)

    @property
    def shown(self) -> str:
        """A query for the parts."""
        columns = "scenario, model, other, run_id"
        if not self.parts:
            nothing = ", ".join(["NULL::varchar"] * 4)
            return f"select * from (values ({nothing})) as part ({columns}) where false"
        rows = ", ".join(f"({', '.join(map(sql.optional_text, part))})" for part in self.parts)
        return f"select * from (values {rows}) as part ({columns})"


ASKED = {"samples": "sample_id", "judgements": "judgement_id", "turns": "conversation_id"}
"""The tables of what is asked for, each with the column by which `conditions` knows its rows."""
_SAME = "step.binding = row.binding and step.fingerprint = row.fingerprint and step.scenario = row.scenario"
_SHOWN = (
    "shown.run_id = step.run_id and shown.scenario = step.scenario"
    " and shown.model is not distinct from step.model and shown.other is not distinct from step.other"
)
_LISTED = "listed.run_id = step.run_id and listed.scenario = row.scenario and listed.item_id = row.{}"


def element_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the views show for a row of the table of scores: one for each element of a list, where it
    has elements, and else itself.

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
                [row["score_id"], *(listed[each] for each in ("evaluator", "place") if each in listed)]
            ),
            "evaluator": listed.get("evaluator", row.get("evaluator")),
            **{name: outcome.get(name) for name in ("value", "given", "status", "error")},
            "element_place": listed.get("place"),
            "element_value": orjson.dumps(listed.get("element")).decode(),
        }
        for listed, outcome in pairs
    ]


def step_counts(connection: Connection, benchmark: str, scenario: str | None) -> dict[str, int]:
    """Of how many steps there is something to show about each compared model; in one scenario, or in all."""
    there = "" if scenario is None else f"and scenario = {sql.text(scenario)}"
    query = f"""select model, count(distinct (scenario, fingerprint)) from {_name("steps", benchmark)}
      where model is not null {there} group by model"""
    return dict(connection.execute(query).fetchall())


def rows_of_run(run_id: str, of: AskedSteps, only: Only, *, partly: bool = False) -> RunRows:
    """Return the rows of one run, where axes have the values in `only`."""
    return RunRows(of, (), run_id, several=False, only=only, partly=partly)


def latest_rows(connection: Connection, of: AskedSteps, *, partly: bool = False) -> RunRows:
    """Return the latest state of a benchmark."""
    steps = f"""select step.scenario, step.fingerprint, step.binding, step.model, step.other, step.run_id, run.status,
        run.started_at
      from main.run_steps as step join main.runs as run on run.run_id = step.run_id
      where {of.mine("run")} and {of.planned}"""
    chosen = f"""select scenario, model, other, run_id from (
        select distinct scenario, model, other, run_id, status, started_at from ({steps}))
      qualify row_number() over (partition by scenario, model, other order by {LATEST}) = 1"""
    parts = tuple(ScenarioRows(*row) for row in connection.execute(f"from ({chosen}) order by all").fetchall())
    rows = RunRows(of, parts, None, several=False, partly=partly)
    twice = f"""select count(*) > 0 from (
      select 1 from ({steps}) as step semi join ({rows.shown}) as shown on {_SHOWN}
      group by step.scenario, step.fingerprint, step.binding having count(distinct step.run_id) > 1)"""
    [(several,)] = connection.execute(twice).fetchall()
    return replace(rows, several=several)


def sums_name(benchmark: str, placed: bool) -> str:
    """Return the name of the table of sums of a benchmark; `placed`: of the one with the axes."""
    return _name("placed sums" if placed else "sums", benchmark)


def analysis_name(benchmark: str, part: str = "") -> str:
    """Return the name of the view of item analysis from the sums of a benchmark, or of a table for it."""
    return _name(f"{part}item analysis", benchmark)


def _name(table: str, benchmark: str) -> str:
    return f"{sql.name(INTERNAL)}.{sql.name(f'{table} of {benchmark}')}"
