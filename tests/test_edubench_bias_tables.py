"""EduBench's Tables 10 to 12: wins by evaluator and model, and by order, are those of the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command

SPEC = Path(__file__).parent.parent / "specs/edubench/bias_published.tripos"
MODELS = ("mock/careful", "mock/careless", "mock/fair")
needs_data = pytest.mark.skipif(not (SHARED_DATA / "edubench").is_dir(), reason="the published items are not here")


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, once: Command) -> Command:
    """Return the command in a folder with a run over the published items."""
    monkeypatch.chdir(tmp_path)
    roles = ("--role", f"judge={','.join(MODELS)}", "--role", "reasoner=mock/noisy")
    run = ("run", str(SPEC), "--data", str(SHARED_DATA), "--limit", "3", "--model", ",".join(MODELS), *roles)
    assert once(*run, "--json").code == 0
    return tripos


def verdicts(tripos: Command, step: str) -> list[dict[str, Any]]:
    query = f"""select evaluator, first_model, second_model, value from edubench_bias_published.comparisons
    where step = '{step}' and value is not null"""
    assert tripos("sql", query, "-o", "rows.json").code == 0
    rows: list[dict[str, Any]] = json.loads(Path("rows.json").read_text("utf-8"))
    assert rows
    return rows


def printed(tripos: Command, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table without those of the paper, which are of other evaluators."""
    (shown,) = tripos("report", "--table", table, "--json").data["tables"]
    return [row for row in shown["rows"] if row.get("evaluator", "mock/").startswith("mock/")]


def won(rows: list[dict[str, Any]], model: str) -> list[float]:
    """Return what a model gets of each of its comparisons."""
    first = [row["value"] for row in rows if row["first_model"] == model]
    return first + [1 - row["value"] for row in rows if row["second_model"] == model]


@needs_data
def test_wins_are_counted_by_evaluator_and_model(judged: Command) -> None:
    rows = verdicts(judged, "plain")
    table = printed(judged, "table_10")
    assert [(row["evaluator"], row["model"]) for row in table] == [(one, two) for one in MODELS for two in MODELS]
    for row in table:
        own = won([each for each in rows if each["evaluator"] == row["evaluator"]], row["model"])
        assert row["Win times"]["value"] == pytest.approx(sum(own))
        assert row["Share won"]["value"] == pytest.approx(sum(own) / len(own))


@needs_data
def test_wins_are_counted_by_type_of_evaluator(judged: Command) -> None:
    table = printed(judged, "table_11")
    for row, step in zip(table, ("plain", "reasoned"), strict=True):
        rows = verdicts(judged, step)
        for model in MODELS:
            assert row[model]["value"] == pytest.approx(sum(won(rows, model)))


@needs_data
@pytest.mark.parametrize(("name", "step"), [("table_12", "plain"), ("table_12_reasoned", "reasoned")])
def test_wins_are_told_apart_by_order(judged: Command, name: str, step: str) -> None:
    rows, table = verdicts(judged, step), printed(judged, name)
    assert table
    for row in table:
        mine = [each for each in rows if each["evaluator"] == row["evaluator"]]
        normal = [each["value"] for each in mine if each["first_model"] == row["model"]]
        reverse = [each["value"] for each in mine if each["second_model"] == row["model"]]
        for order, values in (("Normal", normal), ("Reverse", reverse)):
            former = sum(values) / len(values)
            assert row[f"{order}: Former_win"]["value"] == pytest.approx(former)
            assert row[f"{order}: Latter_win"]["value"] == pytest.approx(1 - former)
