"""One figure has one interval, however it is written: drawn sums of leaf cells, each in several forms."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from tests.lengths import sized
from tests.warehouse.synthetic import Results, measured
from tests.warehouse.test_measures import plan_with
from tripos_compiler.plan import Measure
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

CELLS = ("some", "none")
LEVELS = ("easy", "hard")


def leaves(score: str) -> list[str]:
    """Return the leaf cells of a score: of both levels and arms, and of all."""
    every = [f"by_{score}[level: {level}, hint: {arm}]" for level in LEVELS for arm in CELLS]
    return [*every, f"mean({score})"]


def drawn(dice: Random, score: str) -> tuple[str, str]:
    """Return a sum of leaf cells in two forms: each once with its whole weight, and in pieces in another order, with
    numbers that cancel each other."""
    chosen = dice.sample(leaves(score), dice.randint(1, 4))
    weights = {leaf: Fraction(dice.choice((-3, -2, -1, 1, 2, 3)), dice.choice((1, 2, 4))) for leaf in chosen}
    plain = " + ".join(f"{float(weight)!r} * {leaf}" for leaf, weight in weights.items())
    pieces: list[str] = []
    for leaf, weight in weights.items():
        first = Fraction(dice.choice((-2, -1, 1, 2)), 2)
        pieces += [f"{leaf} * {float(first)!r}", f"{float(2 * (weight - first))!r} * ({leaf} / 2)"]
    other = dice.choice(leaves(score))
    pieces += [f"({other} - 1)", f"(1 - {other})"]
    dice.shuffle(pieces)
    return f"0 + {plain}", " + ".join(pieces)


def filled(results: Results, dice: Random, kind: str) -> None:
    """Add scores of items that lie in cells of one to eight, each with one to three samples."""
    several = dice.random() < 0.5
    for level in LEVELS:
        for arm in CELLS:
            alike = dice.random() < 0.4
            shared = dice.random() < 0.5
            for number in range(dice.randint(1, 8)):
                item = f"{level} {number}" if shared else f"{level} {arm} {number}"
                results.item("sums", item, axes={"level": level})
                for sample in range(dice.randint(1, 3) if several else 1):
                    value = 1.0 if alike else float(dice.random() < 0.6) if kind == "right" else dice.gauss(20, 5)
                    results.add("sums", kind, item, value, arms={"hint": arm}, number=sample)


def numbers(row: MeasureRow) -> list[float]:
    """Return the numbers of a row; -1e300 where there is none."""
    found = (row.value, row.standard_error, row.low, row.high, row.half_width)
    return [-1e300 if each is None else each for each in found]


@pytest.mark.parametrize("seed", range(sized(2, 400)))
def test_a_sum_of_cells_has_one_interval_however_it_is_written(store: Store, seed: int) -> None:
    dice = Random(seed)
    kind = dice.choice(("right", "long"))
    forms = [drawn(dice, kind) for _ in range(4)]
    forms.append((f"mean(by_{kind})", " + ".join(f"{leaf} / 4" for leaf in leaves(kind)[:4])))
    forms.append((f"1 - mean({kind})", f"2 - (mean({kind}) + 1)"))
    own = leaves(kind)
    forms.append(("mean(gap)", f"({own[0]} - {own[1]} + {own[2]} - {own[3]}) / 2"))
    forms.append(("mean(gap * 2 + 1 by level)", "gap[level: easy] + 1 + gap[level: hard]"))
    forms.append((f"sum(by_{kind})", f"4 * mean(by_{kind})"))
    # Cells less a slice of themselves: the same leaf cells stand in the table of all and in that of the slice.
    forms.append(("mean(gain)", f"({own[0]} - {own[1]} + {own[2]} - {own[3]}) / 4"))
    forms.append(("sum(gain) / 2", f"({own[0]} - {own[1]}) / 2 + ({own[2]} - {own[3]}) / 2"))
    forms.append((f"sum({kind}) / count({kind})", f"mean({kind}) + 0"))
    forms.append(("1 - total / number", f"1 - mean({kind})"))
    lines = [
        f"measure total = sum({kind})",
        f"measure number = count({kind})",
        f"measure by_{kind} = mean({kind}) by level, hint",
        f"measure gap = by_{kind}[hint: some] - by_{kind}[hint: none]",
        f"measure gain = by_{kind} - by_{kind}[hint: none] by level, hint",
        f"measure gain_of_easy = {own[0]} - {own[1]}",
    ]
    lines += [
        f"measure {name}{place} = {text}"
        for place, pair in enumerate(forms)
        for name, text in zip("ab", pair, strict=True)
    ]
    plan = plan_with(*lines)
    results = Results(plan)
    filled(results, dice, kind)
    results.write(store)
    for place, pair in enumerate(forms):
        [one], [other] = (measured(store, plan, f"sums.{name}{place}").rows for name in "ab")
        assert numbers(one) == pytest.approx(numbers(other), rel=1e-9, abs=1e-9), (pair, one, other)
        assert one.low is not None or one.reason is not None
    [cell] = [row for row in measured(store, plan, "sums.gain").rows if set(row.by) == {"easy", "some"}]
    [alone] = measured(store, plan, "sums.gain_of_easy").rows
    assert numbers(cell) == pytest.approx(numbers(alone), rel=1e-9, abs=1e-9)


RATE, WON = "weighted_mean(mark, points)", "weighted_mean(right, points)"
WEIGHTED = (
    (RATE, "sum(won) / sum(points)", "mean(won) / mean(points)", "sum(won) * (1 / sum(points))"),
    (f"100 * {RATE}", "100 * sum(won) / sum(points)", "sum(won) / (sum(points) / 100)", "100 * named"),
    (f"1 - {WON}", "1 - sum(gained) / sum(points)", "-(sum(gained) / sum(points) - 1)"),
    (f"sqrt({RATE})", "sqrt(sum(won) / sum(points))", "sqrt(named)"),
    ("rate[level: easy] - rate[level: hard]", "quotient[level: easy] - quotient[level: hard]"),
    ("mean(rate)", "mean(quotient)", "(rate[level: easy] + rate[level: hard]) / 2"),
)
"""Figures of weights, each in several notations."""


def weighted(results: Results, dice: Random) -> None:
    """Add scores of two models to items that have points, of which some are worth none, and lack some."""
    heavy, lacking = dice.choice((1, 3, 30)), dice.choice((0.0, 0.0, 0.2))
    for level in LEVELS:
        for number in range(dice.randint(2, 12)):
            item, points = f"{level} {number}", float(dice.choice((0, 1, 1, 2, 5, heavy)))
            results.item("sums", item, axes={"level": level})
            for model in results.models:
                for sample in range(dice.randint(1, 2)):
                    mark, right = dice.choice((0.0, 0.25, 0.5, 1.0)), float(dice.random() < 0.7)
                    known = dice.random() >= lacking
                    values = {"mark": mark, "right": right, "won": mark * points, "gained": right * points}
                    for name, value in {**values, "points": points}.items():
                        told = value if known else None
                        results.add("sums", name, item, told, model=model, number=sample, arms={"hint": "none"})


@pytest.mark.parametrize("seed", range(sized(1, 200)))
def test_a_weighted_mean_has_one_interval_and_one_difference_however_it_is_written(store: Store, seed: int) -> None:
    dice = Random(seed)
    lines = [
        "let points = length(answer.text)",
        "let mark = min(max(answer.sum / 40, 0), 1)",
        "score points = points",
        "score mark = mark",
        "score won = mark * points",
        "score gained = choose(answer.sum == 42, points, 0)",
        "measure rate = weighted_mean(mark, points) by level",
        "measure quotient = sum(won) / sum(points) by level",
        "measure named = sum(won) / sum(points)",
    ]
    names = [f"w{place}_{form}" for place, forms in enumerate(WEIGHTED) for form in range(len(forms))]
    figures = [figure for forms in WEIGHTED for figure in forms]
    plan = plan_with(*lines, *(f"measure {name} = {figure}" for name, figure in zip(names, figures, strict=True)))
    results = Results(plan, models=("m", "n"))
    weighted(results, dice)
    results.write(store)
    connection, _ = connect_run(store)
    with connection:
        side = Side(connection, plan, ("m", "n"))
        measures = {measure.name: measure for measure in plan.measures}
        for place, forms in enumerate(WEIGHTED):
            one, *others = (measures[f"sums.w{place}_{form}"] for form in range(len(forms)))
            expected, difference = told(side, one)
            for other in others:
                assert told(side, other)[0] == pytest.approx(expected, rel=1e-7, abs=1e-9), (one, other)
                assert told(side, other)[1] == pytest.approx(difference, rel=1e-7, abs=1e-9), (one, other)


def told(side: Side, measure: Measure) -> tuple[list[float], list[float]]:
    """Return the numbers of a measure, and those of the difference of both models."""
    rows = evaluate(side.connection, side.plan, measure).rows
    differences = model_differences(side, measure).values()
    parts = [(each.value, each.low, each.high, each.p) for each in differences]
    return (
        [number for row in rows for number in (*numbers(row), float(row.n), float(row.items))],
        [-1e300 if number is None else number for part in parts for number in part],
    )
