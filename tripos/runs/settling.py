"""Settled figures: what a run that stops early reads of every item, and when nothing is left to find out.

A figure that can settle is a sum of means of scores that have two ends, in each cell of its dimensions. An item's value
is the mean of its scores there. Of each compared model it has a sequence over the items that the run was to have,
which closes at the last of them. Two models are compared by the differences of their items, for items like these, and
the p-values of all comparisons are corrected after Holm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tripos.runs.followed import LEVEL, Cell, Followed, FollowedFigure
from tripos.ui import Failure
from tripos_compiler.language.figures import DECIDED, settling_figure
from tripos_compiler.plan import Expectation, Measure, Plan, Settling
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Case, CaseSource, Selection, StopRule
from tripos_runtime.drivers import ItemScore

if TYPE_CHECKING:
    from tripos_warehouse.statistics.design import BettingSequence


@dataclass
class Versus:
    """The sequence of the differences of two models on a measure, in one cell. A cluster counts once all of its cases
    were read: they are no independent draws, as `tripos compare` holds too."""

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
        """Take the next case: the difference of the models, `None` where one of them has no value."""
        read, found = self._waiting.pop(cluster, (0, []))
        found = found if difference is None else [*found, difference]
        if read + 1 < self.figure.cases[self.cell][cluster]:
            self._waiting[cluster] = (read + 1, found)
        elif found:
            self.sequence.add(self.figure.share(self.cell, cluster) * fmean(found))


@dataclass
class RunSettler:
    """Follows the figures of one run. Raises `Failure` R0202 where none of them can settle."""

    plan: Plan
    models: Sequence[str]
    source: CaseSource
    selection: Selection
    rule: StopRule
    items: dict[str, int] = field(default_factory=dict)
    """The items that were read of each model."""
    of: int = 0
    """The items that the run would have."""
    followed: dict[tuple[str, str, Cell], Followed] = field(default_factory=dict)
    versus: list[Versus] = field(default_factory=list)
    unfollowed: tuple[str, ...] = ()
    """The measures that no sequence can follow."""
    _figures: dict[str, FollowedFigure] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        measures: list[tuple[str, Measure | Expectation]] = [(each.name, each) for each in self.plan.measures]
        wanted = [*measures, *((each.shown, each) for each in self.plan.expectations if each.operator in DECIDED)]
        why: dict[str, str] = {}
        self._scenarios = {scenario.name: scenario for scenario in self.selection.chosen(self.plan)}
        for name, each in wanted:
            found = settling_figure(self.plan, each)
            if isinstance(found, str):
                why[name] = found
            else:
                self._figures[name] = FollowedFigure(found, self.plan)
        self.unfollowed = tuple(name for name, _ in measures if name in why)
        headline = next((name for name in self.plan.benchmark.headline if name in why), None)
        if headline is not None and not self.rule.declared:
            raise Failure(
                "R0202", "the headline cannot be settled before the last item", self._hint({headline: why[headline]})
            )
        self._follow(dict(wanted))
        self._open, self.items = list(self.models), dict.fromkeys(self.models, 0)
        if not self.rule.declared and not self.asks:
            raise Failure("R0202", "nothing of this benchmark can be settled before its last item", self._hint(why))

    @property
    def asks(self) -> bool:
        """True if there is any question that the run goes on for. One model alone is compared with none."""
        return any(self._questions(model) for model in self.models)

    def _follow(self, wanted: Mapping[str, Measure | Expectation]) -> None:
        """Open the sequences: of every figure, and of the comparisons that the run goes on for."""
        from tripos_warehouse.statistics.design import BettingSequence

        self._count()
        for name, figure in self._figures.items():
            each = wanted[name]
            until = self._until(each)
            gate = (DECIDED[each.operator], each.value) if isinstance(each, Expectation) else None
            margin = until.within if until is not None else None
            asked = until is not None and (gate is not None or margin is not None)
            compares = until is not None and margin is None if self.rule.declared else self._compared(name, figure)
            for cell in figure.cells:
                count = figure.items[cell]
                for model in self.models:
                    sequence = BettingSequence(figure.ends(cell), count)
                    own = Followed(name, model, figure, cell, sequence, gate, margin, asked)
                    self.followed[name, model, cell] = own
                if gate is None and compares:
                    span, planned = figure.span(cell), len(figure.cases[cell])
                    self.versus += [
                        Versus(name, one, two, figure, cell, BettingSequence((-span, span), planned=planned))
                        for one, two in combinations(self.models, 2)
                    ]

    def _compared(self, name: str, figure: FollowedFigure) -> bool:
        """Return true if models are compared in a measure where the benchmark does not say in which."""
        own = figure.figure
        return not own.by and (own.is_mean or name in self.plan.benchmark.headline)

    def _until(self, each: Measure | Expectation) -> Settling | None:
        """Return until when the run goes on for a measure or an expectation; None where it does not."""
        if not self.rule.declared:
            of_measures = isinstance(each, Measure) and self.rule.margin is not None
            return Settling(within=self.rule.margin) if of_measures or self.rule.margin is None else None
        headline = isinstance(each, Measure) and each.name in self.plan.benchmark.headline
        return each.until or (self.plan.benchmark.until if headline else None)

    def _hint(self, why: Mapping[str, str]) -> str:
        told = "; ".join(f"`{name}` {reason}" for name, reason in list(why.items())[:3])
        if self.rule.margin is None and self.followed:
            return "one model alone is compared with none: give --margin too, or declare an `expect`"
        return f"leave out --until: {told}" if told else "leave out --until: there is no measure"

    def _count(self) -> None:
        """Count the items of the run, and those of each cell of each figure."""
        for scenario in self._scenarios.values():
            for case in self.source.of(scenario, self.selection):
                self.of += 1
                for figure in self._figures.values():
                    figure.count(case, scenario, self._cluster(case))

    def _questions(self, model: str) -> list[bool]:
        """Return whether each of the questions about a model is answered that the rule asks."""
        own = [each.settled for each in self.followed.values() if each.model == model and each.wanted]
        if self.rule.margin is not None:
            return own
        apart = zip(self.versus, self._corrected(), strict=True)
        return own + [p <= LEVEL for each, p in apart if model in (each.model, each.other)]

    def _corrected(self) -> list[float]:
        from tripos_warehouse.statistics import holm

        return [1.0 if p is None else p for p in holm([each.sequence.p(0.0) for each in self.versus])]

    def _estimate(self, each: Versus) -> float | None:
        """Return the size of a difference: its mean, moved back where the run stopped for the size itself."""
        low, high = each.sequence.interval(LEVEL)
        if self.rule.margin is None and each.sequence.n < len(each.figure.cases[each.cell]):
            return each.sequence.estimate(0.0, LEVEL)
        return None if each.sequence.mean is None else min(max(each.sequence.mean, low), high)

    @property
    def sequences(self) -> int:
        """The sequences that it follows."""
        return len(self.followed) + len(self.versus)

    @property
    def asked(self) -> Sequence[str]:
        """The models that are still asked."""
        return self._open

    @property
    def settled(self) -> bool:
        """True if nobody is asked any more."""
        return not self._open

    def read(self, case: Case, scores: Sequence[ItemScore]) -> None:
        """Take the scores of the next item."""
        for model in self._open:
            self.items[model] += 1
        scenario, added = self._scenarios[case.scenario.name], dict[tuple[str, str, Cell], float | None]()
        for name, figure in self._figures.items():
            values = figure.values(case, scores)
            for cell, places in figure.places(case, scenario).items():
                for model in self._open:
                    if (followed := self.followed.get((name, model, cell))) is not None:
                        added[name, model, cell] = followed.add(places, values.get((model, cell), {}))
        for each in self.versus:
            both = [(each.name, model, each.cell) for model in (each.model, each.other)]
            if all(key in added for key in both):
                one, two = (added[key] for key in both)
                each.add(self._cluster(case), None if one is None or two is None else one - two)
        questions = {model: self._questions(model) for model in self._open}
        self._open = [model for model, own in questions.items() if not own or not all(own)]

    def _cluster(self, case: Case) -> str:
        return self.source.cluster(case) or case.item_id

    def told(self) -> dict[str, Any]:
        """Return what was settled and how, as JSON: the rule, how many items were read, and every figure."""
        figures = [each.told() for each in self.followed.values()]
        for each, p in zip(self.versus, self._corrected(), strict=True):
            alone = each.sequence.p(0.0)
            low, high = each.sequence.interval(LEVEL)
            where: dict[str, Any] = {"name": each.name, "model": each.model, "other": each.other}
            where |= {"by": each.by} if each.by else {}
            count = {"items": each.sequence.n, "of": len(each.figure.cases[each.cell])}
            sizes = {"value": self._estimate(each), "mean": each.sequence.mean}
            found = {**sizes, "low": low, "high": high, "level": LEVEL, "p": p, "p_alone": alone}
            figures.append({"kind": "comparison", **where, **count, **found, "settled": p <= LEVEL})
        rule = {
            "until": "spec" if self.rule.declared else "settled",
            "margin": self.rule.margin,
            "seed": self.rule.seed,
        }
        return {**rule, "items": max(self.items.values()), "of": self.of, "models": self.items, "figures": figures}
