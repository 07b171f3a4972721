"""The tables of the EduBench paper, from scores that were given elsewhere: 5 models, 198 items, 3 evaluators."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from tests.edubench_scores import SEVERITIES, STRENGTHS, spec, write
from tests.test_edubench import ALLOCATION
from tripos.cli.main import run_command

GOLDEN = Path(__file__).parent / "golden/edubench_tables.txt"
Scores = list[dict[str, Any]]
Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Imported:
    """The imported tables and their report: as JSON, and as text 80 columns wide."""

    scores: Scores
    measures: Rows
    text: str


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("tables")
    path = spec(folder)
    scores = write(folder, ALLOCATION)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("COLUMNS", "80")
        said("import", "samples", "replies.jsonl", "--spec", str(path))
        said("import", "scores", "scores.jsonl")
        told = json.loads(said("report", "--json"))
        return Imported(scores, {each["name"]: each["rows"] for each in told["measures"]}, said("report"))


def said(*arguments: str) -> str:
    """Return what a command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run_command(arguments) == 0
    return out.getvalue()


@pytest.fixture
def here(imported: Imported) -> Scores:
    return imported.scores


@pytest.fixture
def measures(imported: Imported) -> Rows:
    return imported.measures


def mean_by(scores: Scores, key: Callable[[dict[str, Any]], Any]) -> dict[Any, float]:
    found: dict[Any, list[float]] = defaultdict(list)
    for score in scores:
        found[key(score)].append(score["value"])
    return {each: float(np.mean(values)) for each, values in found.items()}


def test_metric_by_model_and_the_mean_of_the_twelve(here: Scores, measures: Rows) -> None:
    wanted = mean_by(here, lambda score: (score["model"], score["metric"]))
    found = {(row["model"], row["metric"]): row["value"] for row in measures["by_metric"]}
    assert found == pytest.approx(wanted)
    assert len(found) == 12 * 5
    for row in measures["mean_metric"]:
        assert row["value"] == pytest.approx(np.mean([v for (model, _), v in wanted.items() if model == row["model"]]))


def test_a_scenario_is_the_mean_of_its_metrics_and_the_whole_that_of_the_nine(here: Scores, measures: Rows) -> None:
    cells = mean_by(here, lambda score: (score["model"], score["scenario"], score["metric"]))
    found = {(row["model"], row["scenario"]): row["value"] for row in measures["by_scenario"]}
    for (model, scenario), value in found.items():
        own = [cells[model, scenario, metric] for metric in ALLOCATION[scenario].split()]
        assert value == pytest.approx(np.mean(own))
    for row in measures["overall"]:
        assert row["value"] == pytest.approx(np.mean([v for (model, _), v in found.items() if model == row["model"]]))


def test_every_evaluator_apart(here: Scores, measures: Rows) -> None:
    wanted = mean_by(here, lambda score: (score["model"], score["evaluator"], score["metric"]))
    found = {(row["model"], row["evaluator"], row["metric"]): row["value"] for row in measures["metric_by_evaluator"]}
    assert found == pytest.approx(wanted)


def test_the_models_stand_in_the_order_of_their_strength(measures: Rows) -> None:
    values = {row["model"]: row["value"] for row in measures["overall"]}
    assert sorted(values, key=lambda model: -values[model]) == list(STRENGTHS)


def test_the_figure_of_the_paper_is_that_of_every_item_averaged(here: Scores, measures: Rows) -> None:
    """By hand, with another implementation of τ: two raters over five models, over items, then over metrics."""
    given = {(s["scenario"], s["number"], s["metric"], s["evaluator"], s["model"]): s["value"] for s in here}
    found = {(row["metric"], row["pair"]): row["value"] for row in measures["order_agreement"]}
    means = {row["pair"]: row["value"] for row in measures["mean_order_agreement"]}
    for one, other in combinations(sorted(SEVERITIES), 2):
        pair = f"{one} & {other}"
        by_metric = defaultdict(list)
        for scenario, position, metric in dict.fromkeys(key[:3] for key in given):
            first, second = ([given[scenario, position, metric, e, m] for m in STRENGTHS] for e in (one, other))
            tau = kendalltau(first, second).statistic
            if not np.isnan(tau):
                by_metric[metric].append((tau + 1) / 2)
        for metric, values in by_metric.items():
            assert found[metric, pair] == pytest.approx(np.mean(values))
        assert means[pair] == pytest.approx(np.mean([np.mean(values) for values in by_metric.values()]))


def test_a_noisy_evaluator_agrees_less_than_two_that_are_not(measures: Rows) -> None:
    for name in ("mean_concordance", "mean_order_agreement"):
        pairs = {row["pair"]: row["value"] for row in measures[name]}
        assert pairs["judge/mild & judge/plain"] > max(
            pairs["human/panel & judge/mild"], pairs["human/panel & judge/plain"]
        )


def test_the_tables_are_printed_as_papers_print_them(imported: Imported) -> None:
    shown = imported.text.partition("Score by criterion (by_metric) by metric")
    text = re.sub(r"\nAsk more.*", "", "".join(shown[1:]), flags=re.DOTALL)
    assert max(map(len, text.splitlines())) <= 80
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")
