"""The tables of the EduBench paper, from scores that were given elsewhere: 5 models, 198 items, 3 evaluators."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from tests.edubench_scores import SEVERITIES, STRENGTHS, spec, write
from tests.test_edubench import ALLOCATION
from tripos.command.main import run_command

GOLDEN = Path(__file__).parent / "golden/edubench_tables.txt"
Scores = list[dict[str, Any]]
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Scores]]:
    """A store into which replies and scores were imported, and the scores."""
    folder = tmp_path_factory.mktemp("tables")
    path = spec(folder)
    scores = write(folder, ALLOCATION)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        assert run_command(["import", "samples", "replies.jsonl", "--spec", str(path)]) == 0
        assert run_command(["import", "scores", "scores.jsonl"]) == 0
    yield folder, scores


@pytest.fixture
def here(imported: tuple[Path, Scores], monkeypatch: pytest.MonkeyPatch) -> Scores:
    monkeypatch.chdir(imported[0])
    monkeypatch.setenv("COLUMNS", "80")
    return imported[1]


@pytest.fixture
def measures(here: Scores, tripos: Any) -> Rows:
    return {each["name"]: each["rows"] for each in tripos("report", "--json").data["measures"]}


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
    found = {(row["metric"], row["pair"]): row["value"] for row in measures["same_order"]}
    means = {row["pair"]: row["value"] for row in measures["mean_same_order"]}
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
    for name in ("mean_concordance", "mean_same_order"):
        pairs = {row["pair"]: row["value"] for row in measures[name]}
        assert pairs["judge/mild & judge/plain"] > max(
            pairs["human/panel & judge/mild"], pairs["human/panel & judge/plain"]
        )


def test_the_tables_are_printed_as_papers_print_them(here: Scores, tripos: Any) -> None:
    shown = tripos("report").out.partition("by_metric by metric")
    text = re.sub(r"\nSQL of .*", "", "".join(shown[1:]), flags=re.DOTALL)
    assert max(map(len, text.splitlines())) <= 80
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")
