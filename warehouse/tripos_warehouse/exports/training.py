"""Training data from a run: replies of the best models, pairs of a better and a worse reply, and their provenance.

Distillation takes the replies of the model that is best, overall or in each cell of some dimensions. Preferences are
pairs of replies to the same prompt. The provenance is a JSON file with everything needed to judge and repeat an export.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import orjson

from tripos_compiler.language.near_duplicates import NEAR_DUPLICATE_OVERLAP
from tripos_compiler.plan import Ask, Column, Compare, Grade, Measure, Plan, Score
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.held_out import NOTHING_HELD_OUT, HeldOut, read_held_out
from tripos_warehouse.exports.replies import (
    ExportedReply,
    Misfit,
    Replies,
    ReplyQuery,
    asked_of_elements,
    place_columns,
    plain,
    read_replies,
    steps_of,
)
from tripos_warehouse.files import Written
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.figures import gives_score, scored_names
from tripos_warehouse.measures.query import grade_weights
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.benchmark_views import counts_in_figures
from tripos_warehouse.views.dimensions import dimension_place
from tripos_warehouse.views.runs import RunRecord

# Distillation
SCORE_DIMS = ("metric", "dimension", "evaluator", "scorer")
"""Dimensions of scores that replies lack: a reply is in every cell in which it has a score."""

LISTED = 8
"""The number of names in a hint."""

Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Best:
    """The model that is best in a `cell`, with its `value`. `ties` are equally good, and come later in the order of the
    run.
    """

    cell: Cell
    model: str
    value: float
    ties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """A line of training data and its origin: the samples, the item that they answer, and the models that wrote them.

    `won`: the cells in which the model is best. `margin`: by how much the better reply of a pair is better.
    """

    line: bytes
    sample_ids: tuple[str, ...]
    scenario: str
    item_id: str
    models: tuple[str, ...]
    won: tuple[Best, ...] = ()
    margin: float | None = None


@dataclass(frozen=True)
class TrainingSet:
    """Training data: `examples` in a stable order, the `best` models if they were chosen, the numbers of replies or
    pairs left out by reason, and what was held out.
    """

    examples: tuple[Example, ...]
    left_out: Mapping[str, int]
    best: tuple[Best, ...] = ()
    held_out: HeldOut = NOTHING_HELD_OUT
    replies_of: tuple[str, ...] = ()
    """The runs of the replies, if these are not of the run whose scores chose the models."""
    misfits: tuple[Misfit, ...] = ()


@dataclass(frozen=True)
class SourceRun:
    """A run whose replies are used: `connection` shows it alone, and `plan` is its own."""

    connection: Connection
    plan: Plan
    run: RunRecord


def best_replies(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    wanted: ReplyQuery,
    replied: Sequence[SourceRun] = (),
) -> TrainingSet:
    """Return the replies of the best models. `connection` shows `run` alone. With `replied`, `run` only decides which
    models are best, and the replies are those of these other runs, graded or not, without any item of `run`.

    The value of a model in a cell of `per` is that of the measure. If the measure has further dimensions, it is the
    mean over their cells in which every model has a value. A model without any value there is ignored. Held-out items
    count for the choice of the best model, but are not examples.

    Raises `StoreError` S0602 if there is no such measure, score or dimension, and if the replies of other runs are in
    no cell of `per`, or of none of the models.
    """
    graded = bool(set(wanted.per) & set(SCORE_DIMS)) and not wanted.every
    if replied and graded:
        message = f"replies that are not graded are in no cell of `{wanted.per[0]}`"
        raise StoreError("S0602", message, "take all of the best models: `every reply` in the export, or `--every`")
    by, values = _values(connection, plan, run, wanted)
    lower = any(measure.name == wanted.by and is_lower_better(plan, measure) for measure in plan.measures)
    best = choose_best(by, values, wanted.per, wanted.models, lower_is_better=lower)
    places = [dimension_place(plan, name) for name in wanted.per]
    best.sort(key=lambda reply: [place(value) for place, value in zip(places, reply.cell, strict=True)])
    winners = {reply.cell: reply for reply in best}
    out, replies = _replies(SourceRun(connection, plan, run), wanted) if not replied else _others(replied, run, wanted)
    resting = _scenarios_behind(plan, wanted.by)
    scored = _scored_cells(connection, run, wanted.per) if graded else None
    examples, left_out = _examples(replies, wanted, winners, scored, resting)
    sources = tuple(source_run.run.run_id for source_run in replied)
    return TrainingSet(tuple(examples), left_out, tuple(best), out, sources, replies.misfits)


def _replies(of: SourceRun, wanted: ReplyQuery) -> tuple[HeldOut, Replies]:
    out = read_held_out(of.connection, of.plan, of.run, wanted)
    return out, out.keep(read_replies(of.connection, of.plan, of.run, wanted))


def _others(replied: Sequence[SourceRun], run: RunRecord, wanted: ReplyQuery) -> tuple[HeldOut, Replies]:
    """Return the replies of other runs, without those to items of `run` or of their own subsets."""
    out, replies = NOTHING_HELD_OUT, Replies((), {})
    for source_run in replied:
        models = tuple(name for name in wanted.models if name in source_run.run.models)
        if not models:
            some = ", ".join(f"`{name}`" for name in wanted.models)
            message = f"run `{source_run.run.run_id}` has no reply of {some}"
            raise StoreError("S0602", message, "name runs of the models that are graded")
        subsets = tuple(subset.name for subset in source_run.plan.subsets)
        apart = tuple(dict.fromkeys((*wanted.apart_from, run.run_id)))
        held_out, own = _replies(source_run, replace(wanted, models=models, hold_out=subsets, apart_from=apart))
        out = HeldOut(
            tuple(dict.fromkeys((*out.subsets, *held_out.subsets))),
            held_out.runs,
            out.items | held_out.items,
            {**out.near, **held_out.near},
            {**out.coverage, **held_out.coverage},
        )
        left_out = Counter(replies.left_out) + Counter(own.left_out)
        misfits = (*replies.misfits, *own.misfits)
        replies = Replies((*replies.replies, *own.replies), dict(sorted(left_out.items())), misfits)
    return out, replies


def choose_best(
    by: Sequence[str],
    values: Iterable[tuple[str, Cell, float | None]],
    per: Sequence[str],
    models: Sequence[str],
    *,
    lower_is_better: bool = False,
) -> list[Best]:
    """Return the best model in each cell of `per`: the one with the highest mean, or the lowest if `lower_is_better`.
    `values` are (model, cell of `by`, value).

    >>> values = [("a", ("x", "p"), 1.0), ("b", ("x", "p"), 2.0), ("a", ("x", "q"), 9.0)]
    >>> choose_best(("tone", "metric"), values, ("tone",), ("a", "b"))
    [Best(cell=('x',), model='b', value=2.0, ties=())]
    >>> choose_best(("tone", "metric"), values, ("tone",), ("a", "b"), lower_is_better=True)
    [Best(cell=('x',), model='a', value=1.0, ties=())]
    """
    place = [list(by).index(name) for name in per]
    cells: dict[Cell, dict[str, dict[Cell, float]]] = {}
    for model, full, value in values:
        if value is not None and model in models:
            cell = tuple(full[index] for index in place)
            cells.setdefault(cell, {}).setdefault(model, {})[full] = value
    bests = []
    for cell, by_model in cells.items():
        shared = set.intersection(*(set(own) for own in by_model.values()))
        if not shared:
            continue
        means = {
            model: sum(by_model[model][full] for full in shared) / len(shared) for model in models if model in by_model
        }
        top = min(means.values()) if lower_is_better else max(means.values())
        # Sums in another order differ in their last digits, which must not decide.
        first, *ties = [model for model, mean in means.items() if abs(top - mean) <= 1e-9 * max(1.0, abs(top))]
        bests.append(Best(cell, first, means[first], tuple(ties)))
    return bests


def _values(
    connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery
) -> tuple[Sequence[str], list[tuple[str, Cell, float | None]]]:
    measure = next((declared for declared in plan.measures if declared.name == wanted.by), None)
    if measure is not None:
        return _measured(connection, plan, measure, wanted.per)
    allowed = (*place_columns(plan), *SCORE_DIMS)
    if wrong := [name for name in wanted.per if name not in allowed]:
        some = ", ".join(f"`{name}`" for name in allowed)
        raise StoreError("S0602", f"there is no `{wrong[0]}` to be best per", f"there is {some}")
    columns = "".join(f", {sql.name(name)}" for name in wanted.per)
    weight = "1.0" if "metric" in wanted.per else weight_of_score(plan)
    graders = "true" if "evaluator" in wanted.per else counts_in_figures(plan)
    rows = connection.execute(
        f"""select model{columns}, sum({weight} * value) / sum({weight}) from {sql.name(run.benchmark)}.scores
        where {score_condition(wanted.by)} and value is not null and {graders} group by all order by all"""
    ).fetchall()
    if not rows:
        raise no_such_score(plan, wanted.by)
    return wanted.per, [(model, tuple(cell), value) for model, *cell, value in rows]


def _measured(
    connection: Connection, plan: Plan, measure: Measure, per: Sequence[str]
) -> tuple[Sequence[str], list[tuple[str, Cell, float | None]]]:
    if wrong := [name for name in per if name not in measure.by]:
        goes = ", ".join(f"`{name}`" for name in measure.by)
        hint = f"it goes by {goes}; `--by` with the name of a score goes by anything" if goes else "leave out `--per`"
        raise StoreError("S0602", f"measure `{measure.name}` does not go by `{wrong[0]}`", hint)
    table = evaluate(connection, plan, measure)
    return measure.by, [(row.model, row.by, row.value) for row in table.rows]


def _scenarios_behind(plan: Plan, name: str) -> frozenset[str]:
    """Return the scenarios of a measure, or of the scores of a name; it says nothing about others."""
    measure = next((declared for declared in plan.measures if declared.name == name), None)
    if measure is not None:
        wanted = list(scored_names(plan, measure.figure))
    else:
        scenario, _, bare = name.rpartition(".")
        wanted = [(scenario or None, bare)]
    return frozenset(
        scenario.name
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Score | Column | Grade | Compare)
        if any(within in (None, scenario.name) and gives_score(step, score) for within, score in wanted)
    )


def score_condition(name: str) -> str:
    """Return the SQL condition of the scores called `name`: a metric, a scorer, or one of a scenario as
    `SCENARIO.NAME`.
    """
    scenario, _, bare = name.rpartition(".")
    within = f" and scenario = {sql.text(scenario)}" if scenario else ""
    return f"(metric = {sql.text(bare)} or scorer = {sql.text(bare)}){within}"


def weight_of_score(plan: Plan) -> str:
    """Return the SQL of the weight of a score in its scenario: the weight of its metric, or 1."""
    cases = [
        f"when scenario = {sql.text(scenario)} and metric = {sql.text(metric)} then {weight!r}"
        for scenario, weights in metric_weights(plan).items()
        for metric, weight in weights.items()
    ]
    return f"(case {' '.join(cases)} else 1.0 end)" if cases else "1.0"


def metric_weights(plan: Plan) -> dict[str, dict[str, float]]:
    """Return the weights of metrics by scenario, for scenarios that declare them."""
    weights: dict[str, dict[str, float]] = {}
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if isinstance(step, Grade) and step.weights:
                weights.setdefault(scenario.name, {}).update(grade_weights(step))
    return weights


def no_such_score(plan: Plan, name: str) -> StoreError:
    """Return the error for a `name` that no score or measure has, or whose scores have no value."""
    scores, measures = score_names(plan), [measure.name for measure in plan.measures]
    names = [*scores, *measures]
    own = [known for known in names if known.rpartition(".")[2] == name]
    near = own or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if name in names:
        hint = "`tripos report` shows the results"
    elif near:
        hint = f"did you mean {' or '.join(f'`{known}`' for known in near[:3])}?"
    else:
        hint = f"there are the scores {_some(scores)}" + (f" and the measures {_some(measures)}" if measures else "")
    return StoreError("S0602", f"no score or measure `{name}` has a value in this run", hint)


def _some(names: Sequence[str]) -> str:
    """Return names as a list: the first few, and the number of others.

    >>> _some(["a", "b"]), _some(list("abcdefghij"))
    ('`a`, `b`', '`a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more')
    """
    rest = len(names) - LISTED
    return ", ".join(f"`{name}`" for name in names[:LISTED]) + (f" and {rest} more" if rest > 0 else "")


def score_names(plan: Plan) -> list[str]:
    """Return the scorers, scores and metrics of a plan in its order."""
    names: dict[str, None] = {}
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if step.step in ("score", "grade"):
                names[getattr(step, "scorer", step.name)] = None
                names |= dict.fromkeys(getattr(step, "metrics", ()) or (step.name,))
    return list(names)


def _scored_cells(connection: Connection, run: RunRecord, per: Sequence[str]) -> dict[str, list[Cell]]:
    """Return the cells of `per` in which each reply has a score."""
    columns = ", ".join(map(sql.name, per))
    rows = connection.execute(
        f"""select distinct sample_id, {columns} from {sql.name(run.benchmark)}.scores
        where value is not null order by all"""
    ).fetchall()
    cells: dict[str, list[Cell]] = {}
    for sample, *cell in rows:
        cells.setdefault(sample, []).append(tuple(cell))
    return cells


def _examples(
    replies: Replies,
    wanted: ReplyQuery,
    winners: Mapping[Cell, Best],
    scored: Mapping[str, list[Cell]] | None,
    resting: frozenset[str],
) -> tuple[list[Example], dict[str, int]]:
    examples: list[Example] = []
    seen: set[bytes] = set()
    taken: set[str] = set()
    left_out = Counter(replies.left_out)
    for reply in replies.replies:
        if reply.scenario not in resting:
            left_out[f"`{wanted.by}` says nothing of the scenario"] += 1
            continue
        if wanted.every:
            won = tuple(best for best in winners.values() if best.model == reply.model)
        else:
            own = tuple(reply.place.get(name) for name in wanted.per) if scored is None else ()
            cells = [own] if scored is None else scored.get(reply.sample_id, [])
            won = tuple(winners[cell] for cell in cells if cell in winners and winners[cell].model == reply.model)
        if not won:
            left_out["not the best"] += 1
            continue
        line = _line(reply, wanted)
        if line in seen:
            left_out["doubles"] += reply.sample_id not in taken  # a reply that several arms share is not a duplicate
            continue
        seen.add(line)
        taken.add(reply.sample_id)
        examples.append(Example(line, (reply.sample_id,), reply.scenario, reply.item_id, (reply.model,), won))
    return examples, {reason: count for reason, count in sorted(left_out.items()) if count}


def _line(reply: ExportedReply, wanted: ReplyQuery) -> bytes:
    if wanted.format == "completion":
        return orjson.dumps({"prompt": plain(reply.prompt), "completion": reply.text})
    return orjson.dumps({"messages": [*reply.prompt, {"role": "assistant", "content": reply.text}]})


# Preferences
ReplyScores = Mapping[tuple[str, str | None], float]
"""The scores of a reply, by metric and evaluator."""

ROUNDING = 1e-9
"""Smaller differences are rounding errors."""


def preference_pairs(connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery) -> TrainingSet:
    """Return the pairs of replies to one prompt of which one is better by at least `margin`, and by more than nothing.

    Two replies are compared on the scores that both have, by metric and judge: the difference is the mean over these,
    weighted by the metrics' weights. `connection` shows `run` alone.

    Raises `StoreError` S0602 if there is no score of that name.
    """
    out = read_held_out(connection, plan, run, wanted)
    replies = out.keep(read_replies(connection, plan, run, wanted))
    marks = _reply_scores(connection, plan, run, wanted.by)
    if not marks:
        raise no_such_score(plan, wanted.by)
    chosen, left_out = choose_pairs(replies.replies, marks, metric_weights(plan), wanted.margin)
    left_out.update(replies.left_out)
    examples = tuple(_example(*pair, wanted) for pair in chosen)
    counted = {reason: count for reason, count in sorted(left_out.items()) if count}
    return TrainingSet(examples, counted, held_out=out, misfits=replies.misfits)


def choose_pairs(
    replies: Iterable[ExportedReply],
    marks: Mapping[str, ReplyScores],
    weights: Mapping[str, Mapping[str, float]],
    margin: float,
) -> tuple[list[tuple[ExportedReply, ExportedReply, float]], Counter[str]]:
    """Return the pairs of `replies` (the better one, the worse one, the difference), and the numbers of pairs and
    replies left out, by reason.

    `marks` are the scores of replies by `sample_id`; `weights` are those of metrics by scenario.
    """
    left_out: Counter[str] = Counter()
    groups: dict[tuple[str, str, bytes], dict[str, ExportedReply]] = {}
    for reply in replies:
        if reply.sample_id not in marks:
            left_out["without a score"] += 1
            continue
        # A reply may be in several arms, and counts once.
        groups.setdefault((reply.scenario, reply.item_id, orjson.dumps(reply.prompt)), {})[reply.sample_id] = reply
    pairs: dict[tuple[bytes, str, str], tuple[ExportedReply, ExportedReply, float]] = {}
    for (_, _, prompt), group in groups.items():
        left_out["alone"] += len(group) == 1
        for one, two in combinations(group.values(), 2):
            apart = difference(marks[one.sample_id], marks[two.sample_id], weights.get(one.scenario, {}))
            if apart is None:
                left_out["nothing scored in both"] += 1
            elif one.text == two.text:
                left_out["the same text"] += 1
            elif abs(apart) <= ROUNDING:
                left_out["ties"] += 1
            elif abs(apart) < margin - ROUNDING:
                left_out["below the margin"] += 1
            else:
                better, worse = (one, two) if apart > 0 else (two, one)
                key = (prompt, better.text, worse.text)
                left_out["doubles"] += key in pairs
                pairs.setdefault(key, (better, worse, abs(apart)))
    # Judgements of the same two texts may contradict each other; then the pair is dropped.
    agreed = [pair for (prompt, good, bad), pair in pairs.items() if (prompt, bad, good) not in pairs]
    left_out["contradicted"] += len(pairs) - len(agreed)
    return agreed, left_out


def difference(one: ReplyScores, two: ReplyScores, weights: Mapping[str, float]) -> float | None:
    """Return how much better the first is, over the scores that both have; `None` if there are none.

    >>> difference({("CLEAR", "j"): 8, ("RIGHT", "j"): 4}, {("CLEAR", "j"): 5}, {})
    3.0
    """
    both = [key for key in one if key in two]
    total = sum(weights.get(metric, 1.0) for metric, _ in both)
    if not total:
        return None
    return sum(weights.get(key[0], 1.0) * (one[key] - two[key]) for key in both) / total


def _reply_scores(connection: Connection, plan: Plan, run: RunRecord, by: str) -> dict[str, ReplyScores]:
    """Return the scores of replies, except for asks about single list elements, whose scores are over all elements."""
    apart = ""
    if names := asked_of_elements(plan):
        steps = ", ".join(map(sql.text, names))
        apart = (
            f"and sample_id not in (select sample_id from {sql.name(run.benchmark)}.samples where step in ({steps}))"
        )
    rows = connection.execute(
        f"""select sample_id, metric, evaluator, avg(value) from {sql.name(run.benchmark)}.scores
        where {score_condition(by)} and value is not null and {counts_in_figures(plan)} {apart}
        group by all order by all"""
    ).fetchall()
    scores: dict[str, dict[tuple[str, str | None], float]] = {}
    for sample, metric, evaluator, value in rows:
        scores.setdefault(sample, {})[metric, evaluator] = value
    return dict(scores)


def _example(better: ExportedReply, worse: ExportedReply, margin: float, wanted: ReplyQuery) -> Example:
    line: dict[str, object]
    if wanted.format == "completion":
        line = {"prompt": plain(better.prompt), "chosen": better.text, "rejected": worse.text}
    else:
        chosen, rejected = ([{"role": "assistant", "content": reply.text}] for reply in (better, worse))
        line = {"prompt": list(better.prompt), "chosen": chosen, "rejected": rejected}
    line["margin"] = margin = round(margin, 6)
    return Example(
        orjson.dumps(line),
        (better.sample_id, worse.sample_id),
        better.scenario,
        better.item_id,
        (better.model, worse.model),
        margin=margin,
    )


# Provenance
FORMAT = "tripos.training/2"
TERMS = (
    "The replies were written by the models named here. Whether they may be used to train others is said by the terms"
    " of their providers and by the licence of the benchmark's data."
)


def provenance(plan: Plan, run: RunRecord, wanted: ReplyQuery, made: TrainingSet, written: Written) -> dict[str, Any]:
    """Return the provenance as JSON values; `lines` has an entry for every line, the better of two replies first."""
    steps = steps_of(plan, wanted.rows)
    revealed = [reveal for reveal in plan.reveals if reveal.step in steps]
    return {
        "format": FORMAT,
        "file": written.path.name,
        "sha256": written.sha256,
        "examples": written.rows,
        "kind": {"best": "distillation", "pairs": "preferences"}[wanted.kind],
        "export": wanted.name,
        "run_id": run.run_id,
        "benchmark": run.benchmark,
        "version": run.version,
        "plan_digest": run.plan_digest,
        "models": list(wanted.models),
        "judges": {role: list(models) for role, models in run.evaluators.items()},
        "by": wanted.by,
        "per": list(wanted.per),
        "every_reply": wanted.every,
        "replies_of": list(made.replies_of),
        "margin": wanted.margin if wanted.kind == "pairs" else None,
        "steps": list(wanted.rows),
        "settings": _settings(plan, wanted),
        "line_format": wanted.format,
        "filters": list(wanted.filter_text),
        "best": [
            {
                "cell": dict(zip(wanted.per, best.cell, strict=True)),
                "model": best.model,
                "value": best.value,
                "ties": list(best.ties),
            }
            for best in made.best
        ],
        "by_scenario": counts(plan, made),
        "by_model": dict(Counter(example.models[0] for example in made.examples)),
        "left_out": dict(made.left_out),
        "another_form": [
            {"sample": misfit.sample_id, "scenario": misfit.scenario, "item": misfit.item_id, "model": misfit.model}
            | {"reason": misfit.reason}
            for misfit in made.misfits
        ],
        "held_out": {
            "subsets": list(made.held_out.subsets),
            "runs": list(made.held_out.runs),
            "items": len(made.held_out.items),
            "known": {name: {"items": count.present, "of": count.of} for name, count in made.held_out.coverage.items()},
            "alike": NEAR_DUPLICATE_OVERLAP,
            "near": [
                {
                    "item": duplicate.item[1],
                    "scenario": duplicate.item[0],
                    "like": duplicate.like[1],
                    "overlap": round(duplicate.overlap, 4),
                }
                for duplicate in made.held_out.near.values()
            ],
        },
        "revealed": [
            {"scenario": reveal.scenario, "step": reveal.step, "secret": reveal.secret} for reveal in revealed
        ],
        "licence": plan.benchmark.license,
        "terms": TERMS,
        "lines": [_provenance_line(wanted, example) for example in made.examples],
    }


def _settings(plan: Plan, wanted: ReplyQuery) -> dict[str, Any]:
    """Return the explicit settings of the requests, by scenario and step."""
    steps = steps_of(plan, wanted.rows)
    return {
        f"{scenario.name}.{step.name}": step.settings.given
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Ask) and step.name in steps
    }


def _provenance_line(wanted: ReplyQuery, example: Example) -> dict[str, Any]:
    """Return the origin of a line, and the reason for its choice."""
    line = {
        "samples": list(example.sample_ids),
        "scenario": example.scenario,
        "item": example.item_id,
        "models": list(example.models),
    }
    if example.margin is not None:
        return {**line, "margin": example.margin}
    won = [{"cell": dict(zip(wanted.per, best.cell, strict=True)), "value": best.value} for best in example.won]
    return {**line, "won": won}


def counts(plan: Plan, made: TrainingSet) -> dict[str, int]:
    """Return the number of examples of each scenario, in plan order."""
    counted = Counter(example.scenario for example in made.examples)
    return {scenario.name: counted[scenario.name] for scenario in plan.scenarios if counted[scenario.name]}
