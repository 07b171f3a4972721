"""Results for the LM Evaluation Harness: `results_*.json` with the figures, and `samples_*.jsonl` with a line for each
unit.

A task of lm-eval is a scenario in one combination of its arms. Measures are metrics of a group with the benchmark's
name. A line has the scores of one sample of an item, so an item with several samples has several lines with one
`doc_id`. `scores` has what lm-eval has no field for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import IO, Any

from tripos_compiler.plan import Ask, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.units import (
    SECRET,
    ExportedFigure,
    RunUnit,
    ScoreMeans,
    as_openai,
    chat_of,
    left_out,
    measure_figures,
    named_scores,
    read_units,
    scored_steps,
)
from tripos_warehouse.files import export_path
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord, tool_version

FILTER = "none"
"""The filter name of every figure: replies are parsed by the spec, not by a filter of lm-eval."""
COLUMNS = (
    *("metric", "scorer", "evaluator", "round", "element_place", "value", "choice", "status", "error"),
    *("score_id", "judgement_id", "sample_id", "step"),
)
TAKEN = (
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
    *("prompt_hash", "target_hash", "sample_number", "status", "error", "scores"),
)
"""The fields of a line; a score with such a name is renamed."""


@dataclass(frozen=True)
class ExportedResults:
    """The files of one model: the results file, the numbers of tasks, lines and scores, and of scores without a
    value.
    """

    model: str
    path: Path
    tasks: int
    samples: int
    scores: int
    without_value: int


@dataclass
class _Task:
    name: str
    scenario: str
    arms: Mapping[str, str]
    file: IO[bytes]
    documents: dict[str, int] = field(default_factory=dict)
    repeats: int = 1
    output_type: str = "generate_until"
    hashed: Any = field(default_factory=hashlib.sha256)


def write_lm_eval(
    connection: Connection, plan: Plan, run: RunRecord, folder: Path, secrets: bool
) -> tuple[list[ExportedResults], dict[str, int]]:
    """Write the results and samples of every compared model into its own folder. Return them, and the numbers of
    results that belong to no unit, by kind.

    With `secrets` targets and secret fields are included. Raises `StoreError`: S0603 if there is no reply, S0604 if the
    disk refuses.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError("S0604", f"`{folder}` is a file, and several are to be written", "name a folder")
    tool = tool_version(connection, run.run_id)
    resultses = []
    for model in run.models:
        writer = _ResultsWriter(connection, plan, run, model, secrets, tool)
        if (results := writer.write(folder)) is not None:
            resultses.append(results)
    if not resultses:
        raise StoreError("S0603", "nothing to export: the run has no replies", "`tripos report` says why")
    return resultses, left_out(connection, plan, run)


class _ResultsWriter:
    """The writer of one model's files, which all appear together."""

    def __init__(
        self, connection: Connection, plan: Plan, run: RunRecord, model: str, secrets: bool, tool: str
    ) -> None:
        self.connection, self.plan, self.run, self.model = connection, plan, run, model
        self.secrets, self.tool = secrets, tool
        self.stamp = run.started_at.isoformat().replace(":", "-")
        self.steps = {scenario.name: scored_steps(plan, scenario.name) for scenario in plan.scenarios}
        self.settings = {
            scenario.name: {
                step.name: dict(step.settings.given)
                for step in scenario.steps
                if isinstance(step, Ask) and step.role == run.compared_role
            }
            for scenario in plan.scenarios
        }
        self.means = ScoreMeans(run, model, self.steps, prefix=False)
        self.tasks: dict[tuple[str, ...], _Task] = {}
        self.samples = self.scores = self.without = 0

    def write(self, folder: Path) -> ExportedResults | None:
        path = folder / sanitized(self.model)
        place = path / f"results_{self.stamp}.json"
        figures = measure_figures(self.connection, self.plan, self.run, self.model)
        with ExitStack() as files:
            for unit in read_units(self.connection, self.plan, self.run, self.model, self.secrets):
                self._add(unit, path, files)
            if not self.samples:
                return None
            document = self._document([*figures, *self.means.figures(self.plan)])
            new = files.enter_context(export_path(place))
            new.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")
        return ExportedResults(self.model, place, len(self.tasks), self.samples, self.scores, self.without)

    def _task(self, unit: RunUnit, folder: Path, files: ExitStack) -> _Task:
        key = (unit.scenario, *unit.arms.values())
        if key not in self.tasks:
            text = "_".join([self.run.benchmark, unit.scenario, *(f"{arm}_{v}" for arm, v in unit.arms.items())])
            name = re.sub(r"\W", "_", text)
            while any(task.name == name for task in self.tasks.values()):
                name += "_"
            new = files.enter_context(export_path(folder / f"samples_{name}_{self.stamp}.jsonl"))
            self.tasks[key] = _Task(name, unit.scenario, unit.arms, files.enter_context(new.open("wb")))
        return self.tasks[key]

    def _add(self, unit: RunUnit, folder: Path, files: ExitStack) -> None:
        task = self._task(unit, folder, files)
        number = task.documents.setdefault(unit.item_id, len(task.documents))
        line = self._line(unit, number)
        task.file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        task.hashed.update((line["doc_hash"] + line["prompt_hash"] + line["target_hash"]).encode())
        if line["resps"] and isinstance(line["filtered_resps"][-1], list):
            task.output_type = "multiple_choice"
        task.repeats = max(task.repeats, unit.number + 1)
        self.means.add(unit)
        self.samples += 1
        self.scores += len(unit.scores)
        self.without += sum(score.value is None for score in unit.scores)

    def _line(self, unit: RunUnit, number: int) -> dict[str, Any]:
        document = {"item_id": unit.item_id, **unit.axes, **unit.fields}
        target = SECRET if unit.target is None else unit.target[0] if len(unit.target) == 1 else str(list(unit.target))
        requests = [request for reply in unit.replies for request in self._requests(unit, reply)]
        scores = named_scores(unit, self.steps[unit.scenario], scenario=False)
        named = {f"{name} (score)" if name in TAKEN else name: score for name, score in scores.items()}
        last = unit.replies[-1] if unit.replies else None
        return {
            "doc_id": number,
            "doc": document,
            "target": target,
            "arguments": {
                f"gen_args_{place}": {"arg_0": sent, "arg_1": after} for place, (sent, after, _) in enumerate(requests)
            },
            "resps": [[reply] for *_, reply in requests],
            "filtered_resps": [reply for *_, reply in requests],
            "filter": FILTER,
            "metrics": list(named),
            "doc_hash": _hash(json.dumps(document, indent=2, ensure_ascii=False)),
            "prompt_hash": _hash(requests[0][0] if requests else ""),
            "target_hash": _hash(target),
            **{name: score.value for name, score in named.items()},
            "sample_number": unit.number,
            "status": None if last is None else last["status"],
            "error": None if last is None else last["error"],
            "scores": [
                {"name": name} | {column: getattr(score, column) for column in COLUMNS} for name, score in named.items()
            ],
        }

    def _requests(self, unit: RunUnit, reply: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
        """Return each request of a call: the context, the continuation or the settings, and the reply."""
        messages = json.loads(reply["messages"])
        options = [message["content"] for message in messages if message["role"] == "option"]
        if options:
            text = "".join(message["content"] for message in messages if message["role"] != "option")
            space = text[len(text.rstrip()) :]
            answers = json.loads(reply["reply"])["options"] if reply["status"] == "ok" else [None] * len(options)
            pairs = [None if answer is None else [str(answer["logprob"]), str(answer["greedy"])] for answer in answers]
            return [(text.rstrip(), space + option, one) for option, one in zip(options, pairs, strict=True)]
        chat = chat_of(reply)
        single = len(chat.messages) == 1 and chat.messages[0].role in ("user", "text")
        sent = chat.messages[0].content if single else json.dumps(as_openai(chat.messages), ensure_ascii=False)
        settings = self.settings[unit.scenario].get(reply["step"], {})
        if chat.tools:
            settings = {**settings, "tools": [{"type": "function", "function": tool} for tool in chat.tools]}
        return [(sent, settings, reply["reply"])]

    def _document(self, figures: list[ExportedFigure]) -> dict[str, Any]:
        results: dict[str, dict[str, Any]] = {
            task.name: {"name": task.name, "alias": task.name, "sample_len": len(task.documents)}
            for task in self.tasks.values()
        }
        group: dict[str, Any] = {"name": self.run.benchmark, "alias": self.run.benchmark, "sample_len": self.samples}
        better: dict[str, dict[str, bool]] = {}
        for figure in figures:
            if figure.is_measure:
                of, name = group, figure.name.replace(", ", "; ")
            else:
                task = self.tasks[(figure.scenario or "", *figure.arms.values())]
                of, name = results[task.name], figure.name.removesuffix(figure.arms_label)
            if figure.value is not None:
                of[f"{name},{FILTER}"] = figure.value
                of[f"{name}_stderr,{FILTER}"] = "N/A" if figure.standard_error is None else figure.standard_error
                better.setdefault(of["name"], {})[name] = not figure.lower_is_better
        own = [task.name for task in self.tasks.values()]
        platform, _, rest = self.model.partition("/")
        ended = self.run.finished_at or self.run.started_at
        return {
            "results": {group["name"]: group, **results},
            "groups": {group["name"]: group},
            "group_subtasks": {group["name"]: own},
            "configs": {task.name: self._config(task, better.get(task.name, {})) for task in self.tasks.values()},
            "versions": dict.fromkeys([group["name"], *own], self.run.version),
            "n-shot": {},
            "higher_is_better": better,
            "n-samples": {
                task.name: {"original": len(task.documents), "effective": len(task.documents)}
                for task in self.tasks.values()
            },
            "config": {"model": platform, "model_args": {"model": rest or platform}, "limit": None},
            "git_hash": None,
            "date": self.run.started_at.replace(tzinfo=UTC).timestamp(),
            "task_hashes": {task.name: task.hashed.hexdigest() for task in self.tasks.values()},
            "model_source": platform,
            "model_name": self.model,
            "model_name_sanitized": sanitized(self.model),
            "total_evaluation_time_seconds": str((ended - self.run.started_at).total_seconds()),
            "tripos": {
                "version": self.tool,
                "run_id": self.run.run_id,
                "plan_digest": self.run.plan_digest,
                "release": self.run.release,
                "status": self.run.status,
                "figures": [
                    {"name": exported_figure.name, "value": exported_figure.value, **exported_figure.details()}
                    for exported_figure in figures
                ],
            },
        }

    def _config(self, task: _Task, metrics: Mapping[str, bool]) -> dict[str, Any]:
        settings = [declared for declared in self.settings[task.scenario].values() if declared]
        return {
            "task": task.name,
            "task_alias": task.name,
            "output_type": task.output_type,
            "generation_kwargs": settings[-1] if settings else {},
            "repeats": task.repeats,
            "metric_list": [
                {"metric": name, "aggregation": "mean", "higher_is_better": high} for name, high in metrics.items()
            ],
            "metadata": {"version": self.run.version, "scenario": task.scenario, **task.arms},
        }


def sanitized(model: str) -> str:
    """Return the folder name of a model, as lm-eval makes it.

    >>> sanitized("openai/gpt-5:free")
    'openai__gpt-5__free'
    """
    return re.sub(r"[\"<>:/|\\?*\[\]]+", "__", model)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
