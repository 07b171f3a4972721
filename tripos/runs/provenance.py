"""The provenance of a result: the replies and judgements it was made from, and what was made from it.

The store does not list the inputs of a result. Its id is a hash of their ids, so the inputs are found by trying the
candidates for the same item until the hash matches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from tripos.runs.records import reply_settings
from tripos.terminal import escape_controls
from tripos_compiler.language.rendering import print_rubric
from tripos_compiler.plan import Ask, Converse, Each, Grade, Metric, Plan, Score, Verdict
from tripos_runtime.asking.ledger import conversation_id, judgement_id, sample_id, score_id
from tripos_runtime.program.binding import generators_of_inputs
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection, duckdb
from tripos_warehouse.views.benchmark_views import read_plan
from tripos_warehouse.views.given_ids import given_ids
from tripos_warehouse.views.run_rows import element_rows

TABLES = {
    "samples": "sample_id",
    "judgements": "judgement_id",
    "scores": "score_id",
    "comparisons": "comparison_id",
}
SHORTEST = 6
"""The minimum number of characters of an id to search for."""
MOST_NAMED = 4
MOST_COMBINATIONS = 20_000
"""The maximum number of combinations of earlier replies to try."""

Row = Mapping[str, Any]
Step = Ask | Converse | Grade | Score | Verdict


@dataclass(frozen=True)
class TracedReply:
    """A reply to a prompt, or of a judge: its row, its inputs and its uses.

    `builds_on` are the replies in its prompt, in the order of the steps. `settings` are the request settings, or `None`
    if the plan of its run cannot be read.
    """

    table: str
    row: Row
    messages: tuple[Row, ...]
    settings: Row | None
    draft: Row | None
    builds_on: tuple[TracedReply, ...]
    judgements: tuple[Row, ...] = ()
    scores: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Trace:
    """The provenance of one result. `table` and `key` identify it.

    For a score, `reply` is the judgement or the sample that it was computed from, or `None` without either; `rubric` is
    the text about its metric that the judge was sent.
    """

    table: str
    key: str
    item: Row | None
    reply: TracedReply | None
    score: Row | None = None
    metric: Metric | None = None
    plan: Plan | None = None
    """The plan with the metric."""
    rubric: str | None = None
    sample: TracedReply | None = None
    """The judged reply, if the result is a judgement or its score."""
    other_replies: tuple[TracedReply, ...] = ()
    """Further replies that a score was computed from; for a comparison, the reply shown second."""
    comparison: Row | None = None
    given_id: str | None = None
    """The id of the item in its file, if it has one."""


def find_trace(connection: Connection, text: str) -> Trace:
    """Return the provenance of the result with the id `text`, or with the only id that begins with it.

    Raises `StoreError` S0302 if there is none, S0303 if there are several.
    """
    name, _, place = text.strip().partition(".")
    table, key = _key_of(connection, name)
    finder = Finder(connection)
    trace = finder.trace(table, key, place or None)
    return replace(trace, given_id=finder.given_id(trace.item))


def _key_of(connection: Connection, text: str) -> tuple[str, str]:
    def find(prefix: str) -> Iterator[tuple[str, str]]:
        for table, column in TABLES.items():
            found = f"select {column} from main.{table} where starts_with({column}, ?)"
            for (key,) in connection.execute(f"{found} order by 1 limit {MOST_NAMED + 1}", [prefix]).fetchall():
                yield table, key

    hint = "ids stand in the columns sample_id, judgement_id, score_id and comparison_id of the tables: `tripos sql`"
    message = f"no sample, judgement, score or comparison `{escape_controls(text)}` in the store"
    return key_by_prefix(text, find, StoreError("S0302", message, hint))


def key_by_prefix(text: str, find: Callable[[str], Iterable[tuple[str, str]]], unknown: StoreError) -> tuple[str, str]:
    """Return the table and the id that `text` is, or that alone begins with it. `find` returns those that begin with a
    text, at least two if there are several; the name of the table may be empty.

    Raises `unknown` if there is none, `StoreError` S0302 for a text that is too short, and S0303 if there are several.
    """
    prefix = text.strip().casefold()
    if len(prefix) < SHORTEST:
        hint = f"write {SHORTEST} characters of the id or more"
        raise StoreError("S0302", f"`{escape_controls(text)}` is too short to look for", hint)
    matches = list(find(prefix))
    exact = [match for match in matches if match[1] == prefix]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if not matches:
        raise unknown
    some = ", ".join(f"`{key}` of {table}" if table else f"`{key}`" for table, key in matches[:MOST_NAMED])
    more = ", …" if len(matches) > MOST_NAMED else ""
    raise StoreError("S0303", f"`{escape_controls(text)}` could be several: {some}{more}", "write more of the id")


def _belongs_to_element(row: Row, score: Row, plan: Plan | None, scored: Step | None) -> bool:
    """Return true if a reply belongs to the score of an element: if it is not a verdict on another element, or by
    another judge."""
    place = score["element_place"]
    if score["evaluator"] not in (None, row.get("evaluator")) and row.get("evaluator") is not None:
        return False
    expr = scored.value.loop.of if isinstance(scored, Score) and isinstance(scored.value, Each) else None
    if plan is None or expr is None or row.get("element_place") is None:
        return True
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    judged = (step for step in steps if isinstance(step, Verdict) and step.judgement == row["fingerprint"])
    loops = next((step.loops for step in judged if step.loops), ())
    if not loops or loops[0].of != expr:
        return True
    return str(row["element_place"]) == place or str(row["element_place"]).startswith(f"{place}.")


class Finder:
    """Queries for rows and their inputs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.plans: dict[str, Plan | None] = {}

    def trace(self, table: str, key: str, place: str | None = None) -> Trace:
        """Return the provenance of a result. For a score with elements, `place` restricts it to one element."""
        [row] = self.rows(table, TABLES[table], [key])
        if place is not None:
            named = element_rows(row) if table == "scores" else []
            found = [each for each in named if each["score_id"] == f"{key}.{place}"]
            if not found:
                raise StoreError("S0302", f"`{key}` of {table} has no element `{place}`", "leave the place out")
            row = {**found[0], "elements": None}
        if table == "samples":
            return Trace(table, key, self.item(row), self.sample(row, upon=True))
        if table == "comparisons":
            return self.compared(row)
        if table == "judgements":
            sample = self.sample_of(row["sample_id"])
            item = self.item(row if sample is None else sample.row)  # there may be no reply
            return Trace(table, key, item, self.judgement(row, upon=True), sample=sample)
        sample = self.sample_of(row["sample_id"])
        judgements = self.rows("judgements", "judgement_id", [row["judgement_id"]]) if row["judgement_id"] else []
        plan = self.plan(row["run_id"])
        metric = next((each for each in plan.metrics if each.name == row["metric"]), None) if plan is not None else None
        item = self.item(row)
        language = str(item["language"]) if item is not None else ""
        text = print_rubric([metric], language) if metric is not None and language in metric.asks else None
        if judgements:
            return Trace(table, key, item, self.judgement(judgements[0]), row, metric, plan, text, sample)
        scored = self.step(row["run_id"], row["fingerprint"])
        stamp, of = row["fingerprint"], scored.of if isinstance(scored, Score) else ""
        replies = self.before(key, row, row, scored, lambda ids: score_id(stamp, ids, row["metric"], None), of)
        replies = replies or self.verdicts(row, scored)
        if place is not None:
            replies = tuple(
                other for other in replies if _belongs_to_element(other.row, row, self.plan(row["run_id"]), scored)
            )
        return Trace(table, row["score_id"], item, sample, row, metric, plan, other_replies=replies)

    def compared(self, row: Row) -> Trace:
        """Return the provenance of a comparison: both replies, and the judgement if there was one."""
        sides = [self.sample_of(row[f"{side}_sample_id"]) for side in ("first", "second")]
        judgements = self.rows("judgements", "judgement_id", [row["judgement_id"]]) if row["judgement_id"] else []
        reply = self.judgement(judgements[0]) if judgements else None
        replies = tuple(side for side in sides[1:] if side is not None)
        item = self.item(row)
        return Trace(
            "comparisons", row["comparison_id"], item, reply, sample=sides[0], other_replies=replies, comparison=row
        )

    def sample_of(self, key: str) -> TracedReply | None:
        """Return a reply with its inputs by its id, or `None` if there is none."""
        rows = self.rows("samples", "sample_id", [key])
        return self.sample(rows[0]) if rows else None

    def sample(self, row: Row, upon: bool = False) -> TracedReply:
        """Return a reply with its inputs; with `upon`, also with the judgements and scores of it."""
        step = self.step(row["run_id"], row["fingerprint"])
        stamp, by, number = row["fingerprint"], row["identity"] or row["model"], row["sample_number"]
        ask = step if isinstance(step, Ask) else None
        settings = reply_settings(self.plan(row["run_id"]), row, ask, None if ask is None else ask.settings, number)
        key = row["sample_id"]
        if isinstance(step, Converse):
            return self.conversation(row, step, upon)
        before = self.before(key, row, row, step, lambda ids: sample_id(stamp, row["item_id"], by, number, ids))
        judgements = self.rows("judgements", "sample_id", [key]) if upon else []
        scores = self.rows("scores", "sample_id", [key]) if upon else []
        return TracedReply(
            "samples",
            row,
            _messages(row),
            settings,
            self.draft(key if row["reused_from"] else row["adopted_from"] or key),
            before,
            tuple(judgements),
            tuple(scores),
        )

    def conversation(self, row: Row, step: Converse, upon: bool) -> TracedReply:
        """Return a conversation with the instructions to both sides and all turns."""
        stamp, number, key = row["fingerprint"], row["sample_number"], row["sample_id"]
        by = self.identities(row["run_id"])
        models = {role: by.get(name, name) for role, name in orjson.loads(row["parsed"])["models"].items()}
        before = self.before(
            key, row, row, step, lambda ids: conversation_id(stamp, row["item_id"], models, number, ids)
        )
        given = [(speaker.role, speaker.settings.given) for speaker in step.speakers]
        settings = {f"{name} of {role}": value for role, some in given for name, value in some.items()}
        judgements = self.rows("judgements", "sample_id", [key]) if upon else []
        scores = self.rows("scores", "sample_id", [key]) if upon else []
        told = tuple({**message, "role": f"{message['role']} ({message['name']})"} for message in _messages(row))
        return TracedReply("samples", row, told, settings, None, before, tuple(judgements), tuple(scores))

    def judgement(self, row: Row, upon: bool = False) -> TracedReply:
        """Return a judgement with its inputs; with `upon`, also with the scores that were computed from it."""
        plan = self.plan(row["run_id"])
        scorer = None if plan is None else next((each for each in plan.scorers if each.name == row["scorer"]), None)
        step = self.step(row["run_id"], row["fingerprint"])
        judged = step if isinstance(step, Grade | Verdict) else None
        declared = None if scorer is None else scorer.settings
        settings = reply_settings(plan, row, judged, declared, row["repeat"] or 0)
        samples = self.rows("samples", "sample_id", [row["sample_id"]])
        stamp, of = row["fingerprint"], step.of if isinstance(step, Grade) else ""
        by = row["identity"] or row["evaluator"]
        key = row["judgement_id"]
        before: tuple[TracedReply, ...] = ()
        if samples:
            number, element = row["repeat"] or 0, row["element_place"]
            before = self.before(
                key, row, samples[0], step, lambda ids: judgement_id(stamp, ids, by, number, element), of
            )
        scores = self.rows("scores", "judgement_id", [key]) if upon else []
        return TracedReply(
            "judgements",
            row,
            _messages(row),
            settings,
            self.draft(key if row["reused_from"] else row["adopted_from"] or key),
            before,
            (),
            tuple(scores),
        )

    def before(
        self, key: str, row: Row, item: Row, step: Step | None, name: Callable[[list[str]], str], of: str = ""
    ) -> tuple[TracedReply, ...]:
        """Return the replies that a step was built on, except the one of the step `of`.

        The candidates are the replies to the same item. The right combination is the one whose ids hash to `key`. Empty
        if none is found within `MOST_COMBINATIONS`.
        """
        plan = self.plan(row["run_id"])
        if plan is None or step is None or not step.needs:
            return ()
        asks = _sibling_steps(plan, step)
        others = self.made_by(row["run_id"], step)
        # Try the results of one compared model first: with many steps, each by several models, all combinations
        # together would be too many.
        compared = next(role.name for role in plan.roles if role.kind == "compared")
        own = item["model"] if item.get("role", compared) == compared else None
        for model in dict.fromkeys([own, None]):
            only = [
                model if isinstance(a := asks.get(need), Ask) and a.role == compared else None for need in step.needs
            ]
            candidates = [
                self.candidates(item, asks[need], by) if need in asks else []
                for need, by in zip(step.needs, only, strict=True)
            ]
            for combination in itertools.islice(itertools.product(*candidates), MOST_COMBINATIONS):
                if name([*combination, *others]) == key:
                    chosen = dict(zip(step.needs, combination, strict=True))
                    inner = {need for other in step.needs for need in asks[other].needs}
                    direct = [need for need in step.needs if need not in inner and need != of]
                    return tuple(
                        reply for need in direct if (reply := self.result(asks[need], chosen[need])) is not None
                    )
        return ()

    def verdicts(self, row: Row, step: Step | None) -> tuple[TracedReply, ...]:
        """Return the judgements inside the expression of a score, and the replies that build on its own reply, if ids
        do not determine them: for elements of a list, panels and repeats."""
        plan = self.plan(row["run_id"])
        if plan is None or step is None or not row["judged_by"]:
            return ()
        asks = _sibling_steps(plan, step)
        stamps = [each.judgement for need in step.needs if isinstance(each := asks.get(need), Verdict)]
        steps = [asks[need] for need in step.needs if isinstance(asks.get(need), Ask)]
        replies = [self.result(ask, name) for ask in steps for name in self.candidates(row, ask)]
        later = [
            reply for reply in replies if reply and row["sample_id"] in [on.row["sample_id"] for on in reply.builds_on]
        ]
        found = self.query(
            "select * from main.judgements where sample_id in (select unnest(?)) and fingerprint in (select unnest(?))"
            " and evaluator in (select unnest(?)) order by fingerprint, element_place, repeat, evaluator",
            [[row["sample_id"], *(reply.row["sample_id"] for reply in later)], stamps, list(row["judged_by"])],
        )
        return (*later, *map(self.judgement, found))

    def made_by(self, run_id: str, step: Step) -> tuple[str, ...]:
        """Return the models that generated the data sets used by a step. They are part of the ids of its results."""
        plan = self.plan(run_id)
        found = self.query("select roles from main.runs where run_id = ?", [run_id])
        if plan is None or not found:
            return ()
        by = self.identities(run_id)
        roles = {
            role: [by.get(name, name) for name in names] for role, names in orjson.loads(found[0]["roles"]).items()
        }
        return generators_of_inputs(plan, step, roles)

    def identities(self, run_id: str) -> dict[str, str]:
        """Return the identity behind each model name of a run, if the name alone does not determine it."""
        found = self.query("select identities from main.runs where run_id = ?", [run_id])
        return dict(orjson.loads(found[0]["identities"] or "{}")) if found else {}

    def candidates(self, item: Row, step: Ask | Converse | Verdict, model: str | None = None) -> list[str]:
        """Return the ids of all results of a step for an item; with `model`, only those of this model."""
        table, name, stamp = "samples", "sample_id", step.fingerprint
        if isinstance(step, Verdict):
            table, name, stamp = "judgements", "judgement_id", step.judgement
        by = "" if model is None else f" and model = {sql.text(model)}"
        found = self.query(
            f"select {name} as name from main.{table}"
            f" where scenario = ? and item_id = ? and fingerprint = ?{by} order by 1",
            [item["scenario"], item["item_id"], stamp],
        )
        return [each["name"] for each in found]

    def result(self, step: Ask | Converse | Verdict, key: str) -> TracedReply | None:
        """Return a result of a step by its id."""
        if isinstance(step, Verdict):
            rows = self.rows("judgements", "judgement_id", [key])
            return self.judgement(rows[0]) if rows else None
        rows = self.rows("samples", "sample_id", [key])
        return self.sample(rows[0]) if rows else None

    def draft(self, key: str) -> Row | None:
        """Return the first reply of a request that was asked again, if there is one."""
        rows = self.rows("drafts", "unit_id", [key])
        return rows[0] if rows else None

    def item(self, row: Row) -> Row | None:
        """Return the item of a result."""
        rows = self.query(
            "select * from main.items where benchmark = ? and scenario = ? and item_id = ?",
            [row["benchmark"], row["scenario"], row["item_id"]],
        )
        return rows[0] if rows else None

    def given_id(self, item: Row | None) -> str | None:
        """Return the id that an item has in its file, as the reports of its benchmark show it; None without one."""
        if item is None:
            return None
        try:
            return given_ids(self.connection, sql.name(item["benchmark"])).get(item["item_id"])
        except duckdb.CatalogException:  # the plan of the benchmark cannot be read, which was already reported
            return None

    def plan(self, run_id: str) -> Plan | None:
        """Return the plan of a run; `None` if this version cannot read it."""
        if run_id not in self.plans:
            found = self.query("select plan, benchmark from main.runs where run_id = ?", [run_id])
            try:
                self.plans[run_id] = read_plan(found[0]["plan"], run_id, found[0]["benchmark"]) if found else None
            except StoreError:
                self.plans[run_id] = None
        return self.plans[run_id]

    def step(self, run_id: str, fingerprint: str) -> Step | None:
        """Return the step with that fingerprint. A grade has two fingerprints, and either matches."""
        plan = self.plan(run_id)
        steps = [] if plan is None else [step for scenario in plan.scenarios for step in scenario.steps]
        for step in steps:
            if isinstance(step, Ask | Converse | Score | Grade) and step.fingerprint == fingerprint:
                return step
            if isinstance(step, Grade | Verdict) and step.judgement == fingerprint:
                return step
        asks = (ask for dataset in (plan.made if plan is not None else ()) for ask in dataset.asks)
        return next((ask for ask in asks if ask.fingerprint == fingerprint), None)

    def rows(self, table: str, column: str, keys: Sequence[str]) -> list[Row]:
        """Return the rows of a table with one of these keys in a column."""
        query = f"select * from main.{table} where {sql.name(column)} in (select unnest(?)) order by all"
        return self.query(query, [list(keys)])

    def query(self, query: str, values: list[Any]) -> list[Row]:
        """Return the rows of a query, by column."""
        cursor = self.connection.execute(query, values)
        names = [each[0] for each in cursor.description]
        return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def _sibling_steps(plan: Plan, step: Step) -> dict[str, Ask | Converse | Verdict]:
    """Return the asks, conversations and verdicts of the first treatment that contains a step, by name."""
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            if any(each.fingerprint == step.fingerprint for each in treatment.steps):
                return {each.name: each for each in treatment.steps if isinstance(each, Ask | Converse | Verdict)}
    return {}


def _messages(row: Row) -> tuple[Row, ...]:
    try:
        sent = orjson.loads(row["messages"])
    except orjson.JSONDecodeError:
        return ({"role": "?", "content": row["messages"]},)
    return tuple(sent)
