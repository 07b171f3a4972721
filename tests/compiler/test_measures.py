"""Measures, gates, samples and exports in the plan, and the result of the SQL of a mean."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import numpy as np
import pytest
from compiling import compile_files, compile_text, plan_of

from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Aggregate, Constant, Formula, Measure, Measured, Missing, Plan
from tripos_compiler.plan.base import named
from tripos_warehouse.measures.figure_sql import CellsSql, figure_query, sql_of
from tripos_warehouse.measures.influences import Leaf, leaf_tables
from tripos_warehouse.measures.query import Parts, RowSelection, Weights
from tripos_warehouse.measures.rows import clustered_mean, item_sums, scores_of_mean

HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
arm hint { none, some }
dimension quality "Quality" {
  metric CLAR "Clarity" { scale 1..5, asks "?" }
  metric FACT "Accuracy" { scale 1..5, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
scorer marks(reply: text) by judge { prompt "{{ reply }}", gives 1..10 }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  3   |  1   |
  | talk |  .   |  x   |
}
scenario sums {
  context level
  arms hint
  ask answer by candidate {
    prompt "{{ level }}"
    system "Think." when hint == some
    samples 4
  }
  score right = contains(answer.text, "42")
  score long = words(answer.text)
  score quality = marks(answer.text)
  score rubric(answer.text)
  measure accuracy = mean(right)
  measure right = mean(right) by hint
  measure tries = pass_at(2, right)
  measure gain = tries - tries[hint: none]
  measure length = mean(words(answer.text) + 1)
}
scenario talk {
  ask answer by candidate { prompt "What is 6 * 7?" }
  score right = contains(answer.text, "42")
  score rubric(answer.text)
  measure accuracy = mean(right)
}
"""


def compiled(text: str) -> Compilation:
    return compile_text(HEAD + text)


def plan(text: str = "") -> Plan:
    return plan_of(compiled(text))


def measure(text: str, name: str = "it") -> Measure:
    return next(each for each in plan(text).measures if each.name == name)


def sql(text: str, name: str = "it") -> str:
    found = plan(text)
    return sql_of(found, named(found.measures, name))


def uses_of(text: str, word: str, nth: int = -1) -> list[str]:
    """Return the declarations, as written, that an occurrence of a word leads to."""
    compilation = compiled(text)
    source = compilation.sources[0]
    places = [at for at in range(len(source.text)) if source.text.startswith(word, at)]
    found = [
        use.symbol
        for use in compilation.index.uses.values()
        if (use.span.start, use.span.end) == (places[nth], places[nth] + len(word))
    ]
    return [source.line(source.position(span.start)[0]).strip() for span in found]


# --- names and order ---


def test_measures_stand_in_the_plan_in_the_order_in_which_they_are_declared() -> None:
    names = [each.name for each in plan("measure b = 2 * a\nmeasure a = sums.accuracy").measures]
    assert names == ["sums.accuracy", "sums.right", "sums.tries", "sums.gain", "sums.length", "talk.accuracy", "b", "a"]


def test_measures_of_two_scenarios_may_have_one_name_and_take_the_scores_of_their_own() -> None:
    found = {each.name: each.figure for each in plan("measure it = mean(right)").measures}
    assert found["sums.accuracy"] == Aggregate(function="mean", values=("right",), scenario="sums")
    assert found["talk.accuracy"] == Aggregate(function="mean", values=("right",), scenario="talk")
    assert found["it"] == Aggregate(function="mean", values=("right",))


def test_a_measure_of_the_scenario_comes_before_one_of_the_whole_spec() -> None:
    found = measure("measure accuracy = mean(long)\nmeasure it = accuracy")
    assert found.figure == Measured(measure="accuracy")
    inside = HEAD.replace(
        "measure accuracy = mean(right)\n}", "measure accuracy = mean(right)\nmeasure it = accuracy\n}"
    )
    whole = plan_of(compile_text(inside + "measure accuracy = sums.length"))
    assert {each.name: each.figure for each in whole.measures}["talk.it"] == Measured(measure="talk.accuracy")


GOLD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
axis level { easy, hard }
dataset item from "items.jsonl" {
  text  text
  sum   integer secret
  level
}
scenario sums {
  context level
  over item
  ask answer by candidate { prompt "{{ item.text }} {{ level }}", returns { sum integer, level level } }
  measure it = VALUE
}
"""


@pytest.mark.parametrize(
    "value",
    ["accuracy(answer.sum, item.sum)", "accuracy(gold: item.sum, values: answer.sum)", "f1(answer.level, level)"],
)
def test_what_is_right_can_be_a_field_of_the_row_or_an_axis(value: str, tmp_path: Path) -> None:
    rows = '{"text": "6 * 7", "sum": 42, "level": "easy"}\n'
    found = plan_of(compile_files(tmp_path, {"spec.tripos": GOLD.replace("VALUE", value), "items.jsonl": rows}))
    figure = found.measures[0].figure
    assert isinstance(figure, Aggregate)
    assert figure.values == ("it.values", "it.gold")
    assert set(figure.values) <= {step.name for step in found.scenarios[0].steps}


def test_an_expression_is_a_column_and_one_that_is_written_twice_the_same() -> None:
    text = HEAD.replace("measure tries", "measure longest = max(words(answer.text) + 1)\n  measure tries")
    found = {each.name: each.figure for each in plan_of(compile_text(text)).measures}
    longest, length = found["sums.longest"], found["sums.length"]
    assert isinstance(longest, Aggregate) and isinstance(length, Aggregate)
    assert longest.values == length.values


# --- figures ---


WHERE = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { text text, kind choice(a, b), count integer secret }
scorer ok(reply: text) by judge { prompt "{{ reply }}", gives bool }
scenario sums {
  over item as q
  ask reply by candidate { prompt "{{ q.text }}" }
  let size = words(reply.text)
  score right = size == q.count
  score twice = size == 2 * q.count when q.kind == b
  score fine  = ok(reply.text)
  score both  = ok(reply.text) and size == q.count
  measure it  = MEASURE
}
"""


def with_where(folder: Path, measure: str) -> Compilation:
    rows = '{"text": "one two", "kind": "a", "count": 2}\n{"text": "three", "kind": "b", "count": 1}\n'
    return compile_files(folder, {"spec.tripos": WHERE.replace("MEASURE", measure), "items.jsonl": rows})


def test_a_computed_score_may_count_for_some_rows_and_is_the_column_of_its_expression(tmp_path: Path) -> None:
    named, written = (
        plan_of(with_where(tmp_path, f"mean({value}, where: q.kind == a)")) for value in ("right", "size == q.count")
    )
    columns = [
        [step for step in plan.scenarios[0].treatments[0].steps if step.step == "column"] for plan in (named, written)
    ]
    assert len(columns[0]) == 1
    assert columns[0] == columns[1]
    assert named.measures == written.measures


@pytest.mark.parametrize("score", ["twice", "fine", "both"])
def test_a_score_of_some_replies_or_with_a_judge_takes_no_condition_on_the_row(tmp_path: Path, score: str) -> None:
    found = with_where(tmp_path, f"mean({score}, where: q.kind == a)").diagnostics
    assert "E0303" in {each.code for each in found}


def test_numbers_are_worked_out_and_a_slice_is_taken_of_a_measure() -> None:
    figure = Formula(operator="*", values=(Constant(value=-1.5), Measured(measure="sums.accuracy")))
    assert measure("measure it = -(1 + 2 / 4) * (sums.accuracy)").figure == figure
    slice_ = Measured(measure="sums.tries", slice={"hint": "none"})
    figure = Formula(operator="-", values=(Measured(measure="sums.tries"), slice_))
    assert measure("", "sums.gain").figure == figure


def test_a_part_that_goes_by_less_is_one_number_over_all() -> None:
    gap = measure("measure by_level = mean(right) by level, hint\nmeasure it = by_level - (2 - mean(right))")
    whole = Formula(operator="-", values=(Constant(value=2), Aggregate(function="mean", values=("right",))))
    overall = Formula(operator="overall", values=(whole,), over=("level", "hint"))
    assert gap.by == ("level", "hint")
    assert gap.figure == Formula(operator="-", values=(Measured(measure="by_level"), overall))
    less = measure("measure by_level = mean(right) by level, hint\nmeasure it = by_level - mean(right) by hint")
    own = Aggregate(function="mean", values=("right",), by=("hint",))
    overall = Formula(operator="overall", values=(own,), over=("level",))
    assert less.by == ("hint", "level")
    assert less.figure == Formula(operator="-", values=(Measured(measure="by_level"), overall))


def test_an_aggregate_of_cells_keeps_what_they_go_by() -> None:
    inner = Aggregate(function="mean", values=("right",), by=("scenario", "level"))
    text = "measure cells = mean(right) by scenario, level\nmeasure it = median(cells) by level"
    assert measure(text).figure == Aggregate(function="median", values=(), by=("level",), of=inner)
    assert measure("measure it = median(mean(right) by scenario, level) by level").figure == measure(text).figure


def test_a_formula_goes_by_what_it_says_and_by_what_its_parts_go_by() -> None:
    assert measure("measure it = sums.right - sums.right[hint: none] by level").by == ("level", "hint")
    assert measure("measure it = sums.gain by hint").by == ("hint",)
    assert measure("measure it = sums.right[hint: none]").by == ()
    figure = measure("measure it = mean(quality) - 2 * mean(quality) by scenario").figure
    assert isinstance(figure, Formula)
    first, second = figure.values
    assert isinstance(first, Aggregate) and isinstance(second, Formula)
    assert [part.by for part in (first, *second.values) if isinstance(part, Aggregate)] == [("scenario",)] * 2
    figure = measure("measure it = kendall_w(rubric) across judge by metric").figure
    assert figure == Aggregate(function="kendall_w", values=("rubric",), across="judge", by=("metric",))


def test_what_is_missing_is_said_of_the_measure_and_passed_on_to_the_mean_of_its_cells() -> None:
    text = "measure cells = mean(right, missing: zero) by scenario\nmeasure it = mean(cells)"
    assert (measure(text, "cells").missing, measure(text).missing) == ("zero", "zero")


# --- scales ---


BOUNDS = [
    ("mean(right)", (0, 1)),
    ("mean(quality)", (1, 10)),
    ("mean(rubric)", (1, 5)),
    ("mean(CLAR)", (1, 5)),
    ("mean(long)", (0, None)),
    ("count(right)", (0, None)),
    ("1 - mean(right)", (0, 1)),
    ("sums.accuracy - talk.accuracy", (-1, 1)),
    ("abs(sums.accuracy - talk.accuracy)", (0, 1)),
    ("100 * mean(right)", (0, 100)),
    ("-mean(quality) / 2", (-5, -0.5)),
    ("(mean(quality) - 1) / 9", (0, 1)),
    ("(mean(quality) - 1) / 9 + mean(right)", (0, 2)),
    ("0.4 * sums.accuracy + 0.2 * (talk.accuracy + sums.tries + mean(right))", (0, 1)),
    ("0.5 * (0.5 * mean(right)) + 0.25 * talk.accuracy", (0, 0.5)),
    ("min(mean(right), 0.5)", (0, 0.5)),
    ("max(mean(quality), 3)", (3, 10)),
    ("mean(right) / talk.accuracy", (None, None)),
    ("mean(right) * talk.accuracy", (0, 1)),
    ("mean(quality, missing: zero)", (0, 10)),
    ("(mean(quality, missing: zero) - 1) / 9", (-1 / 9, 1)),
    ("mean(quality) - mean(quality, missing: zero)", (-10, 10)),
    ("1 - mean(marks, missing: zero)", (-9, 1)),
    ("mean(right) + stdev(right)", (0, 1 + round(math.sqrt(0.5), 12))),
]


def test_the_bounds_of_a_figure_follow_from_those_of_its_parts() -> None:
    made = plan("".join(f"measure it_{number} = {value}\n" for number, (value, _) in enumerate(BOUNDS)))
    found = [(each.low, each.high) for each in made.measures if each.name.startswith("it_")]
    assert found == [tuple(None if end is None else pytest.approx(end) for end in bounds) for _, bounds in BOUNDS]


def test_figures_on_different_scales_are_named_and_the_mended_scale_of_the_help_is_one() -> None:
    for figure in ("min(mean(quality), 2 + mean(right))", "mean(quality) + mean(right)"):
        [found] = compiled(f"measure it = {figure}").diagnostics
        assert found.message.endswith("`mean(quality)` runs from 1 to 10, `mean(right)` from 0 to 1")
    assert found.help is not None
    mended = found.help.split("`")[1]
    assert compiled(f"measure it = {mended} + mean(right)").diagnostics == ()


# --- editors ---


def test_a_name_in_a_measure_leads_to_its_declaration() -> None:
    assert uses_of("measure it = talk.accuracy", "accuracy") == ["measure accuracy = mean(right)"]
    assert uses_of("measure it = mean(right) by level", "level") == ["axis level { easy, hard }"]
    assert uses_of("measure it = sums.tries[hint: some]", "some") == ["arm hint { none, some }"]
    assert uses_of("measure it = mean(rubric)", "rubric")[0].startswith("scorer rubric")
    assert uses_of("measure it = mean(talk.right)", "talk") == ["scenario talk {"]
    assert uses_of("measure it = kendall_w(rubric) across judge", "judge") == ["role judge panel"]


def test_editors_say_of_a_measure_what_it_goes_by_and_its_scale() -> None:
    symbols = [each for each in compiled("").index.symbols.values() if each.kind == "measure" and each.name == "right"]
    assert [(each.owner, each.detail) for each in symbols] == [("scenario sums", "a measure by hint, 0 to 1")]


# --- gates, samples, exports ---


def test_a_gate_whose_number_comes_first_is_turned_round() -> None:
    [gate] = plan("expect 0.5 < sums.accuracy").expectations
    assert (gate.figure, gate.operator, gate.value) == (Measured(measure="sums.accuracy"), ">", 0.5)
    assert gate.shown == "0.5 < sums.accuracy"


def test_gates_of_scenarios_and_of_the_spec_stand_in_their_order() -> None:
    text = HEAD.replace("measure accuracy = mean(right)\n}", "measure accuracy = mean(right)\nexpect accuracy > 0.1\n}")
    found = plan_of(compile_text(f"{text}expect talk.accuracy > 0.2")).expectations
    assert [gate.shown for gate in found] == ["accuracy > 0.1", "talk.accuracy > 0.2"]


def test_a_sample_has_a_seed_where_none_is_said() -> None:
    [subset] = plan("subset few { take 1 per scenario }").subsets
    assert (subset.take, subset.per, subset.spread, subset.seed) == (1, ("scenario",), (), 0)


def test_the_smallest_stratum_is_warned_of_once() -> None:
    [found] = compiled("subset few { take 2 per scenario, level }").diagnostics
    assert (found.code, found.severity) == ("W0620", "warning")
    assert found.message == "scenario `sums`, level easy, has 1 item at most, fewer than 2"
    assert found.notes == ("2 more strata are too small",)


def test_an_export_names_measures_and_scores_as_the_plan_does() -> None:
    text = """
export best { best of candidate by sums.right per hint
  rows answer
  where scenario == sums }
export pairs { pairs of candidate by talk.rubric margin 2, rows answer, format completion }
"""
    best, pairs = plan(text).exports
    assert (best.measure, best.per, best.format, best.where is not None) == ("sums.right", ("hint",), "chat", True)
    assert (pairs.measure, pairs.margin, pairs.format) == ("talk.rubric", 2.0, "completion")


# --- SQL ---

Score = tuple[str, str, str, str, float | None]
"""Model, scenario, metric, item and value."""

SCORES: list[Score] = [
    ("m", "sums", "CLAR", "a", 1.0),
    ("m", "sums", "FACT", "a", 5.0),
    ("m", "sums", "CLAR", "b", 4.0),
    ("m", "sums", "FACT", "b", 2.0),
    ("m", "sums", "CLAR", "c", None),
    ("m", "sums", "FACT", "c", 3.0),
    ("m", "talk", "FACT", "d", 2.0),
    ("m", "talk", "FACT", "e", 4.0),
]
WEIGHTS = {"sums": {"CLAR": 3.0, "FACT": 1.0}, "talk": {"FACT": 1.0}}


def asked(sql: str, scores: list[Score]) -> list[dict[str, object]]:
    connection = duckdb.connect()
    connection.execute("create schema demo")
    connection.execute(
        "create table demo.scores (model text, scenario text, metric text, item_id text, value double, status text,"
        " scorer text, cluster_id text generated always as (item_id))"
    )
    for score in scores:
        status = "parse_failure" if score[4] is None else "scored"
        connection.execute("insert into demo.scores values (?, ?, ?, ?, ?, ?, 'rubric')", [*score, status])
    return connection.sql(sql).to_arrow_table().to_pylist()


def mean_sql(
    condition: str,
    inner: tuple[str, ...],
    dims: tuple[str, ...],
    weights: Weights | None = None,
    missing: Missing = "skip",
) -> str:
    """Return the SQL of a mean by `dims` of means by `inner`."""
    parts = Parts()
    scores = scores_of_mean("demo", condition, inner, weights or {}, missing)
    cells, units = clustered_mean(parts, inner, item_sums(parts, inner, scores, weighted=bool(weights)))
    failing = missing == "fail"
    node = leaf_tables(parts, inner, Leaf("mean"), cells, units, weighted=True, failing=failing)
    if inner != dims:
        mean = Aggregate(function="mean", values=("rubric",))
        node = CellsSql(parts, mean.model_copy(update={"of": mean}), node, RowSelection(dims), missing).write()
    return figure_query(parts, node).text


def weighted_mean(scores: list[tuple[str, float, float]]) -> tuple[float, float, float]:
    """The mean of scores, each with its item and weight, its standard error and degrees of freedom, with the matrices of
    Bell and McCaffrey: items that are alike in spread have residuals R e of their means e."""
    items = sorted({item for item, _, _ in scores})
    weight = np.array([sum(w for own, w, _ in scores if own == item) for item in items])
    means = np.array([sum(w * v for own, w, v in scores if own == item) for item in items]) / weight
    share = weight / weight.sum()
    residual = np.diag(share) @ (np.eye(len(items)) - np.ones((len(items), 1)) * share)
    covariance = residual @ residual.T
    spread = (residual @ means) @ (residual @ means) / np.trace(covariance)
    df = np.trace(covariance) ** 2 / np.trace(covariance @ covariance)
    return float(share @ means), math.sqrt(spread * (share @ share)), float(df)


def test_a_weighted_mean_and_its_error_are_as_the_formulas_say() -> None:
    [row] = asked(mean_sql("scorer = 'rubric'", (), (), WEIGHTS), SCORES)
    expected = weighted_mean([(i, WEIGHTS[s][metric], value) for _, s, metric, i, value in SCORES if value is not None])
    assert (row["value"], row["standard_error"], row["df"]) == pytest.approx(expected)
    assert (row["items"], row["n"], row["total"]) == (5, 7, 8)


def test_equal_weights_change_nothing() -> None:
    alike = {"sums": {"CLAR": 2.0, "FACT": 2.0}, "talk": {"FACT": 2.0}}
    for inner, dims in (((), ()), (("scenario",), ("scenario",)), (("scenario", "metric"), ("scenario",))):
        plain = asked(mean_sql("scorer = 'rubric'", inner, dims), SCORES)
        weighted = asked(mean_sql("scorer = 'rubric'", inner, dims, alike), SCORES)
        assert [{key: pytest.approx(value) for key, value in row.items()} for row in weighted] == plain


def test_a_mean_of_weighted_cells_counts_the_cells_alike() -> None:
    [row] = asked(mean_sql("scorer = 'rubric'", ("scenario",), (), WEIGHTS), SCORES)
    sums = weighted_mean([(i, WEIGHTS[s][metric], v) for _, s, metric, i, v in SCORES if v is not None and s == "sums"])
    talk = weighted_mean([("d", 1.0, 2.0), ("e", 1.0, 4.0)])
    assert row["value"] == pytest.approx((sums[0] + talk[0]) / 2)
    assert row["standard_error"] == pytest.approx(math.hypot(sums[1], talk[1]) / 2)


def test_a_missing_score_can_count_as_zero_and_still_shows_in_the_coverage() -> None:
    [row] = asked(mean_sql("metric = 'CLAR'", (), (), missing="zero"), SCORES)
    mean, error, _ = weighted_mean([("a", 1.0, 1.0), ("b", 1.0, 4.0), ("c", 1.0, 0.0)])
    assert (row["value"], row["standard_error"]) == pytest.approx((mean, error))
    assert (row["n"], row["total"], row["items"]) == (2, 3, 3)


def test_a_missing_score_can_leave_a_mean_without_a_value() -> None:
    [row] = asked(mean_sql("metric = 'CLAR'", (), (), missing="fail"), SCORES)
    assert (row["value"], row["standard_error"], row["n"], row["total"]) == (None, None, 2, 3)
    rows = asked(mean_sql("scorer = 'rubric'", ("scenario",), ("scenario",), missing="fail"), SCORES)
    assert [row["value"] for row in rows] == [None, 3.0]
    [row] = asked(mean_sql("scorer = 'rubric'", ("scenario",), (), missing="fail"), SCORES)
    assert (row["value"], row["standard_error"]) == (None, None)


def test_a_mean_over_metrics_weighs_them_and_a_mean_by_metric_does_not() -> None:
    assert "then 3.0" in sql("measure it = mean(rubric)")
    assert "3.0" not in sql("measure it = mean(rubric) by metric")
    assert "own weight" not in sql("measure it = mean(talk.rubric)")


def test_the_sql_of_a_mean_by_an_arm_has_a_column_of_its_name() -> None:
    found = sql("", "sums.right")
    assert "metric = 'right' and scenario = 'sums'" in found
    assert 'select model, "hint", cluster_id, value is not null' in found


@pytest.mark.parametrize(
    "value",
    [
        "median(right)", "sums.gain", "2 * mean(right)", "sums.right[hint: none]", "sums.accuracy[hint: none]",
        "mean(mean(cells) by level)",
    ],
)  # fmt: skip
def test_what_is_no_plain_mean_has_sql_too(value: str) -> None:
    text = f"measure cells = mean(right) by level, scenario\nmeasure it = {value}"
    if "cells" in value:
        text = text.replace(value, "mean(inner)") + "\nmeasure inner = mean(cells) by level"
    assert duckdb.extract_statements(sql(text))[0].type.name == "SELECT"


def test_what_is_taken_of_a_comparison_has_sql() -> None:
    judge = 'scorer better(a: text, b: text) by judge { prompt "{{ a }} {{ b }}", gives choice(one, two, tie) }'
    duel = "  compare duel using better(a: first.answer.text, b: second.answer.text)\n"
    text = HEAD.replace("scorer marks", f"{judge}\nscorer marks").replace("  score right", f"{duel}  score right", 1)
    functions = ("win_rate", "bradley_terry", "position_bias", "flip_rate", "self_preference", "count")
    for number, by in enumerate(("", " by evaluator", " by level, evaluator", " by scenario")):
        text += "".join(f"measure {each}_{number} = {each}(sums.duel){by}\n" for each in functions)
    found = plan_of(compile_text(text))
    made = [each for each in found.measures if each.name[-1].isdigit()]
    for each in made:
        query = sql_of(found, each)
        assert duckdb.extract_statements(query)[0].type.name == "SELECT" and ".comparisons" in query, each.name
    assert len(made) == 24


def test_a_measure_by_another_name_has_the_sql_of_that() -> None:
    assert sql("measure it = sums.accuracy") == sql("", "sums.accuracy")


FIELDS = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role parser
role judge panel
scorer sound(reply: text) by judge { prompt "{{ reply }}", gives 1..7 }
scenario sums {
  ask reply by candidate {
    prompt "What is 6 * 7?"
    returns {
      sure 1..5
      size integer
      part { mark 1..3 }
      marks list<1..4>
      maybe 1..5?
      parts list<{ mark 2..6 }>
      word choice(low, middle, high)
      said text
    }
  }
  ask parsed by parser { prompt "From 1 to 10: {{ reply.said }}", returns 1..10 }
  let part = reply.part
  score heard = sound(reply.said)
  score it = VALUE
}
measure shown = mean(it)
"""


ENDS = [
    ("parsed", (1, 10)),
    ("reply.sure", (1, 5)),
    ("reply.size", (None, None)),
    ("reply.part.mark", (1, 3)),
    ("part.mark", (1, 3)),
    ("default(first(reply.marks), 0)", (0, 4)),
    ("default(nth(reply.parts, 1).mark, 2)", (2, 6)),
    ("default(last(reply.parts.mark), 7)", (2, 7)),
    ("default(reply.maybe, 0)", (0, 5)),
    ("readable(reply.maybe)", (1, 5)),
    ("rank(reply.word)", (0, 2)),
    ("sound(reply.said) - parsed", (-9, 6)),
    ("(parsed - 1) / 9", (0, 1)),
    ("2 * reply.sure - 3 * part.mark", (-7, 7)),
    ("-reply.sure", (-5, -1)),
    ("1 / reply.sure", (0.2, 1)),
    ("parsed / reply.sure", (0.2, 10)),
    ("choose(reply.word == low, reply.sure, 0)", (0, 5)),
    ("abs(reply.sure - 3)", (0, 2)),
    ("round(reply.sure / 3, 1)", (0.3, 1.7)),
    ("floor(reply.sure / 2)", (0, 2)),
    ("sqrt(reply.sure * reply.sure)", (1, 5)),
    ("max(0, min(1, reply.size / 10))", (0, 1)),
    ("max(reply.size, 3)", (3, None)),
    ("length(reply.said) + 1", (1, None)),
    ("jaccard(reply.marks, (1, 2))", (0, 1)),
    ('bleu(reply.said, "42") / 100', (0, 1)),
    ("reply.size * 0 + reply.sure", (1, 5)),
    ("reply.sure - reply.sure * 1 + 0 * parsed", (-4, 4)),
    ("reply.word == low", (0, 1)),
    ("parsed * 0 + 3", (None, None)),
]


def test_a_score_lies_between_the_ends_that_its_parts_have() -> None:
    scores = "".join(f"\n  score it_{number} = {value}" for number, (value, _) in enumerate(ENDS))
    measures = "".join(f"measure m_{number} = mean(it_{number})\n" for number in range(len(ENDS)))
    made = plan_of(compile_text(FIELDS.replace("VALUE", f"parsed{scores}") + measures))
    found = {each.name: (each.low, each.high) for each in made.measures}
    for number, (value, ends) in enumerate(ENDS):
        assert found[f"m_{number}"] == tuple(None if end is None else pytest.approx(end) for end in ends), value


FORMULAS = [
    ("max(0, min(1, mean(it)))", (0, 1)),
    ("min(1, max(0, mean(it) / 2 - 3))", (0, 1)),
    ("max(0, mean(it))", (0, None)),
    ("1 - abs(mean(it))", (None, 1)),
    ("max(0, min(1, mean(it))) * 100", (0, 100)),
    ("mean(it) * 2", (None, None)),
    ("sqrt(mean(it))", (0, None)),
    ("exp(mean(it))", (0, None)),
    ("log(max(1, mean(it)))", (0, None)),
    ("sqrt(max(0, min(16, mean(it)))) * 25", (0, 100)),
    ("log(max(1, min(1000, mean(it))), 10)", (0, pytest.approx(3))),
    ("100 - exp(min(0, mean(it)))", (99, 100)),
]


def test_a_formula_lies_between_the_ends_that_numbers_set() -> None:
    measures = "".join(f"measure made_{number} = {figure}\n" for number, (figure, _) in enumerate(FORMULAS))
    made = plan_of(compile_text(FIELDS.replace("VALUE", "reply.size") + "\n" + measures)).measures
    found = [(each.low, each.high) for each in made if each.name.startswith("made_")]
    assert found == [ends for _, ends in FORMULAS]


POOLED = """benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
scorer marks(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scorer tens(reply: text) by judge { prompt "{{ reply }}", gives 0..10 }
scenario talk {
  ask answer by candidate { prompt "Talk." }
  score one = marks(answer.text)
  score two = tens(answer.text)
}
"""


@pytest.mark.parametrize(
    ("figure", "ends"),
    [
        ("sum(one) / count(one)", (1, 5)),
        ("(sum(one) + sum(two)) / (count(two) + count(one))", (0, 10)),
        ("(sum(one) / count(one) - 1) / 4", (0, 1)),
        ("sum(one) / count(two)", (None, None)),
        ("(sum(one) + sum(one)) / count(one)", (None, None)),
        ("(sum(one) - sum(two)) / (count(one) + count(two))", (None, None)),
        ("sum(one) * count(one)", (0, None)),
    ],
)
def test_a_sum_over_its_count_is_a_mean(figure: str, ends: tuple[float | None, float | None]) -> None:
    [found] = plan_of(compile_text(f"{POOLED}measure pooled = {figure}\n")).measures
    assert (found.low, found.high) == ends


def test_scores_of_one_name_lie_between_the_ends_of_all() -> None:
    values = "parsed when reply.word == low\n  score it = -reply.sure when reply.word != low"
    [found] = plan_of(compile_text(FIELDS.replace("VALUE", values))).measures
    assert (found.low, found.high) == (-5, 10)


def test_only_scales_that_are_declared_are_held_against_each_other() -> None:
    scores = "parsed\n  score other = reply.sure\n  score share = (reply.sure - 1) / 2"
    added = compile_text(FIELDS.replace("VALUE", scores) + "measure both = mean(it) + mean(other)\n")
    assert [each.code for each in added.diagnostics] == ["E0702"]
    plan_of(compile_text(FIELDS.replace("VALUE", scores) + "measure both = mean(it) + mean(share)\n"))


@pytest.mark.parametrize(("gate", "holds"), [("shown >= 0", "always"), ("shown > 10", "never"), ("shown >= 5", "")])
def test_a_gate_is_held_to_what_a_score_can_be(gate: str, holds: str) -> None:
    found = compile_text(FIELDS.replace("VALUE", "parsed") + f"expect {gate}\n").diagnostics
    assert [each.message.split(":")[0] for each in found] == ([f"this is {holds} true"] if holds else [])


def test_a_gate_is_held_to_what_a_measure_can_be_with_zeros_for_what_is_missing() -> None:
    text = FIELDS.replace("VALUE", "parsed").replace("mean(it)", "mean(it, missing: zero)")
    assert not compile_text(text + "expect shown >= 0.5\n").diagnostics
    assert [each.code for each in compile_text(text + "expect shown >= -1\n").diagnostics] == ["E0704"]
