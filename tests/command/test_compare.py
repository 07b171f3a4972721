"""`tripos compare`: what differs, what changed, and what is not compared."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conftest import ITEMS, QUIZ, Command
from tests.lengths import spread
from tripos_warehouse.measures.differences import measure_differences
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

JUDGE = ("--role", "judge=mock/careful:j")


def run(
    tripos: Command, *models: str, spec: str = QUIZ, judge: tuple[str, ...] = JUDGE, more: tuple[str, ...] = ()
) -> str:
    Path("quiz.tripos").write_text(spec, "utf-8")
    done = tripos("run", "quiz.tripos", "--model", ",".join(models or ("mock/careful",)), *judge, *more, "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


def row(data: dict[str, Any], section: str, name: str, of: str | None = None) -> dict[str, Any]:
    [found] = [
        each
        for each in data["rows"]
        if each["section"] == section and each["name"] == name and (of is None or each["of"] == of)
    ]
    return dict(found)


def test_rows_differ_by_what_their_sides_come_to(quiz: Path, tripos: Command, once: Command) -> None:
    more = (
        "measure ratio = mean(CLEAR) / mean(RIGHT)\nmeasure doubled = mean(rubric) * 2 by metric\n"
        "measure middle = median(rubric)\n"
    )
    run(once, "mock/careful", "mock/careful:b", spec=QUIZ + more)
    data = tripos("compare", "--json").data
    query = "select metric, model, avg(value) as mean from quiz.scores group by all order by all"
    assert tripos("sql", query, "-o", "m.json").code == 0
    means = {(each["metric"], each["model"]): each["mean"] for each in json.loads(Path("m.json").read_text())}
    for metric in ("CLEAR", "RIGHT", "long"):
        found = row(data, "metric", metric)
        one, two = means[metric, "mock/careful"], means[metric, "mock/careful:b"]
        assert (found["a"], found["b"]) == (pytest.approx(one), pytest.approx(two))
        assert found["difference"] == pytest.approx(two - one)
    [measure] = [each for each in tripos("report", "--json").data["measures"] if each["name"] == "ratio"]
    values = {each["model"]: each["value"] for each in measure["rows"]}
    found = row(data, "measure", "ratio")
    assert (found["a"], found["b"]) == (values["mock/careful"], values["mock/careful:b"])
    assert found["difference"] == pytest.approx(found["b"] - found["a"])
    assert [each["of"] for each in data["rows"] if each["name"] == "doubled"] == ["Clarity", "Correctness"]
    found = row(data, "measure", "middle")
    assert found["difference"] == found["b"] - found["a"]
    assert (found["standard_error"], found["low"], found["p"]) == (None, None, None)
    assert found["verdict"].endswith("it jumps from value to value: no interval")
    back = tripos("compare", "--models", "careful:b,careful", "--json").data["rows"]
    assert [each["difference"] for each in back] == [pytest.approx(-each["difference"]) for each in data["rows"]]
    assert [each["p"] for each in back] == [each["p"] and pytest.approx(each["p"]) for each in data["rows"]]


def test_a_model_does_not_differ_from_itself(quiz: Path, tripos: Command, once: Command) -> None:
    one, two = run(once), run(once)
    data = tripos("compare", one, two, "--json").data
    assert (data["changes"], data["pairs"], data["same"]) == ([], 13, 0)
    assert {each["difference"] for each in data["rows"]} == {0.0}
    assert all(each["verdict"].startswith("no difference in any of ") for each in data["rows"])


def test_only_shared_items_are_compared_and_others_are_counted(quiz: Path, tripos: Command, once: Command) -> None:
    one = run(once, "mock/careful", more=("--limit", "1"))
    two = run(once, "mock/careful:b")
    data = tripos("compare", one, two, "--models", "careful,careful:b", "--json").data
    assert row(data, "metric", "RIGHT")["items"] == 1
    assert row(data, "metric", "RIGHT")["verdict"] == "one item says nothing about the difference"
    assert (data["only_a"], data["only_b"]) == (0, 8)


def test_what_changed_in_the_spec_stands_above(quiz: Path, tripos: Command, once: Command) -> None:
    one = run(once)
    changed = QUIZ.replace('prompt "{{ item.question }}"', 'prompt "Compute {{ item.question }}"').replace(
        "1.0.0", "1.1.0"
    )
    Path("items.jsonl").write_text("\n".join(map(json.dumps, [*ITEMS, {"question": "3+3", "answer": "6"}])), "utf-8")
    done = tripos("compare", one, run(once, spec=changed))
    assert done.code == 0, done.err
    head = done.out.split("over all")[0]
    assert "version: 1.0.0 → 1.1.0" in head
    assert "data set item: 3 → 4 rows" in head
    assert "scenario sums: `reply`: prompt" in head
    assert all(len(line) <= 80 for line in done.out.splitlines())


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("benchmark quiz", "benchmark test", "S0611", "error"),
        ("scale 1..10", "scale 1..5", "S0612", "`CLEAR` is on another scale: 1 to 10 in one run, 1 to 5 in the other"),
        ('"1.0.0"', '"2.0.0"', "S0859", "versions 1.0.0 and 2.0.0 of `quiz`"),
        ("Is the reply clear?", "Is it plain?", "S0615", "rubric of metric `CLEAR` changed"),
        *spread(
            [
                ("{{ metrics }} Task", "{{ metrics }} The task", "S0615", "prompt of the scorer"),
                ("words(reply.text) > 3", "words(reply.text) > 4", "S0615", "`long`: computed in another way"),
            ],
            0,
        ),
    ],
)
def test_what_means_something_else_is_compared_only_when_told_to(
    quiz: Path, tripos: Command, once: Command, old: str, new: str, code: str, said: str
) -> None:
    one, two = run(once), run(once, spec=QUIZ.replace(old, new, 1))
    done = tripos("compare", one, two)
    assert (done.code, code in done.err, said in done.err) == (2, True, True), done.err
    anyway = tripos("compare", one, two, "--anyway")
    assert anyway.code == (2 if code in ("S0611", "S0612") else 0)
    assert code != "S0615" or "! scores before and after mean different things" in anyway.out


def test_other_judges_are_refused_and_paired_by_their_means_anyway(quiz: Path, tripos: Command, once: Command) -> None:
    one = run(once)
    two = run(once, judge=("--role", "judge=mock/careful:j,mock/careful:k"))
    done = tripos("compare", one, two)
    assert done.code == 2 and "judge: mock/careful:j → mock/careful:j, mock/careful:k" in done.err
    data = tripos("compare", one, two, "--anyway", "--json").data
    found = row(data, "metric", "RIGHT")
    assert tripos("sql", "select avg(value) as mean from quiz.scores where metric = 'RIGHT'", "-o", "m.json").code == 0
    assert found["pairs"] == 3
    assert found["b"] == pytest.approx(json.loads(Path("m.json").read_text())[0]["mean"])


def test_the_same_judges_are_paired_one_by_one(quiz: Path, tripos: Command, once: Command) -> None:
    run(once, "mock/careful", "mock/careful:b", judge=("--role", "judge=mock/careful:j,mock/careful:k"))
    assert row(tripos("compare", "--json").data, "metric", "RIGHT")["pairs"] == 6


def test_runs_without_a_shared_item_are_refused(quiz: Path, tripos: Command, once: Command) -> None:
    one = run(once)
    Path("items.jsonl").write_text(json.dumps({"question": "3 + 3", "answer": "6"}), "utf-8")
    done = tripos("compare", one, run(once))
    assert done.code == 2 and "S0613" in done.err


@pytest.mark.parametrize(
    ("models", "arguments", "said"),
    [
        (("mock/careful", "mock/careful:b", "mock/careless"), (), "say which two: --models A,B"),
        (("mock/careful", "mock/careful:b"), ("--models", "careful"), "`--models` names 1, and two are compared"),
        (("mock/careful", "mock/careful:b"), ("--models", "careful,carful:b"), "no model `carful:b`"),
        (("mock/careful",), (), "one model: give two runs"),
        (("mock/careful",), ("a", "b", "c"), "error"),
    ],
)
def test_models_that_are_not_clear_are_asked_for(
    quiz: Path, tripos: Command, once: Command, models: tuple[str, ...], arguments: tuple[str, ...], said: str
) -> None:
    run(once, *models)
    done = tripos("compare", *arguments)
    assert done.code == 2
    assert ("R0202" if len(arguments) == 3 else "S0614") in done.err and said in done.err


def test_without_names_the_last_run_is_compared_with_the_one_before(quiz: Path, tripos: Command, once: Command) -> None:
    one = run(once)
    two = run(once, spec=QUIZ.replace('"{{ item.question }}"', '"Compute {{ item.question }}"'))
    data = tripos("compare", "--json").data
    assert (data["a"]["run_id"], data["b"]["run_id"]) == (one, two)


def test_a_formula_that_is_twice_a_mean_has_twice_its_error(quiz: Path, tripos: Command, once: Command) -> None:
    lines = (json.dumps({"question": f"{n} + {n}", "answer": str(2 * n)}) for n in range(8))
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    spec = QUIZ + "measure once = mean(RIGHT)\nmeasure twice = mean(RIGHT) * 2\n"
    run(once, "mock/careful", "mock/careful:b", spec=spec)
    data = tripos("compare", "--json").data
    single, twice = row(data, "measure", "once"), row(data, "measure", "twice")
    for name in ("difference", "standard_error", "low", "high"):
        assert twice[name] == pytest.approx(2 * single[name])
    assert (twice["p"], twice["df"], twice["items"]) == (pytest.approx(single["p"]), single["df"], 8)


@pytest.mark.parametrize("items", [8, pytest.param(40, marks=pytest.mark.long)])
def test_a_sum_of_items_has_as_many_times_the_error_of_their_mean(
    quiz: Path, tripos: Command, once: Command, items: int
) -> None:
    lines = (json.dumps({"question": f"{n} + {n}", "answer": str(2 * n)}) for n in range(items))
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    spec = (
        QUIZ
        + """\
measure once = 2 * sum(RIGHT) / (2 * count(RIGHT))
measure total = sum(RIGHT)
measure part = sum(RIGHT) / (2 * count(RIGHT))
measure off = sum(RIGHT) + 1
"""
    )
    run(once, "mock/careful", "mock/careful:b", spec=spec)
    data = tripos("compare", "--json").data
    single, total, part, off = (row(data, "measure", name) for name in ("once", "total", "part", "off"))
    assert single["standard_error"] > 0
    for name in ("difference", "standard_error"):
        assert total[name] == pytest.approx(items * single[name])
        assert part[name] == pytest.approx(single[name] / 2)
    assert off["difference"] == pytest.approx(total["difference"])
    assert off["standard_error"] is None
    assert off["verdict"].endswith("only a part of it grows with the items: no interval")


def test_nothing_is_ruled_out_that_the_scale_rules_out_already(quiz: Path, tripos: Command, once: Command) -> None:
    run(once, *(f"mock/careful:{each}" for each in "abcdef"), spec=QUIZ + "measure share = mean(sure) * 1\n")
    for first, second in itertools.combinations("abcdef", 2):
        data = tripos("compare", "--models", f"careful:{first},careful:{second}", "--json").data
        found = row(data, "measure", "share")
        if found["high"] is not None and max(-found["low"], found["high"]) >= 1:
            assert found["verdict"] == "no difference shown; too few items to rule one out"
            return
    raise AssertionError("no two of the models differ so little on so few items")


def test_a_figure_of_all_models_together_tells_no_two_of_them_apart(quiz: Path, tripos: Command, once: Command) -> None:
    spec = (
        QUIZ
        + """\
measure ranks = mean_tau_agreement(rubric) across judge
measure half = ranks / 2
measure joint = kendall_w(rubric, models: together) across judge
measure each = kendall_w(rubric) across judge
measure rest = each - joint
"""
    )
    judges = ("--role", "judge=mock/careful:j,mock/careful:k")
    one = run(once, "mock/careful", "mock/careful:b", spec=spec, judge=judges)
    data = tripos("compare", "--json").data
    compared = {each["name"] for each in data["rows"] if each["section"] == "measure"}
    assert (data["together"], compared & {"each", "rest"}) == (["ranks", "half", "joint"], {"each", "rest"})
    assert not compared & {"ranks", "half", "joint"}
    told = tripos("compare").out
    assert "one figure of all models of the run, so not compared: ranks, half, joint" in " ".join(told.split())
    two = run(once, "mock/careful", "mock/careful:b", spec=spec, judge=judges)
    assert tripos("compare", one, two, "--json").data["together"] == []


def test_a_comparison_leaves_the_views_of_a_connection_as_they_were(quiz: Path, once: Command) -> None:
    first = run(once, "mock/careful", "mock/careful:b", spec=QUIZ + "measure ratio = mean(CLEAR) / mean(RIGHT)\n")
    connection, found = connect_run(Store.open("results", create=False), first)
    with connection:
        plan = get_plan(connection, found)
        measure = next(each for each in plan.measures if each.name == "ratio")
        before = connection.execute("select count(*) from quiz.scores").fetchall()
        one, other = (Side(connection, plan, (model,)) for model in found.models)
        [item, *_] = connection.execute("select item_id from quiz.scores order by 1").fetchall()[0]
        measure_differences(one, other, measure, items=[item])
        assert connection.execute("select count(*) from quiz.scores").fetchall() == before


TEACHING = """\
benchmark openings "1.0.0" { languages en }
role candidate compared
role student
role judge panel
arm lesson { none, given }
axis subject { history, physics, music }
scorer grader(response: text) by judge { prompt "Grade: {{ response }}", gives 1..10 }
scenario opening {
  context subject
  arms lesson
  ask taught by candidate when lesson == given { prompt "Teach {{ subject }}." }
  ask answer by student {
    system "You were taught: {{ taught.text }}" when lesson == given
    prompt "What is {{ subject }}?"
  }
  score good = grader(response: answer.text)
}
measure by_lesson = mean(good) by lesson
"""


def test_what_no_compared_model_took_part_in_tells_no_models_apart(quiz: Path, tripos: Command, once: Command) -> None:
    roles = ("--role", "judge=mock/careful:j", "--role", "student=mock/careful:s")
    run(once, "mock/careful", "mock/careful:b", spec=TEACHING, judge=roles)
    data = tripos("compare", "--json").data
    assert (data["pairs"], data["same"]) == (3, 3)
    assert row(data, "metric", "good")["pairs"] == 3


def test_metrics_of_different_weight_count_as_the_spec_says(quiz: Path, tripos: Command, once: Command) -> None:
    spec = QUIZ.replace("|   x   |   x   |", "|   3   |   1   |")
    run(once, "mock/careful", "mock/careful:b", spec=spec)
    data = tripos("compare", "--json").data
    found = {each["name"]: each for each in data["rows"] if each["section"] == "metric"}
    query = (
        "select metric, avg(value) as mean, model from quiz.scores where scenario = 'sums' group by all order by all"
    )
    assert tripos("sql", query, "-o", "m.json").code == 0
    means = {(each["metric"], each["model"]): each["mean"] for each in json.loads(Path("m.json").read_text())}
    wanted = [(3 * means["CLEAR", model] + means["RIGHT", model]) / 4 for model in ("mock/careful", "mock/careful:b")]
    sums = row(data, "scenario", "sums", "rubric")
    assert [sums["a"], sums["b"]] == [pytest.approx(each) for each in wanted]
    assert found["RIGHT"]["a"] == pytest.approx(means["RIGHT", "mock/careful"])


UNSCORED = (
    QUIZ
    + """
scenario rare "Rare" {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score never = length(reply.text) > 0 when length(item.question) > 99
  score short = readable(last_number(item.question)) > 40 and length(reply.text) > 0
}
measure nothing   = mean(never)
measure all_or_no = mean(short, missing: fail)
measure no_share  = 1 - share(never)
"""
)


@pytest.fixture
def unscored(quiz: Path) -> None:
    rows = [*ITEMS, {"question": "What is odd?", "answer": "1"}]
    (quiz / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")


@pytest.mark.long
def test_a_measure_without_a_value_is_named_with_the_reason(unscored: None, tripos: Command, once: Command) -> None:
    one, two = run(once, spec=UNSCORED), run(once, "mock/careful:b", spec=UNSCORED)
    data = tripos("compare", one, two, "--models", "mock/careful,mock/careful:b", "--json").data
    rows = {each["name"] for each in data["rows"] if each["section"] == "measure"}
    told = {each["name"]: each["reason"] for each in data["unpaired"]}
    declared = {"by_metric", "length", "nothing", "all_or_no", "no_share"}
    assert (rows | set(told), rows & set(told)) == (declared, set())
    assert told["nothing"] == told["no_share"] == "neither side has a value: nothing was scored"
    text = tripos("compare", one, two, "--models", "mock/careful,mock/careful:b").out
    assert "nothing is not compared: neither side has a value: nothing was scored" in " ".join(text.split())


def test_a_figure_that_fails_says_how_many_scores_are_missing(unscored: None, tripos: Command, once: Command) -> None:
    run(once, spec=UNSCORED)
    told = " ".join(tripos("report").out.split())
    assert "1 of 4 scores are missing, which `missing: fail` forbids" in told


FAMILY = (
    QUIZ.replace("languages en", "languages en\n  headline right", 1)
    + """\
measure right = mean(RIGHT)
measure long  = mean(long)
"""
)


@pytest.fixture
def many(quiz: Path, once: Command) -> str:
    lines = (json.dumps({"question": f"{n} + {n}", "answer": str(2 * n)}) for n in range(30))
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    return run(once, "mock/careful", "mock/careful:b", spec=FAMILY)


def test_all_tables_are_one_family_in_which_a_figure_counts_once(many: str, tripos: Command) -> None:
    data = tripos("compare", "--json").data
    rows = [each for each in data["rows"] if each["p"] is not None]
    figures = {(each["p"], each["difference"], each["standard_error"]) for each in rows}
    assert data["headline"] == ["right"] and len(figures) < len(rows), "`right` is a metric too"
    assert data["tests"] == len(figures)
    right, metric = row(data, "measure", "right"), row(data, "metric", "RIGHT")
    assert (right["p_holm"], right["q"], right["ruled_out"]) == (metric["p_holm"], metric["q"], metric["ruled_out"])
    assert min(each["p_holm"] / each["p"] for each in rows) >= 1
    assert all(max(-each["low"], each["high"]) <= each["ruled_out"] for each in rows)
    told = f"p is corrected over all {len(figures)} figures of these tables (Holm)."
    assert told in data["notes"] and told in tripos("compare").out
    for form in ("md", "html", "latex"):
        assert told in tripos("compare", "--format", form).out


def test_rows_say_whether_sides_are_equivalent_within_a_margin(many: str, tripos: Command) -> None:
    plain = tripos("compare", "--json").data
    assert not any("margin" in each or "within" in each["verdict"] for each in plain["rows"])
    data = tripos("compare", "--json", "--within", "right=8", "--within", "CLEAR=0.001").data
    asked = [each for each in data["rows"] if "margin" in each]
    assert {(each["name"], each["margin"]) for each in asked} == {("right", 8.0), ("CLEAR", 0.001)}
    right, clear = row(data, "measure", "right"), row(data, "metric", "CLEAR")
    assert right["equivalence"] == "equivalent" and right["p_equivalent"] < 0.05
    assert -8 < right["margin_low"] <= right["difference"] <= right["margin_high"] < 8
    assert right["verdict"].endswith(f"within 8 [{right['margin_low']:.2f}, {right['margin_high']:.2f}]")
    assert clear["equivalence"] in ("undecided", "different") and clear["p_equivalent"] > 0.05
    done = tripos("compare", "--within", "right=8")
    assert done.code == 0 and "equivalent within 8" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())
    for form in ("md", "html", "latex", "csv"):
        assert "equivalent within 8" in tripos("compare", "--format", form, "--within", "right=8").out


def test_in_ci_a_row_with_a_margin_passes_only_if_it_is_shown(many: str, tripos: Command) -> None:
    done = tripos("compare", "--within", "right=8", "--within", "CLEAR=0.001", "--junit", "compare.xml")
    assert done.code == 0, done.err
    cases = {each.get("name"): each for each in ElementTree.parse("compare.xml").iter("testcase")}
    assert cases["right"].find("failure") is None
    failure = next(each for name, each in cases.items() if (name or "").startswith("CLEAR")).find("failure")
    assert failure is not None and failure.get("type") in ("undecided", "different")


@pytest.mark.parametrize(
    ("margin", "code", "said"),
    [
        ("0", "R0202", "`0` must be more than 0"),
        ("-0.1", "R0202", "`-0.1` must be more than 0"),
        ("nan", "R0202", "`nan` must be a number"),
        ("inf", "R0202", "`inf` must be a number"),
        ("=0.1", "R0202", "a name is missing before `=0.1`"),
        ("right=", "R0202", "it takes a number"),
        ("much", "R0202", "it takes a number"),
        ("right=9", "S0616", "within 9 any two values of `right` are alike: they differ by 9 at most"),
        ("rihgt=1", "S0616", "did you mean `right`?"),
    ],
)
def test_a_margin_that_is_none_is_refused(many: str, tripos: Command, margin: str, code: str, said: str) -> None:
    done = tripos("compare", f"--within={margin}")
    assert done.code == 2 and code in done.err and said in done.err


SURE = """benchmark sure "1.0.0" { languages en }
role candidate compared
dataset item from "sure.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score size = length(reply.text)
}
measure size = mean(size)DIRECTION
"""


@pytest.mark.parametrize(
    ("direction", "arguments", "code", "failed"),
    [
        (" higher is better", (), 0, []),
        (" higher is better", ("--fail-on", "worse"), 100, ["measure size: worse"]),
        (" lower is better", ("--fail-on", "worse"), 0, []),
        (" lower is better", ("--fail-on", "undecided"), 0, []),
        (" higher is better", ("--fail-on", "worse", "--within", "size=1000"), 0, []),
        ("", ("--fail-on", "worse", "--within", "1000"), 0, []),
        ("", ("--fail-on", "worse"), 100, ["nothing says of any row which way it is better, so none can be worse"]),
        ("", ("--fail-on", "undecided"), 100, ["measure size: differs, and nothing says which way it is better"]),
        (" higher is better", ("--fail-on", "worse", "--within", "size=0.001"), 100, ["measure size: different"]),
    ],
)
def test_a_comparison_is_a_gate(
    direction: str,
    arguments: tuple[str, ...],
    code: int,
    failed: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tripos: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ({"question": f"Say {'a' * number}", "answer": f"word {number}"} for number in range(20))
    Path("sure.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Path("sure.tripos").write_text(SURE.replace("DIRECTION", direction), "utf-8")
    assert tripos("run", "sure.tripos", "--model", "baseline/echo,baseline/constant:w").code == 0
    data = tripos("compare", *arguments, "--json")
    assert data.code == code
    assert [name for name in data.data["failed"] if name.startswith("measure") or name in failed][-1:] == failed
    shown = tripos("compare", *arguments)
    assert shown.code == code
    assert all(name in shown.out for name in failed)
    unsaid = bool(arguments) and not direction and "--within" not in arguments
    assert data.data["without_direction"] == (["size"] if unsaid else [])
    assert ("write `higher is better`" in " ".join(shown.out.split())) == unsaid


def test_a_comparison_of_nothing_is_no_pass(quiz: Path, tripos: Command, once: Command) -> None:
    one, two = run(once), run(once)
    assert tripos("compare", one, two, "--fail-on", "worse").code == 0
    done = tripos("compare", one, two, "--fail-on", "undecided")
    assert done.code == 100
    assert "failed:" in done.out and "undecided" in done.out
