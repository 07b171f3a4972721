"""One figure has one interval, however it is written: drawn sums of leaf cells, each in several forms."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from tests.lengths import sized
from tests.warehouse.synthetic import Results, measured
from tests.warehouse.test_measures import plan_with
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.store.store import Store

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
