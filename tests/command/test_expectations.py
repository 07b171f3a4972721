"""Expectations of a spec: printed, in exit codes and in JUnit XML; measures that change without a call."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from scipy.stats import binomtest

from tests.conftest import Command
from tripos_warehouse.statistics.power import detectable_difference, least_shown_share

SPEC = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, sort choice(sum, product) secret }
scenario sums {
  over item
  ask reply by candidate {
    prompt "What is {{ item.question }}?"
    returns { sort choice(sum, product), why text }
    samples 2
  }
  score said = length(reply.why) > 0
  measure kinds = f1(reply.sort, item.sort, average: micro)
}
measure it = mean(sums.said)
"""
MODEL = "baseline/constant:sum"
"""A model that is no mock, of which no expectation would fail a run."""
ROWS = [{"question": f"{n} + {n}", "sort": "sum" if n % 2 else "product"} for n in range(6)]


@pytest.fixture
def quiz(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    return tmp_path


def run(folder: Path, tripos: Command, more: str = "", *options: str):  # type: ignore[no-untyped-def]
    (folder / "s.tripos").write_text(SPEC + more, "utf-8")
    return tripos("run", "s.tripos", "--model", MODEL, *options)


def test_a_run_whose_expectations_hold_is_good(quiz: Path, tripos: Command) -> None:
    done = run(quiz, tripos, "expect it >= 0.5")
    assert done.code == 0, done.err
    assert "expectations: 1 held\n" in done.out
    assert "expectations: 1 held\nheld on 12 of 12 scores: it >= 0.5\n" in tripos("report").out
    for command in (("list",), ("plan", "s.tripos")):
        lines = tripos(*command).out.splitlines()
        assert len(lines) > 1 and [line for line in lines if line != line.rstrip()] == []


def test_one_that_does_not_hold_ends_with_100_says_by_how_much_and_is_a_test_case(quiz: Path, tripos: Command) -> None:
    done = run(quiz, tripos, "expect it >= 0.5\nexpect it < 1", "--junit", "out.xml")
    assert done.code == 100
    assert "expectations: 1 held, 1 did not: it < 1\n" in done.out
    again = tripos("report")
    assert again.code == 100
    assert "expectations: 1 held, 1 did not\n" in again.out
    assert "did not hold on 12 of 12 scores: it < 1\n" in again.out
    assert "off by 0" in again.out
    assert [gate["held"] for gate in json.loads(tripos("report", "--json").out)["expectations"]] == [True, False]
    top = ElementTree.parse(quiz / "out.xml").getroot()
    assert (top.tag, top.get("tests"), top.get("failures"), top.get("errors")) == ("testsuites", "3", "1", "0")
    [suite] = top
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        f"it >= 0.5 [{MODEL}]",
        f"it < 1 [{MODEL}]",
        "every reply and score came about",
    ]
    [failure] = suite.iter("failure")
    assert failure.get("message", "").startswith("it is 1")
    nowhere = tripos("report", "--junit", "no/such/out.xml")
    assert (nowhere.code, "S0102" in nowhere.err) == (2, True)


def test_failed_calls_come_before_expectations(quiz: Path, tripos: Command) -> None:
    (quiz / "s.tripos").write_text(SPEC + "expect it < 1", "utf-8")
    done = tripos("run", "s.tripos", "--model", "mock/fails-1", "--max-retries", "0", "--json")
    assert done.code == 1
    assert done.data["expectations"][0]["held"] is False


def test_an_expectation_of_mock_models_fails_nothing_and_is_skipped_in_ci(quiz: Path, tripos: Command) -> None:
    (quiz / "s.tripos").write_text(SPEC + "expect it < 1", "utf-8")
    done = tripos("run", "s.tripos", "--model", "mock/careful", "--junit", "out.xml")
    assert done.code == 0
    assert "expectations: 0 held, 1 did not: it < 1\n" in done.out
    assert "mock models took part: no expectation fails this run" in done.out
    assert tripos("report").code == 0
    top = ElementTree.parse(quiz / "out.xml").getroot()
    assert (top.get("failures"), top.get("errors"), top[0].get("skipped")) == ("0", "0", "1")
    [skipped] = top.iter("skipped")
    assert "mock models took part" in skipped.get("message", "")


NIGHT = """\
benchmark night "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score mark = 20 / (4 * (words(reply.text) - 1))
}
measure it = mean(mark)
"""


@pytest.mark.parametrize(
    ("there", "least", "held"),
    [(4, "", True), (3, "", False), (1, "", False), (3, "coverage 0.75", True), (2, "coverage 0.75", False),
     (1, "coverage 0", True), (4, "coverage 1", True)],
)  # fmt: skip
def test_an_expectation_holds_on_no_less_than_its_coverage(
    there: int, least: str, held: bool, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"{'two words' if n < there else 'one'}{'!' * n}"} for n in range(4)]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    Path("s.tripos").write_text(f"{NIGHT}expect it >= 3 {least}\n", "utf-8")
    done = tripos("run", "s.tripos", "--model", "baseline/echo", "--junit", "out.xml")
    assert done.code == (0 if held else 100), done.out + done.err
    word = "held" if held else "did not hold"
    assert f"{word} on {there} of 4 scores: it >= 3\n" in tripos("report").out
    assert (f"{word} on {there} of 4 scores: it >= 3" in done.out) == (there < 4)
    [gate] = tripos("report", "--json").data["expectations"]
    [outcome] = gate["outcomes"]
    assert (gate["held"], outcome["value"], outcome["n"], outcome["total"]) == (held, 5, there, 4)
    assert outcome["covered"] is held
    failures = ElementTree.parse("out.xml").getroot().iter("failure")
    messages = [each.get("message") for each in failures if each.get("type") == "expectation"]
    share = "75%" if least == "coverage 0.75" else "90%"
    assert messages == ([] if held else [f"it is 5: {there} of 4 scores, below {share}"])


def test_a_run_that_stopped_is_an_error_for_ci_and_leaves_no_file_of_an_earlier_run(
    quiz: Path, tripos: Command
) -> None:
    (quiz / "s.tripos").write_text(SPEC + "expect it >= 0", "utf-8")
    Path("out.xml").write_text("of last night", "utf-8")
    done = tripos("run", "s.tripos", "--model", "mock/careful", "--budget", "1calls", "--junit", "out.xml")
    assert done.code == 1
    for _ in range(2):
        top = ElementTree.parse(quiz / "out.xml").getroot()
        assert top.get("errors") == "1"
        [error] = top.iter("error")
        assert error.get("message") == "the run is stopped, so not all that was planned is here"
        Path("out.xml").unlink()
        tripos("report", "--junit", "out.xml")
    for form in ("md", "latex", "html"):
        assert "The run is stopped, so not all that was planned is here." in tripos("report", "--format", form).out


def test_a_table_for_a_paper_says_that_items_were_left_out(quiz: Path, tripos: Command) -> None:
    (quiz / "s.tripos").write_text(SPEC, "utf-8")
    assert tripos("run", "s.tripos", "--model", "mock/careful", "--limit", "1").code == 0
    assert "items: --limit 1." in tripos("report", "--format", "md").out


def test_a_changed_measure_is_taken_of_what_is_kept_without_a_call(quiz: Path, tripos: Command) -> None:
    run(quiz, tripos)
    before = json.loads(tripos("list", "--json").out)
    changed = SPEC.replace("mean(sums.said)", "1 - mean(sums.said) / 2") + "measure spread = stdev(sums.said)\n"
    (quiz / "new.tripos").write_text(changed, "utf-8")
    told = json.loads(tripos("report", "--spec", "new.tripos", "--json").out)
    values = {each["name"]: each["rows"][0]["value"] for each in told["measures"]}
    assert values == {"sums.kinds": pytest.approx(values["sums.kinds"]), "it": 0.5, "spread": 0.0}
    assert json.loads(tripos("list", "--json").out) == before
    (quiz / "other.tripos").write_text(SPEC.replace("benchmark quiz", "benchmark other"), "utf-8")
    done = tripos("report", "--spec", "other.tripos")
    assert (done.code, "S0210" in done.err) == (2, True)


def test_a_report_says_that_a_run_works_out_a_new_column_without_a_call_and_it_does(
    quiz: Path, tripos: Command
) -> None:
    run(quiz, tripos)
    more = SPEC.replace("  measure kinds", "  measure long = mean(length(reply.why))\n  measure kinds")
    (quiz / "new.tripos").write_text(more, "utf-8")
    told = " ".join(tripos("report", "--spec", "new.tripos").out.split())
    assert "no scores: its values are not worked out yet: `tripos run` with this spec does, without a call" in told
    asked_anew = more.replace('prompt "', 'prompt "Now: ')
    assert asked_anew != more
    (quiz / "new.tripos").write_text(asked_anew, "utf-8")
    told = " ".join(tripos("report", "--spec", "new.tripos").out.split())
    assert "`tripos run` with this spec does" in told and "without a call" not in told
    (quiz / "s.tripos").write_text(more, "utf-8")
    done = tripos("run", "s.tripos", "--model", MODEL, "--json").data
    assert (done["calls"]["asked"], done["calls"]["reused"]) == (0, 12)
    measures = {each["name"]: each["rows"] for each in json.loads(tripos("report", "--json").out)["measures"]}
    [row] = measures["sums.long"]
    assert row["n"] == 12 and row["value"] > 0


def test_classes_of_a_real_run_are_compared_with_the_rows(quiz: Path, tripos: Command) -> None:
    run(quiz, tripos)
    told = {each["name"]: each["rows"] for each in json.loads(tripos("report", "--json").out)["measures"]}
    [row] = told["sums.kinds"]
    assert (row["n"], row["items"]) == (12, 6)
    kept = tripos("sql", "select given, metric from quiz.columns order by all", "-o", "rows.json")
    assert kept.code == 0
    rows = json.loads((quiz / "rows.json").read_text())
    assert {each["metric"] for each in rows} == {"kinds.values", "kinds.gold"}
    said = [each["given"] for each in rows if each["metric"] == "kinds.gold"]
    assert said.count('"sum"') == said.count('"product"') == 6


PAIRED = """\
benchmark pairs "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, kind text }
scenario marks {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score one   = contains(reply.text, "one")
  score other = contains(reply.text, "other")
  score long  = words(reply.text)
}
measure one   = mean(marks.one)
measure other = mean(marks.other)
measure long  = mean(marks.long)
measure kinds = mean(marks.one) by item.kind
measure gap   = one - other
"""
WORDS = ["one other"] * 45 + ["one"] * 5 + ["other"] * 5 + ["neither"] * 5


@pytest.fixture
def gates(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Returns a function that runs a spec with expectations over 60 items, and gives its exit code and them as JSON.
    Both figures are 50 of 60; 45 items have both marks, so that the figures go together."""
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"{words} {n}", "kind": "ab"[n % 2]} for n, words in enumerate(WORDS)]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")

    def checked(*wanted: str, options: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
        Path("s.tripos").write_text(PAIRED + "".join(f"expect {each}\n" for each in wanted), "utf-8")
        done = tripos("run", "s.tripos", "--model", "baseline/echo", "--junit", "out.xml", *options)
        report = tripos("report", "--json")
        assert report.code == done.code, done.err
        return done.code, report.data

    return checked


def test_an_end_of_an_interval_decides_in_the_place_of_the_value(gates) -> None:  # type: ignore[no-untyped-def]
    code, data = gates("one >= 0.8", "lower(one) >= 0.8", "lower(one) >= 0.7", "upper(one) >= 0.9", "upper(one) <= 0.9")
    assert code == 100
    told = {each["expect"]: each for each in data["expectations"]}
    assert {name: each["held"] for name, each in told.items()} == {
        "one >= 0.8": True,
        "lower(one) >= 0.8": False,
        "lower(one) >= 0.7": True,
        "upper(one) >= 0.9": True,
        "upper(one) <= 0.9": False,
    }
    [measure] = [each["rows"] for each in data["measures"] if each["name"] == "one"]
    exact = binomtest(50, 60).proportion_ci(0.95, method="exact")
    for each in told.values():
        [outcome] = each["outcomes"]
        assert (outcome["value"], outcome["low"], outcome["high"]) == pytest.approx((50 / 60, *exact))
        assert [outcome[name] for name in ("value", "low", "high")] == [
            measure[0][name] for name in ("value", "low", "high")
        ]
        compared = {None: "value", "lower": "low", "upper": "high"}[each["end"]]
        sign = 1 if each["operator"] == ">=" else -1
        assert outcome["margin"] == pytest.approx(sign * (outcome[compared] - each["number"]))
        assert outcome["held"] == (outcome["margin"] >= 0)
    messages = [each.get("message") for each in ElementTree.parse("out.xml").getroot().iter("failure")]
    low, high = (f"{end:.4g}" for end in exact)
    assert messages == [
        f"it is 0.8333 [{low}, {high}], its lower end off by {0.8 - exact.low:.4g}",
        f"it is 0.8333 [{low}, {high}], its upper end off by {exact.high - 0.9:.4g}",
    ]


def test_two_figures_are_compared_by_their_paired_difference(gates, tripos: Command) -> None:  # type: ignore[no-untyped-def]
    code, data = gates("one >= other - 0.02", "lower(one - other) >= -0.15", "lower(one - other) >= -0.02")
    points, wide, narrow = data["expectations"]
    assert (code, points["held"], wide["held"], narrow["held"]) == (100, True, True, False)
    assert (points["difference"], points["number"], points["end"]) == ("one - other", -0.02, None)
    [gap] = [each["rows"] for each in data["measures"] if each["name"] == "gap"]
    for each in (points, wide, narrow):
        [outcome] = each["outcomes"]
        assert [outcome[name] for name in ("value", "low", "high")] == [
            gap[0][name] for name in ("value", "low", "high")
        ]
    [alone] = [each["rows"] for each in data["measures"] if each["name"] == "one"]
    apart = math.sqrt(2) * (alone[0]["high"] - alone[0]["low"])
    assert gap[0]["high"] - gap[0]["low"] < 0.8 * apart, "45 of 60 items have both marks"
    text = tripos("report").out
    assert re.search(r"held on 120 of 120 scores: one >= other - 0\.02\n  model +difference \[95 %\]\n", text)
    assert "lower end held by 0.0" in text and "lower end off by 0.0" in text


def test_an_end_without_an_interval_does_not_hold_and_says_why(gates, tripos: Command) -> None:  # type: ignore[no-untyped-def]
    code, data = gates("long >= 1", "lower(long) >= 1", "upper(long) >= 1", options=("--limit", "1"))
    points, *ends = data["expectations"]
    assert (code, points["held"], [each["held"] for each in ends]) == (100, True, [False, False])
    for each in ends:
        [outcome] = each["outcomes"]
        assert (outcome["value"], outcome["low"], outcome["margin"], outcome["held"]) == (3, None, None, False)
        assert "item" in outcome["reason"]
    text = " ".join(tripos("report").out.partition("expectations: ")[2].split())
    assert text.count(f"no interval: {outcome['reason']}") == 2
    messages = [each.get("message") for each in ElementTree.parse("out.xml").getroot().iter("failure")]
    assert messages == [f"it is 3, with no interval: {outcome['reason']}"] * 2


def test_an_undefined_figure_does_not_hold_nor_does_its_end(gates, tripos: Command) -> None:  # type: ignore[no-untyped-def]
    code, data = gates("one / (gap - gap) >= 0.5", "lower(one / (gap - gap)) >= 0.5")
    for gate in data["expectations"]:
        assert (code, gate["held"], gate["outcomes"][0]["value"]) == (100, False, None)
    assert tripos("report").out.count("no value: it divides by zero") == 2


def test_every_cell_of_a_figure_must_clear_the_number(gates) -> None:  # type: ignore[no-untyped-def]
    _, data = gates("lower(kinds) >= 0.6", "kinds >= other - 0.5", "lower(kinds) >= 0.5 coverage 1")
    first, second, third = data["expectations"]
    for each in (first, second, third):
        assert each["by"] == ["item.kind"]
        assert [outcome["item.kind"] for outcome in each["outcomes"]] == ["a", "b"]
        assert each["held"] == all(outcome["held"] for outcome in each["outcomes"])
    assert third["least_coverage"] == 1


def test_the_ends_are_told_in_chinese(gates, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    gates("lower(one) >= 0.8", "one >= other - 0.1")
    monkeypatch.setenv("TRIPOS_LANG", "zh")
    text = tripos("report").out
    assert "区间下限" in text and "差异" in text and "lower end" not in text


def test_the_plan_says_from_which_value_on_items_show_it(gates, tripos: Command) -> None:  # type: ignore[no-untyped-def]
    gates(
        "lower(one) >= 0.8",
        "lower(one) > 0.99",
        "upper(1 - one) <= 0.2",
        "lower(100 * one) >= 80",
        "lower(one - other) >= -0.02",
        "upper(one) >= 0.9",
        "lower(long) >= 2",
        "lower(kinds) >= 0.2",
        "one >= 0.8",
    )
    done = tripos("plan", "s.tripos")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
    text = " ".join(done.out.split())
    shown = least_shown_share(0.8, 60).value
    assert shown is not None
    assert f"`lower(one) >= 0.8` with 60 items: shown from a true value of {shown:.3g} on (80 % power)." in text
    assert "`lower(one) > 0.99` with 60 items: never shown, at best that end is 0.94." in text
    assert f"`upper(1 - one) <= 0.2` with 60 items: shown up to a true value of {1 - shown:.3g} (80 % power)." in text
    assert f"`lower(100 * one) >= 80` with 60 items: shown from a true value of {100 * shown:.3g} on" in text
    worst = -0.02 + (detectable_difference(60, 0.25).value or 0)
    assert (
        f"`lower(one - other) >= -0.02` with 60 items: shown from a true value of {worst:.3g} on (80 % power, w" in text
    )
    assert text.count(" with 60 items: ") == 5, (
        "of a lenient gate, a mean without ends, cells and points nothing is said"
    )
