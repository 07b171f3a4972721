"""Items of kinds that are drawn, and the errors of what is made of their means, from numpy's jackknife and bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.compiler.compiling import compile_files, plan_of
from tests.warehouse.synthetic import Results
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureTable
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { text text, kind text }
scenario sums {
  over item as q
  ask answer by candidate { prompt "{{ q.text }}", returns { sum integer }, samples 3 }
  score right = answer.sum == 42
  score long  = answer.sum
MEASURES
}
"""
ROW = "".join(f'{{"text": "?", "kind": "{kind}"}}\n' for kind in "abcd")
DRAWS = 3000


def plan_of_items(folder: Path, measures: str) -> Plan:
    return plan_of(compile_files(folder, {"spec.tripos": SPEC.replace("MEASURES", measures), "items.jsonl": ROW}))


def measured(store: Store, plan: Plan) -> dict[str, MeasureTable]:
    with connect(store) as connection:
        return {each.name: evaluate(connection, plan, each) for each in plan.measures}


class Drawn:
    """Items of kinds, each with a few values of replies."""

    def __init__(self, seed: int, sizes: Sequence[int], scale: float = 1.0) -> None:
        random = np.random.default_rng(seed)
        self.kinds = np.repeat([chr(97 + place) for place in range(len(sizes))], sizes)
        self._known: tuple[list[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
        self.values = []
        for place, kind in enumerate(self.kinds):
            level = random.normal(20 + 3 * (ord(kind) - 97), 4) * scale
            many = 1 + place % 3
            self.values.append(np.round(random.normal(level, 2, many), 3))

    def write(self, store: Store, plan: Plan, right: bool = False) -> None:
        results = Results(plan)
        for place, (kind, own) in enumerate(zip(self.kinds, self.values, strict=True)):
            results.item("sums", f"i{place:03}", {"kind": str(kind), "text": "?"})
            for number, value in enumerate(own):
                results.add("sums", "long", f"i{place:03}", float(value), number=number)
                results.add("sums", "right", f"i{place:03}", float(value > 22), number=number)
        results.write(store)

    def mean(self, counts: np.ndarray, kind: str | None = None) -> float:
        """Return the mean of the values of items, each of which counts so many times; of one kind, or of all."""
        chosen = counts * ((self.kinds == kind) if kind is not None else 1)
        sums, sizes = self._totals()
        return float((chosen * sums).sum() / (chosen * sizes).sum())

    def _totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum and the number of the values of each item, which are the same for all draws."""
        if self._known is None or self._known[0] is not self.values:
            sums = np.array([own.sum() for own in self.values])
            self._known = self.values, (sums, np.array([len(own) for own in self.values]))
        return self._known[1]

    def jackknifed(self, statistic: Callable[[np.ndarray], float]) -> float:
        """Return the error of a statistic of how often each item counts, from leaving out one item after another."""
        m = len(self.kinds)
        moved = np.array([statistic((np.arange(m) != place).astype(float)) for place in range(m)])
        return float(np.sqrt((m - 1) / m * ((moved - moved.mean()) ** 2).sum()))

    def drawn_again(self, statistic: Callable[[np.ndarray], float]) -> float:
        """Return the error of a statistic from items that are drawn again."""
        m, random = len(self.kinds), np.random.default_rng(1)
        return float(np.std([statistic(random.multinomial(m, [1 / m] * m)) for _ in range(DRAWS)], ddof=1))
