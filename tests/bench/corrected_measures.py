"""How often intervals of corrected measures of every kind hold what people would say, through a store and its SQL.

    python -m tests.bench.corrected_measures [MODELS]

Each model of a store is a repetition: its replies, a judge who is lenient towards some of them, and a person who grades
items drawn at random (60 replies of each scenario), are drawn from a known truth of people. The measures of `SPEC` are
taken as `tripos report` takes them, and differences as `tripos compare` does, of every two models that follow each
other. Beside the share of intervals of 95 % that hold people's truth stands that of the judge alone, and the mean width
of the corrected interval, where that of people alone is 1. `tests/warehouse/test_corrected_coverage.py` holds a short
form to it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import corrected_difference
from tripos_warehouse.measures.evaluation import corrected_inputs, evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.arrays import t_quantile
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import bounded
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

ITEMS, SAMPLES, GRADED = 150, 4, 60
SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
scorer verdict(reply: text) by judge { prompt "{{ reply }}", gives bool }
scorer marks(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scenario tries {
  context level
  ask answer by candidate { prompt "{{ level }}", samples 4 }
  score passed = verdict(answer.text)
}
scenario once {
  context level
  ask answer by candidate { prompt "{{ level }}" }
  score mark = marks(answer.text)
  score good = verdict(answer.text)
}
measure pass_rate = share(once.good) corrected by people
measure of_a_slice = mean(once.mark) corrected by people by level
measure pass_at_2 = pass_at(2, tries.passed) corrected by people
measure pass_all_2 = pass_all(2, tries.passed) corrected by people
measure marks_mean = mean(once.mark) corrected by people
measure gap       = marks_mean[level: easy] - marks_mean[level: hard] corrected by people
measure ratio     = marks_mean[level: hard] / marks_mean[level: easy] corrected by people
measure index     = pass_rate * (marks_mean - 1) / 4 corrected by people
"""


@dataclass(frozen=True)
class Held:
    """The shares of intervals that hold the truth, and the mean width of the corrected ones beside people's."""

    judge: float
    corrected: float
    width: float
    intervals: int


def drawn(random: np.random.Generator, items: int) -> tuple[np.ndarray, ...]:
    """Return what people and a judge say of a model's replies: of tries (items × samples), of marks, and of verdicts on
    one reply; every other item is hard."""
    hard = np.arange(items) % 2
    ease = random.normal(0, 1, items) - 0.8 * hard
    tries = ease[:, None] + random.normal(0, 1, (items, SAMPLES)) > 0
    mark = np.clip(np.rint(3.2 + 0.9 * ease + random.normal(0, 0.5, items)), 1, 5)
    good = mark >= 3
    lenient = random.random((items, SAMPLES)) < np.where(tries, 0.03, 0.25)
    by_judge = tries ^ lenient
    judge_mark = np.clip(np.rint(mark + 0.6 + random.normal(0, 0.5, items)), 1, 5)
    judge_good = good ^ (random.random(items) < np.where(good, 0.05, 0.3))
    return tries, by_judge, mark, judge_mark, good, judge_good


def truths() -> dict[tuple[str, tuple[str, ...]], float]:
    """Return people's figures, of as many items as leave no error to speak of."""
    tries, _, mark, _, good, _ = drawn(np.random.default_rng(7), 2_000_000)
    right = tries.sum(axis=1)
    pairs = SAMPLES * (SAMPLES - 1)
    easy, hard = (float(mark[place::2].mean()) for place in (0, 1))
    return {
        ("pass_rate", ()): float(good.mean()),
        ("of_a_slice", ("easy",)): easy,
        ("of_a_slice", ("hard",)): hard,
        ("pass_at_2", ()): 1 - float(((SAMPLES - right) * (SAMPLES - right - 1)).mean()) / pairs,
        ("pass_all_2", ()): float((right * (right - 1)).mean()) / pairs,
        ("marks_mean", ()): float(mark.mean()),
        ("gap", ()): easy - hard,
        ("ratio", ()): hard / easy,
        ("index", ()): float(good.mean()) * (float(mark.mean()) - 1) / 4,
    }


def filled(plan: Plan, models: int, seed: int) -> Results:
    """Return the results of as many models; of every other one people grade the same items of marks as of the one
    before, and of the rest other ones."""
    random = np.random.default_rng(seed)
    results = Results(plan, models=tuple(f"m{place:04}" for place in range(models)))
    for scenario in ("tries", "once"):
        for item in range(ITEMS):
            results.item(scenario, f"i{item:03}", axes={"level": "hard" if item % 2 else "easy"})
    picked = random.permutation(ITEMS)
    for place, model in enumerate(results.models):
        tries, by_judge, mark, judge_mark, good, judge_good = drawn(random, ITEMS)
        if place % 2 == 0 or place % 4 == 3:
            picked = random.permutation(ITEMS)
        chosen, few = set(picked[:GRADED].tolist()), set(picked[: GRADED // SAMPLES].tolist())
        for item in range(ITEMS):
            name = f"i{item:03}"
            for number in range(SAMPLES):
                values = float(tries[item, number]), float(by_judge[item, number])
                graded = item in few
                _add(results, ("tries", "passed", name), values, graded, ITEMS * SAMPLES, model, number)
            _add(results, ("once", "mark", name), (mark[item], judge_mark[item]), item in chosen, ITEMS, model)
            verdicts = float(good[item]), float(judge_good[item])
            _add(results, ("once", "good", name), verdicts, item in chosen, ITEMS, model)
    return results


def _add(
    results: Results,
    about: tuple[str, str, str],
    values: tuple[float, float],
    graded: bool,
    drawn_of: int,
    model: str,
    number: int = 0,
) -> None:
    people, judge = values
    results.add(*about, float(judge), evaluator="j1", model=model, number=number)
    if graded:
        results.add(*about, float(people), evaluator="human/a", model=model, number=number, drawn_of=drawn_of)


def held(models: int, seed: int = 1) -> dict[str, Held]:
    """Return how often the intervals of each measure hold people's truth, and those of differences."""
    plan, truth = plan_of(compile_text(SPEC)), truths()
    found: dict[str, Held] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "results", create=True)
        filled(plan, models, seed).write(store)
        with connect(store) as connection:
            for measure in plan.measures:
                rows = evaluate(connection, plan, measure).rows
                people = {(row.model, row.by): row for row in evaluate(connection, plan, measure, by_people=True).rows}
                for by in dict.fromkeys(row.by for row in rows):
                    those = [(row, people[row.model, row.by]) for row in rows if row.by == by]
                    found[" ".join([measure.name, *by])] = _of(those, truth[measure.name, by])
            found |= dict(_of_differences(connection, plan))
    return found


def _of(rows: list[tuple[MeasureRow, MeasureRow]], truth: float) -> Held:
    judged = [row.judged for row, _ in rows if row.judged is not None]
    widths = [(_width(row), _width(people)) for row, people in rows]
    both = [(own, other) for own, other in widths if own is not None and other is not None]
    return Held(
        sum(_holds(each, truth) for each in judged) / len(rows),
        sum(_holds(row, truth) for row, _ in rows) / len(rows),
        sum(own for own, _ in both) / sum(other for _, other in both),
        sum(row.low is not None for row, _ in rows),
    )


def _holds(row: MeasureRow, truth: float) -> bool:
    return row.low is not None and row.high is not None and (
        row.low <= truth <= row.high
    )  # fmt: skip


def _width(row: MeasureRow) -> float | None:
    return None if row.low is None or row.high is None else row.high - row.low


def _of_differences(connection: Connection, plan: Plan) -> Iterator[tuple[str, Held]]:
    """Yield the outcome of differences whose truth is 0, of models with the same graded items and with others."""
    measure = next(each for each in plan.measures if each.name == "marks_mean")
    threes = {model: three for (_, model), three in corrected_inputs(connection, plan, measure).items()}
    names = sorted(threes)
    kinds: dict[str, list[tuple[bool, bool, float]]] = {"same items graded": [], "other items graded": []}
    for place in range(0, len(names) - 1, 2):
        first, second = (threes[name] for name in names[place : place + 2])
        corrected, _ = corrected_difference([first], [second], (-4.0, 4.0))
        pulls = second.judge.influences - first.judge.influences
        alone = Estimate(second.judge.value - first.judge.value, clusters=ITEMS)
        judge = bounded(alone, float(np.sqrt((pulls**2).sum())), ITEMS - 1, (-4.0, 4.0))
        pulls = second.people.influences - first.people.influences
        reach = t_quantile(0.975, GRADED - 1) or 0.0
        width = (corrected.high or 0.0) - (corrected.low or 0.0)
        of_people = 2 * reach * float(np.sqrt((pulls**2).sum()))
        kinds["same items graded" if place % 4 == 0 else "other items graded"].append(
            (_is_within(judge, 0.0), _is_within(corrected, 0.0), width / of_people)
        )
    for kind, those in kinds.items():
        means = [sum(each[place] for each in those) / len(those) for place in range(3)]
        yield f"difference, {kind}", Held(means[0], means[1], means[2], len(those))


def _is_within(found: Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def main() -> None:
    """Print a line a measure."""
    models = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{models:,} models, {ITEMS} items; intervals that hold people's truth: judge alone, corrected; width")
    for name, found in held(models).items():
        print(
            f"{name:<34}{found.judge:6.1%} {found.corrected:6.1%} ×{found.width:.2f} of {found.intervals}", flush=True
        )


if __name__ == "__main__":
    main()
