"""Training data from the replies of a run: what the exporters of chats and of pairs have in common."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, Self

from tripos.exporting import OpenRun, Written
from tripos.runs.selection import RunRequest, chosen_cases
from tripos.settings.option import listed_names
from tripos.settings.options import MARGIN, ExportParameters
from tripos.terminal import table_width
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Binary, Call, Export, Expr, Items, Literal_, Plan, Ref, Unary
from tripos_runtime.asking.plan_questions import Questions
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.replies import FormCheck, ReplyFilter, ReplyQuery, asked_steps
from tripos_warehouse.exports.training import (
    SourceRun,
    TrainingSet,
    best_replies,
    counts,
    preference_pairs,
    provenance,
    score_names,
)
from tripos_warehouse.files import provenance_path, write_lines
from tripos_warehouse.report.run_report import STAND_IN_PREFIXES
from tripos_warehouse.report.tables import label_columns
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import table_lines
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import RunRecord, get_plan


@dataclass(frozen=True)
class ReplyOptions:
    """The options of an export of replies, as given. The others have the values of the spec's export `what`, if there
    is one."""

    what: str
    output: str
    by: str | None = None
    per: Sequence[str] = ()
    every: bool = False
    replies_of: Sequence[str] = ()
    margin: float | None = None
    rows: Sequence[str] = ()
    line_format: Literal["chat", "completion"] | None = None
    models: Sequence[str] = ()
    scenario: Sequence[str] = ()
    only: Sequence[str] = ()
    hold_out: Sequence[str] = ()
    apart_from: Sequence[str] = ()

    @classmethod
    def of(cls, options: Namespace) -> Self:
        """Return the options of the command."""
        return cls(**{field.name: getattr(options, field.name) for field in fields(cls)})


# Filters
def reply_filter(options: ReplyOptions, plan: Plan, where: Expr | None) -> tuple[ReplyFilter, tuple[str, ...]]:
    """Return a predicate on places, and the filters in words. A place without an axis that `--only` names is included.
    Raises `TriposError` if the plan lacks a scenario, axis or value."""
    chosen = chosen_cases(RunRequest(scenario=options.scenario, only=options.only), plan)

    def keep(place: Mapping[str, str | None]) -> bool:
        if chosen.scenarios and place["scenario"] not in chosen.scenarios:
            return False
        if any(place.get(axis) is not None and place[axis] not in values for axis, values in chosen.only.items()):
            return False
        return where is None or filter_holds(where, place)

    words = [expression_text(where)] if where is not None else []
    words += [f"scenario in ({', '.join(chosen.scenarios)})"] if chosen.scenarios else []
    words += [f"{axis} in ({', '.join(values)})" for axis, values in chosen.only.items()]
    return keep, tuple(words)


def filter_holds(where: Expr, place: Mapping[str, str | None]) -> bool:
    """Evaluate a filter for one place. A filter without a value counts as false.

    >>> filter_holds(Binary(operator="==", left=Ref(path=("tone",)), right=Literal_(value="warm")), {"tone": "warm"})
    True
    """
    try:
        return bool(evaluate(where, place))
    except (Unavailable, KeyError):
        return False


def expression_text(expr: Expr) -> str:
    """Return an expression of a filter as text.

    >>> expression_text(Binary(operator="in", left=Ref(path=("tone",)), right=Items(values=(Literal_(value="warm"),))))
    'tone in (warm)'
    """
    match expr:
        case Literal_(value=value):
            return str(value)
        case Ref(path=path):
            return ".".join(path)
        case Items(values=values):
            return f"({', '.join(map(expression_text, values))})"
        case Unary(operator=operator, value=value):
            return f"{operator} {_inner(value)}"
        case Binary(operator=operator, left=left, right=right):
            return f"{_inner(left)} {operator} {_inner(right)}"
        case Call(function=function, args=args):
            return f"{function}({', '.join(map(expression_text, args))})"
    return "…"


def _inner(expr: Expr) -> str:
    return f"({expression_text(expr)})" if isinstance(expr, Binary) else expression_text(expr)


REASONS = {
    "filtered": "what the filters leave out",
    "held out": "replies to items that are held out",
    "near held out": "replies to items that are nearly the same as these",
    "not the best": "replies of models that are not the best",
    "doubles": "doubles",
    "truncated": "replies that were cut off",
    "another form": "replies in another form than their prompt asks for",
    "empty": "empty replies",
    "no prompt": "replies without a prompt that can be read",
    "likelihoods": "likelihoods, which nobody wrote",
    "calls of tools": "replies to steps with tools",
    "without a score": "replies without a score",
    "alone": "replies alone with their prompt",
    "nothing scored in both": "pairs that nothing was scored of in both",
    "the same text": "pairs of the same text",
    "ties": "ties",
    "below the margin": "pairs below the margin",
    "contradicted": "pairs that another pair contradicts",
}


# Replies of a run
def export_replies(run: OpenRun, options: ReplyOptions, kind: Literal["best", "pairs"]) -> Written:
    """Write the training data and its provenance. Raises `StoreError`, S0603 if there is none."""
    path, plan, connection = Path(options.output), run.plan, run.connection
    query = reply_query(options, plan, run.record, kind)
    with ExitStack() as opened:
        replied = [_replied(run.store, name, opened) for name in listed_names(options.replies_of)]
        training = (
            best_replies(connection, plan, run.record, query, replied)
            if query.kind == "best"
            else preference_pairs(connection, plan, run.record, query)
        )
    if not training.examples:
        text = "; ".join(_left_out(training)) or "the run has no replies to these steps"
        if training.misfits:
            first = training.misfits[0]
            which = f"the reply of {first.model} to item {first.item_id} of `{first.scenario}`"
            text += f"; the first is {which}: {first.reason}"
        raise StoreError("S0603", f"nothing to export: {text}", _empty_export_hint(query, training))
    written = write_lines(path, (example.line for example in training.examples))
    data = provenance(plan, run.record, query, training, written)
    write_lines(provenance_path(path), [json.dumps(data, ensure_ascii=False, indent=2).encode()])
    summary = {name: value for name, value in data.items() if name != "lines"}
    return Written(summary, tuple(_summary_lines(plan, query, training, path)))


def _replied(store: Store, name: str, opened: ExitStack) -> SourceRun:
    """Return a run whose replies are exported, open as long as `opened` is."""
    connection, run = connect_run(store, name)
    opened.enter_context(connection)
    return SourceRun(connection, get_plan(connection, run), run)


def reply_query(options: ReplyOptions, plan: Plan, run: RunRecord, kind: Literal["best", "pairs"]) -> ReplyQuery:
    """Return the query for replies: the options, applied to the named export of the spec. Raises `TriposError` and
    `StoreError`."""
    declared = next(
        (export for export in plan.exports if isinstance(export, Export) and export.name == options.what), None
    )
    keep, texts = reply_filter(options, plan, None if declared is None else declared.where)
    per = listed_names(options.per) or (declared.per if declared is not None else ())
    declared_rows = (declared.rows,) if declared is not None else asked_steps(plan, run.compared_role)
    rows = listed_names(options.rows) or declared_rows
    models = listed_names(options.models) or run.models
    margin = options.margin if options.margin is not None else declared.margin if declared is not None else 0.0
    return ReplyQuery(
        kind=kind,
        by=options.by or (declared.measure if declared is not None else _default_criterion(plan, kind, per)),
        rows=rows,
        models=models,
        per=per,
        every=options.every or (declared.every if declared is not None else False),
        margin=margin,
        format=options.line_format or (declared.format if declared is not None else "chat"),
        name=declared.name if declared is not None else None,
        keep=keep,
        form_check=form_check,
        filter_text=texts,
        hold_out=_hold_out(options, plan, declared.holds_out if declared is not None else ()),
        apart_from=listed_names(options.apart_from),
    )


def form_check(plan: Plan) -> FormCheck:
    """Return the check of replies to the steps of a plan: it reads a reply as the run did, and requires exactly the
    form that the prompt asks for."""
    questions = Questions(plan, tuple(plan.axes))
    scenarios = {scenario.name: scenario for scenario in plan.scenarios}

    def form_error(step: str, place: Mapping[str, str | None], text: str) -> str | None:
        scenario = scenarios[place["scenario"] or ""]
        arms = {name: place.get(name) for name in scenario.arms}
        treatment = next(each for each in scenario.treatments if all(each.arms[name] == arms[name] for name in arms))
        language = place.get("language") or plan.benchmark.languages[0]
        return questions.widest(treatment.ask(step), language).form_error(text)

    return form_error


def _hold_out(options: ReplyOptions, plan: Plan, declared: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subsets whose items are held out: the named ones, or all. Raises `StoreError` S0811 if one is
    unknown."""
    known = [subset.name for subset in plan.subsets]
    named = listed_names(options.hold_out)
    if unknown := [name for name in named if name not in known]:
        some = ", ".join(f"`{name}`" for name in known) or "none"
        hint = suggest(unknown[0], known, f"the subsets of the spec: {some}")
        raise StoreError("S0811", f"there is no subset `{unknown[0]}` to hold out", hint)
    return named or declared or tuple(known)


def _default_criterion(plan: Plan, kind: str, per: tuple[str, ...]) -> str:
    """Return the default criterion for choosing replies: the only judge, else the only measure over it, else the only
    score."""
    graded = dict.fromkeys(
        step.scorer for scenario in plan.scenarios for step in scenario.steps if step.step == "grade"
    )
    fitting = [measure.name for measure in plan.measures if set(measure.by) == set(per)] if kind == "best" else []
    for found in (list(graded), fitting, score_names(plan)):
        if len(found) == 1:
            return found[0]
    names = [*fitting, *score_names(plan)] if kind == "best" else score_names(plan)
    some = ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "none"
    raise TriposError(
        "R0202", "there is no measure or score to rank replies", f"give `{ExportParameters.by} NAME`; there is {some}"
    )


def _summary_lines(plan: Plan, query: ReplyQuery, training: TrainingSet, path: Path) -> Iterable[str]:
    noun = "replies" if query.kind == "best" else "pairs"
    yield f"{len(training.examples):,} {noun} by {query.by}, written to {path}"
    if training.best:
        yield ""
        models = tuple(
            best.model + (f" (tied with {', '.join(best.ties)})" if best.ties else "") for best in training.best
        )
        values = tuple(best.value for best in training.best)
        labels = label_columns(plan, query.per, [best.cell for best in training.best], None)
        columns = (*labels, Column("best", models, shrinks="last"), Column("value", values, "number"))
        yield from table_lines(Table(columns), table_width())
    yield ""
    found = counts(plan, training)
    columns = (Column("scenario", tuple(found)), Column(noun, tuple(found.values()), "count"))
    yield from table_lines(Table(columns), table_width())
    held = [*training.held_out.subsets, *training.held_out.runs]
    if held:
        yield ""
        near = f", and {len(training.held_out.near):,} nearly the same" if training.held_out.near else ""
        items = "1 item" if len(training.held_out.items) == 1 else f"{len(training.held_out.items):,} items"
        yield f"held out: {items} of {', '.join(held)}{near}"
        for name, count in training.held_out.coverage.items():
            if not count.is_complete:
                yield f"the runs of this store know {count.describe(name)}"
    if training.left_out:
        yield ""
        yield "left out:"
        yield from (f"  {each}" for each in _left_out(training))
    yield ""
    yield f"where it comes from: {provenance_path(path)}"
    if any(model.startswith(STAND_IN_PREFIXES) for example in training.examples for model in example.models):
        yield "written by models that stand in for real ones: nothing to train with"


def _left_out(made: TrainingSet) -> list[str]:
    return [f"{REASONS.get(reason, reason)}: {count:,}" for reason, count in made.left_out.items()]


def _empty_export_hint(wanted: ReplyQuery, made: TrainingSet) -> str:
    if "below the margin" in made.left_out:
        return f"ask for less than `{MARGIN} {wanted.margin:g}`"
    if wanted.kind == "pairs" and "alone" in made.left_out:
        return "pairs need two models, or `samples 2` in the ask"
    if "held out" in made.left_out:
        return f"run items that are in no subset, or hold out fewer: `{ExportParameters.hold_out} NAME`"
    if "filtered" in made.left_out:
        return "take out a filter"
    return "`tripos report` shows the results of the replies"
