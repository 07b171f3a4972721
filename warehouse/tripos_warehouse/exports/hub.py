"""Files for the Hugging Face Hub: `eval.yaml` for the data set of a benchmark, and results for the pages of models.

They follow the Hub's documentation of evaluation results (`docs/hub/eval-results.md` of hub-docs at commit 064c7548)
and `EvalResultEntry` of huggingface_hub 1.33. A task of `eval.yaml` is a value of a measure: the Hub makes a
leaderboard of each, in which a model has one result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.units import ExportedFigure, measure_figures
from tripos_warehouse.files import export_path
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.tables.values import interval_text
from tripos_warehouse.views.runs import RunRecord

DOCUMENTED = "hub-docs 064c7548"
"""The version of the Hub's documentation that the files follow."""
FRAMEWORK = "tripos"
"""The evaluation framework in `eval.yaml` and in results."""
PART = r"[\w](?:[\w.-]*[\w])?"
DATASET = re.compile(rf"{PART}/{PART}")


@dataclass(frozen=True)
class HubSource:
    """The data set of the benchmark on the Hub, and the source of its results."""

    dataset: str
    url: str | None = None
    organization: str | None = None


@dataclass(frozen=True)
class HubResults:
    """The files of one model: the number of results, and the measures without a value."""

    model: str
    path: Path
    results: int
    without_value: tuple[str, ...]


def write_hub(
    connection: Connection, plan: Plan, run: RunRecord, folder: Path, source: HubSource
) -> tuple[Path, list[HubResults]]:
    """Write `dataset/eval.yaml`, and for every compared model `.eval_results/BENCHMARK.yaml` and `model-index.yaml`.
    Return the path of the first, and the files of each model.

    Raises `StoreError`: S0202 for an invalid data set name, S0603 if no measure has a value, S0604 if the disk refuses.
    """
    if not DATASET.fullmatch(source.dataset):
        raise StoreError("S0202", f"`{source.dataset}` is no data set of the Hub", "write --dataset OWNER/NAME")
    if folder.exists() and not folder.is_dir():
        raise StoreError("S0604", f"`{folder}` is a file, and several are to be written", "name a folder")
    figures = {model: measure_figures(connection, plan, run, model) for model in run.models}
    if not any(exported_figure.value is not None for own in figures.values() for exported_figure in own):
        raise StoreError("S0603", "nothing to export: no measure of this run has a value", "`tripos report` says why")
    named = {exported_figure.name: exported_figure for own in figures.values() for exported_figure in own}
    ids = task_ids(list(named.values()))
    place = folder / "dataset" / "eval.yaml"
    _write(place, _eval_yaml(plan, {ids[name]: exported_figure for name, exported_figure in named.items()}))
    resultses = []
    for model, figure in figures.items():
        exported_figures = [exported_figure for exported_figure in figure if exported_figure.value is not None]
        if not exported_figures:
            continue
        under = folder / "models" / re.sub(r"[^\w.\-]", "__", model)
        results = under / ".eval_results" / f"{run.benchmark}.yaml"
        _write(
            results,
            [_entry(run, exported_figure, ids[exported_figure.name], source) for exported_figure in exported_figures],
        )
        _write(
            under / "model-index.yaml",
            {
                "model-index": [
                    _index(
                        plan,
                        run,
                        model,
                        {ids[exported_figure.name]: exported_figure for exported_figure in exported_figures},
                        source,
                    )
                ]
            },
        )
        without = tuple(exported_figure.name for exported_figure in figure if exported_figure.value is None)
        resultses.append(HubResults(model, results, len(exported_figures), without))
    return place, resultses


def task_ids(figures: Sequence[ExportedFigure]) -> dict[str, str]:
    """Return the task id of every value of a measure, by name: letters, digits and `_`, with dots between its parts."""
    ids: dict[str, str] = {}
    for figure in figures:
        text = ".".join(re.sub(r"\W+", "_", part) for part in (figure.source, *figure.by.values()))
        while text in ids.values():
            text += "_"
        ids[figure.name] = text
    return ids


def _eval_yaml(plan: Plan, tasks: Mapping[str, ExportedFigure]) -> dict[str, Any]:
    title = plan.title_of("benchmark", plan.benchmark.name) or plan.benchmark.title or plan.benchmark.name
    scenarios = ", ".join(
        plan.title_of("scenario", scenario.name) or scenario.title or scenario.name for scenario in plan.scenarios
    )
    return {
        "name": title,
        "description": f"{title} {plan.benchmark.version}: {scenarios}.",
        "evaluation_framework": FRAMEWORK,
        "tasks": [{"id": name, "config": _config(plan, figure), "split": "test"} for name, figure in tasks.items()],
    }


def _config(plan: Plan, figure: ExportedFigure) -> str:
    """Return the configuration of the data set: the scenario, as in a release on the Hub, or `default` if there are
    several.
    """
    if "scenario" in figure.by:
        return figure.by["scenario"]
    return plan.scenarios[0].name if len(plan.scenarios) == 1 else "default"


def _entry(run: RunRecord, figure: ExportedFigure, task: str, source: HubSource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "dataset": {"id": source.dataset, "task_id": task},
        "value": figure.value,
        "date": f"{(run.finished_at or run.started_at):%Y-%m-%dT%H:%M:%SZ}",
    }
    if source.url is not None:
        entry["source"] = {"url": source.url, "name": f"{run.benchmark} {run.version}"}
        if source.organization is not None:
            entry["source"]["org"] = source.organization
    return entry | {"notes": notes_of(run, figure)}


def notes_of(run: RunRecord, figure: ExportedFigure) -> str:
    """Return notes on a figure: its interval, the numbers of scores and items, and its run."""
    texts = []
    if interval := interval_text(figure, "{:.6g}".format):
        texts.append(f"95 % interval {interval}")
    texts.append(f"{figure.n:,} scores of {figure.items:,} items")
    if figure.without_value:
        texts.append(f"{figure.without_value:,} scores without a value")
    if figure.lower_is_better:
        texts.append("lower is better")
    if not run.ended:
        texts.append(f"the run is {run.status}")
    if run.partial is not None:
        texts.append(run.partial)
    judges = sorted({name for names in run.evaluators.values() for name in names})
    texts += [f"with {', '.join(judges)}"] if judges else []
    release = f", release {run.release[:12]}" if run.release else ""
    return "; ".join([*texts, f"{run.benchmark} {run.version}, plan {run.plan_digest[:12]}{release}, Tripos"])


def _index(
    plan: Plan, run: RunRecord, model: str, figures: Mapping[str, ExportedFigure], source: HubSource
) -> dict[str, Any]:
    """Return the metadata of a model card, with one result for each configuration."""
    by_config: dict[str, list[str]] = {}
    for task, figure in figures.items():
        by_config.setdefault(_config(plan, figure), []).append(task)
    results = []
    for config, own in by_config.items():
        result: dict[str, Any] = {
            "task": {"type": "text-generation", "name": run.benchmark},
            "dataset": {
                "name": f"{plan.benchmark.title or run.benchmark} {run.version}",
                "type": source.dataset,
                "config": config,
                "split": "test",
            },
            "metrics": [{"type": task, "name": figures[task].name, "value": figures[task].value} for task in own],
        }
        if source.url is not None:
            result["source"] = {"name": f"{run.benchmark} {run.version}", "url": source.url}
        results.append(result)
    return {"name": model, "results": results}


def _write(path: Path, data: object) -> None:
    with export_path(path) as new:
        new.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100), "utf-8")


def space_card(plan: Plan, run: RunRecord) -> str:
    """Return the `README.md` of a static Space that shows the page of a run."""
    title = plan.benchmark.title or run.benchmark
    about = {
        "title": f"{title} {run.version}"[:100],
        "emoji": "📊",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "static",
        "app_file": "index.html",
        "pinned": False,
        "short_description": f"Results of {run.benchmark} {run.version}"[:60],
    }
    head = yaml.safe_dump(about, sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n# {title}\n\nThe results of run `{run.run_id}` of {run.benchmark} {run.version}.\n"
