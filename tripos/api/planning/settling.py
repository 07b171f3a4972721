"""The saving of a run that stops when it is settled: how far it would go by the scores that a store has."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tripos.runs import RunSettler, find_store
from tripos.ui import Failure
from tripos_compiler.plan import Plan
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_runtime.drivers import ItemScore
from tripos_runtime.forecast import EstimateSpan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.sql import name as quoted, texts
from tripos_warehouse.store import HUMAN
from tripos_warehouse.views import all_runs, arm_columns, connect, get_selected

if TYPE_CHECKING:
    from tripos_warehouse.query import Connection
    from tripos_warehouse.views import RunRecord

ORDERS = 9
"""The random orders that are replayed, at the most."""
MOST_READS = 60_000
"""The items times sequences that are replayed in all orders together."""
MOST_MODELS = 6
"""The models whose scores are replayed, if others are asked than the store knows."""
Known = Mapping[tuple[str, str], Sequence[ItemScore]]
"""Scores by scenario and item."""


@dataclass(frozen=True)
class SettlingForecast:
    """How many items a run that stops when it is settled asks for, by scores of earlier runs in random orders."""

    of: int
    """The items that it would have."""
    models: tuple[str, ...] = ()
    """The models whose scores are replayed."""
    others: tuple[str, ...] = ()
    """Models of the run of which the store has no scores."""
    scored: int = 0
    """The items with scores; those of the others are drawn from theirs."""
    items: tuple[float, ...] = ()
    """For each order the items that a model was asked for, as a mean over models, the fewest first."""
    unsettled: int = 0
    """The orders in which something was not settled before the last item."""
    calls: EstimateSpan | None = None
    """The calls of a run over all items."""
    cost_usd: EstimateSpan | None = None
    """The cost of a run over all items; `None` where a price is not known."""
    unknown: str | None = None
    """Why nothing is known."""

    @property
    def share(self) -> float:
        """The share of all items that a model is asked for, in the mean over orders."""
        return fmean(self.items) / self.of if self.items and self.of else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "format": "tripos.settling/1",
            "items": self.of,
            "unknown": self.unknown,
            "models": list(self.models),
            "not_learned_from": list(self.others),
            "items_scored": self.scored,
            "orders": [round(each, 1) for each in self.items],
            "orders_unsettled": self.unsettled,
            "share": None if self.unknown else self.share,
            "calls": self._saved(self.calls),
            "cost_usd": self._saved(self.cost_usd),
        }

    def _saved(self, span: EstimateSpan | None) -> dict[str, float] | None:
        if span is None or self.unknown:
            return None
        return {"all": span.expected, "until_settled": span.expected * self.share}


def foresee_settling(
    source: CaseSource, selection: Selection, asked: Sequence[str], blank: SettlingForecast, store_path: str
) -> SettlingForecast:
    """Return how far a run of the models `asked` would go until it is settled, by the latest scores of a store; `blank`
    has what the run takes to its last item. Raises `Failure` R0202 where nothing of it can be settled."""
    try:
        store = find_store(store_path)
        if store is None:
            return replace(blank, unknown="there is no store yet")
        with connect(store) as connection:
            runs = [run for run in all_runs(connection) if run.benchmark == source.plan.benchmark.name]
            if not runs:
                return replace(blank, unknown="the store has no run of this benchmark")
            models = _models(runs, asked)
            kept = get_selected(connection, runs[0])
            known = _scores(connection, kept, models)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    seen = {score.model for scores in known.values() for score in scores}
    models = tuple(model for model in models if model in seen)
    if not models:
        return replace(blank, unknown="the last run of this benchmark has no scores")
    told = replace(blank, models=models, others=tuple(model for model in asked if model not in models))
    return _replayed(source, selection, told, known)


def _models(runs: Sequence[RunRecord], asked: Sequence[str]) -> tuple[str, ...]:
    """Return whose scores are replayed: those of the models that are asked; if the store knows fewer than two of them,
    those of as many others."""
    every = list(dict.fromkeys(model for run in runs for model in run.models))
    own = [model for model in asked if model in every]
    if own and len(own) == len(asked):
        return tuple(own)
    rest = [model for model in every if model not in own]
    return tuple([*own, *rest][: min(MOST_MODELS, max(2, len(asked)))])


def _scores(connection: Connection, plan: Plan, models: Sequence[str]) -> Known:
    arms = arm_columns(plan)
    columns = "".join(f", {quoted(arm)}" for arm in arms)
    rows = connection.execute(
        f"select scenario, item_id, model, scorer, metric, value{columns} from {quoted(plan.benchmark.name)}.scores"
        f" where model in {texts(models)} and status != 'not_applicable'"
        f" and not starts_with(coalesce(evaluator, ''), '{HUMAN}') order by score_id"
    ).fetchall()
    found: dict[tuple[str, str], list[ItemScore]] = {}
    for scenario, item, model, scorer, metric, value, *rest in rows:
        given = {arm: here for arm, here in zip(arms, rest, strict=True) if here is not None}
        found.setdefault((scenario, item), []).append(ItemScore(model, scorer, metric, given, value))
    return found


def _replayed(source: CaseSource, selection: Selection, told: SettlingForecast, known: Known) -> SettlingForecast:
    rule = selection.until
    assert rule is not None
    items: list[float] = []
    unsettled, orders = 0, ORDERS
    seed = -1
    while (seed := seed + 1) < orders:
        own = replace(rule, seed=rule.seed + seed)
        drawn = replace(selection, until=own)
        settler = RunSettler(source.plan, told.models, source, drawn, own)
        if not settler.asks:
            return replace(told, unknown="the store has scores of one model, and it is compared with none")
        orders = max(1, min(ORDERS, MOST_READS // max(1, told.of * settler.sequences)))
        for case, scores in _read(source.cases(drawn), known, seed):
            settler.read(case, scores)
            if settler.settled:
                break
        else:
            unsettled += 1
        items.append(fmean(settler.items.values()))
    return replace(told, items=tuple(sorted(items)), unsettled=unsettled, scored=min(told.of, len(known)))


def _read(cases: Iterator[Case], known: Known, seed: int) -> Iterator[tuple[Case, Sequence[ItemScore]]]:
    """Yield cases with their scores; those without any have those of another item of their scenario."""
    draw = random.Random(seed)
    there: dict[str, list[tuple[str, str]]] = {}
    for key in sorted(known):
        there.setdefault(key[0], []).append(key)
    for case in cases:
        key = (case.scenario.name, case.item_id)
        if key not in known and there.get(case.scenario.name):
            key = draw.choice(there[case.scenario.name])
        yield case, known.get(key, ())
