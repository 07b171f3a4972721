"""Early stopping: sequences of figures and comparisons, when they are settled, and a forecast of what stopping saves.

A figure that can settle is a sum of means of bounded scores, in each cell of its dimensions. The value of an item is
the mean of its scores there. For each compared model, a confidence sequence follows the items of the run, and closes at
the last item. Two models are compared by the differences of their items; the p-values of all comparisons are corrected
after Holm.

A sum of means is itself a mean over items. With N items in total and n items in one mean, each of the n contributes N/n
times its own value, times the factor of the mean. If the mean is taken over K cells, it contributes N/(K n) times its
value. So one sequence follows the whole figure.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations, product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tripos.runs.records import find_store
from tripos.settings.options import MARGIN, UNTIL
from tripos_compiler.errors import TriposError
from tripos_compiler.language.sequential_stopping import (
    DECIDABLE_OPERATORS,
    SequentialFigure,
    SequentialMean,
    sequential_figure,
)
from tripos_compiler.plan import Expectation, Grade, Measure, Plan, Scenario, StoppingCriterion
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.selection import Selection, StopRule
from tripos_runtime.drivers.sequential_stopping import ItemScore
from tripos_runtime.forecast.estimates import EstimateSpan
from tripos_warehouse.sql import name as quoted, texts
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.runs import all_runs, get_selected

if TYPE_CHECKING:
    from tripos_warehouse.query.connection import Connection
    from tripos_warehouse.statistics.sequences import BettingSequence
    from tripos_warehouse.views.runs import RunRecord


LEVEL = 0.05
"""The probability that a sequence ever excludes the truth, and that any comparison is settled wrongly."""
Cell = tuple[str | None, ...]
Place = tuple[int, Cell]
"""The number of a mean in a figure, and its cell among those that the mean is taken over."""
Contributions = dict[Place, float]
"""The value of an item at each place."""


# Contributions of items to a figure
@dataclass
class FollowedFigure:
    """A figure by cell, and how the values of a case contribute to it. Its cells are known after every case is
    counted."""

    figure: SequentialFigure
    plan: Plan
    items: dict[Cell, int] = field(default_factory=dict)
    """The number of cases in each cell."""
    cases: dict[Cell, dict[str, int]] = field(default_factory=dict)
    """The number of cases by cell and cluster. A cluster is an item that several scenarios use, or items that were
    drawn together."""
    _counts: dict[Cell, dict[Place, int]] = field(default_factory=dict)
    _shapes: dict[Cell, set[frozenset[Place]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._dimensions = {metric.name: metric.dimension for metric in self.plan.metrics}

    def count(self, case: Case, scenario: Scenario, cluster: str) -> None:
        """Count a case of the run and its cluster."""
        for cell, places in self.places(case, scenario).items():
            self.items[cell] = self.items.get(cell, 0) + 1
            own = self.cases.setdefault(cell, {})
            own[cluster] = own.get(cluster, 0) + 1
            counts = self._counts.setdefault(cell, {})
            for place in places:
                counts[place] = counts.get(place, 0) + 1
            self._shapes.setdefault(cell, set()).add(places)

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells in which every mean has items."""
        for cell, counts in self._counts.items():
            if len({number for number, _ in counts}) == len(self.figure.means):
                yield cell

    def ends(self, cell: Cell) -> tuple[float, float]:
        """Return the bounds of an item's contribution to the figure."""
        lows, highs = zip(*(self._reach(cell, shape) for shape in self._shapes[cell]), strict=True)
        return self.figure.constant + min(lows), self.figure.constant + max(highs)

    def span(self, cell: Cell) -> float:
        """Return the maximum difference of two models' contributions by one cluster."""
        widest = max(high - low for low, high in (self._reach(cell, shape) for shape in self._shapes[cell]))
        return widest * max(self.share(cell, cluster) for cluster in self.cases[cell])

    def share(self, cell: Cell, cluster: str) -> float:
        """Return the weight of a cluster's mean in a mean over clusters, so that every case has the same weight."""
        own = self.cases[cell]
        return own[cluster] * len(own) / self.items[cell]

    def added(self, cell: Cell, values: Contributions) -> float:
        """Return the contribution of an item to the figure."""
        return self.figure.constant + sum(self._times(cell, place) * value for place, value in values.items())

    def from_means(self, cell: Cell, means: Mapping[Place, float]) -> float | None:
        """Return the figure for the mean at each place, or None if a place has none."""
        if self._counts[cell].keys() - means.keys():
            return None
        found = self.figure.constant
        for number, mean in enumerate(self.figure.means):
            found += mean.factor * fmean(value for (own, _), value in means.items() if own == number)
        return found

    def places(self, case: Case, scenario: Scenario) -> dict[Cell, frozenset[Place]]:
        """Return the cells and places in which a case has scores if nothing fails. `scenario` has only the treatments
        of the run."""
        by_cell: dict[Cell, set[Place]] = {}
        for number, mean in enumerate(self.figure.means):
            own = {step.fingerprint for step in mean.scored.steps}
            if all(each.name != scenario.name for each in mean.scored.scenarios):
                continue
            for treatment in scenario.treatments:
                for step in treatment.steps:
                    if getattr(step, "fingerprint", None) in own:
                        name = getattr(step, "name", "")
                        titles = step.metrics or (name,) if isinstance(step, Grade) else (name,)
                        for title in titles:
                            if mean.scored.kind != "metric" or title == mean.scored.name:
                                for cell, over in self._cells(mean, case, treatment.arms, title):
                                    by_cell.setdefault(cell, set()).add((number, over))
        return {cell: frozenset(places) for cell, places in by_cell.items()}

    def values(self, case: Case, scores: Sequence[ItemScore]) -> dict[tuple[str, Cell], Contributions]:
        """Return a case's values at each place, by model and cell: means of its scores, weighted by metric."""
        sums: dict[tuple[str, Cell, Place], tuple[float, float]] = {}
        for (number, mean), score in product(enumerate(self.figure.means), scores):
            named = score.scorer if mean.scored.kind == "scorer" else score.metric
            inside = mean.scored.within in (None, case.scenario.name)
            if not inside or named != mean.scored.name or score.value is None:
                continue
            weight = _weight(mean, case.scenario, score.metric)
            for cell, over in self._cells(mean, case, score.arms, score.metric):
                key = (score.model, cell, (number, over))
                total, weights = sums.get(key, (0.0, 0.0))
                sums[key] = total + weight * score.value, weights + weight
        by_model_and_cell: dict[tuple[str, Cell], Contributions] = {}
        for (model, cell, place), (total, weights) in sums.items():
            by_model_and_cell.setdefault((model, cell), {})[place] = total / weights
        return by_model_and_cell

    def _times(self, cell: Cell, place: Place) -> float:
        """Return the weight of an item's value at a place in its contribution."""
        number, _ = place
        cells = sum(own == number for own, _ in self._counts[cell])
        return self.figure.means[number].factor * self.items[cell] / (cells * self._counts[cell][place])

    def _reach(self, cell: Cell, shape: Iterable[Place]) -> tuple[float, float]:
        """Return the bounds of the contribution of an item with values at these places, without the constant."""
        low = high = 0.0
        for place in shape:
            ends = [self._times(cell, place) * end for end in self.figure.means[place[0]].ends]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _cells(
        self, mean: SequentialMean, case: Case, arms: Mapping[str, str], metric: str
    ) -> Iterator[tuple[Cell, Cell]]:
        """Yield the cell of a score, and its cell among those that the mean is taken over. Yield nothing if it belongs
        to none."""
        known: dict[str, Any] = {**case.context, **arms, "scenario": case.scenario.name, "metric": metric}
        known["dimension"] = self._dimensions.get(metric)

        def at(name: str) -> str | None:
            alias, dot, of = name.partition(".")
            value = case.names[alias].get(of) if dot else known.get(name)
            return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)

        if all(at(name) == value for name, value in mean.fixed):
            yield tuple(map(at, self.figure.by)), tuple(map(at, mean.over))


def _weight(mean: SequentialMean, scenario: Scenario, metric: str) -> float:
    if mean.scored.kind != "scorer":
        return 1.0
    own = {step.fingerprint for step in mean.scored.steps}
    for step in scenario.steps:
        if isinstance(step, Grade) and step.fingerprint in own and metric in step.metrics and step.weights:
            return step.weights[step.metrics.index(metric)]
    return 1.0


# Sequences
@dataclass
class FigureSequence:
    """The sequence of one model's figure in one cell."""

    name: str
    model: str
    figure: FollowedFigure
    cell: Cell
    sequence: BettingSequence
    gate: tuple[int, float] | None = None
    """For an expectation: the side on which it holds, and the bound."""
    margin: float | None = None
    """For a measure: the half-width of the interval at which it is settled."""
    decides: bool = False
    """True if the run continues until it is settled."""
    _sums: dict[Place, tuple[float, int]] = field(default_factory=dict)

    def add(self, places: Iterable[Place], values: Contributions) -> float | None:
        """Add the next item, and return its contribution, or None if a value is missing."""
        for place, value in values.items():
            total, many = self._sums.get(place, (0.0, 0))
            self._sums[place] = total + value, many + 1
        whole = values.keys() >= set(places)
        added = self.figure.added(self.cell, values) if whole else None
        self.sequence.add(added)
        return added

    @property
    def by(self) -> dict[str, str | None]:
        """The dimensions of the cell."""
        return dict(zip(self.figure.figure.by, self.cell, strict=True))

    @property
    def value(self) -> float | None:
        """The figure over the items so far."""
        return self.figure.from_means(self.cell, {place: total / many for place, (total, many) in self._sums.items()})

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the sequence, widened to contain the value and cut at the bounds of the figure."""
        low, high = self.sequence.interval(LEVEL)
        ends, value = self.figure.figure.ends, self.value
        inside = (low, high) if value is None else (min(low, value), max(high, value))
        return max(ends[0], inside[0]), min(ends[1], inside[1])

    @property
    def settled(self) -> bool:
        """True if the figure is known to the margin, or the expectation is decided."""
        low, high = self.interval
        if self.gate is not None:
            return not low <= self.gate[1] <= high
        return self.margin is not None and high - low <= 2 * self.margin + 1e-9

    def state(self) -> dict[str, Any]:
        """Return the state for JSON."""
        low, high = self.interval
        kind = "measure" if self.gate is None else "expect"
        where = {"name": self.name, "model": self.model, "by": self.by}
        count = {"items": self.sequence.n, "of": self.figure.items[self.cell], "missing": self.sequence.missing}
        figures = {"value": self.value, "low": low, "high": high, "level": LEVEL}
        return {"kind": kind, **where, **count, **figures, "settled": self.settled}


@dataclass
class ModelComparison:
    """The sequence of the differences of two models on a measure, in one cell. A cluster counts once, when all of its
    cases were read, because its cases are not independent; `tripos compare` does the same."""

    name: str
    model: str
    other: str
    figure: FollowedFigure
    cell: Cell
    sequence: BettingSequence
    _waiting: dict[str, tuple[int, list[float]]] = field(default_factory=dict)

    @property
    def by(self) -> dict[str, str | None]:
        """The dimensions of the cell."""
        return dict(zip(self.figure.figure.by, self.cell, strict=True))

    def add(self, cluster: str, difference: float | None) -> None:
        """Add the next case. `difference` is None if one of the models has no value."""
        read, found = self._waiting.pop(cluster, (0, []))
        found = found if difference is None else [*found, difference]
        if read + 1 < self.figure.cases[self.cell][cluster]:
            self._waiting[cluster] = (read + 1, found)
        elif found:
            self.sequence.add(self.figure.share(self.cell, cluster) * fmean(found))


# The stopping rule
@dataclass
class EarlyStopper:
    """The stopping rule of one run: follows its figures. Raises `TriposError` R0202 if none of them can settle."""

    plan: Plan
    models: Sequence[str]
    source: CaseSource
    selection: Selection
    rule: StopRule
    items: dict[str, int] = field(default_factory=dict)
    """The number of items read, by model."""
    of: int = 0
    """The number of items of the whole run."""
    followed: dict[tuple[str, str, Cell], FigureSequence] = field(default_factory=dict)
    comparisons: list[ModelComparison] = field(default_factory=list)
    unsupported_measures: tuple[str, ...] = ()
    """Measures that no sequence can follow."""
    _figures: dict[str, FollowedFigure] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        measures: list[tuple[str, Measure | Expectation]] = [(measure.name, measure) for measure in self.plan.measures]
        candidates = [
            *measures,
            *(
                (expectation.shown, expectation)
                for expectation in self.plan.expectations
                if expectation.operator in DECIDABLE_OPERATORS
            ),
        ]
        why: dict[str, str] = {}
        self._scenarios = {scenario.name: scenario for scenario in self.selection.chosen(self.plan)}
        for name, each in candidates:
            figure = sequential_figure(self.plan, each)
            if isinstance(figure, str):
                why[name] = figure
            else:
                self._figures[name] = FollowedFigure(figure, self.plan)
        self.unsupported_measures = tuple(name for name, _ in measures if name in why)
        headline = next((name for name in self.plan.benchmark.headline if name in why), None)
        if headline is not None and not self.rule.declared:
            raise TriposError(
                "R0202", "the headline cannot be settled before the last item", self._hint({headline: why[headline]})
            )
        self._follow(dict(candidates))
        self._open, self.items = list(self.models), dict.fromkeys(self.models, 0)
        if not self.rule.declared and not self.asks:
            raise TriposError("R0202", "nothing of this benchmark can be settled before its last item", self._hint(why))

    @property
    def asks(self) -> bool:
        """True if there is anything to settle. A single model has no comparisons."""
        return any(self._questions(model) for model in self.models)

    def _follow(self, candidates: Mapping[str, Measure | Expectation]) -> None:
        """Create the sequences of every figure, and of the comparisons that the rule requires."""
        from tripos_warehouse.statistics.sequences import BettingSequence

        self._count()
        for name, figure in self._figures.items():
            each = candidates[name]
            until = self._until(each)
            gate = (DECIDABLE_OPERATORS[each.operator], each.value) if isinstance(each, Expectation) else None
            margin = until.within if until is not None else None
            asked = until is not None and (gate is not None or margin is not None)
            compares = until is not None and margin is None if self.rule.declared else self._compared(name, figure)
            for cell in figure.cells:
                count = figure.items[cell]
                for model in self.models:
                    sequence = BettingSequence(figure.ends(cell), count)
                    figure_sequence = FigureSequence(name, model, figure, cell, sequence, gate, margin, asked)
                    self.followed[name, model, cell] = figure_sequence
                if gate is None and compares:
                    span, planned = figure.span(cell), len(figure.cases[cell])
                    self.comparisons += [
                        ModelComparison(name, one, two, figure, cell, BettingSequence((-span, span), planned=planned))
                        for one, two in combinations(self.models, 2)
                    ]

    def _compared(self, name: str, figure: FollowedFigure) -> bool:
        """Return true if models are compared by a measure when the benchmark does not declare which."""
        own = figure.figure
        return not own.by and (own.is_mean or name in self.plan.benchmark.headline)

    def _until(self, each: Measure | Expectation) -> StoppingCriterion | None:
        """Return the rule for a measure or an expectation, or None if the run does not wait for it."""
        if not self.rule.declared:
            of_measures = isinstance(each, Measure) and self.rule.margin is not None
            return StoppingCriterion(within=self.rule.margin) if of_measures or self.rule.margin is None else None
        headline = isinstance(each, Measure) and each.name in self.plan.benchmark.headline
        return each.until or (self.plan.benchmark.until if headline else None)

    def _hint(self, why: Mapping[str, str]) -> str:
        text = "; ".join(f"`{name}` {reason}" for name, reason in list(why.items())[:3])
        if self.rule.margin is None and self.followed:
            return f"one model alone is compared with none: give {MARGIN} too, or declare an `expect`"
        return f"leave out {UNTIL}: {text}" if text else f"leave out {UNTIL}: there is no measure"

    def _count(self) -> None:
        """Count the items of the run and of each cell of each figure."""
        for scenario in self._scenarios.values():
            for case in self.source.of(scenario, self.selection):
                self.of += 1
                for figure in self._figures.values():
                    figure.count(case, scenario, self._cluster(case))

    def _questions(self, model: str) -> list[bool]:
        """Return for each question about a model that the rule asks whether it is settled."""
        own = [sequence.settled for sequence in self.followed.values() if sequence.model == model and sequence.decides]
        if self.rule.margin is not None:
            return own
        apart = zip(self.comparisons, self._corrected(), strict=True)
        return own + [p <= LEVEL for comparison, p in apart if model in (comparison.model, comparison.other)]

    def _corrected(self) -> list[float]:
        from tripos_warehouse.statistics.multiple_tests import holm

        return [1.0 if p is None else p for p in holm([comparison.sequence.p(0.0) for comparison in self.comparisons])]

    def _estimate(self, each: ModelComparison) -> float | None:
        """Return the estimated difference: the mean, corrected for the bias of stopping if the run stopped because of
        it."""
        low, high = each.sequence.interval(LEVEL)
        if self.rule.margin is None and each.sequence.n < len(each.figure.cases[each.cell]):
            return each.sequence.estimate(0.0, LEVEL)
        return None if each.sequence.mean is None else min(max(each.sequence.mean, low), high)

    @property
    def sequences(self) -> int:
        """The number of sequences."""
        return len(self.followed) + len(self.comparisons)

    @property
    def asked(self) -> Sequence[str]:
        """The models that are still asked."""
        return self._open

    @property
    def settled(self) -> bool:
        """True if no model is asked any more."""
        return not self._open

    def read(self, case: Case, scores: Sequence[ItemScore]) -> None:
        """Add the scores of the next item."""
        for model in self._open:
            self.items[model] += 1
        scenario, added = self._scenarios[case.scenario.name], dict[tuple[str, str, Cell], float | None]()
        for name, figure in self._figures.items():
            values = figure.values(case, scores)
            for cell, places in figure.places(case, scenario).items():
                for model in self._open:
                    if (followed := self.followed.get((name, model, cell))) is not None:
                        added[name, model, cell] = followed.add(places, values.get((model, cell), {}))
        for comparison in self.comparisons:
            both = [(comparison.name, model, comparison.cell) for model in (comparison.model, comparison.other)]
            if all(key in added for key in both):
                one, two = (added[key] for key in both)
                comparison.add(self._cluster(case), None if one is None or two is None else one - two)
        questions = {model: self._questions(model) for model in self._open}
        self._open = [model for model, question in questions.items() if not question or not all(question)]

    def _cluster(self, case: Case) -> str:
        return self.source.cluster(case) or case.item_id

    def state(self) -> dict[str, Any]:
        """Return the state for JSON: the rule, the number of items read, and every figure."""
        figures = [sequence.state() for sequence in self.followed.values()]
        for comparison, p in zip(self.comparisons, self._corrected(), strict=True):
            alone = comparison.sequence.p(0.0)
            low, high = comparison.sequence.interval(LEVEL)
            where: dict[str, Any] = {"name": comparison.name, "model": comparison.model, "other": comparison.other}
            where |= {"by": comparison.by} if comparison.by else {}
            count = {"items": comparison.sequence.n, "of": len(comparison.figure.cases[comparison.cell])}
            sizes = {"value": self._estimate(comparison), "mean": comparison.sequence.mean}
            found = {**sizes, "low": low, "high": high, "level": LEVEL, "p": p, "p_alone": alone}
            figures.append({"kind": "comparison", **where, **count, **found, "settled": p <= LEVEL})
        rule = {
            "until": "spec" if self.rule.declared else "settled",
            "margin": self.rule.margin,
            "seed": self.rule.seed,
        }
        return {**rule, "items": max(self.items.values()), "of": self.of, "models": self.items, "figures": figures}


ORDERS = 9
"""The maximum number of random orders that are replayed."""
MOST_READS = 60_000
"""The maximum number of items times sequences over all orders."""
MOST_MODELS = 6
"""The maximum number of models whose scores are replayed in place of models that the store does not know."""
StoredScores = Mapping[tuple[str, str], Sequence[ItemScore]]
"""Scores by scenario and item."""


# The forecast
@dataclass(frozen=True)
class EarlyStoppingForecast:
    """The number of items that a run with early stopping uses, by scores of earlier runs in random orders."""

    of: int
    """The number of items of the whole run."""
    models: tuple[str, ...] = ()
    """The models whose scores are replayed."""
    others: tuple[str, ...] = ()
    """Models of the run without scores in the store."""
    scored: int = 0
    """The number of items with scores. Scores of other items are drawn from these."""
    items: tuple[float, ...] = ()
    """For each order, the mean number of items asked per model, in ascending order."""
    unsettled: int = 0
    """The number of orders in which something was not settled before the last item."""
    calls: EstimateSpan | None = None
    """The calls of the whole run."""
    cost_usd: EstimateSpan | None = None
    """The cost of the whole run; `None` if a price is unknown."""
    unknown: str | None = None
    """The reason why there is no forecast."""

    @property
    def share(self) -> float:
        """The mean share of items that a model is asked for."""
        return fmean(self.items) / self.of if self.items and self.of else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the forecast for JSON."""
        return {
            "format": "tripos.settling/1",
            "items": self.of,
            "unknown": self.unknown,
            "models": list(self.models),
            "not_learned_from": list(self.others),
            "items_scored": self.scored,
            "orders": [round(item, 1) for item in self.items],
            "orders_unsettled": self.unsettled,
            "share": None if self.unknown else self.share,
            "calls": self._saved(self.calls),
            "cost_usd": self._saved(self.cost_usd),
        }

    def _saved(self, span: EstimateSpan | None) -> dict[str, float] | None:
        if span is None or self.unknown:
            return None
        return {"all": span.expected, "until_settled": span.expected * self.share}


def forecast_early_stopping(
    source: CaseSource, selection: Selection, asked: Sequence[str], blank: EarlyStoppingForecast, store_path: str
) -> EarlyStoppingForecast:
    """Forecast how far a run of the models `asked` would go before it is settled, by the latest scores in a store.
    `blank` has the size of the whole run. Raises `TriposError` R0202 if nothing can be settled."""
    store = find_store(store_path)
    if store is None:
        return replace(blank, unknown="there is no store yet")
    with connect(store) as connection:
        runs = [run for run in all_runs(connection) if run.benchmark == source.plan.benchmark.name]
        if not runs:
            return replace(blank, unknown="the store has no run of this benchmark")
        models = _models(runs, asked)
        plan = get_selected(connection, runs[0])
        known = _scores(connection, plan, models)
    seen = {score.model for scores in known.values() for score in scores}
    models = tuple(model for model in models if model in seen)
    if not models:
        return replace(blank, unknown="the last run of this benchmark has no scores")
    forecast = replace(blank, models=models, others=tuple(model for model in asked if model not in models))
    return _replayed(source, selection, forecast, known)


def _models(runs: Sequence[RunRecord], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the models whose scores are replayed: the models asked, or if the store knows fewer than two of them, as
    many others."""
    every = list(dict.fromkeys(model for run in runs for model in run.models))
    own = [model for model in asked if model in every]
    if own and len(own) == len(asked):
        return tuple(own)
    rest = [model for model in every if model not in own]
    return tuple([*own, *rest][: min(MOST_MODELS, max(2, len(asked)))])


def _scores(connection: Connection, plan: Plan, models: Sequence[str]) -> StoredScores:
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


def _replayed(
    source: CaseSource, selection: Selection, told: EarlyStoppingForecast, known: StoredScores
) -> EarlyStoppingForecast:
    rule = selection.until
    assert rule is not None
    items: list[float] = []
    unsettled, orders = 0, ORDERS
    seed = -1
    while (seed := seed + 1) < orders:
        stop_rule = replace(rule, seed=rule.seed + seed)
        drawn = replace(selection, until=stop_rule)
        settler = EarlyStopper(source.plan, told.models, source, drawn, stop_rule)
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


def _read(cases: Iterator[Case], known: StoredScores, seed: int) -> Iterator[tuple[Case, Sequence[ItemScore]]]:
    """Yield cases with their scores. A case without scores gets those of another item of its scenario."""
    draw = random.Random(seed)
    there: dict[str, list[tuple[str, str]]] = {}
    for key in sorted(known):
        there.setdefault(key[0], []).append(key)
    for case in cases:
        key = (case.scenario.name, case.item_id)
        if key not in known and there.get(case.scenario.name):
            key = draw.choice(there[case.scenario.name])
        yield case, known.get(key, ())
