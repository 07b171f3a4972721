"""Aggregates of the cells of a formula: values and errors against numpy's jackknife and bootstrap, cells without a
value, what is counted, and intervals where chance moves the figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import stats

from tests.lengths import sized
from tests.warehouse.drawn_items import Drawn, measured, plan_of_items
from tests.warehouse.synthetic import Results
from tests.warehouse.test_measures_coverage import kept
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.query.connection import add_functions
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

BASE = """  measure overall = mean(long)
  measure by_kind = mean(long) by q.kind
  measure gap = by_kind - overall
  measure square = gap * gap
"""
Cells = Callable[[list[float], float], float]
"""A figure of the means of all kinds, and of the mean of all."""
NESTED = "mean(mean(square) by q.kind)"
FORMULAS: dict[str, Cells] = {
    "sqrt(mean(gap * gap by q.kind))": lambda own, whole: math.sqrt(np.mean([(x - whole) ** 2 for x in own])),
    "mean(square)": lambda own, whole: float(np.mean([(x - whole) ** 2 for x in own])),
    "sum(gap * gap by q.kind)": lambda own, whole: sum((x - whole) ** 2 for x in own),
    "exp(mean(log(by_kind) by q.kind))": lambda own, whole: math.exp(np.mean(np.log(own))),
    "tanh(mean(atanh(by_kind / 100) by q.kind))": lambda own, whole: math.tanh(
        np.mean(np.arctanh(np.array(own) / 100))
    ),
    "mean(abs(gap) by q.kind)": lambda own, whole: float(np.mean([abs(x - whole) for x in own])),
    "mean(gap)": lambda own, whole: float(np.mean(own)) - whole,
    "stdev(gap)": lambda own, whole: float(np.std(own, ddof=1)),
    "1 - mean(1 / by_kind by q.kind) * overall": lambda own, whole: 1 - float(np.mean(1 / np.array(own))) * whole,
    NESTED: lambda own, whole: float(np.mean([(x - whole) ** 2 for x in own])),
}


def of_kinds(drawn: Drawn, counts: np.ndarray, cells: Cells) -> float:
    kinds = sorted(set(drawn.kinds))
    return cells([drawn.mean(counts, kind) for kind in kinds], drawn.mean(counts))


@pytest.mark.parametrize("seed", range(sized(2, 30)))
def test_errors_of_the_cells_of_a_formula_are_those_of_the_jackknife(store: Store, tmp_path: Path, seed: int) -> None:
    drawn = Drawn(seed, [int(each) for each in np.random.default_rng(seed).integers(60, 120, 2 + seed % 3)])
    drawn.values = [own + 15 * (ord(kind) - 97) for kind, own in zip(drawn.kinds, drawn.values, strict=True)]
    named = {f"f{place}": text for place, text in enumerate(FORMULAS)}
    plan = plan_of_items(tmp_path, BASE + "".join(f"  measure {key} = {text}\n" for key, text in named.items()))
    drawn.write(store, plan)
    tables = measured(store, plan)
    for key, text in named.items():
        [row] = tables[f"sums.{key}"].rows

        def statistic(counts: np.ndarray, text: str = text) -> float:
            return of_kinds(drawn, counts, FORMULAS[text])

        assert row.value == pytest.approx(statistic(np.ones(len(drawn.kinds))), rel=1e-12), text
        if text == NESTED and row.reason is not None:  # a kind near the mean of all has a square that chance makes
            assert (row.standard_error, row.low) == (None, None) and "chance alone" in row.reason
            continue
        assert row.standard_error == pytest.approx(drawn.jackknifed(statistic), rel=0.06), text
        assert row.low is not None and row.high is not None and row.value is not None, text
        assert row.low < row.value < row.high, text
        assert (row.items, row.n, row.total) == (len(drawn.kinds), *[sum(map(len, drawn.values))] * 2), text


def test_items_that_are_drawn_again_show_the_same_error(store: Store, tmp_path: Path) -> None:
    drawn = Drawn(5, (80, 120, 100))
    plan = plan_of_items(tmp_path, BASE + "".join(f"  measure f{n} = {text}\n" for n, text in enumerate(FORMULAS)))
    drawn.write(store, plan)
    tables = measured(store, plan)
    for number, cells in list(enumerate(FORMULAS.values()))[:: sized(5, 1)]:
        [row] = tables[f"sums.f{number}"].rows
        again = drawn.drawn_again(lambda counts, cells=cells: of_kinds(drawn, counts, cells))  # type: ignore[misc]
        assert row.standard_error == pytest.approx(again, rel=0.1), number


def told_of(row: MeasureRow) -> tuple[float | None, ...]:
    return row.value, row.standard_error, row.low, row.high


def test_a_formula_is_the_same_by_its_name_inside_and_moved(store: Store, tmp_path: Path) -> None:
    more = """  measure named = mean(square)
  measure inside = mean(gap * gap by q.kind)
  measure again = mean(again_by)
  measure again_by = square by q.kind
  measure macro = mean(by_kind)
  measure moved = 1 - mean(1 - by_kind by q.kind)
  measure sliced = mean(one) + mean(two)
  measure one = by_kind[q.kind: a] by text
  measure two = by_kind[q.kind: b] by text
"""
    plan = plan_of_items(tmp_path, BASE + more.replace("by text", "by scenario"))
    Drawn(3, (40, 60)).write(store, plan)
    rows = {name.removeprefix("sums."): table.rows for name, table in measured(store, plan).items()}
    assert rows["named"] == rows["inside"] == rows["again"]
    assert told_of(rows["moved"][0]) == pytest.approx(told_of(rows["macro"][0]))
    a, b = rows["by_kind"]
    assert rows["sliced"][0].value == pytest.approx((a.value or 0) + (b.value or 0))
    assert rows["sliced"][0].n == a.n + b.n


def test_degrees_of_freedom_are_those_of_what_each_cell_has_of_the_variance(store: Store, tmp_path: Path) -> None:
    """Six items of one kind, whose square has nearly all of the variance, leave about five."""
    drawn = Drawn(4, (6, 194))
    drawn.values = [own + 40 * (kind == "a") for kind, own in zip(drawn.kinds, drawn.values, strict=True)]
    plan = plan_of_items(tmp_path, BASE + "  measure it = mean(by_kind * by_kind by q.kind)\n")
    drawn.write(store, plan)
    tables = measured(store, plan)
    [row], kinds = tables["sums.it"].rows, tables["sums.by_kind"].rows
    shares = [((each.value or 0) * (each.standard_error or 0)) ** 2 for each in kinds]
    freedom = math.floor(sum(shares) ** 2 / (shares[0] ** 2 / 5 + shares[1] ** 2 / 193))
    assert freedom < 7 and row.standard_error is not None and row.high is not None and row.value is not None
    half = float(stats.t.ppf(0.975, freedom)) * row.standard_error
    reach = row.high - row.value  # down it reaches further, by what chance adds
    assert half < reach < 1.4 * half, "items of different numbers of scores leave somewhat less"


def test_the_least_cell_counts_what_that_cell_looks_at(store: Store, tmp_path: Path) -> None:
    drawn = Drawn(4, (30, 30, 30))
    drawn.values = [own + 50 * (ord(kind) - 97) for kind, own in zip(drawn.kinds, drawn.values, strict=True)]
    plan = plan_of_items(tmp_path, BASE + "  measure least = min(gap)\n  measure own = max(2 * by_kind by q.kind)\n")
    drawn.write(store, plan)
    tables = measured(store, plan)
    [least], [own], gaps = (tables[f"sums.{name}"].rows for name in ("least", "own", "gap"))
    assert told_of(least)[:2] == pytest.approx(told_of(gaps[0])[:2])
    assert (least.n, least.items) == (gaps[0].n, 90)
    assert own.n == sum(len(each) for kind, each in zip(drawn.kinds, drawn.values, strict=True) if kind == "c")


def test_a_cell_without_a_value_is_told_or_left_out(store: Store, tmp_path: Path) -> None:
    plan = plan_of_items(
        tmp_path,
        """  measure by_kind = mean(long) by q.kind
  measure spread = stdev(long) by q.kind
  measure logs = mean(log(by_kind - 4) by q.kind)
  measure over = mean(1 / (by_kind - 4) by q.kind)
  measure deep = mean(sqrt(mean(1 / (by_kind - 4) by q.kind, scenario)) by scenario)
  measure parts = mean(by_kind / spread by q.kind)
  measure strict = mean(by_kind / spread by q.kind, missing: fail)
""",
    )
    drawn = Drawn(1, (3, 3, 1))
    drawn.values = [np.array([float(value)]) for value in (3, 4, 5, 6, 7, 8, 9)]
    drawn.write(store, plan)
    rows = {name.removeprefix("sums."): table.rows[0] for name, table in measured(store, plan).items()}
    assert (rows["logs"].value, rows["logs"].reason) == (None, "it is the logarithm of a number that is not above 0")
    for name in ("over", "deep"):  # one cell divides by 0, and a mean of the others would be another figure
        assert (rows[name].value, rows[name].reason) == (None, "it divides by zero")
    assert rows["parts"].value == pytest.approx((4 + 7) / 2)  # of one item there is no spread: that kind is left out
    assert rows["strict"].value is None


CUT = "a number in `min` or `max` cuts a part of it off, so its error is unknown"
FEW = "chance alone moves it by more than its error shows, so its error is unknown"


def test_where_chance_alone_moves_the_figure_the_interval_reaches_the_truth_or_there_is_none(
    store: Store, tmp_path: Path
) -> None:
    """Four kinds of items that differ by nothing: their distance is above 0 by chance alone."""
    more = """  measure rms = sqrt(mean(square))
  measure even = mean(gap)
  measure far = mean(abs(gap) by q.kind)
  measure times = 2 * far
"""
    plan = plan_of_items(tmp_path, BASE + more)
    drawn = Drawn(1, (25, 25, 25, 25))
    drawn.values = [own - 3 * (ord(kind) - 97) for kind, own in zip(drawn.kinds, drawn.values, strict=True)]
    drawn.write(store, plan)
    tables = measured(store, plan)
    [rms], [far], [times], [even] = (tables[f"sums.{name}"].rows for name in ("rms", "far", "times", "even"))
    assert (rms.low, rms.reason) == (None, FEW) and rms.value is not None and rms.value > 0.5
    half = float(stats.t.ppf(0.975, 80)) * (far.standard_error or 0)
    assert far.low == 0 and far.value is not None and far.high == pytest.approx(far.value + half, 0.05)
    assert told_of(times) == pytest.approx([2 * (each or 0) for each in told_of(far)])
    assert even.half_width is not None and even.value is not None
    assert even.low == pytest.approx(even.value - even.half_width)


def test_medians_in_cells_bound_what_is_straight_and_are_held_against_chance(store: Store, tmp_path: Path) -> None:
    text = """  measure straight = mean(2 * median(long) by q.kind)
  measure plain = mean(median(long) by q.kind)
  measure bent = mean(1 / (median(long) - 17.5) by q.kind)
"""
    plan = plan_of_items(tmp_path, text)
    Drawn(2, (30, 30)).write(store, plan)
    tables = measured(store, plan)
    [straight], [plain], [bent] = (tables[f"sums.{name}"].rows for name in ("straight", "plain", "bent"))
    assert told_of(straight) == pytest.approx([2 * (each or 0) for each in told_of(plain)])
    assert (bent.low, bent.reason) == (None, FEW) and bent.value is not None


FIGURES = {
    "rms": "sqrt(mean((mean(right) - mean(long)) * (mean(right) - mean(long)) by hint))",
    "fisher": "tanh(mean(atanh(mean(right)) by hint))",
    "smd": "mean((mean(right) - mean(long)) / stdev(long) by hint)",
}


def of_two_scores(
    random: np.random.Generator, connection: duckdb.DuckDBPyConnection, right: float, long: float
) -> None:
    """Two scores of the same 60 items in each of four arms, the items of an arm its own: 0 or 1, and related."""
    rows: dict[str, list[tuple[str, str, str, float | None]]] = {"right": [], "long": []}
    for arm in "abcd":
        for place in range(60):
            chance, other = random.random(2)
            name = f"{arm}{place}"
            rows["right"].append((name, name, arm, float(chance < right)))
            rows["long"].append((name, name, arm, float((chance if other < 0.5 else random.random()) < long)))
    kept(connection, rows["long"])
    connection.execute("update demo.scores set metric = 'long', scorer = 'long'")
    connection.execute("create or replace table first as from demo.scores")
    kept(connection, rows["right"])
    connection.execute("insert into demo.scores select * exclude (cluster_id) from first")


def of_arms() -> Plan:
    from tests.warehouse.test_measures import plan_with

    return plan_with(*(f"measure {name} = {text}" for name, text in FIGURES.items()))


def test_intervals_of_cells_of_formulas_hold_the_truth() -> None:
    plan, connection, random = of_arms(), duckdb.connect(), np.random.default_rng(8)
    add_functions(connection)
    right, long = 0.75, 0.3
    truth = {"rms": right - long, "fisher": right, "smd": (right - long) / math.sqrt(long * (1 - long))}
    times = sized(8, 400)
    told, held = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(times):
        of_two_scores(random, connection, right, long)
        for measure in plan.measures:
            name = measure.name.removeprefix("sums.")
            if name in truth:
                [row] = evaluate(connection, plan, measure).rows
                told[name] += row.low is not None
                if row.low is not None and row.high is not None:
                    held[name] += row.low <= truth[name] <= row.high
    for name in truth:
        assert told[name] >= 0.9 * times, (name, told)
        assert held[name] >= stats.binom.ppf(0.001, told[name], 0.95), (name, told, held)


DIFFERENCES = {
    "far": "sqrt(mean(gap * gap by q.kind))",
    "even": "mean(gap)",
    "cut": "mean(max(0, by_kind - 15) by q.kind)",
    "bent": "mean(gap * gap * gap * gap by q.kind)",
}


def test_the_difference_of_two_models_is_told_where_neither_chance_nor_a_number_stands_in_its_way(
    store: Store, tmp_path: Path
) -> None:
    base = (
        "  measure overall = mean(long)\n  measure by_kind = mean(long) by q.kind\n  measure gap = by_kind - overall\n"
    )
    plan = plan_of_items(tmp_path, base + "".join(f"  measure {name} = {text}\n" for name, text in DIFFERENCES.items()))
    random, results, names = np.random.default_rng(3), Results(plan, models=("a", "b")), []
    kinds = [kind for kind in "abc" for _ in range(20)]
    level = {"a": {"a": 10, "b": 20, "c": 40}, "b": {"a": 20, "b": 20.5, "c": 21}}
    values = {model: np.array([level[model][kind] for kind in kinds]) + random.normal(0, 2, 60) for model in "ab"}
    for place, kind in enumerate(kinds):
        names.append(f"i{place:03}")
        results.item("sums", names[-1], {"kind": kind, "text": "?"})
        for model in "ab":
            results.add("sums", "long", names[-1], float(values[model][place]), model=model)
            results.add("sums", "right", names[-1], 1.0, model=model)
    results.write(store)

    def rms(counts: np.ndarray, model: str) -> float:
        chosen = [counts * np.array([each == kind for each in kinds]) for kind in "abc"]
        means = [np.average(values[model], weights=each) for each in chosen]
        return math.sqrt(np.mean((np.array(means) - np.average(values[model], weights=counts)) ** 2))

    left = []
    for place in range(60):
        counts = (np.arange(60) != place).astype(float)
        left.append(rms(counts, "a") - rms(counts, "b"))
    error = math.sqrt(59 / 60 * np.sum((np.array(left) - np.mean(left)) ** 2))
    with connect(store) as connection:
        side = Side(connection, plan, ("a", "b"))
        found = {
            name: model_differences(side, measure, items=names)[(), "a", "b"]
            for measure in plan.measures
            if (name := measure.name.removeprefix("sums.")) in DIFFERENCES
        }
    once = np.ones(60)
    assert found["far"].value == pytest.approx(rms(once, "a") - rms(once, "b"))
    assert found["far"].standard_error == pytest.approx(error, rel=0.4) and found["far"].low is not None
    assert found["even"].low is not None
    assert (found["cut"].low, found["cut"].reason) == (None, CUT)
    assert (found["bent"].low, found["bent"].reason) == (None, FEW)
