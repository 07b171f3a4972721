"""Bindings for rows that tests write by hand: a row is a run's where its models fill the run's roles."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
TABLES = ("samples", "turns", "judgements", "scores", "comparisons", "slots")
GIVEN = "given"
"""Who judged what came from outside a run: anybody."""


def bound(rows: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
    """Return the rows with a binding each, and with what their runs yield."""
    models = {row["sample_id"]: row["model"] for row in rows.get("samples", ())}
    found: dict[str, Sequence[Row]] = {
        table: [{"binding": _binding(table, row, models), **row} for row in some] if table in TABLES else some
        for table, some in rows.items()
    }
    if "runs" in rows and "run_steps" not in rows:
        found["run_steps"] = [step for run in rows["runs"] for step in _steps(run, bool(rows.get("comparisons")))]
    return found


def _binding(table: str, row: Row, models: Mapping[str, str]) -> str:
    evaluator = row.get("evaluator")
    if evaluator is not None and (evaluator.startswith("human/") or row.get("round") is not None):
        evaluator = GIVEN
    match table:
        case "samples" | "turns":
            return str(row["model"])
        case "scores":
            return f"{row['model']} by {evaluator}"
        case "slots":
            return "made"
        case "judgements" if row.get("sample_id") in models:
            return f"{models[row['sample_id']]} by {evaluator}"
    return f"by {evaluator}"


def _steps(run: Row, compares: bool) -> Iterator[Row]:
    filling = {name for names in json.loads(run["roles"]).values() for name in names}
    compared = set(run["models"])
    evaluators = {None, GIVEN, *filling}
    for scenario in run["scenarios"]:
        for fingerprint in run["fingerprints"]:
            own = {"run_id": run["run_id"], "scenario": scenario, "fingerprint": fingerprint}
            others = {f"{model} by {judge}" for model in filling - compared for judge in evaluators}
            shared = {*(f"by {each}" for each in evaluators), *(filling - compared), "made", *others}
            for model in compared:
                mine = {model, *(f"{model} by {judge}" for judge in evaluators)}
                yield from ({**own, "binding": each, "model": model} for each in sorted(shared | mine))
            for first in compared if compares else ():
                for second in compared - {first}:
                    yield from (
                        {**own, "binding": f"by {each}", "model": first, "other": second} for each in evaluators
                    )
