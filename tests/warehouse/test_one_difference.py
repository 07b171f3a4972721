"""A comparison, a leaderboard and the bold values of a table say the same of two models, whatever a measure is."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.compiling import compile_files, compile_text, plan_of
from tests.lengths import sized
from tests.warehouse.synthetic import Results
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.plan import Column, Measure, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences import ModelDifferences, model_differences
from tripos_warehouse.measures.directions import better_direction
from tripos_warehouse.measures.measure_rows import text_of
from tripos_warehouse.measures.sides import Cell, Side
from tripos_warehouse.report import best_values, leaderboard, result_tables
from tripos_warehouse.report.comparison import RunSide, compare
from tripos_warehouse.report.result_tables import filled_tables
from tripos_warehouse.report.run_report import report
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import negated
from tripos_warehouse.statistics.multiple_tests import holm
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
arm hint { none, some }
axis level { easy, hard }
dimension quality "Quality" {
  metric CLEAR "Clarity" { scale 1..5, asks "Is it clear?" }
  metric TRUE "Truth"    { scale 1..5, asks "Is it true?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer strict(reply: text) by judge { prompt "{{ metrics }} Again: {{ reply }}", gives allocated metrics }
allocate rubric {
  |         | CLEAR | TRUE |
  | sums    |   3   |   1  |
  | letters |   1   |   1  |
}
allocate strict {
  |         | CLEAR | TRUE |
  | sums    |   1   |   2  |
}
scenario sums {
  context level
  arms hint
  ask answer by candidate { prompt "Add {{ level }} {{ hint }}." }
  score right  = contains(answer.text, "4")
  score length = words(answer.text)
  score rubric(reply: answer.text)
  score strict(reply: answer.text)
  measure total  = sum(length)
  measure middle = median(length)
}
scenario letters {
  ask answer by candidate { prompt "Write." }
  score rubric(reply: answer.text)
}
measure mark     = mean(rubric)
measure clear    = mean(CLEAR)
measure hard     = mean(strict)
measure right    = mean(sums.right)
measure twice    = 2 * right - 1
measure zero     = mean(sums.right, missing: zero)
measure hinted   = mean(sums.right) by hint
measure even     = mean(hinted)
measure helped   = hinted[hint: some] - hinted[hint: none]
measure by_level = mean(sums.right) by level
measure levels   = (by_level[level: easy] + by_level[level: hard]) / 2
measure ratio    = mean(rubric) / mean(strict)
"""
MODELS = ("a", "b", "c")


def drawn(plan: Plan, seed: int) -> tuple[Results, bool]:
    """Return scores of three models, of which each may lack some, and whether none of them does."""
    source = random.Random(seed)
    results = Results(plan, models=MODELS)
    missing = source.choice([0.0, 0.15, 0.5])
    for scenario, many in (("sums", source.choice([4, 9, 30])), ("letters", source.choice([3, 12]))):
        for number in range(many):
            item = f"{scenario}{number:02}"
            results.item(scenario, item, axes={"level": source.choice(["easy", "hard"])} if scenario == "sums" else {})
            for model, ahead in zip(MODELS, (0, 1, 2), strict=True):
                if source.random() < missing / 2:
                    continue
                for hint in ("none", "some") if scenario == "sums" else (None,):
                    arms = {} if hint is None else {"hint": hint}

                    def add(step: str, value: float, **more: Any) -> None:
                        told = None if source.random() < missing else value
                        results.add(scenario, step, item, told, model=model, arms=arms, **more)  # noqa: B023

                    for step in ("rubric", "strict") if scenario == "sums" else ("rubric",):
                        for metric in ("CLEAR", "TRUE"):
                            add(step, source.randint(1, 3) + ahead, metric=metric, evaluator="j1")
                    if scenario == "sums":
                        add("right", float(source.random() < 0.3 + ahead / 4))
                        add("length", float(source.randint(1, 9) + 2 * ahead))
    return results, not missing


def recorded(
    compared: Callable[..., ModelDifferences],
    estimates: dict[tuple[str, Cell, str, str], Estimate],
    side: Side,
    measure: Measure,
    **more: Any,
) -> ModelDifferences:
    """Return the differences of models, and put them under the name of their measure."""
    found = compared(side, measure, **more)
    for (cell, first, second), each in found.items():
        estimates[measure.name, tuple(map(text_of, cell)), first, second] = each
    return found


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_a_difference_is_one_wherever_it_is_shown(store: Store, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    plan = plan_of(compile_text(SPEC))
    results, complete = drawn(plan, seed)
    results.write(store)
    shown: dict[str, dict[tuple[str, Cell, str, str], Estimate]] = {}
    for module in (leaderboard, best_values):
        estimates = shown.setdefault(module.__name__, {})
        monkeypatch.setattr(module, "model_differences", partial(recorded, module.model_differences, estimates))
    connection, run = connect_run(store)
    with connection:
        names = {"demo": [measure.name for measure in plan.measures if not measure.by]}
        leaderboard.leaderboard(connection, [run], names, comparable=are_comparable)
        reported = report(connection, plan, run)
        best_values.best_values(connection, reported)
        values = {
            (table.measure.name, ", ".join(map(str, row.by)), row.model): row.value
            for table in reported.measures
            for row in table.rows
        }
        places = Counter[str]()
        for first, second in combinations(MODELS, 2):
            one, two = (RunSide(connection, plan, (model,), run) for model in (second, first))
            try:
                compared = compare(one, two).sections[0].rows
            except StoreError:  # the two share no item
                continue
            for row in compared if complete else ():
                for model, value in ((second, row.a), (first, row.b)):
                    assert value == pytest.approx(values.get((row.name, row.of, model), value)), (row.name, row.of)
            rows = {(row.name, row.of): row.difference for row in compared}
            for place, estimates in shown.items():
                for (name, cell, *models), each in estimates.items():
                    estimate = rows.get((name, ", ".join(str(value) for value in cell)))
                    if {*models} == {first, second} and estimate is not None:
                        wanted = estimate if models == [first, second] else negated(estimate)
                        assert same(each, wanted), (place, name, cell, each, wanted)
                        places[place] += 1
    assert not run.settled
    assert min(places[module.__name__] for module in (leaderboard, best_values)) > 3 or seed > 1


FIGURES = "".join(
    f"  column {name}\n"
    for name in (
        "mark",
        "clear",
        "hard",
        "right",
        "twice",
        "zero",
        "even",
        "helped",
        "levels",
        "ratio",
        "hinted",
        "by_level",
    )
)
TABLES = f"""
table from_a    {{ rows model\n{FIGURES}  differences from a beside values\n  mark significant }}
table in_place  {{ rows model\n{FIGURES}  differences from a }}
table from_best {{ rows model\n{FIGURES}  mark significant }}
"""


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_a_table_of_results_agrees_with_comparisons_boards_and_bold_values(store: Store, seed: int) -> None:
    plan = plan_of(compile_text(SPEC + TABLES))
    results, _ = drawn(plan, seed)
    results.write(store)
    connection, run = connect_run(store)
    with connection:
        names = {"demo": [measure.name for measure in plan.measures if not measure.by]}
        boards = leaderboard.leaderboard(connection, [run], names, comparable=are_comparable)
        reported = report(connection, plan, run)
        bold = best_values.best_values(connection, reported)
        tests = {
            table.measure.name: best_values.model_tests(connection, plan, run, table) for table in reported.measures
        }
        tables = filled_tables(connection, reported, plan.tables, None)
        compared = {}
        for pair in combinations(MODELS, 2):
            with suppress(StoreError):  # the two share no item
                compared[pair] = compare(*(RunSide(connection, plan, (each,), run) for each in pair))
    from_a, in_place, from_best = ({column.key: column for column in table.columns} for table in tables)
    models = [str(cell) for cell in from_a["model"].cells]
    of_models = {model: place for place, model in enumerate(models)}
    # differences
    checked = 0
    for (first, model), comparison in compared.items():
        for row in comparison.sections[0].rows:
            if first == "a" and row.of == "" and model in of_models and f"{row.name}: difference" in from_a:
                for column in (from_a[f"{row.name}: difference"], in_place[row.name]):
                    cell = column.cells[of_models[model]]
                    assert isinstance(cell, Estimate) and same(cell, row.difference), (row.name, model)
                    checked += 1
    assert checked > 10 or seed > 1
    # corrected p-values
    alone: dict[str, dict[tuple[str, str], float | None]] = {}
    for pair, comparison in compared.items():
        for row in comparison.sections[0].rows:
            if row.of == "":
                alone.setdefault(row.name, {})[pair] = leaderboard.p_value(row.difference)
    for name, p_values in alone.items():
        for (first, model), p in zip(p_values, holm(list(p_values.values())), strict=True):
            if first == "a" and p is not None and f"{name}: difference" in from_a:
                assert from_a[f"{name}: difference"].p_values[of_models[model]] == pytest.approx(p), (name, model)
    # daggers and boards
    for board in boards:
        letters = {entry.model: set(entry.letters) for entry in board.entries}
        column = from_a.get(f"{board.measure.name}: difference")
        if column is None or board.graded_by_others or board.has_other_partners:
            continue
        for model in letters.keys() - {"a"} if "a" in letters else ():
            apart = not letters[model] & letters["a"]
            assert column.is_significant(of_models[model]) == apart, (board.measure.name, model)
    # daggers and bold values
    for measure in reported.measures:
        for cell in {row.by for row in measure.rows}:
            key = ": ".join([measure.measure.name, *map(str, cell)])
            rows = {row.model: row for row in measure.rows if row.by == cell and row.value is not None}
            if key not in from_best or len(rows) < 2:
                continue
            best = max(rows.values(), key=lambda row: row.value or 0.0).model
            others = [from_best[key].is_significant(of_models[model]) for model in rows if model != best]
            assert not from_best[key].is_significant(of_models[best])
            if (measure.measure.name, cell, best) in bold:
                assert all(others), (key, best)
            elif better_direction(plan, measure.measure) and all(others):  # it is worse on the items that both have
                found = [tests[measure.measure.name].difference(cell, best, model) for model in rows if model != best]
                assert any((each.value or 0.0) < 0 for each in found if each is not None), (key, best)


WAYS = {
    "higher": (
        "mean(right)", "median(CLEAR)", "sum(right)", "weighted_mean(right, length)",
        "share(right)", "pass_at(1, right)", "max(mean(right) by level)",
        "sqrt(mean(right))", "accuracy(answer.text, level)", "0.5 * mean(right) + 0.5 * share(right)", "above",
        "1 - wrong", "harmonic_mean(mean(right), share(right))",
    ),
    "lower": (
        "wrong", "2 * wrong", "1 - accuracy(answer.text, level)",
        "brier(min(1, length(answer.text)), answer.text == level)",
    ),
    None: (
        "mean(length)", "sum(won) / sum(length)", "weighted_mean(length, length)", "stdev(CLEAR)", "count(right)", "median(length)",
        "above[hint: some] - above[hint: none]", "mean(right) + mean(length)", "mean(CLEAR) / mean(length)",
        "abs(mean(right) - 0.5)", "1 - mean(right)", "-(mean(CLEAR) / 5)",
    ),
}  # fmt: skip
"""Figures of the scenario `sums`, by the way in which they are better."""


def test_every_figure_has_the_direction_that_follows_from_what_it_is_made_of() -> None:
    figures = [(way, figure) for way, figures in WAYS.items() for figure in figures]
    measures = "".join(f"  measure m{place} = {figure}\n" for place, (_, figure) in enumerate(figures))
    more = """  score won = choose(contains(answer.text, "4"), words(answer.text), 0)
  measure above = mean(right)
  measure wrong = mean(right) lower is better
"""
    spec = SPEC.replace("  measure total ", f"{more}{measures}  measure total ", 1)
    plan = plan_of(compile_text(spec))
    found = {measure.name: better_direction(plan, measure) for measure in plan.measures}
    assert [(found[f"sums.m{place}"], figure) for place, (_, figure) in enumerate(figures)] == figures


BY_ROWS = {
    "higher": ("sum(right) / sum(q.points)", "100 * sum(right) / sum(q.points)", "sum(q.points) * mean(right)"),
    None: ("sum(q.points) / sum(right)", "sum(right) / sum(q.debt)", "mean(right) + sum(q.points)"),
}
"""Figures with quantities of the rows, by the way in which they are better."""


def test_a_positive_quantity_of_the_rows_leaves_a_direction_as_it_is(tmp_path: Path) -> None:
    figures = [(way, figure) for way, figures in BY_ROWS.items() for figure in figures]
    spec = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, points integer, debt -5..5, answer text secret }
scenario sums {
  over item as q
  ask reply by candidate { prompt "{{ q.question }}" }
  score right = contains(reply.text, q.answer)
"""
    spec += "".join(f"  measure m{place} = {figure}\n" for place, (_, figure) in enumerate(figures)) + "}\n"
    item = '{"question": "2 + 2", "points": 3, "debt": -1, "answer": "4"}\n'
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": item}))
    found = {measure.name: better_direction(plan, measure) for measure in plan.measures}
    assert [(found[f"sums.m{place}"], figure) for place, (_, figure) in enumerate(figures)] == figures


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_the_mean_of_an_expression_is_compared_as_that_of_a_score(store: Store, seed: int) -> None:
    """`mean(words(answer.text))` reads values of a column, and not the score `length` with the same values."""
    source = random.Random(seed)
    own = """measure wordy = mean(words(answer.text)) lower is better
  measure hints = mean(words(answer.text)) by hint
  measure long  = mean(length)
  measure longs = mean(length) by hint
"""
    plan = plan_of(compile_text(SPEC.replace("measure total ", f"{own}  measure total ", 1)))
    names = [step.name for step in plan.scenarios[0].steps if isinstance(step, Column)]
    results = Results(plan, models=("a", "b"))
    for number in range(source.choice([5, 12])):
        item = f"sums{number:02}"
        results.item("sums", item, axes={"level": "easy"})
        for model, more in (("a", 0), ("b", 4)):
            for hint in ("none", "some"):
                value = float(source.randint(1, 9) + more)
                for step in ("length", *names):
                    results.add("sums", step, item, value, model=model, arms={"hint": hint})
    results.write(store)
    connection, run = connect_run(store)
    with connection:
        one, two = (RunSide(connection, plan, (model,), run) for model in ("a", "b"))
        comparison = compare(one, two)
        side = Side(connection, plan, ("a", "b"))
        boards = {measure.name: model_differences(side, measure) for measure in plan.measures}
    rows = {(row.name, row.of): row for row in comparison.sections[0].rows}
    wordy, score = rows["sums.wordy", ""], rows["sums.long", ""]
    assert (wordy.a, wordy.b) == pytest.approx((score.a, score.b))
    assert wordy.difference.value == pytest.approx(score.difference.value)
    assert wordy.difference.standard_error == pytest.approx(score.difference.standard_error)
    assert {of for name, of in rows if name == "sums.hints"} == {"none", "some"}
    assert wordy.regression == ("worse" if wordy.p is not None and wordy.p < 0.05 else None)
    assert not {name for name, _ in comparison.unpaired} & {"sums.wordy", "sums.hints"}
    assert {cell for cell, _, _ in boards["sums.hints"]} == {cell for cell, _, _ in boards["sums.longs"]}


def test_a_value_is_not_bold_if_its_model_is_worse_on_the_items_that_both_have(store: Store) -> None:
    plan = plan_of(compile_text(SPEC))
    results = Results(plan, models=("a", "b"))
    for number in range(100):  # `a` leaves out the forty items that are hard
        item = f"sums{number:02}"
        results.item("sums", item, axes={"level": "easy"})
        for model, value in (("a", None if number >= 60 else float(number >= 8)), ("b", float(number < 60))):
            results.add("sums", "right", item, value, model=model, arms={"hint": "none"})
    results.write(store)
    connection, run = connect_run(store)
    with connection:
        reported = report(connection, plan, run)
        values = {
            row.model: row.value for table in reported.measures if table.measure.name == "right" for row in table.rows
        }
        assert (values["a"] or 0.0) > (values["b"] or 0.0)
        [board] = leaderboard.leaderboard(connection, [run], {"demo": ["right"]}, comparable=are_comparable)
        assert {entry.model: entry.rank for entry in board.entries} == {"a": 2, "b": 1}
        assert leaderboard.board_verdict(board) == []
        assert "right" not in {name for name, _, _ in best_values.best_values(connection, reported)}


SLICED = {
    "right": "mean(sums.right)",
    "zero": "mean(sums.right, missing: zero)",
    "clear": "mean(sums.CLEAR)",
    "total": "sum(sums.length)",
    "middle_length": "median(sums.length)",
    "ratio": "mean(sums.rubric) / mean(sums.strict)",
    "twice": "2 * mean(sums.right) - 1",
}
MEASURES = "".join(
    f"measure of_{name} = {figure} by hint\nmeasure gain_{name} = of_{name}[hint: some] - of_{name}[hint: none]\n"
    for name, figure in SLICED.items()
)
NAMED = "".join(f"  column of_{name}\n" for name in SLICED)
OWN = "".join(f"  column {f'of_{name}' if 'missing' in figure else figure}\n" for name, figure in SLICED.items())
GAINS = f"""
{MEASURES}
table named {{ rows model, hint\n{NAMED}  differences from none }}
table own   {{ rows model, hint\n{OWN}  differences from none }}
"""


@pytest.mark.parametrize("seed", range(sized(2, 40)))
def test_a_difference_of_two_rows_is_that_of_the_slices(store: Store, seed: int) -> None:
    """Whether a table names a measure or has a figure of its own: it is what `figure[hint: some] - figure[hint: none]`
    is, with its interval or the reason why there is none."""
    before = SPEC.index("measure mark ")
    plan = plan_of(compile_text(SPEC[:before] + GAINS))
    results, _ = drawn(plan, seed)
    results.write(store)
    connection, run = connect_run(store)
    with connection:
        reported = report(connection, plan, run)
        tables = filled_tables(connection, reported, plan.tables, None)
    gains = {table.measure.name: {row.model: row for row in table.rows} for table in reported.measures}
    compared = 0
    for table in tables:
        models, hints, *columns = table.columns
        for name, column in zip(SLICED, columns, strict=True):
            for model, hint, cell in zip(models.cells, hints.cells, column.cells, strict=True):
                expected = gains[f"gain_{name}"].get(str(model))
                if hint == "some" and expected is not None:
                    assert isinstance(cell, Estimate)
                    fields = ("value", "low", "high", "standard_error", "method", "reason")
                    for field in fields:
                        one, other = getattr(cell, field), getattr(expected, field)
                        wanted = pytest.approx(other, rel=1e-9, abs=1e-12) if isinstance(other, float) else other
                        assert one == wanted, (name, model, field)
                    compared += 1
    assert compared > 10 or seed > 1


def same(one: Estimate, other: Estimate) -> bool:
    """Return true if two figures are equal but for the last digits of numbers."""
    return asdict(one) == {
        name: pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
        for name, value in asdict(other).items()
    }


def test_tables_with_the_same_figures_compute_their_differences_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = TABLES + GAINS.replace(MEASURES, "")
    again = "".join(
        f"table {name}_again {{{text}\n" for name, text in re.findall(r"table (\w+) +\{([^}]*\})", declared)
    )
    plan = plan_of(compile_text(SPEC + MEASURES + declared + again))
    assert len(plan.tables) == 10
    results, _ = drawn(plan, 0)
    results.write(store)
    computed = Counter[str]()

    def counted(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            measure = next(each for each in args if isinstance(each, Measure))
            computed[name + measure.model_dump_json()] += 1
            return compute(*args, **more)

        return call

    connection, run = connect_run(store)
    with connection:
        reported = report(connection, plan, run)
        monkeypatch.setattr(best_values, "model_differences", counted("models", best_values.model_differences))
        monkeypatch.setattr(result_tables, "evaluate_or_error", counted("values", result_tables.evaluate_or_error))
        filled_tables(connection, reported, plan.tables, None)
    assert len(computed) > 20
    of_models = {name for name in computed if name.startswith("models")}
    assert {computed[name] for name in of_models} == {2}, "once with the reference `a`, once without"
    assert {computed[name] for name in computed.keys() - of_models} == {1}
