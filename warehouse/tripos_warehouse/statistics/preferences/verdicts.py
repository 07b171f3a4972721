"""Verdicts of judges who saw two replies side by side, and their counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import clopper_pearson, mean
from tripos_warehouse.statistics.ratings import Flags, Floats, Ints


@dataclass(frozen=True)
class Preference:
    """Which of two models' replies a judge preferred.

    Raises `ValueError` where a model meets itself or the winner is neither.

    >>> Preference("a", "b", "b").score_of("a"), Preference("a", "b", None).score_of("a")
    (0.0, 0.5)
    """

    first: str
    """The model whose reply was shown first."""
    second: str
    winner: str | None
    """`None` for a tie."""
    item: Hashable = None
    """What the replies answer; verdicts on the same item are not independent. `None`: an item of its own."""
    judge: str | None = None

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ValueError(f"`{self.first}` is compared with itself")
        if self.winner not in {self.first, self.second, None}:
            raise ValueError(f"`{self.winner}` won, and `{self.first}` and `{self.second}` took part")

    def score_of(self, model: str) -> float:
        """1 where `model` won, 0 where it lost, ½ for a tie."""
        return 0.5 if self.winner is None else float(self.winner == model)

    @property
    def models(self) -> tuple[str, str]:
        """Both models, in the order of their names."""
        return (self.first, self.second) if self.first < self.second else (self.second, self.first)


def item_codes(verdicts: Sequence[Preference]) -> Ints:
    """Return a number from 0 for the item of each verdict; a verdict without one has its own.

    >>> item_codes([Preference("a", "b", "a", 7), Preference("a", "b", "a"), Preference("b", "a", "a", 7)]).tolist()
    [0, 1, 0]
    """
    seen: dict[Hashable, int] = {}
    keys = [(at, None) if verdict.item is None else (None, verdict.item) for at, verdict in enumerate(verdicts)]
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def win_rate(
    verdicts: Sequence[Preference], model: str, opponent: str | None = None, *, confidence: float = 0.95
) -> StatisticResult:
    """The share of its comparisons that a model won, a tie as half of one: 0 to 1; of those with `opponent`, if given.

    The interval is the exact one where there are no ties and every item has one verdict, else that of a `bounded` mean
    over items.

    >>> rate = win_rate([Preference("a", "b", "a"), Preference("b", "a", "a"), Preference("a", "b", None)], "a")
    >>> round(rate.value, 3), rate.n
    (0.833, 3)
    """
    taken = [each for each in verdicts if model in each.models and (opponent is None or opponent in each.models)]
    if not taken:
        return StatisticResult.undefined(f"no verdict on `{model}`" + (f" and `{opponent}`" if opponent else ""))
    return share([each.score_of(model) for each in taken], item_codes(taken), confidence)


def share(parts: Sequence[float], items: Ints, confidence: float) -> StatisticResult:
    """The mean of parts from 0 to 1, with the interval that suits them: `n` are the parts, `clusters` their items."""
    alone = len(np.unique(items)) == len(parts)
    if alone and all(part in {0, 1} for part in parts):
        return clopper_pearson(sum(parts), len(parts), confidence=confidence)
    found = mean(parts, items, confidence=confidence, ends=(0.0, 1.0))
    return replace(found, statistic=None, df=None, p=None)


@dataclass(frozen=True, eq=False)
class Counts:
    """Verdicts by their models' numbers: of each `first` and `second` in the sense of `models`, not of the order shown.

    `outcome` is 1 where the first won, −1 where the second did, 0 for a tie.
    """

    models: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Ints
    item: Ints
    weight: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, verdicts: Sequence[Preference]) -> Counts:
        """Return the verdicts as arrays, models by name."""
        models = tuple(sorted({model for verdict in verdicts for model in verdict.models}))
        place = {model: at for at, model in enumerate(models)}
        pairs = np.array([[place[model] for model in each.models] for each in verdicts], dtype=np.int64).reshape(-1, 2)
        outcome = np.array([round(2 * each.score_of(each.models[0]) - 1) for each in verdicts], dtype=np.int64)
        return cls(models, pairs[:, 0], pairs[:, 1], outcome, item_codes(verdicts), np.ones(len(verdicts)))

    def wins(self) -> Floats:
        """Return how often the model of a row beat that of a column."""
        return self._table(self.outcome == 1) + self._table(self.outcome == -1).T

    def ties(self) -> Floats:
        """Return how often the two of them tied, both ways round."""
        tied = self._table(self.outcome == 0)
        return tied + tied.T

    def _table(self, chosen: Flags) -> Floats:
        """Return the weight of the chosen verdicts by their first and second model."""
        size = len(self.models)
        cells = self.first[chosen] * size + self.second[chosen]
        total = np.bincount(cells, weights=self.weight[chosen], minlength=size * size)
        return total.astype(np.float64).reshape(size, size)
