"""How often the intervals of every aggregate hold the truth, through the SQL that measures are.

    python -m tests.bench.aggregate_coverage [--draws 1000] [--only WORD] [--seed 1] [--write | --check]

A line is an aggregate in a world: items that are many or few, even or uneven, of common or rare classes. Each of 1,000
models is one draw of the world, so that one query over all of them has 1,000 intervals; of comparisons, which are
between models, each value of an axis is one. `--write` puts the table into docs/reference/statistics/coverage.md, and `--check` says
whether the page has a line for every aggregate of the language. It takes some four minutes of one core.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tests.compiler.compiling import compile_files, compile_text, plan_of
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.figures import leaves_of, measures_of
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.query.connection import add_functions

Random = np.random.Generator
PAGE = Path(__file__).parents[2] / "docs" / "reference/statistics/coverage.md"
BEGIN, END = "<!-- coverage of aggregates -->", "<!-- end of coverage -->"
DRAWS = 1000
FEWER, SLOW = 400, 100
"""Draws of what takes long: the jackknife of many items, and metrics of a corpus, whose items are drawn again."""
LARGE = 400_000
"""Items of the population that a truth without a formula is taken from."""

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" {
  text text, kind text, weight number secret, sort choice(a, b, c, d, e) secret, gold text secret,
  other number secret, yes bool secret
}
dimension quality "Quality" { metric CLAR "Clarity" { scale 1..5, asks "?" } }
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |   | CLAR |
  | s |  x   |
}
scenario s {
  over item
  ask answer by candidate {
    prompt "{{ item.text }}"
    samples 4
    returns {
      sort choice(a, b, c, d, e), sure bool, good bool, mark 1..10, chance number, long number, said text
    }
  }
  score right = answer.sure
  score good = answer.good
  score mark = answer.mark
  score long = answer.long
  score rubric(answer.text)
MEASURES
}
AFTER
"""


Values = NDArray[Any]


@dataclass(frozen=True)
class Drawn:
    """Draws of a world: the values of each score or column, a row a draw and a column a reply; of ratings one such for
    each judge. `items` are those of the replies, and `kinds` those of the items. A place is that of a column among
    those of the aggregate."""

    values: Mapping[str | int, Values]
    items: Sequence[str]
    kinds: Mapping[str, str] | None = None


Draw = Callable[[Random, int], Drawn]


@dataclass(frozen=True)
class World:
    """A figure in a world: its aggregate or `formula`, the world in words, its measures, the last of which is looked
    at, how it is drawn, and the truth."""

    aggregate: str
    world: str
    measures: tuple[str, ...]
    draw: Draw
    truth: float
    draws: int = DRAWS
    across: bool = False
    """Whether its measure compares judges, so that it stands behind the scenario."""
    together: bool = False
    """Whether it is one figure of all models: then each kind of items is a draw, with several models."""


@dataclass(frozen=True)
class Covered:
    """How many intervals of a world hold the truth, of those that there are, and the median of their width."""

    held: int
    known: int
    draws: int
    width: float

    @property
    def share(self) -> float:
        """The share of intervals that hold the truth."""
        return self.held / self.known if self.known else math.nan

    @property
    def error(self) -> float:
        """The Monte-Carlo error of the share."""
        return math.sqrt(self.share * (1 - self.share) / self.known) if self.known else math.nan


# --- values ---


def even(p: float, m: int, step: str = "right") -> Draw:
    """Draw m independent values that are true with a chance of p."""

    def draw(random: Random, draws: int) -> Drawn:
        return Drawn({step: (random.random((draws, m)) < p) * 1.0}, named(m))

    return draw


def uneven(p: float, counts: Sequence[int], alike: float = 0.5, step: str = "right") -> Draw:
    """Draw items with so many replies each, which are alike."""

    def draw(random: Random, draws: int) -> Drawn:
        spread = (1 - alike) / alike
        ease = np.repeat(random.beta(p * spread, (1 - p) * spread, (draws, len(counts))), counts, axis=1)
        return Drawn({step: (random.random(ease.shape) < ease) * 1.0}, np.repeat(named(len(counts)), counts).tolist())

    return draw


def real(make: Callable[[Random, tuple[int, int]], Values], m: int, step: str = "long") -> Draw:
    """Draw m independent numbers."""
    return lambda random, draws: Drawn({step: make(random, (draws, m))}, named(m))


def clustered_numbers(counts: Sequence[int]) -> Draw:
    """Draw normal numbers, half of whose variance lies between items, about 10."""

    def draw(random: Random, draws: int) -> Drawn:
        own = np.repeat(random.normal(0, math.sqrt(0.5), (draws, len(counts))), counts, axis=1)
        return Drawn(
            {"long": 10 + own + random.normal(0, math.sqrt(0.5), own.shape)},
            np.repeat(named(len(counts)), counts).tolist(),
        )

    return draw


def kinds(shares: Sequence[float], sizes: Sequence[int], step: str = "right") -> Draw:
    """Draw cells of so many items, true with these chances; the kinds are a, b, c and so on."""
    of_kind = np.repeat([chr(97 + place) for place in range(len(sizes))], sizes)

    def draw(random: Random, draws: int) -> Drawn:
        chance = np.repeat(shares, sizes)
        items = named(len(chance))
        values = (random.random((draws, len(chance))) < chance) * 1.0
        return Drawn({step: values}, items, dict(zip(items, of_kind.tolist(), strict=True)))

    return draw


def pairs(first: float, second: float, m: int, same: float = 0.5) -> Draw:
    """Draw two scores of each item, whose items are as hard for both in a share of cases."""

    def draw(random: Random, draws: int) -> Drawn:
        ease = random.random((draws, m))
        other = np.where(random.random(ease.shape) < same, ease, random.random(ease.shape))
        return Drawn({"right": (ease < first) * 1.0, "good": (other < second) * 1.0}, named(m))

    return draw


def classes(prior: Sequence[float], right: float, m: int) -> Draw:
    """Draw what was said of items, and what is true: wrong ones are of another class."""

    def draw(random: Random, draws: int) -> Drawn:
        said, true = sorted_into(random, (draws, m), prior, right)
        letters = np.array(list("abcde"))
        return Drawn({0: letters[said], 1: letters[true]}, named(m))

    return draw


def sorted_into(random: Random, shape: tuple[int, int], prior: Sequence[float], right: float) -> tuple[Values, Values]:
    """Return what was said and what is true, as places of classes."""
    true = random.choice(len(prior), p=np.array(prior) / sum(prior), size=shape)
    wrong = (true + random.integers(1, len(prior), shape)) % len(prior)
    return np.where(random.random(shape) < right, true, wrong), true


def raters(prior: Sequence[float], same: float, m: int, judges: int = 2) -> Draw:
    """Draw marks of judges: what an item is, or by chance any other, as often as it occurs."""

    def draw(random: Random, draws: int) -> Drawn:
        return Drawn({"rubric": rated(random, (draws, m), prior, same, judges)}, named(m))

    return draw


def rated(random: Random, shape: tuple[int, int], prior: Sequence[float], same: float, judges: int) -> Values:
    """Return marks from 1, of the shape (judges, draws, items)."""
    chance = np.array(prior) / sum(prior)
    true = random.choice(len(prior), p=chance, size=shape)
    found = [
        np.where(random.random(shape) < same, true, random.choice(len(prior), p=chance, size=shape))
        for _ in range(judges)
    ]
    return np.array(found) + 1.0


def marks(m: int, judges: int, noise: float) -> Draw:
    """Draw marks of 1 to 5 by judges who see the quality of a reply with noise."""
    return lambda random, draws: Drawn({"rubric": marked(random, (draws, m), judges, noise)}, named(m))


def marked(random: Random, shape: tuple[int, int], judges: int, noise: float) -> Values:
    """Return marks of the shape (judges, draws, items)."""
    quality = random.normal(3, 1, shape)
    return np.clip(np.rint(quality + random.normal(0, noise, (judges, *shape))), 1, 5)


def forecasts(m: int, too_sure: float) -> Draw:
    """Draw probabilities that are stated and what came true."""

    def draw(random: Random, draws: int) -> Drawn:
        chance = np.clip(random.beta(3, 2, (draws, m)), 0.02, 0.98)
        real_chance = np.clip(chance - too_sure, 0.01, 0.98)
        return Drawn({0: chance, 1: (random.random(chance.shape) < real_chance) * 1.0}, named(m))

    return draw


def ranked(apart: float, m: int) -> Draw:
    """Draw scores of true and false ones, so many standard deviations apart."""

    def draw(random: Random, draws: int) -> Drawn:
        true = (random.random((draws, m)) < 0.5) * 1.0
        return Drawn({0: random.normal(0, 1, true.shape) + apart * true, 1: true}, named(m))

    return draw


def wins_by_length(m: int) -> Draw:
    """Draw wins whose log odds rise with the length by which a reply is longer, .4 at equal length."""

    def draw(random: Random, draws: int) -> Drawn:
        longer = random.normal(20, 60, (draws, m))
        odds = 0.4 + 1.2 * np.tanh(longer / 60)
        return Drawn({"right": (random.random(longer.shape) < 1 / (1 + np.exp(-odds))) * 1.0, 1: longer}, named(m))

    return draw


def weighed(p: float, weights: Sequence[float]) -> Draw:
    """Draw items that count as often as these weights say."""

    def draw(random: Random, draws: int) -> Drawn:
        values = (random.random((draws, len(weights))) < p) * 1.0
        return Drawn(
            {"right": values, 1: np.broadcast_to(np.array(weights, dtype=float), values.shape)}, named(len(weights))
        )

    return draw


VOCABULARY = tuple(f"w{number}" for number in range(200))


def translations(m: int) -> Draw:
    """Draw translations and their references: so many words are right as the item is easy, and some end early."""

    def draw(random: Random, draws: int) -> Drawn:
        made = [translation(random) for _ in range(draws * m)]
        said, true = (np.array([each[place] for each in made]).reshape(draws, m) for place in (0, 1))
        return Drawn({0: said, 1: true}, named(m))

    return draw


def translation(random: Random) -> tuple[str, str]:
    """Return a translation and its reference."""
    easy = random.beta(3, 1.5)
    reference = random.choice(VOCABULARY, random.integers(4, 26))
    said = np.where(random.random(len(reference)) < easy, reference, random.choice(VOCABULARY, len(reference)))
    if random.random() < 0.3:
        said = said[: max(1, int(len(said) * 0.8))]
    return " ".join(said), " ".join(reference)


def missing(p: float, m: int) -> Draw:
    """Draw four replies an item, each of which has a value with a chance of p."""

    def draw(random: Random, draws: int) -> Drawn:
        values = np.where(random.random((draws, 4 * m)) < p, 1.0, np.nan)
        return Drawn({"right": values}, np.repeat(named(m), 4).tolist())

    return draw


def orders(m: int, models: int = 4, judges: int = 2) -> Draw:
    """Draw marks of judges of the replies of several models to each item."""

    def draw(random: Random, draws: int) -> Drawn:
        quality = random.normal(0, 1, (draws, models * m))
        return Drawn({"rubric": quality + random.normal(0, 1, (judges, *quality.shape))}, named(m) * models)

    return draw


def named(m: int) -> list[str]:
    """Return the names of m items."""
    return [f"i{place:03}" for place in range(m)]


# --- truths ---


def of_many(what: str, settings: str, draw: Draw) -> float:
    """Return a statistic of a large number of items."""
    from tripos_warehouse.query.aggregates import AGREEMENTS, statistic

    drawn = draw(np.random.default_rng(5), LARGE // len(draw(np.random.default_rng(5), 1).items))
    if "rubric" in drawn.values:
        flat = drawn.values["rubric"].reshape(len(drawn.values["rubric"]), -1)
        value = AGREEMENTS[what].estimate(flat, settings).value
    else:
        keys, subjects = ([repr(each) for each in drawn.values[place].ravel().tolist()] for place in (0, 1))
        items = ["all"] * len(keys)
        value = statistic(what, settings, items, subjects, items, keys, [None] * len(keys))["value"]
    assert isinstance(value, float)
    return value


def of_classes(what: str, prior: Sequence[float], right: float) -> float:
    """Return precision, recall or F1 as a mean over classes, or Matthews' correlation, of what `classes` draws."""
    k, share = len(prior), np.array(prior) / sum(prior)
    table = share[:, None] * np.where(np.eye(k) > 0, right, (1 - right) / (k - 1))
    hit, said, true = np.diag(table), table.sum(0), table.sum(1)
    match what:
        case "precision":
            return float((hit / said).mean())
        case "recall" | "balanced_accuracy":
            return float((hit / true).mean())
        case "f1":
            return float((2 * hit / (said + true)).mean())
    over = hit.sum() - said @ true
    return float(over / math.sqrt((1 - said @ said) * (1 - true @ true)))


# --- worlds ---

SHARE, CELLS = (
    ("measure it = mean(right)",),
    ("measure by_kind = mean(right) by item.kind", "measure it = mean(by_kind)"),
)
HALF, THIRD = (0.9, 0.1), (0.8, 0.1, 0.1)
LONG = [40] + [1] * 9
LONGER = [100] + [1] * 29
RISING = list(range(1, 13))


def worlds() -> Iterator[World]:
    """Yield every world."""
    yield from means()
    yield from of_cells()
    yield from of_formulas()
    yield from of_values()
    yield from of_sets()
    yield from of_raters()
    yield from of_probabilities()
    yield from of_texts()


def means() -> Iterator[World]:
    """Means and shares of even and uneven items."""
    for p, m in ((0.5, 5), (0.9, 10), (0.95, 30), (0.5, 100)):
        yield World("mean", f"share of {p}, {m} items", SHARE, even(p, m), p)
    yield World("share", "share of 0.8, 30 items", ("measure it = share(right)",), even(0.8, 30), 0.8)
    known = ("measure it = corrected_prevalence(right, sensitivity: 0.9, specificity: 0.8)",)
    for p, m in ((0.1, 30), (0.5, 30), (0.3, 200)):
        found = 0.9 * p + 0.2 * (1 - p)
        yield World("corrected_prevalence", f"{p} with rates of 0.9 and 0.8, {m} items", known, even(found, m), p)
    for counts, told in (
        (LONG, "40 + 9 × 1"),
        (LONGER, "100 + 29 × 1"),
        (RISING, "1, 2, 3, … 12"),
        ([4] * 20, "20 × 4"),
    ):
        yield World("mean", f"share of 0.8, replies of items {told}", SHARE, uneven(0.8, counts), 0.8)
    for counts, told in ((LONG, "40 + 9 × 1"), (LONGER, "100 + 29 × 1"), (RISING, "1, 2, 3, … 12")):
        values = ("measure it = mean(long)",)
        yield World("mean", f"normal values, replies of items {told}", values, clustered_numbers(counts), 10.0)
    for weights, told in ((LONG, "40 + 9 × 1"), (RISING, "1, 2, 3, … 12"), ([1, 2] * 15, "30 × 1 or 2")):
        measure = ("measure it = weighted_mean(right, item.weight)",)
        yield World("weighted_mean", f"share of 0.7, weights {told}", measure, weighed(0.7, weights), 0.7)


def of_cells() -> Iterator[World]:
    """Means of cells of different sizes, the same as sums, and differences of cells."""
    for sizes, p in (((3, 30, 300), 0.5), ((2, 5, 20, 80), 0.5), ((5, 20, 100), 0.7), ((20, 20, 20), 0.9)):
        told = ", ".join(map(str, sizes))
        yield World("mean", f"share of {p}, mean of cells of {told}", CELLS, kinds([p] * len(sizes), sizes), p)
    slices = " + ".join(f"by_kind[item.kind: {kind}]" for kind in "abc")
    summed = (CELLS[0], f"measure it = ({slices}) / 3")
    yield World("formula", "the same as a sum, cells of 3, 30, 300", summed, kinds([0.5] * 3, (3, 30, 300)), 0.5)
    less = (CELLS[0], "measure it = by_kind[item.kind: a] - by_kind[item.kind: b]")
    for first, second in ((10, 10), (5, 100), (2, 50)):
        words = f"difference of cells of {first} and {second}"
        yield World("formula", words, less, kinds([0.6, 0.4], (first, second)), 0.2)
    paired = ("measure it = mean(right) - mean(good)",)
    for m, first, second in ((5, 0.5, 0.5), (10, 0.9, 0.6), (30, 0.7, 0.7)):
        yield World("formula", f"paired difference, {m} items", paired, pairs(first, second, m), first - second)


def of_formulas() -> Iterator[World]:
    """Quotients, products, roots and logarithms of shares."""
    ratio = ("measure it = mean(right) / mean(good)",)
    for first, second, m in ((0.2, 0.1, 30), (0.1, 0.2, 30), (0.9, 0.9, 10), (0.2, 0.1, 100), (0.05, 0.5, 30)):
        yield World(
            "formula", f"a / b, {first} / {second} of {m} items", ratio, pairs(first, second, m), first / second
        )
    apart = (CELLS[0], "measure it = by_kind[item.kind: a] / by_kind[item.kind: b]")
    for m, others in ((30, 30), (10, 100), (100, 20)):
        told = f"a / b, 0.2 / 0.1 of {m} and other {others} items"
        yield World("formula", told, apart, kinds([0.2, 0.1], (m, others)), 2.0)
    for first, second, m in ((0.2, 0.1, 30), (0.05, 0.1, 30), (0.9, 0.9, 10)):
        told, product = f"{first} and {second} of {m} items", first * second
        drawn = pairs(first, second, m)
        yield World("formula", f"a * b, {told}", ("measure it = mean(right) * mean(good)",), drawn, product)
        root = ("measure it = sqrt(mean(right) * mean(good))",)
        yield World("formula", f"sqrt(a * b), {told}", root, drawn, math.sqrt(product))
    logs = ("measure it = log(mean(right)) - log(mean(good))",)
    yield World("formula", "log(a) - log(b), 0.2 and 0.1 of 30 items", logs, pairs(0.2, 0.1, 30), math.log(2))
    mean = ("measure it = harmonic_mean(mean(right), mean(good))",)
    for first, second, m in ((0.8, 0.6, 10), (0.2, 0.1, 30)):
        truth = 2 * first * second / (first + second)
        yield World(
            "formula", f"harmonic_mean(a, b), {first} and {second} of {m} items", mean, pairs(first, second, m), truth
        )


def of_values() -> Iterator[World]:
    """Medians, deviations, sums, counts, and chances of several tries."""
    median = ("measure it = median(long)",)
    for m in (8, 40):
        yield World(
            "median", f"exponential values, {m} items", median, real(lambda r, n: r.exponential(1, n), m), math.log(2)
        )
    stdev = ("measure it = stdev(long)",)
    for m in (10, 40):
        yield World("stdev", f"normal values, {m} items", stdev, real(lambda r, n: r.normal(0, 1, n), m), 1.0)
    total = ("measure it = sum(long)",)
    yield World("sum", "gamma values, 30 items", total, real(lambda r, n: r.gamma(2, 1, n), 30), 60.0)
    yield World("count", "of 120 replies, each there with 0.8", ("measure it = count(right)",), missing(0.8, 30), 96.0)
    for end in ("min", "max"):
        yield World(
            end,
            "normal values, 30 items",
            (f"measure it = {end}(long)",),
            real(lambda r, n: r.normal(0, 1, n), 30),
            math.nan,
        )
    for name, truth in (("pass_at", 1 - 0.3 * (0.5 + 0.5 * 0.3)), ("pass_all", 0.7 * (0.5 + 0.5 * 0.7))):
        for m in (10, 30):
            measure = (f"measure it = {name}(2, right)",)
            yield World(name, f"2 of 4 replies, {m} items", measure, uneven(0.7, [4] * m), truth)


def of_sets() -> Iterator[World]:
    """Measures of classes, common and rare ones."""
    yield World(
        "accuracy",
        "0.8, 30 items",
        ("measure it = accuracy(answer.sort, item.sort)",),
        classes((1, 1, 1), 0.8, 30),
        0.8,
    )
    for name in ("precision", "recall", "f1", "balanced_accuracy"):
        measure = (f"measure it = {name}(answer.sort, item.sort)",)
        for prior, m, told in (((1, 1, 1), 60, "three classes"), (HALF, 30, "a class at 10 %")):
            truth = of_classes(name, prior, 0.8)
            yield World(name, f"{told}, {m} items", measure, classes(prior, 0.8, m), truth)
    measure = ("measure it = mcc(answer.sort, item.sort)",)
    for prior, right, m, told in (
        ((1, 1), 0.8, 10, "two classes"), ((1, 1), 0.9, 30, "two classes"), (HALF, 0.6, 30, "a class at 10 %"),
        (HALF, 0.9, 30, "a class at 10 %"), (HALF, 0.6, 100, "a class at 10 %"), ((0.95, 0.05), 0.8, 100, "a class at 5 %"),
        (THIRD, 0.8, 30, "two of three classes at 10 %"),
    ):  # fmt: skip
        truth = of_classes("mcc", prior, right)
        yield World("mcc", f"{told}, {right} right, {m} items", measure, classes(prior, right, m), truth)


def of_raters() -> Iterator[World]:
    """Agreement and correlation of judges."""
    for prior, same, m, draws, told in (
        ((1, 1, 1), 0.6, 20, DRAWS, "three classes"), (HALF, 0.6, 30, DRAWS, "a class at 10 %"),
        ((0.95, 0.05), 0.8, 100, SLOW, "a class at 5 %"),
    ):  # fmt: skip
        words = f"{told}, alike by {same}, {m} items"
        for name, level in (("cohen_kappa", ""), ("gwet_ac1", ""), ("krippendorff_alpha", "nominal")):
            yield across(name, words, raters(prior, same, m), level, draws)
    for m, noise in ((10, 0.5), (30, 1.2)):
        words = f"marks of 1 to 5, noise of {noise}, {m} items"
        draws = DRAWS if m == 10 else FEWER
        for name in ("quadratic_kappa", "gwet_ac2", "kendall_tau", "spearman"):
            yield across(name, words, marks(m, 2, noise), "", draws)
        for name in ("krippendorff_alpha", "kendall_w"):
            yield across(
                name, f"{words}, three judges", marks(m, 3, noise), "interval" if "alpha" in name else "", draws
            )
    words = "five classes, alike by 0.95, 100 items"
    yield across("quadratic_kappa", words, raters((1, 1, 1, 1, 1), 0.95, 100), "", FEWER)
    tau = 1 / 2 + math.asin(1 / 2) / math.pi
    measure = ("measure it = mean_tau_agreement(rubric) across judge by item.kind",)
    yield World("mean_tau_agreement", "four models, 20 items", measure, orders(20), tau, across=True, together=True)


def across(name: str, words: str, draw: Draw, level: str, draws: int) -> World:
    """Return the world of an agreement of judges."""
    settings = f", level: {level}" if level else ""
    truth = of_many(name, level, draw)
    measure = (f"measure it = {name}(rubric{settings}) across judge",)
    return World(name, words, measure, draw, truth, draws, across=True)


def of_probabilities() -> Iterator[World]:
    """Probabilities that are held against what came true."""
    settings = {"ece": json.dumps({"bins": 10})}
    for name in ("brier", "log_loss", "ece"):
        measure = (f"measure it = {name}(answer.chance, item.yes)",)
        for m, too_sure in ((30, 0.15), (100, 0.3)):
            drawn = forecasts(m, too_sure)
            truth = of_many(name, settings.get(name, "{}"), drawn)
            yield World(name, f"too sure by {too_sure}, {m} items", measure, drawn, truth)
    for apart, m in ((1.0, 10), (1.0, 30), (2.5, 30)):
        measure = ("measure it = auroc(answer.chance, item.yes)",)
        truth = 0.5 * (1 + math.erf(apart / 2))
        yield World("auroc", f"apart by {apart} standard deviations, {m} items", measure, ranked(apart, m), truth)
    measure = ("measure it = length_controlled(right, answer.long - item.other)",)
    for m in (30, 100):
        yield World("length_controlled", f"{m} items", measure, wins_by_length(m), 1 / (1 + math.exp(-0.4)))


def of_texts() -> Iterator[World]:
    """Metrics of a corpus."""
    from tripos_warehouse.statistics.metrics import corpus_metric

    random = np.random.default_rng(5)
    many = [translation(random) for _ in range(10_000)]
    for name in ("corpus_bleu", "corpus_chrf", "corpus_ter"):
        whole = corpus_metric(
            name.removeprefix("corpus_"), {}, [said for said, _ in many], [[true] for _, true in many]
        ).overall()
        assert whole is not None
        measure = (f"measure it = {name}(answer.said, item.gold)",)
        for m in (10, 30):
            yield World(name, f"{m} translations", measure, translations(m), whole, draws=SLOW)


# --- through the SQL ---


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    aggregate: str
    world: str
    covered: Covered


def measured(draws: int = DRAWS, only: str = "", seed: int = 1) -> Iterator[Line]:
    """Measure every world whose words have `only` in them."""
    for world in worlds():
        if only in f"{world.aggregate} {world.world}":
            yield Line(world.aggregate, world.world, covered(world, draws, seed))
    if only in f"{' '.join(OF_COMPARISONS)} {BETWEEN_MODELS}":
        yield from compared_lines(min(draws, FEWER), seed)


OF_COMPARISONS = ("win_rate", "bradley_terry", "position_bias", "flip_rate", "self_preference")
BETWEEN_MODELS = "three models, 30 items"


def compared_lines(draws: int, seed: int) -> Iterator[Line]:
    """Measure the aggregates of comparisons, of models and judges whose strengths and leanings are known."""
    from tests.warehouse import planted
    from tests.warehouse.test_comparisons import compared, spec, view_of

    plan = plan_of(compile_text(spec(draws, 0)))
    table = compared(draws, seed)
    model, judge = "x/weak", planted.LEANING
    looked_at = {
        "win_rate": ("won", model, None, planted.win_rate(model)),
        "bradley_terry": ("strength", model, planted.FAIR, planted.STRENGTHS[model]),
        "position_bias": ("bias", model, judge, planted.position_bias(model, judge)),
        "flip_rate": ("flips", model, judge, planted.flip_rate(model, judge)),
        "self_preference": ("own", planted.FAMILY, None, planted.self_preference()),
    }
    for aggregate, (name, of, by_judge, truth) in looked_at.items():
        measure = next(each for each in plan.measures if each.name == name)
        with view_of(table) as connection:
            if by_judge is not None:
                connection.execute("delete from demo.comparisons where evaluator <> $only", {"only": by_judge})
            rows = [row for row in evaluate(connection, plan, measure).rows if row.model == of]
        yield Line(aggregate, BETWEEN_MODELS, counted(rows, truth))


def covered(world: World, draws: int, seed: int = 1) -> Covered:
    """Return how often the intervals of a world hold its truth."""
    rows = rows_of(world, min(draws, world.draws), np.random.default_rng([seed, *world.world.encode()]))
    return counted(rows, world.truth)


def counted(rows: Sequence[MeasureRow], truth: float) -> Covered:
    """Return how many intervals of rows hold the truth."""
    ends = [(row.low, row.high) for row in rows]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    held = sum(low - 1e-9 <= truth <= high + 1e-9 for low, high in known)
    width = float(np.median([high - low for low, high in known])) if known else math.nan
    return Covered(held, len(known), len(rows), width)


def rows_of(world: World, draws: int, random: Random) -> Sequence[MeasureRow]:
    """Return the row of every draw, by the SQL of the measure over a store's views."""
    plan = plan_of_world(world, draws)
    measure = next(each for each in plan.measures if each.name in ("it", "s.it"))
    drawn = world.draw(random, draws)
    with views_of(world, plan, measure, drawn, draws) as connection:
        found = evaluate(connection, plan, measure).rows
    return [row for row in found if row.model == found[0].model] if world.together else found


def plan_of_world(world: World, draws: int) -> Plan:
    """Compile the spec of a world."""
    inside, after = ((), world.measures) if world.across else (world.measures, ())
    text = SPEC.replace("MEASURES", "\n".join(f"  {each}" for each in inside)).replace("AFTER", "\n".join(after))
    with TemporaryDirectory() as folder:
        return plan_of(compile_files(Path(folder), {"spec.tripos": text, "items.jsonl": ITEMS}))


ROW = {"text": "?", "weight": 1, "sort": "a", "gold": "x", "other": 1, "yes": True}
ITEMS = "".join(json.dumps({**ROW, "kind": kind}) + "\n" for kind in "abcd")


def views_of(world: World, plan: Plan, measure: Measure, drawn: Drawn, draws: int) -> duckdb.DuckDBPyConnection:
    """Return a database with the views of a benchmark that a measure reads."""
    leaf = next(leaves_of(measure.figure, measures_of(plan)))
    tables: dict[str, list[pa.Table]] = {"scores": [], "columns": []}
    for step, values in drawn.values.items():
        name = leaf.values[step] if isinstance(step, int) else step
        for judge, own in enumerate(values if values.ndim == 3 else values[None]):
            rated = values.ndim == 3
            made = {
                **where(world, drawn, draws),
                "metric": np.repeat("CLAR" if rated else name, own.size),
                "scorer": np.repeat(name, own.size),
                "evaluator": np.repeat(f"j{judge}" if rated else "", own.size),
                "value": np.full(own.size, np.nan) if own.dtype.kind == "U" else own.ravel().astype(float),
                "given": np.array([json.dumps(each) for each in own.ravel().tolist()]),
            }
            tables["columns" if isinstance(step, int) else "scores"].append(pa.table(made))
    connection = duckdb.connect()
    add_functions(connection)
    connection.execute("create schema demo")
    for view, found in tables.items():
        given = (
            pa.concat_tables(found) if found else pa.table({**where(world, drawn, 0), **{name: [] for name in EMPTY}})
        )
        connection.register("given", given)
        connection.execute(
            f"""create table demo.{view} as select * exclude (value, evaluator, given), 's' as scenario,
  case when isnan(value::double) then null else value::double end as value, nullif(evaluator::text, '') as evaluator,
  {"given::text as given" if view == "columns" else "null::text as given, null::text as choice"},
  null::bigint as round, null::text as element_place, null::text as element_value, item_id::text as cluster_id,
  case when isnan(value::double) and {view == "scores"} then 'parse_failure' else 'scored' end as status
from given"""
        )
        connection.unregister("given")
    kinds = drawn.kinds or {}
    if world.together:
        kinds = {f"d{draw} {item}": f"d{draw}" for draw in range(draws) for item in dict.fromkeys(drawn.items)}
    fields = [json.dumps({"kind": kind}) for kind in kinds.values()]
    items = {"item_id": pa.array(list(kinds), pa.string()), "fields": pa.array(fields, pa.string())}
    connection.register("given", pa.table(items))
    connection.execute("create table demo.items as select *, 's' as scenario from given")
    return connection


EMPTY = ("metric", "scorer", "evaluator", "value", "given")


def where(world: World, drawn: Drawn, draws: int) -> dict[str, Values]:
    """Return whose replies the values are, to which item, and in which draw."""
    count = len(drawn.items)
    draw = np.repeat(np.arange(draws), count)
    place = np.tile(np.arange(count), draws)
    models = 1 if not world.together else count // len(set(drawn.items))
    model = draw if not world.together else place // (count // models)
    return {
        "model": np.array([f"m{each:04}" for each in model], dtype=str),
        "item_id": np.array([f"d{own} {item}" for own in range(draws) for item in drawn.items], dtype=str)
        if world.together
        else np.tile(np.array(drawn.items), draws),
        "sample_id": np.array([f"s{each}" for each in range(draws * count)], dtype=str),
    }


# --- the table ---

HEAD = "| aggregate | world | held | without interval | median width | draws |\n| --- | --- | --- | --- | --- | --- |"


def table_of(lines: Iterable[Line]) -> str:
    """Return lines as Markdown."""
    return "\n".join([HEAD, *map(text_of, lines)])


def text_of(line: Line) -> str:
    """Return a line as Markdown."""
    found = line.covered
    held = f"{100 * found.share:.1f} ± {100 * found.error:.1f} %" if found.known else "none"
    width = f"{found.width:.3g}" if found.known else ""
    none = f"{100 * (1 - found.known / found.draws):.1f} %"
    name = "formula" if line.aggregate == "formula" else f"`{line.aggregate}`"
    return f"| {name} | {line.world} | {held} | {none} | {width} | {found.draws:,} |"


def missing_aggregates(page: str) -> list[str]:
    """Return the aggregates of the language of which the table on a page has no line."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    return [name for name in AGGREGATES if f"| `{name}` |" not in table]


def main() -> int:
    """Measure, and print or write the table; or check that it is complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each world at most")
    parser.add_argument("--only", default="", help="worlds with this word, as mcc or cells")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--write", action="store_true", help="put the table into docs/reference/statistics/coverage.md")
    chosen.add_argument("--check", action="store_true", help="fail if an aggregate has no line on that page")
    given = parser.parse_args()
    page = PAGE.read_text("utf-8")
    if given.check:
        lacking = missing_aggregates(page)
        print(f"without a line: {', '.join(lacking)}" if lacking else "every aggregate has a line")
        return bool(lacking)
    if given.write and given.only:
        parser.error("--write measures everything: leave out --only")
    lines = []
    print(HEAD)
    for line in measured(given.draws, given.only, given.seed):
        print(text_of(line), flush=True)
        lines.append(line)
    if given.write:
        before, begin, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{begin}\n{table_of(lines)}\n{END}{after}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
