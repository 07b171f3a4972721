"""Headlines with unreadable replies: what they would be if those counted as wrong, against a naive evaluation."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.lengths import sized
from tests.warehouse.synthetic import Results
from tripos_compiler.plan import Plan
from tripos_compiler.plan.base import named
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.unread import with_unread
from tripos_warehouse.report.remarks import unread_remarks
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
dataset item from "items.jsonl" { text text, level, gold choice(a, b) secret }
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric FACT "Accuracy" { scale 1..5, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer verdict(reply: text) by judge { prompt "{{ reply }}", gives choice(good, fair, bad) }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  x   |  x   |
}
scenario sums {
  over item
  context level
  ask answer by candidate {
    prompt "{{ item.text }} {{ level }}"
    samples 2
    returns { sort choice(a, b), mark -2..6, size integer }
  }
  score right = answer.sort == item.gold
  score wrong = answer.sort != item.gold
  score mark = answer.mark
  score size = answer.size
  score kind = verdict(answer.text)
  score rubric(answer.text)
  measure exact = accuracy(answer.sort, item.gold)
  measure exact_f1 = f1(answer.sort, item.gold, average: micro)
}
measure share_right  = mean(right)
measure strict       = mean(right, missing: fail)
measure as_zero      = mean(right, missing: zero)
measure by_level     = mean(mean(right) by level)
measure error_rate   = mean(wrong) lower is better
measure one_less     = 1 - mean(wrong)
measure marks        = mean(mark)
measure least_mark   = min(mark)
measure mark_errors  = mean(mark) lower is better
measure sizes        = mean(size)
measure spread       = stdev(mark)
measure clarity      = mean(CLAR)
measure quality_mean = mean(rubric)
measure both         = (mean(right) + (mean(CLAR) - 1) / 4) / 2
measure gain         = share_right[level: hard] - share_right[level: easy]
measure tried        = pass_at(2, right)
measure all_tried    = pass_all(2, right)
measure good_share   = share(kind == good)
measure middle       = median(mark)
"""
UNREAD = ("parse_failure", "refused", "truncated", "undefined")
UNANSWERED = ("provider_error", "function_error")
Key = tuple[str, str, int]
"""An item, its level and the number of a sample."""
Drawn = Mapping[str, Mapping[Key, tuple[object, str | None]]]
"""Of each score what it is, and its status where it has no value."""
SCALES = {"right": (0, 1), "wrong": (0, 1), "mark": (-2, 6), "CLAR": (1, 5), "FACT": (1, 5), "kind": (0, 1)}


def planned(folder: Path) -> Plan:
    rows = '{"text": "?", "level": "easy", "gold": "a"}\n'
    return plan_of(compile_files(folder, {"spec.tripos": SPEC, "items.jsonl": rows}))


def drawn(seed: int) -> dict[str, dict[Key, tuple[object, str | None]]]:
    """Return random scores of a few items, of which some have no value."""
    dice = random.Random(seed)
    keys = list(itertools.product([f"i{n}" for n in range(dice.randint(2, 6))], ("easy", "hard"), range(2)))
    lacking = dice.choice((0.1, 0.3, 0.7))
    unread, unanswered = dice.choice(((1.0, 0.0), (0.7, 0.3)))
    found: dict[str, dict[Key, tuple[object, str | None]]] = {}
    for name in ("right", "wrong", "mark", "size", "kind", "CLAR", "FACT", "sort"):
        found[name] = {}
        for key in keys:
            status = None
            if dice.random() < lacking:
                status = dice.choice(UNREAD if dice.random() < unread / (unread + unanswered) else UNANSWERED)
            low, high = SCALES.get(name, (0, 9))
            value: object = float(dice.randint(low, high))
            value = dice.choice(("good", "fair", "bad")) if name == "kind" else value
            value = dice.choice("ab") if name == "sort" else value
            found[name][key] = (None if status else value, status)
    return found


def write(store: Store, plan: Plan, scores: Drawn) -> None:
    results = Results(plan)
    for name, rows in scores.items():
        for (item, level, number), (value, status) in rows.items():
            at = f"{item}-{level}"
            results.item("sums", at, {"text": "?", "gold": "a"}, {"level": level})
            if name == "sort":
                results.add("sums", "exact.values", at, value, number=number, status=status)
                results.add("sums", "exact.gold", at, "a", number=number)
                continue
            judged = {"evaluator": "j1"} if name in ("kind", "CLAR", "FACT") else {}
            metric = {"metric": name} if name in ("CLAR", "FACT") else {}
            step = "rubric" if metric else name
            results.add("sums", step, at, value, number=number, status=status, **judged, **metric)  # type: ignore[arg-type]
    results.write(store)


# --- the same in plain Python ---


def mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


class Naive:
    """Scores in which unreadable ones are as bad as they may be; with `high` the highest value is the worst."""

    def __init__(self, scores: Drawn, high: frozenset[str]) -> None:
        self.scores, self.high = scores, high

    def of(self, name: str, level: str | None = None) -> dict[Key, float]:
        """Return the values of a score, without those of calls that nobody answered."""
        found: dict[Key, float] = {}
        for key, (value, status) in self.scores[name].items():
            if status in UNANSWERED or level not in (None, key[1]):
                continue
            if name == "sort":
                found[key] = float(value == "a")
            elif name == "kind":
                found[key] = float(value == "good")
            elif status is not None:
                found[key] = float(SCALES[name][name in self.high])
            else:
                assert isinstance(value, float)
                found[key] = value
        return found

    def mean(self, *names: str, level: str | None = None) -> float | None:
        return mean(value for name in names for value in self.of(name, level).values())

    def tries(self, chance: Callable[[Iterable[bool]], bool]) -> float | None:
        """Return the share of items of which both samples are known and `chance` holds."""
        of_item: dict[tuple[str, str], list[float]] = {}
        for (item, level, _), value in self.of("right").items():
            of_item.setdefault((item, level), []).append(value)
        return mean(float(chance(v == 1 for v in values)) for values in of_item.values() if len(values) == 2)

    def f1(self) -> float | None:
        """Return micro F1 where every gold class is `a`: what could not be read misses it, and no other is wrong."""
        said = [value for value, status in self.scores["sort"].values() if status not in UNANSWERED]
        right, other, missed = (sum(value == each for value in said) for each in ("a", "b", None))
        return 2 * right / (2 * right + 2 * other + missed) if said else None


def median(values: Iterable[float]) -> float | None:
    known = sorted(values)
    half = len(known) // 2
    return None if not known else known[half] if len(known) % 2 else (known[half - 1] + known[half]) / 2


def both(right: float | None, clear: float | None) -> float | None:
    return None if right is None or clear is None else (right + (clear - 1) / 4) / 2


NAIVE: dict[str, tuple[tuple[str, ...], Callable[[Naive], float | None]]] = {
    "share_right": (("right",), lambda it: it.mean("right")),
    "strict": (
        ("right",),
        lambda it: it.mean("right") if not any(s in UNANSWERED for _, s in it.scores["right"].values()) else None,
    ),
    "by_level": (
        ("right",),
        lambda it: mean(m for level in ("easy", "hard") if (m := it.mean("right", level=level)) is not None),
    ),
    "error_rate": (("wrong",), lambda it: it.mean("wrong")),
    "one_less": (("wrong",), lambda it: None if (m := it.mean("wrong")) is None else 1 - m),
    "marks": (("mark",), lambda it: it.mean("mark")),
    "least_mark": (("mark",), lambda it: min(it.of("mark").values(), default=None)),
    "mark_errors": (("mark",), lambda it: it.mean("mark")),
    "clarity": (("CLAR",), lambda it: it.mean("CLAR")),
    "quality_mean": (("CLAR", "FACT"), lambda it: it.mean("CLAR", "FACT")),
    "both": (("right", "CLAR"), lambda it: both(it.mean("right"), it.mean("CLAR"))),
    "tried": (("right",), lambda it: it.tries(any)),
    "all_tried": (("right",), lambda it: it.tries(all)),
    "good_share": (("kind",), lambda it: it.mean("kind")),
    "middle": (("mark",), lambda it: median(it.of("mark").values())),
    "sums.exact": (("sort",), lambda it: it.mean("sort")),
    "sums.exact_f1": (("sort",), lambda it: it.f1()),
}
"""Of each measure the scores that it looks at, and its value with unreadable ones as wrong."""
HIGH = {"error_rate": frozenset({"wrong"}), "one_less": frozenset({"wrong"}), "mark_errors": frozenset({"mark"})}
UNBOUNDED = ("sizes", "spread", "gain")
"""Measures of which nothing is known: no range, no direction, and one score on both sides."""


def rows_of(store: Store, plan: Plan, name: str) -> list[MeasureRow]:
    with connect(store) as connection:
        return list(with_unread(connection, plan, evaluate(connection, plan, named(plan.measures, name))).rows)


@pytest.mark.parametrize("seed", range(sized(2, 20)))
def test_the_figure_with_unread_replies_as_wrong_is_that_of_a_naive_evaluation(tmp_path: Path, seed: int) -> None:
    plan, scores = planned(tmp_path), drawn(seed)
    store = Store.open(tmp_path / "results", create=True)
    write(store, plan, scores)
    for name, (looked_at, figure) in NAIVE.items():
        [row] = rows_of(store, plan, name)
        count = sum(status in UNREAD for each in looked_at for _, status in scores[each].values())
        if not count:
            assert row.unread is None, name
            continue
        assert row.unread is not None, name
        expected = figure(Naive(scores, HIGH.get(name, frozenset())))
        assert row.unread.count == count, name
        assert row.unread.figure == (None if expected is None else pytest.approx(expected)), name


@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_nothing_bounds_says_the_count_alone(tmp_path: Path, name: str) -> None:
    plan, scores = planned(tmp_path), drawn(1)
    store = Store.open(tmp_path / "results", create=True)
    write(store, plan, scores)
    [row] = rows_of(store, plan, name)
    assert row.n < row.total
    assert row.unread is not None
    assert (row.unread.count, row.unread.figure) == (row.total - row.n, None)


def test_what_counts_missing_scores_as_zero_has_no_such_figure(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    store = Store.open(tmp_path / "results", create=True)
    write(store, plan, drawn(1))
    [row] = rows_of(store, plan, "as_zero")
    assert row.n < row.total
    assert row.unread is None


def test_the_sentence_says_on_how_many_scores_it_stands(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    store = Store.open(tmp_path / "results", create=True)
    keys = [(f"i{n:03}", "easy", 0) for n in range(100)]
    right = {key: (None, "parse_failure") if n < 20 else (float(n < 84), None) for n, key in enumerate(keys)}
    write(store, plan, {"right": right})
    with connect(store) as connection:
        table = with_unread(connection, plan, evaluate(connection, plan, named(plan.measures, "share_right")))
    [remark] = unread_remarks([table])
    told = "`share_right` of m: 0.800 on 80 of 100 scores; 0.640 if the 20 unread ones count as wrong"
    assert (remark.kind, remark.text) == ("unread", told)
    assert math.isclose(table.to_rows()[0]["if_wrong"], 0.64)
