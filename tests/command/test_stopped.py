"""The differences that are told of a run that stopped when it was settled: by whatever it is shown, they are those of
its confidence sequences."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.command.test_until import MANY, SPEC, run, settled, sums
from tests.conftest import Command
from tripos_warehouse.measures.measure_rows import (
    EXAGGERATED_DIFFERENCES,
    STOPPED_EARLY,
    TWO_RUNS_UNFOLLOWED,
    UNFOLLOWED,
)

__all__ = ["sums"]
TWICE = "measure twice = median(right)\n"


def compared(tripos: Command, *options: str) -> Any:
    return json.loads(tripos("compare", *options, "--json").out)


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_mean_of_cells_has_the_difference_of_its_sequence(sums: Path, tripos: Command) -> None:
    spec = SPEC.replace("languages en }", "languages en, headline even }") + "measure even = mean(by_level)\n"
    (sums / "s.tripos").write_text(spec, "utf-8")
    run(tripos, "--until", "settled", "--max-connections", "2")
    told = settled(tripos)
    assert told["items"] < MANY
    [pair] = [each for each in told["figures"] if each["kind"] == "comparison" and each["name"] == "even"]
    [row] = [row for row in compared(tripos)["rows"] if row["name"] == "even"]
    assert (row["of"], row["method"], row["p"]) == ("each level alike", "sequence", pair["p_alone"])
    assert [row["difference"], row["low"], row["high"]] == pytest.approx([-pair["value"], -pair["high"], -pair["low"]])


def test_a_difference_is_that_of_the_sequence_wherever_it_is_shown(sums: Path, tripos: Command) -> None:
    (sums / "s.tripos").write_text(SPEC + TWICE, "utf-8")
    run(tripos, "--until", "settled", "--max-connections", "2")
    told = settled(tripos)
    assert told["items"] < MANY
    [pair] = [each for each in told["figures"] if each["kind"] == "comparison"]
    assert 0 < pair["low"] < pair["value"] < pair["mean"] < pair["high"]
    found = compared(tripos)
    first, *others = found["rows"]
    assert (first["name"], first["method"], first["p"]) == ("accuracy", "sequence", pair["p_alone"])
    assert [first["difference"], first["low"], first["high"]] == pytest.approx(
        [-pair["value"], -pair["high"], -pair["low"]]
    )
    assert first["b"] - first["a"] == pytest.approx(-pair["mean"])
    assert others
    for row in others:  # by level, by metric, by scenario: no sequence follows these
        assert (row["difference"], row["low"], row["p"], row["p_holm"], row["q"]) == (None,) * 5
        assert row["reason"] == UNFOLLOWED
    assert EXAGGERATED_DIFFERENCES in found["cautions"]
    text = plain(tripos("compare").out)
    assert f"A is better by {pair['value']:.3f} [{pair['low']:.3f}, {pair['high']:.3f}]" in text
    assert f"not compared: {UNFOLLOWED}" in text
    assert f"above mock/student-20-0 by {pair['value']:.3f} [{pair['low']:.3f}, " in plain(tripos("report").out)
    for verb in (["report"], ["leaderboard"], ["history", "accuracy"]):
        shown = plain(tripos(*verb).out)
        assert STOPPED_EARLY in shown, verb
        assert EXAGGERATED_DIFFERENCES in shown, verb
    tables = tripos("report", "--format", "markdown").out
    assert STOPPED_EARLY in tables
    accuracy, by_level = tables.split("### by_level", 1)
    assert "**" in accuracy, "the sequence found it"
    assert "**" not in by_level, "and followed no level"
    rows = list(csv.DictReader(tripos("compare", "--format", "csv").out.splitlines()))
    assert [each["difference"] for each in rows[1:]] == [""] * len(others)
    assert "—" in tripos("compare", "--format", "markdown").out
    tripos("compare", "--junit", "compare.xml")
    suite = ElementTree.parse(sums / "compare.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("1", str(len(others)))


def test_a_pair_that_saw_all_items_is_not_shrunk_and_holds_what_the_run_said(sums: Path, tripos: Command) -> None:
    """Two of three models are alike: these go on to the last item, and are no more apart than while they were asked."""
    models = "mock/student-60-0:a,mock/student-60-0:b,mock/student-0-0"
    run(tripos, "--until", "settled", models=models)
    told = settled(tripos)
    alike = ("mock/student-60-0:a", "mock/student-60-0:b")
    pairs = {(each["model"], each["other"]): each for each in told["figures"] if each["kind"] == "comparison"}
    assert pairs[alike]["value"] == pairs[alike]["mean"]
    assert not pairs[alike]["settled"]
    assert pairs[alike]["items"] == MANY
    found = compared(tripos, "--models", ",".join(alike))
    first, *others = found["rows"]
    assert (first["method"], first["p"]) == ("sequence", pairs[alike]["p_alone"])
    assert first["difference"] == pytest.approx(first["b"] - first["a"])
    assert all(row["low"] is not None for row in others), "both saw all items: no stopping chose them"
    assert EXAGGERATED_DIFFERENCES not in found["cautions"]
    early = compared(tripos, "--models", f"{alike[0]},mock/student-0-0")
    assert early["rows"][0]["items"] == told["models"]["mock/student-0-0"] < MANY
    assert abs(early["rows"][0]["difference"]) < early["rows"][0]["a"] - early["rows"][0]["b"]


def test_a_margin_shrinks_nothing(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--margin", "0.25")
    told = settled(tripos)
    [pair] = [each for each in told["figures"] if each["kind"] == "comparison"]
    assert told["items"] < MANY
    assert pair["value"] == pytest.approx(pair["mean"])


def test_two_runs_of_which_one_stopped_have_no_test(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--max-connections", "2")
    run(tripos)
    runs = json.loads(tripos("sql", "select run_id from runs order by run_id", "--format", "json").out)
    found = compared(tripos, *(each["run_id"] for each in runs))
    assert {row["reason"] for row in found["rows"]} == {TWO_RUNS_UNFOLLOWED}
    assert {row["p"] for row in found["rows"]} == {None}
    whole = compared(tripos, runs[1]["run_id"])
    assert all(row["p"] is not None and row["method"] is None for row in whole["rows"])
    assert not whole["cautions"]


def test_a_run_that_is_stopped_before_it_is_settled_says_so(sums: Path, tripos: Command) -> None:
    models = "mock/student-60-0:a,mock/student-60-0:b"
    tripos("run", "s.tripos", "--model", models, "--until", "settled", "--budget", "30calls")
    for verb in ("report", "compare", "leaderboard"):
        assert "stopped before it was settled" in plain(tripos(verb).out), verb
    assert compared(tripos)["rows"][0]["p"] is not None
    tripos("run", "s.tripos", "--model", models, "--budget", "31calls")
    assert "before it was settled" not in tripos("report").out


def test_exported_means_have_no_interval_for_a_fixed_number(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--max-connections", "2")
    assert tripos("export", "eee", "-o", "eee").code == 0
    [first, *_] = sorted((sums / "eee").rglob("*.json"))
    found = {each["evaluation_name"]: each for each in json.loads(first.read_text("utf-8"))["evaluation_results"]}
    measured = found["sums/measure/accuracy"]["score_details"]["uncertainty"]
    assert measured["confidence_interval"]["method"] == "sequence"
    assert set(found["sums/sums/right"]["score_details"]["uncertainty"]) == {"num_samples"}
    assert tripos("export", "lm-eval", "-o", "lm").code == 0
    [first, *_] = sorted((sums / "lm").rglob("results_*.json"))
    results = json.loads(first.read_text("utf-8"))["results"]
    errors = {value for of in results.values() for name, value in of.items() if "_stderr" in name}
    assert errors == {"N/A"}
