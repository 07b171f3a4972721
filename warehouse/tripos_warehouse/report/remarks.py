"""The remarks of a report: facts about its rows because of which a figure means less than it seems to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import orjson

from tripos_compiler.diagnostics.text_format import percent
from tripos_compiler.language.contexts import ArmSelection, left_out_arm_values
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import Aggregate, Ask, Converse, Ending, Grade, Plan, Score, Verdict, finish_reasons_of
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.expectations import is_baseline
from tripos_warehouse.measures.items import (
    FEWEST,
    LEAST_MODELS,
    item_remarks,
    near_duplicates,
    unbalanced_answer_positions,
)
from tripos_warehouse.measures.judges import repeated_verdicts
from tripos_warehouse.measures.measure_rows import (
    EXAGGERATED_DIFFERENCES,
    INTERRUPTED,
    STOPPED_EARLY,
    MeasureTable,
    UnreadScores,
)
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.validity import judge_stability
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.tables.values import decimals_of, estimate_text
from tripos_warehouse.views.benchmark_views import clusterings_of, lacks_clusters
from tripos_warehouse.views.dimensions import shows_several_times
from tripos_warehouse.views.runs import RunRecord


def mixed_snapshots(connection: Connection, plan: Plan) -> dict[str, dict[str, int]]:
    """Return the models whose replies came from more than one snapshot, with the number of replies by each snapshot.
    Replies without a snapshot are ignored: not every endpoint reports one."""
    schema = sql.name(plan.benchmark.name)
    distinct_query = "select distinct {0} as model, model_served from {2}.{3}"
    count_query = "select {0} as model, model_served, count(distinct {1}) as replies from {2}.{3} group by all"
    parts = (
        ("model", "sample_id", "samples"),
        ("evaluator", "judgement_id", "judgements"),
        *([("model", "turn_id", "turns")] if any(scenario.conversations for scenario in plan.scenarios) else []),
    )
    snapshots, counts = (
        " union all ".join(query.format(model, key, schema, table) for model, key, table in parts)
        for query in (distinct_query, count_query)
    )
    several = f"""select 1 from ({snapshots}) where model_served <> '' group by model
      having count(distinct model_served) > 1 limit 1"""
    if connection.execute(several).fetchone() is None:
        return {}  # counting replies needs memory for their ids
    query = f"""select model, model_served, sum(replies)::bigint from ({counts}) where model_served <> ''
      group by all order by all"""
    by_model: dict[str, dict[str, int]] = {}
    for model, served, replies in connection.execute(query).fetchall():
        by_model.setdefault(model, {})[served] = replies
    return {model: by_snapshot for model, by_snapshot in by_model.items() if len(by_snapshot) > 1}


STAND_IN_NOTE = "These figures show that the pipeline works. They say nothing about any model's worth."
MOST_SETTLED = 5
"""The most comparisons of a run that stopped early that are listed one by one."""

Kind = Literal[
    "unread",
    "corrected",
    "own_figures",
    "selection",
    "settled",
    "left_out",
    "cut_off",
    "endings",
    "clusters",
    "tries",
    "single_items",
    "uneven_sums",
    "sums_over_judges",
    "uneven",
    "one_value",
    "one_grade",
    "copies",
    "snapshots",
    "outdated",
    "repeats",
    "items",
    "judges",
    "computed_from_judges",
]


@dataclass(frozen=True)
class Remark:
    """A remark: its kind, and a sentence."""

    kind: Kind
    text: str

    def to_json(self) -> dict[str, str]:
        """Return the remark as JSON values."""
        return {"kind": self.kind, "text": self.text}


def find_remarks(connection: Connection, plan: Plan, run: RunRecord, only: ArmSelection) -> tuple[Remark, ...]:
    """Return the remarks on a run, from the rows of its benchmark in the views of `connection`, which are restricted to
    the values of axes and arms in `only`."""
    schema = sql.name(run.benchmark)
    return tuple(
        remark
        for remarks in (
            _selection(connection, plan, run),
            _own_figures(connection, run),
            _settled(run),
            _shown(connection, run, only),
            _treatments(plan, {**run.only, **only}),
            _left_out(connection, plan, schema),
            _cut_off(connection, plan, run, schema),
            _unknown_endings(connection, plan, run, schema),
            _clusters(connection, plan),
            _uneven(connection, schema),
            _one_value(connection, schema),
            _copies(connection, plan, run, schema),
            _items(connection, run, schema),
            _near_items(connection, run, schema),
            (Remark("items", position) for position in unbalanced_answer_positions(connection, plan, schema)),
            _snapshots(connection, plan),
            _outdated(connection, run, schema),
            _repeats(connection, plan),
        )
        for remark in remarks
    )


def unread_remarks(tables: Sequence[MeasureTable]) -> Iterator[Remark]:
    """Yield a remark for each value of a headline measure with scores that have no value: what the value would be if
    unreadable replies counted as wrong."""
    for table in tables:
        known = [row.unread.figure for row in table.rows if row.unread is not None]
        decimals = decimals_of([row.value for row in table.rows] + known)
        for row in table.rows:
            if row.unread is not None:
                text = unread_sentence(row.unread, row.value, row.n, row.total, decimals)
                yield Remark("unread", f"`{table.measure.name}` of {row.model}: {text}")


def cut_remarks(tables: Sequence[MeasureTable]) -> Iterator[Remark]:
    """Yield a remark for each share that is corrected for a judge's error rates and is 0 or 1, since these rates alone
    explain the judge's verdicts."""
    for table in tables:
        figure = table.measure.figure
        if not isinstance(figure, Aggregate) or "sensitivity" not in figure.named:
            continue
        for row in table.rows:
            if row.value == 0.0 and float(figure.named["specificity"]) < 1:
                text = "is at 0: its judge finds no more true than its errors alone would"
            elif row.value == 1.0 and float(figure.named["sensitivity"]) < 1:
                text = "is at 1: its judge finds as many true as it would if all were"
            else:
                continue
            yield Remark("corrected", f"`{table.measure.name}` of {row.model} {text}")


def unread_sentence(unread: UnreadScores, value: float | None, n: int, total: int, decimals: int) -> str:
    """Return a figure in words, and what it would be if unreadable replies counted as wrong.

    >>> unread_sentence(UnreadScores(20, 0.64), 0.8, 80, 100, 2)
    '0.80 on 80 of 100 scores; 0.64 if the 20 unread ones count as wrong'
    >>> unread_sentence(UnreadScores(1), 0.8, 3, 4, 2)
    '0.80 on 3 of 4 scores; nothing bounds what it would be with the one that has no value'
    """
    figure = "no value" if value is None else f"{value:.{decimals}f}"
    counted = f"{figure} on {n:,} of {total:,} scores"
    if unread.figure is None:
        missing = "the one that has no value" if unread.count == 1 else f"the {unread.count:,} that have no value"
        return f"{counted}; nothing bounds what it would be with {missing}"
    missing = "the unread one counts" if unread.count == 1 else f"the {unread.count:,} unread ones count"
    return f"{counted}; {unread.figure:.{decimals}f} if {missing} as {unread.as_what}"


def _rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def _selection(connection: Connection, plan: Plan, run: RunRecord) -> Iterator[Remark]:
    """Yield the number of items of the run, if a user left some out."""
    if (text := selection_of(connection, plan, run)) is not None:
        yield Remark("selection", text)


MOST_FIGURES = 8
"""The most figures of an imported log that a remark names."""


def own_figure_text(figure: Mapping[str, Any]) -> str:
    """Return a figure that an imported log reports itself, as one line.

    >>> own_figure_text({"task": "wiki", "score": "bits", "figure": "bits", "value": 0.91})
    'bits 0.91 (wiki)'
    >>> own_figure_text({"task": "quiz", "score": "match", "figure": "accuracy", "reducer": "mode", "value": 1.0})
    'match accuracy by mode 1 (quiz)'
    """
    name = figure["score"] if figure["figure"] == figure["score"] else f"{figure['score']} {figure['figure']}"
    by = f" by {figure['reducer']}" if figure.get("reducer") else ""
    return f"{name}{by} {figure['value']:.6g} ({figure['task']})"


def _own_figures(connection: Connection, run: RunRecord) -> Iterator[Remark]:
    """Yield the figures that an imported log reports itself and that no measure computes."""
    for (options,) in _rows(connection, f"select options from main.runs where run_id = {sql.text(run.run_id)}"):
        figures = (orjson.loads(options or "{}").get("log") or {}).get("figures") or []
        if figures:
            text = "; ".join(map(own_figure_text, figures[:MOST_FIGURES]))
            more = f"; {len(figures) - MOST_FIGURES:,} more in `main.runs`" if len(figures) > MOST_FIGURES else ""
            yield Remark("own_figures", f"figures of the log itself, which no measure here computes: {text}{more}")


def selection_of(connection: Connection, plan: Plan, run: RunRecord) -> str | None:
    """Return a text with the number of items of a run out of those of the benchmark, if a user left some out or the run
    stopped as soon as it was settled; otherwise None."""
    rows = _rows(connection, f"select options from main.runs where run_id = {sql.text(run.run_id)}")
    options = orjson.loads(rows[0][0]) if rows else {}
    restrictions = [f"--limit {options['limit']}"] if options.get("limit") is not None else []
    restrictions += [f"--subset {options['subset']}"] if options.get("subset") else []
    restrictions += [f"--shard {options['shard']}"] if options.get("shard") else []
    restrictions += [f"--only {axis}={','.join(values)}" for axis, values in (options.get("only") or {}).items()]
    if run.stopped_early and run.settled is not None:
        restrictions.append("--until settled" if run.settled["until"] == "settled" else "`until settled` in the spec")
    if not restrictions:
        return None
    counts = dict(
        _rows(
            connection,
            f"select scenario, count(*) from main.run_items where run_id = {sql.text(run.run_id)} group by all",
        )
    )
    total = sum(scenario.row_count for scenario in plan.scenarios if scenario.name in counts)
    items = sum(counts.values())
    if items >= total and not run.stopped_early:
        return None
    if run.stopped_early and items >= total:
        return f"some models stopped before the last of {total:,} items: {' '.join(restrictions)}"
    if run.stopped_early:
        return f"stopped after {items:,} of {total:,} items: {' '.join(restrictions)}"
    return f"on {items:,} of {total:,} items: {' '.join(restrictions)}"


def _settled(run: RunRecord) -> Iterator[Remark]:
    """Yield the comparisons of all pairs of models in a run that stopped as soon as it was settled, the lowest p-value
    first."""
    if run.interrupted:
        yield Remark("settled", INTERRUPTED)
    if not run.stopped_early:
        return
    comparisons = sorted(
        (figure for figure in run.settled_figures if figure["kind"] == "comparison"), key=lambda figure: figure["p"]
    )
    yield Remark("settled", f"{STOPPED_EARLY}, and are of what all items of the run would show")
    if comparisons:
        yield Remark("settled", EXAGGERATED_DIFFERENCES)
    items = run.settled["models"] if run.settled is not None else {}
    if len(set(items.values())) > 1:
        first = sorted(items.items(), key=lambda pair: pair[1])[:MOST_SETTLED]
        text = ", ".join(f"{model} {count:,}" for model, count in first)
        yield Remark("settled", f"items until a model was settled: {text}{', …' if len(items) > len(first) else ''}")
    for comparison in comparisons[:MOST_SETTLED]:
        is_ahead = (comparison["value"] or 0) > 0
        first, other = (
            (comparison["model"], comparison["other"]) if is_ahead else (comparison["other"], comparison["model"])
        )
        ends = (comparison["low"], comparison["high"]) if is_ahead else (-comparison["high"], -comparison["low"])
        decimals = decimals_of([comparison["value"] or 0, *ends])
        size = estimate_text(
            Estimate(abs(comparison["value"] or 0), low=ends[0], high=ends[1]), f"{{:.{decimals}f}}".format
        )
        count = comparison["items"]
        cell = ", ".join(f"{axis} {value}" for axis, value in (comparison.get("by") or {}).items())
        where = f"{comparison['name']} [{cell}]" if cell else comparison["name"]
        if comparison["settled"]:
            text = f"{first} is above {other} by {size} in {where}, after {count:,} items"
            yield Remark("settled", text)
        else:
            yield Remark("settled", f"{first} and {other} are not distinguished in {where}, after {count:,} items")
    if len(comparisons) > MOST_SETTLED:
        yield Remark(
            "settled", f"{len(comparisons) - MOST_SETTLED:,} more comparisons of models, in the column `settled`"
        )


def _shown(connection: Connection, run: RunRecord, only: ArmSelection) -> Iterator[Remark]:
    """Yield the number of the run's items that the report covers, if it is restricted to some."""
    if not only:
        return
    text = " ".join(f"--only {name}={','.join(values)}" for name, values in only.items())
    [(shown,)] = _rows(connection, f"select count(*) from {sql.name(run.benchmark)}.items")
    yield Remark("selection", f"on {shown:,} of the run's {run.items:,} items: {text}")


def _treatments(plan: Plan, only: ArmSelection) -> Iterator[Remark]:
    """Yield the values of arms that were left out."""
    if (arms := left_out_arm_values(plan, only)) is not None:
        yield Remark("selection", f"without {arms}, which `--only` left out: what is measured against it has no figure")


def _left_out(connection: Connection, plan: Plan, schema: str) -> Iterator[Remark]:
    """Yield the number of replies that a condition on what they say leaves out of a score, so that the reply decides
    what the model is scored on. A reply counts once, regardless of the number of judges, elements or scores of one
    name, and is left out if none of them applies; rows that are ruled out by the item alone are not counted."""
    conditional: dict[tuple[str, str], None] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            replies = {step.name for step in treatment.steps if isinstance(step, Ask | Converse)}
            replies |= {step.name for step in treatment.steps if isinstance(step, Verdict) and replies & {*step.needs}}
            for step in treatment.steps:
                if isinstance(step, Score | Grade) and step.when is not None and names_in(step.when) & replies:
                    metrics = (step.metrics or (step.name,)) if isinstance(step, Grade) else (step.name,)
                    conditional |= dict.fromkeys((scenario.name, metric) for metric in metrics)
    if not conditional:
        return
    named = ", ".join(f"({sql.text(scenario)}, {sql.text(metric)})" for scenario, metric in conditional)
    counts = _rows(
        connection,
        f"""select metric, model, count(*) filter (by_reply) as left_out, count(*) filter (by_reply or not is_out)
        from (
          select metric::varchar as metric, model, sample_id,
            bool_and(status = 'not_applicable' and error like '%does not hold%') as is_out,
            is_out and bool_or(error like '%does not hold of this reply') as by_reply
          from {schema}.scores where (scenario::varchar, metric::varchar) in ({named})
          group by all
        ) group by all having left_out > 0 order by all""",
    )
    for metric, model, left_out, count in counts:
        text = f"`{metric}` of {model} leaves out {left_out:,} of {count:,} replies by a condition on what they say"
        yield Remark("left_out", text)


def _counted(plan: Plan, run: RunRecord, key: str) -> str:
    """Return the SQL that counts distinct results in a view by their key. If no result is repeated, it counts rows,
    which needs no memory."""
    return f"count(distinct {key})" if shows_several_times(plan, run.compared_role) else "count(*)"


def _cut_off(connection: Connection, plan: Plan, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield the number of replies of each model that were cut off."""
    replies = _counted(plan, run, "sample_id")
    cut_off = sql.texts(finish_reasons_of(Ending.LENGTH))
    counts = _rows(
        connection,
        f"""select model, {replies} filter (lower(finish_reason) in {cut_off} or status = 'truncated') as cut, {replies}
        from {schema}.samples where role = {sql.text(run.compared_role)} group by all having cut > 0 order by all""",
    )
    for model, cut, count in counts:
        yield Remark("cut_off", f"{cut:,} of {count:,} replies of {model} were cut off: raise `max_tokens`")


def _unknown_endings(connection: Connection, plan: Plan, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield the finish reasons of a model that no table lists: such replies count as complete."""
    known = finish_reasons_of(*Ending)
    talks = [talk.name for scenario in plan.scenarios for talk in scenario.conversations]
    counts = _rows(
        connection,
        f"""select model, finish_reason, {_counted(plan, run, "sample_id")} as replies from {schema}.samples
        where role = {sql.text(run.compared_role)} and lower(finish_reason) not in {sql.texts(known)}
          and step not in {sql.texts(talks)} group by all order by all""",
    )
    for model, word, replies in counts:
        text = f"{replies:,} replies of {model} ended with `{word}`, which is no word that is known"
        yield Remark("endings", f"{text}: they count as whole")


def _clusters(connection: Connection, plan: Plan) -> Iterator[Remark]:
    """Yield which items were drawn together, or that the run does not say so although the spec does."""
    yield from (Remark("clusters", clustering.sentence) for clustering in clusterings_of(connection, plan))
    if lacks_clusters(connection, plan):
        text = "nothing says which items were drawn together, so intervals cluster by item"
        yield Remark("clusters", f"{text}: `tripos run` with this spec lists them, and makes no call again")


def _uneven(connection: Connection, schema: str) -> Iterator[Remark]:
    """Yield metrics with more items for one model than for another; items whose score failed count too."""
    counts = _rows(
        connection,
        f"""with counted as (
          select metric::varchar as metric, model, count(distinct item_id) as items
          from {schema}.scores where status <> 'not_applicable' group by all)
        select metric, list(model || ' ' || items order by items desc, model) from counted group by metric
        having count(distinct items) > 1 order by all""",
    )
    for metric, models in counts:
        yield Remark("uneven", f"models stand on different numbers of items for `{metric}`: {', '.join(models)}")


def _one_value(connection: Connection, schema: str) -> Iterator[Remark]:
    """Yield metrics whose scores are equal for every reply, and judges that give every reply the same grade on a
    metric."""
    counts = _rows(
        connection,
        f"""with alike as (
          select metric, evaluator, any_value(value) as value
          from {schema}.scores where status = 'scored' group by all
          having min(value) = max(value) and count(distinct item_id) >= {FEWEST})
        select alike.metric::varchar, alike.evaluator, any_value(alike.value), count(distinct sample_id)
        from {schema}.scores as score join alike
          on score.metric = alike.metric and score.evaluator is not distinct from alike.evaluator
        where status = 'scored' group by all order by all""",
    )
    for metric, evaluator, value, count in counts:
        if evaluator is None:
            text = f"`{metric}` is {value:g} for every one of {count:,} replies, so it distinguishes none of them"
            yield Remark("one_value", text)
        else:
            yield Remark("one_grade", f"{evaluator} gives {value:g} on `{metric}` to every one of {count:,} replies")


def _copies(connection: Connection, plan: Plan, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield models whose samples of an item are the same reply, for every item."""
    sampled = f"{schema}.samples where role = {sql.text(run.compared_role)}"
    several = (
        f"select 1 from {sampled} group by model, hash(item_id), hash(step, fingerprint) having count(*) > 1 limit 1"
    )
    if not _rows(connection, several):
        return  # most runs have one sample per item, and replies are most of their data
    counts = _rows(
        connection,
        f"""with sampled as (
          select model, hash(item_id) as "its item", {_counted(plan, run, "sample_id")} as "its samples",
            min(hash(reply)) < max(hash(reply)) as several
          from {sampled} and reply is not null
          group by model, "its item", hash(step, fingerprint) having "its samples" > 1)
        select model, max("its samples"), count(distinct "its item") from sampled group by model
        having not bool_or(several) and count(distinct "its item") >= {FEWEST} order by all""",
    )
    for model, samples, count in counts:
        text = f"the {samples:,} samples of {model} are the same reply for every one of {count:,} items"
        yield Remark("copies", text)


def _items(connection: Connection, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield that many items do not distinguish models, that some contradict the rest, and that judges disagree on
    many."""
    if sum(not is_baseline(model) for model in run.models) >= LEAST_MODELS:
        yield from (Remark("items", item_remark) for item_remark in item_remarks(connection, run.benchmark))


def _near_items(connection: Connection, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield items whose texts are nearly those of another: they count twice, and intervals treat them as
    independent."""
    if sum(not is_baseline(model) for model in run.models) < LEAST_MODELS:
        return
    near = near_duplicates(connection, schema)
    if near:
        text = ", ".join(f"{item} ({other})" for item, other in list(near.items())[:3])
        more = f" and {len(near) - 3:,} more" if len(near) > 3 else ""
        count = f"{len(near):,} item{' is' if len(near) == 1 else 's are'}"
        yield Remark("items", f"{count} nearly the same as another, which stands in brackets: {text}{more}")


def _outdated(connection: Connection, run: RunRecord, schema: str) -> Iterator[Remark]:
    """Yield the people with grades of the run's replies under an earlier rubric, which no figure uses. A grade is
    written again for every plan that asks the same, so it is identified by its content and not by its id. A grade of a
    step of the run that its views do not show is not outdated: it depends on other models in other roles."""
    key = "sample_id, evaluator, metric, coalesce(round, 1)"
    by_people = f"status = 'scored' and starts_with(evaluator, {sql.text(HUMAN)})"
    if connection.execute(f"select 1 from main.scores where {by_people} limit 1").fetchone() is None:
        return  # the query below needs memory for the ids of all replies
    counts = _rows(
        connection,
        f"""select evaluator, count(*) from (
          select distinct {key} from main.scores
          where benchmark = {sql.text(run.benchmark)} and {by_people}
            and sample_id in (select sample_id from {schema}.samples)
            and fingerprint not in (select fingerprint from main.run_steps where run_id = {sql.text(run.run_id)})
          except select {key} from {schema}.scores where {by_people})
        group by all order by all""",
    )
    for evaluator, count in counts:
        text = f"{count:,} grade{'' if count == 1 else 's'} by {evaluator}"
        again = f"tripos annotate --name {evaluator.removeprefix(HUMAN)}"
        yield Remark("outdated", f"{text} of an earlier rubric {'is' if count == 1 else 'are'} not shown: `{again}`")


def _snapshots(connection: Connection, plan: Plan) -> Iterator[Remark]:
    """Yield models whose replies came from more than one snapshot, as reported by their endpoint."""
    for model, counts in mixed_snapshots(connection, plan).items():
        text = ", ".join(f"{count:,} by {served}" for served, count in counts.items())
        yield Remark("snapshots", f"replies of {model} by {len(counts)} snapshots, which the figures mix: {text}")


def _repeats(connection: Connection, plan: Plan) -> Iterator[Remark]:
    """Yield how often judges that are asked several times contradict themselves."""
    for (_, metric), verdicts in sorted(repeated_verdicts(connection, plan).items()):
        for judge, stability in judge_stability(verdicts).items():
            if stability.stable.value is not None:
                differing = f"{percent(1 - stability.stable.value)} of {stability.stable.n:,} replies"
                text = f"asked again, {judge} says something else of `{metric}` for {differing}: `tripos judges`"
                yield Remark("repeats", text)
